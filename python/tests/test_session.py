"""What happens around a call: notes, progress, Ctrl-C, threads, memory, and Python without numpy."""

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings

import numpy

import nucleon

from digits import CALIBRATION, MODEL, TEST, calibration, samples


class Notes(unittest.TestCase):
    def test_are_warnings_about_the_caller(self):
        program = nucleon.compile(MODEL, CALIBRATION, accuracy="fast")
        x, y = samples()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            program.evaluate(x, y.astype("float32"))
        self.assertEqual([w.category for w in caught], [nucleon.Note])
        self.assertIn("label", str(caught[0].message))
        self.assertEqual(caught[0].filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(nucleon.Note):
                program.evaluate(x, y.astype("float32"))

    def test_are_given_before_an_error(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with self.assertRaises(nucleon.PropertyMissed):
                nucleon.compile(MODEL, CALIBRATION, memory_budget=1000, mean=[0.5])
        self.assertEqual([w.category for w in caught], [nucleon.Note])


class Progress(unittest.TestCase):
    def test_is_told(self):
        told = []
        x = calibration()
        nucleon.compile(MODEL, [x[:64], x[64:]], progress=lambda *what: told.append(what))
        self.assertIn(("read batches", 2, 2), told)
        self.assertIn(("calibrate", 128, 128), told)
        self.assertTrue(all(done <= total or total == 0 for _, done, total in told))

    def test_ends_the_call_by_an_exception(self):
        class Enough(Exception):
            pass

        def stop(what, done, total):
            if what == "calibrate" and done == 5:
                raise Enough

        with self.assertRaises(Enough):
            nucleon.compile(MODEL, CALIBRATION, progress=stop)

        def stop_at_once(what, done, total):
            raise Enough

        with self.assertRaises(Enough):
            nucleon.compile(MODEL, iter([calibration()]), progress=stop_at_once)
        nucleon.compile(MODEL, CALIBRATION, accuracy="fast")

    def test_on_standard_error(self):
        code = f"import nucleon; nucleon.compile({str(MODEL)!r}, {str(CALIBRATION)!r}, progress=True)"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        self.assertIn(b"calibrate 128/128", done.stderr)
        self.assertTrue(done.stderr.endswith(b"\r\x1b[K"))
        self.assertEqual(done.stdout, b"")


class Interrupts(unittest.TestCase):
    def test_control_c_ends_a_long_call(self):
        program = nucleon.compile(MODEL, CALIBRATION, accuracy="fast")
        x = numpy.tile(samples()[0], (2000, 1, 1, 1))  # some minutes
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        started = time.monotonic()
        try:
            with self.assertRaises(KeyboardInterrupt):
                program.evaluate(x, reference=MODEL)
        finally:
            timer.join()
            signal.signal(signal.SIGINT, before)
        self.assertLess(time.monotonic() - started, 20)
        deadline = time.monotonic() + 10
        while any(t.name == "nucleon" for t in threading.enumerate()) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(any(t.name == "nucleon" for t in threading.enumerate()))  # the library's work is over, too
        self.assertEqual(program.run(x[:2]).shape, (2, 10))


class Threads(unittest.TestCase):
    def test_one_program(self):
        program = nucleon.compile(MODEL, CALIBRATION, accuracy="fast")
        x, _ = samples()
        expected, wrong = program.run(x[:20]), []

        def work():
            for _ in range(20):
                if not (program.run(x[:20]) == expected).all():
                    wrong.append(1)

        self.together([work] * 4)
        self.assertEqual(wrong, [])

    def test_compilations(self):
        expected = nucleon.compile(MODEL, CALIBRATION, accuracy="fast").bytes
        made = []
        self.together([lambda: made.append(nucleon.compile(MODEL, calibration(), accuracy="fast").bytes)] * 3)
        self.assertEqual(made, [expected] * 3)

    def together(self, functions):
        threads = [threading.Thread(target=f) for f in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Memory(unittest.TestCase):
    def test_of_runs_is_given_back(self):
        program = nucleon.compile(MODEL, CALIBRATION, accuracy="fast")
        x = samples()[0][:1]

        def peak(count):
            for _ in range(count):
                program.run(x)
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        self.assertLess(peak(1500) - peak(600), 2000)  # KiB

    def test_of_batches_is_taken_once(self):
        """A generator's arrays do not stay beside their copies."""
        alive = []

        class Told(numpy.ndarray):
            def __del__(self):
                if self.base is not None and alive:
                    alive.pop()

        def batches():
            for sample in calibration():
                made = numpy.array(sample).view(Told)
                alive.append(1)
                self.assertLess(len(alive), 4)
                yield made

        nucleon.compile(MODEL, batches(), accuracy="fast")


class WithoutNumpy(unittest.TestCase):
    def test_paths_and_buffers(self):
        code = f"""
import sys
sys.modules["numpy"] = None
import array, nucleon
program = nucleon.compile({str(MODEL)!r}, {str(CALIBRATION)!r}, accuracy="fast")
found = program.run({str(TEST)!r})
assert type(found) is memoryview and found.shape == (360, 1, 10) and found.format == "f", found.shape
zeros = memoryview(bytes(256)).cast("f", (1, 1, 8, 8))
assert program.run(zeros).shape == (1, 10)
assert program.evaluate({str(TEST)!r})["samples"] == 360
try:
    program.run([[0.0]])
except nucleon.BadUsage as error:
    assert "python3-numpy" in str(error), error
else:
    raise AssertionError
assert "torch" not in sys.modules
"""
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_numpy_is_not_imported_for_paths(self):
        code = f"""
import sys, nucleon
nucleon.compile({str(MODEL)!r}, {str(CALIBRATION)!r}, accuracy="fast")
assert "numpy" not in sys.modules and "torch" not in sys.modules
"""
        subprocess.run([sys.executable, "-c", code], check=True)


class Library(unittest.TestCase):
    def test_one_that_is_not_there(self):
        done = subprocess.run([sys.executable, "-c", "import nucleon"], capture_output=True, text=True,
                              env={**os.environ, "NUCLEON_LIBRARY": "/nonexistent/libnucleon.so.0"})
        self.assertIn("ImportError: nucleon: the library cannot be loaded", done.stderr)
        self.assertIn("NUCLEON_LIBRARY", done.stderr.splitlines()[-1])

    def test_one_of_another_version(self):
        done = subprocess.run([sys.executable, "-c", "import nucleon"], capture_output=True, text=True,
                              env={**os.environ, "NUCLEON_LIBRARY": "libz.so.1"})
        self.assertIn("another version", done.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
