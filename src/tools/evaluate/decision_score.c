/*
 * How good the decisions of a program, and those of the reference by the same rule, are against labels: arrays
 * label_boxes, label_points, label_events and label_anomaly of the data set (docs/evaluate.md).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/json_build.h"
#include "data/decision_json.h"
#include "host/numbers.h"
#include "tools/evaluate/shard.h"

/* What was found in a sample, or is labelled: for each box or step. */
struct mark {
    size_t sample;
    struct nuc_found found;
    bool is_new, begins; /* of steps: a sequence begins */
};

struct marks {
    struct mark *items;
    size_t count, room;
};

struct nuc_decision_scoring {
    enum nuc_decision_kind kind;
    const struct nuc_array_info *labels;
    struct nuc_array_info array; /* of all samples, which shards have parts of */
    size_t first;                /* sample of the shard */
    struct nuc_decider reference;
    struct marks of[2]; /* of the program, of the reference */
};

static const char *const label_names[] = {
    [NUC_DECIDE_CLASSES] = "label_events",
    [NUC_DECIDE_BOXES] = "label_boxes",
    [NUC_DECIDE_KEYPOINTS] = "label_points",
    [NUC_DECIDE_ANOMALY] = "label_anomaly",
};

bool nuc_is_decision_label(const struct nuc_scoring *s, const char *name)
{
    const struct nuc_decision_rule *d = nuc_runner_decision(s->runner);

    return d != NULL && strcmp(name, label_names[d->kind]) == 0;
}

/* ---- labels ---- */

static double label_at(const struct nuc_array_info *a, size_t i)
{
    return nuc_number_at(a->dtype, a->data, i);
}

static size_t all_samples(const struct nuc_scoring *s)
{
    return s->result->origin != NULL ? s->result->origin->n_samples : s->result->n_samples;
}

static bool has_shape(const struct nuc_scoring *s, const struct nuc_decision_rule *d, const struct nuc_array_info *a)
{
    if (a->rank == 0 || a->sizes[0] != (int64_t)all_samples(s))
        return false;
    if (d->kind == NUC_DECIDE_BOXES)
        return a->rank == 3 && a->sizes[2] == 5;
    if (d->kind == NUC_DECIDE_KEYPOINTS)
        return a->rank == 3 && a->sizes[1] == (int64_t)d->points && (a->sizes[2] == 2 || a->sizes[2] == 3);
    return a->rank == 1;
}

static const char *shape_of(struct nuc_context *cx, const struct nuc_decision_rule *d, size_t n)
{
    if (d->kind == NUC_DECIDE_BOXES)
        return nuc_format(cx, "[%zu, most, 5]: class (-1: none), left, top, width, height", n);
    if (d->kind == NUC_DECIDE_KEYPOINTS)
        return nuc_format(cx, "[%zu, %u, 2 or 3]: x, y, and 0 for a point that is not there", n, (unsigned)d->points);
    return nuc_format(
        cx, d->kind == NUC_DECIDE_CLASSES ? "[%zu]: the class of the step, -1: none" : "[%zu]: 1 of an anomaly, else 0",
        n);
}

/* A class, -1 of none, or a number; what stands beside no box and no point may be anything. */
static bool is_label(const struct nuc_decision_rule *d, const struct nuc_array_info *a, size_t i)
{
    const size_t columns = a->rank == 3 ? (size_t)a->sizes[2] : 1, first = i - i % columns;
    const double v = label_at(a, i);

    if (d->kind == NUC_DECIDE_ANOMALY)
        return isfinite(v) && (!(fabs(v) > 0) || !(fabs(v - 1) > 0));
    if (d->kind == NUC_DECIDE_KEYPOINTS)
        return isfinite(v) || (columns == 3 && i % 3 < 2 && !(fabs(label_at(a, first + 2)) > 0));
    if (i > first)
        return isfinite(v) || label_at(a, first) < 0;
    return v >= -1 && v < d->views[d->n_views - 1].values && !(v < floor(v) || v > floor(v));
}

