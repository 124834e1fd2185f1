/* Data sets: where they come from, which samples of them are taken, reading one. */
#include "data/dataset.h"

#include <string.h>

#include "archive/file_kind.h"
#include "data/images/camera.h"
#include "host/call.h"
#include "host/characters.h"
#include "host/file.h"

static struct nuc_dataset *new_dataset(struct nuc_context *cx, const struct nuc_options *o, const char *where)
{
    struct nuc_dataset *d = nuc_alloc(cx, sizeof *d);

    if (o->n_image_mean > 0 || o->n_image_std > 0 || o->image_resize != NUC_RESIZE_AUTO)
        nuc_warn(cx,
                 "%s: holds arrays, not images: --mean, --std and --resize are without effect, prepare the arrays "
                 "themselves",
                 where);
    *d = (struct nuc_dataset){.cx = cx, .options = o, .path = nuc_strdup(cx, where)};
    return d;
}

struct nuc_dataset *nuc_dataset_read(struct nuc_context *cx, const struct nuc_options *options, const char *path)
{
    struct nuc_dataset *d = nuc_dataset_of_recordings(cx, path);

    if (d == NULL)
        d = nuc_dataset_of_images(cx, path);
    if (d == NULL) {
        const bool is_raw = nuc_is_frame_file(path);
        if (!is_raw)
            nuc_expect_file(cx, path, NUC_FILE_DATA);
        d = new_dataset(cx, options, path);
        d->is_raw = is_raw;
        if (is_raw) {
            /* The bytes of a file, which are frames one after the other. */
            const struct nuc_span file = nuc_read_file(cx, path);
            const struct nuc_array bytes = {
                .name = "frame", .dtype = NUC_U8, .rank = 1, .shape = {(int64_t)file.size}, .data = file};
            d->arrays = (struct nuc_arrays){1, nuc_copy(cx, &bytes, sizeof bytes)};
        } else {
            d->arrays = nuc_read_arrays(cx, path);
        }
    }
    d->options = options;
    return d;
}

bool nuc_has_samples(struct nuc_sample_source source)
{
    return source.path != NULL || source.data != NULL;
}

const char *nuc_samples_name(struct nuc_sample_source source)
{
    return source.data != NULL ? source.data->path : source.path;
}

/* Elements are shared, and what they are read into later on is each data set's own. Images are found again. */
struct nuc_dataset *nuc_dataset_for(struct nuc_context *cx, const struct nuc_options *options,
                                    struct nuc_sample_source source)
{
    const struct nuc_dataset *given = source.data;

    if (given != NULL && given->cx != cx)
        nuc_fail(cx, NUC_BAD_USAGE, "%s: the data set belongs to another compiler than the model", given->path);
    if (given == NULL || given->files != NULL)
        return nuc_dataset_read(cx, options, nuc_samples_name(source));
    struct nuc_dataset *d = nuc_alloc(cx, sizeof *d);
    *d = (struct nuc_dataset){.cx = cx, .options = options, .path = given->path};
    d->arrays.count = given->arrays.count;
    d->arrays.items = nuc_copy(cx, given->arrays.items, given->arrays.count * sizeof *given->arrays.items);
    return d;
}

/* ---- arrays in memory ---- */

/* An array without elements lies somewhere, too: NULL stands for one that is left in a file. */
struct nuc_arrays nuc_arrays_given(struct nuc_context *cx, const char *where, const struct nuc_array_info *arrays,
                                   size_t count)
{
    static const uint8_t nothing[1];
    struct nuc_array *items = nuc_alloc_array(cx, count, sizeof *items);

    for (size_t i = 0; i < count; i++) {
        const struct nuc_array_info *a = &arrays[i];
        size_t bytes = nuc_dtype_size(a->dtype);
        bool good = bytes != 0 && a->rank <= NUC_MAX_RANK;
        if (a->name == NULL || *a->name == '\0')
            nuc_fail(cx, NUC_BAD_USAGE, "%s: array %zu has no name", where, i);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(arrays[k].name, a->name) == 0)
                nuc_fail(cx, NUC_BAD_USAGE, "%s: two arrays are called '%s'", where, a->name);
        }
        for (size_t k = 0; good && k < a->rank; k++)
            good = a->sizes[k] >= 0 && nuc_mul_size(bytes, (size_t)a->sizes[k], &bytes);
        if (!good)
            nuc_fail(cx, NUC_BAD_USAGE, "%s: array '%s' has a type, a rank or a size that cannot be", where, a->name);
        if (bytes != a->bytes || (a->data == NULL && bytes != 0))
            nuc_fail(cx, NUC_BAD_USAGE, "%s: array '%s' has %zu bytes, its shape and type take %zu", where, a->name,
                     a->data == NULL ? 0 : a->bytes, bytes);
        items[i] = (struct nuc_array){.name = nuc_strdup(cx, a->name),
                                      .dtype = a->dtype,
                                      .rank = (uint32_t)a->rank,
                                      .data = {a->data != NULL ? a->data : nothing, a->bytes}};
        memcpy(items[i].shape, a->sizes, a->rank * sizeof a->sizes[0]);
    }
    return (struct nuc_arrays){count, items};
}

