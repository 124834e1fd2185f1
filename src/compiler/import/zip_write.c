/* A zip archive built in memory: stored entries, each behind a padding that aligns its content. */
#include <string.h>

#include "compiler/import/zip.h"
#include "host/text.h"

#define CONTENT_ALIGNMENT 64u
#define LOCAL_SIZE 30u
#define EXTRA_HEADER 4u
#define PADDING_ID 0x5000u /* an extra field readers skip; not registered to anybody */
#define VERSION_NEEDED 20u /* 2.0 */
#define UTF8_NAME 0x0800u
#define DOS_DATE 0x21u /* 1980-01-01, the earliest a zip archive can say */

struct directory_entry {
    const char *name;
    uint32_t checksum, size, offset;
};

struct nuc_zip_writer {
    struct nuc_text out;
    struct directory_entry *entries;
    size_t count, capacity;
    uint32_t table[256]; /* of the CRC-32 */
    bool too_big;
};

/* CRC-32 of ISO 3309, reflected polynomial 0xedb88320. */
static void fill_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = (c & 1) != 0 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[i] = c;
    }
}

static uint32_t crc32_of(const uint32_t table[256], struct nuc_span bytes)
{
    uint32_t c = UINT32_MAX;

    for (size_t i = 0; i < bytes.size; i++)
        c = table[(c ^ bytes.data[i]) & 0xff] ^ c >> 8;
    return ~c;
}

struct nuc_zip_writer *nuc_zip_writer_new(struct nuc_context *cx)
{
    struct nuc_zip_writer *w = nuc_alloc(cx, sizeof *w);

    nuc_text_init(&w->out, cx);
    fill_table(w->table);
    return w;
}

static void put_u16(struct nuc_zip_writer *w, uint32_t v)
{
    char bytes[2] = {(char)(v & 0xff), (char)(v >> 8 & 0xff)};

    nuc_text_add(&w->out, bytes, sizeof bytes);
}

static void put_u32(struct nuc_zip_writer *w, uint32_t v)
{
    put_u16(w, v & 0xffff);
    put_u16(w, v >> 16);
}

/* What local header and directory record have in common, from the needed version to the length of the name. */
static void put_common(struct nuc_zip_writer *w, const struct directory_entry *e)
{
    put_u16(w, VERSION_NEEDED);
    put_u16(w, UTF8_NAME);
    put_u16(w, 0); /* stored */
    put_u16(w, 0); /* midnight */
    put_u16(w, DOS_DATE);
    put_u32(w, e->checksum);
    put_u32(w, e->size);
    put_u32(w, e->size);
    put_u16(w, (uint32_t)strlen(e->name));
}

static void put_padding(struct nuc_zip_writer *w, const char *name)
{
    static const char zeros[CONTENT_ALIGNMENT] = {0};
    size_t start = w->out.length + sizeof(uint16_t) + strlen(name) + EXTRA_HEADER;
    size_t padding = nuc_align_up(start, CONTENT_ALIGNMENT) - start;

    put_u16(w, (uint32_t)(EXTRA_HEADER + padding));
    nuc_text_add(&w->out, name, strlen(name));
    put_u16(w, PADDING_ID);
    put_u16(w, (uint32_t)padding);
    nuc_text_add(&w->out, zeros, padding);
}

void nuc_zip_add(struct nuc_zip_writer *w, const char *name, struct nuc_span content)
{
    struct nuc_context *cx = w->out.cx;
    size_t length = strlen(name);

    if (length > UINT16_MAX)
        nuc_fail(cx, NUC_BAD_USAGE, "a name of %zu bytes does not fit a zip archive", length);
    if (content.size > UINT32_MAX || w->out.length > UINT32_MAX - content.size || w->count == UINT16_MAX) {
        w->too_big = true;
        return;
    }
    w->entries = nuc_grow(cx, w->entries, &w->capacity, w->count + 1, sizeof *w->entries);
    struct directory_entry *e = &w->entries[w->count++];
    *e = (struct directory_entry){nuc_strdup(cx, name), crc32_of(w->table, content), (uint32_t)content.size,
                                  (uint32_t)w->out.length};
    put_u32(w, 0x04034b50u);
    put_common(w, e);
    put_padding(w, name);
    if (content.size != 0)
        nuc_text_add(&w->out, (const char *)content.data, content.size);
}

static void put_directory(struct nuc_zip_writer *w)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct directory_entry *e = &w->entries[i];
        put_u32(w, 0x02014b50u);
        put_u16(w, VERSION_NEEDED);
        put_common(w, e);
        put_u16(w, 0); /* no extra field */
        put_u16(w, 0); /* no comment */
        put_u16(w, 0); /* disk */
        put_u16(w, 0); /* internal attributes */
        put_u32(w, 0); /* external attributes */
        put_u32(w, e->offset);
        nuc_text_add(&w->out, e->name, strlen(e->name));
    }
}

struct nuc_span nuc_zip_finish(struct nuc_zip_writer *w, const char *path)
{
    size_t start = w->out.length;

    put_directory(w);
    size_t size = w->out.length - start;
    if (w->too_big || w->out.length > UINT32_MAX)
        nuc_fail(w->out.cx, NUC_UNSUPPORTED, "%s: would exceed 4 GiB or 65,535 entries: write fewer samples", path);
    put_u32(w, 0x06054b50u);
    put_u32(w, 0); /* disks */
    put_u16(w, (uint32_t)w->count);
    put_u16(w, (uint32_t)w->count);
    put_u32(w, (uint32_t)size);
    put_u32(w, (uint32_t)start);
    put_u16(w, 0); /* no comment */
    return (struct nuc_span){(const uint8_t *)nuc_text_string(&w->out), w->out.length};
}
