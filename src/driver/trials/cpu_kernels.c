/*
 * --cpu auto: which operators on the CPU are int8, and which norms and softmaxes the NPU computes in parts.
 *
 * Operators that the CPU computes between int8 values are int8 kernels in any case, which lose nothing. For those that
 * float would keep more digits of, samples tell what int8 costs the network.
 */
#include <math.h>
#include <string.h>

#include "driver/lowered.h"
#include "driver/trials/price.h"
#include "eval/eval.h"
#include "explain/explain.h"
#include "host/text.h"
#include "npu/target/target.h"
#include "quantize/precision.h"
#include "quantize/quantize.h"
#include "quantize/search/choice_samples.h"
#include "rewrite/npu_forms/npu_forms.h"

/*
 * What may be lost by norms in parts, in dB: `mean`, in the mean of the samples, and `more` of it for each halving of
 * the cycles; with `sure` standard errors of that mean, 1 dB more for each halving.
 */
struct allowance {
    double mean, more, sure;
};

/* On the NPU, whose errors are others and not only more, so that their difference varies more. */
static const struct allowance of_norms = {0.5, 0.3, 1};

/* Of some of them, which were found by many trials on the same samples. */
static const struct allowance of_parts = {0.5, 0.3, 2};

/*
 * dB that they may lose, in the mean of the samples, against the network without any choice, as --accuracy fast has it,
 * where they do not halve the cycles: `more` for each part of a halving.
 */
static const struct allowance of_all = {.mean = 0.3, .more = 0.4};

/* dB that norms lose at most by the mean that the shorter form leaves. */
#define MOST_OF_MEAN 3.0

/* dB of them that another rounding of the same network may lose or gain, and roundings that tell. */
#define MOST_BY_CHANCE 1.0
#define OTHER_ROUNDINGS 2

/* The part of the cycles that has to be saved by what costs accuracy; by what may cost more than is allowed. */
#define LEAST_GAIN 100
#define LEAST_DOUBTFUL_GAIN 20

/* dB that kinds of operators together surely lose at most where none is tried alone. */
#define HARDLY 0.3

/* dB that softmaxes in parts surely gain, and standard errors of what is sure. */
#define LEAST_BY_PARTS 0.5
#define SURE 2.0

/* What is less is none: 100 dB. */
#define NO_ERROR 1e-10

/* dB that kinds are compared by, as if they lost so much at least; parts, whose losses vary more. */
#define LEAST_LOSS 1e-3
#define LEAST_PART_LOSS 0.05

/* The part of the cycles that is worth a note where accuracy forbids to save it. */
#define MUCH 4

/* Kinds of operators that are told apart; the others go with the last one. */
#define MOST_KINDS 6

/* Multiply-accumulates of a network beyond which all kinds are judged together. */
#define TELLS_APART 200000000.0

/* Parts of the network whose norms are told apart, and norms. */
#define MOST_PARTS 8
#define MOST_NORMS 256

struct kinds {
    uint32_t count;
    enum nuc_op ops[NUC_OP_COUNT];
};

/* What becomes of the network with some kinds in int8. */
struct outcome {
    uint64_t cycles;
    size_t n_samples;               /* 0: it was not measured */
    double errors[NUC_CHOICE_MOST]; /* as in struct nuc_measured */
    bool is_wide;                   /* some of it stays in float for the values there */
};

/* What a trial was made of, in words, and what came of it; without samples the network cannot be compiled so. */
struct tried {
    const char *form;
    struct outcome out;
    struct nuc_alternative *noted; /* NULL: it is not listed */
    const struct tried *next;
};

struct trying {
    struct nuc_job *j;
    const struct tried *tried; /* so far, in memory of the job */
    struct kinds kinds;
    uint32_t n_norms; /* that the NPU can compute in parts: */
    const char *norms[MOST_NORMS];
    enum nuc_op norm_ops[MOST_NORMS];
    double norm_errors[MOST_NORMS]; /* of the forms that their rows ask for */
    struct nuc_arena *arena;        /* which their names lie in */
    bool rounds[NUC_OP_COUNT];      /* these as in struct nuc_settings */
    struct nuc_norms of_norms;
    bool narrow;
    bool has_long_softmax; /* that the NPU can compute in parts */
    bool has_streams;      /* rows of norms that can be written without their mean */
    unsigned without;      /* steps of the search for parameters */
    unsigned rounding;     /* as in struct nuc_quantize_options */
    struct outcome out, found, plain;
    bool has_plain;                   /* the network without any choice was tried */
    struct nuc_alternatives *weighed; /* in memory of the job */
};

/* ---- trials ---- */

static void find_norms(struct trying *t, struct nuc_model *prepared)
{
    const struct nuc_settings *s = prepared->settings;
    const struct nuc_norms any = {.softmax_in_parts = true, .form = NUC_NORM_SHORT};
    struct nuc_support support = {.g = prepared->graph, .target = s->target, .flavor = s->flavor, .norms = &any};

    t->n_norms = 0;
    t->has_long_softmax = t->has_streams = false;
    if (!nuc_expresses_for_npu(s))
        return;
    for (struct nuc_node *n = prepared->graph->first; n != NULL && t->n_norms < MOST_NORMS; n = n->next) {
        t->has_long_softmax = t->has_long_softmax || nuc_has_npu_softmax(&support, n);
        if (!nuc_has_npu_norm(&support, n))
            continue;
        t->norm_ops[t->n_norms] = n->op;
        t->norms[t->n_norms++] = nuc_strdup_out(prepared->c->cx, t->arena, n->name);
    }
    t->has_streams = t->n_norms > 0 && nuc_can_centre_rows(prepared->graph);
}

