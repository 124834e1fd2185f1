/*
 * Convolution and transposed convolution along one, two or three dimensions, grouped, dilated, with or without batch.
 * Each group is the product
 *
 *     weight [output channels of the group][k]  x  columns [k][output pixels],   k = channels * kernel elements
 *
 * whose columns are gathered some vectors of pixels at a time from a copy of the image with its padding around it. A
 * convolution of single channels adds up its taps where they lie instead. A transposed convolution is the convolution,
 * with stride 1, of the image spread out by its stride with the flipped kernel.
 */
#include <assert.h>
#include <string.h>

#include "eval/eval_call.h"
#include "eval/eval_gemm.h"
#include "eval/eval_order.h"
#include "host/clones.h"

/* Every convolution has these in the same places, and names the others alike. */
#define COMMON(name) NUC_ARG(CONVOLUTION, name)

/* Fewer dimensions are the last ones; the others have size 1. */
enum { DEPTH, HEIGHT, WIDTH, SPATIAL };

/*
 * The padded image of a channel lies apart by phases: what is read together where an output moves by its stride, every
 * second row and column with stride 2, lies side by side. An image that is used in place is one phase.
 */
struct conv {
    bool transposed;
    size_t batch, groups;
    size_t in_channels, out_channels; /* of one group */
    size_t in[SPATIAL], out[SPATIAL], kernel[SPATIAL];
    size_t stride[SPATIAL], dilation[SPATIAL]; /* of the product: stride 1 when transposed */
    size_t spread[SPATIAL];  /* distance of neighbouring inputs in the padded image: 1 unless transposed */
    int64_t origin[SPATIAL]; /* where the first input lies in the padded image; negative: cropped */
    size_t padded[SPATIAL];
    bool single;            /* every output channel has an input channel of its own */
    bool in_place;          /* the padded image is the image; never of single channels */
    size_t phases[SPATIAL]; /* 1 along the depth */
    size_t phase[SPATIAL];  /* size of one */
    size_t channel;         /* floats of a padded channel */
    size_t *rows;           /* [depth * height] where rows of the image lie in one, CROPPED where they do not */
    size_t image, room;     /* floats of the padded image, 0 where there is none, and of what a thread works in */
    size_t k, part;         /* products of a sum, and of a part of it that is summed up by itself */
    size_t *offsets;        /* [k] in the order of the sum: from a pixel's corner, in the padded image of one group */
    size_t *sources;        /* [k] the same products among the k weights of an output channel; NULL: in order */
    struct nuc_order order;
    bool arranged;       /* the weight is used as it is */
    const float *weight; /* rearranged constant weight, or NULL */
    struct nuc_gemm gemm;
};

#define CROPPED SIZE_MAX

/* Floats of a channel, [depth][height][width]. */
static size_t volume(const size_t sizes[SPATIAL])
{
    return sizes[DEPTH] * sizes[HEIGHT] * sizes[WIDTH];
}

/* Offset of a position in the padded image of one channel. */
static size_t padded_offset(const struct conv *v, size_t z, size_t y, size_t x)
{
    size_t phase = y % v->phases[HEIGHT] * v->phases[WIDTH] + x % v->phases[WIDTH];
    size_t row = (z * v->phases[HEIGHT] * v->phases[WIDTH] + phase) * v->phase[HEIGHT] + y / v->phases[HEIGHT];

    return row * v->phase[WIDTH] + x / v->phases[WIDTH];
}

static size_t weights_of(const struct conv *v)
{
    return v->groups * v->out_channels * v->k;
}

/*
 * The weight in the order of the sums, [groups][out][k], from [groups][out][in][taps] or, transposed, from
 * [groups][in][out][taps] with the taps mirrored.
 */
