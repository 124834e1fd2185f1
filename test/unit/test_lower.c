/*
 * Lowering of small networks that go through format inference and partitioning as real ones do: which LiteRT operators
 * an Edge operator becomes, with which options and constants, and where formats put transposes. Expectations follow the
 * reference backend; weights, which the text leaves out, are checked element by element.
 */
#include "lower_net.h"

#include "npu/support/support.h"

/* How a network is lowered. */
enum { BY_NPU = 0, BY_RUNTIME = 1, COMPAT = 2, SDK31 = 4 };

struct lowering {
    const char *name;
    int how;
    const char *net, *model;
};

/* ---- what the text does not show ---- */

/* Operator `op` reads weights that hold their own index: element [o][h][w][i] of the model is [o][i][h][w] of torch. */
static void check_conv_weights(const struct net *n, uint32_t op, int outputs, int inputs)
{
    for (int o = 0; o < outputs; o++) {
        for (int i = 0; i < inputs; i++) {
            for (int k = 0; k < 9; k++)
                assert_int_equal(input_of(n, op, 1)->data.data[(o * 9 + k) * inputs + i], (o * inputs + i) * 9 + k);
        }
    }
}

static void padded_convolution(const struct net *n)
{
    check_conv_weights(n, 2, 3, 2);
    assert_int_equal(n->s->ops[0].debug_handle, 0);
    assert_int_not_equal(n->s->ops[1].debug_handle, 0);
    assert_int_equal(n->s->ops[1].debug_handle, n->s->ops[2].debug_handle);
}

/* [1][h][w][c] is [c][0][h][w] of torch. */
static void depthwise_weights(const struct net *n)
{
    for (int k = 0; k < 9; k++) {
        for (int c = 0; c < 3; c++)
            assert_int_equal(input_of(n, 0, 1)->data.data[k * 3 + c], c * 9 + k);
    }
}

/* [o][h][w][i] is [i][o][h][w] of torch. */
static void transposed_weights(const struct net *n)
{
    for (int i = 0; i < 2; i++) {
        for (int o = 0; o < 3; o++) {
            for (int k = 0; k < 9; k++)
                assert_int_equal(input_of(n, 0, 1)->data.data[(o * 9 + k) * 2 + i], (i * 3 + o) * 9 + k);
        }
    }
}

static void linear_weights(const struct net *n)
{
    assert_int_equal(input_of(n, 0, 1)->data.data[5], 5);
}

/* Columns of the weights follow the pixels of [N, H, W, C]. */
static void moved_columns(const struct net *n)
{
    for (int o = 0; o < 2; o++) {
        for (int p = 0; p < 12; p++) {
            for (int c = 0; c < 2; c++)
                assert_int_equal(input_of(n, 3, 1)->data.data[o * 24 + p * 2 + c], o * 24 + c * 12 + p);
        }
    }
}

static void image_constant(const struct net *n)
{
    assert_int_equal(input_of(n, 2, 1)->data.data[7], 7);
}

/* ---- networks ---- */

#define IN(name, type) "%" name " = input : float32" type " ! 0.5, 3\n"
#define X(type) IN("x", type)
#define LAST(type) X(type " channels-last")
#define WEIGHT(name, sizes) "%" name " = buffer : int8[" sizes "] ! 0.25\n"
#define BIAS(count) "%b = buffer : int32[" count "] ! 0.125\n"
/* A convolution with stride 1. */
#define CONV(name, in, w, b, pad, groups)                                                                              \
    "%" name " = edge.aten.convolution.default(%" in ", %" w ", " b ", [1, 1], [" pad ", " pad                         \
    "], [1, 1], false, [0, 0], " groups ") ! 0.75, -5\n"
/* A convolution that makes everything around it channels-first. */
#define IMAGE(channels)                                                                                                \
    LAST("[1, " channels ", 3, 4]") WEIGHT("w", channels ", " channels ", 1, 1") CONV("h", "dx", "dw", "none", "0", "1")
#define IMAGE_MODEL                                                                                                    \
    "in0[1, 3, 4, 2] last\n"                                                                                           \
    "CONV_2D(in0, const[2, 1, 1, 2]{0, 1, 2, 3} 0.25:0, {0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, "   \
    "2] "                                                                                                              \
    "0.75:-5\n"
/* A linear layer: permuted weights with a quantize and dequantize of their own. */
#define LINEAR(in)                                                                                                     \
    "%p = edge.aten.permute_copy.default(%dv, [1, 0]) ! 0.25; %m = edge.aten.mm.default(%" in ", %dp) ! 1, 0\n"
#define PADDED(order) X("[1, 2, 4, 5]" order) WEIGHT("w", "3, 2, 3, 3") BIAS("3") CONV("r", "dx", "dw", "%db", "1", "1")
#define TRANSPOSED(b, pad)                                                                                             \
    LAST("[1, 2, 4, 4]")                                                                                               \
    WEIGHT("w", "2, 3, 3, 3")                                                                                          \
    BIAS("3")                                                                                                          \
    "%r = edge.aten.convolution.default(%dx, %dw, " b ", [2, 2], [" pad "], [1, 1], true, [0, 0], 1) ! 0.75, -5\n"
#define CHANNEL_WEIGHT(name)                                                                                           \
    "%d" name " = quantized_decomposed.dequantize_per_channel.default(%" name ", %s, %z, 0, -127, 127, int8)\n"
#define REDUCED(op, args) IMAGE("2") "%r = edge.aten." op "(%dh, " args ") ! 0.75, -5\n"
#define VIEWED(to, channels)                                                                                           \
    IMAGE("2")                                                                                                         \
    WEIGHT("v", channels ", " channels ", 1, 1")                                                                       \
    "%s = edge.aten.view_copy.default(%dh, [" to "]) ! 0.75, -5\n" CONV("r", "ds", "dv", "none", "0", "1")
