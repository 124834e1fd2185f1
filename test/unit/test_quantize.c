/* Annotation, sharing, conversion: graphs small enough that the expected result can be written down by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/quantize/quantize.h"
#include "host/text.h"
#include "unit/quantize_graphs.h"

/* ---- building ---- */

static struct nuc_node *dropout(struct nuc_graph *g, struct nuc_node *a)
{
    struct nuc_node *node = unshaped(g, NUC_OP_DROPOUT, a, NULL, NULL);

    nuc_set_arg_float(node, 1, 0.5);
    nuc_set_arg_bool(node, 2, false);
    nuc_infer_shape(g, node);
    return node;
}

static struct nuc_node *hardtanh(struct nuc_graph *g, struct nuc_node *a, double min, double max)
{
    struct nuc_node *node = unshaped(g, NUC_OP_HARDTANH, a, NULL, NULL);

    nuc_set_arg_float(node, 1, min);
    nuc_set_arg_float(node, 2, max);
    nuc_infer_shape(g, node);
    return node;
}

static void output(struct nuc_graph *g, struct nuc_node *value)
{
    struct nuc_node *node = nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output");

    nuc_set_arg_nodes(node, g, 0, &value, 1);
    nuc_graph_verify(g, "test");
}

/* ---- what came out ---- */

static struct nuc_calibration *calibrate(struct nuc_graph *g, bool reference_compat, const float *in)
{
    struct nuc_quantize_options options = {.reference_compat = reference_compat, .threads = 1};
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);

    nuc_quantize_sample(c, (const void *const[]){in, in});
    return c;
}

static void add_reader_text(void *user, struct nuc_node *node)
{
    nuc_text_addf(user, "%s ", node->name);
}

/* "name = op short of its overload(inputs)" a line. */
static const char *listing(struct nuc_graph *g)
{
    struct nuc_text text;

    nuc_text_init(&text, g->cx);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        nuc_text_addf(&text, "%s( ", n->name);
        nuc_for_each_input(n, add_reader_text, &text);
        nuc_text_addf(&text, ")\n");
    }
    return nuc_text_string(&text);
}

static const char *quantized(struct nuc_graph *g, bool reference_compat, const float *in)
{
    struct nuc_graph *q = nuc_quantize_convert(calibrate(g, reference_compat, in));

    nuc_graph_verify(q, "quantized");
    return listing(q);
}

/* Node, kind and the first observation of the same observer, a line each. */
static const char *observations(struct nuc_calibration *c, struct nuc_context *cx)
{
    struct nuc_text text;

    nuc_text_init(&text, cx);
    for (size_t i = 0; i < nuc_quantize_n_observations(c); i++) {
        struct nuc_observation o;
        nuc_quantize_observation(c, i, &o);
        nuc_text_addf(&text, "%s %s %zu\n", o.node->name, nuc_observer_kind_name(o.kind), o.shared_with);
    }
    return nuc_text_string(&text);
}

/* ---- compute operators ---- */

static const float ramp[32] = {-8, -7, -6, -5, -4, -3, -2, -1, 0,  1,  2,  3,  4,  5,  6,  7,
                               8,  7,  6,  5,  4,  3,  2,  1,  -1, -2, -3, -4, -5, -6, -7, -8};

/* x[1, 2, 4, 4] -> conv2d 1x1 to 2 channels with bias */
static struct nuc_node *small_conv(struct nuc_graph *g)
{
    static const float w[4] = {1, -0.5f, 0.25f, 2}, b[2] = {0.75f, -3};
    struct nuc_node *weight = parameter(g, "w", w, INTS(2, 2, 1, 1));
    struct nuc_node *bias = parameter(g, "b", b, INTS(2));
    struct nuc_node *x = input(g, "x", INTS(1, 2, 4, 4));

    return call(g, NUC_OP_CONV2D, x, weight, bias);
}

