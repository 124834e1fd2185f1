/* Quantize and dequantize nodes: ties, saturation, every dtype, per channel in float32 and float64; SQNR. */
#include "unit/eval_graphs.h"

#include <math.h>

#include "compiler/eval/sqnr.h"

struct params {
    double scale;
    int64_t zero_point, low, high;
    enum nuc_dtype dtype;
};

static struct nuc_node *tensor_node(struct nuc_graph *g, enum nuc_op op, struct nuc_node *x, struct params p)
{
    struct nuc_node *node = add_node(g, op, x);

    nuc_set_arg_float(node, 1, p.scale);
    nuc_set_arg_int(node, 2, p.zero_point);
    nuc_set_arg_int(node, 3, p.low);
    nuc_set_arg_int(node, 4, p.high);
    nuc_set_arg_dtype(node, 5, p.dtype);
    return node;
}

static void quantize(struct params p, const float *in, int64_t count, void *out)
{
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, NUC_F32, SHAPE(count));

    run_node(g, tensor_node(g, NUC_OP_QUANTIZE_PER_TENSOR, x, p), in, out);
    free_graph(g);
}

static void dequantize(struct params p, const void *in, int64_t count, float *out)
{
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, p.dtype, SHAPE(count));

    run_node(g, tensor_node(g, NUC_OP_DEQUANTIZE_PER_TENSOR, x, p), in, out);
    free_graph(g);
}

static const struct params int8_half = {0.5, 3, -128, 127, NUC_I8};

static void ties_go_to_even(void **state)
{
    const float in[] = {0.25f, 0.75f, 1.25f, -0.25f, -0.75f, -1.25f, 0.26f, 0.0f, -0.0f};
    const int8_t want[] = {3, 5, 5, 3, 1, 1, 4, 3, 3};
    int8_t out[COUNT(in)];

    (void)state;
    quantize(int8_half, in, COUNT(in), out);
    assert_memory_equal(out, want, sizeof want);
}

static void values_saturate(void **state)
{
    const float in[] = {61.9f, 62.0f, 62.3f, 1e9f, INFINITY, -65.5f, -66.0f, -1e30f, -INFINITY, NAN};
    const int8_t want[] = {127, 127, 127, 127, 127, -128, -128, -128, -128, 0};
    int8_t out[COUNT(in)];

    (void)state;
    quantize(int8_half, in, COUNT(in), out);
    assert_memory_equal(out, want, sizeof want);
}

/* 1 / 0.1 in double, rounded to float32, is 10: dividing 0.35f by 0.1f would give 3.5 and round to 4. */
static void scale_is_inverted_in_double(void **state)
{
    struct params p = {0.1, 0, -127, 127, NUC_I8};
    uint32_t seed = 9;
    float in[1000];
    int8_t out[1000];

    (void)state;
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

    (void)state;
    quantize((struct params){1.0, 2, 0, 255, NUC_U8}, in, 4, u8);
    assert_memory_equal(u8, ((const uint8_t[]){0, 2, 4, 255}), 4);
    quantize((struct params){0.001, 0, -32767, 32767, NUC_I16}, in, 4, i16);
    assert_memory_equal(i16, ((const int16_t[]){-3000, 0, 2500, 32767}), 8);
    quantize((struct params){1e-7, 0, INT32_MIN, INT32_MAX, NUC_I32}, in, 4, i32);
    assert_memory_equal(i32, ((const int32_t[]){-30000000, 0, 25000000, INT32_MAX}), 16);
}

static void dequantize_dtypes(void **state)
{
    float out[3];

    (void)state;
    dequantize(int8_half, (const int8_t[]){-128, 3, 127}, 3, out);
    assert_floats(out, (const float[]){-65.5f, 0.0f, 62.0f}, 3);
    dequantize((struct params){0.25, 128, 0, 255, NUC_U8}, (const uint8_t[]){0, 128, 255}, 3, out);
    assert_floats(out, (const float[]){-32.0f, 0.0f, 31.75f}, 3);
    dequantize((struct params){2.0, 0, -32768, 32767, NUC_I16}, (const int16_t[]){-32768, 1, 32767}, 3, out);
    assert_floats(out, (const float[]){-65536.0f, 2.0f, 65534.0f}, 3);
    /* 2^24 + 1 is no float32: the value is rounded before the zero point is subtracted. */
    dequantize((struct params){1.0, 1, INT32_MIN, INT32_MAX, NUC_I32}, (const int32_t[]){16777217, 0, -7}, 3, out);
    assert_floats(out, (const float[]){16777215.0f, -1.0f, -8.0f}, 3);
}

/* More elements than a chunk, and every int8 value comes back as itself. */
static void round_trip(void **state)
{
    enum { N = 256 * 9 };
    int8_t in[N], back[N];
    float real[N];
    struct params p = {0.0123456789, -5, -128, 127, NUC_I8};

    (void)state;
    for (int i = 0; i < N; i++)
        in[i] = (int8_t)(i % 256 - 128);
    dequantize(p, in, N, real);
    quantize(p, real, N, back);
    assert_memory_equal(in, back, N);
}

/* ---- per channel ---- */

static struct nuc_node *channel_node(struct nuc_graph *g, enum nuc_op op, struct nuc_node *x, struct nuc_node *scales,
                                     struct nuc_node *zeros, int64_t axis)
{
    struct nuc_node *node = add_node(g, op, x);

