/* Planning and running of graphs: order, views, memory reuse, constants, observation, refusals. */
#include "unit/eval_graphs.h"

#include <stdlib.h>

/* x -> relu -> view -> clone -> relu6 ... -> output, `length` computing nodes long, each on 64 floats. */
static struct nuc_graph *chain(int length)
{
    struct nuc_graph *g = new_graph();
    struct nuc_node *node = add_input(g, NUC_F32, SHAPE(4, 16));

    for (int i = 0; i < length; i++) {
        node = add_simple(g, i % 2 == 0 ? NUC_OP_RELU : NUC_OP_RELU6, node);
        node = add_simple(g, NUC_OP_CLONE, node);
        struct nuc_node *view = add_node(g, NUC_OP_VIEW, node);
        set_ints(g, view, 1, i % 2 == 0 ? (const int64_t[]){-1, 8} : (const int64_t[]){4, 16}, 2);
        nuc_infer_shape(g, view);
        node = view;
    }
    add_output(g, node);
    return g;
}

/* A chain needs two buffers however long it is: views and clones take none. */
static void activations_share_memory(void **state)
{
    (void)state;
    for (int length = 2; length < 12; length += 3) {
        struct nuc_graph *g = chain(length);
        assert_int_equal(nuc_eval_arena_size(nuc_eval_new(g, 1)), 2 * 64 * sizeof(float));
        free_graph(g);
    }
}

static void chain_computes(void **state)
{
    struct nuc_graph *g = chain(5);
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    float in[64], out[64];

    (void)state;
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

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct nuc_graph *g = new_graph();
        struct nuc_node *nodes[NODES] = {add_input(g, NUC_F32, SHAPE(N))};
        float want[NODES], in[N], out[N];
        want[0] = 1.0f;
        for (int i = 1; i < NODES; i++) {
            int a = (int)next_int(&seed, i < 12 ? 0 : i - 12, i - 1), b = (int)next_int(&seed, 0, i - 1);
            nodes[i] = add_node(g, NUC_OP_ADD, nodes[a]);
            nuc_set_arg_node(nodes[i], g, 1, nodes[b]);
            nuc_set_arg_float(nodes[i], 2, 0.25);
            nuc_infer_shape(g, nodes[i]);
            want[i] = want[a] + 0.25f * want[b];
        }
        add_output(g, nodes[NODES - 1]);
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
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, NUC_F32, SHAPE(2));
    struct nuc_node *c = add_constant(g, NUC_F32, SHAPE(2), constant);
    struct nuc_node *y = add_input(g, NUC_F32, SHAPE(2));
    struct nuc_node *relu = add_simple(g, NUC_OP_RELU, x);
    struct nuc_node *view = add_node(g, NUC_OP_VIEW, relu);
    float out[4][2];

    (void)state;
    set_ints(g, view, 1, INTS(2, 1));
    nuc_infer_shape(g, view);
    nuc_set_arg_nodes(nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output"), g, 0,
                      (struct nuc_node *const[]){y, c, view, relu}, 4);
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    assert_int_equal(nuc_eval_n_inputs(e), 2);
    assert_int_equal(nuc_eval_n_outputs(e), 4);
    assert_ptr_equal(nuc_eval_input(e, 1), y);
    assert_ptr_equal(nuc_eval_output(e, 2), view);
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
    const float constant[2] = {-1.0f, 2.0f}, in[16] = {5.0f};
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, NUC_F32, SHAPE(1, 1, 4, 4));
    struct nuc_node *c = add_constant(g, NUC_F32, SHAPE(2), constant);
    struct nuc_node *folded = add_simple(g, NUC_OP_RELU, c);
    struct nuc_node *pool = add_node(g, NUC_OP_MAX_POOL2D_INDICES, x);
    struct log log = {.count = 0};

    (void)state;
    set_ints(g, pool, 1, INTS(2, 2));
    nuc_infer_shape(g, pool);
    struct nuc_node *item = add_node(g, NUC_OP_GETITEM, pool);
    nuc_set_arg_int(item, 1, 0);
    nuc_infer_shape(g, item);
    struct nuc_node *sum = add_node(g, NUC_OP_ADD, item);
    nuc_set_arg_node(sum, g, 1, folded);
    nuc_infer_shape(g, sum);
    add_output(g, sum);
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    nuc_eval_observe(e, record, &log);
    nuc_eval_run(e, (const void *const[]){in}, NULL);
    const struct nuc_node *order[] = {x, c, folded, pool, pool, item, sum};
    const float firsts[] = {5.0f, -1.0f, 0.0f, 5.0f, 0.0f, 5.0f, 5.0f};
    const size_t elements[] = {16, 2, 2, 4, 4, 4, 4};
    assert_int_equal(log.count, COUNT(order));
    for (size_t i = 0; i < COUNT(order); i++) {
        assert_ptr_equal(log.nodes[i], order[i]);
        assert_int_equal(log.vals[i], i == 4 ? 1 : 0);
        assert_true(log.firsts[i] == firsts[i]);
        assert_int_equal(log.elements[i], elements[i]);
    }
    nuc_eval_observe(e, NULL, NULL);
    nuc_eval_run(e, (const void *const[]){in}, NULL);
    assert_int_equal(log.count, COUNT(order));
    free_graph(g);
}

