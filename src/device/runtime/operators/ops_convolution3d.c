/* Convolution of volumes, [N, C, D, H, W]: ExecuTorch's own kernels have none, its programs may ask for it. */
#include "device/runtime/operators/ops_convolution3d.h"

#include "device/runtime/op_args.h"

#define LARGEST_STEP (1 << 24)

/* Three ints in [low, LARGEST_STEP]; one stands for all. */
static bool triple(const struct nuc_kernel_context *cx, const struct nuc_value *list, int64_t low, int32_t out[3])
{
    uint32_t count = list->u.list.count;

    if (count != 1 && count != 3)
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        int64_t v = nuc_list_int(cx, list, count == 1 ? 0 : i);
        if (v < low || v > LARGEST_STEP)
            return false;
        out[i] = (int32_t)v;
    }
    return true;
}

static bool sizes_fit(const struct nuc_conv3d *c, const int32_t output_padding[3])
{
    for (int d = 0; d < 3; d++) {
        if (c->transposed) {
            int64_t span = (int64_t)c->dilation[d] * (c->kernel[d] - (int64_t)1) + 1;
            int64_t reach = (int64_t)c->stride[d] * (c->in_size[d] - (int64_t)1) + span + output_padding[d];
            if (c->out_size[d] != reach - 2 * (int64_t)c->padding[d])
                return false;
            continue;
        }
        int64_t span = (int64_t)c->dilation[d] * (c->kernel[d] - (int64_t)1) + 1;
        int64_t padded = c->in_size[d] + 2 * (int64_t)c->padding[d] - span;
        if (c->out_size[d] != (padded < 0 ? 0 : padded / c->stride[d] + 1))
            return false;
    }
    return true;
}

static bool channels_fit(const struct nuc_tensor *weight, const struct nuc_tensor *bias, const struct nuc_conv3d *c)
{
    int32_t outer = c->transposed ? c->in_channels : c->out_channels;
    int32_t inner = c->transposed ? c->out_channels : c->in_channels;

    return c->in_channels % c->groups == 0 && c->out_channels % c->groups == 0 && weight->sizes[0] == outer &&
           weight->sizes[1] == inner / c->groups &&
           (bias == NULL || (nuc_is_f32(bias) && bias->rank == 1 && bias->sizes[0] == c->out_channels));
}

static void read_geometry(const struct nuc_tensor *in, const struct nuc_tensor *weight, const struct nuc_tensor *out,
                          int32_t groups, struct nuc_conv3d *c)
{
    c->batch = in->sizes[0];
    c->groups = groups;
    c->in_channels = in->sizes[1];
    c->out_channels = out->sizes[1];
    for (int d = 0; d < 3; d++) {
        c->in_size[d] = in->sizes[2 + d];
        c->out_size[d] = out->sizes[2 + d];
        c->kernel[d] = weight->sizes[2 + d];
    }
    nuc_tensor_strides(in, c->in_strides);
    nuc_tensor_strides(weight, c->weight_strides);
    nuc_tensor_strides(out, c->out_strides);
}

enum nuc_status nuc_convolution3d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_tensor *in = nuc_arg_tensor(args, 0), *weight = nuc_arg_tensor(args, 1);
    const struct nuc_tensor *bias = nuc_arg_optional_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 9);
    struct nuc_conv3d c;

    int32_t output_padding[3] = {0, 0, 0};

    c.transposed = args[6]->u.b;
    if (!nuc_need(cx,
                  nuc_is_f32(weight) && weight->rank == 5 && nuc_is_f32(out) && out->rank == 5 &&
                      out->sizes[0] == in->sizes[0],
                  NUC_TEXT("'weight' or 'out' is not float32 of the rank of 'input'")) ||
        !nuc_need(cx,
                  triple(cx, args[3], 1, c.stride) && triple(cx, args[4], 0, c.padding) &&
                      triple(cx, args[5], 1, c.dilation) && (!c.transposed || triple(cx, args[7], 0, output_padding)) &&
                      nuc_value_in(args[8], 1, INT32_MAX),
                  NUC_TEXT("stride, padding, dilation or groups is out of range")))
        return NUC_UNSUPPORTED;
    read_geometry(in, weight, out, (int32_t)args[8]->u.i, &c);
    if (!nuc_need(cx, channels_fit(weight, bias, &c) && sizes_fit(&c, output_padding),
                  NUC_TEXT("'weight', 'bias' or 'out' does not fit 'input'")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_convolution3d_f32(&c, in->data, weight->data, bias != NULL ? bias->data : NULL, out->data);
    return NUC_OK;
}
