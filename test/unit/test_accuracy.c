/* Bias correction and ranges: what they gain where they should. */
#include "unit/eval_graphs.h"

#include <math.h>

#include "host/numbers.h"
#include "quantize/layers.h"
#include "quantize/search/bias_correction.h"
#include "quantize/search/choice_samples.h"

#define CHANNELS 8
#define SIDE 6
#define INPUT (4 * SIDE * SIDE)
#define OUTPUT 5

/* conv 1x1 of 4 to 8 channels, ReLU, depthwise conv 3x3, ReLU, flatten, linear. */
static struct nuc_graph *network(struct nuc_context *cx)
{
    float w1[CHANNELS * 4], b1[CHANNELS], w2[CHANNELS * 9], b2[CHANNELS], w3[OUTPUT * CHANNELS * SIDE * SIDE];
    struct nuc_graph *g =
        graph_in(cx, "$w1 = parameter : float32[8, 4, 1, 1]; $b1 = parameter : float32[8]\n"
                     "$w2 = parameter : float32[8, 1, 3, 3]; $b2 = parameter : float32[8]\n"
                     "$w3 = parameter : float32[5, 288]; $x = input : float32[1, 4, 6, 6]\n"
                     "$c = aten.conv2d.default($x, $w1, $b1); $r = aten.relu.default($c)\n"
                     "$d = aten.conv2d.default($r, $w2, $b2, [1, 1], [1, 1], groups=8); $s = aten.relu.default($d)\n"
                     "$f = aten.flatten.using_ints($s, 1); $l = aten.linear.default($f, $w3)");

    fill_with_noise(w1, COUNT(w1), 1);
    fill_with_noise(b1, COUNT(b1), 2);
    fill_with_noise(w2, COUNT(w2), 3);
    fill_with_noise(b2, COUNT(b2), 4);
    fill_with_noise(w3, COUNT(w3), 5);
    bind(g, "w1", nuc_copy(g->cx, w1, sizeof w1));
    bind(g, "b1", nuc_copy(g->cx, b1, sizeof b1));
    bind(g, "w2", nuc_copy(g->cx, w2, sizeof w2));
    bind(g, "b2", nuc_copy(g->cx, b2, sizeof b2));
    bind(g, "w3", nuc_copy(g->cx, w3, sizeof w3));
    return g;
}

static void run(struct nuc_graph *g, uint32_t sample, float out[OUTPUT])
{
    float x[INPUT];

    fill_with_noise(x, INPUT, 100 + sample);
    nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){x}, (void *const[]){out});
}

/* Weights of one sign, all a little below a step's middle: every product errs in the same direction. */
static void bias_correction_takes_off_the_mean_error(void **state)
{
    enum { IN = 64 };
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    double error[2] = {0, 0};
    float w[IN];

    for (size_t i = 0; i < IN; i++)
        w[i] = i == 0 ? 1 : 10.45f / 127;
    for (int mode = 0; mode < 2; mode++) {
        struct nuc_graph *g = graph_in(cx, "$w = parameter : float32[1, 64]; $x = input : float32[1, 64]\n"
                                           "$l = aten.linear.default($x, $w)");
        bind(g, "w", w);
        struct nuc_graph *before = nuc_graph_copy(g);
        struct nuc_quantize_options options = {
            .threads = 1, .observer = NUC_OBSERVE_MIN_MAX, .bias_correction = mode > 0};
        if (mode > 0)
            nuc_add_biases(g);
        struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
        for (uint32_t k = 0; k < 16; k++) {
            float in[IN];
            fill_with_noise(in, IN, k);
            for (size_t i = 0; i < IN; i++)
                in[i] = 0.5f + 0.5f * in[i]; /* mean 0.5 */
            nuc_quantize_sample(c, (const void *const[]){in});
        }
        struct nuc_graph *q = nuc_quantize_convert(c);
        nuc_graph_verify(q, "quantized");
        for (uint32_t k = 0; k < 16; k++) {
            float in[IN], expected, got;
            fill_with_noise(in, IN, k);
            for (size_t i = 0; i < IN; i++)
                in[i] = 0.5f + 0.5f * in[i];
            nuc_eval_run(nuc_eval_new(before, 1), (const void *const[]){in}, (void *const[]){&expected});
            nuc_eval_run(nuc_eval_new(q, 1), (const void *const[]){in}, (void *const[]){&got});
            error[mode] += ((double)got - (double)expected) / 16;
        }
    }
    /* 63 inputs of mean 0.5 meet a weight that is 0.45 / 127 too small. */
    assert_true(fabs(error[0] + 63 * 0.5 * 0.45 / 127) < 0.03);
    assert_true(fabs(error[1]) < 0.015);
}

