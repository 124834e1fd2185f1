/* Graphs before and after the passes on their way to the partitioner, and what they compute. */
#include "rewrites.h"

#include "npu/layout/orders.h"
#include "rewrite/npu_forms/npu_forms.h"

static void by_default(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_aten_passes, NUC_PASSES_DEFAULT, NULL);
}

static void as_reference(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_aten_passes, NUC_PASSES_COMPAT, NULL);
}

static const char *const wanted[] = {"prelu", "aten::pad", "aten.hardswish.default"};

static void to_edge(struct nuc_graph *g)
{
    nuc_to_edge(g, NULL);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        assert_true(strncmp(nuc_node_op_name(n), "aten.", 5) != 0);
}

static void to_edge_for_executorch(struct nuc_graph *g)
{
    struct nuc_edge_options options = {.executorch_ops_only = true};

    nuc_to_edge(g, &options);
}

static void preserving(struct nuc_graph *g)
{
    struct nuc_edge_options options = {.preserve_ops = wanted, .n_preserve_ops = 3};

    nuc_to_edge(g, &options);
}

static void run_int8_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_int8_passes, NUC_PASSES_DEFAULT, NULL);
}

static void find_written(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_written_passes, NUC_PASSES_DEFAULT, NULL);
}

static void run_quantized_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_quantized_passes, NUC_PASSES_DEFAULT, NULL);
}

static void run_order_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_order_passes, NUC_PASSES_DEFAULT, NULL);
}

static void run_edge_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_edge_passes, NUC_PASSES_DEFAULT, NULL);
}

static void run_cluster_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_plain_passes, NUC_PASSES_DEFAULT, NULL);
    nuc_run_passes(g, &nuc_cluster_passes, NUC_PASSES_DEFAULT, NULL);
}

static void run_npu_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_npu_passes, NUC_PASSES_DEFAULT, NULL);
}

static void run_lowered_passes(struct nuc_graph *g)
{
    nuc_run_passes(g, &nuc_lowered_passes, NUC_PASSES_DEFAULT, NULL);
}

static void expand(struct nuc_graph *g)
{
    nuc_expand(g);
}

/* By the rules and costs of the i.MX RT700. */
static void to_npu_forms(struct nuc_graph *g)
{
    struct nuc_support s = {
        .g = g, .target = nuc_target_find(g->cx, "imxrt700"), .flavor = nuc_flavor_find(g->cx, NULL)};

    if (nuc_to_npu_forms(&s))
        nuc_refresh_layouts(g);
}

static const struct stage stages[] = {
    {"expand", expand, false},
    {"aten", by_default, false},
    /* The reference's order leaves the splits of groups to a second run. */
    {"aten-as-reference", as_reference, true},
    {"to-edge", to_edge, false},
    {"to-edge-preserving", preserving, false},
    {"to-edge-for-executorch", to_edge_for_executorch, false},
    {"npu-forms", to_npu_forms, false},
    {"written", find_written, false},
    {"int8", run_int8_passes, false},
    {"quantized", run_quantized_passes, false},
    {"orders", run_order_passes, false},
    {"edge", run_edge_passes, false},
    {"cluster", run_cluster_passes, false},
    {"npu", run_npu_passes, false},
    {"lowered", run_lowered_passes, false},
};

static void test_aten_passes(void **state)
{
    RUN_REWRITES(stages, "rewrites/aten.txt");
}

static void test_single_passes(void **state)
{
    RUN_REWRITES(stages, "rewrites/passes.txt", "rewrites/quantized.txt");
}

static void test_edge_passes(void **state)
{
    RUN_REWRITES(stages, "rewrites/edge.txt");
}

static void test_expansions(void **state)
{
    RUN_REWRITES(stages, "rewrites/expand_move.txt", "rewrites/attention.txt", "rewrites/in_place.txt",
                 "rewrites/expand_reduce.txt");
}

static void test_written(void **state)
{
    RUN_REWRITES(stages, "rewrites/written.txt");
}

static void test_npu_forms(void **state)
{
    RUN_REWRITES(stages, "rewrites/npu_linear_map.txt", "rewrites/npu_function.txt", "rewrites/npu_sum.txt",
                 "rewrites/npu_conv.txt", "rewrites/npu_window.txt", "rewrites/npu_matrix.txt",
                 "rewrites/npu_move.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expansions),  cmocka_unit_test(test_aten_passes), cmocka_unit_test(test_single_passes),
        cmocka_unit_test(test_edge_passes), cmocka_unit_test(test_npu_forms),   cmocka_unit_test(test_written),
    };

    return cmocka_run_group_tests_name("rewrites", tests, NULL, NULL);
}
