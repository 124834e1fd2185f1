/*
 * Writes a lowered graph as a program file (.pte, docs/formats.md section "Program file"). The graph is in the Edge
 * dialect; its delegate calls carry their payload. Metas, values and order of instructions are those of ExecuTorch's
 * own emitter, so that its runtime loads the file.
 */
#ifndef NUC_BACK_PROGRAM_PROGRAM_H
#define NUC_BACK_PROGRAM_PROGRAM_H

#include "algorithms/plan.h"
#include "device/base/span.h"
#include "ir/graph.h"
#include "nucleon/compile.h"

/* What became of the memory, for reports. */
struct nuc_program_memory_report {
    size_t planned;     /* bytes of the planned memory */
    size_t lower_bound; /* largest sum of bytes live at once */
    bool proven;        /* no smaller plan exists for this order of instructions */
    const char *method; /* how the planner arrived there */
    size_t constants;   /* bytes of the constant segment */
    size_t n_values, n_instructions;
    const struct nuc_node *const *nodes; /* by instruction: what it was made of; NULL: nothing */
    size_t n_banks;
    const struct nuc_bank_use *banks; /* of the banks of the options */
    size_t n_tensors;
    const struct nuc_planned
        *tensors;             /* steps are instructions from 1, 0: before the first, the last: after the last */
    const uint32_t *memories; /* by tensor: the planned memory that its address is in, from 1 */
};

struct nuc_banks;

/* A constant method: without inputs, a number as its output. */
struct nuc_constant_method {
    const char *name;
    bool is_float;
    union {
        int64_t i;
        double f;
    } u;
};

/* A segment of its own that is found by its key; runtimes do not look at it. */
struct nuc_named_data {
    const char *key;
    struct nuc_span bytes;
};

struct nuc_program_options {
    const char *method;                        /* NULL: "forward" */
    enum nuc_segment_mode delegate_data;       /* inside the program, or in segments after it */
    bool stack_traces;                         /* of each instruction: node, file and line */
    bool labels;                               /* stack traces have labels (ir/labels.h), too */
    bool keep_order;                           /* and a value for each argument: see nuc_write_program() */
    bool plan_delegate_scratch;                /* the planned memory holds the scratch of delegates too */
    const struct nuc_banks *banks;             /* that the planned memory is split over; NULL: one of any size */
    bool in_place;                             /* int8 results may lie over inputs: kernels are those of this library */
    uint64_t plan_effort;                      /* bound of the search for addresses, 0: the planner's (plan.h) */
    const struct nuc_constant_method *numbers; /* after the method, in this order */
    size_t n_numbers;
    const struct nuc_named_data *named; /* in this order */
    size_t n_named;
    struct nuc_program_memory_report *report; /* filled when not NULL */
};

/*
 * The bytes of the file, in the arena; the same graph and options give the same bytes. Operators whose portable kernel
 * takes contiguous tensors only get a copy in front, in the graph itself. Unless keep_order is set, what is computed
 * from constants alone is computed right before its first use, so that it takes memory for a short time; with it,
 * instructions and copies are those of ExecuTorch's own lowering, although portable kernels refuse some. Fails with
 * NUC_UNSUPPORTED, naming the node, for an operator that has no out variant at run time.
 */
struct nuc_span nuc_write_program(struct nuc_graph *g, const struct nuc_program_options *o);

/* Bytes of the planned memory that the program of the graph has; the graph is rewritten as by nuc_write_program(). */
size_t nuc_plan_graph(struct nuc_graph *g, const struct nuc_program_options *o);

/* ExecuTorch's number of an element type, or -1. */
int nuc_scalar_type(enum nuc_dtype dtype);

#endif
