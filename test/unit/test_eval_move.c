/* Operators that move elements, and windows of other ranks, against plain loops on seeded random shapes. */
#include "unit/eval_graphs.h"

#include <math.h>

/* ---- moving ---- */

enum { A = 3, B = 4, C = 5, COUNT_ABC = A * B * C };

#define ABC "$x = input : float32[3, 4, 5]; "

static void transpose_and_t(void **state)
{
    uint32_t seed = 1;
    float in[COUNT_ABC], out[COUNT_ABC];
    struct nuc_graph *g = graph_of(ABC "$y = aten.transpose.int($x, -1, 0)");

    (void)state;
    fill_floats(&seed, in, COUNT_ABC);
    evaluate(g, in, out);
    for (int i = 0; i < COUNT_ABC; i++)
        assert_true(out[i] == in[(i % A * B + i / A % B) * C + i / A / B]);
    free_graph(g);

    g = graph_of("$x = input : float32[3, 20]; $y = aten.t.default($x)");
    evaluate(g, in, out);
    for (int i = 0; i < COUNT_ABC; i++)
        assert_true(out[i] == in[i % A * B * C + i / A]);
    free_graph(g);
}

/* start, end and step along each dimension, negative bounds and bounds beyond the end included. */
static void slices(void **state)
{
    const int64_t sizes[3] = {A, B, C}, inner[3] = {B * C, C, 1};
    uint32_t seed = 2;

    (void)state;
    for (int i = 0; i < 60; i++) {
        float in[COUNT_ABC], out[COUNT_ABC];
        int64_t dim = next_int(&seed, 0, 2), step = next_int(&seed, 1, 3);
        int64_t start = next_int(&seed, -6, 6), end = next_int(&seed, -6, 8), n = 0;
        struct nuc_graph *g = graph_of(ABC "$y = %s($x, %d, %d, %d, %d)",
                                       i % 2 == 0 ? "aten.slice.Tensor" : "edge.aten.slice_copy.Tensor", (int)dim,
                                       (int)start, (int)end, (int)step);
        fill_floats(&seed, in, COUNT_ABC);
        int64_t first = start < 0 ? start + sizes[dim] : start, last = end < 0 ? end + sizes[dim] : end;
        first = first < 0 ? 0 : first;
        int64_t count = nuc_elements(evaluate(g, in, out));
        for (int64_t k = 0; k < COUNT_ABC; k++) {
            int64_t at = k / inner[dim] % sizes[dim];
            if (at >= first && at < last && (at - first) % step == 0)
                assert_true(out[n++] == in[k]);
        }
        assert_int_equal(count, n);
        free_graph(g);
    }
}

/* Every part of a split is a slice; parts are read through getitem. */
static void splits(void **state)
{
    static const struct {
        const char *call;
        int64_t sizes[3]; /* of the parts along dimension 2 */
    } cases[] = {{"aten.split.Tensor($x, 2, -1)", {2, 2, 1}},
                 {"aten.chunk.default($x, 3, -1)", {2, 2, 1}},
                 {"aten.split.default($x, [1, 3, 1], -1)", {1, 3, 1}},
                 {"aten.split_with_sizes.default($x, [2, 1, 2], -1)", {2, 1, 2}},
                 {"edge.aten.split_with_sizes_copy.default($x, [4, 0, 1], -1)", {4, 0, 1}}};
    uint32_t seed = 3;

    (void)state;
    for (size_t i = 0; i < COUNT(cases) * 3; i++) {
        float in[COUNT_ABC], out[COUNT_ABC];
        int64_t part = (int64_t)i % 3, before = 0, size = cases[i / 3].sizes[part];
        struct nuc_graph *g = graph_of(ABC "$s = %s; $y = getitem($s, %d)", cases[i / 3].call, (int)part);
        fill_floats(&seed, in, COUNT_ABC);
        assert_int_equal(node_of(g, "s")->n_vals, 3);
        assert_int_equal(evaluate(g, in, out)->sizes[2], size);
        for (int64_t p = 0; p < part; p++)
            before += cases[i / 3].sizes[p];
        for (int64_t k = 0; k < A * B * size; k++)
            assert_true(out[k] == in[k / size * C + before + k % size]);
        free_graph(g);
    }
}

