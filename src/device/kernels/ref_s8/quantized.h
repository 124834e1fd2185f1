/*
 * Int8 kernels of the CPU: what they take, and the reference ones in plain C. Arithmetic of device/base/fixed_point.h;
 * the bytes are those of CMSIS-NN's kernels. Images are channels-last (batch, height, width, channel), dense; index 0
 * of a pair is the height. Sums of 32 bits wrap. Freestanding; nothing here fails: the caller has checked sizes and
 * ranges.
 *
 * Input offsets are minus the zero point, in [-127, 128], and a place outside the image counts as the zero point.
 * Output offsets are the zero point. Shifts lie in [-31, 31].
 *
 * A kernel with other implementations than the reference is nuc_ref_NAME here, and has a type; device/kernels/select
 * says which implementation nuc_kernel_NAME is.
 */
#ifndef NUC_DEVICE_KERNELS_REF_S8_QUANTIZED_H
#define NUC_DEVICE_KERNELS_REF_S8_QUANTIZED_H

#include "device/base/fixed_point.h"
#include "device/kernels/ref/ref.h"

/* Sum to int8: requantized by element `channel * step` of the lists, moved by the offset, clamped. */
struct nuc_rescale {
    const int32_t *multipliers;
    const int32_t *shifts;
    int32_t step; /* 1: one multiplier per channel, 0: one for all */
    int32_t offset;
    int32_t low, high; /* within int8 */
};

static inline int32_t nuc_wrap_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int8_t nuc_rescaled(const struct nuc_rescale *r, int32_t channel, int32_t sum)
{
    int32_t at = channel * r->step;
    struct nuc_multiplier m = {r->multipliers[at], r->shifts[at]};

    return (int8_t)nuc_clamp_i32(nuc_wrap_add(nuc_requantize(sum, m), r->offset), r->low, r->high);
}

/* ---- convolution ---- */

struct nuc_conv_s8 {
    int32_t batch, groups; /* of a depthwise convolution: groups = in_channels */
    int32_t in_channels, in_size[2];
    int32_t out_channels, out_size[2];
    int32_t kernel[2], stride[2], padding[2], dilation[2]; /* padding: before the image */
    int32_t input_offset;
    struct nuc_rescale rescale;
    const int32_t *bias; /* out_channels, or NULL */
    void *scratch;       /* scratch_bytes of memory a kernel may use, aligned to 4 */
    size_t scratch_bytes;
};

/* How weights lie: see the three kernels. */
enum nuc_conv_kind { NUC_CONV, NUC_DEPTHWISE, NUC_TRANSPOSED };

typedef void nuc_conv_s8_fn(const struct nuc_conv_s8 *c, const int8_t *in, const int8_t *weight, int8_t *out);

/* weight: out_channels, kernel, in_channels / groups. */
nuc_conv_s8_fn nuc_ref_conv_s8;

/*
 * Of a depthwise convolution: bytes of scratch with which its output may begin where its input does, 0: it may not.
 * With them every kernel gives the same bytes as with memory apart. A row of output lies in rows of input up to its own
 * number, all of which have been read by then.
 */
static inline size_t nuc_depthwise_overlay_bytes(const struct nuc_conv_s8 *c)
{
    for (int d = 0; d < 2; d++) {
        if (c->out_size[d] > c->in_size[d] || c->padding[d] > (c->kernel[d] - 1) * c->dilation[d])
            return 0;
    }
    if (c->in_channels != c->out_channels)
        return 0;
    const size_t rows = (size_t)((c->kernel[0] - 1) * c->dilation[0] + 1), row = (size_t)c->in_size[1];
    return row > 0 && rows > SIZE_MAX / row ? 0 : rows * row; /* what memory cannot hold is no scratch */
}

/*
 * weight: kernel, out_channels; output channel o reads input channel o * in_channels / out_channels. out may be in, see
 * above.
 */
nuc_conv_s8_fn nuc_ref_depthwise_s8;

/*
 * The output channels again that have weights beyond eight bits. excess: `count` pairs of the place of a weight, of
 * which those of an output channel lie together, and of what is added to it, in [-255, 255].
 */
void nuc_kernel_wide_channels_s8(const struct nuc_conv_s8 *c, bool depthwise, const int8_t *in, const int8_t *weight,
                                 const int32_t *excess, int32_t count, int8_t *out);

/* weight: out_channels / groups, kernel, in_channels. */
nuc_conv_s8_fn nuc_ref_transposed_conv_s8;

/* ---- matrix products ---- */

struct nuc_matmul_s8 {
    int32_t rows, depth, columns; /* in: rows x depth; weight: columns x depth; out: rows x columns */
    int32_t input_offset, weight_offset;
    struct nuc_rescale rescale; /* channel: the column */
    const int32_t *bias;        /* columns, or NULL */
};

