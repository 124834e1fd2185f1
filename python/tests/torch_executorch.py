"""nucleon.executorch with torch: scripts of ExecuTorch's NXP backend with their imports changed, against the command
line's bytes. Run where torch is importable; NUCLEON_COMMAND names the command, whose programs are compared then. What
needs torchao is skipped without it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
from typing import Any

try:
    import torch
except ImportError as error:
    print(f"skipped: torch is not there: {error}")
    sys.exit(77)

import nucleon
from nucleon import executorch as et
from nucleon.executorch.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
from nucleon.executorch.backends.nxp.neutron_partitioner import NeutronPartitioner
from nucleon.executorch.backends.nxp.nxp_backend import generate_neutron_compile_spec
from nucleon.executorch.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
from nucleon.executorch.backends.nxp.quantizer.utils import calibrate_and_quantize
from nucleon.executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

COMMAND = os.environ.get("NUCLEON_COMMAND")
HAS_TORCHAO = importlib.util.find_spec("torchao") is not None


class Small(torch.nn.Module):
    """A network with the batch norms and activations that quantization has to do with."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(16)
        self.side = torch.nn.Conv2d(16, 16, 3, padding=1)
        self.gate = torch.nn.Conv2d(16, 16, 1)
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.stem(x)))
        x = x + torch.nn.functional.relu6(self.side(x))
        x = x * torch.sigmoid(self.gate(torch.nn.functional.adaptive_avg_pool2d(x, 1)))
        return torch.softmax(self.head(torch.nn.functional.hardswish(x).mean((2, 3))), -1)