/* x, a constant and x again, along every dimension. */
static void cats(void **state)
{
    const int64_t sizes[3] = {A, B, C}, inner[3] = {B * C, C, 1};
    uint32_t seed = 4;

    (void)state;
    for (int64_t dim = 0; dim < 3; dim++) {
        float in[COUNT_ABC], other[2 * COUNT_ABC], out[4 * COUNT_ABC];
        int64_t shape[3] = {A, B, C};
        shape[dim] *= 2;
        struct nuc_graph *g = graph_of(ABC "$c = buffer : float32%s; $y = %saten.cat.default([$x, $c, $x], %d)",
                                       list_of(shape, 3), dim == 1 ? "edge." : "", (int)dim - 3);
        fill_floats(&seed, in, COUNT_ABC);
        fill_floats(&seed, other, COUNT(other));
        bind(g, "c", other);
        assert_int_equal(evaluate(g, in, out)->sizes[dim], 4 * sizes[dim]);
        for (int64_t k = 0; k < 4 * COUNT_ABC; k++) {
            int64_t size = sizes[dim], at = k / inner[dim] % (4 * size), outer = k / inner[dim] / (4 * size);
            int64_t rest = k % inner[dim];
            float want = at < size       ? in[(outer * size + at) * inner[dim] + rest]
                         : at < 3 * size ? other[(outer * 2 * size + at - size) * inner[dim] + rest]
                                         : in[(outer * size + at - 3 * size) * inner[dim] + rest];
            assert_true(out[k] == want);
        }
        free_graph(g);
    }
}

static void scatters(void **state)
{
    uint32_t seed = 5;
    float in[COUNT_ABC], src[A * 2 * C], out[COUNT_ABC];
    struct nuc_graph *g =
        graph_of(ABC "$c = buffer : float32[3, 2, 5]; $y = edge.aten.slice_scatter.default($x, $c, 1, -3, step=2)");

    (void)state;
    fill_floats(&seed, src, COUNT(src));
    fill_floats(&seed, in, COUNT_ABC);
    bind(g, "c", src);
    evaluate(g, in, out);
    for (int i = 0; i < COUNT_ABC; i++) {
        int a = i / B / C, b = i / C % B;
        assert_true(out[i] == (b == 1 || b == 3 ? src[(a * 2 + b / 2) * C + i % C] : in[i]));
    }
    free_graph(g);
}

/* [4, 1] seen as [3, 4, 5]; copy() takes src into the shape of self. */
static void expand_and_copy(void **state)
{
    const float in[B] = {1.0f, 2.0f, 3.0f, 4.0f};

    (void)state;
    for (int copies = 0; copies < 2; copies++) {
        float out[COUNT_ABC];
        struct nuc_graph *g =
            graph_of("$x = input : float32[4, 1]; $c = buffer : float32[3, 4, 5] values(0); $y = %s",
                     copies ? "edge.aten.copy.default($c, $x)" : "edge.aten.expand_copy.default($x, [3, -1, 5])");
        assert_int_equal(nuc_elements(evaluate(g, in, out)), COUNT_ABC);
        for (int i = 0; i < COUNT_ABC; i++)
            assert_true(out[i] == in[i / C % B]);
        free_graph(g);
    }
}

/* The memory of a channels-last tensor is looked at, not its logical order. */
static void as_strided(void **state)
{
    enum { CH = 3, H = 2, W = 4 };
    uint32_t seed = 6;
    float in[CH * H * W], out[6];

    (void)state;
    fill_floats(&seed, in, COUNT(in));
    for (int last = 0; last < 2; last++) {
        struct nuc_graph *g = graph_of(
            "$x = input : float32[1, 3, 2, 4]%s; $y = edge.aten.as_strided_copy.default($x, [2, 3], [7, 2], 5)",
            last ? " channels-last" : "");
        evaluate(g, in, out);
        for (int i = 0; i < 6; i++) {
            int place = 5 + i / 3 * 7 + i % 3 * 2; /* channels last: ((h * W) + w) * CH + ch */
            int logical = last ? (place % CH * H + place / CH / W) * W + place / CH % W : place;
            assert_true(out[i] == in[logical]);
        }
        free_graph(g);
    }
}

