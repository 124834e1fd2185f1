/*
 * The graph's values never change, those of torch do when an operator works in place. Such an operator may be written
 * as it is only when no value that shares the memory is read after it, and when the memory belongs to no parameter.
 */

#include "front/pt2/pt2_writer.h"

struct memory {
    const struct nuc_node *owner; /* the value whose memory this one has, or may have, in torch */
    uint32_t made, last_read;     /* positions in the graph */
};

/* Anything that does not compute new values may hand on its input. */
static bool may_alias(const struct nuc_node *node)
{
    enum nuc_op_kind kind = nuc_op_kind(node->op);

    if (!nuc_is_call(node) || node->op == NUC_OP_CLONE)
        return false;
    return kind == NUC_KIND_SHAPE || kind == NUC_KIND_GRAPH || node->in_place;
}

static struct memory *list_memory(struct nuc_graph *g)
{
    struct memory *list = nuc_alloc_array(g->cx, g->next_id, sizeof *list);
    uint32_t position = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next, position++) {
        const struct nuc_node *self = nuc_arg_node(n, NUC_SELF);
        list[n->id].owner = self != NULL && may_alias(n) ? list[self->id].owner : n;
        list[n->id].made = position;
    }
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_users; i++) {
            uint32_t read = list[n->users[i]->id].made;
            if (read > list[n->id].last_read)
                list[n->id].last_read = read;
        }
    }
    return list;
}

static bool is_safe(const struct memory *list, const struct nuc_node *node)
{
    const struct memory *own = &list[node->id];

    if (nuc_is_static(own->owner))
        return false;
    for (const struct nuc_node *n = own->owner; n != node; n = n->next) {
        if (list[n->id].owner == own->owner && list[n->id].last_read > own->made)
            return false;
    }
    return true;
}

const bool *nuc_find_safe_in_place(struct nuc_graph *g)
{
    const struct memory *list = list_memory(g);
    bool *safe = nuc_alloc_array(g->cx, g->next_id, sizeof *safe);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        safe[n->id] = nuc_is_call(n) && n->in_place && is_safe(list, n);
    return safe;
}
