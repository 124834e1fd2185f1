/* Sampling of int8 and int16 images at the positions of a grid of integers. */
#include "device/kernels/ref_s8/quantized.h"

/* Fractional bits of the weight of a neighbour; those of four neighbours are products of two. */
#define WEIGHT_BITS 11
#define WHOLE (1 << WEIGHT_BITS)
#define HALF (WHOLE * WHOLE / 2)

/* The weight of the pixel behind a position; half of its last bit is in the starts. */
static inline int32_t weight_of(int64_t at)
{
    return (int32_t)((uint32_t)at >> (NUC_GRID_BITS - WEIGHT_BITS));
}

/* All channels of a position between pixels, `a` to the right and `b` below. Sums of int8 stay below 2^30. */
static __attribute__((noinline)) void blend(const struct nuc_grid *s, int32_t a, int32_t b, bool wide, const void *in,
                                            void *out)
{
    const ptrdiff_t below = s->in_strides[3], right = s->in_strides[4], both = below + right;
    const ptrdiff_t in_step = s->in_strides[1], out_step = s->out_strides[1];
    const int32_t w0 = (WHOLE - b) * (WHOLE - a), w1 = (WHOLE - b) * a, w2 = b * (WHOLE - a), w3 = b * a;
    const int8_t *p = in;
    const int16_t *q = in;
    int8_t *p_out = out;
    int16_t *q_out = out;

    for (int32_t k = s->channels; k > 0 && !wide; k--, p += in_step, p_out += out_step)
        *p_out = (int8_t)((p[0] * w0 + p[right] * w1 + p[below] * w2 + p[both] * w3 + HALF) >> 2 * WEIGHT_BITS);
    for (int32_t k = s->channels; k > 0 && wide; k--, q += in_step, q_out += out_step)
        *q_out = (int16_t)(((int64_t)q[0] * w0 + (int64_t)q[right] * w1 + (int64_t)q[below] * w2 +
                            (int64_t)q[both] * w3 + HALF) >>
                           2 * WEIGHT_BITS);
}

/* Back and forth between `low` and `low + span`. */
static int64_t reflected(int64_t at, int64_t low, int64_t span)
{
    if (span <= 0)
        return 0;
    int64_t rest = (at < low ? low - at : at - low) % (2 * span);
    return low + (rest > span ? 2 * span - rest : rest);
}

/* The pixel that a position is nearest to, half to even, and where a position beyond the image is reflected to. */
static __attribute__((noinline)) int64_t settled(const struct nuc_grid *s, int d, int64_t at)
{
    const int64_t unit = (int64_t)1 << NUC_GRID_BITS, size = s->in_size[d];

    if (s->padding == NUC_GRID_REFLECTION)
        at = s->align_corners ? reflected(at, 0, (size - 1) * unit) : reflected(at, -unit / 2, size * unit);
    if (s->mode == NUC_GRID_NEAREST)
        at = ((at + unit / 2 - 1 + (at >> NUC_GRID_BITS & 1)) >> NUC_GRID_BITS) * unit;
    return at;
}

static inline int64_t clamped(int64_t at, int32_t last)
{
    return at < 0 ? 0 : at >> NUC_GRID_BITS >= last ? (int64_t)last << NUC_GRID_BITS : at;
}

/* What a pixel is above the zero point, nothing where there is none. */
static inline int32_t value_of(const struct nuc_grid_int *g, bool wide, const void *in, ptrdiff_t at, bool there)
{
    return !there ? 0 : (wide ? ((const int16_t *)in)[at] : ((const int8_t *)in)[at]) - g->zero_point;
}

