#include "quantize/search/range_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_parallel.h"
#include "quantize/adopt.h"
#include "quantize/search/bias_correction.h"
#include "quantize/search/effect.h"
#include "quantize/search/width_choice.h"

/*
 * The first is the one that holds where nothing is measured, or not with enough difference. The second half is the
 * first without reaching beyond what was seen. Those after them are tried for all tensors together: that samples differ
 * by more than a few of them show is a matter of all of the network.
 */
static const struct candidate {
    enum nuc_observer_kind kind;
    double reach;
    unsigned step; /* of the search: without it there is no such candidate */
} candidates[] = {
    {NUC_OBSERVER_MIN_MAX, 0, 0},
    {NUC_OBSERVER_HISTOGRAM, 0, NUC_STEP_HISTOGRAM},
    {NUC_OBSERVER_MSE, 0, NUC_STEP_MSE},
    {NUC_OBSERVER_PERCENTILE, 0, NUC_STEP_PERCENTILE},
    {NUC_OBSERVER_MIN_MAX, NUC_AS_SEEN, NUC_STEP_AS_SEEN},
    {NUC_OBSERVER_HISTOGRAM, NUC_AS_SEEN, NUC_STEP_AS_SEEN | NUC_STEP_HISTOGRAM},
    {NUC_OBSERVER_MSE, NUC_AS_SEEN, NUC_STEP_AS_SEEN | NUC_STEP_MSE},
    {NUC_OBSERVER_PERCENTILE, NUC_AS_SEEN, NUC_STEP_AS_SEEN | NUC_STEP_PERCENTILE},
    {NUC_OBSERVER_MIN_MAX, 3, NUC_STEP_FAR},
    {NUC_OBSERVER_MIN_MAX, 6, NUC_STEP_FAR},
};

#define CANDIDATES (sizeof candidates / sizeof *candidates)
#define OF_TENSORS 8
#define FAR (CANDIDATES - OF_TENSORS)

/* Ranges that differ by less are tried once. */
#define ALIKE 0.005f

/* Multiply-accumulates that may be spent on it: some tenths of a second; and with accuracy high. */
#define BUDGET 6e9
#define HIGH_BUDGET 1e11

#define ENOUGH_SAMPLES 8.0

/* Standard errors of the mean gain of the samples that a candidate has to gain more than. */
#define SURE 2.5

/*
 * Share of the error of the whole network that all choices together have to gain over the first candidate everywhere:
 * few samples seldom show what a narrow range cuts off, and a small gain on them is not worth it.
 */
#define WORTHWHILE 0.2

/* Standard errors of the mean gain that a range for all tensors has to gain more than. */
#define SURE_OF_ALL 1.0

/* Runs of the whole network besides that without rounding: with what is chosen, and with one candidate for all. */
#define CHECKS 2

/* Groups that are open and make a difference, in order of execution. */
struct open_group {
    uint32_t group;
    /*
     * The candidates for samples of each part, from what was seen of the other part, and for both, from all. A range is
     * judged by samples that it does not come from, as those are that the network will see.
     */
    struct nuc_parameters of[3][CANDIDATES];
    uint8_t start;  /* the candidate that others have to gain over for the whole network */
    uint8_t chosen; /* the candidate that it is quantized in */
};

struct block {
    uint32_t first, count; /* of open groups */
};

struct choice {
    struct nuc_calibration *c;
    struct nuc_effects *fx;
    const uint8_t *known; /* by group: the candidate that is taken; NULL: it is to be found */
    size_t n_samples;
    double run_cost;
    uint32_t n_open;
    struct open_group *open;
    uint32_t n_blocks;
    struct block *blocks;
    double error[NUC_CHOICE_MOST]; /* by sample: of the whole network with what is chosen */
};

/* Samples of a sequence are like their neighbours in the other half, which does not show how far states go elsewhere.
 */
static double budget(const struct nuc_calibration *c)
{
    return nuc_n_states(c->g) != 0 ? 0 : c->high ? HIGH_BUDGET : BUDGET;
}

