/*
 * Shape rules. Each case is one node in the text form and the value torch gives it: sizes by the formulas of the
 * operator's documentation, dim orders as Tensor.dim_order() names the strides of eager torch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/graph/shapes.h"

/* Inputs that the cases use. */
static const char inputs[] = "nucleon-graph 1\n"
                             "%x = input : float32[1, 3, 9, 8]\n"
                             "%xl = input : float32[1, 3, 9, 8] channels-last\n"
                             "%one = input : float32[1, 1, 9, 8]\n"
                             "%onel = input : float32[1, 1, 9, 8] channels-last\n"
                             "%point = input : float32[1, 3, 1, 1]\n"
                             "%pointl = input : float32[1, 3, 1, 1] channels-last\n"
                             "%chw = input : float32[3, 9, 8]\n"
                             "%row = input : float32[8]\n"
                             "%m = input : float32[4, 6]\n"
                             "%mt = input : float32[4, 6] dim-order(1, 0)\n"
                             "%n = input : float32[6, 5]\n"
                             "%scalar = input : float32[]\n"
                             "%i = input : int8[1, 3, 9, 8]\n"
                             "%i64 = input : int64[]\n"
                             "%w = input : float32[6, 3, 3, 2]\n"
                             "%wl = input : float32[6, 3, 3, 2] channels-last\n"
                             "%dw = input : float32[3, 1, 3, 3]\n"
                             "%wt = input : float32[3, 4, 3, 3]\n"
                             "%w1 = input : float32[4, 3, 3]\n"
                             "%x1 = input : float32[2, 3, 10]\n"
                             "%c3 = input : float32[3]\n"
                             "%c6 = input : float32[6]\n"
                             "%z3 = input : int64[3]\n"
                             "%fc = input : float32[5, 6]\n"
                             "%c5 = input : float32[5]\n"
                             "%big = input : float32[1, 1, 40000, 40000]\n"
                             "%empty = input : float32[0, 4]\n";

struct shape_case {
    const char *call;
    const char *value; /* as printed; for a refusal a part of the message */
};

struct inference {
    struct nuc_graph *g;
    struct nuc_node *node;
    const char *text;
};

static void parse(struct nuc_context *cx, void *arg)
{
    struct inference *r = arg;

    r->g = nuc_graph_parse(cx, "case", r->text);
    r->node = nuc_find_node(r->g, "y");
}

static void infer(struct nuc_context *cx, void *arg)
{
    struct inference *r = arg;

    (void)cx;
    nuc_infer_shape(r->g, r->node);
}

/* Parses the inputs and the call with a value that is certainly wrong, then applies the rule. */
static enum nuc_status run_rule(struct nuc_context *cx, const char *call, struct inference *r)
{
    r->text = nuc_format(cx, "%s%%y = %s : bool[7, 7, 7]\n%%output = output([%%x])\n", inputs, call);
    if (nuc_try(cx, parse, r) != NUC_OK)
        fail_msg("%s", cx->message);
    return nuc_try(cx, infer, r);
}

static void check_cases(const struct shape_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct inference r = {NULL, NULL, NULL};
        if (run_rule(cx, cases[i].call, &r) != NUC_OK)
            fail_msg("%s", cx->message);
        const char *text = nuc_meta_text(cx, &r.node->vals[0]);
        for (uint32_t k = 1; k < r.node->n_vals; k++)
            text = nuc_format(cx, "%s, %s", text, nuc_meta_text(cx, &r.node->vals[k]));
        if (strcmp(text, cases[i].value) != 0)
            fail_msg("%s: %s instead of %s", cases[i].call, text, cases[i].value);
        nuc_context_free(cx);
    }
}

#define CHECK(cases) check_cases(cases, sizeof(cases) / sizeof((cases)[0]))

