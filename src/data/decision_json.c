#include "data/decision_json.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "archive/json_build.h"
#include "device/decision/bind.h"
#include "host/file.h"
#include "host/nearest.h"
#include "host/text.h"

/* ---- the members ---- */

/* What a member belongs to: kinds, and forms of boxes and keypoints. */
enum of {
    CLASSES = 1,
    SSD = 2,
    YOLO5 = 4,
    YOLO8 = 8,
    FOMO = 16,
    HEATMAP = 32,
    COORDINATES = 64,
    ANOMALY = 128,
    YOLO = YOLO5 | YOLO8,
    BOXES = SSD | YOLO | FOMO,
    KEYPOINTS = HEATMAP | COORDINATES,
    ALL = CLASSES | BOXES | KEYPOINTS | ANOMALY
};

enum type { FLOAT, COUNT, FLAG, WORD, FLOATS };

struct member {
    const char *key, *name; /* of the JSON, and of struct nuc_decision_rule */
    int of;                 /* enum of */
    enum type type;
    size_t at;
    double least, most; /* of numbers; FLOATS: more than least, and how many */
    double standard;    /* NaN: it must be given */
    const char *const *words;
};

static const char *const kind_words[] = {"classes", "boxes", "keypoints", "anomaly", NULL};
static const char *const box_words[] = {"ssd", "yolo5", "yolo8", "fomo", NULL};
static const char *const point_words[] = {"heatmap", "coordinates", NULL};
static const char *const anomaly_words[] = {"mean", "max", NULL};
static const char *const activation_words[] = {"none", "sigmoid", "softmax", NULL};
static const char *const smoothing_words[] = {"none", "exponential", "average", NULL};

#define ROW(key, member, of, type, ...)                                                                                \
    {                                                                                                                  \
        key, #member, of, type, offsetof(struct nuc_decision_rule, member), __VA_ARGS__                                \
    }
#define MUST ((double)NAN)

/* The form first: the others depend on it. */
static const struct member members[] = {
    ROW("form", form, BOXES, WORD, 0, 0, MUST, box_words),
    ROW("form", form, KEYPOINTS, WORD, 0, 0, MUST, point_words),
    ROW("score", form, ANOMALY, WORD, 0, 0, 0, anomaly_words),
    ROW("activation", activation, ALL & ~ANOMALY, WORD, 0, 0, 0, activation_words),
    ROW("threshold", threshold, CLASSES | BOXES, FLOAT, 0, 1, 0.5, NULL),
    ROW("threshold", threshold, KEYPOINTS, FLOAT, -1e38, 1e38, 0, NULL),
    ROW("threshold", threshold, ANOMALY, FLOAT, -1e38, 1e38, -(double)FLT_MAX, NULL),
    ROW("quantile", quantile, ANOMALY, FLOAT, 0, 1, 0, NULL),
    ROW("smoothing", smoothing, CLASSES, WORD, 0, 0, 0, smoothing_words),
    ROW("alpha", alpha, CLASSES, FLOAT, 0, 1, 0.5, NULL),
    ROW("window", window, CLASSES, COUNT, 1, 1024, 4, NULL),
    ROW("release", release, CLASSES, FLOAT, 0, 1, -1, NULL),
    ROW("minimum_count", minimum_count, CLASSES, COUNT, 1, 65536, 1, NULL),
    ROW("refractory_steps", refractory_steps, CLASSES, COUNT, 0, 1 << 30, 0, NULL),
    ROW("step_seconds", step_seconds, CLASSES, FLOAT, 0, 86400, 0, NULL),
    ROW("iou", iou, BOXES & ~FOMO, FLOAT, 0, 1, 0.5, NULL),
    ROW("candidates", candidates, BOXES, COUNT, 1, 1024, 100, NULL),
    ROW("maximum", maximum, BOXES, COUNT, 1, 1024, 10, NULL),
    ROW("agnostic", agnostic, BOXES & ~FOMO, FLAG, 0, 0, 0, NULL),
    ROW("background", has_background, FOMO, FLAG, 0, 0, 1, NULL),
    ROW("background", has_background, SSD, FLAG, 0, 0, 0, NULL),
    ROW("y_first", is_y_first, SSD, FLAG, 0, 0, 1, NULL),
    ROW("y_first", is_y_first, COORDINATES, FLAG, 0, 0, 0, NULL),
    ROW("exponential", is_exponential, SSD, FLAG, 0, 0, 1, NULL),
    ROW("decoded", is_decoded, YOLO, FLAG, 0, 0, 1, NULL),
    ROW("coding", coding, SSD, FLOATS, 0, 4, 1, NULL),
    ROW("input_size", input_size, YOLO | KEYPOINTS, FLOATS, 0, 2, 1, NULL),
    ROW("bins", bins, YOLO8, COUNT, 1, 64, 16, NULL),
    ROW("rows", rows, FOMO | HEATMAP, COUNT, 1, 4096, MUST, NULL),
    ROW("columns", columns, FOMO | HEATMAP, COUNT, 1, 4096, MUST, NULL),
    ROW("points", points, KEYPOINTS, COUNT, 1, 1024, MUST, NULL),
    ROW("refine", is_refined, HEATMAP, FLAG, 0, 0, 1, NULL),
};

