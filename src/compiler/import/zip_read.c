/* The central directory of a zip archive (PKWARE APPNOTE 6.3, zip64 included), and the content of its entries. */
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "compiler/import/zip.h"
#include "host/file.h"

/*
 * Records, all little-endian; the fields that are read, with their offsets:
 *   end        10 u16 entries, 12 u32 size and 16 u32 offset of the directory, 20 u16 length of the comment
 *   locator64   8 u64 offset of end64; stands right in front of end
 *   end64      32 u64 entries, 40 u64 size and 48 u64 offset of the directory
 *   central     8 u16 flags, 10 u16 method, 20 u32 packed size, 24 u32 size, 28/30/32 u16 lengths of name, extra field
 *              and comment, 42 u32 offset of the local header; then name, extra field, comment
 *   local      26/28 u16 lengths of name and extra field; then these and the content. Its sizes may be absent.
 */
#define LOCAL_SIGNATURE 0x04034b50u
#define CENTRAL_SIGNATURE 0x02014b50u
#define END_SIGNATURE 0x06054b50u
#define END64_SIGNATURE 0x06064b50u
#define LOCATOR64_SIGNATURE 0x07064b50u
#define LOCAL_SIZE 30u
#define CENTRAL_SIZE 46u
#define END_SIZE 22u
#define END64_SIZE 56u
#define LOCATOR64_SIZE 20u
#define MAX_COMMENT 65535u
#define ENCRYPTED 1u
#define STORED 0u
#define DEFLATED 8u

/* Deflate cannot expand more than 1032 times (two bits for a match of 258 bytes). */
#define MAX_INFLATION 1032u

struct directory {
    uint64_t offset, size, count;
};

bool nuc_is_zip(struct nuc_span bytes)
{
    if (bytes.size < 4)
        return false;
    uint32_t signature = nuc_load_u32(bytes.data);
    return signature == LOCAL_SIGNATURE || signature == END_SIGNATURE;
}

_Noreturn static void bad_zip(const struct nuc_zip *zip, const char *what)
{
    nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: damaged zip archive: %s; copy or export the file again", zip->path, what);
}

/* The end record: its signature, and a comment that reaches exactly to the end of the file. */
static size_t find_end(const struct nuc_zip *zip)
{
    size_t size = zip->bytes.size;
    size_t furthest = size < END_SIZE + MAX_COMMENT ? size : END_SIZE + MAX_COMMENT;

    if (!nuc_is_zip(zip->bytes))
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: is not a zip archive", zip->path);
    for (size_t back = END_SIZE; back <= furthest; back++) {
        const uint8_t *p = zip->bytes.data + size - back;
        if (nuc_load_u32(p) == END_SIGNATURE && nuc_load_u16(p + 20) == back - END_SIZE)
            return size - back;
    }
    bad_zip(zip, "the end of its directory is missing, the file is cut short");
}

static struct directory find_directory(const struct nuc_zip *zip)
{
    size_t end = find_end(zip);
    const uint8_t *p = zip->bytes.data + end;
    struct directory d = {nuc_load_u32(p + 16), nuc_load_u32(p + 12), nuc_load_u16(p + 10)};
    bool is_zip64 = d.offset == UINT32_MAX || d.size == UINT32_MAX || d.count == UINT16_MAX;
    struct nuc_span record;

    if (is_zip64 && end >= LOCATOR64_SIZE && nuc_load_u32(p - LOCATOR64_SIZE) == LOCATOR64_SIGNATURE) {
        uint64_t at = nuc_load_u64(p - LOCATOR64_SIZE + 8);
        if (!nuc_span_slice(zip->bytes, at, END64_SIZE, &record) || nuc_load_u32(record.data) != END64_SIGNATURE)
            bad_zip(zip, "its zip64 end record is not where it should be");
        d = (struct directory){nuc_load_u64(record.data + 48), nuc_load_u64(record.data + 40),
                               nuc_load_u64(record.data + 32)};
    }
    if (!nuc_span_slice(zip->bytes, d.offset, d.size, &record) || d.count > d.size / CENTRAL_SIZE)
        bad_zip(zip, "its directory lies outside the file");
    return d;
}

