/* Packages of programs on the host (device/base/package.h): a file that is expected to be a program may be one. */
#ifndef NUC_ARCHIVE_PROGRAM_PACKAGE_H
#define NUC_ARCHIVE_PROGRAM_PACKAGE_H

#include <jansson.h>

#include "device/base/span.h"
#include "host/context.h"
#include "host/file.h"
#include "nucleon/update.h"

/* Whether the bytes begin as a package does; its parts then. Fails with NUC_BAD_INPUT, `file` named, for a damaged one.
 */
bool nuc_package_of(struct nuc_context *cx, const char *file, struct nuc_span bytes, struct nuc_package *out);

/* The program in the bytes: that of a package or of a bundle (archive/bundle.h), or what is there. */
struct nuc_span nuc_program_of(struct nuc_context *cx, const char *file, struct nuc_span bytes);

/* The same of a file, which is looked at first (archive/file_kind.h). */
struct nuc_span nuc_read_program(struct nuc_context *cx, const char *path);

/* What it says of the program, as members of an object (docs/json.md, "nucleon pack"). */
void nuc_package_put(struct nuc_context *cx, const struct nuc_package *p, json_t *to);

#endif
