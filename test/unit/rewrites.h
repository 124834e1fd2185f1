/*
 * Graphs before and after a rewrite, from the files in test/unit/rewrites. Besides the text, what the graphs compute is
 * compared: the evaluator runs both on the same inputs and constants. Cases (text_cases.h) are
 *
 *   == NAME: STAGE
 *   lines of a graph
 *   => or "=> the same"; without it, only what the graph computes is compared
 *   lines of the graph after the stage
 */
#ifndef NUC_TEST_REWRITES_H
#define NUC_TEST_REWRITES_H

#include "graph_texts.h"
#include "random.h"
#include "text_cases.h"

#include <math.h>

#include "eval/eval.h"
#include "eval/eval_call.h"
#include "rewrite/passes.h"

/* What the cases of a file run. */
struct stage {
    const char *name;
    void (*run)(struct nuc_graph *g);
    const struct nuc_pass_list *passes[2]; /* these run where `run` is NULL */
    enum nuc_pass_mode mode;
    bool repeats; /* a second run still changes something */
};

/* Values in [-1, 1) for an input, [0.25, 1.25) for a constant, so that variances and divisors are sound. */
static inline void fill_values(float *data, size_t count, uint32_t seed, float from, float width)
{
    for (size_t i = 0; i < count; i++)
        data[i] = from + (float)next_random(&seed) * (width / 16777216.0f);
}

/* Constants without data; one whose name begins with "zero", or of another type than float32 and int8, holds zeros. */
static inline void fill_constants(struct nuc_graph *g)
{
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_static(n) || n->data != NULL)
            continue;
        const struct nuc_meta *m = &n->vals[0];
        size_t count = (size_t)nuc_elements(m);
        uint8_t *bytes = nuc_alloc(g->cx, nuc_bytes(m) + 1);
        if (m->dtype == NUC_F32 && strncmp(n->name, "zero", 4) != 0)
            fill_values((float *)(void *)bytes, count, n->id + 1, 0.25f, 1.0f);
        for (size_t i = 0; i < count && m->dtype == NUC_I8; i++)
            bytes[i] = (uint8_t)(i * 7);
        n->data = nuc_dense_data(g->cx, m, bytes);
    }
}

/* Inputs by position: integers of up to 100, and truths. */
static inline const void *input_values(struct nuc_graph *g, const struct nuc_node *input, uint32_t position)
{
    const struct nuc_meta *m = &input->vals[0];
    size_t count = (size_t)nuc_elements(m);
    float *values = nuc_alloc_array(g->cx, count, sizeof *values);

    fill_values(values, count, position + 77, -1.0f, 2.0f);
    if (m->dtype == NUC_F32)
        return values;
    void *data = nuc_alloc(g->cx, nuc_bytes(m));
    for (size_t i = 0; i < count; i++)
        nuc_store_number(m->dtype, data, i, m->dtype == NUC_BOOL ? values[i] > 0 : (double)values[i] * 100);
    return data;
}

/* Results of the graph, one array per result. */
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
        if (m->dtype != NUC_F32)
            assert_memory_equal(a[i], b[i], nuc_bytes(m));
        for (size_t k = 0; k < (size_t)nuc_elements(m) && m->dtype == NUC_F32; k++) {
            double x = (double)a[i][k], y = (double)b[i][k];
            if (!(fabs(x - y) <= 1e-5 * fmax(1.0, fabs(x))) && !(isinf(x) && isinf(y)))
                fail_msg("%s: result %u, element %zu is %g, was %g", name, i, k, y, x);
        }
    }
}

/* The evaluator computes neither composite operators nor what operators in place do to other names of a value. */
static inline bool is_evaluated(const struct nuc_graph *g, const struct stage *stage)
{
    bool expands = strcmp(stage->name, "expand") == 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if ((n->in_place && expands) || nuc_op_family(n->op) == NUC_FAMILY_COMPOSITE)
            return false;
    }
    return true;
}

struct stages {
    const struct stage *items;
    size_t count;
};

static inline void run_stage(struct nuc_graph *g, const struct stage *stage)
{
    if (stage->run != NULL)
        stage->run(g);
    for (size_t i = 0; i < 2 && stage->passes[i] != NULL; i++)
        nuc_run_passes(g, stage->passes[i], stage->mode, NULL);
}

static inline void check_rewrite(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    const struct stages *stages = c->user;
    const struct stage *stage = NULL;
    char *name = split_at(c->name, ": "), *after = split_at(c->lines, "=>");

    assert_non_null(name);
    for (size_t i = 0; i < stages->count; i++) {
        if (strcmp(stages->items[i].name, name) == 0)
            stage = &stages->items[i];
    }
    if (stage == NULL)
        fail_msg("%s: there is no stage '%s'", c->name, name);
    struct nuc_graph *g = parse_graph(cx, c->lines);
    fill_constants(g);
    struct nuc_graph *before = nuc_graph_copy(g);
    run_stage(g, stage);
    nuc_graph_verify(g, c->name);
    const char *printed = nuc_graph_print(g, false);
    if (after != NULL)
        assert_graph(g, strcmp(take_line(&after), " the same") == 0 ? c->lines : after);
    if (is_evaluated(before, stage))
        compare_results(c->name, before, g);
    if (stage->repeats)
        return;
    run_stage(g, stage);
    if (strcmp(nuc_graph_print(g, false), printed) != 0)
        fail_msg("%s: a second run gives\n%s", c->name, nuc_graph_print(g, false));
}

/* An entry of a list of tests: the cases of a file, by a table of stages. */
#define REWRITE_TEST(file, stages)                                                                                     \
    TEXT_TEST("rewrites/" file, check_rewrite, &((const struct stages){stages, sizeof(stages) / sizeof *(stages)}))

#endif
