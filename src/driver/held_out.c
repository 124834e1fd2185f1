/*
 * What is chosen by samples that are held out: the samples fall into folds, each fold runs in the network that the
 * others have calibrated, and what the outputs differ by from those of the float network decides. Measured on the
 * samples it was calibrated with, a network never seems to cut anything off.
 */
#include <math.h>

#include "driver/pipeline.h"
#include "eval/eval.h"
#include "host/numbers.h"
#include "quantize/quantize.h"
#include "quantize/search/equalize_activations.h"

#define MOST_FOLDS 4
#define LEAST_SAMPLES 4

/* Values that all runs of a trial may compute. */
#define MOST_VALUES ((int64_t)600000000)

static const double reaches[] = {0, 2, 3, 4, 5, 6};
static const double strengths[] = {0, 0.5, 1};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* dB that a larger value has to gain over a smaller one: less is chance. */
#define MARGIN 0.5

/*
 * dB that the first value but none has to gain. Folds are calibrated with fewer samples than the network that is made,
 * which sees more of the ends of its ranges by itself.
 */
#define WORTH_REACH 1.5
#define WORTH_STRENGTH 1.0

/* dB that one may lose by chance. */
#define SWING 1.0

struct search {
    struct nuc_job *j;
    struct nuc_context *cx;
    size_t n_samples; /* that are used, from the first on */
    unsigned folds;
    const void **inputs; /* of the present sample */
    size_t n_outputs;
    float ***outputs; /* of the float network: by sample, then output; NULL: not a float one */
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

/* Errors of the folds of one trial. */
struct errors {
    struct nuc_sqnr *all; /* by output */
    double sum;           /* of the decibels of each fold */
};

/* Noise / signal, summed over the float outputs, in dB. */
static double decibels(const struct search *s, const struct nuc_sqnr *sums)
{
    double noise = 0;

    for (size_t i = 0; i < s->n_outputs; i++)
        noise += sums[i].signal > 0 ? sums[i].noise / sums[i].signal : sums[i].noise;
    return 10 * log10(noise > 1e-12 ? noise : 1e-12);
}

static void add_fold(struct search *s, struct nuc_graph *quantized, unsigned fold, struct errors *errors)
{
    struct nuc_evaluator *e = nuc_eval_new(quantized, s->j->m->settings->o.threads);
    struct nuc_sqnr *sums = nuc_alloc_array(s->cx, s->n_outputs, sizeof *sums);
    void **outputs = nuc_alloc_array(s->cx, s->n_outputs, sizeof *outputs);

    nuc_progress(s->cx, "equalize", s->n_tried++, s->folds * (COUNT(reaches) + COUNT(strengths)));
    for (size_t i = 0; i < s->n_outputs; i++)
        outputs[i] = nuc_alloc(s->cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]));
    for (size_t k = 0; k < s->n_samples; k++) {
        if (!is_held_out(s, k, fold))
            continue;
        nuc_eval_run(e, read_sample(s, k), outputs);
        for (size_t i = 0; i < s->n_outputs; i++) {
            if (s->outputs[k][i] != NULL)
                nuc_sqnr_add(&sums[i], s->outputs[k][i], outputs[i],
                             (size_t)nuc_elements(&nuc_eval_output(e, i)->vals[0]));
        }
    }
    for (size_t i = 0; i < s->n_outputs; i++) {
        errors->all[i].noise += sums[i].noise;
        errors->all[i].signal += sums[i].signal;
    }
    errors->sum += decibels(s, sums);
}

/* Between the noise of all samples, which those with the largest values decide, and that of a typical fold. */
static double loss(const struct search *s, const struct errors *e)
{
    return (decibels(s, e->all) + e->sum / s->folds) / 2;
}

static struct nuc_calibration *calibrate(struct search *s, unsigned fold)
{
    struct nuc_calibration *c = nuc_calibration_of(s->j->m, NUC_ACCURACY_FAST, NUC_BIAS_CORRECTION_OFF);

