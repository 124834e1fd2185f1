#include "device/base/fixed_point.h"

#include <stdbool.h>
#include <string.h>

/* IEEE 754 double taken apart without libm, so that the device can prepare multipliers too. */
static bool split_double(double value, uint64_t *mantissa, int *exponent)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    int biased = (int)(bits >> 52 & 0x7FF);
    if (bits >> 63 != 0 || biased == 0 || biased == 0x7FF)
        return false;
    *mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    *exponent = biased - 1022; /* value = mantissa / 2^53 * 2^exponent, mantissa / 2^53 in [0.5, 1) */
    return true;
}

struct nuc_multiplier nuc_multiplier_from_scale(double scale)
{
    uint64_t mantissa;
    int shift;

    if (!split_double(scale, &mantissa, &shift))
        return (struct nuc_multiplier){0, 0};
    /* 53 bits to 31, rounded half away from zero. */
    uint64_t rounded = (mantissa + ((uint64_t)1 << 21)) >> 22;
    if (rounded == (uint64_t)1 << 31) {
        rounded >>= 1;
        shift++;
    }
    if (shift < -31)
        return (struct nuc_multiplier){0, 0};
    if (shift > 30)
        return (struct nuc_multiplier){INT32_MAX, 30};
    return (struct nuc_multiplier){(int32_t)rounded, shift};
}

struct nuc_multiplier nuc_mean_multiplier(double scale, int64_t count)
{
    struct nuc_multiplier m = nuc_multiplier_from_scale(scale);
    int32_t bits = 63 - __builtin_clzll((uint64_t)count);

    bits = bits < 32 ? bits : 32;
    bits = bits < 31 + m.shift ? bits : 31 + m.shift;
    bits = bits > 0 ? bits : 0;
    return (struct nuc_multiplier){(int32_t)(((int64_t)m.multiplier << bits) / count), m.shift - bits};
}
