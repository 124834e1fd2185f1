/* Every support rule just inside and just outside its limit; partition rules; no-ops; targets. */
#include "graph_texts.h"

#include <string.h>

#include "compiler/layout/layout.h"
#include "compiler/support/cluster.h"
#include "compiler/support/support.h"

#define Q "0.5, 0, -128, 127, int8"

/* A program input, and behind all placeholders its quantize and dequantize nodes: %x, %qx, %dx. */
#define PLACE(name, shape) "%" name " = input : float32[" shape "]\n"
#define QUANTIZE(name, shape)                                                                                          \
    "%q" name " = quantized_decomposed.quantize_per_tensor.default(%" name ", " Q ") : int8[" shape "]\n"              \
    "%d" name " = quantized_decomposed.dequantize_per_tensor.default(%q" name ", " Q ") : float32[" shape "]\n"
#define INPUT(name, shape) PLACE(name, shape) QUANTIZE(name, shape)
/* A quantized parameter, and behind all placeholders its dequantize node. */
#define STATIC(name, dtype, shape) "%" name " = buffer \"" name "\" : " dtype "[" shape "]\n"
#define DEQUANTIZE(name, dtype, shape)                                                                                 \
    "%d" name " = quantized_decomposed.dequantize_per_tensor.default(%" name ", 0.5, 0, -127, 127, " dtype             \
    ") : float32[" shape "]\n"
/* Quantize and dequantize nodes of the result %r. */
#define RESULT(shape, parameters)                                                                                      \
    "%qr = quantized_decomposed.quantize_per_tensor.default(%r, " parameters ") : int8[" shape "]\n"                   \
    "%dr = quantized_decomposed.dequantize_per_tensor.default(%qr, " parameters ") : float32[" shape "]\n"             \
    "%output = output([%dr])\n"

struct rule_case {
    const char *graph;
    const char *rule; /* a part of the rule that fails; NULL: the node is supported */
};

#define CONV_GRAPH(in, w, args, out)                                                                                   \
    STATIC("w", "int8", w)                                                                                             \
    STATIC("b", "int32", "8")                                                                                          \
    INPUT("x", in)                                                                                                     \
    DEQUANTIZE("w", "int8", w)                                                                                         \
    DEQUANTIZE("b", "int32", "8")                                                                                      \
    "%r = edge.aten.convolution.default(%dx, %dw, %db, " args ") : float32[" out "]\n" RESULT(out, Q)
#define ADDMM_GRAPH(bias_dtype, bias, weight_dtype, args)                                                              \
    STATIC("w", weight_dtype, "3, 4")                                                                                  \
    STATIC("b", bias_dtype, bias)                                                                                      \
    INPUT("x", "2, 3")                                                                                                 \
    DEQUANTIZE("w", weight_dtype, "3, 4")                                                                              \
    DEQUANTIZE("b", bias_dtype, bias)                                                                                  \
    "%r = edge.aten.addmm.default(%db, %dx, %dw" args ") : float32[2, 4]\n" RESULT("2, 4", Q)
#define ADD_GRAPH(a, b, args, out)                                                                                     \
    PLACE("x", a)                                                                                                      \
    PLACE("y", b)                                                                                                      \
    QUANTIZE("x", a) QUANTIZE("y", b) "%r = edge.aten.add.Tensor(%dx, %dy" args ") : float32[" out "]\n" RESULT(out, Q)
#define MAX_POOL_GRAPH(in, args, out, item)                                                                            \
    INPUT("x", in)                                                                                                     \
    "%r = edge.aten.max_pool2d_with_indices.default(%dx, " args ") : (float32[" out "], int64[" out "])\n"             \
    "%i = getitem(%r, 0) : float32[" out "]\n"                                                                         \
    "%qi = quantized_decomposed.quantize_per_tensor.default(%i, " Q ") : int8[" out "]\n" item
#define BINARY(call, a, b, out, parameters)                                                                            \
    PLACE("x", a)                                                                                                      \
    PLACE("y", b)                                                                                                      \
    QUANTIZE("x", a) QUANTIZE("y", b) "%r = " call " : float32[" out "]\n" RESULT(out, parameters)
/* The second input has a zero point of its own. */
#define SHIFTED(call, a, b, out)                                                                                       \
    PLACE("x", a)                                                                                                      \
    PLACE("y", b)                                                                                                      \
    QUANTIZE("x", a)                                                                                                   \
    "%qy = quantized_decomposed.quantize_per_tensor.default(%y, 0.5, 1, -128, 127, int8) : int8[" b "]\n"              \
    "%dy = quantized_decomposed.dequantize_per_tensor.default(%qy, 0.5, 1, -128, 127, int8) : float32[" b "]\n"        \
    "%r = " call " : float32[" out "]\n" RESULT(out, Q)
#define OTHER "0.25, 0, -128, 127, int8"
#define UNARY(call, in, out, parameters) INPUT("x", in) "%r = " call " : float32[" out "]\n" RESULT(out, parameters)

