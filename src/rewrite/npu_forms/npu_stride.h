/* Slices with a step, as moves that the NPU has: rows of npu_forms.c. */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_STRIDE_H
#define NUC_REWRITE_NPU_FORMS_NPU_STRIDE_H

#include "rewrite/npu_forms/npu_forms.h"

/* A slice with a step, or one whose start or end is left open. */
bool nuc_is_slice_to_rewrite(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_plain_slices(struct nuc_graph *g, struct nuc_node *node);

/* A concatenation of all phases of a tensor: every n-th element along some dimensions, from each start. */
bool nuc_is_cat_of_phases(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_permuted_phases(struct nuc_graph *g, struct nuc_node *node);

/* [.., n, ..] as [.., n / length, length, ..]. */
struct nuc_node *nuc_insert_pieces(struct nuc_graph *g, struct nuc_node *node, struct nuc_node *value, uint32_t dim,
                                   int64_t length);

#endif
