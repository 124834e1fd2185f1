/* Element types: conversion, and operators over any of them. */
#include <string.h>

#include "device/kernels/ref/element.h"
#include "device/kernels/ref/ref.h"

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
    else
        n.i = nuc_load_whole(dtype, at, 0);
    return n;
}

/*
 * Towards zero; what lies outside becomes the nearest value, NaN 0. From the bits, since a CPU without float64 takes 1
 * KB of the compiler's library for such a conversion.
 */
static int64_t integer(const struct number *n)
{
    uint64_t bits;

    if (!n->is_real)
        return n->i;
    memcpy(&bits, &n->f, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7FF) - 1075; /* of the last bit of the significand */
    uint64_t significand = (bits & 0xFFFFFFFFFFFFF) | UINT64_C(1) << 52;
    bool negative = bits >> 63 != 0;
    if (n->f != n->f)
        return 0;
    if (exponent > 10)
        return negative ? INT64_MIN : INT64_MAX;
    int64_t magnitude = (int64_t)(exponent >= 0    ? significand << exponent
                                  : exponent > -64 ? significand >> -exponent
                                                   : 0);
    return negative ? -magnitude : magnitude;
}

/* Reals saturate at the type, integers wrap as a C conversion does. */
static int64_t narrow(const struct number *n, int64_t low, int64_t high)
{
    int64_t v = integer(n);

    if (n->is_real)
        v = v < low ? low : v > high ? high : v;
    return v;
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
        *(bool *)at = n->is_real ? n->f < 0.0 || n->f > 0.0 || n->f != n->f : n->i != 0;
    else
        *(uint8_t *)at = (uint8_t)narrow(n, 0, UINT8_MAX);
}

static void convert(enum nuc_dtype from, enum nuc_dtype to, const void *in, void *out)
{
    struct number n = load(from, in);

    store(to, &n, out);
}

void nuc_kernel_convert(const struct nuc_loops *loops, enum nuc_dtype from, enum nuc_dtype to, const void *in,
                        void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    ptrdiff_t size_in = (ptrdiff_t)nuc_dtype_size(from);
    ptrdiff_t size_out = (ptrdiff_t)nuc_dtype_size(to);

    do {
        for (int32_t i = 0; i < nuc_row_length(loops); i++) {
            convert(from, to, (const uint8_t *)in + (walk.a + i * steps.a) * size_in,
                    (uint8_t *)out + (walk.out + i * steps.out) * size_out);
        }
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_kernel_arange(enum nuc_dtype dtype, double start, double step, void *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct number n = {true, 0, start + (double)i * step};
        store(dtype, &n, (uint8_t *)out + i * nuc_dtype_size(dtype));
    }
}

/* Of one type: int8 and float32 without a call for each element. */
static void copy_element(size_t size, const void *in, void *out)
{
    if (size == 1)
        *(uint8_t *)out = *(const uint8_t *)in;
    else if (size == 4)
        __builtin_memcpy(out, in, 4); /* one load and one store */
    else
        memmove(out, in, size);
}

void nuc_kernel_convert_where(const struct nuc_loops *loops, struct nuc_elements in, const uint8_t *condition,
                              struct nuc_elements out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    ptrdiff_t size_in = (ptrdiff_t)nuc_dtype_size(in.dtype);
    ptrdiff_t size_out = (ptrdiff_t)nuc_dtype_size(out.dtype);

    do {
        for (int32_t i = 0; i < nuc_row_length(loops); i++) {
            const uint8_t *from = (const uint8_t *)in.data + (walk.a + i * steps.a) * size_in;
            uint8_t *to = (uint8_t *)out.data + (walk.out + i * steps.out) * size_out;
            if (condition[walk.b + i * steps.b] == 0)
                continue;
            if (in.dtype == out.dtype)
                copy_element((size_t)size_out, from, to);
            else
                convert(in.dtype, out.dtype, from, to);
        }
    } while (nuc_walk_next_row(loops, &walk));
}

/* ---- operators over any element type ---- */

static bool is_real(enum nuc_dtype dtype)
{
    return dtype == NUC_F32 || dtype == NUC_F64;
}

static float load_f32(enum nuc_dtype dtype, const void *at)
{
    if (dtype == NUC_F32)
        return *(const float *)at;
    struct number n = load(dtype, at);
    return n.is_real ? (float)n.f : (float)n.i;
}

static void store_f32(enum nuc_dtype dtype, float value, void *at)
{
    if (dtype == NUC_F32) {
        *(float *)at = value;
        return;
    }
    struct number n = {true, 0, (double)value};
    store(dtype, &n, at);
}

static int64_t load_i64(enum nuc_dtype dtype, const void *at)
{
    struct number n = load(dtype, at);

    return integer(&n);
}

static void store_i64(enum nuc_dtype dtype, int64_t value, void *at)
{
    struct number n = {false, value, 0.0};

    store(dtype, &n, at);
}

void nuc_kernel_binary(const struct nuc_binary *op, const struct nuc_loops *loops, struct nuc_factor alpha,
                       struct nuc_elements a, struct nuc_elements b, struct nuc_elements out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    ptrdiff_t size_a = (ptrdiff_t)nuc_dtype_size(a.dtype);
    ptrdiff_t size_b = (ptrdiff_t)nuc_dtype_size(b.dtype);
    ptrdiff_t size_out = (ptrdiff_t)nuc_dtype_size(out.dtype);
    bool real = op->i64 == NULL || is_real(a.dtype) || is_real(b.dtype);

    do {
        const uint8_t *x = (const uint8_t *)a.data + walk.a * size_a;
        const uint8_t *y = (const uint8_t *)b.data + walk.b * size_b;
        uint8_t *z = (uint8_t *)out.data + walk.out * size_out;
        for (int32_t i = 0; i < nuc_row_length(loops); i++) {
            if (real)
                store_f32(out.dtype, op->f32(load_f32(a.dtype, x), alpha.f32 * load_f32(b.dtype, y)), z);
            else
                store_i64(
                    out.dtype,
                    op->i64(load_i64(a.dtype, x), (int64_t)((uint64_t)alpha.i64 * (uint64_t)load_i64(b.dtype, y))), z);
            x += steps.a * size_a;
            y += steps.b * size_b;
            z += steps.out * size_out;
        }
    } while (nuc_walk_next_row(loops, &walk));
}

void nuc_kernel_map(const struct nuc_map *op, const struct nuc_loops *loops, struct nuc_elements in,
                    struct nuc_elements out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    ptrdiff_t size_in = (ptrdiff_t)nuc_dtype_size(in.dtype);
    ptrdiff_t size_out = (ptrdiff_t)nuc_dtype_size(out.dtype);
    bool real = op->i64 == NULL || is_real(in.dtype);

    do {
        const uint8_t *x = (const uint8_t *)in.data + walk.a * size_in;
        uint8_t *z = (uint8_t *)out.data + walk.out * size_out;
        for (int32_t i = 0; i < nuc_row_length(loops); i++) {
            if (real)
                store_f32(out.dtype, op->f32(load_f32(in.dtype, x)), z);
            else
                store_i64(out.dtype, op->i64(load_i64(in.dtype, x)), z);
            x += steps.a * size_in;
            z += steps.out * size_out;
        }
    } while (nuc_walk_next_row(loops, &walk));
}
