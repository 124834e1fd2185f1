/*
 * Layers with constant weights as matrix products, whatever the operator: for every place of the output, a vector of
 * `depth` input values per group times the weights [out][depth].
 */
#ifndef NUC_QUANTIZE_SEARCH_ROUND_LAYER_H
#define NUC_QUANTIZE_SEARCH_ROUND_LAYER_H

#include "ir/graph.h"

#define NUC_LAYER_DIMS 3

struct nuc_product_layer {
    struct nuc_node *node;
    struct nuc_node *input, *weight, *bias;   /* bias may be NULL */
    uint32_t input_arg, weight_arg, bias_arg; /* where the node has them */
    uint32_t out, in, groups, taps;
    uint32_t depth;  /* values that one output sums up: in / groups * taps, channel by channel */
    uint32_t places; /* results of one output in a run: pixels of all images, rows */
    enum { NUC_WEIGHT_ROWS, NUC_WEIGHT_COLUMNS, NUC_WEIGHT_TRANSPOSED } form; /* [O, D], [D, O], [I, O / groups, ...] */

    /* Convolutions; `spatial` is 0 for matrix products. */
    uint32_t spatial;
    int64_t in_size[NUC_LAYER_DIMS], out_size[NUC_LAYER_DIMS], kernel[NUC_LAYER_DIMS];
    int64_t stride[NUC_LAYER_DIMS], padding[NUC_LAYER_DIMS], dilation[NUC_LAYER_DIMS];
};

/*
 * False when `node` is not such a layer: a convolution of any kind, linear, addmm or mm in float32 whose weight and
 * bias are constants that nothing else reads.
 */
bool nuc_product_layer_of(struct nuc_node *node, struct nuc_product_layer *out);

/* Position, in the weight constant, of weight `i` of output `o`. */
size_t nuc_weight_at(const struct nuc_product_layer *l, uint32_t o, uint32_t i);

/*
 * Input values of `count` places for values [first, first + n) of the depth of a group: rows[k * stride + j] is value
 * first + k at places[j], zero where that is padding. `input` is in logical order.
 */
void nuc_gather_inputs(const struct nuc_product_layer *l, const float *input, const uint32_t *places, size_t count,
                       uint32_t group, uint32_t first, uint32_t n, float *rows, size_t stride);

/* Results of output `o` at those places. `output` is the value of the node in logical order. */
void nuc_gather_outputs(const struct nuc_product_layer *l, const float *output, const uint32_t *places, size_t count,
                        uint32_t o, float *row);

#endif