/*
 * Kinds of the operators that are in float on the CPU and could be in int8, and of the norms that the NPU could compute
 * in parts.
 */
static void find_kinds(struct nuc_model *m, void *arg)
{
    static const bool none[NUC_OP_COUNT];
    struct trying *t = arg;
    struct nuc_settings settings = *m->settings;

    m->settings = &settings;
    settings.rounds = none;
    settings.norms = &t->of_norms;
    t->kinds.count = 0;
    struct nuc_model *prepared = nuc_advance(m, NUC_STAGE_ATEN_PASSES, NUC_STAGE_ATEN_PASSES);
    if (t->of_norms.form == NUC_NORM_WHOLE && t->of_norms.n_others == 0)
        find_norms(t, prepared);
    memset(t->rounds, true, sizeof t->rounds);
    settings.rounds = t->rounds;
    prepared = nuc_advance(prepared, NUC_STAGE_ANNOTATE, NUC_STAGE_ANNOTATE);
    bool found[NUC_OP_COUNT] = {false};
    for (const struct nuc_node *n = prepared->graph->first; n != NULL; n = n->next) {
        if (prepared->cpu_nodes[n->id] && !found[n->op])
            t->kinds.ops[t->kinds.count++] = n->op;
        found[n->op] = found[n->op] || prepared->cpu_nodes[n->id];
    }
}

/* Samples that the forms of single norms are chosen by. */
#define MOST_SEEN 16

struct seen_norms {
    struct nuc_norm_sums *sums[MOST_NORMS];
    uint32_t count;
    unsigned part; /* of the sample that runs */
};

static void see_norms(void *user, const struct nuc_node *node, uint32_t val, const void *data, size_t elements)
{
    struct seen_norms *seen = user;

    for (uint32_t k = 0; k < seen->count && val == 0; k++) {
        if (nuc_norm_source(seen->sums[k]->norm) == node)
            nuc_norm_see(seen->sums[k], seen->part, data, elements);
    }
}

/* The form of each norm by the sums of squares of its rows in some samples: the float network runs once for each. */
static void judge_norms(struct nuc_model *m, void *arg)
{
    struct trying *t = arg;
    struct nuc_context *cx = m->c->cx;
    struct nuc_settings settings = *m->settings;
    static const bool none[NUC_OP_COUNT];
    const struct nuc_norms whole = {.form = NUC_NORM_WHOLE};
    struct nuc_job j = {.c = m->c, .m = m, .source = {NULL, t->j->samples}, .part = t->j->samples->part};
    struct seen_norms seen = {.count = 0};

    m->settings = &settings;
    settings.rounds = none;
    settings.norms = &whole;
    nuc_run_stages(&j, NUC_STAGE_ATEN_PASSES, NUC_STAGE_ATEN_PASSES);
    struct nuc_graph *g = j.m->graph;
    bool *watched = nuc_alloc_array(cx, g->next_id, sizeof *watched);
    for (; seen.count < t->n_norms; seen.count++) {
        const struct nuc_node *norm = nuc_find_node(g, t->norms[seen.count]);
        if (norm == NULL)
            return;
        seen.sums[seen.count] = nuc_norm_sums_new(cx, norm, MOST_SEEN);
        watched[nuc_norm_source(norm)->id] = true;
    }
    struct nuc_evaluator *e = nuc_eval_new_observed(g, settings.o.threads, watched);
    if (nuc_eval_n_inputs(e) != nuc_model_n_inputs(j.m))
        return; /* states, which samples alone do not tell */
    struct nuc_sub_arena *memory = nuc_open_samples(&j);
    struct nuc_dataset *d = j.samples;
    nuc_dataset_bind_model(d, j.m);
    size_t stride = (d->n_samples + MOST_SEEN - 1) / MOST_SEEN;
    const void **inputs = nuc_alloc_array(cx, d->n_inputs + 1, sizeof(void *));
    nuc_eval_observe(e, see_norms, &seen);
    for (size_t k = 0; k < d->n_samples; k += stride) {
        seen.part = nuc_sample_part(k / stride);
        nuc_dataset_read_sample(d, k, inputs);
        nuc_eval_run(e, inputs, NULL);
    }
    for (uint32_t k = 0; k < t->n_norms; k++) {
        t->of_norms.others[k] = nuc_norm_form_of(seen.sums[k], &t->norm_errors[k]);
        t->of_norms.others[k].name = t->norms[k];
    }
    t->of_norms.n_others = t->n_norms;
    t->of_norms.form = NUC_NORM_SHORT;
    nuc_close_samples(&j, memory);
}

/* Sets the form of each norm that its own rows ask for. False: nothing is known of them. */
static bool set_judged_norms(struct trying *t)
{
    const struct nuc_options as = t->j->m->settings->o;

    t->of_norms.n_others = 0;
    return nuc_trial(t->j->m, &as, judge_norms, t) == NUC_OK && t->of_norms.n_others > 0;
}

