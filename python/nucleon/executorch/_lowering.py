"""Partitioner, lowering and program with the names of ExecuTorch and its NXP backend."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, TextIO

import nucleon
from nucleon.errors import BadUsage, Unsupported

from ._spec import CompileSpec, CustomDelegationOptions, NeutronTargetSpec, options_of_spec
from ._warn import note

METHOD = "forward"


class NeutronPartitioner:
    """What is delegated to the NPU: all that it can run, but for what the compile spec and the options say.

    compile_spec
        From generate_neutron_compile_spec() or NeutronCompileSpecBuilder.
    neutron_target_spec
        The target of the compile spec, which is taken when this is None.
    custom_delegation_options
        A CustomDelegationOptions.
    post_quantization_state_dict
        Has no effect: the exported program holds its parameters.
    preserve_ops
        ATen operators that are kept whole where the NPU takes them, as torch.ops.aten.prelu.default or
        "aten.prelu.default", besides pad, prelu and hardswish; with converter flavor sdk-3.1 and reference_compat those
        alone that are named.
    check_op_support
        Called with each torch.fx.Node of the operators of preserve_ops: False decomposes the operator.
    options
        Options of nucleon.compile() that the backend has no argument for: ``dim_order="auto"``,
        ``memory_budget="64Ki"``, ``require_full_delegation=True``, ``reference_compat=True``.
    """

    def __init__(
        self,
        compile_spec: Sequence[CompileSpec],
        neutron_target_spec: NeutronTargetSpec | None = None,
        custom_delegation_options: CustomDelegationOptions | None = None,
        post_quantization_state_dict: Mapping[str, Any] | None = None,
        preserve_ops: Sequence[Any] | None = None,
        check_op_support: Callable[[Any], bool] | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(compile_spec, Sequence) or isinstance(compile_spec, (str, bytes)):
            raise BadUsage(f"compile_spec is a {type(compile_spec).__name__}, not a list of entries: "
                           "generate_neutron_compile_spec('imxrt700') makes one")
        asked = options_of_spec(compile_spec)
        if twice := sorted(set(options) & (set(asked) | {"target", "preserve_ops"})):
            raise BadUsage(f"NeutronPartitioner({twice[0]}=...): the compile spec says it")
        if neutron_target_spec is None:
            neutron_target_spec = NeutronTargetSpec(asked["target"], asked.get("converter_flavor"))
        if not isinstance(neutron_target_spec, NeutronTargetSpec):
            raise BadUsage(f"neutron_target_spec is a NeutronTargetSpec, not {type(neutron_target_spec).__name__}: "
                           "NeutronTargetSpec('imxrt700')")
        if neutron_target_spec.get_name() != asked["target"]:
            raise BadUsage(f"the compile spec is for target '{asked['target']}', neutron_target_spec for "
                           f"'{neutron_target_spec.get_name()}'")
        flavors = {asked.get("converter_flavor"), neutron_target_spec.converter_flavor} - {None}
        if len(flavors) > 1:
            raise BadUsage(f"compile_spec and neutron_target_spec have different converter flavors, "
                           f"{' and '.join(sorted(map(str, flavors)))}")
        if custom_delegation_options is not None and not isinstance(custom_delegation_options, CustomDelegationOptions):
            raise BadUsage("custom_delegation_options is a CustomDelegationOptions, not "
                           f"{type(custom_delegation_options).__name__}")
        self.compile_spec = list(compile_spec)
        self.neutron_target_spec = neutron_target_spec
        self.custom_delegation_options = custom_delegation_options or CustomDelegationOptions()
        self.preserve_ops = list(preserve_ops or [])
        self.check_op_support = check_op_support
        self._options = asked | ({"converter_flavor": flavors.pop()} if flavors else {}) | options

    def options(self, exported: Any) -> dict[str, Any]:
        """The options of nucleon.compile()."""
        options = dict(self._options)
        if self.custom_delegation_options.allow_no_op_partitions:
            # By cost a call that computes nothing is never worth its cycles.
            options = {"allow_no_op_partitions": True, "placement": "greedy"} | options
        if self.custom_delegation_options.force_delegate_cat:
            options["force_delegate_cat"] = True
        if self.preserve_ops:
            options["preserve_ops"] = preserved(self.preserve_ops, self.check_op_support, exported)
        return options


def operator_name(operator: Any) -> str:
    """'aten.prelu.default' of the operator or its name."""
    name = str(operator)
    if not isinstance(operator, str) and not hasattr(operator, "_schema"):
        raise BadUsage(f"preserve_ops holds {operator!r}: an operator is torch.ops.aten.prelu.default, or its name "
                       "'aten.prelu.default'")
    return name


def preserved(operators: Iterable[Any], check: Callable[[Any], bool] | None, exported: Any) -> list[str]:
    """Names of those that the check, asked for each of their nodes, leaves."""
    names = []
    for operator in operators:
        name = operator_name(operator)
        if check is not None:
            asked = [n for n in exported.graph.nodes if n.op == "call_function" and str(n.target) == name]
            answers = {bool(check(n)) for n in asked}
            if len(answers) > 1:
                raise Unsupported(f"check_op_support accepts some nodes of {name} and refuses others: an operator is "
                                  "preserved everywhere or nowhere; nodes that stay on the CPU are named in "
                                  "operators_not_to_delegate")
            if answers == {False}:
                continue
        names.append(name)
    return names


# ---- passes of the backend ----


class _Pass:
    """A pass of the backend that nucleon makes by itself: giving it changes nothing."""

    options: dict[str, Any] = {}

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        pass


class NeutronEdgePassManager(_Pass):
    """The passes of the Edge graph; those given are applied, too."""

    def __init__(self, passes: Sequence[Any] | None = None) -> None:
        self.passes = list(passes or [])


class RemoveAdditionalQDQClustersPass(_Pass):
    """Quantization of what only moves values is taken out in any case."""


class RemoveIOQuantOpsPass(_Pass):
    """The program takes and gives int8 values instead of floats: the option ``io="int8"``."""

    options = {"io": "int8"}


class QuantizeFusedConvBnBiasAtenPass(_Pass):
    """Biases that training leaves in float are quantized by nucleon in any case: the module is returned as it is."""

    def __init__(self, exported_program: Any = None, default_zero_bias: bool = False,
                 symmetric_quant: bool = False) -> None:
        pass

    def __call__(self, graph_module: Any) -> Any:
        self.graph_module = graph_module
        self.modified = False
        return self


def _options_of_passes(passes: Any) -> dict[str, Any]:
    if passes is None:
        return {}
    if isinstance(passes, Mapping):
        if set(passes) - {METHOD}:
            raise _one_method(passes)
        passes = passes.get(METHOD, [])
    if not isinstance(passes, (list, tuple)):
        passes = [passes]
    options: dict[str, Any] = {}
    for one in passes:
        if not isinstance(one, _Pass):
            raise Unsupported(f"the pass {getattr(one, '__name__', type(one).__name__)} works on ExecuTorch's Edge "
                              "graph, which there is none of here: change the module before torch.export.export(), or "
                              "the exported graph before it is lowered")
        options |= one.options
        options |= _options_of_passes(getattr(one, "passes", None))
    return options


# ---- configurations ----


class _Config:
    """Arguments with defaults; one that nucleon has nothing for is refused unless it has its default."""

    _known: dict[str, Any] = {}
    _ignored: dict[str, Any] = {}

    def __init__(self, **given: Any) -> None:
        defaults = {**self._known, **self._ignored}
        for name, value in given.items():
            if name not in defaults:
                raise BadUsage(f"{type(self).__name__}() has no argument '{name}': there are {', '.join(defaults)}")
            if name in self._ignored and value != self._ignored[name]:
                raise Unsupported(f"{type(self).__name__}({name}={value!r}) has nothing that corresponds to it in "
                                  "nucleon: leave it out (docs/from-executorch.md)")
        for name, default in defaults.items():
            setattr(self, name, given.get(name, list(default) if isinstance(default, list) else default))


class EdgeCompileConfig(_Config):
    """``preserve_ops`` as the partitioner's. Checks of the Edge graph are nucleon's own in any case."""

    _known = {"_check_ir_validity": True, "_core_aten_ops_exception_list": [], "_use_edge_ops": True,
              "preserve_ops": []}
    _ignored = {"_skip_dim_order": False}


class ExecutorchBackendConfig(_Config):
    """``extract_delegate_segments``: the NPU's data lie in segments after the program, as ``--delegate-data segment``;
    unlike in ExecuTorch not by default, as the NXP examples have it."""

    _known = {"extract_delegate_segments": False, "emit_stacktrace": False, "emit_mutable_buffer_names": False}
    _ignored = {"passes": [], "memory_planning_pass": None, "propagate_device_config": None, "to_out_var_pass": None,
                "dynamic_memory_planning_mode": None, "segment_alignment": 128, "constant_tensor_alignment": None,
                "delegate_alignment": None, "sym_shape_eval_pass": None, "remove_view_copy": True,
                "external_constants": False, "external_mutable_weights": False,
                "do_quant_fusion_and_const_prop": False, "run_reinplace_pass": False,
                "enable_non_cpu_memory_planning": True, "reinplace_extra_ops": None}


# ---- graphs to look at ----


class Node:
    """A node of a graph that is only looked at; it prints as its name."""

    def __init__(self, op: str, name: str, target: str, facts: Mapping[str, Any] | None = None) -> None:
        self.op, self.name, self.target, self.meta = op, name, target, dict(facts or {})

    def __repr__(self) -> str:
        return self.name


class Graph:
    """``nodes``, in the order of execution."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)

    def __str__(self) -> str:
        return "\n".join(f"{n.op:14} {n.name:48} {n.target}" for n in self.nodes)