static const struct rule_case rule_cases[] = {
    /* convolution */
    {CONV_GRAPH("1, 8, 6, 6", "8, 8, 3, 3", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 4, 4"), NULL},
    {CONV_GRAPH("1, 8, 4096, 1", "8, 8, 4096, 1", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 1, 1"), NULL},
    {CONV_GRAPH("1, 8, 4097, 1", "8, 8, 4097, 1", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 1, 1"), "kernel"},
    {CONV_GRAPH("1, 8, 6, 6", "8, 8, 3, 3", "[4096, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 1, 4"), NULL},
    {CONV_GRAPH("1, 8, 6, 6", "8, 8, 3, 3", "[4097, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 1, 4"), "stride"},
    {CONV_GRAPH("1, 8, 1, 1", "8, 8, 1, 1", "[1, 1], [0, 0], [4096, 1], false, [0, 0], 1", "1, 8, 1, 1"), NULL},
    {CONV_GRAPH("1, 8, 1, 1", "8, 8, 1, 1", "[1, 1], [0, 0], [4097, 1], false, [0, 0], 1", "1, 8, 1, 1"), "dilation"},
    /* 15 * 17 * 256 = 65280; 257 channels count as 264: 67320 */
    {CONV_GRAPH("1, 256, 15, 17", "8, 256, 15, 17", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 1, 1"), NULL},
    {CONV_GRAPH("1, 257, 15, 17", "8, 257, 15, 17", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1", "1, 8, 1, 1"), "MAC"},
    /* transposed convolution */
    {CONV_GRAPH("1, 8, 4, 4", "8, 8, 2, 2", "[2, 2], [0, 0], [1, 1], true, [0, 0], 1", "1, 8, 8, 8"), NULL},
    {CONV_GRAPH("1, 8, 4, 4", "8, 8, 3, 3", "[3, 3], [0, 0], [1, 1], true, [0, 0], 1", "1, 8, 12, 12"), "stride"},
    {CONV_GRAPH("1, 8, 4, 4", "8, 8, 1, 1", "[2, 2], [0, 0], [1, 1], true, [0, 0], 1", "1, 8, 7, 7"), "stride"},
    {CONV_GRAPH("1, 8, 4, 4", "8, 8, 2, 2", "[1, 1], [1, 1], [1, 1], true, [0, 0], 1", "1, 8, 3, 3"), NULL},
    {CONV_GRAPH("1, 8, 4, 4", "8, 8, 2, 2", "[1, 1], [2, 2], [1, 1], true, [0, 0], 1", "1, 8, 1, 1"), "padding"},
    {CONV_GRAPH("1, 8, 4, 4", "8, 8, 2, 2", "[1, 1], [0, 0], [2, 2], true, [0, 0], 1", "1, 8, 6, 6"), "dilation"},
    {CONV_GRAPH("1, 8, 4, 4", "8, 1, 2, 2", "[1, 1], [0, 0], [1, 1], true, [0, 0], 8", "1, 8, 5, 5"), "depthwise"},
    {CONV_GRAPH("1, 8, 4, 4", "8, 4, 2, 2", "[1, 1], [0, 0], [1, 1], true, [0, 0], 2", "1, 8, 5, 5"), "group"},
    /* a weight computed at run time */
    {STATIC("b", "int32", "8") PLACE("x", "1, 8, 6, 6") INPUT("w", "8, 8, 3, 3") QUANTIZE("x", "1, 8, 6, 6") DEQUANTIZE(
         "b", "int32",
         "8") "%r = edge.aten.convolution.default(%dx, %dw, %db, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : "
              "float32[1, 8, 4, 4]\n" RESULT("1, 8, 4, 4", Q),
     "weight is a parameter"},
    /* average pooling */
    {UNARY("edge.aten.avg_pool2d.default(%dx, [4096, 1], [1, 1])", "1, 2, 4096, 1", "1, 2, 1, 1", Q), NULL},
    {UNARY("edge.aten.avg_pool2d.default(%dx, [4097, 1], [1, 1])", "1, 2, 4097, 1", "1, 2, 1, 1", Q), "kernel"},
    {UNARY("edge.aten.avg_pool2d.default(%dx, [2, 2], [4096, 1])", "1, 2, 2, 2", "1, 2, 1, 1", Q), NULL},
    {UNARY("edge.aten.avg_pool2d.default(%dx, [2, 2], [4097, 1])", "1, 2, 2, 2", "1, 2, 1, 1", Q), "stride"},
    {UNARY("edge.aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [1, 1])", "1, 2, 4, 4", "1, 2, 3, 3", Q), NULL},
    {UNARY("edge.aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [1, 1], false, false)", "1, 2, 4, 4", "1, 2, 3, 3", Q),
     "count_include_pad"},
    {UNARY("edge.aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], false, false)", "1, 2, 4, 4", "1, 2, 2, 2", Q),
     NULL},
    {UNARY("edge.aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], true)", "1, 2, 5, 5", "1, 2, 3, 3", Q),
     "ceil_mode"},
    {UNARY("edge.aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], false, true, 3)", "1, 2, 4, 4", "1, 2, 2, 2", Q),
     "divisor_override"},
    {UNARY("edge.aten.avg_pool2d.default(%dx, [2, 2], [2, 2])", "1, 2, 4, 4", "1, 2, 2, 2", "0.5, 1, -128, 127, int8"),
     "same scale and zero point"},
    /* adaptive pooling */
    {UNARY("edge.aten._adaptive_avg_pool2d.default(%dx, [2, 4])", "1, 2, 8, 8", "1, 2, 2, 4", Q), NULL},
    {UNARY("edge.aten._adaptive_avg_pool2d.default(%dx, [2, 3])", "1, 2, 8, 8", "1, 2, 2, 3", Q), "divides"},
    {UNARY("edge.aten._adaptive_avg_pool2d.default(%dx, [2, 1])", "1, 2, 8194, 1", "1, 2, 2, 1", Q), "window"},
    /* mean, padding, permutation, view */
    {UNARY("edge.aten.mean.dim(%dx, [1])", "2, 8", "2", Q), NULL},
    {UNARY("edge.aten.mean.dim(%dx, [1])", "2, 8", "2", "0.25, 0, -128, 127, int8"), "same scale"},
    {UNARY("edge.aten.constant_pad_nd.default(%dx, [1, 1, 1, 1], 0.0)", "2, 2", "4, 4", Q), NULL},
    {UNARY("edge.aten.constant_pad_nd.default(%dx, [1, 1], 0.0)", "2, 2", "2, 4", "0.5, 1, -128, 127, int8"),
     "same scale"},
    {UNARY("edge.aten.permute_copy.default(%dx, [1, 0])", "2, 3", "3, 2", Q), NULL},
    {UNARY("edge.aten.permute_copy.default(%dx, [1, 0])", "2, 3", "3, 2", "0.25, 0, -128, 127, int8"), "same scale"},
    {UNARY("edge.aten.view_copy.default(%dx, [1, 1, 1, 1, 1, 2, 3])", "2, 3", "1, 1, 1, 1, 1, 2, 3", Q), NULL},
    {UNARY("edge.aten.view_copy.default(%dx, [1, 1, 1, 1, 1, 1, 2, 3])", "2, 3", "1, 1, 1, 1, 1, 1, 2, 3", Q),
     "dimensions"},
    {UNARY("edge.dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3", "2, 3", Q), NULL},
    /* activations */
    {UNARY("edge.aten.relu.default(%dx)", "2, 3", "2, 3", "0.25, -128, -128, 127, int8"), NULL},
    {UNARY("edge.aten.hardtanh.default(%dx, 0.0, 6.0)", "2, 3", "2, 3", "0.25, -128, -128, 127, int8"), NULL},
    {UNARY("edge.aten.hardtanh.default(%dx, 0.0, inf)", "2, 3", "2, 3", "0.25, -128, -128, 127, int8"), NULL},
    {UNARY("edge.aten.hardtanh.default(%dx)", "2, 3", "2, 3", "0.25, -128, -128, 127, int8"), NULL},
    {UNARY("edge.aten.hardtanh.default(%dx, -2.0, 3.0)", "2, 3", "2, 3", Q), NULL},
    {UNARY("edge.aten.hardtanh.default(%dx, -2.0, 3.0)", "2, 3", "2, 3", "0.25, 0, -128, 127, int8"), "ReLU"},
    {UNARY("edge.aten.hardtanh.default(%dx, -inf, inf)", "2, 3", "2, 3", Q), "finite"},
    /* softmax: 2040 channels, 4096 rows, 524288 elements */
    {UNARY("edge.aten._softmax.default(%dx, 1, false)", "2, 2040", "2, 2040", Q), NULL},
    {UNARY("edge.aten._softmax.default(%dx, -1, false)", "2, 2041", "2, 2041", Q), "channels fit"},
    {UNARY("edge.aten._softmax.default(%dx, 1, false)", "4096, 2", "4096, 2", Q), NULL},
    {UNARY("edge.aten._softmax.default(%dx, 1, false)", "4097, 2", "4097, 2", Q), "other dimensions"},
    {UNARY("edge.aten._softmax.default(%dx, 1, false)", "4096, 128", "4096, 128", Q), NULL},
    {UNARY("edge.aten._softmax.default(%dx, 1, false)", "4096, 129", "4096, 129", Q), "number of elements"},
    {UNARY("edge.aten._softmax.default(%dx, 0, false)", "2, 3", "2, 3", Q), "dimension is the channels"},
    {UNARY("edge.aten._softmax.default(%dx, 1, true)", "2, 3", "2, 3", Q), "half_to_float"},
    /* add */
    {ADD_GRAPH("2, 3", "1, 3", "", "2, 3"), NULL},
    {ADD_GRAPH("2, 1", "1, 3", "", "2, 3"), "as many elements"},
    {ADD_GRAPH("2, 3", "2, 3", ", alpha=2.0", "2, 3"), "alpha"},
    {INPUT("x", "2, 3") "%r = edge.aten.add.Tensor(%dx, %dx) : float32[2, 3]\n" RESULT("2, 3", Q), NULL},
    /* matrix products */
    {ADDMM_GRAPH("int32", "4", "int8", ""), NULL},
    {ADDMM_GRAPH("int32", "1, 4", "int8", ""), NULL},
    {ADDMM_GRAPH("int32", "2, 4", "int8", ""), "bias has one element"},
    {ADDMM_GRAPH("int8", "4", "int8", ""), "bias is quantized to int32"},
    {ADDMM_GRAPH("int32", "4", "uint8", ""), "weight is quantized to int8"},
    {ADDMM_GRAPH("int32", "4", "int8", ", beta=2.0"), "beta and alpha"},
    {PLACE("w", "3, 3") INPUT("x", "2, 3")
         QUANTIZE("w", "3, 3") "%r = edge.aten.mm.default(%dx, %dw) : float32[2, 3]\n" RESULT("2, 3", Q),
     "weight is a parameter"},
    {INPUT("x", "3, 3") "%r = edge.aten.mm.default(%dx, %dx) : float32[3, 3]\n" RESULT("3, 3", Q), "different tensors"},
    {STATIC("w", "int8", "4, 3") INPUT("x", "2, 3") DEQUANTIZE(
         "w", "int8",
         "4, 3") "%p = edge.aten.permute_copy.default(%dw, [1, 0]) : float32[3, 4]\n"
                 "%qp = quantized_decomposed.quantize_per_tensor.default(%p, 0.5, 0, -127, 127, int8) : int8[3, 4]\n"
                 "%dp = quantized_decomposed.dequantize_per_tensor.default(%qp, 0.5, 0, -127, 127, int8) : float32[3, "
                 "4]\n"
                 "%r = edge.aten.mm.default(%dx, %dp) : float32[2, 4]\n" RESULT("2, 4", Q),
     NULL},
    /* max pooling */
    {MAX_POOL_GRAPH("1, 2, 4, 4", "[2, 2], [4096, 1]", "1, 2, 1, 3", "%output = output([%qi])\n"), NULL},
    {MAX_POOL_GRAPH("1, 2, 4, 4", "[2, 2], [4097, 1]", "1, 2, 1, 3", "%output = output([%qi])\n"), "stride"},
    {MAX_POOL_GRAPH("1, 2, 4, 4", "[2, 2], [2, 2], [0, 0], [1, 1]", "1, 2, 2, 2", "%output = output([%qi])\n"), NULL},
    {MAX_POOL_GRAPH("1, 2, 4, 4", "[2, 2], [2, 2], [0, 0], [2, 2]", "1, 2, 1, 1", "%output = output([%qi])\n"),
     "dilation"},
    {MAX_POOL_GRAPH("1, 2, 5, 5", "[2, 2], [2, 2], [0, 0], [1, 1], true", "1, 2, 3, 3", "%output = output([%qi])\n"),
     "ceil_mode"},
    {MAX_POOL_GRAPH("1, 2, 4, 4", "[2, 2], [2, 2]", "1, 2, 2, 2",
                    "%j = getitem(%r, 1) : int64[1, 2, 2, 2]\n%output = output([%qi, %j])\n"),
     "indices"},
    /* one input, one output: input and output may be scaled differently */
    {UNARY("edge.aten.abs.default(%dx)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.exp.default(%dx)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.hardswish.default(%dx)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.leaky_relu.default(%dx)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.log.default(%dx)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.rsqrt.default(%dx)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.sigmoid.default(%dx)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.tanh.default(%dx)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.neg.default(%dx)", "2, 3", "2, 3", OTHER), NULL},
    {INPUT("x", "2, 3") "%r = edge.aten.abs.default(%dx) : float32[2, 3]\n%output = output([%r])\n",
     "output is read by one quantize node"},
    {"%x = input : float32[2, 3]\n%r = edge.aten.sigmoid.default(%x) : float32[2, 3]\n" RESULT("2, 3", Q),
     "data input is quantized"},
    {"%x = input : float32[2, 3]\n%r = edge.aten.neg.default(%x) : float32[2, 3]\n" RESULT("2, 3", Q),
     "one scale and zero point"},
    /* clamp */
    {UNARY("edge.aten.clamp.default(%dx, 0.0, none)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.clamp.default(%dx, 0.0, inf)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.clamp.default(%dx, -1.0, 1.0)", "2, 3", "2, 3", OTHER), NULL},
    {UNARY("edge.aten.clamp.default(%dx, none, 1.0)", "2, 3", "2, 3", Q), NULL},
    {UNARY("edge.aten.clamp.default(%dx, none, 1.0)", "2, 3", "2, 3", OTHER), "ReLU"},
    {UNARY("edge.aten.clamp.default(%dx, -inf, inf)", "2, 3", "2, 3", Q), "finite"},
    {UNARY("edge.aten.clamp.default(%dx, none, inf)", "2, 3", "2, 3", Q), "finite"},
    /* two inputs */
    {BINARY("edge.aten.mul.Tensor(%dx, %dy)", "2, 3", "1, 3", "2, 3", OTHER), NULL},
    {BINARY("edge.aten.mul.Tensor(%dx, %dy)", "2, 1", "1, 3", "2, 3", OTHER), "as many elements"},
    {BINARY("edge.aten.sub.Tensor(%dx, %dy)", "2, 3", "1, 3", "2, 3", OTHER), NULL},
    {BINARY("edge.aten.sub.Tensor(%dx, %dy)", "2, 1", "1, 3", "2, 3", OTHER), "as many elements"},
    {BINARY("edge.aten.sub.Tensor(%dx, %dy, alpha=2.0)", "2, 3", "2, 3", "2, 3", OTHER), "alpha"},
    {BINARY("edge.aten.maximum.default(%dx, %dy)", "2, 3", "1, 3", "2, 3", Q), NULL},
    {BINARY("edge.aten.maximum.default(%dx, %dy)", "2, 3", "1, 3", "2, 3", OTHER), "same type, scale and zero point"},
    {BINARY("edge.aten.maximum.default(%dx, %dy)", "2, 1", "1, 3", "2, 3", Q), "as many elements"},
    {BINARY("edge.aten.minimum.default(%dx, %dy)", "2, 3", "2, 3", "2, 3", Q), NULL},
    {SHIFTED("edge.aten.minimum.default(%dx, %dy)", "2, 3", "2, 3", "2, 3"), "same type, scale and zero point"},
    /* prelu */
    {BINARY("edge.aten.prelu.default(%dx, %dy)", "1, 2, 4", "2", "1, 2, 4", OTHER), NULL},
    {BINARY("edge.aten.prelu.default(%dx, %dy)", "2, 3", "3", "2, 3", OTHER), NULL},
    {PLACE("x", "2, 3") STATIC("y", "float32", "3")
         QUANTIZE("x", "2, 3") "%r = edge.aten.prelu.default(%dx, %y) : float32[2, 3]\n" RESULT("2, 3", Q),
     "both inputs are quantized"},
    /* batched products */
    {BINARY("edge.aten.bmm.default(%dx, %dy)", "2, 3, 4", "2, 4, 5", "2, 3, 5", OTHER), NULL},
    {SHIFTED("edge.aten.bmm.default(%dx, %dy)", "2, 3, 4", "2, 4, 5", "2, 3, 5"), "zero point 0"},
    {INPUT("x", "2, 3, 3") "%r = edge.aten.bmm.default(%dx, %dx) : float32[2, 3, 3]\n" RESULT("2, 3, 3", Q),
     "two different tensors"},
    /* reductions */
    {UNARY("edge.aten.amax.default(%dx, [1])", "2, 8", "2", Q), NULL},
    {UNARY("edge.aten.amax.default(%dx, [1])", "2, 8", "2", OTHER), "same scale"},
    {UNARY("edge.aten.amin.default(%dx, [1], true)", "2, 8", "2, 1", Q), NULL},
    {UNARY("edge.aten.amin.default(%dx, [1], true)", "2, 8", "2, 1", OTHER), "same scale"},
    {UNARY("edge.aten.sum.dim_IntList(%dx, [])", "2, 8", "", Q), NULL},
    {UNARY("edge.aten.sum.dim_IntList(%dx, [])", "2, 8", "", OTHER), "same scale"},
    /* concatenation */
    {BINARY("edge.aten.cat.default([%dx, %dy], 1)", "2, 3", "2, 1", "2, 4", Q), NULL},
    {BINARY("edge.aten.cat.default([%dx, %dy], 1)", "2, 3", "2, 1", "2, 4", OTHER), "same type, scale and zero point"},
    {SHIFTED("edge.aten.cat.default([%dx, %dy], 1)", "2, 3", "2, 1", "2, 4"), "same type, scale and zero point"},
    /* slices */
    {UNARY("edge.aten.slice_copy.Tensor(%dx, 1, 2, 3)", "2, 8", "2, 1", Q), NULL},
    {UNARY("edge.aten.slice_copy.Tensor(%dx, -1, -3, 9223372036854775807)", "2, 8", "2, 3", Q), NULL},
    {UNARY("edge.aten.slice_copy.Tensor(%dx, 1, 3, 3)", "2, 8", "2, 0", Q), "slice is not empty"},
    {UNARY("edge.aten.slice_copy.Tensor(%dx, 1, 2, 8, 2)", "2, 8", "2, 3", Q), "no step"},
    {UNARY("edge.aten.slice_copy.Tensor(%dx, 1, 2)", "2, 8", "2, 6", Q), "start and end are given"},
    /* mirrored padding */
    {UNARY("edge.aten.pad.default(%dx, [1, 1], \"reflect\")", "1, 2, 4", "1, 2, 6", OTHER), NULL},
    {UNARY("edge.aten.pad.default(%dx, [1, 1], \"replicate\")", "1, 2, 4", "1, 2, 6", OTHER), "mode reflect"},
    {UNARY("edge.aten.pad.default(%dx, [1, 1])", "1, 2, 4", "1, 2, 6", Q), "mode reflect"},
    /* resampling: 1, 2, 4, 8; aligned corners count the distances between first and last pixel */
    {UNARY("edge.aten.upsample_nearest2d.vec(%dx, [32, 4], none)", "1, 2, 4, 4", "1, 2, 32, 4", Q), NULL},
    {UNARY("edge.aten.upsample_nearest2d.vec(%dx, [12, 4], none)", "1, 2, 4, 4", "1, 2, 12, 4", Q), "1, 2, 4 or 8"},
    {UNARY("edge.aten.upsample_nearest2d.vec(%dx, [4, 64], none)", "1, 2, 4, 4", "1, 2, 4, 64", Q), "1, 2, 4 or 8"},
    {UNARY("edge.aten.upsample_bilinear2d.vec(%dx, [8, 16], false, none)", "1, 2, 4, 4", "1, 2, 8, 16", Q), NULL},
    {UNARY("edge.aten.upsample_bilinear2d.vec(%dx, [8, 9], false, none)", "1, 2, 4, 4", "1, 2, 8, 9", Q),
     "1, 2, 4 or 8"},
    {UNARY("edge.aten.upsample_bilinear2d.vec(%dx, [7, 25], true, none)", "1, 2, 4, 4", "1, 2, 7, 25", Q), NULL},
    {UNARY("edge.aten.upsample_bilinear2d.vec(%dx, [8, 25], true, none)", "1, 2, 4, 4", "1, 2, 8, 25", Q),
     "1, 2, 4 or 8"},
    {UNARY("edge.aten.upsample_bilinear2d.vec(%dx, [1, 7], true, none)", "1, 2, 1, 4", "1, 2, 1, 7", Q),
     "1, 2, 4 or 8"},
    /* an operator the NPU does not have */
    {UNARY("edge.aten.gelu.default(%dx)", "2, 3", "2, 3", Q), "the NPU has the operator"},
    {UNARY("edge.dim_order_ops._to_dim_order_copy.default(%dx, dim_order=[0, 1])", "2, 3", "2, 3", Q),
     "the NPU has the operator"},
    /* results that are not quantized, and inputs that are not int8 */
    {INPUT("x", "2, 3") "%r = edge.aten.relu.default(%dx) : float32[2, 3]\n%output = output([%r])\n",
     "output is read by one quantize node"},
    {"%x = input : float32[2, 3]\n%r = edge.aten.relu.default(%x) : float32[2, 3]\n" RESULT("2, 3", Q),
     "data input is quantized"},
    {"%x = input : int32[2, 3]\n" DEQUANTIZE(
         "x", "int32", "2, 3") "%r = edge.aten.relu.default(%dx) : float32[2, 3]\n" RESULT("2, 3", Q),
     "data input is quantized"},
};

static struct nuc_support support_of(struct nuc_graph *g)
{
    return (struct nuc_support){.g = g, .target = nuc_target_find(g->cx, NULL), .flavor = nuc_flavor_find(g->cx, NULL)};
}

static void check_rule(struct nuc_context *cx, void *arg)
{
    const struct rule_case *c = arg;
    struct nuc_graph *g = parse_graph(cx, c->graph);
    struct nuc_support s = support_of(g);

    nuc_infer_formats(g);
    struct nuc_verdict v = nuc_check_support(&s, node_of(g, "r"));
    if (v.ok != (c->rule == NULL) || (c->rule != NULL && strstr(v.rule, c->rule) == NULL))
        fail_msg("'%s' instead of '%s' (%s, limit %s) in:\n%s", v.ok ? "supported" : v.rule,
                 c->rule == NULL ? "supported" : c->rule, v.actual, v.limit, c->graph);
    assert_non_null(v.actual);
    assert_non_null(v.limit);
}

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rule_cases / sizeof rule_cases[0]; i++) {
        struct rule_case c = rule_cases[i];
        run_in_context(check_rule, &c);
    }
}

/* The channels-first gate: without formats a convolution does not pass. */
static void check_format_gate(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, rule_cases[0].graph);
    struct nuc_support s = support_of(g);

    (void)arg;
    assert_false(nuc_check_format(&s, node_of(g, "r")).ok);
    assert_non_null(strstr(nuc_check_support(&s, node_of(g, "r")).rule, "channels-first"));
    nuc_infer_formats(g);
    assert_true(nuc_check_format(&s, node_of(g, "r")).ok);
}

static void test_format_gate(void **state)
{
    (void)state;
    run_in_context(check_format_gate, NULL);
}

/* ---- partition rules ---- */

struct partition_case {
    const char *graph;
    bool alone; /* %r is the only operator of its partition */
    bool ok;
};

static const struct partition_case partition_cases[] = {
    /* The input holds -63.5 to 63.5, or 0 to 127.5 when its zero point is -128. */
    {UNARY("edge.aten.relu.default(%dx)", "2, 3", "2, 3", Q), true, true},
    {PLACE("x", "2, 3") "%qx = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, -128, -128, 127, int8) : "
                        "int8[2, 3]\n"
                        "%dx = quantized_decomposed.dequantize_per_tensor.default(%qx, 0.5, -128, -128, 127, int8) : "
                        "float32[2, 3]\n"
                        "%r = edge.aten.relu.default(%dx) : float32[2, 3]\n" RESULT("2, 3", Q),
     true, false},
    {UNARY("edge.aten.hardtanh.default(%dx, 0.0, 6.0)", "2, 3", "2, 3", Q), true, true},
    {UNARY("edge.aten.hardtanh.default(%dx, -64.0, 63.4)", "2, 3", "2, 3", Q), true, true},
    {UNARY("edge.aten.hardtanh.default(%dx, -64.0, 63.5)", "2, 3", "2, 3", Q), true, false},
    {UNARY("edge.aten.hardtanh.default(%dx, -64.0, 63.5)", "2, 3", "2, 3", Q), false, true},
    {UNARY("edge.aten.clamp.default(%dx, 0.0, none)", "2, 3", "2, 3", Q), true, true},
    {UNARY("edge.aten.clamp.default(%dx, -64.0, none)", "2, 3", "2, 3", Q), true, false},
    {UNARY("edge.aten.clamp.default(%dx, -63.4, none)", "2, 3", "2, 3", Q), true, true},
    {UNARY("edge.aten.clamp.default(%dx, none, 63.5)", "2, 3", "2, 3", Q), true, false},
    {UNARY("edge.aten.clamp.default(%dx, none, 63.5)", "2, 3", "2, 3", Q), false, true},
    {UNARY("edge.aten.upsample_nearest2d.vec(%dx, [4, 4], none)", "1, 2, 4, 4", "1, 2, 4, 4", Q), true, false},
    {UNARY("edge.aten.upsample_nearest2d.vec(%dx, [4, 4], none)", "1, 2, 4, 4", "1, 2, 4, 4", Q), false, true},
    {UNARY("edge.aten.upsample_nearest2d.vec(%dx, [8, 4], none)", "1, 2, 4, 4", "1, 2, 8, 4", Q), true, true},
    {UNARY("edge.aten.upsample_bilinear2d.vec(%dx, [4, 4], true, none)", "1, 2, 4, 4", "1, 2, 4, 4", Q), true, false},
    {UNARY("edge.aten.upsample_bilinear2d.vec(%dx, [4, 8], false, none)", "1, 2, 4, 4", "1, 2, 4, 8", Q), true, true},
    {UNARY("edge.aten.mean.dim(%dx, [0], true)", "1, 3", "1, 3", Q), true, false},
    {UNARY("edge.aten.mean.dim(%dx, [0], true)", "1, 3", "1, 3", Q), false, true},
    {UNARY("edge.aten.mean.dim(%dx, [1], true)", "1, 3", "1, 1", Q), true, true},
    {UNARY("edge.aten.mean.dim(%dx, [0])", "1, 3", "3", Q), true, true},
    {UNARY("edge.dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3", "2, 3", Q), true, false},
    {UNARY("edge.dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3", "2, 3", Q), false, true},
    {STATIC("w", "int8", "2, 3") DEQUANTIZE(
         "w", "int8", "2, 3") "%r = edge.aten.permute_copy.default(%dw, [1, 0]) : float32[3, 2]\n" RESULT("3, 2", Q),
     true, false},
    {UNARY("edge.aten.permute_copy.default(%dx, [1, 0])", "2, 3", "3, 2", Q), true, true},
};

static void check_partition_rule(struct nuc_context *cx, void *arg)
{
    const struct partition_case *c = arg;
    struct nuc_graph *g = parse_graph(cx, c->graph);
    int32_t *of = nuc_alloc_array(cx, g->next_id, sizeof *of);
    uint32_t n_compute[1] = {c->alone ? 1 : 2};
    struct nuc_partition_view view = {of, n_compute};
    struct nuc_support s = support_of(g);

    s.partitions = &view;
    struct nuc_verdict v = nuc_check_partition(&s, node_of(g, "r"));
    if (v.ok != c->ok)
        fail_msg("%s instead of %s in:\n%s", v.ok ? "ok" : v.rule, c->ok ? "ok" : "refused", c->graph);
}

static void test_partition_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof partition_cases / sizeof partition_cases[0]; i++) {
        struct partition_case c = partition_cases[i];
        run_in_context(check_partition_rule, &c);
    }
}

/* ---- no-ops ---- */

struct no_op_case {
    const char *graph;
    bool no_op;
};

static const struct no_op_case no_op_cases[] = {
    {UNARY("edge.aten.view_copy.default(%dx, [3, 2])", "2, 3", "3, 2", Q), true},
    {UNARY("edge.dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3", "2, 3", Q), true},
    {UNARY("edge.aten.permute_copy.default(%dx, [0, 1])", "2, 3", "2, 3", Q), true},
    {UNARY("edge.aten.permute_copy.default(%dx, [1, 0])", "3, 3", "3, 3", Q), false},
    {UNARY("edge.aten.permute_copy.default(%dx, [1, 0])", "1, 3", "3, 1", Q), false},
    {UNARY("edge.aten.relu.default(%dx)", "2, 3", "2, 3", Q), false},
    {ADD_GRAPH("2, 3", "2, 3", "", "2, 3"), false},
    {UNARY("edge.aten.cat.default([%dx], 1)", "2, 3", "2, 3", Q), true},
    {BINARY("edge.aten.cat.default([%dx, %dy], 1)", "2, 3", "2, 3", "2, 6", Q), false},
    {UNARY("edge.aten.amax.default(%dx, [1], true)", "2, 1", "2, 1", Q), true},
    {UNARY("edge.aten.amax.default(%dx, [0], true)", "2, 1", "1, 1", Q), false},
    {UNARY("edge.aten.amin.default(%dx, [0], true)", "1, 3", "1, 3", Q), true},
    {UNARY("edge.aten.sum.dim_IntList(%dx, [0], true)", "1, 3", "1, 3", Q), true},
    {UNARY("edge.aten.sum.dim_IntList(%dx, [1], true)", "1, 3", "1, 1", Q), false},
    {BINARY("edge.aten.mul.Tensor(%dx, %dy)", "2, 3", "2, 3", "2, 3", Q), false},
    {UNARY("edge.aten.abs.default(%dx)", "2, 3", "2, 3", Q), false},
};

static void check_no_op(struct nuc_context *cx, void *arg)
{
    const struct no_op_case *c = arg;
    struct nuc_graph *g = parse_graph(cx, c->graph);
    struct nuc_support s = support_of(g);

    if (nuc_is_no_op(&s, node_of(g, "r")) != c->no_op)
        fail_msg("%sa no-op in:\n%s", c->no_op ? "not " : "", c->graph);
}

/* x + a constant that is 0, and one that is 0.5 */
static void check_added_constant(struct nuc_context *cx, void *arg)
{
    const int8_t value = *(const int8_t *)arg;
    const int64_t sizes[2] = {2, 3};
    struct nuc_graph *g = parse_graph(cx, UNARY("edge.aten.relu.default(%dx)", "2, 3", "2, 3", Q));
    struct nuc_node *relu = node_of(g, "r"), *dx = node_of(g, "dx");
    struct nuc_meta one = nuc_meta_make(NUC_I8, NULL, 0), real = nuc_meta_make(NUC_F32, NULL, 0);
    struct nuc_meta sum = nuc_meta_make(NUC_F32, sizes, 2);
    struct nuc_node *dequantize = nuc_add_node(g, relu, NUC_OP_DEQUANTIZE_PER_TENSOR, "dc");
    struct nuc_node *add = nuc_add_node(g, relu, NUC_OP_EDGE_ADD, "sum");
    struct nuc_support s = support_of(g);

    nuc_set_arg_node(dequantize, g, 0, nuc_add_constant(g, "c", &one, &value));
    for (uint32_t i = 1; i <= 5; i++)
        dequantize->args[i] = dx->args[i];
    nuc_set_val(g, dequantize, &real);
    nuc_set_arg_node(add, g, 0, dx);
    nuc_set_arg_node(add, g, 1, dequantize);
    nuc_set_val(g, add, &sum);
    assert_int_equal(nuc_is_no_op(&s, add), value == 0);
}

static void test_no_ops(void **state)
{
    int8_t zero = 0, one = 1;

    (void)state;
    for (size_t i = 0; i < sizeof no_op_cases / sizeof no_op_cases[0]; i++) {
        struct no_op_case c = no_op_cases[i];
        run_in_context(check_no_op, &c);
    }
    run_in_context(check_added_constant, &zero);
    run_in_context(check_added_constant, &one);
}

/* ---- clusters ---- */

static void check_clusters(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        parse_graph(cx, INPUT("x", "2, 3") "%v = edge.aten.view_copy.default(%dx, [3, 2]) : float32[3, 2]\n"
                                           "%r = edge.aten.relu.default(%v) : float32[3, 2]\n" RESULT("3, 2", Q));

    (void)arg;
    nuc_tag_clusters(g);
    /* Both nodes are compute nodes of the same cluster; the later one names it. */
    const char *inside[] = {"dx", "v", "r", "qr"}, *outside[] = {"x", "qx", "dr", "output"};
    for (size_t i = 0; i < 4; i++) {
        assert_ptr_equal(node_of(g, inside[i])->cluster, node_of(g, "r"));
        assert_null(node_of(g, outside[i])->cluster);
    }
}

static void check_open_cluster(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, INPUT("x", "2, 3") "%r = edge.aten.relu.default(%dx) : float32[2, 3]\n"
                                                             "%qr = quantized_decomposed.quantize_per_tensor.default("
                                                             "%r, " Q ") : int8[2, 3]\n%output = output([%qr, %r])\n");

    (void)arg;
    nuc_tag_clusters(g);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        assert_null(n->cluster);
}

static void test_clusters(void **state)
{
    (void)state;
    run_in_context(check_clusters, NULL);
    run_in_context(check_open_cluster, NULL);
}

/* ---- targets ---- */

static void find_unknown_target(struct nuc_context *cx, void *arg)
{
    nuc_target_find(cx, arg);
}

static void find_unknown_flavor(struct nuc_context *cx, void *arg)
{
    nuc_flavor_find(cx, arg);
}

static void check_targets(struct nuc_context *cx, void *arg)
{
    (void)arg;
    for (size_t i = 0; nuc_target_at(i) != NULL; i++)
        assert_ptr_equal(nuc_target_find(cx, nuc_target_at(i)->name), nuc_target_at(i));
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++)
        assert_ptr_equal(nuc_flavor_find(cx, nuc_flavor_at(i)->name), nuc_flavor_at(i));
    assert_string_equal(nuc_target_find(cx, NULL)->name, "imxrt700");
    assert_string_equal(nuc_flavor_find(cx, NULL)->name, "sdk-3.2");
    /* 64 multiply-accumulates a cycle at 324 MHz */
    assert_true(nuc_target_peak_macs(nuc_target_at(0)) > 20.7e9 && nuc_target_peak_macs(nuc_target_at(0)) < 20.8e9);
}

static void note(void *user, const char *message)
{
    int *count = user;

    assert_non_null(strstr(message, "sdk-3.1"));
    (*count)++;
}

/* Flavors named after releases of the vendor's kit stand for the rule set of their time. */
static void check_aliases(struct nuc_context *cx, void *arg)
{
    const char *aliases[] = {"SDK_25_06", "SDK_25_09", "SDK_25_12"};

    cx->warn = note;
    cx->warn_user = arg;
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(nuc_flavor_find(cx, aliases[i])->name, "sdk-3.1");
    assert_int_equal(*(int *)arg, 3);
}

static void test_aliases(void **state)
{
    int notes = 0;
    char unknown[] = "SDK_24_12";

    (void)state;
    run_in_context(check_aliases, &notes);
    expect_failure(find_unknown_flavor, unknown, NUC_BAD_USAGE, "sdk-3.2, sdk-3.1");
}

/* Every rule of every set says how to make it hold: with a size it computes, or in its row. */
static void check_fixes(struct nuc_context *cx, void *arg)
{
    (void)arg;
    (void)cx;
    for (size_t f = 0; nuc_flavor_at(f) != NULL; f++) {
        for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
            const struct nuc_support_row *row = nuc_support_row(nuc_flavor_at(f), (enum nuc_op)op);
            for (size_t i = 0; row != NULL && i < 3; i++) {
                const struct nuc_support_rule *lists[] = {row->ir, row->target, row->partition};
                for (const struct nuc_support_rule *r = lists[i]; r != NULL && r->text != NULL; r++) {
                    if (r->fix == NULL && strstr(r->text, "multiple") == NULL)
                        fail_msg("no fix for '%s'", r->text);
                }
            }
        }
    }
}

static void test_fixes(void **state)
{
    (void)state;
    run_in_context(check_fixes, NULL);
}

static void test_targets(void **state)
{
    char unknown[] = "imxrt701";

    (void)state;
    run_in_context(check_targets, NULL);
    expect_failure(find_unknown_target, unknown, NUC_BAD_USAGE, "imxrt700");
    expect_failure(find_unknown_flavor, unknown, NUC_BAD_USAGE, "sdk-3.2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),   cmocka_unit_test(test_format_gate), cmocka_unit_test(test_partition_rules),
        cmocka_unit_test(test_no_ops),  cmocka_unit_test(test_clusters),    cmocka_unit_test(test_targets),
        cmocka_unit_test(test_aliases), cmocka_unit_test(test_fixes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
