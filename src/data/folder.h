/* What a folder holds. Private to the folder import. */
#ifndef NUC_DATA_FOLDER_H
#define NUC_DATA_FOLDER_H

#include "host/context.h"

struct nuc_paths {
    const char **items;
    size_t count, capacity;
};

void nuc_add_path(struct nuc_context *cx, struct nuc_paths *list, const char *path);

/*
 * Paths of what lies directly in a folder, is not hidden and passes `keep`, which sees the path. Sorted by their bytes:
 * the system's order is not deterministic.
 */
struct nuc_paths nuc_list_folder(struct nuc_context *cx, const char *folder, bool (*keep)(const char *path));

#endif
