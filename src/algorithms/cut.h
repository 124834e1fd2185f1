/* The cheapest values of yes/no variables: least cut of a graph. */
#ifndef NUC_ALGORITHMS_CUT_H
#define NUC_ALGORITHMS_CUT_H

#include "host/context.h"

/* A cost that is never paid: more than all others together. */
#define NUC_CUT_NEVER (UINT64_C(1) << 62)

/* Energy of yes/no variables with costs of single variables and of ordered pairs (first no, second yes). */
struct nuc_cut;
struct nuc_cut *nuc_cut_new(struct nuc_context *cx, uint32_t n_variables);
void nuc_cut_single(struct nuc_cut *cut, uint32_t variable, int64_t cost_of_yes);
void nuc_cut_pair(struct nuc_cut *cut, uint32_t no, uint32_t yes, uint64_t cost);

/* The least energy with as few yes as possible. Once for each cut. */
void nuc_cut_solve(struct nuc_cut *cut, bool *yes);

#endif
