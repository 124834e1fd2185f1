/* Operators that slide a window over an image or a volume: convolution and pooling. */
#include "device/runtime/operators/op_shapes.h"

/* ---- aten::convolution ---- */

/* The tensors are float32 of one rank, and their channels and groups fit. */
static bool convolution_tensors(struct nuc_kernel_context *cx, const struct nuc_args_convolution *a)
{
    const struct nuc_tensor *in = &a->input->u.tensor, *weight = &a->weight->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_tensor *bias = nuc_optional_tensor(a->bias);
    int32_t groups = nuc_int32(a->groups);

    if (!nuc_need(cx, in->rank >= 3 && in->rank <= 5, NUC_TEXT("argument 'input' is not of rank 3 to 5")) ||
        !nuc_need(cx, weight->rank == in->rank, NUC_TEXT("argument 'weight' is not of the rank of 'input'")) ||
        !nuc_need(cx, out->rank == in->rank && out->sizes[0] == in->sizes[0],
                  NUC_TEXT("argument 'out' does not fit 'input'")))
        return false;
    int32_t outer = out->sizes[1], inner = in->sizes[1];
    bool divided = inner % groups == 0 && outer % groups == 0;
    if (a->transposed->u.b) {
        outer = in->sizes[1];
        inner = out->sizes[1];
    }
    return nuc_need(cx, divided, NUC_TEXT("argument 'groups' does not divide the channels")) &&
           nuc_need(cx, weight->sizes[0] == outer && weight->sizes[1] == inner / groups,
                    NUC_TEXT("argument 'weight' does not fit the channels of 'input' and 'out'")) &&
           nuc_need(cx, bias == NULL || bias->sizes[0] == out->sizes[1],
                    NUC_TEXT("argument 'bias' is not one float32 an output channel"));
}

/* Whether `out` is the size that a window gives. */
static bool convolved_size_fits(bool transposed, int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                                int64_t dilation, int64_t output_padding, int64_t out)
{
    int64_t span = dilation * (kernel - 1) + 1;
    int64_t padded = in + 2 * padding - span;

    if (transposed)
        return out == (in - 1) * stride - 2 * padding + span + output_padding;
    return out == (padded < 0 ? 0 : padded / stride + 1);
}

/* A number for each of the `n` dimensions of space, the last of three; one stands for all, none for `absent`. */
static bool spatial(const struct nuc_kernel_context *cx, const struct nuc_value *list, uint32_t n, int32_t absent,
                    int32_t out[3])
{
    const uint32_t count = list->u.list.count;

    if (count > 1 && (count < n || count > (n < 3 ? 2 : 3)))
        return false;
    for (uint32_t i = 0; i < 3; i++)
        out[i] = i < 3 - n || count == 0 ? absent : (int32_t)nuc_list_int(cx, list, count == 1 ? 0 : count - 3 + i);
    return true;
}

/* Sizes of space and strides of five dimensions: those of space that are not there are 1 and 0. */
static void volume(const struct nuc_tensor *t, int32_t size[3], ptrdiff_t strides[NUC_MAX_RANK])
{
    const uint32_t missing = 5U - t->rank;
    ptrdiff_t own[NUC_MAX_RANK];

    nuc_tensor_strides(t, own);
    for (uint32_t i = 0; i < 5; i++) {
        const bool there = i < 2 || i - 2 >= missing;
        const uint32_t dim = i < 2 ? i : i - missing;
        strides[i] = there ? own[dim] : 0;
        if (i >= 2)
            size[i - 2] = there ? t->sizes[dim] : 1;
    }
}

