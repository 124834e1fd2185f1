/*
 * Values that int8 is too narrow for. Which they may be is proposed by what single values lose
 * (quantize/search/width_choice.c). A proposal is tried: the model is quantized as it says with one half of the samples
 * that calibration kept, measured on the other half, and placed, so that both the decibels and the cycles are those of
 * the network that is made. What surely gains is marked, and the model is annotated and calibrated once more.
 */
#include <math.h>
#include <string.h>

#include "driver/stages.h"
#include "driver/trials/price.h"
#include "host/text.h"
#include "npu/target/target.h"
#include "quantize/quantize.h"
#include "quantize/ranges/relevant_range.h"
#include "quantize/search/channel_scales.h"
#include "quantize/search/choice_samples.h"
#include "quantize/search/running_sums.h"
#include "quantize/search/width_choice.h"

/* Standard errors of the mean gain of the samples that they have to gain more than. */
#define SURE 2.0

/* Or so many samples, each of which gains it. */
#define MANY 6

/* Estimates are not exact: proposals that are tried, and what the next may take of the cycles of the one before. */
#define MOST_TRIALS 5
#define NEXT_SHARE 0.25

/* What the first may take, in cycles of int8. */
#define MOST_TIMES 40.0

/* The same of less than a fair error, and proposals of it that are tried. */
#define MOST_TIMES_BEYOND 0.25
#define MOST_TRIALS_BEYOND 2

/* The same of int16 that the user asks for, and how much of the limit is near enough to it. */
#define MOST_MIXED_TRIALS 5
#define MOST_MIXED_SHARE 0.25
#define NEAR 0.8

#define MOST_REGIONS 4

/* What is less is none: 100 dB. */
#define LEAST_ERROR 1e-10

bool nuc_may_widen(const struct nuc_job *j)
{
    const struct nuc_settings *s = j->m->settings;
    bool mixed = s->o.activations == NUC_ACTIVATIONS_MIXED && !s->judges;

    return (j->samples != NULL || nuc_has_samples(j->source)) && j->m->widened < (mixed ? 2 : 1) && !s->trial &&
           !(s->narrow && s->judges) && !(s->without & NUC_STEP_WIDTH) && !s->o.reference_compat &&
           s->o.accuracy != NUC_ACCURACY_FAST && s->o.observer == NUC_OBSERVE_AUTO;
}

/* ---- trials ---- */

struct outcome {
    size_t n_samples; /* 0: errors are not asked for */
    double errors[NUC_CHOICE_MOST];
    double error; /* their mean */
    uint64_t cycles;
    size_t memory; /* 0: nobody asks for it */
    bool layers;   /* take int16 beside float */
};

struct trial {
    const struct nuc_width_search *layers; /* says which layers take int16 beside float; NULL: none does */
    const bool *wide;                      /* by node id; NULL: none */
    enum nuc_width width;
    bool measures;
    struct outcome out;
};

static void mark(struct nuc_graph *g, struct nuc_node *node, enum nuc_width width, const char *why)
{
    struct nuc_source *source = nuc_copy(g->cx, node->source, sizeof *source);

    source->width = width;
    source->wide = why;
    node->source = source;
}

/* Of a wide operator. */
static enum nuc_width width_of(const struct nuc_width_search *layers, const struct nuc_node *node, enum nuc_width width)
{
    return layers != NULL && nuc_is_layer_in_int16(layers, node) ? NUC_WIDTH_INT16 : width;
}

static struct nuc_calibration *fresh(struct nuc_model *m)
{
    return nuc_calibration_of(m, NUC_ACCURACY_FAST, m->settings->o.bias_correction);
}

