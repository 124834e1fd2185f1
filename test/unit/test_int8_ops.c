/*
 * The runtime's int8 operators: a valid call of each runs, and calls with any argument replaced are refused or stay
 * inside the tensors' memory, which is allocated to the byte.
 */
#include "unit/test.h"

#include "device/runtime/operators/op_shapes.h"

#define MOST_ARGS 17
#define MOST_RANK 4
#define MOST_ITEMS 25 /* of a list */

/* One argument: a tensor "d:sizes" with its dim order, an int, or a list of ints. */
struct arg {
    char kind;             /* T tensor, i int, f double, b bool, I list, L weights of a recurrent layer, - none */
    uint8_t dtype;         /* of a tensor; 0: not a tensor */
    uint8_t rank;          /* of a tensor, or elements of a list */
    int32_t v[MOST_ITEMS]; /* sizes, elements, or the number; of weights: rows, inputs, units */
    bool channels_last;
};

struct call {
    const char *name;
    struct arg args[MOST_ARGS];
};

#define ARG(kind, dtype, count, channels_last, ...)                                                                    \
    {                                                                                                                  \
        kind, dtype, count, {__VA_ARGS__}, channels_last                                                               \
    }
#define COUNT(...) (sizeof((int[]){__VA_ARGS__}) / sizeof(int))
#define TENSOR(dtype, ...) ARG('T', dtype, COUNT(__VA_ARGS__), false, __VA_ARGS__)
#define IMAGE(dtype, ...) ARG('T', dtype, COUNT(__VA_ARGS__), true, __VA_ARGS__)
#define T8(...) TENSOR(NUC_I8, __VA_ARGS__)
#define L8(...) IMAGE(NUC_I8, __VA_ARGS__)
#define TB(...) TENSOR(NUC_BOOL, __VA_ARGS__)
#define LB(...) IMAGE(NUC_BOOL, __VA_ARGS__)
#define T16(...) TENSOR(NUC_I16, __VA_ARGS__)
#define L16(...) IMAGE(NUC_I16, __VA_ARGS__)
#define Z16(...) L16(__VA_ARGS__) /* of rank 2: zeros, as bands of which none lies outside */
#define T64(n) TENSOR(NUC_I64, n)
#define T32(n) TENSOR(NUC_I32, n)
#define TF(...) TENSOR(NUC_F32, __VA_ARGS__)
#define PAIRS(n) TENSOR(NUC_I32, n, 2)
#define LONG_PAIRS(n) TENSOR(NUC_I64, n, 2)
#define SCRATCH(n) TENSOR(NUC_U8, n)
#define I(n) ARG('i', 0, 0, false, n)
#define B(n) ARG('b', 0, 0, false, n)
#define F(n) ARG('f', 0, 0, false, n)
#define LIST(...) ARG('I', 0, COUNT(__VA_ARGS__), false, __VA_ARGS__)
#define PARAMS(n, ...) ARG('L', NUC_I8, n, false, __VA_ARGS__)
#define FLOAT_PARAMS(n, ...) ARG('L', NUC_F32, n, false, __VA_ARGS__)
#define NONE ARG('-', 0, 0, false, 0)

#define MULTIPLIER I(1 << 30), I(-3)

