#include "quantize/search/equalize.h"

#include <math.h>
#include <string.h>

#include "host/clones.h"
#include "quantize/layers.h"
#include "quantize/search/channel_factors.h"
#include "quantize/search/channel_noise.h"

/* Channels whose ranges differ by more than this are nearly dead: their noise is not worth the range. */
#define MOST_FACTOR 1024.0

/* Spreads of the largest values of samples that a channel has to itself: one sample out of 700 goes beyond. */
#define REACH 6.0

/* Of all values together. */
#define MOST_LABELS ((size_t)1 << 20)

#define PI 3.14159265358979324

/* The largest values on one side of 0 that the samples had. */
struct ends {
    double sum, squares;
    float most;
    uint32_t times; /* that samples had exactly it */
};

/* What samples showed of the elements of a value that share a label. */
struct seen {
    uint32_t n_samples;
    struct ends above, below;
    double power; /* sum of the mean squares */
};

/* What one sample shows of one value, by label. */
struct nuc_glances {
    float *above, *below;
    double *power;
};

/* What the estimate reads of a weight, whatever the samples. */
struct weight_facts {
    double *squares; /* by input: sum over its taps to all outputs */
    float *largest;  /* of the taps between an output that is taken and an input of its group; NULL: no factors here */
};

struct nuc_equalizer {
    const struct nuc_calibration *c;
    struct nuc_graph *g;
    struct nuc_channel_factors *channels;
    const struct nuc_channel_labels *
        *labels;                  /* by node id: of values that are seen, one where none can have a factor; NULL */
    struct seen **seen[2];        /* by part and node id: of each label */
    size_t most_labels;           /* of a value */
    struct weight_facts *weights; /* by layer; NULL: not looked at yet */
    double *exponents[NUC_BOTH_PARTS + 1]; /* by part and label: logarithm of the factor */
    const struct nuc_data **own_data;      /* by node id: of constants before they were changed */
};

typedef struct nuc_equalizer equalizer;

static nuc_label root_of(const equalizer *e, nuc_label l)
{
    return l == NUC_ANY_LABEL ? l : nuc_label_root(e->channels->sets, l);
}

static bool is_fixed(const equalizer *e, const nuc_label *labels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!nuc_label_is_pinned(e->channels->sets, labels[i]))
            return false;
    }
    return true;
}

static bool can_gain(const struct nuc_channel_factors *f)
{
    for (uint32_t i = 0; i < f->n_layers; i++) {
        for (uint32_t k = 0; k < f->layers[i].in; k++) {
            if (!nuc_label_is_pinned(f->sets, f->layers[i].read[k]))
                return true;
        }
    }
    return f->n_quotients > 0;
}

/* Calibration sees it: it is quantized. */
static bool is_seen(const struct nuc_calibration *c, const struct nuc_node *n)
{
    return c->observed[n->id].output != NUC_NO_GROUP || c->observed[n->id].n_edges != 0;
}

struct nuc_glances *nuc_glances_new(const struct nuc_equalizer *e)
{
    struct nuc_context *cx = e->g->cx;
    struct nuc_glances *g = nuc_alloc(cx, sizeof *g);

    *g = (struct nuc_glances){nuc_alloc_array(cx, e->most_labels, sizeof *g->above),
                              nuc_alloc_array(cx, e->most_labels, sizeof *g->below),
                              nuc_alloc_array(cx, e->most_labels, sizeof *g->power)};
    return g;
}

struct nuc_equalizer *nuc_equalizer_new(const struct nuc_calibration *c)
{
    struct nuc_context *cx = c->g->cx;
    equalizer *e = nuc_alloc(cx, sizeof *e);
    size_t all = 0, most = 0;

