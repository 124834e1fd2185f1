/*
 * Each thread runs whole samples. What samples add to (observers, sums of a layer's inputs, what an equalizer has seen)
 * they come to in their order: a value is looked at when the sample before has done with all that looking at it
 * changes. So samples go through the graph one behind the other, mostly a value or two apart, and what is observed does
 * not depend on the threads. Looking at values allocates nothing and does not fail: that is done before and after, in
 * the order of the samples.
 */
#include "quantize/observe.h"

#include <math.h>

#include "eval/eval_parallel.h"
#include "ir/masks.h"
#include "quantize/search/bias_correction.h"
#include "quantize/search/choice_samples.h"
#include "quantize/search/equalize.h"

/* How the value of a node is looked at, which is the same for all samples. */
struct look {
    uint32_t turn;  /* of all that are looked at, after that of constants */
    uint32_t after; /* the turn of the sample before that is over by then */
    uint32_t n_groups;
    uint32_t *groups;            /* whose observers see it */
    struct nuc_masked_rows rows; /* what is masked of it */
    bool hides;                  /* each row has something that is hidden, */
    uint32_t mask;               /* or has by what the observer of this group knows; NUC_NO_GROUP */
    bool is_read_by_gelu;
    /* By the samples so far, steps of its groups, and of what GELU makes of it, are no smaller. */
    float step, gelu_step;
};

/* A thread's. */
struct watcher {
    struct nuc_calibration *c;
    struct nuc_sub_arena *memory; /* of a fork */
    struct nuc_evaluator *evaluator;
    struct nuc_glances *glances;
    float *unmasked, *clipped; /* room for copies of a value */
    struct sample *sample;     /* under way */
};

struct sample {
    struct nuc_pace pace;              /* in turns */
    struct nuc_pace *before;           /* of the sample before; NULL: there is none */
    struct nuc_choice_sample *kept;    /* NULL: nothing of it is */
    bool is_kept;                      /* it was, perhaps until later samples came */
    uint32_t number;                   /* among all that were seen */
    const struct nuc_node *not_finite; /* the first node that gave a NaN or an infinity that counts */
    const struct nuc_evaluator *refused_by;
};

#define CONSTANTS 1 /* their turn is the first one */

struct nuc_watch {
    struct nuc_sub_arena *memory; /* which conversion does without */
    struct nuc_sequence *sequence;
    bool has_states;
    struct look *looks; /* by node id */
    /* What each sample counts anew. */
    uint32_t n_constants, after_constants;
    struct constant {
        const struct nuc_node *node;
        uint32_t group;
        const float *x;
    } * constants;
    uint32_t most_forks;
    struct nuc_pool *pool;
    uint32_t n_watchers;
    struct watcher *watchers; /* the first evaluator has all threads inside, its forks after it have one each */
};

/* ---- what is seen ---- */

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

