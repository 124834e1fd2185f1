/* Preparing a graph, and listing what was observed. */
#include "quantize/observe.h"
#include "quantize/search/bias_correction.h"
#include "quantize/search/choice_samples.h"
#include "quantize/search/effect.h"
#include "quantize/search/equalize.h"
#include "quantize/search/range_choice.h"

/* ---- order ---- */

struct ordering {
    struct nuc_calibration *c;
    bool *waits; /* by node id: a constant after the user inputs, not listed yet */
};

static void list_node(struct nuc_calibration *c, struct nuc_node *node)
{
    c->order[c->n_order++] = node;
}

static void order_nodes(struct nuc_calibration *c)
{
    struct ordering o = {c, nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *o.waits)};
    bool behind_inputs = false;

    c->order = nuc_alloc_array(c->g->cx, c->g->n_nodes, sizeof(struct nuc_node *));
    for (struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        if (behind_inputs && nuc_is_static(n)) {
            o.waits[n->id] = true;
            continue;
        }
        behind_inputs = behind_inputs || !nuc_is_static(n);
        struct nuc_cursor at = {0, 0};
        for (struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at)) {
            if (o.waits[in->id])
                list_node(o.c, in);
            o.waits[in->id] = false;
        }
        list_node(c, n);
    }
}

/* ---- observation points ---- */

static bool has_edge(const struct nuc_observed *t, uint32_t group)
{
    for (uint32_t i = 0; i < t->n_edges; i++) {
        if (t->edges[i] == group)
            return true;
    }
    return false;
}

static void make_points(struct nuc_calibration *c)
{
    c->observed = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *c->observed);
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        c->observed[n->id].output = c->sharing->output_group[n->id];
        const struct nuc_annotation *a = c->annotations[n->id];
        for (uint32_t i = 0; a != NULL && i < a->n_inputs; i++) {
            uint32_t group = c->sharing->input_groups[n->id][i];
            struct nuc_observed *t = &c->observed[a->inputs[i].arg->id];
            if (group == NUC_NO_GROUP || group == c->sharing->output_group[a->inputs[i].arg->id] || has_edge(t, group))
                continue;
            t->edges = nuc_grow(c->g->cx, t->edges, &t->edges_capacity, t->n_edges + 1, sizeof *t->edges);
            t->edges[t->n_edges++] = group;
        }
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->n_order; i++) {
        const struct nuc_observed *t = &c->observed[c->order[i]->id];
        count += (t->output != NUC_NO_GROUP) + t->n_edges;
    }
    c->points = nuc_alloc_array(c->g->cx, count, sizeof *c->points);
    for (uint32_t i = 0; i < c->n_order; i++) {
        const struct nuc_observed *t = &c->observed[c->order[i]->id];
        if (t->output != NUC_NO_GROUP)
            c->points[c->n_points++] = (struct nuc_observation_point){c->order[i], t->output};
        for (uint32_t k = t->n_edges; k-- > 0;)
            c->points[c->n_points++] = (struct nuc_observation_point){c->order[i], t->edges[k]};
    }
}

/* ---- preparing ---- */

void nuc_quantize_done(struct nuc_calibration *c)
{
    nuc_free_sub_arena(c->prepared);
    c->prepared = NULL;
    c->annotations = NULL;
    c->sharing = NULL;
    c->observers = NULL;
}

/* What samples cost may be so much more where weights are chosen by them, too. */
#define HIGH_EFFORT 10

/* Networks that are compared are measured on the same samples, whatever a run of each costs. */
static double run_cost(const struct nuc_calibration *c)
{
    double cost = nuc_run_cost(c->g);

    if (c->ranges == NULL)
        return cost;
    if (!(c->ranges->run_cost > 0))
        c->ranges->run_cost = cost;
    return c->ranges->run_cost;
}

struct nuc_calibration *nuc_quantize_prepare(struct nuc_graph *g, const struct nuc_quantize_options *options)
{
    struct nuc_calibration *c = nuc_alloc(g->cx, sizeof *c);
    struct nuc_sub_arena *prepared = nuc_enter_sub_arena(g->cx);

