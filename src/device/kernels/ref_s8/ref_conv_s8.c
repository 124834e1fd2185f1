/* Convolutions in int8, one output channel after the other. */
#include "device/kernels/ref_s8/conv_window.h"

static const int8_t *pixel(const struct nuc_conv_s8 *c, const int8_t *image, int32_t y, int32_t x)
{
    return image + ((ptrdiff_t)y * c->in_size[1] + x) * c->in_channels;
}

/* Requantizes the sum of output channel `o`. */
static int8_t result(const struct nuc_conv_s8 *c, int32_t o, int32_t sum)
{
    return nuc_rescaled(&c->rescale, o, nuc_wrap_add(sum, c->bias != NULL ? c->bias[o] : 0));
}

/* Where a weight is: its tap, its output channel, and which of the input channels that one reads it multiplies. */
struct weight_place {
    int32_t y, x, in, out;
};

static struct weight_place place_of(const struct nuc_conv_s8 *c, bool depthwise, int32_t at)
{
    int32_t depth = depthwise ? c->out_channels : c->in_channels / c->groups;
    int32_t taps = c->kernel[0] * c->kernel[1], tap = at / depth % taps;
    int32_t out = depthwise ? at % depth : at / depth / taps;

    return (struct weight_place){tap / c->kernel[1], tap % c->kernel[1], depthwise ? 0 : at % depth, out};
}

/* Inlined where the kind is known. */
#define INLINE static inline __attribute__((always_inline))

INLINE int32_t window_sum(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind, const struct nuc_conv_channel *ch,
                          const int8_t *image, int32_t out_y, int32_t out_x)
{
    const int8_t *weight = ch->weight;
    int32_t sum = 0;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        int32_t y = nuc_conv_place(c, kind, 0, out_y, ky);
        for (int32_t kx = 0; kx < c->kernel[1]; kx++, weight += ch->tap) {
            int32_t x = nuc_conv_place(c, kind, 1, out_x, kx);
            if (y < 0 || x < 0)
                continue;
            const int8_t *in = pixel(c, image, y, x) + ch->first;
            for (int32_t i = 0; i < ch->depth; i++)
                sum = nuc_wrap_add(sum, (in[i] + c->input_offset) * weight[i]);
        }
    }
    return sum;
}

/* Output channel `o`, `count` of whose weights have an excess. */
INLINE void convolve_channel(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind, const int8_t *in,
                             const int8_t *weight, int32_t o, const int32_t *excess, int32_t count, int8_t *out)
{
    const struct nuc_conv_channel ch = nuc_conv_channel_of(c, kind, weight, o);

    out += o;
    for (int32_t b = 0; b < c->batch; b++) {
        const int8_t *image = pixel(c, in, b * c->in_size[0], 0);
        for (int32_t y = 0; y < c->out_size[0]; y++) {
            for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels) {
                int32_t sum = window_sum(c, kind, &ch, image, y, x);
                for (int32_t i = 0; i < count; i++) {
                    const struct weight_place p = place_of(c, kind == NUC_DEPTHWISE, excess[2 * i]);
                    int32_t from_y = nuc_conv_place(c, kind, 0, y, p.y), from_x = nuc_conv_place(c, kind, 1, x, p.x);
                    if (from_y >= 0 && from_x >= 0)
                        sum = nuc_wrap_add(sum, (pixel(c, image, from_y, from_x)[ch.first + p.in] + c->input_offset) *
                                                    excess[2 * i + 1]);
                }
                *out = result(c, o, sum);
            }
        }
    }
}

INLINE void convolve(const struct nuc_conv_s8 *c, enum nuc_conv_kind kind, const int8_t *in, const int8_t *weight,
                     int8_t *out)
{
    for (int32_t o = 0; o < c->out_channels; o++)
        convolve_channel(c, kind, in, weight, o, NULL, 0, out);
}

void nuc_ref_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    convolve(c, NUC_CONV, in, weight, out);
}

void nuc_ref_transposed_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    convolve(c, NUC_TRANSPOSED, in, weight, out);
}

void nuc_kernel_wide_channels_s8(const struct nuc_conv_s8 *c, bool depthwise, const int8_t *in, const int8_t *weight,
                                 const int32_t *excess, int32_t count, int8_t *out)
{
    for (int32_t first = 0, end; first < count; first = end) {
        int32_t o = place_of(c, depthwise, excess[2 * first]).out;
        end = first + 1;
        while (end < count && place_of(c, depthwise, excess[2 * end]).out == o)
            end++;
        convolve_channel(c, depthwise ? NUC_DEPTHWISE : NUC_CONV, in, weight, o, excess + 2 * first, end - first, out);
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

static int32_t ring_sum(const struct nuc_conv_s8 *c, const struct ring *r, int32_t out_y, int32_t out_x,
                        const int8_t *weight)
{
    int32_t sum = 0;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        for (int32_t kx = 0; kx < c->kernel[1]; kx++, weight += c->out_channels) {
            int32_t y = nuc_conv_place(c, NUC_DEPTHWISE, 0, out_y, ky),
                    x = nuc_conv_place(c, NUC_DEPTHWISE, 1, out_x, kx);
            if (y >= 0 && x >= 0)
                sum = nuc_wrap_add(sum,
                                   (r->rows[(ptrdiff_t)(y % r->span) * c->in_size[1] + x] + c->input_offset) * *weight);
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
        read_rows(c, &r, channel, y * c->stride[0] - c->padding[0] + r.span);
        for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels)
            *out = result(c, o, ring_sum(c, &r, y, x, weight));
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

void nuc_ref_depthwise_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    if (out == in)
        depthwise_over_input(c, in, weight, out);
    else
        convolve(c, NUC_DEPTHWISE, in, weight, out);
}
