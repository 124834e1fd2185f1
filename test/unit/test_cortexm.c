/* Lowering for Cortex-M: which operators graphs become, tables, multipliers, scratch memory, dim orders. */
#include <math.h>

#include "compiler/cortexm/cortexm.h"
#include "compiler/cortexm/cortexm_private.h"
#include "graph_texts.h"

#define Q(name, of, params, shape)                                                                                     \
    "%" name " = quantized_decomposed.quantize_per_tensor.default(%" of ", " params ", -128, 127, int8) : int8" shape  \
    "\n"
#define D(name, of, params, shape)                                                                                     \
    "%" name " = quantized_decomposed.dequantize_per_tensor.default(%" of ", " params                                  \
    ", -128, 127, int8) : float32" shape "\n"

/* An int8 tensor %x with scale 1/16 and zero point -3, as %a. */
#define INPUT(shape) "%x = input : float32" shape "\n" Q("q", "x", "0.0625, -3", shape) D("a", "q", "0.0625, -3", shape)
/* %y quantized with scale 1/8 and zero point 5, and the output. */
#define OUTPUT(shape) Q("r", "y", "0.125, 5", shape) D("s", "r", "0.125, 5", shape) "%output = output([%s])\n"

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
    struct nuc_graph *g = parse_graph(cx, lines);
    struct nuc_cortexm_options options = {.cpu = nuc_target_find(cx, target)->cpu, .executorch_ops_only = ops_only};

    nuc_cortexm_lower(g, &options);
    nuc_graph_verify(g, "lowering");
    return g;
}

struct row {
    const char *what, *lines, *expected, *ops_only; /* ops_only NULL: the same */
};

static const struct row rows[] = {
    {"relu of other parameters", INPUT("[2, 3]") "%y = edge.aten.relu.default(%a) : float32[2, 3]\n" OUTPUT("[2, 3]"),
     "edge.cortex_m.quantized_activation.default", NULL},
    {"x * sigmoid(x)",
     INPUT("[2, 3]") "%t = edge.aten.sigmoid.default(%a) : float32[2, 3]\n"
                     "%y = edge.aten.mul.Tensor(%a, %t) : float32[2, 3]\n" OUTPUT("[2, 3]"),
     "edge.cortex_m.quantized_activation.default", NULL},
    {"requantization",
     INPUT("[2, 3]") Q("r", "a", "0.125, 5", "[2, 3]") D("s", "r", "0.125, 5", "[2, 3]") "%output = output([%s])\n",
     "edge.cortex_m.quantized_activation.default", NULL},
    {"difference of one tensor and another",
     INPUT("[2, 3]") "%t = edge.aten.neg.default(%a) : float32[2, 3]\n" Q("tq", "t", "0.0625, 3", "[2, 3]")
         D("td", "tq", "0.0625, 3", "[2, 3]") "%y = edge.aten.sub.Tensor(%a, %td) : float32[2, 3]\n" OUTPUT("[2, 3]"),
     "edge.cortex_m.quantized_activation.default edge.cortex_m.quantized_add.default", NULL},
    {"softmax over the channels of a channels-last image",
     "%x = input : float32[1, 4, 3, 3] channels-last\n"
     "%q = quantized_decomposed.quantize_per_tensor.default(%x, 0.0625, -3, -128, 127, int8) : int8[1, 4, 3, 3] "
     "channels-last\n"
     "%a = quantized_decomposed.dequantize_per_tensor.default(%q, 0.0625, -3, -128, 127, int8) : float32[1, 4, 3, 3] "
     "channels-last\n"
     "%y = edge.aten._softmax.default(%a, 1, false) : float32[1, 4, 3, 3]\n" Q("r", "y", "0.00390625, -128",
                                                                               "[1, 4, 3, 3]")
         D("s", "r", "0.00390625, -128", "[1, 4, 3, 3]") "%output = output([%s])\n",
     "edge.nucleon.permute_view.default edge.cortex_m.softmax.default edge.nucleon.permute_view.default "
     "edge.dim_order_ops._to_dim_order_copy.default",
     NULL},
    {"mean of pixels",
     INPUT("[1, 4, 3, 3]") "%y = edge.aten.mean.dim(%a, [2, 3], true) : float32[1, 4, 1, 1]\n" OUTPUT("[1, 4, 1, 1]"),
     "edge.nucleon.quantized_sum.default",
     "edge.dim_order_ops._to_dim_order_copy.default executorch.exir.memory.alloc "
     "edge.cortex_m.quantized_avg_pool2d.default edge.cortex_m.quantized_activation.default"},
    {"no kernel", INPUT("[2, 3]") "%y = edge.aten.mean.dim(%a, [1], true) : float32[2, 1]\n" OUTPUT("[2, 1]"),
     "edge.nucleon.quantized_sum.default", "edge.aten.mean.dim"},
    {"view and permutation",
     INPUT("[2, 3]") "%v = edge.aten.view_copy.default(%a, [3, 2]) : float32[3, 2]\n"
                     "%y = edge.aten.permute_copy.default(%v, [1, 0]) : float32[2, 3]\n" Q("r", "y", "0.0625, -3",
                                                                                           "[2, 3]")
                         D("s", "r", "0.0625, -3", "[2, 3]") "%output = output([%s])\n",
     "edge.aten.view_copy.default edge.cortex_m.transpose.default", NULL},
    {"padding of a contiguous image",
     INPUT("[1, 2, 3, 3]") "%y = edge.aten.constant_pad_nd.default(%a, [1, 1, 0, 0], 0) : float32[1, 2, 3, 5]\n" Q(
         "r", "y", "0.0625, -3", "[1, 2, 3, 5]") D("s", "r", "0.0625, -3", "[1, 2, 3, 5]") "%output = output([%s])\n",
     "edge.cortex_m.pad.default", NULL},
};

