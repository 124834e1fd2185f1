#include "eval/eval_parallel.h"

#include <stdbool.h>

#include "host/process.h"

#define MAX_THREADS 64

/* Of a loop that is shared out: giving a part to a thread that is awake takes some microseconds. */
#define MIN_COST 50000.0
#define PIECES 4 /* for each thread */

struct nuc_pool {
    unsigned count;
    bool is_tried; /* the system refuses threads, where there are none after it */
    struct nuc_threads *threads;
};

struct loop {
    nuc_parallel_fn fn;
    const void *arg;
};

static void end_threads(void *object)
{
    struct nuc_pool *pool = object;

    nuc_threads_free(pool->threads);
}

struct nuc_pool *nuc_pool_new(struct nuc_context *cx, unsigned threads)
{
    struct nuc_pool *pool = nuc_alloc(cx, sizeof *pool);

    *pool = (struct nuc_pool){.count = threads != 0 ? threads : nuc_cores()};
    if (pool->count > MAX_THREADS)
        pool->count = MAX_THREADS;
    nuc_defer(cx, end_threads, pool);
    return pool;
}

unsigned nuc_pool_threads(const struct nuc_pool *pool)
{
    return pool->count;
}

struct nuc_threads *nuc_pool_paced(const struct nuc_pool *pool)
{
    return pool->threads;
}

static void run_part(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct loop *loop = arg;

    loop->fn(loop->arg, (struct nuc_part){(size_t)begin, (size_t)end, thread});
}

void nuc_parallel_for(struct nuc_pool *pool, size_t count, double cost, nuc_parallel_fn fn, const void *arg)
{
    struct loop loop = {fn, arg};
    size_t pieces = (size_t)pool->count * PIECES;

    if (count == 0)
        return;
    if (pool->count == 1 || count == 1 || cost < MIN_COST) {
        fn(arg, (struct nuc_part){0, count, 0});
        return;
    }
    if (!pool->is_tried)
        pool->threads = nuc_threads_new(pool->count, pool->count <= nuc_cores());
    pool->is_tried = true;
    nuc_threads_run(pool->threads, run_part, &loop, (int64_t)count, (int64_t)((count + pieces - 1) / pieces));
}
