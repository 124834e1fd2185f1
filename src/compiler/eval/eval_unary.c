/*
 * Functions of one float32 element, in the steps in which torch's vector code takes them (aten/src/ATen/native/cpu).
 * Transcendental functions are computed in double and rounded once, so that they do not depend on the host's float
 * library.
 */
#include <math.h>

#include "compiler/eval/eval_private.h"

typedef float (*element_fn)(float x, float param);
typedef void (*range_fn)(const float *in, float *out, size_t count, float param);

static inline __attribute__((always_inline)) void each(element_fn fn, const float *in, float *out, size_t count,
                                                       float param)
{
    for (size_t i = 0; i < count; i++)
        out[i] = fn(in[i], param);
}

static float exponential(float x, float param)
{
    (void)param;
    return (float)exp((double)x);
}

static float absolute(float x, float param)
{
    (void)param;
    return fabsf(x);
}

static float negative(float x, float param)
{
    (void)param;
    return -x;
}

static float logarithm(float x, float param)
{
    (void)param;
    return (float)log((double)x);
}

static float square_root(float x, float param)
{
    (void)param;
    return sqrtf(x);
}

static float inverse_root(float x, float param)
{
    (void)param;
    return 1.0f / sqrtf(x);
}

static float sigmoid(float x, float param)
{
    (void)param;
    return 1.0f / (1.0f + exponential(-x, 0.0f));
}

static float tangent(float x, float param)
{
    (void)param;
    return (float)tanh((double)x);
}

static float silu(float x, float param)
{
    (void)param;
    return x / (1.0f + exponential(-x, 0.0f));
}

/* clamp(x + 3, 0, 6); NaN stays NaN. */
static float hard_ramp(float x)
{
    float v = x + 3.0f;

    v = v < 0.0f ? 0.0f : v;
    return v > 6.0f ? 6.0f : v;
}

static float hard_swish(float x, float param)
{
    (void)param;
    return x * hard_ramp(x) / 6.0f;
}

static float hard_sigmoid(float x, float param)
{
    (void)param;
    return hard_ramp(x) / 6.0f;
}

static float leaky(float x, float slope)
{
    return x > 0.0f ? x : x * slope;
}

static float gelu(float x, float param)
{
    (void)param;
    return x * 0.5f * (1.0f + (float)erf((double)(x * (float)M_SQRT1_2)));
}

static float gelu_tanh(float x, float param)
{
    const float beta = (float)(M_SQRT2 * M_2_SQRTPI * 0.5);

    (void)param;
    float inner = beta * fmaf(0.044715f, x * x * x, x);
    return 0.5f * x * (1.0f + (float)tanh((double)inner));
}

static void absolute_range(const float *in, float *out, size_t count, float param)
{
    each(absolute, in, out, count, param);
}

static void negative_range(const float *in, float *out, size_t count, float param)
{
    each(negative, in, out, count, param);
}

static void exponential_range(const float *in, float *out, size_t count, float param)
{
    each(exponential, in, out, count, param);
}

static void logarithm_range(const float *in, float *out, size_t count, float param)
{
    each(logarithm, in, out, count, param);
}

static void square_root_range(const float *in, float *out, size_t count, float param)
{
    each(square_root, in, out, count, param);
}

static void inverse_root_range(const float *in, float *out, size_t count, float param)
{
    each(inverse_root, in, out, count, param);
}

static void sigmoid_range(const float *in, float *out, size_t count, float param)
{
    each(sigmoid, in, out, count, param);
}

static void tangent_range(const float *in, float *out, size_t count, float param)
{
    each(tangent, in, out, count, param);
}

static void silu_range(const float *in, float *out, size_t count, float param)
{
    each(silu, in, out, count, param);
}

static void hard_swish_range(const float *in, float *out, size_t count, float param)
{
    each(hard_swish, in, out, count, param);
}

