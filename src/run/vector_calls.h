/*
 * Operators of the CPU on a host: layers in int8 compute what those of the NPU do, and are run by the vector kernels of
 * its simulator, with the same bytes as by the kernels in plain C. An operator is run by its own kernel first, which
 * checks the arguments; the second time it is planned.
 */
#ifndef NUC_RUN_VECTOR_CALLS_H
#define NUC_RUN_VECTOR_CALLS_H

#include "nucleon/runtime.h"
#include "nucleon/simulator.h"

struct nuc_context;
struct nuc_vector_call;
struct npu_host;

struct nuc_vector_calls {
    struct nuc_kernel_table table;
    struct npu_host *host;         /* NULL: every call is plain */
    struct nuc_vector_call *calls; /* by instruction */
    bool shares;                   /* another's, who plans them */
    size_t image_size;
    uint8_t *copy; /* of an input that the output lies over */
    size_t copy_size;
};

/* What a runner loads with the table of its calls. Kernels find these behind their program. */
struct nuc_run_program {
    struct nuc_program program; /* first */
    struct nuc_vector_calls calls;
};

/* For a program whose image has `size` bytes. */
void nuc_vector_calls_open(struct nuc_context *cx, size_t size, struct nuc_vector_calls *calls);
void nuc_vector_calls_close(struct nuc_vector_calls *calls);

/* The loaded program's calls are run on that path from now on. */
void nuc_vector_calls_start(struct nuc_context *cx, struct nuc_run_program *p, enum nuc_simulator_path path,
                            uint32_t threads);

/* Those of another program of the same image, in other threads than that, which does not run meanwhile. False: no
 * memory. */
bool nuc_vector_calls_share(struct nuc_vector_calls *calls, const struct nuc_vector_calls *from);

#endif
