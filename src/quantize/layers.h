/* Convolutions and fully connected layers with constant weights, as the accuracy tools see them. */
#ifndef NUC_QUANTIZE_LAYERS_H
#define NUC_QUANTIZE_LAYERS_H

#include "ir/graph.h"

/*
 * weight[out][in of a group][taps]. Output channel o belongs to group o / (out / groups), which reads the input
 * channels from group * (in / groups) on. `weight` and `bias` have no other readers.
 */
struct nuc_layer {
    struct nuc_node *node;
    struct nuc_node *input, *weight, *bias; /* bias may be NULL */
    uint32_t out, in, groups, taps;
};

/* False when `node` is not such a layer. */
bool nuc_layer_of(struct nuc_node *node, struct nuc_layer *out);

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
