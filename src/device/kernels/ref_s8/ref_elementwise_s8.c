/* Elementwise operators in int8. */
#include "device/kernels/ref/element.h"
#include "device/kernels/ref_s8/quantized.h"

/* A function of two elements, inlined where it is known, in a nest of loops. */
typedef int8_t value_fn(const void *params, int8_t a, int8_t b);
static inline __attribute__((always_inline)) void
each(value_fn *value, const void *params, const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    const int32_t size = nuc_row_length(loops);

    do {
        for (int32_t i = 0; i < size; i++)
            out[walk.out + i * steps.out] = value(params, a[walk.a + i * steps.a], b[walk.b + i * steps.b]);
    } while (nuc_walk_next_row(loops, &walk));
}

static inline int8_t sum_of(const void *params, int8_t a, int8_t b)
{
    const struct nuc_add_s8 *p = params;
    int32_t left = nuc_requantize((a + p->offset_a) * (1 << 20), p->a);
    int32_t right = nuc_requantize((b + p->offset_b) * (1 << 20), p->b);
    int32_t sum = nuc_requantize(nuc_wrap_add(left, right), p->sum);

    return (int8_t)nuc_clamp_i32(nuc_wrap_add(sum, p->offset), p->low, p->high);
}

void nuc_ref_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    each(sum_of, p, loops, a, b, out);
}

static inline int8_t product_of(const void *params, int8_t a, int8_t b)
{
    const struct nuc_mul_s8 *p = params;
    int32_t product = nuc_requantize((a + p->offset_a) * (b + p->offset_b), p->product);

    return (int8_t)nuc_clamp_i32(nuc_wrap_add(product, p->offset), p->low, p->high);
}

void nuc_ref_mul_s8(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    each(product_of, p, loops, a, b, out);
}

static inline int8_t larger_of(const void *params, int8_t a, int8_t b)
{
    (void)params;
    return a > b ? a : b;
}

static inline int8_t smaller_of(const void *params, int8_t a, int8_t b)
{
    (void)params;
    return a > b ? b : a;
}

void nuc_kernel_maximum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out)
{
    each(larger_of, NULL, loops, a, b, out);
}

void nuc_kernel_minimum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out)
{
    each(smaller_of, NULL, loops, a, b, out);
}

static inline int8_t prelu_of(const void *params, int8_t in, int8_t slope)
{
    const struct nuc_prelu_s8 *p = params;
    int32_t x = in + p->input_offset;
    int32_t v = x >= 0 ? nuc_requantize(x, p->positive) : nuc_requantize(x * slope, p->negative);

    return nuc_saturate_i8(nuc_wrap_add(v, p->output_offset));
}

void nuc_ref_prelu_s8(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int8_t *in,
                      const int8_t *slopes, int8_t *out)
{
    each(prelu_of, p, loops, in, slopes, out);
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

void nuc_kernel_compare_int(const struct nuc_compare_s8 *p, const struct nuc_loops *loops, enum nuc_dtype dtype,
                            const void *a, const void *b, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    const int32_t unit = dtype == NUC_I8 ? 1 << 20 : 1 << 15, size = nuc_row_length(loops);

    do {
        for (int32_t i = 0; i < size; i++) {
            int32_t x = (int32_t)nuc_load_whole(dtype, a, walk.a + i * steps.a) + p->offset_a;
            int32_t y = (int32_t)nuc_load_whole(dtype, b, walk.b + i * steps.b) + p->offset_b;
            out[walk.out + i * steps.out] =
                relates(p->relation, nuc_requantize(x * unit, p->a), nuc_requantize(y * unit, p->b));
        }
    } while (nuc_walk_next_row(loops, &walk));
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
