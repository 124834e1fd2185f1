/* Classes over time, keypoints, anomalies, and what all decisions share. */
#include "device/decision/decision.h"

/* ---- classes ---- */

static bool is_ignored(const struct nuc_decision_rule *d, uint32_t class_index)
{
    for (uint32_t i = 0; i < d->n_ignored; i++) {
        if (d->ignored[i] == class_index)
            return true;
    }
    return false;
}

/* The history begins with the smoothed scores; the average's newest scores follow, a step after the other. */
static float smoothed(struct nuc_decider *s, uint32_t class_index, float score)
{
    const struct nuc_decision_rule *d = s->decision;
    const uint32_t n = d->views[0].values, seen = s->step < d->window ? s->step + 1 : d->window;
    float *mean = &s->history[class_index], sum = 0;

    if (d->smoothing == NUC_SMOOTH_EXPONENTIAL && s->step > 0)
        *mean += d->alpha * (score - *mean);
    else
        *mean = score;
    if (d->smoothing != NUC_SMOOTH_AVERAGE)
        return *mean;
    s->history[n + (size_t)(s->step % d->window) * n + class_index] = score;
    for (uint32_t i = 0; i < seen; i++)
        sum += s->history[n + (size_t)i * n + class_index];
    *mean = sum / (float)seen;
    return *mean;
}

/* Smooths all scores; the best one that may be an event. */
static int32_t best_event(struct nuc_decider *s, const void *const *outputs)
{
    const struct nuc_decision_rule *d = s->decision;
    const struct nuc_decision_view *v = &d->views[0];
    float most = 0, sum = 1, best = 0;
    int32_t found = NUC_DECISION_NOTHING;

    if (d->activation == NUC_SCORE_SOFTMAX)
        sum = nuc_softmax_sum(v, outputs, 0, 0, v->values, &most);
    for (uint32_t i = 0; i < v->values; i++) {
        float value = nuc_view_value(v, outputs, 0, i);
        value = d->activation == NUC_SCORE_SOFTMAX ? nuc_real_exp(value - most) / sum : nuc_view_score(d, value);
        value = smoothed(s, i, value);
        if (is_ignored(d, i) || !(found == NUC_DECISION_NOTHING ? value == value : value > best))
            continue;
        best = value;
        found = (int32_t)i;
    }
    return found;
}

/* Notes that this step has found something or not: what is new begins an event. */
static void follow(struct nuc_decider *s, int32_t label)
{
    const struct nuc_decision_rule *d = s->decision;
    const float score = label >= 0 ? s->history[label] : 0;
    const bool is_high = label >= 0 && score >= d->threshold;

    s->streak = is_high && label == s->rising ? s->streak + 1 : is_high;
    s->rising = is_high ? label : NUC_DECISION_NOTHING;
    if (s->active >= 0 && !(s->history[s->active] >= d->release))
        s->active = NUC_DECISION_NOTHING;
    if (s->quiet < UINT32_MAX)
        s->quiet++;
    if (is_high && s->active != label && s->streak >= d->minimum_count && s->quiet >= d->refractory_steps) {
        s->active = label;
        s->is_new = true;
        s->quiet = 0;
    }
}

static void decide_classes(struct nuc_decider *s, const void *const *outputs)
{
    follow(s, best_event(s, outputs));
    if (s->active >= 0)
        s->found[s->n_found++] = (struct nuc_found){.label = s->active, .score = s->history[s->active]};
}

/* ---- keypoints ---- */

/* A quarter of a cell towards the higher of the two neighbours along an axis. */
static float towards(const struct nuc_decision_rule *d, const void *const *outputs, uint32_t point, uint32_t place,
                     uint32_t at, uint32_t count, uint32_t step)
{
    if (!d->is_refined || at == 0 || at + 1 >= count)
        return 0;
    const float before = nuc_view_value(&d->views[0], outputs, place - step, point);
    const float after = nuc_view_value(&d->views[0], outputs, place + step, point);
    return after > before ? 0.25f : after < before ? -0.25f : 0;
}

static struct nuc_found highest(const struct nuc_decision_rule *d, const void *const *outputs, uint32_t point)
{
    const struct nuc_decision_view *v = &d->views[0];
    uint32_t best = 0;

