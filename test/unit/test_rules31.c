/*
 * Rule set sdk-3.1: every rule just inside and just outside its limit, the cases whose answer its backend's own tests
 * record, and its rules about partitions. Formats are set by hand: what they follow from is tested with the layout.
 */
#include "graph_texts.h"

#include "compiler/partition/partition.h"
#include "compiler/support/support.h"

#define Q "0.5, 0, -128, 127, int8"
#define OTHER_Q "0.25, 0, -128, 127, int8"
#define PLACE(name, shape) "%" name " = input : float32[" shape "]\n"
#define QUANTIZE(name, shape)                                                                                          \
    "%q" name " = quantized_decomposed.quantize_per_tensor.default(%" name ", " Q ") : int8[" shape "]\n"              \
    "%d" name " = quantized_decomposed.dequantize_per_tensor.default(%q" name ", " Q ") : float32[" shape "]\n"
#define INPUT(name, shape) PLACE(name, shape) QUANTIZE(name, shape)
#define STATIC(name, dtype, shape) "%" name " = buffer \"" name "\" : " dtype "[" shape "]\n"
#define DEQUANTIZE(name, dtype, shape)                                                                                 \
    "%d" name " = quantized_decomposed.dequantize_per_tensor.default(%" name ", 0.5, 0, -127, 127, " dtype             \
    ") : float32[" shape "]\n"
#define RESULT(shape, parameters)                                                                                      \
    "%qr = quantized_decomposed.quantize_per_tensor.default(%r, " parameters ") : int8[" shape "]\n"                   \
    "%dr = quantized_decomposed.dequantize_per_tensor.default(%qr, " parameters ") : float32[" shape "]\n"             \
    "%output = output([%dr])\n"
#define UNARY_Q(call, in, out, parameters)                                                                             \
    INPUT("x", in) "%r = edge." call " : float32[" out "]\n" RESULT(out, parameters)
#define UNARY(call, in, out) UNARY_Q(call, in, out, Q)
#define BINARY(call, a, b, out)                                                                                        \
    PLACE("x", a)                                                                                                      \
    PLACE("y", b) QUANTIZE("x", a) QUANTIZE("y", b) "%r = edge." call " : float32[" out "]\n" RESULT(out, Q)
#define CONV(in, w, bias, args, out)                                                                                   \
    STATIC("w", "int8", w)                                                                                             \
    STATIC("b", "int32", bias)                                                                                         \
    INPUT("x", in)                                                                                                     \
    DEQUANTIZE("w", "int8", w)                                                                                         \
    DEQUANTIZE("b", "int32", bias)                                                                                     \
    "%r = edge.aten.convolution.default(%dx, %dw, %db, " args ") : float32[" out "]\n" RESULT(out, Q)
#define DYNAMIC_CONV(in, w, args, out)                                                                                 \
    STATIC("b", "int32", "8")                                                                                          \
    PLACE("x", in)                                                                                                     \
    PLACE("w", w)                                                                                                      \
    QUANTIZE("x", in)                                                                                                  \
    QUANTIZE("w", w)                                                                                                   \
    DEQUANTIZE("b", "int32", "8")                                                                                      \
    "%r = edge.aten.convolution.default(%dx, %dw, %db, " args ") : float32[" out "]\n" RESULT(out, Q)
#define POOL(in, args, out)                                                                                            \
    INPUT("x", in)                                                                                                     \
    "%r = edge.aten.max_pool2d_with_indices.default(%dx, " args ") : (float32[" out "], int64[" out "])\n"             \
    "%i = getitem(%r, 0) : float32[" out "]\n"                                                                         \
    "%qi = quantized_decomposed.quantize_per_tensor.default(%i, " Q ") : int8[" out "]\n%output = output([%qi])\n"
#define MATRIX(call, w, out)                                                                                           \
    STATIC("w", "int8", w)                                                                                             \
    STATIC("b", "int32", "4")                                                                                          \
    INPUT("x", "2, 3")                                                                                                 \
    DEQUANTIZE("w", "int8", w)                                                                                         \
    DEQUANTIZE("b", "int32", "4") "%r = edge." call " : float32[" out "]\n" RESULT(out, Q)
#define PERMUTE(shape, dims, out) UNARY("aten.permute_copy.default(%dx, " dims ")", shape, out)
#define UP_ARGS(stride, pad) "[" stride "], [" pad "], [1, 1], true, [0, 0], 1"

struct rule_case {
    const char *graph;
    const char *first; /* names of the CHANNELS_FIRST nodes, each between blanks; all others are FORMATLESS */
    const char *rule;  /* a part of the rule that fails; NULL: the node is supported */
};

