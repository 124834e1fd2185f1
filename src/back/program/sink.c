#include "back/program/sink.h"

void nuc_sink_constant_operators(struct nuc_graph *g)
{
    bool *constant = nuc_alloc_array(g->cx, (size_t)g->next_id + 1, sizeof *constant);

    for (const struct nuc_node *node = g->first; node != NULL; node = node->next) {
        /* An operator over constants alone, which comes out the same in every run. */
        struct nuc_cursor at = {0, 0};
        const struct nuc_node *in = nuc_next_input(node, &at);
        while (in != NULL && (nuc_is_static(in) || constant[in->id]))
            in = nuc_next_input(node, &at);
        constant[node->id] = nuc_is_call(node) && node->op != NUC_OP_CALL_DELEGATE && in == NULL;
    }
    /* From the back: the users of a node are where they stay when it is its turn. */
    for (struct nuc_node *node = g->last, *before; node != NULL; node = before) {
        struct nuc_node *user = node->next;
        before = node->prev;
        while (constant[node->id] && user != NULL && !nuc_is_user(node, user))
            user = user->next;
        if (user != NULL && user != node->next)
            nuc_move_before(g, node, user);
    }
}
