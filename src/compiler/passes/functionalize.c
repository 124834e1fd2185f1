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

/*
 * What the operator makes when it does not work in place, in the type of self: of a comparison of floats in place, for
 * example, 1 and 0.
 */
static struct nuc_node *functional_value(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_meta stated = node->vals[0];

    node->in_place = false;
    nuc_infer_shape(g, node);
    if (node->vals[0].dtype == stated.dtype) {
        node->in_place = true;
        node->vals[0] = stated;
        return node;
    }
    struct nuc_node *cast = nuc_insert(g, node->next, NUC_OP_TO_DTYPE, node);
    nuc_set_arg_node(cast, g, NUC_SELF, node);
    nuc_set_arg_dtype(cast, NUC_ARG(TO_DTYPE, dtype), stated.dtype);
    nuc_infer_shape(g, cast);
    nuc_replace_uses(g, node, cast, cast);
    return cast;
}

void nuc_functionalize(struct nuc_graph *g)
{
    uint32_t *position = nuc_alloc_array(g->cx, 2 * (size_t)g->next_id, sizeof *position); /* a cast per node */
    uint32_t count = 0;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        position[n->id] = count++;
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!n->in_place)
            continue;
        struct nuc_node *self = nuc_operand(g, n, NUC_SELF);
        check_aliases(g, n, position);
        struct nuc_node *value = functional_value(g, n);
        position[value->id] = position[n->id];
        for (uint32_t i = self->n_users; i > 0; i--) {
            struct nuc_node *user = self->users[i - 1];
            if (position[user->id] > position[n->id])
                nuc_replace_input(g, user, self, value);
        }
    }
}
