/* Functions of one value for which ExecuTorch has no kernel, in steps that have one. */
#include <float.h>
#include <math.h>

#include "ir/args.h"
#include "ir/shapes/shapes.h"
#include "rewrite/expand/expand.h"
#include "rewrite/to_edge/decompose.h"

/* The node that is rewritten, and its operand. */
struct site {
    struct nuc_graph *g;
    struct nuc_node *node, *x;
};

static struct site site_of(struct nuc_graph *g, struct nuc_node *node)
{
    return (struct site){g, node, nuc_operand(g, node, NUC_SELF)};
}

static struct nuc_node *map(const struct site *s, enum nuc_op op, struct nuc_node *x)
{
    return nuc_insert_unary(s->g, s->node, op, x);
}

static struct nuc_node *with_number(const struct site *s, enum nuc_op op, struct nuc_node *x, double number)
{
    return nuc_insert_with_number(s->g, s->node, op, x, number);
}

static struct nuc_node *pair(const struct site *s, enum nuc_op op, struct nuc_node *a, struct nuc_node *b)
{
    return nuc_insert_binary(s->g, s->node, op, a, b);
}

/* A number of the operand's type. */
static struct nuc_node *number(const struct site *s, double value)
{
    return nuc_insert_constant(s->g, s->node, s->x->vals[0].dtype, value);
}

static struct nuc_node *choose(const struct site *s, struct nuc_node *condition, struct nuc_node *yes,
                               struct nuc_node *no)
{
    return nuc_emit(s->g, s->node, NUC_OP_WHERE, s->node,
                    NUC_ARGS(nuc_node_arg(condition), nuc_node_arg(yes), nuc_node_arg(no)));
}

static bool is_integer(const struct site *s)
{
    return !nuc_is_floating(s->x->vals[0].dtype);
}

static double scalar(const struct site *s, uint32_t index, double fallback)
{
    return nuc_scalar(s->node, index, fallback);
}

/* ---- exponentials, logarithms ---- */

struct nuc_node *nuc_to_exp2(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);

    return nuc_emit(g, node, NUC_OP_POW_OF_SCALAR, node, NUC_ARGS(nuc_float_arg(2.0), nuc_node_arg(s.x)));
}

struct nuc_node *nuc_to_erfc(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);

    return pair(&s, NUC_OP_SUB, nuc_insert_constant(g, node, NUC_F32, 1.0), map(&s, NUC_OP_ERF, s.x));
}

/* log(1 + exp(x beta)) / beta; x where x beta is above the threshold. */
struct nuc_node *nuc_to_softplus(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    double beta = scalar(&s, NUC_ARG(SOFTPLUS, beta), 1.0);
    bool scaled = !nuc_numbers_equal(beta, 1.0);
    struct nuc_node *y = scaled ? with_number(&s, NUC_OP_MUL, s.x, beta) : s.x;
    struct nuc_node *above = with_number(&s, NUC_OP_GT, y, scalar(&s, NUC_ARG(SOFTPLUS, threshold), 20.0));

    y = map(&s, NUC_OP_LOG1P, map(&s, NUC_OP_EXP, y));
    return choose(&s, above, s.x, scaled ? with_number(&s, NUC_OP_DIV, y, beta) : y);
}

/* x tanh(log(1 + exp(x))): where the exponential is infinite the tangent is 1. */
struct nuc_node *nuc_to_mish(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *y = map(&s, NUC_OP_LOG1P, map(&s, NUC_OP_EXP, s.x));

    return pair(&s, NUC_OP_MUL, s.x, map(&s, NUC_OP_TANH, y));
}

/* min(x, 0) - log(1 + exp(-|x|)) */
struct nuc_node *nuc_to_log_sigmoid(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *y = map(&s, NUC_OP_EXP, map(&s, NUC_OP_NEG, map(&s, NUC_OP_ABS, s.x)));

    return pair(&s, NUC_OP_SUB, with_number(&s, NUC_OP_MINIMUM, s.x, 0.0), map(&s, NUC_OP_LOG1P, y));
}

