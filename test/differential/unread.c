/*
 * unread [--graphs N] [--first SEED]: what random networks compute of which only parts of the results are read, before
 * and after nothing else is computed. Sums of floats may be taken in another order. Exit code 0 when everything held,
 * and values were computed in part.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"
#include "npu/layout/orders.h"
#include "npu/target/target.h"
#include "random_graph.h"
#include "rewrite/insert.h"
#include "rewrite/passes.h"
#include "rewrite/passes/unread.h"

/* A part of each result along one or two dimensions. */
static void take_parts(struct nuc_graph *g, struct random_state *r)
{
    struct nuc_node *output = nuc_output_node(g);
    const struct nuc_arg *values = &output->args[NUC_ARG(OUTPUT, values)];
    struct nuc_node **parts = nuc_alloc_array(g->cx, values->count, sizeof(struct nuc_node *));

    for (uint32_t i = 0; i < values->count; i++) {
        parts[i] = values->u.nodes[i];
        const struct nuc_meta m = parts[i]->vals[0];
        for (uint32_t k = 0; k < 2 && m.rank > 0 && !nuc_is_placeholder(parts[i]); k++) {
            uint32_t dim = (uint32_t)random_in(r, 0, m.rank - 1);
            int64_t size = parts[i]->vals[0].sizes[dim], start = random_in(r, 0, size - 1);
            parts[i] = nuc_insert_part(g, output, parts[i], dim, start, random_in(r, start + 1, size));
        }
    }
    nuc_set_arg_nodes(output, g, NUC_ARG(OUTPUT, values), parts, values->count);
}

static void run(struct nuc_graph *g, const struct random_graph *random, uint64_t seed, void ***results)
{
    struct nuc_evaluator *e = nuc_eval_new(g, 1);
    struct random_state r = random_seeded(seed);
    const void **inputs = nuc_alloc_array(g->cx, nuc_eval_n_inputs(e) + 1, sizeof(void *));

    for (size_t i = 0; i < nuc_eval_n_inputs(e); i++) {
        size_t count = (size_t)nuc_elements(&nuc_eval_input(e, i)->vals[0]);
        float *values = nuc_alloc_array(g->cx, count, sizeof *values);
        for (size_t k = 0; k < count; k++)
            values[k] = random_float(&r, random->low[i], random->high[i]);
        inputs[i] = values;
    }
    *results = nuc_alloc_array(g->cx, nuc_eval_n_outputs(e) + 1, sizeof(void *));
    for (size_t i = 0; i < nuc_eval_n_outputs(e); i++)
        (*results)[i] = nuc_alloc(g->cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]) + 1);
    nuc_eval_run(e, inputs, *results);
}

static bool is_close(const struct nuc_meta *m, const void *a, const void *b)
{
    const float *x = a, *y = b;
    float most = 1;

    if (m->dtype != NUC_F32)
        return memcmp(a, b, nuc_bytes(m)) == 0;
    for (int64_t i = 0; i < nuc_elements(m); i++)
        most = fmaxf(most, fabsf(x[i]));
    for (int64_t i = 0; i < nuc_elements(m); i++) {
        if (!(fabsf(x[i] - y[i]) <= 1e-5f * most) && !(isnan(x[i]) && isnan(y[i])) &&
            memcmp(&x[i], &y[i], sizeof *x) != 0)
            return false;
    }
    return true;
}

struct trial {
    uint64_t seed;
    bool narrowed, good; /* something was left out; the results are the same */
};

static void check(struct nuc_context *cx, void *arg)
{
    struct trial *t = arg;
    struct random_state r = random_seeded(t->seed);
    struct random_graph random = random_graph_make(cx, t->seed, (unsigned)random_in(&r, 1, 25));
    struct nuc_graph *g = random.graph;
    void **before, **after;

    nuc_expand(g);
    nuc_run_passes(g, &nuc_aten_passes, NUC_PASSES_DEFAULT, NULL);
    take_parts(g, &r);
    nuc_refresh_layouts(g);
    struct nuc_graph *all = nuc_graph_copy(g);
    t->narrowed = nuc_leave_unread(g, nuc_target_find(cx, "cortex-m33"), true);
    nuc_refresh_layouts(g);
    nuc_graph_verify(g, "unread");
    run(all, &random, t->seed, &before);
    run(g, &random, t->seed, &after);
    const struct nuc_arg *a = &nuc_output_node(all)->args[0], *b = &nuc_output_node(g)->args[0];
    t->good = true;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct nuc_meta *m = &a->u.nodes[i]->vals[0];
        t->good = t->good && nuc_same_sizes(m, &b->u.nodes[i]->vals[0]) && is_close(m, before[i], after[i]);
    }
    if (!t->good)
        fprintf(stderr, "seed %llu: other results; of\n%s\nit makes\n%s\n", (unsigned long long)t->seed,
                nuc_graph_print(all, false), nuc_graph_print(g, false));
}

int main(int argc, char **argv)
{
    uint64_t first = 0, count = 100, n_narrowed = 0, bad = 0;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--first") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--graphs") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else
            return 2;
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct trial t = {.seed = seed};
        struct nuc_context *cx = nuc_context_new(NULL);
        if (nuc_try(cx, check, &t) != NUC_OK)
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, cx->message);
        bad += !t.good;
        n_narrowed += t.narrowed;
        nuc_context_free(cx);
    }
    printf("unread: %llu networks, %llu computed in part, %llu failed\n", (unsigned long long)count,
           (unsigned long long)n_narrowed, (unsigned long long)bad);
    return bad == 0 && n_narrowed > 0 ? 0 : 1;
}
