/*
 * split(x, sizes, dim) becomes one slice(x, dim, start, end) for each chunk that is read: the NPU has no operator with
 * several results. torch.fx puts each slice right behind the split, so that the last chunk comes first in the graph;
 * annotation and numbering follow that order.
 */
#include "compiler/passes/pass_list.h"
#include "compiler/passes/rewrite.h"

enum { SPLIT_INPUT, SPLIT_SIZES, SPLIT_DIM }; /* of all three operators */

static bool is_split(enum nuc_op op)
{
    return op == NUC_OP_SPLIT || op == NUC_OP_SPLIT_SIZES || op == NUC_OP_SPLIT_WITH_SIZES;
}

static struct nuc_node *nuc_insert_slice(struct nuc_graph *g, struct nuc_node *split, uint32_t dim, int64_t start,
                                         const struct nuc_meta *chunk)
{
    struct nuc_node *slice = nuc_insert_aten(g, split->next, NUC_OP_SLICE, split);

    nuc_set_arg_node(slice, g, 0, nuc_operand(g, split, SPLIT_INPUT));
    nuc_set_arg_int(slice, 1, dim);
    nuc_set_arg_int(slice, 2, start);
    nuc_set_arg_int(slice, 3, start + chunk->sizes[dim]);
    nuc_set_val(g, slice, chunk);
    return slice;
}

/* Replaces what reads chunk `index`; false when nothing does. */
static bool replace_chunk(struct nuc_graph *g, struct nuc_node *split, uint32_t index, uint32_t dim, int64_t start)
{
    struct nuc_node *value = split->n_vals == 1 ? nuc_operand(g, split, SPLIT_INPUT) : NULL;
    bool read = false;

    for (uint32_t i = split->n_users; i > 0; i--) {
        struct nuc_node *item = split->users[i - 1];
        if (item->op != NUC_OP_GETITEM || item->args[1].kind != NUC_ARG_INT || item->args[1].u.i != (int64_t)index)
            continue;
        if (value == NULL)
            value = nuc_insert_slice(g, split, dim, start, &split->vals[index]);
        nuc_replace_uses(g, item, value, NULL);
        nuc_remove_node(g, item);
        read = true;
    }
    return read;
}

bool nuc_split_to_slices(struct nuc_graph *g)
{
    uint32_t count;
    struct nuc_node **splits = nuc_collect(g, is_split, &count);
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *split = splits[i];
        const struct nuc_arg *dim = &split->args[SPLIT_DIM];
        int64_t rank = split->n_vals == 0 ? 0 : split->vals[0].rank, d = dim->kind == NUC_ARG_INT ? dim->u.i : 0;
        int64_t start = 0;
        d += d < 0 ? rank : 0;
        if (d < 0 || d >= rank)
            continue;
        for (uint32_t k = 0; k < split->n_vals; k++) {
            changed |= replace_chunk(g, split, k, (uint32_t)d, start);
            start += split->vals[k].sizes[d];
        }
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
