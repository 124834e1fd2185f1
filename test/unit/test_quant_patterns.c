/* Patterns whose parameters depend on other operators, in the mode of the reference and in the default one. */
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

static struct nuc_node *unary(struct nuc_graph *g, enum nuc_op op, struct nuc_node *a)
{
    return call(g, op, a, NULL, NULL);
}

static struct nuc_node *cat(struct nuc_graph *g, struct nuc_node *a, struct nuc_node *b)
{
    struct nuc_node *node = nuc_add_node(g, NULL, NUC_OP_CAT, NULL);

    nuc_set_arg_nodes(node, g, 0, (struct nuc_node *[]){a, b}, 2);
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

static const float ramp[32] = {-8, -7, -6, -5, -4, -3, -2, -1, 0,  1,  2,  3,  4,  5,  6,  7,
                               8,  7,  6,  5,  4,  3,  2,  1,  -1, -2, -3, -4, -5, -6, -7, -8};

static struct nuc_calibration *calibrate(struct nuc_graph *g, bool reference_compat)
{
    struct nuc_quantize_options options = {.reference_compat = reference_compat, .threads = 1};
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);

    nuc_quantize_sample(c, (const void *const[]){ramp, ramp, ramp});
    return c;
}

/* Node, kind and the first observation of the same observer, a line each. */
static const char *observations(struct nuc_graph *g, bool reference_compat)
{
    struct nuc_calibration *c = calibrate(g, reference_compat);
    struct nuc_text text;

    nuc_text_init(&text, g->cx);
    for (size_t i = 0; i < nuc_quantize_n_observations(c); i++) {
        struct nuc_observation o;
        nuc_quantize_observation(c, i, &o);
        nuc_text_addf(&text, "%s %s %zu\n", o.node->name, nuc_observer_kind_name(o.kind), o.shared_with);
    }
    nuc_graph_verify(nuc_quantize_convert(c), "quantized");
    return nuc_text_string(&text);
}

/* x[1, 2, 4, 4] -> conv2d 1x1 to 2 channels */
static struct nuc_node *small_conv(struct nuc_graph *g, struct nuc_node *x, const char *name)
{
    static const float w[4] = {1, -0.5f, 0.25f, 2};

    return call(g, NUC_OP_CONV2D, x, parameter(g, name, w, INTS(2, 2, 1, 1)), NULL);
}

/* ---- tests ---- */

/* The reference cuts factors off at -0.5 and 0.5; x itself, which others may read, keeps its range. */
static void factors_are_observed(void **state)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *x = input(g, "x", INTS(4)), *y = input(g, "y", INTS(4));
        output(g, call(g, NUC_OP_MUL, x, y, NULL));
        assert_string_equal(observations(g, compat == 1),
                            compat == 1 ? "x HistogramObserver 0\nx FixedQParamsObserver 1\ny HistogramObserver 2\n"
                                          "y FixedQParamsObserver 3\naten_mul_tensor HistogramObserver 4\n"
                                        : "x HistogramObserver 0\ny HistogramObserver 1\n"
                                          "aten_mul_tensor HistogramObserver 2\n");
        if (compat == 0)
            free_context(state);
    }
}

