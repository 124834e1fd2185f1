/*
 * Where the time of an inference goes: each instruction of a program, and each kernel of its NPU calls, with cycles,
 * the node it was made of and the user's line. NPU times come from the profile records the program left when it ran;
 * CPU times are estimates from sizes (docs/cycle-model.md).
 */
#ifndef NUC_BACK_PROFILE_PROFILE_H
#define NUC_BACK_PROFILE_PROFILE_H

#include "archive/program_view.h"
#include "host/pieces.h"
#include "npu/target/target.h"
#include "nucleon/compile.h"

enum nuc_profile_kind {
    NUC_PROFILE_CPU,   /* an operator of the runtime */
    NUC_PROFILE_CALL,  /* an NPU call: what it costs beside its kernels */
    NUC_PROFILE_KERNEL /* of the call before it */
};

struct nuc_profile_row {
    enum nuc_profile_kind kind;
    uint32_t instruction;
    uint32_t kernel;                    /* number in its call */
    const char *what;                   /* "aten::add.out", "NeutronBackend", "CONV_2D" */
    const char *label;                  /* what people call it (ir/labels.h); NULL: the program does not say */
    const char *node;                   /* an operator: the name of its node; NULL: the program does not say */
    const char *source;                 /* "train.py:23"; NULL: the program does not say */
    uint64_t start, cycles;             /* start: from the beginning of the inference */
    uint64_t call_cycles;               /* of a call: its kernels */
    uint64_t record_start, record_stop; /* of a kernel: as the device noted them */
    bool recorded;                      /* a kernel: from a record of the run, not from the microcode alone */
    uint8_t metadata;                   /* a kernel: function code of its record */
};

struct nuc_profile {
    const char *file;
    const struct nuc_target *target;
    struct nuc_profile_row *rows; /* in order of execution */
    size_t n_rows;
    uint64_t cycles, npu_cycles;  /* of all; of calls and kernels */
    uint64_t fetched;             /* bytes of weights that calls copy from flash, */
    uint64_t fetch_cycles;        /* cycles of that, in which the CPU copies, */
    uint64_t fetch_cycles_by_dma; /* and with a DMA beside the calls */
    bool unrecorded;              /* kernels without records: the program was compiled without profiling */
    bool foreign;                 /* calls whose microcode cannot be read */
};

/* Profile of one execution of a program; fails with NUC_BAD_INPUT when the program is damaged. */
struct nuc_profile *nuc_profile_read(struct nuc_context *cx, const struct nuc_target *target,
                                     const struct nuc_program_view *view, const struct nuc_profile_run *run);

/* A table of 120 columns and what its figures are. */
const char *nuc_profile_table(struct nuc_context *cx, const struct nuc_profile *p);

/* The same as JSON (docs/json.md). */
const char *nuc_profile_tree(struct nuc_context *cx, const struct nuc_profile *p);

/* An ETDump with a block for each run, for ExecuTorch's Inspector; times are cycles. */
struct nuc_span nuc_profile_dump(struct nuc_context *cx, const struct nuc_profile *const *runs, size_t n_runs);

/*
 * An ETRecord, by which the Inspector says what the events of an ETDump are, of whatever device ran the program. `path`
 * is for the message.
 */
struct nuc_pieces nuc_profile_record(struct nuc_context *cx, const struct nuc_profile *p, const char *path);

/* Estimated cycles of an operator on the CPU, by its name and the arguments of its call in the first method. */
uint64_t nuc_profile_cpu_cycles(struct nuc_context *cx, const struct nuc_target *target,
                                const struct nuc_program_view *view, const char *name, struct nuc_view_list args);

#endif
