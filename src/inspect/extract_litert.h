/* What runs on the NPU, taken out of a program as LiteRT models: for viewers and tools that read no delegates. */
#ifndef NUC_INSPECT_EXTRACT_LITERT_H
#define NUC_INSPECT_EXTRACT_LITERT_H

#include "archive/program_view.h"

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
