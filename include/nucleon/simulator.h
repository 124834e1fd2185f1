/*
 * How the simulator, which implements NeutronDriver.h, uses the host it runs on: which instructions, how many threads.
 * Results are the same bytes whatever is chosen. Not part of the driver API; a library for a device has plain C alone.
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
    NUC_SIMULATOR_BEST, /* what the CPU has, chosen when a program is prepared: the default */
    NUC_SIMULATOR_PLAIN,
    NUC_SIMULATOR_AVX2,
    NUC_SIMULATOR_AVX512_VNNI,
    NUC_SIMULATOR_NEON_DOT,
    NUC_SIMULATOR_PATH_COUNT
};

struct nuc_simulator_options {
    enum nuc_simulator_path path;
    uint32_t threads; /* 0: 1; at most as many as there are cores work, and one on a program too small for more */
};

/* "avx2". The name of a path that does not exist is NULL. */
const char *nuc_simulator_path_name(enum nuc_simulator_path path);

/* True when this library and this CPU have the path. */
bool nuc_simulator_has_path(enum nuc_simulator_path path);

/*
 * Sets up a prepared program anew, weights included. Not while it runs. ERROR_CATEGORY_DRIVER_UNSUPPORTED: there is no
 * such path; INVALID: too many threads; NO_MEMORY: the program then runs as plain C. The threads live until the next
 * call or neutronModelUnprepare().
 */
NeutronError nuc_simulator_configure(NeutronModelHandle hdl, const struct nuc_simulator_options *options);

/* What a prepared program runs on. */
enum nuc_simulator_path nuc_simulator_path_of(NeutronModelHandle hdl);

#ifdef __cplusplus
}
#endif
#endif
