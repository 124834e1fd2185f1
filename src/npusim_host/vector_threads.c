/* Threads that wait for work: one set per prepared program, which runs one inference at a time. */
#include <pthread.h>
#include <stdlib.h>

#include "npusim_host/vector_plan.h"

struct vec_pool_of_threads {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    uint64_t round;   /* raised with each piece of work */
    uint32_t running; /* threads that have not finished it */
    bool stop;
    vec_work work;
    void *arg;
    int64_t n;
    uint32_t threads, started;
    struct worker {
        struct vec_pool_of_threads *all;
        uint32_t index;
        pthread_t id;
    } workers[]; /* threads - 1: the caller is thread 0 */
};

/* Part `index` of [0, n). */
static void do_part(const struct vec_pool_of_threads *t, uint32_t index)
{
    int64_t part = t->n / t->threads, rest = t->n % t->threads;
    int64_t begin = part * index + (index < rest ? index : rest);
    int64_t end = begin + part + (index < rest ? 1 : 0);

    if (begin < end)
        t->work(t->arg, index, begin, end);
}

static void *wait_and_work(void *arg)
{
    struct worker *w = arg;
    struct vec_pool_of_threads *t = w->all;
    uint64_t seen = 0;

    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (t->round == seen && !t->stop)
            pthread_cond_wait(&t->start, &t->lock);
        if (t->stop)
            break;
        seen = t->round;
        pthread_mutex_unlock(&t->lock);
        do_part(t, w->index);
        pthread_mutex_lock(&t->lock);
        if (--t->running == 0)
            pthread_cond_signal(&t->done);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

struct vec_pool_of_threads *vec_threads_new(uint32_t threads)
{
    struct vec_pool_of_threads *t = calloc(1, sizeof *t + (threads - 1) * sizeof t->workers[0]);

    if (!t)
        return NULL;
    t->threads = threads;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->start, NULL);
    pthread_cond_init(&t->done, NULL);
    for (; t->started < threads - 1; t->started++) {
        struct worker *w = &t->workers[t->started];
        *w = (struct worker){.all = t, .index = t->started + 1};
        if (pthread_create(&w->id, NULL, wait_and_work, w) != 0) {
            vec_threads_free(t);
            return NULL;
        }
    }
    return t;
}

void vec_threads_free(struct vec_pool_of_threads *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->start);
    pthread_mutex_unlock(&t->lock);
    for (uint32_t i = 0; i < t->started; i++)
        pthread_join(t->workers[i].id, NULL);
    pthread_cond_destroy(&t->start);
    pthread_cond_destroy(&t->done);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void vec_threads_run(struct vec_pool_of_threads *t, vec_work work, void *arg, int64_t n)
{
    if (!t || n < 2) {
        work(arg, 0, 0, n);
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->work = work;
    t->arg = arg;
    t->n = n;
    t->running = t->threads - 1;
    t->round++;
    pthread_cond_broadcast(&t->start);
    pthread_mutex_unlock(&t->lock);
    do_part(t, 0);
    pthread_mutex_lock(&t->lock);
    while (t->running > 0)
        pthread_cond_wait(&t->done, &t->lock);
    pthread_mutex_unlock(&t->lock);
}
