/* Partitions: groups, tags, reasons, rounds of validation, delegate calls; groups against a plain search. */
#include "failing_memory.h"
#include "quantized_text.h"
#include "random.h"
#include "text_cases.h"

#include "host/nearest.h"
#include "npu/partition/not_delegated.h"
#include "npu/partition/partition.h"
#include "npu/partition/propose.h"
#include "npu/partition/slotset.h"
#include "npu/target/target.h"

#define Q "0.5, 0, -128, 127, int8"
#define LINE(result, op, args) "%" result " = " op "(" args ")\n"
#define QUANTIZE(name, input) LINE(name, "quantized_decomposed.quantize_per_tensor.default", "%" input ", " Q)
#define DEQUANTIZE(name, input) LINE(name, "quantized_decomposed.dequantize_per_tensor.default", "%" input ", " Q)
/* An operator the NPU has, one it does not have, and one that leaves its data alone; from int8 to int8. */
#define RELU(i, from) DEQUANTIZE("d" i, from) LINE("r" i, "edge.aten.relu.default", "%d" i) QUANTIZE(i, "r" i)
#define FOREIGN(i, from)                                                                                               \
    DEQUANTIZE("d" i, from)                                                                                            \
    LINE("r" i, "edge.dim_order_ops._to_dim_order_copy.default", "%d" i ", dim_order=[0, 1]")                          \
    QUANTIZE(i, "r" i)
#define VIEW(i, from)                                                                                                  \
    DEQUANTIZE("d" i, from)                                                                                            \
    LINE("r" i, "edge.aten.view_copy.default", "%d" i ", [2, 3]") QUANTIZE(i, "r" i)
#define ADD(i, a, b)                                                                                                   \
    DEQUANTIZE("d" i, a)                                                                                               \
    DEQUANTIZE("e" i, b)                                                                                               \
    LINE("r" i, "edge.aten.add.Tensor", "%d" i ", %e" i) QUANTIZE(i, "r" i)
#define START "%in = input : float32[2, 3]\n" QUANTIZE("x", "in")
#define END(from) DEQUANTIZE("last", from) "%output = output([%last])\n"

/* ---- expected partitions ---- */

struct expectation {
    const char *graph;
    const char *how;   /* words: "no-ops", "compat", "no-delegate"; after ':' what is not to be delegated */
    const char *tags;  /* "tag1 tag13" */
    const char *where; /* "name tag, name -" */
};

