/*
 * How far the values of a tensor make a difference to its readers. Beyond the bounds of a clamp they make none; nor
 * beyond the point where the int8 result of a sigmoid is the first or last of its steps. A range that ends
 * there loses nothing, since quantization clips as the reader does, and has finer steps.
 */
#ifndef NUC_QUANTIZE_RANGES_RELEVANT_RANGE_H
#define NUC_QUANTIZE_RANGES_RELEVANT_RANGE_H

#include "ir/op_list.h"
#include "quantize/annotation.h"
#include "quantize/ranges/unseen_range.h"

/*
 * By node id: the smallest range that holds what any reader distinguishes, through whatever moves or picks values. The
 * result of a sigmoid counts as int8 where its annotation fixes it so. Inputs of the model have no bounds:
 * their range is what the caller is told that they were calibrated with.
 */
struct nuc_range *nuc_relevant_ranges(struct nuc_graph *g, struct nuc_annotation *const *annotations);

/* Its results are values that it reads, in other places, and of a pad its number. */
bool nuc_moves_values(const struct nuc_node *node);

/* It moves values, or picks them by their order: the same before and after a clamp. */
bool nuc_commutes_with_clamp(const struct nuc_node *node);

#define NUC_CLAMPS NUC_OPS(NUC_OP_RELU, NUC_OP_RELU6, NUC_OP_HARDTANH, NUC_OP_CLAMP)

/* `x` itself, or `copy`, which has room for as much, in which nothing is outside of the range. */
const float *nuc_clip(struct nuc_range range, const float *x, size_t count, float *copy);

#endif
