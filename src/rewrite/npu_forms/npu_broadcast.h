/* Values that are repeated to fit others, where the NPU does not do it by itself. Rows of npu_forms.c. */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_BROADCAST_H
#define NUC_REWRITE_NPU_FORMS_NPU_BROADCAST_H

#include "rewrite/npu_forms/npu_forms.h"

/* expand, where an operator after it does not broadcast: a concatenation, or a product with ones. */
bool nuc_form_expand_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_expand(struct nuc_graph *g, struct nuc_node *node);

/* An operator of two values that both broadcast: one of them is expanded. */
bool nuc_form_outer_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_outer(struct nuc_graph *g, struct nuc_node *node);

/* An operator of two values, one of them expanded to the other: it broadcasts by itself. */
bool nuc_form_broadcast_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_broadcast(struct nuc_graph *g, struct nuc_node *node);

/*
 * A constant operand that lies channels last beside a value that is no image: it would have the operators around it
 * work on the wrong dimension.
 */
bool nuc_form_plain_constant_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_plain_constant(struct nuc_graph *g, struct nuc_node *node);

/* Another name of a value. */
bool nuc_form_alias_applies(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_form_alias(struct nuc_graph *g, struct nuc_node *node);

#endif
