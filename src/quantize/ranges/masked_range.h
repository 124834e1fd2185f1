/*
 * Values that a mask has taken out of a softmax. Where exp() makes as good as zero of a value, how far it lies below
 * the largest of its row means nothing; were it observed as it is, the range of a masked attention would be that of the
 * mask's large numbers, and the scores themselves would share a step or two of the 256.
 */
#ifndef NUC_QUANTIZE_RANGES_MASKED_RANGE_H
#define NUC_QUANTIZE_RANGES_MASKED_RANGE_H

#include "ir/graph.h"

struct nuc_masked_range {
    float *values; /* of the last copy */
    size_t capacity;
};

/*
 * What an observer is to see of a value, in logical order: `x` itself, or a copy that lasts until the next call. In the
 * copy, values that softmax makes nothing of lie as far below the largest of their row as int8 probabilities need it:
 * ln(256 n), so that the n of a row do not add up to one step. Rows that are masked as a whole count as zeros. Only
 * for sums and choices, in which a mask may be, that softmax alone reads; `hides`: each row has such a value, whether
 * this sample takes a place out of it or not. Of a value of which only the place of the smallest or largest of each row
 * is looked for, others than that and the next two end at these. NULL where nothing is to be seen: a padding that never
 * is the greatest of the values that are compared has the range of its input.
 */
const float *nuc_without_masked(struct nuc_graph *g, struct nuc_masked_range *m, const struct nuc_node *node,
                                const float *x, bool hides);

/* The values of a mask without those that hide, 0 in their place: `x` or a copy as above. *hides: there are such. */
const float *nuc_mask_biases(struct nuc_context *cx, struct nuc_masked_range *m, const float *x, size_t count,
                             bool *hides);

#endif
