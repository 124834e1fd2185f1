/* Operators other than products and quantization, by hand-computed cases and plain loops. */
#include "unit/eval_graphs.h"

#include <math.h>

/* ---- cases ---- */

#define IN(sizes) "$x = input : float32[" sizes "]; "
#define ACTIVATED(call)                                                                                                \
    IN("2, 4") "$y = " call,                                                                                           \
    {                                                                                                                  \
        -3.0f, -1.0f, -0.5f, 0.0f, 0.5f, 2.0f, 7.0f, NAN                                                               \
    }
#define RELU                                                                                                           \
    {                                                                                                                  \
        0.0f, 0.0f, 0.0f, 0.0f, 0.5f, 2.0f, 7.0f, NAN                                                                  \
    }
#define HARDTANH                                                                                                       \
    {                                                                                                                  \
        -1.0f, -1.0f, -0.5f, 0.0f, 0.5f, 1.0f, 1.0f, NAN                                                               \
    }
/* [3, 4] to [2, 3]: rows 0..2 and 1..3, columns 0..2, 1..3, 2..4 */
#define ADAPTIVE(call)                                                                                                 \
    IN("1, 1, 3, 4")                                                                                                   \
    "$y = " call,                                                                                                      \
    {                                                                                                                  \
        1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f, 9.0f, 10.0f, 11.0f, 12.0f                                      \
    }
#define MEANS                                                                                                          \
    {                                                                                                                  \
        3.5f, 4.5f, 5.5f, 7.5f, 8.5f, 9.5f                                                                             \
    }
/* [1, 2, 2]: one column in front and one less after it, a row after, two planes in front. */
#define PADDED(call)                                                                                                   \
    IN("1, 2, 2") "$y = " call,                                                                                        \
    {                                                                                                                  \
        1.0f, 2.0f, 3.0f, 4.0f                                                                                         \
    }
#define HALVES                                                                                                         \
    {                                                                                                                  \
        0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 1.0f, 0.5f, 3.0f, 0.5f, 0.5f     \
    }
#define PAD_MODE(mode)                                                                                                 \
    IN("1, 1, 3") "$y = aten.pad.default($x, [2, 2], \"" mode "\")",                                                   \
    {                                                                                                                  \
        1.0f, 2.0f, 3.0f                                                                                               \
    }
/* eps 1: 1 / sqrt(4) and 1 / sqrt(1) */
#define NORM(operator, parameters, more)                                                                               \
    IN("2, 2, 1, 2")                                                                                                   \
    "$m = buffer : float32[2] values(1, 2); $v = buffer : float32[2] values(3, 0); $w = buffer : float32[2] "          \
    "values(4, 0.5); $b = buffer : float32[2] values(-1, 1); $y = "                                                    \
    operator"($x, " parameters ", $m, $v, " more,                                                                      \
    {                                                                                                                  \
        0.0f, 1.0f, 2.0f, 3.0f, 0.0f, 1.0f, 2.0f, 3.0f                                                                 \
    }
#define PLAIN                                                                                                          \
    {                                                                                                                  \
        -0.5f, 0.0f, 0.0f, 1.0f, -0.5f, 0.0f, 0.0f, 1.0f                                                               \
    }
#define AFFINE                                                                                                         \
    {                                                                                                                  \
        -3.0f, -1.0f, 1.0f, 1.5f, -3.0f, -1.0f, 1.0f, 1.5f                                                             \
    }
#define EDGE_NORM "edge.aten._native_batch_norm_legit_no_training.default"

