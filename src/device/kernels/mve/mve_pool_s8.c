/* Pooling, sums and resizing: sixteen channels at a time, averages, sums and blends of four. */
#include "device/kernels/mve/mve.h"
#include "device/kernels/mve/rescale.h"
#include "device/kernels/ref_s8/resize.h"

/* A window's part inside the image, from its first channel on. */
struct window {
    const int8_t *first;
    int32_t rows, columns;
    ptrdiff_t row, column; /* from one to the next */
};

static void max_pixel(const struct nuc_pool_s8 *p, const struct window *w, int8_t *out)
{
    const nuc_bytes low = nuc_vdup_b(p->low), high = nuc_vdup_b(p->high);
    int32_t c = 0;

    for (; c + NUC_LANES_B <= p->channels; c += NUC_LANES_B) {
        nuc_bytes largest = low;
        for (int32_t y = 0; y < w->rows; y++) {
            const int8_t *at = w->first + y * w->row + c;
            for (int32_t n = w->columns; n > 0; n--, at += w->column)
                largest = nuc_vmax_b(largest, nuc_vldr_b(at));
        }
        nuc_vstr_b(out + c, nuc_vmin_b(largest, high));
    }
    if (c == p->channels)
        return;
    nuc_bytes largest = low;
    for (int32_t y = 0; y < w->rows; y++) {
        const int8_t *at = w->first + y * w->row + c;
        for (int32_t n = w->columns; n > 0; n--, at += w->column)
            largest = nuc_vmax_b(largest, nuc_vldr_b_some(at, p->channels - c));
    }
    nuc_vstr_b_some(out + c, nuc_vmin_b(largest, high), p->channels - c);
}

/* So many elements have sums and quotients that are exact below. */
#define MOST_ELEMENTS 4096

/*
 * sum / count, half away from zero, from 1: for x below 129 * count, x / count is the upper half of x times 2^32 /
 * count, rounded up.
 */
static nuc_words divided(nuc_words sum, int32_t count)
{
    if (count == 1)
        return sum;
    nuc_words doubled_sign = nuc_vadd_w(nuc_vsigns_w(sum), nuc_vsigns_w(sum));
    nuc_words quotient =
        nuc_vmulh_u(nuc_vadd_wn(nuc_vabs_w(sum), count / 2), nuc_vdup_w((int32_t)(UINT32_MAX / (uint32_t)count + 1)));
    return nuc_vadd_w(quotient, nuc_vmul_w(quotient, doubled_sign));
}

static void average_pixel(const struct nuc_pool_s8 *p, const struct window *w, int8_t *out)
{
    int32_t count = w->rows * w->columns;

    for (int32_t c = 0; c < p->channels; c += NUC_LANES_W) {
        int32_t some = p->channels - c;
        nuc_words sum = nuc_vdup_w(0);
        for (int32_t y = 0; y < w->rows; y++) {
            const int8_t *at = w->first + y * w->row + c;
            for (int32_t n = w->columns; n > 0 && some >= NUC_LANES_W; n--, at += w->column)
                sum = nuc_vadd_w(sum, nuc_vldr_bw(at));
            for (int32_t n = w->columns; n > 0 && some < NUC_LANES_W; n--, at += w->column)
                sum = nuc_vadd_w(sum, nuc_vldr_bw_some(at, some));
        }
        nuc_vstr_bw_some(out + c, nuc_vclamp_w(count > 0 ? divided(sum, count) : sum, p->low, p->high), some);
    }
}

typedef void (*pixel_fn)(const struct nuc_pool_s8 *p, const struct window *w, int8_t *out);

static void each_window(const struct nuc_pool_s8 *p, pixel_fn pool, const int8_t *in, int8_t *out)
{
    ptrdiff_t row = (ptrdiff_t)p->in_size[1] * p->channels;

    for (int32_t b = 0; b < p->batch; b++, in += row * p->in_size[0]) {
        for (int32_t y = 0; y < p->out_size[0]; y++) {
            for (int32_t x = 0; x < p->out_size[1]; x++, out += p->channels) {
                struct nuc_pool_part part = nuc_pool_part_of(p, y, x);
                struct window w = {in, part.last[0] - part.first[0], part.last[1] - part.first[1], row, p->channels};
                if (w.rows <= 0 || w.columns <= 0)
                    w.rows = w.columns = 0;
                else
                    w.first += part.first[0] * row + (ptrdiff_t)part.first[1] * p->channels;
                pool(p, &w, out);
            }
        }
    }
}

void nuc_mve_max_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    each_window(p, max_pixel, in, out);
}

void nuc_mve_avg_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    if (p->kernel[0] < MOST_ELEMENTS && p->kernel[1] <= MOST_ELEMENTS / p->kernel[0])
        each_window(p, average_pixel, in, out);
    else
        nuc_ref_avg_pool_s8(p, in, out);
}

/* ---- sums ---- */

