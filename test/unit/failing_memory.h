/*
 * Memory that runs out at every point: a function runs with one allocation failing, then with the next one, until none
 * does. After each run nothing is left: no block, no open file, no file in TMPDIR.
 */
#ifndef NUC_TEST_FAILING_MEMORY_H
#define NUC_TEST_FAILING_MEMORY_H

#include "unit/test.h"

#include <limits.h>

#include <dirent.h>
#include <unistd.h>

#include "host/context.h"

struct failing_memory {
    long live;    /* blocks not freed */
    long allowed; /* allocations left before one fails */
    bool once;    /* only one fails: what recovers from it goes on with memory */
    bool failed;  /* one did */
};

static inline void *failing_allocate(void *user, void *block, size_t size)
{
    struct failing_memory *m = user;

    if (size == 0) {
        m->live -= block != NULL;
        free(block);
        return NULL;
    }
    if (m->allowed == 0) {
        m->failed = true;
        m->allowed = m->once ? LONG_MAX : 0;
        return NULL;
    }
    m->allowed--;
    m->live++;
    return malloc(size);
}

static inline size_t count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return count;
}

/* Points at which the memory of one function runs out: all where there are no more; else all with NUCLEON_SOAK. */
#ifdef __SANITIZE_ADDRESS__ /* each takes five times as long */
#define MOST_FAILURES 40
#else
#define MOST_FAILURES 150
#endif

/*
 * `attempt` returns NUC_NO_MEMORY when an allocation failed, and `expected` when none did. One after the other fails,
 * from allocation `first` on. How many allocations there are from there on. TMPDIR is an empty folder meanwhile.
 */
static inline long run_out_of_memory(enum nuc_status (*attempt)(struct failing_memory *m, void *arg), void *arg,
                                     long first, enum nuc_status expected)
{
    char folder[] = "/tmp/nucleon-test-XXXXXX";
    struct failing_memory enough = {.allowed = LONG_MAX};

    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(attempt(&enough, arg), expected);
    assert_int_equal(enough.live, 0);
    long allocations = LONG_MAX - enough.allowed;
    long step = getenv("NUCLEON_SOAK") != NULL ? 1 : 1 + (allocations - first) / MOST_FAILURES;
    enum nuc_status status = NUC_NO_MEMORY;
    /* Threads make a few allocations more or less from run to run: the last one is where none fails. */
    for (long i = first; status == NUC_NO_MEMORY; i += step) {
        struct failing_memory m = {.allowed = i};
        size_t files = count_files("/proc/self/fd");
        status = attempt(&m, arg);
        assert_int_equal(m.failed, status == NUC_NO_MEMORY); /* never taken for an answer */
        assert_int_equal(m.live, 0);
        assert_int_equal(count_files("/proc/self/fd"), files);
        assert_int_equal(count_files(folder), 0);
    }
    assert_int_equal(status, expected);
    unsetenv("TMPDIR");
    assert_int_equal(rmdir(folder), 0);
    return allocations - first;
}

/*
 * The same at `points` places spread over the allocations, for what makes many of them; at each with NUCLEON_SOAK in
 * the environment. Every other time one allocation fails and those after it do not, so that a failure which is taken
 * for an answer shows. Without a failure the status is `expected`.
 */
static inline void run_short_of_memory(enum nuc_status (*attempt)(struct failing_memory *m, void *arg), void *arg,
                                       long points, enum nuc_status expected)
{
    struct failing_memory enough = {.allowed = LONG_MAX};

    assert_int_equal(attempt(&enough, arg), expected);
    assert_int_equal(enough.live, 0);
    long allocations = LONG_MAX - enough.allowed;
    if (getenv("NUCLEON_SOAK") != NULL || points > allocations)
        points = allocations;
    for (long i = 0; i < points; i++) {
        struct failing_memory few = {.allowed = allocations * i / points, .once = i % 2 == 0};
        size_t files = count_files("/proc/self/fd");
        assert_int_equal(attempt(&few, arg), NUC_NO_MEMORY);
        assert_true(few.failed);
        assert_int_equal(few.live, 0);
        assert_int_equal(count_files("/proc/self/fd"), files);
    }
}

struct context_call {
    void (*fn)(struct nuc_context *cx, void *arg);
    void *arg;
};

static inline enum nuc_status attempt_call(struct failing_memory *m, void *arg)
{
    const struct context_call *call = arg;
    struct nuc_allocator allocator = {failing_allocate, m};
    struct nuc_context *cx = nuc_context_new(&allocator);

    if (cx == NULL)
        return NUC_NO_MEMORY;
    enum nuc_status status = nuc_try(cx, call->fn, call->arg);
    nuc_context_free(cx);
    return status;
}

/* The same for a function that runs in a context and has to succeed in the end. */
static inline long run_call_out_of_memory(void (*fn)(struct nuc_context *cx, void *arg), void *arg)
{
    struct context_call call = {fn, arg};

    return run_out_of_memory(attempt_call, &call, 0, NUC_OK);
}

#endif
