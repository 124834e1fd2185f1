/* A part of a plan: ranges joined by pairs, steps renumbered. Shared by the files plan*.c. */
#ifndef NUC_ALGORITHMS_PLAN_PART_H
#define NUC_ALGORITHMS_PLAN_PART_H

#include "algorithms/plan.h"

struct nuc_plan_item {
    uint32_t first, last; /* steps of the part, 0 ... n_steps - 1 */
    uint64_t size;        /* rounded up to the smallest alignment */
    uint64_t alignment;
    bool fixed;
    uint64_t address; /* fixed, or the result */
};

/* Ranges without a gap in time between them. */
struct nuc_plan_part {
    const struct nuc_plan_item *items;
    uint32_t n, n_steps;
    uint64_t target;     /* a plan of this size is as good as a smaller one */
    uint64_t unit;       /* sizes and, without mixed alignments, addresses are multiples of it */
    uint64_t *addresses; /* the best plan */
    uint64_t size;       /* of it, UINT64_MAX: none yet */
    bool proven;         /* at most the target, or nothing smaller exists */
    const char *method;
    uint64_t effort; /* left */
};

/* nuc_align_up() with the 64 bits of an address, which a size_t of the host need not have. */
static inline uint64_t nuc_plan_align(uint64_t address, uint64_t alignment)
{
    return (address + alignment - 1) & ~(alignment - 1);
}

static inline bool nuc_plan_meet(const struct nuc_plan_item *a, const struct nuc_plan_item *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* plan_greedy.c: sets addresses and size; `crowd` has the most bytes live during each item. */
void nuc_plan_greedy(struct nuc_context *cx, struct nuc_plan_part *part, const uint64_t *crowd);

/* Exchanges in the order of the best greedy plan, as long as there is effort. After nuc_plan_greedy(). */
void nuc_plan_exchange(struct nuc_context *cx, struct nuc_plan_part *part);

/* plan_exact.c: searches for plans of at most `limit` bytes until there is none, or the target, or no effort left. */
void nuc_plan_search(struct nuc_context *cx, struct nuc_plan_part *part, uint64_t limit);

#endif
