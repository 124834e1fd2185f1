#include "device/runtime/operators/ops_int8.h"

bool nuc_image_size(const struct nuc_tensor *t, int32_t size[2])
{
    size[0] = t->sizes[2];
    size[1] = t->sizes[3];
    return size[0] <= NUC_LARGEST_SIDE && size[1] <= NUC_LARGEST_SIDE;
}

bool nuc_bounds_fit(struct nuc_kernel_context *cx, int32_t low, int32_t high)
{
    return nuc_need(cx, low <= high, NUC_TEXT("argument 'activation_min' is above 'activation_max'"));
}

bool nuc_zeros(struct nuc_kernel_context *cx, int64_t a, int64_t b, int64_t c)
{
    return nuc_need(cx, a == 0 && b == 0 && c == 0, NUC_TEXT("a zero point is not 0"));
}

void nuc_scratch(const struct nuc_value *value, void **scratch, size_t *bytes)
{
    const struct nuc_tensor *t = &value->u.tensor;
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

void nuc_loops_in_memory_order(struct nuc_loops *loops)
{
    for (uint32_t i = 1; i < loops->rank; i++) {
        for (uint32_t j = i; j > 0 && loops->out[j] > loops->out[j - 1]; j--)
            swap_dims(loops, j, j - 1);
    }
    /*
     * One pass from the outermost dimension on: `last` is the one that is being built. A dimension of size 1 is
     * dropped, one that goes on is merged into it, any other begins the next.
     */
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

bool nuc_int8_loops(struct nuc_kernel_context *cx, const struct nuc_tensor *a, const struct nuc_tensor *b,
                    const struct nuc_tensor *out, struct nuc_loops *loops)
{
    if (!nuc_need(cx, nuc_broadcast_loops(a, b, out, loops), NUC_TEXT("the inputs do not broadcast to 'out'")))
        return false;
    nuc_loops_in_memory_order(loops);
    return true;
}
