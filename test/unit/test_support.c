/* Every support rule just inside and just outside its limit; partition rules; no-ops; targets. */
#include "support_nets.h"

#include "npu/layout/layout.h"
#include "npu/support/cluster.h"

#define ADDMM(bias_dtype, bias, weight_dtype, args)                                                                    \
    STATIC("w", weight_dtype, "3, 4")                                                                                  \
    STATIC("b", bias_dtype, bias) INPUT("x", "2, 3") RESULT("aten.addmm.default(%db, %dx, %dw" args ")", "")
/* The second input has a zero point of its own. */
#define SHIFTED(call, a, b) INPUT("x", a) "%y = input : float32[" b "] ! 0.5, 1\n" RESULT(call, "")

struct rule_case {
    const char *graph;
    const char *rule; /* a part of the rule that fails; NULL: the node is supported */
};

static const struct rule_case rule_cases[] = {
    /* convolution */
    {CONV("1, 8, 6, 6", "8, 8, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), NULL},
    {CONV("1, 8, 4096, 1", "8, 8, 4096, 1", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), NULL},
    {CONV("1, 8, 4097, 1", "8, 8, 4097, 1", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), "kernel"},
    {CONV("1, 8, 6, 6", "8, 8, 3, 3", "8", "[4096, 1], [0, 0], [1, 1], false, [0, 0], 1"), NULL},
    {CONV("1, 8, 6, 6", "8, 8, 3, 3", "8", "[4097, 1], [0, 0], [1, 1], false, [0, 0], 1"), "stride"},
    {CONV("1, 8, 1, 1", "8, 8, 1, 1", "8", "[1, 1], [0, 0], [4096, 1], false, [0, 0], 1"), NULL},
    {CONV("1, 8, 1, 1", "8, 8, 1, 1", "8", "[1, 1], [0, 0], [4097, 1], false, [0, 0], 1"), "dilation"},
    /* 15 * 17 * 256 = 65280; 257 channels count as 264: 67320 */
    {CONV("1, 256, 15, 17", "8, 256, 15, 17", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), NULL},
    {CONV("1, 257, 15, 17", "8, 257, 15, 17", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), "MAC"},
    /* transposed convolution */
    {CONV("1, 8, 4, 4", "8, 8, 2, 2", "8", "[2, 2], [0, 0], [1, 1], true, [0, 0], 1"), NULL},
    {CONV("1, 8, 4, 4", "8, 8, 3, 3", "8", "[3, 3], [0, 0], [1, 1], true, [0, 0], 1"), "stride"},
    {CONV("1, 8, 4, 4", "8, 8, 1, 1", "8", "[2, 2], [0, 0], [1, 1], true, [0, 0], 1"), "stride"},
    {CONV("1, 8, 4, 4", "8, 8, 2, 2", "8", "[1, 1], [1, 1], [1, 1], true, [0, 0], 1"), NULL},
    {CONV("1, 8, 4, 4", "8, 8, 2, 2", "8", "[1, 1], [2, 2], [1, 1], true, [0, 0], 1"), "padding"},
    {CONV("1, 8, 4, 4", "8, 8, 2, 2", "8", "[1, 1], [0, 0], [2, 2], true, [0, 0], 1"), "dilation"},
    {CONV("1, 8, 4, 4", "8, 1, 2, 2", "8", "[1, 1], [0, 0], [1, 1], true, [0, 0], 8"), "depthwise"},
    {CONV("1, 8, 4, 4", "8, 4, 2, 2", "8", "[1, 1], [0, 0], [1, 1], true, [0, 0], 2"), "group"},
    /* a weight computed at run time */
    {DYNAMIC_CONV("1, 8, 6, 6", "8, 8, 3, 3", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), "weight is a parameter"},
    /* average pooling */
    {UNARY("aten.avg_pool2d.default(%dx, [4096, 1], [1, 1])", "1, 2, 4096, 1"), NULL},
    {UNARY("aten.avg_pool2d.default(%dx, [4097, 1], [1, 1])", "1, 2, 4097, 1"), "kernel"},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [4096, 1])", "1, 2, 2, 2"), NULL},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [4097, 1])", "1, 2, 2, 2"), "stride"},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [1, 1])", "1, 2, 4, 4"), NULL},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [1, 1], false, false)", "1, 2, 4, 4"), "count_include_pad"},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], false, false)", "1, 2, 4, 4"), NULL},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], true)", "1, 2, 5, 5"), "ceil_mode"},
    {UNARY("aten.avg_pool2d.default(%dx, [2, 2], [2, 2], [0, 0], false, true, 3)", "1, 2, 4, 4"), "divisor_override"},
    {UNARY_Q("aten.avg_pool2d.default(%dx, [2, 2], [2, 2])", "1, 2, 4, 4", "0.5, 1"), "same scale and zero point"},
    /* adaptive pooling */
    {UNARY("aten._adaptive_avg_pool2d.default(%dx, [2, 4])", "1, 2, 8, 8"), NULL},
    {UNARY("aten._adaptive_avg_pool2d.default(%dx, [2, 3])", "1, 2, 8, 8"), "divides"},
    {UNARY("aten._adaptive_avg_pool2d.default(%dx, [2, 1])", "1, 2, 8194, 1"), "window"},
    /* mean, padding, permutation, view */
    {UNARY("aten.mean.dim(%dx, [1])", "2, 8"), NULL},
    {UNARY_Q("aten.mean.dim(%dx, [1])", "2, 8", OTHER), "same scale"},
    {UNARY("aten.constant_pad_nd.default(%dx, [1, 1, 1, 1], 0.0)", "2, 2"), NULL},
    {UNARY("aten.constant_pad_nd.default(%dx, [2, -1], 0.0)", "2, 2"), NULL},
    {UNARY("aten.constant_pad_nd.default(%dx, [2, -2], 0.0)", "2, 2"), "leave something"},
    {UNARY_Q("aten.constant_pad_nd.default(%dx, [1, 1], 0.0)", "2, 2", "0.5, 1"), "same scale"},
    {UNARY("aten.permute_copy.default(%dx, [1, 0])", "2, 3"), NULL},
    {UNARY_Q("aten.permute_copy.default(%dx, [1, 0])", "2, 3", OTHER), "same scale"},
    {UNARY("aten.view_copy.default(%dx, [1, 1, 1, 1, 1, 2, 3])", "2, 3"), NULL},
    {UNARY("aten.view_copy.default(%dx, [1, 1, 1, 1, 1, 1, 2, 3])", "2, 3"), "dimensions"},
    {UNARY("dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3"), NULL},
    /* activations */
    {UNARY_Q("aten.relu.default(%dx)", "2, 3", "0.25, -128"), NULL},
    {UNARY_Q("aten.hardtanh.default(%dx, 0.0, 6.0)", "2, 3", "0.25, -128"), NULL},
    {UNARY_Q("aten.hardtanh.default(%dx, 0.0, inf)", "2, 3", "0.25, -128"), NULL},
    {UNARY_Q("aten.hardtanh.default(%dx)", "2, 3", "0.25, -128"), NULL},
    {UNARY("aten.hardtanh.default(%dx, -2.0, 3.0)", "2, 3"), NULL},
    {UNARY_Q("aten.hardtanh.default(%dx, -2.0, 3.0)", "2, 3", OTHER), "ReLU"},
    {UNARY("aten.hardtanh.default(%dx, -inf, inf)", "2, 3"), "finite"},
    /* softmax: 2040 channels, 4096 rows, 524288 elements */
    {UNARY("aten._softmax.default(%dx, 1, false)", "2, 2040"), NULL},
    {UNARY("aten._softmax.default(%dx, -1, false)", "2, 2041"), "channels fit"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4096, 2"), NULL},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4097, 2"), "other dimensions"},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4096, 128"), NULL},
    {UNARY("aten._softmax.default(%dx, 1, false)", "4096, 129"), "number of elements"},
    {UNARY("aten._softmax.default(%dx, 0, false)", "2, 3"), "dimension is the channels"},
    {UNARY("aten._softmax.default(%dx, 1, true)", "2, 3"), "half_to_float"},
    /* add */
    {BINARY("aten.add.Tensor(%dx, %dy)", "2, 3", "1, 3"), NULL},
    {BINARY("aten.add.Tensor(%dx, %dy)", "2, 1", "1, 3"), "as many elements"},
    {BINARY("aten.add.Tensor(%dx, %dy, alpha=2.0)", "2, 3", "2, 3"), "alpha"},
    {INPUT("x", "2, 3") RESULT("aten.add.Tensor(%dx, %dx)", ""), NULL},
    /* matrix products */
    {ADDMM("int32", "4", "int8", ""), NULL},
    {ADDMM("int32", "1, 4", "int8", ""), NULL},
    {ADDMM("int32", "2, 4", "int8", ""), "bias has one element"},
    {ADDMM("int8", "4", "int8", ""), "bias is quantized to int32"},
    {ADDMM("int32", "4", "uint8", ""), "weight is quantized to int8"},
    {ADDMM("int32", "4", "int8", ", beta=2.0"), "beta and alpha"},
    {INPUT("w", "3, 3") INPUT("x", "2, 3") RESULT("aten.mm.default(%dx, %dw)", ""), "weight is a parameter"},
    {INPUT("x", "3, 3") RESULT("aten.mm.default(%dx, %dx)", ""), "different tensors"},
    {STATIC("w", "int8", "4, 3")
         INPUT("x", "2, 3") "%p = edge.aten.permute_copy.default(%dw, [1, 0]) ! 0.5, 0, -127, 127, int8\n" RESULT(
             "aten.mm.default(%dx, %dp)", ""),
     NULL},
    /* max pooling */
    {POOL("1, 2, 4, 4", "[2, 2], [4096, 1]"), NULL},
    {POOL("1, 2, 4, 4", "[2, 2], [4097, 1]"), "stride"},
    {POOL("1, 2, 4, 4", "[2, 2], [2, 2], [0, 0], [1, 1]"), NULL},
    {POOL("1, 2, 4, 4", "[2, 2], [2, 2], [0, 0], [2, 2]"), "dilation"},
    {POOL("1, 2, 5, 5", "[2, 2], [2, 2], [0, 0], [1, 1], true"), "ceil_mode"},
    {POOL("1, 2, 4, 4", "[2, 2], [2, 2]") "%j = getitem(%r, 1); %output = output([%qi, %j])\n", "indices"},
    /* one input, one output: input and output may be scaled differently */
    {UNARY_Q("aten.abs.default(%dx)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.exp.default(%dx)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.hardswish.default(%dx)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.leaky_relu.default(%dx)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.log.default(%dx)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.rsqrt.default(%dx)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.sigmoid.default(%dx)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.tanh.default(%dx)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.neg.default(%dx)", "2, 3", OTHER), NULL},
    {INPUT("x", "2, 3") "%r = edge.aten.abs.default(%dx)\n", "output is read by one quantize node"},
    {"%x = input : float32[2, 3]\n" RESULT("aten.sigmoid.default(%x)", ""), "data input is quantized"},
    {"%x = input : float32[2, 3]\n" RESULT("aten.neg.default(%x)", ""), "one scale and zero point"},
    /* clamp */
    {UNARY_Q("aten.clamp.default(%dx, 0.0, none)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.clamp.default(%dx, 0.0, inf)", "2, 3", OTHER), NULL},
    {UNARY_Q("aten.clamp.default(%dx, -1.0, 1.0)", "2, 3", OTHER), NULL},
    {UNARY("aten.clamp.default(%dx, none, 1.0)", "2, 3"), NULL},
    {UNARY_Q("aten.clamp.default(%dx, none, 1.0)", "2, 3", OTHER), "ReLU"},
    {UNARY("aten.clamp.default(%dx, -inf, inf)", "2, 3"), "finite"},
    {UNARY("aten.clamp.default(%dx, none, inf)", "2, 3"), "finite"},
    /* two inputs */
    {BINARY_Q("aten.mul.Tensor(%dx, %dy)", "2, 3", "1, 3", OTHER), NULL},
    {BINARY_Q("aten.mul.Tensor(%dx, %dy)", "2, 1", "1, 3", OTHER), "as many elements"},
    {BINARY_Q("aten.sub.Tensor(%dx, %dy)", "2, 3", "1, 3", OTHER), NULL},
    {BINARY_Q("aten.sub.Tensor(%dx, %dy)", "2, 1", "1, 3", OTHER), "as many elements"},
    {BINARY_Q("aten.sub.Tensor(%dx, %dy, alpha=2.0)", "2, 3", "2, 3", OTHER), "alpha"},
    {BINARY("aten.maximum.default(%dx, %dy)", "2, 3", "1, 3"), NULL},
    {BINARY_Q("aten.maximum.default(%dx, %dy)", "2, 3", "1, 3", OTHER), "same type, scale and zero point"},
    {BINARY("aten.maximum.default(%dx, %dy)", "2, 1", "1, 3"), "as many elements"},
    {BINARY("aten.minimum.default(%dx, %dy)", "2, 3", "2, 3"), NULL},
    {SHIFTED("aten.minimum.default(%dx, %dy)", "2, 3", "2, 3"), "same type, scale and zero point"},
    /* prelu */
    {BINARY_Q("aten.prelu.default(%dx, %dy)", "1, 2, 4", "2", OTHER), NULL},
    {BINARY_Q("aten.prelu.default(%dx, %dy)", "2, 3", "3", OTHER), NULL},
    {INPUT("x", "2, 3") "%y = buffer : float32[3]\n" RESULT("aten.prelu.default(%dx, %y)", ""),
     "both inputs are quantized"},
    /* batched products */
    {BINARY_Q("aten.bmm.default(%dx, %dy)", "2, 3, 4", "2, 4, 5", OTHER), NULL},
    {SHIFTED("aten.bmm.default(%dx, %dy)", "2, 3, 4", "2, 4, 5"), "zero point 0"},
    {INPUT("x", "2, 3, 3") RESULT("aten.bmm.default(%dx, %dx)", ""), "two different tensors"},
    /* reductions */
    {UNARY("aten.amax.default(%dx, [1])", "2, 8"), NULL},
    {UNARY_Q("aten.amax.default(%dx, [1])", "2, 8", OTHER), "same scale"},
    {UNARY("aten.amin.default(%dx, [1], true)", "2, 8"), NULL},
    {UNARY_Q("aten.amin.default(%dx, [1], true)", "2, 8", OTHER), "same scale"},
    {UNARY("aten.sum.dim_IntList(%dx, [])", "2, 8"), NULL},
    {UNARY_Q("aten.sum.dim_IntList(%dx, [])", "2, 8", OTHER), "same scale"},
    /* concatenation */
    {BINARY("aten.cat.default([%dx, %dy], 1)", "2, 3", "2, 1"), NULL},
    {BINARY_Q("aten.cat.default([%dx, %dy], 1)", "2, 3", "2, 1", OTHER), "same type, scale and zero point"},
    {SHIFTED("aten.cat.default([%dx, %dy], 1)", "2, 3", "2, 1"), "same type, scale and zero point"},
    /* slices */
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 2, 3)", "2, 8"), NULL},
    {UNARY("aten.slice_copy.Tensor(%dx, -1, -3, 9223372036854775807)", "2, 8"), NULL},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 3, 3)", "2, 8"), "slice is not empty"},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 2, 8, 2)", "2, 8"), "no step"},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 2)", "2, 8"), "start and end are given"},
    /* mirrored padding */
    {UNARY_Q("aten.pad.default(%dx, [1, 1], \"reflect\")", "1, 2, 4", OTHER), NULL},
    {UNARY_Q("aten.pad.default(%dx, [1, 1], \"replicate\")", "1, 2, 4", OTHER), "mode reflect"},
    {UNARY("aten.pad.default(%dx, [1, 1])", "1, 2, 4"), "mode reflect"},
    /* resampling: 1, 2, 4, 8; aligned corners count the distances between first and last pixel */
    {UNARY("aten.upsample_nearest2d.vec(%dx, [32, 4], none)", "1, 2, 4, 4"), NULL},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [12, 4], none)", "1, 2, 4, 4"), "1, 2, 4 or 8"},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 64], none)", "1, 2, 4, 4"), "1, 2, 4 or 8"},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [8, 16], false, none)", "1, 2, 4, 4"), NULL},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [8, 9], false, none)", "1, 2, 4, 4"), "1, 2, 4 or 8"},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [7, 25], true, none)", "1, 2, 4, 4"), NULL},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [8, 25], true, none)", "1, 2, 4, 4"), "1, 2, 4 or 8"},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [1, 7], true, none)", "1, 2, 1, 4"), "1, 2, 4 or 8"},
    /* an operator the NPU does not have */
    {UNARY("aten.gelu.default(%dx)", "2, 3"), "the NPU supports the operator"},
    {UNARY("dim_order_ops._to_dim_order_copy.default(%dx, dim_order=[0, 1])", "2, 3"), "the NPU supports the operator"},
    /* results that are not quantized, and inputs that are not int8 */
    {INPUT("x", "2, 3") "%r = edge.aten.relu.default(%dx)\n", "output is read by one quantize node"},
    {"%x = input : float32[2, 3]\n" RESULT("aten.relu.default(%x)", ""), "data input is quantized"},
    {"%x = input : int32[2, 3]\n"
     "%dx = quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 0, -127, 127, int32)\n" RESULT(
         "aten.relu.default(%dx)", ""),
     "data input is quantized"},
};