struct nuc_dataset *nuc_dataset_take(struct nuc_context *cx, const struct nuc_options *options, const char *name,
                                     const struct nuc_array_info *arrays, size_t count)
{
    const char *where = name != NULL ? name : "the arrays";
    struct nuc_arrays given = nuc_arrays_given(cx, where, arrays, count);
    struct nuc_dataset *d = new_dataset(cx, options, where);

    for (size_t i = 0; i < count; i++)
        given.items[i].name = nuc_plain_text(cx, given.items[i].name);
    d->arrays = given;
    return d;
}

/* ---- as the public header shows it ---- */

size_t nuc_dataset_n_arrays(const struct nuc_dataset *d)
{
    return d->arrays.count;
}

const char *nuc_dataset_line(const struct nuc_dataset *d, size_t index)
{
    return index < d->lines.count ? d->lines.items[index] : NULL;
}

/* The elements of an array in a file of another byte order or layout are brought into order at the first call. */
enum nuc_status nuc_dataset_array(const struct nuc_dataset *d, size_t index, struct nuc_array_info *out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, d != NULL ? d->cx : NULL, __func__, d != NULL && index < d->arrays.count && out != NULL);
        struct nuc_array *a = &d->arrays.items[index];
        const void *data = nuc_array_elements(d->cx, a);
        *out = (struct nuc_array_info){
            .name = a->name, .dtype = a->dtype, .rank = a->rank, .data = data, .bytes = a->data.size};
        memcpy(out->sizes, a->shape, a->rank * sizeof a->shape[0]);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_dataset_bind(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                                 size_t *n_samples)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, d != NULL ? d->cx : NULL, __func__, (inputs != NULL || n_inputs == 0) && n_samples != NULL);
        nuc_dataset_bind_inputs(d, inputs, n_inputs, NULL);
        *n_samples = d->n_samples;
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_dataset_sample(const struct nuc_dataset *d, size_t sample, const void **inputs)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, d != NULL ? d->cx : NULL, __func__, d != NULL && sample < d->n_samples && inputs != NULL);
        nuc_dataset_read_sample(d, sample, inputs);
    }
    return nuc_leave(&call);
}

/* ---- samples ---- */

/* `count` elements from `at` on, in the type of the input. */
static void read_part(const struct nuc_dataset *d, size_t input, size_t at, size_t count, void *to)
{
    const struct nuc_array *a = d->bound[input];
    size_t size = nuc_dtype_size(a->dtype);

    if (a->dtype == d->inputs[input].dtype)
        nuc_array_part(a, at * size, count * size, to);
    else
        nuc_array_floats(a, at, count, to);
}

/* The sample as the array has it, or a hop of a recording: as many parts as there are indices in front of its axis. */
static void read_elements(const struct nuc_dataset *d, size_t input, size_t sample, void *to)
{
    const struct nuc_tensor_info *t = &d->inputs[input];
    const uint32_t axis = d->hop_axes[input];
    size_t size = nuc_dtype_size(t->dtype), count = t->bytes / size, parts = 1;

    if (axis == NUC_NO_HOPS) {
        read_part(d, input, sample * count, count, to);
        return;
    }
    for (uint32_t i = 0; i < axis; i++)
        parts *= (size_t)t->sizes[i];
    size_t recording = sample / d->n_steps, hop = sample % d->n_steps, length = count / parts;
    for (size_t i = 0; i < parts; i++)
        read_part(d, input, ((recording * parts + i) * d->n_steps + hop) * length, length,
                  (uint8_t *)to + i * length * size);
}

size_t nuc_sample_of_all(const struct nuc_dataset *d, size_t sample)
{
    const size_t at = d->first + sample;

    if (d->order != NULL)
        return d->order[sample];
    if (d->period == 0)
        return at;
    return d->part == NUC_SAMPLES_HELD_OUT ? (at + 1) * d->period - 1 : at + at / (d->period - 1);
}

bool nuc_dataset_is_in_memory(const struct nuc_dataset *d)
{
    bool all = d->images == NULL;

    for (size_t i = 0; i < d->n_inputs && all; i++)
        all = d->aligned[i] == NULL && d->unturned[i] == NULL;
    return all;
}

/* Samples are copied one at a time, so that a large file is never held in memory. */
void nuc_dataset_read_sample(const struct nuc_dataset *d, size_t sample, const void **inputs)
{
    const size_t at = nuc_sample_of_all(d, sample);

    if (d->images != NULL) {
        nuc_dataset_read_images(d, at, inputs);
        return;
    }
    for (size_t i = 0; i < d->n_inputs; i++) {
        const uint8_t *in_memory = d->bound[i]->data.data;
        void *read_to = d->unturned[i] != NULL ? d->unturned[i] : d->aligned[i];
        bool turned = d->turned != NULL && d->turned[i];
        inputs[i] = in_memory == NULL ? NULL : in_memory + at * d->inputs[i].bytes;
        if (d->unturned[i] != NULL || (read_to != NULL && !turned)) {
            read_elements(d, i, at, read_to);
            inputs[i] = read_to;
        }
        if (turned) {
            nuc_put_channels_first(&d->inputs[i], inputs[i], d->aligned[i]);
            inputs[i] = d->aligned[i];
        }
    }
}
