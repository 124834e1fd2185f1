/*
 * Where the values of a network may be scaled channel by channel: what a layer writes to a channel is divided by a
 * factor, what reads the channel is multiplied by it, and operators in between that give the scaled result for scaled
 * operands (ReLU, pools, additions of values scaled alike, moves, ...) let it through. The network computes what it
 * did, but its values have other ranges.
 */
#ifndef NUC_QUANTIZE_SEARCH_CHANNEL_FACTORS_H
#define NUC_QUANTIZE_SEARCH_CHANNEL_FACTORS_H

#include "quantize/search/channel_labels.h"

/*
 * A product with a constant weight that reads channels and writes others. Weight element of output o of a group, input
 * i of a group, tap t: group * of_group + o * of_out + i * of_in + t.
 */
struct nuc_channel_layer {
    struct nuc_node *node, *input, *weight;
    uint32_t out, in, groups, taps; /* outputs and inputs of all groups */
    size_t of_group, of_out, of_in;
    nuc_label *written; /* by output */
    nuc_label *read;    /* by input */
};

static inline size_t nuc_channel_tap(const struct nuc_channel_layer *l, uint32_t o, uint32_t i)
{
    uint32_t outs = l->out / l->groups;

    return o / outs * l->of_group + o % outs * l->of_out + i * l->of_in;
}

/* The input channel that input i of output o's group is. */
static inline uint32_t nuc_channel_input(const struct nuc_channel_layer *l, uint32_t o, uint32_t i)
{
    return o / (l->out / l->groups) * (l->in / l->groups) + i;
}

/* A constant whose elements are divided by the factors of their labels: a bias, gamma and beta of a norm, an addend. */
struct nuc_channel_constant {
    struct nuc_node *node;
    struct nuc_channel_labels *written;
};

/* What clips values at `bound` above, and at 0 below. */
struct nuc_channel_clip {
    struct nuc_node *node;
    double bound;
};

struct nuc_channel_factors {
    struct nuc_graph *g;
    struct nuc_label_sets *sets;
    struct nuc_channel_labels ***labels; /* by node id and value; NULL: not float32 values */
    uint32_t n_layers, n_constants, n_clips, n_quotients;
    size_t layers_capacity, constants_capacity, clips_capacity, quotients_capacity;
    struct nuc_channel_layer *layers;
    struct nuc_channel_constant *constants;
    struct nuc_channel_clip *clips;
    const struct nuc_node **quotients; /* both operands have the same factors */
};

/* Of an ATen graph that went through the ATen passes. */
struct nuc_channel_factors *nuc_channel_factors_find(struct nuc_graph *g);

#endif
