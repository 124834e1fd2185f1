#include "data/recordings.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "archive/json.h"
#include "data/class_folders.h"
#include "host/file.h"
#include "host/limits.h"
#include "host/text.h"
#include "nucleon/decision.h"

static const struct {
    const char *suffix;
    struct nuc_recording (*read)(struct nuc_context *cx, const char *where, struct nuc_span file);
} formats[] = {{".wav", nuc_read_wav}, {".csv", nuc_read_csv}};

#define N_FORMATS (sizeof formats / sizeof formats[0])

static size_t format_of(const char *path)
{
    const char *suffix = strrchr(path, '.');
    size_t i = 0;

    while (i < N_FORMATS && (suffix == NULL || strcasecmp(suffix, formats[i].suffix) != 0))
        i++;
    return i;
}

static bool is_recording(const char *path)
{
    return format_of(path) < N_FORMATS;
}

/* ---- finding them ---- */

static const struct nuc_images *find_files(struct nuc_context *cx, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return NULL;
    if (S_ISDIR(st.st_mode))
        return nuc_holds_arrays(cx, path) ? NULL : nuc_list_files(cx, path, is_recording);
    if (!is_recording(path))
        return NULL;
    const char **file = nuc_alloc(cx, sizeof *file);
    *file = nuc_strdup(cx, path);
    return nuc_copy(cx, &(struct nuc_images){.count = 1, .files = file}, sizeof(struct nuc_images));
}

struct nuc_dataset *nuc_dataset_of_recordings(struct nuc_context *cx, const char *path)
{
    const struct nuc_images *files = find_files(cx, path);
    uint64_t bytes = 0;

    if (files == NULL)
        return NULL;
    struct nuc_recording *all = nuc_alloc_array(cx, files->count, sizeof *all);
    for (size_t i = 0; i < files->count; i++) {
        const char *where = files->files[i];
        all[i] = formats[format_of(where)].read(cx, where, nuc_read_file(cx, where));
        bytes += (uint64_t)all[i].length * all[i].axes * 4;
        if (bytes > NUC_MAX_ARRAYS_IN_MEMORY)
            nuc_fail(cx, NUC_UNSUPPORTED, "%s: holds more recordings than fit %llu MiB: give a part of them", path,
                     (unsigned long long)(NUC_MAX_ARRAYS_IN_MEMORY >> 20));
        if (all[i].axes != all[0].axes || (all[i].sound == NULL) != (all[0].sound == NULL))
            nuc_fail(cx, NUC_BAD_INPUT, "%s: is of other axes than %s: give recordings of one sensor", where,
                     all[0].path);
    }
    struct nuc_dataset *d = nuc_dataset_of_files(cx, path, files);
    d->found = files;
    d->recordings = all;
    return d;
}

/* ---- what a model takes ---- */

/* A whole number of the front end, which has read it; 0: it does not say it. */
static int64_t front_end_number(const struct nuc_dataset *d, const char *key)
{
    static const char *const kinds[] = {"audio", "micro_frontend", "sensor", "values"};
    const struct nuc_json root = nuc_json_maybe_parse(d->cx, d->front_end);

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct nuc_json kind = nuc_json_maybe_member(&root, kinds[i]);
        const struct nuc_json number = nuc_json_maybe_member(&kind, key);
        if (number.type == NUC_JSON_INTEGER)
            return nuc_json_int(&number);
    }
    return 0;
}

/* How recordings are cut. */
struct cut {
    size_t window;   /* points of time of the input */
    size_t step;     /* of rows between the beginnings of two windows of axes */
    bool axes_first; /* [axes, window] */
    bool is_float;
};

static struct cut cut_for(const struct nuc_dataset *d, const struct nuc_tensor_info *t)
{
    const size_t axes = d->recordings[0].axes, elements = t->bytes / nuc_dtype_size(t->dtype);
    const size_t last = t->rank > 0 ? (size_t)t->sizes[t->rank - 1] : 1;
    struct cut c = {.is_float = t->dtype == NUC_F32};

    if (t->dtype != NUC_F32 && t->dtype != NUC_I16)
        nuc_fail(d->cx, NUC_BAD_INPUT, "%s: input '%s' is %s: recordings are float32 or int16, give arrays%s", d->path,
                 t->name, nuc_dtype_name(t->dtype), t->dtype == NUC_U8 ? ", images or raw frames" : "");
    if (axes > 0 && elements % axes == 0)
        c.window = elements / axes;
    const int64_t step = front_end_number(d, "step");
    c.step = step > 0 && !d->has_states ? (size_t)step : c.window; /* hops of a stream do not overlap */
    c.axes_first = axes > 1 && last != axes && last == c.window;
    if (c.window == 0 || (axes > 1 && last != axes && !c.axes_first))
        nuc_fail(d->cx, NUC_BAD_INPUT,
                 "%s: has %zu numbers for each point of time, input '%s' is %s: leave out what is no axis of it",
                 d->path, axes, t->name, nuc_sizes_text(d->cx, t->sizes, t->rank));
    return c;
}

