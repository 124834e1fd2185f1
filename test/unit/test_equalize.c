/* Factors of channels: what they keep, where they end, and what they gain. */
#include "unit/eval_graphs.h"

#include <math.h>

#include "host/numbers.h"
#include "quantize/search/channel_factors.h"
#include "quantize/search/channel_noise.h"
#include "quantize/search/equalize.h"

#define SAMPLES 8
#define MOST 1024

/* Constants get random values; row k of those that are named is 4^-(k modulo 4) as large, its largest value certain. */
static void fill_constants(struct nuc_graph *g, const char *spread)
{
    uint32_t seed = 1;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_static(n) || n->vals[0].rank == 0)
            continue;
        size_t count = (size_t)nuc_elements(&n->vals[0]), rows = (size_t)n->vals[0].sizes[0];
        float *x = nuc_alloc_array(g->cx, count, sizeof *x);
        fill_with_noise(x, count, seed++);
        for (size_t i = 0; i < count && strstr(spread, n->name) != NULL; i++)
            x[i] = ldexpf(x[i], -2 * (int)(i / (count / rows) % 4));
        bind(g, n->name, x);
    }
}

static size_t input_count(struct nuc_graph *g)
{
    return (size_t)nuc_elements(&node_of(g, "x")->vals[0]);
}

static size_t run(struct nuc_graph *g, uint32_t sample, float out[MOST])
{
    float x[MOST];
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    size_t count = (size_t)nuc_elements(&nuc_eval_output(e, 0)->vals[0]);

    assert_true(input_count(g) <= MOST && count <= MOST);
    fill_with_noise(x, input_count(g), 100 + sample);
    nuc_eval_run(e, (const void *const[]){x}, (void *const[]){out});
    return count;
}

static struct nuc_calibration *calibrate(struct nuc_graph *g, enum nuc_accuracy accuracy)
{
    const struct nuc_quantize_options options = {
        .threads = 1, .one_scale = true, .observer = NUC_OBSERVE_HISTOGRAM, .accuracy = accuracy};
    struct nuc_calibration *c = nuc_quantize_prepare(g, &options);
    float x[MOST];

    for (uint32_t k = 0; k < SAMPLES; k++) {
        fill_with_noise(x, input_count(g), k);
        nuc_quantize_sample(c, (const void *const[]){x});
    }
    return c;
}

/* Returns the decibels by which the estimate falls. */
static double equalize(struct nuc_graph *g)
{
    struct nuc_calibration *c = calibrate(g, NUC_ACCURACY_DEFAULT);
    double gain = c->equalizer == NULL ? 0 : nuc_equalizer_solve(c->equalizer, NUC_BOTH_PARTS);

    if (gain > 0)
        nuc_equalizer_apply(c->equalizer, NUC_BOTH_PARTS);
    nuc_graph_verify(g, "equalized");
    return gain;
}

static double quantized_sqnr(struct nuc_graph *g, struct nuc_graph *exact)
{
    struct nuc_graph *q = nuc_quantize_convert(calibrate(g, NUC_ACCURACY_FAST));
    struct nuc_sqnr s = {0, 0};
    float expected[MOST], got[MOST];

    for (uint32_t k = 0; k < SAMPLES; k++) {
        run(exact, k, expected);
        nuc_sqnr_add(&s, expected, got, run(q, k, got));
    }
    return nuc_sqnr_db(&s);
}

#define TWO_CONVS                                                                                                      \
    "$w1 = parameter : float32[8, 4, 1, 1]; $b1 = parameter : float32[8]; $w2 = parameter : float32[4, 8, 1, 1]\n"     \
    "$x = input : float32[1, 4, 6, 6]; $c = aten.conv2d.default($x, $w1, $b1)\n"

/* What queries and keys of a linear attention make, and its sums. */
#define SCORES                                                                                                         \
    "$q = parameter : float32[8, 8]; $k = parameter : float32[8, 8]; $x = input : float32[6, 8]\n"                     \
    "$a = aten.linear.default($x, $q); $b = aten.relu.default($a); $c = aten.view.default($b, [6, 4, 2])\n"            \
    "$d = aten.permute.default($c, [1, 0, 2]); $f = aten.linear.default($x, $k); $h = aten.relu.default($f)\n"         \
    "$i = aten.view.default($h, [6, 4, 2]); $j = aten.permute.default($i, [1, 2, 0])\n"                                \
    "$n = aten.bmm.default($d, $j); $u = aten.sum.dim_IntList($n, [-1], true)\n"

