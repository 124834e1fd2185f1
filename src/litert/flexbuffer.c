/*
 * Values lie before what points to them; offsets count backwards from where they stand. The last three bytes of a
 * buffer are the root value, its type, its width. A map is a vector of values with three words before it: offset
 * and width of the vector of keys, and the number of entries; the values' types follow it, a byte each.
 */
#include "litert/flexbuffer.h"

#include <string.h>

enum { FLEX_INT = 1, FLEX_UINT, FLEX_STRING = 5, FLEX_MAP = 9, FLEX_BOOL = 26 };

#define FLEX_LONGEST 200

static size_t append(uint8_t *bytes, size_t at, const void *data, size_t size)
{
    memcpy(bytes + at, data, size);
    return at + size;
}

struct nuc_span nuc_flex_write(struct nuc_context *cx, const char *key, const char *value)
{
    size_t key_size = strlen(key) + 1, value_size = strlen(value);
    uint8_t *bytes = nuc_alloc(cx, key_size + value_size + 16);

    if (key_size + value_size > FLEX_LONGEST)
        nuc_fail(cx, NUC_INTERNAL, "custom options: '%s' is too long", value);
    size_t at = append(bytes, 0, key, key_size);
    bytes[at++] = (uint8_t)value_size;
    size_t value_at = at;
    at = append(bytes, at, value, value_size + 1);
    bytes[at++] = 1;         /* keys: one */
    bytes[at] = (uint8_t)at; /* the key is at 0 */
    size_t keys_at = at++;
    bytes[at] = (uint8_t)(at - keys_at);
    at++;
    bytes[at++] = 1; /* width of the keys */
    bytes[at++] = 1; /* entries */
    size_t map_at = at;
    bytes[at] = (uint8_t)(at - value_at);
    at++;
    bytes[at++] = FLEX_STRING << 2;
    bytes[at] = (uint8_t)(at - map_at);
    at++;
    bytes[at++] = FLEX_MAP << 2;
    bytes[at++] = 1; /* width of the root */
    return (struct nuc_span){bytes, at};
}

/* ---- reading ---- */

/* An unsigned number of 1, 2, 4 or 8 bytes; false when it does not lie inside. */
static bool load(struct nuc_span bytes, uint64_t at, uint32_t width, uint64_t *out)
{
    struct nuc_span part;

    if ((width != 1 && width != 2 && width != 4 && width != 8) || !nuc_span_slice(bytes, at, width, &part))
        return false;
    *out = 0;
    for (uint32_t i = 0; i < width; i++)
        *out |= (uint64_t)part.data[i] << (8 * i);
    return true;
}

/* Where the offset at `at` points to. */
static bool follow(struct nuc_span bytes, uint64_t at, uint32_t width, uint64_t *target)
{
    uint64_t offset;

    if (!load(bytes, at, width, &offset) || offset > at)
        return false;
    *target = at - offset;
    return true;
}

struct flex_map {
    uint64_t at, count, keys_at;
    uint32_t width, keys_width;
};

static bool read_map(struct nuc_span bytes, struct flex_map *map)
{
    uint64_t keys_width, end = bytes.size;

    if (end < 3)
        return false;
    uint32_t root_width = bytes.data[end - 1], type = bytes.data[end - 2];
    if (root_width > 8 || end < 2 + root_width || type >> 2 != FLEX_MAP)
        return false;
    map->width = 1u << (type & 3);
    if (!follow(bytes, end - 2 - root_width, root_width, &map->at) || map->at < 3 * (uint64_t)map->width)
        return false;
    if (!load(bytes, map->at - map->width, map->width, &map->count) ||
        !load(bytes, map->at - 2 * (uint64_t)map->width, map->width, &keys_width) || keys_width > 8 ||
        !follow(bytes, map->at - 3 * (uint64_t)map->width, map->width, &map->keys_at))
        return false;
    map->keys_width = (uint32_t)keys_width;
    /* Values and their types fit after the map's beginning. */
    return map->count <= (end - map->at) / (map->width + 1);
}

static const char *read_string(struct nuc_context *cx, struct nuc_span bytes, const struct flex_map *map, uint64_t i)
{
    uint64_t type, at, size;
    struct nuc_span text;

    if (!load(bytes, map->at + map->count * map->width + i, 1, &type) || type >> 2 != FLEX_STRING)
        return NULL;
    uint32_t width = 1u << (type & 3);
    if (!follow(bytes, map->at + i * map->width, map->width, &at) || at < width ||
        !load(bytes, at - width, width, &size) || !nuc_span_slice(bytes, at, size, &text))
        return NULL;
    char *copy = nuc_alloc(cx, text.size + 1);
    memcpy(copy, text.data, text.size);
    return strlen(copy) == text.size ? copy : NULL;
}

/* The entry of a key; `count` when there is none. */
static uint64_t find(struct nuc_span bytes, const struct flex_map *map, const char *key)
{
    const size_t size = strlen(key) + 1;
    struct nuc_span text;
    uint64_t i = 0, at;

    while (i < map->count && !(follow(bytes, map->keys_at + i * map->keys_width, map->keys_width, &at) &&
                               nuc_span_slice(bytes, at, size, &text) && memcmp(text.data, key, size) == 0))
        i++;
    return i;
}

const char *nuc_flex_read(struct nuc_context *cx, struct nuc_span bytes, const char *key)
{
    struct flex_map map;

    if (!read_map(bytes, &map))
        return NULL;
    const uint64_t i = find(bytes, &map, key);
    return i < map.count ? read_string(cx, bytes, &map, i) : NULL;
}

bool nuc_flex_int(struct nuc_span bytes, const char *key, int64_t *value)
{
    struct flex_map map;
    uint64_t type, bits;

    if (!read_map(bytes, &map))
        return false;
    const uint64_t i = find(bytes, &map, key);
    if (i == map.count || !load(bytes, map.at + map.count * map.width + i, 1, &type) ||
        !load(bytes, map.at + i * map.width, map.width, &bits))
        return false;
    const unsigned unused = 64 - 8 * map.width;
    *value = type >> 2 == FLEX_INT ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return type >> 2 == FLEX_INT || type >> 2 == FLEX_UINT || type >> 2 == FLEX_BOOL;
}
