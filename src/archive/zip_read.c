/* The directory of a zip archive (PKWARE APPNOTE 6.3, zip64 included), its local headers, the content of its entries.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "archive/zip.h"
#include "host/hash.h"
#include "host/limits.h"

/*
 * Records, all little-endian; the fields that are read, with their offsets:
 *   end         4 u16 disk, 10 u16 entries, 12 u32 size and 16 u32 offset of the directory, 20 u16 length of the
 * comment locator64   8 u64 offset of end64; stands right in front of end end64      32 u64 entries, 40 u64 size and 48
 * u64 offset of the directory central     4 u16 made by, 8 u16 flags, 10 u16 method, 16 u32 CRC-32, 20 u32 packed size,
 * 24 u32 size, 28/30/32 u16 lengths of name, extra field and comment, 38 u32 attributes, 42 u32 offset of the local
 * header; then name, extra field, comment local       6 u16 flags, 8 u16 method, 14 u32 CRC-32, 18 u32 packed size, 22
 * u32 size, 26/28 u16 lengths of name and extra field; then these and the content. With the flag DESCRIPTOR, CRC-32 and
 * sizes follow the content.
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
#define DESCRIPTOR 8u
#define STORED 0u
#define DEFLATED 8u

/* Of `made by` and of the attributes, where the archive was made on a Unix. */
#define MADE_ON_UNIX 3u
#define FILE_TYPE 0xf000u
#define SYMBOLIC_LINK 0xa000u

/* Deflate cannot expand more than 1032 times (two bits for a match of 258 bytes). */
#define MAX_INFLATION 1032u

/* What is read at once of an entry that is not held in memory. */
#define PIECE ((size_t)1 << 20)

struct directory {
    uint64_t offset, size, count;
};

#define AHEAD 4096u

struct nuc_zip_state {
    struct nuc_arena *arena;    /* that contents live in */
    struct nuc_span *contents;  /* by entry; data NULL: not read yet */
    uint64_t inflated, allowed; /* bytes, all entries together */
    /* What was read last of small entries and headers, which lie next to each other. */
    uint64_t ahead_at;
    size_t n_ahead;
    uint8_t ahead[AHEAD];
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

_Noreturn static void bad_entry(const struct nuc_zip *zip, const struct nuc_zip_entry *e, const char *what)
{
    nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: %s; copy or export the file again", zip->path, e->name, what);
}

/* ---- directory ---- */

static struct nuc_span read_here(const struct nuc_zip *zip, uint64_t offset, uint64_t size)
{
    return nuc_read_part(zip->file, zip->cx->arena, offset, size);
}

static void read_near(const struct nuc_zip *zip, uint64_t offset, void *to, size_t size)
{
    struct nuc_zip_state *s = zip->state;
    const uint64_t left = offset < zip->file->size ? zip->file->size - offset : 0;

    if (size > AHEAD / 4 || size > left) {
        nuc_read_at(zip->file, offset, to, size);
        return;
    }
    if (offset < s->ahead_at || offset - s->ahead_at > s->n_ahead || size > s->n_ahead - (offset - s->ahead_at)) {
        s->n_ahead = 0;
        nuc_read_at(zip->file, offset, s->ahead, left < AHEAD ? (size_t)left : AHEAD);
        s->ahead_at = offset;
        s->n_ahead = left < AHEAD ? (size_t)left : AHEAD;
    }
    memcpy(to, s->ahead + (offset - s->ahead_at), size);
}

/* The end record: its signature, and a comment that reaches exactly to the end of the file. */
static size_t find_end(const struct nuc_zip *zip, struct nuc_span tail)
{
    for (size_t back = END_SIZE; back <= tail.size; back++) {
        const uint8_t *p = tail.data + tail.size - back;
        if (nuc_load_u32(p) == END_SIGNATURE && nuc_load_u16(p + 20) == back - END_SIZE)
            return tail.size - back;
    }
    bad_zip(zip, "the end of its directory is missing, the file is cut short");
}

/* The end records lie behind the directory. */
static struct directory find_directory(const struct nuc_zip *zip)
{
    uint64_t size = zip->file->size, most = END_SIZE + MAX_COMMENT + LOCATOR64_SIZE;