static void lower_row(struct nuc_context *cx, void *arg)
{
    const struct row *row = arg;

    for (int ops_only = 0; ops_only < 2; ops_only++) {
        const struct nuc_graph *g = lowered(cx, row->lines, "cortex-m33", ops_only);
        const char *expected = ops_only && row->ops_only != NULL ? row->ops_only : row->expected;
        const char *found = middle(cx, g);
        if (strcmp(found, expected) != 0)
            fail_msg("%s: %s", row->what, found);
    }
}

static void operators(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run_in_context(lower_row, (void *)(uintptr_t)&rows[i]);
}

/* ---- tables ---- */

static void leaky_table(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        lowered(cx, INPUT("[2, 3]") "%y = edge.aten.leaky_relu.default(%a, 0.25) : float32[2, 3]\n" OUTPUT("[2, 3]"),
                "cortex-m33", false);
    const struct nuc_node *activation = node_of(g, "cortex_m_quantized_activation_default");
    const int8_t *table = nuc_const_contiguous(g, argument_of(activation, 1));

    (void)arg;
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

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nuc_multiplier m = nuc_cm_multiplier(cases[i].scale);
        assert_int_equal(m.multiplier, cases[i].multiplier);
        assert_int_equal(m.shift, cases[i].shift);
    }
}

/* ---- scratch memory: the formulas of CMSIS-NN, worked out by hand ---- */

struct scratch_case {
    const char *input, *weight, *window; /* stride, padding, dilation */
    int64_t groups, out_channels;
    size_t bytes[NUC_ISA_COUNT];
};

static const struct scratch_case scratch_cases[] = {
    /* 5 * 5 * 3 = 75 taps: 76 * 4; 80 * 4 */
    {"[1, 3, 8, 8]", "[4, 3, 5, 5]", "[1, 1], [2, 2], [1, 1]", 1, 4, {304, 304, 320}},
    {"[1, 8, 8, 8]", "[4, 8, 1, 1]", "[1, 1], [0, 0], [1, 1]", 1, 4, {0, 0, 0}},
    /* depthwise 3 x 3 with padding 1 is free of scratch memory but for MVE: 4 * 124 * 9 */
    {"[1, 8, 8, 8]", "[8, 1, 3, 3]", "[1, 1], [1, 1], [1, 1]", 8, 8, {0, 0, 4464}},
    /* 5 x 5: 2 * 8 channels * 25; 4 * 124 * 25 */
    {"[1, 8, 8, 8]", "[8, 1, 5, 5]", "[1, 1], [2, 2], [1, 1]", 8, 8, {0, 400, 12400}},
    /* a row: 3 * 4 + 1 * 4 before, 2 * 4 + 4 after it; 4 * roundup(12, 4) elsewhere */
    {"[1, 4, 1, 8]", "[8, 4, 1, 3]", "[1, 1], [0, 1], [1, 1]", 1, 8, {48, 48, 16}},
    /* one input channel: 64 * ceil(9 / 16) + 16 * 9 */
    {"[1, 1, 8, 8]", "[16, 1, 3, 3]", "[1, 1], [1, 1], [1, 1]", 1, 16, {0, 0, 208}},
};

