/* Graphs before and after the passes on their way to the partitioner, and what they compute. */
#include "rewrites.h"
#include "support_nets.h"

#include "npu/layout/orders.h"
#include "rewrite/npu_forms/npu_forms.h"
#include "rewrite/pass_list.h"
#include "rewrite/passes/unread.h"
#include "rewrite/recognize/computed_weight.h"

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
static void to_npu_forms_with(struct nuc_graph *g, enum nuc_norm_form form)
{
    struct nuc_norm_of empty = {"empty", form, 0.0625};
    const struct nuc_norms norms = {
        .softmax_in_parts = form != NUC_NORM_WHOLE, .form = form, .n_others = 1, .others = &empty};
    struct nuc_support s = support_of(g, NULL);

    s.norms = &norms;
    if (nuc_to_npu_forms(&s))
        nuc_refresh_layouts(g);
    /* Those of many values take fewer cycles in parts. */
    for (const struct nuc_node *n = g->first; n != NULL && form != NUC_NORM_WHOLE; n = n->next)
        assert_true(nuc_op_family(n->op) != NUC_FAMILY_NORM || nuc_elements(&n->vals[0]) < 1000);
}

static void to_npu_forms(struct nuc_graph *g)
{
    to_npu_forms_with(g, NUC_NORM_WHOLE);
}

static void to_npu_quotients(struct nuc_graph *g)
{
    struct nuc_support s = support_of(g, NULL);

    s.divides_in_int8 = true;
    if (nuc_to_npu_forms(&s))
        nuc_refresh_layouts(g);
}

static void take_fewer_rows(struct nuc_graph *g)
{
    struct nuc_support s = support_of(g, NULL);

    if (nuc_to_forms(&s, nuc_row_forms))
        nuc_refresh_layouts(g);
}

/* By the costs of a CPU that computes in float, or of the NPU. */
static void leave_unread_of(struct nuc_graph *g, const char *target)
{
    if (nuc_leave_unread(g, nuc_target_find(g->cx, target), target != NULL))
        nuc_refresh_layouts(g);
}

static void leave_unread(struct nuc_graph *g)
{
    leave_unread_of(g, "cortex-m33");
}

static void leave_unread_on_npu(struct nuc_graph *g)
{
    leave_unread_of(g, NULL);
}

static void to_cpu_forms(struct nuc_graph *g, const struct nuc_npu_form *forms)
{
    const struct nuc_support s = {.g = g, .target = nuc_target_find(g->cx, "cortex-m33")};

    if (nuc_to_forms(&s, forms))
        nuc_refresh_layouts(g);
}

static void to_cpu_convolutions(struct nuc_graph *g)
{
    to_cpu_forms(g, nuc_cpu_conv_forms);
}

static void to_cpu_moves(struct nuc_graph *g)
{
    to_cpu_forms(g, nuc_cpu_move_forms);
}

static void split_groups(struct nuc_graph *g)
{
    if (nuc_split_group_conv(g, NULL))
        nuc_split_to_slices(g);
}

static void split_groups_for_npu(struct nuc_graph *g)
{
    const struct nuc_support s = support_of(g, NULL);

    if (nuc_split_group_conv(g, &s))
        nuc_split_to_slices(g);
}

static void to_npu_norms(struct nuc_graph *g)
{
    to_npu_forms_with(g, NUC_NORM_SHORT);
}

static void centre_rows(struct nuc_graph *g)
{
    nuc_centre_rows(g);
}

static void to_centred_npu_norms(struct nuc_graph *g)
{
    nuc_centre_rows(g);
    to_npu_norms(g);
}

static void to_fine_npu_norms(struct nuc_graph *g)
{
    to_npu_forms_with(g, NUC_NORM_FINE);
}

static void to_wide_npu_norms(struct nuc_graph *g)
{
    to_npu_forms_with(g, NUC_NORM_WIDE);
}

static void to_constant_weights(struct nuc_graph *g)
{
    struct nuc_support s = support_of(g, NULL);

    if (nuc_keep_weights_constant(g, &s))
        nuc_refresh_layouts(g);
}