/* x[:, i, j] with i [2, 1] and j [3], negative indices included, and x[i, :, k] whose picks go in front. */
static void indices(void **state)
{
    const int64_t i[2] = {-1, 2}, j[3] = {0, 4, -2};
    uint32_t seed = 7;
    float in[COUNT_ABC], out[COUNT_ABC];

    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        struct nuc_graph *g = graph_of(ABC "$i = buffer : int64[2, 1] values(-1, 2); $j = buffer : int64[3] "
                                           "values(0, 4, -2); $y = edge.aten.index.Tensor($x, [%s])",
                                       apart ? "$i, none, $j" : "none, $i, $j");
        fill_floats(&seed, in, COUNT_ABC);
        int64_t count = nuc_elements(evaluate(g, in, out));
        assert_int_equal(count, apart ? 2 * 3 * B : A * 2 * 3);
        for (int64_t k = 0; k < count; k++) {
            int64_t pick = apart ? k / B : k % 6, kept = apart ? k % B : k / 6;
            int64_t p = i[pick / 3] < 0 ? i[pick / 3] + (apart ? A : B) : i[pick / 3];
            int64_t q = j[pick % 3] < 0 ? j[pick % 3] + C : j[pick % 3];
            assert_true(out[k] == (apart ? in[(p * B + kept) * C + q] : in[(kept * B + p) * C + q]));
        }
        free_graph(g);
    }
}

static void numbers_become_tensors(void **state)
{
    int64_t range[4];
    float zeros[6], in[1] = {0.0f};
    struct nuc_graph *g =
        graph_of("$x = input : float32[1]; $y = edge.aten.arange.start_step(3.0, -4.0, -2.0, dtype=int64)");

    (void)state;
    evaluate(g, in, range);
    assert_memory_equal(range, ((const int64_t[]){3, 1, -1, -3}), sizeof range);
    free_graph(g);
    g = graph_of("$x = input : float32[1]; $y = aten.zeros.default([2, 3])");
    memset(zeros, 1, sizeof zeros);
    evaluate(g, in, zeros);
    for (int i = 0; i < 6; i++)
        assert_true(zeros[i] == 0.0f);
    free_graph(g);
}

/* ---- resizing ---- */

/* Coordinate of an output pixel in the input, and the value there by linear interpolation, in double. */
static double linear_at(const float *in, int64_t size, int64_t stride, double at)
{
    double source = at < 0.0 ? 0.0 : at;
    int64_t first = (int64_t)source < size - 1 ? (int64_t)source : size - 1, second = first + (first < size - 1);
    double weight = fmin(source - (double)first, 1.0);

    return (double)in[first * stride] * (1.0 - weight) + (double)in[second * stride] * weight;
}

static double bilinear_at(const float *in, int64_t h, int64_t w, double y, double x)
{
    float column[16];

    for (int64_t i = 0; i < h; i++)
        column[i] = (float)linear_at(in + i * w, w, 1, x);
    return linear_at(column, h, 1, y);
}