/* Fields that are all ones in the record stand, in this order, in the zip64 extra field. */
static void read_zip64(const struct nuc_zip *zip, struct nuc_span extra, struct nuc_zip_entry *e)
{
    uint64_t *fields[3] = {&e->size, &e->packed_size, &e->header_offset};

    while (extra.size >= 4) {
        uint16_t id = nuc_load_u16(extra.data);
        struct nuc_span body;
        if (!nuc_span_slice(extra, 4, nuc_load_u16(extra.data + 2), &body))
            return;
        for (size_t i = 0; id == 1 && i < 3; i++) {
            if (*fields[i] != UINT32_MAX)
                continue;
            if (body.size < 8)
                bad_zip(zip, "a zip64 field is missing");
            *fields[i] = nuc_load_u64(body.data);
            body = (struct nuc_span){body.data + 8, body.size - 8};
        }
        size_t used = 4u + nuc_load_u16(extra.data + 2);
        extra = (struct nuc_span){extra.data + used, extra.size - used};
    }
}

static const char *copy_name(const struct nuc_zip *zip, struct nuc_span name)
{
    if (name.size == 0 || memchr(name.data, '\0', name.size) != NULL)
        bad_zip(zip, "an entry has no proper name");
    char *text = nuc_alloc(zip->cx, name.size + 1);
    memcpy(text, name.data, name.size);
    return text;
}

/* Reads the record at the start of `rest`; returns its length. */
static size_t read_entry(const struct nuc_zip *zip, struct nuc_span rest, struct nuc_zip_entry *e)
{
    const uint8_t *p = rest.data;
    struct nuc_span name, extra;

    if (rest.size < CENTRAL_SIZE || nuc_load_u32(p) != CENTRAL_SIGNATURE)
        bad_zip(zip, "a directory record is not where it should be");
    uint16_t name_size = nuc_load_u16(p + 28);
    uint16_t extra_size = nuc_load_u16(p + 30);
    uint16_t comment_size = nuc_load_u16(p + 32);
    if (!nuc_span_slice(rest, CENTRAL_SIZE, name_size, &name) ||
        !nuc_span_slice(rest, CENTRAL_SIZE + name_size, extra_size, &extra))
        bad_zip(zip, "a directory record is cut short");
    *e = (struct nuc_zip_entry){copy_name(zip, name), nuc_load_u16(p + 10), nuc_load_u32(p + 24), nuc_load_u32(p + 20),
                                nuc_load_u32(p + 42)};
    read_zip64(zip, extra, e);
    if ((nuc_load_u16(p + 8) & ENCRYPTED) != 0)
        nuc_fail(zip->cx, NUC_UNSUPPORTED, "%s: entry %s is encrypted", zip->path, e->name);
    size_t used = CENTRAL_SIZE + (size_t)name_size + extra_size + comment_size;
    return used < rest.size ? used : rest.size;
}

