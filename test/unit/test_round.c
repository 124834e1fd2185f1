/* Rounding of weights by samples: what it gains, what it leaves alone, that threads make no difference. */
#include "unit/eval_graphs.h"

#include <math.h>

#include "host/numbers.h"
#include "ir/quant.h"
#include "quantize/search/bias_correction.h"
#include "quantize/search/round_layer.h"

#define ROWS 16
#define IN 64
#define OUT 24
#define SAMPLES 16

/* Repeatable values in -1 .. 1; neighbouring seeds give unlike ones. */
static void fill(float *x, size_t count, uint32_t seed)
{
    seed = (seed + 1) * 2654435761u;
    seed = (seed ^ seed >> 15) * 2246822519u;
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
}

/* Inputs that go up and down together, with a little of their own. */
static void sample(float *x, size_t rows, uint32_t k)
{
    float common[ROWS];

    fill(x, rows * IN, 1000 + k);
    fill(common, rows, 2000 + k);
    for (size_t i = 0; i < rows * IN; i++)
        x[i] = 0.9f * common[i / IN] + 0.1f * x[i];
}

/* One large weight makes the steps of the others wide. */
static struct nuc_graph *network(struct nuc_context *cx, size_t rows)
{
    static float w[OUT * IN];
    struct nuc_graph *g = graph_in(cx,
                                   "$w = parameter : float32[24, 64]; $x = input : float32[%zu, 64]\n"
                                   "$l = aten.linear.default($x, $w)",
                                   rows);

    fill(w, COUNT(w), 7);
    for (size_t i = 0; i < COUNT(w); i++)
        w[i] = i % IN == 0 ? 1 : 0.02f * w[i];
    bind(g, "w", w);
    return g;
}

/* Steps follow each other from error to error, the last one to that of the graph. */
static void check_steps(const struct nuc_measured *m, enum nuc_accuracy accuracy)
{
    assert_int_equal(m->n_steps, accuracy == NUC_ACCURACY_HIGH ? NUC_ACCURACY_STEPS : 0);
    if (m->n_steps == 0)
        return;
    assert_true(m->steps[1].after_db >= m->steps[1].before_db);
    assert_true(m->steps[1].before_db == m->steps[0].after_db && m->steps[1].seconds >= 0);
    assert_true(fabs(m->steps[1].after_db - 10 * log10(m->outputs[0].signal / m->outputs[0].noise)) < 1e-6);
}

static struct nuc_graph *quantized(struct nuc_graph *g, size_t rows, enum nuc_accuracy accuracy, unsigned threads,
                                   uint32_t samples)
{
    struct nuc_quantize_options options = {.threads = threads,
                                           .accuracy = accuracy,
                                           .observer = NUC_OBSERVE_MIN_MAX,
                                           .bias_correction = NUC_BIAS_CORRECTION_MEASURED};
    float x[ROWS * IN];

    nuc_add_biases(g);
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    for (uint32_t k = 0; k < samples; k++) {
        sample(x, rows, k);
        nuc_quantize_sample(c, (const void *const[]){x});
    }
    struct nuc_graph *q = nuc_quantize_convert(c);
    nuc_graph_verify(q, "quantized");
    check_steps(nuc_quantize_measured(c), accuracy);
    return q;
}

/* On samples that calibration has not seen. */
static double sqnr(struct nuc_graph *q, struct nuc_graph *reference, size_t rows)
{
    struct nuc_evaluator *a = nuc_eval_new(reference, 1), *b = nuc_eval_new(q, 1);
    struct nuc_sqnr s = {0, 0};
    float x[ROWS * IN], expected[ROWS * OUT], got[ROWS * OUT];

    for (uint32_t k = 0; k < 32; k++) {
        sample(x, rows, 100 + k);
        nuc_eval_run(a, (const void *const[]){x}, (void *const[]){expected});
        nuc_eval_run(b, (const void *const[]){x}, (void *const[]){got});
        nuc_sqnr_add(&s, expected, got, rows * OUT);
    }
    return nuc_sqnr_db(&s);
}

static double sqnr_of(struct nuc_context *cx, size_t rows, enum nuc_accuracy accuracy, uint32_t samples)
{
    return sqnr(quantized(network(cx, rows), rows, accuracy, 2, samples), network(cx, rows), rows);
}

/* Errors of weights that meet the same values cancel when they are chosen together. */
static void rounding_gains_where_inputs_are_alike(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    double nearest = sqnr_of(cx, ROWS, NUC_ACCURACY_DEFAULT, SAMPLES);

    assert_true(sqnr_of(cx, ROWS, NUC_ACCURACY_HIGH, SAMPLES) > nearest + 2);
}

