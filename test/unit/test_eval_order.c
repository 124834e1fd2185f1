/* The order of sums: every rule against a loop that follows it, and every kernel against the portable one. */
#include "unit/eval_graphs.h"

#include <math.h>

#include "eval/eval_gemm.h"
#include "eval/eval_order.h"

/* Rounded before it is added to anything, whatever the compiler may fuse. */
static float product(float a, float b)
{
    volatile float p = a * b;

    return p;
}

static float add_product(float sum, float a, float b, bool fused)
{
    return fused ? fmaf(a, b, sum) : sum + product(a, b);
}

/* ---- kernels ---- */

static void tiles_agree(void **state)
{
    enum { K = 67 };
    uint32_t seed = 1;
    float a[4 * K], panel[K * NUC_TILE_COLUMNS], start[4 * NUC_TILE_COLUMNS];

    fill_floats(&seed, a, COUNT(a));
    fill_floats(&seed, panel, COUNT(panel));
    fill_floats(&seed, start, COUNT(start));
    for (size_t i = 0; i < 16; i++) {
        bool fused = i % 2 == 1, portable = i / 2 % 2 == 1;
        size_t rows = 1 + i / 4;
        float tile[4 * NUC_TILE_COLUMNS], want[4 * NUC_TILE_COLUMNS];
        memcpy(tile, start, sizeof tile);
        memcpy(want, start, sizeof want);
        nuc_gemm_select(fused, portable).tile(a, K, panel, K, rows, tile);
        for (size_t j = 0; j < rows * NUC_TILE_COLUMNS; j++) {
            for (size_t k = 0; k < K; k++)
                want[j] = add_product(want[j], a[j / NUC_TILE_COLUMNS * K + k],
                                      panel[k * NUC_TILE_COLUMNS + j % NUC_TILE_COLUMNS], fused);
        }
        assert_memory_equal(tile, want, sizeof tile);
    }
}

static void taps_agree(void **state)
{
    /* Four vectors, one, and single ones; the last position that is read is the last there is. */
    enum { N = 45, TAPS = 9, LAST = 40 };
    static const size_t offsets[TAPS] = {0, 3, 1, 7, 19, LAST, 20, 2, 11};
    uint32_t seed = 2;
    float weights[TAPS];

    fill_floats(&seed, weights, COUNT(weights));
    for (size_t i = 0; i < 12; i++) {
        bool fused = i % 2 == 1, portable = i / 2 % 2 == 1;
        struct nuc_taps taps = {TAPS, offsets, weights, 0.3f, 1 + i / 4};
        for (size_t n = 1; n <= N; n++) {
            size_t size = (n - 1) * taps.stride + LAST + 1;
            float *in = test_malloc(size * sizeof *in), out[N];
            fill_floats(&seed, in, size);
            nuc_gemm_select(fused, portable).sum_taps(out, in, &taps, n);
            for (size_t k = 0; k < n; k++) {
                float want = taps.start;
                for (size_t t = 0; t < TAPS; t++)
                    want = add_product(want, weights[t], in[offsets[t] + k * taps.stride], fused);
                assert_true(out[k] == want);
            }
            test_free(in);
        }
    }
}

/* ---- rules ---- */

struct conv_case {
    const char *name;
    bool channels_last;
    int64_t channels, filters, groups, size, kernel; /* square */
    bool transposed;
    struct nuc_order want;
};

/* Position of a product in the sum: its channel and its row and column in the kernel. */
struct place {
    int64_t channel, y, x;
};

static struct place place_of(const struct conv_case *k, int64_t channels, int64_t i)
{
    int64_t taps = k->kernel * k->kernel;

    switch (k->want.taps) {
    case NUC_CHANNELS_OUTERMOST:
        return (struct place){i / taps, i % taps / k->kernel, i % k->kernel};
    case NUC_COLUMNS_OUTERMOST:
        return (struct place){i % channels, i / channels % k->kernel, i / channels / k->kernel};
    case NUC_TAPS_BACKWARDS:
        return (struct place){i % channels, k->kernel - 1 - i / channels / k->kernel,
                              k->kernel - 1 - i / channels % k->kernel};
    case NUC_CHANNELS_INNERMOST:
    default:
        return (struct place){i % channels, i / channels / k->kernel, i / channels % k->kernel};
    }
}

