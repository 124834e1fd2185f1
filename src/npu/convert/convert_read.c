/*
 * Operands in rows: which kernels read a tensor that lies in another one with gaps between its rows. Elementwise
 * operators, reductions and moves have strides, matrix products rows, windows pixels with a pitch.
 */
#include "npu/convert/convert_private.h"

int32_t nuc_cv_in_pitch(const struct nuc_cv *cv, int32_t tensor)
{
    struct nuc_cv_place place = nuc_cv_place(cv, tensor);

    return place.layout.row > 0 ? (int32_t)place.layout.pitch : 0;
}

/* The last dimension is a row. */
static bool is_row(const struct nuc_lt_tensor *t, int64_t row)
{
    return t->rank > 0 && t->shape[t->rank - 1] == row;
}

/* Whether the node's kernel reads a tensor that lies in rows. */
static bool reads_rows(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t tensor,
                       const struct nuc_cv_layout *layout)
{
    const struct nuc_lt_tensor *t = &cv->graph->tensors[tensor];
    struct nuc_cv_turned turned;
    int64_t stride[NUC_MAX_RANK];
    struct nuc_cv_place y;

    if (t->dtype != NUC_I8)
        return false;
    /* Rows of a table are those of its result. */
    if (n->table)
        return nuc_cv_find_place(cv, n->output, &y) && (y.layout.row == 0 || y.layout.row == layout->row);
    switch (n->op->code) {
    case NUC_LT_CONV_2D:
    case NUC_LT_DEPTHWISE_CONV_2D:
    case NUC_LT_AVERAGE_POOL_2D:
    case NUC_LT_MAX_POOL_2D:
        return tensor == n->input && t->rank == 4 && is_row(t, layout->row);
    case NUC_LT_TRANSPOSE_CONV:
        return tensor == n->op->inputs[2] && t->rank == 4 && is_row(t, layout->row);
    case NUC_LT_FULLY_CONNECTED:
        return tensor == n->input && nuc_cv_in(cv, n, 1)->shape[1] == layout->row;
    case NUC_LT_TRANSPOSE:
        return nuc_cv_turn(cv, n, &turned);
    case NUC_LT_BATCH_MATMUL:
        return !cv->revision_3 && nuc_cv_matrix_strides(cv, tensor, stride);
    case NUC_LT_SLICE:
    case NUC_LT_CONCATENATION:
    case NUC_LT_PAD:
    case NUC_LT_PADV2:
    case NUC_LT_MEAN:
    case NUC_LT_SUM:
    case NUC_LT_REDUCE_MAX:
    case NUC_LT_REDUCE_MIN:
        return nuc_cv_strides(cv, t, layout, stride);
    default:
        return nuc_cv_is_binary(n->op->code) && nuc_cv_strides(cv, t, layout, stride);
    }
}

/* Whether the node can read that operand where it lies. */
static bool can_read(const struct nuc_cv *cv, const struct nuc_cv_node *n, int32_t tensor)
{
    struct nuc_cv_place place;
    bool turned;

    (void)nuc_cv_turned_alias(cv, tensor, &turned);
    if (turned)
        return n->op->code == NUC_LT_BATCH_MATMUL && reads_rows(cv, n, tensor, NULL);
    return nuc_cv_find_place(cv, tensor, &place) && (place.layout.row == 0 || reads_rows(cv, n, tensor, &place.layout));
}

bool nuc_cv_all_readable(const struct nuc_cv *cv)
{
    for (uint32_t i = 0; i < cv->graph->n_ops; i++) {
        const struct nuc_cv_node *n = &cv->nodes[i];
        if (n->dropped)
            continue;
        if (!can_read(cv, n, n->input))
            return false;
        for (uint32_t k = 1; k < nuc_cv_n_operands(n); k++) {
            if (n->op->inputs[k] >= 0 && !can_read(cv, n, n->op->inputs[k]))
                return false;
        }
    }
    return true;
}
