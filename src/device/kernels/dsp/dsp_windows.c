/* The loops of dsp_windows.h for machines without the DSP extension; dsp_windows_m33.S has them for the others. */
#include "device/kernels/dsp/dsp_windows.h"

#include "device/kernels/dsp/fused_scale.h"

#ifndef __ARM_FEATURE_DSP

static const uint32_t *moved(const uint32_t *at, ptrdiff_t bytes)
{
    return at + bytes / (ptrdiff_t)sizeof *at;
}

static void widen_column(const struct nuc_lines *l, uint32_t upper, uint32_t lower, uint32_t *out)
{
    uint32_t low = nuc_lower_halves(upper, lower);
    uint32_t high = nuc_upper_halves(upper, lower);

    out[0] = nuc_sxtab16(l->offset, low);
    out[1] = nuc_sxtab16_odd(l->offset, low);
    out[2] = nuc_sxtab16(l->offset, high);
    out[3] = nuc_sxtab16_odd(l->offset, high);
}

static uint32_t element_of(const struct nuc_lines *l, const int8_t *row, int32_t y, int32_t x)
{
    return nuc_load_word(y >= 0 && y < l->height ? row + x * l->step : l->outside);
}

static void widen(const struct nuc_lines *l, bool twice)
{
    const int8_t *at = l->at;
    uint32_t *out = l->out;

    for (int32_t y = l->y; y != l->end; y += 2, at += 2 * l->row, out += l->skip / (ptrdiff_t)sizeof *out) {
        for (int32_t x = 0; x < l->columns; x++, out += NUC_WINDOW_WORDS) {
            widen_column(l, element_of(l, at, y, x), element_of(l, at + l->row, y + 1, x), out);
            for (int k = 0; k < NUC_WINDOW_WORDS && twice; k++)
                out[k] = nuc_add_pairs(out[k], out[k]);
        }
    }
}

void nuc_dsp_widen_lines(const struct nuc_lines *l)
{
    widen(l, false);
}

void nuc_dsp_widen_lines_twice(const struct nuc_lines *l)
{
    widen(l, true);
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
