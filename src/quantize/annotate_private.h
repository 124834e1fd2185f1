/* The annotations of a graph while they are made. */
#ifndef NUC_QUANTIZE_ANNOTATE_PRIVATE_H
#define NUC_QUANTIZE_ANNOTATE_PRIVATE_H

#include "quantize/quant_patterns.h"

struct nuc_annotator {
    struct nuc_graph *g;
    struct nuc_annotation **by_id;
    bool reference_compat, one_scale; /* as in struct nuc_quantize_options */
    bool no_kernels;                  /* everything is computed in float: sums have any parameters */
    bool averages_apart;           /* of NUC_FORM_MEAN: the kernel of the CPU that has parameters of its own is there */
    const struct nuc_apart *apart; /* as in struct nuc_quantize_options */
    int64_t max_matrix_inputs;     /* as in struct nuc_quantize_options */
    struct nuc_qspec specs[NUC_SIDE_COUNT][NUC_SPEC_COUNT];
    enum nuc_side plain_side; /* of nodes of int8, but for those that end on the CPU beside an NPU */
    enum nuc_side *side;      /* by node id */
    bool *npu_function;       /* by node id: what struct nuc_quantize_options says */
    bool *is_read_quantized;  /* by node id: all that reads the value, behind moves, has own parameters for it */
    bool *is_read_shared;     /* by node id: something that reads it, behind moves, shares its parameters */
    bool *stays_float; /* by node id: states that callers keep from call to call, float chains, values too wide for int8
                        */

    /* reference_compat only: lists of the nodes not annotated yet, an operator each, in graph order. */
    bool applied[NUC_FORM_COUNT]; /* the pattern's only run over the graph is done */
    struct nuc_node *waiting[NUC_FORM_COUNT];
    struct nuc_node **next_waiting; /* by node id */
};

/* Pattern and specs of the side the node is on. */
const struct nuc_quant_pattern *nuc_pattern_for(const struct nuc_annotator *a, const struct nuc_node *node);
const struct nuc_qspec *nuc_spec_for(const struct nuc_annotator *a, const struct nuc_node *node, enum nuc_spec spec);

/* On the side of int16. */
bool nuc_is_wide(const struct nuc_annotator *a, const struct nuc_node *node);

/* Argument `i` that the pattern quantizes, NULL when there is none, and how that is done. */
struct nuc_node *nuc_anchor_arg(const struct nuc_quant_pattern *p, const struct nuc_node *node, uint32_t i);
struct nuc_qspec nuc_anchor_spec(const struct nuc_annotator *a, enum nuc_side side, struct nuc_node *node, uint32_t i);

/* The spec at the end of a chain of sharing outputs; NULL when `node` has no output spec. */
const struct nuc_qspec *nuc_output_spec(const struct nuc_annotator *a, const struct nuc_node *node);

/* The type of what `node` gives, at the end of a chain of sharing places; NUC_F32: it is not quantized. */
enum nuc_dtype nuc_output_dtype(const struct nuc_annotator *a, const struct nuc_node *node);

/* The weight of a convolution that is no constant: an activation, which kernels of the CPU take as a weight. */
bool nuc_computes_weight(const struct nuc_node *node);

/* One float32 tensor: anything else is left alone. */
bool nuc_is_quantizable(const struct nuc_node *node);

/* An argument that occurs twice keeps its place and takes the later spec. Other than float32: no effect. */
void nuc_annotate_input(struct nuc_annotator *a, struct nuc_node *node, struct nuc_node *arg,
                        const struct nuc_qspec *spec);
void nuc_annotate_output(struct nuc_annotator *a, struct nuc_node *node, const struct nuc_qspec *spec);

/* Annotates one node by its own specs or its producer's, unless it is annotated already or cannot be. */
void nuc_annotate_alone(struct nuc_annotator *a, struct nuc_node *node);

/* A sum with a mask, whose result has the parameters of the scores; false for another node. */
bool nuc_annotate_masked(struct nuc_annotator *a, struct nuc_node *node);

/* nuc_annotate_alone(), together with the activation that follows a compute operator. */
void nuc_annotate_node(struct nuc_annotator *a, struct nuc_node *node);

/*
 * Annotates `node`; in reference_compat all waiting nodes of its operator, as the reference runs a pattern over the
 * whole graph. The difference shows where a node depends on its producer's annotation and the pattern runs only once.
 */
void nuc_annotate_like(struct nuc_annotator *a, struct nuc_node *node,
                       void (*annotate)(struct nuc_annotator *, struct nuc_node *));

/*
 * The tensors of the group: the elements of the list, or both arguments. What is written at indices is requantized: a
 * value that goes round, as a cache does, keeps its own parameters; where it is added, the node computes in float.
 */
uint32_t nuc_group_members(const struct nuc_annotator *a, const struct nuc_node *node, struct nuc_node ***out);

/* The node's result and these of its tensors have the parameters at `source`. */
void nuc_group_share(struct nuc_annotator *a, struct nuc_node *node, struct nuc_node *const *inputs, uint32_t count,
                     struct nuc_place source);

/* Operators all of whose tensors have the same parameters: NUC_FORM_PAIR and NUC_FORM_LIST. */
void nuc_annotate_group(struct nuc_annotator *a, struct nuc_node *node);

/*
 * Leaves in float what brings an input of the model to one scale, by constants of its columns or by its own mean and
 * deviation, and what brings results back to its units.
 */
void nuc_leave_standardizing_in_float(struct nuc_annotator *a);

/* Marks the inputs that are states of recurrent layers and come out of these again as outputs. */
void nuc_find_kept_states(struct nuc_annotator *a);

/* Marks the sequences of recurrent layers that are float32 at both ends. */
void nuc_find_kept_sequences(struct nuc_annotator *a, bool quantized_io);

/* A recurrent layer whose int8 kernel the CPU has: the sequence, initial states, weights, and what it gives. */
void nuc_annotate_recurrent(struct nuc_annotator *a, struct nuc_node *node);

/* What has no annotation yet, as the reference's quantizer for Cortex-M does it. */
void nuc_annotate_as_cortexm(struct nuc_annotator *a);

#endif
