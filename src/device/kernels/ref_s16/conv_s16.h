/* What the convolutions of int16 share: how sums become values. */
#ifndef NUC_DEVICE_KERNELS_REF_S16_CONV_S16_H
#define NUC_DEVICE_KERNELS_REF_S16_CONV_S16_H

#include "device/kernels/ref_s16/quantized_s16.h"
#include "device/kernels/ref_s8/conv_window.h"

static inline int16_t nuc_s16_result(const struct nuc_conv_s16 *c, int32_t o, int64_t sum)
{
    const struct nuc_rescale *r = &c->c.rescale;
    const struct nuc_multiplier m = {r->multipliers[o], r->shifts[o]};
    int64_t bias = c->long_bias != NULL ? c->long_bias[o] : c->c.bias != NULL ? c->c.bias[o] : 0;
    uint64_t biased = (uint64_t)sum + (uint64_t)bias;
    int32_t scaled =
        c->is_long ? nuc_requantize_long((int64_t)biased, m) : nuc_requantize((int32_t)(uint32_t)biased, m);

    return (int16_t)nuc_clamp_i32(scaled, r->low, r->high);
}

#endif
