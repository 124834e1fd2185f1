/* Building blocks of rewrites. */
#ifndef NUC_PASSES_REWRITE_H
#define NUC_PASSES_REWRITE_H

#include "compiler/graph/graph.h"

/* Tensor argument `index`, which the operator cannot be without. */
struct nuc_node *nuc_operand(struct nuc_graph *g, const struct nuc_node *node, uint32_t index);

/* A new node in front of `before` with the source location of `from`. */
struct nuc_node *nuc_insert(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, const struct nuc_node *from);

/* The same for an ATen operator, named as torch.fx names a call: after operator and overload, "slice_tensor". */
struct nuc_node *nuc_insert_aten(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op,
                                 const struct nuc_node *from);

/* getitem(tuple, index) in front of `before`. */
struct nuc_node *nuc_insert_getitem(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *tuple,
                                    uint32_t index);

/* A quantize node and another quantize or dequantize node of the same kind have the same parameters. */
bool nuc_same_quantization(const struct nuc_node *quantize, const struct nuc_node *other);

/* Nodes of the graph for which wanted(op) holds, in graph order, so that the graph may change while they are walked. */
struct nuc_node **nuc_collect(struct nuc_graph *g, bool (*wanted)(enum nuc_op op), uint32_t *count);

/* Argument `from_index` of `from`, whether given or default, becomes argument `index` of `node`. */
void nuc_copy_arg(struct nuc_graph *g, struct nuc_node *node, uint32_t index, const struct nuc_node *from,
                  uint32_t from_index);

/*
 * A parameter that holds `data`, given in logical order, in the dim order of `meta`. It is named after `like`, whose
 * source of names it takes over, with `suffix` behind.
 */
struct nuc_node *nuc_add_parameter(struct nuc_graph *g, const struct nuc_node *like, const char *suffix,
                                   const struct nuc_meta *meta, const void *data);

/* The same without a copy: `data` lies in the graph's arena or in a mapped file and does not change any more. */
struct nuc_node *nuc_take_parameter(struct nuc_graph *g, const struct nuc_node *like, const char *suffix,
                                    const struct nuc_meta *meta, const void *data);

/* A tensor [..] of that dtype and those sizes, contiguous, as value of the node. */
void nuc_set_contiguous_val(struct nuc_graph *g, struct nuc_node *node, enum nuc_dtype dtype, const int64_t *sizes,
                            uint32_t rank);

#endif
