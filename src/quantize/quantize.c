/* Preparing a graph, showing it samples, and listing what was observed. */
#include <math.h>

#include "eval/eval_parallel.h"
#include "ir/masks.h"
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

/* ---- observing ---- */

void nuc_quantize_done(struct nuc_calibration *c)
{
    nuc_free_sub_arena(c->prepared);
    c->prepared = NULL;
    c->annotations = NULL;
    c->sharing = NULL;
    c->observers = NULL;
}

static void note_extremes(struct nuc_calibration *c, uint32_t group, const struct nuc_node *node,
                          struct nuc_seen_values *values)
{
    struct nuc_range bounds = {-INFINITY, INFINITY};

    if (values->count == 0 || !nuc_seen_range(values) || isinf(values->min) || isinf(values->max))
        return;
    struct nuc_range seen = {values->min, values->max};
    if (c->relevant != NULL && node->vals[0].dtype == NUC_F32)
        bounds = c->relevant[node->id];
    if (c->shown != NULL)
        nuc_join_ranges(&c->shown[node->id], seen);
    struct nuc_observer *o = c->observers[group];
    nuc_extremes_add(c->g->cx, &o->extremes, c->n_samples - 1, seen, bounds, values->count);
    if (o->parts != NULL)
        nuc_extremes_add(c->g->cx, &o->parts[o->part].extremes, c->n_samples - 1, seen, bounds, values->count);
}

static void see(struct nuc_calibration *c, uint32_t group, const struct nuc_node *node, struct nuc_seen_values *values)
{
    struct nuc_context *cx = c->g->cx;
    struct nuc_observer *o = c->observers[group];
    struct nuc_seen_values biases = *values;
    bool hides;

    if (o->spec.mask && o->spec.kind == NUC_QSPEC_OBSERVED) {
        biases.x = nuc_mask_biases(cx, &c->masked, values->x, values->count, &hides);
        o->hides = o->hides || hides;
        values = &biases;
    }
    bool ok = nuc_observer_see(cx, o, &node->vals[0], values);
    if (ok && !nuc_is_static(node))
        note_extremes(c, group, node, values);
    if (ok)
        return;
    if (nuc_is_static(node))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: %s holds a NaN or an infinity: such a model cannot be quantized", c->g->file,
                 nuc_node_text(cx, node));
    nuc_fail(cx, NUC_BAD_INPUT,
             "%s: %s gives a NaN or an infinity in calibration sample %zu of %s: check the sample and the model",
             c->g->file, nuc_node_text(cx, node), c->sample_of_file,
             c->samples_file != NULL ? c->samples_file : "made-up ones");
}

/* The value is a sum with a mask that hides, or may, moved or not; that samples are not masked says little. */
static bool may_hide(const struct nuc_calibration *c, const struct nuc_node *node)
{
    enum nuc_mask kind;

    while (nuc_moves_values(node) && nuc_arg_node(node, NUC_SELF) != NULL)
        node = nuc_arg_node(node, NUC_SELF);
    const struct nuc_node *mask = nuc_added_mask(c->g, node, &kind);
    uint32_t group = mask == NULL ? NUC_NO_GROUP : nuc_observed_group(c, mask, node);
    if (group == NUC_NO_GROUP)
        return false;
    const struct nuc_observer *o = c->observers[group];
    return kind == NUC_MASK_HIDES ? !nuc_is_static(mask) : o->hides || nuc_is_plain_mask(o);
}

/*
 * The reader gives the value, which it reads in the parameters of `group`, others of that group, whose range says all.
 * Scores that masks are added to: what is taken out of them does not count. What the greatest or least is taken of:
 * beyond the range of the result it is another one.
 */
static bool shows_range(const struct nuc_calibration *c, const struct nuc_node *value, const struct nuc_node *user,
                        uint32_t group)
{
    enum nuc_mask kind;

    if (group == NUC_NO_GROUP || c->sharing->output_group[user->id] != group)
        return false;
    if (nuc_moves_values(user) || nuc_op_is_in(user->op, NUC_CLAMPS))
        return c->unseen[user->id];
    const struct nuc_node *mask = nuc_added_mask(c->g, user, &kind);
    return (mask != NULL && mask != value && kind == NUC_MASK_HIDES) || user->op == NUC_OP_MAXIMUM ||
           user->op == NUC_OP_MINIMUM;
}

