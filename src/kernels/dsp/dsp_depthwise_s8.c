/*
 * Depthwise convolution. One output channel per input channel: four channels at a time, taps in pairs. One input
 * channel for all: a convolution whose weights are brought into its order first.
 */
#include "kernels/dsp/dsp.h"
#include "kernels/dsp/dsp_columns.h"

#define STACK_WORDS 512
#define MOST_TAPS 32

/* ---- one output channel per input channel ---- */

/*
 * Weights of four channels: for each pair of taps the words (tap, next tap) of channels 0 to 3; for a last single tap
 * the words of channels (0, 2) and (1, 3).
 */
static int32_t words_of(int32_t taps)
{
    return taps / 2 * 4 + taps % 2 * 2;
}

static void pack(const int8_t *weight, int32_t taps, int32_t channels, uint32_t *out)
{
    for (; taps > 1; taps -= 2, weight += 2 * channels, out += 4) {
        uint32_t a = nuc_load_word(weight);
        uint32_t b = nuc_load_word(weight + channels);
        uint32_t low = nuc_lower_halves(a, b);
        uint32_t high = nuc_upper_halves(a, b);
        out[0] = nuc_sxtb16(low);
        out[1] = nuc_sxtb16_odd(low);
        out[2] = nuc_sxtb16(high);
        out[3] = nuc_sxtb16_odd(high);
    }
    if (taps > 0) {
        uint32_t a = nuc_load_word(weight);
        out[0] = nuc_sxtb16(a);
        out[1] = nuc_sxtb16_odd(a);
    }
}

/* A strip of channels: a multiple of 4 whose packed weights and whose zero points fit the stack. */
struct strip {
    const struct nuc_conv_s8 *c;
    int32_t first, count, taps;
    uint32_t offset;
    const uint32_t *weights;
    const int8_t *outside; /* count zero points */
};

/* The input at each tap of output pixel (y, x), at the strip's first channel. */
static void find_taps(const struct strip *s, const int8_t *image, int32_t y, int32_t x, const int8_t **taps)
{
    const struct nuc_conv_s8 *c = s->c;
    int32_t in_y = y * c->stride[0] - c->padding[0];

    for (int32_t ky = 0; ky < c->kernel[0]; ky++, in_y += c->dilation[0]) {
        const int8_t *row = image + (ptrdiff_t)in_y * c->in_size[1] * c->in_channels + s->first;
        int32_t in_x = x * c->stride[1] - c->padding[1];
        bool inside = in_y >= 0 && in_y < c->in_size[0];
        for (int32_t kx = 0; kx < c->kernel[1]; kx++, in_x += c->dilation[1])
            *taps++ = inside && in_x >= 0 && in_x < c->in_size[1] ? row + (ptrdiff_t)in_x * c->in_channels : s->outside;
    }
}

static inline struct nuc_quad sum_pairs(const struct strip *s, const int8_t *const *taps, int32_t at, const uint32_t *w,
                                        struct nuc_quad sums)
{
    uint32_t offset = s->offset;

    for (int32_t n = s->taps; n > 1; n -= 2, taps += 2, w += 4) {
        uint32_t a = nuc_load_word(taps[0] + at);
        uint32_t b = nuc_load_word(taps[1] + at);
        uint32_t low = nuc_lower_halves(a, b);
        uint32_t high = nuc_upper_halves(a, b);
        sums.a = nuc_smlad(nuc_sxtab16(offset, low), w[0], sums.a);
        sums.b = nuc_smlad(nuc_sxtab16_odd(offset, low), w[1], sums.b);
        sums.c = nuc_smlad(nuc_sxtab16(offset, high), w[2], sums.c);
        sums.d = nuc_smlad(nuc_sxtab16_odd(offset, high), w[3], sums.d);
    }
    return sums;
}

static inline struct nuc_quad sum_single(const struct strip *s, const int8_t *tap, const uint32_t *w,
                                         struct nuc_quad sums)
{
    uint32_t word = nuc_load_word(tap);
    uint32_t even = nuc_sxtab16(s->offset, word);
    uint32_t odd = nuc_sxtab16_odd(s->offset, word);

    sums.a = nuc_smlabb(even, w[0], sums.a);
    sums.b = nuc_smlabb(odd, w[1], sums.b);
    sums.c = nuc_smlatt(even, w[0], sums.c);
    sums.d = nuc_smlatt(odd, w[1], sums.d);
    return sums;
}

/* Biases, multipliers and shifts of the strip. */
struct constants {
    const int32_t *bias, *multipliers, *shifts;
};

