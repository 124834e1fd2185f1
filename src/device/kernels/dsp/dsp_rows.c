/* The loops of dsp_rows.h for machines without the DSP extension; dsp_rows_m33.S has them for the others. */
#include "device/kernels/dsp/dsp_rows.h"
#include "device/kernels/dsp/dsp_columns.h"

#ifndef __ARM_FEATURE_DSP

void nuc_dsp_widen_row(const int8_t *in, uint32_t offset, int32_t blocks, uint32_t *x)
{
    nuc_dsp_widen(in, offset, 2 * blocks, 1, x);
}

void nuc_dsp_multiply_triples(const struct nuc_row_triples *t)
{
    const int8_t *row = t->weight;
    int8_t *out = t->out;

    for (int32_t *at = t->sums; at < t->end; at++, row += t->stride) {
        int32_t sum = *at;
        for (int32_t i = 0; i < 2 * t->blocks; i++) {
            uint32_t word = nuc_load_word(row + 4 * i);
            sum = nuc_smlad(t->x[2 * i + 1], nuc_sxtb16_odd(word), nuc_smlad(t->x[2 * i], nuc_sxtb16(word), sum));
        }
        if (out != NULL)
            *out++ = (int8_t)nuc_ssat8(nuc_fused_twice(nuc_doubled(sum), &t->f));
        else
            *at = sum;
    }
}

int32_t nuc_dsp_rescale_each(const int32_t *sums, const int32_t *multipliers, const int32_t *shifts, int32_t odd,
                             int8_t *out, const int8_t *end)
{
    int32_t seen = 0;

    for (; out < end; sums++, multipliers++, shifts++) {
        const int32_t less = ~*shifts & (NUC_EACH_SHIFT - 1);
        const struct nuc_fused f = {*multipliers, less + 1, odd * (1 << less)};
        seen |= ~*shifts | (*multipliers < 0 ? -1 : 0);
        *out++ = (int8_t)nuc_ssat8(nuc_fused_twice(nuc_doubled(*sums), &f));
    }
    return seen;
}

#endif
