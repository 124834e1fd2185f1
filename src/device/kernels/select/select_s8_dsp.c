#include "device/kernels/dsp/dsp.h"
#include "device/kernels/select/select_s8.h"

void nuc_kernel_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    nuc_dsp_conv_s8(c, in, weight, out);
}

void nuc_kernel_depthwise_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    nuc_dsp_depthwise_s8(c, in, weight, out);
}

void nuc_kernel_matmul_s8(const struct nuc_matmul_s8 *m, const int8_t *in, const int8_t *weight, int8_t *out)
{
    nuc_dsp_matmul_s8(m, in, weight, out);
}

void nuc_kernel_max_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    nuc_dsp_max_pool_s8(p, in, out);
}

void nuc_kernel_avg_pool_s8(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out)
{
    nuc_dsp_avg_pool_s8(p, in, out);
}

void nuc_kernel_add_s8(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                       int8_t *out)
{
    nuc_dsp_add_s8(p, loops, a, b, out);
}

void nuc_kernel_mul_s8(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                       int8_t *out)
{
    nuc_ref_mul_s8(p, loops, a, b, out);
}

void nuc_kernel_softmax_s8(const struct nuc_softmax_s8 *s, const int8_t *in, int8_t *out)
{
    nuc_ref_softmax_s8(s, in, out);
}

void nuc_kernel_recurrence_s8(const struct nuc_recurrence *r, const struct nuc_recurrence_s8 *p, const int8_t *in,
                              int8_t *out)
{
    nuc_dsp_recurrence_s8(r, p, in, out);
}
