/* Convolution: columns of 4 output pixels (2 when memory is short), then every output channel against them. */
#include "kernels/dsp/dsp.h"
#include "kernels/dsp/dsp_columns.h"

#define STACK_WORDS 512

/* How columns are built. */
struct plan {
    const struct nuc_conv_s8 *c;
    int32_t depth;     /* input channels of a group */
    int32_t elements;  /* of a column */
    int32_t blocks;    /* of 4 elements */
    int32_t width;     /* pixels of a block: 4 or 2 */
    uint32_t offset;   /* input offset in both lanes */
    uint32_t *columns; /* blocks * width * 2 words */
    bool whole_rows;   /* rows of the kernel lie side by side in memory and are whole blocks */
    int8_t *line;      /* a row of those, or a column when pieces do not begin at blocks, else NULL */
};

/* Where a column is written: widened at once, or first into the line. */
struct writer {
    const struct plan *p;
    uint32_t *wide;
    int8_t *line;
};

/* `count` elements; NULL: outside the image. */
static void put(struct writer *w, const int8_t *in, int32_t count)
{
    const struct plan *p = w->p;

    if (w->line != NULL) {
        if (in != NULL)
            memcpy(w->line, in, (size_t)count);
        else
            memset(w->line, -p->c->input_offset, (size_t)count);
        w->line += count;
        return;
    }
    int32_t blocks = count >> 2;
    if (in != NULL) {
        nuc_dsp_widen(in, p->offset, blocks, p->width, w->wide);
    } else {
        uint32_t *at = w->wide;
        for (int32_t i = 0; i < 2 * blocks; i++, at += p->width)
            *at = 0;
    }
    w->wide += 2 * p->width * blocks;
}

/* A row of whole blocks whose taps lie side by side and partly outside: put together in the line, then widened. */
static void put_border(struct writer *w, const int8_t *row, int32_t x)
{
    const struct plan *p = w->p;
    int32_t left = x < 0 ? -x : 0;
    int32_t right = x + p->c->kernel[1] < p->c->in_size[1] ? x + p->c->kernel[1] : p->c->in_size[1];
    int32_t size = p->c->kernel[1] * p->depth;

    memset(p->line, -p->c->input_offset, (size_t)size);
    if (right > x + left)
        memcpy(p->line + left * p->depth, row + (ptrdiff_t)(x + left) * p->depth,
               (size_t)((right - x - left) * p->depth));
    put(w, p->line, size);
}

/* One row of the kernel; `row` is the input row at channel `first`, NULL outside the image. */
static void put_row(struct writer *w, const int8_t *row, int32_t x)
{
    const struct nuc_conv_s8 *c = w->p->c;
    int32_t depth = w->p->depth;

    if (row == NULL) {
        put(w, NULL, c->kernel[1] * depth);
    } else if (w->p->whole_rows) {
        if (x >= 0 && x + c->kernel[1] <= c->in_size[1])
            put(w, row + (ptrdiff_t)x * depth, c->kernel[1] * depth);
        else
            put_border(w, row, x);
    } else if (c->groups == 1 && c->dilation[1] == 1) { /* taps lie side by side */
        int32_t left = x < 0 ? -x : 0;
        int32_t beyond = x + c->kernel[1] - c->in_size[1];
        left = left < c->kernel[1] ? left : c->kernel[1];
        beyond = beyond < 0 ? 0 : beyond < c->kernel[1] ? beyond : c->kernel[1];
        int32_t inside = c->kernel[1] - left - beyond;
        if (left > 0)
            put(w, NULL, left * depth);
        if (inside > 0)
            put(w, row + (ptrdiff_t)(x + left) * depth, inside * depth);
        if (beyond > 0)
            put(w, NULL, beyond * depth);
    } else {
        for (int32_t k = 0; k < c->kernel[1]; k++, x += c->dilation[1])
            put(w, x >= 0 && x < c->in_size[1] ? row + (ptrdiff_t)x * c->in_channels : NULL, depth);
    }
}

/* The column of output pixel (y, x) as number `pixel` of the blocks. */
static void put_column(const struct plan *p, const int8_t *image, int32_t y, int32_t x, int32_t pixel)
{
    const struct nuc_conv_s8 *c = p->c;
    struct writer w = {p, p->columns + pixel, p->whole_rows ? NULL : p->line};
    int32_t in_y = y * c->stride[0] - c->padding[0];
    int32_t in_x = x * c->stride[1] - c->padding[1];

    for (int32_t k = 0; k < c->kernel[0]; k++, in_y += c->dilation[0]) {
        bool inside = in_y >= 0 && in_y < c->in_size[0];
        put_row(&w, inside ? image + (ptrdiff_t)in_y * c->in_size[1] * c->in_channels : NULL, in_x);
    }
    if (w.line != NULL) {
        put(&w, NULL, 4 * p->blocks - p->elements);
        nuc_dsp_widen(p->line, p->offset, p->blocks, p->width, p->columns + pixel);
    }
}

