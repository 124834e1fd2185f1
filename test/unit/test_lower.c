/*
 * Lowering of small networks that go through format inference and partitioning as real ones do. Expected operators
 * and numbers of transposes are those of the reference backend; data are checked element by element.
 */
#include "lower_net.h"

/* ---- convolutions and borders ---- */

static void padded_convolution(struct net *n, bool last)
{
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 4, 5), last);

    finish_one(n, convolution(n, x, weight(n, "w", SIZES(3, 2, 3, 3)), bias(n, 3), 1, 1));
}

static void test_convolution(void **state)
{
    struct net *n = *state;

    padded_convolution(n, false);
    ASSERT_OPS(n, NUC_LT_TRANSPOSE, NUC_LT_PADV2, NUC_LT_CONV_2D, NUC_LT_TRANSPOSE);
    assert_borders(n, false, false);
    assert_list(input_of(n, 0, 1), SIZES(0, 2, 3, 1));
    assert_list(input_of(n, 1, 1), SIZES(0, 0, 1, 1, 1, 1, 0, 0));
    assert_int_equal((int8_t)input_of(n, 1, 2)->data.data[0], 3);
    assert_int_equal(input_of(n, 1, 2)->rank, 0);
    assert_shape(input_of(n, 2, 0), SIZES(1, 6, 7, 2));
    assert_shape(input_of(n, 2, 1), SIZES(3, 3, 3, 2));
    for (int o = 0; o < 3; o++) {
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < 9; k++)
                assert_int_equal(input_of(n, 2, 1)->data.data[(o * 9 + k) * 2 + i], (o * 2 + i) * 9 + k);
        }
    }
    const union nuc_lt_options *o = &n->s->ops[2].options;
    assert_int_equal(o->conv.padding, NUC_LT_VALID);
    assert_int_equal(o->conv.dilation_h, 1);
    assert_shape(output_of(n, 2), SIZES(1, 4, 5, 3));
    assert_true(output_of(n, 2)->quant.scale[0] == 0.75f);
    assert_int_equal(output_of(n, 2)->quant.zero_point[0], -5);
    assert_shape(output_of(n, 3), SIZES(1, 3, 4, 5));
    assert_int_equal(n->s->ops[0].debug_handle, 0);
    assert_int_not_equal(n->s->ops[1].debug_handle, 0);
    assert_int_equal(n->s->ops[1].debug_handle, n->s->ops[2].debug_handle);
}

static void test_borders_left_to_the_runtime(void **state)
{
    struct net *n = *state;

    n->options.use_neutron_for_format_conversion = false;
    padded_convolution(n, false);
    ASSERT_OPS(n, NUC_LT_PADV2, NUC_LT_CONV_2D);
    assert_borders(n, true, true);
    assert_shape(input_of(n, 0, 0), SIZES(1, 4, 5, 2));
}

static void test_channels_last_input(void **state)
{
    struct net *n = *state;

    padded_convolution(n, true);
    ASSERT_OPS(n, NUC_LT_PADV2, NUC_LT_CONV_2D);
    assert_borders(n, true, true);
}

static void test_missing_bias(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 4, 5), true);

    finish_one(n, convolution(n, x, weight(n, "w", SIZES(3, 2, 3, 3)), NULL, 0, 1));
    ASSERT_OPS(n, NUC_LT_CONV_2D);
    assert_list(input_of(n, 0, 2), SIZES(0, 0, 0));
    assert_true(input_of(n, 0, 2)->quant.scale[0] == 0.5f * 0.25f);
}

static void test_depthwise(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 3, 4, 5), true);

    finish_one(n, convolution(n, x, weight(n, "w", SIZES(3, 1, 3, 3)), bias(n, 3), 0, 3));
    ASSERT_OPS(n, NUC_LT_DEPTHWISE_CONV_2D);
    assert_shape(input_of(n, 0, 1), SIZES(1, 3, 3, 3));
    for (int k = 0; k < 9; k++) {
        for (int c = 0; c < 3; c++)
            assert_int_equal(input_of(n, 0, 1)->data.data[k * 3 + c], c * 9 + k);
    }
    assert_int_equal(n->s->ops[0].options.conv.depth_multiplier, 1);
}