static const struct call calls[] = {
    {"cortex_m::quantized_add.out",
     {L8(1, 3, 2, 2), I(1), MULTIPLIER, L8(1, 3, 1, 1), I(-2), MULTIPLIER, I(4), MULTIPLIER, I(-128), I(127),
      L8(1, 3, 2, 2)}},
    {"cortex_m::quantized_mul.out", {T8(2, 3), I(1), T8(2, 3), I(-2), I(4), MULTIPLIER, T8(2, 3)}},
    {"cortex_m::quantized_div.out", {T8(2, 3), I(1), T8(2, 3), I(-2), I(4), F(2), T8(2, 3)}},
    {"cortex_m::quantized_activation.out", {T8(2, 3), T8(256), T8(2, 3)}},
    {"cortex_m::minimum.out", {T8(2, 1, 3), T8(4, 1), T8(2, 4, 3)}},
    {"cortex_m::maximum.out", {T8(2, 1, 3), T8(4, 1), T8(2, 4, 3)}},
    {"cortex_m::quantized_linear.out",
     {T8(2, 5), T8(3, 5), T32(3), NONE, I(1), I(0), I(3), LIST(1 << 30), LIST(-4), I(127), I(-128), T8(2, 3)}},
    {"cortex_m::softmax.out", {T8(2, 5), I(-1), I(3), I(-128), I(1 << 30), I(22), I(-31), T8(2, 5)}},
    {"nucleon::softmax.int16_out", {T8(2, 5), I(-1), I(3), I(-32768), I(1 << 30), I(22), I(-31), T16(2, 5)}},
    {"cortex_m::transpose.out", {T8(2, 3, 4), LIST(2, 0, 1), T8(4, 2, 3)}},
    {"cortex_m::pad.out", {L8(1, 2, 3, 4), LIST(0, 1, 2, 0), LIST(0, 1, 0, 1), I(5), L8(1, 3, 5, 6)}},
    {"cortex_m::quantized_conv2d.out",
     {L8(1, 4, 5, 5), T8(6, 3, 3, 4), T32(6), LIST(2, 1), LIST(1, 0), LIST(1, 1), I(5), I(-3), T32(6), T32(6), I(-128),
      I(127), SCRATCH(144), L8(1, 6, 3, 3)}},
    {"cortex_m::quantized_depthwise_conv2d.out",
     {L8(1, 4, 5, 5), T8(1, 3, 3, 8), NONE, LIST(1, 1), LIST(1, 1), LIST(1, 1), I(2), I(5), I(-3), T32(8), T32(8),
      I(-128), I(127), SCRATCH(0), L8(1, 8, 5, 5)}},
    {"nucleon::quantized_conv2d.out",
     {L8(1, 4, 5, 5), T8(6, 3, 3, 4), T32(6), LIST(2, 1), LIST(0, 1, 1, 4), LIST(1, 1), I(5), I(-3), T32(6), T32(6),
      I(-128), I(127), SCRATCH(144), L8(1, 6, 2, 8)}},
    {"nucleon::quantized_depthwise_conv2d.out",
     {L8(1, 4, 5, 5), T8(1, 3, 3, 8), NONE, LIST(1, 1), LIST(5, 0, 0, 2), LIST(1, 1), I(2), I(5), I(-3), T32(8), T32(8),
      I(-128), I(127), SCRATCH(0), L8(1, 8, 8, 5)}},
    {"nucleon::quantized_wide_conv2d.out",
     {L8(1, 4, 5, 5), T8(6, 3, 3, 4), T32(6), LIST(2, 1), LIST(0, 1, 1, 4), LIST(1, 1), I(5), I(-3), T32(6), T32(6),
      I(-128), I(127), PAIRS(2), SCRATCH(144), L8(1, 6, 2, 8)}},
    {"nucleon::quantized_wide_depthwise_conv2d.out",
     {L8(1, 4, 5, 5), T8(1, 3, 3, 8), NONE, LIST(1, 1), LIST(5, 0, 0, 2), LIST(1, 1), I(2), I(5), I(-3), T32(8), T32(8),
      I(-128), I(127), PAIRS(1), SCRATCH(0), L8(1, 8, 8, 5)}},
    {"cortex_m::quantized_transpose_conv2d.out",
     {L8(1, 4, 3, 3), T8(5, 3, 3, 4), T32(5), LIST(2, 2), LIST(1, 1), LIST(0, 0), LIST(1, 1), I(5), I(-3), T32(5),
      T32(5), I(-128), I(127), SCRATCH(16), SCRATCH(0), L8(1, 5, 5, 5)}},
    {"cortex_m::quantized_avg_pool2d.out",
     {L8(1, 4, 5, 5), LIST(2, 2), LIST(2, 2), LIST(0, 0), B(1), I(0), I(1), I(0), SCRATCH(16), L8(1, 4, 3, 3)}},
    {"nucleon::quantized_avg_pool2d.out",
     {L8(1, 4, 5, 5), LIST(2, 2), LIST(2, 2), LIST(0, 0), B(1), I(0), I(1), I(0), SCRATCH(16), L8(1, 4, 3, 3)}},
    {"cortex_m::quantized_max_pool2d.out",
     {L8(1, 4, 5, 5), LIST(2, 2), LIST(2, 2), LIST(0, 0), LIST(1, 1), B(0), I(3), I(3), I(-128), I(127),
      L8(1, 4, 2, 2)}},
    {"cortex_m::quantized_batch_matmul.out",
     {T8(2, 3, 4), I(1), T8(2, 5, 4), I(-1), I(0), MULTIPLIER, SCRATCH(0), T8(2, 3, 5)}},
    {"nucleon::quantized_sum.out", {L8(1, 4, 3, 3), LIST(2, 3), B(0), I(1), I(2), MULTIPLIER, T8(1, 4)}},
    {"nucleon::quantized_prelu.out", {L8(1, 4, 3, 3), T8(4), I(1), I(2), MULTIPLIER, MULTIPLIER, L8(1, 4, 3, 3)}},
    {"nucleon::quantized_compare.out", {T8(2, 1, 3), I(1), MULTIPLIER, T8(4, 1), I(-2), MULTIPLIER, I(4), TB(2, 4, 3)}},
    {"nucleon::quantized_test.out", {L8(1, 4, 3, 3), TB(256), LB(1, 4, 3, 3)}},
    {"nucleon::quantized_layer_norm.out", {T8(2, 3, 4), TF(4), TF(4), I(3), F(1), T8(2, 3, 4)}},
    {"nucleon::quantized_rms_norm.out", {T8(2, 3, 4), TF(12), I(-5), I(3), F(1), T8(2, 3, 4)}},
    {"nucleon::quantized_group_norm.out", {L8(1, 4, 3, 3), I(2), TF(4), TF(4), I(3), F(1), L8(1, 4, 3, 3)}},
    {"nucleon::quantized_var.out", {L8(1, 4, 3, 3), LIST(2, 3), B(0), I(2), F(1), T8(1, 4)}},
    {"nucleon::quantized_log_softmax.out", {L8(1, 4, 3, 3), I(1), TF(256), I(127), F(1), F(2), L8(1, 4, 3, 3)}},
    {"nucleon::quantized_log_softmax.out", {L16(1, 4, 3, 3), I(1), TF(512), I(0), F(1), F(2), L16(1, 4, 3, 3)}},
    {"nucleon::quantized_resize_bilinear.out", {L8(1, 4, 3, 3), LIST(5, 4), B(0), L8(1, 4, 5, 4)}},
    {"nucleon::quantized_resize_nearest.out", {L8(1, 4, 3, 3), LIST(5, 4), L8(1, 4, 5, 4)}},
    {"nucleon::quantized_grid_sampler.out",
     {L8(1, 4, 3, 3), T8(1, 5, 4, 2), I(0), I(1), B(0), I(3), LIST(1 << 20, 1 << 20), LIST(0, 0), L8(1, 4, 5, 4)}},
    {"nucleon::quantized_grid_sampler.out",
     {L16(1, 4, 3, 3), T16(1, 5, 4, 2), I(1), I(2), B(1), I(0), LIST(1 << 20, 1 << 20), LIST(0, 0), L16(1, 4, 5, 4)}},
    {"nucleon::quantized_transpose_conv2d.out",
     {L8(1, 4, 3, 3), T8(3, 3, 3, 4), NONE, LIST(2, 2), LIST(1, 1), LIST(1, 0), LIST(1, 2), I(2), I(5), I(-3), T32(6),
      T32(6), I(-128), I(127), L8(1, 6, 6, 7)}},
    {"nucleon::requantize.out", {T8(2, 3), I(1), I(-2), MULTIPLIER, I(-32768), I(32767), I(2), T16(2, 3)}},
    {"nucleon::quantized_add.int16_out",
     {L16(1, 3, 2, 2), I(0), MULTIPLIER, L16(1, 3, 1, 1), I(0), MULTIPLIER, I(0), MULTIPLIER, I(-32768), I(32767),
      L16(1, 3, 2, 2)}},
    {"nucleon::quantized_mul.int16_out", {T16(2, 3), I(0), T16(2, 3), I(0), I(0), MULTIPLIER, T16(2, 3)}},
    {"nucleon::quantized_prelu.int16_out",
     {L16(1, 4, 3, 3), T8(4), I(0), I(0), MULTIPLIER, MULTIPLIER, L16(1, 4, 3, 3)}},
    {"nucleon::quantized_sigmoid.out", {T16(2, 3), I(20000), I(3), B(1), T16(2, 3)}},
    {"nucleon::quantized_function.out", {T16(2, 3), T32(513), T16(2, 3)}},
    {"nucleon::quantized_function.out", {T16(2, 3), T32(706), T16(2, 3)}},
    {"nucleon::quantized_compare.out", {T16(2, 3), I(0), MULTIPLIER, T16(2, 3), I(0), MULTIPLIER, I(4), TB(2, 3)}},
    {"nucleon::quantized_layer_norm.out", {T16(2, 3, 4), TF(4), TF(4), I(0), F(1), T16(2, 3, 4)}},
    {"nucleon::quantized_rms_norm.out", {T16(2, 3, 4), TF(12), I(0), I(0), F(1), T16(2, 3, 4)}},
    {"nucleon::quantized_group_norm.out", {L16(1, 4, 3, 3), I(2), TF(4), TF(4), I(0), F(1), L16(1, 4, 3, 3)}},
    {"nucleon::quantized_var.out", {L16(1, 4, 3, 3), LIST(2, 3), B(0), I(0), F(1), T16(1, 4)}},
    {"nucleon::quantized_resize_bilinear.out", {L16(1, 4, 3, 3), LIST(5, 4), B(0), L16(1, 4, 5, 4)}},
    {"nucleon::quantized_softmax.out", {T16(2, 5), I(-1), T16(513), T16(513), I(1 << 30), I(-3), T16(2, 5)}},
    {"nucleon::quantized_conv2d.int16_out",
     {L16(1, 4, 5, 5), T8(6, 3, 3, 4), T64(6), LIST(2, 1), LIST(0, 1, 1, 4), LIST(1, 1), I(0), I(0), T32(6), T32(6),
      I(-32768), I(32767), SCRATCH(0), L16(1, 6, 2, 8)}},
    {"nucleon::quantized_depthwise_conv2d.int16_out",
     {L16(1, 4, 5, 5), T8(1, 3, 3, 8), T32(8), LIST(1, 1), LIST(5, 0, 0, 2), LIST(1, 1), I(2), I(0), I(0), T32(8),
      T32(8), I(-32768), I(32767), SCRATCH(0), L16(1, 8, 8, 5)}},
    {"nucleon::quantized_transpose_conv2d.int16_out",
     {L16(1, 4, 3, 3), T8(3, 3, 3, 4), NONE, LIST(2, 2), LIST(1, 1), LIST(1, 0), LIST(1, 2), I(2), I(0), I(0), T32(6),
      T32(6), I(-32768), I(32767), L16(1, 6, 6, 7)}},
    {"nucleon::quantized_batch_matmul.int16_out",
     {T16(2, 3, 4), I(0), T16(2, 5, 4), I(0), I(0), MULTIPLIER, SCRATCH(0), T16(2, 3, 5)}},
    {"nucleon::quantized_avg_pool2d.int16_out",
     {L16(1, 4, 5, 5), LIST(2, 2), LIST(2, 2), LIST(0, 0), B(1), I(0), I(1), I(0), SCRATCH(0), L16(1, 4, 3, 3)}},
    {"nucleon::quantized_max_pool2d.int16_out",
     {L16(1, 4, 5, 5), LIST(2, 2), LIST(2, 2), LIST(1, 0), LIST(3, 2), B(0), I(0), I(0), I(-32768), I(32767),
      L16(1, 4, 2, 2)}},
    {"nucleon::quantized_sum.int16_out", {L16(1, 4, 3, 3), LIST(2, 3), B(0), I(0), I(0), MULTIPLIER, T16(1, 4)}},
    {"nucleon::pad.int16_out", {L16(1, 2, 3, 4), LIST(0, 1, 2, 0), LIST(0, 1, 0, 1), I(500), L16(1, 3, 5, 6)}},
    {"nucleon::quantized_lstm.out",
     {T8(3, 2, 5), T8(2, 2, 4), NONE, PARAMS(6, 16, 5, 4), B(1), B(0), I(15),
      LIST(1, 1 << 30, -3, 1, 1 << 30, -3, 1, 1 << 30, -3, 1, 1 << 30, -3, 1, 1 << 30, -3, 4, 4, 0, 15), SCRATCH(48),
      T8(3, 2, 8), T8(2, 2, 4), T8(2, 2, 4)}},
    {"nucleon::quantized_gru.out",
     {T8(2, 3, 5), NONE, PARAMS(3, 12, 5, 4), B(0), B(1), I(14),
      LIST(1, 1 << 30, -3, 1, 1 << 30, -3, 1, 1 << 30, -3, 4, 4, 0, 15), SCRATCH(32), T8(2, 3, 4), T8(1, 2, 4)}},
    {"nucleon::quantized_gru.out", /* all in float32 but the weights */
     {TF(2, 3, 5), TF(1, 2, 4), PARAMS(3, 12, 5, 4), B(0), B(1), I(13), LIST(0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 6, 15),
      SCRATCH(32), TF(2, 3, 4), TF(1, 2, 4)}},
    {"nucleon::quantized_gru.out", /* states in float32 */
     {T8(2, 3, 5), TF(1, 2, 4), PARAMS(3, 12, 5, 4), B(0), B(1), I(13),
      LIST(0, 0, 0, 1, 1 << 30, -3, 0, 0, 0, 4, 4, 0, 15), SCRATCH(32), T8(2, 3, 4), TF(1, 2, 4)}},
    {"nucleon::quantized_svdf.out",
     {T8(2, 5), T8(2, 6, 4), T8(6, 5), T8(6, 4), T32(3), I(2), LIST(1, 2, 3, 1 << 30, -7, 1 << 30, -9), T8(2, 3),
      T8(2, 6, 4)}},
    {"nucleon::quantized_svdf.out", /* a state of int16, no bias */
     {T8(2, 5), T16(2, 6, 4), T8(6, 5), T16(6, 4), NONE, I(1), LIST(1, 0, 3, 1 << 30, -7, 1 << 30, -20), T8(2, 6),
      T16(2, 6, 4)}},
    {"nucleon::quantized_litert_lstm.out",
     {T8(3, 2, 5), T8(1, 2, 4), T16(1, 2, 4), T8(16, 5), T8(16, 4), PAIRS(16), B(0),
      LIST(1 << 30, -3, 1 << 30, -3, 1 << 30, -3, 1 << 30, -3, 1 << 30, -3, 1 << 30, -3, 1 << 30, -3, 1 << 30, -3,
           1 << 30, -14, 1 << 30, -18, 1 << 30, -22, 5, -11, 300),
      T8(3, 2, 4), T8(1, 2, 4), T16(1, 2, 4)}},
    {"nucleon::quantized_litert_lstm.out", /* of int16 */
     {T16(2, 3, 5), T16(1, 2, 4), T16(1, 2, 4), T8(16, 5), T8(16, 4), LONG_PAIRS(16), B(1),
      LIST(1 << 30, 7, 1 << 30, -3, 1 << 30, -3, 1 << 30, -3, 1 << 30, -3, 1 << 30, -3, 1 << 30, -3, 1 << 30, -31,
           1 << 30, -14, 1 << 30, -18, 1 << 30, -15, 0, -13, 0),
      T16(2, 3, 4), T16(1, 2, 4), T16(1, 2, 4)}},
    {"nucleon::signal_window.out", {T16(2, 6), T16(6), I(12), T16(2, 6)}},
    {"nucleon::signal_auto_scale.out", {T16(6), T16(6), T32(1)}},
    {"nucleon::signal_rfft.out", {T16(2, 12), T16(20), I(16), T16(2, 18)}},
    {"nucleon::signal_features.out",
     {T16(2, 30), T32(12), T32(20), T16(2, 7), Z16(3, 5), T16(3, 4), LIST(6, 16, 0, 0, 0, 1, 1, 9, 0, 1, 0, 0), F(1),
      TF(2, 4, 3), T32(22)}},
    {"nucleon::signal_features.out", /* bands alone, on the linear scale, of frames that are mirrored at the ends */
     {T16(30), T32(12), T32(20), T16(2, 7), Z16(3, 5), NONE, LIST(6, 16, 6, 12, 1, 2, 0, 0, 0, 0, 0, 1), F(1), TF(6, 4),
      T32(28)}},
    {"nucleon::signal_micro_frontend.out",
     {T16(1, 21), T32(4), T16(12), T16(20), T16(2, 7), Z16(3, 5), T16(125),
      LIST(3, 16, 12, 1, 8, 1, 2, 3, 4, 5, 10, 14, 0, 6, 64, 3), F(1), TF(1, 4, 4), T32(4), T64(18)}},
    {"nucleon::signal_energy.out", {T16(18), I(1), I(8), T32(9)}},
    {"nucleon::signal_spectral_subtraction.out", {T32(4), T32(4), LIST(1, 2, 3, 4, 5, 10, 14, 0), T32(4), T32(4)}},
    {"nucleon::signal_pcan.out", {T32(4), T32(4), T16(125), I(6), T32(4)}},
    {"nucleon::signal_log.out", {T32(4), I(64), I(3), T16(4)}},
    {"nucleon::gru.out",
     {TF(2, 3, 5), TF(1, 2, 4), FLOAT_PARAMS(2, 12, 5, 4), B(0), I(1), F(0), B(0), B(0), B(1), TF(2, 3, 4),
      TF(1, 2, 4)}},
    {"nucleon::rnn_tanh.out",
     {TF(3, 2, 5), TF(1, 2, 4), FLOAT_PARAMS(2, 4, 5, 4), B(0), I(1), F(0), B(0), B(0), B(0), TF(3, 2, 4),
      TF(1, 2, 4)}},
    {"nucleon::quantized_rnn.out",
     {T8(3, 2, 5), T8(1, 2, 4), PARAMS(3, 4, 5, 4), B(0), B(0), I(3),
      LIST(1, 1 << 30, -3, 1, 1 << 30, -3, 1, 1 << 30, -3, 4, 4, 0, 15), B(1), SCRATCH(32), T8(3, 2, 4), T8(1, 2, 4)}},
};

