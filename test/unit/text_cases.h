/*
 * Cases in text files, of test/unit. A file holds comments, lines that begin with '#', and cases:
 *
 *   == NAME
 *   lines
 *
 * What the lines mean is up to the test; for_lines() knows those of graphs and what is expected of them. Each case runs
 * in a context of its own.
 */
#ifndef NUC_TEST_TEXT_CASES_H
#define NUC_TEST_TEXT_CASES_H

#include "unit/contexts.h"

struct text_case {
    char *name, *lines; /* without comments; the check may write into them */
    const void *user;   /* of run_cases() */
};

/* The line at *at, whose end becomes the end of a text; *at moves on. NULL: there is none. */
static inline char *take_line(char **at)
{
    char *line = *at, *end = line + strcspn(line, "\n");

    if (*line == '\0')
        return NULL;
    *at = *end == '\0' ? end : end + 1;
    *end = '\0';
    return line;
}

/* What follows `mark`, where the text before it ends now; NULL without it. */
static inline char *split_at(char *text, const char *mark)
{
    char *found = strstr(text, mark);

    if (found == NULL)
        return NULL;
    *found = '\0';
    return found + strlen(mark);
}

/* The element type of that name, the first `length` characters of the text; NUC_DTYPE_COUNT: none. */
static inline enum nuc_dtype dtype_named(const char *text, size_t length)
{
    int d = 0;

    for (; d < NUC_DTYPE_COUNT; d++) {
        const char *name = nuc_dtype_name((enum nuc_dtype)d);
        if (strlen(name) == length && strncmp(text, name, length) == 0)
            break;
    }
    return (enum nuc_dtype)d;
}

/* The file without its comments; from test_calloc(). */
static inline char *read_cases(const char *file)
{
    char path[512], *text, *to;
    long size;

    snprintf(path, sizeof path, "%s/%s", NUCLEON_CASES, file);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("%s cannot be read", path);
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    text = to = test_calloc((size_t)size + 2, 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    fclose(f);
    for (char *at = text, *line; (line = take_line(&at)) != NULL;) {
        size_t length = strlen(line);
        if (*line == '#')
            continue;
        memmove(to, line, length);
        to += length;
        *to++ = '\n';
    }
    *to = '\0';
    return text;
}

/* Calls check(cx, struct text_case *) for each case. */
static inline void run_cases(const char *file, void (*check)(struct nuc_context *cx, void *arg), const void *user)
{
    char *text = read_cases(file), *next = split_at(text, "== ");

    assert_non_null(next);
    while (next != NULL) {
        struct text_case c = {.lines = next, .user = user};
        next = split_at(next, "\n== ");
        c.name = take_line(&c.lines);
        run_in_context(check, &c);
    }
    test_free(text);
}

/*
 * A line that is not one of a graph: "LEFT => RIGHT", "LEFT ! RIGHT" for a refusal, where LEFT may be missing, or
 * something else, with right NULL.
 */
struct text_line {
    const char *name;  /* of the case */
    const char *graph; /* the lines in front of it that begin with '%' */
    char *left, *right;
    bool refused;
    void *user;
};

/* Calls check(cx, &line) for each; a graph after a line with a result is another one. */
static inline void for_lines(struct nuc_context *cx, struct text_case *c,
                             void (*check)(struct nuc_context *cx, struct text_line *line), void *user)
{
    struct text_line l = {.name = c->name, .graph = "", .user = user};
    size_t results = 0, of_graph = 0;

    for (char *line; (line = take_line(&c->lines)) != NULL;) {
        if (*line == '%') {
            l.graph = nuc_format(cx, "%s%s\n", results == of_graph ? l.graph : "", line);
            of_graph = results;
        } else if (*line != '\0') {
            char *value = strncmp(line, "=> ", 3) == 0 || strncmp(line, "! ", 2) == 0 ? line : NULL;
            l.refused = value != NULL ? *line == '!' : strstr(line, " => ") == NULL;
            l.right = value != NULL ? strchr(line, ' ') + 1 : split_at(line, l.refused ? " ! " : " => ");
            l.left = value != NULL ? line + strlen(line) : line;
            results += l.right != NULL;
            check(cx, &l);
        }
    }
    assert_true(results > 0 && (results > of_graph || *l.graph == '\0')); /* no graph without a result */
}

/* An entry of a list of tests: the cases of a file, and what their `user` is. */
#define TEXT_TEST(file, check, user)                                                                                   \
    {                                                                                                                  \
        file, run_text_test, NULL, NULL, &(struct text_test)                                                           \
        {                                                                                                              \
            file, check, user                                                                                          \
        }                                                                                                              \
    }

struct text_test {
    const char *file;
    void (*check)(struct nuc_context *cx, void *arg);
    const void *user;
};

/* The same, of lines: for_lines() calls check(cx, &line), whose `user` is this one. */
#define LINE_TEST(file, check, user) TEXT_TEST(file, check_lines, (&(struct line_check){check, user}))

struct line_check {
    void (*check)(struct nuc_context *cx, struct text_line *line);
    void *user;
};

static inline void check_lines(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    const struct line_check *l = c->user;

    for_lines(cx, c, l->check, l->user);
}

static inline void run_text_test(void **state)
{
    const struct text_test *t = *state;

    run_cases(t->file, t->check, t->user);
}

#endif