static const struct float_case float_cases[] = {
    {IN("2, 2") "$y = aten.layer_norm.default($x, [2], eps=0.0)", {1.0f, 2.0f, 3.0f, 7.0f}, {-1.0f, 1.0f, -1.0f, 1.0f}},
    {IN("1, 2") "$y = aten.rms_norm.default($x, [2], eps=0.0)", {1.0f, 7.0f}, {0.2f, 1.4f}},
    {IN("1, 2, 2") "$y = aten.group_norm.default($x, 1, eps=0.0)",
     {1.0f, 1.0f, 3.0f, 3.0f},
     {-1.0f, -1.0f, 1.0f, 1.0f}},
    {IN("2, 3") "$y = aten.prod.dim_int($x, -2)", {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}, {4.0f, 10.0f, 18.0f}},
    {IN("2, 2") "$y = aten.var.correction($x, [1])", {1.0f, 3.0f, 2.0f, 8.0f}, {2.0f, 18.0f}},
    {IN("2, 2") "$y = aten.var.correction($x, none, correction=4)", {1.0f, 3.0f, 2.0f, 8.0f}, {INFINITY}},
    {IN("3, 2") "$y = aten.cumsum.default($x, 0)",
     {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f},
     {1.0f, 2.0f, 4.0f, 6.0f, 9.0f, 12.0f}},
    {IN("2") "$y = aten.log_softmax.int($x, 0)", {0.0f, 100.0f}, {-100.0f, 0.0f}},
    {IN("2, 3") "$a = aten.argmax.default($x, 1); $y = aten.to.dtype($a, float32)",
     {1.0f, 3.0f, 3.0f, 7.0f, NAN, 9.0f},
     {1.0f, 1.0f}},
    {IN("2, 3") "$a = aten.argmin.default($x); $y = aten.to.dtype($a, float32)",
     {1.0f, 3.0f, 3.0f, 0.0f, 9.0f, 0.0f},
     {3.0f}},
    {IN("3, 2") "$a = aten.any.dims($x, [1]); $y = aten.to.dtype($a, float32)",
     {0.0f, 0.0f, NAN, 0.0f, -1.0f, 2.0f},
     {0.0f, 1.0f, 1.0f}},
    {IN("2, 2") "$i = aten.to.dtype($x, int32); $p = aten.prod.dim_int($i, 1); $s = aten.sum.default($p); $y = "
                "aten.to.dtype($s, float32)",
     {1.0f, 2.0f, 3.0f, -4.0f},
     {-10.0f}},
    {ACTIVATED("aten.relu.default($x)"), RELU},
    {ACTIVATED("aten.relu_.default($x)"), RELU},
    {ACTIVATED("edge.aten.relu.default($x)"), RELU},
    {ACTIVATED("aten.relu6.default($x)"), {0.0f, 0.0f, 0.0f, 0.0f, 0.5f, 2.0f, 6.0f, NAN}},
    {ACTIVATED("aten.hardtanh.default($x)"), HARDTANH},
    {ACTIVATED("edge.aten.hardtanh.default($x)"), HARDTANH},
    /* Bounds given as integers. */
    {IN("3") "$y = aten.hardtanh.default($x, -2, 6)", {-3.0f, 5.0f, 6.5f}, {-2.0f, 5.0f, 6.0f}},
    {NORM("aten.batch_norm.default", "none, none", "false, 0.1, 1.0, true)"), PLAIN},
    {NORM(EDGE_NORM, "none, none", "0.1, 1.0); $z = getitem($y, 0)"), PLAIN},
    {NORM("aten.batch_norm.default", "$w, $b", "false, 0.1, 1.0, true)"), AFFINE},
    {NORM(EDGE_NORM, "$w, $b", "0.1, 1.0); $z = getitem($y, 0)"), AFFINE},
    {ADAPTIVE("aten.adaptive_avg_pool2d.default($x, [2, 3])"), MEANS},
    {ADAPTIVE("edge.aten._adaptive_avg_pool2d.default($x, [2, 3])"), MEANS},
    {ADAPTIVE("aten.adaptive_avg_pool2d.default($x, [1, 1])"), {6.5f}},
    /* Ten neighbours: what is left of a vector of eight comes first, then the eight lanes. 2 is lost in 1e8. */
    {IN("1, 10") "$y = aten.mean.dim($x, [1])", {1e8f, -1e8f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 1.0f}, {0.0f}},
    {PADDED("aten.pad.default($x, [1, -1, 0, 1, 2, 0], value=0.5)"), HALVES},
    {PADDED("edge.aten.constant_pad_nd.default($x, [1, -1, 0, 1, 2, 0], 0.5)"), HALVES},
    {PAD_MODE("reflect"), {3.0f, 2.0f, 1.0f, 2.0f, 3.0f, 2.0f, 1.0f}},
    {PAD_MODE("replicate"), {1.0f, 1.0f, 1.0f, 2.0f, 3.0f, 3.0f, 3.0f}},
    {PAD_MODE("circular"), {2.0f, 3.0f, 1.0f, 2.0f, 3.0f, 1.0f, 2.0f}},
};

