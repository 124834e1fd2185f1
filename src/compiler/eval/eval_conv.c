/*
 * 2-D convolution and transposed convolution, grouped, dilated, with or without batch. Each group is the product
 *
 *     weight [output channels of the group][k]  x  columns [k][output pixels],   k = channels * kernel height * width
 *
 * whose columns are gathered sixteen pixels at a time from a copy of the image with its padding around it. A transposed
 * convolution is the convolution, with stride 1, of the image spread out by its stride with the flipped kernel.
 */
#include <string.h>

#include "compiler/eval/eval_gemm.h"
#include "compiler/eval/eval_private.h"

/* Arguments common to aten.conv2d and edge.aten.convolution, by position. */
enum { INPUT, WEIGHT, BIAS, STRIDE, PADDING, DILATION, CONV2D_GROUPS };
enum { EDGE_TRANSPOSED = 6, EDGE_OUTPUT_PADDING, EDGE_GROUPS };

enum { HEIGHT, WIDTH };

#define MAX_GEOMETRY ((int64_t)1 << 30)

#define QUARTER (NUC_TILE_COLUMNS / 4)

/* Sums of a single channel kept at a time: 2 KB of the first-level cache. */
#define POSITIONS 512

struct conv {
    bool transposed;
    size_t batch, groups;
    size_t in_channels, out_channels; /* of one group */
    size_t in[2], out[2], kernel[2];
    size_t stride[2], dilation[2]; /* of the product: stride 1 when transposed */
    size_t spread[2];              /* distance of neighbouring inputs in the padded image: 1 unless transposed */
    int64_t origin[2];             /* where input (0, 0) lies in the padded image; negative: cropped */
    size_t padded[2];
    bool in_place; /* the padded image is the image */
    size_t k;
    size_t *k_offsets;   /* [k] from a pixel's corner to the tap, in the padded image of one group */
    const float *weight; /* flipped weight of a transposed convolution with constant weight, or NULL */
    nuc_tile_fn tile;
    nuc_add_scaled_fn add_scaled;
};

/* One image under way. */
struct conv_run {
    const struct conv *conv;
    const float *image; /* padded, all channels */
    const float *weight, *bias;
    float *out;
    float *panels; /* [threads][k][16] */
};

static size_t out_pixels(const struct conv *v)
{
    return v->out[HEIGHT] * v->out[WIDTH];
}

static size_t plane(const struct conv *v)
{
    return v->padded[HEIGHT] * v->padded[WIDTH];
}

/* weight [in][out of group][kh][kw] of a transposed convolution as [groups][out][in of group][kh][kw], flipped. */
static void flip_weight(const struct conv *v, const float *weight, float *flipped)
{
    size_t taps = v->kernel[HEIGHT] * v->kernel[WIDTH];

    for (size_t g = 0; g < v->groups; g++) {
        for (size_t o = 0; o < v->out_channels; o++) {
            for (size_t c = 0; c < v->in_channels; c++) {
                const float *from = weight + ((g * v->in_channels + c) * v->out_channels + o) * taps;
                float *to = flipped + ((g * v->out_channels + o) * v->in_channels + c) * taps;
                for (size_t t = 0; t < taps; t++)
                    to[t] = from[taps - 1 - t];
            }
        }
    }
}

static size_t weight_elements(const struct conv *v)
{
    return v->groups * v->out_channels * v->k;
}

static void set_k_offsets(struct nuc_eval_call *c, struct conv *v)
{
    size_t i = 0;

    v->k = v->in_channels * v->kernel[HEIGHT] * v->kernel[WIDTH];
    v->k_offsets = nuc_alloc_array(c->cx, v->k, sizeof *v->k_offsets);
    for (size_t ch = 0; ch < v->in_channels; ch++) {
        for (size_t y = 0; y < v->kernel[HEIGHT]; y++) {
            for (size_t x = 0; x < v->kernel[WIDTH]; x++)
                v->k_offsets[i++] = ch * plane(v) + y * v->dilation[HEIGHT] * v->padded[WIDTH] + x * v->dilation[WIDTH];
        }
    }
}

/* Products of two such numbers stay inside int64. */
static void check_range(const struct nuc_eval_call *c, const char *what, int64_t value, int64_t least)
{
    if (value < least || value > MAX_GEOMETRY)
        nuc_eval_fail(c, "%s %lld is outside [%lld, %lld]", what, (long long)value, (long long)least,
                      (long long)MAX_GEOMETRY);
}

