/* Convolutions, fully connected layers and matrix products. */
#include <string.h>

#include "algorithms/constant_channels.h"
#include "npu/convert/conversion.h"

/* The simulated accumulators take this many products of one row of a window. */
#define MAX_RUN 65536

/* Windows of size `k` along an axis of an image, from the pad before it on. */
struct axis {
    int32_t in, out, k, stride, dilation;
};

static struct nuc_lt_windows windows(enum nuc_lt_padding padding, int64_t size, const struct axis *a)
{
    return nuc_lt_windows(padding, size, (int64_t)(a->k - 1) * a->dilation + 1, a->stride);
}

/*
 * The pad before axis `d` of the input, 1 or 2. Windows are counted on the operator's own operand, whose pad may have
 * become part of the operator.
 */
static int32_t pad_before(const struct nuc_cv *cv, const struct nuc_cv_node *n, enum nuc_lt_padding padding, uint32_t d,
                          const struct axis *a)
{
    if (a->k < 1 || a->stride < 1 || windows(padding, nuc_cv_in(cv, n, 0)->shape[d], a).count != a->out)
        nuc_cv_fail(cv, n, "output size %d along dimension %u does not follow from input, window and stride", a->out,
                    d);
    if (n->has_pad)
        return d == 1 ? n->pad_top : n->pad_left;
    return (int32_t)windows(padding, a->in, a).before;
}

/* A constant operand of `bytes` bytes. */
static const uint8_t *constant(const struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i, enum nuc_dtype dtype,
                               size_t bytes)
{
    const struct nuc_lt_tensor *t = nuc_cv_in(cv, n, i);

    if (!t || !t->data.data)
        nuc_cv_fail(cv, n, "operand %u must be a constant: only static weights have a kernel", i);
    if (t->dtype != dtype || t->data.size != bytes)
        nuc_cv_fail(cv, n, "operand %u is %s[%zu bytes], expected %s[%zu bytes]", i, nuc_dtype_name(t->dtype),
                    t->data.size, nuc_dtype_name(dtype), bytes);
    return t->data.data;
}

/* The int32 biases of `channels` outputs; zeros when operand `i` is left out. */
static const int32_t *biases(struct nuc_cv *cv, const struct nuc_cv_node *n, uint32_t i, int32_t channels)
{
    int32_t *values = nuc_alloc_array(cv->cx, (size_t)channels, sizeof *values);
    const uint8_t *from = nuc_cv_in(cv, n, i) ? constant(cv, n, i, NUC_I32, (size_t)channels * 4) : NULL;

    for (int32_t c = 0; from && c < channels; c++)
        values[c] = (int32_t)nuc_load_u32(from + (size_t)c * 4);
    return values;
}

static struct nuc_mc_ref bias_ref(struct nuc_cv *cv, const int32_t *bias, int32_t channels)
{
    size_t bytes = (size_t)channels * 4;
    uint8_t *table = nuc_alloc(cv->cx, bytes);

    for (int32_t c = 0; c < channels; c++)
        nuc_store_u32(table + (size_t)c * 4, (uint32_t)bias[c]);
    return nuc_cv_weights_ref(cv, table, bytes);
}

/* Multipliers of input scale * weight scale / output scale for each of `channels` outputs. */
static struct nuc_multiplier *multipliers(struct nuc_cv *cv, const struct nuc_cv_node *n,
                                          const struct nuc_lt_tensor *weight, struct nuc_cv_params x,
                                          struct nuc_cv_params y, int32_t channels)
{
    const struct nuc_lt_quant *q = &weight->quant;
    struct nuc_multiplier *m = nuc_alloc_array(cv->cx, (size_t)channels, sizeof *m);

