/* Elementwise operators of int16, and softmax. */
#include "device/kernels/dsp/fused_scale.h"
#include "device/kernels/ref_s16/quantized_s16.h"
#include "device/kernels/ref_s8/elementwise.h"

/* ---- rescaling in one high multiply ---- */

/* nuc_requantize() of numbers that are less than 2^30 times 2^-left in size. */
struct quick {
    struct nuc_fused fused;
    int32_t left, sign; /* sign: -1, or 0 where nothing is rounded a second time */
};

/* False where the numbers may be too large, which are less than 2^bits in size. */
static bool quick_of(struct nuc_multiplier m, int bits, struct quick *q)
{
    *q = (struct quick){{m.multiplier, 0, 0}, m.shift > 0 ? m.shift + 1 : 1, 0};
    if (m.multiplier < 0 || bits + q->left > 31)
        return false;
    if (m.shift >= 0)
        return true;
    q->sign = -1;
    return nuc_fused_of(m.multiplier, m.shift, 0, &q->fused);
}

static inline int32_t quickly(const struct quick *q, int32_t v)
{
    const int32_t twice = v * (1 << q->left);

    return nuc_smmlar(twice, q->fused.multiplier, q->fused.add + ((twice >> 31) & q->sign)) >> q->fused.shift;
}

/* ---- changes of type ---- */

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

static inline void requantize_quickly(const struct nuc_requantize *r, const struct quick *quick, enum nuc_dtype from,
                                      enum nuc_dtype to, const void *in, void *out, size_t count)
{
    const struct quick q = *quick;

    for (size_t i = 0; i < count; i++) {
        int32_t v = (int32_t)nuc_load_whole(from, in, (ptrdiff_t)i) - r->zero_from;
        nuc_store_whole(to, out, (ptrdiff_t)i, nuc_clamp_i32(quickly(&q, v) + r->zero_to, r->low, r->high));
    }
}