static void try(struct nuc_model *prepared, void *arg)
{
    struct trial *t = arg;
    const struct nuc_calibration *observed = prepared->calibration;
    struct nuc_model *m = nuc_model_after(prepared, nuc_graph_copy(prepared->graph));
    const struct nuc_node *own = prepared->graph->first;

    for (struct nuc_node *n = m->graph->first; n != NULL; n = n->next, own = own->next) {
        if (t->wide != NULL && t->wide[own->id])
            mark(m->graph, n, width_of(t->layers, own, t->width), "");
    }
    nuc_scale_channels(m->graph, observed);
    m->widened = prepared->widened;
    m->cpu_nodes = NULL;
    for (unsigned part = 0; t->measures && part < 2; part++)
        t->out.n_samples = nuc_quantize_measure(fresh(m), observed, part, t->out.errors);
    for (size_t k = 0; k < t->out.n_samples; k++)
        t->out.error += t->out.errors[k] / (double)t->out.n_samples;
    m->calibration = fresh(m);
    const void *const *samples[NUC_CHOICE_MOST];
    nuc_quantize_steps(m->calibration, samples, nuc_kept_samples(observed, NUC_BOTH_PARTS, samples));
    struct nuc_settings settings = *m->settings;
    settings.places_well = true;
    m->settings = &settings;
    m = nuc_partition_prepared(m);
    if (!nuc_count_cycles(m, &t->out.cycles))
        t->out.cycles = UINT64_MAX;
    t->out.memory = m->settings->o.memory_budget > 0 ? nuc_planned_memory(m) : 0;
}

/* The look for values that int16 gains by, which follows that for values that have to be float. */
static bool is_mixed(const struct nuc_model *m)
{
    return m->settings->o.activations == NUC_ACTIVATIONS_MIXED && m->widened > 1;
}

static bool has_int16(const struct nuc_settings *s)
{
    return s->target->cpu != NULL && !s->o.executorch_ops_only;
}

/* What is sought: which of two programs is worth more does not depend on a third. */
static bool is_worth_more(const struct outcome *o, const struct outcome *than)
{
    return nuc_felt(than->error) > nuc_price(o->cycles, than->cycles) * nuc_felt(o->error);
}

/* All of it, and never 0: errors are divided. */
static double whole(double error)
{
    return error + LEAST_ERROR;
}

/*
 * The first surely has an error so many times less than the other, in the mean of the samples, or of their decibels:
 * where few samples make most of the error, that of the others is the better evidence; or in each of many samples, of
 * which one that gains far more makes both means doubtful. Of errors as `of` has them.
 */
static bool gains(const struct outcome *with, const struct outcome *without, double factor, double (*of)(double))
{
    double linear[NUC_CHOICE_MOST], logarithmic[NUC_CHOICE_MOST], least = (double)INFINITY;
    size_t n = with->n_samples < without->n_samples ? with->n_samples : without->n_samples;

    for (size_t k = 0; k < n; k++) {
        double before = of(without->errors[k]) / factor, after = of(with->errors[k]);
        linear[k] = before - after;
        logarithmic[k] = log(before / after);
        least = fmin(least, logarithmic[k]);
    }
    return of(without->error) > factor * of(with->error) &&
           (nuc_sure_gain(linear, n, SURE) > 0 || nuc_sure_gain(logarithmic, n, SURE) > 0 || (n >= MANY && least > 0));
}

/* ---- proposals ---- */

/*
 * What an operator takes more than in int8; of int16 near enough to the fits of kernel_cycles.c for a proposal.
 * Recurrent layers have the same kernel beside int16.
 */
static struct nuc_width_costs costs_of(const struct nuc_settings *s, enum nuc_width width)
{
    const struct nuc_kernel_costs *k = &s->target->costs.real, *int8 = &s->target->costs.int8;
    const double product = s->delegates ? 1.9 : 1.1;
    const struct nuc_width_costs in_int16 = {0, 70, 15, product, 0, 0, 49, false, false};
    const struct nuc_width_costs in_float = {fmax(k->call - int8->call, 0),
                                             fmax(k->element - int8->element / 2, 0),
                                             k->function - int8->function,
                                             k->mac - int8->mac,
                                             product,
                                             k->mac - int8->mac,
                                             int8->element,
                                             true,
                                             false};

    return width == NUC_WIDTH_INT16 ? in_int16 : in_float;
}

/*
 * What int16 takes on a CPU that has both. With the costs above regions are large and few, with these they are small
 * and many, or paths of sums: what these surely gain more is tried.
 */
