#include "ir/args.h"
#include "ir/masks.h"
#include "rewrite/pass_list.h"
#include "rewrite/rewrite.h"

static bool is_float_vector(const struct nuc_node *node, int64_t length)
{
    return node != NULL && nuc_is_static(node) && node->vals[0].dtype == NUC_F32 && node->vals[0].rank == 1 &&
           node->vals[0].sizes[0] == length;
}

/* A mask is no bias: beside what takes out an output, int8 has no steps for the others. */
static bool hides(struct nuc_graph *g, const struct nuc_node *vector)
{
    const float *values = nuc_const_contiguous(g, vector);

    for (int64_t i = 0; i < vector->vals[0].sizes[0]; i++) {
        if (values[i] <= NUC_MASKED / 2)
            return true;
    }
    return false;
}

/* bias + alpha * other, or NULL when the addition is not one of a bias. */
static struct nuc_node *fused_bias(struct nuc_graph *g, struct nuc_node *linear, struct nuc_node *other, float alpha)
{
    struct nuc_node *bias = nuc_arg_node(linear, NUC_ARG(LINEAR, bias));
    int64_t features = nuc_operand(g, linear, NUC_ARG(LINEAR, weight))->vals[0].sizes[0];

    if (!is_float_vector(other, features) || (bias != NULL && !is_float_vector(bias, features)) || hides(g, other))
        return NULL;
    if (bias == NULL && !(alpha < 1.0f) && !(alpha > 1.0f))
        return other;
    const float *a = bias != NULL ? nuc_const_contiguous(g, bias) : NULL, *b = nuc_const_contiguous(g, other);
    float *sum = nuc_alloc_array(g->cx, (size_t)features, sizeof *sum);
    for (size_t i = 0; i < (size_t)features; i++) {
        float term = b[i] * alpha;
        sum[i] = a != NULL ? a[i] + term : term;
    }
    return nuc_add_parameter(g, bias != NULL ? bias : other, bias != NULL ? "combined0" : "_combined", &other->vals[0],
                             sum);
}

bool nuc_fuse_linear_add(struct nuc_graph *g)
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_node *add = n->op == NUC_OP_LINEAR && n->n_users == 1 ? n->users[0] : NULL;
        if (add == NULL || add->op != NUC_OP_ADD || nuc_arg_node(add, NUC_SELF) != n ||
            nuc_arg_node(add, NUC_OTHER) == n)
            continue;
        struct nuc_node *bias =
            fused_bias(g, n, nuc_arg_node(add, NUC_OTHER), (float)nuc_scalar(add, NUC_ARG(ADD, alpha), 1.0));
        if (bias == NULL)
            continue;
        nuc_set_arg_node(n, g, NUC_ARG(LINEAR, bias), bias);
        nuc_replace_uses(g, add, n, NULL);
        nuc_remove_node(g, add);
        changed = true;
    }
    if (changed)
        nuc_remove_dead(g);
    return changed;
}
