/* Convolutions, pools, matrix products. Images are [N, C, H, W]; LiteRT's weights [O, KH, KW, I]. */
#include <stdlib.h>

#include "tflite_import.h"

/* ---- padding ---- */

struct padding {
    struct nuc_lt_windows h, w;
};

static struct padding padding_of(enum nuc_lt_padding padding, const struct nuc_lt_tensor *x, const int64_t window[2],
                                 const int64_t stride[2])
{
    return (struct padding){nuc_lt_windows(padding, x->shape[1], window[0], stride[0]),
                            nuc_lt_windows(padding, x->shape[2], window[1], stride[1])};
}

static bool is_even(const struct padding *p)
{
    return p->h.before == p->h.after && p->w.before == p->w.after;
}

static int64_t checked(const struct nuc_ti *ti, const char *what, int64_t value)
{
    if (value < 1 || value > INT16_MAX)
        nuc_ti_fail(ti, "%s is %lld: 1 to %d are handled", what, (long long)value, INT16_MAX);
    return value;
}

/* The padded image, settled in the quantization of `like`; nothing is left to pad. */
static struct nuc_node *pad_image(struct nuc_ti *ti, struct nuc_node *x, struct padding *p, double value,
                                  const struct nuc_lt_tensor *like)
{
    const int64_t sides[4] = {p->w.before, p->w.after, p->h.before, p->h.after};

    struct nuc_node *pad = nuc_ti_call(ti, NUC_OP_PAD, x);

    *p = (struct padding){.h = {.before = 0}};
    nuc_set_arg_ints(pad, ti->g, NUC_ARG(PAD, pad), sides, 4);
    nuc_set_arg_string(pad, NUC_ARG(PAD, mode), "constant");
    if (value < 0 || value > 0)
        nuc_set_arg_float(pad, NUC_ARG(PAD, value), value);
    return nuc_ti_settle(ti, nuc_ti_infer(ti, pad), like);
}

/* ---- constants of convolutions ---- */

/* float32, int32, int64 or, as older converters have it, int16 [O]; scales that are not stated follow from input and
 * weights. */
static struct nuc_node *bias_of(struct nuc_ti *ti, uint32_t i, const struct nuc_lt_tensor *x,
                                const struct nuc_lt_tensor *weights, int64_t channels)
{
    if (!nuc_ti_has(ti, i))
        return NULL;
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
    struct nuc_lt_tensor filled = *t;
    static const int64_t one = 1;

    if (t->data.data == NULL || nuc_lt_elements(t) != channels)
        nuc_ti_fail(ti, "bias '%s' must be a constant with a number for each of %lld channels", t->name,
                    (long long)channels);
    if (t->dtype == NUC_I16) {
        int64_t *values = nuc_alloc_array(ti->cx, (size_t)channels, sizeof *values);
        for (size_t c = 0; c < (size_t)nuc_ti_held(t); c++)
            values[c] = (int16_t)nuc_load_u16(t->data.data + 2 * c);
        filled.dtype = NUC_I64;
        filled.data = (struct nuc_span){(const uint8_t *)values, (size_t)channels * sizeof *values};
    }
    if (nuc_ti_is_index(&filled) && t->quant.count == 0 && x->quant.count == 1) {
        float *scales = nuc_alloc_array(ti->cx, weights->quant.count, sizeof *scales);
        for (uint32_t c = 0; c < weights->quant.count; c++)
            scales[c] = x->quant.scale[0] * weights->quant.scale[c];
        filled.quant = (struct nuc_lt_quant){weights->quant.count, scales,
                                             nuc_alloc_array(ti->cx, weights->quant.count, sizeof(int64_t)), 0};
    }
    struct nuc_meta meta = nuc_meta_make(filled.dtype, &channels, 1);
    return nuc_ti_constant(ti, &filled, &meta, &one, 0);
}

static bool was_uint8(const struct nuc_ti *ti, uint32_t operand)
{
    return ti->was_uint8 != NULL && ti->was_uint8[ti->op->inputs[operand]];
}

/*
 * LiteRT rounds the product of the scales of input and weights to float32 where the weights have one: in layers of
 * uint8, and in FULLY_CONNECTED. The weights get a scale whose product with that of the input is this one.
 */
