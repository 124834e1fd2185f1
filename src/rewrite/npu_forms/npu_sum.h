/*
 * Sums and means over dimensions as convolutions, whose result has a scale of its own: that of the NPU's SUM and MEAN
 * is their input's, which saturates a sum and leaves a mean of many values few steps. Rows of npu_forms.c.
 */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_SUM_H
#define NUC_REWRITE_NPU_FORMS_NPU_SUM_H

#include "rewrite/npu_forms/npu_forms.h"

/* sum, sum.dim_IntList, mean.dim, adaptive_avg_pool2d to one pixel. */
bool nuc_form_sum_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_sum(struct nuc_graph *g, struct nuc_node *node);

/* cumsum */
bool nuc_form_cumsum_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_cumsum(struct nuc_graph *g, struct nuc_node *node);

/*
 * sum or mean along the last dimensions of x times a constant, a product that nothing else reads: a linear layer,
 * which rounds once.
 */
bool nuc_form_weighted_sum_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_weighted_sum(struct nuc_graph *g, struct nuc_node *node);

#endif
