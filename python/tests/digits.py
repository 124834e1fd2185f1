"""The digits network and its data, which lie in examples/digits."""

import os
import pathlib
import zipfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
MODEL = DIGITS / "digits.pt2"
CALIBRATION = DIGITS / "calibration.npz"
TEST = DIGITS / "test.npz"
TWO_INPUTS = ROOT / "test" / "e2e" / "two_inputs.pt2"
COMMAND = os.environ.get("NUCLEON_COMMAND", str(ROOT / "build" / "release" / "nucleon"))


def calibration() -> numpy.ndarray:
    return numpy.load(CALIBRATION)["input"]


def samples() -> tuple[numpy.ndarray, numpy.ndarray]:
    data = numpy.load(TEST)
    return data["input"], data["label"]


def archive() -> bytes:
    assert zipfile.is_zipfile(MODEL)
    return MODEL.read_bytes()
