"""Models: compiled, quantized, explained, reported on, tuned."""

from __future__ import annotations

import ctypes
import html
import io
import os
from collections.abc import Mapping
from typing import Any, Literal, overload

from . import _data
from ._evaluation import choice, evaluate_options, missed
from ._files import check_writable, path_of, write_whole
from ._library import (GOALS, INSPECT_FORMS, MAP_FORMS, OPTION_KINDS, ExplainOptions, ExplainResult, OptionInfo,
                       ReportOptions, TuneOptions, TuneResult, lib, text)
from ._models import inputs_of, model_bytes, open_with_samples
from ._program import Program
from ._session import Progress, Session, address, encode, parse, real, spoken, whole
from .errors import BadUsage, Error, PropertyMissed


def _samples(session: Session, model: ctypes.c_void_p, data: Any, name: str,
             with_labels: bool = False) -> ctypes.c_void_p | None:
    if data is None:
        return None
    return _data.dataset(data, inputs_of(session, model), name, session, with_labels=with_labels)


def compile(model: Any, calibration: Any = None, *, target: str = "imxrt700",
            output: str | os.PathLike[str] | None = None, progress: Progress | bool | None = None,
            **options: Any) -> Program:
    """Compiles a model to a program, as ``nucleon compile`` does: the bytes are the same.

    ``model`` is what ``torch.export.export()`` returns, the path of a .pt2 or .tflite file, or the bytes of one.
    ``calibration`` is the path of an .npz, of a folder of .npy files or of images; arrays, alone or as a mapping by
    input name; or an iterable of batches such as a DataLoader, whose labels are left out. A batch may be
    ``(args, kwargs)``, as torch.export.export() takes them. A model that is quantized takes none. ``options`` are those
    of the command line by their names, '_' for '-' (``options()`` lists them): ``memory_budget="64Ki"``, ``io="int8"``,
    ``operators_not_to_delegate=["add"]``, ``require_full_delegation=True``. ``output`` is a file that is written, too. ``progress`` is called with (what, done, total), or is True: a line on
    standard error.
    """
    if output is not None:
        check_writable(output)
    with Session({"target": target, **options}, progress) as s:
        opened, samples = open_with_samples(s, model, calibration, "calibration")
        data, size = ctypes.POINTER(ctypes.c_uint8)(), ctypes.c_size_t()
        try:
            s.run(lib.nuc_compile_to_memory, opened, samples, ctypes.byref(data), ctypes.byref(size))
        except PropertyMissed as error:
            _describe_missed(s, error)
            raise
        maps = {form: s.text_of(lib.nuc_memory_map, s.handle, MAP_FORMS.index(form)) for form in ("text", "svg")}
        program = Program(ctypes.string_at(data, size.value), "program" if output is None else os.fspath(output),
                          s.json_of(lib.nuc_program_json, s.handle), maps)
    if output is not None:
        program.save(output)
    return program


def _describe_missed(session: Session, error: PropertyMissed) -> None:
    """The figures of a program that is too large, and what is alive where it is largest, if there is one."""
    message = str(error)
    try:
        error.result = session.json_of(lib.nuc_program_json, session.handle)
        error.text = session.text_of(lib.nuc_memory_map, session.handle, MAP_FORMS.index("peak"))
    except Error:
        error.args = (message,)


class Quantized:
    """A quantized model: the archive that ``nucleon quantize`` writes, which torch.export.load reads.

    ``report`` has the members of ``nucleon quantize --json``. ``compile()`` takes it as a model.
    """

    def __init__(self, data: bytes, report: Mapping[str, Any]) -> None:
        self.bytes = data
        self.report = dict(report)

    def save(self, path: str | os.PathLike[str]) -> None:
        write_whole(path, self.bytes)

    def exported_program(self) -> Any:
        """As torch's ExportedProgram."""
        import torch
        import torch.ao.quantization.fx._decomposed  # the operators that quantize and dequantize

        return torch.export.load(io.BytesIO(self.bytes))

    def __bytes__(self) -> bytes:
        return self.bytes

    def __repr__(self) -> str:
        return f"<nucleon.Quantized {len(self.bytes)} bytes>"


def quantize(model: Any, calibration: Any, *, target: str = "imxrt700", progress: Progress | bool | None = None,
             **options: Any) -> Quantized:
    """Quantizes a float model, as ``nucleon quantize`` does. Arguments as of ``compile()``."""
    with Session({"target": target, **options}, progress) as s:
        opened, samples = open_with_samples(s, model, calibration, "calibration")
        data, size = ctypes.POINTER(ctypes.c_uint8)(), ctypes.c_size_t()
        s.run(lib.nuc_quantize_to_memory, opened, samples, ctypes.byref(data), ctypes.byref(size))
        return Quantized(ctypes.string_at(data, size.value), s.json_of(lib.nuc_quantization_json, s.handle))


@overload
def explain(model: Any, calibration: Any = ..., *, target: str = ..., text: Literal[False] = ..., all_nodes: bool = ...,
            progress: Progress | bool | None = ..., **options: Any) -> dict[str, Any]: ...


