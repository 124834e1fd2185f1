/*
 * Complex numbers of two int16 in one word, the real part below. Sums wrap around, products and quotients are rounded
 * to units of 2^-15, halves up.
 */
#ifndef NUC_DEVICE_SIGNAL_COMPLEX_S16_H
#define NUC_DEVICE_SIGNAL_COMPLEX_S16_H

#include <stddef.h>
#include <stdint.h>

#include "device/base/instruction.h"

static inline uint32_t nuc_load_complex(const int16_t *at)
{
    uint32_t word;

    __builtin_memcpy(&word, at, sizeof word); /* the builtin: freestanding code would call a function */
    return word;
}

static inline void nuc_store_complex(int16_t *at, uint32_t word)
{
    __builtin_memcpy(at, &word, sizeof word);
}

/* The lower half of one, the upper half of the other. */
static inline uint32_t nuc_halves_of(uint32_t low, uint32_t high)
{
    return (low & 0xFFFF) | (high & 0xFFFF0000);
}

#ifndef __ARM_FEATURE_DSP
static inline uint32_t nuc_complex(int32_t re, int32_t im)
{
    return ((uint32_t)re & 0xFFFF) | (uint32_t)im << 16;
}
#endif

/* Of the real and the imaginary parts of a and b, which are lanes 0 and 1. */
#define NUC_PAIRS(name, re, im, instruction)                                                                           \
    NUC_INSTRUCTION(uint32_t, name, (uint32_t a, uint32_t b), nuc_complex(re, im), instruction " %0, %1, %2", "=r",    \
                    "r"(a), "r"(b))
NUC_PAIRS(nuc_add_complex, nuc_lane(a, 0) + nuc_lane(b, 0), nuc_lane(a, 1) + nuc_lane(b, 1), "sadd16")
NUC_PAIRS(nuc_sub_complex, nuc_lane(a, 0) - nuc_lane(b, 0), nuc_lane(a, 1) - nuc_lane(b, 1), "ssub16")
/* a - i b, a + i b */
NUC_PAIRS(nuc_add_turned, nuc_lane(a, 0) + nuc_lane(b, 1), nuc_lane(a, 1) - nuc_lane(b, 0), "ssax")
NUC_PAIRS(nuc_sub_turned, nuc_lane(a, 0) - nuc_lane(b, 1), nuc_lane(a, 1) + nuc_lane(b, 0), "sasx")
/* (a + b) / 2, (a - b) / 2, rounded down */
NUC_PAIRS(nuc_half_sum, (nuc_lane(a, 0) + nuc_lane(b, 0)) >> 1, (nuc_lane(a, 1) + nuc_lane(b, 1)) >> 1, "shadd16")
NUC_PAIRS(nuc_half_difference, (nuc_lane(a, 0) - nuc_lane(b, 0)) >> 1, (nuc_lane(a, 1) - nuc_lane(b, 1)) >> 1,
          "shsub16")
#undef NUC_PAIRS

/* The parts of products in units of 2^-30, plus a half in those of 2^-15. No factor has a part of -32768: no sum of
 * products overflows. */
#define NUC_PRODUCTS(name, sum, instruction)                                                                           \
    NUC_INSTRUCTION(int32_t, name, (uint32_t a, uint32_t b), (sum) + (1 << 14), instruction " %0, %1, %2, %3", "=r",   \
                    "r"(a), "r"(b), "r"(1 << 14))
NUC_PRODUCTS(nuc_product_re, nuc_lane(a, 0) * nuc_lane(b, 0) - nuc_lane(a, 1) * nuc_lane(b, 1), "smlsd")
NUC_PRODUCTS(nuc_product_im, nuc_lane(a, 0) * nuc_lane(b, 1) + nuc_lane(a, 1) * nuc_lane(b, 0), "smladx")
NUC_PRODUCTS(nuc_scaled_re, nuc_lane(a, 0) * nuc_lane(b, 0), "smlabb")
NUC_PRODUCTS(nuc_scaled_im, nuc_lane(a, 1) * nuc_lane(b, 0), "smlatb")
#undef NUC_PRODUCTS

/* Both parts in units of 2^-15. */
NUC_INSTRUCTION(uint32_t, nuc_join_products, (int32_t re, int32_t im), nuc_complex(re >> 15, im >> 15),
                "pkhtb %0, %1, %2, asr #15", "=r", "r"((uint32_t)im << 1), "r"(re))

static inline uint32_t nuc_mul_complex(uint32_t a, uint32_t b)
{
    return nuc_join_products(nuc_product_re(a, b), nuc_product_im(a, b));
}

/* Divided by 2 or 4, as kissfft divides: times the largest int16 over the number, which is rounded down. */
static inline uint32_t nuc_div_complex(uint32_t a, int32_t by)
{
    const uint32_t part = INT16_MAX / (uint32_t)by;

    return nuc_join_products(nuc_scaled_re(a, part), nuc_scaled_im(a, part));
}

#endif
