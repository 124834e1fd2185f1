/* Inner loops the kernels share. Accumulation wraps as the 32-bit accumulators of the array do. */
#ifndef NUC_DEVICE_NPUSIM_NPU_MATH_H
#define NUC_DEVICE_NPUSIM_NPU_MATH_H

#include <stdint.h>

#include "device/base/fixed_point.h"

/* Rows of weights one pass over the input serves. */
#define NPU_BLOCK 4

/* acc += sum of (x - zero) * w. */
static inline int32_t npu_dot(const int8_t *x, const int8_t *w, int32_t n, int16_t zero, int32_t acc)
{
    uint32_t sum = (uint32_t)acc;

    for (int32_t i = 0; i < n; i++)
        sum += (uint32_t)((int32_t)(int16_t)(x[i] - zero) * (int32_t)(int16_t)w[i]);
    return (int32_t)sum;
}

/* The same for four rows of weights, `stride` bytes apart. */
static inline void npu_dot4(const int8_t *x, const int8_t *w, int64_t stride, int32_t n, int16_t zero, int32_t *acc)
{
    const int8_t *w1 = w + stride, *w2 = w1 + stride, *w3 = w2 + stride;
    int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0;

    /* Runs are bounded by the window: at most 2^16 products of 16 bits, so that these sums do not overflow. */
    for (int32_t i = 0; i < n; i++) {
        int16_t v = (int16_t)(x[i] - zero);
        a0 += v * w[i];
        a1 += v * w1[i];
        a2 += v * w2[i];
        a3 += v * w3[i];
    }
    acc[0] = (int32_t)((uint32_t)acc[0] + (uint32_t)a0);
    acc[1] = (int32_t)((uint32_t)acc[1] + (uint32_t)a1);
    acc[2] = (int32_t)((uint32_t)acc[2] + (uint32_t)a2);
    acc[3] = (int32_t)((uint32_t)acc[3] + (uint32_t)a3);
}

/* Accumulator to int8: requantize with pair `at` of a table, add the zero point, clamp. */
static inline int8_t npu_requant(int32_t acc, const int32_t *table, int64_t at, int32_t zero, int32_t low, int32_t high)
{
    struct nuc_multiplier m = {table[2 * at], table[2 * at + 1]};
    int32_t scaled = nuc_requantize(acc, m);

    return (int8_t)nuc_clamp_i32((int32_t)((uint32_t)scaled + (uint32_t)zero), low, high);
}

/* First tap of a window that starts at `origin` and is inside [0, size), and the one after the last. */
static inline void npu_taps(int32_t origin, int32_t size, int32_t taps, int32_t dilation, int32_t *first, int32_t *end)
{
    int32_t begin = origin < 0 ? (-origin + dilation - 1) / dilation : 0;
    int32_t stop = size > origin ? (size - origin + dilation - 1) / dilation : 0;

    *first = begin < taps ? begin : taps;
    *end = stop < taps ? stop : taps;
    if (*end < *first)
        *end = *first;
}

/*
 * Steps a row-major index with per-dimension byte or element offsets. Returns false after the last index. Dimension
 * `rank - 1` is the fastest; up to three sets of strides are advanced together.
 */
struct npu_walk {
    int32_t rank;
    const int32_t *shape;
    int32_t index[8];
};

static inline int npu_step(struct npu_walk *w, int64_t *at, const int32_t *stride, int64_t *at2, const int32_t *stride2)
{
    for (int32_t d = w->rank - 1; d >= 0; d--) {
        *at += stride[d];
        *at2 += stride2[d];
        if (++w->index[d] < w->shape[d])
            return 1;
        w->index[d] = 0;
        *at -= (int64_t)stride[d] * w->shape[d];
        *at2 -= (int64_t)stride2[d] * w->shape[d];
    }
    return 0;
}

#endif