    if (q->count != 1 && q->count != (uint32_t)channels)
        nuc_cv_fail(cv, n, "weights have %u scales, expected 1 or %d", q->count, channels);
    for (int32_t i = 0; i < channels; i++) {
        uint32_t at = q->count == 1 ? 0 : (uint32_t)i;
        if (q->zero_point[at] != 0)
            nuc_cv_fail(cv, n, "weights have zero point %d: int8 weights must be symmetric", (int)q->zero_point[at]);
        m[i] = nuc_multiplier_from_scale((double)x.scale * (double)q->scale[at] / (double)y.scale);
    }
    return m;
}

/* Pairs {multiplier, shift}. */
static struct nuc_mc_ref requant_ref(struct nuc_cv *cv, const struct nuc_multiplier *m, int32_t count)
{
    size_t bytes = (size_t)count * 8;
    uint8_t *table = nuc_alloc(cv->cx, bytes);

    for (int32_t i = 0; i < count; i++) {
        nuc_store_u32(table + (size_t)i * 8, (uint32_t)m[i].multiplier);
        nuc_store_u32(table + (size_t)i * 8 + 4, (uint32_t)m[i].shift);
    }
    return nuc_cv_weights_ref(cv, table, bytes);
}

/* What revision 3 knows nothing of: constant channels are bounded, so that every kernel takes the call. */
static void fold_channels(struct nuc_cv *cv, const struct nuc_channels *shape, struct nuc_channel_constants *constants)
{
    if (!cv->revision_3)
        (void)nuc_fold_constant_channels(cv->cx, shape, constants);
}

/* Sizes of image tensors and of the result in a convolution's record. */
static void set_images(const struct nuc_cv *cv, const struct nuc_cv_node *n, const struct nuc_lt_tensor *x,
                       const struct nuc_lt_tensor *w, const struct nuc_lt_tensor *y, struct nuc_mc_conv *c)
{
    if (!x || !w || x->rank != 4 || w->rank != 4 || y->rank != 4)
        nuc_cv_fail(cv, n, "input, weights and output must have rank 4");
    c->batches = x->shape[0];
    c->in_h = x->shape[1];
    c->in_w = x->shape[2];
    c->in_c = x->shape[3];
    c->out_h = y->shape[1];
    c->out_w = y->shape[2];
    c->out_c = y->shape[3];
    c->k_h = w->shape[1];
    c->k_w = w->shape[2];
    if (y->shape[0] != c->batches)
        nuc_cv_fail(cv, n, "batch of input and output differ: %d and %d", c->batches, y->shape[0]);
}

/* What all convolutions have: operands `input` and `bias` by their places, `depth` weights per output, row and column.
 */
static void emit_record(struct nuc_cv *cv, const struct nuc_cv_node *n, union nuc_mc_record *r, uint32_t opcode,
                        int32_t input, uint32_t bias, int32_t depth)
{
    bool depthwise = opcode == NUC_MC_OP_DEPTHWISE_CONV_2D;
    const struct nuc_lt_tensor *x = &cv->graph->tensors[input];
    struct nuc_cv_params px = nuc_cv_params(cv, n, x), py = nuc_cv_params(cv, n, nuc_cv_y(cv, n));
    struct nuc_mc_conv *c = &r->conv;
    int64_t of_channel = (int64_t)c->k_h * c->k_w * depth;
    size_t bytes = (size_t)c->out_c * (size_t)of_channel;
    struct nuc_channel_constants k = {
        .weights = (const int8_t *)constant(cv, n, 1, NUC_I8, bytes),
        .n_weights = bytes,
        .bias = biases(cv, n, bias, c->out_c),
        .rescale = multipliers(cv, n, nuc_cv_in(cv, n, 1), px, py, c->out_c),
    };

    c->input_zero = px.zero;
    c->output_zero = py.zero;
    nuc_cv_clamp(cv, n, n->op->options.conv.activation, &c->clamp_min, &c->clamp_max);
    c->input = nuc_cv_tensor_ref(cv, input);
    c->in_pitch = nuc_cv_in_pitch(cv, input);
    c->output = nuc_cv_output_ref(cv);
    c->out_pitch = nuc_cv_out_pitch(cv);
    fold_channels(cv,
                  &(struct nuc_channels){.channels = c->out_c,
                                         .of_group = c->out_c,
                                         .channel_stride = depthwise ? 1 : of_channel,
                                         .rows = 1,
                                         .row = of_channel,
                                         .stride = depthwise ? c->out_c : 1,
                                         .input_zero = px.zero,
                                         .output_zero = py.zero,
                                         .low = c->clamp_min,
                                         .high = c->clamp_max},
                  &k);
    if (opcode == NUC_MC_OP_CONV_2D)
        nuc_cv_fold_pixels(cv, c, &k);
    c->weight = nuc_cv_weights_ref(cv, k.weights, k.n_weights);
    c->bias = bias_ref(cv, k.bias, c->out_c);
    c->requant = requant_ref(cv, k.rescale, c->out_c);
    nuc_cv_emit(cv, opcode, r);
}