static void open_reference(struct nuc_scoring *s, const struct nuc_decision_rule *of, struct nuc_decision_scoring *p)
{
    struct nuc_decision_rule *d = nuc_copy(s->cx, of, sizeof *d);

    for (size_t i = 0; i < d->n_views; i++) {
        const struct nuc_scored_output *out = &s->outputs[d->views[i].output];
        const struct nuc_tensor_info *t = &out->score->info;
        const struct nuc_decision_output o = {
            .name = t->name, .dtype = out->reference_type, .rank = t->rank, .sizes = t->sizes, .scale = 1};
        const char *why = nuc_decision_bind(s->cx, d, i, &o);
        if (why != NULL)
            nuc_fail(s->cx, NUC_UNSUPPORTED, "%s: %s", nuc_model_file(s->reference), why);
    }
    const size_t n_found = nuc_decision_found(d), n_history = nuc_decision_history(d);
    nuc_decider_init(&p->reference, d, nuc_alloc_array(s->cx, n_found, sizeof(struct nuc_found)), n_found,
                     nuc_alloc_array(s->cx, n_history + 1, sizeof(float)), n_history);
}

void nuc_open_decision_scores(struct nuc_scoring *s)
{
    const struct nuc_decision_rule *d = nuc_runner_decision(s->runner);
    struct nuc_decision_scoring *p;

    if (d == NULL)
        return;
    p = nuc_alloc(s->cx, sizeof *p);
    p->kind = d->kind;
    p->first = s->first;
    for (size_t i = 0; i < nuc_dataset_n_arrays(s->data); i++) {
        nuc_check(s->cx, nuc_dataset_array(s->data, i, &p->array));
        if (!nuc_is_decision_label(s, p->array.name))
            continue;
        nuc_label_steps(s, &p->array);
        if (!has_shape(s, d, &p->array))
            nuc_fail(s->cx, NUC_BAD_INPUT, "%s: array '%s' is %s %s, it takes %s", s->data->path, p->array.name,
                     nuc_dtype_name(p->array.dtype), nuc_sizes_text(s->cx, p->array.sizes, p->array.rank),
                     shape_of(s->cx, d, all_samples(s)));
        size_t n = 1;
        for (size_t k = 0; k < p->array.rank; k++)
            n *= (size_t)p->array.sizes[k];
        for (size_t k = 0; k < n; k++) {
            if (!is_label(d, &p->array, k))
                nuc_fail(s->cx, NUC_BAD_INPUT, "%s: array '%s' has %g for sample %zu, it takes %s", s->data->path,
                         p->array.name, label_at(&p->array, k), k / (n / (size_t)p->array.sizes[0]),
                         shape_of(s->cx, d, all_samples(s)));
        }
        p->labels = &p->array;
        break;
    }
    if (p->labels == NULL)
        return;
    if (d->kind == NUC_DECIDE_CLASSES && s->options->shard.count != 0)
        nuc_fail(s->cx, NUC_BAD_USAGE,
                 "--shard %zu/%zu: decisions are over time, so that one depends on those before it: evaluate the whole "
                 "data set without --shard",
                 s->options->shard.index, s->options->shard.count);
    if (s->reference != NULL)
        open_reference(s, d, p);
    s->decisions = p;
    s->result->decision = nuc_decision_kind_name(d->kind);
}

/* ---- one sample ---- */

static void add(struct nuc_scoring *s, struct marks *to, size_t sample, const struct nuc_decider *d, bool begins)
{
    const bool by_step = d->decision->kind == NUC_DECIDE_CLASSES;
    const size_t n = by_step ? 1 : d->n_found;

    to->items = nuc_grow(s->cx, to->items, &to->room, to->count + n + 1, sizeof *to->items);
    for (size_t i = 0; i < n; i++) {
        struct mark *m = &to->items[to->count++];
        *m = (struct mark){.sample = sample, .is_new = d->is_new, .begins = begins, .found = {.label = -1}};
        if (i < d->n_found)
            m->found = d->found[i];
    }
}

