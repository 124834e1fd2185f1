/* Which array holds the samples of which input: by name, checked against type and shape. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "data/dataset.h"
#include "data/images/camera.h"
#include "host/nearest.h"
#include "host/text.h"

/* ---- names ---- */

bool nuc_is_label_array(const char *name)
{
    return strncmp(name, "label", 5) == 0;
}

/* Tensors of LiteRT models may have names with other characters, which an input, or an array, has as '_'. */
static bool same_but_for_signs(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++) {
        bool signs = (*a == '_' && !isalnum((unsigned char)*b)) || (*b == '_' && !isalnum((unsigned char)*a));
        if (*a != *b && !signs)
            return false;
    }
    return *a == *b;
}

static bool is_input_name(const struct nuc_tensor_info *inputs, size_t n_inputs, const char *name)
{
    for (size_t i = 0; i < n_inputs; i++) {
        if (strcmp(inputs[i].name, name) == 0)
            return true;
    }
    return false;
}

/* The array of that name, else the only one that differs from it in signs. */
static const struct nuc_array *find_named(const struct nuc_dataset *d, const struct nuc_tensor_info *inputs,
                                          size_t n_inputs, const char *name)
{
    const struct nuc_array *found = nuc_find_array(&d->arrays, name);

    for (size_t i = 0; found == NULL && i < d->arrays.count; i++) {
        const struct nuc_array *a = &d->arrays.items[i];
        if (same_but_for_signs(a->name, name) && !is_input_name(inputs, n_inputs, a->name))
            found = a;
    }
    return found;
}

/* For nuc_nearest(): arrays in their order; labels are meant by nobody. */
static const char *array_at(const void *list, size_t index)
{
    const struct nuc_arrays *arrays = list;

    if (index >= arrays->count)
        return NULL;
    return nuc_is_label_array(arrays->items[index].name) ? "" : arrays->items[index].name;
}

#define MOST_LISTED 12

/* The first names of items of `size` bytes, each of which begins with its name. */
static const char *names_text(struct nuc_context *cx, const void *items, size_t size, size_t n)
{
    struct nuc_text text = {.cx = cx};

    for (size_t i = 0; i < n && i < MOST_LISTED; i++) {
        const char *name;
        memcpy(&name, (const char *)items + i * size, sizeof name);
        nuc_text_addf(&text, "%s'%.60s'", i == 0 ? "" : ", ", name);
    }
    nuc_text_addf(&text, n > MOST_LISTED ? ", ..." : n == 0 ? "none" : "");
    return nuc_text_string(&text);
}

/* ---- types and shapes ---- */

static bool ends_with(const struct nuc_array *a, const struct nuc_tensor_info *t, size_t skip)
{
    if (a->rank < 1 || a->rank - 1 != t->rank - skip)
        return false;
    return memcmp(&a->shape[1], &t->sizes[skip], (t->rank - skip) * sizeof a->shape[0]) == 0;
}

/*
 * Steps of a sequence where the array has an axis of time, 0 where it has none: [sequences, steps] + sizes, of which
 * leading sizes of 1 may be left out.
 */
static size_t count_steps(const struct nuc_array *a, const struct nuc_tensor_info *t)
{
    for (size_t skip = 0; skip <= t->rank && (skip == 0 || t->sizes[skip - 1] == 1); skip++) {
        if (a->rank == t->rank - skip + 2 &&
            memcmp(&a->shape[2], &t->sizes[skip], (t->rank - skip) * sizeof a->shape[0]) == 0)
            return (size_t)a->shape[1];
    }
    return 0;
}

/*
 * Hops of a recording, 0 where the array holds none: [recordings] + sizes, of which one, *axis, is a multiple of the
 * input's. Leading sizes of 1 may be left out.
 */