void nuc_find_unseen(struct nuc_calibration *c)
{
    const uint32_t *group = c->sharing->output_group;

    c->unseen = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *c->unseen);
    c->gates = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *c->gates);
    for (const struct nuc_node *n = c->g->last; n != NULL && !c->reference_compat; n = n->prev) {
        bool all = n->n_users > 0 && nuc_is_call(n);
        for (uint32_t i = 0; i < n->n_users && all; i++)
            all = shows_range(c, n, n->users[i], group[n->id]);
        c->unseen[n->id] = all;
        for (uint32_t i = NUC_SELF; n->op == NUC_OP_MUL && i <= NUC_OTHER; i++) {
            const struct nuc_node *gate = nuc_arg_node(n, i);
            if (gate != NULL && nuc_mask_of(c->g, gate) == NUC_MASK_OPEN)
                c->gates[gate->id] = true;
        }
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

/* A constant that is observed, with each sample or once for all. */
static bool is_constant(const struct nuc_calibration *c, const struct nuc_observation_point *t, bool each_sample)
{
    const struct nuc_observer *o = c->observers[t->group];
    bool every_sample = nuc_observer_counts(o) || o->spec->observer == NUC_OBSERVER_MOVING_AVERAGE;

    return nuc_is_static(t->node) && o->spec->kind == NUC_QSPEC_OBSERVED && every_sample == each_sample &&
           !is_edge_unseen(c, t->node, t->group);
}

static size_t elements_of(const struct nuc_node *node)
{
    return (size_t)nuc_elements(&node->vals[0]);
}

/* ---- looking at a value ---- */

static void note_extremes(struct watcher *w, struct nuc_observer *o, const struct nuc_node *node,
                          struct nuc_seen_values *values)
{
    struct nuc_calibration *c = w->c;
    struct nuc_range bounds = {-INFINITY, INFINITY};

    if (values->count == 0 || !nuc_seen_range(values) || isinf(values->min) || isinf(values->max))
        return;
    struct nuc_range seen = {values->min, values->max};
    if (c->relevant != NULL && node->vals[0].dtype == NUC_F32)
        bounds = c->relevant[node->id];
    if (c->shown != NULL)
        nuc_join_ranges(&c->shown[node->id], seen);
    nuc_extremes_add(c->g->cx, &o->extremes, w->sample->number, seen, bounds, values->count);
    if (o->parts != NULL)
        nuc_extremes_add(c->g->cx, &o->parts[o->part].extremes, w->sample->number, seen, bounds, values->count);
}

/* False: there is a NaN or an infinity. */
static bool see(struct watcher *w, uint32_t group, const struct nuc_node *node, struct nuc_seen_values *values)
{
    struct nuc_observer *o = w->c->observers[group];
    struct nuc_seen_values biases = *values;
    bool hides;

    if (o->spec->mask && o->spec->kind == NUC_QSPEC_OBSERVED) {
        biases.x = nuc_mask_biases(values->x, values->count, w->unmasked, &hides);
        o->hides = o->hides || hides;
        values = &biases;
    }
    if (w->sample != NULL)
        o->part = nuc_sample_part(w->sample->number);
    if (!nuc_observer_see(w->c->g->cx, o, &node->vals[0], values))
        return false;
    if (!nuc_is_static(node))
        note_extremes(w, o, node, values);
    return true;
}

static bool see_constant(struct watcher *w, const struct constant *k)
{
    return see(w, k->group, k->node, &(struct nuc_seen_values){.x = k->x, .count = elements_of(k->node)});
}

static struct constant constant_of(const struct nuc_calibration *c, const struct nuc_observation_point *t)
{
    return (struct constant){t->node, t->group, nuc_const_contiguous(c->g, t->node)};
}

static _Noreturn void fail_at_constant(const struct nuc_graph *g, const struct nuc_node *node)
{
    nuc_fail(g->cx, NUC_BAD_INPUT, "%s: %s holds a NaN or an infinity: such a model cannot be quantized", g->file,
             nuc_node_text(g->cx, node));
}

static void check_sample(const struct nuc_calibration *c, const struct sample *s)
{
    struct nuc_context *cx = c->g->cx;

    if (s->not_finite == NULL && s->refused_by == NULL)
        return;
    const size_t k = s->number - c->first_named;
    const char *where =
        nuc_format(cx, " in calibration sample %zu of %s", c->sample_numbers != NULL ? c->sample_numbers[k] : k,
                   c->samples_file != NULL ? c->samples_file : "made-up ones");
    if (s->not_finite == NULL)
        nuc_eval_check(s->refused_by, where);
    if (nuc_is_static(s->not_finite))
        fail_at_constant(c->g, s->not_finite);
    if (nuc_is_user_input(s->not_finite))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: input '%s' has a NaN or an infinity%s: leave that sample out, or correct it",
                 c->g->file, s->not_finite->name, where);
    nuc_fail(cx, NUC_BAD_INPUT, "%s: %s gives a NaN or an infinity%s: check the sample and the model", c->g->file,
             nuc_node_text(cx, s->not_finite), where);
}

/* Room for copies without what is masked: of masks, and of values with rows. */
static size_t most_masked(const struct nuc_calibration *c, const struct look *looks)
{
    size_t most = 0;

    for (uint32_t i = 0; i < c->n_points; i++) {
        const struct nuc_observation_point *t = &c->points[i];
        size_t count = elements_of(t->node);
        if (count > most && (c->observers[t->group]->spec->mask || (looks != NULL && looks[t->node->id].rows.dim >= 0)))
            most = count;
    }
    return most;
}

