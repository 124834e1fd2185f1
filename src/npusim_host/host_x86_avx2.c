/* Vector kernels with AVX2. Compiled for that instruction set; called where the CPU has it. */
#include "npusim_host/vector_avx2.h"

#include "npusim_host/vector_kernels.h"

const struct vec_isa vec_isa_avx2 = VEC_ISA(NUC_SIMULATOR_AVX2, 2, 1);
