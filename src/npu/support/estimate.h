/*
 * Cycles of single nodes from sizes, where a decision or a report needs them before anything is lowered: by the cost
 * model of docs/cycle-model.md on the NPU, by the constants of the target on the CPU.
 */
#ifndef NUC_NPU_SUPPORT_ESTIMATE_H
#define NUC_NPU_SUPPORT_ESTIMATE_H

#include "ir/graph.h"
#include "npu/target/target.h"

/* Multiply-accumulates of a node; 0 when it has none. */
uint64_t nuc_estimate_macs(const struct nuc_node *node);
uint64_t nuc_estimate_npu(const struct nuc_target *target, const struct nuc_node *node);

/* `in_float`: by a float kernel. Quantize and dequantize nodes take the same either way. */
uint64_t nuc_estimate_cpu(const struct nuc_target *target, const struct nuc_node *node, bool in_float);

/*
 * Kernel calls on the NPU: a product of matrices [rows, depth] and [depth, columns], or a convolution of one pixel; a
 * copy of elements to other places.
 */
uint64_t nuc_estimate_product(const struct nuc_target *target, uint64_t rows, uint64_t columns, uint64_t depth);
uint64_t nuc_estimate_move(const struct nuc_target *target, uint64_t elements);

/* An operator on the CPU: so many values, or multiply-accumulates, at `each` cycles. */
uint64_t nuc_cpu_cycles(const struct nuc_kernel_costs *c, double count, double each);

uint64_t nuc_recurrent_cycles(const struct nuc_kernel_costs *c, double macs, double gates);

#endif