static const struct expectation expectations[] = {
    /* One chain, one partition; the program's own quantize and dequantize nodes stay outside. */
    {START RELU("1", "x") RELU("2", "1") END("2"), "", "tag1",
     "x -, d1 tag1, r1 tag1, 1 tag1, r2 tag1, 2 tag1, last -"},
    /* A foreign operator cuts the chain: each cluster has 3 nodes, numbered from the end. */
    {START RELU("1", "x") FOREIGN("2", "1") RELU("3", "2") END("3"), "", "tag1 tag4",
     "r3 tag1, r2 -, d2 -, 2 -, r1 tag4"},
    /* Branches join the same partition; a way around through a foreign operator keeps its ends apart. */
    {START RELU("1", "x") RELU("2", "1") RELU("3", "1") ADD("4", "2", "3") END("4"), "", "tag1", "r1 tag1, r4 tag1"},
    {START RELU("1", "x") RELU("2", "1") FOREIGN("3", "1") ADD("4", "2", "3") END("4"), "", "tag1 tag8",
     "r4 tag1, r2 tag1, r3 -, r1 tag8"},
    /* Two chains without a connection run in one call. */
    {"%in = input : float32[2, 3]\n%in2 = input : float32[2, 3]\n" QUANTIZE("x", "in") QUANTIZE("y", "in2")
         RELU("1", "x") RELU("2", "y") DEQUANTIZE("l1", "1") DEQUANTIZE("l2", "2") "%output = output([%l1, %l2])\n",
     "", "tag1", "r1 tag1, r2 tag1"},
    /* Operators that leave their data alone are not a partition of their own, but may be part of one. */
    {START FOREIGN("0", "x") VIEW("1", "0") VIEW("2", "1") FOREIGN("3", "2") END("3"), "", "", "r1 -, r2 -, d1 -"},
    {START FOREIGN("0", "x") VIEW("1", "0") VIEW("2", "1") FOREIGN("3", "2") END("3"), "no-ops", "tag1",
     "r1 tag1, r2 tag1, 2 tag1"},
    {START VIEW("1", "x") RELU("2", "1") END("2"), "", "tag1", "r1 tag1, r2 tag1"},
    /* What is not to be delegated is named by node or operator; the reference matches parts of node names. */
    {START RELU("1", "x") ADD("2", "1", "1") RELU("3", "2") END("3"), ": r1", "tag1",
     "r1 -, d1 -, 1 -, r2 tag1, r3 tag1"},
    {START RELU("1", "x") END("1"), ": ", "tag1", "r1 tag1"},
    {START RELU("1", "x") ADD("2", "1", "1") RELU("3", "2") END("3"), ": aten::add", "tag1 tag4",
     "r1 tag4, d2 -, r2 -, r3 tag1"},
    {START RELU("1", "x") ADD("2", "1", "1") RELU("3", "2") END("3"), ": re* edge.aten.relu.default", "tag1",
     "r1 -, r2 tag1, r3 -"},
    {START RELU("1", "x") RELU("11", "1") END("11"), ": r1", "tag1", "r1 -, r11 tag1"},
    {START RELU("1", "x") RELU("11", "1") END("11"), "compat: r1", "", "r1 -, r11 -"},
    {START RELU("1", "x") END("1"), "compat: ::add", "tag1", "r1 tag1"},
    /* A view with another scale: the reference's verifier ends the compilation. */
    {START RELU("1", "x") VIEW("2", "1") QUANTIZE("3", "d2") "%output = output([%3])\n", "compat", "tag1", "r1 tag1"},
    {START RELU("1", "x") END("1"), "no-delegate", "", "r1 -, d1 -"},
};

static void check_where(const struct nuc_partitions *p, struct nuc_graph *g, const char *where)
{
    char name[16], tag[16];

    for (const char *at = where; sscanf(at, " %15s %15[a-z0-9-]", name, tag) == 2;) {
        const struct nuc_node *n = node_of(g, name);
        const char *found = n->partition < 0 ? "-" : p->items[n->partition].tag;
        if (strcmp(found, tag) != 0)
            fail_msg("'%s' is in %s instead of %s", name, found, tag);
        at = strchr(at, ',');
        if (at == NULL)
            break;
        at++;
    }
}

static void check_decisions(const struct nuc_partitions *p, const struct nuc_graph *g)
{
    uint32_t calls = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n))
            continue;
        const struct nuc_decision *d = p->by_id[n->id];
        assert_ptr_equal(d, &p->decisions[calls++]);
        assert_ptr_equal(d->node, n);
        assert_int_equal(d->delegated, n->partition >= 0);
        /* Whatever stays outside says why. */
        assert_int_equal(d->rule == NULL, d->delegated);
    }
    assert_int_equal(p->n_decisions, calls);
}

static void check_partitions(struct nuc_context *cx, void *arg)
{
    const struct expectation *e = arg;
    struct nuc_graph *g = parse_graph(cx, e->graph);
    char tags[256] = "", *listed = strchr(nuc_strdup(cx, e->how), ':');
    const char *names[2] = {NULL, NULL};
    struct nuc_partition_options options = {.allow_no_op_partitions = strstr(e->how, "no-ops") != NULL,
                                            .reference_compat = strstr(e->how, "compat") != NULL,
                                            .no_delegate = strstr(e->how, "no-delegate") != NULL,
                                            .operators_not_to_delegate = names};

    for (char *name = listed == NULL ? NULL : listed + 2, *next; name != NULL; name = next) {
        names[options.n_operators_not_to_delegate++] = name;
        next = split_at(name, " ");
    }
    struct nuc_partitions *p = nuc_partition_graph(g, &options);
    for (uint32_t i = 0; i < p->count; i++)
        snprintf(tags + strlen(tags), sizeof tags - strlen(tags), "%s%s", i == 0 ? "" : " ", p->items[i].tag);
    if (strcmp(tags, e->tags) != 0)
        fail_msg("'%s' instead of '%s' in:\n%s", tags, e->tags, e->graph);
    check_where(p, g, e->where);
    check_decisions(p, g);
}

