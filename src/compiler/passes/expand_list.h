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

#endif