/* ---- constant folding ---- */

static void constants_fold(void **state)
{
    const float data[6] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, NUC_F32, SHAPE(2, 3));
    struct nuc_node *c = add_constant(g, NUC_F32, SHAPE(2, 3), data);
    struct nuc_node *permute = add_node(g, NUC_OP_PERMUTE, c);
    void *out[1];

    (void)state;
    set_ints(g, permute, 1, INTS(1, 0));
    nuc_infer_shape(g, permute);
    assert_true(nuc_eval_constant(g, permute, out));
    assert_floats(out[0], (const float[]){1.0f, 4.0f, 2.0f, 5.0f, 3.0f, 6.0f}, 6);
    struct nuc_node *twice = add_node(g, NUC_OP_ADD, c);
    nuc_set_arg_node(twice, g, 1, c);
    nuc_infer_shape(g, twice);
    assert_true(nuc_eval_constant(g, twice, out));
    assert_floats(out[0], (const float[]){2.0f, 4.0f, 6.0f, 8.0f, 10.0f, 12.0f}, 6);
    struct nuc_node *view = add_node(g, NUC_OP_VIEW, c);
    set_ints(g, view, 1, INTS(6));
    nuc_infer_shape(g, view);
    assert_true(nuc_eval_constant(g, view, out));
    assert_floats(out[0], data, 6);
    struct nuc_node *mixed = add_node(g, NUC_OP_ADD, c);
    nuc_set_arg_node(mixed, g, 1, x);
    nuc_infer_shape(g, mixed);
    assert_false(nuc_eval_constant(g, mixed, out));
    assert_false(nuc_eval_constant(g, c, out));
    assert_false(nuc_eval_constant(g, x, out));
    free_graph(g);
}

/* A constant stored channels-last is computed with in logical order. */
static void constants_in_another_order(void **state)
{
    const float stored[8] = {1.0f, 5.0f, 2.0f, 6.0f, 3.0f, 7.0f, 4.0f, 8.0f}; /* [1, 2, 2, 2] as N, H, W, C */
    struct nuc_graph *g = new_graph();
    struct nuc_meta m = nuc_meta_make(NUC_F32, (const int64_t[]){1, 2, 2, 2}, 4);
    void *out[1];

    (void)state;
    nuc_set_channels_last(&m);
    struct nuc_node *relu = add_simple(g, NUC_OP_RELU, nuc_add_constant(g, "c", &m, stored));
    assert_true(nuc_eval_constant(g, relu, out));
    assert_floats(out[0], (const float[]){1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f}, 8);
    free_graph(g);
}

/* ---- refusals ---- */

static void plan(struct nuc_context *cx, void *arg)
{
    (void)cx;
    nuc_eval_new(arg, 1);
}

