/* The quantized network on samples that its parameters do not come from, and the choices that this decides. */
#include <math.h>
#include <stdlib.h>

#include "host/numbers.h"
#include "ir/args.h"
#include "quantize/observe.h"
#include "quantize/search/bias_correction.h"
#include "quantize/search/effect.h"
#include "quantize/search/equalize.h"
#include "quantize/search/range_choice.h"

/* dB that the estimate has to promise before factors are tried. */
#define PROMISE 0.5

bool nuc_quantize_may_equalize(struct nuc_calibration *c)
{
    if (c->equalizer == NULL)
        return false;
    nuc_choice_signals(c->g->cx, c->samples);
    return nuc_equalizer_solve(c->equalizer, NUC_BOTH_PARTS) > PROMISE &&
           nuc_equalizer_solve(c->equalizer, 0) > PROMISE && nuc_equalizer_solve(c->equalizer, 1) > PROMISE;
}

void nuc_quantize_equalize(struct nuc_calibration *c, unsigned part)
{
    nuc_equalizer_apply(c->equalizer, part);
}

void nuc_quantize_undo_equalize(struct nuc_calibration *c)
{
    nuc_equalizer_undo(c->equalizer);
}

/* Parameters come from the samples of the other folds; NUC_NO_FOLD: from all. */
static void hold_out(struct nuc_calibration *c, unsigned fold)
{
    struct nuc_context *cx = c->g->cx;
    bool *held_out = nuc_alloc_array(cx, c->n_samples, sizeof *held_out);

    for (size_t i = 0; i < c->n_samples; i++)
        held_out[i] = nuc_sample_fold(i, c->n_samples) == fold;
    for (uint32_t i = 0; i < c->sharing->n_groups; i++) {
        struct nuc_observer *o = c->observers[i];
        o->shown = NULL;
        if (fold != NUC_NO_FOLD && o->extremes.n_samples != 0)
            o->shown = nuc_extremes_shown(cx, &o->extremes, held_out);
    }
    c->has_parameters = false;
    c->fold = fold;
}

static struct nuc_converted convert(struct nuc_calibration *c)
{
    nuc_calibration_parameters(c);
    return nuc_convert_graph(c, c->means == NULL ? NULL : nuc_corrected_biases(c, c->fold));
}

/* A sample alone shows nothing without itself. */
static bool holds_out(const struct nuc_calibration *c)
{
    return c->n_samples > 1;
}

/*
 * Each sample in the network that is quantized, by the choices that all have made, without the samples of its fold. Of
 * the samples that were kept as many as are cheap are run, spread over all; the others have no fold.
 */
static struct nuc_sample_figures *measure_held_out(struct nuc_calibration *c, unsigned fold[NUC_CHOICE_MOST])
{
    struct nuc_sample_figures *figures = nuc_sample_figures_new(c);
    size_t count = c->samples->count, wanted = nuc_samples_to_measure(c);

