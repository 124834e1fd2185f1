#include "quantize/search/effect.h"

#include <math.h>
#include <string.h>

#include "eval/eval_parallel.h"
#include "host/numbers.h"
#include "quantize/search/score.h"

#define NONE UINT32_MAX

/* A place where values of a group are rounded. */
struct point {
    const struct nuc_node *quantize;
    uint32_t step;
    uint32_t next; /* the next point of the group; NONE after the last one */
};

struct span {
    float min, max;
};

struct nuc_effects {
    struct nuc_calibration *c;
    const struct nuc_choice_samples *s;
    size_t n_samples;
    struct nuc_graph *g;
    uint32_t n_points;
    struct point *points;
    uint32_t *first; /* by group: its first point, or NONE */
    uint32_t n_steps;
    double *cost_before; /* by step: share of the run */
    double run_cost;
    struct nuc_pool *pool;
    unsigned n_workers;
    struct nuc_evaluator **workers; /* each thread's */
    size_t n_scores;
    struct nuc_score *scores;
    size_t *score_of; /* by score: its number among those of the samples */
    /* Of runs without rounding. */
    float ***reference; /* by sample, then score */
    struct span **seen; /* by sample, then point */
    double *signal;     /* by score */
};

/* ---- making ---- */

static void list_points(struct nuc_effects *fx, const struct nuc_converted *q)
{
    struct nuc_context *cx = fx->g->cx;
    const struct nuc_evaluator *e = fx->workers[0];
    uint32_t *steps = nuc_alloc_array(cx, fx->g->next_id, sizeof *steps);

    for (uint32_t s = 0; s < fx->n_steps; s++)
        steps[nuc_eval_step_node(e, s)->id] = s;
    fx->points = nuc_alloc_array(cx, q->n_points, sizeof *fx->points);
    fx->first = nuc_alloc_array(cx, fx->c->sharing->n_groups, sizeof *fx->first);
    memset(fx->first, 0xff, fx->c->sharing->n_groups * sizeof *fx->first);
    for (uint32_t i = q->n_points; i-- > 0;) {
        const struct nuc_quantized_point *p = &q->points[i];
        if (!nuc_eval_can_round(e, p->quantize))
            continue;
        fx->points[i] = (struct point){p->quantize, steps[p->quantize->id], fx->first[p->group]};
        fx->first[p->group] = i;
    }
}

/* Those of the converted graph that the float graph has, too. */
static void find_scores(struct nuc_effects *fx)
{
    size_t count;
    struct nuc_score *scores = nuc_scores(fx->g, &count);

    fx->scores = scores;
    fx->score_of = nuc_alloc_array(fx->g->cx, count, sizeof *fx->score_of);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < fx->s->n_scores; k++) {
            if (!nuc_are_same_score(&fx->s->scores[k], &scores[i]))
                continue;
            fx->score_of[fx->n_scores] = k;
            fx->scores[fx->n_scores++] = scores[i];
        }
    }
}

struct nuc_effects *nuc_effects_new(struct nuc_calibration *c, const struct nuc_converted *q, size_t n_samples,
                                    bool alone)
{
    struct nuc_context *cx = c->g->cx;
    struct nuc_effects *fx = nuc_alloc(cx, sizeof *fx);

    *fx = (struct nuc_effects){.c = c,
                               .s = c->samples,
                               .n_samples = n_samples < c->samples->count ? n_samples : c->samples->count,
                               .g = q->g,
                               .n_points = q->n_points,
                               .run_cost = nuc_run_cost(q->g)};
    find_scores(fx);
    const struct nuc_node **kept = nuc_alloc_array(cx, fx->n_scores, sizeof *kept);
    for (size_t i = 0; i < fx->n_scores; i++)
        kept[i] = fx->scores[i].node;
    fx->pool = nuc_pool_new(cx, fx->n_samples < 2 ? 1 : c->threads);
    unsigned n = nuc_pool_threads(fx->pool);
    fx->workers = nuc_alloc_array(cx, n, sizeof *fx->workers);
    /* A worker by itself may take the threads inside. */
    fx->workers[fx->n_workers++] = nuc_eval_new_adjustable(q->g, n > 1 ? 1 : c->threads, kept, fx->n_scores, alone);
    for (unsigned i = 1; i < n; i++)
        fx->workers[fx->n_workers++] = nuc_eval_fork(fx->workers[0]);
    const struct nuc_evaluator *e = fx->workers[0];
    double sum = 0;
    fx->n_steps = nuc_eval_n_steps(e);
    fx->cost_before = nuc_alloc_array(fx->g->cx, fx->n_steps, sizeof *fx->cost_before);
    for (uint32_t s = 0; s < fx->n_steps; s++) {
        fx->cost_before[s] = sum / fx->run_cost;
        sum += nuc_node_cost(nuc_eval_step_node(e, s));
    }
    list_points(fx, q);
    return fx;
}

