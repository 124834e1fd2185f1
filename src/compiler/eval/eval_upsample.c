/*
 * Upsampling of [C, H, W] or [N, C, H, W] as torch computes it (aten/src/ATen/native/UpSample.h): positions in float32
 * from the scale factors when they are given, else from the ratio of the sizes.
 */
#include <math.h>

#include "compiler/eval/eval_private.h"

enum { HEIGHT, WIDTH };
enum { INPUT, OUTPUT_SIZE, BILINEAR_ALIGN = 2, BILINEAR_FACTORS = 3, NEAREST_FACTORS = 2 };

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

static float ratio(const struct nuc_eval_call *c, uint32_t factors_arg, int d, size_t in, size_t out)
{
    const struct nuc_arg *factors = &c->node->args[factors_arg];

    if (factors->kind == NUC_ARG_FLOATS && factors->count == 2 && factors->u.floats[d] > 0.0)
        return (float)(1.0 / factors->u.floats[d]);
    if (factors->kind == NUC_ARG_INTS && factors->count == 2 && factors->u.ints[d] > 0)
        return (float)(1.0 / (double)factors->u.ints[d]);
    return (float)in / (float)out;
}

static float aligned_ratio(size_t in, size_t out)
{
    return out > 1 ? (float)(in - 1) / (float)(out - 1) : 0.0f;
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

static struct tap nearest_tap(size_t at, size_t in, float scale)
{
    float source = floorf((float)at * scale);
    size_t first = source < (float)in ? (size_t)source : in - 1;

    return (struct tap){first, first, {1.0f, 0.0f}};
}

static struct upsample *new_upsample(struct nuc_eval_call *c)
{
    struct upsample *u = nuc_alloc(c->cx, sizeof *u);
    struct nuc_eval_image in = nuc_eval_image(c, nuc_eval_in_meta(c, INPUT));
    struct nuc_eval_image out = nuc_eval_image(c, nuc_eval_out_meta(c, 0));

    nuc_eval_want_float(c, INPUT);
    u->planes = in.batch * in.channels;
    u->in[HEIGHT] = in.height;
    u->in[WIDTH] = in.width;
    u->out[HEIGHT] = out.height;
    u->out[WIDTH] = out.width;
    if ((in.height == 0 || in.width == 0) && nuc_elements(nuc_eval_out_meta(c, 0)) != 0)
        nuc_eval_fail(c, "there is nothing to enlarge in %s", nuc_meta_text(c->cx, nuc_eval_in_meta(c, INPUT)));
    c->state = u;
    return u;
}

static void prepare_bilinear(struct nuc_eval_call *c)
{
    struct upsample *u = new_upsample(c);
    bool align = nuc_eval_int(c, BILINEAR_ALIGN, 0) != 0;

    for (int d = HEIGHT; d <= WIDTH; d++) {
        float scale = align ? aligned_ratio(u->in[d], u->out[d]) : ratio(c, BILINEAR_FACTORS, d, u->in[d], u->out[d]);
        u->taps[d] = nuc_alloc_array(c->cx, u->out[d], sizeof *u->taps[d]);
        for (size_t at = 0; at < u->out[d]; at++)
            u->taps[d][at] =
                u->in[d] == u->out[d] ? (struct tap){at, at, {1.0f, 0.0f}} : linear_tap(at, u->in[d], scale, align);
    }
}

static void prepare_nearest(struct nuc_eval_call *c)
{
    struct upsample *u = new_upsample(c);

    for (int d = HEIGHT; d <= WIDTH; d++) {
        float scale = ratio(c, NEAREST_FACTORS, d, u->in[d], u->out[d]);
        u->taps[d] = nuc_alloc_array(c->cx, u->out[d], sizeof *u->taps[d]);
        for (size_t at = 0; at < u->out[d]; at++)
            u->taps[d][at] = nearest_tap(at, u->in[d], scale);
    }
}

struct upsample_run {
    const struct upsample *upsample;
    const float *in;
    float *out;
};

static float mix(const struct tap *t, float first, float second)
{
    return fmaf(second, t->weights[1], first * t->weights[0]);
}

static void bilinear_planes(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct upsample_run *r = arg;
    const struct upsample *u = r->upsample;

    (void)worker;
    for (size_t p = begin; p < end; p++) {
        float *out = r->out + p * u->out[HEIGHT] * u->out[WIDTH];
        for (size_t y = 0; y < u->out[HEIGHT]; y++) {
            const struct tap *ty = &u->taps[HEIGHT][y];
            const float *top = r->in + (p * u->in[HEIGHT] + ty->first) * u->in[WIDTH];
            const float *bottom = r->in + (p * u->in[HEIGHT] + ty->second) * u->in[WIDTH];
            for (size_t x = 0; x < u->out[WIDTH]; x++) {
                const struct tap *tx = &u->taps[WIDTH][x];
                *out++ =
                    mix(ty, mix(tx, top[tx->first], top[tx->second]), mix(tx, bottom[tx->first], bottom[tx->second]));
            }
        }
    }
}

static void nearest_planes(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct upsample_run *r = arg;
    const struct upsample *u = r->upsample;

    (void)worker;
    for (size_t p = begin; p < end; p++) {
        float *out = r->out + p * u->out[HEIGHT] * u->out[WIDTH];
        for (size_t y = 0; y < u->out[HEIGHT]; y++) {
            const float *row = r->in + (p * u->in[HEIGHT] + u->taps[HEIGHT][y].first) * u->in[WIDTH];
            for (size_t x = 0; x < u->out[WIDTH]; x++)
                *out++ = row[u->taps[WIDTH][x].first];
        }
    }
}

static void run(const struct nuc_eval_call *c, nuc_parallel_fn fn)
{
    const struct upsample *u = c->state;
    struct upsample_run r = {u, nuc_eval_in(c, INPUT), c->out[0]};
    double elements = (double)nuc_elements(nuc_eval_out_meta(c, 0));

    nuc_parallel_for(c->pool, u->planes, elements * 8.0, fn, &r);
}

static void run_bilinear(const struct nuc_eval_call *c)
{
    run(c, bilinear_planes);
}

static void run_nearest(const struct nuc_eval_call *c)
{
    run(c, nearest_planes);
}

const struct nuc_eval_op nuc_eval_upsample_bilinear = {.prepare = prepare_bilinear, .run = run_bilinear};
const struct nuc_eval_op nuc_eval_upsample_nearest = {.prepare = prepare_nearest, .run = run_nearest};