static const struct nuc_width_costs beside_int8 = {600, 18, 15, 0.6, 0, 0, 16, false, true};

struct widening {
    struct nuc_model *m;                   /* prepared and calibrated */
    const struct nuc_width_search *search; /* NULL: there is nothing to gain */
    struct outcome int8;                   /* without wider numbers */
    enum nuc_width width;                  /* of these */
    bool layers;                           /* that int16 is enough for take it, the others float */
    struct nuc_width_costs costs;
};

static bool try_widths(const struct widening *w, const bool *wide, enum nuc_width width, bool measures,
                       struct outcome *out)
{
    const struct nuc_options own = w->m->settings->o;
    struct trial t = {.layers = w->layers ? w->search : NULL, .wide = wide, .width = width, .measures = measures};
    bool can = nuc_trial(w->m, &own, try, &t) == NUC_OK && t.out.cycles != UINT64_MAX;

    *out = t.out;
    out->layers = w->layers;
    return can;
}

/* What takes more memory than the user has, and than int8 does, is none. */
static bool fits(const struct widening *w, const struct outcome *o)
{
    return o->memory <= w->m->settings->o.memory_budget || o->memory <= w->int8.memory;
}

/*
 * Unless the user asks for int16: the first surely gains what is worth looking for, and what its cycles have to; in the
 * mean twice the decibels of that are enough, since one sample of few that gains less says little, and of outputs of
 * little use as many, since those samples that are better than others tell nothing of what the others are worth.
 */
static bool pays(const struct widening *w, const struct outcome *with, const struct outcome *without)
{
    const bool beyond = w->search != NULL && nuc_width_goes_beyond(w->search);
    const double price = nuc_price(with->cycles, without->cycles);
    const double in_mean = without->error > NUC_POOR ? price : price * price;

    return fits(w, with) && gains(with, without, nuc_worthwhile(w->int8.error, beyond, false), whole) &&
           (gains(with, without, price, nuc_felt) || nuc_felt(without->error) > in_mean * nuc_felt(with->error));
}

/* By what is estimated. */
static bool seems_worth(const struct widening *w, double takes, double left)
{
    return nuc_felt(w->int8.error) >
           pow(1 + takes / (double)w->int8.cycles, NUC_POWER_OF_CYCLES) * nuc_felt(left * w->int8.error);
}

/*
 * A proposal that surely pays, of some that are estimated to take ever fewer cycles the one that is worth most. Beyond
 * a fair error, and with layers in int16, most are worth nothing: what does not seem to be is not tried. found: there
 * is one.
 */
static bool find_worth(const struct widening *w, bool beyond, bool found, int *trials, bool *wide, struct outcome *out)
{
    struct nuc_width_costs costs = w->costs;
    const uint32_t n_ids = w->m->graph->next_id;
    /* Where nothing is looked for up to a fair error, what goes beyond it stands for that, too. */
    const bool goes_all_the_way = w->m->settings->narrow && w->int8.error > NUC_FAIR_ERROR;
    const double most = beyond && !goes_all_the_way ? MOST_TIMES_BEYOND * (double)w->int8.cycles : (double)INFINITY;
    /* Beyond the cycles of int8: what no error at all would be worth. */
    const double times = pow(nuc_felt(w->int8.error) / nuc_felt(0), 1 / NUC_POWER_OF_CYCLES) - 1;
    double estimated = fmin(times, MOST_TIMES) * (double)w->int8.cycles, left = 0;
    bool *trial = nuc_alloc_array(w->m->c->cx, n_ids, sizeof *trial),
         *last = nuc_copy(w->m->c->cx, wide, n_ids * sizeof *last);
    struct outcome tried;

    costs.in_layer = w->layers ? costs.in_layer : 0;
    for (; *trials > 0; estimated *= NEXT_SHARE, --*trials) {
        double takes = nuc_width_propose(w->search, &costs, estimated, beyond, trial, &left);
        if (!(takes > 0))
            break;
        estimated = fmin(estimated, takes);
        if (memcmp(trial, last, n_ids * sizeof *trial) == 0)
            break;
        memcpy(last, trial, n_ids * sizeof *trial);
        if ((beyond || w->layers) && !seems_worth(w, takes, left))
            continue;
        if (!try_widths(w, trial, w->width, true, &tried))
            break;
        if ((double)tried.cycles - (double)w->int8.cycles > most || !pays(w, &tried, &w->int8) ||
            (found && !is_worth_more(&tried, out)))
            continue;
        memcpy(wide, trial, n_ids * sizeof *wide);
        *out = tried;
        found = true;
    }
    return found;
}

