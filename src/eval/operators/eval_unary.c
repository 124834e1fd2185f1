/*
 * Functions of one element, in the steps in which torch's vector code takes them (aten/src/ATen/native/cpu).
 * Transcendental functions are computed in double and rounded once, so that they do not depend on the host's float
 * library. Integers are converted to float32 where there is no row for them.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "eval/eval_call.h"
#include "eval/eval_rounded.h"
#include "host/clones.h"

/* Elements converted to float32 at a time. */
#define CHUNK 256

/* The operator's numbers, where it has any. */
struct numbers {
    float a, b, c;
};

typedef void (*range_fn)(const float *in, float *out, size_t count, struct numbers n);

/* NaN stays NaN, and is the result of bounds that are. Where the bounds cross, the upper one wins. */
static float clamped(float x, float low, float high)
{
    float v = x < low || isnan(low) ? low : x;

    return v > high ? high : v;
}

static float hard_ramp(float x)
{
    return clamped(x + 3.0f, 0.0f, 6.0f);
}

/* Of the argument of tanh. */
static float gelu_inner(float x)
{
    const float beta = (float)(M_SQRT2 * M_2_SQRTPI * 0.5);

    return beta * fmaf(0.044715f, x * x * x, x);
}

/* scale x above 0, else alpha scale (exp(x) - 1): of selu and celu, too. */
static float elu(float x, float alpha, float scale, float input_scale)
{
    return x <= 0.0f ? (float)expm1((double)(x * input_scale)) * (alpha * scale) : x * scale;
}

static float logit(float x, float low)
{
    float v = low < 0.0f ? x : clamped(x, low, 1.0f - low);

    return (float)log((double)(v / (1.0f - v)));
}

/* torch takes the product above the threshold for the result itself. */
static float softplus(float x, float beta, float threshold)
{
    return x * beta > threshold ? x : (float)log1p(exp((double)(x * beta))) / beta;
}

static float log_sigmoid(float x)
{
    return (x < 0.0f ? x : 0.0f) - (float)log1p(exp(-fabs((double)x)));
}

/* NaN stays. */
static float hardshrink(float x, float lambd)
{
    return x >= -lambd && x <= lambd ? 0.0f : x;
}

static float softshrink(float x, float lambd)
{
    return x > lambd ? x - lambd : x < -lambd ? x + lambd : x * 0.0f;
}

/* What stands for NaN and the infinities. */
static float made_finite(float x, float nan, float high, float low)
{
    if (x != x)
        return nan;
    return isinf(x) ? (x > 0.0f ? high : low) : x;
}

static float sinc(float x)
{
    float y = (float)M_PI * x;

    return x < 0.0f || x > 0.0f || x != x ? (float)sin((double)y) / y : 1.0f;
}

/* exp(x^2) erfc(x), from 25 on by its asymptotic series: the next term is less than 1e-8 of it. */
static float erfcx(double x)
{
    double r = 1.0 / (x * x), series = 1.0 - 0.5 * r * (1.0 - 1.5 * r);

    return (float)(x < 25.0 ? exp(x * x) * erfc(x) : series / x * (M_2_SQRTPI * 0.5));
}

static float sign(float x)
{
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
}

/* a: 10 to the power of the decimals; b: whether they are negative. */
static float round_decimals(float x, float power, bool negative)
{
    return negative ? rintf(x / power) * power : rintf(x * power) / power;
}

static bool is_true(float x)
{
    return x < 0.0f || x > 0.0f || x != x;
}

