/*
 * Graphs before and after a rewrite. Besides the text, what the graphs compute is compared: the evaluator runs both on
 * the same inputs and constants.
 */
#ifndef NUC_TEST_REWRITES_H
#define NUC_TEST_REWRITES_H

#include "graph_texts.h"

#include <math.h>

#include "compiler/eval/eval.h"
#include "compiler/passes/passes.h"

struct rewrite {
    const char *name;
    void (*stage)(struct nuc_graph *g);
    const char *before;
    const char *after; /* NULL: only what it computes is compared */
};

/* Values in [-1, 1) for an input, [0.25, 1.25) for a constant, so that variances and divisors are sound. */
static inline void fill_values(float *data, size_t count, uint32_t seed, float from, float width)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = from + (float)(seed >> 8) * (width / 16777216.0f);
    }
}

/* A constant whose name begins with "zero" holds zeros. */
static inline void fill_constants(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_static(n) || n->vals[0].dtype != NUC_F32)
            continue;
        size_t count = (size_t)nuc_elements(&n->vals[0]);
        float *values = nuc_alloc_array(g->cx, count, sizeof *values);
        struct nuc_data *data = nuc_alloc(g->cx, sizeof *data);
        if (strncmp(n->name, "zero", 4) != 0)
            fill_values(values, count, n->id + 1, 0.25f, 1.0f);
        data->bytes = (struct nuc_span){(const uint8_t *)values, count * sizeof *values};
        nuc_dense_strides(&n->vals[0], data->strides);
        n->data = data;
    }
}

/* Inputs by position; bytes of an int8 input. */
static inline const void *input_values(struct nuc_graph *g, const struct nuc_node *input, uint32_t position)
{
    size_t count = (size_t)nuc_elements(&input->vals[0]);
    float *values = nuc_alloc_array(g->cx, count, sizeof *values);

    fill_values(values, count, position + 77, -1.0f, 2.0f);
    if (input->vals[0].dtype == NUC_F32)
        return values;
    int8_t *bytes = nuc_alloc(g->cx, count);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (int8_t)(values[i] * 100.0f);
    return bytes;
}

/* Results of the graph, one array a result. */
static inline float **run_graph(struct nuc_graph *g, uint32_t *n_outputs)
{
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    size_t n_in = nuc_eval_n_inputs(e), n_out = nuc_eval_n_outputs(e);
    const void **inputs = nuc_alloc_array(g->cx, n_in + 1, sizeof(void *));
    void **outputs = nuc_alloc_array(g->cx, n_out + 1, sizeof(void *));
    float **results = nuc_alloc_array(g->cx, n_out + 1, sizeof *results);

    for (size_t i = 0; i < n_in; i++)
        inputs[i] = input_values(g, nuc_eval_input(e, i), (uint32_t)i);
    for (size_t i = 0; i < n_out; i++)
        outputs[i] = results[i] = nuc_alloc(g->cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]));
    nuc_eval_run(e, inputs, outputs);
    *n_outputs = (uint32_t)n_out;
    return results;
}

static inline void compare_results(const char *name, struct nuc_graph *before, struct nuc_graph *after)
{
    uint32_t n_before, n_after;
    float **a = run_graph(before, &n_before), **b = run_graph(after, &n_after);
    const struct nuc_node *output = nuc_output_node(before);

    assert_int_equal(n_before, n_after);
    for (uint32_t i = 0; i < n_before; i++) {
        const struct nuc_meta *m = &output->args[0].u.nodes[i]->vals[0];
        assert_int_equal(m->dtype, NUC_F32);
        for (size_t k = 0; k < (size_t)nuc_elements(m); k++) {
            double x = (double)a[i][k], y = (double)b[i][k];
            if (!(fabs(x - y) <= 1e-5 * fmax(1.0, fabs(x))) && !(isinf(x) && isinf(y)))
                fail_msg("%s: result %u, element %zu is %g, was %g", name, i, k, y, x);
        }
    }
}

static inline void run_rewrite(struct nuc_context *cx, void *arg)
{
    const struct rewrite *r = arg;
    struct nuc_graph *g = parse_graph(cx, r->before);

    fill_constants(g);
    struct nuc_graph *before = nuc_graph_copy(g);
    r->stage(g);
    nuc_graph_verify(g, r->name);
    if (r->after != NULL)
        assert_string_equal(nuc_graph_print(g, false), nuc_format(cx, "nucleon-graph 1\n%s", r->after));
    compare_results(r->name, before, g);
}

static inline void run_rewrites(const struct rewrite *rewrites, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rewrite r = rewrites[i];
        run_in_context(run_rewrite, &r);
    }
}

#endif
