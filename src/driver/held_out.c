/*
 * What is chosen by samples that are held out: the samples fall into folds, each fold runs in the network that the
 * others have calibrated, and what the outputs differ by from those of the float network decides. Measured on the
 * samples it was calibrated with, a network never seems to cut anything off.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "driver/pipeline.h"
#include "eval/eval.h"
#include "host/numbers.h"
#include "quantize/quantize.h"
#include "quantize/search/choice_samples.h"
#include "quantize/search/equalize_activations.h"

#define MOST_FOLDS 4
#define LEAST_SAMPLES 4

/* Values that all runs of a trial may compute. */
#define MOST_VALUES ((int64_t)600000000)

static const double reaches[] = {0, 2, 3, 4, 5, 6};
static const double strengths[] = {0, 0.5, 1};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/*
 * What a value has to gain over the first: more than so many standard errors of the mean gain of the samples, and more
 * than that share of the error. Folds are calibrated with fewer samples than the network that is made, which sees more
 * of the ends of its ranges by itself.
 */
struct worth {
    double errors, share;
};

static const struct worth worth_of_reach = {1.0, 0.2}, worth_of_strength = {1.0, 0.2};

/* Share of the error that a value on the way to a better one may have by chance. */
#define SWING 1.25

/* dB that equalised activations have to promise before they are tried. */
#define PROMISE 0.5

struct search {
    struct nuc_job *j;
    struct nuc_context *cx;
    size_t n_samples; /* that are used, from the first on */
    unsigned folds;
    const void **inputs; /* of the present sample */
    size_t n_scores;
    struct nuc_score *scores;                         /* of the float network */
    float ***values;                                  /* by sample, then score */
    double *signal;                                   /* by score: over all samples */
    struct nuc_calibration *calibrations[MOST_FOLDS]; /* with the samples of all other folds */
    double reach_gain, strength_gain;                 /* of what is chosen, in dB */
    double reach, strength;                           /* that are chosen */
    size_t n_tried;                                   /* folds, of all that are looked at */
    struct nuc_activation_equalizer *equalizer;       /* a set for each fold, without it, and one for all samples */
};

static const void **read_sample(const struct search *s, size_t k)
{
    nuc_dataset_read_sample(s->j->samples, k, s->inputs);
    return s->inputs;
}

static bool is_held_out(const struct search *s, size_t sample, unsigned fold)
{
    return sample % s->folds == fold;
}

/* Scores of a graph that is running, and where their values go. */
struct seen {
    const struct nuc_score *scores;
    size_t count;
    float **values;
};

static void see_scores(void *user, const struct nuc_node *node, uint32_t val_index, const void *data, size_t elements)
{
    const struct seen *seen = user;

    for (size_t i = 0; i < seen->count; i++) {
        if (seen->scores[i].node == node && val_index == 0)
            memcpy(seen->values[i], data, elements * sizeof(float));
    }
}

/* Shows the values of scores, of which those in another form have no node. */
static struct nuc_evaluator *evaluator_of(const struct search *s, struct nuc_graph *g, const struct nuc_score *scores)
{
    bool *seen = nuc_alloc_array(s->cx, g->next_id, sizeof *seen);

    for (size_t i = 0; i < s->n_scores; i++) {
        if (scores[i].node != NULL)
            seen[scores[i].node->id] = true;
    }
    return nuc_eval_new_observed(g, s->j->m->settings->o.threads, seen);
}

static float **room_for_scores(struct search *s)
{
    float **values = nuc_alloc_array(s->cx, s->n_scores, sizeof *values);

    for (size_t i = 0; i < s->n_scores; i++)
        values[i] = nuc_alloc(s->cx, nuc_bytes(&s->scores[i].node->vals[0]));
    return values;
}

/* The same scores of a quantized graph; those that it has in another form have no node. */
static struct nuc_score *scores_of(struct search *s, struct nuc_graph *quantized)
{
    struct nuc_score *same = nuc_alloc_array(s->cx, s->n_scores, sizeof *same);
    size_t count;
    struct nuc_score *own = nuc_scores(quantized, &count);

    for (size_t i = 0; i < s->n_scores; i++) {
        for (size_t k = 0; k < count; k++) {
            if (nuc_are_same_score(&s->scores[i], &own[k]))
                same[i] = own[k];
        }
    }
    return same;
}

