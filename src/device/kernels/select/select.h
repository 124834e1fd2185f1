/*
 * The kernels the runtime calls. Which implementation each has is decided here and nowhere else: one file of
 * this folder is compiled, select_portable.c for every CPU. Contracts are those of device/kernels/ref/ref.h.
 */
#ifndef NUC_DEVICE_KERNELS_SELECT_SELECT_H
#define NUC_DEVICE_KERNELS_SELECT_SELECT_H

#include "device/kernels/ref/recurrence.h"
#include "device/kernels/ref/ref.h"

void nuc_kernel_quantize_f32(const struct nuc_affine *q, const float *in, void *out, size_t count);
void nuc_kernel_dequantize_f32(const struct nuc_affine *q, const void *in, float *out, size_t count);
void nuc_kernel_binary_f32(const struct nuc_binary *op, const struct nuc_loops *loops, float alpha, const float *a,
                           const float *b, float *out);
void nuc_kernel_map_f32(nuc_map_fn fn, const float *in, float *out, size_t count);
void nuc_kernel_leaky_relu_f32(float slope, const float *in, float *out, size_t count);
void nuc_kernel_clamp_f32(float low, float high, const float *in, float *out, size_t count);
void nuc_kernel_copy(const struct nuc_loops *loops, size_t element_size, const void *in, void *out);
void nuc_kernel_fill(size_t element_size, const void *value, void *out, size_t count);
void nuc_kernel_convolution_f32(const struct nuc_conv2d *c, const float *in, const float *weight, const float *bias,
                                float *out);
void nuc_kernel_transposed_convolution_f32(const struct nuc_conv2d *c, const float *in, const float *weight,
                                           const float *bias, float *out);
void nuc_kernel_convolution3d_f32(const struct nuc_conv3d *c, const float *in, const float *weight, const float *bias,
                                  float *out);
void nuc_kernel_max_pool_f32(const struct nuc_pool2d *p, const float *in, float *out, int64_t *indices);
void nuc_kernel_avg_pool_f32(const struct nuc_pool2d *p, const float *in, float *out);
void nuc_kernel_adaptive_avg_pool_f32(const struct nuc_pool2d *p, const float *in, float *out);
void nuc_kernel_softmax_f32(const struct nuc_loops *lines, const struct nuc_line *line, const float *in, float *out);
void nuc_kernel_batch_norm_f32(const struct nuc_axis *axis, const float *in, const float *weight, const float *bias,
                               const float *mean, const float *var, double eps, float *out);
void nuc_kernel_matmul_f32(const struct nuc_matmul *mm, const float *x, const float *y, float *out);
void nuc_kernel_addmm_f32(const struct nuc_matmul *mm, const float *addend, const ptrdiff_t addend_strides[2],
                          float beta, float alpha, const float *x, const float *y, float *out);
void nuc_kernel_recurrence_f32(const struct nuc_recurrence *r, const struct nuc_recurrence_f32 *p, const float *in,
                               float *out);
void nuc_kernel_reduce_f32(enum nuc_reduce_op op, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           const float *in, float *out);
void nuc_kernel_extreme_s8(bool largest, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           const int8_t *in, int8_t *out);
void nuc_kernel_binary(const struct nuc_binary *op, const struct nuc_loops *loops, struct nuc_factor alpha,
                       struct nuc_elements a, struct nuc_elements b, struct nuc_elements out);
void nuc_kernel_map(const struct nuc_map *op, const struct nuc_loops *loops, struct nuc_elements in,
                    struct nuc_elements out);
void nuc_kernel_elu_f32(const struct nuc_elu *elu, const float *in, float *out, size_t count);
void nuc_kernel_logit_f32(float low, const float *in, float *out, size_t count);
void nuc_kernel_convert_where(const struct nuc_loops *loops, struct nuc_elements in, const uint8_t *condition,
                              struct nuc_elements out);
void nuc_kernel_log_softmax_f32(const struct nuc_loops *lines, const struct nuc_line *line, const float *in,
                                float *out);
void nuc_kernel_cumsum_f32(const struct nuc_loops *lines, const struct nuc_line *line, const float *in, float *out);
void nuc_kernel_cumsum_int(const struct nuc_loops *lines, const struct nuc_line *line, enum nuc_dtype from,
                           enum nuc_dtype to, const void *in, void *out);
void nuc_kernel_layer_norm_f32(size_t rows, size_t count, const float *in, const float *weight, const float *bias,
                               float eps, float *out, float *mean_out, float *inverse_out);
void nuc_kernel_rms_norm_f32(size_t rows, size_t count, const float *in, const float *weight, float eps, float *out);
void nuc_kernel_group_norm_f32(const struct nuc_group_norm *g, const float *in, const float *weight, const float *bias,
                               double eps, float *out, float *mean_out, float *inverse_out);
void nuc_kernel_reduce_int(enum nuc_reduce_op op, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           enum nuc_dtype from, enum nuc_dtype to, const void *in, void *out);
void nuc_kernel_any_f32(const struct nuc_loops *kept, const struct nuc_loops *reduced, const float *in, bool *out);
void nuc_kernel_arg_extreme(bool largest, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                            enum nuc_dtype dtype, const void *in, int64_t *out);
void nuc_kernel_var_f32(const struct nuc_loops *kept, const struct nuc_loops *reduced, double correction,
                        const float *in, float *out);
void nuc_kernel_convert(const struct nuc_loops *loops, enum nuc_dtype from, enum nuc_dtype to, const void *in,
                        void *out);
void nuc_kernel_arange(enum nuc_dtype dtype, double start, double step, void *out, size_t count);
void nuc_kernel_grid_sample_f32(const struct nuc_grid *g, const float *in, const float *grid, float *out);
void nuc_kernel_upsample_bilinear_f32(const struct nuc_upsample2d *u, const float *in, float *out);
void nuc_kernel_upsample_nearest(const struct nuc_upsample2d *u, size_t element_size, const void *in, void *out);
bool nuc_kernel_gather(const struct nuc_loops *loops, const struct nuc_indexed *x, size_t element_size, const void *in,
                       void *out);
bool nuc_kernel_scatter(const struct nuc_loops *loops, const struct nuc_indexed *x, enum nuc_combination how,
                        enum nuc_dtype dtype, const void *src, void *out);
void nuc_kernel_combine(const struct nuc_loops *loops, enum nuc_combination how, enum nuc_dtype dtype, const void *in,
                        void *out);
bool nuc_kernel_masked_scatter(const struct nuc_loops *loops, size_t element_size, const bool *mask, const void *source,
                               size_t count, void *out);
void nuc_kernel_sort(const struct nuc_sort *s, const void *line, void *values, int64_t *indices);
void nuc_kernel_matmul_int(const struct nuc_matmul *mm, enum nuc_dtype dtype, const void *x, const void *y, void *out);

#endif
