/* Quantize and dequantize nodes: ties, saturation, every dtype, per channel in float32 and float64; SQNR. */
#include "unit/eval_graphs.h"

#include <math.h>

#include "host/numbers.h"

/* What follows the tensor in the call, and the type. */
struct params {
    const char *arguments;
    const char *dtype;
};

static void quantize(struct params p, const float *in, int64_t count, void *out)
{
    struct nuc_graph *g = graph_of("$x = input : float32[%d]; $y = "
                                   "quantized_decomposed.quantize_per_tensor.default($x, %s, %s)",
                                   (int)count, p.arguments, p.dtype);

    evaluate(g, in, out);
    free_graph(g);
}

static void dequantize(struct params p, const void *in, int64_t count, float *out)
{
    struct nuc_graph *g = graph_of("$x = input : %s[%d]; $y = "
                                   "quantized_decomposed.dequantize_per_tensor.default($x, %s, %s)",
                                   p.dtype, (int)count, p.arguments, p.dtype);

    evaluate(g, in, out);
    free_graph(g);
}

static const struct params int8_half = {"0.5, 3, -128, 127", "int8"};

static void ties_go_to_even(void **state)
{
    const float in[] = {0.25f, 0.75f, 1.25f, -0.25f, -0.75f, -1.25f, 0.26f, 0.0f, -0.0f};
    const int8_t want[] = {3, 5, 5, 3, 1, 1, 4, 3, 3};
    int8_t out[COUNT(in)];

    quantize(int8_half, in, COUNT(in), out);
    assert_memory_equal(out, want, sizeof want);
}

static void values_saturate(void **state)
{
    const float in[] = {61.9f, 62.0f, 62.3f, 1e9f, INFINITY, -65.5f, -66.0f, -1e30f, -INFINITY, NAN};
    const int8_t want[] = {127, 127, 127, 127, 127, -128, -128, -128, -128, -128};
    int8_t out[COUNT(in)];

    quantize(int8_half, in, COUNT(in), out);
    assert_memory_equal(out, want, sizeof want);
}

/* 1 / 0.1 in double, rounded to float32, is 10: dividing 0.35f by 0.1f would give 3.5 and round to 4. */
static void scale_is_inverted_in_double(void **state)
{
    struct params p = {"0.1, 0, -127, 127", "int8"};
    uint32_t seed = 9;
    float in[1000];
    int8_t out[1000];

    fill_floats(&seed, in, COUNT(in));
    quantize(p, in, COUNT(in), out);
    for (size_t i = 0; i < COUNT(in); i++)
        assert_int_equal(out[i], (int8_t)nearbyintf(in[i] * 10.0f));
}

static void unsigned_and_wide_dtypes(void **state)
{
    const float in[] = {-3.0f, 0.0f, 2.5f, 400.0f};
    uint8_t u8[4];
    int16_t i16[4];
    int32_t i32[4];

    quantize((struct params){"1.0, 2, 0, 255", "uint8"}, in, 4, u8);
    assert_memory_equal(u8, ((const uint8_t[]){0, 2, 4, 255}), 4);
    quantize((struct params){"0.001, 0, -32767, 32767", "int16"}, in, 4, i16);
    assert_memory_equal(i16, ((const int16_t[]){-3000, 0, 2500, 32767}), 8);
    quantize((struct params){"1e-7, 0, -2147483648, 2147483647", "int32"}, in, 4, i32);
    assert_memory_equal(i32, ((const int32_t[]){-30000000, 0, 25000000, INT32_MAX}), 16);
}

static void dequantize_dtypes(void **state)
{
    float out[3];

    dequantize(int8_half, (const int8_t[]){-128, 3, 127}, 3, out);
    assert_floats(out, (const float[]){-65.5f, 0.0f, 62.0f}, 3);
    dequantize((struct params){"0.25, 128, 0, 255", "uint8"}, (const uint8_t[]){0, 128, 255}, 3, out);
    assert_floats(out, (const float[]){-32.0f, 0.0f, 31.75f}, 3);
    dequantize((struct params){"2.0, 0, -32768, 32767", "int16"}, (const int16_t[]){-32768, 1, 32767}, 3, out);
    assert_floats(out, (const float[]){-65536.0f, 2.0f, 65534.0f}, 3);
    /* 2^24 + 1 is not a float32: the value is rounded before the zero point is subtracted. */
    dequantize((struct params){"1.0, 1, -2147483648, 2147483647", "int32"}, (const int32_t[]){16777217, 0, -7}, 3, out);
    assert_floats(out, (const float[]){16777215.0f, -1.0f, -8.0f}, 3);
}

/* More elements than a chunk, and every int8 value comes back as itself. */
static void round_trip(void **state)
{
    enum { N = 256 * 9 };
    int8_t in[N], back[N];
    float real[N];
    struct params p = {"0.0123456789, -5, -128, 127", "int8"};

    for (int i = 0; i < N; i++)
        in[i] = (int8_t)(i % 256 - 128);
    dequantize(p, in, N, real);
    quantize(p, real, N, back);
    assert_memory_equal(in, back, N);
}