static void check_rule(struct nuc_context *cx, void *arg)
{
    const struct rule_case *c = arg;
    struct nuc_graph *g = parse_quantized(cx, c->graph);
    struct nuc_support s = support_of(g, NULL);

    nuc_infer_formats(g, nuc_flavor_find(g->cx, NULL));
    struct nuc_verdict v = check_verdict(&s, c->rule);
    assert_non_null(v.actual);
    assert_non_null(v.limit);
}

/* mcxn947, whose firmware has fewer kernels. */
static const struct rule_case mcxn_cases[] = {
    {CONV("1, 8, 6, 6", "8, 8, 3, 3", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), NULL},
    /* 15 * 17 * 257 = 65535; channels count by four: 260 are 66300 */
    {CONV("1, 256, 15, 17", "8, 256, 15, 17", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), NULL},
    {CONV("1, 257, 15, 17", "8, 257, 15, 17", "8", "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"), "MAC"},
    {UNARY_Q("aten.sigmoid.default(%dx)", "2, 3", OTHER), NULL},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "2, 3", "2, 3"), NULL},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [32, 4], none)", "1, 2, 4, 4"), NULL},
    {UNARY("aten._softmax.default(%dx, 1, false)", "2, 8"), "the NPU supports the operator"},
    {BINARY("aten.prelu.default(%dx, %dy)", "1, 2, 4", "2"), "the NPU supports the operator"},
    {UNARY("aten.pad.default(%dx, [1, 1], \"reflect\")", "1, 2, 4"), "the NPU supports the operator"},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [8, 16], false, none)", "1, 2, 4, 4"), "the NPU supports the operator"},
    {BINARY("aten.bmm.default(%dx, %dy)", "2, 3, 4", "2, 4, 5"), "a factor is a parameter"},
    {STATIC("w", "int8", "2, 4, 5") INPUT("x", "2, 3, 4") RESULT("aten.bmm.default(%dx, %dw)", OTHER), NULL},
    /* channels are cut by four, other dimensions anywhere */
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 4, 8)", "2, 8"), NULL},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 0, 2)", "2, 8"), "multiples"},
    {UNARY("aten.slice_copy.Tensor(%dx, 1, 2, 8)", "2, 8"), "multiples"},
    {UNARY("aten.slice_copy.Tensor(%dx, 0, 1, 2)", "2, 8"), NULL},
};

