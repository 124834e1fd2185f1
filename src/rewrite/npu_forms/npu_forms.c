#include "rewrite/formula/formula.h"
#include "rewrite/npu_forms/npu_broadcast.h"
#include "rewrite/npu_forms/npu_conv.h"
#include "rewrite/npu_forms/npu_linear_map.h"
#include "rewrite/npu_forms/npu_matrix.h"
#include "rewrite/npu_forms/npu_move.h"
#include "rewrite/npu_forms/npu_stride.h"
#include "rewrite/npu_forms/npu_sum.h"
#include "rewrite/npu_forms/npu_window.h"
#include "rewrite/recognize/written.h"

/* ---- quotients by roots ---- */

/*
 * a / sqrt(b), where the CPU would divide in int8: the inverse in int8 has half a step of 1/255 of its range, which
 * float on the CPU has not; its int8 kernels err more.
 */
static bool is_over_root(const struct nuc_support *s, const struct nuc_node *node)
{
    const struct nuc_node *a = nuc_arg_node(node, NUC_SELF), *root = nuc_arg_node(node, NUC_OTHER);

    return s->divides_in_int8 && nuc_is_real_value(node) && nuc_is_real_value(a) && nuc_is_real_value(root) &&
           root->op == NUC_OP_SQRT && root->n_users == 1;
}

/* a rsqrt(b) */
static struct nuc_node *to_times_root(struct nuc_graph *g, struct nuc_node *node)
{
    struct nuc_node *root = nuc_operand(g, node, NUC_OTHER);
    struct nuc_node *inverse = nuc_insert_unary(g, node, NUC_OP_RSQRT, nuc_operand(g, root, NUC_SELF));

    return nuc_insert_binary(g, node, NUC_OP_MUL, nuc_operand(g, node, NUC_SELF), inverse);
}

/* ---- the table ---- */

