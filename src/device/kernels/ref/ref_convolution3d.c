#include "device/kernels/ref/ref.h"

/*
 * The input position that tap `k` of the kernel takes for output position `o`, or -1 when there is none: outside, or
 * between the inputs that a transposed convolution spreads.
 */
static int32_t position(const struct nuc_conv3d *c, int d, int32_t o, int32_t k)
{
    int64_t tap = (int64_t)k * c->dilation[d], at;

    if (c->transposed) {
        at = (int64_t)o + c->padding[d] - tap;
        if (at < 0 || at % c->stride[d] != 0)
            return -1;
        at /= c->stride[d];
    } else {
        at = (int64_t)o * c->stride[d] - c->padding[d] + tap;
    }
    return at >= 0 && at < c->in_size[d] ? (int32_t)at : -1;
}

/* Taps of one channel and one depth of the kernel for the output at [.., y, x]. */
static float plane_product(const struct nuc_conv3d *c, const float *in, const float *weight, int32_t y, int32_t x,
                           float accumulator)
{
    for (int32_t ky = 0; ky < c->kernel[1]; ky++) {
        int32_t in_y = position(c, 1, y, ky);
        for (int32_t kx = 0; kx < c->kernel[2] && in_y >= 0; kx++) {
            int32_t in_x = position(c, 2, x, kx);
            if (in_x >= 0)
                accumulator += in[in_y * c->in_strides[3] + in_x * c->in_strides[4]] *
                               weight[ky * c->weight_strides[3] + kx * c->weight_strides[4]];
        }
    }
    return accumulator;
}

/* One output element: input channels, of which one lies `step` elements of the weight after another; depths; planes. */
static float element(const struct nuc_conv3d *c, const float *in, const float *weight, ptrdiff_t step,
                     const int32_t out[3])
{
    int32_t channels = c->in_channels / c->groups;
    float accumulator = 0.0f;

    for (int32_t channel = 0; channel < channels; channel++) {
        for (int32_t kz = 0; kz < c->kernel[0]; kz++) {
            int32_t z = position(c, 0, out[0], kz);
            if (z >= 0)
                accumulator =
                    plane_product(c, in + channel * c->in_strides[1] + z * c->in_strides[2],
                                  weight + channel * step + kz * c->weight_strides[2], out[1], out[2], accumulator);
        }
    }
    return accumulator;
}

/* One output channel of one volume. */
static void volume(const struct nuc_conv3d *c, const float *in, const float *weight, ptrdiff_t step, const float *bias,
                   float *out)
{
    int32_t at[3];

    for (at[0] = 0; at[0] < c->out_size[0]; at[0]++) {
        for (at[1] = 0; at[1] < c->out_size[1]; at[1]++) {
            for (at[2] = 0; at[2] < c->out_size[2]; at[2]++) {
                float value = element(c, in, weight, step, at);
                out[at[0] * c->out_strides[2] + at[1] * c->out_strides[3] + at[2] * c->out_strides[4]] =
                    bias != NULL ? value + *bias : value;
            }
        }
    }
}

void nuc_kernel_convolution3d_f32(const struct nuc_conv3d *c, const float *in, const float *weight, const float *bias,
                                  float *out)
{
    int32_t in_per_group = c->in_channels / c->groups;
    int32_t out_per_group = c->out_channels / c->groups;
    ptrdiff_t step = c->weight_strides[c->transposed ? 0 : 1];

    for (int32_t n = 0; n < c->batch; n++) {
        for (int32_t oc = 0; oc < c->out_channels; oc++) {
            ptrdiff_t first = (ptrdiff_t)(oc / out_per_group) * in_per_group;
            const float *of_channel =
                c->transposed ? weight + first * c->weight_strides[0] + (oc % out_per_group) * c->weight_strides[1]
                              : weight + oc * c->weight_strides[0];
            volume(c, in + n * c->in_strides[0] + first * c->in_strides[1], of_channel, step,
                   bias != NULL ? bias + oc : NULL, out + n * c->out_strides[0] + oc * c->out_strides[1]);
        }
    }
}
