/*
 * Convolutions of int16, whose products are added up in pairs. Sums of 32 bits hold MOST products of 23 bits each; what
 * they make is added up in 64 bits. The windows of two pixels are copied to the stack where they fit, in the order in
 * which weights are widened, so that two channels of both are one run of products; else four channels of one pixel.
 */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/fused_scale.h"
#include "device/kernels/dsp/packed.h"
#include "device/kernels/ref_s16/conv_s16.h"

#define CHANNELS 4
#define INLINE static inline __attribute__((always_inline))
#define MOST 508
#define ROOM 1408 /* values on the stack */

static inline uint32_t two(const int16_t *at)
{
    return nuc_load_word((const int8_t *)at);
}

/* Of an address that is a multiple of 8. */
static inline uint64_t four(const int16_t *at)
{
    uint64_t words;

    __builtin_memcpy(&words, __builtin_assume_aligned(at, 8), sizeof words);
    return words;
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
static void channels_of_pixel(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind, const struct nuc_conv_channel *ch,
                              ptrdiff_t step, const int16_t *image, int32_t out_y, int32_t out_x,
                              int64_t sums[CHANNELS])
{
    bool joined = kind == NUC_CONV && c->dilation[1] == 1 && c->groups == 1;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        int32_t y = nuc_conv_place(c, kind, 0, out_y, ky);
        for (int32_t kx = 0, taps = 1; y >= 0 && kx < c->kernel[1]; kx += taps) {
            int32_t x = nuc_conv_place(c, kind, 1, out_x, kx);
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

/* ---- from sums to values ---- */

/*
 * A channel's rescaling: LONG is nuc_requantize_long() of what fits 32 bits in one high multiply, for shifts up to -2,
 * SHORT nuc_fused_twice().
 */
struct scale {
    int32_t bias;
    struct nuc_fused fused;
    enum { SLOW, LONG, SHORT } form;
};

static struct scale scale_of(const struct nuc_conv_s16 *conv, int32_t o)
{
    const struct nuc_rescale *r = &conv->c.rescale;
    const int32_t m = r->multipliers[o], shift = r->shifts[o], half = 1 << 15;
    const int64_t bias = conv->long_bias != NULL ? conv->long_bias[o] : conv->c.bias != NULL ? conv->c.bias[o] : 0;
    struct scale s = {.bias = (int32_t)bias, .form = SLOW};

    if (!conv->is_long) {
        s.form = nuc_fused_of(m, shift, 0, &s.fused) ? SHORT : SLOW;
    } else if (shift <= -2 && shift >= -31 && bias == s.bias) {
        const int32_t upper = m < 0x7FFF0000 ? (m + half) & -(1 << 16) : 0x7FFF0000;
        s.fused = (struct nuc_fused){upper, -1 - shift, 1 << (-2 - shift)};
        s.form = LONG;
    }
    return s;
}

__attribute__((noinline)) static int16_t slow_result(const struct nuc_conv_s16 *conv, int32_t o, int64_t sum)
{
    return nuc_s16_result(conv, o, sum);
}

INLINE int16_t result(const struct nuc_conv_s16 *conv, const struct scale *s, int32_t o, int32_t sum)
{
    const struct nuc_rescale *r = &conv->c.rescale;
    int32_t v;

    if (__builtin_add_overflow(sum, s->bias, &v))
        return slow_result(conv, o, sum);
    if (s->form == LONG)
        v = ((int32_t)(((int64_t)v * s->fused.multiplier) >> 32) + s->fused.add) >> s->fused.shift;
    else if (s->form == SHORT && nuc_fused_takes(v))
        v = nuc_fused_twice(v * 2, &s->fused);
    else
        return slow_result(conv, o, sum);
    return (int16_t)nuc_clamp_i32(v, r->low, r->high);
}

/* The results of a channel, `step` apart. */
__attribute__((noinline)) static void finish(const struct nuc_conv_s16 *conv, int32_t o, const int32_t *sums,
                                             int32_t count, int16_t *out)
{
    const struct scale s = scale_of(conv, o);
    const ptrdiff_t step = conv->c.out_channels;

    for (const int32_t *end = sums + count; sums != end; sums++, out += step)
        *out = result(conv, &s, o, *sums);
}

/* ---- windows ---- */

/*
 * Where the next value of one of two windows goes, which have four values each in eight places: 0 and 2 of the first
 * one and of the second, 1 and 3 of both.
 */
struct window {
    int16_t *four; /* place 0 of the four that it is among */
    int32_t k;
};

static inline int32_t place(int32_t k)
{
    return (k & 1) * 4 + (k >> 1);
}

static inline void put(struct window *w, int16_t v)
{
    w->four[place(w->k)] = v;
    w->k = (w->k + 1) & 3;
    w->four += w->k != 0 ? 0 : 8;
}

static void put_zeros(struct window *w, int32_t count)
{
    for (; count > 0; count--)
        put(w, 0);
}

static void put_values(struct window *w, const int16_t *from, int32_t count)
{
    for (; count > 0 && w->k != 0; count--)
        put(w, *from++);
    for (; count >= 4; count -= 4, from += 4, w->four += 8) {
        uint32_t first = two(from), second = two(from + 2);
        nuc_store_word((int8_t *)w->four, nuc_lower_halves(first, second));
        nuc_store_word((int8_t *)(w->four + 4), nuc_upper_halves(first, second));
    }
    for (; count > 0; count--)
        put(w, *from++);
}

/* Values that two windows take, in eights. */
static int32_t paired_values(int32_t count)
{
    return (count + 3) / 4 * 8;
}

/* The window of a pixel, with zeros outside of the image: `run` taps of a row lie next to each other. */
static void gather(const struct nuc_conv_s8 *c, const int16_t *image, int32_t out_y, int32_t out_x, int32_t run,
                   int16_t *to)
{
    const int32_t depth = c->in_channels, width = c->in_size[1];
    struct window w = {to, 0};

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        int32_t y = nuc_conv_place(c, NUC_CONV, 0, out_y, ky);
        for (int32_t kx = 0; kx < c->kernel[1]; kx += run) {
            int32_t x = out_x * c->stride[1] - c->padding[1] + kx * c->dilation[1];
            int32_t left = y < 0 || x < -run || x >= width ? run : x < 0 ? -x : 0;
            int32_t right = left < run && x + run > width ? x + run - width : 0, inside = run - left - right;
            put_zeros(&w, left * depth);
            put_values(&w, image + ((ptrdiff_t)y * width + x + left) * depth, inside * depth);
            put_zeros(&w, right * depth);
        }
    }
}

#define PAIRS 16 /* at a time */

/*
 * Sums of `count` products, at most MOST, of `n` pairs of pixels with the weights of two channels: those of the second
 * one 2 * PAIRS behind. A function of its own: its loop takes every register.
 */
__attribute__((noinline)) static void add_pairs(const int16_t *in, int32_t n, int32_t count, const int8_t *weight,
                                                const int8_t *weight2, int32_t *sums)
{
    for (; n > 0; n--, sums += 2) {
        const int8_t *w = weight, *w2 = weight2;
        int32_t a = 0, b = 0, c = 0, d = 0;
        for (const int16_t *end = in + count / 4 * 8; in != end; in += 8, w += 4, w2 += 4) {
            uint64_t both = four(in);
            uint32_t first = (uint32_t)both, second = (uint32_t)(both >> 32);
            uint32_t word = nuc_load_word(w), word2 = nuc_load_word(w2);
            uint32_t wide = nuc_sxtb16(word), wide2 = nuc_sxtb16(word2);
            a = nuc_smlad(wide, first, a);
            c = nuc_smlad(wide, second, c);
            b = nuc_smlad(wide2, first, b);
            d = nuc_smlad(wide2, second, d);
            both = four(in + 4);
            first = (uint32_t)both;
            second = (uint32_t)(both >> 32);
            wide = nuc_sxtb16_odd(word);
            wide2 = nuc_sxtb16_odd(word2);
            a = nuc_smlad(wide, first, a);
            c = nuc_smlad(wide, second, c);
            b = nuc_smlad(wide2, first, b);
            d = nuc_smlad(wide2, second, d);
        }
        for (int32_t k = 0; k < count % 4; k++) {
            int32_t x = in[place(k)], y = in[place(k) + 2];
            a += x * w[k];
            b += x * w2[k];
            c += y * w[k];
            d += y * w2[k];
        }
        in += count % 4 != 0 ? 8 : 0;
        sums[0] = a;
        sums[1] = c;
        sums[2 * PAIRS] = b;
        sums[2 * PAIRS + 1] = d;
    }
}

/* One pair whose rows are longer. */
static void long_pair(const struct nuc_conv_s16 *conv, const int16_t *in, int32_t count, const int8_t *w,
                      const int8_t *w2, const int32_t o[2], int16_t *out)
{
    int64_t sums[4] = {0};

    for (int32_t at = 0; at < count; at += MOST) {
        int32_t part[4 * PAIRS];
        add_pairs(in + 2 * at, 1, count - at < MOST ? count - at : MOST, w + at, w2 + at, part);
        for (int k = 0; k < 4; k++)
            sums[k] += part[k / 2 * 2 * PAIRS + k % 2];
    }
    for (int k = 0; k < 4; k++)
        out[k % 2 * conv->c.out_channels + o[k / 2]] = nuc_s16_result(conv, o[k / 2], sums[k]);
}

/* `n` pairs of pixels, whose results lie one after the other; of an odd number of channels the last one twice. */
static void channels_of_pairs(const struct nuc_conv_s16 *conv, const int16_t *rows, int32_t n, int32_t count,
                              const int8_t *weight, int16_t *out)
{
    const int32_t channels = conv->c.out_channels;

    for (int32_t k = 0; k < channels; k += 2) {
        const int32_t o[2] = {k, k + 1 < channels ? k + 1 : k};
        const int8_t *w = weight + (ptrdiff_t)o[0] * count, *w2 = weight + (ptrdiff_t)o[1] * count;
        int32_t sums[4 * PAIRS];
        if (count > MOST) {
            for (int32_t p = 0; p < n; p++)
                long_pair(conv, rows + p * paired_values(count), count, w, w2, o, out + (ptrdiff_t)2 * p * channels);
            continue;
        }
        add_pairs(rows, n, count, w, w2, sums);
        finish(conv, o[0], sums, 2 * n, out + o[0]);
        finish(conv, o[1], sums + 2 * PAIRS, 2 * n, out + o[1]);
    }
}

/* ---- depthwise ---- */

static inline int32_t lower(uint32_t pair)
{
    return (int16_t)pair;
}

static inline int32_t upper(uint32_t pair)
{
    return (int32_t)pair >> 16;
}

/* Taps of an axis that lie inside the image. */
struct taps {
    int32_t first, end;
};

static inline struct taps taps_of(const struct nuc_conv_s8 *c, int axis, int32_t from)
{
    struct taps t = {0, c->kernel[axis]};

    while (t.first < t.end && from + t.first * c->dilation[axis] < 0)
        t.first++;
    while (t.first < t.end && from + (t.end - 1) * c->dilation[axis] >= c->in_size[axis])
        t.end--;
    return t;
}

/*
 * Sums of four channels of one pixel, whose weights lie next to each other: of the inputs `at`, which are next to each
 * other, too, unless `several` channels may have one in common.
 */
INLINE struct nuc_quad add_taps(const struct nuc_conv_s8 *c, const int16_t *image, const ptrdiff_t at[CHANNELS],
                                bool several, const int8_t *weight, int32_t top, int32_t left)
{
    const struct taps y = taps_of(c, 0, top), x = taps_of(c, 1, left);
    const ptrdiff_t step = c->out_channels, in_step = (ptrdiff_t)c->dilation[1] * c->in_channels;
    struct nuc_quad q = {0, 0, 0, 0};

    for (int32_t ky = y.first; ky < y.end; ky++) {
        ptrdiff_t row = (ptrdiff_t)(top + ky * c->dilation[0]) * c->in_size[1] + left + x.first * c->dilation[1];
        const int16_t *in = image + row * c->in_channels;
        const int8_t *w = weight + (ky * c->kernel[1] + x.first) * step;
        for (int32_t count = x.end - x.first; count > 0; count--, in += in_step, w += step) {
            uint32_t word = nuc_load_word(w), even = nuc_sxtb16(word), odd = nuc_sxtb16_odd(word);
            uint32_t first = several ? 0 : two(in + at[0]), second = several ? 0 : two(in + at[0] + 2);
            q.a += (several ? in[at[0]] : lower(first)) * lower(even);
            q.b += (several ? in[at[1]] : upper(first)) * lower(odd);
            q.c += (several ? in[at[2]] : lower(second)) * upper(even);
            q.d += (several ? in[at[3]] : upper(second)) * upper(odd);
        }
    }
    return q;
}

/* An image, four channels after the other, the last four again where fewer are left. */
INLINE void convolve_depthwise(const struct nuc_conv_s16 *conv, const int16_t *image, bool several,
                               const int8_t *weight, int16_t *out)
{
    const struct nuc_conv_s8 *c = &conv->c;

    for (int32_t begin = 0; begin < c->out_channels; begin += CHANNELS) {
        const int32_t o = begin + CHANNELS <= c->out_channels ? begin : c->out_channels - CHANNELS;
        struct scale scales[CHANNELS];
        ptrdiff_t at[CHANNELS];
        int16_t *to = out + o;
        for (int32_t k = 0; k < CHANNELS; k++) {
            scales[k] = scale_of(conv, o + k);
            at[k] = several ? (o + k) / (c->out_channels / c->in_channels) : o + k;
        }
        for (int32_t y = 0; y < c->out_size[0]; y++) {
            for (int32_t x = 0; x < c->out_size[1]; x++, to += c->out_channels) {
                const struct nuc_quad q = add_taps(c, image, at, several, weight + o, y * c->stride[0] - c->padding[0],
                                                   x * c->stride[1] - c->padding[1]);
                to[0] = result(conv, &scales[0], o, q.a);
                to[1] = result(conv, &scales[1], o + 1, q.b);
                to[2] = result(conv, &scales[2], o + 2, q.c);
                to[3] = result(conv, &scales[3], o + 3, q.d);
            }
        }
    }
}

/* Fewer than four channels, one after the other. */
__attribute__((noinline)) static void few_channels(const struct nuc_conv_s16 *conv, const int16_t *image,
                                                   const int8_t *weight, int16_t *out)
{
    const struct nuc_conv_s8 *c = &conv->c;

    for (int32_t o = 0; o < c->out_channels; o++, weight++) {
        const struct scale s = scale_of(conv, o);
        const int16_t *plane = image + o / (c->out_channels / c->in_channels);
        for (int32_t at = 0; at < c->out_size[0] * c->out_size[1]; at++) {
            const int32_t top = at / c->out_size[1] * c->stride[0] - c->padding[0];
            const int32_t left = at % c->out_size[1] * c->stride[1] - c->padding[1];
            const struct taps y = taps_of(c, 0, top), x = taps_of(c, 1, left);
            int32_t sum = 0;
            for (int32_t ky = y.first; ky < y.end; ky++) {
                const ptrdiff_t row = (ptrdiff_t)(top + ky * c->dilation[0]) * c->in_size[1] + left;
                for (int32_t kx = x.first; kx < x.end; kx++)
                    sum += plane[(row + kx * c->dilation[1]) * c->in_channels] *
                           weight[(ky * c->kernel[1] + kx) * c->out_channels];
            }
            out[(ptrdiff_t)at * c->out_channels + o] = result(conv, &s, o, sum);
        }
    }
}

__attribute__((noinline)) static void depthwise(const struct nuc_conv_s16 *conv, const int16_t *image,
                                                const int8_t *weight, int16_t *out)
{
    convolve_depthwise(conv, image, false, weight, out);
}

__attribute__((noinline)) static void depthwise_of_several(const struct nuc_conv_s16 *conv, const int16_t *image,
                                                           const int8_t *weight, int16_t *out)
{
    convolve_depthwise(conv, image, true, weight, out);
}

/* ---- pixels by themselves ---- */

static void store(const struct nuc_conv_s16 *conv, int32_t o, int32_t count, const int64_t sums[CHANNELS], int16_t *out)
{
    for (int32_t k = 0; k < count; k++) {
        const struct scale s = scale_of(conv, o + k);
        const int32_t sum = (int32_t)sums[k];
        out[o + k] = sum == sums[k] ? result(conv, &s, o + k, sum) : slow_result(conv, o + k, sums[k]);
    }
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
        t = together(o - o % of_group, o - o % of_group + of_group, o);
        const struct nuc_conv_channel ch = nuc_conv_channel_of(c, kind, weight, t.first);
        ptrdiff_t step = t.count == 1 ? 0 : (ptrdiff_t)c->kernel[0] * c->kernel[1] * ch.tap;
        channels_of_pixel(c, kind, &ch, step, image, y, x, sums);
        store(conv, t.first, t.count, sums, out);
    }
}

/* Whether windows are rows of values, and as many as that. */
static int32_t window_values(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind)
{
    int64_t count = (int64_t)c->kernel[0] * c->kernel[1] * c->in_channels;

    return kind == NUC_CONV && c->groups == 1 && count <= ROOM ? (int32_t)count : 0;
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
    const int32_t run = c->dilation[1] == 1 ? c->kernel[1] : 1, width = c->out_size[1], step = paired_values(count);
    const int32_t pixels = c->out_size[0] * width, most = ROOM / step < PAIRS ? ROOM / step : PAIRS;
    _Alignas(8) int16_t room[ROOM];

    for (int32_t at = 0, together; at < pixels; at += together, out += (ptrdiff_t)together * c->out_channels) {
        const int32_t pairs = (pixels - at) / 2 < most ? (pixels - at) / 2 : most;
        const int32_t y = at / width, x = at - y * width;
        together = pairs > 0 ? 2 * pairs : 1;
        if (pairs == 0 && is_pointwise(c)) {
            ptrdiff_t place = (ptrdiff_t)y * c->stride[0] * c->in_size[1] + x * c->stride[1];
            channels_of_row(conv, image + place * count, count, weight, out);
        } else if (pairs == 0) {
            pixel(conv, NUC_CONV, image, weight, y, x, out);
        }
        for (int32_t k = 0; k < 2 * pairs; k++) {
            const int32_t row = (at + k) / width;
            gather(c, image, row, at + k - row * width, run, room + k / 2 * step + k % 2 * 2);
        }
        if (pairs > 0)
            channels_of_pairs(conv, room, pairs, count, weight, out);
    }
}

void nuc_dsp_conv_s16(const struct nuc_conv_s16 *conv, enum nuc_conv_kind kind, const int16_t *in, const int8_t *weight,
                      int16_t *out)
{
    const struct nuc_conv_s8 *c = &conv->c;

    /* Of one channel weights lie as those of a convolution do. */
    kind = kind == NUC_DEPTHWISE && c->out_channels == 1 ? NUC_CONV : kind;
    if (kind == NUC_DEPTHWISE && (int64_t)c->kernel[0] * c->kernel[1] > MOST) {
        nuc_ref_conv_s16(conv, kind, in, weight, out);
        return;
    }
    const int32_t row = window_values(c, kind);
    for (int32_t b = 0; b < c->batch; b++) {
        const int16_t *image = in + (ptrdiff_t)b * c->in_size[0] * c->in_size[1] * c->in_channels;
        if (row > 0 || kind == NUC_DEPTHWISE) {
            if (row > 0)
                convolve_rows(conv, row, image, weight, out);
            else if (c->out_channels < CHANNELS)
                few_channels(conv, image, weight, out);
            else if (c->in_channels < c->out_channels)
                depthwise_of_several(conv, image, weight, out);
            else
                depthwise(conv, image, weight, out);
            out += (ptrdiff_t)c->out_size[0] * c->out_size[1] * c->out_channels;
            continue;
        }
        for (int32_t y = 0; y < c->out_size[0]; y++) {
            for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels)
                pixel(conv, kind, image, weight, y, x, out);
        }
    }
}
