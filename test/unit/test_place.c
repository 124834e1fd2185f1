/*
 * Placement by cost: least cuts against all assignments, the cut of a placement against all placements, the search
 * against the greedy placement, and graphs where the greedy one is wrong.
 */
#include "quantized_text.h"
#include "random.h"

#include "algorithms/cut.h"
#include "host/text.h"
#include "npu/layout/layout.h"
#include "npu/partition/partition.h"
#include "npu/partition/place.h"
#include "npu/support/cluster.h"
#include "npu/target/target.h"

/* ---- cuts ---- */

enum { MOST_VARIABLES = 10, MOST_PAIRS = 24, ENERGIES = 2000 };

struct energy {
    uint32_t n_variables, n_pairs;
    int64_t single[MOST_VARIABLES];
    struct {
        uint32_t no, yes, cost;
    } pairs[MOST_PAIRS];
};

static int64_t energy_of(const struct energy *e, uint32_t yes)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < e->n_variables; i++)
        sum += yes >> i & 1 ? e->single[i] : 0;
    for (uint32_t i = 0; i < e->n_pairs; i++)
        sum += !(yes >> e->pairs[i].no & 1) && (yes >> e->pairs[i].yes & 1) ? e->pairs[i].cost : 0;
    return sum;
}

static uint32_t solve(struct nuc_context *cx, const struct energy *e)
{
    struct nuc_cut *cut = nuc_cut_new(cx, e->n_variables);
    bool yes[MOST_VARIABLES];
    uint32_t found = 0;

    for (uint32_t i = 0; i < e->n_variables; i++)
        nuc_cut_single(cut, i, e->single[i]);
    for (uint32_t i = 0; i < e->n_pairs; i++)
        nuc_cut_pair(cut, e->pairs[i].no, e->pairs[i].yes, e->pairs[i].cost);
    nuc_cut_solve(cut, yes);
    for (uint32_t i = 0; i < e->n_variables; i++)
        found |= (uint32_t)yes[i] << i;
    return found;
}

/* The least energy, and of several assignments with it the one whose yes all others have, too. */
static void check_cuts(struct nuc_context *cx, void *arg)
{
    uint32_t state = 7;

    for (int round = 0; round < ENERGIES; round++) {
        struct energy e = {.n_variables = 1 + random_below(&state, MOST_VARIABLES),
                           .n_pairs = random_below(&state, MOST_PAIRS + 1)};
        for (uint32_t i = 0; i < e.n_variables; i++)
            e.single[i] = (int64_t)random_below(&state, 21) - 10;
        for (uint32_t i = 0; i < e.n_pairs; i++) {
            e.pairs[i].no = random_below(&state, e.n_variables);
            e.pairs[i].yes = random_below(&state, e.n_variables);
            e.pairs[i].cost = random_below(&state, 12);
        }
        uint32_t found = solve(cx, &e);
        for (uint32_t other = 0; other < 1u << e.n_variables; other++) {
            assert_true(energy_of(&e, found) <= energy_of(&e, other));
            assert_true(energy_of(&e, found) < energy_of(&e, other) || (found & ~other) == 0);
        }
    }
}

/* ---- placements of random graphs ---- */

#define Q "0.5, 0, -128, 127, int8"

/* Operators from one image to another of the same sizes; the first `n_own` of them run on the NPU. */
static const struct kind {
    const char *name, *more;
    uint32_t inputs;
} kinds[] = {
    {"edge.aten.relu.default", "", 1},
    {"edge.aten.abs.default", "", 1},
    {"edge.aten.add.Tensor", "", 2},
    {"edge.aten.mul.Tensor", "", 2},
    {"edge.aten.avg_pool2d.default", ", [1, 1], [1, 1]", 1},
    {"edge.aten.gelu.default", "", 1},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])
enum { MOST_OPERATORS = 11, GRAPHS = 400 };

static struct nuc_graph *random_graph(struct nuc_context *cx, uint32_t *state)
{
    static const uint32_t sides[] = {1, 2, 4, 8, 16};
    uint32_t count = 1 + random_below(state, MOST_OPERATORS), side = sides[random_below(state, 5)];
    bool read[MOST_OPERATORS + 1] = {false};
    struct nuc_text text = {.cx = cx};