static void convolution(void **state)
{
    static const struct shape_case cases[] = {
        {"aten.conv2d.default(%x, %w, %c6)", "float32[1, 6, 7, 7]"},
        {"aten.conv2d.default(%x, %w, none, [2, 3], [1, 0], [2, 1])", "float32[1, 6, 4, 3]"},
        {"aten.conv2d.default(%xl, %w)", "float32[1, 6, 7, 7] channels-last"},
        {"aten.conv2d.default(%x, %wl)", "float32[1, 6, 7, 7] channels-last"},
        {"aten.conv2d.default(%x, %dw, none, [1, 1], [1, 1], [1, 1], 3)", "float32[1, 3, 9, 8]"},
        {"aten.conv2d.default(%chw, %w)", "float32[6, 7, 7]"},
        {"aten.conv2d.default(%chw, %wl)", "float32[6, 7, 7] dim-order(1, 2, 0)"},
        {"edge.aten.convolution.default(%x, %w, %c6, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)", "float32[1, 6, 7, 7]"},
        {"edge.aten.convolution.default(%xl, %wt, none, [2, 2], [1, 1], [1, 1], true, [1, 0], 1)",
         "float32[1, 4, 18, 15] channels-last"},
        {"edge.aten.convolution.default(%x1, %w1, none, [2], [1], [1], false, [0], 1)", "float32[2, 4, 5]"},
    };

    (void)state;
    CHECK(cases);
}

static void normalization_and_pooling(void **state)
{
    static const struct shape_case cases[] = {
        {"aten.batch_norm.default(%xl, %c3, %c3, %c3, %c3, false, 0.1, 1e-05, false)",
         "float32[1, 3, 9, 8] channels-last"},
        {"edge.aten._native_batch_norm_legit_no_training.default(%x, none, none, %c3, %c3, 0.1, 1e-05)",
         "float32[1, 3, 9, 8], float32[0], float32[0]"},
        {"aten.max_pool2d.default(%x, [2, 2])", "float32[1, 3, 4, 4]"},
        {"aten.max_pool2d.default(%x, [2], [2], [1], [1], true)", "float32[1, 3, 5, 5]"},
        {"aten.max_pool2d.default(%x, [3, 3], [3, 3], [1, 1], [1, 1], true)", "float32[1, 3, 4, 3]"},
        {"aten.max_pool2d.default(%xl, [3, 2], [2, 1], [1, 0], [2, 3])", "float32[1, 3, 4, 5] channels-last"},
        {"aten.max_pool2d.default(%chw, [2, 2])", "float32[3, 4, 4]"},
        {"edge.aten.max_pool2d_with_indices.default(%xl, [2, 2])",
         "float32[1, 3, 4, 4] channels-last, int64[1, 3, 4, 4] channels-last"},
        {"aten.avg_pool2d.default(%xl, [9, 8])", "float32[1, 3, 1, 1] channels-last"},
        {"aten.avg_pool2d.default(%x, [9, 8])", "float32[1, 3, 1, 1]"},
        {"aten.avg_pool2d.default(%x, [2, 2], ceil_mode=true)", "float32[1, 3, 5, 4]"},
        {"aten.adaptive_avg_pool2d.default(%xl, [1, 1])", "float32[1, 3, 1, 1] channels-last"},
        {"edge.aten._adaptive_avg_pool2d.default(%x, [4, 2])", "float32[1, 3, 4, 2]"},
    };

    (void)state;
    CHECK(cases);
}

