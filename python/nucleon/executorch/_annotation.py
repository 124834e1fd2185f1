"""The NPU's quantization scheme as annotations of a torch graph, for torchao's prepare_pt2e() and prepare_qat_pt2e().

It is needed where torch itself runs the quantized network, as in quantization-aware training. A model is annotated in
the order of its data: each value has one scale and zero point, which its readers share. What is not named here stays
float.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torchao.quantization.pt2e import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import (
    DerivedQuantizationSpec,
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    QuantizationSpecBase,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

# Scales below this are the steps of zeros: the backend's limit.
LEAST_STEP = 2.0**-12


class Layer:
    """Positions of the arguments of an operator with weights, and the axis of the weight that outputs lie along."""

    def __init__(self, data: int, weight: int, bias: int | None, axis: int) -> None:
        self.data, self.weight, self.bias, self.axis = data, weight, bias, axis


LAYERS = {
    "conv1d": Layer(0, 1, 2, 0),
    "conv2d": Layer(0, 1, 2, 0),
    "conv_transpose2d": Layer(0, 1, 2, 1),
    "linear": Layer(0, 1, 2, 0),
    "addmm": Layer(1, 2, 0, 1),
    "mm": Layer(0, 1, None, 1),
}

# Result with a range of its own; every tensor argument is quantized.
OBSERVED = frozenset(
    "abs add exp gelu hardsigmoid hardswish leaky_relu log mul neg relu relu6 rsqrt silu sub".split()
)

# Result with the parameters of argument 0; float where that is float.
SHARED = frozenset(
    "adaptive_avg_pool2d amax amin avg_pool1d avg_pool2d clone contiguous dropout flatten max_pool1d max_pool2d mean pad"
    " permute reshape select slice squeeze sum transpose unsqueeze upsample_bilinear2d upsample_nearest2d view".split()
)

# All tensors are one group.
GROUPED = frozenset("cat maximum minimum".split())

# Operator: scale and zero point of the result, whose range is known.
FIXED = {"sigmoid": (1 / 256, -128), "softmax": (1 / 256, -128), "tanh": (1 / 128, 0)}

# Bounds of a clamp that are one of the NPU's activations.
RELU_BOUNDS = {(0.0, 6.0), (0.0, float("inf")), (0.0, 1.0), (-1.0, 1.0)}

# Those that are computed together with the layer before them.
FUSED_BOUNDS = {(0.0, 6.0), (0.0, float("inf"))}


def name_of(node: torch.fx.Node) -> str:
    """'conv2d' of aten.conv2d.default, 'relu' of aten.relu_.default; '' of what is no ATen operator."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return ""
    space, _, name = node.target._schema.name.partition("::")
    if space != "aten":
        return ""
    return name[:-1] if name.endswith("_") else name