/* Scales of weights follow the output channels: axis 0, but 3 of a depthwise one. */
static struct nuc_node *channel_weight(struct net *n, const int64_t *sizes)
{
    static const float scales[] = {0.1f, 0.2f, 0.3f};
    const int64_t three = 3;
    struct nuc_node *source = constant(n, "w", sizes, 4);
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &three, 1);
    struct nuc_node *s = nuc_add_constant(n->g, "scales", &meta, scales);
    meta.dtype = NUC_I64;
    struct nuc_node *z = nuc_add_constant(n->g, "points", &meta, nuc_alloc(n->cx, 24));
    struct nuc_node *dq = nuc_add_node(n->g, NULL, NUC_OP_DEQUANTIZE_PER_CHANNEL, "dqc");

    s->input_kind = z->input_kind = NUC_BUFFER;
    nuc_set_arg_node(dq, n->g, 0, source);
    nuc_set_arg_node(dq, n->g, 1, s);
    nuc_set_arg_node(dq, n->g, 2, z);
    nuc_set_arg_int(dq, 3, 0);
    nuc_set_arg_int(dq, 4, -127);
    nuc_set_arg_int(dq, 5, 127);
    nuc_set_arg_dtype(dq, 6, NUC_I8);
    nuc_infer_shape(n->g, dq);
    return dq;
}

static void test_channel_scales(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 3, 4, 5), true);
    struct nuc_node *h = convolution(n, x, channel_weight(n, (const int64_t[]){3, 3, 1, 1}), NULL, 0, 1);

    finish_one(n, convolution(n, h, channel_weight(n, (const int64_t[]){3, 1, 1, 1}), NULL, 0, 3));
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_DEPTHWISE_CONV_2D);
    assert_int_equal(input_of(n, 0, 1)->quant.count, 3);
    assert_int_equal(input_of(n, 0, 1)->quant.axis, 0);
    assert_int_equal(input_of(n, 1, 1)->quant.axis, 3);
    assert_int_equal(input_of(n, 0, 2)->quant.count, 3);
    assert_true(input_of(n, 0, 2)->quant.scale[1] == (float)(0.5 * (double)0.2f));
    assert_true(input_of(n, 1, 2)->quant.scale[2] == (float)(0.75 * (double)0.3f));
}

/* ---- views, linear layers ---- */

/* A linear layer: permuted weights with a quantize and dequantize of their own. */
static struct nuc_node *linear(struct net *n, struct nuc_node *x, struct nuc_node *w)
{
    struct nuc_node *columns = quantized(n, permute(n, w, SIZES(1, 0)), 0.25, 0);
    struct nuc_node *node = call(n, NUC_OP_EDGE_MM, x);

    nuc_set_arg_node(node, n->g, 1, columns);
    nuc_infer_shape(n->g, node);
    return quantized(n, node, 1, 0);
}

static void test_linear(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 4), false);

    finish_one(n, linear(n, x, weight(n, "w", SIZES(3, 4))));
    ASSERT_OPS(n, NUC_LT_FULLY_CONNECTED);
    assert_int_equal(n->s->ops[0].n_inputs, 2);
    assert_shape(input_of(n, 0, 1), SIZES(3, 4));
    assert_int_equal(input_of(n, 0, 1)->data.data[5], 5);
    assert_false(n->s->ops[0].options.fully_connected.keep_num_dims);
    assert_borders(n, false, false);
}

