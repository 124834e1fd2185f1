/* Only calls that POSIX allows in a signal handler, and getdents64(), which is a plain system call. */
#include "host/unfinished.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Folders within folders are removed down to here; a converter's temporary files do not nest. */
#define MAX_DEPTH 8

/* As the kernel writes it. */
struct directory_record {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

void nuc_temporary_name(char name[NUC_TEMPORARY_NAME])
{
    static const char prefix[] = ".nucleon-", digits[] = "0123456789abcdefghijklmnopqrstuv";
    size_t length = sizeof prefix - 1;
    uint8_t bytes[16];

    /* Where there are no random numbers, time and process make a name that no other process has now. */
    if (getentropy(bytes, sizeof bytes) != 0) {
        struct timespec now = {0, 0};
        clock_gettime(CLOCK_REALTIME, &now);
        const uint64_t values[2] = {(uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec, (uint64_t)getpid()};
        memcpy(bytes, values, sizeof bytes);
    }
    memcpy(name, prefix, length);
    for (size_t i = 0; i < sizeof bytes; i++)
        name[length++] = digits[bytes[i] & 31];
    name[length] = '\0';
}

struct nuc_unfinished_item *nuc_enter_unfinished(struct nuc_unfinished *all, enum nuc_unfinished_kind kind, int folder,
                                                 const char *name, pid_t process)
{
    for (size_t i = 0; i < NUC_MAX_UNFINISHED; i++) {
        struct nuc_unfinished_item *item = &all->items[i];
        if (atomic_load(&item->kind) != NUC_UNFINISHED_NONE)
            continue;
        item->folder = folder;
        item->process = process;
        item->name[0] = '\0';
        if (name != NULL)
            memcpy(item->name, name, strlen(name) + 1);
        atomic_store(&item->kind, (int)kind);
        return item;
    }
    return NULL;
}

void nuc_take_out_unfinished(struct nuc_unfinished_item *item)
{
    if (item != NULL)
        atomic_store(&item->kind, NUC_UNFINISHED_NONE);
}

static bool remove_below(int folder, const char *name, int depth);

/* How many of the records are gone now. */
static int remove_records(int folder, const char *records, size_t size, int depth)
{
    int removed = 0;

    for (size_t at = 0; at < size;) {
        struct directory_record head;
        memcpy(&head, records + at, sizeof head);
        const char *name = records + at + offsetof(struct directory_record, name);
        bool is_dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
        if (!is_dots && (unlinkat(folder, name, 0) == 0 || remove_below(folder, name, depth + 1)))
            removed++;
        at += head.length;
    }
    return removed;
}

/* Removing while a folder is listed may hide some of its entries: it is listed until nothing more goes. */
static bool remove_below(int folder, const char *name, int depth)
{
    /* Of the kernel's records, whose numbers have 8 bytes. */
    union {
        char bytes[4096];
        uint64_t alignment;
    } records;
    int fd = depth > MAX_DEPTH ? -1 : openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (int removed = fd >= 0; removed > 0;) {
        removed = 0;
        lseek(fd, 0, SEEK_SET);
        for (long size; (size = getdents64(fd, (void *)records.bytes, sizeof records.bytes)) > 0;)
            removed += remove_records(fd, records.bytes, (size_t)size, depth);
    }
    if (fd >= 0)
        close(fd);
    return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

void nuc_remove_tree(int folder, const char *name)
{
    remove_below(folder, name, 0);
}

/* Processes first: they write files. */
void nuc_discard_unfinished(struct nuc_unfinished *all)
{
    for (size_t i = 0; i < NUC_MAX_UNFINISHED; i++) {
        if (atomic_load(&all->items[i].kind) == NUC_UNFINISHED_PROCESS)
            kill(-all->items[i].process, SIGKILL);
    }
    for (size_t i = 0; i < NUC_MAX_UNFINISHED; i++) {
        const struct nuc_unfinished_item *item = &all->items[i];
        if (atomic_load(&item->kind) == NUC_UNFINISHED_FILE)
            unlinkat(item->folder, item->name, 0);
        if (atomic_load(&item->kind) == NUC_UNFINISHED_FOLDER)
            nuc_remove_tree(item->folder, item->name);
    }
    /* Those that were made last are inside of others. */
    for (size_t i = NUC_MAX_UNFINISHED; i-- > 0;) {
        const struct nuc_unfinished_item *item = &all->items[i];
        if (atomic_load(&item->kind) != NUC_UNFINISHED_EMPTY)
            continue;
        unlinkat(item->folder, item->name, AT_REMOVEDIR);
        close(item->folder);
    }
}
