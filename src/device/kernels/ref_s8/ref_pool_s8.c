/* Pooling, sums and resizing in int8. */
#include "device/kernels/ref_s8/quantized.h"

static int8_t maximum(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int8_t *image)
{
    int32_t largest = p->low;

    for (int32_t y = part->first[0]; y < part->last[0]; y++) {
        for (int32_t x = part->first[1]; x < part->last[1]; x++) {
            int8_t v = image[((ptrdiff_t)y * p->in_size[1] + x) * p->channels];
            largest = v > largest ? v : largest;
        }
    }
    return (int8_t)(largest < p->high ? largest : p->high);
}

static int32_t sum_in(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int8_t *image,
                      int32_t *count)
{
    int32_t sum = 0;

    *count = 0;
    for (int32_t y = part->first[0]; y < part->last[0]; y++) {
        for (int32_t x = part->first[1]; x < part->last[1]; x++, ++*count)
            sum += image[((ptrdiff_t)y * p->in_size[1] + x) * p->channels];
    }
    return sum;
}

static int8_t upward_average(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int8_t *image)
{
    int32_t count, sum = sum_in(p, part, image, &count);

    if (count == 0)
        return (int8_t)nuc_clamp_i32(0, p->low, p->high);
    /* From the least value on, so that the division drops parts downwards. */
    return (int8_t)nuc_clamp_i32((sum - INT8_MIN * count + count / 2) / count + INT8_MIN, p->low, p->high);
}

static int8_t average(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int8_t *image)
{
    int32_t count, sum = sum_in(p, part, image, &count);

    if (count == 0)
        return (int8_t)nuc_clamp_i32(0, p->low, p->high);
    int32_t half = sum > 0 ? count / 2 : -(count / 2);
    return (int8_t)nuc_clamp_i32((sum + half) / count, p->low, p->high);
}

typedef int8_t (*pool_fn)(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int8_t *image);

static void each_window(const struct nuc_pool_s8 *p, pool_fn pool, const int8_t *in, int8_t *out)
{
    ptrdiff_t image = (ptrdiff_t)p->in_size[0] * p->in_size[1] * p->channels;

    for (int32_t b = 0; b < p->batch; b++, in += image) {
        for (int32_t y = 0; y < p->out_size[0]; y++) {
            for (int32_t x = 0; x < p->out_size[1]; x++) {
                struct nuc_pool_part part = nuc_pool_part_of(p, y, x);
                for (int32_t c = 0; c < p->channels; c++)
                    *out++ = pool(p, &part, in + c);
            }
        }
    }
}

void nuc_ref_max_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    each_window(p, maximum, in, out);
}

void nuc_ref_avg_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    each_window(p, average, in, out);
}

void nuc_kernel_upward_avg_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    each_window(p, upward_average, in, out);
}

static int32_t sum_of(const struct nuc_loops *reduced, int32_t offset, const int8_t *in)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    ptrdiff_t step = reduced->rank == 0 ? 0 : reduced->a[reduced->rank - 1];
    int32_t row = nuc_row_length(reduced);
    int32_t sum = 0;

    do {
        for (int32_t i = 0; i < row; i++)
            sum = nuc_wrap_add(sum, in[walk.a + i * step] + offset);
    } while (nuc_walk_next_row(reduced, &walk));
    return sum;
}

void nuc_kernel_sum_s8(const struct nuc_loops *kept, const struct nuc_loops *reduced, int32_t input_offset,
                       const struct nuc_rescale *rescale, const int8_t *in, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    ptrdiff_t in_step = kept->rank == 0 ? 0 : kept->a[kept->rank - 1];
    ptrdiff_t out_step = kept->rank == 0 ? 0 : kept->out[kept->rank - 1];

    do {
        for (int32_t i = 0; i < nuc_row_length(kept); i++)
            out[walk.out + i * out_step] =
                nuc_rescaled(rescale, 0, sum_of(reduced, input_offset, in + walk.a + i * in_step));
    } while (nuc_walk_next_row(kept, &walk));
}

/* ---- resizing ---- */

#define UNIT ((int64_t)1024)

/* The two rows or columns an output position lies between, and the second one's weight in 1/1024. */
struct between {
    int32_t low, high, weight;
};

/* Of numbers from 0 on: one instruction where they have 32 bits, as mostly. */
static int64_t quotient(int64_t a, int64_t b)
{
    return a <= UINT32_MAX && b <= UINT32_MAX ? (int64_t)((uint32_t)a / (uint32_t)b) : a / b;
}

/* Each position is rounded by itself: with a rounded scale, as in LiteRT, errors would grow along the axis. */
static struct between between(const struct nuc_resize_s8 *r, int axis, int32_t at)
{
    int64_t in = r->in_size[axis], out = r->out_size[axis], last = in - 1, position;

