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

/* A sum that is half way between two floats once it is rounded to double: rounded once, it is the lower one. */
static void half_way_is_rounded_once(void **state)
{
    const float a = 1 + 0x1p-15f;
    float panel[NUC_TILE_COLUMNS] = {[3] = 1 - 0x1p-15f, [9] = 1};

    for (size_t portable = 0; portable < 2; portable++) {
        float tile[NUC_TILE_COLUMNS] = {[3] = 0x1p24f + 2, [9] = 1};
        nuc_gemm_select(true, portable == 1).tile(&a, 1, panel, 1, 1, tile);
        assert_true(tile[3] == 0x1p24f + 2 && tile[9] == 2 + 0x1p-15f && tile[0] == 0);
    }
}

/* Rows in fours and single ones, columns in threes, twos and a single vector. */
static void blocks_agree(void **state)
{
    enum { K = 19, ROWS = 7, MOST_LANES = 16, COLUMNS = 8 * MOST_LANES };
    uint32_t seed = 5;
    float a[ROWS * K], b[K * COLUMNS], start[ROWS], out[ROWS * COLUMNS];

    fill_floats(&seed, a, COUNT(a));
    fill_floats(&seed, b, COUNT(b));
    fill_floats(&seed, start, COUNT(start));
    for (size_t i = 0; i < 4 * ROWS * 8; i++) {
        bool fused = i % 2 == 1, portable = i / 2 % 2 == 1;
        const struct nuc_gemm gemm = nuc_gemm_select(fused, portable);
        size_t rows = 1 + i / 4 % ROWS, columns = gemm.lanes * (1 + i / 4 / ROWS);
        assert_true(columns <= COLUMNS);
        gemm.block(&(struct nuc_block){a, K, b, K, rows, columns, start, out});
        for (size_t j = 0; j < rows * columns; j++) {
            float want = start[j / columns];
            for (size_t k = 0; k < K; k++)
                want = add_product(want, a[j / columns * K + k], b[k * columns + j % columns], fused);
            assert_true(out[j] == want);
        }
    }
}

static void taps_agree(void **state)
{
    /* Nine taps, and any others; the last position that is read is the last there is. */
    enum { TAPS = 9, LAST = 40 };
    static const size_t offsets[TAPS] = {0, 3, 1, 7, 19, LAST, 20, 2, 11};
    uint32_t seed = 2;
    float weights[TAPS];

    fill_floats(&seed, weights, COUNT(weights));
    for (size_t i = 0; i < 24; i++) {
        bool fused = i % 2 == 1, portable = i / 2 % 2 == 1;
        struct nuc_taps taps = {i / 4 % 2 == 0 ? TAPS : TAPS - 2, offsets, weights, 0.3f};
        size_t n = (1 + i / 8) * NUC_TAPS_STEP;
        float *in = test_malloc((n + LAST) * sizeof *in), out[3 * NUC_TAPS_STEP];
        fill_floats(&seed, in, n + LAST);
        nuc_gemm_select(fused, portable).taps(&taps, in, n, out);
        for (size_t k = 0; k < n; k++) {
            float want = taps.start;
            for (size_t t = 0; t < taps.count; t++)
                want = add_product(want, weights[t], in[offsets[t] + k], fused);
            assert_true(out[k] == want);
        }
        test_free(in);
    }
}

