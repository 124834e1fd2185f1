/* Data sets: arrays by name, cut into the samples of a model's inputs, or a folder of images. */
#include <string.h>

#include "data/file_kind.h"
#include "data/npz_write.h"
#include "driver/dataset.h"
#include "host/characters.h"
#include "host/text.h"

static void note_image_options(struct nuc_compiler *c, const char *where)
{
    const struct nuc_options *o = &c->options;

    if (o->n_image_mean > 0 || o->n_image_std > 0 || o->image_resize != NUC_RESIZE_AUTO)
        nuc_warn(c->cx,
                 "%s: holds arrays, not images: --mean, --std and --resize are without effect, prepare the "
                 "arrays themselves",
                 where);
}

struct nuc_dataset *nuc_dataset_read(struct nuc_compiler *c, const char *path)
{
    struct nuc_dataset *d = nuc_dataset_of_images(c, path);

    if (d != NULL)
        return d;
    nuc_expect_file(c->cx, path, NUC_FILE_DATA);
    note_image_options(c, path);
    d = nuc_alloc(c->cx, sizeof *d);
    d->c = c;
    d->path = nuc_strdup(c->cx, path);
    d->arrays = nuc_read_arrays(c->cx, path);
    return d;
}

bool nuc_has_samples(struct nuc_samples_of samples)
{
    return samples.path != NULL || samples.data != NULL;
}

const char *nuc_samples_name(struct nuc_samples_of samples)
{
    return samples.data != NULL ? samples.data->path : samples.path;
}

/* Elements are shared, and what they are read into later on is each data set's own. Images are found again. */
struct nuc_dataset *nuc_dataset_for(struct nuc_compiler *c, struct nuc_samples_of samples)
{
    const struct nuc_dataset *given = samples.data;

    if (given != NULL && given->c != c)
        nuc_fail(c->cx, NUC_BAD_USAGE, "%s: the data set belongs to another compiler than the model", given->path);
    if (given == NULL || given->images != NULL)
        return nuc_dataset_read(c, nuc_samples_name(samples));
    struct nuc_dataset *d = nuc_alloc(c->cx, sizeof *d);
    d->c = c;
    d->path = given->path;
    d->arrays = (struct nuc_arrays){
        given->arrays.count, nuc_copy(c->cx, given->arrays.items, given->arrays.count * sizeof *given->arrays.items)};
    return d;
}

static void open_dataset(struct nuc_call *k)
{
    *k->out.dataset = nuc_dataset_read(k->c, k->path);
}

enum nuc_status nuc_dataset_open(struct nuc_compiler *c, const char *path, struct nuc_dataset **out)
{
    return nuc_enter(&(struct nuc_call){.c = c, .path = path, .out.dataset = out}, open_dataset);
}

/* The bytes of its elements, by its shape; false: it has none that could be. */
static bool count_bytes(const struct nuc_array_info *a, size_t *bytes)
{
    *bytes = nuc_dtype_size(a->dtype);
    bool good = *bytes != 0 && a->rank <= NUC_MAX_RANK;
    for (size_t i = 0; good && i < a->rank; i++)
        good = a->sizes[i] >= 0 && nuc_mul_size(*bytes, (size_t)a->sizes[i], bytes);
    return good;
}

static void check_array(struct nuc_context *cx, const char *where, const struct nuc_array_info *arrays, size_t index)
{
    const struct nuc_array_info *a = &arrays[index];
    size_t bytes;

    if (a->name == NULL || *a->name == '\0')
        nuc_fail(cx, NUC_BAD_USAGE, "%s: array %zu has no name", where, index);
    for (size_t i = 0; i < index; i++) {
        if (strcmp(arrays[i].name, a->name) == 0)
            nuc_fail(cx, NUC_BAD_USAGE, "%s: two arrays are called '%s'", where, a->name);
    }
    if (!count_bytes(a, &bytes))
        nuc_fail(cx, NUC_BAD_USAGE, "%s: array '%s' has a type, a rank or a size that cannot be", where, a->name);
    if (bytes != a->bytes || (a->data == NULL && bytes != 0))
        nuc_fail(cx, NUC_BAD_USAGE, "%s: array '%s' has %zu bytes, its shape and type take %zu", where, a->name,
                 a->data == NULL ? 0 : a->bytes, bytes);
}