static void find_unseen(struct nuc_calibration *c)
{
    const uint32_t *group = c->sharing->output_group;

    c->unseen = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *c->unseen);
    for (const struct nuc_node *n = c->g->last; n != NULL && !c->reference_compat; n = n->prev) {
        bool all = n->n_users > 0 && nuc_is_call(n);
        for (uint32_t i = 0; i < n->n_users && all; i++)
            all = shows_range(c, n, n->users[i], group[n->id]);
        c->unseen[n->id] = all;
    }
}

/* Of a value that some read in other parameters than its own. */
static bool is_edge_unseen(const struct nuc_calibration *c, const struct nuc_node *node, uint32_t group)
{
    bool is_read = false;

    for (uint32_t i = 0; i < node->n_users && !c->reference_compat; i++) {
        const struct nuc_node *user = node->users[i];
        if (nuc_edge_group(c->sharing, c->annotations, node, user) != group)
            continue;
        if (!shows_range(c, node, user, group))
            return false;
        is_read = true;
    }
    return is_read;
}

/* Masks that something is multiplied with, of 0 and 1 as far as is known. */
static void find_gates(struct nuc_calibration *c)
{
    c->gates = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *c->gates);
    for (const struct nuc_node *n = c->g->first; n != NULL && !c->reference_compat; n = n->next) {
        for (uint32_t i = NUC_SELF; n->op == NUC_OP_MUL && i <= NUC_OTHER; i++) {
            const struct nuc_node *gate = nuc_arg_node(n, i);
            if (gate != NULL && nuc_mask_of(c->g, gate) == NUC_MASK_OPEN)
                c->gates[gate->id] = true;
        }
    }
}

static bool holds_zeros_and_ones(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(x[i] >= 0 && x[i] <= 0) && !(x[i] >= 1 && x[i] <= 1))
            return false;
    }
    return true;
}

