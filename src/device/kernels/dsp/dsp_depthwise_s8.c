/* Depthwise convolution, one output channel per input channel: four channels at a time, over the whole image. */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/dsp_columns.h"
#include "device/kernels/dsp/dsp_windows.h"
#include "device/kernels/dsp/fused_scale.h"

#define STACK_WORDS 768

/*
 * Input rows are widened in pairs, from the first window's top row on: line k holds rows 2k and 2k + 1, for each column
 * four words, one a channel, with the upper row in the lower half. Places outside the image are zeros. A window that
 * begins in an upper row and one that begins in a lower row differ in how their weights are paired.
 *
 * A dilated convolution is one that is not dilated for every `dilation`th row and column, once from each of the first
 * ones on.
 *
 * When output goes over the input, a line has been read before what lies under it is written: four channels do not meet
 * the others, and no output row lies beyond the input rows that its windows reach.
 */
#define WORDS NUC_WINDOW_WORDS /* of a column, and of a place of the kernel */

/* Weights for windows that begin in an upper or in a lower row. */
struct side {
    int32_t lines;    /* that a window touches */
    uint32_t *stream; /* sums to begin with, weights line by line, struct nuc_window_scales */
};

struct strip {
    const struct nuc_conv_s8 *c;                  /* not dilated */
    ptrdiff_t in_row, in_step, out_row, out_step; /* from a row, and from a column, to the next */
    int32_t first;                                /* channel */
    bool fused;                                   /* sums and weights are doubled, and rescaled by nuc_fused_twice() */
    int32_t n_sides;
    struct side sides[2];
    uint32_t *lines;
    int32_t columns, slots; /* of `lines` */
    int32_t x, count;       /* output columns */
    int8_t zeros[WORDS];    /* zero points */
};

/* Lines up to the end of a window from row `top` on. */
static int32_t lines_to(const struct strip *s, int32_t top)
{
    return (top + s->c->kernel[0] + 1) >> 1;
}

static int32_t all_lines(const struct strip *s)
{
    return lines_to(s, (s->c->out_size[0] - 1) * s->c->stride[0]);
}

/* ---- weights ---- */

/* The weights of a side, line by line: one row of the kernel in the lower halves, one in the upper ones. */
static uint32_t *pack_lines(const struct strip *s, const int8_t *weight, int32_t lower, uint32_t *out)
{
    static const int8_t zeros[WORDS];
    const struct nuc_conv_s8 *c = s->c;
    int32_t count = s->sides[lower].lines;
    struct nuc_lines l = {
        .y = -lower,
        .end = 2 * count - lower,
        .height = c->kernel[0],
        .outside = zeros,
        .row = (ptrdiff_t)c->kernel[1] * c->out_channels,
        .step = c->out_channels,
        .columns = c->kernel[1],
        .out = out,
    };

    l.at = weight + s->first - lower * l.row;
    (s->fused ? nuc_dsp_widen_lines_twice : nuc_dsp_widen_lines)(&l);
    return out + count * c->kernel[1] * WORDS;
}

/* Parameters of the strip's channels; whether all of them are rescaled in one step. */
static bool find_scales(const struct strip *s, const int32_t *bias, struct nuc_window_scales *scales)
{
    const struct nuc_conv_s8 *c = s->c;
    int32_t room = NUC_FUSED_LIMIT - 1 - c->kernel[0] * c->kernel[1] * 255 * 128;
    int32_t at = s->first * c->rescale.step;

    for (int k = 0; k < WORDS; k++, at += c->rescale.step) {
        struct nuc_fused f;
        if (!nuc_fused_of(c->rescale.multipliers[at], c->rescale.shifts[at], c->rescale.offset, &f) || bias[k] > room ||
            bias[k] < -room)
            return false;
        scales->multipliers[k] = f.multiplier;
        scales->adds[k] = f.add;
        scales->shifts[k] = f.shift;
    }
    return true;
}