bool nuc_effects_again(struct nuc_effects *fx, const struct nuc_converted *q, size_t n_samples)
{
    bool same = true;

    for (unsigned i = 0; i < fx->n_workers && same; i++)
        same = nuc_eval_take_biases(fx->workers[i], q->g);
    fx->s = fx->c->samples;
    fx->n_samples = n_samples < fx->s->count ? n_samples : fx->s->count;
    return same;
}

unsigned nuc_effects_threads(const struct nuc_effects *fx)
{
    return fx->n_workers;
}

void nuc_effects_use(struct nuc_effects *fx, size_t n_samples)
{
    fx->n_samples = n_samples;
}

bool nuc_has_effect(const struct nuc_effects *fx, uint32_t group)
{
    return fx->first[group] != NONE;
}

double nuc_cost_after(const struct nuc_effects *fx, uint32_t group)
{
    return fx->first[group] == NONE ? 0 : 1 - fx->cost_before[fx->points[fx->first[group]].step];
}

/* ---- parameters ---- */

struct nuc_parameters *nuc_present_parameters(const struct nuc_calibration *c)
{
    struct nuc_parameters *p = nuc_alloc_array(c->g->cx, c->sharing->n_groups, sizeof *p);

    for (uint32_t i = 0; i < c->sharing->n_groups; i++) {
        const struct nuc_observer *o = c->observers[i];
        if (o->spec->kind != NUC_QSPEC_DERIVED && o->n == 1)
            p[i] = (struct nuc_parameters){o->scale[0], o->zero_point[0]};
    }
    return p;
}

static struct nuc_rounding rounding_of(const struct nuc_effects *fx, uint32_t group, struct nuc_parameters p)
{
    const struct nuc_qspec *spec = fx->c->observers[group]->spec;

    return (struct nuc_rounding){
        .scale = p.scale, .zero_point = p.zero_point, .quant_min = spec->quant_min, .quant_max = spec->quant_max};
}

static void set_group(const struct nuc_effects *fx, struct nuc_evaluator *e, uint32_t group,
                      struct nuc_rounding rounding)
{
    for (uint32_t i = fx->first[group]; i != NONE; i = fx->points[i].next)
        nuc_eval_round(e, fx->points[i].quantize, rounding);
}

/* NULL: nothing is rounded. */
static void set_all(const struct nuc_effects *fx, struct nuc_evaluator *e, const struct nuc_parameters *parameters)
{
    for (uint32_t i = 0; i < fx->c->sharing->n_groups; i++) {
        struct nuc_rounding r = {false, false, 1, 0, 0, 0};
        if (parameters != NULL) {
            r = rounding_of(fx, i, parameters[i]);
            r.clips = r.rounds = true;
        }
        set_group(fx, e, i, r);
    }
}

static void set_tried(const struct nuc_effects *fx, struct nuc_evaluator *e, const struct nuc_tried *t, unsigned part,
                      bool on)
{
    for (uint32_t i = 0; i < t->n_groups; i++) {
        struct nuc_rounding r = rounding_of(fx, t->groups[i], t->parameters[part][i]);
        r.rounds = on && t->effect != NUC_EFFECT_CLIPPING;
        r.clips = on && t->effect != NUC_EFFECT_ROUNDING;
        set_group(fx, e, t->groups[i], r);
    }
}

/* ---- running ---- */

struct job {
    struct nuc_effects *fx;
    const struct nuc_parameters *const *parameters;
    const struct nuc_tried *tried;
    const uint32_t *first; /* by trial: the first step that it changes */
    const uint32_t *order; /* of the trials, by that */
    size_t n;
    const size_t *samples;              /* NULL: all, and the runs that trials are compared with are made */
    double *noise;                      /* by sample, trial and score */
    double *error;                      /* by sample */
    struct nuc_sample_figures *figures; /* by sample */
};

static size_t sample_at(const struct job *j, size_t at)
{
    return j->samples == NULL ? at : j->samples[at];
}