/* What is built is looked at again, so that a form may use operators that have one. */
static const struct row {
    enum nuc_op op;
    expansion build;
    nuc_form_condition applies; /* NULL: always */
} rows[] = {
    {NUC_OP_DIV, to_times_root, is_over_root},
    /* ---- resampling, unequal windows (npu_linear_map.c) ---- */
    {NUC_OP_UPSAMPLE_BILINEAR, nuc_form_windows, nuc_form_windows_applies},
    {NUC_OP_UPSAMPLE_BILINEAR, nuc_form_repeats, nuc_form_repeats_applies},
    {NUC_OP_UPSAMPLE_BILINEAR, nuc_form_axes, nuc_form_axes_applies},
    {NUC_OP_UPSAMPLE_BILINEAR, nuc_form_image, nuc_form_image_applies},
    {NUC_OP_UPSAMPLE_NEAREST, nuc_form_windows, nuc_form_windows_applies},
    {NUC_OP_UPSAMPLE_NEAREST, nuc_form_repeats, nuc_form_repeats_applies},
    {NUC_OP_UPSAMPLE_NEAREST, nuc_form_axes, nuc_form_axes_applies},
    {NUC_OP_UPSAMPLE_NEAREST, nuc_form_image, nuc_form_image_applies},
    {NUC_OP_ADAPTIVE_AVG_POOL2D, nuc_form_windows, nuc_form_windows_applies},
    {NUC_OP_ADAPTIVE_AVG_POOL2D, nuc_form_repeats, nuc_form_repeats_applies},
    {NUC_OP_ADAPTIVE_AVG_POOL2D, nuc_form_axes, nuc_form_axes_applies},
    {NUC_OP_ADAPTIVE_AVG_POOL2D, nuc_form_image, nuc_form_image_applies},
    /* ---- sums, means (npu_sum.c) ---- */
    {NUC_OP_SUM, nuc_form_weighted_sum, nuc_form_weighted_sum_applies},
    {NUC_OP_SUM_DIM, nuc_form_weighted_sum, nuc_form_weighted_sum_applies},
    {NUC_OP_MEAN_DIM, nuc_form_weighted_sum, nuc_form_weighted_sum_applies},
    {NUC_OP_SUM, nuc_form_sum, nuc_form_sum_applies},
    {NUC_OP_SUM_DIM, nuc_form_sum, nuc_form_sum_applies},
    {NUC_OP_MEAN_DIM, nuc_form_sum, nuc_form_sum_applies},
    {NUC_OP_ADAPTIVE_AVG_POOL2D, nuc_form_sum, nuc_form_sum_applies},
    {NUC_OP_CUMSUM, nuc_form_cumsum, nuc_form_cumsum_applies},
    /* ---- convolutions (npu_conv_forms.c, npu_computed_conv.c) ---- */
    {NUC_OP_CONV2D, nuc_form_windows_by_parts, nuc_form_windows_by_parts_applies},
    {NUC_OP_CONV2D, nuc_form_windows_by_ones, nuc_form_windows_by_ones_applies},
    {NUC_OP_CONV2D, nuc_form_products_first, nuc_form_products_first_applies},
    {NUC_OP_CONV2D_PADDING, nuc_form_windows_by_ones, nuc_form_windows_by_ones_applies},
    {NUC_OP_CONV2D_PADDING, nuc_form_products_first, nuc_form_products_first_applies},
    {NUC_OP_CONV_TRANSPOSE2D, nuc_form_products_first, nuc_form_products_first_applies},
    {NUC_OP_CONV_TRANSPOSE2D, nuc_form_phases, nuc_form_phases_applies},
    {NUC_OP_RELU, nuc_form_early_activation, nuc_form_early_activation_applies},
    {NUC_OP_RELU6, nuc_form_early_activation, nuc_form_early_activation_applies},
    {NUC_OP_HARDTANH, nuc_form_early_activation, nuc_form_early_activation_applies},
    {NUC_OP_CONV3D, nuc_form_rows, nuc_form_rows_applies},
    {NUC_OP_CONV3D, nuc_to_flat_convolution, nuc_form_depths_applies},
    {NUC_OP_CONV3D_PADDING, nuc_to_flat_convolution, nuc_form_depths_applies},
    {NUC_OP_CONV_TRANSPOSE3D, nuc_to_flat_convolution, nuc_form_depths_applies},
    /* ---- windows (npu_window.c) ---- */
    {NUC_OP_MAX_POOL1D, nuc_to_padded_max_pool, nuc_is_max_pool_to_pad},
    {NUC_OP_MAX_POOL2D, nuc_to_padded_max_pool, nuc_is_max_pool_to_pad},
    {NUC_OP_AVG_POOL1D, nuc_to_padded_avg_pool, nuc_is_avg_pool_to_pad},
    {NUC_OP_AVG_POOL2D, nuc_to_padded_avg_pool, nuc_is_avg_pool_to_pad},
    {NUC_OP_CONV2D_PADDING, nuc_to_unevenly_padded, nuc_is_unevenly_padded},
    /* ---- matrix products, softmax (npu_matrix.c) ---- */
    {NUC_OP_LINEAR, nuc_form_linear, nuc_form_linear_applies},
    {NUC_OP_MATMUL, nuc_form_matmul, nuc_form_matmul_applies},
    {NUC_OP_MM, nuc_form_matmul, nuc_form_mm_applies},
    {NUC_OP_BMM, nuc_form_matmul, nuc_form_bmm_applies},
    {NUC_OP_BMM, nuc_form_scaled_bmm, nuc_form_scaled_bmm_applies},
    {NUC_OP_ADDMM, nuc_form_addmm, nuc_form_addmm_applies},
    {NUC_OP_RELU, nuc_form_activation, nuc_form_activation_applies},
    {NUC_OP_RELU6, nuc_form_activation, nuc_form_activation_applies},
    {NUC_OP_HARDTANH, nuc_form_activation, nuc_form_activation_applies},
    {NUC_OP_SOFTMAX, nuc_form_softmax_halves, nuc_form_softmax_halves_applies},
    {NUC_OP_SOFTMAX, nuc_form_softmax, nuc_form_softmax_applies},
    {NUC_OP_NATIVE_SOFTMAX, nuc_form_softmax_halves, nuc_form_softmax_halves_applies},
    {NUC_OP_NATIVE_SOFTMAX, nuc_form_softmax, nuc_form_softmax_applies},
    {NUC_OP_WHERE, nuc_form_safe_softmax, nuc_form_safe_softmax_applies},
    /* ---- broadcasting (npu_broadcast.c) ---- */
    {NUC_OP_ALIAS, nuc_form_alias, nuc_form_alias_applies},
    {NUC_OP_EXPAND, nuc_form_expand, nuc_form_expand_applies},
    {NUC_OP_ADD, nuc_form_broadcast, nuc_form_broadcast_applies},
    {NUC_OP_ADD, nuc_form_outer, nuc_form_outer_applies},
    {NUC_OP_ADD, nuc_form_plain_constant, nuc_form_plain_constant_applies},
    {NUC_OP_SUB, nuc_form_broadcast, nuc_form_broadcast_applies},
    {NUC_OP_SUB, nuc_form_outer, nuc_form_outer_applies},
    {NUC_OP_SUB, nuc_form_plain_constant, nuc_form_plain_constant_applies},
    {NUC_OP_MUL, nuc_form_broadcast, nuc_form_broadcast_applies},
    {NUC_OP_MUL, nuc_form_outer, nuc_form_outer_applies},
    {NUC_OP_DIV, nuc_form_broadcast, nuc_form_broadcast_applies},
    {NUC_OP_MUL, nuc_form_plain_constant, nuc_form_plain_constant_applies},
    /* ---- moves (npu_stride.c, npu_move.c) ---- */
    {NUC_OP_SLICE, nuc_to_plain_slices, nuc_is_slice_to_rewrite},
    {NUC_OP_CAT, nuc_to_permuted_phases, nuc_is_cat_of_phases},
    {NUC_OP_CAT, nuc_to_fewer_copies, nuc_is_cat_of_copies},
    {NUC_OP_CHUNK, nuc_to_slices_of_split, nuc_is_split_to_slices},
    {NUC_OP_SPLIT, nuc_to_slices_of_split, nuc_is_split_to_slices},
    {NUC_OP_SPLIT_SIZES, nuc_to_slices_of_split, nuc_is_split_to_slices},
    {NUC_OP_SPLIT_WITH_SIZES, nuc_to_slices_of_split, nuc_is_split_to_slices},
    {NUC_OP_INDEX, nuc_to_runs, nuc_is_taken_in_runs},
    {NUC_OP_INDEX_SELECT, nuc_to_runs, nuc_is_taken_in_runs},
    {NUC_OP_FLIP, nuc_to_runs, nuc_is_taken_in_runs},
    {NUC_OP_ZEROS, nuc_to_constant_zeros, nuc_are_real_zeros},
    {NUC_OP_SLICE_SCATTER, nuc_to_joined_slices, nuc_is_scatter_to_join},
    {NUC_OP_PAD, nuc_to_joined_pad, nuc_is_pad_to_join},
    {NUC_OP_UNFOLD, nuc_to_joined_windows, nuc_is_unfold_to_join},
    {NUC_OP_TO_DTYPE, nuc_to_copy_source, nuc_is_droppable_copy},
    {NUC_OP_TO_DTYPE_LAYOUT, nuc_to_copy_source, nuc_is_droppable_copy},
    {NUC_OP_CLONE, nuc_to_copy_source, nuc_is_droppable_copy},
    {NUC_OP_CONTIGUOUS, nuc_to_copy_source, nuc_is_droppable_copy},
};

