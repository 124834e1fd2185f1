/* Labels: which array belongs to which output, what it holds, and its classes checked. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/dataset.h"
#include "host/numbers.h"
#include "tools/evaluate/scored_output.h"

/* ---- shapes ---- */

struct shape {
    size_t rank;
    int64_t sizes[NUC_MAX_RANK + 1];
};

static void add_size(struct shape *s, int64_t size)
{
    if (size != 1)
        s->sizes[s->rank++] = size;
}

static bool equal_shapes(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0;
}

enum { NO_AXIS = NUC_MAX_RANK };

/*
 * Whether an array holds for each sample what an output holds without the axis `without` (NO_AXIS: with all of them):
 * its shape is [N] + sizes, or [N * sizes[0]] + sizes[1..] as inputs may have it. Sizes of 1 count nowhere.
 */
static bool holds(const struct nuc_scoring *s, const struct nuc_array_info *a, const struct nuc_tensor_info *t,
                  size_t without)
{
    struct shape array = {0, {0}}, apart = {0, {0}}, joined = {0, {0}};
    int64_t n = (int64_t)s->result->n_samples;

    for (size_t i = 0; i < a->rank; i++)
        add_size(&array, a->sizes[i]);
    add_size(&apart, n);
    add_size(&joined, t->rank > 0 && without != 0 ? n * t->sizes[0] : n);
    for (size_t i = 0; i < t->rank; i++) {
        if (i == without)
            continue;
        add_size(&apart, t->sizes[i]);
        if (i > 0 || without == 0)
            add_size(&joined, t->sizes[i]);
    }
    return equal_shapes(&array, &apart) || equal_shapes(&array, &joined);
}

/* ---- what an array holds ---- */

static size_t count_of(const struct nuc_array_info *a)
{
    return a->bytes / nuc_dtype_size(a->dtype);
}

/* Integers and bool; floats where all are whole numbers. */
static bool holds_whole_numbers(const struct nuc_array_info *a)
{
    for (size_t i = 0; i < count_of(a) && !nuc_is_integer(a->dtype); i++) {
        double v = nuc_number_at(a->dtype, a->data, i);
        if (!(fabs(v) < 0x1p53) || v != floor(v))
            return false;
    }
    return true;
}

static int64_t whole_number(const struct nuc_array_info *a, size_t i)
{
    return nuc_is_integer(a->dtype) ? nuc_int_at(a->dtype, a->data, i) : (int64_t)nuc_number_at(a->dtype, a->data, i);
}

/* The class of a one-hot row, or NUC_UNDECIDED when not exactly one is 1 and the others 0. */
static int64_t hot_class(const struct nuc_scores *s, const struct nuc_array_info *a, size_t row)
{
    int64_t found = NUC_UNDECIDED;

    for (size_t k = 0; k < s->classes; k++) {
        double v = nuc_number_at(a->dtype, a->data, (row / s->inner * s->classes + k) * s->inner + row % s->inner);
        if (v != 0 && (v != 1 || found != NUC_UNDECIDED))
            return NUC_UNDECIDED;
        found = v != 0 ? (int64_t)k : found;
    }
    return found;
}

static size_t n_rows(const struct nuc_scoring *s, const struct nuc_scored_output *o)
{
    return s->result->n_samples * nuc_decisions(&o->scores);
}

static bool is_one_hot(const struct nuc_scoring *s, const struct nuc_scored_output *o, const struct nuc_array_info *a)
{
    for (size_t i = 0; i < n_rows(s, o); i++) {
        if (hot_class(&o->scores, a, i) == NUC_UNDECIDED)
            return false;
    }
    return true;
}

/* ---- classes, checked ---- */

/* Whether an array of classes has only those the output has; ignored ones apart. */
static bool in_range(const struct nuc_scoring *s, const struct nuc_array_info *a, size_t classes)
{
    for (size_t i = 0; i < count_of(a); i++) {
        int64_t v = whole_number(a, i);
        if (v != s->options->ignore_label && (v < 0 || (uint64_t)v >= classes))
            return false;
    }
    return true;
}

