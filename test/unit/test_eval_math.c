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

static double unary(enum nuc_op op, double x)
{
    switch ((int)op) {
    case NUC_OP_ABS:
        return fabs(x);
    case NUC_OP_NEG:
        return -x;
    case NUC_OP_EXP:
        return exp(x);
    case NUC_OP_LOG:
        return log(x);
    case NUC_OP_SQRT:
        return sqrt(x);
    case NUC_OP_RSQRT:
        return 1.0 / sqrt(x);
    case NUC_OP_SIGMOID:
        return logistic(x);
    case NUC_OP_TANH:
        return tanh(x);
    case NUC_OP_HARDSWISH:
        return x * ramp(x) / 6.0;
    case NUC_OP_HARDSIGMOID:
        return ramp(x) / 6.0;
    case NUC_OP_SILU:
        return x * logistic(x);
    case NUC_OP_LEAKY_RELU:
        return x > 0.0 ? x : x * 0.25;
    case NUC_OP_RELU6:
        return fmin(fmax(x, 0.0), 6.0);
    case NUC_OP_GELU:
        return x * 0.5 * (1.0 + erf(x / sqrt(2.0)));
    case NUC_OP_COUNT: /* gelu with approximate="tanh" */
        return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    default:
        fail_msg("no loop for %s", nuc_op_name(op, NUC_ATEN));
        return 0.0;
    }
}

static bool wants_positive(enum nuc_op op)
{
    return op == NUC_OP_LOG || op == NUC_OP_SQRT || op == NUC_OP_RSQRT;
}

static struct nuc_node *random_input(struct nuc_graph *g, uint32_t *seed, int64_t sizes[4], uint32_t *rank)
{
    *rank = (uint32_t)next_int(seed, 1, 4);
    for (uint32_t d = 0; d < *rank; d++)
        sizes[d] = next_int(seed, 1, 4);
    return add_input(g, NUC_F32, sizes, *rank);
}

static void unary_functions(void **state)
{
    /* NUC_OP_COUNT: gelu with approximate="tanh" */
    static const enum nuc_op ops[] = {NUC_OP_ABS,       NUC_OP_NEG,         NUC_OP_EXP,     NUC_OP_LOG,
                                      NUC_OP_SQRT,      NUC_OP_RSQRT,       NUC_OP_SIGMOID, NUC_OP_TANH,
                                      NUC_OP_HARDSWISH, NUC_OP_HARDSIGMOID, NUC_OP_SILU,    NUC_OP_LEAKY_RELU,
                                      NUC_OP_RELU6,     NUC_OP_GELU,        NUC_OP_COUNT};
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < COUNT(ops); i++) {
        struct nuc_graph *g = new_graph();
        int64_t sizes[4];
        uint32_t rank;
        float in[MOST], out[MOST];
        enum nuc_op op = ops[i] == NUC_OP_COUNT ? NUC_OP_GELU : ops[i];
        struct nuc_node *node = add_node(g, op, random_input(g, &seed, sizes, &rank));
        if (ops[i] == NUC_OP_LEAKY_RELU)
            nuc_set_arg_float(node, 1, 0.25);
        if (ops[i] == NUC_OP_COUNT)
            nuc_set_arg_string(node, 1, "tanh");
        fill_floats(&seed, in, MOST);
        for (size_t k = 0; k < MOST; k++)
            in[k] = wants_positive(ops[i]) ? fabsf(in[k]) * 4.0f + 0.01f : in[k] * 4.0f;
        int64_t count = nuc_elements(run_node(g, node, in, out));
        for (int64_t k = 0; k < count; k++) {
            double want = unary(ops[i], (double)in[k]);
            if (!(fabs((double)out[k] - want) <= 4e-7 * fabs(want) + 1e-7))
                fail_msg("%s(%g) is %.9g instead of %.9g", nuc_op_name(op, NUC_ATEN), (double)in[k], (double)out[k],
                         want);
        }
        free_graph(g);
    }
}

