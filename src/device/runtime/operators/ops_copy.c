#include "device/runtime/op_args.h"

/* in and out of one element type that a copy can move. */
static bool same_type(struct nuc_kernel_context *cx, const struct nuc_tensor *in, const struct nuc_tensor *out)
{
    return nuc_need(cx, in->dtype == out->dtype, NUC_TEXT("argument 'out' differs from 'self' in element type"));
}

static size_t element_size(const struct nuc_tensor *t)
{
    return nuc_dtype_size((enum nuc_dtype)t->dtype);
}

/* Element by element in logical order, `in` broadcast to `out`. */
static enum nuc_status copy_broadcast(struct nuc_kernel_context *cx, const struct nuc_tensor *in,
                                      struct nuc_tensor *out)
{
    struct nuc_loops loops;

    if (!same_type(cx, in, out) ||
        !nuc_need(cx, nuc_broadcast_loops(in, NULL, out, &loops), NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_copy(&loops, element_size(in), in->data, out->data);
    return NUC_OK;
}

bool nuc_is_convertible(const struct nuc_tensor *t)
{
    return t->dtype != NUC_F16 && t->dtype != NUC_BF16;
}

enum nuc_status nuc_copy_tensor(struct nuc_kernel_context *cx, const struct nuc_tensor *in, struct nuc_tensor *out)
{
    struct nuc_loops loops;

    if (in->dtype == out->dtype)
        return copy_broadcast(cx, in, out);
    if (!nuc_need(cx, nuc_is_convertible(in) && nuc_is_convertible(out),
                  NUC_TEXT("no conversion from the element type of 'self' to that of 'out'")) ||
        !nuc_need(cx, nuc_broadcast_loops(in, NULL, out, &loops), NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_convert(&loops, (enum nuc_dtype)in->dtype, (enum nuc_dtype)out->dtype, in->data, out->data);
    return NUC_OK;
}

static enum nuc_status copy_same_sizes(struct nuc_kernel_context *cx, const struct nuc_tensor *in,
                                       struct nuc_tensor *out)
{
    if (!nuc_need(cx, nuc_tensor_same_sizes(in, out), NUC_TEXT("argument 'out' differs from 'self' in sizes")))
        return NUC_UNSUPPORTED;
    return copy_broadcast(cx, in, out);
}

/* The out tensor's dim order says the same as the argument, which is None for the input's own. */
static bool dim_order_fits(const struct nuc_kernel_context *cx, const struct nuc_value *dim_order,
                           const struct nuc_tensor *in, const struct nuc_tensor *out)
{
    if (dim_order->kind == NUC_VALUE_NONE)
        return nuc_tensor_same_layout(in, out);
    if (dim_order->u.list.count != out->rank)
        return false;
    for (uint32_t i = 0; i < out->rank; i++) {
        if (nuc_list_int(cx, dim_order, i) != out->dim_order[i])
            return false;
    }
    return true;
}

enum nuc_status nuc_op_to_dim_order_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);

    if (!nuc_need(cx, dim_order_fits(cx, args[2], in, out),
                  NUC_TEXT("argument 'dim_order' contradicts the dim order of 'out'")))
        return NUC_UNSUPPORTED;
    if (!nuc_need(cx, nuc_tensor_same_sizes(in, out), NUC_TEXT("argument 'out' differs from 'self' in sizes")))
        return NUC_UNSUPPORTED;
    return nuc_copy_tensor(cx, in, out);
}

enum nuc_status nuc_op_clone_dim_order(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    if (!same_type(cx, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 3)))
        return NUC_UNSUPPORTED;
    return nuc_op_to_dim_order_copy(cx, args);
}

/* out takes the sizes of 'self' and the elements of 'src'. */
enum nuc_status nuc_op_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *self = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);

    if (!same_type(cx, self, out) ||
        !nuc_need(cx, nuc_tensor_same_sizes(self, out), NUC_TEXT("argument 'out' differs from 'self' in sizes")))
        return NUC_UNSUPPORTED;
    return nuc_copy_tensor(cx, nuc_arg_tensor(args, 1), out);
}

/* The elements of out are left as they are. */
enum nuc_status nuc_op_empty_dim_order(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    bool fits = args[0]->u.list.count == out->rank;

    for (uint32_t d = 0; d < out->rank && fits; d++)
        fits = nuc_list_int(cx, args[0], d) == out->sizes[d];
    if (!nuc_need(cx, fits, NUC_TEXT("argument 'out' differs from 'size'")))
        return NUC_UNSUPPORTED;
    fits = args[1]->kind == NUC_VALUE_NONE ? nuc_tensor_is_contiguous(out) : dim_order_fits(cx, args[1], out, out);
    return nuc_need(cx, fits, NUC_TEXT("argument 'dim_order' contradicts the dim order of 'out'")) ? NUC_OK
                                                                                                   : NUC_UNSUPPORTED;
}

