#include "quantize/search/round_choice.h"

#include <math.h>

#include "quantize/search/choice_samples.h"
#include "quantize/search/effect.h"
#include "quantize/search/round_weights.h"

/* Multiply-accumulates of a pass over the network from which on one half of the samples has to do, and two reaches. */
#define MOST_COST 4e9

/* Figures of the samples of one part, with the weights rounded for the other. */
static void hold_out(struct nuc_calibration *c, const float **biases, enum nuc_rounding_reach reach, unsigned part,
                     struct nuc_sample_figures *figures)
{
    struct nuc_choice_samples seen = nuc_samples_of_part(c->samples, 1 - part);
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(c->g->cx);
    struct nuc_converted q = nuc_convert_graph(c, biases);

    if (reach != NUC_ROUND_NOT)
        nuc_round_weights(c, &q, &seen, reach);
    nuc_leave_sub_arena(c->g->cx, memory);
    nuc_measure_converted(c, &q, part, figures);
    nuc_free_sub_arena(memory);
}

/* Standard errors of the mean gain, and the share of the error, that a reach has to gain more than. */
#define SURE 2.0
#define WORTHWHILE (1.0 / 7)

static enum nuc_rounding_reach best_reach(struct nuc_calibration *c, const float **biases)
{
    bool cheap = nuc_rounding_cost(c, c->samples) < MOST_COST;
    enum nuc_rounding_reach best = NUC_ROUND_NOT;
    struct nuc_sample_figures without[NUC_CHOICE_MOST], with[NUC_CHOICE_MOST];
    double gains[NUC_CHOICE_MOST], most = 0;
    size_t first = nuc_samples_of_part(c->samples, 0).count;

    if (first == 0 || first == c->samples->count)
        return NUC_ROUND_WEIGHTS;
    for (int reach = NUC_ROUND_NOT; reach <= NUC_ROUND_RESULTS; reach++) {
        struct nuc_sample_figures *figures = reach == NUC_ROUND_NOT ? without : with;
        if (!cheap && reach == NUC_ROUND_MEANS)
            continue;
        for (unsigned part = 0; part < (cheap ? 2u : 1u); part++)
            hold_out(c, biases, (enum nuc_rounding_reach)reach, part, figures);
        size_t n = 0;
        for (size_t k = 0; k < c->samples->count; k++) {
            if (cheap || c->samples->part[k] == 0)
                gains[n++] = (1 - WORTHWHILE) * without[k].error - figures[k].error;
        }
        double gain = reach == NUC_ROUND_NOT ? 0 : nuc_sure_gain(gains, n, SURE);
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
    struct nuc_sample_figures figures[NUC_CHOICE_MOST];
    size_t count = nuc_measure_converted(c, &rounded, NUC_BOTH_PARTS, figures);
    double rounded_error = nuc_keep_measured(c, figures, count);
    if (!(rounded_error < error)) {
        c->measured = measured;
        return error;
    }
    nuc_keep_rounded_scales(c, &r);
    *q = rounded;
    return rounded_error;
}
