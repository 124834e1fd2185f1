/*
 * Quantization by the float kernels, and what vectors of floats compute against plain C. Others are compared by
 * unit.program_ops and golden.torch.
 */
#include "unit/numbers.h"
#include "unit/test.h"

#include <math.h>

#include "device/kernels/select/select.h"

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
    q = (struct nuc_affine){0.5f, INT32_MAX, 0, 0, NUC_I8}; /* of a damaged program: the difference wraps */
    nuc_kernel_dequantize_f32(&q, i8, out, 2);
    assert_true(out[0] == 1073741760.0f && out[1] == -1073741760.0f);
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

/* Of all magnitudes, infinities among them: no sum is exact, and none may read what it does not add. */
static float *random_floats(struct numbers *n, size_t count)
{
    float *p = malloc((count + 1) * sizeof *p);

    assert_non_null(p);
    for (size_t i = 0; i < count; i++)
        p[i] = number(n, 0, 200) == 0 ? INFINITY : ldexpf((float)number(n, -9999, 9999), number(n, -12, 2));
    return p;
}

/* Equal bytes; of NaNs it is open which. */
static bool same_floats(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i])))
            return false;
    }
    return true;
}

static void set_strides(ptrdiff_t strides[4], bool channels_last, int32_t channels, const int32_t size[2])
{
    strides[0] = (ptrdiff_t)channels * size[0] * size[1];
    strides[1] = channels_last ? 1 : (ptrdiff_t)size[0] * size[1];
    strides[2] = channels_last ? (ptrdiff_t)size[1] * channels : size[1];
    strides[3] = channels_last ? channels : 1;
}

static void test_convolution(void **state)
{
    struct numbers n = {0x5EED};

    for (int round = 0; round < 400; round++) {
        const int32_t groups = number(&n, 1, 3), in = number(&n, 1, 4), out = number(&n, 1, 9);
        const bool last = number(&n, 0, 1) != 0;
        struct nuc_conv2d c = {
            .batch = number(&n, 1, 2), .groups = groups, .in_channels = groups * in, .out_channels = groups * out};
        for (int d = 0; d < 2; d++) {
            c.kernel[d] = number(&n, 1, number(&n, 0, 9) == 0 ? 12 : 4);
            c.stride[d] = number(&n, 1, 3);
            c.dilation[d] = number(&n, 1, 2);
            c.padding[d] = number(&n, 0, 3);
            c.in_size[d] = number(&n, 1, 23);
            c.out_size[d] = (c.in_size[d] + 2 * c.padding[d] + number(&n, 0, 2)) / c.stride[d] + 1;
        }
        set_strides(c.in_strides, last, c.in_channels, c.in_size);
        set_strides(c.weight_strides, number(&n, 0, 1) != 0, in, c.kernel);
        set_strides(c.out_strides, last, c.out_channels, c.out_size);
        const size_t n_out = (size_t)(c.batch * c.out_strides[0]);
        float *x = random_floats(&n, (size_t)(c.batch * c.in_strides[0])),
              *w = random_floats(&n, (size_t)(c.out_channels * c.weight_strides[0])),
              *bias = random_floats(&n, (size_t)c.out_channels);
        float *expected = calloc(n_out, sizeof *expected), *got = calloc(n_out, sizeof *got);
        nuc_ref_convolution_f32(&c, x, w, round % 3 ? bias : NULL, expected);
        nuc_kernel_convolution_f32(&c, x, w, round % 3 ? bias : NULL, got);
        if (!same_floats(expected, got, n_out))
            fail_msg("round %d differs", round);
        free(x);
        free(w);
        free(bias);
        free(expected);
        free(got);
    }
}

static void test_matmul(void **state)
{
    struct numbers n = {0xBEEF};

    for (int round = 0; round < 200; round++) {
        const struct nuc_matmul mm = {(size_t)number(&n, 1, 3), (size_t)number(&n, 1, 5), (size_t)number(&n, 0, 40),
                                      (size_t)number(&n, 1, 70)};
        const size_t n_out = mm.batch * mm.m * mm.p;
        float *x = random_floats(&n, mm.batch * mm.m * mm.n), *y = random_floats(&n, mm.batch * mm.n * mm.p);
        float *expected = calloc(n_out, sizeof *expected), *got = calloc(n_out, sizeof *got);
        nuc_ref_matmul_f32(&mm, x, y, expected);
        nuc_kernel_matmul_f32(&mm, x, y, got);
        if (!same_floats(expected, got, n_out))
            fail_msg("round %d differs", round);
        free(x);
        free(y);
        free(expected);
        free(got);
    }
}

RUN_TESTS(cmocka_unit_test(test_quantize), cmocka_unit_test(test_dequantize_types), cmocka_unit_test(test_convert),
          cmocka_unit_test(test_convolution), cmocka_unit_test(test_matmul))
