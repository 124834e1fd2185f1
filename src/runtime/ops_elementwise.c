#include "runtime/op_args.h"

static bool all_int64(const struct nuc_tensor *a, const struct nuc_tensor *b, const struct nuc_tensor *out)
{
    return a->dtype == NUC_I64 && b->dtype == NUC_I64 && out->dtype == NUC_I64;
}

/* int64, as positions are computed. */
static enum nuc_status binary_int64(struct nuc_kernel_context *cx, const struct nuc_binary *op,
                                    struct nuc_value *const *args, const struct nuc_value *alpha, int out_index)
{
    struct nuc_tensor *a = nuc_arg_tensor(args, 0);
    struct nuc_tensor *b = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, out_index);
    struct nuc_loops loops;

    if (!nuc_need(cx, op->i64 != NULL, NUC_TEXT("argument 'self' is not float32")) ||
        !nuc_need(cx, alpha == NULL || alpha->kind == NUC_VALUE_INT, NUC_TEXT("argument 'alpha' is not an integer")) ||
        !nuc_need(cx, nuc_broadcast_loops(a, b, out, &loops),
                  NUC_TEXT("arguments 'self' and 'other' do not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_binary_i64(op, &loops, alpha != NULL ? alpha->u.i : 1, a->data, b->data, out->data);
    return NUC_OK;
}

/* float32 or int64, operands broadcast to out. alpha: an argument, or NULL for 1. */
static enum nuc_status binary(struct nuc_kernel_context *cx, const struct nuc_binary *op, struct nuc_value *const *args,
                              const struct nuc_value *alpha, int out_index)
{
    struct nuc_tensor *a = nuc_arg_tensor(args, 0);
    struct nuc_tensor *b = nuc_arg_tensor(args, 1);
    struct nuc_tensor *out = nuc_arg_tensor(args, out_index);
    struct nuc_loops loops;

    if (all_int64(a, b, out))
        return binary_int64(cx, op, args, alpha, out_index);
    if (!nuc_need(cx, nuc_is_f32(a), NUC_TEXT("argument 'self' is not float32")) ||
        !nuc_need(cx, nuc_is_f32(b), NUC_TEXT("argument 'other' is not float32")) ||
        !nuc_need(cx, nuc_is_f32(out), NUC_TEXT("argument 'out' is not float32")) ||
        !nuc_need(cx, nuc_broadcast_loops(a, b, out, &loops),
                  NUC_TEXT("arguments 'self' and 'other' do not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_binary_f32(op, &loops, alpha != NULL ? (float)nuc_value_scalar(alpha) : 1.0f, a->data, b->data,
                              out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_add(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, &nuc_binary_add, args, args[2], 3);
}

enum nuc_status nuc_op_sub(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, &nuc_binary_sub, args, args[2], 3);
}

/* An operator of its own for each row, so that an image holds only the functions its program calls. */
#define BINARY_OPERATOR(X, name)                                                                                       \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        return binary(cx, &nuc_binary_##name, args, NULL, 2);                                                          \
    }
NUC_BINARIES(BINARY_OPERATOR, )
#undef BINARY_OPERATOR

/* Whether `self` and `out` are float32 of one layout, so that elements are taken in the order of memory. */
static bool is_elementwise(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out)
{
    return nuc_need(cx, nuc_is_f32(in) && nuc_is_f32(out), NUC_TEXT("argument 'self' or 'out' is not float32")) &&
           nuc_need(cx, nuc_tensor_same_layout(in, out),
                    NUC_TEXT("argument 'out' differs from 'self' in sizes or dim order"));
}

static enum nuc_status map(struct nuc_kernel_context *cx, nuc_map_fn fn, const struct nuc_tensor *in,
                           const struct nuc_tensor *out)
{
    if (!is_elementwise(cx, in, out))
        return NUC_UNSUPPORTED;
    nuc_kernel_map_f32(fn, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

/* As for operators of two values. */
#define MAP_OPERATOR(X, name)                                                                                          \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        return map(cx, nuc_map_##name, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 1));                              \
    }
NUC_MAPS(MAP_OPERATOR, )
#undef MAP_OPERATOR

enum nuc_status nuc_op_abs(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 1);

    if (in->dtype == NUC_I64 && out->dtype == NUC_I64 && nuc_tensor_same_layout(in, out)) {
        nuc_kernel_abs_i64(in->data, out->data, nuc_tensor_elements(out));
        return NUC_OK;
    }
    return map(cx, nuc_map_abs, in, out);
}

enum nuc_status nuc_op_leaky_relu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);

    if (!is_elementwise(cx, in, out))
        return NUC_UNSUPPORTED;
    nuc_kernel_leaky_relu_f32((float)nuc_value_scalar(args[1]), in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

static enum nuc_status clamp(struct nuc_kernel_context *cx, float low, float high, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);

    if (!is_elementwise(cx, in, out))
        return NUC_UNSUPPORTED;
    nuc_kernel_clamp_f32(low, high, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_hardtanh(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return clamp(cx, (float)nuc_value_scalar(args[1]), (float)nuc_value_scalar(args[2]), args);
}

/* Smallest and largest value of an integer type. */
static bool int_range(const struct nuc_tensor *t, int64_t *low, int64_t *high)
{
    bool is_signed = t->dtype == NUC_I8 || t->dtype == NUC_I16 || t->dtype == NUC_I32 || t->dtype == NUC_I64;
    unsigned bits = 8 * (unsigned)nuc_dtype_size((enum nuc_dtype)t->dtype);

    if (!is_signed && t->dtype != NUC_U8 && t->dtype != NUC_U16)
        return false;
    *high = INT64_MAX >> (64 - bits - (is_signed ? 0 : 1));
    *low = is_signed ? -*high - 1 : 0;
    return true;
}

static bool int_bound(const struct nuc_value *value, int64_t low, int64_t high, int64_t *bound)
{
    if (value->kind == NUC_VALUE_INT)
        *bound = value->u.i;
    return value->kind == NUC_VALUE_NONE || (value->kind == NUC_VALUE_INT && nuc_value_in(value, low, high));
}

static enum nuc_status clamp_int(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);
    int64_t smallest = 0;
    int64_t largest = 0;

    if (!nuc_need(cx, int_range(in, &smallest, &largest) && in->dtype == out->dtype,
                  NUC_TEXT("argument 'self' or 'out' is neither float32 nor an integer")) ||
        !nuc_need(cx, nuc_tensor_same_layout(in, out),
                  NUC_TEXT("argument 'out' differs from 'self' in sizes or dim order")))
        return NUC_UNSUPPORTED;
    int64_t low = smallest;
    int64_t high = largest;
    if (!nuc_need(cx, int_bound(args[1], smallest, largest, &low) && int_bound(args[2], smallest, largest, &high),
                  NUC_TEXT("argument 'min' or 'max' is outside the element type")))
        return NUC_UNSUPPORTED;
    nuc_kernel_clamp_int((enum nuc_dtype)in->dtype, low, high, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

/* A bound that is None does not bind. */
enum nuc_status nuc_op_clamp(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    if (!nuc_is_f32(nuc_arg_tensor(args, 0)))
        return clamp_int(cx, args);
    float low = args[1]->kind == NUC_VALUE_NONE ? -__builtin_inff() : (float)nuc_value_scalar(args[1]);
    float high = args[2]->kind == NUC_VALUE_NONE ? __builtin_inff() : (float)nuc_value_scalar(args[2]);

    return clamp(cx, low, high, args);
}

static bool text_is(const struct nuc_value *value, const char *text)
{
    uint32_t i = 0;

    while (i < value->u.list.count && text[i] != '\0' && value->u.list.items[i] == (uint8_t)text[i])
        i++;
    return i == value->u.list.count && text[i] == '\0';
}

enum nuc_status nuc_op_gelu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    bool by_tanh = text_is(args[1], "tanh");

    if (!nuc_need(cx, by_tanh || text_is(args[1], "none"),
                  NUC_TEXT("argument 'approximate' is neither 'none' nor 'tanh'")))
        return NUC_UNSUPPORTED;
    return map(cx, by_tanh ? nuc_map_gelu_tanh : nuc_map_gelu, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 2));
}

enum nuc_status nuc_op_gt(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    struct nuc_loops loops;

    if (!nuc_need(cx, nuc_is_f32(in), NUC_TEXT("argument 'self' is not float32")) ||
        !nuc_need(cx, out->dtype == NUC_BOOL, NUC_TEXT("argument 'out' is not bool")) ||
        !nuc_need(cx, nuc_tensor_same_sizes(in, out) && nuc_broadcast_loops(in, NULL, out, &loops),
                  NUC_TEXT("argument 'out' differs from 'self' in sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_greater_f32(&loops, (float)nuc_value_scalar(args[1]), in->data, out->data);
    return NUC_OK;
}

/* 'other' everywhere, then 'self' where the condition holds. */
enum nuc_status nuc_op_where(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *condition = nuc_arg_tensor(args, 0);
    struct nuc_tensor *self = nuc_arg_tensor(args, 1);
    struct nuc_tensor *other = nuc_arg_tensor(args, 2);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);
    struct nuc_loops loops;

    if (!nuc_need(cx, condition->dtype == NUC_BOOL || condition->dtype == NUC_U8,
                  NUC_TEXT("argument 'condition' is not bool")) ||
        !nuc_need(cx, self->dtype == out->dtype && other->dtype == out->dtype,
                  NUC_TEXT("arguments 'self', 'other' and 'out' differ in element type")) ||
        !nuc_need(cx, nuc_broadcast_loops(self, condition, out, &loops),
                  NUC_TEXT("arguments 'condition' and 'self' do not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, other, out);
    if (status == NUC_OK && out->bytes > 0)
        nuc_kernel_copy_where(&loops, nuc_dtype_size((enum nuc_dtype)out->dtype), self->data, condition->data,
                              out->data);
    return status;
}