typedef void nuc_matmul_s8_fn(const struct nuc_matmul_s8 *m, const int8_t *in, const int8_t *weight, int8_t *out);
nuc_matmul_s8_fn nuc_ref_matmul_s8;

/* ---- pooling and reduction ---- */

struct nuc_pool_s8 {
    int32_t batch, channels;
    int32_t in_size[2], out_size[2];
    int32_t kernel[2], stride[2], padding[2];
    int32_t dilation[2]; /* of the largest int16; other kernels have none */
    int32_t low, high;
    void *scratch; /* as in struct nuc_conv_s8 */
    size_t scratch_bytes;
};

/* The part of a window that lies inside the image: [first, last) along each axis. */
struct nuc_pool_part {
    int32_t first[2], last[2];
};

static inline struct nuc_pool_part nuc_pool_part_of(const struct nuc_pool_s8 *p, int32_t y, int32_t x)
{
    const int32_t at[2] = {y, x};
    struct nuc_pool_part part;

    for (int d = 0; d < 2; d++) {
        int32_t begin = at[d] * p->stride[d] - p->padding[d];
        int32_t end = begin + p->kernel[d];
        part.first[d] = begin > 0 ? begin : 0;
        part.last[d] = end < p->in_size[d] ? end : p->in_size[d];
    }
    return part;
}

typedef void nuc_pool_s8_fn(const struct nuc_pool_s8 *p, const int8_t *in, int8_t *out);

/* The largest element of each window; a window without elements gives `low`. */
nuc_pool_s8_fn nuc_ref_max_pool_s8;

/* Sum over the elements inside the image, divided by their number, half away from zero; none give 0. */
nuc_pool_s8_fn nuc_ref_avg_pool_s8;

/* The same, but half upwards. */
nuc_pool_s8_fn nuc_kernel_upward_avg_pool_s8;

/* out = rescale(sum of (in + input_offset)); the loop nests are those of nuc_kernel_reduce_f32(). */
typedef void nuc_sum_s8_fn(const struct nuc_loops *kept, const struct nuc_loops *reduced, int32_t input_offset,
                           const struct nuc_rescale *rescale, const int8_t *in, int8_t *out);
nuc_sum_s8_fn nuc_ref_sum_s8;

/* ---- elementwise; out may be an input of equal strides ---- */

struct nuc_add_s8 {
    int32_t offset_a, offset_b; /* minus the zero points, in [-255, 255] */
    struct nuc_multiplier a, b, sum;
    int32_t offset, low, high;
};

/* Both inputs are shifted left by 20 before they are rescaled. */
typedef void nuc_add_s8_fn(const struct nuc_add_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                           int8_t *out);
nuc_add_s8_fn nuc_ref_add_s8;

struct nuc_mul_s8 {
    int32_t offset_a, offset_b;
    struct nuc_multiplier product;
    int32_t offset, low, high;
};

typedef void nuc_mul_s8_fn(const struct nuc_mul_s8 *p, const struct nuc_loops *loops, const int8_t *a, const int8_t *b,
                           int8_t *out);
nuc_mul_s8_fn nuc_ref_mul_s8;

struct nuc_div_s8 {
    int32_t zero_a, zero_b, zero_out;
    float scale;          /* a's / (b's * the output's) */
    enum nuc_dtype dtype; /* NUC_I8 or NUC_I16 */
};

/* In float32, half away from zero, saturated; a divisor equal to its zero point gives the quotient 0. */
void nuc_kernel_div_int(const struct nuc_div_s8 *p, const void *a, const void *b, void *out, size_t count);

/* The larger (or smaller) of two elements. */
void nuc_kernel_maximum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out);
void nuc_kernel_minimum_s8(const struct nuc_loops *loops, const int8_t *a, const int8_t *b, int8_t *out);

/* out = table[in + 128]; 256 entries. */
typedef void nuc_table_s8_fn(const int8_t *table, const int8_t *in, int8_t *out, size_t count);
nuc_table_s8_fn nuc_ref_table_s8;

struct nuc_prelu_s8 {
    int32_t input_offset, output_offset;
    struct nuc_multiplier positive, negative; /* of x, of x times the slope */
};

/* a: input, b: slopes. */
typedef void nuc_prelu_s8_fn(const struct nuc_prelu_s8 *p, const struct nuc_loops *loops, const int8_t *in,
                             const int8_t *slopes, int8_t *out);
nuc_prelu_s8_fn nuc_ref_prelu_s8;

