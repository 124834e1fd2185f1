/*
 * The fixed-point arithmetic every int8 operator shares: the reference evaluator, the NPU simulator and the
 * Cortex-M kernels call these and nothing of each other. It is the two-step rounding of LiteRT's reference kernels
 * (gemmlowp) and of CMSIS-NN without CMSIS_NN_USE_SINGLE_ROUNDING. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_FIXED_POINT_H
#define NUC_DEVICE_BASE_FIXED_POINT_H

#include <stdint.h>

/* value * multiplier / 2^31 * 2^shift. multiplier in [2^30, 2^31), or 0; shift in [-31, 30]. */
struct nuc_multiplier {
    int32_t multiplier;
    int32_t shift; /* > 0 is a left shift */
};

/*
 * The multiplier of a positive real scale: frexp, mantissa * 2^31 rounded to the nearest integer; 2^31 becomes 2^30
 * with the exponent raised. A scale of 0, or one below 2^-32, gives {0, 0}; one of 2^30 and more saturates.
 * Source: LiteRT QuantizeMultiplier (tensorflow/lite/kernels/internal/quantization_util.cc).
 */
struct nuc_multiplier nuc_multiplier_from_scale(double scale);

/*
 * The same for the mean of `count` values, from 1: the multiplier of the scale is divided, in integers, by the count.
 * Source: LiteRT, QuantizedMeanOrSum().
 */
struct nuc_multiplier nuc_mean_multiplier(double scale, int64_t count);

static inline int32_t nuc_saturate_i32(int64_t v)
{
    if (v > INT32_MAX)
        return INT32_MAX;
    return v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

/*
 * The longest row of a softmax in fixed point: the sum of its exponentials has 12 integer bits, in LiteRT, in CMSIS-NN
 * and here.
 */
#define NUC_FIXED_SOFTMAX_ROW 2040

/* Values of int8 and of int16 of a norm: their number times the sum of their squares fits 63 bits. */
#define NUC_MOST_IN_GROUP (1 << 22)
#define NUC_MOST_WIDE_IN_GROUP (1 << 16)

/* Sampling at the positions of a grid: modes as torch numbers them, fractional bits of positions, bounds of those. */
enum nuc_grid_mode { NUC_GRID_BILINEAR, NUC_GRID_NEAREST, NUC_GRID_BICUBIC };
enum nuc_grid_padding { NUC_GRID_ZEROS, NUC_GRID_BORDER, NUC_GRID_REFLECTION };
#define NUC_GRID_BITS 32
#define NUC_MOST_GRID_SIZE (1 << 14)
#define NUC_MOST_GRID_START (((int64_t)1 << 47) - 1)

static inline int32_t nuc_clamp_i32(int32_t v, int32_t low, int32_t high)
{
    if (v < low)
        return low;
    return v > high ? high : v;
}

/* v within `bits` bits of two's complement, a constant: one instruction where there is one. */
#if defined __ARM_FEATURE_SAT && defined __OPTIMIZE__
#define NUC_SATURATE(v, bits)                                                                                          \
    __extension__({                                                                                                    \
        int32_t saturated;                                                                                             \
        __asm("ssat %0, %1, %2" : "=r"(saturated) : "I"(bits), "r"(v) : "cc");                                         \
        saturated;                                                                                                     \
    })
#else
#define NUC_SATURATE(v, bits) nuc_clamp_i32(v, -(1 << ((bits)-1)), (1 << ((bits)-1)) - 1)
#endif

static inline int8_t nuc_saturate_i8(int32_t v)
{
    return (int8_t)NUC_SATURATE(v, 8);
}

/*
 * offset, a small number, and the nearest whole number, halves to even, of a value within 2^22: the sum with 1.5 * 2^23
 * has it in its last bits. Outside, one of the same sign that is larger than 2^22, below 2^30; NaN counts as negative.
 * Patterns of positive floats are ordered as the floats are.
 */
static inline int32_t nuc_nearest_int(float x, int32_t offset)
{
    const int32_t bits_of_zero = 0x4B400000;
    const float low = -8388608.0f;
    int32_t bits;

#if defined(__ARM_FP) && __ARM_ARCH >= 8
    x = __builtin_fmaxf(x, low); /* one instruction, where a comparison takes three */
#else
    x = x > low ? x : low;
#endif
    x += 12582912.0f;
    __builtin_memcpy(&bits, &x, sizeof bits); /* the builtin: freestanding code would call a function */
    return bits - (bits_of_zero - offset);
}

/* round(a * b / 2^31), a half upwards, saturated: only INT32_MIN * INT32_MIN saturates. */
static inline int32_t nuc_doubling_high_mul(int32_t a, int32_t b)
{
    if (a == b && a == INT32_MIN)
        return INT32_MAX;
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* round(v / 2^exponent), half away from zero. exponent in [0, 31]. */
static inline int32_t nuc_rounding_shift_right(int32_t v, int exponent)
{
    int32_t mask = (int32_t)(((int64_t)1 << exponent) - 1);
    int32_t remainder = v & mask;
    int32_t threshold = (mask >> 1) + (v < 0 ? 1 : 0);

    return (v >> exponent) + (remainder > threshold ? 1 : 0);
}

/* v * scale as the multiplier states it: left shift that wraps, doubling high multiply, rounding right shift. */
static inline int32_t nuc_requantize(int32_t v, struct nuc_multiplier m)
{
    int left = m.shift > 0 ? m.shift : 0;
    int right = m.shift > 0 ? 0 : -m.shift;
    int32_t shifted = (int32_t)((uint32_t)v << left);

    return nuc_rounding_shift_right(nuc_doubling_high_mul(shifted, m.multiplier), right);
}

/*
 * The same for a sum of 64 bits, in [-2^47, 2^47): by the multiplier's upper 16 bits, rounded once, half upwards. shift
 * in [-31, NUC_MOST_LONG_SHIFT]. Source: LiteRT, MultiplyByQuantizedMultiplier(int64_t, ...).
 */
#define NUC_MOST_LONG_SHIFT 7
static inline int32_t nuc_requantize_long(int64_t v, struct nuc_multiplier m)
{
    const int32_t half = 1 << 15;
    int32_t reduced = m.multiplier < 0x7FFF0000 ? (m.multiplier + half) >> 16 : INT16_MAX;
    int64_t twice = (int64_t)((uint64_t)v * (uint64_t)(int64_t)reduced) >> (14 - m.shift);

    return (int32_t)((twice + 1) >> 1);
}

#endif
