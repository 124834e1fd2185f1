/* Functions of Neutron-S, which a Neutron-C does not have. */
#include "nucleon/NeutronDriver.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define UNSUPPORTED GEN_NEUTRON_DRIVER_ERROR(ERROR_CATEGORY_DRIVER_UNSUPPORTED, 0)

NeutronError neutronCustomPrepare(uint32_t *inputSize, int32_t numInputs, uint32_t *outputSize, int32_t numOutputs,
                                  const void *firmware, size_t firmwareSize, NeutronModelHandle *hdl)
{
    if (hdl)
        *hdl = NEUTRON_INVALID_HANDLE;
    return UNSUPPORTED;
}

NeutronError neutronCustomExec(NeutronModelHandle hdl, const NeutronDataConfig *neutron_dcfg)
{
    return UNSUPPORTED;
}

NeutronError neutronRunNonBlocking(NeutronModelHandle hdl, const NeutronDataConfig *dcfg)
{
    return UNSUPPORTED;
}

NeutronError neutronWait(NeutronModelHandle hdl, const NeutronDataConfig *dcfg)
{
    return UNSUPPORTED;
}

NeutronError neutronIsReady(NeutronModelHandle hdl, bool *isReady)
{
    return UNSUPPORTED;
}

void *neutronMemAlloc(size_t alignment, size_t size)
{
    return NULL;
}

void neutronMemFree(void *ptr)
{
}

NeutronError allocateBuffer(uint64_t size, void **pBuffer, bool userspace)
{
    if (pBuffer)
        *pBuffer = NULL;
    return UNSUPPORTED;
}

NeutronError releaseBuffer(void *buffer)
{
    return UNSUPPORTED;
}

NeutronError clean_cache(const void *addr, int size)
{
    return UNSUPPORTED;
}

NeutronError matmul(const void *info, int sizeInfo, const void *in, int sizeIn, const void *out, int sizeOut,
                    int idxSlot)
{
    return UNSUPPORTED;
}
