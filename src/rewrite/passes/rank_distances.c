/*
 * What is ranked, or of which the largest or smallest is taken, without what leaves the order as it is. The nearest of
 * constant vectors c, as of a codebook, is the smallest |x - c|, of which |x|^2 is the same for all c. What differs,
 * |c|^2 - 2 x c, is a linear layer of x: one rounding in int8, of fewer decades than the squares have. Where the
 * distance is read, too, as of what is like nothing known, |x|^2 and the root follow the smallest.
 */
#include <string.h>

#include "ir/args.h"
#include "rewrite/fused_activation.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

/* Operators between what is ranked and its terms. */
#define DEEPEST 8

/* The value is the same for all places along the dimensions: bit 0 is the last one. */
static bool is_same_along(const struct nuc_node *value, uint32_t dims)
{
    const struct nuc_meta *m = &value->vals[0];

    for (uint32_t i = 0; i < m->rank; i++) {
        if ((dims >> i & 1) != 0 && m->sizes[m->rank - 1 - i] != 1)
            return false;
    }
    return true;
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

/* A sum of squares, a square, or what bounds keep from being negative: its root is no NaN. */
static bool has_root(struct nuc_graph *g, const struct nuc_node *x)
{
    const struct nuc_node *square = x->op == NUC_OP_SUM_DIM ? nuc_arg_node(x, NUC_SELF) : x;

    return (nuc_has_bounds(x) && nuc_bounds_of(x).min >= 0) || (nuc_is_call(square) && root_of(g, square) != NULL);
}

/*
 * A function of one value that never falls, `strictly` one that makes no two values the same, of which the first would
 * be another; what a layer computes with its results stays there.
 */
static bool rises(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *operand, bool strictly)
{
    if (node->op == NUC_OP_SQRT)
        return strictly || has_root(g, operand);
    return !strictly &&
           nuc_op_is_in(node->op, NUC_OPS(NUC_OP_EXP, NUC_OP_SIGMOID, NUC_OP_TANH, NUC_OP_RELU, NUC_OP_CLAMP)) &&
           !(nuc_is_fused_activation(node) && nuc_takes_activation(operand));
}

static bool is_sum(const struct nuc_node *node)
{
    return node != NULL && (node->op == NUC_OP_ADD || node->op == NUC_OP_SUB) && !node->in_place &&
           nuc_has_plain_alpha(node) && nuc_arg_node(node, NUC_OTHER) != NULL;
}

/* Which argument of `node` has the same order along the dimensions, or the opposite one; `strictly`: the same ties. */
static uint32_t ordered_arg(struct nuc_graph *g, const struct nuc_node *node, uint32_t dims, bool strictly,
                            bool *opposite)
{
    struct nuc_node *a = nuc_is_call(node) && !node->in_place ? nuc_arg_node(node, NUC_SELF) : NULL;

    if (a == NULL || a->vals[0].dtype != NUC_F32)
        return NUC_NO_ARG;
    *opposite = node->op == NUC_OP_NEG;
    if (*opposite || rises(g, node, a, strictly))
        return NUC_SELF;
    if (!is_sum(node))
        return NUC_NO_ARG;
    struct nuc_node *b = nuc_arg_node(node, NUC_OTHER);
    if (is_same_along(b, dims) && nuc_same_sizes(&a->vals[0], &node->vals[0]))
        return NUC_SELF;
    *opposite = node->op == NUC_OP_SUB;
    return is_same_along(a, dims) && nuc_same_sizes(&b->vals[0], &node->vals[0]) ? NUC_OTHER : NUC_NO_ARG;
}

/*
 * (s + x) - y as s + (x - y) and the like, where s is the same along the dimensions and alone in that; else the node
 * itself.
 */
static struct nuc_node *regrouped(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *node, uint32_t dims)
{
    if (!is_sum(node))
        return node;
    uint32_t place = node->op == NUC_OP_ADD && !is_sum(nuc_arg_node(node, NUC_SELF)) ? NUC_OTHER : NUC_SELF;
    struct nuc_node *less = nuc_operand(g, node, place), *y = nuc_operand(g, node, NUC_OTHER - place);
    if (!is_sum(less) || less->n_users != 1 || is_same_along(less, dims) || is_same_along(y, dims))
        return node;
    struct nuc_node *s = nuc_operand(g, less, NUC_SELF), *x = nuc_operand(g, less, NUC_OTHER);
    bool first = is_same_along(s, dims), falls = first && less->op == NUC_OP_SUB;
    if (!first) {
        struct nuc_node *other = s;
        s = x;
        x = other;
    }
    if (!is_same_along(s, dims) || is_same_along(x, dims))
        return node;
    /* s - (x + y) is (s - x) - y. */
    enum nuc_op op = (node->op == NUC_OP_SUB) != falls ? NUC_OP_SUB : NUC_OP_ADD;
    if (!nuc_same_sizes(&x->vals[0], &node->vals[0]) && !nuc_same_sizes(&y->vals[0], &node->vals[0]))
        return node;
    struct nuc_node *rest = nuc_insert_binary(g, before, op, x, y);
    return first ? nuc_insert_binary(g, before, less->op, s, rest) : nuc_insert_binary(g, before, less->op, rest, s);
}

/* What has the same order along the dimensions, with fewer operators in front of it. */
static struct nuc_node *ordered(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *node, uint32_t dims)
{
    bool falls = false, opposite;

    for (unsigned i = 0; i < DEEPEST; i++) {
        struct nuc_node *sum = regrouped(g, before, node, dims);
        uint32_t at = ordered_arg(g, sum, dims, true, &opposite);
        if (at == NUC_NO_ARG)
            break;
        node = nuc_arg_node(sum, at);
        falls ^= opposite;
    }
    return falls ? nuc_insert_unary(g, before, NUC_OP_NEG, node) : node;
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

/* A dimension of a value of that rank, as is_same_along() counts them. */
static uint32_t from_end(uint32_t dims, uint32_t rank)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < rank; i++)
        mask |= (dims >> i & 1) << (rank - 1 - i);
    return mask;
}

