/* Float kernels against values computed by hand, and layouts against each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/kernels/select/select.h"

/* ---- quantization ---- */

static const struct {
    float scale;
    int32_t zero_point;
    float value;
    int8_t expected;
} quantize_rows[] = {
    {1.0f, 0, 0.5f, 0},         {1.0f, 0, 1.5f, 2},       {1.0f, 0, 2.5f, 2},       {1.0f, 0, -0.5f, 0},
    {1.0f, 0, -1.5f, -2},       {0.5f, 3, 1.0f, 5},       {0.5f, -128, 1e9f, 127},  {0.5f, 5, -1e9f, -128},
    {0.1f, 0, 12.7f, 127},      {1.0f, 0, NAN, -128},     {1.0f, 0, INFINITY, 127}, {1.0f, 0, -INFINITY, -128},
    {1.0f, 0, 8388609.0f, 127}, {0.25f, 10, -0.125f, 10}, {0.25f, 10, -0.375f, 8},
};

static void test_quantize(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quantize_rows / sizeof quantize_rows[0]; i++) {
        struct nuc_affine q = {quantize_rows[i].scale, quantize_rows[i].zero_point, -128, 127, NUC_I8};
        int8_t out = 99;
        nuc_kernel_quantize_f32(&q, &quantize_rows[i].value, &out, 1);
        if (out != quantize_rows[i].expected)
            fail_msg("row %zu: %d", i, out);
    }
}

static void test_dequantize_types(void **state)
{
    const int8_t i8[2] = {-128, 127};
    const uint8_t u8[2] = {0, 255};
    const int16_t i16[2] = {-32768, 32767};
    const int32_t i32[2] = {-16777217, 3};
    struct nuc_affine q = {0.5f, 1, 0, 0, NUC_I8};
    float out[2];

    (void)state;
    nuc_kernel_dequantize_f32(&q, i8, out, 2);
    assert_true(out[0] == -64.5f && out[1] == 63.0f);
    q.dtype = NUC_U8;
    nuc_kernel_dequantize_f32(&q, u8, out, 2);
    assert_true(out[0] == -0.5f && out[1] == 127.0f);
    q.dtype = NUC_I16;
    nuc_kernel_dequantize_f32(&q, i16, out, 2);
    assert_true(out[0] == -16384.5f && out[1] == 16383.0f);
    q.dtype = NUC_I32; /* -16777218 is even and representable */
    nuc_kernel_dequantize_f32(&q, i32, out, 2);
    assert_true(out[0] == -8388609.0f && out[1] == 1.0f);
}

/* ---- elementwise ---- */

static void test_binary_broadcast(void **state)
{
    const float a[6] = {1, 2, 3, 4, 5, 6};
    const float b[3] = {10, 20, 30};
    struct nuc_loops loops = {.rank = 2, .sizes = {2, 3}, .a = {3, 1}, .b = {0, 1}, .out = {3, 1}};
    float out[6];
    const float sum[6] = {6, 12, 18, 9, 15, 21};
    const float quotient[6] = {0.1f, 0.1f, 0.1f, 0.4f, 0.25f, 0.2f};

    (void)state;
    nuc_kernel_binary_f32(&nuc_binary_add, &loops, 0.5f, a, b, out);
    assert_memory_equal(out, sum, sizeof sum);
    nuc_kernel_binary_f32(&nuc_binary_div, &loops, 1.0f, a, b, out);
    assert_memory_equal(out, quotient, sizeof quotient);
    nuc_kernel_binary_f32(&nuc_binary_maximum, &loops, 1.0f, a, b, out);
    assert_true(out[0] == 10.0f && out[5] == 30.0f);
}

static void test_unary(void **state)
{
    const float in[4] = {-2.0f, 0.0f, 3.0f, NAN};
    float out[4];

    (void)state;
    nuc_kernel_map_f32(nuc_map_relu.f32, in, out, 4);
    assert_true(out[0] == 0.0f && out[2] == 3.0f && isnan(out[3]));
    nuc_kernel_clamp_f32(-1.0f, 2.0f, in, out, 4);
    assert_true(out[0] == -1.0f && out[1] == 0.0f && out[2] == 2.0f && isnan(out[3]));
    nuc_kernel_leaky_relu_f32(0.25f, in, out, 3);
    assert_true(out[0] == -0.5f && out[2] == 3.0f);
    nuc_kernel_map_f32(nuc_map_sigmoid.f32, in, out, 2);
    assert_true(out[1] == 0.5f);
}