void nuc_cv_emit_conv(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *w = nuc_cv_in(cv, n, 1);
    bool depthwise = n->op->code == NUC_LT_DEPTHWISE_CONV_2D;
    union nuc_mc_record r = {.conv = {.groups = 1}};
    struct nuc_mc_conv *c = &r.conv;

    set_images(cv, n, nuc_cv_x(cv, n), w, nuc_cv_y(cv, n), c);
    /* Strides, dilations and pads. */
    const union nuc_lt_options *o = &n->op->options;
    c->stride_h = o->conv.stride_h;
    c->stride_w = o->conv.stride_w;
    c->dilation_h = o->conv.dilation_h > 0 ? o->conv.dilation_h : 1;
    c->dilation_w = o->conv.dilation_w > 0 ? o->conv.dilation_w : 1;
    c->pad_top =
        pad_before(cv, n, o->conv.padding, 1, &(struct axis){c->in_h, c->out_h, c->k_h, c->stride_h, c->dilation_h});
    c->pad_left =
        pad_before(cv, n, o->conv.padding, 2, &(struct axis){c->in_w, c->out_w, c->k_w, c->stride_w, c->dilation_w});
    int32_t depth = depthwise ? 1 : w->shape[3];
    if ((depthwise ? w->shape[3] : w->shape[0]) != c->out_c || depth < 1 || c->in_c % depth != 0 ||
        c->out_c % (c->in_c / depth) != 0 || (depthwise && w->shape[0] != 1))
        nuc_cv_fail(cv, n, "weights do not fit %d input and %d output channels", c->in_c, c->out_c);
    c->groups = c->in_c / depth;
    if ((int64_t)c->k_w * depth > MAX_RUN)
        nuc_cv_fail(cv, n, "a row of the window has %lld weights, the accumulators take %d: split the channels",
                    (long long)c->k_w * depth, MAX_RUN);
    emit_record(cv, n, &r, depthwise ? NUC_MC_OP_DEPTHWISE_CONV_2D : NUC_MC_OP_CONV_2D, n->input, 2, depth);
}

/* Operands: output shape, weights [O, H, W, I], input, bias. */
void nuc_cv_emit_transpose_conv(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *w = nuc_cv_in(cv, n, 1);
    const union nuc_lt_options *o = &n->op->options;
    union nuc_mc_record r = {.conv = {.groups = 1, .dilation_h = 1, .dilation_w = 1}};
    struct nuc_mc_conv *c = &r.conv;

    set_images(cv, n, nuc_cv_in(cv, n, 2), w, nuc_cv_y(cv, n), c);
    c->stride_h = o->conv.stride_h;
    c->stride_w = o->conv.stride_w;
    if (c->stride_h < 1 || c->stride_w < 1 || w->shape[0] != c->out_c || w->shape[3] != c->in_c)
        nuc_cv_fail(cv, n, "weights or strides do not fit the input's and the output's channels");
    /* Padding is that of the convolution whose input this output is. */
    c->pad_top = (int32_t)nuc_lt_windows(o->conv.padding, c->out_h, c->k_h, c->stride_h).before;
    c->pad_left = (int32_t)nuc_lt_windows(o->conv.padding, c->out_w, c->k_w, c->stride_w).before;
    emit_record(cv, n, &r, NUC_MC_OP_TRANSPOSE_CONV, n->op->inputs[2], 3, c->in_c);
}

