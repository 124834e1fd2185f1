#include "compiler/quantize/bias_choice.h"

#include <math.h>
#include <string.h>

#include "compiler/eval/sqnr.h"

#define LEAST_SAMPLES 4

/* Values a run may compute, all samples together: some tenths of a second. */
#define MOST_VALUES ((int64_t)50000000)

struct nuc_choice_samples *nuc_choice_samples_new(const struct nuc_graph *g)
{
    struct nuc_choice_samples *s = nuc_alloc(g->cx, sizeof *s);
    int64_t values = 1;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_vals && nuc_is_call(n); i++)
            values += nuc_elements(&n->vals[i]);
    }
    int64_t wanted = MOST_VALUES / values;
    wanted = wanted > LEAST_SAMPLES ? wanted : LEAST_SAMPLES;
    s->wanted = wanted < NUC_CHOICE_MOST ? (size_t)wanted : NUC_CHOICE_MOST;
    return s;
}

void nuc_choice_keep(struct nuc_context *cx, struct nuc_choice_samples *s, const struct nuc_evaluator *e,
                     const void *const *inputs)
{
    size_t k = s->count++;

    s->n_inputs = nuc_eval_n_inputs(e);
    s->n_outputs = nuc_eval_n_outputs(e);
    s->inputs[k] = nuc_alloc_array(cx, s->n_inputs, sizeof(void *));
    s->outputs[k] = nuc_alloc_array(cx, s->n_outputs, sizeof(void *));
    for (size_t i = 0; i < s->n_inputs; i++)
        s->inputs[k][i] = nuc_copy(cx, inputs[i], nuc_bytes(&nuc_eval_input(e, i)->vals[0]));
    for (size_t i = 0; i < s->n_outputs; i++)
        s->outputs[k][i] = nuc_alloc(cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]));
}

/* Sum over the float outputs of noise power / signal power. */
static double relative_noise(const struct nuc_choice_samples *s, struct nuc_graph *g, unsigned threads)
{
    struct nuc_arena *outer = nuc_push_arena(g->cx);
    struct nuc_evaluator *e = nuc_eval_new(g, threads);
    struct nuc_sqnr *sums = nuc_alloc_array(g->cx, s->n_outputs, sizeof *sums);
    void **outputs = nuc_alloc_array(g->cx, s->n_outputs, sizeof *outputs);
    double total = 0;

    for (size_t i = 0; i < s->n_outputs; i++)
        outputs[i] = nuc_alloc(g->cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]));
    for (size_t k = 0; k < s->count; k++) {
        nuc_eval_run(e, s->inputs[k], outputs);
        for (size_t i = 0; i < s->n_outputs; i++) {
            const struct nuc_meta *m = &nuc_eval_output(e, i)->vals[0];
            if (m->dtype == NUC_F32)
                nuc_sqnr_add(&sums[i], s->outputs[k][i], outputs[i], (size_t)nuc_elements(m));
        }
    }
    for (size_t i = 0; i < s->n_outputs; i++)
        total += sums[i].signal > 0 ? sums[i].noise / sums[i].signal : sums[i].noise;
    nuc_pop_arena(g->cx, outer);
    return total;
}

struct nuc_graph *nuc_choose_graph(const struct nuc_choice_samples *s, struct nuc_graph *a, struct nuc_graph *b,
                                   unsigned threads)
{
    double noise_a = relative_noise(s, a, threads), noise_b = relative_noise(s, b, threads);

    return noise_b < noise_a || (isnan(noise_a) && !isnan(noise_b)) ? b : a;
}
