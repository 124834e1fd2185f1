/*
 * Convolution: columns of five output pixels, then every output channel against them. What does not fit the memory is
 * split: columns into parts, whose sums add up, and output channels into chunks.
 */
#include "kernels/dsp/dsp.h"
#include "kernels/dsp/dsp_columns.h"

#define STACK_WORDS 512

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* How columns are built. A run is what lies side by side in the input: a row of the kernel, or else a tap. */
struct plan {
    const struct nuc_conv_s8 *c;
    int32_t in_size[2], out_size[2];
    int32_t depth;     /* input channels of a group */
    int32_t elements;  /* of a column */
    int32_t blocks;    /* of 4 elements */
    int32_t width;     /* taps of a run */
    int32_t run;       /* elements of a run */
    int32_t last[2];   /* where the last window inside the image begins */
    ptrdiff_t down;    /* from one row of taps to the next in the input */
    uint32_t offset;   /* input offset in both lanes */
    const int8_t *end; /* of the input */
    ptrdiff_t row;     /* of weights */
    int32_t uncut;     /* output channels before those whose last block reaches beyond the weights */

    int32_t part;      /* blocks of a part of the columns, the last one may have fewer */
    int32_t chunk;     /* output channels, the last one may have fewer */
    uint32_t *columns; /* part blocks */
    int8_t *lines;     /* a part of each pixel's column before it is widened; NULL: runs are whole blocks everywhere */
    ptrdiff_t line;    /* from one line to the next */
    int32_t *sums;     /* of a chunk */
    bool fused;
};

/* A part of the columns; where it begins in the window. */
struct part {
    int32_t first, blocks;
    int32_t elements;
    int32_t tap[2]; /* of its first run */
    int32_t from;   /* element of that run */
};

/* Where five windows begin in the output and in the input. */
struct place {
    const int8_t *image; /* at the group's first channel */
    int32_t y, x;
    int32_t in_y, in_x;
    int32_t pixels;
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
    } else if (in != NULL) {
        nuc_dsp_widen(in, p->offset, count >> 2, NUC_COLUMN_PIXELS, w->wide);
        w->wide += (count >> 2) * NUC_COLUMN_BLOCK;
    } else {
        for (int32_t i = 0; i < count; i += 2, w->wide += NUC_COLUMN_PIXELS)
            *w->wide = 0;
    }
}

/* Elements [from, to) of the run at column x of an input row, at the group's first channel; NULL: outside the image. */
static void put_run(struct writer *w, const int8_t *row, int32_t x, int32_t from, int32_t to)
{
    const struct plan *p = w->p;
    int32_t left = x < 0 ? -x : 0;
    int32_t right = least(p->in_size[1] - x, p->width);

    if (row == NULL || left >= right)
        left = right = p->width;
    left = nuc_clamp_i32(left * p->depth, from, to);
    right = nuc_clamp_i32(right * p->depth, from, to);
    if (left > from)
        put(w, NULL, left - from);
    if (right > left)
        put(w, row + (ptrdiff_t)x * p->c->in_channels + left, right - left);
    if (to > right)
        put(w, NULL, to - right);
}

/* Leads from run to run of a part. */
struct walk {
    int32_t tap[2];
    int32_t from, to; /* elements of the run */
    int32_t left;     /* elements from this run on */
};

static inline struct walk walk_of(const struct plan *p, const struct part *part)
{
    return (struct walk){
        {part->tap[0], part->tap[1]}, part->from, least(p->run, part->from + part->elements), part->elements};
}

static inline void next_run(const struct plan *p, struct walk *k)
{
    k->left -= k->to - k->from;
    k->from = 0;
    k->to = least(p->run, k->left);
    k->tap[1] += p->width;
    if (k->tap[1] >= p->c->kernel[1]) {
        k->tap[1] = 0;
        k->tap[0]++;
    }
}

