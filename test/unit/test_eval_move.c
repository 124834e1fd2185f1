/* Operators that move elements, and windows of other ranks, against plain loops on seeded random shapes. */
#include "unit/eval_graphs.h"

#include <math.h>

/* ---- moving ---- */

enum { A = 3, B = 4, C = 5, COUNT_ABC = A * B * C };

static struct nuc_node *input_abc(struct nuc_graph *g, float *in, uint32_t *seed)
{
    fill_floats(seed, in, COUNT_ABC);
    return add_input(g, NUC_F32, SHAPE(A, B, C));
}

static void transpose_and_t(void **state)
{
    uint32_t seed = 1;
    float in[COUNT_ABC], out[COUNT_ABC];

    (void)state;
    struct nuc_graph *g = new_graph();
    struct nuc_node *node = add_node(g, NUC_OP_TRANSPOSE, input_abc(g, in, &seed));
    nuc_set_arg_int(node, 1, -1);
    nuc_set_arg_int(node, 2, 0);
    run_node(g, node, in, out);
    for (int i = 0; i < COUNT_ABC; i++)
        assert_true(out[i] == in[(i % A * B + i / A % B) * C + i / A / B]);
    free_graph(g);

    g = new_graph();
    run_node(g, add_node(g, NUC_OP_T, add_input(g, NUC_F32, SHAPE(A, B * C))), in, out);
    for (int i = 0; i < COUNT_ABC; i++)
        assert_true(out[i] == in[i % A * B * C + i / A]);
    free_graph(g);
}

