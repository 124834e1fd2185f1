/*
 * activation(cat(a, b, ...)) becomes cat(activation(a), activation(b), ...) when convolutions or matrix products make
 * all of a, b, ...: each is then computed and quantized together with its activation.
 */
#include "ir/args.h"
#include "rewrite/fused_activation.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

static bool can_move(const struct nuc_node *cat)
{
    const struct nuc_arg *inputs = &cat->args[NUC_ARG(CAT, tensors)];

    if (inputs->kind != NUC_ARG_NODES || cat->n_users != 1 || !nuc_is_fused_activation(cat->users[0]))
        return false;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct nuc_node *input = inputs->u.nodes[i];
        if (input == NULL || !nuc_takes_activation(input) || input->n_users != 1)
            return false;
    }
    return true;
}

/* An input that is there twice already has its activation when it is met again. */
static bool move(struct nuc_graph *g, struct nuc_node *cat)
{
    struct nuc_arg *inputs = &cat->args[NUC_ARG(CAT, tensors)];

    if (!can_move(cat))
        return false;
    struct nuc_node *activation = cat->users[0];
    for (uint32_t i = 0; i < inputs->count; i++) {
        struct nuc_node *input = inputs->u.nodes[i];
        if (!nuc_takes_activation(input))
            continue;
        struct nuc_node *made = nuc_emit_like(g, input->next, activation, NUC_ARGS(input));
        nuc_replace_uses(g, input, made, made);
    }
    nuc_replace_uses(g, activation, cat, NULL);
    nuc_remove_node(g, activation);
    return true;
}

bool nuc_move_activation(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_CAT), move);
}