/* A row narrower than a vector too, and floats that are none. */
static void rows_are_finished(void **state)
{
    enum { ROWS = 3, PITCH = 32 };
    uint32_t seed = 6;
    float sums[ROWS * PITCH + NUC_VECTOR], bias[2 * ROWS], out[ROWS * PITCH];

    fill_floats(&seed, sums, COUNT(sums));
    fill_floats(&seed, bias, COUNT(bias));
    sums[1] = NAN;
    sums[PITCH + 2] = -INFINITY;
    sums[PITCH + 3] = INFINITY;
    for (size_t i = 0; i < (size_t)8 * PITCH; i++) {
        struct nuc_finish f = {(i & 1) != 0, (i & 2) != 0, -0.5f, 0.75f, 100.0f, -60.0f, 37.0f, 0.01f};
        struct nuc_rows rows = {ROWS, 1 + i / 8, sums, PITCH, (i & 4) != 0 ? bias : NULL, 2, out, PITCH};
        for (int portable = 0; portable < 2; portable++) {
            memset(out, 0x55, sizeof out);
            nuc_gemm_select(false, portable == 1).finish(&f, &rows);
            for (size_t k = 0; k < (size_t)ROWS * PITCH; k++) {
                float want = sums[k] + (rows.bias == NULL ? 0.0f : bias[k / PITCH * 2]);
                want = f.clamps && want < f.low ? f.low : f.clamps && want > f.high ? f.high : want;
                want = f.rounds ? nuc_round_float(&f, want) : want;
                if (k % PITCH >= rows.width)
                    memset(&want, 0x55, sizeof want);
                assert_floats(&out[k], &want, 1);
            }
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

/* ---- geometry ---- */

struct geometry {
    int64_t groups, in, out; /* channels of a group */
    int64_t size[2], kernel[2], stride[2], padding[2], dilation[2], result[2];
    bool transposed;
};

static struct geometry random_geometry(uint32_t *seed)
{
    struct geometry k = {.groups = random_in(seed, 1, 3), .in = random_in(seed, 1, 4), .out = random_in(seed, 1, 18)};

    if (random_in(seed, 0, 1) == 0)
        k.in = k.out = 1;
    k.transposed = random_in(seed, 0, 3) == 0;
    for (int d = 0; d < 2; d++) {
        k.kernel[d] = random_in(seed, 1, 4);
        k.stride[d] = random_in(seed, 1, 3);
        k.dilation[d] = random_in(seed, 1, 2);
        k.padding[d] = random_in(seed, 0, 2);
        k.size[d] = k.dilation[d] * (k.kernel[d] - 1) + 1 + random_in(seed, 0, d == 0 ? 12 : 40);
        k.result[d] = (k.size[d] + 2 * k.padding[d] - k.dilation[d] * (k.kernel[d] - 1) - 1) / k.stride[d] + 1;
        if (k.transposed)
            k.result[d] = (k.size[d] - 1) * k.stride[d] - 2 * k.padding[d] + k.dilation[d] * (k.kernel[d] - 1) + 1;
    }
    return k;
}

/* Every input element times every tap, where the product belongs: whole numbers, whose sums are exact in any order. */
static void add_products(const struct geometry *k, const float *in, const float *w, float *out)
{
    int64_t taps = k->kernel[0] * k->kernel[1], pixels = k->size[0] * k->size[1];

    for (int64_t i = 0; i < k->groups * k->in * k->out * pixels * taps; i++) {
        int64_t tap = i % taps, pixel = i / taps % pixels, pair = i / taps / pixels;
        int64_t o = pair % k->out, c = pair / k->out % k->in, g = pair / k->out / k->in, at[2];
        bool inside = true;
        for (int d = 0; d < 2; d++) {
            int64_t place = d == 0 ? pixel / k->size[1] : pixel % k->size[1];
            int64_t step = k->dilation[d] * (d == 0 ? tap / k->kernel[1] : tap % k->kernel[1]);
            int64_t from = place + k->padding[d] - step;
            at[d] = k->transposed ? place * k->stride[d] - k->padding[d] + step : from / k->stride[d];
            inside = inside && at[d] >= 0 && at[d] < k->result[d] &&
                     (k->transposed || (from >= 0 && from % k->stride[d] == 0));
        }
        if (!inside)
            continue;
        float weight = w[(k->transposed ? (g * k->in + c) * k->out + o : (g * k->out + o) * k->in + c) * taps + tap];
        out[((g * k->out + o) * k->result[0] + at[0]) * k->result[1] + at[1]] +=
            weight * in[(g * k->in + c) * pixels + pixel];
    }
}

static float *whole_numbers(uint32_t *seed, int64_t count)
{
    float *numbers = test_malloc((size_t)count * sizeof *numbers);

    for (int64_t i = 0; i < count; i++)
        numbers[i] = (float)random_in(seed, -4, 4);
    return numbers;
}

static void check_geometry(const struct geometry *k, uint32_t *seed)
{
    const int64_t in[4] = {1, k->groups * k->in, k->size[0], k->size[1]};
    const int64_t w[4] = {k->transposed ? k->groups * k->in : k->groups * k->out, k->transposed ? k->out : k->in,
                          k->kernel[0], k->kernel[1]};
    int64_t n_in = in[1] * in[2] * in[3], n_out = k->groups * k->out * k->result[0] * k->result[1];
    float *x = whole_numbers(seed, n_in), *weight = whole_numbers(seed, w[0] * w[1] * w[2] * w[3]);
    float *out = whole_numbers(seed, n_out), *want = whole_numbers(seed, n_out);
    struct nuc_graph *g =
        graph_of("$x = input : float32%s; $w = buffer : float32%s\n"
                 "$y = aten.%s($x, $w, none, %s, %s, groups=%d, dilation=%s)",
                 list_of(in, 4), list_of(w, 4), k->transposed ? "conv_transpose2d.input" : "conv2d.default",
                 list_of(k->stride, 2), list_of(k->padding, 2), (int)k->groups, list_of(k->dilation, 2));

    bind(g, "w", weight);
    memset(want, 0, (size_t)n_out * sizeof *want);
    add_products(k, x, weight, want);
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        memset(out, 0x55, (size_t)n_out * sizeof *out);
        nuc_eval_run(nuc_eval_new(g, threads), (const void *const[]){x}, (void *const[]){out});
        assert_floats(out, want, (size_t)n_out);
    }
    free_graph(g);
    test_free(x);
    test_free(weight);
    test_free(out);
    test_free(want);
}

static void geometries_hold(void **state)
{
    uint32_t seed = 7;

    for (int i = 0; i < 400; i++) {
        struct geometry k = random_geometry(&seed);
        if (k.result[0] > 0 && k.result[1] > 0)
            check_geometry(&k, &seed);
    }
}

/*
 * linear adds its bias to the sum; addmm with a matrix as it lies starts with it. Constant or not, of few rows or of
 * many, which are packed for each run.
 */
static void check_product(bool linear, bool constant, size_t rows)
{
    enum { K = 41, COLUMNS = 21, MOST_ROWS = 70 };
    static float in[MOST_ROWS * K], weight[K * COLUMNS], out[MOST_ROWS * COLUMNS];
    float bias[COLUMNS];
    uint32_t seed = 4;
    char text[400];

    fill_floats(&seed, in, COUNT(in));
    fill_floats(&seed, weight, COUNT(weight));
    fill_floats(&seed, bias, COUNT(bias));
    snprintf(text, sizeof text,
             "$x = input : float32[%zu, 41]; $b = buffer : float32[21]; $%s = buffer : float32[%s]\n%s$y = aten.%s",
             rows, constant ? "w" : "c", linear ? "21, 41" : "41, 21",
             constant ? ""
                      : "$s = aten.sum.dim_IntList($x, [0, 1]); $z = aten.sub.Tensor($s, $s)\n$w = "
                        "aten.add.Tensor($c, $z); ",
             linear ? "linear.default($x, $w, $b)" : "addmm.default($b, $x, $w)");
    struct nuc_graph *g = graph_of("%s", text);
    bind(g, constant ? "w" : "c", weight);
    bind(g, "b", bias);
    evaluate(g, in, out);
    for (size_t i = 0; i < rows * COLUMNS; i++) {
        const size_t j = i % COLUMNS;
        float want = linear ? 0.0f : bias[j];
        for (size_t k = 0; k < K; k++)
            want += product(in[i / COLUMNS * K + k], linear ? weight[j * K + k] : weight[k * COLUMNS + j]);
        want += linear ? bias[j] : 0.0f;
        assert_true(out[i] == want);
    }
    free_graph(g);
}

static void matrix_rules_hold(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++)
        check_product(i & 1, i & 2, i & 4 ? 70 : 3);
}

RUN_TESTS(cmocka_unit_test(tiles_agree), cmocka_unit_test(half_way_is_rounded_once), cmocka_unit_test(blocks_agree),
          cmocka_unit_test(taps_agree), cmocka_unit_test(rows_are_finished), cmocka_unit_test(rules_hold),
          cmocka_unit_test(geometries_hold), cmocka_unit_test(matrix_rules_hold))
