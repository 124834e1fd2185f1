/* The order of the passes. */
#include "npu/layout/orders.h"
#include "rewrite/pass_list.h"

#define IN(mode) (1u << (mode))

enum {
    BETTER = IN(NUC_PASSES_DEFAULT),
    AS_REFERENCE = IN(NUC_PASSES_COMPAT),
    BOTH = BETTER | AS_REFERENCE,
    ALSO_FOR_CPU = BOTH | IN(NUC_PASSES_COMPAT_CPU),
    SDK_3_1 = IN(NUC_PASSES_SDK_3_1)
};

bool nuc_remove_dead_nodes(struct nuc_graph *g)
{
    uint32_t before = g->n_nodes;

    nuc_remove_dead(g);
    return g->n_nodes != before;
}

/*
 * Batch norms are folded first, but for what is computed twice, whose folded weights would be two, as the quantization
 * flow of torch does before any pass of the backend; the second time catches those that other passes brought next to a
 * convolution or linear. Branches are merged before groups are split, and once more where constants have become factors
 * of a layer. For a CPU alone the reference does no more than that. The reference splits groups and recurrent layers
 * after it decomposed splits, so that the splits they leave stay on the CPU. It writes a number as divisor as a whole
 * tensor, and knows neither x /= d nor the named paddings and computed weights of conv1d.
 */
static const struct nuc_pass aten_passes[] = {
    {"written-parts", nuc_written_parts, BETTER},
    {"fold-idle-moves", nuc_fold_idle_moves, BETTER},
    {"fold-turned-weights", nuc_fold_turned_weights, BETTER},
    {"merge-equal", nuc_merge_equal, BETTER},
    {"written-operators", nuc_written_operators, BETTER},
    {"join-scales", nuc_join_scales, BETTER},
    {"fold-batch-norm", nuc_fold_batch_norm, ALSO_FOR_CPU},
    {"remove-dead-nodes", nuc_remove_dead_nodes, ALSO_FOR_CPU},
    {"merge-convs", nuc_merge_convs, BETTER},
    {"batch-pools", nuc_batch_pools, BOTH},
    {"split-to-slices", nuc_split_to_slices, BOTH},
    {"split-group-conv", nuc_split_group_conv_as_reference, AS_REFERENCE},
    {"written-cells", nuc_written_cells, BETTER},
    {"join-recurrent", nuc_join_recurrent, BETTER},
    {"split-recurrent", nuc_split_recurrent, BETTER},
    {"fold-projections", nuc_fold_projections, BETTER},
    {"join-steps", nuc_join_steps, BETTER},
    {"split-recurrent-as-reference", nuc_split_recurrent_as_reference, AS_REFERENCE},
    {"fold-constants", nuc_fold_constants, BOTH},
    {"fold-channel-terms", nuc_fold_channel_terms, BETTER},
    {"merge-convs-again", nuc_merge_convs, BETTER},
    {"split-to-slices-again", nuc_split_to_slices, BETTER},
    {"chunk-to-slices", nuc_chunk_to_slices, BETTER},
    {"fuse-linear-add", nuc_fuse_linear_add, AS_REFERENCE},
    {"move-activation", nuc_move_activation, BOTH},
    {"materialize-divisors", nuc_materialize_divisors, AS_REFERENCE},
    {"div-to-mul", nuc_div_to_mul, BOTH},
    {"div-in-place-to-mul", nuc_div_in_place_to_mul, BETTER},
    {"conv1d-to-2d", nuc_conv1d_to_2d, BOTH},
    {"other-conv1d-to-2d", nuc_other_conv1d_to_2d, BETTER},
    {"fold-batch-norm-again", nuc_fold_batch_norm, BOTH},
    {"fold-moved-batch-norm", nuc_fold_moved_batch_norm, BETTER},
    {"batch-norm-to-conv", nuc_batch_norm_to_conv, BETTER},
    {"conv1d-to-2d-again", nuc_conv1d_to_2d, BETTER},
    {"crop-kernels", nuc_crop_kernels, BETTER},
    {"remove-dead-nodes-again", nuc_remove_dead_nodes, BOTH},
};

static const struct nuc_pass norm_passes[] = {
    {"written-gathers", nuc_written_gathers, BETTER},
    {"gathered-rows", nuc_gathered_rows, BETTER},
    {"written-norms", nuc_written_norms, BETTER},
};

static const struct nuc_pass written_passes[] = {
    {"written-softmax", nuc_written_softmax, BETTER},
    {"written-products", nuc_written_products, BETTER},
    {"written-groups", nuc_written_groups, BETTER},
    {"finite-masks", nuc_finite_masks, BETTER},
    {"rank-distances", nuc_rank_distances, BETTER},
    {"fold-distances", nuc_fold_channel_terms, BETTER},
    {"fuse-linears", nuc_fuse_linears, BETTER},
    {"written-parts-again", nuc_written_parts, BETTER},
    {"fold-idle-moves-again", nuc_fold_idle_moves, BETTER},
    {"written-moves", nuc_written_moves, BETTER},
    {"fold-undone-permutes", nuc_fold_undone_permutes, BETTER},
};

static const struct nuc_pass int8_passes[] = {
    {"fold-written", nuc_fold_constants, BETTER},
    {"rank-before-softmax", nuc_rank_before_softmax, BETTER},
};

