/*
 * Convolution: columns of five output pixels, then every output channel against them. What does not fit the memory is
 * split: columns into parts, whose sums add up, and output channels into chunks.
 */
#include "device/kernels/dsp/dsp.h"
#include "device/kernels/dsp/dsp_columns.h"
#include "device/kernels/dsp/fused_scale.h"

#define FEW_PIXELS 2 /* that a matrix product is faster for, also when they are left over */
#define FEW_DEPTH 32 /* elements of a pixel that it is not worth that for */

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t between(int32_t low, int32_t value, int32_t high)
{
    return value < low ? low : least(value, high);
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
    ptrdiff_t across;  /* from one tap to the next */
    ptrdiff_t step;    /* from one window to the next */
    uint32_t offset;   /* input offset in both lanes */
    const int8_t *end; /* of the input */
    ptrdiff_t row;     /* of weights */
    int32_t uncut;     /* output channels before those whose last block reaches beyond the weights */

    int32_t part;      /* blocks of a part of the columns, the last one may have fewer */
    int32_t chunk;     /* output channels, the last one may have fewer */
    uint32_t *columns; /* part blocks */
    int8_t *lines;     /* a part of each pixel's column before it is widened; NULL: runs are whole blocks everywhere */
    ptrdiff_t line;    /* from one line to the next */
    int8_t *strip;     /* what five windows take of an input row at the border, or NULL: pixel by pixel there */
    int32_t strip_words;
    int32_t *sums; /* of a chunk, or a table of so many rows */
    int32_t tabled;
    bool fused;
    bool pointwise;
};

/* A part of the columns; where it begins in the window. */
struct part {
    int32_t first, blocks;
    int32_t elements;
    int32_t tap[2]; /* of its first run */
    int32_t from;   /* element of that run */
};

/* Where five windows begin: the column of the output, and in the input. */
struct place {
    const int8_t *image; /* at the group's first channel */
    int32_t x;
    int32_t in_y, in_x;
    int32_t pixels; /* fewer in images that have fewer */
};

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

static inline bool is_inside(const struct plan *p, int32_t in_y, int32_t in_x)
{
    return in_y >= 0 && in_x >= 0 && in_y <= p->last[0] && in_x <= p->last[1];
}

/* The lines to columns; what fills the last block is widened to 0. */
static void widen_lines(const struct plan *p, const struct part *part)
{
    int8_t *line = p->lines;

    for (int32_t i = 0; i < NUC_COLUMN_PIXELS; i++, line += p->line) {
        for (int32_t k = part->elements; (k & 3) != 0; k++)
            line[k] = (int8_t)-p->c->input_offset;
    }
    nuc_dsp_widen_five(p->lines, p->line, p->offset, part->blocks, p->columns);
}

/* Elements from `at` of a part of one pixel's column: `count` from `from` on, or, without it, what is widened to 0. */
static void put(const struct plan *p, int32_t pixel, int32_t at, const int8_t *from, int32_t count)
{
    if (p->lines == NULL) {
        uint32_t *to = p->columns + at / 4 * NUC_COLUMN_BLOCK + pixel;
        if (from != NULL) {
            nuc_dsp_widen(from, p->offset, count >> 2, NUC_COLUMN_PIXELS, to);
            return;
        }
        for (; count > 0; count -= 2, to += NUC_COLUMN_PIXELS)
            *to = 0;
        return;
    }
    int8_t *to = p->lines + pixel * p->line + at;
    if (from != NULL)
        memcpy(to, from, (size_t)count);
    else
        memset(to, -p->c->input_offset, (size_t)count);
}

/* A part of the column of the window at (y, x) of the input, wherever that is. */
static void put_window(const struct plan *p, const struct part *part, const int8_t *image, int32_t y, int32_t x,
                       int32_t pixel)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t at = 0;

    for (struct walk k = walk_of(p, part); k.left > 0; next_run(p, &k)) {
        int32_t in_y = y + k.tap[0] * c->dilation[0];
        int32_t in_x = x + k.tap[1] * c->dilation[1];
        bool there = in_y >= 0 && in_y < p->in_size[0];
        int32_t first = between(0, -in_x, p->width), end = between(0, p->in_size[1] - in_x, p->width); /* taps */
        int32_t left = there ? between(k.from, first * p->depth, k.to) : k.to;
        int32_t right = between(left, end * p->depth, k.to);
        const int8_t *run = image + ((ptrdiff_t)in_y * p->in_size[1] + in_x) * c->in_channels;
        if (left > k.from)
            put(p, pixel, at, NULL, left - k.from);
        if (right > left)
            put(p, pixel, at + left - k.from, run + left, right - left);
        if (k.to > right)
            put(p, pixel, at + right - k.from, NULL, k.to - right);
        at += k.to - k.from;
    }
}

