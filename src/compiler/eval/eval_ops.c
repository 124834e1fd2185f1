/* The evaluator's column of ops.def. */
#include "compiler/eval/eval_private.h"

const struct nuc_eval_op *nuc_eval_find(enum nuc_op op)
{
    static const struct nuc_eval_op *const ops[NUC_OP_COUNT] = {
        [NUC_OP_GETITEM] = &nuc_eval_getitem,

        [NUC_OP_QUANTIZE_PER_TENSOR] = &nuc_eval_quantize_per_tensor,
        [NUC_OP_DEQUANTIZE_PER_TENSOR] = &nuc_eval_dequantize_per_tensor,
        [NUC_OP_QUANTIZE_PER_CHANNEL] = &nuc_eval_quantize_per_channel,
        [NUC_OP_DEQUANTIZE_PER_CHANNEL] = &nuc_eval_dequantize_per_channel,

        [NUC_OP_CONV2D] = &nuc_eval_conv,
        [NUC_OP_BATCH_NORM] = &nuc_eval_batch_norm,
        [NUC_OP_RELU] = &nuc_eval_relu,
        [NUC_OP_RELU_] = &nuc_eval_relu,
        [NUC_OP_RELU6] = &nuc_eval_relu6,
        [NUC_OP_HARDTANH] = &nuc_eval_hardtanh,
        [NUC_OP_HARDTANH_] = &nuc_eval_hardtanh,
        [NUC_OP_ADD] = &nuc_eval_add,
        [NUC_OP_MAX_POOL2D] = &nuc_eval_max_pool,
        [NUC_OP_AVG_POOL2D] = &nuc_eval_avg_pool,
        [NUC_OP_ADAPTIVE_AVG_POOL2D] = &nuc_eval_adaptive_avg_pool,
        [NUC_OP_MEAN_DIM] = &nuc_eval_mean,
        [NUC_OP_PAD] = &nuc_eval_pad,
        [NUC_OP_VIEW] = &nuc_eval_view,
        [NUC_OP_RESHAPE] = &nuc_eval_view,
        [NUC_OP_FLATTEN] = &nuc_eval_view,
        [NUC_OP_LINEAR] = &nuc_eval_linear,
        [NUC_OP_ADDMM] = &nuc_eval_addmm,
        [NUC_OP_SOFTMAX] = &nuc_eval_softmax,
        [NUC_OP_DROPOUT] = &nuc_eval_dropout,
        [NUC_OP_CLONE] = &nuc_eval_view,
        [NUC_OP_CONTIGUOUS] = &nuc_eval_view,
        [NUC_OP_TO_DTYPE_LAYOUT] = &nuc_eval_cast,
        [NUC_OP_ASSERT_TENSOR_METADATA] = &nuc_eval_nothing,

        [NUC_OP_EDGE_CONVOLUTION] = &nuc_eval_edge_conv,
        [NUC_OP_EDGE_BATCH_NORM] = &nuc_eval_edge_batch_norm,
        [NUC_OP_EDGE_RELU] = &nuc_eval_relu,
        [NUC_OP_EDGE_HARDTANH] = &nuc_eval_hardtanh,
        [NUC_OP_EDGE_ADD] = &nuc_eval_add,
        [NUC_OP_EDGE_MAX_POOL2D] = &nuc_eval_max_pool,
        [NUC_OP_EDGE_AVG_POOL2D] = &nuc_eval_avg_pool,
        [NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D] = &nuc_eval_edge_adaptive_avg_pool,
        [NUC_OP_EDGE_MEAN_DIM] = &nuc_eval_mean,
        [NUC_OP_EDGE_CONSTANT_PAD] = &nuc_eval_constant_pad,
        [NUC_OP_EDGE_VIEW] = &nuc_eval_view,
        [NUC_OP_EDGE_PERMUTE] = &nuc_eval_permute,
        [NUC_OP_EDGE_ADDMM] = &nuc_eval_addmm,
        [NUC_OP_EDGE_MM] = &nuc_eval_mm,
        [NUC_OP_EDGE_SOFTMAX] = &nuc_eval_softmax,
        [NUC_OP_EDGE_CLONE] = &nuc_eval_view,
        [NUC_OP_EDGE_CLONE_DIM_ORDER] = &nuc_eval_view,
        [NUC_OP_EDGE_TO_DIM_ORDER_COPY] = &nuc_eval_cast,
    };

    return op < NUC_OP_COUNT ? ops[op] : NULL;
}

bool nuc_eval_has_op(enum nuc_op op)
{
    return nuc_eval_find(op) != NULL || op == NUC_OP_PLACEHOLDER || op == NUC_OP_OUTPUT;
}