/* One row per function: the operator, its work in multiply-accumulates, and the value at x. A truth is 1 or 0. */
#define FUNCTIONS(ROW)                                                                                                 \
    ROW(CLAMP, 1.0, clamped(x, n.a, n.b))                                                                              \
    ROW(ABS, 1.0, fabsf(x))                                                                                            \
    ROW(NEG, 1.0, -x)                                                                                                  \
    ROW(LOG, 30.0, (float)log((double)x))                                                                              \
    ROW(SQRT, 10.0, sqrtf(x))                                                                                          \
    ROW(RSQRT, 20.0, 1.0f / sqrtf(x))                                                                                  \
    ROW(ATAN, 60.0, (float)atan((double)x))                                                                            \
    ROW(HARDSWISH, 2.0, x *hard_ramp(x) / 6.0f)                                                                        \
    ROW(HARDSIGMOID, 2.0, hard_ramp(x) / 6.0f)                                                                         \
    ROW(LEAKY_RELU, 1.0, x > 0.0f ? x : x * n.a)                                                                       \
    ROW(SIN, 60.0, (float)sin((double)x))                                                                              \
    ROW(COS, 60.0, (float)cos((double)x))                                                                              \
    ROW(TAN, 60.0, (float)tan((double)x))                                                                              \
    ROW(ASIN, 60.0, (float)asin((double)x))                                                                            \
    ROW(ACOS, 60.0, (float)acos((double)x))                                                                            \
    ROW(SINH, 60.0, (float)sinh((double)x))                                                                            \
    ROW(COSH, 60.0, (float)cosh((double)x))                                                                            \
    ROW(ASINH, 60.0, (float)asinh((double)x))                                                                          \
    ROW(ACOSH, 60.0, (float)acosh((double)x))                                                                          \
    ROW(ATANH, 60.0, (float)atanh((double)x))                                                                          \
    ROW(EXPM1, 60.0, (float)expm1((double)x))                                                                          \
    ROW(LOG1P, 60.0, (float)log1p((double)x))                                                                          \
    ROW(LOG2, 30.0, (float)log2((double)x))                                                                            \
    ROW(LOG10, 30.0, (float)log10((double)x))                                                                          \
    ROW(RECIPROCAL, 10.0, 1.0f / x)                                                                                    \
    ROW(CEIL, 1.0, ceilf(x))                                                                                           \
    ROW(FLOOR, 1.0, floorf(x))                                                                                         \
    ROW(ROUND, 1.0, rintf(x))                                                                                          \
    ROW(TRUNC, 1.0, truncf(x))                                                                                         \
    ROW(SIGN, 1.0, sign(x))                                                                                            \
    ROW(LOGIT, 40.0, logit(x, n.a))                                                                                    \
    ROW(ELU, 40.0, elu(x, n.a, n.b, n.c))                                                                              \
    ROW(BITWISE_NOT, 1.0, x)                                                                                           \
    ROW(EXP2, 30.0, (float)exp2((double)x))                                                                            \
    ROW(ERFC, 60.0, (float)erfc((double)x))                                                                            \
    ROW(ERFCX, 60.0, erfcx((double)x))                                                                                 \
    ROW(SQUARE, 1.0, x *x)                                                                                             \
    ROW(SELU, 40.0, elu(x, n.a, n.b, n.c))                                                                             \
    ROW(CELU, 40.0, elu(x, n.a, n.b, n.c))                                                                             \
    ROW(SOFTPLUS, 60.0, softplus(x, n.a, n.b))                                                                         \
    ROW(MISH, 120.0, x *(float)tanh((double)(float)log1p(exp((double)x))))                                             \
    ROW(HARDSHRINK, 1.0, hardshrink(x, n.a))                                                                           \
    ROW(SOFTSHRINK, 1.0, softshrink(x, n.a))                                                                           \
    ROW(THRESHOLD, 1.0, x <= n.a ? n.b : x)                                                                            \
    ROW(LOG_SIGMOID, 60.0, log_sigmoid(x))                                                                             \
    ROW(NAN_TO_NUM, 1.0, made_finite(x, n.a, n.b, n.c))                                                                \
    ROW(FRAC, 1.0, x - truncf(x))                                                                                      \
    ROW(ROUND_DECIMALS, 10.0, round_decimals(x, n.a, n.b < 0.0f))                                                      \
    ROW(SINC, 60.0, sinc(x))                                                                                           \
    ROW(DEG2RAD, 1.0, x *(float)(M_PI / 180.0))                                                                        \
    ROW(RAD2DEG, 1.0, x *(float)(180.0 / M_PI))                                                                        \
    ROW(LOGICAL_NOT, 1.0, is_true(x) ? 0.0f : 1.0f)                                                                    \
    ROW(ISNAN, 1.0, x != x ? 1.0f : 0.0f)                                                                              \
    ROW(ISINF, 1.0, isinf(x) ? 1.0f : 0.0f)                                                                            \
    ROW(ISFINITE, 1.0, isfinite(x) ? 1.0f : 0.0f)                                                                      \
    ROW(SIGNBIT, 1.0, signbit(x) ? 1.0f : 0.0f)