/* The next estimate to try: between the largest one that was within the limit and the least that was beyond. */
static double next_estimate(double estimated, double more, double limit, double bounds[2])
{
    double next = estimated * fmin(fmax(0.95 * limit / fmax(more, 1), 0.25), 4);

    bounds[more > limit] = estimated;
    return bounds[0] > 0 && bounds[1] > 0 && !(next > bounds[0] && next < bounds[1]) ? (bounds[0] + bounds[1]) / 2
                                                                                     : next;
}

/* Of some proposals of int16 that take that share of the cycles or less the one that surely gains most over `out`. */
static bool find_mixed(const struct widening *w, bool *wide, struct outcome *out)
{
    uint32_t n_ids = w->m->graph->next_id;
    double limit = MOST_MIXED_SHARE * (double)w->int8.cycles, estimated = limit, bounds[2] = {0, 0}, left = 0;
    bool *trial = nuc_alloc_array(w->m->c->cx, n_ids, sizeof *trial), found = false;
    struct outcome tried;

    for (int i = 0; i < MOST_MIXED_TRIALS; i++) {
        if (!(nuc_width_propose(w->search, &w->costs, estimated, false, trial, &left) > 0) ||
            !try_widths(w, trial, w->width, true, &tried))
            break;
        double more = (double)tried.cycles - (double)w->int8.cycles;
        if (more <= limit && fits(w, &tried) && gains(&tried, out, found ? 1 : NUC_NOTICED, whole)) {
            memcpy(wide, trial, n_ids * sizeof *wide);
            *out = tried;
            found = true;
        }
        if (more <= limit && more > NEAR * limit)
            break;
        estimated = next_estimate(estimated, more, limit, bounds);
    }
    return found;
}

static bool find_any_worth(const struct widening *w, bool *wide, struct outcome *out)
{
    const bool beyond = nuc_width_goes_beyond(w->search);
    /* Or trials have not found any that is worth it. */
    const bool is_fair = w->m->settings->narrow || (beyond && !(w->int8.error > NUC_FAIR_ERROR));
    int trials = MOST_TRIALS, trials_beyond = MOST_TRIALS_BEYOND;
    bool found = !is_fair && find_worth(w, false, false, &trials, wide, out);

    /* Layers in float take the most. */
    const bool is_dear = found && out->cycles / 2 > w->int8.cycles;
    if (!is_fair && w->costs.in_layer > 0 && (is_dear || (found ? out->error : w->int8.error) > NUC_FAIR_ERROR)) {
        struct widening with_layers = *w;
        with_layers.layers = true;
        found = find_worth(&with_layers, false, found, &trials, wide, out);
    }
    return (beyond && find_worth(w, true, found, &trials_beyond, wide, out)) || found;
}

static bool find(const struct widening *w, bool *wide, struct outcome *out)
{
    struct widening beside = *w;

    if (!is_mixed(w->m))
        return find_any_worth(w, wide, out);
    beside.costs = beside_int8;
    *out = w->int8;
    bool found = find_mixed(w, wide, out);
    return (!w->m->settings->delegates && find_mixed(&beside, wide, out)) || found;
}

/* ---- regions: wide operators that read each other, perhaps with others in between that are float anyway ---- */

#define NONE UINT32_MAX

