#include <string.h>

#include "npu/arrange/tidy.h"

/* The one operator that reads a tensor which is not an output of the model, or -1. */
static int32_t only_reader(const struct nuc_ltb *b, const struct nuc_lt_uses *u, int32_t tensor)
{
    if (u->first[tensor + 1] - u->first[tensor] != 1 || nuc_ltb_is_output(b, tensor))
        return -1;
    return (int32_t)u->reader[u->first[tensor]];
}

/* TRANSPOSE x -> y from channels-last to channels-first. */
static bool is_boundary_transpose(const struct nuc_ltb *b, const struct nuc_lt_op *op)
{
    const int32_t *perm = nuc_ltb_perm_of(b, op);
    int32_t expected[NUC_MAX_RANK];

    if (perm == NULL || !nuc_ltb_is_last(b, op->inputs[0]) ||
        nuc_ltb_format(b, op->outputs[0]) != NUC_LTB_CHANNELS_FIRST)
        return false;
    uint32_t rank = nuc_ltb_at(b, op->inputs[0])->rank;
    nuc_perm_to_first(expected, rank);
    return memcmp(perm, expected, rank * sizeof *perm) == 0;
}

/* FULLY_CONNECTED of the rank-2 tensor z with constant weights [O, C*H*W]. */
static bool fits(const struct nuc_ltb *b, const struct nuc_lt_op *op, int32_t y, int32_t z)
{
    const struct nuc_lt_tensor *flat = nuc_ltb_at(b, z);

    if (op->code != NUC_LT_FULLY_CONNECTED || op->inputs[0] != z || flat->rank != 2 ||
        nuc_ltb_format(b, z) != NUC_LTB_FORMATLESS || flat->shape[0] != nuc_ltb_at(b, y)->shape[0])
        return false;
    const struct nuc_lt_tensor *w = nuc_ltb_at(b, op->inputs[1]);
    return w->data.data != NULL && w->rank == 2 && w->shape[1] == flat->shape[1];
}

bool nuc_tidy_permute_weights(struct nuc_ltb *b)
{
    uint32_t n_ops = nuc_ltb_graph(b)->n_ops;
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(b->cx);
    bool *drop = nuc_alloc_array(b->cx, n_ops, sizeof *drop);
    struct nuc_lt_uses u = nuc_lt_uses(b->cx, nuc_ltb_graph(b));

    nuc_leave_sub_arena(b->cx, sub);
    for (uint32_t i = 0; i < n_ops; i++) {
        struct nuc_lt_op *ops = nuc_ltb_graph(b)->ops;
        if (!is_boundary_transpose(b, &ops[i]))
            continue;
        int32_t y = ops[i].outputs[0];
        int32_t reshape = only_reader(b, &u, y);
        if (reshape < 0 || ops[reshape].code != NUC_LT_RESHAPE || ops[reshape].inputs[0] != y)
            continue;
        int32_t z = ops[reshape].outputs[0];
        int32_t reader = only_reader(b, &u, z);
        if (reader < 0 || !fits(b, &ops[reader], y, z))
            continue;
        /* [O, C*H*W] seen as [O, C, H, W] and moved to [O, H, W, C]; y is [N, C, H, W]. A copy: others may read the
         * weights. */
        int32_t shape[NUC_MAX_RANK], perm[NUC_MAX_RANK];
        uint32_t rank = nuc_ltb_at(b, y)->rank;
        memcpy(shape, nuc_ltb_at(b, y)->shape, sizeof shape);
        shape[0] = nuc_ltb_at(b, ops[reader].inputs[1])->shape[0];
        nuc_perm_to_last(perm, rank);
        ops[reader].inputs[1] = nuc_ltb_permuted_constant(b, ops[reader].inputs[1], "", shape, rank, perm);
        ops[reshape].inputs[0] = ops[i].inputs[0];
        drop[i] = true;
    }
    bool dropped = nuc_ltb_drop_ops(b, drop);
    nuc_free_sub_arena(sub);
    return dropped;
}