static void strip_pixel(const struct strip *s, const int8_t *const *taps, int8_t *out)
{
    const struct nuc_rescale *r = &s->c->rescale;
    const struct constants k = {s->c->bias != NULL ? s->c->bias + s->first : NULL, r->multipliers + s->first,
                                r->shifts + s->first};
    const uint32_t *w = s->weights;
    struct nuc_bounds bounds = nuc_bounds_of(r->low, r->high);
    int32_t offset = r->offset;
    int32_t n_words = words_of(s->taps);

    for (int32_t at = 0; at < s->count; at += 4, w += n_words) {
        struct nuc_quad v = {0, 0, 0, 0};
        if (k.bias != NULL)
            v = (struct nuc_quad){k.bias[at], k.bias[at + 1], k.bias[at + 2], k.bias[at + 3]};
        v = sum_pairs(s, taps, at, w, v);
        if (s->taps % 2 != 0)
            v = sum_single(s, taps[s->taps - 1] + at, w + n_words - 2, v);
        const int32_t *m = k.multipliers + at;
        const int32_t *shift = k.shifts + at;
        v.a = nuc_scaled(v.a, nuc_scale_of(m[0], shift[0]), offset);
        v.b = nuc_scaled(v.b, nuc_scale_of(m[1], shift[1]), offset);
        v.c = nuc_scaled(v.c, nuc_scale_of(m[2], shift[2]), offset);
        v.d = nuc_scaled(v.d, nuc_scale_of(m[3], shift[3]), offset);
        nuc_bound_quad(&bounds, &v);
        out[at] = (int8_t)v.a;
        out[at + 1] = (int8_t)v.b;
        out[at + 2] = (int8_t)v.c;
        out[at + 3] = (int8_t)v.d;
    }
}

#ifdef __ARM_FEATURE_DSP

/* What nine_taps() works on; the offsets are written in its instructions. */
struct nine_taps {
    const int8_t *const *taps;  /* 0 */
    const uint32_t *weights;    /* 4 */
    const int32_t *bias;        /* 8 */
    const int32_t *multipliers; /* 12 */
    const int32_t *shifts;      /* 16 */
    int8_t *out;                /* 20 */
    uint32_t in_offset;         /* 24: in both lanes */
    int32_t offset;             /* 28 */
    int32_t count;              /* 32: channels, a multiple of 4 */
};

/* Two taps of four channels; r0: taps, r1: weights, r2: first channel, r3 to r6: sums, r12: input offset. */
#define PAIR(at)                                                                                                       \
    "ldrd r8, r9, [r0, #" at "]\n\t"                                                                                   \
    "ldr r8, [r8, r2]\n\t"                                                                                             \
    "ldr r9, [r9, r2]\n\t"                                                                                             \
    "pkhbt r10, r8, r9, lsl #16\n\t"                                                                                   \
    "pkhtb r9, r9, r8, asr #16\n\t"                                                                                    \
    "ldrd r11, lr, [r1], #8\n\t"                                                                                       \
    "sxtab16 r8, r12, r10\n\t"                                                                                         \
    "sxtab16 r10, r12, r10, ror #8\n\t"                                                                                \
    "smlad r3, r8, r11, r3\n\t"                                                                                        \
    "smlad r4, r10, lr, r4\n\t"                                                                                        \
    "ldrd r11, lr, [r1], #8\n\t"                                                                                       \
    "sxtab16 r8, r12, r9\n\t"                                                                                          \
    "sxtab16 r9, r12, r9, ror #8\n\t"                                                                                  \
    "smlad r5, r8, r11, r5\n\t"                                                                                        \
    "smlad r6, r9, lr, r6\n\t"

/* Rescaling in two steps, as nuc_scaled() does it. The shift is negative or, with a multiplier of 0, anything. */
#define SCALE(sum, multiplier)                                                                                         \
    "lsls " sum ", " sum ", #1\n\t"                                                                                    \
    "smmulr " sum ", " sum ", " multiplier "\n\t"
#define SHIFT(sum, shift)                                                                                              \
    "rsb " shift ", " shift ", #0\n\t"                                                                                 \
    "adds " sum ", " sum ", " sum ", asr #31\n\t"                                                                      \
    "asrs " sum ", " sum ", " shift "\n\t"                                                                             \
    "adcs " sum ", " sum ", r9\n\t"                                                                                    \
    "ssat " sum ", #8, " sum "\n\t"