@overload
def explain(model: Any, calibration: Any = ..., *, target: str = ..., text: Literal[True], all_nodes: bool = ...,
            progress: Progress | bool | None = ..., **options: Any) -> str: ...


def explain(model: Any, calibration: Any = None, *, target: str = "imxrt700", text: bool = False,
            all_nodes: bool = False, progress: Progress | bool | None = None,
            **options: Any) -> dict[str, Any] | str:
    """Where every operator runs, why those on the CPU do, and what would change that.

    The result has the members of ``nucleon explain --json`` (docs/json.md); with ``text=True`` it is the table that
    ``nucleon explain`` prints. A float model without calibration data is quantized with made-up ranges.
    """
    with Session({"target": target, **options}, progress) as s:
        opened, samples = open_with_samples(s, model, calibration, "calibration")
        if samples is not None and lib.nuc_model_is_quantized(opened):
            samples = None
        if samples is not None:
            s.run(lib.nuc_quantize, opened, samples, ctypes.byref(opened))
        how, result = ExplainOptions(not text, all_nodes, samples), ExplainResult()
        s.run(lib.nuc_explain, opened, ctypes.byref(how), ctypes.byref(result))
        found = result.text.decode("utf-8", "backslashreplace")
    members: dict[str, Any] | str = found if text else parse(found)
    return members


class Report:
    """Everything about one network: ``data`` as a dict (docs/report.md), ``page`` as HTML, shown by notebooks."""

    def __init__(self, page: str, json: str, missed: str | None) -> None:
        self.page = page
        self._json = json
        self.data: dict[str, Any] = parse(json)
        self.missed = missed
        """The properties that were demanded and do not hold, one line; None: there are none."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page, or the data where the name ends in .json."""
        name = path_of(path)
        if not name.endswith((".html", ".htm", ".json")):
            raise BadUsage(f"{name}: the name of a report ends in .html or .json")
        write_whole(path, (self._json if name.endswith(".json") else self.page).encode())

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.page, quote=True)}" style="width: 100%; height: 720px; border: 0" '
                'title="nucleon report"></iframe>')

    def __repr__(self) -> str:
        figures = self.data["summary"]
        return f"<nucleon.Report: {figures['on_npu']} of {figures['operators']} operators on the NPU>"


def report(model: Any, calibration: Any = None, dataset: Any = None, *, target: str = "imxrt700",
           compare: str | os.PathLike[str] | None = None, device: str | os.PathLike[str] | None = None,
           baud: int = 0, task: str = "auto", class_axis: int | None = None,
           ignore_label: int | None = None, disagreements: int = 0, min_accuracy: float | None = None,
           min_agreement: float | None = None, min_sqnr: float | None = None, max_false_alarms: float | None = None,
           progress: Progress | bool | None = None, **options: Any) -> Report:
    """Everything about a network in one page: where it runs and why, cycles, memory, errors, accuracy on ``dataset``.

    Arguments as of ``compile()`` and ``evaluate()``. What is demanded and does not hold is in ``missed`` of the result.
    """
    how = evaluate_options(task, class_axis, ignore_label, disagreements, min_accuracy, min_agreement, min_sqnr,
                           max_false_alarms)
    with Session({"target": target, **options}, progress) as s:
        opened, samples = open_with_samples(s, model, calibration, "calibration")
        asked = ReportOptions(evaluate=ctypes.pointer(how))
        asked.invocation = s.keep(_invocation(model, calibration, dataset, {"target": target, **options}))
        asked.compare = s.keep(encode(compare)) if compare is not None else None
        asked.device = s.keep(encode(device)) if device is not None else None
        asked.baud = baud
        asked.calibration_data = samples
        asked.dataset_data = _samples(s, opened, dataset, "dataset", with_labels=True)
        made = ctypes.c_void_p()
        s.run(lib.nuc_report_make, opened, ctypes.byref(asked), ctypes.byref(made))
        return Report(s.text_of(lib.nuc_report_page, made), s.text_of(lib.nuc_report_json, made),
                      spoken(text(lib.nuc_report_missed(made))) or None)


def _invocation(model: Any, calibration: Any, dataset: Any, options: Mapping[str, Any]) -> bytes:
    """How the report was asked for; data that are no path are left as dots."""
    def shown(value: Any) -> str:
        return repr(os.fspath(value)) if _data.is_path(value) else "..."

    parts = [shown(model)]
    parts += [f"{name}={shown(data)}" for name, data in (("calibration", calibration), ("dataset", dataset))
              if data is not None]
    parts += [f"{name}={value!r}" for name, value in options.items() if value is not None]
    return f"nucleon.report({', '.join(parts)})".encode("utf-8", "backslashreplace")


