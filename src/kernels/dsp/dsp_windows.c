/* The loops of dsp_windows.h for machines without the DSP extension; dsp_windows_m33.S has them for the others. */
#include "kernels/dsp/dsp_windows.h"

#include "kernels/dsp/fused_scale.h"

#ifndef __ARM_FEATURE_DSP

static const uint32_t *moved(const uint32_t *at, ptrdiff_t bytes)
{
    return at + bytes / (ptrdiff_t)sizeof *at;
}

/* One window; returns where its last line ends. */
static const uint32_t *sum_window(const struct nuc_windows *w, const uint32_t *data, int8_t *out)
{
    const uint32_t *stream = w->stream + NUC_WINDOW_WORDS;
    int32_t sums[NUC_WINDOW_WORDS];

    for (int k = 0; k < NUC_WINDOW_WORDS; k++)
        sums[k] = (int32_t)w->stream[k];
    for (int32_t line = 0; line < w->lines; line++) {
        data = line > 0 ? moved(data, w->across) : data;
        for (int32_t n = 0; n < w->places * NUC_WINDOW_WORDS; n++)
            sums[n % NUC_WINDOW_WORDS] = nuc_smlad(*data++, *stream++, sums[n % NUC_WINDOW_WORDS]);
    }
    const struct nuc_window_scales *p = (const struct nuc_window_scales *)(const void *)stream;
    for (int k = 0; k < NUC_WINDOW_WORDS; k++) {
        const struct nuc_fused f = {p->multipliers[k], p->shifts[k], p->adds[k]};
        out[k] = (int8_t)nuc_ssat8(nuc_fused_twice(sums[k], &f));
    }
    return data;
}

void nuc_dsp_sum_windows(const struct nuc_windows *w)
{
    const uint32_t *data = w->data;
    const uint32_t *end = w->end;
    int8_t *out = w->out;

    for (int32_t y = 0; y < w->rows; y++) {
        for (; data != end; out += w->step)
            data = moved(sum_window(w, data, out), w->next);
        data = moved(data, w->back);
        end = moved(end, w->row);
        out += w->out_back;
    }
}

void nuc_dsp_sum_three_by_two(const struct nuc_windows *w)
{
    nuc_dsp_sum_windows(w);
}

#endif
