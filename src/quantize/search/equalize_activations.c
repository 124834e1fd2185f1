#include "quantize/search/equalize_activations.h"

#include <math.h>

#include "quantize/layers.h"
#include "quantize/search/channel_factors.h"
#include "quantize/search/channel_noise.h"

/* Channels whose ranges differ by more than this are nearly dead: their noise is not worth the range. */
#define MOST_FACTOR 1024.0

/* What one sample showed of the elements of a value that share a label. */
struct seen {
    float above, below; /* largest value, largest negative */
    float power;        /* mean square */
};

struct nuc_activation_equalizer {
    const struct nuc_calibration *c;
    struct nuc_graph *g;
    struct nuc_channel_factors *channels;
    struct nuc_evaluator *evaluator;
    uint32_t n_samples;
    size_t samples_capacity;
    struct seen ***samples;           /* by sample, node id and position in the labels of the node */
    double *exponents[NUC_MOST_SETS]; /* by set and variable: logarithm of the factor; NULL: not solved */
    const struct nuc_data **own_data; /* by node id: of constants before they were changed */
};

typedef struct nuc_activation_equalizer equalizer;

static const struct nuc_channel_labels *labels_at(const equalizer *e, const struct nuc_node *n)
{
    return e->channels->labels[n->id] == NULL ? NULL : e->channels->labels[n->id][0];
}

static nuc_label root_of(const equalizer *e, nuc_label l)
{
    return l == NUC_ANY_LABEL ? l : nuc_label_root(e->channels->sets, l);
}

struct nuc_activation_equalizer *nuc_activations_prepare(const struct nuc_calibration *c)
{
    equalizer *e = nuc_alloc(c->g->cx, sizeof *e);

    e->c = c;
    e->g = c->g;
    e->channels = nuc_channel_factors_find(c->g);
    e->own_data = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *e->own_data);
    return e;
}

bool nuc_activations_can_gain(const struct nuc_activation_equalizer *e)
{
    const struct nuc_channel_factors *f = e->channels;

    for (uint32_t i = 0; i < f->n_layers; i++) {
        for (uint32_t k = 0; k < f->layers[i].in; k++) {
            if (!nuc_label_is_pinned(f->sets, f->layers[i].read[k]))
                return true;
        }
    }
    return false;
}

/* ---- samples ---- */

static struct nuc_range bounds_of(const equalizer *e, const struct nuc_node *n)
{
    return e->c->relevant != NULL ? e->c->relevant[n->id] : (struct nuc_range){-HUGE_VALF, HUGE_VALF};
}

static void see(struct seen *s, const float *x, size_t count)
{
    struct seen all = *s;
    double power = 0;

    for (size_t i = 0; i < count; i++) {
        if (!isfinite(x[i]))
            continue;
        all.above = x[i] > all.above ? x[i] : all.above;
        all.below = -x[i] > all.below ? -x[i] : all.below;
        power += (double)x[i] * (double)x[i];
    }
    *s = (struct seen){all.above, all.below, (float)((double)all.power + power)};
}

static void observe(void *user, const struct nuc_node *node, uint32_t val_index, const void *data, size_t elements)
{
    equalizer *e = user;
    const struct nuc_channel_labels *l = labels_at(e, node);
    int64_t index[NUC_MAX_RANK] = {0};
    const struct nuc_meta *m = &node->vals[0];
    const float *x = data;
    uint32_t outer = m->rank;
    size_t run = 1;

    if (l == NULL || val_index != 0 || elements == 0 || m->dtype != NUC_F32)
        return;
    struct seen *s = e->samples[e->n_samples][node->id] = nuc_alloc_array(e->g->cx, l->count, sizeof *s);
    for (size_t i = 0; i < l->count; i++)
        s[i] = (struct seen){-HUGE_VALF, -HUGE_VALF, 0};
    while (outer > 0 && l->sizes[outer - 1] == 1)
        run *= (size_t)m->sizes[--outer];
    for (size_t i = 0; i < elements; i += run) {
        see(&s[nuc_labels_offset(l, index)], x + i, run);
        for (uint32_t d = outer; d-- > 0 && ++index[d] == m->sizes[d];)
            index[d] = 0;
    }
    for (size_t i = 0; i < l->count; i++)
        s[i].power *= (float)l->count / (float)elements;
}

void nuc_activations_sample(struct nuc_activation_equalizer *e, const void *const *inputs)
{
    struct nuc_context *cx = e->g->cx;

    if (e->evaluator == NULL) {
        e->evaluator = nuc_eval_new(e->g, e->c->threads);
        nuc_eval_observe(e->evaluator, observe, e);
    }
    e->samples = nuc_grow(cx, e->samples, &e->samples_capacity, e->n_samples + 1, sizeof *e->samples);
    e->samples[e->n_samples] = nuc_alloc_array(cx, e->g->next_id, sizeof(struct seen *));
    nuc_eval_run(e->evaluator, inputs, NULL);
    e->n_samples++;
}