/* A part of the columns, pixel by pixel. */
__attribute__((noinline)) static void put_pixels(const struct plan *p, const struct part *part, const struct place *at)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t x = at->x;
    int32_t in_y = at->in_y;
    int32_t in_x = at->in_x;

    for (int32_t i = 0; i < at->pixels; i++) {
        put_window(p, part, at->image, in_y, in_x, i);
        in_x += c->stride[1];
        if (++x == p->out_size[1]) {
            x = 0;
            in_x = -c->padding[1];
            in_y += c->stride[0];
        }
    }
    if (p->lines != NULL)
        widen_lines(p, part);
}

/* The pixels of an input row that five windows from x on take, with the zero points beside the image. */
static const int8_t *strip_of(const struct plan *p, const int8_t *image, int32_t y, int32_t x)
{
    int32_t pixels = (NUC_COLUMN_PIXELS - 1) * p->c->stride[1] + p->width;
    int32_t left = x < 0 ? -x : 0;
    int32_t right = least(pixels, p->in_size[1] - x);

    memset(p->strip, -p->c->input_offset, (size_t)(pixels * p->depth));
    if (y >= 0 && y < p->in_size[0] && left < right)
        memcpy(p->strip + left * p->depth, image + ((ptrdiff_t)y * p->in_size[1] + x + left) * p->depth,
               (size_t)((right - left) * p->depth));
    return p->strip;
}

/* A part of the columns of five windows in one row, inside the image or with a strip; runs are whole blocks or not. */
static void put_runs(const struct plan *p, const struct part *part, const struct place *at, bool inside)
{
    const int8_t *in = at->image + ((ptrdiff_t)at->in_y * p->in_size[1] + at->in_x) * p->c->in_channels;
    const int8_t *end = inside ? p->end : p->strip + 4 * p->strip_words;
    bool blocks = p->run % 4 == 0;
    uint32_t *to = p->columns;
    int8_t *line = p->lines;

    for (struct walk k = walk_of(p, part); k.left > 0; next_run(p, &k)) {
        const int8_t *from = inside ? in + k.tap[0] * p->down + k.tap[1] * p->across
                                    : strip_of(p, at->image, at->in_y + k.tap[0] * p->c->dilation[0], at->in_x);
        int32_t count = k.to - k.from;
        from += k.from;
        if (blocks) {
            nuc_dsp_widen_five(from, p->step, p->offset, count >> 2, to);
            to += (count >> 2) * NUC_COLUMN_BLOCK;
            continue;
        }
        if (end - from - (NUC_COLUMN_PIXELS - 1) * p->step >= count + 3) {
            nuc_dsp_copy_five(from, p->step, line, p->line, count);
        } else { /* nothing is read beyond */
            for (int32_t i = 0; i < NUC_COLUMN_PIXELS; i++, from += p->step)
                memcpy(line + i * p->line, from, (size_t)count);
        }
        line += count;
    }
    if (!blocks)
        widen_lines(p, part);
}

