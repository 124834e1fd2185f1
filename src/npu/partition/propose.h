/* The largest groups of supported nodes that can each run as one call. */
#ifndef NUC_NPU_PARTITION_PROPOSE_H
#define NUC_NPU_PARTITION_PROPOSE_H

#include "ir/graph.h"

struct nuc_proposal {
    uint32_t count;
    uint32_t *tags; /* the number in each group's tag, ascending */
    int32_t *of;    /* by node id: index of the node's group, -1: none */
};

/* What proposals ask of a graph, one after the other, without its nodes: these do not fit into a cache. */
struct nuc_flow {
    uint32_t n;            /* nodes */
    const uint32_t *order; /* their ids in the order of the graph */
    const struct nuc_flow_node {
        uint32_t first, n_readers; /* in `readers` */
    } * nodes;                     /* by id */
    const uint32_t *readers;       /* ids */
    const bool *only_items;        /* by id: what reads the node are getitem nodes */
    uint32_t end;                  /* all ids lie below */
};

/* In the current arena; of a graph that does not change as long as it is used. */
struct nuc_flow nuc_flow_of(const struct nuc_graph *g);

/*
 * Groups are found as torch.fx's CapabilityBasedPartitioner finds them: nodes are visited from the last to the first,
 * each supported one opens a group, and groups are merged, oldest first and connected or not, when no path leads from
 * the merged group out and back in. `supported` is indexed by node id. The result lives in `to`.
 */
struct nuc_proposal *nuc_propose_partitions(struct nuc_context *cx, struct nuc_arena *to, const struct nuc_flow *flow,
                                            const bool *supported);

#endif
