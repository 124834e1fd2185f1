/* The header of a .npy file. */
#ifndef NUC_DATA_NPY_HEADER_H
#define NUC_DATA_NPY_HEADER_H

#include "data/arrays.h"

struct nuc_npy_header {
    struct nuc_array array; /* called as the file, of data the size alone */
    bool fortran_order;     /* first dimension innermost */
    size_t data_offset;     /* in the file */
};

/*
 * Reads and checks the header at the start of `file`, of which at least the first NUC_MAX_NPY_HEADER bytes are given:
 * the elements it states fit in the `size` bytes that the file has. `where` names the file in messages.
 */
struct nuc_npy_header nuc_parse_npy_header(struct nuc_context *cx, const char *where, struct nuc_span file,
                                           uint64_t size);

/* numpy's name of an element type, NULL when it has none. */
const char *nuc_npy_descr(enum nuc_dtype dtype);

#endif
