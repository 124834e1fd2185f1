/* Functions of one value that a model writes out: rows of npu_forms.c, an expansion and its condition each. */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_FUNCTION_FORMS_H
#define NUC_REWRITE_NPU_FORMS_NPU_FUNCTION_FORMS_H

#include "rewrite/npu_forms/npu_forms.h"

/* A product, or a quotient by a number, that is a hardsigmoid, hardswish, mish or GELU. */
bool nuc_is_written_function(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_written_function(struct nuc_graph *g, struct nuc_node *node);

/* a / sqrt(b): a rsqrt(b), where the CPU would divide in int8 */
bool nuc_is_over_root(const struct nuc_support *s, const struct nuc_node *node);
struct nuc_node *nuc_to_times_root(struct nuc_graph *g, struct nuc_node *node);

#endif
