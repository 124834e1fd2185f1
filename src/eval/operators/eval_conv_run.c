/* The loops of a convolution that is planned: padded images, blocks of pixels, single channels. */
#include <string.h>

#include "eval/operators/eval_conv_run.h"
#include "host/clones.h"

/*
 * The weight in the order of the sums, [groups][out][k], from [groups][out][in][taps] or, transposed, from
 * [groups][in][out][taps] with the taps mirrored.
 */
void nuc_conv_arrange(const struct conv *v, const float *weight, float *arranged)
{
    size_t taps = nuc_conv_volume(v->kernel);

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

bool nuc_conv_padded_at(const struct conv *v, int d, size_t at, size_t *padded)
{
    int64_t place = v->origin[d] + (int64_t)(at * v->spread[d]);

    *padded = (size_t)place;
    return place >= 0 && place < (int64_t)v->padded[d];
}

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
        if (v->rows[i] == NUC_CROPPED)
            continue;
        if (fits && phases == 1) {
            copy_floats(in, width, row + origin);
        } else if (fits && phases == 2) {
            copy_every_second(in, (width + 1) / 2, row + origin % 2 * apart + origin / 2);
            copy_every_second(in + 1, width / 2, row + (origin + 1) % 2 * apart + (origin + 1) / 2);
        } else {
            for (size_t x = 0; x < width; x++) {
                if (nuc_conv_padded_at(v, WIDTH, x, &at))
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
        place_channel(v, r->in + i * nuc_conv_volume(v->in), r->padded + i * v->channel);
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
        size_t from = nuc_conv_offset(v, z * v->stride[DEPTH], y * v->stride[HEIGHT], x * v->stride[WIDTH]);
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
    size_t columns = nuc_align_up(count, v->gemm.lanes), pixels = nuc_conv_volume(v->out);
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
    size_t pixels = nuc_conv_volume(v->out), gathered = SIZE_MAX;
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
    float bias = bias_of(r, channel), *out = r->out + channel * nuc_conv_volume(v->out);
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
        place_channel(v, r->in + i * nuc_conv_volume(v->in), padded);
        compute_channel(r, i, padded, sums);
    }
}

/* ---- images ---- */

bool nuc_conv_set_scratch(struct conv *v)
{
    size_t columns = most_vectors(v) * NUC_VECTOR, channel = v->padded[DEPTH];

    for (int d = HEIGHT; d < SPATIAL; d++) {
        if (!nuc_mul_size(channel, v->phases[d], &channel) || !nuc_mul_size(channel, v->phase[d], &channel))
            return false;
    }
    v->image = 0;
    if (v->single)
        return nuc_add_size(channel, NUC_TAPS_STEP + POSITIONS, &v->room);
    if (!v->in_place && (!nuc_mul_size(channel, v->groups * v->in_channels, &v->image) ||
                         !nuc_add_size(v->image, NUC_VECTOR, &v->image)))
        return false;
    return nuc_mul_size(v->k, columns, &v->room) &&
           nuc_add_size(v->room, 2 * NUC_VECTOR + 2 * ROWS * columns, &v->room);
}

static void run_image(struct conv_run *r)
{
    const struct conv *v = r->conv;
    struct nuc_pool *pool = r->call->pool;
    double cost = (double)nuc_conv_weights(v) * (double)nuc_conv_volume(v->out);
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

void nuc_conv_run(const struct nuc_eval_call *c)
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
        nuc_conv_arrange(v, r.weight, r.padded + v->image);
        r.weight = r.padded + v->image;
    }
    /* All blocks have `step` pixels but the last one, which may have more, up to most_vectors(). */
    size_t most = most_vectors(v), step = most / LEAST_VECTORS * LEAST_VECTORS;
    size_t vectors = (nuc_conv_volume(v->out) + NUC_VECTOR - 1) / NUC_VECTOR, threads = nuc_pool_threads(c->pool);
    r.step = step * NUC_VECTOR;
    r.blocks = vectors == 0 ? 0 : 1 + (vectors > most ? (vectors - most + step - 1) / step : 0);
    r.shares = 1;
    while (threads > 1 && v->groups * r.blocks * r.shares < 4 * threads && 2 * r.shares * ROWS <= v->out_channels)
        r.shares *= 2;
    r.is_simple = nuc_eval_finish_of(c, &r.finish);
    for (size_t n = 0; n < v->batch; n++) {
        run_image(&r);
        r.in += v->groups * v->in_channels * nuc_conv_volume(v->in);
        r.out += v->groups * v->out_channels * nuc_conv_volume(v->out);
    }
}