/* start, end and step along each dimension, negative bounds and bounds behind the end included. */
static void slices(void **state)
{
    const int64_t sizes[3] = {A, B, C}, inner[3] = {B * C, C, 1};
    uint32_t seed = 2;

    (void)state;
    for (int i = 0; i < 60; i++) {
        struct nuc_graph *g = new_graph();
        float in[COUNT_ABC], out[COUNT_ABC];
        int64_t dim = next_int(&seed, 0, 2), step = next_int(&seed, 1, 3);
        int64_t start = next_int(&seed, -6, 6), end = next_int(&seed, -6, 8), n = 0;
        struct nuc_node *node = add_node(g, i % 2 == 0 ? NUC_OP_SLICE : NUC_OP_SLICE, input_abc(g, in, &seed));
        nuc_set_arg_int(node, 1, dim);
        nuc_set_arg_int(node, 2, start);
        nuc_set_arg_int(node, 3, end);
        nuc_set_arg_int(node, 4, step);
        int64_t first = start < 0 ? start + sizes[dim] : start, last = end < 0 ? end + sizes[dim] : end;
        first = first < 0 ? 0 : first;
        int64_t count = nuc_elements(run_node(g, node, in, out));
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
        enum nuc_op op;
        int64_t sizes[3]; /* of the parts along dimension 2 */
        int64_t number;   /* split_size or chunks, 0: a list */
    } cases[] = {{NUC_OP_SPLIT, {2, 2, 1}, 2},
                 {NUC_OP_CHUNK, {2, 2, 1}, 3},
                 {NUC_OP_SPLIT_SIZES, {1, 3, 1}, 0},
                 {NUC_OP_SPLIT_WITH_SIZES, {2, 1, 2}, 0},
                 {NUC_OP_SPLIT_WITH_SIZES, {4, 0, 1}, 0}};
    uint32_t seed = 3;

    (void)state;
    for (size_t i = 0; i < COUNT(cases) * 3; i++) {
        struct nuc_graph *g = new_graph();
        float in[COUNT_ABC], out[COUNT_ABC];
        int64_t part = (int64_t)i % 3, before = 0, size = cases[i / 3].sizes[part];
        struct nuc_node *node = add_node(g, cases[i / 3].op, input_abc(g, in, &seed));
        if (cases[i / 3].number != 0)
            nuc_set_arg_int(node, 1, cases[i / 3].number);
        else
            set_ints(g, node, 1, cases[i / 3].sizes, 3);
        nuc_set_arg_int(node, 2, -1);
        nuc_infer_shape(g, node);
        assert_int_equal(node->n_vals, 3);
        struct nuc_node *item = add_node(g, NUC_OP_GETITEM, node);
        nuc_set_arg_int(item, 1, part);
        assert_int_equal(run_node(g, item, in, out)->sizes[2], size);
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
        struct nuc_graph *g = new_graph();
        float in[COUNT_ABC], other[2 * COUNT_ABC], out[4 * COUNT_ABC];
        int64_t shape[3] = {A, B, C};
        shape[dim] *= 2;
        struct nuc_node *x = input_abc(g, in, &seed);
        fill_floats(&seed, other, COUNT(other));
        struct nuc_node *c = add_constant(g, NUC_F32, shape, 3, other);
        struct nuc_node *node = nuc_add_node(g, NULL, dim == 1 ? NUC_OP_CAT : NUC_OP_CAT, NULL);
        nuc_set_arg_nodes(node, g, 0, (struct nuc_node *const[]){x, c, x}, 3);
        nuc_set_arg_int(node, 1, dim - 3);
        assert_int_equal(run_node(g, node, in, out)->sizes[dim], 4 * sizes[dim]);
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
    struct nuc_graph *g = new_graph();

    (void)state;
    fill_floats(&seed, src, COUNT(src));
    struct nuc_node *x = input_abc(g, in, &seed);
    struct nuc_node *c = add_constant(g, NUC_F32, SHAPE(A, 2, C), src);
    struct nuc_node *node = add_node(g, NUC_OP_SLICE_SCATTER, x);
    nuc_set_arg_node(node, g, 1, c);
    nuc_set_arg_int(node, 2, 1);
    nuc_set_arg_int(node, 3, -3);
    nuc_set_arg_int(node, 5, 2);
    run_node(g, node, in, out);
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
        struct nuc_graph *g = new_graph();
        float out[COUNT_ABC], zeros[COUNT_ABC] = {0.0f};
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(B, 1));
        struct nuc_node *self = add_constant(g, NUC_F32, SHAPE(A, B, C), zeros);
        struct nuc_node *node = add_node(g, copies ? NUC_OP_COPY : NUC_OP_EXPAND, copies ? self : x);
        if (copies)
            nuc_set_arg_node(node, g, 1, x);
        else
            set_ints(g, node, 1, INTS(A, -1, C));
        assert_int_equal(nuc_elements(run_node(g, node, in, out)), COUNT_ABC);
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
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(1, CH, H, W));
        if (last)
            nuc_set_channels_last(&x->vals[0]);
        struct nuc_node *node = add_node(g, NUC_OP_AS_STRIDED, x);
        set_ints(g, node, 1, INTS(2, 3));
        set_ints(g, node, 2, INTS(7, 2));
        nuc_set_arg_int(node, 3, 5);
        run_node(g, node, in, out);
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
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = input_abc(g, in, &seed);
        struct nuc_node *first = add_constant(g, NUC_I64, SHAPE(2, 1), i);
        struct nuc_node *second = add_constant(g, NUC_I64, SHAPE(3), j);
        struct nuc_node *list[3] = {apart ? first : NULL, apart ? NULL : first, second};
        struct nuc_node *node = add_node(g, NUC_OP_INDEX, x);
        nuc_set_arg_nodes(node, g, 1, list, 3);
        int64_t count = nuc_elements(run_node(g, node, in, out));
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
    struct nuc_graph *g = new_graph();

    (void)state;
    add_input(g, NUC_F32, SHAPE(1));
    struct nuc_node *node = nuc_add_node(g, NULL, NUC_OP_ARANGE, NULL);
    nuc_set_arg_float(node, 0, 3.0);
    nuc_set_arg_float(node, 1, -4.0);
    nuc_set_arg_float(node, 2, -2.0);
    nuc_set_arg_dtype(node, 3, NUC_I64);
    run_node(g, node, in, range);
    assert_memory_equal(range, ((const int64_t[]){3, 1, -1, -3}), sizeof range);
    free_graph(g);

    g = new_graph();
    add_input(g, NUC_F32, SHAPE(1));
    node = nuc_add_node(g, NULL, NUC_OP_ZEROS, NULL);
    set_ints(g, node, 0, INTS(2, 3));
    memset(zeros, 1, sizeof zeros);
    run_node(g, node, in, zeros);
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
        struct nuc_graph *g = new_graph();
        int64_t h = next_int(&seed, 1, 6), w = next_int(&seed, 1, 6);
        int64_t oh = h * next_int(&seed, 1, 3), ow = w + next_int(&seed, 0, 5);
        bool align = i % 2 == 0;
        float in[2 * 36], out[2 * 18 * 11];
        fill_floats(&seed, in, COUNT(in));
        struct nuc_node *node = add_node(g, i % 4 < 2 ? NUC_OP_UPSAMPLE_BILINEAR : NUC_OP_UPSAMPLE_BILINEAR,
                                         add_input(g, NUC_F32, SHAPE(1, 2, h, w)));
        set_ints(g, node, 1, INTS(oh, ow));
        nuc_set_arg_bool(node, 2, align);
        run_node(g, node, in, out);
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
        struct nuc_graph *g = new_graph();
        int64_t h = next_int(&seed, 1, 5), w = next_int(&seed, 1, 5);
        float in[75], out[75 * 16];
        fill_floats(&seed, in, COUNT(in));
        struct nuc_node *node = add_node(g, factor % 2 == 0 ? NUC_OP_UPSAMPLE_NEAREST : NUC_OP_UPSAMPLE_NEAREST,
                                         add_input(g, NUC_F32, SHAPE(1, 3, h, w)));
        set_ints(g, node, 1, INTS(h * factor, w * factor));
        run_node(g, node, in, out);
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
        struct nuc_graph *g = new_graph();
        int64_t n = next_int(&seed, 6, 20), kernel = next_int(&seed, 2, 4), stride = next_int(&seed, 1, 3);
        int64_t padding = next_int(&seed, 0, kernel / 2);
        bool max = i % 2 == 0;
        float in[3 * 20], out[3 * 30];
        fill_floats(&seed, in, COUNT(in));
        struct nuc_node *node =
            add_node(g, max ? NUC_OP_MAX_POOL1D : NUC_OP_AVG_POOL1D, add_input(g, NUC_F32, SHAPE(3, n)));
        set_ints(g, node, 1, &kernel, 1);
        set_ints(g, node, 2, &stride, 1);
        set_ints(g, node, 3, &padding, 1);
        int64_t count = run_node(g, node, in, out)->sizes[1];
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