static const struct nuc_pass quantized_passes[] = {
    {"fold-quantized", nuc_fold_quantized, BETTER},
    {"signed-values", nuc_signed_values, BETTER},
    {"rescale-biases", nuc_rescale_biases, BOTH},
    {"quantize-biases", nuc_quantize_biases, BETTER},
    {"fold-channel-scales", nuc_fold_channel_scales, BETTER},
    {"quantized-conv1d-to-2d", nuc_quantized_conv1d_to_2d, BETTER},
};

static const struct nuc_pass archive_passes[] = {
    {"quantize-before-moves", nuc_quantize_before_moves, BETTER},
};

static const struct nuc_pass order_passes[] = {
    {"remove-order-copies", nuc_remove_order_copies, BETTER},
    {"make-orders-usable", nuc_make_orders_usable, BETTER},
    {"fold-moves", nuc_fold_moves, BETTER},
};

static const struct nuc_pass edge_passes[] = {
    {"separate-leading", nuc_separate_leading, BOTH},
    {"separate-leading-sdk-3.1", nuc_separate_leading_sdk31, SDK_3_1},
    {"separate-trailing", nuc_separate_trailing, BOTH | SDK_3_1},
    {"remove-as-strided", nuc_remove_as_strided, BOTH | SDK_3_1},
    {"reshapes-to-view", nuc_reshapes_to_view, BOTH | SDK_3_1},
    {"fold-requantize", nuc_fold_requantize, BOTH},
};

static const struct nuc_pass plain_passes[] = {
    {"plain-orders", nuc_plain_orders, BETTER},
};

static const struct nuc_pass cluster_passes[] = {
    {"separate-moves", nuc_separate_moves, BETTER},
    {"merge-quantize", nuc_merge_quantize, BETTER},
    {"split-dequantize", nuc_split_dequantize, BETTER},
};

static const struct nuc_pass npu_passes[] = {
    {"requantize", nuc_insert_requantize, BETTER},
};

/* Without quantization: what decomposition moves of parameters is computed once. */
static const struct nuc_pass float_passes[] = {
    {"fold-moved-constants", nuc_fold_constants, BETTER},
};

static const struct nuc_pass lowered_passes[] = {
    {"move-quantized", nuc_move_quantized, BOTH},
};

#define LIST(array) .passes = (array), .count = sizeof(array) / sizeof(array)[0]

const struct nuc_pass_list nuc_aten_passes = {LIST(aten_passes), .refresh = true};
const struct nuc_pass_list nuc_norm_passes = {LIST(norm_passes), .refresh = true};
const struct nuc_pass_list nuc_written_passes = {LIST(written_passes), .refresh = true};
const struct nuc_pass_list nuc_int8_passes = {LIST(int8_passes), .refresh = true};
const struct nuc_pass_list nuc_order_passes = {LIST(order_passes), .refresh = true};
const struct nuc_pass_list nuc_quantized_passes = {LIST(quantized_passes), .refresh = true};
const struct nuc_pass_list nuc_archive_passes = {LIST(archive_passes), .refresh = true};
/* Renamed in any case: the reference traces the graph again after these passes. */
const struct nuc_pass_list nuc_edge_passes = {LIST(edge_passes), true, nuc_rename_as_traced, true, .refresh = true};
const struct nuc_pass_list nuc_plain_passes = {LIST(plain_passes), .refresh = true};
const struct nuc_pass_list nuc_cluster_passes = {LIST(cluster_passes), true, nuc_rename_as_traced};
const struct nuc_pass_list nuc_npu_passes = {LIST(npu_passes), true, nuc_rename_as_traced};
const struct nuc_pass_list nuc_float_passes = {LIST(float_passes)};
const struct nuc_pass_list nuc_lowered_passes = {LIST(lowered_passes), true, nuc_rename_as_traced};

#define MAX_CYCLES 10

const char *nuc_pass_name(const struct nuc_pass_list *list, uint32_t index)
{
    return list->passes[index].name;
}

/* Every change adds or removes nodes, so a pass that goes on longer than there are nodes does not end. */
static bool run_until_stable(struct nuc_graph *g, const struct nuc_pass *pass)
{
    uint32_t limit = g->n_nodes;

    for (uint32_t i = 0; i <= limit; i++) {
        if (!pass->run(g))
            return i > 0;
    }
    nuc_fail(g->cx, NUC_INTERNAL, "%s: pass '%s' does not come to an end", g->file, pass->name);
}

bool nuc_run_passes(struct nuc_graph *g, const struct nuc_pass_list *list, enum nuc_pass_mode mode,
                    const struct nuc_pass_hook *hook)
{
    bool changed = true, any = false;

    for (int cycle = 0; changed && cycle < (list->repeat ? MAX_CYCLES : 1); cycle++) {
        changed = false;
        for (uint32_t i = 0; i < list->count; i++) {
            const struct nuc_pass *pass = &list->passes[i];
            if ((pass->modes & IN(mode)) == 0)
                continue;
            bool did = list->repeat ? run_until_stable(g, pass) : pass->run(g);
            if (did && list->refresh)
                nuc_refresh_layouts(g);
            changed |= did;
            if (hook != NULL)
                hook->done(hook->user, pass->name, g);
        }
        any |= changed;
    }
    if (list->finish != NULL && (any || list->always_finish))
        list->finish(g);
    return any;
}