    *e = (equalizer){.c = c, .g = c->g, .channels = nuc_channel_factors_find(c->g)};
    if (!can_gain(e->channels))
        return NULL;
    e->labels = nuc_alloc_array(cx, c->g->next_id, sizeof *e->labels);
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        struct nuc_channel_labels *const *of = e->channels->labels[n->id];
        const struct nuc_channel_labels *l = of == NULL || !is_seen(c, n) ? NULL : of[0];
        if (l != NULL && nuc_labels_are_pinned(e->channels->sets, l))
            l = nuc_labels_of_one(e->channels->sets, l->rank, NUC_ANY_LABEL);
        e->labels[n->id] = l;
        all += l == NULL ? 0 : l->count;
        most = l != NULL && l->count > most ? l->count : most;
    }
    if (all > MOST_LABELS)
        return NULL;
    for (unsigned part = 0; part < 2; part++) {
        e->seen[part] = nuc_alloc_array(cx, c->g->next_id, sizeof(struct seen *));
        for (uint32_t i = 0; i < c->g->next_id; i++)
            e->seen[part][i] =
                e->labels[i] == NULL ? NULL : nuc_alloc_array(cx, e->labels[i]->count, sizeof(struct seen));
    }
    for (unsigned part = 0; part <= NUC_BOTH_PARTS; part++)
        e->exponents[part] = nuc_alloc_array(cx, e->channels->sets->count, sizeof *e->exponents[part]);
    e->most_labels = most;
    struct nuc_glances *room = nuc_glances_new(e);
    e->own_data = nuc_alloc_array(cx, c->g->next_id, sizeof *e->own_data);
    for (struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        for (unsigned part = 0; part < 2 && e->labels[n->id] != NULL && nuc_is_static(n); part++)
            nuc_equalizer_see(e, room, part, n, nuc_const_contiguous(c->g, n), (size_t)nuc_elements(&n->vals[0]));
    }
    return e;
}

/* ---- samples ---- */

#define LANES 16   /* independent accumulators: lets the compiler use vector registers without reordering */
#define BLOCK 1024 /* values whose squares are added in float: so few that it is as good */

/*
 * 0 where the value is beyond 2^63 or no number: such ones do not count. By its bits, as a comparison that may trap
 * keeps GCC from vectors.
 */
static inline float counted(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits &= 0u - ((bits & 0x7fffffffu) <= 0x5f000000u);
    memcpy(&x, &bits, sizeof x);
    return x;
}

NUC_CLONES static void look_at_block(const float *x, size_t count, float *restrict above, float *restrict below,
                                     float *restrict power)
{
    for (size_t i = 0; i + LANES <= count; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            float v = counted(x[i + k]);
            above[k] = v > above[k] ? v : above[k];
            below[k] = v < below[k] ? v : below[k];
            power[k] += v * v;
        }
    }
}

/* A value of each of some labels that follow each other. */
NUC_CLONES static void look_at_row(const float *x, size_t count, float *restrict above, float *restrict below,
                                   double *restrict power)
{
    for (size_t k = 0; k < count; k++) {
        float v = counted(x[k]);
        above[k] = v > above[k] ? v : above[k];
        below[k] = -v > below[k] ? -v : below[k];
        power[k] += (double)(v * v);
    }
}

static void look(const struct nuc_glances *s, size_t label, const float *x, size_t count)
{
    float above[LANES] = {0}, below[LANES] = {0}, last[LANES] = {0};

    for (size_t i = 0; count < LANES && i < count; i++)
        look_at_row(x + i, 1, s->above + label, s->below + label, s->power + label);
    if (count < LANES)
        return;
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        float power[LANES] = {0};
        look_at_block(x + i, n, above, below, power);
        if (n % LANES != 0) {
            memcpy(last, x + i + n - n % LANES, n % LANES * sizeof *last);
            look_at_block(last, LANES, above, below, power);
        }
        for (size_t k = 0; k < LANES; k++)
            s->power[label] += (double)power[k];
    }
    for (size_t k = 0; k < LANES; k++) {
        s->above[label] = above[k] > s->above[label] ? above[k] : s->above[label];
        s->below[label] = -below[k] > s->below[label] ? -below[k] : s->below[label];
    }
}

