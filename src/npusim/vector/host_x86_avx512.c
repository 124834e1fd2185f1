/* Vector kernels with AVX-512 VNNI. Compiled for that instruction set; called where the CPU has it. */
#include "npusim/vector/vector_avx512.h"

#include "npusim/vector/vector_kernels.h"

const struct vec_isa vec_isa_avx512vnni = VEC_ISA(NUC_SIMULATOR_AVX512_VNNI, 128, 1, 1);
