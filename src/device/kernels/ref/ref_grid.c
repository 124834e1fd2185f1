/* Sampling at positions of a grid. Source: aten/src/ATen/native/GridSamplerUtils.h and GridSampler.cpp. */
#include <math.h>

#include "device/kernels/ref/ref.h"

/* Four taps at most along a dimension. */
#define MAX_TAPS 4

/* Positions along one dimension with their weights; -1 where there is no element. */
struct taps {
    int32_t count;
    int32_t at[MAX_TAPS];
    float weight[MAX_TAPS];
};

/* Back and forth between `low` and `low + span`. */
static float reflected(float x, float low, float span)
{
    if (!(span > 0.0f))
        return 0.0f;
    x = fabsf(x - low);
    float flips = floorf(x / span);
    float rest = x - flips * span;

    return fmodf(flips, 2.0f) < 1.0f ? rest + low : span - rest + low;
}

static float clipped(float x, float last)
{
    return fminf(last, fmaxf(x, 0.0f));
}

/* The position that the padding makes of one outside. */
static float padded(const struct nuc_grid *g, float x, int32_t size)
{
    float last = (float)(size - 1);

    if (g->padding == NUC_GRID_BORDER)
        return clipped(x, last);
    if (g->padding == NUC_GRID_REFLECTION)
        return clipped(g->align_corners ? reflected(x, 0.0f, last) : reflected(x, -0.5f, (float)size), last);
    return x;
}

/* What no int32 can hold, NaN above all, is outside. */
static float bounded(float x)
{
    return x > -2147483648.0f && x < 2147483520.0f ? x : -100.0f;
}

static float position(const struct nuc_grid *g, float x, int32_t size)
{
    return g->align_corners ? (x + 1.0f) / 2.0f * (float)(size - 1) : ((x + 1.0f) * (float)size - 1.0f) / 2.0f;
}

static void add_tap(struct taps *t, float at, float weight, int32_t size)
{
    t->at[t->count] = at >= 0.0f && at < (float)size ? (int32_t)at : -1;
    t->weight[t->count++] = weight;
}

/* Keys' kernel with a = -0.75 at distances 1 + t, t, 1 - t, 2 - t. */
static float near_weight(float x)
{
    return ((-0.75f + 2.0f) * x - (-0.75f + 3.0f)) * x * x + 1.0f;
}

static float far_weight(float x)
{
    return ((-0.75f * x - 5.0f * -0.75f) * x + 8.0f * -0.75f) * x - 4.0f * -0.75f;
}

static void cubic_taps(const struct nuc_grid *g, float x, int32_t size, struct taps *t)
{
    float first = floorf(bounded(x)), rest = x - first;
    const float weights[MAX_TAPS] = {far_weight(rest + 1.0f), near_weight(rest), near_weight(1.0f - rest),
                                     far_weight(2.0f - rest)};

    for (int k = 0; k < MAX_TAPS; k++)
        add_tap(t, bounded(padded(g, first + (float)(k - 1), size)), weights[k], size);
}

static struct taps taps_at(const struct nuc_grid *g, float coordinate, int32_t size)
{
    struct taps t = {0, {0}, {0}};
    float x = position(g, coordinate, size);

    if (g->mode == NUC_GRID_BICUBIC) {
        cubic_taps(g, x, size, &t);
        return t;
    }
    x = bounded(padded(g, x, size));
    if (g->mode == NUC_GRID_NEAREST) {
        add_tap(&t, nearbyintf(x), 1.0f, size);
        return t;
    }
    float first = floorf(x);
    add_tap(&t, first, first + 1.0f - x, size);
    add_tap(&t, first + 1.0f, x - first, size);
    return t;
}

/* The weighted sum of the taps of all dimensions, in one channel. */
static float sample(const struct nuc_grid *g, const struct taps t[3], const float *in)
{
    float sum = 0.0f;

    for (int32_t z = 0; z < t[0].count; z++) {
        for (int32_t y = 0; y < t[1].count; y++) {
            float row = t[0].weight[z] * t[1].weight[y];
            for (int32_t x = 0; x < t[2].count; x++) {
                if (t[0].at[z] >= 0 && t[1].at[y] >= 0 && t[2].at[x] >= 0)
                    sum += row * t[2].weight[x] *
                           in[t[0].at[z] * g->in_strides[2] + t[1].at[y] * g->in_strides[3] +
                              t[2].at[x] * g->in_strides[4]];
            }
        }
    }
    return sum;
}

static void sample_channels(const struct nuc_grid *g, const float *at, const float *in, float *out)
{
    const struct taps one = {1, {0}, {1.0f}};
    struct taps t[3] = {one, one, one};

    /* The grid has x first. */
    for (int32_t d = 0; d < g->spatial; d++)
        t[2 - d] = taps_at(g, at[d * g->grid_strides[4]], g->in_size[2 - d]);
    for (int32_t c = 0; c < g->channels; c++)
        out[c * g->out_strides[1]] = sample(g, t, in + c * g->in_strides[1]);
}

void nuc_kernel_grid_sample_f32(const struct nuc_grid *g, const float *in, const float *grid, float *out)
{
    for (int32_t n = 0; n < g->batch; n++) {
        for (int32_t z = 0; z < g->out_size[0]; z++) {
            for (int32_t y = 0; y < g->out_size[1]; y++) {
                for (int32_t x = 0; x < g->out_size[2]; x++)
                    sample_channels(g,
                                    grid + n * g->grid_strides[0] + z * g->grid_strides[1] + y * g->grid_strides[2] +
                                        x * g->grid_strides[3],
                                    in + n * g->in_strides[0],
                                    out + n * g->out_strides[0] + z * g->out_strides[2] + y * g->out_strides[3] +
                                        x * g->out_strides[4]);
            }
        }
    }
}
