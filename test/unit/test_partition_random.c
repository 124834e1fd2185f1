/*
 * Partitions of random quantized graphs, supported and unsupported operators mixed, with branches and joins: groups
 * wait for each other in no circle, delegated nodes satisfy their rules, nothing that does stays outside without a
 * reason, and every run gives the same.
 */
#include "graph_texts.h"
#include "random.h"

#include "host/text.h"
#include "npu/partition/partition.h"
#include "npu/support/support.h"

#define GRAPHS 1000
#define MAX_OPERATORS 66 /* three nodes each and more: up to 200 and some */

/* ---- graphs ---- */

/* Operators from one shape to the same shape, with `inputs` data inputs, and what follows these in the call. */
static const struct kind {
    const char *name;
    uint32_t inputs;
    const char *more;
} kinds[] = {
    {"edge.aten.relu.default", 1, ""},
    {"edge.aten.hardtanh.default", 1, ", 0.0, 6.0"},
    {"edge.aten.add.Tensor", 2, ""},
    {"edge.aten.mul.Tensor", 2, ""},
    {"edge.aten.abs.default", 1, ""},
    {"edge.aten._softmax.default", 1, ", 1, false"},
    {"edge.aten.view_copy.default", 1, ", [2, 8]"},
    {"edge.aten.permute_copy.default", 1, ", [0, 1]"},
    {"edge.dim_order_ops._clone_dim_order.default", 1, ", dim_order=[0, 1]"},
    /* Looser than the values can be: alone in a partition it changes nothing. */
    {"edge.aten.hardtanh.default", 1, ", -1000.0, 1000.0"},
    {"edge.aten.gelu.default", 1, ""},
    {"edge.aten._softmax.default", 1, ", 0, false"},
    {"edge.aten.add.Tensor", 2, ", alpha=2.0"},
    {"edge.aten.sqrt.default", 1, ""},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])
#define Q "0.5, 0, -128, 127, int8"

/* The text of a graph as it grows: %q0, %q1, ... are the int8 results; those that nothing reads are given out. */
struct growing {
    struct nuc_text text;
    uint32_t count;
    bool *read;
};

static struct growing new_graph(struct nuc_context *cx, uint32_t most)
{
    struct growing g = {.text = {.cx = cx}, .count = 1, .read = nuc_alloc_array(cx, most, sizeof *g.read)};

    nuc_text_addf(&g.text, "nucleon-graph 1\n%%x = input : float32[2, 8]\n"
                           "%%q0 = quantized_decomposed.quantize_per_tensor.default(%%x, " Q ")\n");
    return g;
}

/* dequantize each input -> operator -> quantize */
static void add_cluster(struct growing *g, const struct kind *kind, const uint32_t *inputs)
{
    unsigned at = g->count++;

    for (uint32_t i = 0; i < kind->inputs; i++) {
        nuc_text_addf(&g->text, "%%d%u_%u = quantized_decomposed.dequantize_per_tensor.default(%%q%u, " Q ")\n", at, i,
                      inputs[i]);
        g->read[inputs[i]] = true;
    }
    nuc_text_addf(&g->text, "%%r%u = %s(%%d%u_0", at, kind->name, at);
    if (kind->inputs == 2)
        nuc_text_addf(&g->text, ", %%d%u_1", at);
    nuc_text_addf(&g->text, "%s)\n%%q%u = quantized_decomposed.quantize_per_tensor.default(%%r%u, " Q ")\n", kind->more,
                  at, at);
}

static struct nuc_graph *finished(struct growing *g)
{
    nuc_text_addf(&g->text, "%%output = output([");
    for (uint32_t i = 0, ends = 0; i < g->count; i++) {
        if (!g->read[i])
            nuc_text_addf(&g->text, "%s%%q%u", ends++ == 0 ? "" : ", ", i);
    }
    nuc_text_addf(&g->text, "])\n");
    return nuc_graph_parse(g->text.cx, "random", nuc_text_string(&g->text));
}

/* Every operator reads results of the last few: many branches, many joins. */
static struct nuc_graph *random_graph(struct nuc_context *cx, uint32_t *state)
{
    struct growing g = new_graph(cx, MAX_OPERATORS + 1);
    uint32_t count = 2 + random_below(state, MAX_OPERATORS - 1), near = 1 + random_below(state, 12);
    uint32_t good = 2 + random_below(state, 8); /* of ten operators, how many the NPU takes at least */

    for (uint32_t i = 1; i < count; i++) {
        uint32_t inputs[2];
        for (uint32_t k = 0; k < 2; k++)
            inputs[k] = i - 1 - random_below(state, i < near ? i : near);
        add_cluster(&g, &kinds[random_below(state, random_below(state, 10) < good ? 6 : N_KINDS)], inputs);
    }
    return finished(&g);
}