static void list_kinds(struct trying *t)
{
    const struct nuc_options as = t->j->m->settings->o;

    if (nuc_trial(t->j->m, &as, find_kinds, t) != NUC_OK)
        t->kinds.count = t->n_norms = 0;
}

/* The network as it is compiled with the kinds in int8. */
static void quantize_and_place(struct nuc_model *m, void *arg)
{
    struct trying *t = arg;
    struct nuc_settings settings = *m->settings;
    struct nuc_job j = {.c = m->c, .m = m};

    m->settings = &settings;
    settings.rounds = t->rounds;
    settings.norms = &t->of_norms;
    settings.trial = false; /* which spends less on accuracy */
    settings.judges = true;
    settings.narrow = t->narrow;
    settings.without |= t->without;
    settings.rounding = t->rounding;
    if (settings.o.accuracy == NUC_ACCURACY_HIGH) /* whose search starts from what the default chooses */
        settings.o.accuracy = NUC_ACCURACY_DEFAULT;
    nuc_quantize_with(&j, (struct nuc_sample_source){NULL, t->j->samples}, t->j->samples->part);
    const struct nuc_measured *measured = j.m->measured;
    t->out.n_samples = measured != NULL ? measured->n_errors : 0;
    for (size_t k = 0; k < t->out.n_samples; k++)
        t->out.errors[k] = fmax(measured->errors[k], NO_ERROR);
    t->out.is_wide = nuc_has_wide_values(j.m->graph);
    settings.trial = settings.places_well = true;
    nuc_run_stages(&j, NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);
    if (!nuc_count_cycles(j.m, &t->out.cycles))
        t->out.n_samples = 0;
}

static void add_norms(struct nuc_text *text, const struct trying *t)
{
    uint32_t count[] = {[NUC_NORM_WHOLE] = 0, [NUC_NORM_SHORT] = 0, [NUC_NORM_FINE] = 0, [NUC_NORM_WIDE] = 0};

    count[t->of_norms.form] = t->n_norms;
    for (uint32_t i = 0; i < t->of_norms.n_others; i++) {
        count[t->of_norms.form]--;
        count[t->of_norms.others[i].form]++;
    }
    if (count[NUC_NORM_WHOLE] == t->n_norms) {
        nuc_text_addf(text, "norms on the CPU");
        return;
    }
    nuc_text_addf(text, "%u of %u norms on the NPU", t->n_norms - count[NUC_NORM_WHOLE], t->n_norms);
    if (count[NUC_NORM_FINE] + count[NUC_NORM_WIDE] > 0)
        nuc_text_addf(text, " (%s%s%s)", count[NUC_NORM_FINE] > 0 ? "fine" : "",
                      count[NUC_NORM_FINE] > 0 && count[NUC_NORM_WIDE] > 0 ? ", " : "",
                      count[NUC_NORM_WIDE] > 0 ? "wide" : "");
    if (t->has_streams && !t->of_norms.centred)
        nuc_text_addf(text, " of rows as they are");
}

/* In words: softmaxes and norms as they are set, where there are any, and what the CPU has in int8. */
static const char *form_of(const struct trying *t, const bool *rounds)
{
    struct nuc_text text = {.cx = t->j->c->cx};
    const char *between = "";

    if (t->of_norms.softmax_in_parts)
        nuc_text_addf(&text, "softmax in parts%s", t->n_norms > 0 ? ", " : "");
    if (t->n_norms > 0)
        add_norms(&text, t);
    for (int op = 0; op < NUC_OP_COUNT; op++) {
        if (!rounds[op])
            continue;
        if (*between == '\0' && text.length > 0)
            nuc_text_addf(&text, ", ");
        const char *name = nuc_op_name((enum nuc_op)op, NUC_ATEN) + strlen("aten.");
        nuc_text_addf(&text, "%s%.*s", between, (int)strcspn(name, "."), name);
        between = ", ";
    }
    nuc_text_addf(&text, *between != '\0' ? " in int8" : text.length == 0 ? "the CPU in float" : "");
    return nuc_text_string(&text);
}

/* NULL: the list is full. */
static struct nuc_alternative *note_alternative(struct trying *t, const struct outcome *o)
{
    struct nuc_alternative *a = &t->weighed->list[t->weighed->count];
    double noise = 0;

    if (t->weighed->count == NUC_MOST_ALTERNATIVES)
        return NULL;
    for (size_t k = 0; k < o->n_samples; k++)
        noise += o->errors[k] / (double)o->n_samples;
    *a = (struct nuc_alternative){.form = form_of(t, t->rounds), .cycles = o->cycles, .sqnr_db = -10 * log10(noise)};
    t->weighed->count++;
    return a;
}

static const char *key_of(const struct trying *t, const bool *rounds)
{
    struct nuc_text text = {.cx = t->j->c->cx};

    nuc_text_addf(&text, "%x %u %d %d %d %d", t->without, t->rounding, t->narrow, t->of_norms.softmax_in_parts,
                  t->of_norms.centred, (int)t->of_norms.form);
    for (uint32_t i = 0; i < t->of_norms.n_others; i++)
        nuc_text_addf(&text, " %s %d", t->of_norms.others[i].name, (int)t->of_norms.others[i].form);
    for (int op = 0; op < NUC_OP_COUNT; op++) {
        if (rounds[op])
            nuc_text_addf(&text, " %d", op);
    }
    return nuc_text_string(&text);
}

