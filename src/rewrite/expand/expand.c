#include "rewrite/expand/expand.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/shapes/shapes.h"
#include "rewrite/expand/expand_list.h"
#include "rewrite/passes.h"
#include "rewrite/to_edge/functionalize.h"

/* Every composite operator, and what decomposed archives name in another way than torch.export.export. */
static const struct row {
    enum nuc_op op;
    expansion expand;
    bool (*applies)(const struct nuc_node *node); /* NULL: always */
} rows[] = {
    /* ---- core operators that stand for those of a model (expand_core.c) ---- */
    {NUC_OP_CONVOLUTION, nuc_expand_convolution, NULL},
    {NUC_OP_NATIVE_BATCH_NORM, nuc_expand_native_batch_norm, nuc_is_first_item_read},
    {NUC_OP_NATIVE_SOFTMAX, nuc_expand_native_softmax, NULL},
    {NUC_OP_NATIVE_LOG_SOFTMAX, nuc_expand_native_log_softmax, NULL},
    {NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D, nuc_expand_native_adaptive_pool, NULL},
    {NUC_OP_CONSTANT_PAD, nuc_expand_constant_pad, NULL},
    {NUC_OP_MAX_POOL2D_INDICES, nuc_expand_pool_indices, nuc_is_first_item_read},
    {NUC_OP_ADDMM, nuc_expand_linear, nuc_is_linear},
    {NUC_OP_MM, nuc_expand_linear, nuc_is_linear},
    /* ---- elementwise (expand_math.c) ---- */
    {NUC_OP_FMAX, nuc_expand_fmax, NULL},
    {NUC_OP_FMIN, nuc_expand_fmax, NULL},
    {NUC_OP_COPYSIGN, nuc_expand_copysign, NULL},
    {NUC_OP_HYPOT, nuc_expand_hypot, NULL},
    {NUC_OP_LOGADDEXP, nuc_expand_logaddexp, NULL},
    {NUC_OP_LOGADDEXP2, nuc_expand_logaddexp, NULL},
    {NUC_OP_XLOGY, nuc_expand_xlogy, NULL},
    {NUC_OP_HEAVISIDE, nuc_expand_heaviside, NULL},
    {NUC_OP_ENTR, nuc_expand_entr, NULL},
    {NUC_OP_NDTR, nuc_expand_ndtr, NULL},
    {NUC_OP_XLOG1PY, nuc_expand_xlogy, NULL},
    {NUC_OP_RSUB, nuc_expand_rsub, NULL},
    {NUC_OP_LERP, nuc_expand_lerp, NULL},
    {NUC_OP_LERP_SCALAR, nuc_expand_lerp, NULL},
    {NUC_OP_ADDCMUL, nuc_expand_addc, NULL},
    {NUC_OP_ADDCDIV, nuc_expand_addc, NULL},
    {NUC_OP_CLAMP_TENSOR, nuc_expand_clamp, NULL},
    {NUC_OP_CLAMP_MIN_TENSOR, nuc_expand_clamp, NULL},
    {NUC_OP_CLAMP_MAX_TENSOR, nuc_expand_clamp, NULL},
    {NUC_OP_GLU, nuc_expand_glu, NULL},
    {NUC_OP_ISCLOSE, nuc_expand_isclose, NULL},
    {NUC_OP_MASKED_FILL, nuc_expand_masked_fill, NULL},
    {NUC_OP_MASKED_FILL_TENSOR, nuc_expand_masked_fill, NULL},
    {NUC_OP_WHERE_SCALAR, nuc_expand_where, NULL},
    {NUC_OP_WHERE_SCALAR_OTHER, nuc_expand_where, NULL},
    {NUC_OP_WHERE_SCALAR_SELF, nuc_expand_where, NULL},
    /* ---- reductions, scans, order (expand_reduce.c) ---- */
    {NUC_OP_SUM, nuc_expand_typed, nuc_states_other_type},
    {NUC_OP_SUM_DIM, nuc_expand_typed, nuc_states_other_type},
    {NUC_OP_MEAN_DIM, nuc_expand_typed, nuc_states_other_type},
    {NUC_OP_PROD_DIM, nuc_expand_typed, nuc_states_other_type},
    {NUC_OP_CUMSUM, nuc_expand_typed, nuc_states_other_type},
    {NUC_OP_SOFTMAX, nuc_expand_typed, nuc_states_other_type},
    {NUC_OP_LOG_SOFTMAX, nuc_expand_typed, nuc_states_other_type},
    {NUC_OP_MEAN, nuc_expand_mean, NULL},
    {NUC_OP_PROD, nuc_expand_prod, NULL},
    {NUC_OP_MAX_ALL, nuc_expand_extreme, NULL},
    {NUC_OP_MIN_ALL, nuc_expand_extreme, NULL},
    {NUC_OP_MAX_DIM, nuc_expand_extreme_dim, NULL},
    {NUC_OP_MIN_DIM, nuc_expand_extreme_dim, NULL},
    {NUC_OP_AMINMAX, nuc_expand_aminmax, NULL},
    {NUC_OP_ANY, nuc_expand_any, NULL},
    {NUC_OP_ANY_DIM, nuc_expand_any, NULL},
    {NUC_OP_ANY_DIMS, nuc_expand_any, nuc_reduces_nothing},
    {NUC_OP_ALL, nuc_expand_all, NULL},
    {NUC_OP_ALL_DIM, nuc_expand_all, NULL},
    {NUC_OP_ALL_DIMS, nuc_expand_all, NULL},
    {NUC_OP_VAR_DIM, nuc_expand_var, NULL},
    {NUC_OP_VAR_ALL, nuc_expand_var, NULL},
    {NUC_OP_STD, nuc_expand_std, NULL},
    {NUC_OP_STD_DIM, nuc_expand_std, NULL},
    {NUC_OP_STD_ALL, nuc_expand_std, NULL},
    {NUC_OP_VAR_MEAN, nuc_expand_var_mean, NULL},
    {NUC_OP_VAR_MEAN_DIM, nuc_expand_var_mean, NULL},
    {NUC_OP_VAR_MEAN_ALL, nuc_expand_var_mean, NULL},
    {NUC_OP_STD_MEAN, nuc_expand_std_mean, NULL},
    {NUC_OP_STD_MEAN_DIM, nuc_expand_std_mean, NULL},
    {NUC_OP_STD_MEAN_ALL, nuc_expand_std_mean, NULL},
    {NUC_OP_LOGSUMEXP, nuc_expand_logsumexp, NULL},
    {NUC_OP_VECTOR_NORM, nuc_expand_vector_norm, NULL},
    {NUC_OP_NORM_DIM, nuc_expand_vector_norm, NULL},
    {NUC_OP_NORM_SCALAR, nuc_expand_vector_norm, NULL},
    {NUC_OP_LINALG_NORM, nuc_expand_linalg_norm, NULL},
    {NUC_OP_LINALG_MATRIX_NORM, nuc_expand_linalg_matrix_norm, NULL},
    {NUC_OP_DIST, nuc_expand_dist, NULL},
    {NUC_OP_NANSUM, nuc_expand_nansum, NULL},
    {NUC_OP_NANMEAN, nuc_expand_nansum, NULL},
    {NUC_OP_COUNT_NONZERO, nuc_expand_count_nonzero, NULL},
    {NUC_OP_COUNT_NONZERO_DIM, nuc_expand_count_nonzero, NULL},
    {NUC_OP_CUMPROD, nuc_expand_cumprod, NULL},
    {NUC_OP_LOGCUMSUMEXP, nuc_expand_logcumsumexp, NULL},
    {NUC_OP_CUMMAX, nuc_expand_cummax, NULL},
    {NUC_OP_CUMMIN, nuc_expand_cummax, NULL},
    {NUC_OP_DIFF, nuc_expand_diff, NULL},
    {NUC_OP_TRAPEZOID, nuc_expand_trapezoid, NULL},
    {NUC_OP_TRAPEZOID_X, nuc_expand_trapezoid, NULL},
    /* ---- views, parts, repetitions, copies (expand_move.c) ---- */
    {NUC_OP_UNFLATTEN, nuc_expand_reshape, NULL},
    {NUC_OP_RESHAPE_AS, nuc_expand_reshape, NULL},
    {NUC_OP_VIEW_AS, nuc_expand_reshape, NULL},
    {NUC_OP_UNSAFE_VIEW, nuc_expand_reshape, NULL},
    {NUC_OP_ATLEAST_1D, nuc_expand_reshape, NULL},
    {NUC_OP_ATLEAST_2D, nuc_expand_reshape, NULL},
    {NUC_OP_ATLEAST_3D, nuc_expand_reshape, NULL},
    {NUC_OP_VIEW_DTYPE, nuc_expand_view_dtype, NULL},
    {NUC_OP_PIXEL_SHUFFLE, nuc_expand_pixel_shuffle, NULL},
    {NUC_OP_PIXEL_UNSHUFFLE, nuc_expand_pixel_unshuffle, NULL},
    {NUC_OP_CHANNEL_SHUFFLE, nuc_expand_channel_shuffle, NULL},
    {NUC_OP_NATIVE_CHANNEL_SHUFFLE, nuc_expand_channel_shuffle, NULL},
    {NUC_OP_MOVEDIM, nuc_expand_movedim, NULL},
    {NUC_OP_MOVEDIM_INT, nuc_expand_movedim, NULL},
    {NUC_OP_NUMPY_T, nuc_expand_reversed_dims, NULL},
    {NUC_OP_MT, nuc_expand_reversed_dims, NULL},
    {NUC_OP_MH, nuc_expand_reversed_dims, NULL},
    {NUC_OP_ADJOINT, nuc_expand_reversed_dims, NULL},
    {NUC_OP_FLIPLR, nuc_expand_flip, NULL},
    {NUC_OP_FLIPUD, nuc_expand_flip, NULL},
    {NUC_OP_ROT90, nuc_expand_rot90, NULL},
    {NUC_OP_ROLL, nuc_expand_roll, NULL},
    {NUC_OP_SELECT, nuc_expand_select, NULL},
    {NUC_OP_NARROW, nuc_expand_narrow, NULL},
    {NUC_OP_UNBIND, nuc_expand_unbind, NULL},
    {NUC_OP_TENSOR_SPLIT, nuc_expand_split_indices, NULL},
    {NUC_OP_HSPLIT_ARRAY, nuc_expand_split_indices, NULL},
    {NUC_OP_VSPLIT_ARRAY, nuc_expand_split_indices, NULL},
    {NUC_OP_DSPLIT_ARRAY, nuc_expand_split_indices, NULL},
    {NUC_OP_TENSOR_SPLIT_SECTIONS, nuc_expand_split_sections, NULL},
    {NUC_OP_HSPLIT, nuc_expand_split_sections, NULL},
    {NUC_OP_VSPLIT, nuc_expand_split_sections, NULL},
    {NUC_OP_DSPLIT, nuc_expand_split_sections, NULL},
    {NUC_OP_UNSAFE_SPLIT, nuc_expand_split_each, NULL},
    {NUC_OP_UNSAFE_CHUNK, nuc_expand_split_each, NULL},
    {NUC_OP_UNSAFE_SPLIT_SIZES, nuc_expand_split_sizes, NULL},
    {NUC_OP_EXPAND_AS, nuc_expand_broadcast, NULL},
    {NUC_OP_BROADCAST_TO, nuc_expand_broadcast, NULL},
    {NUC_OP_BROADCAST_TENSORS, nuc_expand_broadcast_tensors, NULL},
    {NUC_OP_REPEAT, nuc_expand_repeat, NULL},
    {NUC_OP_TILE, nuc_expand_repeat, NULL},
    {NUC_OP_REPEAT_INTERLEAVE, nuc_expand_repeat_interleave, NULL},
    {NUC_OP_REPEAT_INTERLEAVE_TENSOR, nuc_expand_repeat_interleave_tensor, NULL},
    {NUC_OP_MESHGRID, nuc_expand_meshgrid, NULL},
    {NUC_OP_MESHGRID_INDEXING, nuc_expand_meshgrid, NULL},
    {NUC_OP_CARTESIAN_PROD, nuc_expand_cartesian_prod, NULL},
    {NUC_OP_COMBINATIONS, nuc_expand_combinations, NULL},
    {NUC_OP_CAT, nuc_expand_mixed_cat, nuc_is_mixed_cat},
    {NUC_OP_STACK, nuc_expand_stack, NULL},
    {NUC_OP_HSTACK, nuc_expand_stack_dim, NULL},
    {NUC_OP_VSTACK, nuc_expand_stack_dim, NULL},
    {NUC_OP_DSTACK, nuc_expand_stack_dim, NULL},
    {NUC_OP_COLUMN_STACK, nuc_expand_stack_dim, NULL},
    {NUC_OP_BLOCK_DIAG, nuc_expand_block_diag, NULL},
    {NUC_OP_DIAG, nuc_expand_diag, NULL},
    {NUC_OP_DIAGFLAT, nuc_expand_diag, NULL},
    {NUC_OP_DIAG_EMBED, nuc_expand_diag_embed, NULL},
    {NUC_OP_TRACE, nuc_expand_trace, NULL},
    {NUC_OP_TRIL, nuc_expand_triangle, NULL},
    {NUC_OP_TRIU, nuc_expand_triangle, NULL},
    {NUC_OP_TO_COPY, nuc_expand_cast, NULL},
    {NUC_OP_TO_OTHER, nuc_expand_cast, NULL},
    {NUC_OP_TO_DEVICE, nuc_expand_cast, NULL},
    {NUC_OP_TYPE_AS, nuc_expand_cast, NULL},
    {NUC_OP_FEATURE_DROPOUT, nuc_expand_no_dropout, NULL},
    {NUC_OP_ALPHA_DROPOUT, nuc_expand_no_dropout, NULL},
    {NUC_OP_FEATURE_ALPHA_DROPOUT, nuc_expand_no_dropout, NULL},
    {NUC_OP_NATIVE_DROPOUT, nuc_expand_native_dropout, NULL},
    {NUC_OP_RRELU, nuc_expand_rrelu, NULL},
    /* ---- values out of nothing (expand_fill.c) ---- */
    {NUC_OP_FULL, nuc_expand_number, NULL},
    {NUC_OP_FULL_LIKE, nuc_expand_number, NULL},
    {NUC_OP_NEW_FULL, nuc_expand_number, NULL},
    {NUC_OP_SCALAR_TENSOR, nuc_expand_number, NULL},
    {NUC_OP_FILL, nuc_expand_number, NULL},
    {NUC_OP_ZEROS_LIKE, nuc_expand_number, NULL},
    {NUC_OP_NEW_ZEROS, nuc_expand_number, NULL},
    {NUC_OP_ZERO, nuc_expand_number, NULL},
    {NUC_OP_EMPTY_TENSOR, nuc_expand_number, NULL},
    {NUC_OP_EMPTY_LIKE, nuc_expand_number, NULL},
    {NUC_OP_EMPTY_PERMUTED, nuc_expand_number, NULL},
    {NUC_OP_NEW_EMPTY, nuc_expand_number, NULL},
    {NUC_OP_ONES_TENSOR, nuc_expand_ones, NULL},
    {NUC_OP_ONES_LIKE, nuc_expand_ones, NULL},
    {NUC_OP_NEW_ONES, nuc_expand_ones, NULL},
    {NUC_OP_FILL_TENSOR, nuc_expand_fill_tensor, NULL},
    {NUC_OP_ARANGE_END, nuc_expand_arange, NULL},
    {NUC_OP_ARANGE_START, nuc_expand_arange, NULL},
    {NUC_OP_LINSPACE, nuc_expand_linspace, NULL},
    {NUC_OP_LOGSPACE, nuc_expand_logspace, NULL},
    {NUC_OP_EYE, nuc_expand_eye, NULL},
    {NUC_OP_EYE_M, nuc_expand_eye, NULL},
    {NUC_OP_TRIL_INDICES, nuc_expand_triangle_indices, NULL},
    {NUC_OP_TRIU_INDICES, nuc_expand_triangle_indices, NULL},
    {NUC_OP_ONE_HOT, nuc_expand_one_hot, NULL},
    {NUC_OP_VANDER, nuc_expand_vander, NULL},
    /* ---- choice by values (expand_index.c) ---- */
    {NUC_OP_TAKE_ALONG_DIM, nuc_expand_take_along_dim, NULL},
    {NUC_OP_TAKE, nuc_expand_take, NULL},
    {NUC_OP_UNSAFE_INDEX, nuc_expand_unsafe_index, NULL},
    {NUC_OP_INDEX_PUT, nuc_expand_index_put, nuc_has_masks},
    {NUC_OP_UNSAFE_INDEX_PUT, nuc_expand_index_put, NULL},
    {NUC_OP_INDEX_ADD, nuc_expand_index_add, NULL},
    {NUC_OP_INDEX_COPY, nuc_expand_index_copy, NULL},
    {NUC_OP_INDEX_FILL, nuc_expand_index_fill, NULL},
    {NUC_OP_INDEX_FILL_TENSOR, nuc_expand_index_fill, NULL},
    {NUC_OP_SELECT_SCATTER, nuc_expand_select_scatter, NULL},
    {NUC_OP_DIAGONAL_SCATTER, nuc_expand_diagonal_scatter, NULL},
    {NUC_OP_SCATTER_REDUCE, nuc_expand_scatter_reduce, nuc_is_mixed_reduction},
    {NUC_OP_SCATTER_SRC_REDUCE, nuc_expand_scatter_of, NULL},
    {NUC_OP_SCATTER_VALUE_REDUCE, nuc_expand_scatter_of, NULL},
    {NUC_OP_INDEX_REDUCE, nuc_expand_index_reduce, NULL},
    {NUC_OP_EMBEDDING_BAG, nuc_expand_embedding_bag, NULL},
    {NUC_OP_EMBEDDING_BAG_PADDED, nuc_expand_embedding_bag, NULL},
    {NUC_OP_EMBEDDING_BAG_FORWARD, nuc_expand_embedding_bag, NULL},
    /* ---- order (expand_order.c) ---- */
    {NUC_OP_MSORT, nuc_expand_msort, NULL},
    {NUC_OP_ARGSORT, nuc_expand_argsort, NULL},
    {NUC_OP_ARGSORT_STABLE, nuc_expand_argsort, NULL},
    {NUC_OP_KTHVALUE, nuc_expand_kthvalue, NULL},
    {NUC_OP_MEDIAN, nuc_expand_median, NULL},
    {NUC_OP_MEDIAN_DIM, nuc_expand_median_dim, NULL},
    {NUC_OP_NANMEDIAN, nuc_expand_median, NULL},
    {NUC_OP_NANMEDIAN_DIM, nuc_expand_median_dim, NULL},
    {NUC_OP_BUCKETIZE, nuc_expand_bucketize, NULL},
    {NUC_OP_SEARCHSORTED, nuc_expand_searchsorted, NULL},
    /* ---- norms (expand_norm.c) ---- */
    {NUC_OP_INSTANCE_NORM, nuc_expand_instance_norm, NULL},
    {NUC_OP_BATCH_NORM, nuc_expand_batch_norm, nuc_has_no_running_statistics},
    {NUC_OP_BATCH_NORM_NO_STATS, nuc_expand_batch_norm, NULL},
    {NUC_OP_NATIVE_BATCH_NORM_FULL, nuc_expand_batch_norm, NULL},
    {NUC_OP_NATIVE_BATCH_NORM_STATS, nuc_expand_batch_norm, NULL},
    {NUC_OP_NATIVE_LAYER_NORM, nuc_expand_native_layer_norm, nuc_is_first_item_read},
    {NUC_OP_NATIVE_GROUP_NORM, nuc_expand_native_group_norm, nuc_is_first_item_read},
    /* ---- matrix products, attention (expand_matrix.c, expand_attention.c) ---- */
    {NUC_OP_BADDBMM, nuc_expand_baddbmm, NULL},
    {NUC_OP_ADDBMM, nuc_expand_addbmm, NULL},
    {NUC_OP_ADDMV, nuc_expand_addmv, NULL},
    {NUC_OP_ADDR, nuc_expand_addr, NULL},
    {NUC_OP_ADDMM, nuc_expand_addmm, nuc_is_of_integers},
    {NUC_OP_LINEAR, nuc_expand_linear_of_integers, nuc_is_of_integers},
    {NUC_OP_MV, nuc_expand_matmul, NULL},
    {NUC_OP_DOT, nuc_expand_matmul, NULL},
    {NUC_OP_VDOT, nuc_expand_matmul, NULL},
    {NUC_OP_INNER, nuc_expand_inner, NULL},
    {NUC_OP_OUTER, nuc_expand_outer, NULL},
    {NUC_OP_KRON, nuc_expand_kron, NULL},
    {NUC_OP_CHAIN_MATMUL, nuc_expand_chain_matmul, NULL},
    {NUC_OP_TENSORDOT, nuc_expand_tensordot, NULL},
    {NUC_OP_BILINEAR, nuc_expand_bilinear, NULL},
    {NUC_OP_TRILINEAR, nuc_expand_trilinear, NULL},
    {NUC_OP_EINSUM, nuc_expand_einsum, NULL},
    {NUC_OP_CDIST, nuc_expand_cdist, NULL},
    {NUC_OP_CDIST_FORWARD, nuc_expand_cdist, NULL},
    {NUC_OP_PAIRWISE_DISTANCE, nuc_expand_pairwise_distance, NULL},
    {NUC_OP_COSINE_SIMILARITY, nuc_expand_cosine_similarity, NULL},
    {NUC_OP_LINALG_CROSS, nuc_expand_cross, NULL},
    {NUC_OP_CROSS, nuc_expand_cross, NULL},
    {NUC_OP_LINALG_VECDOT, nuc_expand_vecdot, NULL},
    {NUC_OP_SDPA, nuc_expand_sdpa, NULL},
    {NUC_OP_SDPA_FLASH, nuc_expand_sdpa_flash, NULL},
    {NUC_OP_SAFE_SOFTMAX, nuc_expand_safe_softmax, NULL},
    {NUC_OP_MULTI_HEAD_ATTENTION, nuc_expand_multi_head_attention, NULL},
    {NUC_OP_TRANSFORMER_ENCODER_LAYER, nuc_expand_transformer_layer, NULL},
    /* ---- windows, padding (expand_window.c) ---- */
    {NUC_OP_MAX_POOL3D, nuc_expand_max_pool3d, NULL},
    {NUC_OP_MAX_POOL3D_INDICES, nuc_expand_max_pool3d_indices, NULL},
    {NUC_OP_MAX_POOL1D_INDICES, nuc_expand_max_pool1d_indices, NULL},
    {NUC_OP_AVG_POOL3D, nuc_expand_avg_pool3d, NULL},
    {NUC_OP_ADAPTIVE_AVG_POOL1D, nuc_expand_adaptive_avg_pool1d, NULL},
    {NUC_OP_ADAPTIVE_AVG_POOL3D, nuc_expand_adaptive_avg_pool3d, NULL},
    {NUC_OP_NATIVE_ADAPTIVE_AVG_POOL3D, nuc_expand_adaptive_avg_pool3d, NULL},
    {NUC_OP_ADAPTIVE_MAX_POOL1D, nuc_expand_adaptive_max_pool1d, NULL},
    {NUC_OP_ADAPTIVE_MAX_POOL2D, nuc_expand_adaptive_max_pool2d, NULL},
    {NUC_OP_ADAPTIVE_MAX_POOL3D, nuc_expand_adaptive_max_pool3d, NULL},
    {NUC_OP_MAX_UNPOOL2D, nuc_expand_max_unpool, NULL},
    {NUC_OP_MAX_UNPOOL3D, nuc_expand_max_unpool, NULL},
    {NUC_OP_REFLECTION_PAD1D, nuc_expand_reflection_pad, NULL},
    {NUC_OP_REFLECTION_PAD2D, nuc_expand_reflection_pad, NULL},
    {NUC_OP_REFLECTION_PAD3D, nuc_expand_reflection_pad, NULL},
    {NUC_OP_REPLICATION_PAD1D, nuc_expand_replication_pad, NULL},
    {NUC_OP_REPLICATION_PAD2D, nuc_expand_replication_pad, NULL},
    {NUC_OP_REPLICATION_PAD3D, nuc_expand_replication_pad, NULL},
    {NUC_OP_IM2COL, nuc_expand_im2col, NULL},
    {NUC_OP_COL2IM, nuc_expand_col2im, NULL},
    /* ---- resizing (expand_resize.c) ---- */
    {NUC_OP_UPSAMPLE_NEAREST1D, nuc_expand_nearest, NULL},
    {NUC_OP_UPSAMPLE_NEAREST3D, nuc_expand_nearest, NULL},
    {NUC_OP_UPSAMPLE_NEAREST_EXACT1D, nuc_expand_nearest_exact, NULL},
    {NUC_OP_UPSAMPLE_NEAREST_EXACT2D, nuc_expand_nearest_exact, NULL},
    {NUC_OP_UPSAMPLE_NEAREST_EXACT3D, nuc_expand_nearest_exact, NULL},
    {NUC_OP_UPSAMPLE_LINEAR1D, nuc_expand_linear_resize, NULL},
    {NUC_OP_UPSAMPLE_TRILINEAR3D, nuc_expand_linear_resize, NULL},
    {NUC_OP_UPSAMPLE_BICUBIC2D, nuc_expand_bicubic, NULL},
    {NUC_OP_UPSAMPLE_BILINEAR_AA, nuc_expand_antialias, NULL},
    {NUC_OP_UPSAMPLE_BICUBIC_AA, nuc_expand_antialias, NULL},
    {NUC_OP_UPSAMPLE_BILINEAR_AA_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_UPSAMPLE_BICUBIC_AA_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_UPSAMPLE_BILINEAR_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_UPSAMPLE_NEAREST_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_UPSAMPLE_BICUBIC_SIZE, nuc_expand_resize_to_size, NULL},
    {NUC_OP_AFFINE_GRID_GENERATOR, nuc_expand_affine_grid, NULL},
    {NUC_OP_GRID_SAMPLER, nuc_expand_grid_sampler, NULL},
    /* ---- norms of weights, losses, quantiles (expand_measure.c) ---- */
    {NUC_OP_WEIGHT_NORM, nuc_expand_weight_norm, NULL},
    {NUC_OP_L1_LOSS, nuc_expand_l1_loss, NULL},
    {NUC_OP_MSE_LOSS, nuc_expand_mse_loss, NULL},
    {NUC_OP_SMOOTH_L1_LOSS, nuc_expand_huber_loss, NULL},
    {NUC_OP_HUBER_LOSS, nuc_expand_huber_loss, NULL},
    {NUC_OP_KL_DIV, nuc_expand_kl_div, NULL},
    {NUC_OP_NLL_LOSS, nuc_expand_nll_loss, NULL},
    {NUC_OP_CROSS_ENTROPY_LOSS, nuc_expand_nll_loss, NULL},
    {NUC_OP_QUANTILE, nuc_expand_quantile, NULL},
    {NUC_OP_ISPOSINF, nuc_expand_is_infinite, NULL},
    {NUC_OP_ISNEGINF, nuc_expand_is_infinite, NULL},
    {NUC_OP_ISREAL, nuc_expand_isreal, NULL},
    {NUC_OP_SUM_TO_SIZE, nuc_expand_sum_to_size, NULL},
    {NUC_OP_LDEXP, nuc_expand_ldexp, NULL},
    {NUC_OP_LINALG_DIAGONAL, nuc_expand_linalg_diagonal, NULL},
    /* ---- recurrent cells (expand_recurrent.c) ---- */
    {NUC_OP_LSTM_CELL, nuc_expand_lstm_cell, NULL},
    {NUC_OP_GRU_CELL, nuc_expand_gru_cell, NULL},
    {NUC_OP_RNN_TANH_CELL, nuc_expand_rnn_tanh_cell, NULL},
    {NUC_OP_RNN_RELU_CELL, nuc_expand_rnn_relu_cell, NULL},
};