static const struct rule_case cases[] = {
    /* operators without rules, among them what sdk-3.2 asks: types, channels */
    {UNARY("aten.abs.default(%dx)", "3, 5", "3, 5"), "", NULL},
    {UNARY("aten.leaky_relu.default(%dx)", "3, 5", "3, 5"), "", NULL},
    {UNARY("aten.relu.default(%dx)", "3, 5", "3, 5"), "", NULL},
    {UNARY("aten.sigmoid.default(%dx)", "3, 5", "3, 5"), "", NULL},
    {UNARY("aten.tanh.default(%dx)", "3, 5", "3, 5"), "", NULL},
    {"%x = input : float32[3]\n%r = edge.aten.abs.default(%x) : float32[3]\n%output = output([%r])\n", "", NULL},
    /* operators that came later */
    {UNARY("aten.exp.default(%dx)", "3, 8", "3, 8"), "", "the NPU has the operator"},
    {UNARY("aten.log.default(%dx)", "3, 8", "3, 8"), "", "the NPU has the operator"},
    {UNARY("aten.hardswish.default(%dx)", "3, 8", "3, 8"), "", "the NPU has the operator"},
    {UNARY("aten.amax.default(%dx, [1])", "3, 8", "3"), "", "the NPU has the operator"},
    {BINARY("aten.maximum.default(%dx, %dy)", "8", "8", "8"), "", "the NPU has the operator"},
    /* adaptive average pooling */
    {UNARY("aten._adaptive_avg_pool2d.default(%dx, [2, 4])", "1, 2, 8, 8", "1, 2, 2, 4"), " dx r ", NULL},
    {UNARY("aten._adaptive_avg_pool2d.default(%dx, [2, 3])", "1, 2, 8, 8", "1, 2, 2, 3"), " dx r ", "divides"},
    {UNARY("aten._adaptive_avg_pool2d.default(%dx, [2, 4])", "1, 2, 8, 8", "1, 2, 2, 4"), "", "channels-first"},
    {UNARY_Q("aten._adaptive_avg_pool2d.default(%dx, [2, 4])", "1, 2, 8, 8", "1, 2, 2, 4", OTHER_Q), " dx r ",
     "same scale"},
    /* add, sub: no broadcasting; alpha is not looked at */
    {BINARY("aten.add.Tensor(%dx, %dy)", "2, 3", "2, 3", "2, 3"), "", NULL},
    {BINARY("aten.add.Tensor(%dx, %dy)", "2, 3", "1, 3", "2, 3"), "", "one shape"},
    {BINARY("aten.add.Tensor(%dx, %dy)", "2, 3", "3", "2, 3"), "", "one shape"},
    {BINARY("aten.add.Tensor(%dx, %dy, alpha=2.0)", "2, 3", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.add.Tensor(%dx, %dx)", "2, 3", "2, 3"), "", NULL},
    {BINARY("aten.sub.Tensor(%dx, %dy)", "2, 3", "2, 3", "2, 3"), "", NULL},
    {BINARY("aten.sub.Tensor(%dx, %dy)", "2, 3", "1, 3", "2, 3"), "", "one shape"},
    /* mul: any dimension a multiple of 8, or all 1 */
    {BINARY("aten.mul.Tensor(%dx, %dy)", "4, 4", "4, 4", "4, 4"), "", "some dimension"},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "1, 4, 7", "1, 4, 7", "1, 4, 7"), "", "some dimension"},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "1, 4, 4, 20", "1, 4, 4, 20", "1, 4, 4, 20"), "", "some dimension"},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "11", "11", "11"), "", "some dimension"},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "6, 8", "6, 8", "6, 8"), "", NULL},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "8, 3", "8, 3", "8, 3"), "", NULL},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "1, 4, 8", "1, 4, 8", "1, 4, 8"), "", NULL},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "1", "1", "1"), "", NULL},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "6, 8", "1, 8", "6, 8"), "", "one shape"},
    /* addmm, mm: alpha, beta and what the weight is are not looked at */
    {MATRIX("aten.addmm.default(%db, %dx, %dw, beta=2.0)", "3, 4", "2, 4"), "", NULL},
    {MATRIX("aten.addmm.default(%dx, %dx, %dw)", "3, 3", "2, 3"), "", "three different"},
    {MATRIX("aten.mm.default(%dx, %dw)", "3, 4", "2, 4"), "", NULL},
    {INPUT("x", "3, 3") "%r = edge.aten.mm.default(%dx, %dx) : float32[3, 3]\n" RESULT("3, 3", Q), "", "two different"},
    {BINARY("aten.mm.default(%dx, %dy)", "2, 3", "3, 4", "2, 4"), "", NULL},
    /* average pooling: windows of any size */
    {UNARY("aten.avg_pool2d.default(%dx, [4097, 1], [1, 1])", "1, 2, 4097, 1", "1, 2, 1, 1"), " dx r ", NULL},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [1, 1], false, false)", "1, 2, 4, 4", "1, 2, 3, 3"), " dx r ",
     "count_include_pad"},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], false, false)", "1, 2, 4, 4", "1, 2, 2, 2"), " dx r ",
     NULL},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], true)", "1, 2, 5, 5", "1, 2, 3, 3"), " dx r ",
     "ceil_mode"},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], false, true, 3)", "1, 2, 4, 4", "1, 2, 2, 2"),
     " dx r ", "divisor_override"},
    {UNARY_Q("aten.avg_pool2d.default(%dx, [2, 2], [2, 2])", "1, 2, 4, 4", "1, 2, 2, 2", OTHER_Q), " dx r ",
     "same scale"},
    /* bmm: matrix dimensions of both factors */
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 8", "3, 8, 8"), "", NULL},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 7, 16", "3, 16, 8", "3, 7, 8"), "", "rows and columns"},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 15", "3, 15, 8", "3, 8, 8"), "", "rows and columns"},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 9", "3, 8, 9"), "", "rows and columns"},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 8", "3, 8, 8"), " dx ", "second one is too"},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 8", "3, 8, 8"), " dx dy ", NULL},
    {BINARY("aten.bmm.default(%dx, %dy)", "3, 8, 16", "3, 16, 8", "3, 8, 8"), " dx dy r ", "can be transposed"},
    {UNARY("aten.bmm.default(%dx, %dx)", "3, 8, 8", "3, 8, 8"), "", "two different"},
    /* cat */
    {BINARY("aten.cat.default([%dx, %dy], 2)", "3, 1, 3", "3, 1, 3", "3, 1, 6"), "", NULL},
    {BINARY("aten.cat.default([%dx, %dy], 1)", "3, 1, 3", "3, 1, 3", "3, 2, 3"), "", "inputs' channels"},
    {BINARY("aten.cat.default([%dx, %dy], 1)", "3, 1, 8", "3, 1, 8", "3, 2, 8"), "", NULL},
    {BINARY("aten.cat.default([%dx, %dy], -1)", "3, 1, 4", "3, 1, 12", "3, 1, 16"), "", "inputs' channels"},
    {BINARY("aten.cat.default([%dx, %dy], 1)", "1, 8, 2, 3", "1, 16, 2, 3", "1, 24, 2, 3"), " dx dy r ", NULL},
    {BINARY("aten.cat.default([%dx, %dy], 1)", "1, 4, 2, 3", "1, 4, 2, 3", "1, 8, 2, 3"), " dx dy r ", NULL},
    {BINARY("aten.cat.default([%dx, %dy], 2)", "1, 4, 2, 3", "1, 4, 2, 3", "1, 4, 4, 3"), " dx dy r ",
     "inputs' channels"},
    {UNARY("aten.cat.default([%dx, %dx], 1)", "3, 8", "3, 16"), "", "two different"},
    {INPUT("x", "3, 8") "%qy = quantized_decomposed.quantize_per_tensor.default(%x, " OTHER_Q ") : int8[3, 8]\n"
                        "%dy = quantized_decomposed.dequantize_per_tensor.default(%qy, " OTHER_Q ") : float32[3, 8]\n"
                        "%r = edge.aten.cat.default([%dx, %dy], 1) : float32[3, 16]\n" RESULT("3, 16", Q),
     "", "same type, scale"},
    /* clamp, hardtanh: the bounds of a ReLU only */
    {UNARY("aten.clamp.default(%dx, 0.0, 6.0)", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, 0.0)", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, 0.0, inf)", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, -1.0, 1.0)", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, 0.0, 1.0)", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.clamp.default(%dx, 0.0, 5.0)", "2, 3", "2, 3"), "", "bounds"},
    {UNARY("aten.clamp.default(%dx, -inf, inf)", "2, 3", "2, 3"), "", "bounds"},
    {UNARY("aten.clamp.default(%dx, none, 6.0)", "2, 3", "2, 3"), "", "bounds"},
    {UNARY("aten.hardtanh.default(%dx)", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.hardtanh.default(%dx, 0.0, inf)", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.hardtanh.default(%dx, 0.0, 6.0)", "2, 3", "2, 3"), "", NULL},
    {UNARY("aten.hardtanh.default(%dx, -2.0, 2.0)", "2, 3", "2, 3"), "", "bounds"},
    /* clone */
    {UNARY("dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3", "2, 3"), "", NULL},
    /* padding: everything but the channels */
    {UNARY("aten.constant_pad_nd.default(%dx, [0, 0, 1, 1], 0.0)", "2, 2", "4, 2"), "", NULL},
    {UNARY("aten.constant_pad_nd.default(%dx, [1, 0], 0.0)", "2, 2", "2, 3"), "", "channels are not padded"},
    {UNARY("aten.constant_pad_nd.default(%dx, [1, 1, 1, 1], 0.0)", "1, 2, 2, 2", "1, 2, 4, 4"), " dx r ", NULL},
    {UNARY("aten.constant_pad_nd.default(%dx, [0, 0, 0, 0, 0, 1], 0.0)", "1, 2, 2, 2", "1, 3, 2, 2"), " dx r ",
     "channels are not padded"},
    {UNARY("aten.constant_pad_nd.default(%dx, [0, 0, 0, 0, 0, 0, 1, 0], 0.0)", "1, 2, 2, 2", "2, 2, 2, 2"), " dx r ",
     NULL},
    {UNARY_Q("aten.constant_pad_nd.default(%dx, [0, 0, 1, 1], 0.0)", "2, 2", "4, 2", OTHER_Q), "", "same scale"},
    /* convolution: batch 1, one group or one a channel; kernel, stride and dilation as large as one likes */
    {CONV("1, 8, 6, 6", "8, 8, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 4, 4"), " dx r ", NULL},
    {CONV("2, 8, 6, 6", "8, 8, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "2, 8, 4, 4"), " dx r ",
     "batch size"},
    {CONV("1, 8, 1, 1", "8, 8, 1, 1", "8", "[5000, 1], [0, 0], [5000, 1], false, [0, 0], 1", "1, 8, 1, 1"), " dx r ",
     NULL},
    {CONV("1, 8, 6, 6", "8, 1, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 8", "1, 8, 4, 4"), " dx r ", NULL},
    {CONV("1, 8, 6, 6", "8, 4, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 2", "1, 8, 4, 4"), " dx r ",
     "one group"},
    {DYNAMIC_CONV("1, 8, 6, 6", "8, 8, 3, 3", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 4, 4"), " dx r ",
     NULL},
    {DYNAMIC_CONV("1, 8, 6, 6", "8, 1, 3, 3", "[1, 1], [0, 0], [1, 1], false, [0, 0], 8", "1, 8, 4, 4"), " dx r ",
     "is a parameter"},
    /* transposed convolution */
    {CONV("1, 8, 1, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 2", "0, 1"), "1, 16, 1, 32"), " dx r ", NULL},
    {CONV("1, 8, 4, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 2", "0, 0"), "1, 16, 4, 34"), " dx r ", "stride"},
    {CONV("1, 8, 4, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 0"), "1, 16, 4, 64"), " dx r ", NULL},
    {CONV("1, 8, 4, 16", "8, 16, 1, 4", "16", UP_ARGS("2, 4", "0, 0"), "1, 16, 7, 64"), " dx r ", "stride"},
    {CONV("1, 8, 4, 16", "8, 16, 1, 3", "16", UP_ARGS("1, 2", "0, 0"), "1, 16, 4, 33"), " dx r ", "even width"},
    {CONV("1, 8, 4, 16", "8, 16, 2, 4", "16", UP_ARGS("1, 4", "0, 0"), "1, 16, 5, 64"), " dx r ", "even width"},
    {CONV("1, 8, 1, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 3"), "1, 16, 1, 58"), " dx r ", NULL},
    {CONV("1, 8, 1, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 4"), "1, 16, 1, 56"), " dx r ", "width only"},
    {CONV("1, 8, 2, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 1"), "1, 16, 2, 62"), " dx r ", "width only"},
    {CONV("1, 7, 1, 16", "7, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 0"), "1, 16, 1, 64"), " dx r ", "channels of"},
    {CONV("1, 8, 1, 16", "8, 15, 1, 4", "15", UP_ARGS("1, 4", "0, 0"), "1, 15, 1, 64"), " dx r ", "channels of"},
    {CONV("1, 8, 1, 16", "8, 16, 1, 4", "16", "[1, 4], [0, 0], [1, 2], true, [0, 0], 1", "1, 16, 1, 67"), " dx r ",
     "dilation"},
    {CONV("2, 8, 1, 16", "8, 16, 1, 4", "16", UP_ARGS("1, 4", "0, 0"), "2, 16, 1, 64"), " dx r ", "batch size"},
    {CONV("1, 8, 1, 16", "8, 4, 1, 4", "8", "[1, 4], [0, 0], [1, 1], true, [0, 0], 2", "1, 8, 1, 64"), " dx r ",
     "one group"},
    /* max pooling */
    {POOL("1, 8, 4, 4", "[2, 2], [2, 4000]", "1, 8, 2, 1"), " dx r ", NULL},
    {POOL("1, 8, 4, 4", "[2, 2], [3, 1]", "1, 8, 1, 3"), " dx r ", "vertical stride"},
    {POOL("1, 8, 6, 6", "[3, 3]", "1, 8, 2, 2"), " dx r ", "vertical stride"},
    {POOL("2, 8, 4, 4", "[2, 2], [2, 2]", "2, 8, 2, 2"), " dx r ", "batch size"},
    {POOL("1, 9, 4, 4", "[2, 2], [2, 2]", "1, 9, 2, 2"), " dx r ", "channels"},
    {POOL("1, 8, 4, 4", "[2, 2], [2, 2], [1, 1]", "1, 8, 3, 3"), " dx r ", NULL},
    {POOL("1, 8, 4, 4", "[2, 2], [2, 2], [0, 0], [2, 2]", "1, 8, 1, 1"), " dx r ", "dilation"},
    /* mean */
    {UNARY("aten.mean.dim(%dx, [2, 3], true)", "1, 8, 4, 4", "1, 8, 1, 1"), " dx r ", NULL},
    {UNARY("aten.mean.dim(%dx, [-1, -2], true)", "1, 8, 4, 4", "1, 8, 1, 1"), " dx r ", NULL},
    {UNARY("aten.mean.dim(%dx, [1, 2], true)", "1, 4, 4, 8", "1, 1, 1, 8"), "", NULL},
    {UNARY("aten.mean.dim(%dx, [2, 3], true)", "1, 8, 4, 8", "1, 8, 1, 1"), "", "multiple"},
    {UNARY("aten.mean.dim(%dx, [1, 3], true)", "1, 8, 4, 4", "1, 1, 4, 1"), " dx r ", "multiple"},
    {UNARY("aten.mean.dim(%dx, [0, 2], true)", "1, 8, 4, 4", "1, 8, 1, 4"), " dx r ", "height and width"},
    {UNARY("aten.mean.dim(%dx, [2], true)", "1, 8, 4, 4", "1, 8, 1, 4"), " dx r ", "height and width"},
    {UNARY("aten.mean.dim(%dx, [2, 3])", "1, 8, 4, 4", "1, 8"), " dx ", "keepdim"},
    {UNARY("aten.mean.dim(%dx, [1, 2], true)", "4, 4, 8", "4, 1, 1"), "", "4 dimensions"},
    {UNARY("aten.mean.dim(%dx, [2, 3], true)", "1, 9, 4, 4", "1, 9, 1, 1"), " dx r ", "multiple"},
    {UNARY_Q("aten.mean.dim(%dx, [2, 3], true)", "1, 8, 4, 4", "1, 8, 1, 1", OTHER_Q), " dx r ", "same scale"},
    /* neg */
    {UNARY("aten.neg.default(%dx)", "3, 5", "3, 5"), "", NULL},
    {"%x = input : float32[3]\n%r = edge.aten.neg.default(%x) : float32[3]\n%output = output([%r])\n", "", "one scale"},
    /* permutations behind a convolution, and between other formats */
    {PERMUTE("1, 16, 8, 8", "[0, 3, 1, 2]", "1, 8, 16, 8"), " dx ", NULL},
    {PERMUTE("1, 16, 8, 8", "[0, 2, 3, 1]", "1, 8, 8, 16"), " dx ", NULL},
    {PERMUTE("1, 16, 8, 8", "[0, 2, 1, 3]", "1, 8, 16, 8"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[2, 0, 1, 3]", "8, 1, 16, 8"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[3, 1, 2, 0]", "8, 16, 8, 1"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[3, 1, 0, 2]", "8, 16, 1, 8"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[0, 2, 3, 1]", "1, 8, 8, 16"), "", NULL},
    {PERMUTE("1, 16, 8, 8", "[0, 3, 1, 2]", "1, 8, 16, 8"), "", NULL},
    {PERMUTE("1, 16, 8, 7", "[0, 2, 3, 1]", "1, 8, 7, 16"), "", "swaps two groups"},
    {PERMUTE("2, 16, 8, 8", "[0, 2, 3, 1]", "2, 8, 8, 16"), "", "swaps two groups"},
    {PERMUTE("1, 3, 5, 8", "[0, 3, 1, 2]", "1, 8, 3, 5"), "", "swaps two groups"},
    {PERMUTE("1, 4, 6, 8", "[0, 3, 1, 2]", "1, 8, 4, 6"), "", NULL},
    /* a permutation that undoes the format needs no sizes: they become one */
    {PERMUTE("1, 3, 5, 7", "[0, 2, 3, 1]", "1, 5, 7, 3"), " dx ", NULL},
    {PERMUTE("1, 3, 5, 7", "[0, 3, 1, 2]", "1, 7, 3, 5"), " r ", NULL},
    {PERMUTE("1, 3, 5, 7", "[0, 3, 1, 2]", "1, 7, 3, 5"), " dx ", "swaps two groups"},
    {PERMUTE("1, 16, 8, 8", "[0, 3, 1, 2]", "1, 8, 16, 8"), " dx r ", NULL},
    {PERMUTE("1, 16, 8, 8", "[0, 1, 3, 2]", "1, 16, 8, 8"), " dx r ", "swaps two groups"},
    {PERMUTE("1, 3, 5, 7", "[0, 1, 2, 3]", "1, 3, 5, 7"), " dx r ", NULL},
    {PERMUTE("2, 3", "[1, 0]", "3, 2"), "", "swaps two groups"},
    {PERMUTE("1, 3", "[1, 0]", "3, 1"), "", NULL},
    {PERMUTE("5, 1, 3", "[1, 0, 2]", "1, 5, 3"), "", NULL},
    {STATIC("w", "int8", "2, 3") DEQUANTIZE(
         "w", "int8", "2, 3") "%r = edge.aten.permute_copy.default(%dw, [1, 0]) : float32[3, 2]\n" RESULT("3, 2", Q),
     "", NULL},
    {UNARY_Q("aten.permute_copy.default(%dx, [1, 0])", "1, 3", "3, 1", OTHER_Q), "", "same scale"},
    /* prelu */
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 8, 64, 64", "8", "1, 8, 64, 64"), " dx r ", NULL},
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 8, 64, 65", "8", "1, 8, 64, 65"), " dx r ", "height * width"},
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 9, 4, 4", "9", "1, 9, 4, 4"), " dx r ", "multiple"},
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 3, 4, 8", "1", "1, 3, 4, 8"), "", NULL},
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 8, 4, 4", "8", "1, 8, 4, 4"), "", "multiple"},
    {BINARY("aten.prelu.default(%dx, %dy)", "8, 4, 8", "1", "8, 4, 8"), "", "4 dimensions"},
    /* slices */
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 1, 4)", "3, 8", "3, 3"), "", NULL},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 1, 4)", "3, 9", "3, 3"), "", "sliced dimension is a multiple"},
    {UNARY("aten.slice_copy.Tensor(%dx, 0, 1, 4)", "8, 3", "3, 3"), "", "swapped"},
    {UNARY("aten.slice_copy.Tensor(%dx, 0, 1, 4)", "8, 1", "3, 1"), "", NULL},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 1, 4)", "1, 8, 3, 3", "1, 3, 3, 3"), " dx r ", NULL},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 1, 8, 2)", "3, 8", "3, 4"), "", "no step"},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, -3, 100)", "3, 8", "3, 3"), "", NULL},
    /* softmax */
    {UNARY("aten._softmax.default(%dx, 1, false)", "2, 2040", "2, 2040"), "", NULL},
    {UNARY("aten._softmax.default(%dx, -1, false)", "1, 2048", "1, 2048"), "", "channels fit"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "2, 10", "2, 10"), "", "multiple"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4096, 8", "4096, 8"), "", NULL},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4097, 8", "4097, 8"), "", "other dimensions"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4096, 128", "4096, 128"), "", NULL},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4096, 136", "4096, 136"), "", "number of elements"},
    {UNARY("aten._softmax.default(%dx, 0, false)", "8, 8", "8, 8"), "", "dimension is the channels"},
    {UNARY("aten._softmax.default(%dx, 0, false)", "8", "8"), "", "at least 2"},
    {UNARY("aten._softmax.default(%dx, 1, true)", "2, 8", "2, 8"), "", "half_to_float"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "1, 8, 3, 3", "1, 8, 3, 3"), " dx r ", NULL},
    {UNARY("aten._softmax.default(%dx, 3, false)", "1, 8, 3, 8", "1, 8, 3, 8"), " dx r ", "dimension is the channels"},
    /* resampling: one factor, 2 or 4 */
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 6], none)", "1, 8, 2, 3", "1, 8, 4, 6"), " dx r ", NULL},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [8, 12], none)", "1, 8, 2, 3", "1, 8, 8, 12"), " dx r ", NULL},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [16, 24], none)", "1, 8, 2, 3", "1, 8, 16, 24"), " dx r ", "2 or 4"},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 12], none)", "1, 8, 2, 3", "1, 8, 4, 12"), " dx r ", "2 or 4"},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 6], none)", "1, 9, 2, 3", "1, 9, 4, 6"), " dx r ", "multiple"},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 6], none)", "1, 8, 2, 3", "1, 8, 4, 6"), "", "channels-first"},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [4, 6], true, none)", "1, 8, 2, 3", "1, 8, 4, 6"), " dx r ", NULL},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [6, 9], false, none)", "1, 8, 2, 3", "1, 8, 6, 9"), " dx r ", "2 or 4"},
    /* view */
    {UNARY("aten.view_copy.default(%dx, [1, 1, 1, 1, 1, 2, 3])", "2, 3", "1, 1, 1, 1, 1, 2, 3"), "", NULL},
    {UNARY("aten.view_copy.default(%dx, [1, 1, 1, 1, 1, 1, 2, 3])", "2, 3", "1, 1, 1, 1, 1, 1, 2, 3"), "",
     "dimensions"},
};