/* At a border a tap of the kernel meets padding: its error counts for less. */
static void bias_correction_knows_padding(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    struct nuc_graph *g = graph_in(cx, "$w = parameter : float32[1, 1, 3, 3]; $x = input : float32[1, 1, 3, 3]\n"
                                       "$c = aten.conv2d.default($x, $w, none, [1, 1], [1, 1])");
    struct nuc_node *conv = node_of(g, "c");
    float w[9], x[9];

    for (size_t i = 0; i < 9; i++) {
        w[i] = i == 4 ? 1 : 10.45f / 127;
        x[i] = 1;
    }
    bind(g, "w", w);
    nuc_add_biases(g);
    struct nuc_calibration *c = nuc_quantize_prepare(g, &(struct nuc_quantize_options){.bias_correction = true});
    nuc_quantize_sample(c, (const void *const[]){x});
    nuc_calibration_parameters(c);
    const float *bias =
        nuc_corrected_biases(c, NUC_NO_FOLD)[nuc_layer_of(conv, &(struct nuc_layer){0}) ? conv->args[2].u.node->id : 0];
    /* Edge taps see 2/3 of the outputs, corner taps 4/9; each is 0.45 / 127 too small. */
    assert_true(fabs((double)bias[0] - (4 * 2.0 / 3 + 4 * 4.0 / 9) * 0.45 / 127) < 1e-5);
}

/* Steps of the value x, whose other half is multiplied by 50 and joined with this one. */
static float steps_beside(struct nuc_graph *g, const struct nuc_apart *apart, struct nuc_apart **found)
{
    struct nuc_calibration *c = nuc_quantize_prepare(
        g, &(struct nuc_quantize_options){.threads = 1, .accuracy = NUC_ACCURACY_DEFAULT, .apart = apart});
    struct nuc_observation o = {0};

    for (uint32_t k = 0; k < 8; k++) {
        float x[4];
        fill_with_noise(x, COUNT(x), k);
        nuc_quantize_sample(c, (const void *const[]){x});
    }
    *found = nuc_quantize_find_apart(c);
    for (size_t i = 0; i < nuc_quantize_n_observations(c) && o.node != node_of(g, "m"); i++)
        nuc_quantize_observation(c, i, &o);
    return o.scale[0];
}

/* What a decoder of boxes does: a part of the head is scaled and put together with what is left of it. */
static void what_is_put_beside_larger_values_keeps_its_steps(void **state)
{
    static const struct {
        float factor;
        const char *apart, *end; /* the value; NULL: none */
    } rows[] = {
        {50, "b", "$c = aten.cat.default([$e, $b], 1)"},
        {50, "p",
         "$v = aten.unsqueeze.default($b, 0); $u = aten.unsqueeze.default($e, 0)\n"
         "$p = aten.avg_pool2d.default($v, [1, 1]); $c = aten.cat.default([$u, $p], 1)"},
        {2, NULL, "$c = aten.cat.default([$e, $b], 1)"},
        {50, NULL, "$c = aten.add.Tensor($e, $b)"},
    };
    struct nuc_context *cx = *state = nuc_context_new(NULL);

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct nuc_graph *g = graph_in(cx,
                                       "$k = buffer : float32[1]; $x = input : float32[1, 4]\n"
                                       "$m = aten.neg.default($x); $a = aten.slice.Tensor($m, 1, 0, 2)\n"
                                       "$b = aten.slice.Tensor($m, 1, 2, 4); $e = aten.mul.Tensor($a, $k); %s",
                                       rows[i].end);
        struct nuc_apart *found, *again;
        bind(g, "k", &rows[i].factor);
        float joined = steps_beside(g, NULL, &found);
        assert_int_equal(found != NULL, rows[i].apart != NULL);
        if (found == NULL)
            continue;
        assert_int_equal(found->count, 1);
        assert_int_equal(found->values[0].value, node_of(g, rows[i].apart)->id);
        assert_true(joined > 20 * steps_beside(g, found, &again));
        assert_null(again);
    }
}

