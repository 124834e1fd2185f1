/*
 * What each node needs of its inputs and output: quantization specs, and which node has which. A place is either a
 * node's output or an edge, a node as one of its users reads it.
 */
#ifndef NUC_QUANTIZE_ANNOTATION_H
#define NUC_QUANTIZE_ANNOTATION_H

#include "quantize/quantize.h"

enum nuc_qspec_kind {
    NUC_QSPEC_NONE,
    NUC_QSPEC_OBSERVED, /* parameters from an observer of this place */
    NUC_QSPEC_FIXED,    /* parameters given */
    NUC_QSPEC_DERIVED,  /* scale is the product of the scales at two other places */
    NUC_QSPEC_SHARED,   /* the parameters of another place */
};

struct nuc_place {
    struct nuc_node *node;
    struct nuc_node *user; /* NULL: the node's output */
};

struct nuc_qspec {
    enum nuc_qspec_kind kind;
    enum nuc_observer_kind observer;
    enum nuc_dtype dtype;
    int64_t quant_min, quant_max;
    enum nuc_qscheme scheme;
    int ch_axis; /* -1: none */
    bool mask;   /* values as far below 0 as NUC_FAR hide what they are added to */
    bool whole;  /* weights of one sign keep their largest, as of means: all of the steps between it and 0 are theirs */
    float eps;   /* smallest scale an observer gives; where `least` is less, that of zeros alone */
    float least; /* smallest scale of values that are not all zero */
    float scale; /* FIXED */
    int64_t zero_point;
    struct nuc_place from[2]; /* DERIVED: activation, weight; SHARED: [0] */
    uint32_t repeats;         /* DERIVED: how often the scales of the weight are gone through */
};

struct nuc_qinput {
    struct nuc_node *arg;
    struct nuc_qspec spec;
    bool apart; /* requantized: it shares with no other place of the value */
};

struct nuc_annotation {
    struct nuc_qspec output; /* NUC_QSPEC_NONE: not quantized */
    uint32_t n_inputs;
    size_t inputs_capacity;
    struct nuc_qinput *inputs; /* each argument once, in the order of annotation */
};

/* The annotations of a graph, indexed by node id; NULL for a node without. */
struct nuc_annotation **nuc_annotate(struct nuc_graph *g, const struct nuc_quantize_options *options);

/* Annotated with at least one spec. */
bool nuc_is_annotated(const struct nuc_annotation *a);

#endif