static struct nuc_node *with_rounded_product(const struct nuc_ti *ti, uint32_t data, struct nuc_node *weights)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, data), *w = nuc_ti_in(ti, 1);
    bool rounds = was_uint8(ti, data) || (ti->was_uint8 != NULL && ti->op->code == NUC_LT_FULLY_CONNECTED);

    if (rounds && weights->op == NUC_OP_DEQUANTIZE_PER_TENSOR && x->quant.count == 1 && w->quant.count == 1)
        nuc_set_arg_float(weights, NUC_ARG(DEQUANTIZE_PER_TENSOR, scale),
                          (double)(x->quant.scale[0] * w->quant.scale[0]) / (double)x->quant.scale[0]);
    return weights;
}

static const struct nuc_lt_tensor *weights_of(const struct nuc_ti *ti, uint32_t i, uint32_t rank)
{
    const struct nuc_lt_tensor *w = nuc_ti_in(ti, i);

    if (w->rank != rank || w->data.data == NULL || (w->dtype != NUC_I8 && w->dtype != NUC_F32))
        nuc_ti_fail(ti, "weights '%s' must be a constant of int8 or float32 with %u dimensions", w->name, rank);
    return w;
}

/* [O, KH, KW, I] as [O, I, KH, KW] in the same bytes; depthwise [1, KH, KW, O] as [O, 1, KH, KW]. */
static struct nuc_node *conv_weights(struct nuc_ti *ti, const struct nuc_lt_tensor *w, bool depthwise)
{
    int64_t out = w->shape[depthwise ? 3 : 0], in = depthwise ? 1 : w->shape[3];
    int64_t row = (int64_t)w->shape[2] * w->shape[3];
    int64_t sizes[4] = {out, in, w->shape[1], w->shape[2]};
    int64_t strides[4] = {depthwise ? 1 : w->shape[1] * row, 1, row, w->shape[3]};
    struct nuc_meta meta = nuc_meta_make(w->dtype, sizes, 4);

    nuc_set_channels_last(&meta);
    return nuc_ti_constant(ti, w, &meta, strides, 0);
}

static int64_t count_groups(const struct nuc_ti *ti, const struct nuc_lt_tensor *x, const struct nuc_lt_tensor *w)
{
    if (ti->op->code == NUC_LT_DEPTHWISE_CONV_2D) {
        if (w->shape[0] != 1 || x->shape[3] < 1 || w->shape[3] % x->shape[3] != 0)
            nuc_ti_fail(ti, "weights '%s' do not fit %d channels", w->name, x->shape[3]);
        return x->shape[3];
    }
    if (w->shape[3] < 1 || x->shape[3] % w->shape[3] != 0)
        nuc_ti_fail(ti, "weights '%s' do not fit %d channels", w->name, x->shape[3]);
    return x->shape[3] / w->shape[3];
}

void nuc_ti_conv(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *w = weights_of(ti, 1, 4);
    const union nuc_lt_options *o = &ti->op->options;
    int64_t stride[2] = {checked(ti, "stride", o->conv.stride_h), checked(ti, "stride", o->conv.stride_w)};
    int64_t dilation[2] = {checked(ti, "dilation", o->conv.dilation_h), checked(ti, "dilation", o->conv.dilation_w)};
    int64_t window[2] = {(checked(ti, "kernel height", w->shape[1]) - 1) * dilation[0] + 1,
                         (checked(ti, "kernel width", w->shape[2]) - 1) * dilation[1] + 1};
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_IMAGE);
    bool depthwise = ti->op->code == NUC_LT_DEPTHWISE_CONV_2D;
    struct padding p = padding_of(o->conv.padding, x, window, stride);
    int64_t groups = count_groups(ti, x, w);
    if (!is_even(&p))
        real = pad_image(ti, real, &p, 0, x);
    struct nuc_node *weights = with_rounded_product(ti, 0, conv_weights(ti, w, depthwise));
    struct nuc_node *bias = bias_of(ti, 2, x, w, depthwise ? w->shape[3] : w->shape[0]);
    const int64_t padding[2] = {p.h.before, p.w.before};
    struct nuc_node *conv = nuc_ti_emit(ti, NUC_OP_CONV2D,
                                        NUC_ARGS(real, weights, bias, nuc_ints_arg(stride, 2), nuc_ints_arg(padding, 2),
                                                 nuc_ints_arg(dilation, 2), groups));
    nuc_ti_define(ti, nuc_ti_activate(ti, conv, o->conv.activation), NUC_TI_IMAGE);
}

