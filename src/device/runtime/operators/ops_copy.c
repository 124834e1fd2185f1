/* Operators that copy elements to other places: dim orders, sizes, dimensions, pads. */
#include "device/runtime/operators/op_shapes.h"

/* Element by element in logical order, `in` broadcast to `out`, which has its element type. */
static enum nuc_status copy_broadcast(struct nuc_kernel_context *cx, const struct nuc_tensor *in,
                                      const struct nuc_tensor *out)
{
    struct nuc_loops loops;

    if (!nuc_need(cx, nuc_broadcast_loops(in, NULL, out, &loops), NUC_TEXT("argument 'out' has the wrong sizes")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_copy(&loops, nuc_element_size(in), in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_copy_tensor(struct nuc_kernel_context *cx, const struct nuc_tensor *in,
                                const struct nuc_tensor *out)
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

/* Each has other arguments between the two. */
#define COPY_OPERATOR(name)                                                                                            \
    enum nuc_status nuc_op_##name(struct nuc_kernel_context *cx, struct nuc_value *const *args)                        \
    {                                                                                                                  \
        const struct nuc_args_##name *a = (const void *)args;                                                          \
                                                                                                                       \
        return copy_broadcast(cx, &a->self->u.tensor, &a->out->u.tensor);                                              \
    }
COPY_OPERATOR(clone)
COPY_OPERATOR(alias_copy)
COPY_OPERATOR(expand_copy)

/* out takes the sizes of 'self' and the elements of 'src'. */
enum nuc_status nuc_op_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_copy *a = (const void *)args;

    return nuc_copy_tensor(cx, &a->src->u.tensor, &a->out->u.tensor);
}

enum nuc_status nuc_op_copy_in_place(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_copy_in_place *a = (const void *)args;

    return nuc_copy_tensor(cx, &a->src->u.tensor, &a->self->u.tensor);
}

/* ---- dim orders ---- */

/* The out tensor's dim order says the same as the argument. */
static bool is_dim_order(const struct nuc_kernel_context *cx, const struct nuc_value *dim_order,
                         const struct nuc_tensor *out)
{
    bool fits = dim_order->u.list.count == out->rank;

    for (uint32_t i = 0; fits && i < out->rank; i++)
        fits = nuc_list_int(cx, dim_order, i) == out->dim_order[i];
    return fits;
}

/* Without a dim order it is the input's own. */
enum nuc_status nuc_op_to_dim_order_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_to_dim_order_copy *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;

    if (!nuc_need(cx,
                  a->dim_order->kind == NUC_VALUE_NONE ? nuc_tensor_same_layout(in, out)
                                                       : is_dim_order(cx, a->dim_order, out),
                  NUC_TEXT("argument 'dim_order' contradicts the dim order of 'out'")))
        return NUC_UNSUPPORTED;
    return nuc_copy_tensor(cx, in, out);
}

/* The elements of out are left as they are. */
enum nuc_status nuc_op_empty_dim_order(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_empty_dim_order *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;
    bool fits = a->size->u.list.count == out->rank;

    for (uint32_t d = 0; d < out->rank && fits; d++)
        fits = nuc_list_int(cx, a->size, d) == out->sizes[d];
    if (!nuc_need(cx, fits, NUC_TEXT("argument 'out' differs from 'size'")) ||
        !nuc_need(cx,
                  a->dim_order->kind == NUC_VALUE_NONE ? nuc_tensor_is_contiguous(out)
                                                       : is_dim_order(cx, a->dim_order, out),
                  NUC_TEXT("argument 'dim_order' contradicts the dim order of 'out'")))
        return NUC_UNSUPPORTED;
    return NUC_OK;
}

/* ---- views ---- */

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
enum nuc_status nuc_op_squeeze_copy_dim(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_squeeze_dim *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops;

    if (!nuc_need(cx, squeezed_loops(in, out, &loops),
                  NUC_TEXT("argument 'out' differs from 'self' by more than dimensions of size 1")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_copy(&loops, nuc_element_size(in), in->data, out->data);
    return NUC_OK;
}

/* Elements keep their logical order; a view of another dim order would move them, which portable kernels refuse. */
enum nuc_status nuc_op_view_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_view_copy *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops row = {.rank = 1, .a = {1}, .out = {1}};

    if (!nuc_need(cx, in->bytes == out->bytes && nuc_tensor_elements(in) <= INT32_MAX,
                  NUC_TEXT("argument 'out' has another number of elements than 'self'")))
        return NUC_UNSUPPORTED;
    row.sizes[0] = (int32_t)nuc_tensor_elements(in);
    nuc_kernel_copy(&row, nuc_element_size(in), in->data, out->data);
    return NUC_OK;
}

enum nuc_status nuc_op_permute_copy(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_permute_copy *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    struct nuc_loops loops;

    if (!nuc_need(cx, nuc_permuted_loops(cx, a->dims, in, out, &loops),
                  NUC_TEXT("argument 'dims' is not a permutation that leads to the sizes of 'out'")))
        return NUC_UNSUPPORTED;
    if (out->bytes > 0)
        nuc_kernel_copy(&loops, nuc_element_size(in), in->data, out->data);
    return NUC_OK;
}

/* ---- aten::constant_pad_nd ---- */

/*
 * Pads come in pairs from the last dimension on; negative ones, which a program of another compiler may have, cut.
 * Fills before[] and checks the sizes.
 */
static bool pads_fit(const struct nuc_kernel_context *cx, const struct nuc_value *pad, const struct nuc_tensor *in,
                     const struct nuc_tensor *out, int64_t before[NUC_MAX_RANK])
{
    uint32_t pairs = pad->u.list.count / 2;

    if (in->rank != out->rank || pad->u.list.count % 2 != 0 || pairs > in->rank)
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
    unsigned width = 8 * (unsigned)nuc_element_size(out);
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
    __builtin_memcpy(bits, &whole, nuc_element_size(out));
    return true;
}

enum nuc_status nuc_op_constant_pad_nd(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const struct nuc_args_constant_pad_nd *a = (const void *)args;
    const struct nuc_tensor *in = &a->self->u.tensor, *out = &a->out->u.tensor;
    ptrdiff_t size = (ptrdiff_t)nuc_element_size(in), from = 0, to = 0;
    struct nuc_loops loops = {.rank = in->rank};
    int64_t before[NUC_MAX_RANK];
    uint64_t bits;
    bool any = in->bytes > 0 && out->bytes > 0;

    if (!nuc_need(cx, pads_fit(cx, a->pad, in, out, before),
                  NUC_TEXT("argument 'pad' does not lead from 'self' to 'out'")) ||
        !nuc_need(cx, pad_value(out, a->value, &bits), NUC_TEXT("argument 'value' is outside the element type")))
        return NUC_UNSUPPORTED;
    nuc_kernel_fill((size_t)size, &bits, out->data, nuc_tensor_elements(out));
    nuc_tensor_strides(in, loops.a);
    nuc_tensor_strides(out, loops.out);
    for (uint32_t d = 0; d < in->rank; d++) {
        /* Of the input's elements from one on as many stay as the result has room for, from another one on. */
        int64_t first = before[d] < 0 ? -before[d] : 0, place = before[d] > 0 ? before[d] : 0;
        int64_t left = in->sizes[d] - first, room = out->sizes[d] - place;
        int64_t count = left < room ? left : room;
        any = any && count > 0;
        loops.sizes[d] = (int32_t)count;
        from += (ptrdiff_t)first * loops.a[d];
        to += (ptrdiff_t)place * loops.out[d];
    }
    if (any)
        nuc_kernel_copy(&loops, (size_t)size, (const uint8_t *)in->data + from * size,
                        (uint8_t *)out->data + to * size);
    return NUC_OK;
}