/* One of the least number with those of its inputs. */
static bool join_inputs(const struct nuc_node *node, uint32_t *of)
{
    struct nuc_cursor at = {0, 0};
    bool changed = false;

    for (const struct nuc_node *in = nuc_next_input(node, &at); in != NULL; in = nuc_next_input(node, &at)) {
        if (of[node->id] == NONE || of[in->id] == NONE || of[node->id] == of[in->id])
            continue;
        of[node->id] = of[in->id] = of[node->id] < of[in->id] ? of[node->id] : of[in->id];
        changed = true;
    }
    return changed;
}

/*
 * of: by node id, the number of its region, NONE where it is not wide. Returns how many regions there are; of more than
 * are tried, one has all.
 */
static uint32_t divide(const struct nuc_calibration *c, const struct nuc_graph *g, const bool *wide, uint32_t *of)
{
    uint32_t count = 0, *number = nuc_alloc_array(g->cx, g->next_id, sizeof *number);
    bool changed;

    memset(of, 0xff, g->next_id * sizeof *of);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        of[n->id] = wide[n->id] || nuc_is_float_anyway(c, n) ? n->id : NONE;
    do {
        changed = false;
        for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
            changed |= join_inputs(n, of);
        for (const struct nuc_node *n = g->last; n != NULL; n = n->prev)
            changed |= join_inputs(n, of);
    } while (changed);
    for (uint32_t i = 0; i < g->next_id; i++) {
        if (wide[i] && number[of[i]] == 0)
            number[of[i]] = ++count;
    }
    for (uint32_t i = 0; i < g->next_id; i++)
        of[i] = !wide[i] ? NONE : count > MOST_REGIONS ? 0 : number[of[i]] - 1;
    return count > MOST_REGIONS ? 1 : count;
}

static double decibels(const struct outcome *without, const struct outcome *with)
{
    return 10 * log10(whole(without->error) / whole(with->error));
}

/*
 * Leaves out what alone does not gain enough; loss[i]: of region i. Where the error is spread over the network, or that
 * of few samples hides what a region does for the others, what each gains is less than samples show for sure: all
 * together have to, and stay. False: they do not.
 */
static bool keep_regions(const struct widening *w, const uint32_t *of, uint32_t count, bool *wide, struct outcome *all,
                         double *loss)
{
    uint32_t n_ids = w->m->graph->next_id, left = count;
    const bool *found = nuc_copy(w->m->c->cx, wide, n_ids * sizeof *found);
    const struct outcome together = *all;

    for (uint32_t r = 0; r < count; r++) {
        bool *rest = nuc_copy(w->m->c->cx, wide, n_ids * sizeof *rest);
        struct outcome without = w->int8;
        for (uint32_t i = 0; i < n_ids; i++)
            rest[i] = wide[i] && of[i] != r;
        if (left > 1 && !try_widths(w, rest, w->width, true, &without))
            without = w->int8;
        loss[r] = decibels(&without, all);
        if (is_mixed(w->m) ? without.error > NUC_NOTICED_OF_MIXED * all->error : pays(w, all, &without))
            continue;
        memcpy(wide, rest, n_ids * sizeof *wide);
        *all = without;
        left--;
    }
    if (left == 0) {
        memcpy(wide, found, n_ids * sizeof *wide);
        *all = together;
    }
    return is_mixed(w->m) ? gains(all, &w->int8, NUC_NOTICED, whole) : left > 0 || pays(w, all, &w->int8);
}

/* ---- what is said about it ---- */

/* The operators of a region from the first to the last one: "'pow_1' (aten.pow.Tensor_Scalar, a.py:7) to 'log10' ...".
 */
static const char *places(const struct nuc_graph *g, const bool *wide, const uint32_t *of, uint32_t region)
{
    const struct nuc_node *first = NULL, *last = NULL;
    uint32_t count = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!wide[n->id] || of[n->id] != region || nuc_op_kind(n->op) != NUC_KIND_COMPUTE)
            continue;
        first = first == NULL ? n : first;
        last = n;
        count++;
    }
    if (first == NULL)
        return NULL;
    const char *from = nuc_node_text(g->cx, first);
    return first == last ? from
                         : nuc_format(g->cx, "%u operators from %s to %s", count, from, nuc_node_text(g->cx, last));
}