static void check_mcxn_rule(struct nuc_context *cx, void *arg)
{
    const struct rule_case *c = arg;
    struct nuc_graph *g = parse_quantized(cx, c->graph);
    struct nuc_support s = support_of(g, NULL);

    s.target = nuc_target_find(cx, "mcxn947");
    nuc_infer_formats(g, s.flavor);
    check_verdict(&s, c->rule);
}

/* Only what stays in its order is transposed. */
static void check_mcxn_transposes(struct nuc_context *cx, void *arg)
{
    const struct nuc_target *target = nuc_target_find(cx, "mcxn547");
    static const int64_t image[] = {1, 8, 8, 8}, plane[] = {1, 1, 8, 8};
    static const uint32_t to_last[] = {0, 2, 3, 1};

    (void)arg;
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++) {
        assert_false(nuc_can_transpose(target, nuc_flavor_at(i), image, to_last, 4));
        assert_true(nuc_can_transpose(target, nuc_flavor_at(i), plane, to_last, 4));
    }
}

/* The channels-first gate: without formats a convolution does not pass. */
static void check_format_gate(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, rule_cases[0].graph);
    struct nuc_support s = support_of(g, NULL);

    assert_false(nuc_check_format(&s, node_of(g, "r")).ok);
    assert_non_null(strstr(nuc_check_support(&s, node_of(g, "r")).rule, "channels-first"));
    nuc_infer_formats(g, nuc_flavor_find(g->cx, NULL));
    assert_true(nuc_check_format(&s, node_of(g, "r")).ok);
}