#define N_CALLS (sizeof calls / sizeof calls[0])

/* A call in memory. */
struct made {
    struct nuc_value values[MOST_ARGS], items[MOST_ARGS * MOST_ITEMS];
    struct nuc_value *args[MOST_ARGS];
    uint8_t dim_orders[MOST_ARGS + 1][MOST_RANK];
    uint8_t *lists[MOST_ARGS];
    struct arg weights[3];
    struct nuc_kernel_context cx;
    struct nuc_detail detail;
};

static void make_tensor(struct nuc_value *v, uint8_t dim_order[MOST_RANK], const struct arg *a)
{
    static const uint8_t last[MOST_RANK] = {0, 2, 3, 1};
    struct nuc_tensor *t = &v->u.tensor;
    size_t bytes = nuc_dtype_size((enum nuc_dtype)a->dtype);
    const bool zeros = a->channels_last && a->rank == 2;

    v->kind = NUC_VALUE_TENSOR;
    for (uint8_t d = 0; d < MOST_RANK && d < a->rank; d++) {
        dim_order[d] = a->channels_last && a->rank == 4 ? last[d] : d;
        bytes *= (size_t)a->v[d];
    }
    *t = (struct nuc_tensor){.data = malloc(bytes),
                             .sizes = a->v,
                             .dim_order = dim_order,
                             .bytes = bytes,
                             .dtype = a->dtype,
                             .rank = a->rank};
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)t->data)[i] = (uint8_t)(a->dtype == NUC_I32 ? (i % 4 == 0 ? 1 : 0) : zeros ? 0 : i * 37);
}

