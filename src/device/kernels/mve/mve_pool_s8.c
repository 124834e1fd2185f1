/* Pooling: sixteen channels at a time, averages of four. */
#include "device/kernels/mve/mve.h"
#include "device/kernels/mve/rescale.h"

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
