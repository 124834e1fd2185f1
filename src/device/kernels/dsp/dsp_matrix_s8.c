/*
 * Matrix products, and transposed convolutions as one for each tap. A row of input is widened to 16 bits once, then
 * three rows of weights at a time are multiplied with it. The weights' offset times the sum of the row is added to
 * every column.
 */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/dsp_columns.h"
#include "device/kernels/dsp/dsp_rows.h"
#include "device/kernels/dsp/fused_scale.h"

#define CHUNK 768 /* elements of a row, a multiple of 8 */
#define BATCH 128 /* columns, an even number */

/* A part of a row of input, and the sums of some columns. */
struct product {
    const struct nuc_matmul_s8 *m;
    int32_t depth; /* elements */
    int32_t columns;
    uint32_t x[CHUNK / 2]; /* widened, as nuc_dsp_multiply_rows() takes it */
    int32_t sums[BATCH];
    struct nuc_fused f;
    bool alike; /* all columns are rescaled in one step, by `f` */
};

/* ---- rows of weights ---- */

/* Rows of weights that begin at whole words. */
static struct nuc_row_triples triples_of(const void *x, int32_t blocks, const int8_t *weight, int32_t stride,
                                         int32_t rows, int32_t *sums)
{
    return (struct nuc_row_triples){
        .x = x,
        .sums = sums,
        .step = 3 * (ptrdiff_t)stride - 8 * (ptrdiff_t)blocks,
        .weight = weight,
        .stride = stride,
        .blocks = blocks,
        .end = sums + rows / 3 * 3,
    };
}

/* The last three of `rows`. */
static void to_last(struct nuc_row_triples *t, int32_t rows, int32_t *sums)
{
    t->weight += (ptrdiff_t)(rows - 3) * t->stride;
    t->sums = sums;
    t->end = sums + 3;
}

/* As many blocks of 8 elements as there are; returns the number of elements. */
static int32_t by_words(const void *x, int32_t depth, const int8_t *weight, int32_t stride, int32_t rows, int32_t *sums)
{
    struct nuc_row_triples t = triples_of(x, depth >> 3, weight, stride, rows, sums);
    int32_t left = rows % 3, last[3];

    if (t.blocks == 0 || rows < 3 || (((uintptr_t)weight | (uintptr_t)stride) & 3) != 0)
        return 0;
    nuc_dsp_multiply_triples(&t);
    if (left > 0) {
        memcpy(last, sums + rows - 3, sizeof last);
        to_last(&t, rows, last);
        nuc_dsp_multiply_triples(&t);
        memcpy(sums + rows - left, last + 3 - left, (size_t)left * sizeof *last);
    }
    return 8 * t.blocks;
}

/* Elements from `from` on, a multiple of 4, of two rows, which may be the same. */
static void dot_2(const uint32_t *x, int32_t depth, int32_t from, const int8_t *a, const int8_t *b, int32_t sums[2])
{
    const int8_t *end = a + (depth & ~3);
    int32_t first = sums[0];
    int32_t second = sums[1];

    for (a += from, b += from, x += from / 2; a < end; a += 4, b += 4, x += 2) {
        uint32_t word = nuc_load_word(a);
        first = nuc_smlad(x[1], nuc_sxtb16_odd(word), nuc_smlad(x[0], nuc_sxtb16(word), first));
        word = nuc_load_word(b);
        second = nuc_smlad(x[1], nuc_sxtb16_odd(word), nuc_smlad(x[0], nuc_sxtb16(word), second));
    }
    const int16_t *value = (const int16_t *)x;
    for (int32_t n = depth & 3; n > 0; n--, value++) {
        first = nuc_wrap_add(first, *value * *a++);
        second = nuc_wrap_add(second, *value * *b++);
    }
    sums[0] = first;
    sums[1] = second;
}

/* One block of 4 elements of every row. */
static void add_block(const uint32_t *x, const int8_t *weight, int32_t stride, int32_t rows, int32_t *sums)
{
    uint32_t even = x[0], odd = x[1];

    for (int32_t r = 0; r < rows; r++, weight += stride) {
        uint32_t word = nuc_load_word(weight);
        sums[r] = nuc_smlad(odd, nuc_sxtb16_odd(word), nuc_smlad(even, nuc_sxtb16(word), sums[r]));
    }
}

