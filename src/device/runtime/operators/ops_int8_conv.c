/* Convolutions in int8 and int16: weights (output channel, height, width, input channel), of depthwise ones (1, h, w,
 * output). */
#include "device/base/span.h"
#include "device/runtime/operators/ops_int8.h"

/* Every shift lies in [-31, most]. */
static bool shifts_fit(const struct nuc_rescale *r, int32_t count, int32_t most)
{
    const uint32_t range = (uint32_t)most + 31;

    for (const int32_t *at = r->shifts; at < r->shifts + count; at++) {
        if ((uint32_t)*at + 31 > range)
            return false;
    }
    return true;
}

/* Sizes and windows, and how sums become int8. */
static bool read_layer(struct nuc_kernel_context *cx, const struct nuc_args_images *a, const struct nuc_value *dilation,
                       const struct nuc_args_requantize *r, const struct nuc_tensor *out, struct nuc_conv_s8 *c)
{
    const struct nuc_tensor *in = &a->input->u.tensor, *weight = &a->weight->u.tensor;
    const struct nuc_tensor *bias = nuc_optional_tensor(a->bias);
    const struct nuc_tensor *multipliers = &r->requantize_multipliers->u.tensor;
    const struct nuc_tensor *shifts = &r->requantize_shifts->u.tensor;
    size_t channels = (size_t)out->sizes[1];

    c->batch = in->sizes[0];
    c->in_channels = in->sizes[1];
    c->out_channels = out->sizes[1];
    nuc_list_pair(cx, dilation, NULL, c->dilation);
    for (uint32_t d = 0; d < 2; d++) {
        c->kernel[d] = weight->sizes[1 + d];
        c->stride[d] = (int32_t)nuc_list_int(cx, a->stride, d);
        c->padding[d] = (int32_t)nuc_list_int(cx, a->padding, d); /* before the image */
    }
    c->bias = bias != NULL && bias->dtype == NUC_I32 ? bias->data : NULL;
    c->input_offset = nuc_int32(r->input_offset);
    c->rescale = (struct nuc_rescale){
        multipliers->data,           shifts->data, 1, nuc_int32(r->output_offset), nuc_int32(r->activation_min),
        nuc_int32(r->activation_max)};
    return nuc_need(cx, in->sizes[0] == out->sizes[0], NUC_TEXT("the batch sizes of 'input' and 'out' differ")) &&
           nuc_need(cx,
                    nuc_image_size(in, c->in_size) && nuc_image_size(out, c->out_size) &&
                        c->kernel[0] <= NUC_LARGEST_EXTENT && c->kernel[1] <= NUC_LARGEST_EXTENT,
                    NUC_TEXT("an image or a kernel is too large")) &&
           nuc_need(cx, bias == NULL || nuc_tensor_elements(bias) == channels,
                    NUC_TEXT("argument 'bias' is not one number an output channel")) &&
           nuc_need(cx, nuc_tensor_elements(multipliers) == channels && nuc_tensor_elements(shifts) == channels,
                    NUC_TEXT("'requantize_multipliers' or 'requantize_shifts' is not one int32 an output channel")) &&
           nuc_need(cx, shifts_fit(&c->rescale, c->out_channels, 31),
                    NUC_TEXT("argument 'requantize_shifts' is out of range")) &&
           nuc_bounds_fit(cx, c->rescale.low, c->rescale.high);
}

/* As many windows as image and paddings have room for: the last one may lie in the padding. */
static bool fills_room(const struct nuc_conv_s8 *c, int d, int64_t after)
{
    int64_t room = c->in_size[d] + c->padding[d] + after - (int64_t)(c->kernel[d] - 1) * c->dilation[d] - 1;

    /* out == room / stride + 1 without a division of 64 bits, which would be the largest function of many an image */
    return room >= (int64_t)(c->out_size[d] - 1) * c->stride[d] && room < (int64_t)c->out_size[d] * c->stride[d] &&
           room >= 0;
}

