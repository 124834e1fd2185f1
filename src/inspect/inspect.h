/* Describes files: what `nucleon inspect` prints. All readers take untrusted bytes. */
#ifndef NUC_INSPECT_INSPECT_H
#define NUC_INSPECT_INSPECT_H

#include <stdbool.h>

#include "archive/program_view.h"
#include "host/file.h"
#include "nucleon/compile.h"

/*
 * A .pt2, .tflite or .pte file, recognized by content. `disassemble` adds the kernel calls of NPU payloads. Fails with
 * NUC_BAD_INPUT naming the place for a damaged file, or one of another kind.
 */
const char *nuc_inspect(struct nuc_context *cx, struct nuc_stored input, enum nuc_inspect_form form, bool disassemble);

/* ---- what ExecuTorch's own runtime would refuse, or read otherwise than the program means (lint_program.c) ---- */

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

/* ---- what runs on the NPU as LiteRT models, for viewers and tools that read no delegates (extract_litert.c) ---- */

struct nuc_extracted {
    uint32_t instruction; /* of the call */
    struct nuc_span bytes;
};

/*
 * For each call of a NeutronBackend delegate, in order of execution, a model of one NeutronGraph operator with the
 * microcode, weights and kernels of the payload, whoever made them. Its inputs and outputs are the tensors of the call,
 * channels last where the NPU takes them so. Fails with NUC_BAD_INPUT, the file named, for a damaged payload and for a
 * call whose arguments do not fit it.
 */
const struct nuc_extracted *nuc_extract_litert(struct nuc_context *cx, const struct nuc_program_view *view,
                                               size_t *count);

#endif