/* What is in between lets the factors of a first layer through to a second one, or not. */
static const struct {
    const char *what, *text;
    const char *spread;  /* constants whose rows are unlike */
    const char *changes; /* names of the constants that get factors, in order; "": none */
} networks[] = {
    {"relu", TWO_CONVS "$r = aten.relu.default($c); $y = aten.conv2d.default($r, $w2)", "w1 b1", "w1 b1 w2 "},
    {"leaky relu, pools, padding",
     TWO_CONVS "$r = aten.leaky_relu.default($c, 0.1); $m = aten.max_pool2d.default($r, [2, 2], [2, 2])\n"
               "$p = aten.constant_pad_nd.default($m, [1, 1, 1, 1], 0.0)\n"
               "$a = aten.avg_pool2d.default($p, [2, 2], [1, 1]); $y = aten.conv2d.default($a, $w2)",
     "w1 b1", "w1 b1 w2 "},
    {"an addition of both sides",
     "$w0 = parameter : float32[8, 4, 1, 1]\n" TWO_CONVS "$d = aten.conv2d.default($x, $w0)\n"
     "$s = aten.add.Tensor($c, $d); $r = aten.relu.default($s); $y = aten.conv2d.default($r, $w2)",
     "w0 w1 b1", "w0 w1 b1 w2 "},
    {"an addition of the input",
     "$w1 = parameter : float32[4, 4, 1, 1]; $w2 = parameter : float32[4, 4, 1, 1]\n"
     "$x = input : float32[1, 4, 6, 6]; $c = aten.conv2d.default($x, $w1); $s = aten.add.Tensor($c, $x)\n"
     "$y = aten.conv2d.default($s, $w2)",
     "w1", ""},
    {"an output of the network",
     "$w1 = parameter : float32[8, 4, 1, 1]; $x = input : float32[1, 4, 6, 6]\n"
     "$c = aten.conv2d.default($x, $w1); $y = aten.relu.default($c)",
     "w1", ""},
    {"a sigmoid", TWO_CONVS "$r = aten.sigmoid.default($c); $y = aten.conv2d.default($r, $w2)", "w1 b1", ""},
    {"a gate",
     "$w0 = parameter : float32[8, 4, 1, 1]\n" TWO_CONVS "$d = aten.conv2d.default($x, $w0)\n"
     "$g = aten.sigmoid.default($d); $m = aten.mul.Tensor($g, $c); $y = aten.conv2d.default($m, $w2)",
     "w1 b1", "w1 b1 w2 "},
    {"halves of the channels, swapped",
     TWO_CONVS "$l = aten.slice.Tensor($c, 1, 0, 4); $h = aten.slice.Tensor($c, 1, 4, 8)\n"
               "$s = aten.cat.default([$h, $l], 1); $r = aten.relu.default($s); $y = aten.conv2d.default($r, $w2)",
     "w1 b1", "w1 b1 w2 "},
    {"a depthwise convolution",
     "$w0 = parameter : float32[8, 1, 3, 3]; $b0 = parameter : float32[8]\n" TWO_CONVS
     "$r = aten.relu.default($c); $d = aten.conv2d.default($r, $w0, $b0, [1, 1], [1, 1], groups=8)\n"
     "$s = aten.relu.default($d); $y = aten.conv2d.default($s, $w2)",
     "w1 b1", "w0 b0 w1 b1 w2 "},
    {"a transposed convolution of two groups",
     "$w0 = parameter : float32[8, 3, 2, 2]; $b0 = parameter : float32[6]; $w3 = parameter : float32[4, 6, 1, 1]\n"
     "$w1 = parameter : float32[8, 4, 1, 1]; $x = input : float32[1, 4, 6, 6]\n"
     "$c = aten.conv2d.default($x, $w1); $r = aten.relu.default($c)\n"
     "$d = aten.conv_transpose2d.input($r, $w0, $b0, [2, 2], [0, 0], [0, 0], 2); $s = aten.relu.default($d)\n"
     "$y = aten.conv2d.default($s, $w3)",
     "w1 b0", "w0 b0 w3 w1 "},
    {"a flatten",
     "$w1 = parameter : float32[8, 4, 1, 1]; $w2 = parameter : float32[3, 288]; $x = input : float32[1, 4, 6, 6]\n"
     "$c = aten.conv2d.default($x, $w1); $f = aten.flatten.using_ints($c, 1); $y = aten.linear.default($f, $w2)",
     "w1", "w1 w2 "},
    {"a weight of two layers",
     "$w1 = parameter : float32[8, 4, 1, 1]; $w2 = parameter : float32[4, 16, 1, 1]; $x = input : float32[1, 4, 6, 6]\n"
     "$c = aten.conv2d.default($x, $w1); $n = aten.neg.default($x); $d = aten.conv2d.default($n, $w1)\n"
     "$e = aten.relu.default($c); $f = aten.relu.default($d); $s = aten.cat.default([$e, $f], 1)\n"
     "$y = aten.conv2d.default($s, $w2)",
     "w1", "w1 w2 "},
    {"a layer norm and a constant beside it",
     "$g = parameter : float32[8]; $b = parameter : float32[8]; $p = parameter : float32[8]\n"
     "$w = parameter : float32[5, 8]; $x = input : float32[6, 8]\n"
     "$n = aten.layer_norm.default($x, [8], $g, $b); $s = aten.add.Tensor($n, $p); $y = aten.linear.default($s, $w)",
     "g b p", "g b p w "},
    {"scores of an attention",
     "$q = parameter : float32[8, 8]; $k = parameter : float32[8, 8]; $x = input : float32[6, 8]\n"
     "$a = aten.linear.default($x, $q); $b = aten.linear.default($x, $k); $c = aten.view.default($a, [1, 6, 8])\n"
     "$d = aten.view.default($b, [1, 6, 8]); $t = aten.transpose.int($d, 1, 2); $y = aten.bmm.default($c, $t)",
     "q", ""},
    {"values of an attention",
     "$v = parameter : float32[8, 8]; $o = parameter : float32[8, 8]; $x = input : float32[6, 8]\n"
     "$z = aten.view.default($x, [1, 6, 8]); $t = aten.transpose.int($z, 1, 2); $m = aten.bmm.default($z, $t)\n"
     "$p = aten.softmax.int($m, -1); $a = aten.linear.default($x, $v); $c = aten.view.default($a, [1, 6, 8])\n"
     "$h = aten.bmm.default($p, $c); $d = aten.view.default($h, [6, 8]); $y = aten.linear.default($d, $o)",
     "v", "v o "},
    {"an attention that its own sums divide",
     "$q = parameter : float32[8, 8]; $k = parameter : float32[8, 8]; $e = constant : float32[] values(1e-12)\n"
     "$x = input : float32[6, 8]; $s = aten.view.default($x, [6, 4, 2]); $v = aten.permute.default($s, [1, 0, 2])\n"
     "$p = aten.pad.default($v, [0, 1], \"constant\", 1.0); $a = aten.linear.default($x, $q)\n"
     "$b = aten.relu.default($a); $c = aten.view.default($b, [6, 4, 2]); $d = aten.permute.default($c, [1, 0, 2])\n"
     "$f = aten.linear.default($x, $k); $h = aten.relu.default($f); $i = aten.view.default($h, [6, 4, 2])\n"
     "$j = aten.permute.default($i, [1, 2, 0]); $m = aten.bmm.default($j, $p); $n = aten.bmm.default($d, $m)\n"
     "$t = aten.slice.Tensor($n, 2, 0, 2); $u = aten.slice.Tensor($n, 2, 2, 3); $w = aten.add.Tensor($u, $e)\n"
     "$y = aten.div.Tensor($t, $w)",
     "k", "q k "},
    {"scores: sums divide them",
     SCORES "$e = constant : float32[] values(1e-12)\n"
            "$w = aten.add.Tensor($u, $e); $y = aten.div.Tensor($n, $w)",
     "k", "q k "},
    {"scores: an epsilon of more dimensions",
     SCORES "$e = constant : float32[1, 1, 1, 1] values(1e-12)\n"
            "$w = aten.add.Tensor($u, $e); $y = aten.div.Tensor($n, $w)",
     "k", ""},
    {"scores: a number that is no epsilon",
     SCORES "$e = constant : float32[] values(1e-2)\n"
            "$w = aten.add.Tensor($u, $e); $y = aten.div.Tensor($n, $w)",
     "k", ""},
    {"scores: an epsilon that is multiplied",
     SCORES "$e = constant : float32[] values(1e-7)\n"
            "$w = aten.add.Tensor($u, $e, alpha=1000000.0)\n"
            "$y = aten.div.Tensor($n, $w)",
     "k", ""},
    {"scores: sums that another reads",
     SCORES "$e = constant : float32[] values(1e-12)\n"
            "$w = aten.add.Tensor($u, $e); $z = aten.div.Tensor($n, $w)\n"
            "$y = aten.add.Tensor($z, $w)",
     "k", ""},
    {"scores: sums of another product",
     SCORES "$e = constant : float32[] values(1e-12)\n"
            "$o = aten.bmm.default($n, $d); $g = aten.sum.dim_IntList($o, [-1], true)\n"
            "$w = aten.add.Tensor($g, $e); $y = aten.div.Tensor($n, $w)",
     "k", ""},
    {"scores: a bound in front of the quotient",
     SCORES "$e = constant : float32[] values(1e-12)\n"
            "$o = aten.clamp.default($n, 0.0, 0.3); $w = aten.add.Tensor($u, $e)\n"
            "$y = aten.div.Tensor($o, $w)",
     "k", ""},
};

