/* Runs stages of the path: one after the other, and as trials that leave nothing behind. */
#include <assert.h>
#include <string.h>

#include "driver/stages.h"
#include "quantize/quantize.h"

/* "all" stands for the stages only: passes run dozens of times. */
static bool is_dumped(const struct nuc_settings *s, const char *name, bool is_stage)
{
    const char *wanted = s->trial || s->o.dump == NULL ? NULL : s->o.dump_after;

    return wanted != NULL && ((is_stage && strcmp(wanted, "all") == 0) || strcmp(wanted, name) == 0);
}

static void dump(const struct nuc_job *j, const char *name)
{
    const struct nuc_options *o = &j->m->settings->o;

    o->dump(o->dump_user, name, nuc_graph_print(j->m->graph, false));
}

/* Release builds verify after stages only: a graph of thousands of nodes goes through dozens of passes. */
static void pass_done(void *user, const char *pass, struct nuc_graph *g)
{
    const struct nuc_job *j = user;

#ifndef NDEBUG
    nuc_graph_verify(g, pass);
#else
    (void)g;
#endif
    if (is_dumped(j->m->settings, pass, false))
        dump(j, pass);
}

bool nuc_run_stage_passes(struct nuc_job *j, const struct nuc_pass_list *list, enum nuc_pass_mode mode)
{
    return nuc_run_passes(j->m->graph, list, mode, &(struct nuc_pass_hook){pass_done, j});
}

void nuc_run_stages(struct nuc_job *j, enum nuc_stage first, enum nuc_stage last)
{
    assert(first <= last && (first == NUC_STAGE_IMPORT || j->m != NULL));
    nuc_settings(j->c);
    j->first = first;
    for (enum nuc_stage i = first; i <= last; i++) {
        const struct nuc_stage_row *s = &j->c->pipeline[i];
        double started = nuc_seconds();
        if (s->applies != NULL && !s->applies(j))
            continue;
        nuc_progress(j->c->cx, s->name, 0, 0);
        j->is_same = false;
        s->run(j);
        assert(j->m != NULL);
        if (!j->m->settings->trial && !j->m->settings->judges)
            nuc_note_seconds(j->c, s->name, started);
        if (s->leaves_graph && !j->is_same)
            nuc_graph_verify(j->m->graph, s->name);
        if (s->leaves_graph && is_dumped(j->m->settings, s->name, true))
            dump(j, s->name);
        if (j->again) {
            assert(s->repeat_from > NUC_STAGE_IMPORT && s->repeat_from <= i);
            i = s->repeat_from - 1;
        }
        j->again = false;
    }
}

struct nuc_model *nuc_advance(struct nuc_model *m, enum nuc_stage first, enum nuc_stage last)
{
    struct nuc_job j = {.c = m->c, .m = m, .given = m, .use_up = true};

    nuc_run_stages(&j, first, last);
    return j.m;
}

struct trial {
    void (*fn)(struct nuc_model *m, void *arg);
    struct nuc_model *m;
    struct nuc_settings *settings;
    const struct nuc_options *as;
    void *arg;
};

static void run_trial(struct nuc_context *cx, void *arg)
{
    const struct trial *t = arg;

    const bool *rounds = t->settings->rounds; /* decided already */
    const struct nuc_norms *norms = t->settings->norms;
    nuc_settings_resolve(cx, t->as, t->settings);
    t->settings->rounds = rounds;
    t->settings->norms = norms;
    t->settings->o.intermediates_dir = NULL;
    t->settings->trial = true;
    t->fn(t->m, t->arg);
}

enum nuc_status nuc_trial(const struct nuc_model *m, const struct nuc_options *as,
                          void (*fn)(struct nuc_model *m, void *arg), void *arg)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_settings settings = {.rounds = m->settings->rounds, .norms = m->settings->norms};
    struct nuc_model model = *m;
    struct trial t = {fn, &model, &settings, as, arg};
    struct nuc_arena *outer = nuc_push_arena(cx);
    void (*warn)(void *user, const char *message) = cx->warn;
    void (*progress)(void *user, const char *what, size_t done, size_t total) = cx->progress;

    /*
     * The models of a trial point at these settings, and all of them go with the arena, so that both may live here.
     */
    model.settings = &settings;
    cx->warn = NULL;
    cx->progress = NULL;
    enum nuc_status status = nuc_try(cx, run_trial, &t);
    cx->warn = warn;
    cx->progress = progress;
    nuc_pop_arena(cx, outer);
    if (!nuc_is_answer(status))
        nuc_fail_again(cx, status);
    return status;
}

struct nuc_model *nuc_partition_prepared(struct nuc_model *prepared)
{
    struct nuc_job j = {.c = prepared->c, .m = prepared, .use_up = true};

    nuc_run_stages(&j, NUC_STAGE_QUANTIZE, NUC_STAGE_QUANTIZE);
    nuc_quantize_done(prepared->calibration);
    nuc_graph_let_go(prepared->graph);
    nuc_run_stages(&j, NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);
    return j.m;
}

/* The samples are let go before observers become nodes, which takes memory of its own. */
void nuc_quantize_with(struct nuc_job *j, struct nuc_sample_source calibration, enum nuc_samples part)
{
    j->source = calibration;
    j->part = part;
    struct nuc_sub_arena *sub = nuc_open_samples(j);
    nuc_run_stages(j, NUC_STAGE_ATEN_PASSES, NUC_STAGE_EQUALIZE);
    nuc_close_samples(j, sub);
    nuc_run_stages(j, NUC_STAGE_WIDEN, NUC_STAGE_WIDEN);
    struct nuc_calibration *observed = j->m->calibration;
    j->prepared = j->m;
    nuc_run_stages(j, NUC_STAGE_QUANTIZE, NUC_STAGE_QUANTIZE);
    nuc_quantize_done(observed);
}
