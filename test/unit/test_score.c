/* Measures of an evaluation against numbers worked out by hand. */
#include <math.h>

#include "contexts.h"
#include "tools/evaluate/scored_output.h"

static void near(double actual, double expected)
{
    assert_true(fabs(actual - expected) < 1e-9);
}

/* ---- numbers ---- */

static struct nuc_deviation deviation(const float *of, const float *x, size_t count)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    struct nuc_deviation d = {.n_elements = 0};

    assert_non_null(cx);
    nuc_deviation_add(cx, &d, NUC_F32, of, NUC_F32, x, count);
    nuc_deviation_finish(&d);
    nuc_context_free(cx);
    d.sums = NULL;
    return d;
}

static void test_deviation(void **state)
{
    const float of[4] = {1, -2, 3, 4}, x[4] = {1, -1, 3, 2};

    struct nuc_deviation d = deviation(of, x, 4);
    near(d.signal, 1 + 4 + 9 + 16);
    near(d.noise, 0 + 1 + 0 + 4);
    near(d.mse, 5.0 / 4);
    near(d.mae, 3.0 / 4);
    near(d.max_error, 2);
    near(d.sqnr_db, 10 * log10(6));              /* 30 / 5 */
    near(d.psnr_db, 10 * log10(36 / (5.0 / 4))); /* peak 4 - -2 */
    assert_int_equal(d.n_equal, 2);
}

static void test_deviation_limits(void **state)
{
    const float zero[2] = {0, 0}, one[2] = {1, 0}, huge[2] = {3e38f, -3e38f}, off[2] = {3e38f, 3e38f};

    assert_true(deviation(zero, zero, 2).sqnr_db == (double)INFINITY);
    assert_true(deviation(zero, one, 2).sqnr_db == -(double)INFINITY);
    assert_true(deviation(one, one, 2).sqnr_db == (double)INFINITY);
    near(deviation(huge, off, 2).sqnr_db, 10 * log10(0.5));
}

static void test_deviation_not_finite(void **state)
{
    const float of[4] = {NAN, INFINITY, 1, 2}, same[4] = {NAN, INFINITY, 1, 1}, other[4] = {0, -INFINITY, NAN, 2};

    struct nuc_deviation d = deviation(of, same, 4);
    assert_int_equal(d.n_not_finite, 2);
    assert_int_equal(d.n_broken, 0);
    assert_int_equal(d.n_nan, 1);
    assert_int_equal(d.n_infinite, 1);
    assert_int_equal(d.n_equal, 3);
    near(d.sqnr_db, 10 * log10(5));
    d = deviation(of, other, 4);
    assert_int_equal(d.n_broken, 3);
    assert_int_equal(d.n_nan, 1);
    assert_true(d.sqnr_db == -(double)INFINITY && d.mse == (double)INFINITY);
}

/* Beyond what a double can tell apart. */
static void deviation_integers(struct nuc_context *cx, void *arg)
{
    const int64_t of[2] = {INT64_C(9007199254740993), 7}, x[2] = {INT64_C(9007199254740992), 7};
    struct nuc_deviation d = {.n_elements = 0};

    nuc_deviation_add(cx, &d, NUC_I64, of, NUC_I64, x, 2);
    assert_int_equal(d.n_equal, 1);
}

/* ---- sums without rounding ---- */

#define MOST_TERMS 5

static const struct sum_case {
    double terms[MOST_TERMS], sum;
} sum_cases[] = {
    {{0}, 0},
    {{1e16, 1, -1e16}, 1},
    {{1e300, 1, -1e300, 1e-300, -1}, 1e-300},
    {{0.1, 0.2, 0.3, -0.3, -0.2}, 0.1},
    /* Half of the last bit of 2^53: to the even one, unless something is above or below the half. */
    {{0x1p53, 1}, 0x1p53},
    {{0x1p53, 1, 0x1p-200}, 0x1p53 + 2},
    {{0x1p53, 3, -0x1p-200}, 0x1p53 + 2},
    {{0x1p53, 3}, 0x1p53 + 4},
    {{-0x1p53, -1, -0x1p-200}, -0x1p53 - 2},
    {{1e308, 1e308, -1e308}, (double)INFINITY},
};

