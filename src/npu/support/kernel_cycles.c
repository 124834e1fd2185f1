#include "npu/support/kernel_cycles.h"

#include "device/base/sampled.h"
#include "device/base/span.h"
#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/op_list.h"

#define CONV(name) NUC_ARG(CORTEXM_CONV2D, name) /* the other convolutions have these in the same places */

/*
 * Instructions of one call on a Cortex-M33, by what its loops go over: products, values written and read, pixels
 * written (columns of inputs are made for each), weights and channels (set up once for a call), and runs of bytes that
 * are moved at once; and how many times as many a core has without DSP instructions and long multiplication. Least
 * squares of relative errors over the operators of some hundred networks, as they are and in strips, counted by
 * bench/m33/bench.sh (gcc 12.2, QEMU 7.2): the error of a row is the worst one met.
 */
struct fit {
    double call, product, written, read, pixel, weight, channel, run, scalar;
    const struct fit *few; /* of results with fewer elements than its `below`; NULL: the same */
    double below;
};

static const struct fit windows = {
    .call = 2500, .product = 0.7, .written = 13.7, .read = 2.3, .pixel = 130, .weight = 2, .scalar = 20}; /* 24 % */
static const struct fit pointwise = {
    .call = 3000, .product = 0.75, .written = 9.5, .pixel = 10, .weight = 1.4, .scalar = 21.5}; /* 29 % */
/* The same, of rows of weights that begin within words. */
static const struct fit pointwise_unaligned = {
    .call = 4000, .product = 0.51, .written = 11.2, .read = 7.8, .pixel = 88, .scalar = 10};     /* 9 % */
static const struct fit few_pixels = {.call = 2600, .product = 1.2, .written = 38, .scalar = 5}; /* 11 % */
/* The same, of rows of weights that begin within words. */
static const struct fit few_unaligned = {.call = 2600, .product = 1.93, .written = 60, .scalar = 4}; /* 6 % */
/* Of several groups; a run is a tap of a pixel. */
static const struct fit grouped = {
    .call = 2500, .product = 0.8, .written = 14, .run = 115, .scalar = 20}; /* 30 %; 80 % of one tap */
/* Of channels four at a time; a product is of two places one below the other. 3 x 3 less where a ReLU follows. */
static const struct fit depthwise_fours = {
    .call = 6300, .product = 1.75, .written = 8.1, .read = 1.77, .channel = 197, .scalar = 30.5}; /* 21 % */
static const struct fit depthwise_of_one = {
    .call = 3000, .product = 1.15, .written = 10, .pixel = 90, .channel = 26, .scalar = 28}; /* 18 % */
/* More taps than its kernel for one channel takes: in plain C. */
static const struct fit depthwise_of_many = {.call = 20000, .product = 32, .scalar = 3}; /* of one call */

/*
 * The same on a Cortex-M55, where a vector instruction counts as two cycles: least squares over the operators of 12
 * networks, instructions and vector instructions counted by bench/m33/vectors.py. Products are of whole vectors; a run
 * is a line of a channel of a depthwise convolution.
 */
#define LANES 16
static const struct fit vector_windows = {
    .call = 8640, .product = 0.254, .written = 5.12, .pixel = 276, .weight = 0.305}; /* 19 % */
static const struct fit vector_pointwise = {
    .call = 3540, .product = 0.255, .written = 9.88, .pixel = 98.4, .weight = 0.344};          /* 11 % */
static const struct fit vector_few_pixels = {.call = 2880, .product = 0.588, .written = 42.4}; /* 11 % */
static const struct fit vector_depthwise = {
    .call = 3850, .product = 0.29, .written = 9.37, .read = 2.03, .channel = 53.8, .run = 152}; /* 14 % */
static const struct fit vector_of_one = {.product = 0.598, .written = 1.02, .pixel = 285};      /* 3 % */

/* Channels with weights of more than eight bits once more, in plain C. */
static const struct fit once_more = {.product = 12, .written = 284, .scalar = 1};           /* 23 % */
static const struct fit depthwise_once_more = {.product = 68.3, .written = 8, .scalar = 1}; /* 16 % */

/* Of int16 values (bench/m33/int16.sh). */
static const struct fit wide_windows = {
    .call = 1500, .product = 1.19, .written = 63.3, .read = 4.94, .pixel = 20.9, .scalar = 6}; /* 12 % */
static const struct fit wide_pointwise = {
    .call = 1500, .product = 1.39, .written = 37.5, .pixel = 274, .scalar = 6};                        /* 18 % */
static const struct fit wide_few_pixels = {.call = 1500, .product = 1.9, .written = 160, .scalar = 4}; /* 1 % */
static const struct fit wide_depthwise = {.call = 1500, .product = 3.2, .written = 63, .scalar = 8};   /* 18 % */
static const struct fit wide_depthwise_of_several = {
    .call = 1500, .product = 4.86, .written = 66.5, .scalar = 8};                                           /* 5 % */
static const struct fit wide_depthwise_of_few = {.call = 1500, .product = 36, .written = 2.3, .scalar = 8}; /* one */

/* Of transposed convolutions: windows that lie side by side (device/kernels/dsp/dsp_transposed_s8.c). */
static const struct fit tiles = {.call = 3000, .product = 1.22, .written = 12.9}; /* 3 % */

/* Elements that are not worth tables (device/kernels/dsp/dsp_elementwise_s8.c, device/kernels/mve). */
static const struct fit vector_few_softmax = {.call = 1700, .written = 85, .below = 64};              /* 1 % */
static const struct fit few_sums = {.call = 1820, .written = 27.8, .scalar = 7, .below = 384};        /* 2 % */
static const struct fit vector_few_sums = {.call = 1820, .written = 27.8, .scalar = 7, .below = 160}; /* 2 % */

enum form {
    VALUES,   /* one after the other */
    PRODUCTS, /* of matrices: the last dimension of the first operand for each value written */
    LAYER,    /* recurrent: `gates` for values written */
    PARTS,    /* runs of bytes that stay together: of a part, along one dimension */
    ROWS,     /* of the last dimension */
    VOLUME,   /* products of windows of volumes */
    ORDER,    /* along all inner dimensions that stay where they are */
    MOVES,    /* along the longest dimension (device/kernels/mve/mve_copy.c) */
    FRAMES,   /* of sound: samples of all windows */
    PIXELS,   /* of a frame, one for each value: what is no result as it stands is read */
    SAMPLES,  /* of a function: a product for each value between those of octaves */
    FOURS,    /* channels, four at a time */
    TAPS,     /* of windows, whether or not one meets a value */
    SINGLE,   /* input channels of groups of one: their products take more */
    REPEATED, /* rows of the last dimension that are not taken apart */
    APART,    /* one after the other, of which no two lie together in both */
};