static void note(struct ends *e, float value)
{
    e->sum += (double)value;
    e->squares += (double)value * (double)value;
    e->times = value > e->most || e->times == 0 ? 1 : e->times + !(value < e->most);
    e->most = value > e->most ? value : e->most;
}

static void glance_at(const struct nuc_glances *g, const struct nuc_channel_labels *l, const struct nuc_meta *m,
                      const float *x, size_t count)
{
    int64_t index[NUC_MAX_RANK] = {0};
    uint32_t outer = m->rank;
    size_t run = 1, row;

    memset(g->above, 0, l->count * sizeof *g->above);
    memset(g->below, 0, l->count * sizeof *g->below);
    memset(g->power, 0, l->count * sizeof *g->power);
    while (outer > 0 && l->sizes[outer - 1] == 1)
        run *= (size_t)m->sizes[--outer];
    /* Labels along the last dimension that they vary with follow each other. */
    row = outer == 0 ? 1 : (size_t)m->sizes[--outer];
    for (size_t i = 0; i < count; i += row * run) {
        size_t first = nuc_labels_offset(l, index);
        if (run == 1)
            look_at_row(x + i, row, g->above + first, g->below + first, g->power + first);
        for (size_t k = 0; run > 1 && k < row; k++)
            look(g, first + k, x + i + k * run, run);
        for (uint32_t d = outer; d-- > 0 && ++index[d] == m->sizes[d];)
            index[d] = 0;
    }
}

void nuc_equalizer_see(struct nuc_equalizer *e, const struct nuc_glances *room, unsigned part,
                       const struct nuc_node *node, const float *x, size_t count)
{
    const struct nuc_channel_labels *l = e->labels[node->id];

    if (l == NULL || count == 0 || node->vals[0].dtype != NUC_F32)
        return;
    glance_at(room, l, &node->vals[0], x, count);
    for (size_t i = 0; i < l->count; i++) {
        struct seen *s = &e->seen[part][node->id][i];
        note(&s->above, room->above[i]);
        note(&s->below, room->below[i]);
        s->power += room->power[i] * (double)l->count / (double)count;
        s->n_samples++;
    }
}

static struct ends both_ends(struct ends a, struct ends b)
{
    struct ends e = {a.sum + b.sum, a.squares + b.squares, fmaxf(a.most, b.most), 0};

    e.times = (a.most < e.most ? 0 : a.times) + (b.most < e.most ? 0 : b.times);
    return e;
}

static struct seen seen_of(const equalizer *e, unsigned part, const struct nuc_node *n, size_t label)
{
    struct seen a = e->seen[part == 1][n->id][label], b = e->seen[1][n->id][label];

    if (part != NUC_BOTH_PARTS)
        return a;
    return (struct seen){a.n_samples + b.n_samples, both_ends(a.above, b.above), both_ends(a.below, b.below),
                         a.power + b.power};
}

/*
 * What values are not expected to go beyond: as unseen_range.h has it. An end that two samples reach exactly is that of
 * a clamp.
 */
static double reach_of(const struct ends *e, uint32_t n_samples)
{
    double mean = n_samples == 0 ? 0 : e->sum / n_samples;

    if (n_samples < 3 || e->times > 1)
        return (double)e->most;
    double variance = (e->squares - mean * e->sum) / (n_samples - 1);
    return fmax((double)e->most, mean + REACH * sqrt(6 * fmax(variance, 0)) / PI);
}

/* ---- the noise of layers ---- */

/* The estimate for the samples of a part. */
struct problem {
    equalizer *e;
    unsigned part;
    double *importance;    /* by label: what its noise counts */
    double *relative;      /* by label: what its noise next to its power counts, squared or not */
    double *above, *below; /* by group: what all of its values reach */
    struct nuc_noise_model model;
};

/* Mean square of the elements of one label. */
static double power_of_label(const struct problem *p, const struct nuc_node *n, size_t label)
{
    struct seen s = seen_of(p->e, p->part, n, label);

    return s.n_samples == 0 ? 0 : s.power / s.n_samples;
}