void nuc_count_decision(struct nuc_scoring *s, size_t sample)
{
    struct nuc_decision_scoring *p = s->decisions;
    const bool begins = nuc_dataset_begins(s->data, sample);
    const struct nuc_decider *d;

    if (p == NULL)
        return;
    nuc_check(s->cx, nuc_runner_decide(s->runner, &d));
    add(s, &p->of[0], sample, d, begins);
    if (s->reference == NULL)
        return;
    if (begins)
        nuc_decider_reset(&p->reference);
    nuc_decider_run(&p->reference, (const void *const *)s->reference_blocks);
    add(s, &p->of[1], sample, &p->reference, begins);
}

/* ---- boxes: average precision as COCO has it, 101 recalls and ten overlaps ---- */

static double overlap(const struct nuc_found *a, const struct nuc_found *b)
{
    const double w = fmin((double)(a->x + a->w), (double)(b->x + b->w)) - fmax((double)a->x, (double)b->x);
    const double h = fmin((double)(a->y + a->h), (double)(b->y + b->h)) - fmax((double)a->y, (double)b->y);
    const double both = w > 0 && h > 0 ? w * h : 0;
    const double all = (double)a->w * (double)a->h + (double)b->w * (double)b->h - both;

    return all > 0 ? both / all : 0;
}

/* The best first; of equal ones the first. */
static int by_score(const void *a, const void *b)
{
    const struct mark *const *x = a, *const *y = b;
    const float p = (*x)->found.score, q = (*y)->found.score;

    return p != q ? (p < q ? 1 : -1) : (*x > *y) - (*x < *y);
}

struct labelled {
    struct marks boxes; /* by sample */
    size_t *first;      /* of each sample, and of none behind the last one */
    bool *taken;
};

static struct labelled labelled_boxes(struct nuc_scoring *s)
{
    const struct nuc_array_info *a = s->decisions->labels;
    const size_t n = s->result->n_samples, most = (size_t)a->sizes[1];
    struct labelled l = {.first = nuc_alloc_array(s->cx, n + 1, sizeof *l.first)};

    l.boxes.items = nuc_alloc_array(s->cx, n * most + 1, sizeof *l.boxes.items);
    l.taken = nuc_alloc_array(s->cx, n * most + 1, sizeof *l.taken);
    for (size_t i = 0; i < n; i++) {
        l.first[i] = l.boxes.count;
        for (size_t k = 0; k < most; k++) {
            const size_t at = (i * most + k) * 5;
            const double label = label_at(a, at);
            if (!(label >= 0 && label <= 1 << 20))
                continue;
            l.boxes.items[l.boxes.count++] =
                (struct mark){.sample = i,
                              .found = {(int32_t)label, 1, (float)label_at(a, at + 1), (float)label_at(a, at + 2),
                                        (float)label_at(a, at + 3), (float)label_at(a, at + 4)}};
        }
    }
    l.first[n] = l.boxes.count;
    return l;
}

/* Whether the box takes a label that none took before: the one that it overlaps most with. */
static bool hits(struct labelled *l, const struct mark *m, double least)
{
    size_t best = l->boxes.count;

    for (size_t i = l->first[m->sample]; i < l->first[m->sample + 1]; i++) {
        const struct nuc_found *f = &l->boxes.items[i].found;
        const double iou = overlap(f, &m->found);
        if (f->label == m->found.label && !l->taken[i] && iou >= least) {
            least = iou;
            best = i;
        }
    }
    if (best < l->boxes.count)
        l->taken[best] = true;
    return best < l->boxes.count;
}

static double precision_of(struct labelled *l, const struct mark *const *sorted, size_t n, int32_t label,
                           size_t n_label, double iou, double *precision, double *recall)
{
    size_t count = 0, right = 0;
    double sum = 0;

    memset(l->taken, 0, l->boxes.count * sizeof *l->taken);
    for (size_t i = 0; i < n; i++) {
        if (sorted[i]->found.label != label)
            continue;
        right += hits(l, sorted[i], iou);
        precision[count] = (double)right / (double)(count + 1);
        recall[count++] = (double)right / (double)n_label;
    }
    for (size_t i = count; i-- > 1;)
        precision[i - 1] = fmax(precision[i - 1], precision[i]);
    for (size_t k = 0, i = 0; k <= 100; k++) {
        while (i < count && recall[i] < (double)k / 100)
            i++;
        sum += i < count ? precision[i] : 0;
    }
    return sum / 101;
}

