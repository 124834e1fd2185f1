/* Zip archives that contradict themselves, built byte by byte. */
#include "contexts.h"

#include <unistd.h>
#include <zlib.h>

#include "archive/zip.h"
#include "host/file.h"

#define MAX_ENTRIES 4
#define MEGABYTE ((size_t)1 << 20)

struct entry {
    const char *name, *local_name; /* local_name NULL: the same */
    uint16_t flags, method, local_method;
    uint32_t checksum, local_checksum;
    uint32_t size, local_size;
    struct nuc_span packed;
    uint32_t packed_size; /* as stated */
    uint32_t attributes;
    int alias; /* entry whose header the directory names; -1: its own */
};

struct archive {
    struct entry entries[MAX_ENTRIES];
    size_t count;
    uint16_t stated_count;
    const char *behind; /* bytes between directory and end */
    uint8_t *bytes;
    size_t size;
};

static void put(struct archive *a, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        a->bytes[a->size++] = (uint8_t)(value >> (8 * i));
}

static void put_bytes(struct archive *a, const void *bytes, size_t size)
{
    if (size != 0)
        memcpy(a->bytes + a->size, bytes, size);
    a->size += size;
}

static struct nuc_span build(struct nuc_context *cx, struct archive *a)
{
    size_t offsets[MAX_ENTRIES], most = 4096;

    for (size_t i = 0; i < a->count; i++)
        most += a->entries[i].packed.size;
    a->bytes = nuc_alloc(cx, most);
    a->size = 0;
    for (size_t i = 0; i < a->count; i++) {
        const struct entry *e = &a->entries[i];
        const char *name = e->local_name != NULL ? e->local_name : e->name;
        offsets[i] = a->size;
        put(a, 0x04034b50u, 4);
        put(a, 20, 2);
        put(a, e->flags, 2);
        put(a, e->local_method, 2);
        put(a, 0, 4);
        put(a, e->local_checksum, 4);
        put(a, (e->flags & 8) != 0 ? 0 : e->packed_size, 4);
        put(a, e->local_size, 4);
        put(a, strlen(name), 2);
        put(a, 0, 2);
        put_bytes(a, name, strlen(name));
        put_bytes(a, e->packed.data, e->packed.size);
    }
    size_t start = a->size;
    for (size_t i = 0; i < a->count; i++) {
        const struct entry *e = &a->entries[i];
        put(a, 0x02014b50u, 4);
        put(a, 3 << 8 | 20, 2); /* made on a Unix */
        put(a, 20, 2);
        put(a, e->flags, 2);
        put(a, e->method, 2);
        put(a, 0, 4);
        put(a, e->checksum, 4);
        put(a, e->packed_size, 4);
        put(a, e->size, 4);
        put(a, strlen(e->name), 2);
        put(a, 0, 8);
        put(a, e->attributes, 4);
        put(a, offsets[e->alias < 0 ? i : (size_t)e->alias], 4);
        put_bytes(a, e->name, strlen(e->name));
    }
    if (a->behind != NULL)
        put_bytes(a, a->behind, strlen(a->behind));
    size_t size = a->size - start;
    put(a, 0x06054b50u, 4);
    put(a, 0, 4);
    put(a, a->stated_count, 2);
    put(a, a->stated_count, 2);
    put(a, size, 4);
    put(a, start, 4);
    put(a, 0, 2);
    return (struct nuc_span){a->bytes, a->size};
}

static struct entry stored(const char *name, const char *text)
{
    uint32_t size = (uint32_t)strlen(text);
    struct nuc_span bytes = {(const uint8_t *)text, size};
    uint32_t checksum = (uint32_t)crc32(0, bytes.data, size);

    return (struct entry){.name = name,
                          .checksum = checksum,
                          .local_checksum = checksum,
                          .size = size,
                          .local_size = size,
                          .packed = bytes,
                          .packed_size = size,
                          .alias = -1};
}

