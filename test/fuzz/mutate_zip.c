#include "mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "device/base/span.h"

#define MOST_ENTRIES 64
#define MOST_NAME 256
#define LOCAL_SIZE 30
#define CENTRAL_SIZE 46
#define END_SIZE 22
#define SLACK 256 /* bytes that a mutation may add */

struct entry {
    uint8_t name[MOST_NAME];
    uint16_t name_size, method;
    uint8_t *content; /* as it lies in the archive, with SLACK bytes behind it */
    uint32_t packed, size, crc;
};

struct archive {
    struct entry entries[MOST_ENTRIES];
    size_t count;
};

static uint32_t crc32_of(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1)));
    }
    return ~crc;
}

static uint16_t load_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static void store_u16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void release(struct archive *a)
{
    for (size_t i = 0; i < a->count; i++)
        free(a->entries[i].content);
    free(a);
}

/* The entry that the directory has at `at`; false when something of it is outside. */
static bool read_entry(const uint8_t *data, size_t size, size_t at, struct entry *e, size_t *next)
{
    if (size - at < CENTRAL_SIZE || nuc_load_u32(data + at) != 0x02014B50u)
        return false;
    e->method = load_u16(data + at + 10);
    e->crc = nuc_load_u32(data + at + 16);
    e->packed = nuc_load_u32(data + at + 20);
    e->size = nuc_load_u32(data + at + 24);
    e->name_size = load_u16(data + at + 28);
    size_t local = nuc_load_u32(data + at + 42);
    *next = at + CENTRAL_SIZE + e->name_size + load_u16(data + at + 30) + load_u16(data + at + 32);
    if (*next > size || e->name_size > MOST_NAME || local > size || size - local < LOCAL_SIZE)
        return false;
    memcpy(e->name, data + at + CENTRAL_SIZE, e->name_size);
    size_t start = local + LOCAL_SIZE + load_u16(data + local + 26) + load_u16(data + local + 28);
    if (start > size || size - start < e->packed)
        return false;
    e->content = malloc(e->packed + SLACK);
    if (e->content == NULL)
        abort();
    memcpy(e->content, data + start, e->packed);
    return true;
}

/* NULL when it is not an archive of few entries. */
static struct archive *take_apart(const uint8_t *data, size_t size)
{
    struct archive *a = calloc(1, sizeof *a);

    if (a == NULL)
        abort();
    if (size < END_SIZE || nuc_load_u32(data + size - END_SIZE) != 0x06054B50u) {
        release(a);
        return NULL;
    }
    size_t count = load_u16(data + size - END_SIZE + 10), at = nuc_load_u32(data + size - END_SIZE + 16);
    bool good = at <= size && count != 0 && count <= MOST_ENTRIES;
    for (size_t i = 0; good && i < count; i++) {
        good = read_entry(data, size, at, &a->entries[i], &at);
        a->count += good;
    }
    if (!good) {
        release(a);
        return NULL;
    }
    return a;
}

static void put(uint8_t *out, size_t *at, const void *bytes, size_t size)
{
    memcpy(out + *at, bytes, size);
    *at += size;
}

/* What local header and directory have in common. */
static void put_fields(uint8_t *p, const struct entry *e)
{
    store_u16(p, 20);
    store_u16(p + 4, e->method);
    store_u16(p + 8, 0x21); /* the first of January 1980 */
    nuc_store_u32(p + 10, e->crc);
    nuc_store_u32(p + 14, e->packed);
    nuc_store_u32(p + 18, e->size);
    store_u16(p + 22, e->name_size);
}

/* The size, or 0 when there is no room. */
static size_t join(const struct archive *a, uint8_t *out, size_t room)
{
    size_t need = END_SIZE, at = 0;
    uint32_t places[MOST_ENTRIES];

    for (size_t i = 0; i < a->count; i++)
        need += LOCAL_SIZE + CENTRAL_SIZE + 2 * (size_t)a->entries[i].name_size + a->entries[i].packed;
    if (need > room)
        return 0;
    for (size_t i = 0; i < a->count; i++) {
        const struct entry *e = &a->entries[i];
        uint8_t local[LOCAL_SIZE] = {'P', 'K', 3, 4};
        put_fields(local + 4, e);
        places[i] = (uint32_t)at;
        put(out, &at, local, sizeof local);
        put(out, &at, e->name, e->name_size);
        put(out, &at, e->content, e->packed);
    }
    size_t directory = at;
    for (size_t i = 0; i < a->count; i++) {
        uint8_t central[CENTRAL_SIZE] = {'P', 'K', 1, 2, 20};
        put_fields(central + 6, &a->entries[i]);
        nuc_store_u32(central + 42, places[i]);
        put(out, &at, central, sizeof central);
        put(out, &at, a->entries[i].name, a->entries[i].name_size);
    }
    uint8_t end[END_SIZE] = {'P', 'K', 5, 6};
    store_u16(end + 8, (uint32_t)a->count);
    store_u16(end + 10, (uint32_t)a->count);
    nuc_store_u32(end + 12, (uint32_t)(at - directory));
    nuc_store_u32(end + 16, (uint32_t)directory);
    put(out, &at, end, sizeof end);
    return at;
}

/* Of JSON, the graph of a model, the values. */
static void mutate_content(struct entry *e, uint32_t seed)
{
    if (e->method != 0)
        return;
    const size_t room = e->packed + SLACK,
                 made = seed % 8 == 0 ? 0 : fuzz_mutate_json(e->content, e->packed, room, seed);
    e->packed = (uint32_t)(made != 0 ? made : LLVMFuzzerMutate(e->content, e->packed, room));
    e->size = e->packed;
    e->crc = crc32_of(e->content, e->packed);
}

/* An entry; where there is a graph mostly that, which is one of few. */
static struct entry *choose(struct archive *a, uint32_t *state)
{
    for (uint32_t tries = 0; tries < 2 * a->count; tries++) {
        struct entry *e = &a->entries[fuzz_next(state) % a->count];
        if (e->packed != 0 && e->content[0] == '{')
            return e;
    }
    return &a->entries[fuzz_next(state) % a->count];
}

static void mutate_entries(struct archive *a, uint32_t *state)
{
    struct entry *e = &a->entries[fuzz_next(state) % a->count], *other = &a->entries[fuzz_next(state) % a->count], swap;

    switch (fuzz_next(state) % 16) {
    case 0:
        e->name_size = (uint16_t)LLVMFuzzerMutate(e->name, e->name_size, MOST_NAME);
        return;
    case 1: /* the order changes */
        swap = *e;
        *e = *other;
        *other = swap;
        return;
    case 2: /* one is missing */
        if (a->count > 1) {
            free(e->content);
            *e = a->entries[--a->count];
        }
        return;
    case 3:
    case 4:
    case 5:
        mutate_content(e, fuzz_next(state));
        return;
    default:
        mutate_content(choose(a, state), fuzz_next(state));
        return;
    }
}

size_t fuzz_mutate_zip(uint8_t *data, size_t size, size_t max_size, uint32_t seed)
{
    struct archive *a = take_apart(data, size);
    uint32_t state = seed | 1;

    if (a == NULL)
        return 0;
    mutate_entries(a, &state);
    size_t made = join(a, data, max_size);
    release(a);
    return made;
}
