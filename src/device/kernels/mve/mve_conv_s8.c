/*
 * Convolution: the inputs of three output pixels against every output channel. The input of a pixel is a column: where
 * it does not lie in one piece inside the image, a copy of it.
 */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/mve/mve.h"
#include "device/kernels/mve/mve_dot.h"

#define STACK_BYTES 1536

/* Where columns come from. A run is what lies side by side in the input: a row of the kernel, or else a tap. */
struct plan {
    const struct nuc_conv_s8 *c;
    int32_t depth;     /* input channels of a group */
    int32_t elements;  /* of a column */
    int32_t taps;      /* of a run */
    int32_t run;       /* elements of a run */
    bool in_place;     /* each column is one run inside the image */
    int32_t last[2];   /* where the last window inside the image begins */
    ptrdiff_t down;    /* from one row of taps to the next in the input */
    ptrdiff_t across;  /* from one run to the next */
    ptrdiff_t reach;   /* of what is read of a window inside, in whole vectors */
    const int8_t *end; /* of the input */
    int8_t *columns;
    ptrdiff_t column; /* from one to the next */
};

/* Of three output pixels. */
struct pixels {
    int32_t y, x; /* of the next one */
    const int8_t *columns[NUC_DOT_INPUTS];
};

/* `count` elements; up to 15 more are written. */
static inline int8_t *put(const int8_t *from, int32_t count, int8_t *to)
{
    for (; count >= NUC_LANES_B; count -= NUC_LANES_B, from += NUC_LANES_B, to += NUC_LANES_B)
        nuc_vstr_b(to, nuc_vldr_b(from));
    if (count > 0)
        nuc_vstr_b(to, nuc_vldr_b_some(from, count));
    return to + count;
}

static inline int8_t *put_alike(int32_t value, int32_t count, int8_t *to)
{
    nuc_bytes all = nuc_vdup_b(value);

    for (; count >= NUC_LANES_B; count -= NUC_LANES_B, to += NUC_LANES_B)
        nuc_vstr_b(to, all);
    nuc_vstr_b(to, all);
    return to + count;
}

/* The column of the window at (y, x) of the input. */
static void put_window(const struct plan *p, const int8_t *image, int32_t y, int32_t x, int8_t *to)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t zero = -c->input_offset;

    for (int32_t ky = 0; ky < c->kernel[0]; ky++, y += c->dilation[0]) {
        int32_t at = x;
        if (y < 0 || y >= c->in_size[0]) {
            to = put_alike(zero, c->kernel[1] * p->depth, to);
            continue;
        }
        const int8_t *row = image + (ptrdiff_t)y * c->in_size[1] * c->in_channels;
        for (int32_t kx = 0; kx < c->kernel[1]; kx += p->taps, at += c->dilation[1]) {
            int32_t before = at < 0 ? (-at < p->taps ? -at : p->taps) : 0;
            int32_t inside = c->in_size[1] - at - before;
            inside = inside < 0 ? 0 : inside < p->taps - before ? inside : p->taps - before;
            if (before > 0)
                to = put_alike(zero, before * p->depth, to);
            if (inside > 0)
                to = put(row + (ptrdiff_t)(at + before) * c->in_channels, inside * p->depth, to);
            if (before + inside < p->taps)
                to = put_alike(zero, (p->taps - before - inside) * p->depth, to);
        }
    }
}

/* The column of a window inside the image, at `from`, in whole vectors: later runs are written over what is too much.
 */
__attribute__((noinline)) static void put_inside(const struct plan *p, const int8_t *from, int8_t *to)
{
    int32_t run = p->run, runs = p->c->kernel[1] / p->taps;
    ptrdiff_t down = p->down, across = p->across;

    for (int32_t ky = p->c->kernel[0]; ky > 0; ky--, from += down) {
        const int8_t *at = from;
        for (int32_t n = runs; n > 0; n--, at += across, to += run) {
            for (int32_t k = 0; k < run; k += NUC_LANES_B)
                nuc_vstr_b(to + k, nuc_vldr_b(at + k));
        }
    }
}

