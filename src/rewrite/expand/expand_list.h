/* The expansions, by file; expand.c has the table. */
#ifndef NUC_REWRITE_EXPAND_EXPAND_LIST_H
#define NUC_REWRITE_EXPAND_EXPAND_LIST_H

#include "rewrite/expand/expand.h"

/* ---- expand_core.c ---- */
struct nuc_node *nuc_expand_convolution(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_native_batch_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_native_softmax(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_native_log_softmax(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_native_adaptive_pool(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_constant_pad(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_pool_indices(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_linear(struct nuc_graph *g, struct nuc_node *node);
/* Conditions: nothing reads another item; a product with the transposed view of a parameter. */
bool nuc_is_first_item_read(const struct nuc_node *node);
bool nuc_is_linear(const struct nuc_node *node);

/* ---- expand_math.c ---- */
struct nuc_node *nuc_expand_fmax(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_copysign(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_hypot(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_logaddexp(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_xlogy(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_heaviside(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_entr(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_ndtr(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_rsub(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_lerp(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_addc(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_clamp(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_glu(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_isclose(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_masked_fill(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_where(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_window.c ---- */
struct nuc_node *nuc_expand_max_pool3d(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_max_pool3d_indices(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_max_pool1d_indices(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_avg_pool3d(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_adaptive_avg_pool1d(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_adaptive_avg_pool3d(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_adaptive_max_pool1d(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_adaptive_max_pool2d(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_adaptive_max_pool3d(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_max_unpool(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_reflection_pad(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_replication_pad(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_im2col(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_col2im(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_resize.c ---- */
struct nuc_node *nuc_expand_nearest(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_linear_resize(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_nearest_exact(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_bicubic(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_antialias(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_resize_to_size(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_affine_grid(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_grid_sampler(struct nuc_graph *g, struct nuc_node *node);
/* ---- expand_index.c ---- */
struct nuc_node *nuc_expand_take_along_dim(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_take(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_unsafe_index(struct nuc_graph *g, struct nuc_node *node);
bool nuc_has_masks(const struct nuc_node *node);
struct nuc_node *nuc_expand_index_put(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_index_add(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_index_copy(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_index_fill(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_select_scatter(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_diagonal_scatter(struct nuc_graph *g, struct nuc_node *node);
bool nuc_is_mixed_reduction(const struct nuc_node *node);
struct nuc_node *nuc_expand_scatter_reduce(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_scatter_of(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_index_reduce(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_embedding_bag(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_order.c ---- */
struct nuc_node *nuc_expand_msort(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_argsort(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_kthvalue(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_median(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_median_dim(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_bucketize(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_searchsorted(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_matrix.c ---- */
struct nuc_node *nuc_expand_baddbmm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_addbmm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_addmv(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_addmm(struct nuc_graph *g, struct nuc_node *node);
bool nuc_is_of_integers(const struct nuc_node *node);
struct nuc_node *nuc_expand_linear_of_integers(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_matmul(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_chain_matmul(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_outer(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_addr(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_kron(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_tensordot(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_inner(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_bilinear(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_trilinear(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_vecdot(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_cross(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_cdist(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_pairwise_distance(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_cosine_similarity(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_einsum.c ---- */
struct nuc_node *nuc_expand_einsum(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_attention.c ---- */
struct nuc_node *nuc_expand_sdpa(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_sdpa_flash(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_safe_softmax(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_multi_head_attention(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_transformer_layer(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_move.c ---- */
struct nuc_node *nuc_expand_reshape(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_view_dtype(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_pixel_shuffle(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_pixel_unshuffle(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_channel_shuffle(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_movedim(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_reversed_dims(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_flip(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_rot90(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_roll(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_select(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_narrow(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_unbind(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_split_sections(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_split_indices(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_split_each(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_split_sizes(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_broadcast(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_broadcast_tensors(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_repeat(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_repeat_interleave(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_repeat_interleave_tensor(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_meshgrid(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_cartesian_prod(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_combinations(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_mixed_cat(struct nuc_graph *g, struct nuc_node *node);
bool nuc_is_mixed_cat(const struct nuc_node *node);
struct nuc_node *nuc_expand_stack(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_stack_dim(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_block_diag(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_diag_embed(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_diag(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_trace(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_triangle(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_cast(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_no_dropout(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_native_dropout(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_rrelu(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_fill.c ---- */
struct nuc_node *nuc_expand_number(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_ones(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_fill_tensor(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_arange(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_linspace(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_logspace(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_eye(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_triangle_indices(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_one_hot(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_vander(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_reduce.c ---- */

/* Operators with an argument dtype, where it makes a difference, and over float64. */
bool nuc_states_other_type(const struct nuc_node *node);
struct nuc_node *nuc_expand_typed(struct nuc_graph *g, struct nuc_node *node);

struct nuc_node *nuc_expand_mean(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_prod(struct nuc_graph *g, struct nuc_node *node);
/* max, min over everything; over a dimension, with places; both. */
struct nuc_node *nuc_expand_extreme(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_extreme_dim(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_aminmax(struct nuc_graph *g, struct nuc_node *node);
/* An empty list of dimensions, which for most operators means all. */
bool nuc_reduces_nothing(const struct nuc_node *node);
struct nuc_node *nuc_expand_any(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_all(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_var(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_std(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_var_mean(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_std_mean(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_logsumexp(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_vector_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_linalg_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_linalg_matrix_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_dist(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_nansum(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_count_nonzero(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_cumprod(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_logcumsumexp(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_cummax(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_diff(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_trapezoid(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_norm.c ---- */

struct nuc_node *nuc_expand_instance_norm(struct nuc_graph *g, struct nuc_node *node);
bool nuc_has_no_running_statistics(const struct nuc_node *batch_norm);
/* Batch norms over statistics of the batch itself; others become aten.batch_norm. */
struct nuc_node *nuc_expand_batch_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_native_layer_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_native_group_norm(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_measure.c ---- */
struct nuc_node *nuc_expand_weight_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_l1_loss(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_kl_div(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_nll_loss(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_mse_loss(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_huber_loss(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_quantile(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_is_infinite(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_isreal(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_sum_to_size(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_ldexp(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_linalg_diagonal(struct nuc_graph *g, struct nuc_node *node);

#endif