/* What is found of one width. */
struct choice {
    enum nuc_width width;
    bool *wide;   /* by node id; NULL: nothing gains */
    uint32_t *of; /* regions */
    uint32_t count;
    double loss[MOST_REGIONS]; /* of int8 there, in dB */
    struct outcome out;
};

static void report(const struct widening *w, const struct choice *c)
{
    struct nuc_graph *g = w->m->graph;
    struct nuc_text text = {.cx = g->cx};
    bool any = false;

    for (uint32_t r = 0; r < c->count; r++) {
        const char *where = places(g, c->wide, c->of, r);
        if (where == NULL)
            continue;
        nuc_text_addf(&text, "%s%s: int8 loses %.1f dB there", any ? "; " : "", where, c->loss[r]);
        any = true;
    }
    bool saves = c->out.cycles < w->int8.cycles;
    nuc_warn(g->cx, "%s: %s: %s on %zu samples held out; %s %llu of %llu cycles", g->file,
             c->width == NUC_WIDTH_INT16 ? "in int16"
             : c->out.layers             ? "stays in float, but for layers in int16"
                                         : "stays in float",
             nuc_text_string(&text), c->out.n_samples, saves ? "saves" : "takes",
             (unsigned long long)(saves ? w->int8.cycles - c->out.cycles : c->out.cycles - w->int8.cycles),
             (unsigned long long)(saves ? w->int8.cycles : c->out.cycles));
}

/* Regions of wide values that are worth what they take; c->wide stays NULL where none is. */
static void keep_worthy(struct widening *w, bool *wide, struct choice *c)
{
    w->layers = c->out.layers;
    c->count = divide(w->m->calibration, w->m->graph, wide, c->of);
    if (keep_regions(w, c->of, c->count, wide, &c->out, c->loss))
        c->wide = wide;
    w->layers = false;
}

static struct choice look_for(struct widening *w, enum nuc_width width)
{
    struct nuc_graph *g = w->m->graph;
    struct choice c = {.width = width, .of = nuc_alloc_array(g->cx, g->next_id, sizeof *c.of)};
    bool *wide = nuc_alloc_array(g->cx, g->next_id, sizeof *wide);

    w->width = width;
    w->costs = costs_of(w->m->settings, width);
    if (find(w, wide, &c.out))
        keep_worthy(w, wide, &c);
    return c;
}

/* Gates that are outputs of the model, perhaps behind moves, which int8 has in steps of 1/256. Softmaxes are measured
 * by what they are of, which tells nothing of theirs. */
static bool find_ends(const struct nuc_graph *g, bool *wide)
{
    bool *ends = nuc_alloc_array(g->cx, g->next_id, sizeof *ends), any = false;

    for (const struct nuc_node *n = g->last; n != NULL; n = n->prev) {
        ends[n->id] = n->n_users > 0;
        for (uint32_t i = 0; i < n->n_users && ends[n->id]; i++) {
            const struct nuc_node *user = n->users[i];
            ends[n->id] = user->op == NUC_OP_OUTPUT || (nuc_moves_values(user) && ends[user->id]);
        }
        wide[n->id] = n->op == NUC_OP_SIGMOID && ends[n->id];
        any |= wide[n->id];
    }
    return any;
}

/* Of a network whose error is small what stays is, as a rule, that of its outputs. */
static struct choice look_at_ends(struct widening *w)
{
    struct nuc_graph *g = w->m->graph;
    struct choice c = {.width = NUC_WIDTH_FLOAT, .of = nuc_alloc_array(g->cx, g->next_id, sizeof *c.of)};
    bool *wide = nuc_alloc_array(g->cx, g->next_id, sizeof *wide);

    w->width = c.width;
    if (find_ends(g, wide) && try_widths(w, wide, c.width, true, &c.out) && pays(w, &c.out, &w->int8))
        keep_worthy(w, wide, &c);
    return c;
}

/*
 * All operators, where int8 errs much and they are so small that int16 takes little more. Nothing shows that each of
 * them needs it: so they have to be worth twice what they take beyond `than`.
 */
