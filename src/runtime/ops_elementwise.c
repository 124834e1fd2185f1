#include "runtime/op_args.h"

/* float32, operands broadcast to out. */
static enum nuc_status binary(struct nuc_kernel_context *cx, enum nuc_binary_op op, struct nuc_value *const *args,
                              float alpha, int out_index)
{
    struct nuc_tensor *a = nuc_arg_tensor(args, 0);
    struct nuc_tensor *b = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, out_index);
    struct nuc_loops loops;

    if (!nuc_need(cx, nuc_is_f32(a), NUC_TEXT("argument 'self' is not float32")) ||
        !nuc_need(cx, nuc_is_f32(b), NUC_TEXT("argument 'other' is not float32")) ||
        !nuc_need(cx, nuc_is_f32(out), NUC_TEXT("argument 'out' is not float32")) ||
        !nuc_need(cx, nuc_broadcast_loops(a, b, out, &loops),
                  NUC_TEXT("arguments 'self' and 'other' do not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_binary_f32(op, &loops, alpha, a->data, b->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_add(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, NUC_BINARY_ADD, args, (float)nuc_value_scalar(args[2]), 3);
}

enum nuc_status nuc_op_sub(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, NUC_BINARY_SUB, args, (float)nuc_value_scalar(args[2]), 3);
}

enum nuc_status nuc_op_mul(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, NUC_BINARY_MUL, args, 1.0f, 2);
}

enum nuc_status nuc_op_div(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, NUC_BINARY_DIV, args, 1.0f, 2);
}

enum nuc_status nuc_op_maximum(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, NUC_BINARY_MAXIMUM, args, 1.0f, 2);
}

enum nuc_status nuc_op_minimum(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, NUC_BINARY_MINIMUM, args, 1.0f, 2);
}

static enum nuc_status unary(struct nuc_kernel_context *cx, enum nuc_unary_op op, struct nuc_value *const *args,
                             float low, float high, int out_index)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, out_index);

    if (!nuc_need(cx, nuc_is_f32(in) && nuc_is_f32(out), NUC_TEXT("argument 'self' or 'out' is not float32")) ||
        !nuc_need(cx, nuc_tensor_same_layout(in, out),
                  NUC_TEXT("argument 'out' differs from 'self' in sizes or dim order")))
        return NUC_UNSUPPORTED;
    nuc_kernel_unary_f32(op, low, high, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_relu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_RELU, args, 0.0f, 0.0f, 1);
}

enum nuc_status nuc_op_abs(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_ABS, args, 0.0f, 0.0f, 1);
}

enum nuc_status nuc_op_neg(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_NEG, args, 0.0f, 0.0f, 1);
}

enum nuc_status nuc_op_exp(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_EXP, args, 0.0f, 0.0f, 1);
}

enum nuc_status nuc_op_log(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_LOG, args, 0.0f, 0.0f, 1);
}

enum nuc_status nuc_op_sqrt(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_SQRT, args, 0.0f, 0.0f, 1);
}

enum nuc_status nuc_op_rsqrt(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_RSQRT, args, 0.0f, 0.0f, 1);
}

enum nuc_status nuc_op_sigmoid(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_SIGMOID, args, 0.0f, 0.0f, 1);
}

enum nuc_status nuc_op_tanh(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_TANH, args, 0.0f, 0.0f, 1);
}

enum nuc_status nuc_op_leaky_relu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_LEAKY_RELU, args, (float)nuc_value_scalar(args[1]), 0.0f, 2);
}

enum nuc_status nuc_op_hardtanh(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return unary(cx, NUC_UNARY_CLAMP, args, (float)nuc_value_scalar(args[1]), (float)nuc_value_scalar(args[2]), 3);
}

/* A bound that is None does not bind. */
enum nuc_status nuc_op_clamp(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    float low = args[1]->kind == NUC_VALUE_NONE ? -__builtin_inff() : (float)nuc_value_scalar(args[1]);
    float high = args[2]->kind == NUC_VALUE_NONE ? __builtin_inff() : (float)nuc_value_scalar(args[2]);

    return unary(cx, NUC_UNARY_CLAMP, args, low, high, 3);
}