static void check_range(const struct nuc_scoring *s, const struct nuc_scored_output *o, const char *name)
{
    size_t n = n_rows(s, o), per_sample = nuc_decisions(&o->scores), bad = n;
    int64_t classes = (int64_t)o->score->n_classes, least = INT64_MAX, most = INT64_MIN;
    const struct nuc_evaluate_options *options = s->options;

    for (size_t i = 0; i < n; i++) {
        int64_t v = o->labels[i];
        if (v == options->ignore_label)
            continue;
        least = v < least ? v : least;
        most = v > most ? v : most;
        if (bad == n && (v < 0 || v >= classes))
            bad = i;
    }
    if (bad == n)
        return;
    if (least == 1 && most == classes)
        nuc_fail(
            s->cx, NUC_BAD_INPUT,
            "%s: array '%s' has labels from 1 to %lld, output '%s' has the classes 0 to %lld: subtract 1 from them",
            s->data->path, name, (long long)most, o->score->name, (long long)classes - 1);
    const char *where = per_sample == 1 ? "" : nuc_format(s->cx, ", place %zu", bad % per_sample);
    nuc_fail(s->cx, NUC_BAD_INPUT,
             "%s: array '%s' has the label %lld at sample %zu%s, output '%s' has the classes 0 to %lld: correct it, or "
             "leave such labels out with --ignore-label %lld",
             s->data->path, name, (long long)o->labels[bad], bad / per_sample, where, o->score->name,
             (long long)classes - 1, (long long)o->labels[bad]);
}

/* ---- which task the labels make of an output ---- */

/* Decisions that lie in two directions of their own: pixels. */
static bool are_pixels(const struct nuc_scored_output *o)
{
    const struct nuc_tensor_info *t = &o->score->info;
    size_t directions = 0;

    for (size_t i = 0; i < t->rank; i++)
        directions += (o->score->is_index || i != o->score->class_axis) && t->sizes[i] > 1;
    return directions >= 2 && (o->score->is_index || t->rank >= 3);
}

static void keep_classes(const struct nuc_scoring *s, struct nuc_scored_output *o, const struct nuc_array_info *a,
                         bool one_hot, const char *because)
{
    const enum nuc_task asked = s->options->task;
    int64_t *labels = nuc_alloc_array(s->cx, n_rows(s, o), sizeof *labels);

    o->score->task = asked != NUC_TASK_AUTO ? asked : are_pixels(o) ? NUC_TASK_SEGMENT : NUC_TASK_CLASSIFY;
    o->score->because = because;
    for (size_t i = 0; i < n_rows(s, o); i++)
        labels[i] = one_hot ? hot_class(&o->scores, a, i) : whole_number(a, i);
    o->labels = labels;
    if (o->score->is_index) {
        /* Outputs that are class indices do not tell how many classes there are: as many as labels name. */
        int64_t most = 0;
        for (size_t i = 0; i < n_rows(s, o); i++)
            most = o->labels[i] > most ? o->labels[i] : most;
        if (most >= 1 << 24)
            nuc_fail(s->cx, NUC_BAD_INPUT, "%s: array '%s' has the label %lld: labels are class indices from 0",
                     s->data->path, a->name, (long long)most);
        o->score->n_classes = (size_t)most + 1;
    }
    check_range(s, o, a->name);
    if (a->dtype == NUC_BOOL && o->score->n_classes > 2 && !one_hot)
        nuc_warn(s->cx, "%s: array '%s' is bool, so that only 2 of the %zu classes of output '%s' are labels",
                 s->data->path, a->name, o->score->n_classes, o->score->name);
    if (!nuc_is_integer(a->dtype) && !one_hot)
        nuc_warn(s->cx, "%s: array '%s' is %s: its whole numbers are taken as classes", s->data->path, a->name,
                 nuc_dtype_name(a->dtype));
}

/* One score for two classes: 0 and 1, of which a threshold decides. */
static bool take_binary(const struct nuc_scoring *s, size_t i, const struct nuc_array_info *a)
{
    struct nuc_scored_output *o = &s->outputs[i];
    size_t n = count_of(a);

    for (size_t k = 0; k < n; k++) {
        int64_t v = whole_number(a, k);
        if (v != 0 && v != 1)
            return false;
    }
    if (s->reference == NULL)
        nuc_fail(s->cx, NUC_BAD_USAGE,
                 "output '%s' has one score for the labels 0 and 1: whether it is a sigmoid's (above 0.5 is 1) or not "
                 "(above 0 is 1) is known from the float model: give it with --reference MODEL",
                 o->score->name);
    nuc_scores_are_indices(o, 1);
    o->score->is_index = false;
    o->score->n_classes = 2;
    o->scores.is_index = false;
    o->scores.is_binary = true;
    o->scores.threshold = nuc_scored_facts(s, i).has_sigmoid ? 0.5 : 0;
    keep_classes(s, o, a, false, o->scores.threshold > 0 ? "labels; 1 is above 0.5" : "labels; 1 is above 0");
    return true;
}

/* The axis without which the output has the labels' shape: the one asked for, 1 before others. */
static size_t axis_of_labels(const struct nuc_scoring *s, const struct nuc_scored_output *o,
                             const struct nuc_array_info *a)
{
    const struct nuc_tensor_info *t = &o->score->info;
    int asked = s->options->class_axis;
    size_t usual = t->rank < 2 ? 0 : 1;

    if (asked != NUC_CLASS_AXIS_AUTO)
        return (size_t)asked < t->rank && holds(s, a, t, (size_t)asked) ? (size_t)asked : NO_AXIS;
    if (usual < t->rank && t->sizes[usual] > 1 && holds(s, a, t, usual))
        return usual;
    for (size_t i = t->rank; i-- > 0;) {
        if (t->sizes[i] > 1 && holds(s, a, t, i))
            return i;
    }
    return NO_AXIS;
}