/* The first input of the model is 1 throughout, the second one 3. Weights are rounded to 127 steps, and to 10. */
static void biases_are_corrected_by_all_that_a_weight_reads(void **state)
{
    static const struct {
        enum nuc_side side;
        double mean, steps; /* of what is read; of a weight of 1 */
        const char *graph;
    } rows[] = {
        {NUC_SIDE_NPU, 1, 127, "$x = input : float32[1, 5, 64]\n$l = aten.linear.default($x, $w, $b)"},
        {NUC_SIDE_NPU, 2, 127,
         "$x = input : float32[1, 64]; $y = input : float32[1, 64]\n"
         "$l = aten.linear.default($x, $w, $b); $m = aten.linear.default($y, $w, $b); $s = aten.add.Tensor($l, $m)"},
        {NUC_SIDE_CPU, 1, 127,
         "$u = parameter : float32[1, 1] values(1); $a = parameter : float32[1] values(0)\n"
         "$h = constant : float32[1, 1, 1] values(0); $x = input : float32[4, 1, 64]\n"
         "$g = aten.rnn_tanh.input($x, $h, [$w, $u, $b, $a], true, 1, 0.0, false, false, false)\n"
         "$l = getitem($g, 0)"},
    };
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    float w[64], zero = 0, ones[5 * 64], threes[64];

    for (size_t i = 0; i < COUNT(ones); i++) {
        w[i % 64] = i % 64 == 0 ? 1 : 10.45f / 127;
        ones[i] = 1;
        threes[i % 64] = 3;
    }
    for (size_t r = 0; r < COUNT(rows); r++) {
        struct nuc_graph *g =
            graph_in(cx, "$w = parameter : float32[1, 64]; $b = parameter : float32[1]\n%s", rows[r].graph);
        struct nuc_quantize_options options = {.side = rows[r].side, .threads = 1, .bias_correction = true};
        bind(g, "w", w);
        bind(g, "b", &zero);
        struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
        nuc_quantize_sample(c, (const void *const[]){ones, threes});
        nuc_calibration_parameters(c);
        const float *bias = nuc_corrected_biases(c, NUC_NO_FOLD)[node_of(g, "b")->id];
        assert_non_null(bias);
        double too_small = 63 * (10.45 / 127 - 10 / rows[r].steps) + 1 - 127 / rows[r].steps;
        assert_true(fabs((double)bias[0] - rows[r].mean * too_small) < 1e-4);
    }
}

enum { SAMPLES = 8 };

static struct nuc_calibration *prepare(struct nuc_context *cx, bool bias_correction)
{
    struct nuc_graph *g = network(cx);

    if (bias_correction)
        nuc_add_biases(g);
    return nuc_quantize_prepare(g, &(struct nuc_quantize_options){.threads = 2,
                                                                  .accuracy = NUC_ACCURACY_DEFAULT,
                                                                  .observer = NUC_OBSERVE_MIN_MAX,
                                                                  .weights = NUC_WEIGHTS_PER_TENSOR,
                                                                  .bias_correction = bias_correction});
}

