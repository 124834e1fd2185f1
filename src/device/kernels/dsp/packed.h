/*
 * The instructions of the Armv8-M DSP extension the kernels are written in, and the same in C for hosts, so that the
 * kernels are tested everywhere. A word holds four int8 (lane 0 in the lowest bits) or two int16.
 */
#ifndef NUC_DEVICE_KERNELS_DSP_PACKED_H
#define NUC_DEVICE_KERNELS_DSP_PACKED_H

#include <stdint.h>
#include <string.h>

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

#ifdef __ARM_FEATURE_DSP

/* sum + a.0 * b.0 + a.1 * b.1 */
static inline int32_t nuc_smlad(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t result;

    __asm("smlad %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}

/* The same of 64 bits. */
static inline int64_t nuc_smlald(uint32_t a, uint32_t b, int64_t sum)
{
    __asm("smlald %Q0, %R0, %1, %2" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* Bytes 0 and 2 as int16, added to the lanes of `to`. */
static inline uint32_t nuc_sxtab16(uint32_t to, uint32_t bytes)
{
    uint32_t result;

    __asm("sxtab16 %0, %1, %2" : "=r"(result) : "r"(to), "r"(bytes));
    return result;
}

/* Bytes 1 and 3. */
static inline uint32_t nuc_sxtab16_odd(uint32_t to, uint32_t bytes)
{
    uint32_t result;

    __asm("sxtab16 %0, %1, %2, ror #8" : "=r"(result) : "r"(to), "r"(bytes));
    return result;
}

/* Bytes 0 and 2 as int16. */
static inline uint32_t nuc_sxtb16(uint32_t bytes)
{
    uint32_t result;

    __asm("sxtb16 %0, %1" : "=r"(result) : "r"(bytes));
    return result;
}

/* Bytes 1 and 3. */
static inline uint32_t nuc_sxtb16_odd(uint32_t bytes)
{
    uint32_t result;

    __asm("sxtb16 %0, %1, ror #8" : "=r"(result) : "r"(bytes));
    return result;
}

/* The lower halves: low's below, high's above. */
static inline uint32_t nuc_lower_halves(uint32_t low, uint32_t high)
{
    uint32_t result;

    __asm("pkhbt %0, %1, %2, lsl #16" : "=r"(result) : "r"(low), "r"(high));
    return result;
}

/* The upper halves. */
static inline uint32_t nuc_upper_halves(uint32_t low, uint32_t high)
{
    uint32_t result;

    __asm("pkhtb %0, %1, %2, asr #16" : "=r"(result) : "r"(high), "r"(low));
    return result;
}

/* Lane by lane. */
static inline uint32_t nuc_add_pairs(uint32_t a, uint32_t b)
{
    uint32_t result;

    __asm("sadd16 %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));
    return result;
}

/* round(a * b / 2^32) + to, halves up */
static inline int32_t nuc_smmlar(int32_t a, int32_t b, int32_t to)
{
    int32_t result;

    __asm("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(to));
    return result;
}

/* Twice a number, saturated. */
static inline int32_t nuc_doubled(int32_t v)
{
    int32_t result;

    __asm("qadd %0, %1, %1" : "=r"(result) : "r"(v));
    return result;
}

/* Clamped to int8. */
static inline int32_t nuc_ssat8(int32_t v)
{
    int32_t result;

    __asm("ssat %0, #8, %1" : "=r"(result) : "r"(v) : "cc");
    return result;
}

/* Clamped to int16. */
static inline int32_t nuc_ssat16(int32_t v)
{
    int32_t result;

    __asm("ssat %0, #16, %1" : "=r"(result) : "r"(v) : "cc");
    return result;
}

/* Clamped to 0 to 32767. */
static inline int32_t nuc_usat15(int32_t v)
{
    int32_t result;

    __asm("usat %0, #15, %1" : "=r"(result) : "r"(v) : "cc");
    return result;
}

/* The larger of each pair of bytes. */
static inline uint32_t nuc_max_bytes(uint32_t a, uint32_t b)
{
    uint32_t result;

    __asm("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(result) : "r"(a), "r"(b));
    return result;
}

/* The larger of each pair of halves. */
static inline uint32_t nuc_max_halves(uint32_t a, uint32_t b)
{
    uint32_t result;

    __asm("ssub16 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(result) : "r"(a), "r"(b));
    return result;
}

#else

static inline int32_t nuc_lane(uint32_t word, int lane)
{
    return (int16_t)(word >> (16 * lane));
}

static inline int32_t nuc_smlad(uint32_t a, uint32_t b, int32_t sum)
{
    uint32_t low = (uint32_t)(nuc_lane(a, 0) * nuc_lane(b, 0));
    uint32_t high = (uint32_t)(nuc_lane(a, 1) * nuc_lane(b, 1));

    return (int32_t)((uint32_t)sum + low + high);
}

static inline int64_t nuc_smlald(uint32_t a, uint32_t b, int64_t sum)
{
    return sum + (int64_t)nuc_lane(a, 0) * nuc_lane(b, 0) + (int64_t)nuc_lane(a, 1) * nuc_lane(b, 1);
}

static inline uint32_t nuc_sxtab16(uint32_t to, uint32_t bytes)
{
    int32_t low = nuc_lane(to, 0) + (int8_t)bytes;
    int32_t high = nuc_lane(to, 1) + (int8_t)(bytes >> 16);

    return ((uint32_t)low & 0xFFFF) | (uint32_t)high << 16;
}

static inline uint32_t nuc_sxtab16_odd(uint32_t to, uint32_t bytes)
{
    return nuc_sxtab16(to, bytes >> 8);
}

static inline uint32_t nuc_sxtb16(uint32_t bytes)
{
    return nuc_sxtab16(0, bytes);
}

static inline uint32_t nuc_sxtb16_odd(uint32_t bytes)
{
    return nuc_sxtab16(0, bytes >> 8);
}

static inline uint32_t nuc_lower_halves(uint32_t low, uint32_t high)
{
    return (low & 0xFFFF) | high << 16;
}

static inline uint32_t nuc_upper_halves(uint32_t low, uint32_t high)
{
    return low >> 16 | (high & 0xFFFF0000);
}

static inline uint32_t nuc_add_pairs(uint32_t a, uint32_t b)
{
    return ((a + b) & 0xFFFF) | ((a & 0xFFFF0000) + (b & 0xFFFF0000));
}

static inline int32_t nuc_smmlar(int32_t a, int32_t b, int32_t to)
{
    return (int32_t)((uint32_t)(((int64_t)a * b + ((int64_t)1 << 31)) >> 32) + (uint32_t)to);
}

static inline int32_t nuc_doubled(int32_t v)
{
    return v > INT32_MAX / 2 ? INT32_MAX : v < INT32_MIN / 2 ? INT32_MIN : 2 * v;
}

static inline int32_t nuc_ssat8(int32_t v)
{
    return v < -128 ? -128 : v > 127 ? 127 : v;
}

static inline int32_t nuc_ssat16(int32_t v)
{
    return v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v;
}

static inline int32_t nuc_usat15(int32_t v)
{
    return v < 0 ? 0 : v > INT16_MAX ? INT16_MAX : v;
}

static inline uint32_t nuc_max_bytes(uint32_t a, uint32_t b)
{
    uint32_t result = 0;

    for (int shift = 0; shift < 32; shift += 8) {
        uint32_t from = (int8_t)(a >> shift) >= (int8_t)(b >> shift) ? a : b;
        result |= from & (uint32_t)0xFF << shift;
    }
    return result;
}

static inline uint32_t nuc_max_halves(uint32_t a, uint32_t b)
{
    uint32_t low = nuc_lane(a, 0) > nuc_lane(b, 0) ? a : b, high = nuc_lane(a, 1) > nuc_lane(b, 1) ? a : b;

    return (low & 0xFFFF) | (high & 0xFFFF0000);
}

#endif

#endif