static void test_globs(void **state)
{
    static const char *const matching[][2] = {{"", ""},       {"*", ""},      {"a*c", "abcbc"},
                                              {"a?c", "abc"}, {"**b", "aab"}, {"*.Tensor", "add.Tensor"}};
    static const char *const others[][2] = {{"", "a"}, {"a*c", "abcb"}, {"a?c", "ac"}, {"conv", "conv2d"}};

    for (size_t i = 0; i < sizeof matching / sizeof *matching; i++)
        assert_true(nuc_glob_matches(matching[i][0], matching[i][1]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(nuc_glob_matches(others[i][0], others[i][1]));
}

/* An entry that matches nothing is a mistake, and the message names the operators there are. */
static void name_nothing(struct nuc_context *cx, void *arg)
{
    static const char *const nothing[] = {"relu", "conv2d"};
    struct nuc_partition_options options = {.operators_not_to_delegate = nothing, .n_operators_not_to_delegate = 2};

    nuc_partition_graph(parse_graph(cx, START RELU("1", "x") ADD("2", "1", "1") END("2")), &options);
}

static void test_names(void **state)
{
    expect_failure(name_nothing, NULL, NUC_BAD_USAGE, "'conv2d'");
    expect_failure(name_nothing, NULL, NUC_BAD_USAGE, "aten.relu.default, aten.add.Tensor");
}

/*
 * What the older rules of the reference accept although something is not quantized in between, or quantized twice; but
 * not floats that go into a partition or out of it, which no LiteRT model of int8 has.
 */
static const struct loose_cluster {
    const char *graph, *rule;
    bool has_float_ends;
} loose_clusters[] = {
    {START DEQUANTIZE("d1", "x") DEQUANTIZE("e1", "x") LINE("s1", "edge.aten.sigmoid.default", "%d1")
         LINE("r1", "edge.aten.add.Tensor", "%s1, %e1") QUANTIZE("1", "r1") RELU("2", "1") END("2"),
     "an activation between", false},
    {START DEQUANTIZE("d1", "x") LINE("r1", "edge.aten.abs.default", "%d1") QUANTIZE("1", "r1")
         LINE("f1", "edge.dim_order_ops._to_dim_order_copy.default", "%d1, dim_order=[0, 1]") QUANTIZE("2", "f1")
             ADD("3", "1", "2") END("3"),
     "shares no dequantize node", true},
    {START DEQUANTIZE("d1", "x") LINE("f1", "edge.dim_order_ops._clone_dim_order.default", "%d1, dim_order=[0, 1]")
         LINE("r1", "edge.aten.view_copy.default", "%f1, [2, 3]") QUANTIZE("1", "r1")
             LINE("m1", "edge.aten.erf.default", "%f1") QUANTIZE("2", "m1") ADD("3", "1", "2") END("3"),
     "shares no dequantize node", true},
    {START DEQUANTIZE("d1", "x") LINE("r1", "edge.aten.abs.default", "%d1") QUANTIZE("1", "r1")
         LINE("q1", "quantized_decomposed.quantize_per_tensor.default", "%r1, 0.25, 0, -128, 127, int8")
             ADD("2", "1", "q1") END("2"),
     "in one quantization", false},
    {START DEQUANTIZE("d1", "x") LINE("r1", "edge.aten.view_copy.default", "%d1, [2, 3]")
         LINE("1", "quantized_decomposed.quantize_per_tensor.default", "%r1, 0.25, 0, -128, 127, int8") RELU("2", "1")
             END("2"),
     "input and output have the same scale", false},
};

/* The operator that is not to be delegated is r1. */
static void check_loose_cluster(struct nuc_context *cx, void *arg)
{
    const struct loose_cluster *c = arg;

    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *g = parse_graph(cx, c->graph);
        struct nuc_partition_options options = {.flavor = nuc_flavor_find(cx, "sdk-3.1"), .reference_compat = compat};
        const struct nuc_partitions *p = nuc_partition_graph(g, &options);
        const struct nuc_decision *d = p->by_id[nuc_find_node(g, "r1")->id];
        assert_int_equal(d->delegated, compat != 0 && !c->has_float_ends);
        assert_true(compat != 0 || strstr(d->rule, c->rule) != NULL);
    }
}

/* ---- reasons and boundaries ---- */

static bool refuse_all(void *user, const struct nuc_node *node)
{
    return *(const bool *)user;
}

static void check_reasons(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(cx, START RELU("1", "x") FOREIGN("2", "1") END("2"));
    bool accept = false;
    struct nuc_partition_options options = {.check_op_support = refuse_all, .check_op_support_user = &accept};

    struct nuc_partitions *p = nuc_partition_graph(g, &options);
    const struct nuc_decision *relu = p->by_id[node_of(g, "r1")->id], *quantize = p->by_id[node_of(g, "1")->id];
    const struct nuc_decision *foreign = p->by_id[node_of(g, "r2")->id];
    assert_non_null(strstr(relu->rule, "caller"));
    assert_int_equal(relu->target, NUC_CHECK_PASSED);
    assert_ptr_equal(quantize->because, node_of(g, "r1"));
    assert_string_equal(quantize->rule, relu->rule);
    assert_non_null(strstr(foreign->rule, "the NPU supports the operator"));
    assert_int_equal(foreign->target, NUC_CHECK_NOT_ASKED);
    assert_int_equal(p->count, 0);
}

static void check_boundaries(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_graph(
        cx, "%c = buffer \"c\" : int8[2, 3]\n%in = input : float32[2, 3]\n%in2 = input : float32[2, 3]\n" QUANTIZE(
                "x", "in") QUANTIZE("y", "in2") ADD("1", "y", "x") ADD("2", "1", "c") RELU("3", "1")
                DEQUANTIZE("l1", "2") DEQUANTIZE("l2", "3") "%output = output([%l1, %l2])\n");

    struct nuc_partitions *p = nuc_partition_graph(g, NULL);
    assert_int_equal(p->count, 1);
    const struct nuc_partition *only = &p->items[0];
    assert_int_equal(only->n_inputs, 2);
    assert_ptr_equal(only->inputs[0], node_of(g, "y"));
    assert_ptr_equal(only->inputs[1], node_of(g, "x"));
    assert_int_equal(only->n_outputs, 2);
    assert_ptr_equal(only->outputs[0], node_of(g, "2"));
    assert_ptr_equal(only->outputs[1], node_of(g, "3"));
    assert_int_equal(only->n_constants, 1);
    assert_ptr_equal(only->constants[0], node_of(g, "c"));
    assert_int_equal(node_of(g, "c")->partition, 0);
    for (uint32_t i = 1; i < only->n_nodes; i++)
        assert_true(only->nodes[i - 1]->id < only->nodes[i]->id);
}

/* A constant two partitions read belongs to the one whose tag comes first as text: "tag11" before "tag7". */
static void check_shared_constant(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        parse_graph(cx, "%c = buffer \"c\" : int8[2, 3]\n" START ADD("1", "x", "c") FOREIGN("2", "1") ADD("3", "2", "c")
                            FOREIGN("4", "3") RELU("5", "4") RELU("6", "5") END("6"));

    struct nuc_partitions *p = nuc_partition_graph(g, NULL);
    assert_int_equal(p->count, 3);
    assert_string_equal(p->items[1].tag, "tag7");
    assert_string_equal(p->items[2].tag, "tag11");
    assert_int_equal(p->items[0].n_constants, 0);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(p->items[i].n_constants, 1);
        assert_ptr_equal(p->items[i].constants[0], node_of(g, "c"));
    }
    assert_int_equal(node_of(g, "c")->partition, 2);
    nuc_fuse_partitions(g, p);
    nuc_graph_verify(g, "fused");
    assert_null(nuc_find_node(g, "c"));
}

