#include "compiler/passes/functionalize.h"

#include "compiler/passes/rewrite.h"

/* Operators whose result may share memory with their input. */
static const bool views[NUC_OP_COUNT] = {
    [NUC_OP_VIEW] = true,
    [NUC_OP_RESHAPE] = true,
    [NUC_OP_FLATTEN] = true,
    [NUC_OP_CONTIGUOUS] = true,
    [NUC_OP_TO_DTYPE_LAYOUT] = true,
    [NUC_OP_DROPOUT] = true,
    [NUC_OP_TO_DTYPE] = true,
    [NUC_OP_PERMUTE] = true,
    [NUC_OP_TRANSPOSE] = true,
    [NUC_OP_T] = true,
    [NUC_OP_SQUEEZE] = true,
    [NUC_OP_SQUEEZE_DIM] = true,
    [NUC_OP_SQUEEZE_DIMS] = true,
    [NUC_OP_UNSQUEEZE] = true,
    [NUC_OP_SLICE] = true,
    [NUC_OP_ALIAS] = true,
    [NUC_OP_SPLIT] = true,
    [NUC_OP_SPLIT_SIZES] = true,
    [NUC_OP_SPLIT_WITH_SIZES] = true,
    [NUC_OP_CHUNK] = true,
    [NUC_OP_GETITEM] = true,
};

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
    while (views[node->op])
        node = nuc_operand(g, node, 0);
    return node;
}

/* Tensors that share memory with the operand, made before the operator, must not be read after it. */
static void check_aliases(struct nuc_graph *g, const struct nuc_node *op, const uint32_t *position)
{
    struct nuc_node *self = nuc_operand(g, op, 0), **aliases = nuc_alloc_array(g->cx, g->n_nodes, sizeof(self));
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
            if (views[user->op] && position[user->id] < position[op->id])
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
        struct nuc_node *self = nuc_operand(g, n, 0);
        check_aliases(g, n, position);
        for (uint32_t i = self->n_users; i > 0; i--) {
            struct nuc_node *user = self->users[i - 1];
            if (position[user->id] > position[n->id])
                nuc_replace_input(g, user, self, n);
        }
    }
}
