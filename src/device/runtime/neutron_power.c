/*
 * The backend of neutron_delegate.c without power between its calls. Apart from it, so that who does not suspend the
 * NPU needs no driver that can.
 */
#include "device/runtime/neutron_payload.h"

enum nuc_status nuc_neutron_power_start(void)
{
    return neutronInit() == ENONE && neutronSuspend() == ENONE ? NUC_OK : NUC_DEVICE;
}

static enum nuc_status resume(struct nuc_detail *detail)
{
    NeutronError code = neutronResume();

    return code == ENONE ? NUC_OK : nuc_neutron_failed(detail, code, NUC_TEXT("the NPU does not resume"));
}

/* What went wrong first is what is said. */
static enum nuc_status suspend_after(enum nuc_status status, struct nuc_detail *detail)
{
    NeutronError code = neutronSuspend();

    if (code == ENONE || status != NUC_OK)
        return status;
    return nuc_neutron_failed(detail, code, NUC_TEXT("the NPU does not suspend"));
}

static enum nuc_status sizes(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                             struct nuc_detail *detail)
{
    return nuc_neutron_backend.sizes(processed, size, out, detail);
}

static size_t argument_bytes(const uint8_t *processed, size_t size, size_t index, const struct nuc_tensor *tensor)
{
    return nuc_neutron_backend.argument_bytes(processed, size, index, tensor);
}

static enum nuc_status load(void *state, const uint8_t *processed, size_t size, struct nuc_detail *detail)
{
    enum nuc_status status = resume(detail);

    if (status != NUC_OK)
        return status;
    enum nuc_status loaded = nuc_neutron_backend.load(state, processed, size, detail);
    status = suspend_after(loaded, detail);
    if (loaded == NUC_OK && status != NUC_OK)
        nuc_neutron_backend.unload(state);
    return status;
}

static enum nuc_status run(void *state, struct nuc_kernel_context *cx, struct nuc_value *const *args, size_t n_args)
{
    enum nuc_status status = resume(cx->detail);

    if (status != NUC_OK)
        return status;
    status = nuc_neutron_backend.run(state, cx, args, n_args);
    return suspend_after(status, cx->detail);
}

static void unload(void *state)
{
    nuc_neutron_backend.unload(state);
}

static void *device(void *state)
{
    return nuc_neutron_backend.device(state);
}

const struct nuc_backend nuc_neutron_power_backend = {
    .id = "NeutronBackend",
    .sizes = sizes,
    .argument_bytes = argument_bytes,
    .load = load,
    .run = run,
    .unload = unload,
    .device = device,
};