    nuc_text_addf(&text,
                  "nucleon-graph 1\n%%x = input : float32[1, 4, %u, %u]\n"
                  "%%q0 = quantized_decomposed.quantize_per_tensor.default(%%x, " Q ")\n",
                  side, side);
    for (uint32_t at = 1; at <= count; at++) {
        const struct kind *kind = &kinds[random_below(state, N_KINDS)];
        for (uint32_t i = 0; i < kind->inputs; i++) {
            uint32_t from = at - 1 - random_below(state, at < 4 ? at : 4);
            nuc_text_addf(&text, "%%d%u_%u = quantized_decomposed.dequantize_per_tensor.default(%%q%u, " Q ")\n", at, i,
                          from);
            read[from] = true;
        }
        nuc_text_addf(&text, "%%r%u = %s(%%d%u_0", at, kind->name, at);
        if (kind->inputs == 2)
            nuc_text_addf(&text, ", %%d%u_1", at);
        nuc_text_addf(&text, "%s)\n%%q%u = quantized_decomposed.quantize_per_tensor.default(%%r%u, " Q ")\n",
                      kind->more, at, at);
    }
    nuc_text_addf(&text, "%%output = output([");
    for (uint32_t i = 0, ends = 0; i <= count; i++) {
        if (!read[i])
            nuc_text_addf(&text, "%s%%q%u", ends++ == 0 ? "" : ", ", i);
    }
    nuc_text_addf(&text, "])\n");
    return nuc_graph_parse(cx, "random", nuc_text_string(&text));
}

static bool is_on_cpu(uint32_t sides, uint32_t item)
{
    return item == NUC_NO_ITEM || (sides >> item & 1);
}

/* What nuc_place_cut() minimizes, said again. */
static int64_t pairwise_cost(const struct nuc_place_model *m, int64_t share, uint32_t sides)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < m->n_items; i++)
        sum += is_on_cpu(sides, i) ? m->items[i].cpu : m->items[i].npu;
    for (uint32_t i = 0; i < m->n_values; i++) {
        const struct nuc_place_value *v = &m->values[i];
        bool by_npu = false, by_cpu = v->read_outside;
        for (uint32_t r = 0; r < v->n_readers; r++) {
            bool cpu = is_on_cpu(sides, m->readers[v->first_reader + r]);
            by_cpu |= cpu;
            by_npu |= !cpu;
        }
        if (is_on_cpu(sides, v->maker))
            sum += by_npu ? v->into + share : 0;
        else
            sum += by_cpu ? v->out + share : 0;
    }
    return sum;
}

static void check_place_cut(const struct nuc_place_model *m, int64_t share)
{
    bool on_cpu[MOST_OPERATORS];
    uint32_t found = 0;

    nuc_place_cut(m, share, on_cpu);
    for (uint32_t i = 0; i < m->n_items; i++)
        found |= (uint32_t)on_cpu[i] << i;
    int64_t cost = pairwise_cost(m, share, found);
    for (uint32_t other = 0; other < 1u << m->n_items; other++)
        assert_true(cost <= pairwise_cost(m, share, other));
}

struct totals {
    uint32_t seed, moved, kept, better;
};

static int64_t cost_of(const struct nuc_place_model *m, struct nuc_graph *g, const struct nuc_partitions *p)
{
    struct nuc_proposal proposal = {.count = p->count, .of = nuc_alloc_array(g->cx, g->next_id, sizeof(int32_t))};

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        proposal.of[n->id] = nuc_is_call(n) ? n->partition : -1;
    return nuc_place_cost(m, &proposal);
}

static struct nuc_place_model *model_of(struct nuc_graph *g)
{
    bool *refused = nuc_alloc_array(g->cx, g->next_id, sizeof *refused);

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        refused[n->id] = n->do_not_delegate;
    return nuc_place_model_new(g, nuc_target_find(g->cx, NULL), refused, NULL);
}

