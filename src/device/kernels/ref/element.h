/* One element of an integer or bool type. */
#ifndef NUC_DEVICE_KERNELS_REF_ELEMENT_H
#define NUC_DEVICE_KERNELS_REF_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "nucleon/types.h"

/* Element `i` from `in` on. */
static inline int64_t nuc_load_whole(enum nuc_dtype dtype, const void *in, ptrdiff_t i)
{
    if (dtype == NUC_I64)
        return ((const int64_t *)in)[i];
    if (dtype == NUC_I32)
        return ((const int32_t *)in)[i];
    if (dtype == NUC_I16)
        return ((const int16_t *)in)[i];
    if (dtype == NUC_U16)
        return ((const uint16_t *)in)[i];
    if (dtype == NUC_I8)
        return ((const int8_t *)in)[i];
    return ((const uint8_t *)in)[i];
}

/* Stores what fits the type, the low bits of anything else; a bool is whether it is not 0. */
static inline void nuc_store_whole(enum nuc_dtype dtype, void *out, ptrdiff_t i, int64_t value)
{
    if (dtype == NUC_I64)
        ((int64_t *)out)[i] = value;
    else if (dtype == NUC_I32)
        ((int32_t *)out)[i] = (int32_t)value;
    else if (dtype == NUC_I16 || dtype == NUC_U16)
        ((uint16_t *)out)[i] = (uint16_t)value;
    else if (dtype == NUC_BOOL)
        ((uint8_t *)out)[i] = value != 0;
    else
        ((uint8_t *)out)[i] = (uint8_t)value;
}

#endif
