/* The loaded program, and what of it goes into the sources. */
#ifndef NUC_CODEGEN_PRIVATE_H
#define NUC_CODEGEN_PRIVATE_H

#include "compiler/codegen/codegen.h"
#include "host/text.h"
#include "nucleon/runtime.h"
#include "runtime/loader.h"

/* What the stand-in backend keeps of a delegate. */
struct nuc_codegen_delegate {
    const uint8_t *payload;
    size_t size;
};

/* Bytes that become an array of their own. */
struct nuc_codegen_block {
    const uint8_t *data;
    size_t size;
};

struct nuc_codegen {
    struct nuc_context *cx;
    const char *file, *name, *upper; /* upper: the name in capitals */
    struct nuc_span image;
    struct nuc_program program;
    struct nuc_program_sizes sizes;
    uint8_t *planned[NUC_MAX_MEMORIES];
    const struct nuc_codegen_delegate **delegates; /* by first use */
    struct nuc_backend_sizes *delegate_sizes;
    size_t n_delegates;
    struct nuc_codegen_block *blocks; /* constants, each once */
    size_t n_blocks, blocks_capacity;
    uint32_t *number_of; /* by value: its place in the table, or NUC_UNUSED_VALUE */
    uint32_t *value_of;  /* by place in the table */
    uint32_t n_used;
    struct nuc_text lists_text; /* elements of the array of all lists */
    int32_t *size_pool;
    uint8_t *order_pool;
    size_t n_pool, size_capacity, order_capacity, n_list_bytes;
};

#define NUC_UNUSED_VALUE UINT32_MAX

/* Loads the program with host memory and finds what is used; the parts above are filled. */
void nuc_codegen_load(struct nuc_codegen *g);

/* Index of the delegate of a call. */
size_t nuc_codegen_delegate_of(struct nuc_codegen *g, const struct nuc_instruction *in);

/* "static const struct nuc_value values[] = {...};" and the arrays it points into. */
void nuc_codegen_values(struct nuc_codegen *g, struct nuc_text *out);

/* Bytes as the elements of an array of uint8_t, lines of at most 120 columns. */
void nuc_codegen_bytes(struct nuc_text *out, const uint8_t *bytes, size_t count);

static inline uint32_t nuc_codegen_arg(const struct nuc_instruction *in, uint32_t i)
{
    return nuc_load_u32(in->args + 4 * (size_t)i);
}

static inline uint32_t nuc_codegen_item(const struct nuc_value *list, uint32_t i)
{
    return list->kind == NUC_VALUE_INTS ? (uint32_t)nuc_load_u64(list->u.list.items + 8 * (size_t)i)
                                        : nuc_load_u32(list->u.list.items + 4 * (size_t)i);
}

#endif