/* A part of the column of the window at (y, x) of the input, partly outside of it. */
__attribute__((noinline)) static void put_runs(const struct plan *p, const struct part *part, const int8_t *image,
                                               int32_t y, int32_t x, struct writer w)
{
    const struct nuc_conv_s8 *c = p->c;

    for (struct walk k = walk_of(p, part); k.left > 0; next_run(p, &k)) {
        int32_t in_y = y + k.tap[0] * c->dilation[0];
        bool inside = in_y >= 0 && in_y < p->in_size[0];
        put_run(&w, inside ? image + (ptrdiff_t)in_y * p->in_size[1] * c->in_channels : NULL,
                x + k.tap[1] * c->dilation[1], k.from, k.to);
    }
}

/* A part of the column of a window inside the image. Words are copied where the input has the bytes beyond a run. */
static inline void copy_runs(const struct plan *p, const struct part *part, const int8_t *in, int8_t *to)
{
    ptrdiff_t across = (ptrdiff_t)p->c->dilation[1] * p->c->in_channels;

    for (struct walk k = walk_of(p, part); k.left > 0; next_run(p, &k)) {
        const int8_t *from = in + k.tap[0] * p->down + k.tap[1] * across + k.from;
        int32_t count = k.to - k.from;
        if (p->end - from < count + 3) {
            memcpy(to, from, (size_t)count);
        } else {
            for (int32_t i = 0; i < count; i += 4)
                nuc_store_word(to + i, nuc_load_word(from + i));
        }
        to += count;
    }
}

/* The same part of five windows inside the image, in one row of it; runs are whole blocks. */
static inline void widen_runs(const struct plan *p, const struct part *part, const int8_t *in)
{
    ptrdiff_t across = (ptrdiff_t)p->c->dilation[1] * p->c->in_channels;
    ptrdiff_t step = (ptrdiff_t)p->c->stride[1] * p->c->in_channels;
    uint32_t *to = p->columns;

    for (struct walk k = walk_of(p, part); k.left > 0; next_run(p, &k)) {
        int32_t blocks = (k.to - k.from) >> 2;
        nuc_dsp_widen_five(in + k.tap[0] * p->down + k.tap[1] * across + k.from, step, p->offset, blocks, to);
        to += blocks * NUC_COLUMN_BLOCK;
    }
}

static inline bool is_inside(const struct plan *p, int32_t in_y, int32_t in_x)
{
    return in_y >= 0 && in_x >= 0 && in_y <= p->last[0] && in_x <= p->last[1];
}

static inline const int8_t *input_at(const struct plan *p, const struct place *at, int32_t in_y, int32_t in_x)
{
    return at->image + ((ptrdiff_t)in_y * p->in_size[1] + in_x) * p->c->in_channels;
}

/* A part of the columns, pixel by pixel. */
static void put_pixels(const struct plan *p, const struct part *part, const struct place *at)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t x = at->x;
    int32_t in_y = at->in_y;
    int32_t in_x = at->in_x;
    int8_t *line = p->lines;

    for (int32_t i = 0; i < at->pixels; i++) {
        if (line != NULL && is_inside(p, in_y, in_x))
            copy_runs(p, part, input_at(p, at, in_y, in_x), line);
        else
            put_runs(p, part, at->image, in_y, in_x, (struct writer){p, p->columns + i, line});
        if (line != NULL)
            line += p->line;
        in_x += c->stride[1];
        if (++x == p->out_size[1]) {
            x = 0;
            in_x = -c->padding[1];
            in_y += c->stride[0];
        }
    }
    if (line == NULL)
        return;
    /* What fills the last block is widened to 0. */
    for (int32_t k = part->elements; k < 4 * part->blocks; k++) {
        for (int32_t i = 0; i < NUC_COLUMN_PIXELS; i++)
            p->lines[i * p->line + k] = (int8_t)-c->input_offset;
    }
    nuc_dsp_widen_five(p->lines, p->line, p->offset, part->blocks, p->columns);
}

