#include "device/base/flatbuf.h"

#include <string.h>

static const uint8_t *at(struct nuc_fb_reader *r, uint64_t position, uint64_t size)
{
    struct nuc_span s;

    if (nuc_span_slice(r->bytes, position, size, &s))
        return s.data;
    r->bad = true;
    return NULL;
}

/* The position a 32-bit forward offset stored at `position` points to; 0 when it leaves the buffer. */
static uint32_t follow(struct nuc_fb_reader *r, uint64_t position)
{
    const uint8_t *p = at(r, position, 4);

    if (p == NULL)
        return 0;
    uint64_t target = position + nuc_load_u32(p);
    if (target + 4 > r->bytes.size || target > UINT32_MAX - 4 || target == position) {
        r->bad = true;
        return 0;
    }
    return (uint32_t)target;
}

static struct nuc_fb_table table_at(struct nuc_fb_reader *r, uint32_t position)
{
    struct nuc_fb_table none = {0};
    const uint8_t *p = position == 0 ? NULL : at(r, position, 4);

    if (p == NULL)
        return none;
    int64_t vtable = (int64_t)position - (int32_t)nuc_load_u32(p);
    const uint8_t *v = vtable < 0 ? NULL : at(r, (uint64_t)vtable, 4);
    uint16_t size = v != NULL ? nuc_load_u16(v) : 0;
    if (size < 4 || size % 2 != 0 || at(r, (uint64_t)vtable, size) == NULL) {
        r->bad = true;
        return none;
    }
    return (struct nuc_fb_table){position};
}

struct nuc_fb_table nuc_fb_root(struct nuc_fb_reader *r, uint32_t root_at)
{
    return table_at(r, follow(r, root_at));
}

/*
 * Position of field `id`'s inline value of `size` bytes; 0 when absent. The bound is the buffer, not the table's size:
 * the Python builder shares vtables between tables whose sizes differ, so that a stored size may be that of another.
 */
uint32_t nuc_fb_field(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, uint32_t size)
{
    uint32_t slot = 4 + 2 * (uint32_t)id;

    if (t.at == 0)
        return 0;
    const uint8_t *table = r->bytes.data + t.at, *vtable = table - (int32_t)nuc_load_u32(table);
    uint16_t offset = slot + 2 <= nuc_load_u16(vtable) ? nuc_load_u16(vtable + slot) : 0;
    if (offset == 0)
        return 0;
    if (offset < 4 || at(r, (uint64_t)t.at + offset, size) == NULL) {
        r->bad = true;
        return 0;
    }
    return t.at + offset;
}

/* One accessor per scalar type: they differ in the type alone. */
#define SCALAR_FIELD(name, type, bits_type, load)                                                                      \
    type name(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, type fallback)                                   \
    {                                                                                                                  \
        uint32_t position = nuc_fb_field(r, t, id, sizeof(type));                                                      \
        type value = fallback;                                                                                         \
        if (position != 0) {                                                                                           \
            bits_type bits = load(r->bytes.data + position);                                                           \
            memcpy(&value, &bits, sizeof value);                                                                       \
        }                                                                                                              \
        return value;                                                                                                  \
    }

static uint8_t load_u8(const uint8_t *p)
{
    return *p;
}

SCALAR_FIELD(nuc_fb_u8, uint8_t, uint8_t, load_u8)
SCALAR_FIELD(nuc_fb_i8, int8_t, uint8_t, load_u8)
SCALAR_FIELD(nuc_fb_u32, uint32_t, uint32_t, nuc_load_u32)
SCALAR_FIELD(nuc_fb_i32, int32_t, uint32_t, nuc_load_u32)
SCALAR_FIELD(nuc_fb_u64, uint64_t, uint64_t, nuc_load_u64)
SCALAR_FIELD(nuc_fb_i64, int64_t, uint64_t, nuc_load_u64)
SCALAR_FIELD(nuc_fb_f32, float, uint32_t, nuc_load_u32)
SCALAR_FIELD(nuc_fb_f64, double, uint64_t, nuc_load_u64)

