#include "driver/trials/explain_options.h"

#include <math.h>
#include <string.h>

#include "driver/node_cycles.h"
#include "quantize/quantize.h"

/*
 * Work of all trials, in multiply-accumulates of the reference evaluator: about ten seconds for those that quantize as
 * the model was quantized, and two for those that take one random sample where there is no time for more. A value
 * takes as long as 32 of them.
 */
static const uint64_t most_exact = 60000000000, most_random = 6000000000, per_value = 32;

/* ---- one trial ---- */

struct figures {
    uint64_t cycles;
    uint32_t n_on_cpu, n_partitions;
    double sqnr_db;
};

struct attempt {
    const struct nuc_trying *t;
    bool requantizes; /* begins with the float model, else with the quantized one */
    bool exact;       /* quantized and placed as the model itself; else with one random sample, in haste */
    bool measures;    /* sqnr_db */
    struct figures found;
};

/*
 * Of the worst float output, as compile prints it of held-out samples; NaN: not measured. Where the figure of what it
 * is compared with is that of its lowest samples, it is, too.
 */
static double measured_sqnr(const struct nuc_measured *m, const struct nuc_measured *than)
{
    double lowest = (double)NAN;

    for (size_t i = 0; m != NULL && m->is_held_out && i < m->n_outputs; i++) {
        const struct nuc_measured_output *o = &m->outputs[i];
        bool of_lowest = than != NULL && i < than->n_outputs && than->outputs[i].sqnr_db <= than->outputs[i].lowest_db;
        double db = of_lowest ? o->lowest_db : o->sqnr_db;
        if (o->is_float && !(db >= lowest))
            lowest = db;
    }
    return lowest;
}

static void attempt(struct nuc_model *m, void *arg)
{
    struct attempt *a = arg;
    struct nuc_settings settings = *m->settings;
    struct nuc_job j = {.c = m->c, .m = m};

    settings.trial = !a->exact;
    settings.judges = true;
    m->settings = &settings;
    if (a->requantizes && a->exact) { /* what the CPU computes in int8 is chosen for these options, and ranges are */
        settings.rounds = NULL;
        settings.norms = NULL;
        m->ranges = NULL;
    }
    if (a->requantizes && a->exact && nuc_has_samples(a->t->calibration))
        nuc_quantize_with(&j, a->t->calibration, NUC_SAMPLES_ALL);
    else if (a->requantizes)
        j.m = nuc_quantize_random(m);
    if (a->measures)
        a->found.sqnr_db = measured_sqnr(j.m->measured, a->t->quantized->measured);
    nuc_run_stages(&j, NUC_STAGE_STREAM, NUC_STAGE_PARTITION);
    const struct nuc_explanation *e = nuc_explain_partitioned(j.m, true);
    a->found.cycles = nuc_explained_cycles(e);
    a->found.n_on_cpu = e->n_operators - e->n_delegated;
    a->found.n_partitions = e->n_partitions;
}

static bool run(struct attempt *a, const struct nuc_options *o)
{
    struct nuc_options quiet = *o;

    quiet.dump = NULL;
    return nuc_trial(a->requantizes ? a->t->quantized->from_float : a->t->quantized, &quiet, attempt, a) == NUC_OK;
}

/* ---- changes of the source ---- */

struct looking {
    struct nuc_arena *outer;
    uint32_t count;
    struct nuc_change_place *places;
};

static void look(struct nuc_model *m, void *arg)
{
    struct looking *l = arg;
    const struct nuc_model *made = nuc_advance(m, NUC_STAGE_ATEN_PASSES, NUC_STAGE_ATEN_PASSES);
    const struct nuc_change_places *places = &made->rewritten->places;

    l->count = places->count;
    l->places = nuc_copy_out(m->c->cx, l->outer, places->items, places->count * sizeof *places->items);
    for (uint32_t i = 0; i < l->count; i++) {
        struct nuc_change_place *p = &l->places[i];
        *p = (struct nuc_change_place){
            nuc_strdup_out(m->c->cx, l->outer, p->node), nuc_strdup_out(m->c->cx, l->outer, p->label), p->source,
            nuc_strdup_out(m->c->cx, l->outer, p->from), nuc_strdup_out(m->c->cx, l->outer, p->to)};
    }
}

