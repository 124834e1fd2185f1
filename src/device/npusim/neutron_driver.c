/* The Neutron driver API over the simulator. */
#undef NDEBUG /* defines the trace functions whatever the build type: the library's symbols do not depend on it */
#include "nucleon/NeutronDriver.h"

#include "device/base/span.h"
#include "npu_host.h"

#define FAIL(category, code) GEN_NEUTRON_DRIVER_ERROR(ERROR_CATEGORY_DRIVER_##category, (uint32_t)(code))

static bool is_aligned(const void *p)
{
    return (uintptr_t)p % NUC_MC_ALIGNMENT == 0;
}

struct nuc_npu *nuc_npu_of(void *hdl)
{
    struct nuc_npu *npu = hdl;

    if (!npu || !is_aligned(npu) || !npu_handle_may_be(npu))
        return NULL;
    return npu->self == npu && npu->magic == NPU_HANDLE_MAGIC ? npu : NULL;
}

NeutronError neutronInit(void)
{
    struct nuc_npu_device *device = nuc_npu_device();

    device->inits++;
    device->off = false;
    device->suspended = false;
    return ENONE;
}

NeutronError neutronDeinit(void)
{
    struct nuc_npu_device *device = nuc_npu_device();

    if (device->inits == 0)
        return FAIL(GENERIC, 3);
    device->off = --device->inits == 0;
    return ENONE;
}

/* Whether the device can be used: not after neutronDeinit(), nor for a run while it is suspended. */
static NeutronError check_device(bool run)
{
    const struct nuc_npu_device *device = nuc_npu_device();

    if (device->off)
        return FAIL(GENERIC, 1);
    return run && device->suspended ? FAIL(GENERIC, 2) : ENONE;
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
    if (error == ENONE)
        error = check_device(false);
    if (error != ENONE)
        return error;
    if (!is_aligned(npu))
        return FAIL(INVALID, 4);
    if (nuc_npu_fails(NUC_FAULT_MEMORY))
        return FAIL(NO_MEMORY, 1);
    if (allocate)
        npu = npu_context_alloc(neutronGetModelContextSize());
    if (!npu)
        return FAIL(NO_MEMORY, 0);
    enum npu_handle_added added = npu_handle_add(npu);
    if (added == NPU_HANDLE_TWICE) {
        *hdl = npu; /* it stays prepared */
        return FAIL(BAD_HANDLE, 1);
    }
    if (added == NPU_HANDLE_NO_MEMORY) {
        if (allocate)
            npu_context_free(npu);
        return FAIL(NO_MEMORY, 0);
    }
    uint64_t seconds = mcfg->timeoutSeconds ? mcfg->timeoutSeconds : NPU_DEFAULT_TIMEOUT;
    enum nuc_npu_fault fault =
        nuc_npu_verify(mcfg->microcode, mcfg->weights, seconds * NPU_WORK_PER_SECOND, npu, &detail);
    error = fault_error(fault, detail);
    if (error != ENONE) {
        npu_handle_remove(npu);
        if (allocate)
            npu_context_free(npu);
        return error;
    }
    npu->self = npu;
    npu->magic = NPU_HANDLE_MAGIC;
    npu->allocated = allocate;
    /* Without the memory for it every call runs as plain C. */
    if (npu_host_best() != NUC_SIMULATOR_PLAIN)
        npu->host = npu_host_open(npu, npu_host_best(), 1, false);
    *hdl = npu;
    return ENONE;
}

NeutronError neutronModelUnprepare(NeutronModelHandle hdl)
{
    struct nuc_npu *npu = nuc_npu_of(hdl);

    if (!npu)
        return FAIL(BAD_HANDLE, 0);
    npu->magic = 0;
    npu_handle_remove(npu);
    npu_host_close(npu->host);
    npu->host = NULL;
    if (npu->allocated)
        npu_context_free(npu);
    return ENONE;
}

/* Those of size 0 may be NULL. */
static bool inputs_fit(const struct nuc_npu *npu, const void *const *inputs)
{
    for (uint32_t i = 0; i < npu->n_inputs; i++) {
        if (!is_aligned(inputs[i]) || (!inputs[i] && nuc_load_u32(npu->io_sizes + (size_t)i * 4) != 0))
            return false;
    }
    return true;
}

/* What was verified has to stay what it was: a run writes neither to the program nor to its handle. */
static bool leaves_program(const struct nuc_npu *npu, const void *buffer, uint32_t size)
{
    const uint8_t *microcode = npu->io_sizes - (size_t)NUC_MC_HEADER_WORDS * 4;

    return nuc_is_apart(buffer, size, microcode, nuc_load_u32(microcode + (size_t)NUC_MC_WORD_SIZE * 4)) &&
           nuc_is_apart(buffer, size, npu->weights, npu->weights_size) && nuc_is_apart(buffer, size, npu, sizeof *npu);
}

/* Bytes of output `i`, or of the scratch and the profile that follow the outputs. */
static uint32_t written_size(const struct nuc_npu *npu, uint32_t i)
{
    if (i < npu->n_outputs)
        return nuc_load_u32(npu->io_sizes + ((size_t)npu->n_inputs + i) * 4);
    return i == npu->n_outputs ? npu->scratch_size : npu->profile_size;
}

