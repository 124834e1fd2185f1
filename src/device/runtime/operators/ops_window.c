/* Operators that slide a window over an image: convolution and pooling. */
#include "device/runtime/op_args.h"
#include "device/runtime/operators/ops_convolution3d.h"

/* Strides, paddings and dilations beyond this are refused, so that positions fit 64 bits easily. */
#define LARGEST_STEP (1 << 24)

static const int32_t ones[2] = {1, 1};
static const int32_t zeros[2] = {0, 0};

/* Strides of batch, channel, height, width. Rank 3 lacks the batch, or (channels, length) lacks the height. */
static void image_strides(const struct nuc_tensor *t, bool has_batch, ptrdiff_t out[4])
{
    ptrdiff_t s[NUC_MAX_RANK];

    nuc_tensor_strides(t, s);
    if (t->rank == 4) {
        for (int i = 0; i < 4; i++)
            out[i] = s[i];
    } else if (has_batch) {
        out[0] = s[0];
        out[1] = s[1];
        out[2] = 0;
        out[3] = s[2];
    } else {
        out[0] = 0;
        out[1] = s[0];
        out[2] = s[1];
        out[3] = s[2];
    }
}

/* One int per spatial dimension; for one dimension the height gets the fallback. */
static bool spatial_pair(const struct nuc_kernel_context *cx, const struct nuc_value *list, uint32_t rank, int64_t low,
                         const int32_t *fallback, int32_t pair[2])
{
    if (!nuc_list_pair(cx, list, low, LARGEST_STEP, fallback, pair))
        return false;
    if (rank == 3)
        pair[0] = fallback[0];
    return true;
}

/* Height and width: 1 and the length when there is one spatial dimension. */
static void spatial_size(const struct nuc_tensor *t, int32_t size[2])
{
    size[0] = t->rank == 4 ? t->sizes[2] : 1;
    size[1] = t->sizes[t->rank - 1];
}

static bool convolution_lists(struct nuc_kernel_context *cx, struct nuc_value *const *args, uint32_t rank,
                              struct nuc_conv2d *c, int32_t output_padding[2])
{
    return nuc_need(cx, spatial_pair(cx, args[3], rank, 1, ones, c->stride),
                    NUC_TEXT("argument 'stride' is out of range")) &&
           nuc_need(cx, spatial_pair(cx, args[4], rank, 0, zeros, c->padding),
                    NUC_TEXT("argument 'padding' is out of range")) &&
           nuc_need(cx, spatial_pair(cx, args[5], rank, 1, ones, c->dilation),
                    NUC_TEXT("argument 'dilation' is out of range")) &&
           nuc_need(cx, spatial_pair(cx, args[7], rank, 0, zeros, output_padding),
                    NUC_TEXT("argument 'output_padding' is out of range")) &&
           nuc_need(cx, nuc_value_in(args[8], 1, INT32_MAX), NUC_TEXT("argument 'groups' is not positive"));
}

static bool convolution_channels(struct nuc_kernel_context *cx, const struct nuc_tensor *weight,
                                 const struct nuc_tensor *bias, const struct nuc_conv2d *c, bool transposed)
{
    int32_t outer = transposed ? c->in_channels : c->out_channels;
    int32_t inner = transposed ? c->out_channels : c->in_channels;

    return nuc_need(cx, c->in_channels % c->groups == 0 && c->out_channels % c->groups == 0,
                    NUC_TEXT("argument 'groups' does not divide the channels")) &&
           nuc_need(cx, weight->sizes[0] == outer && weight->sizes[1] == inner / c->groups,
                    NUC_TEXT("argument 'weight' does not fit the channels of 'input' and 'out'")) &&
           nuc_need(cx, bias == NULL || (nuc_is_f32(bias) && bias->rank == 1 && bias->sizes[0] == c->out_channels),
                    NUC_TEXT("argument 'bias' is not one float32 an output channel"));
}

