/* Elementwise operators in int8, and conversions from and to float. */
#include "device/runtime/operators/ops_int8.h"

/* int8 and int16; the argument at `dtype_at` says the same in the numbers of ExecuTorch, 1 and 2. */
static bool quantized_type(struct nuc_kernel_context *cx, const struct nuc_tensor *t, const struct nuc_value *dtype)
{
    return nuc_need(cx, (t->dtype == NUC_I8 && dtype->u.i == 1) || (t->dtype == NUC_I16 && dtype->u.i == 2),
                    NUC_TEXT("the quantized tensor is not int8 or int16, or not what 'dtype' says"));
}

enum nuc_status nuc_op_int8_quantize(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    if (!quantized_type(cx, nuc_arg_tensor(args, 6), args[5]))
        return NUC_UNSUPPORTED;
    return nuc_op_quantize_per_tensor(cx, args);
}

/* The same arguments without an output type. */
enum nuc_status nuc_op_int8_dequantize(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_value none = {.kind = NUC_VALUE_NONE};
    struct nuc_value *all[8];

    for (int i = 0; i < 6; i++)
        all[i] = args[i];
    all[6] = &none;
    all[7] = args[6];
    if (!quantized_type(cx, nuc_arg_tensor(args, 0), args[5]))
        return NUC_UNSUPPORTED;
    return nuc_op_dequantize_per_tensor(cx, all);
}