/* Items of a list are values; their indices lie in the image, 8 bytes each for ints, 4 for tensors. */
static void make_list(struct made *m, int at, const struct arg *a)
{
    int32_t rows = a->v[0];
    size_t size = a->kind == 'L' ? 4 : 8;

    if (a->kind == 'L') {
        m->weights[0] = (struct arg){'T', a->dtype, 2, {rows, a->v[1]}, false};
        m->weights[1] = (struct arg){'T', a->dtype, 2, {rows, a->v[2]}, false};
        m->weights[2] = (struct arg){'T', NUC_I32, 2, {rows, 4}, false};
    }
    m->values[at].kind = a->kind == 'L' ? NUC_VALUE_TENSORS : NUC_VALUE_INTS;
    m->lists[at] = calloc(a->rank + 1u, size);
    assert_non_null(m->lists[at]);
    for (int i = 0; i < a->rank; i++) {
        struct nuc_value *item = &m->items[at * MOST_ITEMS + i];
        m->lists[at][size * (size_t)i] = (uint8_t)(at * MOST_ITEMS + i);
        if (a->kind == 'L') {
            make_tensor(item, m->dim_orders[MOST_ARGS], &m->weights[i % 3]);
            continue;
        }
        item->kind = NUC_VALUE_INT;
        item->u.i = a->v[i];
    }
    m->values[at].u.list = (struct nuc_list){.items = m->lists[at], .count = a->rank};
}

