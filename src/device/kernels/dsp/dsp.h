/*
 * Kernels for the Armv8-M DSP extension: the contracts and the bytes of device/kernels/ref_s8 and ref_s16. What
 * they do not speed up they leave to the reference kernels. They take at most 3 KB of stack.
 */
#ifndef NUC_DEVICE_KERNELS_DSP_DSP_H
#define NUC_DEVICE_KERNELS_DSP_DSP_H

#include "device/kernels/ref/recurrence.h"
#include "device/kernels/ref_s16/quantized_s16.h"
#include "device/kernels/ref_s8/quantized.h"

nuc_conv_s8_fn nuc_dsp_conv_s8, nuc_dsp_depthwise_s8, nuc_dsp_transposed_conv_s8;
nuc_matmul_s8_fn nuc_dsp_matmul_s8;
nuc_pool_s8_fn nuc_dsp_max_pool_s8, nuc_dsp_avg_pool_s8;
nuc_add_s8_fn nuc_dsp_add_s8;
nuc_mul_s8_fn nuc_dsp_mul_s8;
nuc_prelu_s8_fn nuc_dsp_prelu_s8;
nuc_recurrence_s8_fn nuc_dsp_recurrence_s8;
nuc_conv_s16_fn nuc_dsp_conv_s16;

#endif
