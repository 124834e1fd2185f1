/* Softmax of device/kernels/ref_s8/ref_softmax_s8.c: exponentials of four differences at a time. */
#include "device/kernels/mve/mve.h"
#include "device/kernels/mve/rescale.h"
#include "device/kernels/ref_s8/softmax.h"

#define VALUES NUC_SOFTMAX_VALUES

/* Exponentials of differences that are scaled to Q5.26. */
static nuc_words exponentials(nuc_words v)
{
    const int32_t quarter = 1 << 24;
    const nuc_words minus_one = nuc_vdup_w(-1), center = nuc_vdup_w(NUC_SOFTMAX_CENTER);
    nuc_words part = nuc_vadd_wn(nuc_vand_w(v, nuc_vdup_w(quarter - 1)), -quarter);
    /* Bit 24 + k says whether factor k counts. */
    nuc_words quarters = nuc_vadd_w(part, nuc_vmul_w(v, minus_one));
    nuc_words x = nuc_vadd_wn(nuc_vshl_w(part, nuc_vdup_w(5)), 1 << 28);
    nuc_words x2 = nuc_vqrdmulh_w(x, x);
    nuc_words x4_4 = nuc_vshift_right(nuc_vqrdmulh_w(x2, x2), nuc_vdup_w(-2));
    nuc_words higher = nuc_vqrdmulh_w(nuc_vadd_w(x4_4, nuc_vqrdmulh_w(x2, x)), nuc_vdup_w(NUC_SOFTMAX_THIRD));
    nuc_words series = nuc_vadd_w(x, nuc_vshift_right(nuc_vadd_w(higher, x2), minus_one));
    nuc_words result = nuc_vadd_w(center, nuc_vqrdmulh_w(center, series));

    for (int k = 0; k < NUC_SOFTMAX_FACTORS; k++)
        result = nuc_vsel_w(nuc_vshl_w(quarters, nuc_vdup_w(7 - k)),
                            nuc_vqrdmulh_w(result, nuc_vdup_w(nuc_softmax_factors[k])), result);
    return nuc_vsel_w(v, result, nuc_vdup_w(INT32_MAX));
}

static nuc_words of_differences(const struct nuc_softmax_s8 *s, nuc_words difference)
{
    nuc_words v = nuc_vqrdmulh_w(nuc_vshl_w(difference, nuc_vdup_w(s->shift)), nuc_vdup_w(s->multiplier));

    return nuc_vsel_w(nuc_vadd_wn(difference, -s->diff_min), nuc_vdup_w(0), exponentials(v));
}

static int32_t largest_of(const int8_t *in, int32_t count)
{
    int32_t largest = in[0], i = 1;

    if (count >= NUC_LANES_B) {
        for (i = 0; i + NUC_LANES_B <= count; i += NUC_LANES_B)
            largest = nuc_vmaxv_b(largest, nuc_vldr_b(in + i));
        return nuc_vmaxv_b(largest, nuc_vldr_b(in + count - NUC_LANES_B));
    }
    for (; i < count; i++)
        largest = in[i] > largest ? in[i] : largest;
    return largest;
}

/* The exponential of each element of a row: `table` has those of all differences, the last one of 0; or of its own. */
struct row {
    const int32_t *table, *own;
    const int8_t *in;
    int32_t largest;
};

static inline nuc_words exponentials_at(const struct row *r, int32_t i, int32_t some)
{
    if (r->own != NULL)
        return nuc_vldr_w_some(r->own + i, some);
    nuc_words places = nuc_vadd_wn(nuc_vldr_bw_some(r->in + i, some), VALUES - 1 - r->largest);
    return nuc_vldr_w_at(r->table, some < NUC_LANES_W ? nuc_vmin_w(places, nuc_vdup_w(VALUES - 1)) : places);
}

static void write_row(const struct row *r, int32_t sum, int32_t count, int8_t *out)
{
    struct nuc_softmax_scale scale = nuc_softmax_scale_of((uint32_t)sum, 35);
    const nuc_words factor = nuc_vdup_w(scale.factor), shift = nuc_vdup_w(-scale.exponent), most = nuc_vdup_w(INT8_MAX);

    for (int32_t i = 0; i < count; i += NUC_LANES_W) {
        int32_t some = count - i < NUC_LANES_W ? count - i : NUC_LANES_W;
        nuc_words v = nuc_vrshl_w(nuc_vqrdmulh_w(exponentials_at(r, i, some), factor), shift);
        nuc_vstr_bw_some(out + i, nuc_vmin_w(nuc_vadd_wn(v, INT8_MIN), most), some);
    }
}

static void softmax_row(const struct nuc_softmax_s8 *s, struct row *r, int32_t *own, int8_t *out)
{
    const nuc_words shift = nuc_vdup_w(-12);
    int32_t whole = s->size / NUC_LANES_W * NUC_LANES_W, sum = 0;

    r->largest = largest_of(r->in, s->size);
    for (int32_t i = 0; r->table == NULL && i < s->size; i += NUC_LANES_W) {
        int32_t some = s->size - i < NUC_LANES_W ? s->size - i : NUC_LANES_W;
        nuc_vstr_w(own + i, of_differences(s, nuc_vadd_wn(nuc_vldr_bw_some(r->in + i, some), -r->largest)));
    }
    for (int32_t i = 0; i < whole; i += NUC_LANES_W)
        sum = nuc_vaddva_w(sum, nuc_vrshl_w(exponentials_at(r, i, NUC_LANES_W), shift));
    for (int32_t i = whole; i < s->size; i++)
        sum += nuc_rounding_shift_right(r->own != NULL ? own[i] : r->table[VALUES - 1 + r->in[i] - r->largest], 12);
    write_row(r, sum, s->size, out);
}

/* As many elements as values, or the table in their place. */
static void softmax_rows(const struct nuc_softmax_s8 *s, const int8_t *in, int8_t *out)
{
    int32_t values[VALUES];
    bool many = s->rows > VALUES / s->size;

    if (many) {
        nuc_words v = nuc_vadd_wn(nuc_vsteps_w(1), 1 - VALUES);
        for (int32_t i = 0; i < VALUES; i += NUC_LANES_W, v = nuc_vadd_wn(v, NUC_LANES_W))
            nuc_vstr_w(values + i, of_differences(s, v));
    }
    for (int32_t r = 0; r < s->rows; r++, in += s->size, out += s->size) {
        struct row row = {many ? values : NULL, many ? NULL : values, in, 0};
        softmax_row(s, &row, values, out);
    }
}

void nuc_mve_softmax_s8(const struct nuc_softmax_s8 *s, const int8_t *in, void *out)
{
    if (s->wide)
        nuc_ref_softmax_s8(s, in, out);
    else
        softmax_rows(s, in, out);
}