/* A row that vectors move, and one of bytes side by side that they leave to plain C. */
#define LEAST_MOVED 8
#define MOST_TOGETHER 16

/* Elements of a run that is moved by rows of the dimension around it, and what one takes of any other run. */
#define SHORT_RUN 4
#define OF_SHORT_RUN 7

static const struct row {
    const enum nuc_op *ops;
    enum form form;
    struct fit fit;
} kernels[] = {
    {NUC_OPS(NUC_OP_CORTEXM_TRANSPOSE_CONV2D),
     VALUES,
     {.call = 3000, .product = 2.3, .pixel = 600, .scalar = 90}}, /* 8 %; 40 % with one channel of the result */
    /* Of several groups, in plain C. */
    {NUC_OPS(NUC_OP_NUCLEON_TRANSPOSE_CONV2D),
     TAPS,
     {.product = 14, .written = 140, .run = 19.3, .scalar = 4}}, /* 14 % */
    {NUC_OPS(NUC_OP_CORTEXM_LINEAR),
     PRODUCTS,
     {.call = 1750, .product = 1.19, .written = 11, .read = 2.2, .scalar = 5.4}}, /* 20 % */
    {NUC_OPS(NUC_OP_CORTEXM_BATCH_MATMUL),
     PRODUCTS,
     {.call = 1050, .product = 1.81, .written = 8.1, .run = 592, .scalar = 4.5}},                        /* 8 % */
    {NUC_OPS(NUC_OP_NUCLEON_LSTM), LAYER, {.call = 3000, .product = 1.3, .written = 77, .scalar = 5.3}}, /* 1 % */
    {NUC_OPS(NUC_OP_NUCLEON_RNN), LAYER, {.call = 3000, .product = 1.3, .written = 115, .scalar = 5.3}}, /* 3 % */
    {NUC_OPS(NUC_OP_NUCLEON_GRU), LAYER, {.call = 3000, .product = 1.15, .written = 97, .scalar = 5.3}}, /* 5 % */
    {NUC_OPS(NUC_OP_NUCLEON_SVDF), VALUES, {.call = 1800, .product = 8.7, .scalar = 2}},                 /* 5 % */
    {NUC_OPS(NUC_OP_NUCLEON_LITERT_LSTM),
     VALUES,
     {.call = 2000, .product = 4.5, .written = 880, .scalar = 2}}, /* 8 % */
    /* Of 96 x 96 pixels that are taken as they are; then of frames of 64 x 64 to 640 x 480 pixels and images of
     * 128 x 128. Bytes are read. */
    {NUC_OPS(NUC_OP_PREPARE_FRAME), PIXELS, {.call = 500, .written = 9.2, .read = 14, .scalar = 1}}, /* 20 % */
    {NUC_OPS(NUC_OP_PREPARE_FRAME), VALUES, {.call = 500, .written = 45, .read = 26, .scalar = 1}},  /* 28 % */
    /* Of a front end of 480 samples, 257 bins and 40 channels; each bin adds to two channels. */
    {NUC_OPS(NUC_OP_SIGNAL_WINDOW, NUC_OP_SIGNAL_AUTO_SCALE, NUC_OP_SIGNAL_ENERGY),
     VALUES,
     {.call = 250, .written = 14, .scalar = 1}},                                            /* 4 % */
    {NUC_OPS(NUC_OP_SIGNAL_RFFT), VALUES, {.call = 400, .written = 54, .scalar = 2.1}},     /* of one length */
    {NUC_OPS(NUC_OP_SIGNAL_FILTER_BANK), VALUES, {.call = 250, .read = 32, .scalar = 1.5}}, /* of one call */
    {NUC_OPS(NUC_OP_SIGNAL_ROOT), VALUES, {.call = 250, .written = 289, .scalar = 1}},      /* of one call */
    {NUC_OPS(NUC_OP_SIGNAL_NOISE_REDUCTION, NUC_OP_SIGNAL_PCAN, NUC_OP_SIGNAL_LOG),
     VALUES,
     {.call = 250, .written = 60, .scalar = 1.5}}, /* 26 % */
    {NUC_OPS(NUC_OP_CORTEXM_ADD),
     VALUES,
     {.call = 7500,
      .written = 12.7,
      .scalar = 22,
      .few = &few_sums}}, /* 21 %: sums of both operands' 256 values first */
    {NUC_OPS(NUC_OP_NUCLEON_SQUARED_DIFFERENCE), VALUES, {.call = 1500, .written = 60, .scalar = 3}},
    {NUC_OPS(NUC_OP_CORTEXM_MUL, NUC_OP_NUCLEON_PRELU),
     VALUES,
     {.call = 1450, .written = 14.5, .scalar = 22}},                                                        /* 25 % */
    {NUC_OPS(NUC_OP_CORTEXM_DIV), VALUES, {.call = 970, .written = 54, .scalar = 5}},                       /* 15 % */
    {NUC_OPS(NUC_OP_NUCLEON_COMPARE), VALUES, {.call = 1000, .product = 66, .written = 21.2, .scalar = 2}}, /* 2 % */
    {NUC_OPS(NUC_OP_CORTEXM_MINIMUM, NUC_OP_CORTEXM_MAXIMUM),
     VALUES,
     {.call = 1000, .written = 12.4, .scalar = 1.2}}, /* of one call */
    {NUC_OPS(NUC_OP_CORTEXM_ACTIVATION, NUC_OP_NUCLEON_TEST),
     VALUES,
     {.call = 625, .written = 6, .scalar = 1.75}}, /* 2 % */
    {NUC_OPS(NUC_OP_CORTEXM_QUANTIZE, NUC_OP_NUCLEON_QUANTIZE),
     VALUES,
     {.call = 1160, .written = 10, .scalar = 15.8}},                                           /* 3 % */
    {NUC_OPS(NUC_OP_CORTEXM_DEQUANTIZE), VALUES, {.call = 910, .written = 9, .scalar = 10.8}}, /* 3 % */
    {NUC_OPS(NUC_OP_CORTEXM_AVG_POOL2D, NUC_OP_NUCLEON_AVG_POOL2D),
     FOURS,
     {.call = 2000, .product = 2.26, .written = 14, .pixel = 65, .scalar = 18}}, /* 20 % */
    {NUC_OPS(NUC_OP_CORTEXM_MAX_POOL2D),
     FOURS,
     {.call = 490, .product = 2.37, .written = 7, .pixel = 83, .scalar = 2}},                        /* 3 % */
    {NUC_OPS(NUC_OP_NUCLEON_SUM), VALUES, {.call = 1440, .written = 145, .read = 6.3, .scalar = 2}}, /* 29 % */
    {NUC_OPS(NUC_OP_NUCLEON_VAR), VALUES, {.call = 1300, .written = 330, .read = 5, .scalar = 8}},   /* 2 % */
    {NUC_OPS(NUC_OP_CORTEXM_SOFTMAX), VALUES, {.call = 3300, .written = 75, .scalar = 4.6}}, /* 53 %: by the values */
    {NUC_OPS(NUC_OP_NUCLEON_LOG_SOFTMAX), ROWS, {.call = 3600, .written = 40.8, .run = 66, .scalar = 8}}, /* 3 % */
    {NUC_OPS(NUC_OP_NUCLEON_LAYER_NORM, NUC_OP_NUCLEON_RMS_NORM),
     ROWS,
     {.call = 900, .written = 23, .run = 188, .scalar = 21}},                                    /* 5 % */
    {NUC_OPS(NUC_OP_NUCLEON_GROUP_NORM), VALUES, {.call = 3000, .written = 25.5, .scalar = 19}}, /* 11 % */
    {NUC_OPS(NUC_OP_NUCLEON_RESIZE_BILINEAR),
     VALUES,
     {.call = 1270, .written = 21.1, .pixel = 110, .scalar = 4}}, /* 1 % */
    {NUC_OPS(NUC_OP_NUCLEON_RESIZE_NEAREST),
     VALUES,
     {.call = 1000, .written = 1.25, .pixel = 79.5, .scalar = 1.5}}, /* 2 % */
    {NUC_OPS(NUC_OP_UPSAMPLE_NEAREST),
     VALUES,
     {.call = 1000, .written = 8.5, .scalar = 1.5}}, /* whichever kernel it becomes */
    {NUC_OPS(NUC_OP_NUCLEON_GRID_SAMPLER),
     VALUES,
     {.call = 1000, .written = 21, .pixel = 34, .scalar = 2}}, /* 27 %: by how many positions are at the edge */
    {NUC_OPS(NUC_OP_AMAX, NUC_OP_AMIN), VALUES, {.call = 1000, .written = 34, .read = 10.1, .scalar = 1.5}}, /* 12 % */
    {NUC_OPS(NUC_OP_ARGMAX, NUC_OP_ARGMIN),
     VALUES,
     {.call = 500, .written = 14, .read = 12.2, .scalar = 1.5}}, /* 1 % */
    {NUC_OPS(NUC_OP_TO_DIM_ORDER_COPY),
     VALUES,
     {.call = 3600, .written = 8.6, .scalar = 4.7}}, /* 67 %: a few values each */
    {NUC_OPS(NUC_OP_CORTEXM_TRANSPOSE), ORDER, {.call = 950, .written = 4.2, .run = 3.4, .scalar = 4}}, /* 27 % */
    {NUC_OPS(NUC_OP_EXPAND), REPEATED, {.call = 520, .written = 1.5, .run = 38, .scalar = 2}},          /* 24 % */
    {NUC_OPS(NUC_OP_EXPAND), VALUES, {.call = 520, .written = 8.6, .scalar = 2}},                       /* 20 % */
    {NUC_OPS(NUC_OP_FLIP), VALUES, {.call = 1000, .written = 3.7, .scalar = 2}},   /* of rows of 16 and 32 */
    {NUC_OPS(NUC_OP_WHERE), VALUES, {.call = 1000, .written = 15, .scalar = 1.5}}, /* 20 %: by how many are chosen */
    {NUC_OPS(NUC_OP_INDEX, NUC_OP_INDEX_SELECT), APART, {.call = 1000, .written = 33, .scalar = 2}},  /* of one call */
    {NUC_OPS(NUC_OP_INDEX, NUC_OP_INDEX_SELECT), VALUES, {.call = 1000, .written = 6, .scalar = 2}},  /* 38 % */
    {NUC_OPS(NUC_OP_GATHER), VALUES, {.call = 1000, .written = 33, .scalar = 2}},                     /* of one call */
    {NUC_OPS(NUC_OP_SLICE, NUC_OP_CAT), PARTS, {.call = 2300, .written = 1, .run = 38, .scalar = 4}}, /* 35 % */
    {NUC_OPS(NUC_OP_CORTEXM_PAD), PARTS, {.call = 1560, .written = 1.2, .run = 48, .scalar = 1.4}},   /* 5 % */
    {NUC_OPS(NUC_OP_EMBEDDING), VALUES, {.call = 1350, .written = 6.2, .scalar = 1.4}},               /* 1 % */
    {NUC_OPS(NUC_OP_INDEX_PUT),
     VALUES,
     {.call = 3200, .product = 50, .written = 0.8, .scalar = 1.4}}, /* 17 %: a product for each value that is put */
    {NUC_OPS(NUC_OP_NUCLEON_COPY), VALUES, {.call = 616, .written = 0.75, .scalar = 1.4}}, /* 1 % */
};

