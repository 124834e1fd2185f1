/* Direct convolution and its transpose: no patch matrix, runs of contiguous input against rows of weights. */
#include "npu.h"
#include "npu_math.h"

/* A window of one output pixel: taps inside the input, and where the first of them lies. */
struct window {
    int32_t y0, y1, x0, x1;
    int64_t origin_y, origin_x;
};

static struct window window_at(const struct nuc_mc_conv *c, int32_t oy, int32_t ox)
{
    struct window w;

    w.origin_y = (int64_t)oy * c->stride_h - c->pad_top;
    w.origin_x = (int64_t)ox * c->stride_w - c->pad_left;
    npu_taps((int32_t)w.origin_y, c->in_h, c->k_h, c->dilation_h, &w.y0, &w.y1);
    npu_taps((int32_t)w.origin_x, c->in_w, c->k_w, c->dilation_w, &w.x0, &w.x1);
    return w;
}

/* Adds the window's products for `n` (1 or NPU_BLOCK) rows of weights. `depth`: input channels of a group. */
static void accumulate(const struct nuc_mc_conv *c, const struct window *w, const int8_t *image, const int8_t *weight,
                       int32_t depth, int32_t n, int32_t *acc)
{
    int64_t row = (int64_t)c->k_h * c->k_w * depth;
    int64_t pitch = npu_pitch(c->in_pitch, c->in_c);
    bool dense = depth == pitch && c->dilation_w == 1;
    int32_t run = dense ? (w->x1 - w->x0) * depth : depth;
    int32_t runs = dense ? (w->x1 > w->x0 ? 1 : 0) : w->x1 - w->x0;

    for (int32_t ky = w->y0; ky < w->y1; ky++) {
        int64_t y = w->origin_y + (int64_t)ky * c->dilation_h;
        for (int32_t k = 0; k < runs; k++) {
            int64_t x = w->origin_x + (int64_t)(w->x0 + k) * c->dilation_w;
            const int8_t *in = image + (y * c->in_w + x) * pitch;
            const int8_t *wt = weight + ((int64_t)ky * c->k_w + w->x0 + k) * depth;
            if (n == NPU_BLOCK)
                npu_dot4(in, wt, row, run, (int16_t)c->input_zero, acc);
            else
                acc[0] = npu_dot(in, wt, run, (int16_t)c->input_zero, acc[0]);
        }
    }
}

static void conv_pixel(const struct nuc_mc_conv *c, const struct window *w, const int8_t *image, const int8_t *weight,
                       const int32_t *bias, const int32_t *requant, int8_t *out)
{
    int32_t depth = c->in_c / c->groups;
    int32_t per_group = c->out_c / c->groups;
    int64_t row = (int64_t)c->k_h * c->k_w * depth;

    for (int32_t o = 0; o < c->out_c;) {
        int32_t group = o / per_group;
        int32_t n = (group + 1) * per_group - o >= NPU_BLOCK ? NPU_BLOCK : 1;
        int32_t acc[NPU_BLOCK];

        for (int32_t i = 0; i < n; i++)
            acc[i] = bias[o + i];
        accumulate(c, w, image + (int64_t)group * depth, weight + o * row, depth, n, acc);
        for (int32_t i = 0; i < n; i++)
            out[o + i] = npu_requant(acc[i], requant, o + i, c->output_zero, c->clamp_min, c->clamp_max);
        o += n;
    }
}

void npu_conv(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const struct nuc_mc_conv *c = &r->conv;
    const int8_t *image = npu_source_i8(m, c->input);
    const int8_t *weight = npu_source_i8(m, c->weight);
    const int32_t *bias = npu_source_i32(m, c->bias);
    const int32_t *requant = npu_source_i32(m, c->requant);
    int8_t *out = npu_target_i8(m, c->output);

    for (int32_t b = 0; b < c->batches; b++) {
        for (int32_t oy = 0; oy < c->out_h; oy++) {
            for (int32_t ox = 0; ox < c->out_w; ox++) {
                struct window w = window_at(c, oy, ox);
                conv_pixel(c, &w, image, weight, bias, requant, out);
                out += npu_pitch(c->out_pitch, c->out_c);
            }
        }
        image += (int64_t)c->in_h * c->in_w * npu_pitch(c->in_pitch, c->in_c);
    }
}

/* One output channel of a transposed convolution: taps k with out + pad - k a multiple of the stride. */
static int32_t transposed_sum(const struct nuc_mc_conv *c, const int8_t *image, const int8_t *weight, int32_t oy,
                              int32_t ox, int32_t acc)
{
    for (int32_t ky = 0; ky < c->k_h; ky++) {
        int32_t y = oy + c->pad_top - ky;
        if (y < 0 || y % c->stride_h != 0 || y / c->stride_h >= c->in_h)
            continue;
        for (int32_t kx = 0; kx < c->k_w; kx++) {
            int32_t x = ox + c->pad_left - kx;
            if (x < 0 || x % c->stride_w != 0 || x / c->stride_w >= c->in_w)
                continue;
            const int8_t *in =
                image + ((int64_t)(y / c->stride_h) * c->in_w + x / c->stride_w) * npu_pitch(c->in_pitch, c->in_c);
            const int8_t *wt = weight + ((int64_t)ky * c->k_w + kx) * c->in_c;
            acc = npu_dot(in, wt, c->in_c, (int16_t)c->input_zero, acc);
        }
    }
    return acc;
}

void npu_transpose_conv(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    const struct nuc_mc_conv *c = &r->conv;
    const int8_t *weight = npu_source_i8(m, c->weight);
    const int32_t *bias = npu_source_i32(m, c->bias);
    const int32_t *requant = npu_source_i32(m, c->requant);
    int8_t *out = npu_target_i8(m, c->output);
    int64_t pixels = (int64_t)c->out_h * c->out_w;
    int64_t row = (int64_t)c->k_h * c->k_w * c->in_c;

    for (int64_t p = 0; p < c->batches * pixels; p++) {
        const int8_t *image =
            npu_source_i8(m, c->input) + p / pixels * c->in_h * c->in_w * npu_pitch(c->in_pitch, c->in_c);
        int32_t oy = (int32_t)(p % pixels / c->out_w);
        int32_t ox = (int32_t)(p % c->out_w);
        for (int32_t o = 0; o < c->out_c; o++) {
            int32_t acc = transposed_sum(c, image, weight + o * row, oy, ox, bias[o]);
            out[o] = npu_requant(acc, requant, o, c->output_zero, c->clamp_min, c->clamp_max);
        }
        out += npu_pitch(c->out_pitch, c->out_c);
    }
}
