/* What the steps of tidying share. */
#ifndef NUC_NEUTRON_TIDY_PRIVATE_H
#define NUC_NEUTRON_TIDY_PRIVATE_H

#include "compiler/neutron/arrange/builder.h"

/* Who writes and who reads each tensor, as of the moment it was made. */
struct nuc_uses {
    int32_t *producer; /* operator that writes a tensor, -1: none */
    uint32_t *first;   /* readers of tensor t are reader[first[t]] to reader[first[t + 1] - 1], in order of execution */
    uint32_t *reader;
};

struct nuc_uses nuc_tidy_uses(const struct nuc_ltb *b);

/* Removes the operators of which drop[index] is true. */
void nuc_tidy_drop_ops(struct nuc_ltb *b, const bool *drop);

bool nuc_tidy_is_output(const struct nuc_ltb *b, int32_t tensor);

/* The permutation of a TRANSPOSE with a constant one, of as many elements as the input has dimensions; else NULL. */
const int32_t *nuc_tidy_perm(const struct nuc_ltb *b, const struct nuc_lt_op *op);

#endif