/* Sound is one sample, or as many hops as it takes; windows of axes begin a step apart. */
static size_t windows_of(const struct nuc_dataset *d, const struct nuc_recording *r, const struct cut *c)
{
    const bool whole = r->sound != NULL && !d->has_states;

    if (whole && r->length > c->window)
        nuc_fail(
            d->cx, NUC_BAD_INPUT,
            "%s: has %zu samples, the input %zu: cut it, or compile the model with --stream, which takes it in hops%s",
            r->path, r->length, c->window,
            d->front_end != NULL ? ", or with as many 'samples' in its front end"
                                 : ", or with --front-end, which makes features of sound");
    if (r->sound == NULL && r->length < c->window)
        nuc_fail(d->cx, NUC_BAD_INPUT, "%s: has %zu rows, a window of the input has %zu: leave the file out", r->path,
                 r->length, c->window);
    return r->sound != NULL ? (r->length + c->window - 1) / c->window : (r->length - c->window) / c->step + 1;
}

static void put_value(const struct nuc_recording *r, const struct cut *c, size_t row, size_t axis, void *to, size_t at)
{
    const bool inside = row < r->length;
    float v = !inside ? 0 : r->sound != NULL ? (float)r->sound[row] / 32768.0F : r->values[row * r->axes + axis];

    if (c->is_float) {
        ((float *)to)[at] = v;
        return;
    }
    if (r->sound != NULL) {
        ((int16_t *)to)[at] = inside ? r->sound[row] : (int16_t)0;
        return;
    }
    v = v < 0 ? v - 0.5F : v + 0.5F;
    ((int16_t *)to)[at] = v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : (int16_t)v;
}

static void put_window(const struct nuc_recording *r, const struct cut *c, size_t window, void *to, size_t at)
{
    for (size_t i = 0; i < c->window; i++) {
        for (size_t axis = 0; axis < r->axes; axis++)
            put_value(r, c, window * (r->sound != NULL ? c->window : c->step) + i, axis, to,
                      at + (c->axes_first ? axis * c->window + i : i * r->axes + axis));
    }
}

/* Values in g or in volts would be lost without a word. */
static void note_rounding(const struct nuc_dataset *d, const struct cut *c)
{
    for (size_t i = 0; i < d->found->count && !c->is_float; i++) {
        const struct nuc_recording *r = &d->recordings[i];
        for (size_t k = 0; r->sound == NULL && k < r->length * r->axes; k++) {
            const float v = r->values[k];
            if (v >= INT16_MIN && v <= INT16_MAX && (float)(int16_t)v == v)
                continue;
            nuc_warn(d->cx, "%s: %g and other values become the nearest of int16: give them in the sensor's units",
                     r->path, (double)v);
            return;
        }
    }
}

/* Each window's file, with that file's label. */
static const struct nuc_images *files_of(const struct nuc_dataset *d, const size_t *file, size_t count)
{
    struct nuc_images *files = nuc_copy(d->cx, d->found, sizeof *files);
    const char **paths = nuc_alloc_array(d->cx, count, sizeof *paths);
    int64_t *labels = d->found->labels != NULL ? nuc_alloc_array(d->cx, count, sizeof *labels) : NULL;

    for (size_t i = 0; i < count; i++) {
        paths[i] = d->found->files[file[i]];
        if (labels != NULL)
            labels[i] = d->found->labels[file[i]];
    }
    files->count = count;
    files->files = paths;
    files->labels = labels;
    return files;
}

/* ---- label tracks ---- */

/* The track that belongs to a recording; NULL: there is none. */
static const char *track_of(struct nuc_context *cx, const struct nuc_recording *r)
{
    struct stat st;
    const char *track = nuc_format(cx, "%.*s.txt", (int)(strrchr(r->path, '.') - r->path), r->path);

    return stat(track, &st) == 0 ? track : NULL;
}

static int64_t class_of(const struct nuc_dataset *d, const char *track, const struct nuc_label *l)
{
    const uint32_t output = d->metadata->decision->views[0].output;
    const struct nuc_output_metadata *o = output < d->metadata->n_outputs ? &d->metadata->outputs[output] : NULL;
    const size_t n = o != NULL ? o->n_classes : 0;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(o->classes[i], l->name) == 0)
            return (int64_t)i;
    }
    nuc_fail(d->cx, NUC_BAD_INPUT, "%s: line %zu: '%.60s' is no class of the program: %s", track, l->line, l->name,
             n > 0 ? "correct it, or leave the label out" : "compile it with --classes");
}