void nuc_see_constants(struct nuc_calibration *c)
{
    struct watcher w = {.c = c, .unmasked = nuc_alloc_array(c->g->cx, most_masked(c, NULL), sizeof(float))};

    for (uint32_t i = 0; i < c->n_points; i++) {
        if (!is_constant(c, &c->points[i], false))
            continue;
        const struct constant k = constant_of(c, &c->points[i]);
        if (!see_constant(&w, &k))
            fail_at_constant(c->g, k.node);
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

/* Steps are no finer than float32 has the values themselves: integers could not be scaled to them. */
static void bound_step(float *step, const float *x, size_t count)
{
    float min, max;

    if (!nuc_min_max(x, count, &min, &max))
        return;
    const float last = 0x1p-24f * fmaxf(fabsf(min), fabsf(max));
    if (isfinite(last) && last > *step)
        *step = last;
}

/* What readers tell apart; all of it may be one value, as of a sum that is always negative in front of a relu. */
static const float *clip(struct watcher *w, struct look *l, const struct nuc_node *node, const float *x, size_t count)
{
    const struct nuc_range range = w->c->relevant[node->id];
    const float *clipped = isinf(range.min) && isinf(range.max) ? x : nuc_clip(range, x, count, w->clipped);

    if (clipped != x)
        bound_step(&l->step, x, count);
    return clipped;
}

static void show_observers(struct watcher *w, struct look *l, const struct nuc_node *node, const float *x, size_t count)
{
    struct nuc_calibration *c = w->c;

    if (c->gates[node->id])
        c->gates[node->id] = holds_zeros_and_ones(x, count);
    if (l->rows.dim >= 0) {
        const struct nuc_observer *o = l->mask == NUC_NO_GROUP ? NULL : c->observers[l->mask];
        const bool hides = l->hides || (o != NULL && (o->hides || nuc_is_plain_mask(o)));
        x = nuc_without_masked(&l->rows, &node->vals[0], x, hides, w->unmasked);
    }
    if (c->relevant != NULL && node->vals[0].dtype == NUC_F32)
        x = clip(w, l, node, x, count);
    struct nuc_seen_values values = {.x = x, .count = count};
    for (uint32_t i = 0; i < l->n_groups && w->sample->not_finite == NULL; i++) {
        if (!see(w, l->groups[i], node, &values))
            w->sample->not_finite = node;
    }
}

static void await_turn(const struct watcher *w, uint32_t turn)
{
    if (w->sample->before != NULL)
        nuc_pace_await(nuc_pool_paced(w->c->watch->pool), w->sample->before, turn);
}

static void reach_turn(const struct watcher *w, uint32_t turn)
{
    nuc_pace_reach(nuc_pool_paced(w->c->watch->pool), &w->sample->pace, turn);
}

static void observe(void *user, const struct nuc_node *node, uint32_t val_index, const void *data, size_t elements)
{
    struct watcher *w = user;
    struct nuc_calibration *c = w->c;
    struct look *l = &c->watch->looks[node->id];
    struct sample *s = w->sample;

    if (val_index != 0 || nuc_is_static(node))
        return;
    await_turn(w, l->after);
    if (s->kept != NULL)
        nuc_choice_see(c->samples, s->kept, node, data);
    if (s->is_kept && c->equalizer != NULL)
        nuc_equalizer_see(c->equalizer, w->glances, nuc_sample_part(s->number), node, data, elements);
    if (c->means != NULL)
        nuc_input_means_see(c->means, s->number, node, data, elements);
    /*
     * x (1 + erf) / 2 of values that erf is near -1 for is what float32 leaves of a difference: steps below that would
     * tell roundings apart, which differ from one computation to another.
     */
    if (l->is_read_by_gelu && elements != 0)
        bound_step(&l->gelu_step, data, elements);
    if (l->n_groups != 0)
        show_observers(w, l, node, data, elements);
    reach_turn(w, l->turn);
}

/* ---- steps that are no smaller ---- */

static void keep_steps_above(struct nuc_calibration *c, uint32_t group, float step)
{
    if (group != NUC_NO_GROUP && step > c->observers[group]->spec->least)
        c->sharing->groups[group].spec.least = step;
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

static void bound_steps(struct nuc_calibration *c)
{
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        const struct look *l = &c->watch->looks[n->id];
        if (l->step > 0)
            bound_groups(c, n, l->step, 0);
        for (uint32_t i = 0; l->turn != 0 && !c->reference_compat && i < n->n_users; i++) {
            if (n->users[i]->op == NUC_OP_GELU && l->gelu_step > 0)
                bound_groups(c, n->users[i], l->gelu_step, MOST_PASSED);
            if (nuc_op_family(n->users[i]->op) == NUC_FAMILY_SOFTMAX)
                bound_groups(c, n, LEAST_SCORE_STEP, 0);
        }
    }
}

/* ---- how each value is looked at ---- */

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

static void find_groups(const struct nuc_calibration *c, const struct nuc_node *node, struct look *l)
{
    const struct nuc_observed *t = &c->observed[node->id];

    if ((t->output == NUC_NO_GROUP && t->n_edges == 0) || c->unseen[node->id] ||
        (!c->reference_compat && nuc_is_never_greatest(node)))
        return;
    l->groups = nuc_alloc_array(c->g->cx, (size_t)t->n_edges + 1, sizeof *l->groups);
    if (t->output != NUC_NO_GROUP)
        l->groups[l->n_groups++] = t->output;
    for (uint32_t i = 0; i < t->n_edges; i++) {
        if (!is_edge_unseen(c, node, t->edges[i]))
            l->groups[l->n_groups++] = t->edges[i];
    }
}

/* The value is a sum with a mask that hides, or may, moved or not; that samples are not masked says little. */
static void find_mask(const struct nuc_calibration *c, const struct nuc_node *node, struct look *l)
{
    enum nuc_mask kind;

    l->rows = nuc_masked_rows_of(c->g, node);
    if (l->rows.dim < 0 || l->rows.ranked)
        return;
    while (nuc_moves_values(node) && nuc_arg_node(node, NUC_SELF) != NULL)
        node = nuc_arg_node(node, NUC_SELF);
    const struct nuc_node *mask = nuc_added_mask(c->g, node, &kind);
    uint32_t group = mask == NULL ? NUC_NO_GROUP : nuc_observed_group(c, mask, node);
    l->hides = group != NUC_NO_GROUP && kind == NUC_MASK_HIDES && !nuc_is_static(mask);
    l->mask = kind == NUC_MASK_HIDES ? NUC_NO_GROUP : group;
}

/*
 * A value is looked at when all is over, for the sample before, that changes or reads what looking at it changes; so
 * are constants, which come first.
 */
static void find_turns(const struct nuc_calibration *c, struct nuc_watch *watch, const bool *seen)
{
    uint32_t *last = nuc_alloc_array(c->g->cx, c->sharing->n_groups, sizeof *last), turn = CONSTANTS;

    for (int pass = 0; pass < 2; pass++) {
        for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
            struct look *l = &watch->looks[n->id];
            if (!seen[n->id] || nuc_is_static(n))
                continue;
            if (pass == 0)
                l->after = l->turn = ++turn;
            for (uint32_t i = 0; i <= l->n_groups; i++) {
                const uint32_t group = i < l->n_groups ? l->groups[i] : l->mask;
                if (group == NUC_NO_GROUP)
                    continue;
                if (pass == 0)
                    last[group] = turn;
                else if (last[group] > l->after)
                    l->after = last[group];
            }
        }
    }
    watch->after_constants = CONSTANTS;
    for (uint32_t i = 0; i < watch->n_constants; i++) {
        if (last[watch->constants[i].group] > watch->after_constants)
            watch->after_constants = last[watch->constants[i].group];
    }
}

static void find_looks(const struct nuc_calibration *c, struct nuc_watch *watch, const bool *seen)
{
    watch->looks = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *watch->looks);
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        struct look *l = &watch->looks[n->id];
        l->rows.dim = -1;
        l->mask = NUC_NO_GROUP;
        if (!seen[n->id] || nuc_is_static(n))
            continue;
        find_groups(c, n, l);
        if (!c->reference_compat) {
            l->is_read_by_gelu = is_read_by_gelu(n);
            if (l->n_groups != 0)
                find_mask(c, n, l);
        }
    }
    watch->constants = nuc_alloc_array(c->g->cx, c->n_points, sizeof *watch->constants);
    for (uint32_t i = 0; i < c->n_points; i++) {
        if (is_constant(c, &c->points[i], true))
            watch->constants[watch->n_constants++] = constant_of(c, &c->points[i]);
    }
    find_turns(c, watch, seen);
}

