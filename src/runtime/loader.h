/* A loaded method in the caller's state memory, and the steps that fill it. */
#ifndef NUC_RUNTIME_LOADER_H
#define NUC_RUNTIME_LOADER_H

#include "runtime/image.h"

struct nuc_loaded_delegate {
    const struct nuc_backend *backend;
    void *state;
    uint8_t *scratch; /* in planned memory, NULL: none is planned */
};

struct nuc_instruction {
    uint8_t kind;        /* enum nuc_instruction_kind */
    uint32_t n_args;     /* calls: entries of args */
    const uint8_t *args; /* calls: value indices, little-endian 32-bit, checked */
    union {
        const struct nuc_kernel_entry *kernel;
        const struct nuc_loaded_delegate *delegate;
        struct {
            uint32_t from, to; /* values; a free has `from` alone */
        } move;
        struct {
            uint32_t condition, target; /* value, instruction; the target lies ahead */
        } jump;
    } u;
};

/* Type and shape of value `index` when it is a tensor: *is_tensor. Its data stays NULL. */
bool nuc_read_shape(struct nuc_image *im, uint32_t index, struct nuc_tensor *out, bool *is_tensor);

/* Parses all values into p->values. */
enum nuc_status nuc_load_values(struct nuc_program *p, struct nuc_image *im);

/* Parses all instructions and resolves operators. Values and delegates are loaded. */
enum nuc_status nuc_load_instructions(struct nuc_program *p, struct nuc_image *im,
                                      const struct nuc_kernel_table *kernels);

#endif
