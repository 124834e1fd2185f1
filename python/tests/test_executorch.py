"""nucleon.executorch without torch: arguments, what options they become, names, and what the documentation has."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import tempfile
import types
import unittest
import warnings
from typing import Any

import nucleon
from nucleon import executorch
from nucleon.executorch import _lowering, _paths, _spec

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "from-executorch.md"


def spec_options(*arguments: Any, **keywords: Any) -> dict[str, Any]:
    return _spec.options_of_spec(executorch.generate_neutron_compile_spec(*arguments, **keywords))


class Refusals(unittest.TestCase):
    """Each is one line that names what was given and what to do."""

    def refused(self, words: str, function: Any, *arguments: Any, **keywords: Any) -> None:
        with self.assertRaises(nucleon.Error) as caught:
            function(*arguments, **keywords)
        for word in words.split("|"):
            self.assertIn(word, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_targets(self) -> None:
        self.refused("imxrt900|imxrt700, imxrt700cm", executorch.NeutronTargetSpec, "imxrt900")
        self.refused("cortex-m33|has no NPU|nucleon.compile", executorch.NeutronTargetSpec, "cortex-m33")
        self.refused("SDK_24_01|sdk-3.2|SDK_25_09", executorch.NeutronTargetSpec, "imxrt700", "SDK_24_01")
        self.refused("imx95", executorch.generate_neutron_compile_spec, "imx95")

    def test_compile_specs(self) -> None:
        builder = executorch.NeutronCompileSpecBuilder()
        self.refused("target first", builder.build)
        builder.neutron_compile_spec("imxrt700")
        self.refused("has been called", builder.neutron_compile_spec, "imxrt700")
        generate = executorch.generate_neutron_compile_spec
        self.refused("not a folder", generate, "imxrt700", intermediates_dir="/no/such/folder")
        self.refused("system_config", generate, "imxrt700", "internal")
        self.refused("a list of names", generate, "imxrt700", operators_not_to_delegate="aten::mm")
        self.refused("True or False", generate, "imxrt700", fetch_constants_to_sram="yes")

    def test_partitioners(self) -> None:
        spec = executorch.generate_neutron_compile_spec("imxrt700")
        partitioner = executorch.NeutronPartitioner
        self.refused("generate_neutron_compile_spec", partitioner, "imxrt700")
        self.refused("generate_neutron_compile_spec", partitioner, ["imxrt700"])
        self.refused("names no target", partitioner, [])
        self.refused("is a NeutronTargetSpec", partitioner, spec, "imxrt700")
        self.refused("imxrt700cm", partitioner, spec, executorch.NeutronTargetSpec("imxrt700cm"))
        self.refused("CustomDelegationOptions", partitioner, spec, None, {"allow_no_op_partitions": True})
        self.refused("compile spec says", partitioner, spec, target="imxrt700cm")
        old = executorch.generate_neutron_compile_spec("imxrt700", neutron_converter_flavor="SDK_25_09")
        self.refused("different converter flavors", partitioner, old, executorch.NeutronTargetSpec("imxrt700", "sdk-3.2"))

    def test_quantizers(self) -> None:
        target = executorch.NeutronTargetSpec("imxrt700")
        self.refused("is a NeutronTargetSpec", executorch.NeutronQuantizer, "imxrt700")
        self.refused("no option 'bits'|weights", executorch.NeutronQuantizer, target, bits=4)

    def test_recipes(self) -> None:
        recipe, kind = executorch.ExportRecipe.get_recipe, executorch.NXPRecipeType.INT8_PTQ_NEUTRON
        config = executorch.NeutronRecipeConfig
        self.refused("no recipe|INT8_PTQ_NEUTRON|INT8_QAT_NO_DELEGATE", recipe, "nxp_int8_ptq_neutron")
        self.refused("NeutronRecipeConfig((1, 3, 32, 32))", recipe, kind)
        self.refused("imxrt900", recipe, kind, neutron_recipe_config=config((1, 4), target="imxrt900"))
        self.refused("a shape, as (1, 3, 32, 32)", recipe, kind, neutron_recipe_config=config(["x"]))
        self.refused("no argument 'debug'", recipe, kind, neutron_recipe_config=config((1, 4)), debug=True)
        made = recipe(kind, neutron_recipe_config=config((1, 4)))
        self.refused("2 recipes", executorch.ExportRecipe.combine, [made, made])
        self.refused("get_recipe", executorch.ExportSession, None, [(1,)], None)
        self.refused("a list of tuples", executorch.ExportSession, None, [1], made)
        self.refused("fixed shapes", executorch.ExportSession, None, [(1,)], made, dynamic_shapes={})
        self.refused("methods encode", executorch.ExportSession, {"encode": None}, [(1,)], made)
        self.refused("export() comes first", executorch.ExportSession(None, [(1,)], made).get_pte_buffer)
        self.refused("no example_inputs", executorch.ExportSession(None, [], made).get_example_input)

    def test_lowering(self) -> None:
        lower = executorch.to_edge_transform_and_lower
        self.refused("torch.export.export", lower, b"model")
        self.refused("one method", lower, {"encode": None, "decode": None})
        self.refused("another backend|imxrt700cm", _lowering._partitioner_of, [object()])
        two = [executorch.NeutronPartitioner(executorch.generate_neutron_compile_spec("imxrt700"))] * 2
        self.refused("2 partitioners", _lowering._partitioner_of, two)
        self.refused("Edge graph", _lowering._options_of_passes, [lambda graph: graph])
        dynamic = types.SimpleNamespace(dialect="ATEN", range_constraints={"s0": "[2, 8]"})
        self.refused("dynamic shapes|s0|dynamic_shapes", _lowering._check_program, dynamic)
        edge = types.SimpleNamespace(dialect="EDGE", range_constraints={})
        self.refused("Edge dialect", _lowering._check_program, edge)
        self.refused("no argument 'segment'", executorch.ExecutorchBackendConfig, segment=1)
        self.refused("external_constants", executorch.ExecutorchBackendConfig, external_constants=True)
        self.assertTrue(executorch.ExecutorchBackendConfig(emit_mutable_buffer_names=True).emit_mutable_buffer_names)
        self.refused("an operator is", _lowering.preserved, [3], None, None)
        self.refused("Netron", executorch.visualize_with_clusters, None)


class Options(unittest.TestCase):
    """What arguments become."""

    def test_of_compile_specs(self) -> None:
        self.assertEqual(spec_options("imxrt700"), {"target": "imxrt700"})
        with tempfile.TemporaryDirectory() as folder:
            every = spec_options(
                "imxrt700cm", extra_flags="--a --b", intermediates_dir=folder,
                operators_not_to_delegate=["aten::mm", "add"], use_neutron_for_format_conversion=False,
                fetch_constants_to_sram=True, dump_kernel_selection_code=True, use_profiling=True,
                neutron_converter_flavor="SDK_25_09")
        self.assertEqual(every, {
            "target": "imxrt700cm", "extra_flags": "--a --b", "intermediates_dir": folder,
            "operators_not_to_delegate": ["aten::mm", "add"], "neutron_format_conversion": "off",
            "fetch_constants_to_sram": True, "dump_kernel_selection": _spec.KERNEL_SELECTION_FILE, "profile": True,
            "converter_flavor": "sdk-3.1"})
        known = {option["name"] for option in nucleon.options()}
        self.assertLessEqual(set(every), known)
        self.assertEqual(spec_options("imxrt700", dump_kernel_selection_code="a.c")["dump_kernel_selection"], "a.c")

    def test_of_partitioners(self) -> None:
        spec = executorch.generate_neutron_compile_spec("imxrt700")
        plain = executorch.NeutronPartitioner(spec)
        self.assertEqual(plain.options(None), {"target": "imxrt700"})
        chosen = executorch.NeutronPartitioner(
            spec, executorch.NeutronTargetSpec("imxrt700", "SDK_25_12"),
            executorch.CustomDelegationOptions(allow_no_op_partitions=True, force_delegate_cat=True),
            preserve_ops=["aten.prelu.default"])
        options = chosen.options(None)
        self.assertEqual(options, {
            "target": "imxrt700", "converter_flavor": "sdk-3.1", "allow_no_op_partitions": True, "placement": "greedy",
            "force_delegate_cat": True, "preserve_ops": ["aten.prelu.default"]})
        self.assertLessEqual(set(options), {option["name"] for option in nucleon.options()})
        more = executorch.NeutronPartitioner(spec, dim_order="auto", reference_compat=True).options(None)
        self.assertEqual(more, {"target": "imxrt700", "dim_order": "auto", "reference_compat": True})

    def test_of_checks(self) -> None:
        nodes = [types.SimpleNamespace(op="call_function", target="aten.prelu.default", size=n) for n in (4, 8)]
        exported = types.SimpleNamespace(graph=types.SimpleNamespace(nodes=nodes))

        def kept(check: Any) -> list[str]:
            return _lowering.preserved(["aten.prelu.default", "aten.pad.default"], check, exported)

        self.assertEqual(kept(lambda node: node.size > 0), ["aten.prelu.default", "aten.pad.default"])
        self.assertEqual(kept(lambda node: False), ["aten.pad.default"])
        with self.assertRaises(nucleon.Unsupported):
            kept(lambda node: node.size > 4)

    def test_of_passes(self) -> None:
        of = _lowering._options_of_passes
        self.assertEqual(of(None), {})
        self.assertEqual(of(executorch.NeutronEdgePassManager()), {})
        self.assertEqual(of([executorch.RemoveIOQuantOpsPass(edge_program_manager=None)]), {"io": "int8"})
        nested = executorch.NeutronEdgePassManager([executorch.RemoveAdditionalQDQClustersPass(),
                                                    executorch.RemoveIOQuantOpsPass()])
        self.assertEqual(of({"forward": nested}), {"io": "int8"})

    def test_of_recipes(self) -> None:
        kinds = executorch.NXPRecipeType
        self.assertEqual([(k.is_qat, k.delegates) for k in kinds],
                         [(False, True), (True, True), (False, False), (True, False)])
        self.assertEqual(kinds.get_backend_name(), "nxp")
        config = executorch.NeutronRecipeConfig([(1, 4), executorch.ModelInputSpec((2, 2))], fetch_constants_to_sram=True)
        self.assertEqual([one.shape for one in config.inputs()], [(1, 4), (2, 2)])
        self.assertEqual(config.partitioner().options(None), {"target": "imxrt700", "fetch_constants_to_sram": True})
        made = executorch.NXPRecipeProvider().create_recipe(kinds.INT8_QAT_NEUTRON, neutron_recipe_config=config)
        self.assertEqual(made.name, "nxp_int8_qat_neutron")
        self.assertIs(executorch.ExportRecipe.combine([made]), made)

    def test_of_targets(self) -> None:
        target = executorch.NeutronTargetSpec("imxrt700")
        self.assertEqual((target.get_name(), target.is_subsystem(), target.get_num_units()), ("imxrt700", False, 1))
        self.assertEqual((target.get_num_pipes(), target.get_num_macs()), (8, 8))
        self.assertIs(target.get_hw_version(), executorch.NeutronHWVersion.N3)
        self.assertIsNone(target.converter_flavor)

    def test_of_configurations(self) -> None:
        self.assertFalse(executorch.ExecutorchBackendConfig().extract_delegate_segments)
        config = executorch.EdgeCompileConfig(
            _core_aten_ops_exception_list=executorch.core_aten_ops_exception_list, _check_ir_validity=False)
        self.assertEqual(config.preserve_ops, [])

    def test_compile_specs_are_recorded_as_they_are(self) -> None:
        keys = [entry.key for entry in executorch.generate_neutron_compile_spec("imxrt700")]
        self.assertEqual(keys, ["output_format", "compile_flags", "target", "intermediates_dir",
                                "operators_not_to_delegate", "use_neutron_for_format_conversion",
                                "fetch_constants_to_sram", "dump_kernel_selection_code", "use_profiling"])


class Graphs(unittest.TestCase):
    def test_instructions_as_nodes(self) -> None:
        contents = {"methods": [{"chains": [[
            {"kind": "kernel", "operator": "quantized_decomposed::quantize_per_tensor", "overload": "out"},
            {"kind": "delegate", "delegate": 0},
            {"kind": "delegate", "delegate": 1},
            {"kind": "kernel", "operator": "aten::gelu", "overload": ""},
        ]]}]}
        nodes = _lowering.program_nodes(contents, ["x"])
        self.assertEqual(str(list(nodes)), "[x, quantized_decomposed_quantize_per_tensor_out, lowered_module_0, "
                                           "executorch_call_delegate, lowered_module_1, executorch_call_delegate_1, "
                                           "aten_gelu_default, output]")


class Names(unittest.TestCase):
    def test_modules_of_the_table(self) -> None:
        for path, names in _paths.MODULES.items():
            module = importlib.import_module(f"nucleon.executorch.{path}")
            for row in names:
                ours, _, name = row.partition(" as ")
                self.assertIs(getattr(module, name or ours), getattr(executorch, ours), f"{path}.{row}")
        with self.assertRaises(ImportError):
            importlib.import_module("nucleon.executorch.backends.xnnpack")

    def test_all(self) -> None:
        for name in executorch.__all__:
            self.assertTrue(hasattr(executorch, name), name)
        named = {row.partition(" as ")[0] for names in _paths.MODULES.values() for row in names}
        self.assertLessEqual(named, set(executorch.__all__))

    def test_notes_are_about_the_script(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _lowering.note("a note")
        self.assertEqual([w.category for w in caught], [nucleon.Note])
        self.assertEqual(caught[0].filename, __file__)


class Document(unittest.TestCase):
    """docs/from-executorch.md has every argument, every option and no other names than those there are."""

    # The command line of the backend's example script.
    SCRIPT = ("--model_name", "--delegate", "--target", "--quantize", "--use_qat", "--use_profiling", "--so_library",
              "--debug", "--test", "--remove-quant-io-ops", "--operators_not_to_delegate", "--visualize",
              "--use_channels_last_dim_order", "--dump_kernel_selection_code", "--use_random_dataset",
              "--fetch_constants_to_sram", "--neutron_converter_flavor")

    def setUp(self) -> None:
        self.text = re.sub(r"^```.*?^```$", "", DOCUMENT.read_text(), flags=re.M | re.S)
        self.names = set(re.findall(r"`([^`]+)`", self.text))

    def named(self, name: str, where: str) -> None:
        if name not in self.names:
            self.fail(f"{where}: the page does not have `{name}`")

    def test_options_of_the_script(self) -> None:
        for option in self.SCRIPT:
            self.named(option, "the example script")

    def test_arguments(self) -> None:
        functions = [executorch.NeutronTargetSpec, executorch.NeutronQuantizer, executorch.NeutronPartitioner,
                     executorch.CustomDelegationOptions, executorch.NeutronCompileSpecBuilder.neutron_compile_spec,
                     executorch.generate_neutron_compile_spec, executorch.calibrate_and_quantize,
                     executorch.to_edge_transform_and_lower]
        functions += [executorch.NeutronRecipeConfig, executorch.ExportSession]
        for function in functions:
            for name in inspect.signature(function).parameters:
                if name not in ("self", "options"):
                    self.named(name, function.__name__)
        for config in (executorch.EdgeCompileConfig, executorch.ExecutorchBackendConfig):
            for name in {**config._known, **config._ignored}:
                self.named(name, config.__name__)

    def test_names(self) -> None:
        for name in executorch.__all__:
            self.assertTrue(any(name in word for word in self.names), name)

    def test_options_of_nucleon(self) -> None:
        """In the column of the command line, and in that of Python, stand options that there are."""
        known = {option["name"] for option in nucleon.options()} | set(inspect.signature(nucleon.compile).parameters)
        commands = {"calibration", "input", "output", "dataset", "reference", "profile", "etdump", "etrecord", "dot", "tflite",
                    "html", "min_accuracy", "version", "verbose", "timings", "dump_after"}
        found = 0
        for row in re.findall(r"^\|(.*)\|$", self.text, re.M):
            cells = row.split(" | ")
            if len(cells) < 3:
                continue
            for option in re.findall(r"--([a-z][a-z-]*[a-z])", cells[1]):
                found += 1
                self.assertIn(option.replace("-", "_"), known | commands, row)
            for option in re.findall(r"\b([a-z_]+)=", " ".join(cells[2:])):
                if "nucleon.compile" in row or "compile(" in row:
                    self.assertIn(option, known | commands, row)
        self.assertGreater(found, 20)


if __name__ == "__main__":
    unittest.main()
