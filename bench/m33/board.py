"""What the scripts of this folder share: commands of nucleon, and inputs for an image on a board of QEMU."""
import math
import os
import struct
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NUCLEON = os.environ.get("NUCLEON", os.path.join(ROOT, "build/release/nucleon"))
TYPES = {"float32": ("<f4", 4), "int8": ("|i1", 1), "int16": ("<i2", 2), "int32": ("<i4", 4), "int64": ("<i8", 8), "bool": ("|b1", 1)}


def output_of(*command, **more):
    run = subprocess.run(command, capture_output=True, text=True, **more)
    if run.returncode != 0:
        sys.exit("%s: %s: %s" % (os.path.basename(sys.argv[0]), " ".join(command), (run.stderr or run.stdout).strip()))
    return run.stdout


def write_zeros(path, tensor):
    code, size = TYPES[tensor["dtype"]]
    shape = "".join("%d, " % n for n in tensor["sizes"])
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (code, shape)
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        f.write(bytes(size * math.prod(tensor["sizes"])))
