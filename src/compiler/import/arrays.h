/*
 * Named arrays from NumPy's formats: .npz archives (stored entries are used in place), single .npy files, and
 * folders of .npy files. Files are not trusted: headers, sizes and counts are checked against the bytes that are there.
 */
#ifndef NUC_IMPORT_ARRAYS_H
#define NUC_IMPORT_ARRAYS_H

#include "base/span.h"
#include "host/context.h"

struct nuc_array {
    const char *name; /* without ".npy" */
    enum nuc_dtype dtype;
    uint32_t rank;
    int64_t shape[NUC_MAX_RANK];
    struct nuc_span data; /* dense, last dimension innermost; in a mapped file at any address */
};

struct nuc_arrays {
    size_t count;
    struct nuc_array *items;
};

/* Arrays of an archive in its order, of a folder sorted by file name; a single .npy file is named after the file. */
struct nuc_arrays nuc_read_arrays(struct nuc_context *cx, const char *path);

/* True for a folder with .npy files. */
bool nuc_holds_arrays(struct nuc_context *cx, const char *folder);

/* The elements at an address their type may have: in place when they lie so, else copied once and kept. */
const void *nuc_array_elements(struct nuc_context *cx, struct nuc_array *array);

/* NULL when there is none of that name. */
const struct nuc_array *nuc_find_array(const struct nuc_arrays *arrays, const char *name);

/* One .npy file in memory; `where` names it in messages. Only Fortran order is copied. */
struct nuc_array nuc_read_npy(struct nuc_context *cx, const char *where, struct nuc_span file);

#endif
