"""Quantization with the names of ExecuTorch's NXP backend and of torchao: by nucleon, or by torchao where it is there.

Post-training quantization is nucleon's own and needs torch alone. Quantization-aware training runs the quantized
network in torch, which is torchao's part: the NeutronQuantizer annotates the graph for it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from typing import Any

import nucleon
from nucleon.errors import BadInput, BadUsage

from ._spec import NeutronTargetSpec

# Options of nucleon.quantize() that a NeutronQuantizer may be given.
_OPTIONS = ("accuracy", "observer", "weights", "no_bias_correction", "reference_compat",
            "threads", "converter_flavor")


def torchao(name: str, purpose: str) -> Any:
    """torchao.quantization.pt2e.NAME, which is not needed for anything else."""
    if importlib.util.find_spec("torchao") is None:
        raise BadUsage(f"{purpose} is done by torchao, which is not installed: pip install torchao; "
                       "post-training quantization does without it: calibrate_and_quantize(), or "
                       "nucleon.compile(model, calibration)")
    return importlib.import_module(f"torchao.quantization.pt2e{name}")


class NeutronQuantizer:
    """The quantization of the NPU: int8, activations with one scale and zero point, weights with scales per channel.

    It is given to calibrate_and_quantize(), or to prepare_pt2e() and convert_pt2e() of this package, and nucleon
    quantizes. Given to prepare_pt2e() or prepare_qat_pt2e() of torchao it annotates the graph, and torchao quantizes;
    with ``is_qat`` for training, with fake quantization.

    Options of ``nucleon quantize`` are taken as keywords: ``accuracy="high"``, ``observer="minmax"``,
    ``weights="per-tensor"``, ``reference_compat=True``; for torchao only ``weights`` has an effect.
    """

    def __init__(self, neutron_target_spec: NeutronTargetSpec, is_qat: bool = False, **options: Any) -> None:
        if not isinstance(neutron_target_spec, NeutronTargetSpec):
            raise BadUsage(f"neutron_target_spec is a NeutronTargetSpec, not {type(neutron_target_spec).__name__}: "
                           "NeutronTargetSpec('imxrt700')")
        for name in options:
            if name not in _OPTIONS:
                raise BadUsage(f"NeutronQuantizer() has no option '{name}': there are {', '.join(_OPTIONS)}")
        self.neutron_target_spec = neutron_target_spec
        self.is_qat = is_qat
        self.options = options
        # Where torchao is in use, it knows its quantizers by their class.
        base = sys.modules.get("torchao.quantization.pt2e.quantizer")
        if base is not None:
            base.Quantizer.register(type(self))

    # ---- what torchao's prepare functions call ----

    def transform_for_annotation(self, model: Any) -> Any:
        model.graph.eliminate_dead_code()
        return model

    def annotate(self, model: Any) -> Any:
        from ._annotation import Annotator

        per_channel = self.options.get("weights", "per-channel") == "per-channel"
        Annotator(self.is_qat, per_channel).run(model.graph)
        return model

    def validate(self, model: Any) -> None:
        return None

    def prepare_obs_or_fq_callback(self, model: Any, edge_or_node_to_obs_or_fq: Any) -> None:
        return None


# ---- samples ----


def _as_inputs(sample: Any) -> tuple[Any, ...]:
    """The inputs of one call."""
    return tuple(sample) if isinstance(sample, (tuple, list)) else (sample,)


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _joined(samples: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Each input of all calls as one array, samples along axis 0."""
    import torch

    counts = {len(sample) for sample in samples}
    if len(counts) != 1:
        raise BadInput(f"calibration samples have {' or '.join(map(str, sorted(counts)))} inputs: each sample is a "
                       "tuple with all inputs of the model")
    for number, sample in enumerate(samples):
        for position, value in enumerate(sample):
            if not _is_tensor(value):
                raise BadInput(f"calibration sample {number}: input {position} is a {type(value).__name__}, not a tensor")
    return {f"in{i}": torch.cat([sample[i].detach().cpu() for sample in samples]) for i in range(counts.pop())}


def _quantized_module(model: Any, samples: list[tuple[Any, ...]], quantizer: NeutronQuantizer) -> Any:
    """The model quantized by nucleon, as the module that torchao's convert_pt2e() would give."""
    import torch

    if not samples:
        raise BadInput("there are no calibration samples: give inputs as the model gets them in use")
    if isinstance(model, torch.export.ExportedProgram):
        exported = model
    else:
        exported = torch.export.export(model, samples[0])
    spec = quantizer.neutron_target_spec
    options = {"target": spec.get_name(), "converter_flavor": spec.converter_flavor, **quantizer.options}
    quantized = nucleon.quantize(exported, _joined(samples), **options)
    import torch.ao.quantization.fx._decomposed  # noqa: F401  the operators that the archive has

    return quantized.exported_program().module()


