/*
 * split(x, sizes, dim) becomes one slice(x, dim, start, end) for each chunk that is read: the NPU has no operator with
 * several results. torch.fx puts each slice right after the split, so that the last chunk comes first in the graph;
 * annotation and numbering follow that order.
 */
#include "ir/args.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

/* Replaces what reads chunk `index`; false when nothing does. */
static bool replace_chunk(struct nuc_graph *g, struct nuc_node *split, uint32_t index, uint32_t dim, int64_t start)
{
    struct nuc_node *value = nuc_operand(g, split, NUC_SELF);
    bool read = false;

    for (uint32_t i = 0; i < split->n_users; i++)
        read |= nuc_is_item(split->users[i], index);
    if (!read)
        return false;
    if (split->n_vals > 1) {
        value = nuc_insert_slice(g, split->next, value, dim, start, start + split->vals[index].sizes[dim]);
        nuc_made_of(value, split);
    }
    return nuc_replace_item(g, split, index, value);
}

static bool to_slices(struct nuc_graph *g, struct nuc_node *split)
{
    uint32_t rank = split->n_vals == 0 ? 0 : split->vals[0].rank;
    int64_t dim = nuc_dim(split, NUC_ARG(SPLIT, dim), 0, rank), start = 0;
    bool changed = false;

    for (uint32_t k = 0; dim >= 0 && dim < rank && k < split->n_vals; k++) {
        changed |= replace_chunk(g, split, k, (uint32_t)dim, start);
        start += split->vals[k].sizes[dim];
    }
    return changed;
}

bool nuc_split_to_slices(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_SPLIT, NUC_OP_SPLIT_SIZES, NUC_OP_SPLIT_WITH_SIZES), to_slices);
}

/* The reference decomposes chunk() later. */
bool nuc_chunk_to_slices(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_CHUNK), to_slices);
}
