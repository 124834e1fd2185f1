#include "fuzz_backend.h"

#include "base/microcode.h"
#include "base/span.h"
#include "npusim/npu.h"

#define MOST_WORK ((uint64_t)1 << 22) /* multiply-accumulates and elements moved */

const uint8_t *fuzz_microcode(const uint8_t *payload, size_t size, size_t *left)
{
    if (size < 3)
        return NULL;
    size_t header = nuc_align_up(3 + 2 * ((size_t)payload[0] + payload[1]) + 1, 16);
    if (size < header + 4 * NUC_MC_HEADER_WORDS)
        return NULL;
    *left = size - header;
    return payload + header;
}

static enum nuc_status sizes(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                             struct nuc_detail *detail)
{
    return nuc_neutron_backend.sizes(processed, size, out, detail);
}

/* Loads first: that checks what the simulator's verifier takes for granted, the extent of the microcode. */
static enum nuc_status load(void *state, const uint8_t *processed, size_t size, struct nuc_detail *detail)
{
    struct nuc_npu npu;
    uint32_t where;
    size_t left;
    enum nuc_status status = nuc_neutron_backend.load(state, processed, size, detail);

    if (status != NUC_OK)
        return status;
    const uint8_t *microcode = fuzz_microcode(processed, size, &left);
    const uint8_t *weights =
        microcode == NULL ? NULL
                          : microcode + nuc_align_up(nuc_load_u32(microcode + 4 * NUC_MC_WORD_SIZE), NUC_MC_ALIGNMENT);
    if (microcode != NULL && nuc_npu_verify(microcode, weights, MOST_WORK, &npu, &where) == NPU_FINE)
        return NUC_OK;
    nuc_neutron_backend.unload(state);
    return NUC_UNSUPPORTED;
}

static enum nuc_status run(void *state, struct nuc_kernel_context *cx, struct nuc_value *const *args, size_t n_args)
{
    return nuc_neutron_backend.run(state, cx, args, n_args);
}

static void unload(void *state)
{
    nuc_neutron_backend.unload(state);
}

const struct nuc_backend fuzz_backend = {
    .id = "NeutronBackend",
    .sizes = sizes,
    .load = load,
    .run = run,
    .unload = unload,
};

static const struct nuc_backend *const entries[] = {&fuzz_backend};

const struct nuc_backend_table fuzz_backends = {entries, 1};
