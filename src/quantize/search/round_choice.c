#include "quantize/search/round_choice.h"

#include <math.h>

#include "quantize/search/choice_samples.h"
#include "quantize/search/effect.h"
#include "quantize/search/round_weights.h"

/* Multiply-accumulates of a pass over the network from which on one half of the samples has to do, and two reaches. */
#define MOST_COST 4e9

/* Samples of one part of two, or all others. */
static struct nuc_choice_samples part_of(const struct nuc_choice_samples *all, unsigned part)
{
    struct nuc_choice_samples s = *all;

    s.count = 0;
    for (size_t k = 0; k < all->count; k++) {
        if (all->part[k] != part)
            continue;
        s.part[s.count] = part;
        s.inputs[s.count] = all->inputs[k];
        s.outputs[s.count++] = all->outputs[k];
    }
    return s;
}

/* Errors of the samples of one part, with the weights rounded for the other. */
static void hold_out(struct nuc_calibration *c, const float **biases, enum nuc_rounding_reach reach, unsigned part,
                     double *errors)
{
    struct nuc_choice_samples *all = c->samples, seen = part_of(all, 1 - part), others = part_of(all, part);
    const struct nuc_measured *measured = c->measured;
    struct nuc_arena *outer = nuc_push_arena(c->g->cx);
    struct nuc_converted q = nuc_convert_graph(c, biases);

    if (reach != NUC_ROUND_NOT)
        nuc_round_weights(c, &q, &seen, reach);
    c->samples = &others;
    nuc_measure_converted(c, &q, errors);
    c->samples = all;
    c->measured = measured;
    nuc_pop_arena(c->g->cx, outer);
}

/* Gains over errors without rounding have to stand out from how they differ from sample to sample. */
static double sure_gain(const double *without, const double *with, size_t count)
{
    double sum = 0, squares = 0, n = (double)count;

    for (size_t k = 0; k < count; k++) {
        double gain = without[k] - with[k];
        sum += gain;
        squares += gain * gain;
    }
    double variance = count < 2 ? 0 : (squares - sum * sum / n) / (n - 1);
    return sum / n - sqrt(fmax(variance, 0) / n);
}

static enum nuc_rounding_reach best_reach(struct nuc_calibration *c, const float **biases)
{
    bool cheap = nuc_rounding_cost(c, c->samples) < MOST_COST;
    enum nuc_rounding_reach best = NUC_ROUND_NOT;
    double without[NUC_CHOICE_MOST], with[NUC_CHOICE_MOST], most = 0;
    size_t first = part_of(c->samples, 0).count, count = cheap ? c->samples->count : first;

    if (first == 0 || first == c->samples->count)
        return NUC_ROUND_WEIGHTS;
    for (int reach = NUC_ROUND_NOT; reach <= NUC_ROUND_RESULTS; reach++) {
        double *errors = reach == NUC_ROUND_NOT ? without : with;
        if (!cheap && reach == NUC_ROUND_MEANS)
            continue;
        hold_out(c, biases, (enum nuc_rounding_reach)reach, 0, errors);
        if (cheap)
            hold_out(c, biases, (enum nuc_rounding_reach)reach, 1, errors + first);
        double gain = reach == NUC_ROUND_NOT ? 0 : sure_gain(without, with, count);
        if (!(gain > most))
            continue;
        most = gain;
        best = (enum nuc_rounding_reach)reach;
    }
    return best;
}

double nuc_choose_rounding(struct nuc_calibration *c, const float **biases, struct nuc_converted *q, double error)
{
    enum nuc_rounding_reach reach = best_reach(c, biases);

    if (reach == NUC_ROUND_NOT)
        return error;
    const struct nuc_measured *measured = c->measured;
    struct nuc_converted rounded = nuc_convert_graph(c, biases);
    struct nuc_rounded_weights r = nuc_round_weights(c, &rounded, c->samples, reach);
    double rounded_error = nuc_measure_converted(c, &rounded, NULL);
    if (!(rounded_error < error)) {
        c->measured = measured;
        return error;
    }
    nuc_keep_rounded_scales(c, &r);
    *q = rounded;
    return rounded_error;
}
