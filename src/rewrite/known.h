/* Values that are known when the model is compiled. */
#ifndef NUC_REWRITE_KNOWN_H
#define NUC_REWRITE_KNOWN_H

#include "ir/graph.h"

/* The value of a constant, or of a tree of operators of constants alone, in logical order; NULL when it is computed
 * from inputs of the model. */
const void *nuc_known_value(struct nuc_graph *g, struct nuc_node *node);

/* A constant of that value in front of `before`: of what is known. */
struct nuc_node *nuc_insert_known(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *node);

/* The same of integers of any type, as int64; NULL when it is computed or holds something else. */
const int64_t *nuc_known_integers(struct nuc_graph *g, struct nuc_node *node);

#endif
