/* Operators of the evaluator at their borders, and on several threads. */
#include <math.h>
#include <string.h>

#include "eval/eval_rounded.h"
#include "unit/eval_graphs.h"
#include "unit/value_cases.h"

static void evaluate_exactly(struct nuc_context *cx, const struct value_case *c)
{
    evaluate_case(cx, c, 0);
}

static void check_cases(struct nuc_context *cx, void *text)
{
    for_values(cx, text, evaluate_exactly);
}

/* The bits do not depend on how many threads share the work: `in` elements to `count` elements. */
static void check_threads(struct nuc_graph *g, const float *in, size_t count)
{
    float *one = nuc_alloc_array(g->cx, count, sizeof *one), *many = nuc_alloc_array(g->cx, count, sizeof *many);

    nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){in}, (void *const[]){one});
    for (unsigned threads = 0; threads < 6; threads++) {
        struct nuc_evaluator *e = nuc_eval_new(g, threads);
        for (int i = 0; i < 3; i++)
            nuc_eval_run(e, (const void *const[]){in}, (void *const[]){many});
        assert_memory_equal(many, one, count * sizeof *one);
    }
    free_graph(g);
}

/* A convolution; elementwise functions, a matrix product and a mean over enough elements to be shared. */
static void threads_agree(void **state)
{
    static float in[300 * 64], w[24 * 8 * 9];
    uint32_t seed = 7;

    fill_floats(&seed, in, COUNT(in));
    fill_floats(&seed, w, COUNT(w));
    struct nuc_graph *g = graph_of("$x = input : float32[1, 8, 40, 40]; $w = buffer : float32[24, 8, 3, 3]\n"
                                   "$b = buffer : float32[24] values(1, -2, 0.3)\n"
                                   "$y = aten.conv2d.default($x, $w, $b, [1, 1], [1, 1])");
    bind(g, "w", w);
    check_threads(g, in, 24 * 40 * 40);
    g = graph_of("$x = input : float32[300, 64]; $w = buffer : float32[27, 64]; $s = aten.sigmoid.default($x)\n"
                 "$l = aten.linear.default($s, $w); $e = aten.gelu.default($l); $y = aten.mean.dim($e, [1])");
    bind(g, "w", w);
    check_threads(g, in, 300);
}

static void embed(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = arg;
    static const int64_t indices[] = {3, -1, 5};
    float out[6];

    assert_ptr_equal(g->cx, cx);
    nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){indices}, (void *const[]){out});
}

/* An index that is out of bounds is named, with what it is out of. */
static void refusals_name_the_operands(void **state)
{
    struct nuc_graph *g = graph_of("$w = buffer : float32[5, 2] values(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)\n"
                                   "$i = input : int64[3]; $y = aten.embedding.default($w, $i)");

    assert_int_not_equal(nuc_try(g->cx, embed, g), NUC_OK);
    assert_non_null(strstr(g->cx->message, "an index lies outside its dimension: float32[5, 2], int64[3] of -1 to 5"));
    free_graph(g);
}

static void check_rounded(void (*fn)(const float *, float *, size_t), double (*exact)(double), uint32_t first)
{
    static float in[997], out[997];
    const uint32_t step = 1 << 13;

    for (uint64_t bits = first; bits < UINT32_MAX; bits += step * COUNT(in)) {
        for (uint32_t i = 0; i < COUNT(in); i++) {
            uint32_t b = (uint32_t)bits + step * i;
            memcpy(&in[i], &b, sizeof b);
        }
        fn(in, out, COUNT(in));
        for (uint32_t i = 0; i < COUNT(in); i++) {
            float want = (float)exact((double)in[i]);
            assert_true(isnan(want) ? isnan(out[i]) : memcmp(&out[i], &want, sizeof want) == 0);
        }
    }
}

/* Floats of all sizes, infinities and NaNs, and ones near the bounds of what is approximated. */
static void rounded_as_in_libm(void **state)
{
    for (uint32_t first = 0; first < 3; first++) {
        check_rounded(nuc_eval_exp, exp, first);
        check_rounded(nuc_eval_tanh, tanh, first);
        check_rounded(nuc_eval_erf, erf, first);
    }
}

RUN_TESTS(TEXT_TEST("cases/evaluator.txt", check_cases, NULL), cmocka_unit_test(threads_agree),
          cmocka_unit_test(refusals_name_the_operands), cmocka_unit_test(rounded_as_in_libm))