/* Kernels of int16. */
static const struct row wide_kernels[] = {
    {NUC_OPS(NUC_OP_CORTEXM_ADD), VALUES, {.call = 1850, .written = 41, .scalar = 3}},
    {NUC_OPS(NUC_OP_CORTEXM_MUL), VALUES, {.call = 1500, .written = 21, .scalar = 3}},
    {NUC_OPS(NUC_OP_NUCLEON_PRELU), VALUES, {.call = 1500, .written = 49, .scalar = 1.2}},
    {NUC_OPS(NUC_OP_NUCLEON_REQUANTIZE), VALUES, {.call = 1100, .written = 16, .scalar = 3}},
    {NUC_OPS(NUC_OP_NUCLEON_SIGMOID), VALUES, {.call = 1100, .written = 31.7, .scalar = 1.1}},
    {NUC_OPS(NUC_OP_NUCLEON_FUNCTION), SAMPLES, {.call = 650, .product = 12, .written = 15.1, .scalar = 1.5}},
    {NUC_OPS(NUC_OP_NUCLEON_SOFTMAX), ROWS, {.call = 1100, .written = 36, .run = 110, .scalar = 2}},
    {NUC_OPS(NUC_OP_NUCLEON_LOG_SOFTMAX), ROWS, {.call = 1400, .written = 45, .run = 116, .scalar = 8}},
    {NUC_OPS(NUC_OP_CORTEXM_MAX_POOL2D), VALUES, {.call = 1000, .product = 3.6, .written = 43, .scalar = 2}},
    {NUC_OPS(NUC_OP_CORTEXM_PAD), PARTS, {.call = 1400, .written = 2.3, .run = 50, .scalar = 1.4}},
    {NUC_OPS(NUC_OP_CORTEXM_MINIMUM, NUC_OP_CORTEXM_MAXIMUM), VALUES, {.call = 1500, .written = 12, .scalar = 1.2}},
    {NUC_OPS(NUC_OP_CORTEXM_QUANTIZE), VALUES, {.call = 1160, .written = 14, .scalar = 15.8}},
    {NUC_OPS(NUC_OP_NUCLEON_LITERT_LSTM), VALUES, {.call = 2000, .product = 5, .written = 970, .scalar = 2}},
    {NUC_OPS(NUC_OP_CORTEXM_AVG_POOL2D, NUC_OP_NUCLEON_AVG_POOL2D),
     VALUES,
     {.call = 1000, .product = 3.2, .written = 50, .scalar = 1.5}},
    {NUC_OPS(NUC_OP_NUCLEON_SUM), VALUES, {.call = 1440, .written = 300, .read = 8.2, .scalar = 1}},         /* 9 % */
    {NUC_OPS(NUC_OP_AMAX, NUC_OP_AMIN), VALUES, {.call = 1000, .written = 97, .read = 34.4, .scalar = 1.5}}, /* 4 % */
    {NUC_OPS(NUC_OP_NUCLEON_RESIZE_NEAREST),
     VALUES,
     {.call = 1000, .written = 2.5, .pixel = 79.5, .scalar = 1.5}},                         /* 2 % */
    {NUC_OPS(NUC_OP_CAT), PARTS, {.call = 2300, .written = 4.8, .run = 17.7, .scalar = 4}}, /* 40 % */
    {NUC_OPS(NUC_OP_NUCLEON_TRANSPOSE_CONV2D),
     SINGLE,
     {.call = 1500, .product = 2.5, .written = 250, .run = 160, .scalar = 4}}, /* 10 % */
    {NUC_OPS(NUC_OP_CORTEXM_BATCH_MATMUL), PRODUCTS, {.call = 1000, .product = 1.75, .written = 55, .scalar = 4}},
    {NUC_OPS(NUC_OP_NUCLEON_LAYER_NORM, NUC_OP_NUCLEON_RMS_NORM),
     ROWS,
     {.call = 900, .written = 29.5, .run = 160, .scalar = 18}},
    {NUC_OPS(NUC_OP_NUCLEON_RESIZE_BILINEAR), VALUES, {.call = 1270, .written = 35, .pixel = 110, .scalar = 4}},
};

