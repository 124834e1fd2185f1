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

static bool is_real(enum nuc_dtype dtype)
{
    return dtype == NUC_F32 || dtype == NUC_F64;
}

/* ---- some elements of a row, whose type is asked for once ---- */

#define SOME 16

/* Elements `step` bytes apart. */
struct run {
    enum nuc_dtype dtype;
    uint8_t *at;
    ptrdiff_t step;
};

static struct run run_of(enum nuc_dtype dtype, const void *data, ptrdiff_t step)
{
    return (struct run){dtype, (uint8_t *)(uintptr_t)data, step * (ptrdiff_t)nuc_dtype_size(dtype)};
}

static struct run row_of(const struct run *r, ptrdiff_t elements)
{
    return (struct run){r->dtype, r->at + elements * (ptrdiff_t)nuc_dtype_size(r->dtype), r->step};
}

/* A conversion from 64 bits is a function of the compiler's library. */
static float real_of(int64_t whole)
{
    return whole >= INT32_MIN && whole <= INT32_MAX ? (float)(int32_t)whole : (float)whole;
}

static void load_wholes(struct run *r, int32_t count, int64_t *to)
{
    if (r->dtype == NUC_BOOL || r->dtype == NUC_U8) {
        for (int32_t i = 0; i < count; i++, r->at += r->step)
            to[i] = *r->at;
    } else {
        for (int32_t i = 0; i < count; i++, r->at += r->step)
            to[i] = nuc_load_whole(r->dtype, r->at, 0);
    }
}

static void store_wholes(struct run *r, int32_t count, const int64_t *values)
{
    if (r->dtype == NUC_BOOL) {
        for (int32_t i = 0; i < count; i++, r->at += r->step)
            *r->at = values[i] != 0;
    } else if (r->dtype == NUC_F32) {
        for (int32_t i = 0; i < count; i++, r->at += r->step)
            *(float *)(void *)r->at = real_of(values[i]);
    } else if (r->dtype == NUC_F64) {
        for (int32_t i = 0; i < count; i++, r->at += r->step)
            *(double *)(void *)r->at = (double)values[i];
    } else {
        for (int32_t i = 0; i < count; i++, r->at += r->step)
            nuc_store_whole(r->dtype, r->at, 0, values[i]);
    }
}

static void load_reals(struct run *r, int32_t count, float *to)
{
    if (r->dtype == NUC_F32) {
        for (int32_t i = 0; i < count; i++, r->at += r->step)
            to[i] = *(const float *)(const void *)r->at;
        return;
    }
    for (int32_t i = 0; i < count; i++, r->at += r->step) {
        struct number n = load(r->dtype, r->at);
        to[i] = n.is_real ? (float)n.f : real_of(n.i);
    }
}

static void store_reals(struct run *r, int32_t count, const float *values)
{
    if (r->dtype == NUC_F32) {
        for (int32_t i = 0; i < count; i++, r->at += r->step)
            *(float *)(void *)r->at = values[i];
    } else if (r->dtype == NUC_BOOL) {
        for (int32_t i = 0; i < count; i++, r->at += r->step)
            *r->at = values[i] < 0.0f || values[i] > 0.0f || values[i] != values[i];
    } else {
        for (int32_t i = 0; i < count; i++, r->at += r->step) {
            struct number n = {true, 0, (double)values[i]};
            store(r->dtype, &n, r->at);
        }
    }
}

static int32_t some_of(int32_t length, int32_t done)
{
    return length - done < SOME ? length - done : SOME;
}

/* Of whole numbers, or of reals that become reals or truths; any other element by itself. */
static void convert_row(struct run in, struct run out, int32_t length)
{
    bool wholes = !is_real(in.dtype), reals = in.dtype == NUC_F32 && (out.dtype == NUC_F32 || out.dtype == NUC_BOOL);
    int64_t whole[SOME];
    float real[SOME];

    for (int32_t i = 0, n; i < length; i += n) {
        n = wholes || reals ? some_of(length, i) : 1;
        if (wholes) {
            load_wholes(&in, n, whole);
            store_wholes(&out, n, whole);
        } else if (reals) {
            load_reals(&in, n, real);
            store_reals(&out, n, real);
        } else {
            convert(in.dtype, out.dtype, in.at, out.at);
            in.at += in.step;
            out.at += out.step;
        }
    }
}

void nuc_kernel_convert(const struct nuc_loops *loops, enum nuc_dtype from, enum nuc_dtype to, const void *in,
                        void *out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    const struct run a = run_of(from, in, steps.a), z = run_of(to, out, steps.out);

    do
        convert_row(row_of(&a, walk.a), row_of(&z, walk.out), nuc_row_length(loops));
    while (nuc_walk_next_row(loops, &walk));
}

void nuc_kernel_arange(enum nuc_dtype dtype, double start, double step, void *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct number n = {true, 0, start + (double)i * step};
        store(dtype, &n, (uint8_t *)out + i * nuc_dtype_size(dtype));
    }
}

