/* Where convolutions read, of int8 and of int16. */
#ifndef NUC_DEVICE_KERNELS_REF_S8_CONV_WINDOW_H
#define NUC_DEVICE_KERNELS_REF_S8_CONV_WINDOW_H

#include "device/kernels/ref_s8/quantized.h"

/* What an output channel reads: its weights, whose taps lie `tap` apart, over input channels from `first` on. */
struct nuc_conv_channel {
    const int8_t *weight;
    int32_t first, depth;
    ptrdiff_t tap;
};

static inline struct nuc_conv_channel nuc_conv_channel_of(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind,
                                                          const int8_t *weight, int32_t o)
{
    int32_t depth = c->in_channels / c->groups, of_group = c->out_channels / c->groups;
    ptrdiff_t taps = (ptrdiff_t)c->kernel[0] * c->kernel[1];
    int32_t first = o / of_group * depth;

    if (kind == NUC_DEPTHWISE)
        return (struct nuc_conv_channel){weight + o, first, 1, c->out_channels};
    if (kind == NUC_TRANSPOSED)
        return (struct nuc_conv_channel){weight + o % of_group * taps * c->in_channels + first, first, depth,
                                         c->in_channels};
    return (struct nuc_conv_channel){weight + o * taps * depth, first, depth, depth};
}

/* The input position that output position `at` reads through tap `k`; below 0 where there is none. */
static inline int32_t nuc_conv_place(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind, int axis, int32_t at,
                                     int32_t k)
{
    int32_t from = kind == NUC_TRANSPOSED ? at + c->padding[axis] - k * c->dilation[axis]
                                          : at * c->stride[axis] - c->padding[axis] + k * c->dilation[axis];

    if (kind == NUC_TRANSPOSED && from % c->stride[axis] != 0)
        return -1;
    from = kind == NUC_TRANSPOSED ? from / c->stride[axis] : from;
    return from < c->in_size[axis] ? from : -1;
}

#endif
