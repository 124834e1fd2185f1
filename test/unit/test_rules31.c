/*
 * Rule set sdk-3.1: every rule just inside and just outside its limit, the cases whose answer its backend's own tests
 * record, and its rules about partitions. Formats are set by hand: what they follow from is tested with the layout.
 */
#include "support_nets.h"

#include "npu/partition/partition.h"

#define PERMUTE(shape, dims) UNARY("aten.permute_copy.default(%dx, " dims ")", shape)
#define UP_ARGS(stride, pad) "[" stride "], [" pad "], [1, 1], true, [0, 0], 1"

struct rule_case {
    const char *graph;
    const char *first; /* names of the CHANNELS_FIRST nodes, each between blanks; all others are FORMATLESS */
    const char *rule;  /* a part of the rule that fails; NULL: the node is supported */
};

static const struct rule_case cases[] = {
    /* operators without rules, among them what sdk-3.2 asks: types, channels */
    {UNARY("aten.abs.default(%dx)", "3, 5"), "", NULL},
    {UNARY("aten.leaky_relu.default(%dx)", "3, 5"), "", NULL},
    {UNARY("aten.relu.default(%dx)", "3, 5"), "", NULL},
    {UNARY("aten.sigmoid.default(%dx)", "3, 5"), "", NULL},
    {UNARY("aten.tanh.default(%dx)", "3, 5"), "", NULL},
    {"%x = input : float32[3]; %r = edge.aten.abs.default(%x)\n", "", NULL},
    /* operators that came later */
    {UNARY("aten.exp.default(%dx)", "3, 8"), "", "the NPU supports the operator"},
    {UNARY("aten.log.default(%dx)", "3, 8"), "", "the NPU supports the operator"},
    {UNARY("aten.hardswish.default(%dx)", "3, 8"), "", "the NPU supports the operator"},
    {UNARY("aten.amax.default(%dx, [1])", "3, 8"), "", "the NPU supports the operator"},
    {BINARY("aten.maximum.default(%dx, %dy)", "8", "8"), "", "the NPU supports the operator"},
    /* adaptive average pooling */
    {UNARY("aten._adaptive_avg_pool2d.default(%dx, [2, 4])", "1, 2, 8, 8"), " dx r ", NULL},
    {UNARY("aten._adaptive_avg_pool2d.default(%dx, [2, 3])", "1, 2, 8, 8"), " dx r ", "divides"},
    {UNARY("aten._adaptive_avg_pool2d.default(%dx, [2, 4])", "1, 2, 8, 8"), "", "channels-first"},
    {UNARY_Q("aten._adaptive_avg_pool2d.default(%dx, [2, 4])", "1, 2, 8, 8", OTHER), " dx r ", "same scale"},
    /* add, sub: no broadcasting; alpha is not looked at */
    {BINARY("aten.add.Tensor(%dx, %dy)", "2, 3", "2, 3"), "", NULL},
    {BINARY("aten.add.Tensor(%dx, %dy)", "2, 3", "1, 3"), "", "one shape"},
    {BINARY("aten.add.Tensor(%dx, %dy)", "2, 3", "3"), "", "one shape"},
    {BINARY("aten.add.Tensor(%dx, %dy, alpha=2.0)", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.add.Tensor(%dx, %dx)", "2, 3"), "", NULL},
    {BINARY("aten.sub.Tensor(%dx, %dy)", "2, 3", "2, 3"), "", NULL},
    {BINARY("aten.sub.Tensor(%dx, %dy)", "2, 3", "1, 3"), "", "one shape"},
    /* mul: any dimension a multiple of 8, or all 1 */
    {BINARY("aten.mul.Tensor(%dx, %dy)", "4, 4", "4, 4"), "", "some dimension"},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "1, 4, 7", "1, 4, 7"), "", "some dimension"},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "1, 4, 4, 20", "1, 4, 4, 20"), "", "some dimension"},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "11", "11"), "", "some dimension"},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "6, 8", "6, 8"), "", NULL},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "8, 3", "8, 3"), "", NULL},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "1, 4, 8", "1, 4, 8"), "", NULL},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "1", "1"), "", NULL},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "6, 8", "1, 8"), "", "one shape"},
    /* addmm, mm: alpha, beta and what the weight is are not looked at */
    {MATRIX("aten.addmm.default(%db, %dx, %dw, beta=2.0)", "3, 4"), "", NULL},
    {MATRIX("aten.addmm.default(%dx, %dx, %dw)", "3, 3"), "", "three different"},
    {MATRIX("aten.mm.default(%dx, %dw)", "3, 4"), "", NULL},
    {INPUT("x", "3, 3") RESULT("aten.mm.default(%dx, %dx)", ""), "", "two different"},
    {BINARY("aten.mm.default(%dx, %dy)", "2, 3", "3, 4"), "", NULL},
    /* average pooling: windows of any size */
    {UNARY("aten.avg_pool2d.default(%dx, [4097, 1], [1, 1])", "1, 2, 4097, 1"), " dx r ", NULL},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [1, 1], false, false)", "1, 2, 4, 4"), " dx r ",
     "count_include_pad"},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], false, false)", "1, 2, 4, 4"), " dx r ", NULL},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], true)", "1, 2, 5, 5"), " dx r ", "ceil_mode"},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], false, true, 3)", "1, 2, 4, 4"), " dx r ",
     "divisor_override"},
    {UNARY_Q("aten.avg_pool2d.default(%dx, [2, 2], [2, 2])", "1, 2, 4, 4", OTHER), " dx r ", "same scale"},
    /* bmm: matrix dimensions of both factors */
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 8"), "", NULL},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 7, 16", "3, 16, 8"), "", "rows and columns"},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 15", "3, 15, 8"), "", "rows and columns"},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 9"), "", "rows and columns"},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 8"), " dx ", "second one is too"},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 8"), " dx dy ", NULL},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 8"), " dx dy r ", "can be transposed"},
    {UNARY("aten.bmm.default(%dx, %dx)", "3, 8, 8"), "", "two different"},
    /* cat */
    {BINARY("aten.cat.default([%dx, %dy], 2)", "3, 1, 3", "3, 1, 3"), "", NULL},
    {BINARY("aten.cat.default([%dx, %dy], 1)", "3, 1, 3", "3, 1, 3"), "", "inputs' channels"},
    {BINARY("aten.cat.default([%dx, %dy], 1)", "3, 1, 8", "3, 1, 8"), "", NULL},
    {BINARY("aten.cat.default([%dx, %dy], -1)", "3, 1, 4", "3, 1, 12"), "", "inputs' channels"},
    {BINARY("aten.cat.default([%dx, %dy], 1)", "1, 8, 2, 3", "1, 16, 2, 3"), " dx dy r ", NULL},
    {BINARY("aten.cat.default([%dx, %dy], 1)", "1, 4, 2, 3", "1, 4, 2, 3"), " dx dy r ", NULL},
    {BINARY("aten.cat.default([%dx, %dy], 2)", "1, 4, 2, 3", "1, 4, 2, 3"), " dx dy r ", "inputs' channels"},
    {UNARY("aten.cat.default([%dx, %dx], 1)", "3, 8"), "", "two different"},
    {INPUT("x",
           "3, 8") "%qy = quantized_decomposed.quantize_per_tensor.default(%x, 0.25, 0, -128, 127, int8)\n"
                   "%dy = quantized_decomposed.dequantize_per_tensor.default(%qy, 0.25, 0, -128, 127, int8)\n" RESULT(
                       "aten.cat.default([%dx, %dy], 1)", ""),
     "", "same type, scale"},
    /* clamp, hardtanh: the bounds of a ReLU only */
    {UNARY("aten.clamp.default(%dx, 0.0, 6.0)", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, 0.0)", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, 0.0, inf)", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, -1.0, 1.0)", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, 0.0, 1.0)", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, 0.0, 5.0)", "2, 3"), "", "bounds"},
    {UNARY("aten.clamp.default(%dx, -inf, inf)", "2, 3"), "", "bounds"},
    {UNARY("aten.clamp.default(%dx, none, 6.0)", "2, 3"), "", "bounds"},
    {UNARY("aten.hardtanh.default(%dx)", "2, 3"), "", NULL},
    {UNARY("aten.hardtanh.default(%dx, 0.0, inf)", "2, 3"), "", NULL},
    {UNARY("aten.hardtanh.default(%dx, 0.0, 6.0)", "2, 3"), "", NULL},
    {UNARY("aten.hardtanh.default(%dx, -2.0, 2.0)", "2, 3"), "", "bounds"},
    /* clone */
    {UNARY("dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3"), "", NULL},
    /* padding: everything but the channels */
    {UNARY("aten.constant_pad_nd.default(%dx, [0, 0, 1, 1], 0.0)", "2, 2"), "", NULL},
    {UNARY("aten.constant_pad_nd.default(%dx, [1, 0], 0.0)", "2, 2"), "", "channels are not padded"},
    {UNARY("aten.constant_pad_nd.default(%dx, [1, 1, 1, 1], 0.0)", "1, 2, 2, 2"), " dx r ", NULL},
    {UNARY("aten.constant_pad_nd.default(%dx, [0, 0, 0, 0, 0, 1], 0.0)", "1, 2, 2, 2"), " dx r ",
     "channels are not padded"},
    {UNARY("aten.constant_pad_nd.default(%dx, [0, 0, 0, 0, 0, 0, 1, 0], 0.0)", "1, 2, 2, 2"), " dx r ", NULL},
    {UNARY_Q("aten.constant_pad_nd.default(%dx, [0, 0, 1, 1], 0.0)", "2, 2", OTHER), "", "same scale"},
    /* convolution: batch 1, one group or one per channel; kernel, stride and dilation as large as one likes */
    {CONV("1, 8, 6, 6", "8, 8, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), " dx r ", NULL},
    {CONV("2, 8, 6, 6", "8, 8, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), " dx r ", "batch size"},
    {CONV("1, 8, 1, 1", "8, 8, 1, 1", "8", "[5000, 1], [0, 0], [5000, 1], false, [0, 0], 1"), " dx r ", NULL},
    {CONV("1, 8, 6, 6", "8, 1, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 8"), " dx r ", NULL},
    {CONV("1, 8, 6, 6", "8, 4, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 2"), " dx r ", "one group"},
    {DYNAMIC_CONV("1, 8, 6, 6", "8, 8, 3, 3", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), " dx r ", NULL},
    {DYNAMIC_CONV("1, 8, 6, 6", "8, 1, 3, 3", "[1, 1], [0, 0], [1, 1], false, [0, 0], 8"), " dx r ", "is a parameter"},
    /* transposed convolution */
    {CONV("1, 8, 1, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 2", "0, 1")), " dx r ", NULL},
    {CONV("1, 8, 4, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 2", "0, 0")), " dx r ", "stride"},
    {CONV("1, 8, 4, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 0")), " dx r ", NULL},
    {CONV("1, 8, 4, 16", "8, 16, 1, 4", "16", UP_ARGS("2, 4", "0, 0")), " dx r ", "stride"},
    {CONV("1, 8, 4, 16", "8, 16, 1, 3", "16", UP_ARGS("1, 2", "0, 0")), " dx r ", "even width"},
    {CONV("1, 8, 4, 16", "8, 16, 2, 4", "16", UP_ARGS("1, 4", "0, 0")), " dx r ", "even width"},
    {CONV("1, 8, 1, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 3")), " dx r ", NULL},
    {CONV("1, 8, 1, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 4")), " dx r ", "width only"},
    {CONV("1, 8, 2, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 1")), " dx r ", "width only"},
    {CONV("1, 7, 1, 16", "7, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 0")), " dx r ", "channels of"},
    {CONV("1, 8, 1, 16", "8, 15, 1, 4", "15", UP_ARGS("1, 4", "0, 0")), " dx r ", "channels of"},
    {CONV("1, 8, 1, 16", "8, 16, 1, 4", "16", "[1, 4], [0, 0], [1, 2], true, [0, 0], 1"), " dx r ", "dilation"},
    {CONV("2, 8, 1, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 0")), " dx r ", "batch size"},
    {CONV("1, 8, 1, 16", "8, 4, 1, 4", "8", "[1, 4], [0, 0], [1, 1], true, [0, 0], 2"), " dx r ", "one group"},
    /* max pooling */
    {POOL("1, 8, 4, 4", "[2, 2], [2, 4000]"), " dx r ", NULL},
    {POOL("1, 8, 4, 4", "[2, 2], [3, 1]"), " dx r ", "vertical stride"},
    {POOL("1, 8, 6, 6", "[3, 3]"), " dx r ", "vertical stride"},
    {POOL("2, 8, 4, 4", "[2, 2], [2, 2]"), " dx r ", "batch size"},
    {POOL("1, 9, 4, 4", "[2, 2], [2, 2]"), " dx r ", "channels"},
    {POOL("1, 8, 4, 4", "[2, 2], [2, 2], [1, 1]"), " dx r ", NULL},
    {POOL("1, 8, 4, 4", "[2, 2], [2, 2], [0, 0], [2, 2]"), " dx r ", "dilation"},
    /* mean */
    {UNARY("aten.mean.dim(%dx, [2, 3], true)", "1, 8, 4, 4"), " dx r ", NULL},
    {UNARY("aten.mean.dim(%dx, [-1, -2], true)", "1, 8, 4, 4"), " dx r ", NULL},
    {UNARY("aten.mean.dim(%dx, [1, 2], true)", "1, 4, 4, 8"), "", NULL},
    {UNARY("aten.mean.dim(%dx, [2, 3], true)", "1, 8, 4, 8"), "", "multiple"},
    {UNARY("aten.mean.dim(%dx, [1, 3], true)", "1, 8, 4, 4"), " dx r ", "multiple"},
    {UNARY("aten.mean.dim(%dx, [0, 2], true)", "1, 8, 4, 4"), " dx r ", "height and width"},
    {UNARY("aten.mean.dim(%dx, [2], true)", "1, 8, 4, 4"), " dx r ", "height and width"},
    {UNARY("aten.mean.dim(%dx, [2, 3])", "1, 8, 4, 4"), " dx ", "keepdim"},
    {UNARY("aten.mean.dim(%dx, [1, 2], true)", "4, 4, 8"), "", "4 dimensions"},
    {UNARY("aten.mean.dim(%dx, [2, 3], true)", "1, 9, 4, 4"), " dx r ", "multiple"},
    {UNARY_Q("aten.mean.dim(%dx, [2, 3], true)", "1, 8, 4, 4", OTHER), " dx r ", "same scale"},
    /* neg */
    {UNARY("aten.neg.default(%dx)", "3, 5"), "", NULL},
    {"%x = input : float32[3]; %r = edge.aten.neg.default(%x)\n", "", "one scale"},
    /* permutations after a convolution, and between other formats */
    {PERMUTE("1, 16, 8, 8", "[0, 3, 1, 2]"), " dx ", NULL},
    {PERMUTE("1, 16, 8, 8", "[0, 2, 3, 1]"), " dx ", NULL},
    {PERMUTE("1, 16, 8, 8", "[0, 2, 1, 3]"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[2, 0, 1, 3]"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[3, 1, 2, 0]"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[3, 1, 0, 2]"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[0, 2, 3, 1]"), "", NULL},
    {PERMUTE("1, 16, 8, 8", "[0, 3, 1, 2]"), "", NULL},
    {PERMUTE("1, 16, 8, 7", "[0, 2, 3, 1]"), "", "swaps two groups"},
    {PERMUTE("2, 16, 8, 8", "[0, 2, 3, 1]"), "", "swaps two groups"},
    {PERMUTE("1, 3, 5, 8", "[0, 3, 1, 2]"), "", "swaps two groups"},
    {PERMUTE("1, 4, 6, 8", "[0, 3, 1, 2]"), "", NULL},
    /* a permutation that undoes the format needs no sizes: they become one */
    {PERMUTE("1, 3, 5, 7", "[0, 2, 3, 1]"), " dx ", NULL},
    {PERMUTE("1, 3, 5, 7", "[0, 3, 1, 2]"), " r ", NULL},
    {PERMUTE("1, 3, 5, 7", "[0, 3, 1, 2]"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[0, 3, 1, 2]"), " dx r ", NULL},
    {PERMUTE("1, 16, 8, 8", "[0, 1, 3, 2]"), " dx r ", "swaps two groups"},
    {PERMUTE("1, 3, 5, 7", "[0, 1, 2, 3]"), " dx r ", NULL},
    {PERMUTE("2, 3", "[1, 0]"), "", "swaps two groups"},
    {PERMUTE("1, 3", "[1, 0]"), "", NULL},
    {PERMUTE("5, 1, 3", "[1, 0, 2]"), "", NULL},
    {STATIC("w", "int8", "2, 3") RESULT("aten.permute_copy.default(%dw, [1, 0])", ""), "", NULL},
    {UNARY_Q("aten.permute_copy.default(%dx, [1, 0])", "1, 3", OTHER), "", "same scale"},
    /* prelu */
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 8, 64, 64", "8"), " dx r ", NULL},
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 8, 64, 65", "8"), " dx r ", "height * width"},
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 9, 4, 4", "9"), " dx r ", "multiple"},
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 3, 4, 8", "1"), "", NULL},
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 8, 4, 4", "8"), "", "multiple"},
    {BINARY("aten.prelu.default(%dx, %dy)", "8, 4, 8", "1"), "", "4 dimensions"},
    /* slices */
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 1, 4)", "3, 8"), "", NULL},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 1, 4)", "3, 9"), "", "sliced dimension is a multiple"},
    {UNARY("aten.slice_copy.Tensor(%dx, 0, 1, 4)", "8, 3"), "", "swapped"},
    {UNARY("aten.slice_copy.Tensor(%dx, 0, 1, 4)", "8, 1"), "", NULL},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 1, 4)", "1, 8, 3, 3"), " dx r ", NULL},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 1, 8, 2)", "3, 8"), "", "no step"},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, -3, 100)", "3, 8"), "", NULL},
    /* softmax */
    {UNARY("aten._softmax.default(%dx, 1, false)", "2, 2040"), "", NULL},
    {UNARY("aten._softmax.default(%dx, -1, false)", "1, 2048"), "", "channels fit"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "2, 10"), "", "multiple"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4096, 8"), "", NULL},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4097, 8"), "", "other dimensions"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4096, 128"), "", NULL},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4096, 136"), "", "number of elements"},
    {UNARY("aten._softmax.default(%dx, 0, false)", "8, 8"), "", "dimension is the channels"},
    {UNARY("aten._softmax.default(%dx, 0, false)", "8"), "", "at least 2"},
    {UNARY("aten._softmax.default(%dx, 1, true)", "2, 8"), "", "half_to_float"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "1, 8, 3, 3"), " dx r ", NULL},
    {UNARY("aten._softmax.default(%dx, 3, false)", "1, 8, 3, 8"), " dx r ", "dimension is the channels"},
    /* resampling: one factor, 2 or 4 */
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 6], none)", "1, 8, 2, 3"), " dx r ", NULL},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [8, 12], none)", "1, 8, 2, 3"), " dx r ", NULL},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [16, 24], none)", "1, 8, 2, 3"), " dx r ", "2 or 4"},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 12], none)", "1, 8, 2, 3"), " dx r ", "2 or 4"},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 6], none)", "1, 9, 2, 3"), " dx r ", "multiple"},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 6], none)", "1, 8, 2, 3"), "", "channels-first"},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [4, 6], true, none)", "1, 8, 2, 3"), " dx r ", NULL},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [6, 9], false, none)", "1, 8, 2, 3"), " dx r ", "2 or 4"},
    /* view */
    {UNARY("aten.view_copy.default(%dx, [1, 1, 1, 1, 1, 2, 3])", "2, 3"), "", NULL},
    {UNARY("aten.view_copy.default(%dx, [1, 1, 1, 1, 1, 1, 2, 3])", "2, 3"), "", "dimensions"},
};