/* Of all elements; 0: nothing was seen of it. */
static double power_of(const struct problem *p, const struct nuc_node *n)
{
    const struct nuc_channel_labels *l = p->e->labels[n->id];
    double sum = 0;

    for (size_t i = 0; l != NULL && i < l->count; i++)
        sum += power_of_label(p, n, i);
    return sum > 0 ? sum / (double)l->count : 0;
}

static const nuc_label *roots_of(const equalizer *e, const nuc_label *labels, uint32_t count)
{
    nuc_label *roots = nuc_alloc_array(e->g->cx, count, sizeof *roots);

    for (uint32_t i = 0; i < count; i++)
        roots[i] = root_of(e, labels[i]);
    return roots;
}

/*
 * Labels of an input vary along its channels alone, or there is one for all of them. Outputs with scales of their own
 * are alike enough for some of them to stand for all.
 */
#define MOST_OUTPUTS 64

static bool has_scale_per_output(const equalizer *e, const struct nuc_channel_layer *l)
{
    uint32_t group = nuc_observed_group(e->c, l->weight, l->node);

    return group != NUC_NO_GROUP && e->c->observers[group]->spec->ch_axis >= 0;
}

static bool has_factors(const equalizer *e, const struct nuc_channel_layer *l)
{
    return nuc_observed_group(e->c, l->weight, l->node) != NUC_NO_GROUP &&
           !(is_fixed(e, l->read, l->in) && (has_scale_per_output(e, l) || is_fixed(e, l->written, l->out)));
}

/* Outputs of a group between two that are taken. */
static uint32_t output_step(const equalizer *e, const struct nuc_channel_layer *l)
{
    uint32_t outs = l->out / l->groups;

    return has_scale_per_output(e, l) && outs > MOST_OUTPUTS ? outs / MOST_OUTPUTS : 1;
}

/* Of inputs with one tap each, next to each other; largest: NULL, or what is no number is 0. */
NUC_CLONES static void look_at_taps(const float *restrict w, uint32_t count, double *restrict squares,
                                    float *restrict largest)
{
    for (uint32_t i = 0; i < count; i++)
        squares[i] += (double)w[i] * (double)w[i];
    for (uint32_t i = 0; largest != NULL && i < count; i++)
        largest[i] = fabsf(w[i]) > 0 ? fabsf(w[i]) : 0;
}

static struct weight_facts facts_of(const equalizer *e, const struct nuc_channel_layer *l)
{
    struct nuc_context *cx = e->g->cx;
    uint32_t ins = l->in / l->groups, outs = l->out / l->groups, step = output_step(e, l);
    size_t taken = (size_t)((outs + step - 1) / step) * l->groups;
    const float *w = nuc_const_contiguous(e->g, l->weight);
    struct weight_facts f = {.squares = nuc_alloc_array(cx, l->in, sizeof *f.squares)};
    float *most = f.largest = has_factors(e, l) ? nuc_alloc_array(cx, taken * ins, sizeof *f.largest) : NULL;

    for (uint32_t o = 0; o < l->out; o++) {
        const float *weights = w + nuc_channel_tap(l, o, 0);
        double *squares = f.squares + nuc_channel_input(l, o, 0);
        bool is_taken = most != NULL && o % outs % step == 0;
        if (l->taps == 1 && l->of_in == 1) {
            look_at_taps(weights, ins, squares, is_taken ? most : NULL);
            if (is_taken)
                most += ins;
            continue;
        }
        for (uint32_t i = 0; i < ins; i++) {
            const float *taps = weights + i * l->of_in;
            double sum = 0;
            float largest = 0;
            for (uint32_t t = 0; t < l->taps; t++) {
                sum += (double)taps[t] * (double)taps[t];
                largest = fmaxf(largest, fabsf(taps[t]));
            }
            squares[i] += sum;
            if (is_taken)
                *most++ = largest;
        }
    }
    return f;
}

