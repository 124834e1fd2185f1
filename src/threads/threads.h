/*
 * Threads that work on loops together: one set for a prepared program or an evaluator, which works on one loop at a
 * time.
 */
#ifndef NUC_THREADS_THREADS_H
#define NUC_THREADS_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct nuc_threads;

/* Work on [begin, end) in thread `thread`. */
typedef void (*nuc_thread_work)(void *arg, uint32_t thread, int64_t begin, int64_t end);

/*
 * NULL when threads cannot be started. spin: they have a core each, and may wait awake for a moment; at most 65,535.
 */
struct nuc_threads *nuc_threads_new(uint32_t threads, bool spin);
void nuc_threads_free(struct nuc_threads *t);

/*
 * Work on [0, n) by all threads, the caller's included, in pieces of `grain` or more but for the last; back when all is
 * done. `t` may be NULL: one thread.
 */
void nuc_threads_run(struct nuc_threads *t, nuc_thread_work work, void *arg, int64_t n, int64_t grain);

/* How far a piece of that work is, for one other piece that follows it at a distance. Zeroed: it has not begun. */
struct nuc_pace {
    _Atomic uint32_t step;
    _Atomic uint32_t wanted; /* by a thread that sleeps until then; 0: by none */
};

/* `t` may be NULL: nobody waits then, as the pieces are done one after the other. */
void nuc_pace_reach(struct nuc_threads *t, struct nuc_pace *p, uint32_t step);
void nuc_pace_await(struct nuc_threads *t, struct nuc_pace *p, uint32_t step);

#endif