/* NULL: it was not tried so. */
static const struct tried *find_tried(const struct trying *t, const char *key)
{
    const struct tried *known = t->tried;

    while (known != NULL && strcmp(known->form, key) != 0)
        known = known->next;
    return known;
}

/* What was chosen; where that was not tried with the final ranges, the last one in the same words. */
static void mark_chosen(const struct trying *t, const bool *rounds)
{
    const struct tried *known = find_tried(t, key_of(t, rounds));
    struct nuc_alternative *chosen = known != NULL ? known->noted : NULL;
    const char *form = form_of(t, rounds);

    for (uint32_t i = t->weighed->count; chosen == NULL && i > 0; i--) {
        if (strcmp(t->weighed->list[i - 1].form, form) == 0)
            chosen = &t->weighed->list[i - 1];
    }
    if (chosen != NULL)
        chosen->is_chosen = true;
}

/* False: the network cannot be compiled so. */
static bool try_rounding(struct trying *t, const bool *rounds, struct outcome *out)
{
    struct nuc_options as = t->j->m->settings->o;
    const char *key = key_of(t, rounds);
    const struct tried *known = find_tried(t, key);

    as.dump = NULL;
    memcpy(t->rounds, rounds, sizeof t->rounds);
    if (known == NULL) {
        struct nuc_alternative *noted = NULL;
        t->out = (struct outcome){.n_samples = 0};
        if (nuc_trial(t->j->m, &as, quantize_and_place, t) != NUC_OK)
            t->out.n_samples = 0;
        if (t->out.n_samples > 0 && t->without == 0 && t->rounding == 0)
            noted = note_alternative(t, &t->out);
        t->tried = nuc_copy(t->j->c->cx, &(struct tried){key, t->out, noted, t->tried}, sizeof *t->tried);
        known = t->tried;
    }
    if (known->out.n_samples > 0)
        *out = known->out;
    return known->out.n_samples > 0;
}

/* As --accuracy fast has it; it has no samples where it cannot be compiled. */
static const struct outcome *plain(struct trying *t)
{
    static const bool none[NUC_OP_COUNT];
    const struct nuc_norms norms = t->of_norms;

    if (t->has_plain)
        return &t->plain;
    t->of_norms = (struct nuc_norms){.form = NUC_NORM_WHOLE, .others = norms.others};
    t->without = NUC_STEP_RANGES | NUC_STEP_EQUALIZE | NUC_STEP_WIDTH;
    t->has_plain = true;
    try_rounding(t, none, &t->plain);
    t->of_norms = norms;
    t->without = 0;
    return &t->plain;
}

/* ---- the choice ---- */

/*
 * What the network loses over another one, in dB, with `errors` standard errors: in the mean of the errors, or in the
 * mean of their logarithms, whichever is more.
 */
static double loss(const struct outcome *o, const struct outcome *other, double errors)
{
    double logarithms[NUC_CHOICE_MOST], differences[NUC_CHOICE_MOST], mean = 0;
    size_t n = o->n_samples;

    if (n != other->n_samples)
        return (double)INFINITY; /* not on the same ones */
    for (size_t k = 0; k < n; k++) {
        logarithms[k] = 10 * log10(o->errors[k] / other->errors[k]);
        differences[k] = o->errors[k] - other->errors[k];
        mean += other->errors[k] / (double)n;
    }
    double in_mean = 10 * log10(fmax(1 + nuc_most_loss(differences, n, errors) / mean, NO_ERROR));
    return fmax(in_mean, nuc_most_loss(logarithms, n, errors));
}

static double halvings(const struct outcome *o, const struct outcome *in_float)
{
    return log2((double)in_float->cycles / (double)o->cycles);
}

static double allowed(const struct outcome *o, const struct outcome *in_float, struct allowance a)
{
    return a.mean + a.more * halvings(o, in_float);
}

static bool is_allowed(struct trying *t, const struct outcome *o, const struct outcome *in_float, struct allowance a)
{
    if (loss(o, in_float, 0) > allowed(o, in_float, a) || loss(o, in_float, a.sure) > a.mean + halvings(o, in_float))
        return false;
    double most = allowed(o, in_float, of_all);
    return halvings(o, in_float) >= 1 || loss(o, in_float, 0) <= most || loss(o, plain(t), 0) <= most;
}

/* in_float: without the kinds whose loss together is allowed. */
static bool is_worth(struct trying *t, const struct outcome *o, const struct outcome *before,
                     const struct outcome *in_float, struct allowance a)
{
    return o->cycles < before->cycles - before->cycles / LEAST_GAIN && is_allowed(t, o, in_float, a);
}

/* dB, as errors are felt, that a network surely gains at least over another one. */
static double sure_gain(const struct outcome *o, const struct outcome *other)
{
    struct outcome with = *o, without = *other;

    for (size_t k = 0; k < o->n_samples; k++)
        with.errors[k] = nuc_felt(o->errors[k]);
    for (size_t k = 0; k < other->n_samples; k++)
        without.errors[k] = nuc_felt(other->errors[k]);
    return -loss(&with, &without, SURE);
}