static struct nuc_graph *graph_of(struct nuc_context *cx, const struct rule_case *c)
{
    struct nuc_graph *g = parse_quantized(cx, c->graph);

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        bool first = strstr(c->first, nuc_format(cx, " %s ", n->name)) != NULL;
        n->format = first ? NUC_CHANNELS_FIRST : NUC_FORMATLESS;
    }
    return g;
}

static void check_rule(struct nuc_context *cx, void *arg)
{
    const struct rule_case *c = arg;
    struct nuc_graph *g = graph_of(cx, c);
    struct nuc_support s = support_of(g, "sdk-3.1");

    s.waived |= NUC_WAIVE_CORRECTNESS;
    struct nuc_verdict v = check_verdict(&s, c->rule);
    assert_int_equal(v.ok, v.rule == NULL);
}

/* Every operator of the set has a case in which it is supported. */
static void check_complete(struct nuc_context *cx, void *arg)
{
    const struct nuc_flavor *flavor = nuc_flavor_find(cx, "sdk-3.1");
    uint32_t operators = 0;

    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        bool found = false;
        if (nuc_support_row(&(struct nuc_support){.flavor = flavor}, (enum nuc_op)op) == NULL || op == NUC_OP_CLONE)
            continue;
        operators++;
        const char *name = nuc_format(cx, "%s(", nuc_op_name((enum nuc_op)op, NUC_EDGE));
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            found = found || (cases[i].rule == NULL && strstr(cases[i].graph, name) != NULL);
        if (!found)
            fail_msg("no case in which %s is supported", name);
    }
    /* The table of the vendor's backend: 30 operators, two of them clones. */
    assert_int_equal(operators, 29);
}