/* What goes into a sigmoid has a range of its own, in place or not; in the reference it gets the sigmoid's. */
static void sigmoid_does_not_clip_its_input(void **state)
{
    static const struct {
        enum nuc_op op;
        bool in_place, compat;
        const char *expected;
    } cases[] = {
        {NUC_OP_SIGMOID, false, true,
         "w PerChannelMinMaxObserver 0\nx HistogramObserver 1\naten_sigmoid_default FixedQParamsObserver 2\n"},
        {NUC_OP_SIGMOID, false, false,
         "w PerChannelMinMaxObserver 0\nx HistogramObserver 1\naten_conv2d_default HistogramObserver 2\n"
         "aten_sigmoid_default FixedQParamsObserver 3\n"},
        {NUC_OP_SIGMOID, true, false,
         "w PerChannelMinMaxObserver 0\nx HistogramObserver 1\naten_conv2d_default HistogramObserver 2\n"
         "aten_sigmoid_default FixedQParamsObserver 3\n"},
        {NUC_OP_SIGMOID, true, true,
         "w PerChannelMinMaxObserver 0\nx HistogramObserver 1\naten_conv2d_default HistogramObserver 2\n"},
        {NUC_OP_TANH, true, true,
         "w PerChannelMinMaxObserver 0\nx HistogramObserver 1\naten_tanh_default FixedQParamsObserver 2\n"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *w = parameter(g, "w", (const float[]){1, -0.5f, 0.25f, 2}, INTS(2, 2, 1, 1));
        struct nuc_node *x = input(g, "x", INTS(1, 2, 4, 4));
        struct nuc_node *activation = unary(g, cases[i].op, call(g, NUC_OP_CONV2D, x, w, NULL));
        activation->in_place = cases[i].in_place;
        output(g, activation);
        assert_string_equal(observations(g, cases[i].compat), cases[i].expected);
        if (i + 1 < COUNT(cases))
            free_context(state);
    }
}

/* abs and exp may have ranges of their own; the reference gives them their input's. */
static void maps_have_their_own_range(void **state)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        output(g, unary(g, NUC_OP_EXP, unary(g, NUC_OP_ABS, input(g, "x", INTS(4)))));
        assert_string_equal(observations(g, compat == 1),
                            compat == 1 ? "x HistogramObserver 0\naten_abs_default HistogramObserver 0\n"
                                          "aten_exp_default HistogramObserver 0\n"
                                        : "x HistogramObserver 0\naten_abs_default HistogramObserver 1\n"
                                          "aten_exp_default HistogramObserver 2\n");
        if (compat == 0)
            free_context(state);
    }
}

/*
 * relu -> view -> maximum, with another maximum in front: the reference runs the pattern once, at the first maximum,
 * when the view has no parameters yet to share, and leaves the second in float.
 */
static void maximum_does_not_depend_on_order(void **state)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *x = input(g, "x", INTS(4)), *y = input(g, "y", INTS(4));
        struct nuc_node *first = call(g, NUC_OP_MAXIMUM, x, y, NULL);
        struct nuc_node *view = unshaped(g, NUC_OP_VIEW, unary(g, NUC_OP_RELU, first), NULL, NULL);
        nuc_set_arg_ints(view, g, 1, INTS(4));
        nuc_infer_shape(g, view);
        output(g, call(g, NUC_OP_MAXIMUM, view, view, NULL));
        assert_string_equal(observations(g, compat == 1), compat == 1 ? "x HistogramObserver 0\ny HistogramObserver 0\n"
                                                                        "aten_maximum_default HistogramObserver 0\n"
                                                                        "aten_relu_default HistogramObserver 3\n"
                                                                        "aten_view_default HistogramObserver 3\n"
                                                                      : "x HistogramObserver 0\ny HistogramObserver 0\n"
                                                                        "aten_maximum_default HistogramObserver 0\n"
                                                                        "aten_relu_default HistogramObserver 3\n"
                                                                        "aten_view_default HistogramObserver 3\n"
                                                                        "aten_maximum_default_1 HistogramObserver 3\n");
        if (compat == 0)
            free_context(state);
    }
}

/* A sigmoid's fixed parameters are not for its neighbour: [0, 1) would cut x off. */
static void concatenation_takes_the_wider_range(void **state)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *x = input(g, "x", INTS(1, 4));
        output(g, cat(g, unary(g, NUC_OP_SIGMOID, x), x));
        assert_string_equal(observations(g, compat == 1),
                            compat == 1 ? "x HistogramObserver 0\nx FixedQParamsObserver 1\n"
                                          "aten_sigmoid_default FixedQParamsObserver 1\n"
                                          "aten_cat_default FixedQParamsObserver 1\n"
                                        : "x HistogramObserver 0\naten_sigmoid_default FixedQParamsObserver 1\n"
                                          "aten_sigmoid_default HistogramObserver 0\n"
                                          "aten_cat_default HistogramObserver 0\n");
        if (compat == 0)
            free_context(state);
    }
}

/* conv -> relu twice into one concatenation: both ReLU and the result are one group in either mode. */
static void concat_cluster_is_one_group(void **state)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *v = parameter(g, "v", (const float[]){1, -0.5f, 0.25f, 2}, INTS(2, 2, 1, 1));
        struct nuc_node *w = parameter(g, "w", (const float[]){3, -0.5f, 0.25f, 2}, INTS(2, 2, 1, 1));
        struct nuc_node *x = input(g, "x", INTS(1, 2, 4, 4));
        struct nuc_node *a = unary(g, NUC_OP_RELU, call(g, NUC_OP_CONV2D, x, v, NULL));
        struct nuc_node *b = unary(g, NUC_OP_RELU, call(g, NUC_OP_CONV2D, x, w, NULL));
        b->in_place = true;
        output(g, cat(g, a, b));
        assert_string_equal(observations(g, compat == 1),
                            "v PerChannelMinMaxObserver 0\nw PerChannelMinMaxObserver 1\nx HistogramObserver 2\n"
                            "aten_relu_default HistogramObserver 3\naten_relu_default_1 HistogramObserver 3\n"
                            "aten_cat_default HistogramObserver 3\n");
        if (compat == 0)
            free_context(state);
    }
}