/* ---- transposed convolution ---- */

/*
 * Weights about a zero point have nine bits, `parts` times eight: for as many copies of the input's channels, one after
 * the other, weights of eight about zero that add up to them.
 */
static struct nuc_lt_tensor in_parts(struct nuc_ti *ti, const struct nuc_lt_tensor *w, int32_t parts)
{
    struct nuc_lt_tensor all = *w;
    size_t channels = (size_t)w->shape[3], count = (size_t)nuc_ti_held(w);
    int8_t *values = nuc_alloc_array(ti->cx, count * (size_t)parts, 1);

    for (size_t i = 0; i < count; i++) {
        int32_t rest = (int8_t)w->data.data[i] - (int32_t)w->quant.zero_point[0];
        for (int32_t k = 0; k < parts; k++) {
            int32_t part = rest > INT8_MAX ? INT8_MAX : rest < -INT8_MAX ? -INT8_MAX : rest;
            values[(i / channels * (size_t)parts + (size_t)k) * channels + i % channels] = (int8_t)part;
            rest -= part;
        }
    }
    all.shape[3] *= parts;
    all.data = (struct nuc_span){(const uint8_t *)values, count * (size_t)parts};
    all.quant.zero_point = nuc_alloc_array(ti->cx, 1, sizeof(int64_t));
    return all;
}

/* How many parts of eight bits the weights have. */
static int32_t count_parts(const struct nuc_ti *ti, const struct nuc_lt_tensor *w)
{
    int32_t most = 0;

    if (w->dtype != NUC_I8 || w->quant.count != 1 || w->quant.zero_point[0] == 0 || nuc_ti_held(w) == 0 ||
        ti->eight_bit_weights || labs((long)w->quant.zero_point[0]) > INT8_MAX + 1)
        return 1;
    for (int64_t i = 0; i < nuc_ti_held(w); i++) {
        int32_t value = abs((int8_t)w->data.data[i] - (int32_t)w->quant.zero_point[0]);
        most = most > value ? most : value;
    }
    return (most + INT8_MAX - 1) / INT8_MAX;
}

static struct nuc_node *copies(struct nuc_ti *ti, struct nuc_node *x, int32_t count, const struct nuc_lt_tensor *like)
{
    struct nuc_node *parts[3] = {x, x, x};

    if (count == 1)
        return x;
    return nuc_ti_settle(ti, nuc_ti_emit(ti, NUC_OP_CAT, NUC_ARGS(nuc_nodes_arg(parts, (uint32_t)count), 1)), like);
}

/* Along one axis: what is cut off the full result on both sides, and what is computed beyond it or cut off after. */
struct transposed_axis {
    int64_t padding, extra, cut;
};

static struct transposed_axis transposed_axis(const struct nuc_ti *ti, int64_t in, int64_t out, int64_t kernel,
                                              int64_t stride)
{
    int64_t full = (in - 1) * stride + kernel;
    int64_t surplus = full - out;

    if (surplus < 0) {
        if (-surplus >= stride)
            nuc_ti_fail(ti, "%lld results of a full %lld: fewer than the stride may be added", (long long)out,
                        (long long)full);
        return (struct transposed_axis){0, -surplus, 0};
    }
    return (struct transposed_axis){surplus / 2, 0, surplus % 2};
}

static struct nuc_node *cut_end(struct nuc_ti *ti, struct nuc_node *x, uint32_t dim, int64_t cut)
{
    if (cut == 0)
        return x;
    const struct nuc_arg begin = nuc_int_arg(0), end = nuc_int_arg(x->vals[0].sizes[dim] - cut);
    x = nuc_ti_settle(ti, x, nuc_ti_out(ti));
    return nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(x, dim, begin, end));
}

