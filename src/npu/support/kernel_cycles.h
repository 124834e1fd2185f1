/*
 * Cycles of nucleon's int8 kernels on a Cortex-M by what they are called with: a model of their loops, fitted to
 * instructions counted under QEMU (docs/cycle-model.md). Placement, reports, profiles and strips take theirs from here.
 */
#ifndef NUC_NPU_SUPPORT_KERNEL_CYCLES_H
#define NUC_NPU_SUPPORT_KERNEL_CYCLES_H

#include "ir/graph.h"
#include "npu/target/target.h"

/* The longest window that the depthwise kernel of one channel takes (device/kernels/dsp/dsp_columns.h). */
#define NUC_ONE_CHANNEL_WINDOW 128

/* A call, or a part of one. */
struct nuc_kernel_call {
    enum nuc_op op;            /* of the Cortex-M dialect, of our own, or of the Edge dialect */
    const struct nuc_meta *in; /* first operand; NULL: there is none */
    const struct nuc_meta
        *weight; /* of products: [O, H, W, I], depthwise [1, H, W, O]; of frames: columns, or window; else NULL */
    const struct nuc_meta *out;
    double products;      /* where sizes do not say them: elements of windows, products of gates, values put at indices,
                             values compared in another scale, samples of a function */
    double gates;         /* of a recurrent layer, over all steps */
    double written, read; /* how much of the result and of the first operand it is: 1 of all */
    double together;      /* elements that a permutation leaves side by side where no sizes change; 0: none is one */
    double again;         /* output channels with weights of more than eight bits, which are computed once more */
    double parts;         /* of a depthwise convolution, that each read a part of rows and columns; 0: one */
};

/* Which argument of an operator lists what its weights have beyond eight bits; UINT32_MAX: it has none. */
uint32_t nuc_excess_arg(enum nuc_op op);

/* Of a call of such an operator: its channels in the list, int32 [count, 2], little-endian. */
double nuc_channels_again(const struct nuc_kernel_call *call, const uint8_t *listed, size_t count);

/* Of a convolution that is dilated so far: each `down`th row and `across`th column is a part. */
double nuc_dilated_parts(const struct nuc_meta *out, int64_t down, int64_t across);

/* 0: the operator has no int8 kernel that is modelled. */
uint64_t nuc_kernel_call_cycles(const struct nuc_kernel_costs *costs, const struct nuc_kernel_call *call);

/* `rows` of dimension `dim` of a lowered node's result in one call; 0 for a node that computes nothing. */
uint64_t nuc_kernel_cycles(const struct nuc_kernel_costs *costs, const struct nuc_node *node, uint32_t dim,
                           int64_t rows);

/* Elements that lie side by side in front of a permutation to the sizes of `out` and behind it; of a node: 0, none. */
double nuc_elements_together(const struct nuc_meta *out, const int64_t *order, uint32_t count);
double nuc_permuted_together(const struct nuc_node *node);

/* Multiply-accumulates of the layers that LiteRT computes in integers; -1 for other operators. */
double nuc_litert_layer_macs(const struct nuc_node *node);

/*
 * The same as work: a place of SVDF's state that moves on counts once more. 0 for other operators. Of an operator of a
 * program by how many rows the input has, the steps of all samples, and how many elements the first operands.
 */
#define NUC_LITERT_OPERANDS 5
double nuc_litert_layer_products(const struct nuc_node *node);
double nuc_litert_products(enum nuc_op op, double rows, const double held[NUC_LITERT_OPERANDS]);

/* A copy of so many bytes that lie together. */
uint64_t nuc_copy_cycles(const struct nuc_kernel_costs *costs, uint64_t bytes);

#endif
