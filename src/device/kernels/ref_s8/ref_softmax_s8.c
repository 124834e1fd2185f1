#include "device/kernels/ref_s8/softmax.h"

/* What is done once a row, or for few elements, is small: cold code is. */
__attribute__((cold, noinline)) static int32_t element(const struct nuc_softmax_s8 *s, int32_t difference)
{
    /* v in Q5.26 and at most 0; exp(v) in Q0.31: of v modulo 1/4 by a series around -1/8, times exp(-2^k / 4) ... */
    int32_t v = nuc_doubling_high_mul((int32_t)((uint32_t)difference << s->shift), s->multiplier);
    const int32_t quarter = 1 << 24;
    int32_t part = (v & (quarter - 1)) - quarter;
    uint32_t quarters = ((uint32_t)part - (uint32_t)v) >> 24;
    int32_t x = part * 32 + (1 << 28);
    int32_t x2 = nuc_doubling_high_mul(x, x);
    int32_t x4_4 = nuc_rounding_shift_right(nuc_doubling_high_mul(x2, x2), 2);
    int32_t higher = nuc_doubling_high_mul(x4_4 + nuc_doubling_high_mul(x2, x), NUC_SOFTMAX_THIRD);
    int32_t series = x + nuc_rounding_shift_right(higher + x2, 1);
    int32_t result = NUC_SOFTMAX_CENTER + nuc_doubling_high_mul(NUC_SOFTMAX_CENTER, series);
    if (v == 0)
        return INT32_MAX;
    for (int k = 0; k < NUC_SOFTMAX_FACTORS; k++) {
        if ((quarters >> k & 1) != 0)
            result = nuc_doubling_high_mul(result, nuc_softmax_factors[k]);
    }
    return result;
}

/* Exponentials of all differences to a row's largest element, 0 below the least that counts. */
struct exponentials {
    int32_t of[NUC_SOFTMAX_VALUES]; /* of minus the index */
};

/* e: NULL where there are fewer elements than differences. */
static int32_t exponential_of(const struct nuc_softmax_s8 *s, const struct exponentials *e, int32_t difference)
{
    if (e != NULL)
        return e->of[-difference];
    return difference >= s->diff_min ? element(s, difference) : 0;
}

__attribute__((cold, noinline)) static struct nuc_softmax_scale scale_of(uint32_t sum, bool wide)
{
    return nuc_softmax_scale_of(sum, wide ? 27 : 35);
}

static void softmax_row(const struct nuc_softmax_s8 *s, const struct exponentials *e, const int8_t *in, void *out)
{
    int32_t largest = in[0];
    uint32_t sum = 0;

    for (int32_t i = 1; i < s->size; i++)
        largest = in[i] > largest ? in[i] : largest;
    for (int32_t i = 0; i < s->size; i++)
        sum += (uint32_t)nuc_rounding_shift_right(exponential_of(s, e, in[i] - largest), 12);
    const struct nuc_softmax_scale scale = scale_of(sum, s->wide);
    for (int32_t i = 0; i < s->size; i++) {
        int32_t v = nuc_rounding_shift_right(nuc_doubling_high_mul(scale.factor, exponential_of(s, e, in[i] - largest)),
                                             scale.exponent);
        if (s->wide)
            ((int16_t *)out)[i] = (int16_t)nuc_clamp_i32(nuc_wrap_add(v, INT16_MIN), INT16_MIN, INT16_MAX);
        else
            ((int8_t *)out)[i] = nuc_saturate_i8(nuc_wrap_add(v, INT8_MIN));
    }
}

void nuc_ref_softmax_s8(const struct nuc_softmax_s8 *s, const int8_t *in, void *out)
{
    struct exponentials e;
    bool many = s->rows > NUC_SOFTMAX_VALUES / s->size; /* elements, each of which takes two */

    if (many) {
        for (int32_t i = 0; i < NUC_SOFTMAX_VALUES; i++)
            e.of[i] = -i >= s->diff_min ? element(s, -i) : 0;
    }
    for (int32_t r = 0; r < s->rows; r++) {
        ptrdiff_t at = (ptrdiff_t)r * s->size;
        softmax_row(s, many ? &e : NULL, in + at, (uint8_t *)out + (s->wide ? 2 * at : at));
    }
}
