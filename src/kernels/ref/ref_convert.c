/* Element types: conversion, and operators over integers. */
#include <math.h>
#include <string.h>

#include "kernels/ref/ref.h"

/* One element: i when it is an integer or bool, f otherwise. */
struct number {
    bool is_real;
    int64_t i;
    double f;
};

static struct number load(enum nuc_dtype dtype, const void *at)
{
    struct number n = {dtype == NUC_F32 || dtype == NUC_F64, 0, 0.0};

    if (dtype == NUC_F32)
        n.f = (double)*(const float *)at;
    else if (dtype == NUC_F64)
        n.f = *(const double *)at;
    else if (dtype == NUC_I64)
        n.i = *(const int64_t *)at;
    else if (dtype == NUC_I32)
        n.i = *(const int32_t *)at;
    else if (dtype == NUC_I16)
        n.i = *(const int16_t *)at;
    else if (dtype == NUC_U16)
        n.i = *(const uint16_t *)at;
    else if (dtype == NUC_I8)
        n.i = *(const int8_t *)at;
    else
        n.i = *(const uint8_t *)at;
    return n;
}

static int64_t integer(const struct number *n)
{
    if (!n->is_real)
        return n->i;
    if (n->f >= 9223372036854775808.0)
        return INT64_MAX;
    if (n->f < -9223372036854775808.0)
        return INT64_MIN;
    return n->f != n->f ? 0 : (int64_t)n->f;
}

/* Reals saturate at the type, integers wrap as a C conversion does. */
static int64_t narrow(const struct number *n, int64_t low, int64_t high)
{
    int64_t v = integer(n);

    if (n->is_real)
        v = v < low ? low : v > high ? high : v;
    return v;
}

static bool truth(const struct number *n)
{
    return n->is_real ? n->f < 0.0 || n->f > 0.0 || n->f != n->f : n->i != 0;
}

static void store(enum nuc_dtype dtype, const struct number *n, void *at)
{
    if (dtype == NUC_F32)
        *(float *)at = n->is_real ? (float)n->f : (float)n->i;
    else if (dtype == NUC_F64)
        *(double *)at = n->is_real ? n->f : (double)n->i;
    else if (dtype == NUC_I64)
        *(int64_t *)at = integer(n);
    else if (dtype == NUC_I32)
        *(int32_t *)at = (int32_t)narrow(n, INT32_MIN, INT32_MAX);
    else if (dtype == NUC_I16)
        *(int16_t *)at = (int16_t)narrow(n, INT16_MIN, INT16_MAX);
    else if (dtype == NUC_U16)
        *(uint16_t *)at = (uint16_t)narrow(n, 0, UINT16_MAX);
    else if (dtype == NUC_I8)
        *(int8_t *)at = (int8_t)narrow(n, INT8_MIN, INT8_MAX);
    else if (dtype == NUC_BOOL)
        *(bool *)at = truth(n);
    else
        *(uint8_t *)at = (uint8_t)narrow(n, 0, UINT8_MAX);
}

void nuc_ref_convert(const struct nuc_loops *loops, enum nuc_dtype from, enum nuc_dtype to, const void *in, void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    uint32_t last = loops->rank == 0 ? 0 : loops->rank - 1;
    ptrdiff_t step_in = loops->rank == 0 ? 0 : loops->a[last];
    ptrdiff_t step_out = loops->rank == 0 ? 0 : loops->out[last];
    ptrdiff_t size_in = (ptrdiff_t)nuc_dtype_size(from);
    ptrdiff_t size_out = (ptrdiff_t)nuc_dtype_size(to);

    do {
        for (int32_t i = 0; i < nuc_row_length(loops); i++) {
            struct number n = load(from, (const uint8_t *)in + (walk.a + i * step_in) * size_in);
            store(to, &n, (uint8_t *)out + (walk.out + i * step_out) * size_out);
        }
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_ref_arange(enum nuc_dtype dtype, double start, double step, void *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct number n = {true, 0, start + (double)i * step};
        store(dtype, &n, (uint8_t *)out + i * nuc_dtype_size(dtype));
    }
}

void nuc_ref_clamp_int(enum nuc_dtype dtype, int64_t low, int64_t high, const void *in, void *out, size_t count)
{
    size_t size = nuc_dtype_size(dtype);

    for (size_t i = 0; i < count; i++) {
        struct number n = load(dtype, (const uint8_t *)in + i * size);
        n.i = n.i < low ? low : n.i;
        n.i = n.i > high ? high : n.i;
        store(dtype, &n, (uint8_t *)out + i * size);
    }
}

void nuc_ref_abs_i64(const int64_t *in, int64_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = in[i] < 0 ? (int64_t)(0 - (uint64_t)in[i]) : in[i];
}
