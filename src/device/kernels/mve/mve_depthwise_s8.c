/*
 * Depthwise convolution, four channels at a time. A line is a row or a column of the image. What a window takes lies
 * side by side in a copy of the lines that it touches: a place of a channel's copy has a byte of each line, line l in
 * byte l % pitch. The weights lie in the same order, so that sixteen products are one instruction.
 */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/mve/mve.h"
#include "device/kernels/mve/mve_dot.h"
#include "device/kernels/mve/rescale.h"

#define STACK_BYTES 1536
#define CHANNELS NUC_WINDOW_CHANNELS
#define MOST_VECTORS (NUC_WINDOW_BYTES / NUC_LANES_B) /* of a window */
#define PLACES 32                                     /* whose sums are kept */

struct lines {
    const struct nuc_conv_s8 *c;
    int along, across; /* the dimensions of a line, and from line to line */
    ptrdiff_t step;    /* from one place of a line to the next in the input, in pixels */
    ptrdiff_t down;    /* from one line to the next */
    int32_t pitch;     /* bytes of a place: a power of 2 */
    int32_t vectors;   /* of a window */
    int32_t places;    /* of a line with its borders */
    int32_t copied;    /* of those inside the image */
    int8_t *copy;      /* of CHANNELS channels */
    int32_t channel;   /* bytes of one channel's copy */
};

/* A block of channels. */
struct block {
    int32_t first, count;
    int32_t placed; /* line % pitch for which the weights lie in their places */
    bool left;      /* shifts to the left */
    int8_t weights[CHANNELS][MOST_VECTORS * NUC_LANES_B];
    int32_t adds[CHANNELS];
    int32_t sums[PLACES][CHANNELS];
};

static inline void put_alike(int32_t value, int32_t vectors, int8_t *to)
{
    nuc_bytes all = nuc_vdup_b(value);

    for (; vectors > 0; vectors--, to += NUC_LANES_B)
        nuc_vstr_b(to, all);
}

/* The weights for windows that begin with line `line`. `weight`: of the block's first channel. */
static void place_weights(const struct lines *l, struct block *b, int32_t line, const int8_t *weight)
{
    bool whole = b->count == CHANNELS;
    const struct nuc_conv_s8 *c = l->c;
    const nuc_words channels = nuc_vsteps_w(sizeof b->weights[0]);
    int32_t stride[2]; /* from tap to tap in the weights */

    b->placed = line & (l->pitch - 1);
    for (int32_t k = 0; k < CHANNELS; k++)
        put_alike(0, l->vectors, b->weights[k]);
    stride[0] = c->kernel[1] * c->out_channels;
    stride[1] = c->out_channels;
    for (int32_t i = 0; i < c->kernel[l->across]; i++, line += c->dilation[l->across]) {
        const int8_t *from = weight + i * stride[l->across];
        int8_t *to = b->weights[0] + (line & (l->pitch - 1));
        for (int32_t n = c->kernel[l->along]; n > 0; n--, from += stride[l->along]) {
            nuc_vstr_bw_at(to, channels, whole ? nuc_vldr_bw(from) : nuc_vldr_bw_some(from, b->count));
            to += c->dilation[l->along] * l->pitch;
        }
    }
}

/* Line `line` of the image, or what is outside, into the copy. */
__attribute__((noinline)) static void copy_line(const struct lines *l, const struct block *b, int32_t line,
                                                const int8_t *image)
{
    const struct nuc_conv_s8 *c = l->c;
    int8_t *to = l->copy + c->padding[l->along] * l->pitch + (line & (l->pitch - 1));
    ptrdiff_t step = l->step * c->in_channels, pitch = l->pitch;
    const nuc_words channels = nuc_vsteps_w(l->channel);

    if (line < 0 || line >= c->in_size[l->across]) {
        nuc_words zero = nuc_vdup_w(-c->input_offset);
        for (int32_t n = l->copied; n > 0; n--, to += pitch)
            nuc_vstr_bw_at(to, channels, zero);
        return;
    }
    image += line * l->down * c->in_channels;
    if (b->count < CHANNELS) {
        for (int32_t n = l->copied; n > 0; n--, to += pitch, image += step)
            nuc_vstr_bw_at(to, channels, nuc_vldr_bw_some(image, b->count));
        return;
    }
    for (int32_t n = l->copied; n > 0; n--, to += pitch, image += step)
        nuc_vstr_bw_at(to, channels, nuc_vldr_bw(image));
}

