/*
 * What a placement costs: items that go to one side together, values between them, and calls. Cycles are those of
 * support/estimate.h; docs/cycle-model.md says what is added at a boundary.
 */
#ifndef NUC_NPU_PARTITION_PLACE_MODEL_H
#define NUC_NPU_PARTITION_PLACE_MODEL_H

#include "ir/graph.h"
#include "npu/partition/propose.h"
#include "npu/target/target.h"

#define NUC_NO_ITEM UINT32_MAX

/* An operator the NPU can run, with its quantize, dequantize and auxiliary nodes and the activations it absorbs. */
struct nuc_place_item {
    const struct nuc_node *node; /* its first compute node */
    int64_t npu, cpu;            /* cycles on either side */
    uint32_t first_value, n_values;
};

/* A value that items read or make; what is made and read outside of all items costs the same in every placement. */
struct nuc_place_value {
    const struct nuc_node *node;
    uint32_t maker; /* NUC_NO_ITEM: on the CPU in any case */
    uint32_t first_reader, n_readers;
    bool read_outside; /* by what is on the CPU in any case */
    int64_t out, into; /* it leaves a partition; it enters one */
};

struct nuc_place_model {
    struct nuc_graph *g;
    int64_t call;
    uint32_t n_items;
    struct nuc_place_item *items;
    uint32_t n_values;
    struct nuc_place_value *values;
    uint32_t *readers;     /* of all values, items in ascending order */
    uint32_t *item_values; /* of all items: values they make or read */
    uint32_t *item_of;     /* by node id, NUC_NO_ITEM */
};

/*
 * Of the compute nodes that are not refused. `has_int8_kernel` says of an operator whether the CPU computes it in int8;
 * NULL: it computes in float. Lives in the current arena.
 */
struct nuc_place_model *nuc_place_model_new(struct nuc_graph *g, const struct nuc_target *target, const bool *refused,
                                            bool (*has_int8_kernel)(enum nuc_op op));

/* Cycles of the partitions of a proposal, nodes in none being on the CPU. */
int64_t nuc_place_cost(const struct nuc_place_model *m, const struct nuc_proposal *proposal);

/* The model without calls, but `share` for every value that crosses a boundary: its cheapest placement. */
void nuc_place_cut(const struct nuc_place_model *m, int64_t share, bool *on_cpu);

#endif