/* The multiplier of input scale * weight scale / output scale, the product in float as LiteRT forms it. */
static struct nuc_multiplier product_multiplier(float a, float b, float y)
{
    return nuc_multiplier_from_scale((double)(a * b) / (double)y);
}

/* Operands of a product with constant weights and a bias, which are folded, then in the order of the microcode. */
static void set_layer(struct nuc_cv *cv, const struct nuc_cv_node *n, struct nuc_mc_matmul *g)
{
    const struct nuc_lt_tensor *w = nuc_cv_in(cv, n, 1);
    struct nuc_cv_params px = nuc_cv_params(cv, n, nuc_cv_x(cv, n)), py = nuc_cv_params(cv, n, nuc_cv_y(cv, n));
    bool constant_weights = w->data.size == (size_t)g->columns * (size_t)g->depth;
    struct nuc_channel_constants k = {.weights = (const int8_t *)w->data.data,
                                      .n_weights = w->data.size,
                                      .bias = g->has_bias ? biases(cv, n, 2, g->columns) : NULL};
    struct nuc_multiplier one;

    g->per_channel = w->quant.count > 1;
    if (g->per_channel) {
        k.rescale = multipliers(cv, n, w, px, py, g->columns);
    } else {
        struct nuc_cv_params pw = nuc_cv_params(cv, n, w);
        g->rhs_zero = pw.zero;
        one = product_multiplier(px.scale, pw.scale, py.scale);
        k.rescale = &one;
    }
    if (constant_weights && g->rhs_zero == 0)
        fold_channels(cv,
                      &(struct nuc_channels){.channels = g->columns,
                                             .of_group = g->columns,
                                             .channel_stride = g->depth,
                                             .rows = 1,
                                             .row = g->depth,
                                             .stride = 1,
                                             .input_zero = px.zero,
                                             .output_zero = py.zero,
                                             .low = g->clamp_min,
                                             .high = g->clamp_max,
                                             .one_multiplier = !g->per_channel},
                      &k);
    bool same = k.weights == (const int8_t *)w->data.data;
    g->rhs = same ? nuc_cv_input_ref(cv, 1) : nuc_cv_weights_ref(cv, k.weights, k.n_weights);
    g->output = nuc_cv_output_ref(cv);
    g->out_pitch = nuc_cv_out_pitch(cv);
    g->bias = g->has_bias ? bias_ref(cv, k.bias, g->columns) : nuc_cv_weights_ref(cv, NULL, 0);
    g->requant = requant_ref(cv, k.rescale, g->per_channel ? g->columns : 1);
}

void nuc_cv_emit_fully_connected(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *w = nuc_cv_in(cv, n, 1), *y = nuc_cv_y(cv, n);
    struct nuc_cv_params px = nuc_cv_params(cv, n, x), py = nuc_cv_params(cv, n, y);
    union nuc_mc_record r = {.matmul = {.batches = 1, .lhs_zero = px.zero, .output_zero = py.zero}};
    struct nuc_mc_matmul *g = &r.matmul;

    if (!w || w->rank != 2 || w->dtype != NUC_I8 || n->op->options.fully_connected.weights_format != 0)
        nuc_cv_fail(cv, n, "weights must be int8 [outputs, inputs]");
    g->columns = w->shape[0];
    g->depth = w->shape[1];
    int64_t rows = nuc_lt_elements(x) / g->depth;
    if (rows * g->depth != nuc_lt_elements(x) || rows * g->columns != nuc_lt_elements(y) || rows > INT32_MAX)
        nuc_cv_fail(cv, n, "weights [%d, %d] do not fit the input and output", g->columns, g->depth);
    g->rows = (int32_t)rows;
    g->lhs_row_stride = g->rhs_column_stride = g->depth;
    if (nuc_cv_in_pitch(cv, n->input) != 0)
        g->lhs_row_stride = nuc_cv_in_pitch(cv, n->input);
    g->lhs_depth_stride = g->rhs_depth_stride = 1;
    nuc_cv_clamp(cv, n, n->op->options.fully_connected.activation, &g->clamp_min, &g->clamp_max);
    g->lhs = nuc_cv_tensor_ref(cv, n->input);
    g->has_bias = nuc_cv_in(cv, n, 2) ? 1 : 0;
    set_layer(cv, n, g);
    nuc_cv_emit(cv, NUC_MC_OP_FULLY_CONNECTED, &r);
}