/* Int8 kernels of a core with vector instructions, where others are as above. */
static const struct row vector_kernels[] = {
    {NUC_OPS(NUC_OP_CORTEXM_LINEAR), PRODUCTS, {.call = 1730, .product = 0.302, .written = 35.6}},       /* 5 % */
    {NUC_OPS(NUC_OP_CORTEXM_BATCH_MATMUL), PRODUCTS, {.call = 1550, .product = 0.584, .written = 37.2}}, /* 1 % */
    {NUC_OPS(NUC_OP_CORTEXM_ADD), VALUES, {.call = 4840, .written = 7.75, .few = &vector_few_sums}},     /* 1 % */
    {NUC_OPS(NUC_OP_CORTEXM_MUL), VALUES, {.call = 2030, .written = 10}},                                /* 13 % */
    {NUC_OPS(NUC_OP_CORTEXM_ACTIVATION, NUC_OP_NUCLEON_TEST), VALUES, {.call = 661, .written = 0.56}},   /* 8 % */
    {NUC_OPS(NUC_OP_CORTEXM_AVG_POOL2D), VALUES, {.product = 2.44, .written = 18.3}}, /* 43 %: 6 channels */
    {NUC_OPS(NUC_OP_CORTEXM_SOFTMAX),
     ROWS,
     {.call = 21000, .written = 14, .run = 200, .few = &vector_few_softmax}},                         /* 14 % */
    {NUC_OPS(NUC_OP_NUCLEON_RESIZE_BILINEAR), VALUES, {.call = 1270, .written = 13.5, .pixel = 112}}, /* 7 % */
    {NUC_OPS(NUC_OP_CORTEXM_TRANSPOSE, NUC_OP_TO_DIM_ORDER_COPY, NUC_OP_SLICE),
     MOVES,
     {.call = 1600, .written = 0.95, .run = 83}},                                     /* 11 % */
    {NUC_OPS(NUC_OP_CAT), MOVES, {.call = 2350, .written = 0.95, .run = 83}},         /* 2 %: of two parts */
    {NUC_OPS(NUC_OP_CORTEXM_PAD), MOVES, {.call = 1700, .written = 0.95, .run = 83}}, /* 14 % */
};