/* What a run writes: there, aligned, and on nothing that it computes with, copied weights included. */
static bool outputs_fit(const struct nuc_npu *npu, const NeutronDataConfig *dcfg)
{
    uint32_t n = npu->n_outputs + (npu->profile_size > 0 ? 2 : 1);

    for (uint32_t i = 0; i < n; i++) {
        const void *buffer = dcfg->outputs[i];
        uint32_t size = written_size(npu, i);
        if (!is_aligned(buffer) || (!buffer && size > 0) || !leaves_program(npu, buffer, size) ||
            !nuc_is_apart(buffer, size, dcfg->scratchWeights, npu->staging_size))
            return false;
    }
    return true;
}

static NeutronError check_data(const struct nuc_npu *npu, const NeutronDataConfig *dcfg)
{
    if (!npu)
        return FAIL(BAD_HANDLE, 0);
    if (!dcfg || (npu->n_inputs > 0 && !dcfg->inputs) || !dcfg->outputs)
        return FAIL(INVALID, 5);
    if (!inputs_fit(npu, dcfg->inputs))
        return FAIL(INVALID, 6);
    if (npu->staging_size > 0 && (!dcfg->scratchWeights || !is_aligned(dcfg->scratchWeights) ||
                                  !leaves_program(npu, dcfg->scratchWeights, npu->staging_size)))
        return FAIL(INVALID, 11);
    return outputs_fit(npu, dcfg) ? ENONE : FAIL(INVALID, 7);
}

NeutronError neutronDataSetup(NeutronModelHandle hdl, NeutronDataConfig *neutron_dcfg)
{
    return check_data(nuc_npu_of(hdl), neutron_dcfg);
}

NeutronError neutronRunBlocking(NeutronModelHandle hdl, const NeutronDataConfig *dcfg)
{
    struct nuc_npu *npu = nuc_npu_of(hdl);
    const struct nuc_npu_device *device = nuc_npu_device();
    NeutronError error = check_data(npu, dcfg);
    uint32_t at;

    if (error == ENONE)
        error = check_device(true);
    if (error == ENONE && npu->staging_size > 0 && !device->copies.copy)
        error = FAIL(INVALID, 12);
    if (error != ENONE)
        return error;
    struct nuc_npu_memory memory = {.inputs = dcfg->inputs,
                                    .outputs = dcfg->outputs,
                                    .scratch = dcfg->outputs[npu->n_outputs],
                                    .weights = npu->weights,
                                    .staging = dcfg->scratchWeights,
                                    .copies = &device->copies};
    struct nuc_npu_trace *trace = npu->trace.levels != 0 ? &npu->trace : NULL;
    if (trace)
        nuc_npu_trace_begin(trace);
    uint8_t *profile = npu->profile_size > 0 ? dcfg->outputs[npu->n_outputs + 1] : NULL;
    enum nuc_npu_stop stop = nuc_npu_run(npu, &memory, profile, trace, &at);
    switch (stop) {
    case NPU_DONE:
        return ENONE;
    case NPU_COPY_FAILED:
        return GEN_NEUTRON_ERROR(ERROR_COMPONENT_FIRMWARE, ERROR_CATEGORY_FW_DMAPI_ERROR, at);
    case NPU_CALL_FAILED:
        return GEN_NEUTRON_ERROR(ERROR_COMPONENT_FIRMWARE, ERROR_CATEGORY_FW_INTR_ERROR, at);
    case NPU_CALL_HANGS:
        break;
    }
    return FAIL(TIMEOUT, at);
}

NeutronError neutronSuspend(void)
{
    struct nuc_npu_device *device = nuc_npu_device();

    if (nuc_npu_fails(NUC_FAULT_SUSPEND))
        return FAIL(INTERNAL_FAULT, 1);
    if (device->suspended)
        return FAIL(GENERIC, 4);
    device->suspended = true;
    device->power.suspends++;
    return ENONE;
}

NeutronError neutronResume(void)
{
    struct nuc_npu_device *device = nuc_npu_device();

    if (nuc_npu_fails(NUC_FAULT_RESUME))
        return FAIL(INTERNAL_FAULT, 2);
    if (!device->suspended)
        return FAIL(GENERIC, 5);
    device->suspended = false;
    device->power.resumes++;
    return ENONE;
}

NeutronError neutronSetConfig(NeutronConfig *config)
{
    if (!config || !config->copy != !config->wait)
        return FAIL(INVALID, 10);
    nuc_npu_device()->copies = *config;
    return ENONE;
}

void neutronSetTrace(NeutronModelHandle hdl, NeutronTraceConfig *tcfg)
{
    struct nuc_npu *npu = nuc_npu_of(hdl);

    if (!npu)
        return;
    npu->trace = (struct nuc_npu_trace){.levels = 0};
    if (!tcfg || !tcfg->traceBuffer)
        return;
    npu->trace.levels = tcfg->traceConfig & (TRACE_CONFIG_KERNEL_LEVEL | TRACE_CONFIG_JOB_LEVEL);
    npu->trace.text = tcfg->traceBuffer;
    npu->trace.capacity = tcfg->traceBufferSize;
}

NeutronError neutronGetTrace(NeutronModelHandle hdl, char **buffer, size_t *size)
{
    const struct nuc_npu *npu = nuc_npu_of(hdl);

    if (!npu)
        return FAIL(BAD_HANDLE, 0);
    if (!buffer || !size)
        return FAIL(INVALID, 13);
    if (!npu->trace.ran)
        return FAIL(TRACE_NOT_RUN, 0);
    *buffer = npu->trace.text;
    *size = npu->trace.length;
    return ENONE;
}