/* ---- elu under other names ---- */

static struct nuc_node *elu(const struct site *s, double alpha, double scale, double input_scale)
{
    return nuc_emit(
        s->g, s->node, NUC_OP_ELU, s->node,
        NUC_ARGS(nuc_node_arg(s->x), nuc_float_arg(alpha), nuc_float_arg(scale), nuc_float_arg(input_scale)));
}

struct nuc_node *nuc_to_selu(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);

    return elu(&s, NUC_SELU_ALPHA, NUC_SELU_SCALE, 1.0);
}

struct nuc_node *nuc_to_celu(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    double alpha = scalar(&s, NUC_ARG(CELU, alpha), 1.0);

    return elu(&s, alpha, 1.0, 1.0 / alpha);
}

/* ---- thresholds ---- */

struct nuc_node *nuc_to_clamp(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *clamp = nuc_insert(g, node, NUC_OP_CLAMP, node);
    bool low = node->op == NUC_OP_CLAMP_MIN;

    nuc_copy_arg(g, clamp, NUC_SELF, node, NUC_SELF);
    nuc_copy_arg(g, clamp, low ? NUC_ARG(CLAMP, min) : NUC_ARG(CLAMP, max), node, NUC_ARG(CLAMP_MIN, min));
    nuc_set_val(g, clamp, &node->vals[0]);
    return clamp;
}

/* NaN stays. */
struct nuc_node *nuc_to_hardshrink(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    double lambd = scalar(&s, NUC_ARG(HARDSHRINK, lambd), 0.5);

    return choose(&s, with_number(&s, NUC_OP_LE, map(&s, NUC_OP_ABS, s.x), lambd), number(&s, 0.0), s.x);
}

struct nuc_node *nuc_to_softshrink(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    double lambd = scalar(&s, NUC_ARG(SOFTSHRINK, lambd), 0.5);
    struct nuc_node *inner =
        nuc_emit(g, node, NUC_OP_CLAMP, node, NUC_ARGS(nuc_node_arg(s.x), nuc_float_arg(-lambd), nuc_float_arg(lambd)));

    return pair(&s, NUC_OP_SUB, s.x, inner);
}

struct nuc_node *nuc_to_threshold(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    double threshold = scalar(&s, NUC_ARG(THRESHOLD, threshold), 0.0);
    struct nuc_node *below = with_number(&s, NUC_OP_LE, s.x, threshold);

    return choose(&s, below, number(&s, scalar(&s, NUC_ARG(THRESHOLD, value), 0.0)), s.x);
}

/* ---- rounding ---- */

struct nuc_node *nuc_to_frac(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);

    return pair(&s, NUC_OP_SUB, s.x, map(&s, NUC_OP_TRUNC, s.x));
}

struct nuc_node *nuc_to_round(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    int64_t decimals = nuc_integer(node, NUC_ARG(ROUND_DECIMALS, decimals), 0);
    enum nuc_op before = decimals < 0 ? NUC_OP_DIV : NUC_OP_MUL, after = decimals < 0 ? NUC_OP_MUL : NUC_OP_DIV;
    double power = pow(10.0, fabs((double)decimals));

    if (decimals == 0 || is_integer(&s))
        return map(&s, NUC_OP_ROUND, s.x);
    return with_number(&s, after, map(&s, NUC_OP_ROUND, with_number(&s, before, s.x, power)), power);
}

/* ---- products ---- */

/* Truths are multiplied as integers. */
struct nuc_node *nuc_to_square(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *x = s.x->vals[0].dtype == NUC_BOOL ? nuc_insert_cast(g, node, s.x, NUC_I64) : s.x;

    return pair(&s, NUC_OP_MUL, x, x);
}