/* ---- what has to hold ---- */

struct check {
    struct nuc_graph *g;
    const struct nuc_partitions *p;
    struct nuc_support support;
    bool allow_no_ops, by_cost;
};

/* Partitions as single vertices: all can be put in an order. `waits` counts edges into each vertex. */
struct vertices {
    const struct check *c;
    uint32_t *vertex; /* by node id: partition, or a number of its own after them */
    uint32_t *waits;
    uint32_t count;
};

static void count_edge(struct vertices *v, const struct nuc_node *from, const struct nuc_node *to, int by)
{
    if (v->vertex[from->id] != v->vertex[to->id])
        v->waits[v->vertex[to->id]] += (uint32_t)by;
}

static uint32_t release(struct vertices *v, bool *done)
{
    uint32_t released = 0;

    for (uint32_t k = 0; k < v->count; k++) {
        if (done[k] || v->waits[k] != 0)
            continue;
        done[k] = true;
        released++;
        for (const struct nuc_node *n = v->c->g->first; n != NULL; n = n->next) {
            for (uint32_t i = 0; v->vertex[n->id] == k && i < n->n_users; i++)
                count_edge(v, n, n->users[i], -1);
        }
    }
    return released;
}

static void check_acyclic(const struct check *c)
{
    struct nuc_context *cx = c->g->cx;
    struct vertices v = {.c = c, .count = c->p->count};
    uint32_t released = 0, now;

    v.vertex = nuc_alloc_array(cx, c->g->next_id, sizeof *v.vertex);
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next)
        v.vertex[n->id] = nuc_is_call(n) && n->partition >= 0 ? (uint32_t)n->partition : v.count++;
    v.waits = nuc_alloc_array(cx, v.count, sizeof *v.waits);
    bool *done = nuc_alloc_array(cx, v.count, sizeof *done);
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_users; i++)
            count_edge(&v, n, n->users[i], 1);
    }
    while ((now = release(&v, done)) != 0)
        released += now;
    if (released != v.count)
        fail_msg("partitions wait for each other in:\n%s", nuc_graph_print(c->g, false));
}

static bool is_compute(const struct nuc_node *n)
{
    return nuc_is_call(n) && !nuc_is_quantization(n);
}

static void check_rules(const struct check *c)
{
    int32_t *of = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *of);
    uint32_t *n_compute = nuc_alloc_array(c->g->cx, (size_t)c->p->count + 1, sizeof *n_compute);
    bool *works = nuc_alloc_array(c->g->cx, (size_t)c->p->count + 1, sizeof *works);
    struct nuc_partition_view view = {of, n_compute};
    struct nuc_support s = c->support;

    s.partitions = &view;
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        of[n->id] = nuc_is_call(n) ? n->partition : -1;
        if (is_compute(n) && n->partition >= 0)
            n_compute[n->partition]++;
    }
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        if (!is_compute(n) || n->partition < 0)
            continue;
        assert_true(nuc_check_support(&s, n).ok);
        assert_true(nuc_check_partition(&s, n).ok);
        works[n->partition] = works[n->partition] || !nuc_is_no_op(&s, n);
        /* The whole cluster is in the same partition. */
        assert_int_equal(n->users[0]->partition, n->partition);
        assert_int_equal(argument_of(n, 0)->partition, n->partition);
    }
    for (uint32_t k = 0; k < c->p->count; k++)
        assert_true(c->allow_no_ops || works[k]);
}

/*
 * A node whose own rules hold stays outside for what its partition would have been: an operator that may leave its data
 * alone, or that sits in a group of such operators. Nothing else may be left out.
 */
static void check_left_out(const struct check *c)
{
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        const struct nuc_decision *d = nuc_is_call(n) ? c->p->by_id[n->id] : NULL;
        if (d == NULL || d->delegated)
            continue;
        assert_non_null(d->rule);
        if (!is_compute(n) || (c->by_cost && strstr(d->rule, "fewer cycles") != NULL))
            continue;
        struct nuc_verdict v = nuc_check_support(&c->support, n);
        if (!v.ok) {
            assert_string_equal(d->rule, v.rule);
            continue;
        }
        bool alone = strstr(d->rule, "alone in its partition") != NULL || strstr(d->rule, "not alone") != NULL;
        /* Every value has one scale here, also that of a softmax. */
        if (strstr(d->rule, "the NPU's table") != NULL) {
            assert_int_equal(n->op, NUC_OP_NATIVE_SOFTMAX);
            continue;
        }
        bool empty = strcmp(d->rule, "the partition has an operator that changes its data") == 0;
        if (!alone && !empty)
            fail_msg("'%s' stays on the CPU because of '%s' in:\n%s", n->name, d->rule, nuc_graph_print(c->g, false));
        assert_false(empty && c->allow_no_ops);
        if (empty)
            assert_true(nuc_is_no_op(&c->support, n));
        const struct nuc_support_row *row = nuc_support_row(&c->support, n->op);
        assert_true(empty || row->partition != NULL);
    }
}

