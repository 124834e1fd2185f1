/*
 * Loaded before the C library (LD_PRELOAD): counts allocations of the program and of the libraries it uses, and makes
 * one of them fail. System calls are the sweep's own business.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "page.h"

/* glibc's own, under the names it has for those who replace them. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static struct fault_page *page;

static bool fails(void)
{
    if (page == NULL)
        return false;
    uint64_t n = __atomic_add_fetch(&page->allocations, 1, __ATOMIC_RELAXED);
    if (page->at == 0 || n < page->at || (n > page->at && !page->persistent))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return fails() ? NULL : __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (fails())
        return ENOMEM;
    *block = __libc_memalign(alignment, size);
    return *block != NULL ? 0 : ENOMEM;
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(FAULT_PAGE);
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct fault_page *mapped =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    if (mapped == MAP_FAILED || mapped->owner != 0)
        return;
    mapped->owner = (int32_t)getpid();
    page = mapped;
    close(FAULT_BEGIN);
}
