/* Names of error components and categories. */
#include <stddef.h>

#include "nucleon/NeutronErrors.h"

static const char *const components[] = {
    [ERROR_COMPONENT_LIBRARY] = "library",
    [ERROR_COMPONENT_FIRMWARE] = "firmware",
    [ERROR_COMPONENT_DRIVER] = "driver",
};

static const char *const driver_categories[] = {
    [ERROR_CATEGORY_DRIVER_GENERIC] = "generic",
    [ERROR_CATEGORY_DRIVER_UNSUPPORTED] = "unsupported function",
    [ERROR_CATEGORY_DRIVER_UCODE] = "microcode: wrong magic, version or contents",
    [ERROR_CATEGORY_DRIVER_INVALID] = "invalid argument",
    [ERROR_CATEGORY_DRIVER_BAD_HANDLE] = "bad handle",
    [ERROR_CATEGORY_DRIVER_NO_MEMORY] = "not enough memory",
    [ERROR_CATEGORY_DRIVER_INTERNAL_FAULT] = "internal fault",
    [ERROR_CATEGORY_DRIVER_UNKNOWN_ARCH] = "unknown architecture",
    [ERROR_CATEGORY_DRIVER_TRACE_NOT_RUN] = "tracing did not run",
    [ERROR_CATEGORY_DRIVER_TIMEOUT] = "timeout",
};

static const char *const firmware_categories[] = {
    [ERROR_CATEGORY_FW_GENERIC] = "generic",
    [ERROR_CATEGORY_FW_UCODE] = "microcode: wrong magic or version",
    [ERROR_CATEGORY_FW_BUFFER_OVERFLOW] = "buffer overflow",
    [ERROR_CATEGORY_FW_NULL_POINTER] = "null pointer",
    [ERROR_CATEGORY_FW_INTR_ERROR] = "interrupt error",
    [ERROR_CATEGORY_FW_DMAPI_ERROR] = "data mover parameter error",
};

/* The public prototypes return char *; the texts are constant. */
static char *name_in(const char *const *names, size_t count, size_t index)
{
    return (char *)(uintptr_t)(index < count && names[index] ? names[index] : "unknown");
}
#define NAME_IN(names, index) name_in(names, sizeof names / sizeof *names, (size_t)(index))

char *getNeutronErrorComponent(NeutronError ne)
{
    return NAME_IN(components, GET_ERROR_COMPONENT(ne));
}

char *getNeutronErrorCategory(NeutronError ne)
{
    switch (GET_ERROR_COMPONENT(ne)) {
    case ERROR_COMPONENT_DRIVER:
        return NAME_IN(driver_categories, GET_ERROR_CATEGORY(ne));
    case ERROR_COMPONENT_FIRMWARE:
        return NAME_IN(firmware_categories, GET_ERROR_CATEGORY(ne));
    default:
        return name_in(NULL, 0, 0);
    }
}