#define N_MEMBERS (sizeof members / sizeof members[0])

const char *nuc_decision_kind_name(enum nuc_decision_kind kind)
{
    return kind_words[kind];
}

static int kind_of(const struct nuc_decision_rule *d)
{
    switch (d->kind) {
    case NUC_DECIDE_CLASSES:
        return CLASSES;
    case NUC_DECIDE_BOXES:
        return d->form < 0 ? BOXES : SSD << d->form;
    case NUC_DECIDE_KEYPOINTS:
        return d->form < 0 ? KEYPOINTS : HEATMAP << d->form;
    case NUC_DECIDE_ANOMALY:
        break;
    }
    return ANOMALY;
}

static void *place_of(const struct nuc_decision_rule *d, const struct member *m)
{
    return (char *)(uintptr_t)d + m->at;
}

/* ---- reading ---- */

static double read_number(const struct nuc_json *j, double least, double most)
{
    const double value = nuc_json_double(j);

    if (!(value >= least && value <= most))
        nuc_json_fail(j, NUC_BAD_INPUT, "is %g, %g to %g are allowed", value, least, most);
    return value;
}

static void read_floats(const struct nuc_json *j, const struct member *m, float *to)
{
    const size_t count = (size_t)m->most;

    if (nuc_json_count(j) != count)
        nuc_json_fail(j, NUC_BAD_INPUT, "has %zu numbers, %zu belong there", nuc_json_count(j), count);
    for (size_t i = 0; i < count; i++) {
        const struct nuc_json item = nuc_json_item(j, i);
        to[i] = (float)read_number(&item, 1e-30, 1e30);
    }
}

static void read_member(const struct nuc_json *object, const struct member *m, struct nuc_decision_rule *d)
{
    const bool must = isnan(m->standard);
    const struct nuc_json j =
        must && m->type != WORD ? nuc_json_field(object, m->key) : nuc_json_optional(object, m->key);
    const bool given = nuc_json_is_there(&j);
    void *to = place_of(d, m);

    switch (m->type) {
    case FLOAT:
        *(float *)to = (float)(given ? read_number(&j, m->least, m->most) : m->standard);
        break;
    case COUNT:
        *(uint32_t *)to = given ? nuc_decision_count(&j, m->least, m->most) : (uint32_t)m->standard;
        break;
    case FLAG:
        *(bool *)to = given ? nuc_json_bool(&j) : m->standard > 0;
        break;
    case WORD:
        *(int32_t *)to = nuc_json_word(object, m->key, m->words, must ? -1 : (int)m->standard);
        break;
    case FLOATS:
        for (size_t i = 0; i < (size_t)m->most; i++)
            ((float *)to)[i] = (float)m->standard;
        if (given)
            read_floats(&j, m, to);
        break;
    }
}

/* Members beside those of the table. */
static const struct {
    const char *key;
    int of;
} others[] = {{"outputs", ALL}, {"ignore", CLASSES}, {"anchors", SSD | YOLO}};

