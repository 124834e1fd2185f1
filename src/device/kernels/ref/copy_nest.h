/* The loop nest of nuc_ref_copy() around what moves a row. */
#ifndef NUC_DEVICE_KERNELS_REF_COPY_NEST_H
#define NUC_DEVICE_KERNELS_REF_COPY_NEST_H

#include "device/kernels/ref/ref.h"

/* Steps in elements. */
typedef void nuc_copy_row_fn(size_t element_size, const uint8_t *in, ptrdiff_t in_step, uint8_t *out,
                             ptrdiff_t out_step, int32_t count);

/* Bytes of a row that take longer to begin than to move. */
#define NUC_SHORT_ROW 4

/*
 * The two inner dimensions change places where rows are short and there are more of them than elements of one. Not
 * where elements lie in each other's way: a row that moves by less than its length is one call of memmove().
 */
static inline bool nuc_is_worth_turning(const struct nuc_loops *loops, size_t element_size, const void *in,
                                        const void *out)
{
    uintptr_t in_low = (uintptr_t)in, in_high = in_low, out_low = (uintptr_t)out, out_high = out_low;
    uint32_t last = loops->rank - 1;

    if (loops->rank < 2 || (size_t)loops->sizes[last] * element_size > NUC_SHORT_ROW ||
        loops->sizes[last - 1] <= 4 * loops->sizes[last])
        return false;
    for (uint32_t d = 0; d < loops->rank; d++) {
        uintptr_t steps = (uintptr_t)(loops->sizes[d] - 1) * element_size;
        if (loops->a[d] < 0 || loops->out[d] < 0)
            return false;
        in_high += steps * (uintptr_t)loops->a[d];
        out_high += steps * (uintptr_t)loops->out[d];
    }
    return in_high + element_size <= out_low || out_high + element_size <= in_low;
}

/* Inlined, and the row with it: few instructions go by for each. */
static inline __attribute__((always_inline)) void nuc_copy_rows(const struct nuc_loops *loops, size_t element_size,
                                                                const uint8_t *in, uint8_t *out, nuc_copy_row_fn *row)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank == 0 ? 0 : loops->rank - 1;
    ptrdiff_t in_step = loops->rank == 0 ? 1 : loops->a[last];
    ptrdiff_t out_step = loops->rank == 0 ? 1 : loops->out[last];
    ptrdiff_t size = (ptrdiff_t)element_size;

    do
        row(element_size, in + walk.a * size, in_step, out + walk.out * size, out_step, nuc_row_length(loops));
    while (nuc_walk_next_row(loops, &walk));
}

static inline __attribute__((always_inline)) void nuc_copy_nest(const struct nuc_loops *loops, size_t element_size,
                                                                const void *in, void *out, nuc_copy_row_fn *row)
{
    const struct nuc_loops *nest = loops;
    struct nuc_loops turned;
    uint32_t last = loops->rank - 1;

    if (nuc_is_worth_turning(loops, element_size, in, out)) {
        turned = *loops;
        turned.sizes[last] = loops->sizes[last - 1];
        turned.sizes[last - 1] = loops->sizes[last];
        turned.a[last] = loops->a[last - 1];
        turned.a[last - 1] = loops->a[last];
        turned.out[last] = loops->out[last - 1];
        turned.out[last - 1] = loops->out[last];
        nest = &turned;
    }
    nuc_copy_rows(nest, element_size, in, out, row);
}

#endif
