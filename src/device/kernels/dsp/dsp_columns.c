#include "device/kernels/dsp/dsp_columns.h"
#include "device/kernels/dsp/fused_scale.h"

bool nuc_dsp_fuses(const struct nuc_rescale *r, const int32_t *bias, int32_t channels, int32_t count)
{
    const int32_t limit = INT32_MAX - (1 << 29) - (1 << 22); /* what is added to a product is below the rest */
    const int32_t largest_product = 255 * 128;

    if (r->step != 1 || count > INT16_MAX)
        return false;
    int32_t room = limit - count * largest_product;
    for (int32_t i = 0; i < channels; i++) {
        if (r->multipliers[i] < 1 << 30 || r->shifts[i] >= 0 || r->shifts[i] < -NUC_FUSED_SHIFT)
            return false;
        if (bias != NULL && (bias[i] > room || bias[i] < -room))
            return false;
    }
    return true;
}

void nuc_dsp_clamp_conv(const struct nuc_conv_s8 *c, int8_t *out)
{
    const ptrdiff_t pixels = (ptrdiff_t)c->batch * c->out_size[0] * c->out_size[1];

    nuc_dsp_clamp(c->rescale.low, c->rescale.high, out, pixels * c->out_channels);
}

void nuc_dsp_tabulate(const struct nuc_dot *d, int32_t *table)
{
    uint32_t gap = (uint32_t)(d->row - 4 * d->blocks) << 16;

    for (int32_t o = 0; o < d->rows; o++) {
        *table++ = (int32_t)(gap | (o + 1 == d->rows ? NUC_LAST_ROW : 0) | (uint32_t)-d->shifts[o]);
        *table++ = (int32_t)((uint32_t)d->multipliers[o] << 1);
        *table++ = (int32_t)((uint32_t)d->offset << (-d->shifts[o] - 1));
        *table++ = o + 1 < d->rows ? d->bias[o + 1] : 0;
    }
}

/* Cores with the DSP extension have these in dsp_columns_m33.S. */
#ifndef __ARM_FEATURE_DSP

void nuc_dsp_widen(const int8_t *in, uint32_t offset, int32_t blocks, int32_t width, uint32_t *out)
{
    for (int32_t i = 0; i < blocks; i++) {
        uint32_t word = nuc_load_word(in);
        out[0] = nuc_sxtab16(offset, word);
        out[width] = nuc_sxtab16_odd(offset, word);
        out += 2 * width;
        in += 4;
    }
}

void nuc_dsp_widen_five(const int8_t *in, ptrdiff_t step, uint32_t offset, int32_t blocks, uint32_t *out)
{
    for (int32_t i = 0; i < NUC_COLUMN_PIXELS; i++)
        nuc_dsp_widen(in + i * step, offset, blocks, NUC_COLUMN_PIXELS, out + i);
}

void nuc_dsp_copy_five(const int8_t *from, ptrdiff_t step, int8_t *to, ptrdiff_t line, int32_t count)
{
    for (int32_t i = 0; i < NUC_COLUMN_PIXELS; i++) {
        for (int32_t k = 0; k < count; k += 4)
            nuc_store_word(to + i * line + k, nuc_load_word(from + i * step + k));
    }
}

/*
 * With the rounded product h = round(2 * sum * m / 2^32), the result is floor((h + 2^(s - 1)) / 2^s) + offset =
 * floor((h + 2^(s - 1) + offset * 2^s) / 2^s), a negative h moved below the tie by the sum's sign (where h is 0 and the
 * sum negative the result is the same). 2 * m is 2^32 more than what a register holds of it: the sum itself is added to
 * the upper word.
 */
static inline int8_t fused(int32_t sum, const int32_t *table)
{
    int32_t from = (int32_t)((uint32_t)sum + (uint32_t)table[2] + (uint32_t)(sum >> 31));

    return (int8_t)nuc_ssat8(nuc_smmlar(sum, table[1], from) >> (table[0] & 0xFF));
}

void nuc_dsp_dot(const struct nuc_dot *d)
{
    const int8_t *row = d->weight;

    for (int32_t o = 0; o < d->rows; o++, row += d->row) {
        int32_t *sums = d->sums + o * NUC_COLUMN_PIXELS, five[NUC_COLUMN_PIXELS];
        const uint32_t *x = d->columns;
        for (int32_t i = 0; i < NUC_COLUMN_PIXELS; i++)
            five[i] = d->bias != NULL ? d->bias[o] : sums[i];
        for (int32_t b = 0; b < d->blocks; b++, x += NUC_COLUMN_BLOCK) {
            uint32_t word = nuc_load_word(row + 4 * b);
            for (int32_t i = 0; i < NUC_COLUMN_PIXELS; i++)
                five[i] = nuc_smlad(x[NUC_COLUMN_PIXELS + i], nuc_sxtb16_odd(word),
                                    nuc_smlad(x[i], nuc_sxtb16(word), five[i]));
        }
        int32_t own[NUC_SCALE_WORDS] = {0};
        if (d->out != NULL && d->shifts != NULL) {
            const struct nuc_dot one = {
                .rows = 1, .multipliers = d->multipliers + o, .shifts = d->shifts + o, .offset = d->offset};
            nuc_dsp_tabulate(&one, own);
        }
        const int32_t *table = d->shifts != NULL ? own : d->multipliers + o * NUC_SCALE_WORDS;
        for (int32_t i = 0; i < NUC_COLUMN_PIXELS; i++) {
            if (d->out == NULL)
                sums[i] = five[i];
            else
                d->out[i * d->step + o] = fused(five[i], table);
        }
    }
}

#endif
