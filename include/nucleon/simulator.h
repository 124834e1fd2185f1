/*
 * Configures the simulator behind NeutronDriver.h: the instructions and the number of threads that it uses on the host.
 * The choice does not change results. Not part of the driver API; a library for a device has plain C only, and of these
 * functions nuc_simulator_power() and nuc_simulator_watch().
 */
#ifndef NUCLEON_SIMULATOR_H
#define NUCLEON_SIMULATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "nucleon/NeutronDriver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NUC_SIMULATOR_MAX_THREADS 256

enum nuc_simulator_path {
    NUC_SIMULATOR_BEST, /* default: the fastest that the CPU supports, chosen when a program is prepared */
    NUC_SIMULATOR_PLAIN,
    NUC_SIMULATOR_AVX2,
    NUC_SIMULATOR_AVX512_VNNI,
    NUC_SIMULATOR_NEON_DOT,
    NUC_SIMULATOR_PATH_COUNT
};

struct nuc_simulator_options {
    enum nuc_simulator_path path;
    uint32_t threads; /* 0: 1; limited by the number of cores, and to one for small programs */
};

/* "avx2". The name of a path that does not exist is NULL. */
const char *nuc_simulator_path_name(enum nuc_simulator_path path);

/* Whether this library and this CPU support the path. */
bool nuc_simulator_has_path(enum nuc_simulator_path path);

/*
 * Configures a prepared program again, including its weights. Must not be called while the program runs.
 * ERROR_CATEGORY_DRIVER_UNSUPPORTED: the path is not supported; INVALID: too many threads; NO_MEMORY: the program then
 * runs as plain C. The threads live until the next call or neutronModelUnprepare().
 */
NeutronError nuc_simulator_configure(NeutronModelHandle hdl, const struct nuc_simulator_options *options);

/* The path of a prepared program. */
enum nuc_simulator_path nuc_simulator_path_of(NeutronModelHandle hdl);

/* How often the device was resumed and suspended since the start of the process. */
struct nuc_simulator_power {
    uint32_t resumes, suspends;
};
void nuc_simulator_power(struct nuc_simulator_power *out);

/*
 * Calls watcher(user, handle, call, sum) after each kernel call of each run, with the number of the call in its program
 * and the CRC-32 of what it has written; 0 for calls that write nothing but weights. NULL: no more. Neither while a
 * program runs.
 */
void nuc_simulator_watch(void (*watcher)(void *user, const void *handle, uint32_t call, uint32_t sum), void *user);

#ifdef __cplusplus
}
#endif
#endif