static void calibrate(struct nuc_calibration *c, uint32_t sample)
{
    float x[INPUT];

    fill_with_noise(x, INPUT, 100 + sample);
    nuc_quantize_sample(c, (const void *const[]){x});
}

/* What a graph does to samples that are of the fold. */
static void add_errors(struct nuc_context *cx, struct nuc_graph *q, unsigned fold, struct nuc_sqnr *s)
{
    struct nuc_graph *exact = network(cx);
    float expected[OUTPUT], got[OUTPUT];

    for (uint32_t k = 0; k < SAMPLES; k++) {
        if (nuc_sample_fold(k, SAMPLES) != fold)
            continue;
        run(exact, k, expected);
        run(q, k, got);
        nuc_sqnr_add(s, expected, got, OUTPUT);
    }
}

/* Figures of the outputs are those of graphs that are made without the samples which these run on. */
static void outputs_are_measured(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);

    for (int corrects = 0; corrects < 2; corrects++) {
        struct nuc_sqnr sum = {0, 0};
        struct nuc_calibration *c = prepare(cx, corrects);
        double errors = 0;
        for (uint32_t k = 0; k < SAMPLES; k++)
            calibrate(c, k);
        nuc_quantize_convert(c);
        for (unsigned fold = 0; fold < nuc_n_folds(SAMPLES); fold++) {
            struct nuc_calibration *others = prepare(cx, corrects);
            for (uint32_t k = 0; k < SAMPLES; k++) {
                if (nuc_sample_fold(k, SAMPLES) != fold)
                    calibrate(others, k);
            }
            add_errors(cx, nuc_quantize_convert(others), fold, &sum);
        }
        const struct nuc_measured *m = nuc_quantize_measured(c);
        assert_true(m != NULL && m->n_outputs == 1 && m->is_held_out && m->n_errors == SAMPLES);
        const struct nuc_measured_output *o = &m->outputs[0];
        assert_true(o->is_float && o->samples == SAMPLES && o->signal > 0 && o->min < o->max && o->varies);
        assert_true(fabs(o->noise - sum.noise) <= 1e-9 * sum.noise);
        assert_true(o->lowest_db < o->highest_db && o->lowest_db <= o->sqnr_db && o->sqnr_db <= o->highest_db);
        for (size_t k = 0; k < m->n_errors; k++)
            errors += m->errors[k] / SAMPLES;
        assert_true(fabs(errors - sum.noise / sum.signal) <= 1e-9 * errors);
    }
}

/* Of two samples each is held out once; that they differ is seen in one network. One cannot be held out. */
static void few_samples_are_measured(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);

    for (uint32_t n = 1; n <= 4; n++) {
        struct nuc_calibration *c = prepare(cx, true);
        for (uint32_t k = 0; k < n; k++)
            calibrate(c, k);
        nuc_quantize_convert(c);
        const struct nuc_measured *m = nuc_quantize_measured(c);
        assert_true(m->is_held_out == (n > 1) && m->outputs[0].samples == n);
        assert_true(m->outputs[0].varies == (n > 1) && m->outputs[0].float_varies == (n > 1));
    }
}

/* One sample is far larger than the others, which cut it off: what they lose of it is the figure. */
static void lowest_counts_where_folds_differ_widely(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);

    for (int wide = 0; wide < 2; wide++) {
        struct nuc_calibration *c = prepare(cx, false);
        for (uint32_t k = 0; k < SAMPLES; k++) {
            float x[INPUT];
            fill_with_noise(x, INPUT, 100);
            for (size_t i = 0; i < INPUT; i++)
                x[i] *= 1 + 0.01f * (float)k + (k == 3 ? 3 * (float)wide : 0);
            nuc_quantize_sample(c, (const void *const[]){x});
        }
        nuc_quantize_convert(c);
        const struct nuc_measured_output *o = &nuc_quantize_measured(c)->outputs[0];
        assert_true((o->highest_db - o->lowest_db > 10) == (wide != 0));
        assert_true((o->sqnr_db > o->lowest_db) == (wide == 0));
    }
}

