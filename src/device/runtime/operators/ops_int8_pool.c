/* Pooling, sums, resizing and padding in int8. */
#include "device/runtime/operators/ops_int8.h"

static bool read_images(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                        int32_t in_size[2], int32_t out_size[2])
{
    return nuc_need(cx, nuc_is_s8(in) && nuc_tensor_is_channels_last(in),
                    NUC_TEXT("argument 'input' is not int8 channels-last")) &&
           nuc_need(cx, nuc_is_s8(out) && nuc_tensor_is_channels_last(out),
                    NUC_TEXT("argument 'out' is not int8 channels-last")) &&
           nuc_need(cx, in->sizes[0] == out->sizes[0] && in->sizes[1] == out->sizes[1],
                    NUC_TEXT("argument 'out' differs from 'input' in batch or channels")) &&
           nuc_need(cx, in->bytes > 0, NUC_TEXT("argument 'input' is empty")) &&
           nuc_need(cx, nuc_image_size(in, in_size) && nuc_image_size(out, out_size),
                    NUC_TEXT("an image is too large"));
}

/* With ceil_mode, a last window that begins inside the image or the padding before it. */
static int32_t pooled_size(const struct nuc_pool_s8 *p, int d, bool ceil_mode)
{
    int32_t room = p->in_size[d] + 2 * p->padding[d] - p->kernel[d];

    if (room < 0)
        return 0;
    int32_t size = room / p->stride[d] + 1;
    if (ceil_mode && room % p->stride[d] != 0)
        size++;
    if (ceil_mode && (size - 1) * p->stride[d] >= p->in_size[d] + p->padding[d])
        size--;
    return size;
}

/* input, kernel_size, stride, padding as the first arguments. */
static bool read_pool(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct nuc_tensor *out,
                      bool ceil_mode, struct nuc_pool_s8 *p)
{
    const struct nuc_tensor *in = nuc_arg_tensor(args, 0);

    if (!read_images(cx, in, out, p->in_size, p->out_size) ||
        !nuc_need(cx, nuc_spatial(cx, args[1], 1, p->kernel), NUC_TEXT("argument 'kernel_size' is out of range")) ||
        !nuc_need(cx, nuc_spatial(cx, args[2], 1, p->stride), NUC_TEXT("argument 'stride' is out of range")) ||
        !nuc_need(cx, nuc_spatial(cx, args[3], 0, p->padding), NUC_TEXT("argument 'padding' is out of range")))
        return false;
    p->batch = in->sizes[0];
    p->channels = in->sizes[1];
    return nuc_need(cx,
                    p->out_size[0] == pooled_size(p, 0, ceil_mode) && p->out_size[1] == pooled_size(p, 1, ceil_mode),
                    NUC_TEXT("argument 'out' has the wrong height or width"));
}

enum nuc_status nuc_op_int8_avg_pool2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *out = nuc_arg_tensor(args, 9);
    struct nuc_pool_s8 p = {.low = INT8_MIN, .high = INT8_MAX};

    if (!read_pool(cx, args, out, args[4]->u.b, &p))
        return NUC_UNSUPPORTED;
    nuc_arg_scratch(nuc_arg_tensor(args, 8), &p.scratch, &p.scratch_bytes);
    if (out->bytes > 0)
        nuc_kernel_avg_pool_s8(&p, nuc_arg_tensor(args, 0)->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_max_pool2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *out = nuc_arg_tensor(args, 10);
    struct nuc_pool_s8 p = {.scratch = NULL};
    int32_t dilation[2];

    if (!nuc_need(cx, nuc_spatial(cx, args[4], 1, dilation) && dilation[0] == 1 && dilation[1] == 1,
                  NUC_TEXT("argument 'dilation' is not 1")) ||
        !nuc_need(cx, !args[5]->u.b, NUC_TEXT("argument 'ceil_mode' is true")) ||
        !nuc_need(cx, nuc_is_zero_point(args[6]) && args[6]->u.i == args[7]->u.i,
                  NUC_TEXT("the zero points of 'input' and 'out' differ")) ||
        !nuc_need(cx, nuc_arg_bounds(args, 8, 9, &p.low, &p.high),
                  NUC_TEXT("argument 'activation_min' or 'activation_max' is out of range")) ||
        !read_pool(cx, args, out, false, &p))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_max_pool_s8(&p, nuc_arg_tensor(args, 0)->data, out->data);
    return NUC_OK;
}

/* Rank 4 with one channel or one pixel counts as channels-last, as it does when the padding is compiled. */
static bool is_padded_as_image(const struct nuc_tensor *t)
{
    if (t->rank != 4)
        return false;
    return t->sizes[1] == 1 || (t->sizes[2] == 1 && t->sizes[3] == 1) ||
           (t->dim_order[0] == 0 && t->dim_order[1] == 2 && t->dim_order[2] == 3 && t->dim_order[3] == 1);
}

