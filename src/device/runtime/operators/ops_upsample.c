#include "device/runtime/op_args.h"

/* Where the factors and sizes stand among the arguments. */
struct upsample_args {
    const struct nuc_value *output_size, *scale_factors;
    bool align_corners;
};

/* Batch, channels, height, width on both sides. */
static bool upsample_tensors(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                             struct nuc_upsample2d *u)
{
    ptrdiff_t in_strides[NUC_MAX_RANK];
    ptrdiff_t out_strides[NUC_MAX_RANK];

    if (!nuc_need(cx, in->dtype == out->dtype, NUC_TEXT("argument 'out' differs from 'input' in element type")) ||
        !nuc_need(cx, in->rank == 4 && out->rank == 4 && in->sizes[0] == out->sizes[0] && in->sizes[1] == out->sizes[1],
                  NUC_TEXT("arguments 'input' and 'out' are not images of one batch and channels")))
        return false;
    u->batch = in->sizes[0];
    u->channels = in->sizes[1];
    for (int d = 0; d < 2; d++) {
        u->in_size[d] = in->sizes[2 + d];
        u->out_size[d] = out->sizes[2 + d];
    }
    nuc_tensor_strides(in, in_strides);
    nuc_tensor_strides(out, out_strides);
    for (int d = 0; d < 4; d++) {
        u->in_strides[d] = in_strides[d];
        u->out_strides[d] = out_strides[d];
    }
    return nuc_need(cx, in->bytes > 0, NUC_TEXT("argument 'input' has no elements"));
}

/* Output positions per input position, and whether they lead to the size of the output. */
static bool factor(const struct nuc_kernel_context *cx, const struct upsample_args *a, uint32_t d, int32_t in,
                   int32_t out, double *value)
{
    if (a->output_size->kind == NUC_VALUE_INTS) {
        *value = (double)out / (double)in;
        return a->output_size->u.list.count == 2 && nuc_list_int(cx, a->output_size, d) == out;
    }
    if (a->scale_factors->u.list.count != 2)
        return false;
    *value = nuc_list_double(a->scale_factors, d);
    double size = (double)in * *value;
    return *value > 0.0 && size >= 0.0 && size < 2147483648.0 && (int32_t)size == out;
}

/* Input positions per output position. */
static float input_scale(bool align_corners, double value, int32_t in, int32_t out)
{
    if (!align_corners)
        return (float)(1.0 / value);
    return out > 1 ? (float)((double)(in - 1) / (double)(out - 1)) : 0.0f;
}

static bool upsample(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct upsample_args *a,
                     int out_index, struct nuc_upsample2d *u)
{
    bool sized = a->output_size->kind == NUC_VALUE_INTS;

    if (!upsample_tensors(cx, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, out_index), u) ||
        !nuc_need(cx, sized != (a->scale_factors->kind == NUC_VALUE_DOUBLES),
                  NUC_TEXT("not one of arguments 'output_size' and 'scale_factors' is given")))
        return false;
    u->align_corners = a->align_corners;
    for (uint32_t d = 0; d < 2; d++) {
        double value = 1.0;
        if (!nuc_need(cx, factor(cx, a, d, u->in_size[d], u->out_size[d], &value),
                      NUC_TEXT("argument 'out' has the wrong height or width")))
            return false;
        u->scale[d] = input_scale(a->align_corners, value, u->in_size[d], u->out_size[d]);
    }
    return true;
}

enum nuc_status nuc_op_upsample_bilinear2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct upsample_args a = {args[1], args[3], args[2]->u.b};
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 4);
    struct nuc_upsample2d u;

    if (!nuc_need(cx, nuc_is_f32(in), NUC_TEXT("argument 'input' is not float32")) || !upsample(cx, args, &a, 4, &u))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_upsample_bilinear_f32(&u, in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_upsample_nearest2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct upsample_args a = {args[1], args[2], false};
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);
    struct nuc_upsample2d u;

    if (!upsample(cx, args, &a, 3, &u))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_upsample_nearest(&u, nuc_dtype_size((enum nuc_dtype)in->dtype), in->data, out->data);
    return NUC_OK;
}
