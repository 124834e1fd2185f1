/* Elementwise operators of int16, and softmax. */
#include "device/kernels/ref/element.h"
#include "device/kernels/ref_s16/quantized_s16.h"

static int16_t saturated(int32_t v)
{
    return (int16_t)nuc_clamp_i32(v, INT16_MIN, INT16_MAX);
}

void nuc_kernel_exact_quantize(const struct nuc_affine *q, const float *in, void *out, size_t count)
{
    const float most = 0x1p22f; /* from here on floats are whole or out of range */

    for (size_t i = 0; i < count; i++) {
        float x = in[i] / q->scale;
        float v = x > -most ? x < most ? x : most : -most;
        int32_t whole = (int32_t)v;
        float rest = v - (float)whole;
        int32_t rounded = whole + (rest >= 0.5f) - (rest <= -0.5f);
        nuc_store_whole(
            q->dtype, out, (ptrdiff_t)i,
            nuc_clamp_i32(nuc_wrap_add(rounded, q->zero_point), (int32_t)q->quant_min, (int32_t)q->quant_max));
    }
}

static inline void requantize_from(const struct nuc_requantize *r, enum nuc_dtype from, const void *in, void *out,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int32_t v = (int32_t)((uint32_t)nuc_load_whole(from, in, (ptrdiff_t)i) - (uint32_t)r->zero_from);
        v = nuc_wrap_add(nuc_requantize(v, r->m), r->zero_to);
        nuc_store_whole(r->to, out, (ptrdiff_t)i, nuc_clamp_i32(v, r->low, r->high));
    }
}

/* A loop for each type, which does not ask for it. */
void nuc_kernel_requantize(const struct nuc_requantize *r, const void *in, void *out, size_t count)
{
    if (r->from == NUC_I16)
        requantize_from(r, NUC_I16, in, out, count);
    else if (r->from == NUC_I32)
        requantize_from(r, NUC_I32, in, out, count);
    else
        requantize_from(r, NUC_I8, in, out, count);
}

/* ---- of two operands: a nest of loops, and the value of two elements ---- */

static int32_t negated(int32_t v)
{
    return (int32_t)(0u - (uint32_t)v);
}

/* By a negative multiplier: less what the positive one makes. */
static int32_t signed_requantize(int32_t v, struct nuc_multiplier m)
{
    const struct nuc_multiplier positive = {negated(m.multiplier), m.shift};

    return m.multiplier < 0 ? negated(nuc_requantize(v, positive)) : nuc_requantize(v, m);
}

static int16_t sum_of(const void *params, int32_t a, int32_t b)
{
    const struct nuc_add_s8 *p = params;
    int32_t left = nuc_requantize(a * (1 << 15), p->a), right = signed_requantize(b * (1 << 15), p->b);

    return (int16_t)nuc_clamp_i32(nuc_requantize(nuc_wrap_add(left, right), p->sum), p->low, p->high);
}

static int16_t product_of(const void *params, int32_t a, int32_t b)
{
    const struct nuc_mul_s8 *p = params;

    return (int16_t)nuc_clamp_i32(nuc_requantize(a * b, p->product), p->low, p->high);
}

static int16_t prelu_of(const void *params, int32_t x, int32_t slope)
{
    const struct nuc_prelu_s8 *p = params;

    return saturated(x >= 0 ? nuc_requantize(x, p->positive) : signed_requantize(x * slope, p->negative));
}

typedef int16_t value_fn(const void *params, int32_t a, int32_t b);

/* b: int16, or int8 slopes. */
static inline void each(value_fn *value, const void *params, const struct nuc_loops *loops, const int16_t *a,
                        enum nuc_dtype type_b, const void *b, int16_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank - 1;
    const ptrdiff_t step_a = loops->rank == 0 ? 0 : loops->a[last], step_b = loops->rank == 0 ? 0 : loops->b[last];
    const ptrdiff_t step_out = loops->rank == 0 ? 0 : loops->out[last];

    do {
        for (int32_t i = 0; i < nuc_row_length(loops); i++)
            out[walk.out + i * step_out] =
                value(params, a[walk.a + i * step_a], (int32_t)nuc_load_whole(type_b, b, walk.b + i * step_b));
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_kernel_add_s16(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int16_t *a, const int16_t *b,
                        int16_t *out)
{
    each(sum_of, p, loops, a, NUC_I16, b, out);
}

void nuc_kernel_mul_s16(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int16_t *a, const int16_t *b,
                        int16_t *out)
{
    each(product_of, p, loops, a, NUC_I16, b, out);
}

void nuc_kernel_prelu_s16(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int16_t *in,
                          const int8_t *slopes, int16_t *out)
{
    each(prelu_of, p, loops, in, NUC_I8, slopes, out);
}

void nuc_kernel_function_s16(const int16_t *samples, bool even, const int16_t *in, int16_t *out, size_t count)
{
    for (size_t i = 0; even && i < count; i++)
        out[i] = (int16_t)nuc_even_value(samples, in[i]);
    for (size_t i = 0; !even && i < count; i++)
        out[i] = (int16_t)nuc_octave_value(samples, in[i]);
}

void nuc_kernel_sigmoid_s16(struct nuc_q15_units units, bool is_tanh, const int16_t *in, int16_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int32_t x = nuc_to_q15_units(units, in[i]);
        out[i] = is_tanh ? nuc_tanh_q15(x) : nuc_logistic_q15(x);
    }
}

static int16_t looked_up(const int16_t *table, int32_t v)
{
    int32_t index = 256 + (v >> 7), rest = v & 0x7f;
    int32_t slope = (int16_t)(table[index + 1] - table[index]);

    return (int16_t)(table[index] + ((slope * rest + 64) >> 7));
}

static void softmax_row(const struct nuc_softmax_s16 *s, const int16_t *in, int16_t *out)
{
    int32_t largest = INT16_MIN, sum = 0, headroom = 0;

    for (int32_t i = 0; i < s->size; i++)
        largest = in[i] > largest ? in[i] : largest;
    for (int32_t i = 0; i < s->size; i++) {
        int32_t below = nuc_requantize(in[i] - largest, s->m);
        out[i] = looked_up(s->exponentials, saturated(nuc_wrap_add(below, INT16_MAX)));
        sum += out[i];
    }
    /* The sum as 1 + x with x in [0, 1), which has 16 bits; the largest element alone makes it more than 0. */
    while (headroom < 29 && (uint32_t)sum << headroom < 1u << 30)
        headroom++;
    int32_t shifted = (int32_t)(((int64_t)sum * (1 << headroom) + (1 << 13)) >> 14);
    int32_t scale = looked_up(s->reciprocals, saturated(shifted - (1 << 15) - (1 << 16)));
    for (int32_t i = 0; i < s->size; i++) {
        int64_t v = ((int64_t)out[i] * scale + ((int64_t)1 << (29 - headroom))) >> (30 - headroom);
        out[i] = (int16_t)nuc_clamp_i32((int32_t)v, 0, INT16_MAX);
    }
}

void nuc_kernel_softmax_s16(const struct nuc_softmax_s16 *s, const int16_t *in, int16_t *out)
{
    for (int32_t r = 0; r < s->rows; r++)
        softmax_row(s, in + (ptrdiff_t)r * s->size, out + (ptrdiff_t)r * s->size);
}