static void to_constant_weights_on_cpu(struct nuc_graph *g)
{
    if (nuc_keep_weights_constant(g, NULL))
        nuc_refresh_layouts(g);
}

static void set_width(struct nuc_graph *g, struct nuc_node *node, enum nuc_width width)
{
    struct nuc_source *source = nuc_copy(g->cx, node->source, sizeof *source);

    source->width = width;
    node->source = source;
}

/* Products that stay in float because int8 is too narrow for them. */
static void wide_products(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        set_width(g, n, n->op == NUC_OP_MUL ? NUC_WIDTH_FLOAT : NUC_WIDTH_OPEN);
    nuc_fold_channel_scales(g);
}

/* By --precision of what is named so. */
static void merge_narrow(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next)
        set_width(g, n, strncmp(n->name, "wide", 4) == 0 ? NUC_WIDTH_INT16 : NUC_WIDTH_OPEN);
    nuc_merge_equal(g);
    nuc_merge_convs(g);
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
    {.name = "npu-quotients", .run = to_npu_quotients},
    {.name = "npu-rows", .run = take_fewer_rows},
    {.name = "unread", .run = leave_unread},
    {.name = "unread-npu", .run = leave_unread_on_npu},
    {.name = "cpu-convolutions", .run = to_cpu_convolutions},
    {.name = "cpu-moves", .run = to_cpu_moves},
    {.name = "cpu-groups", .run = split_groups},
    {.name = "npu-groups", .run = split_groups_for_npu},
    {.name = "npu-norms", .run = to_npu_norms},
    {.name = "centred-rows", .run = centre_rows},
    {.name = "centred-npu-norms", .run = to_centred_npu_norms},
    {.name = "npu-fine-norms", .run = to_fine_npu_norms},
    {.name = "npu-wide-norms", .run = to_wide_npu_norms},
    {.name = "constant-weights", .run = to_constant_weights},
    {.name = "constant-weights-cpu", .run = to_constant_weights_on_cpu},
    {.name = "written", .passes = {&nuc_norm_passes, &nuc_written_passes}},
    {.name = "int8", .passes = {&nuc_int8_passes}},
    {.name = "wide-products", .run = wide_products},
    {.name = "merge-narrow", .run = merge_narrow},
    {.name = "quantized", .passes = {&nuc_quantized_passes, &nuc_archive_passes}},
    {.name = "orders", .passes = {&nuc_order_passes}},
    {.name = "edge", .passes = {&nuc_edge_passes}},
    {.name = "cluster", .passes = {&nuc_plain_passes, &nuc_cluster_passes}},
    {.name = "npu", .passes = {&nuc_npu_passes}},
    {.name = "lowered", .passes = {&nuc_lowered_passes}},
};

RUN_TESTS(REWRITE_TEST("aten.txt", stages), REWRITE_TEST("passes.txt", stages), REWRITE_TEST("quantized.txt", stages),
          REWRITE_TEST("edge.txt", stages), REWRITE_TEST("expand_move.txt", stages),
          REWRITE_TEST("attention.txt", stages), REWRITE_TEST("in_place.txt", stages),
          REWRITE_TEST("expand_reduce.txt", stages), REWRITE_TEST("written.txt", stages),
          REWRITE_TEST("npu_linear_map.txt", stages), REWRITE_TEST("npu_function.txt", stages),
          REWRITE_TEST("npu_sum.txt", stages), REWRITE_TEST("npu_conv.txt", stages),
          REWRITE_TEST("npu_window.txt", stages), REWRITE_TEST("npu_matrix.txt", stages),
          REWRITE_TEST("npu_move.txt", stages), REWRITE_TEST("npu_norm.txt", stages),
          REWRITE_TEST("computed_weight.txt", stages), REWRITE_TEST("npu_softmax.txt", stages),
          REWRITE_TEST("masks.txt", stages), REWRITE_TEST("distances.txt", stages),
          REWRITE_TEST("npu_rows.txt", stages), REWRITE_TEST("unread.txt", stages))