/* Ranges of constants do not change from sample to sample; in histograms and averages they count each time. */
static void see_constants(struct nuc_calibration *c, bool each_sample)
{
    for (uint32_t i = 0; i < c->n_points; i++) {
        const struct nuc_observation_point *t = &c->points[i];
        const struct nuc_qspec *spec = &c->observers[t->group]->spec;
        bool every_sample =
            nuc_observer_counts(c->observers[t->group]) || spec->observer == NUC_OBSERVER_MOVING_AVERAGE;
        if (!nuc_is_static(t->node) || spec->kind != NUC_QSPEC_OBSERVED || every_sample != each_sample ||
            is_edge_unseen(c, t->node, t->group))
            continue;
        struct nuc_seen_values values = {.x = nuc_const_contiguous(c->g, t->node),
                                         .count = (size_t)nuc_elements(&t->node->vals[0])};
        see(c, t->group, t->node, &values);
    }
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
    find_unseen(c);
    find_gates(c);
    const struct nuc_sharing *s = c->sharing;
    c->observers = nuc_alloc_array(c->g->cx, s->n_groups, sizeof(struct nuc_observer *));
    for (uint32_t i = 0; i < s->n_groups; i++) {
        struct nuc_observer *o = nuc_observer_new(c->g->cx, &s->groups[i].spec);
        o->follows_tails = o->spec.observer == NUC_OBSERVER_AUTO && !(c->without & NUC_STEP_WIDEN);
        if (options->accuracy != NUC_ACCURACY_FAST)
            nuc_observer_divide(c->g->cx, o);
        for (int k = 0; k < 2 && o->spec.kind == NUC_QSPEC_DERIVED; k++)
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
    see_constants(c, false);
    if (c->samples != NULL && !(c->without & NUC_STEP_EQUALIZE))
        c->equalizer = nuc_equalizer_new(c);
    nuc_leave_sub_arena(g->cx, prepared);
    c->prepared = prepared;
    return c;
}

/* The steps of a group become no smaller. */
static void keep_steps_above(struct nuc_calibration *c, uint32_t group, float step)
{
    if (group != NUC_NO_GROUP && isfinite(step) && step > c->observers[group]->spec.least)
        c->observers[group]->spec.least = step;
}

/* What reads a value as it is, so that its result has the same steps. */
static bool passes_on(const struct nuc_node *node)
{
    enum nuc_family family = nuc_op_family(node->op);

    return family == NUC_FAMILY_VIEW || family == NUC_FAMILY_COPY || family == NUC_FAMILY_POOL;
}

#define MOST_PASSED 4 /* operators that pass a value on, one behind the other */

static void bound_groups(struct nuc_calibration *c, const struct nuc_node *node, float step, int depth)
{
    const struct nuc_observed *t = &c->observed[node->id];

    for (uint32_t i = 0; i <= t->n_edges; i++)
        keep_steps_above(c, i < t->n_edges ? t->edges[i] : t->output, step);
    for (uint32_t i = 0; depth > 0 && i < node->n_users; i++) {
        if (passes_on(node->users[i]))
            bound_groups(c, node->users[i], step, depth - 1);
    }
}

/* Steps of scores below which LiteRT's softmax has no multiplier; they tell no weights apart. */
#define LEAST_SCORE_STEP 0x1p-27f

/*
 * What readers tell apart. Where all of it is one value, as of a sum that is always negative in front of a relu, steps
 * are no finer than float32 has the values themselves: integers could not be scaled to them.
 */
static const float *clip(struct nuc_calibration *c, const struct nuc_node *node, const float *data, size_t elements)
{
    const float *clipped = nuc_clip(c->g->cx, &c->clipped, c->relevant[node->id], data, elements);
    float min, max;

    if (clipped != data && nuc_min_max(data, elements, &min, &max))
        bound_groups(c, node, 0x1p-24f * fmaxf(fabsf(min), fabsf(max)), 0);
    return clipped;
}

static void observe(void *user, const struct nuc_node *node, uint32_t val_index, const void *data, size_t elements)
{
    struct nuc_calibration *c = user;
    const struct nuc_observed *t = &c->observed[node->id];

    if (val_index != 0 || nuc_is_static(node))
        return;
    if (c->is_kept)
        nuc_choice_see(c->samples, node, data);
    if (c->is_kept && c->equalizer != NULL)
        nuc_equalizer_see(c->equalizer, nuc_sample_part(c->n_samples - 1), node, data, elements);
    if (c->means != NULL)
        nuc_input_means_see(c->means, c->pool, c->n_samples - 1, node, data, elements);
    for (uint32_t i = 0; !c->reference_compat && elements != 0 && i < node->n_users; i++) {
        /*
         * x (1 + erf) / 2 of values that erf is near -1 for is what float32 leaves of a difference: steps below that
         * would tell roundings apart, which differ from one computation to another.
         */
        if (node->users[i]->op == NUC_OP_GELU) {
            float min, max;
            if (nuc_min_max(data, elements, &min, &max))
                bound_groups(c, node->users[i], 0x1p-24f * fmaxf(fabsf(min), fabsf(max)), MOST_PASSED);
        }
        if (nuc_op_family(node->users[i]->op) == NUC_FAMILY_SOFTMAX)
            bound_groups(c, node, LEAST_SCORE_STEP, 0);
    }
    if (t->output == NUC_NO_GROUP && t->n_edges == 0)
        return;
    if (c->unseen[node->id])
        return;
    if (c->gates[node->id])
        c->gates[node->id] = holds_zeros_and_ones(data, elements);
    if (!c->reference_compat)
        data = nuc_without_masked(c->g, &c->masked, node, data, may_hide(c, node));
    if (data == NULL)
        return;
    if (c->relevant != NULL && node->vals[0].dtype == NUC_F32)
        data = clip(c, node, data, elements);
    struct nuc_seen_values values = {.x = data, .count = elements, .pool = c->pool};
    if (t->output != NUC_NO_GROUP)
        see(c, t->output, node, &values);
    for (uint32_t i = 0; i < t->n_edges; i++) {
        if (!is_edge_unseen(c, node, t->edges[i]))
            see(c, t->edges[i], node, &values);
    }
}

static bool is_read_by_gelu(const struct nuc_node *node)
{
    for (uint32_t i = 0; i < node->n_users; i++) {
        if (node->users[i]->op == NUC_OP_GELU)
            return true;
    }
    return false;
}

/* By node id: what observe() makes anything of. */
static const bool *seen_nodes(const struct nuc_calibration *c)
{
    bool *seen = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *seen);

    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        const struct nuc_observed *t = &c->observed[n->id];
        seen[n->id] = t->output != NUC_NO_GROUP || t->n_edges != 0 ||
                      (c->means != NULL && nuc_input_means_want(c->means, n)) || is_read_by_gelu(n);
    }
    for (size_t i = 0; c->samples != NULL && i < c->samples->n_scores; i++)
        seen[c->samples->scores[i].node->id] = true;
    return seen;
}

