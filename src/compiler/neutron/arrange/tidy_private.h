/* What the steps of tidying share. */
#ifndef NUC_NEUTRON_TIDY_PRIVATE_H
#define NUC_NEUTRON_TIDY_PRIVATE_H

#include "compiler/neutron/arrange/builder.h"

/* Removes the operators of which drop[index] is true. */
void nuc_tidy_drop_ops(struct nuc_ltb *b, const bool *drop);

bool nuc_tidy_is_output(const struct nuc_ltb *b, int32_t tensor);

/* The permutation of a TRANSPOSE with a constant one, of as many elements as the input has dimensions; else NULL. */
const int32_t *nuc_tidy_perm(const struct nuc_ltb *b, const struct nuc_lt_op *op);

#endif
