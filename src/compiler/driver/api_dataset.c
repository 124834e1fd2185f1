/* Data sets: arrays by name, cut into the samples of a model's inputs, or a folder of images. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "compiler/driver/dataset.h"
#include "compiler/export/npz_write.h"
#include "compiler/import/file_kind.h"
#include "host/text.h"

struct nuc_dataset *nuc_dataset_read(struct nuc_compiler *c, const char *path)
{
    struct nuc_dataset *d = nuc_dataset_of_images(c, path);

    if (d != NULL)
        return d;
    nuc_expect_file(c->cx, path, NUC_FILE_DATA);
    if (c->options.n_image_mean > 0 || c->options.n_image_std > 0 || c->options.image_resize != NUC_RESIZE_NONE)
        nuc_warn(c->cx,
                 "%s: holds arrays, not images: --mean, --std and --resize are without effect, prepare the "
                 "arrays themselves",
                 path);
    d = nuc_alloc(c->cx, sizeof *d);
    d->c = c;
    d->path = nuc_strdup(c->cx, path);
    d->arrays = nuc_read_arrays(c->cx, path);
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

/* ---- binding ---- */

/* The array of that name; tensors of LiteRT models may have names with other characters, which an input has as '_'. */
static const struct nuc_array *find_named(const struct nuc_dataset *d, const char *name)
{
    const struct nuc_array *found = nuc_find_array(&d->arrays, name);

    for (size_t i = 0; found == NULL && i < d->arrays.count; i++) {
        const char *p = d->arrays.items[i].name, *q = name;
        while (*p != '\0' && (*p == *q || (*q == '_' && !isalnum((unsigned char)*p))))
            p++, q++;
        found = *p == '\0' && *q == '\0' ? &d->arrays.items[i] : NULL;
    }
    return found;
}

bool nuc_is_label_array(const char *name)
{
    return strncmp(name, "label", 5) == 0;
}

/* Array `index` of those that are not labels; `count` becomes how many there are. */
static const struct nuc_array *unlabelled(const struct nuc_dataset *d, size_t index, size_t *count)
{
    const struct nuc_array *found = NULL;

    *count = 0;
    for (size_t i = 0; i < d->arrays.count; i++) {
        if (nuc_is_label_array(d->arrays.items[i].name))
            continue;
        found = *count == index ? &d->arrays.items[i] : found;
        ++*count;
    }
    return found;
}

/* By name; else in0, in1, ...; else in order, when there are as many arrays, labels apart, as inputs. */
static const struct nuc_array *choose(const struct nuc_dataset *d, const struct nuc_tensor_info *inputs,
                                      size_t n_inputs, size_t index)
{
    char name[32];
    bool any_named = false;
    size_t count;

    for (size_t i = 0; i < n_inputs; i++)
        any_named = any_named || find_named(d, inputs[i].name) != NULL;
    if (any_named)
        return find_named(d, inputs[index].name);
    snprintf(name, sizeof name, "in%zu", index);
    if (nuc_find_array(&d->arrays, name) != NULL)
        return nuc_find_array(&d->arrays, name);
    const struct nuc_array *next = unlabelled(d, index, &count);
    return count == n_inputs || n_inputs == 1 ? next : NULL;
}

static const char *shape_text(struct nuc_context *cx, const int64_t *sizes, size_t rank)
{
    struct nuc_text text;

    nuc_text_init(&text, cx);
    for (size_t i = 0; i < rank; i++)
        nuc_text_addf(&text, "%s%lld", i == 0 ? "[" : ", ", (long long)sizes[i]);
    nuc_text_addf(&text, rank == 0 ? "[]" : "]");
    return nuc_text_string(&text);
}

static bool ends_with(const struct nuc_array *a, const struct nuc_tensor_info *t, size_t skip)
{
    if (a->rank < 1 || a->rank - 1 != t->rank - skip)
        return false;
    return memcmp(&a->shape[1], &t->sizes[skip], (t->rank - skip) * sizeof a->shape[0]) == 0;
}

/*
 * An array [..., 1, H, W] for an input [N, H, W, 1]: with one channel its elements lie in the same order wherever the
 * channels are. The shape as the input would have it in front of the others.
 */
static struct nuc_tensor_info with_channel_first(const struct nuc_tensor_info *t)
{
    struct nuc_tensor_info first = *t;