static bool changed(struct nuc_graph *g, struct nuc_graph *before, const struct nuc_node *n)
{
    const struct nuc_node *old = node_of(before, n->name);

    return memcmp(nuc_const_contiguous(g, n), nuc_const_contiguous(before, old), nuc_bytes(&n->vals[0])) != 0;
}

static void factors_keep_the_function(void **state)
{
    for (size_t i = 0; i < COUNT(networks); i++) {
        struct nuc_context *cx = *state = nuc_context_new(NULL);
        struct nuc_graph *g = graph_in(cx, "%s", networks[i].text);
        char names[64] = "";
        fill_constants(g, networks[i].spread);
        struct nuc_graph *before = nuc_graph_copy(g);
        double gain = equalize(g);
        for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
            if (nuc_is_static(n) && changed(g, before, n))
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", n->name);
        }
        if (strcmp(names, networks[i].changes) != 0)
            fail_msg("%s: factors of '%s', not of '%s'", networks[i].what, names, networks[i].changes);
        assert_true((gain > 0) == (names[0] != '\0'));
        for (uint32_t k = 0; k < 4; k++) {
            float a[MOST], b[MOST];
            size_t count = run(before, k, a);
            run(g, k, b);
            for (size_t j = 0; j < count; j++) {
                if (!(fabsf(a[j] - b[j]) <= 1e-4f * (1 + fabsf(a[j]))))
                    fail_msg("%s: %g became %g", networks[i].what, (double)a[j], (double)b[j]);
            }
        }
        nuc_context_free(cx);
    }
    *state = nuc_context_new(NULL);
}

