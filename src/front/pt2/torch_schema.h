/* What reader and writer of .pt2 archives share of torch's schema (torch/_export/serde/schema.py). */
#ifndef NUC_FRONT_PT2_TORCH_SCHEMA_H
#define NUC_FRONT_PT2_TORCH_SCHEMA_H

#include "ir/graph.h"

#define NUC_TORCH_SCHEMA 8  /* major version */
#define NUC_TORCH_STRIDED 7 /* number of the only layout that is handled */

/* How a signature names an input: the kind, and the field with its name in the state dict, NULL for a user's input. */
struct nuc_torch_input {
    const char *kind, *target;
};
extern const struct nuc_torch_input nuc_torch_inputs[NUC_INPUT_KINDS];

/* Numbers of element types and memory formats. */
int nuc_torch_dtype(enum nuc_dtype dtype);
int nuc_torch_memory_format(enum nuc_memory_format format);

/* An entry of archives, beside those of torch, which gives such to who asks for them; and the most it may hold. */
#define NUC_PT2_FACTS "extra/nucleon.json"
#define NUC_PT2_FACTS_MAX ((size_t)1 << 20)

#endif
