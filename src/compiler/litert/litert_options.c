/*
 * Field ids are positions in the tables of the public schema (tensorflow/compiler/mlir/lite/schema/schema.fbs);
 * type is the position in its union BuiltinOptions.
 */
#include "compiler/litert/litert_options.h"

static const int types[NUC_DTYPE_COUNT] = {
    [NUC_U8] = 3,  [NUC_I8] = 9,   [NUC_I16] = 7,  [NUC_I32] = 2,   [NUC_I64] = 4,  [NUC_F16] = 1,
    [NUC_F32] = 0, [NUC_F64] = 10, [NUC_BOOL] = 6, [NUC_BF16] = 18, [NUC_U16] = 16,
};

int nuc_lt_type_from_dtype(enum nuc_dtype dtype)
{
    return dtype < NUC_DTYPE_COUNT ? types[dtype] : -1;
}

enum nuc_dtype nuc_lt_dtype_from_type(int type)
{
    for (int i = 0; i < NUC_DTYPE_COUNT; i++) {
        if (types[i] == type)
            return (enum nuc_dtype)i;
    }
    return NUC_DTYPE_COUNT;
}

static enum nuc_lt_padding get_padding(struct nuc_fb_reader *r, struct nuc_fb_table t, int id)
{
    return nuc_fb_i8(r, t, id, 0) == NUC_LT_VALID ? NUC_LT_VALID : NUC_LT_SAME;
}

/* An activation outside the four that fuse makes the file bad: ignoring it would change results. */
static enum nuc_lt_activation get_activation(struct nuc_fb_reader *r, struct nuc_fb_table t, int id)
{
    int8_t value = nuc_fb_i8(r, t, id, 0);

    if (value < NUC_LT_ACT_NONE || value > NUC_LT_ACT_RELU6) {
        r->bad = true;
        value = NUC_LT_ACT_NONE;
    }
    return (enum nuc_lt_activation)value;
}

static void read_conv(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->conv.padding = get_padding(r, t, 0);
    o->conv.stride_w = nuc_fb_i32(r, t, 1, 0);
    o->conv.stride_h = nuc_fb_i32(r, t, 2, 0);
    o->conv.activation = get_activation(r, t, 3);
    o->conv.dilation_w = nuc_fb_i32(r, t, 4, 1);
    o->conv.dilation_h = nuc_fb_i32(r, t, 5, 1);
}

static nuc_fb_ref write_conv(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i8(b, 0, (int8_t)o->conv.padding, 0);
    nuc_fb_put_i32(b, 1, o->conv.stride_w, 0);
    nuc_fb_put_i32(b, 2, o->conv.stride_h, 0);
    nuc_fb_put_i8(b, 3, (int8_t)o->conv.activation, 0);
    nuc_fb_put_i32(b, 4, o->conv.dilation_w, 1);
    nuc_fb_put_i32(b, 5, o->conv.dilation_h, 1);
    return nuc_fb_table_end(b);
}

static void read_depthwise(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->conv.padding = get_padding(r, t, 0);
    o->conv.stride_w = nuc_fb_i32(r, t, 1, 0);
    o->conv.stride_h = nuc_fb_i32(r, t, 2, 0);
    o->conv.depth_multiplier = nuc_fb_i32(r, t, 3, 0);
    o->conv.activation = get_activation(r, t, 4);
    o->conv.dilation_w = nuc_fb_i32(r, t, 5, 1);
    o->conv.dilation_h = nuc_fb_i32(r, t, 6, 1);
}

static nuc_fb_ref write_depthwise(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i8(b, 0, (int8_t)o->conv.padding, 0);
    nuc_fb_put_i32(b, 1, o->conv.stride_w, 0);
    nuc_fb_put_i32(b, 2, o->conv.stride_h, 0);
    nuc_fb_put_i32(b, 3, o->conv.depth_multiplier, 0);
    nuc_fb_put_i8(b, 4, (int8_t)o->conv.activation, 0);
    nuc_fb_put_i32(b, 5, o->conv.dilation_w, 1);
    nuc_fb_put_i32(b, 6, o->conv.dilation_h, 1);
    return nuc_fb_table_end(b);
}