/* Nothing around it is quantized: the reference observes each tensor, which no target operator can concatenate. */
static void lone_concatenation_is_one_group(void **state)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = new_graph(state);
        struct nuc_node *x = input(g, "x", INTS(1, 4));
        output(g, cat(g, unary(g, NUC_OP_GELU, x), unary(g, NUC_OP_GELU, x)));
        assert_string_equal(observations(g, compat == 1),
                            compat == 1 ? "x HistogramObserver 0\naten_gelu_default HistogramObserver 1\n"
                                          "aten_gelu_default_1 HistogramObserver 2\naten_cat_default "
                                          "HistogramObserver 3\n"
                                        : "x HistogramObserver 0\naten_gelu_default HistogramObserver 1\n"
                                          "aten_gelu_default_1 HistogramObserver 1\naten_cat_default "
                                          "HistogramObserver 1\n");
        if (compat == 0)
            free_context(state);
    }
}

/* Operands of a batched product are symmetric: what produces them as an activation is quantized a second time. */
static void batched_product_is_symmetric(void **state)
{
    struct nuc_graph *g = new_graph(state);
    struct nuc_node *x = input(g, "x", INTS(2, 4, 4)), *y = input(g, "y", INTS(2, 4, 4));

    output(g, call(g, NUC_OP_BMM, x, y, NULL));
    assert_string_equal(observations(g, true),
                        "x HistogramObserver 0\nx MinMaxObserver 1\ny HistogramObserver 2\ny MinMaxObserver 3\n"
                        "aten_bmm_default HistogramObserver 4\n");
}