/* Loops over the dimensions that are not 1, which agree in size from first to last. */
static bool squeezed_loops(const struct nuc_tensor *in, const struct nuc_tensor *out, struct nuc_loops *loops)
{
    ptrdiff_t in_strides[NUC_MAX_RANK];
    ptrdiff_t out_strides[NUC_MAX_RANK];
    uint32_t i = 0;

    nuc_tensor_strides(in, in_strides);
    nuc_tensor_strides(out, out_strides);
    loops->rank = 0;
    for (uint32_t o = 0; o < out->rank; o++) {
        if (out->sizes[o] == 1)
            continue;
        while (i < in->rank && in->sizes[i] == 1)
            i++;
        if (i == in->rank || in->sizes[i] != out->sizes[o])
            return false;
        uint32_t d = loops->rank++;
        loops->sizes[d] = out->sizes[o];
        loops->a[d] = in_strides[i++];
        loops->b[d] = 0;
        loops->out[d] = out_strides[o];
    }
    return in->bytes == out->bytes;
}

/* The sizes of out say all there is to know about the dimensions of size 1. */
static enum nuc_status squeeze(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    struct nuc_loops loops;

    if (!same_type(cx, in, out) ||
        !nuc_need(cx, squeezed_loops(in, out, &loops),
                  NUC_TEXT("argument 'out' differs from 'self' by more than dimensions of size 1")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_copy(&loops, element_size(in), in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_squeeze_copy_dim(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return squeeze(cx, args);
}

enum nuc_status nuc_op_squeeze_copy_dims(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return squeeze(cx, args);
}

enum nuc_status nuc_op_unsqueeze_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return squeeze(cx, args);
}

enum nuc_status nuc_op_clone(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return copy_same_sizes(cx, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 2));
}

enum nuc_status nuc_op_alias_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return copy_same_sizes(cx, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 1));
}

enum nuc_status nuc_op_expand_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    return copy_broadcast(cx, nuc_arg_tensor(args, 0), nuc_arg_tensor(args, 3));
}

/* Elements keep their logical order; a view of another dim order would move them, which portable kernels refuse. */
enum nuc_status nuc_op_view_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    struct nuc_loops row = {.rank = 1, .a = {1}, .out = {1}};

    if (!same_type(cx, in, out) ||
        !nuc_need(cx, in->bytes == out->bytes && nuc_tensor_elements(in) <= INT32_MAX,
                  NUC_TEXT("argument 'out' has another number of elements than 'self'")) ||
        !nuc_need(cx, nuc_tensor_is_contiguous(in) && nuc_tensor_is_contiguous(out),
                  NUC_TEXT("argument 'self' or 'out' is not contiguous")))
        return NUC_UNSUPPORTED;
    row.sizes[0] = (int32_t)nuc_tensor_elements(in);
    nuc_kernel_copy(&row, element_size(in), in->data, out->data);
    return NUC_OK;
}

/* Loops over out; out dimension d walks in dimension dims[d]. */
static bool permuted(const struct nuc_kernel_context *cx, const struct nuc_value *dims, const struct nuc_tensor *in,
                     const struct nuc_tensor *out, struct nuc_loops *loops)
{
    ptrdiff_t strides[NUC_MAX_RANK];
    uint32_t seen = 0;

    if (dims->u.list.count != in->rank || out->rank != in->rank)
        return false;
    loops->rank = out->rank;
    nuc_tensor_strides(in, strides);
    nuc_tensor_strides(out, loops->out);
    for (uint32_t d = 0; d < out->rank; d++) {
        uint32_t from;
        if (!nuc_tensor_dim(in, nuc_list_int(cx, dims, d), &from) || (seen >> from & 1) != 0 ||
            in->sizes[from] != out->sizes[d])
            return false;
        seen |= 1U << from;
        loops->sizes[d] = out->sizes[d];
        loops->a[d] = strides[from];
        loops->b[d] = 0;
    }
    return true;
}