    for (uint32_t place = 1; place < v->places; place++) {
        if (nuc_view_value(v, outputs, place, point) > nuc_view_value(v, outputs, best, point))
            best = place;
    }
    const uint32_t column = best % d->columns, row = best / d->columns;
    float x = (float)column + 0.5f + towards(d, outputs, point, best, column, d->columns, 1);
    float y = (float)row + 0.5f + towards(d, outputs, point, best, row, d->rows, d->columns);
    struct nuc_found found = {.score = nuc_view_score(d, nuc_view_value(v, outputs, best, point))};
    found.x = x / (float)d->columns;
    found.y = y / (float)d->rows;
    if (d->n_views == 1)
        return found;
    /* Offsets from the corner of the cell, in units of the input: y of all points, then x of all. */
    found.y = (float)row / (float)d->rows + nuc_view_value(&d->views[1], outputs, best, point) / d->input_size[1];
    found.x = (float)column / (float)d->columns +
              nuc_view_value(&d->views[1], outputs, best, point + d->points) / d->input_size[0];
    return found;
}

static void decide_keypoints(struct nuc_decider *s, const void *const *outputs)
{
    const struct nuc_decision_rule *d = s->decision;
    const struct nuc_decision_view *v = &d->views[0];

    for (uint32_t i = 0; i < d->points; i++) {
        struct nuc_found found = {.score = 1};
        if (d->form == NUC_POINTS_HEATMAP) {
            found = highest(d, outputs, i);
        } else {
            found.x = nuc_view_value(v, outputs, i, d->is_y_first) / d->input_size[0];
            found.y = nuc_view_value(v, outputs, i, !d->is_y_first) / d->input_size[1];
            if (v->values > 2)
                found.score = nuc_view_score(d, nuc_view_value(v, outputs, i, 2));
        }
        found.label = (int32_t)i;
        if (found.score >= d->threshold)
            s->found[s->n_found++] = found;
    }
}

/* ---- anomalies ---- */

static float mean_of(const struct nuc_decision_view *v, const void *const *outputs)
{
    float sum = 0;

    for (uint32_t i = 0; i < v->places; i++)
        sum += nuc_view_value(v, outputs, i, 0);
    return sum / (float)v->places;
}

static float greatest_of(const struct nuc_decision_view *v, const void *const *outputs)
{
    float most = nuc_view_value(v, outputs, 0, 0);

    for (uint32_t i = 1; i < v->places; i++) {
        const float value = nuc_view_value(v, outputs, i, 0);
        most = value > most ? value : most;
    }
    return most;
}

static void decide_anomaly(struct nuc_decider *s, const void *const *outputs)
{
    const struct nuc_decision_rule *d = s->decision;
    const struct nuc_decision_view *v = &d->views[0];
    const float score = d->form == NUC_ANOMALY_MAX ? greatest_of(v, outputs) : mean_of(v, outputs);
    const bool is_anomaly = score > d->threshold || score != score;
    s->found[s->n_found++] = (struct nuc_found){.label = is_anomaly, .score = score};
    s->is_new = is_anomaly && s->active != 1;
    s->active = is_anomaly;
}

/* ---- all ---- */

size_t nuc_decision_found(const struct nuc_decision_rule *d)
{
    return d->kind == NUC_DECIDE_BOXES ? d->candidates : d->kind == NUC_DECIDE_KEYPOINTS ? d->points : 1;
}

size_t nuc_decision_history(const struct nuc_decision_rule *d)
{
    if (d->kind != NUC_DECIDE_CLASSES)
        return 0;
    return (size_t)d->views[0].values * (1 + (d->smoothing == NUC_SMOOTH_AVERAGE ? (size_t)d->window : 0));
}

void nuc_decider_reset(struct nuc_decider *s)
{
    s->n_found = 0;
    s->is_new = false;
    s->step = s->streak = 0;
    s->quiet = UINT32_MAX;
    s->active = s->rising = NUC_DECISION_NOTHING;
}

enum nuc_status nuc_decider_init(struct nuc_decider *s, const struct nuc_decision_rule *d, struct nuc_found *found,
                                 size_t n_found, float *history, size_t n_history)
{
    *s = (struct nuc_decider){.decision = d, .found = found, .history = history};
    nuc_decider_reset(s);
    return n_found >= nuc_decision_found(d) && n_history >= nuc_decision_history(d) ? NUC_OK : NUC_NO_MEMORY;
}

enum nuc_status nuc_decider_run(struct nuc_decider *s, const void *const *outputs)
{
    s->n_found = 0;
    s->is_new = false;
    switch (s->decision->kind) {
    case NUC_DECIDE_CLASSES:
        decide_classes(s, outputs);
        break;
    case NUC_DECIDE_BOXES:
        nuc_decide_boxes(s, outputs);
        s->is_new = s->n_found > 0;
        break;
    case NUC_DECIDE_KEYPOINTS:
        decide_keypoints(s, outputs);
        s->is_new = s->n_found > 0;
        break;
    case NUC_DECIDE_ANOMALY:
        decide_anomaly(s, outputs);
        break;
    default:
        return NUC_BAD_USAGE;
    }
    if (s->step < UINT32_MAX)
        s->step++;
    return NUC_OK;
}