static void put_columns(const struct plan *p, const struct part *part, const struct place *at)
{
    const int32_t more = NUC_COLUMN_PIXELS - 1;

    if (p->run % 4 == 0 && at->pixels == NUC_COLUMN_PIXELS && at->x + more < p->out_size[1] &&
        is_inside(p, at->in_y, at->in_x) && at->in_x + more * p->c->stride[1] <= p->last[1])
        widen_runs(p, part, input_at(p, at, at->in_y, at->in_x));
    else
        put_pixels(p, part, at);
}

/* `total` in equal pieces of at most `most`. */
static int32_t even_piece(int32_t total, int32_t most)
{
    int32_t pieces = (total + most - 1) / most;

    return (total + pieces - 1) / pieces;
}

/* Output channels of a chunk that are worth the calls. */
#define FEW_CHANNELS 16

/*
 * The smaller one of scratch and workspace holds the sums when it holds enough of them, or else the larger one all
 * there is: the sums of some channels beside the columns, of more when columns are split and built anew for each chunk.
 */
static void place_columns(struct plan *p, int32_t channels, const struct nuc_workspace *space)
{
    const struct nuc_workspace scratch = {p->c->scratch, p->c->scratch_bytes / sizeof(uint32_t)};
    const struct nuc_workspace *large = scratch.count > space->count ? &scratch : space;
    const struct nuc_workspace *small = large == space ? &scratch : space;
    bool lines = p->depth % 4 != 0;
    int32_t a_block = NUC_COLUMN_BLOCK + (lines ? NUC_COLUMN_PIXELS : 0);
    int32_t room = (int32_t)large->count - (lines ? NUC_COLUMN_PIXELS : 0); /* copies of runs end in a whole word */
    bool apart = small->count / NUC_COLUMN_PIXELS >= (size_t)least(channels, FEW_CHANNELS);
    int32_t beside = 0;

    if (!apart) {
        bool fits = p->blocks * a_block + FEW_CHANNELS * NUC_COLUMN_PIXELS <= room;
        int32_t some = least(channels, fits ? FEW_CHANNELS : 3 * FEW_CHANNELS);
        beside = least(some * NUC_COLUMN_PIXELS, (room - a_block) / 2 / NUC_COLUMN_PIXELS * NUC_COLUMN_PIXELS);
        beside = beside > NUC_COLUMN_PIXELS ? beside : NUC_COLUMN_PIXELS;
    }
    p->part = even_piece(p->blocks, (room - beside) / a_block);
    p->columns = large->words;
    uint32_t *after = p->columns + p->part * NUC_COLUMN_BLOCK;
    p->line = 4 * (p->part + 1);
    p->lines = lines ? (int8_t *)after : NULL;
    if (lines)
        after += NUC_COLUMN_PIXELS * (p->part + 1);
    p->sums = apart ? (int32_t *)small->words : (int32_t *)after;
    size_t words = apart ? small->count : large->count - (size_t)(after - large->words);
    p->chunk = words / NUC_COLUMN_PIXELS < (size_t)channels ? even_piece(channels, (int32_t)words / NUC_COLUMN_PIXELS)
                                                            : channels;
}

static struct part part_at(const struct plan *p, int32_t first)
{
    int32_t at = 4 * first / p->run;
    int32_t runs = p->c->kernel[1] / p->width; /* of one row of taps */
    struct part part = {.first = first, .blocks = least(p->part, p->blocks - first)};

    part.elements = least(4 * part.blocks, p->elements - 4 * first);
    part.from = 4 * first - at * p->run;
    part.tap[0] = at / runs;
    part.tap[1] = at % runs;
    return part;
}

/* One row of weights whose last block would reach beyond the weights: that block is copied. */
static void sum_cut(struct nuc_dot d)
{
    int32_t rest = (int32_t)(d.row & 3);
    int8_t tail[4] = {0};

    d.rows = 1;
    d.blocks--;
    if (d.blocks > 0) {
        nuc_dsp_dot(&d);
        d.bias = NULL;
    }
    for (int32_t i = 0; i < rest; i++)
        tail[i] = d.weight[4 * d.blocks + i];
    d.columns += d.blocks * NUC_COLUMN_BLOCK;
    d.blocks = 1;
    d.weight = tail;
    nuc_dsp_dot(&d);
}

