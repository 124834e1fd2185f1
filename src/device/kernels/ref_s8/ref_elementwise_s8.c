/* Elementwise operators in int8. */
#include "device/kernels/ref/element.h"
#include "device/kernels/ref_s8/quantized.h"

/* Steps along the innermost dimension of a nest. */
struct row {
    int32_t size;
    ptrdiff_t a, b, out;
};

static struct row row_of(const struct nuc_loops *loops)
{
    uint32_t last = loops->rank - 1;

    if (loops->rank == 0)
        return (struct row){1, 0, 0, 0};
    return (struct row){loops->sizes[last], loops->a[last], loops->b[last], loops->out[last]};
}

static int8_t sum_of(const struct nuc_add_s8 *p, int8_t a, int8_t b)
{
    int32_t left = nuc_requantize((a + p->offset_a) * (1 << 20), p->a);
    int32_t right = nuc_requantize((b + p->offset_b) * (1 << 20), p->b);
    int32_t sum = nuc_requantize(nuc_wrap_add(left, right), p->sum);

    return (int8_t)nuc_clamp_i32(nuc_wrap_add(sum, p->offset), p->low, p->high);
}

void nuc_ref_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct row row = row_of(loops);

    do {
        for (int32_t i = 0; i < row.size; i++)
            out[walk.out + i * row.out] = sum_of(p, a[walk.a + i * row.a], b[walk.b + i * row.b]);
    } while (nuc_walk_next_row(loops, &walk));
}

static int8_t product_of(const struct nuc_mul_s8 *p, int8_t a, int8_t b)
{
    int32_t product = nuc_requantize((a + p->offset_a) * (b + p->offset_b), p->product);

    return (int8_t)nuc_clamp_i32(nuc_wrap_add(product, p->offset), p->low, p->high);
}

void nuc_ref_mul_s8(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct row row = row_of(loops);

    do {
        for (int32_t i = 0; i < row.size; i++)
            out[walk.out + i * row.out] = product_of(p, a[walk.a + i * row.a], b[walk.b + i * row.b]);
    } while (nuc_walk_next_row(loops, &walk));
}

static inline void extreme(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out, bool largest)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct row row = row_of(loops);

    do {
        for (int32_t i = 0; i < row.size; i++) {
            int8_t left = a[walk.a + i * row.a];
            int8_t right = b[walk.b + i * row.b];
            out[walk.out + i * row.out] = (left > right) == largest ? left : right;
        }
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_kernel_maximum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out)
{
    extreme(loops, a, b, out, true);
}

void nuc_kernel_minimum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out)
{
    extreme(loops, a, b, out, false);
}

static int8_t prelu_of(const struct nuc_prelu_s8 *p, int8_t in, int8_t slope)
{
    int32_t x = in + p->input_offset;
    int32_t v = x >= 0 ? nuc_requantize(x, p->positive) : nuc_requantize(x * slope, p->negative);

    return nuc_saturate_i8(nuc_wrap_add(v, p->output_offset));
}

void nuc_ref_prelu_s8(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int8_t *in,
                      const int8_t *slopes, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct row row = row_of(loops);

    do {
        for (int32_t i = 0; i < row.size; i++)
            out[walk.out + i * row.out] = prelu_of(p, in[walk.a + i * row.a], slopes[walk.b + i * row.b]);
    } while (nuc_walk_next_row(loops, &walk));
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
    struct row row = row_of(loops);
    const int32_t unit = dtype == NUC_I8 ? 1 << 20 : 1 << 15;

    do {
        for (int32_t i = 0; i < row.size; i++) {
            int32_t x = (int32_t)nuc_load_whole(dtype, a, walk.a + i * row.a) + p->offset_a;
            int32_t y = (int32_t)nuc_load_whole(dtype, b, walk.b + i * row.b) + p->offset_b;
            out[walk.out + i * row.out] =
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