    if (r->align_corners && out > 1)
        position = quotient(2 * UNIT * at * (in - 1) + (out - 1), 2 * (out - 1));
    else if (r->align_corners)
        position = 0;
    else
        position = quotient((2 * (int64_t)at + 1) * in * UNIT + out, 2 * out) - UNIT / 2;
    int64_t low = position > 0 ? position / UNIT : 0;
    int64_t high = position > 0 ? (position + UNIT - 1) / UNIT : 0;
    low = low < last ? low : last;
    high = high < last ? high : last;
    return (struct between){(int32_t)low, (int32_t)high, (int32_t)(position - low * UNIT)};
}

/*
 * All channels of an output pixel, between the rows that begin at `top` and `bottom`. In front of the first position
 * and behind the last one, where weights are not within 0 and UNIT, both neighbours are the same: the sum of int8 stays
 * below 2^29.
 */
static inline __attribute__((always_inline)) void blend(enum nuc_dtype dtype, const void *in, ptrdiff_t top,
                                                        ptrdiff_t bottom, const struct between *x, int32_t weight,
                                                        int32_t channels, void *out, ptrdiff_t to)
{
    const int32_t unit = (int32_t)UNIT, half = unit * unit / 2;
    const ptrdiff_t low = (ptrdiff_t)x->low * channels, high = (ptrdiff_t)x->high * channels;
    const int8_t *a = (const int8_t *)in + top + low, *b = (const int8_t *)in + top + high;
    const int8_t *c = (const int8_t *)in + bottom + low, *d = (const int8_t *)in + bottom + high;
    int32_t of_a = (unit - x->weight) * (unit - weight), of_b = x->weight * (unit - weight);
    int32_t of_c = (unit - x->weight) * weight, of_d = x->weight * weight;

    for (int32_t i = 0; dtype == NUC_I8 && i < channels; i++) {
        int32_t sum = a[i] * of_a + b[i] * of_b + c[i] * of_c + d[i] * of_d;
        ((int8_t *)out)[to + i] = nuc_saturate_i8((sum + (sum > 0 ? half : -half)) / (unit * unit));
    }
    for (int32_t i = 0; dtype == NUC_I16 && i < channels; i++) {
        const int16_t *from = (const int16_t *)in + i;
        int64_t sum = (int64_t)from[top + low] * of_a + (int64_t)from[top + high] * of_b +
                      (int64_t)from[bottom + low] * of_c + (int64_t)from[bottom + high] * of_d;
        int32_t value = (int32_t)((sum + (sum > 0 ? half : -half)) / (unit * unit));
        ((int16_t *)out)[to + i] = (int16_t)nuc_clamp_i32(value, INT16_MIN, INT16_MAX);
    }
}

static inline __attribute__((always_inline)) void resize_bilinear(const struct nuc_resize_s8 *r, enum nuc_dtype dtype,
                                                                  const void *in, void *out)
{
    ptrdiff_t row = (ptrdiff_t)r->in_size[1] * r->channels, to = 0;

    for (int32_t b = 0; b < r->batch; b++) {
        for (int32_t oy = 0; oy < r->out_size[0]; oy++) {
            struct between y = between(r, 0, oy);
            ptrdiff_t first = (ptrdiff_t)b * r->in_size[0], top = (first + y.low) * row;
            for (int32_t ox = 0; ox < r->out_size[1]; ox++, to += r->channels) {
                struct between x = between(r, 1, ox);
                blend(dtype, in, top, (first + y.high) * row, &x, y.weight, r->channels, out, to);
            }
        }
    }
}

void nuc_kernel_resize_bilinear_int(const struct nuc_resize_s8 *r, enum nuc_dtype dtype, const void *in, void *out)
{
    if (dtype == NUC_I8)
        resize_bilinear(r, NUC_I8, in, out);
    else
        resize_bilinear(r, NUC_I16, in, out);
}

void nuc_kernel_resize_nearest_s8(const struct nuc_resize_s8 *r, const int8_t *in, int8_t *out)
{
    ptrdiff_t row = (ptrdiff_t)r->in_size[1] * r->channels;

    for (int32_t b = 0; b < r->batch; b++, in += row * r->in_size[0]) {
        for (int32_t oy = 0; oy < r->out_size[0]; oy++) {
            int32_t y = (int32_t)((int64_t)oy * r->in_size[0] / r->out_size[0]);
            for (int32_t ox = 0; ox < r->out_size[1]; ox++) {
                int32_t x = (int32_t)((int64_t)ox * r->in_size[1] / r->out_size[1]);
                const int8_t *pixel = in + y * row + (ptrdiff_t)x * r->channels;
                for (int32_t c = 0; c < r->channels; c++)
                    *out++ = pixel[c];
            }
        }
    }
}
