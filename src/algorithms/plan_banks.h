/* Addresses for buffers of known lifetime in several memories, of which each has a size. */
#ifndef NUC_ALGORITHMS_PLAN_BANKS_H
#define NUC_ALGORITHMS_PLAN_BANKS_H

#include "algorithms/plan.h"

#define NUC_MOST_BANKS 7

struct nuc_bank_problem {
    const struct nuc_plan_range *ranges; /* fixed ones have an address in their bank */
    size_t n;
    const struct nuc_plan *joint; /* of all ranges in one memory: ranges that share bytes there stay together */
    const uint32_t *allowed;      /* per range: the banks that it may lie in, bit 1 << i of bank i */
    const uint64_t *uses;         /* per range: bytes that are read and written: of the most per byte, the best bank */
    uint32_t n_banks;
    uint64_t sizes[NUC_MOST_BANKS]; /* bytes, in order of preference */
};

struct nuc_bank_plan {
    bool fits;                                            /* else nothing of what follows is set */
    uint32_t *banks;                                      /* per range */
    uint64_t *addresses;                                  /* per range, in its bank */
    uint64_t used[NUC_MOST_BANKS], bound[NUC_MOST_BANKS]; /* ends of the highest ranges; most bytes live in a step */
};

/*
 * A plan where each range lies in a bank that it may lie in, and none is larger than its bank. Ranges are given to
 * banks one after the other, in several orders with a bounded search each, by the bytes live in every step; then each
 * bank is planned as one memory (plan.h). The first plan found counts: in the first order those that are used most per
 * byte come first, each in the first bank with room. That nothing is found does not show that there is none.
 */
struct nuc_bank_plan nuc_plan_banks(struct nuc_context *cx, const struct nuc_bank_problem *problem);

#endif