static struct nuc_support support_of(struct nuc_graph *g)
{
    return (struct nuc_support){
        .g = g, .target = nuc_target_find(g->cx, NULL), .flavor = nuc_flavor_find(g->cx, "sdk-3.1")};
}

static struct nuc_graph *graph_of(struct nuc_context *cx, const struct rule_case *c)
{
    struct nuc_graph *g = parse_graph(cx, c->graph);

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
    struct nuc_support s = support_of(g);

    s.waived |= NUC_WAIVE_CORRECTNESS;
    struct nuc_verdict v = nuc_check_support(&s, node_of(g, "r"));
    if (v.ok != (c->rule == NULL) || (c->rule != NULL && strstr(v.rule, c->rule) == NULL))
        fail_msg("'%s' instead of '%s' (%s, limit %s) in:\n%s", v.ok ? "supported" : v.rule,
                 c->rule == NULL ? "supported" : c->rule, v.actual, v.limit, c->graph);
    /* Whoever is refused is told what to do. */
    assert_int_equal(v.ok, v.fix == NULL);
}

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rule_case c = cases[i];
        run_in_context(check_rule, &c);
    }
}

/* Every operator of the set has a case in which it is supported. */
static void check_complete(struct nuc_context *cx, void *arg)
{
    const struct nuc_flavor *flavor = nuc_flavor_find(cx, "sdk-3.1");
    uint32_t operators = 0;

    (void)arg;
    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        bool found = false;
        if (nuc_support_row(flavor, (enum nuc_op)op) == NULL || op == NUC_OP_EDGE_CLONE)
            continue;
        operators++;
        const char *name = nuc_format(cx, "%s(", nuc_op_name((enum nuc_op)op));
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            found = found || (cases[i].rule == NULL && strstr(cases[i].graph, name) != NULL);
        if (!found)
            fail_msg("no case in which %s is supported", name);
    }
    /* The table of the vendor's backend: 30 operators, two of them clones. */
    assert_int_equal(operators, 29);
}

