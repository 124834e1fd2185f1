/* Formats of nodes: where channels-first data begin, how they spread, where they end. */
#include "graph_texts.h"

#include <string.h>

#include "compiler/layout/layout.h"

struct expectation {
    const char *graph;
    const char *formats; /* "name F, name F": C channels-first, L formatless, N none */
};

static const struct expectation expectations[] = {
    /* Elementwise operators alone need no format. */
    {"%x = input : float32[1, 4, 8, 8]\n"
     "%a = edge.aten.relu.default(%x) : float32[1, 4, 8, 8]\n"
     "%output = output([%a])\n",
     "x L, a L"},
    /* A convolution makes data and weight channels first, not the bias, and spreads to both sides. */
    {"%w = parameter \"w\" : float32[2, 4, 1, 1]\n"
     "%b = parameter \"b\" : float32[2]\n"
     "%x = input : float32[1, 4, 8, 8]\n"
     "%a = edge.aten.relu.default(%x) : float32[1, 4, 8, 8]\n"
     "%c = edge.aten.convolution.default(%a, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : float32[1, 2, 8, 8]\n"
     "%d = edge.aten.relu.default(%c) : float32[1, 2, 8, 8]\n"
     "%output = output([%d])\n",
     "x C, a C, w C, b L, c C, d C"},
    /* A view is a boundary: flattened data are formatless, what feeds it stays channels first. */
    {"%x = input : float32[1, 4, 8, 8]\n"
     "%p = edge.aten.avg_pool2d.default(%x, [2, 2], [2, 2]) : float32[1, 4, 4, 4]\n"
     "%a = edge.aten.relu.default(%p) : float32[1, 4, 4, 4]\n"
     "%v = edge.aten.view_copy.default(%a, [1, 64]) : float32[1, 64]\n"
     "%r = edge.aten.relu.default(%v) : float32[1, 64]\n"
     "%output = output([%r])\n",
     "x C, p C, a C, v L, r L"},
    /* One channels-first operand makes the other one and the result so, through other elementwise operators. */
    {"%x = input : float32[1, 4, 4, 4]\n"
     "%y = input : float32[1, 4, 4, 4]\n"
     "%s = parameter \"s\" : float32[4]\n"
     "%p = edge.aten.avg_pool2d.default(%x, [1, 1], [1, 1]) : float32[1, 4, 4, 4]\n"
     "%r = edge.aten.relu.default(%y) : float32[1, 4, 4, 4]\n"
     "%a = edge.aten.add.Tensor(%p, %r) : float32[1, 4, 4, 4]\n"
     "%b = edge.aten.add.Tensor(%a, %s) : float32[1, 4, 4, 4]\n"
     "%output = output([%b])\n",
     "x C, y C, p C, r C, a C, b C, s L"},
    /* A channels-last dim order means channels-first data. */
    {"%x = input : float32[1, 4, 4, 4] channels-last\n"
     "%r = edge.aten.relu.default(%x) : float32[1, 4, 4, 4] channels-last\n"
     "%output = output([%r])\n",
     "x C, r C"},
    /* A reduction that keeps dimensions passes the format on, one that drops them is a boundary. */
    {"%x = input : float32[1, 4, 4, 4]\n"
     "%p = edge.aten.avg_pool2d.default(%x, [1, 1], [1, 1]) : float32[1, 4, 4, 4]\n"
     "%k = edge.aten.mean.dim(%p, [2, 3], true) : float32[1, 4, 1, 1]\n"
     "%m = edge.aten.mean.dim(%k, [3]) : float32[1, 4, 1]\n"
     "%r = edge.aten.relu.default(%m) : float32[1, 4, 1]\n"
     "%output = output([%r])\n",
     "p C, k C, m L, r L"},
    /* The pooling's tuple and the item taken from it. */
    {"%x = input : float32[1, 4, 4, 4]\n"
     "%p = edge.aten.max_pool2d_with_indices.default(%x, [2, 2], [2, 2]) : (float32[1, 4, 2, 2], int64[1, 4, 2, 2])\n"
     "%g = getitem(%p, 0) : float32[1, 4, 2, 2]\n"
     "%output = output([%g])\n",
     "x C, p C, g C"},
    /* The NPU does not have the operator: no format goes through it. */
    {"%x = input : float32[1, 4, 4, 4]\n"
     "%p = edge.aten.avg_pool2d.default(%x, [1, 1], [1, 1]) : float32[1, 4, 4, 4]\n"
     "%u = edge.dim_order_ops._to_dim_order_copy.default(%p, dim_order=[0, 1, 2, 3]) : float32[1, 4, 4, 4]\n"
     "%r = edge.aten.relu.default(%u) : float32[1, 4, 4, 4]\n"
     "%output = output([%r])\n",
     "p C, u L, r L"},
    {"%x = input : float32[4, 4]\n"
     "%u = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0, 1]) : float32[4, 4]\n"
     "%w = edge.dim_order_ops._to_dim_order_copy.default(%u, dim_order=[0, 1]) : float32[4, 4]\n"
     "%r = edge.aten.relu.default(%w) : float32[4, 4]\n"
     "%output = output([%r])\n",
     "x L, u N, w L, r L"},
    /* A result that is channels first makes the other results of the program so. */
    {"%x = input : float32[1, 4, 4, 4]\n"
     "%y = input : float32[1, 4, 4, 4]\n"
     "%p = edge.aten.avg_pool2d.default(%x, [1, 1], [1, 1]) : float32[1, 4, 4, 4]\n"
     "%r = edge.aten.relu.default(%y) : float32[1, 4, 4, 4]\n"
     "%output = output([%p, %r])\n",
     "p C, r C, y C"},
};