void nuc_dsp_multiply_rows(const int16_t *x, int32_t depth, const int8_t *weight, int32_t stride, int32_t rows,
                           int32_t *sums)
{
    const uint32_t *words = (const uint32_t *)(const void *)x;
    int32_t done = by_words(words, depth, weight, stride, rows, sums), r = 0;

    if (done > 0 && depth - done == 4) {
        add_block(words + done / 2, weight + done, stride, rows, sums);
    } else if (done < depth) {
        for (; r + 2 <= rows; r += 2)
            dot_2(words, depth, done, weight + (ptrdiff_t)r * stride, weight + (ptrdiff_t)(r + 1) * stride, sums + r);
        if (r < rows) {
            const int8_t *last = weight + (ptrdiff_t)r * stride;
            int32_t two[2] = {sums[r], 0};
            dot_2(words, depth, done, last, last, two);
            sums[r] = two[0];
        }
    }
}

/* ---- matrix products ---- */

/* What the weights' offset adds to every column: at most 255 * 255 a place. */
static int32_t of_offset(const struct product *p, const int8_t *in)
{
    int32_t sum = p->depth * p->m->input_offset;

    for (int32_t i = 0; i < p->depth; i++)
        sum += in[i];
    return sum * p->m->weight_offset;
}

/* Adds the products of the part of a row at `in`; `weight`: of the first column, the same part. */
static void add_part(struct product *p, const int8_t *in, const int8_t *weight)
{
    int32_t done = p->depth & ~7;
    uint32_t offset = nuc_twice(p->m->input_offset);
    nuc_dsp_widen_row(in, offset, p->depth >> 3, p->x);
    nuc_dsp_widen(in + done, offset, (p->depth - done) >> 2, 1, p->x + done / 2);
    if (p->m->weight_offset != 0) {
        int32_t more = of_offset(p, in);
        for (int32_t c = 0; c < p->columns; c++)
            p->sums[c] = nuc_wrap_add(p->sums[c], more);
    }
    int16_t *rest = (int16_t *)p->x;
    for (int32_t i = p->depth & ~3; i < p->depth; i++)
        rest[i] = (int16_t)(in[i] + p->m->input_offset);
    nuc_dsp_multiply_rows(rest, p->depth, weight, p->m->depth, p->columns, p->sums);
}

/* Up to this shift a result of a sum whose double saturates saturates, too. */
#define SATURATING_SHIFT 20

/* Whether all columns are rescaled in one step, by the same numbers. */
static bool is_alike(const struct nuc_rescale *r, struct nuc_fused *f)
{
    return nuc_fused_of(r->multipliers[0], r->shifts[0], r->offset, f) && r->step == 0 && f->shift <= SATURATING_SHIFT;
}

/* At least one. */
static void finish_alike(const int32_t *sum, const int32_t *end, struct nuc_fused f, int8_t *out)
{
    do
        *out++ = (int8_t)nuc_ssat8(nuc_fused_twice(nuc_doubled(*sum++), &f));
    while (sum < end);
}

/* Results of the columns from `first` on. */
static void finish(const struct product *p, int32_t first, int8_t *out)
{
    const struct nuc_rescale *r = &p->m->rescale;

    if (p->alike) {
        finish_alike(p->sums, p->sums + p->columns, p->f, out);
        return;
    }
    int32_t seen = r->step == 0 ? -1
                                : nuc_dsp_rescale_each(p->sums, r->multipliers + first, r->shifts + first,
                                                       2 * r->offset + 1, out, out + p->columns);
    for (int32_t c = 0; c < p->columns && (seen < 0 || seen >= NUC_EACH_SHIFT); c++)
        out[c] = nuc_dsp_rescaled(r, first + c, p->sums[c]);
}

static void begin(struct product *p, const int32_t *bias)
{
    size_t bytes = (size_t)p->columns * sizeof *p->sums;

    if (bias != NULL)
        memcpy(p->sums, bias, bytes);
    else
        memset(p->sums, 0, bytes);
}

/* Adds the products of `depth` elements at `in` with the weights of the columns from `weight` on. */
static void add_row(struct product *p, int32_t depth, const int8_t *in, const int8_t *weight)
{
    for (int32_t d = 0; d < depth; d += CHUNK) {
        p->depth = depth - d < CHUNK ? depth - d : CHUNK;
        add_part(p, in + d, weight + d);
    }
}

/* Whether results can be made where sums are: what is the same for all rows of input, of all and of the last columns.
 */
