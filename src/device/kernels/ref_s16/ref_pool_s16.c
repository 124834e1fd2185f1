/* Pooling and sums of int16. */
#include "device/kernels/dsp/packed.h"
#include "device/kernels/ref_s16/quantized_s16.h"

/* A window outside of the image has the mean 0; halves are rounded away from it. */
static int32_t mean_of(int64_t sum, int64_t count)
{
    const int64_t most = UINT16_MAX; /* values whose sum has 32 bits */

    sum += sum > 0 ? count / 2 : -(count / 2);
    if (count == 0)
        return 0;
    return count < most ? (int32_t)sum / (int32_t)count : (int32_t)(sum / count);
}

/* Of a channel, and of four together of at most 2^16 places each. */
static int64_t sum_in(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int16_t *image)
{
    int64_t sum = 0;

    for (int32_t y = part->first[0]; y < part->last[0]; y++) {
        for (int32_t x = part->first[1]; x < part->last[1]; x++)
            sum += image[((ptrdiff_t)y * p->in_size[1] + x) * p->channels];
    }
    return sum;
}

static void sums_in(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int16_t *image,
                    int32_t sums[4])
{
    int32_t a = 0, b = 0, c = 0, d = 0;
    const int32_t step = p->channels;

    for (int32_t y = part->first[0]; y < part->last[0]; y++) {
        const int16_t *at = image + ((ptrdiff_t)y * p->in_size[1] + part->first[1]) * step;
        for (int32_t x = part->first[1]; x < part->last[1]; x++, at += step) {
            a += at[0];
            b += at[1];
            c += at[2];
            d += at[3];
        }
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
}

static void average(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int16_t *image, int16_t *out)
{
    int32_t rows = part->last[0] - part->first[0], columns = part->last[1] - part->first[1], c = 0;
    const int64_t count = rows > 0 && columns > 0 ? (int64_t)rows * columns : 0;

    for (; c + 4 <= p->channels && count < UINT16_MAX; c += 4) {
        int32_t sums[4];
        sums_in(p, part, image + c, sums);
        for (int32_t k = 0; k < 4; k++)
            out[c + k] = (int16_t)nuc_clamp_i32(mean_of(sums[k], count), p->low, p->high);
    }
    for (; c < p->channels; c++)
        out[c] = (int16_t)nuc_clamp_i32(mean_of(sum_in(p, part, image + c), count), p->low, p->high);
}

/* The same of a window between whose places others lie. */
static struct nuc_pool_part dilated_part_of(const struct nuc_pool_s8 *p, int32_t y, int32_t x)
{
    const int32_t at[2] = {y, x};
    struct nuc_pool_part part;

    for (int d = 0; d < 2; d++) {
        int32_t begin = at[d] * p->stride[d] - p->padding[d], end = begin + (p->kernel[d] - 1) * p->dilation[d] + 1;
        part.first[d] = begin >= 0 ? begin : begin + (p->dilation[d] - 1 - begin) / p->dilation[d] * p->dilation[d];
        part.last[d] = end < p->in_size[d] ? end : p->in_size[d];
    }
    return part;
}

/* Of four channels, or of one. */
static void largest_of_four(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int16_t *image,
                            int16_t out[4])
{
    const ptrdiff_t down = (ptrdiff_t)p->in_size[1] * p->channels * p->dilation[0];
    const ptrdiff_t right = (ptrdiff_t)p->channels * p->dilation[1];
    const int16_t *row = image + ((ptrdiff_t)part->first[0] * p->in_size[1] + part->first[1]) * p->channels;
    uint32_t found[2] = {nuc_twice(p->low), nuc_twice(p->low)};

    for (int32_t y = part->first[0]; y < part->last[0]; y += p->dilation[0], row += down) {
        const int16_t *at = row;
        for (int32_t x = part->first[1]; x < part->last[1]; x += p->dilation[1], at += right) {
            found[0] = nuc_max_halves(found[0], nuc_load_word((const int8_t *)at));
            found[1] = nuc_max_halves(found[1], nuc_load_word((const int8_t *)(at + 2)));
        }
    }
    for (int k = 0; k < 4; k++) {
        int16_t v = (int16_t)(found[k / 2] >> (k % 2 * 16));
        out[k] = v < p->high ? v : (int16_t)p->high;
    }
}

static int16_t largest_of_one(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int16_t *image)
{
    int32_t found = p->low;

    for (int32_t y = part->first[0]; y < part->last[0]; y += p->dilation[0]) {
        const int16_t *row = image + (ptrdiff_t)y * p->in_size[1] * p->channels;
        for (int32_t x = part->first[1]; x < part->last[1]; x += p->dilation[1]) {
            int32_t v = row[(ptrdiff_t)x * p->channels];
            found = v > found ? v : found;
        }
    }
    return (int16_t)(found < p->high ? found : p->high);
}

static void largest(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int16_t *image, int16_t *out)
{
    int32_t c = 0;

    for (; c + 4 <= p->channels; c += 4)
        largest_of_four(p, part, image + c, out + c);
    if (c < p->channels && c > 0) /* some of them once more */
        largest_of_four(p, part, image + p->channels - 4, out + p->channels - 4);
    for (; c < p->channels && p->channels < 4; c++)
        out[c] = largest_of_one(p, part, image + c);
}

/* All channels of a window. */
typedef void pool_fn(const struct nuc_pool_s8 *p, const struct nuc_pool_part *part, const int16_t *image, int16_t *out);
typedef struct nuc_pool_part part_fn(const struct nuc_pool_s8 *p, int32_t y, int32_t x);

static void each_window(const struct nuc_pool_s8 *p, part_fn *part_of, pool_fn *pool, const int16_t *in, int16_t *out)
{
    ptrdiff_t image = (ptrdiff_t)p->in_size[0] * p->in_size[1] * p->channels;

    for (int32_t b = 0; b < p->batch; b++, in += image) {
        for (int32_t y = 0; y < p->out_size[0]; y++) {
            for (int32_t x = 0; x < p->out_size[1]; x++, out += p->channels) {
                const struct nuc_pool_part part = part_of(p, y, x);
                pool(p, &part, in, out);
            }
        }
    }
}

void nuc_kernel_max_pool_s16(const struct nuc_pool_s8 *p, const int16_t *in, int16_t *out)
{
    each_window(p, dilated_part_of, largest, in, out);
}

void nuc_kernel_avg_pool_s16(const struct nuc_pool_s8 *p, const int16_t *in, int16_t *out)
{
    each_window(p, nuc_pool_part_of, average, in, out);
}

static int32_t sum_of(const struct nuc_loops *reduced, const int16_t *in)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(reduced);
    int32_t sum = 0;

    do {
        for (int32_t i = 0; i < nuc_row_length(reduced); i++)
            sum = nuc_wrap_add(sum, in[walk.a + i * steps.a]);
    } while (nuc_walk_next_row(reduced, &walk));
    return sum;
}

void nuc_kernel_sum_s16(const struct nuc_loops *kept, const struct nuc_loops *reduced, struct nuc_multiplier m,
                        const int16_t *in, int16_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};

    do {
        int32_t sum = sum_of(reduced, in + walk.a);
        out[walk.out] = (int16_t)nuc_clamp_i32(nuc_requantize(sum, m), INT16_MIN, INT16_MAX);
    } while (nuc_walk_next(kept, &walk));
}
