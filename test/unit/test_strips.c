/* Strips of rows: which rows an operator reads, which operators a stage has, what becomes of the graph. */
#include <math.h>

#include "cpu/cortexm.h"
#include "cpu/strip_stage.h"
#include "cpu/strips.h"
#include "npu/support/kernel_cycles.h"
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

/* The first such operator as the last one of a stage. */
static const struct nuc_strip_node *in_strips(struct nuc_graph *g, enum nuc_op op)
{
    struct nuc_strip_stage s;

    assert_true(nuc_strip_stage(g, the_op(g, op, 0), NULL, &s));
    return &s.nodes[s.n - 1];
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

    assert_true(nuc_rows_read(in_strips(g, NUC_OP_CORTEXM_CONV2D), w->rows, &read, outside));
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

    assert_false(nuc_rows_read(in_strips(g, NUC_OP_CORTEXM_CONV2D), (struct nuc_rows){0, 2}, &read, outside));
    assert_true(nuc_rows_read(in_strips(g, NUC_OP_CORTEXM_CONV2D), (struct nuc_rows){1, 3}, &read, outside));
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

/* Rows 4 and 5 of a cut of 8 rows, after those before them. */
static void third_strip(struct nuc_strip_stage *s, bool *keep, struct nuc_strip_node *now)
{
    const struct nuc_strips strips = {.rows = 2, .count = 4, .keep = keep};

    for (int64_t i = 0; i < 3; i++)
        assert_true(nuc_next_strip(s, &strips, i, now));
}

/* A stage with a branch inside; what is also read outside of it begins it. */
static void branches(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = lowered(cx, RESIDUAL END);
    struct nuc_node *last = the_op(g, NUC_OP_CORTEXM_CONV2D, 2);
    struct nuc_strip_stage s;
    struct nuc_strip_node now[5];

    assert_true(nuc_strip_stage(g, last, NULL, &s));
    assert_int_equal(s.n, 5); /* quantize, three convolutions, the sum */
    assert_true(nuc_strip_stage(g, last, the_op(g, NUC_OP_CORTEXM_ADD, 0), &s));
    assert_int_equal(s.n, 1);
    assert_true(nuc_strip_stage(g, the_op(g, NUC_OP_CORTEXM_CONV2D, 1), NULL, &s));
    assert_int_equal(s.n, 1); /* the first convolution is read by the sum too */
    assert_false(nuc_strip_stage(g, the_op(g, NUC_OP_CORTEXM_CONV2D, 1), the_op(g, NUC_OP_CORTEXM_ADD, 0), &s));
    /* Rows of the last one: 2 of 8 read 5 of the sum, 7 of the second and 9 of the first convolution. */
    assert_true(nuc_strip_stage(g, last, NULL, &s));
    third_strip(&s, NULL, now);
    const int64_t expected[5] = {9, 7, 5, 5, 2};
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(now[i].rows.high - now[i].rows.low, expected[i]);
}

/* The same with rows kept: of each value what the strip before has not read, and what both read of those read in
 * windows. */
static void kept_rows(struct nuc_context *cx, void *arg)
{
    bool keep[5] = {true, true, true, true, false};
    struct nuc_strip_node now[5];
    static const struct nuc_rows expected[5] = {{10, 14}, {9, 13}, {8, 12}, {8, 12}, {4, 6}};
    static const int64_t kept[5] = {2, 2, 0, 1, 0};
    struct nuc_graph *g = lowered(cx, RESIDUAL END);
    struct nuc_strip_stage s;

    assert_true(nuc_strip_stage(g, the_op(g, NUC_OP_CORTEXM_CONV2D, 2), NULL, &s));
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(nuc_is_read_in_windows(&s, i), i < 2 || i == 3);
    third_strip(&s, keep, now);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(now[i].fresh.low, expected[i].low);
        assert_int_equal(now[i].fresh.high, expected[i].high);
        assert_int_equal(nuc_kept_rows(&now[i]).high - nuc_kept_rows(&now[i]).low, kept[i]);
    }
    /* Nothing is new for a strip that was there: its rows stay as they are. */
    const struct nuc_strips strips = {.rows = 2, .count = 4, .keep = keep};
    assert_true(nuc_next_strip(&s, &strips, 2, now));
    assert_int_equal(s.nodes[3].rows.low, now[3].rows.low);
    assert_int_equal(s.nodes[3].rows.high, now[3].rows.high);
    assert_false(nuc_no_rows(now[3].fresh));
    assert_true(nuc_no_rows(s.nodes[3].fresh));
    assert_true(nuc_no_rows(nuc_kept_rows(&s.nodes[3])));
}

static uint32_t count_ops(const struct nuc_graph *g, enum nuc_op op)
{
    uint32_t n = 0;

    for (const struct nuc_node *node = g->first; node != NULL; node = node->next)
        n += node->op == op;
    return n;
}

