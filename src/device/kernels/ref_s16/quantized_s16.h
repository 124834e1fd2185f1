/*
 * Kernels of int16 values and int8 weights: the bytes are those of LiteRT Micro's reference kernels. Zero points are 0,
 * so that a place outside an image adds nothing. Everything else is as in device/kernels/ref_s8/quantized.h, whose
 * shapes and parameters these kernels take.
 */
#ifndef NUC_DEVICE_KERNELS_REF_S16_QUANTIZED_S16_H
#define NUC_DEVICE_KERNELS_REF_S16_QUANTIZED_S16_H

#include "device/base/logistic.h"
#include "device/base/sampled.h"
#include "device/kernels/ref_s8/quantized.h"

/* ---- sums of products ---- */

/*
 * Sums have the width of the bias: 32 bits, which wrap, and the two-step rounding of nuc_requantize(); or 64 bits and
 * nuc_requantize_long(), also without a bias. Shifts are at most NUC_MOST_LONG_SHIFT then.
 */
struct nuc_conv_s16 {
    struct nuc_conv_s8 c;     /* input_offset and rescale.offset are 0; scratch is not used */
    const int64_t *long_bias; /* out_channels, or NULL */
    bool is_long;             /* c.bias is NULL then */
};

typedef void nuc_conv_s16_fn(const struct nuc_conv_s16 *c, enum nuc_conv_kind kind, const int16_t *in,
                             const int8_t *weight, int16_t *out);
nuc_conv_s16_fn nuc_ref_conv_s16;

/* in: rows x depth; right: columns x depth, both int16; out: rows x columns. Sums have 64 bits. */
void nuc_kernel_matmul_s16(const struct nuc_matmul_s8 *m, const int16_t *in, const int16_t *right, int16_t *out);

/* ---- elementwise; out may be an input of equal strides ---- */

/* x / scale, halves away from zero, plus the zero point, between the bounds; NaN is the least number. */
void nuc_kernel_exact_quantize(const struct nuc_affine *q, const float *in, void *out, size_t count);

struct nuc_requantize {
    enum nuc_dtype from, to; /* int8, int16 or int32 */
    int32_t zero_from, zero_to, low, high;
    struct nuc_multiplier m;
};
void nuc_kernel_requantize(const struct nuc_requantize *r, const void *in, void *out, size_t count);

/*
 * Both inputs are shifted left by 15. A negative multiplier of b, or of what is below 0 in a PReLU, subtracts what the
 * positive one makes.
 */
void nuc_kernel_add_s16(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int16_t *a, const int16_t *b,
                        int16_t *out);
/* Of int8, shifted left by 7, or of int16. */
void nuc_kernel_squared_difference(const struct nuc_add_s8 *p, enum nuc_dtype dtype, const struct nuc_loops *loops,
                                   const void *a, const void *b, void *out);
void nuc_kernel_mul_s16(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int16_t *a, const int16_t *b,
                        int16_t *out);
void nuc_kernel_prelu_s16(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int16_t *in,
                          const int8_t *slopes, int16_t *out);

/* The larger or smaller of each pair, which have one scale. */
void nuc_kernel_maximum_s16(const struct nuc_loops *loops, const int16_t *a, const int16_t *b, int16_t *out);
void nuc_kernel_minimum_s16(const struct nuc_loops *loops, const int16_t *a, const int16_t *b, int16_t *out);

/* samples: as sampled.h has them, NUC_EVEN or twice NUC_OCTAVES. */
void nuc_kernel_function_s16(const int32_t *samples, bool even, const int16_t *in, int16_t *out, size_t count);

/* The logistic function or the hyperbolic tangent of numbers in units of 1 / 12288; out counts 1 / 32768. */
void nuc_kernel_sigmoid_s16(struct nuc_q15_units units, bool is_tanh, const int16_t *in, int16_t *out, size_t count);

/* ---- along rows and windows ---- */

/*
 * Tables of 513 values of which the nearest two are interpolated: exponentials of -10 to 0 and 1 / (1 + x) of 0 to 1,
 * in units of 1 / 32768, as out is.
 */
struct nuc_softmax_s16 {
    int32_t rows, size; /* size: at most 65535 */
    const int16_t *exponentials, *reciprocals;
    struct nuc_multiplier m; /* difference to the row's largest element -> units of 10 / 65535 */
};
void nuc_kernel_softmax_s16(const struct nuc_softmax_s16 *s, const int16_t *in, int16_t *out);

void nuc_kernel_max_pool_s16(const struct nuc_pool_s8 *p, const int16_t *in, int16_t *out);
void nuc_kernel_avg_pool_s16(const struct nuc_pool_s8 *p, const int16_t *in, int16_t *out);
void nuc_kernel_sum_s16(const struct nuc_loops *kept, const struct nuc_loops *reduced, struct nuc_multiplier m,
                        const int16_t *in, int16_t *out);

#endif
