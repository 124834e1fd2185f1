/* Rows that nothing reads. */
#ifndef NUC_REWRITE_PASSES_UNREAD_H
#define NUC_REWRITE_PASSES_UNREAD_H

#include "ir/graph.h"
#include "npu/target/target.h"

/*
 * Each value of an ATen graph, also with quantize nodes, is computed as far as something reads it, where that takes
 * less on the target, on whose CPU a network in float runs. Returns whether anything changed.
 */
bool nuc_leave_unread(struct nuc_graph *g, const struct nuc_target *target, bool in_float);

#endif
