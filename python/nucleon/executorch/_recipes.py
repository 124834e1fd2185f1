"""Export by recipe, with the names of ExecuTorch's export package and of the recipes of its NXP backend."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from nucleon.errors import BadInput, BadUsage, Unsupported

from ._lowering import (
    METHOD,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    NeutronPartitioner,
    RemoveIOQuantOpsPass,
    _is_quantized,
    _one_method,
    save_pte_program,
    to_edge_transform_and_lower,
)
from ._quantizer import NeutronQuantizer, calibrate_and_quantize
from ._spec import CustomDelegationOptions, NeutronTargetSpec, generate_neutron_compile_spec
from ._warn import note

NXP_BACKEND = "nxp"
NEUTRON_RECIPE_CONFIG_KEY = "neutron_recipe_config"


class RecipeType(Enum):
    """What the recipes of a backend are called."""

    @classmethod
    def get_backend_name(cls) -> str:
        return ""


class NXPRecipeType(RecipeType):
    """Quantized after training (PTQ) or in it (QAT); for the NPU, or without it."""

    INT8_PTQ_NEUTRON = "nxp_int8_ptq_neutron"
    INT8_QAT_NEUTRON = "nxp_int8_qat_neutron"
    INT8_PTQ_NO_DELEGATE = "nxp_int8_ptq_no_delegate"
    INT8_QAT_NO_DELEGATE = "nxp_int8_qat_no_delegate"

    @classmethod
    def get_backend_name(cls) -> str:
        return NXP_BACKEND

    @property
    def is_qat(self) -> bool:
        return "_qat_" in self.value

    @property
    def delegates(self) -> bool:
        return not self.value.endswith("no_delegate")


@dataclass
class ModelInputSpec:
    """One input of a model; ``dtype`` is torch.float32 when it is None."""

    shape: tuple[int, ...]
    dtype: Any = None
    dim_order: Any = None


@dataclass
class NeutronRecipeConfig:
    """What the recipes of the NXP backend have in common.

    input_spec
        A shape, shapes by input, or ModelInputSpec objects: what get_calibration_inputs_fn is called with.
    target, operators_not_to_delegate, intermediates_dir, use_neutron_for_format_conversion, fetch_constants_to_sram,
    dump_kernel_selection_code, use_profiling
        Arguments of generate_neutron_compile_spec().
    get_quantizer_fn
        Makes the quantizer; None: a NeutronQuantizer.
    get_calibration_inputs_fn
        Gives the calibration samples, tuples of inputs; None: those that export() is called with are taken.
    train_fn
        Trains the prepared module of a QAT recipe.
    custom_delegation_options
        As NeutronPartitioner's.
    remove_quant_io_ops
        The program takes and gives int8 values.
    use_quant_state_dict
        Has no effect: the exported program holds its parameters.
    """

    input_spec: Iterable[ModelInputSpec] | tuple[int, ...] | list[tuple[int, ...]]
    target: str = "imxrt700"
    operators_not_to_delegate: list[str] | None = None
    intermediates_dir: str | None = None
    get_quantizer_fn: Callable[[], Any] | None = None
    get_calibration_inputs_fn: Callable[[tuple[ModelInputSpec, ...]], Iterable[Any]] | None = None
    train_fn: Callable[[Any], None] | None = None
    custom_delegation_options: CustomDelegationOptions | None = None
    remove_quant_io_ops: bool = False
    use_quant_state_dict: bool = True
    use_neutron_for_format_conversion: bool = True
    fetch_constants_to_sram: bool = False
    dump_kernel_selection_code: bool | str = False
    use_profiling: bool = False

    def inputs(self) -> tuple[ModelInputSpec, ...]:
        """input_spec, a ModelInputSpec each."""
        given = [self.input_spec] if _is_shape(self.input_spec) else list(self.input_spec)
        for one in given:
            if not _is_shape(one) and not isinstance(one, ModelInputSpec):
                raise BadUsage(f"input_spec holds {one!r}: an input is a shape, as (1, 3, 32, 32), or a ModelInputSpec")
        return tuple(one if isinstance(one, ModelInputSpec) else ModelInputSpec(tuple(one)) for one in given)

    def quantizer(self, is_qat: bool) -> Any:
        if self.get_quantizer_fn is not None:
            return self.get_quantizer_fn()
        return NeutronQuantizer(NeutronTargetSpec(self.target), is_qat)

    def partitioner(self) -> NeutronPartitioner:
        spec = generate_neutron_compile_spec(
            self.target, intermediates_dir=self.intermediates_dir,
            operators_not_to_delegate=self.operators_not_to_delegate,
            use_neutron_for_format_conversion=self.use_neutron_for_format_conversion,
            fetch_constants_to_sram=self.fetch_constants_to_sram,
            dump_kernel_selection_code=self.dump_kernel_selection_code, use_profiling=self.use_profiling)
        return NeutronPartitioner(spec, NeutronTargetSpec(self.target), self.custom_delegation_options)


def _is_shape(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(n, int) for n in value) and len(value) > 0


@dataclass
class ExportRecipe:
    """How a model is exported: a recipe and its configuration. get_recipe() makes one."""

    name: str | None = None
    recipe_type: NXPRecipeType | None = None
    config: NeutronRecipeConfig | None = None
    executorch_backend_config: ExecutorchBackendConfig | None = None

    @classmethod
    def get_recipe(cls, recipe: RecipeType, **keywords: Any) -> ExportRecipe:
        """``get_recipe(NXPRecipeType.INT8_PTQ_NEUTRON, neutron_recipe_config=NeutronRecipeConfig(...))``"""
        if not isinstance(recipe, NXPRecipeType):
            raise BadUsage(f"{recipe!r} is no recipe of the NXP backend: there are "
                           f"{', '.join(f'NXPRecipeType.{one.name}' for one in NXPRecipeType)}")
        config = keywords.get(NEUTRON_RECIPE_CONFIG_KEY)
        if not isinstance(config, NeutronRecipeConfig):
            raise BadUsage(f"{NEUTRON_RECIPE_CONFIG_KEY} is a NeutronRecipeConfig, not {type(config).__name__}: "
                           f"get_recipe(recipe, {NEUTRON_RECIPE_CONFIG_KEY}=NeutronRecipeConfig((1, 3, 32, 32)))")
        if unknown := sorted(set(keywords) - {NEUTRON_RECIPE_CONFIG_KEY}):
            raise BadUsage(f"get_recipe() has no argument '{unknown[0]}': there is {NEUTRON_RECIPE_CONFIG_KEY}")
        config.inputs()
        config.partitioner()
        return cls(recipe.value, recipe, config)

    @classmethod
    def combine(cls, recipes: Sequence[ExportRecipe], recipe_name: str | None = None) -> ExportRecipe:
        """One recipe is itself; nucleon has one backend."""
        if len(recipes) != 1:
            raise Unsupported(f"{len(recipes)} recipes: nucleon delegates to the NPU alone, by one recipe")
        return recipes[0]


class NXPRecipeProvider:
    """Makes the recipes of the NXP backend."""

    backend_name = NXP_BACKEND

    def get_supported_recipes(self) -> list[RecipeType]:
        return list(NXPRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **keywords: Any) -> ExportRecipe:
        return ExportRecipe.get_recipe(recipe_type, **keywords)


class ExportSession:
    """A model on its way to a program; export() takes it there."""

    def __init__(
        self,
        model: Any,
        example_inputs: Any = None,
        export_recipe: ExportRecipe | None = None,
        name: str | None = None,
        dynamic_shapes: Any = None,
        constant_methods: Mapping[str, Any] | None = None,
        artifact_dir: str | None = None,
        generate_etrecord: bool = False,
    ) -> None:
        if not isinstance(export_recipe, ExportRecipe) or export_recipe.config is None:
            raise BadUsage("export_recipe is what ExportRecipe.get_recipe(NXPRecipeType.INT8_PTQ_NEUTRON, "
                           f"{NEUTRON_RECIPE_CONFIG_KEY}=...) makes")
        if dynamic_shapes is not None:
            raise Unsupported("dynamic_shapes: the NPU's programs have fixed shapes; export once for each size")
        self._model = _of_method(model)
        samples = _of_method(example_inputs) if example_inputs is not None else []
        if not isinstance(samples, (list, tuple)) or not all(isinstance(s, tuple) for s in samples):
            raise BadUsage("example_inputs is a list of tuples, each with the inputs of one call")
        self._samples = list(samples)
        self._recipe = export_recipe
        self._constant_methods, self._generate_etrecord = constant_methods, generate_etrecord
        self._edge: EdgeProgramManager | None = None
        self._program: ExecutorchProgramManager | None = None

    def export(self) -> None:
        """Exports, quantizes, lowers and compiles."""
        config, kind = self._recipe.config, self._recipe.recipe_type
        assert config is not None and kind is not None
        exported = self._exported()
        if not _is_quantized(exported):
            exported = self._quantized(exported)
        self._edge = to_edge_transform_and_lower(
            exported, transform_passes=[RemoveIOQuantOpsPass()] if config.remove_quant_io_ops else None,
            partitioner=[config.partitioner()] if kind.delegates else None,
            constant_methods=self._constant_methods, generate_etrecord=self._generate_etrecord)
        self._program = self._edge.to_executorch(self._recipe.executorch_backend_config)

    def _exported(self) -> Any:
        import torch

        model = torch.export.load(self._model) if isinstance(self._model, (str, os.PathLike)) else self._model
        if isinstance(model, torch.export.ExportedProgram):
            return model
        if not isinstance(model, torch.nn.Module):
            raise BadUsage(f"{type(model).__name__} is no model: give a torch.nn.Module, what torch.export.export() "
                           "returns, or the path of an archive")
        return torch.export.export(model, self.get_example_input())

    def _quantized(self, exported: Any) -> Any:
        import torch

        config, kind = self._recipe.config, self._recipe.recipe_type
        assert config is not None and kind is not None
        if config.get_calibration_inputs_fn is not None:
            samples = list(config.get_calibration_inputs_fn(config.inputs()))
        else:
            samples = self._samples
            if not kind.is_qat or config.train_fn is None:
                note(f"{len(samples)} example inputs calibrate: get_calibration_inputs_fn of the NeutronRecipeConfig "
                     "gives samples as the model gets them in use")
        module = calibrate_and_quantize(exported, samples, config.quantizer(kind.is_qat), kind.is_qat, config.train_fn)
        first = samples[0] if samples else self.get_example_input()
        return torch.export.export(module, first if isinstance(first, tuple) else (first,))

    # ---- what came of it ----

    def get_example_input(self, method_name: str = METHOD) -> tuple[Any, ...]:
        if method_name != METHOD:
            raise _one_method({method_name: None})
        if not self._samples:
            raise BadInput("there are no example_inputs: export(model, [(input,)], recipe)")
        return tuple(self._samples[0])

    def get_edge_program_manager(self) -> EdgeProgramManager:
        if self._edge is None:
            raise BadUsage("export() comes first")
        return self._edge

    def get_executorch_program_manager(self) -> ExecutorchProgramManager:
        if self._program is None:
            raise BadUsage("export() comes first")
        return self._program

    def get_executorch_program(self) -> dict[str, Any]:
        return self.get_executorch_program_manager().executorch_program

    def get_pte_buffer(self) -> bytes:
        return self.get_executorch_program_manager().buffer

    def save_pte_file(self, path: str) -> None:
        self.get_executorch_program_manager().save(path)

    def save_to_pte(self, output_name: str) -> None:
        save_pte_program(self.get_executorch_program_manager(), output_name)

    def run_method(self, method_name: str = METHOD, example_inputs: tuple[Any, ...] | None = None) -> Any:
        """Runs the program on the simulator."""
        inputs = self.get_example_input(method_name) if example_inputs is None else example_inputs
        outputs = self.get_executorch_program_manager().program.run(*inputs)
        return outputs if isinstance(outputs, (list, tuple)) else [outputs]

    def print_delegation_info(self) -> None:
        """Prints how many operators the NPU has, and by name and reason those that it has not."""
        nodes = [n for n in self.get_edge_program_manager().exported_program().graph.nodes
                 if n.meta and "quantize_per" not in n.target]
        delegated = [n for n in nodes if n.meta["partition"] is not None]
        print(f"{len(delegated)} of {len(nodes)} operators in "
              f"{len({n.meta['partition'] for n in delegated})} partitions of the NPU")
        for node in nodes:
            if node.meta["partition"] is None:
                print(f"  on the CPU: {node.name} ({node.target}): {node.meta['reason'] or 'by cost'}")

    def get_etrecord(self) -> Any:
        return self.get_executorch_program_manager().get_etrecord()


def _of_method(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if set(value) != {METHOD}:
        raise _one_method(value)
    return value[METHOD]


def export_by_recipe(*arguments: Any, **keywords: Any) -> ExportSession:
    """ExecuTorch's export(): an ExportSession with these arguments whose export() has been called."""
    session = ExportSession(*arguments, **keywords)
    session.export()
    return session