    c->g = g;
    c->fold = NUC_NO_FOLD;
    c->threads = options->threads;
    c->reference_compat = options->reference_compat;
    c->without = options->without;
    c->high = options->accuracy == NUC_ACCURACY_HIGH;
    c->mixed = options->mixed;
    c->annotations = nuc_annotate(g, options);
    c->one_scale = options->one_scale;
    if (!options->reference_compat && !(c->without & NUC_STEP_RELEVANT))
        c->relevant = nuc_relevant_ranges(g, c->annotations);
    c->sharing = nuc_share(g, c->annotations, options->reference_compat);
    order_nodes(c);
    make_points(c);
    nuc_find_unseen(c);
    const struct nuc_sharing *s = c->sharing;
    c->observers = nuc_alloc_array(c->g->cx, s->n_groups, sizeof(struct nuc_observer *));
    for (uint32_t i = 0; i < s->n_groups; i++) {
        struct nuc_observer *o = nuc_observer_new(c->g->cx, &s->groups[i].spec);
        o->follows_tails = o->spec->observer == NUC_OBSERVER_AUTO && !(c->without & NUC_STEP_WIDEN);
        if (options->accuracy != NUC_ACCURACY_FAST)
            nuc_observer_divide(c->g->cx, o);
        for (int k = 0; k < 2 && o->spec->kind == NUC_QSPEC_DERIVED; k++)
            o->from[k] = c->observers[s->groups[i].from[k]];
        o->rounding = options->rounding;
        c->observers[i] = o;
    }
    c->ranges = options->ranges;
    c->run_cost = run_cost(c);
    nuc_need_histograms(c, options->accuracy != NUC_ACCURACY_FAST);
    for (uint32_t i = 0; i < s->n_groups && c->without & NUC_STEP_WIDEN; i++)
        c->observers[i]->reach = NUC_AS_SEEN;
    if (options->bias_correction)
        c->means = nuc_input_means_new(g);
    c->is_open = options->observer == NUC_OBSERVE_AUTO && !(c->without & NUC_STEP_RANGES);
    if (options->accuracy != NUC_ACCURACY_FAST)
        c->samples = nuc_choice_samples_new(g, c->run_cost / (c->high ? HIGH_EFFORT : 1));
    if (c->samples != NULL)
        c->shown = nuc_alloc_array(g->cx, g->next_id, sizeof *c->shown);
    nuc_see_constants(c);
    if (c->samples != NULL && !(c->without & NUC_STEP_EQUALIZE))
        c->equalizer = nuc_equalizer_new(c);
    nuc_leave_sub_arena(g->cx, prepared);
    c->prepared = prepared;
    return c;
}

/* ---- kept samples once more ---- */

size_t nuc_kept_samples(const struct nuc_calibration *c, unsigned part, const void *const **samples)
{
    size_t count = 0;

    for (size_t k = 0; k < c->samples->count; k++) {
        if (part == NUC_BOTH_PARTS || c->samples->kept[k].part == part)
            samples[count++] = (const void *const *)c->samples->kept[k].inputs;
    }
    return count;
}

size_t nuc_quantize_measure(struct nuc_calibration *c, const struct nuc_calibration *observed, unsigned part,
                            double *errors)
{
    struct nuc_choice_samples *s = observed->samples;
    const void *const *others[NUC_CHOICE_MOST];
    unsigned of[NUC_CHOICE_MOST];

    for (size_t k = 0; k < s->count; k++)
        of[k] = s->kept[k].part;
    nuc_quantize_steps(c, others, nuc_kept_samples(observed, 1 - part, others));
    nuc_quantize_pause(c);
    nuc_calibration_parameters(c);
    struct nuc_converted q = nuc_convert_graph(c, c->means == NULL ? NULL : nuc_corrected_biases(c, NUC_NO_FOLD));
    c->samples = s;
    struct nuc_sample_figures *figures = nuc_sample_figures_new(c);
    size_t all = s->count, count = s->count = nuc_samples_to_measure(c);
    nuc_measure_converted(c, &q, of, part, figures, &(struct nuc_effects *){NULL});
    s->count = all;
    c->samples = NULL;
    for (size_t k = 0; k < count; k++) {
        if (of[k] == part)
            errors[k] = figures[k].error * (double)s->count;
    }
    return count;
}

/* ---- results ---- */

size_t nuc_quantize_n_observations(const struct nuc_calibration *c)
{
    return c->n_points;
}

void nuc_quantize_observation(struct nuc_calibration *c, size_t index, struct nuc_observation *out)
{
    const struct nuc_observation_point *t = &c->points[index];
    const struct nuc_observer *o = c->observers[t->group];
    size_t first = 0;

    nuc_calibration_parameters(c);
    while (c->points[first].group != t->group)
        first++;
    *out = (struct nuc_observation){
        .node = t->node,
        .shared_with = first,
        .kind = o->chosen,
        .dtype = o->spec->dtype,
        .quant_min = o->spec->quant_min,
        .quant_max = o->spec->quant_max,
        .scheme = o->spec->scheme,
        .ch_axis = o->spec->ch_axis,
        .seen = o->seen,
        .n = o->n,
        .min = o->min,
        .max = o->max,
        .scale = o->scale,
        .zero_point = o->zero_point,
    };
}
