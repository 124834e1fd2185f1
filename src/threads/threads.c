/*
 * A piece of work is a range, cut into one part per thread; a thread takes bites off its own part, so that it meets
 * the rows it computed before in its cache, and then off what the others have left. Nobody is waited for who has not
 * begun: a thread that wakes late finds the gate closed, and the caller has done its part. Between pieces of work a
 * thread spins for a while, because the next piece is often some microseconds away and waking takes longer than that.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "threads/threads.h"

#define SPIN_NANOSECONDS 50000  /* that a thread spins before it sleeps */
#define SPIN_PAUSES 16          /* between looks at the clock */
#define LATE_NANOSECONDS 500000 /* for which a thread is waited for that has a core */
#define ALONE 16                /* rounds nobody else began, or one that was late, after which most are not offered: */
#define PAUSE 512               /* of as many calls, which take about as long as waking a hundred times, */
#define BURST 64                /* the first ones are, while a thread that the first one woke spins, */
#define OFFERED 4               /* and of those every fourth: it meets one */
#define LINE 64                 /* of the cache: what different threads write lies in different ones */

/* The gate: who may work. A round is open from its start until the caller finds nothing left to do. */
#define GATE_INSIDE 0xFFFFu  /* workers that have begun and not ended */
#define GATE_OPEN 0x10000u   /* workers may begin */
#define GATE_ASLEEP 0x20000u /* the caller sleeps until nobody is inside */
#define GATE_ROUND 0x100000u /* counted up; wraps */

/* What is left of a part: its first index in the lower half of the word, its end in the upper one. */
struct part {
    _Alignas(LINE) _Atomic uint64_t left;
};