/* Where the change would be made; none: nowhere, or not at what stays on the CPU. */
static void find_places(const struct nuc_trying *t, const struct nuc_options *o, struct nuc_explain_trial *trial)
{
    struct looking l = {.outer = t->cx->arena};

    if (nuc_trial(t->quantized->from_float, o, look, &l) != NUC_OK)
        return;
    trial->places = l.places;
    trial->n_places = l.count;
    for (uint32_t i = 0; i < t->e->n_rows; i++) {
        const struct nuc_explain_row *row = &t->e->rows[i];
        trial->compiles |= row->cause != NUC_NO_CAUSE && nuc_is_about(trial, row);
    }
}

/* ---- all trials ---- */

static void take_figures(struct nuc_explain_trial *trial, const struct figures *found, uint64_t than)
{
    trial->than_cycles = than;
    trial->cycles = found->cycles;
    /* Less by a hundredth of what it was, so that noise of the estimate is no advice. */
    trial->saved_cycles = found->cycles < than - than / 100 ? than - found->cycles : 0;
    trial->n_on_cpu = found->n_on_cpu;
    trial->n_partitions = found->n_partitions;
    trial->sqnr_db = found->sqnr_db;
}

struct trials {
    const struct nuc_trying *t;
    uint64_t per_run;                 /* work of an inference */
    uint64_t exact_left, random_left; /* work that may be done yet */
    struct nuc_dataset *samples;      /* NULL: none are given */
    bool has_random;
    struct figures random; /* of the model as it is, quantized with one random sample */
};

static bool may_spend(const struct trials *s, uint64_t runs, uint64_t *left)
{
    uint64_t work = nuc_npu_times(s->per_run, runs);

    if (work > *left)
        return false;
    *left -= work;
    return true;
}

/* Quantized with one random sample, as what it is compared with. False: that would take too long. */
static bool try_in_haste(struct trials *s, const struct nuc_options *o, struct nuc_explain_trial *out)
{
    struct attempt own = {.t = s->t, .requantizes = true, .found.sqnr_db = (double)NAN}, a = own;

    if (!may_spend(s, 4, &s->random_left)) {
        s->t->e->n_left_out++;
        return false;
    }
    out->compiles = false;
    out->sqnr_db = (double)NAN;
    if (!s->has_random && !run(&own, &s->t->quantized->from_float->settings->o))
        return true;
    s->random = s->has_random ? s->random : own.found;
    s->has_random = out->by_random = true;
    out->compiles = run(&a, o);
    if (out->compiles)
        take_figures(out, &a.found, s->random.cycles);
    return true;
}

/* As the model itself was made: `out` becomes what is found. False: that would take too long. */
static bool try_exactly(struct trials *s, const struct nuc_options *o, bool requantizes, struct nuc_explain_trial *out)
{
    const uint64_t runs = !requantizes ? 0 : 4 + (s->samples != NULL ? s->samples->n_samples : 0);
    const bool close = out->change == NULL || out->change->effect <= NUC_CHANGE_CLOSE;
    struct attempt a = {
        .t = s->t, .requantizes = requantizes, .exact = true, .measures = requantizes && s->samples != NULL && close};

    if (!may_spend(s, runs, &s->exact_left))
        return false;
    out->by_random = false;
    a.found.sqnr_db = requantizes ? (double)NAN : out->sqnr_db;
    out->saved_cycles = 0;
    out->sqnr_db = (double)NAN;
    out->compiles = run(&a, o);
    if (out->compiles)
        take_figures(out, &a.found, nuc_explained_cycles(s->t->e));
    return true;
}

static void keep(struct trials *s, const struct nuc_explain_trial *trial)
{
    s->t->e->trials[s->t->e->n_trials++] = *trial;
}