/* Float kernels that differ from one pass over their values; those that move values are as above. */
static const struct row real_kernels[] = {
    {NUC_OPS(NUC_OP_NUCLEON_LAYER_NORM, NUC_OP_NUCLEON_RMS_NORM, NUC_OP_NUCLEON_GROUP_NORM),
     VALUES,
     {.call = 2200, .read = 27, .scalar = 15}},                                                      /* 3 % */
    {NUC_OPS(NUC_OP_NUCLEON_SUM), VALUES, {.call = 1300, .written = 45, .read = 6.5, .scalar = 25}}, /* 28 % */
    {NUC_OPS(NUC_OP_CORTEXM_ADD, NUC_OP_CORTEXM_MUL),
     VALUES,
     {.call = 1300, .written = 12, .scalar = 17}}, /* 36 %; 68 % with a number */
    {NUC_OPS(NUC_OP_NUCLEON_RESIZE_BILINEAR), VALUES, {.call = 1300, .written = 101, .scalar = 8}}, /* of one call */
    {NUC_OPS(NUC_OP_SIGNAL_FEATURES),
     FRAMES,
     {.call = 1000, .product = 104, .scalar = 2}}, /* 6 %: of 480 samples in a transform of 512, of 256 in one of 256 */
    {NUC_OPS(NUC_OP_SIGNAL_MICRO), VALUES, {.call = 1000, .read = 178, .scalar = 2}},     /* of 480 samples every 320 */
    {NUC_OPS(NUC_OP_CONVOLUTION), VOLUME, {.call = 2000, .product = 75, .scalar = 8}},    /* 15 % */
    {NUC_OPS(NUC_OP_CUMSUM), VALUES, {.call = 700, .written = 14, .scalar = 8}},          /* 2 % */
    {NUC_OPS(NUC_OP_SLICE_SCATTER), VALUES, {.call = 1000, .written = 5, .scalar = 1.5}}, /* 60 %: by what is written */
};

static const enum nuc_op *const depthwise =
    NUC_OPS(NUC_OP_CORTEXM_DEPTHWISE, NUC_OP_NUCLEON_DEPTHWISE, NUC_OP_NUCLEON_WIDE_DEPTHWISE);
static const enum nuc_op *const convolutions =
    NUC_OPS(NUC_OP_CORTEXM_CONV2D, NUC_OP_NUCLEON_CONV2D, NUC_OP_NUCLEON_WIDE_CONV2D);

static double elements_of(const struct nuc_meta *m)
{
    return m == NULL ? 0 : (double)nuc_elements(m);
}

/* Elements of a row: the size of the last dimension, 0 where there is none. */
static int64_t row_size(const struct nuc_meta *m)
{
    return m != NULL && m->rank > 0 ? m->sizes[m->rank - 1] : 0;
}

/* How many rows of `m` so many elements are, 0 where it has none. */
static double rows_of(double elements, const struct nuc_meta *m)
{
    int64_t size = row_size(m);

    return size > 0 ? elements / (double)size : 0;
}

/* What a call goes over. */
struct work {
    double products, written, read, pixels, weights, channels, runs;
};

/* A whole number: sums and products of these are exact, so that every host counts the same cycles. */
static double whole(double value)
{
    return value < 1e15 ? (double)(int64_t)(value + 0.5) : 1e15;
}

static double thousandths(double constant)
{
    return whole(1000 * constant);
}

static uint64_t cycles(const struct nuc_kernel_costs *c, const struct fit *f, const struct work *w)
{
    double sum = thousandths(f->call) + thousandths(f->product) * whole(w->products) +
                 thousandths(f->written) * whole(w->written) + thousandths(f->read) * whole(w->read) +
                 thousandths(f->pixel) * whole(w->pixels) + thousandths(f->weight) * whole(w->weights) +
                 thousandths(f->channel) * whole(w->channels) + thousandths(f->run) * whole(w->runs);

    sum = c->scalar ? sum * whole(100 * f->scalar) / 100000 : sum / 1000;
    return sum < 1e18 ? (uint64_t)sum : (uint64_t)1e18;
}

static double smaller(int64_t a, int64_t b)
{
    return (double)(a < b ? a : b);
}

/* What vectors go over: lines along the longer side, rows of weights in whole vectors. */
static const struct fit *fit_of_vectors(const struct nuc_kernel_call *call, struct work *w)
{
    const struct nuc_meta *weight = call->weight, *out = call->out;
    bool is_depthwise = nuc_op_is_in(call->op, depthwise), one = is_depthwise && call->in->sizes[1] == 1;
    int64_t row = weight->sizes[1] * weight->sizes[2] * (is_depthwise ? 1 : weight->sizes[3]);

    if (is_depthwise && call->in->sizes[1] == out->sizes[1]) {
        w->runs = call->written * w->channels * (out->rank == 4 ? smaller(out->sizes[2], out->sizes[3]) : 1);
        return &vector_depthwise;
    }
    w->products = w->written * (double)((row + LANES - 1) / LANES * LANES);
    if (one)
        return &vector_of_one;
    return weight->sizes[1] * weight->sizes[2] > 1 ? &vector_windows
           : w->pixels > 2                         ? &vector_pointwise
                                                   : &vector_few_pixels;
}

#define FOUR 4
#define MOST_PLACES 8 /* side by side that the loops of device/kernels/dsp/dsp_windows.h take */

static double in_fours(int64_t channels)
{
    return channels > 0 ? (double)((channels + FOUR - 1) / FOUR * FOUR) / (double)channels : 1;
}

/* Words of two places, one below the other: half a word more than the rows of a kernel have, along one row of many. */
static const struct fit *fit_of_fours(const struct nuc_kernel_call *call, const struct nuc_kernel_costs *costs,
                                      struct work *w)
{
    double high = (double)call->weight->sizes[1], wide = (double)call->weight->sizes[2];
    bool turned = call->weight->sizes[1] == 1 && call->in->sizes[2] == 1 && call->weight->sizes[2] > MOST_PLACES;
    double words = turned ? (wide + 1) / 2 : (high + 1) / 2 * wide;
    double places = turned ? words : wide, fours = in_fours(call->out->sizes[1]);

    if (costs->scalar)
        return &depthwise_fours;
    w->channels *= call->parts > 1 ? call->parts : 1;
    w->written *= fours;
    w->read *= fours;
    w->products = w->written * words * (places > MOST_PLACES ? 1.75 : 1);
    return &depthwise_fours;
}

static const struct fit *fit_of_conv(const struct nuc_kernel_call *call, const struct nuc_kernel_costs *costs,
                                     struct work *work)
{
    const struct nuc_meta *w = call->weight;
    double pixels = work->pixels;

