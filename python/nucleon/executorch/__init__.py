"""nucleon with the names of ExecuTorch and its NXP backend: scripts run with their imports changed.

    from nucleon.executorch import (
        NeutronPartitioner, NeutronQuantizer, NeutronTargetSpec, calibrate_and_quantize, generate_neutron_compile_spec,
        to_edge_transform_and_lower,
    )

Where a script has `executorch` in its imports, `nucleon.executorch` has the same modules with the names it needs: `from
nucleon.executorch.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer`. torch is needed where its objects
are given, torchao for quantization-aware training alone. docs/from-executorch.md says what corresponds to what, and
what is not here.
"""

from __future__ import annotations

from typing import Any

from . import _paths
from ._lowering import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    NeutronEdgePassManager,
    NeutronPartitioner,
    QuantizeFusedConvBnBiasAtenPass,
    RemoveAdditionalQDQClustersPass,
    RemoveIOQuantOpsPass,
    save_pte_program,
    to_edge_transform_and_lower,
    visualize_with_clusters,
)
from ._quantizer import NeutronQuantizer, calibrate_and_quantize, convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from ._recipes import (
    NEUTRON_RECIPE_CONFIG_KEY,
    NXP_BACKEND,
    ExportRecipe,
    ExportSession,
    ModelInputSpec,
    NeutronRecipeConfig,
    NXPRecipeProvider,
    NXPRecipeType,
    RecipeType,
    export_by_recipe,
)
from ._spec import (
    CompileSpec,
    CustomDelegationOptions,
    NeutronCompileSpecBuilder,
    NeutronHWVersion,
    NeutronTargetSpec,
    generate_neutron_compile_spec,
)

__all__ = [
    "NEUTRON_RECIPE_CONFIG_KEY",
    "NXP_BACKEND",
    "CompileSpec",
    "CustomDelegationOptions",
    "EdgeCompileConfig",
    "EdgeProgramManager",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "ExportRecipe",
    "ExportSession",
    "ModelInputSpec",
    "NXPRecipeProvider",
    "NXPRecipeType",
    "NeutronCompileSpecBuilder",
    "NeutronEdgePassManager",
    "NeutronHWVersion",
    "NeutronPartitioner",
    "NeutronQuantizer",
    "NeutronRecipeConfig",
    "NeutronTargetSpec",
    "QuantizeFusedConvBnBiasAtenPass",
    "RecipeType",
    "RemoveAdditionalQDQClustersPass",
    "RemoveIOQuantOpsPass",
    "calibrate_and_quantize",
    "convert_pt2e",
    "core_aten_ops_exception_list",
    "export_by_recipe",
    "generate_neutron_compile_spec",
    "prepare_pt2e",
    "prepare_qat_pt2e",
    "save_pte_program",
    "to_edge_transform_and_lower",
    "visualize_with_clusters",
]

# Operators that may be left in an Edge graph; nucleon asks for none.
core_aten_ops_exception_list: list[Any] = []

_paths.register(globals())
