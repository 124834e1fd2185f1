/* Data sets as compile.h has them. */
#include "data/dataset.h"

#include "data/npz_write.h"
#include "driver/model_metadata.h"

enum nuc_status nuc_dataset_open(struct nuc_compiler *c, const char *path, struct nuc_dataset **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && out != NULL);
        *out = nuc_dataset_read(c->cx, &c->options, path);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_dataset_of_arrays(struct nuc_compiler *c, const char *name, const struct nuc_array_info *arrays,
                                      size_t count, struct nuc_dataset **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, (arrays != NULL || count == 0) && out != NULL);
        *out = nuc_dataset_take(c->cx, &c->options, name, arrays, count);
    }
    return nuc_leave(&call);
}

const char *nuc_calibration_line(const struct nuc_compiler *c, size_t index)
{
    return c->data != NULL && index < c->data->count ? c->data->items[index] : NULL;
}

enum nuc_status nuc_write_arrays(struct nuc_compiler *c, const char *path, const struct nuc_array_info *arrays,
                                 size_t count)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && (arrays != NULL || count == 0));
        const struct nuc_arrays given = nuc_arrays_given(c->cx, path, arrays, count);
        nuc_write_npz(c->cx, path, &given);
    }
    return nuc_leave(&call);
}

/* ---- for stages ---- */

struct nuc_dataset *nuc_dataset_again(struct nuc_compiler *c, struct nuc_sample_source source)
{
    return nuc_dataset_for(c->cx, &c->options, source);
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