enum nuc_status nuc_op_int8_add(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *a = nuc_arg_tensor(args, 0);
    struct nuc_tensor *b = nuc_arg_tensor(args, 4);
    struct nuc_tensor *out = nuc_arg_tensor(args, 13);
    struct nuc_add_s8 p;
    struct nuc_loops loops;

    if (!nuc_int8_loops(cx, a, b, out, &loops) ||
        !nuc_need(cx, nuc_is_zero_point(args[1]) && nuc_is_zero_point(args[5]) && nuc_is_zero_point(args[8]),
                  NUC_TEXT("a zero point is out of range")) ||
        !nuc_need(cx,
                  nuc_arg_multiplier(args, 2, &p.a) && nuc_arg_multiplier(args, 6, &p.b) &&
                      nuc_arg_multiplier(args, 9, &p.sum),
                  NUC_TEXT("a multiplier or shift is out of range")) ||
        !nuc_need(cx, nuc_arg_bounds(args, 11, 12, &p.low, &p.high),
                  NUC_TEXT("argument 'activation_min' or 'activation_max' is out of range")))
        return NUC_UNSUPPORTED;
    p.offset_a = -(int32_t)args[1]->u.i;
    p.offset_b = -(int32_t)args[5]->u.i;
    p.offset = (int32_t)args[8]->u.i;
    if (out->bytes > 0)
        nuc_kernel_add_s8(&p, &loops, a->data, b->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_mul(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *a = nuc_arg_tensor(args, 0);
    struct nuc_tensor *b = nuc_arg_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 7);
    struct nuc_mul_s8 p = {.low = INT8_MIN, .high = INT8_MAX};
    struct nuc_loops loops;

    if (!nuc_int8_loops(cx, a, b, out, &loops) ||
        !nuc_need(cx, nuc_is_zero_point(args[1]) && nuc_is_zero_point(args[3]) && nuc_is_zero_point(args[4]),
                  NUC_TEXT("a zero point is out of range")) ||
        !nuc_need(cx, nuc_arg_multiplier(args, 5, &p.product), NUC_TEXT("a multiplier or shift is out of range")))
        return NUC_UNSUPPORTED;
    p.offset_a = -(int32_t)args[1]->u.i;
    p.offset_b = -(int32_t)args[3]->u.i;
    p.offset = (int32_t)args[4]->u.i;
    if (out->bytes > 0)
        nuc_kernel_mul_s8(&p, &loops, a->data, b->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_div(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *a = nuc_arg_tensor(args, 0);
    struct nuc_tensor *b = nuc_arg_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 6);
    bool wide = out->dtype == NUC_I16;
    int64_t low = wide ? INT16_MIN : INT8_MIN;
    int64_t high = wide ? INT16_MAX : INT8_MAX;

    if (!nuc_need(cx, wide || nuc_is_s8(out), NUC_TEXT("argument 'out' is not int8 or int16")) ||
        !nuc_need(cx, a->dtype == out->dtype && b->dtype == out->dtype, NUC_TEXT("the element types differ")) ||
        !nuc_need(cx, nuc_tensor_same_layout(a, out) && nuc_tensor_same_layout(b, out),
                  NUC_TEXT("the tensors differ in sizes or dim order")) ||
        !nuc_need(cx,
                  nuc_value_in(args[1], low, high) && nuc_value_in(args[3], low, high) &&
                      nuc_value_in(args[4], low, high),
                  NUC_TEXT("a zero point is out of range")))
        return NUC_UNSUPPORTED;
    struct nuc_div_s8 p = {.zero_a = (int32_t)args[1]->u.i,
                           .zero_b = (int32_t)args[3]->u.i,
                           .zero_out = (int32_t)args[4]->u.i,
                           .scale = (float)nuc_value_scalar(args[5]),
                           .dtype = (enum nuc_dtype)out->dtype};
    nuc_kernel_div_int(&p, a->data, b->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_int8_activation(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *table = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);

    if (!nuc_need(cx, nuc_is_s8(in) && nuc_is_s8(out) && nuc_is_s8(table), NUC_TEXT("a tensor is not int8")) ||
        !nuc_need(cx, table->bytes == 256, NUC_TEXT("argument 'lut' does not have 256 entries")) ||
        !nuc_need(cx, nuc_tensor_same_layout(in, out),
                  NUC_TEXT("argument 'out' differs from 'input' in sizes or dim order")))
        return NUC_UNSUPPORTED;
    nuc_kernel_table_s8(table->data, in->data, out->data, out->bytes);
    return NUC_OK;
}

/* Truths are bytes as int8 is. */
enum nuc_status nuc_op_int8_test(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_value table = *args[1], out = *args[2];
    struct nuc_value *as_int8[3] = {args[0], &table, &out};

    if (!nuc_need(cx, table.u.tensor.dtype == NUC_BOOL && out.u.tensor.dtype == NUC_BOOL,
                  NUC_TEXT("argument 'truths' or 'out' is not bool")))
        return NUC_UNSUPPORTED;
    table.u.tensor.dtype = out.u.tensor.dtype = NUC_I8;
    return nuc_op_int8_activation(cx, as_int8);
}

enum nuc_status nuc_op_int8_compare(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *a = nuc_arg_tensor(args, 0);
    struct nuc_tensor *b = nuc_arg_tensor(args, 4);
    struct nuc_tensor *out = nuc_arg_tensor(args, 9);
    struct nuc_compare_s8 p;
    struct nuc_loops loops;

    if (!nuc_need(cx, nuc_is_s8(a) && nuc_is_s8(b) && out->dtype == NUC_BOOL,
                  NUC_TEXT("a tensor has the wrong element type")) ||
        !nuc_need(cx, nuc_broadcast_loops(a, b, out, &loops), NUC_TEXT("the operands do not broadcast to 'out'")) ||
        !nuc_need(cx, nuc_is_zero_point(args[1]) && nuc_is_zero_point(args[5]),
                  NUC_TEXT("a zero point is out of range")) ||
        !nuc_need(cx, nuc_arg_multiplier(args, 2, &p.a) && nuc_arg_multiplier(args, 6, &p.b),
                  NUC_TEXT("a multiplier or shift is out of range")) ||
        !nuc_need(cx, nuc_value_in(args[8], NUC_EQUAL, NUC_GREATER_EQUAL),
                  NUC_TEXT("argument 'relation' is out of range")))
        return NUC_UNSUPPORTED;
    p.offset_a = -(int32_t)args[1]->u.i;
    p.offset_b = -(int32_t)args[5]->u.i;
    p.relation = (enum nuc_relation)args[8]->u.i;
    if (out->bytes > 0)
        nuc_kernel_compare_s8(&p, &loops, a->data, b->data, out->data);
    return NUC_OK;
}

static enum nuc_status extreme(struct nuc_kernel_context *cx, struct nuc_value *const *args, bool largest)
{
    struct nuc_tensor *a = nuc_arg_tensor(args, 0);
    struct nuc_tensor *b = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    struct nuc_loops loops;

    if (!nuc_int8_loops(cx, a, b, out, &loops))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0 && largest)
        nuc_kernel_maximum_s8(&loops, a->data, b->data, out->data);
    else if (out->bytes > 0)
        nuc_kernel_minimum_s8(&loops, a->data, b->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_minimum(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return extreme(cx, args, false);
}

enum nuc_status nuc_op_int8_maximum(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return extreme(cx, args, true);
}

/* Loops with the slopes along dimension 1, or one slope for all. */
static void prelu_loops(const struct nuc_tensor *in, const struct nuc_tensor *out, bool one_slope,
                        struct nuc_loops *loops)
{
    loops->rank = in->rank;
    nuc_tensor_strides(in, loops->a);
    nuc_tensor_strides(out, loops->out);
    for (uint32_t d = 0; d < in->rank; d++) {
        loops->sizes[d] = in->sizes[d];
        loops->b[d] = d == 1 && !one_slope ? 1 : 0;
    }
    nuc_loops_in_memory_order(loops);
}

enum nuc_status nuc_op_int8_prelu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *slopes = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, 8);
    struct nuc_prelu_s8 p;
    struct nuc_loops loops;

    if (!nuc_need(cx, nuc_is_s8(in) && nuc_is_s8(out) && nuc_is_s8(slopes), NUC_TEXT("a tensor is not int8")) ||
        !nuc_need(cx, nuc_tensor_same_sizes(in, out), NUC_TEXT("argument 'out' differs from 'input' in sizes")) ||
        !nuc_need(cx, slopes->bytes == 1 || (in->rank >= 2 && slopes->bytes == (size_t)in->sizes[1]),
                  NUC_TEXT("argument 'weight' is not one int8, or one per channel")) ||
        !nuc_need(cx, nuc_is_zero_point(args[2]) && nuc_is_zero_point(args[3]),
                  NUC_TEXT("a zero point is out of range")) ||
        !nuc_need(cx, nuc_arg_multiplier(args, 4, &p.positive) && nuc_arg_multiplier(args, 6, &p.negative),
                  NUC_TEXT("a multiplier or shift is out of range")))
        return NUC_UNSUPPORTED;
    p.input_offset = -(int32_t)args[2]->u.i;
    p.output_offset = (int32_t)args[3]->u.i;
    prelu_loops(in, out, slopes->bytes == 1, &loops);
    if (out->bytes > 0)
        nuc_kernel_prelu_s8(&p, &loops, in->data, slopes->data, out->data);
    return NUC_OK;
}
