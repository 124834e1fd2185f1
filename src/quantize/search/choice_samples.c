#include "quantize/search/choice_samples.h"

#include <string.h>

#include "ir/args.h"
#include "ir/conv_args.h"

#define LEAST_SAMPLES 4

/* Multiply-accumulates of a run on all samples that are kept: some tenths of a second. */
#define MOST_COST 2e9

/* An element of a result takes as long as so many of them, besides its products. */
#define ELEMENT 4.0

static double elements(const struct nuc_node *node)
{
    return node == NULL || node->n_vals == 0 ? 0 : (double)nuc_elements(&node->vals[0]);
}

static double last_size(const struct nuc_node *node)
{
    const struct nuc_meta *m = node == NULL || node->n_vals == 0 ? NULL : &node->vals[0];

    return m == NULL || m->rank == 0 || m->sizes[m->rank - 1] == 0 ? 1 : (double)m->sizes[m->rank - 1];
}

static double products(const struct nuc_node *node)
{
    const struct nuc_conv_args *conv = nuc_conv_args(node->op);

    if (conv != NULL) {
        const struct nuc_node *weight = nuc_arg_node(node, NUC_CONV_WEIGHT);
        const struct nuc_node *over = conv->transposed ? nuc_arg_node(node, NUC_CONV_INPUT) : node;
        double rows = weight == NULL || weight->vals[0].sizes[0] == 0 ? 1 : (double)weight->vals[0].sizes[0];
        return elements(over) * elements(weight) / rows;
    }
    if (nuc_op_family(node->op) == NUC_FAMILY_RECURRENT) {
        /* Every step of the sequence goes through all weights. */
        const struct nuc_node *sequence = nuc_arg_node(node, NUC_SELF);
        struct nuc_cursor at = {0, 0};
        double weights = 0;
        for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at))
            weights += nuc_is_static(in) ? elements(in) : 0;
        return elements(sequence) / last_size(sequence) * weights;
    }
    if (nuc_op_family(node->op) == NUC_FAMILY_MATRIX)
        return elements(node) * last_size(nuc_arg_node(node, node->op == NUC_OP_ADDMM ? 1 : 0));
    return 0;
}

double nuc_node_cost(const struct nuc_node *node)
{
    return nuc_is_call(node) ? ELEMENT * elements(node) + products(node) : 0;
}

double nuc_run_cost(const struct nuc_graph *g)
{
    double sum = 1;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        sum += nuc_node_cost(n);
    return sum;
}

struct nuc_choice_samples *nuc_choice_samples_new(const struct nuc_graph *g, double effort)
{
    struct nuc_choice_samples *s = nuc_alloc(g->cx, sizeof *s);
    double wanted = effort * MOST_COST / nuc_run_cost(g);

    wanted = wanted > LEAST_SAMPLES ? wanted : LEAST_SAMPLES;
    s->wanted = wanted < NUC_CHOICE_MOST ? (size_t)wanted : NUC_CHOICE_MOST;
    s->stride = 1;
    return s;
}

unsigned nuc_sample_part(size_t number)
{
    unsigned ones = 0;

    for (; number != 0; number &= number - 1)
        ones++;
    return ones % 2;
}

/* What every other sample leaves is used again. */
static void thin_out(struct nuc_choice_samples *s)
{
    for (size_t i = 1; 2 * i < s->count; i++) {
        void **inputs = s->inputs[i];
        void **outputs = s->outputs[i];
        s->inputs[i] = s->inputs[2 * i];
        s->outputs[i] = s->outputs[2 * i];
        s->inputs[2 * i] = inputs;
        s->outputs[2 * i] = outputs;
        s->part[i] = s->part[2 * i];
    }
    s->count = (s->count + 1) / 2;
    s->stride *= 2;
}

void **nuc_choice_keep(struct nuc_context *cx, struct nuc_choice_samples *s, const struct nuc_evaluator *e,
                       const void *const *inputs)
{
    size_t number = s->seen++;

    if (s->count == s->wanted && number % (2 * s->stride) == 0)
        thin_out(s);
    if (s->count == s->wanted || number % s->stride != 0)
        return NULL;
    size_t k = s->count++;
    if (s->outputs[k] == NULL) {
        s->n_inputs = nuc_eval_n_inputs(e);
        s->n_outputs = nuc_eval_n_outputs(e);
        s->inputs[k] = nuc_alloc_array(cx, s->n_inputs, sizeof(void *));
        s->outputs[k] = nuc_alloc_array(cx, s->n_outputs, sizeof(void *));
        for (size_t i = 0; i < s->n_inputs; i++)
            s->inputs[k][i] = nuc_alloc(cx, nuc_bytes(&nuc_eval_input(e, i)->vals[0]));
        for (size_t i = 0; i < s->n_outputs; i++)
            s->outputs[k][i] = nuc_alloc(cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]));
    }
    for (size_t i = 0; i < s->n_inputs; i++)
        memcpy(s->inputs[k][i], inputs[i], nuc_bytes(&nuc_eval_input(e, i)->vals[0]));
    s->part[k] = nuc_sample_part(number);
    return s->outputs[k];
}
