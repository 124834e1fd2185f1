/* Addresses for buffers with known life times: none that live at once overlap. */
#ifndef NUC_NEUTRON_SCRATCH_PLAN_H
#define NUC_NEUTRON_SCRATCH_PLAN_H

#include <stdint.h>

#include "host/context.h"

struct nuc_scratch_range {
    uint32_t size;        /* bytes; 0 takes no place */
    uint32_t first, last; /* steps in which the buffer is live, inclusive */
    uint32_t offset;      /* the result: a multiple of 16 */
};

/*
 * Places all ranges by several greedy orders, improves the best by exchanges, and keeps the smallest plan. Returns its
 * size; *bound is the largest sum of sizes live in one step, below which no plan exists. Fails with NUC_UNSUPPORTED
 * beyond 2 GiB.
 */
uint32_t nuc_scratch_plan(struct nuc_context *cx, struct nuc_scratch_range *ranges, uint32_t n, uint32_t *bound);

#endif
