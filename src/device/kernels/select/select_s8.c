/* The int8 kernels of one implementation, whichever is selected for the others. */
#include "device/kernels/select/select_s8.h"

void nuc_kernel_transposed_conv_s8(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out)
{
    nuc_ref_transposed_conv_s8(c, in, weight, out);
}

void nuc_kernel_sum_s8(const struct nuc_loops *kept, const struct nuc_loops *reduced, int32_t input_offset,
                       const struct nuc_rescale *rescale, const int8_t *in, int8_t *out)
{
    nuc_ref_sum_s8(kept, reduced, input_offset, rescale, in, out);
}

void nuc_kernel_div_int(const struct nuc_div_s8 *p, const void *a, const void *b, void *out, size_t count)
{
    nuc_ref_div_int(p, a, b, out, count);
}

void nuc_kernel_maximum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out)
{
    nuc_ref_maximum_s8(loops, a, b, out);
}

void nuc_kernel_minimum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out)
{
    nuc_ref_minimum_s8(loops, a, b, out);
}

void nuc_kernel_table_s8(const int8_t *table, const int8_t *in, int8_t *out, size_t count)
{
    nuc_ref_table_s8(table, in, out, count);
}

void nuc_kernel_prelu_s8(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int8_t *in,
                         const int8_t *slopes, int8_t *out)
{
    nuc_ref_prelu_s8(p, loops, in, slopes, out);
}

void nuc_kernel_resize_bilinear_s8(const struct nuc_resize_s8 *r, const int8_t *in, int8_t *out)
{
    nuc_ref_resize_bilinear_s8(r, in, out);
}

void nuc_kernel_resize_nearest_s8(const struct nuc_resize_s8 *r, const int8_t *in, int8_t *out)
{
    nuc_ref_resize_nearest_s8(r, in, out);
}

void nuc_kernel_compare_s8(const struct nuc_compare_s8 *p, const struct nuc_loops *loops, const int8_t *a,
                           const int8_t *b, int8_t *out)
{
    nuc_ref_compare_s8(p, loops, a, b, out);
}

void nuc_kernel_norm_s8(const struct nuc_norm_s8 *n, const int8_t *in, const float *weight, const float *bias,
                        int8_t *out)
{
    nuc_ref_norm_s8(n, in, weight, bias, out);
}

void nuc_kernel_var_s8(const struct nuc_loops *kept, const struct nuc_loops *reduced, float scale, int32_t zero_point,
                       const int8_t *in, int8_t *out)
{
    nuc_ref_var_s8(kept, reduced, scale, zero_point, in, out);
}

void nuc_kernel_log_softmax_s8(const struct nuc_log_softmax_s8 *s, const struct nuc_loops *lines,
                               const struct nuc_line *line, const int8_t *in, int8_t *out)
{
    nuc_ref_log_softmax_s8(s, lines, line, in, out);
}