/* ---- windows ---- */

#define CHANNELS 2
#define SIDE 3

/* (channel, y, x) in either order. */
static void strides_of(int32_t channels, int32_t height, int32_t width, bool channels_last, ptrdiff_t out[4])
{
    out[0] = (ptrdiff_t)channels * height * width;
    out[1] = channels_last ? 1 : (ptrdiff_t)height * width;
    out[2] = channels_last ? (ptrdiff_t)width * channels : width;
    out[3] = channels_last ? channels : 1;
}

static void fill(float *data, const ptrdiff_t s[4], int32_t batch, int32_t channels, int32_t height, int32_t width)
{
    for (int32_t n = 0; n < batch; n++)
        for (int32_t c = 0; c < channels; c++)
            for (int32_t y = 0; y < height; y++)
                for (int32_t x = 0; x < width; x++)
                    data[n * s[0] + c * s[1] + y * s[2] + x * s[3]] = (float)(n * 100 + c * 10 + y * 3 + x);
}

/* 2 channels of 3 x 3 holding 10 c + 3 y + x, one output channel, kernel 2 x 2 of ones, padding 1, stride 2. */
static void convolve(bool channels_last, float out[4])
{
    struct nuc_conv2d c = {.batch = 1,
                           .groups = 1,
                           .in_channels = CHANNELS,
                           .in_size = {SIDE, SIDE},
                           .out_channels = 1,
                           .out_size = {2, 2},
                           .kernel = {2, 2},
                           .stride = {2, 2},
                           .padding = {1, 1},
                           .dilation = {1, 1}};
    float in[CHANNELS * SIDE * SIDE];
    float weight[CHANNELS * 4];
    const float bias = 0.5f;

    strides_of(CHANNELS, SIDE, SIDE, channels_last, c.in_strides);
    strides_of(CHANNELS, 2, 2, channels_last, c.weight_strides);
    strides_of(1, 2, 2, channels_last, c.out_strides);
    fill(in, c.in_strides, 1, CHANNELS, SIDE, SIDE);
    for (int i = 0; i < CHANNELS * 4; i++)
        weight[i] = 1.0f;
    nuc_kernel_convolution_f32(&c, in, weight, &bias, out);
}

static void test_convolution(void **state)
{
    /* Corner: 0 + 10; top right: 1 + 2 + 11 + 12; bottom left: 3 + 6 + 13 + 16; centre: 4+5+7+8 and 10 more each. */
    const float expected[4] = {10.5f, 26.5f, 38.5f, 88.5f};
    float out[4];

    (void)state;
    convolve(false, out);
    assert_memory_equal(out, expected, sizeof expected);
    convolve(true, out);
    assert_memory_equal(out, expected, sizeof expected);
}

static void test_grouped_convolution(void **state)
{
    struct nuc_conv2d c = {.batch = 1,
                           .groups = 2,
                           .in_channels = 2,
                           .in_size = {1, 2},
                           .out_channels = 4,
                           .out_size = {1, 2},
                           .kernel = {1, 1},
                           .stride = {1, 1},
                           .dilation = {1, 1}};
    const float in[4] = {1, 2, 3, 4};
    const float weight[4] = {1, 10, 100, 1000};
    const float expected[8] = {1, 2, 10, 20, 300, 400, 3000, 4000};
    float out[8];

    (void)state;
    strides_of(2, 1, 2, false, c.in_strides);
    strides_of(1, 1, 1, false, c.weight_strides);
    strides_of(4, 1, 2, false, c.out_strides);
    nuc_kernel_convolution_f32(&c, in, weight, NULL, out);
    assert_memory_equal(out, expected, sizeof expected);
}

static void test_transposed_convolution(void **state)
{
    struct nuc_conv2d c = {.batch = 1,
                           .groups = 1,
                           .in_channels = 1,
                           .in_size = {1, 2},
                           .out_channels = 1,
                           .out_size = {1, 5},
                           .kernel = {1, 3},
                           .stride = {2, 2},
                           .dilation = {1, 1}};
    const float in[2] = {1, 2};
    const float weight[3] = {1, 10, 100};
    const float expected[5] = {1, 10, 102, 20, 200};
    float out[5];

    (void)state;
    c.stride[0] = 1;
    strides_of(1, 1, 2, false, c.in_strides);
    strides_of(1, 1, 3, false, c.weight_strides);
    strides_of(1, 1, 5, false, c.out_strides);
    nuc_kernel_transposed_convolution_f32(&c, in, weight, NULL, out);
    assert_memory_equal(out, expected, sizeof expected);
}

