/* Formats of nodes: where channels-first data begin, how they spread, where they end. */
#include "quantized_text.h"

#include "npu/layout/layout.h"

struct expectation {
    const char *graph;
    const char *formats; /* "name F, name F": C channels-first, L formatless, N none */
};

static const struct expectation expectations[] = {
    /* Elementwise operators alone need no format. */
    {"%x = input : float32[1, 4, 8, 8]; %a = edge.aten.relu.default(%x)\n", "x L, a L"},
    /* A convolution makes data and weight channels first, not the bias, and spreads to both sides. */
    {"%w = parameter : float32[2, 4, 1, 1]; %b = parameter : float32[2]\n"
     "%x = input : float32[1, 4, 8, 8]; %a = edge.aten.relu.default(%x)\n"
     "%c = edge.aten.convolution.default(%a, %w, %b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)\n"
     "%d = edge.aten.relu.default(%c)\n",
     "x C, a C, w C, b L, c C, d C"},
    /* A view is a boundary: flattened data are formatless, what feeds it stays channels first. */
    {"%x = input : float32[1, 4, 8, 8]; %p = edge.aten.avg_pool2d.default(%x, [2, 2], [2, 2])\n"
     "%a = edge.aten.relu.default(%p); %v = edge.aten.view_copy.default(%a, [1, 64])\n"
     "%r = edge.aten.relu.default(%v)\n",
     "x C, p C, a C, v L, r L"},
    /* One channels-first operand makes the other one and the result so, through other elementwise operators. */
    {"%x = input : float32[1, 4, 4, 4]; %y = input : float32[1, 4, 4, 4]; %s = parameter : float32[4]\n"
     "%p = edge.aten.avg_pool2d.default(%x, [1, 1], [1, 1]); %r = edge.aten.relu.default(%y)\n"
     "%a = edge.aten.add.Tensor(%p, %r); %b = edge.aten.add.Tensor(%a, %s)\n",
     "x C, y C, p C, r C, a C, b C, s L"},
    /* A channels-last dim order means channels-first data. */
    {"%x = input : float32[1, 4, 4, 4] channels-last; %r = edge.aten.relu.default(%x)\n", "x C, r C"},
    /* A reduction that keeps dimensions passes the format on, one that drops them is a boundary. */
    {"%x = input : float32[1, 4, 4, 4]; %p = edge.aten.avg_pool2d.default(%x, [1, 1], [1, 1])\n"
     "%k = edge.aten.mean.dim(%p, [2, 3], true); %m = edge.aten.mean.dim(%k, [3])\n"
     "%r = edge.aten.relu.default(%m)\n",
     "p C, k C, m L, r L"},
    /* The pooling's tuple and the item taken from it. */
    {"%x = input : float32[1, 4, 4, 4]; %p = edge.aten.max_pool2d_with_indices.default(%x, [2, 2], [2, 2])\n"
     "%g = getitem(%p, 0)\n",
     "x C, p C, g C"},
    /* The NPU does not have the operator: no format goes through it. */
    {"%x = input : float32[1, 4, 4, 4]; %p = edge.aten.avg_pool2d.default(%x, [1, 1], [1, 1])\n"
     "%u = edge.dim_order_ops._to_dim_order_copy.default(%p, dim_order=[0, 1, 2, 3])\n"
     "%r = edge.aten.relu.default(%u)\n",
     "p C, u L, r L"},
    {"%x = input : float32[4, 4]; %u = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0, 1])\n"
     "%w = edge.dim_order_ops._to_dim_order_copy.default(%u, dim_order=[0, 1])\n"
     "%r = edge.aten.relu.default(%w)\n",
     "x L, u N, w L, r L"},
    /* A result that is channels first makes the other results of the program so. */
    {"%x = input : float32[1, 4, 4, 4]; %y = input : float32[1, 4, 4, 4]\n"
     "%p = edge.aten.avg_pool2d.default(%x, [1, 1], [1, 1]); %r = edge.aten.relu.default(%y)\n"
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
    struct nuc_graph *g = parse_quantized(cx, e->graph);
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

/* The format of the last node of a long chain reaches the first one, without deep recursion or many sweeps. */
static void check_long_chain(struct nuc_context *cx, void *arg)
{
    struct nuc_text text = {.cx = cx};

    nuc_text_addf(&text, "%%x = input : float32[1, 4, 4, 4]\n%%r0 = edge.aten.relu.default(%%x)\n");
    for (int i = 1; i < 99999; i++)
        nuc_text_addf(&text, "%%r%d = edge.aten.relu.default(%%r%d)\n", i, i - 1);
    nuc_text_addf(&text, "%%y = edge.aten.avg_pool2d.default(%%r99998, [1, 1], [1, 1])\n%%output = output([%%y])\n");
    struct nuc_graph *g = parse_graph(cx, nuc_text_string(&text));
    nuc_infer_formats(g, nuc_flavor_find(g->cx, NULL));
    assert_int_equal(node_of(g, "x")->format, NUC_CHANNELS_FIRST);
    assert_int_equal(node_of(g, "y")->format, NUC_CHANNELS_FIRST);
}

/* For the converter of sdk-3.1 a PReLU with a slope per channel takes any format, and a maximum is not an operator. */
static void check_sdk31(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(
        cx, "%x = input : float32[1, 4, 3, 3]; %s = input : float32[4]; %p = edge.aten.prelu.default(%x, %s)\n"
            "%m = edge.aten.amax.default(%p, [2, 3], true)\n");

    nuc_infer_formats(g, nuc_flavor_find(g->cx, NULL));
    assert_int_equal(node_of(g, "p")->format, NUC_CHANNELS_FIRST);
    assert_int_equal(node_of(g, "m")->format, NUC_CHANNELS_FIRST);
    nuc_infer_formats(g, nuc_flavor_find(g->cx, "sdk-3.1"));
    assert_int_equal(node_of(g, "p")->format, NUC_FORMATLESS);
    assert_int_equal(node_of(g, "x")->format, NUC_FORMATLESS);
    assert_int_not_equal(node_of(g, "m")->format, NUC_CHANNELS_FIRST);
}

RUN_TESTS(ROW_TEST(check_formats, expectations), CONTEXT_TEST(check_long_chain), CONTEXT_TEST(check_sdk31))