/* In every order that turning and reversing make, and as the sum of two parts. */
static void exact_sum(struct nuc_context *cx, void *row)
{
    const struct sum_case *c = row;

    for (size_t turn = 0; turn < 2 * MOST_TERMS; turn++) {
        struct nuc_exact_sum whole = {NULL, 0, 0}, parts[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
        for (size_t i = 0; i < MOST_TERMS; i++) {
            size_t at = turn < MOST_TERMS ? (i + turn) % MOST_TERMS : (2 * MOST_TERMS - 1 - i - turn % MOST_TERMS) % 5;
            if (isinf(c->sum) && turn > 0) /* only what is added first overflows */
                return;
            nuc_exact_add(cx, &whole, c->terms[at]);
            nuc_exact_add(cx, &parts[i % 2], c->terms[at]);
        }
        assert_true(nuc_exact_value(&whole) == c->sum);
        if (isinf(c->sum))
            continue;
        nuc_exact_merge(cx, &parts[0], &parts[1]);
        assert_true(nuc_exact_value(&parts[0]) == c->sum);
    }
}

/* Shards are next to each other, have all samples, and differ by one sample at most. */
static void test_shards(void **state)
{
    for (size_t n = 1; n < 40; n++) {
        for (size_t count = 1; count <= n; count++) {
            assert_int_equal(nuc_shard_first((struct nuc_shard){1, count}, n), 0);
            for (size_t i = 1; i <= count; i++) {
                size_t size = nuc_shard_first((struct nuc_shard){i + 1, count}, n) -
                              nuc_shard_first((struct nuc_shard){i, count}, n);
                assert_true(size == n / count || size == n / count + 1);
            }
            assert_int_equal(nuc_shard_first((struct nuc_shard){count + 1, count}, n), n);
        }
    }
    assert_int_equal(nuc_shard_first((struct nuc_shard){3, 4}, (size_t)1 << 62), (size_t)1 << 61);
}

/* ---- decisions ---- */

static void test_decisions(void **state)
{
    /* Two samples' places of three classes, the classes in the middle: [1, 3, 2]. */
    const float v[6] = {1, 5, 3, 5, 2, NAN};
    const struct nuc_scores s = {.outer = 1, .classes = 3, .inner = 2};
    const float tied[3] = {2, 2, 1};
    const struct nuc_scores row = {.outer = 1, .classes = 3, .inner = 1};
    const struct nuc_scores binary = {.outer = 3, .classes = 1, .inner = 1, .is_binary = true, .threshold = 1.5};
    const int32_t topk[4] = {7, 3, 1, 0};
    const struct nuc_scores ranked = {.outer = 2, .classes = 2, .inner = 1, .is_index = true};

    assert_int_equal(nuc_decisions(&s), 2);
    assert_int_equal(nuc_decide(&s, NUC_F32, v, 0), 1);
    assert_int_equal(nuc_decide(&s, NUC_F32, v, 1), NUC_UNDECIDED);
    assert_int_equal(nuc_decide(&row, NUC_F32, tied, 0), 0);
    assert_int_equal(nuc_decide(&binary, NUC_F32, tied, 0), 1);
    assert_int_equal(nuc_decide(&binary, NUC_F32, tied, 2), 0);
    assert_int_equal(nuc_decide(&ranked, NUC_I32, topk, 1), 1);
    assert_true(nuc_is_in_top(&ranked, NUC_I32, topk, 0, 3));
    assert_false(nuc_is_in_top(&ranked, NUC_I32, topk, 1, 3));
}

static void test_top(void **state)
{
    const float v[7] = {0, 6, 5, 4, 3, 3, 1};
    const struct nuc_scores s = {.outer = 1, .classes = 7, .inner = 1};

    assert_true(nuc_is_in_top(&s, NUC_F32, v, 0, 1));
    assert_true(nuc_is_in_top(&s, NUC_F32, v, 0, 5)); /* the fifth: of equals the first counts */
    assert_false(nuc_is_in_top(&s, NUC_F32, v, 0, 6));
    assert_false(nuc_is_in_top(&s, NUC_F32, v, 0, 0));
}

static void tally(struct nuc_context *cx, void *arg)
{
    /* Labels 0 0 0 1 1 2; decisions 0 0 1 1 undecided 0. */
    const int64_t labels[6] = {0, 0, 0, 1, 1, 2}, decisions[6] = {0, 0, 1, 1, NUC_UNDECIDED, 0};
    struct nuc_tally t;

    nuc_tally_init(cx, &t, 4);
    for (size_t i = 0; i < 6; i++)
        nuc_tally_add(&t, labels[i], decisions[i], i < 4);
    struct nuc_label_score a = nuc_tally_accuracy(&t, NUC_TOP);
    assert_int_equal(a.n, 6);
    assert_int_equal(a.n_right, 3);
    assert_int_equal(a.n_top, 4);
    /* Class 0: 2 of 4; class 1: 1 of 3; class 2: 0 of 1; class 3 does not occur. */
    assert_int_equal(a.n_present, 3);
    near(a.mean_iou, (2.0 / 4 + 1.0 / 3 + 0) / 3);
    assert_int_equal(a.confusion[0 * 4 + 1], 1);
    assert_int_equal(a.confusion[2 * 4 + 0], 1);
    assert_int_equal(a.confusion[1 * 4 + 1], 1);
}

/* ---- channels in another scale ---- */

static void rescaled(struct nuc_context *cx, void *arg)
{
    /* [1, 2, 4]: the second channel is four times as large in the quantized model; the program is off by 4 in one. */
    const float f[8] = {1, 2, 3, 4, 5, 6, 7, 8}, q[8] = {1, 2, 3, 4, 20, 24, 28, 32},
                p[8] = {1, 2, 3, 4, 20, 24, 28, 36};
    const struct nuc_tensor_info t = {.rank = 3, .sizes = {1, 2, 4}};
    struct nuc_node_score score = {.name = "n"}, same = {.name = "n"};
    struct nuc_channel_sums sums;

    score.float_quantized = deviation(f, q, 8);
    nuc_channel_sums_init(cx, &sums, &t);
    nuc_channel_sums_add(cx, &sums, f, q, p, 8);
    nuc_channel_sums_finish(&sums, &score);
    assert_true(score.is_rescaled);
    assert_true(score.rescaled_quantized_db > 100);
    assert_true(fabs(score.rescaled_program_db - 10 * log10(204)) < 1e-6); /* 204 / 1 */
    /* One wrong element is no other scale. */
    same.float_quantized = deviation(q, p, 8);
    nuc_channel_sums_init(cx, &sums, &t);
    nuc_channel_sums_add(cx, &sums, q, p, p, 8);
    nuc_channel_sums_finish(&sums, &same);
    assert_false(same.is_rescaled);
}

/* ---- gates ---- */

static void gates(struct nuc_context *cx, void *arg)
{
    struct nuc_output_score outputs[2] = {{.name = "a"}, {.name = "b"}};
    const struct nuc_evaluation e = {.n_outputs = 2, .outputs = outputs};
    struct nuc_evaluate_options o;

    nuc_evaluate_options_default(&o);
    outputs[0].deviation.sqnr_db = 30;
    outputs[1].deviation.sqnr_db = 20;
    outputs[1].task = NUC_TASK_CLASSIFY;
    outputs[1].labels = "label";
    outputs[1].program_accuracy = (struct nuc_label_score){.n = 200, .n_right = 181};
    assert_null(nuc_missed_gates(cx, &e, &o));
    o.min_sqnr = 20;
    o.min_accuracy = 90.5;
    assert_null(nuc_missed_gates(cx, &e, &o));
    o.min_sqnr = 21.5;
    assert_string_equal(nuc_missed_gates(cx, &e, &o), "SQNR of 'b' is 20.00 dB, 1.5 below --min-sqnr 21.5");
    o.min_accuracy = 91;
    assert_string_equal(nuc_missed_gates(cx, &e, &o),
                        "accuracy of 'b' is 90.50 %, 0.5 below --min-accuracy 91; SQNR of "
                        "'b' is 20.00 dB, 1.5 below --min-sqnr 21.5");
    /* A NaN is never above a limit. */
    outputs[1].deviation.sqnr_db = (double)NAN;
    outputs[0].is_integer = true;
    assert_non_null(nuc_missed_gates(cx, &e, &o));
}

RUN_TESTS(cmocka_unit_test(test_deviation), cmocka_unit_test(test_deviation_limits),
          cmocka_unit_test(test_deviation_not_finite), CONTEXT_TEST(deviation_integers), ROW_TEST(exact_sum, sum_cases),
          cmocka_unit_test(test_shards), cmocka_unit_test(test_decisions), cmocka_unit_test(test_top),
          CONTEXT_TEST(tally), CONTEXT_TEST(rescaled), CONTEXT_TEST(gates))