static const char *conv_text(struct nuc_context *cx, const struct scratch_case *s)
{
    int64_t n = 1, h, w, kernel_h, kernel_w, channels;
    long long sizes[4], kernel[4], pad[2];
    const char *out;

    sscanf(s->input, "[%lld, %lld, %lld, %lld]", &sizes[0], &sizes[1], &sizes[2], &sizes[3]);
    sscanf(s->weight, "[%lld, %lld, %lld, %lld]", &kernel[0], &kernel[1], &kernel[2], &kernel[3]);
    sscanf(s->window, "[1, 1], [%lld, %lld]", &pad[0], &pad[1]);
    kernel_h = kernel[2], kernel_w = kernel[3], channels = s->out_channels;
    h = sizes[2] + 2 * pad[0] - kernel_h + 1, w = sizes[3] + 2 * pad[1] - kernel_w + 1;
    out = nuc_format(cx, "[%lld, %lld, %lld, %lld]", (long long)n, (long long)channels, (long long)h, (long long)w);
    return nuc_format(
        cx,
        "%%w = parameter \"w\" : int8%s\n%%x = input : float32%s channels-last\n"
        "%%q = quantized_decomposed.quantize_per_tensor.default(%%x, 0.0625, 0, -128, 127, int8) : int8%s "
        "channels-last\n"
        "%%a = quantized_decomposed.dequantize_per_tensor.default(%%q, 0.0625, 0, -128, 127, int8) : float32%s "
        "channels-last\n"
        "%%b = quantized_decomposed.dequantize_per_tensor.default(%%w, 0.5, 0, -127, 127, int8) : float32%s\n"
        "%%y = edge.aten.convolution.default(%%a, %%b, none, %s, false, [0, 0], %lld) : float32%s channels-last\n"
        "%%r = quantized_decomposed.quantize_per_tensor.default(%%y, 0.125, 5, -128, 127, int8) : int8%s "
        "channels-last\n"
        "%%s = quantized_decomposed.dequantize_per_tensor.default(%%r, 0.125, 5, -128, 127, int8) : float32%s "
        "channels-last\n%%output = output([%%s])\n",
        s->weight, s->input, s->input, s->input, s->weight, s->window, (long long)s->groups, out, out, out);
}

/* The text has no bytes for the weight. */
static void give_zeros(struct nuc_graph *g, const char *name)
{
    struct nuc_node *node = node_of(g, name);
    struct nuc_data *data = nuc_alloc(g->cx, sizeof *data);

    data->bytes = (struct nuc_span){nuc_alloc(g->cx, nuc_bytes(&node->vals[0])), nuc_bytes(&node->vals[0])};
    nuc_dense_strides(&node->vals[0], data->strides);
    node->data = data;
}

static void lower_scratch(struct nuc_context *cx, void *arg)
{
    static const char *const targets[NUC_ISA_COUNT] = {
        [NUC_ISA_SCALAR] = "cortex-m0plus", [NUC_ISA_DSP] = "cortex-m33", [NUC_ISA_MVE] = "cortex-m55"};
    const struct scratch_case *s = arg;

    for (int isa = 0; isa < NUC_ISA_COUNT; isa++) {
        struct nuc_cortexm_options options = {.cpu = nuc_target_find(cx, targets[isa])->cpu};
        struct nuc_graph *g = nuc_graph_parse(cx, "test", nuc_format(cx, "nucleon-graph 1\n%s", conv_text(cx, s)));
        give_zeros(g, "w");
        nuc_cortexm_lower(g, &options);
        nuc_graph_verify(g, "lowering");
        const struct nuc_node *alloc = node_of(g, "executorch_exir_memory_alloc");
        if (alloc->args[0].u.ints[0] != (int64_t)s->bytes[isa])
            fail_msg("%s by %s on %s: %lld bytes", s->input, s->weight, targets[isa],
                     (long long)alloc->args[0].u.ints[0]);
    }
}

static void scratch_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scratch_cases / sizeof scratch_cases[0]; i++)
        run_in_context(lower_scratch, (void *)(uintptr_t)&scratch_cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators),
        CONTEXT_TEST(leaky_table),
        cmocka_unit_test(multipliers),
        cmocka_unit_test(scratch_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
