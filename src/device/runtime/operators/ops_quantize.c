#include "device/runtime/op_args.h"

struct range {
    int64_t low, high;
};

static const struct range ranges[NUC_DTYPE_COUNT] = {
    [NUC_U8] = {0, UINT8_MAX},          [NUC_I8] = {INT8_MIN, INT8_MAX}, [NUC_I16] = {INT16_MIN, INT16_MAX},
    [NUC_I32] = {INT32_MIN, INT32_MAX}, [NUC_U16] = {0, UINT16_MAX},
};

/* The quantized tensor `t` with the bounds in args[first], args[first + 1]. */
static bool bounds(struct nuc_kernel_context *cx, const struct nuc_tensor *t, struct nuc_value *const *args, int first,
                   struct nuc_affine *q)
{
    struct range range = ranges[t->dtype];

    q->dtype = (enum nuc_dtype)t->dtype;
    q->quant_min = args[first]->u.i;
    q->quant_max = args[first + 1]->u.i;
    return nuc_need(cx, range.high != 0, NUC_TEXT("the quantized tensor is not an integer of 8, 16 or 32 bits")) &&
           nuc_need(cx, q->quant_min >= range.low && q->quant_min <= q->quant_max,
                    NUC_TEXT("argument 'quant_min' is outside the element type")) &&
           nuc_need(cx, q->quant_max <= range.high, NUC_TEXT("argument 'quant_max' is outside the element type"));
}

static bool per_tensor(struct nuc_kernel_context *cx, struct nuc_value *const *args, struct nuc_affine *q)
{
    q->scale = (float)nuc_value_scalar(args[1]);
    q->zero_point = 0;
    if (!nuc_need(cx, nuc_value_in(args[2], INT32_MIN, INT32_MAX),
                  NUC_TEXT("argument 'zero_point' is outside 32 bits")))
        return false;
    q->zero_point = (int32_t)args[2]->u.i;
    return true;
}

static bool shapes(struct nuc_kernel_context *cx, const struct nuc_tensor *real, const struct nuc_tensor *quantized)
{
    return nuc_need(cx, nuc_is_f32(real), NUC_TEXT("the real-valued tensor is not float32")) &&
           nuc_need(cx, nuc_tensor_same_layout(real, quantized),
                    NUC_TEXT("argument 'out' differs from 'input' in sizes or dim order"));
}

enum nuc_status nuc_op_quantize_per_tensor(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 6);
    struct nuc_affine q;

    if (!shapes(cx, in, out) || !bounds(cx, out, args, 3, &q) || !per_tensor(cx, args, &q))
        return NUC_UNSUPPORTED;
    nuc_kernel_quantize_f32(&q, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_dequantize_per_tensor(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 7);
    struct nuc_affine q;

    if (!shapes(cx, out, in) || !bounds(cx, in, args, 3, &q) || !per_tensor(cx, args, &q))
        return NUC_UNSUPPORTED;
    nuc_kernel_dequantize_f32(&q, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

/* Scales, zero points and the axis they follow. zero_points may be NULL: all 0. */
struct channels {
    const struct nuc_tensor *scales, *zero_points;
    struct nuc_axis axis;
};

static bool per_channel(struct nuc_kernel_context *cx, struct nuc_value *const *args, const struct nuc_tensor *in,
                        struct channels *c)
{
    uint32_t dim;

    c->scales = nuc_arg_tensor(args, 1);
    c->zero_points = nuc_arg_optional_tensor(args, 2);
    if (!nuc_need(cx, in->rank > 0 && nuc_tensor_dim(in, args[3]->u.i, &dim),
                  NUC_TEXT("argument 'axis' is not a dimension of 'input'")))
        return false;
    c->axis = nuc_tensor_axis(in, dim);
    return nuc_need(cx, c->scales->dtype == NUC_F32 || c->scales->dtype == NUC_F64,
                    NUC_TEXT("argument 'scales' is neither float32 nor float64")) &&
           nuc_need(cx, nuc_tensor_elements(c->scales) == c->axis.size,
                    NUC_TEXT("argument 'scales' does not have one element per channel")) &&
           nuc_need(cx,
                    c->zero_points == NULL || ((c->zero_points->dtype == NUC_I64 || c->zero_points->dtype == NUC_I32) &&
                                               nuc_tensor_elements(c->zero_points) == c->axis.size),
                    NUC_TEXT("argument 'zero_points' is not one int32 or int64 a channel"));
}

static void channel_parameters(const struct channels *c, size_t channel, struct nuc_affine *q)
{
    if (c->scales->dtype == NUC_F64)
        q->scale = (float)((const double *)c->scales->data)[channel];
    else
        q->scale = ((const float *)c->scales->data)[channel];
    q->zero_point = 0;
    if (c->zero_points != NULL && c->zero_points->dtype == NUC_I64)
        q->zero_point = (int32_t)((const int64_t *)c->zero_points->data)[channel];
    else if (c->zero_points != NULL)
        q->zero_point = ((const int32_t *)c->zero_points->data)[channel];
}

/* Elements between two channels of the same outer index lie `inner` apart: each run has one set of parameters. */
static void each_channel(struct nuc_affine *q, const struct channels *c, const struct nuc_tensor *in,
                         struct nuc_tensor *out, bool quantize)
{
    for (size_t run = 0; run < c->axis.outer * c->axis.size; run++) {
        size_t from = run * c->axis.inner * nuc_dtype_size((enum nuc_dtype)in->dtype);
        size_t to = run * c->axis.inner * nuc_dtype_size((enum nuc_dtype)out->dtype);
        const void *source = (const uint8_t *)in->data + from;
        void *target = (uint8_t *)out->data + to;
        channel_parameters(c, run % c->axis.size, q);
        if (quantize)
            nuc_kernel_quantize_f32(q, source, target, c->axis.inner);
        else
            nuc_kernel_dequantize_f32(q, source, target, c->axis.inner);
    }
}

enum nuc_status nuc_op_quantize_per_channel(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 7);
    struct nuc_affine q;
    struct channels c;

    if (out->bytes == 0)
        return NUC_OK;
    if (!shapes(cx, in, out) || !bounds(cx, out, args, 4, &q) || !per_channel(cx, args, in, &c))
        return NUC_UNSUPPORTED;
    each_channel(&q, &c, in, out, true);
    return NUC_OK;
}

enum nuc_status nuc_op_dequantize_per_channel(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 8);
    struct nuc_affine q;
    struct channels c;

    if (in->bytes == 0)
        return NUC_OK;
    if (!shapes(cx, out, in) || !bounds(cx, in, args, 4, &q) || !per_channel(cx, args, in, &c))
        return NUC_UNSUPPORTED;
    each_channel(&q, &c, in, out, false);
    return NUC_OK;
}