/* Zeros, deflated without the header of zlib's. */
static struct entry deflated(struct nuc_context *cx, const char *name, size_t size)
{
    struct entry e = stored(name, "");
    uint8_t *zeros = nuc_alloc(cx, size), *out = nuc_alloc(cx, size / 100 + 1000);
    z_stream z = {.zalloc = Z_NULL};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = zeros;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)(size / 100 + 1000);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    e.packed = (struct nuc_span){out, z.total_out};
    e.packed_size = (uint32_t)z.total_out;
    deflateEnd(&z);
    e.method = e.local_method = 8;
    e.size = e.local_size = (uint32_t)size;
    e.checksum = e.local_checksum = (uint32_t)crc32_z(0, zeros, size);
    return e;
}

static struct archive two(void)
{
    return (struct archive){
        .entries = {stored("a", "first content"), stored("b", "second content")}, .count = 2, .stated_count = 2};
}

/* ---- reading ---- */

struct reading {
    struct archive *archive;
    const char *path;
    size_t n_entries;
    struct nuc_span first;
};

static void read_all(struct nuc_context *cx, void *arg)
{
    struct reading *r = arg;

    nuc_write_file(cx, r->path, build(cx, r->archive));
    const struct nuc_zip *zip = nuc_zip_open(cx, (struct nuc_stored){.path = r->path});
    r->n_entries = zip->count;
    for (size_t i = 0; i < zip->count; i++) {
        struct nuc_span once = nuc_zip_read(zip, &zip->entries[i]);
        r->first = i == 0 ? once : r->first;
        assert_ptr_equal(nuc_zip_read(zip, &zip->entries[i]).data, once.data); /* read and inflated once */
    }
}

static enum nuc_status attempt(struct nuc_context *cx, struct archive *a, struct reading *r)
{
    char folder[] = "/tmp/nucleon-test-XXXXXX";

    assert_non_null(mkdtemp(folder));
    *r = (struct reading){.archive = a, .path = nuc_format(cx, "%s/a.zip", folder)};
    enum nuc_status status = nuc_try(cx, read_all, r);
    unlink(r->path);
    assert_int_equal(rmdir(folder), 0);
    return status;
}

static void refuses(struct nuc_context *cx, struct archive a, enum nuc_status wanted, const char *message)
{
    struct reading r;
    enum nuc_status status = attempt(cx, &a, &r);

    if (status != wanted || strstr(cx->message, message) == NULL)
        fail_msg("status %d, '%s' instead of '%s'", (int)status, cx->message, message);
}

static void reads(struct nuc_context *cx, struct archive a, size_t n_entries)
{
    struct reading r;

    if (attempt(cx, &a, &r) != NUC_OK)
        fail_msg("%s", cx->message);
    assert_int_equal(r.n_entries, n_entries);
    assert_int_equal(r.first.size, a.entries[0].size);
}

static void reads_what_is_consistent(void **state)
{
    struct nuc_context *cx = *state;
    struct archive a = two();

    reads(cx, a, 2);
    a.entries[1] = deflated(cx, "b", 3 * MEGABYTE);
    reads(cx, a, 2);
    a.entries[0] = deflated(cx, "a", 0);
    reads(cx, a, 2);
    /* Sizes and checksum behind the content: the local header has none. */
    a = two();
    a.entries[0].flags = 8;
    a.entries[0].local_size = a.entries[0].local_checksum = 0;
    reads(cx, a, 2);
    /* Folders and symbolic links are no files. */
    a = two();
    a.entries[1].name = "b/";
    reads(cx, a, 1);
    a.entries[1] = stored("link", "/etc/passwd");
    a.entries[1].attributes = 0xa1ffu << 16;
    reads(cx, a, 1);
}

