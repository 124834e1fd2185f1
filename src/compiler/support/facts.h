/* What the rules ask about a node: quantization of its inputs and outputs, static data, arguments. */
#ifndef NUC_SUPPORT_FACTS_H
#define NUC_SUPPORT_FACTS_H

#include "compiler/support/support.h"

/* Parameters of a quantize or dequantize node. */
struct quant {
    bool per_channel;
    double scale;                  /* per tensor */
    int64_t zero_point;            /* per tensor */
    const struct nuc_node *scales; /* per channel */
    const struct nuc_node *zero_points;
    int64_t quant_min, quant_max;
    enum nuc_dtype dtype; /* of the quantized tensor */
};

/* True when argument `index` is a dequantize node. */
bool nuc_input_quant(const struct nuc_node *node, uint32_t index, struct quant *out);

/* Parameters of the dequantize node itself. */
bool nuc_dequantize_quant(const struct nuc_node *node, struct quant *out);
bool nuc_quantize_quant(const struct nuc_node *node, struct quant *out);

/*
 * True when the only reader of the node is a quantize node; or all readers are getitem nodes, exactly one of them
 * takes output `index`, and its only reader is a quantize node.
 */
bool nuc_output_quant(const struct nuc_node *node, uint32_t index, struct quant *out);

/* Scale and zero point are the same, bit for bit. */
bool nuc_same_parameters(const struct quant *a, const struct quant *b);

bool nuc_is_8bit(enum nuc_dtype dtype);

/* A parameter, buffer or constant, also through a dequantize node. */
bool nuc_is_effectively_static(const struct nuc_node *node);
/* Also through dequantize(quantize(permute(...))). */
bool nuc_is_static_weight(const struct nuc_node *node);

bool nuc_is_channels_first(const struct nuc_node *node);

/* Meta of tensor argument `index`; one of rank 0 when there is none. */
const struct nuc_meta *nuc_input_meta(const struct nuc_node *node, uint32_t index);

/* The tensors the node reads, each once; at most `max` are stored, the count of all is returned. */
uint32_t nuc_distinct_inputs(const struct nuc_node *node, const struct nuc_node **out, uint32_t max);

/* A two-dimensional argument: one element stands for both, none for `fallback`. */
struct pair {
    int64_t h, w;
};
struct pair nuc_arg_pair(const struct nuc_node *node, uint32_t index, struct pair fallback);

/* A Scalar argument as a number. */
double nuc_arg_number(const struct nuc_node *node, uint32_t index, double fallback);
bool nuc_arg_flag(const struct nuc_node *node, uint32_t index);

/* An integer argument; `fallback` when it is not given as one. */
int64_t nuc_arg_integer(const struct nuc_node *node, uint32_t index, int64_t fallback);
/* The smallest multiple of `factor` that is not below `size`; `size` itself where there is none. */
int64_t nuc_multiple_above(int64_t size, int64_t factor);
/* A dimension argument made positive: of a tensor like the first value of `of`. */
int64_t nuc_positive_dim(const struct nuc_node *of, int64_t dim);
/* Dimension of the channels: 1 of a CHANNELS_FIRST value, else the last. */
uint32_t nuc_channels_dim(const struct nuc_node *node);
/* Size of that dimension, 1 for rank 0. */
int64_t nuc_channels_of(const struct nuc_node *node);

/* Arguments of a convolution. */
struct conv {
    bool transposed, depthwise;
    int64_t groups, batch, channels;
    struct pair kernel, stride, padding, dilation, output_padding;
};
struct conv nuc_conv_of(const struct nuc_node *node);

/* Kernel, stride and padding of a pooling (input, kernel, stride, padding, ...). */
struct pool {
    struct pair kernel, stride, padding;
};
struct pool nuc_pool_of(const struct nuc_node *node);

/* Bounds of a hardtanh or clamp; those a clamp does not give are infinite. */
struct bounds {
    double min, max;
};
struct bounds nuc_bounds_of(const struct nuc_node *node);
bool nuc_numbers_equal(double a, double b);
/* Bounds with an operator of their own: ReluN1To1, Relu0To1, Relu6, and Relu with an infinite upper bound. */
bool nuc_is_relu_like(struct bounds b, bool allow_infinite);

/* Dimensions a reduction (self, dim, ...) sums over, as a bit mask. */
uint32_t nuc_reduced_dims(const struct nuc_node *node);

/* The node is the only one of its partition that is neither quantize nor dequantize. */
bool nuc_is_alone(const struct nuc_support *s, const struct nuc_node *node);
/* Both nodes are in one partition. */
bool nuc_is_in_same_partition(const struct nuc_support *s, const struct nuc_node *node, const struct nuc_node *other);

#endif
