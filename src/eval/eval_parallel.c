#include "eval/eval_parallel.h"

#include <pthread.h>
#include <stdbool.h>

#include "host/process.h"

#define MAX_THREADS 64

/* Waking a sleeping thread takes about 10 us, in which one core does some 200,000 multiply-accumulates. */
#define MIN_COST 500000.0

struct job {
    nuc_parallel_fn fn;
    const void *arg;
    size_t count, chunk;
    size_t next; /* first item nobody has taken */
};

struct nuc_pool {
    unsigned threads; /* the caller of nuc_parallel_for included */
    unsigned started; /* additional threads that run */
    bool tried;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t work, done;
    bool stop;
    unsigned generation; /* counts jobs, so that a worker takes part in each at most once */
    unsigned busy;
    struct job job;
    pthread_t ids[MAX_THREADS];
    struct worker {
        struct nuc_pool *pool;
        unsigned index;
    } workers[MAX_THREADS];
};

/* Takes chunks until none is left. The lock is held on entry and exit. */
static void take_part(struct nuc_pool *pool, unsigned worker)
{
    struct job *job = &pool->job;

    while (job->next < job->count) {
        size_t begin = job->next;
        size_t end = job->count - begin < job->chunk ? job->count : begin + job->chunk;
        job->next = end;
        pthread_mutex_unlock(&pool->lock);
        job->fn(job->arg, (struct nuc_part){begin, end, worker});
        pthread_mutex_lock(&pool->lock);
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct nuc_pool *pool = w->pool;
    unsigned seen = 0;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && pool->generation == seen)
            pthread_cond_wait(&pool->work, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->generation;
        pool->busy++;
        take_part(pool, w->index);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void end_threads(void *object)
{
    struct nuc_pool *pool = object;

    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->ids[i], NULL);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
}

struct nuc_pool *nuc_pool_new(struct nuc_context *cx, unsigned threads)
{
    struct nuc_pool *pool = nuc_alloc(cx, sizeof *pool);

    pool->threads = threads != 0 ? threads : nuc_cores();
    if (pool->threads > MAX_THREADS)
        pool->threads = MAX_THREADS;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    nuc_defer(cx, end_threads, pool);
    return pool;
}

unsigned nuc_pool_threads(const struct nuc_pool *pool)
{
    return pool->threads;
}

/* A thread the system refuses is done without. */
static void start_threads(struct nuc_pool *pool)
{
    pool->tried = true;
    for (unsigned i = 1; i < pool->threads; i++) {
        pool->workers[i] = (struct worker){pool, i};
        if (pthread_create(&pool->ids[pool->started], NULL, work, &pool->workers[i]) != 0)
            return;
        pool->started++;
    }
}

void nuc_parallel_for(struct nuc_pool *pool, size_t count, double cost, nuc_parallel_fn fn, const void *arg)
{
    if (count == 0)
        return;
    if (pool->threads == 1 || count == 1 || cost < MIN_COST) {
        fn(arg, (struct nuc_part){0, count, 0});
        return;
    }
    if (!pool->tried)
        start_threads(pool);
    size_t pieces = (size_t)pool->threads * 4;
    pthread_mutex_lock(&pool->lock);
    pool->job = (struct job){fn, arg, count, (count + pieces - 1) / pieces, 0};
    pool->generation++;
    pthread_cond_broadcast(&pool->work);
    take_part(pool, 0);
    while (pool->busy != 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
