/*
 * Which implementation operators call of the kernels that have several; all give the same bytes. The build chooses with
 * NUC_SELECT_REF, NUC_SELECT_DSP, NUC_SELECT_MVE or NUC_SELECT_CMSIS; without one, and for kernels that CMSIS-NN has
 * not, the instructions of the CPU decide. The compiler puts the function in the place of the constant. All other
 * kernels are named nuc_kernel_NAME where they are defined.
 */
#ifndef NUC_DEVICE_KERNELS_SELECT_SELECT_H
#define NUC_DEVICE_KERNELS_SELECT_SELECT_H

#include "device/kernels/ref/recurrence.h"
#include "device/kernels/ref/ref.h"
#include "device/kernels/ref_s16/quantized_s16.h"
#include "device/kernels/ref_s8/quantized.h"

#if defined(NUC_SELECT_CMSIS)

#include "device/kernels/cmsis/cmsis_s8.h"

static nuc_conv_s8_fn *const nuc_kernel_conv_s8 = nuc_cmsis_conv_s8;
static nuc_conv_s8_fn *const nuc_kernel_depthwise_s8 = nuc_cmsis_depthwise_s8;
static nuc_matmul_s8_fn *const nuc_kernel_matmul_s8 = nuc_cmsis_matmul_s8;
static nuc_pool_s8_fn *const nuc_kernel_max_pool_s8 = nuc_cmsis_max_pool_s8;
static nuc_pool_s8_fn *const nuc_kernel_avg_pool_s8 = nuc_cmsis_avg_pool_s8;
static nuc_add_s8_fn *const nuc_kernel_add_s8 = nuc_cmsis_add_s8;
static nuc_mul_s8_fn *const nuc_kernel_mul_s8 = nuc_cmsis_mul_s8;
static nuc_softmax_s8_fn *const nuc_kernel_softmax_s8 = nuc_cmsis_softmax_s8;

#elif defined(NUC_SELECT_MVE) || (defined(__ARM_FEATURE_MVE) && !defined(NUC_SELECT_DSP) && !defined(NUC_SELECT_REF))

#include "device/kernels/mve/mve.h"

static nuc_conv_s8_fn *const nuc_kernel_conv_s8 = nuc_mve_conv_s8;
static nuc_conv_s8_fn *const nuc_kernel_depthwise_s8 = nuc_mve_depthwise_s8;
static nuc_matmul_s8_fn *const nuc_kernel_matmul_s8 = nuc_mve_matmul_s8;
static nuc_pool_s8_fn *const nuc_kernel_max_pool_s8 = nuc_mve_max_pool_s8;
static nuc_pool_s8_fn *const nuc_kernel_avg_pool_s8 = nuc_mve_avg_pool_s8;
static nuc_add_s8_fn *const nuc_kernel_add_s8 = nuc_mve_add_s8;
static nuc_mul_s8_fn *const nuc_kernel_mul_s8 = nuc_mve_mul_s8;
static nuc_softmax_s8_fn *const nuc_kernel_softmax_s8 = nuc_mve_softmax_s8;

#elif defined(NUC_SELECT_DSP) || (defined(__ARM_FEATURE_DSP) && !defined(NUC_SELECT_REF))

#include "device/kernels/dsp/dsp.h"

static nuc_conv_s8_fn *const nuc_kernel_conv_s8 = nuc_dsp_conv_s8;
static nuc_conv_s8_fn *const nuc_kernel_depthwise_s8 = nuc_dsp_depthwise_s8;
static nuc_matmul_s8_fn *const nuc_kernel_matmul_s8 = nuc_dsp_matmul_s8;
static nuc_pool_s8_fn *const nuc_kernel_max_pool_s8 = nuc_dsp_max_pool_s8;
static nuc_pool_s8_fn *const nuc_kernel_avg_pool_s8 = nuc_dsp_avg_pool_s8;
static nuc_add_s8_fn *const nuc_kernel_add_s8 = nuc_dsp_add_s8;
static nuc_mul_s8_fn *const nuc_kernel_mul_s8 = nuc_dsp_mul_s8;
static nuc_softmax_s8_fn *const nuc_kernel_softmax_s8 = nuc_ref_softmax_s8;