static void refuses_damaged_content(void **state)
{
    struct nuc_context *cx = *state;
    struct archive a = two();

    a.entries[0].packed.data = (const uint8_t *)"First content";
    refuses(cx, a, NUC_BAD_INPUT, "entry a: the file is damaged: CRC-32 ");
    a = two();
    a.entries[1] = deflated(cx, "b", MEGABYTE);
    a.entries[1].checksum = ++a.entries[1].local_checksum;
    refuses(cx, a, NUC_BAD_INPUT, "entry b: the file is damaged: CRC-32 ");
    a.entries[1] = deflated(cx, "b", MEGABYTE);
    a.entries[1].size = --a.entries[1].local_size;
    refuses(cx, a, NUC_BAD_INPUT, "entry b: its deflated bytes are damaged");
    a.entries[1].size = a.entries[1].local_size += 2;
    refuses(cx, a, NUC_BAD_INPUT, "entry b: its deflated bytes are damaged");
}

static void refuses_headers_that_contradict(void **state)
{
    struct nuc_context *cx = *state;
    struct archive a = two();

    a.entries[1].local_name = "c";
    refuses(cx, a, NUC_BAD_INPUT, "entry b: it has another name in its own header");
    a = two();
    a.entries[1].local_checksum ^= 1;
    refuses(cx, a, NUC_BAD_INPUT, "entry b: its own header and the directory contradict each other");
    a = two();
    a.entries[1].local_method = 8;
    refuses(cx, a, NUC_BAD_INPUT, "contradict each other");
    a = two();
    a.entries[0].local_size--;
    refuses(cx, a, NUC_BAD_INPUT, "contradict each other");
    a = two();
    a.entries[0].size++;
    refuses(cx, a, NUC_BAD_INPUT, "entry a: it is stored, but its two sizes differ");
    a = two();
    a.stated_count = 1;
    refuses(cx, a, NUC_BAD_INPUT, "its directory holds more than it counts");
    a = two();
    a.entries[1].name = "a";
    refuses(cx, a, NUC_BAD_INPUT, "entry a is there twice");
    a.entries[1].name = "";
    refuses(cx, a, NUC_BAD_INPUT, "an entry has no proper name");
}

static void refuses_bytes_of_two_entries(void **state)
{
    struct nuc_context *cx = *state;
    struct archive a = two();

    /* The second entry lies in the content of the first. */
    a.entries[0].size = a.entries[0].local_size = a.entries[0].packed_size += 20;
    refuses(cx, a, NUC_BAD_INPUT, "entries a and b share bytes of the file");
    a = two();
    a.entries[1].alias = 0;
    refuses(cx, a, NUC_BAD_INPUT, "entry b: it has another name in its own header");
    /* Content that reaches into the directory. */
    a = two();
    a.entries[1].size = a.entries[1].local_size = a.entries[1].packed_size += 20;
    refuses(cx, a, NUC_BAD_INPUT, "entry b: its 34 bytes reach beyond the end of the file");
}

static void bounds_what_inflates(void **state)
{
    struct nuc_context *cx = *state;
    struct archive a = two();

    a.entries[1] = deflated(cx, "b", MEGABYTE);
    a.entries[1].size = a.entries[1].local_size = 1u << 30;
    refuses(cx, a, NUC_BAD_INPUT, "bytes cannot inflate to 1073741824");
    /* More than 1 GiB and 16 times the file. */
    a.entries[1].packed = (struct nuc_span){nuc_alloc(cx, 3 * MEGABYTE), 3 * MEGABYTE};
    a.entries[1].packed_size = 3 * MEGABYTE;
    a.entries[1].size = a.entries[1].local_size = (1u << 30) + (60u << 20);
    refuses(cx, a, NUC_UNSUPPORTED, "the archive inflates to more than ");
}

RUN_TESTS(STATE_TEST(reads_what_is_consistent), STATE_TEST(refuses_damaged_content),
          STATE_TEST(refuses_headers_that_contradict), STATE_TEST(refuses_bytes_of_two_entries),
          STATE_TEST(bounds_what_inflates))
