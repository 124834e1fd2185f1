/* Convolutions and matrix products of int16, one output element at a time. */
#include "device/kernels/dsp/packed.h"
#include "device/kernels/ref_s16/conv_s16.h"

static int64_t window_sum_s16(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind, const struct nuc_conv_channel *ch,
                              const int16_t *image, int32_t out_y, int32_t out_x)
{
    const int8_t *weight = ch->weight;
    int64_t sum = 0;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        int32_t y = nuc_conv_place(c, kind, 0, out_y, ky);
        for (int32_t kx = 0; kx < c->kernel[1]; kx++, weight += ch->tap) {
            int32_t x = nuc_conv_place(c, kind, 1, out_x, kx);
            if (y < 0 || x < 0)
                continue;
            const int16_t *in = image + ((ptrdiff_t)y * c->in_size[1] + x) * c->in_channels + ch->first;
            for (int32_t i = 0; i < ch->depth; i++)
                sum += in[i] * weight[i];
        }
    }
    return sum;
}

void nuc_ref_conv_s16(const struct nuc_conv_s16 *conv, enum nuc_conv_kind kind, const int16_t *in, const int8_t *weight,
                      int16_t *out)
{
    const struct nuc_conv_s8 *c = &conv->c;

    for (int32_t b = 0; b < c->batch; b++) {
        const int16_t *image = in + (ptrdiff_t)b * c->in_size[0] * c->in_size[1] * c->in_channels;
        for (int32_t y = 0; y < c->out_size[0]; y++) {
            for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels) {
                for (int32_t o = 0; o < c->out_channels; o++) {
                    const struct nuc_conv_channel ch = nuc_conv_channel_of(c, kind, weight, o);
                    out[o] = nuc_s16_result(conv, o, window_sum_s16(c, kind, &ch, image, y, x));
                }
            }
        }
    }
}

/* Four products of a row with each of one column or two. */
static inline __attribute__((always_inline)) void four_products(const int16_t *row, const int16_t *column,
                                                                const int16_t *second, bool both, int64_t sums[2])
{
    const uint32_t low = nuc_load_word((const int8_t *)row), high = nuc_load_word((const int8_t *)(row + 2));

    sums[0] = nuc_smlald(low, nuc_load_word((const int8_t *)column), sums[0]);
    sums[0] = nuc_smlald(high, nuc_load_word((const int8_t *)(column + 2)), sums[0]);
    if (both) {
        sums[1] = nuc_smlald(low, nuc_load_word((const int8_t *)second), sums[1]);
        sums[1] = nuc_smlald(high, nuc_load_word((const int8_t *)(second + 2)), sums[1]);
    }
}

static inline __attribute__((always_inline)) void dots(const int16_t *row, const int16_t *column, const int16_t *second,
                                                       bool both, int32_t depth, int64_t sums[2])
{
    sums[0] = sums[1] = 0;
    for (const int16_t *end = row + depth / 8 * 8; row != end; row += 8, column += 8) {
        four_products(row, column, second, both, sums);
        four_products(row + 4, column + 4, second + 4, both, sums);
        second += 8;
    }
    for (int32_t left = depth % 8; left > 0; left--, row++, column++) {
        sums[0] += (int32_t)*row * *column;
        if (both)
            sums[1] += (int32_t)*row * *second++;
    }
}

void nuc_kernel_matmul_s16(const struct nuc_matmul_s8 *m, const int16_t *in, const int16_t *right, int16_t *out)
{
    const struct nuc_multiplier scale = {m->rescale.multipliers[0], m->rescale.shifts[0]};

    for (int32_t r = 0; r < m->rows; r++, in += m->depth) {
        for (int32_t at = 0, count; at < m->columns; at += count) {
            const int16_t *column = right + (ptrdiff_t)at * m->depth;
            int64_t sums[2];
            count = m->columns - at > 1 ? 2 : 1;
            if (count > 1)
                dots(in, column, column + m->depth, true, m->depth, sums);
            else
                dots(in, column, column, false, m->depth, sums);
            for (int32_t k = 0; k < count; k++)
                *out++ = (int16_t)nuc_clamp_i32(nuc_requantize_long(sums[k], scale), m->rescale.low, m->rescale.high);
        }
    }
}
