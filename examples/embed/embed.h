/* What the application sees of the program. */
#ifndef EMBED_H
#define EMBED_H

#include "nucleon/runtime.h"

/* Once. */
enum nuc_status embed_load(struct nuc_detail *detail);

/* Bytes of an input, in the dim order and element type that the program declares; after embed_load(). */
size_t embed_input_bytes(void);

/* One inference. The bytes of the output, which are valid until the next one; 0 on failure. */
size_t embed_run(const void *input, size_t input_bytes, const void **output, struct nuc_detail *detail);

#endif
