"""libnucleon: where it is, and the functions, structures and enumerations of its headers that this module uses.

What stands here is compared with include/nucleon/*.h by tests/test_declarations.py.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, c_bool, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint, c_uint8, c_uint64
from ctypes import c_void_p
from typing import Any

MAX_RANK = 16

# enum nuc_status, enum nuc_dtype and so on: the names of C, in lower case without what all of an enumeration share.
STATUS = ("ok", "bad_input", "unsupported", "bad_usage", "no_memory", "io", "property", "device", "internal", "interrupted")
DTYPES = ("u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "bool", "bf16", "u16")
TASKS = ("auto", "classify", "segment", "regress")
GOALS = ("sqnr", "latency", "memory")
SIMULATOR_PATHS = ("best", "plain", "avx2", "avx512_vnni", "neon_dot")
OPTION_KINDS = ("flag", "string", "text", "number", "count", "cycles", "bytes", "choice", "integer", "real", "share",
                "floats", "list")
INSPECT_FORMS = ("text", "json", "dot")
MAP_FORMS = ("text", "svg", "peak")

ENUMS = {
    "nuc_status": ("NUC_", STATUS),
    "nuc_dtype": ("NUC_", DTYPES),
    "nuc_task": ("NUC_TASK_", TASKS),
    "nuc_goal": ("NUC_GOAL_", GOALS),
    "nuc_simulator_path": ("NUC_SIMULATOR_", SIMULATOR_PATHS),
    "nuc_option_kind": ("NUC_OPTION_", OPTION_KINDS),
    "nuc_inspect_form": ("NUC_INSPECT_", INSPECT_FORMS),
    "nuc_map_form": ("NUC_MAP_", MAP_FORMS),
}

NO_LABEL = -(2**63)  # NUC_NO_LABEL

# Objects of the library.
Compiler = c_void_p
Model = c_void_p
Dataset = c_void_p
Runner = c_void_p
Report = c_void_p

WarnFunction = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
ProgressFunction = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_size_t, c_size_t)

Status = c_int
Text = POINTER(c_char_p)
Bytes = POINTER(POINTER(c_uint8))


class Options(ctypes.Structure):
    """struct nuc_options."""

    _fields_ = [
        ("target", c_char_p),
        ("cpu", c_int),
        ("converter_flavor", c_char_p),
        ("delegate", c_bool),
        ("operators_not_to_delegate", POINTER(c_char_p)),
        ("n_operators_not_to_delegate", c_size_t),
        ("preserve_ops", POINTER(c_char_p)),
        ("n_preserve_ops", c_size_t),
        ("sizes", POINTER(c_char_p)),
        ("n_sizes", c_size_t),
        ("signature", c_char_p),
        ("rewrites", POINTER(c_char_p)),
        ("n_rewrites", c_size_t),
        ("stream", c_char_p),
        ("front_end", c_char_p),
        ("allow_no_op_partitions", c_bool),
        ("force_delegate_cat", c_bool),
        ("require_full_delegation", c_bool),
        ("check_op_support", c_void_p),
        ("check_op_support_user", c_void_p),
        ("use_neutron_for_format_conversion", c_bool),
        ("dim_order", c_int),
        ("intermediates_dir", c_char_p),
        ("plan_delegate_scratch", c_bool),
        ("memory_map", c_char_p),
        ("memory_budget", c_size_t),
        ("memories", POINTER(c_char_p)),
        ("n_memories", c_size_t),
        ("weights_memory", c_char_p),
        ("fetch_constants_to_sram", c_bool),
        ("converter", c_char_p),
        ("extra_flags", c_char_p),
        ("dump_kernel_selection", c_char_p),
        ("converter_timeout", c_uint),
        ("payload_version_0", c_bool),
        ("profile", c_bool),
        ("delegate_data", c_int),
        ("io", c_int),
        ("placement", c_int),
        ("no_quantize", c_bool),
        ("no_metadata", c_bool),
        ("executorch_ops_only", c_bool),
        ("reference_compat", c_bool),
        ("accuracy", c_int),
        ("observer", c_int),
        ("weights", c_int),
        ("activations", c_int),
        ("precision", POINTER(c_char_p)),
        ("n_precision", c_size_t),
        ("bias_correction", c_bool),
        ("image_mean", c_float * 3),
        ("image_std", c_float * 3),
        ("n_image_mean", c_size_t),
        ("n_image_std", c_size_t),
        ("image_resize", c_int),
        ("classes", POINTER(c_char_p)),
        ("n_classes", c_size_t),
        ("decision", c_char_p),
        ("unlike_calibration", c_bool),
        ("dump_after", c_char_p),
        ("dump", c_void_p),
        ("dump_user", c_void_p),
        ("warn", c_void_p),
        ("warn_user", c_void_p),
        ("progress", c_void_p),
        ("progress_user", c_void_p),
        ("threads", c_uint),
    ]


class OptionInfo(ctypes.Structure):
    """struct nuc_option_info."""

    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int),
        ("value", c_char_p),
        ("help", c_char_p),
        ("offset", c_size_t),
        ("size", c_size_t),
        ("count", c_size_t),
        ("choices", POINTER(c_char_p)),
        ("set", c_uint),
    ]


class TensorInfo(ctypes.Structure):
    """struct nuc_tensor_info."""

    _fields_ = [
        ("name", c_char_p),
        ("dtype", c_int),
        ("rank", c_size_t),
        ("sizes", c_int64 * MAX_RANK),
        ("dim_order", c_uint8 * MAX_RANK),
        ("bytes", c_size_t),
    ]


class ArrayInfo(ctypes.Structure):
    """struct nuc_array_info."""

    _fields_ = [
        ("name", c_char_p),
        ("dtype", c_int),
        ("rank", c_size_t),
        ("sizes", c_int64 * MAX_RANK),
        ("data", c_void_p),
        ("bytes", c_size_t),
    ]


class ExplainOptions(ctypes.Structure):
    """struct nuc_explain_options."""

    _fields_ = [("json", c_bool), ("all_nodes", c_bool), ("calibration", Dataset)]


class ExplainResult(ctypes.Structure):
    """struct nuc_explain_result."""

    _fields_ = [
        ("text", c_char_p),
        ("n_operators", c_size_t),
        ("n_delegated", c_size_t),
        ("n_partitions", c_size_t),
        ("cycles", c_uint64),
        ("lost_cycles", c_uint64),
        ("least_arena", c_uint64),
        ("made_up_ranges", c_bool),
        ("first_on_cpu", c_char_p),
    ]


class SimulatorOptions(ctypes.Structure):
    """struct nuc_simulator_options."""

    _fields_ = [("path", c_int), ("threads", ctypes.c_uint32)]


class Shard(ctypes.Structure):
    """struct nuc_shard."""

    _fields_ = [("index", c_size_t), ("count", c_size_t)]


class EvaluateOptions(ctypes.Structure):
    """struct nuc_evaluate_options."""

    _fields_ = [
        ("task", c_int),
        ("class_axis", c_int),
        ("ignore_label", c_int64),
        ("max_disagreements", c_size_t),
        ("shard", Shard),
        ("min_accuracy", c_double),
        ("min_agreement", c_double),
        ("min_sqnr", c_double),
        ("max_false_alarms", c_double),
        ("decided", c_void_p),
        ("decided_user", c_void_p),
    ]


class TuneOptions(ctypes.Structure):
    """struct nuc_tune_options."""

    _fields_ = [
        ("goal", c_int),
        ("dataset", c_char_p),
        ("held", POINTER(c_char_p)),
        ("n_held", c_size_t),
        ("has_min_sqnr", c_bool),
        ("min_sqnr", c_double),
        ("cycle_budget", c_uint64),
        ("varies_io", c_bool),
        ("calibration_data", Dataset),
        ("dataset_data", Dataset),
    ]


class TuneTrial(ctypes.Structure):
    """struct nuc_tune_trial."""

    _fields_ = [
        ("options", Options),
        ("compiled", c_bool),
        ("reason", c_char_p),
        ("sqnr", c_double),
        ("accuracy", c_double),
        ("cycles", c_uint64),
        ("milliseconds", c_double),
        ("arena", c_size_t),
        ("memory", c_size_t),
        ("program", c_size_t),
        ("seconds", c_double),
        ("unrivalled", c_bool),
    ]


class TuneResult(ctypes.Structure):
    """struct nuc_tune_result."""

    _fields_ = [
        ("trials", POINTER(TuneTrial)),
        ("n_trials", c_size_t),
        ("best", c_size_t),
        ("unmet", c_char_p),
        ("n_calibration", c_size_t),
        ("n_compared", c_size_t),
        ("calibrated_on", c_bool),
        ("split", c_bool),
        ("has_accuracy", c_bool),
        ("changes", POINTER(c_char_p)),
        ("n_changes", c_size_t),
    ]


class ReportOptions(ctypes.Structure):
    """struct nuc_report_options."""

    _fields_ = [
        ("calibration", c_char_p),
        ("dataset", c_char_p),
        ("evaluate", POINTER(EvaluateOptions)),
        ("compare", c_char_p),
        ("device", c_char_p),
        ("baud", c_uint),
        ("invocation", c_char_p),
        ("calibration_data", Dataset),
        ("dataset_data", Dataset),
    ]


STRUCTURES = {
    "nuc_options": Options,
    "nuc_option_info": OptionInfo,
    "nuc_tensor_info": TensorInfo,
    "nuc_array_info": ArrayInfo,
    "nuc_explain_options": ExplainOptions,
    "nuc_explain_result": ExplainResult,
    "nuc_simulator_options": SimulatorOptions,
    "nuc_shard": Shard,
    "nuc_evaluate_options": EvaluateOptions,
    "nuc_tune_options": TuneOptions,
    "nuc_tune_trial": TuneTrial,
    "nuc_tune_result": TuneResult,
    "nuc_report_options": ReportOptions,
}

# Result, then arguments.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "nuc_version": (c_char_p,),
    "nuc_status_name": (c_char_p, Status),
    "nuc_dtype_name": (c_char_p, c_int),
    "nuc_dtype_size": (c_size_t, c_int),
    "nuc_compiler_new": (Compiler, POINTER(Options), c_void_p),
    "nuc_compiler_free": (None, Compiler),
    "nuc_compiler_message": (c_char_p, Compiler),
    "nuc_interrupt": (None, Compiler),
    "nuc_listen": (None, Compiler, WarnFunction, ProgressFunction, c_void_p),
    "nuc_option_set": (Status, Compiler, c_char_p, c_char_p),
    "nuc_option_at": (c_bool, c_size_t, POINTER(OptionInfo)),
    "nuc_option_text": (Status, Compiler, c_char_p, POINTER(Options), POINTER(Options), Text),
    "nuc_list_operators": (Status, Compiler, c_bool, Text),
    "nuc_describe_operator": (Status, Compiler, c_char_p, Text),
    "nuc_operators_json": (Status, Compiler, Text),
    "nuc_targets_json": (Status, Compiler, Text),
    "nuc_size_samples": (Status, Compiler, c_char_p),
    "nuc_size_dataset": (Status, Compiler, Dataset),
    "nuc_model_open": (Status, Compiler, c_char_p, POINTER(Model)),
    "nuc_model_open_in_part": (Status, Compiler, c_char_p, POINTER(Model)),
    "nuc_model_refusal": (c_char_p, Model),
    "nuc_model_open_bytes": (Status, Compiler, c_char_p, c_void_p, c_size_t, POINTER(Model)),
    "nuc_model_is_quantized": (c_bool, Model),
    "nuc_model_n_inputs": (c_size_t, Model),
    "nuc_model_input": (Status, Model, c_size_t, POINTER(TensorInfo)),
    "nuc_dataset_open": (Status, Compiler, c_char_p, POINTER(Dataset)),
    "nuc_dataset_of_arrays": (Status, Compiler, c_char_p, POINTER(ArrayInfo), c_size_t, POINTER(Dataset)),
    "nuc_dataset_begins": (c_bool, Dataset, c_size_t),
    "nuc_dataset_n_steps": (c_size_t, Dataset),
    "nuc_dataset_sample": (Status, Dataset, c_size_t, POINTER(c_void_p)),
    "nuc_quantize": (Status, Model, Dataset, POINTER(Model)),
    "nuc_quantize_to_memory": (Status, Model, Dataset, Bytes, POINTER(c_size_t)),
    "nuc_quantization_json": (Status, Compiler, Text),
    "nuc_compile_to_memory": (Status, Model, Dataset, Bytes, POINTER(c_size_t)),
    "nuc_program_json": (Status, Compiler, Text),
    "nuc_memory_map": (Status, Compiler, c_int, Text),
    "nuc_profile_json": (Status, Compiler, c_char_p, c_void_p, c_size_t, c_void_p, Text),
    "nuc_inspect_bytes": (Status, Compiler, c_char_p, c_void_p, c_size_t, c_int, c_bool, Text),
    "nuc_inspect_file": (Status, Compiler, c_char_p, c_int, c_bool, Text),
    "nuc_explain": (Status, Model, POINTER(ExplainOptions), POINTER(ExplainResult)),
    "nuc_tune": (Status, Model, c_char_p, POINTER(TuneOptions), POINTER(TuneResult)),
    "nuc_tune_json": (Status, Compiler, POINTER(TuneResult), POINTER(c_char_p), POINTER(c_char_p), Text),
    "nuc_report_make": (Status, Model, POINTER(ReportOptions), POINTER(Report)),
    "nuc_report_missed": (c_char_p, Report),
    "nuc_report_json": (Status, Report, Text),
    "nuc_report_page": (Status, Report, Text),
    "nuc_runner_open_bytes": (Status, Compiler, c_char_p, c_void_p, c_size_t, POINTER(SimulatorOptions),
                              POINTER(Runner)),
    "nuc_runner_n_inputs": (c_size_t, Runner),
    "nuc_runner_n_outputs": (c_size_t, Runner),
    "nuc_runner_input": (Status, Runner, c_size_t, POINTER(TensorInfo)),
    "nuc_runner_output_name": (c_char_p, Runner, c_size_t),
    "nuc_runner_output": (Status, Runner, c_size_t, POINTER(TensorInfo)),
    "nuc_runner_bind": (Status, Runner, Dataset, Model, POINTER(c_size_t)),
    "nuc_runner_run": (Status, Runner, POINTER(c_void_p), POINTER(c_void_p)),
    "nuc_runner_reset": (Status, Runner),
    "nuc_runner_states_size": (c_size_t, Runner),
    "nuc_runner_save_states": (Status, Runner, c_void_p, c_size_t),
    "nuc_runner_restore_states": (Status, Runner, c_void_p, c_size_t),
    "nuc_runner_close": (None, Runner),
    "nuc_evaluate_options_default": (None, POINTER(EvaluateOptions)),
    "nuc_evaluate": (Status, Runner, Dataset, Model, POINTER(EvaluateOptions), POINTER(c_void_p)),
    "nuc_evaluate_nodes": (Status, Runner, Dataset, Model, Model, POINTER(c_void_p)),
    "nuc_merge_evaluations": (Status, Compiler, POINTER(c_char_p), c_size_t, POINTER(EvaluateOptions),
                              POINTER(c_void_p), POINTER(c_void_p)),
    "nuc_evaluation_json": (Status, Compiler, c_void_p, c_void_p, Text),
}

SONAME = "libnucleon.so.0"


def candidates() -> list[str]:
    """Where the library may be, the nearest first; the last one is for the system's loader to find."""
    given = os.environ.get("NUCLEON_LIBRARY")
    if given:
        return [given]
    here = pathlib.Path(__file__).resolve().parent
    checkout = here.parents[1] / "build" / "release" / SONAME
    return [str(p) for p in (here / SONAME, checkout) if p.exists()] + [SONAME]


def load() -> ctypes.CDLL:
    path = candidates()[0]
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"nucleon: the library cannot be loaded: {error}; build it with 'make' in the checkout, "
                          "install the package libnucleon0, or name it in the environment variable NUCLEON_LIBRARY"
                          ) from None
    for name, (result, *arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"nucleon: {path} does not have {name}(): it belongs to another version than the Python "
                              "module") from None
        function.restype = result
        function.argtypes = arguments
    return library


lib = load()


def text(value: bytes | None) -> str:
    """Text of the library; bytes that are no UTF-8 become \\xNN."""
    return (value or b"").decode("utf-8", "backslashreplace")


DTYPE_NAMES = tuple(text(lib.nuc_dtype_name(i)) for i in range(len(DTYPES)))
DTYPE_INDEX = {name: i for i, name in enumerate(DTYPE_NAMES)}
DTYPE_SIZE = {name: lib.nuc_dtype_size(i) for i, name in enumerate(DTYPE_NAMES)}
