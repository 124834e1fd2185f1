/* The program between graph and file: values, operators, instructions, memory, in the order of the file. */
#ifndef NUC_BACK_PROGRAM_EMIT_H
#define NUC_BACK_PROGRAM_EMIT_H

#include "algorithms/plan.h"
#include "back/program/banks.h"
#include "back/program/program.h"
#include "host/index.h"

/* The union of the schema. */
enum nuc_emit_kind {
    NUC_EMIT_NONE = 1,
    NUC_EMIT_INT,
    NUC_EMIT_BOOL,
    NUC_EMIT_DOUBLE,
    NUC_EMIT_TENSOR,
    NUC_EMIT_STRING,
    NUC_EMIT_INTS,
    NUC_EMIT_DOUBLES,
    NUC_EMIT_BOOLS,
    NUC_EMIT_TENSORS,
    NUC_EMIT_OPTIONAL_TENSORS
};

#define NUC_NO_STORAGE UINT32_MAX

struct nuc_emit_value {
    enum nuc_emit_kind kind;
    uint32_t count; /* of a list */
    union {
        int64_t i;
        double f;
        bool b;
        const char *string;
        const int64_t *items; /* lists of value indices; -1: none */
        const double *doubles;
    } u;
    /* Tensors. */
    const struct nuc_meta *meta;
    uint32_t storage;  /* index of a live range, or NUC_NO_STORAGE */
    size_t offset;     /* bytes from where the storage begins */
    uint32_t constant; /* entry of the constant table, 0: not a constant */
    uint32_t initial;  /* entry of the initial data of a state, 0: not a state */
    const char *state; /* its name */
};

struct nuc_emit_instruction {
    bool delegate;
    uint32_t index; /* of the operator or the delegate */
    uint32_t n_args;
    const uint32_t *args; /* values */
    uint32_t n_storages;
    uint32_t *storages;          /* what it touches, each once; set when the memory is planned */
    const struct nuc_node *node; /* it was made of */
};

struct nuc_emit_operator {
    const char *name, *overload;
};

/* Bytes that values share. The lifetime counts in instructions from 1; 0 is before the first, as inputs are. */
struct nuc_emit_storage {
    size_t bytes;
    const struct nuc_node *node; /* whose result it holds */
    uint32_t result;
    const char *form; /* NULL, what tells it from that result, or without a node what it is */
    uint32_t first, last;
    uint64_t address;
    uint32_t memory; /* that has the address: planned memories count from 1 */
    bool in_parts;   /* several instructions compute it */
    bool is_state;   /* it lies in the last memory and lives from run to run */
};

/* Where a value lies that is a part of another one; part: there is such a value. */
struct nuc_emit_place {
    bool part;
    uint32_t storage;
    size_t offset;
};

/* What a state becomes: two values. */
struct nuc_emit_write {
    uint32_t state, value;
};

/* One method, growing. Arrays lie in the arena. */
struct nuc_emission {
    struct nuc_context *cx;
    struct nuc_graph *g;
    struct nuc_emit_value *values;
    size_t n_values, values_capacity;
    struct nuc_emit_instruction *instructions;
    size_t n_instructions, instructions_capacity;
    struct nuc_emit_operator *operators;
    size_t n_operators, operators_capacity;
    const struct nuc_delegate **delegates;
    size_t n_delegates, delegates_capacity;
    struct nuc_emit_storage *storages;
    size_t n_storages, storages_capacity;
    struct nuc_span *constants; /* entry 0 stands for "no constant" */
    size_t n_constants, constants_capacity;
    struct nuc_index by_bytes; /* constants */
    struct nuc_span *initials; /* of states; entry 0 stands for "no state" */
    size_t n_initials, initials_capacity;
    struct nuc_emit_write *writes; /* in the order of the states */
    size_t n_writes, writes_capacity;
    uint64_t states_size;              /* bytes of the memory behind these: */
    uint32_t n_memories;               /* planned memories without states, */
    uint64_t memories[NUC_MOST_BANKS]; /* and their bytes */
    uint32_t *inputs, *outputs;        /* values */
    size_t n_inputs, inputs_capacity, n_outputs, outputs_capacity;
    uint32_t **value_of;            /* by node id: value indices of its tensors */
    struct nuc_emit_place *places;  /* by node id: of what is computed inside of another value */
    struct nuc_index *shared;       /* NULL: each call has values of its own, as ExecuTorch's emitter makes them */
    bool names_rows;                /* slices are, where they can be: */
    uint32_t n_named_rows;          /* so many */
    const struct nuc_node *current; /* node under way */
    uint32_t *scratch_of;           /* by delegate: storage of its scratch, or NUC_NO_STORAGE; NULL: none is planned */
    struct nuc_plan plan;           /* addresses are those of the storages */
    const struct nuc_plan_range *ranges; /* by storage: what the plan is of */
};

/* A storage of its own, for what the members of struct nuc_emit_storage say. Returns its index. */
uint32_t nuc_emit_storage(struct nuc_emission *e, size_t bytes, const struct nuc_node *node, uint32_t result,
                          const char *form);

/*
 * Values and instructions of the graph, in its order; with keep_order each call has values of its own. names_rows: no
 * instruction for slices whose bytes lie together.
 */
struct nuc_emission *nuc_emit_graph(struct nuc_graph *g, bool keep_order, bool names_rows);

/*
 * Addresses of all storages in one memory. Unless o->keep_order is set, instructions are put into the order that needs
 * the least memory, where that is less than in the order given.
 */
void nuc_plan_program(struct nuc_emission *e, const struct nuc_program_options *o);

#define NUC_MOST_OVERLAYS 2

/*
 * Storages over which the instruction may write its result, in any order; returns how many. Whether something reads
 * them afterwards is not looked at. The kernels of this library (device/kernels/ref_s8/quantized.h) say what is
 * allowed.
 */
uint32_t nuc_overlays(const struct nuc_emission *e, const struct nuc_emit_instruction *in,
                      uint32_t storages[NUC_MOST_OVERLAYS], uint32_t *result);

/* Adds the instructions by which states become their next values, at the end. */
void nuc_emit_writes(struct nuc_emission *e);

/* The file. */
struct nuc_span nuc_serialize(const struct nuc_emission *e, const struct nuc_program_options *o);

#endif