    first.sizes[1] = t->sizes[3];
    first.sizes[2] = t->sizes[1];
    first.sizes[3] = t->sizes[2];
    return first;
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

static size_t count_samples(const struct nuc_array *a, const struct nuc_tensor_info *t)
{
    size_t count = count_exact(a, t);

    if (count != 0 || t->rank != 4 || t->sizes[3] != 1)
        return count;
    const struct nuc_tensor_info first = with_channel_first(t);
    return count_exact(a, &first);
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

/* The same the other way round: the input takes [N, H, W, C], as those of LiteRT models, and the array has [C, H, W].
 */
static bool looks_channels_first(const struct nuc_array *a, const struct nuc_tensor_info *t)
{
    if (t->rank != 4 || a->rank < t->rank)
        return false;
    const int64_t *last = &a->shape[a->rank - 3];
    return last[0] == t->sizes[3] && last[1] == t->sizes[1] && last[2] == t->sizes[2];
}

_Noreturn static void refuse_shape(const struct nuc_dataset *d, const struct nuc_array *a,
                                   const struct nuc_tensor_info *t)
{
    struct nuc_context *cx = d->c->cx;
    const char *hint = looks_channels_last(a, t)
                           ? "; it looks channels-last: give samples in the logical order of the shape, the program's "
                             "dim order is applied when it runs"
                       : looks_channels_first(a, t)
                           ? "; it looks channels-first: the program takes arrays in the LiteRT model's own order, the "
                             "channels last"
                           : "";

    nuc_fail(cx, NUC_BAD_INPUT, "%s: array '%s' has shape %s, input '%s' takes samples of shape %s along axis 0%s",
             d->path, a->name, shape_text(cx, a->shape, a->rank), t->name, shape_text(cx, t->sizes, t->rank), hint);
}

static void bind(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs)
{
    struct nuc_context *cx = d->c->cx;

    if (d->images != NULL) {
        nuc_dataset_bind_images(d, inputs, n_inputs, NUC_IMAGES_BY_SIZES);
        return;
    }
    d->images_of = nuc_alloc_array(cx, n_inputs, sizeof *d->images_of);
    d->bound = nuc_alloc_array(cx, n_inputs, sizeof(struct nuc_array *));
    d->bytes = nuc_alloc_array(cx, n_inputs, sizeof *d->bytes);
    d->aligned = nuc_alloc_array(cx, n_inputs, sizeof *d->aligned);
    d->unturned = nuc_alloc_array(cx, n_inputs, sizeof *d->unturned);
    d->n_inputs = n_inputs;
    for (size_t i = 0; i < n_inputs; i++) {
        const struct nuc_tensor_info *t = &inputs[i];
        const struct nuc_array *a = choose(d, inputs, n_inputs, i);
        if (a == NULL)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: no array for input '%s': name one '%s' or in%zu", d->path, t->name,
                     t->name, i);
        if (a->dtype != t->dtype)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: array '%s' is %s, input '%s' is %s: convert it", d->path, a->name,
                     nuc_dtype_name(a->dtype), t->name, nuc_dtype_name(t->dtype));
        if (a->rank > 0 && a->shape[0] == 0)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: array '%s' holds no sample", d->path, a->name);
        size_t n = count_samples(a, t);
        if (n == 0)
            refuse_shape(d, a, t);
        if (i > 0 && n != d->n_samples)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: array '%s' holds %zu samples, '%s' holds %zu", d->path, a->name, n,
                     d->bound[0]->name, d->n_samples);
        d->n_samples = n;
        d->bound[i] = a;
        d->bytes[i] = t->bytes;
        if (!nuc_array_is_in_place(a))
            d->aligned[i] = nuc_alloc(cx, t->bytes);
    }
}

static void bind_model(struct nuc_dataset *d, const struct nuc_model *m)
{
    size_t n_inputs = nuc_model_n_inputs(m);
    struct nuc_tensor_info *inputs = nuc_alloc_array(d->c->cx, n_inputs, sizeof *inputs);

    for (size_t i = 0; i < n_inputs; i++)
        nuc_model_input(m, i, &inputs[i]);
    if (d->images != NULL) {
        nuc_dataset_bind_images(d, inputs, n_inputs,
                                nuc_is_image_input(m, 0) ? NUC_IMAGES_CHANNELS_LAST : NUC_IMAGES_CHANNELS_FIRST);
        d->channels_last = false;
        return;
    }
    bind(d, inputs, n_inputs);
    for (size_t i = 0; i < n_inputs; i++) {
        if (!nuc_is_image_input(m, i))
            continue;
        d->images_of[i] = &inputs[i];
        d->aligned[i] = nuc_alloc(d->c->cx, inputs[i].bytes);
        if (d->bound[i]->data.data == NULL)
            d->unturned[i] = nuc_alloc(d->c->cx, inputs[i].bytes);
    }
}

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
    bind_model(d, m);
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
    bind(k->data, k->in.tensors, k->count);
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

/* Samples are copied one at a time, so that a large file is never held in memory. */
static const void *aligned_sample(const struct nuc_dataset *d, size_t input, size_t sample)
{
    const struct nuc_array *a = d->bound[input];
    size_t offset = sample * d->bytes[input];

    if (d->images_of[input] != NULL) {
        const void *data = a->data.data == NULL ? d->unturned[input] : a->data.data + offset;
        if (a->data.data == NULL)
            nuc_array_part(a, offset, d->bytes[input], d->unturned[input]);
        nuc_put_channels_first(d->images_of[input], data, d->aligned[input]);
        return d->aligned[input];
    }
    if (d->aligned[input] == NULL)
        return a->data.data + offset;
    nuc_array_part(a, offset, d->bytes[input], d->aligned[input]);
    return d->aligned[input];
}

void nuc_dataset_read_sample(const struct nuc_dataset *d, size_t sample, const void **inputs)
{
    sample = sample_of_part(d, sample);
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