/*
 * Sums of output channels [first, last) and one part. The last block of a row may reach into the next rows, against
 * zeros.
 */
static void sum_part(const struct plan *p, const struct part *part, int32_t first, int32_t last, const int8_t *weight)
{
    const int32_t *bias = part->first == 0 && p->c->bias != NULL ? p->c->bias + first : NULL;
    struct nuc_dot d = {p->columns, part->blocks, weight + 4 * part->first, p->row, bias, p->sums, last - first};
    bool to_end = part->first + part->blocks == p->blocks;

    if (to_end && last > p->uncut)
        d.rows = first < p->uncut ? p->uncut - first : 0;
    if (d.rows > 0)
        nuc_dsp_dot(&d);
    for (int32_t o = first + d.rows; o < last; o++) {
        struct nuc_dot cut = d;
        cut.weight += (o - first) * p->row;
        cut.sums += (o - first) * NUC_COLUMN_PIXELS;
        cut.bias = bias != NULL ? bias + (o - first) : NULL;
        sum_cut(cut);
    }
}

/* Five pixels of output channels [first, last). */
static void five_pixels(const struct plan *p, const struct place *at, int32_t first, int32_t last, const int8_t *weight,
                        int8_t *out)
{
    const struct nuc_conv_s8 *c = p->c;

    for (int32_t o = first; o < last; o += p->chunk, weight += p->chunk * p->row) {
        int32_t count = least(p->chunk, last - o);
        if (c->bias == NULL)
            memset(p->sums, 0, (size_t)(count * NUC_COLUMN_PIXELS) * sizeof *p->sums);
        for (int32_t block = 0; block < p->blocks; block += p->part) {
            struct part part = part_at(p, block);
            if (o == first || p->part < p->blocks)
                put_columns(p, &part, at);
            sum_part(p, &part, o, o + count, weight);
        }
        const struct nuc_finish f = {&c->rescale, p->fused, o, count, p->sums, at->pixels, c->out_channels};
        nuc_dsp_finish(&f, out);
    }
}

/* All pixels of one image; `image` and `weight` at the group's first channel. */
static void convolve(const struct plan *p, int32_t first, int32_t last, const int8_t *image, const int8_t *weight,
                     int8_t *out)
{
    const struct nuc_conv_s8 *c = p->c;
    struct place at = {.image = image, .in_y = -c->padding[0], .in_x = -c->padding[1]};

    for (int32_t left = p->out_size[0] * p->out_size[1]; left > 0; left -= at.pixels) {
        at.pixels = least(left, NUC_COLUMN_PIXELS);
        five_pixels(p, &at, first, last, weight, out);
        out += (ptrdiff_t)at.pixels * c->out_channels;
        for (at.x += at.pixels; at.x >= p->out_size[1]; at.x -= p->out_size[1]) {
            at.y++;
            at.in_y += c->stride[0];
        }
        at.in_x = at.x * c->stride[1] - c->padding[1];
    }
}

/* A convolution whose windows are single pixels, one after the other, has images of one row. */
static bool is_pointwise(const struct nuc_conv_s8 *c)
{
    return c->kernel[0] == 1 && c->kernel[1] == 1 && c->stride[0] == 1 && c->stride[1] == 1 && c->padding[0] == 0 &&
           c->padding[1] == 0 && c->out_size[0] == c->in_size[0] && c->out_size[1] == c->in_size[1];
}

static struct plan plan_of(const struct nuc_conv_s8 *c)
{
    struct plan p = {
        .c = c,
        .depth = c->in_channels / c->groups,
        .width = c->groups == 1 && c->dilation[1] == 1 ? c->kernel[1] : 1,
        .offset = nuc_pair(c->input_offset),
    };

