/* Averages of quantized archives that have other parameters than what they are averages of. */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_AVERAGE_H
#define NUC_REWRITE_NPU_FORMS_NPU_AVERAGE_H

#include "npu/support/support.h"

/*
 * An average of windows of images, or of whole ones, in int8 whose quantizer observed it by itself. The NPU's pools and
 * means have the parameters of their input.
 */
bool nuc_has_npu_average(const struct nuc_support *s, const struct nuc_node *node);

/* Whether it is one once passes have quantized what it reads and its result, if the NPU takes it. */
bool nuc_may_have_npu_average(const struct nuc_node *node);

/* The convolution that it is, in front of the node, in the Edge dialect. */
struct nuc_node *nuc_to_npu_average(struct nuc_graph *g, struct nuc_node *node);

#endif