/* What is left of them when its cycles are paid. */
static double gain_for_cycles(const struct outcome *o, const struct outcome *other)
{
    return sure_gain(o, other) - 10 * log10(nuc_price(o->cycles, other->cycles));
}

/* Kernels in int8 save cycles, and what they surely lose at most is worth less than these. */
static bool pays(const struct outcome *o, const struct outcome *before)
{
    return o->cycles < before->cycles - before->cycles / LEAST_GAIN && gain_for_cycles(o, before) > 0;
}

static void set_kind(const struct kinds *kinds, uint32_t k, bool *rounds, bool to)
{
    rounds[kinds->ops[k]] = to;
    for (uint32_t i = MOST_KINDS; k == MOST_KINDS - 1 && i < kinds->count; i++)
        rounds[kinds->ops[i]] = to;
}

static void drop_chosen(struct kinds *kinds, const bool *rounds)
{
    uint32_t left = 0;

    for (uint32_t k = 0; k < kinds->count; k++) {
        if (!rounds[kinds->ops[k]])
            kinds->ops[left++] = kinds->ops[k];
    }
    kinds->count = left;
}

/* False: there are none. */
static bool set_recurrent(const struct kinds *kinds, bool *rounds)
{
    bool any = false;

    for (uint32_t k = 0; k < kinds->count; k++) {
        enum nuc_op op = kinds->ops[k];
        rounds[op] = nuc_op_family(op) == NUC_FAMILY_RECURRENT;
        any = any || rounds[op];
    }
    return any;
}

/* `found` is the network with them in int8; false: it loses too much. */
static bool holds_in_int8(struct trying *t, const bool *recurrent, const struct outcome *in_float,
                          struct outcome *found)
{
    return try_rounding(t, recurrent, found) && pays(found, in_float);
}

/*
 * Recurrent layers before all others, whose loss is measured beside theirs, and in a network that is int8 but for them:
 * what else stays in float around a float layer, up to the whole network, is no reason to leave it so. Where they lose
 * too much between sequences of int8 they are tried between wider ones.
 */
static void choose_recurrent(struct trying *t, struct outcome *in_float, bool *rounds)
{
    bool trial[NUC_OP_COUNT] = {false};
    const bool *none = rounds;
    const bool narrow = !in_float->is_wide;
    struct outcome found, whole = *in_float;

    if (!set_recurrent(&t->kinds, trial)) {
        t->narrow = narrow;
        return;
    }
    t->narrow = true;
    bool holds = (narrow || try_rounding(t, none, &whole)) && holds_in_int8(t, trial, &whole, &found);
    t->narrow = holds && narrow;
    if (!t->narrow)
        holds = holds ? try_rounding(t, trial, &found) : holds_in_int8(t, trial, in_float, &found);
    if (!holds) {
        t->narrow = narrow;
        return;
    }
    t->narrow = !found.is_wide;
    memcpy(rounds, trial, sizeof trial);
    *in_float = found;
    drop_chosen(&t->kinds, rounds);
}

