/* Loops over independent pieces of work, shared by a few threads of the process. */
#ifndef NUC_EVAL_PARALLEL_H
#define NUC_EVAL_PARALLEL_H

#include <stddef.h>

#include "host/context.h"

struct nuc_pool;

/* Work on items [begin, end). `worker` in [0, nuc_pool_threads()) is different for calls at the same time. */
typedef void (*nuc_parallel_fn)(void *arg, size_t begin, size_t end, unsigned worker);

/* Threads start at the first loop that is worth it and end with the current arena. threads 0: as many as cores. */
struct nuc_pool *nuc_pool_new(struct nuc_context *cx, unsigned threads);
unsigned nuc_pool_threads(const struct nuc_pool *pool);

/*
 * Calls fn for ranges that cover [0, count) once. `cost` is the work of the whole loop in multiply-accumulates: a loop
 * cheaper than waking a thread runs in the caller. fn must not fail (nuc_fail).
 */
void nuc_parallel_for(struct nuc_pool *pool, size_t count, double cost, nuc_parallel_fn fn, void *arg);

#endif