static void read_transpose_conv(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->conv.padding = get_padding(r, t, 0);
    o->conv.stride_w = nuc_fb_i32(r, t, 1, 0);
    o->conv.stride_h = nuc_fb_i32(r, t, 2, 0);
    o->conv.activation = get_activation(r, t, 3);
    o->conv.dilation_w = 1;
    o->conv.dilation_h = 1;
}

static nuc_fb_ref write_transpose_conv(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i8(b, 0, (int8_t)o->conv.padding, 0);
    nuc_fb_put_i32(b, 1, o->conv.stride_w, 0);
    nuc_fb_put_i32(b, 2, o->conv.stride_h, 0);
    nuc_fb_put_i8(b, 3, (int8_t)o->conv.activation, 0);
    return nuc_fb_table_end(b);
}

static void read_pool(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->pool.padding = get_padding(r, t, 0);
    o->pool.stride_w = nuc_fb_i32(r, t, 1, 0);
    o->pool.stride_h = nuc_fb_i32(r, t, 2, 0);
    o->pool.filter_w = nuc_fb_i32(r, t, 3, 0);
    o->pool.filter_h = nuc_fb_i32(r, t, 4, 0);
    o->pool.activation = get_activation(r, t, 5);
}

static nuc_fb_ref write_pool(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i8(b, 0, (int8_t)o->pool.padding, 0);
    nuc_fb_put_i32(b, 1, o->pool.stride_w, 0);
    nuc_fb_put_i32(b, 2, o->pool.stride_h, 0);
    nuc_fb_put_i32(b, 3, o->pool.filter_w, 0);
    nuc_fb_put_i32(b, 4, o->pool.filter_h, 0);
    nuc_fb_put_i8(b, 5, (int8_t)o->pool.activation, 0);
    return nuc_fb_table_end(b);
}

static void read_fully_connected(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->fully_connected.activation = get_activation(r, t, 0);
    o->fully_connected.weights_format = nuc_fb_i8(r, t, 1, 0);
    o->fully_connected.keep_num_dims = nuc_fb_bool(r, t, 2, false);
    o->fully_connected.asymmetric_quantize_inputs = nuc_fb_bool(r, t, 3, false);
}

static nuc_fb_ref write_fully_connected(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i8(b, 0, (int8_t)o->fully_connected.activation, 0);
    nuc_fb_put_i8(b, 1, o->fully_connected.weights_format, 0);
    nuc_fb_put_bool(b, 2, o->fully_connected.keep_num_dims, false);
    nuc_fb_put_bool(b, 3, o->fully_connected.asymmetric_quantize_inputs, false);
    return nuc_fb_table_end(b);
}

static void read_arith(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->arith.activation = get_activation(r, t, 0);
    o->arith.pot_scale_int16 = nuc_fb_bool(r, t, 1, true);
}

static nuc_fb_ref write_arith(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i8(b, 0, (int8_t)o->arith.activation, 0);
    nuc_fb_put_bool(b, 1, o->arith.pot_scale_int16, true);
    return nuc_fb_table_end(b);
}

static void read_mul(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->arith.activation = get_activation(r, t, 0);
}

static nuc_fb_ref write_mul(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i8(b, 0, (int8_t)o->arith.activation, 0);
    return nuc_fb_table_end(b);
}

static void read_softmax(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->softmax.beta = nuc_fb_f32(r, t, 0, 0);
}

static nuc_fb_ref write_softmax(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_f32(b, 0, o->softmax.beta, 0);
    return nuc_fb_table_end(b);
}

/* A list of at most NUC_MAX_RANK ints in field `id`; a longer one makes the file bad. */
static uint32_t read_list(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, int32_t *list, bool *present)
{
    struct nuc_fb_vector v = nuc_fb_vec(r, t, id, 4);

    *present = v.at != 0;
    if (v.count > NUC_MAX_RANK) {
        r->bad = true;
        return 0;
    }
    for (uint32_t i = 0; i < v.count; i++)
        list[i] = nuc_fb_vec_i32(r, v, i);
    return v.count;
}

