#include "compiler/quantize/effect.h"

#include <math.h>
#include <string.h>

#include "compiler/eval/eval_parallel.h"
#include "compiler/eval/sqnr.h"
#include "compiler/graph/args.h"

/* A place where values of a group are rounded. */
struct point {
    const struct nuc_node *quantize;
    uint32_t step;
    uint32_t next; /* the next point of the group; NONE after the last one */
};

#define NONE UINT32_MAX

/* One thread's. */
struct worker {
    struct nuc_evaluator *e;
    uint8_t *saved;   /* activations before a step */
    void **reference; /* outputs without any rounding */
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
    struct nuc_pool *pool;
    unsigned n_workers;
    struct worker *workers;
    double run_cost;
    bool any_float;
    struct nuc_measured measured;
};

/* ---- making ---- */

static void list_steps(struct nuc_effects *fx)
{
    const struct nuc_evaluator *e = fx->workers[0].e;
    double sum = 0;

    fx->n_steps = nuc_eval_n_steps(e);
    fx->cost_before = nuc_alloc_array(fx->g->cx, fx->n_steps + 1, sizeof *fx->cost_before);
    for (uint32_t s = 0; s < fx->n_steps; s++) {
        fx->cost_before[s] = sum / fx->run_cost;
        sum += nuc_node_cost(nuc_eval_step_node(e, s));
    }
}

static void list_points(struct nuc_effects *fx, const struct nuc_converted *q)
{
    struct nuc_context *cx = fx->g->cx;
    const struct nuc_evaluator *e = fx->workers[0].e;
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

static void add_worker(struct nuc_effects *fx, struct nuc_evaluator *e)
{
    struct worker *w = &fx->workers[fx->n_workers++];

    w->e = e;
    w->saved = nuc_alloc(fx->g->cx, nuc_eval_arena_size(e));
    w->reference = nuc_alloc_array(fx->g->cx, fx->s->n_outputs, sizeof(void *));
    for (size_t i = 0; i < fx->s->n_outputs; i++)
        w->reference[i] = nuc_alloc(fx->g->cx, nuc_bytes(&nuc_eval_output(e, i)->vals[0]));
}

static const char *output_name(const struct nuc_graph *g, size_t index)
{
    return nuc_arg_at(g->last, NUC_ARG(OUTPUT, values))->u.nodes[index]->name;
}

static void measure_signals(struct nuc_effects *fx)
{
    struct nuc_measured *m = &fx->measured;
    const struct nuc_evaluator *e = fx->workers[0].e;

    m->n_outputs = fx->s->n_outputs;
    m->outputs = nuc_alloc_array(fx->g->cx, m->n_outputs, sizeof *m->outputs);
    for (size_t i = 0; i < m->n_outputs; i++) {
        const struct nuc_meta *meta = &nuc_eval_output(e, i)->vals[0];
        struct nuc_measured_output *o = &m->outputs[i];
        *o = (struct nuc_measured_output){.name = output_name(fx->c->g, i),
                                          .samples = fx->n_samples,
                                          .is_float = meta->dtype == NUC_F32,
                                          .min = INFINITY,
                                          .max = -INFINITY};
        for (size_t k = 0; k < fx->n_samples && o->is_float; k++) {
            const float *x = fx->s->outputs[k][i], *first = fx->s->outputs[0][i];
            for (int64_t j = 0; j < nuc_elements(meta); j++) {
                o->signal += (double)x[j] * (double)x[j];
                o->min = x[j] < o->min ? x[j] : o->min;
                o->max = x[j] > o->max ? x[j] : o->max;
                o->float_varies |= x[j] < first[j] || x[j] > first[j];
            }
        }
        fx->any_float |= o->is_float;
    }
}

/*
 * An operator that refuses values fails the call, which only the thread of the call may do: values that become numbers
 * of places are not computed on others.
 */
static bool may_fail(const struct nuc_graph *g)
{
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        bool integers = n->n_vals > 0 && (n->vals[0].dtype == NUC_I64 || n->vals[0].dtype == NUC_I32);
        if (integers && nuc_is_call(n) && !nuc_is_quantize(n))
            return true;
    }
    return false;
}

struct nuc_effects *nuc_effects_new(struct nuc_calibration *c, const struct nuc_converted *q, size_t n_samples)
{
    struct nuc_context *cx = c->g->cx;
    struct nuc_effects *fx = nuc_alloc(cx, sizeof *fx);

    *fx = (struct nuc_effects){.c = c,
                               .s = c->samples,
                               .n_samples = n_samples < c->samples->count ? n_samples : c->samples->count,
                               .g = q->g,
                               .n_points = q->n_points,
                               .run_cost = nuc_run_cost(q->g)};
    fx->pool = nuc_pool_new(cx, fx->n_samples < 2 || may_fail(q->g) ? 1 : c->threads);
    unsigned n = nuc_pool_threads(fx->pool);
    fx->workers = nuc_alloc_array(cx, n, sizeof *fx->workers);
    /* A worker by itself may take the threads inside. */
    add_worker(fx, nuc_eval_new_adjustable(q->g, n > 1 ? 1 : c->threads));
    for (unsigned i = 1; i < n && i < fx->n_samples; i++)
        add_worker(fx, nuc_eval_fork(fx->workers[0].e));
    list_steps(fx);
    list_points(fx, q);
    measure_signals(fx);
    return fx;
}

