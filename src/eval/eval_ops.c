/* The evaluator's column of ops.def. */
#include "eval/eval_private.h"

/* Where an operator is not computed as its family is. NULL: not at all. */
static const struct exception {
    enum nuc_op op;
    const struct nuc_eval_op *eval;
} exceptions[] = {
    {NUC_OP_GETITEM, &nuc_eval_view},
    {NUC_OP_QUANTIZE_PER_CHANNEL, &nuc_eval_quant_channels},
    {NUC_OP_DEQUANTIZE_PER_CHANNEL, &nuc_eval_quant_channels},
    {NUC_OP_LOGICAL_NOT, &nuc_eval_unary},
    {NUC_OP_ISNAN, &nuc_eval_unary},
    {NUC_OP_ISINF, &nuc_eval_unary},
    {NUC_OP_ISFINITE, &nuc_eval_unary},
    {NUC_OP_SIGNBIT, &nuc_eval_unary},
    {NUC_OP_GT_SCALAR, &nuc_eval_compare},
    {NUC_OP_POW_SCALAR, &nuc_eval_power},
    {NUC_OP_POW_OF_SCALAR, &nuc_eval_power},
    {NUC_OP_PRELU, &nuc_eval_prelu},
    {NUC_OP_WHERE, &nuc_eval_where},
    {NUC_OP_INDEX, &nuc_eval_index},
    {NUC_OP_INDEX_SELECT, &nuc_eval_index_select},
    {NUC_OP_GATHER, &nuc_eval_gather},
    {NUC_OP_EMBEDDING, &nuc_eval_embedding},
    {NUC_OP_SCATTER, &nuc_eval_scatter},
    {NUC_OP_SCATTER_VALUE, &nuc_eval_scatter_value},
    {NUC_OP_SCATTER_ADD, &nuc_eval_scatter},
    {NUC_OP_SCATTER_REDUCE, &nuc_eval_scatter},
    {NUC_OP_MASKED_SCATTER, &nuc_eval_masked_scatter},
    {NUC_OP_INDEX_PUT, &nuc_eval_index_put},
    {NUC_OP_SELECT_SCATTER, &nuc_eval_select_scatter},
    {NUC_OP_TOPK, &nuc_eval_sort},
    {NUC_OP_SORT, &nuc_eval_sort},
    {NUC_OP_SORT_STABLE, &nuc_eval_sort},
    {NUC_OP_AVG_POOL1D, &nuc_eval_avg_pool},
    {NUC_OP_AVG_POOL2D, &nuc_eval_avg_pool},
    {NUC_OP_ADAPTIVE_AVG_POOL2D, &nuc_eval_adaptive_avg_pool},
    {NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D, &nuc_eval_adaptive_avg_pool},
    {NUC_OP_GRID_SAMPLER_2D, &nuc_eval_grid_sampler},
    {NUC_OP_GRID_SAMPLER_3D, &nuc_eval_grid_sampler},
    {NUC_OP_MEAN_DIM, &nuc_eval_mean},
    {NUC_OP_LAYER_NORM, &nuc_eval_layer_norm},
    {NUC_OP_NATIVE_LAYER_NORM, &nuc_eval_layer_norm},
    {NUC_OP_RMS_NORM, &nuc_eval_rms_norm},
    {NUC_OP_GROUP_NORM, &nuc_eval_group_norm},
    {NUC_OP_NATIVE_GROUP_NORM, &nuc_eval_group_norm},
    {NUC_OP_LINEAR, &nuc_eval_linear},
    {NUC_OP_ADDMM, &nuc_eval_addmm},
    {NUC_OP_SLICE, &nuc_eval_slice},
    {NUC_OP_EXPAND, &nuc_eval_broadcast},
    {NUC_OP_AS_STRIDED, &nuc_eval_as_strided},
    {NUC_OP_FLIP, &nuc_eval_flip},
    {NUC_OP_DIAGONAL, &nuc_eval_diagonal},
    {NUC_OP_UNFOLD, &nuc_eval_unfold},
    {NUC_OP_DROPOUT, &nuc_eval_dropout},
    {NUC_OP_COPY, &nuc_eval_broadcast},
    {NUC_OP_SLICE_SCATTER, &nuc_eval_slice_scatter},
    {NUC_OP_ARANGE, &nuc_eval_arange},
    {NUC_OP_NUCLEON_SVDF, &nuc_eval_svdf},
    {NUC_OP_SIGNAL_WINDOW, &nuc_eval_signal_window},
    {NUC_OP_SIGNAL_AUTO_SCALE, &nuc_eval_signal_auto_scale},
    {NUC_OP_SIGNAL_FEATURES, &nuc_eval_signal_features},
    {NUC_OP_SIGNAL_MICRO, &nuc_eval_signal_micro},
    {NUC_OP_SIGNAL_RFFT, &nuc_eval_signal_rfft},
    {NUC_OP_SIGNAL_ENERGY, &nuc_eval_signal_energy},
    {NUC_OP_SIGNAL_FILTER_BANK, &nuc_eval_signal_filter_bank},
    {NUC_OP_SIGNAL_ROOT, &nuc_eval_signal_root},
    {NUC_OP_SIGNAL_NOISE_REDUCTION, &nuc_eval_signal_noise_reduction},
    {NUC_OP_SIGNAL_PCAN, &nuc_eval_signal_pcan},
    {NUC_OP_SIGNAL_LOG, &nuc_eval_signal_log},
    {NUC_OP_PREPARE_FRAME, &nuc_eval_prepare_frame},
    {NUC_OP_NUCLEON_LITERT_LSTM, &nuc_eval_litert_lstm},
};

