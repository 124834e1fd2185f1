/* Small graphs for the tests of the evaluator: read from text, constants bound to arrays, run on one input. */
#ifndef NUC_TEST_EVAL_GRAPHS_H
#define NUC_TEST_EVAL_GRAPHS_H

#include "unit/quantized_text.h"
#include "unit/random.h"

#include "eval/eval.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/*
 * A graph from a format of the shorthand in quantized_text.h in which '$' stands for '%':
 * graph_of("$x = input : float32[%d]; $y = %s($x)", 4, "aten.relu.default").
 */
__attribute__((format(printf, 2, 0))) static inline struct nuc_graph *graph_from(struct nuc_context *cx,
                                                                                 const char *format, va_list args)
{
    char text[4096];
    int length = vsnprintf(text, sizeof text, format, args);

    assert_true(length > 0 && (size_t)length < sizeof text);
    for (char *p = text; *p != '\0'; p++)
        *p = *p == '$' ? '%' : *p;
    return parse_quantized(cx, text);
}

__attribute__((format(printf, 2, 3))) static inline struct nuc_graph *graph_in(struct nuc_context *cx,
                                                                               const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct nuc_graph *g = graph_from(cx, format, args);
    va_end(args);
    return g;
}

/* In a context of its own. */
__attribute__((format(printf, 1, 2))) static inline struct nuc_graph *graph_of(const char *format, ...)
{
    struct nuc_context *cx = nuc_context_new(NULL);
    va_list args;

    assert_non_null(cx);
    va_start(args, format);
    struct nuc_graph *g = graph_from(cx, format, args);
    va_end(args);
    return g;
}

static inline void free_graph(struct nuc_graph *g)
{
    nuc_context_free(g->cx);
}

/* "[2, 3]" for a format; good until it was called 16 times more. */
static inline const char *list_of(const int64_t *values, size_t count)
{
    static char texts[16][128];
    static unsigned next;
    char *text = texts[next++ % 16];
    int length = snprintf(text, sizeof texts[0], "[");

    for (size_t i = 0; i < count && length + 24 < (int)sizeof texts[0]; i++)
        length += snprintf(text + length, sizeof texts[0] - (size_t)length, "%s%lld", i == 0 ? "" : ", ",
                           (long long)values[i]);
    snprintf(text + length, sizeof texts[0] - (size_t)length, "]");
    return text;
}

/* The elements of a constant, dense in its dim order; not copied. */
static inline void bind(struct nuc_graph *g, const char *name, const void *elements)
{
    struct nuc_node *node = node_of(g, name);

    node->data = nuc_dense_data(g->cx, &node->vals[0], elements);
}

/* Runs a graph of one input and one output; the output's type. */
static inline const struct nuc_meta *evaluate(struct nuc_graph *g, const void *in, void *out)
{
    struct nuc_evaluator *e = nuc_eval_new(g, 1);

    nuc_eval_run(e, &in, &out);
    return &nuc_eval_output(e, 0)->vals[0];
}

/* Deterministic values in [-1, 1) with 12 significant bits. */
static inline float next_float(uint32_t *seed)
{
    return (float)((int32_t)(next_random(seed) >> 12) - 2048) / 2048.0f;
}

static inline void fill_floats(uint32_t *seed, float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = next_float(seed);
}

/* Equal bit for bit, but for the sign of zero. */
static inline void assert_floats(const float *got, const float *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(got[i] == expected[i]) && !(got[i] != got[i] && expected[i] != expected[i]))
            fail_msg("element %zu is %.9g instead of %.9g", i, (double)got[i], (double)expected[i]);
    }
}

#endif