/* Of any number of samples each is in one fold, folds are neighbours and about as many. */
static void folds_are_neighbours(void **state)
{
    (void)state;
    for (size_t n = 1; n < 600; n++) {
        size_t count[NUC_MOST_FOLDS] = {0};
        for (size_t k = 0; k < n; k++) {
            unsigned fold = nuc_sample_fold(k, n);
            assert_true(fold < nuc_n_folds(n) && (k == 0 || fold - nuc_sample_fold(k - 1, n) <= 1));
            count[fold]++;
        }
        for (unsigned f = 0; f < nuc_n_folds(n); f++)
            assert_true(count[f] > 0 && count[f] * nuc_n_folds(n) <= 2 * n);
    }
}

/* Of many samples those are kept that are spread over all; each comes with its own outputs. */
static void samples_are_kept_from_all(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    struct nuc_graph *g = network(cx);
    struct nuc_choice_samples *s = nuc_choice_samples_new(g, 1);
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    float x[INPUT], out[OUTPUT];

    s->wanted = 5;
    for (uint32_t k = 0; k < 19; k++) {
        fill_with_noise(x, INPUT, 100 + k);
        struct nuc_choice_sample *kept = nuc_choice_keep(s) ? &s->kept[s->count - 1] : NULL;
        if (kept != NULL)
            nuc_choice_copy(cx, s, e, kept, (const void *const[]){x});
        nuc_eval_run(e, (const void *const[]){x}, kept == NULL ? NULL : kept->outputs);
    }
    assert_int_equal(s->count, 5);
    for (uint32_t k = 0; k < 5; k++) {
        fill_with_noise(x, INPUT, 100 + 4 * k);
        run(g, 4 * k, out);
        assert_memory_equal(s->kept[k].inputs[0], x, sizeof x);
        assert_memory_equal(s->kept[k].outputs[0], out, sizeof out);
        assert_int_equal(s->kept[k].part, nuc_sample_part(4 * k));
    }
}

enum { TOGETHER = 21, PIXELS = 24 * 24 };

/* What is seen first and last of a sample has one range, which grows from sample to sample. */
static struct nuc_calibration *observe_together(struct nuc_context *cx, unsigned threads, enum nuc_observe observer,
                                                const float *bad)
{
    struct nuc_graph *g = graph_in(cx, "$w = parameter : float32[4, 4, 1, 1]; $x = input : float32[1, 4, 24, 24]\n"
                                       "$c = aten.conv2d.default($x, $w); $a = aten.sigmoid.default($c)\n"
                                       "$t = aten.tanh.default($a); $h = aten.conv2d.default($t, $w)\n"
                                       "$s = aten.sigmoid.default($h); $d = aten.conv2d.default($s, $w)\n"
                                       "$j = aten.cat.default([$c, $d], 1)");
    float *w = nuc_alloc_array(cx, 16, sizeof *w);
    const void *inputs[TOGETHER];
    const void *const *samples[TOGETHER];
    size_t *numbers = nuc_alloc_array(cx, TOGETHER, sizeof *numbers);

    fill_with_noise(w, 16, 1);
    bind(g, "w", w);
    for (uint32_t k = 0; k < TOGETHER; k++) {
        float *x = nuc_alloc_array(cx, 4 * PIXELS, sizeof *x);
        fill_with_noise(x, 4 * PIXELS, 100 + k);
        for (size_t i = 0; i < 4 * PIXELS; i++)
            x[i] *= 1 + 0.37f * (float)(k % 7);
        x[PIXELS] += bad[k % 8];
        inputs[k] = x;
        samples[k] = &inputs[k];
        numbers[k] = 100 + k;
    }
    struct nuc_calibration *c = nuc_quantize_prepare(g, &(struct nuc_quantize_options){
                                                            .threads = threads,
                                                            .observer = observer,
                                                            .accuracy = NUC_ACCURACY_DEFAULT,
                                                            .bias_correction = true,
                                                        });
    nuc_quantize_name_samples(c, "together.npz", numbers);
    nuc_quantize_samples(c, samples, TOGETHER);
    return c;
}

