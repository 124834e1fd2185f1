/*
 * Softmax in fixed point by gemmlowp's exponential and reciprocal: what kernels for different instructions share. Qm.n
 * is a raw int32 with m integer and n fractional bits.
 */
#ifndef NUC_DEVICE_KERNELS_REF_S8_SOFTMAX_H
#define NUC_DEVICE_KERNELS_REF_S8_SOFTMAX_H

#include "device/kernels/ref_s8/quantized.h"

/* Differences of two int8. */
#define NUC_SOFTMAX_VALUES 256

#define NUC_SOFTMAX_CENTER 1895147668 /* exp(-1/8) */
#define NUC_SOFTMAX_THIRD 715827883

/* exp(-2^k / 4) */
#define NUC_SOFTMAX_FACTORS 7
static const int32_t nuc_softmax_factors[NUC_SOFTMAX_FACTORS] = {1672461947, 1302514674, 790015084, 290630308,
                                                                 39332535,   720401,     242};

static inline int32_t nuc_softmax_shift_left(int32_t v, int bits)
{
    return nuc_saturate_i32((int64_t)v * ((int64_t)1 << bits));
}

/* 1 / (1 + v), v in [0, 1), both Q0.31: Newton's method on half the denominator, from 48/17 - 32/17 d in Q2.29. */
static inline int32_t nuc_softmax_reciprocal(int32_t v)
{
    int64_t twice = (int64_t)v + INT32_MAX;
    int32_t half = (int32_t)((twice + (twice >= 0 ? 1 : -1)) / 2);
    int32_t x = 1515870810 + nuc_doubling_high_mul(half, -1010580540);

    for (int i = 0; i < 3; i++) {
        int32_t error = (1 << 29) - nuc_doubling_high_mul(half, x);
        x = nuc_wrap_add(x, nuc_softmax_shift_left(nuc_doubling_high_mul(x, error), 2));
    }
    return nuc_softmax_shift_left(x, 1);
}

/* An element is its exponential times the factor, shifted to the right. */
struct nuc_softmax_scale {
    int32_t factor;
    int exponent;
};

/* Of a row's sum; bits: 35, of a result of 16 bits 27. */
static inline struct nuc_softmax_scale nuc_softmax_scale_of(uint32_t sum, int bits)
{
    int headroom = sum != 0 ? __builtin_clz(sum) : 32;
    int32_t fraction = (int32_t)((sum != 0 ? sum << headroom : 0) ^ (uint32_t)INT32_MIN);

    if (bits - headroom > 31) /* all is below half a step */
        return (struct nuc_softmax_scale){0, 31};
    return (struct nuc_softmax_scale){nuc_softmax_reciprocal(fraction), bits - headroom};
}

#endif
