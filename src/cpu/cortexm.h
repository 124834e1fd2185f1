/*
 * Operators between dequantize and quantize nodes become int8 operators of the Cortex-M dialect (`cortex_m::`, as
 * ExecuTorch's kernels compute them), of our own dialect where that has none (`nucleon::`), or of the portable library
 * where moving bytes is enough. docs/cortex-m.md says which.
 */
#ifndef NUC_CPU_CORTEXM_H
#define NUC_CPU_CORTEXM_H

#include "ir/graph.h"

struct nuc_cpu;

struct nuc_cortexm_options {
    const struct nuc_cpu *cpu; /* instruction set and rules of scratch memory */
    bool reference_compat;     /* what the reference lowers and how, its traps included */
    bool executorch_ops_only;  /* no operator of our own dialect */
    bool as_litert;            /* the network is LiteRT's: tables are those of its kernels */
};

/*
 * In place, on an Edge graph whose partitions are delegate calls. What has no int8 form stays as it is, with Cortex-M
 * quantize and dequantize nodes around it. Nodes are renamed.
 */
void nuc_cortexm_lower(struct nuc_graph *g, const struct nuc_cortexm_options *options);

/*
 * Of a lowered graph: sums become products with ones, transposed before; depthwise convolutions that may write their
 * result over their input become those that do not. ExecuTorch has both, and either may take more memory. False: there
 * were none.
 */
bool nuc_cortexm_part_sums(struct nuc_graph *g, const struct nuc_cortexm_options *options);
bool nuc_cortexm_part_depthwise(struct nuc_graph *g, const struct nuc_cortexm_options *options);

/* Of a lowered graph: front ends of cameras get their scratch, and take over what is done with their results. */
void nuc_cortexm_lower_frames(struct nuc_graph *g);

/* There is an int8 form of the Edge operator, for most of its arguments. */
bool nuc_cortexm_has_kernel(enum nuc_op op);

/* Of a lowered graph: computes float32 on the CPU and is not a quantize or dequantize node. */
bool nuc_is_float_operator(const struct nuc_node *node);

#endif
