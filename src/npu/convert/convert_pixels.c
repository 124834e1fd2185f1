/*
 * Few channels fill no dot product. Pixels of a row lie behind each other, so that `pixels` of them are one with as
 * many times the channels, and the outputs of as many strides are one with as many times the outputs. Weights of pixels
 * that a window leaves out are zeros. The sums are the same.
 */
#include <string.h>

#include "algorithms/constant_channels.h"
#include "device/base/npu_cost.h"
#include "npu/convert/conversion.h"

#define MOST_OUTPUTS 16 /* that are computed as one */
#define MAX_ROW 65536   /* weights of an output and a row */

static int32_t floor_div(int32_t a, int32_t b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* The convolution that computes `outputs` of a row as one. */
static struct nuc_mc_conv folded(const struct nuc_mc_conv *c, int32_t outputs)
{
    const int32_t pixels = outputs * c->stride_w;
    const int32_t last = (outputs - 1) * c->stride_w - c->pad_left + (c->k_w - 1) * c->dilation_w;
    struct nuc_mc_conv f = *c;

    f.in_w /= pixels;
    f.in_c *= pixels;
    f.out_w /= outputs;
    f.out_c *= outputs;
    f.pad_left = -floor_div(-c->pad_left, pixels);
    f.k_w = floor_div(last, pixels) + f.pad_left + 1;
    f.stride_w = f.dilation_w = 1;
    return f;
}

static int64_t weights_of(const struct nuc_mc_conv *c)
{
    return (int64_t)c->out_c * c->k_h * c->k_w * c->in_c;
}

/* A byte of weights counts as the cycle that it takes from flash. */
static uint64_t cost_of(const struct nuc_cv *cv, const struct nuc_mc_conv *c)
{
    union nuc_mc_record r = {.conv = *c};
    struct nuc_npu_clock clock = {.now = 0};

    r.call.opcode = NUC_MC_OP_CONV_2D;
    return nuc_npu_clock_step(cv->costs, &clock, &r) + (uint64_t)weights_of(c) + 12 * (uint64_t)c->out_c;
}

static int8_t *folded_weights(struct nuc_cv *cv, const struct nuc_mc_conv *c, const struct nuc_mc_conv *f,
                              const int8_t *weights)
{
    const int32_t outputs = f->out_c / c->out_c, pixels = f->in_c / c->in_c;
    int8_t *made = nuc_alloc(cv->cx, (size_t)weights_of(f));

    for (int32_t p = 0; p < outputs; p++) {
        for (int64_t row = 0; row < (int64_t)c->out_c * c->k_h; row++) {
            int8_t *to = made + ((int64_t)p * c->out_c * c->k_h + row) * f->k_w * f->in_c;
            for (int32_t k = 0; k < c->k_w; k++) {
                int32_t at = p * c->stride_w - c->pad_left + k * c->dilation_w + f->pad_left * pixels;
                memcpy(to + (int64_t)at * c->in_c, weights + (row * c->k_w + k) * c->in_c, (size_t)c->in_c);
            }
        }
    }
    return made;
}

void nuc_cv_fold_pixels(struct nuc_cv *cv, struct nuc_mc_conv *c, struct nuc_channel_constants *k)
{
    struct nuc_mc_conv best = *c;

    if (cv->revision_3 || c->groups != 1 || c->in_pitch != 0 || (uint32_t)c->in_c % cv->costs->num_macs == 0 ||
        (int64_t)(c->k_w - 1) * c->dilation_w >= MAX_ROW)
        return;
    for (int32_t n = 1; n <= (c->out_pitch == 0 ? MOST_OUTPUTS : 1); n *= 2) {
        if (c->out_w % n != 0 || c->in_w % (n * c->stride_w) != 0 || (int64_t)n * c->stride_w * c->in_c > MAX_ROW)
            continue;
        struct nuc_mc_conv f = folded(c, n);
        if ((int64_t)f.k_w * f.in_c <= MAX_ROW && cost_of(cv, &f) < cost_of(cv, &best))
            best = f;
    }
    int32_t outputs = best.out_c / c->out_c;
    if (best.in_c == c->in_c)
        return;
    int32_t *bias = nuc_alloc_array(cv->cx, (size_t)best.out_c, sizeof *bias);
    struct nuc_multiplier *rescale = nuc_alloc_array(cv->cx, (size_t)best.out_c, sizeof *rescale);
    for (int32_t p = 0; p < outputs; p++) {
        memcpy(bias + (size_t)p * (size_t)c->out_c, k->bias, (size_t)c->out_c * sizeof *bias);
        memcpy(rescale + (size_t)p * (size_t)c->out_c, k->rescale, (size_t)c->out_c * sizeof *rescale);
    }
    *k = (struct nuc_channel_constants){.weights = folded_weights(cv, c, &best, k->weights),
                                        .n_weights = (size_t)weights_of(&best),
                                        .bias = bias,
                                        .rescale = rescale};
    *c = best;
}