class LoweredProgram:
    """What exported_program() of the managers gives: a graph to be looked at, not to be run."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.graph = Graph(nodes)

    @property
    def graph_module(self) -> LoweredProgram:
        return self

    def module(self) -> Any:
        raise Unsupported("a lowered program does not run in torch: .program.run(inputs) of what to_executorch() "
                          "returns runs it on the simulator of the NPU")


class _Names:
    """As torch names nodes: the second one is NAME_1."""

    def __init__(self) -> None:
        self.used: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        count = self.used.get(name, 0)
        self.used[name] = count + 1
        return name if count == 0 else f"{name}_{count}"


def edge_nodes(explanation: Mapping[str, Any], names: Sequence[str]) -> list[Node]:
    nodes = [Node("placeholder", name, name) for name in names]
    nodes += [Node("call_function", row["name"], row["operator"].removeprefix("edge."), row)
              for row in explanation["nodes"]]
    return nodes + [Node("output", "output", "output")]


def program_nodes(contents: Mapping[str, Any], inputs: Sequence[str]) -> list[Node]:
    free = _Names()
    nodes = [Node("placeholder", free(name), name) for name in inputs]
    for instruction in contents["methods"][0]["chains"][0]:
        if instruction["kind"] == "delegate":
            module = free(f"lowered_module_{instruction['delegate']}")
            nodes.append(Node("get_attr", module, module, instruction))
            nodes.append(Node("call_function", free("executorch_call_delegate"), "executorch_call_delegate", instruction))
        elif instruction["kind"] == "kernel":
            target = f"{instruction['operator'].replace('::', '.')}.{instruction['overload'] or 'default'}"
            nodes.append(Node("call_function", free(target.replace(".", "_")), target, instruction))
        else:
            nodes.append(Node("call_function", free(instruction["kind"]), instruction["kind"], instruction))
    return nodes + [Node("output", free("output"), "output")]


# ---- lowering ----


def _one_method(methods: Mapping[str, Any]) -> Unsupported:
    return Unsupported(f"methods {', '.join(sorted(map(str, methods)))}: a program of nucleon has one method, "
                       f"'{METHOD}'; lower each ExportedProgram into a program of its own")


def _only_program(programs: Any) -> Any:
    if isinstance(programs, Mapping):
        if set(programs) != {METHOD}:
            raise _one_method(programs)
        programs = programs[METHOD]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(programs, torch.export.ExportedProgram):
        return programs
    if torch is not None and isinstance(programs, torch.nn.Module):
        raise BadUsage(f"{type(programs).__name__} is not exported: give torch.export.export(model.eval(), "
                       "example_inputs)")
    raise BadUsage(f"{type(programs).__name__} is no program: give what torch.export.export() returns")


def _check_program(exported: Any) -> None:
    if getattr(exported, "dialect", "ATEN") == "EDGE":
        raise BadUsage("the program is in ExecuTorch's Edge dialect: give what torch.export.export() returns, "
                       "nucleon lowers it by itself")
    if exported.range_constraints:
        sizes = ", ".join(f"{symbol} in {bounds}" for symbol, bounds in exported.range_constraints.items())
        raise Unsupported(f"the program has dynamic shapes ({sizes}), and the NPU's programs have fixed ones: export "
                          "without dynamic_shapes, once for each size that is needed")


def _is_quantized(exported: Any) -> bool:
    return any(n.op == "call_function" and str(n.target).startswith("quantized_decomposed.")
               for n in exported.graph.nodes)


def _partitioner_of(partitioner: Any) -> NeutronPartitioner | None:
    if isinstance(partitioner, Mapping):
        if set(partitioner) - {METHOD}:
            raise _one_method(partitioner)
        partitioner = partitioner.get(METHOD)
    if partitioner is None:
        return None
    found = list(partitioner) if isinstance(partitioner, (list, tuple)) else [partitioner]
    for one in found:
        if not isinstance(one, NeutronPartitioner):
            raise Unsupported(f"{type(one).__name__} is a partitioner of another backend: nucleon delegates to the NPU "
                              "alone, and what it does not delegate is left to the CPU; target 'imxrt700cm' has int8 "
                              "kernels there")
    if len(found) > 1:
        raise BadUsage(f"there are {len(found)} partitioners: one NeutronPartitioner has all options")
    return found[0] if found else None


def to_edge_transform_and_lower(
    programs: Any,
    transform_passes: Any = None,
    partitioner: Any = None,
    constant_methods: Mapping[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Takes an exported program, quantized for the NPU, on its way to an ExecuTorch program.

    programs
        An ExportedProgram, or ``{"forward": it}``. One that is not quantized stays on the CPU in float.
    partitioner
        ``[NeutronPartitioner(...)]``; none: nothing is delegated.
    transform_passes
        Passes of the NXP backend; nucleon makes what they do by itself.
    generate_etrecord
        None is made here: ``nucleon run --etrecord`` writes one of a program.
    """
    exported = _only_program(programs)
    _check_program(exported)
    if constant_methods:
        raise Unsupported(f"constant_methods {', '.join(map(str, constant_methods))}: a program of nucleon has one "
                          f"method, '{METHOD}'; what it says about its data is in its metadata (docs/formats.md)")
    if compile_config is not None and not isinstance(compile_config, EdgeCompileConfig):
        raise BadUsage(f"compile_config is an EdgeCompileConfig, not {type(compile_config).__name__}")
    if generate_etrecord:
        note("generate_etrecord: no ETRecord is made here; 'nucleon run --etrecord' writes one of a program")
    own = _partitioner_of(partitioner)
    options: dict[str, Any] = {"no_delegate": True} if own is None else own.options(exported)
    if compile_config is not None and compile_config.preserve_ops:
        more = preserved(compile_config.preserve_ops, None, exported)
        options["preserve_ops"] = list(dict.fromkeys([*options.get("preserve_ops", []), *more]))
    if not _is_quantized(exported):
        if own is not None:
            note("the program is not quantized: it stays on the CPU in float; calibrate_and_quantize() quantizes it "
                 "before it is exported")
        options = {name: value for name, value in options.items() if name in ("target", "extra_flags")}
        options["no_quantize"] = True
    return EdgeProgramManager(exported, options | _options_of_passes(transform_passes))