/* Stride 1 and no padding; a transposed convolution reads the kernel mirrored and pads by kernel - 1. */
static float term(const struct conv_case *k, const float *in, int64_t channel, struct place p, int64_t y, int64_t x)
{
    int64_t back = k->transposed ? k->kernel - 1 : 0, iy = y + p.y - back, ix = x + p.x - back;

    if (iy < 0 || iy >= k->size || ix < 0 || ix >= k->size)
        return 0.0f;
    return in[(channel * k->size + iy) * k->size + ix];
}

static float weight_at(const struct conv_case *k, const float *w, int64_t f, int64_t channel, struct place p)
{
    int64_t cg = k->channels / k->groups, last = k->kernel - 1;

    if (k->transposed)
        return w[((channel * k->filters + f) * k->kernel + last - p.y) * k->kernel + last - p.x];
    return w[((f * cg + channel) * k->kernel + p.y) * k->kernel + p.x];
}

static float conv_at(const struct conv_case *k, const float *in, const float *w, float bias, int64_t f, int64_t y,
                     int64_t x)
{
    int64_t cg = k->channels / k->groups, first = f / (k->filters / k->groups) * cg, taps = k->kernel * k->kernel;
    int64_t block = k->want.block == 0 || (int64_t)k->want.block > cg ? cg : (int64_t)k->want.block;
    bool parts = block < cg || k->want.tap_sums;
    float total = k->want.bias_first ? bias : 0.0f;

    for (int64_t c = 0; c < cg; c += block) {
        int64_t count = cg - c < block ? cg - c : block;
        float part = parts ? 0.0f : total;
        for (int64_t i = 0; i < count * taps; i++) {
            struct place p = place_of(k, count, i);
            part = add_product(part, weight_at(k, w, f, c + p.channel, p), term(k, in, first + c + p.channel, p, y, x),
                               k->want.fused);
            if (k->want.tap_sums && (i + 1) % count == 0) {
                total += part;
                part = 0.0f;
            }
        }
        total = parts ? total + part : part;
    }
    return k->want.bias_first ? total : total + bias;
}

static struct nuc_graph *conv_graph(const struct conv_case *k, const float *w, const float *bias)
{
    const int64_t inputs = k->channels / k->groups, size = k->size, kernel = k->kernel;
    const int64_t shape[4] = {1, k->channels, size, size};
    const int64_t weight[4] = {k->transposed ? k->channels : k->filters, k->transposed ? k->filters : inputs, kernel,
                               kernel};
    struct nuc_graph *g =
        graph_of("$x = input : float32%s%s; $w = buffer : float32%s; $b = buffer : float32%s\n"
                 "$y = aten.%s($x, $w, $b, groups=%d)",
                 list_of(shape, 4), k->channels_last ? " channels-last" : "", list_of(weight, 4),
                 list_of(&k->filters, 1), k->transposed ? "conv_transpose2d.input" : "conv2d.default", (int)k->groups);

    bind(g, "w", w);
    bind(g, "b", bias);
    return g;
}

static void check_case(const struct conv_case *k)
{
    int64_t out_size = k->transposed ? k->size + k->kernel - 1 : k->size - k->kernel + 1;
    size_t n_in = (size_t)(k->channels * k->size * k->size);
    size_t n_w = (size_t)(k->channels / k->groups * k->filters * k->kernel * k->kernel);
    float *in = test_malloc(n_in * sizeof *in), *w = test_malloc(n_w * sizeof *w), bias[64];
    float *out = test_malloc((size_t)(k->filters * out_size * out_size) * sizeof *out);
    uint32_t seed = 3;

    fill_floats(&seed, in, n_in);
    fill_floats(&seed, w, n_w);
    fill_floats(&seed, bias, COUNT(bias));
    struct nuc_graph *g = conv_graph(k, w, bias);
    evaluate(g, in, out);
    for (int64_t i = 0; i < k->filters * out_size * out_size; i++) {
        int64_t f = i / (out_size * out_size), y = i / out_size % out_size, x = i % out_size;
        float want = conv_at(k, in, w, bias[f], f, y, x);
        if (out[i] != want)
            fail_msg("%s: element %lld is %.9g instead of %.9g", k->name, (long long)i, (double)out[i], (double)want);
    }
    free_graph(g);
    test_free(in);
    test_free(w);
    test_free(out);
}