/* ---- delegate calls ---- */

static const char fused[] =
    "nucleon-graph 1\n"
    "%in = input : float32[2, 3]\n"
    "%x = quantized_decomposed.quantize_per_tensor.default(%in, 0.5, 0, -128, 127, int8) : int8[2, 3]\n"
    "%executorch_call_delegate = call_delegate([%x]) : (int8[2, 3])\n"
    "%getitem_1 = getitem(%executorch_call_delegate, 0) : int8[2, 3]\n"
    "%d3 = quantized_decomposed.dequantize_per_tensor.default(%getitem_1, 0.5, 0, -128, 127, int8) : float32[2, 3]\n"
    "%r3 = edge.dim_order_ops._to_dim_order_copy.default(%d3, dim_order=[0, 1]) : float32[2, 3]\n"
    "%3 = quantized_decomposed.quantize_per_tensor.default(%r3, 0.5, 0, -128, 127, int8) : int8[2, 3]\n"
    "%executorch_call_delegate_1 = call_delegate([%getitem_1, %3]) : (int8[2, 3])\n"
    "%getitem = getitem(%executorch_call_delegate_1, 0) : int8[2, 3]\n"
    "%last = quantized_decomposed.dequantize_per_tensor.default(%getitem, 0.5, 0, -128, 127, int8) : float32[2, 3]\n"
    "%output = output([%last])\n";

