/*
 * Lowering: one partition of an Edge graph becomes a LiteRT model with the same arithmetic. Quantize and dequantize
 * nodes become the quantization of tensors; CHANNELS_FIRST values become [N, ..., C] tensors, with transposes where
 * formats meet; padding of convolutions and poolings becomes an operator of its own.
 */
#ifndef NUC_NPU_LOWER_LOWER_H
#define NUC_NPU_LOWER_LOWER_H

#include "ir/graph.h"
#include "litert/litert.h"
#include "npu/partition/partition.h"

struct nuc_target;
struct nuc_flavor;
struct nuc_labels;

struct nuc_lower_options {
    const struct nuc_target *target; /* NULL: "imxrt700" */
    const struct nuc_flavor *flavor; /* NULL: "sdk-3.2" */
    /*
     * true: contiguous values of a channels-last tensor are transposed by the model at its boundary. false: the
     * boundary is channels-last and the runtime transposes.
     */
    bool use_neutron_for_format_conversion;
    bool arrange;                    /* beyond the reference: transposes where they move the fewest bytes (arrange.h) */
    const struct nuc_labels *labels; /* of the graph: tensors are named after them; NULL: after nodes */
    bool unnamed;                    /* no one reads their names, which several may have */
    bool reference_compat; /* boundaries as the reference makes them, also where its runtime gets them wrong */
};

/* One input or output of the delegate. */
struct nuc_lower_boundary {
    const struct nuc_node *node; /* the value outside */
    const char *name;            /* of the node and of the LiteRT tensor */
    int32_t tensor;              /* index in the model */
    bool channels_last;          /* the runtime passes [N, ..., C] bytes */
};

/* As many as the partition has, in its order, but for outputs that no operator of the model produces. */
struct nuc_lower_io {
    uint32_t n_inputs, n_outputs;
    struct nuc_lower_boundary *inputs, *outputs;
};

/*
 * The verified model, with the operators in execution order; op->debug_handle is 1 + id of the node an operator was
 * made for. Formats and clusters of the graph are set (nuc_infer_formats, nuc_partition_graph). Fails with
 * NUC_INTERNAL when the partition holds a node the support rules refuse. `options` may be NULL: the NPU converts
 * formats.
 */
struct nuc_lt_model *nuc_lower_partition(struct nuc_graph *g, const struct nuc_partition *p,
                                         const struct nuc_lower_options *options, struct nuc_lower_io *io);

/*
 * By node id, which operators of the partition make nuc_lower_partition() transpose data that the NPU has no kernel
 * for, after what arrangement there is; NULL: none do. `options` has target and flavor.
 */
const bool *nuc_lower_transposing(struct nuc_graph *g, const struct nuc_partition *p,
                                  const struct nuc_lower_options *options);

/* Operators for which there is a lowering; quantize, dequantize and getitem included. */
bool nuc_can_lower(enum nuc_op op);

#endif