static struct choice look_at_all(struct widening *w, const struct outcome *than)
{
    struct nuc_graph *g = w->m->graph;
    struct choice c = {.width = NUC_WIDTH_INT16, .of = nuc_alloc_array(g->cx, g->next_id, sizeof *c.of), .count = 1};
    bool *wide = nuc_alloc_array(g->cx, g->next_id, sizeof *wide);

    w->width = c.width;
    w->costs = w->m->settings->delegates ? costs_of(w->m->settings, c.width) : beside_int8;
    const double takes = nuc_width_of_all(w->m->calibration, &w->costs, wide);
    if (!seems_worth(w, takes, 0) || !try_widths(w, wide, c.width, true, &c.out) || !pays(w, &c.out, &w->int8))
        return c;
    const double price = nuc_price(c.out.cycles, than->cycles);
    c.wide = nuc_felt(than->error) > price * price * nuc_felt(c.out.error) ? wide : NULL;
    c.loss[0] = decibels(&w->int8, &c.out);
    return c;
}

/* Worth more, beyond doubt where it takes more cycles. */
static bool is_better(const struct widening *w, const struct choice *c, const struct choice *than)
{
    if (c->wide == NULL || than->wide == NULL)
        return c->wide != NULL;
    return is_worth_more(&c->out, &than->out) && (c->out.cycles <= than->out.cycles || pays(w, &c->out, &than->out));
}

/* The same operators in another width, where that pays: what it costs to look for them is not what they take. */
static struct choice in_width(const struct widening *w, const struct choice *c, enum nuc_width width)
{
    struct choice same = *c;

    same.width = width;
    if (c->wide != NULL && !(try_widths(w, c->wide, width, true, &same.out) && pays(w, &same.out, &w->int8)))
        same.wide = NULL;
    return same;
}

static struct choice better(const struct widening *w, const struct choice *c, const struct choice *than)
{
    return is_better(w, c, than) ? *c : *than;
}

/* Int16 stands where float would or takes too many cycles; float where what int16 stands for takes no more in it. */
static struct choice find_widths(struct widening *w)
{
    const struct choice none = {.wide = NULL};
    struct choice in_float = none, own, best;

    if (w->search == NULL)
        return look_at_ends(w);
    const bool may_be_float = !is_mixed(w->m) && (w->int8.error > NUC_FAIR_ERROR || nuc_width_goes_beyond(w->search));
    if (may_be_float)
        in_float = look_for(w, NUC_WIDTH_FLOAT);
    if (!has_int16(w->m->settings))
        return in_float;
    own = look_for(w, NUC_WIDTH_INT16);
    const bool same = in_float.wide != NULL && !in_float.out.layers && own.wide != NULL &&
                      memcmp(in_float.wide, own.wide, w->m->graph->next_id * sizeof *own.wide) == 0;
    struct choice in_int16 = same ? none : in_width(w, &in_float, NUC_WIDTH_INT16);
    best = better(w, &in_int16, &in_float);
    best = better(w, &own, &best);
    /* What is float but for its layers, or stands in int16, and was not tried in float alone. */
    if (may_be_float && !same && best.wide != NULL && (best.wide != in_float.wide || in_float.out.layers)) {
        struct choice in_float_alone = in_width(w, &best, NUC_WIDTH_FLOAT);
        if (in_float_alone.out.cycles <= best.out.cycles)
            best = better(w, &in_float_alone, &best);
    }
    if (is_mixed(w->m) || w->int8.error <= NUC_FAIR_ERROR)
        return best;
    own = look_at_all(w, best.wide != NULL ? &best.out : &w->int8);
    return better(w, &own, &best);
}

/*
 * Without wider numbers. Samples that were not measured when ranges were chosen are in a trial; of both errors of a
 * sample the mean counts.
 */
