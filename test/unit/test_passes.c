/* Passes beyond what test_rewrites.c compares: folded arithmetic, refusals, quantized boundaries, preserved operators.
 */
#include "quantized_text.h"

#include <math.h>

#include "rewrite/passes.h"

static void run_aten_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_aten_passes, NUC_PASSES_DEFAULT, NULL);
    nuc_graph_verify(g, "aten");
}

/* What the program returns. */
static struct nuc_node *result_of(struct nuc_graph *g)
{
    return nuc_output_node(g)->args[0].u.nodes[0];
}

/* ---- batch norms ---- */

#define VECTORS                                                                                                        \
    "%g = parameter : float32[2] values(1.5, -0.25); %o = parameter : float32[2] values(0.5, 3)\n"                     \
    "%m = parameter : float32[2] values(0.125, -2); %v = parameter : float32[2] values(0.75, 4)\n"                     \
    "%b = parameter : float32[2] values(1, -1)\n"
#define NORMED(layer)                                                                                                  \
    VECTORS "%layer = aten." layer "; %norm = aten.batch_norm.default(%layer, %g, %o, %m, %v, false, 0.1, 0.001, "     \
            "false)\n"

static const double gammas[2] = {1.5, -0.25}, betas[2] = {0.5, 3.0}, means[2] = {0.125, -2.0},
                    variances[2] = {0.75, 4.0}, biases[2] = {1.0, -1.0};

struct folding {
    const char *graph;
    bool bias;
    size_t row;        /* weights of an output channel */
    float logical[16]; /* the weights in logical order */
};

#define EIGHTS                                                                                                         \
    {                                                                                                                  \
        1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8                                                         \
    }

static const struct folding foldings[] = {
    {"%x = input : float32[1, 2, 4, 4]; %w = parameter : float32[2, 2, 2, 2] values(1, 2, 3, 4, 5, 6, 7, 8, -1, -2, "
     "-3, -4, -5, -6, -7, -8)\n" NORMED("conv2d.default(%x, %w)"),
     false, 8, EIGHTS},
    {"%x = input : float32[1, 2, 4, 4]; %w = parameter : float32[2, 2, 2, 2] channels-last values(1, 5, 2, 6, 3, 7, 4, "
     "8, -1, -5, -2, -6, -3, -7, -4, -8)\n" NORMED("conv2d.default(%x, %w, %b)"),
     true, 8, EIGHTS},
    {"%x = input : float32[5, 3]; %w = parameter : float32[2, 3] values(1, 2, 3, -4, -5, -6)\n" NORMED(
         "linear.default(%x, %w, %b)"),
     true,
     3,
     {1, 2, 3, -4, -5, -6}},
};

/* Weights and bias are scaled by gamma / sqrt(variance + epsilon). */
static void check_folding(struct nuc_context *cx, void *arg)
{
    const struct folding *f = arg;
    struct nuc_graph *g = parse_quantized(cx, f->graph);
    struct nuc_node *layer = node_of(g, "layer");
    bool last = nuc_is_channels_last(&node_of(g, "w")->vals[0]);

    run_aten_passes(g);
    assert_ptr_equal(result_of(g), layer);
    const struct nuc_node *w = argument_of(layer, 1);
    const float *folded = nuc_const_contiguous(g, w), *offset = nuc_const_contiguous(g, argument_of(layer, 2));
    assert_int_equal(w->input_kind, NUC_PARAMETER);
    assert_int_equal(nuc_is_channels_last(&w->vals[0]), last);
    for (size_t c = 0; c < 2; c++) {
        double scale = gammas[c] / sqrt(variances[c] + 1e-3);
        for (size_t i = 0; i < f->row; i++)
            assert_true(fabs((double)folded[c * f->row + i] - (double)f->logical[c * f->row + i] * scale) < 1e-6);
        double expected = ((f->bias ? biases[c] : 0.0) - means[c]) * scale + betas[c];
        assert_true(fabs((double)offset[c] - expected) < 1e-6);
    }
}