static bool rank_distances(struct nuc_graph *g, struct nuc_node *arg)
{
    struct nuc_node *value = nuc_operand(g, arg, NUC_SELF);
    uint32_t rank = value->vals[0].rank;

    if (rank == 0 || value->vals[0].dtype != NUC_F32 || nuc_arg_at(arg, NUC_ARG(ARGMAX, dim))->kind != NUC_ARG_INT)
        return false;
    uint32_t dim = from_end(1u << nuc_dim(arg, NUC_ARG(ARGMAX, dim), -1, rank), rank);
    struct nuc_node *found = ordered(g, arg, value, dim);
    struct nuc_node *linear = dim == 1 ? linear_distance(g, arg, found) : NULL;
    found = linear != NULL ? linear : found;
    if (found == value || !nuc_same_sizes(&found->vals[0], &value->vals[0]))
        return false;
    nuc_set_arg_node(arg, g, NUC_SELF, found);
    return true;
}

/* amin(s - x) is s - amax(x), the root of the smallest the smallest root: of each row once. */
static bool after_extreme(struct nuc_graph *g, struct nuc_node *extreme)
{
    struct nuc_node *value = nuc_operand(g, extreme, NUC_SELF), *taken = extreme;
    uint32_t rank = value->vals[0].rank, mask = nuc_dims_mask(extreme, NUC_ARG(AMAX, dim), rank);
    int64_t dims[NUC_MAX_RANK];
    const uint32_t count = nuc_list_dims(mask, rank, dims), along = from_end(mask, rank);
    enum nuc_op op = extreme->op;
    bool opposite, alone = value->n_users == 1 && value->vals[0].dtype == NUC_F32;

    for (unsigned i = 0; i < DEEPEST && alone; i++) {
        struct nuc_node *sum = regrouped(g, value, value, along);
        uint32_t at = ordered_arg(g, sum, along, false, &opposite);
        if (at == NUC_NO_ARG)
            break;
        op = !opposite ? op : op == NUC_OP_AMAX ? NUC_OP_AMIN : NUC_OP_AMAX;
        struct nuc_node *inner = nuc_operand(g, sum, at), *first = nuc_operand(g, sum, NUC_SELF);
        alone = inner->n_users == 1;
        struct nuc_node *least =
            nuc_emit(g, sum, op, extreme, NUC_ARGS(inner, nuc_ints_arg(dims, count), nuc_bool_arg(true)));
        struct nuc_node *after = at == NUC_SELF ? nuc_emit_like(g, sum, sum, NUC_ARGS(least))
                                                : nuc_emit_like(g, sum, sum, NUC_ARGS(first, least));
        const struct nuc_meta *m = &taken->vals[0];
        nuc_replace_uses(g, taken, nuc_insert_reshaped(g, taken, after, m->sizes, m->rank), NULL);
        taken = least;
        value = inner;
    }
    return taken != extreme;
}

/* The largest or smallest alone, which is no matter of order. */
static bool extreme_of_topk(struct nuc_graph *g, struct nuc_node *topk)
{
    struct nuc_node *value = nuc_operand(g, topk, NUC_SELF);
    bool largest = nuc_flag(topk, NUC_ARG(TOPK, largest));

    if (nuc_integer(topk, NUC_ARG(TOPK, k), 0) != 1 || value->vals[0].rank == 0 || value->vals[0].dtype != NUC_F32)
        return false;
    int64_t dim = nuc_dim(topk, NUC_ARG(TOPK, dim), -1, value->vals[0].rank);
    if (nuc_is_item_read(topk, 0))
        nuc_replace_item(g, topk, 0,
                         nuc_emit(g, topk, largest ? NUC_OP_AMAX : NUC_OP_AMIN, topk,
                                  NUC_ARGS(value, nuc_ints_arg(&dim, 1), nuc_bool_arg(true))));
    if (nuc_is_item_read(topk, 1))
        nuc_replace_item(
            g, topk, 1,
            nuc_emit(g, topk, largest ? NUC_OP_ARGMAX : NUC_OP_ARGMIN, topk, NUC_ARGS(value, dim, nuc_bool_arg(true))));
    return true;
}

bool nuc_rank_distances(struct nuc_graph *g)
{
    bool changed = nuc_rewrite_each(g, NUC_OPS(NUC_OP_TOPK), extreme_of_topk);

    changed |= nuc_rewrite_each(g, NUC_OPS(NUC_OP_ARGMIN, NUC_OP_ARGMAX), rank_distances);
    return nuc_rewrite_each(g, NUC_OPS(NUC_OP_AMIN, NUC_OP_AMAX), after_extreme) || changed;
}
