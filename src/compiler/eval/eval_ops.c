/* The evaluator's column of ops.def. */
#include "compiler/eval/eval_private.h"

/* Of a family; of the operators below where theirs is another. */
static const struct nuc_eval_op *const family_ops[NUC_FAMILY_COUNT] = {
    [NUC_FAMILY_MAP] = &nuc_eval_unary,       [NUC_FAMILY_BINARY] = &nuc_eval_binary,
    [NUC_FAMILY_SOFTMAX] = &nuc_eval_softmax, [NUC_FAMILY_RECURRENT] = &nuc_eval_gru,
    [NUC_FAMILY_VIEW] = &nuc_eval_view,       [NUC_FAMILY_COPY] = &nuc_eval_view,
    [NUC_FAMILY_CAST] = &nuc_eval_cast,       [NUC_FAMILY_ASSERT] = &nuc_eval_nothing,
    [NUC_FAMILY_CAT] = &nuc_eval_cat,
};

static const struct nuc_eval_op *const ops[NUC_OP_COUNT] = {
    [NUC_OP_GETITEM] = &nuc_eval_getitem,
    [NUC_OP_QUANTIZE_PER_TENSOR] = &nuc_eval_quantize_per_tensor,
    [NUC_OP_QUANTIZE_PER_CHANNEL] = &nuc_eval_quantize_per_channel,
    [NUC_OP_DEQUANTIZE_PER_TENSOR] = &nuc_eval_dequantize_per_tensor,
    [NUC_OP_DEQUANTIZE_PER_CHANNEL] = &nuc_eval_dequantize_per_channel,
    [NUC_OP_RELU] = &nuc_eval_relu,
    [NUC_OP_RELU6] = &nuc_eval_relu6,
    [NUC_OP_HARDTANH] = &nuc_eval_hardtanh,
    [NUC_OP_CLAMP] = &nuc_eval_clamp,
    [NUC_OP_PRELU] = &nuc_eval_prelu,
    [NUC_OP_GT_SCALAR] = &nuc_eval_gt_scalar,
    [NUC_OP_WHERE] = &nuc_eval_where,
    [NUC_OP_INDEX] = &nuc_eval_index,
    [NUC_OP_CONV2D] = &nuc_eval_conv,
    [NUC_OP_CONV1D] = &nuc_eval_conv,
    [NUC_OP_CONV1D_PADDING] = &nuc_eval_conv_padding,
    [NUC_OP_CONV2D_PADDING] = &nuc_eval_conv_padding,
    [NUC_OP_CONV3D] = &nuc_eval_conv,
    [NUC_OP_CONV_TRANSPOSE1D] = &nuc_eval_conv_transpose,
    [NUC_OP_CONV_TRANSPOSE2D] = &nuc_eval_conv_transpose,
    [NUC_OP_CONVOLUTION] = &nuc_eval_edge_conv,
    [NUC_OP_BATCH_NORM] = &nuc_eval_batch_norm,
    [NUC_OP_NATIVE_BATCH_NORM] = &nuc_eval_edge_batch_norm,
    [NUC_OP_MAX_POOL2D] = &nuc_eval_max_pool,
    [NUC_OP_AVG_POOL2D] = &nuc_eval_avg_pool,
    [NUC_OP_ADAPTIVE_AVG_POOL2D] = &nuc_eval_adaptive_avg_pool,
    [NUC_OP_MAX_POOL1D] = &nuc_eval_max_pool1d,
    [NUC_OP_MAX_POOL2D_INDICES] = &nuc_eval_max_pool,
    [NUC_OP_AVG_POOL1D] = &nuc_eval_avg_pool1d,
    [NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D] = &nuc_eval_edge_adaptive_avg_pool,
    [NUC_OP_UPSAMPLE_BILINEAR] = &nuc_eval_upsample_bilinear,
    [NUC_OP_UPSAMPLE_NEAREST] = &nuc_eval_upsample_nearest,
    [NUC_OP_MEAN_DIM] = &nuc_eval_mean,
    [NUC_OP_AMAX] = &nuc_eval_extremum,
    [NUC_OP_AMIN] = &nuc_eval_extremum,
    [NUC_OP_SUM] = &nuc_eval_sum_all,
    [NUC_OP_SUM_DIM] = &nuc_eval_sum,
    [NUC_OP_LINEAR] = &nuc_eval_linear,
    [NUC_OP_ADDMM] = &nuc_eval_addmm,
    [NUC_OP_MM] = &nuc_eval_mm,
    [NUC_OP_BMM] = &nuc_eval_matmul,
    [NUC_OP_MATMUL] = &nuc_eval_matmul,
    [NUC_OP_PERMUTE] = &nuc_eval_permute,
    [NUC_OP_TRANSPOSE] = &nuc_eval_transpose,
    [NUC_OP_T] = &nuc_eval_transpose,
    [NUC_OP_SLICE] = &nuc_eval_slice,
    [NUC_OP_SPLIT] = &nuc_eval_split,
    [NUC_OP_SPLIT_SIZES] = &nuc_eval_split,
    [NUC_OP_SPLIT_WITH_SIZES] = &nuc_eval_split,
    [NUC_OP_CHUNK] = &nuc_eval_split,
    [NUC_OP_EXPAND] = &nuc_eval_expand,
    [NUC_OP_AS_STRIDED] = &nuc_eval_as_strided,
    [NUC_OP_DROPOUT] = &nuc_eval_dropout,
    [NUC_OP_PAD] = &nuc_eval_pad,
    [NUC_OP_CONSTANT_PAD] = &nuc_eval_constant_pad,
    [NUC_OP_COPY] = &nuc_eval_copy,
    [NUC_OP_SLICE_SCATTER] = &nuc_eval_slice_scatter,
    [NUC_OP_ZEROS] = &nuc_eval_zeros,
    [NUC_OP_ARANGE] = &nuc_eval_arange,
    [NUC_OP_EMPTY_DIM_ORDER] = &nuc_eval_zeros,
};

const struct nuc_eval_op *nuc_eval_find(enum nuc_op op)
{
    if (op >= NUC_OP_COUNT)
        return NULL;
    return ops[op] != NULL ? ops[op] : family_ops[nuc_op_family(op)];
}

bool nuc_eval_has_op(enum nuc_op op)
{
    return nuc_eval_find(op) != NULL || op == NUC_OP_PLACEHOLDER || op == NUC_OP_OUTPUT;
}
