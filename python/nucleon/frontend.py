"""Descriptions of front ends: what makes a model's input of what a sensor gives (docs/applications.md).

    front_end = nucleon.frontend.mfcc(window=480, hop=320, lowest=20, highest=4000)
    program = nucleon.compile("model.pt2", calibration="recordings", front_end=front_end)

Each function returns the object that the file of ``--front-end`` holds, and ``save`` writes it. The members that it is given by
name are those of the file.
"""

import json
import os
from typing import Any, Dict, Union

Description = Dict[str, Dict[str, Any]]


def mel(**members: Any) -> Description:
    """Logarithms of 40 bands that are equally wide on the mel scale, as ``torchaudio.transforms.MelSpectrogram`` has them."""
    return {"audio": {"triangles": "hz", **members}}


def mfcc(**members: Any) -> Description:
    """10 mel-frequency cepstral coefficients of magnitudes, as TensorFlow's and MLPerf Tiny's keyword spotting has them."""
    return {"audio": {"power": 1, "offset": 1e-6, "coefficients": 10, "dct": "tf", **members}}


def micro(**members: Any) -> Description:
    """LiteRT's micro frontend: 40 bands with noise reduction and gain control, as micro_speech and microWakeWord have it."""
    return {"micro_frontend": members}


def axes(count: int, **members: Any) -> Description:
    """Logarithms of bands of the spectrum of each of ``count`` axes, which are equally wide in Hz."""
    return {"sensor": {"axes": count, **members}}


def values(count: int, **members: Any) -> Description:
    """The values of ``count`` axes themselves, less ``mean`` and divided by ``std``: one number, or one for each axis."""
    return {"values": {"axes": count, **members}}


def image(format: str, width: int, height: int, **members: Any) -> Description:
    """Frames of a camera with so many pixels, in the format "rgb565", "rgb888", "bgr888", "yuyv", "uyvy" or "grey"."""
    return {"image": {"format": format, "width": width, "height": height, **members}}


def save(description: Description, path: Union[str, "os.PathLike[str]"]) -> None:
    """Writes the file for ``nucleon compile --front-end``."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(description, file, indent=2)
        file.write("\n")
