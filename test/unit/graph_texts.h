/* Tests that read a graph from text: each runs inside nuc_try, so that a failure shows its message. */
#ifndef NUC_TEST_GRAPH_TEXTS_H
#define NUC_TEST_GRAPH_TEXTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/graph/graph.h"

/* A graph from the lines behind "nucleon-graph 1". */
static inline struct nuc_graph *parse_graph(struct nuc_context *cx, const char *lines)
{
    struct nuc_graph *g = nuc_graph_parse(cx, "test", nuc_format(cx, "nucleon-graph 1\n%s", lines));

    nuc_graph_verify(g, "text");
    return g;
}

/* The graph prints as the one these lines describe. */
static inline void assert_graph(struct nuc_graph *g, const char *lines)
{
    const char *printed = nuc_graph_print(g, false);

    if (strcmp(printed, nuc_graph_print(parse_graph(g->cx, lines), false)) != 0)
        fail_msg("instead of\n%s\nit is\n%s", lines, printed);
}

static inline struct nuc_node *node_of(struct nuc_graph *g, const char *name)
{
    struct nuc_node *node = nuc_find_node(g, name);

    if (node == NULL)
        fail_msg("no node '%s'", name);
    return node;
}

/* Tensor argument `index`, which is there. */
static inline struct nuc_node *argument_of(const struct nuc_node *node, uint32_t index)
{
    struct nuc_node *argument = nuc_arg_node(node, index);

    if (argument == NULL) {
        fail_msg("'%s' has no tensor argument %u", node->name, index);
        abort();
    }
    return argument;
}

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
    assert_int_equal(nuc_try(cx, fn, arg), expected);
    if (strstr(cx->message, part) == NULL)
        fail_msg("message '%s' has no '%s'", cx->message, part);
    nuc_context_free(cx);
}

#endif
