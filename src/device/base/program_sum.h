/*
 * The checksum of a program: its facts begin with NUC_PROGRAM_SUM and eight lower-case hexadecimal digits, the CRC-32
 * (that of zip and zlib) of the whole file with '0' in their place. It is looked for in the bytes, not through the
 * tables of the file: damage to these must not hide it. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_PROGRAM_SUM_H
#define NUC_DEVICE_BASE_PROGRAM_SUM_H

#include "device/base/span.h"

#define NUC_PROGRAM_SUM "{\"crc32\":\""
#define NUC_PROGRAM_SUM_DIGITS "00000000"

/* The CRC-32 of bytes that follow those whose CRC-32 is `sum`, 0 at the beginning. */
typedef uint32_t nuc_sum_fn(uint32_t sum, const uint8_t *bytes, size_t size);
uint32_t nuc_crc32(uint32_t sum, const uint8_t *bytes, size_t size);

/* Where a text of `length` characters begins in the bytes, the last time; 0: at their beginning, or nowhere. */
size_t nuc_last_text(struct nuc_span bytes, const char *text, size_t length);

/* Where the digits are, the last ones in the file; 0: the program has no checksum. */
size_t nuc_program_sum_at(struct nuc_span program);

/* Whether the digits at `at` are those of the program's bytes. */
bool nuc_program_sum_fits(struct nuc_span program, size_t at, nuc_sum_fn *crc32);

/* Writes it, where the program has a place for it. */
void nuc_program_seal(uint8_t *program, size_t size, nuc_sum_fn *crc32);

#endif
