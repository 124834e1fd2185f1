/*
 * Self-test of a program on the device: runs the test cases of a bundled program and compares what each node leaves in
 * memory with what the host computed. Names of nodes and CRC-32s of their values are constants of the image, which
 * 'nucleon kernels' and 'nucleon codegen' write for a bundled program (docs/firmware.md, "Self-test"); no host is
 * needed. Nothing is allocated. What is found is printed as lines of text, which 'nucleon compare-device' reads.
 *
 *     nuc_selftest_begin(&run, &tables_selftest, print);
 *     nuc_selftest_image(&run, program, size);
 *     ... nuc_program_load() ...; on failure nuc_selftest_stopped(&run, status, &detail);
 *     nuc_selftest_program(&run, &program);
 *     return nuc_selftest_end(&run);
 *
 * No call does anything once a node has failed, so that they may follow each other unconditionally.
 */
#ifndef NUCLEON_SELFTEST_H
#define NUCLEON_SELFTEST_H

#include "nucleon/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NUC_SELFTEST_NO_NODE UINT16_MAX

/* A call of an operator or of the NPU, in the order of execution; the kernels of an NPU call follow it. */
struct nuc_selftest_node {
    const char *number; /* as 'nucleon run --profile' counts: "3", of a kernel "3.1" */
    const char *name;   /* "aten::add.out", "CONV_2D" */
    const char *label;  /* "layers.0/conv", of programs compiled with --profile; "" */
    bool on_npu;
};

enum nuc_selftest_kind {
    NUC_SELFTEST_INPUT,    /* of the call, as it is after the call */
    NUC_SELFTEST_CONSTANT, /* weights that the call reads */
    NUC_SELFTEST_OUTPUT,
    NUC_SELFTEST_KERNEL /* what a kernel of the NPU wrote */
};

/* A value that is compared, in the order in which the calls end. */
struct nuc_selftest_check {
    uint16_t node, from; /* from: what wrote an input, NUC_SELFTEST_NO_NODE: the caller */
    uint8_t argument, kind;
};

/* Bytes of an NPU payload, its microcode and weights, and the node that reads them. */
struct nuc_selftest_block {
    uint32_t at, size, sum; /* at: from the start of the payload, or of the image where `payloads` is NULL */
    uint16_t node, payload;
};

struct nuc_selftest {
    const char *name;
    uint16_t n_nodes, n_inputs, n_cases;
    uint32_t n_checks, n_blocks;
    const struct nuc_selftest_node *nodes;
    const struct nuc_selftest_check *checks;
    const struct nuc_selftest_block *blocks;
    const uint32_t *sums;           /* CRC-32s: those of all checks for each case */
    const uint8_t *const *inputs;   /* for each case, aligned to NUC_MEMORY_ALIGNMENT */
    const uint32_t *input_bytes;    /* of each input */
    const uint8_t *const *payloads; /* of generated C; NULL: they are in the image */
};

enum nuc_selftest_cause {
    NUC_SELFTEST_PASSED,
    NUC_SELFTEST_WEIGHTS, /* microcode, weights or constants are not those that were compiled */
    NUC_SELFTEST_MEMORY,  /* an input changed after it was written */
    NUC_SELFTEST_RESULT,  /* inputs and weights are right, and the output is not */
    NUC_SELFTEST_DRIVER,  /* loading was refused */
    NUC_SELFTEST_STOPPED, /* the call ended with an error */
    NUC_SELFTEST_IMAGE,   /* the checksum of the program does not fit, and no node differs */
    NUC_SELFTEST_CAUSES
};

/* The word that stands for a cause in the lines: "weights". */
const char *nuc_selftest_cause_word(enum nuc_selftest_cause cause);

/* A self-test under way. `cause`, `node` and `from` may be read; node is NUC_SELFTEST_NO_NODE where none is known. */
struct nuc_selftest_run {
    const struct nuc_selftest *test;
    void (*print)(const char *text);
    enum nuc_selftest_cause cause;
    uint16_t node, from;
    int32_t code;           /* of the driver, or enum nuc_status */
    bool is_over;           /* nothing is compared any more */
    bool is_damaged;        /* the program's checksum does not fit */
    uint32_t check, n_case; /* the next check, of this case */
};

/* Prints the nodes. */
void nuc_selftest_begin(struct nuc_selftest_run *r, const struct nuc_selftest *test, void (*print)(const char *text));

/* Before loading: compares the program's checksum and the NPU's microcode and weights. NULL for generated C. */
void nuc_selftest_image(struct nuc_selftest_run *r, const void *image, size_t size);

/* Loading failed, or a run did: the call that it was under way in is the node. */
void nuc_selftest_stopped(struct nuc_selftest_run *r, enum nuc_status status, const struct nuc_detail *detail);

/* Runs all cases of a loaded program. */
void nuc_selftest_program(struct nuc_selftest_run *r, struct nuc_program *p);

/* Prints "PASS", or "FAIL" and the node. 0: it passed. */
int nuc_selftest_end(struct nuc_selftest_run *r);

/* ---- for generated C, and for what nuc_selftest_program() does by itself ---- */

/* Begins a case, whose inputs have been set. */
void nuc_selftest_case(struct nuc_selftest_run *r, uint32_t index);

/* After each call of a kernel or of the NPU. `values`: all of the program, of generated C; else NULL. */
void nuc_selftest_step(struct nuc_selftest_run *r, const struct nuc_value *values, struct nuc_value *const *args,
                       size_t n_args);

/* For nuc_simulator_watch(), with a struct nuc_selftest_run: names kernels inside of an NPU call on the simulator. */
void nuc_selftest_kernel(void *run, const void *handle, uint32_t call, uint32_t sum);

/* The CRC-32 of a tensor's bytes, or of those of a list's tensors. */
uint32_t nuc_selftest_sum(const struct nuc_value *values, const struct nuc_value *value);

#ifdef __cplusplus
}
#endif
#endif