/* 64 inputs, of which a few rows say little. */
static void few_samples_do_no_harm(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);

    for (uint32_t samples = 1; samples <= 8; samples++)
        assert_true(sqnr_of(cx, 1, NUC_ACCURACY_HIGH, samples) > sqnr_of(cx, 1, NUC_ACCURACY_DEFAULT, samples) - 0.3);
}

static void threads_make_no_difference(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    struct nuc_graph *one = quantized(network(cx, ROWS), ROWS, NUC_ACCURACY_HIGH, 1, SAMPLES);

    for (unsigned threads = 2; threads <= 5; threads++)
        assert_string_equal(
            nuc_graph_print(one, true),
            nuc_graph_print(quantized(network(cx, ROWS), ROWS, NUC_ACCURACY_HIGH, threads, SAMPLES), true));
}

/* A sum stays one, whatever its inputs lack. */
static void weights_on_the_grid_stay(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    struct nuc_graph *g = network(cx, ROWS);
    float ones[OUT * IN];

    for (size_t i = 0; i < COUNT(ones); i++)
        ones[i] = i % 3 == 0 ? 0.5f : 0;
    bind(g, "w", nuc_copy(cx, ones, sizeof ones));
    struct nuc_graph *q = quantized(g, ROWS, NUC_ACCURACY_HIGH, 1, SAMPLES);
    const struct nuc_node *weight = nuc_find_node(q, "b__frozen_param0");
    const int8_t *integers = nuc_const_contiguous(q, weight);
    assert_int_equal(weight->vals[0].dtype, NUC_I8);
    for (size_t i = 0; i < COUNT(ones); i++)
        assert_int_equal(integers[i], i % 3 == 0 ? 127 : 0);
}

static double scale_at(struct nuc_graph *q, const struct nuc_node *dequantize, size_t output)
{
    struct nuc_quant quant;

    assert_true(nuc_dequantize_quant(dequantize, &quant));
    if (!quant.per_channel)
        return quant.scale;
    const float *s = nuc_const_contiguous(q, nuc_arg_node(dequantize, NUC_ARG(DEQUANTIZE_PER_CHANNEL, scales)));
    return (double)s[output];
}

/* Where the largest weights are cut off, the bias is in the products of the new scales, corrected or not. */
static void biases_follow_the_scales(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    struct nuc_graph *g = network(cx, ROWS);
    float w[OUT * IN], x[ROWS * IN];
    struct nuc_quantize_options options = {
        .threads = 1, .accuracy = NUC_ACCURACY_HIGH, .observer = NUC_OBSERVE_MIN_MAX};

    nuc_add_biases(g);
    fill(w, COUNT(w), 7);
    w[5] = 1.4f;
    bind(g, "w", nuc_copy(cx, w, sizeof w));
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    for (uint32_t k = 0; k < SAMPLES; k++) {
        sample(x, ROWS, k);
        nuc_quantize_sample(c, (const void *const[]){x});
    }
    struct nuc_graph *q = nuc_quantize_convert(c);
    const struct nuc_node *linear = node_of(q, "linear"), *weight = nuc_arg_node(linear, NUC_ARG(LINEAR, weight));
    for (size_t o = 0; o < OUT; o++) {
        double product = scale_at(q, nuc_arg_node(linear, NUC_ARG(LINEAR, input)), 0) * scale_at(q, weight, o);
        double bias = scale_at(q, nuc_arg_node(linear, NUC_ARG(LINEAR, bias)), o);
        assert_true(fabs(bias - product) <= 1e-6 * product);
    }
}

/* A layer as a matrix product gives what the evaluator gives. */
static void check_layer(const char *text, size_t inputs)
{
    struct nuc_graph *g = graph_of("%s", text);
    struct nuc_product_layer l;
    float *x = nuc_alloc_array(g->cx, inputs, sizeof(float));

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_static(n))
            continue;
        float *data = nuc_alloc(g->cx, nuc_bytes(&n->vals[0]));
        fill(data, (size_t)nuc_elements(&n->vals[0]), n->id);
        bind(g, n->name, data);
    }
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    assert_true(nuc_product_layer_of(node_of(g, "y"), &l));
    size_t results = (size_t)nuc_elements(&l.node->vals[0]);
    float *y = nuc_alloc_array(g->cx, results, sizeof(float));
    fill(x, inputs, 3);
    nuc_eval_run(e, (const void *const[]){x}, (void *const[]){y});

    const float *w = nuc_const_contiguous(g, l.weight);
    uint32_t *places = nuc_alloc_array(g->cx, l.places, sizeof *places);
    float *rows = nuc_alloc_array(g->cx, (size_t)l.depth * l.places, sizeof(float));
    float *expected = nuc_alloc_array(g->cx, l.places, sizeof(float));
    assert_int_equal((size_t)l.places * l.out, results);
    for (uint32_t p = 0; p < l.places; p++)
        places[p] = l.places - 1 - p;
    for (uint32_t o = 0; o < l.out; o++) {
        /* in two pieces */
        uint32_t half = l.depth / 2, group = o / (l.out / l.groups);
        nuc_gather_inputs(&l, x, places, l.places, group, 0, half, rows, l.places);
        nuc_gather_inputs(&l, x, places, l.places, group, half, l.depth - half, rows + half * l.places, l.places);
        nuc_gather_outputs(&l, y, places, l.places, o, expected);
        for (uint32_t p = 0; p < l.places; p++) {
            double sum = 0;
            for (uint32_t i = 0; i < l.depth; i++)
                sum += (double)w[nuc_weight_at(&l, o, i)] * (double)rows[(size_t)i * l.places + p];
            assert_true(fabs(sum - (double)expected[p]) < 1e-5 * (1 + fabs(sum)));
        }
    }
    free_graph(g);
}