/* Columns where they fit, 4 pixels wide if possible; false when not even 2 fit. */
static bool place(struct plan *p, const struct nuc_workspace *space)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t row = c->kernel[1] * p->depth;
    size_t line_words = p->depth % 4 != 0 ? (size_t)p->blocks : 0;

    p->whole_rows = row % 4 == 0 && c->groups == 1 && c->dilation[1] == 1;
    if (p->whole_rows)
        line_words = (size_t)row / 4;
    for (p->width = 4; p->width >= 2; p->width /= 2) {
        size_t words = (size_t)p->blocks * (size_t)p->width * 2;
        if (words + line_words <= space->count) {
            p->columns = space->words;
            p->line = line_words > 0 ? (int8_t *)(space->words + words) : NULL;
            return true;
        }
        if (words * sizeof(uint32_t) <= c->scratch_bytes && line_words <= space->count) {
            p->columns = c->scratch;
            p->line = line_words > 0 ? (int8_t *)space->words : NULL;
            return true;
        }
    }
    return false;
}

/* All pixels of one image; `image` and `weight` at the group's first channel. */
static void convolve(const struct plan *p, struct nuc_columns *columns, const int8_t *image, const int8_t *weight,
                     int8_t *out)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t n_pixels = c->out_size[0] * c->out_size[1];
    int32_t y = 0;
    int32_t x = 0;

    for (int32_t at = 0; at < n_pixels; at += columns->pixels) {
        columns->pixels = n_pixels - at < p->width ? n_pixels - at : p->width;
        for (int32_t i = 0; i < columns->pixels; i++) {
            put_column(p, image, y, x, i);
            x++;
            if (x == c->out_size[1]) {
                x = 0;
                y++;
            }
        }
        if (p->width == 4)
            nuc_dsp_multiply_4(columns, &c->rescale, c->bias, weight, out);
        else
            nuc_dsp_multiply_2(columns, &c->rescale, c->bias, weight, out);
        out += (ptrdiff_t)columns->pixels * c->out_channels;
    }
}

bool nuc_dsp_conv_channels(const struct nuc_conv_s8 *c, int32_t first, int32_t last, const struct nuc_workspace *space,
                           const int8_t *in, const int8_t *weight, int8_t *out)
{
    struct plan p = {.c = c, .depth = c->in_channels / c->groups, .offset = nuc_pair(c->input_offset)};
    ptrdiff_t image = (ptrdiff_t)c->in_size[0] * c->in_size[1] * c->in_channels;
    ptrdiff_t result = (ptrdiff_t)c->out_size[0] * c->out_size[1] * c->out_channels;
    int32_t a_group = (last - first) / c->groups;

    p.elements = c->kernel[0] * c->kernel[1] * p.depth;
    p.blocks = (p.elements + 3) / 4;
    if (!place(&p, space))
        return false;
    memset(p.columns, 0, (size_t)p.blocks * (size_t)p.width * 2 * sizeof(uint32_t));
    for (int32_t b = 0; b < c->batch; b++) {
        for (int32_t g = 0; g < c->groups; g++) {
            int32_t channel = first + g * a_group;
            struct nuc_columns columns = {p.columns, p.elements, 0, channel, channel + a_group, c->out_channels};
            convolve(&p, &columns, in + b * image + g * p.depth, weight + (ptrdiff_t)g * a_group * p.elements,
                     out + b * result);
        }
    }
    return true;
}

/* One pixel, one channel of the image: a matrix product of any depth. */
static bool is_matmul(const struct nuc_conv_s8 *c)
{
    return c->groups == 1 && c->kernel[0] == 1 && c->kernel[1] == 1 && c->stride[0] == 1 && c->stride[1] == 1 &&
           c->padding[0] == 0 && c->padding[1] == 0 && c->out_size[0] == c->in_size[0] &&
           c->out_size[1] == c->in_size[1];
}

static void as_matmul(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    const struct nuc_matmul_s8 m = {
        .rows = c->batch * c->out_size[0] * c->out_size[1],
        .depth = c->in_channels,
        .columns = c->out_channels,
        .input_offset = c->input_offset,
        .rescale = c->rescale,
        .bias = c->bias,
    };

    nuc_dsp_matmul_s8(&m, in, weight, out);
}

void nuc_dsp_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    int32_t elements = c->kernel[0] * c->kernel[1] * (c->in_channels / c->groups);
    uint32_t stack[STACK_WORDS];
    const struct nuc_workspace space = {stack, STACK_WORDS};

    if (nuc_dsp_scales(&c->rescale, c->bias, c->out_channels, elements) &&
        nuc_dsp_conv_channels(c, 0, c->out_channels, &space, in, weight, out))
        return;
    if (is_matmul(c))
        as_matmul(c, in, weight, out);
    else
        nuc_ref_conv_s8(c, in, weight, out);
}
