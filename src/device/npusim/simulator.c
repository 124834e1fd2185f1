/* The simulator's own functions next to the driver API. */
#include "nucleon/simulator.h"

#include "npu_host.h"

#define FAIL(category, code) GEN_NEUTRON_DRIVER_ERROR(ERROR_CATEGORY_DRIVER_##category, (uint32_t)(code))

const char *nuc_simulator_path_name(enum nuc_simulator_path path)
{
    static const char *const names[NUC_SIMULATOR_PATH_COUNT] = {
        [NUC_SIMULATOR_BEST] = "best",        [NUC_SIMULATOR_PLAIN] = "plain",
        [NUC_SIMULATOR_AVX2] = "avx2",        [NUC_SIMULATOR_AVX512_VNNI] = "avx512vnni",
        [NUC_SIMULATOR_NEON_DOT] = "neondot",
    };

    return (uint32_t)path < NUC_SIMULATOR_PATH_COUNT ? names[path] : NULL;
}

bool nuc_simulator_has_path(enum nuc_simulator_path path)
{
    return path == NUC_SIMULATOR_BEST || path == NUC_SIMULATOR_PLAIN || npu_host_has(path);
}

NeutronError nuc_simulator_configure(NeutronModelHandle hdl, const struct nuc_simulator_options *options)
{
    struct nuc_npu *npu = nuc_npu_of(hdl);

    if (!npu)
        return FAIL(BAD_HANDLE, 0);
    if (!options || options->threads > NUC_SIMULATOR_MAX_THREADS)
        return FAIL(INVALID, 11);
    if (!nuc_simulator_has_path(options->path))
        return FAIL(UNSUPPORTED, options->path);
    npu_host_close(npu->host);
    npu->host = NULL;
    enum nuc_simulator_path path = options->path == NUC_SIMULATOR_BEST ? npu_host_best() : options->path;
    if (path == NUC_SIMULATOR_PLAIN)
        return ENONE;
    npu->host = npu_host_open(npu, path, options->threads ? options->threads : 1, false);
    return npu->host ? ENONE : FAIL(NO_MEMORY, 1);
}

enum nuc_simulator_path nuc_simulator_path_of(NeutronModelHandle hdl)
{
    const struct nuc_npu *npu = nuc_npu_of(hdl);

    return npu && npu->host ? npu_host_path(npu->host) : NUC_SIMULATOR_PLAIN;
}
