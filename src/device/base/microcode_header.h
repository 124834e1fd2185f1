/*
 * Header words of a Neutron program whose places depend on the version of the payload around it (the vendor's SDK
 * generation): version 1 has sizes of profile and debug buffers, version 0 has not. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_MICROCODE_HEADER_H
#define NUC_DEVICE_BASE_MICROCODE_HEADER_H

#include "device/base/microcode.h"
#include "device/base/span.h"

struct nuc_mc_buffers {
    uint32_t profile, debug, prefetch; /* bytes */
    uint32_t n_inputs, n_outputs;
};

/* Word `index`, which lies inside. */
static inline uint32_t nuc_mc_word(struct nuc_span microcode, uint64_t index)
{
    return nuc_load_u32(microcode.data + (size_t)index * 4);
}

/* Words of a header of payload version 0 that differ. */
enum { NUC_MC_WORD_PREFETCH_0 = 10, NUC_MC_WORD_INPUTS_0 = 11, NUC_MC_WORD_OUTPUTS_0 = 12, NUC_MC_LEAST_WORDS_0 = 13 };

/* `microcode` has NUC_MC_LEAST_WORDS_0 words for version 0, NUC_MC_WORD_OUTPUTS + 1 for version 1. */
static inline struct nuc_mc_buffers nuc_mc_buffers_of(const uint8_t *microcode, uint32_t payload_version)
{
    if (payload_version == 0)
        return (struct nuc_mc_buffers){
            .prefetch = nuc_load_u32(microcode + 4 * NUC_MC_WORD_PREFETCH_0) & NUC_MC_SIZE_MASK,
            .n_inputs = nuc_load_u32(microcode + 4 * NUC_MC_WORD_INPUTS_0),
            .n_outputs = nuc_load_u32(microcode + 4 * NUC_MC_WORD_OUTPUTS_0),
        };
    return (struct nuc_mc_buffers){
        .profile = nuc_load_u32(microcode + 4 * NUC_MC_WORD_PROFILE) & NUC_MC_SIZE_MASK,
        .debug = nuc_load_u32(microcode + 4 * NUC_MC_WORD_DEBUG),
        .prefetch = nuc_load_u32(microcode + 4 * NUC_MC_WORD_PREFETCH),
        .n_inputs = nuc_load_u32(microcode + 4 * NUC_MC_WORD_INPUTS),
        .n_outputs = nuc_load_u32(microcode + 4 * NUC_MC_WORD_OUTPUTS),
    };
}

/* The payload version that the header of a microcode of ours is laid out for. */
static inline uint32_t nuc_mc_payload_version(const uint8_t *microcode)
{
    return nuc_load_u32(microcode + 4 * NUC_MC_WORD_LAYOUT) == NUC_MC_LAYOUT_0 ? 0 : 1;
}

#endif
