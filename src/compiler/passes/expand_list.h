/* The expansions, by file; expand.c has the table. */
#ifndef NUC_PASSES_EXPAND_LIST_H
#define NUC_PASSES_EXPAND_LIST_H

#include "compiler/passes/expand.h"

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

#endif
