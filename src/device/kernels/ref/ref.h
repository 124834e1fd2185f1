/*
 * Reference kernels in plain C over plain structs. Freestanding except for functions of libm that IEEE 754 defines.
 *
 * Float kernels compute in float32 with the formulas and the order of accumulation of ExecuTorch's portable kernels,
 * without contraction to fused multiply-add and with the functions of device/base/real.h: a host and a microcontroller
 * give the same bits. Buffers hold the
 * elements the struct describes; in and out do not overlap unless a kernel says so. Strides are in elements.
 */
#ifndef NUC_DEVICE_KERNELS_REF_REF_H
#define NUC_DEVICE_KERNELS_REF_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/base/fixed_point.h"
#include "nucleon/kernels.h"
#include "nucleon/types.h"

/* ---- quantization ---- */

struct nuc_affine {
    float scale;
    int32_t zero_point;
    int64_t quant_min, quant_max;
    enum nuc_dtype dtype; /* of the quantized side: NUC_I8, NUC_U8, NUC_I16, NUC_U16 or NUC_I32 */
};

/*
 * out = clamp(zero_point + round(in * (1 / scale))), rounding half to even, the sum in float32 as ExecuTorch forms it.
 * NaN gives quant_min. The bounds are within 32 bits.
 */
void nuc_kernel_quantize_f32(const struct nuc_affine *q, const float *in, void *out, size_t count);

/* out = (in - zero_point) * scale; the difference is formed in 32 bits and wraps. */
void nuc_kernel_dequantize_f32(const struct nuc_affine *q, const void *in, float *out, size_t count);

/* ---- elementwise ---- */

/* One loop nest for operators over several tensors: sizes outermost first; a stride of 0 repeats. */
struct nuc_loops {
    uint32_t rank;
    int32_t sizes[NUC_MAX_RANK];
    ptrdiff_t a[NUC_MAX_RANK];
    ptrdiff_t b[NUC_MAX_RANK];
    ptrdiff_t out[NUC_MAX_RANK];
};

/* Elements of a type that nuc_kernel_convert() knows. */
struct nuc_elements {
    enum nuc_dtype dtype;
    void *data;
};

/*
 * Operators of two values: one for every row of NUC_BINARIES and NUC_TENSOR_BINARIES, and those whose operators are
 * more than a row. A truth is 1 or 0. Integers are computed in 64 bits: what a narrower type keeps of the result is
 * what it computes itself. Division by 0 gives 0, for which torch has an error.
 */
struct nuc_binary {
    float (*f32)(float a, float b);       /* NULL: there is none */
    int64_t (*i64)(int64_t a, int64_t b); /* wraps; NULL: integers are computed as float32 */
    /* Of int16 alone, without alpha; NULL: as other integers. */
    void (*i16)(const struct nuc_loops *loops, const int16_t *a, const int16_t *b, int16_t *out);
};
#define NUC_BINARY_DECLARATION(X, name) extern const struct nuc_binary nuc_binary_##name;
NUC_BINARIES(NUC_BINARY_DECLARATION, )
NUC_TENSOR_BINARIES(NUC_BINARY_DECLARATION, )
#undef NUC_BINARY_DECLARATION
extern const struct nuc_binary nuc_binary_add, nuc_binary_sub, nuc_binary_pow, nuc_binary_div_trunc;

/* out = a op alpha * b. out may be a or b when their strides are equal. */
void nuc_kernel_binary_f32(const struct nuc_binary *op, const struct nuc_loops *loops, float alpha, const float *a,
                           const float *b, float *out);

/* A factor in either arithmetic. */
struct nuc_factor {
    float f32;
    int64_t i64;
};

/* The same for elements of any types: computed as float32 where an operand is real or there is no form for integers. */
void nuc_kernel_binary(const struct nuc_binary *op, const struct nuc_loops *loops, struct nuc_factor alpha,
                       struct nuc_elements a, struct nuc_elements b, struct nuc_elements out);

