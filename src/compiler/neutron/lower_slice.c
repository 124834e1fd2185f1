#include <string.h>

#include "compiler/neutron/lowering.h"

void nuc_lower_append_slice(struct nuc_lowering *l, int32_t input, const int32_t *begin, int32_t output)
{
    uint32_t rank = nuc_draft_at(l->draft, output)->rank;
    int32_t size[NUC_MAX_RANK];

    memcpy(size, nuc_draft_at(l->draft, output)->shape, sizeof size);
    int32_t begin_tensor = nuc_draft_list(l->draft, "begin", begin, rank);
    int32_t size_tensor = nuc_draft_list(l->draft, "size", size, rank);
    nuc_draft_op(l->draft, NUC_LT_SLICE, (const int32_t[]){input, begin_tensor, size_tensor}, 3, output);
}

/* A contiguous part of one dimension; start counts from the end when negative, and is clipped to the tensor. */
void nuc_lower_slice(struct nuc_lowering *l, const struct nuc_node *node)
{
    int32_t x = nuc_lower_input(l, node, 0);
    int32_t y = nuc_lower_output(l, node);
    int32_t axis = nuc_lower_axis(l, node, 1, x);
    int64_t size = nuc_draft_at(l->draft, x)->shape[axis];
    int64_t start = node->args[2].kind == NUC_ARG_INT ? node->args[2].u.i : 0;
    int32_t begin[NUC_MAX_RANK] = {0};

    if (node->args[4].kind == NUC_ARG_INT && node->args[4].u.i != 1)
        nuc_lower_refuse(l, node, "its step is not 1");
    start = start < 0 ? start + size : start;
    begin[axis] = (int32_t)(start < 0 ? 0 : start > size ? size : start);
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
    nuc_draft_op(l->draft, NUC_LT_CONCATENATION, operands, list->count, y)->options.concat.axis = axis;
}