static void check_graph(struct nuc_context *cx, void *arg)
{
    struct totals *t = arg;
    uint32_t state = t->seed;
    struct nuc_graph *g = random_graph(cx, &t->seed), *again = random_graph(cx, &state);
    struct nuc_partition_options options = {.target = NULL};
    const struct nuc_partitions *greedy = nuc_partition_graph(g, &options);
    const struct nuc_place_model *m = model_of(g);
    int64_t before = cost_of(m, g, greedy);

    assert_true(m->n_items <= MOST_OPERATORS);
    for (int64_t share = 0; share <= m->call; share += m->call / 2)
        check_place_cut(m, share);
    options.by_cost = true;
    const struct nuc_partitions *by_cost = nuc_partition_graph(again, &options);
    int64_t after = cost_of(m, again, by_cost); /* ids are those of `g` */
    assert_true(by_cost->n_by_cost == 0 ? after == before && by_cost->count == greedy->count : after < before);
    t->moved += by_cost->n_by_cost;
    t->kept += by_cost->count;
    t->better += after < before;
}

static void test_graphs(void **state)
{
    struct totals t = {.seed = 1};

    for (int i = 0; i < GRAPHS; i++)
        run_in_context(check_graph, &t);
    /* The graphs are of all kinds. */
    assert_true(t.moved > GRAPHS / 4 && t.kept > GRAPHS / 4 && t.better > GRAPHS / 8 && t.better < GRAPHS);
}

/* ---- graphs where the greedy placement is wrong, and where it is right ---- */

#define LINE(result, op, args) "%" result " = " op "(" args ")\n"
#define QUANTIZE(name, input) LINE(name, "quantized_decomposed.quantize_per_tensor.default", "%" input ", " Q)
#define DEQUANTIZE(name, input) LINE(name, "quantized_decomposed.dequantize_per_tensor.default", "%" input ", " Q)
#define UNARY(op, i, from) DEQUANTIZE("d" i, from) LINE("r" i, "edge.aten." op ".default", "%d" i) QUANTIZE(i, "r" i)
#define TIMES(i, from, other)                                                                                          \
    DEQUANTIZE("d" i, from)                                                                                            \
    DEQUANTIZE("e" i, other)                                                                                           \
    LINE("r" i, "edge.aten.mul.Tensor", "%d" i ", %e" i) QUANTIZE(i, "r" i)
#define SQUARE(i, from) TIMES(i, from, from)
#define START(size)                                                                                                    \
    "%in = input : float32[1, " size "]\n%in2 = input : float32[1, " size "]\n" QUANTIZE("x", "in") QUANTIZE("o", "in" \
                                                                                                                  "2")
#define END(from) DEQUANTIZE("last", from) "%output = output([%last])\n"

static const struct scene {
    const char *what, *graph;
    uint32_t greedy, by_cost; /* partitions */
    const char *on_cpu;       /* a node the NPU could run, NULL: none is on the CPU */
} scenes[] = {
    {"a lone cheap operator between two of the CPU",
     START("16") UNARY("gelu", "1", "x") SQUARE("2", "1") UNARY("gelu", "3", "2") END("3"), 1, 0, "r2"},
    {"two cheap operators between two of the CPU",
     START("16") UNARY("gelu", "1", "x") TIMES("2", "1", "o") TIMES("3", "2", "o") UNARY("gelu", "4", "3") END("4"), 1,
     0, "r2"},
    {"a large one between two of the CPU",
     START("65536") UNARY("gelu", "1", "x") SQUARE("2", "1") UNARY("gelu", "3", "2") END("3"), 1, 1, NULL},
    {"two long chains joined by a cheap operator stay one call",
     START("8192") TIMES("1", "x", "o") TIMES("2", "1", "o") TIMES("3", "2", "o") TIMES("4", "3", "o")
         TIMES("5", "4", "o") END("5"),
     1, 1, NULL},
    {"two long chains joined by an operator of the CPU stay two",
     START("8192") TIMES("1", "x", "o") TIMES("2", "1", "o") UNARY("gelu", "3", "2") TIMES("4", "3", "o")
         TIMES("5", "4", "o") END("5"),
     2, 2, NULL},
    {"a cheap operator at the end of a chain goes with what follows it",
     "%in = input : float32[1, 8192]\n%small = input : float32[1, 2]\n" QUANTIZE("x", "in") QUANTIZE("y", "small")
         SQUARE("1", "x") UNARY("gelu", "2", "y") SQUARE("3", "2") UNARY("gelu", "4", "3") DEQUANTIZE("l1", "1")
             DEQUANTIZE("l2", "4") "%output = output([%l1, %l2])\n",
     1, 1, "r3"},
    {"functions of one value, in several operators, are the end of the call before them",
     START("2") UNARY("gelu", "1", "x") TIMES("2", "1", "o") UNARY("abs", "3", "2") SQUARE("4", "2")
         TIMES("5", "3", "4") UNARY("gelu", "6", "5") END("6"),
     1, 1, NULL},
    {"as many operators of two values are a call each",
     START("2") UNARY("gelu", "1", "x") TIMES("2", "1", "o") TIMES("3", "2", "o") TIMES("4", "3", "o")
         UNARY("gelu", "6", "4") END("6"),
     1, 0, "r2"},
};

