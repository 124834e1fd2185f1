/*
 * Reading zip archives. The directory and all local headers are checked when an archive is opened: every offset, size
 * and name, that entries do not overlap, and that the two headers of an entry agree. An entry is read and inflated when
 * it is asked for, once, and its CRC-32 is checked then.
 */
#ifndef NUC_ARCHIVE_ZIP_H
#define NUC_ARCHIVE_ZIP_H

#include "device/base/span.h"
#include "host/context.h"
#include "host/file.h"

struct nuc_zip_entry {
    const char *name;       /* NUL-terminated; "/" between folders */
    uint16_t method;        /* 0 stored, 8 deflated */
    uint32_t checksum;      /* CRC-32 of the content */
    uint64_t size;          /* of the content */
    uint64_t packed_size;   /* in the file */
    uint64_t header_offset; /* of the local header */
    uint64_t offset;        /* of the packed content */
};

struct nuc_zip_state;

struct nuc_zip {
    struct nuc_context *cx;
    const char *path;
    const struct nuc_file *file;
    size_t count;
    const struct nuc_zip_entry *entries; /* in the order of the directory; folders and symbolic links are left out */
    const struct nuc_zip_entry **sorted; /* by name; names are unique */
    struct nuc_zip_state *state;         /* what was read so far */
};

/* True when the file begins as a zip archive does. */
bool nuc_is_zip(struct nuc_span bytes);

/* Reads the directory. Fails with NUC_BAD_INPUT when it is not a zip archive, is cut short or contradicts itself. */
struct nuc_zip *nuc_zip_open(struct nuc_context *cx, struct nuc_stored input);

/* NULL when there is no entry of that name. */
const struct nuc_zip_entry *nuc_zip_find(const struct nuc_zip *zip, const char *name);

/* Entries are no longer asked for; contents stay. */
void nuc_zip_close(const struct nuc_zip *zip);

/* The content; valid as long as the arena that was current at nuc_zip_open(). */
struct nuc_span nuc_zip_read(const struct nuc_zip *zip, const struct nuc_zip_entry *entry);

/* The same, entry->size bytes, in the caller's memory. */
void nuc_zip_read_to(const struct nuc_zip *zip, const struct nuc_zip_entry *entry, void *to);

/*
 * For a stored entry that is not to be held in memory: checks it piece by piece. Its content lies in zip->file at
 * entry->offset.
 */
void nuc_zip_check(const struct nuc_zip *zip, const struct nuc_zip_entry *entry);

#endif
