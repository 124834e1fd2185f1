/* Pooling, sums, resizing and padding in int8; but for resizing also in int16. */
#include <string.h>

#include "device/runtime/operators/ops_int8.h"

static bool read_images(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                        int32_t in_size[2], int32_t out_size[2])
{
    return nuc_need(cx, in->sizes[0] == out->sizes[0] && in->sizes[1] == out->sizes[1],
                    NUC_TEXT("argument 'out' differs from 'input' in batch or channels")) &&
           nuc_need(cx, nuc_image_size(in, in_size) && nuc_image_size(out, out_size),
                    NUC_TEXT("an image is too large"));
}

/* ---- pooling ---- */

/* An operator of its own for each kernel, so that an image holds only those that its program calls. */
#define OPERATOR(name, kernel, list, read)                                                                             \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        const struct nuc_args_##list *a = (const void *)args;                                                          \
        struct nuc_pool_s8 p;                                                                                          \
                                                                                                                       \
        if (!read(cx, a, &p))                                                                                          \
            return NUC_UNSUPPORTED;                                                                                    \
        if (a->out->u.tensor.bytes > 0)                                                                                \
            kernel(&p, a->pool.input->u.tensor.data, a->out->u.tensor.data);                                           \
        return NUC_OK;                                                                                                 \
    }

static bool read_pool(struct nuc_kernel_context *cx, const struct nuc_args_pool *a, const struct nuc_tensor *out,
                      bool ceil_mode, struct nuc_pool_s8 *p)
{
    const struct nuc_tensor *in = &a->input->u.tensor;
    bool fits = true;

    if (!read_images(cx, in, out, p->in_size, p->out_size))
        return false;
    p->batch = in->sizes[0];
    p->channels = in->sizes[1];
    for (uint32_t d = 0; d < 2; d++) {
        p->kernel[d] = (int32_t)nuc_list_int(cx, a->kernel_size, d);
        p->stride[d] = (int32_t)nuc_list_int(cx, a->stride, d);
        p->padding[d] = (int32_t)nuc_list_int(cx, a->padding, d);
        fits = fits &&
               p->out_size[d] == nuc_pooled_size(p->in_size[d], (uint32_t)((p->kernel[d] - 1) * p->dilation[d] + 1),
                                                 p->stride[d], p->padding[d], ceil_mode);
    }
    return nuc_need(cx, fits, NUC_TEXT("argument 'out' has the wrong height or width"));
}

static bool read_avg_pool(struct nuc_kernel_context *cx, const struct nuc_args_int8_avg_pool2d *a,
                          struct nuc_pool_s8 *p)
{
    bool s8 = nuc_is_s8(&a->out->u.tensor);

    *p = (struct nuc_pool_s8){.dilation = {1, 1}, .low = s8 ? INT8_MIN : INT16_MIN, .high = s8 ? INT8_MAX : INT16_MAX};
    nuc_scratch(a->scratch, &p->scratch, &p->scratch_bytes);
    return read_pool(cx, &a->pool, &a->out->u.tensor, a->ceil_mode->u.b, p);
}

OPERATOR(int8_avg_pool2d, nuc_kernel_avg_pool_s8, int8_avg_pool2d, read_avg_pool)
OPERATOR(int8_upward_avg_pool2d, nuc_kernel_upward_avg_pool_s8, int8_avg_pool2d, read_avg_pool)
OPERATOR(int16_avg_pool2d, nuc_kernel_avg_pool_s16, int8_avg_pool2d, read_avg_pool)

static bool read_max_pool(struct nuc_kernel_context *cx, const struct nuc_args_int8_max_pool2d *a,
                          struct nuc_pool_s8 *p)
{
    *p = (struct nuc_pool_s8){
        .dilation = {(int32_t)nuc_list_int(cx, a->dilation, 0), (int32_t)nuc_list_int(cx, a->dilation, 1)},
        .low = nuc_int32(a->activation_min),
        .high = nuc_int32(a->activation_max)};
    return nuc_need(cx, !nuc_is_s8(&a->out->u.tensor) || (p->dilation[0] == 1 && p->dilation[1] == 1),
                    NUC_TEXT("argument 'dilation' is not 1")) &&
           nuc_need(cx, !a->ceil_mode->u.b, NUC_TEXT("argument 'ceil_mode' is true")) &&
           nuc_need(cx, a->input_zero_point->u.i == a->output_zero_point->u.i,
                    NUC_TEXT("the zero points of 'input' and 'out' differ")) &&
           nuc_bounds_fit(cx, p->low, p->high) && read_pool(cx, &a->pool, &a->out->u.tensor, false, p);
}

OPERATOR(int8_max_pool2d, nuc_kernel_max_pool_s8, int8_max_pool2d, read_max_pool)
OPERATOR(int16_max_pool2d, nuc_kernel_max_pool_s16, int8_max_pool2d, read_max_pool)

