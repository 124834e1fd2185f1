/*
 * Bundled programs (.bpte): a program, and test cases of its method with inputs and expected outputs, as ExecuTorch's
 * bundled_program.h reads them. The bytes are untrusted.
 */
#ifndef NUC_ARCHIVE_BUNDLE_H
#define NUC_ARCHIVE_BUNDLE_H

#include "device/base/program_schema.h"
#include "device/base/span.h"
#include "host/context.h"
#include "nucleon/types.h"

/* An input or an expected output: bytes in the dim order, as they lie in the program's memory. */
struct nuc_bundle_tensor {
    enum nuc_dtype dtype;
    uint32_t rank;
    int32_t sizes[NUC_MAX_RANK];
    uint8_t dim_order[NUC_MAX_RANK];
    struct nuc_span data;
};

struct nuc_bundle_case {
    uint32_t n_inputs, n_outputs;
    const struct nuc_bundle_tensor *inputs, *outputs;
};

struct nuc_bundle {
    const char *method;
    struct nuc_span program;
    uint32_t n_cases;
    const struct nuc_bundle_case *cases;
};

bool nuc_is_bundle(struct nuc_span file);

/* The program of a bundle, or the file itself when it is none; `path` is for the message. */
struct nuc_span nuc_bundled_program(struct nuc_context *cx, const char *path, struct nuc_span file);

/*
 * The cases of the first method. Spans point into the file. Fails with NUC_BAD_INPUT for a damaged file and
 * NUC_UNSUPPORTED where a value is no tensor.
 */
const struct nuc_bundle *nuc_bundle_read(struct nuc_context *cx, const char *path, struct nuc_span file);

struct nuc_span nuc_bundle_write(struct nuc_context *cx, const struct nuc_bundle *b);

#endif