/* What a channel of small values is read by is large: without factors it has few steps, and these count. */
static struct nuc_graph *unlike_channels(struct nuc_context *cx, const char *activation)
{
    struct nuc_graph *g = graph_in(cx,
                                   "$w1 = parameter : float32[8, 4, 1, 1]; $w2 = parameter : float32[4, 8, 1, 1]\n"
                                   "$x = input : float32[1, 4, 6, 6]; $c = aten.conv2d.default($x, $w1)\n"
                                   "$r = aten.%s.default($c); $y = aten.conv2d.default($r, $w2)",
                                   activation);

    fill_constants(g, "w1");
    float *w2 = nuc_copy(cx, nuc_const_contiguous(g, node_of(g, "w2")), 32 * sizeof(float));
    for (size_t i = 0; i < 32; i++)
        w2[i] = ldexpf(w2[i], 2 * (int)(i % 8 % 4));
    bind(g, "w2", w2);
    return g;
}

static void unlike_channels_gain(void **state)
{
    struct nuc_context *cx = *state = nuc_context_new(NULL);

    for (int i = 0; i < 2; i++) {
        struct nuc_graph *g = unlike_channels(cx, i == 0 ? "relu" : "relu6"), *exact = nuc_graph_copy(g);
        double without = quantized_sqnr(nuc_graph_copy(g), exact), estimated = equalize(g);
        double with = quantized_sqnr(g, exact);
        assert_true(with > without + 10);
        assert_true(estimated > 10);
    }
}

/* The estimate of one tensor alone, which is least at full use of the range by all channels: 10 log10(91) dB less. */
static void noise_of_a_tensor_falls(void **state)
{
    struct nuc_context *cx = *state;
    double lowest[3] = {0, -10, -10}, exponents[2][3]; /* the first one is pinned */

    for (int squared = 0; squared < 2; squared++) {
        struct nuc_noise_tensor tensor = {.count = 0};
        struct nuc_noise_model m = {.cx = cx, .n_labels = 3, .lowest = lowest, .n_tensors = 1, .tensors = &tensor};
        double *x = exponents[squared];
        for (uint32_t i = 0; i < 3; i++)
            nuc_noise_add_share(&m, 0,
                                (struct nuc_noise_share){.label = i,
                                                         .above = ldexpf(1, -2 * (int)i),
                                                         .weight = ldexp(1, 4 * (int)i),
                                                         .squared = squared != 0});
        double gain = nuc_noise_reduce(&m, x);
        assert_true(gain > 0.8 * 10 * log10(91) && gain <= 10 * log10(91));
        assert_true(x[0] == 0 && x[2] < x[1] && x[1] < 0);
    }
    assert_true(fabs(2 * exponents[1][2] / exponents[0][2] - 1) < 0.1);
}

RUN_TESTS(cmocka_unit_test_teardown(factors_keep_the_function, free_context),
          cmocka_unit_test_teardown(unlike_channels_gain, free_context),
          cmocka_unit_test_setup_teardown(noise_of_a_tensor_falls, new_context, free_context))