static bool convolution_sizes(const struct nuc_conv2d *c, const int32_t output_padding[2], bool transposed)
{
    for (int d = 0; d < 2; d++) {
        int64_t span = (int64_t)c->dilation[d] * (c->kernel[d] - (int64_t)1) + 1;
        int64_t padded = c->in_size[d] + 2 * (int64_t)c->padding[d] - span;
        int64_t expected = padded < 0 ? 0 : padded / c->stride[d] + 1;
        if (transposed)
            expected =
                (c->in_size[d] - (int64_t)1) * c->stride[d] - 2 * (int64_t)c->padding[d] + span + output_padding[d];
        if (c->out_size[d] != expected)
            return false;
    }
    return true;
}

static bool convolution_tensors(struct nuc_kernel_context *cx, const struct nuc_tensor *in,
                                const struct nuc_tensor *weight, const struct nuc_tensor *out)
{
    return nuc_need(cx, nuc_is_f32(in) && (in->rank == 3 || in->rank == 4),
                    NUC_TEXT("argument 'input' is not float32 of rank 3 to 5")) &&
           nuc_need(cx, nuc_is_f32(weight) && weight->rank == in->rank,
                    NUC_TEXT("argument 'weight' is not float32 of the rank of 'input'")) &&
           nuc_need(cx, nuc_is_f32(out) && out->rank == in->rank && out->sizes[0] == in->sizes[0],
                    NUC_TEXT("argument 'out' does not fit 'input'"));
}

static void convolution_geometry(const struct nuc_tensor *in, const struct nuc_tensor *weight,
                                 const struct nuc_tensor *out, const struct nuc_value *groups, struct nuc_conv2d *c)
{
    c->batch = in->sizes[0];
    c->groups = (int32_t)groups->u.i;
    c->in_channels = in->sizes[1];
    c->out_channels = out->sizes[1];
    spatial_size(in, c->in_size);
    spatial_size(out, c->out_size);
    spatial_size(weight, c->kernel);
    image_strides(in, true, c->in_strides);
    image_strides(weight, true, c->weight_strides);
    image_strides(out, true, c->out_strides);
}

enum nuc_status nuc_op_convolution(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *weight = nuc_arg_tensor(args, 1);
    const struct nuc_tensor *bias = nuc_arg_optional_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 9);
    bool transposed = args[6]->u.b;
    struct nuc_conv2d c;
    int32_t output_padding[2];

    if (nuc_is_f32(in) && in->rank == 5)
        return nuc_convolution3d(cx, args);
    if (!convolution_tensors(cx, in, weight, out) || !convolution_lists(cx, args, in->rank, &c, output_padding))
        return NUC_UNSUPPORTED;
    convolution_geometry(in, weight, out, args[8], &c);
    if (!convolution_channels(cx, weight, bias, &c, transposed) ||
        !nuc_need(cx, convolution_sizes(&c, output_padding, transposed),
                  NUC_TEXT("argument 'out' has the wrong height or width")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    if (transposed)
        nuc_kernel_transposed_convolution_f32(&c, in->data, weight->data, bias != NULL ? bias->data : NULL, out->data);
    else
        nuc_kernel_convolution_f32(&c, in->data, weight->data, bias != NULL ? bias->data : NULL, out->data);
    return NUC_OK;
}

/* Output positions of a window; with ceil_mode a last window that starts inside the input or its left padding. */
static int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                           bool ceil_mode)
{
    int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;

    if (room < 0)
        return 0;
    int64_t size = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (size - 1) * stride >= in + padding)
        size--;
    return size;
}

