/*
 * Upsampling of [N, C, H, W] as torch computes it (aten/src/ATen/native/UpSample.h): positions in float32
 * from the scale factors when they are given, else from the ratio of the sizes.
 */
#include <math.h>

#include "eval/eval_call.h"

enum { HEIGHT, WIDTH };

/* Where an output coordinate comes from: weights[0] of input first and weights[1] of input second. */
struct tap {
    size_t first, second;
    float weights[2];
};

struct upsample {
    size_t planes;
    size_t in[2], out[2];
    struct tap *taps[2];
};

static float ratio(const struct nuc_eval_call *c, int d, size_t in, size_t out)
{
    bool linear = c->node->op == NUC_OP_UPSAMPLE_BILINEAR;
    const struct nuc_arg *factors = nuc_arg_at(c->node, linear ? NUC_ARG(UPSAMPLE_BILINEAR, scale_factors)
                                                               : NUC_ARG(UPSAMPLE_NEAREST, scale_factors));

    if (factors->kind == NUC_ARG_FLOATS && factors->count == 2 && factors->u.floats[d] > 0.0)
        return (float)(1.0 / factors->u.floats[d]);
    return (float)in / (float)out;
}

/* The input between whose pixels the output pixel lies; pixels are squares unless corners are aligned. */
static struct tap linear_tap(size_t at, size_t in, float scale, bool align)
{
    float source = align ? scale * (float)at : scale * ((float)at + 0.5f) - 0.5f;

    source = source < 0.0f ? 0.0f : source;
    size_t first = source < (float)in ? (size_t)source : in - 1;
    first = first < in ? first : in - 1;
    float weight = source - (float)first;
    weight = weight > 1.0f ? 1.0f : weight;
    return (struct tap){first, first + (first + 1 < in), {1.0f - weight, weight}};
}

static void prepare(struct nuc_eval_call *c)
{
    struct upsample *u = nuc_alloc(c->cx, sizeof *u);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF), *out = nuc_eval_result(c);
    bool linear = c->node->op == NUC_OP_UPSAMPLE_BILINEAR;
    bool align = linear && nuc_flag(c->node, NUC_ARG(UPSAMPLE_BILINEAR, align_corners));

    nuc_eval_expect_float(c, NUC_SELF);
    if (nuc_elements(in) == 0 && nuc_elements(out) != 0)
        nuc_eval_fail(c, "there is nothing to enlarge in %s", nuc_meta_text(c->cx, in));
    u->planes = nuc_product_of_dims(in, 0, 2);
    for (int d = HEIGHT; d <= WIDTH; d++) {
        u->in[d] = (size_t)in->sizes[2 + d];
        u->out[d] = (size_t)out->sizes[2 + d];
        size_t size = u->in[d], count = u->out[d];
        float aligned = count > 1 ? (float)(size - 1) / (float)(count - 1) : 0.0f;
        float scale = align ? aligned : ratio(c, d, size, count);
        u->taps[d] = nuc_alloc_array(c->cx, count, sizeof *u->taps[d]);
        for (size_t at = 0; at < count; at++) {
            float source = floorf((float)at * scale);
            size_t first = linear ? at : source < (float)size ? (size_t)source : size - 1;
            if (linear && size != count)
                u->taps[d][at] = linear_tap(at, size, scale, align);
            else
                u->taps[d][at] = (struct tap){first, first, {1.0f, 0.0f}};
        }
    }
    c->state = u;
}

static float mix(const struct tap *t, float first, float second)
{
    return fmaf(second, t->weights[1], first * t->weights[0]);
}

/* Without mixing, as it would make NaN of infinity, where the nearest pixel is taken. */
static void compute_planes(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct upsample *u = c->state;
    const bool linear = c->node->op == NUC_OP_UPSAMPLE_BILINEAR;
    const float *in = nuc_eval_in(c, NUC_SELF);

    for (size_t p = part.begin; p < part.end; p++) {
        float *out = (float *)c->out[0] + p * u->out[HEIGHT] * u->out[WIDTH];
        for (size_t y = 0; y < u->out[HEIGHT]; y++) {
            const struct tap *ty = &u->taps[HEIGHT][y];
            const float *top = in + (p * u->in[HEIGHT] + ty->first) * u->in[WIDTH];
            const float *bottom = in + (p * u->in[HEIGHT] + ty->second) * u->in[WIDTH];
            for (size_t x = 0; x < u->out[WIDTH]; x++) {
                const struct tap *tx = &u->taps[WIDTH][x];
                float above = linear ? mix(tx, top[tx->first], top[tx->second]) : top[tx->first];
                *out++ = linear ? mix(ty, above, mix(tx, bottom[tx->first], bottom[tx->second])) : above;
            }
        }
    }
}

static void run(const struct nuc_eval_call *c)
{
    const struct upsample *u = c->state;

    nuc_parallel_for(c->pool, u->planes, (double)nuc_eval_elements(c) * 8.0, compute_planes, c);
}

const struct nuc_eval_op nuc_eval_upsample = {.prepare = prepare, .run = run};