/* By step of a recording, of `seconds` each, the class of the label that lies over it; -1: none does. */
static void label_steps(const struct nuc_dataset *d, const char *track, double seconds, int64_t *events, size_t steps)
{
    struct nuc_label *labels;
    const size_t n = nuc_read_label_track(d->cx, track, nuc_read_file(d->cx, track), &labels);

    for (size_t i = 0; i < n; i++) {
        const int64_t class = class_of(d, track, &labels[i]);
        const double last = labels[i].end / seconds;
        for (size_t k = 0; k < steps && (double)k <= last; k++)
            events[k] = (double)(k + 1) > labels[i].begin / seconds ? class : events[k];
    }
}

/* NULL: the data's user does not look for events, or no recording of sound has a track. */
static int64_t *events_of(const struct nuc_dataset *d, const struct cut *c, size_t count)
{
    const bool wanted =
        d->metadata != NULL && d->metadata->decision != NULL && d->metadata->decision->kind == NUC_DECIDE_CLASSES;
    int64_t *events = NULL;
    size_t n = 0;

    for (size_t i = 0; i < d->found->count && wanted; i++) {
        const struct nuc_recording *r = &d->recordings[i];
        const size_t steps = windows_of(d, r, c);
        const char *track = r->sound != NULL ? track_of(d->cx, r) : NULL;
        if (track != NULL && events == NULL) {
            events = nuc_alloc_array(d->cx, count, sizeof *events);
            memset(events, -1, count * sizeof *events);
        }
        if (track != NULL)
            label_steps(d, track, (double)c->window / (double)r->rate, events + n, steps);
        n += steps;
    }
    return events;
}

void nuc_dataset_fit_recordings(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs)
{
    struct nuc_context *cx = d->cx;
    const struct nuc_tensor_info *t = &inputs[0];
    size_t count = 0, n = 0;

    if (n_inputs != 1 || t->rank < 1)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: recordings are samples of one input, the model has %zu: give arrays by name",
                 d->path, n_inputs);
    const int64_t rate = front_end_number(d, "rate"); /* samples a second */
    for (size_t i = 0; i < d->found->count; i++) {
        const struct nuc_recording *r = &d->recordings[i];
        if (rate != 0 && r->rate != 0 && (int64_t)r->rate != rate)
            nuc_fail(d->cx, NUC_BAD_INPUT,
                     "%s: has %u samples a second, the front end takes %lld: convert it with: ffmpeg -i IN.wav -ar "
                     "%lld OUT.wav",
                     r->path, (unsigned)r->rate, (long long)rate, (long long)rate);
    }
    const struct cut c = cut_for(d, t);
    for (size_t i = 0; i < d->found->count; i++)
        count += windows_of(d, &d->recordings[i], &c);
    if (count > NUC_MAX_ARRAYS_IN_MEMORY / t->bytes)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: %zu recordings of %zu bytes do not fit %llu MiB: give a part of them",
                 d->path, count, t->bytes, (unsigned long long)(NUC_MAX_ARRAYS_IN_MEMORY >> 20));
    note_rounding(d, &c);
    uint8_t *all = nuc_alloc(cx, count * t->bytes);
    size_t *file = nuc_alloc_array(cx, count, sizeof *file);
    bool *begins = nuc_alloc_array(cx, count, sizeof *begins);
    int64_t *labels = nuc_alloc_array(cx, count, sizeof *labels);
    for (size_t i = 0; i < d->found->count; i++) {
        const size_t windows = windows_of(d, &d->recordings[i], &c);
        for (size_t k = 0; k < windows; k++, n++) {
            put_window(&d->recordings[i], &c, k, all, n * (t->bytes / nuc_dtype_size(t->dtype)));
            file[n] = i;
            begins[n] = k == 0;
            if (d->found->labels != NULL)
                labels[n] = d->class_of != NULL ? (int64_t)d->class_of[d->found->labels[i]] : d->found->labels[i];
        }
    }
    d->files = files_of(d, file, count);
    const int64_t *events = events_of(d, &c, count);
    struct nuc_array *arrays = nuc_alloc_array(cx, 4, sizeof *arrays);
    size_t at = 0;
    if (d->found->labels != NULL)
        arrays[at++] = nuc_array_of("label", NUC_I64, count, labels, count * sizeof *labels);
    if (events != NULL)
        arrays[at++] = nuc_array_of("label_events", NUC_I64, count, events, count * sizeof *events);
    arrays[at] = nuc_array_of(t->name, t->dtype, count, all, count * t->bytes);
    for (uint32_t i = 1; i < t->rank; i++)
        arrays[at].shape[i] = t->sizes[i];
    arrays[at].shape[0] *= t->sizes[0];
    arrays[at++].rank = (uint32_t)t->rank;
    if (d->has_states)
        arrays[at++] = nuc_array_of(NUC_RESET_ARRAY, NUC_BOOL, count, begins, count * sizeof *begins);
    d->arrays = (struct nuc_arrays){at, arrays};
}
