#include "compiler/program/sink.h"

struct inputs {
    const bool *constant; /* by node id */
    bool all_constant;
};

static void check_input(void *user, struct nuc_node *input)
{
    struct inputs *inputs = user;

    inputs->all_constant = inputs->all_constant && (nuc_is_static(input) || inputs->constant[input->id]);
}

static bool reads(const struct nuc_node *user, const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i] == user)
            return true;
    }
    return false;
}

static struct nuc_node *first_user(const struct nuc_node *node)
{
    struct nuc_node *after = node->next;

    while (after != NULL && !reads(after, node))
        after = after->next;
    return after;
}

void nuc_sink_constant_operators(struct nuc_graph *g)
{
    bool *constant = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *constant);

    for (const struct nuc_node *node = g->first; node != NULL; node = node->next) {
        struct inputs inputs = {constant, nuc_is_call(node) && node->op != NUC_OP_CALL_DELEGATE};
        if (inputs.all_constant)
            nuc_for_each_input(node, check_input, &inputs);
        constant[node->id] = inputs.all_constant;
    }
    /* From the back: the users of a node are where they stay when it is its turn. */
    for (struct nuc_node *node = g->last, *before; node != NULL; node = before) {
        before = node->prev;
        struct nuc_node *user = constant[node->id] ? first_user(node) : NULL;
        if (user != NULL && user != node->next)
            nuc_move_before(g, node, user);
    }
}