    nuc_set_arg_node(node, g, 1, scales);
    if (zeros != NULL)
        nuc_set_arg_node(node, g, 2, zeros);
    nuc_set_arg_int(node, 3, axis);
    nuc_set_arg_int(node, 4, -127);
    nuc_set_arg_int(node, 5, 127);
    nuc_set_arg_dtype(node, 6, NUC_I8);
    return node;
}

static void quantize_channels(void **state)
{
    const float in[12] = {1.0f, 2.5f, 2.0f, 4.0f, 1.0f, 1.0f, -1.0f, 1000.0f, -2.0f, 5.0f, 9.0f, -9.0f};
    const int8_t axis1[12] = {1, 2, 5, 9, 4, 4, -1, 127, -3, 11, 36, -36};
    const float scales[3] = {1.0f, 0.5f, 0.25f};
    const double wide[3] = {1.0, 0.5, 0.25};
    const int64_t zeros[3] = {0, 1, 0};
    int8_t out[12];

    (void)state;
    for (int w = 0; w < 2; w++) {
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(2, 3, 2));
        struct nuc_node *s = w ? add_constant(g, NUC_F64, SHAPE(3), wide) : add_constant(g, NUC_F32, SHAPE(3), scales);
        struct nuc_node *z = add_constant(g, NUC_I64, SHAPE(3), zeros);
        run_node(g, channel_node(g, NUC_OP_QUANTIZE_PER_CHANNEL, x, s, z, 1), in, out);
        assert_memory_equal(out, axis1, sizeof out);
        free_graph(g);
    }
}

static void dequantize_channels(void **state)
{
    const int8_t in[6] = {-127, 1, 2, 3, 4, 127};
    const float scales[3] = {1.0f, 0.5f, 0.25f};
    const int64_t zeros[3] = {0, 1, -1};
    float out[6];

    (void)state;
    for (int with_zeros = 0; with_zeros < 2; with_zeros++) {
        const float want[2][6] = {{-127.0f, 0.5f, 0.5f, 3.0f, 2.0f, 31.75f}, {-127.0f, 0.0f, 0.75f, 3.0f, 1.5f, 32.0f}};
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_I8, SHAPE(2, 3));
        struct nuc_node *s = add_constant(g, NUC_F32, SHAPE(3), scales);
        struct nuc_node *z = add_constant(g, NUC_I64, SHAPE(3), zeros);
        run_node(g, channel_node(g, NUC_OP_DEQUANTIZE_PER_CHANNEL, x, s, with_zeros ? z : NULL, -1), in, out);
        assert_floats(out, want[with_zeros], 6);
        free_graph(g);
    }
}

/* float64 scales compute in float64 and round once at the end. */
static void dequantize_wide(void **state)
{
    const double scales[1] = {1.0 / 3.0 * 1e-3};
    float out[1];
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, NUC_I8, SHAPE(1));
    struct nuc_node *s = add_constant(g, NUC_F64, SHAPE(1), scales);

    (void)state;
    run_node(g, channel_node(g, NUC_OP_DEQUANTIZE_PER_CHANNEL, x, s, NULL, 0), (const int8_t[]){101}, out);
    assert_floats(out, (const float[]){(float)(101.0 * scales[0])}, 1);
    free_graph(g);
}

static void plan(struct nuc_context *cx, void *arg)
{
    (void)cx;
    nuc_eval_new(arg, 1);
}

/* One scale too few is refused instead of read out of bounds. */
static void wrong_number_of_scales(void **state)
{
    const float scales[2] = {1.0f, 0.5f};
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, NUC_I8, SHAPE(2, 3));
    struct nuc_node *s = add_constant(g, NUC_F32, SHAPE(2), scales);
    struct nuc_node *node = channel_node(g, NUC_OP_DEQUANTIZE_PER_CHANNEL, x, s, NULL, 1);
    struct nuc_meta m = nuc_meta_make(NUC_F32, (const int64_t[]){2, 3}, 2);

    (void)state;
    nuc_set_val(g, node, &m);
    add_output(g, node);
    assert_int_equal(nuc_try(g->cx, plan, g), NUC_UNSUPPORTED);
    assert_non_null(strstr(g->cx->message, "3 channels"));
    free_graph(g);
}

/* ---- SQNR ---- */

static void sqnr(void **state)
{
    struct nuc_sqnr s = {0.0, 0.0};
    const float a[2] = {3.0f, 4.0f}, b[2] = {3.0f, 4.5f};

    (void)state;
    nuc_sqnr_add(&s, a, a, 2);
    assert_true(isinf(nuc_sqnr_db(&s)) && nuc_sqnr_db(&s) > 0.0);
    nuc_sqnr_add(&s, a, b, 2);
    assert_true(fabs(nuc_sqnr_db(&s) - 10.0 * log10(50.0 / 0.25)) < 1e-12);
    s = (struct nuc_sqnr){0.0, 0.0};
    nuc_sqnr_add(&s, (const float[]){0.0f}, b, 1);
    assert_true(isinf(nuc_sqnr_db(&s)) && nuc_sqnr_db(&s) < 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(values_saturate),
        cmocka_unit_test(scale_is_inverted_in_double),
        cmocka_unit_test(unsigned_and_wide_dtypes),
        cmocka_unit_test(dequantize_dtypes),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(quantize_channels),
        cmocka_unit_test(dequantize_channels),
        cmocka_unit_test(dequantize_wide),
        cmocka_unit_test(wrong_number_of_scales),
        cmocka_unit_test(sqnr),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