__attribute__((noinline)) static void put_columns(const struct plan *p, const struct part *part, const struct place *at)
{
    const int32_t more = NUC_COLUMN_PIXELS - 1;
    bool inside = is_inside(p, at->in_y, at->in_x) && at->in_x + more * p->c->stride[1] <= p->last[1];

    if (inside && p->run == 4 * p->blocks && part->blocks == p->blocks && at->x + more < p->out_size[1])
        nuc_dsp_widen_five(at->image + ((ptrdiff_t)at->in_y * p->in_size[1] + at->in_x) * p->c->in_channels, p->step,
                           p->offset, part->blocks, p->columns);
    else if (at->pixels == NUC_COLUMN_PIXELS && at->x + more < p->out_size[1] && (inside || p->strip != NULL))
        put_runs(p, part, at, inside);
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
    int32_t beside = 0, left = room - p->blocks * a_block;

    if (apart && left >= 0 && left < p->strip_words) /* columns in one part are worth more */
        p->strip_words = 0;
    room -= p->strip_words;

    if (!apart) {
        bool fits = p->blocks * a_block + FEW_CHANNELS * NUC_COLUMN_PIXELS <= room;
        int32_t some = least(channels, fits ? FEW_CHANNELS : 3 * FEW_CHANNELS);
        beside = least(some * NUC_COLUMN_PIXELS, (room - a_block) / 2 / NUC_COLUMN_PIXELS * NUC_COLUMN_PIXELS);
        beside = beside > NUC_COLUMN_PIXELS ? beside : NUC_COLUMN_PIXELS;
    }
    p->part = even_piece(p->blocks, (room - beside) / a_block);
    p->columns = large->words;
    p->strip = p->strip_words > 0 ? (int8_t *)(p->columns + p->part * NUC_COLUMN_BLOCK) : NULL;
    uint32_t *after = p->columns + p->part * NUC_COLUMN_BLOCK + p->strip_words;
    p->line = 4 * (p->part + 1);
    p->lines = lines ? (int8_t *)after : NULL;
    if (lines)
        after += NUC_COLUMN_PIXELS * (p->part + 1);
    p->sums = apart ? (int32_t *)small->words : (int32_t *)after;
    size_t words = apart ? small->count : large->count - (size_t)(after - large->words);
    p->chunk = words / NUC_COLUMN_PIXELS < (size_t)channels ? even_piece(channels, (int32_t)words / NUC_COLUMN_PIXELS)
                                                            : channels;
    p->tabled = words / NUC_SCALE_WORDS < (size_t)channels ? (int32_t)words / NUC_SCALE_WORDS : channels;
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

/* The rows of `d` behind the first `o`. */
static struct nuc_dot rows_from(struct nuc_dot d, int32_t o)
{
    d.rows -= o;
    d.weight += o * d.row;
    d.sums += o * NUC_COLUMN_PIXELS;
    d.bias = d.bias != NULL ? d.bias + o : NULL;
    if (d.out != NULL) {
        d.out += o;
        d.multipliers += o;
        d.shifts += o;
    }
    return d;
}

/* Row `o`, whose last block would reach beyond the weights: that block is copied. */
static void sum_cut(const struct nuc_dot *all, int32_t o)
{
    struct nuc_dot d = rows_from(*all, o);
    int32_t rest = (int32_t)(d.row & 3), sums[NUC_COLUMN_PIXELS];
    int8_t tail[4] = {0};

    d.rows = 1;
    d.blocks--;
    if (d.bias != NULL && d.out != NULL)
        d.sums = sums;
    if (d.blocks > 0) {
        int8_t *out = d.out;
        d.out = NULL;
        nuc_dsp_dot(&d);
        d.out = out;
        d.bias = NULL;
    }
    for (int32_t i = 0; i < rest; i++)
        tail[i] = d.weight[4 * d.blocks + i];
    d.columns += d.blocks * NUC_COLUMN_BLOCK;
    d.blocks = 1;
    d.weight = tail;
    nuc_dsp_dot(&d);
}

/* `whole` rows of `d`, and the others, whose last block would reach beyond the weights. */
static void sum_rows(struct nuc_dot *d, int32_t whole)
{
    int32_t rows = d->rows, o = between(0, whole, rows);

    d->rows = o;
    if (o > 0)
        nuc_dsp_dot(d);
    d->rows = rows;
    for (; o < rows; o++)
        sum_cut(d, o);
}

/* Results of `count` output channels from `o` on that are not rescaled in one step. */
static void finish(const struct plan *p, int32_t o, int32_t count, int32_t pixels, int8_t *out)
{
    for (int32_t k = 0; k < count; k++) {
        for (int32_t i = 0; i < pixels; i++)
            out[i * p->c->out_channels + k] =
                nuc_dsp_rescaled(&p->c->rescale, o + k, p->sums[k * NUC_COLUMN_PIXELS + i]);
    }
}

/*
 * Adds a part to the sums of `rows` output channels from o on of all from `first` on. The last block of a row may reach
 * into the next rows, against zeros.
 */
static void sum_part(const struct plan *p, const struct part *part, int32_t first, const struct nuc_dot *all, int32_t o,
                     int32_t rows, bool fused)
{
    bool to_end = part->first + part->blocks == p->blocks;
    struct nuc_dot d = rows_from(*all, o);

    d.rows = rows;
    d.sums = p->sums;
    d.blocks = part->blocks;
    d.weight += 4 * part->first;
    d.bias = part->first == 0 ? d.bias : NULL;
    d.out = to_end && fused ? d.out : NULL;
    sum_rows(&d, to_end ? p->uncut - first - o : rows);
}

/* Five pixels of the output channels from `first` on, which are the rows of `all`. */
__attribute__((noinline)) static void five_pixels(const struct plan *p, const struct place *at, int32_t first,
                                                  const struct nuc_dot *all)
{
    bool fused = p->fused && at->pixels == NUC_COLUMN_PIXELS;

    for (int32_t o = 0; o < all->rows; o += p->chunk) {
        int32_t rows = least(p->chunk, all->rows - o);
        if (all->bias == NULL)
            memset(p->sums, 0, (size_t)(rows * NUC_COLUMN_PIXELS) * sizeof *p->sums);
        for (int32_t block = 0; block < p->blocks; block += p->part) {
            struct part part = part_at(p, block);
            if (o == 0 || p->part < p->blocks)
                put_columns(p, &part, at);
            sum_part(p, &part, first, all, o, rows, fused);
        }
        if (!fused)
            finish(p, first + o, rows, at->pixels, all->out + o);
    }
}

/* All pixels of one image; `image` and `weight` at the group's first channel. The last five may repeat some. */
static void convolve(const struct plan *p, int32_t first, int32_t last, const int8_t *image, const int8_t *weight,
                     int8_t *out)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t n_pixels = p->out_size[0] * p->out_size[1];
    struct place at = {.image = image, .pixels = least(n_pixels, NUC_COLUMN_PIXELS)};
    const struct part all = part_at(p, 0);
    struct nuc_dot d = {
        .columns = p->columns,
        .blocks = p->blocks,
        .weight = weight,
        .row = p->row,
        .bias = c->bias != NULL ? c->bias + first : NULL,
        .sums = p->sums,
        .rows = last - first,
        .out = out + first,
        .step = c->out_channels,
        .multipliers = c->rescale.multipliers + first * c->rescale.step,
        .shifts = c->rescale.shifts + first * c->rescale.step,
        .offset = 2 * c->rescale.offset + 1,
    };
    bool at_once = p->fused && d.bias != NULL && p->part == p->blocks && at.pixels == NUC_COLUMN_PIXELS;
    bool in_line = at_once && p->pointwise && p->run == 4 * p->blocks;
    int32_t whole = p->uncut - first, tabled = between(0, least(whole, p->tabled), d.rows);
    struct nuc_dot rest = rows_from(d, tabled);

    if (at_once) { /* no sums are stored */
        d.rows = tabled;
        nuc_dsp_tabulate(&d, p->sums);
        d.multipliers = p->sums;
        d.shifts = NULL;
    }

    for (int32_t done = 0; done < n_pixels; done += NUC_COLUMN_PIXELS) {
        int32_t pixel = least(done, n_pixels - at.pixels);
        d.out = out + (ptrdiff_t)pixel * c->out_channels + first;
        if (in_line) {
            nuc_dsp_widen_five(image + pixel * p->step, p->step, p->offset, p->blocks, p->columns);
        } else {
            int32_t y = pixel / p->out_size[1];
            at.x = pixel - y * p->out_size[1];
            at.in_y = y * c->stride[0] - c->padding[0];
            at.in_x = at.x * c->stride[1] - c->padding[1];
            if (!at_once) {
                five_pixels(p, &at, first, &d);
                continue;
            }
            put_columns(p, &all, &at);
        }
        if (tabled > 0)
            nuc_dsp_dot(&d);
        rest.out = d.out + tabled;
        if (rest.rows > 0)
            sum_rows(&rest, whole - tabled);
    }
}

