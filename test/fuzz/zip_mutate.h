/*
 * Mutations of zip archives whose checksums and offsets are right again afterwards: plain bytes would end at the first
 * check. What is deflated keeps its bytes.
 */
#ifndef NUC_FUZZ_ZIP_MUTATE_H
#define NUC_FUZZ_ZIP_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* In place, like LLVMFuzzerCustomMutator(), which targets define by these. Return the new size. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t fuzz_mutate_zip(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* The first or the second of a pair (fuzz_support.h), as a zip archive where it is one. */
size_t fuzz_mutate_pair(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#endif
