/* Planning and running of graphs: order, views, memory reuse, constants, observation, refusals. */
#include "unit/eval_graphs.h"

#include "eval/eval_call.h"
#include "unit/failing_memory.h"

/* x -> relu -> clone -> view -> relu6 ... -> output, `length` computing nodes long, each on 64 floats. */
static struct nuc_graph *chain(int length)
{
    char text[2048] = "$v0 = input : float32[4, 16]\n";

    for (int i = 0; i < length; i++) {
        size_t end = strlen(text);
        snprintf(text + end, sizeof text - end,
                 "$r%d = aten.%s.default($v%d); $c%d = aten.clone.default($r%d); $v%d = aten.view.default($c%d, %s)\n",
                 i, i % 2 == 0 ? "relu" : "relu6", i, i, i, i + 1, i, i % 2 == 0 ? "[-1, 8]" : "[4, 16]");
    }
    return graph_of("%s", text);
}

/* A chain needs two buffers however long it is: views and clones take none. */
static void activations_share_memory(void **state)
{
    for (int length = 2; length < 12; length += 3) {
        struct nuc_graph *g = chain(length);
        assert_int_equal(nuc_eval_fork_size(nuc_eval_new(g, 1)), 2 * 64 * sizeof(float));
        free_graph(g);
    }
}

static void chain_computes(void **state)
{
    struct nuc_graph *g = chain(5);
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    float in[64], out[64];

    for (int i = 0; i < 64; i++)
        in[i] = (float)(i - 32) / 4.0f;
    for (int run = 0; run < 2; run++) {
        nuc_eval_run(e, (const void *const[]){in}, (void *const[]){out});
        for (int i = 0; i < 64; i++)
            assert_true(out[i] == (in[i] < 0.0f ? 0.0f : in[i] > 6.0f ? 6.0f : in[i]));
    }
    nuc_eval_run(e, (const void *const[]){in}, (void *const[]){NULL});
    nuc_eval_run(e, (const void *const[]){in}, NULL);
    free_graph(g);
}

/* Random dags of sums: a value must stay intact until its last reader, wherever the arena puts it. */
static void values_live_until_last_use(void **state)
{
    enum { NODES = 60, N = 24 };
    uint32_t seed = 1;

    for (int round = 0; round < 20; round++) {
        float want[NODES] = {1.0f}, in[N], out[N];
        char text[4000] = "$n0 = input : float32[24]\n";
        for (int i = 1; i < NODES; i++) {
            int a = (int)random_in(&seed, i < 12 ? 0 : i - 12, i - 1), b = (int)random_in(&seed, 0, i - 1);
            size_t end = strlen(text);
            snprintf(text + end, sizeof text - end, "$n%d = aten.add.Tensor($n%d, $n%d, alpha=0.25)\n", i, a, b);
            want[i] = want[a] + 0.25f * want[b];
        }
        struct nuc_graph *g = graph_of("%s", text);
        for (int i = 0; i < N; i++)
            in[i] = 1.0f;
        nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){in}, (void *const[]){out});
        for (int i = 0; i < N; i++)
            assert_true(out[i] == want[NODES - 1]);
        free_graph(g);
    }
}

/* Two inputs; outputs that are an input, a constant, a view of a value and the value. */
static void inputs_and_outputs(void **state)
{
    const float constant[2] = {7.0f, 8.0f}, a[2] = {1.0f, -2.0f}, b[2] = {3.0f, 4.0f};
    struct nuc_graph *g =
        graph_of("$x = input : float32[2]; $c = buffer : float32[2] values(7, 8); $y = input : float32[2]\n"
                 "$r = aten.relu.default($x); $v = aten.view.default($r, [2, 1])\n"
                 "$output = output([$y, $c, $v, $r])");
    float out[4][2];

    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    assert_int_equal(nuc_eval_n_inputs(e), 2);
    assert_int_equal(nuc_eval_n_outputs(e), 4);
    assert_ptr_equal(nuc_eval_input(e, 1), node_of(g, "y"));
    assert_ptr_equal(nuc_eval_output(e, 2), node_of(g, "v"));
    nuc_eval_run(e, (const void *const[]){a, b}, (void *const[]){out[0], out[1], out[2], out[3]});
    assert_floats(out[0], b, 2);
    assert_floats(out[1], constant, 2);
    assert_floats(out[2], (const float[]){1.0f, 0.0f}, 2);
    assert_floats(out[3], (const float[]){1.0f, 0.0f}, 2);
    free_graph(g);
}

/* ---- observation ---- */

struct log {
    const struct nuc_node *nodes[16];
    uint32_t vals[16];
    float firsts[16];
    size_t elements[16];
    size_t count;
};