static void score_boxes(struct nuc_scoring *s, const struct marks *found, struct nuc_decision_score *out)
{
    struct labelled l = labelled_boxes(s);
    const struct mark **sorted = nuc_alloc_array(s->cx, found->count + 1, sizeof *sorted);
    double *precision = nuc_alloc_array(s->cx, found->count + 1, sizeof *precision);
    double *recall = nuc_alloc_array(s->cx, found->count + 1, sizeof *recall);
    size_t n_classes = 0;
    int32_t most = -1;

    for (size_t i = 0; i < found->count; i++)
        sorted[i] = &found->items[i];
    qsort(sorted, found->count, sizeof *sorted, by_score);
    for (size_t i = 0; i < l.boxes.count; i++)
        most = l.boxes.items[i].found.label > most ? l.boxes.items[i].found.label : most;
    for (int32_t label = 0; label <= most; label++) {
        size_t n_label = 0;
        for (size_t i = 0; i < l.boxes.count; i++)
            n_label += l.boxes.items[i].found.label == label;
        for (int k = 0; k < 10 && n_label > 0; k++) {
            double ap = precision_of(&l, sorted, found->count, label, n_label, 0.5 + 0.05 * k, precision, recall);
            out->map50 += k == 0 ? ap : 0;
            out->map += ap / 10;
        }
        n_classes += n_label > 0;
    }
    out->n_labelled = l.boxes.count;
    out->n_found = found->count;
    out->map50 /= n_classes > 0 ? (double)n_classes : 1;
    out->map /= n_classes > 0 ? (double)n_classes : 1;
}

/* ---- keypoints ---- */

static void score_points(struct nuc_scoring *s, const struct marks *found, struct nuc_decision_score *out)
{
    const struct nuc_array_info *a = s->decisions->labels;
    const size_t points = (size_t)a->sizes[1], values = (size_t)a->sizes[2];
    double sum = 0;

    for (size_t i = 0; i < s->result->n_samples * points; i++)
        out->n_labelled += values == 2 || label_at(a, i * values + 2) > 0;
    for (size_t i = 0; i < found->count; i++) {
        const struct mark *m = &found->items[i];
        const size_t at = (m->sample * points + (size_t)m->found.label) * values;
        if (values == 3 && !(label_at(a, at + 2) > 0))
            continue;
        double x = (double)m->found.x - label_at(a, at);
        double y = (double)m->found.y - label_at(a, at + 1);
        sum += sqrt(x * x + y * y); /* the same bits with each C library, which hypot() is not */
        out->n_found++;
    }
    out->distance = out->n_found > 0 ? sum / (double)out->n_found : (double)NAN;
}

/* ---- events ---- */

static bool is_event(const struct nuc_decision_rule *d, double label)
{
    for (size_t i = 0; i < d->n_ignored; i++) {
        if (label == (double)d->ignored[i]) /* NOLINT: both are whole */
            return false;
    }
    return label >= 0;
}

/* Steps [first, last) with one label, and what begins there or soon after. */
static void score_event(struct nuc_scoring *s, const struct marks *found, size_t first, size_t last, size_t soon,
                        bool *used, struct nuc_decision_score *out)
{
    const int32_t label = (int32_t)label_at(s->decisions->labels, first);

    out->n_labelled++;
    for (size_t i = first; i < found->count && i < last + soon; i++) {
        if (i > first && found->items[i].begins)
            return;
        if (!found->items[i].is_new || used[i] || found->items[i].found.label != label)
            continue;
        used[i] = true;
        out->n_found++;
        out->delay_steps += (double)(i - first);
        return;
    }
}

