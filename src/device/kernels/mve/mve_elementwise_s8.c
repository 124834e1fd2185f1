/* Sums and products of two tensors. */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/mve/mve.h"
#include "device/kernels/mve/rescale.h"

#define LEAST_FOR_TABLES 160 /* elements; npu/support/kernel_cycles.c knows it */
#define VALUES 256

/* ---- sums ---- */

/* What each value of an input, as a number without sign, adds to a sum. */
static void fill_table(int32_t offset, struct nuc_multiplier m, int32_t table[VALUES])
{
    const struct nuc_vscale scale = nuc_vscale_of(m);
    const nuc_words shift = nuc_vdup_w(20);
    nuc_words v = nuc_vadd_wn(nuc_vsteps_w(1), offset);

    for (int32_t i = 0; i < VALUES; i += NUC_LANES_W, v = nuc_vadd_wn(v, NUC_LANES_W)) {
        if (i == VALUES / 2)
            v = nuc_vadd_wn(v, -VALUES);
        nuc_vstr_w(table + i, nuc_vrequantize(nuc_vshl_w(v, shift), &scale, true));
    }
}

/* The last elements apart: memory is read and written up to them. */
static void add_row(const struct nuc_add_s8 *p, const int32_t *of_a, const int32_t *of_b, const int8_t *a,
                    const int8_t *b, int32_t count, int8_t *out)
{
    const struct nuc_vscale scale = nuc_vscale_of(p->sum);
    const nuc_words low = nuc_vdup_w(p->low), high = nuc_vdup_w(p->high);
    int32_t offset = p->offset;

    for (; count >= NUC_LANES_W; count -= NUC_LANES_W, a += NUC_LANES_W, b += NUC_LANES_W, out += NUC_LANES_W) {
        nuc_words v = nuc_vadd_w(nuc_vldr_w_at(of_a, nuc_vldr_ubw(a)), nuc_vldr_w_at(of_b, nuc_vldr_ubw(b)));
        v = nuc_vadd_wn(nuc_vrequantize(v, &scale, false), offset);
        nuc_vstr_bw(out, nuc_vmin_w(nuc_vmax_w(v, low), high));
    }
    for (int32_t i = 0; i < count; i++) {
        int32_t sum = nuc_requantize(nuc_wrap_add(of_a[(uint8_t)a[i]], of_b[(uint8_t)b[i]]), p->sum);
        out[i] = (int8_t)nuc_clamp_i32(nuc_wrap_add(sum, offset), p->low, p->high);
    }
}

/* Not inlined: what leaves all to another kernel takes no stack. */
__attribute__((noinline)) static void add_by_tables(const struct nuc_add_s8 *p, const struct nuc_loops *loops,
                                                    const int8_t *a, const int8_t *b, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    int32_t of_a[VALUES], of_b[VALUES];

    fill_table(p->offset_a, p->a, of_a);
    fill_table(p->offset_b, p->b, of_b);
    do
        add_row(p, of_a, of_b, a + walk.a, b + walk.b, nuc_row_length(loops), out + walk.out);
    while (nuc_walk_next_row(loops, &walk));
}

void nuc_mve_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    if (p->sum.shift <= 0 && nuc_has_elements(loops, LEAST_FOR_TABLES) && nuc_rows_are_dense(loops))
        add_by_tables(p, loops, a, b, out);
    else
        nuc_dsp_add_s8(p, loops, a, b, out);
}

/* ---- products ---- */

static inline nuc_words products(const struct nuc_mul_s8 *p, const struct nuc_vscale *scale, nuc_words a, nuc_words b)
{
    nuc_words v = nuc_vmul_w(nuc_vadd_wn(a, p->offset_a), nuc_vadd_wn(b, p->offset_b));

    return nuc_vclamp_w(nuc_vadd_wn(nuc_vrequantize(v, scale, true), p->offset), p->low, p->high);
}

static void multiply_row(const struct nuc_mul_s8 *p, const int8_t *a, const int8_t *b, int32_t count, int8_t *out)
{
    const struct nuc_vscale scale = nuc_vscale_of(p->product);
    const struct nuc_mul_s8 q = *p; /* what is written is not in it */

    for (; count >= NUC_LANES_W; count -= NUC_LANES_W, a += NUC_LANES_W, b += NUC_LANES_W, out += NUC_LANES_W)
        nuc_vstr_bw(out, products(&q, &scale, nuc_vldr_bw(a), nuc_vldr_bw(b)));
    if (count > 0)
        nuc_vstr_bw_some(out, products(&q, &scale, nuc_vldr_bw_some(a, count), nuc_vldr_bw_some(b, count)), count);
}

void nuc_mve_mul_s8(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    if (!nuc_rows_are_dense(loops)) {
        nuc_ref_mul_s8(p, loops, a, b, out);
        return;
    }
    do
        multiply_row(p, a + walk.a, b + walk.b, nuc_row_length(loops), out + walk.out);
    while (nuc_walk_next_row(loops, &walk));
}

/* ---- functions ---- */

void nuc_mve_table_s8(const int8_t *table, const int8_t *in, int8_t *out, size_t count)
{
    const nuc_bytes sign = nuc_vdup_b(INT8_MIN);

    for (; count >= NUC_LANES_B; count -= NUC_LANES_B, in += NUC_LANES_B, out += NUC_LANES_B)
        nuc_vstr_b(out, nuc_vldr_b_at(table, nuc_veor_b(nuc_vldr_b(in), sign)));
    for (size_t i = 0; i < count; i++)
        out[i] = table[in[i] + 128];
}