    if (call->in->dtype == NUC_I16)
        return nuc_op_is_in(call->op, depthwise)
                   ? (call->out->sizes[1] < 4                    ? &wide_depthwise_of_few
                      : call->in->sizes[1] < call->out->sizes[1] ? &wide_depthwise_of_several
                                                                 : &wide_depthwise)
               : pixels < 2                    ? &wide_few_pixels
               : w->sizes[1] * w->sizes[2] > 1 ? &wide_windows
                                               : &wide_pointwise;
    if (nuc_op_is_in(call->op, depthwise) && call->in->sizes[1] == 1)
        return w->sizes[1] * w->sizes[2] > NUC_ONE_CHANNEL_WINDOW ? &depthwise_of_many : &depthwise_of_one;
    if (nuc_op_is_in(call->op, depthwise))
        return fit_of_fours(call, costs, work);
    if (call->in->sizes[1] > w->sizes[3])
        return &grouped;
    if (w->sizes[1] * w->sizes[2] > 1)
        return &windows;
    bool aligned = w->sizes[3] % 4 == 0;
    return pixels > 2 ? (aligned ? &pointwise : &pointwise_unaligned) : aligned ? &few_pixels : &few_unaligned;
}

uint32_t nuc_excess_arg(enum nuc_op op)
{
    return op == NUC_OP_NUCLEON_WIDE_CONV2D      ? NUC_ARG(NUCLEON_WIDE_CONV2D, excess)
           : op == NUC_OP_NUCLEON_WIDE_DEPTHWISE ? NUC_ARG(NUCLEON_WIDE_DEPTHWISE, excess)
                                                 : UINT32_MAX;
}

double nuc_dilated_parts(const struct nuc_meta *out, int64_t down, int64_t across)
{
    return out->rank == 4 ? smaller(down, out->sizes[2]) * smaller(across, out->sizes[3]) : 1;
}

/* The places of a channel's weights are one after the other. */
double nuc_channels_again(const struct nuc_kernel_call *call, const uint8_t *listed, size_t count)
{
    int64_t channels = call->out->rank > 1 ? call->out->sizes[1] : 0, last = -1;
    int64_t of_one = channels > 0 ? (int64_t)elements_of(call->weight) / channels : 0;
    double again = 0;

    for (size_t i = 0; of_one > 0 && i < count; i++) {
        int64_t place = nuc_load_u32(listed + 8 * i);
        int64_t channel = nuc_op_is_in(call->op, depthwise) ? place % channels : place / of_one;
        again += channel != last;
        last = channel;
    }
    return again;
}

/*
 * Elements that lie together in both: those of the inner dimensions of one size in both, and `part`: of the next one,
 * as many as the smaller one has.
 */
static double run_length(const struct nuc_meta *in, const struct nuc_meta *out, bool part)
{
    double length = 1;
    uint32_t a = in != NULL ? in->rank : 0, b = out->rank;

    while (a > 0 && b > 0) {
        int64_t x = in->sizes[in->dim_order[a - 1]], y = out->sizes[out->dim_order[b - 1]];
        if (x != y)
            return part ? length * (double)(x < y ? x : y) : length;
        length *= (double)x;
        a--;
        b--;
    }
    return length;
}

static int64_t longest(const struct nuc_meta *m)
{
    int64_t size = 1;

    for (uint32_t d = 0; d < m->rank; d++)
        size = m->sizes[d] > size ? m->sizes[d] : size;
    return size;
}

static bool moves_in_vectors(const struct nuc_kernel_call *call)
{
    bool pads = call->op == NUC_OP_CORTEXM_PAD;
    bool part = nuc_op_is_in(call->op, NUC_OPS(NUC_OP_SLICE, NUC_OP_CAT)) || pads;
    double together = call->in != NULL ? run_length(call->in, call->out, part) : 0;

    /* What changes places in a tensor whose sizes stay the same does not lie together. */
    return call->in != NULL && longest(pads ? call->in : call->out) >= LEAST_MOVED &&
           (together <= MOST_TOGETHER || (!part && together >= elements_of(call->out)));
}

/* Each element of the result is a product with one pixel. */
static bool lies_in_tiles(const struct nuc_kernel_costs *costs, const struct nuc_kernel_call *call)
{
    return !costs->scalar && nuc_op_is_in(call->op, NUC_OPS(NUC_OP_CORTEXM_TRANSPOSE_CONV2D)) &&
           call->in->sizes[1] % 4 == 0 && call->products <= elements_of(call->out) * (double)call->in->sizes[1];
}

static uint64_t row_cycles(const struct nuc_kernel_costs *costs, const struct nuc_kernel_call *call,
                           const struct row *row, struct work w)
{
    const struct nuc_meta *in = call->in;

    if (row->form == PRODUCTS) {
        w.products = w.written * (double)row_size(in);
        w.runs = rows_of(w.read, in);
    }
    if (row->form == FRAMES && call->weight != NULL && row_size(call->out) > 0)
        w.products = rows_of(w.written, call->out) * elements_of(call->weight);
    if (row->form == TAPS && call->weight != NULL)
        w.runs = w.written * (double)(call->weight->sizes[1] * call->weight->sizes[2]);
    if (row->form == SINGLE && call->weight != NULL && call->out->rank > 1 &&
        call->in->sizes[1] * call->weight->sizes[0] <= call->out->sizes[1])
        w.runs = w.products;
    if (row->form == SAMPLES)
        w.products = call->products > NUC_EVEN ? w.written : 0;
    if (row->form == LAYER)
        w.written = call->gates;
    if (row->form == PIXELS)
        w.read = elements_of(in) < elements_of(call->out) || elements_of(in) > elements_of(call->out) ? w.written : 0;
    if (row->fit.pixel > 0 && call->out->rank > 1 && call->out->sizes[1] > 0)
        w.pixels = w.written / (double)call->out->sizes[1];
    if (row->form == ROWS || row->form == REPEATED)
        w.runs = rows_of(w.written, call->out);
    if (row->form == FOURS && call->out->rank > 1) {
        w.written *= in_fours(call->out->sizes[1]);
        w.products *= in_fours(call->out->sizes[1]);
    }
    if (row->form == MOVES)
        w.runs = call->op == NUC_OP_CORTEXM_PAD ? w.read / (double)longest(in) : w.written / (double)longest(call->out);
    if (row->form == PARTS || row->form == ORDER) {
        double length = run_length(in, call->out, row->form == PARTS);
        if (call->together > 0 && length >= elements_of(call->out))
            length = call->together;
        w.runs = length > 1 ? w.written / length : w.written;
        if (row->form == PARTS && length <= SHORT_RUN)
            w.runs *= length / OF_SHORT_RUN;
    }
    bool is_few = row->fit.few != NULL && elements_of(call->out) < row->fit.few->below;
    return cycles(costs, is_few ? row->fit.few : lies_in_tiles(costs, call) ? &tiles : &row->fit, &w);
}