static void record(void *user, const struct nuc_node *node, uint32_t val_index, const void *data, size_t elements)
{
    struct log *log = user;

    log->nodes[log->count] = node;
    log->vals[log->count] = val_index;
    log->firsts[log->count] = node->vals[val_index].dtype == NUC_F32 ? *(const float *)data : 0.0f;
    log->elements[log->count++] = elements;
}

/* Inputs, constants, views, what is computed from constants, every element of a tuple: all in graph order. */
static void every_value_is_observed(void **state)
{
    const float in[16] = {5.0f};
    struct nuc_graph *g = graph_of(
        "$x = input : float32[1, 1, 4, 4]; $c = buffer : float32[2] values(-1, 2); $f = aten.relu.default($c)\n"
        "$p = edge.aten.max_pool2d_with_indices.default($x, [2, 2]); $i = getitem($p, 0)\n"
        "$s = aten.add.Tensor($i, $f)");
    struct log log = {.count = 0};

    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    nuc_eval_observe(e, record, &log);
    nuc_eval_run(e, (const void *const[]){in}, NULL);
    static const char *const order[] = {"x", "c", "f", "p", "p", "i", "s"};
    const float firsts[] = {5.0f, -1.0f, 0.0f, 5.0f, 0.0f, 5.0f, 5.0f};
    const size_t elements[] = {16, 2, 2, 4, 4, 4, 4};
    assert_int_equal(log.count, COUNT(order));
    for (size_t i = 0; i < COUNT(order); i++) {
        assert_string_equal(log.nodes[i]->name, order[i]);
        assert_int_equal(log.vals[i], i == 4 ? 1 : 0);
        assert_true(log.firsts[i] == firsts[i]);
        assert_int_equal(log.elements[i], elements[i]);
    }
    nuc_eval_observe(e, NULL, NULL);
    nuc_eval_run(e, (const void *const[]){in}, NULL);
    assert_int_equal(log.count, COUNT(order));
    free_graph(g);
}

/* ---- steps that are computed together ---- */

/* What makes values, and functions of single ones behind it. */
static const char *const makers[] = {
    "aten.conv2d.default($x, $w, $b, [1, 1], [1, 1])",
    "aten.conv2d.default($x, $w, none, [2, 1], [1, 1])",
    "aten.conv2d.default($x, $d, $b, [1, 1], [1, 1], [1, 1], 4)",
    "aten.conv2d.default($x, $p, $b)",
    "aten.add.Tensor($x, $x)",
    "aten.add.Tensor($x, $n)",
    "aten.sigmoid.default($x)",
    "aten.mul.Tensor($x, $x)",
};
static const struct {
    const char *name, *numbers;
} functions[] = {{"relu", ""},      {"hardtanh", ", -0.5, 0.25"}, {"tanh", ""},
                 {"hardswish", ""}, {"leaky_relu", ", 0.25"},     {"neg", ""}};

/* The maker, one to three functions, a rounding or none, a reader of each value that is to be seen. */
static struct nuc_graph *random_chain(uint32_t *seed, size_t maker)
{
    char text[2048], last[8] = "m";
    int64_t count = random_in(seed, 0, 3);

    snprintf(
        text, sizeof text,
        "$x = input : float32[1, 4, 19, 23]; $w = buffer : float32[4, 4, 3, 3]; $b = buffer : float32[4]\n"
        "$d = buffer : float32[4, 1, 3, 3]; $p = buffer : float32[4, 4, 1, 1]; $n = buffer : float32[23]\n$m = %s\n",
        makers[maker]);
    for (int64_t i = 0; i < count; i++) {
        int64_t f = random_in(seed, 0, COUNT(functions) - 1);
        char *end = text + strlen(text);
        snprintf(end, sizeof text - (size_t)(end - text), "$f%d = aten.%s.default($%s%s)%s\n", (int)i,
                 functions[f].name, last, functions[f].numbers, i + 1 == count ? " ! 0.0625, 3" : "");
        snprintf(last, sizeof last, "f%d", (int)i);
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "$y = aten.neg.default($%s%s)\n", count == 0 ? "" : "d",
             last);
    return graph_of("%s", text);
}

struct seen {
    const bool *wanted; /* by node id */
    float *first;       /* by node id */
};

static void see_first(void *user, const struct nuc_node *node, uint32_t val_index, const void *data, size_t elements)
{
    struct seen *s = user;

    if (val_index == 0 && s->wanted[node->id] && node->vals[0].dtype == NUC_F32)
        memcpy(&s->first[node->id], (const float *)data + elements / 2, sizeof(float));
}

