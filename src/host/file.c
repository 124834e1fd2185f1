/* Reading files. */
#include "host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/limits.h"

uint64_t nuc_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t limit = pages > 0 && size > 0 ? (uint64_t)pages / 2 * (uint64_t)size : (uint64_t)1 << 31;

    return limit < SIZE_MAX / 2 ? limit : SIZE_MAX / 2;
}

void nuc_close_file(struct nuc_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

static void close_file(void *object)
{
    nuc_close_file(object);
}

/* All that may run out of memory comes before the file is opened, and a pipe must not be waited for. */
struct nuc_file *nuc_open_stored(struct nuc_context *cx, struct nuc_stored input)
{
    struct nuc_file *file = nuc_alloc(cx, sizeof *file);
    const char *path = input.path;
    struct stat st;

    *file = (struct nuc_file){.cx = cx, .path = nuc_strdup(cx, path), .fd = -1};
    if (input.bytes.data != NULL) {
        file->memory = input.bytes.data;
        file->size = input.bytes.size;
        return file;
    }
    nuc_defer(cx, close_file, file);
    do
        file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (file->fd < 0 && errno == EINTR);
    if (file->fd < 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(file->fd, &st) != 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        nuc_fail(cx, NUC_IO, "%s: is not a regular file but %s: write its bytes to a file first", path,
                 S_ISDIR(st.st_mode)                          ? "a folder"
                 : S_ISFIFO(st.st_mode)                       ? "a pipe"
                 : S_ISSOCK(st.st_mode)                       ? "a socket"
                 : S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ? "a device"
                                                              : "of an unknown kind");
    file->size = (uint64_t)st.st_size;
    file->seconds = st.st_mtim.tv_sec;
    file->nanoseconds = st.st_mtim.tv_nsec;
    /* Files of /proc say that they are empty, and are not. */
    char byte;
    if (file->size == 0 && pread(file->fd, &byte, 1, 0) > 0)
        nuc_fail(file->cx, NUC_IO, "%s: is a file without a size, such as those of /proc: copy it and give the copy",
                 file->path);
    return file;
}

struct nuc_file *nuc_open_file(struct nuc_context *cx, const char *path)
{
    return nuc_open_stored(cx, (struct nuc_stored){.path = path});
}

_Noreturn static void changed(const struct nuc_file *file)
{
    nuc_fail(file->cx, NUC_IO, "%s: was changed while it was read: try again when it is complete", file->path);
}

void nuc_read_at(const struct nuc_file *file, uint64_t offset, void *to, size_t size)
{
    uint8_t *at = to;

    if (file->memory != NULL) {
        if (offset > file->size || size > file->size - offset)
            changed(file);
        if (size != 0)
            memcpy(to, file->memory + offset, size);
        return;
    }
    while (size > 0) {
        ssize_t n = pread(file->fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            nuc_fail(file->cx, NUC_IO, "%s: cannot be read: %s", file->path, strerror(errno));
        if (n == 0)
            changed(file);
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        nuc_fail(file->cx, NUC_IO, "%s: cannot be read: %s", file->path, strerror(errno));
    if ((uint64_t)st.st_size != file->size || st.st_mtim.tv_sec != file->seconds ||
        st.st_mtim.tv_nsec != file->nanoseconds)
        changed(file);
}

#define NEVER_TOO_MUCH ((uint64_t)1 << 16) /* for which the system is not asked */

void nuc_check_memory(const struct nuc_file *file, uint64_t size)
{
    uint64_t limit = size > NEVER_TOO_MUCH ? nuc_memory_limit() : NEVER_TOO_MUCH;

    if (size > limit)
        nuc_fail(file->cx, NUC_UNSUPPORTED,
                 "%s: %llu bytes are more than half of this machine's memory (limit %llu): use a machine with more",
                 file->path, (unsigned long long)size, (unsigned long long)limit);
}

struct nuc_span nuc_read_part(const struct nuc_file *file, struct nuc_arena *arena, uint64_t offset, uint64_t size)
{
    nuc_check_memory(file, size);
    uint8_t *bytes = nuc_alloc_unset(file->cx, arena, (size_t)size);
    nuc_read_at(file, offset, bytes, (size_t)size);
    return (struct nuc_span){bytes, (size_t)size};
}

struct nuc_span nuc_read_file(struct nuc_context *cx, const char *path)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    const struct nuc_file *file = nuc_open_file(cx, path);

    struct nuc_span bytes = nuc_read_part(file, outer, 0, file->size);
    nuc_pop_arena(cx, outer);
    return bytes;
}

struct nuc_span nuc_read_stored(struct nuc_context *cx, struct nuc_stored input)
{
    if (input.bytes.data == NULL)
        return nuc_read_file(cx, input.path);
    if ((uintptr_t)input.bytes.data % _Alignof(max_align_t) != 0)
        input.bytes.data = nuc_copy(cx, input.bytes.data, input.bytes.size);
    return input.bytes;
}

uint64_t nuc_stored_size(struct nuc_context *cx, struct nuc_stored input)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    uint64_t size = nuc_open_stored(cx, input)->size;

    nuc_pop_arena(cx, outer);
    return size;
}

struct nuc_span nuc_read_head(struct nuc_context *cx, struct nuc_stored input, size_t most)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    const struct nuc_file *file = nuc_open_stored(cx, input);

    struct nuc_span bytes = nuc_read_part(file, outer, 0, file->size < most ? file->size : most);
    nuc_pop_arena(cx, outer);
    return bytes;
}

const char *nuc_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}
