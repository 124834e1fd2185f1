/* nuc_tune(): a search over options, coordinate by coordinate, each trial a whole compilation. */
#include "tools/tune/tune_trial.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/clock.h"
#include "host/process.h"
#include "host/text.h"

/* ---- what is varied ---- */

#define MAX_VALUES 6

/* What a trial finds, in a process of its own. */
struct told {
    enum nuc_status status;
    struct nuc_figures figures;
    double seconds;
    char message[NUC_MESSAGE_SIZE];
};

struct process {
    struct nuc_options options; /* of the trial */
    pid_t id;                   /* 0: none */
    int pipe;
};

struct tuning {
    const struct nuc_model *m;
    struct nuc_choices choices;
    const struct nuc_tune_options *o;
    const struct nuc_comparison *with;
    bool quantizes; /* the model is a float one */
    double least_db;
    bool keeps_first; /* least_db follows from the first trial */
    size_t n_trials, capacity, planned;
    struct attempt *attempts;
    struct process ahead[MAX_VALUES]; /* trials that will be asked for next */
};

/* What has to hold of model and options for a row to apply, as bits. */
enum {
    QUANTIZED_HERE = 1,
    BEYOND_REFERENCE = 2,
    COMPARES_WIDTHS = 4,
    TAKES_IMAGES = 8,
    DELEGATES = 16,
    CHOOSES_KERNELS = 32,
    MAY_PLACE = 64,
    MAY_VARY_IO = 128
};

