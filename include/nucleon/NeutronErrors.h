/*
 * Error codes of the Neutron driver API: binary and source compatible with the public declarations that ExecuTorch's
 * NXP backend compiles against. A code is 0 for success, else bits 0 to 2 component, 3 to 7 category, 8 to 30 detail.
 */
#ifndef NEUTRON_ERRORS_H
#define NEUTRON_ERRORS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t NeutronError;

/* The masks of component and category are one bit apart from those of the getters; both are the public ones. */
#define GEN_NEUTRON_ERROR(component, category, code)                                                                   \
    ((NeutronError)((((component)&0xF) << 0) | (((category)&0xF) << 3) | (((code)&0x7FFFFF) << 8)))

#define ENONE 0

#define GET_ERROR_COMPONENT(e) (((e) >> 0) & 0x00000007)
#define GET_ERROR_CATEGORY(e) (((e) >> 3) & 0x0000001F)
#define GET_ERROR_CODE(e) (((e) >> 8) & 0x007FFFFF)

/* Component 0 does not exist, so that no error can equal ENONE. */
typedef enum ERROR_COMPONENT_ID {
    ERROR_COMPONENT_LIBRARY = 0x1,
    ERROR_COMPONENT_FIRMWARE = 0x2,
    ERROR_COMPONENT_DRIVER = 0x3
} ERROR_COMPONENT_ID;

typedef enum ERROR_CATEGORY_FW {
    ERROR_CATEGORY_FW_GENERIC,
    ERROR_CATEGORY_FW_UCODE, /* wrong magic or version, or a record that does not verify */
    ERROR_CATEGORY_FW_BUFFER_OVERFLOW,
    ERROR_CATEGORY_FW_NULL_POINTER,
    ERROR_CATEGORY_FW_INTR_ERROR,
    ERROR_CATEGORY_FW_DMAPI_ERROR
} ERROR_CATEGORY_FW;

typedef enum ERROR_CATEGORY_DRIVER {
    ERROR_CATEGORY_DRIVER_GENERIC,
    ERROR_CATEGORY_DRIVER_UNSUPPORTED, /* the function belongs to another kind of Neutron */
    ERROR_CATEGORY_DRIVER_UCODE,       /* wrong magic or version, or microcode that does not verify */
    ERROR_CATEGORY_DRIVER_INVALID,     /* a null or misaligned argument */
    ERROR_CATEGORY_DRIVER_BAD_HANDLE,
    ERROR_CATEGORY_DRIVER_NO_MEMORY,
    ERROR_CATEGORY_DRIVER_INTERNAL_FAULT,
    ERROR_CATEGORY_DRIVER_UNKNOWN_ARCH,
    ERROR_CATEGORY_DRIVER_TRACE_NOT_RUN,
    ERROR_CATEGORY_DRIVER_TIMEOUT
} ERROR_CATEGORY_DRIVER;

/* Static texts; "unknown" for a value outside the enumerations. They must not be written to. */
char *getNeutronErrorComponent(NeutronError ne);
char *getNeutronErrorCategory(NeutronError ne);

#ifdef __cplusplus
}
#endif
#endif