/* The flattened channels-last values meet weights whose columns moved; no transpose is left but the input's. */
static void test_flatten_into_linear(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), false);
    struct nuc_node *h = convolution(n, x, weight(n, "w", SIZES(2, 2, 1, 1)), bias(n, 2), 0, 1);
    struct nuc_node *flat = quantized(n, view(n, h, SIZES(1, 24)), 0.75, -5);

    finish_one(n, linear(n, flat, weight(n, "v", SIZES(2, 24))));
    ASSERT_OPS(n, NUC_LT_TRANSPOSE, NUC_LT_CONV_2D, NUC_LT_RESHAPE, NUC_LT_FULLY_CONNECTED);
    assert_list(input_of(n, 2, 1), SIZES(1, 24));
    assert_int_equal(n->s->ops[2].options.reshape.shape[1], 24);
    for (int o = 0; o < 2; o++) {
        for (int p = 0; p < 12; p++) {
            for (int c = 0; c < 2; c++)
                assert_int_equal(input_of(n, 3, 1)->data.data[o * 24 + p * 2 + c], o * 24 + c * 12 + p);
        }
    }
}

/* conv -> view -> conv: which transposes surround the reshape. */
static void two_convolutions(struct net *n, const int64_t *from, const int64_t *to)
{
    struct nuc_node *x = user_input(n, "x", from, 4, true);
    struct nuc_node *h = convolution(n, x, weight(n, "w", SIZES(from[1], from[1], 1, 1)), NULL, 0, 1);
    struct nuc_node *v = quantized(n, view(n, h, to, 4), 0.75, -5);

    finish_one(n, convolution(n, v, weight(n, "v", SIZES(to[1], to[1], 1, 1)), NULL, 0, 1));
}

static void test_view_keeps_channels(void **state)
{
    struct net *n = *state;

    n->options.use_neutron_for_format_conversion = false;
    two_convolutions(n, (const int64_t[]){1, 2, 3, 4}, (const int64_t[]){1, 2, 6, 2});
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_RESHAPE, NUC_LT_CONV_2D);
    assert_list(input_of(n, 1, 1), SIZES(1, 6, 2, 2));
}

static void test_view_mixes_channels(void **state)
{
    struct net *n = *state;

    n->options.use_neutron_for_format_conversion = false;
    two_convolutions(n, (const int64_t[]){1, 2, 3, 4}, (const int64_t[]){1, 4, 3, 2});
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_TRANSPOSE, NUC_LT_RESHAPE, NUC_LT_TRANSPOSE, NUC_LT_CONV_2D);
    assert_list(input_of(n, 1, 1), SIZES(0, 3, 1, 2));
    assert_list(input_of(n, 2, 1), SIZES(1, 4, 3, 2));
    assert_list(input_of(n, 3, 1), SIZES(0, 2, 3, 1));
    assert_shape(output_of(n, 3), SIZES(1, 3, 2, 4));
}

static void test_permute_merges_formats(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), true);
    struct nuc_node *h = convolution(n, x, weight(n, "w", SIZES(2, 2, 1, 1)), NULL, 0, 1);

    /* To torch's own [N, H, W, C]: the bytes are there already, so nothing is left of it. */
    finish_one(n, quantized(n, permute(n, h, SIZES(0, 2, 3, 1)), 0.75, -5));
    ASSERT_OPS(n, NUC_LT_CONV_2D);
    assert_int_equal(n->io.outputs[0].channels_last, false);
    assert_shape(output_of(n, 0), SIZES(1, 3, 4, 2));
}

/* ---- pools, pads, reductions ---- */