/* Batch, channels, sizes and strides of (batch,) channels, height, width. */
static bool pool_tensors(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                         struct nuc_pool2d *p)
{
    if (!nuc_need(cx, nuc_is_f32(in) && (in->rank == 3 || in->rank == 4),
                  NUC_TEXT("argument 'self' is not float32 of rank 3 or 4")) ||
        !nuc_need(cx, nuc_is_f32(out) && out->rank == in->rank, NUC_TEXT("argument 'out' does not fit 'self'")))
        return false;
    p->batch = in->rank == 4 ? in->sizes[0] : 1;
    p->channels = in->sizes[in->rank - 3];
    for (int d = 0; d < 2; d++) {
        p->in_size[d] = in->sizes[in->rank - 2 + d];
        p->out_size[d] = out->sizes[in->rank - 2 + d];
    }
    image_strides(in, false, p->in_strides);
    image_strides(out, false, p->out_strides);
    for (int d = 0; d < in->rank - 2; d++) {
        if (!nuc_need(cx, in->sizes[d] == out->sizes[d], NUC_TEXT("argument 'out' does not fit 'self'")))
            return false;
    }
    return true;
}

/* kernel_size, stride and padding from args[1] on. */
static bool pool_lists(struct nuc_kernel_context *cx, struct nuc_value *const *args, struct nuc_pool2d *p)
{
    if (!nuc_need(cx, nuc_list_pair(cx, args[1], 1, LARGEST_STEP, NULL, p->kernel),
                  NUC_TEXT("argument 'kernel_size' is out of range")) ||
        !nuc_need(cx, nuc_list_pair(cx, args[2], 1, LARGEST_STEP, p->kernel, p->stride),
                  NUC_TEXT("argument 'stride' is out of range")) ||
        !nuc_need(cx, nuc_list_pair(cx, args[3], 0, LARGEST_STEP, zeros, p->padding),
                  NUC_TEXT("argument 'padding' is out of range")))
        return false;
    return nuc_need(cx, p->padding[0] <= p->kernel[0] / 2 && p->padding[1] <= p->kernel[1] / 2,
                    NUC_TEXT("argument 'padding' is more than half of 'kernel_size'"));
}

static bool pool_sizes(struct nuc_kernel_context *cx, const struct nuc_pool2d *p, bool ceil_mode)
{
    for (int d = 0; d < 2; d++) {
        if (!nuc_need(cx,
                      p->out_size[d] == pooled_size(p->in_size[d], p->kernel[d], p->stride[d], p->padding[d],
                                                    p->dilation[d], ceil_mode),
                      NUC_TEXT("argument 'out' has the wrong height or width")))
            return false;
    }
    return true;
}

enum nuc_status nuc_op_max_pool2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 6);
    struct nuc_tensor *indices = nuc_arg_tensor(args, 7);
    struct nuc_pool2d p = {.divisor = 0};

    if (!pool_tensors(cx, in, out, &p) || !pool_lists(cx, args, &p) ||
        !nuc_need(cx, nuc_list_pair(cx, args[4], 1, LARGEST_STEP, ones, p.dilation),
                  NUC_TEXT("argument 'dilation' is out of range")) ||
        !pool_sizes(cx, &p, args[5]->u.b) ||
        !nuc_need(cx, indices->dtype == NUC_I64 && nuc_tensor_same_layout(indices, out),
                  NUC_TEXT("argument 'indices' is not int64 of the sizes and dim order of 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_max_pool_f32(&p, in->data, out->data, indices->data);
    return NUC_OK;
}

enum nuc_status nuc_op_avg_pool2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 7);
    struct nuc_pool2d p = {.dilation = {1, 1}, .count_include_pad = args[5]->u.b};

    if (args[6]->kind == NUC_VALUE_INT)
        p.divisor = args[6]->u.i;
    if (!pool_tensors(cx, in, out, &p) || !pool_lists(cx, args, &p) || !pool_sizes(cx, &p, args[4]->u.b) ||
        !nuc_need(cx, args[6]->kind != NUC_VALUE_INT || p.divisor != 0, NUC_TEXT("argument 'divisor_override' is 0")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_avg_pool_f32(&p, in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_adaptive_avg_pool2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    struct nuc_pool2d p = {.divisor = 0};

    if (!pool_tensors(cx, in, out, &p) || !nuc_need(cx, in->bytes > 0, NUC_TEXT("argument 'self' has no elements")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_adaptive_avg_pool_f32(&p, in->data, out->data);
    return NUC_OK;
}