def samples(count: int, shape: tuple[int, ...] = (1, 3, 8, 8)) -> list[tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(7)
    return [(torch.randn(shape, generator=generator),) for _ in range(count)]


def small() -> torch.nn.Module:
    torch.manual_seed(3)
    return Small().eval()


def quantized(model: torch.nn.Module, inputs: list[tuple[torch.Tensor, ...]], **options: Any) -> Any:
    """Quantized by nucleon, and exported again."""
    exported = torch.export.export(model, inputs[0])
    module = calibrate_and_quantize(exported, inputs, NeutronQuantizer(NeutronTargetSpec("imxrt700"), **options))
    return torch.export.export(module, inputs[0])


def partitioner(**keywords: Any) -> NeutronPartitioner:
    names = ("custom_delegation_options", "preserve_ops", "check_op_support", "reference_compat")
    arguments = {name: keywords.pop(name) for name in names if name in keywords}
    return NeutronPartitioner(generate_neutron_compile_spec("imxrt700", **keywords), NeutronTargetSpec("imxrt700"),
                              **arguments)


def lowered(exported: Any, **keywords: Any) -> et.ExecutorchProgramManager:
    return to_edge_transform_and_lower(exported, partitioner=[partitioner(**keywords)]).to_executorch()


def delegates(program: et.ExecutorchProgramManager) -> int:
    return sum(node.target == "executorch_call_delegate" for node in program.exported_program().graph.nodes)


class Programs(unittest.TestCase):
    def same(self, one: bytes, other: bytes) -> None:
        self.assertTrue(one == other, f"programs of {len(one)} and {len(other)} bytes differ")

    def by_command(self, exported: Any, *options: str) -> bytes:
        """What the command line makes of the archive that torch writes."""
        with tempfile.TemporaryDirectory() as folder:
            archive, program = pathlib.Path(folder, "q.pt2"), pathlib.Path(folder, "q.pte")
            torch.export.save(exported, archive)
            subprocess.run([str(COMMAND), "compile", str(archive), "-o", str(program), "--quiet", *options], check=True)
            return program.read_bytes()

    def test_the_bytes_are_the_command_lines(self) -> None:
        if COMMAND is None:
            self.skipTest("NUCLEON_COMMAND does not name the command")
        exported = quantized(small(), samples(8))
        self.same(lowered(exported).buffer, self.by_command(exported))
        self.same(lowered(exported, use_profiling=True).buffer, self.by_command(exported, "--profile"))
        self.same(
            lowered(exported, operators_not_to_delegate=["aten::mul"], use_neutron_for_format_conversion=False).buffer,
            self.by_command(exported, "--operators-not-to-delegate", "aten::mul", "--neutron-format-conversion", "off"))
        self.same(to_edge_transform_and_lower(exported).to_executorch().buffer,
                         self.by_command(exported, "--no-delegate"))

    def test_the_program_computes_what_the_quantized_module_does(self) -> None:
        exported = quantized(small(), samples(8))
        program = lowered(exported)
        self.assertEqual(delegates(program), 1)
        nodes = [str(node) for node in program.exported_program().graph.nodes]
        self.assertEqual(nodes, ["x", "quantized_decomposed_quantize_per_tensor_out", "lowered_module_0",
                                 "executorch_call_delegate", "quantized_decomposed_dequantize_per_tensor_out",
                                 "output"])
        module = exported.module()
        for (x,) in samples(4):
            self.assertLessEqual((program.program.run(x) - module(x)).abs().max().item(), 2 / 256)

    def test_prepare_and_convert(self) -> None:
        inputs = samples(8)
        exported = torch.export.export(small(), inputs[0])
        prepared = et.prepare_pt2e(exported.module(), NeutronQuantizer(NeutronTargetSpec("imxrt700")))
        for (x,) in inputs:
            self.assertTrue(torch.equal(prepared(x), exported.module()(x)))
        converted = torch.export.export(et.convert_pt2e(prepared), inputs[0])
        self.same(lowered(converted).buffer, lowered(quantized(small(), inputs)).buffer)

    def test_recipes(self) -> None:
        from nucleon.executorch.backends.nxp.recipes.nxp_recipe_provider import NeutronRecipeConfig
        from nucleon.executorch.backends.nxp.recipes.nxp_recipe_types import NXPRecipeType
        from nucleon.executorch.export import ExportRecipe, export

        inputs = samples(8)

        def recipe(kind: NXPRecipeType, **options: Any) -> ExportRecipe:
            config = NeutronRecipeConfig((1, 3, 8, 8), get_calibration_inputs_fn=lambda spec: inputs, **options)
            return ExportRecipe.get_recipe(kind, neutron_recipe_config=config)

        session = export(small(), inputs[:1], recipe(NXPRecipeType.INT8_PTQ_NEUTRON))
        self.same(session.get_pte_buffer(), lowered(quantized(small(), inputs)).buffer)
        (y,) = session.run_method()
        self.assertLessEqual((y - small()(*inputs[0])).abs().max().item(), 0.05)
        archive = torch.export.export(small(), inputs[0])
        int8 = export(archive, inputs[:1], recipe(NXPRecipeType.INT8_PTQ_NEUTRON, remove_quant_io_ops=True))
        self.assertEqual(int8.get_executorch_program_manager().program.inputs[0].dtype, "int8")
        alone = export(small(), inputs[:1], recipe(NXPRecipeType.INT8_PTQ_NO_DELEGATE))
        self.assertEqual(delegates(alone.get_executorch_program_manager()), 0)
        with self.assertWarns(nucleon.Note):
            plain = NeutronRecipeConfig((1, 3, 8, 8))
            kind = NXPRecipeType.INT8_PTQ_NEUTRON
            few = export(small(), inputs, ExportRecipe.get_recipe(kind, neutron_recipe_config=plain))
        self.same(few.get_pte_buffer(), session.get_pte_buffer())
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            session.print_delegation_info()
            alone.print_delegation_info()
        self.assertIn("1 partitions", text.getvalue())
        self.assertIn("on the CPU", text.getvalue())

    def test_results(self) -> None:
        program = lowered(quantized(small(), samples(4)))
        with tempfile.TemporaryDirectory() as folder:
            path = et.save_pte_program(program, "model", folder)
            self.assertEqual(path, os.path.join(folder, "model.pte"))
            self.same(pathlib.Path(path).read_bytes(), program.buffer)
            with self.assertRaises(nucleon.BadUsage):
                program.save(os.path.join(folder, "model.bin"))
        to, text = io.BytesIO(), io.StringIO()
        program.write_to_file(to)
        program.dump_executorch_program(out=text)
        self.same(to.getvalue(), program.buffer)
        self.assertIn("NeutronBackend", text.getvalue())
        self.assertEqual(program.methods, {"forward"})
        with self.assertRaises(nucleon.Unsupported):
            program.get_etrecord()

    # ---- options have an effect ----

    def test_operators_that_stay_on_the_cpu(self) -> None:
        exported = quantized(small(), samples(4))
        edge = to_edge_transform_and_lower(exported, partitioner=[partitioner(operators_not_to_delegate=["aten::mul"])])
        kept = [node for node in edge.exported_program().graph.nodes if node.target == "aten.mul.Tensor"]
        self.assertEqual([node.meta["partition"] for node in kept], [None])
        self.assertGreater(delegates(edge.to_executorch()), 1)
        with self.assertRaises(nucleon.BadUsage) as caught:
            lowered(exported, operators_not_to_delegate=["aten::cumsum"])
        self.assertIn("cumsum", str(caught.exception))

    def test_partitions_that_compute_nothing(self) -> None:
        class Moves(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x.reshape(1, 16)

        exported = self.moves(Moves())
        self.assertEqual(delegates(lowered(exported)), 0)
        allowed = et.CustomDelegationOptions(allow_no_op_partitions=True)
        self.assertEqual(delegates(lowered(exported, custom_delegation_options=allowed)), 1)

    @staticmethod
    def moves(model: torch.nn.Module) -> Any:
        """With its value quantized in front of and behind it."""
        import torch.ao.quantization.fx._decomposed  # noqa: F401

        ops = torch.ops.quantized_decomposed

        class Quantized(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                for _ in range(2):
                    x = ops.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
                    x = ops.dequantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
                    x = model(x) if x.dim() == 4 else x
                return x

        return torch.export.export(Quantized(), samples(1, (1, 4, 2, 2))[0])

    def test_preserved_operators(self) -> None:
        """The older rule set preserves those alone that are named."""
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3), torch.nn.PReLU(16), torch.nn.Conv2d(16, 8, 3)).eval()
        exported = quantized(model, samples(4, (1, 8, 8, 8)))
        old: dict[str, Any] = {"neutron_converter_flavor": "SDK_25_09"}
        prelu, hardswish = torch.ops.aten.prelu.default, torch.ops.aten.hardswish.default
        whole, decomposed = lowered(exported, preserve_ops=[prelu], **old), lowered(exported, **old)
        self.assertTrue(whole.buffer != decomposed.buffer)
        self.same(lowered(exported, preserve_ops=["aten.prelu.default"], **old).buffer, whole.buffer)
        # A check that refuses all nodes takes the operator off the list; the other one is not in the network.
        refused = lowered(exported, preserve_ops=[prelu, hardswish], check_op_support=lambda node: False, **old)
        self.same(refused.buffer, decomposed.buffer)

    def test_int8_inputs_and_outputs(self) -> None:
        edge = to_edge_transform_and_lower(quantized(small(), samples(4)), partitioner=[partitioner()],
                                           transform_passes=et.NeutronEdgePassManager())
        edge = edge.transform([et.RemoveIOQuantOpsPass(edge_program_manager=edge)])
        edge = edge.transform(et.NeutronEdgePassManager([et.RemoveAdditionalQDQClustersPass()]))
        program = edge.to_executorch(config=ExecutorchBackendConfig(extract_delegate_segments=False)).program
        self.assertEqual((program.inputs[0].dtype, program.outputs[0].dtype), ("int8", "int8"))

    def test_kernel_selection_and_segments(self) -> None:
        exported = quantized(small(), samples(4))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "kernels.c")
            program = lowered(exported, dump_kernel_selection_code=str(path), intermediates_dir=folder)
            self.assertIn("kernel", path.read_text())
            self.assertEqual(len(list(pathlib.Path(folder).glob("*_pure.et.tflite"))), 1)
        apart = to_edge_transform_and_lower(exported, partitioner=[partitioner()]).to_executorch(
            ExecutorchBackendConfig(extract_delegate_segments=True))
        self.assertTrue(apart.buffer != program.buffer)

    def test_float_programs(self) -> None:
        exported = torch.export.export(small(), samples(1)[0])
        with self.assertWarns(nucleon.Note):
            program = lowered(exported)
        self.assertEqual(delegates(program), 0)
        (x,) = samples(1)[0]
        self.assertLess((program.program.run(x) - exported.module()(x)).abs().max().item(), 1e-5)

    # ---- mistakes ----

    def refused(self, words: str, function: Any, *arguments: Any, **keywords: Any) -> None:
        with self.assertRaises(nucleon.Error) as caught:
            function(*arguments, **keywords)
        for word in words.split("|"):
            self.assertIn(word, str(caught.exception))

    def test_mistakes(self) -> None:
        inputs = samples(2)
        quantizer = NeutronQuantizer(NeutronTargetSpec("imxrt700"))
        self.refused("is not exported", calibrate_and_quantize, small(), inputs, quantizer)
        self.refused("is no model", calibrate_and_quantize, "model.pt2", inputs, quantizer)
        exported = torch.export.export(small(), inputs[0])
        self.refused("no calibration samples", calibrate_and_quantize, exported, [], quantizer)
        self.refused("1 or 2 inputs", calibrate_and_quantize, exported, [inputs[0], inputs[0] * 2], quantizer)
        self.refused("not a tensor", calibrate_and_quantize, exported, [(1.0,)], quantizer)
        self.refused("is not exported", to_edge_transform_and_lower, small())
        self.refused("is_qat=True", calibrate_and_quantize, exported, inputs, quantizer, is_qat=True)
        training = NeutronQuantizer(NeutronTargetSpec("imxrt700"), is_qat=True)
        self.refused("prepare_qat_pt2e", et.prepare_pt2e, exported, training)
        batch = {0: torch.export.Dim("batch", min=2, max=8)}
        dynamic = torch.export.export(small(), samples(1, (2, 3, 8, 8))[0], dynamic_shapes=(batch,))
        self.refused("dynamic shapes|fixed", to_edge_transform_and_lower, dynamic)
        self.refused("one method", to_edge_transform_and_lower, exported, constant_methods={"version": 1})
        if not HAS_TORCHAO:
            self.refused("pip install torchao", et.prepare_qat_pt2e, exported.module(), training)


