#include "compiler/neutron/lower/lowering.h"

/*
 * torch multiplies [M, N] by weights [N, O], FULLY_CONNECTED wants them as [O, N]. A linear layer's weights come
 * through a permute of their own, so that tidying cancels the two transposes.
 */
static int32_t weights(struct nuc_lowering *l, int32_t w)
{
    static const int32_t swap[2] = {1, 0};

    return nuc_ltb_transpose_before(l->b, w, swap);
}

void nuc_lower_addmm(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t bias = nuc_lower_input(l, node, 0);
    int32_t x = nuc_lower_input(l, node, 1);
    int32_t w = weights(l, nuc_lower_input(l, node, 2));
    struct nuc_lt_op *op =
        nuc_ltb_op(l->b, NUC_LT_FULLY_CONNECTED, (const int32_t[]){x, w, bias}, 3, nuc_lower_output(l, node));

    op->options.fully_connected.keep_num_dims = true;
}

void nuc_lower_mm(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t w = weights(l, nuc_lower_input(l, node, 1));

    nuc_ltb_op(l->b, NUC_LT_FULLY_CONNECTED, (const int32_t[]){x, w}, 2, nuc_lower_output(l, node));
}

/*
 * A channels-first matrix [N, C, L] is [N, L, C] here: the flags of BATCH_MATMUL swap it back, a transpose behind does
 * so for the result.
 */
void nuc_lower_bmm(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t a = nuc_lower_input(l, node, 0);
    int32_t b = nuc_lower_input(l, node, 1);
    int32_t y = nuc_lower_output(l, node);
    int32_t written = y;
    int32_t perm[NUC_MAX_RANK];
    int32_t perm_tensor = -1;

    if (nuc_ltb_is_last(l->b, y)) {
        nuc_perm_to_last(perm, nuc_ltb_at(l->b, y)->rank);
        written = nuc_ltb_prepare_after(l->b, y, perm, &perm_tensor);
        l->b->notes[written].format = NUC_LTB_CHANNELS_FIRST;
    }
    struct nuc_lt_op *op = nuc_ltb_op(l->b, NUC_LT_BATCH_MATMUL, (const int32_t[]){a, b}, 2, written);
    op->options.batch_matmul.adj_x = nuc_ltb_is_last(l->b, a);
    op->options.batch_matmul.adj_y = nuc_ltb_is_last(l->b, b);
    if (perm_tensor >= 0)
        nuc_ltb_transpose_after(l->b, written, perm_tensor, y);
}