static bool take_indices(const struct nuc_scoring *s, size_t i, const struct nuc_array_info *a)
{
    struct nuc_scored_output *o = &s->outputs[i];
    size_t axis = axis_of_labels(s, o, a);

    if (axis == NO_AXIS || (!s->insists && !in_range(s, a, (size_t)o->score->info.sizes[axis])))
        return false;
    if (!holds_whole_numbers(a))
        nuc_fail(s->cx, NUC_BAD_INPUT,
                 "%s: array '%s' is %s with numbers that are not whole: class labels of output '%s' are integers, the "
                 "targets of a regression have its shape %s for each sample",
                 s->data->path, a->name, nuc_dtype_name(a->dtype), o->score->name,
                 nuc_sizes_text(s->cx, o->score->info.sizes, o->score->info.rank));
    nuc_scores_along(o, axis);
    keep_classes(s, o, a, false, "labels");
    return true;
}

static bool take_one_hot(const struct nuc_scoring *s, size_t i, const struct nuc_array_info *a)
{
    struct nuc_scored_output *o = &s->outputs[i];
    const struct nuc_tensor_info *t = &o->score->info;
    int asked = s->options->class_axis;
    size_t axis = asked != NUC_CLASS_AXIS_AUTO ? (size_t)asked : t->rank < 2 ? 0 : 1;

    for (size_t k = 0; k < t->rank && asked == NUC_CLASS_AXIS_AUTO; k++) {
        nuc_scores_along(o, axis);
        if (t->sizes[axis] > 1 && is_one_hot(s, o, a))
            break;
        axis = t->rank - 1 - k;
    }
    if (axis >= t->rank || t->sizes[axis] < 2)
        return false;
    nuc_scores_along(o, axis);
    if (!is_one_hot(s, o, a))
        return false;
    keep_classes(s, o, a, true, "one-hot labels");
    return true;
}

static void take_targets(const struct nuc_scoring *s, size_t i, const struct nuc_array_info *a)
{
    struct nuc_scored_output *o = &s->outputs[i];
    struct nuc_data_range r = {.least = (double)INFINITY, .most = -(double)INFINITY};

    for (size_t k = 0; (a->dtype == NUC_F32 || a->dtype == NUC_F64) && k < count_of(a); k++) {
        const float x = (float)nuc_number_at(a->dtype, a->data, k);
        nuc_look_at(&r, k / o->n_elements, &x, 1, (double)NAN, (double)NAN);
    }
    nuc_warn_of_not_finite(s->cx, s->data->path, a->name, &r);
    o->targets = a;
    o->score->task = NUC_TASK_REGRESS;
    o->score->because = s->options->task == NUC_TASK_REGRESS ? "asked for" : "labels have its shape";
    o->score->n_classes = 0;
}

/* Whether the array holds labels of the output, which then has them. */
static bool take(const struct nuc_scoring *s, size_t i, const struct nuc_array_info *a)
{
    struct nuc_scored_output *o = &s->outputs[i];
    bool whole = holds(s, a, &o->score->info, NO_AXIS), integers = nuc_is_integer(a->dtype);
    enum nuc_task task = s->options->task;

    if (task == NUC_TASK_REGRESS) {
        if (whole)
            take_targets(s, i, a);
        return whole;
    }
    if (o->score->is_integer) {
        /*
         * Class indices an integer output has for a label: 1, or along its last axis those of the best; 0: it does not
         * fit.
         */
        const struct nuc_tensor_info *t = &o->score->info;
        size_t ranks = holds(s, a, t, NO_AXIS)                      ? 1
                       : t->rank > 0 && holds(s, a, t, t->rank - 1) ? (size_t)t->sizes[t->rank - 1]
                                                                    : 0;
        if (ranks == 0 || !holds_whole_numbers(a))
            return false;
        nuc_scores_are_indices(o, ranks);
        keep_classes(s, o, a, false, "labels");
        return true;
    }
    if (!whole)
        return take_indices(s, i, a);
    if (holds_whole_numbers(a) && take_one_hot(s, i, a))
        return true;
    if (integers && take_indices(s, i, a))
        return true;
    bool one_score = o->n_elements == 1 || o->score->info.sizes[o->score->info.rank - 1] == 1;
    if (holds_whole_numbers(a) && one_score && (integers || task == NUC_TASK_CLASSIFY) && take_binary(s, i, a))
        return true;
    if (task == NUC_TASK_CLASSIFY || task == NUC_TASK_SEGMENT)
        nuc_fail(
            s->cx, NUC_BAD_INPUT,
            "%s: array '%s' has the shape of output '%s', and its rows are not one-hot: give the index of the class",
            s->data->path, a->name, o->score->name);
    take_targets(s, i, a);
    return true;
}

