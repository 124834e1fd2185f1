/*
 * What the outputs of a network are compared by. A softmax whose largest value is near 1 hides what happens in front of
 * it, and few samples decide its error: it is compared at a temperature at which it tells its inputs apart. Numbers of
 * places, as those of an argmax, are compared by the values that were ranked. What is concatenated to an output may
 * have units of its own, such as places in pixels beside probabilities: each part is compared by itself.
 */
#ifndef NUC_QUANTIZE_SEARCH_SCORE_H
#define NUC_QUANTIZE_SEARCH_SCORE_H

#include "ir/graph.h"

struct nuc_score {
    const struct nuc_node *node; /* its first value; float32 */
    size_t row;                  /* > 0: values of a softmax's row, which are compared as such */
    size_t output;               /* the output that it stands for, ... */
    size_t part;                 /* ... or which of the parts that it is a concatenation of */
};

/*
 * The scores of all outputs of a graph, in their order, without those that cannot be compared; each node once. Those of
 * a float graph and of the graph that it was converted to belong together by their outputs and parts.
 */
struct nuc_score *nuc_scores(struct nuc_graph *g, size_t *count);

/* Of the same part of an output, and compared the same way: values of one stand for those of the other. */
bool nuc_are_same_score(const struct nuc_score *a, const struct nuc_score *b);

/* Squared differences of the values, and squares of the reference. */
struct nuc_sqnr nuc_score_error(const struct nuc_score *s, const float *reference, const float *x);

#endif