/* Of all layers, in memory that lives as long as the equalizer; before a factor changes a weight. */
static void look_at_weights(equalizer *e)
{
    const struct nuc_channel_factors *f = e->channels;

    if (e->weights != NULL)
        return;
    e->weights = nuc_alloc_array(e->g->cx, f->n_layers, sizeof *e->weights);
    for (uint32_t i = 0; i < f->n_layers; i++)
        e->weights[i] = facts_of(e, &f->layers[i]);
}

static void add_matrix(struct problem *p, const struct nuc_channel_layer *l, const float *largest, double power)
{
    struct nuc_context *cx = p->e->g->cx;
    uint32_t outs = l->out / l->groups, step = output_step(p->e, l), taken = (outs + step - 1) / step;
    nuc_label *written = nuc_alloc_array(cx, (size_t)taken * l->groups, sizeof *written);
    double *powers = nuc_alloc_array(cx, l->in, sizeof *powers), of_all = power_of(p, l->input);
    bool by_channel = p->e->labels[l->input->id]->count == l->in;

    for (uint32_t i = 0; i < l->in; i++)
        powers[i] = (by_channel ? power_of_label(p, l->input, i) : of_all) * l->taps / power;
    for (uint32_t k = 0; k < taken * l->groups; k++)
        written[k] = root_of(p->e, l->written[k / taken * outs + k % taken * step]);
    p->model.matrices[p->model.n_matrices++] = (struct nuc_noise_matrix){
        .out = taken * l->groups,
        .in = l->in,
        .groups = l->groups,
        .per_output = has_scale_per_output(p->e, l),
        .written = written,
        .read = roots_of(p->e, l->read, l->in),
        .largest = largest,
        .power = powers,
    };
}

static void add_layer(struct problem *p, const struct nuc_channel_layer *l, const struct weight_facts *f)
{
    equalizer *e = p->e;
    const struct nuc_node *value = l->node;

    /* What is quantized is what an activation makes of it. */
    while (e->labels[value->id] == NULL && value->n_users == 1)
        value = value->users[0];
    double power = power_of(p, value);

    if (!(power > 0) || e->labels[l->input->id] == NULL)
        return;
    for (uint32_t i = 0; i < l->in; i++) {
        nuc_label in = root_of(e, l->read[i]);
        if (in != NUC_ANY_LABEL)
            p->importance[in] += f->squares[i] / (power * l->out);
    }
    if (f->largest != NULL)
        add_matrix(p, l, f->largest, power);
}

/* What goes into a quotient counts by its noise relative to itself, and by the share that the quotient's power has. */
static void add_quotient(struct problem *p, const struct nuc_node *n)
{
    const struct nuc_node *x = nuc_arg_node(n, NUC_SELF), *divisor = nuc_arg_node(n, NUC_OTHER);
    const struct nuc_channel_labels *l = divisor == NULL ? NULL : p->e->labels[divisor->id];
    double all = 0;

    if (l == NULL || x == NULL || p->e->labels[x->id] == NULL || p->e->labels[x->id]->count != l->count)
        return;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < l->count; i++) {
            double power = power_of_label(p, divisor, i), quotient = power > 0 ? power_of_label(p, x, i) / power : 0;
            nuc_label label = root_of(p->e, l->at[i]);
            all += pass == 0 ? quotient : 0;
            if (pass == 1 && label != NUC_ANY_LABEL && all > 0)
                p->relative[label] += quotient / all;
        }
    }
}

/* ---- the noise of values, and how far they may be stretched ---- */

