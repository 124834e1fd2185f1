"""Programs have the bytes that the command line writes, from whatever model and data they are made."""

import copy
import io
import pathlib
import pickle
import subprocess
import tempfile
import unittest
import zipfile
import zlib

import numpy

import nucleon
from nucleon import _data

from digits import CALIBRATION, COMMAND, MODEL, TEST, TWO_INPUTS, archive, calibration, samples


def command_line(*options: str, model: pathlib.Path = MODEL, calibration: pathlib.Path = CALIBRATION) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        to = f"{folder}/program.pte"
        subprocess.run([COMMAND, "compile", str(model), "--calibration", str(calibration), "-o", to, "--quiet", *options],
                       check=True)
        return pathlib.Path(to).read_bytes()


class Bytes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = command_line("--accuracy", "fast")
        cls.x = calibration()

    def same(self, model, data, **options):
        self.assertEqual(nucleon.compile(model, data, accuracy="fast", **options).bytes, self.expected)

    def test_paths(self):
        self.assertEqual(nucleon.compile(MODEL, CALIBRATION).bytes, command_line())
        self.same(str(MODEL), str(CALIBRATION))

    def test_models_in_memory(self):
        self.same(archive(), CALIBRATION)
        self.same(io.BytesIO(archive()), self.x)

    def test_arrays(self):
        x = self.x
        wide = numpy.zeros((128, 1, 8, 16), "float32")
        wide[..., ::2] = x
        for data in (x, {"x": x}, {"in0": x}, {"whatever": x}, (x,), (x, numpy.arange(128)), x.astype("float64"),
                     x.astype(">f4"), numpy.asfortranarray(x), wide[..., ::2], x[::-1][::-1], x[:, None],
                     {"x": x, "label": numpy.arange(128)}):
            self.same(MODEL, data)

    def test_batches(self):
        x, y = self.x, numpy.arange(128)
        cuts = range(0, 128, 30)
        self.same(MODEL, [x[i : i + 30] for i in cuts])
        self.same(MODEL, (x[i : i + 30] for i in cuts))
        self.same(MODEL, [(x[i : i + 30], y[i : i + 30]) for i in cuts])
        self.same(MODEL, [[x[i : i + 30], y[i : i + 30], ["name"] * 30] for i in cuts])
        self.same(MODEL, ({"x": x[i : i + 30], "labels": y[i : i + 30]} for i in cuts))
        self.same(MODEL, [((x[i : i + 30],), y[i : i + 30]) for i in cuts])
        self.same(MODEL, list(x))  # samples without an axis for others
        self.same(MODEL, [(sample, 3) for sample in x])

    def test_data_sets_by_length(self):
        x = self.x

        class Samples:
            def __len__(self):
                return len(x)

            def __getitem__(self, index):
                return x[index % 128], 0

        self.same(MODEL, Samples())

    def test_many_batches_lie_in_a_file(self):
        before, _data._IN_MEMORY = _data._IN_MEMORY, 1000
        try:
            self.same(MODEL, [self.x[i : i + 30] for i in range(0, 128, 30)])
        finally:
            _data._IN_MEMORY = before

    def test_options(self):
        for options, words in (
            ({"io": "int8"}, ["--io", "int8"]),
            ({"target": "imxrt700cm", "operators_not_to_delegate": ["add", "*softmax"]},
             ["--target", "imxrt700cm", "--operators-not-to-delegate", "add,*softmax"]),
            ({"no_delegate": True, "no_metadata": True, "profile": False, "observer": None},
             ["--no-delegate", "--no-metadata"]),
            ({"neutron_format_conversion": False, "dim_order": "channels-last"},
             ["--neutron-format-conversion", "off", "--dim-order", "channels-last"]),
            ({"no_bias_correction": True, "observer": "mse", "memory_budget": 65536.0},
             ["--no-bias-correction", "--observer", "mse", "--memory-budget", "64Ki"]),
            ({"reference_compat": True, "threads": 1}, ["--reference-compat"]),
        ):
            with self.subTest(options):
                self.assertEqual(nucleon.compile(MODEL, self.x, **options).bytes, command_line(*words))

    def test_front_end(self):
        frames = (self.x.reshape(-1, 64) * 255).clip(0, 255).astype("uint8")
        front_end = nucleon.frontend.image("grey", 8, 8)
        with tempfile.TemporaryDirectory() as folder:
            nucleon.frontend.save(front_end, f"{folder}/front_end.json")
            of_file = nucleon.compile(MODEL, frames, front_end=f"{folder}/front_end.json")
        program = nucleon.compile(MODEL, frames, front_end=front_end)
        self.assertEqual(program.bytes, of_file.bytes)
        self.assertEqual(program.run(frames[0]).shape, (1, 10))
        with self.assertRaisesRegex(nucleon.errors.BadInput, "image.widht: is not known here .did you mean 'width'"):
            nucleon.compile(MODEL, frames, front_end={"image": {"format": "grey", "widht": 8, "height": 8}})

    def test_two_inputs(self):
        model = nucleon.inspect(TWO_INPUTS)
        self.assertEqual(model["kind"], "pt2")
        random = numpy.random.default_rng(1)
        with tempfile.TemporaryDirectory() as folder:
            program = nucleon.compile(TWO_INPUTS, no_quantize=True)
            names = [t.name for t in program.inputs]
            data = {t.name: random.random((12, *t.shape), "float32") for t in program.inputs}
            numpy.savez(f"{folder}/data.npz", **data)
            expected = command_line("--accuracy", "fast", model=TWO_INPUTS, calibration=pathlib.Path(folder) / "data.npz")
        first, second = (data[name] for name in names)
        for given in (data, (first, second), [first, second], list(zip(first, second)), zip(first, second, range(12)),
                      [(pair, 0) for pair in zip(first, second)], [dict(zip(names, pair)) for pair in zip(first, second)],
                      ((first,), {names[1]: second}), [((a,), {names[1]: b}) for a, b in zip(first, second)]):
            self.assertEqual(nucleon.compile(TWO_INPUTS, given, accuracy="fast").bytes, expected)
        with self.assertRaisesRegex(nucleon.BadInput, "a batch holds 1 arrays, the model takes 2"):
            nucleon.compile(TWO_INPUTS, iter([(first,)]))
        for call in (lambda: program.run(first, **{names[1]: second}), lambda: program.run(**data)):
            self.assertTrue((numpy.asarray(call()) == numpy.asarray(program.run(data))).all())
        for text, call in (
            ("'x' is no input", lambda: program.run(first, x=second)),
            ("is given twice", lambda: program.run(first, **{names[0]: second})),
            ("given 1 inputs, 2 are taken", lambda: program.run(**{names[0]: first})),
        ):
            self.assertRaisesRegex(nucleon.BadUsage, text, call)

    def test_open_sizes_are_those_of_samples(self):
        fixed, given = '{"as_int": 8}', """{"as_expr": {"expr_str": "Symbol('s0')", "hint": {"as_int": 8}}}"""
        made = io.BytesIO()
        with zipfile.ZipFile(TWO_INPUTS) as old, zipfile.ZipFile(made, "w") as new:
            for name in old.namelist():
                new.writestr(name, old.read(name).replace(fixed.encode(), given.encode()))
        x = numpy.random.default_rng(1).random((12, 1, 6), "float32")
        for data in ({"image": x, "mask": x[::-1]}, ((x, x[::-1])), zip(x, x[::-1]), [((a,), {"mask": a}) for a in x]):
            with self.assertWarnsRegex(nucleon.Note, 'are those of the data: size="image.1=6"'):
                program = nucleon.compile(made.getvalue(), data, accuracy="fast")
            self.assertEqual([t.shape for t in program.inputs], [(1, 6), (1, 6)])
        result = nucleon.evaluate(program, {"image": x, "mask": x[::-1]}, reference=made.getvalue())
        self.assertEqual(result["samples"], 12)

    def test_outputs_by_name(self):
        made = nucleon.Outputs([1, 2], ["boxes", "scores"])
        self.assertEqual((made["scores"], made[0], list(made), len(made)), (2, 1, [1, 2], 2))
        self.assertEqual(made["out1"], 2)
        self.assertEqual((made.keys(), made.items()), (("boxes", "scores"), [("boxes", 1), ("scores", 2)]))
        self.assertRaisesRegex(nucleon.BadUsage, "no output is called 'x': they are boxes, scores", lambda: made["x"])


