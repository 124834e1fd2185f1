#include "eval/sequence.h"

#include <string.h>

struct nuc_sequence {
    struct nuc_graph *g;
    size_t n_inputs, n_states;
    const void **inputs; /* the user's, then the states */
    const struct nuc_node **states;
    uint8_t **now, **next; /* by state */
};

struct nuc_sequence *nuc_sequence_new(struct nuc_graph *g)
{
    struct nuc_sequence *s = nuc_alloc(g->cx, sizeof *s);

    s->g = g;
    s->states = nuc_alloc_array(g->cx, g->n_nodes, sizeof(struct nuc_node *));
    for (const struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next) {
        s->n_inputs += nuc_is_user_input(n);
        if (nuc_is_state(n))
            s->states[s->n_states++] = n;
    }
    s->inputs = nuc_alloc_array(g->cx, s->n_inputs + s->n_states, sizeof(void *));
    s->now = nuc_alloc_array(g->cx, s->n_states, sizeof *s->now);
    s->next = nuc_alloc_array(g->cx, s->n_states, sizeof *s->next);
    for (size_t i = 0; i < s->n_states; i++) {
        s->now[i] = nuc_alloc(g->cx, nuc_bytes(&s->states[i]->vals[0]));
        s->next[i] = nuc_alloc(g->cx, nuc_bytes(&s->states[i]->vals[0]));
    }
    nuc_sequence_reset(s);
    return s;
}

void nuc_sequence_reset(struct nuc_sequence *s)
{
    for (size_t i = 0; i < s->n_states; i++)
        memcpy(s->now[i], nuc_const_contiguous(s->g, s->states[i]), nuc_bytes(&s->states[i]->vals[0]));
}

const void *const *nuc_sequence_inputs(struct nuc_sequence *s, const void *const *inputs)
{
    if (s->n_states == 0)
        return inputs;
    for (size_t i = 0; i < s->n_inputs; i++)
        s->inputs[i] = inputs[i];
    for (size_t i = 0; i < s->n_states; i++)
        s->inputs[s->n_inputs + i] = s->now[i];
    return s->inputs;
}

/* All are read before any is written: what a state becomes may be another one. */
void nuc_sequence_advance(struct nuc_sequence *s, const struct nuc_evaluator *e)
{
    const size_t first = s->n_states > 0 ? nuc_n_results(s->g) : 0;

    for (size_t i = 0; i < s->n_states; i++)
        memcpy(s->next[i], nuc_eval_result_data(e, first + i), nuc_bytes(&s->states[i]->vals[0]));
    for (size_t i = 0; i < s->n_states; i++) {
        uint8_t *now = s->now[i];
        s->now[i] = s->next[i];
        s->next[i] = now;
    }
}