/* A missing bound does not bound; where bounds cross, the upper one wins. */
static void clamp_bounds(void **state)
{
    const float in[5] = {-3.0f, -1.0f, 0.5f, 2.0f, NAN};
    static const struct {
        bool low, high;
        double min, max;
        float want[5];
    } cases[] = {
        {true, true, -1.5, 1.0, {-1.5f, -1.0f, 0.5f, 1.0f, NAN}},
        {true, false, 0.0, 0.0, {0.0f, 0.0f, 0.5f, 2.0f, NAN}},
        {false, true, 0.0, 0.25, {-3.0f, -1.0f, 0.25f, 0.25f, NAN}},
        {true, true, 2.0, 1.0, {1.0f, 1.0f, 1.0f, 1.0f, NAN}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nuc_graph *g = new_graph();
        struct nuc_node *node = add_node(g, i % 2 == 0 ? NUC_OP_CLAMP : NUC_OP_CLAMP, add_input(g, NUC_F32, SHAPE(5)));
        float out[5];
        if (cases[i].low)
            nuc_set_arg_float(node, 1, cases[i].min);
        if (cases[i].high)
            nuc_set_arg_float(node, 2, cases[i].max);
        run_node(g, node, in, out);
        assert_floats(out, cases[i].want, 5);
        free_graph(g);
    }
}

/* ---- two operands ---- */

static float binary(enum nuc_op op, float a, float b)
{
    switch ((int)op) {
    case NUC_OP_ADD:
        return fmaf(0.75f, b, a);
    case NUC_OP_SUB:
        return fmaf(-0.75f, b, a);
    case NUC_OP_MUL:
        return a * b;
    case NUC_OP_DIV:
        return a / b;
    case NUC_OP_MAXIMUM:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
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
    static const enum nuc_op ops[] = {NUC_OP_SUB, NUC_OP_MUL, NUC_OP_DIV, NUC_OP_MAXIMUM, NUC_OP_MINIMUM};
    const int64_t full[3] = {3, 4, 5};
    uint32_t seed = 2;

    (void)state;
    for (size_t i = 0; i < COUNT(ops) * 4; i++) {
        enum nuc_op op = ops[i / 4];
        struct nuc_graph *g = new_graph();
        int64_t sizes[3];
        float in[60], other[60], out[60];
        for (int d = 0; d < 3; d++)
            sizes[d] = next_int(&seed, 0, 2) == 0 ? 1 : full[d];
        fill_floats(&seed, in, 60);
        fill_floats(&seed, other, 60);
        struct nuc_node *x = add_input(g, NUC_F32, full, 3);
        struct nuc_node *c = add_constant(g, NUC_F32, sizes, 3, other);
        bool swapped = i % 2 == 1;
        struct nuc_node *node = add_node(g, op, swapped ? c : x);
        nuc_set_arg_node(node, g, 1, swapped ? x : c);
        if (op == NUC_OP_SUB)
            nuc_set_arg_float(node, 2, 0.75);
        run_node(g, node, in, out);
        for (size_t k = 0; k < 60; k++) {
            float b = other[source(sizes, k)], want = swapped ? binary(op, b, in[k]) : binary(op, in[k], b);
            assert_floats(&out[k], &want, 1);
        }
        free_graph(g);
    }
}

/* torch keeps a NaN of either side. */
static void extrema_keep_nan(void **state)
{
    const float a[3] = {NAN, 1.0f, 2.0f}, b[3] = {1.0f, NAN, 3.0f};

    (void)state;
    for (int larger = 0; larger < 2; larger++) {
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(3));
        struct nuc_node *c = add_constant(g, NUC_F32, SHAPE(3), b);
        struct nuc_node *node = add_node(g, larger ? NUC_OP_MAXIMUM : NUC_OP_MINIMUM, x);
        float out[3];
        nuc_set_arg_node(node, g, 1, c);
        run_node(g, node, a, out);
        assert_floats(out, (const float[]){NAN, NAN, larger ? 3.0f : 2.0f}, 3);
        free_graph(g);
    }
}

static void integers_wrap(void **state)
{
    const int32_t a[3] = {INT32_MAX, -5, 7}, b[3] = {1, 3, 7};
    static const struct {
        enum nuc_op op;
        int32_t want[3];
    } cases[] = {{NUC_OP_ADD, {INT32_MIN, -2, 14}},
                 {NUC_OP_SUB, {INT32_MAX - 1, -8, 0}},
                 {NUC_OP_MUL, {INT32_MAX, -15, 49}},
                 {NUC_OP_MAXIMUM, {INT32_MAX, 3, 7}},
                 {NUC_OP_MINIMUM, {1, -5, 7}}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_I32, SHAPE(3));
        struct nuc_node *c = add_constant(g, NUC_I32, SHAPE(3), b);
        struct nuc_node *node = add_node(g, cases[i].op, x);
        int32_t out[3];
        nuc_set_arg_node(node, g, 1, c);
        run_node(g, node, a, out);
        assert_memory_equal(out, cases[i].want, sizeof out);
        free_graph(g);
    }
}

/* Integers with a float32 operand, and quotients of integers, are computed in float32. */
static void dtypes_meet(void **state)
{
    const int32_t in[3] = {1, -2, 9};
    const float other[3] = {0.5f, 0.25f, 2.0f};

    (void)state;
    for (int quotient = 0; quotient < 2; quotient++) {
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_I32, SHAPE(3));
        struct nuc_node *c = add_constant(g, NUC_F32, SHAPE(3), other);
        struct nuc_node *node = add_node(g, quotient ? NUC_OP_DIV : NUC_OP_MUL, x);
        float out[3];
        nuc_set_arg_node(node, g, 1, c);
        run_node(g, node, in, out);
        for (int i = 0; i < 3; i++)
            assert_true(out[i] == (quotient ? (float)in[i] / other[i] : (float)in[i] * other[i]));
        free_graph(g);
    }
}