/* Samples that run side by side are observed as if one ran after the other. */
static void threads_observe_samples_in_order(void **state)
{
    static const enum nuc_observe observers[] = {NUC_OBSERVE_AUTO, NUC_OBSERVE_HISTOGRAM, NUC_OBSERVE_MOVING_AVERAGE};
    static const float good[8] = {0};
    struct nuc_context *cx = *state = nuc_context_new(NULL);

    for (size_t i = 0; i < 4 * COUNT(observers); i++) {
        struct nuc_calibration *one = observe_together(cx, 1, observers[i / 4], good),
                               *many = observe_together(cx, 4, observers[i / 4], good);
        for (size_t k = 0; k < nuc_quantize_n_observations(one); k++) {
            struct nuc_observation a, b;
            nuc_quantize_observation(one, k, &a);
            nuc_quantize_observation(many, k, &b);
            assert_int_equal(a.n, b.n);
            assert_memory_equal(a.scale, b.scale, a.n * sizeof *a.scale);
            assert_memory_equal(a.zero_point, b.zero_point, a.n * sizeof *a.zero_point);
        }
        assert_int_equal(one->samples->count, many->samples->count);
        for (size_t k = 0; k < one->samples->count; k++)
            assert_memory_equal(one->samples->kept[k].outputs[0], many->samples->kept[k].outputs[0],
                                8 * PIXELS * sizeof(float));
    }
}

static void observe_bad(struct nuc_context *cx, void *arg)
{
    static const float bad[8] = {[5] = NAN, [6] = NAN};

    observe_together(cx, *(const unsigned *)arg, NUC_OBSERVE_AUTO, bad);
}

/* The first sample that is bad is named, whichever comes to it first. */
static void threads_name_the_first_bad_sample(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);

    for (unsigned threads = 1; threads < 5; threads++) {
        assert_int_equal(nuc_try(cx, observe_bad, &threads), NUC_BAD_INPUT);
        assert_non_null(strstr(cx->message, "sample 105 of together.npz"));
    }
}

/* A token without a row in samples 10 and 11: whatever the threads, the first one is named and nobody waits for it. */
static void observe_tokens(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = graph_in(cx, "$w = parameter : float32[64, 256]; $t = input : int64[1, 64]\n"
                                       "$e = aten.embedding.default($w, $t); $s = aten.sigmoid.default($e)");
    float *w = nuc_alloc_array(cx, 64 * 256, sizeof *w);
    const void *inputs[TOGETHER];
    const void *const *samples[TOGETHER];

    fill_with_noise(w, 64 * 256, 1);
    bind(g, "w", w);
    for (size_t k = 0; k < TOGETHER; k++) {
        int64_t *tokens = nuc_alloc_array(cx, 64, sizeof *tokens);
        tokens[9] = k == 10 || k == 11 ? 64 + (int64_t)k : (int64_t)k;
        inputs[k] = tokens;
        samples[k] = &inputs[k];
    }
    struct nuc_calibration *c = nuc_quantize_prepare(
        g, &(struct nuc_quantize_options){.threads = *(const unsigned *)arg, .accuracy = NUC_ACCURACY_DEFAULT});
    nuc_quantize_name_samples(c, "tokens.npz", NULL);
    nuc_quantize_samples(c, samples, TOGETHER);
}

static void threads_name_the_first_refused_sample(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);

    for (unsigned threads = 1; threads < 5; threads++) {
        assert_int_equal(nuc_try(cx, observe_tokens, &threads), NUC_UNSUPPORTED);
        assert_non_null(strstr(cx->message, "an index lies outside its dimension: float32[64, 256], int64[1, 64] of "
                                            "0 to 74 in calibration sample 10 of tokens.npz"));
    }
}

