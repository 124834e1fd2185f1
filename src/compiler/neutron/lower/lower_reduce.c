#include "compiler/neutron/lower/lowering.h"

/* Axes of the graph's tensor, not negative; None and an empty list mean all. Returns how many. */
static uint32_t reduced_axes(const struct nuc_lowering *l, const struct nuc_node *node, uint32_t rank, int32_t *axes)
{
    const struct nuc_arg *dim = &node->args[1];
    uint32_t count = dim->kind == NUC_ARG_INTS ? dim->count : dim->kind == NUC_ARG_INT ? 1 : 0;

    if (count > NUC_MAX_RANK)
        nuc_lower_refuse(l, node, "more dimensions are reduced than there are");
    for (uint32_t i = 0; i < count; i++) {
        int64_t axis = dim->kind == NUC_ARG_INTS ? dim->u.ints[i] : dim->u.i;
        axes[i] = (int32_t)(axis < 0 ? axis + rank : axis);
        if (axes[i] < 0 || axes[i] >= (int64_t)rank)
            nuc_lower_refuse(l, node, "a dimension outside the tensor is reduced");
    }
    if (count != 0)
        return count;
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = (int32_t)i;
    return rank;
}

/* The reference gives a sum over everything the axes as they are: their order does not matter. */
static bool sums_all(const struct nuc_node *node)
{
    return node->op == NUC_OP_SUM_DIM && (node->args[1].kind == NUC_ARG_NONE || node->args[1].count == 0);
}

static bool contains(const int32_t *axes, uint32_t count, int32_t axis)
{
    for (uint32_t i = 0; i < count; i++) {
        if (axes[i] == axis)
            return true;
    }
    return false;
}

static void axes_to_last(int32_t *axes, uint32_t count, uint32_t rank)
{
    int32_t perm[NUC_MAX_RANK];

    nuc_perm_to_first(perm, rank); /* position in [N, ..., C] of each dimension of [N, C, ...] */
    for (uint32_t i = 0; i < count; i++)
        axes[i] = perm[axes[i]];
}

/* What is left has the same order in both formats: channels are gone, or all dimensions behind them are. */
static bool order_is_kept(const int32_t *axes, uint32_t count, uint32_t rank)
{
    if (contains(axes, count, 1))
        return true;
    for (uint32_t i = 2; i < rank; i++) {
        if (!contains(axes, count, (int32_t)i))
            return false;
    }
    return true;
}

/* A reduction that drops dimensions may have different formats on its sides: transposes go where they meet. */
void nuc_lower_reduction(struct nuc_lowering *l, const struct nuc_node *node)
{
    bool keep_dims = node->args[2].kind == NUC_ARG_BOOL && node->args[2].u.b;
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t y = nuc_lower_output(l, node);
    uint32_t rank = nuc_ltb_at(l->b, x)->rank;
    int32_t axes[NUC_MAX_RANK], perm[NUC_MAX_RANK];
    uint32_t count = reduced_axes(l, node, rank, axes);
    bool last_in = nuc_ltb_is_last(l->b, x);
    bool last_out = nuc_ltb_is_last(l->b, y);
    int32_t written = y;
    int32_t perm_tensor = -1;

    if (keep_dims && last_in != last_out)
        nuc_lower_refuse(l, node, "input and output have different formats");
    if (last_in && (keep_dims || (!last_out && order_is_kept(axes, count, rank)))) {
        if (!sums_all(node))
            axes_to_last(axes, count, rank);
    } else if (last_in) {
        nuc_perm_to_first(perm, rank);
        x = nuc_ltb_transpose_before(l->b, x, perm);
        l->b->notes[x].format = NUC_LTB_CHANNELS_FIRST;
    }
    if (last_out && !keep_dims) {
        nuc_perm_to_last(perm, nuc_ltb_at(l->b, y)->rank);
        written = nuc_ltb_prepare_after(l->b, y, perm, &perm_tensor);
        l->b->notes[written].format = NUC_LTB_CHANNELS_FIRST;
    }
    int32_t axes_tensor = nuc_ltb_list(l->b, "axes", axes, count);
    struct nuc_lt_op *op = nuc_ltb_op(l->b, nuc_lower_code(node), (const int32_t[]){x, axes_tensor}, 2, written);
    op->options.reduce.keep_dims = keep_dims;
    if (perm_tensor >= 0)
        nuc_ltb_transpose_after(l->b, written, perm_tensor, y);
}
