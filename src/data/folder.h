/* What a folder holds: arrays, images, recordings. */
#ifndef NUC_DATA_FOLDER_H
#define NUC_DATA_FOLDER_H

#include "host/context.h"

struct nuc_paths {
    const char **items;
    size_t count, capacity;
};

/*
 * Paths of what lies directly in a folder, is not hidden and passes `keep`, which sees the path. Sorted by their bytes:
 * the system's order is not deterministic.
 */
struct nuc_paths nuc_list_folder(struct nuc_context *cx, const char *folder, bool (*keep)(const char *path));

struct nuc_images {
    size_t count;
    const char *const *files; /* paths, in the order of the samples */
    const int64_t *labels;    /* one per image; NULL when the folder has no classes */
    size_t n_classes;
    const char *const *classes; /* names of their folders; NULL as above */
};

/*
 * The images of a folder: files named .png, .jpg or .jpeg (in any case), sorted by the bytes of their names; names that
 * begin with '.' are left out. A folder without images of its own is searched one level down: its subfolders with
 * images, sorted, are the classes 0, 1, 2, ..., and every image has its class as label. NULL when there is no image.
 */
const struct nuc_images *nuc_list_images(struct nuc_context *cx, const char *path);

/* The same of other files, which `keep` tells by their path. */
const struct nuc_images *nuc_list_files(struct nuc_context *cx, const char *path, bool (*keep)(const char *path));

#endif