/* No quantization between convolution and ReLU; parameters by kind, a constant's dequantize in front. */
static void conv_and_relu_are_one(void **state)
{
    struct nuc_graph *g = new_graph(state);

    output(g, call(g, NUC_OP_RELU, small_conv(g), NULL, NULL));
    assert_string_equal(quantized(g, true, ramp),
                        "b__scale_0( )\nb__zero_point_0( )\nb__frozen_param0( )\n"
                        "b__scale_1( )\nb__zero_point_1( )\nb__frozen_param1( )\nx( )\n"
                        "dequantize_per_channel( b__frozen_param0 b__scale_0 b__zero_point_0 )\n"
                        "dequantize_per_channel_1( b__frozen_param1 b__scale_1 b__zero_point_1 )\n"
                        "quantize_per_tensor( x )\ndequantize_per_tensor( quantize_per_tensor )\n"
                        "conv2d( dequantize_per_tensor dequantize_per_channel dequantize_per_channel_1 )\n"
                        "relu( conv2d )\n"
                        "quantize_per_tensor_1( relu )\ndequantize_per_tensor_1( quantize_per_tensor_1 )\n"
                        "output( dequantize_per_tensor_1 )\n");
}

/* A second reader needs the convolution's own value: both are quantized. */
static void conv_with_two_readers_is_not_joined(void **state)
{
    struct nuc_graph *g = new_graph(state);
    struct nuc_node *conv = small_conv(g);
    struct nuc_node *relu = call(g, NUC_OP_RELU, conv, NULL, NULL);

    output(g, call(g, NUC_OP_ADD, conv, relu, NULL));
    assert_string_equal(observations(calibrate(g, true, ramp), g->cx),
                        "w PerChannelMinMaxObserver 0\nb DerivedObserverOrFakeQuantize 1\nx HistogramObserver 2\n"
                        "aten_conv2d_default HistogramObserver 3\naten_relu_default HistogramObserver 4\n"
                        "aten_add_tensor HistogramObserver 5\n");
}

static const struct nuc_node *find(struct nuc_graph *g, const char *name)
{
    const struct nuc_node *n = nuc_find_node(g, name);

    assert_non_null(n);
    return n;
}

/* Weights: largest magnitude a channel over 127. Bias: scale of the input times that, values over it, rounded. */
static void constants_are_quantized(void **state)
{
    struct nuc_graph *g = new_graph(state);

    output(g, small_conv(g));
    struct nuc_calibration *c = calibrate(g, true, ramp);
    struct nuc_graph *q = nuc_quantize_convert(c);
    struct nuc_observation x;
    nuc_quantize_observation(c, 2, &x);
    const int8_t *w = (const void *)find(q, "b__frozen_param0")->data->bytes.data;
    const float *ws = (const void *)find(q, "b__scale_0")->data->bytes.data;
    const int32_t *b = (const void *)find(q, "b__frozen_param1")->data->bytes.data;
    const float *bs = (const void *)find(q, "b__scale_1")->data->bytes.data;
    assert_true(ws[0] == 1.0f / 127 && ws[1] == 2.0f / 127);
    assert_int_equal(w[0], 127);
    assert_int_equal(w[1], -64); /* -63.5 */
    assert_int_equal(w[2], 16);  /* 15.875 */
    assert_int_equal(w[3], 127);
    assert_true(bs[0] == x.scale[0] * ws[0] && bs[1] == x.scale[0] * ws[1]);
    assert_int_equal(b[0], lround(0.75 / (double)bs[0]));
    assert_int_equal(b[1], lround(-3 / (double)bs[1]));
    assert_int_equal(find(q, "b__frozen_param1")->vals[0].dtype, NUC_I32);
    assert_string_equal(find(q, "b__frozen_param1")->target, "_frozen_param1");
    const int64_t *zp = (const void *)find(q, "b__zero_point_1")->data->bytes.data;
    assert_int_equal(zp[1], 0);
}

