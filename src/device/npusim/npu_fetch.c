/* Weights that lie in flash, which the NPU cannot read: copies into the staging buffer by the application's functions.
 */
#include <string.h>

#include "npu.h"

void nuc_npu_fetch(const struct nuc_npu_memory *memory, const struct nuc_mc_fetch *f, const uint8_t *weights)
{
    void *source = (void *)(uintptr_t)(weights + f->weights_offset); /* the public type is not const; it is only read */

    memory->copies->copy(memory->staging + f->staging_offset, source, (uint32_t)f->size, (uint32_t)f->channel);
}

/*
 * Operands keep their offsets in the weights: the window of staged bytes is where they would be, had all weights been
 * copied. A copy is compared with its source, because the verified tables in it keep the kernels from harm.
 */
bool nuc_npu_wait(struct nuc_npu_memory *memory, const struct nuc_mc_fetch *f, const uint8_t *weights)
{
    uint8_t *window = memory->staging + f->staging_offset;

    memory->copies->wait((uint32_t)f->channel);
    if (nuc_npu_fails(NUC_FAULT_COPY))
        window[0] ^= 1;
    memory->weights = (const uint8_t *)((uintptr_t)window - (uintptr_t)(uint32_t)f->weights_offset);
    return memcmp(window, weights + f->weights_offset, (size_t)f->size) == 0;
}
