/* Normalization over statistics of the tensor itself. */
#include "device/runtime/op_args.h"

static bool is_dense_f32(const struct nuc_tensor *t)
{
    return nuc_is_f32(t) && nuc_tensor_is_contiguous(t);
}

/* A weight or bias is absent or has `count` values. */
static bool is_affine(const struct nuc_tensor *t, size_t count)
{
    return t == NULL || (is_dense_f32(t) && nuc_tensor_elements(t) == count);
}

static const float *data_of(const struct nuc_tensor *t)
{
    return t == NULL ? NULL : t->data;
}

static bool check_tensors(struct nuc_kernel_context *cx, struct nuc_value *const *args, int out)
{
    const struct nuc_tensor *in = nuc_arg_tensor(args, 0);

    return nuc_need(cx, is_dense_f32(in) && is_dense_f32(nuc_arg_tensor(args, out)),
                    NUC_TEXT("argument 'input' or 'out' is not contiguous float32")) &&
           nuc_need(cx, nuc_tensor_same_sizes(in, nuc_arg_tensor(args, out)),
                    NUC_TEXT("argument 'out' differs from 'input' in sizes"));
}

/* Mean and inverse deviation of each row. */
static bool check_statistics(struct nuc_kernel_context *cx, struct nuc_value *const *args, int first, size_t rows)
{
    const struct nuc_tensor *mean = nuc_arg_tensor(args, first);
    const struct nuc_tensor *inverse = nuc_arg_tensor(args, first + 1);

    return nuc_need(cx,
                    is_dense_f32(mean) && is_dense_f32(inverse) && nuc_tensor_elements(mean) == rows &&
                        nuc_tensor_elements(inverse) == rows,
                    NUC_TEXT("argument 'mean_out' or 'rstd_out' is not one float32 for each row"));
}

/* The elements of a row, the last dimensions, which are listed as an argument; 0 when these are not the input's. */
static size_t row_of(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    uint32_t dims = args[1]->u.list.count;
    size_t count = 1;

    if (!nuc_need(cx, dims >= 1 && dims <= in->rank && in->bytes > 0,
                  NUC_TEXT("argument 'normalized_shape' does not fit 'input'")))
        return 0;
    for (uint32_t i = 0; i < dims; i++) {
        int32_t size = in->sizes[in->rank - dims + i];
        if (!nuc_need(cx, nuc_list_int(cx, args[1], i) == size,
                      NUC_TEXT("argument 'normalized_shape' does not fit 'input'")))
            return 0;
        count *= (size_t)size;
    }
    return count;
}

/* (input, normalized_shape, weight, bias, eps, out, mean_out, rstd_out) */
enum nuc_status nuc_op_layer_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    const struct nuc_tensor *weight = nuc_arg_optional_tensor(args, 2);
    const struct nuc_tensor *bias = nuc_arg_optional_tensor(args, 3);
    size_t count = check_tensors(cx, args, 5) ? row_of(cx, args) : 0;

    if (count == 0)
        return NUC_UNSUPPORTED;
    size_t rows = nuc_tensor_elements(in) / count;
    if (!nuc_need(cx, is_affine(weight, count) && is_affine(bias, count),
                  NUC_TEXT("argument 'weight' or 'bias' does not have the normalized sizes")) ||
        !check_statistics(cx, args, 6, rows))
        return NUC_UNSUPPORTED;
    nuc_kernel_layer_norm_f32(rows, count, in->data, data_of(weight), data_of(bias), (float)nuc_value_scalar(args[4]),
                              nuc_arg_tensor(args, 5)->data, nuc_arg_tensor(args, 6)->data,
                              nuc_arg_tensor(args, 7)->data);
    return NUC_OK;
}

/* (input, normalized_shape, weight, eps, out) */
enum nuc_status nuc_op_rms_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    const struct nuc_tensor *weight = nuc_arg_optional_tensor(args, 2);
    const float least = 0x1p-23f; /* of float32, torch's choice where there is none */
    size_t count = check_tensors(cx, args, 4) ? row_of(cx, args) : 0;

    if (count == 0 ||
        !nuc_need(cx, is_affine(weight, count), NUC_TEXT("argument 'weight' does not have the normalized sizes")))
        return NUC_UNSUPPORTED;
    float eps = args[3]->kind == NUC_VALUE_NONE ? least : (float)nuc_value_scalar(args[3]);
    nuc_kernel_rms_norm_f32(nuc_tensor_elements(in) / count, count, in->data, data_of(weight), eps,
                            nuc_arg_tensor(args, 4)->data);
    return NUC_OK;
}

/* (input, weight, bias, N, C, HxW, group, eps, out, mean_out, rstd_out) */
enum nuc_status nuc_op_group_norm(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    const struct nuc_tensor *weight = nuc_arg_optional_tensor(args, 1);
    const struct nuc_tensor *bias = nuc_arg_optional_tensor(args, 2);

    if (!check_tensors(cx, args, 8) ||
        !nuc_need(cx, in->rank >= 2 && in->bytes > 0, NUC_TEXT("argument 'input' has no channels")))
        return NUC_UNSUPPORTED;
    int64_t batch = in->sizes[0];
    int64_t channels = in->sizes[1];
    int64_t inner = (int64_t)nuc_tensor_elements(in) / (batch * channels);
    int64_t groups = args[6]->u.i;
    if (!nuc_need(cx, args[3]->u.i == batch && args[4]->u.i == channels && args[5]->u.i == inner,
                  NUC_TEXT("argument 'N', 'C' or 'HxW' does not fit 'input'")) ||
        !nuc_need(cx, groups >= 1 && channels % groups == 0, NUC_TEXT("argument 'group' does not divide the channels")))
        return NUC_UNSUPPORTED;
    struct nuc_group_norm g = {(size_t)batch, (size_t)groups, (size_t)(channels / groups), (size_t)inner};
    if (!nuc_need(cx, is_affine(weight, (size_t)channels) && is_affine(bias, (size_t)channels),
                  NUC_TEXT("argument 'weight' or 'bias' is not one float32 a channel")) ||
        !check_statistics(cx, args, 9, g.batch * g.groups))
        return NUC_UNSUPPORTED;
    nuc_kernel_group_norm_f32(&g, in->data, data_of(weight), data_of(bias), nuc_value_scalar(args[7]),
                              nuc_arg_tensor(args, 8)->data, nuc_arg_tensor(args, 9)->data,
                              nuc_arg_tensor(args, 10)->data);
    return NUC_OK;
}
