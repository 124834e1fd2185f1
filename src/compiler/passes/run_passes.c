/* The order of the passes. */
#include "compiler/passes/decompose.h"
#include "compiler/passes/pass_list.h"
#include "compiler/passes/passes.h"

/*
 * Batch norms are folded first, as the quantization flow of torch does before any pass of the backend; the second time
 * catches those that other passes brought next to a convolution or linear. The reference splits groups and GRUs after
 * it decomposed splits, so that the splits they leave stay on the CPU. It writes a number as divisor as a whole tensor,
 * and knows neither x /= d nor the named paddings of conv1d.
 */
static const struct pass aten_passes[] = {
    {"fold batch norm", nuc_fold_batch_norm, IN_BOTH_MODES},
    {"remove dead nodes", nuc_remove_dead_nodes, IN_BOTH_MODES},
    {"batch dimension of poolings", nuc_batch_pools, IN_BOTH_MODES},
    {"split to slices", nuc_split_to_slices, IN_BOTH_MODES},
    {"split group convolution", nuc_split_group_conv, IN_BOTH_MODES},
    {"split GRU", nuc_split_gru, IN_BOTH_MODES},
    {"fold constants", nuc_fold_constants, IN_BOTH_MODES},
    {"split to slices", nuc_split_to_slices, IN_DEFAULT_MODE},
    {"fuse linear and add", nuc_fuse_linear_add, IN_BOTH_MODES},
    {"move activation before concatenation", nuc_move_activation, IN_BOTH_MODES},
    {"numbers as divisors", nuc_spread_divisors, IN_COMPAT_MODE},
    {"division to multiplication", nuc_div_to_mul, IN_BOTH_MODES},
    {"division in place to multiplication", nuc_div_in_place_to_mul, IN_DEFAULT_MODE},
    {"1-D to 2-D convolution", nuc_conv1d_to_2d, IN_BOTH_MODES},
    {"1-D to 2-D convolution, named padding", nuc_padded_conv1d_to_2d, IN_DEFAULT_MODE},
    {"fold batch norm", nuc_fold_batch_norm, IN_BOTH_MODES},
    {"remove dead nodes", nuc_remove_dead_nodes, IN_BOTH_MODES},
};

/* In compatibility mode without an NPU: what torch's quantization flow does before any pass of the backend. */
static const struct pass cpu_passes[] = {
    {"fold batch norm", nuc_fold_batch_norm, IN_COMPAT_MODE},
    {"remove dead nodes", nuc_remove_dead_nodes, IN_COMPAT_MODE},
};

static const struct pass edge_passes[] = {
    {"separate leading auxiliary nodes", nuc_separate_leading, IN_BOTH_MODES},
    {"separate trailing auxiliary nodes", nuc_separate_trailing, IN_BOTH_MODES},
    {"remove as_strided", nuc_remove_as_strided, IN_BOTH_MODES},
    {"reshapes to view", nuc_reshapes_to_view, IN_BOTH_MODES},
    {"fold requantization", nuc_fold_requantize, IN_BOTH_MODES},
};

static const struct pass edge_passes_sdk31[] = {
    {"separate leading auxiliary nodes", nuc_separate_leading_sdk31, IN_BOTH_MODES},
    {"separate trailing auxiliary nodes", nuc_separate_trailing, IN_BOTH_MODES},
    {"remove as_strided", nuc_remove_as_strided, IN_BOTH_MODES},
    {"reshapes to view", nuc_reshapes_to_view, IN_BOTH_MODES},
};

static const struct pass cluster_passes[] = {
    {"separate what moves values", nuc_separate_moves, IN_DEFAULT_MODE},
    {"merge quantize nodes", nuc_merge_quantize, IN_DEFAULT_MODE},
    {"split dequantize nodes", nuc_split_dequantize, IN_DEFAULT_MODE},
};

static const struct pass lowered_passes[] = {
    {"move quantized values", nuc_move_quantized, IN_BOTH_MODES},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MAX_CYCLES 10

bool nuc_remove_dead_nodes(struct nuc_graph *g)
{
    uint32_t before = g->n_nodes;

    nuc_remove_dead(g);
    return g->n_nodes != before;
}

static bool same_layouts(const struct nuc_node *a, const struct nuc_node *b)
{
    bool same = a->n_vals == b->n_vals;

    for (uint32_t i = 0; same && i < a->n_vals; i++)
        same = nuc_same_layout(&a->vals[i], &b->vals[i]);
    return same;
}

/* A view of a value that lies in another order by now needs a copy. */
static bool needs_copy(const struct nuc_node *node)
{
    const struct nuc_node *input = node->op == NUC_OP_VIEW ? nuc_arg_node(node, 0) : NULL;

    return input != NULL && !nuc_is_viewable(&input->vals[0], node->vals[0].sizes, node->vals[0].rank);
}

/* A pass that changes the dim order of a value changes those of what is computed from it. */
static void infer_layouts(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n) || n->op == NUC_OP_CALL_DELEGATE)
            continue;
        n->op = needs_copy(n) ? NUC_OP_RESHAPE : n->op;
        struct nuc_node inferred = *n;
        nuc_infer_shape(g, &inferred);
        if (!same_layouts(n, &inferred))
            n->vals = inferred.vals;
    }
}

void nuc_run_aten_passes(struct nuc_graph *g, const struct nuc_aten_options *options)
{
    enum pass_mode other = options->reference_compat ? IN_DEFAULT_MODE : IN_COMPAT_MODE;

    if (options->reference_compat && options->no_npu) {
        for (size_t i = 0; i < COUNT(cpu_passes); i++)
            cpu_passes[i].run(g);
        return;
    }
    for (size_t i = 0; i < COUNT(aten_passes); i++) {
        if (aten_passes[i].mode != other)
            aten_passes[i].run(g);
    }
    infer_layouts(g);
}

/* Every change adds or removes nodes, so a pass that goes on longer than there are nodes does not end. */
static bool run_until_stable(struct nuc_graph *g, const struct pass *pass)
{
    uint32_t limit = g->n_nodes;

    for (uint32_t i = 0; i <= limit; i++) {
        if (!pass->run(g))
            return i > 0;
    }
    nuc_fail(g->cx, NUC_INTERNAL, "%s: pass '%s' does not come to an end", g->file, pass->name);
}

/* All passes again until none changes anything. Returns whether any did. */
static bool run_cycles(struct nuc_graph *g, const struct pass *passes, size_t count)
{
    bool changed = true, any = false;

    for (int cycle = 0; changed && cycle < MAX_CYCLES; cycle++) {
        changed = false;
        for (size_t i = 0; i < count; i++)
            changed |= run_until_stable(g, &passes[i]);
        any |= changed;
    }
    return any;
}

void nuc_run_edge_passes(struct nuc_graph *g)
{
    run_cycles(g, edge_passes, COUNT(edge_passes));
    infer_layouts(g);
    nuc_rename_as_traced(g);
}

void nuc_run_edge_passes_sdk31(struct nuc_graph *g)
{
    run_cycles(g, edge_passes_sdk31, COUNT(edge_passes_sdk31));
    infer_layouts(g);
    nuc_rename_as_traced(g);
}

void nuc_run_cluster_passes(struct nuc_graph *g)
{
    if (nuc_plain_orders(g))
        infer_layouts(g);
    if (run_cycles(g, cluster_passes, COUNT(cluster_passes)))
        nuc_rename_as_traced(g);
}

void nuc_run_lowered_passes(struct nuc_graph *g)
{
    if (run_cycles(g, lowered_passes, COUNT(lowered_passes)))
        nuc_rename_as_traced(g);
}
