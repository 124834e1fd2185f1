#include "host/numbers.h"

#include <math.h>
#include <string.h>

#include "host/half.h"

bool nuc_is_integer(enum nuc_dtype dtype)
{
    return dtype < NUC_DTYPE_COUNT && dtype != NUC_F16 && dtype != NUC_BF16 && dtype != NUC_F32 && dtype != NUC_F64;
}

int64_t nuc_int_at(enum nuc_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case NUC_U8:
    case NUC_BOOL:
        return ((const uint8_t *)data)[i];
    case NUC_I8:
        return ((const int8_t *)data)[i];
    case NUC_I16:
        return ((const int16_t *)data)[i];
    case NUC_U16:
        return ((const uint16_t *)data)[i];
    case NUC_I32:
        return ((const int32_t *)data)[i];
    case NUC_I64:
        return ((const int64_t *)data)[i];
    case NUC_F16:
    case NUC_F32:
    case NUC_F64:
    case NUC_BF16:
    case NUC_DTYPE_COUNT:
    default:
        return 0;
    }
}

double nuc_number_at(enum nuc_dtype dtype, const void *data, size_t i)
{
    if (dtype == NUC_F16)
        return (double)nuc_half_to_float(((const uint16_t *)data)[i]);
    if (dtype == NUC_BF16) { /* the upper half of a float32 */
        uint32_t whole = (uint32_t)((const uint16_t *)data)[i] << 16;
        float value;
        memcpy(&value, &whole, sizeof value);
        return (double)value;
    }
    if (dtype == NUC_F32)
        return (double)((const float *)data)[i];
    if (dtype == NUC_F64)
        return ((const double *)data)[i];
    return (double)nuc_int_at(dtype, data, i);
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