/* One bias of two operators has two scales, which the reference takes from the first one alone. */
static void shared_bias_has_two_scales(void **state)
{
    static const float weights[] = {1, 2, 3, 4}, values[] = {0.5f, -0.5f}, more[] = {8, -8, 4, 2};

    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *w = parameter(g, "w", weights, INTS(2, 2)), *v = parameter(g, "v", more, INTS(2, 2));
        struct nuc_node *b = parameter(g, "b", values, INTS(2));
        struct nuc_node *first = call(g, NUC_OP_LINEAR, input(g, "x", INTS(1, 2)), w, b);
        output(g, call(g, NUC_OP_LINEAR, first, v, b));
        struct nuc_graph *q = nuc_quantize_convert(calibrate(g, compat != 0, ramp));
        const struct nuc_node *one = find(q, "linear")->args[2].u.node, *two = find(q, "linear_1")->args[2].u.node;
        bool same = one->args[1].u.f >= two->args[1].u.f && one->args[1].u.f <= two->args[1].u.f;
        assert_int_equal(same, compat != 0);
        double product =
            find(q, "linear_1")->args[0].u.node->args[1].u.f * find(q, "linear_1")->args[1].u.node->args[1].u.f;
        assert_int_equal(fabs(two->args[1].u.f - product) < 1e-6 * product, compat == 0);
        free_context(state);
    }
    *state = nuc_context_new(NULL);
}

/* Fully connected: one scale for the weight, a bias per tensor; joined with an activation up to rank 2 only. */
static void linear_joins_up_to_rank_2(void **state)
{
    static const float w[8] = {1, 2, 3, 4, -4, -3, -2, -1};

    for (uint32_t rank = 2; rank <= 3; rank++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *weight = parameter(g, "w", w, INTS(2, 4));
        struct nuc_node *x = rank == 2 ? input(g, "x", INTS(2, 4)) : input(g, "x", INTS(2, 1, 4));
        struct nuc_node *linear = call(g, NUC_OP_LINEAR, x, weight, NULL);
        struct nuc_node *relu = call(g, NUC_OP_RELU, linear, NULL, NULL);
        relu->in_place = true;
        output(g, relu);
        assert_string_equal(observations(calibrate(g, true, ramp), g->cx),
                            rank == 2 ? "w MinMaxObserver 0\nx HistogramObserver 1\naten_relu_default "
                                        "HistogramObserver 2\n"
                                      : "w MinMaxObserver 0\nx HistogramObserver 1\naten_linear_default "
                                        "HistogramObserver 2\naten_relu_default HistogramObserver 3\n");
        if (rank == 2)
            free_context(state);
    }
}

/* ---- sharing ---- */

/*
 * Operators that move values only: one observer sees all tensors. Softmax has fixed parameters of its own; the
 * reference quantizes what follows once more.
 */
static void moving_operators_share(void **state)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *x = input(g, "x", INTS(1, 2, 4, 4));
        struct nuc_node *flat = call(g, NUC_OP_FLATTEN, dropout(g, x), NULL, NULL);
        struct nuc_node *softmax = unshaped(g, NUC_OP_SOFTMAX, flat, NULL, NULL);
        struct nuc_observation o;
        nuc_set_arg_int(softmax, 1, 0);
        nuc_infer_shape(g, softmax);
        output(g, dropout(g, softmax));
        struct nuc_calibration *c = calibrate(g, compat != 0, ramp);
        assert_string_equal(observations(c, g->cx),
                            compat == 0 ? "x HistogramObserver 0\naten_dropout_default HistogramObserver 0\n"
                                          "aten_flatten_using_ints HistogramObserver 0\n"
                                          "aten_softmax_int FixedQParamsObserver 3\n"
                                          "aten_dropout_default_1 FixedQParamsObserver 3\n"
                                        : "x HistogramObserver 0\naten_dropout_default HistogramObserver 0\n"
                                          "aten_flatten_using_ints HistogramObserver 0\n"
                                          "aten_softmax_int FixedQParamsObserver 3\n"
                                          "aten_softmax_int HistogramObserver 4\n"
                                          "aten_dropout_default_1 FixedQParamsObserver 3\n");
        nuc_quantize_observation(c, 3, &o);
        assert_true(o.scale[0] == 1.0f / 256);
        assert_int_equal(o.zero_point[0], -128);
        assert_null(o.min);
        if (compat == 0)
            free_context(state);
    }
}

