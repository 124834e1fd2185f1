/* Of bytes: FNV-1a of 64 bits, and the CRC-32 of zip. They tell apart what is not the same by mistake, not what
 * somebody made look the same. */
#ifndef NUC_HOST_HASH_H
#define NUC_HOST_HASH_H

#include "host/context.h"

#define NUC_HASH_OF_NOTHING 14695981039346656037u

/* The hash of what `hash` is of with these bytes, or this text and its end, after it. */
uint64_t nuc_hash_bytes(uint64_t hash, const void *bytes, size_t size);
uint64_t nuc_hash_text(uint64_t hash, const char *text);

/* The CRC-32 of what `crc` is of with these bytes after it; 0 is that of nothing. */
uint32_t nuc_crc32_of(uint32_t crc, const uint8_t *bytes, size_t size);

/* 16 hexadecimal digits, in the arena. */
const char *nuc_hash_digits(struct nuc_context *cx, uint64_t hash);

#endif
