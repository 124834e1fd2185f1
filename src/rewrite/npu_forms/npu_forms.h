/*
 * Operators that the NPU has no row for, or only with other arguments, written as operators that it has. The stage
 * aten-passes does that before anything is observed, for targets with an NPU and its newest rules; npu_forms.c has the
 * table, a file of its own each family.
 */
#ifndef NUC_REWRITE_NPU_FORMS_NPU_FORMS_H
#define NUC_REWRITE_NPU_FORMS_NPU_FORMS_H

#include "npu/support/support.h"
#include "rewrite/expand/expand.h"

/* Whether the rules of the NPU accept what the operator becomes, and the cycle model gains by it. */
typedef bool (*nuc_form_condition)(const struct nuc_support *s, const struct nuc_node *node);

/* Whether the NPU takes a reshape to that number of dimensions. */
bool nuc_can_view(const struct nuc_support *s, uint32_t rank);

/* Returns whether anything changed. Only an ATen graph without quantize nodes. */
bool nuc_to_npu_forms(const struct nuc_support *s);

/* One float32 tensor with elements. */
bool nuc_is_float_value(const struct nuc_node *x);

/* The start or end of a slice, which counts from the end where it is negative, as a place from 0 to `size`. */
int64_t nuc_slice_end(int64_t value, int64_t size);

#endif