/* A padding of 20 lies outside the input's range: the group's observer sees it, so the input's range has it too. */
static void group_sees_every_tensor(void **state)
{
    struct nuc_graph *g = new_graph(state);
    struct nuc_node *x = input(g, "x", INTS(1, 2, 4, 4));
    struct nuc_node *pad = unshaped(g, NUC_OP_PAD, x, NULL, NULL);
    struct nuc_observation o;

    nuc_set_arg_ints(pad, g, 1, INTS(1, 1));
    nuc_set_arg_float(pad, 3, 20);
    nuc_infer_shape(g, pad);
    output(g, pad);
    struct nuc_calibration *c = calibrate(g, true, ramp);
    for (size_t i = 0; i < 2; i++) {
        nuc_quantize_observation(c, i, &o);
        assert_int_equal(o.shared_with, 0);
        assert_true(o.min[0] == -8 && o.max[0] == 20);
    }
}

/* Behind an operator that is not quantized nothing is shared, and nothing is quantized. */
static void sharing_needs_a_quantized_producer(void **state)
{
    struct nuc_graph *g = new_graph(state);
    struct nuc_node *x = input(g, "x", INTS(1, 2, 4, 4));

    output(g, dropout(g, call(g, NUC_OP_CLONE, x, NULL, NULL)));
    assert_string_equal(quantized(g, true, ramp),
                        "x( )\nquantize_per_tensor( x )\ndequantize_per_tensor( quantize_per_tensor )\n"
                        "clone( dequantize_per_tensor )\ndropout( clone )\noutput( dropout )\n");
}

/*
 * One dequantize for each quantized reader, the last reader's first; one more for all that are not. An operator that
 * reads a value twice has one.
 */
static void every_reader_has_its_dequantize(void **state)
{
    struct nuc_graph *g = new_graph(state);
    struct nuc_node *x = input(g, "x", INTS(1, 2, 4, 4));
    struct nuc_node *twice = call(g, NUC_OP_ADD, x, x, NULL);
    struct nuc_node *clone = call(g, NUC_OP_CLONE, x, NULL, NULL);
    struct nuc_node *sum = call(g, NUC_OP_ADD, twice, clone, NULL);

    output(g, call(g, NUC_OP_ADD, x, sum, NULL));
    const char *text = quantized(g, true, ramp);
    assert_non_null(strstr(text, "quantize_per_tensor( x )\n"
                                 "dequantize_per_tensor( quantize_per_tensor )\n"
                                 "dequantize_per_tensor_1( quantize_per_tensor )\n"
                                 "dequantize_per_tensor_2( quantize_per_tensor )\n"
                                 "add( dequantize_per_tensor_2 dequantize_per_tensor_2 )\n"));
    assert_non_null(strstr(text, "\nclone( dequantize_per_tensor )\n"));
    assert_non_null(strstr(text, "\nadd_2( dequantize_per_tensor_1 "));
}

/*
 * A matrix that an input feeds is quantized as the input's activation first, then as a weight: other parameters, so
 * a second pair follows the first.
 */
static void different_specs_chain(void **state)
{
    struct nuc_graph *g = new_graph(state);
    struct nuc_node *x = input(g, "x", INTS(2, 4));
    struct nuc_node *y = input(g, "y", INTS(2, 4));

    output(g, call(g, NUC_OP_LINEAR, x, y, NULL));
    assert_string_equal(quantized(g, true, ramp),
                        "x( )\ny( )\n"
                        "quantize_per_tensor( x )\ndequantize_per_tensor( quantize_per_tensor )\n"
                        "quantize_per_tensor_1( y )\ndequantize_per_tensor_1( quantize_per_tensor_1 )\n"
                        "quantize_per_tensor_2( dequantize_per_tensor_1 )\n"
                        "dequantize_per_tensor_2( quantize_per_tensor_2 )\n"
                        "linear( dequantize_per_tensor dequantize_per_tensor_2 )\n"
                        "quantize_per_tensor_3( linear )\ndequantize_per_tensor_3( quantize_per_tensor_3 )\n"
                        "output( dequantize_per_tensor_3 )\n");
}

/* ---- order ---- */

