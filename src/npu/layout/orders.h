/*
 * Dim orders: which there are, copies of values in another one, and what follows when the order of a value changes.
 * The dim order of a tensor names where its bytes lie; a dimension of size 1 may stand anywhere in it, so that one
 * layout goes by several names, and torch derives the name of a result from those of the operands.
 */
#ifndef NUC_NPU_LAYOUT_ORDERS_H
#define NUC_NPU_LAYOUT_ORDERS_H

#include "ir/graph.h"

/* ---- which orders there are ---- */

/* Of one rank, and the same name. */
bool nuc_same_order(const struct nuc_meta *a, const struct nuc_meta *b);

struct nuc_meta nuc_in_contiguous_order(const struct nuc_meta *m);
struct nuc_meta nuc_in_channels_last_order(const struct nuc_meta *m);

/* The bytes are those of a contiguous tensor, whatever the name. */
bool nuc_lies_contiguous(const struct nuc_meta *m);

/* Contiguous or channels-last bytes: the only layouts a tensor of a program can have. */
bool nuc_is_usable_order(const struct nuc_meta *m);

/*
 * The name is one that ExecuTorch's kernels and its NeutronBackend know, contiguous or channels-last. A depth of 1
 * counts as a single channel there, which is refused channels-last.
 */
bool nuc_is_known_order(const struct nuc_meta *m);

/* The value's meta, called contiguous where that is the same bytes. */
struct nuc_meta nuc_named_contiguous(const struct nuc_meta *m);

/*
 * Whether a view without a copy exists: dimensions of the input that follow each other in memory form chunks, and each
 * chunk has to be a product of dimensions of the result. Dimensions of size 1 lie anywhere.
 */
bool nuc_is_viewable(const struct nuc_meta *in, const int64_t *sizes, uint32_t rank);

/* Dimension i of `out` steps through memory as dimension dims[i] of `in`: the permuted tensor lies where it lay. */
bool nuc_is_permuted_in_place(const struct nuc_meta *in, const int64_t *dims, const struct nuc_meta *out);

/* ---- copies ---- */

/* The argument `dim_order` of a node that copies becomes the order of `like`. */
void nuc_set_order_arg(struct nuc_graph *g, struct nuc_node *copy, const struct nuc_meta *like);

/* A copy of `value` by `op`, which has an argument `dim_order`, in the order of `like` and under its name. */
struct nuc_node *nuc_insert_in_order(struct nuc_graph *g, struct nuc_node *before, enum nuc_op op,
                                     struct nuc_node *value, const struct nuc_meta *like);

/* Tensor operands that are not contiguous are read through contiguous copies. */
void nuc_copy_operands_contiguous(struct nuc_graph *g, struct nuc_node *node);

/* ---- what follows ---- */

/* All values anew, names of orders included. A view of a value that lies in another order by now becomes a reshape. */
void nuc_infer_all(struct nuc_graph *g);

/* A node's values anew where they changed in more than the name of their order. Returns whether they did. */
bool nuc_refresh_layout(struct nuc_graph *g, struct nuc_node *node);

/* The same for all nodes but delegate calls, views as in nuc_infer_all(). */
bool nuc_refresh_layouts(struct nuc_graph *g);

/* Readers of `node` for which keeps() holds read a copy of it, in the order it had `before`. */
void nuc_keep_order_for(struct nuc_graph *g, struct nuc_node *node, const struct nuc_meta *before,
                        bool (*keeps)(const struct nuc_node *user));

/* ---- whole graphs ---- */

/*
 * Inputs, parameters and buffers [N, C, H, W] of a graph before Edge in that dim order, and what follows from them, as
 * `x.to(memory_format=...)` on model and inputs gives it. A note says for each changed input how its bytes lie.
 */
void nuc_convert_orders(struct nuc_graph *g, bool channels_last);

/*
 * The outputs of a model lie in memory as the model has them: what makes them in another order than there was before,
 * as nuc_output_metas() said, gets a copy after it.
 */
struct nuc_meta *nuc_output_metas(const struct nuc_graph *g);
void nuc_restore_output_orders(struct nuc_graph *g, const struct nuc_meta *metas);

/*
 * Delegate calls. With one channel, contiguous and channels-last are the same bytes, and a NeutronBackend takes them
 * under the name contiguous only. The name follows a quantized input and a dequantized output to the boundary of the
 * program, where an ambiguous order would be another one again to software that derives it from strides.
 */
void nuc_name_boundary_orders(struct nuc_graph *g, struct nuc_node *call);

/*
 * What follows a boundary whose order got its other name may come out in another order: torch derives orders from
 * names. Names of equal layouts stay as they were; delegates and outputs read what they read before.
 */
void nuc_refresh_after_delegates(struct nuc_graph *g);

#endif