/* Of volumes: ExecuTorch's own kernels have none, its programs may ask for it. */
enum nuc_status nuc_op_convolution(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_convolution *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *weight = &a->weight->u.tensor, *out = &a->out->u.tensor;
    const uint32_t n = in->rank - 2U;
    struct nuc_conv3d c = {.groups = nuc_int32(a->groups), .transposed = a->transposed->u.b};
    int32_t output_padding[3];
    bool fits = true;

    if (!convolution_tensors(cx, a) ||
        !nuc_need(cx,
                  spatial(cx, a->stride, n, 1, c.stride) && spatial(cx, a->padding, n, 0, c.padding) &&
                      spatial(cx, a->dilation, n, 1, c.dilation) &&
                      spatial(cx, a->output_padding, n, 0, output_padding),
                  NUC_TEXT("argument 'stride', 'padding', 'dilation' or 'output_padding' has the wrong length")))
        return NUC_UNSUPPORTED;
    c.batch = in->sizes[0];
    c.in_channels = in->sizes[1];
    c.out_channels = out->sizes[1];
    volume(in, c.in_size, c.in_strides);
    volume(weight, c.kernel, c.weight_strides);
    volume(out, c.out_size, c.out_strides);
    for (int d = 0; d < 3; d++)
        fits = fits && convolved_size_fits(c.transposed, c.in_size[d], c.kernel[d], c.stride[d], c.padding[d],
                                           c.dilation[d], output_padding[d], c.out_size[d]);
    if (!nuc_need(cx, fits,
                  n == 3 ? NUC_TEXT("argument 'out' has the wrong depth, height or width")
                         : NUC_TEXT("argument 'out' has the wrong height or width")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    if (n == 3) {
        nuc_kernel_convolution3d_f32(&c, in->data, weight->data, nuc_optional_data(a->bias), out->data);
        return NUC_OK;
    }
    struct nuc_conv2d image = {
        .batch = c.batch, .groups = c.groups, .in_channels = c.in_channels, .out_channels = c.out_channels};
    for (int d = 0; d < 2; d++) {
        image.in_size[d] = c.in_size[1 + d];
        image.out_size[d] = c.out_size[1 + d];
        image.kernel[d] = c.kernel[1 + d];
        image.stride[d] = c.stride[1 + d];
        image.padding[d] = c.padding[1 + d];
        image.dilation[d] = c.dilation[1 + d];
    }
    for (int i = 0; i < 4; i++) {
        image.in_strides[i] = c.in_strides[i < 2 ? i : i + 1];
        image.weight_strides[i] = c.weight_strides[i < 2 ? i : i + 1];
        image.out_strides[i] = c.out_strides[i < 2 ? i : i + 1];
    }
    (c.transposed ? nuc_kernel_transposed_convolution_f32
                  : nuc_kernel_convolution_f32)(&image, in->data, weight->data, nuc_optional_data(a->bias), out->data);
    return NUC_OK;
}

/* ---- pooling ---- */

static const int32_t ones[2] = {1, 1};
static const int32_t zeros[2] = {0, 0};

/* Strides of batch, channel, height, width, of which the batch may be absent. */
static void image_strides(const struct nuc_tensor *t, ptrdiff_t out[4])
{
    ptrdiff_t s[NUC_MAX_RANK];

    nuc_tensor_strides(t, s);
    out[0] = t->rank == 4 ? s[0] : 0;
    for (int i = 1; i < 4; i++)
        out[i] = s[t->rank - 4 + i];
}

/* Batch, channels, sizes and strides of (batch,) channels, height, width. */
static bool pool_tensors(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                         struct nuc_pool2d *p)
{
    bool fits = out->rank == in->rank;

    if (!nuc_need(cx, in->rank == 3 || in->rank == 4, NUC_TEXT("argument 'self' is not of rank 3 or 4")))
        return false;
    for (int d = 0; fits && d < in->rank - 2; d++)
        fits = in->sizes[d] == out->sizes[d];
    if (!nuc_need(cx, fits, NUC_TEXT("argument 'out' does not fit 'self'")))
        return false;
    p->batch = in->rank == 4 ? in->sizes[0] : 1;
    p->channels = in->sizes[in->rank - 3];
    for (int d = 0; d < 2; d++) {
        p->in_size[d] = in->sizes[in->rank - 2 + d];
        p->out_size[d] = out->sizes[in->rank - 2 + d];
    }
    image_strides(in, p->in_strides);
    image_strides(out, p->out_strides);
    return true;
}

/* p->dilation has been read. */
static bool pool_windows(struct nuc_kernel_context *cx, const struct nuc_value *kernel_size,
                         const struct nuc_value *stride, const struct nuc_value *padding, bool ceil_mode,
                         struct nuc_pool2d *p)
{
    bool fits = true;

    if (!nuc_need(cx,
                  nuc_list_pair(cx, kernel_size, NULL, p->kernel) && nuc_list_pair(cx, stride, p->kernel, p->stride) &&
                      nuc_list_pair(cx, padding, zeros, p->padding),
                  NUC_TEXT("argument 'kernel_size', 'stride' or 'padding' has the wrong length")) ||
        !nuc_need(cx, p->padding[0] <= p->kernel[0] / 2 && p->padding[1] <= p->kernel[1] / 2,
                  NUC_TEXT("argument 'padding' is more than half of 'kernel_size'")))
        return false;
    for (int d = 0; d < 2; d++) {
        int64_t reach = (int64_t)p->dilation[d] * (p->kernel[d] - 1) + 1;
        fits =
            fits && reach <= UINT32_MAX &&
            p->out_size[d] == nuc_pooled_size(p->in_size[d], (uint32_t)reach, p->stride[d], p->padding[d], ceil_mode);
    }
    return nuc_need(cx, fits, NUC_TEXT("argument 'out' has the wrong height or width"));
}

enum nuc_status nuc_op_max_pool2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_max_pool2d *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor, *indices = &a->indices->u.tensor;
    struct nuc_pool2d p = {.divisor = 0};

    if (!nuc_need(cx, nuc_list_pair(cx, a->dilation, ones, p.dilation),
                  NUC_TEXT("argument 'dilation' has the wrong length")) ||
        !pool_tensors(cx, in, out, &p) ||
        !pool_windows(cx, a->kernel_size, a->stride, a->padding, a->ceil_mode->u.b, &p) ||
        !nuc_need(cx, nuc_tensor_same_layout(indices, out),
                  NUC_TEXT("argument 'indices' is not of the sizes and dim order of 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_max_pool_f32(&p, in->data, out->data, indices->data);
    return NUC_OK;
}

enum nuc_status nuc_op_avg_pool2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_avg_pool2d *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    bool overridden = a->divisor_override->kind == NUC_VALUE_INT;
    struct nuc_pool2d p = {.dilation = {1, 1},
                           .count_include_pad = a->count_include_pad->u.b,
                           .divisor = overridden ? a->divisor_override->u.i : 0};

    if (!pool_tensors(cx, in, out, &p) ||
        !pool_windows(cx, a->kernel_size, a->stride, a->padding, a->ceil_mode->u.b, &p) ||
        !nuc_need(cx, !overridden || p.divisor != 0, NUC_TEXT("argument 'divisor_override' is 0")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_avg_pool_f32(&p, in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_adaptive_avg_pool2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_adaptive_avg_pool2d *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_pool2d p = {.divisor = 0};

    if (!pool_tensors(cx, in, out, &p))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_adaptive_avg_pool_f32(&p, in->data, out->data);
    return NUC_OK;
}
