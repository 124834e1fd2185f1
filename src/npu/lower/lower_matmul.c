#include "npu/lower/lowering.h"

/*
 * torch multiplies [M, N] by weights [N, O], FULLY_CONNECTED expects them as [O, N]. A linear layer's weights come
 * through a permute of their own, so that tidying cancels the two transposes; those with a scale for each output are
 * transposed here.
 */
static int32_t weights(struct nuc_lowering *l, const struct nuc_node *node, uint32_t index)
{
    static const int32_t swap[2] = {1, 0};
    int32_t w = nuc_lower_input(l, node, index);

    if (nuc_ltb_is_constant(l->b, w) && nuc_ltb_at(l->b, w)->quant.count > 1)
        return nuc_ltb_transposed_constant(l->b, w, swap, 0);
    return nuc_ltb_transpose_before(l->b, w, swap, nuc_ltb_format(l->b, w));
}

void nuc_lower_addmm(struct nuc_lowering *l, const struct nuc_node *node, int32_t bias, int32_t y)
{
    int32_t x = nuc_lower_input(l, node, NUC_ARG(ADDMM, mat1)), w = weights(l, node, NUC_ARG(ADDMM, mat2));
    struct nuc_lt_op *op = nuc_ltb_op(l->b, NUC_LT_FULLY_CONNECTED, (const int32_t[]){x, w, bias}, 3, y);

    op->options.fully_connected.keep_num_dims = true;
}

void nuc_lower_mm(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    int32_t w = weights(l, node, NUC_ARG(MM, mat2));

    nuc_ltb_op(l->b, NUC_LT_FULLY_CONNECTED, (const int32_t[]){x, w}, 2, y);
}

/*
 * A channels-first matrix [N, C, L] is [N, L, C] here: the flags of BATCH_MATMUL swap it back, a transpose afterwards
 * does so for the result.
 */
void nuc_lower_bmm(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    int32_t other = nuc_lower_input(l, node, NUC_ARG(BMM, mat2)), perm[NUC_MAX_RANK];

    nuc_perm_to_last(perm, nuc_ltb_at(l->b, y)->rank);
    struct nuc_ltb_result result =
        nuc_ltb_begin_result(l->b, y, nuc_ltb_is_last(l->b, y) ? perm : NULL, NUC_LTB_CHANNELS_FIRST);
    struct nuc_lt_op *op = nuc_ltb_op(l->b, NUC_LT_BATCH_MATMUL, (const int32_t[]){x, other}, 2, result.written);
    op->options.batch_matmul.adj_x = nuc_ltb_is_last(l->b, x);
    op->options.batch_matmul.adj_y = nuc_ltb_is_last(l->b, other);
    nuc_ltb_end_result(l->b, &result);
}