static void upsample_bilinear(void **state)
{
    uint32_t seed = 8;

    (void)state;
    for (int i = 0; i < 40; i++) {
        int64_t h = next_int(&seed, 1, 6), w = next_int(&seed, 1, 6);
        int64_t oh = h * next_int(&seed, 1, 3), ow = w + next_int(&seed, 0, 5);
        bool align = i % 2 == 0;
        float in[2 * 36], out[2 * 18 * 11];
        fill_floats(&seed, in, COUNT(in));
        struct nuc_graph *g =
            graph_of("$x = input : float32[1, 2, %d, %d]; $y = %saten.upsample_bilinear2d.vec($x, [%d, %d], %s, none)",
                     (int)h, (int)w, i % 4 < 2 ? "" : "edge.", (int)oh, (int)ow, align ? "true" : "false");
        evaluate(g, in, out);
        for (int64_t k = 0; k < 2 * oh * ow; k++) {
            int64_t y = k / ow % oh, x = k % ow;
            double sy = align ? (oh > 1 ? (double)y * (double)(h - 1) / (double)(oh - 1) : 0.0)
                              : ((double)y + 0.5) * (double)h / (double)oh - 0.5;
            double sx = align ? (ow > 1 ? (double)x * (double)(w - 1) / (double)(ow - 1) : 0.0)
                              : ((double)x + 0.5) * (double)w / (double)ow - 0.5;
            assert_true(fabs((double)out[k] - bilinear_at(in + k / ow / oh * h * w, h, w, sy, sx)) < 2e-6);
        }
        free_graph(g);
    }
}

static void upsample_nearest(void **state)
{
    uint32_t seed = 9;

    (void)state;
    for (int64_t factor = 1; factor < 5; factor++) {
        int64_t h = next_int(&seed, 1, 5), w = next_int(&seed, 1, 5);
        float in[75], out[75 * 16];
        fill_floats(&seed, in, COUNT(in));
        struct nuc_graph *g =
            graph_of("$x = input : float32[1, 3, %d, %d]; $y = %saten.upsample_nearest2d.vec($x, [%d, %d], none)",
                     (int)h, (int)w, factor % 2 == 0 ? "" : "edge.", (int)(h * factor), (int)(w * factor));
        evaluate(g, in, out);
        for (int64_t k = 0; k < 3 * h * w * factor * factor; k++) {
            int64_t x = k % (w * factor) / factor, y = k / (w * factor) % (h * factor) / factor;
            int64_t c = k / (w * factor) / (h * factor);
            assert_true(out[k] == in[(c * h + y) * w + x]);
        }
        free_graph(g);
    }
}

static void pools_of_lines(void **state)
{
    uint32_t seed = 10;

    (void)state;
    for (int i = 0; i < 30; i++) {
        int64_t n = next_int(&seed, 6, 20), kernel = next_int(&seed, 2, 4), stride = next_int(&seed, 1, 3);
        int64_t padding = next_int(&seed, 0, kernel / 2);
        bool max = i % 2 == 0;
        float in[3 * 20], out[3 * 30];
        fill_floats(&seed, in, COUNT(in));
        struct nuc_graph *g = graph_of("$x = input : float32[3, %d]; $y = aten.%s_pool1d.default($x, [%d], [%d], [%d])",
                                       (int)n, max ? "max" : "avg", (int)kernel, (int)stride, (int)padding);
        int64_t count = evaluate(g, in, out)->sizes[1];
        assert_int_equal(count, (n + 2 * padding - kernel) / stride + 1);
        for (int64_t k = 0; k < 3 * count; k++) {
            float best = -INFINITY, sum = 0.0f;
            for (int64_t t = 0; t < kernel; t++) {
                int64_t at = k % count * stride - padding + t;
                if (at < 0 || at >= n)
                    continue;
                best = fmaxf(best, in[k / count * n + at]);
                sum += in[k / count * n + at];
            }
            assert_true(out[k] == (max ? best : sum / (float)kernel));
        }
        free_graph(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transpose_and_t),
        cmocka_unit_test(slices),
        cmocka_unit_test(splits),
        cmocka_unit_test(cats),
        cmocka_unit_test(scatters),
        cmocka_unit_test(expand_and_copy),
        cmocka_unit_test(as_strided),
        cmocka_unit_test(indices),
        cmocka_unit_test(numbers_become_tensors),
        cmocka_unit_test(upsample_bilinear),
        cmocka_unit_test(upsample_nearest),
        cmocka_unit_test(pools_of_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
