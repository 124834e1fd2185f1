/* Convolutions in int8, one output element at a time. */
#include "device/kernels/ref_s8/quantized.h"

/* Where the window of one output pixel begins in the input, and which image of the batch it reads. */
struct window {
    const int8_t *image;
    int32_t y, x;
};

static int32_t product(int32_t sum, int8_t in, int32_t offset, int8_t weight)
{
    return nuc_wrap_add(sum, (in + offset) * weight);
}

static const int8_t *pixel(const struct nuc_conv_s8 *c, const int8_t *image, int32_t y, int32_t x)
{
    return image + ((ptrdiff_t)y * c->in_size[1] + x) * c->in_channels;
}

static bool inside(const struct nuc_conv_s8 *c, int32_t y, int32_t x)
{
    return y >= 0 && y < c->in_size[0] && x >= 0 && x < c->in_size[1];
}

/* `weight`: of one output channel; `first`: its group's first input channel. */
static int32_t conv_sum(const struct nuc_conv_s8 *c, const struct window *w, const int8_t *weight, int32_t first)
{
    int32_t depth = c->in_channels / c->groups;
    int32_t sum = 0;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        for (int32_t kx = 0; kx < c->kernel[1]; kx++, weight += depth) {
            int32_t y = w->y + ky * c->dilation[0];
            int32_t x = w->x + kx * c->dilation[1];
            if (!inside(c, y, x))
                continue;
            const int8_t *in = pixel(c, w->image, y, x) + first;
            for (int32_t i = 0; i < depth; i++)
                sum = product(sum, in[i], c->input_offset, weight[i]);
        }
    }
    return sum;
}

static int32_t depthwise_sum(const struct nuc_conv_s8 *c, const struct window *w, const int8_t *weight, int32_t channel)
{
    int32_t sum = 0;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        for (int32_t kx = 0; kx < c->kernel[1]; kx++, weight += c->out_channels) {
            int32_t y = w->y + ky * c->dilation[0];
            int32_t x = w->x + kx * c->dilation[1];
            if (inside(c, y, x))
                sum = product(sum, pixel(c, w->image, y, x)[channel], c->input_offset, *weight);
        }
    }
    return sum;
}

/* The input position that reaches `at` through tap `k`, or -1. */
static int32_t source(const struct nuc_conv_s8 *c, int axis, int32_t at, int32_t k)
{
    int32_t from = at + c->padding[axis] - k * c->dilation[axis];

    if (from < 0 || from % c->stride[axis] != 0 || from / c->stride[axis] >= c->in_size[axis])
        return -1;
    return from / c->stride[axis];
}

/* w: the output pixel; `weight`: of one output channel at the group's first input channel. */
static int32_t transposed_sum(const struct nuc_conv_s8 *c, const struct window *w, const int8_t *weight, int32_t first)
{
    int32_t depth = c->in_channels / c->groups;
    int32_t sum = 0;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        for (int32_t kx = 0; kx < c->kernel[1]; kx++, weight += c->in_channels) {
            int32_t y = source(c, 0, w->y, ky);
            int32_t x = source(c, 1, w->x, kx);
            if (y < 0 || x < 0)
                continue;
            const int8_t *in = pixel(c, w->image, y, x) + first;
            for (int32_t i = 0; i < depth; i++)
                sum = product(sum, in[i], c->input_offset, weight[i]);
        }
    }
    return sum;
}

/* Requantizes the sum of output channel `o`. */
static int8_t result(const struct nuc_conv_s8 *c, int32_t o, int32_t sum)
{
    return nuc_rescaled(&c->rescale, o, nuc_wrap_add(sum, c->bias != NULL ? c->bias[o] : 0));
}

static void conv_pixel(const struct nuc_conv_s8 *c, const struct window *w, const int8_t *weight, int8_t *out)
{
    int32_t depth = c->in_channels / c->groups;
    int32_t a_group = c->out_channels / c->groups;
    ptrdiff_t step = (ptrdiff_t)c->kernel[0] * c->kernel[1] * depth;

    for (int32_t o = 0; o < c->out_channels; o++)
        out[o] = result(c, o, conv_sum(c, w, weight + o * step, o / a_group * depth));
}

