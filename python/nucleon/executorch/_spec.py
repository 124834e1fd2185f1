"""The target and the compile spec, with the names and arguments of ExecuTorch's NXP backend."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import nucleon
from nucleon.errors import BadInput, BadUsage


class NeutronHWVersion(Enum):
    """Generations of the NPU."""

    N1 = 1
    N3 = 2


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


class NeutronTargetSpec:
    """A target with an NPU: ``imxrt700``, ``mcxn947``, ``mcxn547``, or ``imxrt700cm`` with int8 kernels for the rest.

    ``converter_flavor`` is the rule set of the NPU: ``sdk-3.2``, ``sdk-3.1``, or one of the names that older releases
    of the backend had for it, ``SDK_25_06`` to ``SDK_25_12``. None: the newest.
    """

    def __init__(self, target: str, converter_flavor: str | None = None) -> None:
        known = nucleon.targets()
        by_name = {row["name"]: row for row in known["targets"]}
        if target not in by_name:
            raise BadUsage(f"target '{target}' is none of {_listed([n for n, t in by_name.items() if t['npu']])}")
        self._facts: dict[str, Any] = by_name[target]
        if self._facts["npu"] is None:
            raise BadUsage(f"target '{target}' has no NPU, so that nothing can be delegated: "
                           f"nucleon.compile(model, calibration, target='{target}') compiles for it")
        flavors = {name: row["name"] for row in known["converter_flavors"] for name in [row["name"], *row["aliases"]]}
        if converter_flavor is not None and converter_flavor not in flavors:
            raise BadUsage(f"converter flavor '{converter_flavor}' is none of {_listed(list(flavors))}: it names the "
                           "rules of the NPU that programs are made by")
        self.converter_flavor = None if converter_flavor is None else flavors[converter_flavor]

    def get_name(self) -> str:
        return str(self._facts["name"])

    def is_subsystem(self) -> bool:
        """False: the NPU is driven by the CPU next to it (Neutron-C)."""
        return False

    def get_num_units(self) -> int:
        return 1

    def get_num_pipes(self) -> int:
        return int(self._facts["npu"]["pipelines"])

    def get_num_macs(self) -> int:
        """Multiply-accumulates of a pipeline in a cycle."""
        return int(self._facts["npu"]["macs_per_pipeline"])

    def get_hw_version(self) -> NeutronHWVersion:
        return NeutronHWVersion[str(self._facts["npu"]["kind"]).split("-")[0]]

    def __repr__(self) -> str:
        flavor = "" if self.converter_flavor is None else f", converter_flavor={self.converter_flavor!r}"
        return f"NeutronTargetSpec({self.get_name()!r}{flavor})"


@dataclass
class CustomDelegationOptions:
    """What is delegated although the partitioner would not by itself.

    ``allow_no_op_partitions``: partitions that compute nothing. ``force_delegate_cat``, of older releases of the
    backend and with converter flavor sdk-3.1 only: concatenations of any size.
    """

    allow_no_op_partitions: bool = False
    force_delegate_cat: bool = False


@dataclass
class CompileSpec:
    """One entry of a compile spec."""

    key: str
    value: bytes


def _flag(value: bool, name: str) -> bool:
    if not isinstance(value, bool):
        raise BadUsage(f"{name} is True or False, not {value!r}")
    return value


class NeutronCompileSpecBuilder:
    """Makes a compile spec: ``NeutronCompileSpecBuilder().neutron_compile_spec("imxrt700", ...).build()``."""

    def __init__(self) -> None:
        self.config: NeutronTargetSpec | None = None
        self.compile_spec: list[CompileSpec] = []
        self.compiler_flags: list[str] = []
        self.output_format: str | None = None
        self.intermediates_dir: str | None = None
        self.operators_not_to_delegate: list[str] = []
        self.use_neutron_for_format_conversion = True
        self.fetch_constants_to_sram = False
        self.dump_kernel_selection_code: bool | str = False
        self.use_profiling = False

    def neutron_compile_spec(
        self,
        config: str,
        intermediates_dir: str | None = None,
        extra_flags: str | None = None,
        operators_not_to_delegate: Sequence[str] | None = None,
        use_neutron_for_format_conversion: bool = True,
        fetch_constants_to_sram: bool = False,
        dump_kernel_selection_code: bool | str = False,
        use_profiling: bool = False,
        neutron_converter_flavor: str | None = None,
    ) -> NeutronCompileSpecBuilder:
        """
        config
            The target: ``imxrt700`` or ``imxrt700cm``.
        intermediates_dir
            A folder for the LiteRT model of each partition, before and after its conversion.
        extra_flags
            Recorded in the program's compile spec.
        operators_not_to_delegate
            Operators (``aten::mm``, ``aten.add.Tensor``, ``add``) or nodes (``layers.0/add``) that stay on the CPU,
            with * and ? as in a shell. One that matches nothing is an error.
        use_neutron_for_format_conversion
            The NPU transposes contiguous inputs and outputs; else the CPU does.
        fetch_constants_to_sram
            Weights lie in flash and are copied while the NPU computes.
        dump_kernel_selection_code
            True writes the table of the NPU's kernels that the program needs to ``nucleon_kernel_selection.c`` in the
            working directory; a path writes it there.
        use_profiling
            The program records the time of each NPU kernel.
        neutron_converter_flavor
            The rule set of the NPU, an argument of older releases of the backend: see NeutronTargetSpec.
        """
        if self.output_format is not None:
            raise BadUsage("neutron_compile_spec() has been called: a builder makes one compile spec")
        self.config = NeutronTargetSpec(config, neutron_converter_flavor)
        if intermediates_dir is not None and not os.path.isdir(intermediates_dir):
            raise BadInput(f"intermediates_dir '{intermediates_dir}' is not a folder")
        if isinstance(operators_not_to_delegate, str):
            raise BadUsage("operators_not_to_delegate is a list of names, as in ['aten::mm']")
        self.intermediates_dir = intermediates_dir
        self.output_format = "tflite"
        if extra_flags is not None:
            self.compiler_flags.append(extra_flags)
        self.operators_not_to_delegate = list(operators_not_to_delegate or [])
        self.use_neutron_for_format_conversion = _flag(use_neutron_for_format_conversion,
                                                       "use_neutron_for_format_conversion")
        self.fetch_constants_to_sram = _flag(fetch_constants_to_sram, "fetch_constants_to_sram")
        self.dump_kernel_selection_code = dump_kernel_selection_code
        self.use_profiling = _flag(use_profiling, "use_profiling")
        return self

    def build(self) -> list[CompileSpec]:
        """The entries that the program records, and what the compilation takes from them."""
        if self.config is None:
            raise BadUsage("neutron_compile_spec(config) says the target first")
        self.compile_spec += [
            CompileSpec(key, str(value).encode())
            for key, value in (
                ("output_format", self.output_format),
                ("compile_flags", " ".join(self.compiler_flags)),
                ("target", self.config.get_name()),
                ("intermediates_dir", self.intermediates_dir),
                ("operators_not_to_delegate", ",".join(self.operators_not_to_delegate)),
                ("use_neutron_for_format_conversion", self.use_neutron_for_format_conversion),
                ("fetch_constants_to_sram", self.fetch_constants_to_sram),
                ("dump_kernel_selection_code", self.dump_kernel_selection_code),
                ("use_profiling", self.use_profiling),
            )
        ]
        if self.config.converter_flavor is not None:
            self.compile_spec.append(CompileSpec("converter_flavor", self.config.converter_flavor.encode()))
        return self.compile_spec


def generate_neutron_compile_spec(
    config: str,
    system_config: str | None = None,
    extra_flags: str | None = None,
    intermediates_dir: str | None = None,
    operators_not_to_delegate: Sequence[str] | None = None,
    use_neutron_for_format_conversion: bool = True,
    fetch_constants_to_sram: bool = False,
    dump_kernel_selection_code: bool | str = False,
    use_profiling: bool = False,
    neutron_converter_flavor: str | None = None,
) -> list[CompileSpec]:
    """A compile spec in one call: the arguments are those of NeutronCompileSpecBuilder.neutron_compile_spec().

    ``system_config`` has no meaning in the backend either.
    """
    if system_config is not None:
        raise BadUsage(f"system_config={system_config!r}: the backend has none; leave the argument out")
    return (
        NeutronCompileSpecBuilder()
        .neutron_compile_spec(
            config,
            intermediates_dir=intermediates_dir,
            extra_flags=extra_flags,
            operators_not_to_delegate=operators_not_to_delegate,
            use_neutron_for_format_conversion=use_neutron_for_format_conversion,
            fetch_constants_to_sram=fetch_constants_to_sram,
            dump_kernel_selection_code=dump_kernel_selection_code,
            use_profiling=use_profiling,
            neutron_converter_flavor=neutron_converter_flavor,
        )
        .build()
    )


KERNEL_SELECTION_FILE = "nucleon_kernel_selection.c"


def options_of_spec(spec: Sequence[CompileSpec]) -> dict[str, Any]:
    """The options of nucleon.compile() that a compile spec asks for; those that are as without it are left out."""
    entries: dict[str, str] = {}
    for entry in spec:
        key, value = getattr(entry, "key", None), getattr(entry, "value", None)
        if not isinstance(key, str) or not isinstance(value, (bytes, str)):
            raise BadUsage(f"compile_spec holds {entry!r}: generate_neutron_compile_spec() makes one")
        entries[key] = value.decode() if isinstance(value, bytes) else value
    if "target" not in entries:
        raise BadUsage("compile_spec names no target: generate_neutron_compile_spec() makes one")
    kernels = entries.get("dump_kernel_selection_code", "False")
    given: dict[str, Any] = {
        "target": entries["target"],
        "converter_flavor": entries.get("converter_flavor"),
        "extra_flags": entries.get("compile_flags") or None,
        "intermediates_dir": None if entries.get("intermediates_dir") == "None" else entries.get("intermediates_dir"),
        "operators_not_to_delegate": [w for w in entries.get("operators_not_to_delegate", "").split(",") if w] or None,
        "neutron_format_conversion": "off" if entries.get("use_neutron_for_format_conversion") == "False" else None,
        "fetch_constants_to_sram": entries.get("fetch_constants_to_sram") == "True" or None,
        "dump_kernel_selection": {"False": None, "None": None, "True": KERNEL_SELECTION_FILE}.get(kernels, kernels),
        "profile": entries.get("use_profiling") == "True" or None,
    }
    return {name: value for name, value in given.items() if value is not None}
