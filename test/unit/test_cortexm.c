/* Lowering for Cortex-M: which operators graphs become, tables, multipliers, scratch memory, dim orders. */
#include <math.h>

#include "cpu/cortexm.h"
#include "cpu/cortexm_site.h"
#include "quantized_text.h"
#include "text_cases.h"

/* Operators between the quantize node of the input and the dequantize node of the output, as "name name". */
static const char *middle(struct nuc_context *cx, const struct nuc_graph *g)
{
    const char *text = "";

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_is_call(n) && n->op != NUC_OP_CORTEXM_QUANTIZE && n->op != NUC_OP_CORTEXM_DEQUANTIZE)
            text = nuc_format(cx, "%s%s%s", text, *text == '\0' ? "" : " ", nuc_node_op_name(n));
    }
    return text;
}

static struct nuc_graph *lowered(struct nuc_context *cx, const char *lines, const char *target, bool ops_only)
{
    struct nuc_graph *g = parse_quantized(cx, lines);
    struct nuc_cortexm_options options = {.cpu = nuc_target_find(cx, target)->cpu, .executorch_ops_only = ops_only};

    nuc_cortexm_lower(g, &options);
    nuc_graph_verify(g, "lowering");
    return g;
}

static void check_operators(struct nuc_context *cx, struct text_line *line)
{
    for (int ops_only = 0; ops_only < 2; ops_only++) {
        if (*line->left != '\0' && strcmp(line->left, ops_only ? "executorch" : "nucleon") != 0)
            continue;
        const char *found = middle(cx, lowered(cx, line->graph, "cortex-m33", ops_only));
        if (strcmp(found, line->right) != 0)
            fail_msg("%s %s: %s", line->name, line->left, found);
    }
}

/* ---- tables ---- */

static void leaky_table(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = lowered(
        cx, "%x = input : float32[2, 3] ! 0.0625, -3; %y = edge.aten.leaky_relu.default(%dx, 0.25) ! 0.125, 5\n",
        "cortex-m33", false);
    const struct nuc_node *activation = node_of(g, "cortex_m_quantized_activation_default");
    const int8_t *table = nuc_const_contiguous(g, argument_of(activation, 1));

    for (int q = -128; q < 128; q++) {
        double x = (q + 3) / 16.0, y = (x > 0 ? x : x / 4) * 8 + 5;
        double expected = y < 0 ? -floor(-y + 0.5) : floor(y + 0.5);
        expected = expected < -128 ? -128 : expected > 127 ? 127 : expected;
        assert_int_equal(table[q + 128], (int)expected);
    }
}

/* ---- numbers ---- */