/* The budget covers trials of two blocks, of about five ranges each, on enough samples. */
static bool chooses_by_parts(const struct nuc_calibration *c)
{
    return ENOUGH_SAMPLES * (1 + CHECKS + 1.5 * 5) * nuc_run_cost(c->g) <= budget(c);
}

/* ---- what another network chose ---- */

/* By the name of a node whose value has the range. */
struct nuc_chosen_range {
    const char *node;
    uint8_t candidate;
};

static bool is_known(const struct nuc_calibration *c)
{
    return c->ranges != NULL && c->ranges->known;
}

/* With accuracy high they are where the search starts. */
static bool takes_known(const struct nuc_calibration *c)
{
    return is_known(c) && !c->high;
}

/*
 * By group; NULL: nothing is known. A value that the other network does not have takes the first candidate. Points and
 * items are in order of execution, so that each search begins where the one before it ended.
 */
static const uint8_t *known_choices(const struct nuc_calibration *c)
{
    const struct nuc_chosen_ranges *r = c->ranges;
    size_t at = 0;

    if (!is_known(c))
        return NULL;
    uint8_t *of = nuc_alloc_array(c->g->cx, c->sharing->n_groups, 1);
    for (uint32_t i = 0; i < c->n_points; i++) {
        for (size_t k = 0; k < r->count; k++) {
            const struct nuc_chosen_range *item = &r->items[(at + k) % r->count];
            if (strcmp(item->node, c->points[i].node->name) != 0)
                continue;
            of[c->points[i].group] = item->candidate;
            at += k;
            break;
        }
    }
    return of;
}

/* ---- candidates ---- */

static bool is_open(const struct nuc_observer *o)
{
    return o->spec->observer == NUC_OBSERVER_AUTO && o->seen;
}

void nuc_need_histograms(struct nuc_calibration *c, bool chooses)
{
    const uint8_t *known = takes_known(c) ? known_choices(c) : NULL;
    /* A trial of other widths takes the ranges of the network that it is compared with. */
    const bool takes = known != NULL && !chooses && c->mixed, any = takes || (chooses && chooses_by_parts(c));

    for (uint32_t i = 0; i < c->sharing->n_groups; i++) {
        struct nuc_observer *o = c->observers[i];
        bool taken = known == NULL || candidates[known[i]].kind != NUC_OBSERVER_MIN_MAX;
        o->whole = o->spec->observer == NUC_OBSERVER_AUTO && (!(any && taken) || o->spec->dtype == NUC_I16);
        if (takes && o->spec->observer == NUC_OBSERVER_AUTO) {
            o->chosen = o->whole ? NUC_OBSERVER_MIN_MAX : candidates[known[i]].kind;
            o->reach = candidates[known[i]].reach;
        }
    }
}

static bool are_alike(const struct nuc_parameters *a, const struct nuc_parameters *b)
{
    return fabsf(a->scale - b->scale) <= ALIKE * a->scale && llabs(a->zero_point - b->zero_point) <= 1;
}

/* The first candidate with nearly the same parameters, for all groups of a block. */
static uint32_t same_as(const struct choice *h, const struct block *b, uint32_t candidate)
{
    for (uint32_t s = 0; s < candidate; s++) {
        bool same = true;
        for (uint32_t i = b->first; i < b->first + b->count && same; i++)
            same = are_alike(&h->open[i].of[0][s], &h->open[i].of[0][candidate]) &&
                   are_alike(&h->open[i].of[1][s], &h->open[i].of[1][candidate]) &&
                   are_alike(&h->open[i].of[2][s], &h->open[i].of[2][candidate]);
        if (same)
            return s;
    }
    return candidate;
}

static double reach_of(const struct choice *h, const struct candidate *c)
{
    return c->reach > 0 || !(h->c->without & NUC_STEP_WIDEN) ? c->reach : NUC_AS_SEEN;
}

