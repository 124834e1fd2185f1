/* Expansions of elementwise operators. Formulas are those of torch's decompositions. */
#include <math.h>

#include "ir/shapes/shapes.h"
#include "rewrite/expand/expand.h"
#include "rewrite/expand/expand_list.h"

/* The node that is expanded, and its first operands. */
struct site {
    struct nuc_graph *g;
    struct nuc_node *node, *a, *b;
};

static struct site site_of(struct nuc_graph *g, struct nuc_node *node)
{
    return (struct site){g, node, nuc_operand(g, node, NUC_SELF), nuc_arg_node(node, NUC_OTHER)};
}

static struct nuc_node *map(const struct site *s, enum nuc_op op, struct nuc_node *x)
{
    return nuc_insert_unary(s->g, s->node, op, x);
}

static struct nuc_node *pair(const struct site *s, enum nuc_op op, struct nuc_node *a, struct nuc_node *b)
{
    return nuc_insert_binary(s->g, s->node, op, a, b);
}

static struct nuc_node *with_number(const struct site *s, enum nuc_op op, struct nuc_node *x, double number)
{
    return nuc_insert_with_number(s->g, s->node, op, x, number);
}

static struct nuc_node *choose(const struct site *s, struct nuc_node *condition, struct nuc_node *yes,
                               struct nuc_node *no)
{
    return nuc_emit(s->g, s->node, NUC_OP_WHERE, s->node,
                    NUC_ARGS(nuc_node_arg(condition), nuc_node_arg(yes), nuc_node_arg(no)));
}

/* The type of the operator's value. */
static enum nuc_dtype result_type(const struct site *s)
{
    return s->node->vals[0].dtype;
}

static struct nuc_node *as_result(const struct site *s, struct nuc_node *x)
{
    return nuc_insert_cast(s->g, s->node, x, result_type(s));
}

/* a + factor b, or a - factor b; the factor is argument `index` of the node. */
static struct nuc_node *scaled_sum(const struct site *s, enum nuc_op op, struct nuc_node *a, struct nuc_node *b,
                                   uint32_t index)
{
    return nuc_emit(s->g, s->node, op, s->node,
                    NUC_ARGS(nuc_node_arg(a), nuc_node_arg(b), *nuc_arg_at(s->node, index)));
}

/* ---- larger and smaller ones ---- */

/* The other one where one is NaN. */
struct nuc_node *nuc_expand_fmax(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    enum nuc_op op = node->op == NUC_OP_FMAX ? NUC_OP_MAXIMUM : NUC_OP_MINIMUM;

    if (!nuc_is_floating(result_type(&s)))
        return pair(&s, op, s.a, s.b);
    struct nuc_node *a = choose(&s, map(&s, NUC_OP_ISNAN, s.a), s.b, s.a);
    struct nuc_node *b = choose(&s, map(&s, NUC_OP_ISNAN, s.b), s.a, s.b);
    return pair(&s, op, a, b);
}

/* Bounds that are tensors; of clamp either may be missing. */
struct nuc_node *nuc_expand_clamp(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *low = node->op == NUC_OP_CLAMP_MAX_TENSOR ? NULL : nuc_arg_node(node, NUC_ARG(CLAMP_TENSOR, min));
    struct nuc_node *high = node->op == NUC_OP_CLAMP_MAX_TENSOR   ? nuc_arg_node(node, NUC_ARG(CLAMP_MAX_TENSOR, max))
                            : node->op == NUC_OP_CLAMP_MIN_TENSOR ? NULL
                                                                  : nuc_arg_node(node, NUC_ARG(CLAMP_TENSOR, max));
    struct nuc_node *y = s.a;

    if (low != NULL)
        y = pair(&s, NUC_OP_MAXIMUM, y, low);
    if (high != NULL)
        y = pair(&s, NUC_OP_MINIMUM, y, high);
    return as_result(&s, y);
}

/* ---- sums and products ---- */

struct nuc_node *nuc_expand_rsub(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);

    return scaled_sum(&s, NUC_OP_SUB, s.b, s.a, NUC_ARG(RSUB, alpha));
}

struct nuc_node *nuc_expand_addc(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    enum nuc_op op = node->op == NUC_OP_ADDCMUL ? NUC_OP_MUL : NUC_OP_DIV;
    struct nuc_node *product = pair(&s, op, s.b, nuc_operand(g, node, NUC_ARG(ADDCMUL, tensor2)));

    return as_result(&s, scaled_sum(&s, NUC_OP_ADD, s.a, product, NUC_ARG(ADDCMUL, value)));
}

