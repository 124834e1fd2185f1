#include "compiler/program/out_variant.h"

#include "compiler/program/program.h"

#define ARG(position) (1U << (position))

/*
 * Squeezing and unsqueezing are views: ExecuTorch's own lowering replaces them by view_copy. prelu, pad and hardswish
 * have no row, because the portable library has no kernel for them: they are delegated or decomposed.
 */
static const struct nuc_out_variant out_variants[NUC_OP_COUNT] = {
    [NUC_OP_QUANTIZE_PER_TENSOR] = {.name = "quantized_decomposed::quantize_per_tensor",
                                    .overload = "out",
                                    .doubles = ARG(1)},
    [NUC_OP_DEQUANTIZE_PER_TENSOR] = {.name = "quantized_decomposed::dequantize_per_tensor",
                                      .overload = "out",
                                      .doubles = ARG(1)},
    [NUC_OP_QUANTIZE_PER_CHANNEL] = {.name = "quantized_decomposed::quantize_per_channel", .overload = "out"},
    [NUC_OP_DEQUANTIZE_PER_CHANNEL] = {.name = "quantized_decomposed::dequantize_per_channel", .overload = "out"},

    [NUC_OP_EDGE_RELU] = {.name = "aten::relu", .overload = "out"},
    [NUC_OP_EDGE_HARDTANH] = {.name = "aten::hardtanh", .overload = "out"},
    [NUC_OP_EDGE_ABS] = {.name = "aten::abs", .overload = "out"},
    [NUC_OP_EDGE_NEG] = {.name = "aten::neg", .overload = "out"},
    [NUC_OP_EDGE_EXP] = {.name = "aten::exp", .overload = "out"},
    [NUC_OP_EDGE_LOG] = {.name = "aten::log", .overload = "out"},
    [NUC_OP_EDGE_SQRT] = {.name = "aten::sqrt", .overload = "out"},
    [NUC_OP_EDGE_RSQRT] = {.name = "aten::rsqrt", .overload = "out"},
    [NUC_OP_EDGE_SIGMOID] = {.name = "aten::sigmoid", .overload = "out"},
    [NUC_OP_EDGE_TANH] = {.name = "aten::tanh", .overload = "out"},
    [NUC_OP_EDGE_LEAKY_RELU] = {.name = "aten::leaky_relu", .overload = "out"},
    [NUC_OP_EDGE_GELU] = {.name = "aten::gelu", .overload = "out"},
    [NUC_OP_EDGE_CLAMP] = {.name = "aten::clamp", .overload = "out", .whole = ARG(1) | ARG(2)},
    [NUC_OP_EDGE_ADD] = {.name = "aten::add", .overload = "out", .whole = ARG(2)},
    [NUC_OP_EDGE_SUB] = {.name = "aten::sub", .overload = "out", .whole = ARG(2)},
    [NUC_OP_EDGE_MUL] = {.name = "aten::mul", .overload = "out"},
    [NUC_OP_EDGE_DIV] = {.name = "aten::div", .overload = "out"},
    [NUC_OP_EDGE_MAXIMUM] = {.name = "aten::maximum", .overload = "out"},
    [NUC_OP_EDGE_MINIMUM] = {.name = "aten::minimum", .overload = "out"},
    [NUC_OP_EDGE_GT_SCALAR] = {.name = "aten::gt", .overload = "Scalar_out", .whole = ARG(1)},
    [NUC_OP_EDGE_WHERE] = {.name = "aten::where", .overload = "self_out"},

    [NUC_OP_EDGE_CONVOLUTION] = {.name = "aten::convolution", .overload = "out"},
    [NUC_OP_EDGE_BATCH_NORM] = {.name = "aten::_native_batch_norm_legit_no_training",
                                .overload = "out",
                                .doubles = ARG(5) | ARG(6)},
    [NUC_OP_EDGE_MAX_POOL2D] = {.name = "aten::max_pool2d_with_indices", .overload = "out"},
    [NUC_OP_EDGE_AVG_POOL2D] = {.name = "aten::avg_pool2d", .overload = "out"},
    [NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D] = {.name = "aten::_adaptive_avg_pool2d", .overload = "out"},
    [NUC_OP_EDGE_UPSAMPLE_BILINEAR] = {.name = "aten::upsample_bilinear2d", .overload = "vec_out"},
    [NUC_OP_EDGE_UPSAMPLE_NEAREST] = {.name = "aten::upsample_nearest2d", .overload = "vec_out"},
    [NUC_OP_EDGE_ADDMM] = {.name = "aten::addmm", .overload = "out", .whole = ARG(3) | ARG(4)},
    [NUC_OP_EDGE_MM] = {.name = "aten::mm", .overload = "out"},
    [NUC_OP_EDGE_BMM] = {.name = "aten::bmm", .overload = "out"},
    [NUC_OP_EDGE_SOFTMAX] = {.name = "aten::_softmax", .overload = "out"},
    [NUC_OP_EDGE_MEAN_DIM] = {.name = "aten::mean", .overload = "out"},
    [NUC_OP_EDGE_SUM_DIM] = {.name = "aten::sum", .overload = "IntList_out"},
    [NUC_OP_EDGE_AMAX] = {.name = "aten::amax", .overload = "out"},
    [NUC_OP_EDGE_AMIN] = {.name = "aten::amin", .overload = "out"},

    [NUC_OP_EDGE_CONSTANT_PAD] = {.name = "aten::constant_pad_nd", .overload = "out"},
    [NUC_OP_EDGE_CAT] = {.name = "aten::cat", .overload = "out"},
    [NUC_OP_EDGE_INDEX] = {.name = "aten::index", .overload = "Tensor_out", .optional = ARG(1)},
    [NUC_OP_EDGE_ARANGE] = {.name = "aten::arange",
                            .overload = "start_out",
                            .whole = ARG(0) | ARG(1) | ARG(2),
                            .dropped = ARG(3) | ARG(4) | ARG(5) | ARG(6)},
    [NUC_OP_EDGE_COPY] = {.name = "aten::copy", .overload = "out"},
    [NUC_OP_EDGE_SLICE] = {.name = "aten::slice_copy", .overload = "Tensor_out"},
    [NUC_OP_EDGE_SLICE_SCATTER] = {.name = "aten::slice_scatter", .overload = "out"},
    [NUC_OP_EDGE_SPLIT_WITH_SIZES] = {.name = "aten::split_with_sizes_copy", .overload = "out"},
    [NUC_OP_EDGE_PERMUTE] = {.name = "aten::permute_copy", .overload = "out"},
    [NUC_OP_EDGE_ALIAS] = {.name = "aten::alias_copy", .overload = "out"},
    [NUC_OP_EDGE_EXPAND] = {.name = "aten::expand_copy", .overload = "out"},
    [NUC_OP_EDGE_AS_STRIDED] = {.name = "aten::as_strided_copy", .overload = "out"},
    [NUC_OP_EDGE_VIEW] = {.name = "aten::view_copy", .overload = "out", .view = true},
    [NUC_OP_EDGE_SQUEEZE] = {.name = "aten::view_copy", .overload = "out", .view = true},
    [NUC_OP_EDGE_SQUEEZE_DIM] = {.name = "aten::view_copy", .overload = "out", .view = true},
    [NUC_OP_EDGE_SQUEEZE_DIMS] = {.name = "aten::view_copy", .overload = "out", .view = true},
    [NUC_OP_EDGE_UNSQUEEZE] = {.name = "aten::view_copy", .overload = "out", .view = true},
    [NUC_OP_EDGE_CLONE] = {.name = "aten::clone", .overload = "out"},
    [NUC_OP_EDGE_CLONE_DIM_ORDER] = {.name = "dim_order_ops::_clone_dim_order", .overload = "out"},
    [NUC_OP_EDGE_TO_DIM_ORDER_COPY] = {.name = "dim_order_ops::_to_dim_order_copy",
                                       .overload = "out",
                                       .dropped = ARG(1) | ARG(2) | ARG(3) | ARG(4)},
    [NUC_OP_EDGE_EMPTY_DIM_ORDER] = {.name = "dim_order_ops::_empty_dim_order",
                                     .overload = "out",
                                     .dropped = ARG(1) | ARG(2) | ARG(3) | ARG(4)},

    [NUC_OP_CORTEXM_QUANTIZE] = {.name = "cortex_m::quantize_per_tensor", .overload = "out", .doubles = ARG(1)},
    [NUC_OP_CORTEXM_DEQUANTIZE] = {.name = "cortex_m::dequantize_per_tensor", .overload = "out", .doubles = ARG(1)},
    [NUC_OP_CORTEXM_ADD] = {.name = "cortex_m::quantized_add", .overload = "out"},
    [NUC_OP_CORTEXM_MUL] = {.name = "cortex_m::quantized_mul", .overload = "out"},
    [NUC_OP_CORTEXM_DIV] = {.name = "cortex_m::quantized_div", .overload = "out", .doubles = ARG(5)},
    [NUC_OP_CORTEXM_ACTIVATION] = {.name = "cortex_m::quantized_activation", .overload = "out"},
    [NUC_OP_CORTEXM_MINIMUM] = {.name = "cortex_m::minimum", .overload = "out"},
    [NUC_OP_CORTEXM_MAXIMUM] = {.name = "cortex_m::maximum", .overload = "out"},
    [NUC_OP_CORTEXM_LINEAR] = {.name = "cortex_m::quantized_linear", .overload = "out"},
    [NUC_OP_CORTEXM_SOFTMAX] = {.name = "cortex_m::softmax", .overload = "out"},
    [NUC_OP_CORTEXM_TRANSPOSE] = {.name = "cortex_m::transpose", .overload = "out"},
    [NUC_OP_CORTEXM_PAD] = {.name = "cortex_m::pad", .overload = "out"},
    [NUC_OP_CORTEXM_CONV2D] = {.name = "cortex_m::quantized_conv2d", .overload = "out"},
    [NUC_OP_CORTEXM_DEPTHWISE] = {.name = "cortex_m::quantized_depthwise_conv2d", .overload = "out"},
    [NUC_OP_CORTEXM_TRANSPOSE_CONV2D] = {.name = "cortex_m::quantized_transpose_conv2d", .overload = "out"},
    [NUC_OP_CORTEXM_AVG_POOL2D] = {.name = "cortex_m::quantized_avg_pool2d", .overload = "out"},
    [NUC_OP_CORTEXM_MAX_POOL2D] = {.name = "cortex_m::quantized_max_pool2d", .overload = "out"},
    [NUC_OP_CORTEXM_BATCH_MATMUL] = {.name = "cortex_m::quantized_batch_matmul", .overload = "out"},

    [NUC_OP_NUCLEON_SUM] = {.name = "nucleon::quantized_sum", .overload = "out"},
    [NUC_OP_NUCLEON_PRELU] = {.name = "nucleon::quantized_prelu", .overload = "out"},
    [NUC_OP_NUCLEON_RESIZE_BILINEAR] = {.name = "nucleon::quantized_resize_bilinear", .overload = "out"},
    [NUC_OP_NUCLEON_RESIZE_NEAREST] = {.name = "nucleon::quantized_resize_nearest", .overload = "out"},
    [NUC_OP_NUCLEON_TRANSPOSE_CONV2D] = {.name = "nucleon::quantized_transpose_conv2d", .overload = "out"},
};

const struct nuc_out_variant *nuc_out_variant(enum nuc_op op)
{
    return op < NUC_OP_COUNT && out_variants[op].name != NULL ? &out_variants[op] : NULL;
}

const char *nuc_program_operator_name(enum nuc_op op)
{
    const struct nuc_out_variant *variant = nuc_out_variant(op);

    return variant != NULL ? variant->name : NULL;
}
