/*
 * Payloads of the NPU: the delegate takes them apart, the simulator verifies and runs the microcode. Buffers have the
 * sizes the microcode states, so that AddressSanitizer sees an access beyond.
 */
#include <stdlib.h>

#include "device/base/microcode.h"
#include "fuzz_backend.h"
#include "fuzz_support.h"
#include "nucleon/NeutronDriver.h"
#include "nucleon/runtime.h"

#define MOST_BYTES 8192

struct port {
    struct nuc_value value;
    int32_t sizes[4];
    uint8_t dim_order[4];
};

/* A tensor of the port's bytes, two channels of them when they can be halved, so that formats matter. */
static void make_port(struct port *p, uint32_t bytes)
{
    int32_t channels = bytes != 0 && bytes % 2 == 0 ? 2 : 1;

    *p = (struct port){.sizes = {1, channels, 1, (int32_t)bytes / channels}, .dim_order = {0, 1, 2, 3}};
    p->value.kind = NUC_VALUE_TENSOR;
    p->value.u.tensor = (struct nuc_tensor){.data = fuzz_block(bytes),
                                            .sizes = p->sizes,
                                            .dim_order = p->dim_order,
                                            .bytes = bytes,
                                            .dtype = NUC_I8,
                                            .rank = 4,
                                            .planned = true};
}

static void execute(const uint8_t *payload, size_t size, const uint8_t *microcode, size_t left, void *state,
                    size_t temporary_size)
{
    enum nuc_status status = NUC_NO_MEMORY;
    uint32_t n_ports = (uint32_t)payload[0] + payload[1];
    uint64_t table = nuc_load_u32(microcode + 4 * NUC_MC_WORD_IO_OFFSET);
    struct port *ports = calloc(n_ports + 1, sizeof *ports);
    struct nuc_value **args = calloc(n_ports + 1, sizeof *args);
    struct nuc_detail detail = {.message = NULL};
    struct nuc_kernel_context cx = {.detail = &detail, .temporary_size = temporary_size};
    bool fits = ports != NULL && args != NULL && table + 4 * (uint64_t)n_ports <= left;

    for (uint32_t i = 0; fits && i < n_ports; i++) {
        uint32_t bytes = nuc_load_u32(microcode + table + 4 * (size_t)i);
        fits = bytes <= MOST_BYTES;
        make_port(&ports[i], fits ? bytes : 0);
        args[i] = &ports[i].value;
    }
    for (uint32_t i = 0; fits && i < n_ports; i++)
        cx.temporary_size += fuzz_backend.argument_bytes(payload, size, i, &ports[i].value.u.tensor);
    cx.temporary = fuzz_block(cx.temporary_size);
    if (fits)
        status = fuzz_backend.run(state, &cx, args, n_ports);
    for (uint32_t i = 0; ports != NULL && i < n_ports; i++)
        free(ports[i].value.u.tensor.data);
    free(cx.temporary);
    free(ports);
    free(args);
    fuzz_verdict_of(status, &detail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *payload = fuzz_copy(data, size);
    struct nuc_backend_sizes sizes;
    struct nuc_detail detail = {.message = NULL};
    size_t left = 0;
    const uint8_t *microcode = fuzz_microcode(payload, size, &left);

    neutronInit();
    enum nuc_status status = fuzz_backend.sizes(payload, size, &sizes, &detail);
    if (status == NUC_OK && (microcode == NULL || sizes.temporary > 64 * MOST_BYTES))
        status = NUC_NO_MEMORY;
    fuzz_verdict_of(status, &detail);
    if (status == NUC_OK) {
        void *state = fuzz_block(sizes.state);
        status = fuzz_backend.load(state, payload, size, &detail);
        fuzz_verdict_of(status, &detail);
        if (status == NUC_OK) {
            execute(payload, size, microcode, left, state, sizes.temporary);
            fuzz_backend.unload(state);
        }
        free(state);
    }
    neutronDeinit();
    free(payload);
    return 0;
}