static void pack(struct strip *s, const int8_t *weight)
{
    static const int32_t none[WORDS];
    const struct nuc_conv_s8 *c = s->c;
    const int32_t *bias = c->bias != NULL ? c->bias + s->first : none;
    struct nuc_window_scales scales;

    s->fused = find_scales(s, bias, &scales);
    for (int32_t lower = 0; lower < s->n_sides; lower++) {
        uint32_t *out = s->sides[lower].stream;
        for (int k = 0; k < WORDS; k++)
            *out++ = (uint32_t)bias[k] << s->fused;
        out = pack_lines(s, weight, lower, out);
        if (s->fused)
            *(struct nuc_window_scales *)(void *)out = scales;
    }
}

/* ---- lines ---- */

/* Lines [from, to); columns outside the image stay as they are. */
static void widen_lines(const struct strip *s, const int8_t *image, int32_t from, int32_t to, uint32_t *out)
{
    const struct nuc_conv_s8 *c = s->c;
    int32_t x = s->x * c->stride[1] - c->padding[1];
    int32_t begin = x < 0 ? -x : 0;
    int32_t end = x + s->columns < c->in_size[1] ? s->columns : c->in_size[1] - x;
    struct nuc_lines l = {
        .y = 2 * from - c->padding[0],
        .end = 2 * to - c->padding[0],
        .height = c->in_size[0],
        .outside = s->zeros,
        .row = s->in_row,
        .step = s->in_step,
        .columns = end - begin,
        .offset = nuc_twice(c->input_offset),
        .out = out + begin * WORDS,
        .skip = (s->columns - end + begin) * WORDS * (ptrdiff_t)sizeof(uint32_t),
    };

    l.at = image + l.y * l.row + (x + begin) * l.step + s->first;
    if (from < to && begin < end)
        nuc_dsp_widen_lines(&l);
}

/* ---- sums of windows ---- */

/* Rows of windows that begin in the same kind of row. */
struct windows {
    const struct side *side;
    const uint32_t *data; /* the first window, in its first line */
    int8_t *out;
    int32_t rows;
    int32_t row_step; /* from one row to the next */
    ptrdiff_t out_step;
};

#ifdef __ARM_FEATURE_DSP

/* It takes all registers there are, which gcc 14 does not find in builds for a debugger. */
#if defined(__clang__) || defined(__OPTIMIZE__)
#define OPTIMIZED
#else
#define OPTIMIZED __attribute__((optimize("Og")))
#endif

/* Places that lie side by side in a line; count is at least 1. */
OPTIMIZED static inline struct nuc_quad places(const uint32_t *x, const uint32_t *w, int32_t count, struct nuc_quad s)
{
    uint32_t v, u;

    __asm volatile("1:\n\t"
                   "ldmia %[x]!, {r8-r11}\n\t"
                   "ldrd %[v], %[u], [%[w]], #8\n\t"
                   "smlad %[a], r8, %[v], %[a]\n\t"
                   "smlad %[b], r9, %[u], %[b]\n\t"
                   "ldrd %[v], %[u], [%[w]], #8\n\t"
                   "smlad %[c], r10, %[v], %[c]\n\t"
                   "smlad %[d], r11, %[u], %[d]\n\t"
                   "subs %[n], %[n], #1\n\t"
                   "bne 1b"
                   : [x] "+r"(x), [w] "+r"(w), [a] "+r"(s.a), [b] "+r"(s.b), [c] "+r"(s.c), [d] "+r"(s.d), [v] "=&r"(v),
                     [u] "=&r"(u), [n] "+r"(count)
                   :
                   : "r8", "r9", "r10", "r11", "memory", "cc");
    return s;
}

#else

static inline struct nuc_quad places(const uint32_t *x, const uint32_t *w, int32_t count, struct nuc_quad s)
{
    for (; count > 0; count--, x += WORDS, w += WORDS) {
        s.a = nuc_smlad(x[0], w[0], s.a);
        s.b = nuc_smlad(x[1], w[1], s.b);
        s.c = nuc_smlad(x[2], w[2], s.c);
        s.d = nuc_smlad(x[3], w[3], s.d);
    }
    return s;
}

