/* The NPU's delegate, for programs of little work only: a fuzzer has no time for a valid one of a minute. */
#ifndef NUC_FUZZ_BACKEND_H
#define NUC_FUZZ_BACKEND_H

#include "nucleon/runtime.h"

extern const struct nuc_backend fuzz_backend;
extern const struct nuc_backend_table fuzz_backends;

/* The microcode after the payload's header and the bytes left there; NULL when it is too short for a header. */
const uint8_t *fuzz_microcode(const uint8_t *payload, size_t size, size_t *left);

#endif
