/*
 * The kernels of all opcodes. A firmware that links a kernel selection file instead (`nucleon compile
 * --dump-kernel-selection`) has the same two symbols from there, and the linker leaves this file and the kernels it
 * does not name out.
 */
#include "device/base/npu_kernels.h"

#include "npu.h"

const uint32_t neutronKernelsVersion = NUC_MC_VERSION;

#define RUN(opcode, function)                                                                                          \
    static int32_t run_##opcode(const struct nuc_npu_memory *m, const union nuc_mc_record *r)                          \
    {                                                                                                                  \
        function(m, r);                                                                                                \
        return 0;                                                                                                      \
    }
NUC_NPU_KERNELS(RUN)
#undef RUN

int32_t (*const neutronKernels[NUC_MC_OPCODE_COUNT])(const struct nuc_npu_memory *m, const union nuc_mc_record *r) = {
#define ROW(opcode, function) [NUC_MC_OP_##opcode] = run_##opcode,
    NUC_NPU_KERNELS(ROW)
#undef ROW
};
