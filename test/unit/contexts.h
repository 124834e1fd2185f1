/* Tests in contexts of their own: each runs inside nuc_try, so that a failure shows its message. */
#ifndef NUC_TEST_CONTEXTS_H
#define NUC_TEST_CONTEXTS_H

#include "unit/test.h"

#include "host/context.h"

/* Runs fn(cx, arg) in a context of its own. */
static inline void run_in_context(void (*fn)(struct nuc_context *cx, void *arg), void *arg)
{
    struct nuc_context *cx = nuc_context_new(NULL);

    assert_non_null(cx);
    enum nuc_status status = nuc_try(cx, fn, arg);
    if (status != NUC_OK)
        print_error("%s\n", cx->message);
    assert_int_equal(status, NUC_OK);
    nuc_context_free(cx);
}

/* Rows of a table, how many, and the size of one. */
#define TABLE(rows) (rows), sizeof(rows) / sizeof *(rows), sizeof *(rows)

/* Runs check(cx, row) for each row of a table: run_rows(check, TABLE(cases)). */
static inline void run_rows(void (*check)(struct nuc_context *cx, void *row), const void *rows, size_t count,
                            size_t size)
{
    for (size_t i = 0; i < count; i++) {
        void *row = test_malloc(size);
        memcpy(row, (const char *)rows + i * size, size);
        run_in_context(check, row);
        test_free(row);
    }
}

/* Entries of a list of tests: a function that gets a context of its own, and one that gets each row of a table. */
#define CONTEXT_TEST(fn)                                                                                               \
    {                                                                                                                  \
#fn, run_context_test, NULL, NULL, &(context_test *)                                                           \
        {                                                                                                              \
            fn                                                                                                         \
        }                                                                                                              \
    }
#define ROW_TEST(check, rows)                                                                                          \
    {                                                                                                                  \
#rows, run_row_test, NULL, NULL, &(struct row_test)                                                            \
        {                                                                                                              \
            check, TABLE(rows)                                                                                         \
        }                                                                                                              \
    }

typedef void context_test(struct nuc_context *cx, void *arg);

static inline void run_context_test(void **state)
{
    context_test *const *fn = *state;

    run_in_context(*fn, NULL);
}

struct row_test {
    context_test *check;
    const void *rows;
    size_t count, size;
};

static inline void run_row_test(void **state)
{
    const struct row_test *t = *state;

    run_rows(t->check, t->rows, t->count, t->size);
}

/* Runs fn(cx, arg) as run_in_context(), for a call that has to fail; the message must contain `part`. */
static inline void expect_failure(void (*fn)(struct nuc_context *cx, void *arg), void *arg, enum nuc_status expected,
                                  const char *part)
{
    struct nuc_context *cx = nuc_context_new(NULL);

    assert_non_null(cx);
    enum nuc_status got = nuc_try(cx, fn, arg);
    if (got != expected)
        fail_msg("status %d: %s", (int)got, cx->message);
    if (strstr(cx->message, part) == NULL)
        fail_msg("message '%s' has no '%s'", cx->message, part);
    nuc_context_free(cx);
}

/* A test whose state is a context. */
#define STATE_TEST(fn) cmocka_unit_test_setup_teardown(fn, new_context, free_context)

static inline int new_context(void **state)
{
    *state = nuc_context_new(NULL);
    return *state == NULL;
}

static inline int free_context(void **state)
{
    nuc_context_free(*state);
    return 0;
}

#endif
