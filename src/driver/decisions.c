/* What the outputs mean: --decision against the model, and thresholds that are quantiles of calibration data. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/decision_json.h"
#include "driver/model_metadata.h"
#include "driver/stages.h"
#include "ir/obstacles.h"

static const char *output_name(void *user, size_t index)
{
    const struct nuc_model *m = user;

    return index < nuc_model_n_outputs(m) ? nuc_output_name(m, index) : NULL;
}

/* NULL, or why the decision does not fit. */
static const char *put_on_outputs(const struct nuc_model *m, struct nuc_decision_rule *d)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_tensor_info t;
    const char *why = NULL;

    for (size_t i = 0; i < d->n_views && why == NULL; i++) {
        const size_t index = d->views[i].output;
        if (nuc_model_output(m, index, &t) != NUC_OK)
            return nuc_format(cx, "is of output %zu, %s has %zu: numbers count from 0", index, m->graph->file,
                              nuc_model_n_outputs(m));
        const struct nuc_decision_output o = {
            .name = nuc_output_name(m, index), .dtype = t.dtype, .rank = t.rank, .sizes = t.sizes, .scale = 1};
        why = nuc_decision_bind(cx, d, i, &o);
        /* Of steps that a window has many of, a hop may bring one. */
        if (nuc_waits_for_stream(m) && d->kind != NUC_DECIDE_ANOMALY)
            why = NULL;
    }
    return why;
}

void nuc_note_decision(struct nuc_model *m, const struct nuc_decision_rule *stored)
{
    const struct nuc_decision_source source = {.output_name = output_name, .user = m};
    struct nuc_context *cx = m->c->cx;
    const char *given = m->settings->o.decision;

    if ((given == NULL && stored == NULL) || (cx->obstacles != NULL && cx->obstacles->count > 0))
        return;
    struct nuc_decision_rule *d =
        given != NULL ? nuc_decision_read_option(cx, given, &source) : nuc_copy(cx, stored, sizeof *stored);
    const char *why = put_on_outputs(m, d);
    if (why != NULL && given != NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "--decision: %s", why);
    if (why != NULL)
        nuc_warn(cx, "%s: the decision that it carries is not used: %s", m->graph->file, why);
    else
        m->decision = d;
}

bool nuc_takes_quantile(const struct nuc_model *m)
{
    return m->decision != NULL && isnan(m->decision->threshold);
}

void nuc_check_decision(const struct nuc_model *m, bool has_samples)
{
    const struct nuc_decision_rule *d = m->decision;

    if (d == NULL || m->settings->o.decision == NULL)
        return;
    if (m->settings->o.no_metadata)
        nuc_fail(m->c->cx, NUC_BAD_USAGE, "--decision: is a part of the program's facts: leave --no-metadata out");
    if (isnan(d->threshold) && !has_samples)
        nuc_fail(
            m->c->cx, NUC_BAD_USAGE,
            "--decision: the threshold is a quantile of calibration data: give samples with --calibration DATA, or "
            "a threshold");
}

/* ---- quantiles ---- */

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Scores of all samples, by the quantized model's values. */
static float *score_samples(struct nuc_job *j, const struct nuc_decision_rule *d)
{
    struct nuc_context *cx = j->c->cx;
    struct nuc_model plain = *j->m; /* samples are as the graph has them */
    struct nuc_decider decider;
    struct nuc_found found;
    float *scores = nuc_alloc_array(cx, j->samples->n_samples, sizeof *scores);
    const size_t n_outputs = nuc_model_n_outputs(j->m);
    const void **inputs = nuc_alloc_array(cx, j->samples->n_inputs, sizeof(void *));
    void **outputs = nuc_alloc_array(cx, n_outputs, sizeof(void *));
    struct nuc_tensor_info t;

    plain.io = NULL;
    plain.evaluator = NULL;
    plain.sequence = NULL;
    nuc_decider_init(&decider, d, &found, 1, NULL, 0);
    for (size_t i = 0; i < n_outputs; i++) {
        if (nuc_model_output(&plain, i, &t) != NUC_OK)
            nuc_fail(cx, NUC_UNSUPPORTED, "%s: output %zu is not a tensor", j->m->graph->file, i);
        outputs[i] = nuc_alloc(cx, t.bytes + 1);
    }
    for (size_t k = 0; k < j->samples->n_samples; k++) {
        nuc_dataset_read_sample(j->samples, k, inputs);
        if (nuc_dataset_begins(j->samples, k))
            nuc_model_reset(&plain);
        nuc_check(cx, nuc_model_run(&plain, inputs, outputs));
        nuc_decider_run(&decider, (const void *const *)outputs);
        scores[k] = found.score;
    }
    return scores;
}

void nuc_note_threshold(struct nuc_job *j)
{
    if (!nuc_takes_quantile(j->m))
        return;
    struct nuc_decision_rule *d = nuc_copy(j->c->cx, j->m->decision, sizeof *d);
    struct nuc_sub_arena *memory = nuc_open_samples(j);
    nuc_dataset_bind_model(j->samples, j->m);
    struct nuc_sub_arena *work = nuc_enter_sub_arena(j->c->cx);
    float *scores = score_samples(j, d);
    /* The least number that at least this share of them does not exceed. */
    const size_t n = j->samples->n_samples;
    const double place = ceil((double)d->quantile * (double)n);
    qsort(scores, n, sizeof *scores, by_value);
    d->threshold = scores[place < 1 ? 0 : place > (double)n ? n - 1 : (size_t)place - 1];
    nuc_leave_sub_arena(j->c->cx, work);
    nuc_free_sub_arena(work);
    nuc_close_samples(j, memory);
    j->m->decision = d;
}