/* ---- partition rules ---- */

struct partition_case {
    const char *graph;
    bool alone; /* %r is the only operator of its partition */
    bool ok;
};

static const struct partition_case partition_cases[] = {
    /* The input holds -63.5 to 63.5, or 0 to 127.5 when its zero point is -128. */
    {UNARY("aten.relu.default(%dx)", "2, 3"), true, true},
    {"%x = input : float32[2, 3] ! 0.5, -128\n" RESULT("aten.relu.default(%dx)", ""), true, false},
    {UNARY("aten.hardtanh.default(%dx, 0.0, 6.0)", "2, 3"), true, true},
    {UNARY("aten.hardtanh.default(%dx, -64.0, 63.4)", "2, 3"), true, true},
    {UNARY("aten.hardtanh.default(%dx, -64.0, 63.5)", "2, 3"), true, false},
    {UNARY("aten.hardtanh.default(%dx, -64.0, 63.5)", "2, 3"), false, true},
    {UNARY("aten.clamp.default(%dx, 0.0, none)", "2, 3"), true, true},
    {UNARY("aten.clamp.default(%dx, -64.0, none)", "2, 3"), true, false},
    {UNARY("aten.clamp.default(%dx, -63.4, none)", "2, 3"), true, true},
    {UNARY("aten.clamp.default(%dx, none, 63.5)", "2, 3"), true, false},
    {UNARY("aten.clamp.default(%dx, none, 63.5)", "2, 3"), false, true},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 4], none)", "1, 2, 4, 4"), true, false},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [4, 4], none)", "1, 2, 4, 4"), false, true},
    {UNARY("aten.upsample_nearest2d.vec(%dx, [8, 4], none)", "1, 2, 4, 4"), true, true},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [4, 4], true, none)", "1, 2, 4, 4"), true, false},
    {UNARY("aten.upsample_bilinear2d.vec(%dx, [4, 8], false, none)", "1, 2, 4, 4"), true, true},
    {UNARY("aten.mean.dim(%dx, [0], true)", "1, 3"), true, false},
    {UNARY("aten.mean.dim(%dx, [0], true)", "1, 3"), false, true},
    {UNARY("aten.mean.dim(%dx, [1], true)", "1, 3"), true, true},
    {UNARY("aten.mean.dim(%dx, [0])", "1, 3"), true, true},
    {UNARY("dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3"), true, false},
    {UNARY("dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3"), false, true},
    {STATIC("w", "int8", "2, 3") RESULT("aten.permute_copy.default(%dw, [1, 0])", ""), true, false},
    {UNARY("aten.permute_copy.default(%dx, [1, 0])", "2, 3"), true, true},
};

