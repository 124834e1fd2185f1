#include "rewrite/to_edge/functionalize.h"

#include "rewrite/rewrite.h"

/* Whether the result may share memory with the input; an item does with its tuple. */
static bool is_view(const struct nuc_node *node)
{
    return node->op == NUC_OP_GETITEM || (nuc_op_kind(node->op) == NUC_KIND_SHAPE && node->op != NUC_OP_CLONE &&
                                          node->op != NUC_OP_ASSERT_TENSOR_METADATA);
}

static bool is_read_after(const struct nuc_node *node, const uint32_t *position, const struct nuc_node *after)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (position[node->users[i]->id] > position[after->id])
            return true;
    }
    return false;
}

/*
 * A tensor that shares memory with the operand and was made before the operator, but is read after it; NULL: there is
 * none. The operand itself counts where `with_operand`.
 */
static const struct nuc_node *read_alias(struct nuc_graph *g, const struct nuc_node *op, const uint32_t *position,
                                         bool with_operand)
{
    struct nuc_node *self = nuc_operand(g, op, NUC_SELF), **aliases = nuc_alloc_array(g->cx, g->n_nodes, sizeof(self));
    uint32_t count = 0;

    struct nuc_node *node = self;
    while (is_view(node))
        node = nuc_operand(g, node, NUC_SELF);
    aliases[count++] = node;
    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *alias = aliases[i];
        if ((alias != self || with_operand) && is_read_after(alias, position, op))
            return alias;
        for (uint32_t k = 0; k < alias->n_users; k++) {
            struct nuc_node *user = alias->users[k];
            if (is_view(user) && position[user->id] < position[op->id])
                aliases[count++] = user;
        }
    }
    return NULL;
}

static uint32_t *positions(struct nuc_graph *g)
{
    uint32_t *position = nuc_alloc_array(g->cx, g->next_id, sizeof *position);
    uint32_t count = 0;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        position[n->id] = count++;
    return position;
}

void nuc_keep_in_place(struct nuc_graph *g)
{
    const uint32_t *position = positions(g);

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!n->in_place || read_alias(g, n, position, true) == NULL)
            continue;
        n->in_place = false;
        nuc_infer_shape(g, n);
    }
}

void nuc_functionalize(struct nuc_graph *g)
{
    const uint32_t *position = positions(g);

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!n->in_place)
            continue;
        struct nuc_node *self = nuc_operand(g, n, NUC_SELF);
        const struct nuc_node *alias = read_alias(g, n, position, false);
        if (alias != NULL)
            nuc_fail(g->cx, NUC_UNSUPPORTED,
                     "%s: %s changes '%s' in place, which is read afterwards: use the operator that is not in place",
                     g->file, nuc_node_text(g->cx, n), alias->name);
        for (uint32_t i = self->n_users; i > 0; i--) {
            struct nuc_node *user = self->users[i - 1];
            if (position[user->id] > position[n->id])
                nuc_replace_input(g, user, self, n);
        }
    }
}
