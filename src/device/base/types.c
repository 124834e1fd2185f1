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

static const struct {
    const char *name;
    size_t size;
} dtypes[NUC_DTYPE_COUNT] = {
#define DTYPE_ROW(enumerator, name, size) [enumerator] = {name, size},
    NUC_DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *nuc_status_name(enum nuc_status status)
{
    return (unsigned)status < NUC_STATUS_COUNT ? status_names[status] : "unknown";
}

const char *nuc_dtype_name(enum nuc_dtype dtype)
{
    return (unsigned)dtype < NUC_DTYPE_COUNT ? dtypes[dtype].name : "unknown";
}

size_t nuc_dtype_size(enum nuc_dtype dtype)
{
    return (unsigned)dtype < NUC_DTYPE_COUNT ? dtypes[dtype].size : 0;
}