enum nuc_status nuc_op_permute_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 2);
    struct nuc_loops loops;

    if (!same_type(cx, in, out) ||
        !nuc_need(cx, permuted(cx, args[1], in, out, &loops),
                  NUC_TEXT("argument 'dims' is not a permutation that leads to the sizes of 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_copy(&loops, element_size(in), in->data, out->data);
    return NUC_OK;
}

/* Pads come in pairs from the last dimension on; negative ones, which a program of another compiler may have, cut.
 * Fills before[] and checks the sizes. */
static bool pads_fit(const struct nuc_kernel_context *cx, const struct nuc_value *pad, const struct nuc_tensor *in,
                     const struct nuc_tensor *out, int64_t before[NUC_MAX_RANK])
{
    uint32_t pairs = pad->u.list.count / 2;

    if (in->dtype != out->dtype || in->rank != out->rank || pad->u.list.count % 2 != 0 || pairs > in->rank)
        return false;
    for (uint32_t d = 0; d < in->rank; d++) {
        uint32_t pair = in->rank - 1 - d;
        int64_t low = pair < pairs ? nuc_list_int(cx, pad, 2 * pair) : 0;
        int64_t high = pair < pairs ? nuc_list_int(cx, pad, 2 * pair + 1) : 0;
        if (low < -INT32_MAX || low > INT32_MAX || high < -INT32_MAX || high > INT32_MAX ||
            in->sizes[d] + low + high != out->sizes[d])
            return false;
        before[d] = low;
    }
    return true;
}

/* The value as an element of that type; false when it is outside of it. Integers come as such and keep all digits. */
static bool pad_value(const struct nuc_tensor *out, const struct nuc_value *value, uint64_t *bits)
{
    double real = nuc_value_scalar(value);
    unsigned width = 8 * (unsigned)element_size(out);
    bool is_unsigned = out->dtype == NUC_U8 || out->dtype == NUC_U16 || out->dtype == NUC_BOOL;
    float f = (float)real;

    *bits = 0;
    if (out->dtype == NUC_F32) {
        __builtin_memcpy(bits, &f, sizeof f);
        return true;
    }
    if (out->dtype == NUC_F64) {
        __builtin_memcpy(bits, &real, sizeof real);
        return true;
    }
    if (out->dtype == NUC_BOOL) {
        *bits = !(real >= 0 && real <= 0);
        return true;
    }
    if (!(real >= -0x1p63 && real < 0x1p63) || out->dtype == NUC_F16 || out->dtype == NUC_BF16)
        return false;
    int64_t whole = value->kind == NUC_VALUE_INT ? value->u.i : (int64_t)real;
    int64_t high = INT64_MAX >> (64 - width - (is_unsigned && width < 64 ? 1 : 0));
    if (whole < (is_unsigned ? 0 : -high - 1) || whole > high)
        return false;
    __builtin_memcpy(bits, &whole, element_size(out));
    return true;
}

/* Elements of dimension `d` that stay, from which one of the input on to which one of the result. */
struct kept {
    int32_t count;
    int64_t from, to;
};

static struct kept kept_along(const struct nuc_tensor *in, const struct nuc_tensor *out, uint32_t d, int64_t before)
{
    struct kept k = {0, before < 0 ? -before : 0, before > 0 ? before : 0};
    int64_t left = in->sizes[d] - k.from, room = out->sizes[d] - k.to;
    int64_t count = left < room ? left : room;

    k.count = count > 0 ? (int32_t)count : 0;
    return k;
}

enum nuc_status nuc_op_constant_pad_nd(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_tensor *in = nuc_arg_tensor(args, 0);
    struct nuc_tensor *out = nuc_arg_tensor(args, 3);
    struct nuc_loops loops = {.rank = in->rank};
    int64_t before[NUC_MAX_RANK];
    ptrdiff_t from = 0, to = 0;
    uint64_t bits;
    bool any = true;

    if (!nuc_need(cx, pads_fit(cx, args[1], in, out, before),
                  NUC_TEXT("argument 'pad' does not lead from 'self' to 'out'")) ||
        !nuc_need(cx, pad_value(out, args[2], &bits), NUC_TEXT("argument 'value' is outside the element type")))
        return NUC_UNSUPPORTED;
    nuc_kernel_fill(element_size(out), &bits, out->data, nuc_tensor_elements(out));
    nuc_tensor_strides(in, loops.a);
    nuc_tensor_strides(out, loops.out);
    for (uint32_t d = 0; d < in->rank; d++) {
        struct kept k = kept_along(in, out, d, before[d]);
        loops.sizes[d] = k.count;
        any = any && k.count > 0;
        from += (ptrdiff_t)k.from * loops.a[d];
        to += (ptrdiff_t)k.to * loops.out[d];
    }
    ptrdiff_t size = (ptrdiff_t)element_size(in);
    if (any && in->bytes > 0 && out->bytes > 0)
        nuc_kernel_copy(&loops, element_size(in), (const uint8_t *)in->data + from * size,
                        (uint8_t *)out->data + to * size);
    return NUC_OK;
}
