"""What a program is worth over a data set."""

from __future__ import annotations

import ctypes
import operator
import os
import pathlib
import tempfile
from collections.abc import Iterable
from typing import Any

from . import _data
from ._files import read
from ._library import NO_LABEL, TASKS, EvaluateOptions, lib
from ._models import inputs_of, open_model, reference_of, size_as
from ._runner import NamedBytes, Runner, bytes_of, simulator_options
from ._session import Progress, Session, encode, real, spoken, unparse, whole
from .errors import BadUsage, PropertyMissed


def choice(name: str, value: str, words: tuple[str, ...]) -> int:
    if value not in words:
        raise BadUsage(f"{name} '{value}' is none of {', '.join(words)}")
    return words.index(value)


def evaluate_options(task: str, class_axis: int | None, ignore_label: int | None, disagreements: int,
                     min_accuracy: float | None, min_agreement: float | None,
                     min_sqnr: float | None, max_false_alarms: float | None) -> EvaluateOptions:
    options = EvaluateOptions()
    lib.nuc_evaluate_options_default(ctypes.byref(options))
    options.task = choice("task", task, TASKS)
    if class_axis is not None:
        options.class_axis = whole("class_axis", class_axis)
    options.ignore_label = NO_LABEL if ignore_label is None else whole("ignore_label", ignore_label, -2**63, 2**63 - 1)
    options.max_disagreements = whole("disagreements", disagreements)
    for name, value in (("min_accuracy", min_accuracy), ("min_agreement", min_agreement), ("min_sqnr", min_sqnr),
                        ("max_false_alarms", max_false_alarms)):
        if value is not None:
            setattr(options, name, real(name, value))
    return options


def evaluate(program: NamedBytes | str | os.PathLike[str] | bytes, dataset: Any, labels: Any = None, *, reference: Any = None, quantized: Any = None,
             task: str = "auto", class_axis: int | None = None, ignore_label: int | None = None,
             disagreements: int = 0, min_accuracy: float | None = None, min_agreement: float | None = None,
             min_sqnr: float | None = None, max_false_alarms: float | None = None, shard: tuple[int, int] | None = None, simulator: str = "best",
             threads: int = 0, progress: Progress | bool | None = None, **options: Any) -> dict[str, Any]:
    """Runs a program over a data set: its accuracy and its distance from the model that it was made of.

    ``program`` is a Program, the path of a file or the bytes of one.
    ``dataset`` is the path of an .npz, of a folder of .npy files or of images; arrays, alone or as a mapping by name;
    ``(x, y)`` with labels; or an iterable of batches such as a DataLoader of these. ``labels`` may be given apart.
    ``reference`` is the float model, as ``compile()`` takes it, or its torch.nn.Module: SQNR and agreement. ``quantized`` is what ``quantize()``
    made and the program was compiled from: the error of every node. ``min_accuracy`` and ``min_agreement`` are percent,
    ``min_sqnr`` is dB, ``max_false_alarms`` events an hour or percent; where one does not hold, ``PropertyMissed`` is raised, whose ``result`` is the evaluation.
    ``shard=(i, n)`` takes the i-th of n parts of the samples, for ``merge_evaluations()``.

    The result has the members of ``nucleon evaluate --json`` (docs/json.md). ``options`` are those of the command line
    about data: ``mean``, ``std``, ``resize``, ``unlike_calibration``.
    """
    if _data.is_path(program):
        name, code = os.fspath(program), read(program)
    else:
        name, code = getattr(program, "name", "program"), bytes_of(getattr(program, "bytes", program))
    if _data.is_path(labels) or hasattr(labels, "graph_module"):
        raise BadUsage("labels are an array: the model to compare with is given as reference=MODEL")
    if quantized is not None and reference is None:
        raise BadUsage("quantized: nodes are compared with the float model, too: give it as reference=MODEL")
    how = evaluate_options(task, class_axis, ignore_label, disagreements, min_accuracy, min_agreement, min_sqnr,
                           max_false_alarms)
    if shard is not None:
        how.shard.index, how.shard.count = _shard(shard)
    runner = Runner(name, code, {**options, "threads": threads or None}, simulator_options(simulator, threads), progress)
    with runner.session as s:
        if reference is not None:
            size_as(s, runner.inputs())
        float_model = open_model(s, reference_of(reference, runner.inputs())) if reference is not None else None
        quantized_model = open_model(s, quantized) if quantized is not None else None
        inputs = runner.inputs()
        if float_model is not None and all(t.name == f"in{i}" for i, t in enumerate(inputs)):
            named = inputs_of(s, float_model)  # a program without metadata has its model's names
            inputs = tuple(t._replace(name=n.name) for t, n in zip(inputs, named))
        data = _data.dataset(dataset, inputs, "dataset", s, labels, with_labels=True)
        result, nodes = ctypes.c_void_p(), ctypes.c_void_p()
        s.run(lib.nuc_evaluate, runner.handle, data, float_model, ctypes.byref(how), ctypes.byref(result))
        if quantized_model is not None:
            s.run(lib.nuc_evaluate_nodes, runner.handle, data, float_model, quantized_model, ctypes.byref(nodes))
        found = s.json_of(lib.nuc_evaluation_json, s.handle, result, nodes)
    return _unless_missed(found)