#define UNARY(call, quantization) X("[2, 4]") "%r = edge.aten." call " ! " quantization "\n"
#define BINARY(op) X("[4, 6]") IN("y", "[1, 6]") "%r = edge.aten." op "(%dx, %dy) ! 0.5, 3\n"
#define BMM(order)                                                                                                     \
    "%a = input : float32[2, 3, 4]" order " !; %b = input : float32[2, 4, 5]" order                                    \
    " !; %r = edge.aten.bmm.default(%da, %db) ! 2, 1\n"
#define PERMUTED                                                                                                       \
    LAST("[1, 8, 4, 8]")                                                                                               \
    WEIGHT("w", "8, 8, 1, 1")                                                                                          \
    CONV("h", "dx", "dw", "none", "0", "1") "%r = edge.aten.permute_copy.default(%dh, [0, 3, 1, 2]) ! 0.75, -5\n"

static const struct lowering rows[] = {
    /* ---- convolutions ---- */
    {"padded convolution", BY_NPU, PADDED(""),
     "in0[1, 2, 4, 5]\n"
     "TRANSPOSE(in0, {0, 2, 3, 1}) -> [1, 4, 5, 2] 0.5:3\n"
     "PADV2(op0, const[4, 2]{0, 0, 1, 1, 1, 1, 0, 0}, const[]{3} 0.5:3) -> [1, 6, 7, 2] 0.5:3\n"
     "CONV_2D(op1, const[3, 3, 3, 2] 0.25:0, {0, 0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 4, 5, 3] 0.75:-5\n"
     "TRANSPOSE(op2, {0, 3, 1, 2}) -> [1, 3, 4, 5] 0.75:-5 = out0\n"},
    {"boundaries left to the runtime", BY_RUNTIME, PADDED(""),
     "in0[1, 4, 5, 2] last\n"
     "PADV2(in0, const[4, 2]{0, 0, 1, 1, 1, 1, 0, 0}, const[]{3} 0.5:3) -> [1, 6, 7, 2] 0.5:3\n"
     "CONV_2D(op0, const[3, 3, 3, 2] 0.25:0, {0, 0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 4, 5, 3] 0.75:-5 "
     "= out0 last\n"},
    {"channels-last input", BY_NPU, PADDED(" channels-last"),
     "in0[1, 4, 5, 2] last\n"
     "PADV2(in0, const[4, 2]{0, 0, 1, 1, 1, 1, 0, 0}, const[]{3} 0.5:3) -> [1, 6, 7, 2] 0.5:3\n"
     "CONV_2D(op0, const[3, 3, 3, 2] 0.25:0, {0, 0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 4, 5, 3] 0.75:-5 "
     "= out0 last\n"},
    {"missing bias", BY_NPU, LAST("[1, 2, 4, 5]") WEIGHT("w", "3, 2, 3, 3") CONV("r", "dx", "dw", "none", "0", "1"),
     "in0[1, 4, 5, 2] last\n"
     "CONV_2D(in0, const[3, 3, 3, 2] 0.25:0, {0, 0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 2, 3, 3] 0.75:-5 "
     "= out0 last\n"},
    {"depthwise", BY_NPU,
     LAST("[1, 3, 4, 5]") WEIGHT("w", "3, 1, 3, 3") BIAS("3") CONV("r", "dx", "dw", "%db", "0", "3"),
     "in0[1, 4, 5, 3] last\n"
     "DEPTHWISE_CONV_2D(in0, const[1, 3, 3, 3] 0.25:0, {0, 0, 0} 0.125:0) stride 1x1 dilation 1x1 valid "
     "depth_multiplier 1 -> [1, 2, 3, 3] 0.75:-5 = out0 last\n"},
    /* Scales of weights follow the output channels: axis 0, but 3 of a depthwise one. */
    {"scales of channels", BY_NPU,
     LAST("[1, 3, 4, 5]") "%w = buffer : int8[3, 3, 1, 1]; %v = buffer : int8[3, 1, 1, 1]\n"
                          "%s = buffer : float32[3] values(0.1, 0.2, 0.3); %z = buffer : int64[3]\n" CHANNEL_WEIGHT("w")
                              CHANNEL_WEIGHT("v") CONV("h", "dx", "dw", "none", "0", "1")
                                  CONV("r", "dh", "dv", "none", "0", "3"),
     "in0[1, 4, 5, 3] last\n"
     "CONV_2D(in0, const[3, 1, 1, 3] 0.100000001:0, 0.200000003:0, 0.300000012:0 axis 0, {0, 0, 0} 0.0500000007:0, "
     "0.100000001:0, 0.150000006:0 axis 0) stride 1x1 dilation 1x1 valid -> [1, 4, 5, 3] 0.75:-5\n"
     "DEPTHWISE_CONV_2D(op0, const[1, 1, 1, 3]{0, 1, 2} 0.100000001:0, 0.200000003:0, 0.300000012:0 axis 3, {0, 0, 0} "
     "0.075000003:0, 0.150000006:0, 0.225000009:0 axis 0) stride 1x1 dilation 1x1 valid depth_multiplier 1 -> [1, 4, "
     "5, 3] 0.75:-5 = out0 last\n"},
    {"transposed convolution", BY_NPU, TRANSPOSED("none", "0, 0"),
     "in0[1, 4, 4, 2] last\n"
     "TRANSPOSE_CONV({1, 9, 9, 3}, const[3, 3, 3, 2] 0.25:0, in0, {0, 0, 0} 0.125:0) stride 2x2 dilation 1x1 valid -> "
     "[1, 9, 9, 3] 0.75:-5 = out0 last\n"},
    /* Padding takes rows and columns off a larger result; that output_padding is part of the shape. */
    {"transposed convolution, padded", BY_NPU, TRANSPOSED("%db", "1, 1"),
     "in0[1, 4, 4, 2] last\n"
     "TRANSPOSE_CONV({1, 9, 9, 3}, const[3, 3, 3, 2] 0.25:0, in0, {0, 0, 0} 0.125:0) stride 2x2 dilation 1x1 valid -> "
     "[1, 9, 9, 3] 0.75:-5\n"
     "SLICE(op0, {0, 1, 1, 0}, {1, 7, 7, 3}) -> [1, 7, 7, 3] 0.75:-5 = out0 last\n"},
    /* Groups that no pass splits: a convolution with the narrower weights, depthwise only when channels stay as many.
     */
    {"many groups", BY_NPU,
     LAST("[1, 12, 3, 4]") WEIGHT("w", "24, 1, 3, 3") BIAS("24") CONV("r", "dx", "dw", "%db", "1", "12"),
     "in0[1, 3, 4, 12] last\n"
     "PADV2(in0, const[4, 2]{0, 0, 1, 1, 1, 1, 0, 0}, const[]{3} 0.5:3) -> [1, 5, 6, 12] 0.5:3\n"
     "CONV_2D(op0, const[24, 3, 3, 1] 0.25:0, const[24] 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, 24] "
     "0.75:-5 = out0 last\n"},
    /* ---- views, linear layers ---- */
    {"linear", BY_NPU, X("[1, 4]") WEIGHT("v", "3, 4") LINEAR("dx"),
     "in0[1, 4]\nFULLY_CONNECTED(in0, const[3, 4] 0.25:0) -> [1, 3] 1:0 = out0\n"},
    /* The flattened channels-last values meet weights whose columns moved; no transpose is left but the input's. */
    {"flatten into linear", BY_NPU,
     X("[1, 2, 3, 4]") WEIGHT("w", "2, 2, 1, 1") BIAS("2") WEIGHT("v", "2, 24") CONV(
         "h", "dx", "dw", "%db", "0", "1") "%f = edge.aten.view_copy.default(%dh, [1, 24]) ! 0.75, -5\n" LINEAR("df"),
     "in0[1, 2, 3, 4]\n"
     "TRANSPOSE(in0, {0, 2, 3, 1}) -> [1, 3, 4, 2] 0.5:3\n"
     "CONV_2D(op0, const[2, 1, 1, 2]{0, 1, 2, 3} 0.25:0, {0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, 2] "
     "0.75:-5\n"
     "RESHAPE(op1, {1, 24}) to [1, 24] -> [1, 24] 0.75:-5\n"
     "FULLY_CONNECTED(op2, const[2, 24] 0.25:0) -> [1, 2] 1:0 = out0\n"},
    {"a view keeps channels", BY_RUNTIME, VIEWED("1, 2, 6, 2", "2"),
     IMAGE_MODEL "RESHAPE(op0, {1, 6, 2, 2}) to [1, 6, 2, 2] -> [1, 6, 2, 2] 0.75:-5\n"
                 "CONV_2D(op1, const[2, 1, 1, 2]{0, 1, 2, 3} 0.25:0, {0, 0} 0.1875:0) stride 1x1 dilation 1x1 valid -> "
                 "[1, 6, 2, 2] 0.75:-5 = out0 last\n"},
    {"a view mixes channels", BY_RUNTIME, VIEWED("1, 4, 3, 2", "4"),
     IMAGE_MODEL "TRANSPOSE(op0, {0, 3, 1, 2}) -> [1, 2, 3, 4] 0.75:-5\n"
                 "RESHAPE(op1, {1, 4, 3, 2}) to [1, 4, 3, 2] -> [1, 4, 3, 2] 0.75:-5\n"
                 "TRANSPOSE(op2, {0, 2, 3, 1}) -> [1, 3, 2, 4] 0.75:-5\n"
                 "CONV_2D(op3, const[4, 1, 1, 4] 0.25:0, {0, 0, 0, 0} 0.1875:0) stride 1x1 dilation 1x1 valid -> [1, "
                 "3, 2, 4] 0.75:-5 = out0 last\n"},
    /* To torch's own [N, H, W, C]: the bytes are there already, so nothing is left of it. */
    {"a permutation merges formats", BY_NPU,
     IMAGE("2") "%r = edge.aten.permute_copy.default(%dh, [0, 2, 3, 1]) ! 0.75, -5\n",
     "in0[1, 3, 4, 2] last\n"
     "CONV_2D(in0, const[2, 1, 1, 2]{0, 1, 2, 3} 0.25:0, {0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, 2] "
     "0.75:-5 = out0\n"},
    {"bmm", BY_NPU, BMM(""), "in0[2, 3, 4], in1[2, 4, 5]\nBATCH_MATMUL(in0, in1) -> [2, 3, 5] 2:1 = out0\n"},
    /* Channels-last operands are adjoint; what the operator writes is transposed back only for such a boundary. */
    {"bmm, channels-last", BY_RUNTIME | COMPAT, BMM(" channels-last"),
     "in0[2, 4, 3] last, in1[2, 5, 4] last\n"
     "BATCH_MATMUL(in0, in1) adj_x adj_y -> [2, 3, 5] 2:1\n"
     "TRANSPOSE(op0, {0, 2, 1}) -> [2, 5, 3] 2:1 = out0 last\n"},
    /* ---- pools, pads, moves ---- */
    {"max pool", BY_NPU,
     LAST("[1, 2, 4, 4]") "%p = edge.aten.max_pool2d_with_indices.default(%dx, [3, 2], [2, 1], [1, 1])\n"
                          "%r = getitem(%p, 0) ! 0.5, 3\n",
     "in0[1, 4, 4, 2] last\n"
     "PADV2(in0, const[4, 2]{0, 0, 1, 1, 1, 1, 0, 0}, const[1]{-128} 0.5:3) -> [1, 6, 6, 2] 0.5:3\n"
     "MAX_POOL_2D(op0) filter 3x2 stride 2x1 valid -> [1, 2, 5, 2] 0.5:3 = out0 last\n"},
    {"average pools", BY_NPU,
     LAST("[1, 2, 6, 8]") "%p = edge.aten.avg_pool2d.default(%dx, [3, 3], [1, 1], [1, 1]) ! 0.5, 3\n"
                          "%r = edge.aten._adaptive_avg_pool2d.default(%dp, [3, 2]) ! 0.5, 3\n",
     "in0[1, 6, 8, 2] last\n"
     "PADV2(in0, const[4, 2]{0, 0, 1, 1, 1, 1, 0, 0}, const[]{3} 0.5:3) -> [1, 8, 10, 2] 0.5:3\n"
     "AVERAGE_POOL_2D(op0) filter 3x3 stride 1x1 valid -> [1, 6, 8, 2] 0.5:3\n"
     "AVERAGE_POOL_2D(op1) filter 2x4 stride 2x4 valid -> [1, 3, 2, 2] 0.5:3 = out0 last\n"},
    /* Paddings of width, height, channels; 2.5 rounds to even. */
    {"pads", BY_NPU,
     LAST("[1, 2, 3, 4]") "%p = edge.aten.constant_pad_nd.default(%dx, [1, 2, 3, 4, 5, 6], 0.0) ! 0.5, 3\n"
                          "%r = edge.aten.constant_pad_nd.default(%dp, [1, 2, 3, 4, 5, 6], 1.25) ! 0.5, 3\n",
     "in0[1, 3, 4, 2] last\n"
     "PAD(in0, const[4, 2]{0, 0, 3, 4, 1, 2, 5, 6}) -> [1, 10, 7, 13] 0.5:3\n"
     "PADV2(op0, const[4, 2]{0, 0, 3, 4, 1, 2, 5, 6}, const[1]{5} 0.5:3) -> [1, 17, 10, 24] 0.5:3 = out0 last\n"},
    /* Negative pads take rows off, which LiteRT does with a slice. */
    {"cropping pad", BY_NPU, IMAGE("2") "%r = edge.aten.constant_pad_nd.default(%dh, [-1, 2, 1, -2], 0.0) ! 0.75, -5\n",
     IMAGE_MODEL "SLICE(op0, {0, 0, 1, 0}, {1, 1, 3, 2}) -> [1, 1, 3, 2] 0.75:-5\n"
                 "PAD(op1, const[4, 2]{0, 0, 1, 0, 0, 2, 0, 0}) -> [1, 2, 5, 2] 0.75:-5 = out0 last\n"},
    {"mirror pad", BY_NPU, IMAGE("2") "%r = edge.aten.pad.default(%dh, [1, 2, 0, 1], \"reflect\") ! 0.75, -5\n",
     IMAGE_MODEL "MIRROR_PAD(op0, const[4, 2]{0, 0, 0, 1, 1, 2, 0, 0}) mode 0 -> [1, 4, 7, 2] 0.75:-5 = out0 last\n"},
    {"cat", BY_NPU,
     IMAGE("2") "%y = input : float32[1, 2, 3, 4] channels-last ! 0.75, -5\n"
                "%r = edge.aten.cat.default([%dh, %dy, %dh], -3) ! 0.75, -5\n",
     "in0[1, 3, 4, 2] last, in1[1, 3, 4, 2] last\n"
     "CONV_2D(in0, const[2, 1, 1, 2]{0, 1, 2, 3} 0.25:0, {0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, 2] "
     "0.75:-5\n"
     "CONCATENATION(op0, in1, op0) axis 3 -> [1, 3, 4, 6] 0.75:-5 = out0 last\n"},
    {"slices", BY_RUNTIME,
     IMAGE("5") "%s = edge.aten.slice_copy.Tensor(%dh, 1, 1, 9223372036854775807) ! 0.75, -5\n"
                "%r = edge.aten.slice_copy.Tensor(%ds, -1, -3, -1) ! 0.75, -5\n",
     "in0[1, 3, 4, 5] last\n"
     "CONV_2D(in0, const[5, 1, 1, 5] 0.25:0, {0, 0, 0, 0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, 5] "
     "0.75:-5\n"
     "SLICE(op0, {0, 0, 0, 1}, {1, 3, 4, 4}) -> [1, 3, 4, 4] 0.75:-5\n"
     "SLICE(op1, {0, 0, 1, 0}, {1, 3, 2, 4}) -> [1, 3, 2, 4] 0.75:-5 = out0 last\n"},
    {"resizes", BY_NPU,
     LAST("[1, 2, 3, 4]") "%s = edge.aten.upsample_bilinear2d.vec(%dx, [6, 4], false, none) ! 0.5, 3\n"
                          "%t = edge.aten.upsample_bilinear2d.vec(%ds, [11, 13], true, none) ! 0.5, 3\n"
                          "%r = edge.aten.upsample_nearest2d.vec(%dt, [22, 52], none) ! 0.5, 3\n",
     "in0[1, 3, 4, 2] last\n"
     "RESIZE_BILINEAR(in0, {6, 4}) half_pixel_centers -> [1, 6, 4, 2] 0.5:3\n"
     "RESIZE_BILINEAR(op0, {11, 13}) align_corners -> [1, 11, 13, 2] 0.5:3\n"
     "RESIZE_NEAREST_NEIGHBOR(op1, {22, 52}) -> [1, 22, 52, 2] 0.5:3 = out0 last\n"},
    /* ---- reductions ---- */
    {"mean of pixels", BY_RUNTIME, REDUCED("mean.dim", "[-1, -2], true"),
     IMAGE_MODEL "MEAN(op0, {2, 1}) keep_dims -> [1, 1, 1, 2] 0.75:-5 = out0 last\n"},
    {"mean of channels", BY_NPU, REDUCED("mean.dim", "[1], false"),
     IMAGE_MODEL "MEAN(op0, {3}) -> [1, 3, 4] 0.75:-5 = out0\n"},
    {"mean of the height", BY_NPU, REDUCED("mean.dim", "[2], false"),
     IMAGE_MODEL "TRANSPOSE(op0, {0, 3, 1, 2}) -> [1, 2, 3, 4] 0.75:-5\n"
                 "MEAN(op1, {2}) -> [1, 2, 4] 0.75:-5 = out0\n"},
    {"mean of the height from the end", BY_NPU, REDUCED("mean.dim", "[-2], false"),
     IMAGE_MODEL "TRANSPOSE(op0, {0, 3, 1, 2}) -> [1, 2, 3, 4] 0.75:-5\n"
                 "MEAN(op1, {2}) -> [1, 2, 4] 0.75:-5 = out0\n"},
    {"mean of two", BY_NPU, REDUCED("mean.dim", "[2, -1], false"),
     IMAGE_MODEL "MEAN(op0, {1, 2}) -> [1, 2] 0.75:-5 = out0\n"},
    {"sum of two", BY_NPU, REDUCED("sum.dim_IntList", "[2, -1], false"),
     IMAGE_MODEL "SUM(op0, {1, 2}) -> [1, 2] 0.75:-5 = out0\n"},
    {"sum of the height", BY_NPU, REDUCED("sum.dim_IntList", "[-2], false"),
     IMAGE_MODEL "TRANSPOSE(op0, {0, 3, 1, 2}) -> [1, 2, 3, 4] 0.75:-5\n"
                 "SUM(op1, {2}) -> [1, 2, 4] 0.75:-5 = out0\n"},
    {"amax of two", BY_NPU, REDUCED("amax.default", "[2, -1], false"),
     IMAGE_MODEL "REDUCE_MAX(op0, {1, 2}) -> [1, 2] 0.75:-5 = out0\n"},
    {"amax of the height", BY_NPU, REDUCED("amax.default", "[-2], false"),
     IMAGE_MODEL "TRANSPOSE(op0, {0, 3, 1, 2}) -> [1, 2, 3, 4] 0.75:-5\n"
                 "REDUCE_MAX(op1, {2}) -> [1, 2, 4] 0.75:-5 = out0\n"},
    {"amin of two", BY_NPU, REDUCED("amin.default", "[2, -1], false"),
     IMAGE_MODEL "REDUCE_MIN(op0, {1, 2}) -> [1, 2] 0.75:-5 = out0\n"},
    {"amin of the height", BY_NPU, REDUCED("amin.default", "[-2], false"),
     IMAGE_MODEL "TRANSPOSE(op0, {0, 3, 1, 2}) -> [1, 2, 3, 4] 0.75:-5\n"
                 "REDUCE_MIN(op1, {2}) -> [1, 2, 4] 0.75:-5 = out0\n"},
    /* No list of dimensions means all of them; a sum leaves them in the order of the tensor. */
    {"amax of all", BY_NPU, REDUCED("amax.default", "[], true"),
     IMAGE_MODEL "REDUCE_MAX(op0, {0, 3, 1, 2}) keep_dims -> [1, 1, 1, 1] 0.75:-5\n"
                 "TRANSPOSE(op1, {0, 3, 1, 2}) -> [1, 1, 1, 1] 0.75:-5 = out0\n"},
    {"sum of all", BY_NPU, REDUCED("sum.dim_IntList", "[], false"),
     IMAGE_MODEL "SUM(op0, {0, 1, 2, 3}) -> [] 0.75:-5 = out0\n"},
    /* ---- one operand ---- */
    {"relu", BY_NPU, UNARY("relu.default(%dx)", "0.25, -128"), "in0[2, 4]\nRELU(in0) -> [2, 4] 0.25:-128 = out0\n"},
    {"abs", BY_NPU, UNARY("abs.default(%dx)", "0.25, -128"), "in0[2, 4]\nABS(in0) -> [2, 4] 0.25:-128 = out0\n"},
    {"exp", BY_NPU, UNARY("exp.default(%dx)", "0.25, -128"), "in0[2, 4]\nEXP(in0) -> [2, 4] 0.25:-128 = out0\n"},
    {"log", BY_NPU, UNARY("log.default(%dx)", "0.25, 0"), "in0[2, 4]\nLOG(in0) -> [2, 4] 0.25:0 = out0\n"},
    {"hardswish", BY_NPU, UNARY("hardswish.default(%dx)", "0.25, -90"),
     "in0[2, 4]\nHARD_SWISH(in0) -> [2, 4] 0.25:-90 = out0\n"},
    {"rsqrt", BY_NPU, UNARY("rsqrt.default(%dx)", "0.25, 0"), "in0[2, 4]\nRSQRT(in0) -> [2, 4] 0.25:0 = out0\n"},
    {"tanh", BY_NPU, UNARY("tanh.default(%dx)", "0.0078125, 0"), "in0[2, 4]\nTANH(in0) -> [2, 4] 0.0078125:0 = out0\n"},
    {"sigmoid", BY_NPU, UNARY("sigmoid.default(%dx)", "0.00390625, -128"),
     "in0[2, 4]\nLOGISTIC(in0) -> [2, 4] 0.00390625:-128 = out0\n"},
    {"softmax", BY_NPU, X("[1, 4]") "%r = edge.aten._softmax.default(%dx, -1, false) ! 0.00390625, -128\n",
     "in0[1, 4]\nSOFTMAX(in0) beta 1 -> [1, 4] 0.00390625:-128 = out0\n"},
    {"neg", BY_NPU, UNARY("neg.default(%dx)", "0.5, -4"),
     "in0[2, 4]\nSUB(const[1]{3} 0.5:3, in0) pot_scale -> [2, 4] 0.5:-4 = out0\n"},
    {"leaky relu", BY_NPU,
     UNARY("leaky_relu.default(%dx)", "0.5, 3") "%s = edge.aten.leaky_relu.default(%dr, 0.25) ! 0.5, 3\n",
     "in0[2, 4]\n"
     "LEAKY_RELU(in0) alpha 0.00999999978 -> [2, 4] 0.5:3\n"
     "LEAKY_RELU(op0) alpha 0.25 -> [2, 4] 0.5:3 = out0\n"},
    /* 6.5 rounds to even. */
    {"clamps", BY_NPU,
     X("[1, 4]") "%r = edge.aten.hardtanh.default(%dx, 0.0, 6.0) ! 0.5, 3\n"
                 "%s = edge.aten.hardtanh.default(%dr, -1.0, 1.0) ! 0.5, 3\n"
                 "%t = edge.aten.hardtanh.default(%ds, -2.0, 3.25) ! 0.5, 3\n",
     "in0[1, 4]\n"
     "RELU6(in0) -> [1, 4] 0.5:3\n"
     "RELU_N1_TO_1(op0) -> [1, 4] 0.5:3\n"
     "MINIMUM(op1, const[1]{9} 0.5:3) -> [1, 4] 0.5:3\n"
     "MAXIMUM(op2, const[1]{-1} 0.5:3) -> [1, 4] 0.5:3 = out0\n"},
    /* Of bounds that cross the upper one is both. */
    {"crossed clamps", BY_NPU, X("[1, 4]") "%r = edge.aten.clamp.default(%dx, 1.0, -1.0) ! 0.5, 3\n",
     "in0[1, 4]\n"
     "MINIMUM(in0, const[1]{1} 0.5:3) -> [1, 4] 0.5:3\n"
     "MAXIMUM(op0, const[1]{1} 0.5:3) -> [1, 4] 0.5:3 = out0\n"},
    /* A bound that is left out or infinite is none. */
    {"one-sided clamps", BY_NPU,
     UNARY("clamp.default(%dx, -3.0)", "0.5, 3") "%s = edge.aten.clamp.default(%dr, -inf, 7.0) ! 0.5, 3\n"
                                                 "%t = edge.aten.clamp.default(%ds, 0.0) ! 0.5, 3\n",
     "in0[2, 4]\n"
     "MAXIMUM(in0, const[1]{-3} 0.5:3) -> [2, 4] 0.5:3\n"
     "MINIMUM(op0, const[1]{17} 0.5:3) -> [2, 4] 0.5:3\n"
     "RELU(op1) -> [2, 4] 0.5:3 = out0\n"},
    /* ---- two operands ---- */
    {"add", BY_NPU, BINARY("add.Tensor"), "in0[4, 6], in1[1, 6]\nADD(in0, in1) pot_scale -> [4, 6] 0.5:3 = out0\n"},
    {"sub", BY_NPU, BINARY("sub.Tensor"), "in0[4, 6], in1[1, 6]\nSUB(in0, in1) pot_scale -> [4, 6] 0.5:3 = out0\n"},
    {"mul", BY_NPU, BINARY("mul.Tensor"), "in0[4, 6], in1[1, 6]\nMUL(in0, in1) -> [4, 6] 0.5:3 = out0\n"},
    {"maximum", BY_NPU, BINARY("maximum.default"), "in0[4, 6], in1[1, 6]\nMAXIMUM(in0, in1) -> [4, 6] 0.5:3 = out0\n"},
    {"minimum", BY_NPU, BINARY("minimum.default"), "in0[4, 6], in1[1, 6]\nMINIMUM(in0, in1) -> [4, 6] 0.5:3 = out0\n"},
    /* [C, 1, 1] beside [N, C, H, W] becomes [1, 1, 1, C]; [H, W] becomes [1, H, W, 1]. */
    {"broadcast constants", BY_NPU,
     IMAGE("2") WEIGHT("c", "2, 1, 1") WEIGHT("m", "3, 4") "%r = edge.aten.add.Tensor(%dh, %dc) ! 1, 0\n"
                                                           "%s = edge.aten.add.Tensor(%dr, %dm) ! 1, 0\n",
     IMAGE_MODEL "ADD(op0, const[1, 1, 1, 2]{0, 1} 0.25:0) pot_scale -> [1, 3, 4, 2] 1:0\n"
                 "ADD(op1, const[1, 3, 4, 1] 0.25:0) pot_scale -> [1, 3, 4, 2] 1:0 = out0 last\n"},
    {"broadcast value", BY_NPU, IMAGE("2") IN("y", "[3, 4]") "%r = edge.aten.add.Tensor(%dh, %dy) ! 1, 0\n",
     "in0[1, 3, 4, 2] last, in1[3, 4]\n"
     "CONV_2D(in0, const[2, 1, 1, 2]{0, 1, 2, 3} 0.25:0, {0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, 2] "
     "0.75:-5\n"
     "RESHAPE(in1) to [1, 1, 3, 4] -> [1, 1, 3, 4] 0.5:3\n"
     "TRANSPOSE(op1, {0, 2, 3, 1}) -> [1, 3, 4, 1] 0.5:3\n"
     "ADD(op0, op2) pot_scale -> [1, 3, 4, 2] 1:0 = out0 last\n"},
    /* Two values of an image network: broadcast where they are, one transpose for each contiguous boundary. */
    {"broadcast images", BY_NPU,
     LAST("[1, 2, 3, 4]") IN("y", "[1, 2, 3, 1]") "%r = edge.aten.mul.Tensor(%dx, %dy) ! 1, 0\n",
     "in0[1, 3, 4, 2] last, in1[1, 2, 3, 1]\n"
     "TRANSPOSE(in1, {0, 2, 3, 1}) -> [1, 3, 1, 2] 0.5:3\n"
     "MUL(in0, op0) -> [1, 3, 4, 2] 1:0 = out0 last\n"},
    {"prelu with one slope", BY_NPU,
     X("[1, 2, 3, 4]") WEIGHT("w", "1") "%r = edge.aten.prelu.default(%dx, %dw) ! 0.5, 3\n",
     "in0[1, 2, 3, 4]\nPRELU(in0, const[1]{0} 0.25:0) -> [1, 2, 3, 4] 0.5:3 = out0\n"},
    /* Slopes of channels need them last. */
    {"prelu with a slope per channel", BY_NPU,
     X("[1, 2, 3, 4]") WEIGHT("w", "2") "%r = edge.aten.prelu.default(%dx, %dw) ! 0.5, 3\n",
     "in0[1, 2, 3, 4]\n"
     "TRANSPOSE(in0, {0, 2, 3, 1}) -> [1, 3, 4, 2] 0.5:3\n"
     "PRELU(op0, const[2]{0, 1} 0.25:0) -> [1, 3, 4, 2] 0.5:3\n"
     "TRANSPOSE(op1, {0, 3, 1, 2}) -> [1, 2, 3, 4] 0.5:3 = out0\n"},
    /* ---- boundaries ---- */
    /* Two inputs and two results: each contiguous boundary of an image is transposed by itself. */
    {"several boundaries", BY_NPU,
     X("[1, 2, 3, 4]") IN("y", "[1, 2, 3, 4]") WEIGHT("w", "2, 2, 1, 1")
         CONV("h", "dx", "dw", "none", "0",
              "1") "%r = edge.aten.add.Tensor(%dh, %dy) ! 1, 0\n"
                   "%e = quantized_decomposed.dequantize_per_tensor.default(%qh, 0.75, -5, -128, 127, int8)\n"
                   "%output = output([%dr, %e])\n",
     "in0[1, 2, 3, 4], in1[1, 2, 3, 4]\n"
     "TRANSPOSE(in0, {0, 2, 3, 1}) -> [1, 3, 4, 2] 0.5:3\n"
     "TRANSPOSE(in1, {0, 2, 3, 1}) -> [1, 3, 4, 2] 0.5:3\n"
     "CONV_2D(op0, const[2, 1, 1, 2]{0, 1, 2, 3} 0.25:0, {0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, 2] "
     "0.75:-5\n"
     "ADD(op2, op1) pot_scale -> [1, 3, 4, 2] 1:0\n"
     "TRANSPOSE(op2, {0, 3, 1, 2}) -> [1, 2, 3, 4] 0.75:-5 = out0\n"
     "TRANSPOSE(op3, {0, 3, 1, 2}) -> [1, 2, 3, 4] 1:0 = out1\n"},
    /*
     * The runtime transposes images only: a boundary of another rank, here channels-first because another result is, is
     * transposed in the model whoever is to do it.
     */
    {"boundaries of other ranks", BY_RUNTIME,
     X("[1, 2, 3, 4]") IN("y", "[1, 9, 8]") WEIGHT("w", "2, 2, 1, 1")
         CONV("h", "dx", "dw", "none", "0",
              "1") "%r = edge.aten.add.Tensor(%dy, %dy) ! 1, 0; %output = output([%dr, %dh])\n",
     "in0[1, 3, 4, 2] last, in1[1, 9, 8]\n"
     "TRANSPOSE(in1, {0, 2, 1}) -> [1, 8, 9] 0.5:3\n"
     "CONV_2D(in0, const[2, 1, 1, 2]{0, 1, 2, 3} 0.25:0, {0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, 2] "
     "0.75:-5 = out0 last\n"
     "ADD(op0, op0) pot_scale -> [1, 8, 9] 1:0\n"
     "TRANSPOSE(op2, {0, 2, 1}) -> [1, 9, 8] 1:0 = out1\n"},
    /*
     * A contiguous [N, H, W, C] input permuted into an image: nothing is left of the permutation, and the input stays
     * what it is to the runtime, though its tensor is now read as channels-last.
     */
    {"permuted input", BY_NPU,
     X("[1, 3, 4, 2]")
         WEIGHT("w", "2, 2, 1, 1") "%p = edge.aten.permute_copy.default(%dx, [0, 3, 1, 2]) ! 0.5, 3\n" CONV(
             "r", "dp", "dw", "none", "0", "1"),
     "in0[1, 3, 4, 2]\n"
     "CONV_2D(in0, const[2, 1, 1, 2]{0, 1, 2, 3} 0.25:0, {0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 3, 4, 2] "
     "0.75:-5\n"
     "TRANSPOSE(op0, {0, 3, 1, 2}) -> [1, 2, 3, 4] 0.75:-5 = out0\n"},
    /* ---- rule set sdk-3.1 ---- */
    /* A slice of another than the last axis: that axis changes places with the last one. */
    {"slice, sdk-3.1", SDK31, X("[2, 8, 1]") "%r = edge.aten.slice_copy.Tensor(%dx, 1, 3, 7) ! 0.5, 3\n",
     "in0[2, 8, 1]\n"
     "TRANSPOSE(in0, {0, 2, 1}) -> [2, 1, 8] 0.5:3\n"
     "SLICE(op0, {0, 0, 3}, {2, 1, 4}) -> [2, 1, 4] 0.5:3\n"
     "TRANSPOSE(op1, {0, 2, 1}) -> [2, 4, 1] 0.5:3 = out0\n"},
    /* From [1, 4, 8, 8] in one go would need a height that is a multiple of 8; two transposes do not. */
    {"permutation, sdk-3.1", SDK31, PERMUTED,
     "in0[1, 4, 8, 8] last\n"
     "CONV_2D(in0, const[8, 1, 1, 8] 0.25:0, {0, 0, 0, 0, 0, 0, 0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 4, "
     "8, 8] 0.75:-5\n"
     "TRANSPOSE(op0, {0, 3, 1, 2}) -> [1, 8, 4, 8] 0.75:-5\n"
     "TRANSPOSE(op1, {0, 3, 1, 2}) -> [1, 8, 8, 4] 0.75:-5 = out0\n"},
    {"permutation", BY_NPU, PERMUTED,
     "in0[1, 4, 8, 8] last\n"
     "CONV_2D(in0, const[8, 1, 1, 8] 0.25:0, {0, 0, 0, 0, 0, 0, 0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 4, "
     "8, 8] 0.75:-5\n"
     "TRANSPOSE(op0, {0, 2, 3, 1}) -> [1, 8, 8, 4] 0.75:-5 = out0\n"},
    /* A width of 3 keeps the input's transpose off the NPU; 24 pixels of 8 channels let the output's there. */
    {"boundaries, sdk-3.1", SDK31,
     X("[1, 8, 8, 3]") WEIGHT("w", "8, 8, 3, 3") BIAS("8") CONV("r", "dx", "dw", "%db", "1", "1"),
     "in0[1, 8, 3, 8] last\n"
     "PADV2(in0, const[4, 2]{0, 0, 1, 1, 1, 1, 0, 0}, const[]{3} 0.5:3) -> [1, 10, 5, 8] 0.5:3\n"
     "CONV_2D(op0, const[8, 3, 3, 8] 0.25:0, {0, 0, 0, 0, 0, 0, 0, 0} 0.125:0) stride 1x1 dilation 1x1 valid -> [1, 8, "
     "3, 8] 0.75:-5\n"
     "TRANSPOSE(op1, {0, 3, 1, 2}) -> [1, 8, 8, 3] 0.75:-5 = out0\n"},
};