def is_float(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def is_constant(node: Any) -> bool:
    """A parameter, or what is computed of parameters alone."""
    if not isinstance(node, torch.fx.Node):
        return False
    if node.op == "get_attr":
        return True
    return node.op == "call_function" and bool(node.all_input_nodes) and all(map(is_constant, node.all_input_nodes))


def bounds_of(node: torch.fx.Node) -> tuple[float, float] | None:
    """What a clamp, hardtanh, ReLU or ReLU6 bounds its values to."""
    name = name_of(node)
    if name == "relu":
        return 0.0, float("inf")
    if name == "relu6":
        return 0.0, 6.0
    if name not in ("clamp", "hardtanh"):
        return None
    ends = list(node.args[1:3])
    ends += [-1.0, 1.0][len(ends) :] if name == "hardtanh" else [None] * (2 - len(ends))
    low, high = (None if isinstance(end, torch.fx.Node) else end for end in ends)
    return (-float("inf") if low is None else float(low)), (float("inf") if high is None else float(high))


def is_batch_norm(node: torch.fx.Node) -> bool:
    return name_of(node) in ("batch_norm", "_native_batch_norm_legit_no_training", "native_batch_norm")


def bias_parameters(observers: list[Any], outputs: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Scale of the input times scale of the weight; of a grouped transposed convolution once per group."""
    data, _ = observers[0].calculate_qparams()
    weight, _ = observers[1].calculate_qparams()
    weight = weight.flatten()
    if weight.numel() > 1 and weight.numel() < outputs:
        weight = weight.repeat(outputs // weight.numel())
    scale = data.flatten()[0] * weight
    return scale, torch.zeros_like(scale, dtype=torch.int64)


class Annotator:
    """Annotates one graph."""

    def __init__(self, is_qat: bool, per_channel: bool) -> None:
        self.is_qat = is_qat
        self.per_channel = per_channel
        self.observed = QuantizationSpec(
            dtype=torch.int8,
            quant_min=-128,
            quant_max=127,
            qscheme=torch.per_tensor_affine,
            observer_or_fake_quant_ctr=(
                FusedMovingAvgObsFakeQuantize.with_args(observer=MovingAverageMinMaxObserver, eps=LEAST_STEP)
                if is_qat
                else HistogramObserver.with_args(eps=LEAST_STEP)
            ),
        )

    # ---- specifications ----

    def symmetric(self, axis: int | None) -> QuantizationSpec:
        """Zero point 0: a scale for each index along `axis`, or one when it is None."""
        if axis is None:
            scheme, chosen = torch.per_tensor_symmetric, {}
            observer = MovingAverageMinMaxObserver if self.is_qat else MinMaxObserver
        else:
            scheme, chosen = torch.per_channel_symmetric, {"ch_axis": axis}
            observer = MovingAveragePerChannelMinMaxObserver if self.is_qat else PerChannelMinMaxObserver
        return QuantizationSpec(
            dtype=torch.int8,
            quant_min=-127,
            quant_max=127,
            qscheme=scheme,
            ch_axis=axis,
            observer_or_fake_quant_ctr=(
                FakeQuantize.with_args(observer=observer, **chosen)
                if self.is_qat
                else observer.with_args(**chosen)
            ),
        )

    @staticmethod
    def fixed(scale: float, zero_point: int) -> FixedQParamsQuantizationSpec:
        return FixedQParamsQuantizationSpec(
            dtype=torch.int8,
            scale=scale,
            zero_point=zero_point,
            quant_min=-128,
            quant_max=127,
            qscheme=torch.per_tensor_affine,
        )

    def of_input(self, producer: torch.fx.Node) -> QuantizationSpecBase:
        """The parameters of what produces it, so that nobody quantizes it again."""
        return SharedQuantizationSpec(producer) if self.is_quantized(producer) else self.observed

    # ---- annotations ----

    @staticmethod
    def is_quantized(node: torch.fx.Node) -> bool:
        annotation = node.meta.get(Q_ANNOTATION_KEY)
        return annotation is not None and annotation.output_qspec is not None

    @staticmethod
    def annotate(
        node: torch.fx.Node, inputs: dict[torch.fx.Node, QuantizationSpecBase], output: QuantizationSpecBase | None
    ) -> None:
        node.meta[Q_ANNOTATION_KEY] = QuantizationAnnotation(
            input_qspec_map=dict(inputs), output_qspec=output, _annotated=True
        )

    def run(self, graph: torch.fx.Graph) -> None:
        for node in graph.nodes:
            if node.op == "placeholder" and is_float(node) and node.users:
                self.annotate(node, {}, self.observed)
            elif name_of(node) and Q_ANNOTATION_KEY not in node.meta and is_float(node):
                self.node(node)
        # An input that only float operators read stays in float with them.
        for node in graph.nodes:
            if node.op == "placeholder" and self.is_quantized(node):
                readers = [user.meta.get(Q_ANNOTATION_KEY) for user in node.users]
                if not any(reader is not None and node in reader.input_qspec_map for reader in readers):
                    del node.meta[Q_ANNOTATION_KEY]

    def node(self, node: torch.fx.Node) -> None:
        name = name_of(node)
        data = [argument for argument in node.all_input_nodes if is_float(argument)]
        if name in LAYERS:
            self.layer(node, LAYERS[name])
        elif name == "bmm":
            self.annotate(node, {argument: self.symmetric(None) for argument in data}, self.observed)
        elif name == "prelu":
            self.annotate(
                node, {node.args[0]: self.of_input(node.args[0]), node.args[1]: self.symmetric(None)}, self.observed
            )
        elif name in FIXED:
            self.annotate(node, {node.args[0]: self.of_input(node.args[0])}, self.fixed(*FIXED[name]))
        elif name in GROUPED:
            self.group(node, data)
        elif name in OBSERVED or (name in ("clamp", "hardtanh") and bounds_of(node) in RELU_BOUNDS):
            self.annotate(node, {argument: self.of_input(argument) for argument in data}, self.observed)
        elif (name in SHARED or name in ("clamp", "hardtanh")) and self.is_quantized(node.args[0]):
            shared = SharedQuantizationSpec(node.args[0])
            self.annotate(node, {node.args[0]: shared}, shared)

    def group(self, node: torch.fx.Node, data: list[torch.fx.Node]) -> None:
        known = next(filter(self.is_quantized, data), None)
        if known is None:
            self.annotate(node, {argument: self.observed for argument in data}, self.observed)
        else:
            shared = SharedQuantizationSpec(known)
            self.annotate(node, {argument: shared for argument in data}, shared)

    def layer(self, node: torch.fx.Node, layer: Layer) -> None:
        data, weight = node.args[layer.data], node.args[layer.weight]
        if not is_constant(weight):
            return
        bias = node.args[layer.bias] if layer.bias is not None and len(node.args) > layer.bias else None
        matrix = len(weight.meta["val"].shape) == 2
        # A linear layer of rank 3 goes through reshapes to one of rank 2, whose weight has one scale.
        by_channel = self.per_channel and not (matrix and len(node.meta["val"].shape) > 2)
        inputs: dict[torch.fx.Node, QuantizationSpecBase] = {
            data: self.of_input(data),
            weight: self.symmetric(layer.axis if by_channel else None),
        }
        if is_constant(bias):
            inputs[bias] = DerivedQuantizationSpec(
                derived_from=[(data, node), (weight, node)],
                derive_qparams_fn=partial(bias_parameters, outputs=bias.meta["val"].numel()),
                dtype=torch.int32,
                quant_min=-(2**31) + 1,
                quant_max=2**31 - 1,
                qscheme=torch.per_channel_symmetric if by_channel else torch.per_tensor_symmetric,
                ch_axis=0 if by_channel else None,
            )
        chain = self.chain(node)
        self.annotate(node, inputs, self.observed if chain[-1] is node else None)
        for follower in chain[1:]:
            self.annotate(follower, {}, self.observed if follower is chain[-1] else None)

    def chain(self, node: torch.fx.Node) -> list[torch.fx.Node]:
        """The layer, the batch norm that training still has after it, and the ReLU: no value between them is int8."""
        chain = [node]
        user = self.only_user(node)
        if self.is_qat and user is not None and is_batch_norm(user):
            chain.append(user)
            user = self.only_user(user)
        fuses = name_of(node) not in ("linear", "addmm", "mm") or len(node.meta["val"].shape) <= 2
        if user is not None and fuses and bounds_of(user) in FUSED_BOUNDS and name_of(user) != "clamp":
            chain.append(user)
        return chain

    @staticmethod
    def only_user(node: torch.fx.Node) -> torch.fx.Node | None:
        users = list(node.users)
        return users[0] if len(users) == 1 and users[0].op == "call_function" else None
