/* Convolutions in int8: weights (output channel, height, width, input channel), of depthwise ones (1, h, w, output). */
#include "device/base/span.h"
#include "device/runtime/operators/ops_int8.h"

/*
 * Where the arguments stand: the schemas differ by what lies between the dilation and the input offset, and by the
 * length of the padding.
 */
struct places {
    bool each_side; /* padding: top, left, bottom, right instead of height, width */
    int dilation;
    int input_offset; /* then output_offset, multipliers, shifts, activation_min, activation_max */
    int scratch;      /* -1: none */
    int out;
};

/* The first two count; those after the image follow from the result's size, with which they are compared later. */
static bool paddings(const struct nuc_kernel_context *cx, const struct nuc_value *list, bool each_side,
                     int32_t before[2])
{
    if (!each_side)
        return nuc_spatial(cx, list, 0, before);
    if (list->u.list.count != 4)
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        int64_t n = nuc_list_int(cx, list, i);
        if (n < 0 || n > NUC_LARGEST_SPATIAL)
            return false;
        if (i < 2)
            before[i] = (int32_t)n;
    }
    return true;
}

static bool lists(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct places *at,
                  struct nuc_conv_s8 *c)
{
    return nuc_need(cx, nuc_spatial(cx, args[3], 1, c->stride), NUC_TEXT("argument 'stride' is out of range")) &&
           nuc_need(cx, paddings(cx, args[4], at->each_side, c->padding),
                    NUC_TEXT("argument 'padding' is out of range")) &&
           nuc_need(cx, nuc_spatial(cx, args[at->dilation], 1, c->dilation),
                    NUC_TEXT("argument 'dilation' is out of range"));
}

static bool images(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *weight,
                   const struct nuc_tensor *out, struct nuc_conv_s8 *c)
{
    if (!nuc_need(cx, nuc_is_s8(in) && nuc_tensor_is_channels_last(in),
                  NUC_TEXT("argument 'input' is not int8 channels-last")) ||
        !nuc_need(cx, nuc_is_s8(out) && nuc_tensor_is_channels_last(out),
                  NUC_TEXT("argument 'out' is not int8 channels-last")) ||
        !nuc_need(cx, nuc_is_s8(weight) && weight->rank == 4 && nuc_tensor_is_contiguous(weight),
                  NUC_TEXT("argument 'weight' is not contiguous int8 of rank 4")) ||
        !nuc_need(cx, in->bytes > 0 && weight->bytes > 0, NUC_TEXT("argument 'input' or 'weight' is empty")) ||
        !nuc_need(cx, in->sizes[0] == out->sizes[0], NUC_TEXT("the batch sizes of 'input' and 'out' differ")))
        return false;
    c->batch = in->sizes[0];
    c->in_channels = in->sizes[1];
    c->out_channels = out->sizes[1];
    c->kernel[0] = weight->sizes[1];
    c->kernel[1] = weight->sizes[2];
    return nuc_need(cx,
                    nuc_image_size(in, c->in_size) && nuc_image_size(out, c->out_size) &&
                        c->kernel[0] <= NUC_LARGEST_SPATIAL && c->kernel[1] <= NUC_LARGEST_SPATIAL,
                    NUC_TEXT("an image or a kernel is too large"));
}

/* Multipliers, shifts, offsets, bounds and bias. */
static bool parameters(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct places *at,
                       struct nuc_conv_s8 *c)
{
    const struct nuc_tensor *bias = nuc_arg_optional_tensor(args, 2);
    const struct nuc_tensor *multipliers = nuc_arg_tensor(args, at->input_offset + 2);
    const struct nuc_tensor *shifts = nuc_arg_tensor(args, at->input_offset + 3);
    struct nuc_rescale *r = &c->rescale;