static void add_value(struct problem *p, const struct nuc_node *n, uint32_t group)
{
    const struct nuc_observer *o = group == NUC_NO_GROUP ? NULL : p->e->c->observers[group];
    const struct nuc_channel_labels *l = p->e->labels[n->id];
    struct nuc_range bounds =
        p->e->c->relevant != NULL ? p->e->c->relevant[n->id] : (struct nuc_range){-HUGE_VALF, HUGE_VALF};

    if (o == NULL || l == NULL || o->spec->kind != NUC_QSPEC_OBSERVED || o->spec->ch_axis >= 0)
        return;
    for (size_t i = 0; i < l->count; i++) {
        struct seen s = seen_of(p->e, p->part, n, i);
        double above = fmin(reach_of(&s.above, s.n_samples), (double)bounds.max);
        double below = fmin(reach_of(&s.below, s.n_samples), -(double)bounds.min);
        struct nuc_noise_share share = {.label = root_of(p->e, l->at[i]),
                                        .above = (float)fmax(above, 0),
                                        .below = (float)fmax(below, 0),
                                        .squared = l->squared};
        double power = power_of_label(p, n, i);
        p->above[group] = fmax(p->above[group], fmin((double)s.above.most, above));
        p->below[group] = fmax(p->below[group], fmin((double)s.below.most, below));
        if (o->spec->scheme != NUC_PER_TENSOR_AFFINE) {
            share.above = share.below = fmaxf(share.above, share.below);
            p->above[group] = p->below[group] = fmax(p->above[group], p->below[group]);
        }
        if (share.label != NUC_ANY_LABEL)
            share.weight =
                (l->squared ? 0 : p->importance[share.label]) + (power > 0 ? p->relative[share.label] / power : 0);
        nuc_noise_add_share(&p->model, group, share);
    }
}

/* The factor of a label has to be at least so much. */
static void bound(struct problem *p, nuc_label root, double least)
{
    if (root != NUC_ANY_LABEL)
        p->model.lowest[root] = fmin(fmax(p->model.lowest[root], log(fmax(least, 1 / MOST_FACTOR))), 0);
}

static double part_of(double reach, double range)
{
    return range > 0 ? reach / range : reach > 0;
}

/* What a channel may come to reach stays within what the values of the tensor reach. */
static void bound_values(struct problem *p, uint32_t group)
{
    const struct nuc_noise_tensor *t = &p->model.tensors[group];

    for (uint32_t i = 0; i < t->count; i++) {
        const struct nuc_noise_share *h = &t->shares[i];
        double least = fmax(part_of((double)h->above, p->above[group]), part_of((double)h->below, p->below[group]));
        bound(p, h->label, h->squared ? sqrt(least) : least);
    }
}

static void fill_model(struct problem *p)
{
    const equalizer *e = p->e;
    const struct nuc_channel_factors *f = e->channels;
    struct nuc_context *cx = e->g->cx;
    struct nuc_noise_model *m = &p->model;

    *m = (struct nuc_noise_model){.cx = cx, .n_labels = f->sets->count, .n_tensors = e->c->sharing->n_groups};
    m->lowest = nuc_alloc_array(cx, m->n_labels, sizeof *m->lowest);
    m->tensors = nuc_alloc_array(cx, m->n_tensors, sizeof *m->tensors);
    m->matrices = nuc_alloc_array(cx, f->n_layers, sizeof *m->matrices);
    p->importance = nuc_alloc_array(cx, m->n_labels, sizeof *p->importance);
    p->relative = nuc_alloc_array(cx, m->n_labels, sizeof *p->relative);
    p->above = nuc_alloc_array(cx, m->n_tensors, sizeof *p->above);
    p->below = nuc_alloc_array(cx, m->n_tensors, sizeof *p->below);
    for (uint32_t i = 0; i < f->n_layers; i++)
        add_layer(p, &f->layers[i], &e->weights[i]);
    for (uint32_t i = 0; i < f->n_quotients; i++)
        add_quotient(p, f->quotients[i]);
    for (const struct nuc_node *n = e->g->first; n != NULL; n = n->next) {
        const struct nuc_observed *o = &e->c->observed[n->id];
        add_value(p, n, o->output);
        for (uint32_t i = 0; i < o->n_edges; i++)
            add_value(p, n, o->edges[i]);
    }
    for (uint32_t i = 0; i < m->n_labels; i++)
        m->lowest[i] = f->sets->pinned[i] ? 0 : -log(MOST_FACTOR);
    for (uint32_t i = 0; i < m->n_tensors; i++)
        bound_values(p, i);
    /* What stays below the bound of a clip may not come above it; a channel that is clipped keeps its factor. */
    for (uint32_t i = 0; i < f->n_clips; i++) {
        const struct nuc_channel_clip *clip = &f->clips[i];
        const struct nuc_channel_labels *l = e->labels[clip->node->id];
        for (size_t k = 0; l != NULL && k < l->count; k++) {
            struct seen s = seen_of(e, p->part, clip->node, k);
            bound(p, root_of(e, l->at[k]), reach_of(&s.above, s.n_samples) / clip->bound);
        }
    }
}