static void for_samples(struct nuc_effects *fx, double runs, size_t count, nuc_parallel_fn fn, const void *arg)
{
    nuc_parallel_for(fx->pool, count, runs * (double)count * fx->run_cost, fn, arg);
    for (unsigned i = 0; i < fx->n_workers; i++)
        nuc_eval_check(fx->workers[i], "");
}

static void start(const struct nuc_effects *fx, struct nuc_evaluator *e, size_t sample)
{
    nuc_eval_start(e, (const void *const *)fx->s->kept[sample].inputs);
}

/* ---- against the float graph ---- */

/* Values with different ones differ. FNV-1a over words of 32 bits; the zeros are equal. */
static uint32_t fingerprint(const float *x, size_t count)
{
    uint32_t hash = 2166136261u, word;

    for (size_t i = 0; i < count; i++) {
        float value = x[i] + 0.0f;
        memcpy(&word, &value, sizeof word);
        hash = (hash ^ word) * 16777619u;
    }
    return hash;
}

static const float *score_values(const struct nuc_effects *fx, struct nuc_evaluator *e, size_t i)
{
    return nuc_eval_node_data(e, fx->scores[i].node);
}

/* More than any other error: of values that are no numbers. */
#define MOST_ERROR 1e6

static double relative(double noise, double signal)
{
    double error = signal > 0 ? noise / signal : noise;

    return error < MOST_ERROR ? error : MOST_ERROR;
}

/* Of the scores as they are now against those of the float graph. */
static double error_of_sample(const struct nuc_effects *fx, struct nuc_evaluator *e, size_t sample)
{
    double sum = 0;

    for (size_t i = 0; i < fx->n_scores; i++) {
        size_t of = fx->score_of[i];
        double noise = nuc_score_error(&fx->scores[i], fx->s->kept[sample].values[of], score_values(fx, e, i)).noise;
        sum += relative(noise, fx->s->signal[of]);
    }
    return sum;
}

static void measure_sample(const struct nuc_effects *fx, struct nuc_evaluator *e, size_t sample,
                           struct nuc_sample_figures *figures)
{
    for (size_t i = 0; i < fx->s->n_outputs; i++) {
        const struct nuc_meta *meta = &nuc_eval_output(e, i)->vals[0];
        const float *x = fx->s->kept[sample].outputs[i];
        struct nuc_measured_output *o = &figures->outputs[i];
        struct nuc_sqnr s = {0, 0};
        size_t count = (size_t)nuc_elements(meta);
        *o = (struct nuc_measured_output){.samples = 1, .is_float = meta->dtype == NUC_F32};
        o->min = INFINITY;
        o->max = -INFINITY;
        if (!o->is_float)
            continue;
        nuc_sqnr_add(&s, x, nuc_eval_result_data(e, i), count);
        figures->fingerprints[i] = fingerprint(nuc_eval_result_data(e, i), count);
        figures->float_fingerprints[i] = fingerprint(x, count);
        o->signal = s.signal;
        o->noise = s.noise;
        for (size_t k = 0; k < count; k++) {
            o->min = x[k] < o->min ? x[k] : o->min;
            o->max = x[k] > o->max ? x[k] : o->max;
        }
    }
    figures->error = error_of_sample(fx, e, sample);
}

static void run_measured(const void *arg, struct nuc_part part)
{
    const struct job *j = arg;
    struct nuc_evaluator *e = j->fx->workers[part.worker];

    set_all(j->fx, e, j->parameters[0]);
    for (size_t k = part.begin; k < part.end; k++) {
        start(j->fx, e, k);
        nuc_eval_steps(e, 0, j->fx->n_steps);
        measure_sample(j->fx, e, k, &j->figures[k]);
    }
}

struct nuc_sample_figures *nuc_sample_figures_new(struct nuc_calibration *c)
{
    size_t count = c->samples->count, n = c->samples->n_outputs;
    struct nuc_sample_figures *figures = nuc_alloc_array(c->g->cx, count, sizeof *figures);

    for (size_t k = 0; k < count; k++) {
        figures[k].outputs = nuc_alloc_array(c->g->cx, n, sizeof *figures[k].outputs);
        figures[k].fingerprints = nuc_alloc_array(c->g->cx, n, sizeof *figures[k].fingerprints);
        figures[k].float_fingerprints = nuc_alloc_array(c->g->cx, n, sizeof *figures[k].float_fingerprints);
    }
    return figures;
}

