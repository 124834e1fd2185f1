/*
 * Lowering, operator by operator: which LiteRT operator an Edge operator becomes, with which options and constants, and
 * where formats put transposes. Expectations follow the reference backend.
 */
#include <math.h>

#include "compiler/support/support.h"
#include "lower_net.h"

/* A fresh graph, for tests that lower several networks. */
static void restart(struct net *n)
{
    n->g = nuc_graph_new(n->cx, "net.pt2");
}

/* The node's own shape, then quantize and dequantize behind it. */
static struct nuc_node *finished_call(struct net *n, struct nuc_node *node, double scale, int64_t point)
{
    nuc_infer_shape(n->g, node);
    return quantized(n, node, scale, point);
}

/* With the quantization of user_input(). */
static struct nuc_node *like_input(struct net *n, struct nuc_node *node)
{
    return finished_call(n, node, 0.5, 3);
}

/* A convolution that makes everything around it channels-first. */
static struct nuc_node *image(struct net *n, int64_t channels)
{
    struct nuc_node *x = user_input(n, "x", SIZES(1, channels, 3, 4), true);

    return convolution(n, x, weight(n, "w", SIZES(channels, channels, 1, 1)), NULL, 0, 1);
}

/* ---- one operand ---- */

static void test_unary(void **state)
{
    static const struct {
        enum nuc_op op;
        int32_t code;
        double scale; /* of the result: some are prescribed */
        int64_t point;
    } rows[] = {
        {NUC_OP_EDGE_RELU, NUC_LT_RELU, 0.25, -128},
        {NUC_OP_EDGE_ABS, NUC_LT_ABS, 0.25, -128},
        {NUC_OP_EDGE_EXP, NUC_LT_EXP, 0.25, -128},
        {NUC_OP_EDGE_LOG, NUC_LT_LOG, 0.25, 0},
        {NUC_OP_EDGE_HARDSWISH, NUC_LT_HARD_SWISH, 0.25, -90},
        {NUC_OP_EDGE_RSQRT, NUC_LT_RSQRT, 0.25, 0},
        {NUC_OP_EDGE_TANH, NUC_LT_TANH, 1.0 / 128, 0},
        {NUC_OP_EDGE_SIGMOID, NUC_LT_LOGISTIC, 1.0 / 256, -128},
    };
    struct net *n = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        restart(n);
        struct nuc_node *node = call(n, rows[i].op, user_input(n, "x", SIZES(2, 4), false));
        finish_one(n, finished_call(n, node, rows[i].scale, rows[i].point));
        ASSERT_OPS(n, rows[i].code);
        assert_int_equal(n->s->ops[0].n_inputs, 1);
        assert_true(output_of(n, 0)->quant.scale[0] == (float)rows[i].scale);
        assert_int_equal(output_of(n, 0)->quant.zero_point[0], rows[i].point);
    }
}

static void test_leaky_relu(void **state)
{
    struct net *n = *state;
    struct nuc_node *first = call(n, NUC_OP_EDGE_LEAKY_RELU, user_input(n, "x", SIZES(2, 4), false));
    struct nuc_node *second = call(n, NUC_OP_EDGE_LEAKY_RELU, like_input(n, first));

    nuc_set_arg_float(second, 1, 0.25);
    finish_one(n, like_input(n, second));
    ASSERT_OPS(n, NUC_LT_LEAKY_RELU, NUC_LT_LEAKY_RELU);
    assert_true(n->s->ops[0].options.leaky_relu.alpha == 0.01f);
    assert_true(n->s->ops[1].options.leaky_relu.alpha == 0.25f);
}

/* A bound that is left out or infinite is none. */
static void test_one_sided_clamps(void **state)
{
    struct net *n = *state;
    struct nuc_node *above = call(n, NUC_OP_EDGE_CLAMP, user_input(n, "x", SIZES(2, 4), false));
    nuc_set_arg_float(above, 1, -3);
    struct nuc_node *below = call(n, NUC_OP_EDGE_CLAMP, like_input(n, above));
    nuc_set_arg_float(below, 1, -(double)INFINITY);
    nuc_set_arg_float(below, 2, 7);
    struct nuc_node *relu = call(n, NUC_OP_EDGE_CLAMP, like_input(n, below));
    nuc_set_arg_float(relu, 1, 0);

    finish_one(n, like_input(n, relu));
    ASSERT_OPS(n, NUC_LT_MAXIMUM, NUC_LT_MINIMUM, NUC_LT_RELU);
    assert_int_equal((int8_t)input_of(n, 0, 1)->data.data[0], -6 + 3);
    assert_int_equal((int8_t)input_of(n, 1, 1)->data.data[0], 14 + 3);
}

