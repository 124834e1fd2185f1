/*
 * Output channels of int8 layers whose result is one value for every input. Training that drives the weights of a
 * channel to zero leaves such channels: a scale made of nothing but tiny weights makes a bias of almost 2^31 of an
 * ordinary one. Kernels that are fast because sums are bounded would have to refuse the whole layer for them.
 */
#ifndef NUC_ALGORITHMS_CONSTANT_CHANNELS_H
#define NUC_ALGORITHMS_CONSTANT_CHANNELS_H

#include "device/base/fixed_point.h"
#include "host/context.h"

/* Where the weights of a channel lie, and what is made of its sum. Strides in weights. */
struct nuc_channels {
    int64_t channels, of_group;           /* output channels, and those of a group of a convolution */
    int64_t group_stride, channel_stride; /* to the weights of the next group, of the next channel of a group */
    int64_t rows, row_stride;             /* a channel has rows of */
    int64_t row, stride;                  /* weights */
    int32_t input_zero, output_zero;      /* zero points; that of the weights is 0 */
    int32_t low, high;                    /* results are clamped to */
    bool one_multiplier;                  /* of all channels: it stays as it is */
};

/* The constants of a layer. `weights` and `bias` are pointed at copies in the context's arena when they change. */
struct nuc_channel_constants {
    const int8_t *weights;
    size_t n_weights;
    const int32_t *bias;            /* of each channel; NULL: none, and nothing is changed */
    struct nuc_multiplier *rescale; /* of each channel, or of all with `one_multiplier`; written to */
};

/*
 * Each channel of which interval arithmetic over all int8 inputs, padding included, shows that
 * clamp(nuc_requantize(bias + sum w (x - input_zero), rescale) + output_zero) is one value, and that the sum does not
 * overflow, gets weights of 0 and a bias of at most 2^24 in magnitude that makes this value, with a multiplier of its
 * own where its old one allows no such bias or shifts by more than 22. A common multiplier may leave the bias larger,
 * never larger than it was. Returns how many channels changed.
 */
int64_t nuc_fold_constant_channels(struct nuc_context *cx, const struct nuc_channels *shape,
                                   struct nuc_channel_constants *constants);

#endif
