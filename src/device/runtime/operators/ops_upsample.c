/* Images in other sizes. */
#include "device/runtime/operators/op_shapes.h"

/* Batch, channels, height, width on both sides, and input positions per output position. */
static bool upsample(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                     const struct nuc_value *output_size, const struct nuc_value *scale_factors,
                     struct nuc_upsample2d *u)
{
    bool sized = output_size->kind == NUC_VALUE_INTS;
    ptrdiff_t in_strides[NUC_MAX_RANK];
    ptrdiff_t out_strides[NUC_MAX_RANK];

    if (!nuc_need(cx, in->sizes[0] == out->sizes[0] && in->sizes[1] == out->sizes[1],
                  NUC_TEXT("arguments 'input' and 'out' are not images of one batch and channels")) ||
        !nuc_need(cx, sized != (scale_factors->kind == NUC_VALUE_DOUBLES),
                  NUC_TEXT("not one of arguments 'output_size' and 'scale_factors' is given")))
        return false;
    bool fits = (sized ? output_size : scale_factors)->u.list.count == 2;
    u->batch = in->sizes[0];
    u->channels = in->sizes[1];
    nuc_tensor_strides(in, in_strides);
    nuc_tensor_strides(out, out_strides);
    for (int d = 0; d < 4; d++) {
        u->in_strides[d] = in_strides[d];
        u->out_strides[d] = out_strides[d];
    }
    for (uint32_t d = 0; fits && d < 2; d++) {
        int32_t from = u->in_size[d] = in->sizes[2 + d], to = u->out_size[d] = out->sizes[2 + d];
        double factor = sized ? (double)to / (double)from : nuc_list_double(scale_factors, d);
        double size = (double)from * factor;
        fits = sized ? nuc_list_int(cx, output_size, d) == to
                     : factor > 0.0 && size >= 0.0 && size < 2147483648.0 && (int32_t)size == to;
        if (!u->align_corners)
            u->scale[d] = (float)(1.0 / factor);
        else
            u->scale[d] = to > 1 ? (float)((double)(from - 1) / (double)(to - 1)) : 0.0f;
    }
    return nuc_need(cx, fits, NUC_TEXT("argument 'out' has the wrong height or width"));
}

enum nuc_status nuc_op_upsample_bilinear2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_upsample_bilinear2d *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_upsample2d u = {.align_corners = a->align_corners->u.b};

    if (!upsample(cx, in, out, a->output_size, a->scale_factors, &u))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_upsample_bilinear_f32(&u, in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_upsample_nearest2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_upsample_nearest2d *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_upsample2d u = {.align_corners = false};

    if (!upsample(cx, in, out, a->output_size, a->scale_factors, &u))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_upsample_nearest(&u, nuc_element_size(in), in->data, out->data);
    return NUC_OK;
}