static void elementwise(void **state)
{
    static const struct shape_case cases[] = {
        {"aten.relu.default(%xl)", "float32[1, 3, 9, 8] channels-last"},
        {"aten.hardtanh_.default(%pointl)", "float32[1, 3, 1, 1] channels-last"},
        {"aten.dropout.default(%mt, 0.5, false)", "float32[4, 6] dim-order(1, 0)"},
        {"aten.add.Tensor(%x, %x)", "float32[1, 3, 9, 8]"},
        {"aten.add.Tensor(%xl, %xl)", "float32[1, 3, 9, 8] channels-last"},
        {"aten.add.Tensor(%xl, %row)", "float32[1, 3, 9, 8] channels-last"},
        {"aten.add.Tensor(%row, %xl)", "float32[1, 3, 9, 8] channels-last"},
        {"aten.add.Tensor(%scalar, %xl)", "float32[1, 3, 9, 8] channels-last"},
        {"aten.add.Tensor(%x, %point)", "float32[1, 3, 9, 8]"},
        {"aten.add.Tensor(%mt, %m)", "float32[4, 6] dim-order(1, 0)"},
        {"aten.add.Tensor(%m, %mt)", "float32[4, 6]"},
        {"aten.add.Tensor(%i, %scalar)", "float32[1, 3, 9, 8]"},
        {"aten.add.Tensor(%i, %i64)", "int8[1, 3, 9, 8]"},
    };

    (void)state;
    CHECK(cases);
}

static void reductions_and_products(void **state)
{
    static const struct shape_case cases[] = {
        {"aten.mean.dim(%xl, [-1, 2])", "float32[1, 3]"},
        {"aten.mean.dim(%xl, [2, 3], true)", "float32[1, 3, 1, 1]"},
        {"aten.mean.dim(%x, none)", "float32[]"},
        {"aten.mean.dim(%i, [1], dtype=float32)", "float32[1, 9, 8]"},
        {"aten.softmax.int(%mt, -1)", "float32[4, 6]"},
        {"edge.aten._softmax.default(%xl, 1, false)", "float32[1, 3, 9, 8]"},
        {"aten.linear.default(%m, %fc, %c5)", "float32[4, 5]"},
        {"aten.linear.default(%c6, %fc)", "float32[5]"},
        {"aten.addmm.default(%c5, %m, %n)", "float32[4, 5]"},
        {"edge.aten.mm.default(%mt, %n)", "float32[4, 5]"},
    };

    (void)state;
    CHECK(cases);
}

static void views_and_copies(void **state)
{
    static const struct shape_case cases[] = {
        {"aten.view.default(%x, [3, -1])", "float32[3, 72]"},
        {"aten.view.default(%xl, [1, 3, 72])", "float32[1, 3, 72] channels-last"},
        {"aten.view.default(%xl, [3, 72])", "float32[3, 72] dim-order(1, 0)"},
        {"aten.view.default(%scalar, [1, 1])", "float32[1, 1]"},
        {"aten.view.default(%empty, [-1, 2])", "float32[0, 2]"},
        {"aten.reshape.default(%xl, [3, 72])", "float32[3, 72] dim-order(1, 0)"},
        {"aten.reshape.default(%xl, [1, 72, 3])", "float32[1, 72, 3]"},
        {"aten.flatten.using_ints(%xl, 1)", "float32[1, 216]"},
        {"aten.flatten.using_ints(%xl, 2)", "float32[1, 3, 72] channels-last"},
        {"aten.flatten.using_ints(%x)", "float32[216]"},
        {"aten.flatten.using_ints(%scalar)", "float32[1]"},
        {"edge.aten.view_copy.default(%xl, [1, 3, 72])", "float32[1, 3, 72]"},
        {"edge.aten.permute_copy.default(%xl, [0, 2, 3, -3])", "float32[1, 9, 8, 3]"},
        {"aten.clone.default(%xl)", "float32[1, 3, 9, 8] channels-last"},
        {"aten.clone.default(%xl, memory_format=contiguous)", "float32[1, 3, 9, 8]"},
        {"aten.clone.default(%x, memory_format=channels-last)", "float32[1, 3, 9, 8] channels-last"},
        {"aten.contiguous.default(%xl)", "float32[1, 3, 9, 8]"},
        {"aten.contiguous.default(%onel)", "float32[1, 1, 9, 8] channels-last"},
        {"aten.to.dtype_layout(%xl, dtype=float16)", "float16[1, 3, 9, 8] channels-last"},
        {"edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 2, 3, 1])",
         "float32[1, 3, 9, 8] channels-last"},
        {"edge.dim_order_ops._to_dim_order_copy.default(%xl, dtype=int8, dim_order=[0, 1, 2, 3])", "int8[1, 3, 9, 8]"},
        {"aten.pad.default(%xl, [1, 2, 3, 4])", "float32[1, 3, 16, 11] channels-last"},
        {"aten.pad.default(%xl, [-1, -1])", "float32[1, 3, 9, 6] channels-last"},
        {"edge.aten.constant_pad_nd.default(%x, [0, 0, 0, 0, 1, 1])", "float32[1, 5, 9, 8]"},
    };

    (void)state;
    CHECK(cases);
}