    for (int d = 0; d < 2; d++) {
        p.in_size[d] = c->in_size[d];
        p.out_size[d] = c->out_size[d];
    }
    if (is_pointwise(c)) {
        p.in_size[1] = p.out_size[1] = c->in_size[0] * c->in_size[1];
        p.in_size[0] = p.out_size[0] = 1;
    }
    for (int d = 0; d < 2; d++)
        p.last[d] = p.in_size[d] - (c->kernel[d] - 1) * c->dilation[d] - 1;
    p.run = p.width * p.depth;
    p.down = (ptrdiff_t)c->dilation[0] * p.in_size[1] * c->in_channels;
    p.elements = c->kernel[0] * c->kernel[1] * p.depth;
    p.blocks = (p.elements + 3) / 4;
    p.fused = nuc_dsp_fuses(&c->rescale, c->bias, c->out_channels, p.elements);
    return p;
}

void nuc_dsp_conv_channels(const struct nuc_conv_s8 *c, int32_t first, int32_t last, const struct nuc_workspace *space,
                           const int8_t *in, const int8_t *weight, ptrdiff_t row, int8_t *out)
{
    ptrdiff_t image = (ptrdiff_t)c->in_size[0] * c->in_size[1] * c->in_channels;
    ptrdiff_t result = (ptrdiff_t)c->out_size[0] * c->out_size[1] * c->out_channels;
    int32_t a_group = (last - first) / c->groups;
    struct plan p = plan_of(c);

    p.end = in + c->batch * image;
    p.row = row;
    p.uncut = c->out_channels - (int32_t)((-row & 3) + row - 1) / (int32_t)row;
    place_columns(&p, a_group, space);
    memset(p.columns, 0, (size_t)p.part * NUC_COLUMN_BLOCK * sizeof *p.columns);
    if (p.lines != NULL)
        memset(p.lines, 0, (size_t)(NUC_COLUMN_PIXELS * p.line));
    for (int32_t b = 0; b < c->batch; b++) {
        for (int32_t g = 0; g < c->groups; g++) {
            int32_t channel = first + g * a_group;
            convolve(&p, channel, channel + a_group, in + b * image + g * p.depth, weight + g * a_group * row,
                     out + b * result);
        }
    }
}

void nuc_dsp_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    uint32_t stack[STACK_WORDS];
    const struct nuc_workspace space = {stack, STACK_WORDS};

    nuc_dsp_conv_channels(c, 0, c->out_channels, &space, in, weight,
                          c->kernel[0] * c->kernel[1] * (c->in_channels / c->groups), out);
}

#define ONE_CHANNEL_WORDS 640

/* The stack holds the columns, sums and, of as many output channels as fit, weights with taps innermost. */
void nuc_dsp_conv_one_channel(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    uint32_t stack[ONE_CHANNEL_WORDS];
    int32_t taps = c->kernel[0] * c->kernel[1];
    int32_t blocks = (taps + 3) / 4;
    int32_t beside = blocks * NUC_COLUMN_BLOCK + (blocks + 1 + FEW_CHANNELS) * NUC_COLUMN_PIXELS;
    int32_t most = even_piece(c->out_channels, (ONE_CHANNEL_WORDS - beside) / blocks);
    const struct nuc_workspace space = {stack + most * blocks, (size_t)(ONE_CHANNEL_WORDS - most * blocks)};
    struct nuc_conv_s8 dense = *c;

    dense.groups = 1;
    for (int32_t first = 0; first < c->out_channels; first += most) {
        int32_t last = least(first + most, c->out_channels);
        int8_t *row = (int8_t *)stack;
        for (int32_t o = first; o < last; o++) {
            for (int32_t k = 0; k < 4 * blocks; k++)
                *row++ = k < taps ? weight[k * c->out_channels + o] : 0;
        }
        nuc_dsp_conv_channels(&dense, first, last, &space, in, (const int8_t *)stack, 4 * blocks, out);
    }
}