static void make_arg(struct made *m, int at, const struct arg *a)
{
    struct nuc_value *v = &m->values[at];

    m->args[at] = v;
    if (a->kind == 'T') {
        make_tensor(v, m->dim_orders[at], a);
    } else if (a->kind == 'I' || a->kind == 'L') {
        make_list(m, at, a);
    } else if (a->kind == 'f') {
        v->kind = NUC_VALUE_DOUBLE;
        v->u.f = a->v[0];
    } else if (a->kind == 'b') {
        v->kind = NUC_VALUE_BOOL;
        v->u.b = a->v[0] != 0;
    } else {
        v->kind = a->kind == 'i' ? NUC_VALUE_INT : NUC_VALUE_NONE;
        v->u.i = a->v[0];
    }
}

static struct made *make(const struct call *c)
{
    struct made *m = calloc(1, sizeof *m);

    assert_non_null(m);
    m->cx = (struct nuc_kernel_context){.values = m->items, .n_values = MOST_ARGS * MOST_ITEMS, .detail = &m->detail};
    for (int i = 0; i < MOST_ARGS && c->args[i].kind != 0; i++)
        make_arg(m, i, &c->args[i]);
    return m;
}

static enum nuc_status run_made(struct made *m, const struct call *c)
{
    const struct nuc_kernel_entry *entry = nuc_kernel_find(&nuc_default_kernels, c->name);

    assert_non_null(entry);
    enum nuc_status status = NUC_OK;
    for (int i = 0; status == NUC_OK && entry->accepts[i] != 0; i++)
        status = nuc_check_arg(&m->cx, entry->accepts[i], m->args[i], &m->values[0].u.tensor);
    if (status == NUC_OK)
        status = entry->run(&m->cx, m->args);
    assert_true(status == NUC_OK || m->detail.message != NULL);
    return status;
}

static void release(struct made *m, const struct call *c)
{
    for (int i = 0; i < MOST_ARGS; i++) {
        if (c->args[i].kind == 'T')
            free(m->values[i].u.tensor.data);
        for (int k = 0; c->args[i].kind == 'L' && k < c->args[i].rank; k++)
            free(m->items[i * MOST_ITEMS + k].u.tensor.data);
        free(m->lists[i]);
    }
    free(m);
}

/* Runs a call; the bytes of its last argument go to `out` when that is not NULL. */
static enum nuc_status run_into(const struct call *c, int8_t *out)
{
    struct made *m = make(c);
    enum nuc_status status = run_made(m, c);

    for (int i = 0; out != NULL && i < MOST_ARGS; i++) {
        if (c->args[i].kind == 'T')
            memcpy(out, m->values[i].u.tensor.data, m->values[i].u.tensor.bytes);
    }
    release(m, c);
    return status;
}

static enum nuc_status run(const struct call *c)
{
    return run_into(c, NULL);
}

static void test_valid_calls(void **state)
{
    for (size_t i = 0; i < N_CALLS; i++) {
        if (run(&calls[i]) != NUC_OK)
            fail_msg("%s is refused", calls[i].name);
    }
}

/* A depthwise convolution may begin its output where its input begins, with scratch for the rows of a channel. */
static void test_over_input(void **state)
{
    static const struct {
        int32_t scratch, padding, out_width, offset;
        bool fits;
    } rows[] = {
        {15, 1, 5, 0, true}, {16, 1, 5, 0, true},  {15, 0, 3, 0, true},  {14, 1, 5, 0, false},
        {0, 1, 5, 0, false}, {15, 1, 5, 1, false}, {15, 2, 7, 0, false}, {15, 0, 3, 4, false},
    };
    const int input = 0, output = 14;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t pad = rows[i].padding;
        const struct call c = {"nucleon::quantized_depthwise_conv2d.out",
                               {L8(1, 4, 5, 5), T8(1, 3, 3, 4), NONE, LIST(1, 1), LIST(1, pad, 1, pad), LIST(1, 1),
                                I(1), I(5), I(-3), T32(4), T32(4), I(-128), I(127), SCRATCH(rows[i].scratch),
                                L8(1, 4, 5, rows[i].out_width)}};
        struct made *m = make(&c);
        struct nuc_tensor *out = &m->values[output].u.tensor;
        void *own = out->data;
        int8_t expected[4 * 5 * 7];
        assert_int_equal(run_into(&c, expected), NUC_OK);
        out->data = (int8_t *)m->values[input].u.tensor.data + rows[i].offset;
        assert_int_equal(run_made(m, &c), rows[i].fits ? NUC_OK : NUC_UNSUPPORTED);
        if (rows[i].fits)
            assert_memory_equal(out->data, expected, out->bytes);
        out->data = own;
        release(m, &c);
    }
}

