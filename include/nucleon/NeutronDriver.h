/*
 * The Neutron driver API over nucleon's simulator: binary and source compatible with the public declarations that
 * ExecuTorch's NXP backend compiles against, so that software written for the driver runs on the simulator unchanged.
 *
 * The simulated device is a Neutron-C: calls block, there is one engine, and functions of Neutron-S return
 * ERROR_CATEGORY_DRIVER_UNSUPPORTED. Handles may be used from several threads as long as each is used by one at a time;
 * functions without a handle concern the device itself and are called while no other call is under way.
 */
#ifndef NEUTRON_DRIVER_H
#define NEUTRON_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "NeutronErrors.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRACE_CONFIG_KERNEL_LEVEL (1U << 0)
#define TRACE_CONFIG_JOB_LEVEL (1U << 1)

/* 1: the application gives the memory of a handle; 0: the driver allocates it. */
#ifndef NO_HEAP_USAGE
#define NO_HEAP_USAGE 0
#endif

#define GEN_NEUTRON_DRIVER_ERROR(category, code) GEN_NEUTRON_ERROR(ERROR_COMPONENT_DRIVER, category, code)
#define GEN_NEUTRON_DRIVER_GENERIC_ERROR() GEN_NEUTRON_DRIVER_ERROR(ERROR_CATEGORY_DRIVER_GENERIC, __LINE__)

typedef void *NeutronModelHandle;

#define NEUTRON_INVALID_HANDLE NULL

/*
 * The buffers are borrowed until neutronModelUnprepare(), 16-byte aligned, and never written. The driver has their
 * addresses only: the caller vouches for the bytes of the microcode's header, for as many weights as its word 7 states,
 * and for nothing else. The microcode's own size, word 6, is taken only when it is that of its parts, before weights
 * are read.
 */
typedef struct {
    const void *microcode;
    const void *weights;
    const void *kernels;     /* not read by the simulator */
    uint32_t timeoutSeconds; /* 0: 60. A program whose work exceeds what the device does in that time is refused */
} NeutronModelConfig;

/*
 * Buffers of one run, each 16-byte aligned and at least as large as the microcode says: inputs[0 .. nI - 1],
 * outputs[0 .. nO - 1], then in `outputs` also scratch [nO], profile [nO + 1] and debug [nO + 2]; of these three, one
 * whose size is 0 may be NULL. What a run writes may not lie on the microcode, the weights or the handle, nor the
 * staging buffer on any of it: INVALID. Inputs that lie on outputs or scratch are overwritten, and the results are
 * wrong.
 */
typedef struct {
    const void **inputs;
    void **outputs;
    void *scratch;        /* not read: runtimes leave it unset */
    void *scratchWeights; /* staging buffer of a program that fetches its weights, 16-byte aligned; else not read */
} NeutronDataConfig;

typedef struct {
    uint32_t traceConfig; /* TRACE_CONFIG_* */
    char *traceBuffer;
    size_t traceBufferSize;
} NeutronTraceConfig;

/* Functions of the application. New members are added at the end. */
typedef struct {
    void (*copy)(void *dst, void *src, uint32_t size, uint32_t channel);
    void (*wait)(uint32_t channel);
} NeutronConfig;

/*
 * Counted: the device is off after as many calls of neutronDeinit() as of neutronInit(), and prepare and run then end
 * with category GENERIC, detail 1, until the next neutronInit(). neutronDeinit() without neutronInit(): GENERIC,
 * detail 3. The simulator may be used without either.
 */
NeutronError neutronInit(void);
NeutronError neutronDeinit(void);

NeutronError neutronCustomPrepare(uint32_t *inputSize, int32_t numInputs, uint32_t *outputSize, int32_t numOutputs,
                                  const void *firmware, size_t firmwareSize, NeutronModelHandle *hdl);
NeutronError neutronCustomExec(NeutronModelHandle hdl, const NeutronDataConfig *neutron_dcfg);

