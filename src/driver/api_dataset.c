/* Data sets as compile.h has them. */
#include "data/dataset.h"

#include <string.h>

#include "data/npz_write.h"
#include "driver/model_metadata.h"

static void open_dataset(struct nuc_call *k)
{
    struct nuc_dataset *d = nuc_dataset_read(k->c->cx, &k->c->options, k->path);

    d->owner = k->c;
    *k->out.dataset = d;
}

enum nuc_status nuc_dataset_open(struct nuc_compiler *c, const char *path, struct nuc_dataset **out)
{
    return nuc_enter(&(struct nuc_call){.c = c, .path = path, .out.dataset = out}, open_dataset);
}

static void take_arrays(struct nuc_call *k)
{
    struct nuc_dataset *d = nuc_dataset_take(k->c->cx, &k->c->options, k->name, k->in.arrays, k->count);

    d->owner = k->c;
    *k->out.dataset = d;
}

enum nuc_status nuc_dataset_of_arrays(struct nuc_compiler *c, const char *name, const struct nuc_array_info *arrays,
                                      size_t count, struct nuc_dataset **out)
{
    return nuc_enter(&(struct nuc_call){.c = c, .name = name, .in.arrays = arrays, .count = count, .out.dataset = out},
                     take_arrays);
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
    struct nuc_call call = {
        .c = d->owner, .data = (struct nuc_dataset *)(uintptr_t)d, .index = index, .out.array = out};

    return index < d->arrays.count ? nuc_enter(&call, describe_array) : NUC_BAD_USAGE;
}

static void bind_dataset(struct nuc_call *k)
{
    nuc_dataset_bind_inputs(k->data, k->in.tensors, k->count, NULL);
    *k->out_count = k->data->n_samples;
}

enum nuc_status nuc_dataset_bind(struct nuc_dataset *d, const struct nuc_tensor_info *inputs, size_t n_inputs,
                                 size_t *n_samples)
{
    return nuc_enter(
        &(struct nuc_call){.c = d->owner, .data = d, .in.tensors = inputs, .count = n_inputs, .out_count = n_samples},
        bind_dataset);
}

static void read_sample(struct nuc_call *k)
{
    nuc_dataset_read_sample(k->data, k->index, k->out.buffers);
}

enum nuc_status nuc_dataset_sample(const struct nuc_dataset *d, size_t sample, const void **inputs)
{
    struct nuc_call call = {
        .c = d->owner, .data = (struct nuc_dataset *)(uintptr_t)d, .index = sample, .out.buffers = inputs};

    return sample < d->n_samples ? nuc_enter(&call, read_sample) : NUC_BAD_USAGE;
}

const char *nuc_calibration_line(const struct nuc_compiler *c, size_t index)
{
    return c->data != NULL && index < c->data->count ? c->data->items[index] : NULL;
}

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

/* ---- for stages ---- */

struct nuc_dataset *nuc_dataset_again(struct nuc_compiler *c, struct nuc_sample_source source)
{
    struct nuc_dataset *d = nuc_dataset_for(c->cx, &c->options, source);

    d->owner = c;
    return d;
}

void nuc_dataset_bind_model(struct nuc_dataset *d, const struct nuc_model *m)
{
    size_t n = nuc_model_n_inputs(m);
    struct nuc_tensor_info *inputs = nuc_alloc_array(d->cx, n, sizeof *inputs);
    bool *turned = nuc_alloc_array(d->cx, n, sizeof *turned);

    for (size_t i = 0; i < n; i++) {
        nuc_model_input(m, i, &inputs[i]);
        inputs[i].name = nuc_input_name(m, i);
        turned[i] = nuc_is_image_input(m, i);
    }
    nuc_dataset_bind_inputs(d, inputs, n, turned);
}
