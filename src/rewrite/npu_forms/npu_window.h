/*
 * Windows that reach beyond their input unevenly, as a padding and what the NPU has: rows of npu_forms.c, an expansion
 * and its condition each.
 */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_WINDOW_H
#define NUC_REWRITE_NPU_FORMS_NPU_WINDOW_H

#include "rewrite/npu_forms/npu_forms.h"

bool nuc_is_max_pool_to_pad(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_padded_max_pool(struct nuc_graph *g, struct nuc_node *node);
bool nuc_is_avg_pool_to_pad(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_padded_avg_pool(struct nuc_graph *g, struct nuc_node *node);
bool nuc_is_unevenly_padded(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_unevenly_padded(struct nuc_graph *g, struct nuc_node *node);

#endif