/* Two groups share the scales of axis 1: the bias goes through them twice. */
static void bias_of_grouped_transposed_convolution(void **state)
{
    static const float w[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[4] = {1, 1, 1, 1};
    struct nuc_graph *g = new_graph(state);
    struct nuc_node *weight = parameter(g, "w", w, INTS(2, 2, 2, 1)), *bias = parameter(g, "b", b, INTS(4));
    struct nuc_node *x = input(g, "x", INTS(1, 2, 4, 4));
    struct nuc_node *conv = unshaped(g, NUC_OP_CONV_TRANSPOSE2D, x, weight, bias);
    struct nuc_observation ow, ob, ox;

    nuc_set_arg_int(conv, 6, 2);
    nuc_infer_shape(g, conv);
    output(g, conv);
    struct nuc_calibration *c = calibrate(g, true);
    nuc_quantize_observation(c, 0, &ow);
    nuc_quantize_observation(c, 1, &ob);
    nuc_quantize_observation(c, 2, &ox);
    assert_int_equal(ow.ch_axis, 1);
    assert_int_equal(ow.n, 2);
    assert_true(ow.scale[0] == 6.0f / 127 && ow.scale[1] == 8.0f / 127);
    assert_int_equal(ob.n, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(ob.scale[i] == ox.scale[0] * ow.scale[i % 2]);
    nuc_graph_verify(nuc_quantize_convert(c), "quantized");
}

/* One scale for a convolution's weight, so one for its bias. */
static void weights_per_tensor(void **state)
{
    struct nuc_graph *g = new_graph(state);
    struct nuc_quantize_options options = {.threads = 1, .weights = NUC_WEIGHTS_PER_TENSOR};
    struct nuc_observation o;

    output(g, small_conv(g, input(g, "x", INTS(1, 2, 4, 4)), "w"));
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    nuc_quantize_sample(c, (const void *const[]){ramp});
    for (size_t i = 0; i < nuc_quantize_n_observations(c); i++) {
        nuc_quantize_observation(c, i, &o);
        if (strcmp(o.node->name, "w") != 0)
            continue;
        assert_int_equal(o.n, 1);
        assert_true(o.scale[0] == 2.0f / 127);
    }
}

static void range_of(struct nuc_context *cx, enum nuc_observe observer, const float *const *samples, size_t count,
                     float *min, float *max)
{
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    struct nuc_quantize_options options = {.threads = 1, .observer = observer};
    struct nuc_observation o;

    output(g, unary(g, NUC_OP_RELU, input(g, "x", INTS(32))));
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    for (size_t i = 0; i < count; i++)
        nuc_quantize_sample(c, (const void *const[]){samples[i]});
    nuc_quantize_observation(c, 0, &o);
    *min = o.scale[0] * (float)(-128 - o.zero_point[0]);
    *max = o.scale[0] * (float)(127 - o.zero_point[0]);
}

/* One sample of a second one far wider: everything, or a hundredth of the step towards it. */
static void observers_differ_on_an_outlier(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    float wide[32], min, max;
    const float *const samples[] = {ramp, wide};

    memcpy(wide, ramp, sizeof wide);
    wide[5] = 108;
    range_of(cx, NUC_OBSERVE_MIN_MAX, samples, 2, &min, &max);
    assert_true(fabsf(min + 8) < 0.5f && fabsf(max - 108) < 0.5f);
    range_of(cx, NUC_OBSERVE_MOVING_AVERAGE, samples, 2, &min, &max);
    assert_true(fabsf(min + 8) < 0.05f && fabsf(max - 9) < 0.05f);
}

/* 1 of 40,000 values is less than a percentile on one side. */
static void percentile_cuts_rare_values(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    const float *samples[1250];
    float wide[32], min, max;

    memcpy(wide, ramp, sizeof wide);
    wide[5] = 200;
    for (size_t i = 0; i < COUNT(samples); i++)
        samples[i] = i == 600 ? wide : ramp;
    range_of(cx, NUC_OBSERVE_PERCENTILE, samples, COUNT(samples), &min, &max);
    assert_true(fabsf(min + 8) < 0.5f && fabsf(max - 8) < 1);
}

/* Squared error of quantizing the samples to 256 steps of [min, max]. */
static double squared_error(const float *x, size_t count, double min, double max)
{
    double s = (max - min) / 255, error = 0;

    for (size_t i = 0; i < count; i++) {
        double steps = rint(((double)x[i] - min) / s);
        steps = steps < 0 ? 0 : steps > 255 ? 255 : steps;
        double difference = min + steps * s - (double)x[i];
        error += difference * difference;
    }
    return error;
}

/* Values of a steep distribution: no range between zero and what was seen is much better. */
static void mse_finds_the_least_error(void **state)
{
    enum { SAMPLES = 400, COUNT_ALL = SAMPLES * 32 };
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    const float *samples[SAMPLES];
    float *x = nuc_alloc_array(cx, COUNT_ALL, sizeof *x), min, max;
    double least = HUGE_VAL, low = 0, high = 0;
    uint32_t seed = 1;

    for (size_t i = 0; i < COUNT_ALL; i++) {
        seed = seed * 1664525u + 1013904223u;
        double u = (double)(seed >> 8) * 0x1p-23 - 1;
        x[i] = (float)(u * u * u * u * u * u * u * u * (u < 0 ? -3 : 1));
        low = fmin(low, (double)x[i]);
        high = fmax(high, (double)x[i]);
    }
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i] = x + 32 * i;
    range_of(cx, NUC_OBSERVE_MSE, samples, SAMPLES, &min, &max);
    for (int a = 1; a <= 50; a++) {
        for (int b = 1; b <= 50; b++)
            least = fmin(least, squared_error(x, COUNT_ALL, low * a / 50, high * b / 50));
    }
    assert_true(squared_error(x, COUNT_ALL, (double)min, (double)max) < 1.1 * least);
}

#define TEST(name) cmocka_unit_test_teardown(name, free_context)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(factors_are_observed),
        TEST(sigmoid_does_not_clip_its_input),
        TEST(maps_have_their_own_range),
        TEST(maximum_does_not_depend_on_order),
        TEST(concatenation_takes_the_wider_range),
        TEST(concat_cluster_is_one_group),
        TEST(lone_concatenation_is_one_group),
        TEST(batched_product_is_symmetric),
        TEST(bias_of_grouped_transposed_convolution),
        TEST(weights_per_tensor),
        TEST(observers_differ_on_an_outlier),
        TEST(percentile_cuts_rare_values),
        TEST(mse_finds_the_least_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
