/* Clamping and batch normalization. */
#include <math.h>
#include <string.h>

#include "compiler/eval/eval_private.h"

/* ---- clamping: relu, relu6, hardtanh, clamp. NaN stays NaN. ---- */

struct clamp {
    float low, high;
};

struct clamp_run {
    struct clamp clamp;
    const float *in;
    float *out;
};

static void prepare_clamp(struct nuc_eval_call *c, double low, double high)
{
    struct clamp *clamp = nuc_alloc(c->cx, sizeof *clamp);

    nuc_eval_want_float(c, 0);
    *clamp = (struct clamp){(float)low, (float)high};
    c->state = clamp;
}

static void prepare_relu(struct nuc_eval_call *c)
{
    prepare_clamp(c, 0.0, (double)INFINITY);
}

static void prepare_relu6(struct nuc_eval_call *c)
{
    prepare_clamp(c, 0.0, 6.0);
}

static void prepare_hardtanh(struct nuc_eval_call *c)
{
    prepare_clamp(c, nuc_eval_number(c, 1, -1.0), nuc_eval_number(c, 2, 1.0));
}

/* min and max may be None. Where they cross, max wins. */
static void prepare_bounds(struct nuc_eval_call *c)
{
    prepare_clamp(c, nuc_eval_number(c, 1, -(double)INFINITY), nuc_eval_number(c, 2, (double)INFINITY));
}

static void clamp_range(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct clamp_run *r = arg;
    const float *in = r->in;
    float *out = r->out;
    float low = r->clamp.low, high = r->clamp.high;

    (void)worker;
    for (size_t i = begin; i < end; i++) {
        float v = in[i] < low ? low : in[i];
        out[i] = v > high ? high : v;
    }
}

static void run_clamp(const struct nuc_eval_call *c)
{
    const struct clamp *clamp = c->state;
    struct clamp_run r = {*clamp, nuc_eval_in(c, 0), c->out[0]};
    size_t elements = (size_t)nuc_elements(nuc_eval_out_meta(c, 0));

    nuc_parallel_for(c->pool, elements, (double)elements, clamp_range, &r);
}

const struct nuc_eval_op nuc_eval_relu = {.prepare = prepare_relu, .run = run_clamp};
const struct nuc_eval_op nuc_eval_relu6 = {.prepare = prepare_relu6, .run = run_clamp};
const struct nuc_eval_op nuc_eval_hardtanh = {.prepare = prepare_hardtanh, .run = run_clamp};
const struct nuc_eval_op nuc_eval_clamp = {.prepare = prepare_bounds, .run = run_clamp};

/* ---- batch normalization with running statistics: input * scale + shift for each channel ---- */

enum { BN_INPUT, BN_WEIGHT, BN_BIAS, BN_MEAN, BN_VAR };
enum { BN_TRAINING = 5, BN_EPS = 7, EDGE_BN_EPS = 6 };

struct batch_norm {
    float eps;
    size_t batch, channels, inner;
};

static void prepare_bn(struct nuc_eval_call *c, double eps)
{
    struct batch_norm *bn = nuc_alloc(c->cx, sizeof *bn);
    const struct nuc_meta *in = nuc_eval_in_meta(c, BN_INPUT);

    if (in->rank < 2)
        nuc_eval_fail(c, "the input has no channel dimension");
    nuc_eval_want_float(c, BN_INPUT);
    bn->eps = (float)eps;
    bn->batch = (size_t)in->sizes[0];
    bn->channels = (size_t)in->sizes[1];
    bn->inner = nuc_eval_product(in, 2, in->rank);
    for (uint32_t arg = BN_WEIGHT; arg <= BN_VAR; arg++) {
        bool required = arg >= BN_MEAN;
        if (required || nuc_eval_has_in(c, arg))
            nuc_eval_want(c, arg, NUC_F32);
        if (nuc_eval_has_in(c, arg) && (size_t)nuc_elements(nuc_eval_in_meta(c, arg)) != bn->channels)
            nuc_eval_fail(c, "argument %u does not have one element a channel", (unsigned)arg);
    }
    c->state = bn;
}

static void prepare_aten_bn(struct nuc_eval_call *c)
{
    if (nuc_eval_int(c, BN_TRAINING, 0) != 0)
        nuc_eval_fail(c, "it normalizes in training mode; export the model after eval()");
    prepare_bn(c, nuc_eval_number(c, BN_EPS, 1e-5));
}

static void prepare_edge_bn(struct nuc_eval_call *c)
{
    prepare_bn(c, nuc_eval_number(c, EDGE_BN_EPS, 1e-5));
}

struct batch_norm_run {
    const struct batch_norm *bn;
    const float *in, *weight, *bias, *mean, *var;
    float *out;
};

/* torch fuses the last product with the sum; in double the product is exact, so one rounding is left here too. */
static void normalize_planes(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct batch_norm_run *r = arg;
    size_t inner = r->bn->inner;

    (void)worker;
    for (size_t p = begin; p < end; p++) {
        size_t ch = p % r->bn->channels;
        float inverse = 1.0f / sqrtf(r->var[ch] + r->bn->eps);
        float scale = r->weight == NULL ? inverse : inverse * r->weight[ch];
        float shift = fmaf(-r->mean[ch], scale, r->bias == NULL ? 0.0f : r->bias[ch]);
        const float *in = r->in + p * inner;
        float *out = r->out + p * inner;
        for (size_t i = 0; i < inner; i++)
            out[i] = (float)((double)in[i] * (double)scale + (double)shift);
    }
}

/* The saved mean and deviation of the Edge operator are empty in inference. */
static void run_bn(const struct nuc_eval_call *c)
{
    const struct batch_norm *bn = c->state;
    struct batch_norm_run r = {bn,
                               nuc_eval_in(c, BN_INPUT),
                               nuc_eval_in(c, BN_WEIGHT),
                               nuc_eval_in(c, BN_BIAS),
                               nuc_eval_in(c, BN_MEAN),
                               nuc_eval_in(c, BN_VAR),
                               c->out[0]};

    for (uint32_t v = 1; v < c->node->n_vals; v++)
        memset(c->out[v], 0, nuc_bytes(nuc_eval_out_meta(c, v)));
    nuc_parallel_for(c->pool, bn->batch * bn->channels, (double)(bn->batch * bn->channels * bn->inner),
                     normalize_planes, &r);
}

const struct nuc_eval_op nuc_eval_batch_norm = {.prepare = prepare_aten_bn, .run = run_bn};
const struct nuc_eval_op nuc_eval_edge_batch_norm = {.prepare = prepare_edge_bn, .run = run_bn};