/* Functions of x and of y, which a function of eval_rounded.h makes of a third one. */
#define ROUNDED_FUNCTIONS(ROW)                                                                                         \
    ROW(EXP, 30.0, exp, x, y)                                                                                          \
    ROW(SIGMOID, 40.0, exp, -x, 1.0f / (1.0f + y))                                                                     \
    ROW(SILU, 40.0, exp, -x, x / (1.0f + y))                                                                           \
    ROW(TANH, 60.0, tanh, x, y)                                                                                        \
    ROW(GELU, 60.0, erf, x *(float)M_SQRT1_2, x * 0.5f * (1.0f + y))                                                   \
    ROW(ERF, 60.0, erf, x, y)

/* Functions that make integers of integers, which wrap around as in torch, and truths of them. */
#define INTEGER_FUNCTIONS(ROW)                                                                                         \
    ROW(CLAMP, x<n.low ? n.low : x> n.high ? n.high : x)                                                               \
    ROW(ABS, x < 0 ? (int64_t)(0 - (uint64_t)x) : x)                                                                   \
    ROW(NEG, (int64_t)(0 - (uint64_t)x))                                                                               \
    ROW(CEIL, x)                                                                                                       \
    ROW(FLOOR, x)                                                                                                      \
    ROW(ROUND, x)                                                                                                      \
    ROW(ROUND_DECIMALS, x)                                                                                             \
    ROW(TRUNC, x)                                                                                                      \
    ROW(NAN_TO_NUM, x)                                                                                                 \
    ROW(SIGN, (x > 0) - (x < 0))                                                                                       \
    ROW(SQUARE, (int64_t)((uint64_t)x * (uint64_t)x))                                                                  \
    ROW(THRESHOLD, x <= n.low ? n.high : x)                                                                            \
    ROW(BITWISE_NOT, n.low != 0 ? x == 0 : ~x)                                                                         \
    ROW(LOGICAL_NOT, x == 0)                                                                                           \
    ROW(ISNAN, 0 * x)                                                                                                  \
    ROW(ISINF, 0 * x)                                                                                                  \
    ROW(ISFINITE, 0 * x + 1)                                                                                           \
    ROW(SIGNBIT, x < 0)

/* The loop of a function, over a range of elements. */
#define LOOP(name, cost, value)                                                                                        \
    NUC_CLONES static void range_##name(const float *in, float *out, size_t count, struct numbers n)                   \
    {                                                                                                                  \
        (void)n;                                                                                                       \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const float x = in[i];                                                                                     \
            out[i] = value;                                                                                            \
        }                                                                                                              \
    }
FUNCTIONS(LOOP)