static void layers_are_matrix_products(void **state)
{
    check_layer("$w = parameter : float32[6, 2, 3, 2]; $x = input : float32[2, 4, 7, 5]\n"
                "$y = aten.conv2d.default($x, $w, none, [2, 1], [1, 2], [1, 2], 2)",
                280);
    check_layer("$w = parameter : float32[4, 1, 3, 3]; $x = input : float32[1, 4, 6, 6]\n"
                "$y = aten.conv2d.padding($x, $w, none, [1, 1], \"same\", [1, 1], 4)",
                144);
    check_layer("$w = parameter : float32[5, 3, 4]; $x = input : float32[2, 3, 9]\n"
                "$y = aten.conv1d.default($x, $w, none, [2], [1])",
                54);
    check_layer("$w = parameter : float32[4, 3, 3, 2]; $x = input : float32[2, 4, 5, 3]\n"
                "$y = aten.conv_transpose2d.input($x, $w, none, [2, 3], [1, 0], [1, 0], 2)",
                120);
    check_layer("$w = parameter : float32[5, 8]; $x = input : float32[2, 3, 8]\n$y = aten.linear.default($x, $w)", 48);
    check_layer("$w = parameter : float32[8, 5]; $x = input : float32[6, 8]\n$y = aten.mm.default($x, $w)", 48);
}

/* Inferences side by side go on with new constants, each from where it stands. */
static void inferences_go_on_with_new_constants(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    struct nuc_graph *g = graph_in(cx, "$w = parameter : float32[2, 2]; $v = parameter : float32[2, 2]\n"
                                       "$x = input : float32[1, 2]; $t = aten.permute.default($v, [1, 0])\n"
                                       "$a = aten.linear.default($x, $w); $b = aten.linear.default($a, $t)");
    static const float identity[4] = {1, 0, 0, 1}, twice[4] = {2, 0, 0, 2};
    const float x[2][2] = {{1, 2}, {3, 4}};
    bool *changed = nuc_alloc_array(cx, g->next_id, sizeof *changed);
    struct nuc_eval_state *s[2];
    float out[2];

    bind(g, "w", identity);
    bind(g, "v", identity);
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    for (int k = 0; k < 2; k++) {
        s[k] = nuc_eval_begin(e, nuc_copy(cx, (const void *const[]){x[k]}, sizeof(void *)));
        nuc_eval_advance(e, s[k], node_of(g, "b"));
    }
    bind(g, "v", twice);
    changed[node_of(g, "v")->id] = true;
    nuc_eval_refresh(e, changed);
    for (int k = 0; k < 2; k++) {
        assert_memory_equal(nuc_eval_value(e, s[k], node_of(g, "a")), x[k], sizeof x[k]);
        nuc_eval_advance(e, s[k], nuc_output_node(g));
        const float *b = nuc_eval_value(e, s[k], node_of(g, "b"));
        assert_true(b[0] == 2 * x[k][0] && b[1] == 2 * x[k][1]);
    }
    nuc_eval_run(e, (const void *const[]){x[1]}, (void *const[]){out});
    assert_true(out[0] == 6 && out[1] == 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(rounding_gains_where_inputs_are_alike, free_context),
        cmocka_unit_test_teardown(few_samples_do_no_harm, free_context),
        cmocka_unit_test_teardown(threads_make_no_difference, free_context),
        cmocka_unit_test_teardown(weights_on_the_grid_stay, free_context),
        cmocka_unit_test_teardown(biases_follow_the_scales, free_context),
        cmocka_unit_test(layers_are_matrix_products),
        cmocka_unit_test_teardown(inferences_go_on_with_new_constants, free_context),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