/* What the backend accepts although results are wrong, or nucleon has no kernel for it; and what stays all right. */
static const struct rule_case stricter[] = {
    {BINARY("aten.add.Tensor(%dx, %dy, alpha=2.0)", "2, 3", "2, 3"), "", "alpha"},
    {BINARY("aten.sub.Tensor(%dx, %dy, alpha=2.0)", "2, 3", "2, 3"), "", "alpha"},
    {BINARY("aten.sub.Tensor(%dx, %dy, alpha=1)", "2, 3", "2, 3"), "", NULL},
    {BINARY("aten.mm.default(%dx, %dy)", "2, 3", "3, 4"), "", "weight is a parameter"},
    {MATRIX("aten.mm.default(%dx, %dw)", "3, 4"), "", NULL},
    {MATRIX("aten.addmm.default(%db, %dx, %dw)", "3, 4"), "", NULL},
    {DYNAMIC_CONV("1, 8, 6, 6", "8, 8, 3, 3", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), " dx r ",
     "weight is a parameter"},
    {CONV("1, 8, 6, 6", "8, 8, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), " dx r ", NULL},
};

static void check_stricter(struct nuc_context *cx, void *arg)
{
    const struct rule_case *c = arg;
    struct nuc_graph *g = graph_of(cx, c);
    struct nuc_support s = support_of(g, "sdk-3.1");

    check_verdict(&s, c->rule);
    s.waived |= NUC_WAIVE_CORRECTNESS;
    assert_true(nuc_check_support(&s, node_of(g, "r")).ok);
}

static void check_forced_cat(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, BINARY("aten.cat.default([%dx, %dy], 1)", "3, 1, 3", "3, 1, 3"));
    struct nuc_support s = support_of(g, "sdk-3.1");

    assert_false(nuc_check_support(&s, node_of(g, "r")).ok);
    s.waived |= NUC_WAIVE_CAT_SIZES;
    assert_true(nuc_check_support(&s, node_of(g, "r")).ok);
}

static void check_limit(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, UNARY("aten._softmax.default(%dx, 1, false)", "2, 30"));
    struct nuc_support s = support_of(g, "sdk-3.1");

    struct nuc_verdict v = nuc_check_support(&s, node_of(g, "r"));
    assert_string_equal(v.actual, "channels 30");
    assert_string_equal(v.limit, "a multiple of 8");
}

