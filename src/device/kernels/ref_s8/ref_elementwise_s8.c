/* Elementwise operators in int8. */
#include "device/kernels/ref_s8/elementwise.h"

static inline int32_t sum_of(const void *params, int32_t a, int32_t b)
{
    const struct nuc_add_s8 *p = params;
    int32_t left = nuc_requantize((a + p->offset_a) * (1 << 20), p->a);
    int32_t right = nuc_requantize((b + p->offset_b) * (1 << 20), p->b);
    int32_t sum = nuc_requantize(nuc_wrap_add(left, right), p->sum);

    return nuc_clamp_i32(nuc_wrap_add(sum, p->offset), p->low, p->high);
}

void nuc_ref_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    nuc_each(sum_of, p, loops, NUC_I8, a, NUC_I8, b, NUC_I8, out);
}

static inline int32_t product_of(const void *params, int32_t a, int32_t b)
{
    const struct nuc_mul_s8 *p = params;
    int32_t product = nuc_requantize((a + p->offset_a) * (b + p->offset_b), p->product);

    return nuc_clamp_i32(nuc_wrap_add(product, p->offset), p->low, p->high);
}

void nuc_ref_mul_s8(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    nuc_each(product_of, p, loops, NUC_I8, a, NUC_I8, b, NUC_I8, out);
}

void nuc_kernel_maximum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out)
{
    nuc_each(nuc_larger_of, NULL, loops, NUC_I8, a, NUC_I8, b, NUC_I8, out);
}

void nuc_kernel_minimum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out)
{
    nuc_each(nuc_smaller_of, NULL, loops, NUC_I8, a, NUC_I8, b, NUC_I8, out);
}

static inline int32_t prelu_of(const void *params, int32_t in, int32_t slope)
{
    const struct nuc_prelu_s8 *p = params;
    int32_t x = in + p->input_offset;
    int32_t v = x >= 0 ? nuc_requantize(x, p->positive) : nuc_requantize(x * slope, p->negative);

    return nuc_saturate_i8(nuc_wrap_add(v, p->output_offset));
}

void nuc_ref_prelu_s8(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int8_t *in,
                      const int8_t *slopes, int8_t *out)
{
    nuc_each(prelu_of, p, loops, NUC_I8, in, NUC_I8, slopes, NUC_I8, out);
}

static bool relates(enum nuc_relation relation, int32_t a, int32_t b)
{
    switch (relation) {
    case NUC_EQUAL:
        return a == b;
    case NUC_NOT_EQUAL:
        return a != b;
    case NUC_LESS:
        return a < b;
    case NUC_LESS_EQUAL:
        return a <= b;
    case NUC_GREATER:
        return a > b;
    case NUC_GREATER_EQUAL:
    default:
        return a >= b;
    }
}

struct comparison {
    const struct nuc_compare_s8 *p;
    int32_t unit;
};

static inline int32_t truth_of(const void *params, int32_t a, int32_t b)
{
    const struct comparison *c = params;
    const struct nuc_compare_s8 *p = c->p;

    return relates(p->relation, nuc_requantize((a + p->offset_a) * c->unit, p->a),
                   nuc_requantize((b + p->offset_b) * c->unit, p->b));
}

/* Of one scale, as a max pool and what it pools have it. */
static inline int32_t truth_of_steps(const void *params, int32_t a, int32_t b)
{
    const struct nuc_compare_s8 *p = params;

    return relates(p->relation, a + p->offset_a, b + p->offset_b);
}

static inline __attribute__((always_inline)) void compare(const struct nuc_compare_s8 *p, const struct nuc_loops *loops,
                                                          enum nuc_dtype dtype, const void *a, const void *b,
                                                          int8_t *out)
{
    const struct comparison c = {p, dtype == NUC_I8 ? 1 << 20 : 1 << 15};

    if (p->a.multiplier == p->b.multiplier && p->a.shift == p->b.shift && p->a.multiplier >= 1 << 30 && p->a.shift == 0)
        nuc_each(truth_of_steps, p, loops, dtype, a, dtype, b, NUC_I8, out);
    else
        nuc_each(truth_of, &c, loops, dtype, a, dtype, b, NUC_I8, out);
}

void nuc_kernel_compare_int(const struct nuc_compare_s8 *p, const struct nuc_loops *loops, enum nuc_dtype dtype,
                            const void *a, const void *b, int8_t *out)
{
    if (dtype == NUC_I8)
        compare(p, loops, NUC_I8, a, b, out);
    else
        compare(p, loops, NUC_I16, a, b, out);
}

/* Half away from zero without libm: adding copysign(0.5) and cutting off is exact below 2^22. */
static float round_away(float v)
{
    if (!(v > -4194304.0f && v < 4194304.0f))
        return v;
    int32_t whole = (int32_t)v;
    float rest = v - (float)whole;
    if (rest >= 0.5f)
        return (float)(whole + 1);
    return (float)(rest <= -0.5f ? whole - 1 : whole);
}

/* low and high: of the element type. A product that is not a number (infinity times 0) becomes the smallest value. */
static int32_t quotient_of(const struct nuc_div_s8 *p, int32_t a, int32_t b, float low, float high)
{
    int32_t divisor = b - p->zero_b;
    int32_t none = divisor == 0;
    /* Without a condition: GNU's assembler takes a conditional conversion for an M55 for another instruction. */
    float quotient = (float)((a - p->zero_a) & (none - 1)) / (float)(divisor + none);
    float scaled = round_away(quotient * p->scale) + (float)p->zero_out;

    if (!(scaled > low))
        return (int32_t)low;
    return (int32_t)(scaled < high ? scaled : high);
}

void nuc_kernel_div_int(const struct nuc_div_s8 *p, const void *a, const void *b, void *out, size_t count)
{
    if (p->dtype == NUC_I8) {
        for (size_t i = 0; i < count; i++)
            ((int8_t *)out)[i] =
                (int8_t)quotient_of(p, ((const int8_t *)a)[i], ((const int8_t *)b)[i], -128.0f, 127.0f);
    } else {
        for (size_t i = 0; i < count; i++)
            ((int16_t *)out)[i] =
                (int16_t)quotient_of(p, ((const int16_t *)a)[i], ((const int16_t *)b)[i], -32768.0f, 32767.0f);
    }
}

void nuc_ref_table_s8(const int8_t *table, const int8_t *in, int8_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = table[in[i] + 128];
}