static void depthwise_pixel(const struct nuc_conv_s8 *c, const struct window *w, const int8_t *weight, int8_t *out)
{
    int32_t multiplier = c->out_channels / c->in_channels;

    for (int32_t o = 0; o < c->out_channels; o++)
        out[o] = result(c, o, depthwise_sum(c, w, weight + o, o / multiplier));
}

static void transposed_pixel(const struct nuc_conv_s8 *c, const struct window *w, const int8_t *weight, int8_t *out)
{
    int32_t depth = c->in_channels / c->groups;
    int32_t a_group = c->out_channels / c->groups;
    ptrdiff_t step = (ptrdiff_t)c->kernel[0] * c->kernel[1] * c->in_channels;

    for (int32_t o = 0; o < c->out_channels; o++) {
        int32_t first = o / a_group * depth;
        out[o] = result(c, o, transposed_sum(c, w, weight + o % a_group * step + first, first));
    }
}

/* ---- output channels with weights beyond eight bits ---- */

/* Where a weight is: its tap, the input and the output channel. */
struct weight_place {
    int32_t y, x, in, out;
};

static struct weight_place place_of(const struct nuc_conv_s8 *c, bool depthwise, int32_t at)
{
    int32_t depth = depthwise ? c->out_channels : c->in_channels / c->groups;
    int32_t taps = c->kernel[0] * c->kernel[1], tap = at / depth % taps;
    int32_t out = depthwise ? at % depth : at / depth / taps;

    return (struct weight_place){tap / c->kernel[1], tap % c->kernel[1],
                                 depthwise ? out / (c->out_channels / c->in_channels)
                                           : out / (c->out_channels / c->groups) * depth + at % depth,
                                 out};
}

/* The sum of one pixel with the excess of `count` weights, which are of one output channel. */
static int32_t wide_sum(const struct nuc_conv_s8 *c, const struct window *w, bool depthwise, const int8_t *weight,
                        const int32_t *excess, int32_t count)
{
    struct weight_place p = place_of(c, depthwise, excess[0]);
    int32_t depth = c->in_channels / c->groups, first = p.out / (c->out_channels / c->groups) * depth;
    int32_t sum = depthwise ? depthwise_sum(c, w, weight + p.out, p.in)
                            : conv_sum(c, w, weight + (ptrdiff_t)p.out * c->kernel[0] * c->kernel[1] * depth, first);

    for (int32_t i = 0; i < count; i++) {
        p = place_of(c, depthwise, excess[2 * i]);
        int32_t y = w->y + p.y * c->dilation[0];
        int32_t x = w->x + p.x * c->dilation[1];
        if (inside(c, y, x))
            sum = nuc_wrap_add(sum, (pixel(c, w->image, y, x)[p.in] + c->input_offset) * excess[2 * i + 1]);
    }
    return sum;
}

static void wide_channel(const struct nuc_conv_s8 *c, bool depthwise, const int8_t *in, const int8_t *weight,
                         const int32_t *excess, int32_t count, int8_t *out)
{
    int32_t o = place_of(c, depthwise, excess[0]).out;

    out += o;
    for (int32_t b = 0; b < c->batch; b++) {
        const int8_t *image = pixel(c, in, b * c->in_size[0], 0);
        for (int32_t y = 0; y < c->out_size[0]; y++) {
            for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels) {
                struct window w = {image, y * c->stride[0] - c->padding[0], x * c->stride[1] - c->padding[1]};
                *out = result(c, o, wide_sum(c, &w, depthwise, weight, excess, count));
            }
        }
    }
}

void nuc_kernel_wide_channels_s8(const struct nuc_conv_s8 *c, bool depthwise, const int8_t *in, const int8_t *weight,
                                 const int32_t *excess, int32_t count, int8_t *out)
{
    for (int32_t first = 0, end; first < count; first = end) {
        int32_t o = place_of(c, depthwise, excess[2 * first]).out;
        end = first + 1;
        while (end < count && place_of(c, depthwise, excess[2 * end]).out == o)
            end++;
        wide_channel(c, depthwise, in, weight, excess + 2 * first, end - first, out);
    }
}