class Steps(unittest.TestCase):
    """quantize, tune, explain and report are the command line's, too."""

    def test_quantize(self):
        made = nucleon.quantize(MODEL, calibration())
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([COMMAND, "quantize", str(MODEL), "--calibration", str(CALIBRATION), "-o", f"{folder}/q.pt2",
                            "-q"], check=True)
            self.assertEqual(made.bytes, pathlib.Path(folder, "q.pt2").read_bytes())
            made.save(f"{folder}/saved.pt2")
            self.assertEqual(made.bytes, pathlib.Path(folder, "saved.pt2").read_bytes())
            expected = pathlib.Path(folder, "q.pte")
            subprocess.run([COMMAND, "compile", f"{folder}/q.pt2", "-o", str(expected), "-q"], check=True)
            self.assertEqual(nucleon.compile(made).bytes, expected.read_bytes())
        self.assertGreater(made.report["outputs"][0]["sqnr_db"], 30)

    def test_tune(self):
        made = nucleon.tune(MODEL, calibration(), goal="latency", observer="minmax")
        self.assertEqual(sum(trial["best"] for trial in made.trials), 1)
        self.assertEqual(made.options["observer"], "minmax")
        program = nucleon.compile(MODEL, calibration(), **made.options)
        self.assertEqual(program.report["cycles"], made.best["cycles"])
        self.assertTrue(any("io" in trial["options"] for trial in made.trials))
        with self.assertRaisesRegex(nucleon.PropertyMissed, "no trial keeps the limits") as caught:
            nucleon.tune(MODEL, calibration(), goal="memory", cycle_budget=10, accuracy="fast", io="float",
                         dim_order="as-is", placement="cost", observer="minmax", weights="per-channel")
        self.assertGreater(len(caught.exception.result["trials"]), 0)

    def test_explain(self):
        made = nucleon.explain(MODEL, CALIBRATION, placement="greedy")
        self.assertEqual(made["summary"]["operators"], made["summary"]["delegated"])
        printed = subprocess.run([COMMAND, "explain", str(MODEL), "--calibration", str(CALIBRATION)], check=True,
                                 capture_output=True, text=True).stdout
        self.assertEqual(nucleon.explain(MODEL, calibration(), text=True), printed)

    def test_report(self):
        made = nucleon.report(MODEL, calibration(), samples(), min_sqnr=200)
        self.assertGreater(made.data["summary"]["accuracy"], 0.95)
        self.assertIn("min_sqnr=200", made.missed)
        self.assertIn("calibration=...", made.data["invocation"])
        self.assertTrue(made._repr_html_().startswith("<iframe srcdoc="))
        with tempfile.TemporaryDirectory() as folder:
            made.save(f"{folder}/report.html")
            made.save(f"{folder}/report.json")
            self.assertIn("<html", pathlib.Path(folder, "report.html").read_text())
            again = nucleon.report(MODEL, CALIBRATION, TEST, compare=f"{folder}/report.json")
            self.assertEqual(again.data["compare"]["moved"], [])
            self.assertIsNone(again.missed)
            with self.assertRaisesRegex(nucleon.BadUsage, "ends in .html or .json"):
                made.save(f"{folder}/report.txt")

    def test_lists(self):
        self.assertIn("memory_budget", [option["name"] for option in nucleon.options()])
        self.assertIn("imxrt700", [target["name"] for target in nucleon.targets()["targets"]])
        self.assertGreater(len(nucleon.operators()["npu_operators"]), 10)
        self.assertRegex(nucleon.__version__, r"^\d+\.\d+\.\d+$")