/* In the order of the search: what interacts least with the others, and takes least time, comes first. */
static const struct row {
    const char *name; /* of the option on the command line */
    size_t member;    /* of struct nuc_options: a flag, or an enumerator */
    bool is_flag;
    unsigned goals; /* as bits: whether it can serve them */
    unsigned needs;
    unsigned n_values;
    unsigned char values[MAX_VALUES];
    unsigned not_mixed;             /* as bits: values that --activations mixed does not go with */
    const char *caller[MAX_VALUES]; /* by value, what it changes for who calls the program */
} rows[] = {
#define SERVES(goal) (1u << (goal))
#define FAST_OR_SMALL (SERVES(NUC_GOAL_LATENCY) | SERVES(NUC_GOAL_MEMORY))
#define FLAG(member) offsetof(struct nuc_options, member), true
#define CHOICE(member) offsetof(struct nuc_options, member), false
#define VALUES(...) .n_values = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .values = {__VA_ARGS__}
    {"--observer", CHOICE(observer), SERVES(NUC_GOAL_SQNR), QUANTIZED_HERE | BEYOND_REFERENCE,
     VALUES(NUC_OBSERVE_AUTO, NUC_OBSERVE_HISTOGRAM, NUC_OBSERVE_MIN_MAX, NUC_OBSERVE_MSE, NUC_OBSERVE_PERCENTILE,
            NUC_OBSERVE_MOVING_AVERAGE),
     .not_mixed = ~(1u << NUC_OBSERVE_AUTO)},
    {"--no-bias-correction", FLAG(bias_correction), SERVES(NUC_GOAL_SQNR), QUANTIZED_HERE | BEYOND_REFERENCE,
     VALUES(true, false)},
    {"--weights", CHOICE(weights), SERVES(NUC_GOAL_SQNR), QUANTIZED_HERE,
     VALUES(NUC_WEIGHTS_PER_CHANNEL, NUC_WEIGHTS_PER_TENSOR)},
    {"--accuracy", CHOICE(accuracy), SERVES(NUC_GOAL_SQNR), QUANTIZED_HERE | BEYOND_REFERENCE,
     VALUES(NUC_ACCURACY_DEFAULT, NUC_ACCURACY_FAST, NUC_ACCURACY_HIGH), .not_mixed = 1u << NUC_ACCURACY_FAST},
    /* Not int16 for all values: an NPU has none, and a CPU alone takes several times as long. */
    {"--activations", CHOICE(activations), SERVES(NUC_GOAL_SQNR), QUANTIZED_HERE | COMPARES_WIDTHS,
     VALUES(NUC_ACTIVATIONS_INT8, NUC_ACTIVATIONS_MIXED)},
    {"--dim-order", CHOICE(dim_order), FAST_OR_SMALL, TAKES_IMAGES,
     VALUES(NUC_DIM_ORDER_AS_IS, NUC_DIM_ORDER_CONTIGUOUS, NUC_DIM_ORDER_CHANNELS_LAST),
     .caller[NUC_DIM_ORDER_CONTIGUOUS] = "four-dimensional inputs and outputs are in contiguous order",
     .caller[NUC_DIM_ORDER_CHANNELS_LAST] = "four-dimensional inputs and outputs are in channels-last order"},
    {"--neutron-format-conversion", FLAG(use_neutron_for_format_conversion), FAST_OR_SMALL, TAKES_IMAGES | DELEGATES,
     VALUES(true, false)},
    {"--cpu", CHOICE(cpu), SERVES(NUC_GOAL_SQNR) | FAST_OR_SMALL, CHOOSES_KERNELS,
     VALUES(NUC_CPU_AUTO, NUC_CPU_INT8, NUC_CPU_FLOAT)},
    {"--placement", CHOICE(placement), FAST_OR_SMALL, MAY_PLACE, VALUES(NUC_PLACEMENT_COST, NUC_PLACEMENT_GREEDY)},
    {"--allow-no-op-partitions", FLAG(allow_no_op_partitions), SERVES(NUC_GOAL_LATENCY), DELEGATES,
     VALUES(false, true)},
    {"--fetch-constants-to-sram", FLAG(fetch_constants_to_sram), FAST_OR_SMALL, DELEGATES, VALUES(false, true)},
    {"--plan-delegate-scratch", FLAG(plan_delegate_scratch), SERVES(NUC_GOAL_MEMORY), DELEGATES, VALUES(false, true)},
    {"--io", CHOICE(io), FAST_OR_SMALL, MAY_VARY_IO, VALUES(NUC_IO_FLOAT, NUC_IO_INT8),
     .caller[NUC_IO_INT8] = "inputs and outputs are int8; 'nucleon inspect' shows scales"},
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static unsigned value_of(const struct nuc_options *o, unsigned knob)
{
    const char *member = (const char *)o + rows[knob].member;
    unsigned value;

    if (rows[knob].is_flag)
        return *(const bool *)member;
    memcpy(&value, member, sizeof value);
    return value;
}

static void set_value(struct nuc_options *o, unsigned knob, unsigned value)
{
    char *member = (char *)o + rows[knob].member;

    if (rows[knob].is_flag)
        *(bool *)member = value != 0;
    else
        memcpy(member, &value, sizeof value);
}

static bool is_varied(const struct tuning *t, unsigned knob)
{
    const struct row *row = &rows[knob];
    /* A limit on what is not the goal is served by the options that serve it as a goal. */
    unsigned goals = SERVES(t->o->goal);

    if (t->o->has_min_sqnr)
        goals |= SERVES(NUC_GOAL_SQNR);
    if (t->o->cycle_budget > 0)
        goals |= SERVES(NUC_GOAL_LATENCY);
    if (t->choices.options->memory_budget > 0)
        goals |= SERVES(NUC_GOAL_MEMORY);
    const struct nuc_choices *c = &t->choices;
    unsigned holds = (t->quantizes ? QUANTIZED_HERE : 0) | (c->options->reference_compat ? 0 : BEYOND_REFERENCE) |
                     (c->compares_widths ? COMPARES_WIDTHS : 0) | (c->takes_images ? TAKES_IMAGES : 0) |
                     (c->delegates ? DELEGATES : 0) | (c->chooses_kernels ? CHOOSES_KERNELS : 0) |
                     (c->may_place ? MAY_PLACE : 0) | (!c->is_litert && t->o->varies_io ? MAY_VARY_IO : 0);
    return (row->goals & goals) != 0 && (row->needs & ~holds) == 0 &&
           !nuc_is_one_of(row->name, t->o->held, t->o->n_held);
}

/* ---- trials ---- */

struct attempt {
    struct nuc_options options;
    struct nuc_figures figures;
    enum nuc_status status;
    const char *reason;
    double seconds;
};

/* By how much the limits are exceeded, relative to them; 10 dB count as much as twice the cycles. */
static double excess(const struct tuning *t, const struct attempt *a)
{
    double cycles = (double)a->figures.cycles, memory = (double)a->figures.memory, total = 0;
    double most_cycles = (double)t->o->cycle_budget, most_memory = (double)t->choices.options->memory_budget;
    double missing = t->least_db - nuc_noise_db(a->figures.noise);

    if (a->status != NUC_OK)
        return (double)INFINITY;
    if (missing > 0)
        total += missing / 10;
    if (most_cycles > 0 && cycles > most_cycles)
        total += cycles / most_cycles - 1;
    if (most_memory > 0 && memory > most_memory)
        total += memory / most_memory - 1;
    return total;
}

static const char *excess_text(const struct tuning *t, const struct attempt *a)
{
    struct nuc_context *cx = nuc_model_context(t->m);
    struct nuc_text text = {.cx = cx};
    double db = nuc_noise_db(a->figures.noise);
    const char *between = "";

    if (t->least_db > db) {
        nuc_text_addf(&text, "SQNR %.2f dB, at least %.2f dB %s", db, t->least_db,
                      t->keeps_first ? "keep what the first trial has" : "are asked for");
        between = "; ";
    }
    if (t->o->cycle_budget > 0 && a->figures.cycles > t->o->cycle_budget) {
        nuc_text_addf(&text, "%s%s cycles, %s are allowed", between, nuc_with_commas(cx, a->figures.cycles),
                      nuc_with_commas(cx, t->o->cycle_budget));
        between = "; ";
    }
    if (t->choices.options->memory_budget > 0 && a->figures.memory > t->choices.options->memory_budget)
        nuc_text_addf(&text, "%s%s bytes of memory, %s are allowed", between, nuc_with_commas(cx, a->figures.memory),
                      nuc_with_commas(cx, t->choices.options->memory_budget));
    return nuc_text_string(&text);
}

/* Differences below these are no gain: of other samples they would be others. */
#define LEAST_GAIN_DB 0.1
#define LEAST_GAIN 0.01

/* Whether the samples bear a difference out: it is twice its standard error over their parts. */
static bool is_borne_out(const struct attempt *of, const struct attempt *over)
{
    double sum = 0, squares = 0;

    for (size_t j = 0; j < NUC_COMPARED_PARTS; j++) {
        double db = nuc_noise_db(of->figures.part_noise[j]) - nuc_noise_db(over->figures.part_noise[j]);
        if (!isfinite(db))
            return true;
        sum += db;
        squares += db * db;
    }
    return sum * sum * (NUC_COMPARED_PARTS - 1) >= 4 * (squares * NUC_COMPARED_PARTS - sum * sum);
}

static double more_db(const struct attempt *of, const struct attempt *over)
{
    double a = nuc_noise_db(of->figures.noise), b = nuc_noise_db(over->figures.noise);

    if (isnan(a) || isnan(b))
        return isnan(b) && !isnan(a) ? (double)INFINITY : isnan(a) && !isnan(b) ? -(double)INFINITY : 0;
    return isinf(a) && isinf(b) ? 0 : a - b;
}

static double gain_db(const struct attempt *of, const struct attempt *over)
{
    return is_borne_out(of, over) ? more_db(of, over) : 0;
}

static double saving(double of, double over)
{
    return over > 0 ? (over - of) / over : 0;
}

/* Of what is asked for, in units of the least gain. */
static double gain(const struct tuning *t, const struct attempt *of, const struct attempt *over)
{
    switch (t->o->goal) {
    case NUC_GOAL_SQNR:
        return gain_db(of, over) / LEAST_GAIN_DB;
    case NUC_GOAL_LATENCY:
        return saving((double)of->figures.cycles, (double)over->figures.cycles) / LEAST_GAIN;
    case NUC_GOAL_MEMORY:
        return saving((double)of->figures.memory, (double)over->figures.memory) / LEAST_GAIN;
    }
    return 0;
}

static bool same_values(const struct nuc_options *a, const struct nuc_options *b)
{
    for (unsigned k = 0; k < N_ROWS; k++) {
        if (value_of(a, k) != value_of(b, k))
            return false;
    }
    return true;
}

static const struct attempt *find_attempt(const struct tuning *t, const struct nuc_options *options)
{
    for (size_t i = 0; i < t->n_trials; i++) {
        if (same_values(&t->attempts[i].options, options))
            return &t->attempts[i];
    }
    return NULL;
}

static void show_progress(const struct tuning *t, size_t total)
{
    nuc_progress(nuc_model_context(t->m), "tune", t->n_trials, total > t->n_trials ? total : t->n_trials);
}

/* The message of a trial: all are about one file. */
static const char *without_file(const struct tuning *t, const char *message)
{
    size_t length = strlen(nuc_model_file(t->m));
    bool named = strncmp(message, nuc_model_file(t->m), length) == 0 && strncmp(message + length, ": ", 2) == 0;

    return named ? message + length + 2 : message;
}

struct trial {
    const struct tuning *t;
    const struct nuc_options *options;
    struct told *out;
};

static void run_trial(struct nuc_context *cx, void *arg)
{
    const struct trial *k = arg;
    double started = nuc_seconds();

    k->out->status = nuc_try_compilation(k->t->m, k->options, k->t->with, &k->out->figures);
    k->out->seconds = nuc_seconds() - started;
    memcpy(k->out->message, cx->message, sizeof k->out->message);
}

/* ---- trials side by side ---- */

static void end_processes(void *object)
{
    struct tuning *t = object;

    for (size_t i = 0; i < MAX_VALUES; i++) {
        if (t->ahead[i].id == 0)
            continue;
        kill(t->ahead[i].id, SIGKILL);
        waitpid(t->ahead[i].id, NULL, 0);
        close(t->ahead[i].pipe);
    }
}

/* A trial that ends the call does so in the process that asks for it. */
_Noreturn static void be_child(const struct tuning *t, const struct nuc_options *options, int pipe)
{
    struct nuc_context *cx = nuc_model_context(t->m);
    struct told told = {.seconds = 0};

    cx->progress = NULL;
    cx->warn = NULL;
    enum nuc_status status = nuc_try(cx, run_trial, &(struct trial){t, options, &told});
    if (status != NUC_OK) {
        told.status = status;
        memcpy(told.message, cx->message, sizeof told.message);
    }
    /* At once: a pipe takes so little whole. */
    _exit(write(pipe, &told, sizeof told) == (ssize_t)sizeof told ? 0 : 1);
}

/*
 * Where there is no process to be had, or a caller's thread may hold what a child would wait for, the trial is made
 * when it is asked for.
 */
static void start_trial(struct tuning *t, struct process *p, const struct nuc_options *options, unsigned threads)
{
    struct nuc_options own = *options;
    int ends[2];

    own.threads = threads;
    if (!nuc_has_one_thread() || pipe(ends) != 0)
        return;
    const pid_t id = fork();
    if (id == 0)
        be_child(t, &own, ends[1]);
    close(ends[1]);
    if (id > 0)
        *p = (struct process){*options, id, ends[0]};
    else
        close(ends[0]);
}

/* False: it is gone without a word, as for want of memory, and the trial is made here. */
static bool take_trial(struct process *p, struct told *out)
{
    ssize_t n;

    do
        n = read(p->pipe, out, sizeof *out);
    while (n < 0 && errno == EINTR);
    close(p->pipe);
    waitpid(p->id, NULL, 0);
    p->id = 0;
    return n == (ssize_t)sizeof *out;
}

/* Index of the trial of these options: the one there is, or a new one, started ahead or made here. */
static size_t try_options(struct tuning *t, const struct nuc_options *options)
{
    struct nuc_context *cx = nuc_model_context(t->m);
    const struct attempt *known = find_attempt(t, options);
    struct told told;
    bool taken = false;

    if (known != NULL)
        return (size_t)(known - t->attempts);
    for (size_t i = 0; i < MAX_VALUES && !taken; i++) {
        struct process *p = &t->ahead[i];
        taken = p->id != 0 && same_values(&p->options, options) && take_trial(p, &told);
    }
    if (taken)
        memcpy(cx->message, told.message, sizeof told.message);
    else
        run_trial(cx, &(struct trial){t, options, &told});
    struct attempt a = {.options = *options, .figures = told.figures, .status = told.status, .seconds = told.seconds};
    if (!nuc_is_answer(a.status) || (t->n_trials == 0 && a.status != NUC_OK && a.status != NUC_PROPERTY))
        nuc_fail_again(cx, a.status);
    if (a.status != NUC_OK)
        a.reason = nuc_strdup(cx, without_file(t, cx->message));
    t->attempts = nuc_grow(cx, t->attempts, &t->capacity, t->n_trials + 1, sizeof *t->attempts);
    t->attempts[t->n_trials] = a;
    t->n_trials++;
    show_progress(t, t->planned > t->n_trials ? t->planned : t->n_trials + 1);
    return t->n_trials - 1;
}

/* ---- the search ---- */

/* What a value did the last time it was tried; it is not tried again where that was clear. */
static bool is_settled(const struct tuning *t, size_t trial, size_t best)
{
    const struct attempt *a = &t->attempts[trial], *b = &t->attempts[best];

    if (a->status != NUC_OK)
        return true;
    bool no_effect = a->figures.noise == b->figures.noise && a->figures.cycles == b->figures.cycles &&
                     a->figures.memory == b->figures.memory && a->figures.program == b->figures.program;
    return no_effect || (excess(t, a) >= excess(t, b) && gain(t, a, b) < -10);
}

struct search {
    struct tuning *t;
    size_t best;
    bool settled[N_ROWS][MAX_VALUES];
};

static bool goes_without(const struct nuc_options *o, unsigned knob)
{
    return o->activations == NUC_ACTIVATIONS_MIXED && (rows[knob].not_mixed >> value_of(o, knob) & 1) != 0;
}

/* The options with another value of a knob that is to be tried; false: it is not. */
static bool varies(const struct search *s, unsigned knob, unsigned i, size_t from, struct nuc_options *out)
{
    const struct row *row = &rows[knob];

    *out = s->t->attempts[from].options;
    if (i >= row->n_values || s->settled[knob][i] || value_of(out, knob) == row->values[i])
        return false;
    set_value(out, knob, row->values[i]);
    for (unsigned k = 0; k < N_ROWS; k++) {
        if (k != knob && goes_without(out, k) && is_varied(s->t, k))
            set_value(out, k, rows[k].values[0]);
    }
    return !goes_without(out, knob);
}

/*
 * Values of a knob are tried from the same options, so that as many as there are cores can be tried at a time, each by
 * its share of the threads. Programs do not depend on the number of these.
 */
static void start_ahead(const struct search *s, unsigned knob, unsigned first, size_t from)
{
    struct tuning *t = s->t;
    const unsigned asked = t->choices.options->threads, threads = asked != 0 ? asked : nuc_cores();
    struct nuc_options options;
    unsigned running = 0, waiting[MAX_VALUES], n = 0;

    for (unsigned i = first; i < MAX_VALUES; i++) {
        running += t->ahead[i].id != 0;
        if (t->ahead[i].id == 0 && varies(s, knob, i, from, &options) && find_attempt(t, &options) == NULL)
            waiting[n++] = i;
    }
    const unsigned most = running + n < threads ? running + n : threads;
    for (unsigned k = 0; k < n && running < most && most > 1; k++, running++) {
        varies(s, knob, waiting[k], from, &options);
        start_trial(t, &t->ahead[waiting[k]], &options, threads / most);
    }
}

static bool turn(struct search *s, unsigned knob)
{
    size_t before = s->best;

    for (unsigned i = 0; i < MAX_VALUES; i++) {
        struct nuc_options options;
        if (!varies(s, knob, i, before, &options))
            continue;
        start_ahead(s, knob, i, before);
        size_t trial = try_options(s->t, &options);
        s->settled[knob][i] = is_settled(s->t, trial, before);
        const struct attempt *a = &s->t->attempts[trial];
        const struct attempt *than = &s->t->attempts[s->best];
        double own = excess(s->t, a), other = excess(s->t, than);
        if (own > 0 || other > 0 ? own < other : gain(s->t, a, than) >= 1)
            s->best = trial;
    }
    return s->best != before;
}

/* Ends: each round but the last finds something better by a least gain. */
static size_t search(struct tuning *t)
{
    struct search s = {.t = t};
    enum { MOST_ROUNDS = 4 };
    unsigned last = N_ROWS; /* the option that changed last: nothing before it has seen a change since */
    bool done = false;
    size_t count = 1;

    for (unsigned k = 0; k < N_ROWS; k++)
        count += is_varied(t, k) ? rows[k].n_values - 1 : 0;
    t->planned = count;
    s.best = try_options(t, nuc_compiler_options(nuc_model_compiler(t->m)));
    if (t->keeps_first && t->attempts[s.best].status == NUC_OK)
        t->least_db = nuc_noise_db(t->attempts[s.best].figures.noise) - LEAST_GAIN_DB;
    for (unsigned round = 0; round < MOST_ROUNDS && !done; round++) {
        done = true;
        for (unsigned k = 0; k < N_ROWS; k++) {
            if (round > 0 && k == last)
                break;
            if (!is_varied(t, k) || !turn(&s, k))
                continue;
            last = k;
            done = false;
        }
    }
    return s.best;
}

/* ---- the result ---- */

/* By a least gain at least. */
static bool saves_over(const struct attempt *a, const struct attempt *than)
{
    return saving((double)a->figures.cycles, (double)than->figures.cycles) >= LEAST_GAIN ||
           saving((double)a->figures.memory, (double)than->figures.memory) >= LEAST_GAIN;
}

static bool gains_over(const struct attempt *a, const struct attempt *than)
{
    return gain_db(a, than) >= LEAST_GAIN_DB || saves_over(a, than);
}

/* What is given up counts, borne out or not. */
static bool loses_to(const struct attempt *a, const struct attempt *than)
{
    return more_db(than, a) >= LEAST_GAIN_DB || saves_over(than, a);
}

/* It compiled, and keeps the limits. */
static bool counts(const struct tuning *t, size_t i)
{
    return excess(t, &t->attempts[i]) <= 0;
}

/* Of trials as good as each other the best one counts, else the first. */
static bool is_rivalled(const struct tuning *t, size_t i, size_t by, size_t best)
{
    const struct attempt *a = &t->attempts[i], *b = &t->attempts[by];

    if (by == i || !counts(t, by) || loses_to(b, a))
        return false;
    return gains_over(b, a) || by == best || (i != best && by < i);
}

/* The best, or one in its place that loses nothing against it, gains something else and takes the same inputs. */
static size_t best_of(const struct tuning *t, size_t best)
{
    const struct attempt *a = t->attempts;

    for (size_t i = 0; i < t->n_trials && counts(t, best); i++) {
        bool same = counts(t, i) && a[i].options.io == a[best].options.io;
        if (same && gains_over(&a[i], &a[best]) && !loses_to(&a[i], &a[best]))
            best = i;
    }
    return best;
}

static struct nuc_tune_trial make_trial(const struct tuning *t, const struct attempt *a)
{
    struct nuc_tune_trial trial = {.options = a->options,
                                   .compiled = a->status == NUC_OK,
                                   .reason = a->reason,
                                   .sqnr = nuc_noise_db(a->figures.noise),
                                   .accuracy = a->figures.accuracy,
                                   .seconds = a->seconds};

    if (!trial.compiled)
        return trial;
    trial.cycles = a->figures.cycles;
    trial.milliseconds = a->figures.milliseconds;
    trial.arena = a->figures.arena;
    trial.memory = a->figures.memory;
    trial.program = a->figures.program;
    if (excess(t, a) > 0)
        trial.reason = excess_text(t, a);
    return trial;
}

/* What the best trial's options change for who calls the program, against the first trial's. */
static const char **caller_changes(const struct tuning *t, size_t best, size_t *count)
{
    const char **list = nuc_alloc_array(nuc_model_context(t->m), N_ROWS, sizeof *list);

    *count = 0;
    for (unsigned k = 0; k < N_ROWS; k++) {
        unsigned value = value_of(&t->attempts[best].options, k);
        if (rows[k].caller[value] != NULL && value != value_of(&t->attempts[0].options, k))
            list[(*count)++] = rows[k].caller[value];
    }
    return list;
}

static void fill_result(const struct tuning *t, size_t best, struct nuc_tune_result *out)
{
    struct nuc_tune_trial *trials = nuc_alloc_array(nuc_model_context(t->m), t->n_trials, sizeof *trials);
    const struct nuc_comparison *with = t->with;

    for (size_t i = 0; i < t->n_trials; i++)
        trials[i] = make_trial(t, &t->attempts[i]);
    best = best_of(t, best);
    for (size_t i = 0; i < t->n_trials; i++) {
        trials[i].unrivalled = counts(t, i);
        for (size_t k = 0; k < t->n_trials && trials[i].unrivalled; k++)
            trials[i].unrivalled = !is_rivalled(t, i, k, best);
    }
    bool met = trials[best].reason == NULL;
    *out = (struct nuc_tune_result){
        .trials = trials,
        .n_trials = t->n_trials,
        .best = met ? best : t->n_trials,
        .unmet = met ? NULL : trials[best].reason,
        .n_calibration = with->n_calibration,
        .n_compared = with->n_samples,
        .calibrated_on = with->calibrated_on,
        .split = with->part == NUC_SAMPLES_HELD_OUT && !with->calibrated_on,
        .has_accuracy = with->labels != NULL,
    };
    if (met)
        out->changes = caller_changes(t, best, &out->n_changes);
}

/* ---- the call ---- */

static void check(const struct tuning *t, bool has_samples, bool has_dataset)
{
    const struct nuc_tune_options *o = t->o;
    struct nuc_context *cx = nuc_model_context(t->m);
    const char *file = nuc_model_file(t->m);
    bool quantized = !t->quantizes;

    if (t->choices.options->no_quantize)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: a float program has no options to tune: leave --no-quantize out", file);
    if (quantized && (o->goal == NUC_GOAL_SQNR || o->has_min_sqnr))
        nuc_fail(cx, NUC_BAD_USAGE, "%s: is quantized already, which settles its SQNR: tune the float model", file);
    if (!quantized && !has_samples)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: is a float model: give samples with --calibration DATA", file);
    if (quantized && has_samples)
        nuc_warn(cx, "%s: is quantized already; the calibration data is not used", file);
    if (quantized && has_dataset)
        nuc_warn(cx, "%s: is quantized already; there is no float model to compare it with on the data set", file);
}

static void tune(const struct nuc_model *of, struct nuc_sample_source calibration, const struct nuc_tune_options *o,
                 struct nuc_tune_result *out)
{
    struct nuc_context *cx = nuc_model_context(of);
    struct tuning *t = nuc_alloc(cx, sizeof *t);
    const struct nuc_sample_source none = {NULL, NULL}, dataset = {o->dataset, o->dataset_data};

    *t = (struct tuning){.m = nuc_model_to_try(of), .o = o, .quantizes = !nuc_model_is_quantized(of)};
    t->choices = nuc_model_choices(t->m);
    check(t, nuc_has_samples(calibration), nuc_has_samples(dataset));
    t->keeps_first = t->quantizes && !o->has_min_sqnr && o->goal != NUC_GOAL_SQNR;
    t->least_db = o->has_min_sqnr ? o->min_sqnr : -(double)INFINITY;
    t->with = nuc_comparison_new(t->m, t->quantizes ? calibration : none, dataset);
    nuc_defer(cx, end_processes, t);
    size_t best = search(t);
    show_progress(t, t->n_trials);
    fill_result(t, best, out);
}

enum nuc_status nuc_tune(struct nuc_model *m, const char *calibration, const struct nuc_tune_options *options,
                         struct nuc_tune_result *out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, options != NULL && out != NULL);
        tune(m, (struct nuc_sample_source){calibration, options->calibration_data}, options, out);
    }
    return nuc_leave(&call);
}
