/* Strips of rows: which rows an operator reads, which operators a stage has, what becomes of the graph. */
#include "compiler/cortexm/cortexm.h"
#include "compiler/cortexm/strip_stage.h"
#include "compiler/cortexm/strips.h"
#include "quantized_text.h"

static struct nuc_graph *lowered(struct nuc_context *cx, const char *lines)
{
    struct nuc_graph *g = parse_quantized(cx, lines);
    struct nuc_cortexm_options options = {.cpu = nuc_target_find(cx, "cortex-m33")->cpu};

    nuc_cortexm_lower(g, &options);
    return g;
}

static struct nuc_node *the_op(struct nuc_graph *g, enum nuc_op op, int which)
{
    struct nuc_node *n = g->first;

    while (n->op != op || which-- > 0) {
        n = n->next;
        assert_non_null(n);
    }
    return n;
}

/* ---- rows that a window reads ---- */

struct window_case {
    const char *kernel, *window; /* sizes; stride, padding, dilation */
    struct nuc_rows rows, read;
    int64_t outside[2];
};

static const struct window_case windows[] = {
    {"1, 1", "[1, 1], [0, 0], [1, 1]", {3, 5}, {3, 5}, {0, 0}},
    {"3, 3", "[1, 1], [1, 1], [1, 1]", {0, 3}, {0, 4}, {1, 0}},
    {"3, 3", "[1, 1], [1, 1], [1, 1]", {2, 3}, {1, 4}, {0, 0}},
    {"3, 3", "[1, 1], [1, 1], [1, 1]", {15, 16}, {14, 16}, {0, 1}},
    {"3, 3", "[2, 2], [1, 1], [1, 1]", {1, 3}, {1, 6}, {0, 0}},
    {"3, 3", "[2, 2], [1, 1], [1, 1]", {0, 8}, {0, 16}, {1, 0}},
    {"3, 3", "[1, 1], [2, 2], [2, 2]", {1, 2}, {0, 4}, {1, 0}},
    {"5, 1", "[3, 1], [2, 0], [1, 1]", {0, 6}, {0, 16}, {2, 2}},
    {"2, 2", "[4, 1], [0, 0], [1, 1]", {1, 3}, {4, 10}, {0, 0}}, /* rows 6 and 7 are read for nothing */
};

static void rows_of_window(struct nuc_context *cx, void *arg)
{
    const struct window_case *w = arg;
    struct nuc_graph *g = lowered(
        cx, nuc_format(cx,
                       "%%w = parameter : int8[4, 4, %s] values(0) ! 0.5, 0, -127, 127, int8\n"
                       "%%x = input : float32[1, 4, 16, 8] channels-last ! 0.0625\n"
                       "%%y = edge.aten.convolution.default(%%dx, %%dw, none, %s, false, [0, 0], 1) ! 0.125, 5\n",
                       w->kernel, w->window));
    struct nuc_rows read;
    int64_t outside[2];

    assert_true(nuc_rows_read(the_op(g, NUC_OP_CORTEXM_CONV2D, 0), w->rows, &read, outside));
    assert_int_equal(read.low, w->read.low);
    assert_int_equal(read.high, w->read.high);
    assert_int_equal(outside[0], w->outside[0]);
    assert_int_equal(outside[1], w->outside[1]);
}

static void padding_alone(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = lowered(cx, "%w = parameter : int8[4, 4, 1, 1] values(0) ! 0.5, 0, -127, 127, int8\n"
                                      "%x = input : float32[1, 4, 6, 6] channels-last ! 0.0625\n"
                                      "%y = edge.aten.convolution.default(%dx, %dw, none, [1, 1], [2, 2], [1, 1], "
                                      "false, [0, 0], 1) ! 0.125, 5\n");
    struct nuc_rows read;
    int64_t outside[2];

    (void)arg;
    assert_false(nuc_rows_read(the_op(g, NUC_OP_CORTEXM_CONV2D, 0), (struct nuc_rows){0, 2}, &read, outside));
    assert_true(nuc_rows_read(the_op(g, NUC_OP_CORTEXM_CONV2D, 0), (struct nuc_rows){1, 3}, &read, outside));
}

/* ---- stages ---- */