static size_t count_hops(const struct nuc_array *a, const struct nuc_tensor_info *t, uint32_t *axis)
{
    *axis = NUC_NO_HOPS;
    if (a->rank < 2 || a->rank > t->rank + 1)
        return 0;
    size_t skip = t->rank + 1 - a->rank, hops = 0;
    for (size_t d = 0; d < t->rank; d++) {
        int64_t size = d < skip ? 1 : a->shape[d - skip + 1];
        if (size == t->sizes[d])
            continue;
        if (hops != 0 || d < skip || t->sizes[d] < 1 || size % t->sizes[d] != 0 || size == 0)
            return 0;
        *axis = (uint32_t)d;
        hops = (size_t)(size / t->sizes[d]);
    }
    return hops;
}

/* Samples in the array, 0 when the shape does not fit: [N] + sizes, or [N * sizes[0]] + sizes[1..]. */
static size_t count_exact(const struct nuc_array *a, const struct nuc_tensor_info *t)
{
    if (a->rank == 0 && t->rank == 0)
        return 1;
    if (ends_with(a, t, 0))
        return (size_t)a->shape[0];
    if (t->rank > 0 && ends_with(a, t, 1) && t->sizes[0] > 0 && a->shape[0] % t->sizes[0] == 0)
        return (size_t)(a->shape[0] / t->sizes[0]);
    return 0;
}

/*
 * Also of an array [..., 1, H, W] for an input [N, H, W, 1]: with one channel its elements lie in the same order
 * wherever the channels are. Of a data set for a model with states, which then tells *n_steps of a sequence, also of
 * one with an axis of time, and of recordings that are taken in hops along *hop_axis.
 */
static size_t count_samples(const struct nuc_dataset *d, const struct nuc_array *a, const struct nuc_tensor_info *t,
                            size_t *n_steps, uint32_t *hop_axis)
{
    const struct nuc_tensor_info channel_first = {.rank = 4, .sizes = {t->sizes[0], 1, t->sizes[1], t->sizes[2]}};
    size_t count = count_exact(a, t);

    if (count == 0 && t->rank == 4 && t->sizes[3] == 1)
        count = count_exact(a, &channel_first);
    *hop_axis = NUC_NO_HOPS;
    *n_steps = count == 0 && d->has_states ? count_steps(a, t) : 0;
    if (count == 0 && d->has_states && *n_steps == 0)
        *n_steps = count_hops(a, t, hop_axis);
    return *n_steps > 0 ? (size_t)a->shape[0] * *n_steps : count;
}

/* The array holds the input's elements with the channels last: a data set in channels-last order. */
static bool looks_channels_last(const struct nuc_array *a, const struct nuc_tensor_info *t)
{
    size_t first = a->rank > t->rank ? 1 : 0;

    if (t->rank < 3 || a->rank < t->rank || a->shape[a->rank - 1] != t->sizes[1])
        return false;
    for (size_t i = 2; i < t->rank; i++) {
        if (a->shape[first + i - 1] != t->sizes[i])
            return false;
    }
    return true;
}

/* Of an array that does not fit: what may be meant. */
static const char *shape_hint(const struct nuc_array *a, const struct nuc_tensor_info *t)
{
    const int64_t *last = a->rank >= 3 ? &a->shape[a->rank - 3] : NULL;
    const bool is_one_sample = t->rank > 0 && a->rank == t->rank - 1 && t->sizes[0] == 1 &&
                               memcmp(a->shape, t->sizes + 1, a->rank * sizeof *a->shape) == 0;

    if (count_steps(a, t) > 0)
        return "; it has an axis of time, which a model with states takes: join axes 0 and 1";
    if (a->rank == 3 && looks_channels_last(a, t))
        return "; its axes 1 and 2 are the other way round: transpose it to (0, 2, 1)";
    if (looks_channels_last(a, t))
        return "; it looks channels-last: move its last axis in front of the others of a sample, whatever the order in "
               "the program's memory";
    /* The input takes [N, H, W, C], as those of LiteRT models, and the array has [C, H, W]. */
    if (t->rank == 4 && a->rank >= t->rank && last[0] == t->sizes[3] && last[1] == t->sizes[1] &&
        last[2] == t->sizes[2])
        return "; it looks channels-first: move axis 1 behind the others, the model takes its channels last";
    return is_one_sample ? "; it is one sample: give it an axis of samples in front" : "";
}