class Tuning:
    """What ``tune()`` found: ``trials`` as ``nucleon tune --json`` has them, and ``options`` of the best one, which
    ``compile(model, calibration, **tuning.options)`` takes."""

    def __init__(self, data: dict[str, Any], options: dict[str, str]) -> None:
        self.data = data
        self.options = options

    @property
    def trials(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.data["trials"]
        return found

    @property
    def best(self) -> dict[str, Any]:
        return next(trial for trial in self.trials if trial["best"])

    def __repr__(self) -> str:
        return f"<nucleon.Tuning: {len(self.trials)} trials, the best one has {self.options}>"


def tune(model: Any, calibration: Any = None, *, goal: str = "sqnr", dataset: Any = None, target: str = "imxrt700",
         min_sqnr: float | None = None, cycle_budget: int | None = None, vary_io: bool = False,
         progress: Progress | bool | None = None, **options: Any) -> Tuning:
    """Tries options of a model and says which are best in ``goal``: "sqnr", "latency" or "memory".

    Options that are given stay as they are. ``dataset`` has the samples on which trials are compared; without it a
    fourth of the calibration's is held out. ``PropertyMissed`` is raised when no trial keeps the limits: ``min_sqnr`` in
    dB, ``cycle_budget``, ``memory_budget``; its ``result`` has the trials. With ``vary_io`` int8 inputs and outputs are
    tried, too; ``data["changes"]`` says what the best options change for the caller.
    """
    given = {"target": target, **options}
    with Session(given, progress) as s:
        opened, samples = open_with_samples(s, model, calibration, "calibration")
        asked = TuneOptions(goal=choice("goal", goal, GOALS), varies_io=bool(vary_io),
                            cycle_budget=whole("cycle_budget", cycle_budget or 0, most=2**63 - 1))
        if min_sqnr is not None:
            asked.has_min_sqnr, asked.min_sqnr = True, real("min_sqnr", min_sqnr)
        names = [encode("--" + name.replace("_", "-").lstrip("-")) for name, v in options.items() if v is not None]
        asked.held = s.keep((ctypes.c_char_p * max(len(names), 1))(*names))
        asked.n_held = len(names)
        asked.calibration_data = samples
        asked.dataset_data = _samples(s, opened, dataset, "dataset", with_labels=True)
        result = TuneResult()
        s.run(lib.nuc_tune, opened, None, ctypes.byref(asked), ctypes.byref(result))
        made = [_options_of(s, result, i) for i in range(result.n_trials)]
        lines = [" ".join(f"--{name} {value}".rstrip() for name, value in m.items()).encode() for m in made]
        shown = (ctypes.c_char_p * len(lines))(*lines)
        no_commands = (ctypes.c_char_p * len(lines))()
        data = s.json_of(lib.nuc_tune_json, s.handle, ctypes.byref(result), shown, no_commands)
        unmet = text(result.unmet)
        best = result.best
    if best == len(made):
        raise missed(f"no trial keeps the limits; the nearest: {unmet}", data)
    chosen = {name.replace("-", "_"): value for name, value in made[best].items()}
    return Tuning(data, {**{n: v for n, v in given.items() if v is not None}, **chosen})


def _options_of(session: Session, result: TuneResult, trial: int) -> dict[str, str]:
    """Options of a trial that are not those of the first one."""
    info, index, found = OptionInfo(), 0, {}
    while lib.nuc_option_at(index, ctypes.byref(info)):
        value = ctypes.c_char_p()
        session.call(lib.nuc_option_text, info.name, ctypes.byref(result.trials[trial].options),
                     ctypes.byref(result.trials[0].options), ctypes.byref(value))
        if value.value is not None:
            found[text(info.name)] = text(value.value)
        index += 1
    return found


# ---- what there is ----


def inspect(file: Any, disassemble: bool = False) -> dict[str, Any]:
    """What is in a .pt2, .tflite or .pte file: the members of ``nucleon inspect --json``."""
    with Session() as s:
        form = INSPECT_FORMS.index("json")
        if _data.is_path(file):
            return s.json_of(lib.nuc_inspect_file, s.handle, encode(file), form, disassemble)
        name, data = (file.name, file.bytes) if isinstance(file, Program) else model_bytes(file)
        return s.json_of(lib.nuc_inspect_bytes, s.handle, encode(name), address(s.keep(data)),
                         len(data), form, disassemble)


def targets() -> dict[str, Any]:
    """Targets and converter flavors: the members of ``nucleon targets --json``."""
    with Session() as s:
        return s.json_of(lib.nuc_targets_json, s.handle)


def operators(**options: Any) -> dict[str, Any]:
    """The operators of a rule set and what runs them: the members of ``nucleon ops --json``."""
    with Session(options) as s:
        return s.json_of(lib.nuc_operators_json, s.handle)


def options() -> list[dict[str, Any]]:
    """What ``compile()`` and the others take as ``options``: name, kind, value, choices and help of each."""
    info = OptionInfo()
    found: list[dict[str, Any]] = []
    while lib.nuc_option_at(len(found), ctypes.byref(info)):
        choices: list[str] = []
        while info.choices and info.choices[len(choices)] is not None:
            choices.append(text(info.choices[len(choices)]))
        found.append({"name": text(info.name).replace("-", "_"), "kind": OPTION_KINDS[info.kind],
                      "value": text(info.value), "choices": choices, "help": text(info.help)})
    return found