    if (!nuc_need(cx, nuc_is_i32_vector(bias, c->out_channels),
                  NUC_TEXT("argument 'bias' is not one int32 an output channel")) ||
        !nuc_need(cx, nuc_is_i32_vector(multipliers, c->out_channels) && nuc_is_i32_vector(shifts, c->out_channels),
                  NUC_TEXT("'requantize_multipliers' or 'requantize_shifts' is not one int32 an output channel")) ||
        !nuc_need(cx, nuc_shifts_fit(shifts->data, c->out_channels),
                  NUC_TEXT("argument 'requantize_shifts' is out of range")) ||
        !nuc_need(cx, nuc_is_offset(args[at->input_offset]), NUC_TEXT("argument 'input_offset' is out of range")) ||
        !nuc_need(cx, nuc_is_zero_point(args[at->input_offset + 1]),
                  NUC_TEXT("argument 'output_offset' is out of range")) ||
        !nuc_need(cx, nuc_arg_bounds(args, at->input_offset + 4, at->input_offset + 5, &r->low, &r->high),
                  NUC_TEXT("argument 'activation_min' or 'activation_max' is out of range")))
        return false;
    c->bias = bias != NULL ? bias->data : NULL;
    c->input_offset = (int32_t)args[at->input_offset]->u.i;
    r->offset = (int32_t)args[at->input_offset + 1]->u.i;
    r->multipliers = multipliers->data;
    r->shifts = shifts->data;
    r->step = 1;
    if (at->scratch >= 0)
        nuc_arg_scratch(nuc_arg_tensor(args, at->scratch), &c->scratch, &c->scratch_bytes);
    return true;
}

/*
 * The last window begins inside the image. The padding after the image follows from out's size and may differ from
 * the one before it.
 */
static bool begins_inside(const struct nuc_conv_s8 *c, int d)
{
    return c->out_size[d] <= 0 || (c->out_size[d] - 1) * c->stride[d] - c->padding[d] < c->in_size[d];
}

/* As many windows as image and paddings have room for: the last one may lie in the padding. */
static bool fills_room(const struct nuc_conv_s8 *c, int d, int64_t after)
{
    int64_t room = c->in_size[d] + c->padding[d] + after - (int64_t)(c->kernel[d] - 1) * c->dilation[d] - 1;

    /* out == room / stride + 1 without a division of 64 bits, which would be the largest function of many an image */
    return room >= (int64_t)(c->out_size[d] - 1) * c->stride[d] && room < (int64_t)c->out_size[d] * c->stride[d] &&
           room >= 0;
}

static bool windows_fit(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct places *at,
                        const struct nuc_conv_s8 *c)
{
    bool fit = true;

    for (int d = 0; d < 2; d++) {
        int64_t after = at->each_side ? nuc_list_int(cx, args[4], (uint32_t)(2 + d)) : c->padding[d];
        fit &= fills_room(c, d, after) || (!at->each_side && begins_inside(c, d));
    }
    return nuc_need(cx, fit, NUC_TEXT("argument 'out' has the wrong height or width"));
}

static bool read_conv(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct places *at,
                      struct nuc_conv_s8 *c)
{
    return lists(cx, args, at, c) &&
           images(cx, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 1), nuc_arg_tensor(args, at->out), c) &&
           parameters(cx, args, at, c);
}

/* Groups follow from the weight's input channels. */
static bool grouped(struct nuc_kernel_context *cx, const struct nuc_tensor *weight, struct nuc_conv_s8 *c)
{
    c->groups = c->in_channels / weight->sizes[3];
    return nuc_need(cx,
                    c->groups > 0 && c->in_channels % weight->sizes[3] == 0 && c->out_channels % c->groups == 0 &&
                        weight->sizes[0] == c->out_channels,
                    NUC_TEXT("argument 'weight' does not fit the channels of 'input' and 'out'"));
}

static enum nuc_status forward(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct places *at)
{
    struct nuc_tensor *out = nuc_arg_tensor(args, at->out);
    struct nuc_conv_s8 c = {.scratch = NULL};

    if (!read_conv(cx, args, at, &c) || !grouped(cx, nuc_arg_tensor(args, 1), &c) || !windows_fit(cx, args, at, &c))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_conv_s8(&c, nuc_arg_tensor(args, 0)->data, nuc_arg_tensor(args, 1)->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct places at = {.dilation = 5, .input_offset = 6, .scratch = 12, .out = 13};

    return forward(cx, args, &at);
}

enum nuc_status nuc_op_int8_sided_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct places at = {.each_side = true, .dilation = 5, .input_offset = 6, .scratch = 12, .out = 13};

    return forward(cx, args, &at);
}