static bool is_like(const struct nuc_array *a, const struct nuc_tensor_info *t)
{
    return a->dtype == t->dtype || (t->dtype == NUC_F32 && nuc_stands_for_float(a->dtype));
}

/* ---- binding ---- */

/* The only array that is none of labels, or the only one of these that fits. */
static const struct nuc_array *only_array(const struct nuc_dataset *d, const struct nuc_tensor_info *t)
{
    const struct nuc_array *last = NULL, *fitting = NULL;
    size_t n = 0, n_fitting = 0, n_steps;
    uint32_t hop_axis;

    for (size_t i = 0; i < d->arrays.count; i++) {
        const struct nuc_array *a = &d->arrays.items[i];
        if (nuc_is_label_array(a->name) || nuc_is_marks(d, a))
            continue;
        last = a;
        n++;
        if (!is_like(a, t) || count_samples(d, a, t, &n_steps, &hop_axis) == 0)
            continue;
        fitting = a;
        n_fitting++;
    }
    return n_fitting == 1 ? fitting : n == 1 ? last : NULL;
}

/* By name, or in0 for input 0 and so on, unless an input has that name; an only input also takes an only array. */
static const struct nuc_array *choose(const struct nuc_dataset *d, const struct nuc_tensor_info *inputs,
                                      size_t n_inputs, size_t index)
{
    const struct nuc_array *named = find_named(d, inputs, n_inputs, inputs[index].name), *numbered = NULL;
    char number[32];

    snprintf(number, sizeof number, "in%zu", index);
    if (!is_input_name(inputs, n_inputs, number))
        numbered = nuc_find_array(&d->arrays, number);
    if (named != NULL && numbered != NULL && named != numbered)
        nuc_fail(d->cx, NUC_BAD_INPUT, "%s: arrays '%s' and '%s' are both for input '%s': leave one of them out",
                 d->path, named->name, numbered->name, inputs[index].name);
    if (named == NULL)
        named = numbered;
    if (named == NULL && n_inputs == 1)
        named = only_array(d, &inputs[0]);
    if (named == NULL) {
        const char *meant = nuc_nearest(inputs[index].name, array_at, &d->arrays);
        nuc_fail(d->cx, NUC_BAD_INPUT,
                 "%s: no array for input '%.60s': the inputs are %s, the arrays %s; name %s '%.60s' or in%zu", d->path,
                 inputs[index].name, names_text(d->cx, inputs, sizeof *inputs, n_inputs),
                 names_text(d->cx, d->arrays.items, sizeof *d->arrays.items, d->arrays.count),
                 meant != NULL ? nuc_format(d->cx, "'%.60s', if it is that,", meant) : "one", inputs[index].name,
                 index);
    }
    return named;
}

