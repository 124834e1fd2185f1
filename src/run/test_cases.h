/* The test cases of a runner's program. */
#ifndef NUC_RUN_TEST_CASES_H
#define NUC_RUN_TEST_CASES_H

#include "archive/bundle.h"
#include "nucleon/runner.h"

/* NULL: the program came without. */
const struct nuc_bundle *nuc_runner_bundle(const struct nuc_runner *r);

/* What the program says of its inputs; NULL: nothing. */
const struct nuc_metadata *nuc_runner_metadata(const struct nuc_runner *r);

/* Puts the inputs of a case into the program, whose states have their initial values then. */
void nuc_give_case(struct nuc_runner *r, size_t index);

#endif