/* self + weight (end - self) */
struct nuc_node *nuc_expand_lerp(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *step = pair(&s, NUC_OP_SUB, s.b, s.a), *weight = nuc_arg_node(node, NUC_ARG(LERP, weight));

    if (weight != NULL)
        return pair(&s, NUC_OP_ADD, s.a, pair(&s, NUC_OP_MUL, weight, step));
    return pair(&s, NUC_OP_ADD, s.a,
                with_number(&s, NUC_OP_MUL, step, nuc_scalar(node, NUC_ARG(LERP_SCALAR, weight), 0.0)));
}

/* max sqrt(1 + (min / max)^2) of the sizes, which does not overflow; 0 where both are, infinite where one is. */
struct nuc_node *nuc_expand_hypot(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *a = map(&s, NUC_OP_ABS, s.a), *b = map(&s, NUC_OP_ABS, s.b);
    struct nuc_node *max = pair(&s, NUC_OP_MAXIMUM, a, b);
    struct nuc_node *ratio = pair(&s, NUC_OP_DIV, pair(&s, NUC_OP_MINIMUM, a, b), max);
    struct nuc_node *infinite = pair(&s, NUC_OP_LOGICAL_OR, map(&s, NUC_OP_ISINF, a), map(&s, NUC_OP_ISINF, b));

    ratio = with_number(&s, NUC_OP_ADD, pair(&s, NUC_OP_MUL, ratio, ratio), 1.0);
    struct nuc_node *y = pair(&s, NUC_OP_MUL, max, map(&s, NUC_OP_SQRT, ratio));
    y = choose(&s, with_number(&s, NUC_OP_EQ, max, 0.0), max, y);
    return choose(&s, infinite, nuc_insert_constant(g, node, result_type(&s), HUGE_VAL), y);
}

/* The first half of a dimension, let through by the second. */
struct nuc_node *nuc_expand_glu(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    const struct nuc_meta *in = &s.a->vals[0];
    int64_t dim = nuc_dim(node, NUC_ARG(GLU, dim), -1, in->rank);

    if (dim < 0 || dim >= in->rank || in->sizes[dim] % 2 != 0)
        nuc_expand_fail(g, node, "dimension %lld of %s has no halves", (long long)dim, nuc_meta_text(g->cx, in));
    int64_t half = in->sizes[dim] / 2;
    struct nuc_node *value = nuc_insert_slice(g, node, s.a, dim, 0, half);
    struct nuc_node *gate = nuc_insert_slice(g, node, s.a, dim, half, 2 * half);
    return pair(&s, NUC_OP_MUL, value, map(&s, NUC_OP_SIGMOID, gate));
}

/* ---- logarithms ---- */

/* max + log(1 + exp(-|a - b|)), to the base 2 too; equal ones, infinite or not, are max + log(2). */
struct nuc_node *nuc_expand_logaddexp(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    bool base_2 = node->op == NUC_OP_LOGADDEXP2;
    struct nuc_node *distance = map(&s, NUC_OP_ABS, pair(&s, NUC_OP_SUB, s.a, s.b));
    struct nuc_node *y = map(&s, base_2 ? NUC_OP_EXP2 : NUC_OP_EXP, map(&s, NUC_OP_NEG, distance));

    y = map(&s, NUC_OP_LOG1P, y);
    if (base_2)
        y = with_number(&s, NUC_OP_MUL, y, 1.0 / M_LN2);
    y = pair(&s, NUC_OP_ADD, pair(&s, NUC_OP_MAXIMUM, s.a, s.b), y);
    return choose(&s, pair(&s, NUC_OP_EQ, s.a, s.b), with_number(&s, NUC_OP_ADD, s.a, base_2 ? 1.0 : M_LN2), y);
}

/* self log(other), self log(1 + other): 0 where self is 0, unless other is NaN. */
struct nuc_node *nuc_expand_xlogy(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    enum nuc_op log = node->op == NUC_OP_XLOGY ? NUC_OP_LOG : NUC_OP_LOG1P;
    struct nuc_node *zero =
        pair(&s, NUC_OP_LOGICAL_AND, with_number(&s, NUC_OP_EQ, s.a, 0.0), pair(&s, NUC_OP_EQ, s.b, s.b));
    struct nuc_node *product = pair(&s, NUC_OP_MUL, s.a, map(&s, log, s.b));

    return choose(&s, zero, nuc_insert_constant(g, node, result_type(&s), 0.0), product);
}

