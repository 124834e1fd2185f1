/* Files of the host: mapped for reading, written whole and atomically. Messages name the file. */
#ifndef NUC_HOST_FILE_H
#define NUC_HOST_FILE_H

#include "base/span.h"
#include "host/context.h"

/* Maps a regular file read-only; the bytes stay valid as long as the current arena. An empty file gives size 0. */
struct nuc_span nuc_map_file(struct nuc_context *cx, const char *path);

/* Writes to a temporary name in the same folder and renames it over `path`: no reader sees half a file. */
void nuc_write_file(struct nuc_context *cx, const char *path, struct nuc_span bytes);

/* The same for the characters of a text. */
void nuc_write_text(struct nuc_context *cx, const char *path, const char *text);

/* The part of a path after the last '/'. */
const char *nuc_base_name(const char *path);

#endif
