/* Functions of elements, choices and reductions against plain loops on seeded random shapes. */
#include "unit/eval_graphs.h"

#include <math.h>

#define MOST 512

/* ---- one operand ---- */

static double logistic(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double ramp(double x)
{
    return fmin(fmax(x + 3.0, 0.0), 6.0);
}

static double negated(double x)
{
    return -x;
}

static double reciprocal_root(double x)
{
    return 1.0 / sqrt(x);
}

static double hardswish(double x)
{
    return x * ramp(x) / 6.0;
}

static double hardsigmoid(double x)
{
    return ramp(x) / 6.0;
}

static double silu(double x)
{
    return x * logistic(x);
}

static double leaky_relu(double x)
{
    return x > 0.0 ? x : x * 0.25;
}

static double relu6(double x)
{
    return fmin(fmax(x, 0.0), 6.0);
}

static double gelu(double x)
{
    return x * 0.5 * (1.0 + erf(x / sqrt(2.0)));
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

/* [1, 4] dimensions of 1 to 4 elements. */
static const char *random_shape(uint32_t *seed, int64_t sizes[4], uint32_t *rank)
{
    *rank = (uint32_t)next_int(seed, 1, 4);
    for (uint32_t d = 0; d < *rank; d++)
        sizes[d] = next_int(seed, 1, 4);
    return list_of(sizes, *rank);
}

static const struct {
    const char *operator, * more; /* further arguments */
    double (*function)(double x);
    bool positive; /* the function's arguments */
} functions[] = {
    {"aten.abs.default", "", fabs, false},
    {"aten.abs_.default", "", fabs, false},
    {"edge.aten.abs.default", "", fabs, false},
    {"aten.neg.default", "", negated, false},
    {"edge.aten.neg.default", "", negated, false},
    {"aten.exp.default", "", exp, false},
    {"aten.exp_.default", "", exp, false},
    {"edge.aten.exp.default", "", exp, false},
    {"aten.log.default", "", log, true},
    {"edge.aten.log.default", "", log, true},
    {"aten.sqrt.default", "", sqrt, true},
    {"edge.aten.sqrt.default", "", sqrt, true},
    {"aten.rsqrt.default", "", reciprocal_root, true},
    {"edge.aten.rsqrt.default", "", reciprocal_root, true},
    {"aten.sigmoid.default", "", logistic, false},
    {"aten.sigmoid_.default", "", logistic, false},
    {"edge.aten.sigmoid.default", "", logistic, false},
    {"aten.atan.default", "", atan, false},
    {"aten.atan_.default", "", atan, false},
    {"edge.aten.atan.default", "", atan, false},
    {"aten.tanh.default", "", tanh, false},
    {"edge.aten.tanh.default", "", tanh, false},
    {"aten.hardswish.default", "", hardswish, false},
    {"aten.hardswish_.default", "", hardswish, false},
    {"edge.aten.hardswish.default", "", hardswish, false},
    {"aten.hardsigmoid.default", "", hardsigmoid, false},
    {"aten.silu.default", "", silu, false},
    {"aten.silu_.default", "", silu, false},
    {"aten.leaky_relu.default", ", 0.25", leaky_relu, false},
    {"edge.aten.leaky_relu.default", ", 0.25", leaky_relu, false},
    {"aten.relu6_.default", "", relu6, false},
    {"aten.gelu.default", "", gelu, false},
    {"edge.aten.gelu.default", ", approximate=\"tanh\"", gelu_tanh, false},
};

static void unary_functions(void **state)
{
    uint32_t seed = 1, rank;

    (void)state;
    for (size_t i = 0; i < COUNT(functions); i++) {
        int64_t sizes[4];
        float in[MOST], out[MOST];
        struct nuc_graph *g = graph_of("$x = input : float32%s; $y = %s($x%s)", random_shape(&seed, sizes, &rank),
                                       functions[i].operator, functions[i].more);
        fill_floats(&seed, in, MOST);
        for (size_t k = 0; k < MOST; k++)
            in[k] = functions[i].positive ? fabsf(in[k]) * 4.0f + 0.01f : in[k] * 4.0f;
        int64_t count = nuc_elements(evaluate(g, in, out));
        for (int64_t k = 0; k < count; k++) {
            double expected = functions[i].function((double)in[k]);
            if (!(fabs((double)out[k] - expected) <= 4e-7 * fabs(expected) + 1e-7))
                fail_msg("%s(%g) is %.9g instead of %.9g", functions[i].operator,(double) in[k], (double)out[k],
                         expected);
        }
        free_graph(g);
    }
}

/* A missing bound does not bound; where bounds cross, the upper one wins. torch keeps a NaN of either side. */
#define CLAMPED(call)                                                                                                  \
    "$x = input : float32[5]; $y = " call,                                                                             \
    {                                                                                                                  \
        -3.0f, -1.0f, 0.5f, 2.0f, NAN                                                                                  \
    }
#define EXTREME(name)                                                                                                  \
    "$x = input : float32[3]; $c = buffer : float32[3] values(1, nan, 3); $y = aten." name ".default($x, $c)",         \
    {                                                                                                                  \
        NAN, 1.0f, 2.0f                                                                                                \
    }

static const struct float_case bounds[] = {
    {CLAMPED("aten.clamp.default($x, -1.5, 1.0)"), {-1.5f, -1.0f, 0.5f, 1.0f, NAN}},
    {CLAMPED("edge.aten.clamp.default($x, 0.0)"), {0.0f, 0.0f, 0.5f, 2.0f, NAN}},
    {CLAMPED("aten.clamp.default($x, none, 0.25)"), {-3.0f, -1.0f, 0.25f, 0.25f, NAN}},
    {CLAMPED("edge.aten.clamp.default($x, 2.0, 1.0)"), {1.0f, 1.0f, 1.0f, 1.0f, NAN}},
    {CLAMPED("aten.hardtanh.default($x, 1.0, -1.0)"), {-1.0f, -1.0f, -1.0f, -1.0f, NAN}},
    {CLAMPED("aten.clamp.default($x, inf, -inf)"), {-INFINITY, -INFINITY, -INFINITY, -INFINITY, NAN}},
    {CLAMPED("aten.clamp.default($x, -inf, inf)"), {-3.0f, -1.0f, 0.5f, 2.0f, NAN}},
    {CLAMPED("aten.clamp.default($x, nan, 1.0)"), {NAN, NAN, NAN, NAN, NAN}},
    {CLAMPED("aten.clamp.default($x, 0.0, nan)"), {NAN, NAN, NAN, NAN, NAN}},
    {EXTREME("minimum"), {NAN, NAN, 2.0f}},
    {EXTREME("maximum"), {NAN, NAN, 3.0f}},
};

/* ---- two operands ---- */

static float difference(float a, float b)
{
    return fmaf(-0.75f, b, a);
}

static float product(float a, float b)
{
    return a * b;
}

static float quotient(float a, float b)
{
    return a / b;
}

static float larger(float a, float b)
{
    return a > b ? a : b;
}

static float smaller(float a, float b)
{
    return a < b ? a : b;
}

/* The element of a [1 or 3, 1 or 4, 1 or 5] operand that stands at element i of [3, 4, 5]. */
static size_t source(const int64_t sizes[3], size_t i)
{
    int64_t at[3] = {(int64_t)i / 20, (int64_t)i / 5 % 4, (int64_t)i % 5};

    for (int d = 0; d < 3; d++)
        at[d] = sizes[d] == 1 ? 0 : at[d];
    return (size_t)((at[0] * sizes[1] + at[1]) * sizes[2] + at[2]);
}

static void binary_functions(void **state)
{
    static const struct {
        const char *operator, * more;
        float (*function)(float a, float b);
    } ops[] = {
        {"aten.sub.Tensor", ", alpha=0.75", difference},
        {"edge.aten.sub.Tensor", ", alpha=0.75", difference},
        {"aten.mul.Tensor", "", product},
        {"edge.aten.mul.Tensor", "", product},
        {"aten.div.Tensor", "", quotient},
        {"edge.aten.div.Tensor", "", quotient},
        {"aten.maximum.default", "", larger},
        {"edge.aten.maximum.default", "", larger},
        {"aten.minimum.default", "", smaller},
        {"edge.aten.minimum.default", "", smaller},
    };
    const int64_t full[3] = {3, 4, 5};
    uint32_t seed = 2;

    (void)state;
    for (size_t i = 0; i < COUNT(ops) * 4; i++) {
        float (*function)(float a, float b) = ops[i / 4].function;
        bool swapped = i % 2 == 1;
        int64_t sizes[3];
        float in[60], other[60], out[60];
        for (int d = 0; d < 3; d++)
            sizes[d] = next_int(&seed, 0, 2) == 0 ? 1 : full[d];
        fill_floats(&seed, in, 60);
        fill_floats(&seed, other, 60);
        struct nuc_graph *g =
            graph_of("$x = input : float32[3, 4, 5]; $c = buffer : float32%s; $y = %s(%s%s)", list_of(sizes, 3),
                     ops[i / 4].operator, swapped ? "$c, $x" : "$x, $c", ops[i / 4].more);
        bind(g, "c", other);
        evaluate(g, in, out);
        for (size_t k = 0; k < 60; k++) {
            float b = other[source(sizes, k)], expected = swapped ? function(b, in[k]) : function(in[k], b);
            assert_floats(&out[k], &expected, 1);
        }
        free_graph(g);
    }
}

static void integers_wrap(void **state)
{
    const int32_t a[3] = {INT32_MAX, -5, 7};
    static const struct {
        const char *operator;
        int32_t expected[3];
    } cases[] = {{"add.Tensor", {INT32_MIN, -2, 14}},
                 {"sub.Tensor", {INT32_MAX - 1, -8, 0}},
                 {"mul.Tensor", {INT32_MAX, -15, 49}},
                 {"maximum.default", {INT32_MAX, 3, 7}},
                 {"minimum.default", {1, -5, 7}}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nuc_graph *g = graph_of("$x = input : int32[3]; $c = buffer : int32[3] values(1, 3, 7)\n"
                                       "$y = aten.%s($x, $c)",
                                       cases[i].operator);
        int32_t out[3];
        evaluate(g, a, out);
        assert_memory_equal(out, cases[i].expected, sizeof out);
        free_graph(g);
    }
}

/* Integers with a float32 operand, and quotients of integers, are computed in float32. */
static void dtypes_meet(void **state)
{
    const int32_t in[3] = {1, -2, 9};
    const float other[3] = {0.5f, 0.25f, 2.0f};

    (void)state;
    for (int divides = 0; divides < 2; divides++) {
        struct nuc_graph *g = graph_of("$x = input : int32[3]; $c = buffer : float32[3] values(0.5, 0.25, 2)\n"
                                       "$y = aten.%s.Tensor($x, $c)",
                                       divides ? "div" : "mul");
        float out[3];
        evaluate(g, in, out);
        for (int i = 0; i < 3; i++)
            assert_true(out[i] == (divides ? (float)in[i] / other[i] : (float)in[i] * other[i]));
        free_graph(g);
    }
}

static void prelu_slopes(void **state)
{
    uint32_t seed = 3, rank;

    (void)state;
    for (int i = 0; i < 20; i++) {
        int64_t sizes[4], inner = 1;
        float in[MOST], out[MOST], slopes[4];
        const char *shape = random_shape(&seed, sizes, &rank);
        int64_t channels = rank >= 2 && i % 2 == 0 ? sizes[1] : 1;
        fill_floats(&seed, in, MOST);
        fill_floats(&seed, slopes, 4);
        struct nuc_graph *g =
            graph_of("$x = input : float32%s; $w = buffer : float32%s; $y = %s($x, $w)", shape, list_of(&channels, 1),
                     i % 4 < 2 ? "aten.prelu.default" : "edge.aten.prelu.default");
        bind(g, "w", slopes);
        int64_t count = nuc_elements(evaluate(g, in, out));
        for (uint32_t d = 2; d < rank; d++)
            inner *= sizes[d];
        for (int64_t k = 0; k < count; k++) {
            float slope = slopes[channels == 1 ? 0 : k / inner % channels];
            assert_true(out[k] == (in[k] > 0.0f ? in[k] : in[k] * slope));
        }
        free_graph(g);
    }
}

/* where(x > 0.125, x, other), the condition broadcast or not. */
static void gt_and_where(void **state)
{
    uint32_t seed = 4;
    float in[12], other[4], out[12];
    struct nuc_graph *g = graph_of("$x = input : float32[3, 4]; $c = buffer : float32[4]\n"
                                   "$gt = edge.aten.gt.Scalar($x, 0.125); $y = edge.aten.where.self($gt, $x, $c)");

    (void)state;
    fill_floats(&seed, in, 12);
    fill_floats(&seed, other, 4);
    in[5] = 0.125f;
    assert_int_equal(node_of(g, "gt")->vals[0].dtype, NUC_BOOL);
    bind(g, "c", other);
    evaluate(g, in, out);
    for (int i = 0; i < 12; i++)
        assert_true(out[i] == (in[i] > 0.125f ? in[i] : other[i % 4]));
    free_graph(g);
}

/* ---- reductions ---- */

struct reduction {
    const char *operator;
    bool sums;
    bool largest;
};

/* Result `r` of [2, 3, 4, 5] over the dimensions in `mask`, added or compared in double. */
static double reduce_at(const struct reduction *k, const float *in, unsigned mask, size_t r)
{
    const size_t sizes[4] = {2, 3, 4, 5};
    double result = k->sums ? 0.0 : k->largest ? -1e9 : 1e9;

    for (size_t i = 0; i < 120; i++) {
        size_t at[4] = {i / 60, i / 20 % 3, i / 5 % 4, i % 5}, kept = 0;
        for (int d = 0; d < 4; d++)
            kept = (mask >> d & 1) != 0 ? kept : kept * sizes[d] + at[d];
        if (kept != r)
            continue;
        if (k->sums)
            result += (double)in[i];
        else
            result = k->largest ? fmax(result, (double)in[i]) : fmin(result, (double)in[i]);
    }
    return result;
}

static void reductions(void **state)
{
    static const struct reduction kinds[] = {
        {"aten.sum.dim_IntList", true, false}, {"edge.aten.sum.dim_IntList", true, false},
        {"aten.amax.default", false, true},    {"edge.aten.amax.default", false, true},
        {"aten.amin.default", false, false},   {"edge.aten.amin.default", false, false}};
    uint32_t seed = 5;
    float in[120], out[120];

    (void)state;
    fill_floats(&seed, in, 120);
    for (size_t i = 0; i < COUNT(kinds) * 16; i++) {
        unsigned mask = i % 16;
        int64_t dims[4];
        uint32_t n = 0;
        for (int d = 0; d < 4; d++) {
            if ((mask >> d & 1) != 0)
                dims[n++] = d % 2 == 0 ? d : d - 4;
        }
        struct nuc_graph *g = graph_of("$x = input : float32[2, 3, 4, 5]; $y = %s($x, %s, %s)", kinds[i / 16].operator,
                                       list_of(dims, n), i % 3 == 0 ? "true" : "false");
        int64_t count = nuc_elements(evaluate(g, in, out));
        for (int64_t r = 0; r < count; r++)
            assert_true((double)out[r] == reduce_at(&kinds[i / 16], in, mask == 0 ? 15 : mask, (size_t)r));
        free_graph(g);
    }
}

static void sum_of_all(void **state)
{
    uint32_t seed = 6;
    float in[60], out[1];
    double expected = 0.0;
    struct nuc_graph *g = graph_of("$x = input : float32[3, 4, 5]; $y = aten.sum.default($x)");

    (void)state;
    fill_floats(&seed, in, 60);
    for (int i = 0; i < 60; i++)
        expected += (double)in[i];
    assert_int_equal(evaluate(g, in, out)->rank, 0);
    assert_true((double)out[0] == expected);
    free_graph(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_functions), ROW_TEST(check_floats, bounds), cmocka_unit_test(binary_functions),
        cmocka_unit_test(integers_wrap),   cmocka_unit_test(dtypes_meet),  cmocka_unit_test(prelu_slopes),
        cmocka_unit_test(gt_and_where),    cmocka_unit_test(reductions),   cmocka_unit_test(sum_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
