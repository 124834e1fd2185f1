/*
 * Values that are written part by part, as decomposed archives have it: slice_scatter, and what select_scatter was, a
 * choice by the places of a dimension. They become the concatenations that writes to views are in other archives.
 */
#include <string.h>

#include "ir/args.h"
#include "rewrite/insert.h"
#include "rewrite/known.h"
#include "rewrite/pass_list.h"
#include "rewrite/pieces.h"
#include "rewrite/recognize/written.h"

static bool write_slice(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *into = nuc_operand(g, node, NUC_SELF), *part = nuc_operand(g, node, NUC_ARG(SLICE_SCATTER, src));
    const struct nuc_meta m = node->vals[0];
    uint32_t dim = (uint32_t)nuc_dim(node, NUC_ARG(SLICE_SCATTER, dim), 0, m.rank), old_ids = g->next_id;
    int64_t start = nuc_slice_end(nuc_integer(node, NUC_ARG(SLICE_SCATTER, start), 0), m.sizes[dim]);

    if (nuc_elements(&part->vals[0]) == 0 || part->vals[0].dtype != m.dtype || into->vals[0].dtype != m.dtype ||
        (nuc_integer(node, NUC_ARG(SLICE_SCATTER, step), 1) != 1 && part->vals[0].sizes[dim] != 1))
        return false;
    nuc_take_place(g, node, old_ids, nuc_insert_written(g, node, into, dim, start, part));
    return true;
}

/* The one dimension of the sizes `m` that the value varies along; m->rank: there is none, or several. */
static uint32_t dim_of(const struct nuc_meta *value, const struct nuc_meta *m)
{
    uint32_t dim = m->rank;

    for (uint32_t d = 0; d < value->rank; d++) {
        if (value->sizes[d] == 1)
            continue;
        if (dim != m->rank)
            return m->rank;
        dim = m->rank - value->rank + d;
    }
    return dim;
}

/* Places [*from, *to), and no others, are true. */
static bool is_run(const bool *flags, int64_t count, int64_t *from, int64_t *to)
{
    *from = 0;
    while (*from < count && !flags[*from])
        ++*from;
    *to = *from;
    while (*to < count && flags[*to])
        ++*to;
    return *to > *from && (*to == count || memchr(flags + *to, true, (size_t)(count - *to)) == NULL);
}

/* where(places, x, y), places being known ones next to each other along a dimension that x is repeated along. */
static bool write_places(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *places = nuc_operand(g, node, NUC_ARG(WHERE, condition));
    struct nuc_node *part = nuc_behind_expand(nuc_arg_node(node, NUC_ARG(WHERE, self)));
    struct nuc_node *into = nuc_arg_node(node, NUC_ARG(WHERE, other));
    struct nuc_meta m = node->vals[0];
    uint32_t dim = dim_of(&places->vals[0], &m), old_ids = g->next_id;
    int64_t from, to;

    if (part == NULL || into == NULL || part->vals[0].dtype != m.dtype || into->vals[0].dtype != m.dtype ||
        dim == m.rank || nuc_elements(&places->vals[0]) != m.sizes[dim] || part->vals[0].rank != m.rank ||
        part->vals[0].sizes[dim] != 1)
        return false;
    const bool *flags = nuc_known_value(g, places);
    if (flags == NULL || !is_run(flags, m.sizes[dim], &from, &to))
        return false;
    into = nuc_insert_expanded(g, node, into, m.sizes, m.rank);
    m.sizes[dim] = to - from;
    part = nuc_insert_expanded(g, node, part, m.sizes, m.rank);
    nuc_take_place(g, node, old_ids, nuc_insert_written(g, node, into, dim, from, part));
    return true;
}

static bool read_piece(struct nuc_graph *g, struct nuc_node *slice)
{
    uint32_t old_ids = g->next_id;
    struct nuc_node *piece =
        nuc_feeds_output(slice) ? NULL : nuc_insert_piece(g, slice, slice, nuc_operand(g, slice, NUC_SELF));

    if (piece != NULL)
        nuc_take_place(g, slice, old_ids, piece);
    return piece != NULL;
}

static bool write_part(struct nuc_graph *g, struct nuc_node *node)
{
    return node->op == NUC_OP_SLICE   ? read_piece(g, node)
           : node->op == NUC_OP_WHERE ? write_places(g, node)
                                      : write_slice(g, node);
}

/* Of a graph with operators in place, which may have made other values of parts. */
static bool write_kept_part(struct nuc_graph *g, struct nuc_node *node)
{
    const struct nuc_node *into = nuc_arg_node(node, node->op == NUC_OP_WHERE ? NUC_ARG(WHERE, other) : NUC_SELF);

    while (into != NULL && into->op == NUC_OP_SLICE) /* pieces are looked for behind slices */
        into = nuc_arg_node(into, NUC_SELF);
    return into != NULL && (into->op != NUC_OP_CAT || nuc_keeps_pieces(into)) && write_part(g, node);
}

bool nuc_written_parts(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_SLICE_SCATTER, NUC_OP_WHERE, NUC_OP_SLICE),
                            nuc_has_in_place(g) ? write_kept_part : write_part);
}