/* Nothing to set up on Neutron-C: checks its arguments. */
NeutronError neutronDataSetup(NeutronModelHandle hdl, NeutronDataConfig *neutron_dcfg);

/*
 * Verifies the microcode once and for all: every operand of every kernel call lies inside its buffer. *hdl is
 * NEUTRON_INVALID_HANDLE: the driver allocates (host library only, else NO_MEMORY); or it points to 16-byte aligned
 * memory of neutronGetModelContextSize() bytes. On error *hdl is NEUTRON_INVALID_HANDLE. On a host the driver takes
 * further memory for vector kernels (simulator.h), which neutronModelUnprepare() gives back.
 *
 * A handle is what was prepared last and not unprepared since. All functions that take one end with BAD_HANDLE for
 * anything else. A host knows its handles by a list: the address may be NULL, misaligned, freed or foreign, and nothing
 * is read there. A device has no list: it looks at the bytes, so that the address has to be memory. A handle that is
 * prepared is refused by neutronModelPrepare() with BAD_HANDLE and stays as it is, in *hdl, too; on a device, where it
 * owns nothing, it is prepared anew.
 */
NeutronError neutronModelPrepare(const NeutronModelConfig *mcfg, NeutronModelHandle *hdl);
NeutronError neutronModelUnprepare(NeutronModelHandle hdl);

NeutronError neutronRunBlocking(NeutronModelHandle hdl, const NeutronDataConfig *dcfg);
NeutronError neutronRunNonBlocking(NeutronModelHandle hdl, const NeutronDataConfig *dcfg);
NeutronError neutronWait(NeutronModelHandle hdl, const NeutronDataConfig *dcfg);
NeutronError neutronIsReady(NeutronModelHandle hdl, bool *isReady);

/*
 * Traces of the runs of a handle: text in the application's buffer, of which a run overwrites that of the run before.
 * With TRACE_CONFIG_KERNEL_LEVEL a line "kernel <number> <opcode> <start> <stop>" per call, with TRACE_CONFIG_JOB_LEVEL
 * "job <start> <stop>" for the run, in cycles; lines that do not fit are left out. NULL, a buffer of NULL or no level
 * switches it off. neutronGetTrace(): category TRACE_NOT_RUN before the first run.
 */
#ifndef NDEBUG
void neutronSetTrace(NeutronModelHandle hdl, NeutronTraceConfig *tcfg);
NeutronError neutronGetTrace(NeutronModelHandle hdl, char **buffer, size_t *size);
#endif

/*
 * Power of the device, in turns: a run while it is suspended ends with category GENERIC, detail 2, suspending a
 * suspended device with detail 4, resuming any other with detail 5. neutronInit() also ends a suspension.
 */
NeutronError neutronSuspend(void);
NeutronError neutronResume(void);

/*
 * The functions that bring weights into the staging buffer, for all programs of the device; they are copied. copy()
 * starts a copy on a channel, wait() ends it. Both are called by neutronRunBlocking(). Two NULL functions take them
 * back; the run of a program that fetches weights is INVALID while there are none. A copy that brings other bytes ends
 * the run with component firmware, category DMAPI_ERROR.
 */
NeutronError neutronSetConfig(NeutronConfig *config);

/* Bytes of a handle's memory, a multiple of 16. */
size_t neutronGetModelContextSize(void);

/* Neutron-S under Linux only: NULL, nothing, UNSUPPORTED. */
void *neutronMemAlloc(size_t alignment, size_t size);
void neutronMemFree(void *ptr);
NeutronError allocateBuffer(uint64_t size, void **pBuffer, bool userspace);
NeutronError releaseBuffer(void *buffer);
NeutronError clean_cache(const void *addr, int size);
NeutronError matmul(const void *info, int sizeInfo, const void *in, int sizeIn, const void *out, int sizeOut,
                    int idxSlot);

#ifdef __cplusplus
}
#endif
#endif
