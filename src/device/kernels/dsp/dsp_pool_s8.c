/* Pooling and addition, four channels or elements at a time. */
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

#define LEAST_FOR_TABLES 64 /* elements */

/*
 * Twice what each value of an input adds to a sum, below 2^29: an input of at most 383 * 2^20 by at most one half. The
 * input with the larger scale has one half exactly. False for other scales that are not rescaled in one step.
 */
static bool fill_table(int32_t offset, struct nuc_multiplier m, int32_t table[256])
{
    bool half = m.multiplier == 1 << 30 && m.shift == 0;
    struct nuc_fused f;

    if (!half && !nuc_fused_of(m.multiplier, m.shift, 0, &f))
        return false;
    for (int32_t i = 0; i < 256; i++) {
        int32_t v = ((int8_t)i + offset) * (1 << 20);
        table[i] = half ? v : 2 * nuc_fused_twice(2 * v, &f);
    }
    return true;
}

struct add_tables {
    int32_t a[256], b[256];
    struct nuc_fused sum;
};

static void add_row(const struct add_tables *t, const int8_t *a, const int8_t *b, int32_t count, int8_t *out)
{
    const struct nuc_fused f = t->sum;

    for (const int8_t *end = a + count; a < end; a++, b++, out++)
        *out = (int8_t)nuc_ssat8(nuc_fused_twice(t->a[(uint8_t)*a] + t->b[(uint8_t)*b], &f));
}

static bool is_dense(const struct nuc_loops *loops)
{
    uint32_t last = loops->rank - 1;

    return loops->rank > 0 && loops->a[last] == 1 && loops->b[last] == 1 && loops->out[last] == 1;
}

static int32_t elements_of(const struct nuc_loops *loops)
{
    int32_t count = 1;

    for (uint32_t d = 0; d < loops->rank && count < LEAST_FOR_TABLES; d++)
        count *= loops->sizes[d];
    return count;
}

void nuc_dsp_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    struct add_tables t;

    if (!is_dense(loops) || elements_of(loops) < LEAST_FOR_TABLES ||
        !nuc_fused_of(p->sum.multiplier, p->sum.shift, p->offset, &t.sum) || !fill_table(p->offset_a, p->a, t.a) ||
        !fill_table(p->offset_b, p->b, t.b)) {
        nuc_ref_add_s8(p, loops, a, b, out);
        return;
    }
    int32_t count = loops->sizes[loops->rank - 1];
    do {
        int8_t *to = out + walk.out;
        add_row(&t, a + walk.a, b + walk.b, count, to);
        for (int32_t i = 0; i < count && (p->low != INT8_MIN || p->high != INT8_MAX); i++)
            to[i] = (int8_t)nuc_clamp_i32(to[i], p->low, p->high);
    } while (nuc_walk_next_row(loops, &walk));
}
