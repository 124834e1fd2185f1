/* Numbers that .pt2 archives use for element types, memory formats and layouts (torch/_export/serde/schema.py). */
#ifndef NUC_IMPORT_TORCH_NUMBERS_H
#define NUC_IMPORT_TORCH_NUMBERS_H

#include "compiler/graph/graph.h"

#define NUC_TORCH_STRIDED 7 /* the only layout that is handled */

int nuc_torch_dtype(enum nuc_dtype dtype);
int nuc_torch_memory_format(enum nuc_memory_format format);

#endif
