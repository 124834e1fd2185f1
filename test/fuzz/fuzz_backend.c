#include "fuzz_backend.h"

#include <stdlib.h>

#include "device/base/microcode.h"
#include "device/base/span.h"
#include "device/npusim/npu.h"
#include "fuzz_support.h"

#define MOST_INSTRUCTIONS 512

static const char too_much[] = "is too much work for a fuzzer";

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
    if (microcode != NULL && nuc_npu_verify(microcode, weights, FUZZ_MOST_WORK, &npu, &where) == NPU_FINE)
        return NUC_OK;
    nuc_neutron_backend.unload(state);
    detail->message = too_much;
    return NUC_UNSUPPORTED;
}

static size_t argument_bytes(const uint8_t *processed, size_t size, size_t index, const struct nuc_tensor *tensor)
{
    return nuc_neutron_backend.argument_bytes(processed, size, index, tensor);
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
    .argument_bytes = argument_bytes,
    .load = load,
    .run = run,
    .unload = unload,
};

static const struct nuc_backend *const entries[] = {&fuzz_backend};

const struct nuc_backend_table fuzz_backends = {entries, 1, &nuc_delegates};

bool fuzz_program_is_short(const uint8_t *image, size_t size, const struct nuc_program_sizes *sizes)
{
    struct nuc_program_memory m = {.state_size = sizes->state, .temporary_size = sizes->temporary};
    struct nuc_program p;
    struct nuc_detail detail = {.message = NULL};

    m.state = fuzz_block(sizes->state);
    m.temporary = fuzz_block(sizes->temporary);
    for (size_t i = 0; i < sizes->n_planned; i++)
        m.planned[i] = fuzz_block(m.planned_size[i] = sizes->planned[i]);
    enum nuc_status s = nuc_program_load(&p, image, size, &m, &nuc_default_kernels, &fuzz_backends, &detail);
    bool is_short = s == NUC_OK ? p.n_instructions <= MOST_INSTRUCTIONS : detail.message != too_much;
    if (s == NUC_OK)
        nuc_program_unload(&p);
    for (size_t i = 0; i < sizes->n_planned; i++)
        free(m.planned[i]);
    free(m.state);
    free(m.temporary);
    return is_short;
}