static void check_scene(struct nuc_context *cx, void *arg)
{
    const struct scene *s = arg;
    struct nuc_partition_options options = {.target = NULL};
    struct nuc_graph *g = parse_graph(cx, s->graph);
    const struct nuc_partitions *greedy = nuc_partition_graph(g, &options);
    const struct nuc_place_model *m = model_of(g);
    int64_t before = cost_of(m, g, greedy);

    assert_int_equal(greedy->count, s->greedy);
    options.by_cost = true;
    g = parse_graph(cx, s->graph);
    const struct nuc_partitions *p = nuc_partition_graph(g, &options);
    if (p->count != s->by_cost)
        fail_msg("%s: %u partitions", s->what, p->count);
    assert_int_equal(p->n_by_cost > 0, s->on_cpu != NULL);
    if (s->on_cpu == NULL)
        return;
    const struct nuc_decision *d = p->by_id[nuc_find_node(g, s->on_cpu)->id];
    assert_false(d->delegated);
    assert_non_null(strstr(d->rule, "fewer cycles"));
    /* Where nothing else changes places, the two figures differ by as much as the placements. */
    long long npu = 0, cpu = 0;
    assert_true(sscanf(d->actual, "about %lld", &npu) == 1 && sscanf(d->limit, "%lld", &cpu) == 1);
    if (p->count == 0)
        assert_int_equal(npu - cpu, before - cost_of(m, g, p));
}

/* With int8 kernels the same operator takes the CPU less: it needs no quantize and dequantize nodes. */
static bool has_any_kernel(enum nuc_op op)
{
    return true;
}

static void check_int8_cpu(struct nuc_context *cx, void *arg)
{
    static const char graph[] = START("96") UNARY("gelu", "1", "x") SQUARE("2", "1") UNARY("gelu", "3", "2") END("3");
    struct nuc_partition_options options = {.by_cost = true};

    assert_int_equal(nuc_partition_graph(parse_graph(cx, graph), &options)->count, 1);
    options.has_int8_kernel = has_any_kernel;
    assert_int_equal(nuc_partition_graph(parse_graph(cx, graph), &options)->count, 0);
}

/* A part that is read outside of its partition is a copy of the NPU, which takes longer than one of the CPU. */
static void check_part_outside(struct nuc_context *cx, void *arg)
{
    static const char graph[] = START("8192") SQUARE("1", "x") DEQUANTIZE("d2", "1")
        LINE("r2", "edge.aten.slice_copy.Tensor", "%d2, 1, 0, 16") QUANTIZE("2", "r2") UNARY("gelu", "3", "2")
            SQUARE("4", "1") DEQUANTIZE("l1", "3") DEQUANTIZE("l2", "4") "%output = output([%l1, %l2])\n";
    struct nuc_partition_options options = {.by_cost = true, .has_int8_kernel = has_any_kernel};
    struct nuc_graph *g = parse_graph(cx, graph);

    assert_int_equal(nuc_partition_graph(g, &options)->count, 1);
    assert_true(node_of(g, "r1")->partition >= 0 && node_of(g, "r2")->partition < 0);
}

RUN_TESTS(CONTEXT_TEST(check_cuts), cmocka_unit_test(test_graphs), ROW_TEST(check_scene, scenes),
          CONTEXT_TEST(check_int8_cpu), CONTEXT_TEST(check_part_outside))
