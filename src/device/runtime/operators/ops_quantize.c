/* Quantization and dequantization of tensors and of their channels. */
#include "device/runtime/operators/op_shapes.h"

struct range {
    int64_t low, high;
};

static const struct range ranges[NUC_DTYPE_COUNT] = {
    [NUC_U8] = {0, UINT8_MAX},          [NUC_I8] = {INT8_MIN, INT8_MAX}, [NUC_I16] = {INT16_MIN, INT16_MAX},
    [NUC_I32] = {INT32_MIN, INT32_MAX}, [NUC_U16] = {0, UINT16_MAX},
};

/* Type and bounds of the quantized tensor `t`. */
static bool read_bounds(struct nuc_kernel_context *cx, const struct nuc_tensor *t, const struct nuc_value *quant_min,
                        const struct nuc_value *quant_max, struct nuc_affine *q)
{
    struct range range = ranges[t->dtype];

    q->dtype = (enum nuc_dtype)t->dtype;
    q->quant_min = quant_min->u.i;
    q->quant_max = quant_max->u.i;
    return nuc_need(cx, range.high != 0, NUC_TEXT("the quantized tensor is not an integer of 8, 16 or 32 bits")) &&
           nuc_need(cx, q->quant_min >= range.low && q->quant_min <= q->quant_max,
                    NUC_TEXT("argument 'quant_min' is outside the element type")) &&
           nuc_need(cx, q->quant_max <= range.high, NUC_TEXT("argument 'quant_max' is outside the element type"));
}

/* ---- tensors ---- */

static bool read_affine(struct nuc_kernel_context *cx, const struct nuc_tensor *quantized,
                        struct nuc_value *const *args, struct nuc_affine *q)
{
    const struct nuc_args_quantize_per_tensor *a = (const void *)args; /* all have these but the last */

    q->scale = nuc_value_float(a->scale);
    q->zero_point = nuc_int32(a->zero_point);
    return read_bounds(cx, quantized, a->quant_min, a->quant_max, q);
}

enum nuc_status nuc_op_quantize_per_tensor(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_quantize_per_tensor *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    struct nuc_affine q;

    if (!read_affine(cx, out, args, &q))
        return NUC_UNSUPPORTED;
    nuc_kernel_quantize_f32(&q, a->input->u.tensor.data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

static enum nuc_status dequantize(struct nuc_kernel_context *cx, struct nuc_value *const *args,
                                  const struct nuc_tensor *out)
{
    const struct nuc_args_int8_dequantize *a = (const void *)args;
    struct nuc_affine q;

    if (!read_affine(cx, &a->input->u.tensor, args, &q))
        return NUC_UNSUPPORTED;
    nuc_kernel_dequantize_f32(&q, a->input->u.tensor.data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_dequantize_per_tensor(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_dequantize_per_tensor *a = (const void *)args;

    return dequantize(cx, args, &a->out->u.tensor);
}

/* int8 and int16; the argument says the same in the numbers of ExecuTorch, 1 and 2. */
static bool is_cortexm_type(struct nuc_kernel_context *cx, const struct nuc_tensor *t, const struct nuc_value *dtype)
{
    return nuc_need(cx, (t->dtype == NUC_I8 && dtype->u.i == 1) || (t->dtype == NUC_I16 && dtype->u.i == 2),
                    NUC_TEXT("the quantized tensor is not int8 or int16, or not what 'dtype' says"));
}

enum nuc_status nuc_op_int8_quantize(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_quantize_per_tensor *a = (const void *)args;

    return is_cortexm_type(cx, &a->out->u.tensor, a->dtype) ? nuc_op_quantize_per_tensor(cx, args) : NUC_UNSUPPORTED;
}

enum nuc_status nuc_op_exact_quantize(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_quantize_per_tensor *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    struct nuc_affine q;

    if (!is_cortexm_type(cx, out, a->dtype) || !read_affine(cx, out, args, &q))
        return NUC_UNSUPPORTED;
    nuc_kernel_exact_quantize(&q, a->input->u.tensor.data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_int8_dequantize(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_dequantize *a = (const void *)args;

    return is_cortexm_type(cx, &a->input->u.tensor, a->dtype) ? dequantize(cx, args, &a->out->u.tensor)
                                                              : NUC_UNSUPPORTED;
}

/* ---- channels ---- */

/* Without zero points they are 0. */
static int32_t zero_point_of(const struct nuc_tensor *zero_points, size_t channel)
{
    if (zero_points == NULL)
        return 0;
    return zero_points->dtype == NUC_I64 ? (int32_t)((const int64_t *)zero_points->data)[channel]
                                         : ((const int32_t *)zero_points->data)[channel];
}

/* Elements between two channels of the same outer index lie `inner` apart: each run has one set of parameters. */
static enum nuc_status each_channel(struct nuc_kernel_context *cx, struct nuc_value *const *args,
                                    const struct nuc_tensor *out, bool quantize)
{
    const struct nuc_args_quantize_per_channel *a = (const void *)args; /* both have these but the last */
    const struct nuc_tensor *in = &a->input->u.tensor, *scales = &a->scales->u.tensor;
    const struct nuc_tensor *zero_points = nuc_optional_tensor(a->zero_points);
    struct nuc_affine q;

    if (out->bytes == 0)
        return NUC_OK;
    if (!read_bounds(cx, quantize ? out : in, a->quant_min, a->quant_max, &q) ||
        !nuc_need(cx, in->rank > 0, NUC_TEXT("argument 'axis' is not a dimension of 'input'")))
        return NUC_UNSUPPORTED;
    struct nuc_axis_sizes axis = nuc_tensor_axis(in, nuc_dim_of(in, a->axis));
    if (!nuc_need(cx, nuc_tensor_elements(scales) == axis.size,
                  NUC_TEXT("argument 'scales' does not have one element per channel")) ||
        !nuc_need(cx, zero_points == NULL || nuc_tensor_elements(zero_points) == axis.size,
                  NUC_TEXT("argument 'zero_points' does not have one element per channel")))
        return NUC_UNSUPPORTED;
    for (size_t run = 0; run < axis.outer * axis.size; run++) {
        const void *from = (const uint8_t *)in->data + run * axis.inner * nuc_element_size(in);
        void *to = (uint8_t *)out->data + run * axis.inner * nuc_element_size(out);
        size_t channel = run % axis.size;
        q.scale = scales->dtype == NUC_F64 ? (float)((const double *)scales->data)[channel]
                                           : ((const float *)scales->data)[channel];
        q.zero_point = zero_point_of(zero_points, channel);
        if (quantize)
            nuc_kernel_quantize_f32(&q, from, to, axis.inner);
        else
            nuc_kernel_dequantize_f32(&q, from, to, axis.inner);
    }
    return NUC_OK;
}

enum nuc_status nuc_op_quantize_per_channel(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_quantize_per_channel *a = (const void *)args;

    return each_channel(cx, args, &a->out->u.tensor, true);
}

enum nuc_status nuc_op_dequantize_per_channel(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_dequantize_per_channel *a = (const void *)args;

    return each_channel(cx, args, &a->out->u.tensor, false);
}
