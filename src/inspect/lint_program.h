/* What ExecuTorch's own runtime would refuse, or read otherwise than the program means, found in the file alone. */
#ifndef NUC_INSPECT_LINT_PROGRAM_H
#define NUC_INSPECT_LINT_PROGRAM_H

#include "archive/program_view.h"

struct nuc_lint_finding {
    uint32_t instruction;
    const char *what; /* the operator or backend */
    const char *rule; /* why it refuses, and what helps */
};

/*
 * Findings of the first method, in order of instructions, in the arena. Fails with NUC_BAD_INPUT for a payload that
 * cannot be read. Rules: kernels/portable, kernels/quantized and backends/nxp/runtime of ExecuTorch.
 */
const struct nuc_lint_finding *nuc_lint_program(struct nuc_context *cx, const struct nuc_program_view *view,
                                                uint32_t *count);

#endif