static void test_complete(void **state)
{
    (void)state;
    run_in_context(check_complete, NULL);
}

/* What the backend accepts although results are wrong, or nucleon has no kernel for it; and what stays all right. */
static const struct rule_case stricter[] = {
    {BINARY("aten.add.Tensor(%dx, %dy, alpha=2.0)", "2, 3", "2, 3", "2, 3"), "", "alpha"},
    {BINARY("aten.sub.Tensor(%dx, %dy, alpha=2.0)", "2, 3", "2, 3", "2, 3"), "", "alpha"},
    {BINARY("aten.sub.Tensor(%dx, %dy, alpha=1)", "2, 3", "2, 3", "2, 3"), "", NULL},
    {BINARY("aten.mm.default(%dx, %dy)", "2, 3", "3, 4", "2, 4"), "", "weight is a parameter"},
    {MATRIX("aten.mm.default(%dx, %dw)", "3, 4", "2, 4"), "", NULL},
    {MATRIX("aten.addmm.default(%db, %dx, %dw)", "3, 4", "2, 4"), "", NULL},
    {DYNAMIC_CONV("1, 8, 6, 6", "8, 8, 3, 3", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 4, 4"), " dx r ",
     "weight is a parameter"},
    {CONV("1, 8, 6, 6", "8, 8, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 4, 4"), " dx r ", NULL},
};

static void check_stricter(struct nuc_context *cx, void *arg)
{
    const struct rule_case *c = arg;
    struct nuc_graph *g = graph_of(cx, c);
    struct nuc_support s = support_of(g);

    struct nuc_verdict v = nuc_check_support(&s, node_of(g, "r"));
    if (v.ok != (c->rule == NULL) || (c->rule != NULL && strstr(v.rule, c->rule) == NULL))
        fail_msg("'%s' instead of '%s' in:\n%s", v.ok ? "supported" : v.rule, c->rule == NULL ? "supported" : c->rule,
                 c->graph);
    s.waived |= NUC_WAIVE_CORRECTNESS;
    assert_true(nuc_check_support(&s, node_of(g, "r")).ok);
}

static void test_stricter(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stricter / sizeof stricter[0]; i++) {
        struct rule_case c = stricter[i];
        run_in_context(check_stricter, &c);
    }
}