/* Whether values are kept apart or not, they and the result are the same; so with roundings, also of a fork. */
static void joined_steps_agree(void **state)
{
    enum { N = 4 * 19 * 23 };
    uint32_t seed = 3;

    for (size_t i = 0; i < 20 * COUNT(makers); i++) {
        struct nuc_graph *g = random_chain(&seed, i % COUNT(makers));
        float in[N], out[4][N], weights[5][4 * 4 * 9];
        static const char *const buffers[] = {"w", "b", "d", "p", "n"};
        bool *all = nuc_alloc_array(g->cx, g->next_id, sizeof *all), *some = nuc_copy(g->cx, all, g->next_id);
        struct seen whole = {some, nuc_alloc_array(g->cx, g->next_id, sizeof(float))}, joined = whole;
        fill_floats(&seed, in, N);
        for (size_t k = 0; k < COUNT(buffers); k++) {
            fill_floats(&seed, weights[k], COUNT(weights[k]));
            bind(g, buffers[k], weights[k]);
        }
        for (uint32_t id = 0; id < g->next_id; id++)
            some[id] = random_in(&seed, 0, 3) == 0;
        joined.first = nuc_alloc_array(g->cx, g->next_id, sizeof(float));
        struct nuc_evaluator *a = nuc_eval_new(g, 1), *b = nuc_eval_new_observed(g, 1 + (unsigned)i % 2, some);
        nuc_eval_observe(a, see_first, &whole);
        nuc_eval_observe(b, see_first, &joined);
        nuc_eval_run(a, (const void *const[]){in}, (void *const[]){out[0]});
        nuc_eval_run(b, (const void *const[]){in}, (void *const[]){out[1]});
        size_t count = (size_t)nuc_elements(&nuc_eval_output(a, 0)->vals[0]);
        assert_memory_equal(out[0], out[1], count * sizeof(float));
        assert_memory_equal(whole.first, joined.first, g->next_id * sizeof(float));
        const struct nuc_node *output = nuc_eval_output(a, 0);
        struct nuc_evaluator *e[4] = {nuc_eval_new_adjustable(g, 1, NULL, 0, true),
                                      nuc_eval_new_adjustable(g, 1, &output, 1, false), NULL,
                                      nuc_eval_new_adjustable(g, 1, &output, 1, true)};
        e[2] = nuc_eval_fork(e[1]);
        struct nuc_rounding r = {i / 8 % 2 == 0, i / 16 % 2 == 0, 0.03125f, -5, -20, 30};
        for (int k = 0; k < 4; k++) {
            for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
                if (nuc_eval_can_round(e[k], n))
                    nuc_eval_round(e[k], n, r);
            }
            nuc_eval_run(e[k], (const void *const[]){in}, (void *const[]){out[k]});
            assert_memory_equal(out[0], out[k], count * sizeof(float));
        }
        free_graph(g);
    }
}

/* With other biases an evaluator computes what one made for them does; other weights and steps it does not take. */
static void biases_are_taken(void **state)
{
    static const struct {
        const char *bias, *weight, *step;
        bool taken;
    } rows[] = {{"1, 2", "1, 2, 3, 4", "0.5", true},
                {"8, 7", "1, 2, 3, 4", "0.5", true},
                {"8, 7", "1, 2, 3, 4", "0.25", true},
                {"5, 5", "1, 2, 3, 5", "0.5", false}};
    struct nuc_context *cx = *state = nuc_context_new(NULL);
    const float in[2] = {1.25f, -3};
    struct nuc_evaluator *e = NULL;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct nuc_graph *g = graph_in(
            cx,
            "$w = buffer : float32[2, 2] values(%s); $b = buffer : int32[2] values(%s); $x = input : float32[1, 2]\n"
            "$c = quantized_decomposed.dequantize_per_tensor.default($b, %s, 0, -128, 127, int32)\n"
            "$l = aten.linear.default($x, $w, $c); $r = aten.relu.default($l); $output = output([$r])",
            rows[i].weight, rows[i].bias, rows[i].step);
        float expected[2], got[2];
        if (e == NULL)
            e = nuc_eval_new_adjustable(g, 1, NULL, 0, true);
        assert_int_equal(nuc_eval_take_biases(e, g), rows[i].taken);
        if (!rows[i].taken)
            continue;
        nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){in}, (void *const[]){expected});
        nuc_eval_run(e, (const void *const[]){in}, (void *const[]){got});
        assert_memory_equal(got, expected, sizeof got);
    }
}

/* ---- constant folding ---- */

