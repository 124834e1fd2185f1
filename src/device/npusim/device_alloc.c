/* A device has no heap and no vector units: the application gives the memory of a handle, kernels are plain C. */
#include "npu_host.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

void *npu_context_alloc(size_t size)
{
    return NULL;
}

void npu_context_free(void *context)
{
}

bool npu_handle_may_be(const void *handle)
{
    return true;
}

enum npu_handle_added npu_handle_add(const struct nuc_npu *handle)
{
    return NPU_HANDLE_FINE;
}

void npu_handle_remove(const void *handle)
{
}

enum nuc_simulator_path npu_host_best(void)
{
    return NUC_SIMULATOR_PLAIN;
}

bool npu_host_has(enum nuc_simulator_path path)
{
    return path == NUC_SIMULATOR_PLAIN;
}

struct npu_host *npu_host_open(const struct nuc_npu *npu, enum nuc_simulator_path path, uint32_t threads, bool always)
{
    return NULL;
}

void npu_host_close(struct npu_host *host)
{
}

enum nuc_simulator_path npu_host_path(const struct npu_host *host)
{
    return NUC_SIMULATOR_PLAIN;
}

const union nuc_mc_record *npu_host_record(const struct npu_host *host, uint32_t index)
{
    return NULL;
}

bool npu_host_call(struct npu_host *host, uint32_t index, const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    return false;
}

void npu_host_table(struct npu_host *host, const struct nuc_npu_memory *m, const struct nuc_mc_result *result,
                    struct nuc_mc_ref table)
{
}
