#include "compiler/quantize/range_choice.h"

#include <math.h>
#include <stdlib.h>

#include "compiler/quantize/adopt.h"
#include "compiler/quantize/effect.h"

static const enum nuc_observer_kind kinds[] = {NUC_OBSERVER_HISTOGRAM, NUC_OBSERVER_MIN_MAX, NUC_OBSERVER_MSE,
                                               NUC_OBSERVER_PERCENTILE};

#define KINDS (sizeof kinds / sizeof *kinds)

/* Ranges that differ by less are tried once. */
#define ALIKE 0.005f

struct choice {
    struct nuc_calibration *c;
    struct nuc_effects *fx;
    uint32_t n_groups; /* that are open and make a difference */
    uint32_t *groups;
    struct nuc_parameters *own; /* by group of the calibration: before any is adopted from another */
    /*
     * By part of the samples and open group: the parameters of each kind for samples of that part, from what was seen
     * of the other part. A range is judged by samples that it does not come from, as those that the network will see.
     */
    struct nuc_parameters (*of[2])[KINDS];
    uint8_t (*same)[KINDS]; /* the first kind with nearly the same parameters */
};

static bool is_open(const struct nuc_observer *o)
{
    return o->spec.observer == NUC_OBSERVER_AUTO && o->seen;
}

static bool are_alike(const struct nuc_parameters *a, const struct nuc_parameters *b)
{
    return fabsf(a->scale - b->scale) <= ALIKE * a->scale && llabs(a->zero_point - b->zero_point) <= 1;
}

static void list_candidates(struct choice *h)
{
    struct nuc_calibration *c = h->c;
    struct nuc_context *cx = c->g->cx;
    uint32_t n = c->sharing->n_groups;

    h->groups = nuc_alloc_array(cx, n, sizeof *h->groups);
    h->same = nuc_alloc_array(cx, n, sizeof *h->same);
    for (unsigned p = 0; p < 2; p++)
        h->of[p] = nuc_alloc_array(cx, n, sizeof *h->of[p]);
    for (uint32_t i = 0; i < n; i++) {
        struct nuc_observer *o = c->observers[i];
        if (!is_open(o) || !nuc_has_effect(h->fx, i))
            continue;
        uint32_t at = h->n_groups++;
        bool both = o->parts[0].histogram.seen && o->parts[1].histogram.seen;
        h->groups[at] = i;
        for (uint8_t k = 0; k < KINDS; k++) {
            for (unsigned p = 0; p < 2; p++)
                nuc_observer_candidate(o, both ? 1 - p : NUC_BOTH_PARTS, kinds[k], true, &h->of[p][at][k].scale,
                                       &h->of[p][at][k].zero_point);
            uint8_t s = 0;
            while (!are_alike(&h->of[0][at][s], &h->of[0][at][k]) || !are_alike(&h->of[1][at][s], &h->of[1][at][k]))
                s++;
            h->same[at][k] = s;
        }
    }
}

/* The parameters of all groups for samples of a part, where the open ones have what is chosen; by group. */
static struct nuc_parameters *parameters_of(struct choice *h, const uint8_t *chosen, unsigned part)
{
    for (uint32_t i = 0; i < h->c->sharing->n_groups; i++) {
        struct nuc_observer *o = h->c->observers[i];
        if (o->spec.kind == NUC_QSPEC_DERIVED || o->n != 1)
            continue;
        o->scale[0] = h->own[i].scale;
        o->zero_point[0] = h->own[i].zero_point;
    }
    for (uint32_t i = 0; i < h->n_groups; i++) {
        struct nuc_observer *o = h->c->observers[h->groups[i]];
        o->scale[0] = h->of[part][i][chosen[i]].scale;
        o->zero_point[0] = h->of[part][i][chosen[i]].zero_point;
    }
    if (h->c->relevant != NULL)
        nuc_adopt_parameters(h->c);
    return nuc_present_parameters(h->c);
}

static double whole(struct choice *h, const uint8_t *chosen)
{
    const struct nuc_parameters *p[2] = {parameters_of(h, chosen, 0), parameters_of(h, chosen, 1)};

    return nuc_effect_of_all(h->fx, p, NULL);
}

static void choose_alone(struct choice *h, uint8_t *chosen)
{
    struct nuc_context *cx = h->c->g->cx;
    struct nuc_tried *tried = nuc_alloc_array(cx, h->n_groups * KINDS, sizeof *tried);
    size_t n = 0, samples = h->c->samples->count;

    for (uint32_t i = 0; i < h->n_groups; i++) {
        for (size_t k = 0; k < KINDS; k++) {
            if (h->same[i][k] == k)
                tried[n++] = (struct nuc_tried){1, &h->groups[i], {&h->of[0][i][k], &h->of[1][i][k]}};
        }
    }
    double *error = nuc_alloc_array(cx, n * samples, sizeof *error);
    nuc_effects_of(h->fx, tried, n, error);
    size_t t = 0;
    for (uint32_t i = 0; i < h->n_groups; i++) {
        double least = INFINITY;
        for (uint8_t k = 0; k < KINDS; k++) {
            if (h->same[i][k] != k)
                continue;
            double sum = 0;
            for (size_t s = 0; s < samples; s++)
                sum += error[s * n + t];
            if (sum < least) {
                least = sum;
                chosen[i] = k;
            }
            t++;
        }
    }
}

void nuc_choose_ranges(struct nuc_calibration *c)
{
    struct nuc_context *cx = c->g->cx;

    if (!c->is_open || c->samples == NULL || c->samples->count == 0 || c->sharing->n_groups == 0)
        return;
    struct nuc_arena *outer = nuc_push_arena(cx);
    nuc_calibration_parameters(c);
    struct nuc_converted q = nuc_convert_graph(c, NULL);
    struct choice h = {.c = c, .fx = nuc_effects_new(c, &q, c->samples->count)};
    nuc_own_parameters(c);
    h.own = nuc_present_parameters(c);
    list_candidates(&h);
    uint8_t *single = nuc_alloc_array(cx, h.n_groups, 1), *mixed = nuc_alloc_array(cx, h.n_groups, 1);
    uint8_t best = 0;
    double least = INFINITY;
    for (uint8_t k = 0; k < KINDS; k++) {
        for (uint32_t i = 0; i < h.n_groups; i++)
            single[i] = k;
        double e = whole(&h, single);
        if (e < least) {
            least = e;
            best = k;
        }
    }
    choose_alone(&h, mixed);
    double e = whole(&h, mixed);
    for (uint32_t i = 0; i < h.n_groups; i++)
        c->observers[h.groups[i]]->chosen = kinds[e < least ? mixed[i] : best];
    c->has_parameters = false; /* they are in memory that goes */
    nuc_pop_arena(cx, outer);
}