/* Functions of one value: one for every row of NUC_MAPS, and those whose operators are more than a row. */
typedef float (*nuc_map_fn)(float x);
struct nuc_map {
    nuc_map_fn f32;            /* NULL: there is none */
    int64_t (*i64)(int64_t x); /* NULL: integers are computed as float32 */
};
#define NUC_MAP_DECLARATION(X, name) extern const struct nuc_map nuc_map_##name;
NUC_MAPS(NUC_MAP_DECLARATION, )
#undef NUC_MAP_DECLARATION
extern const struct nuc_map nuc_map_bitwise_not, nuc_map_gelu, nuc_map_gelu_tanh; /* by erf, by tanh */

/* out = fn(in). out may be in, in the functions after it too. */
void nuc_kernel_map_f32(nuc_map_fn fn, const float *in, float *out, size_t count);

/* The same for elements of any types; strides a and out. */
void nuc_kernel_map(const struct nuc_map *op, const struct nuc_loops *loops, struct nuc_elements in,
                    struct nuc_elements out);

/* x * scale above 0, else (exp(x * input_scale) - 1) * alpha * scale */
struct nuc_elu {
    float alpha, scale, input_scale;
};
void nuc_kernel_elu_f32(const struct nuc_elu *elu, const float *in, float *out, size_t count);

/* log(x / (1 - x)) of x clamped to [low, 1 - low]; low < 0: as it is */
void nuc_kernel_logit_f32(float low, const float *in, float *out, size_t count);

/* x * slope below 0 */
void nuc_kernel_leaky_relu_f32(float slope, const float *in, float *out, size_t count);

/* min(max(x, low), high); NaN stays. */
void nuc_kernel_clamp_f32(float low, float high, const float *in, float *out, size_t count);

/* ---- moving data ---- */

/* Element sizes 1, 2, 4 and 8 bytes. Strides a for in, out for out; b is not read. */
typedef void nuc_copy_fn(const struct nuc_loops *loops, size_t element_size, const void *in, void *out);
nuc_copy_fn nuc_ref_copy;

/* Every element of out becomes the element at `value`. */
void nuc_kernel_fill(size_t element_size, const void *value, void *out, size_t count);

/* As nuc_kernel_convert() where the condition, of strides b, is not 0; other elements of out stay. */
void nuc_kernel_convert_where(const struct nuc_loops *loops, struct nuc_elements in, const uint8_t *condition,
                              struct nuc_elements out);

/*
 * Converts between float32, float64, bool and integers of 1 to 8 bytes; strides a and out. A float loses its fraction;
 * one outside the integer type, for which C leaves the result open, becomes the nearest value, NaN 0.
 */
void nuc_kernel_convert(const struct nuc_loops *loops, enum nuc_dtype from, enum nuc_dtype to, const void *in,
                        void *out);

/* Element i is start + i * step, computed in double and converted as by nuc_kernel_convert(). */
void nuc_kernel_arange(enum nuc_dtype dtype, double start, double step, void *out, size_t count);

/* ---- places given by values ---- */

/* Indices of int64 or int32 into a dimension of `size` elements that lie `stride` apart. */
struct nuc_indexed {
    const void *index;
    enum nuc_dtype dtype;
    int32_t size;
    ptrdiff_t stride;
    bool from_end; /* negative ones count from there */
};

/* How a value gets into an element; but for NUC_COMBINE_REPLACE of float32, bool and integers, which wrap. */
enum nuc_combination {
    NUC_COMBINE_REPLACE,
    NUC_COMBINE_ADD,
    NUC_COMBINE_MULTIPLY,
    NUC_COMBINE_MAX, /* NaN stays */
    NUC_COMBINE_MIN
};

/*
 * out = in[.., index, ..]: loops over the index, strides a of the index, b of the input (0 along the dimension), out.
 * False when an index is outside of the dimension: out is not complete then.
 */
bool nuc_kernel_gather(const struct nuc_loops *loops, const struct nuc_indexed *x, size_t element_size, const void *in,
                       void *out);