/* ---- partitions ---- */

struct where_case {
    const char *graph;
    bool delegated; /* %r */
};

#define CAT_OF_INPUTS(shape, dim) BINARY("aten.cat.default([%dx, %dy], " dim ")", shape, shape)
#define CAT_OF_SUMS(shape, dim)                                                                                        \
    INPUT("x", shape)                                                                                                  \
    INPUT("y", shape)                                                                                                  \
    "%s = edge.aten.add.Tensor(%dx, %dx) !; %t = edge.aten.add.Tensor(%dy, %dy) !\n" RESULT(                           \
        "aten.cat.default([%ds, %dt], " dim ")", "")
/* A convolution, the view %r, and a linear layer after the view. */
#define VIEW_BETWEEN(size, w)                                                                                          \
    STATIC("w", "int8", "2, 1, 2, 2")                                                                                  \
    STATIC("b", "int32", "2")                                                                                          \
    STATIC("v", "int8", w)                                                                                             \
    INPUT("x", "1, 1, 4, 5")                                                                                           \
    "%c = edge.aten.convolution.default(%dx, %dw, %db, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) !\n"                  \
    "%r = edge.aten.view_copy.default(%dc, [" size "]) !; %m = edge.aten.mm.default(%dr, %dv) !\n"

static const struct where_case where_cases[] = {
    /* activations alone need channels in multiples of 8 */
    {UNARY("aten.relu.default(%dx)", "3, 9, 7"), false},
    {UNARY("aten.relu.default(%dx)", "3, 9, 8"), true},
    {UNARY("aten.hardtanh.default(%dx, 0.0, 6.0)", "3, 7, 15, 7"), false},
    {UNARY("aten.hardtanh.default(%dx, 0.0, inf)", "3, 7, 15, 7"), false},
    {UNARY("aten.hardtanh.default(%dx, 0.0, inf)", "3, 7, 15, 8"), true},
    {UNARY("aten.hardtanh.default(%dx, 0.0, 1.0)", "3, 7, 15, 7"), true},
    {UNARY("aten.clamp.default(%dx, 0.0, 6.0)", "3, 7"), false},
    {UNARY("aten.clamp.default(%dx, 0.0)", "3, 7"), false},
    {UNARY("aten.clamp.default(%dx, 0.0)", "3, 8"), true},
    {UNARY("aten.clamp.default(%dx, 0.0, inf)", "3, 7"), true},
    {UNARY("aten.clamp.default(%dx, -1.0, 1.0)", "3, 7"), true},
    /* concatenation of the program's inputs with nothing larger than 1 before the axis */
    {CAT_OF_INPUTS("1, 8, 8, 8", "0"), false},
    {CAT_OF_INPUTS("1, 1, 8, 8", "1"), false},
    {CAT_OF_INPUTS("1, 1, 1, 8", "2"), false},
    {CAT_OF_INPUTS("1, 2, 1, 8", "2"), true},
    {CAT_OF_SUMS("1, 8, 8, 8", "0"), true},
    {CAT_OF_SUMS("1, 1, 8, 8", "1"), true},
    {CAT_OF_SUMS("1, 1, 1, 8", "2"), true},
    /* a view of a convolution's result that the weights of a linear take over, and one they cannot */
    {VIEW_BETWEEN("1, 24", "24, 3"), true},
    {VIEW_BETWEEN("2, 12", "12, 3"), false},
};