double nuc_equalizer_solve(struct nuc_equalizer *e, unsigned part)
{
    struct problem p = {.e = e, .part = part};

    look_at_weights(e);
    struct nuc_arena *outer = nuc_push_arena(e->g->cx);
    fill_model(&p);
    double gain = nuc_noise_reduce(&p.model, e->exponents[part]);
    nuc_pop_arena(e->g->cx, outer);
    return gain;
}

/* ---- the graph ---- */

/* By label. */
static const double *factors_of(const equalizer *e, unsigned part)
{
    const uint32_t count = e->channels->sets->count;
    double *factors = nuc_alloc_array(e->g->cx, count, sizeof *factors);

    for (nuc_label l = 0; l < count; l++) {
        if (root_of(e, l) == l)
            factors[l] = exp(e->exponents[part][l]);
    }
    for (nuc_label l = 0; l < count; l++)
        factors[l] = factors[root_of(e, l)];
    return factors;
}

static double factor_of(const double *factors, nuc_label l)
{
    return l == NUC_ANY_LABEL ? 1 : factors[l];
}

static float *values_of(equalizer *e, struct nuc_node *constant)
{
    e->own_data[constant->id] = constant->data;
    return nuc_layer_values(e->g, constant);
}

static void scale_layer(equalizer *e, const double *factors, const struct nuc_channel_layer *l)
{
    if (is_fixed(e, l->read, l->in) && is_fixed(e, l->written, l->out))
        return;
    float *w = values_of(e, l->weight);
    for (uint32_t o = 0; o < l->out; o++) {
        double written = factor_of(factors, l->written[o]);
        for (uint32_t i = 0; i < l->in / l->groups; i++) {
            double by = factor_of(factors, l->read[nuc_channel_input(l, o, i)]) / written;
            float *taps = w + nuc_channel_tap(l, o, i);
            for (uint32_t t = 0; t < l->taps; t++)
                taps[t] = (float)((double)taps[t] * by);
        }
    }
    nuc_layer_set_values(e->g, l->weight, w);
}

static void scale_constant(equalizer *e, const double *factors, const struct nuc_channel_constant *c)
{
    const struct nuc_meta *m = &c->node->vals[0];
    int64_t index[NUC_MAX_RANK] = {0};

    if (nuc_labels_are_pinned(e->channels->sets, c->written))
        return;
    float *x = values_of(e, c->node);
    for (int64_t k = 0; k < nuc_elements(m); k++) {
        nuc_label l = c->written->at[nuc_labels_offset(c->written, index)];
        x[k] = (float)((double)x[k] / factor_of(factors, l));
        for (uint32_t d = m->rank; d-- > 0 && ++index[d] == m->sizes[d];)
            index[d] = 0;
    }
    nuc_layer_set_values(e->g, c->node, x);
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

void nuc_equalizer_apply(struct nuc_equalizer *e, unsigned part)
{
    const double *factors = factors_of(e, part);

    for (uint32_t i = 0; i < e->channels->n_layers; i++) {
        if (is_first_with_weight(e->channels, i))
            scale_layer(e, factors, &e->channels->layers[i]);
    }
    for (uint32_t i = 0; i < e->channels->n_constants; i++)
        scale_constant(e, factors, &e->channels->constants[i]);
}

void nuc_equalizer_undo(struct nuc_equalizer *e)
{
    for (struct nuc_node *n = e->g->first; n != NULL; n = n->next) {
        if (e->own_data[n->id] != NULL)
            n->data = e->own_data[n->id];
        e->own_data[n->id] = NULL;
    }
}
