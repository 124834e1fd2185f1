/*
 * Text cases (text_cases.h) of float networks under options of the compiler:
 *
 *   lines of the graph, in the shorthand of quantized_text.h
 *   --cpu int8 --placement greedy => RESULT
 */
#ifndef NUC_TEST_COMPILED_LINES_H
#define NUC_TEST_COMPILED_LINES_H

#include "quantized_text.h"
#include "text_cases.h"

#include "driver/driver.h"
#include "nucleon/options.h"

/* Checks the network, which is not quantized yet, in its compiler. */
struct network_check {
    void (*check)(struct nuc_context *cx, struct nuc_model *m, const struct text_line *line);
};

struct compiled_line {
    const struct text_line *line;
    struct nuc_compiler *c;
};

static inline void check_compiled(struct nuc_context *cx, void *arg)
{
    const struct compiled_line *l = arg;
    const struct network_check *k = l->line->user;

    k->check(cx, nuc_model_make(l->c, parse_quantized(cx, l->line->graph)), l->line);
}

/* Options as on a command line, each with a value; cuts the text into words. */
static inline void set_options(struct nuc_compiler *c, char *options)
{
    for (const char *word = strtok(options, " "); word != NULL; word = strtok(NULL, " "))
        assert_int_equal(nuc_option_set(c, word, strtok(NULL, " ")), NUC_OK);
}

static inline void compile_line(struct nuc_context *cx, struct text_line *line)
{
    struct compiled_line l = {line, nuc_compiler_new(NULL, NULL)};

    assert_non_null(l.c);
    assert_int_equal(nuc_option_set(l.c, "threads", "1"), NUC_OK);
    set_options(l.c, line->left);
    if (nuc_try(l.c->cx, check_compiled, &l) != NUC_OK)
        fail_msg("%s: %s", line->name, nuc_compiler_message(l.c));
    nuc_compiler_free(l.c);
}

/* An entry of a list of tests: check(cx, model, &line) for each line of a file. */
#define COMPILED_TEST(file, check) LINE_TEST(file, compile_line, (&(struct network_check){check}))

#endif
