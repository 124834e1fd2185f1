/* Lowering for Cortex-M: which operators graphs become, tables, multipliers, scratch memory, dim orders. */
#include <math.h>

#include "cpu/cortexm.h"
#include "cpu/cortexm_private.h"
#include "quantized_text.h"

/* An int8 tensor %x with scale 1/16 and zero point -3, read as %dx; results have scale 1/8 and zero point 5. */
#define INPUT(shape) "%x = input : float32" shape " ! 0.0625, -3\n"
#define RESULT " ! 0.125, 5\n"
#define W(shape) "%w = parameter : int8" shape " values(0) ! 0.5, 0, -127, 127, int8\n"
#define PADDED(sides, fill)                                                                                            \
    "%x = input : float32[1, 4, 8, 8] channels-last ! 0.0625, -3\n"                                                    \
    "%p = edge.aten.constant_pad_nd.default(%dx, " sides ", " fill ") ! 0.0625, -3\n"
#define STRIDED(name, input, groups)                                                                                   \
    "%" name " = edge.aten.convolution.default(%" input ", %dw, none, [2, 2], [0, 0], [1, 1], false, [0, 0], " groups  \
    ")" RESULT
#define ALLOC "executorch.exir.memory.alloc "
#define SLICE "edge.nucleon.permute_view.default edge.aten.slice_copy.Tensor edge.nucleon.permute_view.default"
#define HALF "%half = constant : float32[] values(0.5)\n"

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

struct row {
    const char *what, *lines, *expected, *ops_only; /* ops_only NULL: the same */
};