void nuc_measure_samples(struct nuc_effects *fx, struct nuc_sample_figures *figures)
{
    const struct nuc_parameters *present = nuc_present_parameters(fx->c);

    for_samples(fx, 1, fx->n_samples, run_measured,
                &(struct job){.fx = fx, .parameters = &present, .figures = figures});
}

/* Multiply-accumulates that may be spent on measuring a graph, and samples that are measured whatever they cost. */
#define MEASURE 1e9
#define LEAST_MEASURED 8

size_t nuc_samples_to_measure(const struct nuc_calibration *c)
{
    double affordable = MEASURE / c->run_cost;
    size_t count = c->samples->count, least = count < LEAST_MEASURED ? count : LEAST_MEASURED;

    if (c->high || affordable > (double)count)
        return count;
    return affordable > (double)least ? (size_t)affordable : least;
}

static void run_whole(const void *arg, struct nuc_part part)
{
    const struct job *j = arg;
    struct nuc_effects *fx = j->fx;
    struct nuc_evaluator *e = fx->workers[part.worker];

    for (size_t at = part.begin; at < part.end; at++) {
        const size_t k = sample_at(j, at);
        set_all(fx, e, j->parameters[fx->s->kept[k].part]);
        start(fx, e, k);
        nuc_eval_steps(e, 0, fx->n_steps);
        j->error[k] = error_of_sample(fx, e, k);
    }
}

void nuc_errors_of_all(struct nuc_effects *fx, const struct nuc_parameters *const parameters[2], const size_t *samples,
                       size_t n_samples, double *error)
{
    for_samples(fx, 1, n_samples, run_whole,
                &(struct job){.fx = fx, .parameters = parameters, .samples = samples, .error = error});
}

/* ---- against a run without rounding ---- */

static void see_point(const struct nuc_effects *fx, struct nuc_evaluator *e, uint32_t index, struct span *seen)
{
    const struct nuc_node *n = fx->points[index].quantize;
    const float *x = nuc_eval_node_data(e, n);
    int64_t count = nuc_elements(&n->vals[0]);

    if (count > 0 && nuc_min_max(x, (size_t)count, &seen->min, &seen->max))
        return;
    *seen = (struct span){INFINITY, -INFINITY};
    for (int64_t i = 0; i < count; i++) {
        seen->min = x[i] < seen->min ? x[i] : seen->min;
        seen->max = x[i] > seen->max ? x[i] : seen->max;
    }
}

static void find_noise(const struct nuc_effects *fx, struct nuc_evaluator *e, size_t sample, double *noise)
{
    for (size_t i = 0; i < fx->n_scores; i++)
        noise[i] = nuc_score_error(&fx->scores[i], fx->reference[sample][i], score_values(fx, e, i)).noise;
}

static double relative_error(const struct nuc_effects *fx, const double *noise)
{
    double sum = 0;

    for (size_t i = 0; i < fx->n_scores; i++)
        sum += relative(noise[i], fx->signal[i]);
    return sum;
}

/* ---- a few tensors at a time ---- */

/* What is cut off of the group at its points, where that was seen. */
static double cut_off(const struct nuc_effects *fx, const struct span *seen, uint32_t group,
                      struct nuc_parameters parameters)
{
    struct nuc_rounding r = rounding_of(fx, group, parameters);
    float low = (float)(r.quant_min - r.zero_point) * r.scale, high = (float)(r.quant_max - r.zero_point) * r.scale;
    double sum = 0;

    for (uint32_t i = fx->first[group]; i != NONE; i = fx->points[i].next) {
        const double below = fmax((double)low - (double)seen[i].min, 0) / (double)r.scale;
        const double above = fmax((double)seen[i].max - (double)high, 0) / (double)r.scale;
        sum += below * below + above * above;
    }
    return sum;
}

double nuc_cut_off(const struct nuc_effects *fx, const struct nuc_tried *tried, size_t sample)
{
    double sum = 0;

    for (uint32_t i = 0; i < tried->n_groups; i++)
        sum += cut_off(fx, fx->seen[sample], tried->groups[i], tried->parameters[fx->s->kept[sample].part][i]);
    return sum;
}

/*
 * Trials branch off one run without any rounding, each where it begins to differ. Those that begin last come first:
 * what a trial leaves behind is made again by those after it. A run that is known is made up to where the first of
 * them begins.
 */