static void prelu_slopes(void **state)
{
    uint32_t seed = 3;

    (void)state;
    for (int i = 0; i < 20; i++) {
        struct nuc_graph *g = new_graph();
        int64_t sizes[4];
        uint32_t rank;
        float in[MOST], out[MOST], slopes[4];
        struct nuc_node *x = random_input(g, &seed, sizes, &rank);
        int64_t channels = rank >= 2 && i % 2 == 0 ? sizes[1] : 1, inner = 1;
        fill_floats(&seed, in, MOST);
        fill_floats(&seed, slopes, 4);
        struct nuc_node *w = add_constant(g, NUC_F32, SHAPE(channels), slopes);
        struct nuc_node *node = add_node(g, i % 4 < 2 ? NUC_OP_PRELU : NUC_OP_PRELU, x);
        nuc_set_arg_node(node, g, 1, w);
        int64_t count = nuc_elements(run_node(g, node, in, out));
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
    struct nuc_graph *g = new_graph();

    (void)state;
    fill_floats(&seed, in, 12);
    fill_floats(&seed, other, 4);
    in[5] = 0.125f;
    struct nuc_node *x = add_input(g, NUC_F32, SHAPE(3, 4));
    struct nuc_node *c = add_constant(g, NUC_F32, SHAPE(4), other);
    struct nuc_node *gt = add_node(g, NUC_OP_GT_SCALAR, x);
    nuc_set_arg_float(gt, 1, 0.125);
    nuc_infer_shape(g, gt);
    assert_int_equal(gt->vals[0].dtype, NUC_BOOL);
    struct nuc_node *where = add_node(g, NUC_OP_WHERE, gt);
    nuc_set_arg_node(where, g, 1, x);
    nuc_set_arg_node(where, g, 2, c);
    run_node(g, where, in, out);
    for (int i = 0; i < 12; i++)
        assert_true(out[i] == (in[i] > 0.125f ? in[i] : other[i % 4]));
    free_graph(g);
}

/* ---- reductions ---- */

struct reduction {
    enum nuc_op op;
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
    static const struct reduction kinds[] = {{NUC_OP_SUM_DIM, true, false}, {NUC_OP_SUM_DIM, true, false},
                                             {NUC_OP_AMAX, false, true},    {NUC_OP_AMAX, false, true},
                                             {NUC_OP_AMIN, false, false},   {NUC_OP_AMIN, false, false}};
    uint32_t seed = 5;
    float in[120], out[120];

    (void)state;
    fill_floats(&seed, in, 120);
    for (size_t i = 0; i < COUNT(kinds) * 16; i++) {
        const struct reduction *k = &kinds[i / 16];
        unsigned mask = i % 16;
        int64_t dims[4];
        uint32_t n = 0;
        struct nuc_graph *g = new_graph();
        struct nuc_node *node = add_node(g, k->op, add_input(g, NUC_F32, SHAPE(2, 3, 4, 5)));
        for (int d = 0; d < 4; d++) {
            if ((mask >> d & 1) != 0)
                dims[n++] = d % 2 == 0 ? d : d - 4;
        }
        set_ints(g, node, 1, dims, n);
        nuc_set_arg_bool(node, 2, i % 3 == 0);
        int64_t count = nuc_elements(run_node(g, node, in, out));
        for (int64_t r = 0; r < count; r++)
            assert_true((double)out[r] == reduce_at(k, in, mask == 0 ? 15 : mask, (size_t)r));
        free_graph(g);
    }
}

static void sum_of_all(void **state)
{
    uint32_t seed = 6;
    float in[60], out[1];
    double want = 0.0;
    struct nuc_graph *g = new_graph();
    struct nuc_node *node = add_node(g, NUC_OP_SUM, add_input(g, NUC_F32, SHAPE(3, 4, 5)));

    (void)state;
    fill_floats(&seed, in, 60);
    for (int i = 0; i < 60; i++)
        want += (double)in[i];
    assert_int_equal(run_node(g, node, in, out)->rank, 0);
    assert_true((double)out[0] == want);
    free_graph(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_functions),  cmocka_unit_test(clamp_bounds),  cmocka_unit_test(binary_functions),
        cmocka_unit_test(extrema_keep_nan), cmocka_unit_test(integers_wrap), cmocka_unit_test(dtypes_meet),
        cmocka_unit_test(prelu_slopes),     cmocka_unit_test(gt_and_where),  cmocka_unit_test(reductions),
        cmocka_unit_test(sum_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
