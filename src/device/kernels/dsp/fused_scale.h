/*
 * Rescaling in one high multiply and one shift: both roundings are floors of sums, so what is added before the second
 * one, and the offset, go into the accumulator of the multiply: floor((h + 2^(s - 1)) / 2^s) + offset =
 * floor((h + 2^(s - 1) + offset * 2^s) / 2^s).
 */
#ifndef NUC_DEVICE_KERNELS_DSP_FUSED_SCALE_H
#define NUC_DEVICE_KERNELS_DSP_FUSED_SCALE_H

#include "device/kernels/dsp/packed.h"
#include "device/kernels/ref_s8/quantized.h"

/* One channel's parameters. */
struct nuc_fused {
    int32_t multiplier;
    int32_t shift; /* to the right, from 1 */
    int32_t add;   /* 2^(shift - 1) + offset * 2^shift */
};

#define NUC_FUSED_SHIFT 22 /* at most */

/* Sums have to stay below this in magnitude: twice a sum is what is multiplied. */
#define NUC_FUSED_LIMIT (1 << 30)

/* False for a scale of one half and above, and for one so small that the offset does not fit. */
static inline bool nuc_fused_of(int32_t multiplier, int32_t shift, int32_t offset, struct nuc_fused *f)
{
    if (multiplier == 0)
        shift = -1;
    f->multiplier = multiplier;
    f->shift = -shift;
    if (multiplier < 0 || shift >= 0 || shift < -NUC_FUSED_SHIFT)
        return false;
    f->add = (int32_t)(((uint32_t)offset * 2 + 1) << (f->shift - 1));
    return true;
}

/*
 * From twice the sum; not clamped. Halves of negative products are moved below the tie by the sign of the sum: where
 * that of the product is another, because it is 0, the result is the same.
 */
static inline int32_t nuc_fused_twice(int32_t twice, const struct nuc_fused *f)
{
    return nuc_smmlar(twice, f->multiplier, f->add + (twice >> 31)) >> f->shift;
}

static inline bool nuc_fused_takes(int32_t sum)
{
    return (int32_t)((uint32_t)sum + NUC_FUSED_LIMIT) > 0;
}

/* nuc_rescaled() out of line: what is not rescaled in one step is rare. */
int8_t nuc_dsp_rescaled(const struct nuc_rescale *r, int32_t channel, int32_t sum);

/* What all results are saturated to is int8: where an activation has narrower bounds, they are clamped at the end. */
void nuc_dsp_clamp(int32_t low, int32_t high, int8_t *values, ptrdiff_t count);

#endif