static void multipliers(void **state)
{
    static const struct {
        double scale;
        int32_t multiplier, shift;
    } cases[] = {
        {0, 0, 0},
        {0.5, 1 << 30, 0},
        {1, 1 << 30, 1},
        {0.75, 1610612736, 0},
        {1 - 0x1p-40, 1 << 30, 1},
        {0x1p-33, 0, 0},
        {0x1p-32, 1 << 30, -31},
        /* Half a step above an even and above an odd mantissa: to the even one. */
        {0.5 + 0x1p-32, 1 << 30, 0},
        {0.5 + 3 * 0x1p-32, (1 << 30) + 2, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nuc_multiplier m = nuc_cm_multiplier(cases[i].scale);
        assert_int_equal(m.multiplier, cases[i].multiplier);
        assert_int_equal(m.shift, cases[i].shift);
    }
}

/* A bias of int32 has 64 bits where sums with it may have more than 32. */
static void wide_bias(struct nuc_context *cx, void *arg)
{
    static const struct {
        const char *bias;
        enum nuc_dtype dtype;
    } cases[] = {{"1073741823, -1073741823", NUC_I32}, {"1073741824, 0", NUC_I64}, {"0, -1073741824", NUC_I64}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text =
            nuc_format(cx,
                       "%%w = buffer : int8[2, 3, 1, 1] values(1, -2, 3); %%b = buffer : int32[2] values(%s)\n"
                       "%%dw = quantized_decomposed.dequantize_per_tensor.default(%%w, 0.25, 0, -127, 127, int8)\n"
                       "%%db = quantized_decomposed.dequantize_per_tensor.default(%%b, 0.00025, 0, -2147483648, "
                       "2147483647, int32)\n"
                       "%%x = input : float32[1, 3, 4, 4] channels-last ! 0.001, 0, -32768, 32767, int16\n"
                       "%%y = edge.aten.convolution.default(%%dx, %%dw, %%db, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)"
                       " ! 0.001, 0, -32768, 32767, int16\n",
                       cases[i].bias);
        struct nuc_graph *g = lowered(cx, text, "cortex-m33", false);
        const struct nuc_node *conv = node_of(g, "nucleon_quantized_conv2d_default");
        assert_int_equal(argument_of(conv, NUC_ARG(NUCLEON_CONV2D, bias))->vals[0].dtype, cases[i].dtype);
    }
}

/* ---- scratch memory: the formulas of CMSIS-NN, worked out by hand ---- */

struct scratch_case {
    const char *input, *weight, *window; /* stride, padding, dilation */
    int64_t groups;
    size_t bytes[NUC_ISA_COUNT];
};

static const struct scratch_case scratch_cases[] = {
    /* 5 * 5 * 3 = 75 taps: 76 * 4; 80 * 4 */
    {"[1, 3, 8, 8]", "[4, 3, 5, 5]", "[1, 1], [2, 2], [1, 1]", 1, {304, 304, 320}},
    {"[1, 8, 8, 8]", "[4, 8, 1, 1]", "[1, 1], [0, 0], [1, 1]", 1, {0, 0, 0}},
    /* depthwise 3 x 3 with padding 1: 3 rows of a channel, to write over the input; MVE: 4 * 124 * 9 */
    {"[1, 8, 8, 8]", "[8, 1, 3, 3]", "[1, 1], [1, 1], [1, 1]", 8, {24, 24, 4464}},
    /* 7 channels are not written over the input: nothing but for MVE */
    {"[1, 7, 8, 8]", "[7, 1, 3, 3]", "[1, 1], [1, 1], [1, 1]", 7, {0, 0, 4464}},
    /* 5 x 5: 5 rows; 2 * 8 channels * 25; 4 * 124 * 25 */
    {"[1, 8, 8, 8]", "[8, 1, 5, 5]", "[1, 1], [2, 2], [1, 1]", 8, {40, 400, 12400}},
    /* wide: 4 * (4 channels * 2 pairs of rows * 202 columns + weights 2 * (2 * 3 * 4 + 4 + 12)) */
    {"[1, 8, 8, 200]", "[8, 1, 3, 3]", "[1, 1], [1, 1], [1, 1]", 8, {6784, 6784, 6784}},
    /* dilated: the same for every other row and column */
    {"[1, 8, 8, 400]", "[8, 1, 3, 3]", "[1, 1], [2, 2], [2, 2]", 8, {6784, 6784, 6784}},
    /* a row: 3 * 4 + 1 * 4 before, 2 * 4 + 4 after it; 4 * roundup(12, 4) elsewhere */
    {"[1, 4, 1, 8]", "[8, 4, 1, 3]", "[1, 1], [0, 1], [1, 1]", 1, {48, 48, 16}},
    /* one input channel: 64 * ceil(9 / 16) + 16 * 9 */
    {"[1, 1, 8, 8]", "[16, 1, 3, 3]", "[1, 1], [1, 1], [1, 1]", 1, {0, 0, 208}},
};

static void lower_scratch(struct nuc_context *cx, void *arg)
{
    static const char *const targets[NUC_ISA_COUNT] = {
        [NUC_ISA_SCALAR] = "cortex-m0plus", [NUC_ISA_DSP] = "cortex-m33", [NUC_ISA_MVE] = "cortex-m55"};
    const struct scratch_case *s = arg;

    for (int isa = 0; isa < NUC_ISA_COUNT; isa++) {
        const char *net =
            nuc_format(cx,
                       "%%w = parameter : int8%s values(0) ! 0.5, 0, -127, 127, int8\n"
                       "%%x = input : float32%s channels-last ! 0.0625\n"
                       "%%y = edge.aten.convolution.default(%%dx, %%dw, none, %s, false, [0, 0], %d) ! 0.125, 5\n",
                       s->weight, s->input, s->window, (int)s->groups);
        struct nuc_graph *g = lowered(cx, net, targets[isa], false);
        const struct nuc_node *alloc = node_of(g, "executorch_exir_memory_alloc");
        if (alloc->args[0].u.ints[0] != (int64_t)s->bytes[isa])
            fail_msg("%s by %s on %s: %lld bytes", s->input, s->weight, targets[isa],
                     (long long)alloc->args[0].u.ints[0]);
    }
}

RUN_TESTS(LINE_TEST("cases/cortexm.txt", check_operators, NULL), CONTEXT_TEST(leaky_table),
          cmocka_unit_test(multipliers), CONTEXT_TEST(wide_bias), ROW_TEST(lower_scratch, scratch_cases))