/*
 * The padding is height and width, or that of each side: top, left, bottom, right. The former is that before the image;
 * the one after it may differ, as out's size says, if the last window begins inside the image.
 */
static bool windows_fit(struct nuc_kernel_context *cx, const struct nuc_value *padding, const struct nuc_conv_s8 *c)
{
    bool each_side = padding->u.list.count == 4, fit = true;

    for (int d = 0; d < 2; d++) {
        int64_t after = each_side ? nuc_list_int(cx, padding, (uint32_t)(2 + d)) : c->padding[d];
        bool inside =
            c->out_size[d] <= 0 || (int64_t)(c->out_size[d] - 1) * c->stride[d] - c->padding[d] < c->in_size[d];
        fit = fit && (fills_room(c, d, after) || (!each_side && inside));
    }
    return nuc_need(cx, fit, NUC_TEXT("argument 'out' has the wrong height or width"));
}

/* Places inside the weight, and what an int9 exceeds an int8 by at most, twice over. */
static bool excess_fits(struct nuc_kernel_context *cx, const struct nuc_tensor *excess, const struct nuc_tensor *weight)
{
    const int32_t *pairs = excess->data;
    bool fits = excess->sizes[1] == 2 && pairs != NULL;

    for (int32_t i = 0; fits && i < excess->sizes[0]; i++, pairs += 2)
        fits = pairs[0] >= 0 && (size_t)pairs[0] < weight->bytes && pairs[1] >= -255 && pairs[1] <= 255;
    return nuc_need(cx, fits, NUC_TEXT("argument 'excess' is not a list of weights and what exceeds them"));
}

/* All but the memory. Groups follow from the weight's input channels. */
static bool read_conv2d(struct nuc_kernel_context *cx, const struct nuc_args_images *images,
                        const struct nuc_value *dilation, const struct nuc_args_requantize *requantize,
                        const struct nuc_tensor *out, struct nuc_conv_s8 *c)
{
    const struct nuc_tensor *weight = &images->weight->u.tensor;

    if (!read_layer(cx, images, dilation, requantize, out, c))
        return false;
    c->groups = c->in_channels / weight->sizes[3];
    return nuc_need(cx,
                    c->groups > 0 && c->in_channels % weight->sizes[3] == 0 && c->out_channels % c->groups == 0 &&
                        weight->sizes[0] == c->out_channels,
                    NUC_TEXT("argument 'weight' does not fit the channels of 'input' and 'out'")) &&
           windows_fit(cx, images->padding, c);
}

enum nuc_status nuc_op_int8_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_conv2d *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    struct nuc_conv_s8 c;

    nuc_scratch(a->scratch, &c.scratch, &c.scratch_bytes);
    if (!read_conv2d(cx, &a->images, a->dilation, &a->requantize, out, &c))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_conv_s8(&c, a->images.input->u.tensor.data, a->images.weight->u.tensor.data, out->data);
    return NUC_OK;
}

