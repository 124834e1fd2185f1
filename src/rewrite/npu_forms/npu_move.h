/* Moves of values that the NPU does not have, as slices, concatenations and paddings: rows of npu_forms.c. */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_MOVE_H
#define NUC_REWRITE_NPU_FORMS_NPU_MOVE_H

#include "rewrite/npu_forms/npu_forms.h"

/* cat of one value several times. */
bool nuc_is_cat_of_copies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_fewer_copies(struct nuc_graph *g, struct nuc_node *node);

/* split and chunk of any kind: a slice for each part that is read. */
bool nuc_is_split_to_slices(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_slices_of_split(struct nuc_graph *g, struct nuc_node *node);

/* index and index_select by constants, flip: runs of elements behind each other. */
bool nuc_is_taken_in_runs(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_runs(struct nuc_graph *g, struct nuc_node *node);

/* slice_scatter: what is written between what stays; zeros it is written into are a constant. */
bool nuc_is_scatter_to_join(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_joined_slices(struct nuc_graph *g, struct nuc_node *node);
bool nuc_are_real_zeros(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_constant_zeros(struct nuc_graph *g, struct nuc_node *node);

/* Paddings that take values off, repeat those at the edges, or go round. */
bool nuc_is_pad_to_join(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_joined_pad(struct nuc_graph *g, struct nuc_node *node);

/* unfold: pieces, or a slice for each place of a window. */
bool nuc_is_unfold_to_join(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_joined_windows(struct nuc_graph *g, struct nuc_node *node);

/* Copies, in another dim order or none, and casts to the type there is: what the outputs of the model have is restored
 * afterwards. */
bool nuc_is_droppable_copy(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_copy_source(struct nuc_graph *g, struct nuc_node *node);

#endif