#endif

static inline int32_t rescaled(int32_t twice, const struct nuc_window_scales *p, int k)
{
    return nuc_fused_twice(twice, &(struct nuc_fused){p->multipliers[k], p->shifts[k], p->adds[k]});
}

static void store_4(const struct strip *s, struct nuc_quad v, const struct nuc_window_scales *p, int8_t *out)
{
    if (s->fused) {
        v = (struct nuc_quad){rescaled(v.a, p, 0), rescaled(v.b, p, 1), rescaled(v.c, p, 2), rescaled(v.d, p, 3)};
        v = (struct nuc_quad){nuc_ssat8(v.a), nuc_ssat8(v.b), nuc_ssat8(v.c), nuc_ssat8(v.d)};
    } else {
        v.a = nuc_dsp_rescaled(&s->c->rescale, s->first, v.a);
        v.b = nuc_dsp_rescaled(&s->c->rescale, s->first + 1, v.b);
        v.c = nuc_dsp_rescaled(&s->c->rescale, s->first + 2, v.c);
        v.d = nuc_dsp_rescaled(&s->c->rescale, s->first + 3, v.d);
    }
    out[0] = (int8_t)v.a;
    out[1] = (int8_t)v.b;
    out[2] = (int8_t)v.c;
    out[3] = (int8_t)v.d;
}

/* Of any kernel. */
static void any_row(const struct strip *s, const struct side *side, const uint32_t *data, int8_t *out)
{
    int32_t pitch = s->columns * WORDS;
    int32_t length = s->c->kernel[1];
    int32_t lines = side->lines;

    if (s->columns == length) { /* lines lie side by side */
        length *= lines;
        lines = 1;
    }
    for (int32_t n = s->count; n > 0; n--, data += s->c->stride[1] * WORDS, out += s->out_step) {
        const uint32_t *w = side->stream;
        const uint32_t *line = data;
        struct nuc_quad v = {(int32_t)w[0], (int32_t)w[1], (int32_t)w[2], (int32_t)w[3]};
        w += WORDS;
        for (int32_t k = lines; k > 0; k--, w += length * WORDS, line += pitch)
            v = places(line, w, length, v);
        store_4(s, v, (const struct nuc_window_scales *)(const void *)w, out);
    }
}

/* Where the loops of dsp_windows.h apply. */
static bool by_words(const struct strip *s, const struct windows *p)
{
    const ptrdiff_t word = sizeof(uint32_t);
    const struct nuc_conv_s8 *c = s->c;
    int32_t pitch = s->columns * WORDS;
    int32_t step = c->stride[1] * WORDS;
    int32_t places = c->kernel[1];
    int32_t lines = p->side->lines;

    if (places == s->columns && lines * places <= NUC_WINDOW_PLACES) { /* lines lie side by side */
        places *= lines;
        lines = 1;
    }
    if (places > NUC_WINDOW_PLACES || !s->fused)
        return false;
    ptrdiff_t across = (pitch - places * WORDS) * word;
    const struct nuc_windows work = {
        .data = p->data,
        .stream = p->side->stream,
        .across = across,
        .next = (step - lines * places * WORDS) * word - (lines - 1) * across,
        .out = p->out,
        .step = s->out_step,
        .end = p->data + s->count * step,
        .row = p->row_step * word,
        .back = (p->row_step - s->count * step) * word,
        .out_back = p->out_step - s->count * s->out_step,
        .rows = p->rows,
        .lines = lines,
        .places = places,
    };
    if (lines == 2 && places == 3 && c->rescale.offset == INT8_MIN)
        nuc_dsp_sum_three_by_two(&work);
    else
        nuc_dsp_sum_windows(&work);
    return true;
}

static void compute(const struct strip *s, const struct windows *p)
{
    if (by_words(s, p))
        return;
    for (int32_t y = 0; y < p->rows; y++)
        any_row(s, p->side, p->data + y * p->row_step, p->out + y * p->out_step);
}