/* ---- arrays ---- */

_Noreturn static void refuse(const struct nuc_scoring *s, const struct nuc_array_info *a, size_t i)
{
    const struct nuc_output_score *o = s->outputs[i].score;
    const int asked = s->options->class_axis;

    if (asked != NUC_CLASS_AXIS_AUTO)
        nuc_check_class_axis(s, o, (size_t)asked);
    nuc_fail(s->cx, NUC_BAD_INPUT,
             "%s: array '%s' is %s %s: for %zu samples of output '%s' %s it takes a class for each sample and place "
             "([%zu] for one class per sample), rows of one-hot, or numbers of the output's shape",
             s->data->path, a->name, nuc_dtype_name(a->dtype), nuc_sizes_text(s->cx, a->sizes, a->rank),
             s->result->n_samples, o->name, nuc_sizes_text(s->cx, o->info.sizes, o->info.rank), s->result->n_samples);
}

/* Whether the array becomes the labels of an output that has none yet. */
static bool try_output(struct nuc_scoring *s, size_t i, const struct nuc_array_info *a, bool insists)
{
    struct nuc_output_score *o = s->outputs[i].score;

    s->insists = insists;
    if (o->labels != NULL || !take(s, i, a))
        return false;
    o->labels = a->name;
    o->labels_of_sequences = s->of_sequences;
    return true;
}

/* Of the output it names. */
static void give_named(struct nuc_scoring *s, const struct nuc_array_info *a)
{
    for (size_t i = 0; i < s->result->n_outputs; i++) {
        /* "label0", "label_NAME": of that output. */
        char numbered[32];
        snprintf(numbered, sizeof numbered, "label%zu", i);
        if ((strcmp(a->name, numbered) == 0 ||
             (strncmp(a->name, "label_", 6) == 0 && strcmp(a->name + 6, s->outputs[i].score->name) == 0)) &&
            !try_output(s, i, a, true))
            refuse(s, a, i);
    }
}

/*
 * Of the first output that it fits: those that the model makes classes of before others, those whose classes are all of
 * the labels' before those that make the labels a mistake.
 */
static void give_common(struct nuc_scoring *s, const struct nuc_array_info *a)
{
    for (size_t i = 0; i < s->result->n_outputs; i++) {
        const struct nuc_output_facts facts = nuc_scored_facts(s, i);
        if ((facts.has_softmax || facts.is_index) && try_output(s, i, a, true))
            return;
    }
    for (unsigned insists = 0; insists < 2; insists++) {
        for (size_t i = 0; i < s->result->n_outputs; i++) {
            if (try_output(s, i, a, insists != 0))
                return;
        }
    }
    refuse(s, a, 0);
}

/* By the names that others give them: no input has it, and it has one integer for each sample. */
static void note_other_name(const struct nuc_scoring *s, const struct nuc_array_info *a)
{
    static const char *const names[] = {"y", "target", "targets", "class", "classes", "gt", "annotation"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(a->name, names[i], strlen(names[i])) == 0 && nuc_is_integer(a->dtype) &&
            count_of(a) == s->result->n_samples)
            nuc_warn(s->cx, "%s: array '%s' looks like labels and is not used: name it 'label' to get the accuracy",
                     s->data->path, a->name);
        if (strncmp(a->name, names[i], strlen(names[i])) == 0)
            return;
    }
}

void nuc_find_labels(struct nuc_scoring *s)
{
    bool any = false;
    size_t n = nuc_dataset_n_arrays(s->data);
    struct nuc_array_info *arrays = nuc_alloc_array(s->cx, n, sizeof *arrays);

    for (size_t i = 0; i < n; i++)
        nuc_check(s->cx, nuc_dataset_array(s->data, i, &arrays[i]));
    /* Those that name their output first. */
    for (int common = 0; common < 2; common++) {
        for (size_t i = 0; i < n; i++) {
            if (!nuc_is_label_array(arrays[i].name) ||
                (strcmp(arrays[i].name, "label") == 0 || strcmp(arrays[i].name, "labels") == 0) != common ||
                nuc_is_decision_label(s, arrays[i].name))
                continue;
            s->of_sequences = nuc_label_steps(s, &arrays[i]);
            if (common)
                give_common(s, &arrays[i]);
            else
                give_named(s, &arrays[i]);
            any = true;
        }
    }
    for (size_t i = 0; i < n && !any; i++)
        note_other_name(s, &arrays[i]);
}
