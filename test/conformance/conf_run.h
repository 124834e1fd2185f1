/* Recorded values, and programs on the runtime with memory of the host. */
#ifndef NUC_CONF_RUN_H
#define NUC_CONF_RUN_H

#include "conformance.h"
#include "nucleon/runtime.h"

/* A zeroed block of at least one byte, aligned as the runtime expects it; the caller frees it. Aborts without memory.
 */
void *conf_block(size_t size);

/* A whole file in such a block; NULL when it cannot be read. */
void *conf_read_file(const char *path, size_t *size);

/* The array of that name. */
bool conf_array(const struct nuc_dataset *d, const char *name, struct nuc_array_info *out);

/* Copies a tensor's bytes from logical order to the tensor's dim order (to_physical) or back. */
void conf_rearrange(const struct nuc_tensor *t, const char *from, char *to, bool to_physical);

/* A program in memory. Starts as {.is_loaded = false}; conf_unload() releases it, loaded or not. */
struct conf_loaded {
    void *image;
    struct nuc_program_memory memory;
    struct nuc_program program;
    bool is_loaded;
};

/* Copies and loads a program; false with the reason in the report when it cannot be. */
bool conf_load(struct conf_loaded *l, const void *bytes, size_t size, struct conf_report *r);
void conf_unload(struct conf_loaded *l);

/* conf_differ() with what the runtime says: "run: <message>, at <place>". */
enum conf_result conf_refused(struct conf_report *r, const char *what, enum nuc_status status,
                              const struct nuc_detail *detail);

#endif
