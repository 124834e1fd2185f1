/* Which arguments and outputs are quantized, and how. */
#ifndef NUC_QUANTIZE_QUANT_PATTERNS_H
#define NUC_QUANTIZE_QUANT_PATTERNS_H

#include "quantize/annotation.h"

enum nuc_spec {
    NUC_SPEC_NONE,
    NUC_SPEC_ACTIVATION,
    NUC_SPEC_SYMMETRIC,     /* operands of a batched matrix product: zero point 0 */
    NUC_SPEC_FACTOR,        /* operands of a product: the reference fixes them to [-0.5, 0.5), else an activation */
    NUC_SPEC_WEIGHT,        /* per tensor */
    NUC_SPEC_WEIGHT_AXIS_0, /* of a convolution: output channels along axis 0 */
    NUC_SPEC_WEIGHT_AXIS_1, /* of a transposed convolution: output channels of a group along axis 1 */
    NUC_SPEC_BIAS,
    NUC_SPEC_BIAS_CHANNELS,
    NUC_SPEC_PROBABILITY, /* values in [0, 1): scale 1/256 */
    NUC_SPEC_TANH,        /* values in [-1, 1): scale 1/128; of int8 kernels of the CPU an activation */
    NUC_SPEC_COUNT
};

enum nuc_pattern_form {
    NUC_FORM_NONE,
    NUC_FORM_OWN,     /* specs of the row */
    NUC_FORM_SHARED,  /* one tensor argument; the output shares its producer's parameters: none without those */
    NUC_FORM_MOVED,   /* SHARED where a value has one scale, otherwise NONE */
    NUC_FORM_BOUNDED, /* clamps: OWN when the bounds are those of a ReLU the NPU has, otherwise SHARED */
    NUC_FORM_MEAN,    /* OWN when each channel of an image has one average, otherwise SHARED */
    NUC_FORM_PAIR,    /* two tensor arguments and the output share parameters with the first annotated argument */
    NUC_FORM_LIST,    /* the same for all elements of a list; observed when none is annotated */
    NUC_FORM_MAP,     /* reference: SHARED; else OWN: the target lets input and output have their own parameters */
};

/* How an operator joins with the compute operator before it: no quantization in between. */
enum nuc_pattern_joins {
    NUC_JOINS_NEVER,
    NUC_JOINS_ALWAYS,
    NUC_JOINS_BOUNDS, /* only as ReLU or ReLU6, bounds written out */
    /*
     * In the reference only. Its Edge passes then give the value in front of the operator the parameters of the value
     * after it, which clips what goes into a sigmoid to [0, 1): half of the sigmoid's range is lost.
     */
    NUC_JOINS_REFERENCE,
};

/*
 * Place in the reference's concat cluster, activations after compute operators in front of a concatenation. They have
 * to be of one kind; hardtanh from 0 to infinity is RELU too, of two other hardtanh the bounds are not compared.
 */
enum nuc_cluster {
    NUC_CLUSTER_NONE,
    NUC_CLUSTER_COMPUTE,
    NUC_CLUSTER_RELU,
    NUC_CLUSTER_CLAMP,
    NUC_CLUSTER_SIGMOID,
    NUC_CLUSTER_TANH
};

#define NUC_MAX_ANCHORS 3

struct nuc_quant_pattern {
    enum nuc_pattern_form form;
    struct {
        enum nuc_spec spec; /* NUC_SPEC_NONE ends the list */
        uint32_t arg;
    } anchors[NUC_MAX_ANCHORS]; /* a bias, derived from the first two, is third */
    enum nuc_spec output;
    uint8_t joint_rank; /* outputs up to this rank are quantized together with the activation that follows; 0: none */
    enum nuc_pattern_joins joins;
    enum nuc_cluster cluster;
    bool asked;                         /* only the nodes that struct nuc_quantize_options.npu_function says yes to */
    bool extension, extension_in_place; /* the reference leaves the operator, or its in-place form, in float */
};

/*
 * Of the kernels of that side. A function of one value is a table of the CPU without a row. Patterns of WIDE are those
 * of the CPU that it has a kernel of int16 for: values about 0, weights of int8, and biases that stay in float here,
 * since sums have more digits than an int32.
 */
const struct nuc_quant_pattern *nuc_pattern_of(enum nuc_side side, enum nuc_op op);

/* Whether the reference leaves the node, whose pattern it is, in float. */
bool nuc_is_extension(const struct nuc_quant_pattern *pattern, const struct nuc_node *node);

/* The specs that follow from the options, bias specs lack the places they derive from. */
void nuc_specs(enum nuc_side side, const struct nuc_quantize_options *options, struct nuc_qspec specs[NUC_SPEC_COUNT]);

/* A clamp between the bounds of a ReLU variant of the NPU: -1 to 1, 0 to 1, 0 to 6, 0 to infinity. */
bool nuc_has_relu_bounds(const struct nuc_node *clamp);

/* The operator, whose pattern this is, may be quantized together with the compute operator before it. */
bool nuc_joins_compute(const struct nuc_node *node, const struct nuc_quant_pattern *pattern, bool reference_compat);

#endif
