#include "ir/args.h"
#include "npu/lower/lowering.h"

/* The reductions' arguments have the same places. */
#define ARG(name) NUC_ARG(MEAN_DIM, name)

/* Axes of the graph's tensor, not negative; None and an empty list mean all. Returns how many. */
static uint32_t reduced_axes(const struct nuc_lowering *l, const struct nuc_node *node, uint32_t rank, int32_t *axes)
{
    const struct nuc_arg *dim = nuc_arg_at(node, ARG(dim));
    uint32_t count = dim->kind == NUC_ARG_INTS ? dim->count : dim->kind == NUC_ARG_INT ? 1 : 0;

    if (count > NUC_MAX_RANK)
        nuc_lower_refuse(l, node, "more dimensions are reduced than there are");
    for (uint32_t i = 0; i < count; i++) {
        axes[i] = (int32_t)nuc_positive_dim(dim->kind == NUC_ARG_INTS ? dim->u.ints[i] : dim->u.i, rank);
        if (axes[i] < 0 || axes[i] >= (int64_t)rank)
            nuc_lower_refuse(l, node, "a dimension outside the tensor is reduced");
    }
    for (uint32_t i = 0; count == 0 && i < rank; i++)
        axes[i] = (int32_t)i;
    return count == 0 ? rank : count;
}

/* The reference gives a sum over everything the axes as they are: their order does not matter. */
static bool sums_all(const struct nuc_node *node)
{
    const struct nuc_arg *dim = nuc_arg_at(node, ARG(dim));

    return node->op == NUC_OP_SUM_DIM && (dim->kind == NUC_ARG_NONE || dim->count == 0);
}

/* What is left has the same order in both formats: channels are gone, or all dimensions after them are. */
static bool order_is_kept(const int32_t *axes, uint32_t count, uint32_t rank)
{
    if (nuc_lt_contains(axes, count, 1))
        return true;
    for (uint32_t i = 2; i < rank; i++) {
        if (!nuc_lt_contains(axes, count, (int32_t)i))
            return false;
    }
    return true;
}

/* A reduction that drops dimensions may have different formats on its sides: transposes go where they meet. */
void nuc_lower_reduction(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    bool keep_dims = nuc_flag(node, ARG(keepdim)), last_in = nuc_ltb_is_last(l->b, x);
    bool last_out = nuc_ltb_is_last(l->b, y);
    uint32_t rank = nuc_ltb_at(l->b, x)->rank;
    int32_t axes[NUC_MAX_RANK], to_first[NUC_MAX_RANK], to_last[NUC_MAX_RANK];
    uint32_t count = reduced_axes(l, node, rank, axes);

    if (keep_dims && last_in != last_out)
        nuc_lower_refuse(l, node, "input and output have different formats");
    nuc_perm_to_first(to_first, rank);
    nuc_perm_to_last(to_last, nuc_ltb_at(l->b, y)->rank);
    if (last_in && (keep_dims || (!last_out && order_is_kept(axes, count, rank)))) {
        /* The position in [N, ..., C] of each dimension of [N, C, ...]. */
        for (uint32_t i = 0; i < count && !sums_all(node); i++)
            axes[i] = to_first[axes[i]];
    } else if (last_in) {
        x = nuc_ltb_transpose_before(l->b, x, to_first, NUC_LTB_CHANNELS_FIRST);
    }
    struct nuc_ltb_result result =
        nuc_ltb_begin_result(l->b, y, last_out && !keep_dims ? to_last : NULL, NUC_LTB_CHANNELS_FIRST);
    int32_t axes_tensor = nuc_ltb_list(l->b, "axes", axes, count);
    struct nuc_lt_op *op = nuc_ltb_op(l->b, l->code, (const int32_t[]){x, axes_tensor}, 2, result.written);
    op->options.reduce.keep_dims = keep_dims;
    nuc_ltb_end_result(l->b, &result);
}