/* The text without what layout and partition note after a node, but clusters: none is left. */
static const char *plain_print(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        n->format = NUC_FORMAT_UNSET;
        n->partition = -1;
        n->do_not_delegate = false;
    }
    return nuc_graph_print(g, false);
}

static void check_fused(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        parse_graph(cx, START RELU("1", "x") RELU("2", "1") FOREIGN("3", "1") ADD("4", "2", "3") END("4"));

    struct nuc_partitions *p = nuc_partition_graph(g, NULL);
    struct nuc_node **calls = nuc_fuse_partitions(g, p);
    nuc_graph_verify(g, "fused");
    assert_string_equal(plain_print(g), fused);
    assert_string_equal(calls[0]->name, "executorch_call_delegate_1");
    assert_string_equal(calls[1]->name, "executorch_call_delegate");
}

/* A node between the first and the last one of a partition moves after the call when it reads a result of it. */
static void check_reordering(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        parse_graph(cx, "%in = input : float32[2, 3]\n%in2 = input : float32[2, 3]\n" QUANTIZE("x", "in") RELU("1", "x")
                            FOREIGN("2", "1") QUANTIZE("y", "in2") RELU("3", "y") DEQUANTIZE("l1", "2")
                                DEQUANTIZE("l2", "3") "%output = output([%l1, %l2])\n");

    struct nuc_partitions *p = nuc_partition_graph(g, NULL);
    assert_int_equal(p->count, 1);
    nuc_fuse_partitions(g, p);
    nuc_graph_verify(g, "fused");
    const char *text = plain_print(g);
    assert_true(strstr(text, "%executorch_call_delegate =") < strstr(text, "%d2 ="));
    assert_true(strstr(text, "%y =") < strstr(text, "%executorch_call_delegate ="));
}

/* ---- groups against a plain search ---- */

#define MAX_NODES 40

/* A random graph of relu and add nodes after one input; node i has id i. */
static struct nuc_graph *random_graph(struct nuc_context *cx, uint32_t *state, bool *supported)
{
    const int64_t size = 1;
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &size, 1);
    struct nuc_graph *g = nuc_graph_new(cx, "random");
    struct nuc_node *nodes[MAX_NODES] = {nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta)}, *ends[MAX_NODES];
    uint32_t count = 4 + random_below(state, MAX_NODES - 6), n_ends = 0, near = 1 + random_below(state, 8);

    for (uint32_t i = 1; i < count; i++) {
        bool sum = random_below(state, 3) == 0;
        nodes[i] = nuc_add_node(g, NULL, sum ? NUC_OP_ADD : NUC_OP_RELU, NULL);
        for (uint32_t k = 0; k <= (sum ? 1u : 0u); k++)
            nuc_set_arg_node(nodes[i], g, k, nodes[i - 1 - random_below(state, i < near ? i : near)]);
        nuc_set_val(g, nodes[i], &meta);
        supported[i] = random_below(state, 4) != 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i]->n_users == 0)
            ends[n_ends++] = nodes[i];
    }
    nuc_set_arg_nodes(nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output"), g, 0, ends, n_ends);
    return g;
}