/* That of the first row that applies. */
static expansion expansion_of(const struct nuc_node *node)
{
    for (size_t i = 0; nuc_is_call(node) && i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].op == node->op && (rows[i].applies == NULL || rows[i].applies(node)))
            return rows[i].expand;
    }
    return NULL;
}

bool nuc_has_expansion(enum nuc_op op)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].op == op)
            return true;
    }
    return false;
}

/* ---- building blocks ---- */

_Noreturn void nuc_expand_fail(struct nuc_graph *g, const struct nuc_node *node, const char *format, ...)
{
    char what[NUC_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: %s: %s", g->file, nuc_node_text(g->cx, node), what);
}

/* Constants are told apart by what they are for. */
static struct nuc_node *add_constant(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_meta *meta,
                                     const void *bytes)
{
    return nuc_add_constant(g, nuc_format(g->cx, "%s_constant", node->name), meta, bytes);
}

struct nuc_node *nuc_insert_constant(struct nuc_graph *g, struct nuc_node *node, enum nuc_dtype dtype, double value)
{
    struct nuc_meta meta = nuc_meta_make(dtype, NULL, 0);
    float real = (float)value;
    int64_t whole = fabs(value) < 0x1p63 ? (int64_t)value : 0;
    int32_t narrow = (int32_t)whole;
    bool flag = value < 0 || value > 0;

    switch ((unsigned)dtype) {
    case NUC_F32:
        return add_constant(g, node, &meta, &real);
    case NUC_F64:
        return add_constant(g, node, &meta, &value);
    case NUC_I64:
        return add_constant(g, node, &meta, &whole);
    case NUC_I32:
        return add_constant(g, node, &meta, &narrow);
    case NUC_BOOL:
        return add_constant(g, node, &meta, &flag);
    case NUC_U8:
    case NUC_I8:
    case NUC_I16:
    case NUC_U16:
        return add_constant(g, node, &meta, &narrow); /* little-endian: its low bytes */
    default:
        nuc_expand_fail(g, node, "a constant of type %s is not supported: use float32 or int64", nuc_dtype_name(dtype));
    }
}

struct nuc_node *nuc_insert_with_number(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op,
                                        struct nuc_node *input, double number)
{
    enum nuc_dtype own = input->vals[0].dtype;
    bool whole = !nuc_is_floating(own) && isfinite(number) && !(number < trunc(number)) && !(number > trunc(number));
    enum nuc_dtype dtype = nuc_is_floating(own) || !whole ? NUC_F32 : own == NUC_BOOL ? NUC_I64 : own;

    return nuc_insert_binary(g, node, op, input, nuc_insert_constant(g, node, dtype, number));
}

struct nuc_node *nuc_insert_indices(struct nuc_graph *g, struct nuc_node *node, const int64_t *values,
                                    const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta meta = nuc_meta_make(NUC_I64, sizes, rank);

    return add_constant(g, node, &meta, values);
}

struct nuc_node *nuc_insert_floats(struct nuc_graph *g, struct nuc_node *node, const float *values,
                                   const int64_t *sizes, uint32_t rank)
{
    struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, rank);

    return add_constant(g, node, &meta, values);
}