/* Batches of a product; one operand may have a single matrix for all. Only equal leading dimensions, or none. */
static int32_t leading(const struct nuc_cv *cv, const struct nuc_cv_node *n, const struct nuc_lt_tensor *t,
                       const struct nuc_lt_tensor *y, bool *repeated)
{
    int64_t own = 1, all = 1;

    for (uint32_t i = 0; i + 2 < t->rank; i++)
        own *= t->shape[i];
    for (uint32_t i = 0; i + 2 < y->rank; i++)
        all *= y->shape[i];
    if ((own != all && own != 1) || all > INT32_MAX)
        nuc_cv_fail(cv, n, "batches of the operands differ: reshape them to equal leading dimensions");
    *repeated = own == 1 && all > 1;
    return (int32_t)all;
}

void nuc_cv_emit_batch_matmul(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    const struct nuc_lt_tensor *a = nuc_cv_in(cv, n, 0), *b = nuc_cv_in(cv, n, 1), *y = nuc_cv_y(cv, n);
    union nuc_mc_record r = {.matmul = {.has_bias = 0}};
    struct nuc_mc_matmul *g = &r.matmul;
    bool adj_x = n->op->options.batch_matmul.adj_x, adj_y = n->op->options.batch_matmul.adj_y;
    bool a_repeats, b_repeats;

    if (!a || !b || a->rank < 2 || b->rank < 2 || y->rank < 2)
        nuc_cv_fail(cv, n, "needs two operands of rank 2 and more");
    struct nuc_cv_params pa = nuc_cv_params(cv, n, a), pb = nuc_cv_params(cv, n, b), py = nuc_cv_params(cv, n, y);
    int32_t a_columns = a->shape[a->rank - 1], b_columns = b->shape[b->rank - 1];
    g->batches = leading(cv, n, a, y, &a_repeats);
    (void)leading(cv, n, b, y, &b_repeats);
    g->rows = adj_x ? a_columns : a->shape[a->rank - 2];
    g->depth = adj_x ? a->shape[a->rank - 2] : a_columns;
    g->columns = adj_y ? b->shape[b->rank - 2] : b_columns;
    if ((adj_y ? b_columns : b->shape[b->rank - 2]) != g->depth ||
        (int64_t)g->batches * g->rows * g->columns != nuc_lt_elements(y))
        nuc_cv_fail(cv, n, "shapes of the operands do not fit each other");
    struct nuc_cv_matrices of[3];
    if (!nuc_cv_product_matrices(cv, n, of))
        nuc_fail(cv->cx, NUC_INTERNAL, "%s: a product has no strides", cv->model->file);
    g->lhs_row_stride = (int32_t)of[0].stride[adj_x ? 2 : 1];
    g->lhs_depth_stride = (int32_t)of[0].stride[adj_x ? 1 : 2];
    g->rhs_column_stride = (int32_t)of[1].stride[adj_y ? 1 : 2];
    g->rhs_depth_stride = (int32_t)of[1].stride[adj_y ? 2 : 1];
    g->lhs_batch_stride = a_repeats ? 0 : (int32_t)of[0].stride[0];
    g->rhs_batch_stride = b_repeats ? 0 : (int32_t)of[1].stride[0];
    g->out_pitch = n->turn != 0 && g->rows > 1 ? (int32_t)of[2].stride[1] : nuc_cv_out_pitch(cv);
    if (of[0].inner > 0) {
        g->inner = (int32_t)of[0].inner;
        g->lhs_inner_stride = a_repeats ? 0 : (int32_t)of[0].inner_stride;
        g->rhs_inner_stride = b_repeats ? 0 : (int32_t)of[1].inner_stride;
        g->out_batch_stride = (int32_t)of[2].stride[0];
        g->out_inner_stride = (int32_t)of[2].inner_stride;
    }
    g->lhs_zero = pa.zero;
    g->rhs_zero = pb.zero;
    g->output_zero = py.zero;
    nuc_cv_clamp(cv, n, NUC_LT_ACT_NONE, &g->clamp_min, &g->clamp_max);
    g->lhs = nuc_cv_input_ref(cv, 0);
    g->rhs = nuc_cv_input_ref(cv, 1);
    g->output = nuc_cv_output_ref(cv);
    g->bias = nuc_cv_weights_ref(cv, NULL, 0);
    struct nuc_multiplier m = product_multiplier(pa.scale, pb.scale, py.scale);
    g->requant = requant_ref(cv, &m, 1);
    nuc_cv_emit(cv, NUC_MC_OP_BATCH_MATMUL, &r);
}

