/*
 * Tensor formats. The NPU computes convolutions and poolings on [N, ..., C] data; a tensor that torch holds as
 * [N, C, ...] and that such an operator touches is CHANNELS_FIRST and becomes [N, ..., C] in the lowered model. All
 * others are FORMATLESS: shape and data are the same on both sides. NONE is the format of values the NPU never sees.
 */
#ifndef NUC_NPU_LAYOUT_LAYOUT_H
#define NUC_NPU_LAYOUT_LAYOUT_H

#include "ir/graph.h"
#include "npu/target/target.h"

/*
 * Sets node->format of every node of an Edge graph. CHANNELS_FIRST starts at the operators that need it and at values
 * whose dim order is channels-last, and spreads through operators that take any format to all their operands and
 * results of rank 3 and more; views, permutations and reductions that drop dimensions are boundaries. The result does
 * not depend on the order in which nodes are looked at.
 */
void nuc_infer_formats(struct nuc_graph *g, const struct nuc_flavor *flavor);

/* "CHANNELS_FIRST", "FORMATLESS", "NONE"; NULL for unset. */
const char *nuc_format_name(enum nuc_format format);

#endif