/* A convolution with a second reader keeps its values, so the batch norm is a convolution of its own. */
static void shared_conv_is_not_folded(struct nuc_context *cx, void *arg)
{
    const float weight[4] = {1, 2, 3, 4};
    struct nuc_graph *g = parse_quantized(
        cx, "%x = input : float32[1, 2, 4, 4]; %w = parameter : float32[2, 2, 1, 1] values(1, 2, 3, 4)\n" NORMED(
                "conv2d.default(%x, %w, %b)") "%output = output([%norm, %layer])\n");
    struct nuc_node *layer = node_of(g, "layer");

    run_aten_passes(g);
    assert_int_equal(result_of(g)->op, NUC_OP_CONV2D);
    assert_ptr_equal(argument_of(result_of(g), 0), layer);
    assert_memory_equal(nuc_const_contiguous(g, argument_of(layer, 1)), weight, sizeof weight);
}

/* ---- linear + add, constants ---- */

struct biased {
    const char *graph;
    float expected[2]; /* of the fused bias */
};

#define LINEAR_ADD(bias, alpha)                                                                                        \
    "%x = input : float32[5, 3]; %w = parameter : float32[2, 3] values(1, 2, 3, 4, 5, 6)\n" VECTORS                    \
    "%linear = aten.linear.default(%x, %w, " bias "); %add = aten.add.Tensor(%linear, %o, alpha=" alpha ")\n"

static const struct biased biased_rows[] = {
    {LINEAR_ADD("none", "1.0"), {0.5f, 3.0f}},
    {LINEAR_ADD("none", "2.0"), {1.0f, 6.0f}},
    {LINEAR_ADD("%b", "2.0"), {2.0f, 5.0f}},
};

static void check_linear_add(struct nuc_context *cx, void *arg)
{
    const struct biased *row = arg;
    struct nuc_graph *g = parse_quantized(cx, row->graph);
    struct nuc_node *linear = node_of(g, "linear");

    run_aten_passes(g);
    assert_ptr_equal(result_of(g), linear);
    assert_memory_equal(nuc_const_contiguous(g, argument_of(linear, 2)), row->expected, sizeof row->expected);
}

static void check_constant(struct nuc_context *cx, void *arg)
{
    const float expected[2] = {0.125f, 0.0f};
    struct nuc_graph *g =
        parse_quantized(cx, "%m = parameter : float32[2] values(0.125, -2); %relu = aten.relu.default(%m)\n");

    run_aten_passes(g);
    assert_true(nuc_is_static(result_of(g)));
    assert_memory_equal(nuc_const_contiguous(g, result_of(g)), expected, sizeof expected);
    assert_int_equal(g->n_nodes, 2);
}

/* ---- quantized boundaries ---- */

static void quantized_boundaries(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        parse_quantized(cx, "%x = input : float32[2, 3] ! 0.5, 3; %y = input : float32[2, 3]\n"
                            "%c = edge.aten.add.Tensor(%dx, %y) ! 0.5, 3; %output = output([%dc, %c])\n");
    struct nuc_io_quantizations io;

    nuc_remove_io_quantization(g, true, &io);
    nuc_graph_verify(g, "boundaries");
    assert_int_equal(io.n_inputs, 2);
    assert_true(io.inputs[0] != NULL && io.inputs[0]->dtype == NUC_I8 && io.inputs[0]->zero_point == 3);
    assert_null(io.inputs[1]);
    assert_int_equal(io.n_outputs, 2);
    assert_true(io.outputs[0] != NULL && io.outputs[0]->quant_min == -128 && io.outputs[0]->quant_max == 127);
    assert_null(io.outputs[1]);
    assert_graph(g, "%x = input : int8[2, 3]\n"
                    "%y = input : float32[2, 3]\n"
                    "%quantized_decomposed_dequantize_per_tensor_default = "
                    "quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8)\n"
                    "%aten_add_tensor = "
                    "edge.aten.add.Tensor(%quantized_decomposed_dequantize_per_tensor_default, %y)\n"
                    "%quantized_decomposed_quantize_per_tensor_default = "
                    "quantized_decomposed.quantize_per_tensor.default(%aten_add_tensor, 0.5, 3, -128, 127, int8)\n"
                    "%output = output([%quantized_decomposed_quantize_per_tensor_default, %aten_add_tensor])\n");
}

