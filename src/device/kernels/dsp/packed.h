/* The instructions of the Armv8-M DSP extension the kernels are written in. */
#ifndef NUC_DEVICE_KERNELS_DSP_PACKED_H
#define NUC_DEVICE_KERNELS_DSP_PACKED_H

#include <stdint.h>
#include <string.h>

#include "device/base/fixed_point.h"
#include "device/base/instruction.h"

/* Four bytes from any address. */
static inline uint32_t nuc_load_word(const int8_t *at)
{
    uint32_t word;

    __builtin_memcpy(&word, at, sizeof word); /* the builtin: freestanding code would call a function */
    return word;
}

static inline void nuc_store_word(int8_t *at, uint32_t word)
{
    __builtin_memcpy(at, &word, sizeof word);
}

/* Both lanes. */
static inline uint32_t nuc_twice(int32_t value)
{
    return (uint32_t)(value & 0xFFFF) | (uint32_t)value << 16;
}

#ifndef __ARM_FEATURE_DSP
/* The larger of each pair of lanes of some bits. */
static inline uint32_t nuc_larger(uint32_t a, uint32_t b, int bits)
{
    uint32_t result = 0;

    for (int above = 0; above < 32; above += bits) { /* the lanes below decide where lanes are equal */
        uint32_t from = (int32_t)(a << above) > (int32_t)(b << above) ? a : b;
        result |= from & (UINT32_MAX << (32 - bits)) >> above;
    }
    return result;
}
#endif

/* The lower halves: low's below, high's above. */
NUC_INSTRUCTION(uint32_t, nuc_lower_halves, (uint32_t low, uint32_t high), (low & 0xFFFF) | high << 16,
                "pkhbt %0, %1, %2, lsl #16", "=r", "r"(low), "r"(high))

/* The upper halves. */
NUC_INSTRUCTION(uint32_t, nuc_upper_halves, (uint32_t low, uint32_t high), low >> 16 | (high & 0xFFFF0000),
                "pkhtb %0, %1, %2, asr #16", "=r", "r"(high), "r"(low))

/* sum + a.0 * b.0 + a.1 * b.1 */
NUC_INSTRUCTION(int32_t, nuc_smlad, (uint32_t a, uint32_t b, int32_t sum),
                (int32_t)((uint32_t)sum + (uint32_t)(nuc_lane(a, 0) * nuc_lane(b, 0)) +
                          (uint32_t)(nuc_lane(a, 1) * nuc_lane(b, 1))),
                "smlad %0, %1, %2, %3", "=r", "r"(a), "r"(b), "r"(sum))

/* The same of 64 bits. */
NUC_INSTRUCTION(int64_t, nuc_smlald, (uint32_t a, uint32_t b, int64_t sum),
                sum + (int64_t)nuc_lane(a, 0) * nuc_lane(b, 0) + (int64_t)nuc_lane(a, 1) * nuc_lane(b, 1),
                "smlald %Q0, %R0, %1, %2", "=r", "r"(a), "r"(b), "0"(sum))

/* Bytes 0 and 2 as int16, added to the lanes of `to`; bytes 1 and 3; the same without `to`. */
NUC_INSTRUCTION(uint32_t, nuc_sxtab16, (uint32_t to, uint32_t bytes),
                nuc_lower_halves((uint32_t)(nuc_lane(to, 0) + (int8_t)bytes),
                                 (uint32_t)(nuc_lane(to, 1) + (int8_t)(bytes >> 16))),
                "sxtab16 %0, %1, %2", "=r", "r"(to), "r"(bytes))
NUC_INSTRUCTION(uint32_t, nuc_sxtab16_odd, (uint32_t to, uint32_t bytes), nuc_sxtab16(to, bytes >> 8),
                "sxtab16 %0, %1, %2, ror #8", "=r", "r"(to), "r"(bytes))
NUC_INSTRUCTION(uint32_t, nuc_sxtb16, (uint32_t bytes), nuc_sxtab16(0, bytes), "sxtb16 %0, %1", "=r", "r"(bytes))
NUC_INSTRUCTION(uint32_t, nuc_sxtb16_odd, (uint32_t bytes), nuc_sxtab16(0, bytes >> 8), "sxtb16 %0, %1, ror #8", "=r",
                "r"(bytes))

/* Lane by lane. */
NUC_INSTRUCTION(uint32_t, nuc_add_pairs, (uint32_t a, uint32_t b), nuc_lower_halves(a + b, (a >> 16) + (b >> 16)),
                "sadd16 %0, %1, %2", "=r", "r"(a), "r"(b))

/* round(a * b / 2^32) + to, halves up */
NUC_INSTRUCTION(int32_t, nuc_smmlar, (int32_t a, int32_t b, int32_t to),
                (int32_t)((uint32_t)(((int64_t)a * b + ((int64_t)1 << 31)) >> 32) + (uint32_t)to),
                "smmlar %0, %1, %2, %3", "=r", "r"(a), "r"(b), "r"(to))

/* Twice a number, saturated. */
NUC_INSTRUCTION(int32_t, nuc_doubled, (int32_t v), nuc_saturate_i32((int64_t)v + v), "qadd %0, %1, %1", "=r", "r"(v))

/* Clamped to int8, to int16, to 0 to 32767. */
NUC_INSTRUCTION(int32_t, nuc_ssat8, (int32_t v), nuc_clamp_i32(v, INT8_MIN, INT8_MAX), "ssat %0, #8, %1", "=r", "r"(v))
NUC_INSTRUCTION(int32_t, nuc_ssat16, (int32_t v), nuc_clamp_i32(v, INT16_MIN, INT16_MAX), "ssat %0, #16, %1", "=r",
                "r"(v))
NUC_INSTRUCTION(int32_t, nuc_usat15, (int32_t v), nuc_clamp_i32(v, 0, INT16_MAX), "usat %0, #15, %1", "=r", "r"(v))

/* The larger of each pair of bytes, of halves. */
NUC_INSTRUCTION(uint32_t, nuc_max_bytes, (uint32_t a, uint32_t b), nuc_larger(a, b, 8),
                "ssub8 %0, %1, %2\n\tsel %0, %1, %2", "=&r", "r"(a), "r"(b))
NUC_INSTRUCTION(uint32_t, nuc_max_halves, (uint32_t a, uint32_t b), nuc_larger(a, b, 16),
                "ssub16 %0, %1, %2\n\tsel %0, %1, %2", "=&r", "r"(a), "r"(b))

/* Four sums in registers: arrays would be kept in memory. */
struct nuc_quad {
    int32_t a, b, c, d;
};

#endif
