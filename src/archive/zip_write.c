/*
 * A zip archive: stored entries, each after a padding that aligns its content. Only what stands between the contents is
 * made here, so that nothing is held twice.
 */
#include <string.h>

#include "archive/zip_write.h"

#include "host/hash.h"

#define CONTENT_ALIGNMENT 64u
#define LOCAL_SIZE 30u     /* of a local header */
#define DIRECTORY_SIZE 46u /* of a directory record */
#define END_SIZE 22u
#define EXTRA_HEADER 4u
#define PADDING_ID 0x5000u /* an extra field readers skip; not registered to anybody */
#define VERSION_NEEDED 20u /* 2.0 */
#define UTF8_NAME 0x0800u
#define DOS_DATE 0x21u /* 1980-01-01, the earliest a zip archive can say */

struct directory_entry {
    const char *name;
    struct nuc_pieces content;
    uint32_t checksum, size, offset;
};

struct nuc_zip_writer {
    struct nuc_context *cx;
    struct directory_entry *entries;
    size_t count, capacity;
    bool too_big;

    struct nuc_pieces archive;
    size_t length; /* of the archive so far, with what is in `out` */
    uint8_t *out;  /* where the next byte of the present header goes */
};

struct nuc_zip_writer *nuc_zip_writer_new(struct nuc_context *cx)
{
    struct nuc_zip_writer *w = nuc_alloc(cx, sizeof *w);

    w->cx = cx;
    return w;
}

/* Bytes of the archive that are made here: exactly `size` are put next. */
static void begin_bytes(struct nuc_zip_writer *w, size_t size)
{
    w->out = nuc_alloc(w->cx, size);
    nuc_add_piece(w->cx, &w->archive, (struct nuc_span){w->out, size});
    w->length += size;
}

static void put_bytes(struct nuc_zip_writer *w, const void *bytes, size_t size)
{
    memcpy(w->out, bytes, size);
    w->out += size;
}

static void put_u16(struct nuc_zip_writer *w, uint32_t v)
{
    *w->out++ = (uint8_t)(v & 0xff);
    *w->out++ = (uint8_t)(v >> 8 & 0xff);
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

/* Bytes between the extra field's header and the content of an entry whose header begins at `start`. */
static size_t padding_of(size_t start, const char *name)
{
    size_t end = start + LOCAL_SIZE + strlen(name) + EXTRA_HEADER;

    return nuc_align_up(end, CONTENT_ALIGNMENT) - end;
}

void nuc_zip_add_pieces(struct nuc_zip_writer *w, const char *name, const struct nuc_pieces *content)
{
    struct nuc_context *cx = w->cx;
    size_t length = strlen(name), size = nuc_pieces_size(content);

    if (length > UINT16_MAX)
        nuc_fail(cx, NUC_BAD_USAGE, "a name of %zu bytes does not fit a zip archive", length);
    if (size > UINT32_MAX || w->count == UINT16_MAX) {
        w->too_big = true;
        return;
    }
    uint32_t crc = 0;
    for (size_t i = 0; i < content->count; i++)
        crc = nuc_crc32_of(crc, content->items[i].data, content->items[i].size);
    w->entries = nuc_grow(cx, w->entries, &w->capacity, w->count + 1, sizeof *w->entries);
    w->entries[w->count++] = (struct directory_entry){nuc_strdup(cx, name), *content, crc, (uint32_t)size, 0};
}

void nuc_zip_add(struct nuc_zip_writer *w, const char *name, struct nuc_span content)
{
    struct nuc_pieces one = {nuc_copy(w->cx, &content, sizeof content), content.size != 0, 1};

    nuc_zip_add_pieces(w, name, &one);
}

static size_t directory_size(const struct nuc_zip_writer *w)
{
    size_t size = 0;

    for (size_t i = 0; i < w->count; i++)
        size += DIRECTORY_SIZE + strlen(w->entries[i].name);
    return size;
}

/* Of the whole archive; the sum of 65,535 sizes of 32 bits fits 64. */
static uint64_t archive_size(const struct nuc_zip_writer *w)
{
    uint64_t entries = 0;

    for (size_t i = 0; i < w->count; i++) {
        const struct directory_entry *e = &w->entries[i];
        entries += LOCAL_SIZE + strlen(e->name) + EXTRA_HEADER + padding_of((size_t)entries, e->name) + e->size;
    }
    return entries + directory_size(w) + END_SIZE;
}

struct nuc_pieces nuc_zip_finish(struct nuc_zip_writer *w, const char *path)
{
    size_t size = directory_size(w);

    if (w->too_big || archive_size(w) > UINT32_MAX)
        nuc_fail(w->cx, NUC_UNSUPPORTED, "%s: would exceed 4 GiB or 65,535 entries: write fewer samples", path);
    for (size_t i = 0; i < w->count; i++) {
        struct directory_entry *e = &w->entries[i];
        static const uint8_t zeros[CONTENT_ALIGNMENT] = {0};
        size_t padding = padding_of(w->length, e->name);
        e->offset = (uint32_t)w->length;
        begin_bytes(w, LOCAL_SIZE + strlen(e->name) + EXTRA_HEADER + padding);
        put_u32(w, 0x04034b50u);
        put_common(w, e);
        put_u16(w, (uint32_t)(EXTRA_HEADER + padding));
        put_bytes(w, e->name, strlen(e->name));
        put_u16(w, PADDING_ID);
        put_u16(w, (uint32_t)padding);
        put_bytes(w, zeros, padding);
        nuc_add_pieces(w->cx, &w->archive, &e->content);
        w->length += e->size;
    }
    size_t start = w->length;
    begin_bytes(w, size + END_SIZE);
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
        put_bytes(w, e->name, strlen(e->name));
    }
    put_u32(w, 0x06054b50u);
    put_u32(w, 0); /* disks */
    put_u16(w, (uint32_t)w->count);
    put_u16(w, (uint32_t)w->count);
    put_u32(w, (uint32_t)size);
    put_u32(w, (uint32_t)start);
    put_u16(w, 0); /* no comment */
    return w->archive;
}
