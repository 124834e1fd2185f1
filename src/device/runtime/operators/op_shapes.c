#include "device/runtime/op_args.h"

#include <string.h>

bool nuc_need(struct nuc_kernel_context *cx, bool condition, const char *message)
{
    if (!condition)
        cx->detail->message = message;
    return condition;
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
    ptrdiff_t strides[NUC_MAX_RANK];
    ptrdiff_t expected = 1;
    uint32_t in_place = 0;

    while (in_place < t->rank && t->dim_order[in_place] == in_place)
        in_place++;
    if (in_place == t->rank)
        return true;
    nuc_tensor_strides(t, strides);
    for (uint32_t d = t->rank; d-- > 0;) {
        if (t->sizes[d] > 1 && strides[d] != expected)
            return false;
        expected *= t->sizes[d] > 0 ? t->sizes[d] : 1;
    }
    return true;
}

bool nuc_tensor_dim(const struct nuc_tensor *t, int64_t value, uint32_t *dim)
{
    int64_t rank = t->rank > 0 ? t->rank : 1;

    if (value < -rank || value >= rank)
        return false;
    *dim = (uint32_t)(value < 0 ? value + rank : value);
    return true;
}

struct nuc_axis nuc_tensor_axis(const struct nuc_tensor *t, uint32_t dim)
{
    ptrdiff_t strides[NUC_MAX_RANK];
    struct nuc_axis axis;

    nuc_tensor_strides(t, strides);
    axis.size = (size_t)t->sizes[dim];
    axis.inner = (size_t)strides[dim];
    axis.outer = nuc_tensor_elements(t) / (axis.size * axis.inner);
    return axis;
}

bool nuc_value_in(const struct nuc_value *value, int64_t low, int64_t high)
{
    return value->u.i >= low && value->u.i <= high;
}

bool nuc_list_pair(const struct nuc_kernel_context *cx, const struct nuc_value *list, int64_t low, int64_t high,
                   const int32_t *fallback, int32_t pair[2])
{
    uint32_t count = list->u.list.count;

    if (count == 0 && fallback != NULL) {
        pair[0] = fallback[0];
        pair[1] = fallback[1];
        return true;
    }
    if (count != 1 && count != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t v = nuc_list_int(cx, list, count == 1 ? 0 : i);
        if (v < low || v > high)
            return false;
        pair[i] = (int32_t)v;
    }
    return true;
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

/* Tensors of one layout are one row. */
static void one_row(const struct nuc_tensor *out, struct nuc_loops *loops)
{
    loops->rank = 1;
    loops->sizes[0] = (int32_t)nuc_tensor_elements(out);
    loops->a[0] = 1;
    loops->b[0] = 1;
    loops->out[0] = 1;
}

bool nuc_broadcast_loops(const struct nuc_tensor *a, const struct nuc_tensor *b, const struct nuc_tensor *out,
                         struct nuc_loops *loops)
{
    if (nuc_tensor_same_layout(a, out) && (b == NULL || nuc_tensor_same_layout(b, out)) &&
        nuc_tensor_elements(out) <= INT32_MAX) {
        one_row(out, loops);
        return true;
    }
    loops->rank = out->rank;
    nuc_tensor_strides(out, loops->out);
    for (uint32_t d = 0; d < out->rank; d++)
        loops->sizes[d] = out->sizes[d];
    return broadcast_strides(a, out, loops->a) && broadcast_strides(b != NULL ? b : a, out, loops->b);
}