/* ---- samples ---- */

static size_t most_clipped(const struct nuc_calibration *c)
{
    size_t most = 0;

    for (uint32_t i = 0; c->relevant != NULL && i < c->n_points; i++) {
        const struct nuc_range *r = &c->relevant[c->points[i].node->id];
        if (!(isinf(r->min) && isinf(r->max)) && elements_of(c->points[i].node) > most)
            most = elements_of(c->points[i].node);
    }
    return most;
}

/* memory: its own, which it is allocated in; NULL: it has none. */
static void add_watcher(struct nuc_calibration *c, struct nuc_watch *watch, struct nuc_evaluator *evaluator,
                        struct nuc_sub_arena *memory)
{
    struct nuc_context *cx = c->g->cx;
    struct watcher *w = &watch->watchers[watch->n_watchers];

    *w = (struct watcher){.c = c, .memory = memory, .evaluator = evaluator};
    w->unmasked = nuc_alloc_unset(cx, cx->arena, most_masked(c, watch->looks) * sizeof *w->unmasked);
    w->clipped = nuc_alloc_unset(cx, cx->arena, most_clipped(c) * sizeof *w->clipped);
    if (c->equalizer != NULL)
        w->glances = nuc_glances_new(c->equalizer);
    nuc_eval_observe(evaluator, observe, w);
    watch->n_watchers++;
}