/* ---- per channel ---- */

#define PER_CHANNEL(what) "$y = quantized_decomposed." what "_per_channel.default($x, $s, "

static void quantize_channels(void **state)
{
    const float in[12] = {1.0f, 2.5f, 2.0f, 4.0f, 1.0f, 1.0f, -1.0f, 1000.0f, -2.0f, 5.0f, 9.0f, -9.0f};
    const int8_t axis1[12] = {1, 2, 5, 9, 4, 4, -1, 127, -3, 11, 36, -36};
    int8_t out[12];

    for (int wide = 0; wide < 2; wide++) {
        struct nuc_graph *g = graph_of("$x = input : float32[2, 3, 2]; $s = buffer : %s[3] values(1, 0.5, 0.25)\n"
                                       "$z = buffer : int64[3] values(0, 1, 0)\n" //
                                       PER_CHANNEL("quantize") "$z, 1, -127, 127, int8)",
                                       wide ? "float64" : "float32");
        evaluate(g, in, out);
        assert_memory_equal(out, axis1, sizeof out);
        free_graph(g);
    }
}

static void dequantize_channels(void **state)
{
    const int8_t in[6] = {-127, 1, 2, 3, 4, 127};
    float out[6];

    for (int with_zeros = 0; with_zeros < 2; with_zeros++) {
        const float expected[2][6] = {{-127.0f, 0.5f, 0.5f, 3.0f, 2.0f, 31.75f},
                                      {-127.0f, 0.0f, 0.75f, 3.0f, 1.5f, 32.0f}};
        struct nuc_graph *g = graph_of("$x = input : int8[2, 3]; $s = buffer : float32[3] values(1, 0.5, 0.25)\n"
                                       "$z = buffer : int64[3] values(0, 1, -1)\n" //
                                       PER_CHANNEL("dequantize") "%s, -1, -127, 127, int8)",
                                       with_zeros ? "$z" : "none");
        evaluate(g, in, out);
        assert_floats(out, expected[with_zeros], 6);
        free_graph(g);
    }
}

/* float64 scales compute in float64 and round once at the end. */
static void dequantize_wide(void **state)
{
    const double scales[1] = {1.0 / 3.0 * 1e-3};
    float out[1];
    struct nuc_graph *g = graph_of(
        "$x = input : int8[1]; $s = buffer : float64[1]\n" PER_CHANNEL("dequantize") "none, 0, -127, 127, int8)");

    bind(g, "s", scales);
    evaluate(g, (const int8_t[]){101}, out);
    assert_floats(out, (const float[]){(float)(101.0 * scales[0])}, 1);
    free_graph(g);
}

static void plan(struct nuc_context *cx, void *arg)
{
    nuc_eval_new(arg, 1);
}

/* One scale too few is refused instead of read out of bounds. */
static void wrong_number_of_scales(void **state)
{
    struct nuc_graph *g = graph_of("$x = input : int8[2, 3]; $s = buffer : float32[3] values(1, 0.5, 2)\n" //
                                   PER_CHANNEL("dequantize") "none, 1, -127, 127, int8)");

    struct nuc_meta two = node_of(g, "s")->vals[0];
    two.sizes[0] = 2;
    nuc_set_val(g, node_of(g, "s"), &two);
    assert_int_equal(nuc_try(g->cx, plan, g), NUC_UNSUPPORTED);
    assert_non_null(strstr(g->cx->message, "3 channels"));
    free_graph(g);
}

/* ---- SQNR ---- */

static void sqnr(void **state)
{
    struct nuc_sqnr s = {0.0, 0.0};
    const float a[2] = {3.0f, 4.0f}, b[2] = {3.0f, 4.5f};

    nuc_sqnr_add(&s, a, a, 2);
    assert_true(isinf(nuc_sqnr_db(&s)) && nuc_sqnr_db(&s) > 0.0);
    nuc_sqnr_add(&s, a, b, 2);
    assert_true(fabs(nuc_sqnr_db(&s) - 10.0 * log10(50.0 / 0.25)) < 1e-12);
    s = (struct nuc_sqnr){0.0, 0.0};
    nuc_sqnr_add(&s, (const float[]){0.0f}, b, 1);
    assert_true(isinf(nuc_sqnr_db(&s)) && nuc_sqnr_db(&s) < 0.0);
}

RUN_TESTS(cmocka_unit_test(ties_go_to_even), cmocka_unit_test(values_saturate),
          cmocka_unit_test(scale_is_inverted_in_double), cmocka_unit_test(unsigned_and_wide_dtypes),
          cmocka_unit_test(dequantize_dtypes), cmocka_unit_test(round_trip), cmocka_unit_test(quantize_channels),
          cmocka_unit_test(dequantize_channels), cmocka_unit_test(dequantize_wide),
          cmocka_unit_test(wrong_number_of_scales), cmocka_unit_test(sqnr))