static bool begin_alike(const struct nuc_matmul_s8 *m, const struct product *p, const int8_t *weight,
                        struct nuc_row_triples t[2])
{
    if (!p->alike || m->weight_offset != 0 || m->bias == NULL || m->depth % 8 != 0 || m->depth > CHUNK ||
        m->columns < 3 || ((uintptr_t)weight & 3) != 0)
        return false;
    t[0] = triples_of(p->x, m->depth >> 3, weight, m->depth, m->columns, (int32_t *)(uintptr_t)m->bias);
    t[0].f = p->f;
    t[1] = t[0];
    to_last(&t[1], m->columns, t[0].sums + m->columns - 3);
    return true;
}

/* A row of results; the last triple of rows of weights may repeat some. */
static void multiply_alike(const struct nuc_matmul_s8 *m, struct nuc_row_triples t[2], int8_t *out)
{
    t[0].out = out;
    nuc_dsp_multiply_triples(&t[0]);
    if (m->columns % 3 != 0) {
        t[1].out = out + m->columns - 3;
        nuc_dsp_multiply_triples(&t[1]);
    }
}

void nuc_dsp_matmul_s8(const struct nuc_matmul_s8 *m, const int8_t *in, const int8_t *weight, int8_t *out)
{
    struct nuc_row_triples t[2];
    struct product p;
    p.m = m;
    p.alike = is_alike(&m->rescale, &p.f);
    bool alike = begin_alike(m, &p, weight, t);
    int8_t *first = out;

    for (int32_t r = 0; r < m->rows; r++, in += m->depth) {
        if (alike) {
            nuc_dsp_widen_row(in, nuc_twice(m->input_offset), m->depth >> 3, p.x);
            multiply_alike(m, t, out);
            out += m->columns;
            continue;
        }
        for (int32_t c = 0; c < m->columns; c += BATCH, out += p.columns) {
            p.columns = m->columns - c < BATCH ? m->columns - c : BATCH;
            begin(&p, m->bias != NULL ? m->bias + c : NULL);
            add_row(&p, m->depth, in, weight + (ptrdiff_t)c * m->depth);
            finish(&p, c, out);
        }
    }
    nuc_dsp_clamp(m->rescale.low, m->rescale.high, first, out - first);
}

/* ---- transposed convolutions ---- */

/* Adds what the pixels of the input give that reach output pixel (y, x) through a tap. */
static void add_taps(struct product *p, const struct nuc_conv_s8 *c, const int8_t *image, int32_t y, int32_t x,
                     const int8_t *weight)
{
    for (int32_t ky = 0; ky < c->kernel[0]; ky++) {
        int32_t row = y + c->padding[0] - ky * c->dilation[0], from_y = row / c->stride[0];
        if (row < 0 || row != from_y * c->stride[0] || from_y >= c->in_size[0])
            continue;
        for (int32_t kx = 0; kx < c->kernel[1]; kx++) {
            int32_t column = x + c->padding[1] - kx * c->dilation[1], from_x = column / c->stride[1];
            if (column < 0 || column != from_x * c->stride[1] || from_x >= c->in_size[1])
                continue;
            add_row(p, c->in_channels, image + ((ptrdiff_t)from_y * c->in_size[1] + from_x) * c->in_channels,
                    weight + ((ptrdiff_t)ky * c->kernel[1] + kx) * c->in_channels);
        }
    }
}

/* All columns of one output pixel. The weights of a column are those of all taps. */
static void transposed_pixel(const struct nuc_conv_s8 *c, const struct nuc_matmul_s8 *m, const int8_t *image, int32_t y,
                             int32_t x, const int8_t *weight, int8_t *out)
{
    struct product p;

    p.m = m;
    p.alike = is_alike(&m->rescale, &p.f);
    for (int32_t o = 0; o < c->out_channels; o += BATCH) {
        p.columns = c->out_channels - o < BATCH ? c->out_channels - o : BATCH;
        begin(&p, c->bias != NULL ? c->bias + o : NULL);
        add_taps(&p, c, image, y, x, weight + (ptrdiff_t)o * m->depth);
        finish(&p, o, out + o);
    }
}

void nuc_dsp_transposed_pixels(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    struct nuc_matmul_s8 m = {
        .depth = c->kernel[0] * c->kernel[1] * c->in_channels, .input_offset = c->input_offset, .rescale = c->rescale};

    for (int32_t b = 0; b < c->batch; b++, in += (ptrdiff_t)c->in_size[0] * c->in_size[1] * c->in_channels) {
        for (int32_t y = 0; y < c->out_size[0]; y++) {
            for (int32_t x = 0; x < c->out_size[1]; x++, out += c->out_channels)
                transposed_pixel(c, &m, in, y, x, weight, out);
        }
    }
}