/* A convolution whose windows are single pixels, one after the other, has images of one row. */
static bool is_pointwise(const struct nuc_conv_s8 *c)
{
    return c->kernel[0] == 1 && c->kernel[1] == 1 && c->stride[0] == 1 && c->stride[1] == 1 && c->padding[0] == 0 &&
           c->padding[1] == 0 && c->out_size[0] == c->in_size[0] && c->out_size[1] == c->in_size[1];
}

#define MOST_STRIP_WORDS 80

/* A row that no window leaves to the left or right has its strips in the image; too long ones are done without. */
static int32_t strip_words(const struct plan *p)
{
    const struct nuc_conv_s8 *c = p->c;
    int32_t pixels = (NUC_COLUMN_PIXELS - 1) * c->stride[1] + p->width;
    int32_t words = (pixels * p->depth + 3 + 3) / 4; /* runs are copied in words */
    bool rows = c->groups == 1 && p->width == c->kernel[1];
    bool leaves = c->padding[0] > 0 || c->padding[1] > 0 || (p->out_size[0] - 1) * c->stride[0] > p->last[0] ||
                  (p->out_size[1] - 1) * c->stride[1] > p->last[1];

    return rows && leaves && words <= MOST_STRIP_WORDS ? words : 0;
}

static struct plan plan_of(const struct nuc_conv_s8 *c, int32_t last)
{
    struct plan p = {
        .c = c,
        .depth = c->in_channels / c->groups,
        .width = c->groups == 1 && c->dilation[1] == 1 ? c->kernel[1] : 1,
        .offset = nuc_twice(c->input_offset),
        .pointwise = is_pointwise(c),
    };

