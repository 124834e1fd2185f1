#include "compiler/import/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    while ((entry = readdir(*dir)) != NULL) {
        const char *path = nuc_format(cx, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && keep(path))
            nuc_add_path(cx, &list, path);
    }
    closedir(*dir);
    *dir = NULL;
    if (list.count != 0)
        qsort(list.items, list.count, sizeof *list.items, by_text);
    return list;
}