/* Those alone that are accurate and save cycles, the ones that save most for what they cost first: with it, `first`. */
static uint32_t order_kinds(struct trying *t, const struct outcome *in_float, const bool *before,
                            uint32_t order[MOST_KINDS], struct outcome *first)
{
    uint32_t count = t->kinds.count < MOST_KINDS ? t->kinds.count : MOST_KINDS, n = 0;
    double worth[MOST_KINDS];

    for (uint32_t k = 0; k < count; k++) {
        bool rounds[NUC_OP_COUNT];
        struct outcome alone;
        memcpy(rounds, before, sizeof rounds);
        set_kind(&t->kinds, k, rounds, true);
        if (!try_rounding(t, rounds, &alone) || !pays(&alone, in_float))
            continue;
        double cost = fmax(loss(&alone, in_float, 0), LEAST_LOSS);
        worth[k] = (double)(in_float->cycles - alone.cycles) / cost;
        uint32_t at = n++;
        for (; at > 0 && worth[order[at - 1]] < worth[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
        *first = at == 0 ? alone : *first;
    }
    return n;
}

/* A trial of the network does. */
static bool takes_long(const struct trying *t)
{
    return nuc_run_cost(t->j->m->graph) > TELLS_APART;
}

/* What the caller may think otherwise about. */
static void note_int8(const struct trying *t, const struct outcome *chosen, const struct outcome *int8)
{
    const struct nuc_model *m = t->j->m;
    struct nuc_context *cx = m->c->cx;

    if (int8->cycles < chosen->cycles - chosen->cycles / MUCH)
        nuc_warn(cx,
                 "%s: --cpu int8 takes %s cycles instead of %s, its error is %.1f dB larger on %zu "
                 "samples%s",
                 m->graph->file, nuc_with_commas(cx, int8->cycles), nuc_with_commas(cx, chosen->cycles),
                 loss(int8, chosen, 0), int8->n_samples, int8->n_samples > 1 ? " held out" : "");
}

/* Sets the form of all norms; of those in parts of the network where `in` is given. */
static void set_norms(struct trying *t, enum nuc_norm_form form, const enum nuc_norm_form *in, uint32_t n_parts)
{
    t->of_norms.form = form;
    t->of_norms.n_others = 0;
    for (uint32_t k = 0; in != NULL && k < t->n_norms; k++)
        t->of_norms.others[t->of_norms.n_others++] = (struct nuc_norm_of){t->norms[k], in[k * n_parts / t->n_norms], 0};
}

/*
 * Errors of the network as it is set in their mean over this rounding and others: the same samples with hardly larger
 * steps. False: it cannot be compiled so.
 */
static bool round_otherwise(struct trying *t, const bool *rounds, struct outcome *mean)
{
    struct outcome o;
    bool holds = true;

    for (t->rounding = 1; holds && t->rounding <= OTHER_ROUNDINGS; t->rounding++) {
        holds = try_rounding(t, rounds, &o) && o.n_samples == mean->n_samples;
        for (size_t k = 0; holds && k < o.n_samples; k++)
            mean->errors[k] += (o.errors[k] - mean->errors[k]) / (t->rounding + 1);
    }
    t->rounding = 0;
    return holds;
}

/* Where the norms as they are set are worth it, `best` becomes what the network is with them. */
static bool try_norms(struct trying *t, const bool *rounds, const struct outcome *on_cpu, struct outcome *best)
{
    bool holds = try_rounding(t, rounds, &t->found) && is_worth(t, &t->found, best, on_cpu, of_norms);

    *best = holds ? t->found : *best;
    return holds;
}

/*
 * The same in other roundings, too. What deep networks lose by norms, chance makes or hides: all their values are
 * rounded otherwise with the first norm. A loss that may be of that is believed where other roundings have it.
 */
static bool hold_norms(struct trying *t, const bool *rounds, const struct outcome *on_cpu, struct outcome *best)
{
    const struct nuc_norms norms = t->of_norms;
    struct outcome with, without = *on_cpu;

    if (try_norms(t, rounds, on_cpu, best))
        return true;
    if (!try_rounding(t, rounds, &with) || with.cycles >= best->cycles - best->cycles / LEAST_DOUBTFUL_GAIN ||
        loss(&with, &without, 0) - MOST_BY_CHANCE > allowed(&with, &without, of_norms))
        return false;
    bool holds = round_otherwise(t, rounds, &with);
    set_norms(t, NUC_NORM_WHOLE, NULL, 1);
    holds = holds && round_otherwise(t, rounds, &without) && is_allowed(t, &with, &without, of_norms);
    t->of_norms = norms;
    *best = holds ? t->found : *best;
    return holds;
}

/*
 * Parts whose norms lose little by themselves, those that lose least for what they save first; with the form of each,
 * the fine one where that holds.
 */
static uint32_t order_parts(struct trying *t, const bool *rounds, enum nuc_norm_form most, const struct outcome *on_cpu,
                            uint32_t n_parts, uint32_t order[MOST_PARTS], enum nuc_norm_form forms[MOST_PARTS])
{
    double worth[MOST_PARTS];
    uint32_t n = 0;

    for (uint32_t k = 0; k < n_parts; k++) {
        enum nuc_norm_form in[MOST_PARTS] = {NUC_NORM_WHOLE};
        bool holds = false;
        for (uint32_t form = NUC_NORM_FINE; form <= (uint32_t)most && !holds; form++) {
            in[k] = forms[k] = (enum nuc_norm_form)form;
            set_norms(t, NUC_NORM_WHOLE, in, n_parts);
            holds = try_rounding(t, rounds, &t->found) && t->found.cycles <= on_cpu->cycles &&
                    loss(&t->found, on_cpu, 0) <= allowed(&t->found, on_cpu, of_norms);
        }
        if (!holds)
            continue;
        /* What a part alone does not save, it may between others: a delegate call. */
        double saved = (double)(on_cpu->cycles - t->found.cycles + t->j->m->settings->target->costs.npu_call);
        worth[k] = saved / fmax(loss(&t->found, on_cpu, 0), LEAST_PART_LOSS);
        uint32_t at = n++;
        for (; at > 0 && worth[order[at - 1]] < worth[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
    return n;
}

/* Parts of the network are joined one by one, as long as they hold together. */
static bool join_norms(struct trying *t, const bool *rounds, enum nuc_norm_form most, const struct outcome *on_cpu,
                       struct outcome *best)
{
    uint32_t n_parts = t->n_norms < MOST_PARTS ? t->n_norms : MOST_PARTS, order[MOST_PARTS];
    enum nuc_norm_form forms[MOST_PARTS], in[MOST_PARTS] = {NUC_NORM_WHOLE};
    bool apart = n_parts > 1 && !takes_long(t);
    uint32_t n = apart ? order_parts(t, rounds, most, on_cpu, n_parts, order, forms) : 0;
    struct outcome joined = *on_cpu;

    for (uint32_t i = 0; i < n; i++) {
        in[order[i]] = forms[order[i]];
        set_norms(t, NUC_NORM_WHOLE, in, n_parts);
        bool holds = try_rounding(t, rounds, &t->found) && t->found.cycles < joined.cycles &&
                     is_allowed(t, &t->found, on_cpu, of_parts);
        joined = holds ? t->found : joined;
        in[order[i]] = holds ? forms[order[i]] : NUC_NORM_WHOLE;
    }
    bool any = joined.cycles < on_cpu->cycles && is_worth(t, &joined, on_cpu, on_cpu, of_parts);
    set_norms(t, NUC_NORM_WHOLE, any ? in : NULL, n_parts);
    *best = any ? joined : *best;
    return any;
}

/* Shares of the norms, of which one after the other stays on the CPU, those that err most first. */
#define SHARES 3

/* Norms that have a form on the NPU there or not, those that err least first. */
static uint32_t order_norms(const struct trying *t, const struct nuc_norm_of *forms, bool on_npu,
                            uint32_t order[MOST_NORMS])
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < t->n_norms; k++) {
        if (forms[k].form == NUC_NORM_WHOLE || (t->of_norms.others[k].form != NUC_NORM_WHOLE) != on_npu)
            continue;
        uint32_t at = n++;
        for (; at > 0 && t->norm_errors[order[at - 1]] > t->norm_errors[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
    return n;
}

/* Half of the norms that are on the CPU, those that err least, in the form they have on the NPU. */
static void try_half(struct trying *t, const bool *rounds, const struct nuc_norm_of *forms,
                     const struct outcome *on_cpu, struct outcome *best)
{
    uint32_t order[MOST_NORMS], half = (order_norms(t, forms, false, order) + 1) / 2;

    for (uint32_t i = 0; i < half; i++)
        t->of_norms.others[order[i]].form = forms[order[i]].form;
    bool holds = half > 0 && hold_norms(t, rounds, on_cpu, best);
    for (uint32_t i = 0; i < half && !holds; i++)
        t->of_norms.others[order[i]].form = NUC_NORM_WHOLE;
}

/* The norms of a kind in these forms, or on the CPU. False: none of them is on the NPU. */
static bool set_norms_of(struct trying *t, enum nuc_op op, const struct nuc_norm_of *forms)
{
    bool any = false;

    for (uint32_t k = 0; k < t->n_norms; k++) {
        if (t->norm_ops[k] != op)
            continue;
        t->of_norms.others[k].form = forms != NULL ? forms[k].form : NUC_NORM_WHOLE;
        any = any || t->of_norms.others[k].form != NUC_NORM_WHOLE;
    }
    return any;
}

/* One kind of norms after the other, in the form they have on the NPU, as long as the network holds. */
static bool join_kinds(struct trying *t, const bool *rounds, const struct nuc_norm_of *forms,
                       const struct outcome *on_cpu, struct outcome *best)
{
    bool any = false, tried[NUC_OP_COUNT] = {false};

    for (uint32_t k = 0; k < t->n_norms; k++)
        t->of_norms.others[k].form = NUC_NORM_WHOLE;
    for (uint32_t k = 0; k < t->n_norms; k++) {
        const enum nuc_op op = t->norm_ops[k];
        if (tried[op] || !set_norms_of(t, op, forms))
            continue;
        tried[op] = true;
        bool holds = hold_norms(t, rounds, on_cpu, best);
        if (!holds)
            set_norms_of(t, op, NULL);
        any = any || holds;
    }
    return any;
}

/*
 * Each norm in the form that its rows ask for; where the network loses too much, those that err least by themselves,
 * then half of the others, or those of one kind. Where some stay on the CPU, all of them in the shortest form may still
 * hold.
 */
static bool choose_by_rows(struct trying *t, const bool *rounds, const struct outcome *on_cpu, struct outcome *best)
{
    struct nuc_norm_of forms[MOST_NORMS];
    uint32_t order[MOST_NORMS], n, left = 0;
    bool holds = false;

    memcpy(forms, t->of_norms.others, t->n_norms * sizeof *forms);
    n = order_norms(t, forms, true, order);
    for (; n > 0 && !holds && left < SHARES; left++) {
        for (uint32_t i = n - n * left / SHARES; i < n; i++)
            t->of_norms.others[order[i]].form = NUC_NORM_WHOLE;
        holds = hold_norms(t, rounds, on_cpu, best);
    }
    holds = holds || join_kinds(t, rounds, forms, on_cpu, best);
    if (holds && left == 1 && n == t->n_norms)
        return true;
    for (uint32_t k = 0; k < t->n_norms; k++) {
        if (forms[k].form == NUC_NORM_WHOLE && t->norm_errors[k] > 0)
            forms[k].form = NUC_NORM_WIDE;
    }
    if (holds)
        try_half(t, rounds, forms, on_cpu, best);
    if (holds && n == t->n_norms)
        return true;
    const struct nuc_norms held = t->of_norms;
    set_norms(t, holds ? NUC_NORM_SHORT : NUC_NORM_WHOLE, NULL, 1);
    if (holds && !try_norms(t, rounds, on_cpu, best))
        t->of_norms = held;
    return holds;
}

/*
 * Norms in parts on the NPU: all of them, also of rows as they come, in the finer form or that for rows of very
 * different deviations where those may help, or some. Where a trial of the network takes long, those that their rows
 * tell. Returns whether any are.
 */
static bool choose_norms(struct trying *t, const bool *rounds, struct outcome *best)
{
    const struct outcome on_cpu = *best;
    const bool centred = t->of_norms.centred;

    set_norms(t, NUC_NORM_WHOLE, NULL, 1);
    if (t->n_norms == 0)
        return false;
    if (takes_long(t) && set_judged_norms(t))
        return choose_by_rows(t, rounds, &on_cpu, best);
    t->of_norms.centred = t->has_streams;
    set_norms(t, NUC_NORM_SHORT, NULL, 1);
    if (try_norms(t, rounds, &on_cpu, best))
        return true;
    enum nuc_norm_form form = loss(&t->found, &on_cpu, 0) < MOST_OF_MEAN ? NUC_NORM_FINE : NUC_NORM_WIDE;
    t->of_norms.centred = false;
    if (t->has_streams && try_norms(t, rounds, &on_cpu, best))
        return true;
    t->of_norms.centred = t->has_streams;
    set_norms(t, form, NULL, 1);
    if (hold_norms(t, rounds, &on_cpu, best) || join_norms(t, rounds, form, &on_cpu, best))
        return true;
    t->of_norms.centred = centred;
    return false;
}

/*
 * Softmaxes of long rows in parts on the NPU, where the network surely gains by it: judged as it is in int8, since
 * float in place of a softmax is no reason to leave it whole. `found` is the network with them whole; returns whether
 * they are in parts.
 */
static bool choose_softmax(struct trying *t, const bool *rounds, const struct outcome *found)
{
    struct outcome whole = *found, parts;

    t->narrow = true;
    if (t->has_long_softmax && (!whole.is_wide || try_rounding(t, rounds, &whole))) {
        t->of_norms.softmax_in_parts = true;
        t->of_norms.softmax_in_parts = try_rounding(t, rounds, &parts) && sure_gain(&parts, &whole) > LEAST_BY_PARTS &&
                                       gain_for_cycles(&parts, &whole) > 0;
    }
    t->narrow = false;
    return t->of_norms.softmax_in_parts;
}

static void choose(struct trying *t, bool *rounds)
{
    struct outcome in_float, best, found, int8;
    bool trial[NUC_OP_COUNT] = {false};
    uint32_t order[MOST_KINDS], n, n_taken = 0;

    /* Where norms are told by their rows, so is the network that has them on the CPU: the two differ in them alone. */
    t->of_norms.centred = t->has_streams && takes_long(t);
    if (!try_rounding(t, trial, &in_float) ||
        (choose_softmax(t, trial, &in_float) && !try_rounding(t, trial, &in_float)))
        return;
    choose_recurrent(t, &in_float, rounds);
    if (choose_norms(t, rounds, &in_float)) {
        list_kinds(t);
        drop_chosen(&t->kinds, rounds);
    }
    best = in_float;
    memcpy(trial, rounds, sizeof trial);
    for (uint32_t k = 0; k < t->kinds.count; k++)
        trial[t->kinds.ops[k]] = true;
    bool is_possible = t->kinds.count > 0 && try_rounding(t, trial, &int8);
    bool apart = is_possible && t->kinds.count > 1 && !takes_long(t) && sure_gain(&int8, &in_float) < -HARDLY;
    n = apart ? order_kinds(t, &in_float, rounds, order, &found) : 0;
    /* The first one alone has been tried, and so have all of them. */
    for (uint32_t i = 0; i < n && n_taken + 1 < t->kinds.count; i++) {
        bool some[NUC_OP_COUNT];
        memcpy(some, rounds, sizeof some);
        set_kind(&t->kinds, order[i], some, true);
        if (i > 0 && (!try_rounding(t, some, &found) || !pays(&found, &best)))
            continue;
        memcpy(rounds, some, sizeof some);
        best = found;
        n_taken++;
    }
    if (is_possible && pays(&int8, &best))
        memcpy(rounds, trial, sizeof trial);
    else if (is_possible)
        note_int8(t, &best, &int8);
}

static bool has_recurrent(const bool *rounds)
{
    int op = 0;

    while (op < NUC_OP_COUNT && !(rounds[op] && nuc_op_family((enum nuc_op)op) == NUC_FAMILY_RECURRENT))
        op++;
    return op < NUC_OP_COUNT;
}

void nuc_choose_cpu_kernels(struct nuc_job *j)
{
    struct nuc_context *cx = j->c->cx;
    const struct nuc_settings *s = j->m->settings;
    struct trying *t = nuc_alloc(cx, sizeof *t);
    bool *rounds = nuc_alloc_array(cx, NUC_OP_COUNT, sizeof *rounds);

    if (s->o.cpu != NUC_CPU_AUTO || s->rounds != NULL || !s->delegates || j->samples == NULL ||
        s->o.accuracy == NUC_ACCURACY_FAST)
        return;
    t->j = j;
    t->arena = cx->arena;
    t->of_norms.others = nuc_alloc_array(cx, MOST_NORMS, sizeof *t->of_norms.others);
    t->weighed = nuc_alloc(cx, sizeof *t->weighed);
    list_kinds(t);
    struct nuc_chosen_ranges *ranges = nuc_alloc(cx, sizeof *ranges);
    *ranges = (struct nuc_chosen_ranges){.arena = cx->arena};
    j->m = nuc_model_after(j->m, j->m->graph);
    j->m->ranges = ranges;
    if (t->kinds.count + t->n_norms > 0 || t->has_long_softmax)
        choose(t, rounds);
    mark_chosen(t, rounds);
    struct nuc_settings *decided = nuc_copy(cx, s, sizeof *decided);
    decided->rounds = rounds;
    decided->norms = &t->of_norms;
    decided->narrow = t->narrow && !has_recurrent(rounds); /* wider sequences around them are looked for once */
    decided->weighed = t->weighed;
    j->m->settings = decided;
}
