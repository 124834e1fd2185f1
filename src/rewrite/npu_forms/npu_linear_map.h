/*
 * Linear operators with constant coefficients along height and width, resampling and pooling into unequal windows, as
 * convolutions. Rows of npu_forms.c.
 */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_LINEAR_MAP_H
#define NUC_REWRITE_NPU_FORMS_NPU_LINEAR_MAP_H

#include "rewrite/npu_forms/npu_forms.h"

/*
 * upsample_bilinear2d, upsample_nearest2d and adaptive_avg_pool2d that the rules refuse: as a pooling of equal windows;
 * as repetitions of each pixel; as products with a matrix, one axis after the other or of the whole image at once.
 */
bool nuc_form_windows_applies(const struct nuc_support *s, const struct nuc_node *node);
bool nuc_form_repeats_applies(const struct nuc_support *s, const struct nuc_node *node);
bool nuc_form_axes_applies(const struct nuc_support *s, const struct nuc_node *node);
bool nuc_form_image_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_windows(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_form_repeats(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_form_axes(struct nuc_graph *g, struct nuc_node *node);
struct nuc_node *nuc_form_image(struct nuc_graph *g, struct nuc_node *node);

#endif
