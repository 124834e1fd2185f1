#include <math.h>
#include <string.h>

#include "device/kernels/ref/ref.h"

/* The two input positions an output position lies between, and their weights. */
struct between {
    int32_t low, high;
    float low_weight, high_weight;
};

/* All in float32, as ExecuTorch does. Positions before the first count as the first. */
static struct between between(const struct nuc_upsample2d *u, int axis, int32_t out)
{
    struct between b = {out, out, 1.0f, 0.0f};
    float position = u->scale[axis] * (float)out;

    if (u->in_size[axis] == u->out_size[axis])
        return b;
    if (!u->align_corners) {
        position = u->scale[axis] * ((float)out + 0.5f) - 0.5f;
        position = position < 0.0f ? 0.0f : position;
    }
    float whole = floorf(position);
    int32_t last = u->in_size[axis] - 1;
    b.low = whole < (float)last ? (int32_t)whole : last;
    b.high = b.low < last ? b.low + 1 : b.low;
    float rest = position - (float)b.low;
    rest = rest > 0.0f ? rest : 0.0f;
    b.high_weight = rest < 1.0f ? rest : 1.0f;
    b.low_weight = 1.0f - b.high_weight;
    return b;
}

static float blend(const struct between *b, float low, float high)
{
    return low * b->low_weight + high * b->high_weight;
}

static float blend_both(const struct nuc_upsample2d *u, const struct between *y, const struct between *x,
                        const float *plane)
{
    const float *top = plane + y->low * u->in_strides[2];
    const float *bottom = plane + y->high * u->in_strides[2];
    ptrdiff_t left = x->low * u->in_strides[3];
    ptrdiff_t right = x->high * u->in_strides[3];

    return blend(y, blend(x, top[left], top[right]), blend(x, bottom[left], bottom[right]));
}

static void bilinear_plane(const struct nuc_upsample2d *u, const float *in, float *out)
{
    for (int32_t h = 0; h < u->out_size[0]; h++) {
        struct between y = between(u, 0, h);
        for (int32_t w = 0; w < u->out_size[1]; w++) {
            struct between x = between(u, 1, w);
            out[h * u->out_strides[2] + w * u->out_strides[3]] = blend_both(u, &y, &x, in);
        }
    }
}

void nuc_kernel_upsample_bilinear_f32(const struct nuc_upsample2d *u, const float *in, float *out)
{
    for (int32_t n = 0; n < u->batch; n++) {
        for (int32_t c = 0; c < u->channels; c++)
            bilinear_plane(u, in + n * u->in_strides[0] + c * u->in_strides[1],
                           out + n * u->out_strides[0] + c * u->out_strides[1]);
    }
}

static int32_t nearest(const struct nuc_upsample2d *u, int axis, int32_t out)
{
    float position = floorf((float)out * u->scale[axis]);
    int32_t last = u->in_size[axis] - 1;

    return position < (float)last ? (int32_t)position : last;
}

static void nearest_plane(const struct nuc_upsample2d *u, ptrdiff_t size, const uint8_t *in, uint8_t *out)
{
    for (int32_t h = 0; h < u->out_size[0]; h++) {
        const uint8_t *row = in + nearest(u, 0, h) * u->in_strides[2] * size;
        for (int32_t w = 0; w < u->out_size[1]; w++)
            memmove(out + (h * u->out_strides[2] + w * u->out_strides[3]) * size,
                    row + nearest(u, 1, w) * u->in_strides[3] * size, (size_t)size);
    }
}

void nuc_kernel_upsample_nearest(const struct nuc_upsample2d *u, size_t element_size, const void *in, void *out)
{
    ptrdiff_t size = (ptrdiff_t)element_size;

    for (int32_t n = 0; n < u->batch; n++) {
        for (int32_t c = 0; c < u->channels; c++)
            nearest_plane(u, size, (const uint8_t *)in + (n * u->in_strides[0] + c * u->in_strides[1]) * size,
                          (uint8_t *)out + (n * u->out_strides[0] + c * u->out_strides[1]) * size);
    }
}