static void read_reshape(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->reshape.rank = read_list(r, t, 0, o->reshape.shape, &o->reshape.has_shape);
}

static nuc_fb_ref write_reshape(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_ref shape = 0;

    if (o->reshape.has_shape)
        shape = nuc_fb_add_vector(b, o->reshape.shape, o->reshape.rank, 4, 4);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, 0, shape);
    return nuc_fb_table_end(b);
}

static void read_squeeze(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    bool present;

    o->squeeze.rank = read_list(r, t, 0, o->squeeze.dims, &present);
}

static nuc_fb_ref write_squeeze(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_ref dims = 0;

    if (o->squeeze.rank != 0)
        dims = nuc_fb_add_vector(b, o->squeeze.dims, o->squeeze.rank, 4, 4);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, 0, dims);
    return nuc_fb_table_end(b);
}

static void read_strided_slice(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->strided_slice.begin_mask = nuc_fb_i32(r, t, 0, 0);
    o->strided_slice.end_mask = nuc_fb_i32(r, t, 1, 0);
    o->strided_slice.ellipsis_mask = nuc_fb_i32(r, t, 2, 0);
    o->strided_slice.new_axis_mask = nuc_fb_i32(r, t, 3, 0);
    o->strided_slice.shrink_axis_mask = nuc_fb_i32(r, t, 4, 0);
    o->strided_slice.offset = nuc_fb_bool(r, t, 5, false);
}

static nuc_fb_ref write_strided_slice(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i32(b, 0, o->strided_slice.begin_mask, 0);
    nuc_fb_put_i32(b, 1, o->strided_slice.end_mask, 0);
    nuc_fb_put_i32(b, 2, o->strided_slice.ellipsis_mask, 0);
    nuc_fb_put_i32(b, 3, o->strided_slice.new_axis_mask, 0);
    nuc_fb_put_i32(b, 4, o->strided_slice.shrink_axis_mask, 0);
    nuc_fb_put_bool(b, 5, o->strided_slice.offset, false);
    return nuc_fb_table_end(b);
}

static void read_reduce(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->reduce.keep_dims = nuc_fb_bool(r, t, 0, false);
}

static nuc_fb_ref write_reduce(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_bool(b, 0, o->reduce.keep_dims, false);
    return nuc_fb_table_end(b);
}

static void read_concat(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->concat.axis = nuc_fb_i32(r, t, 0, 0);
    o->concat.activation = get_activation(r, t, 1);
}

static nuc_fb_ref write_concat(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i32(b, 0, o->concat.axis, 0);
    nuc_fb_put_i8(b, 1, (int8_t)o->concat.activation, 0);
    return nuc_fb_table_end(b);
}

/* RESIZE_BILINEAR begins with two deprecated fields. */
static void read_bilinear(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->resize.align_corners = nuc_fb_bool(r, t, 2, false);
    o->resize.half_pixel_centers = nuc_fb_bool(r, t, 3, false);
}

static nuc_fb_ref write_bilinear(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_bool(b, 2, o->resize.align_corners, false);
    nuc_fb_put_bool(b, 3, o->resize.half_pixel_centers, false);
    return nuc_fb_table_end(b);
}

static void read_nearest(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->resize.align_corners = nuc_fb_bool(r, t, 0, false);
    o->resize.half_pixel_centers = nuc_fb_bool(r, t, 1, false);
}

static nuc_fb_ref write_nearest(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_bool(b, 0, o->resize.align_corners, false);
    nuc_fb_put_bool(b, 1, o->resize.half_pixel_centers, false);
    return nuc_fb_table_end(b);
}

static void read_batch_matmul(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->batch_matmul.adj_x = nuc_fb_bool(r, t, 0, false);
    o->batch_matmul.adj_y = nuc_fb_bool(r, t, 1, false);
    o->batch_matmul.asymmetric_quantize_inputs = nuc_fb_bool(r, t, 2, false);
}

static nuc_fb_ref write_batch_matmul(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_bool(b, 0, o->batch_matmul.adj_x, false);
    nuc_fb_put_bool(b, 1, o->batch_matmul.adj_y, false);
    nuc_fb_put_bool(b, 2, o->batch_matmul.asymmetric_quantize_inputs, false);
    return nuc_fb_table_end(b);
}

