/* ATen to Edge, one function an operator. */
#ifndef NUC_PASSES_DECOMPOSE_H
#define NUC_PASSES_DECOMPOSE_H

#include "compiler/graph/graph.h"

/*
 * Builds the Edge form of `node` in front of it and returns the node that stands for its value; NULL when the node has
 * no value and goes. `param` is the row's.
 */
typedef struct nuc_node *(*decomposition)(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);

/* The same arguments in the same places. param: the Edge operator. */
struct nuc_node *to_same_args(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_nothing(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);

struct nuc_node *to_convolution(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_batch_norm(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_relu6(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_max_pool(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_adaptive_pool(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_constant_pad(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_softmax(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_matrix_product(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_view(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_clone(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_dropout(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);
struct nuc_node *to_copy(struct nuc_graph *g, struct nuc_node *node, enum nuc_op param);

/* view_copy(input, sizes) in front of `node`. */
struct nuc_node *insert_view(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input, const int64_t *sizes,
                             uint32_t rank);
/* _clone_dim_order(input) into the dim order of `like`, whose sizes and dtype are those of the input. */
struct nuc_node *insert_clone(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *input,
                              const struct nuc_meta *like);

#endif