struct known {
    int of;
};

static const char *known_member(const void *list, size_t i)
{
    const struct known *known = list;

    for (size_t k = 0; k < N_MEMBERS + sizeof others / sizeof others[0]; k++) {
        const bool row = k < N_MEMBERS;
        if (((row ? members[k].of : others[k - N_MEMBERS].of) & known->of) != 0 && i-- == 0)
            return row ? members[k].key : others[k - N_MEMBERS].key;
    }
    return NULL;
}

static uint32_t read_output(const struct nuc_json *j, const struct nuc_decision_source *source)
{
    const char *name, *of;
    uint32_t i = 0;

    if (j->type != NUC_JSON_STRING)
        return nuc_decision_count(j, 0, NUC_DECISION_OUTPUTS - 1);
    name = nuc_json_string(j);
    while (source->output_name != NULL && i < NUC_DECISION_OUTPUTS &&
           (of = source->output_name(source->user, i)) != NULL) {
        if (strcmp(of, name) == 0)
            return i;
        i++;
    }
    nuc_json_fail(j, NUC_BAD_INPUT, "no output is called '%.60s': give one's name, or its number from 0", name);
}

/* One for each view; without any the first ones. */
static void read_outputs(const struct nuc_json *object, const struct nuc_decision_source *source,
                         struct nuc_decision_rule *d)
{
    const struct nuc_json list = nuc_json_optional(object, "outputs");
    const bool is_ssd = d->kind == NUC_DECIDE_BOXES && d->form == NUC_BOXES_SSD;
    const bool may_two = d->kind == NUC_DECIDE_KEYPOINTS && d->form == NUC_POINTS_HEATMAP;

    d->n_views = is_ssd ? 2 : 1;
    d->views[1].output = 1;
    if (!nuc_json_is_there(&list))
        return;
    const size_t count = nuc_json_count(&list);
    if (count != d->n_views && !(may_two && count == 2))
        nuc_json_fail(&list, NUC_BAD_INPUT, "has %zu outputs, %s", count,
                      is_ssd ? "that of the boxes and that of the scores belong there" : "one belongs there");
    d->n_views = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const struct nuc_json item = nuc_json_item(&list, i);
        d->views[i].output = read_output(&item, source);
    }
}

/* What no member can say alone. Facts have a threshold beside the quantile that it is. */
static void check(const struct nuc_json *object, bool is_given, struct nuc_decision_rule *d)
{
    if (d->kind == NUC_DECIDE_CLASSES && d->release < 0)
        d->release = d->threshold;
    if (d->kind == NUC_DECIDE_CLASSES && d->release > d->threshold)
        nuc_json_fail(object, NUC_BAD_INPUT, "release is above threshold: an event would end when it begins");
    if (d->kind == NUC_DECIDE_BOXES && d->maximum > d->candidates)
        nuc_json_fail(object, NUC_BAD_INPUT, "maximum is %u, more than the %u candidates", (unsigned)d->maximum,
                      (unsigned)d->candidates);
    if (d->kind != NUC_DECIDE_ANOMALY)
        return;
    if (is_given && d->threshold > -FLT_MAX && d->quantile > 0)
        nuc_json_fail(object, NUC_BAD_INPUT,
                      "has both threshold and quantile, which makes a threshold of calibration data: give one of them");
    if (d->threshold > -FLT_MAX)
        return;
    if (!(d->quantile > 0))
        nuc_json_fail(object, NUC_BAD_INPUT, "needs a threshold, or the quantile of calibration data that it is");
    d->threshold = (float)NAN;
}

struct nuc_decision_rule *nuc_decision_read(const struct nuc_json *j, const struct nuc_decision_source *source)
{
    struct nuc_decision_rule *d = nuc_alloc(j->file->cx, sizeof *d);
    int kind;
    const struct nuc_json object = nuc_json_kind(j, kind_words, &kind);