/* Two samples of four that were cut off gain; the others may lose, but not by as much in decibels. */
static void errors_fall_for_all_samples(void **state)
{
    static const double before[4] = {100, 90, 1, 1}, little[4] = {1, 1, 1.2, 1.2}, others[4] = {1, 1, 9, 9};

    (void)state;
    assert_true(nuc_sure_fall(before, little, 4, 0.2, 1) > 0);
    assert_true(nuc_sure_fall(before, others, 4, 0, 1) == 0);
    assert_true(nuc_sure_fall(before, before, 4, 0, 1) == 0);
    assert_true(nuc_sure_fall(before, little, 1, 0.2, 1) == 0); /* one sample is no evidence */
    assert_true(fabs(nuc_most_loss(little, 4, 2) - (1.1 + 2 * sqrt(0.04 / 3 / 4))) < 1e-12);
    assert_true(nuc_most_loss(little, 1, 2) == 1 && nuc_most_loss(little, 2, 2) == 1);
}

/* Whatever few samples show, a gain that all of them make sure is not given up. */
static void sure_gains_are_never_given_up(void **state)
{
    enum { MOST = 16 };
    uint32_t seed = 7;
    size_t n_sure = 0, n_given_up = 0;

    (void)state;
    for (size_t i = 0; i < 20000; i++) {
        const size_t count = 2 + i % (MOST - 1);
        const double errors = (double)(i / MOST % 6) / 2, least = i % 3 == 0 ? 0.05 : 0;
        double gains[MOST], most[MOST];
        for (size_t k = 0; k < count; k++) {
            seed = seed * 1664525u + 1013904223u;
            gains[k] = (double)(seed >> 16) / 65536 - (double)(i % 5) / 8;
            most[k] = gains[k] + (k % 3 == 0 ? 0 : (double)(seed & 0xff) / 512);
        }
        const bool sure = nuc_sure_gain(gains, count, errors) > least;
        n_sure += sure;
        for (size_t known = 0; known <= count; known++) {
            if (known > 0)
                most[known - 1] = gains[known - 1];
            const bool may = nuc_may_gain(most, known, count, errors, least);
            assert_true(may || !sure);
            n_given_up += !may && known < count;
        }
    }
    assert_true(n_sure > 1000 && n_given_up > 10000);
}

/* ---- ranges ---- */

/*
 * SQNR of a network on inputs of `unit`, where the first layer takes the unit out again, or where it does not and its
 * biases outweigh the inputs by far.
 */
static double sqnr_in_units(struct nuc_context *cx, float unit, bool takes_out)
{
    struct nuc_graph *g = network(cx);
    struct nuc_quantize_options options = {.threads = 1, .accuracy = NUC_ACCURACY_DEFAULT, .one_scale = true};
    float x[INPUT], w[CHANNELS * 4];

    fill_with_noise(w, COUNT(w), 1);
    for (size_t i = 0; i < COUNT(w) && takes_out; i++)
        w[i] /= unit;
    bind(g, "w1", nuc_copy(cx, w, sizeof w));
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    for (uint32_t k = 0; k < 8; k++) {
        fill_with_noise(x, INPUT, k);
        for (size_t i = 0; i < INPUT; i++)
            x[i] *= unit;
        nuc_quantize_sample(c, (const void *const[]){x});
    }
    nuc_graph_verify(nuc_quantize_convert(c), "quantized");
    const struct nuc_measured_output *o = &nuc_quantize_measured(c)->outputs[0];
    return nuc_sqnr_db(&(struct nuc_sqnr){o->signal, o->noise});
}

static void any_unit_is_as_good(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    static const float units[] = {1e-9f, 1e-6f, 1, 1e6f, 1e15f};

    for (size_t i = 0; i < COUNT(units); i++)
        assert_true(sqnr_in_units(cx, units[i], true) > 25);
    assert_true(sqnr_in_units(cx, 1e-9f, false) > 25);
}

#define MANY 16384

/*
 * Values of which every 16th lies near zero or, rarely, far out; their magnitudes times a constant that takes just
 * these or all but these. Steps of the range that is chosen, or that another network has chosen.
 */