/* The layer, then once more the channels with weights beyond eight bits. */
static enum nuc_status compute_wide(struct nuc_kernel_context *cx, const struct nuc_conv_s8 *c, bool depthwise,
                                    const struct nuc_args_images *images, const struct nuc_tensor *excess,
                                    const struct nuc_tensor *out)
{
    const struct nuc_tensor *in = &images->input->u.tensor, *weight = &images->weight->u.tensor;

    if (!excess_fits(cx, excess, weight))
        return NUC_UNSUPPORTED;
    if (out->bytes == 0)
        return NUC_OK;
    (depthwise ? nuc_kernel_depthwise_s8 : nuc_kernel_conv_s8)(c, in->data, weight->data, out->data);
    nuc_kernel_wide_channels_s8(c, depthwise, in->data, weight->data, excess->data, excess->sizes[0], out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_wide_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_wide_conv2d *a = (const void *)args;
    struct nuc_conv_s8 c;

    nuc_scratch(a->scratch, &c.scratch, &c.scratch_bytes);
    if (!read_conv2d(cx, &a->images, a->dilation, &a->requantize, &a->out->u.tensor, &c))
        return NUC_UNSUPPORTED;
    return compute_wide(cx, &c, false, &a->images, &a->excess->u.tensor, &a->out->u.tensor);
}

static bool read_depthwise(struct nuc_kernel_context *cx, const struct nuc_args_images *images,
                           const struct nuc_value *dilation, int64_t multiplier,
                           const struct nuc_args_requantize *requantize, const struct nuc_tensor *out,
                           struct nuc_conv_s8 *c)
{
    const struct nuc_tensor *weight = &images->weight->u.tensor;

    if (!read_layer(cx, images, dilation, requantize, out, c))
        return false;
    c->groups = c->in_channels;
    return nuc_need(cx,
                    weight->sizes[0] == 1 && weight->sizes[3] == c->out_channels &&
                        c->in_channels * multiplier == c->out_channels,
                    NUC_TEXT("argument 'weight' does not fit the channels of 'input' and 'out'")) &&
           windows_fit(cx, images->padding, c);
}

enum nuc_status nuc_op_int8_depthwise_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_depthwise_conv2d *a = (const void *)args;
    const struct nuc_tensor *in = &a->images.input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_conv_s8 c;

    nuc_scratch(a->scratch, &c.scratch, &c.scratch_bytes);
    if (!read_depthwise(cx, &a->images, a->dilation, a->depth_multiplier->u.i, &a->requantize, out, &c))
        return NUC_UNSUPPORTED;
    size_t overlay = nuc_depthwise_overlay_bytes(&c);
    if (!nuc_need(cx,
                  nuc_is_apart(in->data, in->bytes, out->data, out->bytes) ||
                      (in->data == out->data && overlay > 0 && overlay <= c.scratch_bytes),
                  NUC_TEXT("argument 'out' lies over 'input', but not so that it could be written")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_depthwise_s8(&c, in->data, a->images.weight->u.tensor.data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_wide_depthwise_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_wide_depthwise_conv2d *a = (const void *)args;
    const struct nuc_tensor *in = &a->images.input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_conv_s8 c;

    nuc_scratch(a->scratch, &c.scratch, &c.scratch_bytes);
    if (!read_depthwise(cx, &a->images, a->dilation, a->depth_multiplier->u.i, &a->requantize, out, &c) ||
        !nuc_need(cx, nuc_is_apart(in->data, in->bytes, out->data, out->bytes),
                  NUC_TEXT("argument 'out' lies over 'input'")))
        return NUC_UNSUPPORTED;
    return compute_wide(cx, &c, true, &a->images, &a->excess->u.tensor, out);
}

/* Dimension 0 of the weight holds the output channels of one group, dimension 3 all input channels. */
static bool read_transposed(struct nuc_kernel_context *cx, const struct nuc_args_images *a,
                            const struct nuc_value *dilation, const struct nuc_args_requantize *requantize,
                            const struct nuc_tensor *out, struct nuc_conv_s8 *c)
{
    const struct nuc_tensor *weight = &a->weight->u.tensor;
    bool fits = true;

    if (!read_layer(cx, a, dilation, requantize, out, c) ||
        !nuc_need(cx, c->groups <= c->in_channels, NUC_TEXT("argument 'groups' is out of range")) ||
        !nuc_need(cx,
                  c->in_channels % c->groups == 0 && weight->sizes[3] == c->in_channels &&
                      weight->sizes[0] * (int64_t)c->groups == c->out_channels,
                  NUC_TEXT("argument 'weight' does not fit the channels of 'input' and 'out'")))
        return false;
    for (int d = 0; d < 2; d++) { /* output pixels that some tap reaches, and up to one stride more */
        int64_t reached = (int64_t)(c->in_size[d] - 1) * c->stride[d] + (c->kernel[d] - 1) * c->dilation[d] + 1;
        fits = fits && c->out_size[d] <= reached - c->padding[d] + c->stride[d] &&
               (int64_t)c->in_size[d] * c->stride[d] <= 2 * NUC_LARGEST_SIDE;
    }
    return nuc_need(cx, fits, NUC_TEXT("argument 'out' has the wrong height or width"));
}

static enum nuc_status transposed(struct nuc_kernel_context *cx, const struct nuc_args_images *a,
                                  const struct nuc_value *dilation, const struct nuc_args_requantize *requantize,
                                  const struct nuc_tensor *out, struct nuc_conv_s8 *c)
{
    if (!read_transposed(cx, a, dilation, requantize, out, c))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_transposed_conv_s8(c, a->input->u.tensor.data, a->weight->u.tensor.data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_transpose_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_transpose_conv2d *a = (const void *)args;
    struct nuc_conv_s8 c = {.groups = 1};

    nuc_scratch(a->scratch, &c.scratch, &c.scratch_bytes);
    return transposed(cx, &a->images, a->dilation, &a->requantize, &a->out->u.tensor, &c);
}

/* With a groups argument and without scratch. */
enum nuc_status nuc_op_int8_grouped_transpose_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_grouped_transpose_conv2d *a = (const void *)args;
    struct nuc_conv_s8 c = {.groups = nuc_int32(a->groups)};

    return transposed(cx, &a->images, a->dilation, &a->requantize, &a->out->u.tensor, &c);
}

/* ---- int16 ---- */

/* Sums have the width of the bias, 64 bits without one. */
static enum nuc_status compute_s16(struct nuc_kernel_context *cx, const struct nuc_conv_s8 *c, enum nuc_conv_kind kind,
                                   const struct nuc_args_images *images, const struct nuc_tensor *out)
{
    const struct nuc_tensor *bias = nuc_optional_tensor(images->bias);
    struct nuc_conv_s16 wide = {.c = *c, .is_long = bias == NULL || bias->dtype == NUC_I64};

    wide.long_bias = bias != NULL && wide.is_long ? bias->data : NULL;
    if (!nuc_zeros(cx, c->input_offset, c->rescale.offset, 0) ||
        !nuc_need(cx, !wide.is_long || shifts_fit(&c->rescale, c->out_channels, NUC_MOST_LONG_SHIFT),
                  NUC_TEXT("argument 'requantize_shifts' is out of range")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_conv_s16(&wide, kind, images->input->u.tensor.data, images->weight->u.tensor.data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int16_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int16_conv2d *a = (const void *)args;
    struct nuc_conv_s8 c = {.scratch = NULL};

    if (!read_conv2d(cx, &a->images, a->dilation, &a->requantize, &a->out->u.tensor, &c))
        return NUC_UNSUPPORTED;
    return compute_s16(cx, &c, NUC_CONV, &a->images, &a->out->u.tensor);
}

enum nuc_status nuc_op_int16_depthwise_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int16_depthwise_conv2d *a = (const void *)args;
    struct nuc_conv_s8 c = {.scratch = NULL};

    if (!read_depthwise(cx, &a->images, a->dilation, a->depth_multiplier->u.i, &a->requantize, &a->out->u.tensor, &c))
        return NUC_UNSUPPORTED;
    return compute_s16(cx, &c, NUC_DEPTHWISE, &a->images, &a->out->u.tensor);
}

enum nuc_status nuc_op_int16_transpose_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int16_transpose_conv2d *a = (const void *)args;
    struct nuc_conv_s8 c = {.groups = nuc_int32(a->groups)};

    if (!read_transposed(cx, &a->images, a->dilation, &a->requantize, &a->out->u.tensor, &c))
        return NUC_UNSUPPORTED;
    return compute_s16(cx, &c, NUC_TRANSPOSED, &a->images, &a->out->u.tensor);
}
