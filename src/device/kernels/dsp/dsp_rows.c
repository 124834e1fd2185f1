/* The loop of dsp_rows.h for machines without the DSP extension; dsp_rows_m33.S has it for the others. */
#include "device/kernels/dsp/dsp_rows.h"

#include "device/kernels/dsp/packed.h"

#ifndef __ARM_FEATURE_DSP

static int32_t dot(const struct nuc_row_pairs *p, const int8_t *row, int32_t sum)
{
    for (int32_t i = 0; i < 2 * p->blocks; i++, row += 4) {
        uint32_t word = nuc_load_word(row);
        sum = nuc_smlad(p->x[2 * i + 1], nuc_sxtb16_odd(word), nuc_smlad(p->x[2 * i], nuc_sxtb16(word), sum));
    }
    return sum;
}

void nuc_dsp_multiply_pairs(const struct nuc_row_pairs *p)
{
    ptrdiff_t step = 8 * (ptrdiff_t)p->blocks + p->step;

    for (int32_t k = 0; k < p->count; k++) {
        p->sums[2 * k] = dot(p, p->first + k * step, p->sums[2 * k]);
        p->sums[2 * k + 1] = dot(p, p->second + k * step, p->sums[2 * k + 1]);
    }
}

#endif
