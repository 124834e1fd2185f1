/* Numbers that look random and are the same on every host: the generator of Numerical Recipes. */
#ifndef NUC_TEST_RANDOM_H
#define NUC_TEST_RANDOM_H

#include "unit/test.h"

/* 24 bits. */
static inline uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static inline uint32_t random_below(uint32_t *seed, uint32_t limit)
{
    return next_random(seed) % limit;
}

static inline int32_t random_in(uint32_t *seed, int32_t low, int32_t high)
{
    return low + (int32_t)random_below(seed, (uint32_t)(high - low + 1));
}

/* From -1 up to 1. */
static inline float noise(uint32_t *seed)
{
    return (float)next_random(seed) * 0x1p-23f - 1;
}

/* Noise of which neighbouring seeds give unlike values. */
static inline void fill_with_noise(float *x, size_t count, uint32_t seed)
{
    seed = (seed + 1) * 2654435761u;
    seed = (seed ^ seed >> 15) * 2246822519u;
    for (size_t i = 0; i < count; i++)
        x[i] = noise(&seed);
}

#endif
