/*
 * Convolutions and matrix products against plain loops. Values of convolutions are small multiples of 1/16, so that
 * every sum is exact whatever its order; test_eval_order.c looks at the orders.
 */
#include "unit/eval_graphs.h"

/* Rounded before it is added to anything, whatever the compiler may fuse. */
static float product(float a, float b)
{
    volatile float p = a * b;

    return p;
}

/* Multiples of 1/16 in [-1, 1]: products are multiples of 1/256, and sums of 65,536 of them are exact. */
static void fill_exact(uint32_t *seed, float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (float)next_int(seed, -16, 16) / 16.0f;
}

struct conv_case {
    int64_t batch, channels, height, width; /* input; batch 0: rank 3 */
    int64_t filters, kernel[2], stride[2], padding[2], dilation[2], groups, output_padding[2];
    bool transposed, bias;
};

static int64_t pick(int64_t low, int64_t high, uint32_t *seed)
{
    return next_int(seed, low, high);
}

static struct conv_case random_case(uint32_t *seed)
{
    struct conv_case k = {.groups = pick(1, 3, seed)};

    k.batch = pick(0, 2, seed);
    k.channels = k.groups * pick(1, 3, seed);
    k.filters = k.groups * pick(1, 9, seed);
    k.height = pick(5, 12, seed);
    k.width = pick(5, 23, seed);
    for (int d = 0; d < 2; d++) {
        k.kernel[d] = pick(1, 3, seed);
        k.stride[d] = pick(1, 3, seed);
        k.padding[d] = pick(0, 2, seed);
        k.dilation[d] = pick(1, 2, seed);
    }
    k.bias = pick(0, 1, seed) == 1;
    return k;
}

static int64_t out_size(const struct conv_case *k, int d)
{
    int64_t in = d == 0 ? k->height : k->width, reach = k->dilation[d] * (k->kernel[d] - 1);

    if (k->transposed)
        return (in - 1) * k->stride[d] - 2 * k->padding[d] + reach + k->output_padding[d] + 1;
    return (in + 2 * k->padding[d] - reach - 1) / k->stride[d] + 1;
}

/* One output element: the sum over channels, rows and columns of the kernel, in this order. */
static float conv_at(const struct conv_case *k, const float *in, const float *w, int64_t f, int64_t oy, int64_t ox)
{
    int64_t cg = k->channels / k->groups, group = f / (k->filters / k->groups);
    float sum = 0.0f;

    for (int64_t c = 0; c < cg; c++) {
        for (int64_t ky = 0; ky < k->kernel[0]; ky++) {
            for (int64_t kx = 0; kx < k->kernel[1]; kx++) {
                int64_t y = oy * k->stride[0] - k->padding[0] + ky * k->dilation[0];
                int64_t x = ox * k->stride[1] - k->padding[1] + kx * k->dilation[1];
                if (y < 0 || y >= k->height || x < 0 || x >= k->width)
                    continue;
                sum += product(in[((group * cg + c) * k->height + y) * k->width + x],
                               w[((f * cg + c) * k->kernel[0] + ky) * k->kernel[1] + kx]);
            }
        }
    }
    return sum;
}

/* The definition for one input element: it is spread over the outputs it reaches, in double. */
static void spread(const struct conv_case *k, float in, const float *w, int64_t y, int64_t x, double *out)
{
    for (int64_t i = 0; i < k->kernel[0] * k->kernel[1]; i++) {
        int64_t oy = y * k->stride[0] - k->padding[0] + i / k->kernel[1] * k->dilation[0];
        int64_t ox = x * k->stride[1] - k->padding[1] + i % k->kernel[1] * k->dilation[1];
        if (oy >= 0 && oy < out_size(k, 0) && ox >= 0 && ox < out_size(k, 1))
            out[oy * out_size(k, 1) + ox] += (double)in * (double)w[i];
    }
}

/* One image; `out` holds the bias on entry. */
static void transposed_image(const struct conv_case *k, const float *in, const float *w, double *out)
{
    int64_t cg = k->channels / k->groups, fg = k->filters / k->groups, taps = k->kernel[0] * k->kernel[1];

    for (int64_t c = 0; c < k->channels; c++) {
        for (int64_t f = 0; f < fg; f++) {
            double *plane = out + (c / cg * fg + f) * out_size(k, 0) * out_size(k, 1);
            for (int64_t p = 0; p < k->height * k->width; p++)
                spread(k, in[c * k->height * k->width + p], w + (c * fg + f) * taps, p / k->width, p % k->width, plane);
        }
    }
}

