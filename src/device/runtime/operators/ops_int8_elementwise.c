/* Elementwise operators in int8 and int16. */
#include "device/runtime/operators/ops_int8.h"

/*
 * Of two operands whose kernel takes parameters and loops, which read() takes from the arguments; `also` is what else
 * must hold. An operator of its own for each width, so that an image holds only the kernels that its program calls.
 */
#define OPERATOR(name, kernel, list, params, read, also, first, second)                                                \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        const struct nuc_args_##list *a = (const void *)args;                                                          \
        const struct nuc_tensor *out = &a->out->u.tensor;                                                              \
        struct nuc_loops loops;                                                                                        \
        struct params p;                                                                                               \
                                                                                                                       \
        if (!read(cx, a, &p, &loops) || !(also))                                                                       \
            return NUC_UNSUPPORTED;                                                                                    \
        if (out->bytes > 0)                                                                                            \
            kernel(&p, &loops, a->first->u.tensor.data, a->second->u.tensor.data, out->data);                          \
        return NUC_OK;                                                                                                 \
    }

static bool read_sum(struct nuc_kernel_context *cx, const struct nuc_args_int8_add *a, struct nuc_add_s8 *p,
                     struct nuc_loops *loops)
{
    *p = (struct nuc_add_s8){.offset_a = -nuc_int32(a->self_zero_point),
                             .offset_b = -nuc_int32(a->other_zero_point),
                             .a = nuc_multiplier_of(a->self_multiplier, a->self_shift),
                             .b = nuc_multiplier_of(a->other_multiplier, a->other_shift),
                             .sum = nuc_multiplier_of(a->output_multiplier, a->output_shift),
                             .offset = nuc_int32(a->output_zero_point),
                             .low = nuc_int32(a->activation_min),
                             .high = nuc_int32(a->activation_max)};
    return nuc_int8_loops(cx, &a->self->u.tensor, &a->other->u.tensor, &a->out->u.tensor, loops) &&
           nuc_bounds_fit(cx, p->low, p->high);
}

OPERATOR(int8_add, nuc_kernel_add_s8, int8_add, nuc_add_s8, read_sum, true, self, other)
OPERATOR(int16_add, nuc_kernel_add_s16, int8_add, nuc_add_s8, read_sum, nuc_zeros(cx, p.offset_a, p.offset_b, p.offset),
         self, other)

#define SQUARED_DIFFERENCE(p, loops, a, b, sum)                                                                        \
    nuc_kernel_squared_difference(p, (enum nuc_dtype)out->dtype, loops, a, b, sum)
OPERATOR(int8_squared_difference, SQUARED_DIFFERENCE, int8_add, nuc_add_s8, read_sum, true, self, other)

static bool read_product(struct nuc_kernel_context *cx, const struct nuc_args_int8_mul *a, struct nuc_mul_s8 *p,
                         struct nuc_loops *loops)
{
    bool s8 = nuc_is_s8(&a->out->u.tensor);

    *p = (struct nuc_mul_s8){.offset_a = -nuc_int32(a->self_zero_point),
                             .offset_b = -nuc_int32(a->other_zero_point),
                             .product = nuc_multiplier_of(a->output_multiplier, a->output_shift),
                             .offset = nuc_int32(a->output_zero_point),
                             .low = s8 ? INT8_MIN : INT16_MIN,
                             .high = s8 ? INT8_MAX : INT16_MAX};
    return nuc_int8_loops(cx, &a->self->u.tensor, &a->other->u.tensor, &a->out->u.tensor, loops);
}

OPERATOR(int8_mul, nuc_kernel_mul_s8, int8_mul, nuc_mul_s8, read_product, true, self, other)
OPERATOR(int16_mul, nuc_kernel_mul_s16, int8_mul, nuc_mul_s8, read_product,
         nuc_zeros(cx, p.offset_a, p.offset_b, p.offset), self, other)