/* Size of the padded image: exactly what the output reads, at least one. */
static void set_geometry(struct nuc_eval_call *c, struct conv *v, const int64_t stride[2], const int64_t padding[2],
                         const int64_t dilation[2])
{
    v->in_place = true;
    for (int d = HEIGHT; d <= WIDTH; d++) {
        check_range(c, "stride", stride[d], 1);
        check_range(c, "padding", padding[d], 0);
        check_range(c, "dilation", dilation[d], 1);
        check_range(c, "kernel size", (int64_t)v->kernel[d], 1);
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

static void check_channels(struct nuc_eval_call *c, struct conv *v, const struct nuc_meta *weight, size_t channels,
                           size_t outputs, int64_t groups)
{
    if (groups < 1 || weight->rank != 4)
        nuc_eval_fail(c, "only convolutions over height and width can be evaluated (a weight of rank 4)");
    v->groups = (size_t)groups;
    v->in_channels = channels / v->groups;
    v->out_channels = outputs / v->groups;
    size_t first = v->transposed ? v->in_channels * v->groups : v->out_channels * v->groups;
    size_t second = v->transposed ? v->out_channels : v->in_channels;
    if (channels % v->groups != 0 || outputs % v->groups != 0 || (size_t)weight->sizes[0] != first ||
        (size_t)weight->sizes[1] != second)
        nuc_eval_fail(c, "weight of shape %s does not fit %zu input and %zu output channels in %zu groups",
                      nuc_meta_text(c->cx, weight), channels, outputs, v->groups);
    v->kernel[HEIGHT] = (size_t)weight->sizes[2];
    v->kernel[WIDTH] = (size_t)weight->sizes[3];
}

/* A transposed convolution's constant weight is flipped once. */
static void set_weight(struct nuc_eval_call *c, struct conv *v)
{
    if (!v->transposed || !nuc_eval_is_constant_in(c, WEIGHT))
        return;
    float *weight = nuc_alloc_array(c->cx, weight_elements(v), sizeof *weight);
    flip_weight(v, nuc_eval_in(c, WEIGHT), weight);
    v->weight = weight;
}

/* Panels, padded image, flipped weight. */
static size_t scratch_size(const struct nuc_eval_call *c, const struct conv *v)
{
    size_t image = 0, size, bytes;
    size_t panels = nuc_pool_threads(c->pool) * v->k * NUC_TILE_COLUMNS;
    size_t flipped = v->transposed && v->weight == NULL ? weight_elements(v) : 0;

    bool fits = v->in_place || (nuc_mul_size(v->padded[HEIGHT], v->padded[WIDTH], &image) &&
                                nuc_mul_size(image, v->groups * v->in_channels, &image));
    if (!fits || !nuc_add_size(panels + flipped, image, &size) || !nuc_mul_size(size, sizeof(float), &bytes))
        nuc_eval_fail(c, "the padded input is too large");
    return bytes;
}

static void prepare(struct nuc_eval_call *c, bool transposed, int64_t groups)
{
    struct conv *v = nuc_alloc(c->cx, sizeof *v);
    int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
    struct nuc_eval_image in = nuc_eval_image(c, nuc_eval_in_meta(c, INPUT));
    struct nuc_eval_image out = nuc_eval_image(c, nuc_eval_out_meta(c, 0));

    nuc_eval_want_float(c, INPUT);
    nuc_eval_want_float(c, WEIGHT);
    if (nuc_eval_has_in(c, BIAS))
        nuc_eval_want_float(c, BIAS);
    nuc_eval_pair(c, STRIDE, stride);
    nuc_eval_pair(c, PADDING, padding);
    nuc_eval_pair(c, DILATION, dilation);
    v->transposed = transposed;
    v->batch = in.batch;
    v->in[HEIGHT] = in.height;
    v->in[WIDTH] = in.width;
    v->out[HEIGHT] = out.height;
    v->out[WIDTH] = out.width;
    v->tile = nuc_tile_select();
    v->add_scaled = nuc_add_scaled_select();
    check_channels(c, v, nuc_eval_in_meta(c, WEIGHT), in.channels, out.channels, groups);
    set_geometry(c, v, stride, padding, dilation);
    set_k_offsets(c, v);
    set_weight(c, v);
    c->scratch_size = scratch_size(c, v);
    c->state = v;
}

static void prepare_conv2d(struct nuc_eval_call *c)
{
    prepare(c, false, nuc_eval_int(c, CONV2D_GROUPS, 1));
}

static void prepare_edge(struct nuc_eval_call *c)
{
    prepare(c, nuc_eval_int(c, EDGE_TRANSPOSED, 0) != 0, nuc_eval_int(c, EDGE_GROUPS, 1));
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

/* [channels][height][width] into a zeroed [channels][padded height][padded width]. */
static void place_image(const struct conv *v, const float *image, float *padded)
{
    memset(padded, 0, v->groups * v->in_channels * plane(v) * sizeof *padded);
    for (size_t ch = 0; ch < v->groups * v->in_channels; ch++) {
        for (size_t y = 0; y < v->in[HEIGHT]; y++) {
            int64_t at = v->origin[HEIGHT] + (int64_t)(y * v->spread[HEIGHT]);
            if (at >= 0 && at < (int64_t)v->padded[HEIGHT])
                place_row(v, image + (ch * v->in[HEIGHT] + y) * v->in[WIDTH],
                          padded + ch * plane(v) + (size_t)at * v->padded[WIDTH]);
        }
    }
}

/* Corners in the padded image of the pixels from `first` on; behind the last pixel they repeat pixel 0. */
static void find_corners(const struct conv *v, size_t first, size_t count, size_t corners[NUC_TILE_COLUMNS])
{
    size_t y = first / v->out[WIDTH], x = first % v->out[WIDTH];

    memset(corners, 0, NUC_TILE_COLUMNS * sizeof *corners);
    for (size_t j = 0; j < count; j++) {
        corners[j] = y * v->stride[HEIGHT] * v->padded[WIDTH] + x * v->stride[WIDTH];
        if (++x == v->out[WIDTH]) {
            x = 0;
            y++;
        }
    }
}

/* Neighbouring pixels are neighbours in the padded image too. */
static bool are_dense(const size_t *corners, size_t count)
{
    for (size_t j = 1; j < count; j++) {
        if (corners[j] != corners[0] + j)
            return false;
    }
    return true;
}

/* One row of four columns, copied at once where the pixels lie side by side. */
static void gather_quarter(const struct conv *v, const float *image, const size_t *corners, float *panel)
{
    bool dense = are_dense(corners, QUARTER);

    for (size_t i = 0; i < v->k; i++, panel += NUC_TILE_COLUMNS) {
        const float *tap = image + v->k_offsets[i];
        if (dense) {
            memcpy(panel, tap + corners[0], QUARTER * sizeof *panel);
            continue;
        }
        for (size_t j = 0; j < QUARTER; j++)
            panel[j] = tap[corners[j]];
    }
}

/* The columns of the pixels from `first` on. */
static void gather_panel(const struct conv *v, const float *image, size_t first, size_t count, float *panel)
{
    size_t corners[NUC_TILE_COLUMNS];

    find_corners(v, first, count, corners);
    if (are_dense(corners, NUC_TILE_COLUMNS)) {
        for (size_t i = 0; i < v->k; i++)
            memcpy(panel + i * NUC_TILE_COLUMNS, image + v->k_offsets[i] + corners[0],
                   NUC_TILE_COLUMNS * sizeof *panel);
        return;
    }
    for (size_t j = 0; j < NUC_TILE_COLUMNS; j += QUARTER)
        gather_quarter(v, image, corners + j, panel + j);
}

static void store_tile(const struct conv_run *r, const float *tile, size_t channel, size_t rows, size_t first,
                       size_t count)
{
    for (size_t row = 0; row < rows; row++) {
        float bias = r->bias == NULL ? 0.0f : r->bias[channel + row];
        float *out = r->out + (channel + row) * out_pixels(r->conv) + first;
        for (size_t j = 0; j < count; j++)
            out[j] = tile[row * NUC_TILE_COLUMNS + j] + bias;
    }
}

/* Sixteen pixels of all output channels of one group. */
static void compute_panel(const struct conv_run *r, size_t group, size_t first, float *panel)
{
    const struct conv *v = r->conv;
    size_t count = out_pixels(v) - first < NUC_TILE_COLUMNS ? out_pixels(v) - first : NUC_TILE_COLUMNS;
    float tile[NUC_TILE_ROWS * NUC_TILE_COLUMNS];

    gather_panel(v, r->image + group * v->in_channels * plane(v), first, count, panel);
    for (size_t o = 0; o < v->out_channels; o += NUC_TILE_ROWS) {
        size_t channel = group * v->out_channels + o;
        size_t rows = v->out_channels - o < NUC_TILE_ROWS ? v->out_channels - o : NUC_TILE_ROWS;
        v->tile(r->weight + channel * v->k, v->k, panel, v->k, rows, tile);
        store_tile(r, tile, channel, rows, first, count);
    }
}

static size_t panels_of_group(const struct conv *v)
{
    return (out_pixels(v) + NUC_TILE_COLUMNS - 1) / NUC_TILE_COLUMNS;
}

static void compute_panels(void *arg, size_t begin, size_t end, unsigned worker)
{
    const struct conv_run *r = arg;
    size_t panels = panels_of_group(r->conv);

    for (size_t i = begin; i < end; i++)
        compute_panel(r, i / panels, i % panels * NUC_TILE_COLUMNS, r->panels + worker * r->conv->k * NUC_TILE_COLUMNS);
}

/* Positions [at, at + count) of the padded image, of which those left of the output's width are output pixels. */
static void store_positions(const struct conv *v, const float *sums, size_t at, size_t count, float bias, float *out)
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

/*
 * One channel by itself with stride 1: sums at all positions of the padded image, which lie side by side however
 * narrow the output is. The order of each sum is that of a tile.
 */
static void compute_dense_channel(const struct conv *v, const float *image, const float *weight, float bias, float *out)
{
    size_t total = (v->out[HEIGHT] - 1) * v->padded[WIDTH] + v->out[WIDTH];
    float sums[POSITIONS];

    for (size_t at = 0; at < total; at += POSITIONS) {
        size_t count = total - at < POSITIONS ? total - at : POSITIONS;
        memset(sums, 0, count * sizeof *sums);
        for (size_t i = 0; i < v->k; i++)
            v->add_scaled(sums, image + at + v->k_offsets[i], weight[i], count, 1);
        store_positions(v, sums, at, count, bias, out);
    }
}

static void compute_strided_channel(const struct conv *v, const float *image, const float *weight, float bias,
                                    float *out)
{
    for (size_t y = 0; y < v->out[HEIGHT]; y++, out += v->out[WIDTH]) {
        const float *row = image + y * v->stride[HEIGHT] * v->padded[WIDTH];
        memset(out, 0, v->out[WIDTH] * sizeof *out);
        for (size_t i = 0; i < v->k; i++)
            v->add_scaled(out, row + v->k_offsets[i], weight[i], v->out[WIDTH], v->stride[WIDTH]);
        for (size_t x = 0; x < v->out[WIDTH]; x++)
            out[x] += bias;
    }
}

static void compute_channel(const struct conv_run *r, size_t channel)
{
    const struct conv *v = r->conv;
    const float *image = r->image + channel * plane(v), *weight = r->weight + channel * v->k;
    float *out = r->out + channel * out_pixels(v);
    float bias = r->bias == NULL ? 0.0f : r->bias[channel];

    if (v->stride[HEIGHT] == 1 && v->stride[WIDTH] == 1)
        compute_dense_channel(v, image, weight, bias, out);
    else
        compute_strided_channel(v, image, weight, bias, out);
}

static void compute_channels(void *arg, size_t begin, size_t end, unsigned worker)
{
    (void)worker;
    for (size_t i = begin; i < end; i++)
        compute_channel(arg, i);
}

static void run_image(const struct nuc_eval_call *c, struct conv_run *r)
{
    const struct conv *v = r->conv;
    double cost = (double)weight_elements(v) * (double)out_pixels(v);

    if (v->in_channels == 1 && v->out_channels == 1 && out_pixels(v) != 0)
        nuc_parallel_for(c->pool, v->groups, cost, compute_channels, r);
    else
        nuc_parallel_for(c->pool, v->groups * panels_of_group(v), cost, compute_panels, r);
}

static void run(const struct nuc_eval_call *c)
{
    const struct conv *v = c->state;
    const float *in = nuc_eval_in(c, INPUT);
    size_t channels = v->groups * v->in_channels;
    float *panels = c->scratch;
    float *padded = panels + nuc_pool_threads(c->pool) * v->k * NUC_TILE_COLUMNS;
    float *flipped = padded + (v->in_place ? 0 : channels * plane(v));
    struct conv_run r = {v, NULL, nuc_eval_in(c, WEIGHT), nuc_eval_in(c, BIAS), c->out[0], panels};

    if (v->weight != NULL) {
        r.weight = v->weight;
    } else if (v->transposed) {
        flip_weight(v, r.weight, flipped);
        r.weight = flipped;
    }
    for (size_t n = 0; n < v->batch; n++) {
        if (!v->in_place)
            place_image(v, in, padded);
        r.image = v->in_place ? in : padded;
        run_image(c, &r);
        in += channels * v->in[HEIGHT] * v->in[WIDTH];
        r.out += v->groups * v->out_channels * out_pixels(v);
    }
}

const struct nuc_eval_op nuc_eval_conv = {.prepare = prepare_conv2d, .run = run};
const struct nuc_eval_op nuc_eval_edge_conv = {.prepare = prepare_edge, .run = run};
