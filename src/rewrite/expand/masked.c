/*
 * x[mask] of a model that computes with each of the chosen elements and writes them back under the same mask: all
 * elements are computed, of which the mask chooses at the end. The shape rule of `index` has all of them, in the
 * dimensions of x, so that what is computed is read by the choice as in torch.where().
 */

#include "ir/shapes/shapes.h"
#include "rewrite/expand/expand.h"
#include "rewrite/formula/formula.h"
#include "rewrite/recognize/written.h"

static const struct nuc_node *mask_in(const struct nuc_node *node, uint32_t arg)
{
    const struct nuc_arg *indices = nuc_arg_at(node, arg);
    const struct nuc_node *first = indices->kind == NUC_ARG_NODES && indices->count > 0 ? indices->u.nodes[0] : NULL;

    return first != NULL && first->vals[0].dtype == NUC_BOOL ? first : NULL;
}

#define MOST_OPERATORS 4 /* of a mask that is written twice, one behind the other */

/* Written twice, as in y[y < 0] = f(y[y < 0]), it is one mask unless something is written in between. */
static bool is_same_mask(struct nuc_graph *g, const struct nuc_node *a, const struct nuc_node *b, int depth)
{
    if (nuc_is_same_number(g, a, b))
        return true;
    if (depth == 0 || !nuc_is_call(a) || a->op != b->op || a->n_args != b->n_args)
        return false;
    for (uint32_t i = 0; i < a->n_args; i++) {
        const struct nuc_node *x = nuc_arg_node(a, i), *y = nuc_arg_node(b, i);
        if (x != NULL && y != NULL ? !is_same_mask(g, x, y, depth - 1) : !nuc_same_value(&a->args[i], &b->args[i]))
            return false;
    }
    const struct nuc_node *n = a;
    while (n != NULL && n != b && !n->in_place)
        n = n->next;
    return n == b && !b->in_place;
}

/* The operand is the same for all elements that the mask chooses from. */
static bool is_broadcast(const struct nuc_node *operand, const struct nuc_node *chosen)
{
    const struct nuc_meta *m = &operand->vals[0];
    const struct nuc_node *mask = nuc_arg_at(chosen, NUC_ARG(INDEX, indices))->u.nodes[0];
    const uint32_t behind = chosen->vals[0].rank - mask->vals[0].rank;

    for (uint32_t d = 0; d + behind < m->rank; d++) {
        if (m->sizes[d] != 1)
            return false;
    }
    return true;
}

static bool computes_each(const struct nuc_node *node)
{
    enum nuc_family family = nuc_op_family(node->op);

    return family == NUC_FAMILY_MAP || family == NUC_FAMILY_BINARY || family == NUC_FAMILY_COMPARE ||
           family == NUC_FAMILY_CAST || family == NUC_FAMILY_COPY || node->op == NUC_OP_WHERE;
}

/* Whether it computes with elements that `chosen` chooses alone, or writes them where they come from. */
static bool takes_chosen(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *chosen,
                         const struct nuc_node *const *by)
{
    const struct nuc_node *mask = mask_in(chosen, NUC_ARG(INDEX, indices));
    struct nuc_node *inputs[NUC_MAX_RANK];
    uint32_t count = nuc_inputs(node, inputs, NUC_MAX_RANK);

    if (node->op == NUC_OP_INDEX_PUT) {
        const struct nuc_node *where = mask_in(node, NUC_ARG(INDEX_PUT, indices));
        const struct nuc_node *self = nuc_arg_node(node, NUC_SELF);
        return where != NULL && is_same_mask(g, mask, where, MOST_OPERATORS) && self != NULL && by[self->id] == NULL &&
               nuc_arg_at(node, NUC_ARG(INDEX_PUT, indices))->count == 1;
    }
    if (!computes_each(node) || count > NUC_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct nuc_node *other = by[inputs[i]->id];
        bool same = other != NULL && is_same_mask(g, mask_in(other, NUC_ARG(INDEX, indices)), mask, MOST_OPERATORS);
        if (!same && (other != NULL || !is_broadcast(inputs[i], chosen)))
            return false;
    }
    return true;
}

void nuc_check_masked(struct nuc_graph *g)
{
    const struct nuc_node **by = NULL; /* by node id: the index that chose its elements */

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *chosen = NULL;
        struct nuc_cursor at = {0, 0};
        bool chooses = n->op == NUC_OP_INDEX && mask_in(n, NUC_ARG(INDEX, indices)) != NULL;
        if (chooses && by == NULL)
            by = nuc_alloc_array(g->cx, g->next_id, sizeof *by);
        if (by == NULL)
            continue;
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL && chosen == NULL;
             in = nuc_next_input(n, &at))
            chosen = by[in->id];
        if (chosen != NULL && !takes_chosen(g, n, chosen, by))
            nuc_expand_fail(g, chosen, NUC_INDEX_IS_MASK);
        if (chooses && chosen == NULL)
            chosen = n;
        by[n->id] = n->op == NUC_OP_INDEX_PUT ? NULL : chosen;
    }
}