/* Of elements that lie side by side. */
static int32_t sum_along(const int8_t *in, int32_t count, int32_t sum)
{
    for (; count >= NUC_LANES_B; count -= NUC_LANES_B, in += NUC_LANES_B)
        sum = nuc_vaddva(sum, nuc_vldr_b(in));
    return count > 0 ? nuc_vaddva(sum, nuc_vldr_b_some(in, count)) : sum;
}

static int32_t sum_of_rows(const struct nuc_loops *reduced, const int8_t *in)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    int32_t sum = 0;

    do
        sum = sum_along(in + walk.a, nuc_row_length(reduced), sum);
    while (nuc_walk_next_row(reduced, &walk));
    return sum;
}

/* Of each of four elements side by side; `some` as in vector.h. */
static nuc_words sums_of_four(const struct nuc_loops *reduced, const int8_t *in, int32_t some)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const ptrdiff_t step = reduced->a[reduced->rank - 1];
    nuc_words sum = nuc_vdup_w(0);

    do {
        const int8_t *at = in + walk.a;
        for (int32_t n = nuc_row_length(reduced); n > 0 && some >= NUC_LANES_W; n--, at += step)
            sum = nuc_vadd_w(sum, nuc_vldr_bw(at));
        for (int32_t n = nuc_row_length(reduced); n > 0 && some < NUC_LANES_W; n--, at += step)
            sum = nuc_vadd_w(sum, nuc_vldr_bw_some(at, some));
    } while (nuc_walk_next_row(reduced, &walk));
    return sum;
}

static void sum_row(const struct nuc_loops *reduced, int32_t offsets, const struct nuc_rescale *rescale,
                    const int8_t *in, int32_t count, int8_t *out)
{
    const struct nuc_vscale scale = nuc_vscale_at(rescale, 0, NUC_LANES_W);

    for (int32_t i = 0; i < count; i += NUC_LANES_W) {
        nuc_words v = nuc_vadd_wn(sums_of_four(reduced, in + i, count - i), offsets);
        v = nuc_vadd_wn(nuc_vrequantize(v, &scale, true), rescale->offset);
        nuc_vstr_bw_some(out + i, nuc_vclamp_w(v, rescale->low, rescale->high), count - i);
    }
}

void nuc_mve_sum_s8(const struct nuc_loops *kept, const struct nuc_loops *reduced, int32_t input_offset,
                    const struct nuc_rescale *rescale, const int8_t *in, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const uint32_t k = kept->rank - 1, r = reduced->rank - 1;
    bool along = reduced->rank > 0 && reduced->a[r] == 1;
    bool across = reduced->rank > 0 && kept->rank > 0 && kept->a[k] == 1 && kept->out[k] == 1 && rescale->step == 0;
    uint32_t offsets = (uint32_t)input_offset;

    if (!along && !across) {
        nuc_ref_sum_s8(kept, reduced, input_offset, rescale, in, out);
        return;
    }
    for (uint32_t d = 0; d < reduced->rank; d++)
        offsets *= (uint32_t)reduced->sizes[d];
    do {
        for (int32_t i = 0; along && i < nuc_row_length(kept); i++) {
            ptrdiff_t from = kept->rank > 0 ? i * kept->a[k] : 0, to = kept->rank > 0 ? i * kept->out[k] : 0;
            int32_t sum = nuc_wrap_add(sum_of_rows(reduced, in + walk.a + from), (int32_t)offsets);
            out[walk.out + to] = nuc_rescaled(rescale, 0, sum);
        }
        if (!along)
            sum_row(reduced, (int32_t)offsets, rescale, in + walk.a, nuc_row_length(kept), out + walk.out);
    } while (nuc_walk_next_row(kept, &walk));
}

/* ---- resizing ---- */

static inline void blend(const struct nuc_blend *b, int32_t channels, void *out)
{
    const nuc_words shift = nuc_vdup_w(-20), low = nuc_vdup_w(INT8_MIN), high = nuc_vdup_w(INT8_MAX);
    const int8_t *p = b->from[0], *q = b->from[1], *r = b->from[2], *s = b->from[3];

    for (int32_t i = 0; i < channels; i += NUC_LANES_W) {
        int32_t some = channels - i;
        nuc_words sum = nuc_vmla_w(nuc_vdup_w(0), nuc_vldr_bw_some(p + i, some), b->weight[0]);
        sum = nuc_vmla_w(sum, nuc_vldr_bw_some(q + i, some), b->weight[1]);
        sum = nuc_vmla_w(sum, nuc_vldr_bw_some(r + i, some), b->weight[2]);
        sum = nuc_vmla_w(sum, nuc_vldr_bw_some(s + i, some), b->weight[3]);
        sum = nuc_vmin_w(nuc_vmax_w(nuc_vshift_right(sum, shift), low), high);
        nuc_vstr_bw_some((int8_t *)out + i, sum, channels - i);
    }
}

void nuc_mve_resize_bilinear_int(const struct nuc_resize_s8 *r, enum nuc_dtype dtype, const void *in, void *out)
{
    if (dtype == NUC_I8)
        nuc_resize_bilinear(r, 1, in, out, blend);
    else
        nuc_ref_resize_bilinear_int(r, dtype, in, out);
}
