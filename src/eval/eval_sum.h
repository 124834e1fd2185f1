/*
 * Sums over dimensions with the rounding of torch's CPU kernel (aten/src/ATen/native/cpu/SumKernel.cpp), which depends
 * on the dim order of the tensor: a mean often lands on the tie between two quantized values, and then the order of
 * the additions decides.
 */
#ifndef NUC_EVAL_EVAL_SUM_H
#define NUC_EVAL_EVAL_SUM_H

#include "eval/eval_call.h"

struct nuc_sum;

/* The sums of a tensor of that shape and dim order over the dimensions in the mask `reduced`. */
struct nuc_sum *nuc_sum_plan(struct nuc_context *cx, const struct nuc_meta *m, uint32_t reduced);

/* Number of sums, and of elements each one adds. */
size_t nuc_sum_results(const struct nuc_sum *s);
size_t nuc_sum_count(const struct nuc_sum *s);

/* Sum `index` in logical order of the kept dimensions. `in` is dense in logical order. */
float nuc_sum_at(const struct nuc_sum *s, const float *in, size_t index);

#endif
