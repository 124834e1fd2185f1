/* Small models of the kind that boundaries are found with: every rank, dim order and element type at the edges. */
#ifndef NUC_CONTRACT_NET_H
#define NUC_CONTRACT_NET_H

#include "differential/random_graph.h"

#define NET_MAX_INPUTS 4

struct net {
    struct nuc_graph *graph;
    const char *text; /* in the form of nuc_graph_parse() */
    bool exact;       /* moves and chooses values, or computes them without large factors: outputs can be compared */
    bool scales;      /* inputs times a power of two give outputs times it */
};

/*
 * One to five operators over inputs of rank 0 to 6 in any dim order, sizes 0 and 1 among them; with `floats` of
 * float32, else of any element type. Outputs may be inputs, constants, or one value twice; inputs may be unread, or
 * none. The same seed gives the same model.
 */
struct net net_make(struct nuc_context *cx, uint64_t seed, bool floats);

#endif
