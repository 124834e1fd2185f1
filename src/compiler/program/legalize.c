#include "compiler/program/legalize.h"

#include <string.h>

/*
 * Operators whose kernels in kernels/portable refuse other dim orders of their first argument, or read it as if it were
 * contiguous.
 */
static bool wants_contiguous(enum nuc_op op)
{
    static const enum nuc_op ops[] = {
        NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D,
        NUC_OP_EDGE_AVG_POOL2D,
        NUC_OP_EDGE_MEAN_DIM,
        NUC_OP_EDGE_BATCH_NORM,
        NUC_OP_EDGE_SOFTMAX,
        NUC_OP_EDGE_CONSTANT_PAD,
        NUC_OP_EDGE_PERMUTE,
    };

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (op == ops[i])
            return true;
    }
    return false;
}

static bool same_order(const struct nuc_meta *a, const struct nuc_meta *b)
{
    return a->rank == b->rank && memcmp(a->dim_order, b->dim_order, a->rank) == 0;
}

/* Tensor arguments from the first on that have to be contiguous: an addition wants one dim order for both. */
static uint32_t contiguous_arguments(const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, 0);
    const struct nuc_node *b = nuc_arg_node(node, 1);

    if (node->op == NUC_OP_EDGE_ADD && a != NULL && b != NULL && !same_order(&a->vals[0], &b->vals[0]))
        return 2;
    return wants_contiguous(node->op) ? 1 : 0;
}

/* A copy of `source` in that dim order, in front of `before`. */
static struct nuc_node *add_copy(struct nuc_graph *g, struct nuc_node *source, const uint8_t *dim_order,
                                 struct nuc_node *before)
{
    struct nuc_node *copy = nuc_add_node(g, before, NUC_OP_EDGE_TO_DIM_ORDER_COPY, NULL);
    int index = nuc_schema_arg_index(nuc_op_schema(g->cx, copy->op), "dim_order");
    int64_t order[NUC_MAX_RANK];

    for (uint32_t d = 0; d < source->vals[0].rank; d++)
        order[d] = dim_order[d];
    nuc_set_arg_node(copy, g, 0, source);
    nuc_set_arg_ints(copy, g, (uint32_t)index, order, source->vals[0].rank);
    copy->source = source->source;
    nuc_infer_shape(g, copy);
    return copy;
}

static struct nuc_node *add_contiguous_copy(struct nuc_graph *g, struct nuc_node *source, struct nuc_node *before)
{
    struct nuc_meta contiguous = source->vals[0];

    nuc_set_contiguous(&contiguous);
    return add_copy(g, source, contiguous.dim_order, before);
}

/* Marks what reads `node`, because its meta is another one now. */
static void mark_users(const struct nuc_node *node, bool *stale)
{
    for (uint32_t i = 0; i < node->n_users; i++)
        stale[node->users[i]->id] = true;
}

/*
 * The meta follows from the inputs again. Delegates keep theirs: their payload was made for it. A padded image goes
 * back to its dim order, because a convolution behind it follows its weight's, and its kernel takes one order only.
 */
static void refresh(struct nuc_graph *g, struct nuc_node *node, bool *stale)
{
    struct nuc_meta before = node->vals[0];

    nuc_infer_shape(g, node);
    if (nuc_meta_equal(&before, &node->vals[0]))
        return;
    if (node->op == NUC_OP_EDGE_CONSTANT_PAD) {
        struct nuc_node *back = add_copy(g, node, before.dim_order, node->next);
        nuc_replace_uses(g, node, back, back);
        return;
    }
    mark_users(node, stale);
}

void nuc_legalize_dim_orders(struct nuc_graph *g)
{
    bool *stale = nuc_alloc_array(g->cx, (size_t)g->next_id + 3 * (size_t)g->n_nodes + 1, sizeof *stale);

    for (struct nuc_node *node = g->first; node != NULL; node = node->next) {
        if (!nuc_is_call(node) || node->op == NUC_OP_CALL_DELEGATE)
            continue;
        uint32_t count = contiguous_arguments(node);
        for (uint32_t i = 0; i < count; i++) {
            struct nuc_node *source = nuc_arg_node(node, i);
            if (source == NULL || nuc_is_contiguous(&source->vals[0]))
                continue;
            nuc_set_arg_node(node, g, i, add_contiguous_copy(g, source, node));
            stale[node->id] = true;
        }
        if (stale[node->id])
            refresh(g, node, stale);
    }
}
