/* ATen to Edge, one function per operator. */
#ifndef NUC_REWRITE_TO_EDGE_DECOMPOSE_H
#define NUC_REWRITE_TO_EDGE_DECOMPOSE_H

#include "ir/graph.h"

/*
 * Builds the Edge form of `node` in front of it and returns the node that stands for its value; NULL when the node goes
 * and nothing reads it any more.
 */
typedef struct nuc_node *(*decomposition)(struct nuc_graph *g, struct nuc_node *node);

/* The same operator in the Edge dialect, and another one with the same arguments in the same places. */
struct nuc_node *nuc_to_same(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_same_args(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op);
struct nuc_node *nuc_to_nothing(struct nuc_graph *g, struct nuc_node *node);

/* ---- convolution, pooling (decompose_conv.c) ---- */
struct nuc_node *nuc_to_convolution(struct nuc_graph *g, struct nuc_node *node);
/* A 3-D one as a 2-D one (decompose_conv3d.c). */
struct nuc_node *nuc_to_flat_convolution(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_padded_convolution(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_batch_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_max_pool(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_pool_of_rows(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_adaptive_pool(struct nuc_graph *g, struct nuc_node *node);

/* ---- elementwise (decompose_math.c) ---- */
struct nuc_node *nuc_to_relu6(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_softmax(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_hardswish(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_silu(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_prelu(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_sum(struct nuc_graph *g, struct nuc_node *node);

/* ---- normalization (decompose_norm.c) ---- */
struct nuc_node *nuc_to_layer_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_group_norm(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_rms_norm(struct nuc_graph *g, struct nuc_node *node);
/* ---- functions of one value (decompose_activation.c) ---- */
struct nuc_node *nuc_to_exp2(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_erfc(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_softplus(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_mish(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_log_sigmoid(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_selu(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_celu(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_clamp(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_hardshrink(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_softshrink(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_threshold(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_frac(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_round(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_square(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_scaled(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_sinc(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_pow(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_nan_to_num(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_isfinite(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_signbit(struct nuc_graph *g, struct nuc_node *node);

/* ---- matrix products (decompose_matrix.c) ---- */
struct nuc_node *nuc_to_linear(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_matmul(struct nuc_graph *g, struct nuc_node *node);

/* ---- order (expand_order.c) ---- */
struct nuc_node *nuc_to_sort(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_topk_of_all(struct nuc_graph *g, struct nuc_node *node);

/* ---- recurrent layers (decompose_recurrent.c): one operator where it can be, or the operators of each step ---- */
struct nuc_node *nuc_to_recurrent(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_steps(struct nuc_graph *g, struct nuc_node *node);

/* ---- padding (decompose_pad.c) ---- */
struct nuc_node *nuc_to_pad(struct nuc_graph *g, struct nuc_node *node);
/* Indices are computed at run time where torch traces it so. */
struct nuc_node *nuc_to_traced_pad(struct nuc_graph *g, struct nuc_node *node);

/* ---- views, copies, pieces (decompose_shape.c) ---- */
struct nuc_node *nuc_to_view(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_clone(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_dropout(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_copy(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_transpose(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_split(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_zeros(struct nuc_graph *g, struct nuc_node *node);

/* ---- for ExecuTorch's runtime alone (decompose_executorch.c) ---- */
struct nuc_node *nuc_to_cumsum_along(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_wide_indices(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_greatest(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_unfold_along(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_place_of_number(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_difference(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_floored_remainder(struct nuc_graph *g, struct nuc_node *node);

/* ---- building blocks ---- */

/* op(input) and op(a, b) in front of `node`. */
struct nuc_node *nuc_insert_unary(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *input);
struct nuc_node *nuc_insert_binary(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *a,
                                   struct nuc_node *b);
/* op(input, dim): unsqueeze_copy and squeeze_copy.dim. */
struct nuc_node *nuc_insert_with_dim(struct nuc_graph *g, struct nuc_node *node, enum nuc_op op, struct nuc_node *input,
                                     int64_t dim);
struct nuc_node *nuc_insert_permute(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                    const int64_t *dims);
struct nuc_node *nuc_insert_expand(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                   const int64_t *sizes, uint32_t rank);
struct nuc_node *nuc_insert_slice(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, int64_t dim,
                                  int64_t start, int64_t end);
/* view_copy(input, sizes), of the value as it lies in memory. */
struct nuc_node *nuc_insert_view(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                 const int64_t *sizes, uint32_t rank);
/* The same through a contiguous copy where torch's view needs one. */
struct nuc_node *nuc_insert_reshape(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                    const int64_t *sizes, uint32_t rank);
/* _clone_dim_order(input) into the dim order of `like`, whose sizes and dtype are those of the input. */
struct nuc_node *nuc_insert_clone(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                                  const struct nuc_meta *like);

#endif