static size_t conv_weights(const struct conv_case *k)
{
    return (size_t)(k->filters * (k->channels / k->groups) * k->kernel[0] * k->kernel[1]);
}

/* aten.conv2d, or edge.aten.convolution when `edge`. */
static struct nuc_graph *conv_graph(const struct conv_case *k, bool edge, const float *w, const float *bias)
{
    const int64_t shape[4] = {k->batch, k->channels, k->height, k->width}, one = k->filters;
    const int64_t weight[4] = {k->transposed ? k->channels : k->filters,
                               (k->transposed ? k->filters : k->channels) / k->groups, k->kernel[0], k->kernel[1]};
    char more[64] = "";

    if (edge)
        snprintf(more, sizeof more, "%s, %s, ", k->transposed ? "true" : "false", list_of(k->output_padding, 2));
    struct nuc_graph *g =
        graph_of("$x = input : float32%s; $w = buffer : float32%s; $b = buffer : float32%s\n$y = %s($x, $w, %s, %s, "
                 "%s, %s, %s%d)",
                 k->batch == 0 ? list_of(shape + 1, 3) : list_of(shape, 4), list_of(weight, 4), list_of(&one, 1),
                 edge ? "edge.aten.convolution.default" : "aten.conv2d.default", k->bias ? "$b" : "none",
                 list_of(k->stride, 2), list_of(k->padding, 2), list_of(k->dilation, 2), more, (int)k->groups);

    bind(g, "w", w);
    bind(g, "b", bias);
    return g;
}

static void check_conv(const struct conv_case *k, const float *in, const float *w, const float *bias, const float *got)
{
    size_t image = (size_t)(k->channels * k->height * k->width), at = 0;
    int64_t pixels = out_size(k, 0) * out_size(k, 1);

    for (int64_t n = 0; n < (k->batch == 0 ? 1 : k->batch); n++, in += image) {
        for (int64_t i = 0; i < k->filters * pixels; i++, at++) {
            int64_t f = i / pixels, y = i % pixels / out_size(k, 1), x = i % out_size(k, 1);
            float want = conv_at(k, in, w, f, y, x) + (k->bias ? bias[f] : 0.0f);
            assert_floats(&got[at], &want, 1);
        }
    }
}

static void check_transposed(const struct conv_case *k, const float *in, const float *w, const float *bias,
                             const float *got)
{
    size_t image = (size_t)(k->channels * k->height * k->width);
    size_t pixels = (size_t)(out_size(k, 0) * out_size(k, 1)), count = (size_t)k->filters * pixels;
    double *want = test_malloc(count * sizeof *want);

    for (int64_t n = 0; n < (k->batch == 0 ? 1 : k->batch); n++, in += image, got += count) {
        for (size_t i = 0; i < count; i++)
            want[i] = k->bias ? (double)bias[i / pixels] : 0.0;
        transposed_image(k, in, w, want);
        for (size_t i = 0; i < count; i++)
            assert_true((double)got[i] == want[i]);
    }
    test_free(want);
}

static void one_conv(const struct conv_case *k, bool edge, uint32_t *seed)
{
    size_t batch = k->batch == 0 ? 1 : (size_t)k->batch;
    size_t n_in = batch * (size_t)(k->channels * k->height * k->width);
    size_t n_out = batch * (size_t)(k->filters * out_size(k, 0) * out_size(k, 1));
    float *in = test_malloc(n_in * sizeof *in), *w = test_malloc(conv_weights(k) * sizeof *w);
    float *out = test_malloc(n_out * sizeof *out), bias[32];

    fill_exact(seed, in, n_in);
    fill_exact(seed, w, conv_weights(k));
    fill_exact(seed, bias, COUNT(bias));
    struct nuc_graph *g = conv_graph(k, edge, w, bias);
    const struct nuc_meta *m = evaluate(g, in, out);
    assert_int_equal(m->sizes[m->rank - 1], out_size(k, 1));
    assert_int_equal(m->sizes[m->rank - 2], out_size(k, 0));
    (k->transposed ? check_transposed : check_conv)(k, in, w, bias, out);
    free_graph(g);
    test_free(in);
    test_free(w);
    test_free(out);
}

