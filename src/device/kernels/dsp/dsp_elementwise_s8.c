/* Sums and products of two tensors, and slopes below zero. */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/fused_scale.h"

static void clamp_row(int32_t low, int32_t high, int32_t count, int8_t *row)
{
    for (int32_t i = 0; i < count && (low != INT8_MIN || high != INT8_MAX); i++)
        row[i] = (int8_t)nuc_clamp_i32(row[i], low, high);
}

/* ---- sums ---- */

#define LEAST_FOR_TABLES 64 /* elements; npu/support/kernel_cycles.c knows it */

/*
 * Twice what each value of an input adds to a sum, below 2^29: an input of at most 383 * 2^20 by at most one half. The
 * input with the larger scale has one half exactly; of a difference, what is subtracted has a negative one. False for
 * other scales.
 */
static bool fill_table(int32_t offset, struct nuc_multiplier m, int32_t table[256])
{
    bool half = m.multiplier == 1 << 30 && m.shift == 0;
    bool negative = m.multiplier < 0 && (m.shift < 0 || (m.multiplier == -(1 << 30) && m.shift == 0));
    struct nuc_fused f;

    if (half || negative) {
        for (int32_t i = 0; i < 256; i++) {
            int32_t v = ((int8_t)i + offset) * (1 << 20);
            table[i] = half ? v : 2 * nuc_requantize(v, m);
        }
        return true;
    }
    if (!nuc_fused_of(m.multiplier, m.shift, 0, &f))
        return false;
    for (int32_t i = 0; i < 256; i++)
        table[i] = 2 * nuc_fused_twice(((int8_t)i + offset) * (1 << 21), &f);
    return true;
}

struct add_tables {
    int32_t a[256], b[256];
    struct nuc_fused sum;
};

static void add_row(const struct add_tables *t, const int8_t *a, const int8_t *b, int32_t count, int8_t *out)
{
    const struct nuc_fused f = t->sum;

    for (const int8_t *end = a + count; a < end; a++, b++, out++)
        *out = (int8_t)nuc_ssat8(nuc_fused_twice(t->a[(uint8_t)*a] + t->b[(uint8_t)*b], &f));
}

static int32_t elements_of(const struct nuc_loops *loops)
{
    int32_t count = 1;

    for (uint32_t d = 0; d < loops->rank && count < LEAST_FOR_TABLES; d++)
        count *= loops->sizes[d];
    return count;
}

void nuc_dsp_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct add_tables t;

    if (!nuc_rows_are_dense(loops) || elements_of(loops) < LEAST_FOR_TABLES ||
        !nuc_fused_of(p->sum.multiplier, p->sum.shift, p->offset, &t.sum) || !fill_table(p->offset_a, p->a, t.a) ||
        !fill_table(p->offset_b, p->b, t.b)) {
        nuc_ref_add_s8(p, loops, a, b, out);
        return;
    }
    int32_t count = loops->sizes[loops->rank - 1];
    do {
        int8_t *to = out + walk.out;
        add_row(&t, a + walk.a, b + walk.b, count, to);
        clamp_row(p->low, p->high, count, to);
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
        clamp_row(p->low, p->high, count, out + walk.out);
    } while (nuc_walk_next_row(loops, &walk));
}

/* ---- slopes below zero ---- */

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

    if (loops->rank == 0 || loops->a[last] != 1 || loops->out[last] != 1 || elements_of(loops) < LEAST_FOR_TABLES ||
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
