/*
 * The logistic function and the hyperbolic tangent in 16 bits, bit for bit those of LiteRT's reference kernels
 * (integer_ops/logistic.h and tanh.h): what evaluator and kernels share as they do fixed_point.h. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_LOGISTIC_H
#define NUC_DEVICE_BASE_LOGISTIC_H

#include <stdint.h>

/* x in units of 2^-12 / 3, below 2^30 in size; results in Q0.15. */
int16_t nuc_logistic_q15(int32_t x);
int16_t nuc_tanh_q15(int32_t x);

/* From numbers of another scale to these units: v * factor / 2^shift, halves upwards. */
struct nuc_q15_units {
    int32_t factor; /* below 2^15 */
    int32_t shift;  /* 0 to 31 */
};

/* Of numbers in units of 2^power, power from -24 to 0. */
static inline struct nuc_q15_units nuc_q15_units(int32_t power)
{
    return power < -12 ? (struct nuc_q15_units){3, -12 - power} : (struct nuc_q15_units){3 << (12 + power), 0};
}

/* v: 16 bits */
static inline int32_t nuc_to_q15_units(struct nuc_q15_units u, int32_t v)
{
    const int32_t half = u.shift > 0 ? 1 << (u.shift - 1) : 0;

    return (v * u.factor + half) >> u.shift;
}

#endif
