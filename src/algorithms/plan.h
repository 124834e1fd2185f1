/*
 * Addresses for buffers of known lifetime in one memory, and orders of execution that need little of it. Pure functions
 * of their arguments: the same problem gives the same plan on every host.
 */
#ifndef NUC_ALGORITHMS_PLAN_H
#define NUC_ALGORITHMS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/context.h"

/* Live from step `first` to step `last`, both included. Two ranges that share a step do not share bytes. */
struct nuc_plan_range {
    uint32_t first, last;
    uint64_t size;      /* bytes; 0 takes no place */
    uint32_t alignment; /* of the address, a power of two */
    bool fixed;         /* `address` is given */
    uint64_t address;   /* a multiple of the alignment; read only when fixed */
};

/* What became of a range, for reports. */
struct nuc_planned {
    const char *name; /* label of the value (ir/labels.h), or what the bytes are for */
    uint64_t size, address;
    uint32_t first, last; /* steps in which it lives, both included */
    uint32_t owner;       /* what it holds: of the arena 1 + id of a node, of a scratch a debug handle; 0: not known */
};

/* Both are fixed, alive at once and share bytes. */
bool nuc_plan_clash(const struct nuc_plan_range *a, const struct nuc_plan_range *b);

/*
 * Range `to` may take over the address of range `from` in the step where the one ends and the other begins: an operator
 * that works in place. Both have the same size rounded up to the alignment, or `to` may be smaller, neither is fixed,
 * and `from` begins before that step; other pairs are passed over. The bytes of `from` stay taken until `to` ends.
 * Whether a pair is used is the planner's choice.
 */
struct nuc_plan_pair {
    uint32_t from, to;
    bool smaller; /* `to` may be smaller than `from` */
};

struct nuc_plan_problem {
    const struct nuc_plan_range *ranges;
    size_t n;
    const struct nuc_plan_pair *pairs; /* may be NULL */
    size_t n_pairs;
    uint64_t effort; /* bound of the search in elementary steps, 0: the default */
};

struct nuc_plan {
    uint64_t *addresses; /* per range */
    uint64_t size;       /* end of the highest range */
    uint64_t bound;      /* the most bytes live in one step with the best use of the pairs: no plan is smaller */
    bool proven;         /* size is the bound, or the search has shown that nothing smaller exists */
    const char *method;  /* what found the plan, for reports: the name of a greedy order, "exchanges" or "search" */
};

/*
 * The smallest plan found: parts of the problem that share no step are planned apart, each by several greedy orders,
 * then, where these miss the bound, by a branch-and-bound search and by exchanges in the best order, both limited by
 * `effort`. Sizes count rounded up to the smallest alignment. Fails with NUC_UNSUPPORTED when the sum of sizes
 * overflows, and when fixed ranges overlap.
 */
struct nuc_plan nuc_plan_memory(struct nuc_context *cx, const struct nuc_plan_problem *problem);

/* ---- order of execution ---- */

/*
 * One operator, by the buffers it touches (reads or writes, each listed once) and the operators it has to follow. It
 * may write buffer `result` over one of the buffers `in_place` of the same size, when nothing reads that afterwards.
 */
struct nuc_plan_operator {
    const uint32_t *buffers, *after, *in_place;
    uint32_t n_buffers, n_after, n_in_place;
    uint32_t result; /* read only with n_in_place > 0 */
};

/* Live from the first operator that touches it to the last, or from the start, or to the end. */
struct nuc_plan_buffer {
    uint64_t size;
    bool from_start, to_end;
};

/* Appends to a list of `n` what is not in it, for buffers and after; the memory is the caller's. Returns the new count.
 */
uint32_t nuc_plan_add_once(uint32_t *list, uint32_t n, uint32_t value);

struct nuc_order_problem {
    const struct nuc_plan_operator *operators; /* in an order that is allowed */
    uint32_t n_operators;
    const struct nuc_plan_buffer *buffers;
    uint32_t n_buffers;
    uint64_t effort; /* as above */
};

struct nuc_plan_order {
    uint32_t *operators; /* in the order found */
    uint64_t given_peak; /* the most bytes live at once in the order given */
    uint64_t peak;       /* the same in the order found */
    bool proven;         /* no order has a smaller peak */
};

/* The order given unless one with a smaller peak is found. */
struct nuc_plan_order nuc_plan_operators(struct nuc_context *cx, const struct nuc_order_problem *problem);

#endif
