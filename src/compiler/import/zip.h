/*
 * Reading zip archives in place. The bytes of a stored entry are used where the mapped file has them; a deflated entry
 * is inflated through libzip. Every offset, size and name is checked against the file. Checksums are not verified.
 */
#ifndef NUC_IMPORT_ZIP_H
#define NUC_IMPORT_ZIP_H

#include "base/span.h"
#include "host/context.h"

struct nuc_zip_entry {
    const char *name;       /* NUL-terminated; "/" between folders */
    uint16_t method;        /* 0 stored, 8 deflated */
    uint64_t size;          /* of the content */
    uint64_t packed_size;   /* in the file */
    uint64_t header_offset; /* of the local header */
};

struct nuc_zip {
    struct nuc_context *cx;
    const char *path;
    struct nuc_span bytes; /* the whole file, mapped */
    size_t count;
    const struct nuc_zip_entry *entries; /* in the order of the central directory */
    const struct nuc_zip_entry **sorted; /* by name; names are unique */
};

/* True when the file begins as a zip archive does. */
bool nuc_is_zip(struct nuc_span bytes);

/* Maps the file and reads its directory. Fails with NUC_BAD_INPUT when it is not a zip archive or is cut short. */
struct nuc_zip *nuc_zip_open(struct nuc_context *cx, const char *path);

/* NULL when there is no entry of that name. */
const struct nuc_zip_entry *nuc_zip_find(const struct nuc_zip *zip, const char *name);

/* The content; valid as long as the arena that was current at nuc_zip_open() and the current one. */
struct nuc_span nuc_zip_read(const struct nuc_zip *zip, const struct nuc_zip_entry *entry);

#endif
