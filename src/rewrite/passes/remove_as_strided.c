/*
 * as_strided_copy after a mean that only says how dimensions of size 1 are strided is bypassed. What counts as such is
 * the reference's condition: no stride below its dimension, but for a single one of 1.
 */
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

static bool moves_nothing(const struct nuc_node *copy, const struct nuc_node *mean)
{
    const struct nuc_arg *strides = &copy->args[NUC_ARG(AS_STRIDED, stride)];
    uint32_t ones = 0;

    if (strides->kind != NUC_ARG_INTS || strides->count != mean->vals[0].rank ||
        !nuc_same_sizes(&copy->vals[0], &mean->vals[0]))
        return false;
    for (uint32_t i = 0; i < strides->count; i++) {
        if (strides->u.ints[i] >= mean->vals[0].sizes[i])
            continue;
        if (strides->u.ints[i] != 1 || ++ones > 1)
            return false;
    }
    return true;
}

static bool bypass(struct nuc_graph *g, struct nuc_node *copy)
{
    struct nuc_node *mean = nuc_operand(g, copy, NUC_SELF);

    if (mean->op != NUC_OP_MEAN_DIM || mean->n_users != 1 || !moves_nothing(copy, mean))
        return false;
    nuc_replace_uses(g, copy, mean, NULL);
    nuc_remove_node(g, copy);
    return true;
}

bool nuc_remove_as_strided(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_AS_STRIDED), bypass);
}