static void quantization(void **state)
{
    static const struct shape_case cases[] = {
        {"quantized_decomposed.quantize_per_tensor.default(%xl, 0.5, 0, -128, 127, int8)",
         "int8[1, 3, 9, 8] channels-last"},
        {"quantized_decomposed.dequantize_per_tensor.default(%i, 0.5, 0, -128, 127, int8)", "float32[1, 3, 9, 8]"},
        {"quantized_decomposed.dequantize_per_tensor.default(%i, 0.5, 0, -128, 127, int8, out_dtype=float16)",
         "float16[1, 3, 9, 8]"},
        {"quantized_decomposed.quantize_per_channel.default(%x, %c3, %z3, 1, -128, 127, int16)", "int16[1, 3, 9, 8]"},
        {"quantized_decomposed.dequantize_per_channel.default(%i, %c3, none, -3, -128, 127, int8)",
         "float32[1, 3, 9, 8]"},
    };

    (void)state;
    CHECK(cases);
}

static void refuses_what_does_not_fit(void **state)
{
    static const struct shape_case cases[] = {
        {"aten.conv2d.default(%x, %dw)", "the input float32[1, 3, 9, 8] has 3 channels"},
        {"aten.conv2d.default(%x, %w, %c5)", "bias float32[5] does not have 6 elements"},
        {"aten.conv2d.default(%i, %w)", "the input is int8, the weight float32"},
        {"aten.conv2d.default(%x, %w, none, [0, 1])", "0 is below 1"},
        {"aten.conv2d.default(%x, %w, none, [1, 1], [0, 0], [5, 1])", "does not fit the padded input"},
        {"aten.conv2d.default(%x, %w, none, [1, 1, 1])", "a list of 3 numbers"},
        {"aten.conv2d.default(%x, %w, none, [1, 1], [2147483647, 2147483647])", "more than 2147483647 elements"},
        {"aten.conv2d.default(%x, %w, none, [1, 1], [9000000000, 0])", "does not fit 32 bits"},
        {"aten.conv2d.default(%x, %w, none, [1, 1], [0, 0], [1, 1], 0)", "groups is 0"},
        {"aten.max_pool2d.default(%x, [2, 2], [2, 2], [2, 2])", "no pooling window"},
        {"aten.max_pool2d.default(%x, [10, 2])", "does not fit the padded input of 9"},
        {"aten.max_pool2d.default(%m, [2, 2])", "rank 2"},
        {"aten.adaptive_avg_pool2d.default(%x, [0, 1])", "output_size is 0 x 1"},
        {"aten.batch_norm.default(%x, %c6, %c3, %c3, %c3, false, 0.1, 1e-05, false)", "float32[6] for 3 channels"},
        {"aten.add.Tensor(%m, %n)", "do not broadcast"},
        {"aten.add.Tensor(%big, %point)", "more than 2147483647 elements"},
        {"aten.mean.dim(%x, [4])", "dimension 4 does not exist in a tensor of rank 4"},
        {"aten.mean.dim(%x, [1, -3])", "dimension 1 is reduced twice"},
        {"aten.mean.dim(%i, [1])", "the mean of int8"},
        {"aten.linear.default(%m, %n)", "do not fit each other"},
        {"edge.aten.mm.default(%n, %m)", "cannot be multiplied"},
        {"aten.view.default(%xl, [216])", "cannot be viewed as float32[216] without a copy: use reshape"},
        {"aten.view.default(%x, [-1, -1])", "size -1 at position 1"},
        {"aten.view.default(%x, [5, -1])", "cannot have the sizes"},
        {"aten.view.default(%empty, [0, -1])", "cannot have the sizes"},
        {"edge.aten.permute_copy.default(%x, [0, 1, 2, 2])", "dimension 2 is named twice"},
        {"edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 1])", "dim_order has 2 entries"},
        {"aten.clone.default(%m, memory_format=channels-last)", "rank 2; it wants 4"},
        {"aten.pad.default(%x, [1])", "1 pad numbers"},
        {"aten.pad.default(%x, [-4, -4])", "leaves nothing of dimension 3"},
        {"quantized_decomposed.dequantize_per_tensor.default(%i, 0.5, 0, 0, 255, uint8)",
         "the input is int8, the operator states uint8"},
        {"quantized_decomposed.dequantize_per_channel.default(%i, %c6, none, 1, -128, 127, int8)",
         "float32[6] holds parameters for 3 channels"},
        {"getitem(%x, 0)", "'x' has no item 0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct inference r = {NULL, NULL, NULL};
        enum nuc_status status = run_rule(cx, cases[i].call, &r);
        if (status != NUC_BAD_INPUT || strstr(cx->message, cases[i].value) == NULL)
            fail_msg("%s: status %d, %s", cases[i].call, (int)status, cx->message);
        assert_non_null(strstr(cx->message, "case: node 'y'"));
        nuc_context_free(cx);
    }
}

/* Every operator has a rule: it fails for want of arguments, not for want of a rule. */
static void every_operator_has_a_rule(void **state)
{
    (void)state;
    for (unsigned op = 0; op < NUC_OP_COUNT; op++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct inference r = {nuc_graph_new(cx, "case"), NULL, NULL};
        r.node = nuc_add_node(r.g, NULL, (enum nuc_op)op, "y");
        if (nuc_try(cx, infer, &r) == NUC_INTERNAL)
            fail_msg("%s", cx->message);
        nuc_context_free(cx);
    }
}

/* Strides and what Tensor.dim_order() returns for them. */
static void dim_orders_of_strides(void **state)
{
    static const struct {
        uint32_t rank;
        int64_t sizes[4], strides[4];
        uint8_t order[4];
    } cases[] = {
        {4, {1, 3, 9, 8}, {216, 72, 8, 1}, {0, 1, 2, 3}},
        {4, {1, 3, 9, 8}, {216, 1, 24, 3}, {0, 2, 3, 1}},
        {4, {16, 1, 3, 3}, {9, 9, 3, 1}, {0, 1, 2, 3}},
        {4, {16, 1, 3, 3}, {9, 1, 3, 1}, {0, 2, 3, 1}},
        {4, {1, 64, 1, 1}, {64, 1, 64, 64}, {0, 2, 3, 1}},
        {4, {1, 64, 1, 1}, {64, 1, 1, 1}, {0, 1, 2, 3}},
        {4, {1, 1, 1, 1}, {1, 1, 1, 1}, {0, 1, 2, 3}},
        {3, {1, 3, 4}, {4, 4, 1}, {0, 1, 2}},
        {3, {1, 8, 16}, {128, 1, 8}, {0, 2, 1}},
        {2, {4, 6}, {1, 4}, {1, 0}},
        {2, {4, 6}, {0, 1}, {0, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t order[NUC_MAX_RANK];
        nuc_dim_order_of_strides(cases[i].sizes, cases[i].strides, cases[i].rank, order);
        assert_memory_equal(order, cases[i].order, cases[i].rank);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolution),
        cmocka_unit_test(normalization_and_pooling),
        cmocka_unit_test(elementwise),
        cmocka_unit_test(reductions_and_products),
        cmocka_unit_test(views_and_copies),
        cmocka_unit_test(quantization),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(every_operator_has_a_rule),
        cmocka_unit_test(dim_orders_of_strides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
