/* Graphs before and after the passes on their way to the partitioner, and what they compute. */
#include "rewrites.h"

#include "npu/layout/orders.h"
#include "rewrite/npu_forms/npu_forms.h"

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
    {.name = "expand", .run = expand},
    {.name = "aten", .passes = {&nuc_aten_passes}},
    /* The reference's order leaves the splits of groups to a second run. */
    {.name = "aten-as-reference", .passes = {&nuc_aten_passes}, .mode = NUC_PASSES_COMPAT, .repeats = true},
    {.name = "to-edge", .run = to_edge},
    {.name = "to-edge-preserving", .run = preserving},
    {.name = "to-edge-for-executorch", .run = to_edge_for_executorch},
    {.name = "npu-forms", .run = to_npu_forms},
    {.name = "written", .passes = {&nuc_written_passes}},
    {.name = "int8", .passes = {&nuc_int8_passes}},
    {.name = "quantized", .passes = {&nuc_quantized_passes}},
    {.name = "orders", .passes = {&nuc_order_passes}},
    {.name = "edge", .passes = {&nuc_edge_passes}},
    {.name = "cluster", .passes = {&nuc_plain_passes, &nuc_cluster_passes}},
    {.name = "npu", .passes = {&nuc_npu_passes}},
    {.name = "lowered", .passes = {&nuc_lowered_passes}},
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
