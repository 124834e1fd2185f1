/*
 * Partitions of random quantized graphs, supported and unsupported operators mixed, with branches and joins: groups
 * wait for each other in no circle, delegated nodes satisfy their rules, nothing that does stays outside without a
 * reason, and every run gives the same.
 */
#include "graph_texts.h"

#include "compiler/partition/partition.h"
#include "compiler/support/support.h"

#define GRAPHS 1000
#define MAX_OPERATORS 66 /* three nodes each and more: up to 200 and some */

static uint32_t random_below(uint32_t *state, uint32_t limit)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

/* ---- graphs ---- */

/* Operators from one shape to the same shape, with `inputs` data inputs; the argument says what makes it special. */
struct kind {
    enum nuc_op op;
    uint32_t inputs;
    void (*fill)(struct nuc_graph *g, struct nuc_node *node);
};

static void fill_hardtanh(struct nuc_graph *g, struct nuc_node *node)
{
    (void)g;
    nuc_set_arg_float(node, 1, 0.0);
    nuc_set_arg_float(node, 2, 6.0);
}

/* Looser than the values can be: alone in a partition it changes nothing. */
static void fill_loose(struct nuc_graph *g, struct nuc_node *node)
{
    (void)g;
    nuc_set_arg_float(node, 1, -1000.0);
    nuc_set_arg_float(node, 2, 1000.0);
}

static void fill_softmax(struct nuc_graph *g, struct nuc_node *node)
{
    (void)g;
    nuc_set_arg_int(node, 1, 1);
    nuc_set_arg_bool(node, 2, false);
}

static void fill_softmax_rows(struct nuc_graph *g, struct nuc_node *node)
{
    (void)g;
    nuc_set_arg_int(node, 1, 0);
    nuc_set_arg_bool(node, 2, false);
}

static void fill_view(struct nuc_graph *g, struct nuc_node *node)
{
    const int64_t size[2] = {2, 8};

    nuc_set_arg_ints(node, g, 1, size, 2);
}

static void fill_permute(struct nuc_graph *g, struct nuc_node *node)
{
    const int64_t dims[2] = {0, 1};

    nuc_set_arg_ints(node, g, 1, dims, 2);
}

static void fill_alpha(struct nuc_graph *g, struct nuc_node *node)
{
    (void)g;
    nuc_set_arg_float(node, 2, 2.0);
}

static const struct kind kinds[] = {
    {NUC_OP_RELU, 1, NULL},      {NUC_OP_HARDTANH, 1, fill_hardtanh},
    {NUC_OP_ADD, 2, NULL},       {NUC_OP_MUL, 2, NULL},
    {NUC_OP_ABS, 1, NULL},       {NUC_OP_NATIVE_SOFTMAX, 1, fill_softmax},
    {NUC_OP_VIEW, 1, fill_view}, {NUC_OP_PERMUTE, 1, fill_permute},
    {NUC_OP_CLONE, 1, NULL},     {NUC_OP_HARDTANH, 1, fill_loose},
    {NUC_OP_GELU, 1, NULL},      {NUC_OP_NATIVE_SOFTMAX, 1, fill_softmax_rows},
    {NUC_OP_ADD, 2, fill_alpha}, {NUC_OP_SQRT, 1, NULL},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static void fill_quantization(struct nuc_node *node)
{
    nuc_set_arg_float(node, 1, 0.5);
    nuc_set_arg_int(node, 2, 0);
    nuc_set_arg_int(node, 3, -128);
    nuc_set_arg_int(node, 4, 127);
    nuc_set_arg_dtype(node, 5, NUC_I8);
}

static struct nuc_node *add_step(struct nuc_graph *g, enum nuc_op op, struct nuc_node *input, enum nuc_dtype dtype)
{
    const int64_t sizes[2] = {2, 8};
    struct nuc_meta meta = nuc_meta_make(dtype, sizes, 2);
    struct nuc_node *node = nuc_add_node(g, NULL, op, NULL);

    nuc_set_arg_node(node, g, 0, input);
    if (nuc_is_quantize(node) || nuc_is_dequantize(node))
        fill_quantization(node);
    nuc_set_val(g, node, &meta);
    return node;
}

/* dequantize each input -> operator -> quantize */
static struct nuc_node *add_cluster(struct nuc_graph *g, const struct kind *kind, struct nuc_node *const *inputs)
{
    struct nuc_node *data[2] = {NULL, NULL};

    for (uint32_t i = 0; i < kind->inputs; i++)
        data[i] = add_step(g, NUC_OP_DEQUANTIZE_PER_TENSOR, inputs[i], NUC_F32);
    struct nuc_node *node = add_step(g, kind->op, data[0], NUC_F32);
    if (kind->inputs == 2)
        nuc_set_arg_node(node, g, 1, data[1]);
    if (kind->fill != NULL)
        kind->fill(g, node);
    return add_step(g, NUC_OP_QUANTIZE_PER_TENSOR, node, NUC_I8);
}

static void add_output(struct nuc_graph *g)
{
    struct nuc_node **ends = nuc_alloc_array(g->cx, g->n_nodes, sizeof *ends);
    uint32_t count = 0;

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->n_users == 0)
            ends[count++] = n;
    }
    nuc_set_arg_nodes(nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output"), g, 0, ends, count);
}

