#include "device/runtime/operators/op_shapes.h"

static struct nuc_elements elements(const struct nuc_tensor *t)
{
    return (struct nuc_elements){(enum nuc_dtype)t->dtype, t->data};
}

/* ---- operators of two values ---- */

static bool is_real(const struct nuc_tensor *t)
{
    return t->dtype == NUC_F32 || t->dtype == NUC_F64;
}

/* Operands broadcast to out. alpha: an argument, or NULL for 1. */
static enum nuc_status binary(struct nuc_kernel_context *cx, const struct nuc_binary *op, const struct nuc_tensor *a,
                              const struct nuc_tensor *b, const struct nuc_value *alpha, const struct nuc_tensor *out)
{
    struct nuc_loops loops;
    bool real = op->i64 == NULL || is_real(a) || is_real(b);
    struct nuc_factor factor = {1.0f, 1};

    if (!nuc_need(cx, !real || op->f32 != NULL, NUC_TEXT("argument 'self' or 'other' is not an integer")) ||
        !nuc_need(cx, real || alpha == NULL || alpha->kind == NUC_VALUE_INT,
                  NUC_TEXT("argument 'alpha' is not an integer")) ||
        !nuc_need(cx, nuc_broadcast_loops(a, b, out, &loops),
                  NUC_TEXT("arguments 'self' and 'other' do not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    if (alpha != NULL)
        factor = (struct nuc_factor){nuc_value_float(alpha), alpha->kind == NUC_VALUE_INT ? alpha->u.i : 0};
    if (out->bytes == 0)
        return NUC_OK;
    if (nuc_is_f32(a) && nuc_is_f32(b) && nuc_is_f32(out))
        nuc_kernel_binary_f32(op, &loops, factor.f32, a->data, b->data, out->data);
    else if (op->i16 != NULL && a->dtype == NUC_I16 && b->dtype == NUC_I16 && out->dtype == NUC_I16)
        op->i16(&loops, a->data, b->data, out->data);
    else
        nuc_kernel_binary(op, &loops, factor, elements(a), elements(b), elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_add(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_add *a = (const void *)args;

    return binary(cx, &nuc_binary_add, &a->self->u.tensor, &a->other->u.tensor, a->alpha, &a->out->u.tensor);
}

enum nuc_status nuc_op_sub(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_add *a = (const void *)args;

    return binary(cx, &nuc_binary_sub, &a->self->u.tensor, &a->other->u.tensor, a->alpha, &a->out->u.tensor);
}

/* An operator of its own for each row, so that an image holds only the functions its program calls. */
#define BINARY_OPERATOR(X, name)                                                                                       \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        const struct nuc_args_binary *a = (const void *)args;                                                          \
                                                                                                                       \
        return binary(cx, &nuc_binary_##name, &a->self->u.tensor, &a->other->u.tensor, NULL, &a->out->u.tensor);       \
    }
NUC_BINARIES(BINARY_OPERATOR, )
NUC_TENSOR_BINARIES(BINARY_OPERATOR, )
BINARY_OPERATOR(, pow)
#undef BINARY_OPERATOR

enum nuc_status nuc_op_div_mode(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_div_mode *a = (const void *)args;
    const struct nuc_binary *op = &nuc_binary_div;

    if (a->rounding_mode->kind != NUC_VALUE_NONE)
        op = nuc_text_is(a->rounding_mode, "floor")   ? &nuc_binary_floor_divide
             : nuc_text_is(a->rounding_mode, "trunc") ? &nuc_binary_div_trunc
                                                      : NULL;
    if (!nuc_need(cx, op != NULL, NUC_TEXT("argument 'rounding_mode' is neither 'floor' nor 'trunc'")))
        return NUC_UNSUPPORTED;
    return binary(cx, op, &a->self->u.tensor, &a->other->u.tensor, NULL, &a->out->u.tensor);
}

/* ---- a tensor and a number ---- */

/* A number as a tensor without dimensions, of the type in which it meets a tensor. */
struct number {
    float f;
    int64_t i;
    struct nuc_tensor tensor;
};

static const struct nuc_tensor *number(const struct nuc_value *value, const struct nuc_tensor *other, struct number *n)
{
    bool whole = value->kind == NUC_VALUE_INT && !is_real(other);

    n->f = nuc_value_float(value);
    n->i = whole ? value->u.i : 0;
    n->tensor = (struct nuc_tensor){.data = whole ? (void *)&n->i : (void *)&n->f,
                                    .bytes = whole ? sizeof n->i : sizeof n->f,
                                    .dtype = whole ? NUC_I64 : NUC_F32};
    return &n->tensor;
}

static enum nuc_status with_number(struct nuc_kernel_context *cx, const struct nuc_binary *op,
                                   struct nuc_value *const *args)
{
    const struct nuc_args_with_number *a = (const void *)args;
    struct number n;

    return binary(cx, op, &a->self->u.tensor, number(a->other, &a->self->u.tensor, &n), NULL, &a->out->u.tensor);
}

enum nuc_status nuc_op_gt_scalar(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return with_number(cx, &nuc_binary_gt, args);
}

enum nuc_status nuc_op_pow_scalar(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return with_number(cx, &nuc_binary_pow, args);
}

enum nuc_status nuc_op_pow_of_scalar(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_pow_of_scalar *a = (const void *)args;
    const struct nuc_tensor *exponent = &a->exponent->u.tensor;
    struct number n;

    return binary(cx, &nuc_binary_pow, number(a->self, exponent, &n), exponent, NULL, &a->out->u.tensor);
}

/* ---- functions of one value ---- */

static enum nuc_status map(struct nuc_kernel_context *cx, const struct nuc_map *op, struct nuc_value *const *args)
{
    const struct nuc_args_map *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops;
    bool f32 = op->f32 != NULL && nuc_is_f32(in) && nuc_is_f32(out); /* in the order of memory */

    if (!nuc_need(cx, op->f32 != NULL || !is_real(in), NUC_TEXT("argument 'self' is not an integer")) ||
        !nuc_need(cx, !f32 || nuc_tensor_same_layout(in, out),
                  NUC_TEXT("argument 'out' differs from 'self' in dim order")))
        return NUC_UNSUPPORTED;
    if (f32)
        nuc_kernel_map_f32(op->f32, in->data, out->data, nuc_tensor_elements(out));
    else if (out->bytes > 0 && nuc_broadcast_loops(in, NULL, out, &loops))
        nuc_kernel_map(op, &loops, elements(in), elements(out));
    return NUC_OK;
}

/* As for operators of two values. */
#define MAP_OPERATOR(X, name)                                                                                          \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        return map(cx, &nuc_map_##name, args);                                                                         \
    }
NUC_MAPS(MAP_OPERATOR, )
#undef MAP_OPERATOR

/* The other truth, or the other bits. */
enum nuc_status nuc_op_bitwise_not(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_map *a = (const void *)args;

    return map(cx, a->self->u.tensor.dtype == NUC_BOOL ? &nuc_map_logical_not : &nuc_map_bitwise_not, args);
}

enum nuc_status nuc_op_leaky_relu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_leaky_relu *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;

    (void)cx;
    nuc_kernel_leaky_relu_f32(nuc_value_float(a->negative_slope), a->self->u.tensor.data, out->data,
                              nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_elu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_elu *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    const struct nuc_elu elu = {nuc_value_float(a->alpha), nuc_value_float(a->scale), nuc_value_float(a->input_scale)};

    (void)cx;
    nuc_kernel_elu_f32(&elu, a->self->u.tensor.data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

/* Integers are converted first. */
enum nuc_status nuc_op_logit(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_logit *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    float low = a->eps->kind == NUC_VALUE_NONE ? -1.0f : nuc_value_float(a->eps);
    enum nuc_status status = nuc_copy_tensor(cx, &a->self->u.tensor, out);

    if (status == NUC_OK)
        nuc_kernel_logit_f32(low, out->data, out->data, nuc_tensor_elements(out));
    return status;
}

/* A bound that is None does not bind. */
enum nuc_status nuc_op_clamp(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_clamp *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    bool has_min = a->min->kind != NUC_VALUE_NONE, has_max = a->max->kind != NUC_VALUE_NONE;
    enum nuc_status status = NUC_OK;
    struct number low, high;

    if (nuc_is_f32(in) && nuc_is_f32(out)) {
        if (!nuc_need(cx, nuc_tensor_same_layout(in, out),
                      NUC_TEXT("argument 'out' differs from 'self' in sizes or dim order")))
            return NUC_UNSUPPORTED;
        nuc_kernel_clamp_f32(has_min ? nuc_value_float(a->min) : -__builtin_inff(),
                             has_max ? nuc_value_float(a->max) : __builtin_inff(), in->data, out->data,
                             nuc_tensor_elements(out));
        return NUC_OK;
    }
    if (has_min)
        status = binary(cx, &nuc_binary_maximum, in, number(a->min, in, &low), NULL, out);
    if (has_max && status == NUC_OK)
        status = binary(cx, &nuc_binary_minimum, has_min ? out : in, number(a->max, in, &high), NULL, out);
    return has_min || has_max ? status : nuc_copy_tensor(cx, in, out);
}

enum nuc_status nuc_op_gelu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_gelu *a = (const void *)args;
    bool by_tanh = nuc_text_is(a->approximate, "tanh");

    if (!nuc_need(cx, by_tanh || nuc_text_is(a->approximate, "none"),
                  NUC_TEXT("argument 'approximate' is neither 'none' nor 'tanh'")))
        return NUC_UNSUPPORTED;
    nuc_kernel_map_f32(by_tanh ? nuc_map_gelu_tanh.f32 : nuc_map_gelu.f32, a->self->u.tensor.data,
                       a->out->u.tensor.data, nuc_tensor_elements(&a->out->u.tensor));
    return NUC_OK;
}

/* ---- choice ---- */

/* 'other' everywhere, then 'self' where the condition holds. */
enum nuc_status nuc_op_where(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_where *a = (const void *)args;
    const struct nuc_tensor *condition = &a->condition->u.tensor, *self = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops;

    if (!nuc_need(cx, self->dtype == out->dtype || (nuc_is_convertible(self) && nuc_is_convertible(out)),
                  NUC_TEXT("arguments 'self' and 'out' are of types that are not converted")) ||
        !nuc_need(cx, nuc_broadcast_loops(self, condition, out, &loops),
                  NUC_TEXT("arguments 'condition' and 'self' do not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, &a->other->u.tensor, out);
    if (status == NUC_OK && out->bytes > 0)
        nuc_kernel_convert_where(&loops, elements(self), condition->data, elements(out));
    return status;
}
