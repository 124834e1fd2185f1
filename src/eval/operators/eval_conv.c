/*
 * Convolution and transposed convolution along one, two or three dimensions, grouped, dilated, with or without batch.
 * Each group is the product
 *
 *     weight [output channels of the group][k]  x  columns [k][output pixels],   k = channels * kernel elements
 *
 * whose columns are gathered sixteen pixels at a time from a copy of the image with its padding around it. A transposed
 * convolution is the convolution, with stride 1, of the image spread out by its stride with the flipped kernel.
 */
#include <assert.h>
#include <string.h>

#include "eval/eval_gemm.h"
#include "eval/eval_order.h"
#include "eval/eval_private.h"
#include "host/clones.h"

/* Every convolution has these in the same places, and names the others alike. */
#define COMMON(name) NUC_ARG(CONVOLUTION, name)

/* Fewer dimensions are the last ones; the others have size 1. */
enum { DEPTH, HEIGHT, WIDTH, SPATIAL };

#define MAX_GEOMETRY ((int64_t)1 << 30)

#define QUARTER (NUC_TILE_COLUMNS / 4)

/* Sums of a single channel kept at a time: 2 KB of the first-level cache. */
#define POSITIONS 512

struct conv {
    bool transposed;
    size_t batch, groups;
    size_t in_channels, out_channels; /* of one group */
    size_t in[SPATIAL], out[SPATIAL], kernel[SPATIAL];
    size_t stride[SPATIAL], dilation[SPATIAL]; /* of the product: stride 1 when transposed */
    size_t spread[SPATIAL];  /* distance of neighbouring inputs in the padded image: 1 unless transposed */
    int64_t origin[SPATIAL]; /* where the first input lies in the padded image; negative: cropped */
    size_t padded[SPATIAL];
    bool in_place;  /* the padded image is the image */
    size_t k, part; /* products of a sum, and of a part of it that is summed up by itself */
    struct tap {
        size_t offset; /* from a pixel's corner, in the padded image of one group */
        size_t source; /* among the k weights of an output channel */
    } * taps;          /* [k] in the order of the sum */
    size_t *offsets;   /* of the taps */
    struct nuc_order order;
    bool arranged;       /* the weight is used as it is */
    const float *weight; /* rearranged constant weight, or NULL */
    struct nuc_gemm gemm;
};

/* One image under way. */
struct conv_run {
    const struct conv *conv;
    const float *image; /* padded, all channels */
    const float *weight, *bias;
    float *out;
    float *panels; /* [threads][k][16] */
};

static size_t volume(const size_t sizes[SPATIAL])
{
    return sizes[DEPTH] * sizes[HEIGHT] * sizes[WIDTH];
}

/* Offset of a position in the padded image of one channel. */
static size_t offset_of(const struct conv *v, size_t z, size_t y, size_t x)
{
    return (z * v->padded[HEIGHT] + y) * v->padded[WIDTH] + x;
}

static size_t weight_elements(const struct conv *v)
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
            size_t c = v->taps[i].source / taps, tap = v->taps[i].source % taps;
            size_t row =
                v->transposed ? (group * v->in_channels + c) * v->out_channels + o : channel * v->in_channels + c;
            *arranged++ = weight[row * taps + (v->transposed ? taps - 1 - tap : tap)];
        }
    }
}

/* Tap `tap` of channel `ch`, at position `i` of the sum. */
static void set_tap(struct conv *v, size_t i, size_t ch, size_t tap)
{
    size_t x = tap % v->kernel[WIDTH], y = tap / v->kernel[WIDTH] % v->kernel[HEIGHT];
    size_t z = tap / v->kernel[WIDTH] / v->kernel[HEIGHT];

    v->taps[i].source = ch * volume(v->kernel) + tap;
    v->taps[i].offset =
        ch * volume(v->padded) + offset_of(v, z * v->dilation[DEPTH], y * v->dilation[HEIGHT], x * v->dilation[WIDTH]);
    v->offsets[i] = v->taps[i].offset;
    v->arranged = v->arranged && v->taps[i].source == i;
}

