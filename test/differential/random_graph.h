/* Small float graphs made from a seed: the same seed gives the same graph. */
#ifndef NUC_RANDOM_GRAPH_H
#define NUC_RANDOM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/graph.h"

struct random_state {
    uint64_t bits;
};

struct random_state random_seeded(uint64_t seed);
int64_t random_in(struct random_state *r, int64_t lowest, int64_t highest); /* both included */
bool random_one_of(struct random_state *r, int64_t n);                      /* true once in n */
float random_float(struct random_state *r, float lowest, float highest);

#define RANDOM_MAX_INPUTS 3

struct random_graph {
    struct nuc_graph *graph;
    unsigned n_ops; /* operators asked for and made; a few need a second one to keep values in their domain */
    float low[RANDOM_MAX_INPUTS], high[RANDOM_MAX_INPUTS]; /* of the values the inputs are meant for */
};

/*
 * One to three inputs of rank 1 to 5 and `n_ops` operators of every kind the rule sets have: operands are any earlier
 * values, so that values have several readers; what nobody reads is an output. Weights may serve several operators.
 * Fails with NUC_INTERNAL when the graph is not a valid one.
 */
struct random_graph random_graph_make(struct nuc_context *cx, uint64_t seed, unsigned n_ops);

#endif