#else

static nuc_conv_s8_fn *const nuc_kernel_conv_s8 = nuc_ref_conv_s8;
static nuc_conv_s8_fn *const nuc_kernel_depthwise_s8 = nuc_ref_depthwise_s8;
static nuc_matmul_s8_fn *const nuc_kernel_matmul_s8 = nuc_ref_matmul_s8;
static nuc_pool_s8_fn *const nuc_kernel_max_pool_s8 = nuc_ref_max_pool_s8;
static nuc_pool_s8_fn *const nuc_kernel_avg_pool_s8 = nuc_ref_avg_pool_s8;
static nuc_add_s8_fn *const nuc_kernel_add_s8 = nuc_ref_add_s8;
static nuc_mul_s8_fn *const nuc_kernel_mul_s8 = nuc_ref_mul_s8;
static nuc_softmax_s8_fn *const nuc_kernel_softmax_s8 = nuc_ref_softmax_s8;

#endif

#if defined(NUC_SELECT_MVE) || (defined(__ARM_FEATURE_MVE) && !defined(NUC_SELECT_DSP) && !defined(NUC_SELECT_REF))

#include "device/kernels/mve/mve.h"

static nuc_table_s8_fn *const nuc_kernel_table_s8 = nuc_mve_table_s8;
static nuc_sum_s8_fn *const nuc_kernel_sum_s8 = nuc_mve_sum_s8;
static nuc_resize_int_fn *const nuc_kernel_resize_bilinear_int = nuc_mve_resize_bilinear_int;
static nuc_copy_fn *const nuc_kernel_copy = nuc_mve_copy;

#else

static nuc_table_s8_fn *const nuc_kernel_table_s8 = nuc_ref_table_s8;
static nuc_sum_s8_fn *const nuc_kernel_sum_s8 = nuc_ref_sum_s8;
static nuc_resize_int_fn *const nuc_kernel_resize_bilinear_int = nuc_ref_resize_bilinear_int;
static nuc_copy_fn *const nuc_kernel_copy = nuc_ref_copy;

#endif

#if defined(NUC_SELECT_MVE) || defined(NUC_SELECT_DSP) || (defined(__ARM_FEATURE_DSP) && !defined(NUC_SELECT_REF))

#include "device/kernels/dsp/dsp.h"

static nuc_conv_s8_fn *const nuc_kernel_transposed_conv_s8 = nuc_dsp_transposed_conv_s8;
static nuc_prelu_s8_fn *const nuc_kernel_prelu_s8 = nuc_dsp_prelu_s8;
static nuc_recurrence_s8_fn *const nuc_kernel_recurrence_s8 = nuc_dsp_recurrence_s8;
static nuc_conv_s16_fn *const nuc_kernel_conv_s16 = nuc_dsp_conv_s16;

#else

static nuc_conv_s8_fn *const nuc_kernel_transposed_conv_s8 = nuc_ref_transposed_conv_s8;
static nuc_prelu_s8_fn *const nuc_kernel_prelu_s8 = nuc_ref_prelu_s8;
static nuc_recurrence_s8_fn *const nuc_kernel_recurrence_s8 = nuc_ref_recurrence_s8;
static nuc_conv_s16_fn *const nuc_kernel_conv_s16 = nuc_ref_conv_s16;

#endif

/* In float32: by vectors where there are some. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(NUC_SELECT_REF)

static nuc_convolution_f32_fn *const nuc_kernel_convolution_f32 = nuc_wide_convolution_f32;
static nuc_matmul_f32_fn *const nuc_kernel_matmul_f32 = nuc_wide_matmul_f32;

#else

static nuc_convolution_f32_fn *const nuc_kernel_convolution_f32 = nuc_ref_convolution_f32;
static nuc_matmul_f32_fn *const nuc_kernel_matmul_f32 = nuc_ref_matmul_f32;

#endif
#endif