/* The columns of the next `count` pixels; of fewer than three the last one takes the place of more. */
static void next_columns(const struct plan *p, const int8_t *image, int32_t count, struct pixels *at)
{
    const struct nuc_conv_s8 *c = p->c;

    for (int32_t i = 0; i < NUC_DOT_INPUTS; i++) {
        if (i >= count) {
            at->columns[i] = at->columns[count - 1];
            continue;
        }
        int32_t y = at->y * c->stride[0] - c->padding[0], x = at->x * c->stride[1] - c->padding[1];
        const int8_t *from = image;
        bool inside = p->in_place || (y >= 0 && x >= 0 && y <= p->last[0] && x <= p->last[1]);
        if (inside)
            from += ((ptrdiff_t)y * c->in_size[1] + x) * c->in_channels;
        at->columns[i] = p->in_place ? from : p->columns + i * p->column;
        if (inside && !p->in_place && p->end - from >= p->reach)
            put_inside(p, from, p->columns + i * p->column);
        else if (!p->in_place)
            put_window(p, image, y, x, p->columns + i * p->column);
        if (++at->x == c->out_size[1]) {
            at->x = 0;
            at->y++;
        }
    }
}

/* All pixels of one image; `image` and the weights at the group's first channel. */
static void convolve(const struct plan *p, const struct nuc_dot_rows *d, const int8_t *image, int8_t *out)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t pixels = c->out_size[0] * c->out_size[1], most = p->in_place || p->column > 0 ? NUC_DOT_INPUTS : 1;
    struct pixels at = {0, 0, {NULL}};
    struct nuc_dot_sums s;

    nuc_mve_dot_begin(d, 0, &s);
    for (int32_t done = 0; done < pixels; done += most, out += most * (ptrdiff_t)c->out_channels) {
        int32_t count = pixels - done < most ? pixels - done : most;
        next_columns(p, image, count, &at);
        if (count > 1)
            nuc_mve_dot_three(d, at.columns, &s);
        else
            nuc_mve_dot_one(d, at.columns[0], &s);
        nuc_mve_dot_finish(d, &s, count, out, c->out_channels);
    }
}

/* Copies end in a whole vector. */
static size_t column_bytes(const struct plan *p)
{
    return p->in_place ? 0 : (size_t)p->elements + NUC_LANES_B;
}

/* Every window is one run and lies inside the image. */
static bool lies_in_place(const struct plan *p)
{
    const struct nuc_conv_s8 *c = p->c;

    for (int d = 0; d < 2; d++) {
        int32_t last = (c->out_size[d] - 1) * c->stride[d] - c->padding[d];
        if (c->padding[d] > 0 || last + (c->kernel[d] - 1) * c->dilation[d] >= c->in_size[d])
            return false;
    }
    return p->elements == p->taps * p->depth;
}

/* Bytes for columns and rows of weights. */
static size_t room_of(const struct nuc_conv_s8 *c)
{
    return c->scratch_bytes > STACK_BYTES ? c->scratch_bytes : STACK_BYTES;
}

/* Memory for one column or for three, of `room` bytes; with less there is none. */
static void place_columns(struct plan *p, int8_t *memory, size_t room)
{
    p->columns = memory;
    p->column = room >= NUC_DOT_INPUTS * column_bytes(p) ? (ptrdiff_t)column_bytes(p) : 0;
}

static struct plan plan_of(const struct nuc_conv_s8 *c, int32_t groups, const int8_t *in)
{
    struct plan p = {.c = c, .depth = c->in_channels / groups};
    ptrdiff_t row = (ptrdiff_t)c->in_size[1] * c->in_channels;

    p.elements = c->kernel[0] * c->kernel[1] * p.depth;
    p.taps = groups == 1 && c->dilation[1] == 1 ? c->kernel[1] : 1;
    p.run = p.taps * p.depth;
    for (int d = 0; d < 2; d++)
        p.last[d] = c->in_size[d] - (c->kernel[d] - 1) * c->dilation[d] - 1;
    p.down = c->dilation[0] * row;
    p.across = (ptrdiff_t)c->dilation[1] * c->in_channels;
    p.reach = (c->kernel[0] - 1) * p.down + (c->kernel[1] / p.taps - 1) * p.across +
              (p.run + NUC_LANES_B - 1) / NUC_LANES_B * NUC_LANES_B;
    p.end = in + c->batch * c->in_size[0] * row;
    p.in_place = lies_in_place(&p);
    return p;
}

