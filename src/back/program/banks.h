/* Memories of a target that a program's buffers are split over, and what of it lies in each. */
#ifndef NUC_BACK_PROGRAM_BANKS_H
#define NUC_BACK_PROGRAM_BANKS_H

#include "algorithms/plan_banks.h"
#include "nucleon/compile.h"

struct nuc_bank {
    const char *name;
    uint64_t bytes; /* that the program may use */
    uint64_t most;  /* that the target has; UINT64_MAX: not known */
    unsigned reach; /* NUC_BY_... (npu/target/target.h) */
    unsigned speed;
};

struct nuc_banks {
    uint32_t n;
    struct nuc_bank of[NUC_MOST_BANKS]; /* bank i is planned memory i + 1; values go to the first ones first */
    uint64_t temporary;                 /* bytes beside the planned memories while a delegate runs, */
    unsigned temporary_reach;           /* and who has to reach them */
    const char *weights;                /* memory of the weights, NULL: wherever */
    uint64_t weights_bytes;             /* which take room where that is a bank */
};

struct nuc_emission;
struct nuc_program_options;

/*
 * Gives every storage of the planned emission a memory and an address, as its ranges and their plan in one memory
 * allow. States lie in the memory behind the banks, whose bytes one of the banks has room for. False where nothing is
 * found; with `must` that fails with NUC_PROPERTY, saying what is missing where and which size would do.
 */
bool nuc_place_in_banks(struct nuc_emission *e, const struct nuc_program_options *o, bool must);

#endif
