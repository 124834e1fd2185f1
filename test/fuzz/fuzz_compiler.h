/* The compiler as a library in a fuzz target: bounded memory, one verdict. */
#ifndef NUC_FUZZ_COMPILER_H
#define NUC_FUZZ_COMPILER_H

#include "fuzz_support.h"
#include "nucleon/compile.h"

/* Bytes that are left, over the whole call: what is freed does not come back. */
struct fuzz_budget {
    size_t left;
};

/* Never NULL. */
struct nuc_compiler *fuzz_compiler(const struct nuc_options *options, struct fuzz_budget *budget, size_t limit);

/* fuzz_verdict() of a call of it; ends the process when it reports a defect of nucleon. */
void fuzz_compiler_verdict(const struct nuc_compiler *c, enum nuc_status status);

#endif