static bool keeps_rows(const struct nuc_kernel_call *call)
{
    return row_size(call->in) > 0 && row_size(call->in) == row_size(call->out);
}

/* The taps of a frame's columns: a first pixel, how many, and their weights. */
static bool is_single(const struct nuc_meta *taps)
{
    return taps != NULL && taps->rank == 2 && taps->sizes[1] == 3;
}

/* Whether the row's form is that of the call. */
static bool has_form(const struct row *row, const struct nuc_kernel_call *call)
{
    return (row->form != PIXELS || is_single(call->weight)) && (row->form != REPEATED || keeps_rows(call)) &&
           (row->form != APART || run_length(call->in, call->out, false) < 2);
}

/* Of an operator as the rows name it. */
static uint64_t call_cycles(const struct nuc_kernel_costs *costs, const struct nuc_kernel_call *call)
{
    struct work w = {.written = call->written * elements_of(call->out),
                     .read = call->read * elements_of(call->in),
                     .products = call->written * call->products};
    bool is_conv = nuc_op_is_in(call->op, convolutions) || nuc_op_is_in(call->op, depthwise);

    if (!costs->real && is_conv && call->weight->rank == 4 && call->in->rank > 1 && call->out->rank > 1 &&
        call->out->sizes[1] > 0) {
        const struct nuc_meta *weight = call->weight;
        w.channels = (double)call->out->sizes[1];
        w.pixels = w.written / w.channels;
        w.weights = elements_of(weight);
        w.products = w.written * (double)(weight->sizes[1] * weight->sizes[2]) *
                     (nuc_op_is_in(call->op, depthwise) ? 1 : (double)weight->sizes[3]);
        if (weight->sizes[3] > 0)
            w.runs = w.pixels * (double)(call->in->sizes[1] / weight->sizes[3] * weight->sizes[1] * weight->sizes[2]);
        if (call->in->dtype == NUC_I16 || !nuc_op_is_in(call->op, depthwise)) /* the windows are copied */
            w.read = w.products / w.channels;
        double share = call->again / w.channels;
        const struct work more = {.products = w.products * share, .written = w.written * share};
        bool vectors = costs->vector && call->in->dtype == NUC_I8 &&
                       (!nuc_op_is_in(call->op, depthwise) || call->in->sizes[1] == 1 ||
                        call->in->sizes[1] == call->out->sizes[1]);
        return cycles(costs, vectors ? fit_of_vectors(call, &w) : fit_of_conv(call, costs, &w), &w) +
               cycles(costs, nuc_op_is_in(call->op, depthwise) ? &depthwise_once_more : &once_more, &more);
    }
    for (size_t i = 0; costs->real && i < sizeof real_kernels / sizeof real_kernels[0]; i++) {
        bool volume = call->in != NULL && call->in->rank == 5;
        if ((real_kernels[i].form != VOLUME || volume) && nuc_op_is_in(call->op, real_kernels[i].ops))
            return row_cycles(costs, call, &real_kernels[i], w);
    }
    for (size_t i = 0; call->out->dtype == NUC_I16 && i < sizeof wide_kernels / sizeof wide_kernels[0]; i++) {
        if (!costs->real && nuc_op_is_in(call->op, wide_kernels[i].ops))
            return row_cycles(costs, call, &wide_kernels[i], w);
    }
    bool vectors = costs->vector && !costs->real && call->out->dtype == NUC_I8;
    for (size_t i = 0; vectors && i < sizeof vector_kernels / sizeof vector_kernels[0]; i++) {
        if (nuc_op_is_in(call->op, vector_kernels[i].ops) &&
            (vector_kernels[i].form != MOVES || moves_in_vectors(call)))
            return row_cycles(costs, call, &vector_kernels[i], w);
    }
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        bool moves =
            kernels[i].form == PARTS || kernels[i].form == ORDER || nuc_op_is_in(call->op, NUC_OPS(NUC_OP_EXPAND));
        if ((moves || !costs->real) && nuc_op_is_in(call->op, kernels[i].ops) && has_form(&kernels[i], call))
            return row_cycles(costs, call, &kernels[i], w);
    }
    return 0;
}

uint64_t nuc_kernel_call_cycles(const struct nuc_kernel_costs *costs, const struct nuc_kernel_call *call)
{
    struct nuc_kernel_call as_int8 = *call;

    as_int8.op = nuc_int8_op(call->op);
    return call_cycles(costs, &as_int8);
}

static double elements_in(const struct nuc_node *node, uint32_t arg)
{
    return elements_of(nuc_input_meta(node, arg));
}

double nuc_elements_together(const struct nuc_meta *out, const int64_t *order, uint32_t count)
{
    double length = 1;

    for (uint32_t i = count; i-- > 0 && count == out->rank && (order[i] + count) % count == i;)
        length *= (double)out->sizes[i];
    return length;
}

double nuc_permuted_together(const struct nuc_node *node)
{
    const struct nuc_arg *order = nuc_arg_at(node, NUC_OTHER);

    return nuc_int8_op(node->op) == NUC_OP_CORTEXM_TRANSPOSE && order->kind == NUC_ARG_INTS
               ? nuc_elements_together(&node->vals[0], order->u.ints, order->count)
               : 0;
}

static double litert_macs(enum nuc_op op, double rows, const double held[NUC_LITERT_OPERANDS])
{
    if (op == NUC_OP_NUCLEON_SVDF)
        return rows * held[NUC_ARG(NUCLEON_SVDF, features)] + held[NUC_ARG(NUCLEON_SVDF, state)];
    if (op != NUC_OP_NUCLEON_LITERT_LSTM)
        return -1;
    return rows *
           (held[NUC_ARG(NUCLEON_LITERT_LSTM, input_weights)] + held[NUC_ARG(NUCLEON_LITERT_LSTM, recurrent_weights)]);
}

double nuc_litert_products(enum nuc_op op, double rows, const double held[NUC_LITERT_OPERANDS])
{
    const double macs = litert_macs(op, rows, held);

    if (op == NUC_OP_NUCLEON_SVDF)
        return macs + held[NUC_ARG(NUCLEON_SVDF, state)];
    return macs > 0 ? macs : 0;
}

