/*
 * The nearest of constant vectors c, as of a codebook: the smallest |x - c|, of which |x|^2 is the same for all c. What
 * differs, |c|^2 - 2 x c, is a linear layer of x: one rounding in int8, of fewer decades than the squares have.
 */
#include <string.h>

#include "ir/args.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

/* Operators between what is ranked and its terms. */
#define DEEPEST 8

/* The value is the same for all places along a dimension of `like`, counted from its end. */
static bool is_same_along(const struct nuc_node *value, uint32_t from_end)
{
    const struct nuc_meta *m = &value->vals[0];

    return m->rank < from_end || m->sizes[m->rank - from_end] == 1;
}

/* What has the same order along the dimension: without terms that do not vary along it, and without a root. */
static struct nuc_node *ordered(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *node, uint32_t from_end,
                                unsigned left)
{
    struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *b = nuc_arg_node(node, NUC_OTHER);

    if (left == 0 || !nuc_is_call(node) || a == NULL || a->vals[0].dtype != NUC_F32)
        return node;
    if (node->op == NUC_OP_SQRT)
        return ordered(g, before, a, from_end, left - 1);
    if ((node->op != NUC_OP_ADD && node->op != NUC_OP_SUB) || b == NULL || !nuc_has_plain_alpha(node))
        return node;
    if (is_same_along(b, from_end) && nuc_same_sizes(&a->vals[0], &node->vals[0]))
        return ordered(g, before, a, from_end, left - 1);
    if (is_same_along(a, from_end) && nuc_same_sizes(&b->vals[0], &node->vals[0])) {
        /* x or -x */
        struct nuc_node *x = ordered(g, before, b, from_end, left - 1);
        return node->op == NUC_OP_SUB ? nuc_insert_unary(g, before, NUC_OP_NEG, x) : x;
    }
    /* (|x|^2 + |c|^2) - 2 x c: the constant is less than the whole, which the other term is. */
    struct nuc_node *less = a->op == NUC_OP_ADD ? a : NULL;
    for (uint32_t i = NUC_SELF; less != NULL && i <= NUC_OTHER; i++) {
        struct nuc_node *same = nuc_arg_node(less, i), *rest = nuc_arg_node(less, NUC_OTHER - i);
        if (same != NULL && rest != NULL && is_same_along(same, from_end) && !is_same_along(rest, from_end) &&
            nuc_same_sizes(&b->vals[0], &node->vals[0]))
            return nuc_insert_binary(g, before, node->op, rest, b);
    }
    return node;
}

/* Rows c [k, d] of a constant [.., k, d] that are the same for all that is in front of them; NULL: they are not. */
static const float *rows_of(struct nuc_graph *g, const struct nuc_node *constant, int64_t k, int64_t d)
{
    const struct nuc_meta *m = &constant->vals[0];
    size_t count = (size_t)(k * d);

    if (!nuc_is_static(constant) || m->dtype != NUC_F32 || m->rank < 2 || m->sizes[m->rank - 2] != k ||
        m->sizes[m->rank - 1] != d || count == 0)
        return NULL;
    const float *values = nuc_const_contiguous(g, constant);
    for (size_t i = count; i < (size_t)nuc_elements(m); i += count) {
        if (memcmp(values, values + i, count * sizeof *values) != 0)
            return NULL;
    }
    return values;
}

/* x of x x; NULL: it is no square. */
static struct nuc_node *root_of(struct nuc_graph *g, const struct nuc_node *square)
{
    struct nuc_node *x = nuc_arg_node(square, NUC_SELF), *other = nuc_arg_node(square, NUC_OTHER);

    if (nuc_numbers_equal(nuc_power_of(square), 2) || (square->op == NUC_OP_MUL && x == other))
        return x;
    if (square->op == NUC_OP_POW && nuc_is_static_float(other) && nuc_elements(&other->vals[0]) == 1)
        return nuc_numbers_equal((double)*(const float *)nuc_const_contiguous(g, other), 2) ? x : NULL;
    return NULL;
}

/* |c|^2 - 2 x c for the sum of (x - c)^2 over the last dimension, x [.., 1, d]; NULL: it is something else. */
static struct nuc_node *linear_distance(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *sum)
{
    struct nuc_node *square = sum->op == NUC_OP_SUM_DIM ? nuc_arg_node(sum, NUC_SELF) : NULL;
    struct nuc_node *sub = square != NULL ? root_of(g, square) : NULL;

    if (sub == NULL || sub->op != NUC_OP_SUB || sub->vals[0].rank < 2 ||
        nuc_dims_mask(sum, NUC_ARG(SUM_DIM, dim), sub->vals[0].rank) != 1u << (sub->vals[0].rank - 1) ||
        nuc_flag(sum, NUC_ARG(SUM_DIM, keepdim)))
        return NULL;
    uint32_t rank = sub->vals[0].rank;
    int64_t k = sub->vals[0].sizes[rank - 2], d = sub->vals[0].sizes[rank - 1], sizes[NUC_MAX_RANK];
    for (uint32_t i = NUC_SELF; i <= NUC_OTHER; i++) {
        struct nuc_node *x = nuc_arg_node(sub, i), *c = nuc_arg_node(sub, NUC_OTHER - i);
        const float *rows = x != NULL && c != NULL ? rows_of(g, c, k, d) : NULL;
        if (rows == NULL || nuc_is_static(x) || x->vals[0].rank != rank || x->vals[0].sizes[rank - 2] != 1 ||
            x->vals[0].sizes[rank - 1] != d)
            continue;
        float *weight = nuc_alloc_array(g->cx, (size_t)(k * d), sizeof *weight);
        float *bias = nuc_alloc_array(g->cx, (size_t)k, sizeof *bias);
        for (int64_t j = 0; j < k * d; j++) {
            weight[j] = -2 * rows[j];
            bias[j / d] += rows[j] * rows[j];
        }
        memcpy(sizes, x->vals[0].sizes, sizeof sizes);
        sizes[rank - 2] = d;
        x = nuc_insert_reshaped(g, before, x, sizes, rank - 1);
        struct nuc_node *w = nuc_insert_floats(g, before, weight, (const int64_t[]){k, d}, 2);
        struct nuc_node *b = nuc_insert_floats(g, before, bias, &k, 1);
        return nuc_emit(g, before, NUC_OP_LINEAR, before, NUC_ARGS(x, w, b));
    }
    return NULL;
}

static bool rank_distances(struct nuc_graph *g, struct nuc_node *arg)
{
    struct nuc_node *value = nuc_operand(g, arg, NUC_SELF);
    uint32_t rank = value->vals[0].rank;

    if (rank == 0 || value->vals[0].dtype != NUC_F32 || nuc_arg_at(arg, NUC_ARG(ARGMAX, dim))->kind != NUC_ARG_INT)
        return false;
    uint32_t from_end = rank - (uint32_t)nuc_dim(arg, NUC_ARG(ARGMAX, dim), -1, rank);
    struct nuc_node *found = ordered(g, arg, value, from_end, DEEPEST);
    struct nuc_node *linear = from_end == 1 ? linear_distance(g, arg, found) : NULL;
    found = linear != NULL ? linear : found;
    if (found == value || !nuc_same_sizes(&found->vals[0], &value->vals[0]))
        return false;
    nuc_set_arg_node(arg, g, NUC_SELF, found);
    return true;
}

bool nuc_rank_distances(struct nuc_graph *g)
{
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_ARGMIN, NUC_OP_ARGMAX), rank_distances);
}