static const struct row rows[] = {
    {"relu of other parameters", INPUT("[2, 3]") "%y = edge.aten.relu.default(%dx)" RESULT,
     "edge.cortex_m.quantized_activation.default", NULL},
    {"x * sigmoid(x)", INPUT("[2, 3]") "%t = edge.aten.sigmoid.default(%dx); %y = edge.aten.mul.Tensor(%dx, %t)" RESULT,
     "edge.cortex_m.quantized_activation.default", NULL},
    {"requantization",
     INPUT("[2, 3]") "%r = quantized_decomposed.quantize_per_tensor.default(%dx, 0.125, 5, -128, 127, int8)\n"
                     "%s = quantized_decomposed.dequantize_per_tensor.default(%r, 0.125, 5, -128, 127, int8)",
     "edge.cortex_m.quantized_activation.default", NULL},
    {"difference of one tensor and another",
     INPUT("[2, 3]") "%t = edge.aten.neg.default(%dx) ! 0.0625, 3\n%y = edge.aten.sub.Tensor(%dx, %dt)" RESULT,
     "edge.cortex_m.quantized_activation.default edge.cortex_m.quantized_add.default", NULL},
    {"choice between functions of one tensor",
     HALF INPUT("[2, 3]") "%g = edge.aten.gt.Tensor(%dx, %half); %n = edge.aten.neg.default(%dx)\n"
                          "%y = edge.aten.where.self(%g, %dx, %n)" RESULT,
     "edge.cortex_m.quantized_activation.default", NULL},
    {"choice by a constant that is true everywhere",
     HALF INPUT("[2, 3]") "%t = constant : bool[2, 3] values(1, 1, 1, 1, 1, 1); %n = edge.aten.neg.default(%dx)\n"
                          "%y = edge.aten.where.self(%t, %n, %half)" RESULT,
     "edge.cortex_m.quantized_activation.default", NULL},
    {"choice between two tensors by one",
     HALF INPUT("[2, 3]") "%t = edge.aten.neg.default(%dx) ! 0.125, 5\n%g = edge.aten.gt.Tensor(%dx, %half)\n"
                          "%y = edge.aten.where.self(%g, %dx, %dt)" RESULT,
     "edge.cortex_m.quantized_activation.default edge.nucleon.quantized_test.default "
     "edge.cortex_m.quantized_activation.default edge.aten.where.self",
     "edge.cortex_m.quantized_activation.default edge.aten.gt.Tensor "
     "edge.cortex_m.quantized_activation.default edge.aten.where.self"},
    {"choice by a comparison of two tensors",
     INPUT("[2, 3]") "%t = edge.aten.neg.default(%dx) ! 0.0625, 3\n%g = edge.aten.gt.Tensor(%dx, %dt)\n"
                     "%y = edge.aten.where.self(%g, %dx, %dt) ! 0.0625, 3",
     "edge.cortex_m.quantized_activation.default edge.nucleon.quantized_compare.default "
     "edge.cortex_m.quantized_activation.default edge.aten.where.self",
     "edge.cortex_m.quantized_activation.default edge.aten.gt.Tensor "
     "edge.cortex_m.quantized_activation.default edge.aten.where.self"},
    {"product with truths of another tensor",
     HALF INPUT("[2, 3]") "%t = edge.aten.neg.default(%dx) ! 0.125, 5\n%g = edge.aten.gt.Tensor(%dt, %half)\n"
                          "%y = edge.aten.mul.Tensor(%g, %dx)" RESULT,
     "edge.cortex_m.quantized_activation.default edge.nucleon.quantized_test.default "
     "edge.cortex_m.quantized_activation.default edge.aten.where.self",
     "edge.cortex_m.quantized_activation.default edge.aten.gt.Tensor "
     "edge.cortex_m.quantized_activation.default edge.aten.where.self"},
    {"truths as numbers",
     HALF INPUT("[2, 3]") "%g = edge.aten.gt.Tensor(%dx, %half)\n"
                          "%f = edge.dim_order_ops._to_dim_order_copy.default(%g, dtype=float32, dim_order=[0, 1])\n"
                          "%y = edge.aten.mul.Tensor(%f, %dx)" RESULT,
     "edge.cortex_m.quantized_activation.default", NULL},
    {"softmax over the channels of a channels-last image",
     INPUT("[1, 4, 3, 3] channels-last") "%y = edge.aten._softmax.default(%dx, 1, false) ! 0.00390625, -128",
     "edge.nucleon.permute_view.default edge.cortex_m.softmax.default edge.nucleon.permute_view.default "
     "edge.dim_order_ops._to_dim_order_copy.default",
     NULL},
    {"mean of pixels", INPUT("[1, 4, 3, 3]") "%y = edge.aten.mean.dim(%dx, [2, 3], true)" RESULT,
     "edge.nucleon.quantized_sum.default",
     "edge.dim_order_ops._to_dim_order_copy.default executorch.exir.memory.alloc "
     "edge.cortex_m.quantized_avg_pool2d.default edge.cortex_m.quantized_activation.default"},
    {"layer norm",
     INPUT("[2, 3]") "%n = edge.aten.native_layer_norm.default(%dx, [3], none, none, 1e-05)\n"
                     "%y = getitem(%n, 0)" RESULT,
     "edge.nucleon.quantized_layer_norm.default", "edge.aten.native_layer_norm.default getitem"},
    {"group norm of a channels-last image",
     INPUT(
         "[1, 4, 3, 3] channels-last") "%n = edge.aten.native_group_norm.default(%dx, none, none, 1, 4, 9, 2, 1e-05)\n"
                                       "%y = getitem(%n, 0)" RESULT,
     "edge.nucleon.quantized_group_norm.default edge.dim_order_ops._to_dim_order_copy.default",
     "edge.aten.native_group_norm.default getitem"},
    {"RMS norm", INPUT("[2, 3]") "%y = edge.aten.rms_norm.default(%dx, [3])" RESULT,
     "edge.nucleon.quantized_rms_norm.default", "edge.aten.rms_norm.default"},
    {"variance", INPUT("[2, 3]") "%y = edge.aten.var.correction(%dx, [1], keepdim=true)" RESULT,
     "edge.nucleon.quantized_var.default", "edge.aten.var.correction"},
    {"log_softmax", INPUT("[2, 3]") "%y = edge.aten._log_softmax.default(%dx, 0, false)" RESULT,
     "edge.nucleon.quantized_log_softmax.default", "edge.aten._log_softmax.default"},
    {"a linear layer with a scale for each output",
     "%w = buffer : int8[4, 3] values(1, -2, 3); %s = buffer : float32[4] values(0.5, 0.25, 0.125, 1)\n"
     "%z = buffer : int64[4] values(0, 0, 0, 0)\n"
     "%dw = quantized_decomposed.dequantize_per_channel.default(%w, %s, %z, 0, -127, 127, int8)\n" INPUT(
         "[2, 3]") "%p = edge.aten.permute_copy.default(%dw, [1, 0]); %y = edge.aten.mm.default(%dx, %p)" RESULT,
     "edge.aten.view_copy.default edge.nucleon.permute_view.default executorch.exir.memory.alloc "
     "edge.cortex_m.quantized_conv2d.default edge.nucleon.permute_view.default edge.aten.view_copy.default",
     NULL},
    {"no kernel", INPUT("[2, 3]") "%y = edge.aten.mean.dim(%dx, [1], true)" RESULT,
     "edge.nucleon.quantized_sum.default", "edge.aten.mean.dim"},
    {"view and permutation",
     INPUT("[2, 3]") "%v = edge.aten.view_copy.default(%dx, [3, 2])\n"
                     "%y = edge.aten.permute_copy.default(%v, [1, 0]) ! 0.0625, -3",
     "edge.aten.view_copy.default edge.cortex_m.transpose.default", NULL},
    {"padding of a contiguous image",
     INPUT("[1, 2, 3, 3]") "%y = edge.aten.constant_pad_nd.default(%dx, [1, 1, 0, 0], 0) ! 0.0625, -3",
     "edge.cortex_m.pad.default", NULL},
    {"padding with a value that only the result has",
     INPUT("[1, 2, 3, 3]") "%y = edge.aten.constant_pad_nd.default(%dx, [1, 1, 0, 0], 10)" RESULT,
     "edge.aten.constant_pad_nd.default", NULL},
    {"one-sided padding in front of a convolution",
     W("[4, 4, 3, 3]") PADDED("[0, 1, 0, 1]", "0") STRIDED("y", "dp", "1"),
     ALLOC "edge.nucleon.quantized_conv2d.default",
     "edge.cortex_m.pad.default " ALLOC "edge.cortex_m.quantized_conv2d.default"},
    {"one-sided padding in front of a depthwise convolution",
     W("[4, 1, 3, 3]") PADDED("[1, 2, 0, 1]", "0") STRIDED("y", "dp", "4"),
     ALLOC "edge.nucleon.quantized_depthwise_conv2d.default",
     "edge.cortex_m.pad.default " ALLOC "edge.cortex_m.quantized_depthwise_conv2d.default"},
    {"the last column is not read: the same windows as with symmetric padding",
     W("[4, 4, 3, 3]") PADDED("[1, 0, 1, 0]", "0") STRIDED("y", "dp", "1"),
     ALLOC "edge.cortex_m.quantized_conv2d.default", NULL},
    {"padding of an image of one channel: its lists are channels-last whatever its order says",
     W("[4, 1, 3, 3]") "%x = input : float32[1, 1, 8, 12] ! 0.0625, -3\n"
                       "%p = edge.aten.constant_pad_nd.default(%dx, [0, 4, 0, 1], 0) ! 0.0625, -3\n" STRIDED("y", "dp",
                                                                                                             "1"),
     ALLOC "edge.nucleon.quantized_depthwise_conv2d.default edge.dim_order_ops._to_dim_order_copy.default",
     "edge.cortex_m.pad.default " ALLOC
     "edge.cortex_m.quantized_depthwise_conv2d.default edge.dim_order_ops._to_dim_order_copy.default"},
    {"padding of another value", W("[4, 4, 3, 3]") PADDED("[0, 1, 0, 1]", "1") STRIDED("y", "dp", "1"),
     "edge.cortex_m.pad.default " ALLOC "edge.cortex_m.quantized_conv2d.default", NULL},
    {"padding of channels", W("[4, 5, 3, 3]") PADDED("[0, 1, 0, 1, 0, 1]", "0") STRIDED("y", "dp", "1"),
     "edge.cortex_m.pad.default " ALLOC "edge.cortex_m.quantized_conv2d.default", NULL},
    {"padding that another operator reads",
     W("[4, 4, 3, 3]") PADDED("[0, 1, 0, 1]", "0")
         STRIDED("c", "dp", "1") "%s = edge.aten.slice_copy.Tensor(%dp, 2, 0, 4) ! 0.0625, -3\n"
                                 "%t = edge.aten.slice_copy.Tensor(%ds, 3, 0, 4) ! 0.0625, -3\n"
                                 "%y = edge.aten.add.Tensor(%dc, %dt)" RESULT,
     "edge.cortex_m.pad.default " ALLOC "edge.cortex_m.quantized_conv2d.default " SLICE " " SLICE
     " edge.cortex_m.quantized_add.default",
     NULL},
    {"padding with a value that both have",
     INPUT("[1, 2, 3, 3]") "%y = edge.aten.constant_pad_nd.default(%dx, [1, 1, 0, 0], 5)" RESULT,
     "edge.cortex_m.pad.default edge.cortex_m.quantized_activation.default", NULL},
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

/* ---- tables ---- */

static void leaky_table(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        lowered(cx, INPUT("[2, 3]") "%y = edge.aten.leaky_relu.default(%dx, 0.25)" RESULT, "cortex-m33", false);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW_TEST(lower_row, rows),
        CONTEXT_TEST(leaky_table),
        cmocka_unit_test(multipliers),
        ROW_TEST(lower_scratch, scratch_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