/* An array without elements lies somewhere, too: NULL stands for one that is left in a file. */
static void take_arrays(struct nuc_call *k)
{
    static const uint8_t nothing[1];
    struct nuc_context *cx = k->c->cx;
    struct nuc_dataset *d = nuc_alloc(cx, sizeof *d);

    d->c = k->c;
    d->path = nuc_strdup(cx, k->name != NULL ? k->name : "the arrays");
    d->arrays = (struct nuc_arrays){k->count, nuc_alloc_array(cx, k->count, sizeof *d->arrays.items)};
    for (size_t i = 0; i < k->count; i++) {
        const struct nuc_array_info *from = &k->in.arrays[i];
        struct nuc_array *to = &d->arrays.items[i];
        check_array(cx, d->path, k->in.arrays, i);
        *to = (struct nuc_array){
            .name = nuc_plain_text(cx, nuc_strdup(cx, from->name)), .dtype = from->dtype, .rank = (uint32_t)from->rank};
        memcpy(to->shape, from->sizes, from->rank * sizeof to->shape[0]);
        to->data = (struct nuc_span){from->data != NULL ? from->data : nothing, from->bytes};
    }
    note_image_options(k->c, d->path);
    *k->out.dataset = d;
}

enum nuc_status nuc_dataset_of_arrays(struct nuc_compiler *c, const char *name, const struct nuc_array_info *arrays,
                                      size_t count, struct nuc_dataset **out)
{
    return nuc_enter(&(struct nuc_call){.c = c, .name = name, .in.arrays = arrays, .count = count, .out.dataset = out},
                     take_arrays);
}

size_t nuc_dataset_n_arrays(const struct nuc_dataset *d)
{
    return d->arrays.count;
}

static void describe_array(struct nuc_call *k)
{
    struct nuc_array *a = &k->data->arrays.items[k->index];
    struct nuc_array_info *out = k->out.array;

    *out = (struct nuc_array_info){.name = a->name, .dtype = a->dtype, .rank = a->rank};
    memcpy(out->sizes, a->shape, a->rank * sizeof a->shape[0]);
    out->data = nuc_array_elements(k->c->cx, a);
    out->bytes = a->data.size;
}

enum nuc_status nuc_dataset_array(const struct nuc_dataset *d, size_t index, struct nuc_array_info *out)
{
    /* The elements of an array in a file of another byte order or layout are brought into order at the first call. */
    struct nuc_call call = {.c = d->c, .data = (struct nuc_dataset *)(uintptr_t)d, .index = index, .out.array = out};

    return index < d->arrays.count ? nuc_enter(&call, describe_array) : NUC_BAD_USAGE;
}

/* ---- parts ---- */

/* n_samples becomes that of the part. */
static void take_part(struct nuc_dataset *d)
{
    if (d->part == NUC_SAMPLES_ALL || d->n_samples < 2)
        return;
    d->period = d->n_samples < 4 ? d->n_samples : 4;
    size_t n_held_out = d->n_samples / d->period;
    d->n_samples = d->part == NUC_SAMPLES_HELD_OUT ? n_held_out : d->n_samples - n_held_out;
}

void nuc_dataset_bind_model(struct nuc_dataset *d, const struct nuc_model *m)
{
    nuc_dataset_bind_graph(d, m);
    take_part(d);
}

/* Of all samples, number `sample` of the part. */
static size_t sample_of_part(const struct nuc_dataset *d, size_t sample)
{
    if (d->period == 0)
        return sample;
    return d->part == NUC_SAMPLES_HELD_OUT ? (sample + 1) * d->period - 1 : sample + sample / (d->period - 1);
}