bool nuc_fb_bool(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, bool fallback)
{
    return nuc_fb_u8(r, t, id, fallback ? 1 : 0) != 0;
}

struct nuc_fb_table nuc_fb_sub(struct nuc_fb_reader *r, struct nuc_fb_table t, int id)
{
    uint32_t position = nuc_fb_field(r, t, id, 4);

    return table_at(r, position == 0 ? 0 : follow(r, position));
}

static struct nuc_fb_vector vector_at(struct nuc_fb_reader *r, uint32_t position, uint32_t element_size)
{
    struct nuc_fb_vector none = {0, 0};
    const uint8_t *p = position == 0 ? NULL : at(r, position, 4);

    if (p == NULL)
        return none;
    uint32_t count = nuc_load_u32(p);
    if (at(r, (uint64_t)position + 4, (uint64_t)count * element_size) == NULL)
        return none;
    return (struct nuc_fb_vector){position + 4, count};
}

struct nuc_fb_vector nuc_fb_vec(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, uint32_t element_size)
{
    uint32_t position = nuc_fb_field(r, t, id, 4);

    return vector_at(r, position == 0 ? 0 : follow(r, position), element_size);
}

struct nuc_span nuc_fb_bytes(struct nuc_fb_reader *r, struct nuc_fb_table t, int id)
{
    struct nuc_fb_vector v = nuc_fb_vec(r, t, id, 1);

    return (struct nuc_span){v.at == 0 ? NULL : r->bytes.data + v.at, v.count};
}

static const char *string_at(struct nuc_fb_reader *r, uint32_t position, uint32_t *length)
{
    struct nuc_fb_vector v = vector_at(r, position, 1);
    const uint8_t *end = v.at == 0 ? NULL : at(r, (uint64_t)v.at + v.count, 1);

    if (end == NULL)
        return NULL;
    if (*end != 0) {
        r->bad = true;
        return NULL;
    }
    if (length != NULL)
        *length = v.count;
    return (const char *)(r->bytes.data + v.at);
}

const char *nuc_fb_string(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, uint32_t *length)
{
    uint32_t position = nuc_fb_field(r, t, id, 4);

    return position == 0 ? NULL : string_at(r, follow(r, position), length);
}

static bool in_vector(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i)
{
    if (i < v.count)
        return true;
    r->bad = true;
    return false;
}

struct nuc_fb_table nuc_fb_vec_table(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i)
{
    return table_at(r, in_vector(r, v, i) ? follow(r, (uint64_t)v.at + 4 * (uint64_t)i) : 0);
}

const char *nuc_fb_vec_string(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i, uint32_t *length)
{
    return in_vector(r, v, i) ? string_at(r, follow(r, (uint64_t)v.at + 4 * (uint64_t)i), length) : NULL;
}

#define SCALAR_ELEMENT(name, type, bits_type, load)                                                                    \
    type name(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i)                                             \
    {                                                                                                                  \
        type value = 0;                                                                                                \
        if (in_vector(r, v, i)) {                                                                                      \
            bits_type bits = load(r->bytes.data + v.at + sizeof(type) * (size_t)i);                                    \
            memcpy(&value, &bits, sizeof value);                                                                       \
        }                                                                                                              \
        return value;                                                                                                  \
    }

SCALAR_ELEMENT(nuc_fb_vec_u8, uint8_t, uint8_t, load_u8)
SCALAR_ELEMENT(nuc_fb_vec_i32, int32_t, uint32_t, nuc_load_u32)
SCALAR_ELEMENT(nuc_fb_vec_i64, int64_t, uint64_t, nuc_load_u64)
SCALAR_ELEMENT(nuc_fb_vec_f32, float, uint32_t, nuc_load_u32)
SCALAR_ELEMENT(nuc_fb_vec_f64, double, uint64_t, nuc_load_u64)
