/* A program file as plain data, read from its bytes or from the JSON description the reference tree carries. */
#ifndef NUC_CONF_PROGRAM_H
#define NUC_CONF_PROGRAM_H

#include <jansson.h>

#include "device/base/span.h"
#include "host/context.h"
#include "nucleon/types.h"

/* Numbered as the union of the file's schema. */
enum prog_kind {
    PROG_NONE,
    PROG_NULL,
    PROG_INT,
    PROG_BOOL,
    PROG_DOUBLE,
    PROG_TENSOR,
    PROG_STRING,
    PROG_INT_LIST,
    PROG_DOUBLE_LIST,
    PROG_BOOL_LIST,
    PROG_TENSOR_LIST,
    PROG_OPTIONAL_TENSOR_LIST,
    PROG_KIND_COUNT
};

struct prog_tensor {
    int64_t dtype; /* number of the file's ScalarType */
    uint32_t rank;
    int64_t *sizes, *dim_order;
    int64_t buffer;           /* data_buffer_idx */
    bool planned;             /* has an address in planned memory */
    int64_t memory;           /* of a planned tensor: memory id */
    int64_t offset;           /* and place in it */
    struct nuc_span constant; /* from its first byte to the end of its segment; NULL when unknown */
};

struct prog_value {
    enum prog_kind kind;
    struct prog_tensor tensor;
    int64_t i; /* Int, Bool */
    double f;
    const char *string;
    uint32_t count;
    int64_t *items; /* list of indices, or of bools */
    double *floats;
};

struct prog_call {
    const char *name; /* operator, "delegate", or the other instructions' name */
    int64_t delegate; /* -1: a kernel */
    uint32_t n_args;
    int64_t *args;
};

struct prog_spec {
    const char *key;
    const char *value;
};

struct prog_delegate {
    const char *id;
    uint32_t n_specs;
    struct prog_spec *specs;
};

struct prog {
    const char *name; /* of the first method */
    uint32_t n_plans;
    uint32_t n_values, n_inputs, n_outputs, n_operators, n_calls, n_delegates, n_buffers;
    struct prog_value *values;
    int64_t *inputs, *outputs;
    const char **operators;
    struct prog_call *calls;
    struct prog_delegate *delegates;
    int64_t *buffers; /* non_const_buffer_sizes */
};

/* Both fail with NUC_BAD_INPUT and a message naming what is odd. Indices of values and delegates are checked. */
struct prog *prog_from_bytes(struct nuc_context *cx, const char *what, struct nuc_span bytes);
struct prog *prog_from_json(struct nuc_context *cx, const char *what, const json_t *json);

/* Fails unless every index lies inside its table; both readers end with it. */
void prog_check_indices(struct nuc_context *cx, const char *what, const struct prog *p);

const char *prog_kind_name(enum prog_kind kind);

#endif
