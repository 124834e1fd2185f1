#include "device/runtime/operators/op_shapes.h"

#include <string.h>

bool nuc_need(struct nuc_kernel_context *cx, bool condition, const char *message)
{
    if (!condition)
        cx->detail->message = message;
    return condition;
}

enum nuc_status nuc_in_range(struct nuc_kernel_context *cx, bool are)
{
    return nuc_need(cx, are, NUC_TEXT("an index lies outside its dimension")) ? NUC_OK : NUC_BAD_INPUT;
}

size_t nuc_tensor_elements(const struct nuc_tensor *t)
{
    return t->bytes / nuc_dtype_size((enum nuc_dtype)t->dtype);
}

void nuc_tensor_strides(const struct nuc_tensor *t, ptrdiff_t strides[NUC_MAX_RANK])
{
    ptrdiff_t stride = 1;

    for (uint32_t i = t->rank; i-- > 0;) {
        uint32_t dim = t->dim_order[i];
        strides[dim] = stride;
        stride *= t->sizes[dim] > 0 ? t->sizes[dim] : 1; /* strides are never 0: callers divide by them */
    }
}

bool nuc_tensor_same_sizes(const struct nuc_tensor *a, const struct nuc_tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->sizes[d] != b->sizes[d])
            return false;
    }
    return true;
}

bool nuc_tensor_same_layout(const struct nuc_tensor *a, const struct nuc_tensor *b)
{
    ptrdiff_t strides_a[NUC_MAX_RANK];
    ptrdiff_t strides_b[NUC_MAX_RANK];

    if (!nuc_tensor_same_sizes(a, b))
        return false;
    if (a->rank == 0 || memcmp(a->dim_order, b->dim_order, a->rank) == 0) /* a scalar has no order to point at */
        return true;
    nuc_tensor_strides(a, strides_a);
    nuc_tensor_strides(b, strides_b);
    for (uint32_t d = 0; d < a->rank; d++) {
        if (a->sizes[d] > 1 && strides_a[d] != strides_b[d])
            return false;
    }
    return true;
}

bool nuc_tensor_is_contiguous(const struct nuc_tensor *t)
{
    static const uint8_t order[NUC_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct nuc_tensor contiguous = *t;

    contiguous.dim_order = order;
    return nuc_tensor_same_layout(t, &contiguous);
}

bool nuc_tensor_is_channels_last(const struct nuc_tensor *t)
{
    static const uint8_t order[4] = {0, 2, 3, 1};
    struct nuc_tensor image = *t;

    image.dim_order = order;
    return t->rank == 4 && nuc_tensor_same_layout(t, &image);
}

bool nuc_tensor_dim(const struct nuc_tensor *t, int64_t value, uint32_t *dim)
{
    int64_t rank = t->rank > 0 ? t->rank : 1;

    if (value < -rank || value >= rank)
        return false;
    *dim = (uint32_t)(value < 0 ? value + rank : value);
    return true;
}

struct nuc_axis_sizes nuc_tensor_axis(const struct nuc_tensor *t, uint32_t dim)
{
    ptrdiff_t strides[NUC_MAX_RANK];
    struct nuc_axis_sizes axis;

    nuc_tensor_strides(t, strides);
    axis.size = (size_t)t->sizes[dim];
    axis.inner = (size_t)strides[dim];
    axis.outer = nuc_tensor_elements(t) / (axis.size * axis.inner);
    return axis;
}

bool nuc_list_pair(const struct nuc_kernel_context *cx, const struct nuc_value *list, const int32_t *fallback,
                   int32_t pair[2])
{
    uint32_t count = list->u.list.count;

    if (count > 2 || (count == 0 && fallback == NULL))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        pair[i] = count == 0 ? fallback[i] : (int32_t)nuc_list_int(cx, list, count == 1 ? 0 : i);
    return true;
}

bool nuc_text_is(const struct nuc_value *value, const char *text)
{
    uint32_t i = 0;

    while (i < value->u.list.count && text[i] != '\0' && value->u.list.items[i] == (uint8_t)text[i])
        i++;
    return i == value->u.list.count && text[i] == '\0';
}

/* Dimensions are aligned from the last one on, as torch does; a missing or repeated one has the stride 0. */
static bool broadcast_strides(const struct nuc_tensor *t, const struct nuc_tensor *out, ptrdiff_t result[NUC_MAX_RANK])
{
    ptrdiff_t strides[NUC_MAX_RANK];

    if (t->rank > out->rank)
        return false;
    nuc_tensor_strides(t, strides);
    for (uint32_t d = 0; d < out->rank; d++) {
        uint32_t missing = (uint32_t)(out->rank - t->rank);
        int32_t size = d < missing ? 1 : t->sizes[d - missing];
        if (size != 1 && size != out->sizes[d])
            return false;
        result[d] = size == 1 ? 0 : strides[d - missing];
    }
    return true;
}

bool nuc_broadcast_loops(const struct nuc_tensor *a, const struct nuc_tensor *b, const struct nuc_tensor *out,
                         struct nuc_loops *loops)
{
    if (nuc_tensor_same_layout(a, out) && (b == NULL || nuc_tensor_same_layout(b, out)) &&
        nuc_tensor_elements(out) <= INT32_MAX) { /* tensors of one layout are one row */
        loops->rank = 1;
        loops->sizes[0] = (int32_t)nuc_tensor_elements(out);
        loops->a[0] = loops->b[0] = loops->out[0] = 1;
        return true;
    }
    loops->rank = out->rank;
    nuc_tensor_strides(out, loops->out);
    for (uint32_t d = 0; d < out->rank; d++)
        loops->sizes[d] = out->sizes[d];
    return broadcast_strides(a, out, loops->a) && broadcast_strides(b != NULL ? b : a, out, loops->b);
}

bool nuc_permuted_loops(const struct nuc_kernel_context *cx, const struct nuc_value *dims, const struct nuc_tensor *in,
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