/* ---- elementwise ---- */

static void add_broadcasts(void **state)
{
    enum { N = 2, C = 3, W = 4 };
    const int64_t shapes[][3] = {{N, C, W}, {1, C, W}, {N, 1, W}, {N, C, 1}, {1, 1, 1}, {1, C, 1}};
    uint32_t seed = 1;
    float in[N * C * W], other[N * C * W], out[N * C * W];

    (void)state;
    fill_floats(&seed, in, COUNT(in));
    fill_floats(&seed, other, COUNT(other));
    for (size_t s = 0; s < COUNT(shapes); s++) {
        struct nuc_graph *g = graph_of("$x = input : float32[2, 3, 4]; $c = buffer : float32%s\n"
                                       "$y = %saten.add.Tensor($x, $c, alpha=-0.5)",
                                       list_of(shapes[s], 3), s % 2 == 0 ? "" : "edge.");
        bind(g, "c", other);
        evaluate(g, in, out);
        for (int64_t i = 0; i < N * C * W; i++) {
            int64_t n = i / (C * W) % shapes[s][0], ch = i / W % shapes[s][1], w = i % shapes[s][2];
            volatile float scaled = -0.5f * other[(n * shapes[s][1] + ch) * shapes[s][2] + w];
            assert_true(out[i] == in[i] + scaled);
        }
        free_graph(g);
    }
}

/* Both sides grow: [3, 1] + [4] is [3, 4]. Integers keep their dtype. */
static void add_integers(void **state)
{
    struct nuc_graph *g = graph_of("$x = input : int32[3, 1]; $c = buffer : int32[4] values(1, 2, 3, 4)\n"
                                   "$y = aten.add.Tensor($x, $c, alpha=10)");
    int32_t out[12];

    (void)state;
    evaluate(g, (const int32_t[]){100, 200, 300}, out);
    for (int i = 0; i < 12; i++)
        assert_int_equal(out[i], 100 * (i / 4 + 1) + 10 * (i % 4 + 1));
    free_graph(g);
}

/* ---- pooling ---- */

struct pool_case {
    int64_t height, width, kernel[2], stride[2], padding[2], dilation[2];
    bool ceil, count_pad;
    int64_t divisor;
};

/* A pooling of [2, 3, height, width], without the first dimension unless `batched`. */
static struct nuc_graph *pool_graph(const char *operator, const struct pool_case * k, bool batched, const char *more)
{
    bool max = strstr(operator, "max") != NULL;
    const int64_t shape[4] = {2, 3, k->height, k->width};
    const char *ceil = k->ceil ? "true" : "false", *count = k->count_pad ? "true" : "false";
    const char *stride = k->stride[0] == 0 ? "[]" : list_of(k->stride, 2);

    if (max)
        return graph_of("$x = input : float32%s; $y = %s($x, %s, %s, %s, %s, %s)%s", list_of(shape, 4), operator,
                        list_of(k->kernel, 2), stride, list_of(k->padding, 2), list_of(k->dilation, 2), ceil, more);
    return graph_of("$x = input : float32%s; $y = %s($x, %s, %s, %s, %s, %s, %s)%s",
                    list_of(batched ? shape : shape + 1, batched ? 4 : 3), operator, list_of(k->kernel, 2), stride,
                    list_of(k->padding, 2), ceil, count, k->divisor != 0 ? "5" : "none", more);
}

static struct pool_case random_pool(uint32_t *seed)
{
    struct pool_case k = {.height = next_int(seed, 4, 9), .width = next_int(seed, 4, 9)};