@unittest.skipUnless(HAS_TORCHAO, "torchao is not there")
class WithTorchao(unittest.TestCase):
    def setUp(self) -> None:
        warnings.filterwarnings("ignore", category=UserWarning, module="torch")

    def test_post_training(self) -> None:
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
        from torchao.quantization.pt2e.quantizer import Quantizer

        inputs = samples(8)
        quantizer = NeutronQuantizer(NeutronTargetSpec("imxrt700"))
        self.assertIsInstance(quantizer, Quantizer)
        prepared = prepare_pt2e(torch.export.export(small(), inputs[0]).module(), quantizer)
        for (x,) in inputs:
            prepared(x)
        self.compare(convert_pt2e(prepared), inputs)

    def test_training(self) -> None:
        from torchao.quantization.pt2e import move_exported_model_to_eval, move_exported_model_to_train
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

        inputs = samples(8)
        quantizer = NeutronQuantizer(NeutronTargetSpec("imxrt700"), is_qat=True)
        prepared = prepare_qat_pt2e(torch.export.export(small(), inputs[0]).module(), quantizer)
        prepared = move_exported_model_to_train(prepared)
        optimizer = torch.optim.SGD(prepared.parameters(), lr=1e-2)
        for (x,) in inputs:
            optimizer.zero_grad()
            (prepared(x)[:, 0] - 1).square().sum().backward()
            optimizer.step()
        converted = convert_pt2e(move_exported_model_to_eval(prepared))
        # The stem has no bias of its own: what the batch norm makes of it is quantized by nucleon.
        converted = et.QuantizeFusedConvBnBiasAtenPass(default_zero_bias=True)(converted).graph_module
        self.compare(converted, inputs)

    def test_calibrate_and_quantize_trains(self) -> None:
        steps = []
        quantizer = NeutronQuantizer(NeutronTargetSpec("imxrt700"), is_qat=True)
        inputs = samples(4)

        def train(module: Any) -> None:
            for (x,) in inputs:
                steps.append(module(x))

        exported = torch.export.export(small(), inputs[0])
        self.compare(calibrate_and_quantize(exported, inputs, quantizer, is_qat=True, train_fn=train), inputs)
        self.assertEqual(len(steps), 4)

    def compare(self, module: Any, inputs: list[tuple[torch.Tensor, ...]]) -> None:
        """The program is one delegate call, and computes what the module does."""
        program = lowered(torch.export.export(module, inputs[0], strict=True))
        self.assertEqual(delegates(program), 1)
        self.assertEqual(len(program.exported_program().graph.nodes), 6)
        for (x,) in inputs:
            self.assertLessEqual((program.program.run(x) - module(x)).abs().max().item(), 2 / 256)


if __name__ == "__main__":
    unittest.main()