/* ---- two operands ---- */

static void test_binary(void **state)
{
    static const struct {
        enum nuc_op op;
        int32_t code;
        bool pot; /* the schema's default of pot_scale_int16, which ADD and SUB have */
    } rows[] = {
        {NUC_OP_EDGE_ADD, NUC_LT_ADD, true},          {NUC_OP_EDGE_SUB, NUC_LT_SUB, true},
        {NUC_OP_EDGE_MUL, NUC_LT_MUL, false},         {NUC_OP_EDGE_MAXIMUM, NUC_LT_MAXIMUM, false},
        {NUC_OP_EDGE_MINIMUM, NUC_LT_MINIMUM, false},
    };
    struct net *n = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        restart(n);
        struct nuc_node *x = user_input(n, "x", SIZES(4, 6), false);
        struct nuc_node *y = user_input(n, "y", SIZES(1, 6), false);
        struct nuc_node *node = call(n, rows[i].op, x);
        nuc_set_arg_node(node, n->g, 1, y);
        finish_one(n, like_input(n, node));
        ASSERT_OPS(n, rows[i].code);
        assert_shape(input_of(n, 0, 0), SIZES(4, 6));
        assert_shape(input_of(n, 0, 1), SIZES(1, 6));
        assert_int_equal(n->s->ops[0].options.arith.pot_scale_int16, rows[i].pot);
    }
}

/* Two values of an image network: broadcast where they are, one transpose for each contiguous border. */
static void test_broadcast_images(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), true);
    struct nuc_node *y = user_input(n, "y", SIZES(1, 2, 3, 1), false);
    struct nuc_node *node = call(n, NUC_OP_EDGE_MUL, x);

    nuc_set_arg_node(node, n->g, 1, y);
    finish_one(n, finished_call(n, node, 1, 0));
    ASSERT_OPS(n, NUC_LT_TRANSPOSE, NUC_LT_MUL);
    assert_list(input_of(n, 0, 1), SIZES(0, 2, 3, 1));
    assert_shape(input_of(n, 1, 0), SIZES(1, 3, 4, 2));
    assert_shape(input_of(n, 1, 1), SIZES(1, 3, 1, 2));
}

static void test_neg(void **state)
{
    struct net *n = *state;

    finish_one(n, finished_call(n, call(n, NUC_OP_EDGE_NEG, user_input(n, "x", SIZES(2, 4), false)), 0.5, -4));
    ASSERT_OPS(n, NUC_LT_SUB);
    assert_shape(input_of(n, 0, 0), SIZES(1));
    assert_int_equal((int8_t)input_of(n, 0, 0)->data.data[0], 3);
    assert_true(nuc_lt_quant_equal(&input_of(n, 0, 0)->quant, &input_of(n, 0, 1)->quant));
    assert_true(n->s->ops[0].options.arith.pot_scale_int16);
}

/* Slopes of channels need them last, one slope for all does not. */
static void prelu(struct net *n, int64_t slopes)
{
    struct nuc_node *slope = weight(n, "slopes", SIZES(slopes));
    struct nuc_node *node = call(n, NUC_OP_EDGE_PRELU, user_input(n, "x", SIZES(1, 2, 3, 4), false));

    nuc_set_arg_node(node, n->g, 1, slope);
    finish_one(n, like_input(n, node));
}

static void test_prelu(void **state)
{
    struct net *n = *state;

    prelu(n, 1);
    ASSERT_OPS(n, NUC_LT_PRELU);
    restart(n);
    prelu(n, 2);
    ASSERT_OPS(n, NUC_LT_TRANSPOSE, NUC_LT_PRELU, NUC_LT_TRANSPOSE);
    assert_shape(input_of(n, 1, 0), SIZES(1, 3, 4, 2));
    assert_shape(input_of(n, 1, 1), SIZES(2));
    assert_int_equal(input_of(n, 1, 1)->data.data[1], 1);
}

/* ---- products ---- */

