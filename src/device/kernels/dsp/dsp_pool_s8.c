/* Pooling, four channels at a time: the first four may repeat some. */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/fused_scale.h"

/* The part of a window inside the image. */
struct part {
    const int8_t *first;
    int32_t rows, columns;
};

static struct part part_of(const struct nuc_pool_s8 *p, const int8_t *image, int32_t y, int32_t x)
{
    const int32_t at[2] = {y, x};
    int32_t begin[2];
    int32_t size[2];

    for (int d = 0; d < 2; d++) {
        int32_t end = at[d] * p->stride[d] - p->padding[d] + p->kernel[d];
        begin[d] = end > p->kernel[d] ? end - p->kernel[d] : 0;
        end = end < p->in_size[d] ? end : p->in_size[d];
        size[d] = end > begin[d] ? end - begin[d] : 0;
    }
    return (struct part){image + ((ptrdiff_t)begin[0] * p->in_size[1] + begin[1]) * p->channels, size[0], size[1]};
}

static void max_4(const struct nuc_pool_s8 *p, const struct part *part, int32_t c, int8_t *out)
{
    uint32_t largest = 0x80808080;

    for (int32_t y = 0; y < part->rows; y++) {
        const int8_t *at = part->first + (ptrdiff_t)y * p->in_size[1] * p->channels + c;
        for (int32_t x = 0; x < part->columns; x++, at += p->channels)
            largest = nuc_max_bytes(largest, nuc_load_word(at));
    }
    nuc_store_word(out, largest);
}

/* Half away from zero. */
static inline int32_t divided(int32_t sum, int32_t count)
{
    int32_t sign = sum >> 31;

    return (sum + ((count / 2) ^ sign) - sign) / count;
}

/* 16 bits hold the sum of the at most 255 elements. */
static void average_4(const struct nuc_pool_s8 *p, const struct part *part, int32_t c, int8_t *out)
{
    uint32_t even = 0;
    uint32_t odd = 0;

    for (int32_t y = 0; y < part->rows; y++) {
        const int8_t *at = part->first + (ptrdiff_t)y * p->in_size[1] * p->channels + c;
        for (int32_t x = 0; x < part->columns; x++, at += p->channels) {
            uint32_t word = nuc_load_word(at);
            even = nuc_sxtab16(even, word);
            odd = nuc_sxtab16_odd(odd, word);
        }
    }
    int32_t count = part->rows * part->columns;
    out[0] = (int8_t)divided((int16_t)even, count);
    out[1] = (int8_t)divided((int16_t)odd, count);
    out[2] = (int8_t)divided((int32_t)even >> 16, count);
    out[3] = (int8_t)divided((int32_t)odd >> 16, count);
}

typedef void (*pool_fn)(const struct nuc_pool_s8 *p, const struct part *part, int32_t c, int8_t *out);

static void each_window(const struct nuc_pool_s8 *p, pool_fn pool, const int8_t *in, int8_t *out)
{
    ptrdiff_t image = (ptrdiff_t)p->in_size[0] * p->in_size[1] * p->channels;
    int8_t *first = out;

    for (int32_t b = 0; b < p->batch; b++, in += image) {
        for (int32_t y = 0; y < p->out_size[0]; y++) {
            for (int32_t x = 0; x < p->out_size[1]; x++, out += p->channels) {
                struct part part = part_of(p, in, y, x);
                for (int32_t c = p->channels - 4; c > 0; c -= 4)
                    pool(p, &part, c, out + c);
                pool(p, &part, 0, out);
            }
        }
    }
    nuc_dsp_clamp(p->low, p->high, first, out - first);
}

void nuc_dsp_max_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    if (p->channels >= 4)
        each_window(p, max_4, in, out);
    else
        nuc_ref_max_pool_s8(p, in, out);
}

/* Every window has elements: no padding as large as the kernel. */
static bool never_empty(const struct nuc_pool_s8 *p)
{
    for (int d = 0; d < 2; d++) {
        if (p->padding[d] >= p->kernel[d] || (p->out_size[d] - 1) * p->stride[d] - p->padding[d] >= p->in_size[d])
            return false;
    }
    return true;
}

void nuc_dsp_avg_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    if (p->channels >= 4 && p->kernel[0] < 256 && p->kernel[0] * p->kernel[1] < 256 && never_empty(p))
        each_window(p, average_4, in, out);
    else
        nuc_ref_avg_pool_s8(p, in, out);
}