static void conv_random(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (int i = 0; i < 150; i++) {
        struct conv_case k = random_case(&seed);
        one_conv(&k, i % 2 == 1, &seed);
    }
}

static void conv_depthwise(void **state)
{
    struct conv_case k = {.batch = 1,
                          .channels = 7,
                          .height = 9,
                          .width = 18,
                          .filters = 14,
                          .kernel = {3, 3},
                          .stride = {1, 1},
                          .padding = {1, 1},
                          .dilation = {1, 1},
                          .groups = 7,
                          .bias = true};
    uint32_t seed = 2;

    (void)state;
    one_conv(&k, false, &seed);
    k.stride[0] = k.stride[1] = 2;
    one_conv(&k, true, &seed);
}

static void conv_transposed_random(void **state)
{
    uint32_t seed = 3;

    (void)state;
    for (int i = 0; i < 80; i++) {
        struct conv_case k = random_case(&seed);
        k.transposed = true;
        for (int d = 0; d < 2; d++)
            k.output_padding[d] = next_int(&seed, 0, k.stride[d] - 1);
        one_conv(&k, true, &seed);
    }
}

/* A weight that is computed at run time. */
static void conv_dynamic_weight(void **state)
{
    const float image[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    struct nuc_graph *g =
        graph_of("$x = input : float32[1, 1, 2, 2]; $w = aten.relu.default($x); $y = aten.conv2d.default($x, $w)");
    float out[1];

    (void)state;
    evaluate(g, image, out);
    assert_floats(out, (const float[]){1.0f + 4.0f + 9.0f + 16.0f}, 1);
    free_graph(g);
}

/* ---- matrix products ---- */

static void check_product(size_t rows, size_t columns, size_t k, const float *a, const float *b, size_t b_k,
                          size_t b_column, float alpha, const float *addend, size_t addend_row, const float *got)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            float sum = 0.0f;
            for (size_t n = 0; n < k; n++)
                sum += product(a[i * k + n], b[n * b_k + j * b_column]);
            sum = product(alpha, sum);
            if (addend != NULL)
                sum += addend[i * addend_row + j];
            assert_floats(&got[i * columns + j], &sum, 1);
        }
    }
}

static void linear_any_rank(void **state)
{
    enum { ROWS = 2 * 3, COLUMNS = 21, K = 37 };
    uint32_t seed = 4;
    float in[ROWS * K], weight[COLUMNS * K], bias[COLUMNS], out[ROWS * COLUMNS];

    (void)state;
    fill_floats(&seed, in, COUNT(in));
    fill_floats(&seed, weight, COUNT(weight));
    fill_floats(&seed, bias, COUNT(bias));
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        struct nuc_graph *g =
            graph_of("$x = input : float32[2, 3, 37]; $w = buffer : float32[21, 37]; $b = buffer : float32[21]\n"
                     "$y = aten.linear.default($x, $w, %s)",
                     with_bias ? "$b" : "none");
        bind(g, "w", weight);
        bind(g, "b", bias);
        evaluate(g, in, out);
        check_product(ROWS, COLUMNS, K, in, weight, 1, K, 1.0f, with_bias ? bias : NULL, 0, out);
        free_graph(g);
    }
}

static const struct float_case vectors[] = {
    {"$x = input : float32[3]; $w = buffer : float32[2, 3] values(1, 0, 0, 1, 1, 1); $y = aten.linear.default($x, $w)",
     {1.0f, 2.0f, 3.0f},
     {1.0f, 6.0f}},
/* beta 0 ignores self, NaN included. */
#define BETA(self, beta)                                                                                               \
    "$x = input : float32[1, 2]; $w = buffer : float32[2, 1] values(1, 2); $s = buffer : float32[1] values(" self      \
    "); $y = aten.addmm.default($s, $x, $w, beta=" beta ")",                                                           \
    {                                                                                                                  \
        1.0f, 2.0f                                                                                                     \
    }
    {BETA("nan", "0"), {5.0f}},
    {BETA("8", "1"), {13.0f}},
    {BETA("8", "2"), {21.0f}},
};