/* ---- padding ---- */

/*
 * Elements of padding before each dimension, when the lists fit the sizes; the lists are aligned to the last entry.
 * Rank 4 with one channel or one pixel counts as channels-last, as it does when the padding is compiled.
 */
static bool read_padding(const struct nuc_kernel_context *cx, const struct nuc_args_int8_pad *a,
                         const struct nuc_tensor *in, const struct nuc_tensor *out, int32_t before[4])
{
    static const uint8_t image[4] = {0, 2, 3, 1};
    bool as_image = in->rank == 4 && (in->sizes[1] == 1 || (in->sizes[2] == 1 && in->sizes[3] == 1) ||
                                      memcmp(in->dim_order, image, sizeof image) == 0);
    uint32_t missing = 4U - in->rank;

    for (uint32_t i = 0; i < 4; i++) {
        int64_t pre = nuc_list_int(cx, a->pre_pad, i);
        int64_t post = nuc_list_int(cx, a->post_pad, i);
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
    const struct nuc_args_int8_pad *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops = {.rank = in->rank};
    size_t size = nuc_element_size(in);
    int16_t value = (int16_t)a->pad_value->u.i; /* the first byte is that of an int8 */
    int32_t before[4] = {0};
    ptrdiff_t start = 0;

    if (!nuc_need(cx, in->rank >= 1 && in->rank <= 4 && out->rank == in->rank,
                  NUC_TEXT("argument 'input' is not of rank 1 to 4, or 'out' not of its rank")) ||
        !nuc_need(cx, read_padding(cx, a, in, out, before),
                  NUC_TEXT("the padding does not lead to the sizes of 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    nuc_tensor_strides(in, loops.a);
    nuc_tensor_strides(out, loops.out);
    for (uint32_t d = 0; d < in->rank; d++) {
        loops.sizes[d] = in->sizes[d];
        start += before[d] * loops.out[d];
    }
    nuc_kernel_fill(size, &value, out->data, out->bytes / size);
    if (in->bytes > 0) {
        nuc_loops_in_memory_order(&loops);
        nuc_kernel_copy(&loops, size, in->data, (int8_t *)out->data + start * (ptrdiff_t)size);
    }
    return NUC_OK;
}

/* ---- resizing ---- */

static bool read_resize(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out,
                        const struct nuc_value *size, struct nuc_resize_s8 *r)
{
    if (!read_images(cx, in, out, r->in_size, r->out_size))
        return false;
    r->batch = in->sizes[0];
    r->channels = in->sizes[1];
    return nuc_need(cx, nuc_list_int(cx, size, 0) == r->out_size[0] && nuc_list_int(cx, size, 1) == r->out_size[1],
                    NUC_TEXT("argument 'output_size' is not the size of 'out'"));
}

enum nuc_status nuc_op_int8_resize_bilinear(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_resize_bilinear *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_resize_s8 r = {.align_corners = a->align_corners->u.b};

    if (!read_resize(cx, in, out, a->output_size, &r))
        return NUC_UNSUPPORTED;
    nuc_kernel_resize_bilinear_int(&r, (enum nuc_dtype)in->dtype, in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_resize_nearest(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_resize_nearest *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_resize_s8 r = {.align_corners = false};

    if (!read_resize(cx, in, out, a->output_size, &r))
        return NUC_UNSUPPORTED;
    r.channels *= (int32_t)nuc_element_size(in); /* bytes */
    nuc_kernel_resize_nearest_s8(&r, in->data, out->data);
    return NUC_OK;
}

/* ---- sums ---- */

enum nuc_status nuc_op_int8_sum(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_sum *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_multiplier m = nuc_multiplier_of(a->output_multiplier, a->output_shift);
    const struct nuc_rescale rescale = {&m.multiplier, &m.shift, 0, nuc_int32(a->output_zero_point),
                                        INT8_MIN,      INT8_MAX};
    struct nuc_loops kept, reduced;

    if (!nuc_reduction_loops(cx, a->dim, a->keepdim->u.b, in, out, &kept, &reduced))
        return NUC_UNSUPPORTED;
    nuc_kernel_sum_s8(&kept, &reduced, -nuc_int32(a->input_zero_point), &rescale, in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int16_sum(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int16_sum *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops kept, reduced;

    if (!nuc_zeros(cx, a->input_zero_point->u.i, a->output_zero_point->u.i, 0) ||
        !nuc_reduction_loops(cx, a->dim, a->keepdim->u.b, in, out, &kept, &reduced))
        return NUC_UNSUPPORTED;
    nuc_kernel_sum_s16(&kept, &reduced, nuc_multiplier_of(a->output_multiplier, a->output_shift), in->data, out->data);
    return NUC_OK;
}
