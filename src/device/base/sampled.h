/*
 * Functions of int16 values as tables of some of their results, between which lies a line: what compiler and kernel
 * share as they do fixed_point.h. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_SAMPLED_H
#define NUC_DEVICE_BASE_SAMPLED_H

#include <stdint.h>

/*
 * A table of NUC_EVEN has the results of -32768, -32640, ... 32768. One of twice NUC_OCTAVES has those of 0, 1, ... 63,
 * then of 32 numbers in each octave, 64, 66, ... 128, 132, ... 32768, and the same for -1 - q of negative numbers q.
 */
#define NUC_EVEN 513
#define NUC_OCTAVES 353

/* Results are at most this in size, beyond int16 where a line leads out of it. */
#define NUC_MOST_SAMPLE (1 << 20)

static inline int32_t nuc_between(const int32_t *at, int32_t rest, int32_t shift)
{
    uint32_t slope = (uint32_t)at[1] - (uint32_t)at[0], half = 1u << shift >> 1;
    uint32_t value = (uint32_t)at[0] + (uint32_t)((int32_t)(slope * (uint32_t)rest + half) >> shift);

    return (int32_t)value;
}

static inline int32_t nuc_even_value(const int32_t *table, int32_t q)
{
    return nuc_between(table + 256 + (q >> 7), q & 127, 7);
}

static inline int32_t nuc_octave_value(const int32_t *table, int32_t q)
{
    int32_t size = q ^ (q >> 31), shift = 26 - __builtin_clz((uint32_t)size | 32);

    table += q < 0 ? NUC_OCTAVES : 0;
    return nuc_between(table + 32 * shift + (size >> shift), size & ((1 << shift) - 1), shift);
}

/* The number whose result entry `i` is. */
static inline int32_t nuc_even_number(int32_t i)
{
    return 128 * (i - 256);
}

static inline int32_t nuc_octave_number(int32_t i)
{
    int32_t at = i % NUC_OCTAVES, shift = at < 64 ? 0 : at / 32 - 1;
    int32_t size = shift == 0 ? at : (at - 32 * shift) * (1 << shift);

    return i < NUC_OCTAVES ? size : -1 - size;
}

#endif