static struct nuc_graph *new_graph(struct nuc_context *cx, struct nuc_node **start)
{
    const int64_t sizes[2] = {2, 8};
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, 2);
    struct nuc_graph *g = nuc_graph_new(cx, "random");
    struct nuc_node *x = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta);

    *start = add_step(g, NUC_OP_QUANTIZE_PER_TENSOR, x, NUC_I8);
    return g;
}

/* Every operator reads results of the last few: many branches, many joins. */
static struct nuc_graph *random_graph(struct nuc_context *cx, uint32_t *state)
{
    struct nuc_node *results[MAX_OPERATORS + 1];
    struct nuc_graph *g = new_graph(cx, &results[0]);
    uint32_t count = 2 + random_below(state, MAX_OPERATORS - 1), near = 1 + random_below(state, 12);
    uint32_t good = 2 + random_below(state, 8); /* of ten operators, how many the NPU takes at least */

    for (uint32_t i = 1; i < count; i++) {
        struct nuc_node *inputs[2];
        for (uint32_t k = 0; k < 2; k++)
            inputs[k] = results[i - 1 - random_below(state, i < near ? i : near)];
        uint32_t kind = random_below(state, random_below(state, 10) < good ? 6 : N_KINDS);
        results[i] = add_cluster(g, &kinds[kind], inputs);
    }
    add_output(g);
    return g;
}

/* ---- what has to hold ---- */

struct check {
    struct nuc_graph *g;
    const struct nuc_partitions *p;
    struct nuc_support support;
    bool allow_no_ops;
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
    return nuc_is_call(n) && !nuc_is_quantize(n) && !nuc_is_dequantize(n);
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
        if (!is_compute(n))
            continue;
        struct nuc_verdict v = nuc_check_support(&c->support, n);
        if (!v.ok) {
            assert_string_equal(d->rule, v.rule);
            continue;
        }
        bool alone = strstr(d->rule, "alone in its partition") != NULL || strstr(d->rule, "not alone") != NULL;
        bool empty = strcmp(d->rule, "the partition has an operator that changes its data") == 0;
        if (!alone && !empty)
            fail_msg("'%s' stays on the CPU because of '%s' in:\n%s", n->name, d->rule, nuc_graph_print(c->g, false));
        assert_false(empty && c->allow_no_ops);
        if (empty)
            assert_true(nuc_is_no_op(&c->support, n));
        const struct nuc_support_row *row = nuc_support_row(c->support.flavor, n->op);
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

static void test_random(void **state)
{
    struct counts counts = {.seed = 1};

    (void)state;
    for (int i = 0; i < GRAPHS; i++)
        run_in_context(check_random, &counts);
    /* The graphs are of both kinds, and many fall into several partitions. */
    assert_true(counts.delegated > 10000);
    assert_true(counts.refused > 3000);
    assert_true(counts.partitions > GRAPHS);
}

/* ---- a chain of 100,000 nodes ---- */

/* Three nodes an operator; every fourth operator is foreign, and what it cuts off is partly no partition. */
static void check_chain(struct nuc_context *cx, void *arg)
{
    static const uint32_t pattern[] = {0, 2, 10, 6, 10, 4, 6, 10}; /* relu add gelu view gelu abs view gelu */
    struct nuc_node *last;
    struct nuc_graph *g = new_graph(cx, &last);
    uint32_t operators = 0;

    (void)arg;
    for (uint32_t i = 0; g->n_nodes < 100000; i++) {
        struct nuc_node *inputs[2] = {last, last};
        last = add_cluster(g, &kinds[pattern[i % 8]], inputs);
        operators++;
    }
    add_output(g);
    const struct nuc_partitions *p = nuc_partition_graph(g, NULL);
    /* relu with add, and abs with view; the view between two foreign operators is none. */
    assert_true(p->count >= operators / 8 * 2 && p->count <= operators / 8 * 2 + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        CONTEXT_TEST(check_chain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