/* At the edge of the image or beyond it. */
static __attribute__((noinline)) void sample_edge(const struct nuc_grid_int *g, int64_t y_at, int64_t x_at, bool wide,
                                                  const void *in, void *out)
{
    const struct nuc_grid *s = &g->sizes;
    const int32_t bottom = s->in_size[1] - 1, last = s->in_size[2] - 1;
    const ptrdiff_t below = s->in_strides[3], right = s->in_strides[4];

    if (s->padding != NUC_GRID_ZEROS) {
        y_at = clamped(y_at, bottom);
        x_at = clamped(x_at, last);
    }
    const int32_t y = nuc_clamp_i32((int32_t)(y_at >> NUC_GRID_BITS), -2, bottom + 1);
    const int32_t x = nuc_clamp_i32((int32_t)(x_at >> NUC_GRID_BITS), -2, last + 1);
    const int32_t a = weight_of(x_at), b = weight_of(y_at);
    const bool above = y >= 0 && y <= bottom, under = y >= -1 && y < bottom, left = x >= 0 && x <= last,
               next = x >= -1 && x < last;
    ptrdiff_t from = y * below + x * right, to = 0;
    for (int32_t k = s->channels; k > 0; k--, from += s->in_strides[1], to += s->out_strides[1]) {
        int32_t first = 0, second = 0;
        if (above)
            first = value_of(g, wide, in, from, left) * (WHOLE - a) + value_of(g, wide, in, from + right, next) * a;
        if (under)
            second = value_of(g, wide, in, from + below, left) * (WHOLE - a) +
                     value_of(g, wide, in, from + below + right, next) * a;
        int32_t q = (int32_t)(((int64_t)first * (WHOLE - b) + (int64_t)second * b + HALF) >> 2 * WEIGHT_BITS);
        if (wide)
            ((int16_t *)out)[to] = (int16_t)q;
        else
            ((int8_t *)out)[to] = (int8_t)(q + g->zero_point);
    }
}

/* The same of one channel of int8 side by side; what is beyond the image weighs the zero point. */
static __attribute__((noinline)) int32_t edge_of_one(const struct nuc_grid_int *g, int64_t y_at, int64_t x_at,
                                                     const int8_t *in)
{
    const int32_t bottom = g->sizes.in_size[1] - 1, last = g->sizes.in_size[2] - 1;
    const int32_t x = (int32_t)(x_at >> NUC_GRID_BITS), y = (int32_t)(y_at >> NUC_GRID_BITS);

    if (g->sizes.padding == NUC_GRID_ZEROS && (x < -1 || x > last || y < -1 || y > bottom))
        return g->zero_point;
    const int32_t left = nuc_clamp_i32(x, 0, last), above = nuc_clamp_i32(y, 0, bottom);
    const int32_t right = x < 0 || x >= last ? left : left + 1, under = y < 0 || y >= bottom ? above : above + 1;
    const int8_t *p = in + above * g->sizes.in_strides[3], *q = in + under * g->sizes.in_strides[3];
    int32_t a = weight_of(x_at), b = weight_of(y_at), w[4] = {WHOLE - a, a, WHOLE - b, b};

    if (g->sizes.padding == NUC_GRID_ZEROS) {
        w[0] = x < 0 ? 0 : w[0];
        w[1] = x >= last ? 0 : w[1];
        w[2] = y < 0 ? 0 : w[2];
        w[3] = y >= bottom ? 0 : w[3];
    }
    const int32_t missing = WHOLE * WHOLE - (w[0] + w[1]) * (w[2] + w[3]);
    return ((p[left] * w[0] + p[right] * w[1]) * w[2] + (q[left] * w[0] + q[right] * w[1]) * w[3] +
            missing * g->zero_point + HALF) >>
           2 * WEIGHT_BITS;
}

/* Coordinates of int8 count 256 times as much. */
static inline int32_t coordinate(bool wide, const void *grid)
{
    return wide ? *(const int16_t *)grid : *(const int8_t *)grid * 256;
}

