/*
 * The converter: an int8 LiteRT model of one subgraph becomes a Neutron program of kernel calls
 * (device/base/microcode.h), the weights they read and a plan of the scratch buffer. Results are bit-identical to
 * LiteRT's reference kernels.
 *
 * On the way operators become parts of others where the result stays the same: pads go into convolutions and pools,
 * activations into the clamp of what precedes them, functions of one value into tables, reshapes into nothing.
 */
#ifndef NUC_NPU_CONVERT_CONVERT_H
#define NUC_NPU_CONVERT_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "algorithms/plan.h"
#include "device/base/npu_cost.h"
#include "device/base/span.h"
#include "host/context.h"
#include "litert/litert.h"
#include "npu/convert/kernel_names.h"

/* A kernel call, for reports. */
struct nuc_neutron_call {
    const char *opcode; /* "CONV_2D": of the microcode, which may differ from the LiteRT operator's name */
    uint32_t lt_op;     /* index of the LiteRT operator */
    uint32_t handle;    /* its debug handle */
    uint32_t offset;    /* of the record in the microcode, in bytes */
    uint32_t n_handles; /* of all operators that are part of the call, ascending; 0 left out */
    const uint32_t *handles;
    uint64_t cycles; /* from the end of the call before it, by the cost model */
};

/* Weights that are copied from flash, and what that takes of the program's time. */
struct nuc_neutron_fetches {
    uint64_t bytes;
    uint64_t cycles, dma_cycles; /* copied by the CPU, as the times of the calls have it; by a DMA beside the calls */
};

struct nuc_neutron_image {
    struct nuc_span microcode, weights, kernels;
    uint32_t scratch_size;  /* bytes */
    uint32_t scratch_bound; /* bytes no plan can go below: the most that is live at once */
    bool scratch_proven;    /* no smaller plan exists for this order of calls */
    uint32_t staging_size;  /* bytes of the staging buffer for weights, 0: they are read where they are */
    struct nuc_neutron_fetches fetches;
    uint32_t profile_size; /* bytes of the profile buffer, 0 without profiling */
    uint32_t n_inputs, n_outputs;
    uint32_t n_calls;
    const struct nuc_neutron_call *calls; /* in execution order */
    /* With pool_boundaries: where in the scratch buffer each input and output may lie, UINT32_MAX: nowhere; else NULL.
     */
    const uint32_t *input_places, *output_places;
    uint32_t n_buffers;
    const struct nuc_planned *buffers; /* tensors of the LiteRT model in the scratch; steps are calls */
};

struct nuc_convert_options {
    const struct nuc_kernel_name *names; /* by debug handle, for the names of calls; profiling only */
    uint32_t n_names;
    bool tensors_have_labels;          /* calls of no node, which copy, are named after what they make */
    const struct nuc_npu_costs *costs; /* of the NPU it is for; NULL: N3-64 */
    bool fetch_constants;   /* weights lie where the NPU cannot read: they are copied to a staging buffer meanwhile */
    bool profile;           /* the program records the time of every kernel call */
    bool payload_version_0; /* the header's words are those of payload version 0, which has no profile */
    bool revision_3;        /* only what revision 3 of the microcode has: no tables at the end of calls */
    bool pool_boundaries;   /* the scratch has places for inputs and outputs, where the caller may put them */
};

/*
 * Fails with NUC_UNSUPPORTED naming the operator and what about it has no kernel: all operators of a partition must
 * become one program. `options` may be NULL. The result lives in the context's arena and does not refer to `m`.
 */
struct nuc_neutron_image *nuc_convert_litert(struct nuc_context *cx, const struct nuc_lt_model *m,
                                             const struct nuc_convert_options *options);

#endif
