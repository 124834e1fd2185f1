/*
 * Files of the host. Only regular files are read, by read() and not by mapping: a file that shrinks or changes under
 * way is an error. Files are written whole: under another name first, then renamed. Messages name the file.
 */
#ifndef NUC_HOST_FILE_H
#define NUC_HOST_FILE_H

#include "device/base/span.h"
#include "host/context.h"
#include "host/pieces.h"

/* ---- reading ---- */

struct nuc_file {
    struct nuc_context *cx;
    const char *path;
    uint64_t size;         /* when it was opened */
    const uint8_t *memory; /* NULL: on the disk */
    int fd;
    int64_t seconds, nanoseconds; /* of the last change before it was opened */
};

/* What is to be read: a file, or bytes in memory, which are borrowed; `path` then stands for them in messages. */
struct nuc_stored {
    const char *path;
    struct nuc_span bytes; /* data NULL: the file */
};

/* Opens what is read, as nuc_open_file() does. */
struct nuc_file *nuc_open_stored(struct nuc_context *cx, struct nuc_stored input);

/* Opens a regular file until the current arena is freed. A pipe, a device or a folder is refused and never waited for.
 */
struct nuc_file *nuc_open_file(struct nuc_context *cx, const char *path);

/* Closes it before its arena is freed. */
void nuc_close_file(struct nuc_file *file);

/* The bytes from `offset` on, all of them. Fails when there are fewer, or the file was changed since it was opened. */
void nuc_read_at(const struct nuc_file *file, uint64_t offset, void *to, size_t size);

/* Fails when so many bytes of it are more than nuc_memory_limit(). */
void nuc_check_memory(const struct nuc_file *file, uint64_t size);

/* The same in new memory of an arena of the file's context, at most nuc_memory_limit(). */
struct nuc_span nuc_read_part(const struct nuc_file *file, struct nuc_arena *arena, uint64_t offset, uint64_t size);

/* The whole file, at most nuc_memory_limit(); lives as long as the current arena. */
struct nuc_span nuc_read_file(struct nuc_context *cx, const char *path);

/* The same of an input. Bytes in memory are not copied where they lie as those of a file would. */
struct nuc_span nuc_read_stored(struct nuc_context *cx, struct nuc_stored input);

uint64_t nuc_stored_size(struct nuc_context *cx, struct nuc_stored input);

/* Up to `most` bytes of its beginning: what it is can be told without reading it. */
struct nuc_span nuc_read_head(struct nuc_context *cx, struct nuc_stored input, size_t most);

/* ---- writing ---- */

/*
 * Replaces the file as a whole: no reader and no failure sees half of it, and it is on the disk when the call returns.
 * A file that was there keeps its mode and, as far as the process may, its owner; of a symbolic link, what it points to
 * is replaced. What this user may not write to is not replaced. Pipes and devices are written to in place.
 */
void nuc_write_file(struct nuc_context *cx, const char *path, struct nuc_span bytes);

/*
 * Makes a folder, unless it is there, which is gone with the context if it is empty then. When it cannot be made,
 * writing into it says why.
 */
void nuc_make_folder(struct nuc_context *cx, const char *path);

/* The same for bytes that do not lie together. */
void nuc_write_pieces(struct nuc_context *cx, const char *path, const struct nuc_pieces *pieces);

/* The same for the characters of a text. */
void nuc_write_text(struct nuc_context *cx, const char *path, const char *text);

/* For a file that need not outlive a crash, and that is wanted when the call fails as well: written at once. */
void nuc_write_scratch(struct nuc_context *cx, const char *path, struct nuc_span bytes);

/*
 * Several files as one: between begin and commit, nuc_write_file() makes the new files under other names only, and
 * commit renames them, or none when one cannot be. Begin and end stand around the nuc_try() that the rest is in; end
 * removes what was not committed. They do not nest: inside, begin returns false, and the outer commit counts.
 *
 *     bool begun = nuc_begin_outputs(cx);
 *     nuc_try(cx, ...);       writes, then calls nuc_commit_outputs(cx) when begun
 *     if (begun)
 *         nuc_end_outputs(cx);
 */
bool nuc_begin_outputs(struct nuc_context *cx);
void nuc_commit_outputs(struct nuc_context *cx);
void nuc_end_outputs(struct nuc_context *cx);

/* File `index` of those that were committed, in their order; false: there is none. */
bool nuc_written_output(const struct nuc_context *cx, size_t index, const char **path, size_t *bytes);

/* The part of a path after the last '/'. */
const char *nuc_base_name(const char *path);

#endif