static void score_events(struct nuc_scoring *s, const struct marks *found, struct nuc_decision_score *out)
{
    const struct nuc_decision_rule *d = nuc_runner_decision(s->runner);
    const struct nuc_array_info *a = s->decisions->labels;
    const double step = (double)d->step_seconds;
    const size_t soon = step > 0 ? (size_t)ceil(1 / step) : 1;
    bool *used = nuc_alloc_array(s->cx, found->count + 1, sizeof *used);

    for (size_t i = 0, end; i < found->count; i = end) {
        end = i + 1;
        if (!is_event(d, label_at(a, i)))
            continue;
        while (end < found->count && !found->items[end].begins && label_at(a, end) == label_at(a, i)) /* NOLINT */
            end++;
        score_event(s, found, i, end, soon, used, out);
    }
    for (size_t i = 0; i < found->count; i++)
        out->n_false += found->items[i].is_new && !used[i];
    out->delay_steps = out->n_found > 0 ? out->delay_steps / (double)out->n_found : (double)NAN;
    const bool timed = step > 0 && found->count > 0;
    out->false_per_hour = timed ? (double)out->n_false * 3600 / ((double)found->count * step) : (double)NAN;
    out->delay_seconds = step > 0 ? out->delay_steps * step : (double)NAN;
}

/* ---- anomalies ---- */

/* The share of pairs of an anomaly and a normal sample in which the anomaly's score is higher; ties count half. */
static void score_anomalies(struct nuc_scoring *s, const struct marks *found, struct nuc_decision_score *out)
{
    const struct mark **sorted = nuc_alloc_array(s->cx, found->count + 1, sizeof *sorted);
    const struct nuc_array_info *a = s->decisions->labels;
    double pairs = 0;
    size_t anomalies = 0; /* with higher scores */

    for (size_t i = 0; i < found->count; i++) {
        const bool is = label_at(a, i) > 0, said = found->items[i].found.label > 0;
        sorted[i] = &found->items[i];
        out->n_labelled += is;
        out->n_found += is && said;
        out->n_false += !is && said;
    }
    out->n_normal = found->count - out->n_labelled;
    qsort(sorted, found->count, sizeof *sorted, by_score);
    for (size_t i = 0, end; i < found->count; i = end) {
        size_t equal[2] = {0, 0};
        for (end = i; end < found->count && !(sorted[end]->found.score < sorted[i]->found.score); end++)
            equal[label_at(a, sorted[end]->sample) > 0]++;
        pairs += (double)equal[0] * ((double)anomalies + (double)equal[1] / 2);
        anomalies += equal[1];
    }
    const double all = (double)out->n_labelled * (double)out->n_normal;
    out->auc = all > 0 ? pairs / all : (double)NAN;
}

/* ---- all ---- */

static void score(struct nuc_scoring *s)
{
    static void (*const kinds[])(struct nuc_scoring *, const struct marks *, struct nuc_decision_score *) = {
        [NUC_DECIDE_CLASSES] = score_events,
        [NUC_DECIDE_BOXES] = score_boxes,
        [NUC_DECIDE_KEYPOINTS] = score_points,
        [NUC_DECIDE_ANOMALY] = score_anomalies,
    };

    for (size_t i = 0; i < 1 + (size_t)s->result->has_reference; i++)
        kinds[s->decisions->kind](s, &s->decisions->of[i],
                                  i == 0 ? &s->result->program_decisions : &s->result->reference_decisions);
}

void nuc_finish_decisions(struct nuc_scoring *s)
{
    if (s->decisions == NULL)
        return;
    if (s->result->shard.count == 0) {
        score(s);
        return;
    }
    struct nuc_evaluation_origin *origin = nuc_copy(s->cx, s->result->origin, sizeof *origin);
    origin->decisions = s->decisions;
    origin->n_decided = s->result->n_samples;
    s->result->origin = origin;
}

/* ---- shards ---- */

enum { MARK_NUMBERS = 7 };

static void put_marks(struct nuc_context *cx, json_t *to, const char *key, const struct marks *marks, size_t first)
{
    json_t *list = nuc_put_array(cx, to, key);

    for (size_t i = 0; i < marks->count; i++) {
        const struct mark *m = &marks->items[i];
        const float numbers[] = {m->found.score, m->found.x, m->found.y, m->found.w, m->found.h};
        nuc_put_count(cx, list, NULL, first + m->sample);
        nuc_put_int(cx, list, NULL, m->found.label);
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            nuc_put_double(cx, list, NULL, (double)numbers[k]);
    }
}

/* Labels of a sample. */
static size_t of_sample(const struct nuc_array_info *a)
{
    return a->rank == 3 ? (size_t)(a->sizes[1] * a->sizes[2]) : 1;
}

