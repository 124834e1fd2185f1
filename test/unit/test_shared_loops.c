/*
 * Loops that threads share: every index of a range is worked on once, by any number of threads, awake or asleep, more
 * than there are cores or fewer. Under ThreadSanitizer (preset tsan) this shows that pieces of work do not overlap.
 */
#include "unit/test.h"

#include <time.h>

#include "threads/threads.h"

#define MOST 300

struct counted {
    int64_t n, grain;
    uint32_t threads;
    uint8_t times[MOST]; /* each is written by the thread that has the index, without a lock */
    bool small[8];       /* by thread: a piece smaller than the grain was not the last of a part */
};

static void count(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    struct counted *c = arg;

    for (int64_t i = begin; i < end; i++)
        c->times[i]++;
    bool last = false;
    for (uint32_t k = 1; k <= c->threads; k++)
        last = last || end == c->n * k / c->threads;
    c->small[thread] = c->small[thread] || begin >= end || (end - begin < c->grain && !last);
}

static void check_round(struct nuc_threads *t, uint32_t threads, int64_t n, int64_t grain)
{
    struct counted c = {.n = n, .grain = grain, .threads = threads};

    nuc_threads_run(t, count, &c, n, grain);
    for (int64_t i = 0; i < MOST; i++)
        assert_int_equal(c.times[i], i < n ? 1 : 0);
    for (uint32_t k = 0; k < threads; k++)
        assert_false(c.small[k] && n > 1);
}

static void all_is_done_once(void **state)
{
    for (uint32_t threads = 1; threads <= 5; threads++) {
        for (int spin = 0; spin <= 1; spin++) {
            struct nuc_threads *t = nuc_threads_new(threads, spin != 0);
            assert_non_null(t);
            for (int round = 0; round < 600; round++)
                check_round(t, threads, round % MOST, 1 + round % 7);
            nuc_threads_free(t);
        }
    }
}

/* Rounds that find the workers asleep, and sets that end while they are. */
static void sleepers_wake(void **state)
{
    const struct timespec pause = {.tv_nsec = 500000};

    for (int set = 0; set < 4; set++) {
        struct nuc_threads *t = nuc_threads_new(3, set % 2 == 0);
        assert_non_null(t);
        for (int round = 0; round < 30; round++) {
            nanosleep(&pause, NULL);
            check_round(t, 3, MOST, 1);
            check_round(t, 3, MOST / 2, 1);
        }
        if (set < 2)
            nanosleep(&pause, NULL);
        nuc_threads_free(t);
    }
}

struct meeting {
    _Atomic int arrived;
};

/* Ends when two threads are inside, which one thread alone never sees. */
static void meet(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    struct meeting *m = arg;
    const struct timespec pause = {.tv_nsec = 100000};

    m->arrived++;
    for (int i = 0; i < 100000 && m->arrived < 2; i++)
        nanosleep(&pause, NULL);
}

static void workers_take_part(void **state)
{
    for (int set = 0; set < 40; set++) {
        struct nuc_threads *t = nuc_threads_new(2, set % 2 != 0);
        struct meeting m = {0};
        assert_non_null(t);
        nuc_threads_run(t, meet, &m, 2, 1);
        assert_int_equal(m.arrived, 2);
        nuc_threads_free(t);
    }
}

RUN_TESTS(cmocka_unit_test(all_is_done_once), cmocka_unit_test(sleepers_wake), cmocka_unit_test(workers_take_part))
