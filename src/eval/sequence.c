#include "eval/sequence.h"

#include <string.h>

struct nuc_sequence {
    struct nuc_graph *g;
    struct nuc_states states;
    size_t n_inputs;
    const void **inputs;   /* the user's, then the states */
    uint8_t **now, **next; /* by state */
};

struct nuc_sequence *nuc_sequence_new(struct nuc_graph *g)
{
    struct nuc_sequence *s = nuc_alloc(g->cx, sizeof *s);

    s->g = g;
    s->states = nuc_states_of(g);
    for (const struct nuc_node *n = g->first; n != NULL && nuc_is_placeholder(n); n = n->next)
        s->n_inputs += nuc_is_user_input(n);
    s->inputs = nuc_alloc_array(g->cx, s->n_inputs + s->states.count, sizeof(void *));
    s->now = nuc_alloc_array(g->cx, s->states.count, sizeof *s->now);
    s->next = nuc_alloc_array(g->cx, s->states.count, sizeof *s->next);
    for (size_t i = 0; i < s->states.count; i++) {
        s->now[i] = nuc_alloc(g->cx, nuc_bytes(&s->states.nodes[i]->vals[0]));
        s->next[i] = nuc_alloc(g->cx, nuc_bytes(&s->states.nodes[i]->vals[0]));
    }
    nuc_sequence_reset(s);
    return s;
}

void nuc_sequence_reset(struct nuc_sequence *s)
{
    for (size_t i = 0; i < s->states.count; i++)
        memcpy(s->now[i], nuc_const_contiguous(s->g, s->states.nodes[i]), nuc_bytes(&s->states.nodes[i]->vals[0]));
}

const void *const *nuc_sequence_inputs(struct nuc_sequence *s, const void *const *inputs)
{
    if (s->states.count == 0)
        return inputs;
    for (size_t i = 0; i < s->n_inputs; i++)
        s->inputs[i] = inputs[i];
    for (size_t i = 0; i < s->states.count; i++)
        s->inputs[s->n_inputs + i] = s->now[i];
    return s->inputs;
}

/* All are read before any is written: what a state becomes may be another one. */
void nuc_sequence_advance(struct nuc_sequence *s, const struct nuc_evaluator *e)
{
    for (size_t i = 0; i < s->states.count; i++)
        memcpy(s->next[i], nuc_eval_result_data(e, s->states.first_next + i), nuc_bytes(&s->states.nodes[i]->vals[0]));
    for (size_t i = 0; i < s->states.count; i++) {
        uint8_t *now = s->now[i];
        s->now[i] = s->next[i];
        s->next[i] = now;
    }
}
