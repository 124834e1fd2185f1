/* Between which pixels those of a resized image lie: of kernels for different instructions, which blend them. */
#ifndef NUC_DEVICE_KERNELS_REF_S8_RESIZE_H
#define NUC_DEVICE_KERNELS_REF_S8_RESIZE_H

#include "device/kernels/ref_s8/quantized.h"

#define NUC_RESIZE_UNIT 1024

/* The two rows or columns an output position lies between, and the second one's weight in 1/1024. */
struct nuc_between {
    int32_t low, high, weight;
};

/* Of numbers from 0 on: one instruction where they have 32 bits, as mostly. */
static inline int64_t nuc_quotient(int64_t a, int64_t b)
{
    return a <= UINT32_MAX && b <= UINT32_MAX ? (int64_t)((uint32_t)a / (uint32_t)b) : a / b;
}

/* Each position is rounded by itself: with a rounded scale, as in LiteRT, errors would grow along the axis. */
static inline struct nuc_between nuc_between(const struct nuc_resize_s8 *r, int axis, int32_t at)
{
    const int64_t unit = NUC_RESIZE_UNIT;
    int64_t in = r->in_size[axis], out = r->out_size[axis], last = in - 1, position;

    if (r->align_corners && out > 1)
        position = nuc_quotient(2 * unit * at * (in - 1) + (out - 1), 2 * (out - 1));
    else if (r->align_corners)
        position = 0;
    else
        position = nuc_quotient((2 * (int64_t)at + 1) * in * unit + out, 2 * out) - unit / 2;
    int64_t low = position > 0 ? position / unit : 0;
    int64_t high = position > 0 ? (position + unit - 1) / unit : 0;
    low = low < last ? low : last;
    high = high < last ? high : last;
    return (struct nuc_between){(int32_t)low, (int32_t)high, (int32_t)(position - low * unit)};
}

/*
 * Four pixels and what each counts, of NUC_RESIZE_UNIT squared. In front of the first position and behind the last one,
 * where weights are not within 0 and the unit, both neighbours are the same: the sum of int8 stays below 2^29. It is
 * rounded half away from zero.
 */
struct nuc_blend {
    const void *from[4];
    int32_t weight[4];
};

/* All channels of a pixel. */
typedef void nuc_blend_fn(const struct nuc_blend *b, int32_t channels, void *out);

static inline __attribute__((always_inline)) void
nuc_resize_bilinear(const struct nuc_resize_s8 *r, ptrdiff_t size, const uint8_t *in, uint8_t *out, nuc_blend_fn *blend)
{
    const ptrdiff_t pixel = r->channels * size, row = r->in_size[1] * pixel;
    const int32_t unit = NUC_RESIZE_UNIT;

    for (int32_t n = 0; n < r->batch; n++, in += r->in_size[0] * row) {
        for (int32_t oy = 0; oy < r->out_size[0]; oy++) {
            struct nuc_between y = nuc_between(r, 0, oy);
            const uint8_t *top = in + y.low * row, *bottom = in + y.high * row;
            for (int32_t ox = 0; ox < r->out_size[1]; ox++, out += pixel) {
                struct nuc_between x = nuc_between(r, 1, ox);
                const struct nuc_blend b = {
                    {top + x.low * pixel, top + x.high * pixel, bottom + x.low * pixel, bottom + x.high * pixel},
                    {(unit - x.weight) * (unit - y.weight), x.weight * (unit - y.weight), (unit - x.weight) * y.weight,
                     x.weight * y.weight}};
                blend(&b, r->channels, out);
            }
        }
    }
}

#endif