    nuc_quantize_set_reach(c, s->reach);
    for (size_t k = 0; k < s->n_samples; k++) {
        if (!is_held_out(s, k, fold))
            nuc_quantize_sample(c, read_sample(s, k));
    }
    return c;
}

static double loss_of_reach(struct search *s, double reach)
{
    struct nuc_arena *outer = nuc_push_arena(s->cx);
    struct errors errors = {.all = nuc_alloc_array(s->cx, s->n_outputs, sizeof *errors.all)};

    for (unsigned f = 0; f < s->folds; f++) {
        nuc_quantize_set_reach(s->calibrations[f], reach);
        add_fold(s, nuc_quantize_convert(s->calibrations[f]), f, &errors);
    }
    double found = loss(s, &errors);
    nuc_pop_arena(s->cx, outer);
    return found;
}

static double loss_of_strength(struct search *s, double strength)
{
    struct nuc_arena *outer = nuc_push_arena(s->cx);
    struct errors errors = {.all = nuc_alloc_array(s->cx, s->n_outputs, sizeof *errors.all)};

    for (unsigned f = 0; f < s->folds; f++) {
        nuc_activations_apply(s->equalizer, f, strength);
        add_fold(s, nuc_quantize_convert(calibrate(s, f)), f, &errors);
        nuc_activations_apply(s->equalizer, f, 0);
    }
    double found = loss(s, &errors);
    nuc_pop_arena(s->cx, outer);
    return found;
}

/*
 * The first value that loses nearly as little as the best does, and the dB that it gains over the first of all. An
 * effect grows with the value: where one on the way to it loses, what the others gain is chance.
 */
static double choose(struct search *s, double (*loss_of)(struct search *s, double value), const double *values,
                     size_t count, double worth, double *gain)
{
    double *losses = nuc_alloc_array(s->cx, count, sizeof *losses), least = (double)INFINITY;
    size_t tried = 0, i = 0;

    while (tried < count && (tried == 0 || losses[tried - 1] <= losses[0] + SWING)) {
        losses[tried] = loss_of(s, values[tried]);
        least = fmin(least, losses[tried++]);
    }
    while (i + 1 < tried && losses[i] > least + MARGIN)
        i++;
    if (losses[0] - losses[i] < worth)
        i = 0;
    *gain = losses[0] - losses[i];
    return values[i];
}

static double choose_reach(struct search *s)
{
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(s->cx);

    for (unsigned f = 0; f < s->folds; f++)
        s->calibrations[f] = calibrate(s, f);
    nuc_leave_sub_arena(s->cx, memory);
    double reach = choose(s, loss_of_reach, reaches, COUNT(reaches), WORTH_REACH, &s->reach_gain);
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
        if (gain < MARGIN)
            return 0;
    }
    return choose(s, loss_of_strength, strengths, COUNT(strengths), WORTH_STRENGTH, &s->strength_gain);
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
    struct nuc_evaluator *e = nuc_eval_new(s->j->m->graph, s->j->m->settings->o.threads);
    s->n_outputs = nuc_eval_n_outputs(e);
    s->outputs = nuc_alloc_array(s->cx, s->n_samples, sizeof *s->outputs);
    for (size_t k = 0; k < s->n_samples; k++) {
        s->outputs[k] = nuc_alloc_array(s->cx, s->n_outputs, sizeof(float *));
        void **all = nuc_alloc_array(s->cx, s->n_outputs, sizeof *all);
        for (size_t i = 0; i < s->n_outputs; i++) {
            const struct nuc_meta *m = &nuc_eval_output(e, i)->vals[0];
            all[i] = m->dtype == NUC_F32 ? s->outputs[k][i] = nuc_alloc(s->cx, nuc_bytes(m)) : NULL;
        }
        nuc_eval_run(e, read_sample(s, k), all);
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
