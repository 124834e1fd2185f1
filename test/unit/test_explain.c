/* What explain reports: rows, estimates, models at every stage, the caller's own check. */
#include "graph_texts.h"

#include "driver/driver.h"
#include "explain/explain.h"
#include "npu/support/estimate.h"
#include "nucleon/compile.h"

#define MODEL NUCLEON_EXAMPLES "/digits/digits.pt2"

/* ---- estimates, by hand ---- */

struct work_case {
    const char *graph;
    uint64_t macs, npu, int8, real; /* the last two: on the CPU */
};

#define PLACE(name, shape) "%" name " = input : float32[" shape "]\n"

/*
 * After 4600 cycles: 64 MACs, 8 depthwise MACs or 8 values per cycle, and 8 bytes per cycle, with 12 per channel beside
 * the weights. On the CPU in int8 by the rows of kernel_cycles.c; in float after 1200: 7.5 per MAC, 26 per one of a
 * convolution, 30 per value, 90 per function, 200 per value of a softmax, 130 per gate.
 */
#define CYCLES(sum) (uint64_t)(sum)

static const struct work_case work_cases[] = {
    /* 16 * 4 * 4 outputs of 3 * 3 * 3 inputs, the 3 channels of each as 8 on the NPU */
    {PLACE("x", "1, 3, 6, 6") PLACE(
         "w",
         "16, 3, 3, 3") "%r = edge.aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) : "
                        "float32[1, 16, 4, 4]\n%output = output([%r])\n",
     6912, 4600 + 256 * 72 / 64 + (108 + 256 + 432 + 192 + 7) / 8,
     CYCLES(2500 + 0.7 * 6912 + 13.7 * 256 + 130 * 16 + 2 * 432 + 2.3 * 16 * 27), 1200 + 6912 * 26},
    /* every one of 8 * 1 * 16 inputs goes to 16 * 4 outputs, which no other one goes to */
    {PLACE("x", "1, 8, 1, 16") PLACE(
         "w",
         "8, 16, 1, 4") "%r = edge.aten.convolution.default(%x, %w, none, [1, 4], [0, 0], [1, 1], true, [0, 0], 1) : "
                        "float32[1, 16, 1, 64]\n%output = output([%r])\n",
     8192, 4600 + 8192 / 64 + (128 + 1024 + 512 + 192) / 8, CYCLES(3000 + 1.22 * 8192 + 12.9 * 1024), 1200 + 8192 * 26},
    /* a depthwise convolution */
    {PLACE("x", "1, 8, 6, 6") PLACE(
         "w",
         "8, 1, 3, 3") "%r = edge.aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 8) : "
                       "float32[1, 8, 4, 4]\n%output = output([%r])\n",
     1152, 4600 + 1152 / 8 + (288 + 128 + 72 + 96) / 8,
     CYCLES(6300 + 1.75 * 128 * 6 + 8.1 * 128 + 1.77 * 288 + 197 * 8), 1200 + 1152 * 26},
    {PLACE("x", "2, 32") "%r = edge.aten._softmax.default(%x, 1, false) : float32[2, 32]\n%output = output([%r])\n", 0,
     4600 + 64 * 16 / 8 + 128 / 8, 3300 + 64 * 75, 1200 + 64 * 200},
    {PLACE("x", "2, 30") PLACE("w", "30, 4") "%r = edge.aten.mm.default(%x, %w) : float32[2, 4]\n%output = "
                                             "output([%r])\n",
     240, 4600 + 2 * 8 * 32 / 64 + (60 + 120 + 8 + 7) / 8, CYCLES(2600 + 1.93 * 240 + 60 * 8), 1200 + 1800},
    {PLACE("x", "2, 32") "%r = edge.aten.relu.default(%x) : float32[2, 32]\n%output = output([%r])\n", 0,
     4600 + 8 + 128 / 8, 625 + 64 * 6, 1200 + 64 * 30},
    {PLACE("x", "2, 32") "%r = edge.aten.exp.default(%x) : float32[2, 32]\n%output = output([%r])\n", 0,
     4600 + 8 + 128 / 8, 625 + 64 * 6, 1200 + 64 * 90},
    /* a comparison of steps, and one of two scales */
    {PLACE("x", "2, 32") "%r = edge.nucleon.quantized_compare.default(%x, 1, 1073741824, 0, %x, 2, 1073741824, 0, 4) : "
                         "bool[2, 32]\n%output = output([%r])\n",
     0, 4600 + 8 + 128 / 8, CYCLES(1000 + 21.2 * 64), 1200 + 64 * 30},
    {PLACE("x",
           "2, 32") "%r = edge.nucleon.quantized_compare.default(%x, 1, 1073741824, 0, %x, 2, 1073741824, -1, 4) : "
                    "bool[2, 32]\n%output = output([%r])\n",
     0, 4600 + 8 + 128 / 8, CYCLES(1000 + 87.2 * 64), 1200 + 64 * 30},
    {PLACE("x", "2, 32") "%r = edge.aten.view_copy.default(%x, [64]) : float32[64]\n%output = output([%r])\n", 0, 0, 0,
     0},
    {PLACE("x", "1, 8, 4, 4") "%r = edge.aten.avg_pool2d.default(%x, [2, 2], [2, 2]) : float32[1, 8, 2, 2]\n%output = "
                              "output([%r])\n",
     0, 4600 + 4 * 32 / 8 + (128 + 32) / 8, CYCLES(2000 + 2.26 * 128 + 14 * 32 + 65 * 4), 1200 + 4 * 32 * 30},
    /* 5 steps of 2 samples: 3 gates of 3 units in 2 directions, 4 inputs and 3 states each */
    {PLACE("x", "5, 2, 4") PLACE("h", "2, 2, 3") PLACE("w", "9, 4")
         PLACE("u", "9, 3") "%r = edge.aten.gru.input(%x, %h, [%w, %u, %w, %u], false, 1, 0.0, false, true, false) : "
                            "(float32[5, 2, 6], float32[2, 2, 3])\n%output = output([])\n",
     5 * 2 * 18 * 7, 4600 + 8 + (40 + 60 + 12) / 8, CYCLES(3000 + 1.15 * 5 * 2 * 18 * 7) + 5 * 2 * 18 * 97,
     1200 + 5 * 2 * 18 * 7 * 15 / 2 + 5 * 2 * 18 * 130},
};

