#include "compiler/passes/functionalize.h"

#include "compiler/passes/rewrite.h"

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

static struct nuc_node *base_of(struct nuc_graph *g, struct nuc_node *node)
{
    while (is_view(node))
        node = nuc_operand(g, node, NUC_SELF);
    return node;
}

/* Tensors that share memory with the operand, made before the operator, must not be read after it. */
static void check_aliases(struct nuc_graph *g, const struct nuc_node *op, const uint32_t *position)
{
    struct nuc_node *self = nuc_operand(g, op, NUC_SELF), **aliases = nuc_alloc_array(g->cx, g->n_nodes, sizeof(self));
    uint32_t count = 0;

    aliases[count++] = base_of(g, self);
    for (uint32_t i = 0; i < count; i++) {
        struct nuc_node *alias = aliases[i];
        if (alias != self && is_read_after(alias, position, op))
            nuc_fail(g->cx, NUC_UNSUPPORTED,
                     "%s: %s changes '%s' in place, which is read afterwards: use the operator that is not in place",
                     g->file, nuc_node_text(g->cx, op), alias->name);
        for (uint32_t k = 0; k < alias->n_users; k++) {
            struct nuc_node *user = alias->users[k];
            if (is_view(user) && position[user->id] < position[op->id])
                aliases[count++] = user;
        }
    }
}

void nuc_functionalize(struct nuc_graph *g)
{
    uint32_t *position = nuc_alloc_array(g->cx, g->next_id, sizeof *position);
    uint32_t count = 0;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        position[n->id] = count++;
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!n->in_place)
            continue;
        struct nuc_node *self = nuc_operand(g, n, NUC_SELF);
        check_aliases(g, n, position);
        for (uint32_t i = self->n_users; i > 0; i--) {
            struct nuc_node *user = self->users[i - 1];
            if (position[user->id] > position[n->id])
                nuc_replace_input(g, user, self, n);
        }
    }
}