static void find_candidates(const void *arg, struct nuc_part part)
{
    const struct choice *h = arg;

    for (size_t i = part.begin; i < part.end; i++) {
        struct open_group *g = &h->open[i];
        const struct nuc_observer *o = h->c->observers[g->group];
        bool both = o->parts != NULL && o->parts[0].histogram.seen && o->parts[1].histogram.seen;
        for (unsigned p = 0; p <= NUC_BOTH_PARTS; p++) {
            unsigned from = both && p != NUC_BOTH_PARTS ? 1 - p : NUC_BOTH_PARTS;
            for (uint32_t k = 0; k < CANDIDATES; k++) {
                if (h->known != NULL && h->known[g->group] != k)
                    continue;
                bool is_left_out = (h->c->without & candidates[k].step) != 0 ||
                                   (o->whole && candidates[k].kind != NUC_OBSERVER_MIN_MAX);
                const struct candidate *c = &candidates[is_left_out ? 0 : k];
                struct nuc_candidate_range range = nuc_observer_range(o, from, c->kind);
                nuc_observer_candidate(o, from, range, reach_of(h, c), &g->of[p][k].scale, &g->of[p][k].zero_point);
            }
        }
    }
}

/* Of one group: some tens of thousands of steps of the search. */
#define CANDIDATE_COST 1e5

/* ---- blocks: groups that follow each other and take the same candidate ---- */

static double trial_cost(const struct choice *h, const struct block *b)
{
    uint32_t different = 0;

    for (uint32_t k = 0; k < OF_TENSORS; k++)
        different += same_as(h, b, k) == k;
    return nuc_cost_after(h->fx, h->open[b->first].group) * (1 + different);
}

/* Returns the runs that trials of one sample take. */
static double divide(struct choice *h, uint32_t n)
{
    double cost = 0;

    h->n_blocks = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = (uint32_t)((uint64_t)h->n_open * i / n), end = (uint32_t)((uint64_t)h->n_open * (i + 1) / n);
        h->blocks[i] = (struct block){.first = first, .count = end - first};
        cost += trial_cost(h, &h->blocks[i]);
    }
    return cost;
}

/* ---- trials ---- */

/*
 * Mean over the groups of the square of a candidate's steps relative to those of the first: the steps that the network
 * gets, of the ranges of all samples.
 */
static double coarseness(const struct choice *h, const struct block *b, uint32_t candidate)
{
    double sum = 0;

    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        const struct nuc_parameters *of = h->open[i].of[NUC_BOTH_PARTS];
        double ratio = (double)of[candidate].scale / (double)of[0].scale;
        sum += ratio * ratio;
    }
    return sum / b->count;
}

static struct nuc_tried trial(const struct choice *h, const struct block *b, uint32_t candidate, enum nuc_effect effect)
{
    struct nuc_context *cx = h->c->g->cx;
    uint32_t *groups = nuc_alloc_array(cx, b->count, sizeof *groups);
    struct nuc_parameters *parameters[2];

    for (unsigned p = 0; p < 2; p++)
        parameters[p] = nuc_alloc_array(cx, b->count, sizeof *parameters[p]);
    for (uint32_t i = 0; i < b->count; i++) {
        groups[i] = h->open[b->first + i].group;
        for (unsigned p = 0; p < 2; p++)
            parameters[p][i] = h->open[b->first + i].of[p][candidate];
    }
    return (struct nuc_tried){effect, b->count, groups, {parameters[0], parameters[1]}};
}

/* Samples are run some at a time, after which what cannot gain any more is left alone. */
static struct nuc_part next_samples(const struct choice *h, size_t from)
{
    const size_t threads = nuc_effects_threads(h->fx);
    const size_t count = ((h->n_samples + 7) / 8 + threads - 1) / threads * threads;

    return (struct nuc_part){from, h->n_samples - from < count ? h->n_samples : from + count, 0};
}