/* For samples that run side by side: of their activations, and of histograms, which then have all bins. */
#define MOST_MEMORY ((size_t)1 << 30)
#define MOST_ROOM ((size_t)16 << 20)

/* As many samples side by side as there are threads, unless they take too much memory or their channels are seen. */
static uint32_t most_forks(const struct nuc_calibration *c, const struct nuc_watch *watch,
                           const struct nuc_evaluator *e)
{
    const size_t fit = MOST_MEMORY / (nuc_eval_fork_size(e) + 1), threads = nuc_pool_threads(watch->pool);

    size_t room = 0;
    for (uint32_t i = 0; i < c->sharing->n_groups; i++)
        room += nuc_observer_room(c->observers[i]);
    if (room > MOST_ROOM)
        return 1;
    /* Room for channels is made when they are seen. */
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < watch->looks[n->id].n_groups; i++) {
            if (c->observers[watch->looks[n->id].groups[i]]->spec->scheme == NUC_PER_CHANNEL_SYMMETRIC)
                return 1;
        }
    }
    return (uint32_t)(fit < 1 ? 1 : fit < threads ? fit : threads);
}

static void open_watch(struct nuc_calibration *c)
{
    if (c->watch != NULL)
        return;
    struct nuc_context *cx = c->g->cx;
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(cx);
    struct nuc_watch *watch = nuc_alloc(cx, sizeof *watch);
    const bool *seen = seen_nodes(c);

    watch->memory = memory;
    find_looks(c, watch, seen);
    watch->sequence = nuc_sequence_new(c->g);
    watch->has_states = nuc_states_of(c->g).count != 0;
    struct nuc_evaluator *evaluator = nuc_eval_new_observed(c->g, c->threads, seen);
    watch->pool = nuc_eval_pool(evaluator);
    watch->most_forks = most_forks(c, watch, evaluator);
    watch->watchers = nuc_alloc_array(cx, (size_t)watch->most_forks + 1, sizeof *watch->watchers);
    add_watcher(c, watch, evaluator, NULL);
    nuc_leave_sub_arena(cx, memory);
    c->watch = watch;
}

void nuc_end_samples(struct nuc_calibration *c)
{
    if (c->watch == NULL)
        return;
    for (uint32_t i = 1; i < c->watch->n_watchers; i++)
        nuc_free_sub_arena(c->watch->watchers[i].memory);
    nuc_free_sub_arena(c->watch->memory);
    c->watch = NULL;
}

struct batch {
    struct nuc_watch *watch;
    const void *const *const *inputs;
    struct sample *samples;
    size_t count;
    atomic_size_t *next;
};

static void run_sample(struct watcher *w, struct sample *s, const void *const *inputs)
{
    const struct nuc_watch *watch = w->c->watch;

    w->sample = s;
    await_turn(w, watch->after_constants);
    for (uint32_t i = 0; i < watch->n_constants && s->not_finite == NULL; i++) {
        if (!see_constant(w, &watch->constants[i]))
            s->not_finite = watch->constants[i].node;
    }
    reach_turn(w, CONSTANTS);
    nuc_eval_start(w->evaluator, inputs);
    nuc_eval_steps(w->evaluator, 0, nuc_eval_n_steps(w->evaluator));
    if (nuc_eval_is_refused(w->evaluator)) {
        s->refused_by = w->evaluator;
        await_turn(w, UINT32_MAX); /* the turns that are left out are over for those before, too */
    } else if (s->kept != NULL) {
        nuc_choice_see_outputs(s->kept, w->evaluator);
    }
    reach_turn(w, UINT32_MAX);
}

static void run_samples(const void *arg, struct nuc_part part)
{
    const struct batch *b = arg;

    /* What an operator refuses stays where it is. */
    struct watcher *w = &b->watch->watchers[1 + part.begin];
    for (size_t k; !nuc_eval_is_refused(w->evaluator) && (k = atomic_fetch_add(b->next, 1)) < b->count;)
        run_sample(w, &b->samples[k], b->inputs[k]);
}