/* Apart, or as the kernels allow it. */
static bool may_overlie(const struct nuc_conv_s8 *c, const struct nuc_tensor *in, const struct nuc_tensor *out)
{
    size_t needed = nuc_depthwise_overlay_bytes(c);

    return nuc_is_apart(in->data, in->bytes, out->data, out->bytes) ||
           (in->data == out->data && needed > 0 && needed <= c->scratch_bytes);
}

static enum nuc_status depthwise(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct places *at)
{
    struct nuc_tensor *weight = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, at->out);
    struct nuc_conv_s8 c = {.scratch = NULL};

    if (!read_conv(cx, args, at, &c) ||
        !nuc_need(cx, nuc_value_in(args[6], 1, INT32_MAX), NUC_TEXT("argument 'depth_multiplier' is not positive")) ||
        !nuc_need(cx,
                  weight->sizes[0] == 1 && weight->sizes[3] == c.out_channels &&
                      c.in_channels * args[6]->u.i == c.out_channels,
                  NUC_TEXT("argument 'weight' does not fit the channels of 'input' and 'out'")) ||
        !windows_fit(cx, args, at, &c))
        return NUC_UNSUPPORTED;
    c.groups = c.in_channels;
    if (!nuc_need(cx, may_overlie(&c, nuc_arg_tensor(args, 0), out),
                  NUC_TEXT("argument 'out' lies over 'input', but not so that it could be written")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_depthwise_s8(&c, nuc_arg_tensor(args, 0)->data, weight->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_depthwise_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct places at = {.dilation = 5, .input_offset = 7, .scratch = 13, .out = 14};

    return depthwise(cx, args, &at);
}

enum nuc_status nuc_op_int8_sided_depthwise_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct places at = {.each_side = true, .dilation = 5, .input_offset = 7, .scratch = 13, .out = 14};

    return depthwise(cx, args, &at);
}

/* Output pixels that some tap reaches, and up to one stride more. */
static bool transposed_fits(const struct nuc_conv_s8 *c)
{
    for (int d = 0; d < 2; d++) {
        int32_t reached = (c->in_size[d] - 1) * c->stride[d] + (c->kernel[d] - 1) * c->dilation[d] + 1;
        if (c->out_size[d] > reached - c->padding[d] + c->stride[d])
            return false;
    }
    return true;
}

/* Dimension 0 of the weight holds the output channels of one group, dimension 3 all input channels. */
static bool transposed_groups(struct nuc_kernel_context *cx, const struct nuc_tensor *weight, int64_t groups,
                              struct nuc_conv_s8 *c)
{
    if (!nuc_need(cx, groups > 0 && groups <= c->in_channels, NUC_TEXT("argument 'groups' is out of range")))
        return false;
    c->groups = (int32_t)groups;
    return nuc_need(cx,
                    c->in_channels % c->groups == 0 && weight->sizes[3] == c->in_channels &&
                        weight->sizes[0] * groups == c->out_channels,
                    NUC_TEXT("argument 'weight' does not fit the channels of 'input' and 'out'"));
}

static enum nuc_status transposed(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct places *at,
                                  int64_t groups)
{
    struct nuc_tensor *out = nuc_arg_tensor(args, at->out);
    struct nuc_conv_s8 c = {.scratch = NULL};
    int32_t output_padding[2];

    if (!read_conv(cx, args, at, &c) || !transposed_groups(cx, nuc_arg_tensor(args, 1), groups, &c) ||
        !nuc_need(cx, nuc_spatial(cx, args[5], -NUC_LARGEST_SPATIAL, output_padding),
                  NUC_TEXT("argument 'output_padding' is out of range")) ||
        !nuc_need(cx, transposed_fits(&c), NUC_TEXT("argument 'out' has the wrong height or width")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_transposed_conv_s8(&c, nuc_arg_tensor(args, 0)->data, nuc_arg_tensor(args, 1)->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_transpose_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct places at = {.dilation = 6, .input_offset = 7, .scratch = 13, .out = 15};

    return transposed(cx, args, &at, 1);
}

/* With a groups argument and without scratch. */
enum nuc_status nuc_op_int8_grouped_transpose_conv2d(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    static const struct places at = {.dilation = 6, .input_offset = 8, .scratch = -1, .out = 14};

    return transposed(cx, args, &at, args[7]->u.i);
}
