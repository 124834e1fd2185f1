/*
 * A program file (.pte) taken apart once for everything that describes one: methods, values, operators, instructions,
 * delegates. Lists and texts stay where they are in the file. The bytes are untrusted: opening checks all of them, so
 * that readers of the view index without checks, and walk in time that is linear in the file.
 */
#ifndef NUC_ARCHIVE_PROGRAM_VIEW_H
#define NUC_ARCHIVE_PROGRAM_VIEW_H

#include "device/base/program_schema.h"
#include "device/base/span.h"
#include "host/context.h"
#include "nucleon/kernels.h"

/* A vector of the file, little-endian and unaligned. Texts are lists of characters. */
struct nuc_view_list {
    const uint8_t *data;
    uint32_t count, size; /* size: bytes of an element, 1, 4 or 8 */
};

struct nuc_view_tensor {
    enum nuc_dtype dtype; /* NUC_DTYPE_COUNT: a scalar type that is none of ours */
    struct nuc_view_list sizes, dim_order;
    bool planned;
    uint32_t memory; /* of a planned one, from 1 */
    uint64_t offset;
    /* Entry of the constants; of a planned one, which is a state then, of the initial data. 0: neither. */
    uint32_t constant;
    struct nuc_view_list name; /* of a state; empty: the file gives none */
};

struct nuc_view_value {
    uint8_t kind; /* enum nuc_value_kind, or a number that is none */
    union {
        int64_t i;
        bool b;
        double f;
        struct nuc_view_list list; /* of values: indices, checked; -1 for an optional tensor that is absent */
        struct nuc_view_tensor tensor;
    } u;
};

struct nuc_view_operator {
    struct nuc_view_list name, overload;
};

/*
 * The innermost frame of an instruction's stack trace; empty texts when the program has none. In programs of nucleon's
 * the name is that of a node, the context its label.
 */
struct nuc_view_frame {
    struct nuc_view_list file, name, context;
    int32_t line;
};

struct nuc_view_instruction {
    uint8_t kind;              /* enum nuc_instruction_kind, or a number that is none */
    uint32_t index;            /* of a call: its operator or delegate, checked */
    struct nuc_view_list args; /* of a call: values, checked */
    int32_t words[2];          /* of a move, jump or free, as they are in the file */
    struct nuc_view_frame frame;
};

struct nuc_view_chain {
    uint32_t n_instructions;
    const struct nuc_view_instruction *instructions;
};

struct nuc_view_spec {
    struct nuc_view_list key, value;
};

struct nuc_view_delegate {
    struct nuc_view_list backend;
    struct nuc_span data;
    uint32_t n_specs;
    const struct nuc_view_spec *specs;
};

struct nuc_view_method {
    struct nuc_view_list name, inputs, outputs, planned; /* planned: bytes of each memory */
    uint32_t n_values, n_chains, n_operators, n_delegates;
    const struct nuc_view_value *values;
    const struct nuc_view_chain *chains;
    const struct nuc_view_operator *operators;
    const struct nuc_view_delegate *delegates;
};

/* Data that is found by its key. */
struct nuc_view_named {
    struct nuc_view_list key;
    struct nuc_span data;
};

struct nuc_program_view {
    const char *file;
    struct nuc_span bytes;
    bool has_header;
    uint64_t program_bytes, segments_at; /* of the extended header */
    uint32_t schema_version, n_segments, n_constants;
    uint32_t n_methods; /* at least one */
    const struct nuc_view_method *methods;
    uint32_t n_named;
    const struct nuc_view_named *named;
};

/*
 * Fails with NUC_BAD_INPUT when the program has a checksum that does not fit its bytes, and warns when it has facts and
 * no checksum. What ExecuTorch's compiler made has neither.
 */
void nuc_check_program_sum(struct nuc_context *cx, const char *file, struct nuc_span program);

/* The view lives in the arena. Fails with NUC_BAD_INPUT, `file` named, for a damaged program,
 * as the checksum shows it or the tables. */
const struct nuc_program_view *nuc_program_view_open(struct nuc_context *cx, const char *file, struct nuc_span bytes);

/* The same of a program that was just made, whose checksum nobody has to look for. */
const struct nuc_program_view *nuc_program_view_made(struct nuc_context *cx, const char *file, struct nuc_span bytes);

/* The `bytes` of a constant, from its beginning; false: it has fewer. */
bool nuc_view_constant(const struct nuc_program_view *view, uint32_t constant, size_t bytes, struct nuc_span *out);

/* Element `i`: bytes are unsigned, wider ones signed. */
int64_t nuc_view_int(struct nuc_view_list list, uint32_t i);
double nuc_view_double(struct nuc_view_list list, uint32_t i);

/* Whether the text is `expected`, or begins with it. */
bool nuc_view_is(struct nuc_view_list text, const char *expected);
bool nuc_view_begins(struct nuc_view_list text, const char *expected);

/* The text, which may hold any bytes, in the arena: what is not printable ASCII becomes \xNN. */
const char *nuc_view_text(struct nuc_context *cx, struct nuc_view_list text);

/* The element type of a scalar type of the format, NUC_DTYPE_COUNT: none of ours. */
enum nuc_dtype nuc_view_dtype(int8_t scalar_type);

/* "aten::add.out", as above. */
const char *nuc_view_operator_name(struct nuc_context *cx, const struct nuc_view_operator *op);

#endif