/* Where element `index` (by dimension) of a tensor lies. */
static int32_t place_of(const struct arg *a, const int32_t index[MOST_RANK])
{
    static const uint8_t last[MOST_RANK] = {0, 2, 3, 1};
    int32_t at = 0;

    for (int i = 0; i < a->rank; i++) {
        int d = a->channels_last && a->rank == 4 ? last[i] : i;
        at = at * a->v[d] + index[d];
    }
    return at;
}

/* What make_tensor() puts at a place. */
static int8_t byte_at(int32_t place)
{
    return (int8_t)(uint8_t)(place * 37);
}

/* The next index by dimension; false after the last one. */
static bool next_index(const struct arg *a, int32_t index[MOST_RANK])
{
    for (int d = a->rank; d-- > 0;) {
        if (++index[d] < a->v[d])
            return true;
        index[d] = 0;
    }
    return false;
}

/* Broadcasting over every mixture of layouts: sizes of 1 stay at index 0. */
static void test_minimum_layouts(void **state)
{
    static const int32_t others[4][MOST_RANK] = {{2, 3, 4, 5}, {1, 3, 1, 1}, {2, 1, 4, 1}, {1, 1, 1, 5}};
    int8_t out[120];

    for (int variant = 0; variant < 32; variant++) {
        struct call c = {"cortex_m::minimum.out", {L8(2, 3, 4, 5), L8(2, 3, 4, 5), L8(2, 3, 4, 5)}};
        int32_t index[MOST_RANK] = {0};
        for (int i = 0; i < 3; i++)
            c.args[i].channels_last = (variant >> i & 1) != 0;
        memcpy(c.args[1].v, others[variant >> 3], sizeof others[0]);
        assert_int_equal(run_into(&c, out), NUC_OK);
        do {
            int32_t small[MOST_RANK];
            for (int d = 0; d < MOST_RANK; d++)
                small[d] = c.args[1].v[d] == 1 ? 0 : index[d];
            int8_t a = byte_at(place_of(&c.args[0], index)), b = byte_at(place_of(&c.args[1], small));
            assert_int_equal(out[place_of(&c.args[2], index)], a < b ? a : b);
        } while (next_index(&c.args[2], index));
    }
}

static void test_pad_values(void **state)
{
    const struct call c = {"cortex_m::pad.out",
                           {L8(1, 2, 3, 4), LIST(0, 1, 2, 0), LIST(0, 1, 0, 1), I(5), L8(1, 3, 5, 6)}};
    int32_t index[MOST_RANK] = {0};
    int8_t out[90];

    assert_int_equal(run_into(&c, out), NUC_OK);
    do { /* one row above and below, two columns to the left, one channel after */
        int32_t from[MOST_RANK] = {0, index[1], index[2] - 1, index[3] - 2};
        bool inside = from[1] < 2 && from[2] >= 0 && from[2] < 3 && from[3] >= 0;
        assert_int_equal(out[place_of(&c.args[4], index)], inside ? byte_at(place_of(&c.args[0], from)) : 5);
    } while (next_index(&c.args[4], index));
}

static void test_transpose_values(void **state)
{
    const struct call c = {"cortex_m::transpose.out", {L8(2, 3, 4, 5), LIST(3, 0, 2, 1), T8(5, 2, 4, 3)}};
    int32_t index[MOST_RANK] = {0};
    int8_t out[120];

    assert_int_equal(run_into(&c, out), NUC_OK);
    do {
        int32_t from[MOST_RANK] = {index[1], index[3], index[2], index[0]};
        assert_int_equal(out[place_of(&c.args[2], index)], byte_at(place_of(&c.args[0], from)));
    } while (next_index(&c.args[2], index));
}

static bool change_tensor(struct arg *a, int variant)
{
    static const int32_t sizes[] = {0, 1, 2, 3, 5, 7, 9, 300};
    int n_sizes = (int)(sizeof sizes / sizeof sizes[0]);

    if (variant == 0)
        a->channels_last = !a->channels_last;
    else if (variant == 1)
        a->dtype = a->dtype == NUC_I8 ? NUC_I16 : NUC_I8;
    else if (variant == 2)
        a->rank--;
    else if (variant - 3 < n_sizes * a->rank)
        a->v[(variant - 3) / n_sizes] = sizes[(variant - 3) % n_sizes];
    return variant < 3 || variant - 3 < n_sizes * a->rank;
}

/* One tensor less, of another type, or of another size. */
static bool change_weights(struct arg *a, int variant)
{
    static const int32_t sizes[] = {0, 1, 3, 4, 5, 12, 17, 300};

    if (variant == 0)
        a->rank--;
    else if (variant == 1)
        a->dtype = NUC_I16;
    else if (variant < 26)
        a->v[(variant - 2) / 8] = sizes[(variant - 2) % 8];
    return variant < 26;
}

