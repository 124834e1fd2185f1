/* Functions of Neutron-S, which a Neutron-C does not have. */
#include "nucleon/NeutronDriver.h"

#define UNSUPPORTED GEN_NEUTRON_DRIVER_ERROR(ERROR_CATEGORY_DRIVER_UNSUPPORTED, 0)

NeutronError neutronCustomPrepare(uint32_t *inputSize, int32_t numInputs, uint32_t *outputSize, int32_t numOutputs,
                                  const void *firmware, size_t firmwareSize, NeutronModelHandle *hdl)
{
    (void)inputSize;
    (void)numInputs;
    (void)outputSize;
    (void)numOutputs;
    (void)firmware;
    (void)firmwareSize;
    if (hdl)
        *hdl = NEUTRON_INVALID_HANDLE;
    return UNSUPPORTED;
}

NeutronError neutronCustomExec(NeutronModelHandle hdl, const NeutronDataConfig *neutron_dcfg)
{
    (void)hdl;
    (void)neutron_dcfg;
    return UNSUPPORTED;
}

NeutronError neutronRunNonBlocking(NeutronModelHandle hdl, const NeutronDataConfig *dcfg)
{
    (void)hdl;
    (void)dcfg;
    return UNSUPPORTED;
}

NeutronError neutronWait(NeutronModelHandle hdl, const NeutronDataConfig *dcfg)
{
    (void)hdl;
    (void)dcfg;
    return UNSUPPORTED;
}

NeutronError neutronIsReady(NeutronModelHandle hdl, bool *isReady)
{
    (void)hdl;
    (void)isReady;
    return UNSUPPORTED;
}

void *neutronMemAlloc(size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    return NULL;
}

void neutronMemFree(void *ptr)
{
    (void)ptr;
}

NeutronError allocateBuffer(uint64_t size, void **pBuffer, bool userspace)
{
    (void)size;
    (void)userspace;
    if (pBuffer)
        *pBuffer = NULL;
    return UNSUPPORTED;
}

NeutronError releaseBuffer(void *buffer)
{
    (void)buffer;
    return UNSUPPORTED;
}

NeutronError clean_cache(const void *addr, int size)
{
    (void)addr;
    (void)size;
    return UNSUPPORTED;
}

NeutronError matmul(const void *info, int sizeInfo, const void *in, int sizeIn, const void *out, int sizeOut,
                    int idxSlot)
{
    (void)info;
    (void)sizeInfo;
    (void)in;
    (void)sizeIn;
    (void)out;
    (void)sizeOut;
    (void)idxSlot;
    return UNSUPPORTED;
}