static void check_work(struct nuc_context *cx, void *arg)
{
    const struct work_case *c = arg;
    const struct nuc_target *target = nuc_target_find(cx, NULL);
    const struct nuc_node *r = node_of(parse_graph(cx, c->graph), "r");

    assert_int_equal(nuc_estimate_macs(r), c->macs);
    assert_int_equal(nuc_estimate_npu(target, r), c->npu);
    assert_int_equal(nuc_estimate_cpu(target, r, false), c->int8);
    assert_int_equal(nuc_estimate_cpu(target, r, true), c->real);
}

/* ---- models ---- */

static struct nuc_model *open_digits(struct nuc_compiler *c)
{
    struct nuc_model *m;

    if (nuc_model_open(c, MODEL, &m) != NUC_OK)
        fail_msg("%s", nuc_compiler_message(c));
    return m;
}

/* A float, a partitioned and a lowered model: the first two are explained alike, the last one is too late. */
static void test_stages(void **state)
{
    struct nuc_options o;
    nuc_options_default(&o);
    o.placement = NUC_PLACEMENT_GREEDY;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    struct nuc_explain_result early, late;
    struct nuc_model *m = open_digits(c), *prepared, *partitioned, *lowered;

    assert_int_equal(nuc_explain(m, NULL, &early), NUC_OK);
    assert_true(early.made_up_ranges);
    assert_int_equal(early.n_delegated, early.n_operators);
    assert_null(early.first_on_cpu);
    assert_int_equal(nuc_prepare(m, &prepared), NUC_OK);
    struct nuc_dataset *samples;
    assert_int_equal(nuc_dataset_open(c, NUCLEON_EXAMPLES "/digits/calibration.npz", &samples), NUC_OK);
    assert_int_equal(nuc_calibrate(prepared, samples), NUC_OK);
    assert_int_equal(nuc_convert(prepared, &m), NUC_OK);
    assert_int_equal(nuc_partition(m, &partitioned), NUC_OK);
    assert_int_equal(nuc_explain(partitioned, NULL, &late), NUC_OK);
    assert_false(late.made_up_ranges);
    assert_int_equal(late.n_operators, early.n_operators);
    assert_int_equal(late.cycles, early.cycles);
    assert_int_equal(nuc_lower(partitioned, &lowered), NUC_OK);
    assert_int_equal(nuc_explain(lowered, NULL, &late), NUC_BAD_USAGE);
    nuc_compiler_free(c);
}

