/*
 * NeutronGraph containers: LiteRT models in which CUSTOM operators named "NeutronGraph" stand for what runs on the NPU,
 * as the vendor's converter writes them and as nuc_container_build() does.
 *
 *     inputs            data..., NeutronMicrocode, NeutronWeights, NeutronKernels (constants, u8)
 *     outputs, form 0   data..., NeutronScratch (u8)
 *     outputs, form 1   data..., NeutronProfile, NeutronDebug, NeutronScratch (u8)
 *     custom options    FlexBuffer map {"subgraph": name}
 *
 * The form is the version of a payload, too: it says where the microcode's header has its numbers. Ours is 1.
 */
#ifndef NUC_NPU_CONTAINER_CONTAINER_H
#define NUC_NPU_CONTAINER_CONTAINER_H

#include "litert/litert.h"
#include "npu/convert/convert.h"

struct nuc_target;

/* ---- reading ---- */

/* Words of the header that both forms share, and those the form says the place of. */
struct nuc_container_header {
    uint32_t version; /* of the microcode, opaque: firmware takes its own only */
    uint32_t microcode, weights, kernels, scratch, profile, debug, prefetch, n_inputs, n_outputs;
};

struct nuc_neutron_graph {
    uint32_t op; /* index of the operator */
    uint8_t form;
    const char *name;             /* from the custom options; "" when they hold none */
    uint32_t n_inputs, n_outputs; /* data only */
    const int32_t *inputs, *outputs;
    struct nuc_span microcode, weights, kernels;
    struct nuc_container_header header;
    bool is_ours; /* made by this converter: the simulator runs it */
};

bool nuc_is_neutron_graph(const struct nuc_lt_op *op);

/*
 * Takes an untrusted NeutronGraph operator of the first subgraph apart; spans point into the model. Fails with
 * NUC_BAD_INPUT naming the model and what does not fit.
 */
struct nuc_neutron_graph nuc_neutron_graph_read(struct nuc_context *cx, const struct nuc_lt_model *m, uint32_t op);

/*
 * The one NeutronGraph a converted partition consists of. Any other operator, none or several of them, or more than one
 * subgraph fails with NUC_BAD_INPUT, in the words in which the reference backend says so.
 */
struct nuc_neutron_graph nuc_neutron_graph_single(struct nuc_context *cx, const struct nuc_lt_model *m);

/* Where each data input and output of the node stands among those of the model: at most 255. */
void nuc_neutron_graph_map(struct nuc_context *cx, const struct nuc_lt_model *m, const struct nuc_neutron_graph *n,
                           uint8_t *inputs, uint8_t *outputs);

/*
 * Debug handles are not part of a LiteRT file. For a graph of ours made of the whole of `m` this gives its kernel calls
 * the handles of the operators of `m`; others are returned as they are.
 */
struct nuc_span nuc_neutron_graph_restore_handles(struct nuc_context *cx, const struct nuc_neutron_graph *n,
                                                  const struct nuc_lt_model *m);

/* ---- building ---- */

struct nuc_container_options {
    const struct nuc_target *target; /* NULL: the default */
    uint32_t min_ops;                /* graphs of fewer operators stay as they are; 0: 1 */
    struct nuc_convert_options convert;
};

/* An operator outside the graphs, and why. */
struct nuc_container_outside {
    uint32_t op; /* of the model before */
    const char *reason;
};

struct nuc_container_report {
    uint32_t n_graphs, n_ops, n_inside;
    const struct nuc_container_outside *outside; /* n_ops - n_inside */
};

/*
 * The model with every group of operators the NPU takes as a NeutronGraph. The others stay as they are, in between.
 * Groups are as large as the order of the others allows: what depends on an operator outside begins another one.
 * Reshapes alone make no graph. Fails with NUC_UNSUPPORTED for several subgraphs, and for operators outside whose
 * options cannot be written again. `options` and `report` may be NULL.
 */
struct nuc_lt_model *nuc_container_build(struct nuc_context *cx, const struct nuc_lt_model *m,
                                         const struct nuc_container_options *options,
                                         struct nuc_container_report *report);

/* What a NeutronGraph operator consists of besides its data. */
struct nuc_neutron_parts {
    uint8_t form;
    struct nuc_span microcode, weights, kernels;
    uint32_t scratch, profile, debug; /* bytes; of form 0 there is scratch alone */
};

/*
 * Appends a NeutronGraph with the inputs and outputs of `s` as data, whose tensors `out` has under the same numbers.
 * Names and bytes are borrowed.
 */
void nuc_container_add_graph(struct nuc_lt_model *out, const char *name, const struct nuc_neutron_parts *parts,
                             const struct nuc_lt_subgraph *s);

/* A model of one NeutronGraph around a program: what nuc_container_build() makes of a model that became `image`. */
struct nuc_lt_model *nuc_container_wrap(struct nuc_context *cx, const struct nuc_lt_model *m,
                                        const struct nuc_neutron_image *image, const struct nuc_target *target);

#endif