static void check_partition_rule(struct nuc_context *cx, void *arg)
{
    const struct partition_case *c = arg;
    struct nuc_graph *g = parse_quantized(cx, c->graph);
    int32_t *of = nuc_alloc_array(cx, g->next_id, sizeof *of);
    uint32_t n_compute[1] = {c->alone ? 1 : 2};
    struct nuc_partition_view view = {of, n_compute};
    struct nuc_support s = support_of(g, NULL);

    s.partitions = &view;
    struct nuc_verdict v = nuc_check_partition(&s, node_of(g, "r"));
    if (v.ok != c->ok)
        fail_msg("%s instead of %s in:\n%s", v.ok ? "ok" : v.rule, c->ok ? "ok" : "refused", c->graph);
}

/* ---- no-ops ---- */

struct no_op_case {
    const char *graph;
    bool no_op;
};

#define ADDED(value)                                                                                                   \
    INPUT("x", "2, 3") "%c = constant : int8[] values(" value ") !\n" RESULT("aten.add.Tensor(%dx, %dc)", "")

static const struct no_op_case no_op_cases[] = {
    {ADDED("0"), true},
    {ADDED("1"), false},
    {UNARY("aten.view_copy.default(%dx, [3, 2])", "2, 3"), true},
    {UNARY("dim_order_ops._clone_dim_order.default(%dx, dim_order=[0, 1])", "2, 3"), true},
    {UNARY("aten.permute_copy.default(%dx, [0, 1])", "2, 3"), true},
    {UNARY("aten.permute_copy.default(%dx, [1, 0])", "3, 3"), false},
    {UNARY("aten.permute_copy.default(%dx, [1, 0])", "1, 3"), false},
    {UNARY("aten.relu.default(%dx)", "2, 3"), false},
    {BINARY("aten.add.Tensor(%dx, %dy)", "2, 3", "2, 3"), false},
    {UNARY("aten.cat.default([%dx], 1)", "2, 3"), true},
    {BINARY("aten.cat.default([%dx, %dy], 1)", "2, 3", "2, 3"), false},
    {UNARY("aten.amax.default(%dx, [1], true)", "2, 1"), true},
    {UNARY("aten.amax.default(%dx, [0], true)", "2, 1"), false},
    {UNARY("aten.amin.default(%dx, [0], true)", "1, 3"), true},
    {UNARY("aten.sum.dim_IntList(%dx, [0], true)", "1, 3"), true},
    {UNARY("aten.sum.dim_IntList(%dx, [1], true)", "1, 3"), false},
    {BINARY("aten.mul.Tensor(%dx, %dy)", "2, 3", "2, 3"), false},
    {UNARY("aten.abs.default(%dx)", "2, 3"), false},
};

