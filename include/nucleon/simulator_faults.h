/*
 * Injects faults into the simulated device, for tests of software that uses the driver API: the NPU hangs, its
 * interrupt reports an error, or a copy is wrong. Not part of the driver API.
 */
#ifndef NUCLEON_SIMULATOR_FAULTS_H
#define NUCLEON_SIMULATOR_FAULTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nuc_simulator_fault_kind {
    NUC_FAULT_DEVICE,  /* a kernel call ends with firmware category INTR_ERROR, its number as detail */
    NUC_FAULT_TIMEOUT, /* a kernel call does not end: driver category TIMEOUT, its number as detail */
    NUC_FAULT_COPY,    /* the first copy of weights brings a wrong byte: firmware category DMAPI_ERROR */
    NUC_FAULT_MEMORY,  /* neutronModelPrepare(): driver category NO_MEMORY */
    NUC_FAULT_RESUME,  /* neutronResume(): driver category INTERNAL_FAULT */
    NUC_FAULT_SUSPEND  /* neutronSuspend(): driver category INTERNAL_FAULT */
};

struct nuc_simulator_fault {
    enum nuc_simulator_fault_kind kind;
    uint32_t after; /* the number of successes before the failure */
    uint32_t call;  /* DEVICE, TIMEOUT: number of the kernel call in the program; beyond the last one: none fails */
};

/* Injects the fault once; NULL: no fault. The outputs of a failed run are undefined. */
void nuc_simulator_inject(const struct nuc_simulator_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
