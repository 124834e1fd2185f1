/* Types shared by every public header: status codes and element types. */
#ifndef NUCLEON_TYPES_H
#define NUCLEON_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest supported tensor rank, which is also ExecuTorch's limit. */
#define NUC_MAX_RANK 16

/* The result of a call. nuc_status_name() returns a text for it. */
enum nuc_status {
    NUC_OK = 0,
    NUC_BAD_INPUT,   /* a file or a value in it is malformed */
    NUC_UNSUPPORTED, /* well-formed, but not supported; the message says what to change */
    NUC_BAD_USAGE,   /* the caller's arguments contradict each other or name unknown things */
    NUC_NO_MEMORY,   /* the allocator or the caller's buffer is exhausted */
    NUC_IO,          /* the operating system refused to read or write */
    NUC_PROPERTY,    /* a requirement of the caller is not met */
    NUC_DEVICE,      /* the NPU driver reported an error */
    NUC_INTERNAL,    /* a defect of nucleon itself */
    NUC_INTERRUPTED, /* the caller interrupted the call */
    NUC_STATUS_COUNT
};

/* Element types. X(enumerator, name, bytes per element). */
#define NUC_DTYPES(X)                                                                                                  \
    X(NUC_U8, "uint8", 1)                                                                                              \
    X(NUC_I8, "int8", 1)                                                                                               \
    X(NUC_I16, "int16", 2)                                                                                             \
    X(NUC_I32, "int32", 4)                                                                                             \
    X(NUC_I64, "int64", 8)                                                                                             \
    X(NUC_F16, "float16", 2)                                                                                           \
    X(NUC_F32, "float32", 4)                                                                                           \
    X(NUC_F64, "float64", 8)                                                                                           \
    X(NUC_BOOL, "bool", 1)                                                                                             \
    X(NUC_BF16, "bfloat16", 2)                                                                                         \
    X(NUC_U16, "uint16", 2)

enum nuc_dtype {
#define NUC_DTYPE_ENUM(enumerator, name, size) enumerator,
    NUC_DTYPES(NUC_DTYPE_ENUM)
#undef NUC_DTYPE_ENUM
        NUC_DTYPE_COUNT
};

/* Static strings; "unknown" for a value outside the enumeration. */
const char *nuc_status_name(enum nuc_status status);
const char *nuc_dtype_name(enum nuc_dtype dtype);

/* Bytes per element; 0 for a value outside the enumeration. */
size_t nuc_dtype_size(enum nuc_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
