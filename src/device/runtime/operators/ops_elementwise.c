#include "device/runtime/op_args.h"

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

    if (!nuc_need(cx, nuc_is_convertible(a) && nuc_is_convertible(b) && nuc_is_convertible(out),
                  NUC_TEXT("argument 'self', 'other' or 'out' is of a type that is not computed")) ||
        !nuc_need(cx, !real || op->f32 != NULL, NUC_TEXT("argument 'self' or 'other' is not an integer")) ||
        !nuc_need(cx, real || alpha == NULL || alpha->kind == NUC_VALUE_INT,
                  NUC_TEXT("argument 'alpha' is not an integer")) ||
        !nuc_need(cx, nuc_broadcast_loops(a, b, out, &loops),
                  NUC_TEXT("arguments 'self' and 'other' do not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    if (alpha != NULL)
        factor = (struct nuc_factor){(float)nuc_value_scalar(alpha), alpha->kind == NUC_VALUE_INT ? alpha->u.i : 0};
    if (out->bytes == 0)
        return NUC_OK;
    if (nuc_is_f32(a) && nuc_is_f32(b) && nuc_is_f32(out))
        nuc_kernel_binary_f32(op, &loops, factor.f32, a->data, b->data, out->data);
    else
        nuc_kernel_binary(op, &loops, factor, elements(a), elements(b), elements(out));
    return NUC_OK;
}

enum nuc_status nuc_op_add(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, &nuc_binary_add, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 1), args[2],
                  nuc_arg_tensor(args, 3));
}

enum nuc_status nuc_op_sub(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return binary(cx, &nuc_binary_sub, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 1), args[2],
                  nuc_arg_tensor(args, 3));
}

/* An operator of its own for each row, so that an image holds only the functions its program calls. */
#define BINARY_OPERATOR(X, name)                                                                                       \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        return binary(cx, &nuc_binary_##name, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 1), NULL,                  \
                      nuc_arg_tensor(args, 2));                                                                        \
    }
NUC_BINARIES(BINARY_OPERATOR, )
NUC_TENSOR_BINARIES(BINARY_OPERATOR, )
BINARY_OPERATOR(, pow)
#undef BINARY_OPERATOR

static bool text_is(const struct nuc_value *value, const char *text)
{
    uint32_t i = 0;

    while (i < value->u.list.count && text[i] != '\0' && value->u.list.items[i] == (uint8_t)text[i])
        i++;
    return i == value->u.list.count && text[i] == '\0';
}

enum nuc_status nuc_op_div_mode(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    bool exact = args[2]->kind == NUC_VALUE_NONE;
    bool down = !exact && text_is(args[2], "floor");

    if (!nuc_need(cx, exact || down || text_is(args[2], "trunc"),
                  NUC_TEXT("argument 'rounding_mode' is neither 'floor' nor 'trunc'")))
        return NUC_UNSUPPORTED;
    return binary(cx,
                  exact  ? &nuc_binary_div
                  : down ? &nuc_binary_floor_divide
                         : &nuc_binary_div_trunc,
                  nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 1), NULL, nuc_arg_tensor(args, 3));
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

    n->f = (float)nuc_value_scalar(value);
    n->i = whole ? value->u.i : 0;
    n->tensor = (struct nuc_tensor){.data = whole ? (void *)&n->i : (void *)&n->f,
                                    .bytes = whole ? sizeof n->i : sizeof n->f,
                                    .dtype = whole ? NUC_I64 : NUC_F32};
    return &n->tensor;
}

/* self, number, out */
static enum nuc_status with_number(struct nuc_kernel_context *cx, const struct nuc_binary *op,
                                   struct nuc_value *const *args)
{
    struct number n;
    const struct nuc_tensor *self = nuc_arg_tensor(args, 0);

    return binary(cx, op, self, number(args[1], self, &n), NULL, nuc_arg_tensor(args, 2));
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
    struct number n;
    const struct nuc_tensor *exponent = nuc_arg_tensor(args, 1);

    return binary(cx, &nuc_binary_pow, number(args[0], exponent, &n), exponent, NULL, nuc_arg_tensor(args, 2));
}

/* ---- functions of one value ---- */

/* Whether `self` and `out` are float32 of one layout, so that elements are taken in the order of memory. */
static bool is_elementwise(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out)
{
    return nuc_need(cx, nuc_is_f32(in) && nuc_is_f32(out), NUC_TEXT("argument 'self' or 'out' is not float32")) &&
           nuc_need(cx, nuc_tensor_same_layout(in, out),
                    NUC_TEXT("argument 'out' differs from 'self' in sizes or dim order"));
}