static uint32_t forks_for(const struct nuc_watch *watch, size_t count)
{
    return count < watch->most_forks ? (uint32_t)count : watch->most_forks;
}

/* What is kept of a batch. */
static void prepare(struct nuc_calibration *c, const struct batch *b)
{
    const uint32_t first = c->n_samples;

    for (size_t k = 0; k < b->count; k++) {
        b->samples[k] = (struct sample){.number = c->n_samples++, .before = k == 0 ? NULL : &b->samples[k - 1].pace};
        b->samples[k].is_kept = c->samples != NULL && nuc_choice_keep(c->samples);
    }
    for (size_t i = 0; c->samples != NULL && i < c->samples->count; i++) {
        struct nuc_choice_sample *kept = &c->samples->kept[i];
        if (kept->number < first)
            continue;
        const size_t k = kept->number - first;
        nuc_choice_copy(c->g->cx, c->samples, b->watch->watchers[0].evaluator, kept, b->inputs[k]);
        b->samples[k].kept = kept;
    }
}

/* With all that threads would have to allocate. */
static void run_together(struct nuc_calibration *c, const struct batch *b)
{
    struct nuc_watch *watch = b->watch;
    const uint32_t n_forks = forks_for(watch, b->count);

    for (uint32_t i = 0; i < c->sharing->n_groups; i++)
        nuc_observer_reserve(c->g->cx, c->observers[i], (uint32_t)b->count);
    while (watch->n_watchers < 1 + n_forks) {
        struct nuc_sub_arena *memory = nuc_enter_sub_arena(c->g->cx);
        add_watcher(c, watch, nuc_eval_fork(watch->watchers[0].evaluator), memory);
        nuc_leave_sub_arena(c->g->cx, memory);
    }
    nuc_parallel_for(watch->pool, n_forks, c->run_cost * (double)b->count, run_samples, b);
}

static void run_batch(struct nuc_calibration *c, const void *const *const *inputs, size_t count)
{
    struct sample samples[NUC_SAMPLES_TOGETHER];
    atomic_size_t next = 0;
    const struct batch b = {c->watch, inputs, samples, count, &next};

    prepare(c, &b);
    if (count > 1)
        run_together(c, &b);
    else
        run_sample(&c->watch->watchers[0], &samples[0], inputs[0]);
    for (size_t k = 0; k < count; k++)
        check_sample(c, &samples[k]);
}

/* Threads work inside of a sample where most would have none of their own. */
void nuc_quantize_steps(struct nuc_calibration *c, const void *const *const *samples, size_t count)
{
    open_watch(c);
    const struct nuc_watch *watch = c->watch;
    c->has_parameters = c->has_chosen = false;
    for (size_t k = 0, n; k < count; k += n) {
        n = count - k < NUC_SAMPLES_TOGETHER ? count - k : NUC_SAMPLES_TOGETHER;
        if (watch->most_forks == 1 || 2 * forks_for(watch, n) <= nuc_pool_threads(watch->pool))
            n = 1;
        run_batch(c, samples + k, n);
    }
    bound_steps(c);
}

void nuc_quantize_begin(struct nuc_calibration *c)
{
    open_watch(c);
    nuc_sequence_reset(c->watch->sequence);
}

void nuc_quantize_name_samples(struct nuc_calibration *c, const char *file, const size_t *numbers)
{
    c->samples_file = file;
    c->sample_numbers = numbers;
    c->first_named = c->n_samples;
}

void nuc_quantize_samples(struct nuc_calibration *c, const void *const *const *samples, size_t count)
{
    open_watch(c);
    if (!c->watch->has_states) {
        nuc_quantize_steps(c, samples, count);
        return;
    }
    for (size_t k = 0; k < count; k++) {
        const void *const *inputs = nuc_sequence_inputs(c->watch->sequence, samples[k]);
        nuc_quantize_steps(c, &inputs, 1);
        nuc_sequence_advance(c->watch->sequence, c->watch->watchers[0].evaluator);
    }
}

void nuc_quantize_sample(struct nuc_calibration *c, const void *const *inputs)
{
    nuc_quantize_samples(c, &inputs, 1);
}

void nuc_quantize_pause(struct nuc_calibration *c)
{
    nuc_quantize_name_samples(c, NULL, NULL);
    nuc_end_samples(c);
}
