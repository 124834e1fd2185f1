#include "host/hash.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

uint64_t nuc_hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

uint64_t nuc_hash_text(uint64_t hash, const char *text)
{
    return nuc_hash_bytes(hash, text, strlen(text) + 1);
}

uint32_t nuc_crc32_of(uint32_t crc, const uint8_t *bytes, size_t size)
{
    return (uint32_t)crc32_z(crc, bytes, size);
}

const char *nuc_hash_digits(struct nuc_context *cx, uint64_t hash)
{
    return nuc_format(cx, "%016" PRIx64, hash);
}
