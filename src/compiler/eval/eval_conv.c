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

/* Size of the padded image: exactly what the output reads, at least one. */
static void set_geometry(struct nuc_eval_call *c, struct conv *v, const int64_t stride[2], const int64_t padding[2],
                         const int64_t dilation[2])
{
    v->in_place = true;
    for (int d = HEIGHT; d <= WIDTH; d++) {
        int64_t reach = dilation[d] * ((int64_t)v->kernel[d] - 1);
        if (stride[d] < 1 || dilation[d] < 1 || padding[d] < 0)
            nuc_eval_fail(c, "stride and dilation must be positive and padding not negative");
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
    if (v->kernel[HEIGHT] == 0 || v->kernel[WIDTH] == 0)
        nuc_eval_fail(c, "the kernel is empty");
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
    check_channels(c, v, nuc_eval_in_meta(c, WEIGHT), in.channels, out.channels, groups);
    set_geometry(c, v, stride, padding, dilation);
    set_k_offsets(c, v);
    size_t image = v->in_place ? 0 : in.channels * plane(v);
    size_t panels = nuc_pool_threads(c->pool) * v->k * NUC_TILE_COLUMNS;
    size_t flipped = 0;
    if (transposed && nuc_eval_is_constant_in(c, WEIGHT)) {
        float *weight = nuc_alloc_array(c->cx, weight_elements(v), sizeof *weight);
        flip_weight(v, nuc_eval_in(c, WEIGHT), weight);
        v->weight = weight;
    } else if (transposed) {
        flipped = weight_elements(v);
    }
    c->scratch_size = (image + panels + flipped) * sizeof(float);
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

/* Columns of the pixels from `first` on; behind the last pixel the columns repeat pixel 0. */
static void gather_panel(const struct conv *v, const float *image, size_t first, size_t count, float *panel)
{
    size_t corners[NUC_TILE_COLUMNS] = {0};
    bool dense = count == NUC_TILE_COLUMNS;

    for (size_t j = 0; j < count; j++) {
        size_t y = (first + j) / v->out[WIDTH], x = (first + j) % v->out[WIDTH];
        corners[j] = y * v->stride[HEIGHT] * v->padded[WIDTH] + x * v->stride[WIDTH];
        dense = dense && corners[j] == corners[0] + j;
    }
    for (size_t i = 0; i < v->k; i++, panel += NUC_TILE_COLUMNS) {
        const float *tap = image + v->k_offsets[i];
        if (dense) {
            memcpy(panel, tap + corners[0], NUC_TILE_COLUMNS * sizeof *panel);
            continue;
        }
        for (size_t j = 0; j < NUC_TILE_COLUMNS; j++)
            panel[j] = tap[corners[j]];
    }
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

static void run(const struct nuc_eval_call *c)
{
    const struct conv *v = c->state;
    const float *in = nuc_eval_in(c, INPUT);
    size_t channels = v->groups * v->in_channels;
    float *panels = c->scratch;
    float *padded = panels + nuc_pool_threads(c->pool) * v->k * NUC_TILE_COLUMNS;
    float *flipped = padded + (v->in_place ? 0 : channels * plane(v));
    double cost = (double)weight_elements(v) * (double)out_pixels(v);
    struct conv_run r = {v, NULL, nuc_eval_in(c, WEIGHT), nuc_eval_in(c, BIAS), c->out[0], panels};

    if (v->weight != NULL) {
        r.weight = v->weight;
    } else if (v->transposed) {
        flip_weight(v, r.weight, flipped);
        r.weight = flipped;
    }
    for (size_t n = 0; n < v->batch; n++) {
        if (v->in_place)
            r.image = in;
        else
            place_image(v, in, padded);
        if (!v->in_place)
            r.image = padded;
        nuc_parallel_for(c->pool, v->groups * panels_of_group(v), cost, compute_panels, &r);
        in += channels * v->in[HEIGHT] * v->in[WIDTH];
        r.out += v->groups * v->out_channels * out_pixels(v);
    }
}

const struct nuc_eval_op nuc_eval_conv = {.prepare = prepare_conv2d, .run = run};
const struct nuc_eval_op nuc_eval_edge_conv = {.prepare = prepare_edge, .run = run};