/* ---- a depthwise convolution whose output lies where its input does ---- */

/* The rows that a window touches, of one channel: row y in slot y % span. */
struct ring {
    int8_t *rows;
    int32_t span, next; /* rows before `next` have been read */
};

static void read_rows(const struct nuc_conv_s8 *c, struct ring *r, const int8_t *channel, int32_t end)
{
    for (; r->next < end && r->next < c->in_size[0]; r->next++) {
        const int8_t *from = pixel(c, channel, r->next, 0);
        int8_t *to = r->rows + (ptrdiff_t)(r->next % r->span) * c->in_size[1];
        for (int32_t x = 0; x < c->in_size[1]; x++, from += c->in_channels)
            to[x] = *from;
    }
}

static int32_t ring_sum(const struct nuc_conv_s8 *c, const struct ring *r, int32_t top, int32_t left,
                        const int8_t *weight)
{
    int32_t sum = 0;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        for (int32_t kx = 0; kx < c->kernel[1]; kx++, weight += c->out_channels) {
            int32_t y = top + ky * c->dilation[0];
            int32_t x = left + kx * c->dilation[1];
            if (inside(c, y, x))
                sum = product(sum, r->rows[(ptrdiff_t)(y % r->span) * c->in_size[1] + x], c->input_offset, *weight);
        }
    }
    return sum;
}

/* Channel o of one image; channels do not meet, since input and output have as many. */
static void channel_over_input(const struct nuc_conv_s8 *c, const int8_t *channel, const int8_t *weight, int32_t o,
                               int8_t *out)
{
    struct ring r = {c->scratch, (c->kernel[0] - 1) * c->dilation[0] + 1, 0};

    for (int32_t y = 0; y < c->out_size[0]; y++) {
        int32_t top = y * c->stride[0] - c->padding[0];
        read_rows(c, &r, channel, top + r.span);
        for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels)
            *out = result(c, o, ring_sum(c, &r, top, x * c->stride[1] - c->padding[1], weight));
    }
}

static void depthwise_over_input(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    for (int32_t b = 0; b < c->batch; b++) {
        const int8_t *image = pixel(c, in, b * c->in_size[0], 0);
        int8_t *to = out + (ptrdiff_t)b * c->out_size[0] * c->out_size[1] * c->out_channels;
        for (int32_t o = 0; o < c->out_channels; o++)
            channel_over_input(c, image + o, weight + o, o, to + o);
    }
}

typedef void (*pixel_fn)(const struct nuc_conv_s8 *c, const struct window *w, const int8_t *weight, int8_t *out);

/* `stride` and `padding` lead from output pixels to windows. */
static void each_pixel(const struct nuc_conv_s8 *c, const int32_t stride[2], const int32_t padding[2], pixel_fn compute,
                       const int8_t *in, const int8_t *weight, int8_t *out)
{
    for (int32_t b = 0; b < c->batch; b++) {
        const int8_t *image = pixel(c, in, b * c->in_size[0], 0);
        for (int32_t y = 0; y < c->out_size[0]; y++) {
            for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels) {
                struct window w = {image, y * stride[0] - padding[0], x * stride[1] - padding[1]};
                compute(c, &w, weight, out);
            }
        }
    }
}

void nuc_ref_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    each_pixel(c, c->stride, c->padding, conv_pixel, in, weight, out);
}

void nuc_ref_depthwise_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    if (out == in)
        depthwise_over_input(c, in, weight, out);
    else
        each_pixel(c, c->stride, c->padding, depthwise_pixel, in, weight, out);
}

void nuc_ref_transposed_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    static const int32_t one[2] = {1, 1};
    static const int32_t none[2] = {0, 0};

    each_pixel(c, one, none, transposed_pixel, in, weight, out);
}
