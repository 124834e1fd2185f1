/* The expansions that are functions; expand.c has the table. */
#ifndef NUC_REWRITE_EXPAND_EXPAND_LIST_H
#define NUC_REWRITE_EXPAND_EXPAND_LIST_H

#include "rewrite/expand/expand.h"

/* ---- expand_matrix.c ---- */
struct nuc_node *nuc_expand_inner(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_tensordot(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_bilinear(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_trilinear(struct nuc_graph *g, struct nuc_node *node);
/* mm and addmm of decomposed archives; the condition: with the transposed view of a parameter. */
struct nuc_node *nuc_expand_linear(struct nuc_graph *g, struct nuc_node *node);
bool nuc_is_linear(const struct nuc_node *node);

/* ---- expand_einsum.c ---- */
struct nuc_node *nuc_expand_einsum(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_attention.c ---- */
struct nuc_node *nuc_expand_sdpa(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_sdpa_flash(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_multi_head_attention(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_transformer_layer(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_resize.c ---- */
struct nuc_node *nuc_expand_nearest(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_linear_resize(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_nearest_exact(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_bicubic(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_antialias(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_resize_to_size(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_affine_grid(struct nuc_graph *g, struct nuc_node *node);

/* ---- expand_known.c ---- */
struct nuc_node *nuc_expand_view_dtype(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_repeat_interleave_tensor(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_expand_combinations(struct nuc_graph *g, struct nuc_node *node);

#endif