static void set_pool_sizes(const struct nuc_cv *cv, const struct nuc_cv_node *n, struct nuc_mc_pool *p)
{
    const struct nuc_lt_tensor *x = nuc_cv_x(cv, n), *y = nuc_cv_y(cv, n);
    const union nuc_lt_options *o = &n->op->options;

    if (x->rank != 4 || y->rank != 4 || x->shape[0] != y->shape[0] || x->shape[3] != y->shape[3])
        nuc_cv_fail(cv, n, "input and output must be images of equal batch and channels");
    p->batches = x->shape[0];
    p->in_h = x->shape[1];
    p->in_w = x->shape[2];
    p->channels = x->shape[3];
    p->out_h = y->shape[1];
    p->out_w = y->shape[2];
    p->k_h = o->pool.filter_h;
    p->k_w = o->pool.filter_w;
    p->stride_h = o->pool.stride_h;
    p->stride_w = o->pool.stride_w;
    p->pad_top = pad_before(cv, n, o->pool.padding, 1, &(struct axis){p->in_h, p->out_h, p->k_h, p->stride_h, 1});
    p->pad_left = pad_before(cv, n, o->pool.padding, 2, &(struct axis){p->in_w, p->out_w, p->k_w, p->stride_w, 1});
}

void nuc_cv_emit_pool(struct nuc_cv *cv, const struct nuc_cv_node *n)
{
    union nuc_mc_record r = {.pool = {.count_pad = 0}};
    bool average = n->op->code == NUC_LT_AVERAGE_POOL_2D;

    if (!nuc_cv_same_params(cv, n, nuc_cv_x(cv, n), nuc_cv_y(cv, n)))
        nuc_cv_fail(cv, n, "input and output must have one scale and zero point");
    set_pool_sizes(cv, n, &r.pool);
    r.pool.count_pad = average && n->has_pad ? 1 : 0;
    r.pool.pad_value = n->has_pad ? n->pad_value : 0;
    nuc_cv_clamp(cv, n, n->op->options.pool.activation, &r.pool.clamp_min, &r.pool.clamp_max);
    r.pool.input = nuc_cv_tensor_ref(cv, n->input);
    r.pool.in_pitch = nuc_cv_in_pitch(cv, n->input);
    r.pool.output = nuc_cv_output_ref(cv);
    r.pool.out_pitch = nuc_cv_out_pitch(cv);
    nuc_cv_emit(cv, average ? NUC_MC_OP_AVERAGE_POOL_2D : NUC_MC_OP_MAX_POOL_2D, &r);
}