static char letter_of(enum nuc_format format)
{
    return format == NUC_CHANNELS_FIRST ? 'C' : format == NUC_FORMATLESS ? 'L' : format == NUC_FORMAT_NONE ? 'N' : '?';
}

static void check_formats(struct nuc_context *cx, void *arg)
{
    const struct expectation *e = arg;
    struct nuc_graph *g = parse_graph(cx, e->graph);
    char name[16], format;

    nuc_infer_formats(g, nuc_flavor_find(g->cx, NULL));
    for (const char *p = e->formats; sscanf(p, "%15s %c", name, &format) == 2;) {
        struct nuc_node *n = node_of(g, name);
        if (letter_of(n->format) != format)
            fail_msg("'%s' is %c instead of %c in:\n%s", name, letter_of(n->format), format, e->graph);
        const char *comma = strchr(p, ',');
        if (comma == NULL)
            break;
        p = comma + 1;
    }
}

static void test_formats(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        struct expectation e = expectations[i];
        run_in_context(check_formats, &e);
    }
}

/* The format of the last node of a long chain reaches the first one, without deep recursion or many sweeps. */
static void check_long_chain(struct nuc_context *cx, void *arg)
{
    const int64_t sizes[4] = {1, 4, 4, 4};
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 4);
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    struct nuc_node *x = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta), *n = x;

    (void)arg;
    for (int i = 0; i < 100000; i++) {
        struct nuc_node *relu = nuc_add_node(g, NULL, i == 99999 ? NUC_OP_AVG_POOL2D : NUC_OP_RELU, NULL);
        nuc_set_arg_node(relu, g, 0, n);
        nuc_set_val(g, relu, &meta);
        n = relu;
    }
    nuc_infer_formats(g, nuc_flavor_find(g->cx, NULL));
    assert_int_equal(x->format, NUC_CHANNELS_FIRST);
    assert_int_equal(n->format, NUC_CHANNELS_FIRST);
}

/* For the converter of sdk-3.1 a PReLU with a slope per channel takes any format, and a maximum is not an operator. */
static void check_sdk31(struct nuc_context *cx, void *arg)
{
    static const char text[] = "%x = input : float32[1, 4, 3, 3]\n%s = input : float32[4]\n"
                               "%p = edge.aten.prelu.default(%x, %s) : float32[1, 4, 3, 3]\n"
                               "%m = edge.aten.amax.default(%p, [2, 3], true) : float32[1, 4, 1, 1]\n"
                               "%output = output([%m])\n";
    struct nuc_graph *g = parse_graph(cx, text);

    (void)arg;
    nuc_infer_formats(g, nuc_flavor_find(g->cx, NULL));
    assert_int_equal(node_of(g, "p")->format, NUC_CHANNELS_FIRST);
    assert_int_equal(node_of(g, "m")->format, NUC_CHANNELS_FIRST);
    nuc_infer_formats(g, nuc_flavor_find(g->cx, "sdk-3.1"));
    assert_int_equal(node_of(g, "p")->format, NUC_FORMATLESS);
    assert_int_equal(node_of(g, "x")->format, NUC_FORMATLESS);
    assert_int_not_equal(node_of(g, "m")->format, NUC_CHANNELS_FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        CONTEXT_TEST(check_long_chain),
        CONTEXT_TEST(check_sdk31),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