/* A call with argument `at` changed, by the `variant`th rule for its kind; false when there is no such rule. */
static bool change(struct call *c, int at, int variant)
{
    static const int32_t numbers[] = {0, 1, -1, 3, 31, 32, -32, 127, 128, -128, -129, 16385, INT32_MAX, INT32_MIN};
    struct arg *a = &c->args[at];
    int n = (int)(sizeof numbers / sizeof numbers[0]);

    if (a->kind == 'i' || a->kind == 'f' || a->kind == 'b') {
        a->v[0] = variant < n ? numbers[variant] : 0;
        return variant < n;
    }
    if (a->kind == 'I') {
        if (variant == 0)
            a->rank = (uint8_t)(a->rank > 1 ? a->rank - 1 : 0);
        else if (variant == 1)
            a->rank = (uint8_t)(a->rank < MOST_ITEMS ? a->rank + 1 : 1);
        else if (variant - 2 < n * a->rank)
            a->v[(variant - 2) / n] = numbers[(variant - 2) % n];
        return variant < 2 || variant - 2 < n * a->rank;
    }
    if (a->kind == 'L')
        return change_weights(a, variant);
    return a->kind == 'T' && change_tensor(a, variant);
}

static void test_changed_arguments(void **state)
{
    unsigned refused = 0, accepted = 0;

    for (size_t i = 0; i < N_CALLS; i++) {
        for (int at = 0; at < MOST_ARGS && calls[i].args[at].kind != 0; at++) {
            struct call c = calls[i];
            for (int variant = 0; change(&c, at, variant); variant++, c = calls[i]) {
                if (run(&c) == NUC_OK)
                    accepted++;
                else
                    refused++;
            }
        }
    }
    assert_true(refused > accepted);
}

/* Two arguments at a time: what one check relies on, another argument may undo. */
static void test_changed_pairs(void **state)
{
    for (size_t i = 0; i < N_CALLS; i++) {
        for (int at = 0; at < MOST_ARGS && calls[i].args[at].kind != 0; at++) {
            struct call first = calls[i];
            for (int variant = 0; change(&first, at, variant); variant++, first = calls[i]) {
                int other = (at + 1 + variant) % MOST_ARGS;
                struct call both = first;
                for (int k = 0; calls[i].args[other].kind != 0 && change(&both, other, k); k++, both = first)
                    (void)run(&both);
            }
        }
    }
}