/* Two strips after the first, each with three values of which rows are copied out of one strip and into the next. */
static void cut_with_copies(struct nuc_context *cx, void *arg)
{
    bool keep[5] = {true, true, true, true, false};
    struct nuc_graph *g = lowered(cx, RESIDUAL END);
    struct nuc_strips strips = {.cut = the_op(g, NUC_OP_CORTEXM_CONV2D, 2)->name, .rows = 3, .count = 3, .keep = keep};

    nuc_cut_into_strips(g, nuc_target_find(cx, "cortex-m33"), &strips);
    nuc_graph_verify(g, "strips");
    assert_int_equal(count_ops(g, NUC_OP_NUCLEON_COPY), 2 * 2 * 3);
    assert_int_equal(count_ops(g, NUC_OP_NUCLEON_JOINED_ROWS), 2 * 3 + 1);
    assert_int_equal(count_ops(g, NUC_OP_CORTEXM_ADD), 3);
}

static void cut_graph(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = lowered(cx, RESIDUAL END);
    const struct nuc_target *target = nuc_target_find(cx, "cortex-m33");
    struct nuc_strips strips = {.cut = the_op(g, NUC_OP_CORTEXM_CONV2D, 2)->name, .rows = 3, .count = 3};

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

/* A network so large that all stages of it would take minutes: some of its beginning are found, in bounded work. */
static void search_ends(struct nuc_context *cx, void *arg)
{
    enum { LAYERS = 400 };
    struct nuc_text lines = {.cx = cx};
    struct nuc_strip_choices found;

    nuc_text_addf(&lines, "%%w = parameter : int8[4, 4, 3, 3] values(0) ! 0.5, 0, -127, 127, int8\n"
                          "%%y0 = input : float32[1, 4, 16, 16] channels-last ! 0.0625\n");
    for (int i = 0; i < LAYERS; i++)
        nuc_text_addf(
            &lines,
            "%%y%d = edge.aten.convolution.default(%%dy%d, %%dw, none, [1, 1], [1, 1], [1, 1], false, [0, 0], "
            "1) ! 0.125, 5\n",
            i + 1, i);
    struct nuc_graph *g = lowered(cx, nuc_text_string(&lines));
    nuc_find_strips(g, nuc_target_find(cx, "cortex-m33"), 0, &found);
    assert_true(found.count > 0);
    assert_true(found.work > 1 << 25 && found.work < 1 << 28);
}

/* ---- cycles ---- */

/* Instructions of whole layers of MLPerf Tiny's vww and resnet8 and of four others, as bench/m33/bench.sh counts them.
 */
struct counted {
    const char *weight, *input, *window, *groups;
    enum nuc_op op;
    double instructions;
};

static const struct counted counts[] = {
    {"8, 3, 3, 3", "3, 96, 96", "[2, 2], [1, 1], [1, 1]", "1", NUC_OP_CORTEXM_CONV2D, 1058153},
    {"16, 16, 3, 3", "16, 32, 32", "[1, 1], [1, 1], [1, 1]", "1", NUC_OP_CORTEXM_CONV2D, 2226303},
    {"16, 8, 1, 1", "8, 48, 48", "[1, 1], [0, 0], [1, 1]", "1", NUC_OP_CORTEXM_CONV2D, 566899},
    {"32, 16, 1, 1", "16, 24, 24", "[1, 1], [0, 0], [1, 1]", "1", NUC_OP_CORTEXM_CONV2D, 389094},
    {"8, 1, 3, 3", "8, 48, 48", "[1, 1], [1, 1], [1, 1]", "8", NUC_OP_CORTEXM_DEPTHWISE, 351653},
    {"32, 1, 3, 3", "32, 24, 24", "[1, 1], [1, 1], [1, 1]", "32", NUC_OP_CORTEXM_DEPTHWISE, 377736},
    {"16, 1, 5, 5", "16, 16, 16", "[1, 1], [2, 2], [1, 1]", "16", NUC_OP_CORTEXM_DEPTHWISE, 167864},
    {"3, 3, 1, 1", "3, 32, 32", "[1, 1], [0, 0], [1, 1]", "1", NUC_OP_CORTEXM_CONV2D, 150275},
    {"16, 1, 4, 4", "16, 16, 16", "[2, 2], [1, 1], [1, 1]", "16", NUC_OP_NUCLEON_TRANSPOSE_CONV2D, 8723632},
    {"16, 4, 4, 4", "16, 16, 16", "[2, 2], [1, 1], [1, 1]", "4", NUC_OP_NUCLEON_TRANSPOSE_CONV2D, 10933680},
};

static void cycles_of_kernel(struct nuc_context *cx, void *arg)
{
    const struct counted *c = arg;
    bool transposed = c->op == NUC_OP_NUCLEON_TRANSPOSE_CONV2D;
    struct nuc_graph *g =
        lowered(cx, nuc_format(cx,
                               "%%w = parameter : int8[%s] values(0) ! 0.5, 0, -127, 127, int8\n"
                               "%%x = input : float32[1, %s] channels-last ! 0.0625\n"
                               "%%y = edge.aten.convolution.default(%%dx, %%dw, none, %s, %s, [0, 0], %s) ! 0.125, 5\n",
                               c->weight, c->input, c->window, transposed ? "true" : "false", c->groups));
    const struct nuc_kernel_costs *costs = &nuc_target_find(cx, "cortex-m33")->costs.int8;
    const struct nuc_node *node = g->first;

    while (node->op != c->op && !(c->op == NUC_OP_CORTEXM_DEPTHWISE && node->op == NUC_OP_NUCLEON_DEPTHWISE))
        node = node->next;
    int64_t rows = node->vals[0].sizes[2];
    double whole = (double)nuc_kernel_cycles(costs, node, 2, rows);
    double row = (double)nuc_kernel_cycles(costs, node, 2, 1);
    assert_true(whole > 0.9 * c->instructions && whole < 1.1 * c->instructions);
    assert_true(transposed || (double)rows * row > 1.05 * whole); /* each call costs */
}

/* Layers of a uint8 MobileNet, counted on QEMU: one channel of 32, and two of 32, have weights of more than eight bits.
 */
static void channels_computed_again(struct nuc_context *cx, void *arg)
{
    const struct nuc_kernel_costs *costs = &nuc_target_find(cx, "cortex-m33")->costs.int8;
    const struct nuc_meta image = {.rank = 4, .sizes = {1, 32, 32, 32}},
                          pointwise = {.rank = 4, .sizes = {32, 1, 1, 32}}, taps = {.rank = 4, .sizes = {1, 3, 3, 32}};
    struct nuc_kernel_call call = {
        .op = NUC_OP_NUCLEON_WIDE_CONV2D, .in = &image, .weight = &pointwise, .out = &image, .written = 1, .read = 1};
    static const uint8_t listed[] = {0x21, 0, 0, 0, 1, 0, 0, 0, 0x3f, 0, 0, 0, 1, 0, 0, 0, 0x42, 0, 0, 0, 9, 0, 0, 0};

    assert_true(nuc_channels_again(&call, listed, 2) == 1 && nuc_channels_again(&call, listed, 3) == 2);
    call.again = 1;
    assert_true(fabs((double)nuc_kernel_call_cycles(costs, &call) / 1745731 - 1) < 0.1);
    call.op = NUC_OP_NUCLEON_WIDE_DEPTHWISE;
    call.weight = &taps;
    assert_true(nuc_channels_again(&call, listed, 2) == 2 && nuc_channels_again(&call, listed, 0) == 0);
    call.again = 2;
    assert_true(fabs((double)nuc_kernel_call_cycles(costs, &call) / 1850825 - 1) < 0.1);
}

/* In int16, counted on QEMU: products of groups of one channel, and of eight, with a kernel of 4 x 4. */
static void transposed_in_int16(struct nuc_context *cx, void *arg)
{
    const struct nuc_kernel_costs *costs = &nuc_target_find(cx, "cortex-m33")->costs.int8;
    const struct nuc_meta in = {.dtype = NUC_I16, .rank = 4, .sizes = {1, 16, 16, 16}},
                          out = {.dtype = NUC_I16, .rank = 4, .sizes = {1, 16, 32, 32}};
    static const struct {
        int64_t channels;
        double instructions;
    } groups[] = {{1, 15722001}, {8, 5706161}};

    for (size_t i = 0; i < 2; i++) {
        const struct nuc_meta weight = {.rank = 4, .sizes = {groups[i].channels, 4, 4, 16}};
        const struct nuc_kernel_call call = {.op = NUC_OP_NUCLEON_TRANSPOSE_CONV2D,
                                             .in = &in,
                                             .weight = &weight,
                                             .out = &out,
                                             .products = 16 * 16 * (double)nuc_elements(&weight),
                                             .written = 1,
                                             .read = 1};
        assert_true(fabs((double)nuc_kernel_call_cycles(costs, &call) / groups[i].instructions - 1) < 0.1);
    }
}

RUN_TESTS(CONTEXT_TEST(channels_computed_again), CONTEXT_TEST(transposed_in_int16), ROW_TEST(rows_of_window, windows),
          CONTEXT_TEST(padding_alone), CONTEXT_TEST(branches), CONTEXT_TEST(kept_rows), CONTEXT_TEST(cut_graph),
          CONTEXT_TEST(cut_with_copies), CONTEXT_TEST(choices), CONTEXT_TEST(search_ends),
          ROW_TEST(cycles_of_kernel, counts))