def _check_model(model: Any) -> None:
    import torch

    if isinstance(model, (torch.export.ExportedProgram, torch.fx.GraphModule)):
        return
    if isinstance(model, torch.nn.Module):
        raise BadUsage(f"{type(model).__name__} is not exported: give torch.export.export(model.eval(), "
                       "(example_input,)), or .module() of that")
    raise BadUsage(f"{type(model).__name__} is no model: give what torch.export.export() returns, or .module() of that")


# ---- the functions ----


def calibrate_and_quantize(
    model: Any,
    calibration_inputs: Iterable[Any],
    quantizer: Any,
    is_qat: bool = False,
    train_fn: Callable[[Any], None] | None = None,
) -> Any:
    """Quantizes an exported model, and returns a torch.fx.GraphModule, to be evaluated or exported again.

    model
        An ExportedProgram, or its ``.module()``.
    calibration_inputs
        Tuples with the inputs of a call each; a tensor stands for a tuple of one.
    quantizer
        A NeutronQuantizer; another one of torchao goes through torchao.
    is_qat, train_fn
        With ``is_qat`` the model is prepared for quantization-aware training by torchao, ``train_fn(module)`` trains
        it, or without that the samples calibrate it.
    """
    _check_model(model)
    own = isinstance(quantizer, NeutronQuantizer)
    if own and not is_qat and quantizer.is_qat:
        raise BadUsage("the NeutronQuantizer is one with is_qat=True: give calibrate_and_quantize() is_qat=True, too")
    if own and not is_qat:
        return _quantized_module(model, [_as_inputs(sample) for sample in calibration_inputs], quantizer)
    if own and not quantizer.is_qat:
        raise BadUsage("is_qat=True needs NeutronQuantizer(target_spec, is_qat=True)")
    pt2e = torchao("", "quantization-aware training" if is_qat else "quantization with another quantizer")
    prepare = torchao(".quantize_pt2e", "")
    module = model.module() if hasattr(model, "graph_signature") else model
    prepared = (prepare.prepare_qat_pt2e if is_qat else prepare.prepare_pt2e)(module, quantizer)
    if is_qat and train_fn is not None:
        prepared = pt2e.move_exported_model_to_train(prepared)
        train_fn(prepared)
    if is_qat:
        prepared = pt2e.move_exported_model_to_eval(prepared)
    if train_fn is None:
        for sample in calibration_inputs:
            prepared(*_as_inputs(sample))
    return prepare.convert_pt2e(prepared)


class _Collector:
    """The model of prepare_pt2e(): called with samples it computes the float results and keeps the samples."""

    def __init__(self, model: Any, quantizer: NeutronQuantizer) -> None:
        self.model = model
        self.module = model.module() if hasattr(model, "graph_signature") else model
        self.quantizer = quantizer
        self.samples: list[tuple[Any, ...]] = []

    def __call__(self, *inputs: Any) -> Any:
        self.samples.append(tuple(value.detach().clone() if _is_tensor(value) else value for value in inputs))
        return self.module(*inputs)


def prepare_pt2e(model: Any, quantizer: Any) -> Any:
    """The model, to be called with calibration samples; convert_pt2e() quantizes it then."""
    _check_model(model)
    if not isinstance(quantizer, NeutronQuantizer):
        return torchao(".quantize_pt2e", "quantization with another quantizer").prepare_pt2e(model, quantizer)
    if quantizer.is_qat:
        raise BadUsage("the NeutronQuantizer is one with is_qat=True: prepare_qat_pt2e() prepares for training")
    return _Collector(model, quantizer)


def convert_pt2e(model: Any, *arguments: Any, **keywords: Any) -> Any:
    """The quantized module of what prepare_pt2e() or prepare_qat_pt2e() gave."""
    if not isinstance(model, _Collector):
        return torchao(".quantize_pt2e", "conversion of this model").convert_pt2e(model, *arguments, **keywords)
    return _quantized_module(model.model, model.samples, model.quantizer)


def prepare_qat_pt2e(model: Any, quantizer: Any) -> Any:
    """torchao's, which quantization-aware training needs: the model with fake quantization, to be trained."""
    _check_model(model)
    if isinstance(quantizer, NeutronQuantizer) and not quantizer.is_qat:
        raise BadUsage("training needs NeutronQuantizer(target_spec, is_qat=True)")
    return torchao(".quantize_pt2e", "quantization-aware training").prepare_qat_pt2e(model, quantizer)