/* error[k] of the samples that the fold holds out: noise relative to the power over all samples, of all scores. */
static void run_fold(struct search *s, struct nuc_graph *quantized, unsigned fold, double *error)
{
    struct seen seen = {scores_of(s, quantized), s->n_scores, room_for_scores(s)};
    struct nuc_evaluator *e = evaluator_of(s, quantized, seen.scores);

    nuc_progress(s->cx, "equalize", s->n_tried++, s->folds * (COUNT(reaches) + COUNT(strengths)));
    nuc_eval_observe(e, see_scores, &seen);
    for (size_t k = 0; k < s->n_samples; k++) {
        if (!is_held_out(s, k, fold))
            continue;
        nuc_eval_run(e, read_sample(s, k), NULL);
        for (size_t i = 0; i < s->n_scores; i++) {
            if (seen.scores[i].node == NULL)
                continue;
            double noise = nuc_score_error(&s->scores[i], s->values[k][i], seen.values[i]).noise;
            error[k] += s->signal[i] > 0 ? noise / s->signal[i] : noise;
        }
    }
}

static struct nuc_calibration *calibrate(struct search *s, unsigned fold)
{
    struct nuc_calibration *c = nuc_calibration_of(s->j->m, NUC_ACCURACY_FAST, NUC_BIAS_CORRECTION_ON);

    nuc_quantize_set_reach(c, s->reach);
    for (size_t k = 0; k < s->n_samples; k++) {
        if (!is_held_out(s, k, fold))
            nuc_quantize_sample(c, read_sample(s, k));
    }
    return c;
}

static void try_reach(struct search *s, double reach, double *error)
{
    for (unsigned f = 0; f < s->folds; f++) {
        nuc_quantize_set_reach(s->calibrations[f], reach);
        run_fold(s, nuc_quantize_convert(s->calibrations[f]), f, error);
    }
}

static void try_strength(struct search *s, double strength, double *error)
{
    for (unsigned f = 0; f < s->folds; f++) {
        nuc_activations_apply(s->equalizer, f, strength);
        run_fold(s, nuc_quantize_convert(calibrate(s, f)), f, error);
        nuc_activations_apply(s->equalizer, f, 0);
    }
}

/* Errors of all samples, with a value. */
static double *errors_of(struct search *s, void (*try)(struct search *s, double value, double *error), double value)
{
    double *error = nuc_alloc_array(s->cx, s->n_samples, sizeof *error);
    struct nuc_arena *outer = nuc_push_arena(s->cx);

    try(s, value, error);
    nuc_pop_arena(s->cx, outer);
    return error;
}

/*
 * The value that surely gains most over the first, and the dB of it. An effect grows with the value: where one on the
 * way loses more than by chance, what the others gain is chance.
 */
static double choose(struct search *s, void (*try)(struct search *s, double value, double *error), const double *values,
                     size_t count, struct worth worth, double *gain)
{
    double *first = errors_of(s, try, values[0]), *gains = nuc_alloc_array(s->cx, s->n_samples, sizeof *gains);
    double most = 0, chosen = values[0];

    for (size_t i = 1; i < count; i++) {
        double *error = errors_of(s, try, values[i]), sums[2] = {0, 0};
        for (size_t k = 0; k < s->n_samples; k++) {
            gains[k] = (1 - worth.share) * first[k] - error[k];
            sums[0] += first[k];
            sums[1] += error[k];
        }
        double sure = nuc_sure_gain(gains, s->n_samples, worth.errors);
        if (!(sums[1] <= SWING * sums[0]))
            break;
        if (!(sure > most))
            continue;
        most = sure;
        chosen = values[i];
        *gain = 10 * log10(sums[0] / fmax(sums[1], DBL_MIN));
    }
    return chosen;
}

static double choose_reach(struct search *s)
{
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(s->cx);

    for (unsigned f = 0; f < s->folds; f++)
        s->calibrations[f] = calibrate(s, f);
    nuc_leave_sub_arena(s->cx, memory);
    double reach = choose(s, try_reach, reaches, COUNT(reaches), worth_of_reach, &s->reach_gain);
    nuc_free_sub_arena(memory);
    return reach;
}