static enum nuc_status map_f32(struct nuc_kernel_context *cx, nuc_map_fn fn, const struct nuc_tensor *in,
                               const struct nuc_tensor *out)
{
    if (!is_elementwise(cx, in, out))
        return NUC_UNSUPPORTED;
    nuc_kernel_map_f32(fn, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

static enum nuc_status map(struct nuc_kernel_context *cx, const struct nuc_map *op, const struct nuc_tensor *in,
                           const struct nuc_tensor *out)
{
    struct nuc_loops loops;

    if (op->f32 != NULL && nuc_is_f32(in) && nuc_is_f32(out))
        return map_f32(cx, op->f32, in, out);
    if (!nuc_need(cx, nuc_is_convertible(in) && nuc_is_convertible(out),
                  NUC_TEXT("argument 'self' or 'out' is of a type that is not computed")) ||
        !nuc_need(cx, op->f32 != NULL || !is_real(in), NUC_TEXT("argument 'self' is not an integer")) ||
        !nuc_need(cx, nuc_tensor_same_sizes(in, out) && nuc_broadcast_loops(in, NULL, out, &loops),
                  NUC_TEXT("argument 'out' differs from 'self' in sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_map(op, &loops, elements(in), elements(out));
    return NUC_OK;
}

/* As for operators of two values. */
#define MAP_OPERATOR(X, name)                                                                                          \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        return map(cx, &nuc_map_##name, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 1));                             \
    }
NUC_MAPS(MAP_OPERATOR, )
#undef MAP_OPERATOR

/* The other truth, or the other bits. */
enum nuc_status nuc_op_bitwise_not(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_tensor *in = nuc_arg_tensor(args, 0);

    return map(cx, in->dtype == NUC_BOOL ? &nuc_map_logical_not : &nuc_map_bitwise_not, in, nuc_arg_tensor(args, 1));
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

enum nuc_status nuc_op_elu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 4);
    struct nuc_elu elu = {(float)nuc_value_scalar(args[1]), (float)nuc_value_scalar(args[2]),
                          (float)nuc_value_scalar(args[3])};

    if (!is_elementwise(cx, in, out))
        return NUC_UNSUPPORTED;
    nuc_kernel_elu_f32(&elu, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

/* Integers are converted first. */
enum nuc_status nuc_op_logit(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    float low = args[1]->kind == NUC_VALUE_NONE ? -1.0f : (float)nuc_value_scalar(args[1]);

    if (!nuc_need(cx, nuc_is_f32(out), NUC_TEXT("argument 'out' is not float32")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, in, out);
    if (status == NUC_OK)
        nuc_kernel_logit_f32(low, out->data, out->data, nuc_tensor_elements(out));
    return status;
}

static enum nuc_status clamp_f32(struct nuc_kernel_context *cx, float low, float high, const struct nuc_tensor *in,
                                 const struct nuc_tensor *out)
{
    if (!is_elementwise(cx, in, out))
        return NUC_UNSUPPORTED;
    nuc_kernel_clamp_f32(low, high, in->data, out->data, nuc_tensor_elements(out));
    return NUC_OK;
}

/* A bound that is None does not bind. */
static enum nuc_status clamp(struct nuc_kernel_context *cx, const struct nuc_value *min, const struct nuc_value *max,
                             const struct nuc_tensor *in, struct nuc_tensor *out)
{
    bool has_min = min->kind != NUC_VALUE_NONE, has_max = max->kind != NUC_VALUE_NONE;
    struct number low, high;
    enum nuc_status status = NUC_OK;

    if (nuc_is_f32(in) && nuc_is_f32(out))
        return clamp_f32(cx, has_min ? (float)nuc_value_scalar(min) : -__builtin_inff(),
                         has_max ? (float)nuc_value_scalar(max) : __builtin_inff(), in, out);
    if (has_min)
        status = binary(cx, &nuc_binary_maximum, in, number(min, in, &low), NULL, out);
    if (has_max && status == NUC_OK)
        status = binary(cx, &nuc_binary_minimum, has_min ? out : in, number(max, in, &high), NULL, out);
    return has_min || has_max ? status : nuc_copy_tensor(cx, in, out);
}

enum nuc_status nuc_op_hardtanh(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return clamp(cx, args[1], args[2], nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 3));
}

enum nuc_status nuc_op_clamp(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return clamp(cx, args[1], args[2], nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 3));
}

enum nuc_status nuc_op_gelu(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    bool by_tanh = text_is(args[1], "tanh");

    if (!nuc_need(cx, by_tanh || text_is(args[1], "none"),
                  NUC_TEXT("argument 'approximate' is neither 'none' nor 'tanh'")))
        return NUC_UNSUPPORTED;
    return map_f32(cx, by_tanh ? nuc_gelu_tanh_f32 : nuc_gelu_f32, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 2));
}

/* ---- choice ---- */

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
        !nuc_need(cx, self->dtype == out->dtype || (nuc_is_convertible(self) && nuc_is_convertible(out)),
                  NUC_TEXT("arguments 'self' and 'out' are of types that are not converted")) ||
        !nuc_need(cx, nuc_broadcast_loops(self, condition, out, &loops),
                  NUC_TEXT("arguments 'condition' and 'self' do not broadcast to 'out'")))
        return NUC_UNSUPPORTED;
    enum nuc_status status = nuc_copy_tensor(cx, other, out);
    if (status == NUC_OK && out->bytes > 0)
        nuc_kernel_convert_where(&loops, elements(self), condition->data, elements(out));
    return status;
}
