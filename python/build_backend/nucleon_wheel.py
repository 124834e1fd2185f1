"""Makes the wheel (PEP 517 and 660) with the standard library alone.

It holds the package and libnucleon.so.0, which is that of the environment variable NUCLEON_LIBRARY, or is built in the
checkout: `make` there makes the same. Such a library uses zlib, libjpeg, libpng and jansson of the machine, so that the
wheel is for this kind of machine and distribution. `make wheel` has these inside of the library: its wheel is for every
Linux with the C library's version in its name (PEP 600), which the library itself tells.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parents[1]
CHECKOUT = HERE.parent
SONAME = "libnucleon.so.0"


class Refused(Exception):
    """Told in one line: pip prints the traceback, of which this is the last one."""


def version() -> str:
    """That of CMake's project()."""
    project = CHECKOUT / "CMakeLists.txt"
    found = re.search(r"project\(nucleon VERSION ([0-9.]+)", project.read_text() if project.exists() else "")
    if found is None:
        raise Refused("the folder python/ is built where it lies in a checkout of nucleon")
    return found.group(1)


def library() -> pathlib.Path:
    """libnucleon.so.0, built where it is not there or is older than its sources."""
    given = os.environ.get("NUCLEON_LIBRARY")
    if given:
        path = pathlib.Path(given)
        if not path.is_file():
            raise Refused(f"NUCLEON_LIBRARY: {given} is no file")
        return path
    build = CHECKOUT / "build" / "release"
    if shutil.which("cmake") is None:
        if (build / SONAME).exists():
            return build / SONAME
        raise Refused("there is neither build/release/libnucleon.so.0 nor cmake to build it: run 'make' in the checkout, "
                      "which says what it needs, or name the library in NUCLEON_LIBRARY")
    if not (build / "build.ninja").exists():
        run(["cmake", "--preset", "release", "-DBUILD_TESTING=OFF"])
    run(["cmake", "--build", str(build), "--target", "nucleon_shared"])
    return build / SONAME


def run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        raise Refused(f"{' '.join(command)} failed: its words are above; run 'make' in the checkout, which says which "
                      "packages it needs")


# What every Linux with glibc has, of PEP 600's list; other libraries are inside, or the wheel is for one distribution.
EVERYWHERE = re.compile(rb"(libc|libm|libdl|librt|libpthread|libgcc_s)\.so\.\d|ld-linux[-\w]*\.so\.\d")
PT_LOAD, PT_DYNAMIC, DT_NEEDED, DT_STRTAB, DT_STRSZ = 1, 2, 1, 5, 10


def needs(elf: bytes) -> tuple[list[bytes], tuple[int, ...] | None]:
    """The libraries that one of 64 bits, little endian, loads, and the newest GLIBC_ version of its symbols."""
    if elf[:6] != b"\x7fELF\x02\x01":
        return [b"an ELF file of another kind"], None
    offset, size, count = struct.unpack_from("<Q", elf, 32)[0], *struct.unpack_from("<HH", elf, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", elf, offset + i * size) for i in range(count)]
    at, length = next((h[2], h[5]) for h in headers if h[0] == PT_DYNAMIC)
    dynamic = [struct.unpack_from("<QQ", elf, at + i) for i in range(0, length, 16)]
    values = dict(dynamic)
    start = next(values[DT_STRTAB] - h[3] + h[2] for h in headers
                 if h[0] == PT_LOAD and h[3] <= values[DT_STRTAB] < h[3] + h[5])
    strings = elf[start:start + values[DT_STRSZ]]
    libraries = [strings[v:strings.index(b"\0", v)] for tag, v in dynamic if tag == DT_NEEDED]
    versions = [tuple(map(int, v.split(b"."))) for v in re.findall(rb"\0GLIBC_([0-9.]+)(?=\0)", strings)]
    return libraries, max(versions, default=None)


def tag(elf: bytes | None = None) -> str:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    libraries, newest = needs(elf) if elf is not None else ([b""], None)
    if newest is not None and all(map(EVERYWHERE.fullmatch, libraries)):
        platform = platform.replace("linux_", f"manylinux_{newest[0]}_{newest[1]}_")
    return f"py3-none-{platform}"


def metadata() -> str:
    about = (HERE / "README.md").read_text()
    return (f"Metadata-Version: 2.1\nName: nucleon\nVersion: {version()}\n"
            "Summary: Compiles PyTorch and LiteRT models to programs for NXP i.MX RT700, and runs them\n"
            "License: Apache-2.0\nRequires-Python: >=3.11\n"
            "Provides-Extra: numpy\nRequires-Dist: numpy; extra == 'numpy'\n"
            f"Description-Content-Type: text/markdown\n\n{about}")


def write_wheel(folder: str, files: dict[str, bytes]) -> str:
    """Entries in their order and without times, so that the same files make the same wheel."""
    info = f"nucleon-{version()}.dist-info"
    tags = tag(files.get(f"nucleon/{SONAME}"))
    name = f"nucleon-{version()}-{tags}.whl"
    files = {**files,
             f"{info}/METADATA": metadata().encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: nucleon_wheel\nRoot-Is-Purelib: false\nTag: {tags}\n"
             .encode(),
             f"{info}/LICENSE": (CHECKOUT / "LICENSE").read_bytes()}
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow([path, f"sha256={digest}", len(data)])
    rows.writerow([f"{info}/RECORD", "", ""])
    files[f"{info}/RECORD"] = record.getvalue().encode()
    number, temporary = tempfile.mkstemp(dir=folder)
    with os.fdopen(number, "wb") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o755 if path.endswith(SONAME) else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    os.chmod(temporary, 0o644)
    os.replace(temporary, pathlib.Path(folder) / name)
    return name


def sources() -> dict[str, bytes]:
    found = sorted(p for p in (HERE / "nucleon").rglob("*") if p.suffix in (".py", ".typed"))
    return {p.relative_to(HERE).as_posix(): p.read_bytes() for p in found}


# ---- what pip calls ----


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:
    return []


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None) -> str:
    return write_wheel(wheel_directory, {**sources(), f"nucleon/{SONAME}": library().read_bytes()})


def get_requires_for_build_editable(config_settings: object = None) -> list[str]:
    return []


def build_editable(wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None) -> str:
    """The package stays here, and takes build/release/libnucleon.so.0 of the checkout."""
    library()
    return write_wheel(wheel_directory, {"nucleon.pth": f"{HERE}\n".encode()})


def get_requires_for_build_sdist(config_settings: object = None) -> list[str]:
    return []


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    raise Refused("sources are the whole checkout, of which python/ is a part: make a wheel ('pip wheel ./python')")
