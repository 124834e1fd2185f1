/*
 * Names in the microcode: which node of the graph, and which line of the user's program, each kernel call was made of.
 * Programs that record profiles carry them (docs/microcode.md), so that a profile needs nothing but the program.
 */
#ifndef NUC_NPU_CONVERT_KERNEL_NAMES_H
#define NUC_NPU_CONVERT_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "device/base/span.h"
#include "host/context.h"

/* Whether the bytes are microcode of this encoding and version; programs of the vendor's converter are not. */
bool nuc_is_microcode(struct nuc_span microcode);

/* NULL: unknown. */
struct nuc_kernel_name {
    const char *node;   /* label (ir/labels.h); several in one kernel: "conv1 + relu" */
    const char *source; /* "model.py:12" */
    const char *value;  /* of one node: what several parts of an operator are called together; not in the microcode */
};

/*
 * The table of names[0 .. n_calls - 1] as it stands `at` bytes into the microcode: two offsets per call, then the
 * texts.
 */
struct nuc_span nuc_kernel_names_write(struct nuc_context *cx, const struct nuc_kernel_name *names, uint32_t n_calls,
                                       uint32_t at);

/* Names of call `call` of untrusted microcode, control characters replaced; NULL when it says nothing. */
struct nuc_kernel_name nuc_kernel_name_read(struct nuc_context *cx, struct nuc_span microcode, uint32_t call);

#endif
