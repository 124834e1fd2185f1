/*
 * Convolutions of int16: four output channels at a time, whose products are added up in pairs. Sums of 32 bits hold
 * MOST products of 23 bits each; what they make is added up in 64 bits.
 */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/packed.h"
#include "device/kernels/ref_s16/conv_s16.h"

#define CHANNELS 4
#define MOST 256

static uint32_t two(const int16_t *at)
{
    return nuc_load_word((const int8_t *)at);
}

/* Adds the products of `count` values in a row with the weights of four channels, `step` apart. */
static void add_run(const int16_t *in, const int8_t *weight, ptrdiff_t step, int32_t count, int64_t sums[CHANNELS])
{
    const int8_t *w0 = weight, *w1 = w0 + step, *w2 = w1 + step, *w3 = w2 + step;

    while (count > 0) {
        int32_t part = count < MOST ? count : MOST, a = 0, b = 0, c = 0, d = 0, i = 0;
        for (; i + 4 <= part; i += 4, in += 4, w0 += 4, w1 += 4, w2 += 4, w3 += 4) {
            uint32_t first = two(in), second = two(in + 2);
            uint32_t even = nuc_lower_halves(first, second), odd = nuc_upper_halves(first, second);
            uint32_t w = nuc_load_word(w0);
            a = nuc_smlad(nuc_sxtb16_odd(w), odd, nuc_smlad(nuc_sxtb16(w), even, a));
            w = nuc_load_word(w1);
            b = nuc_smlad(nuc_sxtb16_odd(w), odd, nuc_smlad(nuc_sxtb16(w), even, b));
            w = nuc_load_word(w2);
            c = nuc_smlad(nuc_sxtb16_odd(w), odd, nuc_smlad(nuc_sxtb16(w), even, c));
            w = nuc_load_word(w3);
            d = nuc_smlad(nuc_sxtb16_odd(w), odd, nuc_smlad(nuc_sxtb16(w), even, d));
        }
        for (; i < part; i++, in++) {
            a += *in * *w0++;
            b += *in * *w1++;
            c += *in * *w2++;
            d += *in * *w3++;
        }
        sums[0] += a;
        sums[1] += b;
        sums[2] += c;
        sums[3] += d;
        count -= part;
    }
}

/* Taps of a row whose inputs lie next to each other, as their weights do, are one run. */
static void channels_of_pixel(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind, const struct nuc_s16_channel *ch,
                              ptrdiff_t step, const int16_t *image, int32_t out_y, int32_t out_x,
                              int64_t sums[CHANNELS])
{
    bool joined = kind == NUC_CONV && c->dilation[1] == 1 && c->groups == 1;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        int32_t y = nuc_s16_place(c, kind, 0, out_y, ky);
        for (int32_t kx = 0, taps = 1; y >= 0 && kx < c->kernel[1]; kx += taps) {
            int32_t x = nuc_s16_place(c, kind, 1, out_x, kx);
            taps = 1;
            if (x < 0)
                continue;
            if (joined)
                taps = c->kernel[1] - kx < c->in_size[1] - x ? c->kernel[1] - kx : c->in_size[1] - x;
            add_run(image + ((ptrdiff_t)y * c->in_size[1] + x) * c->in_channels + ch->first,
                    ch->weight + (ky * c->kernel[1] + kx) * ch->tap, step, taps * ch->depth, sums);
        }
    }
}

/* Four channels of one pixel of as many inputs, whose weights lie next to each other. */
static void add_taps(const struct nuc_conv_s8 *c, const int16_t *image, const int8_t *weight, int32_t out_y,
                     int32_t out_x, int64_t sums[CHANNELS])
{
    int32_t total[CHANNELS] = {0};

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        int32_t y = nuc_s16_place(c, NUC_DEPTHWISE, 0, out_y, ky);
        for (int32_t kx = 0; y >= 0 && kx < c->kernel[1]; kx++) {
            int32_t x = nuc_s16_place(c, NUC_DEPTHWISE, 1, out_x, kx);
            if (x < 0)
                continue;
            const int16_t *in = image + ((ptrdiff_t)y * c->in_size[1] + x) * c->in_channels;
            const int8_t *w = weight + (ptrdiff_t)(ky * c->kernel[1] + kx) * c->out_channels;
            for (int k = 0; k < CHANNELS; k++)
                total[k] += in[k] * w[k];
        }
    }
    for (int k = 0; k < CHANNELS; k++)
        sums[k] = total[k];
}

static void store(const struct nuc_conv_s16 *conv, int32_t o, int32_t count, const int64_t sums[CHANNELS], int16_t *out)
{
    for (int32_t k = 0; k < count; k++)
        out[o + k] = nuc_s16_result(conv, o + k, sums[k]);
}

static void pixel(const struct nuc_conv_s16 *conv, enum nuc_conv_kind kind, const int16_t *image, const int8_t *weight,
                  int32_t y, int32_t x, int16_t *out)
{
    const struct nuc_conv_s8 *c = &conv->c;
    int32_t of_group = c->out_channels / c->groups;

    for (int32_t o = 0, count; o < c->out_channels; o += count) {
        int64_t sums[CHANNELS] = {0};
        int32_t left = of_group - o % of_group;
        if (kind == NUC_DEPTHWISE) {
            count = CHANNELS;
            add_taps(c, image + o, weight + o, y, x, sums);
        } else {
            const struct nuc_s16_channel ch = nuc_s16_channel_of(c, kind, weight, o);
            count = left < CHANNELS ? 1 : CHANNELS; /* the same one four times, where there are fewer */
            ptrdiff_t step = count == 1 ? 0 : (ptrdiff_t)c->kernel[0] * c->kernel[1] * ch.tap;
            channels_of_pixel(c, kind, &ch, step, image, y, x, sums);
        }
        store(conv, o, count, sums, out);
    }
}

void nuc_dsp_conv_s16(const struct nuc_conv_s16 *conv, enum nuc_conv_kind kind, const int16_t *in, const int8_t *weight,
                      int16_t *out)
{
    const struct nuc_conv_s8 *c = &conv->c;
    bool even = c->in_channels == c->out_channels && c->out_channels % CHANNELS == 0;

    if (kind == NUC_DEPTHWISE && (!even || (int64_t)c->kernel[0] * c->kernel[1] > MOST)) {
        nuc_ref_conv_s16(conv, kind, in, weight, out);
        return;
    }
    for (int32_t b = 0; b < c->batch; b++) {
        const int16_t *image = in + (ptrdiff_t)b * c->in_size[0] * c->in_size[1] * c->in_channels;
        for (int32_t y = 0; y < c->out_size[0]; y++) {
            for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels)
                pixel(conv, kind, image, weight, y, x, out);
        }
    }
}