bool nuc_has_effect(const struct nuc_effects *fx, uint32_t group)
{
    return fx->first[group] != NONE;
}

double nuc_cost_after(const struct nuc_effects *fx, uint32_t group)
{
    return fx->first[group] == NONE ? 0 : 1 - fx->cost_before[fx->points[fx->first[group]].step];
}

/* ---- measuring ---- */

static void set_group(const struct nuc_effects *fx, struct worker *w, uint32_t group, bool on,
                      struct nuc_parameters parameters)
{
    const struct nuc_qspec *spec = &fx->c->observers[group]->spec;

    for (uint32_t i = fx->first[group]; i != NONE; i = fx->points[i].next)
        nuc_eval_round(w->e, fx->points[i].quantize,
                       (struct nuc_rounding){.on = on,
                                             .scale = parameters.scale,
                                             .zero_point = parameters.zero_point,
                                             .quant_min = spec->quant_min,
                                             .quant_max = spec->quant_max});
}

struct nuc_parameters *nuc_present_parameters(const struct nuc_calibration *c)
{
    struct nuc_parameters *p = nuc_alloc_array(c->g->cx, c->sharing->n_groups, sizeof *p);

    for (uint32_t i = 0; i < c->sharing->n_groups; i++) {
        const struct nuc_observer *o = c->observers[i];
        if (o->spec.kind != NUC_QSPEC_DERIVED && o->n == 1)
            p[i] = (struct nuc_parameters){o->scale[0], o->zero_point[0]};
    }
    return p;
}

/* NULL: no value is rounded. */
static void set_all(const struct nuc_effects *fx, struct worker *w, const struct nuc_parameters *parameters)
{
    for (uint32_t i = 0; i < fx->c->sharing->n_groups; i++) {
        if (fx->first[i] != NONE)
            set_group(fx, w, i, parameters != NULL, parameters != NULL ? parameters[i] : (struct nuc_parameters){1, 0});
    }
}

static double share_that_differs(const struct nuc_meta *meta, const uint8_t *a, const uint8_t *b)
{
    size_t count = (size_t)nuc_elements(meta), size = count == 0 ? 1 : nuc_bytes(meta) / count, differ = 0;

    for (size_t i = 0; i < count; i++)
        differ += memcmp(a + i * size, b + i * size, size) != 0;
    return count == 0 ? 0 : (double)differ / (double)count;
}

/* Of the bytes of an output: outputs with different ones differ. FNV-1a over words of 32 bits. */
static uint32_t fingerprint(const struct nuc_evaluator *e, size_t output)
{
    const uint8_t *bytes = nuc_eval_result_data(e, output);
    size_t count = nuc_bytes(&nuc_eval_output(e, output)->vals[0]) / sizeof(uint32_t);
    uint32_t hash = 2166136261u, word;

    for (size_t i = 0; i < count; i++) {
        memcpy(&word, bytes + i * sizeof word, sizeof word);
        hash = (hash ^ word) * 16777619u;
    }
    return hash;
}

/* Of the outputs that the evaluator has now. noise: by output, added to; NULL. */
static double error_of(const struct nuc_effects *fx, const struct nuc_evaluator *e, void *const *reference,
                       double *noise)
{
    double sum = 0;

    for (size_t i = 0; i < fx->s->n_outputs; i++) {
        const struct nuc_meta *meta = &nuc_eval_output(e, i)->vals[0];
        const struct nuc_measured_output *o = &fx->measured.outputs[i];
        struct nuc_sqnr s = {0, 0};
        if (o->is_float)
            nuc_sqnr_add(&s, reference[i], nuc_eval_result_data(e, i), (size_t)nuc_elements(meta));
        else if (!fx->any_float)
            s.noise = share_that_differs(meta, reference[i], nuc_eval_result_data(e, i));
        sum += o->signal > 0 ? s.noise / o->signal : s.noise;
        if (noise != NULL)
            noise[i] = s.noise;
    }
    return sum;
}

struct whole {
    struct nuc_effects *fx;
    const struct nuc_parameters *const *parameters;
    double *error, *noise; /* by sample; by sample, then output */
    uint32_t *fingerprint; /* as the noise */
};

