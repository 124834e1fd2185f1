#include <string.h>

#include "compiler/neutron/lower/lowering.h"
#include "compiler/target/target.h"

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
    int32_t perm_tensor = -1;

    for (uint32_t i = 0; i < rank; i++)
        swap[i] = (int32_t)i;
    swap[axis] = (int32_t)rank - 1;
    swap[rank - 1] = axis;
    nuc_perm_apply(swapped, begin, swap, rank);
    x = nuc_ltb_transpose_before(l->b, x, swap);
    l->b->notes[x].format = NUC_LTB_BETWEEN;
    int32_t written = nuc_ltb_prepare_after(l->b, y, swap, &perm_tensor);
    l->b->notes[written].format = NUC_LTB_BETWEEN;
    nuc_lower_append_slice(l, x, swapped, written);
    nuc_ltb_transpose_after(l->b, written, perm_tensor, y);
}

/* A contiguous part of one dimension; start counts from the end when negative, and is clipped to the tensor. */
void nuc_lower_slice(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t y = nuc_lower_output(l, node);
    int32_t axis = nuc_lower_axis(l, node, 1, x);
    int64_t size = nuc_ltb_at(l->b, x)->shape[axis];
    int64_t start = node->args[2].kind == NUC_ARG_INT ? node->args[2].u.i : 0;
    int32_t begin[NUC_MAX_RANK] = {0};

    if (node->args[4].kind == NUC_ARG_INT && node->args[4].u.i != 1)
        nuc_lower_refuse(l, node, "its step is not 1");
    start = start < 0 ? start + size : start;
    begin[axis] = (int32_t)(start < 0 ? 0 : start > size ? size : start);
    if (l->options.flavor->rules == NUC_RULES_SDK_3_1 && axis != (int32_t)nuc_ltb_at(l->b, x)->rank - 1)
        slice_swapped(l, x, begin, axis, y);
    else
        nuc_lower_append_slice(l, x, begin, y);
}

void nuc_lower_cat(struct nuc_lowering *l, const struct nuc_node *node)
{
    const struct nuc_arg *list = &node->args[0];
    int32_t y = nuc_lower_output(l, node);
    int32_t axis = nuc_lower_axis(l, node, 1, y);
    int32_t *operands = nuc_alloc_array(l->cx, list->count, sizeof *operands);

    for (uint32_t i = 0; i < list->count; i++) {
        if (list->u.nodes[i] == NULL)
            nuc_lower_refuse(l, node, "an operand is left out");
        operands[i] = nuc_lower_output(l, list->u.nodes[i]);
    }
    nuc_ltb_op(l->b, NUC_LT_CONCATENATION, operands, list->count, y)->options.concat.axis = axis;
}
