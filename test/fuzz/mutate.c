/* What libFuzzer and replay.c call: the mutation that the format of the input, which its first bytes tell, asks for. */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz_support.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* 0: none of the formats. */
static size_t mutate_file(uint8_t *data, size_t size, size_t max_size, uint32_t seed)
{
    size_t made = fuzz_mutate_flat(data, size, seed);

    made = made != 0 ? made : fuzz_mutate_zip(data, size, max_size, seed);
    return made != 0 ? made : fuzz_mutate_json(data, size, max_size, seed);
}

/* The first or the second of a pair (fuzz_support.h). */
static size_t mutate_pair(uint8_t *data, size_t size, size_t max_size, uint32_t seed)
{
    struct nuc_span first, second;

    if (!fuzz_pair(data, size, &first, &second) || max_size < size)
        return 0;
    size_t room = max_size - size, made;
    if (seed % 3 == 0 && second.size != 0) {
        made = mutate_file(data + 4 + first.size, second.size, second.size + room, seed / 3 | 1);
        return made == 0 ? 0 : 4 + first.size + made;
    }
    /* The first one, with what follows behind it again. */
    uint8_t *rest = malloc(second.size + 1);
    if (rest == NULL)
        abort();
    memcpy(rest, second.data, second.size);
    made = mutate_file(data + 4, first.size, first.size + room, seed / 3 | 1);
    made = made != 0 ? made : first.size;
    memcpy(data + 4 + made, rest, second.size);
    nuc_store_u32(data, (uint32_t)made);
    free(rest);
    return 4 + made + second.size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint32_t state = seed | 1;
    size_t made = 0;

    if (fuzz_next(&state) % 8 != 0) {
        made = mutate_file(data, size, max_size, fuzz_next(&state));
        made = made != 0 ? made : mutate_pair(data, size, max_size, fuzz_next(&state));
    }
    return made != 0 ? made : LLVMFuzzerMutate(data, size, max_size);
}