/* The operands at these places. */
static void define_transposed(struct nuc_ti *ti, uint32_t data, uint32_t bias_at, const int64_t stride[2],
                              enum nuc_lt_activation activation)
{
    const struct nuc_lt_tensor *w = weights_of(ti, 1, 4), *x = nuc_ti_in(ti, data), *y = nuc_ti_out(ti);
    struct nuc_node *real = nuc_ti_real(ti, data, NUC_TI_IMAGE);

    if (y->rank != 4)
        nuc_ti_fail(ti, "the result '%s' has %u dimensions, 4 are needed", y->name, y->rank);
    struct transposed_axis h = transposed_axis(ti, x->shape[1], y->shape[1], w->shape[1], stride[0]);
    struct transposed_axis v = transposed_axis(ti, x->shape[2], y->shape[2], w->shape[2], stride[1]);
    int32_t parts = count_parts(ti, w);
    const struct nuc_lt_tensor eight = parts > 1 ? in_parts(ti, w, parts) : *w;
    real = copies(ti, real, parts, x);
    /* [O, KH, KW, I] as [I, O, KH, KW]. */
    int64_t row = (int64_t)eight.shape[2] * eight.shape[3];
    int64_t sizes[4] = {eight.shape[3], eight.shape[0], eight.shape[1], eight.shape[2]};
    int64_t strides[4] = {1, eight.shape[1] * row, row, eight.shape[3]};
    struct nuc_meta meta = nuc_meta_make(eight.dtype, sizes, 4);
    nuc_set_channels_last(&meta);
    struct nuc_node *weights = with_rounded_product(ti, data, nuc_ti_constant(ti, &eight, &meta, strides, 1));
    struct nuc_node *bias = bias_of(ti, bias_at, x, w, w->shape[0]);
    const int64_t padding[2] = {h.padding, v.padding}, extra[2] = {h.extra, v.extra};
    struct nuc_node *conv = nuc_ti_emit(
        ti, NUC_OP_CONV_TRANSPOSE2D,
        NUC_ARGS(real, weights, bias, nuc_ints_arg(stride, 2), nuc_ints_arg(padding, 2), nuc_ints_arg(extra, 2)));
    real = nuc_ti_activate(ti, conv, activation);
    real = cut_end(ti, cut_end(ti, real, 2, h.cut), 3, v.cut);
    nuc_ti_define(ti, real, NUC_TI_IMAGE);
}

/* Operands: output shape, weights, input, bias. */
void nuc_ti_transpose_conv(struct nuc_ti *ti)
{
    const union nuc_lt_options *o = &ti->op->options;
    const int64_t stride[2] = {checked(ti, "stride", o->conv.stride_h), checked(ti, "stride", o->conv.stride_w)};

    define_transposed(ti, 2, 3, stride, o->conv.activation);
}

/*
 * MediaPipe's custom operator Convolution2DTransposeBias. Operands: input, weights, bias. Its options are three int32:
 * the padding (1: SAME, 2: VALID), stride along the width and along the height.
 */
void nuc_ti_transpose_conv_bias(struct nuc_ti *ti)
{
    struct nuc_span options = ti->op->options.custom.options;
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *w = weights_of(ti, 1, 4);

    if (options.size < 12 || x->rank != 4)
        nuc_ti_fail(ti, "needs an image, and options of 12 bytes");
    int32_t padding = (int32_t)nuc_load_u32(options.data);
    const int64_t stride[2] = {checked(ti, "stride", (int32_t)nuc_load_u32(options.data + 8)),
                               checked(ti, "stride", (int32_t)nuc_load_u32(options.data + 4))};
    if (padding != 1 && padding != 2)
        nuc_ti_fail(ti, "padding is %d, 1 (SAME) and 2 (VALID) are handled", padding);
    int64_t sizes[4] = {x->shape[0], x->shape[1] * stride[0], x->shape[2] * stride[1], w->shape[0]};
    for (uint32_t i = 0; i < 2 && padding == 2; i++)
        sizes[1 + i] = (x->shape[1 + i] - 1) * stride[i] + w->shape[1 + i];
    nuc_ti_restate_result(ti, 0, sizes, 4);
    define_transposed(ti, 0, 2, stride, NUC_LT_ACT_NONE);
}