/* [2, 3, 4] x [2, 4, 5] with zero points 0, as the NPU wants them. */
static void bmm(struct net *n, bool last)
{
    struct nuc_node *operands[2];

    for (int i = 0; i < 2; i++) {
        const int64_t sizes[2][3] = {{2, 3, 4}, {2, 4, 5}};
        struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes[i], 3);
        if (last)
            nuc_set_channels_last(&meta);
        operands[i] = quantized(n, nuc_add_placeholder(n->g, i == 0 ? "a" : "b", NUC_USER_INPUT, &meta), 0.5, 0);
    }
    struct nuc_node *node = call(n, NUC_OP_EDGE_BMM, operands[0]);
    nuc_set_arg_node(node, n->g, 1, operands[1]);
    finish_one(n, finished_call(n, node, 2, 1));
}

static void test_bmm(void **state)
{
    struct net *n = *state;

    bmm(n, false);
    ASSERT_OPS(n, NUC_LT_BATCH_MATMUL);
    assert_shape(input_of(n, 0, 0), SIZES(2, 3, 4));
    assert_false(n->s->ops[0].options.batch_matmul.adj_x);
    assert_false(n->s->ops[0].options.batch_matmul.adj_y);
    assert_false(n->s->ops[0].options.batch_matmul.asymmetric_quantize_inputs);
}

/* Channels-last operands are adjoint; what the operator writes is transposed back only when the border wants it so. */
static void test_bmm_channels_last(void **state)
{
    struct net *n = *state;

    n->options.use_neutron_for_format_conversion = false;
    n->options.reference_compat = true;
    bmm(n, true);
    ASSERT_OPS(n, NUC_LT_BATCH_MATMUL, NUC_LT_TRANSPOSE);
    assert_shape(input_of(n, 0, 0), SIZES(2, 4, 3));
    assert_shape(input_of(n, 0, 1), SIZES(2, 5, 4));
    assert_true(n->s->ops[0].options.batch_matmul.adj_x);
    assert_true(n->s->ops[0].options.batch_matmul.adj_y);
    assert_shape(output_of(n, 0), SIZES(2, 3, 5));
    assert_list(input_of(n, 1, 1), SIZES(0, 2, 1));
    assert_shape(output_of(n, 1), SIZES(2, 5, 3));
}

/* Input and bias of 4 x 4 elements, stride 2, kernel 3. */
static struct nuc_node *transposed(struct net *n, struct nuc_node *w, struct nuc_node *b, int64_t pad, int64_t more)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_CONVOLUTION, user_input(n, "x", SIZES(1, 2, 4, 4), true));

    nuc_set_arg_node(node, n->g, 1, w);
    if (b != NULL)
        nuc_set_arg_node(node, n->g, 2, b);
    nuc_set_arg_ints(node, n->g, 3, SIZES(2, 2));
    nuc_set_arg_ints(node, n->g, 4, SIZES(pad, pad));
    nuc_set_arg_ints(node, n->g, 5, SIZES(1, 1));
    nuc_set_arg_bool(node, 6, true);
    nuc_set_arg_ints(node, n->g, 7, SIZES(more, more));
    nuc_set_arg_int(node, 8, 1);
    return finished_call(n, node, 0.75, -5);
}

static void test_transposed_convolution(void **state)
{
    struct net *n = *state;

    finish_one(n, transposed(n, weight(n, "w", SIZES(2, 3, 3, 3)), NULL, 0, 0));
    ASSERT_OPS(n, NUC_LT_TRANSPOSE_CONV);
    assert_list(input_of(n, 0, 0), SIZES(1, 9, 9, 3));
    assert_shape(input_of(n, 0, 1), SIZES(3, 3, 3, 2));
    for (int i = 0; i < 2; i++) {
        for (int o = 0; o < 3; o++) {
            for (int k = 0; k < 9; k++)
                assert_int_equal(input_of(n, 0, 1)->data.data[(o * 9 + k) * 2 + i], (i * 3 + o) * 9 + k);
        }
    }
    assert_shape(input_of(n, 0, 2), SIZES(1, 4, 4, 2));
    assert_list(input_of(n, 0, 3), SIZES(0, 0, 0));
    assert_true(input_of(n, 0, 3)->quant.scale[0] == 0.5f * 0.25f);
    assert_int_equal(n->s->ops[0].options.conv.padding, NUC_LT_VALID);
    assert_int_equal(n->s->ops[0].options.conv.stride_h, 2);
    assert_int_equal(n->s->ops[0].options.conv.stride_w, 2);
}