static const struct {
    const char *name;
    void (*check)(const struct net *n);
} more[] = {
    {"padded convolution", padded_convolution},     {"depthwise", depthwise_weights},
    {"transposed convolution", transposed_weights}, {"linear", linear_weights},
    {"flatten into linear", moved_columns},         {"broadcast constants", image_constant},
};

static void check_lowering(struct nuc_context *cx, void *arg)
{
    const struct lowering *row = arg;
    struct net n = {.cx = cx, .g = parse_quantized(cx, row->net)};

    n.options.use_neutron_for_format_conversion = (row->how & BY_RUNTIME) == 0;
    n.options.reference_compat = (row->how & COMPAT) != 0;
    n.options.flavor = (row->how & SDK31) != 0 ? nuc_flavor_find(cx, "sdk-3.1") : NULL;
    fill_quantized(n.g);
    lower_graph(&n);
    if (strcmp(model_text(&n), row->model) != 0)
        print_error("%s: got\n%s", row->name, model_text(&n));
    assert_string_equal(model_text(&n), row->model);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        if (strcmp(more[i].name, row->name) == 0)
            more[i].check(&n);
    }
}

/* ---- refusals ---- */

struct refusal {
    struct nuc_graph *g;
    struct nuc_partition p;
};

static void lower_by_hand(struct nuc_context *cx, void *arg)
{
    struct refusal *r = arg;
    struct nuc_lower_io io;

    (void)cx;
    nuc_lower_partition(r->g, &r->p, NULL, &io);
}