/* -x log(x); 0 at 0, -infinity below */
struct nuc_node *nuc_expand_entr(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *x = as_result(&s, s.a);
    struct nuc_node *y = map(&s, NUC_OP_NEG, pair(&s, NUC_OP_MUL, x, map(&s, NUC_OP_LOG, x)));

    y = choose(&s, with_number(&s, NUC_OP_EQ, x, 0.0), nuc_insert_constant(g, node, result_type(&s), 0.0), y);
    return choose(&s, with_number(&s, NUC_OP_LT, x, 0.0), nuc_insert_constant(g, node, result_type(&s), -HUGE_VAL), y);
}

/* The distribution function of the normal distribution: (1 + erf(x / sqrt 2)) / 2 */
struct nuc_node *nuc_expand_ndtr(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *y = map(&s, NUC_OP_ERF, with_number(&s, NUC_OP_MUL, as_result(&s, s.a), M_SQRT1_2));

    return with_number(&s, NUC_OP_MUL, with_number(&s, NUC_OP_ADD, y, 1.0), 0.5);
}

/* ---- signs, steps, closeness ---- */

struct nuc_node *nuc_expand_copysign(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *size = map(&s, NUC_OP_ABS, as_result(&s, s.a));

    return choose(&s, map(&s, NUC_OP_SIGNBIT, s.b), map(&s, NUC_OP_NEG, size), size);
}

/* 0, the value at 0, or 1 */
struct nuc_node *nuc_expand_heaviside(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *above = as_result(&s, with_number(&s, NUC_OP_GT, s.a, 0.0));

    return choose(&s, with_number(&s, NUC_OP_EQ, s.a, 0.0), s.b, above);
}

/* Equal, or |a - b| finite and at most atol + |rtol b|. */
struct nuc_node *nuc_expand_isclose(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = {g, node, nuc_operand(g, node, NUC_SELF), nuc_operand(g, node, NUC_OTHER)};
    double rtol = nuc_scalar(node, NUC_ARG(ISCLOSE, rtol), 0.0), atol = nuc_scalar(node, NUC_ARG(ISCLOSE, atol), 0.0);
    struct nuc_node *same = pair(&s, NUC_OP_EQ, s.a, s.b);
    bool real = nuc_is_floating(s.b->vals[0].dtype);
    struct nuc_node *b = real ? s.b : nuc_insert_cast(g, node, s.b, NUC_F32);
    struct nuc_node *distance = map(&s, NUC_OP_ABS, pair(&s, NUC_OP_SUB, s.a, b));
    struct nuc_node *allowed = map(&s, NUC_OP_ABS, with_number(&s, NUC_OP_MUL, b, rtol));
    struct nuc_node *near = pair(&s, NUC_OP_LE, distance, with_number(&s, NUC_OP_ADD, allowed, atol));

    near = pair(&s, NUC_OP_LOGICAL_AND, near, map(&s, NUC_OP_ISFINITE, distance));
    same = pair(&s, NUC_OP_LOGICAL_OR, same, near);
    if (!nuc_flag(node, NUC_ARG(ISCLOSE, equal_nan)) || !real)
        return same;
    struct nuc_node *nans = pair(&s, NUC_OP_LOGICAL_AND, map(&s, NUC_OP_ISNAN, s.a), map(&s, NUC_OP_ISNAN, s.b));
    return pair(&s, NUC_OP_LOGICAL_OR, same, nans);
}

/* ---- choice ---- */

/* Operand `index`, a tensor or a number, in the type of the result. */
static struct nuc_node *operand_as_result(const struct site *s, uint32_t index)
{
    struct nuc_node *tensor = nuc_arg_node(s->node, index);

    return tensor != NULL ? as_result(s, tensor)
                          : nuc_insert_constant(s->g, s->node, result_type(s), nuc_scalar(s->node, index, 0.0));
}

struct nuc_node *nuc_expand_where(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);

    return choose(&s, s.a, operand_as_result(&s, NUC_ARG(WHERE, self)), operand_as_result(&s, NUC_ARG(WHERE, other)));
}

struct nuc_node *nuc_expand_masked_fill(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);

    return choose(&s, s.b, operand_as_result(&s, NUC_ARG(MASKED_FILL, value)), s.a);
}
