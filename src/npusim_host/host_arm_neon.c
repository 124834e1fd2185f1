/* Vector kernels with NEON's dot product. Compiled for that instruction set; called where the CPU has it. */
#include "npusim_host/vector_neon.h"

#include "npusim_host/vector_kernels.h"

const struct vec_isa vec_isa_neondot = VEC_ISA(NUC_SIMULATOR_NEON_DOT, 1, 0);
