/*
 * Values that a mask has taken out of a softmax. Where exp() makes as good as zero of a value, how far it lies below
 * the largest of its row means nothing; were it observed as it is, the range of a masked attention would be that of the
 * mask's large numbers, and the scores themselves would share a step or two of the 256.
 */
#ifndef NUC_QUANTIZE_RANGES_MASKED_RANGE_H
#define NUC_QUANTIZE_RANGES_MASKED_RANGE_H

#include "ir/graph.h"

/* The rows of a value, whatever the samples. */
struct nuc_masked_rows {
    int64_t dim;           /* along which they lie; -1: there are none */
    bool ranked, smallest; /* only the place of the largest, or smallest, of each is looked for */
};

struct nuc_masked_rows nuc_masked_rows_of(struct nuc_graph *g, const struct nuc_node *node);

/*
 * What an observer is to see of a value, in logical order: `x` itself, or `copy`, which has room for as much. In the
 * copy, values that softmax makes nothing of lie as far below the largest of their row as int8 probabilities need it:
 * ln(256 n), so that the n of a row do not add up to one step. Rows that are masked as a whole count as zeros. Only
 * for sums and choices, in which a mask may be, that softmax alone reads; `hides`: each row has such a value, whether
 * this sample takes a place out of it or not. Of a value of which only the place of the smallest or largest of each row
 * is looked for, others than that and the next two end at these.
 */
const float *nuc_without_masked(const struct nuc_masked_rows *m, const struct nuc_meta *meta, const float *x,
                                bool hides, float *copy);

/*
 * A padding that never wins: its readers take the greatest of several values, of which others are of the input. It has
 * the range of that.
 */
bool nuc_is_never_greatest(const struct nuc_node *node);

/* The values of a mask without those that hide, 0 in their place: `x` or `copy`. *hides: there are such. */
const float *nuc_mask_biases(const float *x, size_t count, float *copy, bool *hides);

#endif
