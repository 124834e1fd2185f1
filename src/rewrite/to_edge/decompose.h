/* ATen to Edge where no formula says it, one function per operator. */
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
struct nuc_node *nuc_to_pool_of_rows(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_adaptive_pool(struct nuc_graph *g, struct nuc_node *node);

/* ---- decompose_same.c ---- */
struct nuc_node *nuc_to_hardswish(struct nuc_graph *g, struct nuc_node *node);
/* Of quantized values, for ExecuTorch's runtime. */
struct nuc_node *nuc_to_stable_topk(struct nuc_graph *g, struct nuc_node *node);

/* ---- matrix products (decompose_matrix.c) ---- */
struct nuc_node *nuc_to_linear(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_to_matmul(struct nuc_graph *g, struct nuc_node *node);

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

#endif
