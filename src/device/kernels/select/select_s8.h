/*
 * The int8 kernels the runtime calls. select_s8.c has those of one implementation; which of several the
 * others have is decided by the file that is compiled with it: select_s8_ref.c, select_s8_dsp.c (Armv8-M DSP extension)
 * or select_s8_cmsis.c (CMSIS-NN). All give the same bytes. Contracts are those of device/kernels/ref_s8/quantized.h.
 */
#ifndef NUC_DEVICE_KERNELS_SELECT_SELECT_S8_H
#define NUC_DEVICE_KERNELS_SELECT_SELECT_S8_H

#include "device/kernels/ref/recurrence.h"
#include "device/kernels/ref_s8/quantized.h"

void nuc_kernel_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out);
void nuc_kernel_depthwise_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out);
void nuc_kernel_transposed_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out);
void nuc_kernel_matmul_s8(const struct nuc_matmul_s8 *m, const int8_t *in, const int8_t *weight, int8_t *out);
void nuc_kernel_max_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out);
void nuc_kernel_avg_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out);
void nuc_kernel_sum_s8(const struct nuc_loops *kept, const struct nuc_loops *reduced, int32_t input_offset,
                       const struct nuc_rescale *rescale, const int8_t *in, int8_t *out);
void nuc_kernel_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                       int8_t *out);
void nuc_kernel_mul_s8(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                       int8_t *out);
void nuc_kernel_div_int(const struct nuc_div_s8 *p, const void *a, const void *b, void *out, size_t count);
void nuc_kernel_maximum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out);
void nuc_kernel_minimum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out);
void nuc_kernel_table_s8(const int8_t *table, const int8_t *in, int8_t *out, size_t count);
void nuc_kernel_prelu_s8(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int8_t *in,
                         const int8_t *slopes, int8_t *out);
void nuc_kernel_recurrence_s8(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const int8_t *in,
                              int8_t *out);
void nuc_kernel_compare_s8(const struct nuc_compare_s8 *p, const struct nuc_loops *loops, const int8_t *a,
                           const int8_t *b, int8_t *out);
void nuc_kernel_softmax_s8(const struct nuc_softmax_s8 *s, const int8_t *in, int8_t *out);
void nuc_kernel_resize_bilinear_s8(const struct nuc_resize_s8 *r, const int8_t *in, int8_t *out);
void nuc_kernel_resize_nearest_s8(const struct nuc_resize_s8 *r, const int8_t *in, int8_t *out);
void nuc_kernel_norm_s8(const struct nuc_norm_s8 *n, const int8_t *in, const float *weight, const float *bias,
                        int8_t *out);
void nuc_kernel_var_s8(const struct nuc_loops *kept, const struct nuc_loops *reduced, float scale, int32_t zero_point,
                       const int8_t *in, int8_t *out);
void nuc_kernel_log_softmax_s8(const struct nuc_log_softmax_s8 *s, const struct nuc_loops *lines,
                               const struct nuc_line *line, const int8_t *in, int8_t *out);

#endif
