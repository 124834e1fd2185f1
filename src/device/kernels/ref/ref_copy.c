#include <string.h>

#include "device/kernels/ref/ref.h"

/* Rows whose elements lie side by side on both sides move in one piece. */
static void copy_row(size_t size, const uint8_t *in, ptrdiff_t in_step, uint8_t *out, ptrdiff_t out_step, int32_t count)
{
    ptrdiff_t bytes = (ptrdiff_t)size;

    if (in_step == 1 && out_step == 1) {
        memmove(out, in, size * (size_t)count);
        return;
    }
    for (int32_t i = 0; i < count; i++)
        memmove(out + i * out_step * bytes, in + i * in_step * bytes, size);
}

void nuc_kernel_copy(const struct nuc_loops *loops, size_t element_size, const void *in, void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank == 0 ? 0 : loops->rank - 1;
    ptrdiff_t in_step = loops->rank == 0 ? 1 : loops->a[last];
    ptrdiff_t out_step = loops->rank == 0 ? 1 : loops->out[last];
    ptrdiff_t size = (ptrdiff_t)element_size;

    do {
        copy_row(element_size, (const uint8_t *)in + walk.a * size, in_step, (uint8_t *)out + walk.out * size, out_step,
                 nuc_row_length(loops));
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_kernel_fill(size_t element_size, const void *value, void *out, size_t count)
{
    if (element_size == 1) {
        memset(out, *(const uint8_t *)value, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy((uint8_t *)out + i * element_size, value, element_size);
}