static void arrange_weight(const struct conv *v, const float *weight, float *arranged)
{
    size_t taps = volume(v->kernel);

    for (size_t channel = 0; channel < v->groups * v->out_channels; channel++) {
        size_t group = channel / v->out_channels, o = channel % v->out_channels;
        for (size_t i = 0; i < v->k; i++) {
            size_t c = v->sources[i] / taps, tap = v->sources[i] % taps;
            size_t row =
                v->transposed ? (group * v->in_channels + c) * v->out_channels + o : channel * v->in_channels + c;
            *arranged++ = weight[row * taps + (v->transposed ? taps - 1 - tap : tap)];
        }
    }
}

/* Where an input coordinate lies in the padded image; false when it is cropped. */
static bool padded_at(const struct conv *v, int d, size_t at, size_t *padded)
{
    int64_t place = v->origin[d] + (int64_t)(at * v->spread[d]);

    *padded = (size_t)place;
    return place >= 0 && place < (int64_t)v->padded[d];
}

/* ---- running ---- */

/* Gathered columns stay in the second-level cache. */
#define BLOCK_BYTES ((size_t)256 << 10)

/* Vectors of pixels that are gathered at once: some threes of pairs, as wide tiles have, and a remainder. */
#define LEAST_VECTORS 6
#define MOST_VECTORS 26

/* Output channels computed at a time: their sums stay in the first-level cache. */
#define ROWS ((size_t)4 * NUC_TILE_ROWS)

/* The same of sums of a single channel. */
#define POSITIONS ((size_t)32 * NUC_TAPS_STEP)

