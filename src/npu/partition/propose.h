/* The largest groups of supported nodes that can each run as one call. */
#ifndef NUC_NPU_PARTITION_PROPOSE_H
#define NUC_NPU_PARTITION_PROPOSE_H

#include "ir/graph.h"

struct nuc_proposal {
    uint32_t count;
    uint32_t *tags; /* the number in each group's tag, ascending */
    int32_t *of;    /* by node id: index of the node's group, -1: none */
};

/*
 * Groups are found as torch.fx's CapabilityBasedPartitioner finds them: nodes are visited from the last to the first,
 * each supported one opens a group, and groups are merged, oldest first and connected or not, when no path leads from
 * the merged group out and back in. `supported` is indexed by node id. The result lives in the current arena.
 */
struct nuc_proposal *nuc_propose_partitions(struct nuc_graph *g, const bool *supported);

#endif
