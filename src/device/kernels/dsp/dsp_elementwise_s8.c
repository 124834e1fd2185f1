/* Sums and products of two tensors, and slopes below zero. */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/fused_scale.h"

/* ---- sums ---- */

#define LEAST_FOR_TABLES 384 /* elements; npu/support/kernel_cycles.c knows it */

/*
 * What a value of an input adds to a sum: the value and its offset, times a power of two, rescaled. The input with the
 * larger scale has one half exactly, which is a quarter of twice the value; of a difference, what is subtracted has a
 * negative scale, which is that of the negative value.
 */
struct addend {
    int32_t offset, factor;
    struct nuc_fused scale;
};

/* False for other scales. An input is at most 383 in magnitude. */
static bool addend_of(int32_t offset, struct nuc_multiplier m, struct addend *a)
{
    bool negative = m.multiplier < 0;
    int32_t multiplier = negative ? -(m.multiplier + (m.multiplier == INT32_MIN)) : m.multiplier;
    bool half = multiplier == 1 << 30 && m.shift == 0;

    a->offset = offset;
    a->factor = (negative ? -1 : 1) * (half ? 1 << 22 : 1 << 21);
    return m.multiplier != INT32_MIN && nuc_fused_of(multiplier, half ? -1 : m.shift, 0, &a->scale);
}

/* Twice of it, below 2^29 in magnitude. */
static inline int32_t twice_added(int32_t value, const struct addend *a)
{
    return 2 * nuc_fused_twice((value + a->offset) * a->factor, &a->scale);
}

/* Inputs of many elements: what each of their values adds. */
struct add_tables {
    int32_t a[256], b[256];
};

static void fill_table(const struct addend *a, int32_t table[256])
{
    for (int32_t i = 0; i < 256; i++)
        table[i] = twice_added((int8_t)i, a);
}

static void add_by_tables(const struct add_tables *t, struct nuc_fused f, const int8_t *a, const int8_t *b,
                          int32_t count, int8_t *out)
{
    for (const int8_t *end = a + count; a < end; a++, b++, out++)
        *out = (int8_t)nuc_ssat8(nuc_fused_twice(t->a[(uint8_t)*a] + t->b[(uint8_t)*b], &f));
}

static void add_few(struct addend of_a, struct addend of_b, struct nuc_fused f, const int8_t *a, const int8_t *b,
                    int32_t count, int8_t *out)
{
    for (const int8_t *end = a + count; a < end; a++, b++, out++)
        *out = (int8_t)nuc_ssat8(nuc_fused_twice(twice_added(*a, &of_a) + twice_added(*b, &of_b), &f));
}

/* Not inlined: sums of few elements take no stack for tables. */
__attribute__((noinline)) static void add_many(const struct nuc_add_s8 *p, const struct nuc_loops *loops,
                                               const struct addend inputs[2], struct nuc_fused sum, const int8_t *a,
                                               const int8_t *b, int8_t *out)
{
    int32_t count = loops->sizes[loops->rank - 1];
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct add_tables t;

    fill_table(&inputs[0], t.a);
    fill_table(&inputs[1], t.b);
    do {
        add_by_tables(&t, sum, a + walk.a, b + walk.b, count, out + walk.out);
        nuc_dsp_clamp(p->low, p->high, out + walk.out, count);
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_dsp_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct addend inputs[2];
    struct nuc_fused sum;

    if (!nuc_rows_are_dense(loops) || !nuc_fused_of(p->sum.multiplier, p->sum.shift, p->offset, &sum) ||
        !addend_of(p->offset_a, p->a, &inputs[0]) || !addend_of(p->offset_b, p->b, &inputs[1])) {
        nuc_ref_add_s8(p, loops, a, b, out);
        return;
    }
    if (nuc_has_elements(loops, LEAST_FOR_TABLES)) {
        add_many(p, loops, inputs, sum, a, b, out);
        return;
    }
    int32_t count = loops->sizes[loops->rank - 1];
    do {
        add_few(inputs[0], inputs[1], sum, a + walk.a, b + walk.b, count, out + walk.out);
        nuc_dsp_clamp(p->low, p->high, out + walk.out, count);
    } while (nuc_walk_next_row(loops, &walk));
}

/* ---- products ---- */

static void multiply_row(const struct nuc_mul_s8 *p, struct nuc_fused f, const int8_t *a, const int8_t *b,
                         int32_t count, int8_t *out)
{
    int32_t offset_a = p->offset_a, offset_b = p->offset_b;

    for (const int8_t *end = a + count; a < end; a++, b++, out++)
        *out = (int8_t)nuc_ssat8(nuc_fused_twice((*a + offset_a) * 2 * (*b + offset_b), &f));
}

void nuc_dsp_mul_s8(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct nuc_fused f;

    if (!nuc_rows_are_dense(loops) || !nuc_fused_of(p->product.multiplier, p->product.shift, p->offset, &f)) {
        nuc_ref_mul_s8(p, loops, a, b, out);
        return;
    }
    int32_t count = loops->sizes[loops->rank - 1];
    do {
        multiply_row(p, f, a + walk.a, b + walk.b, count, out + walk.out);
        nuc_dsp_clamp(p->low, p->high, out + walk.out, count);
    } while (nuc_walk_next_row(loops, &walk));
}

/* ---- slopes below zero ---- */

#define LEAST_FOR_SLOPES 64 /* elements that are worth a table */

/* The results of values above zero, whose scale is mostly near 1, by the value. */
struct prelu_table {
    int8_t above[256];
    struct nuc_fused below;
};

static void prelu_row(const struct prelu_table *t, int32_t offset, const int8_t *in, const int8_t *slopes,
                      ptrdiff_t step, int32_t count, int8_t *out)
{
    const struct nuc_fused f = t->below;

    for (const int8_t *end = in + count; in < end; in++, slopes += step, out++) {
        int32_t x = *in + offset;
        *out = x >= 0 ? t->above[(uint8_t)*in] : (int8_t)nuc_ssat8(nuc_fused_twice(2 * x * *slopes, &f));
    }
}

void nuc_dsp_prelu_s8(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int8_t *in,
                      const int8_t *slopes, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank - 1;
    struct prelu_table t;

    if (loops->rank == 0 || loops->a[last] != 1 || loops->out[last] != 1 ||
        !nuc_has_elements(loops, LEAST_FOR_SLOPES) ||
        !nuc_fused_of(p->negative.multiplier, p->negative.shift, p->output_offset, &t.below)) {
        nuc_ref_prelu_s8(p, loops, in, slopes, out);
        return;
    }
    for (int32_t q = INT8_MIN; q <= INT8_MAX; q++) {
        int32_t x = q + p->input_offset;
        t.above[(uint8_t)q] =
            x < 0 ? 0 : nuc_saturate_i8(nuc_wrap_add(nuc_requantize(x, p->positive), p->output_offset));
    }
    do
        prelu_row(&t, p->input_offset, in + walk.a, slopes + walk.b, loops->b[last], loops->sizes[last],
                  out + walk.out);
    while (nuc_walk_next_row(loops, &walk));
}