static void run_whole(const void *arg, struct nuc_part part)
{
    const struct whole *r = arg;
    struct nuc_effects *fx = r->fx;
    struct worker *w = &fx->workers[part.worker];

    for (size_t k = part.begin; k < part.end; k++) {
        set_all(fx, w, r->parameters[fx->s->part[k]]);
        nuc_eval_start(w->e, (const void *const *)fx->s->inputs[k]);
        nuc_eval_steps(w->e, 0, fx->n_steps);
        r->error[k] = error_of(fx, w->e, fx->s->outputs[k], r->noise + k * fx->s->n_outputs);
        for (size_t i = 0; i < fx->s->n_outputs; i++)
            r->fingerprint[k * fx->s->n_outputs + i] = fingerprint(w->e, i);
    }
}

/* A pool with fewer workers than threads has no more parts than workers. */
static void for_samples(struct nuc_effects *fx, double runs, nuc_parallel_fn fn, const void *arg)
{
    nuc_parallel_for(fx->pool, fx->n_samples, runs * (double)fx->n_samples * fx->run_cost, fn, arg);
}

double nuc_effect_of_all(struct nuc_effects *fx, const struct nuc_parameters *const parameters[2], double *by_sample)
{
    struct nuc_arena *outer = nuc_push_arena(fx->g->cx);
    struct nuc_measured *m = &fx->measured;
    struct whole r = {fx, parameters, nuc_alloc_array(fx->g->cx, fx->n_samples, sizeof(double)),
                      nuc_alloc_array(fx->g->cx, fx->n_samples * fx->s->n_outputs, sizeof(double)),
                      nuc_alloc_array(fx->g->cx, fx->n_samples * fx->s->n_outputs, sizeof(uint32_t))};
    double sum = 0;

    for_samples(fx, 1, run_whole, &r);
    for (size_t i = 0; i < m->n_outputs; i++) {
        m->outputs[i].noise = 0;
        m->outputs[i].varies = false;
    }
    for (size_t k = 0; k < fx->n_samples; k++) {
        sum += r.error[k];
        if (by_sample != NULL)
            by_sample[k] = r.error[k];
        for (size_t i = 0; i < m->n_outputs; i++) {
            m->outputs[i].noise += r.noise[k * m->n_outputs + i];
            m->outputs[i].varies |= r.fingerprint[k * m->n_outputs + i] != r.fingerprint[i];
        }
    }
    nuc_pop_arena(fx->g->cx, outer);
    return sum;
}

const struct nuc_measured *nuc_effects_measured(struct nuc_effects *fx)
{
    return &fx->measured;
}

/* ---- a few tensors at a time ---- */

struct alone {
    struct nuc_effects *fx;
    const struct nuc_tried *tried;
    const uint32_t *first; /* by trial: the first step that it changes */
    const uint32_t *order; /* of the trials, by that */
    size_t n;
    double *error;
};

static void set_tried(const struct nuc_effects *fx, struct worker *w, const struct nuc_tried *t, unsigned part, bool on)
{
    for (uint32_t i = 0; i < t->n_groups; i++)
        set_group(fx, w, t->groups[i], on, t->parameters[part][i]);
}

/* Trials branch off one run without any rounding, each where it begins to differ. */
static void run_alone(const void *arg, struct nuc_part part)
{
    const struct alone *r = arg;
    struct nuc_effects *fx = r->fx;
    struct worker *w = &fx->workers[part.worker];

    set_all(fx, w, NULL);
    for (size_t k = part.begin; k < part.end; k++) {
        nuc_eval_start(w->e, (const void *const *)fx->s->inputs[k]);
        nuc_eval_steps(w->e, 0, fx->n_steps);
        for (size_t i = 0; i < fx->s->n_outputs; i++)
            memcpy(w->reference[i], nuc_eval_result_data(w->e, i), nuc_bytes(&nuc_eval_output(w->e, i)->vals[0]));
        uint32_t at = 0;
        bool saved = false;
        for (size_t i = 0; i < r->n; i++) {
            const struct nuc_tried *t = &r->tried[r->order[i]];
            uint32_t step = r->first[r->order[i]];
            if (saved && step != at)
                nuc_eval_restore(w->e, at, w->saved);
            if (step != at || i == 0) {
                nuc_eval_steps(w->e, at, step);
                nuc_eval_save(w->e, step, w->saved);
                at = step;
                saved = true;
            } else {
                nuc_eval_restore(w->e, at, w->saved);
            }
            set_tried(fx, w, t, fx->s->part[k], true);
            nuc_eval_steps(w->e, step, fx->n_steps);
            r->error[k * r->n + r->order[i]] = error_of(fx, w->e, w->reference, NULL);
            set_tried(fx, w, t, fx->s->part[k], false);
        }
    }
}

void nuc_effects_of(struct nuc_effects *fx, const struct nuc_tried *tried, size_t n, double *error)
{
    struct nuc_context *cx = fx->g->cx;
    struct nuc_arena *outer = nuc_push_arena(cx);
    uint32_t *first = nuc_alloc_array(cx, n, sizeof *first), *order = nuc_alloc_array(cx, n, sizeof *order);

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
    struct alone r = {fx, tried, first, order, n, error};
    for_samples(fx, (double)n, run_alone, &r);
    nuc_pop_arena(cx, outer);
}
