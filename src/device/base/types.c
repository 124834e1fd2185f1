#include "nucleon/types.h"

static const char *const status_names[NUC_STATUS_COUNT] = {
    [NUC_OK] = "ok",
    [NUC_BAD_INPUT] = "bad input",
    [NUC_UNSUPPORTED] = "unsupported",
    [NUC_BAD_USAGE] = "bad usage",
    [NUC_NO_MEMORY] = "out of memory",
    [NUC_IO] = "input/output error",
    [NUC_PROPERTY] = "required property does not hold",
    [NUC_DEVICE] = "device error",
    [NUC_INTERNAL] = "internal error",
    [NUC_INTERRUPTED] = "interrupted",
};

/* Without pointers: firmware that names no types is linked without the names. */
static const char dtype_names[NUC_DTYPE_COUNT][sizeof "bfloat16"] = {
#define DTYPE_NAME(enumerator, name, size) [enumerator] = name,
    NUC_DTYPES(DTYPE_NAME)
#undef DTYPE_NAME
};

#define DTYPE_FITS(enumerator, name, size) _Static_assert(sizeof name <= sizeof dtype_names[0], name " does not fit");
NUC_DTYPES(DTYPE_FITS)
#undef DTYPE_FITS

static const uint8_t dtype_sizes[NUC_DTYPE_COUNT] = {
#define DTYPE_SIZE(enumerator, name, size) [enumerator] = (size),
    NUC_DTYPES(DTYPE_SIZE)
#undef DTYPE_SIZE
};

const char *nuc_status_name(enum nuc_status status)
{
    return (unsigned)status < NUC_STATUS_COUNT ? status_names[status] : "unknown";
}

const char *nuc_dtype_name(enum nuc_dtype dtype)
{
    return (unsigned)dtype < NUC_DTYPE_COUNT ? dtype_names[dtype] : "unknown";
}

size_t nuc_dtype_size(enum nuc_dtype dtype)
{
    return (unsigned)dtype < NUC_DTYPE_COUNT ? dtype_sizes[dtype] : 0;
}
