"""Modules with the paths of ExecuTorch's: `from executorch.X import Y` becomes `from nucleon.executorch.X import Y`."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

# Below this package: the names that a module has, "OURS as NAME" where a name of this package is in the way. One without
# names is imported for its effect, which is not needed.
MODULES: dict[str, tuple[str, ...]] = {
    "backends.nxp.aten_passes": (),
    "backends.nxp.backend.custom_delegation_options": ("CustomDelegationOptions",),
    "backends.nxp.backend.neutron_target_spec": ("NeutronHWVersion", "NeutronTargetSpec"),
    "backends.nxp.edge_passes.neutron_edge_pass_manager": ("NeutronEdgePassManager",),
    "backends.nxp.edge_passes.remove_additional_quantize_dequantize_nodes_pass": ("RemoveAdditionalQDQClustersPass",),
    "backends.nxp.edge_passes.remove_io_quant_ops_pass": ("RemoveIOQuantOpsPass",),
    "backends.nxp.neutron_partitioner": ("NeutronPartitioner",),
    "backends.nxp.nxp_backend": ("NeutronCompileSpecBuilder", "core_aten_ops_exception_list",
                                 "generate_neutron_compile_spec"),
    "backends.nxp.quantizer.neutron_quantizer": ("NeutronQuantizer", "NeutronTargetSpec"),
    "backends.nxp.quantizer.utils": ("calibrate_and_quantize",),
    "backends.nxp.recipes.nxp_recipe_provider": ("NEUTRON_RECIPE_CONFIG_KEY", "NXPRecipeProvider", "NeutronRecipeConfig"),
    "backends.nxp.recipes.nxp_recipe_types": ("NXPRecipeType", "NXP_BACKEND"),
    "backends.nxp.tests.executorch_pipeline": ("ModelInputSpec",),
    "backends.transforms.quantize_fused_convbn_bias_pass": ("QuantizeFusedConvBnBiasAtenPass",),
    "devtools.visualization.visualization_utils": ("visualize_with_clusters",),
    "exir": ("EdgeCompileConfig", "EdgeProgramManager", "ExecutorchBackendConfig", "ExecutorchProgramManager",
             "to_edge_transform_and_lower"),
    "exir.backend.compile_spec_schema": ("CompileSpec",),
    "export": ("ExportRecipe", "ExportSession", "RecipeType", "export_by_recipe as export"),
    "export.recipe": ("ExportRecipe", "RecipeType"),
    "extension.export_util": ("save_pte_program",),
    "extension.pybindings.portable_lib": (),
    "kernels.quantized": (),
}

PACKAGE = __name__.rpartition(".")[0]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the modules of the table, and the packages above them."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(f"{PACKAGE}."):
            return None
        inner = fullname.removeprefix(f"{PACKAGE}.")
        if not any(f"{module}.".startswith(f"{inner}.") for module in MODULES):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        inner = module.__name__.removeprefix(f"{PACKAGE}.")
        module.__doc__ = f"Names of executorch.{inner} that nucleon has."
        for row in MODULES.get(inner, ()):
            ours, _, name = row.partition(" as ")
            setattr(module, name or ours, self.names[ours])


def register(names: Mapping[str, Any]) -> None:
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder(names))
