/*
 * Rescaling with a high multiply: for sums below 2^30 in magnitude and multipliers that scale down, twice the sum times
 * the multiplier, rounded to its upper word, is the doubling high multiply of the definition.
 */
#ifndef NUC_KERNELS_DSP_RESCALE_H
#define NUC_KERNELS_DSP_RESCALE_H

#include "kernels/dsp/packed.h"
#include "kernels/ref/quantized.h"

/* One channel's parameters. */
struct nuc_scale {
    int32_t multiplier;
    int32_t shift; /* to the right, 1 to 31 */
};

/* shift: -1 and below, or any for the multiplier 0. */
static inline struct nuc_scale nuc_scale_of(int32_t multiplier, int32_t shift)
{
    if (shift >= 0)
        return (struct nuc_scale){0, 1};
    return (struct nuc_scale){multiplier, -shift};
}

/* Half away from zero, plus the offset: the halves of negative numbers are moved below the tie. */
static inline int32_t nuc_scaled(int32_t sum, struct nuc_scale s, int32_t offset)
{
    int32_t high = nuc_smmulr((int32_t)((uint32_t)sum << 1), s.multiplier);

    return nuc_asr_round((int32_t)((uint32_t)high + (uint32_t)(high >> 31)), s.shift, offset);
}

/*
 * Whether sums of `count` products of an int8 input with offset and an int8 weight, plus the bias, can be scaled as
 * above in every channel: 255 * 128 * count + |bias| < 2^30, shift -1 and below or the
 * multiplier 0.
 */
bool nuc_dsp_scales(const struct nuc_rescale *r, const int32_t *bias, int32_t channels, int32_t count);

/* What clamping needs beyond saturation to int8. */
struct nuc_bounds {
    int32_t low, high;
    bool narrow; /* than int8 */
};

static inline struct nuc_bounds nuc_bounds_of(int32_t low, int32_t high)
{
    return (struct nuc_bounds){low, high, low != INT8_MIN || high != INT8_MAX};
}

static inline int32_t nuc_bounded(const struct nuc_bounds *b, int32_t v)
{
    v = nuc_ssat8(v);
    return b->narrow ? nuc_clamp_i32(v, b->low, b->high) : v;
}

/* Four sums in registers: arrays would be kept in memory. */
struct nuc_quad {
    int32_t a, b, c, d;
};

static inline void nuc_bound_quad(const struct nuc_bounds *b, struct nuc_quad *q)
{
    q->a = nuc_ssat8(q->a);
    q->b = nuc_ssat8(q->b);
    q->c = nuc_ssat8(q->c);
    q->d = nuc_ssat8(q->d);
    if (b->narrow) {
        q->a = nuc_clamp_i32(q->a, b->low, b->high);
        q->b = nuc_clamp_i32(q->b, b->low, b->high);
        q->c = nuc_clamp_i32(q->c, b->low, b->high);
        q->d = nuc_clamp_i32(q->d, b->low, b->high);
    }
}

#endif
