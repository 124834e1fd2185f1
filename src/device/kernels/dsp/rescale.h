/* Clamping, and sums in registers. */
#ifndef NUC_DEVICE_KERNELS_DSP_RESCALE_H
#define NUC_DEVICE_KERNELS_DSP_RESCALE_H

#include "device/kernels/dsp/packed.h"
#include "device/kernels/ref_s8/quantized.h"

/* What clamping needs beyond saturation to int8. */
struct nuc_clamp {
    int32_t low, high;
    bool narrow; /* than int8 */
};

static inline struct nuc_clamp nuc_clamp_of(int32_t low, int32_t high)
{
    return (struct nuc_clamp){low, high, low != INT8_MIN || high != INT8_MAX};
}

static inline int32_t nuc_bounded(const struct nuc_clamp *b, int32_t v)
{
    v = nuc_ssat8(v);
    return b->narrow ? nuc_clamp_i32(v, b->low, b->high) : v;
}

/* Four sums in registers: arrays would be kept in memory. */
struct nuc_quad {
    int32_t a, b, c, d;
};

static inline void nuc_bound_quad(const struct nuc_clamp *b, struct nuc_quad *q)
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
