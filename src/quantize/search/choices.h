/* Convolutions that choose values of their input, as resampling to the nearest does. */
#ifndef NUC_QUANTIZE_SEARCH_CHOICES_H
#define NUC_QUANTIZE_SEARCH_CHOICES_H

#include "ir/graph.h"

/* Whether every result of the node is one of the values of its input, so that nothing is rounded at equal parameters.
 */
bool nuc_only_chooses(struct nuc_graph *g, const struct nuc_node *node);

/* A product with a truth as a number, which is the value or 0. */
bool nuc_is_times_truth(const struct nuc_node *node);

#endif