static struct nuc_pool2d pool_3x3(bool channels_last)
{
    struct nuc_pool2d p = {.batch = 1,
                           .channels = CHANNELS,
                           .in_size = {SIDE, SIDE},
                           .out_size = {2, 2},
                           .kernel = {2, 2},
                           .stride = {2, 2},
                           .padding = {1, 1},
                           .dilation = {1, 1}};

    strides_of(CHANNELS, SIDE, SIDE, channels_last, p.in_strides);
    strides_of(CHANNELS, 2, 2, channels_last, p.out_strides);
    return p;
}

static void test_max_pool(void **state)
{
    struct nuc_pool2d p = pool_3x3(false);
    const float expected[8] = {0, 2, 6, 8, 10, 12, 16, 18};
    const int64_t positions[8] = {0, 2, 6, 8, 0, 2, 6, 8};
    float in[CHANNELS * SIDE * SIDE];
    float out[8];
    int64_t indices[8];

    (void)state;
    fill(in, p.in_strides, 1, CHANNELS, SIDE, SIDE);
    nuc_kernel_max_pool_f32(&p, in, out, indices);
    assert_memory_equal(out, expected, sizeof expected);
    assert_memory_equal(indices, positions, sizeof positions);
}

static void test_avg_pool(void **state)
{
    struct nuc_pool2d p = pool_3x3(true);
    float in[CHANNELS * SIDE * SIDE];
    float out[8];

    (void)state;
    fill(in, p.in_strides, 1, CHANNELS, SIDE, SIDE);
    nuc_kernel_avg_pool_f32(&p, in, out); /* padding does not count: corner 0 / 1, top right (1 + 2) / 2 */
    assert_true(out[0] == 0.0f && out[2] == 1.5f && out[4] == 4.5f && out[6] == 6.0f && out[7] == 16.0f);
    p.count_include_pad = true;
    nuc_kernel_avg_pool_f32(&p, in, out);
    assert_true(out[0] == 0.0f && out[2] == 0.75f && out[4] == 2.25f && out[6] == 6.0f);
    p.divisor = 3;
    nuc_kernel_avg_pool_f32(&p, in, out);
    assert_true(out[2] == 1.0f && out[6] == 8.0f);
}

static void test_adaptive_avg_pool(void **state)
{
    struct nuc_pool2d p = pool_3x3(false);
    float in[CHANNELS * SIDE * SIDE];
    float out[8];

    (void)state;
    fill(in, p.in_strides, 1, CHANNELS, SIDE, SIDE);
    nuc_kernel_adaptive_avg_pool_f32(&p, in, out); /* windows 0..1 and 1..2 overlap */
    assert_true(out[0] == 2.0f && out[1] == 3.0f && out[2] == 5.0f && out[3] == 6.0f && out[7] == 16.0f);
}

/* ---- axes, products, reductions ---- */

static void test_softmax(void **state)
{
    const struct nuc_loops rows = {.rank = 1, .sizes = {2}, .a = {2}, .out = {2}};
    const struct nuc_loops columns = {.rank = 1, .sizes = {2}, .a = {1}, .out = {1}};
    const struct nuc_line along_row = {2, 1, 1};
    const struct nuc_line along_column = {2, 2, 2};
    const float in[4] = {0.0f, 0.0f, 1000.0f, 0.0f};
    float out[4];

    (void)state;
    nuc_kernel_softmax_f32(&rows, &along_row, in, out);
    assert_true(out[0] == 0.5f && out[1] == 0.5f && out[2] == 1.0f && out[3] == 0.0f);
    nuc_kernel_softmax_f32(&columns, &along_column, in, out);
    assert_true(out[0] == 0.0f && out[2] == 1.0f && out[1] == 0.5f && out[3] == 0.5f);
}

static void test_batch_norm(void **state)
{
    const struct nuc_axis axis = {1, 2, 2};
    const float in[4] = {1, 3, 10, 20};
    const float mean[2] = {1, 10};
    const float var[2] = {4, 25};
    const float weight[2] = {2, 5};
    const float bias[2] = {0.5f, -1};
    const float expected[4] = {0.5f, 2.5f, -1.0f, 9.0f};
    float out[4];

    (void)state;
    nuc_kernel_batch_norm_f32(&axis, in, weight, bias, mean, var, 0.0, out);
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(out[i] - expected[i]) < 1e-6f);
}