/* Kernel element that stands at place `i` among the kernel elements. */
static size_t tap_at(const struct conv *v, size_t i)
{
    size_t rows = v->kernel[DEPTH] * v->kernel[HEIGHT];

    if (v->order.taps == NUC_COLUMNS_OUTERMOST)
        return i % rows * v->kernel[WIDTH] + i / rows;
    return v->order.taps == NUC_TAPS_BACKWARDS ? volume(v->kernel) - 1 - i : i;
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

/* A constant weight is rearranged once. */
static void set_weight(struct nuc_eval_call *c, struct conv *v)
{
    if (v->arranged || !nuc_eval_is_constant_in(c, COMMON(weight)))
        return;
    float *weight = nuc_alloc_array(c->cx, weight_elements(v), sizeof *weight);
    arrange_weight(v, nuc_eval_in(c, COMMON(weight)), weight);
    v->weight = weight;
}

/* Panels, padded image, rearranged weight. */
static size_t scratch_size(const struct nuc_eval_call *c, const struct conv *v)
{
    size_t image = 0, size, bytes;
    size_t panels = nuc_pool_threads(c->pool) * v->k * NUC_TILE_COLUMNS;
    size_t arranged = !v->arranged && v->weight == NULL ? weight_elements(v) : 0;

    bool fits = v->in_place || (nuc_mul_size(v->padded[DEPTH], v->padded[HEIGHT], &image) &&
                                nuc_mul_size(image, v->padded[WIDTH], &image) &&
                                nuc_mul_size(image, v->groups * v->in_channels, &image));
    if (!fits || !nuc_add_size(panels + arranged, image, &size) || !nuc_mul_size(size, sizeof(float), &bytes))
        nuc_eval_fail(c, "the padded input is too large");
    return bytes;
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

static bool is_transposed(const struct nuc_node *node)
{
    return node->op == NUC_OP_CONV_TRANSPOSE1D || node->op == NUC_OP_CONV_TRANSPOSE2D ||
           node->op == NUC_OP_CONV_TRANSPOSE3D ||
           (node->op == NUC_OP_CONVOLUTION && nuc_flag(node, NUC_ARG(CONVOLUTION, transposed)));
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
    v->transposed = is_transposed(c->node);
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
    /* The products of each sum in their order, block of channels by block of channels. */
    size_t taps = volume(v->kernel), at = 0;
    size_t block = v->order.block == 0 ? v->in_channels : v->order.block;
    v->k = v->in_channels * taps;
    v->part = v->order.tap_sums ? v->in_channels : block * taps;
    v->taps = nuc_alloc_array(c->cx, v->k, sizeof *v->taps);
    v->offsets = nuc_alloc_array(c->cx, v->k, sizeof *v->offsets);
    v->arranged = !v->transposed;
    for (size_t first = 0; first < v->in_channels; first += block) {
        size_t channels = v->in_channels - first < block ? v->in_channels - first : block;
        for (size_t i = 0; i < channels * taps; i++) {
            if (v->order.taps == NUC_CHANNELS_OUTERMOST)
                set_tap(v, at++, first + i / taps, i % taps);
            else
                set_tap(v, at++, first + i % channels, tap_at(v, i / channels));
        }
    }
    set_weight(c, v);
    c->scratch_size = scratch_size(c, v);
    c->state = v;
}

/* One row of an image, to where it lies in the padded row. */
static void place_row(const struct conv *v, const float *row, float *padded)
{
    if (v->spread[WIDTH] == 1 && v->origin[WIDTH] >= 0) {
        size_t origin = (size_t)v->origin[WIDTH], room = v->padded[WIDTH] > origin ? v->padded[WIDTH] - origin : 0;
        memcpy(padded + origin, row, (v->in[WIDTH] < room ? v->in[WIDTH] : room) * sizeof *row);
        return;
    }
    for (size_t x = 0; x < v->in[WIDTH]; x++) {
        int64_t at = v->origin[WIDTH] + (int64_t)(x * v->spread[WIDTH]);
        if (at >= 0 && at < (int64_t)v->padded[WIDTH])
            padded[at] = row[x];
    }
}

/* Where an input coordinate lies in the padded image; false when it is cropped. */
static bool padded_at(const struct conv *v, int d, size_t at, size_t *padded)
{
    int64_t place = v->origin[d] + (int64_t)(at * v->spread[d]);

    *padded = (size_t)place;
    return place >= 0 && place < (int64_t)v->padded[d];
}

/* [channels][depth][height][width] into a zeroed image with its padding. */
static void place_image(const struct conv *v, const float *image, float *padded)
{
    size_t channels = v->groups * v->in_channels, z, y;

    memset(padded, 0, channels * volume(v->padded) * sizeof *padded);
    for (size_t ch = 0; ch < channels; ch++) {
        for (size_t row = 0; row < v->in[DEPTH] * v->in[HEIGHT]; row++, image += v->in[WIDTH]) {
            if (padded_at(v, DEPTH, row / v->in[HEIGHT], &z) && padded_at(v, HEIGHT, row % v->in[HEIGHT], &y))
                place_row(v, image, padded + ch * volume(v->padded) + offset_of(v, z, y, 0));
        }
    }
}

/* Corners in the padded image of the pixels from `first` on; after the last pixel they repeat pixel 0. */
static void find_corners(const struct conv *v, size_t first, size_t count, size_t corners[NUC_TILE_COLUMNS])
{
    size_t x = first % v->out[WIDTH], row = first / v->out[WIDTH];
    size_t y = row % v->out[HEIGHT], z = row / v->out[HEIGHT];

    memset(corners, 0, NUC_TILE_COLUMNS * sizeof *corners);
    for (size_t j = 0; j < count; j++) {
        corners[j] = offset_of(v, z * v->stride[DEPTH], y * v->stride[HEIGHT], x * v->stride[WIDTH]);
        if (++x < v->out[WIDTH])
            continue;
        x = 0;
        if (++y == v->out[HEIGHT]) {
            y = 0;
            z++;
        }
    }
}

/* Neighbouring pixels are neighbours in the padded image too. */
static inline __attribute__((always_inline)) bool are_dense(const size_t *corners, size_t count)
{
    for (size_t j = 1; j < count; j++) {
        if (corners[j] != corners[0] + j)
            return false;
    }
    return true;
}

/* One row of four columns, copied at once where the pixels lie side by side. */
static inline __attribute__((always_inline)) void gather_quarter(const struct conv *v, const float *image,
                                                                 const size_t *corners, float *panel)
{
    const size_t *offsets = v->offsets, k = v->k;

    if (are_dense(corners, QUARTER)) {
        for (size_t i = 0; i < k; i++)
            memcpy(panel + i * NUC_TILE_COLUMNS, image + offsets[i] + corners[0], QUARTER * sizeof *panel);
        return;
    }
    for (size_t i = 0; i < k; i++, panel += NUC_TILE_COLUMNS) {
        const float *tap = image + offsets[i];
        for (size_t j = 0; j < QUARTER; j++)
            panel[j] = tap[corners[j]];
    }
}

/* The columns of the pixels from `first` on. */
static inline __attribute__((always_inline)) void gather_panel(const struct conv *v, const float *image, size_t first,
                                                               size_t count, float *panel)
{
    size_t corners[NUC_TILE_COLUMNS];
    const size_t *offsets = v->offsets, k = v->k;

    find_corners(v, first, count, corners);
    if (are_dense(corners, NUC_TILE_COLUMNS)) {
        for (size_t i = 0; i < k; i++)
            memcpy(panel + i * NUC_TILE_COLUMNS, image + offsets[i] + corners[0], NUC_TILE_COLUMNS * sizeof *panel);
        return;
    }
    for (size_t j = 0; j < NUC_TILE_COLUMNS; j += QUARTER)
        gather_quarter(v, image, corners + j, panel + j);
}

static float bias_of(const struct conv_run *r, size_t channel)
{
    return r->bias == NULL ? 0.0f : r->bias[channel];
}

/* Every row starts with `start[row]`. */
static inline __attribute__((always_inline)) void fill_tile(float *tile, const float *start, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        for (size_t j = 0; j < NUC_TILE_COLUMNS; j++)
            tile[row * NUC_TILE_COLUMNS + j] = start[row];
    }
}

/* The sums of sixteen pixels and `rows` channels: part by part, when the order has parts. */
static inline __attribute__((always_inline)) void
sum_tile(const struct conv *v, const float *weight, const float *panel, size_t rows, const float *bias, float *tile)
{
    static const float zeros[NUC_TILE_ROWS] = {0.0f};
    float part[NUC_TILE_ROWS * NUC_TILE_COLUMNS];

    fill_tile(tile, v->order.bias_first ? bias : zeros, rows);
    if (v->part >= v->k) {
        v->gemm.tile(weight, v->k, panel, v->k, rows, tile);
    } else {
        for (size_t at = 0; at < v->k; at += v->part) {
            size_t count = v->k - at < v->part ? v->k - at : v->part;
            fill_tile(part, zeros, rows);
            v->gemm.tile(weight + at, v->k, panel + at * NUC_TILE_COLUMNS, count, rows, part);
            for (size_t i = 0; i < rows * NUC_TILE_COLUMNS; i++)
                tile[i] += part[i];
        }
    }
    for (size_t row = 0; !v->order.bias_first && row < rows; row++) {
        for (size_t j = 0; j < NUC_TILE_COLUMNS; j++)
            tile[row * NUC_TILE_COLUMNS + j] += bias[row];
    }
}

/* Nearly always all sixteen, which are a few moves then. */
static inline void store_pixels(const float *pixels, size_t count, float *out)
{
    if (count == NUC_TILE_COLUMNS)
        memcpy(out, pixels, NUC_TILE_COLUMNS * sizeof *out);
    else
        memcpy(out, pixels, count * sizeof *out);
}

/* Sixteen pixels of all output channels of one group. */
NUC_CLONES static void compute_panel(const struct conv_run *r, size_t group, size_t first, float *panel)
{
    const struct conv *v = r->conv;
    size_t count = volume(v->out) - first < NUC_TILE_COLUMNS ? volume(v->out) - first : NUC_TILE_COLUMNS;
    float tile[NUC_TILE_ROWS * NUC_TILE_COLUMNS], bias[NUC_TILE_ROWS];

    gather_panel(v, r->image + group * v->in_channels * volume(v->padded), first, count, panel);
    for (size_t o = 0; o < v->out_channels; o += NUC_TILE_ROWS) {
        size_t channel = group * v->out_channels + o;
        size_t rows = v->out_channels - o < NUC_TILE_ROWS ? v->out_channels - o : NUC_TILE_ROWS;
        for (size_t row = 0; row < rows; row++)
            bias[row] = bias_of(r, channel + row);
        sum_tile(v, r->weight + channel * v->k, panel, rows, bias, tile);
        for (size_t row = 0; row < rows; row++)
            store_pixels(tile + row * NUC_TILE_COLUMNS, count, r->out + (channel + row) * volume(v->out) + first);
    }
}

static void compute_panels(const void *arg, struct nuc_part part)
{
    const struct conv_run *r = arg;
    size_t panels = nuc_panel_count(volume(r->conv->out));

    for (size_t i = part.begin; i < part.end; i++)
        compute_panel(r, i / panels, i % panels * NUC_TILE_COLUMNS,
                      r->panels + part.worker * r->conv->k * NUC_TILE_COLUMNS);
}

static struct nuc_taps taps_of(const struct conv *v, const float *weight, float bias)
{
    return (struct nuc_taps){v->k, v->offsets, weight, v->order.bias_first ? bias : 0.0f, v->stride[WIDTH]};
}

/* Positions [at, at + count) of the padded image, of which those left of the output's width are output pixels. */
NUC_CLONES static void store_positions(const struct conv *v, const float *sums, size_t at, size_t count, float bias,
                                       float *out)
{
    size_t y = at / v->padded[WIDTH], x = at % v->padded[WIDTH];

    for (size_t i = 0; i < count;) {
        size_t row_left = v->padded[WIDTH] - x, run = count - i < row_left ? count - i : row_left;
        size_t pixels = x >= v->out[WIDTH] ? 0 : v->out[WIDTH] - x;
        float *to = out + y * v->out[WIDTH] + x;
        for (size_t j = 0; j < run && j < pixels; j++)
            to[j] = sums[i + j] + bias;
        i += run;
        x = 0;
        y++;
    }
}

static void compute_strided_channel(const struct conv *v, const float *image, const float *weight, float bias,
                                    float *out)
{
    struct nuc_taps taps = taps_of(v, weight, bias);

    for (size_t y = 0; y < v->out[HEIGHT]; y++, out += v->out[WIDTH]) {
        const float *row = image + y * v->stride[HEIGHT] * v->padded[WIDTH];
        v->gemm.sum_taps(out, row, &taps, v->out[WIDTH]);
        for (size_t x = 0; !v->order.bias_first && x < v->out[WIDTH]; x++)
            out[x] += bias;
    }
}

static void compute_channels(const void *arg, struct nuc_part part)
{
    for (size_t i = part.begin; i < part.end; i++) {
        const struct conv_run *r = arg;
        const struct conv *v = r->conv;
        const float *image = r->image + i * volume(v->padded), *weight = r->weight + i * v->k;
        float *out = r->out + i * volume(v->out);
        float bias = bias_of(r, i);
        if (v->stride[HEIGHT] == 1 && v->stride[WIDTH] == 1) {
            /*
             * One channel by itself with stride 1: sums at all positions of the padded image, which lie side by side
             * however narrow the output is. The order of each sum is that of a tile.
             */
            size_t total = (v->out[HEIGHT] - 1) * v->padded[WIDTH] + v->out[WIDTH];
            struct nuc_taps taps = taps_of(v, weight, bias);
            float sums[POSITIONS];
            for (size_t at = 0; at < total; at += POSITIONS) {
                size_t count = total - at < POSITIONS ? total - at : POSITIONS;
                v->gemm.sum_taps(sums, image + at, &taps, count);
                store_positions(v, sums, at, count, v->order.bias_first ? 0.0f : bias, out);
            }
        } else {
            compute_strided_channel(v, image, weight, bias, out);
        }
    }
}

static void run_image(const struct nuc_eval_call *c, struct conv_run *r)
{
    const struct conv *v = r->conv;
    double cost = (double)weight_elements(v) * (double)volume(v->out);

    if (v->in_channels == 1 && v->out_channels == 1 && v->part >= v->k && v->padded[DEPTH] == 1 && volume(v->out) != 0)
        nuc_parallel_for(c->pool, v->groups, cost, compute_channels, r);
    else
        nuc_parallel_for(c->pool, v->groups * nuc_panel_count(volume(v->out)), cost, compute_panels, r);
}

static void run(const struct nuc_eval_call *c)
{
    const struct conv *v = c->state;
    const float *in = nuc_eval_in(c, COMMON(input));
    size_t channels = v->groups * v->in_channels;
    float *panels = c->scratch;
    float *padded = panels + nuc_pool_threads(c->pool) * v->k * NUC_TILE_COLUMNS;
    float *arranged = padded + (v->in_place ? 0 : channels * volume(v->padded));
    struct conv_run r = {v, NULL, nuc_eval_in(c, COMMON(weight)), nuc_eval_in(c, COMMON(bias)), c->out[0], panels};

    if (v->weight != NULL) {
        r.weight = v->weight;
    } else if (!v->arranged) {
        arrange_weight(v, r.weight, arranged);
        r.weight = arranged;
    }
    for (size_t n = 0; n < v->batch; n++) {
        if (!v->in_place)
            place_image(v, in, padded);
        r.image = v->in_place ? in : padded;
        run_image(c, &r);
        in += channels * volume(v->in);
        r.out += v->groups * v->out_channels * volume(v->out);
    }
}

const struct nuc_eval_op nuc_eval_conv = {.prepare = prepare, .run = run};
