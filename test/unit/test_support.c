/* Every support rule just inside and just outside its limit; partition rules; no-ops; targets. */
#include "support_nets.h"

#include "npu/layout/layout.h"
#include "npu/support/cluster.h"

static void check_rule(struct nuc_context *cx, struct text_line *line)
{
    const char *words;
    struct nuc_graph *g = line_net(cx, line, &words);
    struct nuc_support s = support_of(g, NULL);

    nuc_infer_formats(g, nuc_flavor_find(g->cx, NULL));
    struct nuc_verdict v = check_verdict(&s, line_rule(line));
    assert_non_null(v.actual);
    assert_non_null(v.limit);
}

static void check_mcxn_rule(struct nuc_context *cx, struct text_line *line)
{
    const char *words;
    struct nuc_graph *g = line_net(cx, line, &words);
    struct nuc_support s = support_of(g, NULL);

    s.target = nuc_target_find(cx, "mcxn947");
    nuc_infer_formats(g, s.flavor);
    check_verdict(&s, line_rule(line));
}

/* Only what stays in its order is transposed. */
static void check_mcxn_transposes(struct nuc_context *cx, void *arg)
{
    const struct nuc_target *target = nuc_target_find(cx, "mcxn547");
    static const int32_t image[] = {1, 8, 8, 8}, plane[] = {1, 1, 8, 8};
    static const int32_t to_last[] = {0, 2, 3, 1};

    (void)arg;
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++) {
        assert_false(nuc_can_transpose(target, nuc_flavor_at(i), image, to_last, 4));
        assert_true(nuc_can_transpose(target, nuc_flavor_at(i), plane, to_last, 4));
    }
}

/* The channels-first gate: without formats a convolution does not pass. */
static void check_format_gate(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g =
        parse_net(cx, "aten.convolution.default(%dx, %dw, %db, [1, 1], [0, 0], [1, 1], false, [0, 0], 1) "
                      "of [1, 8, 6, 6] with [8, 8, 3, 3] and [8]");
    struct nuc_support s = support_of(g, NULL);

    assert_false(nuc_check_format(&s, node_of(g, "r")).ok);
    assert_non_null(strstr(nuc_check_support(&s, node_of(g, "r")).rule, "channels-first"));
    nuc_infer_formats(g, nuc_flavor_find(g->cx, NULL));
    assert_true(nuc_check_format(&s, node_of(g, "r")).ok);
}

/* ---- partition rules ---- */

/* Inputs hold -63.5 to 63.5, or 0 to 127.5 when their zero point is -128. */
static void check_partition_rule(struct nuc_context *cx, struct text_line *line)
{
    const char *words;
    struct nuc_graph *g = line_net(cx, line, &words);
    int32_t *of = nuc_alloc_array(cx, g->next_id, sizeof *of);
    uint32_t n_compute[1] = {strcmp(words, "alone") == 0 ? 1 : 2};
    struct nuc_partition_view view = {of, n_compute};
    struct nuc_support s = support_of(g, NULL);

    s.partitions = &view;
    struct nuc_verdict v = nuc_check_partition(&s, node_of(g, "r"));
    if (v.ok == line->refused)
        fail_msg("%s instead of %s in:\n%s", v.ok ? "ok" : v.rule, line->right, nuc_graph_print(g, false));
}

/* ---- no-ops ---- */

static void check_no_op(struct nuc_context *cx, struct text_line *line)
{
    const char *words;
    struct nuc_graph *g = line_net(cx, line, &words);
    struct nuc_support s = support_of(g, NULL);

    if (nuc_is_no_op(&s, node_of(g, "r")) == line->refused)
        fail_msg("not '%s' in:\n%s", line->right, nuc_graph_print(g, false));
}

/* ---- clusters ---- */

static void check_clusters(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, "%x = input : float32[2, 3] !\n"
                                              "%v = edge.aten.view_copy.default(%dx, [3, 2]) : float32[3, 2]\n"
                                              "%r = edge.aten.relu.default(%v) !\n");

    nuc_tag_clusters(g);
    /* Both nodes are compute nodes of the same cluster; the later one names it. */
    const char *inside[] = {"dx", "v", "r", "qr"}, *outside[] = {"x", "qx", "dr", "output"};
    for (size_t i = 0; i < 4; i++) {
        assert_ptr_equal(node_of(g, inside[i])->cluster, node_of(g, "r"));
        assert_null(node_of(g, outside[i])->cluster);
    }
}

