/* Which values are observed and which share an observer, in the mode of the reference and in others; ranges. */
#include "unit/quantize_graphs.h"
#include "unit/random.h"
#include "unit/text_cases.h"

#include "ir/quant.h"

/* "cpu 16" and the like, as in cases/quant_patterns.txt. */
static struct nuc_quantize_options options_of(const char *words)
{
    return (struct nuc_quantize_options){.observer = NUC_OBSERVE_HISTOGRAM,
                                         .threads = 1,
                                         .reference_compat = strstr(words, "reference") != NULL,
                                         .one_scale = strstr(words, "one-scale") != NULL,
                                         .no_kernels = strstr(words, "no-kernels") != NULL,
                                         .side = strstr(words, "cpu") != NULL ? NUC_SIDE_CPU : NUC_SIDE_NPU,
                                         .executorch_ops_only = strstr(words, "executorch") != NULL,
                                         .max_matrix_inputs = strtol(words + strcspn(words, "0123456789"), NULL, 10)};
}

static const char *observations(struct nuc_context *cx, struct nuc_calibration *c)
{
    struct nuc_text text = {.cx = cx};

    for (size_t i = 0; i < nuc_quantize_n_observations(c); i++) {
        struct nuc_observation o;
        nuc_quantize_observation(c, i, &o);
        const char *kind = nuc_observer_kind_name(o.kind), *end = strstr(kind, "Observer");
        assert_non_null(end);
        nuc_text_addf(&text, "%s%s %.*s %zu", i == 0 ? "" : ", ", o.node->name, (int)(end - kind), kind, o.shared_with);
    }
    return nuc_quantize_n_observations(c) == 0 ? "nothing" : nuc_text_string(&text);
}

/* Values that are dequantized and quantized otherwise. */
static const char *requantized(const struct nuc_graph *g)
{
    unsigned found = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *from = nuc_is_quantize(n) ? nuc_arg_node(n, NUC_SELF) : NULL;
        struct nuc_quant a, b;
        found += nuc_dequantize_quant(from, &a) && nuc_quantize_quant(n, &b) && !nuc_same_quant(&a, &b);
    }
    return nuc_format(g->cx, "%u", found);
}

/* The second observation reaches from one number to the other. */
static void check_range(struct nuc_calibration *c, const struct text_line *line)
{
    struct nuc_observation o;
    float low, high;

    nuc_quantize_observation(c, 1, &o);
    float min = o.scale[0] * (float)(-128 - o.zero_point[0]), max = o.scale[0] * (float)(127 - o.zero_point[0]);
    if (sscanf(line->right, "%f %f", &low, &high) != 2 || fabsf(min - low) > o.scale[0] ||
        fabsf(max - high) > o.scale[0])
        fail_msg("%s: %g to %g, expected %s", line->graph, (double)min, (double)max, line->right);
}

static void check_line(struct nuc_context *cx, struct text_line *line)
{
    const char *what = split_at(line->left, ": ");
    struct nuc_quantize_options options = options_of(line->left);
    struct nuc_calibration *c = nuc_quantize_prepare(parse_quantized(cx, line->graph), &options);

    nuc_quantize_sample(c, (const void *const[]){ramp, ramp, ramp});
    const char *seen = observations(cx, c);
    if (what != NULL && strcmp(what, "range") == 0)
        check_range(c, line);
    struct nuc_graph *g = nuc_quantize_convert(c);
    nuc_graph_verify(g, "quantized");
    const char *got = what == NULL ? seen : strcmp(what, "requantized") == 0 ? requantized(g) : line->right;
    if (line->right != NULL && strcmp(got, line->right) != 0)
        fail_msg("%s%s: %s, expected %s", line->graph, line->left, got, line->right);
}

/* ---- parameters ---- */

/* Softmax: 1 / 256 and -128, whatever was seen. A padding of 20 is seen by the observer of the input, too. */
static void check_fixed_and_shared(struct nuc_context *cx, void *arg)
{
    struct nuc_observation o;

    for (int compat = 0; compat < 2; compat++) {
        nuc_quantize_observation(
            calibrate(
                cx, "%x = input : float32[32]; %d = aten.dropout.default(%x, 0.5, false); %s = aten.softmax.int(%d, 0)",
                compat != 0),
            2, &o);
        assert_true(o.scale[0] == 1.0f / 256);
        assert_int_equal(o.zero_point[0], -128);
        assert_null(o.min);
    }
    struct nuc_calibration *c =
        calibrate(cx, "%x = input : float32[1, 2, 4, 4]; %p = aten.pad.default(%x, [1, 1], value=20.0)", true);
    for (size_t i = 0; i < 2; i++) {
        nuc_quantize_observation(c, i, &o);
        assert_int_equal(o.shared_with, 0);
        assert_true(o.min[0] == -8 && o.max[0] == 20);
    }
}

/* Two groups share the scales of axis 1: the bias goes through them twice. */
static void check_grouped_transposed(struct nuc_context *cx, void *arg)
{
    struct nuc_calibration *c = calibrate(cx,
                                          "%w = parameter : float32[2, 2, 2, 1] values(1, 2, 3, 4, 5, 6, 7, 8)\n"
                                          "%b = parameter : float32[4] values(1); %x = input : float32[1, 2, 4, 4]\n"
                                          "%c = aten.conv_transpose2d.input(%x, %w, %b, groups=2)",
                                          true);
    struct nuc_observation ow, ob, ox;

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
static void check_weights_per_tensor(struct nuc_context *cx, void *arg)
{
    struct nuc_quantize_options options = {
        .observer = NUC_OBSERVE_HISTOGRAM, .threads = 1, .weights = NUC_WEIGHTS_PER_TENSOR};
    struct nuc_calibration *c = nuc_quantize_prepare(parse_quantized(cx, CONV), &options);
    struct nuc_observation o;

    nuc_quantize_sample(c, (const void *const[]){ramp});
    nuc_quantize_observation(c, 0, &o);
    assert_string_equal(o.node->name, "w");
    assert_int_equal(o.n, 1);
    assert_true(o.scale[0] == 2.0f / 127);
}

static void parameters(void **state)
{
    run_in_context(check_fixed_and_shared, NULL);
    run_in_context(check_grouped_transposed, NULL);
    run_in_context(check_weights_per_tensor, NULL);
}

/* ---- observers ---- */

static void range_of(struct nuc_context *cx, enum nuc_observe observer, const float *const *samples, size_t count,
                     float *min, float *max)
{
    struct nuc_graph *g = parse_quantized(cx, "%x = input : float32[32]; %r = aten.relu.default(%x)");
    struct nuc_quantize_options options = {.threads = 1, .observer = observer};
    struct nuc_observation o;

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
    struct nuc_context *cx = *state;
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
    struct nuc_context *cx = *state;
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
    struct nuc_context *cx = *state;
    const float *samples[SAMPLES];
    float *x = nuc_alloc_array(cx, COUNT_ALL, sizeof *x), min, max;
    double least = HUGE_VAL, low = 0, high = 0;
    uint32_t seed = 1;

    for (size_t i = 0; i < COUNT_ALL; i++) {
        double u = (double)noise(&seed);
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

RUN_TESTS(LINE_TEST("cases/quant_patterns.txt", check_line, NULL), cmocka_unit_test(parameters),
          STATE_TEST(observers_differ_on_an_outlier), STATE_TEST(percentile_cuts_rare_values),
          STATE_TEST(mse_finds_the_least_error))
