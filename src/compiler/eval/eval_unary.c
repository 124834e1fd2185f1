/*
 * Functions of one float32 element, in the steps in which torch's vector code takes them (aten/src/ATen/native/cpu).
 * Transcendental functions are computed in double and rounded once, so that they do not depend on the host's float
 * library.
 */
#include <assert.h>
#include <math.h>

#include "compiler/eval/eval_private.h"

typedef void (*range_fn)(const float *in, float *out, size_t count, float param);

/* clamp(x + 3, 0, 6); NaN stays NaN. */
static float hard_ramp(float x)
{
    float v = x + 3.0f;

    v = v < 0.0f ? 0.0f : v;
    return v > 6.0f ? 6.0f : v;
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

/*
 * One row per function: the operator, its work in multiply-accumulates, and the value at x. `param` is the operator's
 * number, where it has one.
 */
#define FUNCTIONS(ROW)                                                                                                 \
    ROW(ABS, 1.0, fabsf(x))                                                                                            \
    ROW(NEG, 1.0, -x)                                                                                                  \
    ROW(EXP, 30.0, rounded_exp(x))                                                                                     \
    ROW(LOG, 30.0, (float)log((double)x))                                                                              \
    ROW(SQRT, 10.0, sqrtf(x))                                                                                          \
    ROW(RSQRT, 20.0, 1.0f / sqrtf(x))                                                                                  \
    ROW(SIGMOID, 40.0, 1.0f / (1.0f + rounded_exp(-x)))                                                                \
    ROW(TANH, 60.0, (float)tanh((double)x))                                                                            \
    ROW(SILU, 40.0, x / (1.0f + rounded_exp(-x)))                                                                      \
    ROW(HARDSWISH, 2.0, x *hard_ramp(x) / 6.0f)                                                                        \
    ROW(HARDSIGMOID, 2.0, hard_ramp(x) / 6.0f)                                                                         \
    ROW(LEAKY_RELU, 1.0, x > 0.0f ? x : x * param)                                                                     \
    ROW(GELU, 60.0, x * 0.5f * (1.0f + (float)erf((double)(x * (float)M_SQRT1_2))))

/* The loop of a function, over a range of elements. */
#define LOOP(name, cost, value)                                                                                        \
    static void range_##name(const float *in, float *out, size_t count, float param)                                   \
    {                                                                                                                  \
        (void)param;                                                                                                   \
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

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].op == op)
            return &rows[i];
    }
    return NULL;
}

struct unary {
    range_fn fn;
    double cost;
    float param;
};

/* Argument 1 is a slope, the name of gelu's approximation, or missing. */
static void prepare(struct nuc_eval_call *c)
{
    struct unary *u = nuc_alloc(c->cx, sizeof *u);
    const struct unary_row *row = find_row(c->node->op);
    const struct nuc_arg *arg = c->node->n_args > 1 ? &c->node->args[1] : NULL;

    nuc_eval_want_float(c, 0);
    assert(row != NULL);
    *u = (struct unary){row->fn, row->cost, 0.0f};
    if (arg != NULL && arg->kind == NUC_ARG_FLOAT)
        u->param = (float)arg->u.f;
    if (c->node->op == NUC_OP_GELU && arg->kind == NUC_ARG_STRING && arg->u.string[0] == 't')
        u->fn = range_gelu_tanh;
    c->state = u;
}

struct unary_run {
    const struct unary *unary;
    const float *in;
    float *out;
};

static void compute_range(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct unary_run *r = arg;

    (void)worker;
    r->unary->fn(r->in + begin, r->out + begin, end - begin, r->unary->param);
}

static void run(const struct nuc_eval_call *c)
{
    const struct unary *u = c->state;
    struct unary_run r = {u, nuc_eval_in(c, 0), c->out[0]};
    size_t elements = (size_t)nuc_elements(nuc_eval_out_meta(c, 0));

    nuc_parallel_for(c->pool, elements, u->cost * (double)elements, compute_range, &r);
}

const struct nuc_eval_op nuc_eval_unary = {.prepare = prepare, .run = run};
