/*
 * A polynomial tells the result to some 42 bits. Where what it may be off by does not change the float that it rounds
 * to, that is the result of a more exact function, too; the rest, a value in some ten thousand, is libm's.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "eval/eval_rounded.h"
#include "host/clones.h"

#define MOST_ERROR 0x1p-40
#define CHUNK 256

/* Adding it rounds to a whole number, which the last bits of the sum hold. */
#define ROUNDER 0x1.8p52

/* e^x = scale + scale * rest */
struct power {
    double scale, rest;
};

/* x within -700 to 700: 2 to the power of a whole number, times e^r - 1 of |r| <= ln 2 / 2 as a Taylor polynomial. */
static inline struct power power_of(double x)
{
    double m = x * 0x1.71547652b82fep0 + ROUNDER, k = m - ROUNDER;
    double r = x - k * 0x1.62e42feep-1 - k * 0x1.a39ef35793c76p-33;
    double r2 = r * r, r4 = r2 * r2;
    double low = (0.5 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    double high = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    double last = 1.0 / 3628800 + r * (1.0 / 39916800);
    uint64_t bits;
    struct power of;

    of.rest = r2 * (low + r4 * (high + r4 * last)) + r;
    memcpy(&bits, &m, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&of.scale, &bits, sizeof bits);
    return of;
}

static inline double exp_near(double x)
{
    struct power of = power_of(x < -110 ? -110 : x > 100 ? 100 : x);

    return of.scale + of.scale * of.rest;
}

static inline double expm1_near(double x)
{
    struct power of = power_of(x);

    return of.scale * of.rest + (of.scale - 1);
}

static inline double tanh_near(double x)
{
    double z = fabs(x), e = expm1_near(2 * (z > 20 ? 20 : z));

    return copysign(e / (e + 2), x);
}

/* 1 - erf(z) = e^(-z p(z)); p was fitted to 2^-43 of erf(z) in [0, 4], beyond which the result is 1. */
static inline double erf_near(double x)
{
    double z = fabs(x) > 4 ? 4 : fabs(x), z2 = z * z, z4 = z2 * z2;
    double p0 = (1.1283791670956214 + z * 0.6366197723412118) + z2 * (0.10277260437513286 - z * 0.01912846405329129);
    double p4 = (-0.0002090541523932601 + z * 0.0016955127793396212) +
                z2 * (-0.0005878968623945303 + z * 2.0961717310046543e-05);
    double p8 = (7.219643257994735e-05 - z * 3.846523577730692e-05) +
                z2 * (1.0617299433998874e-05 - z * 1.4023971430824288e-06);
    double p12 = (-1.1364459132193238e-07 + z * 9.104116892847845e-08) +
                 z2 * (-1.860098553920571e-08 + z * 1.877465195788096e-09);
    double p = (p0 + z4 * p4) + z4 * z4 * ((p8 + z4 * p12) + z4 * z4 * -7.937943314814677e-11);

    return copysign(-expm1_near(-z * p), x);
}

/* Bounds of results, and whether some differ: those of what is NaN do. */
typedef bool bounds_fn(const float *restrict in, float *restrict low, float *restrict high, size_t count);

static void round_within(bounds_fn *bounds, double (*exact)(double), const float *in, float *out, size_t count)
{
    float high[CHUNK];

    for (size_t n; count > 0; in += n, out += n, count -= n) {
        n = count < CHUNK ? count : CHUNK;
        bool differ = bounds(in, out, high, n);
        for (size_t i = 0; differ && i < n; i++) {
            if (out[i] != high[i])
                out[i] = (float)exact((double)in[i]);
        }
    }
}

#define FUNCTION(name)                                                                                                 \
    NUC_CLONES static bool name##_bounds(const float *restrict in, float *restrict low, float *restrict high,          \
                                         size_t count)                                                                 \
    {                                                                                                                  \
        int32_t differ = 0;                                                                                            \
        for (size_t i = 0; i < count; i++) {                                                                           \
            double y = name##_near((double)in[i]);                                                                     \
            low[i] = (float)(y * (1 - MOST_ERROR));                                                                    \
            high[i] = (float)(y * (1 + MOST_ERROR));                                                                   \
            differ |= low[i] != high[i];                                                                               \
        }                                                                                                              \
        return differ != 0;                                                                                            \
    }                                                                                                                  \
                                                                                                                       \
    void nuc_eval_##name(const float *in, float *out, size_t count)                                                    \
    {                                                                                                                  \
        round_within(name##_bounds, name, in, out, count);                                                             \
    }
FUNCTION(exp)
FUNCTION(tanh)
FUNCTION(erf)
