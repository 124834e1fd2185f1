/*
 * States that are sums of what came before: a running sum, a mean, a count. In int8 each step rounds them, and a step
 * whose change is less than half a number is lost, so that errors add up over a sequence, which samples one by one do
 * not show. The float model runs over the calibration's sequences once more with such a state rounded after each step;
 * a state whose rounding alone takes more than half a decibel off 40 dB stays float32, with the operators that lead to
 * its next value. How much the network loses elsewhere does not count: in part that is what samples show of these
 * states, which makes the worst of them look harmless, and it is to fall by what else is done about it.
 */
#include "quantize/search/running_sums.h"

#include <math.h>
#include <string.h>

#include "eval/sequence.h"
#include "host/numbers.h"
#include "ir/args.h"
#include "quantize/calibration.h"
#include "quantize/search/choice_samples.h"
#include "quantize/search/width_choice.h"

/* Decibels that the rounding of a state may take off NUC_SMALL_ERROR. */
#define MOST_LOSS 0.5

/* Of all runs (choice_samples.h); a sequence is not judged beyond it. */
#define MOST_WORK 1e9

struct judging {
    struct nuc_calibration *c;
    struct nuc_graph *g;
    const struct nuc_steps *steps;
    struct nuc_evaluator *exact, *rounded;
    struct nuc_sequence *sequence;
    struct nuc_states states;
    float **given; /* by state: what the rounded run reads */
    size_t n_steps;
};

static bool is_sum_or_product(const struct nuc_node *node)
{
    return node->op == NUC_OP_ADD || node->op == NUC_OP_SUB || node->op == NUC_OP_MUL || node->op == NUC_OP_DIV;
}

/* What a state may pass on the way to its next value: an error of it is one of about that size afterwards. */
static bool passes_on(const struct nuc_node *node)
{
    return is_sum_or_product(node) || nuc_op_rearranges(node->op) || nuc_has_bounds(node) ||
           nuc_op_is_in(node->op, NUC_OPS(NUC_OP_WHERE, NUC_OP_MAXIMUM, NUC_OP_MINIMUM));
}

static bool follows_any(const struct nuc_node *node, const bool *follow)
{
    struct nuc_cursor at = {0, 0};
    const struct nuc_node *in = nuc_next_input(node, &at);

    while (in != NULL && !follow[in->id])
        in = nuc_next_input(node, &at);
    return in != NULL;
}

/*
 * Whether the next value is a sum or product of the state and others, perhaps bounded, chosen or moved. path[id]: of
 * the nodes on the way.
 */
static bool sums_up(const struct nuc_graph *g, const struct nuc_node *next, const struct nuc_node *state, bool *path)
{
    bool *follow = nuc_alloc_array(g->cx, g->next_id, sizeof *follow), sums = false;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        follow[n->id] = n == state || (passes_on(n) && follows_any(n, follow));
    for (const struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        path[n->id] = n == next && follow[n->id];
        for (uint32_t i = 0; i < n->n_users && !path[n->id]; i++)
            path[n->id] = follow[n->id] && path[n->users[i]->id];
        sums |= path[n->id] && is_sum_or_product(n);
    }
    return sums;
}

/* The parameters of a state; false: it stays float32 anyway. */
static bool find_parameters(const struct judging *s, const struct nuc_node *state, struct nuc_observation *out)
{
    for (size_t i = 0; i < nuc_quantize_n_observations(s->c); i++) {
        nuc_quantize_observation(s->c, i, out);
        if (out->node == state && out->scale != NULL && out->quant_max - out->quant_min < 256)
            return true;
    }
    return false;
}

static void round_values(const struct nuc_observation *o, const float *from, float *to, size_t count)
{
    double scale = (double)o->scale[0], zero = (double)o->zero_point[0];

    for (size_t k = 0; k < count; k++) {
        double q = nearbyint((double)from[k] / scale) + zero;
        q = fmin(fmax(q, (double)o->quant_min), (double)o->quant_max);
        to[k] = (float)((q - zero) * scale);
    }
}

static size_t elements(const struct nuc_node *node)
{
    return (size_t)nuc_elements(&node->vals[0]);
}

