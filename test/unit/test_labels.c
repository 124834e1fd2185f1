/* What people call the nodes of a graph: from modules, operators as written and forms of values. */
#include "unit/quantized_text.h"

#include "ir/labels.h"

struct expectation {
    const char *graph;
    const char *labels; /* of all nodes but constants and the output, in order */
};

static const struct expectation expectations[] = {
    /* A module that computes one value, one that is called twice, one with others inside, the model itself. */
    {"%x = input : float32[1, 2, 4, 4]; %w = parameter \"conv1.weight\" : float32[2, 2, 1, 1]\n"
     "%c = aten.conv2d.default(%x, %w) in \"conv1\"; %p = aten.max_pool2d.default(%c, [2, 2]) in \"pool\"\n"
     "%q = aten.max_pool2d.default(%p, [2, 2]) in \"pool\"; %r = aten.relu_.default(%q) in \"layers.0.act\"\n"
     "%a = aten.add.Tensor(%r, %q) in \"layers.0\"; %b = aten.add.Tensor(%a, %q) in \"layers.0\"\n"
     "%s = aten.silu.default(%b) in \"\"\n",
     "x, conv1, pool, pool_1, layers.0.act, layers.0/add, layers.0/add_1, silu"},
    /* What only moves elements beside the operator that computes; a module that only moves them. */
    {"%x = input : float32[2, 4]; %w = parameter \"fc.weight\" : float32[4, 4]\n"
     "%t = aten.permute.default(%w, [1, 0]) in \"fc\"; %m = aten.mm.default(%x, %t) in \"fc\"\n"
     "%f = aten.flatten.using_ints(%m) in \"flat\"\n",
     "x, fc/permute, fc, flat"},
    /* Zeros beside it. */
    {"%x = input : float32[2, 4]; %z = aten.zeros.default([2, 4]) in \"l\"\n"
     "%a = aten.add.Tensor(%x, %z) in \"l\"\n",
     "x, l/zeros, l"},
    /* Different operators of one module; names of inputs are taken. */
    {"%mean = input : float32[2, 4]; %r = aten.relu.default(%mean) in \"norm\"; %m = aten.mean.dim(%r, [1]) in \"\"\n"
     "%e = aten.exp.default(%m) in \"norm\"\n",
     "mean, norm/relu, mean_1, norm/exp"},
    /* Without modules calls have their names. */
    {"%x = input : float32[4]; %relu = aten.relu.default(%x); %exp_3 = aten.exp.default(%relu)\n", "x, relu, exp_3"},
    /* Quantized values, twice dequantized. */
    {"%x = input : float32[4] !; %r = aten.relu.default(%dx) in \"act\" !\n"
     "%d2 = quantized_decomposed.dequantize_per_tensor.default(%qr, 0.5, 0, -128, 127, int8)\n"
     "%e = aten.exp.default(%d2) in \"\"; %f = aten.add.Tensor(%e, %dr) in \"\"\n",
     "x, x (int8), x (float32), act, act (int8), act (float32), act (float32, 2), exp, add"},
    /* Results of an operator with several. */
    {"%x = input : float32[4]; %c = aten.split.Tensor(%x, 2) in \"\"; %a = getitem(%c, 0); %b = getitem(%c, 1)\n"
     "%s = aten.add.Tensor(%a, %b) in \"\"\n",
     "x, split, split[0], split[1], add"},
};

static const char *labels_text(struct nuc_graph *g)
{
    const struct nuc_labels labels = nuc_label_graph(g);
    struct nuc_text text = {.cx = g->cx};

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_static(n) && n->op != NUC_OP_OUTPUT)
            nuc_text_addf(&text, "%s%s", text.length == 0 ? "" : ", ", labels.of[n->id]);
    }
    return nuc_text_string(&text);
}

static void check_labels(struct nuc_context *cx, void *arg)
{
    const struct expectation *e = arg;
    struct nuc_graph *g = parse_quantized(cx, e->graph);

    nuc_label_sources(g);
    assert_string_equal(labels_text(g), e->labels);
    assert_string_equal(labels_text(nuc_graph_copy(g)), e->labels);
}

static struct nuc_node *insert(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, struct nuc_node *input,
                               const struct nuc_node *like)
{
    struct nuc_node *node = nuc_add_node(g, before, op, NULL);

    nuc_set_arg_node(node, g, NUC_SELF, input);
    nuc_infer_shape(g, node);
    if (like != NULL)
        node->source = like->source;
    return node;
}

/* What a pass makes of an operator shares its label: the last part that computes goes by it, others say what they do.
 */
static void check_parts(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, "%x = input : float32[1, 4]; %s = aten.sigmoid.default(%x) in \"gate\"\n"
                                              "%y = aten.relu.default(%s) in \"act\"\n");
    struct nuc_node *x = node_of(g, "x"), *s = node_of(g, "s"), *y = node_of(g, "y");

    nuc_label_sources(g);
    struct nuc_node *e = insert(g, s, NUC_OP_EXP, x, s), *n = insert(g, s, NUC_OP_NEG, e, s);
    nuc_replace_input(g, s, x, n);
    struct nuc_node *copy = insert(g, y, NUC_OP_CLONE, s, s), *bare = insert(g, y, NUC_OP_CLONE, copy, NULL);
    nuc_replace_input(g, y, s, bare);
    assert_string_equal(labels_text(g),
                        "x, gate (exp), gate (neg), gate, gate (contiguous), gate (contiguous, 2), act");
    nuc_set_form(g, s, "rows 0 to 7");
    struct nuc_labels labels = nuc_label_graph(g);
    assert_string_equal(labels.of[s->id], "gate (rows 0 to 7)");
    assert_string_equal(labels.value[e->id], "gate");
    assert_string_equal(nuc_own_label(bare), bare->name);
}

/* Results by number: what is read of an operator says which it is where there are several. */
static void check_results(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(
        cx, "%x = input : float32[1, 2, 4, 4]\n"
            "%p = edge.aten.max_pool2d_with_indices.default(%x, [2, 2]) in \"pool\"; %a = getitem(%p, 0)\n"
            "%c = aten.split.Tensor(%a, 1, 1) in \"halves\"; %l = getitem(%c, 0); %r = getitem(%c, 1)\n"
            "%s = edge.aten.add.Tensor(%l, %r) in \"\"\n");

    nuc_label_sources(g);
    struct nuc_labels labels = nuc_label_graph(g);
    assert_string_equal(nuc_label_of_result(cx, &labels, node_of(g, "p"), 0), "pool");
    assert_string_equal(nuc_label_of_result(cx, &labels, node_of(g, "c"), 0), "halves[0]");
    assert_string_equal(nuc_label_of_result(cx, &labels, node_of(g, "c"), 1), "halves[1]");
    assert_string_equal(nuc_label_of_result(cx, &labels, node_of(g, "s"), 0), "add");
}

RUN_TESTS(ROW_TEST(check_labels, expectations), CONTEXT_TEST(check_parts), CONTEXT_TEST(check_results))
