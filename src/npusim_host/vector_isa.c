/* The vector kernels of an instruction set: compiled once for each of them, called where the CPU has it. */
#if defined(__AVX512VNNI__)
#include "npusim_host/vector_avx512.h"

#include "npusim_host/vector_kernels.h"
const struct vec_isa vec_isa_avx512vnni = VEC_ISA(NUC_SIMULATOR_AVX512_VNNI, 1, 1);
#elif defined(__AVX2__)
#include "npusim_host/vector_avx2.h"

#include "npusim_host/vector_kernels.h"
const struct vec_isa vec_isa_avx2 = VEC_ISA(NUC_SIMULATOR_AVX2, 2, 1);
#else
#include "npusim_host/vector_neon.h"

#include "npusim_host/vector_kernels.h"
const struct vec_isa vec_isa_neondot = VEC_ISA(NUC_SIMULATOR_NEON_DOT, 1, 0);
#endif
