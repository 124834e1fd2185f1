/* Activations, addition, batch normalization. */
#include <math.h>
#include <string.h>

#include "compiler/eval/eval_private.h"

/* ---- clamping: relu, relu6, hardtanh. NaN stays NaN. ---- */

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

/* ---- self + alpha * other, broadcast ---- */

struct add {
    double alpha;
    size_t a_strides[NUC_MAX_RANK], b_strides[NUC_MAX_RANK];
    size_t a_step, b_step; /* along a row */
};

static void check_broadcast(const struct nuc_eval_call *c, uint32_t arg)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, arg), *out = nuc_eval_out_meta(c, 0);

    for (uint32_t i = 1; i <= in->rank; i++) {
        int64_t size = in->sizes[in->rank - i];
        if (i > out->rank || (size != 1 && size != out->sizes[out->rank - i]))
            nuc_eval_fail(c, "%s does not broadcast to %s", nuc_meta_text(c->cx, in), nuc_meta_text(c->cx, out));
    }
}

static void prepare_add(struct nuc_eval_call *c)
{
    struct add *add = nuc_alloc(c->cx, sizeof *add);
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);

    if (out->dtype != NUC_F32 && out->dtype != NUC_I32 && out->dtype != NUC_I64)
        nuc_eval_fail(c, "sums are computed in float32, int32 and int64 only");
    for (uint32_t arg = 0; arg < 2; arg++) {
        nuc_eval_want(c, arg, out->dtype);
        check_broadcast(c, arg);
    }
    add->alpha = nuc_eval_number(c, 2, 1.0);
    if (out->dtype != NUC_F32 && !(fabs(add->alpha) < 0x1p62 && add->alpha == trunc(add->alpha)))
        nuc_eval_fail(c, "alpha must be an integer to scale integers");
    nuc_eval_broadcast_strides(nuc_eval_in_meta(c, 0), out, add->a_strides);
    nuc_eval_broadcast_strides(nuc_eval_in_meta(c, 1), out, add->b_strides);
    if (out->rank > 0) {
        add->a_step = add->a_strides[out->rank - 1];
        add->b_step = add->b_strides[out->rank - 1];
    }
    c->state = add;
}

/* Integers wrap around as in torch. */
static void add_integer_row(const struct add *add, enum nuc_dtype dtype, const void *a, const void *b, void *out,
                            size_t n)
{
    uint64_t alpha = (uint64_t)(int64_t)add->alpha;

    for (size_t i = 0; i < n; i++) {
        uint64_t other = (uint64_t)nuc_eval_load_int(dtype, b, i * add->b_step) * alpha;
        uint64_t sum = (uint64_t)nuc_eval_load_int(dtype, a, i * add->a_step) + other;
        if (dtype == NUC_I32)
            ((int32_t *)out)[i] = (int32_t)(uint32_t)sum;
        else
            ((int64_t *)out)[i] = (int64_t)sum;
    }
}

static void add_float_row(const struct add *add, const float *a, const float *b, float *out, size_t n)
{
    float alpha = (float)add->alpha;

    if (add->a_step == 1 && add->b_step == 1) {
        for (size_t i = 0; i < n; i++)
            out[i] = a[i] + alpha * b[i];
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = a[i * add->a_step] + alpha * b[i * add->b_step];
}

static void add_row(const struct add *add, enum nuc_dtype dtype, const void *a, const void *b, void *out, size_t n)
{
    if (dtype == NUC_F32)
        add_float_row(add, a, b, out, n);
    else
        add_integer_row(add, dtype, a, b, out, n);
}

static void run_add(const struct nuc_eval_call *c)
{
    const struct add *add = c->state;
    const struct nuc_meta *out = nuc_eval_out_meta(c, 0);
    size_t length = nuc_eval_row_length(out), size = nuc_dtype_size(out->dtype);
    const char *a = nuc_eval_in(c, 0), *b = nuc_eval_in(c, 1);
    char *to = c->out[0];

    if (nuc_same_sizes(nuc_eval_in_meta(c, 0), nuc_eval_in_meta(c, 1))) {
        struct add dense = *add;
        dense.a_step = dense.b_step = 1;
        add_row(&dense, out->dtype, a, b, to, (size_t)nuc_elements(out));
        return;
    }
    for (size_t row = 0; row < nuc_eval_rows(out); row++)
        add_row(add, out->dtype, a + size * nuc_eval_row_offset(out, row, add->a_strides),
                b + size * nuc_eval_row_offset(out, row, add->b_strides), to + size * row * length, length);
}

const struct nuc_eval_op nuc_eval_add = {.prepare = prepare_add, .run = run_add};

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
        float shift = (r->bias == NULL ? 0.0f : r->bias[ch]) - r->mean[ch] * scale;
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
