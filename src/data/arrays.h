/*
 * Named arrays from NumPy's formats: .npz archives, single .npy files, and folders of .npy files. Files are not
 * trusted: headers, sizes and counts are checked against the bytes that are there. What does not fit
 * NUC_MAX_ARRAYS_IN_MEMORY stays in its file, unless it is deflated or in Fortran order, and is read in parts.
 */
#ifndef NUC_DATA_ARRAYS_H
#define NUC_DATA_ARRAYS_H

#include "device/base/span.h"
#include "host/context.h"

struct nuc_file;

struct nuc_array {
    const char *name; /* without ".npy" */
    enum nuc_dtype dtype;
    uint32_t rank;
    int64_t shape[NUC_MAX_RANK];
    struct nuc_span data;        /* dense, last dimension innermost; data NULL: left in the file */
    const struct nuc_file *file; /* then where they are */
    uint64_t offset;
};

struct nuc_arrays {
    size_t count;
    struct nuc_array *items;
};

/* Arrays of an archive in its order, of a folder sorted by file name; a single .npy file is named after the file. */
struct nuc_arrays nuc_read_arrays(struct nuc_context *cx, const char *path);

/* True for a folder with .npy files. */
bool nuc_holds_arrays(struct nuc_context *cx, const char *folder);

/*
 * All elements at an address their type may have: where they are when they lie so, else copied, or read from the file,
 * once and kept.
 */
const void *nuc_array_elements(struct nuc_context *cx, struct nuc_array *array);

/* One of a single dimension; name and data are not copied. */
struct nuc_array nuc_array_of(const char *name, enum nuc_dtype dtype, size_t count, const void *data, size_t bytes);

/* Whether parts of it can be used in place: it is in memory, its elements at addresses their type may have. */
bool nuc_array_is_in_place(const struct nuc_array *array);

/* Copies `size` bytes of the elements, from byte `offset` on, which the array has. */
void nuc_array_part(const struct nuc_array *array, size_t offset, size_t size, void *to);

/* Whether elements of a type stand for float32 ones: float16 and bfloat16 as they are, float64 rounded to nearest. */
bool nuc_stands_for_float(enum nuc_dtype dtype);

/* `count` elements of such an array, from element `first` on, as float32. */
void nuc_array_floats(const struct nuc_array *array, size_t first, size_t count, float *to);

/* NULL when there is none of that name. */
const struct nuc_array *nuc_find_array(const struct nuc_arrays *arrays, const char *name);

/* One .npy file in memory; `where` names it in messages. Only Fortran order is copied. */
struct nuc_array nuc_read_npy(struct nuc_context *cx, const char *where, struct nuc_span file);

/* ---- named arrays as a NumPy archive (npz_write.c) ---- */

/* Whether an array of that name would be a file outside of the archive's folder: "/x", "../x". */
bool nuc_npz_leads_out(const char *name);

/* Writes an uncompressed archive; the same arrays give the same bytes. bfloat16 has no counterpart and is refused. */
void nuc_write_npz(struct nuc_context *cx, const char *path, const struct nuc_arrays *arrays);

#endif