static void bind_dataset(struct nuc_call *k)
{
    nuc_dataset_bind_tensors(k->data, k->in.tensors, k->count);
    take_part(k->data);
    *k->out_count = k->data->n_samples;
}

enum nuc_status nuc_dataset_bind(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                                 size_t *n_samples)
{
    return nuc_enter(
        &(struct nuc_call){.c = d->c, .data = d, .in.tensors = inputs, .count = n_inputs, .out_count = n_samples},
        bind_dataset);
}

/* The sample as the array has it, in the type of the input. */
static void read_elements(const struct nuc_dataset *d, size_t input, size_t sample, void *to)
{
    const struct nuc_array *a = d->bound[input];
    size_t bytes = d->bytes[input];

    if (a->dtype == d->inputs[input].dtype)
        nuc_array_part(a, sample * bytes, bytes, to);
    else
        nuc_array_floats(a, sample * (bytes / sizeof(float)), bytes / sizeof(float), to);
}

/* Samples are copied one at a time, so that a large file is never held in memory. */
static const void *aligned_sample(const struct nuc_dataset *d, size_t input, size_t sample)
{
    const uint8_t *in_memory = d->bound[input]->data.data;
    size_t offset = sample * d->bytes[input];

    if (d->images_of[input] != NULL) {
        const void *data = d->unturned[input] != NULL ? d->unturned[input] : in_memory + offset;
        if (d->unturned[input] != NULL)
            read_elements(d, input, sample, d->unturned[input]);
        nuc_put_channels_first(d->images_of[input], data, d->aligned[input]);
        return d->aligned[input];
    }
    if (d->aligned[input] == NULL)
        return in_memory + offset;
    read_elements(d, input, sample, d->aligned[input]);
    return d->aligned[input];
}

void nuc_dataset_read_sample(const struct nuc_dataset *d, size_t sample, const void **inputs)
{
    sample = sample_of_part(d, d->first + sample);
    if (d->images != NULL) {
        nuc_dataset_read_images(d, sample, inputs);
        return;
    }
    for (size_t i = 0; i < d->n_inputs; i++)
        inputs[i] = aligned_sample(d, i, sample);
}

static void read_sample(struct nuc_call *k)
{
    nuc_dataset_read_sample(k->data, k->index, k->out.buffers);
}

enum nuc_status nuc_dataset_sample(const struct nuc_dataset *d, size_t sample, const void **inputs)
{
    struct nuc_call call = {
        .c = d->c, .data = (struct nuc_dataset *)(uintptr_t)d, .index = sample, .out.buffers = inputs};

    return sample < d->n_samples ? nuc_enter(&call, read_sample) : NUC_BAD_USAGE;
}

/* ---- writing ---- */

static void write_arrays(struct nuc_call *k)
{
    struct nuc_context *cx = k->c->cx;
    struct nuc_arrays arrays = {k->count, nuc_alloc_array(cx, k->count, sizeof *arrays.items)};

    for (size_t i = 0; i < k->count; i++) {
        const struct nuc_array_info *from = &k->in.arrays[i];
        struct nuc_array *to = &arrays.items[i];
        *to = (struct nuc_array){.name = from->name, .dtype = from->dtype, .rank = (uint32_t)from->rank};
        memcpy(to->shape, from->sizes, from->rank * sizeof to->shape[0]);
        to->data = (struct nuc_span){from->data, from->bytes};
    }
    nuc_write_npz(cx, k->output, &arrays);
}

enum nuc_status nuc_write_arrays(struct nuc_compiler *c, const char *path, const struct nuc_array_info *arrays,
                                 size_t count)
{
    return nuc_enter(&(struct nuc_call){.c = c, .output = path, .in.arrays = arrays, .count = count}, write_arrays);
}