/* ---- the stage ---- */

/* The archive says what the operator makes; what stands for it makes the same, or the arguments were read wrongly. */
static void check_value(struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *value)
{
    const struct nuc_meta *stated = &node->vals[0], *made = &value->vals[0];

    if (value->is_tuple || stated->dtype != made->dtype || !nuc_same_sizes(stated, made))
        nuc_fail(g->cx, NUC_BAD_INPUT, "%s: %s: the archive states %s, the operator makes %s", g->file,
                 nuc_node_text(g->cx, node), nuc_meta_text(g->cx, stated), nuc_meta_text(g->cx, made));
}

void nuc_expand_item(struct nuc_graph *g, struct nuc_node *tuple, uint32_t index, struct nuc_node *value)
{
    for (uint32_t i = tuple->n_users; i > 0; i--) {
        struct nuc_node *item = tuple->users[i - 1];
        if (!nuc_is_item(item, index))
            continue;
        const char *name = item->name;
        bool is_new = value->id > item->id && !nuc_is_placeholder(value);
        check_value(g, item, value);
        nuc_replace_uses(g, item, value, NULL);
        nuc_remove_node(g, item);
        if (is_new)
            nuc_rename(g, value, name);
    }
}

/* The value goes by the operator's name, unless it has one that the archive gave it. */
static void take_name(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value, bool is_new)
{
    const char *name = node->name;

    if (!is_new || nuc_is_placeholder(value))
        return;
    nuc_rename(g, node, nuc_format(g->cx, "%s_composite", name));
    nuc_rename(g, value, name);
}

