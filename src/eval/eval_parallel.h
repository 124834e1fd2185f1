/* Loops over independent pieces of work, shared by a few threads of the process. */
#ifndef NUC_EVAL_EVAL_PARALLEL_H
#define NUC_EVAL_EVAL_PARALLEL_H

#include <stddef.h>

#include "host/context.h"
#include "threads/threads.h"

struct nuc_pool;

/* Items [begin, end) of a loop. `worker` in [0, nuc_pool_threads()) is different for parts at the same time. */
struct nuc_part {
    size_t begin, end;
    unsigned worker;
};

typedef void (*nuc_parallel_fn)(const void *arg, struct nuc_part part);

/* Threads start at the first loop that is worth it and end with the current arena. threads 0: as many as cores. */
struct nuc_pool *nuc_pool_new(struct nuc_context *cx, unsigned threads);
unsigned nuc_pool_threads(const struct nuc_pool *pool);

/*
 * Calls fn for parts that cover [0, count) once. `cost` is the work of the whole loop in multiply-accumulates: a loop
 * cheaper than giving a part of it to a thread runs in the caller. fn must not fail (nuc_fail).
 */
void nuc_parallel_for(struct nuc_pool *pool, size_t count, double cost, nuc_parallel_fn fn, const void *arg);

/*
 * The threads of a loop that runs, for pieces of it that wait for each other; NULL: there is one. Such a loop has an
 * item for each thread, which takes one piece after the other, so that the first ones are always under way.
 */
struct nuc_threads *nuc_pool_paced(const struct nuc_pool *pool);

#endif