    for (size_t k = 0; k < count; k++) {
        bool is_run = (k + 1) * wanted / count > k * wanted / count;
        unsigned own = holds_out(c) ? nuc_sample_fold(c->samples->kept[k].number, c->n_samples) : 0;
        fold[k] = is_run ? own : NUC_NO_FOLD;
    }
    /* Networks of folds that differ in biases and roundings alone run one after the other in what was made of the
     * first. */
    struct nuc_arena *before = nuc_push_arena(c->g->cx);
    struct nuc_effects *first = NULL;
    bool alike = true;
    for (unsigned f = 0; f < (holds_out(c) ? nuc_n_folds(c->n_samples) : 1); f++) {
        struct nuc_arena *outer = first == NULL ? NULL : nuc_push_arena(c->g->cx);
        struct nuc_effects *fx = alike ? first : NULL;
        hold_out(c, holds_out(c) ? f : NUC_NO_FOLD);
        struct nuc_converted q = convert(c);
        nuc_measure_converted(c, &q, fold, f, figures, &fx);
        hold_out(c, NUC_NO_FOLD);
        alike = first == NULL || fx == first;
        first = first == NULL ? fx : first;
        if (outer != NULL)
            nuc_pop_arena(c->g->cx, outer);
    }
    nuc_pop_arena(c->g->cx, before);
    return figures;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* dB: folds with a tenth of the noise of others tell little of the next samples, and the lowest is the figure. */
#define WIDE 10

static void sum_up(struct nuc_measured_output *o, size_t output, const struct nuc_sample_figures *figures,
                   const unsigned *fold, size_t n_samples)
{
    struct nuc_sqnr folds[NUC_MOST_FOLDS] = {{0, 0}};
    size_t last = SIZE_MAX;

    for (size_t k = 0; k < n_samples; k++) {
        if (fold[k] == NUC_NO_FOLD)
            continue;
        const struct nuc_measured_output *sample = &figures[k].outputs[output];
        o->is_float = sample->is_float;
        o->min = o->samples == 0 || sample->min < o->min ? sample->min : o->min;
        o->max = o->samples == 0 || sample->max > o->max ? sample->max : o->max;
        o->samples++;
        folds[fold[k]].signal += sample->signal;
        folds[fold[k]].noise += sample->noise;
        if (last != SIZE_MAX) {
            const struct nuc_sample_figures *before = &figures[last];
            o->float_varies |= before->float_fingerprints[output] != figures[k].float_fingerprints[output];
            /* What is quantized alike. */
            o->varies |= fold[k] == fold[last] && before->fingerprints[output] != figures[k].fingerprints[output];
        }
        last = k;
    }
    /* Of the folds with a signal; of those that are all zeros where there is none. */
    struct nuc_sqnr all = {0, 0};
    double db[NUC_MOST_FOLDS];
    size_t n = 0;
    for (unsigned f = 0; f < NUC_MOST_FOLDS; f++) {
        all.signal += folds[f].signal;
        all.noise += folds[f].noise;
        if (folds[f].signal > 0)
            db[n++] = nuc_sqnr_db(&folds[f]);
    }
    if (n == 0)
        db[n++] = nuc_sqnr_db(&all);
    qsort(db, n, sizeof *db, by_value);
    o->lowest_db = db[0];
    o->highest_db = db[n - 1];
    o->sqnr_db = isinf(db[n / 2]) ? db[(n - 1) / 2] : (db[(n - 1) / 2] + db[n / 2]) / 2;
    o->signal = all.signal;
    o->noise = all.noise;
    if (isinf(o->sqnr_db) && !isinf(o->lowest_db))
        o->sqnr_db = nuc_sqnr_db(&all);
    if (o->highest_db - o->lowest_db > WIDE)
        o->sqnr_db = o->lowest_db;
}

static bool seems_constant(const struct nuc_measured *m)
{
    for (size_t i = 0; i < m->n_outputs; i++) {
        if (m->outputs[i].is_float && m->outputs[i].float_varies && !m->outputs[i].varies)
            return true;
    }
    return false;
}

static void measure(struct nuc_calibration *c)
{
    struct nuc_measured *m = nuc_alloc(c->g->cx, sizeof *m);
    unsigned fold[NUC_CHOICE_MOST];
    struct nuc_sample_figures *figures = measure_held_out(c, fold);

    *m = (struct nuc_measured){.n_outputs = nuc_n_results(c->g), .is_held_out = holds_out(c)};
    m->outputs = nuc_alloc_array(c->g->cx, m->n_outputs, sizeof *m->outputs);
    m->errors = nuc_alloc_array(c->g->cx, c->samples->count, sizeof *m->errors);
    for (size_t i = 0; i < m->n_outputs; i++) {
        struct nuc_measured_output *o = &m->outputs[i];
        o->name = nuc_arg_at(c->g->last, NUC_ARG(OUTPUT, values))->u.nodes[i]->name;
        sum_up(o, i, figures, fold, c->samples->count);
    }
    for (size_t k = 0; k < c->samples->count; k++) {
        if (fold[k] == NUC_NO_FOLD)
            continue;
        double *error = &m->errors[m->n_errors++];
        *error = 0;
        for (size_t i = 0; i < m->n_outputs; i++) {
            const struct nuc_measured_output *o = &m->outputs[i];
            double signal = o->signal / (double)o->samples, noise = figures[k].outputs[i].noise;
            *error += signal > 0 ? noise / signal : noise;
        }
    }
    c->measured = m;
    if (!seems_constant(m))
        return;
    /* Perhaps folds have one sample each: all of them in the same network. */
    for (size_t k = 0; k < c->samples->count; k++)
        fold[k] = fold[k] == NUC_NO_FOLD ? NUC_NO_FOLD : 0;
    struct nuc_converted q = convert(c);
    nuc_measure_converted(c, &q, fold, 0, figures, &(struct nuc_effects *){NULL});
    for (size_t i = 0; i < m->n_outputs; i++) {
        struct nuc_measured_output all = {0};
        sum_up(&all, i, figures, fold, c->samples->count);
        m->outputs[i].varies = all.varies;
    }
}

void nuc_quantize_choose(struct nuc_calibration *c)
{
    if (c->has_chosen)
        return;
    /* More samples make a new one. */
    nuc_end_samples(c);
    if (c->samples != NULL && c->samples->count != 0)
        nuc_choice_signals(c->g->cx, c->samples);
    nuc_choose_ranges(c);
    c->has_chosen = true;
}

struct nuc_graph *nuc_quantize_convert(struct nuc_calibration *c)
{
    nuc_quantize_choose(c);
    c->measured = NULL;
    if (c->samples != NULL && c->samples->count != 0)
        measure(c);
    return convert(c).g;
}

const struct nuc_measured *nuc_quantize_measured(const struct nuc_calibration *c)
{
    return c->measured;
}
