/*
 * Int8 kernels for the Armv8-M DSP extension: the contracts and the bytes of device/kernels/ref_s8/quantized.h. What
 * they do not speed up they leave to the reference kernels. They take at most 3 KB of stack.
 */
#ifndef NUC_DEVICE_KERNELS_DSP_DSP_H
#define NUC_DEVICE_KERNELS_DSP_DSP_H

#include "device/kernels/ref/recurrence.h"
#include "device/kernels/ref_s8/quantized.h"

void nuc_dsp_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out);
void nuc_dsp_depthwise_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out);
void nuc_dsp_matmul_s8(const struct nuc_matmul_s8 *m, const int8_t *in, const int8_t *weight, int8_t *out);
void nuc_dsp_max_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out);
void nuc_dsp_avg_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out);
void nuc_dsp_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                    int8_t *out);
void nuc_dsp_recurrence_s8(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const int8_t *in,
                           int8_t *out);

#endif