/* out[.., index, ..] becomes, or takes in, src: strides a of the index, b of src, out (0 along the dimension). */
bool nuc_kernel_scatter(const struct nuc_loops *loops, const struct nuc_indexed *x, enum nuc_combination how,
                        enum nuc_dtype dtype, const void *src, void *out);

/* The same without indices; strides a of in and out. */
void nuc_kernel_combine(const struct nuc_loops *loops, enum nuc_combination how, enum nuc_dtype dtype, const void *in,
                        void *out);

/*
 * Elements of out where the mask, of strides a, is true become the `count` values of source in order. False when these
 * are too few.
 */
bool nuc_kernel_masked_scatter(const struct nuc_loops *loops, size_t element_size, const bool *mask, const void *source,
                               size_t count, void *out);

/* The first `count` of `size` elements in order; NaN counts as the largest, equal ones keep their order. */
struct nuc_sort {
    enum nuc_dtype dtype; /* float32, bool or integers */
    bool descending;
    int32_t size, count;
    ptrdiff_t in_step, out_step;
};

/* values, and the places in the line they come from; in-place heap sort, no memory besides the outputs. */
void nuc_kernel_sort(const struct nuc_sort *s, const void *line, void *values, int64_t *indices);

/* ---- convolution, pooling ---- */

/* Index 0: height, 1: width. Strides of tensors: batch (or output channel), channel, height, width. */
struct nuc_conv2d {
    int32_t batch, groups;
    int32_t in_channels, in_size[2];
    int32_t out_channels, out_size[2];
    int32_t kernel[2];
    int32_t stride[2], padding[2], dilation[2];
    ptrdiff_t in_strides[4], weight_strides[4], out_strides[4];
};

/* weight: out_channels x in_channels / groups x kernel. bias: out_channels, or NULL. */
typedef void nuc_convolution_f32_fn(const struct nuc_conv2d *c, const float *in, const float *weight, const float *bias,
                                    float *out);
nuc_convolution_f32_fn nuc_ref_convolution_f32, nuc_wide_convolution_f32;

/* weight: in_channels x out_channels / groups x kernel. */
void nuc_kernel_transposed_convolution_f32(const struct nuc_conv2d *c, const float *in, const float *weight,
                                           const float *bias, float *out);

/* Index 0: depth, 1: height, 2: width. Strides: batch (or output channel), channel, depth, height, width. */
struct nuc_conv3d {
    int32_t batch, groups;
    int32_t in_channels, in_size[3];
    int32_t out_channels, out_size[3];
    int32_t kernel[3];
    int32_t stride[3], padding[3], dilation[3];
    bool transposed; /* weight: in_channels x out_channels / groups x kernel */
    ptrdiff_t in_strides[NUC_MAX_RANK], weight_strides[NUC_MAX_RANK], out_strides[NUC_MAX_RANK]; /* 5 are used */
};

/* weight: out_channels x in_channels / groups x kernel. bias: out_channels, or NULL. */
void nuc_kernel_convolution3d_f32(const struct nuc_conv3d *c, const float *in, const float *weight, const float *bias,
                                  float *out);

struct nuc_pool2d {
    int32_t batch, channels;
    int32_t in_size[2], out_size[2];
    int32_t kernel[2], stride[2], padding[2], dilation[2];
    bool count_include_pad;
    int64_t divisor; /* average only; 0: the number of elements */
    ptrdiff_t in_strides[4], out_strides[4];
};

/* indices: position in the input plane, row times width plus column; same layout as out; NULL: not needed. */
void nuc_kernel_max_pool_f32(const struct nuc_pool2d *p, const float *in, float *out, int64_t *indices);
void nuc_kernel_avg_pool_f32(const struct nuc_pool2d *p, const float *in, float *out);
/* Windows follow from in_size and out_size alone. */
void nuc_kernel_adaptive_avg_pool_f32(const struct nuc_pool2d *p, const float *in, float *out);

/* Sizes in the order depth, height, width; of an image the depth is 1. Strides are those of five dimensions. */
struct nuc_grid {
    int32_t batch, channels, spatial;
    int32_t in_size[3], out_size[3];
    ptrdiff_t in_strides[5], grid_strides[5], out_strides[5];
    enum nuc_grid_mode mode; /* bicubic: images only */
    enum nuc_grid_padding padding;
    bool align_corners;
};