static void hard_sigmoid_range(const float *in, float *out, size_t count, float param)
{
    each(hard_sigmoid, in, out, count, param);
}

static void leaky_range(const float *in, float *out, size_t count, float param)
{
    each(leaky, in, out, count, param);
}

static void gelu_range(const float *in, float *out, size_t count, float param)
{
    each(gelu, in, out, count, param);
}

static void gelu_tanh_range(const float *in, float *out, size_t count, float param)
{
    each(gelu_tanh, in, out, count, param);
}

/* The function, and its work in multiply-accumulates. */
struct unary_row {
    range_fn fn;
    double cost;
};

static const struct unary_row *find_row(enum nuc_op op)
{
    static const struct unary_row rows[NUC_OP_COUNT] = {
        [NUC_OP_ABS] = {absolute_range, 1.0},
        [NUC_OP_ABS_] = {absolute_range, 1.0},
        [NUC_OP_EDGE_ABS] = {absolute_range, 1.0},
        [NUC_OP_NEG] = {negative_range, 1.0},
        [NUC_OP_NEG_] = {negative_range, 1.0},
        [NUC_OP_EDGE_NEG] = {negative_range, 1.0},
        [NUC_OP_EXP] = {exponential_range, 30.0},
        [NUC_OP_EXP_] = {exponential_range, 30.0},
        [NUC_OP_EDGE_EXP] = {exponential_range, 30.0},
        [NUC_OP_LOG] = {logarithm_range, 30.0},
        [NUC_OP_LOG_] = {logarithm_range, 30.0},
        [NUC_OP_EDGE_LOG] = {logarithm_range, 30.0},
        [NUC_OP_SQRT] = {square_root_range, 10.0},
        [NUC_OP_SQRT_] = {square_root_range, 10.0},
        [NUC_OP_EDGE_SQRT] = {square_root_range, 10.0},
        [NUC_OP_RSQRT] = {inverse_root_range, 20.0},
        [NUC_OP_RSQRT_] = {inverse_root_range, 20.0},
        [NUC_OP_EDGE_RSQRT] = {inverse_root_range, 20.0},
        [NUC_OP_SIGMOID] = {sigmoid_range, 40.0},
        [NUC_OP_SIGMOID_] = {sigmoid_range, 40.0},
        [NUC_OP_EDGE_SIGMOID] = {sigmoid_range, 40.0},
        [NUC_OP_TANH] = {tangent_range, 60.0},
        [NUC_OP_TANH_] = {tangent_range, 60.0},
        [NUC_OP_EDGE_TANH] = {tangent_range, 60.0},
        [NUC_OP_SILU] = {silu_range, 40.0},
        [NUC_OP_SILU_] = {silu_range, 40.0},
        [NUC_OP_HARDSWISH] = {hard_swish_range, 2.0},
        [NUC_OP_HARDSWISH_] = {hard_swish_range, 2.0},
        [NUC_OP_EDGE_HARDSWISH] = {hard_swish_range, 2.0},
        [NUC_OP_HARDSIGMOID] = {hard_sigmoid_range, 2.0},
        [NUC_OP_HARDSIGMOID_] = {hard_sigmoid_range, 2.0},
        [NUC_OP_LEAKY_RELU] = {leaky_range, 1.0},
        [NUC_OP_LEAKY_RELU_] = {leaky_range, 1.0},
        [NUC_OP_EDGE_LEAKY_RELU] = {leaky_range, 1.0},
        [NUC_OP_GELU] = {gelu_range, 60.0},
        [NUC_OP_EDGE_GELU] = {gelu_range, 60.0},
    };

    return &rows[op];
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
    *u = (struct unary){row->fn, row->cost, 0.0f};
    if (row->fn == leaky_range)
        u->param = (float)nuc_eval_number(c, 1, 0.01);
    if (row->fn == gelu_range && arg != NULL && arg->kind == NUC_ARG_STRING && arg->u.string[0] == 't')
        u->fn = gelu_tanh_range;
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