class _OneMethod:
    """Programs have one method here, and none that return constants."""

    @property
    def methods(self) -> set[str]:
        return {METHOD}

    @property
    def config_methods(self) -> set[str]:
        return set()


class EdgeProgramManager(_OneMethod):
    """A program on its way: what is to be compiled, and with which options of nucleon.compile()."""

    def __init__(self, exported: Any, options: Mapping[str, Any]) -> None:
        self._exported = exported
        self.options = dict(options)

    def exported_program(self, method_name: str = METHOD) -> LoweredProgram:
        """The Edge graph; ``meta`` of a node says where it runs and why, as ``nucleon explain --json``."""
        _check_method(method_name)
        files = ("dump_kernel_selection", "intermediates_dir")
        explanation = nucleon.explain(self._exported, **{n: v for n, v in self.options.items() if n not in files})
        return LoweredProgram(edge_nodes(explanation, self._exported.graph_signature.user_inputs))

    def transform(self, passes: Any, compile_config: EdgeCompileConfig | None = None) -> EdgeProgramManager:
        """With passes of the NXP backend: RemoveIOQuantOpsPass has an effect."""
        return EdgeProgramManager(self._exported, self.options | _options_of_passes(passes))

    def to_backend(self, partitioner: Any) -> EdgeProgramManager:
        raise Unsupported("to_backend() after lowering: give the partitioner to to_edge_transform_and_lower(), so that "
                          "operators are kept whole for the NPU")

    def get_etrecord(self) -> Any:
        raise _no_etrecord()

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
        """Compiles."""
        if config is not None and not isinstance(config, ExecutorchBackendConfig):
            raise BadUsage(f"config is an ExecutorchBackendConfig, not {type(config).__name__}")
        options = dict(self.options)
        if config is not None and config.extract_delegate_segments:
            options["delegate_data"] = "segment"
        return ExecutorchProgramManager(nucleon.compile(self._exported, **options))