/* One output pixel of a 3x3 kernel, four channels per turn. r7: the structure. */
__attribute__((naked)) static void nine_taps(struct nine_taps *work __attribute__((unused)))
{
    __asm volatile("push {r4-r11, lr}\n\t"
                   "mov r7, r0\n\t"
                   "mov r2, #0\n\t"
                   "ldrd r0, r1, [r7]\n"
                   "1:\n\t"
                   "ldr r8, [r7, #8]\n\t"
                   "ldr r12, [r7, #24]\n\t"
                   "ldmia r8!, {r3-r6}\n\t"
                   "str r8, [r7, #8]\n\t" PAIR("0") PAIR("8") PAIR("16")
                       PAIR("24") "ldr r8, [r0, #32]\n\t"
                                  "ldrd r11, lr, [r1], #8\n\t"
                                  "ldr r8, [r8, r2]\n\t"
                                  "sxtab16 r9, r12, r8\n\t"
                                  "sxtab16 r8, r12, r8, ror #8\n\t"
                                  "smlabb r3, r9, r11, r3\n\t"
                                  "smlatt r5, r9, r11, r5\n\t"
                                  "smlabb r4, r8, lr, r4\n\t"
                                  "smlatt r6, r8, lr, r6\n\t"
                                  "ldr r9, [r7, #12]\n\t"
                                  "ldmia r9!, {r8, r10, r11, lr}\n\t"
                                  "str r9, [r7, #12]\n\t" SCALE("r3", "r8") SCALE("r4", "r10") SCALE("r5", "r11")
                                      SCALE("r6", "lr") "ldr r9, [r7, #16]\n\t"
                                                        "ldmia r9!, {r8, r10, r11, lr}\n\t"
                                                        "str r9, [r7, #16]\n\t"
                                                        "ldr r9, [r7, #28]\n\t" SHIFT("r3", "r8") SHIFT("r4", "r10")
                                                            SHIFT("r5", "r11")
                                                                SHIFT("r6", "lr") "ldr r9, [r7, #20]\n\t"
                                                                                  "ldr r8, [r7, #32]\n\t"
                                                                                  "bfi r3, r4, #8, #8\n\t"
                                                                                  "bfi r3, r5, #16, #8\n\t"
                                                                                  "bfi r3, r6, #24, #8\n\t"
                                                                                  "str r3, [r9, r2]\n\t"
                                                                                  "adds r2, r2, #4\n\t"
                                                                                  "cmp r2, r8\n\t"
                                                                                  "blt 1b\n\t"
                                                                                  "pop {r4-r11, pc}");
}

/* Whether nine_taps() does what strip_pixel() does. */
static bool has_nine_taps(const struct nuc_conv_s8 *c, int32_t taps)
{
    return taps == 9 && c->bias != NULL && c->rescale.step == 1 && c->rescale.low == INT8_MIN &&
           c->rescale.high == INT8_MAX;
}

static void one_pixel(const struct strip *s, const int8_t *const *taps, int8_t *out)
{
    const struct nuc_rescale *r = &s->c->rescale;

    if (!has_nine_taps(s->c, s->taps)) {
        strip_pixel(s, taps, out);
        return;
    }
    struct nine_taps work = {
        .taps = taps,
        .weights = s->weights,
        .bias = s->c->bias + s->first,
        .multipliers = r->multipliers + s->first,
        .shifts = r->shifts + s->first,
        .out = out,
        .in_offset = s->offset,
        .offset = r->offset,
        .count = s->count,
    };
    nine_taps(&work);
}

#else

static void one_pixel(const struct strip *s, const int8_t *const *taps, int8_t *out)
{
    strip_pixel(s, taps, out);
}

#endif

/* Channels from `first` on, in strips; the number of channels is a multiple of 4. */
static void by_strips(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    uint32_t stack[STACK_WORDS];
    const int8_t *taps[MOST_TAPS];
    int32_t n_taps = c->kernel[0] * c->kernel[1];
    int32_t a_block = words_of(n_taps) + 1; /* and one word of zero points */
    int32_t most = STACK_WORDS / a_block * 4;
    struct strip s = {.c = c, .taps = n_taps, .offset = nuc_pair(c->input_offset), .weights = stack};

    for (s.first = 0; s.first < c->in_channels; s.first += s.count) {
        s.count = c->in_channels - s.first < most ? c->in_channels - s.first : most;
        int8_t *outside = (int8_t *)(stack + s.count / 4 * (a_block - 1));
        memset(outside, -c->input_offset, (size_t)s.count);
        s.outside = outside;
        for (int32_t k = 0; k < s.count / 4; k++)
            pack(weight + s.first + 4 * k, n_taps, c->in_channels, stack + k * (a_block - 1));
        int8_t *to = out + s.first;
        for (int32_t b = 0; b < c->batch; b++) {
            const int8_t *image = in + (ptrdiff_t)b * c->in_size[0] * c->in_size[1] * c->in_channels;
            for (int32_t y = 0; y < c->out_size[0]; y++) {
                for (int32_t x = 0; x < c->out_size[1]; x++, to += c->out_channels) {
                    find_taps(&s, image, y, x, taps);
                    one_pixel(&s, taps, to);
                }
            }
        }
    }
}

void nuc_dsp_depthwise_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    int32_t taps = c->kernel[0] * c->kernel[1];
    bool scales = nuc_dsp_scales(&c->rescale, c->bias, c->out_channels, taps);

    if (scales && c->in_channels == c->out_channels && c->in_channels % 4 == 0 && taps <= MOST_TAPS)
        by_strips(c, in, weight, out);
    else if (c->in_channels == 1 && taps <= NUC_ONE_CHANNEL_TAPS)
        nuc_dsp_conv_one_channel(c, in, weight, out);
    else
        nuc_ref_depthwise_s8(c, in, weight, out);
}