    for (int d = 0; d < 2; d++) {
        k.kernel[d] = next_int(seed, 1, 3);
        k.stride[d] = next_int(seed, 1, 3);
        k.padding[d] = next_int(seed, 0, k.kernel[d] / 2);
        k.dilation[d] = 1;
    }
    k.ceil = next_int(seed, 0, 1) == 1;
    k.count_pad = next_int(seed, 0, 1) == 1;
    k.divisor = next_int(seed, 0, 3) == 0 ? 5 : 0;
    return k;
}

/* Average over one window; the padding counts where the window does not stick out of it. */
static float average_at(const struct pool_case *k, const float *in, int64_t oy, int64_t ox)
{
    float sum = 0.0f;
    int64_t inside = 0, padded = 0;

    for (int64_t t = 0; t < k->kernel[0] * k->kernel[1]; t++) {
        int64_t y = oy * k->stride[0] - k->padding[0] + t / k->kernel[1];
        int64_t x = ox * k->stride[1] - k->padding[1] + t % k->kernel[1];
        if (y >= k->height + k->padding[0] || x >= k->width + k->padding[1])
            continue;
        padded++;
        if (y < 0 || y >= k->height || x < 0 || x >= k->width)
            continue;
        inside++;
        sum += in[y * k->width + x];
    }
    return sum / (float)(k->divisor != 0 ? k->divisor : k->count_pad ? padded : inside);
}

static void average_random(void **state)
{
    uint32_t seed = 2;

    (void)state;
    for (int i = 0; i < 60; i++) {
        struct pool_case k = random_pool(&seed);
        float in[2 * 3 * 81], out[2 * 3 * 144];
        struct nuc_graph *g =
            pool_graph(i % 2 == 0 ? "aten.avg_pool2d.default" : "edge.aten.avg_pool2d.default", &k, i % 3 != 0, "");
        fill_floats(&seed, in, COUNT(in));
        const struct nuc_meta *m = evaluate(g, in, out);
        int64_t height = m->sizes[m->rank - 2], width = m->sizes[m->rank - 1];
        for (int64_t at = 0; at < nuc_elements(m); at++) {
            const float *plane = in + at / (height * width) * k.height * k.width;
            float expected = average_at(&k, plane, at % (height * width) / width, at % width);
            assert_floats(&out[at], &expected, 1);
        }
        free_graph(g);
    }
}

static int64_t largest_at(const struct pool_case *k, const float *in, int64_t oy, int64_t ox)
{
    int64_t best = -1;

    for (int64_t t = 0; t < k->kernel[0] * k->kernel[1]; t++) {
        int64_t y = oy * k->stride[0] - k->padding[0] + t / k->kernel[1] * k->dilation[0];
        int64_t x = ox * k->stride[1] - k->padding[1] + t % k->kernel[1] * k->dilation[1];
        if (y < 0 || y >= k->height || x < 0 || x >= k->width)
            continue;
        if (best < 0 || in[y * k->width + x] > in[best])
            best = y * k->width + x;
    }
    return best;
}

static void maximum_random(void **state)
{
    uint32_t seed = 3;

    (void)state;
    for (int i = 0; i < 60; i++) {
        struct pool_case k = random_pool(&seed);
        bool edge = i % 2 == 1;
        float in[2 * 3 * 81], out[2 * 3 * 144];
        int64_t indices[2 * 3 * 144];
        for (int d = 0; d < 2; d++)
            k.dilation[d] = next_int(&seed, 1, k.kernel[d] == 3 ? 1 : 2);
        fill_floats(&seed, in, COUNT(in));
        struct nuc_graph *g = edge
                                  ? pool_graph("edge.aten.max_pool2d_with_indices.default", &k, true,
                                               "; $a = getitem($y, 0); $b = getitem($y, 1); $output = output([$a, $b])")
                                  : pool_graph("aten.max_pool2d.default", &k, true, "");
        nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){in}, (void *const[]){out, indices});
        const struct nuc_meta *m = &node_of(g, "y")->vals[0];
        int64_t height = m->sizes[2], width = m->sizes[3];
        for (int64_t at = 0; at < nuc_elements(m); at++) {
            const float *plane = in + at / (height * width) * k.height * k.width;
            int64_t expected = largest_at(&k, plane, at % (height * width) / width, at % width);
            assert_true(out[at] == plane[expected]);
            if (edge)
                assert_int_equal(indices[at], expected);
        }
        free_graph(g);
    }
}