/* Elements of padding before dimension `d`, when the lists fit the sizes; the lists are aligned to the last entry. */
static bool padding_of(const struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct nuc_tensor *in,
                       const struct nuc_tensor *out, int32_t before[4])
{
    static const uint8_t image[4] = {0, 2, 3, 1};
    bool as_image = is_padded_as_image(in);
    uint32_t missing = 4U - in->rank;

    for (uint32_t i = 0; i < 4; i++) {
        int64_t pre = nuc_list_int(cx, args[1], i);
        int64_t post = nuc_list_int(cx, args[2], i);
        if (pre < 0 || post < 0 || pre > INT32_MAX || post > INT32_MAX)
            return false;
        if (i < missing) {
            if (pre != 0 || post != 0)
                return false;
            continue;
        }
        uint32_t dim = as_image ? image[i] : i - missing;
        if (out->sizes[dim] != pre + in->sizes[dim] + post)
            return false;
        before[dim] = (int32_t)pre;
    }
    return true;
}

enum nuc_status nuc_op_int8_pad(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 4);
    struct nuc_loops loops = {.rank = in->rank};
    int32_t before[4] = {0};
    ptrdiff_t start = 0;

    if (!nuc_need(cx, nuc_is_s8(in) && nuc_is_s8(out), NUC_TEXT("a tensor is not int8")) ||
        !nuc_need(cx, in->rank >= 1 && in->rank <= 4 && out->rank == in->rank,
                  NUC_TEXT("argument 'input' is not of rank 1 to 4, or 'out' not of its rank")) ||
        !nuc_need(cx, args[1]->u.list.count == 4 && args[2]->u.list.count == 4,
                  NUC_TEXT("argument 'pre_pad' or 'post_pad' does not have 4 elements")) ||
        !nuc_need(cx, nuc_is_zero_point(args[3]), NUC_TEXT("argument 'pad_value' is not an int8")) ||
        !nuc_need(cx, padding_of(cx, args, in, out, before),
                  NUC_TEXT("the padding does not lead to the sizes of 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    int8_t value = (int8_t)args[3]->u.i;
    nuc_tensor_strides(in, loops.a);
    nuc_tensor_strides(out, loops.out);
    for (uint32_t d = 0; d < in->rank; d++) {
        loops.sizes[d] = in->sizes[d];
        start += before[d] * loops.out[d];
    }
    nuc_kernel_fill(1, &value, out->data, out->bytes);
    if (in->bytes > 0) {
        nuc_loops_in_memory_order(&loops);
        nuc_kernel_copy(&loops, 1, in->data, (int8_t *)out->data + start);
    }
    return NUC_OK;
}

/* Sizes of the images from `output_size`, which must be those of `out`. */
static bool read_resize(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct nuc_tensor *out,
                        struct nuc_resize_s8 *r)
{
    const struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    int32_t size[2];

    if (!read_images(cx, in, out, r->in_size, r->out_size))
        return false;
    r->batch = in->sizes[0];
    r->channels = in->sizes[1];
    return nuc_need(cx, nuc_spatial(cx, args[1], 1, size) && size[0] == r->out_size[0] && size[1] == r->out_size[1],
                    NUC_TEXT("argument 'output_size' is not the size of 'out'"));
}

enum nuc_status nuc_op_int8_resize_bilinear(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);
    struct nuc_resize_s8 r = {.align_corners = args[2]->u.b};

    if (!read_resize(cx, args, out, &r))
        return NUC_UNSUPPORTED;
    nuc_kernel_resize_bilinear_s8(&r, nuc_arg_tensor(args, 0)->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_resize_nearest(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    struct nuc_resize_s8 r = {.align_corners = false};

    if (!read_resize(cx, args, out, &r))
        return NUC_UNSUPPORTED;
    nuc_kernel_resize_nearest_s8(&r, nuc_arg_tensor(args, 0)->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_sum(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 7);
    struct nuc_loops kept = {.rank = 0};
    struct nuc_loops reduced = {.rank = 0};
    struct nuc_multiplier m;

    if (!nuc_need(cx, nuc_is_s8(in) && nuc_is_s8(out), NUC_TEXT("argument 'input' or 'out' is not int8")) ||
        !nuc_need(cx, in->bytes > 0, NUC_TEXT("argument 'input' has no elements")) ||
        !nuc_need(cx, nuc_is_zero_point(args[3]) && nuc_is_zero_point(args[4]),
                  NUC_TEXT("a zero point is out of range")) ||
        !nuc_need(cx, nuc_arg_multiplier(args, 5, &m), NUC_TEXT("the output multiplier or shift is out of range")) ||
        !nuc_reduction_loops(cx, args[1], args[2]->u.b, in, out, &kept, &reduced))
        return NUC_UNSUPPORTED;
    struct nuc_rescale rescale = {&m.multiplier, &m.shift, 0, (int32_t)args[4]->u.i, INT8_MIN, INT8_MAX};
    nuc_kernel_sum_s8(&kept, &reduced, -(int32_t)args[3]->u.i, &rescale, in->data, out->data);
    return NUC_OK;
}
