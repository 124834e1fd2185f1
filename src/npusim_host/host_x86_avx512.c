/* Vector kernels with AVX-512 VNNI. Compiled for that instruction set; called where the CPU has it. */
#include "npusim_host/vector_avx512.h"

#include "npusim_host/vector_kernels.h"

const struct vec_isa vec_isa_avx512vnni = VEC_ISA(NUC_SIMULATOR_AVX512_VNNI, 1, 1);
