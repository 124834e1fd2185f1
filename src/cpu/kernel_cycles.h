/*
 * Cycles of the int8 kernels of a Cortex-M by what they are called with: a model of their loops, fitted to instructions
 * counted under QEMU (docs/cycle-model.md). The constants of a target (target.h) are coarser: one number for all
 * products, which is enough to choose between NPU and CPU, and not to say what twice the calls cost.
 */
#ifndef NUC_CPU_KERNEL_CYCLES_H
#define NUC_CPU_KERNEL_CYCLES_H

#include "ir/graph.h"
#include "npu/target/target.h"

/* `rows` of dimension `dim` of the node's result in one call; 0 for a node that computes nothing. */
uint64_t nuc_kernel_cycles(const struct nuc_kernel_costs *costs, const struct nuc_node *node, uint32_t dim,
                           int64_t rows);

/* Of all nodes, each in one call; calls of delegates are not counted. */
uint64_t nuc_all_kernel_cycles(const struct nuc_kernel_costs *costs, const struct nuc_graph *g);

/* A copy of so many bytes that lie together. */
uint64_t nuc_copy_cycles(const struct nuc_kernel_costs *costs, uint64_t bytes);

#endif