/* Padding takes rows and columns off a larger result; that output_padding is part of the shape. */
static void test_transposed_convolution_padded(void **state)
{
    struct net *n = *state;

    finish_one(n, transposed(n, weight(n, "w", SIZES(2, 3, 3, 3)), bias(n, 3), 1, 0));
    ASSERT_OPS(n, NUC_LT_TRANSPOSE_CONV, NUC_LT_SLICE);
    assert_list(input_of(n, 0, 0), SIZES(1, 9, 9, 3));
    assert_shape(output_of(n, 0), SIZES(1, 9, 9, 3));
    assert_true(nuc_lt_quant_equal(&output_of(n, 0)->quant, &output_of(n, 1)->quant));
    assert_list(input_of(n, 1, 1), SIZES(0, 1, 1, 0));
    assert_list(input_of(n, 1, 2), SIZES(1, 7, 7, 3));
    assert_shape(output_of(n, 1), SIZES(1, 7, 7, 3));
}

/* Groups that no pass splits: a convolution with the narrower weights, depthwise only when channels stay as many. */
static void test_many_groups(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 12, 3, 4), true);

    finish_one(n, convolution(n, x, weight(n, "w", SIZES(24, 1, 3, 3)), bias(n, 24), 1, 12));
    ASSERT_OPS(n, NUC_LT_PADV2, NUC_LT_CONV_2D);
    assert_shape(input_of(n, 1, 1), SIZES(24, 3, 3, 1));
    assert_shape(output_of(n, 1), SIZES(1, 3, 4, 24));
}

/* ---- moves ---- */

static void test_cat(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = image(n, 2);
    struct nuc_node *y = quantized(n, nuc_add_placeholder(n->g, "y", NUC_USER_INPUT, &x->vals[0]), 0.75, -5);
    struct nuc_node *cat = nuc_add_node(n->g, NULL, NUC_OP_EDGE_CAT, NULL);

    nuc_set_arg_nodes(cat, n->g, 0, (struct nuc_node *[]){x, y, x}, 3);
    nuc_set_arg_int(cat, 1, -3);
    finish_one(n, finished_call(n, cat, 0.75, -5));
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_CONCATENATION);
    assert_int_equal(n->s->ops[1].n_inputs, 3);
    assert_int_equal(n->s->ops[1].inputs[0], n->s->ops[1].inputs[2]);
    assert_int_equal(n->s->ops[1].inputs[1], n->s->inputs[1]);
    assert_int_equal(n->s->ops[1].options.concat.axis, 3);
    assert_shape(output_of(n, 1), SIZES(1, 3, 4, 6));
}

static struct nuc_node *sliced(struct net *n, struct nuc_node *x, int64_t dim, int64_t start, int64_t end)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_SLICE, x);

    nuc_set_arg_int(node, 1, dim);
    nuc_set_arg_int(node, 2, start);
    nuc_set_arg_int(node, 3, end);
    return finished_call(n, node, 0.75, -5);
}

static void test_slice(void **state)
{
    struct net *n = *state;

    n->options.use_neutron_for_format_conversion = false;
    finish_one(n, sliced(n, sliced(n, image(n, 5), 1, 1, INT64_MAX), -1, -3, -1));
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_SLICE, NUC_LT_SLICE);
    assert_list(input_of(n, 1, 1), SIZES(0, 0, 0, 1));
    assert_list(input_of(n, 1, 2), SIZES(1, 3, 4, 4));
    assert_list(input_of(n, 2, 1), SIZES(0, 0, 1, 0));
    assert_list(input_of(n, 2, 2), SIZES(1, 3, 2, 4));
}

/* Negative pads take rows off, which LiteRT does with a slice. */
static void test_cropping_pad(void **state)
{
    struct net *n = *state;
    struct nuc_node *node = call(n, NUC_OP_EDGE_CONSTANT_PAD, image(n, 2));

    nuc_set_arg_ints(node, n->g, 1, SIZES(-1, 2, 1, -2)); /* width, then height */
    nuc_set_arg_float(node, 2, 0);
    finish_one(n, finished_call(n, node, 0.75, -5));
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_SLICE, NUC_LT_PAD);
    assert_list(input_of(n, 1, 1), SIZES(0, 0, 1, 0));
    assert_list(input_of(n, 1, 2), SIZES(1, 1, 3, 2));
    assert_list(input_of(n, 2, 1), SIZES(0, 0, 1, 0, 0, 2, 0, 0));
    assert_shape(output_of(n, 2), SIZES(1, 2, 5, 2));
}

