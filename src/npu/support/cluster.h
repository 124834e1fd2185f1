/*
 * QDQ clusters: one operator together with the dequantize nodes that feed it, the quantize nodes that read it, and the
 * auxiliary nodes (views, permutations, activations, getitem) in between.
 */
#ifndef NUC_NPU_SUPPORT_CLUSTER_H
#define NUC_NPU_SUPPORT_CLUSTER_H

#include "ir/graph.h"

/* Operators that may sit between an operator and its quantize and dequantize nodes. */
extern const enum nuc_op *const nuc_auxiliary_ops;
bool nuc_is_auxiliary(enum nuc_op op);

/* Those of them that compute: relu, hardtanh, sigmoid, tanh. */
bool nuc_is_activation(enum nuc_op op);

/* Quantize, dequantize and auxiliary nodes: they go where the compute node of their cluster goes. */
static inline bool nuc_follows_cluster(const struct nuc_node *node)
{
    return nuc_is_quantization(node) || nuc_is_auxiliary(node->op);
}

/* For every node, by id: whether all paths against and along the edges end properly. */
struct nuc_cluster_ends {
    bool *inputs;  /* every input is a dequantize node, or an auxiliary node of which that holds */
    bool *outputs; /* every reader is a quantize node, or an auxiliary node of which that holds */
};

/* One pass over the graph each way; the arrays live in the current arena, those of nuc_tag_clusters(), too. */
struct nuc_cluster_ends nuc_cluster_ends(struct nuc_graph *g);

/* The first input, or reader, of which that does not hold; NULL: none. */
const struct nuc_node *nuc_open_input(const struct nuc_cluster_ends *ends, const struct nuc_node *node);
const struct nuc_node *nuc_open_output(const struct nuc_cluster_ends *ends, const struct nuc_node *node);

/* The node is the compute node of a cluster. */
static inline bool nuc_has_cluster(const struct nuc_cluster_ends *ends, const struct nuc_node *node)
{
    return ends->inputs[node->id] && ends->outputs[node->id];
}

/*
 * Sets node->cluster of every node to the compute node of its cluster, or NULL. A node in several clusters belongs to
 * the one whose compute node comes last in the graph. Returns what it asked the graph.
 */
struct nuc_cluster_ends nuc_tag_clusters(struct nuc_graph *g);

#endif