static void test_max_pool(void **state)
{
    struct net *n = *state;
    struct nuc_node *pool = call(n, NUC_OP_EDGE_MAX_POOL2D, user_input(n, "x", SIZES(1, 2, 4, 4), true));

    nuc_set_arg_ints(pool, n->g, 1, SIZES(3, 2));
    nuc_set_arg_ints(pool, n->g, 2, SIZES(2, 1));
    nuc_set_arg_ints(pool, n->g, 3, SIZES(1, 1));
    nuc_infer_shape(n->g, pool);
    struct nuc_node *first = call(n, NUC_OP_GETITEM, pool);
    nuc_set_arg_int(first, 1, 0);
    nuc_infer_shape(n->g, first);
    finish_one(n, quantized(n, first, 0.5, 3));
    ASSERT_OPS(n, NUC_LT_PADV2, NUC_LT_MAX_POOL_2D);
    assert_int_equal((int8_t)input_of(n, 0, 2)->data.data[0], -128);
    assert_int_equal(n->s->ops[1].n_outputs, 1);
    assert_int_equal(n->s->ops[1].options.pool.filter_h, 3);
    assert_int_equal(n->s->ops[1].options.pool.filter_w, 2);
    assert_int_equal(n->s->ops[1].options.pool.stride_h, 2);
    assert_int_equal(n->s->ops[1].options.pool.stride_w, 1);
    assert_borders(n, true, true);
}

static void test_average_pools(void **state)
{
    struct net *n = *state;
    struct nuc_node *pool = call(n, NUC_OP_EDGE_AVG_POOL2D, user_input(n, "x", SIZES(1, 2, 6, 8), true));

    nuc_set_arg_ints(pool, n->g, 1, SIZES(3, 3));
    nuc_set_arg_ints(pool, n->g, 2, SIZES(1, 1));
    nuc_set_arg_ints(pool, n->g, 3, SIZES(1, 1));
    nuc_infer_shape(n->g, pool);
    struct nuc_node *adaptive = call(n, NUC_OP_EDGE_ADAPTIVE_AVG_POOL2D, quantized(n, pool, 0.5, 3));
    nuc_set_arg_ints(adaptive, n->g, 1, SIZES(3, 2));
    nuc_infer_shape(n->g, adaptive);
    finish_one(n, quantized(n, adaptive, 0.5, 3));
    ASSERT_OPS(n, NUC_LT_PADV2, NUC_LT_AVERAGE_POOL_2D, NUC_LT_AVERAGE_POOL_2D);
    assert_int_equal((int8_t)input_of(n, 0, 2)->data.data[0], 3);
    assert_int_equal(n->s->ops[2].options.pool.filter_h, 2);
    assert_int_equal(n->s->ops[2].options.pool.filter_w, 4);
    assert_int_equal(n->s->ops[2].options.pool.stride_h, 2);
    assert_int_equal(n->s->ops[2].options.pool.stride_w, 4);
}

static struct nuc_node *padded(struct net *n, struct nuc_node *x, double value)
{
    struct nuc_node *pad = call(n, NUC_OP_EDGE_CONSTANT_PAD, x);

    nuc_set_arg_ints(pad, n->g, 1, SIZES(1, 2, 3, 4, 5, 6)); /* width, height, channels */
    nuc_set_arg_float(pad, 2, value);
    nuc_infer_shape(n->g, pad);
    return quantized(n, pad, 0.5, 3);
}

static void test_pads(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), true);

    finish_one(n, padded(n, padded(n, x, 0), 1.25));
    ASSERT_OPS(n, NUC_LT_PAD, NUC_LT_PADV2);
    assert_list(input_of(n, 0, 1), SIZES(0, 0, 3, 4, 1, 2, 5, 6));
    assert_shape(output_of(n, 0), SIZES(1, 10, 7, 13));
    assert_int_equal((int8_t)input_of(n, 1, 2)->data.data[0], 2 + 3); /* 2.5 rounds to even */
}

static void mean(struct net *n, const int64_t *dims, size_t count, bool keep)
{
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), true);
    struct nuc_node *h = convolution(n, x, weight(n, "w", SIZES(2, 2, 1, 1)), NULL, 0, 1);
    struct nuc_node *node = call(n, NUC_OP_EDGE_MEAN_DIM, h);

    nuc_set_arg_ints(node, n->g, 1, dims, (uint32_t)count);
    nuc_set_arg_bool(node, 2, keep);
    nuc_infer_shape(n->g, node);
    finish_one(n, quantized(n, node, 0.75, -5));
}