/* Sums of `count` windows of one channel that are longer than a vector, from the copy at `at` on. */
__attribute__((noinline)) static void sum_long(const struct lines *l, const int8_t *at, const int8_t *weights,
                                               int32_t count, int32_t *sums)
{
    int32_t step = l->c->stride[l->along] * l->pitch, vectors = l->vectors;
    nuc_bytes w = nuc_vldr_b(weights), v = nuc_vldr_b(weights + NUC_LANES_B);
    nuc_bytes u = nuc_vldr_b(weights + 2 * NUC_LANES_B), t = nuc_vldr_b(weights + 3 * NUC_LANES_B);

    for (; count > 0; count--, at += step, sums += CHANNELS) {
        int32_t sum = nuc_vmladava(nuc_vmladav(nuc_vldr_b(at), w), nuc_vldr_b(at + NUC_LANES_B), v);
        if (vectors > 2)
            sum = nuc_vmladava(sum, nuc_vldr_b(at + 2 * NUC_LANES_B), u);
        *sums = vectors > 3 ? nuc_vmladava(sum, nuc_vldr_b(at + 3 * NUC_LANES_B), t) : sum;
    }
}

/* plain: four channels, without shifts to the left. */
static inline void finish_windows(const struct nuc_rescale *r, const struct block *b, int32_t count, int8_t *out,
                                  ptrdiff_t step, bool plain)
{
    const struct nuc_vscale scale = nuc_vscale_at(r, b->first, b->count);
    nuc_words add = nuc_vldr_w(b->adds), low = nuc_vdup_w(r->low), high = nuc_vdup_w(r->high);
    const int32_t *sums = b->sums[0];
    int32_t offset = r->offset;

    for (; count > 0; count--, sums += CHANNELS, out += step) {
        nuc_words v = nuc_vrequantize(nuc_vadd_w(nuc_vldr_w(sums), add), &scale, !plain);
        v = nuc_vmin_w(nuc_vmax_w(nuc_vadd_wn(v, offset), low), high);
        if (plain)
            nuc_vstr_bw(out, v);
        else
            nuc_vstr_bw_some(out, v, b->count);
    }
}

/* Sums to results, `step` bytes apart. */
__attribute__((noinline)) static void finish(const struct nuc_rescale *r, const struct block *b, int32_t count,
                                             int8_t *out, ptrdiff_t step)
{
    if (b->left || b->count < CHANNELS)
        finish_windows(r, b, count, out, step, false);
    else
        finish_windows(r, b, count, out, step, true);
}

/* All results of one line. `out`: the first one's first channel of the block. */
static void compute_line(const struct lines *l, struct block *b, int8_t *out)
{
    const struct nuc_conv_s8 *c = l->c;
    ptrdiff_t step = (l->along == 0 ? (ptrdiff_t)c->out_size[1] : 1) * c->out_channels;
    ptrdiff_t windows = (ptrdiff_t)c->stride[l->along] * l->pitch; /* from one to the next in the copy */

    for (int32_t x = 0; x < c->out_size[l->along]; x += PLACES, out += PLACES * step) {
        int32_t count = c->out_size[l->along] - x < PLACES ? c->out_size[l->along] - x : PLACES;
        const int8_t *at = l->copy + x * windows;
        const struct nuc_window_sums sums = {at, b->weights[0], b->sums[0], count, windows, l->channel, b->count};
        if (l->vectors == 1)
            nuc_mve_sum_windows(&sums);
        for (int32_t k = 0; k < b->count && l->vectors > 1; k++)
            sum_long(l, at + k * l->channel, b->weights[k], count, &b->sums[0][k]);
        finish(&c->rescale, b, count, out, step);
    }
}

/* All lines of a block of channels of one image, which `image`, `weight` and `out` begin with. */
static void compute_block(const struct lines *l, struct block *b, const int8_t *image, const int8_t *weight,
                          int8_t *out)
{
    const struct nuc_conv_s8 *c = l->c;
    int32_t span = (c->kernel[l->across] - 1) * c->dilation[l->across] + 1;
    int32_t next = -c->padding[l->across];
    ptrdiff_t down = (l->across == 0 ? (ptrdiff_t)c->out_size[1] : 1) * c->out_channels;

    put_alike(-c->input_offset, CHANNELS * l->channel / NUC_LANES_B, l->copy);
    for (int32_t y = 0; y < c->out_size[l->across]; y++, out += down) {
        int32_t top = y * c->stride[l->across] - c->padding[l->across];
        next = next > top ? next : top;
        for (; next < top + span; next++)
            copy_line(l, b, next, image);
        if (b->placed != (top & (l->pitch - 1)))
            place_weights(l, b, top, weight);
        compute_line(l, b, out);
    }
}