/* One case of every row of the table in eval_order.c. */
static void rules_hold(void **state)
{
    static const struct conv_case cases[] = {
        {"small", false, 5, 6, 1, 9, 3, false, {.bias_first = true, .taps = NUC_CHANNELS_OUTERMOST}},
        {"small, channels last", true, 5, 6, 1, 9, 3, false, {.taps = NUC_CHANNELS_INNERMOST}},
        {"small, transposed", false, 5, 6, 1, 6, 3, true, {.taps = NUC_TAPS_BACKWARDS, .tap_sums = true}},
        {"pointwise, small", false, 37, 6, 1, 9, 1, false, {.bias_first = true, .taps = NUC_CHANNELS_OUTERMOST}},
        {"depthwise", false, 6, 6, 6, 9, 3, false, {.fused = true, .bias_first = true, .taps = NUC_CHANNELS_INNERMOST}},
        {"depthwise, channels last", true, 6, 6, 6, 9, 3, false, {.fused = true, .taps = NUC_CHANNELS_INNERMOST}},
        {"general", false, 35, 5, 1, 12, 5, false, {.fused = true, .taps = NUC_CHANNELS_INNERMOST, .block = 16}},
        {"general, channels last", true, 35, 5, 1, 12, 5, false, {.fused = true, .taps = NUC_CHANNELS_INNERMOST}},
        {"one channel, channels last", true, 1, 5, 1, 12, 5, false, {.fused = true, .taps = NUC_COLUMNS_OUTERMOST}},
        {"pointwise, 14 rows", false, 180, 5, 1, 14, 1, false, {true, true, NUC_CHANNELS_INNERMOST, .block = 80}},
        {"pointwise, 7 rows", false, 600, 5, 1, 7, 1, false, {true, true, NUC_CHANNELS_INNERMOST, .block = 256}},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        check_case(&cases[i]);
}

/* linear adds its bias to the sum; addmm with a matrix as it lies starts with it. */
static void matrix_rules_hold(void **state)
{
    enum { K = 41, COLUMNS = 5 };
    float in[K], weight[K * COLUMNS], bias[COLUMNS], out[COLUMNS];
    uint32_t seed = 4;

    fill_floats(&seed, in, COUNT(in));
    fill_floats(&seed, weight, COUNT(weight));
    fill_floats(&seed, bias, COUNT(bias));
    for (int linear = 0; linear < 2; linear++) {
        struct nuc_graph *g =
            graph_of("$x = input : float32[1, 41]; $b = buffer : float32[5]; $w = buffer : float32[%s]\n"
                     "$y = aten.%s",
                     linear ? "5, 41" : "41, 5", linear ? "linear.default($x, $w, $b)" : "addmm.default($b, $x, $w)");
        bind(g, "w", weight);
        bind(g, "b", bias);
        evaluate(g, in, out);
        for (size_t j = 0; j < COLUMNS; j++) {
            float want = linear ? 0.0f : bias[j];
            for (size_t k = 0; k < K; k++)
                want += product(in[k], linear ? weight[j * K + k] : weight[k * COLUMNS + j]);
            want += linear ? bias[j] : 0.0f;
            assert_true(out[j] == want);
        }
        free_graph(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_agree),
        cmocka_unit_test(taps_agree),
        cmocka_unit_test(rules_hold),
        cmocka_unit_test(matrix_rules_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
