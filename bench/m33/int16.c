/*
 * Layers of int16 of real networks by our kernels and by CMSIS-NN's: instructions of each, and whether the bytes are
 * the same. int16.sh builds and runs it.
 */
#include <string.h>

#include "arm_nnfunctions.h"
#include "device/kernels/dsp/dsp.h"
#include "port/port.h"
#include "port/print.h"

#define MOST (32 * 32 * 16)

static int16_t in[MOST], other[MOST], ours[MOST], theirs[MOST];
static int8_t weight[640 * 128];
static int64_t bias[512];
static int32_t multipliers[512], shifts[512];
static int16_t exponentials[513], reciprocals[513];
static int32_t scratch[16384];
static uint32_t state = 1;

static int32_t number(int32_t low, int32_t high)
{
    state = state * 1664525u + 1013904223u;
    return low + (int32_t)((state >> 8) % (uint32_t)(high - low + 1));
}

enum kind { CONV, DEPTHWISE, LINEAR, POOL, MAX_POOL, MATMUL, SOFTMAX, ADD, MUL };

static const struct layer {
    const char *name;
    enum kind kind;
    int32_t in[2], channels, out_channels, kernel[2], stride[2], padding[2], out[2];
} layers[] = {
    {"kws: convolution 10 x 4", CONV, {49, 10}, 1, 64, {10, 4}, {2, 2}, {4, 1}, {25, 5}},
    {"resnet8: convolution 3 x 3", CONV, {32, 32}, 16, 16, {3, 3}, {1, 1}, {1, 1}, {32, 32}},
    {"kws: depthwise 3 x 3", DEPTHWISE, {25, 5}, 64, 64, {3, 3}, {1, 1}, {1, 1}, {25, 5}},
    {"kws: pointwise", CONV, {25, 5}, 64, 64, {1, 1}, {1, 1}, {0, 0}, {25, 5}},
    {"ad: linear", LINEAR, {1, 1}, 640, 128, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"8 channels: pointwise", CONV, {14, 14}, 8, 12, {1, 1}, {1, 1}, {0, 0}, {14, 14}},
    {"13 channels: depthwise 3 x 3", DEPTHWISE, {7, 7}, 13, 13, {3, 3}, {1, 1}, {1, 1}, {7, 7}},
    {"1 to 8: depthwise 3 x 3", DEPTHWISE, {28, 28}, 1, 8, {3, 3}, {1, 1}, {1, 1}, {28, 28}},
    {"3 to 12: depthwise 3 x 3", DEPTHWISE, {28, 28}, 3, 12, {3, 3}, {1, 1}, {1, 1}, {28, 28}},
    {"3 to 6: depthwise 3 x 3", DEPTHWISE, {28, 28}, 3, 6, {3, 3}, {1, 1}, {1, 1}, {28, 28}},
    {"1 to 2: depthwise 16 x 1", DEPTHWISE, {16, 128}, 1, 2, {16, 1}, {1, 1}, {0, 0}, {1, 128}},
    {"attention: matrices", MATMUL, {49, 49}, 32, 49, {1, 1}, {1, 1}, {0, 0}, {49, 1}},
    {"resnet8: maximum 2 x 2", MAX_POOL, {32, 32}, 16, 16, {2, 2}, {2, 2}, {0, 0}, {16, 16}},
    {"kws: average pool", POOL, {25, 5}, 64, 64, {25, 5}, {1, 1}, {0, 0}, {1, 1}},
    {"kws: softmax", SOFTMAX, {1, 1}, 12, 12, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"resnet8: sum", ADD, {32, 32}, 16, 16, {1, 1}, {1, 1}, {0, 0}, {32, 32}},
    {"resnet8: product", MUL, {32, 32}, 16, 16, {1, 1}, {1, 1}, {0, 0}, {32, 32}},
};

static const struct nuc_multiplier third = {1431655765, -1}, half = {1 << 30, 0};