#define CONV(to, from, stride)                                                                                         \
    "%" to " = edge.aten.convolution.default(%d" from ", %dw, none, [" stride ", " stride "], [1, 1], [1, 1], false, " \
    "[0, 0], 1) ! 0.125, 5\n"
#define HEAD                                                                                                           \
    "%w = parameter : int8[4, 4, 3, 3] values(0) ! 0.5, 0, -127, 127, int8\n"                                          \
    "%x = input : float32[1, 4, 16, 8] channels-last ! 0.0625\n"
#define RESIDUAL                                                                                                       \
    HEAD CONV("a", "x", "1") CONV("b", "a", "1") "%c = edge.aten.add.Tensor(%db, %da) ! 0.125, 5\n" CONV("d", "c", "2")
#define END "%m = edge.aten.mean.dim(%dd, [2, 3], true) ! 0.125, 5\n"

/* A stage with a branch inside; what is also read outside of it begins it. */
static void branches(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = lowered(cx, RESIDUAL END);
    struct nuc_node *last = the_op(g, NUC_OP_CORTEXM_CONV2D, 2);
    struct nuc_strip_stage s;

    (void)arg;
    assert_true(nuc_strip_stage(g, last, NULL, &s));
    assert_int_equal(s.n, 5); /* quantize, three convolutions, the sum */
    assert_true(nuc_strip_stage(g, last, the_op(g, NUC_OP_CORTEXM_ADD, 0), &s));
    assert_int_equal(s.n, 1);
    assert_true(nuc_strip_stage(g, the_op(g, NUC_OP_CORTEXM_CONV2D, 1), NULL, &s));
    assert_int_equal(s.n, 1); /* the first convolution is read by the sum too */
    assert_false(nuc_strip_stage(g, the_op(g, NUC_OP_CORTEXM_CONV2D, 1), the_op(g, NUC_OP_CORTEXM_ADD, 0), &s));
    /* Rows of the last one: 2 of 8 read 5 of the sum, 7 of the second and 9 of the first convolution. */
    assert_true(nuc_strip_stage(g, last, NULL, &s));
    assert_true(nuc_rows_of_strip(&s, (struct nuc_rows){4, 6}));
    const int64_t expected[5] = {9, 7, 5, 5, 2};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(s.nodes[i].rows.high - s.nodes[i].rows.low, expected[i]);
}

static void cut_graph(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = lowered(cx, RESIDUAL END);
    const struct nuc_target *target = nuc_target_find(cx, "cortex-m33");
    struct nuc_strips strips = {.cut = the_op(g, NUC_OP_CORTEXM_CONV2D, 2)->name, .rows = 3, .count = 3};

    (void)arg;
    nuc_cut_into_strips(g, target, &strips);
    nuc_graph_verify(g, "strips");
    const struct nuc_node *joined = the_op(g, NUC_OP_NUCLEON_JOINED_ROWS, 0);
    assert_string_equal(joined->name, strips.cut);
    assert_int_equal(joined->args[0].count, 3);
    const int64_t rows[3] = {3, 3, 2};
    for (int i = 0; i < 3; i++)
        assert_int_equal(joined->args[0].u.nodes[i]->vals[0].sizes[2], rows[i]);
}

/* Fewer bytes take more strips and more cycles; none are found for what is alive anyway. */
static void choices(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = lowered(cx, RESIDUAL END);
    const struct nuc_target *target = nuc_target_find(cx, "cortex-m33");
    struct nuc_strip_choices some, more, least;

    (void)arg;
    nuc_find_strips(g, target, 3600, &some);
    nuc_find_strips(g, target, 0, &least);
    nuc_find_strips(g, target, least.items[0].peak, &more);
    assert_true(some.count > 0);
    assert_true(more.count > 0);
    assert_true(more.items[0].count >= some.items[0].count);
    assert_true(more.items[0].cycles >= some.items[0].cycles);
    for (size_t i = 0; i < some.count; i++) {
        assert_true(some.items[i].peak <= 3600);
        assert_true(i == 0 || some.items[i - 1].cycles <= some.items[i].cycles);
    }
    nuc_find_strips(g, target, 64, &some);
    assert_int_equal(some.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW_TEST(rows_of_window, windows), CONTEXT_TEST(padding_alone), CONTEXT_TEST(branches),
        CONTEXT_TEST(cut_graph),           CONTEXT_TEST(choices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