static int by_name(const void *a, const void *b)
{
    const struct nuc_zip_entry *const *x = a;
    const struct nuc_zip_entry *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static void sort_entries(struct nuc_zip *zip)
{
    zip->sorted = nuc_alloc_array(zip->cx, zip->count, sizeof *zip->sorted);
    for (size_t i = 0; i < zip->count; i++)
        zip->sorted[i] = &zip->entries[i];
    if (zip->count != 0)
        qsort(zip->sorted, zip->count, sizeof *zip->sorted, by_name);
    for (size_t i = 1; i < zip->count; i++) {
        if (strcmp(zip->sorted[i - 1]->name, zip->sorted[i]->name) == 0)
            nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s is there twice", zip->path, zip->sorted[i]->name);
    }
}

struct nuc_zip *nuc_zip_open(struct nuc_context *cx, const char *path)
{
    struct nuc_zip *zip = nuc_alloc(cx, sizeof *zip);

    zip->cx = cx;
    zip->path = nuc_strdup(cx, path);
    zip->bytes = nuc_map_file(cx, path);
    struct directory d = find_directory(zip);
    struct nuc_span rest = {zip->bytes.data + d.offset, (size_t)d.size};
    struct nuc_zip_entry *entries = nuc_alloc_array(cx, (size_t)d.count, sizeof *entries);
    for (size_t i = 0; i < d.count; i++) {
        size_t used = read_entry(zip, rest, &entries[i]);
        rest = (struct nuc_span){rest.data + used, rest.size - used};
    }
    zip->count = (size_t)d.count;
    zip->entries = entries;
    sort_entries(zip);
    return zip;
}

const struct nuc_zip_entry *nuc_zip_find(const struct nuc_zip *zip, const char *name)
{
    struct nuc_zip_entry key = {.name = name};
    const struct nuc_zip_entry *wanted = &key;

    if (zip->count == 0)
        return NULL;
    const struct nuc_zip_entry **found = bsearch(&wanted, zip->sorted, zip->count, sizeof *zip->sorted, by_name);
    return found == NULL ? NULL : *found;
}

/* ---- content ---- */

static struct nuc_span packed_content(const struct nuc_zip *zip, const struct nuc_zip_entry *e)
{
    struct nuc_span header, content;

    if (!nuc_span_slice(zip->bytes, e->header_offset, LOCAL_SIZE, &header) ||
        nuc_load_u32(header.data) != LOCAL_SIGNATURE)
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: its header is not where the directory says", zip->path,
                 e->name);
    uint64_t offset = e->header_offset + LOCAL_SIZE + nuc_load_u16(header.data + 26) + nuc_load_u16(header.data + 28);
    if (!nuc_span_slice(zip->bytes, offset, e->packed_size, &content))
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: its %llu bytes reach beyond the end of the file", zip->path,
                 e->name, (unsigned long long)e->packed_size);
    return content;
}

/* What libzip has open; registered for closing before it is opened. */
struct opened {
    zip_t *archive;
    zip_file_t *file;
};

static void close_opened(void *object)
{
    struct opened *o = object;

    if (o->file != NULL)
        zip_fclose(o->file);
    if (o->archive != NULL)
        zip_discard(o->archive);
}

/* libzip reads the mapped bytes; it must see the same entry at the same place of the directory. */
static void open_entry(const struct nuc_zip *zip, const struct nuc_zip_entry *e, struct opened *o)
{
    zip_uint64_t index = (zip_uint64_t)(e - zip->entries);
    zip_source_t *source = zip_source_buffer_create(zip->bytes.data, zip->bytes.size, 0, NULL);

    o->archive = source == NULL ? NULL : zip_open_from_source(source, ZIP_RDONLY, NULL);
    if (o->archive == NULL) {
        zip_source_free(source);
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: libzip cannot open the archive", zip->path);
    }
    const char *name = zip_get_name(o->archive, index, ZIP_FL_ENC_RAW);
    if (name == NULL || strcmp(name, e->name) != 0)
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: libzip reads another directory", zip->path, e->name);
    o->file = zip_fopen_index(o->archive, index, 0);
    if (o->file == NULL)
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: %s", zip->path, e->name, zip_strerror(o->archive));
}

static struct nuc_span inflate(const struct nuc_zip *zip, const struct nuc_zip_entry *e)
{
    struct nuc_span packed = packed_content(zip, e);

    if (e->size / MAX_INFLATION > packed.size)
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: %zu bytes cannot inflate to %llu", zip->path, e->name,
                 packed.size, (unsigned long long)e->size);
    uint8_t *content = nuc_alloc(zip->cx, (size_t)e->size);
    struct nuc_arena *outer = nuc_push_arena(zip->cx);
    struct opened *o = nuc_alloc(zip->cx, sizeof *o);
    nuc_defer(zip->cx, close_opened, o);
    open_entry(zip, e, o);
    if (zip_fread(o->file, content, e->size) != (zip_int64_t)e->size)
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: its deflated bytes are damaged", zip->path, e->name);
    nuc_pop_arena(zip->cx, outer);
    return (struct nuc_span){content, (size_t)e->size};
}

struct nuc_span nuc_zip_read(const struct nuc_zip *zip, const struct nuc_zip_entry *e)
{
    if (e->method == DEFLATED)
        return inflate(zip, e);
    if (e->method != STORED)
        nuc_fail(zip->cx, NUC_UNSUPPORTED, "%s: entry %s: compression method %u; only stored and deflated are read",
                 zip->path, e->name, e->method);
    if (e->size != e->packed_size)
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: it is stored, but its two sizes differ", zip->path, e->name);
    return packed_content(zip, e);
}