/* A candidate of a block besides the first. */
struct rival {
    uint32_t block, candidate;
    size_t first; /* of what is tried of the first candidate */
    struct nuc_tried tried;
    double rounding; /* of all samples */
    /*
     * By sample: how much less the error is than that of the first candidate, without what it cuts off itself as long
     * as that is not known. That is the most there can be.
     */
    double gains[NUC_CHOICE_MOST];
};

/* The most first. */
static void order_samples(const struct choice *h, const double *of, size_t *order)
{
    for (size_t k = 0; k < h->n_samples; k++) {
        size_t at = k;
        for (; at > 0 && of[order[at - 1]] < of[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
}

/* In the order of the samples: whether the mean gain may be sure when so many are known. */
static bool may_gain(const struct choice *h, const double *gains, const size_t *order, size_t known, double sure,
                     double least)
{
    double ordered[NUC_CHOICE_MOST];

    for (size_t k = 0; k < h->n_samples; k++)
        ordered[k] = gains[order[k]];
    return nuc_may_gain(ordered, known, h->n_samples, sure, least);
}

/* Leaves the rivals that may gain, when the gains of so many samples are known. */
static size_t keep_rivals(const struct choice *h, struct rival *rivals, size_t n, const size_t *order, size_t known)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (may_gain(h, rivals[i].gains, order, known, SURE, 0))
            rivals[kept++] = rivals[i];
    }
    return kept;
}

/* What rivals seem to cut off of samples comes first: few of them show that one loses. */
static size_t race(const struct choice *h, struct rival *rivals, size_t n)
{
    struct nuc_context *cx = h->c->g->cx;
    struct nuc_tried *tried = nuc_alloc_array(cx, n, sizeof *tried);
    double *error = nuc_alloc_array(cx, n * h->n_samples, sizeof *error);
    double loss[NUC_CHOICE_MOST] = {0};
    size_t order[NUC_CHOICE_MOST];
    struct nuc_part part = {0, 0, 0};

    for (size_t k = 0; k < h->n_samples; k++) {
        for (size_t i = 0; i < n; i++)
            loss[k] += rivals[i].rounding * nuc_cut_off(h->fx, &rivals[i].tried, k);
    }
    order_samples(h, loss, order);
    while ((n = keep_rivals(h, rivals, n, order, part.end)) != 0 && part.end != h->n_samples) {
        part = next_samples(h, part.end);
        for (size_t i = 0; i < n; i++)
            tried[i] = rivals[i].tried;
        nuc_effects_of(h->fx, tried, n, order + part.begin, part.end - part.begin, error);
        for (size_t i = 0; i < n; i++) {
            for (size_t k = part.begin; k < part.end; k++)
                rivals[i].gains[order[k]] -= error[(k - part.begin) * n + i];
        }
    }
    return n;
}

/* Of all blocks. Rounding and clipping by the first candidate are tried of those that have any. */
static size_t list_rivals(const struct choice *h, struct rival *rivals, struct nuc_tried *tried, size_t *n_tried)
{
    size_t n = 0;

    for (uint32_t i = 0; i < h->n_blocks; i++) {
        const struct block *b = &h->blocks[i];
        const size_t before = n;
        for (uint32_t c = 1; c < OF_TENSORS; c++) {
            if (same_as(h, b, c) == c)
                rivals[n++] = (struct rival){i, c, *n_tried, trial(h, b, c, NUC_EFFECT_CLIPPING), 0, {0}};
        }
        if (n == before)
            continue;
        tried[(*n_tried)++] = trial(h, b, 0, NUC_EFFECT_ROUNDING);
        tried[(*n_tried)++] = trial(h, b, 0, NUC_EFFECT_CLIPPING);
    }
    return n;
}

/*
 * Rounding adds an error in proportion to the square of the steps, wherever the range ends: it is measured once, so
 * that candidates differ by no chance. What is cut off is measured for each.
 */
static void try_blocks(struct choice *h)
{
    struct nuc_context *cx = h->c->g->cx;
    struct nuc_tried *tried = nuc_alloc_array(cx, 2 * (size_t)h->n_blocks, sizeof *tried);
    struct rival *rivals = nuc_alloc_array(cx, h->n_blocks * (size_t)OF_TENSORS, sizeof *rivals);
    size_t n = 0, n_rivals = list_rivals(h, rivals, tried, &n);
    double *most = nuc_alloc_array(cx, h->n_blocks, sizeof *most),
           *error = nuc_alloc_array(cx, n * h->n_samples, sizeof *error);

    for (uint32_t i = 0; i < h->n_open; i++)
        h->open[i].chosen = 0;
    if (n_rivals == 0)
        return;
    nuc_effects_of(h->fx, tried, n, NULL, h->n_samples, error);
    for (size_t i = 0; i < n_rivals; i++) {
        struct rival *r = &rivals[i];
        const double factor = coarseness(h, &h->blocks[r->block], r->candidate);
        for (size_t k = 0; k < h->n_samples; k++) {
            const double *of = error + k * n + r->first;
            r->gains[k] = of[1] + of[0] * (1 - factor);
            r->rounding += of[0];
        }
    }
    n_rivals = race(h, rivals, n_rivals);
    for (size_t i = 0; i < n_rivals; i++) {
        const struct block *b = &h->blocks[rivals[i].block];
        double gain = nuc_sure_gain(rivals[i].gains, h->n_samples, SURE);
        if (!(gain > most[rivals[i].block]))
            continue;
        most[rivals[i].block] = gain;
        for (uint32_t k = b->first; k < b->first + b->count; k++)
            h->open[k].chosen = (uint8_t)rivals[i].candidate;
    }
}

/* ---- the whole network ---- */

static const struct nuc_parameters *parameters_of(struct choice *h, unsigned part)
{
    /* All observers have the parameters for samples of a part, what others adopt included. */
    nuc_own_parameters(h->c);
    for (uint32_t i = 0; i < h->n_open; i++) {
        const struct open_group *g = &h->open[i];
        struct nuc_observer *o = h->c->observers[g->group];
        o->scale[0] = g->of[part][g->chosen].scale;
        o->zero_point[0] = g->of[part][g->chosen].zero_point;
    }
    nuc_adopt(h->c);
    return nuc_present_parameters(h->c);
}

/* error[k]: of the whole network on sample k. */
static void whole(struct choice *h, double *error)
{
    const struct nuc_parameters *p[2] = {parameters_of(h, 0), parameters_of(h, 1)};

    nuc_errors_of_all(h->fx, p, NULL, h->n_samples, error);
}

/* ---- choices for the network ---- */

/* Ways to choose for all tensors: as they start, what the blocks have chosen, and each of those that reach far. */
enum { START, BY_BLOCK, REACHING, WAYS = REACHING + FAR };

static void choose_way(struct choice *h, const uint8_t *by_block, unsigned way)
{
    for (uint32_t i = 0; i < h->n_open; i++)
        h->open[i].chosen = way == START      ? h->open[i].start
                            : way == BY_BLOCK ? by_block[i]
                                              : (uint8_t)(OF_TENSORS + way - REACHING);
}

static bool differs(const struct choice *h, const uint8_t *by_block, unsigned way)
{
    struct block all = {.first = 0, .count = h->n_open};
    bool differs = false;

    if (way >= REACHING)
        return same_as(h, &all, OF_TENSORS + way - REACHING) == OF_TENSORS + way - REACHING;
    for (uint32_t i = 0; i < h->n_open; i++)
        differs = differs || by_block[i] != h->open[i].start;
    return differs;
}

/*
 * What the way gains over the start, whose errors are `first`; 0 for nothing that is more than `least`. What the blocks
 * have chosen has gained for each of them beyond chance; what reaches far has to do so here.
 */
static double gain_of(struct choice *h, const uint8_t *by_block, unsigned way, const double *first, double least,
                      double *errors)
{
    const double sure = way >= REACHING ? SURE_OF_ALL : 0;
    double gains[NUC_CHOICE_MOST];
    size_t order[NUC_CHOICE_MOST];
    struct nuc_part part = {0, 0, 0};

    choose_way(h, by_block, way);
    order_samples(h, first, order);
    const struct nuc_parameters *p[2] = {parameters_of(h, 0), parameters_of(h, 1)};
    for (size_t k = 0; k < h->n_samples; k++)
        gains[k] = (1 - WORTHWHILE) * first[k];
    while (part.end != h->n_samples) {
        if (!may_gain(h, gains, order, part.end, sure, least))
            return 0;
        part = next_samples(h, part.end);
        nuc_errors_of_all(h->fx, p, order + part.begin, part.end - part.begin, errors);
        for (size_t k = part.begin; k < part.end; k++)
            gains[order[k]] -= errors[order[k]];
    }
    return way >= REACHING ? nuc_sure_fall(first, errors, h->n_samples, WORTHWHILE, sure)
                           : nuc_sure_gain(gains, h->n_samples, sure);
}

/* The budget covers the first candidate and those that reach far for all tensors. */
static bool covers_all(const struct choice *h)
{
    return (1 + (double)FAR) * (double)h->n_samples * h->run_cost <= budget(h->c);
}

/* Somebody asks what the network loses, whatever is chosen. */
static bool asks_for_errors(const struct choice *h)
{
    return nuc_may_free_values(h->c, h->n_samples);
}

/* What is chosen for all tensors has to stand the comparison with what they start from. */
static void choose_for_all(struct choice *h)
{
    double first[NUC_CHOICE_MOST], errors[NUC_CHOICE_MOST], most = 0;
    uint8_t *by_block = nuc_alloc_array(h->c->g->cx, h->n_open, 1);
    bool other[WAYS], any = false;
    unsigned best = START;

    for (uint32_t i = 0; i < h->n_open; i++)
        by_block[i] = h->open[i].chosen;
    for (unsigned way = BY_BLOCK; way < WAYS; way++) {
        other[way] = covers_all(h) && differs(h, by_block, way);
        any = any || other[way];
    }
    choose_way(h, by_block, START);
    if (!any && !asks_for_errors(h))
        return;
    whole(h, first);
    memcpy(h->error, first, sizeof first);
    for (unsigned way = BY_BLOCK; way < WAYS; way++) {
        double gain = other[way] ? gain_of(h, by_block, way, first, most, errors) : 0;
        if (gain > most) {
            most = gain;
            best = way;
            memcpy(h->error, errors, sizeof errors);
        }
    }
    choose_way(h, by_block, best);
}

static void choose(struct choice *h)
{
    /*
     * As many blocks as the budget allows, on enough samples; then, with a tensor to each block, as many samples.
     */
    double runs = budget(h->c) / h->run_cost, all = (double)h->n_samples;
    double enough = all < ENOUGH_SAMPLES ? all : ENOUGH_SAMPLES;
    uint32_t n = h->n_open;

    while (n > 1 && enough * (1 + CHECKS + divide(h, n)) > runs)
        n = n > 8 ? n - n / 8 : n - 1;
    double samples = runs / (1 + CHECKS + divide(h, n));
    samples = samples > enough ? samples : enough;
    h->n_samples = samples < all ? (size_t)samples : h->n_samples;
    nuc_effects_use(h->fx, h->n_samples);
    try_blocks(h);
    choose_for_all(h);
}

static void keep_held_out(struct choice *h, struct nuc_arena *outer)
{
    struct nuc_context *cx = h->c->g->cx;
    struct nuc_held_out *kept = &h->c->held_out;

    kept->n_samples = h->n_samples;
    kept->error = nuc_copy_out(cx, outer, h->error, h->n_samples * sizeof *h->error);
    for (unsigned part = 0; part < 2; part++) {
        const struct nuc_parameters *p = parameters_of(h, part);
        kept->parameters[part] = nuc_copy_out(cx, outer, p, h->c->sharing->n_groups * sizeof *p);
    }
}

static void note_choices(const struct choice *h)
{
    const struct nuc_calibration *c = h->c;
    struct nuc_context *cx = c->g->cx;
    struct nuc_chosen_ranges *r = c->ranges;
    uint8_t *of = nuc_alloc_array(cx, c->sharing->n_groups, 1); /* by group: 1 + candidate */

    for (uint32_t i = 0; i < h->n_open; i++)
        of[h->open[i].group] = (uint8_t)(h->open[i].chosen + 1);
    r->count = 0;
    r->items = nuc_alloc_in(cx, r->arena, ((size_t)c->n_points + 1) * sizeof *r->items);
    for (uint32_t i = 0; i < c->n_points; i++) {
        const char *name = c->points[i].node->name;
        uint8_t candidate = of[c->points[i].group];
        if (candidate > 0)
            r->items[r->count++] =
                (struct nuc_chosen_range){nuc_strdup_out(cx, r->arena, name), (uint8_t)(candidate - 1)};
    }
    r->known = true;
}

void nuc_choose_ranges(struct nuc_calibration *c)
{
    struct nuc_context *cx = c->g->cx;

    c->held_out.n_samples = 0;
    if (!c->is_open || c->samples == NULL || c->samples->count == 0)
        return;
    struct nuc_arena *outer = nuc_push_arena(cx);
    const uint8_t *start = known_choices(c);
    bool by_parts = !takes_known(c) && chooses_by_parts(c);
    struct choice h = {.c = c,
                       .known = takes_known(c) ? start : NULL,
                       .run_cost = nuc_run_cost(c->g), /* at most what that of the converted graph is */
                       .n_samples = by_parts ? c->samples->count : nuc_samples_to_measure(c)};
    if (!by_parts && h.known == NULL && !covers_all(&h) && !asks_for_errors(&h)) {
        nuc_pop_arena(cx, outer); /* the first candidates stay */
        return;
    }
    nuc_calibration_parameters(c);
    struct nuc_converted q = nuc_convert_graph(c, c->means == NULL ? NULL : nuc_corrected_biases(c, NUC_NO_FOLD));
    h.run_cost = nuc_run_cost(q.g);
    h.fx = nuc_effects_new(c, &q, h.n_samples, by_parts);
    h.open = nuc_alloc_array(cx, c->sharing->n_groups, sizeof *h.open);
    h.blocks = nuc_alloc_array(cx, c->sharing->n_groups + 1, sizeof *h.blocks);
    for (uint32_t i = 0; i < c->sharing->n_groups; i++) {
        if (is_open(c->observers[i]) && nuc_has_effect(h.fx, i)) {
            uint32_t at = h.n_open++;
            for (; at > 0 && nuc_cost_after(h.fx, h.open[at - 1].group) < nuc_cost_after(h.fx, i); at--)
                h.open[at] = h.open[at - 1];
            h.open[at] = (struct open_group){.group = i, .start = start == NULL ? 0 : start[i]};
        }
    }
    nuc_parallel_for(nuc_pool_new(cx, c->threads), h.n_open, h.n_open * CANDIDATE_COST, find_candidates, &h);
    if (h.n_open != 0 && h.known != NULL) {
        /* Of the groups that are open. */
        for (uint32_t i = 0; i < h.n_open; i++)
            h.open[i].chosen = h.known[h.open[i].group];
        if (asks_for_errors(&h))
            whole(&h, h.error);
    } else if (h.n_open != 0 && by_parts) {
        choose(&h);
    } else if (h.n_open != 0) {
        choose_for_all(&h);
    }
    for (uint32_t i = 0; i < h.n_open; i++) {
        struct nuc_observer *o = c->observers[h.open[i].group];
        o->chosen = o->whole ? NUC_OBSERVER_MIN_MAX : candidates[h.open[i].chosen].kind;
        o->reach = reach_of(&h, &candidates[h.open[i].chosen]);
    }
    if (c->ranges != NULL && h.known == NULL)
        note_choices(&h);
    if (h.n_open != 0)
        keep_held_out(&h, outer);
    c->has_parameters = false; /* they are in memory that goes */
    nuc_pop_arena(cx, outer);
}
