/* Named arrays as a NumPy archive. */
#ifndef NUC_DATA_NPZ_WRITE_H
#define NUC_DATA_NPZ_WRITE_H

#include "data/arrays.h"

/* Whether an array of that name would be a file outside of the archive's folder: "/x", "../x". */
bool nuc_npz_leads_out(const char *name);

/* Writes an uncompressed archive; the same arrays give the same bytes. bfloat16 has no counterpart and is refused. */
void nuc_write_npz(struct nuc_context *cx, const char *path, const struct nuc_arrays *arrays);

#endif
