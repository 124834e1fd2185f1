/*
 * A command takes tens of megabytes and gives parts of them back all the time. With small pages, each of them made and
 * cleared anew where it is touched again, that is a third of the time of a short command.
 */
#include "tools/cli/heap.h"

#include <stdint.h>
#include <stdlib.h> /* says which C library this is */

#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
#define HUGE_PAGE (2 << 20)

/* Address space of the heap at first, of which only what is touched becomes memory; and what it grows by then. */
#define FIRST_HEAP (256 << 20)
#define HEAP (32 << 20)

static uintptr_t huge_pages_before(uintptr_t address)
{
    return address & ~(uintptr_t)(HUGE_PAGE - 1);
}

/* All blocks lie in the heap, which keeps what is freed: pages of a large one are those of the next small ones. */
void cli_prepare_heap(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, 8 * HEAP);
    mallopt(M_TOP_PAD, FIRST_HEAP);
    void *first = malloc(1);
    mallopt(M_TOP_PAD, HEAP);
    uintptr_t begin = huge_pages_before((uintptr_t)first + HUGE_PAGE - 1), end = huge_pages_before((uintptr_t)sbrk(0));
    /* Another allocator's block is not in this heap. */
    if (begin < end && end - begin <= 2 * FIRST_HEAP)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    free(first);
}
#else
void cli_prepare_heap(void)
{
}
#endif
