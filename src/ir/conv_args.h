/* Where the operators of the family of convolutions have their arguments; all have input, weight and bias first. */
#ifndef NUC_IR_CONV_ARGS_H
#define NUC_IR_CONV_ARGS_H

#include "ir/args.h"
#include "ir/graph.h"

#define NUC_CONV_INPUT NUC_ARG(CONVOLUTION, input)
#define NUC_CONV_WEIGHT NUC_ARG(CONVOLUTION, weight)
#define NUC_CONV_BIAS NUC_ARG(CONVOLUTION, bias)

struct nuc_conv_args {
    enum nuc_op op;
    uint32_t spatial;   /* dimensions after batch and channels; 0: as many as the weight has */
    bool transposed;    /* weight [I, O / groups, ...] instead of [O, I / groups, ...] */
    bool named_padding; /* "same" or "valid" instead of numbers */
    uint32_t stride, padding, dilation, output_padding, groups;
    uint32_t is_transposed; /* a bool that decides in the place of `transposed` */
};

/* NULL when the operator is not a convolution. */
const struct nuc_conv_args *nuc_conv_args(enum nuc_op op);

/* One number per spatial dimension: a list of as many, one for all, or `fallback` where there is none. */
void nuc_conv_numbers(const struct nuc_node *node, uint32_t index, uint32_t spatial, int64_t fallback, int64_t *out);

/*
 * Padding in front of each spatial dimension of a convolution of ATen, by number or by name, and how much longer it is
 * behind it: by one where "same" asks for an odd number.
 */
void nuc_conv_padding(const struct nuc_node *conv, uint32_t spatial, int64_t *before, int64_t *more);

/*
 * Padding of an image before and after height and width: top, left, bottom, right, or one number for both ends of a
 * dimension. False when the list has another length.
 */
bool nuc_conv_paddings(const struct nuc_node *node, uint32_t index, int64_t before[2], int64_t after[2]);

/*
 * Of a depthwise convolution in int8 of a Cortex-M: bytes of scratch with which the kernels may write its result over
 * its input (nuc_depthwise_overlay_bytes() of device/kernels/ref_s8/quantized.h), 0: they may not.
 */
int64_t nuc_depthwise_overlay(const struct nuc_node *conv);

#endif