static void constants_fold(void **state)
{
    struct nuc_graph *g =
        graph_of("$x = input : float32[2, 3]; $c = buffer : float32[2, 3] values(1, 2, 3, 4, 5, 6)\n"
                 "$p = edge.aten.permute_copy.default($c, [1, 0]); $t = aten.add.Tensor($c, $c)\n"
                 "$v = aten.view.default($c, [6]); $m = aten.add.Tensor($c, $x); $output = output([$p, $t, $v, $m])");
    static const struct {
        const char *node;
        float expected[6];
    } folded[] = {{"p", {1.0f, 4.0f, 2.0f, 5.0f, 3.0f, 6.0f}},
                  {"t", {2.0f, 4.0f, 6.0f, 8.0f, 10.0f, 12.0f}},
                  {"v", {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}}};
    static const char *const others[] = {"m", "c", "x"};
    void *out[1];

    for (size_t i = 0; i < COUNT(folded); i++) {
        assert_true(nuc_eval_constant(g, node_of(g, folded[i].node), out));
        assert_floats(out[0], folded[i].expected, 6);
    }
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(nuc_eval_constant(g, node_of(g, others[i]), out));
    free_graph(g);
}

/* A constant stored channels-last is computed with in logical order. */
static void constants_in_another_order(void **state)
{
    struct nuc_graph *g = graph_of("$c = buffer : float32[1, 2, 2, 2] channels-last values(1, 5, 2, 6, 3, 7, 4, 8)\n"
                                   "$y = aten.relu.default($c)");
    void *out[1];

    assert_true(nuc_eval_constant(g, node_of(g, "y"), out));
    assert_floats(out[0], (const float[]){1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f}, 8);
    free_graph(g);
}

/* ---- refusals ---- */

static void plan(struct nuc_context *cx, void *arg)
{
    nuc_eval_new(arg, 1);
}

static void others_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {{"$x = input : float32[2]; $delegate = call_delegate([$x]) : float32[2]", "'delegate'"},
                 {"$x = input : float16[2]; $y = aten.relu.default($x)", "float16"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nuc_graph *g = graph_of("%s", cases[i].text);
        assert_int_equal(nuc_try(g->cx, plan, g), NUC_UNSUPPORTED);
        assert_non_null(strstr(g->cx->message, cases[i].message));
        free_graph(g);
    }
}

/* ---- memory ---- */

/* Large enough for blocks of its own, with a constant to compute and threads to start and end. */
static void plan_and_run(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(
        cx, "%x = input : float32[64, 64]; %c = buffer : float32[64, 64] values(0); %l = aten.linear.default(%x, %c)\n"
            "%a = aten.relu.default(%c); %b = aten.add.Tensor(%l, %a); %d = aten.relu.default(%c)\n"
            "%e = aten.add.Tensor(%b, %d); %f = aten.relu.default(%c); %h = aten.add.Tensor(%e, %f)");
    float *data = nuc_alloc_array(cx, 64 * 64, sizeof *data);

    nuc_eval_run(nuc_eval_new(g, 3), (const void *const[]){data}, NULL);
}

static void memory_runs_out(void **state)
{
    assert_true(run_call_out_of_memory(plan_and_run, NULL) > 7);
}

/* Of the dialects a lowered graph is in, whose operators are computed at run time only. */
static bool is_lowered(enum nuc_op op)
{
    const char *name = nuc_op_name(op, NUC_EDGE);

    return op == NUC_OP_ALLOC || strncmp(name, "edge.cortex_m.", 14) == 0 || strncmp(name, "edge.nucleon.", 13) == 0;
}

/* Every row of ops.def but the delegate call, which has no meaning of its own. */
static void all_operators_are_known(void **state)
{
    int missing = 0;

    for (int op = 0; op < NUC_OP_COUNT; op++) {
        if (nuc_op_family((enum nuc_op)op) == NUC_FAMILY_COMPOSITE)
            continue;
        if (op == NUC_OP_CALL_DELEGATE || op == NUC_OP_PLACEHOLDER || op == NUC_OP_OUTPUT ||
            is_lowered((enum nuc_op)op) || nuc_eval_find((enum nuc_op)op) != NULL)
            continue;
        print_message("not evaluated: %s\n", nuc_op_name((enum nuc_op)op, NUC_ATEN));
        missing++;
    }
    assert_int_equal(missing, 0);
}

RUN_TESTS(cmocka_unit_test(activations_share_memory), cmocka_unit_test(chain_computes),
          cmocka_unit_test(values_live_until_last_use), cmocka_unit_test(inputs_and_outputs),
          cmocka_unit_test(every_value_is_observed), cmocka_unit_test(joined_steps_agree),
          cmocka_unit_test_teardown(biases_are_taken, free_context), cmocka_unit_test(constants_fold),
          cmocka_unit_test(constants_in_another_order), cmocka_unit_test(others_are_refused),
          cmocka_unit_test(memory_runs_out), cmocka_unit_test(all_operators_are_known))