struct nuc_node *nuc_to_scaled(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    double factor = node->op == NUC_OP_DEG2RAD ? M_PI / 180.0 : 180.0 / M_PI;

    return nuc_insert_binary(g, node, NUC_OP_MUL, s.x, nuc_insert_constant(g, node, NUC_F32, factor));
}

/* sin(pi x) / (pi x); 1 at 0 */
struct nuc_node *nuc_to_sinc(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *y = nuc_insert_binary(g, node, NUC_OP_MUL, s.x, nuc_insert_constant(g, node, NUC_F32, M_PI));
    struct nuc_node *quotient = pair(&s, NUC_OP_DIV, map(&s, NUC_OP_SIN, y), y);

    return choose(&s, with_number(&s, NUC_OP_EQ, y, 0.0), nuc_insert_constant(g, node, NUC_F32, 1.0), quotient);
}

/* Powers that torch takes by multiplications and roots; the others stay. */
struct nuc_node *nuc_to_pow(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    double exponent = scalar(&s, NUC_ARG(POW_SCALAR, exponent), 1.0);
    bool square = nuc_numbers_equal(fabs(exponent), 2.0);

    if (node->vals[0].dtype != s.x->vals[0].dtype || (is_integer(&s) && exponent < 0.0))
        return nuc_to_same(g, node);
    if (nuc_numbers_equal(exponent, 0.5))
        return map(&s, NUC_OP_SQRT, s.x);
    if (nuc_numbers_equal(exponent, -0.5))
        return map(&s, NUC_OP_RSQRT, s.x);
    if (nuc_numbers_equal(exponent, -1.0))
        return map(&s, NUC_OP_RECIPROCAL, s.x);
    if (!square && !nuc_numbers_equal(exponent, 3.0))
        return nuc_to_same(g, node);
    struct nuc_node *y = pair(&s, NUC_OP_MUL, s.x, s.x);
    if (!square)
        return pair(&s, NUC_OP_MUL, y, s.x);
    return exponent < 0.0 ? map(&s, NUC_OP_RECIPROCAL, y) : y;
}

/* ---- infinity, NaN, signs ---- */

/* What stands for an infinity is chosen where the value is one. */
static struct nuc_node *replace_infinity(const struct site *s, struct nuc_node *y, double infinity, double value)
{
    struct nuc_node *instead = number(s, value); /* made first: the order of arguments is the compiler's choice */

    return choose(s, with_number(s, NUC_OP_EQ, s->x, infinity), instead, y);
}

/* Integers are what they are. */
struct nuc_node *nuc_to_nan_to_num(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);

    if (is_integer(&s))
        return s.x;
    struct nuc_node *instead = number(&s, scalar(&s, NUC_ARG(NAN_TO_NUM, nan), 0.0));
    struct nuc_node *y = choose(&s, map(&s, NUC_OP_ISNAN, s.x), instead, s.x);
    y = replace_infinity(&s, y, HUGE_VAL, scalar(&s, NUC_ARG(NAN_TO_NUM, posinf), (double)FLT_MAX));
    return replace_infinity(&s, y, -HUGE_VAL, scalar(&s, NUC_ARG(NAN_TO_NUM, neginf), -(double)FLT_MAX));
}

struct nuc_node *nuc_to_isfinite(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);

    if (is_integer(&s))
        return pair(&s, NUC_OP_EQ, s.x, s.x);
    return with_number(&s, NUC_OP_LE, map(&s, NUC_OP_ABS, s.x), (double)FLT_MAX);
}

/* The inverse of -0 is negative, too. */
struct nuc_node *nuc_to_signbit(struct nuc_graph *g, struct nuc_node *node)
{
    struct site s = site_of(g, node);
    struct nuc_node *negative = with_number(&s, NUC_OP_LT, s.x, 0.0);

    if (is_integer(&s))
        return negative;
    return pair(&s, NUC_OP_LOGICAL_OR, negative, with_number(&s, NUC_OP_LT, map(&s, NUC_OP_RECIPROCAL, s.x), 0.0));
}