static expansion form_of(const struct nuc_support *s, const struct nuc_node *node)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op == node->op && (rows[i].applies == NULL || rows[i].applies(s, node)))
            return rows[i].build;
    }
    return NULL;
}

bool nuc_to_npu_forms(const struct nuc_support *s)
{
    struct nuc_formulas *formulas = nuc_formulas_new(s->g->cx);
    bool changed = false;

    for (struct nuc_node *n = s->g->first, *before; n != NULL;) {
        bool is_product = n->op == NUC_OP_MUL || n->op == NUC_OP_DIV;
        uint32_t old_ids = s->g->next_id;
        before = n->prev;
        struct nuc_node *value = is_product ? nuc_recognize(formulas, NUC_PATTERN_NPU, s->g, n) : NULL;
        expansion build = value == NULL && nuc_is_call(n) ? form_of(s, n) : NULL;
        changed = changed || value != NULL || build != NULL;
        n = value != NULL   ? nuc_replace_expanded(s->g, n, before, old_ids, value)
            : build != NULL ? nuc_expand_node(s->g, n, build)
                            : n->next;
    }
    if (changed)
        nuc_remove_dead(s->g);
    return changed;
}

bool nuc_can_view(const struct nuc_support *s, uint32_t rank)
{
    struct nuc_meta meta = {.dtype = NUC_F32, .rank = (uint8_t)rank};
    struct nuc_node input = {.n_vals = 1, .vals = &meta};
    struct nuc_arg args[] = {nuc_node_arg(&input)};
    struct nuc_node view = {.op = NUC_OP_VIEW, .args = args, .n_args = 1, .n_vals = 1, .vals = &meta};

    return rank <= NUC_MAX_RANK && nuc_check_unquantized(s, NUC_OP_VIEW, &view).ok;
}

bool nuc_is_float_value(const struct nuc_node *x)
{
    return x != NULL && !x->is_tuple && x->n_vals == 1 && x->vals[0].dtype == NUC_F32 && nuc_elements(&x->vals[0]) > 0;
}

int64_t nuc_slice_end(int64_t value, int64_t size)
{
    value = value < 0 ? value + size : value;
    return value < 0 ? 0 : value > size ? size : value;
}
