/* Names of error components and categories. */
#include <stddef.h>

#include "nucleon/NeutronErrors.h"

/* The public prototypes return char *; the texts are constant. */
static char *text(const char *constant)
{
    return (char *)(uintptr_t)constant;
}

char *getNeutronErrorComponent(NeutronError ne)
{
    static const char *const names[] = {
        [ERROR_COMPONENT_LIBRARY] = "library",
        [ERROR_COMPONENT_FIRMWARE] = "firmware",
        [ERROR_COMPONENT_DRIVER] = "driver",
    };
    size_t component = (size_t)GET_ERROR_COMPONENT(ne);

    if (component >= sizeof names / sizeof *names || !names[component])
        return text("unknown");
    return text(names[component]);
}

static const char *driver_category(size_t category)
{
    static const char *const names[] = {
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
    return category < sizeof names / sizeof *names ? names[category] : "unknown";
}

static const char *firmware_category(size_t category)
{
    static const char *const names[] = {
        [ERROR_CATEGORY_FW_GENERIC] = "generic",
        [ERROR_CATEGORY_FW_UCODE] = "microcode: wrong magic or version",
        [ERROR_CATEGORY_FW_BUFFER_OVERFLOW] = "buffer overflow",
        [ERROR_CATEGORY_FW_NULL_POINTER] = "null pointer",
        [ERROR_CATEGORY_FW_INTR_ERROR] = "interrupt error",
        [ERROR_CATEGORY_FW_DMAPI_ERROR] = "data mover parameter error",
    };
    return category < sizeof names / sizeof *names ? names[category] : "unknown";
}

char *getNeutronErrorCategory(NeutronError ne)
{
    size_t category = (size_t)GET_ERROR_CATEGORY(ne);

    switch (GET_ERROR_COMPONENT(ne)) {
    case ERROR_COMPONENT_DRIVER:
        return text(driver_category(category));
    case ERROR_COMPONENT_FIRMWARE:
        return text(firmware_category(category));
    default:
        return text("unknown");
    }
}
