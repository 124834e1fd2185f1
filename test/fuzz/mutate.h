/*
 * Mutations of files whose formats are known, so that they get past the first check: the fields of FlatBuffers, the
 * entries of zip archives and the values of JSON. Bytes that a blind mutation hits are nearly all weights and names.
 * All work in place, like LLVMFuzzerCustomMutator(), and return the new size, or 0 when the input is not of the format.
 */
#ifndef NUC_FUZZ_MUTATE_H
#define NUC_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* A field is dropped, another number or enumerator, a list of another length, one object in the place of another. */
size_t fuzz_mutate_flat(uint8_t *data, size_t size, uint32_t seed);

/* Checksums and offsets are right again afterwards. What is deflated keeps its bytes. */
size_t fuzz_mutate_zip(uint8_t *data, size_t size, size_t max_size, uint32_t seed);

/* A value is another number, one of another place, preferably of the same key, or missing. */
size_t fuzz_mutate_json(uint8_t *data, size_t size, size_t max_size, uint32_t seed);

/* xorshift32; the state is not 0. */
static inline uint32_t fuzz_next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

#endif
