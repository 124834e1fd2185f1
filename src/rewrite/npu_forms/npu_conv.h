/* Convolutions that the rules of the NPU refuse, as convolutions that they accept. Rows of npu_forms.c. */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_CONV_H
#define NUC_REWRITE_NPU_FORMS_NPU_CONV_H

#include "rewrite/npu_forms/npu_forms.h"

/* conv_transpose2d with groups, a dilation, a stride above 2 or above its kernel: a convolution of all phases. */
bool nuc_form_phases_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_phases(struct nuc_graph *g, struct nuc_node *node);

/* conv3d with a kernel of depth alone. Any, and conv_transpose3d: nuc_to_flat_convolution(). */
bool nuc_form_rows_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_rows(struct nuc_graph *g, struct nuc_node *node);
bool nuc_form_depths_applies(const struct nuc_support *s, const struct nuc_node *node);

/* An activation of a convolution whose values are moved in between: the two are one kernel. */
bool nuc_form_early_activation_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_early_activation(struct nuc_graph *g, struct nuc_node *node);

/*
 * Convolutions whose weight is computed: windows of the image, or of the taps, and a product of two activations
 * (npu_computed_conv.c). The cycles of the one that takes fewer; UINT64_MAX: neither can be built.
 */
uint64_t nuc_computed_conv_cycles(const struct nuc_support *s, const struct nuc_node *node);
bool nuc_form_windows_by_parts_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_windows_by_parts(struct nuc_graph *g, struct nuc_node *node);
bool nuc_form_windows_by_ones_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_windows_by_ones(struct nuc_graph *g, struct nuc_node *node);
bool nuc_form_products_first_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_products_first(struct nuc_graph *g, struct nuc_node *node);

#endif
