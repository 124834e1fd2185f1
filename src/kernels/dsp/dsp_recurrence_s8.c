/* Products of recurrent layers: four weights at a time. */
#include "kernels/dsp/dsp.h"
#include "kernels/dsp/packed.h"

static int32_t dot_s8(const int8_t *w, const int8_t *x, int32_t count)
{
    int32_t sum = 0, i = 0;

    for (; i + 4 <= count; i += 4) {
        uint32_t weights = nuc_load_word(w + i), values = nuc_load_word(x + i);
        sum = nuc_smlad(nuc_sxtb16(weights), nuc_sxtb16(values), sum);
        sum = nuc_smlad(nuc_sxtb16_odd(weights), nuc_sxtb16_odd(values), sum);
    }
    for (; i < count; i++)
        sum = nuc_wrap_add(sum, w[i] * x[i]);
    return sum;
}

static int32_t dot_s16(const int8_t *w, const int16_t *h, int32_t count)
{
    int32_t sum = 0, i = 0;

    for (; i + 4 <= count; i += 4) {
        uint32_t weights = nuc_load_word(w + i), even = nuc_sxtb16(weights), odd = nuc_sxtb16_odd(weights);
        const int8_t *values = (const int8_t *)(h + i);
        sum = nuc_smlad(nuc_lower_halves(even, odd), nuc_load_word(values), sum);
        sum = nuc_smlad(nuc_upper_halves(even, odd), nuc_load_word(values + 4), sum);
    }
    for (; i < count; i++)
        sum = nuc_wrap_add(sum, w[i] * h[i]);
    return sum;
}

void nuc_dsp_recurrence_s8(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const int8_t *in,
                           int8_t *out)
{
    static const struct nuc_recurrence_dots dots = {dot_s8, dot_s16};

    nuc_recurrence_s8_by(&dots, r, p, in, out);
}