static void test_mean_keeps_dims(void **state)
{
    struct net *n = *state;

    n->options.use_neutron_for_format_conversion = false;
    mean(n, SIZES(-1, -2), true);
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_MEAN);
    assert_list(input_of(n, 1, 1), SIZES(2, 1));
    assert_true(n->s->ops[1].options.reduce.keep_dims);
}

static void test_mean_of_channels(void **state)
{
    struct net *n = *state;

    mean(n, SIZES(1), false);
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_MEAN);
    assert_list(input_of(n, 1, 1), SIZES(3));
    assert_shape(output_of(n, 1), SIZES(1, 3, 4));
}

static void test_mean_of_height(void **state)
{
    struct net *n = *state;

    mean(n, SIZES(2), false);
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_TRANSPOSE, NUC_LT_MEAN);
    assert_list(input_of(n, 2, 1), SIZES(2));
    assert_shape(output_of(n, 2), SIZES(1, 2, 4));
}

/* ---- elementwise ---- */

static struct nuc_node *add(struct net *n, struct nuc_node *a, struct nuc_node *b)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_ADD, a);

    nuc_set_arg_node(node, n->g, 1, b);
    nuc_infer_shape(n->g, node);
    return quantized(n, node, 1, 0);
}

/* [C, 1, 1] beside [N, C, H, W] becomes [1, 1, 1, C]; [H, W] becomes [1, H, W, 1]. */
static void test_broadcast_constants(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), true);
    struct nuc_node *h = convolution(n, x, weight(n, "w", SIZES(2, 2, 1, 1)), NULL, 0, 1);

    finish_one(n, add(n, add(n, h, weight(n, "c", SIZES(2, 1, 1))), weight(n, "m", SIZES(3, 4))));
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_ADD, NUC_LT_ADD);
    assert_shape(input_of(n, 1, 1), SIZES(1, 1, 1, 2));
    assert_int_equal(input_of(n, 1, 1)->data.data[1], 1);
    assert_shape(input_of(n, 2, 1), SIZES(1, 3, 4, 1));
    assert_int_equal(input_of(n, 2, 1)->data.data[7], 7);
}

static void test_broadcast_value(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), true);
    struct nuc_node *row = user_input(n, "row", SIZES(3, 4), false);
    struct nuc_node *h = convolution(n, x, weight(n, "w", SIZES(2, 2, 1, 1)), NULL, 0, 1);

    finish_one(n, add(n, h, row));
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_RESHAPE, NUC_LT_TRANSPOSE, NUC_LT_ADD);
    assert_shape(output_of(n, 1), SIZES(1, 1, 3, 4));
    assert_list(input_of(n, 2, 1), SIZES(0, 2, 3, 1));
    assert_shape(output_of(n, 2), SIZES(1, 3, 4, 1));
    assert_int_equal(n->s->ops[1].n_inputs, 1);
}

static struct nuc_node *clamp(struct net *n, struct nuc_node *x, double low, double high)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_HARDTANH, x);

    nuc_set_arg_float(node, 1, low);
    nuc_set_arg_float(node, 2, high);
    nuc_infer_shape(n->g, node);
    return quantized(n, node, 0.5, 3);
}

static void test_clamps(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 4), false);

    finish_one(n, clamp(n, clamp(n, clamp(n, x, 0, 6), -1, 1), -2, 3.25));
    ASSERT_OPS(n, NUC_LT_RELU6, NUC_LT_RELU_N1_TO_1, NUC_LT_MINIMUM, NUC_LT_MAXIMUM);
    assert_int_equal((int8_t)input_of(n, 2, 1)->data.data[0], 6 + 3); /* 6.5 rounds to even */
    assert_int_equal((int8_t)input_of(n, 3, 1)->data.data[0], -4 + 3);
    assert_true(nuc_lt_quant_equal(&input_of(n, 2, 1)->quant, &input_of(n, 2, 0)->quant));
}