static void delegate_calls_are_refused(void **state)
{
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, NUC_F32, SHAPE(2));
    struct nuc_node *call = nuc_add_node(g, NULL, NUC_OP_CALL_DELEGATE, "delegate");

    (void)state;
    nuc_set_arg_nodes(call, g, 0, &x, 1);
    nuc_set_val(g, call, &x->vals[0]);
    add_output(g, call);
    assert_int_equal(nuc_try(g->cx, plan, g), NUC_UNSUPPORTED);
    assert_non_null(strstr(g->cx->message, "'delegate'"));
    free_graph(g);
}

static void other_dtypes_are_refused(void **state)
{
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, NUC_F16, SHAPE(2));

    (void)state;
    add_output(g, add_simple(g, NUC_OP_RELU, x));
    assert_int_equal(nuc_try(g->cx, plan, g), NUC_UNSUPPORTED);
    assert_non_null(strstr(g->cx->message, "float16"));
    free_graph(g);
}

/* ---- memory ---- */

struct failing {
    int left; /* allocations that still succeed */
    int held; /* blocks not yet freed */
};

static void *allocate(void *user, void *block, size_t size)
{
    struct failing *f = user;

    if (size == 0) {
        f->held -= block != NULL;
        free(block);
        return NULL;
    }
    if (f->left == 0)
        return NULL;
    f->left--;
    f->held++;
    return malloc(size);
}

/* Large enough for blocks of its own, with a constant to compute and threads to start and end. */
static void plan_and_run(struct nuc_context *cx, void *arg)
{
    enum { SIZE = 64 };
    struct nuc_graph *g = nuc_graph_new(cx, "test");
    struct nuc_node *x = add_input(g, NUC_F32, SHAPE(SIZE, SIZE));
    float *data = nuc_alloc_array(cx, SIZE * SIZE, sizeof *data);
    struct nuc_node *c = add_constant(g, NUC_F32, SHAPE(SIZE, SIZE), data);
    struct nuc_node *node = add_node(g, NUC_OP_LINEAR, x);

    (void)arg;
    nuc_set_arg_node(node, g, 1, c);
    nuc_infer_shape(g, node);
    for (int i = 0; i < 3; i++) {
        struct nuc_node *sum = add_node(g, NUC_OP_ADD, node);
        nuc_set_arg_node(sum, g, 1, add_simple(g, NUC_OP_RELU, c));
        nuc_infer_shape(g, sum);
        node = sum;
    }
    add_output(g, node);
    nuc_eval_run(nuc_eval_new(g, 3), (const void *const[]){data}, NULL);
}

/* Whichever allocation fails, the status says so and nothing is lost. */
static void memory_runs_out(void **state)
{
    enum nuc_status status = NUC_NO_MEMORY;
    int n;

    (void)state;
    for (n = 0; status != NUC_OK; n++) {
        struct failing f = {n, 0};
        struct nuc_context *cx = nuc_context_new(&(struct nuc_allocator){allocate, &f});
        if (cx != NULL) {
            status = nuc_try(cx, plan_and_run, NULL);
            assert_true(status == NUC_OK || status == NUC_NO_MEMORY);
        }
        nuc_context_free(cx);
        assert_int_equal(f.held, 0);
    }
    assert_true(n > 8);
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

    (void)state;
    for (int op = 0; op < NUC_OP_COUNT; op++) {
        if (op == NUC_OP_CALL_DELEGATE || is_lowered((enum nuc_op)op) || nuc_eval_has_op((enum nuc_op)op))
            continue;
        print_message("not evaluated: %s\n", nuc_op_name((enum nuc_op)op, NUC_ATEN));
        missing++;
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_share_memory),   cmocka_unit_test(chain_computes),
        cmocka_unit_test(values_live_until_last_use), cmocka_unit_test(inputs_and_outputs),
        cmocka_unit_test(every_value_is_observed),    cmocka_unit_test(constants_fold),
        cmocka_unit_test(constants_in_another_order), cmocka_unit_test(delegate_calls_are_refused),
        cmocka_unit_test(other_dtypes_are_refused),   cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(all_operators_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