    d->kind = (enum nuc_decision_kind)kind;
    if (object.type != NUC_JSON_OBJECT)
        nuc_json_fail(&object, NUC_BAD_INPUT, "is not an object");
    d->form = d->kind == NUC_DECIDE_BOXES || d->kind == NUC_DECIDE_KEYPOINTS ? -1 : 0;
    for (size_t i = 0; i < N_MEMBERS; i++) {
        if ((members[i].of & kind_of(d)) != 0)
            read_member(&object, &members[i], d);
    }
    const struct nuc_json_text *text = object.file->text;
    const struct known known = {kind_of(d)};
    uint32_t key = nuc_json_text_first(object.token);
    for (size_t i = 0; i < nuc_json_maybe_count(&object); i++, key = nuc_json_text_next(text, key + 1)) {
        const char *name = nuc_json_text_string(text, key), *word;
        for (size_t k = 0; (word = known_member(&known, k)) != NULL && strcmp(word, name) != 0;)
            k++;
        if (word == NULL)
            nuc_json_fail(&object, NUC_BAD_INPUT, "has no member '%.40s'%s", name,
                          nuc_did_you_mean(object.file->cx, name, known_member, &known));
    }
    read_outputs(&object, source, d);
    const struct nuc_json list = nuc_json_optional(&object, "ignore");
    const size_t count = nuc_json_is_there(&list) ? nuc_json_count(&list) : 0;
    if (count > NUC_DECISION_IGNORED)
        nuc_json_fail(&list, NUC_BAD_INPUT, "has %zu classes, at most %d are allowed", count, NUC_DECISION_IGNORED);
    d->n_ignored = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const struct nuc_json item = nuc_json_item(&list, i);
        d->ignored[i] = nuc_decision_count(&item, 0, 1 << 20);
    }
    check(&object, source->folder != NULL, d);
    if (nuc_decision_has_anchors(d))
        nuc_anchors_read(&object, source->folder, d);
    return d;
}

struct nuc_decision_rule *nuc_decision_read_option(struct nuc_context *cx, const char *given,
                                                   const struct nuc_decision_source *source)
{
    const char *base = nuc_base_name(given);
    struct nuc_decision_source from = *source;
    const bool is_text = nuc_is_json_object(given);

    from.folder = is_text ? "" : nuc_format(cx, "%.*s", (int)(base - given), given);
    const struct nuc_span text =
        is_text ? (struct nuc_span){(const uint8_t *)given, strlen(given)} : nuc_read_file(cx, given);
    const struct nuc_json root = nuc_json_parse(cx, is_text ? "--decision" : given, text);
    return nuc_decision_read(&root, &from);
}

/* ---- writing ---- */

static void put_member(struct nuc_context *cx, json_t *to, const struct member *m, const struct nuc_decision_rule *d)
{
    const void *at = place_of(d, m);

    switch (m->type) {
    case FLOAT:
        if (isfinite(*(const float *)at))
            nuc_put_double(cx, to, m->key, (double)*(const float *)at);
        break;
    case COUNT:
        nuc_put_count(cx, to, m->key, *(const uint32_t *)at);
        break;
    case FLAG:
        nuc_put_bool(cx, to, m->key, *(const bool *)at);
        break;
    case WORD:
        nuc_put_string(cx, to, m->key, m->words[*(const int32_t *)at]);
        break;
    case FLOATS: {
        json_t *list = nuc_put_array(cx, to, m->key);
        for (size_t i = 0; i < (size_t)m->most; i++)
            nuc_put_double(cx, list, NULL, (double)((const float *)at)[i]);
        break;
    }
    }
}

void nuc_decision_put(struct nuc_context *cx, json_t *parent, const char *key, const struct nuc_decision_rule *d)
{
    json_t *to = nuc_put_object(cx, nuc_put_object(cx, parent, key), kind_words[d->kind]);
    json_t *list = nuc_put_array(cx, to, "outputs");

    for (size_t i = 0; i < d->n_views; i++)
        nuc_put_count(cx, list, NULL, d->views[i].output);
    for (size_t i = 0; i < N_MEMBERS; i++) {
        if ((members[i].of & kind_of(d)) != 0)
            put_member(cx, to, &members[i], d);
    }
    list = d->n_ignored > 0 ? nuc_put_array(cx, to, "ignore") : NULL;
    for (size_t i = 0; i < d->n_ignored; i++)
        nuc_put_count(cx, list, NULL, d->ignored[i]);
    if (nuc_decision_has_anchors(d))
        nuc_anchors_put(cx, to, d);
}