    for (int d = 0; d < 2; d++) {
        p.in_size[d] = c->in_size[d];
        p.out_size[d] = c->out_size[d];
    }
    if (p.pointwise) {
        p.in_size[1] = p.out_size[1] = c->in_size[0] * c->in_size[1];
        p.in_size[0] = p.out_size[0] = 1;
    }
    for (int d = 0; d < 2; d++)
        p.last[d] = p.in_size[d] - (c->kernel[d] - 1) * c->dilation[d] - 1;
    p.run = p.width * p.depth;
    p.down = (ptrdiff_t)c->dilation[0] * p.in_size[1] * c->in_channels;
    p.across = (ptrdiff_t)c->dilation[1] * c->in_channels;
    p.step = (ptrdiff_t)c->stride[1] * c->in_channels;
    p.elements = c->kernel[0] * c->kernel[1] * p.depth;
    p.blocks = (p.elements + 3) / 4;
    p.strip_words = strip_words(&p);
    p.fused = nuc_dsp_fuses(&c->rescale, c->bias, last, p.elements);
    return p;
}

void nuc_dsp_conv_channels(const struct nuc_conv_s8 *c, int32_t first, int32_t last, const struct nuc_workspace *space,
                           const int8_t *in, const int8_t *weight, ptrdiff_t row, int8_t *out)
{
    ptrdiff_t image = (ptrdiff_t)c->in_size[0] * c->in_size[1] * c->in_channels;
    ptrdiff_t result = (ptrdiff_t)c->out_size[0] * c->out_size[1] * c->out_channels;
    int32_t a_group = (last - first) / c->groups;
    struct plan p = plan_of(c, last);

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

/* Apart from the matrix product, which takes stack of its own. */
__attribute__((noinline)) static void on_stack(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight,
                                               int8_t *out)
{
    uint32_t stack[NUC_WORKSPACE_WORDS];
    const struct nuc_workspace space = {stack, NUC_WORKSPACE_WORDS};

    nuc_dsp_conv_channels(c, 0, c->out_channels, &space, in, weight,
                          c->kernel[0] * c->kernel[1] * (c->in_channels / c->groups), out);
    nuc_dsp_clamp_conv(c, out);
}

/* `pixels` of a pointwise convolution as rows of a matrix. */
__attribute__((noinline)) static void multiply_pixels(const struct nuc_conv_s8 *c, int32_t pixels, const int8_t *in,
                                                      const int8_t *weight, int8_t *out)
{
    const struct nuc_matmul_s8 m = {
        .rows = pixels,
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
    int32_t pixels = c->batch * c->out_size[0] * c->out_size[1], left = pixels % NUC_COLUMN_PIXELS;
    struct nuc_conv_s8 fives;

    if (!is_pointwise(c) || c->groups != 1 || left > FEW_PIXELS ||
        (pixels > FEW_PIXELS && (c->in_channels < FEW_DEPTH || c->in_channels % 4 != 0 || c->batch != 1))) {
        on_stack(c, in, weight, out);
        return;
    }
    pixels -= left;
    if (pixels > 0) {
        fives = *c;
        fives.in_size[0] = fives.out_size[0] = 1;
        fives.in_size[1] = fives.out_size[1] = pixels;
        on_stack(&fives, in, weight, out);
    }
    multiply_pixels(c, left, in + (ptrdiff_t)pixels * c->in_channels, weight,
                    out + (ptrdiff_t)pixels * c->out_channels);
}

#define ONE_CHANNEL_WORDS 608

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
    nuc_dsp_clamp_conv(c, out);
}