/* Output channels [o, o + rows) of all images, whose weights d has. */
static void convolve_all(const struct plan *p, const struct nuc_dot_rows *d, const int8_t *in, int8_t *out)
{
    const struct nuc_conv_s8 *c = p->c;

    for (int32_t b = 0; b < c->batch; b++) {
        convolve(p, d, in, out + d->first);
        in += (ptrdiff_t)c->in_size[0] * c->in_size[1] * c->in_channels;
        out += (ptrdiff_t)c->out_size[0] * c->out_size[1] * c->out_channels;
    }
}

static struct nuc_dot_rows rows_of(const struct plan *p, int32_t first, int32_t rows, const int8_t *weight)
{
    const struct nuc_conv_s8 *c = p->c;

    return (struct nuc_dot_rows){.weight = weight,
                                 .row = p->elements,
                                 .depth = p->elements,
                                 .rows = rows < NUC_DOT_ROWS ? rows : NUC_DOT_ROWS,
                                 .offset = c->input_offset,
                                 .bias = c->bias != NULL ? c->bias + first : NULL,
                                 .rescale = &c->rescale,
                                 .first = first};
}

/* Not inlined: what leaves all to another kernel takes no stack. */
__attribute__((noinline)) static void by_groups(struct plan *p, const int8_t *in, const int8_t *weight, int8_t *out)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t a_group = c->out_channels / c->groups;
    int8_t stack[STACK_BYTES];

    place_columns(p, c->scratch_bytes > STACK_BYTES ? c->scratch : stack, room_of(c));
    for (int32_t o = 0; o < c->out_channels;) {
        int32_t group = o / a_group;
        struct nuc_dot_rows d = rows_of(p, o, (group + 1) * a_group - o, weight + (ptrdiff_t)o * p->elements);
        convolve_all(p, &d, in + group * p->depth, out);
        o += d.rows;
    }
}

void nuc_mve_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    struct plan p = plan_of(c, c->groups, in);

    if (room_of(c) >= column_bytes(&p))
        by_groups(&p, in, weight, out);
    else
        nuc_dsp_conv_s8(c, in, weight, out);
}

/* Weights of output channels [o, o + rows), which lie tap by tap, in rows. */
static void put_rows(const struct plan *p, int32_t o, int32_t rows, const int8_t *weight, int8_t *to)
{
    const nuc_words apart = nuc_vsteps_w(p->elements);

    for (int32_t r = 0; r < rows; r += NUC_LANES_W) {
        const int8_t *from = weight + o + r;
        for (int32_t k = 0; k < p->elements; k++, from += p->c->out_channels, to++)
            nuc_vstr_bw_at(to, apart, nuc_vldr_bw_some(from, rows - r));
        to += (NUC_LANES_W - 1) * p->elements;
    }
}

/* As many rows at a time as there is room for beside the columns. */
__attribute__((noinline)) static void by_chunks(struct plan *p, const int8_t *in, const int8_t *weight, int8_t *out)
{
    const struct nuc_conv_s8 *c = p->c;
    int8_t stack[STACK_BYTES], *rows = c->scratch_bytes > STACK_BYTES ? c->scratch : stack;
    size_t one = (size_t)p->elements, columns = NUC_DOT_INPUTS * column_bytes(p);
    size_t fours = (room_of(c) - columns) / (NUC_LANES_W * one);
    int32_t chunk = fours < NUC_DOT_ROWS / NUC_LANES_W ? (int32_t)fours * NUC_LANES_W : NUC_DOT_ROWS;

    place_columns(p, rows + (size_t)chunk * one, columns);
    for (int32_t o = 0; o < c->out_channels; o += chunk) {
        int32_t count = c->out_channels - o < chunk ? c->out_channels - o : chunk;
        const struct nuc_dot_rows d = rows_of(p, o, count, rows);
        put_rows(p, o, count, weight, rows);
        convolve_all(p, &d, in, out);
    }
}

bool nuc_mve_conv_one_channel(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    struct plan p = plan_of(c, 1, in);

    if (room_of(c) < NUC_DOT_INPUTS * column_bytes(&p) + NUC_LANES_W * (size_t)p.elements)
        return false;
    by_chunks(&p, in, weight, out);
    return true;
}
