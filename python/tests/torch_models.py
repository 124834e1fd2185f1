"""Models and data of torch, in memory. Where torch is not installed this is skipped."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

if importlib.util.find_spec("torch") is None:
    print("skipped: torch is not installed (Debian: python3-torch)")
    sys.exit(77)

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import nucleon

from digits import COMMAND, DIGITS, ROOT


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.linear = torch.nn.Linear(8, 5)

    def forward(self, a, b):
        return self.linear(torch.relu(self.conv(a)).mean((2, 3))) + b, a.sum()


def command_line(model: str, *options: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([COMMAND, "compile", model, *options, "-o", f"{folder}/p.pte", "-q"], check=True)
        return pathlib.Path(folder, "p.pte").read_bytes()


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(0)
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = Network().eval()
        cls.a, cls.b, cls.y = torch.randn(64, 3, 8, 8), torch.randn(64, 5), torch.randint(0, 5, (64,))
        cls.exported = torch.export.export(cls.model, (cls.a[:2], cls.b[:2]))
        cls.path = f"{cls.folder.name}/model.pt2"
        torch.export.save(cls.exported, cls.path)
        import numpy

        numpy.savez(f"{cls.folder.name}/data.npz", a=cls.a.numpy(), b=cls.b.numpy())
        cls.expected = command_line(cls.path, "--calibration", f"{cls.folder.name}/data.npz")
        cls.program = nucleon.compile(cls.exported, (cls.a, cls.b))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_names_and_calls(self):
        class Named(torch.nn.Module):
            def forward(self, image, *, mask):
                return {"masked": image * mask, "sum": image + mask}

        image, mask = torch.randn(16, 4), torch.rand(16, 4)
        exported = torch.export.export(Named(), (image[:1],), {"mask": mask[:1]})
        program = nucleon.compile(exported, ((image,), {"mask": mask}))
        outputs = program.run(image, mask=mask)
        self.assertEqual(outputs.keys(), ("masked", "sum"))
        self.assertLess(float((outputs["sum"] - image - mask).abs().max()), 0.1)

    def test_module_as_reference(self):
        found = self.program.evaluate((self.a, self.b), reference=self.model)
        self.assertEqual(found["sqnr_db"], self.program.evaluate((self.a, self.b), reference=self.exported)["sqnr_db"])

    def test_bytes_are_the_command_lines(self):
        a, b, y = self.a, self.b, self.y

        class Stream(IterableDataset):
            def __iter__(self):
                return iter(zip(a, b))

        for data in ((a, b), [a, b], {"a": a, "b": b}, {"a": a.double(), "b": b.double()},
                     (a.to(memory_format=torch.channels_last), b.t().contiguous().t()),
                     (a.clone().requires_grad_(), torch.nn.Parameter(b)), TensorDataset(a, b, y),
                     DataLoader(TensorDataset(a, b, y), batch_size=16), DataLoader(TensorDataset(a, b), batch_size=10),
                     DataLoader(Stream(), batch_size=16), (((a[i : i + 8], b[i : i + 8]), y) for i in range(0, 64, 8)),
                     [{"a": a[i : i + 8], "b": b[i : i + 8], "labels": y[i : i + 8]} for i in range(0, 64, 8)]):
            self.assertEqual(nucleon.compile(self.exported, data).bytes, self.expected)
        self.assertEqual(nucleon.compile(self.path, (a.numpy(), b)).bytes, self.expected)

    def test_runs(self):
        a, b = self.a, self.b
        expected = self.model(a, b)[0]
        for found in (self.program.run(a, b), self.program.run((a, b)), self.program.run({"b": b, "a": a})):
            self.assertIsInstance(found[0], torch.Tensor)
            self.assertEqual([t.shape for t in found], [(64, 5), (32,)])
            self.assertLess((found[0] - expected).abs().max(), 0.1)
        self.assertEqual([t.shape for t in self.program.run(a[:2], b[:2])], [(2, 5), ()])
        self.assertEqual([t.shape for t in self.program.run(a.view(32, 2, 3, 8, 8), b.view(32, 2, 5))],
                         [(32, 2, 5), (32,)])
        half = self.program.run(a.bfloat16(), b.half())
        self.assertEqual(half[0].dtype, torch.float32)

    def test_evaluation(self):
        whole = self.program.evaluate((self.a, self.b, self.y), reference=self.exported)
        loader = DataLoader(TensorDataset(self.a, self.b, self.y), batch_size=10)
        again = self.program.evaluate(loader, reference=self.path)
        self.assertEqual(whole["outputs"], again["outputs"])
        self.assertGreater(whole["sqnr_db"], 30)

    def test_quantized(self):
        quantized = nucleon.quantize(self.exported, (self.a, self.b))
        exported = quantized.exported_program()
        self.assertIsInstance(exported, torch.export.ExportedProgram)
        torch.export.save(exported, f"{self.folder.name}/quantized.pt2")
        self.assertEqual(nucleon.compile(exported).bytes, command_line(f"{self.folder.name}/quantized.pt2"))
        self.assertEqual(nucleon.compile(exported).run(self.a, self.b)[0].shape, (64, 5))

    def test_mistakes(self):
        for kind, line, call in (
            (nucleon.BadUsage, "exported before it is compiled", lambda: nucleon.compile(self.model, (self.a, self.b))),
            (nucleon.BadInput, "is bool, input 'a' is float32", lambda: self.program.run(self.a.bool(), self.b)),
            (nucleon.BadInput, "an array of complex64", lambda: self.program.run(self.a + 0j, self.b)),
            (nucleon.BadUsage, "given 3 inputs", lambda: self.program.run(self.a, self.b, self.y)),
            (nucleon.BadInput, "the arrays 'a'", lambda: nucleon.compile(self.exported, DataLoader(self.a))),
            (nucleon.BadInput, "has shape [5, 3, 8, 8]", lambda: nucleon.compile(self.exported, (self.a[:5], self.b))),
            (nucleon.BadUsage, "reference=MODEL", lambda: self.program.evaluate((self.a, self.b), self.exported)),
        ):
            with self.subTest(line):
                with self.assertRaises(kind) as caught:
                    call()
                self.assertIn(line, str(caught.exception))


class Script(unittest.TestCase):
    """The example: what it compiles is what the command line makes of the same model."""

    def test_example(self):
        with tempfile.TemporaryDirectory() as folder:
            code = (f"import runpy, sys, torch\nsys.argv = ['x', {str(DIGITS)!r}, {folder + '/p.pte'!r}]\n"
                    "import numpy\ntorch.manual_seed(0)\n"
                    f"found = runpy.run_path({str(ROOT / 'python/examples/train_and_compile.py')!r})\n"
                    f"torch.export.save(found['exported'], {folder + '/model.pt2'!r})\n"
                    f"numpy.savez({folder + '/data.npz'!r}, x=found['x'][:64].numpy())\n")
            done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ)
            accuracy = float(done.stdout.split("accuracy ")[1].split(",")[0])
            self.assertGreater(accuracy, 0.85)
            made = pathlib.Path(folder, "p.pte").read_bytes()
            names = [t.name for t in nucleon.Program(made).inputs]
            self.assertEqual(len(names), 1)
            self.assertEqual(made, command_line(f"{folder}/model.pt2", "--calibration", f"{folder}/data.npz"))


if __name__ == "__main__":
    unittest.main()