static void open_evaluator(struct nuc_calibration *c)
{
    if (c->evaluator == NULL) {
        c->evaluator_memory = nuc_enter_sub_arena(c->g->cx);
        c->evaluator = nuc_eval_new_observed(c->g, c->threads, seen_nodes(c));
        c->pool = nuc_eval_pool(c->evaluator);
        c->sequence = nuc_sequence_new(c->g);
        nuc_leave_sub_arena(c->g->cx, c->evaluator_memory);
        nuc_eval_observe(c->evaluator, observe, c);
    }
}

void nuc_quantize_step(struct nuc_calibration *c, const void *const *inputs)
{
    open_evaluator(c);
    for (uint32_t i = 0; i < c->sharing->n_groups; i++)
        c->observers[i]->part = nuc_sample_part(c->n_samples);
    c->n_samples++;
    c->has_parameters = c->has_chosen = false;
    see_constants(c, true);
    void **outputs = NULL;
    if (c->samples != NULL)
        outputs = nuc_choice_keep(c->g->cx, c->samples, c->evaluator, inputs);
    c->is_kept = outputs != NULL;
    nuc_eval_run(c->evaluator, inputs, outputs);
}

void nuc_quantize_begin(struct nuc_calibration *c)
{
    open_evaluator(c);
    nuc_sequence_reset(c->sequence);
}

void nuc_quantize_name_sample(struct nuc_calibration *c, const char *file, size_t sample)
{
    c->samples_file = file;
    c->sample_of_file = sample;
}

void nuc_quantize_sample(struct nuc_calibration *c, const void *const *inputs)
{
    open_evaluator(c);
    nuc_quantize_step(c, nuc_sequence_inputs(c->sequence, inputs));
    nuc_sequence_advance(c->sequence, c->evaluator);
}

/* ---- kept samples once more ---- */

const void *const *nuc_kept_sample(const struct nuc_calibration *c, size_t index)
{
    return index < c->samples->count ? (const void *const *)c->samples->kept[index].inputs : NULL;
}

size_t nuc_quantize_measure(struct nuc_calibration *c, const struct nuc_calibration *observed, unsigned part,
                            double *errors)
{
    struct nuc_choice_samples *s = observed->samples;
    unsigned of[NUC_CHOICE_MOST];

    for (size_t k = 0; k < s->count; k++) {
        of[k] = s->kept[k].part;
        if (of[k] != part)
            nuc_quantize_step(c, nuc_kept_sample(observed, k));
    }
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
        .dtype = o->spec.dtype,
        .quant_min = o->spec.quant_min,
        .quant_max = o->spec.quant_max,
        .scheme = o->spec.scheme,
        .ch_axis = o->spec.ch_axis,
        .seen = o->seen,
        .n = o->n,
        .min = o->min,
        .max = o->max,
        .scale = o->scale,
        .zero_point = o->zero_point,
    };
}
