/* Pooling and addition, four channels or elements at a time. */
#include "kernels/dsp/dsp.h"
#include "kernels/dsp/rescale.h"

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
    if (p->low == INT8_MIN && p->high == INT8_MAX) {
        nuc_store_word(out, largest);
        return;
    }
    for (int k = 0; k < 4; k++)
        out[k] = (int8_t)nuc_clamp_i32((int8_t)(largest >> (8 * k)), p->low, p->high);
}

/* Half away from zero. */
static int8_t divided(const struct nuc_pool_s8 *p, int32_t sum, int32_t count)
{
    int32_t half = sum > 0 ? count / 2 : -(count / 2);

    return (int8_t)nuc_clamp_i32((sum + half) / count, p->low, p->high);
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
    out[0] = divided(p, (int16_t)even, count);
    out[1] = divided(p, (int16_t)odd, count);
    out[2] = divided(p, (int16_t)(even >> 16), count);
    out[3] = divided(p, (int16_t)(odd >> 16), count);
}

typedef void (*pool_fn)(const struct nuc_pool_s8 *p, const struct part *part, int32_t c, int8_t *out);

static void each_window(const struct nuc_pool_s8 *p, pool_fn pool, const int8_t *in, int8_t *out)
{
    ptrdiff_t image = (ptrdiff_t)p->in_size[0] * p->in_size[1] * p->channels;

    for (int32_t b = 0; b < p->batch; b++, in += image) {
        for (int32_t y = 0; y < p->out_size[0]; y++) {
            for (int32_t x = 0; x < p->out_size[1]; x++, out += p->channels) {
                struct part part = part_of(p, in, y, x);
                for (int32_t c = 0; c < p->channels; c += 4)
                    pool(p, &part, c, out + c);
            }
        }
    }
}

void nuc_dsp_max_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    if (p->channels % 4 == 0)
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
    if (p->channels % 4 == 0 && p->kernel[0] < 256 && p->kernel[0] * p->kernel[1] < 256 && never_empty(p))
        each_window(p, average_4, in, out);
    else
        nuc_ref_avg_pool_s8(p, in, out);
}

/* ---- addition ---- */

struct add_scales {
    struct nuc_scale a, b; /* shift 0: a scale of one half and above, as the input of the larger one has it */
    struct nuc_scale sum;
};

/* An element less its zero point, times 2^20 and the scale. */
static inline int32_t input_of(int32_t v, const struct nuc_scale *s)
{
    int32_t high = nuc_smmulr((int32_t)((uint32_t)v << 21), s->multiplier);

    return s->shift == 0 ? high : nuc_asr_round((int32_t)((uint32_t)high + (uint32_t)(high >> 31)), s->shift, 0);
}

static void add_row(const struct nuc_add_s8 *p, const struct add_scales *scales, const int8_t *a, const int8_t *b,
                    int32_t count, int8_t *out)
{
    const struct add_scales s = *scales;
    struct nuc_bounds bounds = nuc_bounds_of(p->low, p->high);
    int32_t offset_a = p->offset_a;
    int32_t offset_b = p->offset_b;
    int32_t offset = p->offset;

    for (int32_t i = 0; i < count; i++) {
        int32_t sum = input_of(a[i] + offset_a, &s.a) + input_of(b[i] + offset_b, &s.b);
        out[i] = (int8_t)nuc_bounded(&bounds, nuc_scaled(sum, s.sum, offset));
    }
}

/* Sums of two inputs stay below 2^30 when neither scale exceeds one: 2 * 255 * 2^20. */
static bool add_scales(const struct nuc_add_s8 *p, struct add_scales *s)
{
    if (p->a.shift > 0 || p->b.shift > 0 || p->sum.shift >= 0)
        return false;
    s->a = (struct nuc_scale){p->a.multiplier, -p->a.shift};
    s->b = (struct nuc_scale){p->b.multiplier, -p->b.shift};
    s->sum = nuc_scale_of(p->sum.multiplier, p->sum.shift);
    return true;
}

void nuc_dsp_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank - 1;
    struct add_scales s;

    if (loops->rank == 0 || loops->a[last] != 1 || loops->b[last] != 1 || loops->out[last] != 1 || !add_scales(p, &s)) {
        nuc_ref_add_s8(p, loops, a, b, out);
        return;
    }
    do {
        add_row(p, &s, a + walk.a, b + walk.b, loops->sizes[last], out + walk.out);
    } while (nuc_walk_next_row(loops, &walk));
}