static void check_no_op(struct nuc_context *cx, void *arg)
{
    const struct no_op_case *c = arg;
    struct nuc_graph *g = parse_quantized(cx, c->graph);
    struct nuc_support s = support_of(g, NULL);

    if (nuc_is_no_op(&s, node_of(g, "r")) != c->no_op)
        fail_msg("%sa no-op in:\n%s", c->no_op ? "not " : "", c->graph);
}

/* ---- clusters ---- */

static void check_clusters(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        parse_quantized(cx, INPUT("x", "2, 3") "%v = edge.aten.view_copy.default(%dx, [3, 2]) : float32[3, 2]\n" RESULT(
                                "aten.relu.default(%v)", ""));

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
    struct nuc_graph *g =
        parse_quantized(cx, INPUT("x", "2, 3") RESULT("aten.relu.default(%dx)", "") "%output = output([%qr, %r])\n");

    nuc_tag_clusters(g);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        assert_null(n->cluster);
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
    for (size_t i = 0; nuc_target_at(i) != NULL; i++)
        assert_ptr_equal(nuc_target_find(cx, nuc_target_at(i)->name), nuc_target_at(i));
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++)
        assert_ptr_equal(nuc_flavor_find(cx, nuc_flavor_at(i)->name), nuc_flavor_at(i));
    assert_string_equal(nuc_target_find(cx, NULL)->name, "imxrt700");
    assert_string_equal(nuc_target_find(cx, "mcxn94x")->name, "mcxn947"); /* as NXP's converter calls it */
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

    run_in_context(check_aliases, &notes);
    expect_failure(find_unknown_flavor, unknown, NUC_BAD_USAGE, "sdk-3.2, sdk-3.1");
}

/* Operators go by what people call them. */
static void check_nouns(struct nuc_context *cx, void *arg)
{
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_NATIVE_LAYER_NORM), "layer norm");
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_SORT_STABLE), "sort");
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_GE), "comparison");
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_UNFOLD), "unfold");
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_NATIVE_LOG_SOFTMAX), "log_softmax");
}

static void test_targets(void **state)
{
    char unknown[] = "imxrt701";

    run_in_context(check_targets, NULL);
    expect_failure(find_unknown_target, unknown, NUC_BAD_USAGE, "imxrt700");
    expect_failure(find_unknown_flavor, unknown, NUC_BAD_USAGE, "sdk-3.2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW_TEST(check_rule, rule_cases),
        ROW_TEST(check_mcxn_rule, mcxn_cases),
        CONTEXT_TEST(check_mcxn_transposes),
        CONTEXT_TEST(check_format_gate),
        ROW_TEST(check_partition_rule, partition_cases),
        ROW_TEST(check_no_op, no_op_cases),
        CONTEXT_TEST(check_clusters),
        CONTEXT_TEST(check_open_cluster),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_aliases),
        CONTEXT_TEST(check_nouns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
