/*
 * A softmax as exponentials over their sum. The NPU's softmax has steps of 1/256, which many values of a long row are
 * hardly told apart by: each is about one over the length. Exponentials below the greatest one have as many steps as
 * int8 has, and what they are divided by leaves the range that samples show.
 */
#include "rewrite/npu_forms/npu_forms.h"

#include "ir/args.h"
#include "ir/masks.h"

/* Rows whose mean has fewer steps of 1/256 than this many. */
#define FEW_STEPS 16
#define STEPS 256

/* What hides behind a mask would spread the range of the differences; the kernel has no range. */
static bool has_mask(struct nuc_graph *g, const struct nuc_node *scores)
{
    enum nuc_mask kind;

    while (scores != NULL && nuc_is_call(scores) && nuc_moves_whole(scores))
        scores = nuc_arg_node(scores, NUC_SELF);
    return scores == NULL || nuc_far_choice(g, scores) != NUC_NO_ARG || nuc_added_mask(g, scores, &kind) != NULL;
}

bool nuc_has_npu_softmax(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *x = nuc_arg_node(node, NUC_SELF);

    if (node->op != NUC_OP_SOFTMAX || s->norms == NULL || !s->norms->softmax_in_parts || !nuc_is_float_value(x) ||
        !nuc_is_float_value(node))
        return false;
    const struct nuc_meta *m = &x->vals[0];
    int64_t dim = nuc_dim(node, NUC_ARG(SOFTMAX, dim), -1, m->rank);
    return dim >= 0 && dim < (int64_t)m->rank && m->sizes[dim] * FEW_STEPS > STEPS && !has_mask(s->g, x);
}

static struct nuc_node *form_parts(const struct nuc_support *s, struct nuc_node *node)
{
    if (!nuc_has_npu_softmax(s, node))
        return NULL;
    struct nuc_node *x = nuc_operand(s->g, node, NUC_SELF);
    return nuc_built(s, node, "softmax_in_parts",
                     NUC_ARGS(x, nuc_dim(node, NUC_ARG(SOFTMAX, dim), -1, x->vals[0].rank)));
}

const struct nuc_npu_form nuc_softmax_forms[] = {
    {NUC_OPS(NUC_OP_SOFTMAX), form_parts},
    {.form = NULL},
};
