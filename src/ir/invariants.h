/* Checks that the verifier and the readers of graphs share. Private to the graph folder. */
#ifndef NUC_IR_INVARIANTS_H
#define NUC_IR_INVARIANTS_H

#include "ir/graph.h"

/* The value may stand in that argument of the schema. */
bool nuc_arg_fits(const struct nuc_schema_arg *schema, const struct nuc_arg *arg);

/* Element type and rank exist, no size is negative, the elements can be counted, dim_order is a permutation. */
bool nuc_meta_is_valid(const struct nuc_meta *m);

#endif