static bool no_additions(void *user, const struct nuc_node_info *node)
{
    int *asked = user;

    (*asked)++;
    return strstr(node->target, "add.Tensor") == NULL;
}

/* The caller's own check keeps two additions on the CPU, and is asked for every other operator, too. */
static void test_own_check(void **state)
{
    int asked = 0;
    struct nuc_explain_result r;
    struct nuc_options o;

    nuc_options_default(&o);
    o.placement = NUC_PLACEMENT_GREEDY;
    o.check_op_support = no_additions;
    o.check_op_support_user = &asked;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    assert_int_equal(nuc_explain(open_digits(c), NULL, &r), NUC_OK);
    assert_int_equal(r.n_operators - r.n_delegated, 2);
    assert_true(asked >= (int)r.n_operators); /* the other placement is compared with */
    assert_non_null(strstr(r.first_on_cpu, "the caller's own check"));
    assert_true(r.lost_cycles > 0);
    nuc_compiler_free(c);
}

static const char *explain_json(struct nuc_compiler *c, struct nuc_model *m, struct nuc_explain_result *r)
{
    const struct nuc_explain_options options = {.json = true};

    if (nuc_explain(m, &options, r) != NUC_OK)
        fail_msg("%s", nuc_compiler_message(c));
    return r->text;
}

static uint64_t sum_of(const char *json, const char *key, size_t *count)
{
    uint64_t sum = 0;

    for (const char *p = strstr(json, key); p != NULL; p = strstr(p + 1, key), (*count)++)
        sum += strtoull(p + strlen(key), NULL, 10);
    return sum;
}

/* Values of a member from one text to another. */
static uint64_t sum_between(const char *json, const char *from, const char *to, const char *key)
{
    const char *begin = strstr(json, from), *end = begin != NULL ? strstr(begin, to) : NULL;
    uint64_t sum = 0;

    if (end == NULL)
        fail_msg("no %s", from);
    for (const char *p = strstr(begin, key); p != NULL && p < end; p = strstr(p + 1, key))
        sum += strtoull(p + strlen(key), NULL, 10);
    return sum;
}

/* Of nodes, whose fixes have cycles, too. */
static uint64_t sum_of_nodes(const char *json)
{
    const char *begin = strstr(json, "\"nodes\""), *key = "\"cycles\": ";
    uint64_t sum = 0;

    assert_non_null(begin);
    for (const char *p = strstr(begin, key); p != NULL; p = strstr(p + 1, key)) {
        char *after;
        uint64_t cycles = strtoull(p + strlen(key), &after, 10);
        sum += strncmp(after, ", \"share\"", 9) == 0 ? cycles : 0;
    }
    return sum;
}

/* What joining partitions is said to save is what it saves: two additions on the CPU against none. */
static void test_splits(void **state)
{
    const char *additions = "aten.add.Tensor";
    struct nuc_explain_result whole, split;
    struct nuc_options o;
    size_t count = 0;

    nuc_options_default(&o);
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    assert_non_null(strstr(explain_json(c, open_digits(c), &whole), "\"splits\": []"));
    o.operators_not_to_delegate = &additions;
    o.n_operators_not_to_delegate = 1;
    struct nuc_compiler *c2 = nuc_compiler_new(&o, NULL);
    const char *json = explain_json(c2, open_digits(c2), &split);
    uint64_t saved = sum_between(json, "\"splits\"", "\n", "\"saved_cycles\": ");
    assert_int_equal(split.n_partitions, whole.n_partitions + 2);
    sum_of(json, "\"roots\": 1, ", &count);
    assert_int_equal(count, 2);
    assert_non_null(strstr(json, "\"root\": \"aten_add_tensor\", \"roots\": 1"));
    uint64_t joined = split.cycles - saved, off = joined > whole.cycles ? joined - whole.cycles : whole.cycles - joined;
    assert_true(off < whole.cycles / 20);
    nuc_compiler_free(c);
    nuc_compiler_free(c2);
}