/* grid: batch x out_size x spatial, positions from -1 to 1 in the order x, y, z. */
void nuc_kernel_grid_sample_f32(const struct nuc_grid *g, const float *in, const float *grid, float *out);

/* Index 0: height, 1: width. Strides: batch, channel, height, width. */
struct nuc_upsample2d {
    int32_t batch, channels;
    int32_t in_size[2], out_size[2];
    float scale[2]; /* input positions per output position */
    bool align_corners;
    ptrdiff_t in_strides[4], out_strides[4];
};

void nuc_kernel_upsample_bilinear_f32(const struct nuc_upsample2d *u, const float *in, float *out);
/* Element sizes as for nuc_kernel_copy(). */
void nuc_kernel_upsample_nearest(const struct nuc_upsample2d *u, size_t element_size, const void *in, void *out);

/* ---- along one axis ---- */

/* A dense tensor as outer x size x inner elements, the axis in the middle. */
struct nuc_axis_sizes {
    size_t outer, size, inner;
};

/* Elements along one axis: how many, and how far apart in input and output. */
struct nuc_line {
    int32_t size;
    ptrdiff_t in_step, out_step;
};

/* Softmax of each line; the lines begin where `lines` leads, strides a and out. Sizes are at least 1. */
void nuc_kernel_softmax_f32(const struct nuc_loops *lines, const struct nuc_line *line, const float *in, float *out);

/* The logarithm of the same. */
void nuc_kernel_log_softmax_f32(const struct nuc_loops *lines, const struct nuc_line *line, const float *in,
                                float *out);

/* Sums of each line up to each element. Integers wrap, and may be of any two types. Sizes are at least 1. */
void nuc_kernel_cumsum_f32(const struct nuc_loops *lines, const struct nuc_line *line, const float *in, float *out);
void nuc_kernel_cumsum_int(const struct nuc_loops *lines, const struct nuc_line *line, enum nuc_dtype from,
                           enum nuc_dtype to, const void *in, void *out);

/* (in - mean) / sqrt(var + eps) * weight + bias. weight and bias may be NULL: 1 and 0. */
void nuc_kernel_batch_norm_f32(const struct nuc_axis_sizes *axis, const float *in, const float *weight,
                               const float *bias, const float *mean, const float *var, double eps, float *out);

/*
 * (in - mean) / sqrt(mean of squares - square of mean + eps) * weight + bias of each row of `count` elements; weight
 * and bias have as many or are NULL: 1 and 0. mean and inverse deviation: one for each row. All dense.
 */
void nuc_kernel_layer_norm_f32(size_t rows, size_t count, const float *in, const float *weight, const float *bias,
                               float eps, float *out, float *mean_out, float *inverse_out);

/* in / sqrt(mean of squares + eps) * weight, of rows likewise. */
void nuc_kernel_rms_norm_f32(size_t rows, size_t count, const float *in, const float *weight, float eps, float *out);

/* batch x groups x channels of a group x inner, dense. */
struct nuc_group_norm {
    size_t batch, groups, channels, inner;
};

/* The same in double from float sums, a row being a group; weight and bias have one value for each channel. */
void nuc_kernel_group_norm_f32(const struct nuc_group_norm *g, const float *in, const float *weight, const float *bias,
                               double eps, float *out, float *mean_out, float *inverse_out);

/* ---- matrix products, reductions ---- */

/* m x n by n x p, row-major. */
struct nuc_matmul {
    size_t batch, m, n, p;
};

typedef void nuc_matmul_f32_fn(const struct nuc_matmul *mm, const float *x, const float *y, float *out);
nuc_matmul_f32_fn nuc_ref_matmul_f32, nuc_wide_matmul_f32;

/* Integers of 1 to 8 bytes, which wrap. */
void nuc_kernel_matmul_int(const struct nuc_matmul *mm, enum nuc_dtype dtype, const void *x, const void *y, void *out);