/* A constant in front of the inputs is dequantized first of all, one behind them right before its reader. */
static void constants_keep_their_place(void **state)
{
    static const float c[2] = {0.5f, 1};
    struct nuc_graph *g = new_graph(state);
    struct nuc_node *front = parameter(g, "front", c, INTS(2));
    struct nuc_node *x = input(g, "x", INTS(4, 2));
    struct nuc_node *behind = parameter(g, "behind", c, INTS(2));
    struct nuc_node *add = call(g, NUC_OP_ADD, x, front, NULL);

    output(g, call(g, NUC_OP_ADD, add, behind, NULL));
    assert_string_equal(quantized(g, true, ramp),
                        "b__frozen_param0( )\nb__frozen_param1( )\nx( )\n"
                        "dequantize_per_tensor( b__frozen_param0 )\n"
                        "quantize_per_tensor( x )\ndequantize_per_tensor_1( quantize_per_tensor )\n"
                        "add( dequantize_per_tensor_1 dequantize_per_tensor )\n"
                        "quantize_per_tensor_1( add )\ndequantize_per_tensor_2( quantize_per_tensor_1 )\n"
                        "dequantize_per_tensor_3( b__frozen_param1 )\n"
                        "add_1( dequantize_per_tensor_2 dequantize_per_tensor_3 )\n"
                        "quantize_per_tensor_2( add_1 )\ndequantize_per_tensor_4( quantize_per_tensor_2 )\n"
                        "output( dequantize_per_tensor_4 )\n");
}

/* A model that has a parameter of that name already. */
static void names_do_not_collide(void **state)
{
    static const float c[2] = {0.5f, 1};
    struct nuc_graph *g = new_graph(state);
    struct nuc_node *taken = parameter(g, "p__frozen_param0", c, INTS(2));
    struct nuc_node *x = input(g, "x", INTS(4, 2));

    output(g, call(g, NUC_OP_ADD, x, taken, NULL));
    const char *text = quantized(g, true, ramp);
    assert_null(strstr(text, "_frozen_param0"));
    assert_non_null(strstr(text, "b__frozen_param1( )\n"));
}

/* The reference runs the pattern of hardtanh once, before the relu in front of the second one is annotated. */
static void order_of_annotation(void **state)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *x = input(g, "x", INTS(4, 2));
        struct nuc_node *first = hardtanh(g, x, -2, 3);
        struct nuc_node *relu = call(g, NUC_OP_RELU, first, NULL, NULL);
        output(g, hardtanh(g, relu, -2, 3));
        const char *text = observations(calibrate(g, compat != 0, ramp), g->cx);
        assert_non_null(strstr(text, "aten_hardtanh_default HistogramObserver 0\n"));
        assert_true((strstr(text, "aten_hardtanh_default_1 ") == NULL) == (compat != 0));
        if (compat == 0)
            free_context(state);
    }
}

/* A clamp with the bounds of a ReLU has parameters of its own, others those of their producer. */
static void bounds_decide(void **state)
{
    static const struct {
        double min, max;
        bool own;
    } cases[] = {{0, 6, true}, {-1, 1, true}, {0, 1, true}, {0, (double)INFINITY, true}, {0, 2, false}, {-6, 6, false}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_observation o;
        output(g, hardtanh(g, input(g, "x", INTS(4, 2)), cases[i].min, cases[i].max));
        nuc_quantize_observation(calibrate(g, true, ramp), 1, &o);
        assert_int_equal(o.shared_with, cases[i].own ? 1 : 0);
        if (i + 1 < COUNT(cases))
            free_context(state);
    }
}

/* ---- options and failures ---- */

static void relu6_is_an_extension(void **state)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        output(g, call(g, NUC_OP_RELU6, small_conv(g), NULL, NULL));
        const char *text = quantized(g, compat != 0, ramp);
        assert_true((strstr(text, "relu6( conv2d )") != NULL) == (compat == 0));
        if (compat == 0)
            free_context(state);
    }
}

