/* Vector kernels with AVX2. Compiled for that instruction set; called where the CPU has it. */
#include "npusim/vector/vector_avx2.h"

#include "npusim/vector/vector_kernels.h"

const struct vec_isa vec_isa_avx2 = VEC_ISA(NUC_SIMULATOR_AVX2, 0, 2, 1);
