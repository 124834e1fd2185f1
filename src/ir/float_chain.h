/*
 * Values that stay in float: int8 in between would lose digits that the result has, as no one scale covers them.
 *
 *   log(p + eps), p a softmax or sigmoid   p has many values below 1/256, whose logarithms are far apart
 *   p log(p)                               of a p near 1 the logarithm is small, of others it is not
 *   sqrt(sum of x x)                       squares have twice the decades of x, int8 keeps none of the small ones
 *   sums and means of powers, their roots  the same, and a root makes an error of a small mean a large one
 *   1 + k x > cumsum(x)                    what is compared differs by less than a step
 *   sums of products of normalized values  the products of a cosine similarity are rounded once each, their sum again
 */
#ifndef NUC_IR_FLOAT_CHAIN_H
#define NUC_IR_FLOAT_CHAIN_H

#include "ir/graph.h"

/* A product that stays in float, and so does its sum: of a probability and its logarithm, of two normalized values, or
 * of a value with itself under a root. Its factors do as well, but for the last. */
bool nuc_is_exact_product(const struct nuc_node *node);

/* A power whose values are summed, as by a mean, a pool or a convolution. */
bool nuc_is_summed_power(const struct nuc_node *node);

/* Sets marks[id] of every node that stays in float; the others are left as they are. */
void nuc_mark_float_chains(struct nuc_graph *g, bool *marks);

#endif