/* One image under way. */
struct conv_run {
    const struct nuc_eval_call *call;
    const struct conv *conv;
    const float *in;    /* [channels][depth][height][width] */
    const float *image; /* padded, all channels; not of single channels */
    const float *end;   /* of what may be read of it */
    float *padded;      /* where it is made */
    const float *weight, *bias;
    float *out;
    float *scratch; /* of each thread */
    struct nuc_finish finish;
    bool is_simple; /* `finish` is all that follows */
    size_t step, blocks;
    size_t shares; /* of the output channels that threads take by themselves where there are few blocks */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- padded images ---- */

/* Whole vectors, of which the last one overlaps: no call for the few floats of a row. */
static inline __attribute__((always_inline)) void copy_floats(const float *from, size_t count, float *to)
{
    enum { HALF = NUC_VECTOR / 2 };

    if (count >= NUC_VECTOR) {
        for (size_t i = 0; i + NUC_VECTOR < count; i += NUC_VECTOR)
            memcpy(to + i, from + i, NUC_VECTOR * sizeof *to);
        memcpy(to + count - NUC_VECTOR, from + count - NUC_VECTOR, NUC_VECTOR * sizeof *to);
    } else if (count >= HALF) {
        memcpy(to, from, HALF * sizeof *to);
        memcpy(to + count - HALF, from + count - HALF, HALF * sizeof *to);
    } else {
        for (size_t i = 0; i < count; i++)
            to[i] = from[i];
    }
}

static inline void copy_every_second(const float *from, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[2 * i];
}

/* [depth][height][width] into a channel that holds its padding, which stays. */
NUC_CLONES static void place_channel(const struct conv *v, const float *in, float *padded)
{
    size_t width = v->in[WIDTH], apart = v->phase[HEIGHT] * v->phase[WIDTH], phases = v->phases[WIDTH], at;
    size_t origin = v->origin[WIDTH] < 0 ? 0 : (size_t)v->origin[WIDTH];
    bool fits = v->spread[WIDTH] == 1 && v->origin[WIDTH] >= 0 && width + origin <= v->padded[WIDTH];

    for (size_t i = 0; i < v->in[DEPTH] * v->in[HEIGHT]; i++, in += width) {
        float *row = padded + v->rows[i];
        if (v->rows[i] == CROPPED)
            continue;
        if (fits && phases == 1) {
            copy_floats(in, width, row + origin);
        } else if (fits && phases == 2) {
            copy_every_second(in, (width + 1) / 2, row + origin % 2 * apart + origin / 2);
            copy_every_second(in + 1, width / 2, row + (origin + 1) % 2 * apart + (origin + 1) / 2);
        } else {
            for (size_t x = 0; x < width; x++) {
                if (padded_at(v, WIDTH, x, &at))
                    row[at % phases * apart + at / phases] = in[x];
            }
        }
    }
}

static void place_channels(const void *arg, struct nuc_part part)
{
    const struct conv_run *r = arg;
    const struct conv *v = r->conv;

    memset(r->padded + part.begin * v->channel, 0, (part.end - part.begin) * v->channel * sizeof *r->padded);
    for (size_t i = part.begin; i < part.end; i++)
        place_channel(v, r->in + i * volume(v->in), r->padded + i * v->channel);
}

/* ---- blocks of pixels ---- */

static size_t most_vectors(const struct conv *v)
{
    size_t fit = BLOCK_BYTES / (NUC_VECTOR * sizeof(float)) / (v->k == 0 ? 1 : v->k);

    return fit < LEAST_VECTORS ? LEAST_VECTORS : smaller(fit / 2 * 2, MOST_VECTORS);
}

/* Pixels that lie side by side in the padded image: a vector of them, from where to where in a row of the columns. */
struct place {
    size_t from, to;
};

/* What is copied behind the pixels that are meant is overwritten by those after them. */
static size_t find_places(const struct conv *v, size_t first, size_t count, struct place *places)
{
    size_t x = first % v->out[WIDTH], row = first / v->out[WIDTH];
    size_t y = row % v->out[HEIGHT], z = row / v->out[HEIGHT], n = 0;
    size_t distance = v->in_place ? v->stride[WIDTH] : 1;
    bool dense = v->in_place && distance == 1 && v->stride[HEIGHT] == 1 && v->stride[DEPTH] == 1 &&
                 v->out[WIDTH] == v->padded[WIDTH] && v->out[HEIGHT] == v->padded[HEIGHT];

    for (size_t j = 0; j < count;) {
        size_t from = padded_offset(v, z * v->stride[DEPTH], y * v->stride[HEIGHT], x * v->stride[WIDTH]);
        size_t run = dense ? count : smaller(count - j, v->out[WIDTH] - x);
        for (size_t i = 0; i < run; i += distance == 1 ? NUC_VECTOR : 1)
            places[n++] = (struct place){from + i * distance, j + i};
        j += run;
        x = 0;
        if (++y == v->out[HEIGHT]) {
            y = 0;
            z++;
        }
    }
    return n;
}

/* The columns of a group, [k][columns] and room for a vector. */
NUC_CLONES static void gather(const struct conv *v, const float *image, const float *end, const struct place *places,
                              size_t n, size_t columns, float *panel)
{
    for (size_t i = 0; i < v->k; i++, panel += columns) {
        const float *tap = image + v->offsets[i];
        size_t left = (size_t)(end - tap);
        if (left >= places[n - 1].from + NUC_VECTOR) {
            for (size_t p = 0; p < n; p++)
                memcpy(panel + places[p].to, tap + places[p].from, NUC_VECTOR * sizeof *panel);
            continue;
        }
        for (size_t p = 0; p < n; p++)
            memcpy(panel + places[p].to, tap + places[p].from,
                   smaller(left - places[p].from, NUC_VECTOR) * sizeof *panel);
    }
}

/* to[i] += from[i] */
NUC_CLONES static void add_floats(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

NUC_CLONES static void fill_rows(const struct nuc_block *g, const float *start)
{
    for (size_t row = 0; row < g->rows; row++) {
        for (size_t j = 0; j < g->columns; j++)
            g->out[row * g->columns + j] = start[row];
    }
}

/* The sums of some channels: part by part, when the order has parts. `part` has room for as many sums. */
static void sum_block(const struct conv *v, struct nuc_block g, const float *bias, float *part)
{
    static const float zeros[ROWS] = {0.0f};
    const float *weight = g.a, *panel = g.b;
    float *out = g.out;

    g.start = v->order.bias_first ? bias : zeros;
    if (v->part >= v->k) {
        v->gemm.block(&g);
        return;
    }
    fill_rows(&g, g.start);
    g.start = zeros;
    g.out = part;
    for (size_t at = 0; at < v->k; at += v->part) {
        g.a = weight + at;
        g.b = panel + at * g.columns;
        g.k = smaller(v->k - at, v->part);
        v->gemm.block(&g);
        add_floats(out, part, g.rows * g.columns);
    }
}

NUC_CLONES static void add_bias(const struct nuc_rows *r, float *sums)
{
    for (size_t i = 0; i < r->rows; i++) {
        for (size_t j = 0; j < r->pitch; j++)
            sums[i * r->pitch + j] += r->bias[i * r->bias_step];
    }
}

/* Stores rows of sums, `count` of them with what lies between, that `rows` describes. */
static void finish(const struct conv_run *r, struct nuc_rows rows, float *sums, size_t count)
{
    static const struct nuc_finish nothing;

    if (!r->is_simple) {
        if (rows.bias != NULL)
            add_bias(&rows, sums);
        rows.bias = NULL;
        nuc_eval_finish(r->call, sums, count);
    }
    r->conv->gemm.finish(r->is_simple ? &r->finish : &nothing, &rows);
}

static float bias_of(const struct conv_run *r, size_t channel)
{
    return r->bias == NULL ? 0.0f : r->bias[channel];
}

/* The pixels from `first` on, of the channels [o, end) of a group. */
static void compute_channels(const struct conv_run *r, size_t first, size_t count, size_t o, size_t end,
                             const float *panel, float *sums)
{
    const struct conv *v = r->conv;
    size_t columns = nuc_align_up(count, v->gemm.lanes), pixels = volume(v->out);
    float bias[ROWS];

    for (size_t rows; o < end; o += rows) {
        rows = smaller(end - o, ROWS);
        for (size_t row = 0; row < rows; row++)
            bias[row] = bias_of(r, o + row);
        sum_block(v, (struct nuc_block){r->weight + o * v->k, v->k, panel, v->k, rows, columns, NULL, sums}, bias,
                  sums + ROWS * columns);
        finish(r,
               (struct nuc_rows){rows, count, sums, columns, v->order.bias_first ? NULL : bias, 1,
                                 r->out + o * pixels + first, pixels},
               sums, rows * columns);
    }
}

/* The items are shares of the channels of a block of a group. */
static void compute_blocks(const void *arg, struct nuc_part part)
{
    const struct conv_run *r = arg;
    const struct conv *v = r->conv;
    size_t pixels = volume(v->out), gathered = SIZE_MAX;
    float *panel = r->scratch + part.worker * v->room;
    float *sums = panel + v->room - 2 * ROWS * most_vectors(v) * NUC_VECTOR;

    for (size_t i = part.begin; i < part.end; i++) {
        size_t share = i % r->shares, block = i / r->shares % r->blocks, group = i / r->shares / r->blocks;
        size_t first = block * r->step, count = block + 1 == r->blocks ? pixels - first : r->step;
        struct place places[MOST_VECTORS * NUC_VECTOR];
        if (i / r->shares != gathered) {
            size_t n = find_places(v, first, count, places);
            gather(v, r->image + group * v->in_channels * v->channel, r->end, places, n,
                   nuc_align_up(count, v->gemm.lanes), panel);
        }
        gathered = i / r->shares;
        compute_channels(r, first, count, group * v->out_channels + v->out_channels * share / r->shares,
                         group * v->out_channels + v->out_channels * (share + 1) / r->shares, panel, sums);
    }
}

/* ---- single channels ---- */

/*
 * One channel by itself: sums at all positions of a phase of the padded image, which lie side by side however narrow
 * the output is. Those left of its width are pixels.
 */
static void compute_channel(const struct conv_run *r, size_t channel, const float *image, float *sums)
{
    const struct conv *v = r->conv;
    float bias = bias_of(r, channel), *out = r->out + channel * volume(v->out);
    struct nuc_taps taps = {v->k, v->offsets, r->weight + channel * v->k, v->order.bias_first ? bias : 0.0f};
    size_t width = v->out[WIDTH], pitch = v->phase[WIDTH], total = (v->out[HEIGHT] - 1) * pitch + width;
    size_t most = pitch <= POSITIONS ? POSITIONS / pitch * pitch : POSITIONS;

    for (size_t at = 0, count; at < total; at += count) {
        size_t x = at % pitch, left = most < pitch ? pitch - x : total - at;
        count = smaller(left, most);
        if (x >= width)
            continue;
        v->gemm.taps(&taps, image + at, nuc_align_up(count, NUC_TAPS_STEP), sums);
        finish(r,
               (struct nuc_rows){(count + pitch - 1) / pitch, smaller(width - x, count), sums, smaller(pitch, count),
                                 v->order.bias_first ? NULL : &bias, 0, out + at / pitch * width + x, width},
               sums, count);
    }
}

static void compute_single_channels(const void *arg, struct nuc_part part)
{
    const struct conv_run *r = arg;
    const struct conv *v = r->conv;
    float *padded = r->scratch + part.worker * v->room, *sums = padded + v->room - POSITIONS;

    memset(padded, 0, v->room * sizeof *padded);
    for (size_t i = part.begin; i < part.end; i++) {
        place_channel(v, r->in + i * volume(v->in), padded);
        compute_channel(r, i, padded, sums);
    }
}

/* ---- images ---- */

static void run_image(struct conv_run *r)
{
    const struct conv *v = r->conv;
    struct nuc_pool *pool = r->call->pool;
    double cost = (double)weights_of(v) * (double)volume(v->out);
    size_t channels = v->groups * v->in_channels;

    if (r->blocks == 0)
        return;
    if (v->single) {
        nuc_parallel_for(pool, v->groups, cost, compute_single_channels, r);
        return;
    }
    r->image = r->in;
    r->end = r->in + channels * v->channel;
    if (!v->in_place) {
        nuc_parallel_for(pool, channels, (double)channels * (double)v->channel, place_channels, r);
        r->image = r->padded;
        r->end = r->padded + channels * v->channel + NUC_VECTOR;
    }
    nuc_parallel_for(pool, v->groups * r->blocks * r->shares, cost, compute_blocks, r);
}

static void run(const struct nuc_eval_call *c)
{
    const struct conv *v = c->state;
    struct conv_run r = {.call = c,
                         .conv = v,
                         .in = nuc_eval_in(c, COMMON(input)),
                         .weight = v->weight != NULL ? v->weight : nuc_eval_in(c, COMMON(weight)),
                         .bias = nuc_eval_in(c, COMMON(bias)),
                         .out = c->out[0],
                         .scratch = c->scratch};

    r.padded = r.scratch + v->room * nuc_pool_threads(c->pool);
    if (v->weight == NULL && !v->arranged) {
        arrange_weight(v, r.weight, r.padded + v->image);
        r.weight = r.padded + v->image;
    }
    /* All blocks have `step` pixels but the last one, which may have more, up to most_vectors(). */
    size_t most = most_vectors(v), step = most / LEAST_VECTORS * LEAST_VECTORS;
    size_t vectors = (volume(v->out) + NUC_VECTOR - 1) / NUC_VECTOR, threads = nuc_pool_threads(c->pool);
    r.step = step * NUC_VECTOR;
    r.blocks = vectors == 0 ? 0 : 1 + (vectors > most ? (vectors - most + step - 1) / step : 0);
    r.shares = 1;
    while (threads > 1 && v->groups * r.blocks * r.shares < 4 * threads && 2 * r.shares * ROWS <= v->out_channels)
        r.shares *= 2;
    r.is_simple = nuc_eval_finish_of(c, &r.finish);
    for (size_t n = 0; n < v->batch; n++) {
        run_image(&r);
        r.in += v->groups * v->in_channels * volume(v->in);
        r.out += v->groups * v->out_channels * volume(v->out);
    }
}

/* ---- planning ---- */

#define MAX_GEOMETRY ((int64_t)1 << 30)

/* Kernel element that stands at place `i` among the kernel elements. */
static size_t tap_at(const struct conv *v, size_t i)
{
    size_t rows = v->kernel[DEPTH] * v->kernel[HEIGHT];

    if (v->order.taps == NUC_COLUMNS_OUTERMOST)
        return i % rows * v->kernel[WIDTH] + i / rows;
    return v->order.taps == NUC_TAPS_BACKWARDS ? volume(v->kernel) - 1 - i : i;
}

/* Which weight of a channel the product at place `i` of the sum has: block of channels by block of channels. */
static size_t source_of(const struct conv *v, size_t i)
{
    size_t taps = volume(v->kernel), block = v->order.block == 0 ? v->in_channels : v->order.block;
    size_t first = i / (block * taps) * block, at = i % (block * taps);
    size_t channels = v->in_channels - first < block ? v->in_channels - first : block;

    if (v->order.taps == NUC_CHANNELS_OUTERMOST)
        return first * taps + at;
    return (first + at % channels) * taps + tap_at(v, at / channels);
}

static size_t offset_of(const struct conv *v, size_t source)
{
    size_t tap = source % volume(v->kernel), x = tap % v->kernel[WIDTH], y = tap / v->kernel[WIDTH] % v->kernel[HEIGHT];
    size_t z = tap / v->kernel[WIDTH] / v->kernel[HEIGHT];

    return source / volume(v->kernel) * v->channel +
           padded_offset(v, z * v->dilation[DEPTH], y * v->dilation[HEIGHT], x * v->dilation[WIDTH]);
}

/* Products of two such numbers stay inside int64. */
static void check_range(const struct nuc_eval_call *c, const char *what, int64_t value)
{
    if (value > MAX_GEOMETRY)
        nuc_eval_fail(c, "%s %lld is above %lld", what, (long long)value, (long long)MAX_GEOMETRY);
}

/* Size of the padded image: exactly what the output reads, at least one. */
static void set_geometry(struct nuc_eval_call *c, struct conv *v, const int64_t stride[SPATIAL],
                         const int64_t padding[SPATIAL], const int64_t dilation[SPATIAL])
{
    v->in_place = true;
    for (int d = DEPTH; d < SPATIAL; d++) {
        check_range(c, "stride", stride[d]);
        check_range(c, "padding", padding[d]);
        check_range(c, "dilation", dilation[d]);
        check_range(c, "kernel size", (int64_t)v->kernel[d]);
        int64_t reach = dilation[d] * ((int64_t)v->kernel[d] - 1);
        v->dilation[d] = (size_t)dilation[d];
        v->stride[d] = v->transposed ? 1 : (size_t)stride[d];
        v->spread[d] = v->transposed ? (size_t)stride[d] : 1;
        v->origin[d] = v->transposed ? reach - padding[d] : padding[d];
        v->padded[d] = (v->out[d] == 0 ? 0 : (v->out[d] - 1) * v->stride[d]) + (size_t)reach + 1;
        if (!v->transposed && padding[d] == 0 && v->padded[d] <= v->in[d])
            v->padded[d] = v->in[d];
        v->in_place = v->in_place && v->origin[d] == 0 && v->spread[d] == 1 && v->padded[d] == v->in[d];
    }
}

/* How the padded image lies. */
static void set_layout(struct nuc_eval_call *c, struct conv *v)
{
    size_t rows = v->in[DEPTH] * v->in[HEIGHT], z, y;

    v->single = v->in_channels == 1 && v->out_channels == 1 && v->part >= v->k && v->padded[DEPTH] == 1;
    v->in_place = v->in_place && !v->single;
    v->channel = v->padded[DEPTH];
    for (int d = DEPTH; d < SPATIAL; d++) {
        v->phases[d] = d == DEPTH || v->in_place || v->out[d] < 2 ? 1 : v->stride[d];
        v->phase[d] = (v->padded[d] + v->phases[d] - 1) / v->phases[d];
        if (d != DEPTH && (!nuc_mul_size(v->channel, v->phases[d], &v->channel) ||
                           !nuc_mul_size(v->channel, v->phase[d], &v->channel)))
            nuc_eval_fail(c, "the padded input is too large");
    }
    v->rows = nuc_alloc_array(c->cx, v->in_place ? 0 : rows, sizeof *v->rows);
    for (size_t i = 0; !v->in_place && i < rows; i++) {
        bool inside = padded_at(v, DEPTH, i / v->in[HEIGHT], &z) && padded_at(v, HEIGHT, i % v->in[HEIGHT], &y);
        v->rows[i] = inside ? padded_offset(v, z, y, 0) : CROPPED;
    }
}

/* Sets `image` and `room`; false when they are more than there can be. */
static bool set_scratch(struct conv *v)
{
    size_t columns = most_vectors(v) * NUC_VECTOR;

    v->image = 0;
    if (v->single)
        return nuc_add_size(v->channel, NUC_TAPS_STEP + POSITIONS, &v->room);
    if (!v->in_place && (!nuc_mul_size(v->channel, v->groups * v->in_channels, &v->image) ||
                         !nuc_add_size(v->image, NUC_VECTOR, &v->image)))
        return false;
    return nuc_mul_size(v->k, columns, &v->room) &&
           nuc_add_size(v->room, 2 * NUC_VECTOR + 2 * ROWS * columns, &v->room);
}

static uint32_t position(const struct nuc_eval_call *c, const char *name)
{
    return (uint32_t)nuc_schema_arg_index(nuc_op_schema(c->node->op), name);
}

/* The last `spatial` of three numbers; a single number stands for all of them. */
static void read_spatial(const struct nuc_eval_call *c, const char *name, uint32_t spatial, int64_t out[SPATIAL])
{
    const struct nuc_arg *a = nuc_arg_at(c->node, position(c, name));

    for (uint32_t i = 0; i < spatial; i++)
        out[SPATIAL - spatial + i] = a->u.ints[a->count == 1 ? 0 : i];
}

/* Sizes along the dimensions of space, and the number of channels in front of them. */
static size_t read_sizes(const struct nuc_meta *m, uint32_t spatial, size_t sizes[SPATIAL])
{
    for (uint32_t d = DEPTH; d < SPATIAL; d++)
        sizes[d] = 1;
    for (uint32_t i = 0; i < spatial; i++)
        sizes[SPATIAL - 1 - i] = (size_t)m->sizes[m->rank - 1 - i];
    return (size_t)m->sizes[m->rank - spatial - 1];
}

/* "valid": none; "same": what keeps the size, the odd element after the input. The result says what follows it. */
static void read_padding(const struct nuc_eval_call *c, const struct conv *v, uint32_t spatial,
                         const int64_t dilation[SPATIAL], int64_t padding[SPATIAL])
{
    const struct nuc_arg *a = nuc_arg_at(c->node, COMMON(padding));

    if (a->kind != NUC_ARG_STRING) {
        read_spatial(c, "padding", spatial, padding);
        return;
    }
    for (uint32_t d = DEPTH; strcmp(a->u.string, "same") == 0 && d < SPATIAL; d++) {
        check_range(c, "dilation", dilation[d]);
        padding[d] = dilation[d] * ((int64_t)v->kernel[d] - 1) / 2;
    }
}

static void set_order(struct nuc_eval_call *c, struct conv *v, const int64_t stride[SPATIAL])
{
    const struct nuc_meta *in = nuc_eval_in_meta(c, COMMON(input)), *weight = nuc_eval_in_meta(c, COMMON(weight));
    struct nuc_conv_facts facts = {.channels_last = nuc_is_channels_last(in) || nuc_is_channels_last(weight),
                                   .transposed = v->transposed,
                                   .batch = v->batch,
                                   .groups = v->groups,
                                   .in_channels = v->in_channels,
                                   .out_channels = v->out_channels,
                                   .in_elements = (size_t)nuc_elements(in)};

    for (uint32_t d = DEPTH; d < SPATIAL; d++) {
        facts.kernel[d] = v->kernel[d];
        facts.stride[d] = (size_t)stride[d];
        facts.dilation[d] = v->dilation[d];
        facts.out[d] = v->out[d];
    }
    v->order = nuc_conv_order(&facts);
    v->gemm = nuc_gemm_select(v->order.fused, false);
}

static void prepare(struct nuc_eval_call *c)
{
    const struct nuc_meta *weight = nuc_eval_in_meta(c, COMMON(weight)), *in = nuc_eval_in_meta(c, COMMON(input));
    int64_t stride[SPATIAL] = {1, 1, 1}, padding[SPATIAL] = {0, 0, 0}, dilation[SPATIAL] = {1, 1, 1};
    uint32_t spatial = weight->rank - 2u;
    struct conv *v = nuc_alloc(c->cx, sizeof *v);

    assert(weight->rank >= 3 && weight->rank <= 2 + SPATIAL);
    for (uint32_t arg = COMMON(input); arg <= COMMON(bias); arg++) {
        if (arg != COMMON(bias) || nuc_eval_has_in(c, arg))
            nuc_eval_expect_float(c, arg);
    }
    v->transposed = c->node->op == NUC_OP_CONV_TRANSPOSE1D || c->node->op == NUC_OP_CONV_TRANSPOSE2D ||
                    c->node->op == NUC_OP_CONV_TRANSPOSE3D ||
                    (c->node->op == NUC_OP_CONVOLUTION && nuc_flag(c->node, NUC_ARG(CONVOLUTION, transposed)));
    v->batch = in->rank == spatial + 2 ? (size_t)in->sizes[0] : 1;
    v->groups = (size_t)nuc_integer(c->node, position(c, "groups"), 1);
    assert(v->groups >= 1);
    v->in_channels = read_sizes(in, spatial, v->in) / v->groups;
    v->out_channels = read_sizes(nuc_eval_result(c), spatial, v->out) / v->groups;
    read_sizes(weight, spatial, v->kernel);
    read_spatial(c, "stride", spatial, stride);
    read_spatial(c, "dilation", spatial, dilation);
    read_padding(c, v, spatial, dilation, padding);
    set_geometry(c, v, stride, padding, dilation);
    set_order(c, v, stride);
    size_t taps = volume(v->kernel);
    v->k = v->in_channels * taps;
    v->part = v->order.tap_sums ? v->in_channels : (v->order.block == 0 ? v->in_channels : v->order.block) * taps;
    set_layout(c, v);
    v->offsets = nuc_alloc_array(c->cx, v->k, sizeof *v->offsets);
    v->arranged = !v->transposed;
    for (size_t i = 0; i < v->k; i++) {
        v->offsets[i] = offset_of(v, source_of(v, i));
        v->arranged = v->arranged && source_of(v, i) == i;
    }
    if (!v->arranged) {
        v->sources = nuc_alloc_array(c->cx, v->k, sizeof *v->sources);
        for (size_t i = 0; i < v->k; i++)
            v->sources[i] = source_of(v, i);
    }
    /* A constant weight is rearranged once. */
    if (!v->arranged && nuc_eval_is_constant_in(c, COMMON(weight))) {
        float *constant = nuc_alloc_array(c->cx, weights_of(v), sizeof *constant);
        arrange_weight(v, nuc_eval_in(c, COMMON(weight)), constant);
        v->weight = constant;
    }
    /* A thread's room each, the padded image, the rearranged weight. */
    size_t floats, arranged = !v->arranged && v->weight == NULL ? weights_of(v) : 0;
    if (!set_scratch(v) || !nuc_mul_size(v->room, nuc_pool_threads(c->pool), &floats) ||
        !nuc_add_size(floats, v->image, &floats) || !nuc_add_size(floats, arranged, &floats) ||
        !nuc_mul_size(floats, sizeof(float), &floats))
        nuc_eval_fail(c, "the padded input is too large");
    c->room_size = v->room * sizeof(float);
    c->scratch_size = (v->image + arranged) * sizeof(float);
    c->state = v;
}

const struct nuc_eval_op nuc_eval_conv = {.prepare = prepare, .run = run, .finishes = true};
