/* Random numbers for the tests of kernels: the same on every host. */
#ifndef NUC_TEST_NUMBERS_H
#define NUC_TEST_NUMBERS_H

#include "unit/test.h"

/* Linear congruential generator. */
struct numbers {
    uint64_t state;
};

static inline int32_t number(struct numbers *n, int32_t low, int32_t high)
{
    n->state = n->state * 6364136223846793005u + 1442695040888963407u;
    return low + (int32_t)((n->state >> 33) % (uint64_t)(high - low + 1));
}

/* `count` of them, extremes among them, to be freed. */
static inline int8_t *random_s8(struct numbers *n, size_t count)
{
    int8_t *p = malloc(count + 1);

    assert_non_null(p);
    for (size_t i = 0; i < count; i++)
        p[i] = (int8_t)(number(n, 0, 9) == 0 ? (number(n, 0, 1) ? 127 : -128) : number(n, -128, 127));
    return p;
}

#endif