/* ---- pools ---- */

static struct padding pool_padding(const struct nuc_ti *ti, const struct nuc_lt_tensor *x)
{
    const union nuc_lt_options *o = &ti->op->options;

    checked(ti, "filter height", o->pool.filter_h);
    checked(ti, "filter width", o->pool.filter_w);
    checked(ti, "stride", o->pool.stride_h);
    checked(ti, "stride", o->pool.stride_w);
    return padding_of(o->pool.padding, x, (const int64_t[]){o->pool.filter_h, o->pool.filter_w},
                      (const int64_t[]){o->pool.stride_h, o->pool.stride_w});
}

/*
 * With more elements after the image than before it: where windows move on by one, as many are put on both sides and
 * the first result is left out; where they move by more, results are counted up, which lets the last window stand over
 * the edge.
 */
static struct nuc_node *uneven_pool(struct nuc_ti *ti, struct nuc_node *node, const struct padding *p)
{
    const union nuc_lt_options *o = &ti->op->options;
    const struct nuc_lt_windows *axes[2] = {&p->h, &p->w};
    const int64_t stride[2] = {o->pool.stride_h, o->pool.stride_w};
    int64_t padding[2], first[2];

    for (int i = 0; i < 2; i++) {
        first[i] = axes[i]->after > axes[i]->before && stride[i] == 1;
        padding[i] = first[i] != 0 ? axes[i]->after : axes[i]->before;
    }
    nuc_set_arg_ints(node, ti->g, NUC_ARG(MAX_POOL2D, padding), padding, 2);
    nuc_set_arg_bool(
        node, node->op == NUC_OP_MAX_POOL2D ? NUC_ARG(MAX_POOL2D, ceil_mode) : NUC_ARG(AVG_POOL2D, ceil_mode), true);
    nuc_ti_infer(ti, node);
    for (int i = 0; i < 2; i++) {
        const struct nuc_arg dim = nuc_int_arg(2 + i), end = nuc_int_arg(node->vals[0].sizes[2 + i]);
        if (first[i] != 0)
            node = nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(nuc_ti_settle(ti, node, nuc_ti_out(ti)), dim, 1, end));
    }
    return node;
}

/* LiteRT rounds the halves of a mean of uint8 upwards: less than any other part of a step is added to it. */
static struct nuc_node *with_halves_upwards(struct nuc_ti *ti, struct nuc_node *mean)
{
    const union nuc_lt_options *o = &ti->op->options;
    double step = (double)nuc_ti_in(ti, 0)->quant.scale[0] / (4.0 * o->pool.filter_h * o->pool.filter_w);

    if (!was_uint8(ti, 0))
        return mean;
    return nuc_ti_emit(ti, NUC_OP_ADD, NUC_ARGS(mean, nuc_ti_number(ti, step)));
}

/* Appends the pool and what follows it. */
static void define_pool(struct nuc_ti *ti, enum nuc_op op, struct nuc_node *x, const struct padding *p)
{
    const union nuc_lt_options *o = &ti->op->options;
    const int64_t filter[2] = {o->pool.filter_h, o->pool.filter_w}, stride[2] = {o->pool.stride_h, o->pool.stride_w};
    const int64_t padding[2] = {p->h.before, p->w.before};
    struct nuc_node *node = nuc_ti_call(ti, op, NULL);
    bool padded = p->h.after != 0 || p->w.after != 0;

    nuc_set_args(ti->g, node, NUC_ARGS(x, nuc_ints_arg(filter, 2), nuc_ints_arg(stride, 2), nuc_ints_arg(padding, 2)));
    /* The mean counts the elements inside the image only. */
    if (op == NUC_OP_AVG_POOL2D && padded)
        nuc_set_arg_bool(node, NUC_ARG(AVG_POOL2D, count_include_pad), false);
    node = is_even(p) ? nuc_ti_infer(ti, node) : uneven_pool(ti, node, p);
    if (op == NUC_OP_AVG_POOL2D && nuc_ti_is_quantized(nuc_ti_out(ti)))
        node = with_halves_upwards(ti, node);
    if (ti->op->code == NUC_LT_L2_POOL_2D)
        node = nuc_ti_emit(ti, NUC_OP_SQRT, NUC_ARGS(node));
    /* No kernel clips a mean: LiteRT clips what was rounded. */
    if (op == NUC_OP_AVG_POOL2D && o->pool.activation != NUC_LT_ACT_NONE)
        node = nuc_ti_settle(ti, node, nuc_ti_out(ti));
    nuc_ti_define(ti, nuc_ti_activate(ti, node, o->pool.activation), NUC_TI_IMAGE);
}

