#include "data/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/limits.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void close_folder(void *object)
{
    DIR **folder = object;

    if (*folder != NULL)
        closedir(*folder);
}

void nuc_add_path(struct nuc_context *cx, struct nuc_paths *list, const char *path)
{
    if (list->count == NUC_MAX_FOLDER_FILES)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: more than %zu files (the limit): give a part of them", path,
                 NUC_MAX_FOLDER_FILES);
    list->items = nuc_grow(cx, list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = path;
}

/* Closing is registered before the folder is opened, so that a failure in between leaks nothing. */
struct nuc_paths nuc_list_folder(struct nuc_context *cx, const char *folder, bool (*keep)(const char *path))
{
    struct nuc_paths list = {NULL, 0, 0};
    const struct dirent *entry;
    DIR **dir = nuc_alloc(cx, sizeof(DIR *));

    nuc_defer(cx, close_folder, dir);
    *dir = opendir(folder);
    if (*dir == NULL)
        nuc_fail(cx, NUC_IO, "%s: the folder cannot be read: %s", folder, strerror(errno));
    /* Only errno tells the end from a failure. */
    for (errno = 0; (entry = readdir(*dir)) != NULL; errno = 0) {
        if (entry->d_name[0] == '.')
            continue;
        const char *path = nuc_format(cx, "%s/%s", folder, entry->d_name);
        if (keep(path))
            nuc_add_path(cx, &list, path);
    }
    if (errno != 0)
        nuc_fail(cx, NUC_IO, "%s: the folder cannot be read: %s", folder, strerror(errno));
    closedir(*dir);
    *dir = NULL;
    if (list.count != 0)
        qsort(list.items, list.count, sizeof *list.items, by_text);
    return list;
}