#define ROUNDED_LOOP(name, cost, function, argument, value)                                                            \
    static void range_##name(const float *in, float *out, size_t count, struct numbers n)                              \
    {                                                                                                                  \
        float arguments_of[CHUNK], results[CHUNK];                                                                     \
        (void)n;                                                                                                       \
        for (size_t at = 0, some; at < count; at += some) {                                                            \
            some = count - at < CHUNK ? count - at : CHUNK;                                                            \
            for (size_t i = 0; i < some; i++) {                                                                        \
                const float x = in[at + i];                                                                            \
                arguments_of[i] = argument;                                                                            \
            }                                                                                                          \
            nuc_eval_##function(arguments_of, results, some);                                                          \
            for (size_t i = 0; i < some; i++) {                                                                        \
                const float x = in[at + i], y = results[i];                                                            \
                (void)x;                                                                                               \
                out[at + i] = value;                                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }
ROUNDED_FUNCTIONS(ROUNDED_LOOP)
ROUNDED_LOOP(gelu_tanh, 60.0, tanh, gelu_inner(x), 0.5f * x * (1.0f + y))

#define ROW(name, cost, ...) [NUC_OP_##name] = {range_##name, cost},
static const struct unary_row {
    range_fn fn;
    double cost;
} unary_rows[NUC_OP_COUNT] = {FUNCTIONS(ROW) ROUNDED_FUNCTIONS(ROW)};
#undef ROW

struct whole_numbers {
    int64_t low, high;
};

typedef int64_t (*integer_fn)(int64_t x, struct whole_numbers n);

#define INTEGER_FUNCTION(name, value)                                                                                  \
    static int64_t integer_##name(int64_t x, struct whole_numbers n)                                                   \
    {                                                                                                                  \
        (void)n;                                                                                                       \
        return value;                                                                                                  \
    }
INTEGER_FUNCTIONS(INTEGER_FUNCTION)

/* NULL: integers are converted to float32. */
#define ROW(name, value) [NUC_OP_##name] = integer_##name,
static const integer_fn integer_functions[NUC_OP_COUNT] = {INTEGER_FUNCTIONS(ROW)};
#undef ROW

struct unary {
    range_fn fn;
    integer_fn integers; /* NULL: not used */
    bool clamps;         /* to two of the numbers */
    double cost;
    struct numbers numbers;
    struct whole_numbers whole;
};

/* The arguments that are an operator's numbers, and what each is when it is left out. */
static const struct {
    uint32_t arg;
    float fallback;
} arguments[NUC_OP_COUNT][3] = {
    [NUC_OP_LEAKY_RELU] = {{NUC_ARG(LEAKY_RELU, negative_slope), 0.0f}},
    [NUC_OP_LOGIT] = {{NUC_ARG(LOGIT, eps), -1.0f}},
    [NUC_OP_ELU] = {{NUC_ARG(ELU, alpha), 1.0f}, {NUC_ARG(ELU, scale), 1.0f}, {NUC_ARG(ELU, input_scale), 1.0f}},
    [NUC_OP_SOFTPLUS] = {{NUC_ARG(SOFTPLUS, beta), 1.0f}, {NUC_ARG(SOFTPLUS, threshold), 20.0f}},
    [NUC_OP_HARDSHRINK] = {{NUC_ARG(HARDSHRINK, lambd), 0.5f}},
    [NUC_OP_SOFTSHRINK] = {{NUC_ARG(SOFTSHRINK, lambd), 0.5f}},
    [NUC_OP_THRESHOLD] = {{NUC_ARG(THRESHOLD, threshold), 0.0f}, {NUC_ARG(THRESHOLD, value), 0.0f}},
    [NUC_OP_NAN_TO_NUM] = {{NUC_ARG(NAN_TO_NUM, nan), 0.0f},
                           {NUC_ARG(NAN_TO_NUM, posinf), FLT_MAX},
                           {NUC_ARG(NAN_TO_NUM, neginf), -FLT_MAX}},
};

static struct numbers numbers_of(const struct nuc_node *node)
{
    struct nuc_bounds bounds = nuc_bounds_of(node);
    float n[3] = {0.0f};

    if (node->op == NUC_OP_SELU)
        return (struct numbers){(float)NUC_SELU_ALPHA, (float)NUC_SELU_SCALE, 1.0f};
    if (node->op == NUC_OP_CELU) {
        double alpha = nuc_scalar(node, NUC_ARG(CELU, alpha), 1.0);
        return (struct numbers){(float)alpha, 1.0f, (float)(1.0 / alpha)};
    }
    if (node->op == NUC_OP_ROUND_DECIMALS) {
        int64_t decimals = nuc_integer(node, NUC_ARG(ROUND_DECIMALS, decimals), 0);
        return (struct numbers){(float)pow(10.0, fabs((double)decimals)), decimals < 0 ? -1.0f : 1.0f, 0.0f};
    }
    if (arguments[node->op][0].arg == NUC_SELF)
        return (struct numbers){(float)bounds.min, (float)bounds.max, 0.0f};
    for (int i = 0; i < 3 && arguments[node->op][i].arg != NUC_SELF; i++)
        n[i] = (float)nuc_scalar(node, arguments[node->op][i].arg, (double)arguments[node->op][i].fallback);
    return (struct numbers){n[0], n[1], n[2]};
}

static int64_t whole_number(double value)
{
    return value >= 0x1p63 ? INT64_MAX : !(value > -0x1p63) ? INT64_MIN : (int64_t)value;
}

static struct whole_numbers whole_numbers_of(const struct nuc_eval_call *c)
{
    const struct nuc_node *node = c->node;
    struct nuc_bounds bounds = nuc_bounds_of(node);

    if (node->op == NUC_OP_THRESHOLD)
        return (struct whole_numbers){whole_number(floor(nuc_scalar(node, NUC_ARG(THRESHOLD, threshold), 0.0))),
                                      whole_number(nuc_scalar(node, NUC_ARG(THRESHOLD, value), 0.0))};
    if (node->op == NUC_OP_BITWISE_NOT)
        return (struct whole_numbers){nuc_eval_result(c)->dtype == NUC_BOOL, 0};
    return (struct whole_numbers){whole_number(ceil(bounds.min)), whole_number(floor(bounds.max))};
}

/* relu, relu6, hardtanh and clamp_min are clamps with other bounds. */
static void prepare(struct nuc_eval_call *c)
{
    enum nuc_op op = nuc_has_bounds(c->node) ? NUC_OP_CLAMP : c->node->op;
    const struct unary_row *row = &unary_rows[op];
    enum nuc_dtype in = nuc_eval_in_meta(c, NUC_SELF)->dtype, out = nuc_eval_result(c)->dtype;
    bool integers = nuc_is_integer(in) && nuc_is_integer(out);
    struct unary *u = nuc_alloc(c->cx, sizeof *u);

    assert(row->fn != NULL);
    nuc_eval_check_computed(c, NUC_SELF);
    *u = (struct unary){row->fn,
                        integers ? integer_functions[op] : NULL,
                        op == NUC_OP_CLAMP,
                        row->cost,
                        numbers_of(c->node),
                        whole_numbers_of(c)};
    if (op == NUC_OP_BITWISE_NOT && u->integers == NULL)
        nuc_eval_fail(c, "%s has no bits", nuc_dtype_name(in));
    if (op == NUC_OP_GELU && strcmp(c->node->args[NUC_ARG(GELU, approximate)].u.string, "tanh") == 0)
        u->fn = range_gelu_tanh;
    c->state = u;
}

/* Through float32, some elements at a time. */
static void mixed_range(const struct nuc_eval_call *c, struct nuc_part part)
{
    const struct unary *u = c->state;
    enum nuc_dtype in = nuc_eval_in_meta(c, NUC_SELF)->dtype, out = nuc_eval_result(c)->dtype;
    const char *from = nuc_eval_in(c, NUC_SELF);
    char *to = c->out[0];
    float buffer[CHUNK], values[CHUNK];

    for (size_t at = part.begin, count; at < part.end; at += count) {
        count = part.end - at < CHUNK ? part.end - at : CHUNK;
        nuc_eval_convert(in, from + at * nuc_dtype_size(in), NUC_F32, buffer, count);
        u->fn(buffer, values, count, u->numbers);
        nuc_eval_convert(NUC_F32, values, out, to + at * nuc_dtype_size(out), count);
    }
}

static bool applies(const struct nuc_eval_call *c)
{
    return nuc_eval_in_meta(c, NUC_SELF)->dtype == NUC_F32 && nuc_eval_result(c)->dtype == NUC_F32;
}

static void apply(const struct nuc_eval_call *c, const float *in, float *out, size_t count)
{
    const struct unary *u = c->state;

    u->fn(in, out, count, u->numbers);
}

static bool describe(const struct nuc_eval_call *c, struct nuc_finish *f)
{
    const struct unary *u = c->state;

    if (!u->clamps || f->clamps || isnan(u->numbers.a) || isnan(u->numbers.b))
        return false;
    f->clamps = true;
    f->low = u->numbers.a;
    f->high = u->numbers.b;
    return true;
}

static void compute_range(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct unary *u = c->state;
    enum nuc_dtype in = nuc_eval_in_meta(c, NUC_SELF)->dtype, out = nuc_eval_result(c)->dtype;
    const void *data = nuc_eval_in(c, NUC_SELF);

    for (size_t i = part.begin; u->integers != NULL && i < part.end; i++)
        nuc_store_int(out, c->out[0], i, u->integers(nuc_int_at(in, data, i), u->whole));
    if (u->integers != NULL)
        return;
    if (!applies(c))
        mixed_range(c, part);
    else
        nuc_eval_apply(c, data, part);
}

static void run(const struct nuc_eval_call *c)
{
    const struct unary *u = c->state;
    size_t elements = nuc_eval_elements(c);

    nuc_parallel_for(c->pool, elements, u->cost * (double)elements, compute_range, c);
}

const struct nuc_eval_op nuc_eval_unary = {
    .prepare = prepare, .run = run, .apply = apply, .applies = applies, .describe = describe, .finishes = true};
