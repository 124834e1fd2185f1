/* QEMU's boards have no flash: memory that keeps its rules stands for it. */
#include "port/flash.h"

#include <string.h>

/* Constants for the rest of the image. */
static uint8_t *writable(const uint8_t *at)
{
    return (uint8_t *)(uintptr_t)at;
}

int nuc_port_flash_erase(const uint8_t *block)
{
    if ((uintptr_t)block % NUC_PORT_ERASE_SIZE != 0)
        return -1;
    memset(writable(block), 0xFF, NUC_PORT_ERASE_SIZE);
    return 0;
}

int nuc_port_flash_write(const uint8_t *to, const uint8_t *data, size_t size)
{
    if ((uintptr_t)to % NUC_PORT_WRITE_SIZE != 0 || size % NUC_PORT_WRITE_SIZE != 0)
        return -1;
    for (size_t i = 0; i < size; i++) {
        if (to[i] != 0xFF)
            return -1;
    }
    memcpy(writable(to), data, size);
    return 0;
}