/* Elements of an axis, from `begin` to `end`, that windows of one size see which lie inside the image. */
struct segment {
    int64_t begin, end, window;
};

/* Windows over an edge are cut at it, each a segment of its own; those between are one. */
static uint32_t segments_of(const struct nuc_ti *ti, const struct nuc_lt_windows *w, int64_t size, int64_t filter,
                            int64_t stride, struct segment **out)
{
    struct segment *list = *out = nuc_alloc_array(ti->cx, (size_t)w->count, sizeof *list);
    uint32_t n = 0;

    for (int64_t i = 0; i < w->count; i++) {
        int64_t at = i * stride - w->before, begin = at < 0 ? 0 : at;
        int64_t end = at + filter > size ? size : at + filter;
        if (n > 0 && end - begin == filter && list[n - 1].window == filter)
            list[n - 1].end = end;
        else
            list[n++] = (struct segment){begin, end, end - begin};
    }
    return n;
}

static struct nuc_node *cut_segment(struct nuc_ti *ti, struct nuc_node *x, uint32_t dim, const struct segment *s)
{
    if (s->begin == 0 && s->end == x->vals[0].sizes[dim])
        return x;
    x = nuc_ti_emit(ti, NUC_OP_SLICE, NUC_ARGS(x, dim, s->begin, s->end));
    return nuc_ti_settle(ti, x, nuc_ti_in(ti, 0));
}

static struct nuc_node *join(struct nuc_ti *ti, struct nuc_node **parts, uint32_t n, uint32_t dim)
{
    if (n == 1)
        return parts[0];
    return nuc_ti_settle(ti, nuc_ti_emit(ti, NUC_OP_CAT, NUC_ARGS(nuc_nodes_arg(parts, n), dim)), nuc_ti_out(ti));
}

/* Means over windows that the edge cuts, by pools without padding: each rounds as LiteRT does, by its own count. */
static void define_pool_in_parts(struct nuc_ti *ti, struct nuc_node *x, const struct padding *p)
{
    const union nuc_lt_options *o = &ti->op->options;
    const struct nuc_lt_tensor *in = nuc_ti_in(ti, 0);
    const int64_t stride[2] = {o->pool.stride_h, o->pool.stride_w};
    struct segment *rows, *columns;
    uint32_t n_rows = segments_of(ti, &p->h, in->shape[1], o->pool.filter_h, stride[0], &rows);
    uint32_t n_columns = segments_of(ti, &p->w, in->shape[2], o->pool.filter_w, stride[1], &columns);
    struct nuc_node **bands = nuc_alloc_array(ti->cx, n_rows, sizeof(struct nuc_node *));
    struct nuc_node **parts = nuc_alloc_array(ti->cx, n_columns, sizeof(struct nuc_node *));

    for (uint32_t r = 0; r < n_rows; r++) {
        struct nuc_node *band = cut_segment(ti, x, 2, &rows[r]);
        for (uint32_t c = 0; c < n_columns; c++) {
            const int64_t window[2] = {rows[r].window, columns[c].window};
            struct nuc_node *part = cut_segment(ti, band, 3, &columns[c]);
            parts[c] =
                nuc_ti_emit(ti, NUC_OP_AVG_POOL2D, NUC_ARGS(part, nuc_ints_arg(window, 2), nuc_ints_arg(stride, 2)));
            parts[c] = nuc_ti_settle(ti, with_halves_upwards(ti, parts[c]), nuc_ti_out(ti));
        }
        bands[r] = join(ti, parts, n_columns, 3);
    }
    nuc_ti_define(ti, nuc_ti_activate(ti, join(ti, bands, n_rows, 2), o->pool.activation), NUC_TI_IMAGE);
}

