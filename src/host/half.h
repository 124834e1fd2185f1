/* IEEE 754 binary16 as float, which has all its values. */
#ifndef NUC_HOST_HALF_H
#define NUC_HOST_HALF_H

#include <math.h>
#include <stdint.h>

static inline float nuc_half_to_float(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float magnitude = exponent == 0    ? ldexpf((float)fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                       : ldexpf((float)(fraction + 1024), exponent - 25);

    return bits >> 15 != 0 ? -magnitude : magnitude;
}

#endif
