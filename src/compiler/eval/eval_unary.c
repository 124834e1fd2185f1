/*
 * Functions of one float32 element, in the steps in which torch's vector code takes them (aten/src/ATen/native/cpu).
 * Transcendental functions are computed in double and rounded once, so that they do not depend on the host's float
 * library.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "compiler/eval/eval_private.h"

/* The operator's numbers, where it has any. */
struct numbers {
    float slope, low, high;
};

typedef void (*range_fn)(const float *in, float *out, size_t count, struct numbers n);

/* NaN stays NaN. Where the bounds cross, the upper one wins. */
static float clamped(float x, float low, float high)
{
    float v = x < low ? low : x;

    return v > high ? high : v;
}

static float hard_ramp(float x)
{
    return clamped(x + 3.0f, 0.0f, 6.0f);
}

static float rounded_exp(float x)
{
    return (float)exp((double)x);
}

static float gelu_tanh(float x)
{
    const float beta = (float)(M_SQRT2 * M_2_SQRTPI * 0.5);
    float inner = beta * fmaf(0.044715f, x * x * x, x);

    return 0.5f * x * (1.0f + (float)tanh((double)inner));
}

/* One row per function: the operator, its work in multiply-accumulates, and the value at x. */
#define FUNCTIONS(ROW)                                                                                                 \
    ROW(CLAMP, 1.0, clamped(x, n.low, n.high))                                                                         \
    ROW(ABS, 1.0, fabsf(x))                                                                                            \
    ROW(NEG, 1.0, -x)                                                                                                  \
    ROW(EXP, 30.0, rounded_exp(x))                                                                                     \
    ROW(LOG, 30.0, (float)log((double)x))                                                                              \
    ROW(SQRT, 10.0, sqrtf(x))                                                                                          \
    ROW(RSQRT, 20.0, 1.0f / sqrtf(x))                                                                                  \
    ROW(SIGMOID, 40.0, 1.0f / (1.0f + rounded_exp(-x)))                                                                \
    ROW(ATAN, 60.0, (float)atan((double)x))                                                                            \
    ROW(TANH, 60.0, (float)tanh((double)x))                                                                            \
    ROW(SILU, 40.0, x / (1.0f + rounded_exp(-x)))                                                                      \
    ROW(HARDSWISH, 2.0, x *hard_ramp(x) / 6.0f)                                                                        \
    ROW(HARDSIGMOID, 2.0, hard_ramp(x) / 6.0f)                                                                         \
    ROW(LEAKY_RELU, 1.0, x > 0.0f ? x : x * n.slope)                                                                   \
    ROW(GELU, 60.0, x * 0.5f * (1.0f + (float)erf((double)(x * (float)M_SQRT1_2))))

/* The loop of a function, over a range of elements. */
#define LOOP(name, cost, value)                                                                                        \
    static void range_##name(const float *in, float *out, size_t count, struct numbers n)                              \
    {                                                                                                                  \
        (void)n;                                                                                                       \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const float x = in[i];                                                                                     \
            out[i] = value;                                                                                            \
        }                                                                                                              \
    }
FUNCTIONS(LOOP)
LOOP(gelu_tanh, 60.0, gelu_tanh(x))

struct unary_row {
    enum nuc_op op;
    range_fn fn;
    double cost;
};

static const struct unary_row *find_row(enum nuc_op op)
{
#define ROW(name, cost, value) {NUC_OP_##name, range_##name, cost},
    static const struct unary_row rows[] = {FUNCTIONS(ROW)};
    size_t i = 0;

    while (rows[i].op != op) {
        i++;
        assert(i < sizeof rows / sizeof rows[0]);
    }
    return &rows[i];
}

struct unary {
    range_fn fn;
    double cost;
    struct numbers numbers;
};

/* relu, relu6 and hardtanh are clamps with other bounds. */
static void prepare(struct nuc_eval_call *c)
{
    enum nuc_op op = nuc_has_bounds(c->node) ? NUC_OP_CLAMP : c->node->op;
    const struct unary_row *row = find_row(op);
    struct nuc_bounds bounds = nuc_bounds_of(c->node);
    struct unary *u = nuc_alloc(c->cx, sizeof *u);

    nuc_eval_expect_float(c, NUC_SELF);
    *u = (struct unary){row->fn, row->cost, {0.0f, (float)bounds.min, (float)bounds.max}};
    if (op == NUC_OP_LEAKY_RELU)
        u->numbers.slope = (float)nuc_scalar(c->node, NUC_ARG(LEAKY_RELU, negative_slope), 0.0);
    if (op == NUC_OP_GELU && strcmp(c->node->args[NUC_ARG(GELU, approximate)].u.string, "tanh") == 0)
        u->fn = range_gelu_tanh;
    c->state = u;
}

static void compute_range(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct unary *u = c->state;
    const float *in = nuc_eval_in(c, NUC_SELF);
    float *out = c->out[0];

    u->fn(in + part.begin, out + part.begin, part.end - part.begin, u->numbers);
}

static void run(const struct nuc_eval_call *c)
{
    const struct unary *u = c->state;
    size_t elements = nuc_eval_elements(c);

    nuc_parallel_for(c->pool, elements, u->cost * (double)elements, compute_range, c);
}

const struct nuc_eval_op nuc_eval_unary = {.prepare = prepare, .run = run};