static void check_forced_cat(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, BINARY("aten.cat.default([%dx, %dy], 1)", "3, 1, 3", "3, 1, 3", "3, 2, 3"));
    struct nuc_support s = support_of(g);

    (void)arg;
    assert_false(nuc_check_support(&s, node_of(g, "r")).ok);
    s.waived |= NUC_WAIVE_CAT_SIZES;
    assert_true(nuc_check_support(&s, node_of(g, "r")).ok);
}

static void check_fix(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, UNARY("aten._softmax.default(%dx, 1, false)", "2, 30", "2, 30"));
    struct nuc_support s = support_of(g);

    (void)arg;
    struct nuc_verdict v = nuc_check_support(&s, node_of(g, "r"));
    assert_string_equal(v.fix, "pad channels 30 to 32");
    assert_string_equal(v.limit, "a multiple of 8");
}

static void test_options_and_fixes(void **state)
{
    (void)state;
    run_in_context(check_forced_cat, NULL);
    run_in_context(check_fix, NULL);
}

/* ---- partitions ---- */

struct where_case {
    const char *graph;
    bool delegated; /* %r */
};

#define ADDED(name, shape)                                                                                             \
    "%s" name " = edge.aten.add.Tensor(%d" name ", %d" name ") : float32[" shape "]\n"                                 \
    "%t" name " = quantized_decomposed.quantize_per_tensor.default(%s" name ", " Q ") : int8[" shape "]\n"             \
    "%u" name " = quantized_decomposed.dequantize_per_tensor.default(%t" name ", " Q ") : float32[" shape "]\n"
