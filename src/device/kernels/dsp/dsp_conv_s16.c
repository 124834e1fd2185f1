/*
 * Convolutions of int16: four output channels at a time, whose products are added up in pairs. Sums of 32 bits hold
 * MOST products of 23 bits each; what they make is added up in 64 bits. The window of a pixel is copied to the stack
 * where it fits, so that a channel is one run of products.
 */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/packed.h"
#include "device/kernels/ref_s16/conv_s16.h"

#define CHANNELS 4
#define MOST 256
#define WINDOW 1024 /* values on the stack */

static inline uint32_t two(const int16_t *at)
{
    return nuc_load_word((const int8_t *)at);
}

static inline int32_t four_products(uint32_t even, uint32_t odd, uint32_t weights, int32_t sum)
{
    return nuc_smlad(nuc_sxtb16_odd(weights), odd, nuc_smlad(nuc_sxtb16(weights), even, sum));
}

/*
 * Adds the products of `count` values in a row with the weights of four channels, `step` apart. A function of its own:
 * its loop takes every register.
 */
__attribute__((noinline)) static void add_run(const int16_t *in, const int8_t *w, ptrdiff_t step, int32_t count,
                                              int64_t sums[CHANNELS])
{
    const ptrdiff_t step3 = 3 * step;

    while (count > 0) {
        int32_t part = count < MOST ? count : MOST, a = 0, b = 0, c = 0, d = 0;
        for (const int16_t *end = in + part / 4 * 4; in != end; in += 4, w += 4) {
            uint32_t first = two(in), second = two(in + 2);
            uint32_t even = nuc_lower_halves(first, second), odd = nuc_upper_halves(first, second);
            a = four_products(even, odd, nuc_load_word(w), a);
            b = four_products(even, odd, nuc_load_word(w + step), b);
            c = four_products(even, odd, nuc_load_word(w + 2 * step), c);
            d = four_products(even, odd, nuc_load_word(w + step3), d);
        }
        for (const int16_t *end = in + part % 4; in != end; in++, w++) {
            a += *in * w[0];
            b += *in * w[step];
            c += *in * w[2 * step];
            d += *in * w[step3];
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

static void copy(int16_t *to, const int16_t *from, int32_t count)
{
    for (; count >= 2; count -= 2, to += 2, from += 2)
        nuc_store_word((int8_t *)to, two(from));
    if (count != 0)
        *to = *from;
}

static int16_t *put_zeros(int16_t *to, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        *to++ = 0;
    return to;
}

/* The window of a pixel, with zeros outside of the image: `run` taps of a row lie next to each other. */
static void gather(const struct nuc_conv_s8 *c, const int16_t *image, int32_t out_y, int32_t out_x, int32_t run,
                   int16_t *window)
{
    const int32_t depth = c->in_channels, width = c->in_size[1];

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        int32_t y = nuc_s16_place(c, NUC_CONV, 0, out_y, ky);
        for (int32_t kx = 0; kx < c->kernel[1]; kx += run) {
            int32_t x = out_x * c->stride[1] - c->padding[1] + kx * c->dilation[1];
            int32_t left = y < 0 || x < -run || x >= width ? run : x < 0 ? -x : 0;
            int32_t right = left < run && x + run > width ? x + run - width : 0, inside = run - left - right;
            window = put_zeros(window, left * depth);
            copy(window, image + ((ptrdiff_t)y * width + x + left) * depth, inside * depth);
            window = put_zeros(window + inside * depth, right * depth);
        }
    }
}

static inline int32_t lower(uint32_t pair)
{
    return (int16_t)pair;
}

static inline int32_t upper(uint32_t pair)
{
    return (int32_t)pair >> 16;
}

/* Adds the products of `count` taps with four channels; taps lie `in_step` and `step` apart. */
__attribute__((noinline)) static void add_column(const int16_t *in, ptrdiff_t in_step, const int8_t *weight,
                                                 ptrdiff_t step, int32_t count, int32_t total[CHANNELS])
{
    int32_t a = total[0], b = total[1], c = total[2], d = total[3];

    for (; count > 0; count--, in += in_step, weight += step) {
        uint32_t first = two(in), second = two(in + 2), w = nuc_load_word(weight);
        uint32_t even = nuc_sxtb16(w), odd = nuc_sxtb16_odd(w);
        a += lower(first) * lower(even);
        b += upper(first) * lower(odd);
        c += lower(second) * upper(even);
        d += upper(second) * upper(odd);
    }
    total[0] = a;
    total[1] = b;
    total[2] = c;
    total[3] = d;
}

/* Four channels of one pixel of as many inputs, whose weights lie next to each other. */
static void add_taps(const struct nuc_conv_s8 *c, const int16_t *image, const int8_t *weight, int32_t out_y,
                     int32_t out_x, int64_t sums[CHANNELS])
{
    const int32_t left = out_x * c->stride[1] - c->padding[1], width = c->in_size[1], channels = c->out_channels;
    int32_t total[CHANNELS] = {0}, first = 0, end = c->kernel[1];

    while (first < end && left + first * c->dilation[1] < 0)
        first++;
    while (first < end && left + (end - 1) * c->dilation[1] >= width)
        end--;
    for (int32_t ky = 0; first < end && ky < c->kernel[0]; ky++) {
        int32_t y = nuc_s16_place(c, NUC_DEPTHWISE, 0, out_y, ky);
        if (y >= 0)
            add_column(image + ((ptrdiff_t)y * width + left + first * c->dilation[1]) * channels,
                       (ptrdiff_t)c->dilation[1] * channels, weight + (ptrdiff_t)(ky * c->kernel[1] + first) * channels,
                       channels, end - first, total);
    }
    for (int k = 0; k < CHANNELS; k++)
        sums[k] = total[k];
}

static void store(const struct nuc_conv_s16 *conv, int32_t o, int32_t count, const int64_t sums[CHANNELS], int16_t *out)
{
    for (int32_t k = 0; k < count; k++)
        out[o + k] = nuc_s16_result(conv, o + k, sums[k]);
}

/*
 * Channels that are computed together, from `o` on, of `end` channels with the first weights in common: the last four
 * again where fewer are left; of fewer than four in all one, as if it were four.
 */
struct together {
    int32_t first, count;
};

static struct together together(int32_t begin, int32_t end, int32_t o)
{
    if (end - begin < CHANNELS)
        return (struct together){o, 1};
    return (struct together){o + CHANNELS <= end ? o : end - CHANNELS, CHANNELS};
}

/* A pixel whose values are a row of `count`. */
static void channels_of_row(const struct nuc_conv_s16 *conv, const int16_t *row, int32_t count, const int8_t *weight,
                            int16_t *out)
{
    struct together t;

    for (int32_t o = 0; o < conv->c.out_channels; o = t.first + t.count) {
        int64_t sums[CHANNELS] = {0};
        t = together(0, conv->c.out_channels, o);
        add_run(row, weight + (ptrdiff_t)t.first * count, t.count == 1 ? 0 : count, count, sums);
        store(conv, t.first, t.count, sums, out);
    }
}

static void pixel(const struct nuc_conv_s16 *conv, enum nuc_conv_kind kind, const int16_t *image, const int8_t *weight,
                  int32_t y, int32_t x, int16_t *out)
{
    const struct nuc_conv_s8 *c = &conv->c;
    int32_t of_group = c->out_channels / c->groups;
    struct together t;

    for (int32_t o = 0; o < c->out_channels; o = t.first + t.count) {
        int64_t sums[CHANNELS] = {0};
        if (kind == NUC_DEPTHWISE) {
            t = (struct together){o, CHANNELS};
            add_taps(c, image + o, weight + o, y, x, sums);
        } else {
            t = together(o - o % of_group, o - o % of_group + of_group, o);
            const struct nuc_s16_channel ch = nuc_s16_channel_of(c, kind, weight, t.first);
            ptrdiff_t step = t.count == 1 ? 0 : (ptrdiff_t)c->kernel[0] * c->kernel[1] * ch.tap;
            channels_of_pixel(c, kind, &ch, step, image, y, x, sums);
        }
        store(conv, t.first, t.count, sums, out);
    }
}

/* Whether windows are rows of values, and as many as that. */
static int32_t window_values(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind)
{
    int64_t count = (int64_t)c->kernel[0] * c->kernel[1] * c->in_channels;

    return kind == NUC_CONV && c->groups == 1 && count <= WINDOW ? (int32_t)count : 0;
}

/* Windows of one tap that lies inside the image lie in a row as they are. */
static bool is_pointwise(const struct nuc_conv_s8 *c)
{
    return c->kernel[0] == 1 && c->kernel[1] == 1 && c->padding[0] == 0 && c->padding[1] == 0 &&
           (c->out_size[0] - 1) * c->stride[0] < c->in_size[0] && (c->out_size[1] - 1) * c->stride[1] < c->in_size[1];
}

static void convolve_rows(const struct nuc_conv_s16 *conv, int32_t count, const int16_t *image, const int8_t *weight,
                          int16_t *out)
{
    const struct nuc_conv_s8 *c = &conv->c;
    const bool in_place = is_pointwise(c);
    const int32_t run = c->dilation[1] == 1 ? c->kernel[1] : 1;
    int16_t window[WINDOW];

    for (int32_t y = 0; y < c->out_size[0]; y++) {
        for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels) {
            const int16_t *row =
                in_place ? image + ((ptrdiff_t)y * c->stride[0] * c->in_size[1] + x * c->stride[1]) * count : window;
            if (!in_place)
                gather(c, image, y, x, run, window);
            channels_of_row(conv, row, count, weight, out);
        }
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
    const int32_t row = window_values(c, kind);
    for (int32_t b = 0; b < c->batch; b++) {
        const int16_t *image = in + (ptrdiff_t)b * c->in_size[0] * c->in_size[1] * c->in_channels;
        if (row > 0) {
            convolve_rows(conv, row, image, weight, out);
            out += (ptrdiff_t)c->out_size[0] * c->out_size[1] * c->out_channels;
            continue;
        }
        for (int32_t y = 0; y < c->out_size[0]; y++) {
            for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels)
                pixel(conv, kind, image, weight, y, x, out);
        }
    }
}
