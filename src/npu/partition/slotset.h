/* Immutable sets of small numbers, kept as ascending runs: sets that are nearly intervals stay small and are shared. */
#ifndef NUC_NPU_PARTITION_SLOTSET_H
#define NUC_NPU_PARTITION_SLOTSET_H

#include <stdbool.h>
#include <stdint.h>

#include "host/context.h"

struct slot_run {
    uint32_t first, last; /* both inside */
};

struct slot_set {
    uint32_t n_runs;
    struct slot_run runs[]; /* ascending, with a gap between two */
};

/* NULL is the empty set. Results live in the current arena, or are one of the operands when that is the result. */
bool nuc_slot_set_has(const struct slot_set *set, uint32_t slot);
const struct slot_set *nuc_slot_set_union(struct nuc_context *cx, const struct slot_set *a, const struct slot_set *b);
const struct slot_set *nuc_slot_set_add(struct nuc_context *cx, const struct slot_set *set, uint32_t slot);
/* Smallest number from `slot` on that is not in the set. */
uint32_t nuc_slot_set_next_absent(const struct slot_set *set, uint32_t slot);

#endif
