/* The program as the file and as the runtime has it, and what of it goes into the sources. */
#ifndef NUC_TOOLS_CODEGEN_CODEGEN_PROGRAM_H
#define NUC_TOOLS_CODEGEN_CODEGEN_PROGRAM_H

#include "archive/program_view.h"
#include "data/metadata.h"
#include "host/text.h"
#include "nucleon/runtime.h"
#include "tools/codegen/codegen.h"

/* Bytes that become an array of their own. */
struct nuc_codegen_block {
    const uint8_t *data;
    size_t size;
};

struct nuc_codegen {
    struct nuc_context *cx;
    const char *file, *name, *upper; /* upper: the name in capitals */
    struct nuc_span image;
    const struct nuc_metadata *metadata;             /* NULL: the program has none */
    const struct nuc_view_method *method;            /* what the file says */
    const struct nuc_view_instruction *instructions; /* of the only chain that runs */
    uint32_t n_instructions;
    struct nuc_value *values; /* the program's, as its kernels get them; data of constants alone */
    struct nuc_program_sizes sizes;
    uint32_t *delegates;              /* of the method, by first use */
    const char **scratches;           /* of these: where in the first memory, in digits; NULL: not planned */
    size_t n_delegates, state_bytes;  /* state_bytes: the most that one of them needs */
    struct nuc_codegen_block *blocks; /* constants, each once */
    size_t n_blocks, blocks_capacity;
    uint32_t *number_of; /* by value: its place in the table, or NUC_UNUSED_VALUE */
    uint32_t *value_of;  /* by place in the table */
    uint32_t n_used;
    struct nuc_text lists; /* the bytes of all lists */
    int32_t *size_pool;
    uint8_t *order_pool;
    size_t n_pool, size_capacity, order_capacity;
    uint64_t memories;                        /* planned memories that tensors lie in, a bit each */
    const uint8_t **loaded;                   /* planned memories after loading: what states begin with */
    struct nuc_text resets;                   /* statements that give states these bytes, */
    struct nuc_text saves, restores;          /* and that copy states to and from a struct of states */
    size_t n_states, states_bytes;            /* known with them */
    const struct nuc_decision_rule *decision; /* put on the outputs; NULL: the program says none */
    bool is_pushed;                           /* samples of input 0, one after the other */
};

#define NUC_UNUSED_VALUE UINT32_MAX

/* What an operator of the library is in C; NULL: there is none of that name. */
struct nuc_codegen_row {
    const char *name, *list, *function;
};
const struct nuc_codegen_row *nuc_codegen_row(const char *name);

/* A letter, a digit or _, in any locale. */
bool nuc_codegen_is_name_part(char c);

/* Fails with NUC_BAD_USAGE for a name that is no C identifier, or taken. */
void nuc_codegen_check_name(struct nuc_context *cx, const char *name);

/* Fails with what the runtime says of a program that it does not load. */
_Noreturn void nuc_codegen_refuse(struct nuc_context *cx, const char *file, enum nuc_status status,
                                  const struct nuc_detail *d);

/* Fails with NUC_UNSUPPORTED for more memory than 32 bits address. */
void nuc_codegen_check_memory(struct nuc_context *cx, const char *file, const struct nuc_program_sizes *sizes);

/* The macro UPPER_IN_BANK of a bank: the section of its buffers. Nothing without a bank. */
void nuc_codegen_bank(struct nuc_text *out, const char *upper, const char *bank);

/* Loads the program with host memory: file, metadata, decision, method and values. */
void nuc_codegen_open(struct nuc_codegen *g);

/* The same, and finds what is used; the parts above are filled. */
void nuc_codegen_load(struct nuc_codegen *g);

/* Place of a delegate of the method among those that are called. */
size_t nuc_codegen_delegate(struct nuc_codegen *g, uint32_t index);

/* The payload of the delegate at a place. */
struct nuc_span nuc_codegen_payload(const struct nuc_codegen *g, size_t place);

/* Whether the value is a list of values. */
bool nuc_codegen_is_list(const struct nuc_view_value *v);

/*
 * "static const struct nuc_value values[] = {...};" and the arrays it points into, but for planned memory; marks in
 * `memories` the bits of the planned memories that tensors lie in, and fills `resets`.
 */
void nuc_codegen_values(struct nuc_codegen *g, struct nuc_text *out);

/* ---- what a self-test compares with (selftest_tables.c) ---- */

struct nuc_selftest;

/* NAME_selftest as C, for a program in generated C or for the program file. */
const char *nuc_selftest_tables(struct nuc_context *cx, const struct nuc_program_view *view,
                                const struct nuc_selftest *t, const char *name, bool is_c);

/* ---- constants and decisions (codegen_facts.c) ---- */

/* Of an input or output: "#define"s of its size, shape, scale, range and classes. */
void nuc_codegen_facts(const struct nuc_codegen *g, struct nuc_text *out, bool input, uint32_t i,
                       const struct nuc_tensor *t);

/* Of what makes the inputs: the front end, or what images in calibration were. */
void nuc_codegen_preparation(const struct nuc_codegen *g, struct nuc_text *out);

/* Whether samples are pushed, once states are known. */
bool nuc_codegen_is_pushed(const struct nuc_codegen *g);
void nuc_codegen_decision_header(const struct nuc_codegen *g, struct nuc_text *out);

/* What the functions of a program refer to, and the functions. */
void nuc_codegen_decision_state(const struct nuc_codegen *g, struct nuc_text *out);
void nuc_codegen_decision_source(const struct nuc_codegen *g, struct nuc_text *out);

/* Bytes as the elements of an array of uint8_t, lines of at most 120 columns. */
void nuc_codegen_bytes(struct nuc_text *out, const uint8_t *bytes, size_t count);

/* Place in the table of values of element `i` of a list of values. */
static inline uint32_t nuc_codegen_place(const struct nuc_codegen *g, struct nuc_view_list list, uint32_t i)
{
    return g->number_of[nuc_view_int(list, i)];
}

#endif
