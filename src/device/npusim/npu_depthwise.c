/* Depthwise convolution: blocks of channels, contiguous in input, weights and output. */
#include <string.h>

#include "npu.h"
#include "npu_math.h"

#define CHANNELS 64 /* accumulators held at once */

/* acc[i] += (x[i] - zero) * w[i] with one input channel per output channel. */
static void accumulate(const int8_t *x, const int8_t *w, int32_t n, int16_t zero, int32_t *acc)
{
    for (int32_t i = 0; i < n; i++)
        acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)((int16_t)(x[i] - zero) * (int16_t)w[i]));
}

/* The same with `multiplier` output channels per input channel; `first` is the block's first output channel. */
static void accumulate_spread(const int8_t *x, const int8_t *w, int32_t n, int16_t zero, int32_t first,
                              int32_t multiplier, int32_t *acc)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t v = x[(first + i) / multiplier] - zero;
        acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)(v * w[i]));
    }
}

/* Channels [first, first + n) of one output pixel whose window begins at (y, x) of the image. */
static void block_sum(const struct nuc_mc_conv *c, const int8_t *image, const int8_t *weight, int32_t y, int32_t x,
                      int32_t first, int32_t n, int32_t *acc)
{
    int32_t multiplier = c->out_c / c->in_c;
    int32_t y0, y1, x0, x1;

    npu_taps(y, c->in_h, c->k_h, c->dilation_h, &y0, &y1);
    npu_taps(x, c->in_w, c->k_w, c->dilation_w, &x0, &x1);
    for (int32_t ky = y0; ky < y1; ky++) {
        for (int32_t kx = x0; kx < x1; kx++) {
            int64_t row = y + (int64_t)ky * c->dilation_h;
            int64_t column = x + (int64_t)kx * c->dilation_w;
            const int8_t *in = image + (row * c->in_w + column) * npu_pitch(c->in_pitch, c->in_c);
            const int8_t *wt = weight + ((int64_t)ky * c->k_w + kx) * c->out_c + first;
            if (multiplier == 1)
                accumulate(in + first, wt, n, (int16_t)c->input_zero, acc);
            else
                accumulate_spread(in, wt, n, (int16_t)c->input_zero, first, multiplier, acc);
        }
    }
}

void npu_depthwise(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const struct nuc_mc_conv *c = &r->conv;
    const int8_t *weight = npu_source_i8(m, c->weight);
    const int32_t *bias = npu_source_i32(m, c->bias);
    const int32_t *requant = npu_source_i32(m, c->requant);
    int8_t *out = npu_target_i8(m, c->output);
    int64_t pixels = (int64_t)c->out_h * c->out_w;

    for (int64_t p = 0; p < c->batches * pixels; p++) {
        const int8_t *image =
            npu_source_i8(m, c->input) + p / pixels * c->in_h * c->in_w * npu_pitch(c->in_pitch, c->in_c);
        int32_t y = (int32_t)(p % pixels / c->out_w) * c->stride_h - c->pad_top;
        int32_t x = (int32_t)(p % c->out_w) * c->stride_w - c->pad_left;
        for (int32_t first = 0; first < c->out_c; first += CHANNELS) {
            int32_t n = c->out_c - first < CHANNELS ? c->out_c - first : CHANNELS;
            int32_t acc[CHANNELS];
            memcpy(acc, bias + first, (size_t)n * sizeof *acc);
            block_sum(c, image, weight, y, x, first, n, acc);
            for (int32_t i = 0; i < n; i++)
                out[first + i] = npu_requant(acc[i], requant, first + i, c->output_zero, c->clamp_min, c->clamp_max);
        }
        out += npu_pitch(c->out_pitch, c->out_c);
    }
}
