#include <string.h>

#include "device/base/fixed_point.h"
#include "device/kernels/ref/ref.h"

/* Half to even. Adding 2^23 leaves no fraction bits in a float32; larger magnitudes are integers already. */
static float round_even(float x)
{
    const float two23 = 8388608.0f;

    if (!(x > -two23 && x < two23))
        return x;
    return x < 0.0f ? (x - two23) + two23 : (x + two23) - two23;
}

/* Saturated; NaN gives the least number. One instruction in between, where 64 bits would take libraries of doubles. */
static int32_t to_int32(float x)
{
    const float two31 = 2147483648.0f;

    if (!(x > -two31))
        return INT32_MIN;
    return x < two31 ? (int32_t)x : INT32_MAX;
}

/* No element has more than 32 bits, so that neither have the bounds. */
static int64_t quantize_one(const struct nuc_affine *q, float inverse, float value)
{
    int64_t v = to_int32((float)q->zero_point + round_even(inverse * value));

    if (v < q->quant_min)
        v = q->quant_min;
    return v > q->quant_max ? q->quant_max : v;
}

/* What most tensors are, and those of valid programs: without 64 bits and a choice for each element. */
static bool is_int8(const struct nuc_affine *q)
{
    return q->dtype == NUC_I8 && q->zero_point >= INT8_MIN && q->zero_point <= INT8_MAX;
}

static bool is_int16(const struct nuc_affine *q)
{
    return q->dtype == NUC_I16 && q->zero_point >= INT16_MIN && q->zero_point <= INT16_MAX;
}

void nuc_kernel_quantize_f32(const struct nuc_affine *q, const float *in, void *out, size_t count)
{
    const float inverse = 1.0f / q->scale;
    const bool fits = is_int8(q), wide = is_int16(q), whole = q->quant_min == INT8_MIN && q->quant_max == INT8_MAX;
    const int32_t zero_point = q->zero_point, low = (int32_t)q->quant_min, high = (int32_t)q->quant_max;

    for (size_t i = 0; fits && whole && i < count; i++)
        ((int8_t *)out)[i] = nuc_saturate_i8(nuc_nearest_int(inverse * in[i], zero_point));
    for (size_t i = 0; fits && !whole && i < count; i++)
        ((int8_t *)out)[i] = (int8_t)nuc_clamp_i32(nuc_nearest_int(inverse * in[i], zero_point), low, high);
    for (size_t i = 0; wide && i < count; i++)
        ((int16_t *)out)[i] = (int16_t)nuc_clamp_i32(nuc_nearest_int(inverse * in[i], zero_point), low, high);
    for (size_t i = 0; !fits && !wide && i < count; i++) {
        int64_t v = quantize_one(q, inverse, in[i]);
        if (q->dtype == NUC_I8 || q->dtype == NUC_U8) {
            ((uint8_t *)out)[i] = (uint8_t)v;
        } else if (q->dtype == NUC_I16 || q->dtype == NUC_U16) {
            uint16_t narrow = (uint16_t)v;
            memcpy((uint8_t *)out + 2 * i, &narrow, sizeof narrow);
        } else {
            uint32_t narrow = (uint32_t)v;
            memcpy((uint8_t *)out + 4 * i, &narrow, sizeof narrow);
        }
    }
}

static int32_t load(enum nuc_dtype dtype, const void *in, size_t i)
{
    int16_t half;
    uint16_t unsigned_half;
    int32_t word;

    if (dtype == NUC_I8)
        return ((const int8_t *)in)[i];
    if (dtype == NUC_U8)
        return ((const uint8_t *)in)[i];
    if (dtype == NUC_I16) {
        memcpy(&half, (const uint8_t *)in + 2 * i, sizeof half);
        return half;
    }
    if (dtype == NUC_U16) {
        memcpy(&unsigned_half, (const uint8_t *)in + 2 * i, sizeof unsigned_half);
        return unsigned_half;
    }
    memcpy(&word, (const uint8_t *)in + 4 * i, sizeof word);
    return word;
}

void nuc_kernel_dequantize_f32(const struct nuc_affine *q, const void *in, float *out, size_t count)
{
    const bool fits = is_int8(q), wide = is_int16(q);

    for (size_t i = 0; fits && i < count; i++)
        out[i] = (float)(((const int8_t *)in)[i] - q->zero_point) * q->scale;
    for (size_t i = 0; wide && i < count; i++)
        out[i] = (float)(((const int16_t *)in)[i] - q->zero_point) * q->scale;
    for (size_t i = 0; !fits && !wide && i < count; i++) {
        uint32_t difference = (uint32_t)load(q->dtype, in, i) - (uint32_t)q->zero_point;
        out[i] = (float)(int32_t)difference * q->scale;
    }
}
