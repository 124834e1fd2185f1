/*
 * Kernels for the vector extension of Armv8.1-M (MVE, Helium), its integer part: the contracts and the bytes of
 * device/kernels/ref_s8. What they do not speed up they leave to the kernels for the DSP extension. They take at most
 * 3 KB of stack.
 */
#ifndef NUC_DEVICE_KERNELS_MVE_MVE_H
#define NUC_DEVICE_KERNELS_MVE_MVE_H

#include "device/kernels/ref_s8/quantized.h"

nuc_conv_s8_fn nuc_mve_conv_s8, nuc_mve_depthwise_s8;
nuc_matmul_s8_fn nuc_mve_matmul_s8;
nuc_pool_s8_fn nuc_mve_max_pool_s8, nuc_mve_avg_pool_s8;
nuc_add_s8_fn nuc_mve_add_s8;
nuc_mul_s8_fn nuc_mve_mul_s8;
nuc_table_s8_fn nuc_mve_table_s8;
nuc_softmax_s8_fn nuc_mve_softmax_s8;
nuc_sum_s8_fn nuc_mve_sum_s8;
nuc_resize_int_fn nuc_mve_resize_bilinear_int;
nuc_copy_fn nuc_mve_copy;

#endif