/* ---- images ---- */

/* Four channels of an image, in the strip's columns: as many rows at once as the lines in memory are for. */
static void by_bands(const struct strip *s, const int8_t *image, int8_t *out)
{
    const struct nuc_conv_s8 *c = s->c;
    const int32_t all = all_lines(s), pitch = s->columns * WORDS, n = s->n_sides;
    int32_t base = 0, there = 0; /* lines from `base` to before `there` are in memory */

    for (int32_t y = 0, rows; y < c->out_size[0]; y += rows, out += rows * s->out_row) {
        int32_t line = y * c->stride[0] >> 1;
        there = there > line ? there : line;
        memmove(s->lines, s->lines + (line - base) * pitch, (size_t)((there - line) * pitch) * sizeof *s->lines);
        base = line;
        int32_t end = base + s->slots < all ? base + s->slots : all;
        widen_lines(s, image, there, end, s->lines + (there - base) * pitch);
        there = end;
        rows = (2 * end - c->kernel[0]) / c->stride[0] + 1; /* that end here */
        rows = (rows < c->out_size[0] ? rows : c->out_size[0]) - y;
        for (int32_t k = 0; k < n && k < rows; k++) {
            int32_t top = (y + k) * c->stride[0];
            compute(s, &(struct windows){&s->sides[top & 1], s->lines + ((top >> 1) - base) * pitch,
                                         out + k * s->out_row, (rows - k + n - 1) / n,
                                         rows - k > n ? n * c->stride[0] / 2 * pitch : 0, n * s->out_row});
        }
    }
}

/*
 * Memory for the weights and, of a band's lines, for as many output columns as fit; false when none does. Bands of
 * twice the lines of a window move half of them from one to the next, but `whole` rows are in one strip if they can.
 */
static bool place(struct strip *s, bool whole, uint32_t *words, int32_t count)
{
    const struct nuc_conv_s8 *c = s->c;
    const int32_t beside = WORDS + (int32_t)(sizeof(struct nuc_window_scales) / sizeof(uint32_t));
    int32_t all = all_lines(s);
    int32_t most = 0;

    s->n_sides = c->stride[0] % 2 != 0 && c->out_size[0] > 1 ? 2 : 1;
    for (int32_t k = 0; k < s->n_sides; k++) {
        s->sides[k] = (struct side){lines_to(s, k), words};
        most = s->sides[k].lines;
        int32_t taken = most * c->kernel[1] * WORDS + beside;
        if (taken > count)
            return false;
        words += taken;
        count -= taken;
    }
    s->lines = words;
    int32_t room = count / WORDS, lines = 2 * most < all ? 2 * most : all;
    if (whole || room / lines < 2 * c->kernel[1])
        lines = most;
    if (room / lines < c->kernel[1])
        return false;
    s->count = (room / lines - c->kernel[1]) / c->stride[1] + 1;
    s->count = s->count < c->out_size[1] ? s->count : c->out_size[1];
    s->columns = (s->count - 1) * c->stride[1] + c->kernel[1];
    s->slots = room / s->columns < all ? room / s->columns : all;
    return true;
}

/* Whether it did; nothing is written otherwise. `s` says what is computed, for images that are `image` apart. */
static bool by_strips(struct strip *s, ptrdiff_t image, const int8_t *in, const int8_t *weight, ptrdiff_t result,
                      int8_t *out)
{
    uint32_t stack[STACK_WORDS];
    const struct nuc_conv_s8 *c = s->c;
    const bool over = in == out;

    if ((over && c->in_channels % WORDS != 0) || !place(s, over, stack, STACK_WORDS))
        return false;
    /* What goes over its input takes whole rows; those that are too wide for the stack may fit the scratch. */
    if (over && s->count < c->out_size[1] &&
        (!place(s, true, c->scratch, (int32_t)(c->scratch_bytes / sizeof *stack)) || s->count < c->out_size[1]))
        return false;
    int32_t columns = s->count;
    for (s->x = 0; s->x < c->out_size[1]; s->x += columns) {
        s->count = c->out_size[1] - s->x < columns ? c->out_size[1] - s->x : columns;
        memset(s->lines, 0, (size_t)(s->slots * s->columns * WORDS) * sizeof *s->lines);
        for (int32_t b = 0; b < c->batch; b++) {
            for (int32_t k = 0; k < c->in_channels; k += WORDS) {
                s->first = k + WORDS <= c->in_channels ? k : c->in_channels - WORDS;
                pack(s, weight);
                int8_t *to = out + b * result + s->x * s->out_step + s->first;
                by_bands(s, in + b * image, to);
            }
        }
    }
    return true;
}