def _shard(shard: Any) -> tuple[int, int]:
    try:
        index, count = (operator.index(number) for number in shard)
    except (TypeError, ValueError):
        raise BadUsage(f"shard is {shard!r}: it takes (i, n), part i of n, from (1, n) to (n, n)") from None
    if not 1 <= index <= count:
        raise BadUsage(f"shard is {shard!r}: there is no such part of {count}")
    return index, count


def _unless_missed(found: dict[str, Any]) -> dict[str, Any]:
    if found.get("missed"):
        raise missed(found["missed"], found)
    return found


def merge_evaluations(shards: Iterable[Any], *, min_accuracy: float | None = None,
                      min_agreement: float | None = None, min_sqnr: float | None = None,
                      max_false_alarms: float | None = None) -> dict[str, Any]:
    """One evaluation of its shards: what ``evaluate(..., shard=(i, n))`` gave, or files of ``nucleon evaluate --shard``.

    Every number is that of an evaluation without shards, but the seconds.
    """
    how = evaluate_options("auto", None, None, 0, min_accuracy, min_agreement, min_sqnr, max_false_alarms)
    shards = list(shards) if isinstance(shards, Iterable) and not _data.is_path(shards) else []
    if not shards:
        raise BadUsage("shards: give a list of what evaluate(..., shard=(i, n)) returned, or of files")
    with tempfile.TemporaryDirectory(prefix="nucleon-") as folder, Session() as s:
        names = []
        for index, shard in enumerate(shards, 1):
            if _data.is_path(shard):
                names.append(encode(shard))
                continue
            if not isinstance(shard, dict) or "samples" not in shard:
                raise BadUsage(f"shard {index} is no evaluation: give what evaluate(..., shard=(i, n)) returned, or files")
            path = pathlib.Path(folder, f"shard {index}")
            path.write_text(unparse(shard))
            names.append(encode(path))
        result, nodes = ctypes.c_void_p(), ctypes.c_void_p()
        files = (ctypes.c_char_p * max(len(names), 1))(*names)
        s.run(lib.nuc_merge_evaluations, s.handle, files, len(names), ctypes.byref(how), ctypes.byref(result),
              ctypes.byref(nodes))
        found = s.json_of(lib.nuc_evaluation_json, s.handle, result, nodes)
    return _unless_missed(found)


def missed(message: str, result: dict[str, Any], text: str = "") -> PropertyMissed:
    error = PropertyMissed(spoken(message))
    error.result, error.text = result, text
    return error
