/*
 * Arrangement of a lowered model: in which order of its axes every tensor lies, so that transposes move as few bytes as
 * possible over the whole model. Beyond the reference, whose files have the transposes lowering and tidying leave.
 */
#ifndef NUC_NPU_ARRANGE_ARRANGE_H
#define NUC_NPU_ARRANGE_ARRANGE_H

#include "npu/arrange/builder.h"

/* What the TRANSPOSE operators of a model's first subgraph move. */
struct nuc_moved {
    uint32_t transposes;
    uint64_t bytes; /* written by them */
};

struct nuc_moved nuc_moved_by_transposes(const struct nuc_lt_model *m);

/*
 * Rewrites the operators of a tidied model with the same results, bit for bit, at the same boundaries. Convolutions and
 * matrix products keep the order they need; elementwise operators, concatenations, pads, slices, reductions, softmax
 * and reshapes take the order that costs least; poolings and resizings work on each channel as an image of its own
 * where that takes less time than transposes. What a constant operand decides (weights after a flattening, slopes,
 * addends) moves into the constant. A permutation of dimensions of size 1 is a reshape. The model stays as it is where
 * nothing is gained.
 */
void nuc_arrange(struct nuc_ltb *b);

/*
 * FULLY_CONNECTED [rows, I] -> [rows, O] whose weights have a scale for each output becomes a CONV_2D of one pixel of
 * an image [1, rows, 1, I] between two RESHAPE operators.
 */
void nuc_products_to_convolutions(struct nuc_ltb *b);

#endif
