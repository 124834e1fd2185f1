/*
 * The processed blob of a delegate call: a header that maps the program's inputs and outputs to the delegate's
 * arguments, then microcode, weights and kernels, each padded to 16 bytes. docs/microcode.md has the layout.
 */
#ifndef NUC_NPU_CONTAINER_PAYLOAD_H
#define NUC_NPU_CONTAINER_PAYLOAD_H

#include <stdint.h>

#include "device/base/span.h"
#include "host/context.h"

struct nuc_payload_io {
    uint8_t format; /* 1: channels-last at the boundary, the runtime transposes contiguous tensors; 0: anything else */
    uint8_t map;    /* which argument (inputs) or result (outputs) of the delegate it is */
};

struct nuc_payload {
    uint8_t n_inputs, n_outputs; /* of the program */
    uint8_t n_args;              /* inputs of the delegate; a program may use fewer */
    uint8_t version;             /* layout of the microcode's header: 1 for ours, 0 for older vendor programs */
    const struct nuc_payload_io *inputs, *outputs;
    struct nuc_span microcode, weights, kernels;
};

/* Sizes of the buffers a program asks for, from the words of its header. */
struct nuc_payload_sizes {
    uint32_t scratch, profile, debug, prefetch;
};

/* Fails with NUC_INTERNAL when a map points beyond the delegate's arguments or results. */
struct nuc_span nuc_payload_compose(struct nuc_context *cx, const struct nuc_payload *p);

/* The blocks of `p` are from now on those of the bytes that were composed of it, or of a copy of them. */
void nuc_payload_refer(struct nuc_payload *p, struct nuc_span composed);

/*
 * Takes an untrusted payload apart; spans point into `bytes`. Fails with NUC_BAD_INPUT, `file` named, when it is cut
 * off, holds no microcode or contradicts itself. Kernels extend to the end of the bytes.
 */
struct nuc_payload nuc_payload_parse(struct nuc_context *cx, const char *file, struct nuc_span bytes);

struct nuc_payload_sizes nuc_payload_sizes_of(const struct nuc_payload *p);

#endif