    if (!nuc_is_zip(read_here(zip, 0, size < 4 ? size : 4)))
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: is not a zip archive", zip->path);
    struct nuc_span tail = read_here(zip, size < most ? 0 : size - most, size < most ? size : most);
    size_t end = find_end(zip, tail);
    const uint8_t *p = tail.data + end;
    uint64_t limit = size - tail.size + end;
    struct directory d = {nuc_load_u32(p + 16), nuc_load_u32(p + 12), nuc_load_u16(p + 10)};
    bool is_zip64 = d.offset == UINT32_MAX || d.size == UINT32_MAX || d.count == UINT16_MAX;

    if (nuc_load_u16(p + 4) != 0 && nuc_load_u16(p + 4) != UINT16_MAX)
        bad_zip(zip, "it is a part of an archive of several files");
    if (is_zip64 && end >= LOCATOR64_SIZE && nuc_load_u32(p - LOCATOR64_SIZE) == LOCATOR64_SIGNATURE) {
        uint64_t at = nuc_load_u64(p - LOCATOR64_SIZE + 8);
        limit -= LOCATOR64_SIZE;
        if (limit < END64_SIZE || at > limit - END64_SIZE)
            bad_zip(zip, "its zip64 end record is not where it should be");
        struct nuc_span record = read_here(zip, at, END64_SIZE);
        if (nuc_load_u32(record.data) != END64_SIGNATURE)
            bad_zip(zip, "its zip64 end record is not where it should be");
        limit = at;
        d = (struct directory){nuc_load_u64(record.data + 48), nuc_load_u64(record.data + 40),
                               nuc_load_u64(record.data + 32)};
    }
    if (d.offset > limit || d.size > limit - d.offset || d.count > d.size / CENTRAL_SIZE)
        bad_zip(zip, "its directory lies outside the file");
    if (d.size > NUC_MAX_ZIP_DIRECTORY)
        nuc_fail(zip->cx, NUC_UNSUPPORTED,
                 "%s: the archive's directory has %llu bytes (limit %llu): put fewer files into it", zip->path,
                 (unsigned long long)d.size, (unsigned long long)NUC_MAX_ZIP_DIRECTORY);
    return d;
}

/* Fields that are all ones in a record stand, in this order, in the zip64 extra field. */
static void read_zip64(const struct nuc_zip *zip, struct nuc_span extra, uint64_t *const fields[], size_t count)
{
    while (extra.size >= 4) {
        uint16_t id = nuc_load_u16(extra.data);
        struct nuc_span body;
        if (!nuc_span_slice(extra, 4, nuc_load_u16(extra.data + 2), &body))
            return;
        for (size_t i = 0; id == 1 && i < count; i++) {
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

/* Folders, and symbolic links, which nothing here follows. */
static bool is_no_file(const uint8_t *record, const char *name)
{
    bool is_unix = nuc_load_u16(record + 4) >> 8 == MADE_ON_UNIX;

    return name[strlen(name) - 1] == '/' || (is_unix && (nuc_load_u32(record + 38) >> 16 & FILE_TYPE) == SYMBOLIC_LINK);
}

/* Reads the record at the start of `rest`; returns its length. */
static size_t read_entry(const struct nuc_zip *zip, struct nuc_span rest, struct nuc_zip_entry *e, bool *is_file)
{
    const uint8_t *p = rest.data;
    struct nuc_span name, extra;

    if (rest.size < CENTRAL_SIZE || nuc_load_u32(p) != CENTRAL_SIGNATURE)
        bad_zip(zip, "a directory record is not where it should be");
    uint16_t name_size = nuc_load_u16(p + 28);
    uint16_t extra_size = nuc_load_u16(p + 30);
    size_t used = CENTRAL_SIZE + (size_t)name_size + extra_size + nuc_load_u16(p + 32);
    if (used > rest.size || !nuc_span_slice(rest, CENTRAL_SIZE, name_size, &name) ||
        !nuc_span_slice(rest, CENTRAL_SIZE + name_size, extra_size, &extra))
        bad_zip(zip, "a directory record is cut short");
    if (name.size == 0 || memchr(name.data, '\0', name.size) != NULL)
        bad_zip(zip, "an entry has no proper name");
    char *text = nuc_alloc(zip->cx, name.size + 1);
    memcpy(text, name.data, name.size);
    *e = (struct nuc_zip_entry){
        .name = text,
        .method = nuc_load_u16(p + 10),
        .checksum = nuc_load_u32(p + 16),
        .size = nuc_load_u32(p + 24),
        .packed_size = nuc_load_u32(p + 20),
        .header_offset = nuc_load_u32(p + 42),
    };
    read_zip64(zip, extra, (uint64_t *const[]){&e->size, &e->packed_size, &e->header_offset}, 3);
    if ((nuc_load_u16(p + 8) & ENCRYPTED) != 0)
        nuc_fail(zip->cx, NUC_UNSUPPORTED, "%s: entry %s is encrypted", zip->path, e->name);
    if (e->method == STORED && e->size != e->packed_size)
        bad_entry(zip, e, "it is stored, but its two sizes differ");
    *is_file = !is_no_file(p, e->name);
    return used;
}

/* ---- local headers ---- */

/*
 * Readers that go by the local headers must find the same archive: name, method, CRC-32 and sizes are the same. The
 * end of the content must not lie behind `end`.
 */
static void check_local(const struct nuc_zip *zip, struct nuc_zip_entry *e, uint64_t end)
{
    struct nuc_arena *outer = nuc_push_arena(zip->cx);
    size_t length = strlen(e->name);

    if (e->header_offset > end || end - e->header_offset < LOCAL_SIZE + length)
        bad_entry(zip, e, "its header is not where the directory says");
    uint8_t *p = nuc_alloc(zip->cx, LOCAL_SIZE + length);
    read_near(zip, e->header_offset, p, LOCAL_SIZE + length);
    uint16_t extra_size = nuc_load_u16(p + 28);
    bool later = (nuc_load_u16(p + 6) & DESCRIPTOR) != 0;
    uint64_t size = nuc_load_u32(p + 22), packed_size = nuc_load_u32(p + 18);
    if (nuc_load_u32(p) != LOCAL_SIGNATURE)
        bad_entry(zip, e, "its header is not where the directory says");
    if (nuc_load_u16(p + 26) != length || memcmp(p + LOCAL_SIZE, e->name, length) != 0)
        bad_entry(zip, e, "it has another name in its own header");
    e->offset = e->header_offset + LOCAL_SIZE + length + extra_size;
    if (e->offset > end || e->packed_size > end - e->offset)
        nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: its %llu bytes reach beyond the end of the file", zip->path,
                 e->name, (unsigned long long)e->packed_size);
    if (size == UINT32_MAX || packed_size == UINT32_MAX)
        read_zip64(zip, read_here(zip, e->offset - extra_size, extra_size), (uint64_t *const[]){&size, &packed_size},
                   2);
    bool same = size == e->size && packed_size == e->packed_size && nuc_load_u32(p + 14) == e->checksum;
    bool absent = later && size == 0 && packed_size == 0 && nuc_load_u32(p + 14) == 0;
    if (nuc_load_u16(p + 8) != e->method || (!same && !absent))
        bad_entry(zip, e, "its own header and the directory contradict each other");
    nuc_pop_arena(zip->cx, outer);
}

static int by_offset(const void *a, const void *b)
{
    const struct nuc_zip_entry *const *x = a;
    const struct nuc_zip_entry *const *y = b;

    return ((*x)->header_offset > (*y)->header_offset) - ((*x)->header_offset < (*y)->header_offset);
}

static int by_name(const void *a, const void *b)
{
    const struct nuc_zip_entry *const *x = a;
    const struct nuc_zip_entry *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Half of the machine's memory at most, and in proportion to the file: what is repeated deflates a thousand times. */
static uint64_t allowed_inflation(uint64_t size)
{
    uint64_t limit = nuc_memory_limit();

    return size < limit / NUC_MAX_INFLATION_OF_FILE && NUC_MAX_INFLATED + size * NUC_MAX_INFLATION_OF_FILE < limit
               ? NUC_MAX_INFLATED + size * NUC_MAX_INFLATION_OF_FILE
               : limit;
}

struct nuc_zip *nuc_zip_open(struct nuc_context *cx, struct nuc_stored input)
{
    struct nuc_zip *zip = nuc_alloc(cx, sizeof *zip);

    zip->cx = cx;
    zip->file = nuc_open_stored(cx, input);
    zip->path = zip->file->path;
    zip->state = nuc_alloc(cx, sizeof *zip->state);
    zip->state->arena = cx->arena;
    zip->state->allowed = allowed_inflation(zip->file->size);
    struct directory d = find_directory(zip);
    struct nuc_span rest = read_here(zip, d.offset, d.size);
    struct nuc_zip_entry *entries = nuc_alloc_array(zip->cx, (size_t)d.count, sizeof *entries);
    for (size_t i = 0; i < d.count; i++) {
        bool is_file;
        size_t used = read_entry(zip, rest, &entries[zip->count], &is_file);
        rest = (struct nuc_span){rest.data + used, rest.size - used};
        if (is_file)
            check_local(zip, &entries[zip->count++], d.offset);
    }
    if (rest.size != 0)
        bad_zip(zip, "its directory holds more than it counts");
    nuc_give_back(cx, rest.data - d.size, (size_t)d.size);
    zip->entries = entries;
    zip->sorted = nuc_alloc_array(zip->cx, zip->count, sizeof *zip->sorted);
    for (size_t i = 0; i < zip->count; i++)
        zip->sorted[i] = &zip->entries[i];
    if (zip->count != 0)
        qsort(zip->sorted, zip->count, sizeof *zip->sorted, by_name);
    for (size_t i = 1; i < zip->count; i++) {
        if (strcmp(zip->sorted[i - 1]->name, zip->sorted[i]->name) == 0)
            nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s is there twice", zip->path, zip->sorted[i]->name);
    }
    /* Bytes that belong to two entries would be read, and inflated, once for each. */
    struct nuc_arena *outer = nuc_push_arena(zip->cx);
    const struct nuc_zip_entry **list = nuc_alloc_array(zip->cx, zip->count, sizeof *list);
    for (size_t i = 0; i < zip->count; i++)
        list[i] = &zip->entries[i];
    if (zip->count != 0)
        qsort(list, zip->count, sizeof *list, by_offset);
    for (size_t i = 1; i < zip->count; i++) {
        if (list[i]->header_offset < list[i - 1]->offset + list[i - 1]->packed_size)
            nuc_fail(zip->cx, NUC_BAD_INPUT,
                     "%s: damaged zip archive: entries %s and %s share bytes of the file; export the file again",
                     zip->path, list[i - 1]->name, list[i]->name);
    }
    nuc_pop_arena(zip->cx, outer);
    zip->state->contents = nuc_alloc_array(cx, zip->count, sizeof *zip->state->contents);
    return zip;
}

void nuc_zip_close(const struct nuc_zip *zip)
{
    nuc_give_back(zip->cx, zip->entries, zip->count * sizeof *zip->entries);
    nuc_give_back(zip->cx, zip->sorted, zip->count * sizeof *zip->sorted);
    nuc_give_back(zip->cx, zip->state->contents, zip->count * sizeof *zip->state->contents);
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

static void check_checksum(const struct nuc_zip *zip, const struct nuc_zip_entry *e, uint32_t found)
{
    if (found != e->checksum)
        nuc_fail(zip->cx, NUC_BAD_INPUT,
                 "%s: entry %s: the file is damaged: CRC-32 %08x instead of %08x; copy or export the file again",
                 zip->path, e->name, (unsigned)found, (unsigned)e->checksum);
}

/* Z_STREAM_END when the whole input makes exactly the whole output. zlib counts in pieces of 32 bits. */
static int inflate_all(z_stream *z, struct nuc_span packed, uint8_t *content, uint64_t size)
{
    uint64_t left = size;
    size_t rest = packed.size;
    union {
        const uint8_t *in;
        Bytef *out;
    } next = {packed.data}; /* zlib does not write to its input */
    int status = Z_OK;

    z->next_in = next.out;
    z->next_out = content;
    while (status == Z_OK) {
        uInt in = rest < UINT32_MAX ? (uInt)rest : UINT32_MAX, out = left < UINT32_MAX ? (uInt)left : UINT32_MAX;
        z->avail_in = in;
        z->avail_out = out;
        status = inflate(z, Z_NO_FLUSH);
        rest -= in - z->avail_in;
        left -= out - z->avail_out;
    }
    return status == Z_STREAM_END && (rest != 0 || left != 0) ? Z_DATA_ERROR : status;
}

/* What is refused before memory is asked for. */
static void check_method(const struct nuc_zip *zip, const struct nuc_zip_entry *e)
{
    if (e->method != STORED && e->method != DEFLATED)
        nuc_fail(zip->cx, NUC_UNSUPPORTED, "%s: entry %s: compression method %u; only stored and deflated are read",
                 zip->path, e->name, e->method);
    if (e->method == DEFLATED) {
        struct nuc_zip_state *s = zip->state;
        if (e->size / MAX_INFLATION > e->packed_size)
            nuc_fail(zip->cx, NUC_BAD_INPUT, "%s: entry %s: %llu bytes cannot inflate to %llu", zip->path, e->name,
                     (unsigned long long)e->packed_size, (unsigned long long)e->size);
        if (e->size > s->allowed - s->inflated)
            nuc_fail(zip->cx, NUC_UNSUPPORTED,
                     "%s: entry %s: the archive inflates to more than %llu bytes: write it without compression",
                     zip->path, e->name, (unsigned long long)s->allowed);
        s->inflated += e->size;
    }
}

static void read_content(const struct nuc_zip *zip, const struct nuc_zip_entry *e, void *to)
{
    if (e->method == DEFLATED) {
        uint8_t *content = to;
        struct nuc_arena *outer = nuc_push_arena(zip->cx);
        struct nuc_span packed = read_here(zip, e->offset, e->packed_size);
        z_stream z = {.zalloc = Z_NULL};
        int status = inflateInit2(&z, -MAX_WBITS);
        if (status == Z_OK) {
            status = inflate_all(&z, packed, content, e->size);
            inflateEnd(&z);
        }
        if (status == Z_MEM_ERROR)
            nuc_fail(zip->cx, NUC_NO_MEMORY, "%s: entry %s: out of memory", zip->path, e->name);
        if (status != Z_STREAM_END)
            bad_entry(zip, e, "its deflated bytes are damaged");
        nuc_pop_arena(zip->cx, outer);
    } else {
        read_near(zip, e->offset, to, (size_t)e->size);
    }
    check_checksum(zip, e, nuc_crc32_of(0, to, (size_t)e->size));
}

void nuc_zip_read_to(const struct nuc_zip *zip, const struct nuc_zip_entry *e, void *to)
{
    check_method(zip, e);
    read_content(zip, e, to);
}

struct nuc_span nuc_zip_read(const struct nuc_zip *zip, const struct nuc_zip_entry *e)
{
    struct nuc_span *kept = &zip->state->contents[e - zip->entries];

    if (kept->data != NULL)
        return *kept;
    check_method(zip, e);
    nuc_check_memory(zip->file, e->size);
    uint8_t *content = nuc_alloc_unset(zip->cx, zip->state->arena, (size_t)e->size + 1);
    read_content(zip, e, content);
    content[e->size] = '\0';
    *kept = (struct nuc_span){content, (size_t)e->size};
    return *kept;
}

void nuc_zip_check(const struct nuc_zip *zip, const struct nuc_zip_entry *e)
{
    struct nuc_arena *outer = nuc_push_arena(zip->cx);
    uint8_t *piece = nuc_alloc(zip->cx, PIECE);
    uint32_t checksum = 0;

    assert(e->method == STORED);
    for (uint64_t at = 0; at < e->size;) {
        size_t size = e->size - at < PIECE ? (size_t)(e->size - at) : PIECE;
        nuc_read_at(zip->file, e->offset + at, piece, size);
        checksum = nuc_crc32_of(checksum, piece, size);
        at += size;
    }
    check_checksum(zip, e, checksum);
    nuc_pop_arena(zip->cx, outer);
}