/* An empty stride list means the kernel size. */
static void stride_defaults_to_kernel(void **state)
{
    const struct pool_case k = {.height = 4, .width = 4, .kernel = {2, 2}, .dilation = {1, 1}};
    float in[2 * 3 * 16], out[2 * 3 * 4];
    struct nuc_graph *g = pool_graph("aten.max_pool2d.default", &k, true, "");

    (void)state;
    for (size_t i = 0; i < COUNT(in); i++)
        in[i] = (float)(i % 16);
    evaluate(g, in, out);
    assert_floats(out, (const float[]){5.0f, 7.0f, 13.0f, 15.0f}, 4);
    free_graph(g);
}

/* ---- reductions ---- */

static void mean_dims(void **state)
{
    static const struct {
        const char *dims;
        bool reduced[3];
    } cases[] = {{"[0]", {true, false, false}},   {"[1]", {false, true, false}},    {"[-1]", {false, false, true}},
                 {"[1, 2]", {false, true, true}}, {"[-1, 0]", {true, false, true}}, {"[0, 1, 2]", {true, true, true}},
                 {"none", {true, true, true}}};
    enum { A = 2, B = 3, C = 4 };
    float in[A * B * C], out[A * B * C];
    uint32_t seed = 4;

    (void)state;
    fill_floats(&seed, in, COUNT(in));
    for (size_t k = 0; k < 2 * COUNT(cases); k++) {
        const bool *reduced = cases[k / 2].reduced;
        double sums[A * B * C] = {0.0};
        struct nuc_graph *g = graph_of("$x = input : float32[2, 3, 4]; $y = %saten.mean.dim($x, %s, %s)",
                                       k % 2 == 1 ? "edge." : "", cases[k / 2].dims, k % 2 == 1 ? "true" : "false");
        const struct nuc_meta *m = evaluate(g, in, out);
        size_t count = COUNT(in) / (size_t)nuc_elements(m);
        size_t b = reduced[1] ? 1 : B, c = reduced[2] ? 1 : C;
        for (size_t i = 0; i < COUNT(in); i++)
            sums[((reduced[0] ? 0 : i / (B * C)) * b + (reduced[1] ? 0 : i / C % B)) * c + (reduced[2] ? 0 : i % C)] +=
                (double)in[i];
        for (size_t i = 0; i < (size_t)nuc_elements(m); i++)
            assert_true(fabs((double)out[i] - sums[i] / (double)count) < 1e-7);
        free_graph(g);
    }
}

/* Whole numbers sum up exactly in any order: every element is counted once, whatever the dim order. */
static void mean_random(void **state)
{
    enum { MOST = 3 * 40 * 11 * 70 };
    float *in = test_malloc(MOST * sizeof *in), *out = test_malloc(MOST * sizeof *out);
    int32_t *sums = test_malloc(MOST * sizeof *sums);
    uint32_t seed = 5;

    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t shape[4] = {next_int(&seed, 1, 3), next_int(&seed, 1, 40), next_int(&seed, 1, 11),
                            next_int(&seed, 1, 70)};
        unsigned reduced = (unsigned)next_int(&seed, 1, 15);
        int64_t dims[4], n_dims = 0, count = 1, all = shape[0] * shape[1] * shape[2] * shape[3];
        for (int64_t d = 0; d < 4; d++) {
            if ((reduced >> d & 1) == 0)
                continue;
            dims[n_dims++] = d;
            count *= shape[d];
        }
        struct nuc_graph *g = graph_of("$x = input : float32%s%s; $y = aten.mean.dim($x, %s)", list_of(shape, 4),
                                       round % 2 == 1 ? " channels-last" : "", list_of(dims, (size_t)n_dims));
        memset(sums, 0, MOST * sizeof *sums);
        for (int64_t i = 0; i < all; i++) {
            int64_t rest = i, at = 0, stride = 1;
            int32_t value = (int32_t)next_int(&seed, -8, 8);
            for (int d = 3; d >= 0; d--) {
                bool keep = (reduced >> d & 1) == 0;
                at += keep ? rest % shape[d] * stride : 0;
                stride *= keep ? shape[d] : 1;
                rest /= shape[d];
            }
            in[i] = (float)value;
            sums[at] += value;
        }
        const struct nuc_meta *result = evaluate(g, in, out);
        for (int64_t i = 0; i < nuc_elements(result); i++)
            assert_true(out[i] == (float)sums[i] / (float)count);
        free_graph(g);
    }
    test_free(in);
    test_free(out);
    test_free(sums);
}