/* Of one type: float32 without a call for each element. */
static void copy_element(size_t size, const void *in, void *out)
{
    if (size == 4)
        __builtin_memcpy(out, in, 4); /* one load and one store */
    else
        memmove(out, in, size);
}

/* Of bytes, which values in int8 are. */
static void choose_bytes(const uint8_t *in, const uint8_t *condition, uint8_t *out, const struct nuc_steps *steps,
                         int32_t count)
{
    for (int32_t i = 0; i < count; i++, in += steps->a, condition += steps->b, out += steps->out) {
        if (*condition != 0)
            *out = *in;
    }
}

void nuc_kernel_convert_where(const struct nuc_loops *loops, struct nuc_elements in, const uint8_t *condition,
                              struct nuc_elements out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    ptrdiff_t size_in = (ptrdiff_t)nuc_dtype_size(in.dtype);
    ptrdiff_t size_out = (ptrdiff_t)nuc_dtype_size(out.dtype);

    do {
        const uint8_t *from = (const uint8_t *)in.data + walk.a * size_in;
        uint8_t *to = (uint8_t *)out.data + walk.out * size_out;
        if (in.dtype == out.dtype && size_out == 1) {
            choose_bytes(from, condition + walk.b, to, &steps, nuc_row_length(loops));
            continue;
        }
        for (int32_t i = 0; i < nuc_row_length(loops); i++) {
            if (condition[walk.b + i * steps.b] == 0)
                continue;
            if (in.dtype == out.dtype)
                copy_element((size_t)size_out, from + i * steps.a * size_in, to + i * steps.out * size_out);
            else
                convert(in.dtype, out.dtype, from + i * steps.a * size_in, to + i * steps.out * size_out);
        }
    } while (nuc_walk_next_row(loops, &walk));
}

/* ---- operators over any element type ---- */

static void wholes_of_row(const struct nuc_binary *op, int64_t alpha, struct run a, struct run b, struct run out,
                          int32_t length)
{
    int64_t x[SOME], y[SOME];

    for (int32_t i = 0, n; i < length; i += n) {
        n = some_of(length, i);
        load_wholes(&a, n, x);
        load_wholes(&b, n, y);
        for (int32_t k = 0; k < n; k++)
            x[k] = op->i64(x[k], (int64_t)((uint64_t)alpha * (uint64_t)y[k]));
        store_wholes(&out, n, x);
    }
}

static void reals_of_row(const struct nuc_binary *op, float alpha, struct run a, struct run b, struct run out,
                         int32_t length)
{
    float x[SOME], y[SOME];

    for (int32_t i = 0, n; i < length; i += n) {
        n = some_of(length, i);
        load_reals(&a, n, x);
        load_reals(&b, n, y);
        for (int32_t k = 0; k < n; k++)
            x[k] = op->f32(x[k], alpha * y[k]);
        store_reals(&out, n, x);
    }
}

void nuc_kernel_binary(const struct nuc_binary *op, const struct nuc_loops *loops, struct nuc_factor alpha,
                       struct nuc_elements a, struct nuc_elements b, struct nuc_elements out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    const struct run x = run_of(a.dtype, a.data, steps.a), y = run_of(b.dtype, b.data, steps.b);
    const struct run z = run_of(out.dtype, out.data, steps.out);
    bool real = op->i64 == NULL || is_real(a.dtype) || is_real(b.dtype);

    do {
        struct run in = row_of(&x, walk.a), other = row_of(&y, walk.b), to = row_of(&z, walk.out);
        if (real)
            reals_of_row(op, alpha.f32, in, other, to, nuc_row_length(loops));
        else
            wholes_of_row(op, alpha.i64, in, other, to, nuc_row_length(loops));
    } while (nuc_walk_next_row(loops, &walk));
}

static void map_row(const struct nuc_map *op, bool real, struct run in, struct run out, int32_t length)
{
    int64_t whole[SOME];
    float x[SOME];

    for (int32_t i = 0, n; i < length; i += n) {
        n = some_of(length, i);
        if (real) {
            load_reals(&in, n, x);
            for (int32_t k = 0; k < n; k++)
                x[k] = op->f32(x[k]);
            store_reals(&out, n, x);
        } else {
            load_wholes(&in, n, whole);
            for (int32_t k = 0; k < n; k++)
                whole[k] = op->i64(whole[k]);
            store_wholes(&out, n, whole);
        }
    }
}

void nuc_kernel_map(const struct nuc_map *op, const struct nuc_loops *loops, struct nuc_elements in,
                    struct nuc_elements out)
{
    struct nuc_walk walk = {{0}, 0, 0, 0};
    const struct nuc_steps steps = nuc_row_steps(loops);
    const struct run x = run_of(in.dtype, in.data, steps.a), z = run_of(out.dtype, out.data, steps.out);
    bool real = op->i64 == NULL || is_real(in.dtype);

    do
        map_row(op, real, row_of(&x, walk.a), row_of(&z, walk.out), nuc_row_length(loops));
    while (nuc_walk_next_row(loops, &walk));
}
