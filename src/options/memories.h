/* The texts of --memory. */
#ifndef NUC_OPTIONS_MEMORIES_H
#define NUC_OPTIONS_MEMORIES_H

#include "host/context.h"
#include "nucleon/compile.h"

struct nuc_memory_size {
    const char *name; /* a C identifier of at most NUC_MEMORY_NAME characters */
    uint64_t bytes;   /* at least 1 */
};

#define NUC_MEMORY_NAME 31

/* "NAME=SIZE"; fails with NUC_BAD_USAGE where a text is not of that form, or a name comes twice. */
const struct nuc_memory_size *nuc_memory_sizes(struct nuc_context *cx, const struct nuc_options *o);

#endif
