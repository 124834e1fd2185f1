/* The list of operators and nodes that stay on the CPU because the user says so. */
#ifndef NUC_NPU_PARTITION_NOT_DELEGATED_H
#define NUC_NPU_PARTITION_NOT_DELEGATED_H

#include "npu/partition/partition.h"

struct not_delegated;

/*
 * Reads the list of `options` against a graph. Fails with NUC_BAD_USAGE when an entry matches no operator node of the
 * graph, unless options->reference_compat is set.
 */
struct not_delegated *nuc_not_delegated_new(struct nuc_graph *g, const struct nuc_partition_options *options);

/* The entry that matches the node, or NULL. */
const char *nuc_not_delegated_match(const struct not_delegated *list, const struct nuc_node *node);

#endif
