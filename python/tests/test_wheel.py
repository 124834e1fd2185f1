"""The wheel: what it holds, that it works where it is unpacked, and that pip installs it without network."""

import base64
import csv
import hashlib
import importlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

from digits import CALIBRATION, MODEL, ROOT

PYTHON = ROOT / "python"
sys.path.insert(0, str(PYTHON / "build_backend"))
backend = importlib.import_module("nucleon_wheel")
LIBRARY = os.environ.get("NUCLEON_LIBRARY", str(ROOT / "build" / "release" / "libnucleon.so.0"))
CODE = f"""
import nucleon
print(nucleon.__file__)
program = nucleon.compile({str(MODEL)!r}, {str(CALIBRATION)!r}, accuracy="fast")
print(len(program))
"""


def alone(**more: str) -> dict[str, str]:
    """An environment in which nothing leads to the checkout."""
    return {**{k: v for k, v in os.environ.items() if k not in ("NUCLEON_LIBRARY", "PYTHONPATH")}, **more}


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.environ["NUCLEON_LIBRARY"] = LIBRARY
        cls.path = pathlib.Path(cls.folder.name) / backend.build_wheel(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_holds_package_library_and_licence(self):
        version = re.search(r"project\(nucleon VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertRegex(self.path.name, rf"^nucleon-{re.escape(version)}-py3-none-linux_\w+\.whl$")
        info = f"nucleon-{version}.dist-info"
        with zipfile.ZipFile(self.path) as archive:
            names = archive.namelist()
            sources = [p.relative_to(PYTHON).as_posix() for p in (PYTHON / "nucleon").rglob("*.py")]
            self.assertCountEqual(names, [*sources, "nucleon/py.typed", "nucleon/libnucleon.so.0", f"{info}/METADATA",
                                          f"{info}/WHEEL", f"{info}/LICENSE", f"{info}/RECORD"])
            self.assertEqual(archive.read("nucleon/libnucleon.so.0"), pathlib.Path(LIBRARY).read_bytes())
            metadata = archive.read(f"{info}/METADATA").decode()
            self.assertIn(f"\nVersion: {version}\n", metadata)
            self.assertNotIn("\nRequires-Dist: numpy\n", metadata)
            for name, digest, size in csv.reader(io.StringIO(archive.read(f"{info}/RECORD").decode())):
                if name.endswith("RECORD"):
                    continue
                data = archive.read(name)
                found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), (f"sha256={found}", str(len(data))), name)

    def test_is_the_same_each_time(self):
        with tempfile.TemporaryDirectory() as folder:
            again = pathlib.Path(folder) / backend.build_wheel(folder)
            self.assertEqual(again.read_bytes(), self.path.read_bytes())

    def test_works_where_it_is_unpacked(self):
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(self.path).extractall(folder)
            done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True, cwd=folder,
                                  env=alone(PYTHONPATH=folder))
        self.assertIn(folder, done.stdout)

    def test_is_installed_by_pip_without_network(self):
        pip = [sys.executable, "-m", "pip"]
        if subprocess.run([*pip, "--version"], capture_output=True).returncode != 0:
            self.skipTest("pip is not installed")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*pip, "install", "--no-index", "--no-deps", "--target", folder, str(PYTHON)],
                                  capture_output=True, text=True, env=alone(NUCLEON_LIBRARY=LIBRARY,
                                                                           PIP_ROOT_USER_ACTION="ignore"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True, cwd=folder,
                                  env=alone(PYTHONPATH=folder))
            self.assertIn(folder, done.stdout)

    def test_for_every_linux(self):
        """make wheel: what its library needs, as objdump says it, and that it works without the build's."""
        build = pathlib.Path(LIBRARY).parent
        target = subprocess.run(["ninja", "-C", build, "-t", "query", "nucleon_wheel"], capture_output=True)
        if target.returncode != 0:
            self.skipTest("libpng, libjpeg, jansson or zlib is not here as a static library")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["sh", ROOT / "tools" / "wheel.sh", build, folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            newest = re.search(r"-py3-none-manylinux_2_(\d+)_\w+\.whl\n$", done.stdout)
            self.assertIsNotNone(newest, done.stdout)
            zipfile.ZipFile(done.stdout.strip()).extractall(folder)
            library = f"{folder}/nucleon/libnucleon.so.0"
            symbols = subprocess.run(["objdump", "-T", library], check=True, capture_output=True, text=True).stdout
            versions = [tuple(map(int, v.split("."))) for v in re.findall(r"\(GLIBC_([0-9.]+)\)", symbols)]
            self.assertEqual(max(versions), (2, int(newest.group(1))))
            self.assertLessEqual(max(versions), (2, 34))
            needed = subprocess.run(["objdump", "-p", library], check=True, capture_output=True, text=True).stdout
            self.assertEqual([n for n in re.findall(r"NEEDED +(\S+)", needed)
                              if not re.match(r"(libc|libm|ld-linux[-\w]*)\.so\.", n)], [])
            self.assertNotIn("TEXTREL", needed)
            defined = {line.split()[-1] for line in symbols.splitlines() if " g " in line and "*UND*" not in line}
            of_headers = subprocess.run(["objdump", "-T", LIBRARY], check=True, capture_output=True, text=True).stdout
            self.assertEqual(defined, {line.split()[-1] for line in of_headers.splitlines()
                                       if " g " in line and "*UND*" not in line})
            done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True, cwd=folder,
                                  env=alone(PYTHONPATH=folder))
            self.assertIn(folder, done.stdout)

    def test_a_library_that_is_not_there(self):
        os.environ["NUCLEON_LIBRARY"] = "/nonexistent/libnucleon.so.0"
        try:
            with self.assertRaisesRegex(backend.Refused, "is no file"):
                backend.build_wheel(self.folder.name)
        finally:
            os.environ["NUCLEON_LIBRARY"] = LIBRARY


if __name__ == "__main__":
    unittest.main()