#define CAT_OF_INPUTS(shape, dim, out) BINARY("aten.cat.default([%dx, %dy], " dim ")", shape, shape, out)
#define CAT_OF_SUMS(shape, dim, out)                                                                                   \
    PLACE("x", shape)                                                                                                  \
    PLACE("y", shape)                                                                                                  \
    QUANTIZE("x", shape)                                                                                               \
    QUANTIZE("y", shape)                                                                                               \
    ADDED("x", shape)                                                                                                  \
    ADDED("y", shape) "%r = edge.aten.cat.default([%ux, %uy], " dim ") : float32[" out "]\n" RESULT(out, Q)
/* convolution, view, and a linear behind the view */
#define VIEW_BETWEEN(size, out, w, result)                                                                             \
    STATIC("w", "int8", "2, 1, 2, 2")                                                                                  \
    STATIC("b", "int32", "2")                                                                                          \
    STATIC("v", "int8", w)                                                                                             \
    INPUT("x", "1, 1, 4, 5")                                                                                           \
    DEQUANTIZE("w", "int8", "2, 1, 2, 2")                                                                              \
    DEQUANTIZE("b", "int32", "2")                                                                                      \
    DEQUANTIZE("v", "int8", w)                                                                                         \
    "%c = edge.aten.convolution.default(%dx, %dw, %db, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : float32[1, 2, 3, "  \
    "4]\n"                                                                                                             \
    "%qc = quantized_decomposed.quantize_per_tensor.default(%c, " Q ") : int8[1, 2, 3, 4]\n"                           \
    "%dc = quantized_decomposed.dequantize_per_tensor.default(%qc, " Q ") : float32[1, 2, 3, 4]\n"                     \
    "%r = edge.aten.view_copy.default(%dc, [" size "]) : float32[" out "]\n"                                           \
    "%qr = quantized_decomposed.quantize_per_tensor.default(%r, " Q ") : int8[" out "]\n"                              \
    "%dr = quantized_decomposed.dequantize_per_tensor.default(%qr, " Q ") : float32[" out "]\n"                        \
    "%m = edge.aten.mm.default(%dr, %dv) : float32[" result "]\n"                                                      \
    "%qm = quantized_decomposed.quantize_per_tensor.default(%m, " Q ") : int8[" result "]\n%output = output([%qm])\n"