/* What takes a quantization is tried in haste first, and not again where it does not help so. */
static void try_options(struct trials *s)
{
    const struct nuc_trying *t = s->t;

    for (size_t i = 0;; i++) {
        struct nuc_explain_trial trial = {.compiles = false};
        struct nuc_options o = t->quantized->settings->o;
        bool requantizes;
        if (!nuc_option_to_try(t, i, &o, &requantizes, &trial))
            return;
        if (!trial.compiles)
            continue;
        requantizes &= t->quantized->from_float != NULL;
        bool hastes = requantizes && s->samples != NULL && trial.about == NULL && try_in_haste(s, &o, &trial);
        bool tried = (hastes && trial.saved_cycles == 0) || try_exactly(s, &o, requantizes, &trial);
        if (hastes || tried || try_in_haste(s, &o, &trial))
            keep(s, &trial);
    }
}

static struct nuc_options with_change(const struct trials *s, const struct nuc_change *change)
{
    struct nuc_options o = s->t->quantized->from_float->settings->o;
    const char **list = nuc_alloc_array(s->t->cx, o.n_rewrites + 1, sizeof(char *));

    if (o.n_rewrites > 0)
        memcpy(list, o.rewrites, o.n_rewrites * sizeof(char *));
    list[o.n_rewrites++] = change->name;
    o.rewrites = list;
    return o;
}

/* In haste, of which those that help are tried exactly. */
static void try_sources(struct trials *s)
{
    const struct nuc_trying *t = s->t;

    for (const struct nuc_change *row = nuc_next_change(NULL); row != NULL; row = nuc_next_change(row)) {
        struct nuc_explain_trial trial = {.change = row};
        const struct nuc_options o = with_change(s, row);
        find_places(t, &o, &trial);
        trial.options = nuc_format(t->cx, "--rewrite %s", row->name);
        if (trial.compiles && (s->samples == NULL ? try_exactly(s, &o, true, &trial) : try_in_haste(s, &o, &trial)))
            keep(s, &trial);
    }
}

/* The shown change that was tried in haste alone; NULL: none was. */
static struct nuc_explain_trial *shown_in_haste(const struct nuc_explanation *e, const bool *is_final)
{
    for (uint32_t i = 0; i < e->n_trials; i++) {
        const struct nuc_explain_trial *t = &e->trials[i];
        if (t->is_shown && t->by_random && t->change != NULL && !is_final[t->change - nuc_changes])
            return &e->trials[i];
    }
    return NULL;
}

void nuc_try_changes(const struct nuc_trying *t)
{
    struct nuc_explanation *e = t->e;
    const struct nuc_model *from_float = t->quantized->from_float;
    const struct nuc_settings *settings = t->partitioned->settings;
    struct trials s = {.t = t, .exact_left = most_exact, .random_left = most_random};

    /* The caller's own check is asked about the nodes of the model alone. */
    if (settings->o.check_op_support != NULL || e->foreign)
        return;
    e->has_trials = true;
    e->trials = nuc_alloc_array(t->cx, nuc_n_changes + NUC_MOST_OPTIONS, sizeof *e->trials);
    int64_t values = 1;
    for (const struct nuc_node *n = t->quantized->graph->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_vals && nuc_is_call(n); i++)
            values += nuc_elements(&n->vals[i]);
    }
    s.per_run = nuc_npu_times((uint64_t)values, per_value);
    for (uint32_t i = 0; i < e->n_rows; i++)
        s.per_run += e->rows[i].macs;
    if (nuc_has_samples(t->calibration) && from_float != NULL) {
        s.samples = nuc_dataset_again(t->quantized->c, t->calibration);
        nuc_dataset_bind_model(s.samples, from_float);
    }
    e->sqnr_db = measured_sqnr(t->quantized->measured, NULL);
    try_options(&s);
    if (from_float != NULL && settings->delegates && !settings->o.reference_compat)
        try_sources(&s);
    /* What would be shown is tried exactly; where it does not help then, another change may take its place. */
    bool *is_final = nuc_alloc_array(t->cx, nuc_n_changes, sizeof *is_final);
    nuc_settle_trials(e);
    for (struct nuc_explain_trial *shown; (shown = shown_in_haste(e, is_final)) != NULL; nuc_settle_trials(e)) {
        const struct nuc_options o = with_change(&s, shown->change);
        is_final[shown->change - nuc_changes] = true;
        try_exactly(&s, &o, true, shown);
    }
}