static void test_softmax(void **state)
{
    struct net *n = *state;
    struct nuc_node *node = call(n, NUC_OP_EDGE_SOFTMAX, user_input(n, "x", SIZES(1, 4), false));

    nuc_set_arg_int(node, 1, -1);
    nuc_set_arg_bool(node, 2, false);
    nuc_infer_shape(n->g, node);
    finish_one(n, quantized(n, node, 1.0 / 256, -128));
    ASSERT_OPS(n, NUC_LT_SOFTMAX);
    assert_true(n->s->ops[0].options.softmax.beta == 1.0f);
}

/* ---- refusals ---- */

struct refusal {
    struct net *n;
    struct nuc_partition p;
};

static void lower_by_hand(struct nuc_context *cx, void *arg)
{
    struct refusal *r = arg;

    (void)cx;
    nuc_lower_partition(r->n->g, &r->p, NULL, &r->n->io);
}

static void test_refusal(void **state)
{
    struct net *n = *state;
    struct nuc_node *dq = user_input(n, "x", SIZES(1, 4), false);
    struct nuc_node *input = nuc_arg_node(dq, 0);
    struct nuc_node *softmax = call(n, NUC_OP_EDGE_SOFTMAX, dq);
    nuc_set_arg_int(softmax, 1, 0); /* not the channels */
    nuc_set_arg_bool(softmax, 2, false);
    nuc_infer_shape(n->g, softmax);
    struct nuc_node *last = quantized(n, softmax, 1.0 / 256, -128);
    struct nuc_node *q = nuc_arg_node(last, 0);
    struct refusal r = {n, {.tag = "tag0", .n_nodes = 3, .n_inputs = 1, .n_outputs = 1}};

    r.p.nodes = (struct nuc_node *[]){dq, softmax, q};
    r.p.inputs = &input;
    r.p.outputs = &q;
    assert_int_equal(nuc_try(n->cx, lower_by_hand, &r), NUC_INTERNAL);
    assert_non_null(strstr(n->cx->message, softmax->name));
    r.p.n_inputs = 0;
    assert_int_equal(nuc_try(n->cx, lower_by_hand, &r), NUC_INTERNAL);
    assert_non_null(strstr(n->cx->message, "tag0"));
}

static void test_can_lower(void **state)
{
    (void)state;
    assert_true(nuc_can_lower(NUC_OP_EDGE_CONVOLUTION));
    assert_true(nuc_can_lower(NUC_OP_GETITEM));
    assert_true(nuc_can_lower(NUC_OP_DEQUANTIZE_PER_CHANNEL));
    assert_false(nuc_can_lower(NUC_OP_EDGE_BATCH_NORM));
    assert_false(nuc_can_lower(NUC_OP_COUNT));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_convolution),
        TEST(test_borders_left_to_the_runtime),
        TEST(test_channels_last_input),
        TEST(test_missing_bias),
        TEST(test_depthwise),
        TEST(test_channel_scales),
        TEST(test_linear),
        TEST(test_flatten_into_linear),
        TEST(test_view_keeps_channels),
        TEST(test_view_mixes_channels),
        TEST(test_permute_merges_formats),
        TEST(test_max_pool),
        TEST(test_average_pools),
        TEST(test_pads),
        TEST(test_mean_keeps_dims),
        TEST(test_mean_of_channels),
        TEST(test_mean_of_height),
        TEST(test_broadcast_constants),
        TEST(test_broadcast_value),
        TEST(test_clamps),
        TEST(test_softmax),
        TEST(test_refusal),
        TEST(test_can_lower),
    };

    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