/* A softmax of another axis than the channels, and a partition without the input that it reads. */
static void refuse(struct nuc_context *cx, void *arg)
{
    struct nuc_graph *g = parse_quantized(cx, "%x = input : float32[1, 4] ! 0.5, 3\n"
                                              "%r = edge.aten._softmax.default(%dx, 0, false) ! 0.00390625, -128\n");
    struct nuc_node *qx = node_of(g, "qx"), *qr = node_of(g, "qr");
    struct refusal refused = {g, {.tag = "tag0", .n_nodes = 3, .n_inputs = 1, .n_outputs = 1}};

    (void)arg;
    refused.p.nodes = (struct nuc_node *[]){node_of(g, "dx"), node_of(g, "r"), qr};
    refused.p.inputs = &qx;
    refused.p.outputs = &qr;
    assert_int_equal(nuc_try(cx, lower_by_hand, &refused), NUC_INTERNAL);
    assert_non_null(strstr(cx->message, "'r'"));
    refused.p.n_inputs = 0;
    assert_int_equal(nuc_try(cx, lower_by_hand, &refused), NUC_INTERNAL);
    assert_non_null(strstr(cx->message, "tag0"));
}

static void test_can_lower(void **state)
{
    (void)state;
    assert_true(nuc_can_lower(nuc_op_find("edge.aten.convolution.default").op));
    assert_true(nuc_can_lower(NUC_OP_GETITEM));
    assert_true(nuc_can_lower(NUC_OP_DEQUANTIZE_PER_CHANNEL));
    assert_false(nuc_can_lower(nuc_op_find("edge.aten._native_batch_norm_legit_no_training.default").op));
    assert_false(nuc_can_lower(NUC_OP_COUNT));
}

/* Whatever a rule set admits has a lowering. */
static void test_rules_are_lowered(void **state)
{
    (void)state;
    for (size_t i = 0; nuc_flavor_at(i) != NULL; i++) {
        for (int op = 0; op < NUC_OP_COUNT; op++) {
            const struct nuc_support_row *row = nuc_support_row(nuc_flavor_at(i), (enum nuc_op)op);
            if (row != NULL && !nuc_can_lower((enum nuc_op)op))
                fail_msg("%s is supported by %s but not lowered", nuc_op_name((enum nuc_op)op, NUC_EDGE),
                         nuc_flavor_at(i)->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW_TEST(check_lowering, rows),
        CONTEXT_TEST(refuse),
        cmocka_unit_test(test_can_lower),
        cmocka_unit_test(test_rules_are_lowered),
    };

    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