static const struct where_case where_cases[] = {
    /* activations alone need channels in multiples of 8 */
    {UNARY("aten.relu.default(%dx)", "3, 9, 7", "3, 9, 7"), false},
    {UNARY("aten.relu.default(%dx)", "3, 9, 8", "3, 9, 8"), true},
    {UNARY("aten.hardtanh.default(%dx, 0.0, 6.0)", "3, 7, 15, 7", "3, 7, 15, 7"), false},
    {UNARY("aten.hardtanh.default(%dx, 0.0, inf)", "3, 7, 15, 7", "3, 7, 15, 7"), false},
    {UNARY("aten.hardtanh.default(%dx, 0.0, inf)", "3, 7, 15, 8", "3, 7, 15, 8"), true},
    {UNARY("aten.hardtanh.default(%dx, 0.0, 1.0)", "3, 7, 15, 7", "3, 7, 15, 7"), true},
    {UNARY("aten.clamp.default(%dx, 0.0, 6.0)", "3, 7", "3, 7"), false},
    {UNARY("aten.clamp.default(%dx, 0.0)", "3, 7", "3, 7"), false},
    {UNARY("aten.clamp.default(%dx, 0.0)", "3, 8", "3, 8"), true},
    {UNARY("aten.clamp.default(%dx, 0.0, inf)", "3, 7", "3, 7"), true},
    {UNARY("aten.clamp.default(%dx, -1.0, 1.0)", "3, 7", "3, 7"), true},
    /* concatenation of the program's inputs with nothing larger than 1 before the axis */
    {CAT_OF_INPUTS("1, 8, 8, 8", "0", "2, 8, 8, 8"), false},
    {CAT_OF_INPUTS("1, 1, 8, 8", "1", "1, 2, 8, 8"), false},
    {CAT_OF_INPUTS("1, 1, 1, 8", "2", "1, 1, 2, 8"), false},
    {CAT_OF_INPUTS("1, 2, 1, 8", "2", "1, 2, 2, 8"), true},
    {CAT_OF_SUMS("1, 8, 8, 8", "0", "2, 8, 8, 8"), true},
    {CAT_OF_SUMS("1, 1, 8, 8", "1", "1, 2, 8, 8"), true},
    {CAT_OF_SUMS("1, 1, 1, 8", "2", "1, 1, 2, 8"), true},
    /* a view of a convolution's result that the weights of a linear take over, and one they cannot */
    {VIEW_BETWEEN("1, 24", "1, 24", "24, 3", "1, 3"), true},
    {VIEW_BETWEEN("2, 12", "2, 12", "12, 3", "2, 3"), false},
};