static float chosen_scale(struct nuc_context *cx, bool takes_far_values, bool has_state,
                          struct nuc_chosen_ranges *ranges)
{
    struct nuc_graph *g =
        graph_in(cx,
                 "$w = parameter : float32[1, 16384]; $x = input : float32[1, 16384]%s\n"
                 "$n = aten.abs.default($x); $m = aten.mul.Tensor($n, $w); $r = aten.relu.default($m)%s",
                 has_state ? "; $h = state \"h\" : float32[1, 16384] values (0)" : "",
                 has_state ? "; $output = output([$r, $r])" : "");
    struct nuc_quantize_options options = {.threads = 2, .accuracy = NUC_ACCURACY_DEFAULT, .ranges = ranges};
    float *w = nuc_alloc_array(cx, MANY, sizeof *w), *x = nuc_alloc_array(cx, MANY, sizeof *x);
    struct nuc_observation o;

    for (size_t i = 0; i < MANY; i++)
        w[i] = (i % 16 == 0) == takes_far_values;
    bind(g, "w", w);
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    for (uint32_t k = 0; k < 8; k++) {
        fill_with_noise(x, MANY, k);
        for (size_t i = 0; i < MANY; i += 16)
            x[i] = 8 * powf(x[i], 129);
        nuc_quantize_sample(c, (const void *const[]){x});
    }
    nuc_quantize_convert(c);
    for (size_t i = 0; i < nuc_quantize_n_observations(c); i++) {
        nuc_quantize_observation(c, i, &o);
        if (o.node->n_users > 0 && strcmp(o.node->name, "x") == 0)
            return o.scale[0];
    }
    fail();
    return 0;
}

/* The same values have another range where those that are far out make a difference. */
static void a_range_is_chosen_by_its_effect(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    struct nuc_chosen_ranges of_wide = {.arena = cx->arena}, of_narrow = of_wide;
    float wide = chosen_scale(cx, true, false, &of_wide), narrow = chosen_scale(cx, false, false, &of_narrow);

    assert_true(wide > 15.0f / 255);
    assert_true(narrow < 0.8f * wide);
    /* Either choice is taken as it is by a network that would choose the other one. */
    assert_true(of_wide.known && of_narrow.known);
    assert_true(chosen_scale(cx, false, false, &of_wide) == wide);
    assert_true(chosen_scale(cx, true, false, &of_narrow) == narrow);
    /* What single samples of a sequence show is not compared. */
    assert_true(chosen_scale(cx, false, true, NULL) == chosen_scale(cx, true, true, NULL));
}

RUN_TESTS(cmocka_unit_test_teardown(bias_correction_takes_off_the_mean_error, free_context),
          cmocka_unit_test_teardown(bias_correction_knows_padding, free_context),
          cmocka_unit_test_teardown(biases_are_corrected_by_all_that_a_weight_reads, free_context),
          cmocka_unit_test_teardown(what_is_put_beside_larger_values_keeps_its_steps, free_context),
          cmocka_unit_test_teardown(lowest_counts_where_folds_differ_widely, free_context),
          cmocka_unit_test(folds_are_neighbours), cmocka_unit_test_teardown(few_samples_are_measured, free_context),
          cmocka_unit_test_teardown(outputs_are_measured, free_context),
          cmocka_unit_test_teardown(samples_are_kept_from_all, free_context),
          cmocka_unit_test_teardown(threads_observe_samples_in_order, free_context),
          cmocka_unit_test_teardown(threads_name_the_first_bad_sample, free_context),
          cmocka_unit_test_teardown(threads_name_the_first_refused_sample, free_context),
          cmocka_unit_test(errors_fall_for_all_samples), cmocka_unit_test(sure_gains_are_never_given_up),
          cmocka_unit_test_teardown(a_range_is_chosen_by_its_effect, free_context),
          cmocka_unit_test_teardown(any_unit_is_as_good, free_context))