struct plain {
    uint32_t n;
    bool edge[MAX_NODES + 2][MAX_NODES + 2];
    int group[MAX_NODES + 2]; /* -1: none; else the smallest visit number in it */
    int tag[MAX_NODES + 2];   /* of the group a node is in */
};

static int group_size(const struct plain *p, int group)
{
    int size = 0;

    for (uint32_t i = 0; i < p->n; i++)
        size += p->group[i] == group;
    return size;
}

/* A path from the union of groups a and b, through something else, back into it. */
static bool makes_cycle(const struct plain *p, int a, int b)
{
    bool reached[MAX_NODES + 2] = {false};
    bool grew = true;

#define IN_UNION(i) (p->group[i] >= 0 && (p->group[i] == a || p->group[i] == b))
    while (grew) {
        grew = false;
        for (uint32_t i = 0; i < p->n; i++) {
            bool source = IN_UNION(i);
            for (uint32_t k = 0; !source && k < p->n; k++)
                source = reached[k] && (k == i || (p->group[k] >= 0 && p->group[k] == p->group[i]));
            for (uint32_t k = 0; source && k < p->n; k++) {
                if (!p->edge[i][k] || reached[k])
                    continue;
                if (IN_UNION(k) && !IN_UNION(i))
                    return true;
                if (!IN_UNION(k))
                    grew = reached[k] = true;
            }
        }
    }
#undef IN_UNION
    return false;
}

/* Merges as torch does; returns the group that tries on. */
static int plain_merge(struct plain *p, int self, int other)
{
    int tag = -1, into = self < other ? self : other;

    if (makes_cycle(p, self, other))
        return self;
    bool keep_other = group_size(p, self) < group_size(p, other);
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->group[i] == (keep_other ? other : self))
            tag = p->tag[i];
    }
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->group[i] >= 0 && (p->group[i] == self || p->group[i] == other)) {
            p->group[i] = into;
            p->tag[i] = tag;
        }
    }
    return into;
}

static void plain_propose(struct plain *p, const bool *supported)
{
    int visit = 0;

    for (uint32_t i = p->n; i > 0; i--) {
        int self = -1;
        p->group[i - 1] = -1;
        if (supported[i - 1]) {
            self = visit++;
            p->group[i - 1] = p->tag[i - 1] = self;
        }
        /* Groups by age, the new one first; a merged group is as old as its oldest part. */
        bool exists[MAX_NODES + 2] = {false};
        for (uint32_t k = i - 1; k < p->n; k++) {
            if (p->group[k] >= 0)
                exists[p->group[k]] = true;
        }
        int fresh = self;
        for (int other = 0; other < visit; other++) {
            if (!exists[other] || other == fresh)
                continue;
            self = self < 0 ? other : plain_merge(p, self, other);
        }
    }
}

static void check_random(struct nuc_context *cx, void *arg)
{
    uint32_t *state = arg;
    bool supported[MAX_NODES + 2] = {false};
    struct nuc_graph *g = random_graph(cx, state, supported);
    struct plain p = {.n = g->next_id};

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_users; i++)
            p.edge[n->id][n->users[i]->id] = true;
    }
    for (uint32_t i = 0; i < p.n; i++)
        p.group[i] = -1;
    plain_propose(&p, supported);
    const struct nuc_flow flow = nuc_flow_of(g);
    struct nuc_proposal *found = nuc_propose_partitions(cx, cx->arena, &flow, supported);
    for (uint32_t i = 0; i < p.n; i++) {
        int tag = found->of[i] < 0 ? -1 : (int)found->tags[found->of[i]];
        if (tag != (p.group[i] < 0 ? -1 : p.tag[i]))
            fail_msg("node %u is in %d instead of %d in:\n%s", i, tag, p.group[i] < 0 ? -1 : p.tag[i],
                     nuc_graph_print(g, false));
    }
}

static void test_random_graphs(void **state)
{
    uint32_t seed = 1;

    for (int i = 0; i < 3000; i++)
        run_in_context(check_random, &seed);
}