static void check_same(struct nuc_context *cx, const struct check *c, const struct nuc_partition_options *options,
                       uint32_t seed)
{
    struct nuc_graph *again = random_graph(cx, &seed);
    const struct nuc_partitions *p = nuc_partition_graph(again, options);

    assert_int_equal(p->count, c->p->count);
    assert_string_equal(nuc_graph_print(again, false), nuc_graph_print(c->g, false));
    for (uint32_t i = 0; i < p->count; i++)
        assert_string_equal(p->items[i].tag, c->p->items[i].tag);
}

struct counts {
    uint32_t seed, delegated, refused, partitions;
};

static void check_random(struct nuc_context *cx, void *arg)
{
    struct counts *counts = arg;
    uint32_t seed = counts->seed;
    bool allow = seed % 5 == 0;
    struct nuc_partition_options options = {.flavor = nuc_flavor_find(cx, seed % 3 == 0 ? "sdk-3.1" : "sdk-3.2"),
                                            .allow_no_op_partitions = allow};
    struct check c = {.g = random_graph(cx, &counts->seed), .allow_no_ops = allow};

    c.p = nuc_partition_graph(c.g, &options);
    c.support = (struct nuc_support){.g = c.g, .target = nuc_target_find(cx, NULL), .flavor = options.flavor};
    check_acyclic(&c);
    check_rules(&c);
    check_left_out(&c);
    check_same(cx, &c, &options, seed);
    counts->partitions += c.p->count;
    for (const struct nuc_node *n = c.g->first; n != NULL; n = n->next) {
        counts->delegated += is_compute(n) && n->partition >= 0;
        counts->refused += is_compute(n) && n->partition < 0;
    }
}

/* The same by cost, which leaves more outside. */
static void check_by_cost(struct nuc_context *cx, void *arg)
{
    struct counts *counts = arg;
    uint32_t seed = counts->seed;
    struct nuc_partition_options options = {.by_cost = true};
    struct check c = {.g = random_graph(cx, &counts->seed), .by_cost = true};

    c.p = nuc_partition_graph(c.g, &options);
    c.support =
        (struct nuc_support){.g = c.g, .target = nuc_target_find(cx, NULL), .flavor = nuc_flavor_find(cx, NULL)};
    check_acyclic(&c);
    check_rules(&c);
    check_left_out(&c);
    check_same(cx, &c, &options, seed);
    counts->refused += c.p->n_by_cost;
    counts->partitions += c.p->count;
}

static void test_by_cost(void **state)
{
    struct counts counts = {.seed = 5};

    for (int i = 0; i < GRAPHS / 2; i++)
        run_in_context(check_by_cost, &counts);
    assert_true(counts.refused > 1000 && counts.partitions > 10);
}

static void test_random(void **state)
{
    struct counts counts = {.seed = 1};

    for (int i = 0; i < GRAPHS; i++)
        run_in_context(check_random, &counts);
    /* The graphs are of both kinds, and many fall into several partitions. */
    assert_true(counts.delegated > 10000);
    assert_true(counts.refused > 3000);
    assert_true(counts.partitions > GRAPHS);
}

/* ---- a chain of 100,000 nodes ---- */

/* Three nodes per operator; every fourth operator is foreign, and what it cuts off is partly no partition. A sum is one
 * of two values. */
static void check_chain(struct nuc_context *cx, void *arg)
{
    static const uint32_t pattern[] = {10, 6, 10, 4, 6, 10, 0, 2}; /* gelu view gelu abs view gelu relu add */
    enum { OPERATORS = 32000 };
    struct growing growing = new_graph(cx, OPERATORS + 1);

    for (uint32_t i = 0; i < OPERATORS; i++)
        add_cluster(&growing, &kinds[pattern[i % 8]], (const uint32_t[]){i, i < 2 ? i : i - 2});
    struct nuc_graph *g = finished(&growing);
    assert_true(g->n_nodes > 100000);
    const struct nuc_partitions *p = nuc_partition_graph(g, NULL);
    /* relu with add, and abs with view; the view between two foreign operators is none. */
    assert_true(p->count >= OPERATORS / 8 * 2 && p->count <= OPERATORS / 8 * 2 + 2);
    /* By cost, sixteen values each are work for the CPU: none is left, in about the same time. */
    struct nuc_partition_options by_cost = {.by_cost = true};
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        n->do_not_delegate = false;
    assert_int_equal(nuc_partition_graph(g, &by_cost)->count, 0);
}

RUN_TESTS(cmocka_unit_test(test_random), cmocka_unit_test(test_by_cost), CONTEXT_TEST(check_chain))
