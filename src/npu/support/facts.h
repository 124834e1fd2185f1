/* What the rules ask about a node: quantization of its inputs and outputs, static data, arguments. */
#ifndef NUC_NPU_SUPPORT_FACTS_H
#define NUC_NPU_SUPPORT_FACTS_H

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/quant.h"
#include "npu/support/support.h"

/* True when argument `index` is a dequantize node. */
bool nuc_input_quant(const struct nuc_node *node, uint32_t index, struct nuc_quant *out);

/*
 * True when the only reader of the node is a quantize node; or all readers are getitem nodes, exactly one of them
 * takes output `index`, and its only reader is a quantize node.
 */
bool nuc_output_quant(const struct nuc_node *node, uint32_t index, struct nuc_quant *out);

bool nuc_is_8bit(enum nuc_dtype dtype);

/* What a dequantize node reads, and a quantize node; NULL for other nodes and for NULL. */
const struct nuc_node *nuc_dequantize_source(const struct nuc_node *node);
const struct nuc_node *nuc_quantize_source(const struct nuc_node *node);

/* A parameter, buffer or constant, also through a dequantize node. */
bool nuc_is_effectively_static(const struct nuc_node *node);
/* Also through dequantize(quantize(permute(...))). */
bool nuc_is_static_weight(const struct nuc_node *node);

bool nuc_is_channels_first(const struct nuc_node *node);

/* The tensors the node reads, each once; at most `max` are stored, the count of all is returned. */
uint32_t nuc_distinct_inputs(const struct nuc_node *node, const struct nuc_node **out, uint32_t max);

/* The smallest multiple of `factor` that is not below `size`; `size` itself where there is none. */
int64_t nuc_multiple_above(int64_t size, int64_t factor);
/* Dimension of the channels: 1 of a CHANNELS_FIRST value, else the last. */
uint32_t nuc_channels_dim(const struct nuc_node *node);
/* Size of that dimension, 1 for rank 0. */
int64_t nuc_channels_of(const struct nuc_node *node);

/* Arguments of a convolution. */
struct conv {
    bool transposed, depthwise;
    int64_t groups, batch, channels;
    struct nuc_pair kernel, stride, padding, dilation, output_padding;
};
struct conv nuc_conv_of(const struct nuc_node *node);

/* Kernel, stride and padding of a pooling (input, kernel, stride, padding, ...). */
struct nuc_pool {
    struct nuc_pair kernel, stride, padding;
};
struct nuc_pool nuc_pool_of(const struct nuc_node *node);

/* Bounds with an operator of their own: ReluN1To1, Relu0To1, Relu6, and Relu with an infinite upper bound. */
bool nuc_is_relu_like(struct nuc_bounds b, bool allow_infinite);

/* The node is the only one of its partition that is neither quantize nor dequantize. */
bool nuc_is_alone(const struct nuc_support *s, const struct nuc_node *node);
/* Both nodes are in one partition. */
bool nuc_is_in_same_partition(const struct nuc_support *s, const struct nuc_node *node, const struct nuc_node *other);

#endif
