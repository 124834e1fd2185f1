/* Convolutions and fully connected layers with constant weights, as the accuracy tools see them. */
#ifndef NUC_QUANTIZE_LAYERS_H
#define NUC_QUANTIZE_LAYERS_H

#include "ir/graph.h"

/*
 * weight[out][in of a group][taps]. Output channel o belongs to group o / (out / groups), which reads the input
 * channels from group * (in / groups) on.
 */
struct nuc_layer {
    struct nuc_node *node;
    struct nuc_node *input, *weight, *bias; /* bias may be NULL */
    uint32_t first;                         /* channel of `input` that the layer begins with */
    uint32_t out, in, groups, taps;
};

/* Layers that one node can be made of: two of each direction of a recurrent one. */
#define NUC_MOST_LAYERS 4

/* False when `node` is not such a layer, or something else reads its weight or bias. */
bool nuc_layer_of(struct nuc_node *node, struct nuc_layer *out);

/*
 * Also those that share weights with others, and what a recurrent layer consists of: of each direction the product with
 * the sequence and the one with the hidden state, whose input is what the layer gives, or begins with if it has one
 * step. Returns how many there are.
 */
uint32_t nuc_layers_of(struct nuc_node *node, struct nuc_layer out[NUC_MOST_LAYERS]);

/* The input channel that element i of weight row o is multiplied with. */
static inline uint32_t nuc_layer_input(const struct nuc_layer *l, uint32_t o, uint32_t i)
{
    return o / (l->out / l->groups) * (l->in / l->groups) + i;
}

/* A copy of a float32 constant in logical order, to be changed. */
float *nuc_layer_values(struct nuc_graph *g, const struct nuc_node *constant);

/* Gives a float32 constant other values, in logical order, which stay in use. */
void nuc_layer_set_values(struct nuc_graph *g, struct nuc_node *constant, const float *values);

/* Gives a layer without bias one of zeros. */
void nuc_layer_add_bias(struct nuc_graph *g, struct nuc_layer *l);

#endif
