/* What both forms of the self-test share: where its lines go, and kernels of the simulator. */
#ifndef NUC_FIRMWARE_SELFTEST_H
#define NUC_FIRMWARE_SELFTEST_H

#include "firmware/serial/serial.h"
#include "nucleon/selftest.h"
#include "port/port.h"

#ifdef NUCLEON_SIMULATED_NPU
#include "nucleon/simulator.h"
#endif

static inline void selftest_print(const char *text)
{
    nuc_serial_put(text);
    nuc_port_print(text);
}

static inline void selftest_begin(struct nuc_selftest_run *run, const struct nuc_selftest *test)
{
    nuc_serial_start();
    nuc_selftest_begin(run, test, selftest_print);
#ifdef NUCLEON_SIMULATED_NPU /* which alone can be watched while it works */
    nuc_simulator_watch(nuc_selftest_kernel, run);
#endif
}

#endif