static void test_mirror_pad(void **state)
{
    struct net *n = *state;
    struct nuc_node *node = call(n, NUC_OP_EDGE_PAD, image(n, 2));

    nuc_set_arg_ints(node, n->g, 1, SIZES(1, 2, 0, 1)); /* width, then height */
    nuc_set_arg_string(node, 2, "reflect");
    finish_one(n, finished_call(n, node, 0.75, -5));
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_MIRROR_PAD);
    assert_list(input_of(n, 1, 1), SIZES(0, 0, 0, 1, 1, 2, 0, 0));
    assert_int_equal(n->s->ops[1].options.mirror_pad.mode, 0);
    assert_shape(output_of(n, 1), SIZES(1, 4, 7, 2));
}

static struct nuc_node *resized(struct net *n, struct nuc_node *x, enum nuc_op op, bool corners, int64_t h, int64_t w)
{
    struct nuc_node *node = call(n, op, x);

    nuc_set_arg_ints(node, n->g, 1, SIZES(h, w));
    if (op == NUC_OP_EDGE_UPSAMPLE_BILINEAR)
        nuc_set_arg_bool(node, 2, corners);
    return like_input(n, node);
}

static void test_resizes(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), true);
    struct nuc_node *centers = resized(n, x, NUC_OP_EDGE_UPSAMPLE_BILINEAR, false, 6, 4);
    struct nuc_node *corners = resized(n, centers, NUC_OP_EDGE_UPSAMPLE_BILINEAR, true, 11, 13);

    finish_one(n, resized(n, corners, NUC_OP_EDGE_UPSAMPLE_NEAREST, false, 22, 52));
    ASSERT_OPS(n, NUC_LT_RESIZE_BILINEAR, NUC_LT_RESIZE_BILINEAR, NUC_LT_RESIZE_NEAREST_NEIGHBOR);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(n->s->ops[i].options.resize.align_corners, i == 1);
        assert_int_equal(n->s->ops[i].options.resize.half_pixel_centers, i == 0);
    }
    assert_list(input_of(n, 0, 1), SIZES(6, 4));
    assert_list(input_of(n, 1, 1), SIZES(11, 13));
    assert_list(input_of(n, 2, 1), SIZES(22, 52));
    assert_shape(output_of(n, 2), SIZES(1, 22, 52, 2));
}

/* ---- reductions ---- */

static void reduced(struct net *n, enum nuc_op op, const int64_t *dims, uint32_t count, bool keep)
{
    struct nuc_node *node = call(n, op, image(n, 2));

    nuc_set_arg_ints(node, n->g, 1, dims, count);
    nuc_set_arg_bool(node, 2, keep);
    finish_one(n, finished_call(n, node, 0.75, -5));
}

static void test_reductions(void **state)
{
    static const struct {
        enum nuc_op op;
        int32_t code;
    } rows[] = {
        {NUC_OP_EDGE_MEAN_DIM, NUC_LT_MEAN},
        {NUC_OP_EDGE_SUM_DIM, NUC_LT_SUM},
        {NUC_OP_EDGE_AMAX, NUC_LT_REDUCE_MAX},
        {NUC_OP_EDGE_AMIN, NUC_LT_REDUCE_MIN},
    };
    struct net *n = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        restart(n);
        reduced(n, rows[i].op, SIZES(2, -1), false);
        ASSERT_OPS(n, NUC_LT_CONV_2D, rows[i].code);
        assert_list(input_of(n, 1, 1), SIZES(1, 2));
        assert_shape(output_of(n, 1), SIZES(1, 2));
        assert_false(n->s->ops[1].options.reduce.keep_dims);
        restart(n);
        reduced(n, rows[i].op, SIZES(-2), false);
        ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_TRANSPOSE, rows[i].code);
        assert_list(input_of(n, 2, 1), SIZES(2));
    }
}