static struct nuc_graph *two_readers(struct nuc_context *cx)
{
    return parse_graph(cx, "%x = input : float32[2]\n"
                           "%q = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8)\n"
                           "%r = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8)\n"
                           "%s = quantized_decomposed.quantize_per_tensor.default(%x, 0.25, 3, -128, 127, int8)\n"
                           "%output = output([%q, %r, %s, %x])\n");
}

static void refuse_readers(struct nuc_context *cx, void *arg)
{
    struct nuc_io_quantizations io;

    nuc_remove_io_quantization(two_readers(cx), true, &io);
}

/* Equal steps read the input itself, others its dequantized values. */
static void share_input(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = two_readers(cx);
    struct nuc_io_quantizations io;

    nuc_remove_io_quantization(g, false, &io);
    nuc_graph_verify(g, "readers");
    assert_graph(g, "%x = input : int8[2]\n"
                    "%quantized_decomposed_dequantize_per_tensor_default = "
                    "quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, -128, 127, int8)\n"
                    "%quantized_decomposed_quantize_per_tensor_default = quantized_decomposed.quantize_per_tensor"
                    ".default(%quantized_decomposed_dequantize_per_tensor_default, 0.25, 3, -128, 127, int8)\n"
                    "%output = output([%x, %x, %quantized_decomposed_quantize_per_tensor_default, %x])\n");
}

/* The quantized value of one state is what the other one becomes. */
static void exchange_states(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        parse_graph(cx, "%g = state \"g\" : float32[2] values(1)\n"
                        "%h = state \"h\" : float32[2] values(2)\n"
                        "%p = quantized_decomposed.quantize_per_tensor.default(%g, 0.5, 0, -128, 127, int8)\n"
                        "%q = quantized_decomposed.quantize_per_tensor.default(%h, 0.5, 0, -128, 127, int8)\n"
                        "%a = quantized_decomposed.dequantize_per_tensor.default(%p, 0.5, 0, -128, 127, int8)\n"
                        "%b = quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 0, -128, 127, int8)\n"
                        "%output = output([%b, %b, %a])\n");

    nuc_quantize_states(g);
    nuc_graph_verify(g, "states");
    assert_graph(g, "%g = state \"g\" : int8[2]\n"
                    "%h = state \"h\" : int8[2]\n"
                    "%b = quantized_decomposed.dequantize_per_tensor.default(%h, 0.5, 0, -128, 127, int8)\n"
                    "%output = output([%b, %h, %g])\n");
}

static void test_quantized_boundaries(void **state)
{
    run_in_context(quantized_boundaries, NULL);
    run_in_context(exchange_states, NULL);
    run_in_context(share_input, NULL);
    expect_failure(refuse_readers, NULL, NUC_UNSUPPORTED, "'x'");
}

/* ---- preserved operators ---- */

static bool refuse(void *user, const struct nuc_node *node)
{
    assert_int_equal(node->op, NUC_OP_HARDSWISH);
    ++*(int *)user;
    return false;
}

static const char *const wanted[] = {"prelu", "aten::pad", "aten.hardswish.default"};

static const char quantized_hardswish[] = "%x = input : float32[2] !; %a = aten.hardswish.default(%dx) !\n";

/* The caller's check is asked where the rules accept, and its refusal decomposes the operator. */
static void check_decides(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, quantized_hardswish);
    int asked = 0;
    struct nuc_edge_options options = {
        .preserve_ops = wanted, .n_preserve_ops = 3, .check_op_support = refuse, .check_op_support_user = &asked};

    nuc_to_edge(g, &options);
    assert_int_equal(asked, 1);
    assert_non_null(nuc_find_node(g, "aten_div_tensor"));
    g = parse_quantized(cx, quantized_hardswish);
    options.check_op_support = NULL;
    nuc_to_edge(g, &options);
    assert_non_null(nuc_find_node(g, "aten_hardswish_default"));
    g = parse_quantized(cx, quantized_hardswish);
    options.n_preserve_ops = 2;
    nuc_to_edge(g, &options);
    assert_null(nuc_find_node(g, "aten_hardswish_default"));
}

