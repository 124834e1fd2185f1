/* A view of bytes that are not owned, and arithmetic that reports overflow instead of wrapping. Freestanding. */
#ifndef NUC_DEVICE_BASE_SPAN_H
#define NUC_DEVICE_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nuc_span {
    const uint8_t *data;
    size_t size; /* bytes */
};

/* True and the sub-range when [offset, offset + size) lies inside `from`; false otherwise, `*out` untouched. */
static inline bool nuc_span_slice(struct nuc_span from, uint64_t offset, uint64_t size, struct nuc_span *out)
{
    if (offset > from.size || size > from.size - offset)
        return false;
    *out = (struct nuc_span){from.data + (size_t)offset, (size_t)size};
    return true;
}

static inline bool nuc_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool nuc_add_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* Smallest multiple of `alignment` (a power of two) that is not below `value`. The caller knows it does not overflow.
 */
static inline size_t nuc_align_up(size_t value, size_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* Whether no byte of `a` is one of `b`: blocks in memory, NULL when empty. */
static inline bool nuc_is_apart(const void *a, size_t a_size, const void *b, size_t b_size)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;

    return a_size == 0 || b_size == 0 || (x <= y ? y - x >= a_size : x - y >= b_size);
}

/* Little-endian loads from any address. The caller has checked the bounds. */
static inline uint16_t nuc_load_u16(const uint8_t *p)
{
    uint16_t v;

    __builtin_memcpy(&v, p, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap16(v);
}

static inline uint32_t nuc_load_u32(const uint8_t *p)
{
    uint32_t v;

    __builtin_memcpy(&v, p, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap32(v);
}

static inline uint64_t nuc_load_u64(const uint8_t *p)
{
    return (uint64_t)nuc_load_u32(p) | (uint64_t)nuc_load_u32(p + 4) << 32;
}

static inline void nuc_store_u32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

#endif