/* No list of dimensions means all of them; a sum leaves them in the order of the tensor. */
static void test_reductions_to_one(void **state)
{
    struct net *n = *state;

    reduced(n, NUC_OP_EDGE_AMAX, NULL, 0, true);
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_REDUCE_MAX, NUC_LT_TRANSPOSE);
    assert_list(input_of(n, 1, 1), SIZES(0, 3, 1, 2));
    assert_true(n->s->ops[1].options.reduce.keep_dims);
    restart(n);
    reduced(n, NUC_OP_EDGE_SUM_DIM, NULL, 0, false);
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_SUM);
    assert_list(input_of(n, 1, 1), SIZES(0, 1, 2, 3));
    assert_int_equal(output_of(n, 1)->rank, 0);
}

/* ---- borders ---- */

/* Two inputs and two results: each contiguous border of an image is transposed by itself. */
static void test_several_borders(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), false);
    struct nuc_node *y = user_input(n, "y", SIZES(1, 2, 3, 4), false);
    struct nuc_node *h = convolution(n, x, weight(n, "w", SIZES(2, 2, 1, 1)), NULL, 0, 1);
    struct nuc_node *sum = call(n, NUC_OP_EDGE_ADD, h);

    nuc_set_arg_node(sum, n->g, 1, y);
    struct nuc_node *result = finished_call(n, sum, 1, 0);
    struct nuc_node *other = dequantize(n, nuc_arg_node(h, 0), 0.75, -5, NUC_I8);
    finish(n, (struct nuc_node *[]){result, other}, 2);
    ASSERT_OPS(n, NUC_LT_TRANSPOSE, NUC_LT_TRANSPOSE, NUC_LT_CONV_2D, NUC_LT_ADD, NUC_LT_TRANSPOSE, NUC_LT_TRANSPOSE);
    assert_int_equal(n->io.n_inputs, 2);
    assert_int_equal(n->io.n_outputs, 2);
    assert_borders(n, false, false);
}

/*
 * The runtime transposes images only: a border of another rank, here channels-first because another result is, is
 * transposed in the model whoever is to do it.
 */
static void test_borders_of_other_ranks(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 2, 3, 4), false);
    struct nuc_node *y = user_input(n, "y", SIZES(1, 9, 8), false);
    struct nuc_node *image = convolution(n, x, weight(n, "w", SIZES(2, 2, 1, 1)), NULL, 0, 1);
    struct nuc_node *sum = call(n, NUC_OP_EDGE_ADD, y);

    nuc_set_arg_node(sum, n->g, 1, y);
    n->options.use_neutron_for_format_conversion = false;
    finish(n, (struct nuc_node *[]){finished_call(n, sum, 1, 0), image}, 2);
    assert_int_equal(n->io.n_inputs, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(n->io.inputs[i].channels_last, n->io.inputs[i].node->vals[0].rank == 4);
        assert_int_equal(n->io.outputs[i].channels_last, n->io.outputs[i].node->vals[0].rank == 4);
    }
}

/*
 * A contiguous [N, H, W, C] input permuted into an image: nothing is left of the permutation, and the input stays what
 * it is to the runtime, though its tensor is now read as channels-last.
 */
static void test_permuted_input(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 3, 4, 2), false);
    struct nuc_node *chw = quantized(n, permute(n, x, SIZES(0, 3, 1, 2)), 0.5, 3);

    finish_one(n, convolution(n, chw, weight(n, "w", SIZES(2, 2, 1, 1)), NULL, 0, 1));
    assert_int_equal(n->s->ops[0].code, NUC_LT_CONV_2D);
    assert_int_equal(n->s->ops[0].inputs[0], n->s->inputs[0]);
    assert_shape(input_of(n, 0, 0), SIZES(1, 3, 4, 2));
    assert_false(n->io.inputs[0].channels_last);
}

/* ---- rule set sdk-3.1 ---- */

static void use_sdk31(struct net *n)
{
    n->options.flavor = nuc_flavor_find(n->cx, "sdk-3.1");
}