static void unknown_operator(struct nuc_context *cx, void *arg)
{
    static const char *const names[] = {"aten.hard.default"};
    struct nuc_edge_options options = {.preserve_ops = names, .n_preserve_ops = 1};

    nuc_to_edge(parse_quantized(cx, quantized_hardswish), &options);
}

static void test_preserved(void **state)
{
    run_in_context(check_decides, NULL);
    expect_failure(unknown_operator, NULL, NUC_BAD_USAGE, "'aten.hard.default'");
}

/* ---- refusals ---- */

static const struct {
    const char *graph, *message;
} refusals[] = {
    {"%x = input : float32[1, 4]; %d = aten.dropout.default(%x, 0.5, true)", "model.eval()"},
    {"%x = input : float32[1, 4, 4]; %p = aten.pad.default(%x, [1, 1], \"mirror\")", "'mirror'"},
    {"%x = input : float32[1, 4]; %v = aten.view.default(%x, [4]); %r = aten.relu_.default(%v)\n"
     "%s = aten.relu.default(%x); %output = output([%r, %s])",
     "in place"},
    {"%x = input : float32[1, 4]; %a = aten.relu.default(%x); %v = aten.view.default(%a, [4])\n"
     "%r = aten.relu_.default(%a); %s = aten.relu.default(%v); %output = output([%r, %s])",
     "'v'"},
#define GRU(steps, train)                                                                                              \
    "%w = parameter : float32[3, 1]; %h = input : float32[1, 1, 1]; %x = input : float32[" steps ", 1, 1]\n"           \
    "%g = aten.gru.input(%x, %h, [%w, %w], false, 1, 0.0, " train ", false, false); %y = getitem(%g, 0)"
    {GRU("2", "true"), "model.eval()"},
    {GRU("513", "false"), "513 steps"},
};

/* For ExecuTorch, so that layers become single steps. */
static void run_to_edge(struct nuc_context *cx, void *arg)
{
    static const struct nuc_edge_options options = {.executorch_ops_only = true};

    nuc_to_edge(parse_quantized(cx, arg), &options);
}

static void test_refusals(void **state)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        char graph[512];
        snprintf(graph, sizeof graph, "%s", refusals[i].graph);
        expect_failure(run_to_edge, graph, NUC_UNSUPPORTED, refusals[i].message);
    }
}

/* Writes to what has no place of its own. */
static const struct {
    const char *graph, *message;
} unwritable[] = {
#define COMPLEX "%x = input : float32[4]\n%a = aten.neg.default(%x)\n%b = aten.exp.default(%x)\n"
    {"%x = input : float32[1, 4]\n%a = aten.neg.default(%x)\n%e = aten.expand.default(%a, [2, 4])\n"
     "%r = aten.relu_.default(%e)\n%output = output([%a])",
     "write to a copy"},
    /* memory of complex numbers in another form: a write through it, one beneath it, one of a conjugate's part */
    {COMPLEX "%v = aten.view_as_real.complex(%a, self_imag=%b) : float32[4, 2]\n%r = aten.relu_.default(%v)\n"
             "%output = output([%b])",
     "node 'r' (aten.relu_.default) writes to memory that node 'v' (aten.view_as_real.complex) shows in another form"},
    {COMPLEX "%v = aten.view_as_real.complex(%a, self_imag=%b) : float32[4, 2]\n%r = aten.relu_.default(%b)\n"
             "%output = output([%v])",
     "node 'r' (aten.relu_.default) writes to memory that node 'v' (aten.view_as_real.complex) shows in another form"},
    {COMPLEX "%c = aten._conj.complex(%a, self_imag=%b) : (float32[4], float32[4])\n%i = getitem(%c, 1)\n"
             "%s = aten.slice.Tensor(%i, 0, 0, 2)\n%r = aten.relu_.default(%s)\n%output = output([%a, %b])",
     "node 'r' (aten.relu_.default) writes to memory that node 'c' (aten._conj.complex) shows in another form"},
};

