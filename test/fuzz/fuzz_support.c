#define _GNU_SOURCE /* memfd_create */
#include "fuzz_support.h"

#include "device/base/program_sum.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* In front of each block: its size, in a field that keeps the alignment. */
#define HEADER 64

static void *allocate(void *user, void *block, size_t size)
{
    struct fuzz_memory *memory = user;

    if (size == 0) {
        if (block != NULL) {
            char *start = (char *)block - HEADER;
            size_t old;
            memcpy(&old, start, sizeof old);
            memory->used -= old;
            free(start);
        }
        return NULL;
    }
    if (size > memory->limit - memory->used)
        return NULL;
    char *start = malloc(size + HEADER);
    if (start == NULL)
        return NULL;
    memcpy(start, &size, sizeof size);
    memory->used += size;
    return start + HEADER;
}

static char verdict[NUC_MESSAGE_SIZE];

void fuzz_verdict(const char *why)
{
    unsigned digits;
    int skip = 0;

    if (why == NULL) {
        verdict[0] = '\0';
        return;
    }
    if (sscanf(why, "/proc/self/fd/%u%n", &digits, &skip) == 1) {
        why += skip;
        why += strncmp(why, ": ", 2) == 0 ? 2 : 0;
    }
    snprintf(verdict, sizeof verdict, "%s", why[0] != '\0' ? why : "refused without a message");
}

void fuzz_verdict_of(enum nuc_status status, const struct nuc_detail *detail)
{
    const char *message = detail != NULL && detail->message != NULL ? detail->message : nuc_status_name(status);
    const char *argument = detail != NULL ? detail->argument : NULL;
    char line[160];

    snprintf(line, sizeof line, "%s%s%s", message, argument != NULL ? ": " : "", argument != NULL ? argument : "");
    fuzz_verdict(status == NUC_OK ? NULL : line);
}

const char *fuzz_take_verdict(void)
{
    static char taken[NUC_MESSAGE_SIZE];

    memcpy(taken, verdict, sizeof taken);
    for (char *c = taken; *c != '\0'; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c; /* names of entries are bytes of the input */
    snprintf(verdict, sizeof verdict, "the target gave no verdict");
    return taken[0] == '\0' ? NULL : taken;
}

uint32_t fuzz_checksum(const uint8_t *data, size_t size)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < size; i++)
        h = (h ^ data[i]) * 16777619u;
    return h ^ h >> 15;
}

uint32_t fuzz_choice(const uint8_t *data, size_t size, uint32_t count)
{
    return fuzz_checksum(data, size) % count;
}

struct nuc_context *fuzz_context(struct fuzz_memory *memory, size_t limit)
{
    *memory = (struct fuzz_memory){0, limit};
    struct nuc_allocator allocator = {allocate, memory};
    struct nuc_context *cx = nuc_context_new(&allocator);

    if (cx == NULL)
        abort();
    return cx;
}

/* Messages that name the file are the same whatever the process has open. */
#define FIRST_FD 100

int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
    int made = memfd_create("fuzz", MFD_CLOEXEC);
    int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, FIRST_FD);

    if (made >= 0)
        close(made);
    if (fd < 0)
        return -1;
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, data + done, size - done);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

bool fuzz_pair(const uint8_t *data, size_t size, struct nuc_span *first, struct nuc_span *second)
{
    const struct nuc_span all = {data, size};

    return size >= 4 && nuc_span_slice(all, 4, nuc_load_u32(data), first) &&
           nuc_span_slice(all, 4 + first->size, size - 4 - first->size, second);
}

void *fuzz_block(size_t size)
{
    size_t rounded = (size + 16) & ~(size_t)15;
    void *block = aligned_alloc(16, rounded);

    if (block == NULL)
        abort();
    memset(block, 0, rounded);
    return block;
}

uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_block(size);

    if (size != 0)
        memcpy(copy, data, size);
    nuc_program_seal(copy, size, nuc_crc32);
    return copy;
}

_Noreturn void fuzz_broken(const char *what)
{
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

int fuzz_bytes(const uint8_t *data, size_t size, size_t limit, void (*fn)(struct nuc_context *cx, void *span))
{
    struct fuzz_memory memory;
    struct nuc_context *cx = fuzz_context(&memory, limit);
    uint8_t *copy = fuzz_copy(data, size);
    struct nuc_span bytes = {copy, size};

    enum nuc_status status = nuc_try(cx, fn, &bytes);
    if (status == NUC_INTERNAL)
        fuzz_broken(cx->message);
    fuzz_verdict(status == NUC_OK ? NULL : cx->message);
    nuc_context_free(cx);
    free(copy);
    return 0;
}