/* The strength that gains; 0: none does. */
static double choose_strength(struct search *s)
{
    bool *wanted = nuc_alloc_array(s->cx, s->n_samples, sizeof *wanted);

    s->equalizer = nuc_activations_prepare(s->j->m->calibration);
    if (!nuc_activations_can_gain(s->equalizer))
        return 0;
    for (size_t k = 0; k < s->n_samples; k++)
        nuc_activations_sample(s->equalizer, read_sample(s, k));
    for (unsigned i = 0; i <= s->folds; i++) { /* that of all samples first */
        unsigned f = s->folds - i;
        for (size_t k = 0; k < s->n_samples; k++)
            wanted[k] = !is_held_out(s, k, f);
        double gain = nuc_activations_solve(s->equalizer, f, wanted, s->reach, i == 0 ? NUC_MOST_SETS : s->folds);
        if (gain < PROMISE)
            return 0;
    }
    return choose(s, try_strength, strengths, COUNT(strengths), worth_of_strength, &s->strength_gain);
}

/* As many samples as the network's size makes cheap. */
static size_t affordable(const struct search *s)
{
    int64_t values = 1;

    for (const struct nuc_node *n = s->j->m->graph->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_vals && nuc_is_call(n); i++)
            values += nuc_elements(&n->vals[i]);
    }
    int64_t most = MOST_VALUES / values / MOST_FOLDS;
    size_t n = s->j->samples->n_samples;
    most = most > 2 * MOST_FOLDS ? most : 2 * MOST_FOLDS;
    return n < (size_t)most ? n : (size_t)most;
}

static void search(struct nuc_context *cx, void *arg)
{
    struct search *s = arg;
    const struct nuc_options *o = &s->j->m->settings->o;

    s->folds = s->n_samples >= 2 * MOST_FOLDS ? MOST_FOLDS : 2;
    s->inputs = nuc_alloc_array(cx, s->j->samples->n_inputs, sizeof(void *));
    s->scores = nuc_scores(s->j->m->graph, &s->n_scores);
    struct nuc_evaluator *e = evaluator_of(s, s->j->m->graph, s->scores);
    s->values = nuc_alloc_array(s->cx, s->n_samples, sizeof *s->values);
    s->signal = nuc_alloc_array(s->cx, s->n_scores, sizeof *s->signal);
    for (size_t k = 0; k < s->n_samples; k++) {
        s->values[k] = room_for_scores(s);
        nuc_eval_observe(e, see_scores, &(struct seen){s->scores, s->n_scores, s->values[k]});
        nuc_eval_run(e, read_sample(s, k), NULL);
        for (size_t i = 0; i < s->n_scores; i++)
            s->signal[i] += nuc_score_error(&s->scores[i], s->values[k][i], s->values[k][i]).signal;
    }
    if (o->observer == NUC_OBSERVE_AUTO || o->observer == NUC_OBSERVE_HISTOGRAM)
        s->reach = choose_reach(s);
    s->strength = choose_strength(s);
}

static void report(const struct search *s)
{
    const char *file = s->j->m->graph->file;

    if (s->reach > 0)
        nuc_warn(s->cx, "%s: ranges reach %g spreads beyond the ends of the samples: %.1f dB on samples held out", file,
                 s->reach, s->reach_gain);
    if (s->strength > 0)
        nuc_warn(s->cx, "%s: activations are %sequalised: %.1f dB on samples held out", file,
                 s->strength < 1 ? "half " : "", s->strength_gain);
}

/* Other notes are about the network that is made in the end. */
void nuc_fit_to_held_out(struct nuc_job *j)
{
    struct nuc_context *cx = j->c->cx;
    struct search s = {.j = j, .cx = cx};

    s.n_samples = affordable(&s);
    if (s.n_samples < LEAST_SAMPLES)
        return;
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(cx);
    void (*warn)(void *user, const char *message) = cx->warn;
    cx->warn = NULL;
    enum nuc_status status = nuc_try(cx, search, &s);
    cx->warn = warn;
    if (status != NUC_OK)
        nuc_fail_again(cx, status);
    nuc_leave_sub_arena(cx, memory);
    if (s.strength > 0)
        nuc_activations_apply(s.equalizer, s.folds, s.strength);
    j->m->reach = s.reach;
    report(&s);
    nuc_free_sub_arena(memory);
}
