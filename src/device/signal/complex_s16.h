/*
 * Complex numbers of two int16 in one word, the real part below, as the Armv8-M DSP extension computes with them; the
 * same in C elsewhere. Sums wrap around, products and quotients are rounded to units of 2^-15, halves up.
 */
#ifndef NUC_DEVICE_SIGNAL_COMPLEX_S16_H
#define NUC_DEVICE_SIGNAL_COMPLEX_S16_H

#include <stddef.h>
#include <stdint.h>

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

#ifdef __ARM_FEATURE_DSP

#define NUC_PAIR_INSTRUCTION(name, instruction)                                                                        \
    static inline uint32_t name(uint32_t a, uint32_t b)                                                                \
    {                                                                                                                  \
        uint32_t result;                                                                                               \
        __asm(instruction " %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));                                              \
        return result;                                                                                                 \
    }

NUC_PAIR_INSTRUCTION(nuc_add_complex, "sadd16")
NUC_PAIR_INSTRUCTION(nuc_sub_complex, "ssub16")
NUC_PAIR_INSTRUCTION(nuc_add_turned, "ssax")  /* a - i b */
NUC_PAIR_INSTRUCTION(nuc_sub_turned, "sasx")  /* a + i b */
NUC_PAIR_INSTRUCTION(nuc_half_sum, "shadd16") /* (a + b) / 2, rounded down */
NUC_PAIR_INSTRUCTION(nuc_half_difference, "shsub16")

/* Both parts in units of 2^-15, of which the sums are in units of 2^-30. */
static inline uint32_t nuc_join_products(int32_t re, int32_t im)
{
    uint32_t result;

    __asm("pkhtb %0, %1, %2, asr #15" : "=r"(result) : "r"((uint32_t)im << 1), "r"(re));
    return result;
}

static inline uint32_t nuc_mul_complex(uint32_t a, uint32_t b)
{
    int32_t re, im;

    __asm("smlsd %0, %1, %2, %3" : "=r"(re) : "r"(a), "r"(b), "r"(1 << 14));
    __asm("smladx %0, %1, %2, %3" : "=r"(im) : "r"(a), "r"(b), "r"(1 << 14));
    return nuc_join_products(re, im);
}

/* Both parts times a number. */
static inline uint32_t nuc_scale_complex(uint32_t a, int32_t by)
{
    int32_t re, im;

    __asm("smlabb %0, %1, %2, %3" : "=r"(re) : "r"(a), "r"(by), "r"(1 << 14));
    __asm("smlatb %0, %1, %2, %3" : "=r"(im) : "r"(a), "r"(by), "r"(1 << 14));
    return nuc_join_products(re, im);
}

#else

static inline int32_t nuc_re(uint32_t a)
{
    return (int16_t)a;
}

static inline int32_t nuc_im(uint32_t a)
{
    return (int16_t)(a >> 16);
}

static inline uint32_t nuc_complex(int32_t re, int32_t im)
{
    return ((uint32_t)re & 0xFFFF) | (uint32_t)im << 16;
}

static inline uint32_t nuc_add_complex(uint32_t a, uint32_t b)
{
    return nuc_complex(nuc_re(a) + nuc_re(b), nuc_im(a) + nuc_im(b));
}

static inline uint32_t nuc_sub_complex(uint32_t a, uint32_t b)
{
    return nuc_complex(nuc_re(a) - nuc_re(b), nuc_im(a) - nuc_im(b));
}

static inline uint32_t nuc_add_turned(uint32_t a, uint32_t b)
{
    return nuc_complex(nuc_re(a) + nuc_im(b), nuc_im(a) - nuc_re(b));
}

static inline uint32_t nuc_sub_turned(uint32_t a, uint32_t b)
{
    return nuc_complex(nuc_re(a) - nuc_im(b), nuc_im(a) + nuc_re(b));
}

static inline uint32_t nuc_half_sum(uint32_t a, uint32_t b)
{
    return nuc_complex((nuc_re(a) + nuc_re(b)) >> 1, (nuc_im(a) + nuc_im(b)) >> 1);
}

static inline uint32_t nuc_half_difference(uint32_t a, uint32_t b)
{
    return nuc_complex((nuc_re(a) - nuc_re(b)) >> 1, (nuc_im(a) - nuc_im(b)) >> 1);
}

/* Factors have no part of -32768: no sum of products overflows. */
static inline uint32_t nuc_mul_complex(uint32_t a, uint32_t b)
{
    int32_t re = nuc_re(a) * nuc_re(b) - nuc_im(a) * nuc_im(b), im = nuc_re(a) * nuc_im(b) + nuc_im(a) * nuc_re(b);

    return nuc_complex((re + (1 << 14)) >> 15, (im + (1 << 14)) >> 15);
}

static inline uint32_t nuc_scale_complex(uint32_t a, int32_t by)
{
    return nuc_complex((nuc_re(a) * by + (1 << 14)) >> 15, (nuc_im(a) * by + (1 << 14)) >> 15);
}

#endif

/* Divided by 2 or 4, as kissfft divides: times the largest int16 over the number, which is rounded down. */
static inline uint32_t nuc_div_complex(uint32_t a, int32_t by)
{
    return nuc_scale_complex(a, INT16_MAX / by);
}

#endif