/* ---- size and determinism ---- */

/* A chain in which every second operator is foreign: as many partitions as there are pairs. */
static void check_long_chain(struct nuc_context *cx, void *arg)
{
    const int64_t size = 1;
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &size, 1);
    struct nuc_graph *g = nuc_graph_new(cx, "chain");
    struct nuc_node *n = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta);
    bool *supported = nuc_alloc_array(cx, 100002, sizeof *supported);

    for (int i = 0; i < 100000; i++) {
        struct nuc_node *relu = nuc_add_node(g, NULL, NUC_OP_RELU, NULL);
        nuc_set_arg_node(relu, g, 0, n);
        nuc_set_val(g, relu, &meta);
        supported[relu->id] = i % 2 == 0;
        n = relu;
    }
    const struct nuc_flow flow = nuc_flow_of(g);
    assert_int_equal(nuc_propose_partitions(cx, cx->arena, &flow, supported)->count, 50000);
}

static void check_determinism(struct nuc_context *cx, void *arg)
{
    const char *text = START RELU("1", "x") RELU("2", "1") FOREIGN("3", "1") ADD("4", "2", "3") END("4");
    const char *first = NULL;

    for (int i = 0; i < 3; i++) {
        struct nuc_graph *g = parse_graph(cx, text);
        nuc_fuse_partitions(g, nuc_partition_graph(g, NULL));
        const char *printed = nuc_graph_print(g, true);
        if (first != NULL)
            assert_string_equal(printed, first);
        first = printed;
    }
}

/* ---- memory that runs out ---- */

/* An identity permutation, so that a trial run takes part. */
static void partition_and_fuse(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        parse_graph(cx, START RELU("1", "x") FOREIGN("2", "1") DEQUANTIZE("d3", "2")
                            LINE("r3", "edge.aten.permute_copy.default", "%d3, [0, 1]") QUANTIZE("3", "r3") END("3"));

    struct nuc_partitions *p = nuc_partition_graph(g, NULL);
    assert_int_equal(p->count, 1);
    nuc_fuse_partitions(g, p);
    *(bool *)arg = true;
}

static void test_out_of_memory(void **state)
{
    bool done = false;

    assert_true(run_call_out_of_memory(partition_and_fuse, &done) > 0);
    assert_true(done);
}

/* ---- sets of slots ---- */

static void check_slot_sets(struct nuc_context *cx, void *arg)
{
    uint32_t state = 7;

    for (int round = 0; round < 200; round++) {
        const struct slot_set *sets[2] = {NULL, NULL};
        bool in[2][64] = {{false}};
        for (int i = 0; i < 40; i++) {
            uint32_t which = random_below(&state, 2), slot = random_below(&state, 64);
            sets[which] = nuc_slot_set_add(cx, sets[which], slot);
            in[which][slot] = true;
        }
        const struct slot_set *both = nuc_slot_set_union(cx, sets[0], sets[1]);
        uint32_t absent = 64;
        for (uint32_t i = 64; i > 0; i--) {
            bool expected = in[0][i - 1] || in[1][i - 1];
            assert_int_equal(nuc_slot_set_has(both, i - 1), expected);
            absent = expected ? absent : i - 1;
            assert_int_equal(nuc_slot_set_next_absent(both, i - 1), absent);
        }
        assert_ptr_equal(nuc_slot_set_union(cx, both, sets[0]), both);
    }
}

RUN_TESTS(ROW_TEST(check_partitions, expectations), cmocka_unit_test(test_globs), cmocka_unit_test(test_names),
          ROW_TEST(check_loose_cluster, loose_clusters), CONTEXT_TEST(check_shared_constant),
          CONTEXT_TEST(check_reasons), CONTEXT_TEST(check_boundaries), CONTEXT_TEST(check_fused),
          CONTEXT_TEST(check_reordering), cmocka_unit_test(test_random_graphs), CONTEXT_TEST(check_slot_sets),
          cmocka_unit_test(test_out_of_memory), CONTEXT_TEST(check_long_chain), CONTEXT_TEST(check_determinism))
