#include "device/runtime/operators/ops_int8.h"

#include <string.h>

bool nuc_tensor_is_channels_last(const struct nuc_tensor *t)
{
    static const uint8_t order[4] = {0, 2, 3, 1};
    ptrdiff_t strides[NUC_MAX_RANK];
    ptrdiff_t expected = 1;

    if (t->rank != 4)
        return false;
    if (memcmp(t->dim_order, order, sizeof order) == 0)
        return true;
    nuc_tensor_strides(t, strides);
    for (int i = 4; i-- > 0;) {
        if (t->sizes[order[i]] > 1 && strides[order[i]] != expected)
            return false;
        expected *= t->sizes[order[i]];
    }
    return true;
}

bool nuc_spatial(const struct nuc_kernel_context *cx, const struct nuc_value *list, int64_t low, int32_t pair[2])
{
    return list->u.list.count == 2 && nuc_list_pair(cx, list, low, NUC_LARGEST_SPATIAL, NULL, pair);
}

bool nuc_image_size(const struct nuc_tensor *t, int32_t size[2])
{
    size[0] = t->sizes[2];
    size[1] = t->sizes[3];
    return size[0] <= NUC_LARGEST_SPATIAL && size[1] <= NUC_LARGEST_SPATIAL;
}

bool nuc_is_i32_vector(const struct nuc_tensor *t, int32_t count)
{
    return t == NULL || (t->dtype == NUC_I32 && nuc_tensor_elements(t) == (size_t)count);
}

bool nuc_shifts_fit(const int32_t *shifts, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (shifts[i] < -31 || shifts[i] > 31)
            return false;
    }
    return true;
}

bool nuc_arg_multiplier(struct nuc_value *const *args, int at, struct nuc_multiplier *m)
{
    m->multiplier = (int32_t)args[at]->u.i;
    m->shift = (int32_t)args[at + 1]->u.i;
    return nuc_value_in(args[at], INT32_MIN, INT32_MAX) && nuc_value_in(args[at + 1], -31, 31);
}

bool nuc_arg_bounds(struct nuc_value *const *args, int low_at, int high_at, int32_t *low, int32_t *high)
{
    *low = (int32_t)args[low_at]->u.i;
    *high = (int32_t)args[high_at]->u.i;
    return nuc_is_zero_point(args[low_at]) && nuc_is_zero_point(args[high_at]) && *low <= *high;
}

void nuc_arg_scratch(const struct nuc_tensor *t, void **scratch, size_t *bytes)
{
    bool usable = t->data != NULL && (uintptr_t)t->data % sizeof(int32_t) == 0;

    *scratch = usable ? t->data : NULL;
    *bytes = usable ? t->bytes : 0;
}

static void swap_dims(struct nuc_loops *loops, uint32_t i, uint32_t j)
{
    int32_t size = loops->sizes[i];
    ptrdiff_t strides[3] = {loops->a[i], loops->b[i], loops->out[i]};

    loops->sizes[i] = loops->sizes[j];
    loops->a[i] = loops->a[j];
    loops->b[i] = loops->b[j];
    loops->out[i] = loops->out[j];
    loops->sizes[j] = size;
    loops->a[j] = strides[0];
    loops->b[j] = strides[1];
    loops->out[j] = strides[2];
}

/* Whether the outer dimension goes on in all tensors where the inner one ends. */
static bool goes_on(const struct nuc_loops *l, uint32_t outer, uint32_t inner)
{
    ptrdiff_t size = l->sizes[inner];

    return l->a[outer] == l->a[inner] * size && l->b[outer] == l->b[inner] * size &&
           l->out[outer] == l->out[inner] * size && (int64_t)l->sizes[outer] * size <= INT32_MAX;
}

/*
 * One pass from the outermost dimension on: `last` is the one that is being built. A dimension of size 1 is dropped,
 * one that goes on is merged into it, any other begins the next.
 */
static void merge_dims(struct nuc_loops *loops)
{
    uint32_t last = 0;

    for (uint32_t i = 1; i < loops->rank; i++) {
        if (loops->sizes[last] == 1 || (loops->sizes[i] != 1 && !goes_on(loops, last, i))) {
            if (loops->sizes[last] != 1)
                last++;
            swap_dims(loops, last, i);
        } else if (loops->sizes[i] != 1) {
            int32_t outer = loops->sizes[last];
            swap_dims(loops, last, i);
            loops->sizes[last] *= outer;
        }
    }
    loops->rank = loops->rank > 0 ? last + 1 : 0;
}

void nuc_loops_in_memory_order(struct nuc_loops *loops)
{
    for (uint32_t i = 1; i < loops->rank; i++) {
        for (uint32_t j = i; j > 0 && loops->out[j] > loops->out[j - 1]; j--)
            swap_dims(loops, j, j - 1);
    }
    merge_dims(loops);
}

bool nuc_int8_loops(struct nuc_kernel_context *cx, const struct nuc_tensor *a, const struct nuc_tensor *b,
                    const struct nuc_tensor *out, struct nuc_loops *loops)
{
    if (!nuc_need(cx, nuc_is_s8(a) && nuc_is_s8(b) && nuc_is_s8(out), NUC_TEXT("a tensor is not int8")) ||
        !nuc_need(cx, nuc_broadcast_loops(a, b, out, loops), NUC_TEXT("the inputs do not broadcast to 'out'")))
        return false;
    nuc_loops_in_memory_order(loops);
    return true;
}