struct nuc_threads {
    _Alignas(LINE) _Atomic uint32_t gate;
    _Atomic uint32_t sleepers; /* workers to be woken */
    _Atomic uint32_t entries;  /* of workers into rounds; wraps */
    _Atomic bool stop;
    uint32_t alone, asked; /* rounds since the last one with a worker; calls since then */
    /* Of the round that is open. */
    nuc_thread_work work;
    void *arg;
    int64_t grain;
    uint32_t threads, started;
    int64_t spin;                        /* nanoseconds */
    _Alignas(LINE) pthread_mutex_t lock; /* for going to sleep and waking */
    pthread_cond_t start, done, paced;
    uint64_t wakes; /* under the lock: times all sleepers were woken */
    struct part *parts;
    struct worker {
        struct nuc_threads *all;
        uint32_t index;
        pthread_t id;
    } workers[]; /* threads - 1: the caller is thread 0 */
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Half of what part `index` has left, at least the grain. False: nothing. */
static bool bite(struct nuc_threads *t, uint32_t index, int64_t *begin, int64_t *end)
{
    uint64_t left = atomic_load_explicit(&t->parts[index].left, memory_order_relaxed), rest;

    do {
        *begin = (int64_t)(left & UINT32_MAX);
        *end = (int64_t)(left >> 32);
        if (*begin >= *end)
            return false;
        int64_t half = (*end - *begin + 1) / 2, some = half > t->grain ? half : t->grain;
        *end = *end - *begin > some ? *begin + some : *end;
        rest = (left & ~(uint64_t)UINT32_MAX) | (uint64_t)*end;
    } while (!atomic_compare_exchange_weak_explicit(&t->parts[index].left, &left, rest, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

/* All that is left, in bites; own part first. False: nothing was. */
static bool work_on(struct nuc_threads *t, uint32_t index)
{
    int64_t begin, end;
    bool any = false;

    for (uint32_t k = 0; k < t->threads; k++) {
        for (; bite(t, (index + k) % t->threads, &begin, &end); any = true)
            t->work(t->arg, index, begin, end);
    }
    return any;
}

/* ---- workers ---- */

static bool is_new(uint32_t gate, uint32_t seen)
{
    return (gate & GATE_OPEN) != 0 && gate / GATE_ROUND != seen;
}

/* Waits, first awake, for a round other than `seen`, or for the end. */
static void await_round(struct nuc_threads *t, uint32_t seen)
{
    int64_t until = now() + t->spin;

    do {
        for (int i = 0; i < SPIN_PAUSES; i++) {
            if (is_new(atomic_load_explicit(&t->gate, memory_order_relaxed), seen) || atomic_load(&t->stop))
                return;
            relax();
        }
    } while (now() < until);
    pthread_mutex_lock(&t->lock);
    uint64_t wakes = t->wakes;
    atomic_fetch_add(&t->sleepers, 1);
    /* Who opens the gate looks at the sleepers afterwards: one of the two sees the other. */
    while (t->wakes == wakes && !atomic_load(&t->stop) && !is_new(atomic_load(&t->gate), seen))
        pthread_cond_wait(&t->start, &t->lock);
    if (t->wakes == wakes)
        atomic_fetch_sub(&t->sleepers, 1);
    pthread_mutex_unlock(&t->lock);
}

/* Into the round that is open, if it is not `*seen`, which it becomes. */
static bool enter(struct nuc_threads *t, uint32_t *seen)
{
    uint32_t gate = atomic_load_explicit(&t->gate, memory_order_relaxed);

    do {
        if (!is_new(gate, *seen))
            return false;
    } while (
        !atomic_compare_exchange_weak_explicit(&t->gate, &gate, gate + 1, memory_order_acquire, memory_order_relaxed));
    *seen = gate / GATE_ROUND;
    atomic_fetch_add_explicit(&t->entries, 1, memory_order_relaxed);
    return true;
}

static void leave(struct nuc_threads *t)
{
    uint32_t gate = atomic_fetch_sub_explicit(&t->gate, 1, memory_order_acq_rel);

    if ((gate & GATE_ASLEEP) == 0 || (gate & GATE_INSIDE) != 1)
        return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_signal(&t->done);
    pthread_mutex_unlock(&t->lock);
}

static void *wait_and_work(void *arg)
{
    struct worker *w = arg;
    struct nuc_threads *t = w->all;
    uint32_t seen = 0;

    while (!atomic_load(&t->stop)) {
        if (enter(t, &seen)) {
            (void)work_on(t, w->index);
            leave(t);
        } else {
            await_round(t, seen);
        }
    }
    return NULL;
}

/* ---- the caller ---- */

struct nuc_threads *nuc_threads_new(uint32_t threads, bool spin)
{
    size_t head = sizeof(struct nuc_threads) + (threads - 1) * sizeof(struct worker);
    size_t at = (head + LINE - 1) / LINE * LINE, size = at + threads * sizeof(struct part);
    struct nuc_threads *t = aligned_alloc(LINE, size);

    if (!t)
        return NULL;
    *t = (struct nuc_threads){.threads = threads, .spin = spin ? SPIN_NANOSECONDS : 0};
    t->parts = (struct part *)(void *)((uint8_t *)t + at);
    for (uint32_t i = 0; i < threads; i++)
        atomic_init(&t->parts[i].left, 0);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->start, NULL);
    pthread_cond_init(&t->done, NULL);
    pthread_cond_init(&t->paced, NULL);
    for (; t->started < threads - 1; t->started++) {
        struct worker *w = &t->workers[t->started];
        *w = (struct worker){.all = t, .index = t->started + 1};
        if (pthread_create(&w->id, NULL, wait_and_work, w) != 0) {
            nuc_threads_free(t);
            return NULL;
        }
    }
    return t;
}

static void wake(struct nuc_threads *t)
{
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->sleepers, 0);
    t->wakes++;
    pthread_cond_broadcast(&t->start);
    pthread_mutex_unlock(&t->lock);
}

void nuc_threads_free(struct nuc_threads *t)
{
    if (!t)
        return;
    atomic_store(&t->stop, true);
    wake(t);
    for (uint32_t i = 0; i < t->started; i++)
        pthread_join(t->workers[i].id, NULL);
    pthread_cond_destroy(&t->start);
    pthread_cond_destroy(&t->done);
    pthread_cond_destroy(&t->paced);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/*
 * Closes the gate and waits for those inside. False: for long, and longer than all took that was done since `began`, as
 * for a thread that has lost its core to something else.
 */
static bool close_gate(struct nuc_threads *t, int64_t began)
{
    uint32_t gate = atomic_fetch_and_explicit(&t->gate, ~GATE_OPEN, memory_order_acquire);
    int64_t asked = (gate & GATE_INSIDE) != 0 ? now() : 0, until = asked + t->spin;

    while ((gate & GATE_INSIDE) != 0 && now() < until) {
        for (int i = 0; i < SPIN_PAUSES && (gate & GATE_INSIDE) != 0; i++) {
            relax();
            gate = atomic_load_explicit(&t->gate, memory_order_acquire);
        }
    }
    if ((gate & GATE_INSIDE) == 0)
        return true;
    pthread_mutex_lock(&t->lock);
    gate = atomic_fetch_or(&t->gate, GATE_ASLEEP);
    while ((gate & GATE_INSIDE) != 0) {
        pthread_cond_wait(&t->done, &t->lock);
        gate = atomic_load(&t->gate);
    }
    atomic_fetch_and(&t->gate, ~GATE_ASLEEP);
    pthread_mutex_unlock(&t->lock);
    int64_t waited = now() - asked;
    return waited < LATE_NANOSECONDS || waited < asked - began;
}

static bool is_offered(struct nuc_threads *t)
{
    uint32_t at = t->alone < ALONE ? 0 : t->asked++ % PAUSE;

    return at < BURST && at % OFFERED == 0;
}

void nuc_threads_run(struct nuc_threads *t, nuc_thread_work work, void *arg, int64_t n, int64_t grain)
{
    /* Where cores are busy with something else, cutting work into pieces is in vain. */
    if (!t || n < 2 || n > UINT32_MAX || !is_offered(t)) {
        work(arg, 0, 0, n);
        return;
    }
    uint32_t entries = atomic_load_explicit(&t->entries, memory_order_relaxed);
    t->work = work;
    t->arg = arg;
    t->grain = grain;
    for (uint32_t i = 0; i < t->threads; i++) {
        uint64_t begin = (uint64_t)n * i / t->threads, end = (uint64_t)n * (i + 1) / t->threads;
        atomic_store_explicit(&t->parts[i].left, end << 32 | begin, memory_order_relaxed);
    }
    /* Nobody is inside, and the gate is closed: only the round changes. */
    uint32_t gate = atomic_load_explicit(&t->gate, memory_order_relaxed) + GATE_ROUND;
    atomic_store(&t->gate, gate | GATE_OPEN);
    if (atomic_load(&t->sleepers) > 0)
        wake(t);
    int64_t began = now();
    bool has_worked = work_on(t, 0);
    if (close_gate(t, began) || !has_worked) { /* who has done nothing has nothing to compare with */
        t->alone = atomic_load_explicit(&t->entries, memory_order_relaxed) != entries ? 0 : t->alone + 1;
    } else {
        t->alone = ALONE;
        t->asked = BURST;
    }
}

/* ---- one piece behind the other ---- */

void nuc_pace_reach(struct nuc_threads *t, struct nuc_pace *p, uint32_t step)
{
    atomic_store(&p->step, step);
    /* Who is about to sleep looks at the step after it says what it wants: one of the two sees the other. */
    uint32_t wanted = atomic_load(&p->wanted);
    if (wanted == 0 || step < wanted)
        return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->paced);
    pthread_mutex_unlock(&t->lock);
}

void nuc_pace_await(struct nuc_threads *t, struct nuc_pace *p, uint32_t step)
{
    if (atomic_load_explicit(&p->step, memory_order_acquire) >= step)
        return;
    int64_t until = now() + t->spin;
    do {
        for (int i = 0; i < SPIN_PAUSES; i++) {
            if (atomic_load_explicit(&p->step, memory_order_acquire) >= step)
                return;
            relax();
        }
    } while (now() < until);
    pthread_mutex_lock(&t->lock);
    atomic_store(&p->wanted, step);
    while (atomic_load(&p->step) < step)
        pthread_cond_wait(&t->paced, &t->lock);
    atomic_store(&p->wanted, 0);
    pthread_mutex_unlock(&t->lock);
}
