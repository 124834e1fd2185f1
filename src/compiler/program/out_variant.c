#include "compiler/program/out_variant.h"

#include "compiler/program/program.h"

#define ARG(position) (1U << (position))

/*
 * Squeezing and unsqueezing are views: ExecuTorch's own lowering replaces them by view_copy. prelu, pad and hardswish
 * have no row, because the portable library has no kernel for them: they are delegated or decomposed.
 */
static const struct nuc_out_variant out_variants[NUC_OP_COUNT] = {
    [NUC_OP_QUANTIZE_PER_TENSOR] = {"quantized_decomposed::quantize_per_tensor", "out", .doubles = ARG(1)},
    [NUC_OP_DEQUANTIZE_PER_TENSOR] = {"quantized_decomposed::dequantize_per_tensor", "out", .doubles = ARG(1)},
    [NUC_OP_QUANTIZE_PER_CHANNEL] = {"quantized_decomposed::quantize_per_channel", "out"},
    [NUC_OP_DEQUANTIZE_PER_CHANNEL] = {"quantized_decomposed::dequantize_per_channel", "out"},

    [NUC_OP_EDGE_RELU] = {"aten::relu", "out"},
    [NUC_OP_EDGE_HARDTANH] = {"aten::hardtanh", "out"},
    [NUC_OP_EDGE_ABS] = {"aten::abs", "out"},
    [NUC_OP_EDGE_NEG] = {"aten::neg", "out"},
    [NUC_OP_EDGE_EXP] = {"aten::exp", "out"},
    [NUC_OP_EDGE_LOG] = {"aten::log", "out"},
    [NUC_OP_EDGE_SQRT] = {"aten::sqrt", "out"},
    [NUC_OP_EDGE_RSQRT] = {"aten::rsqrt", "out"},
    [NUC_OP_EDGE_SIGMOID] = {"aten::sigmoid", "out"},
    [NUC_OP_EDGE_TANH] = {"aten::tanh", "out"},
    [NUC_OP_EDGE_LEAKY_RELU] = {"aten::leaky_relu", "out"},
    [NUC_OP_EDGE_GELU] = {"aten::gelu", "out"},
    [NUC_OP_EDGE_CLAMP] = {"aten::clamp", "out", .whole = ARG(1) | ARG(2)},
    [NUC_OP_EDGE_ADD] = {"aten::add", "out", .whole = ARG(2)},
    [NUC_OP_EDGE_SUB] = {"aten::sub", "out", .whole = ARG(2)},
    [NUC_OP_EDGE_MUL] = {"aten::mul", "out"},
    [NUC_OP_EDGE_DIV] = {"aten::div", "out"},
    [NUC_OP_EDGE_MAXIMUM] = {"aten::maximum", "out"},
    [NUC_OP_EDGE_MINIMUM] = {"aten::minimum", "out"},
    [NUC_OP_EDGE_GT_SCALAR] = {"aten::gt", "Scalar_out", .whole = ARG(1)},
    [NUC_OP_EDGE_WHERE] = {"aten::where", "self_out"},

    [NUC_OP_EDGE_CONVOLUTION] = {"aten::convolution", "out"},
    [NUC_OP_EDGE_BATCH_NORM] = {"aten::_native_batch_norm_legit_no_training", "out", .doubles = ARG(5) | ARG(6)},
    [NUC_OP_EDGE_MAX_POOL2D] = {"aten::max_pool2d_with_indices", "out"},
    [NUC_OP_EDGE_AVG_POOL2D] = {"aten::avg_pool2d", "out"},
    [NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D] = {"aten::_adaptive_avg_pool2d", "out"},
    [NUC_OP_EDGE_UPSAMPLE_BILINEAR] = {"aten::upsample_bilinear2d", "vec_out"},
    [NUC_OP_EDGE_UPSAMPLE_NEAREST] = {"aten::upsample_nearest2d", "vec_out"},
    [NUC_OP_EDGE_ADDMM] = {"aten::addmm", "out", .whole = ARG(3) | ARG(4)},
    [NUC_OP_EDGE_MM] = {"aten::mm", "out"},
    [NUC_OP_EDGE_BMM] = {"aten::bmm", "out"},
    [NUC_OP_EDGE_SOFTMAX] = {"aten::_softmax", "out"},
    [NUC_OP_EDGE_MEAN_DIM] = {"aten::mean", "out"},
    [NUC_OP_EDGE_SUM_DIM] = {"aten::sum", "IntList_out"},
    [NUC_OP_EDGE_AMAX] = {"aten::amax", "out"},
    [NUC_OP_EDGE_AMIN] = {"aten::amin", "out"},

    [NUC_OP_EDGE_CONSTANT_PAD] = {"aten::constant_pad_nd", "out"},
    [NUC_OP_EDGE_CAT] = {"aten::cat", "out"},
    [NUC_OP_EDGE_INDEX] = {"aten::index", "Tensor_out", .optional = ARG(1)},
    [NUC_OP_EDGE_ARANGE] = {"aten::arange", "start_out", .whole = ARG(0) | ARG(1) | ARG(2),
                            .dropped = ARG(3) | ARG(4) | ARG(5) | ARG(6)},
    [NUC_OP_EDGE_COPY] = {"aten::copy", "out"},
    [NUC_OP_EDGE_SLICE] = {"aten::slice_copy", "Tensor_out"},
    [NUC_OP_EDGE_SLICE_SCATTER] = {"aten::slice_scatter", "out"},
    [NUC_OP_EDGE_SPLIT_WITH_SIZES] = {"aten::split_with_sizes_copy", "out"},
    [NUC_OP_EDGE_PERMUTE] = {"aten::permute_copy", "out"},
    [NUC_OP_EDGE_ALIAS] = {"aten::alias_copy", "out"},
    [NUC_OP_EDGE_EXPAND] = {"aten::expand_copy", "out"},
    [NUC_OP_EDGE_AS_STRIDED] = {"aten::as_strided_copy", "out"},
    [NUC_OP_EDGE_VIEW] = {"aten::view_copy", "out", .view = true},
    [NUC_OP_EDGE_SQUEEZE] = {"aten::view_copy", "out", .view = true},
    [NUC_OP_EDGE_SQUEEZE_DIM] = {"aten::view_copy", "out", .view = true},
    [NUC_OP_EDGE_SQUEEZE_DIMS] = {"aten::view_copy", "out", .view = true},
    [NUC_OP_EDGE_UNSQUEEZE] = {"aten::view_copy", "out", .view = true},
    [NUC_OP_EDGE_CLONE] = {"aten::clone", "out"},
    [NUC_OP_EDGE_CLONE_DIM_ORDER] = {"dim_order_ops::_clone_dim_order", "out"},
    [NUC_OP_EDGE_TO_DIM_ORDER_COPY] = {"dim_order_ops::_to_dim_order_copy", "out",
                                       .dropped = ARG(1) | ARG(2) | ARG(3) | ARG(4)},
    [NUC_OP_EDGE_EMPTY_DIM_ORDER] = {"dim_order_ops::_empty_dim_order", "out",
                                     .dropped = ARG(1) | ARG(2) | ARG(3) | ARG(4)},
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
