/* Views and permutations in a row, which together permute parts of dimensions once. */
#ifndef NUC_REWRITE_MOVES_H
#define NUC_REWRITE_MOVES_H

#include "ir/graph.h"

enum { NUC_MOST_MOVES = 32 };

/* Part order[i] of the source is part i of the result. */
struct nuc_permuted_parts {
    uint32_t count, order[NUC_MAX_RANK];
    int64_t from[NUC_MAX_RANK], to[NUC_MAX_RANK]; /* sizes */
};

/*
 * `last` and what is in front of it that nothing else reads, the last one first: views, permutations, and copies
 * between them. 0: `last` is neither view nor permutation.
 */
uint32_t nuc_moves_before(struct nuc_node *last, struct nuc_node *moves[NUC_MOST_MOVES]);

/* What `count` such moves do. False: no permutation of parts that is one operator. */
bool nuc_join_moves(struct nuc_node *const *moves, uint32_t count, struct nuc_permuted_parts *parts);

#endif
