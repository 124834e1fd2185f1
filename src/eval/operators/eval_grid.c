/*
 * grid_sampler_2d and _3d: values at positions of a grid, which has them from -1 to 1, x first. Written after
 * aten/src/ATen/native/GridSampler.cpp; positions and weights in float32.
 */
#include <math.h>

#include "eval/eval_call.h"

#define ARG(name) NUC_ARG(GRID_SAMPLER_2D, name)
#define SPATIAL 3

enum mode { BILINEAR, NEAREST, BICUBIC };
enum padding { ZEROS, BORDER, REFLECTION };

struct sampler {
    enum mode mode;
    enum padding padding;
    bool align;
    size_t spatial, channels, pixels; /* of the result, for each sample */
    int64_t in[SPATIAL];              /* sizes, from the last dimension on: x, y, z */
    size_t plane;
};

/* An element and its weight along one dimension; index -1: nothing there. */
struct tap {
    int64_t index;
    float weight;
};

static float reflect(float x, int64_t twice_low, int64_t twice_high)
{
    if (twice_low == twice_high)
        return 0.0f;
    float low = (float)twice_low / 2.0f, span = (float)(twice_high - twice_low) / 2.0f;
    float distance = fabsf(x - low), extra = fmodf(distance, span);
    int64_t flips = (int64_t)floorf(distance / span);
    return flips % 2 == 0 ? extra + low : span - extra + low;
}

/* Where the padding puts a position; what no integer holds is outside. */
static float settle(const struct sampler *s, float x, int64_t size)
{
    if (s->padding == REFLECTION && fabsf(x) < 0x1p30f)
        x = s->align ? reflect(x, 0, 2 * (size - 1)) : reflect(x, -1, 2 * size - 1);
    if (s->padding != ZEROS)
        x = fminf((float)(size - 1), fmaxf(x, 0.0f));
    return fabsf(x) < 0x1p31f ? x : -100.0f;
}

static struct tap tap_at(float at, float weight, int64_t size)
{
    return (struct tap){at >= 0.0f && at < (float)size ? (int64_t)at : -1, weight};
}

static float keys(float x)
{
    const float a = -0.75f;

    x = fabsf(x);
    return x <= 1.0f ? ((a + 2.0f) * x - (a + 3.0f)) * x * x + 1.0f
                     : ((a * x - 5.0f * a) * x + 8.0f * a) * x - 4.0f * a;
}

/* Returns how many there are. */
static size_t make_taps(const struct sampler *s, float coordinate, int64_t size, struct tap taps[4])
{
    float x =
        s->align ? ((coordinate + 1.0f) / 2.0f) * (float)(size - 1) : ((coordinate + 1.0f) * (float)size - 1.0f) / 2.0f;

    if (s->mode == BICUBIC) {
        float first = floorf(fabsf(x) < 0x1p31f ? x : -100.0f);
        for (int k = 0; k < 4; k++)
            taps[k] = tap_at(settle(s, first + (float)(k - 1), size), keys(x - first - (float)(k - 1)), size);
        return 4;
    }
    x = settle(s, x, size);
    if (s->mode == NEAREST) {
        taps[0] = tap_at(rintf(x), 1.0f, size);
        return 1;
    }
    float first = floorf(x);
    taps[0] = tap_at(first, first + 1.0f - x, size);
    taps[1] = tap_at(first + 1.0f, x - first, size);
    return 2;
}

static void prepare(struct nuc_eval_call *c)
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, ARG(input)), *out = nuc_eval_result(c);
    struct sampler *s = nuc_alloc(c->cx, sizeof *s);
    int64_t mode = nuc_integer(c->node, ARG(interpolation_mode), -1);
    int64_t padding = nuc_integer(c->node, ARG(padding_mode), -1);

    nuc_eval_expect_float(c, ARG(input));
    nuc_eval_expect(c, ARG(grid), NUC_F32);
    s->spatial = in->rank - 2u;
    if (mode < 0 || mode > (s->spatial == 2 ? BICUBIC : NEAREST) || padding < 0 || padding > REFLECTION)
        nuc_eval_fail(c, "interpolation mode %lld with padding mode %lld is not computed", (long long)mode,
                      (long long)padding);
    s->mode = (enum mode)mode;
    s->padding = (enum padding)padding;
    s->align = nuc_flag(c->node, ARG(align_corners));
    s->channels = (size_t)in->sizes[1];
    s->pixels = nuc_product_of_dims(out, 2, out->rank);
    s->plane = nuc_product_of_dims(in, 2, in->rank);
    for (size_t d = 0; d < SPATIAL; d++)
        s->in[d] = d < s->spatial ? in->sizes[in->rank - 1 - d] : 1;
    c->state = s;
}

/* All channels of one pixel: the taps of x inside those of y inside those of z. */
static void sample_pixel(const struct sampler *s, const float *at, const float *in, float *out)
{
    struct tap taps[SPATIAL][4] = {{{0, 1.0f}}, {{0, 1.0f}}, {{0, 1.0f}}};
    size_t count[SPATIAL] = {1, 1, 1};

    for (size_t d = 0; d < s->spatial; d++)
        count[d] = make_taps(s, at[d], s->in[d], taps[d]);
    for (size_t channel = 0; channel < s->channels; channel++)
        out[channel * s->pixels] = 0.0f;
    for (size_t i = 0; i < count[0] * count[1] * count[2]; i++) {
        const struct tap *x = &taps[0][i % count[0]], *y = &taps[1][i / count[0] % count[1]],
                         *z = &taps[2][i / count[0] / count[1]];
        if (x->index < 0 || y->index < 0 || z->index < 0)
            continue;
        size_t place = (size_t)((z->index * s->in[1] + y->index) * s->in[0] + x->index);
        for (size_t channel = 0; channel < s->channels; channel++)
            out[channel * s->pixels] += z->weight * y->weight * x->weight * in[channel * s->plane + place];
    }
}

static void run(const struct nuc_eval_call *c)
{
    const struct sampler *s = c->state;
    const float *in = nuc_eval_in(c, ARG(input)), *grid = nuc_eval_in(c, ARG(grid));
    float *out = c->out[0];

    for (size_t n = 0; n < (size_t)nuc_eval_result(c)->sizes[0]; n++) {
        for (size_t p = 0; p < s->pixels; p++)
            sample_pixel(s, grid + (n * s->pixels + p) * s->spatial, in + n * s->channels * s->plane,
                         out + n * s->channels * s->pixels + p);
    }
}

const struct nuc_eval_op nuc_eval_grid_sampler = {.prepare = prepare, .run = run};