static void check_open_cluster(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, "%x = input : float32[2, 3] !\n%r = edge.aten.relu.default(%dx) !\n"
                                              "%output = output([%qr, %r])\n");

    nuc_tag_clusters(g);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        assert_null(n->cluster);
}

/* ---- targets ---- */

static void find_unknown_target(struct nuc_context *cx, void *arg)
{
    nuc_target_find(cx, arg);
}

static void find_unknown_flavor(struct nuc_context *cx, void *arg)
{
    nuc_flavor_find(cx, arg);
}

static void check_targets(struct nuc_context *cx, void *arg)
{
    for (size_t i = 0; nuc_target_at(i) != NULL; i++)
        assert_ptr_equal(nuc_target_find(cx, nuc_target_at(i)->name), nuc_target_at(i));
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++)
        assert_ptr_equal(nuc_flavor_find(cx, nuc_flavor_at(i)->name), nuc_flavor_at(i));
    assert_string_equal(nuc_target_find(cx, NULL)->name, "imxrt700");
    assert_string_equal(nuc_target_find(cx, "mcxn94x")->name, "mcxn947"); /* as NXP's converter calls it */
    assert_string_equal(nuc_flavor_find(cx, NULL)->name, "sdk-3.2");
    /* 64 multiply-accumulates a cycle at 324 MHz */
    assert_true(nuc_target_peak_macs(nuc_target_at(0)) > 20.7e9 && nuc_target_peak_macs(nuc_target_at(0)) < 20.8e9);
}

static void note(void *user, const char *message)
{
    int *count = user;

    assert_non_null(strstr(message, "sdk-3.1"));
    (*count)++;
}

/* Flavors named after releases of the vendor's kit stand for the rule set of their time. */
static void check_aliases(struct nuc_context *cx, void *arg)
{
    const char *aliases[] = {"SDK_25_06", "SDK_25_09", "SDK_25_12"};

    cx->warn = note;
    cx->warn_user = arg;
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(nuc_flavor_find(cx, aliases[i])->name, "sdk-3.1");
    assert_int_equal(*(int *)arg, 3);
}

static void test_aliases(void **state)
{
    int notes = 0;
    char unknown[] = "SDK_24_12";

    run_in_context(check_aliases, &notes);
    expect_failure(find_unknown_flavor, unknown, NUC_BAD_USAGE, "sdk-3.2, sdk-3.1");
}

/* Operators go by what people call them. */
static void check_nouns(struct nuc_context *cx, void *arg)
{
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_NATIVE_LAYER_NORM), "layer norm");
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_SORT_STABLE), "sort");
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_GE), "comparison");
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_UNFOLD), "unfold");
    assert_string_equal(nuc_operator_noun(cx, NUC_OP_NATIVE_LOG_SOFTMAX), "log_softmax");
}

static void test_targets(void **state)
{
    char unknown[] = "imxrt701";

    run_in_context(check_targets, NULL);
    expect_failure(find_unknown_target, unknown, NUC_BAD_USAGE, "imxrt700");
    expect_failure(find_unknown_flavor, unknown, NUC_BAD_USAGE, "sdk-3.2");
}

int main(void)
{
    static const struct net_check checks[] = {{"imxrt700", check_rule},
                                              {"mcxn947", check_mcxn_rule},
                                              {"partitions", check_partition_rule},
                                              {"no-ops", check_no_op},
                                              {NULL, NULL}};
    const struct CMUnitTest tests[] = {
        TEXT_TEST("cases/support.txt", check_nets, checks),
        CONTEXT_TEST(check_mcxn_transposes),
        CONTEXT_TEST(check_format_gate),
        CONTEXT_TEST(check_clusters),
        CONTEXT_TEST(check_open_cluster),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_aliases),
        CONTEXT_TEST(check_nouns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