static void test_matmul(void **state)
{
    const struct nuc_matmul mm = {1, 2, 3, 2};
    const float x[6] = {1, 2, 3, 4, 5, 6};
    const float y[6] = {1, 0, 0, 1, 1, 1};
    const float addend[2] = {10, 20};
    const ptrdiff_t row[2] = {0, 1};
    const float product[4] = {4, 5, 10, 11};
    const float sum[4] = {13, 20, 25, 32};
    float out[4];

    (void)state;
    nuc_kernel_matmul_f32(&mm, x, y, out);
    assert_memory_equal(out, product, sizeof product);
    nuc_kernel_addmm_f32(&mm, addend, row, 0.5f, 2.0f, x, y, out);
    assert_memory_equal(out, sum, sizeof sum);
}

static void test_reduce(void **state)
{
    struct nuc_loops kept = {.rank = 1, .sizes = {2}, .a = {3}, .out = {1}};
    struct nuc_loops reduced = {.rank = 1, .sizes = {3}, .a = {1}};
    const float in[6] = {1, 5, 3, -1, -4, -1};
    float out[2];

    (void)state;
    nuc_kernel_reduce_f32(NUC_REDUCE_MEAN, &kept, &reduced, in, out);
    assert_true(out[0] == 3.0f && out[1] == -2.0f);
    nuc_kernel_reduce_f32(NUC_REDUCE_MAX, &kept, &reduced, in, out);
    assert_true(out[0] == 5.0f && out[1] == -1.0f);
    nuc_kernel_reduce_f32(NUC_REDUCE_MIN, &kept, &reduced, in, out);
    assert_true(out[0] == 1.0f && out[1] == -4.0f);
}

static void test_copy(void **state)
{
    const int16_t in[6] = {1, 2, 3, 4, 5, 6};
    const int16_t transposed[6] = {1, 4, 2, 5, 3, 6};
    struct nuc_loops loops = {.rank = 2, .sizes = {3, 2}, .a = {1, 3}, .out = {2, 1}};
    const int16_t seven = 7;
    int16_t out[6];

    (void)state;
    nuc_kernel_copy(&loops, sizeof in[0], in, out);
    assert_memory_equal(out, transposed, sizeof transposed);
    nuc_kernel_fill(sizeof seven, &seven, out, 6);
    assert_true(out[0] == 7 && out[5] == 7);
}

/* Towards zero, to the nearest value where the type ends, NaN to 0. */
static void test_convert(void **state)
{
    static const struct {
        double in;
        int64_t whole;
        uint8_t byte;
    } rows[] = {
        {0.999, 0, 0},
        {-0.999, 0, 0},
        {1.5, 1, 1},
        {-2.5, -2, 0},
        {300, 300, 255},
        {0x1p52 + 1, (INT64_C(1) << 52) + 1, 255},
        {-0x1p53 - 2, -(INT64_C(1) << 53) - 2, 0},
        {0x1.fffffffffffffp62, INT64_MAX - 1023, 255},
        {-0x1p63, INT64_MIN, 0},
        {0x1p63, INT64_MAX, 255},
        {-HUGE_VAL, INT64_MIN, 0},
        {HUGE_VAL, INT64_MAX, 255},
        {(double)NAN, 0, 0},
        {5e-324, 0, 0},
    };
    const struct nuc_loops one = {.rank = 0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t whole;
        uint8_t byte;
        nuc_kernel_convert(&one, NUC_F64, NUC_I64, &rows[i].in, &whole);
        nuc_kernel_convert(&one, NUC_F64, NUC_U8, &rows[i].in, &byte);
        if (whole != rows[i].whole || byte != rows[i].byte)
            fail_msg("%g", rows[i].in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantize),
        cmocka_unit_test(test_dequantize_types),
        cmocka_unit_test(test_binary_broadcast),
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_grouped_convolution),
        cmocka_unit_test(test_transposed_convolution),
        cmocka_unit_test(test_max_pool),
        cmocka_unit_test(test_avg_pool),
        cmocka_unit_test(test_adaptive_avg_pool),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_batch_norm),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_convert),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
