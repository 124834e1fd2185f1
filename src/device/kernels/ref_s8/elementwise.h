/* Functions of two elements in a nest of loops, of int8 and of int16. */
#ifndef NUC_DEVICE_KERNELS_REF_S8_ELEMENTWISE_H
#define NUC_DEVICE_KERNELS_REF_S8_ELEMENTWISE_H

#include "device/kernels/ref/element.h"
#include "device/kernels/ref_s8/quantized.h"

typedef int32_t nuc_value_fn(const void *params, int32_t a, int32_t b);

/* Inlined, and the function with it, where the types are known. */
static inline __attribute__((always_inline)) void nuc_each(nuc_value_fn *value, const void *params,
                                                           const struct nuc_loops *loops, enum nuc_dtype type_a,
                                                           const void *a, enum nuc_dtype type_b, const void *b,
                                                           enum nuc_dtype type_out, void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);

    do {
        ptrdiff_t at_a = walk.a, at_b = walk.b, at = walk.out;
        for (int32_t n = nuc_row_length(loops); n > 0; n--, at_a += steps.a, at_b += steps.b, at += steps.out)
            nuc_store_whole(
                type_out, out, at,
                value(params, (int32_t)nuc_load_whole(type_a, a, at_a), (int32_t)nuc_load_whole(type_b, b, at_b)));
    } while (nuc_walk_next_row(loops, &walk));
}

static inline int32_t nuc_larger_of(const void *params, int32_t a, int32_t b)
{
    (void)params;
    return a > b ? a : b;
}

static inline int32_t nuc_smaller_of(const void *params, int32_t a, int32_t b)
{
    (void)params;
    return a < b ? a : b;
}

#endif
