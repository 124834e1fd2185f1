/* Pooling, sums and resizing in int8. */
#include "device/kernels/dsp/packed.h"
#include "device/kernels/ref_s8/resize.h"

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

static int32_t sum_of_row(int32_t sum, int32_t offset, const int8_t *in, int32_t count, ptrdiff_t step)
{
    for (; count > 0; count--, in += step)
        sum = nuc_wrap_add(sum, *in + offset);
    return sum;
}

/* A single row, of which there may be many, is not walked. */
static int32_t sum_of(const struct nuc_loops *reduced, int32_t offset, const int8_t *in)
{
    const ptrdiff_t step = nuc_row_steps(reduced).a;
    const int32_t row = nuc_row_length(reduced);
    int32_t sum = sum_of_row(0, offset, in, row, step);

    if (reduced->rank > 1) {
        for (struct nuc_walk walk = {{0}, 0, 0, 0}; nuc_walk_next_row(reduced, &walk);)
            sum = sum_of_row(sum, offset, in + walk.a, row, step);
    }
    return sum;
}

void nuc_ref_sum_s8(const struct nuc_loops *kept, const struct nuc_loops *reduced, int32_t input_offset,
                    const struct nuc_rescale *rescale, const int8_t *in, int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do
        out[walk.out] = nuc_rescaled(rescale, 0, sum_of(reduced, input_offset, in + walk.a));
    while (nuc_walk_next(kept, &walk));
}

/* ---- resizing ---- */

static inline void blend_s8(const struct nuc_blend *p, int32_t channels, void *out)
{
    const int32_t half = NUC_RESIZE_UNIT * NUC_RESIZE_UNIT / 2;
    const int8_t *a = p->from[0], *b = p->from[1], *c = p->from[2], *d = p->from[3];

    for (int32_t i = 0; i < channels; i++) {
        int32_t sum = a[i] * p->weight[0] + b[i] * p->weight[1] + c[i] * p->weight[2] + d[i] * p->weight[3];
        ((int8_t *)out)[i] = nuc_saturate_i8((sum + (sum > 0 ? half : -half)) / (2 * half));
    }
}

static inline void blend_s16(const struct nuc_blend *p, int32_t channels, void *out)
{
    const int32_t half = NUC_RESIZE_UNIT * NUC_RESIZE_UNIT / 2;
    const int16_t *a = p->from[0], *b = p->from[1], *c = p->from[2], *d = p->from[3];

    for (int32_t i = 0; i < channels; i++) {
        int64_t sum = (int64_t)a[i] * p->weight[0] + (int64_t)b[i] * p->weight[1] + (int64_t)c[i] * p->weight[2] +
                      (int64_t)d[i] * p->weight[3];
        int32_t value = (int32_t)((sum + (sum > 0 ? half : -half)) / (2 * half));
        ((int16_t *)out)[i] = (int16_t)nuc_clamp_i32(value, INT16_MIN, INT16_MAX);
    }
}

void nuc_ref_resize_bilinear_int(const struct nuc_resize_s8 *r, enum nuc_dtype dtype, const void *in, void *out)
{
    if (dtype == NUC_I8)
        nuc_resize_bilinear(r, 1, in, out, blend_s8);
    else
        nuc_resize_bilinear(r, 2, in, out, blend_s16);
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
                const int8_t *end = pixel + r->channels;
                for (; end - pixel >= 4; pixel += 4, out += 4)
                    nuc_store_word(out, nuc_load_word(pixel));
                while (pixel != end)
                    *out++ = *pixel++;
            }
        }
    }
}
