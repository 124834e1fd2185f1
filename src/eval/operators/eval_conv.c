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

#include "eval/operators/eval_conv_run.h"

#define MAX_GEOMETRY ((int64_t)1 << 30)

/* Tap `tap` of channel `ch`, at position `i` of the sum. */
static void set_tap(struct conv *v, size_t i, size_t ch, size_t tap)
{
    size_t x = tap % v->kernel[WIDTH], y = tap / v->kernel[WIDTH] % v->kernel[HEIGHT];
    size_t z = tap / v->kernel[WIDTH] / v->kernel[HEIGHT];

    v->sources[i] = ch * nuc_conv_volume(v->kernel) + tap;
    v->offsets[i] =
        ch * v->channel + nuc_conv_offset(v, z * v->dilation[DEPTH], y * v->dilation[HEIGHT], x * v->dilation[WIDTH]);
    v->arranged = v->arranged && v->sources[i] == i;
}

/* Kernel element that stands at place `i` among the kernel elements. */
static size_t tap_at(const struct conv *v, size_t i)
{
    size_t rows = v->kernel[DEPTH] * v->kernel[HEIGHT];

    if (v->order.taps == NUC_COLUMNS_OUTERMOST)
        return i % rows * v->kernel[WIDTH] + i / rows;
    return v->order.taps == NUC_TAPS_BACKWARDS ? nuc_conv_volume(v->kernel) - 1 - i : i;
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
        v->channel *= d == DEPTH ? 1 : v->phases[d] * v->phase[d];
    }
    v->rows = nuc_alloc_array(c->cx, v->in_place ? 0 : rows, sizeof *v->rows);
    for (size_t i = 0; !v->in_place && i < rows; i++) {
        bool inside =
            nuc_conv_padded_at(v, DEPTH, i / v->in[HEIGHT], &z) && nuc_conv_padded_at(v, HEIGHT, i % v->in[HEIGHT], &y);
        v->rows[i] = inside ? nuc_conv_offset(v, z, y, 0) : NUC_CROPPED;
    }
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
    /* The products of each sum in their order, block of channels by block of channels. */
    size_t taps = nuc_conv_volume(v->kernel), at = 0;
    size_t block = v->order.block == 0 ? v->in_channels : v->order.block;
    v->k = v->in_channels * taps;
    v->part = v->order.tap_sums ? v->in_channels : block * taps;
    set_layout(c, v);
    v->sources = nuc_alloc_array(c->cx, v->k, sizeof *v->sources);
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
    /* A constant weight is rearranged once. */
    if (!v->arranged && nuc_eval_is_constant_in(c, COMMON(weight))) {
        float *constant = nuc_alloc_array(c->cx, nuc_conv_weights(v), sizeof *constant);
        nuc_conv_arrange(v, nuc_eval_in(c, COMMON(weight)), constant);
        v->weight = constant;
    }
    /* A thread's room each, the padded image, the rearranged weight. */
    size_t floats, arranged = !v->arranged && v->weight == NULL ? nuc_conv_weights(v) : 0;
    if (!nuc_conv_set_scratch(v) || !nuc_mul_size(v->room, nuc_pool_threads(c->pool), &floats) ||
        !nuc_add_size(floats, v->image, &floats) || !nuc_add_size(floats, arranged, &floats) ||
        !nuc_mul_size(floats, sizeof(float), &c->scratch_size))
        nuc_eval_fail(c, "the padded input is too large");
    c->state = v;
}

const struct nuc_eval_op nuc_eval_conv = {.prepare = prepare, .run = nuc_conv_run, .finishes = true};
