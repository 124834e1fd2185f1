/* A device has no heap and no vector units: the application gives the memory of a handle, kernels are plain C. */
#include "npu_host.h"

void *npu_context_alloc(size_t size)
{
    (void)size;
    return NULL;
}

void npu_context_free(void *context)
{
    (void)context;
}

bool npu_handle_may_be(const void *handle)
{
    (void)handle;
    return true;
}

enum npu_handle_added npu_handle_add(const struct nuc_npu *handle)
{
    (void)handle;
    return NPU_HANDLE_FINE;
}

void npu_handle_remove(const void *handle)
{
    (void)handle;
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
    (void)npu;
    (void)path;
    (void)threads;
    (void)always;
    return NULL;
}

void npu_host_close(struct npu_host *host)
{
    (void)host;
}

enum nuc_simulator_path npu_host_path(const struct npu_host *host)
{
    (void)host;
    return NUC_SIMULATOR_PLAIN;
}

const union nuc_mc_record *npu_host_record(const struct npu_host *host, uint32_t index)
{
    (void)host;
    (void)index;
    return NULL;
}

bool npu_host_call(struct npu_host *host, uint32_t index, const struct nuc_npu_memory *m, const union nuc_mc_record *r)
{
    (void)host;
    (void)index;
    (void)m;
    (void)r;
    return false;
}

void npu_host_table(struct npu_host *host, const struct nuc_npu_memory *m, const struct nuc_mc_result *result,
                    struct nuc_mc_ref table)
{
    (void)host;
    npu_table(m, result, table);
}
