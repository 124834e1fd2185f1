#include "host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is released; address NULL: nothing is mapped yet. */
struct mapping {
    void *address;
    size_t size;
};

static void unmap(void *object)
{
    struct mapping *m = object;

    if (m->address != NULL)
        munmap(m->address, m->size);
}

/* All that may run out of memory comes before the file is opened: after that, nothing leaves without closing it. */
struct nuc_span nuc_map_file(struct nuc_context *cx, const char *path)
{
    struct mapping *m = nuc_alloc(cx, sizeof *m);
    struct stat st;

    nuc_defer(cx, unmap, m);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        nuc_fail(cx, NUC_IO, "%s: is not a regular file", path);
    }
    size_t size = (size_t)st.st_size;
    if (size == 0) {
        close(fd);
        return (struct nuc_span){(const uint8_t *)"", 0};
    }
    void *address = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    int error = errno;
    close(fd);
    if (address == MAP_FAILED)
        nuc_fail(cx, NUC_IO, "%s: cannot be mapped: %s", path, strerror(error));
    *m = (struct mapping){address, size};
    return (struct nuc_span){address, size};
}

static bool write_all(int fd, struct nuc_span bytes)
{
    size_t done = 0;

    while (done < bytes.size) {
        ssize_t n = write(fd, bytes.data + done, bytes.size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool is_special_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Devices and pipes cannot be replaced by a rename; they are written in place. */
static void write_special(struct nuc_context *cx, const char *path, struct nuc_span bytes)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write_all(fd, bytes);

    int error = errno;
    if (fd >= 0)
        close(fd);
    if (!good)
        nuc_fail(cx, NUC_IO, "%s: cannot be written: %s", path, strerror(error));
}

void nuc_write_file(struct nuc_context *cx, const char *path, struct nuc_span bytes)
{
    if (is_special_file(path)) {
        write_special(cx, path, bytes);
        return;
    }
    char *temporary = nuc_format(cx, "%s.XXXXXX", path);
    mode_t mask = umask(0);
    umask(mask);
    int fd = mkstemp(temporary);

    if (fd < 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be written: %s", path, strerror(errno));
    bool good = write_all(fd, bytes) && fchmod(fd, 0666 & ~mask) == 0;
    int error = errno;
    if (close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && rename(temporary, path) != 0) {
        good = false;
        error = errno;
    }
    if (!good) {
        unlink(temporary);
        nuc_fail(cx, NUC_IO, "%s: cannot be written: %s", path, strerror(error));
    }
}

const char *nuc_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

void nuc_write_text(struct nuc_context *cx, const char *path, const char *text)
{
    nuc_write_file(cx, path, (struct nuc_span){(const uint8_t *)text, strlen(text)});
}
