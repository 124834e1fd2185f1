/* The search for the placement that costs least. */
#ifndef NUC_NPU_PARTITION_PLACE_H
#define NUC_NPU_PARTITION_PLACE_H

#include "npu/partition/place_model.h"
#include "npu/support/support.h"

/* Makes partitions of what is not on the CPU; `on_cpu` is indexed by item. */
struct nuc_place_proposer {
    const struct nuc_proposal *(*propose)(void *user, const bool *on_cpu);
    void *user;
};

/*
 * Sets on_cpu[item], which is false for all at first: `greedy`. Starts are `greedy` and minimum cuts that charge a
 * part of a call for each value at a boundary; from each, connected groups of items change sides as long as that gains.
 * Each step is judged by the partitions that are proposed for it. The result never costs more cycles than `greedy`. The
 * number of proposals is bounded by the size of the graph, so that time stays near linear. Returns whether anything is
 * on the CPU.
 */
bool nuc_place_search(const struct nuc_place_model *m, const struct nuc_place_proposer *proposer,
                      const struct nuc_proposal *greedy, bool *on_cpu);

/* By item, for those on the CPU: why, in figures of the items that are there together with it. In the graph's arena. */
const struct nuc_verdict *nuc_place_reasons(const struct nuc_place_model *m, const struct nuc_proposal *proposal,
                                            const bool *on_cpu);

#endif