/* ---- the noise of layers ---- */

/* The estimate for some of the samples. */
struct problem {
    equalizer *e;
    const bool *is_wanted; /* by sample */
    double reach;
    float *min, *max;   /* of each wanted sample */
    double *importance; /* by variable: what its noise counts */
    struct nuc_noise_model model;
};

/* What sample k showed of the labels of a node, NULL when it is not wanted or the node was not seen. */
static const struct seen *seen_in(const struct problem *p, uint32_t k, const struct nuc_node *n)
{
    return p->is_wanted[k] ? p->e->samples[k][n->id] : NULL;
}

/* Mean square of the elements of one label. */
static double power_of_label(const struct problem *p, const struct nuc_node *n, size_t label)
{
    double sum = 0, count = 0;

    for (uint32_t k = 0; k < p->e->n_samples; k++) {
        const struct seen *s = seen_in(p, k, n);
        sum += s != NULL ? (double)s[label].power : 0;
        count += s != NULL;
    }
    return count > 0 ? sum / count : 0;
}

/* Of all elements; 0: nothing was seen of it. */
static double power_of(const struct problem *p, const struct nuc_node *n)
{
    const struct nuc_channel_labels *l = labels_at(p->e, n);
    double sum = 0;

    for (size_t i = 0; l != NULL && i < l->count; i++)
        sum += power_of_label(p, n, i);
    return sum > 0 ? sum / (double)l->count : 0;
}

static bool is_fixed(const equalizer *e, const nuc_label *labels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!nuc_label_is_pinned(e->channels->sets, labels[i]))
            return false;
    }
    return true;
}

static const nuc_label *roots_of(const equalizer *e, const nuc_label *labels, uint32_t count)
{
    nuc_label *roots = nuc_alloc_array(e->g->cx, count, sizeof *roots);

    for (uint32_t i = 0; i < count; i++)
        roots[i] = root_of(e, labels[i]);
    return roots;
}

static const float *largest_taps(const equalizer *e, const struct nuc_channel_layer *l, const float *w)
{
    uint32_t ins = l->in / l->groups;
    float *largest = nuc_alloc_array(e->g->cx, (size_t)l->out * ins, sizeof *largest);

    for (uint32_t o = 0; o < l->out; o++) {
        for (uint32_t i = 0; i < ins; i++) {
            const float *taps = w + nuc_channel_tap(l, o, i);
            float *most = &largest[(size_t)o * ins + i];
            for (uint32_t t = 0; t < l->taps; t++)
                *most = fmaxf(*most, fabsf(taps[t]));
        }
    }
    return largest;
}

/* Labels of an input vary along its channels alone, or there is one for all of them. */
static const double *powers_read(const struct problem *p, const struct nuc_channel_layer *l, double power)
{
    double *powers = nuc_alloc_array(p->e->g->cx, l->in, sizeof *powers), of_all = power_of(p, l->input);
    bool by_channel = l->input_labels->count == l->in;

    for (uint32_t i = 0; i < l->in; i++)
        powers[i] = (by_channel ? power_of_label(p, l->input, i) : of_all) * l->taps / power;
    return powers;
}

static void add_layer(struct problem *p, const struct nuc_channel_layer *l)
{
    equalizer *e = p->e;
    double power = power_of(p, l->node);
    uint32_t group = nuc_observed_group(e->c, l->weight, l->node);

    if (!(power > 0) || labels_at(e, l->input) == NULL)
        return;
    const float *w = nuc_const_contiguous(e->g, l->weight);
    for (uint32_t o = 0; o < l->out; o++) {
        for (uint32_t i = 0; i < l->in / l->groups; i++) {
            const float *taps = w + nuc_channel_tap(l, o, i);
            nuc_label in = root_of(p->e, l->read[nuc_channel_input(l, o, i)]);
            double sum = 0;
            for (uint32_t t = 0; t < l->taps; t++)
                sum += (double)taps[t] * (double)taps[t];
            if (in != NUC_ANY_LABEL)
                p->importance[in / 2] += sum / (power * l->out);
        }
    }
    bool per_output = group != NUC_NO_GROUP && e->c->observers[group]->spec.ch_axis >= 0;
    if (group == NUC_NO_GROUP || (is_fixed(e, l->read, l->in) && (per_output || is_fixed(e, l->written, l->out))))
        return;
    p->model.matrices[p->model.n_matrices++] = (struct nuc_noise_matrix){
        .out = l->out,
        .in = l->in,
        .groups = l->groups,
        .per_output = per_output,
        .written = roots_of(e, l->written, l->out),
        .read = roots_of(e, l->read, l->in),
        .largest = largest_taps(e, l, w),
        .power = powers_read(p, l, power),
    };
}

