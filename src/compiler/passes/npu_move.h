/* Moves of values that the NPU does not have, as slices, concatenations and paddings: rows of npu_forms.c. */
#ifndef NUC_PASSES_NPU_MOVE_H
#define NUC_PASSES_NPU_MOVE_H

#include "compiler/passes/npu_forms.h"

/* split and chunk of any kind: a slice for each part that is read. */
bool nuc_is_split_to_slices(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_slices_of_split(struct nuc_graph *g, struct nuc_node *node);

/* index and index_select by constants, flip: runs of elements behind each other. */
bool nuc_is_taken_in_runs(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_runs(struct nuc_graph *g, struct nuc_node *node);

/* slice_scatter: what is written between what stays. */
bool nuc_is_written_between(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_written_between(struct nuc_graph *g, struct nuc_node *node);

/* Paddings that take values off, repeat those at the edges, or go round. */
bool nuc_is_pad_to_join(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_joined_pad(struct nuc_graph *g, struct nuc_node *node);

/* Casts to the type there is. */
bool nuc_is_cast_to_itself(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_clone_of_same(struct nuc_graph *g, struct nuc_node *node);

#endif
