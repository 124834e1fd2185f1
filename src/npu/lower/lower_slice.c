#include <string.h>

#include "ir/args.h"
#include "npu/lower/lowering.h"
#include "npu/target/target.h"

void nuc_lower_append_slice(struct nuc_lowering *l, int32_t input, const int32_t *begin, int32_t output)
{
    uint32_t rank = nuc_ltb_at(l->b, output)->rank;
    int32_t size[NUC_MAX_RANK];

    memcpy(size, nuc_ltb_at(l->b, output)->shape, sizeof size);
    int32_t begin_tensor = nuc_ltb_list(l->b, "begin", begin, rank);
    int32_t size_tensor = nuc_ltb_list(l->b, "size", size, rank);
    nuc_ltb_op(l->b, NUC_LT_SLICE, (const int32_t[]){input, begin_tensor, size_tensor}, 3, output);
}

/*
 * Rule set sdk-3.1 slices the last axis alone: another one changes places with it before and after. Its support rules
 * see to it that the NPU has both transposes.
 */
static void slice_swapped(struct nuc_lowering *l, int32_t x, const int32_t *begin, int32_t axis, int32_t y)
{
    uint32_t rank = nuc_ltb_at(l->b, x)->rank;
    int32_t swap[NUC_MAX_RANK], swapped[NUC_MAX_RANK];

    nuc_perm_identity(swap, rank);
    swap[axis] = (int32_t)rank - 1;
    swap[rank - 1] = axis;
    nuc_perm_apply(swapped, begin, swap, rank);
    x = nuc_ltb_transpose_before(l->b, x, swap, NUC_LTB_BETWEEN);
    struct nuc_ltb_result result = nuc_ltb_begin_result(l->b, y, swap, NUC_LTB_BETWEEN);
    nuc_lower_append_slice(l, x, swapped, result.written);
    nuc_ltb_end_result(l->b, &result);
}

/* A contiguous part of one dimension; start counts from the end when negative, and is clipped to the tensor. */
void nuc_lower_slice(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(l->b, x);
    int32_t axis = nuc_lower_axis(l, node, NUC_ARG(SLICE, dim), x), size = t->shape[axis], begin[NUC_MAX_RANK] = {0};
    bool last = axis == (int32_t)t->rank - 1;

    if (nuc_integer(node, NUC_ARG(SLICE, step), 1) != 1)
        nuc_lower_refuse(l, node, "its step is not 1");
    int64_t start = nuc_integer(node, NUC_ARG(SLICE, start), 0);
    start = start < 0 ? start + size : start;
    begin[axis] = (int32_t)(start < 0 ? 0 : start > size ? size : start);
    if (l->options.flavor->rules == NUC_RULES_SDK_3_1 && !last)
        slice_swapped(l, x, begin, axis, y);
    else
        nuc_lower_append_slice(l, x, begin, y);
}

void nuc_lower_cat(struct nuc_lowering *l, const struct nuc_node *node, int32_t x, int32_t y)
{
    const struct nuc_arg *list = nuc_arg_at(node, NUC_ARG(CAT, tensors));
    int32_t axis = nuc_lower_axis(l, node, NUC_ARG(CAT, dim), y);
    int32_t *operands = nuc_alloc_array(l->cx, list->count, sizeof *operands);

    (void)x;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->u.nodes[i] == NULL)
            nuc_lower_refuse(l, node, "an operand is left out");
        operands[i] = nuc_lower_output(l, list->u.nodes[i]);
    }
    nuc_ltb_op(l->b, NUC_LT_CONCATENATION, operands, list->count, y)->options.concat.axis = axis;
}
