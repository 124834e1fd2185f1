/*
 * Products of matrices and softmax as the NPU has them: a fully connected layer of a matrix and constant weights, a
 * product of two batches of matrices, a softmax along the last dimension. Views and permutations lead there. Rows of
 * npu_forms.c.
 */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_MATRIX_H
#define NUC_REWRITE_NPU_FORMS_NPU_MATRIX_H

#include "rewrite/npu_forms/npu_forms.h"

/* linear of an input that is not a matrix, or with weights that are computed. */
bool nuc_form_linear_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_linear(struct nuc_graph *g, struct nuc_node *node);

/* relu(reshape(linear)) as reshape(relu(linear)): the two are one kernel. */
bool nuc_form_activation_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_activation(struct nuc_graph *g, struct nuc_node *node);

/* matmul of float tensors of any rank. */
bool nuc_form_matmul_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_matmul(struct nuc_graph *g, struct nuc_node *node);

/* mm and addmm: linear where the second matrix is constant, else bmm; bmm with a constant for the whole batch. */
bool nuc_form_mm_applies(const struct nuc_support *s, const struct nuc_node *node);
bool nuc_form_addmm_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_addmm(struct nuc_graph *g, struct nuc_node *node);
bool nuc_form_bmm_applies(const struct nuc_support *s, const struct nuc_node *node);

/* Whether a value is made by what works on images channels first, perhaps behind functions of each element. */
bool nuc_is_of_images(const struct nuc_node *value);

/* bmm of factors that are multiplied with a number. */
bool nuc_form_scaled_bmm_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_scaled_bmm(struct nuc_graph *g, struct nuc_node *node);

/* softmax along a dimension that is not the channels, in the order in which they lie on the NPU. */
bool nuc_form_softmax_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_softmax(struct nuc_graph *g, struct nuc_node *node);

/* softmax of more rows than the NPU takes at once. */
bool nuc_form_softmax_halves_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_softmax_halves(struct nuc_graph *g, struct nuc_node *node);

/* What makes zeros of the rows of an attention that are masked as a whole, where there are none. */
bool nuc_form_safe_softmax_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_safe_softmax(struct nuc_graph *g, struct nuc_node *node);

#endif
