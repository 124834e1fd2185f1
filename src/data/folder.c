#include "data/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "host/characters.h"
#include "host/file.h"
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

static void add_path(struct nuc_context *cx, struct nuc_paths *list, const char *path)
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
            add_path(cx, &list, path);
    }
    if (errno != 0)
        nuc_fail(cx, NUC_IO, "%s: the folder cannot be read: %s", folder, strerror(errno));
    closedir(*dir);
    *dir = NULL;
    if (list.count != 0)
        qsort(list.items, list.count, sizeof *list.items, by_text);
    return list;
}

/* ---- files, perhaps of classes ---- */

static bool is_image(const char *path)
{
    const char *suffix = strrchr(path, '.');

    return suffix != NULL &&
           (strcasecmp(suffix, ".png") == 0 || strcasecmp(suffix, ".jpg") == 0 || strcasecmp(suffix, ".jpeg") == 0);
}

/* What cannot be looked at counts as a folder, which the attempt to list it makes an error; not what is gone. */
static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? S_ISDIR(st.st_mode) : errno != ENOENT;
}

static const struct nuc_images *make_images(struct nuc_context *cx, const struct nuc_paths *files,
                                            const struct nuc_paths *classes, const int64_t *labels)
{
    struct nuc_images *images = nuc_alloc(cx, sizeof *images);

    if (files->count == 0)
        return NULL;
    *images = (struct nuc_images){files->count, files->items, labels, classes->count, classes->items};
    return images;
}

const struct nuc_images *nuc_list_files(struct nuc_context *cx, const char *path, bool (*keep)(const char *path))
{
    struct nuc_paths files = nuc_list_folder(cx, path, keep);
    struct nuc_paths classes = {.count = 0};
    int64_t *labels = NULL;
    size_t labels_capacity = 0;

    if (files.count != 0)
        return make_images(cx, &files, &classes, NULL);
    struct nuc_paths folders = nuc_list_folder(cx, path, is_folder);
    for (size_t i = 0; i < folders.count; i++) {
        struct nuc_paths members = nuc_list_folder(cx, folders.items[i], keep);
        for (size_t k = 0; k < members.count; k++) {
            labels = nuc_grow(cx, labels, &labels_capacity, files.count + 1, sizeof *labels);
            labels[files.count] = (int64_t)classes.count;
            add_path(cx, &files, members.items[k]);
        }
        if (members.count != 0)
            add_path(cx, &classes, nuc_plain_text(cx, nuc_base_name(folders.items[i])));
    }
    return make_images(cx, &files, &classes, labels);
}

const struct nuc_images *nuc_list_images(struct nuc_context *cx, const char *path)
{
    return nuc_list_files(cx, path, is_image);
}
