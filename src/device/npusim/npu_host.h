/*
 * What the host adds to a prepared program: weights packed for the CPU's vector instructions, kernels that use them,
 * threads. A device has none of it, and calls a host has no vector kernel for run as plain C.
 */
#ifndef NUC_DEVICE_NPUSIM_NPU_HOST_H
#define NUC_DEVICE_NPUSIM_NPU_HOST_H

#include "npu.h"
#include "nucleon/simulator.h"

struct npu_host;

/* The best path of this CPU that the library has. */
enum nuc_simulator_path npu_host_best(void);
bool npu_host_has(enum nuc_simulator_path path);

/*
 * Packs the program's calls for `path`, which is there and not plain C. NULL when there is not enough memory. The
 * program and its weights are borrowed. Of `threads`, which is not 0, as many work as there are cores, and on what is
 * large enough; always: all, on every call, as tests want it.
 */
struct npu_host *npu_host_open(const struct nuc_npu *npu, enum nuc_simulator_path path, uint32_t threads, bool always);
void npu_host_close(struct npu_host *host);

/*
 * The same, one call after the other: for n_calls, of `weights` bytes of weights. npu_host_plan() packs call `index`,
 * whose record has been verified and of which nothing is borrowed; false: it has no plan. npu_host_ready() comes
 * between planning and running; false: there is not enough memory.
 */
struct npu_host *npu_host_new(uint32_t n_calls, uint64_t weights, enum nuc_simulator_path path, uint32_t threads,
                              bool always);
bool npu_host_plan(struct npu_host *host, uint32_t index, const struct nuc_npu *npu, const union nuc_mc_record *r);
bool npu_host_ready(struct npu_host *host);

/* Runs the same calls in another thread, at the same time; what was planned lives as long as `from`. NULL: no memory.
 */
struct npu_host *npu_host_share(const struct npu_host *from);
enum nuc_simulator_path npu_host_path(const struct npu_host *host);

/* The fields of call `index`, as nuc_mc_load() gives them. */
const union nuc_mc_record *npu_host_record(const struct npu_host *host, uint32_t index);

/* Runs call `index`, whose record is `r`. False: it has no vector kernel, and nothing was done. */
bool npu_host_call(struct npu_host *host, uint32_t index, const struct nuc_npu_memory *m, const union nuc_mc_record *r);

/* Applies a table to what a call has written. */
void npu_host_table(struct npu_host *host, const struct nuc_npu_memory *m, const struct nuc_mc_result *result,
                    struct nuc_mc_ref table);

#endif