/* ---- the noise of values ---- */

/* The range of a label, as wide as it is expected of more samples. */
static struct nuc_range range_of(const struct problem *p, const struct nuc_node *n, const struct nuc_channel_labels *l,
                                 size_t label, bool widens)
{
    struct nuc_range bounds = bounds_of(p->e, n), range = {HUGE_VALF, -HUGE_VALF};
    struct nuc_extremes extremes = {.bounds = bounds, .reach = p->reach, .min = p->min, .max = p->max};

    extremes.n_values = (size_t)nuc_elements(&n->vals[0]) / l->count;
    for (uint32_t k = 0; k < p->e->n_samples; k++) {
        const struct seen *s = seen_in(p, k, n);
        if (s == NULL || !isfinite(s[label].above))
            continue;
        float min = fmaxf(-s[label].below, bounds.min), max = fminf(s[label].above, bounds.max);
        p->min[extremes.n_samples] = min;
        p->max[extremes.n_samples++] = max;
        range = (struct nuc_range){fminf(range.min, min), fmaxf(range.max, max)};
    }
    if (widens)
        nuc_extremes_widen(&extremes, NUC_STEPS_OF_VALUES, &range.min, &range.max);
    return range;
}

static void add_value(struct problem *p, const struct nuc_node *n, uint32_t group)
{
    const struct nuc_observer *o = group == NUC_NO_GROUP ? NULL : p->e->c->observers[group];
    const struct nuc_channel_labels *l = labels_at(p->e, n);

    if (o == NULL || l == NULL || o->spec.kind != NUC_QSPEC_OBSERVED || o->spec.ch_axis >= 0 || l->count == 0)
        return;
    for (size_t i = 0; i < l->count; i++) {
        struct nuc_range range = range_of(p, n, l, i, o->widens && !nuc_is_static(n));
        struct nuc_noise_share share = {root_of(p->e, l->at[i]), fmaxf(range.max, 0), fmaxf(-range.min, 0), 0};
        if (o->spec.scheme != NUC_PER_TENSOR_AFFINE)
            share.above = share.below = fmaxf(share.above, share.below);
        if (share.label != NUC_ANY_LABEL)
            share.weight = p->importance[share.label / 2];
        nuc_noise_add_share(&p->model, group, share);
    }
}

/* What stays below the bound of a clip may not come above it; a channel that is clipped keeps its factor. */
static void bound_clip(struct problem *p, const struct nuc_channel_clip *clip)
{
    const struct nuc_channel_labels *l = labels_at(p->e, clip->input);

    for (size_t i = 0; l != NULL && i < l->count; i++) {
        nuc_label root = root_of(p->e, l->at[i]);
        float above = 0;
        for (uint32_t k = 0; k < p->e->n_samples; k++) {
            const struct seen *s = seen_in(p, k, clip->input);
            above = s != NULL ? fmaxf(above, s[i].above) : above;
        }
        double least = log(fmax((double)above, 1e-30) / clip->bound);
        if (root == NUC_ANY_LABEL)
            continue;
        double *lowest = &p->model.lowest[root / 2], *highest = &p->model.highest[root / 2];
        if (least >= 0)
            *lowest = *highest = 0;
        else if (root & 1u)
            *highest = fmin(*highest, -least);
        else
            *lowest = fmax(*lowest, least);
    }
}

static void fill_model(struct problem *p)
{
    const equalizer *e = p->e;
    struct nuc_context *cx = e->g->cx;
    struct nuc_noise_model *m = &p->model;

    *m = (struct nuc_noise_model){
        .cx = cx, .n_variables = e->channels->sets->count, .n_tensors = e->c->sharing->n_groups};
    m->lowest = nuc_alloc_array(cx, m->n_variables, sizeof *m->lowest);
    m->highest = nuc_alloc_array(cx, m->n_variables, sizeof *m->highest);
    m->tensors = nuc_alloc_array(cx, m->n_tensors, sizeof *m->tensors);
    m->matrices = nuc_alloc_array(cx, e->channels->n_layers, sizeof *m->matrices);
    p->importance = nuc_alloc_array(cx, m->n_variables, sizeof *p->importance);
    for (uint32_t i = 0; i < e->channels->n_layers; i++)
        add_layer(p, &e->channels->layers[i]);
    for (const struct nuc_node *n = e->g->first; n != NULL; n = n->next) {
        const struct nuc_observed *o = &e->c->observed[n->id];
        add_value(p, n, o->output);
        for (uint32_t i = 0; i < o->n_edges; i++)
            add_value(p, n, o->edges[i]);
    }
    const struct nuc_channel_factors *f = p->e->channels;
    for (uint32_t i = 0; i < p->model.n_variables; i++) {
        p->model.highest[i] = f->sets->pinned[i] ? 0 : log(MOST_FACTOR);
        p->model.lowest[i] = -p->model.highest[i];
    }
    for (uint32_t i = 0; i < f->n_clips; i++)
        bound_clip(p, &f->clips[i]);
}

