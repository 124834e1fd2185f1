/* Which images a folder holds, and in which order. */
#include "compiler/import/images.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct names {
    const char **items;
    size_t count, capacity;
};

static void add_name(struct nuc_context *cx, struct names *list, const char *name)
{
    list->items = nuc_grow(cx, list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = name;
}

static bool is_image(const char *name)
{
    const char *suffix = strrchr(name, '.');

    return name[0] != '.' && suffix != NULL &&
           (strcasecmp(suffix, ".png") == 0 || strcasecmp(suffix, ".jpg") == 0 || strcasecmp(suffix, ".jpeg") == 0);
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

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

/* Paths of the images, or of the subfolders, directly in a folder, sorted: the system's order is not deterministic. */
static struct names list_folder(struct nuc_context *cx, const char *path, bool folders)
{
    struct names list = {NULL, 0, 0};
    const struct dirent *entry;
    DIR **folder = nuc_alloc(cx, sizeof(DIR *));

    nuc_defer(cx, close_folder, folder);
    *folder = opendir(path);
    if (*folder == NULL)
        nuc_fail(cx, NUC_IO, "%s: the folder cannot be read: %s", path, strerror(errno));
    while ((entry = readdir(*folder)) != NULL) {
        const char *name = nuc_format(cx, "%s/%s", path, entry->d_name);
        if (folders ? entry->d_name[0] != '.' && is_folder(name) : is_image(entry->d_name))
            add_name(cx, &list, name);
    }
    closedir(*folder);
    *folder = NULL;
    if (list.count != 0)
        qsort(list.items, list.count, sizeof *list.items, by_text);
    return list;
}

static const struct nuc_images *make_images(struct nuc_context *cx, const struct names *files, const int64_t *labels)
{
    struct nuc_images *images = nuc_alloc(cx, sizeof *images);

    if (files->count == 0)
        return NULL;
    *images = (struct nuc_images){files->count, files->items, labels};
    return images;
}

const struct nuc_images *nuc_list_images(struct nuc_context *cx, const char *path)
{
    struct names files = list_folder(cx, path, false);
    int64_t *labels = NULL;
    size_t labels_capacity = 0;
    int64_t class = 0;

    if (files.count != 0)
        return make_images(cx, &files, NULL);
    struct names folders = list_folder(cx, path, true);
    for (size_t i = 0; i < folders.count; i++) {
        struct names members = list_folder(cx, folders.items[i], false);
        for (size_t k = 0; k < members.count; k++) {
            labels = nuc_grow(cx, labels, &labels_capacity, files.count + 1, sizeof *labels);
            labels[files.count] = class;
            add_name(cx, &files, members.items[k]);
        }
        class += members.count != 0 ? 1 : 0;
    }
    return make_images(cx, &files, labels);
}
