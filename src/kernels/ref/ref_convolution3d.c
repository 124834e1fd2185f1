#include "kernels/ref/ref.h"

static bool inside(int64_t position, int32_t limit)
{
    return position >= 0 && position < limit;
}

/* Taps of one channel and one depth of the kernel; `y` and `x` are the window's first position. */
static float plane_product(const struct nuc_conv3d *c, const float *in, const float *weight, int64_t y, int64_t x,
                           float accumulator)
{
    for (int32_t ky = 0; ky < c->kernel[1]; ky++) {
        int64_t in_y = y + (int64_t)ky * c->dilation[1];
        for (int32_t kx = 0; kx < c->kernel[2] && inside(in_y, c->in_size[1]); kx++) {
            int64_t in_x = x + (int64_t)kx * c->dilation[2];
            if (inside(in_x, c->in_size[2]))
                accumulator += in[(ptrdiff_t)in_y * c->in_strides[3] + (ptrdiff_t)in_x * c->in_strides[4]] *
                               weight[ky * c->weight_strides[3] + kx * c->weight_strides[4]];
        }
    }
    return accumulator;
}

/* One output element: channels, then depths, rows and columns; `first` is the window's first position. */
static float element(const struct nuc_conv3d *c, const float *in, const float *weight, const int64_t first[3])
{
    int32_t channels = c->in_channels / c->groups;
    float accumulator = 0.0f;

    for (int32_t channel = 0; channel < channels; channel++) {
        for (int32_t kz = 0; kz < c->kernel[0]; kz++) {
            int64_t z = first[0] + (int64_t)kz * c->dilation[0];
            if (inside(z, c->in_size[0]))
                accumulator = plane_product(c, in + channel * c->in_strides[1] + (ptrdiff_t)z * c->in_strides[2],
                                            weight + channel * c->weight_strides[1] + kz * c->weight_strides[2],
                                            first[1], first[2], accumulator);
        }
    }
    return accumulator;
}

/* One output channel of one volume. */
static void volume(const struct nuc_conv3d *c, const float *in, const float *weight, const float *bias, float *out)
{
    for (int32_t oz = 0; oz < c->out_size[0]; oz++) {
        for (int32_t oy = 0; oy < c->out_size[1]; oy++) {
            for (int32_t ox = 0; ox < c->out_size[2]; ox++) {
                const int64_t first[3] = {(int64_t)oz * c->stride[0] - c->padding[0],
                                          (int64_t)oy * c->stride[1] - c->padding[1],
                                          (int64_t)ox * c->stride[2] - c->padding[2]};
                float value = element(c, in, weight, first);
                out[oz * c->out_strides[2] + oy * c->out_strides[3] + ox * c->out_strides[4]] =
                    bias != NULL ? value + *bias : value;
            }
        }
    }
}

void nuc_ref_convolution3d_f32(const struct nuc_conv3d *c, const float *in, const float *weight, const float *bias,
                               float *out)
{
    int32_t in_per_group = c->in_channels / c->groups;
    int32_t out_per_group = c->out_channels / c->groups;

    for (int32_t n = 0; n < c->batch; n++) {
        for (int32_t oc = 0; oc < c->out_channels; oc++) {
            ptrdiff_t first = (ptrdiff_t)(oc / out_per_group) * in_per_group;
            volume(c, in + n * c->in_strides[0] + first * c->in_strides[1], weight + oc * c->weight_strides[0],
                   bias != NULL ? bias + oc : NULL, out + n * c->out_strides[0] + oc * c->out_strides[1]);
        }
    }
}