double nuc_activations_solve(struct nuc_activation_equalizer *e, unsigned set, const bool *is_wanted, double reach,
                             unsigned near)
{
    struct nuc_context *cx = e->g->cx;
    struct problem p = {.e = e, .is_wanted = is_wanted, .reach = reach};

    e->exponents[set] = nuc_alloc_array(cx, e->channels->sets->count, sizeof *e->exponents[set]);
    bool is_near = near < NUC_MOST_SETS && e->exponents[near] != NULL;
    for (uint32_t i = 0; i < e->channels->sets->count && is_near; i++)
        e->exponents[set][i] = e->exponents[near][i];
    struct nuc_arena *outer = nuc_push_arena(cx);
    p.min = nuc_alloc_array(cx, e->n_samples, sizeof *p.min);
    p.max = nuc_alloc_array(cx, e->n_samples, sizeof *p.max);
    fill_model(&p);
    double gain = nuc_noise_least(&p.model, e->exponents[set], is_near);
    nuc_pop_arena(cx, outer);
    return gain;
}

/* ---- the graph ---- */

/* Factors that are put into the graph. */
struct factors {
    equalizer *e;
    const double *exponents;
    double strength;
};

static double factor_of(const struct factors *f, nuc_label l)
{
    nuc_label root = root_of(f->e, l);

    if (root == NUC_ANY_LABEL)
        return 1;
    double x = f->strength * f->exponents[root / 2];
    return exp(root & 1u ? -x : x);
}

static float *values_of(const struct factors *f, struct nuc_node *constant)
{
    f->e->own_data[constant->id] = constant->data;
    return nuc_layer_values(f->e->g, constant);
}

static void scale_layer(const struct factors *f, const struct nuc_channel_layer *l)
{
    if (is_fixed(f->e, l->read, l->in) && is_fixed(f->e, l->written, l->out))
        return;
    float *w = values_of(f, l->weight);
    for (uint32_t o = 0; o < l->out; o++) {
        double written = factor_of(f, l->written[o]);
        for (uint32_t i = 0; i < l->in / l->groups; i++) {
            double by = factor_of(f, l->read[nuc_channel_input(l, o, i)]) / written;
            float *taps = w + nuc_channel_tap(l, o, i);
            for (uint32_t t = 0; t < l->taps; t++)
                taps[t] = (float)((double)taps[t] * by);
        }
    }
    nuc_layer_set_values(f->e->g, l->weight, w);
}

/* A weight of several layers is scaled with the first of them. */
static bool is_first_with_weight(const struct nuc_channel_factors *f, uint32_t layer)
{
    for (uint32_t i = 0; i < layer; i++) {
        if (f->layers[i].weight == f->layers[layer].weight)
            return false;
    }
    return true;
}

void nuc_activations_apply(struct nuc_activation_equalizer *e, unsigned set, double strength)
{
    const struct factors f = {e, e->exponents[set], strength};

    for (struct nuc_node *n = e->g->first; n != NULL; n = n->next) {
        if (e->own_data[n->id] != NULL)
            n->data = e->own_data[n->id];
    }
    if (!(strength > 0) || f.exponents == NULL)
        return;
    for (uint32_t i = 0; i < e->channels->n_layers; i++) {
        if (is_first_with_weight(e->channels, i))
            scale_layer(&f, &e->channels->layers[i]);
    }
    for (uint32_t i = 0; i < e->channels->n_constants; i++) {
        const struct nuc_channel_constant *c = &e->channels->constants[i];
        const struct nuc_meta *m = &c->node->vals[0];
        int64_t index[NUC_MAX_RANK] = {0};
        if (nuc_labels_are_pinned(f.e->channels->sets, c->written))
            continue;
        float *x = values_of(&f, c->node);
        for (int64_t k = 0; k < nuc_elements(m); k++) {
            nuc_label l = c->written->at[nuc_labels_offset(c->written, index)];
            x[k] = (float)((double)x[k] / factor_of(&f, l));
            for (uint32_t d = m->rank; d-- > 0 && ++index[d] == m->sizes[d];)
                index[d] = 0;
        }
        nuc_layer_set_values(f.e->g, c->node, x);
    }
}
