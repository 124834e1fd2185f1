#include "host/numbers.h"

#include <math.h>
#include <string.h>

#include "host/half.h"

bool nuc_is_integer(enum nuc_dtype dtype)
{
    return dtype < NUC_DTYPE_COUNT && dtype != NUC_F16 && dtype != NUC_BF16 && dtype != NUC_F32 && dtype != NUC_F64;
}

bool nuc_is_floating(enum nuc_dtype dtype)
{
    return dtype < NUC_DTYPE_COUNT && !nuc_is_integer(dtype);
}

/* Element `i` of type `of` in its own bytes. */
#define LOAD(of)                                                                                                       \
    do {                                                                                                               \
        of value;                                                                                                      \
        memcpy(&value, (const uint8_t *)data + i * sizeof value, sizeof value);                                        \
        return value;                                                                                                  \
    } while (false)

int64_t nuc_int_at(enum nuc_dtype dtype, const void *data, size_t i)
{
    switch ((int)dtype) {
    case NUC_U8:
    case NUC_BOOL:
        LOAD(uint8_t);
    case NUC_I8:
        LOAD(int8_t);
    case NUC_I16:
        LOAD(int16_t);
    case NUC_U16:
        LOAD(uint16_t);
    case NUC_I32:
        LOAD(int32_t);
    case NUC_I64:
        LOAD(int64_t);
    default:
        return 0;
    }
}

static float float_at(const void *data, size_t i)
{
    LOAD(float);
}

static double double_at(const void *data, size_t i)
{
    LOAD(double);
}

double nuc_number_at(enum nuc_dtype dtype, const void *data, size_t i)
{
    if (dtype == NUC_F16)
        return (double)nuc_half_to_float((uint16_t)nuc_int_at(NUC_U16, data, i));
    if (dtype == NUC_BF16) { /* the upper half of a float32 */
        const uint32_t whole = (uint32_t)nuc_int_at(NUC_U16, data, i) << 16;
        return (double)float_at(&whole, 0);
    }
    if (dtype == NUC_F32)
        return (double)float_at(data, i);
    if (dtype == NUC_F64)
        return double_at(data, i);
    return (double)nuc_int_at(dtype, data, i);
}

struct nuc_int_range nuc_int_range(enum nuc_dtype dtype)
{
    switch ((int)dtype) {
    case NUC_U8:
        return (struct nuc_int_range){0, UINT8_MAX};
    case NUC_I8:
        return (struct nuc_int_range){INT8_MIN, INT8_MAX};
    case NUC_I16:
        return (struct nuc_int_range){INT16_MIN, INT16_MAX};
    case NUC_U16:
        return (struct nuc_int_range){0, UINT16_MAX};
    case NUC_I32:
        return (struct nuc_int_range){INT32_MIN, INT32_MAX};
    default:
        return (struct nuc_int_range){INT64_MIN, INT64_MAX};
    }
}

void nuc_store_int(enum nuc_dtype dtype, void *data, size_t i, int64_t value)
{
    if (dtype == NUC_F32)
        ((float *)data)[i] = (float)value;
    else if (dtype == NUC_F64)
        ((double *)data)[i] = (double)value;
    else if (dtype == NUC_BOOL)
        ((uint8_t *)data)[i] = value != 0;
    else if (dtype == NUC_I64)
        ((int64_t *)data)[i] = value;
    else if (dtype == NUC_I32)
        ((uint32_t *)data)[i] = (uint32_t)value;
    else if (nuc_dtype_size(dtype) == 2)
        ((uint16_t *)data)[i] = (uint16_t)value;
    else
        ((uint8_t *)data)[i] = (uint8_t)value;
}

/* The whole part; NaN is 0. */
static int64_t saturated(enum nuc_dtype dtype, double value)
{
    const struct nuc_int_range range = nuc_int_range(dtype);

    if (value != value)
        return 0;
    return value < (double)range.low ? range.low : value >= (double)range.high ? range.high : (int64_t)value;
}

void nuc_store_number(enum nuc_dtype dtype, void *data, size_t i, double value)
{
    if (dtype == NUC_F32)
        ((float *)data)[i] = (float)value;
    else if (dtype == NUC_F64)
        ((double *)data)[i] = value;
    else if (dtype == NUC_BOOL)
        ((uint8_t *)data)[i] = value != 0.0;
    else
        nuc_store_int(dtype, data, i, saturated(dtype, value));
}

/* Inline, so that a constant size makes an element a load and a store. */
static inline void copy_apart(char *to, const char *from, size_t count, ptrdiff_t step, size_t size)
{
    for (size_t i = 0; i < count; i++, to += size, from += step * (ptrdiff_t)size)
        memcpy(to, from, size);
}

static void copy_row(char *to, const char *from, size_t count, const struct nuc_plane *p)
{
    if (p->step == 1)
        memcpy(to, from, count * p->size);
    else if (p->size == 1)
        copy_apart(to, from, count, p->step, 1);
    else if (p->size == 4)
        copy_apart(to, from, count, p->step, 4);
    else
        copy_apart(to, from, count, p->step, p->size);
}

/* Where elements of a row are apart, those of the next one are beside them: few of all rows at a time, in a cache. */
void nuc_copy_plane(void *to, const void *from, const struct nuc_plane *p)
{
    enum { FEW = 32 };
    const ptrdiff_t size = (ptrdiff_t)p->size;
    const size_t part = p->step == 1 ? p->count : FEW;

    for (size_t first = 0; first < p->count; first += part) {
        const char *row = (const char *)from + (ptrdiff_t)first * p->step * size;
        for (size_t r = 0; r < p->rows; r++, row += p->pitch * size)
            copy_row((char *)to + (r * p->count + first) * p->size, row,
                     p->count - first < part ? p->count - first : part, p);
    }
}

int64_t nuc_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

void nuc_sqnr_add(struct nuc_sqnr *s, const float *reference, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double r = (double)reference[i];
        double d = r - (double)x[i];
        s->signal += r * r;
        s->noise += d * d;
    }
}

double nuc_sqnr_db(const struct nuc_sqnr *s)
{
    if (s->noise == 0.0)
        return (double)INFINITY;
    return 10.0 * log10(s->signal / s->noise);
}
