/* Pooling over windows, one pixel at a time, channels contiguous. */
#include "npu.h"
#include "npu_math.h"

#define CHANNELS 64 /* accumulators held at once */

struct window {
    int32_t y, x, y0, y1, x0, x1;
};

static struct window window_at(const struct nuc_mc_pool *p, int32_t oy, int32_t ox)
{
    struct window w = {.y = oy * p->stride_h - p->pad_top, .x = ox * p->stride_w - p->pad_left};

    npu_taps(w.y, p->in_h, p->k_h, 1, &w.y0, &w.y1);
    npu_taps(w.x, p->in_w, p->k_w, 1, &w.x0, &w.x1);
    return w;
}

static const int8_t *tap(const struct nuc_mc_pool *p, const struct window *w, const int8_t *image, int32_t ky,
                         int32_t kx)
{
    return image + ((int64_t)(w->y + ky) * p->in_w + w->x + kx) * npu_pitch(p->in_pitch, p->channels);
}

/* Half away from zero. A window without any tap inside the input and without pads counted gives the clamp of 0. */
static int32_t rounded_mean(int32_t sum, int32_t count)
{
    if (count == 0)
        return 0;
    return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}

static void average_block(const struct nuc_mc_pool *p, const struct window *w, const int8_t *image, int32_t first,
                          int32_t n, int8_t *out)
{
    int32_t inside = (w->y1 - w->y0) * (w->x1 - w->x0);
    int32_t all = p->k_h * p->k_w;
    int32_t count = p->count_pad ? all : inside;
    int32_t sum[CHANNELS];

    for (int32_t i = 0; i < n; i++)
        sum[i] = p->count_pad ? (all - inside) * p->pad_value : 0;
    for (int32_t ky = w->y0; ky < w->y1; ky++) {
        for (int32_t kx = w->x0; kx < w->x1; kx++) {
            const int8_t *in = tap(p, w, image, ky, kx) + first;
            for (int32_t i = 0; i < n; i++)
                sum[i] += in[i];
        }
    }
    for (int32_t i = 0; i < n; i++)
        out[i] = (int8_t)nuc_clamp_i32(rounded_mean(sum[i], count), p->clamp_min, p->clamp_max);
}

static void maximum_block(const struct nuc_mc_pool *p, const struct window *w, const int8_t *image, int32_t first,
                          int32_t n, int8_t *out)
{
    int8_t best[CHANNELS];

    for (int32_t i = 0; i < n; i++)
        best[i] = INT8_MIN;
    for (int32_t ky = w->y0; ky < w->y1; ky++) {
        for (int32_t kx = w->x0; kx < w->x1; kx++) {
            const int8_t *in = tap(p, w, image, ky, kx) + first;
            for (int32_t i = 0; i < n; i++)
                best[i] = in[i] > best[i] ? in[i] : best[i];
        }
    }
    for (int32_t i = 0; i < n; i++)
        out[i] = (int8_t)nuc_clamp_i32(best[i], p->clamp_min, p->clamp_max);
}

typedef void (*block_function)(const struct nuc_mc_pool *p, const struct window *w, const int8_t *image, int32_t first,
                               int32_t n, int8_t *out);

static void pool(const struct nuc_npu_memory *m, const struct nuc_mc_pool *p, block_function block)
{
    const int8_t *image = npu_source_i8(m, p->input);
    int8_t *out = npu_target_i8(m, p->output);

    for (int32_t b = 0; b < p->batches; b++) {
        for (int64_t pixel = 0; pixel < (int64_t)p->out_h * p->out_w; pixel++) {
            struct window w = window_at(p, (int32_t)(pixel / p->out_w), (int32_t)(pixel % p->out_w));
            for (int32_t first = 0; first < p->channels; first += CHANNELS) {
                int32_t n = p->channels - first < CHANNELS ? p->channels - first : CHANNELS;
                block(p, &w, image, first, n, out + first);
            }
            out += npu_pitch(p->out_pitch, p->channels);
        }
        image += (int64_t)p->in_h * p->in_w * npu_pitch(p->in_pitch, p->channels);
    }
}

void npu_average_pool(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    pool(m, &r->pool, average_block);
}

void npu_max_pool(const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    pool(m, &r->pool, maximum_block);
}
