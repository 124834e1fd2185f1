/* The Neutron driver API over the simulator. */
#undef NDEBUG /* defines the trace functions whatever the build type: the library's symbols do not depend on it */
#include "nucleon/NeutronDriver.h"

#include "base/span.h"
#include "npu_host.h"

#define FAIL(category, code) GEN_NEUTRON_DRIVER_ERROR(ERROR_CATEGORY_DRIVER_##category, (uint32_t)(code))

static bool is_aligned(const void *p)
{
    return (uintptr_t)p % NUC_MC_ALIGNMENT == 0;
}

struct nuc_npu *nuc_npu_of(void *hdl)
{
    struct nuc_npu *npu = hdl;

    if (!npu || !is_aligned(npu) || npu->magic != NPU_HANDLE_MAGIC)
        return NULL;
    return npu;
}

NeutronError neutronInit(void)
{
    return ENONE;
}

NeutronError neutronDeinit(void)
{
    return ENONE;
}

size_t neutronGetModelContextSize(void)
{
    return nuc_align_up(sizeof(struct nuc_npu), NUC_MC_ALIGNMENT);
}

/* The detail names the header word or the record: see docs/microcode.md. */
static NeutronError fault_error(enum nuc_npu_fault fault, uint32_t detail)
{
    if (fault == NPU_FINE)
        return ENONE;
    if (fault == NPU_TOO_SLOW)
        return FAIL(TIMEOUT, detail);
    return FAIL(UCODE, (uint32_t)fault << 16 | (detail & 0xFFFFu));
}

static NeutronError check_config(const NeutronModelConfig *mcfg)
{
    if (!mcfg || !mcfg->microcode || !mcfg->weights || !mcfg->kernels)
        return FAIL(INVALID, 1);
    if (!is_aligned(mcfg->microcode) || !is_aligned(mcfg->weights) || !is_aligned(mcfg->kernels))
        return FAIL(INVALID, 2);
    return ENONE;
}

NeutronError neutronModelPrepare(const NeutronModelConfig *mcfg, NeutronModelHandle *hdl)
{
    uint32_t detail = 0;

    if (!hdl)
        return FAIL(INVALID, 3);
    struct nuc_npu *npu = *hdl;
    bool allocate = npu == NEUTRON_INVALID_HANDLE;
    *hdl = NEUTRON_INVALID_HANDLE;
    NeutronError error = check_config(mcfg);
    if (error != ENONE)
        return error;
    if (!is_aligned(npu))
        return FAIL(INVALID, 4);
    if (allocate)
        npu = npu_context_alloc(neutronGetModelContextSize());
    if (!npu)
        return FAIL(NO_MEMORY, 0);
    uint64_t seconds = mcfg->timeoutSeconds ? mcfg->timeoutSeconds : NPU_DEFAULT_TIMEOUT;
    error = fault_error(nuc_npu_verify(mcfg->microcode, mcfg->weights, seconds * NPU_WORK_PER_SECOND, npu, &detail),
                        detail);
    if (error != ENONE) {
        if (allocate)
            npu_context_free(npu);
        return error;
    }
    npu->magic = NPU_HANDLE_MAGIC;
    npu->allocated = allocate;
    /* Without the memory for it every call runs as plain C. */
    if (npu_host_best() != NUC_SIMULATOR_PLAIN)
        npu->host = npu_host_open(npu, npu_host_best(), 1);
    *hdl = npu;
    return ENONE;
}

NeutronError neutronModelUnprepare(NeutronModelHandle hdl)
{
    struct nuc_npu *npu = nuc_npu_of(hdl);

    if (!npu)
        return FAIL(BAD_HANDLE, 0);
    npu->magic = 0;
    npu_host_close(npu->host);
    npu->host = NULL;
    if (npu->allocated)
        npu_context_free(npu);
    return ENONE;
}

/* `n` buffers, those of size 0 may be NULL. sizes: words of the I/O table. */
static bool buffers_fit(const void *const *buffers, const uint8_t *sizes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!is_aligned(buffers[i]) || (!buffers[i] && nuc_load_u32(sizes + (size_t)i * 4) != 0))
            return false;
    }
    return true;
}

static bool extra_fits(const void *buffer, uint32_t size)
{
    return is_aligned(buffer) && (buffer || size == 0);
}

static NeutronError check_data(const struct nuc_npu *npu, const NeutronDataConfig *dcfg)
{
    if (!npu)
        return FAIL(BAD_HANDLE, 0);
    if (!dcfg || (npu->n_inputs > 0 && !dcfg->inputs) || !dcfg->outputs)
        return FAIL(INVALID, 5);
    const void *const *outputs = (const void *const *)dcfg->outputs;
    if (npu->n_inputs > 0 && !buffers_fit(dcfg->inputs, npu->io_sizes, npu->n_inputs))
        return FAIL(INVALID, 6);
    if (!buffers_fit(outputs, npu->io_sizes + (size_t)npu->n_inputs * 4, npu->n_outputs))
        return FAIL(INVALID, 7);
    if (!extra_fits(outputs[npu->n_outputs], npu->scratch_size))
        return FAIL(INVALID, 8);
    if (npu->profile_size > 0 && !extra_fits(outputs[npu->n_outputs + 1], npu->profile_size))
        return FAIL(INVALID, 9);
    return ENONE;
}

NeutronError neutronDataSetup(NeutronModelHandle hdl, NeutronDataConfig *neutron_dcfg)
{
    return check_data(nuc_npu_of(hdl), neutron_dcfg);
}

NeutronError neutronRunBlocking(NeutronModelHandle hdl, const NeutronDataConfig *dcfg)
{
    const struct nuc_npu *npu = nuc_npu_of(hdl);
    NeutronError error = check_data(npu, dcfg);

    if (error != ENONE)
        return error;
    struct nuc_npu_memory memory = {.inputs = dcfg->inputs,
                                    .outputs = dcfg->outputs,
                                    .scratch = dcfg->outputs[npu->n_outputs],
                                    .weights = npu->weights};
    nuc_npu_run(npu, &memory, npu->profile_size > 0 ? dcfg->outputs[npu->n_outputs + 1] : NULL);
    return ENONE;
}

NeutronError neutronSuspend(void)
{
    return ENONE;
}

NeutronError neutronResume(void)
{
    return ENONE;
}

NeutronError neutronSetConfig(NeutronConfig *config)
{
    return config ? ENONE : FAIL(INVALID, 10);
}

void neutronSetTrace(NeutronModelHandle hdl, NeutronTraceConfig *tcfg)
{
    (void)hdl;
    (void)tcfg;
}

NeutronError neutronGetTrace(NeutronModelHandle hdl, char **buffer, size_t *size)
{
    (void)buffer;
    (void)size;
    return nuc_npu_of(hdl) ? FAIL(TRACE_NOT_RUN, 0) : FAIL(BAD_HANDLE, 0);
}
