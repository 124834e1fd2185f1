/* Int8 kernels that call CMSIS-NN: the contracts and the bytes of device/kernels/ref_s8/quantized.h. */
#ifndef NUC_DEVICE_KERNELS_CMSIS_CMSIS_S8_H
#define NUC_DEVICE_KERNELS_CMSIS_CMSIS_S8_H

#include "device/kernels/ref_s8/quantized.h"

nuc_conv_s8_fn nuc_cmsis_conv_s8, nuc_cmsis_depthwise_s8;
nuc_matmul_s8_fn nuc_cmsis_matmul_s8;
nuc_pool_s8_fn nuc_cmsis_max_pool_s8, nuc_cmsis_avg_pool_s8;
nuc_add_s8_fn nuc_cmsis_add_s8;
nuc_mul_s8_fn nuc_cmsis_mul_s8;
nuc_softmax_s8_fn nuc_cmsis_softmax_s8;

#endif