static void run_alone(const void *arg, struct nuc_part part)
{
    const struct job *j = arg;
    struct nuc_effects *fx = j->fx;
    struct nuc_evaluator *e = fx->workers[part.worker];

    set_all(fx, e, NULL);
    for (size_t at = part.begin; at < part.end; at++) {
        const size_t k = sample_at(j, at);
        bool made = j->samples == NULL;
        start(fx, e, k);
        if (made) {
            nuc_eval_steps(e, 0, fx->n_steps);
            for (uint32_t p = 0; p < fx->n_points; p++) {
                if (fx->points[p].quantize != NULL)
                    see_point(fx, e, p, &fx->seen[k][p]);
            }
            for (size_t i = 0; i < fx->n_scores; i++)
                memcpy(fx->reference[k][i], score_values(fx, e, i), nuc_bytes(&fx->scores[i].node->vals[0]));
        }
        for (size_t i = j->n; i-- > 0;) {
            const struct nuc_tried *t = &j->tried[j->order[i]];
            const uint32_t first = j->first[j->order[i]];
            if (t->effect == NUC_EFFECT_CLIPPING && !(nuc_cut_off(fx, t, k) > 0))
                continue;
            if (!made)
                nuc_eval_steps(e, 0, first);
            made = true;
            set_tried(fx, e, t, fx->s->kept[k].part, true);
            nuc_eval_steps(e, first, fx->n_steps);
            find_noise(fx, e, k, j->noise + (at * j->n + j->order[i]) * fx->n_scores);
            set_tried(fx, e, t, fx->s->kept[k].part, false);
        }
    }
}

/* By the first step; those with the same one in their order. */
static uint32_t *order_trials(const struct nuc_effects *fx, const struct nuc_tried *tried, size_t n, uint32_t *first)
{
    uint32_t *order = nuc_alloc_array(fx->g->cx, n, sizeof *order);

    for (size_t i = 0; i < n; i++) {
        first[i] = fx->n_steps;
        for (uint32_t k = 0; k < tried[i].n_groups; k++) {
            uint32_t step = fx->points[fx->first[tried[i].groups[k]]].step;
            first[i] = step < first[i] ? step : first[i];
        }
        size_t at = i;
        for (; at > 0 && first[order[at - 1]] > first[i]; at--)
            order[at] = order[at - 1];
        order[at] = (uint32_t)i;
    }
    return order;
}

static void make_room(struct nuc_effects *fx)
{
    struct nuc_context *cx = fx->g->cx;

    fx->signal = nuc_alloc_array(cx, fx->n_scores, sizeof *fx->signal);
    fx->reference = nuc_alloc_array(cx, fx->n_samples, sizeof *fx->reference);
    fx->seen = nuc_alloc_array(cx, fx->n_samples, sizeof *fx->seen);
    for (size_t k = 0; k < fx->n_samples; k++) {
        fx->seen[k] = nuc_alloc_array(cx, fx->n_points, sizeof **fx->seen);
        fx->reference[k] = nuc_alloc_array(cx, fx->n_scores, sizeof(float *));
        for (size_t i = 0; i < fx->n_scores; i++)
            fx->reference[k][i] = nuc_alloc(cx, nuc_bytes(&fx->scores[i].node->vals[0]));
    }
}

void nuc_effects_of(struct nuc_effects *fx, const struct nuc_tried *tried, size_t n, const size_t *samples,
                    size_t n_samples, double *error)
{
    struct nuc_context *cx = fx->g->cx;

    if (samples == NULL)
        make_room(fx);
    struct nuc_arena *outer = nuc_push_arena(cx);
    uint32_t *first = nuc_alloc_array(cx, n, sizeof *first), *order = order_trials(fx, tried, n, first);
    double *noise = nuc_alloc_array(cx, n_samples * n * fx->n_scores, sizeof *noise);
    struct job job = {
        .fx = fx, .tried = tried, .first = first, .order = order, .n = n, .samples = samples, .noise = noise};
    for_samples(fx, (double)n, n_samples, run_alone, &job);
    if (samples == NULL) {
        for (size_t k = 0; k < fx->n_samples; k++) {
            for (size_t i = 0; i < fx->n_scores; i++)
                fx->signal[i] += nuc_score_error(&fx->scores[i], fx->reference[k][i], fx->reference[k][i]).signal;
        }
    }
    for (size_t i = 0; i < n_samples * n; i++)
        error[i] = relative_error(fx, noise + i * fx->n_scores);
    nuc_pop_arena(cx, outer);
}