static double of_litert_layer(const struct nuc_node *node,
                              double count(enum nuc_op, double, const double[NUC_LITERT_OPERANDS]))
{
    double held[NUC_LITERT_OPERANDS] = {0};

    if (!nuc_op_is_in(node->op, NUC_OPS(NUC_OP_NUCLEON_SVDF, NUC_OP_NUCLEON_LITERT_LSTM)))
        return count(node->op, 0, held);
    for (uint32_t i = 0; i < NUC_LITERT_OPERANDS && i < node->n_args; i++)
        held[i] = nuc_arg_node(node, i) != NULL ? elements_in(node, i) : 0;
    const struct nuc_meta *in = nuc_input_meta(node, NUC_SELF);
    const int64_t row = in->sizes[in->rank - 1];
    return count(node->op, row > 0 ? held[0] / (double)row : 0, held);
}

double nuc_litert_layer_macs(const struct nuc_node *node)
{
    return of_litert_layer(node, litert_macs);
}

double nuc_litert_layer_products(const struct nuc_node *node)
{
    return of_litert_layer(node, nuc_litert_products);
}

/* ---- lowered nodes ---- */

static bool computes(const struct nuc_node *node)
{
    return nuc_is_call(node) && node->n_vals > 0 && nuc_op_kind(node->op) != NUC_KIND_GRAPH &&
           nuc_op_family(node->op) != NUC_FAMILY_VIEW && !nuc_cuts_rows(node) &&
           !nuc_op_is_in(node->op, NUC_OPS(NUC_OP_NUCLEON_PERMUTE_VIEW, NUC_OP_NUCLEON_ROWS_VIEW,
                                           NUC_OP_NUCLEON_JOINED_ROWS, NUC_OP_CALL_DELEGATE, NUC_OP_ALLOC));
}

/* Of the rows of the input, how many windows over so many rows of the result touch, paddings aside. */
static double part_touched(const struct nuc_node *node, int64_t rows)
{
    int64_t stride[2], height = nuc_input_meta(node, NUC_SELF)->sizes[2];
    int64_t kernel = nuc_input_meta(node, CONV(weight))->sizes[1];

    nuc_conv_numbers(node, CONV(stride), 2, 1, stride);
    int64_t touched = (rows - 1) * stride[0] + kernel;
    return touched < height ? (double)touched / (double)height : 1;
}

static double window_of(const struct nuc_node *node)
{
    const struct nuc_arg *window = nuc_arg_at(node, NUC_ARG(CORTEXM_AVG_POOL2D, kernel_size)); /* max_pool2d's, too */
    double taps = elements_of(&node->vals[0]);

    for (uint32_t i = 0; window->kind == NUC_ARG_INTS && i < window->count; i++)
        taps *= (double)window->u.ints[i];
    return taps;
}

uint64_t nuc_kernel_cycles(const struct nuc_kernel_costs *costs, const struct nuc_node *node, uint32_t dim,
                           int64_t n_rows)
{
    if (!computes(node))
        return 0;
    const struct nuc_meta *m = &node->vals[0];
    double part = dim < m->rank && m->sizes[dim] > 0 ? (double)n_rows / (double)m->sizes[dim] : 1;
    bool is_conv = nuc_op_is_in(node->op, convolutions) || nuc_op_is_in(node->op, depthwise);
    bool is_transposed =
        nuc_op_is_in(node->op, NUC_OPS(NUC_OP_CORTEXM_TRANSPOSE_CONV2D, NUC_OP_NUCLEON_TRANSPOSE_CONV2D));
    bool is_pool = nuc_op_is_in(node->op, NUC_OPS(NUC_OP_CORTEXM_AVG_POOL2D, NUC_OP_CORTEXM_MAX_POOL2D));
    struct nuc_kernel_call call = {
        .op = node->op,
        .in = node->n_args > 0 && nuc_arg_node(node, NUC_SELF) != NULL ? nuc_input_meta(node, NUC_SELF) : NULL,
        .weight = is_conv || is_transposed ? nuc_input_meta(node, CONV(weight)) : NULL,
        .out = m,
        .written = part,
        .read = is_conv && dim == 2 ? part_touched(node, n_rows) : part,
        .products = nuc_litert_layer_products(node),
        .together = nuc_permuted_together(node),
    };

    if (is_conv) {
        int64_t dilation[2];
        nuc_conv_numbers(node, CONV(dilation), 2, 1, dilation);
        call.parts = nuc_dilated_parts(&node->vals[0], dilation[0], dilation[1]);
    }
    const struct nuc_node *excess = nuc_arg_node(node, nuc_excess_arg(node->op));
    if (excess != NULL && excess->data != NULL)
        call.again = nuc_channels_again(&call, excess->data->bytes.data, (size_t)excess->vals[0].sizes[0]);
    if (is_pool)
        call.products = window_of(node);
    if (node->op == NUC_OP_NUCLEON_FUNCTION)
        call.products = elements_in(node, NUC_ARG(NUCLEON_FUNCTION, samples));
    if (node->op == NUC_OP_INDEX_PUT)
        call.products = elements_of(nuc_input_meta(node, NUC_ARG(INDEX_PUT, values)));
    if (is_transposed)
        call.products = elements_of(call.in) * elements_of(call.weight) / (double)call.in->sizes[1];
    /* Dilated, or with rows behind the others, but of one group: the same kernel. */
    if (node->op == NUC_OP_NUCLEON_TRANSPOSE_CONV2D &&
        nuc_integer(node, NUC_ARG(NUCLEON_TRANSPOSE_CONV2D, groups), 1) == 1 && m->dtype == NUC_I8)
        call.op = NUC_OP_CORTEXM_TRANSPOSE_CONV2D;
    uint64_t cycles = nuc_kernel_call_cycles(costs, &call);
    return cycles > 0 ? cycles : (uint64_t)(costs->call + part * elements_of(m) * costs->element);
}

uint64_t nuc_copy_cycles(const struct nuc_kernel_costs *costs, uint64_t bytes)
{
    const struct nuc_meta copied = {.rank = 1, .sizes = {(int64_t)bytes}};
    const struct nuc_kernel_call call = {.op = NUC_OP_NUCLEON_COPY, .out = &copied, .written = 1};

    return nuc_kernel_call_cycles(costs, &call);
}
