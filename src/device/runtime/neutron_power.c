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

static enum nuc_status load(void *state, const uint8_t *processed, size_t size, struct nuc_detail *detail)
{
    enum nuc_status status = resume(detail);

    if (status != NUC_OK)
        return status;
    enum nuc_status loaded = nuc_neutron_backend.load(state, processed, size, detail);
    status = suspend_after(loaded, detail);
    if (loaded == NUC_OK && status != NUC_OK)
        nuc_neutron_unload(state);
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

const struct nuc_backend nuc_neutron_power_backend = {
    .id = "NeutronBackend",
    .sizes = nuc_neutron_driver_sizes,
    .argument_bytes = nuc_neutron_argument_bytes,
    .load = load,
    .run = run,
    .unload = nuc_neutron_unload,
    .device = nuc_neutron_device,
};