enum nuc_relation { NUC_EQUAL, NUC_NOT_EQUAL, NUC_LESS, NUC_LESS_EQUAL, NUC_GREATER, NUC_GREATER_EQUAL };

struct nuc_compare_s8 {
    int32_t offset_a, offset_b;
    struct nuc_multiplier a, b;
    enum nuc_relation relation;
};

/*
 * Both inputs, int8 or int16, are shifted left by 20 or 15 and rescaled, as for a sum; out is 1 or 0. Of one scale,
 * with multipliers that keep the steps apart, these are compared as they are.
 */
void nuc_kernel_compare_int(const struct nuc_compare_s8 *p, const struct nuc_loops *loops, enum nuc_dtype dtype,
                            const void *a, const void *b, int8_t *out);

/* ---- along rows ---- */

struct nuc_softmax_s8 {
    int32_t rows, size;
    int32_t multiplier, shift; /* difference to the row's largest element -> Q5.26; shift in [0, 31] */
    int32_t diff_min;          /* elements further below the largest count as 0 */
    bool wide;
};

/* Output scale 1/256, zero point -128; of a wide one int16, 1/65536 and -32768. */
typedef void nuc_softmax_s8_fn(const struct nuc_softmax_s8 *s, const int8_t *in, void *out);
nuc_softmax_s8_fn nuc_ref_softmax_s8;

/* ---- statistics: sums are exact, what follows from them is float32, rounded half to even and saturated ---- */

/*
 * batch x groups x channels x inner elements: offsets of one of each. Groups and channels of one lie side by side; a
 * group has at most NUC_MOST_IN_GROUP elements, of int16 NUC_MOST_WIDE_IN_GROUP.
 */
struct nuc_norm_s8 {
    size_t batch, groups, channels, inner;
    size_t batch_step, channel_step, inner_step; /* a group begins `channels` channel steps after the one before */
    bool centred;                                /* around the mean of the group; otherwise around `zero_point` */
    int32_t zero_point, output_zero_point;
    float eps;
};

/*
 * out = (in - centre) / sqrt(mean of (in - centre)^2 + eps) * weight + bias + output zero point; weight and bias have
 * groups * channels values, bias may be NULL. out has the layout of in, and may be in.
 */
void nuc_kernel_norm_int(const struct nuc_norm_s8 *n, enum nuc_dtype dtype, const void *in, const float *weight,
                         const float *bias, void *out);

/* out = (sum of squares - square of the sum / count) * scale + zero_point */
void nuc_kernel_var_int(const struct nuc_loops *kept, const struct nuc_loops *reduced, float scale, int32_t zero_point,
                        enum nuc_dtype dtype, const void *in, void *out);

struct nuc_log_softmax_s8 {
    const float *exponentials; /* [256], of 0, -1, -2, ... steps; for int16 as many of 0, -256, -512, ... behind them */
    float scale, log_scale;    /* the input's step and 1, in steps of the output */
    int32_t zero_point;
};

/* Of each line, as nuc_kernel_softmax_f32(). */
void nuc_kernel_log_softmax_int(const struct nuc_log_softmax_s8 *s, const struct nuc_loops *lines,
                                const struct nuc_line *line, enum nuc_dtype dtype, const void *in, void *out);

/* ---- resizing; batch, channels, sizes of struct nuc_pool_s8's kind, parameters of input and output equal ---- */

struct nuc_resize_s8 {
    int32_t batch, channels;
    int32_t in_size[2], out_size[2];
    bool align_corners; /* bilinear: corners stay corners; otherwise pixel centres correspond */
};

/* Positions in 1/1024; those of LiteRT's integer kernel where 1024 * in / out is whole. */
typedef void nuc_resize_int_fn(const struct nuc_resize_s8 *r, enum nuc_dtype dtype, const void *in, void *out);
nuc_resize_int_fn nuc_ref_resize_bilinear_int;
void nuc_kernel_resize_nearest_s8(const struct nuc_resize_s8 *r, const int8_t *in, int8_t *out);

/* ---- sampling at the positions of a grid ---- */

/*
 * An image, bilinear or nearest. A coordinate q of the grid, of int8 256 times of it, lies at q * step + start of
 * 2^-NUC_GRID_BITS pixels, by the number of the dimension in `sizes`. Positions to interpolate at have half of the last
 * bit of weights, 2^-12, more.
 */
struct nuc_grid_int {
    struct nuc_grid sizes;
    int32_t zero_point, step[3];
    int64_t start[3];
};

/* Images and grids of int8 or int16; the parameters of input and output are equal. */
void nuc_kernel_grid_sample_int(const struct nuc_grid_int *g, enum nuc_dtype dtype, enum nuc_dtype grid_dtype,
                                const void *in, const void *grid, void *out);

#endif