static void run_expand(struct nuc_context *cx, void *arg)
{
    nuc_expand(parse_graph(cx, arg));
}

static void test_unwritable(void **state)
{
    for (size_t i = 0; i < sizeof unwritable / sizeof unwritable[0]; i++) {
        char graph[512];
        snprintf(graph, sizeof graph, "%s", unwritable[i].graph);
        expect_failure(run_expand, graph, NUC_UNSUPPORTED, unwritable[i].message);
    }
}

/* Arguments as an archive may have them. */
static const struct {
    const char *call;
    const char *message;
} expansion_refusals[] = {
    {"aten.einsum.default(\"......->\", [%x])", "does not fit the operands"},
    {"aten.einsum.default(\"abc,cd\", [%x, %x])", "does not fit the operands"},
    {"aten.einsum.default(\"ab->ac\", [%x])", "does not fit the operands"},
    {"aten.einsum.default(\"ab,bc\", [%x, %x], path=[0, 7])", "does not fit the operands"},
    {"aten.tensordot.default(%x, %x, [5], [0])", "dimension 5 does not exist"},
    {"aten.tensordot.default(%x, %x, [0], [1])", "2 and 3 elements cannot be summed together"},
    {"aten.linalg_cross.default(%x, %x, dim=3)", "dimension 3 does not exist"},
    {"aten.linalg_cross.default(%x, %x, dim=0)", "not vectors of three elements"},
    {"aten.take_along_dim.default(%x, %i, 4)", "dimension 4 does not exist"},
    {"aten.index_fill.int_Scalar(%x, -3, %i, 1)", "dimension -3 does not exist"},
    {"aten.diagonal_scatter.default(%x, %x)", "do not fit a diagonal"},
    {"aten.scaled_dot_product_attention.default(%x, %x, %x, none, 0.5)", "drops values at random"},
    {"aten.scaled_dot_product_attention.default(%x, %x, %x, %i)", "neither bool nor float32"},
};

static void test_expansion_refusals(void **state)
{
    for (size_t i = 0; i < sizeof expansion_refusals / sizeof expansion_refusals[0]; i++) {
        char graph[512];
        snprintf(graph, sizeof graph,
                 "%%x = input : float32[2, 3]\n%%i = input : int64[2, 3]\n%%y = %s : float32[2, 3]\n"
                 "%%output = output([%%y])\n",
                 expansion_refusals[i].call);
        expect_failure(run_expand, graph, NUC_UNSUPPORTED, expansion_refusals[i].message);
    }
}

static void test_completeness(void **state)
{
    for (int op = 0; op < NUC_OP_COUNT; op++) {
        if (nuc_op_family((enum nuc_op)op) == NUC_FAMILY_COMPOSITE) {
            if (!nuc_has_expansion((enum nuc_op)op))
                fail_msg("%s has no expansion", nuc_op_name((enum nuc_op)op, NUC_ATEN));
            continue;
        }
        if (strncmp(nuc_op_name((enum nuc_op)op, NUC_ATEN), "aten.", 5) == 0 && !nuc_has_edge_form((enum nuc_op)op))
            fail_msg("%s has no Edge form", nuc_op_name((enum nuc_op)op, NUC_ATEN));
    }
}

RUN_TESTS(ROW_TEST(check_folding, foldings), CONTEXT_TEST(shared_conv_is_not_folded),
          ROW_TEST(check_linear_add, biased_rows), CONTEXT_TEST(check_constant),
          cmocka_unit_test(test_quantized_boundaries), cmocka_unit_test(test_preserved),
          cmocka_unit_test(test_refusals), cmocka_unit_test(test_unwritable), cmocka_unit_test(test_expansion_refusals),
          cmocka_unit_test(test_completeness))