void nuc_ti_average_pool(struct nuc_ti *ti)
{
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_IMAGE);
    struct padding p = pool_padding(ti, nuc_ti_in(ti, 0));

    if (!is_even(&p) && nuc_ti_is_quantized(nuc_ti_in(ti, 0)))
        define_pool_in_parts(ti, real, &p);
    else
        define_pool(ti, NUC_OP_AVG_POOL2D, real, &p);
}

/* The root of the mean of squares. */
void nuc_ti_l2_pool(struct nuc_ti *ti)
{
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_IMAGE);
    struct padding p = pool_padding(ti, nuc_ti_in(ti, 0));

    nuc_ti_need_float(ti);
    define_pool(ti, NUC_OP_AVG_POOL2D, nuc_ti_emit(ti, NUC_OP_MUL, NUC_ARGS(real, real)), &p);
}

/* Whether an activation gave the value, so that none is below 0. */
static bool is_not_negative(const struct nuc_node *real)
{
    return nuc_has_bounds(real) && nuc_bounds_of(real).min >= 0;
}

/* The least value around the image changes no maximum. Of float values it is not known, unless it is 0. */
void nuc_ti_max_pool(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    struct nuc_node *real = nuc_ti_real(ti, 0, NUC_TI_IMAGE);
    struct padding p = pool_padding(ti, x);

    if (!is_even(&p) && nuc_ti_is_quantized(x))
        real = pad_image(ti, real, &p,
                         (double)(nuc_int_range(x->dtype).low - x->quant.zero_point[0]) * (double)x->quant.scale[0], x);
    else if (!is_even(&p) && is_not_negative(real))
        real = pad_image(ti, real, &p, 0, x);
    define_pool(ti, NUC_OP_MAX_POOL2D, real, &p);
}

/* ---- matrix products ---- */

/* Operand 0 as [rows, columns] in the tensor's own order. */
static struct nuc_node *as_matrix(struct nuc_ti *ti, uint32_t i, int64_t columns)
{
    const struct nuc_lt_tensor *t = nuc_ti_in(ti, i);
    int64_t elements = nuc_lt_elements(t);
    enum nuc_ti_form form = nuc_ti_is_flat(t) ? nuc_ti_form_of(ti, i) : NUC_TI_PLAIN;

    if (columns < 1 || elements % columns != 0)
        nuc_ti_fail(ti, "tensor '%s' does not have rows of %lld", t->name, (long long)columns);
    struct nuc_node *real = nuc_ti_real(ti, i, form);
    if (t->rank == 2 && t->shape[1] == columns)
        return real;
    const int64_t sizes[2] = {elements / columns, columns};
    return nuc_ti_settle(ti, nuc_ti_view(ti, real, sizes, 2), t);
}

void nuc_ti_fully_connected(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *w = nuc_ti_in(ti, 1);

    if (w->rank != 2)
        nuc_ti_fail(ti, "weights '%s' have %u dimensions, 2 are handled", w->name, w->rank);

    if (ti->op->options.fully_connected.weights_format != 0)
        nuc_ti_fail(ti, "weights in shuffled order are not handled");
    struct nuc_node *real = as_matrix(ti, 0, w->shape[1]);
    /* Constant or computed, [outputs, inputs]. */
    const int64_t sizes[2] = {w->shape[0], w->shape[1]}, strides[2] = {w->shape[1], 1};
    struct nuc_meta meta = nuc_meta_make(w->dtype, sizes, 2);
    struct nuc_node *weights = w->data.data == NULL
                                   ? nuc_ti_real(ti, 1, NUC_TI_PLAIN)
                                   : with_rounded_product(ti, 0, nuc_ti_constant(ti, w, &meta, strides, 0));
    struct nuc_node *bias = bias_of(ti, 2, x, w, w->shape[0]);
    struct nuc_node *linear = nuc_ti_emit(ti, NUC_OP_LINEAR, NUC_ARGS(real, weights, bias));
    nuc_ti_define_viewed(ti, nuc_ti_activate(ti, linear, ti->op->options.fully_connected.activation));
}