/* A loop for each type, which does not ask for it. */
void nuc_kernel_requantize(const struct nuc_requantize *r, const void *in, void *out, size_t count)
{
    const bool is_near =
        r->zero_from >= INT16_MIN && r->zero_from <= INT16_MAX && r->zero_to >= INT16_MIN && r->zero_to <= INT16_MAX;
    struct quick q;

    if (r->from == NUC_I32)
        requantize_from(r, NUC_I32, in, out, count);
    else if (!is_near || !quick_of(r->m, 17, &q) || r->to == NUC_I32)
        requantize_from(r, r->from, in, out, count);
    else if (r->from == NUC_I8)
        requantize_quickly(r, &q, NUC_I8, r->to, in, out, count);
    else if (r->to == NUC_I8)
        requantize_quickly(r, &q, NUC_I16, NUC_I8, in, out, count);
    else
        requantize_quickly(r, &q, NUC_I16, NUC_I16, in, out, count);
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

static int32_t sum_of(const void *params, int32_t a, int32_t b)
{
    const struct nuc_add_s8 *p = params;
    int32_t left = nuc_requantize(a * (1 << 15), p->a), right = signed_requantize(b * (1 << 15), p->b);

    return nuc_clamp_i32(nuc_requantize(nuc_wrap_add(left, right), p->sum), p->low, p->high);
}

static int32_t product_of(const void *params, int32_t a, int32_t b)
{
    const struct nuc_mul_s8 *p = params;

    return nuc_clamp_i32(nuc_requantize(a * b, p->product), p->low, p->high);
}

static int32_t prelu_of(const void *params, int32_t x, int32_t slope)
{
    const struct nuc_prelu_s8 *p = params;

    return nuc_ssat16(x >= 0 ? nuc_requantize(x, p->positive) : signed_requantize(x * slope, p->negative));
}

struct quick_sum {
    struct quick a, b, sum;
    int32_t sign_b;
};

/* Each operand becomes at most half of its 2^30. */
static bool quick_sum_of(const struct nuc_add_s8 *p, struct quick_sum *q)
{
    const struct nuc_multiplier b = {p->b.multiplier < 0 ? negated(p->b.multiplier) : p->b.multiplier, p->b.shift};

    q->sign_b = p->b.multiplier < 0 ? -1 : 1;
    return quick_of(p->a, 30, &q->a) && quick_of(b, 30, &q->b) && quick_of(p->sum, 30, &q->sum) &&
           (p->a.shift < 0 || p->a.multiplier <= 1 << 30) && (b.shift < 0 || b.multiplier <= 1 << 30);
}

static void add_row(const struct quick_sum *q, int32_t low, int32_t high, const int16_t *a, const int16_t *b,
                    int32_t count, int16_t *out)
{
    const struct quick_sum k = *q;

    for (const int16_t *end = a + count; a != end; a++, b++, out++) {
        int32_t sum = quickly(&k.a, *a * (1 << 15)) + k.sign_b * quickly(&k.b, *b * (1 << 15));
        *out = (int16_t)nuc_clamp_i32(quickly(&k.sum, sum), low, high);
    }
}

void nuc_kernel_add_s16(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int16_t *a, const int16_t *b,
                        int16_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct quick_sum q;

    if (!nuc_rows_are_dense(loops) || !quick_sum_of(p, &q)) {
        nuc_each(sum_of, p, loops, NUC_I16, a, NUC_I16, b, NUC_I16, out);
        return;
    }
    do
        add_row(&q, p->low, p->high, a + walk.a, b + walk.b, nuc_row_length(loops), out + walk.out);
    while (nuc_walk_next_row(loops, &walk));
}

struct difference {
    const struct nuc_add_s8 *p;
    int32_t unit;
};

__attribute__((noinline)) static int32_t squared_difference_of(const void *params, int32_t a, int32_t b)
{
    const struct difference *s = params;
    const struct nuc_add_s8 *p = s->p;
    const uint32_t d = (uint32_t)nuc_requantize((a + p->offset_a) * s->unit, p->a) -
                       (uint32_t)nuc_requantize((b + p->offset_b) * s->unit, p->b);

    return nuc_clamp_i32(nuc_wrap_add(nuc_requantize((int32_t)(d * d), p->sum), p->offset), p->low, p->high);
}

void nuc_kernel_squared_difference(const struct nuc_add_s8 *p, enum nuc_dtype dtype, const struct nuc_loops *loops,
                                   const void *a, const void *b, void *out)
{
    const struct difference s = {p, dtype == NUC_I8 ? 1 << 7 : 1};

    nuc_each(squared_difference_of, &s, loops, dtype, a, dtype, b, dtype, out);
}

/* Only the product of the two least numbers is too large. */
static void multiply_row(const struct nuc_mul_s8 *p, const struct quick *q, const int16_t *a, const int16_t *b,
                         int32_t count, int16_t *out)
{
    const struct quick k = *q;

    for (const int16_t *end = a + count; a != end; a++, b++, out++) {
        int32_t product = *a * *b;
        int32_t v = product != 1 << 30 ? quickly(&k, product) : nuc_requantize(product, p->product);
        *out = (int16_t)nuc_clamp_i32(v, p->low, p->high);
    }
}

void nuc_kernel_mul_s16(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int16_t *a, const int16_t *b,
                        int16_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct quick q;

    if (!nuc_rows_are_dense(loops) || !quick_of(p->product, 30, &q)) {
        nuc_each(product_of, p, loops, NUC_I16, a, NUC_I16, b, NUC_I16, out);
        return;
    }
    do
        multiply_row(p, &q, a + walk.a, b + walk.b, nuc_row_length(loops), out + walk.out);
    while (nuc_walk_next_row(loops, &walk));
}

void nuc_kernel_prelu_s16(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int16_t *in,
                          const int8_t *slopes, int16_t *out)
{
    nuc_each(prelu_of, p, loops, NUC_I16, in, NUC_I8, slopes, NUC_I16, out);
}

void nuc_kernel_maximum_s16(const struct nuc_loops *loops, const int16_t *a, const int16_t *b, int16_t *out)
{
    nuc_each(nuc_larger_of, NULL, loops, NUC_I16, a, NUC_I16, b, NUC_I16, out);
}

void nuc_kernel_minimum_s16(const struct nuc_loops *loops, const int16_t *a, const int16_t *b, int16_t *out)
{
    nuc_each(nuc_smaller_of, NULL, loops, NUC_I16, a, NUC_I16, b, NUC_I16, out);
}

void nuc_kernel_function_s16(const int32_t *samples, bool even, const int16_t *in, int16_t *out, size_t count)
{
    for (size_t i = 0; even && i < count; i++)
        out[i] = (int16_t)nuc_ssat16(nuc_even_value(samples, in[i]));
    for (size_t i = 0; !even && i < count; i++)
        out[i] = (int16_t)nuc_ssat16(nuc_octave_value(samples, in[i]));
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

static int32_t headroom_of(int32_t sum)
{
    if (sum <= 0)
        return sum == 0 ? 29 : 0;
    int32_t bits = __builtin_clz((uint32_t)sum) - 1;
    return bits < 29 ? bits : 29;
}

/* Exponentials of the row's differences to its largest element, and their sum. */
static int32_t exponentials_of(const struct nuc_softmax_s16 *s, const int16_t *in, int16_t *out)
{
    const int16_t *end = in + s->size, *table = s->exponentials;
    int32_t largest = *in, sum = 0;
    struct quick q;

    for (const int16_t *at = in + 1; at != end; at++)
        largest = *at > largest ? *at : largest;
    const bool quick = quick_of(s->m, 16, &q) && q.fused.shift < 15;
    /* Of numbers below zero the sign is known; 0 gives the same. What is added to the result goes in, too. */
    const int32_t add = q.fused.add + q.sign + INT16_MAX * (1 << (quick ? q.fused.shift : 0));
    for (const int16_t *at = in; quick && at != end; at++, out++) {
        int32_t below = (*at - largest) * (1 << q.left);
        int32_t v = looked_up(table, nuc_ssat16(nuc_smmlar(below, q.fused.multiplier, add) >> q.fused.shift));
        *out = (int16_t)v;
        sum += v;
    }
    for (const int16_t *at = in; !quick && at != end; at++, out++) {
        *out = looked_up(table, nuc_ssat16(nuc_wrap_add(nuc_requantize(*at - largest, s->m), INT16_MAX)));
        sum += *out;
    }
    return sum;
}

static void softmax_row(const struct nuc_softmax_s16 *s, const int16_t *in, int16_t *out)
{
    const int32_t sum = exponentials_of(s, in, out);
    /* The sum as 1 + x with x in [0, 1), which has 16 bits; the largest element alone makes it more than 0. */
    const int32_t headroom = headroom_of(sum), half = 1 << (29 - headroom), right = 30 - headroom;
    int32_t shifted = (int32_t)(((int64_t)sum * (1 << headroom) + (1 << 13)) >> 14);
    int32_t scale = looked_up(s->reciprocals, nuc_ssat16(shifted - (1 << 15) - (1 << 16)));

    for (const int16_t *end = out + s->size; out != end; out++)
        *out = (int16_t)nuc_usat15((*out * scale + half) >> right);
}

void nuc_kernel_softmax_s16(const struct nuc_softmax_s16 *s, const int16_t *in, int16_t *out)
{
    for (int32_t r = 0; r < s->rows; r++)
        softmax_row(s, in + (ptrdiff_t)r * s->size, out + (ptrdiff_t)r * s->size);
}