void nuc_put_decision_marks(struct nuc_context *cx, json_t *shard, const struct nuc_evaluation *e)
{
    const struct nuc_decision_scoring *p = e->origin->decisions;

    if (p == NULL)
        return;
    json_t *to = nuc_put_object(cx, shard, "decisions"), *sizes = nuc_put_array(cx, to, "sizes");
    for (size_t i = 1; i < p->labels->rank; i++)
        nuc_put_count(cx, sizes, NULL, (uint64_t)p->labels->sizes[i]);
    json_t *labels = nuc_put_array(cx, to, "labels");
    const size_t n = of_sample(p->labels);
    for (size_t i = p->first * n; i < (p->first + e->origin->n_decided) * n; i++)
        nuc_put_double(cx, labels, NULL, label_at(p->labels, i));
    put_marks(cx, to, "program", &p->of[0], p->first);
    if (e->has_reference)
        put_marks(cx, to, "reference", &p->of[1], p->first);
}

static void read_marks(const struct nuc_json *from, const char *key, const struct nuc_decision_scoring *p, size_t end,
                       struct marks *to)
{
    const struct nuc_json list = nuc_json_field(from, key);
    const size_t n = nuc_json_count(&list) / MARK_NUMBERS;

    if (nuc_json_count(&list) % MARK_NUMBERS != 0)
        nuc_json_fail(&list, NUC_BAD_INPUT, "has no %d numbers for each decision", MARK_NUMBERS);
    *to = (struct marks){nuc_alloc_array(from->file->cx, n + 1, sizeof *to->items), n, n + 1};
    for (size_t i = 0; i < n; i++) {
        struct mark *m = &to->items[i];
        double v[MARK_NUMBERS];
        for (size_t k = 0; k < MARK_NUMBERS; k++) {
            const struct nuc_json item = nuc_json_item(&list, i * MARK_NUMBERS + k);
            v[k] = nuc_json_double(&item);
        }
        const double most = p->kind == NUC_DECIDE_KEYPOINTS ? (double)p->array.sizes[1] - 1 : 1 << 20;
        const bool is_next = p->kind != NUC_DECIDE_ANOMALY || (v[0] == (double)(p->first + i) && end - p->first == n);
        if (!(v[0] >= (double)p->first && v[0] < (double)end && v[1] >= -1 && v[1] <= most && is_next) ||
            (p->kind == NUC_DECIDE_KEYPOINTS && v[1] < 0))
            nuc_json_fail(&list, NUC_BAD_INPUT, "decision %zu is none of the shard", i);
        *m = (struct mark){.sample = (size_t)v[0],
                           .found = {(int32_t)v[1], (float)v[2], (float)v[3], (float)v[4], (float)v[5], (float)v[6]}};
    }
}

const struct nuc_decision_scoring *nuc_read_decision_marks(const struct nuc_json *shard, const char *kind,
                                                           bool has_reference, size_t first, size_t n)
{
    const struct nuc_json from = nuc_json_field(shard, "decisions"), labels = nuc_json_field(&from, "labels");
    struct nuc_decision_scoring *p = nuc_alloc(shard->file->cx, sizeof *p);
    const size_t count = nuc_json_count(&labels);

    p->kind = kind[0] == 'b' ? NUC_DECIDE_BOXES : kind[0] == 'k' ? NUC_DECIDE_KEYPOINTS : NUC_DECIDE_ANOMALY;
    p->first = first;
    const struct nuc_json sizes = nuc_json_field(&from, "sizes");
    p->array.dtype = NUC_F64;
    p->array.rank = nuc_json_count(&sizes) + 1;
    if (p->array.rank != 1 && p->array.rank != 3)
        nuc_json_fail(&sizes, NUC_BAD_INPUT, "are no sizes of labels");
    for (size_t i = 1; i < p->array.rank; i++) {
        const struct nuc_json item = nuc_json_item(&sizes, i - 1);
        p->array.sizes[i] = nuc_json_int(&item);
        if (p->array.sizes[i] < 1 || p->array.sizes[i] > 1 << 16)
            nuc_json_fail(&item, NUC_BAD_INPUT, "is no size of labels");
    }
    const bool fits = p->kind == NUC_DECIDE_BOXES ? p->array.rank == 3 && p->array.sizes[2] == 5
                      : p->kind == NUC_DECIDE_KEYPOINTS
                          ? p->array.rank == 3 && p->array.sizes[2] <= 3 && p->array.sizes[2] > 1
                          : p->array.rank == 1;
    if (!fits || count % n != 0 || count / n != of_sample(&p->array))
        nuc_json_fail(&labels, NUC_BAD_INPUT, "has not the labels of %zu samples", n);
    double *values = nuc_alloc_array(shard->file->cx, count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        const struct nuc_json item = nuc_json_item(&labels, i);
        values[i] = nuc_json_double(&item);
    }
    p->array.data = values;
    p->labels = &p->array;
    read_marks(&from, "program", p, first + n, &p->of[0]);
    if (has_reference)
        read_marks(&from, "reference", p, first + n, &p->of[1]);
    return p;
}