struct nuc_node *nuc_expand_node(struct nuc_graph *g, struct nuc_node *node, expansion expand)
{
    struct nuc_node *before = node->prev;
    uint32_t old_ids = g->next_id;

    node->in_place = false;
    struct nuc_node *value = expand(g, node);

    if (value != NULL) {
        check_value(g, node, value);
        take_name(g, node, value, value->id >= old_ids);
        nuc_replace_uses(g, node, value, NULL);
    }
    /* Items that nothing reads. */
    while (node->n_users > 0)
        nuc_remove_node(g, node->users[0]);
    nuc_remove_node(g, node);
    return before == NULL ? g->first : before->next;
}

static bool has_in_place(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (n->in_place)
            return true;
    }
    return false;
}

/* Returns whether there was one that `applies` to and that has an expansion. */
static bool expand_all(struct nuc_graph *g, bool (*applies)(const struct nuc_node *node))
{
    bool changed = false;

    for (struct nuc_node *n = g->first; n != NULL;) {
        expansion expand = applies(n) ? expansion_of(n) : NULL;
        changed = changed || expand != NULL;
        n = expand == NULL ? n->next : nuc_expand_node(g, n, expand);
    }
    return changed;
}

static bool is_any(const struct nuc_node *node)
{
    (void)node;
    return true;
}

static void check_expanded(struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (nuc_op_family(n->op) == NUC_FAMILY_COMPOSITE)
            nuc_expand_fail(g, n, "is not handled: export with run_decompositions(), or replace it in the model");
    }
}

/* Every value is immutable before anything but views is looked at. */
bool nuc_expand(struct nuc_graph *g)
{
    bool changed = false, in_place = has_in_place(g);

    if (in_place) {
        changed = expand_all(g, nuc_is_composite_view);
        changed = nuc_resolve_writes(g) || changed;
    }
    changed = expand_all(g, is_any) || changed;
    check_expanded(g);
    if (changed)
        nuc_remove_dead(g);
    if (in_place)
        nuc_keep_in_place(g);
    return changed;
}