/* What the rounded run begins with, or goes on with. */
static void give_states(const struct judging *s, size_t judged, const struct nuc_observation *o, bool begins)
{
    for (size_t i = 0; i < s->states.count; i++) {
        const void *next = begins ? nuc_const_contiguous(s->g, s->states.nodes[i])
                                  : nuc_eval_result_data(s->rounded, s->states.first_next + i);
        if (i == judged)
            round_values(o, next, s->given[i], elements(s->states.nodes[i]));
        else
            memcpy(s->given[i], next, nuc_bytes(&s->states.nodes[i]->vals[0]));
    }
}

static void add_errors(const struct judging *s, struct nuc_sqnr *sums)
{
    for (size_t i = 0; i < nuc_n_results(s->g); i++) {
        const struct nuc_node *output = nuc_eval_output(s->exact, i);
        if (output->vals[0].dtype == NUC_F32)
            nuc_sqnr_add(&sums[i], nuc_eval_result_data(s->exact, i), nuc_eval_result_data(s->rounded, i),
                         elements(output));
    }
}

/* Error of the outputs relative to their power, summed over them, where state `judged` is rounded. */
static double error_of(const struct judging *s, size_t judged, const struct nuc_observation *o)
{
    const size_t n_inputs = s->steps->n_inputs;
    struct nuc_sqnr *sums = nuc_alloc_array(s->g->cx, nuc_n_results(s->g) + 1, sizeof *sums);
    const void **inputs = nuc_alloc_array(s->g->cx, n_inputs + s->states.count, sizeof(void *));
    double error = 0;

    for (size_t k = 0; k < s->n_steps; k++) {
        bool begins = s->steps->read(s->steps->user, k, inputs);
        if (begins)
            nuc_sequence_reset(s->sequence);
        nuc_eval_run(s->exact, nuc_sequence_inputs(s->sequence, inputs), NULL);
        nuc_sequence_advance(s->sequence, s->exact);
        give_states(s, judged, o, begins);
        for (size_t i = 0; i < s->states.count; i++)
            inputs[n_inputs + i] = s->given[i];
        nuc_eval_run(s->rounded, inputs, NULL);
        add_errors(s, sums);
    }
    for (size_t i = 0; i < nuc_n_results(s->g); i++)
        error += sums[i].signal > 0 ? sums[i].noise / sums[i].signal : 0;
    return error;
}

static void open_judging(struct judging *s)
{
    struct nuc_context *cx = s->g->cx;

    s->states = nuc_states_of(s->g);
    s->given = nuc_alloc_array(cx, s->states.count, sizeof *s->given);
    for (size_t i = 0; i < s->states.count; i++)
        s->given[i] = nuc_alloc(cx, nuc_bytes(&s->states.nodes[i]->vals[0]));
    s->n_steps = (size_t)fmin(MOST_WORK / nuc_run_cost(s->g), (double)s->steps->count);
    s->exact = nuc_eval_new(s->g, s->c->threads);
    s->rounded = nuc_eval_new(s->g, s->c->threads);
    s->sequence = nuc_sequence_new(s->g);
}

bool nuc_find_running_sums(struct nuc_calibration *c, const struct nuc_steps *steps,
                           void (*wide)(void *user, const struct nuc_node *state, const bool *path, double loss,
                                        size_t n_steps),
                           void *user)
{
    struct judging s = {.c = c, .g = c->g, .steps = steps};
    struct nuc_observation o;
    bool any = false;

    open_judging(&s);
    for (size_t i = 0; i < s.states.count; i++) {
        const struct nuc_node *state = s.states.nodes[i];
        const struct nuc_node *next =
            nuc_output_node(c->g)->args[NUC_ARG(OUTPUT, values)].u.nodes[s.states.first_next + i];
        bool *path = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *path);
        if (next == state || state->vals[0].dtype != NUC_F32 || !sums_up(c->g, next, state, path) ||
            !find_parameters(&s, state, &o))
            continue;
        double loss = 10 * log10(1 + error_of(&s, i, &o) / NUC_SMALL_ERROR);
        if (!(loss > MOST_LOSS))
            continue;
        wide(user, state, path, loss, s.n_steps);
        any = true;
    }
    return any;
}