static void addmm_scaled(void **state)
{
    enum { ROWS = 5, COLUMNS = 19, K = 11 };
    uint32_t seed = 5;
    float in[ROWS * K], weight[K * COLUMNS], self[ROWS * COLUMNS], out[ROWS * COLUMNS];

    (void)state;
    fill_floats(&seed, in, COUNT(in));
    fill_floats(&seed, weight, COUNT(weight));
    fill_floats(&seed, self, COUNT(self));
    for (int vector = 0; vector < 2; vector++) {
        struct nuc_graph *g =
            graph_of("$x = input : float32[5, 11]; $w = buffer : float32[11, 19]; $s = buffer : float32[%s19]\n"
                     "$y = %saten.addmm.default($s, $x, $w, alpha=0.5)",
                     vector ? "" : "5, ", vector ? "" : "edge.");
        bind(g, "w", weight);
        bind(g, "s", self);
        evaluate(g, in, out);
        check_product(ROWS, COLUMNS, K, in, weight, COLUMNS, 1, 0.5f, self, vector ? 0 : COLUMNS, out);
        free_graph(g);
    }
}

static void mm_dynamic(void **state)
{
    enum { SIZE = 18 };
    uint32_t seed = 6;
    float in[SIZE * SIZE], twice[SIZE * SIZE], out[SIZE * SIZE];
    struct nuc_graph *g = graph_of("$x = input : float32[18, 18]; $s = edge.aten.add.Tensor($x, $x)\n"
                                   "$y = edge.aten.mm.default($x, $s)");

    (void)state;
    fill_floats(&seed, in, COUNT(in));
    for (size_t i = 0; i < COUNT(in); i++)
        twice[i] = in[i] + in[i];
    evaluate(g, in, out);
    check_product(SIZE, SIZE, SIZE, in, twice, SIZE, 1, 1.0f, NULL, 0, out);
    free_graph(g);
}

/* The bits do not depend on how many threads share the work. */
static void threads_agree(void **state)
{
    struct conv_case k = {.batch = 1,
                          .channels = 8,
                          .height = 40,
                          .width = 40,
                          .filters = 24,
                          .kernel = {3, 3},
                          .stride = {1, 1},
                          .padding = {1, 1},
                          .dilation = {1, 1},
                          .groups = 1,
                          .bias = true};
    enum { OUT = 24 * 40 * 40 };
    static float in[OUT], w[OUT], one[OUT], many[OUT];
    float bias[24];
    uint32_t seed = 7;

    (void)state;
    fill_floats(&seed, in, OUT);
    fill_floats(&seed, w, OUT);
    fill_floats(&seed, bias, COUNT(bias));
    struct nuc_graph *g = conv_graph(&k, false, w, bias);
    nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){in}, (void *const[]){one});
    for (unsigned threads = 0; threads < 6; threads++) {
        struct nuc_evaluator *e = nuc_eval_new(g, threads);
        for (int i = 0; i < 3; i++)
            nuc_eval_run(e, (const void *const[]){in}, (void *const[]){many});
        assert_memory_equal(many, one, sizeof one);
    }
    free_graph(g);
}

/* Elementwise functions, a matrix product and a mean over enough elements to be shared. */
static void threads_agree_on_chains(void **state)
{
    enum { ROWS = 300, K = 64, COLUMNS = 48 };
    static float in[ROWS * K];
    float weight[COLUMNS * K], one[ROWS], many[ROWS];
    struct nuc_graph *g =
        graph_of("$x = input : float32[300, 64]; $w = buffer : float32[48, 64]; $s = aten.sigmoid.default($x)\n"
                 "$l = aten.linear.default($s, $w); $e = aten.gelu.default($l); $y = aten.mean.dim($e, [1])");
    uint32_t seed = 8;

    (void)state;
    fill_floats(&seed, in, COUNT(in));
    fill_floats(&seed, weight, COUNT(weight));
    bind(g, "w", weight);
    nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){in}, (void *const[]){one});
    for (unsigned threads = 0; threads < 6; threads++) {
        nuc_eval_run(nuc_eval_new(g, threads), (const void *const[]){in}, (void *const[]){many});
        assert_memory_equal(many, one, sizeof one);
    }
    free_graph(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_random),
        cmocka_unit_test(conv_depthwise),
        cmocka_unit_test(conv_transposed_random),
        cmocka_unit_test(conv_dynamic_weight),
        cmocka_unit_test(linear_any_rank),
        ROW_TEST(check_floats, vectors),
        cmocka_unit_test(addmm_scaled),
        cmocka_unit_test(mm_dynamic),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(threads_agree_on_chains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