static void softmax_dims(void **state)
{
    /* exp of 0, ln 3 is 1, 3: shares of a quarter. Large values must not overflow. */
    const float ln3 = logf(3.0f);
    const float in[8] = {0.0f, 1000.0f, ln3, 1000.0f, ln3, -5.0f, 0.0f, -5.0f};
    const float expected[8] = {0.25f, 0.5f, 0.75f, 0.5f, 0.75f, 0.5f, 0.25f, 0.5f};
    static const char *const calls[] = {"aten.softmax.int($x, 1)", "edge.aten._softmax.default($x, -2, false)"};

    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct nuc_graph *g = graph_of("$x = input : float32[2, 2, 2]; $y = %s", calls[i]);
        float out[8];
        evaluate(g, in, out);
        for (int n = 0; n < 8; n++)
            assert_true(fabsf(out[n] - expected[n]) < 1e-6f);
        free_graph(g);
    }
}

/* ---- shapes ---- */

static void permute_any_dtype(void **state)
{
    int8_t in[24], out[24];
    struct nuc_graph *g = graph_of("$x = input : int8[2, 3, 4]; $y = edge.aten.permute_copy.default($x, [2, 0, -2])");

    (void)state;
    for (int i = 0; i < 24; i++)
        in[i] = (int8_t)i;
    evaluate(g, in, out);
    for (int i = 0; i < 24; i++)
        assert_int_equal(out[i], i / 3 % 2 * 12 + i % 3 * 4 + i / 6);
    free_graph(g);
}

/* A quantized tensor is padded with its zero point. */
static void pad_int8(void **state)
{
    struct nuc_graph *g = graph_of("$x = input : int8[2]; $y = edge.aten.constant_pad_nd.default($x, [2, 1], -128)");
    int8_t out[5];

    (void)state;
    evaluate(g, (const int8_t[]){5, -6}, out);
    assert_memory_equal(out, ((const int8_t[]){-128, -128, 5, -6, -128}), 5);
    free_graph(g);
}

static void conversions(void **state)
{
    const float in[5] = {-1.7f, 0.0f, 1.7f, 1e20f, NAN};
    struct nuc_graph *g = graph_of("$x = input : float32[5]; $y = aten.to.dtype_layout($x, dtype=int32)");
    int32_t out[5];
    float real[2];

    (void)state;
    evaluate(g, in, out);
    assert_memory_equal(out, ((const int32_t[]){-1, 0, 1, INT32_MAX, 0}), sizeof out);
    free_graph(g);
    g = graph_of("$x = input : int64[2]; $y = edge.dim_order_ops._to_dim_order_copy.default($x, dtype=float32)");
    evaluate(g, (const int64_t[]){-3, 1 << 20}, real);
    assert_floats(real, (const float[]){-3.0f, 1048576.0f}, 2);
    free_graph(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW_TEST(check_floats, float_cases), cmocka_unit_test(add_broadcasts),
        cmocka_unit_test(add_integers),      cmocka_unit_test(average_random),
        cmocka_unit_test(maximum_random),    cmocka_unit_test(stride_defaults_to_kernel),
        cmocka_unit_test(mean_dims),         cmocka_unit_test(mean_random),
        cmocka_unit_test(softmax_dims),      cmocka_unit_test(permute_any_dtype),
        cmocka_unit_test(pad_int8),          cmocka_unit_test(conversions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