/* Pixels in a row; steps are bytes. `one`: int8 side by side, one channel, interpolated. */
static inline __attribute__((always_inline)) void sample_row(const struct nuc_grid_int *g, bool wide, bool wide_grid,
                                                             bool one, int32_t count, const int8_t *in,
                                                             const int8_t *grid, int8_t *out)
{
    const struct nuc_grid *s = &g->sizes;
    const uint32_t bottom = (uint32_t)s->in_size[1] - 1, last = (uint32_t)s->in_size[2] - 1;
    const ptrdiff_t below = s->in_strides[3] << wide, right = (one ? 1 : s->in_strides[4]) << wide;
    const ptrdiff_t y_from = (one ? 1 : s->grid_strides[4]) << wide_grid;
    const ptrdiff_t grid_step = s->grid_strides[3] << wide_grid, out_step = s->out_strides[4] << wide;
    const int64_t x_start = g->start[2], y_start = g->start[1];
    const int32_t x_step = g->step[2], y_step = g->step[1];
    const bool plain = one || (s->mode == NUC_GRID_BILINEAR && s->padding != NUC_GRID_REFLECTION);

    for (; count > 0; count--, grid += grid_step, out += out_step) {
        int64_t x_at = (int64_t)coordinate(wide_grid, grid) * x_step + x_start;
        int64_t y_at = (int64_t)coordinate(wide_grid, grid + y_from) * y_step + y_start;
        if (!plain) {
            x_at = settled(s, 2, x_at);
            y_at = settled(s, 1, y_at);
        }
        const int32_t x = (int32_t)(x_at >> NUC_GRID_BITS), y = (int32_t)(y_at >> NUC_GRID_BITS);
        const int32_t a = weight_of(x_at), b = weight_of(y_at);
        if ((uint32_t)x >= last || (uint32_t)y >= bottom) {
            if (one)
                *out = (int8_t)edge_of_one(g, y_at, x_at, in);
            else
                sample_edge(g, y_at, x_at, wide, in, out);
        } else if (one) {
            const int8_t *p = in + y * below + x, *q = p + below;
            const int32_t above = p[0] * WHOLE + (p[1] - p[0]) * a, under = q[0] * WHOLE + (q[1] - q[0]) * a;
            *out = (int8_t)((above * WHOLE + (under - above) * b + HALF) >> 2 * WEIGHT_BITS);
        } else {
            blend(s, a, b, wide, in + y * below + x * right, out);
        }
    }
}

void nuc_kernel_grid_sample_int(const struct nuc_grid_int *g, enum nuc_dtype dtype, enum nuc_dtype grid_dtype,
                                const void *in, const void *grid, void *out)
{
    const struct nuc_grid *s = &g->sizes;
    const bool wide = dtype == NUC_I16, wide_grid = grid_dtype == NUC_I16;
    const bool one = !wide && s->channels == 1 && s->in_strides[4] == 1 && s->grid_strides[4] == 1 &&
                     s->mode == NUC_GRID_BILINEAR && s->padding != NUC_GRID_REFLECTION;
    const bool dense = s->grid_strides[2] == s->grid_strides[3] * s->out_size[2] &&
                       s->out_strides[3] == s->out_strides[4] * s->out_size[2];
    const int32_t rows = dense ? 1 : s->out_size[1], count = dense ? s->out_size[1] * s->out_size[2] : s->out_size[2];

    for (int32_t n = 0; n < s->batch; n++) {
        const int8_t *from = (const int8_t *)in + (n * s->in_strides[0] << wide);
        for (int32_t i = 0; i < rows; i++) {
            const int8_t *at = (const int8_t *)grid + ((n * s->grid_strides[0] + i * s->grid_strides[2]) << wide_grid);
            int8_t *to = (int8_t *)out + ((n * s->out_strides[0] + i * s->out_strides[3]) << wide);
            if (!one)
                sample_row(g, wide, wide_grid, false, count, from, at, to);
            else if (wide_grid)
                sample_row(g, false, true, true, count, from, at, to);
            else
                sample_row(g, false, false, true, count, from, at, to);
        }
    }
}