static void bind_array(struct nuc_dataset *d, size_t i, const struct nuc_tensor_info *t, const struct nuc_array *a)
{
    bool turned = d->turned != NULL && d->turned[i];

    if (!is_like(a, t))
        nuc_fail(d->cx, NUC_BAD_INPUT, "%s: array '%s' is %s, input '%s' is %s: %s", d->path, a->name,
                 nuc_dtype_name(a->dtype), t->name, nuc_dtype_name(t->dtype),
                 d->front_end == NULL ? "convert it" : "with a front end samples are what the sensor gives");
    if (a->rank > 0 && a->shape[0] == 0)
        nuc_fail(d->cx, NUC_BAD_INPUT, "%s: array '%s' holds no sample", d->path, a->name);
    size_t n_steps, n = count_samples(d, a, t, &n_steps, &d->hop_axes[i]);
    bool in_hops = d->hop_axes[i] != NUC_NO_HOPS;
    if (n == 0) {
        struct nuc_context *cx = d->cx;
        nuc_fail(cx, NUC_BAD_INPUT,
                 "%s: array '%s' has shape %s, input '%s' takes samples of shape %s along axis 0%s%s", d->path, a->name,
                 nuc_sizes_text(cx, a->shape, a->rank), t->name, nuc_sizes_text(cx, t->sizes, t->rank),
                 d->has_states ? ", or sequences along axis 0 and their steps along axis 1, or recordings of whole hops"
                               : "",
                 shape_hint(a, t));
    }
    if (i > 0 && (n != d->n_samples || n_steps != d->n_steps))
        nuc_fail(d->cx, NUC_BAD_INPUT, "%s: array '%s' holds %s, '%s' holds %s", d->path, a->name,
                 nuc_samples_text(d->cx, n, n_steps), d->bound[0]->name,
                 nuc_samples_text(d->cx, d->n_samples, d->n_steps));
    d->n_samples = n;
    d->n_steps = n_steps;
    d->bound[i] = a;
    if (turned || in_hops || !nuc_array_is_in_place(a) || a->dtype != t->dtype)
        d->aligned[i] = nuc_alloc(d->cx, t->bytes);
    if (turned && (in_hops || a->data.data == NULL || a->dtype != t->dtype))
        d->unturned[i] = nuc_alloc(d->cx, t->bytes);
}

void nuc_dataset_bind_inputs(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                             const bool *turned)
{
    struct nuc_context *cx = d->cx;

    d->inputs = nuc_copy(cx, inputs, n_inputs * sizeof *inputs);
    d->period = d->first = d->n_steps = d->n_sequences = 0;
    d->begins = NULL;
    d->order = NULL;
    if (d->recordings != NULL)
        nuc_dataset_fit_recordings(d, inputs, n_inputs);
    const struct nuc_camera *camera = d->is_raw && d->front_end != NULL ? nuc_camera_of(cx, d->front_end) : NULL;
    if (camera != NULL)
        nuc_expect_frames(cx, d->path, d->arrays.items[0].data.size, camera);
    if (d->images != NULL) {
        nuc_dataset_bind_images(d, inputs, n_inputs, turned);
    } else {
        d->turned = turned != NULL ? nuc_copy(cx, turned, n_inputs * sizeof *turned) : NULL;
        d->bound = nuc_alloc_array(cx, n_inputs, sizeof(struct nuc_array *));
        d->aligned = nuc_alloc_array(cx, n_inputs, sizeof *d->aligned);
        d->unturned = nuc_alloc_array(cx, n_inputs, sizeof *d->unturned);
        d->hop_axes = nuc_alloc_array(cx, n_inputs, sizeof *d->hop_axes);
        d->n_inputs = n_inputs;
        for (size_t i = 0; i < n_inputs; i++)
            bind_array(d, i, &d->inputs[i], choose(d, inputs, n_inputs, i));
        d->unused = nuc_alloc_array(cx, d->arrays.count, sizeof *d->unused);
        d->n_unused = 0;
        for (size_t i = 0; i < d->arrays.count; i++) {
            const struct nuc_array *a = &d->arrays.items[i];
            if (!nuc_is_bound(d, a) && !nuc_is_label_array(a->name) && !nuc_is_marks(d, a))
                d->unused[d->n_unused++] = a->name;
        }
    }
    if (d->has_states)
        nuc_dataset_find_sequences(d);
    if (d->has_states || d->part == NUC_SAMPLES_ALL || d->n_samples < 2)
        return;
    d->period = d->n_samples < 4 ? d->n_samples : 4;
    size_t n_held_out = d->n_samples / d->period;
    d->n_samples = d->part == NUC_SAMPLES_HELD_OUT ? n_held_out : d->n_samples - n_held_out;
}