/* Integers pass as they are. */
static void only_float_is_quantized(void **state)
{
    struct nuc_graph *g = new_graph(state);
    const int64_t sizes[] = {4};
    struct nuc_meta m = nuc_meta_make(NUC_I64, sizes, 1);
    struct nuc_node *x = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &m);
    const int64_t data[4] = {1, 2, 3, 4};
    struct nuc_quantize_options options = {.reference_compat = true, .threads = 1};

    output(g, call(g, NUC_OP_CLONE, x, NULL, NULL));
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    nuc_quantize_sample(c, (const void *const[]){data});
    assert_int_equal(nuc_quantize_n_observations(c), 0);
    assert_string_equal(listing(nuc_quantize_convert(c)), "x( )\nclone( x )\noutput( clone )\n");
}

static void count_warning(void *user, const char *message)
{
    (void)message;
    ++*(int *)user;
}

static void without_samples(void **state)
{
    struct nuc_graph *g = new_graph(state);
    struct nuc_quantize_options options = {.threads = 1};
    struct nuc_observation o;
    int warnings = 0;

    g->cx->warn = count_warning;
    g->cx->warn_user = &warnings;
    output(g, call(g, NUC_OP_RELU, input(g, "x", INTS(4)), NULL, NULL));
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    nuc_graph_verify(nuc_quantize_convert(c), "quantized");
    nuc_quantize_observation(c, 0, &o);
    assert_false(o.seen);
    assert_true(o.scale[0] == 1);
    assert_int_equal(warnings, 2);
}

struct failing {
    struct nuc_graph *g;
    const float *in;
};

static void run_failing(struct nuc_context *cx, void *arg)
{
    struct failing *f = arg;

    (void)cx;
    nuc_quantize_convert(calibrate(f->g, true, f->in));
}

static void bad_values_are_named(void **state)
{
    static const float nan_input[4] = {1, NAN, 2, 3}, huge[4] = {-3e38f, 3e38f, 0, 0}, good[4] = {1, 2, 3, 4};
    static const float nan_weight[4] = {1, 2, 3, NAN};
    const float *inputs[] = {nan_input, huge, good};
    const float *weights[] = {good, good, nan_weight};
    static const char *const messages[] = {"node 'x'", "too wide", "node 'w'"};

    for (size_t i = 0; i < 3; i++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *w = parameter(g, "w", weights[i], INTS(1, 4));
        output(g, call(g, NUC_OP_LINEAR, input(g, "x", INTS(1, 4)), w, NULL));
        struct failing f = {g, inputs[i]};
        assert_int_equal(nuc_try(g->cx, run_failing, &f), NUC_BAD_INPUT);
        assert_non_null(strstr(g->cx->message, messages[i]));
        if (i + 1 < 3)
            free_context(state);
    }
}

/* Converting twice, and sampling in between, starts afresh each time. */
static void calibration_goes_on(void **state)
{
    static const float wide[32] = {100, -100};
    struct nuc_graph *g = new_graph(state);

    output(g, call(g, NUC_OP_RELU, small_conv(g), NULL, NULL));
    struct nuc_calibration *c = calibrate(g, true, ramp);
    const char *first = listing(nuc_quantize_convert(c));
    struct nuc_observation before, after;
    nuc_quantize_observation(c, 2, &before);
    nuc_quantize_sample(c, (const void *const[]){wide});
    assert_string_equal(listing(nuc_quantize_convert(c)), first);
    nuc_quantize_observation(c, 2, &after);
    assert_true(after.scale[0] > before.scale[0]);
    assert_true(after.max[0] == 100);
}

#define TEST(function) cmocka_unit_test_teardown(function, free_context)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(conv_and_relu_are_one),
        TEST(conv_with_two_readers_is_not_joined),
        TEST(constants_are_quantized),
        TEST(shared_bias_has_two_scales),
        TEST(linear_joins_up_to_rank_2),
        TEST(moving_operators_share),
        TEST(group_sees_every_tensor),
        TEST(sharing_needs_a_quantized_producer),
        TEST(every_reader_has_its_dequantize),
        TEST(different_specs_chain),
        TEST(constants_keep_their_place),
        TEST(names_do_not_collide),
        TEST(order_of_annotation),
        TEST(bounds_decide),
        TEST(relu6_is_an_extension),
        TEST(only_float_is_quantized),
        TEST(without_samples),
        TEST(bad_values_are_named),
        TEST(calibration_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
