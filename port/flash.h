/*
 * Flash that a program writes: slots of packages lie in it (docs/update.md). A port implements it with the driver of
 * its flash; code that runs from the same flash has to lie in RAM while a block is erased or written.
 */
#ifndef NUC_PORT_FLASH_H
#define NUC_PORT_FLASH_H

#define NUC_PORT_ERASE_SIZE 4096 /* a block; it begins at a multiple of it */
#define NUC_PORT_WRITE_SIZE 16   /* writes begin and end at multiples of it */

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

/* 0: every byte of the block is 0xFF. */
int nuc_port_flash_erase(const uint8_t *block);

/* 0: the bytes are there. Where something was written since the block was erased, nothing is. */
int nuc_port_flash_write(const uint8_t *to, const uint8_t *data, size_t size);
#endif
#endif
