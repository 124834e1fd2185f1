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

/* Vectors of bytes: MVE. Words of bytes: the DSP extension, which comes with MVE, too. */
#if defined(NUC_SELECT_MVE) || (defined(__ARM_FEATURE_MVE) && !defined(NUC_SELECT_DSP) && !defined(NUC_SELECT_REF))
#include "device/kernels/mve/mve.h"
#define NUC_BY_VECTORS mve
#define NUC_BY_WIDEST mve
#else
#define NUC_BY_VECTORS ref
#define NUC_BY_WIDEST NUC_BY_WORDS
#endif

#if defined(NUC_SELECT_MVE) || defined(NUC_SELECT_DSP) || (defined(__ARM_FEATURE_DSP) && !defined(NUC_SELECT_REF))
#include "device/kernels/dsp/dsp.h"
#define NUC_BY_WORDS dsp
#else
#define NUC_BY_WORDS ref
#endif

#if defined(NUC_SELECT_CMSIS)
#include "device/kernels/cmsis/cmsis_s8.h"
#define NUC_BY_BEST cmsis
#define NUC_SOFTMAX_BY cmsis
#else
#define NUC_BY_BEST NUC_BY_WIDEST
#define NUC_SOFTMAX_BY NUC_BY_VECTORS
#endif

/* In float32: by vectors where there are some. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(NUC_SELECT_REF)
#define NUC_FLOAT_BY wide
#else
#define NUC_FLOAT_BY ref
#endif

#define NUC_SELECT(by, type, name) NUC_SELECT_NAMED(by, type, name)
#define NUC_SELECT_NAMED(by, type, name) static nuc_##type##_fn *const nuc_kernel_##name = nuc_##by##_##name;

NUC_SELECT(NUC_BY_BEST, conv_s8, conv_s8)
NUC_SELECT(NUC_BY_BEST, conv_s8, depthwise_s8)
NUC_SELECT(NUC_BY_BEST, matmul_s8, matmul_s8)
NUC_SELECT(NUC_BY_BEST, pool_s8, max_pool_s8)
NUC_SELECT(NUC_BY_BEST, pool_s8, avg_pool_s8)
NUC_SELECT(NUC_BY_BEST, add_s8, add_s8)
NUC_SELECT(NUC_BY_BEST, mul_s8, mul_s8)
NUC_SELECT(NUC_SOFTMAX_BY, softmax_s8, softmax_s8)
NUC_SELECT(NUC_BY_VECTORS, table_s8, table_s8)
NUC_SELECT(NUC_BY_VECTORS, sum_s8, sum_s8)
NUC_SELECT(NUC_BY_VECTORS, resize_int, resize_bilinear_int)
NUC_SELECT(NUC_BY_VECTORS, copy, copy)
NUC_SELECT(NUC_BY_WORDS, conv_s8, transposed_conv_s8)
NUC_SELECT(NUC_BY_WORDS, prelu_s8, prelu_s8)
NUC_SELECT(NUC_BY_WORDS, recurrence_s8, recurrence_s8)
NUC_SELECT(NUC_BY_WORDS, conv_s16, conv_s16)
NUC_SELECT(NUC_FLOAT_BY, convolution_f32, convolution_f32)
NUC_SELECT(NUC_FLOAT_BY, matmul_f32, matmul_f32)

#endif