#define LAYER_NORM                                                                                                     \
    "%x = input : float32[1, 8, 16]\n%w = input : float32[1, 16, 8]\n%m = aten.matmul.default(%x, %w) : float32[1, "   \
    "8, 8]\n"                                                                                                          \
    "%n = aten.layer_norm.default(%m, [8]) : float32[1, 8, 8]\n%y = aten.matmul.default(%n, %m) : float32[1, 8, 8]\n"  \
    "%r = aten.relu.default(%y) : float32[1, 8, 8]\n%output = output([%r])\n"

/* Nodes and boundaries are all that an inference takes: on the CPU in int8, in float, and with formats to change. */
static const struct sum_case {
    const char *target, *graph;
} sum_cases[] = {
    {"imxrt700", LAYER_NORM},
    {"imxrt700cm", LAYER_NORM},
    {"cortex-m33", LAYER_NORM},
    {"imxrt700", "%x = input : float32[1, 8, 6, 6]\n%m = aten.max_pool2d.default(%x, [2, 2], [1, 1], [0, 0], [2, 2]) : "
                 "float32[1, 8, 4, 4]\n%a = aten.avg_pool2d.default(%m, [2, 2]) : float32[1, 8, 2, 2]\n"
                 "%output = output([%a])\n"},
};

static void check_sums(struct nuc_context *cx, void *arg)
{
    const struct sum_case *c = arg;
    struct nuc_explain_result r;
    struct nuc_options o;

    (void)cx;
    nuc_options_default(&o);
    o.target = c->target;
    struct nuc_compiler *compiler = nuc_compiler_new(&o, NULL);
    const char *json = explain_json(compiler, nuc_model_make(compiler, parse_graph(compiler->cx, c->graph)), &r);
    assert_int_equal(sum_between(json, "\"boundaries\"", "\n", "\"cycles\": ") + sum_of_nodes(json), r.cycles);
    nuc_compiler_free(compiler);
}

#define QDQ "0.5, 0, -128, 127, int8) : "

/* Between quantized values a float one, a product that reads it and a view of that: one operator is to blame. */
static const char float_chain[] = "%x = input : float32[2, 8]\n"
                                  "%q = quantized_decomposed.quantize_per_tensor.default(%x, " QDQ "int8[2, 8]\n"
                                  "%d = quantized_decomposed.dequantize_per_tensor.default(%q, " QDQ "float32[2, 8]\n"
                                  "%c = aten.cumsum.default(%d, 1) : float32[2, 8]\n"
                                  "%m = aten.mul.Tensor(%c, %d) : float32[2, 8]\n"
                                  "%v = aten.view.default(%m, [16]) : float32[16]\n"
                                  "%r = quantized_decomposed.quantize_per_tensor.default(%v, " QDQ "int8[16]\n"
                                  "%e = quantized_decomposed.dequantize_per_tensor.default(%r, " QDQ "float32[16]\n"
                                  "%output = output([%e, %v])\n";

static void test_roots(void **state)
{
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    struct nuc_explain_result r;
    size_t count = 0;

    const char *json = explain_json(c, nuc_model_make(c, parse_graph(c->cx, float_chain)), &r);
    sum_of(json, "\"root\": \"aten_cumsum_default\"", &count);
    assert_int_equal(r.n_operators - r.n_delegated, 3);
    assert_int_equal(count, 3);
    nuc_compiler_free(c);
}

/* A logarithm has no values for negative ones: the made-up sample is positive then. */
static void check_log(struct nuc_context *cx, void *arg)
{
    struct nuc_explain_result r;
    struct nuc_options o;
    struct nuc_graph *g = NULL;

    nuc_options_default(&o);
    o.placement = NUC_PLACEMENT_GREEDY;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    g = parse_graph(c->cx, "%x = input : float32[2, 8]\n%l = aten.log.default(%x) : float32[2, 8]\n"
                           "%output = output([%l])\n");
    assert_int_equal(nuc_explain(nuc_model_make(c, g), NULL, &r), NUC_OK);
    assert_int_equal(r.n_delegated, 1);
    nuc_compiler_free(c);
}

RUN_TESTS(ROW_TEST(check_work, work_cases), cmocka_unit_test(test_stages), cmocka_unit_test(test_own_check),
          cmocka_unit_test(test_splits), cmocka_unit_test(test_roots), CONTEXT_TEST(check_log),
          ROW_TEST(check_sums, sum_cases))
