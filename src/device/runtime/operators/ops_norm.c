/* Normalization over statistics of the tensor itself. */
#include "device/runtime/operators/op_shapes.h"

/* A weight or bias is absent or has `count` values. */
static bool is_affine(const struct nuc_value *value, size_t count)
{
    return value->kind == NUC_VALUE_NONE || nuc_tensor_elements(&value->u.tensor) == count;
}

/* Mean and inverse deviation of each row. */
static bool check_statistics(struct nuc_kernel_context *cx, const struct nuc_value *mean,
                             const struct nuc_value *inverse, size_t rows)
{
    return nuc_need(cx, nuc_tensor_elements(&mean->u.tensor) == rows && nuc_tensor_elements(&inverse->u.tensor) == rows,
                    NUC_TEXT("argument 'mean_out' or 'rstd_out' is not one float32 for each row"));
}

/* The elements of a row, the last dimensions, which are listed as an argument; 0 when these are not the input's. */
static size_t row_of(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_value *shape)
{
    uint32_t dims = shape->u.list.count;
    bool fits = dims >= 1 && dims <= in->rank;
    size_t count = 1;

    for (uint32_t i = 0; fits && i < dims; i++) {
        int32_t size = in->sizes[in->rank - dims + i];
        fits = nuc_list_int(cx, shape, i) == size;
        count *= (size_t)size;
    }
    return nuc_need(cx, fits, NUC_TEXT("argument 'normalized_shape' does not fit 'input'")) ? count : 0;
}

enum nuc_status nuc_op_layer_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_layer_norm *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor;
    size_t count = row_of(cx, in, a->normalized_shape);

    if (count == 0)
        return NUC_UNSUPPORTED;
    size_t rows = nuc_tensor_elements(in) / count;
    if (!nuc_need(cx, is_affine(a->weight, count) && is_affine(a->bias, count),
                  NUC_TEXT("argument 'weight' or 'bias' does not have the normalized sizes")) ||
        !check_statistics(cx, a->mean_out, a->rstd_out, rows))
        return NUC_UNSUPPORTED;
    nuc_kernel_layer_norm_f32(rows, count, in->data, nuc_optional_data(a->weight), nuc_optional_data(a->bias),
                              nuc_value_float(a->eps), a->out->u.tensor.data, a->mean_out->u.tensor.data,
                              a->rstd_out->u.tensor.data);
    return NUC_OK;
}

enum nuc_status nuc_op_rms_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_rms_norm *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor;
    const float least = 0x1p-23f; /* of float32, torch's choice where there is none */
    float eps = a->eps->kind == NUC_VALUE_NONE ? least : nuc_value_float(a->eps);
    size_t count = row_of(cx, in, a->normalized_shape);

    if (count == 0 ||
        !nuc_need(cx, is_affine(a->weight, count), NUC_TEXT("argument 'weight' does not have the normalized sizes")))
        return NUC_UNSUPPORTED;
    nuc_kernel_rms_norm_f32(nuc_tensor_elements(in) / count, count, in->data, nuc_optional_data(a->weight), eps,
                            a->out->u.tensor.data);
    return NUC_OK;
}

enum nuc_status nuc_op_group_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_group_norm *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor;

    if (!nuc_need(cx, in->rank >= 2, NUC_TEXT("argument 'input' has no channels")))
        return NUC_UNSUPPORTED;
    int64_t batch = in->sizes[0];
    int64_t channels = in->sizes[1];
    int64_t inner = (int64_t)nuc_tensor_elements(in) / (batch * channels);
    int64_t groups = a->group->u.i;
    if (!nuc_need(cx, a->N->u.i == batch && a->C->u.i == channels && a->HxW->u.i == inner,
                  NUC_TEXT("argument 'N', 'C' or 'HxW' does not fit 'input'")) ||
        !nuc_need(cx, channels % groups == 0, NUC_TEXT("argument 'group' does not divide the channels")))
        return NUC_UNSUPPORTED;
    struct nuc_group_norm g = {(size_t)batch, (size_t)groups, (size_t)(channels / groups), (size_t)inner};
    if (!nuc_need(cx, is_affine(a->weight, (size_t)channels) && is_affine(a->bias, (size_t)channels),
                  NUC_TEXT("argument 'weight' or 'bias' is not one float32 a channel")) ||
        !check_statistics(cx, a->mean_out, a->rstd_out, g.batch * g.groups))
        return NUC_UNSUPPORTED;
    nuc_kernel_group_norm_f32(&g, in->data, nuc_optional_data(a->weight), nuc_optional_data(a->bias),
                              nuc_value_scalar(a->eps), a->out->u.tensor.data, a->mean_out->u.tensor.data,
                              a->rstd_out->u.tensor.data);
    return NUC_OK;
}
