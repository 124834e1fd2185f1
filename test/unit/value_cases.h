/*
 * Operators and the values they compute, from text (text_cases.h). A case is a graph of one input %x and one output in
 * the shorthand of quantized_text.h, and lines with the elements of %x and of the output, numbers or "inf", "nan":
 *
 *   lines of the graph
 *   VALUES => VALUES
 *
 * or, for several operators of the same values, whose results are %y:
 *
 *   VALUES
 *   CALL => VALUES
 *
 * Results are float32; "int8 1 2" are of another type. "! MESSAGE" in place of "=> VALUES" is a refusal.
 */
#ifndef NUC_TEST_VALUE_CASES_H
#define NUC_TEST_VALUE_CASES_H

#include "unit/quantized_text.h"
#include "unit/text_cases.h"

#include <math.h>

#include "eval/eval.h"

#define MOST_VALUES 64

struct value_case {
    const char *name, *graph;
    double in[MOST_VALUES], expected[MOST_VALUES];
    size_t n_in, n_expected;
    enum nuc_dtype dtype; /* of the result */
    const char *message;  /* of the refusal */
    const void *user;     /* of the text case */
};

typedef void check_values(struct nuc_context *cx, const struct value_case *c);

static inline size_t read_values(const char *text, double *values)
{
    size_t count = 0;
    char *end;

    for (const char *at = text; *at != '\0'; at = end + (*end == ' ')) {
        values[count] = strtod(at, &end);
        if (end == at || ++count == MOST_VALUES)
            fail_msg("'%s' are not up to %d numbers", text, MOST_VALUES - 1);
    }
    return count;
}

/* The element type whose name the text begins with, and after it a space, are taken off it; NUC_DTYPE_COUNT: none. */
static inline enum nuc_dtype take_dtype(const char **text)
{
    size_t length = strcspn(*text, " ");
    enum nuc_dtype dtype = (*text)[length] == ' ' ? dtype_named(*text, length) : NUC_DTYPE_COUNT;

    *text += dtype == NUC_DTYPE_COUNT ? 0 : length + 1;
    return dtype;
}

struct value_reader {
    struct value_case c;
    check_values *check;
};

static inline void read_value_line(struct nuc_context *cx, struct text_line *line)
{
    struct value_reader *r = line->user;
    struct value_case *c = &r->c;
    bool is_call = strchr(line->left, '(') != NULL;

    if (!is_call && *line->left != '\0')
        c->n_in = read_values(line->left, c->in);
    if (line->right == NULL)
        return;
    c->graph = is_call ? nuc_format(cx, "%s%%y = %s\n", line->graph, line->left) : line->graph;
    c->message = line->refused ? line->right : NULL;
    if (!line->refused) {
        const char *values = line->right;
        enum nuc_dtype dtype = take_dtype(&values);
        c->dtype = dtype == NUC_DTYPE_COUNT ? NUC_F32 : dtype;
        c->n_expected = read_values(values, c->expected);
    }
    r->check(cx, c);
}

/* Calls `check` for each line with a result. */
static inline void for_values(struct nuc_context *cx, struct text_case *text, check_values *check)
{
    struct value_reader r = {{.name = text->name, .user = text->user}, check};

    for_lines(cx, text, read_value_line, &r);
}

static inline void store_value(enum nuc_dtype dtype, void *data, size_t i, double value)
{
    if (dtype == NUC_F32)
        ((float *)data)[i] = (float)value;
    else if (dtype == NUC_I64)
        ((int64_t *)data)[i] = (int64_t)value;
    else if (dtype == NUC_I32)
        ((int32_t *)data)[i] = (int32_t)value;
    else if (dtype == NUC_I16)
        ((int16_t *)data)[i] = (int16_t)value;
    else
        ((uint8_t *)data)[i] = (uint8_t)(int)value;
}

static inline double load_value(enum nuc_dtype dtype, const void *data, size_t i)
{
    return dtype == NUC_F32   ? (double)((const float *)data)[i]
           : dtype == NUC_I64 ? (double)((const int64_t *)data)[i]
           : dtype == NUC_I32 ? ((const int32_t *)data)[i]
           : dtype == NUC_I16 ? ((const int16_t *)data)[i]
           : dtype == NUC_I8  ? ((const int8_t *)data)[i]
                              : ((const uint8_t *)data)[i];
}

/* The elements of %x in its type; aligned for each. */
static inline const void *values_of_input(struct nuc_graph *g, const struct value_case *c)
{
    const struct nuc_meta *m = &node_of(g, "x")->vals[0];
    int64_t *data = nuc_alloc_array(g->cx, c->n_in + 1, sizeof *data);

    assert_int_equal(nuc_elements(m), c->n_in);
    for (size_t i = 0; i < c->n_in; i++)
        store_value(m->dtype, data, i, c->in[i]);
    return data;
}

/* `by` computed `count` elements of a type; floats may differ by `tolerance`, relative but for small ones. */
static inline void compare_values(const struct value_case *c, const char *by, enum nuc_dtype dtype, const void *got,
                                  size_t count, double tolerance)
{
    if (dtype != c->dtype || count != c->n_expected)
        fail_msg("%s: %s: %zu elements of %s by the %s", c->name, c->graph, count, nuc_dtype_name(dtype), by);
    for (size_t i = 0; i < count; i++) {
        double value = load_value(dtype, got, i), want = c->expected[i];
        if (dtype == NUC_F32)
            want = (double)(float)want;
        bool near = fabs(value - want) <= tolerance * fmax(0.4, fabs(want));
        if (value != want && !(isnan(value) && isnan(want)) && !(near && dtype == NUC_F32))
            fail_msg("%s: %s: element %zu is %.9g by the %s, not %.9g", c->name, c->graph, i, value, by, want);
    }
}

static inline void evaluate_graph(struct nuc_graph *g, const struct value_case *c, double tolerance)
{
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    int64_t values[MOST_VALUES];
    void *out = values;

    const void *in = values_of_input(g, c);
    const struct nuc_meta *m = &nuc_eval_output(e, 0)->vals[0];
    assert_in_range(nuc_elements(m), 0, MOST_VALUES);
    nuc_eval_run(e, &in, &out);
    compare_values(c, "evaluator", m->dtype, values, (size_t)nuc_elements(m), tolerance);
}

static inline void evaluate_case(struct nuc_context *cx, const struct value_case *c, double tolerance)
{
    evaluate_graph(parse_quantized(cx, c->graph), c, tolerance);
}

#endif