static void run_ours(const struct layer *l, int32_t count)
{
    const struct nuc_loops loops = {1, {count}, {1}, {1}, {1}};

    if (l->kind <= LINEAR) {
        struct nuc_conv_s16 c = {.c = {.batch = 1,
                                       .groups = l->kind == DEPTHWISE ? l->channels : 1,
                                       .in_channels = l->channels,
                                       .out_channels = l->out_channels,
                                       .dilation = {1, 1},
                                       .rescale = {multipliers, shifts, 1, 0, INT16_MIN, INT16_MAX}},
                                 .long_bias = bias,
                                 .is_long = true};
        for (int d = 0; d < 2; d++) {
            c.c.kernel[d] = l->kernel[d];
            c.c.stride[d] = l->stride[d];
            c.c.padding[d] = l->padding[d];
            c.c.in_size[d] = l->in[d];
            c.c.out_size[d] = l->out[d];
        }
        nuc_dsp_conv_s16(&c, l->kind == DEPTHWISE ? NUC_DEPTHWISE : NUC_CONV, in, weight, ours);
    } else if (l->kind == MATMUL) {
        const struct nuc_matmul_s8 m = {.rows = l->in[0],
                                        .depth = l->channels,
                                        .columns = l->out_channels,
                                        .rescale = {multipliers, shifts, 0, 0, INT16_MIN, INT16_MAX}};
        nuc_kernel_matmul_s16(&m, in, other, ours);
    } else if (l->kind == POOL || l->kind == MAX_POOL) {
        const struct nuc_pool_s8 p = {.batch = 1,
                                      .channels = l->channels,
                                      .in_size = {l->in[0], l->in[1]},
                                      .out_size = {l->out[0], l->out[1]},
                                      .kernel = {l->kernel[0], l->kernel[1]},
                                      .stride = {l->stride[0], l->stride[1]},
                                      .dilation = {1, 1},
                                      .low = INT16_MIN,
                                      .high = INT16_MAX};
        if (l->kind == POOL)
            nuc_kernel_avg_pool_s16(&p, in, ours);
        else
            nuc_kernel_max_pool_s16(&p, in, ours);
    } else if (l->kind == SOFTMAX) {
        const struct nuc_softmax_s16 s = {1, l->channels, exponentials, reciprocals, third};
        nuc_kernel_softmax_s16(&s, in, ours);
    } else if (l->kind == ADD) {
        const struct nuc_add_s8 p = {.a = half, .b = third, .sum = {1 << 30, -14}, .low = INT16_MIN, .high = INT16_MAX};
        nuc_kernel_add_s16(&p, &loops, in, other, ours);
    } else {
        const struct nuc_mul_s8 p = {.product = {1431655765, -15}, .low = INT16_MIN, .high = INT16_MAX};
        nuc_kernel_mul_s16(&p, &loops, in, other, ours);
    }
}