enum nuc_status nuc_op_int8_div(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_div *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    const struct nuc_div_s8 p = {.zero_a = nuc_int32(a->self_zero_point),
                                 .zero_b = nuc_int32(a->other_zero_point),
                                 .zero_out = nuc_int32(a->output_zero_point),
                                 .scale = nuc_value_float(a->scale),
                                 .dtype = (enum nuc_dtype)out->dtype};
    int32_t low = nuc_is_s8(out) ? INT8_MIN : INT16_MIN, high = nuc_is_s8(out) ? INT8_MAX : INT16_MAX;

    if (!nuc_need(cx,
                  p.zero_a >= low && p.zero_a <= high && p.zero_b >= low && p.zero_b <= high && p.zero_out >= low &&
                      p.zero_out <= high,
                  NUC_TEXT("a zero point is out of range")))
        return NUC_UNSUPPORTED;
    nuc_kernel_div_int(&p, a->self->u.tensor.data, a->other->u.tensor.data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_int8_activation(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_activation *a = (const void *)args;
    const struct nuc_tensor *table = &a->lut->u.tensor, *out = &a->out->u.tensor;

    if (!nuc_need(cx, table->bytes == 256, NUC_TEXT("argument 'lut' does not have 256 entries")))
        return NUC_UNSUPPORTED;
    nuc_kernel_table_s8(table->data, a->input->u.tensor.data, out->data, out->bytes);
    return NUC_OK;
}

enum nuc_status nuc_op_int8_compare(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int8_compare *a = (const void *)args;
    const struct nuc_tensor *self = &a->self->u.tensor, *other = &a->other->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_compare_s8 p = {.offset_a = -nuc_int32(a->self_zero_point),
                                     .offset_b = -nuc_int32(a->other_zero_point),
                                     .a = nuc_multiplier_of(a->self_multiplier, a->self_shift),
                                     .b = nuc_multiplier_of(a->other_multiplier, a->other_shift),
                                     .relation = (enum nuc_relation)a->relation->u.i};
    struct nuc_loops loops;

    if (!nuc_need(cx, p.relation <= NUC_GREATER_EQUAL, NUC_TEXT("argument 'relation' is out of range")) ||
        (!nuc_is_s8(self) && !nuc_zeros(cx, p.offset_a, p.offset_b, 0)) ||
        !nuc_need(cx, nuc_broadcast_loops(self, other, out, &loops),
                  NUC_TEXT("the operands do not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_compare_int(&p, &loops, (enum nuc_dtype)self->dtype, self->data, other->data, out->data);
    return NUC_OK;
}

static enum nuc_status extreme(struct nuc_kernel_context *cx, struct nuc_value *const *args, bool largest)
{
    const struct nuc_args_int8_minimum *a = (const void *)args;
    const struct nuc_tensor *self = &a->self->u.tensor, *other = &a->other->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops;

    if (!nuc_int8_loops(cx, self, other, out, &loops))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0 && largest)
        nuc_kernel_maximum_s8(&loops, self->data, other->data, out->data);
    else if (out->bytes > 0)
        nuc_kernel_minimum_s8(&loops, self->data, other->data, out->data);
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

/* Slopes along dimension 1, or one slope for all. */
static bool read_prelu(struct nuc_kernel_context *cx, const struct nuc_args_int8_prelu *a, struct nuc_prelu_s8 *p,
                       struct nuc_loops *loops)
{
    const struct nuc_tensor *in = &a->input->u.tensor, *slopes = &a->weight->u.tensor;

    *p = (struct nuc_prelu_s8){.input_offset = -nuc_int32(a->input_zero_point),
                               .output_offset = nuc_int32(a->output_zero_point),
                               .positive = nuc_multiplier_of(a->positive_multiplier, a->positive_shift),
                               .negative = nuc_multiplier_of(a->negative_multiplier, a->negative_shift)};
    *loops = (struct nuc_loops){.rank = in->rank};
    if (!nuc_need(cx, slopes->bytes == 1 || (in->rank >= 2 && slopes->bytes == (size_t)in->sizes[1]),
                  NUC_TEXT("argument 'weight' is not one int8, or one per channel")))
        return false;
    nuc_tensor_strides(in, loops->a);
    nuc_tensor_strides(&a->out->u.tensor, loops->out);
    for (uint32_t d = 0; d < in->rank; d++) {
        loops->sizes[d] = in->sizes[d];
        loops->b[d] = d == 1 && slopes->bytes != 1 ? 1 : 0;
    }
    nuc_loops_in_memory_order(loops);
    return true;
}

OPERATOR(int8_prelu, nuc_kernel_prelu_s8, int8_prelu, nuc_prelu_s8, read_prelu, true, input, weight)
OPERATOR(int16_prelu, nuc_kernel_prelu_s16, int8_prelu, nuc_prelu_s8, read_prelu,
         nuc_zeros(cx, p.input_offset, p.output_offset, 0), input, weight)

/* ---- of other widths alone ---- */

enum nuc_status nuc_op_requantize(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_rescale *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    const struct nuc_requantize r = {.from = in->dtype == NUC_BOOL ? NUC_I8 : (enum nuc_dtype)in->dtype,
                                     .to = (enum nuc_dtype)out->dtype,
                                     .zero_from = nuc_int32(a->input_zero_point),
                                     .zero_to = nuc_int32(a->output_zero_point),
                                     .low = nuc_int32(a->activation_min),
                                     .high = nuc_int32(a->activation_max),
                                     .m = nuc_multiplier_of(a->multiplier, a->shift)};
    int32_t low = nuc_is_s8(out) ? INT8_MIN : out->dtype == NUC_I16 ? INT16_MIN : INT32_MIN;

    if (!nuc_bounds_fit(cx, r.low, r.high) ||
        !nuc_need(cx, r.low >= low && r.high <= -(low + 1), NUC_TEXT("argument 'activation_min' is out of range")))
        return NUC_UNSUPPORTED;
    nuc_kernel_requantize(&r, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_int16_function(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int16_function *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    const int32_t n = (int32_t)a->samples->u.tensor.sizes[0];

    if (!nuc_need(cx, n == NUC_EVEN || n == 2 * NUC_OCTAVES, NUC_TEXT("argument 'samples' does not have 513 or 706")))
        return NUC_UNSUPPORTED;
    nuc_kernel_function_s16(a->samples->u.tensor.data, n == NUC_EVEN, a->input->u.tensor.data, out->data,
                            nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_int16_sigmoid(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_int16_sigmoid *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    const struct nuc_q15_units units = {nuc_int32(a->multiplier), nuc_int32(a->shift)};

    if (!nuc_need(cx, units.factor <= INT16_MAX, NUC_TEXT("argument 'multiplier' is out of range")))
        return NUC_UNSUPPORTED;
    nuc_kernel_sigmoid_s16(units, a->is_tanh->u.b, a->input->u.tensor.data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}
