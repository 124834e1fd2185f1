/* ATen to Edge where no formula says it, one function per operator; each decompose_*.c has the table of a family. */
#ifndef NUC_REWRITE_TO_EDGE_DECOMPOSE_H
#define NUC_REWRITE_TO_EDGE_DECOMPOSE_H

#include "ir/graph.h"

/*
 * Builds the Edge form of `node` in front of it and returns the node that stands for its value; NULL when the node goes
 * and nothing reads it any more.
 */
typedef struct nuc_node *(*decomposition)(struct nuc_graph *g, struct nuc_node *node);

/* An operator without an Edge form of its own, or of which more is to be said than its arguments. */
struct nuc_decomposition {
    enum nuc_op op;
    decomposition rewrite;
    enum nuc_op carrier; /* the Edge operator that does the work; NUC_OP_PLACEHOLDER: several do */
};

/* Each ends with a row without a rewrite. */
extern const struct nuc_decomposition nuc_conv_decompositions[], nuc_matrix_decompositions[],
    nuc_shape_decompositions[];

/* The same operator in the Edge dialect. */
struct nuc_node *nuc_to_same(struct nuc_graph *g, struct nuc_node *node);

#endif