/* out = alpha * out + beta * addend, m x p; strides of the addend by row and column, 0 repeats. */
void nuc_kernel_add_scaled_f32(const struct nuc_matmul *mm, const float *addend, const ptrdiff_t addend_strides[2],
                               float beta, float alpha, float *out);

enum nuc_reduce_op {
    NUC_REDUCE_SUM,
    NUC_REDUCE_MEAN,
    NUC_REDUCE_MAX,
    NUC_REDUCE_MIN,
    NUC_REDUCE_PROD,
    NUC_REDUCE_ANY /* not of float32 */
};

/*
 * kept: the dimensions that stay, strides a in the input and out in the output. reduced: the others, strides a,
 * visited in logical order. Every size is at least 1.
 */
void nuc_kernel_reduce_f32(enum nuc_reduce_op op, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           const float *in, float *out);

/* The same of integers and bools, computed in 64 bits, where they wrap; there is no mean. */
void nuc_kernel_reduce_int(enum nuc_reduce_op op, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           enum nuc_dtype from, enum nuc_dtype to, const void *in, void *out);

/* Whether an element is not 0. */
void nuc_kernel_any_f32(const struct nuc_loops *kept, const struct nuc_loops *reduced, const float *in, bool *out);

/* The place of the largest or smallest element among those reduced: the first one, of NaN too, which beats the rest. */
void nuc_kernel_arg_extreme(bool largest, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                            enum nuc_dtype dtype, const void *in, int64_t *out);

/* Sum of squared deviations from the mean / (count - correction), NaN when that is not positive. */
void nuc_kernel_var_f32(const struct nuc_loops *kept, const struct nuc_loops *reduced, double correction,
                        const float *in, float *out);

/* The largest or smallest value of int8 tensors, whose order is that of the real values; the same loop nests. */
void nuc_kernel_extreme_s8(bool largest, const struct nuc_loops *kept, const struct nuc_loops *reduced,
                           const int8_t *in, int8_t *out);

/* ---- walking a loop nest ---- */

/*
 * Advances position[] through all but the innermost dimension and keeps the offsets of a, b and out at its start.
 * Returns false when the nest is done. Begin with everything 0.
 */
struct nuc_walk {
    int32_t position[NUC_MAX_RANK];
    ptrdiff_t a, b, out;
};
bool nuc_walk_next_row(const struct nuc_loops *loops, struct nuc_walk *walk);

/* Elements of the innermost dimension: 1 when the rank is 0. */
static inline int32_t nuc_row_length(const struct nuc_loops *loops)
{
    return loops->rank == 0 ? 1 : loops->sizes[loops->rank - 1];
}

/* The strides of that dimension: 0 when the rank is 0. */
struct nuc_steps {
    ptrdiff_t a, b, out;
};
static inline struct nuc_steps nuc_row_steps(const struct nuc_loops *loops)
{
    uint32_t last = loops->rank - 1;

    return loops->rank == 0 ? (struct nuc_steps){0, 0, 0}
                            : (struct nuc_steps){loops->a[last], loops->b[last], loops->out[last]};
}

/* One element of a and out after the other; false when the nest is done. */
static inline bool nuc_walk_next(const struct nuc_loops *loops, struct nuc_walk *walk)
{
    const uint32_t last = loops->rank - 1;

    if (loops->rank == 0)
        return false;
    walk->a += loops->a[last];
    walk->out += loops->out[last];
    if (++walk->position[last] < loops->sizes[last])
        return true;
    walk->a -= loops->a[last] * loops->sizes[last];
    walk->out -= loops->out[last] * loops->sizes[last];
    walk->position[last] = 0;
    return nuc_walk_next_row(loops, walk);
}

/* Whether the nest has so many elements. */
bool nuc_has_elements(const struct nuc_loops *loops, int32_t least);

/* Rows of all three tensors have their elements side by side. */
static inline bool nuc_rows_are_dense(const struct nuc_loops *loops)
{
    const struct nuc_steps steps = nuc_row_steps(loops);

    return steps.a == 1 && steps.b == 1 && steps.out == 1;
}

#endif
