/* The loop nest of nuc_ref_copy() around what moves a row. */
#ifndef NUC_DEVICE_KERNELS_REF_COPY_NEST_H
#define NUC_DEVICE_KERNELS_REF_COPY_NEST_H

#include "device/kernels/ref/ref.h"

/* Steps in elements. */
typedef void nuc_copy_row_fn(size_t element_size, const uint8_t *in, ptrdiff_t in_step, uint8_t *out,
                             ptrdiff_t out_step, int32_t count);

/*
 * Whether all elements of `in` lie in front of those of `out` or behind them, so that they move in any order. A row
 * that moves by less than its length, which is one call of memmove(), does not have them so.
 */
static inline bool nuc_is_apart(const struct nuc_loops *loops, size_t element_size, const void *in, const void *out)
{
    uintptr_t in_low = (uintptr_t)in, in_high = in_low, out_low = (uintptr_t)out, out_high = out_low;

    for (uint32_t d = 0; d < loops->rank; d++) {
        uintptr_t steps = (uintptr_t)(loops->sizes[d] - 1) * element_size;
        if (loops->a[d] < 0 || loops->out[d] < 0)
            return false;
        in_high += steps * (uintptr_t)loops->a[d];
        out_high += steps * (uintptr_t)loops->out[d];
    }
    return in_high + element_size <= out_low || out_high + element_size <= in_low;
}

/* Inlined, and the row with it: few instructions go by for each. The walk takes all rows of a dimension at once. */
static inline __attribute__((always_inline)) void nuc_copy_rows(const struct nuc_loops *loops, size_t element_size,
                                                                const uint8_t *in, uint8_t *out, nuc_copy_row_fn *row)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank == 0 ? 0 : loops->rank - 1, above = last == 0 ? 0 : last - 1;
    const ptrdiff_t in_step = loops->rank == 0 ? 1 : loops->a[last], in_row = loops->a[above];
    const ptrdiff_t out_step = loops->rank == 0 ? 1 : loops->out[last], out_row = loops->out[above];
    const ptrdiff_t size = (ptrdiff_t)element_size;
    const int32_t count = nuc_row_length(loops), rows = last == 0 ? 1 : loops->sizes[above];

    do {
        const uint8_t *from = in + walk.a * size;
        uint8_t *to = out + walk.out * size;
        for (int32_t r = rows; r > 0; r--, from += in_row * size, to += out_row * size)
            row(element_size, from, in_step, to, out_step, count);
        walk.position[above] = rows - 1;
        walk.a += in_row * (rows - 1);
        walk.out += out_row * (rows - 1);
    } while (nuc_walk_next_row(loops, &walk));
}

/* Dimension `inner` and the last one change places. */
static inline __attribute__((always_inline)) void nuc_copy_turned(const struct nuc_loops *loops, uint32_t inner,
                                                                  size_t element_size, const void *in, void *out,
                                                                  nuc_copy_row_fn *row)
{
    struct nuc_loops turned = *loops;
    uint32_t last = loops->rank - 1;

    turned.sizes[last] = loops->sizes[inner];
    turned.sizes[inner] = loops->sizes[last];
    turned.a[last] = loops->a[inner];
    turned.a[inner] = loops->a[last];
    turned.out[last] = loops->out[inner];
    turned.out[inner] = loops->out[last];
    nuc_copy_rows(&turned, element_size, in, out, row);
}

#endif