class Mistakes(unittest.TestCase):
    """The library's one line, as an exception of its kind."""

    def test_lines(self):
        x = calibration()
        program = nucleon.compile(MODEL, x)
        for kind, line, call in (
            (nucleon.BadUsage, "give samples with calibration=DATA", lambda: nucleon.compile(MODEL)),
            (nucleon.FileError, "cannot be opened: No such file", lambda: nucleon.compile("/nonexistent.pt2", x)),
            (nucleon.FileError, "cannot be opened: No such file", lambda: nucleon.compile(MODEL, "/nonexistent.npz")),
            (nucleon.BadUsage, "did you mean 'target'", lambda: nucleon.compile(MODEL, x, tarjet="imxrt700")),
            (nucleon.BadUsage, "did you mean 'imxrt700'", lambda: nucleon.compile(MODEL, x, target="imxrt70")),
            (nucleon.BadUsage, "takes one of: fast, default, high", lambda: nucleon.compile(MODEL, x, accuracy="no")),
            (nucleon.BadUsage, "holds a comma", lambda: nucleon.compile(MODEL, x, classes=["a,b", "c"])),
            (nucleon.BadInput, "has shape", lambda: nucleon.compile(MODEL, x[:, :, :4])),
            (nucleon.BadInput, "is int32, input 'x' is float32", lambda: nucleon.compile(MODEL, x.astype("int32"))),
            (nucleon.BadInput, "the arrays 'a', 'b'", lambda: nucleon.compile(MODEL, {"a": x, "b": x})),
            (nucleon.BadInput, "holds no numbers", lambda: nucleon.compile(MODEL, numpy.array(["a"]))),
            (nucleon.BadInput, "there is no batch", lambda: nucleon.compile(MODEL, iter([]))),
            (nucleon.BadInput, "batch 1: 'x' is float32", lambda: nucleon.compile(MODEL, iter([x, x[..., :4]]))),
            (nucleon.BadInput, "batch 1 holds 'x', 'label'", lambda: program.evaluate(iter([x, (x, 0)]))),
            (nucleon.BadInput, "is no array", lambda: nucleon.compile(MODEL, [object()])),
            (nucleon.BadUsage, "neither a path, nor arrays", lambda: nucleon.compile(MODEL, object())),
            (nucleon.BadUsage, "is no model", lambda: nucleon.compile(3, x)),
            (nucleon.BadUsage, "compiled already", lambda: nucleon.compile(program, x)),
            (nucleon.BadInput, "", lambda: nucleon.compile(b"no archive", x)),
            (nucleon.BadInput, "not an ExecuTorch program", lambda: nucleon.Program(archive()).run(x)),
            (nucleon.BadUsage, "no memory map", lambda: nucleon.Program(program.bytes).memory_map()),
            (nucleon.BadUsage, "takes the bytes", lambda: nucleon.Program.load(program.bytes)),
            (nucleon.FileError, "cannot be opened: No such file", lambda: nucleon.Program.load("/nonexistent.pte")),
            (OSError, "there is no folder /nonexistent", lambda: program.save("/nonexistent/p.pte")),
            (nucleon.FileError, "it is a folder", lambda: nucleon.compile(MODEL, x, output="/tmp")),
            (nucleon.BadUsage, "given 2 inputs, the program takes 1: 'x'", lambda: program.run(x, x)),
            (nucleon.BadUsage, "given 0 inputs", lambda: program.run()),
            (nucleon.BadInput, "values of 0 to 255, calibration had 0 to 1", lambda: program.run(x * 255)),
            (nucleon.BadUsage, "task 'clasify' is none of", lambda: program.evaluate(x, task="clasify")),
            (nucleon.BadUsage, "reference=MODEL", lambda: program.evaluate(x, str(MODEL))),
            (nucleon.BadUsage, "reference=MODEL", lambda: program.evaluate(x, quantized=MODEL)),
            (nucleon.BadUsage, "cannot be measured", lambda: program.evaluate(x, min_accuracy=90)),
            (nucleon.BadUsage, "takes a finite number", lambda: program.evaluate(x, min_sqnr=float("nan"))),
            (nucleon.BadUsage, "there is no such part of 3", lambda: program.evaluate(x, shard=(4, 3))),
            (nucleon.BadUsage, "takes (i, n)", lambda: program.evaluate(x, shard=3)),
            (nucleon.BadUsage, "progress is a function", lambda: nucleon.compile(MODEL, x, progress="yes")),
            (nucleon.BadUsage, "is none of best, plain", lambda: program.evaluate(x, simulator="fast")),
            (nucleon.BadInput, "the lists are no array", lambda: nucleon.compile(MODEL, [[1.0, 2.0], [3.0]])),
            (nucleon.BadUsage, "neither a path, nor arrays", lambda: nucleon.compile(MODEL, b"bytes")),
            (nucleon.BadUsage, "mode 'rb'", lambda: nucleon.compile(io.StringIO("text"), x)),
            (nucleon.BadUsage, "is no path", lambda: nucleon.compile(MODEL, x, output=5)),
            (nucleon.BadUsage, "is no path", lambda: program.save(5)),
            (nucleon.BadUsage, "is no program", lambda: nucleon.Program(5)),
            (nucleon.BadUsage, "class_axis is 'a'", lambda: program.evaluate(x, class_axis="a")),
            (nucleon.BadUsage, "disagreements is -1", lambda: program.evaluate(x, disagreements=-1)),
            (nucleon.BadUsage, "ignore_label is 1.5", lambda: program.evaluate(x, ignore_label=1.5)),
            (nucleon.BadUsage, "min_accuracy is '9'", lambda: program.evaluate(x, min_accuracy="9")),
            (nucleon.BadUsage, "threads is 'a'", lambda: program.evaluate(x, threads="a")),
            (nucleon.BadUsage, "cycle_budget is -4", lambda: nucleon.tune(MODEL, x, cycle_budget=-4)),
            (nucleon.BadInput, "ignore_label=-2", lambda: program.evaluate(x, [-2] * len(x))),
            (nucleon.BadUsage, "shards: give a list", lambda: nucleon.merge_evaluations([])),
            (nucleon.BadUsage, "shard 1 is no evaluation", lambda: nucleon.merge_evaluations([{}])),
        ):
            with self.subTest(line):
                with self.assertRaises(kind) as caught:
                    call()
                self.assertIn(line, str(caught.exception))
                self.assertEqual(len(str(caught.exception).splitlines()), 1)

    def test_a_budget_that_is_missed_has_its_figures(self):
        with self.assertRaisesRegex(nucleon.PropertyMissed, "the budget is 1000") as caught:
            nucleon.compile(MODEL, calibration(), memory_budget="1k")
        self.assertGreater(caught.exception.result["scratch_bytes"], 1000)
        self.assertIn("alive at the peak", caught.exception.text)

    def test_nothing_is_written_by_what_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(nucleon.PropertyMissed):
                nucleon.compile(MODEL, calibration(), memory_budget="1k", output=f"{folder}/p.pte")
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
            nucleon.compile(MODEL, calibration(), output=f"{folder}/p.pte")
            self.assertEqual([p.name for p in pathlib.Path(folder).iterdir()], ["p.pte"])


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = nucleon.compile(MODEL, CALIBRATION)
        cls.x, cls.y = samples()
        with tempfile.TemporaryDirectory() as folder:
            cls.program.save(f"{folder}/p.pte")
            subprocess.run([COMMAND, "run", f"{folder}/p.pte", "--input", str(TEST), "--output", f"{folder}/o.npz", "-q"],
                           check=True)
            with numpy.load(f"{folder}/o.npz") as outputs:
                cls.expected = outputs[outputs.files[0]][:, 0]

    def same(self, found, expected):
        self.assertIsInstance(found, numpy.ndarray)
        self.assertEqual(found.shape, expected.shape)
        self.assertTrue((found == expected).all())

    def test_description(self):
        self.assertEqual(self.program.inputs, (("x", "float32", (1, 1, 8, 8), (0, 1, 2, 3)),))
        self.assertEqual(self.program.outputs[0].shape, (1, 10))
        self.assertEqual(self.program.report["program_bytes"], len(self.program))
        self.assertEqual(self.program.profile()["cycles"], self.program.report["cycles"])
        self.assertEqual(self.program.inspect()["kind"], "pte")
        self.assertEqual(nucleon.inspect(self.program), self.program.inspect())
        self.assertIn("arena", self.program.memory_map())
        self.assertIn("<svg", self.program.memory_map("svg"))
        self.assertIn("x: float32[1, 1, 8, 8]", repr(self.program))

    def test_samples(self):
        x, expected = self.x, self.expected
        self.same(self.program.run(x), expected)
        self.same(self.program(x[:1]), expected[:1])
        self.same(self.program.run(x[0]), expected[0])
        self.same(self.program.run(x[:3, None]), expected[:3, None])
        self.same(self.program.run([x[:2]]), expected[:2])
        self.same(self.program.run({"x": x[:2]}), expected[:2])
        self.same(self.program.run(x[:2].astype("float64")), expected[:2])
        self.same(self.program.run(x[:2].tolist()), expected[:2])
        self.same(self.program.run(TEST), expected[:, None])

    def test_int8(self):
        program = nucleon.compile(MODEL, CALIBRATION, io="int8")
        quantized = (self.x * 127).astype("int8")
        for _ in range(2):  # data of both kinds, one after the other
            self.assertEqual(program.run(quantized[:5]).dtype, "int8")
            self.assertEqual(program.run(self.x[:5]).dtype, "float32")
        self.assertEqual(program.inputs[0].dtype, "int8")
        right = program.run(self.x).argmax(1) == self.y
        self.assertGreater(right.mean(), 0.95)

    def test_copies(self):
        for made in (pickle.loads(pickle.dumps(self.program)), copy.deepcopy(self.program), copy.copy(self.program)):
            self.same(made.run(self.x[:2]), self.expected[:2])
            self.assertEqual(made.report, self.program.report)
            self.assertEqual(made.memory_map(), self.program.memory_map())

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            self.program.save(pathlib.Path(folder) / "p.pte")
            made = nucleon.Program.load(pathlib.Path(folder) / "p.pte")
        self.assertEqual(bytes(made), self.program.bytes)
        self.same(made.run(self.x[:2]), self.expected[:2])
        self.assertEqual(made.report, {})

    def test_microcode_that_the_simulator_does_not_run(self):
        """As that of the vendor's converter: loaded, described and saved all the same."""
        damaged = bytearray(self.program.bytes)
        damaged[damaged.index(b"nMCd") + 4] ^= 0x55  # the version
        digits = damaged.rindex(b'{"crc32":"') + 10
        damaged[digits:digits + 8] = b"00000000"
        damaged[digits:digits + 8] = b"%08x" % zlib.crc32(damaged)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "silicon.pte"
            path.write_bytes(damaged)
            made = nucleon.Program.load(path)
            made.save(path)
        self.assertEqual(made.inspect()["kind"], "pte")
        self.assertIn("not to be run", repr(made))
        with self.assertRaisesRegex(nucleon.DeviceError, "the driver refuses the microcode"):
            made.run(self.x)

    def test_closed(self):
        program = copy.copy(self.program)
        with program:
            program.run(self.x[:1])
        with self.assertRaisesRegex(nucleon.BadUsage, "the program is closed"):
            program.run(self.x[:1])
        self.assertIn("closed", repr(program))

    def test_evaluation(self):
        x, y = self.x, self.y
        whole = self.program.evaluate(x, y, reference=MODEL)
        self.assertEqual(whole["outputs"][0]["classes"]["program"]["labelled"], len(y))
        cuts = range(0, len(x), 100)
        for data in ((x, y), {"x": x, "label": y}, [(x[i : i + 100], y[i : i + 100]) for i in cuts], TEST,
                     list(zip(x, y.tolist()))):
            again = nucleon.evaluate(self.program.bytes, data, reference=archive())
            self.assertEqual(again["sqnr_db"], whole["sqnr_db"])
            self.assertEqual(again["outputs"], whole["outputs"])
        self.assertEqual(self.program.evaluate(x)["samples"], len(x))
        with self.assertRaisesRegex(nucleon.PropertyMissed, "below min_accuracy=99.9") as caught:
            self.program.evaluate(x, y, min_accuracy=99.9)
        self.assertEqual(caught.exception.result["outputs"][0]["classes"]["program"]["labelled"], len(y))

    def test_shards(self):
        x, y = self.x, self.y
        whole = self.program.evaluate(x, y, reference=MODEL)
        parts = [self.program.evaluate(x, y, reference=MODEL, shard=(i, 3)) for i in (1, 2, 3)]
        self.assertEqual(sum(part["samples"] for part in parts), len(x))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "2.json"
            path.write_text(nucleon._session.unparse(parts[1]))
            merged = nucleon.merge_evaluations([parts[2], path, parts[0]])
        self.assertEqual((merged["outputs"], merged["sqnr_db"]), (whole["outputs"], whole["sqnr_db"]))
        with self.assertRaises(nucleon.BadInput):
            nucleon.merge_evaluations(parts[:2])
        with self.assertRaisesRegex(nucleon.PropertyMissed, "min_accuracy=99.9"):
            nucleon.merge_evaluations(parts, min_accuracy=99.9)

    def test_nodes(self):
        quantized = nucleon.quantize(MODEL, CALIBRATION)
        program = nucleon.compile(quantized)
        found = program.evaluate(self.x[:8], reference=MODEL, quantized=quantized)
        self.assertGreater(len(found["nodes"]), 10)
        self.assertGreater(found["nodes"][0]["program_against_quantized"]["sqnr_db"], 30)
        self.assertEqual(found["elements_compiled_otherwise"], 0)


if __name__ == "__main__":
    unittest.main()