static void read_leaky_relu(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->leaky_relu.alpha = nuc_fb_f32(r, t, 0, 0);
}

static nuc_fb_ref write_leaky_relu(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_f32(b, 0, o->leaky_relu.alpha, 0);
    return nuc_fb_table_end(b);
}

static void read_mirror_pad(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *o)
{
    o->mirror_pad.mode = nuc_fb_i8(r, t, 0, 0);
}

static nuc_fb_ref write_mirror_pad(struct nuc_fb_builder *b, const union nuc_lt_options *o)
{
    nuc_fb_table_begin(b);
    nuc_fb_put_i8(b, 0, o->mirror_pad.mode, 0);
    return nuc_fb_table_end(b);
}

#define ROWS (NUC_LT_RELU_0_TO_1 + 1)

/* Operators without a row here (RELU, TANH, PRELU, ...) store no options. */
static const struct nuc_lt_codec codecs[ROWS] = {
    [NUC_LT_ADD] = {11, read_arith, write_arith},
    [NUC_LT_AVERAGE_POOL_2D] = {5, read_pool, write_pool},
    [NUC_LT_CONCATENATION] = {10, read_concat, write_concat},
    [NUC_LT_CONV_2D] = {1, read_conv, write_conv},
    [NUC_LT_DEPTHWISE_CONV_2D] = {2, read_depthwise, write_depthwise},
    [NUC_LT_DEQUANTIZE] = {38, NULL, NULL},
    [NUC_LT_FULLY_CONNECTED] = {8, read_fully_connected, write_fully_connected},
    [NUC_LT_MAX_POOL_2D] = {5, read_pool, write_pool},
    [NUC_LT_MUL] = {21, read_mul, write_mul},
    [NUC_LT_RESHAPE] = {17, read_reshape, write_reshape},
    [NUC_LT_RESIZE_BILINEAR] = {15, read_bilinear, write_bilinear},
    [NUC_LT_SOFTMAX] = {9, read_softmax, write_softmax},
    [NUC_LT_PAD] = {22, NULL, NULL},
    [NUC_LT_TRANSPOSE] = {26, NULL, NULL},
    [NUC_LT_MEAN] = {27, read_reduce, write_reduce},
    [NUC_LT_SUB] = {28, read_arith, write_arith},
    [NUC_LT_SQUEEZE] = {30, read_squeeze, write_squeeze},
    [NUC_LT_STRIDED_SLICE] = {32, read_strided_slice, write_strided_slice},
    [NUC_LT_EXP] = {33, NULL, NULL},
    [NUC_LT_MAXIMUM] = {39, NULL, NULL},
    [NUC_LT_MINIMUM] = {39, NULL, NULL},
    [NUC_LT_PADV2] = {43, NULL, NULL},
    [NUC_LT_SLICE] = {48, NULL, NULL},
    [NUC_LT_TRANSPOSE_CONV] = {49, read_transpose_conv, write_transpose_conv},
    [NUC_LT_SUM] = {27, read_reduce, write_reduce},
    [NUC_LT_REDUCE_MAX] = {27, read_reduce, write_reduce},
    [NUC_LT_REDUCE_MIN] = {27, read_reduce, write_reduce},
    [NUC_LT_RESIZE_NEAREST_NEIGHBOR] = {74, read_nearest, write_nearest},
    [NUC_LT_LEAKY_RELU] = {75, read_leaky_relu, write_leaky_relu},
    [NUC_LT_MIRROR_PAD] = {77, read_mirror_pad, write_mirror_pad},
    [NUC_LT_ABS] = {78, NULL, NULL},
    [NUC_LT_QUANTIZE] = {89, NULL, NULL},
    [NUC_LT_HARD_SWISH] = {91, NULL, NULL},
    [NUC_LT_BATCH_MATMUL] = {101, read_batch_matmul, write_batch_matmul},
};

const struct nuc_lt_codec *nuc_lt_codec(int32_t code)
{
    return &codecs[code >= 0 && code < ROWS ? code : NUC_LT_CUSTOM];
}