void nuc_score_decision_shards(struct nuc_context *cx, const struct nuc_decision_scoring *const *shards, size_t count,
                               struct nuc_evaluation *e)
{
    struct nuc_decision_scoring all = *shards[0];
    struct nuc_scoring s = {.cx = cx, .result = e, .decisions = &all};
    const size_t n = of_sample(&all.array);
    double *values = nuc_alloc_array(cx, e->n_samples * n, sizeof *values);

    for (int k = 0; k < 2; k++)
        all.of[k] = (struct marks){NULL, 0, 0};
    for (size_t i = 0; i < count; i++) {
        const struct nuc_decision_scoring *p = shards[i];
        const size_t end = i + 1 < count ? shards[i + 1]->first : e->n_samples;
        if (p->array.rank != all.array.rank || of_sample(&p->array) != n)
            nuc_fail(cx, NUC_BAD_INPUT,
                     "labels of decisions have other sizes in shard %zu: shards of one evaluation "
                     "are merged",
                     i + 1);
        memcpy(values + p->first * n, p->array.data, (end - p->first) * n * sizeof *values);
        for (int k = 0; k < 2; k++) {
            struct marks *to = &all.of[k];
            to->items = nuc_grow(cx, to->items, &to->room, to->count + p->of[k].count + 1, sizeof *to->items);
            if (p->of[k].count > 0)
                memcpy(to->items + to->count, p->of[k].items, p->of[k].count * sizeof *to->items);
            to->count += p->of[k].count;
        }
    }
    all.array.data = values;
    all.labels = &all.array;
    score(&s);
}

/* ---- JSON ---- */

static void put_score(struct nuc_context *cx, json_t *to, const char *key, const char *kind,
                      const struct nuc_decision_score *d)
{
    json_t *o = nuc_put_object(cx, to, key);

    nuc_put_count(cx, o, "labelled", d->n_labelled);
    nuc_put_count(cx, o, "found", d->n_found);
    if (kind[0] == 'b') {
        nuc_put_double(cx, o, "map50", d->map50);
        nuc_put_double(cx, o, "map50_95", d->map);
    } else if (kind[0] == 'k') {
        nuc_put_measure(cx, o, "mean_distance", d->distance);
    } else if (kind[0] == 'c') {
        nuc_put_count(cx, o, "false_alarms", d->n_false);
        nuc_put_measure(cx, o, "false_alarms_per_hour", d->false_per_hour);
        nuc_put_measure(cx, o, "delay_steps", d->delay_steps);
        nuc_put_measure(cx, o, "delay_seconds", d->delay_seconds);
    } else {
        nuc_put_count(cx, o, "normal", d->n_normal);
        nuc_put_count(cx, o, "false_alarms", d->n_false);
        nuc_put_measure(cx, o, "auc", d->auc);
    }
}

void nuc_put_decision_scores(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e)
{
    if (e->decision == NULL)
        return;
    json_t *o = nuc_put_object(cx, to, "decisions");
    nuc_put_string(cx, o, "kind", e->decision);
    put_score(cx, o, "program", e->decision, &e->program_decisions);
    if (e->has_reference)
        put_score(cx, o, "reference", e->decision, &e->reference_decisions);
}