def _check_method(name: str) -> None:
    if name != METHOD:
        raise BadUsage(f"there is no method '{name}': a program of nucleon has one, '{METHOD}'")


def _no_etrecord() -> Unsupported:
    return Unsupported("there is no ETRecord here: 'nucleon run --etrecord' writes one of a program "
                       "(docs/cycle-model.md)")


class ExecutorchProgramManager(_OneMethod):
    """A program that is compiled. ``program`` is the nucleon.Program, which runs, evaluates and reports."""

    def __init__(self, program: nucleon.Program) -> None:
        self.program = program

    @property
    def buffer(self) -> bytes:
        """The program file."""
        return self.program.bytes

    def write_to_file(self, open_file: BinaryIO) -> None:
        open_file.write(self.buffer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program file, whose name ends in .pte."""
        if not os.fspath(path).endswith(".pte"):
            raise BadUsage(f"'{os.fspath(path)}' does not end in .pte")
        self.program.save(path)

    def write_tensor_data_to_file(self, outdir: str | os.PathLike[str]) -> None:
        """Writes nothing: all data are in the program file."""

    def exported_program(self, method_name: str = METHOD) -> LoweredProgram:
        """The instructions as nodes. With full delegation there are quantize, delegate call and dequantize."""
        _check_method(method_name)
        return LoweredProgram(program_nodes(self.program.inspect(), [t.name for t in self.program.inputs]))

    @property
    def executorch_program(self) -> dict[str, Any]:
        """What is in the file, as ``nucleon inspect --json`` has it."""
        return self.program.inspect()

    def dump_executorch_program(self, verbose: bool = False, out: TextIO | None = None) -> None:
        """Prints what is in the file as JSON; with ``verbose`` the NPU's microcode, too."""
        print(json.dumps(self.program.inspect(disassemble=verbose), indent=1), file=out or sys.stdout)

    def get_etrecord(self) -> Any:
        raise _no_etrecord()


def save_pte_program(prog: ExecutorchProgramManager, model_name: str, output_dir: str = "") -> str:
    """Writes MODEL_NAME.pte, and returns its path."""
    name = model_name if model_name.endswith(".pte") else f"{model_name}.pte"
    path = os.path.join(output_dir, name)
    prog.save(path)
    return path


def visualize_with_clusters(exported_program: Any, *arguments: Any, **keywords: Any) -> None:
    raise Unsupported("Model Explorer reads no programs of nucleon: 'nucleon report model.pt2 -o report.html' draws the "
                      "network by partitions, 'nucleon inspect model.pte --dot' is for graphviz, 'nucleon inspect "
                      "model.pte --tflite DIR' for Netron and Model Explorer")


