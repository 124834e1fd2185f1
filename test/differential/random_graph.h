/* Small float graphs made from a seed: the same seed gives the same graph. */
#ifndef NUC_RANDOM_GRAPH_H
#define NUC_RANDOM_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "nucleon/compile.h"

struct random_state {
    uint64_t bits;
};

struct random_state random_seeded(uint64_t seed);
int64_t random_in(struct random_state *r, int64_t lowest, int64_t highest); /* both included */
float random_float(struct random_state *r, float lowest, float highest);

struct random_graph {
    struct nuc_model *model;
    unsigned n_ops;  /* operators of the graph */
    bool moves_only; /* none of them computes: results must be exact */
    char ops[256];   /* their names, for the report */
};

/*
 * A model of the compiler with one input, one output and `n_ops` operators in a chain, with additions that reach back.
 * The compiler's message says why it fails.
 */
enum nuc_status random_graph_make(struct nuc_compiler *c, uint64_t seed, unsigned n_ops, struct random_graph *out);

#endif