static void check_where(struct nuc_context *cx, void *arg)
{
    const struct where_case *c = arg;
    struct nuc_graph *g = parse_quantized(cx, c->graph);
    struct nuc_partition_options options = {.flavor = nuc_flavor_find(cx, "sdk-3.1")};

    const struct nuc_partitions *p = nuc_partition_graph(g, &options);
    const struct nuc_decision *d = p->by_id[node_of(g, "r")->id];
    if (d->delegated != c->delegated)
        fail_msg("%s (%s) in:\n%s", d->delegated ? "delegated" : d->rule, d->actual, c->graph);
}

/* ---- no-ops: maximum-like operators and permutations are not tried ---- */

static void check_no_ops(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, PERMUTE("2, 3", "[0, 1]"));
    struct nuc_support s = support_of(g, "sdk-3.1");

    assert_false(nuc_is_no_op(&s, node_of(g, "r")));
    s.flavor = nuc_flavor_find(cx, "sdk-3.2");
    assert_true(nuc_is_no_op(&s, node_of(g, "r")));
}

/* ---- boundaries ---- */

static void check_transposes(struct nuc_context *cx, void *arg)
{
    static const struct {
        int64_t sizes[4];
        uint32_t perm[4];
        bool possible;
    } transposes[] = {
        {{1, 8, 8, 8}, {0, 2, 3, 1}, true},  /* input of a convolution 8 -> 8 */
        {{1, 8, 8, 3}, {0, 2, 3, 1}, false}, /* width 3 */
        {{1, 3, 8, 8}, {0, 2, 3, 1}, false}, /* an image */
        {{1, 8, 3, 8}, {0, 2, 3, 1}, true},  {{2, 8, 8, 8}, {0, 2, 3, 1}, false},
        {{1, 8, 3, 8}, {0, 3, 1, 2}, true}, /* 24 pixels of 8 channels */
        {{1, 3, 3, 8}, {0, 3, 1, 2}, false}, {{1, 8, 8, 3}, {0, 3, 1, 2}, false},
        {{2, 8, 8, 8}, {0, 3, 1, 2}, false}, {{1, 8, 8, 8}, {0, 1, 3, 2}, false},
        {{5, 1, 1, 7}, {0, 3, 1, 2}, true}, /* the data stay where they are */
    };
    const struct nuc_target *target = nuc_target_find(cx, NULL);

    for (size_t i = 0; i < sizeof transposes / sizeof transposes[0]; i++) {
        const int64_t *sizes = transposes[i].sizes;
        const uint32_t *perm = transposes[i].perm;
        assert_int_equal(nuc_can_transpose(target, nuc_flavor_find(cx, "sdk-3.1"), sizes, perm, 4),
                         transposes[i].possible);
        assert_true(nuc_can_transpose(target, nuc_flavor_find(cx, "sdk-3.2"), sizes, perm, 4));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW_TEST(check_rule, cases),        CONTEXT_TEST(check_complete),   ROW_TEST(check_stricter, stricter),
        ROW_TEST(check_where, where_cases), CONTEXT_TEST(check_forced_cat), CONTEXT_TEST(check_limit),
        CONTEXT_TEST(check_no_ops),         CONTEXT_TEST(check_transposes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