/* The weights, for the first line, and what else does not depend on the input. */
static void begin_block(const struct lines *l, struct block *b, int32_t first, const int8_t *weight)
{
    const struct nuc_conv_s8 *c = l->c;

    b->first = first;
    b->count = c->out_channels - first < CHANNELS ? c->out_channels - first : CHANNELS;
    b->left = nuc_shifts_left(&c->rescale, first, b->count);
    place_weights(l, b, -c->padding[l->across], weight);
    for (int32_t k = 0; k < CHANNELS; k++) {
        int32_t sum = 0;
        for (int32_t n = 0; n < l->vectors; n++)
            sum = nuc_vaddva(sum, nuc_vldr_b(b->weights[k] + n * NUC_LANES_B));
        b->adds[k] = sum * c->input_offset; /* of at most 64 weights */
    }
    if (c->bias != NULL)
        nuc_vstr_w(b->adds, nuc_vadd_w(nuc_vldr_w(b->adds), nuc_vldr_w_some(c->bias + first, b->count)));
}

/* The lines along a dimension; false: a window takes too much. */
static bool lines_of(const struct nuc_conv_s8 *c, int along, struct lines *l)
{
    size_t room = c->scratch_bytes > STACK_BYTES ? c->scratch_bytes : STACK_BYTES;
    int32_t span[2];

    for (int d = 0; d < 2; d++)
        span[d] = (c->kernel[d] - 1) * c->dilation[d] + 1;
    *l = (struct lines){.c = c, .along = along, .across = 1 - along, .pitch = 1};
    l->step = along == 0 ? c->in_size[1] : 1;
    l->down = along == 0 ? 1 : c->in_size[1];
    while (l->pitch < span[l->across] && l->pitch < NUC_LANES_B)
        l->pitch *= 2;
    if (l->pitch < span[l->across] || span[along] > MOST_VECTORS * NUC_LANES_B / l->pitch)
        return false;
    l->vectors = (span[along] * l->pitch + NUC_LANES_B - 1) / NUC_LANES_B;
    l->places = (c->out_size[along] - 1) * c->stride[along] + span[along];
    int32_t inside = l->places - c->padding[along];
    l->copied = inside < 0 ? 0 : inside < c->in_size[along] ? inside : c->in_size[along];
    if ((size_t)l->places > room)
        return false;
    l->channel = (l->places * l->pitch + 2 * NUC_LANES_B - 1) & ~(NUC_LANES_B - 1); /* windows are whole vectors */
    return (size_t)l->channel <= room / CHANNELS;
}

/*
 * Along the longer side, where that is possible: results over their input have to come in the order of rows, unless
 * each lies over the input of its own place.
 */
static bool choose_lines(const struct nuc_conv_s8 *c, bool over_input, struct lines *l)
{
    bool any =
        !over_input || c->in_size[1] == 1 || (c->in_size[0] == c->out_size[0] && c->in_size[1] == c->out_size[1]);
    bool high = c->out_size[0] > c->out_size[1] || (c->out_size[0] == c->out_size[1] && c->in_size[0] > c->in_size[1]);
    int along = any && high ? 0 : 1;

    return lines_of(c, along, l) || (any && lines_of(c, 1 - along, l));
}

/* Not inlined: what leaves all to another kernel takes no stack. */
__attribute__((noinline)) static void by_lines(struct lines *l, const int8_t *in, const int8_t *weight, int8_t *out)
{
    const struct nuc_conv_s8 *c = l->c;
    ptrdiff_t image = (ptrdiff_t)c->in_size[0] * c->in_size[1] * c->in_channels;
    ptrdiff_t result = (ptrdiff_t)c->out_size[0] * c->out_size[1] * c->out_channels;
    int8_t stack[STACK_BYTES];
    struct block b;

    l->copy = c->scratch_bytes > STACK_BYTES ? c->scratch : stack;
    for (int32_t i = 0; i < PLACES; i++)
        nuc_vstr_w(b.sums[i], nuc_vdup_w(0)); /* also of channels that there are not */
    for (int32_t n = 0; n < c->batch; n++, in += image, out += result) {
        for (int32_t o = 0; o < c->out_channels; o += CHANNELS) {
            begin_block(l, &b, o, weight + o);
            compute_block(l, &b, in + o, weight + o, out + o);
        }
    }
}

void nuc_mve_depthwise_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    bool one = c->in_channels == 1 && c->out_channels > 1;
    struct lines l;

    if (one && nuc_mve_conv_one_channel(c, in, weight, out))
        return;
    if (c->in_channels == c->out_channels && choose_lines(c, in == out, &l))
        by_lines(&l, in, weight, out);
    else
        nuc_dsp_depthwise_s8(c, in, weight, out);
}