static arm_cmsis_nn_status run_theirs(const struct layer *l, int32_t count)
{
    const cmsis_nn_context context = {scratch, sizeof scratch};
    const cmsis_nn_dims in_dims = {1, l->in[0], l->in[1], l->channels},
                        out = {1, l->out[0], l->out[1], l->out_channels};
    const cmsis_nn_per_channel_quant_params quant = {multipliers, shifts};
    const cmsis_nn_tile stride = {l->stride[1], l->stride[0]}, padding = {l->padding[1], l->padding[0]}, one = {1, 1};
    const cmsis_nn_activation all = {INT16_MIN, INT16_MAX};
    const cmsis_nn_dims biases = {1, 1, 1, l->out_channels};

    switch (l->kind) {
    case CONV: {
        const cmsis_nn_conv_params p = {0, 0, stride, padding, one, all};
        const cmsis_nn_dims filter = {l->out_channels, l->kernel[0], l->kernel[1], l->channels};
        const cmsis_nn_bias_data b = {bias, false};
        return arm_convolve_wrapper_s16(&context, &p, &quant, &in_dims, in, &filter, weight, &biases, &b, &out, theirs);
    }
    case DEPTHWISE: {
        const cmsis_nn_dw_conv_params p = {0, 0, l->out_channels / l->channels, stride, padding, one, all};
        const cmsis_nn_dims filter = {1, l->kernel[0], l->kernel[1], l->out_channels};
        return arm_depthwise_conv_wrapper_s16(&context, &p, &quant, &in_dims, in, &filter, weight, &biases, bias, &out,
                                              theirs);
    }
    case LINEAR: {
        const cmsis_nn_fc_params p = {0, 0, 0, all};
        const cmsis_nn_per_tensor_quant_params m = {multipliers[0], shifts[0]};
        const cmsis_nn_dims filter = {l->channels, 1, 1, l->out_channels};
        return arm_fully_connected_s16(&context, &p, &m, &in_dims, in, &filter, weight, &biases, bias, &out, theirs);
    }
    case POOL: {
        const cmsis_nn_pool_params p = {stride, padding, all};
        const cmsis_nn_dims filter = {1, l->kernel[0], l->kernel[1], 1};
        return arm_avgpool_s16(&context, &p, &in_dims, in, &filter, &out, theirs);
    }
    case MAX_POOL: {
        const cmsis_nn_pool_params p = {stride, padding, all};
        const cmsis_nn_dims filter = {1, l->kernel[0], l->kernel[1], 1};
        return arm_max_pool_s16(&context, &p, &in_dims, in, &filter, &out, theirs);
    }
    case MATMUL: {
        const cmsis_nn_bmm_params p = {false, true, {0, 0, 0, all}};
        const cmsis_nn_per_tensor_quant_params m = {multipliers[0], shifts[0]};
        const cmsis_nn_dims left = {1, 1, l->in[0], l->channels}, right = {1, 1, l->out_channels, l->channels},
                            result = {1, 1, l->in[0], l->out_channels};
        return arm_batch_matmul_s16(&context, &p, &m, &left, in, &right, other, &result, theirs);
    }
    case SOFTMAX: {
        const cmsis_nn_softmax_lut_s16 tables = {exponentials, reciprocals};
        return arm_softmax_s16(in, 1, l->channels, third.multiplier, third.shift, &tables, theirs);
    }
    case ADD:
        return arm_elementwise_add_s16(in, other, 0, half.multiplier, half.shift, 0, third.multiplier, third.shift, 15,
                                       theirs, 0, 1 << 30, -14, INT16_MIN, INT16_MAX, count);
    default:
        return arm_elementwise_mul_s16(in, other, 0, 0, theirs, 0, 1431655765, -15, INT16_MIN, INT16_MAX, count);
    }
}

static void fill(void)
{
    for (int32_t i = 0; i < MOST; i++) {
        in[i] = (int16_t)number(INT16_MIN, INT16_MAX);
        other[i] = (int16_t)number(INT16_MIN, INT16_MAX);
    }
    for (size_t i = 0; i < sizeof weight; i++)
        weight[i] = (int8_t)number(-127, 127);
    for (int32_t i = 0; i < 512; i++) {
        bias[i] = number(-(1 << 24), 1 << 24);
        multipliers[i] = 1500000000; /* arm_fully_connected_s16() has one for all */
        shifts[i] = -10;
    }
    for (int32_t i = 0; i < 513; i++) {
        exponentials[i] = (int16_t)(32767 >> ((512 - i) / 36));
        reciprocals[i] = (int16_t)(32767 - 32 * i);
    }
}

int nuc_firmware_main(void)
{
    fill();
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        const struct layer *l = &layers[i];
        const int32_t count = l->out[0] * l->out[1] * l->out_channels;
        uint32_t start = nuc_port_instructions();
        run_ours(l, count);
        uint32_t middle = nuc_port_instructions();
        arm_cmsis_nn_status status = run_theirs(l, count);
        uint32_t end = nuc_port_instructions();
        const bool same = memcmp(ours, theirs, (size_t)count * sizeof *ours) == 0;
        nuc_port_print(l->name);
        nuc_print_line("\t", (int64_t)(middle - start), "");
        nuc_print_line("\t", (int64_t)(end - middle), "\t");
        nuc_port_print(status != ARM_CMSIS_NN_SUCCESS ? "refused\n" : same ? "same\n" : "other\n");
    }
    return 0;
}