/*
 * Of one dimension, results `first`, `first` + dilation, ... as those of a convolution that is not dilated. The element
 * that its first one is, of all.
 */
__attribute__((noinline)) static int32_t take_part(struct nuc_conv_s8 *c, int d, int32_t first)
{
    int32_t dilation = c->dilation[d], round = dilation - 1;
    int32_t before = (c->padding[d] - first + round) / dilation; /* first < dilation: none is negative */
    int32_t from = first - c->padding[d] + before * dilation;

    c->padding[d] = before;
    c->in_size[d] = (c->in_size[d] - from + round) / dilation;
    c->out_size[d] = (c->out_size[d] - first + round) / dilation;
    return from;
}

/* Whether it did; nothing is written otherwise: no part is larger than the first one. */
static bool by_parts(struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    int32_t *const sizes[] = {c->in_size, c->out_size, c->kernel, c->stride, c->padding, c->dilation};
    bool turned = c->in_size[0] == 1 && c->out_size[0] == 1 && c->kernel[0] == 1 && c->kernel[1] > NUC_WINDOW_PLACES;

    /* Many places along one row: down a column, where two of them are a word. */
    for (size_t i = 0; turned && i < sizeof sizes / sizeof *sizes; i++) {
        int32_t size = sizes[i][0];
        sizes[i][0] = sizes[i][1];
        sizes[i][1] = size;
    }
    const ptrdiff_t channels = c->in_channels, in_row = c->in_size[1] * channels, out_row = c->out_size[1] * channels;
    struct nuc_conv_s8 part;
    struct strip s = {.c = &part,
                      .in_row = in_row * c->dilation[0],
                      .in_step = channels * c->dilation[1],
                      .out_row = out_row * c->dilation[0],
                      .out_step = channels * c->dilation[1]};

    memset(s.zeros, -c->input_offset, sizeof s.zeros);
    for (int d = 0; d < 2; d++) {
        /* What goes over its input meets that of its own part alone. */
        bool apart = in != out || (c->padding[d] % c->dilation[d] == 0 && in_row == out_row);
        if (c->dilation[d] > 1 && (c->stride[d] > 1 || !apart))
            return false;
    }
    for (int32_t y = 0; y < c->dilation[0] && y < c->out_size[0]; y++) {
        for (int32_t x = 0; x < c->dilation[1] && x < c->out_size[1]; x++) {
            part = *c;
            const int8_t *from = in + take_part(&part, 0, y) * in_row + take_part(&part, 1, x) * channels;
            if (!by_strips(&s, c->in_size[0] * in_row, from, weight, c->out_size[0] * out_row,
                           out + y * out_row + x * channels))
                return false;
        }
    }
    nuc_dsp_clamp_conv(c, out);
    return true;
}

void nuc_dsp_depthwise_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    struct nuc_conv_s8 turned = *c;

    if (c->in_channels == c->out_channels && c->in_channels >= WORDS && by_parts(&turned, in, weight, out))
        return;
    if (c->in_channels == 1 && c->kernel[0] * c->kernel[1] <= NUC_ONE_CHANNEL_TAPS && in != out)
        nuc_dsp_conv_one_channel(c, in, weight, out);
    else
        nuc_ref_depthwise_s8(c, in, weight, out);
}