/* A slice of another than the last axis: that axis changes places with the last one. */
static void test_slice_sdk31(void **state)
{
    struct net *n = *state;
    struct nuc_node *node = call(n, NUC_OP_EDGE_SLICE, user_input(n, "x", SIZES(2, 8, 1), false));

    use_sdk31(n);
    nuc_set_arg_int(node, 1, 1);
    nuc_set_arg_int(node, 2, 3);
    nuc_set_arg_int(node, 3, 7);
    finish_one(n, like_input(n, node));
    ASSERT_OPS(n, NUC_LT_TRANSPOSE, NUC_LT_SLICE, NUC_LT_TRANSPOSE);
    assert_list(input_of(n, 0, 1), SIZES(0, 2, 1));
    assert_list(input_of(n, 1, 1), SIZES(0, 0, 3));
    assert_list(input_of(n, 1, 2), SIZES(2, 1, 4));
    assert_list(input_of(n, 2, 1), SIZES(0, 2, 1));
    assert_shape(output_of(n, 2), SIZES(2, 4, 1));
}

/* From [1, 4, 8, 8] in one go would need a height that is a multiple of 8; two transposes do not. */
static void test_permute_sdk31(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 8, 4, 8), true);
    struct nuc_node *h = convolution(n, x, weight(n, "w", SIZES(8, 8, 1, 1)), NULL, 0, 1);

    use_sdk31(n);
    finish_one(n, quantized(n, permute(n, h, SIZES(0, 3, 1, 2)), 0.75, -5));
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_TRANSPOSE, NUC_LT_TRANSPOSE);
    assert_list(input_of(n, 1, 1), SIZES(0, 3, 1, 2));
    assert_list(input_of(n, 2, 1), SIZES(0, 3, 1, 2));
    assert_shape(output_of(n, 2), SIZES(1, 8, 8, 4));
    restart(n);
    n->options.flavor = NULL;
    x = user_input(n, "x", SIZES(1, 8, 4, 8), true);
    h = convolution(n, x, weight(n, "w", SIZES(8, 8, 1, 1)), NULL, 0, 1);
    finish_one(n, quantized(n, permute(n, h, SIZES(0, 3, 1, 2)), 0.75, -5));
    ASSERT_OPS(n, NUC_LT_CONV_2D, NUC_LT_TRANSPOSE);
    assert_list(input_of(n, 1, 1), SIZES(0, 2, 3, 1));
}

/* A width of 3 keeps the input's transpose off the NPU; 24 pixels of 8 channels let the output's there. */
static void test_borders_sdk31(void **state)
{
    struct net *n = *state;
    struct nuc_node *x = user_input(n, "x", SIZES(1, 8, 8, 3), false);

    use_sdk31(n);
    finish_one(n, convolution(n, x, weight(n, "w", SIZES(8, 8, 3, 3)), bias(n, 8), 1, 1));
    ASSERT_OPS(n, NUC_LT_PADV2, NUC_LT_CONV_2D, NUC_LT_TRANSPOSE);
    assert_true(n->io.inputs[0].channels_last);
    assert_false(n->io.outputs[0].channels_last);
}

/* Whatever a rule set admits has a lowering. */
static void test_rules_are_lowered(void **state)
{
    (void)state;
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++) {
        for (int op = 0; op < NUC_OP_COUNT; op++) {
            const struct nuc_support_row *row = nuc_support_row(nuc_flavor_at(i), (enum nuc_op)op);
            if (row->supported && !nuc_can_lower((enum nuc_op)op))
                fail_msg("%s is supported by %s but not lowered", nuc_op_name((enum nuc_op)op), nuc_flavor_at(i)->name);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_unary),
        TEST(test_leaky_relu),
        TEST(test_one_sided_clamps),
        TEST(test_binary),
        TEST(test_broadcast_images),
        TEST(test_neg),
        TEST(test_prelu),
        TEST(test_bmm),
        TEST(test_bmm_channels_last),
        TEST(test_borders_of_other_ranks),
        TEST(test_transposed_convolution),
        TEST(test_transposed_convolution_padded),
        TEST(test_many_groups),
        TEST(test_cat),
        TEST(test_slice),
        TEST(test_cropping_pad),
        TEST(test_mirror_pad),
        TEST(test_resizes),
        TEST(test_reductions),
        TEST(test_reductions_to_one),
        TEST(test_several_borders),
        TEST(test_permuted_input),
        TEST(test_slice_sdk31),
        TEST(test_permute_sdk31),
        TEST(test_borders_sdk31),
        cmocka_unit_test(test_rules_are_lowered),
    };

    return cmocka_run_group_tests_name("lower operators", tests, NULL, NULL);
}