static void check_where(struct nuc_context *cx, void *arg)
{
    const struct where_case *c = arg;
    struct nuc_graph *g = parse_graph(cx, c->graph);
    struct nuc_partition_options options = {.flavor = nuc_flavor_find(cx, "sdk-3.1")};

    const struct nuc_partitions *p = nuc_partition_graph(g, &options);
    const struct nuc_decision *d = p->by_id[node_of(g, "r")->id];
    if (d->delegated != c->delegated)
        fail_msg("%s (%s) in:\n%s", d->delegated ? "delegated" : d->rule, d->actual, c->graph);
}

static void test_partitions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof where_cases / sizeof where_cases[0]; i++) {
        struct where_case c = where_cases[i];
        run_in_context(check_where, &c);
    }
}

/* ---- no-ops: maximum-like operators and permutations are not tried ---- */

static void check_no_ops(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, PERMUTE("2, 3", "[0, 1]", "2, 3"));
    struct nuc_support s = support_of(g);

    (void)arg;
    assert_false(nuc_is_no_op(&s, node_of(g, "r")));
    s.flavor = nuc_flavor_find(cx, "sdk-3.2");
    assert_true(nuc_is_no_op(&s, node_of(g, "r")));
}

/* ---- borders ---- */

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

    (void)arg;
    for (size_t i = 0; i < sizeof transposes / sizeof transposes[0]; i++) {
        const int64_t *sizes = transposes[i].sizes;
        const uint32_t *perm = transposes[i].perm;
        assert_int_equal(nuc_can_transpose(target, nuc_flavor_find(cx, "sdk-3.1"), sizes, perm, 4),
                         transposes[i].possible);
        assert_true(nuc_can_transpose(target, nuc_flavor_find(cx, "sdk-3.2"), sizes, perm, 4));
    }
}

static void test_no_ops_and_borders(void **state)
{
    (void)state;
    run_in_context(check_no_ops, NULL);
    run_in_context(check_transposes, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_stricter),
        cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_options_and_fixes),
        cmocka_unit_test(test_no_ops_and_borders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
