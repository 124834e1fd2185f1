/* Building blocks of rewrites. */
#ifndef NUC_REWRITE_REWRITE_H
#define NUC_REWRITE_REWRITE_H

#include "ir/graph.h"
#include "ir/op_list.h"
#include "ir/quant.h"

/* Tensor argument `index`, which the operator cannot be without. */
struct nuc_node *nuc_operand(struct nuc_graph *g, const struct nuc_node *node, uint32_t index);

/*
 * A new node in front of `before` with the source location of `from`, in the graph's dialect: in ATen it is named as
 * torch.fx names a call, after operator and overload ("slice_tensor"), and works in place where `from` does and the
 * operator can.
 */
struct nuc_node *nuc_insert(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, const struct nuc_node *from);

/* cat(parts, dim) in front of `before`. */
struct nuc_node *nuc_insert_cat(struct nuc_graph *g, struct nuc_node *before, struct nuc_node **parts, uint32_t count,
                                int64_t dim);

/* The same with arguments as NUC_ARGS() lists them, and its value inferred. */
struct nuc_node *nuc_emit(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, const struct nuc_node *from,
                          const struct nuc_arg *args, size_t n_args);

/* `like` once more in front of `before`, whose first arguments are these. */
struct nuc_node *nuc_emit_like(struct nuc_graph *g, struct nuc_node *before, const struct nuc_node *like,
                               const struct nuc_arg *args, size_t n_args);

/* The same of a convolution with another input, weight, bias and number of groups. */
struct nuc_node *nuc_emit_conv_like(struct nuc_graph *g, struct nuc_node *before, const struct nuc_node *like,
                                    struct nuc_node *const operands[3], int64_t groups);

/* A quantize or dequantize node of `value` with these parameters. */
struct nuc_node *nuc_insert_quant(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op, struct nuc_node *value,
                                  const struct nuc_quant *parameters);

/* getitem(tuple, index) in front of `before`. */
struct nuc_node *nuc_insert_getitem(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *tuple,
                                    uint32_t index);

/* A quantize node and another quantize or dequantize node of the same kind have the same parameters. */
bool nuc_same_quantization(const struct nuc_node *quantize, const struct nuc_node *other);

/* Nodes of these operators (NUC_OPS; NULL: all), in graph order, so that the graph may change while they are walked. */
struct nuc_node **nuc_collect(struct nuc_graph *g, const enum nuc_op *ops, uint32_t *count);

/* Whether an operator in place takes the value: one that is read behind it is another. */
bool nuc_is_written(const struct nuc_node *x);

/* The value is read in place of the node, which goes; made since ids were below `old_ids`, it gets the node's name. */
void nuc_take_place(struct nuc_graph *g, struct nuc_node *node, uint32_t old_ids, struct nuc_node *value);

/*
 * Calls rewrite() for each of them, which returns whether it changed the graph, and removes what is dead then. Returns
 * whether any did: the body of a pass.
 */
bool nuc_rewrite_each(struct nuc_graph *g, const enum nuc_op *ops,
                      bool (*rewrite)(struct nuc_graph *g, struct nuc_node *node));

/*
 * How many nodes an operator becomes depends on the ranges of its values and on where it runs: `value`, or what is
 * moved to it, is counted for all of them, which are in front of `node` and have ids from `first` on.
 */
void nuc_count_once(const struct nuc_node *node, const struct nuc_node *value, uint32_t first);

/* Whether a node takes item `index` of a tuple. */
bool nuc_is_item(const struct nuc_node *node, uint32_t index);

/* What reads item `index` of the tuple reads `value`, and the item goes; false when nothing does. */
bool nuc_replace_item(struct nuc_graph *g, struct nuc_node *tuple, uint32_t index, struct nuc_node *value);

/* Argument `from_index` of `from`, whether given or default, becomes argument `index` of `node`. */
void nuc_copy_arg(struct nuc_graph *g, struct nuc_node *node, uint32_t index, const struct nuc_node *from,
                  uint32_t from_index);

/*
 * A parameter that holds `data`, given in logical order, in the dim order of `meta`. It is named after `like`, whose
 * source of names it takes over, with `suffix` at the end.
 */
struct nuc_node *nuc_add_parameter(struct nuc_graph *g, const struct nuc_node *like, const char *suffix,
                                   const struct nuc_meta *meta, const void *data);

/* The same without a copy: `data` lies in the graph's arena or in a mapped file and does not change any more. */
struct nuc_node *nuc_take_parameter(struct nuc_graph *g, const struct nuc_node *like, const char *suffix,
                                    const struct nuc_meta *meta, const void *data);

/*
 * What a batch norm with constant statistics multiplies each channel with and adds to it (passes/fold_batch_norm.c).
 * False for another one.
 */
bool nuc_batch_norm_factors(struct nuc_graph *g, struct nuc_node *norm, float **scales, float **shifts);

#endif