/* What must be refused although nothing would be read out of bounds. */
static void test_refused(void **state)
{
    static const struct {
        const char *name;
        int at;
        struct arg arg;
    } rows[] = {
        {"cortex_m::quantized_conv2d.out", 0, T8(1, 4, 5, 5)},            /* not channels-last */
        {"cortex_m::quantized_conv2d.out", 6, I(129)},                    /* input offset */
        {"cortex_m::quantized_conv2d.out", 8, T32(5)},                    /* multipliers */
        {"cortex_m::quantized_conv2d.out", 10, I(127)},                   /* equal to the maximum is fine; above: */
        {"cortex_m::quantized_conv2d.out", 13, L8(1, 6, 4, 3)},           /* a window beyond the image */
        {"cortex_m::quantized_depthwise_conv2d.out", 6, I(1)},            /* depth multiplier */
        {"nucleon::quantized_conv2d.out", 4, LIST(0, 1)},                 /* two paddings */
        {"nucleon::quantized_conv2d.out", 4, LIST(0, 1, 2, 4)},           /* room for another window */
        {"nucleon::quantized_conv2d.out", 4, LIST(0, 1, 1, -1)},          /* a padding below 0 */
        {"cortex_m::quantized_conv2d.out", 4, LIST(1, 0, 1, 0)},          /* four paddings */
        {"nucleon::quantized_wide_conv2d.out", 12, T32(2)},               /* no pairs */
        {"nucleon::quantized_wide_conv2d.out", 1, T8(6, 3, 3, 3)},        /* weights of three channels */
        {"cortex_m::quantized_avg_pool2d.out", 4, B(0)},                  /* sizes without ceil_mode */
        {"cortex_m::quantized_max_pool2d.out", 4, LIST(1, 2)},            /* dilation */
        {"cortex_m::quantized_max_pool2d.out", 5, B(1)},                  /* ceil_mode */
        {"cortex_m::quantized_max_pool2d.out", 7, I(4)},                  /* zero points differ */
        {"cortex_m::softmax.out", 1, I(0)},                               /* not the last dimension */
        {"cortex_m::softmax.out", 3, I(0)},                               /* output zero point */
        {"cortex_m::transpose.out", 1, LIST(2, 2, 1)},                    /* a dimension twice */
        {"cortex_m::pad.out", 1, LIST(0, 1, 1, 0)},                       /* other sizes */
        {"cortex_m::quantized_linear.out", 7, LIST(1 << 30, 1 << 30, 1)}, /* one multiplier */
        {"cortex_m::quantized_linear.out", 3, T32(3)},                    /* bias and kernel_sum */
        {"nucleon::quantized_transpose_conv2d.out", 7, I(4)},             /* groups */
        {"nucleon::quantized_lstm.out", 8, SCRATCH(47)}, /* two states and an input of int16, cells of int32 */
        {"nucleon::quantized_lstm.out", 9, TF(3, 2, 8)}, /* a result in float32 */
        {"nucleon::quantized_gru.out", 5, I(16)},        /* fraction */
        {"nucleon::quantized_rnn.out", 1, T8(2, 2, 4)},  /* a direction too many */
        {"nucleon::quantized_svdf.out", 1, T8(2, 6, 3)}, /* a state of another memory */
        {"nucleon::quantized_svdf.out", 2, T8(5, 5)},    /* weights of five rows */
        {"nucleon::quantized_svdf.out", 4, T32(5)},      /* five biases */
        {"nucleon::quantized_svdf.out", 5, I(4)},        /* a rank that does not divide the rows */
        {"nucleon::quantized_svdf.out", 6, LIST(1, 2, 3, 1 << 30, -7, 1 << 30, 31)}, /* a shift */
        {"nucleon::quantized_svdf.out", 6, LIST(1, 2, 3, 1 << 30, -7, 1 << 30)},     /* a number too few */
        {"nucleon::quantized_svdf.out", 7, T8(2, 5)},                                /* five results */
        {"nucleon::signal_window.out", 1, T16(5)},                                   /* a window of another size */
        {"nucleon::signal_auto_scale.out", 2, T32(2)},                               /* two numbers of bits */
        {"nucleon::signal_rfft.out", 1, T16(18)},                                    /* the table of another length */
        {"nucleon::signal_rfft.out", 2, I(24)},                                      /* no power of two */
        {"nucleon::signal_rfft.out", 3, T16(1, 18)},                                 /* a frame too few */
        {"nucleon::signal_features.out", 1, T32(17)},                                /* more than the transform */
        {"nucleon::signal_features.out", 2, T32(18)},                                /* the table of another length */
        {"nucleon::signal_features.out", 3, T16(1, 7)},                              /* no falling weights */
        {"nucleon::signal_features.out", 4, T16(2, 5)},                              /* two rows */
        {"nucleon::signal_features.out", 5, T16(3, 5)},                              /* cosines of another band */
        {"nucleon::signal_features.out", 6, LIST(6, 24, 0, 0, 0, 1, 1, 9, 0, 1, 0, 0)}, /* no power of two */
        {"nucleon::signal_features.out", 6, LIST(6, 16, 0, 0, 0, 3, 1, 9, 0, 1, 0, 0)}, /* a cube */
        {"nucleon::signal_features.out", 6, LIST(6, 16)},                               /* two numbers */
        {"nucleon::signal_features.out", 8, TF(2, 3, 3)},                               /* a frame too few */
        {"nucleon::signal_features.out", 9, T32(21)},                                   /* scratch of another frame */
        {"nucleon::signal_micro_frontend.out", 1, T32(3)},                              /* noise of a channel too few */
        {"nucleon::signal_micro_frontend.out", 2, T16(17)},                             /* more than the transform */
        {"nucleon::signal_micro_frontend.out", 3, T16(18)},     /* the table of another length */
        {"nucleon::signal_micro_frontend.out", 4, T16(1, 7)},   /* no rest of weights */
        {"nucleon::signal_micro_frontend.out", 5, T16(2, 5)},   /* two rows */
        {"nucleon::signal_micro_frontend.out", 6, T16(124)},    /* a gain too few */
        {"nucleon::signal_micro_frontend.out", 7, LIST(3, 16)}, /* two numbers */
        {"nucleon::signal_micro_frontend.out", 9, TF(1, 3, 4)}, /* a frame too few */
        {"nucleon::signal_micro_frontend.out", 10, T32(5)},     /* another estimate */
        {"nucleon::signal_micro_frontend.out", 11, T64(17)},    /* scratch of another frame */
        {"nucleon::signal_energy.out", 0, T16(17)},             /* no pairs */
        {"nucleon::signal_pcan.out", 2, T16(124)},              /* a gain too few */
        {"nucleon::signal_spectral_subtraction.out", 2, LIST(1, 2, 3, 4, 5, 32, 14, 0)}, /* a shift */
        {"nucleon::signal_spectral_subtraction.out", 2, LIST(1, 2, 3)},                  /* three numbers */
        {"nucleon::quantized_litert_lstm.out", 2, T16(1, 2, 3)},                         /* a cell of three units */
        {"nucleon::quantized_litert_lstm.out", 3, T8(16, 4)},                            /* weights of four inputs */
        {"nucleon::quantized_litert_lstm.out", 5, T32(32)},                              /* biases without pairs */
        {"nucleon::quantized_litert_lstm.out", 7, LIST(1, 2, 3)},                        /* three numbers */
        {"nucleon::quantized_litert_lstm.out", 0, T16(3, 2, 5)},                         /* states of another type */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < N_CALLS; k++) {
            struct call c = calls[k];
            if (strcmp(c.name, rows[i].name) != 0)
                continue;
            c.args[rows[i].at] = rows[i].arg;
            if (i == 3)
                c.args[11] = (struct arg)I(126);
            if (run(&c) == NUC_OK)
                fail_msg("row %zu: %s", i, rows[i].name);
        }
    }
}

/* An LSTM whose biases are of the type of the other width, and a shift that is too far for sums of 64 bits. */
static void test_widths_of_an_lstm(void **state)
{
    for (size_t i = 0; i < N_CALLS; i++) {
        struct call biases = calls[i], shift = calls[i];
        if (strcmp(calls[i].name, "nucleon::quantized_litert_lstm.out") != 0)
            continue;
        const bool wide = calls[i].args[0].dtype == NUC_I16;
        biases.args[5].dtype = wide ? NUC_I32 : NUC_I64;
        shift.args[7].v[1] = 8;
        assert_int_not_equal(run(&biases), NUC_OK);
        assert_int_equal(run(&shift) == NUC_OK, !wide);
    }
}

/* Whose scratch would be 0 bytes where sizes have 32 bits, and which has no values that memory would bound. */
static void test_inputs_of_a_layer(void **state)
{
    static const struct call c = {"nucleon::quantized_gru.out",
                                  {T8(2, 0, INT32_MAX - 2), NONE, PARAMS(3, 0, INT32_MAX, 0), B(0), B(1), I(14),
                                   LIST(1, 1 << 30, -3, 1, 1 << 30, -3, 1, 1 << 30, -3, 4, 4, 0, 15), SCRATCH(32),
                                   T8(2, 0, 0), T8(1, 2, 0)}};
    struct made *m = make(&c);

    assert_int_equal(run_made(m, &c), NUC_UNSUPPORTED);
    assert_string_equal(m->detail.message, "a layer has more than 2^27 units or inputs");
    release(m, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_calls),       cmocka_unit_test(test_over_input),
        cmocka_unit_test(test_minimum_layouts),   cmocka_unit_test(test_pad_values),
        cmocka_unit_test(test_transpose_values),  cmocka_unit_test(test_changed_arguments),
        cmocka_unit_test(test_changed_pairs),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_widths_of_an_lstm), cmocka_unit_test(test_inputs_of_a_layer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
