/* Zip archives whose bytes depend on nothing else: stored entries, fixed time stamps, content aligned to 64 bytes. */
#ifndef NUC_ARCHIVE_ZIP_WRITE_H
#define NUC_ARCHIVE_ZIP_WRITE_H

#include "host/pieces.h"

struct nuc_zip_writer;

struct nuc_zip_writer *nuc_zip_writer_new(struct nuc_context *cx);

/* The content stays the caller's and must not change before nuc_zip_finish(). */
void nuc_zip_add(struct nuc_zip_writer *w, const char *name, struct nuc_span content);
void nuc_zip_add_pieces(struct nuc_zip_writer *w, const char *name, const struct nuc_pieces *content);

/*
 * The finished archive: headers, in the arena, between the contents, which are still the caller's. Fails when it
 * exceeds 4 GiB. `path` is for the message.
 */
struct nuc_pieces nuc_zip_finish(struct nuc_zip_writer *w, const char *path);

#endif