static bool measure_int8(struct widening *w)
{
    double known[NUC_CHOICE_MOST];
    const size_t count = nuc_held_out_samples(w->m->calibration);

    if (!try_widths(w, NULL, NUC_WIDTH_OPEN, is_mixed(w->m), &w->int8))
        return false;
    nuc_held_out_error(w->m->calibration, known);
    for (size_t k = 0; k < count; k++)
        w->int8.errors[k] = k < w->int8.n_samples ? (known[k] + w->int8.errors[k]) / 2 : known[k];
    w->int8.n_samples = count > w->int8.n_samples ? count : w->int8.n_samples;
    double sum = 0;
    for (size_t k = 0; k < w->int8.n_samples; k++)
        sum += w->int8.errors[k];
    w->int8.error = sum / (double)w->int8.n_samples;
    return true;
}

static bool may_look_at_ends(const struct widening *w)
{
    const struct nuc_settings *s = w->m->settings;
    double error = nuc_held_out_error(w->m->calibration, NULL);
    bool *wide = nuc_alloc_array(w->m->c->cx, w->m->graph->next_id, sizeof *wide);

    return error > NUC_FAINT && error <= NUC_SMALL_ERROR && s->o.io != NUC_IO_INT8 &&
           s->o.activations == NUC_ACTIVATIONS_INT8 && find_ends(w->m->graph, wide);
}

/* Marks what surely gains; false: nothing does. */
static bool widen_values(struct widening *w)
{
    struct nuc_graph *g = w->m->graph;

    if ((w->search == NULL && !may_look_at_ends(w)) || !measure_int8(w))
        return false;
    struct choice c = find_widths(w);
    if (c.wide == NULL)
        return false;
    report(w, &c);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (c.wide[n->id])
            mark(g, n, width_of(c.out.layers ? w->search : NULL, n, c.width),
                 nuc_format(g->cx, "int8 loses %.1f dB here on %zu samples held out", c.loss[c.of[n->id]],
                            c.out.n_samples));
    }
    return true;
}

/* ---- states that are running sums ---- */

static bool read_step(void *user, size_t step, const void **inputs)
{
    const struct nuc_dataset *d = user;

    nuc_dataset_read_sample(d, step, inputs);
    return nuc_dataset_begins(d, step);
}

static void widen_state(void *user, const struct nuc_node *state, const bool *path, double loss, size_t n_steps)
{
    struct nuc_graph *g = user;

    nuc_warn(g->cx, "%s: state '%s' stays in float: int8 loses %.1f dB over %zu steps", g->file, state->target, loss,
             n_steps);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (path[n->id])
            mark(g, n, NUC_WIDTH_FLOAT,
                 nuc_format(g->cx, "int8 loses %.1f dB over %zu steps of the state", loss, n_steps));
    }
}

static bool widen_states(struct nuc_job *j)
{
    if (nuc_n_states(j->m->graph) == 0)
        return false;
    struct nuc_sub_arena *memory = j->samples == NULL ? nuc_open_samples(j) : NULL;
    if (memory != NULL)
        nuc_dataset_bind_model(j->samples, j->m);
    const struct nuc_steps steps = {j->samples->n_samples, j->samples->n_inputs, read_step, j->samples};
    bool any = nuc_find_running_sums(j->m->calibration, &steps, widen_state, j->m->graph);
    if (memory != NULL)
        nuc_close_samples(j, memory);
    return any;
}

void nuc_widen_model(struct nuc_job *j)
{
    struct nuc_model *m = j->m;
    struct nuc_graph *g = m->graph;
    struct widening w = {.m = m};

    m->widened++;
    nuc_quantize_choose(m->calibration);
    bool again = m->settings->o.activations == NUC_ACTIVATIONS_MIXED && !is_mixed(m) && !m->settings->judges;
    bool any = !is_mixed(m) && widen_states(j);
    /* Of states single samples tell too little. */
    bool beyond = !m->settings->judges && nuc_n_states(g) == 0;
    w.search = nuc_width_search_new(m->calibration, m->settings->o.io == NUC_IO_INT8, beyond,
                                    has_int16(m->settings) && !is_mixed(m));
    if (!widen_values(&w) && !any && !again)
        return;
    nuc_scale_channels(g, m->calibration);
    m->cpu_nodes = NULL;
    nuc_quantize_done(m->calibration);
    j->again = true;
}
