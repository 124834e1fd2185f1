/* What the fuzz targets share: bounded memory, files in memory, a byte source. */
#ifndef NUC_FUZZ_SUPPORT_H
#define NUC_FUZZ_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#include "device/base/span.h"
#include "host/context.h"
#include "nucleon/kernels.h"

/*
 * The entry point of libFuzzer, and of replay.c. Returns 0. Each call notes one verdict: whether the input was taken to
 * the end of the target, or why not.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* `why` is copied, without the name of a file in memory in front of it; NULL: accepted. */
void fuzz_verdict(const char *why);

/* The same for a call of the runtime: accepted when it is NUC_OK. `detail` may be NULL. */
void fuzz_verdict_of(enum nuc_status status, const struct nuc_detail *detail);

/* What the last input was told: NULL: accepted. Forgets it. */
const char *fuzz_take_verdict(void);

/* A number in [0, count) that follows from the bytes: what an input cannot say itself, an option, a model. */
uint32_t fuzz_choice(const uint8_t *data, size_t size, uint32_t count);
uint32_t fuzz_checksum(const uint8_t *data, size_t size);

/*
 * A context whose allocations together stay below `limit` bytes; beyond, they fail as exhausted memory does. Free it
 * with fuzz_context_free().
 */
struct fuzz_memory {
    size_t used, limit;
};
struct nuc_context *fuzz_context(struct fuzz_memory *memory, size_t limit);

/*
 * A target that reads bytes: fn(cx, struct nuc_span *) on an exact copy of the input, in such a context. Ends the
 * process when it reports a defect of nucleon. The verdict is whether it returns. Returns 0.
 */
int fuzz_bytes(const uint8_t *data, size_t size, size_t limit, void (*fn)(struct nuc_context *cx, void *span));

/* A file in memory; `path` receives a name that opens it. Returns the descriptor to close, -1 when there is none. */
int fuzz_file(const uint8_t *data, size_t size, char path[64]);

/*
 * An input of two parts: 4 bytes with the size of the first one, that one, the rest. False when the first one is longer
 * than what is there.
 */
bool fuzz_pair(const uint8_t *data, size_t size, struct nuc_span *first, struct nuc_span *second);

/* Zeroed block aligned to 16 bytes; the caller frees it. Ends the process when there is none. */
void *fuzz_block(size_t size);

/* An aligned copy of the input; a program that has a checksum is given the right one, or nothing else would be read. */
uint8_t *fuzz_copy(const uint8_t *data, size_t size);

/* Aborts with the text: the property a target checks does not hold. */
_Noreturn void fuzz_broken(const char *what);

#endif