const char *nuc_c_float(struct nuc_context *cx, double value)
{
    const char *text = nuc_format(cx, "%.9g", value);

    return nuc_format(cx, "%s%sf", text, strpbrk(text, ".e") != NULL ? "" : ".0");
}

void nuc_decision_each(const struct nuc_decision_rule *d,
                       void (*member)(void *user, const char *name, const char *value), struct nuc_context *cx,
                       void *user)
{
    for (size_t i = 0; i < N_MEMBERS; i++) {
        const struct member *m = &members[i];
        const void *at = place_of(d, m);
        struct nuc_text list = {.cx = cx};
        if ((m->of & kind_of(d)) == 0)
            continue;
        switch (m->type) {
        case FLOAT:
            member(user, m->name, nuc_c_float(cx, (double)*(const float *)at));
            break;
        case COUNT:
            member(user, m->name, nuc_format(cx, "%u", (unsigned)*(const uint32_t *)at));
            break;
        case FLAG:
            member(user, m->name, *(const bool *)at ? "true" : "false");
            break;
        case WORD:
            member(user, m->name,
                   nuc_format(cx, "%d /* %s */", (int)*(const int32_t *)at, m->words[*(const int32_t *)at]));
            break;
        case FLOATS:
            for (size_t k = 0; k < (size_t)m->most; k++)
                nuc_text_addf(&list, "%s%s", k == 0 ? "{" : ", ", nuc_c_float(cx, (double)((const float *)at)[k]));
            member(user, m->name, nuc_format(cx, "%s}", nuc_text_string(&list)));
            break;
        }
    }
}

/* ---- outputs ---- */

/* What the decision takes. */
static const char *wanted(struct nuc_context *cx, const struct nuc_decision_rule *d, size_t index)
{
    const unsigned least = (unsigned)nuc_decision_least_values(d, index);

    if (d->kind == NUC_DECIDE_CLASSES)
        return "one score for each class";
    if (d->kind == NUC_DECIDE_KEYPOINTS && d->form == NUC_POINTS_COORDINATES)
        return nuc_format(cx, "2 or 3 values for each of %u points", (unsigned)d->points);
    if (d->kind == NUC_DECIDE_KEYPOINTS || d->form == NUC_BOXES_FOMO)
        return nuc_format(cx, "%u rows, %u columns and at least %u values a cell", (unsigned)d->rows,
                          (unsigned)d->columns, least);
    if (nuc_decision_has_anchors(d))
        return nuc_format(cx, "at least %u values for each of %llu anchors", least,
                          (unsigned long long)nuc_decision_anchors(d));
    return nuc_format(cx, "rows of at least %u values", least);
}

const char *nuc_decision_bind(struct nuc_context *cx, struct nuc_decision_rule *d, size_t index,
                              const struct nuc_decision_output *o)
{
    uint32_t ignored = 0;

    switch (nuc_decision_put_on(d, index, o)) {
    case NUC_OUTPUT_FITS:
        return NULL;
    case NUC_OUTPUT_TYPE:
        return nuc_format(cx, "output '%.60s' is %s, float32, int8, uint8 or int16 are taken", o->name,
                          nuc_dtype_name(o->dtype));
    case NUC_OUTPUT_SHAPE:
        return nuc_format(cx, "output '%.60s' has shape %s, %s belong there", o->name,
                          nuc_sizes_text(cx, o->sizes, o->rank), wanted(cx, d, index));
    case NUC_OUTPUT_CLASSES:
        break;
    }
    while (d->ignored[ignored] < d->views[index].values)
        ignored++;
    return nuc_format(cx, "class %u, which is ignored, is none of the %u of output '%.60s': leave it out",
                      (unsigned)d->ignored[ignored], (unsigned)d->views[index].values, o->name);
}
