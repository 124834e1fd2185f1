/* The NPU's delegate, for programs of little work only: a fuzzer has no time for a valid one of a minute. */
#ifndef NUC_FUZZ_BACKEND_H
#define NUC_FUZZ_BACKEND_H

#include <stdbool.h>

#include "nucleon/runtime.h"

/*
 * Whether a program, of which nuc_program_sizes() gave the sizes, has few instructions and little work for the NPU, or
 * does not load for a reason of its own.
 */
bool fuzz_program_is_short(const uint8_t *image, size_t size, const struct nuc_program_sizes *sizes);

#define FUZZ_MOST_WORK ((uint64_t)1 << 22) /* multiply-accumulates and elements moved */

extern const struct nuc_backend fuzz_backend;
extern const struct nuc_backend_table fuzz_backends;

/* The microcode after the payload's header and the bytes left there; NULL when it is too short for a header. */
const uint8_t *fuzz_microcode(const uint8_t *payload, size_t size, size_t *left);

#endif
