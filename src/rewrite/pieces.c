#include "rewrite/pieces.h"

#include "ir/args.h"
#include "rewrite/insert.h"

bool nuc_is_in_pieces(const struct nuc_node *value, uint32_t dim)
{
    const struct nuc_arg *list = value->op == NUC_OP_CAT ? &value->args[NUC_SELF] : NULL;
    uint32_t rank = value->vals[0].rank;

    if (list == NULL || list->kind != NUC_ARG_NODES || list->count > NUC_MOST_PIECES ||
        nuc_dim(value, NUC_ARG(CAT, dim), 0, rank) != dim)
        return false;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->u.nodes[i]->vals[0].rank != rank)
            return false;
    }
    return true;
}

bool nuc_keeps_pieces(const struct nuc_node *cat)
{
    const struct nuc_arg *list = &cat->args[NUC_SELF];

    for (uint32_t i = 0; i < list->count; i++) {
        if (nuc_is_written(list->u.nodes[i]))
            return false;
    }
    return true;
}

/* What the value is a part of along the dimension, from *start on; itself from 0 on. */
static struct nuc_node *whole_of(struct nuc_node *value, uint32_t dim, int64_t *start)
{
    *start = 0;
    while (value->op == NUC_OP_SLICE && nuc_dim(value, NUC_ARG(SLICE, dim), 0, value->vals[0].rank) == dim &&
           nuc_integer(value, NUC_ARG(SLICE, step), 1) == 1) {
        struct nuc_node *of = nuc_arg_node(value, NUC_SELF);
        if (of == NULL || nuc_is_written(of))
            break;
        *start += nuc_slice_end(nuc_integer(value, NUC_ARG(SLICE, start), 0), of->vals[0].sizes[dim]);
        value = of;
    }
    return value;
}

uint32_t nuc_list_pieces(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *value, uint32_t dim,
                         int64_t start, int64_t end, struct nuc_node **pieces)
{
    int64_t first;
    struct nuc_node *whole = whole_of(value, dim, &first);
    const bool joined = nuc_is_in_pieces(whole, dim);
    uint32_t n = 0;

    start += first;
    end += first;
    for (uint32_t i = 0; i < (joined ? whole->args[NUC_SELF].count : 1) && end > 0; i++) {
        struct nuc_node *part = joined ? whole->args[NUC_SELF].u.nodes[i] : whole;
        int64_t size = part->vals[0].sizes[dim], from = start > 0 ? start : 0, to = end < size ? end : size;
        if (from < to && pieces != NULL) {
            struct nuc_node *of = from > 0 || to < size ? whole_of(part, dim, &first) : part;
            first = of == part ? 0 : first;
            pieces[n] = nuc_insert_part(g, before, of, dim, first + from, first + to);
        }
        n += from < to;
        start -= size;
        end -= size;
    }
    return n;
}

struct nuc_node *nuc_insert_piece(struct nuc_graph *g, struct nuc_node *before, const struct nuc_node *slice,
                                  struct nuc_node *of)
{
    uint32_t dim = (uint32_t)nuc_dim(slice, NUC_ARG(SLICE, dim), 0, of->vals[0].rank);
    int64_t first, size = slice->vals[0].sizes[dim];
    struct nuc_node *piece;

    if (nuc_integer(slice, NUC_ARG(SLICE, step), 1) != 1 ||
        (whole_of(of, dim, &first) == of && !nuc_is_in_pieces(of, dim)))
        return NULL;
    int64_t start = nuc_slice_end(nuc_integer(slice, NUC_ARG(SLICE, start), 0), of->vals[0].sizes[dim]);
    if (nuc_list_pieces(g, before, of, dim, start, start + size, NULL) != 1)
        return NULL;
    nuc_list_pieces(g, before, of, dim, start, start + size, &piece);
    return piece;
}

struct nuc_node *nuc_insert_joined(struct nuc_graph *g, struct nuc_node *before, struct nuc_node **parts,
                                   uint32_t count, uint32_t dim)
{
    return count == 1 ? parts[0] : nuc_insert_cat(g, before, parts, count, dim);
}

struct nuc_node *nuc_insert_written(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *value, uint32_t dim,
                                    int64_t start, struct nuc_node *part)
{
    int64_t size = value->vals[0].sizes[dim], end = start + part->vals[0].sizes[dim];
    struct nuc_node *parts[NUC_MOST_PIECES + 2]; /* one of the old ones may go on behind the new one */
    uint32_t count = nuc_list_pieces(g, before, value, dim, 0, start, parts);

    parts[count++] = part;
    count += nuc_list_pieces(g, before, value, dim, end, size, parts + count);
    return nuc_insert_joined(g, before, parts, count, dim);
}
