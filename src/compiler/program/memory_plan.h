/* Addresses for buffers of known lifetime in one memory, as a pure function of the live ranges. */
#ifndef NUC_PROGRAM_MEMORY_PLAN_H
#define NUC_PROGRAM_MEMORY_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "host/context.h"

/* Live from step `first` to step `last`, both included. Two ranges that share a step do not share bytes. */
struct nuc_live_range {
    uint32_t first, last;
    size_t bytes;
};

struct nuc_memory_plan {
    size_t *offsets;    /* a range, each a multiple of the alignment */
    size_t size;        /* end of the highest range, rounded up to the alignment */
    size_t lower_bound; /* largest sum of aligned bytes live in one step: no plan is smaller */
    const char *order;  /* name of the order that gave the plan, for reports */
};

/*
 * Places each range of several greedy orders at the lowest free offset and keeps the smallest plan; ties go to the
 * earlier order, ties inside an order to the lower index, so the result depends on nothing but the ranges. Where no
 * order reaches the bound, ranges that end at the top are moved ahead in the order, a fixed number of times.
 * alignment is a power of two. Fails with NUC_UNSUPPORTED when the sum of bytes overflows.
 */
struct nuc_memory_plan nuc_plan_memory(struct nuc_context *cx, const struct nuc_live_range *ranges, size_t n,
                                       size_t alignment);

#endif