const struct nuc_eval_op *nuc_eval_find(enum nuc_op op)
{
    if (op >= NUC_OP_COUNT)
        return NULL;
    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++) {
        if (exceptions[i].op == op)
            return exceptions[i].eval;
    }
    enum nuc_family family = nuc_op_family(op);
    static const struct nuc_eval_op *const ops[NUC_FAMILY_COUNT] = {
        [NUC_FAMILY_QUANT] = &nuc_eval_quant,     [NUC_FAMILY_DEQUANT] = &nuc_eval_quant,
        [NUC_FAMILY_MAP] = &nuc_eval_unary,       [NUC_FAMILY_BINARY] = &nuc_eval_binary,
        [NUC_FAMILY_COMPARE] = &nuc_eval_binary,  [NUC_FAMILY_CONV] = &nuc_eval_conv,
        [NUC_FAMILY_NORM] = &nuc_eval_batch_norm, [NUC_FAMILY_POOL] = &nuc_eval_max_pool,
        [NUC_FAMILY_RESIZE] = &nuc_eval_upsample, [NUC_FAMILY_REDUCE] = &nuc_eval_fold,
        [NUC_FAMILY_SCAN] = &nuc_eval_scan,       [NUC_FAMILY_SOFTMAX] = &nuc_eval_softmax,
        [NUC_FAMILY_MATRIX] = &nuc_eval_matmul,   [NUC_FAMILY_RECURRENT] = &nuc_eval_recurrent,
        [NUC_FAMILY_VIEW] = &nuc_eval_view,       [NUC_FAMILY_PERMUTE] = &nuc_eval_permute,
        [NUC_FAMILY_SLICE] = &nuc_eval_split,     [NUC_FAMILY_COPY] = &nuc_eval_view,
        [NUC_FAMILY_CAST] = &nuc_eval_cast,       [NUC_FAMILY_ASSERT] = &nuc_eval_nothing,
        [NUC_FAMILY_CAT] = &nuc_eval_cat,         [NUC_FAMILY_PAD] = &nuc_eval_pad,
        [NUC_FAMILY_FILL] = &nuc_eval_zeros,
    };
    return ops[family];
}

bool nuc_eval_has_op(enum nuc_op op)
{
    return nuc_eval_find(op) != NULL || op == NUC_OP_PLACEHOLDER || op == NUC_OP_OUTPUT;
}
