/* Operators other than products and quantization, by hand-computed cases and plain loops. */
#include "unit/eval_graphs.h"

#include <math.h>

/* ---- elementwise ---- */

static void activations(void **state)
{
    const float in[] = {-3.0f, -1.0f, -0.5f, 0.0f, 0.5f, 2.0f, 7.0f, NAN};
    static const struct {
        enum nuc_op op;
        float want[8];
    } cases[] = {
        {NUC_OP_RELU, {0.0f, 0.0f, 0.0f, 0.0f, 0.5f, 2.0f, 7.0f, NAN}},
        {NUC_OP_RELU, {0.0f, 0.0f, 0.0f, 0.0f, 0.5f, 2.0f, 7.0f, NAN}},
        {NUC_OP_RELU, {0.0f, 0.0f, 0.0f, 0.0f, 0.5f, 2.0f, 7.0f, NAN}},
        {NUC_OP_RELU6, {0.0f, 0.0f, 0.0f, 0.0f, 0.5f, 2.0f, 6.0f, NAN}},
        {NUC_OP_HARDTANH, {-1.0f, -1.0f, -0.5f, 0.0f, 0.5f, 1.0f, 1.0f, NAN}},
        {NUC_OP_HARDTANH, {-1.0f, -1.0f, -0.5f, 0.0f, 0.5f, 1.0f, 1.0f, NAN}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nuc_graph *g = new_graph();
        float out[8];
        run_node(g, add_node(g, cases[i].op, add_input(g, NUC_F32, SHAPE(2, 4))), in, out);
        assert_floats(out, cases[i].want, 8);
        free_graph(g);
    }
}

/* Bounds given as integers. */
static void hardtanh_bounds(void **state)
{
    struct nuc_graph *g = new_graph();
    struct nuc_node *node = add_node(g, NUC_OP_HARDTANH, add_input(g, NUC_F32, SHAPE(3)));
    float out[3];

    (void)state;
    nuc_set_arg_int(node, 1, -2);
    nuc_set_arg_int(node, 2, 6);
    run_node(g, node, (const float[]){-3.0f, 5.0f, 6.5f}, out);
    assert_floats(out, (const float[]){-2.0f, 5.0f, 6.0f}, 3);
    free_graph(g);
}

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
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(N, C, W));
        struct nuc_node *c = add_constant(g, NUC_F32, shapes[s], 3, other);
        struct nuc_node *node = add_node(g, s % 2 == 0 ? NUC_OP_ADD : NUC_OP_ADD, x);
        nuc_set_arg_node(node, g, 1, c);
        nuc_set_arg_float(node, 2, -0.5);
        run_node(g, node, in, out);
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
    struct nuc_graph *g = new_graph();
    struct nuc_node *x = add_input(g, NUC_I32, SHAPE(3, 1));
    struct nuc_node *c = add_constant(g, NUC_I32, SHAPE(4), (const int32_t[]){1, 2, 3, 4});
    struct nuc_node *node = add_node(g, NUC_OP_ADD, x);
    int32_t out[12];

    (void)state;
    nuc_set_arg_node(node, g, 1, c);
    nuc_set_arg_int(node, 2, 10);
    run_node(g, node, (const int32_t[]){100, 200, 300}, out);
    for (int i = 0; i < 12; i++)
        assert_int_equal(out[i], 100 * (i / 4 + 1) + 10 * (i % 4 + 1));
    free_graph(g);
}

static void batch_norm(void **state)
{
    const float in[8] = {0.0f, 1.0f, 2.0f, 3.0f, 0.0f, 1.0f, 2.0f, 3.0f};
    const float mean[2] = {1.0f, 2.0f}, var[2] = {3.0f, 0.0f}, weight[2] = {4.0f, 0.5f}, bias[2] = {-1.0f, 1.0f};
    /* eps 1: 1 / sqrt(4) and 1 / sqrt(1) */
    const float plain[4] = {-0.5f, 0.0f, 0.0f, 1.0f}, affine[4] = {-3.0f, -1.0f, 1.0f, 1.5f};

    (void)state;
    for (int i = 0; i < 4; i++) {
        bool edge = i % 2 == 1, with_weight = i >= 2;
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(2, 2, 1, 2));
        struct nuc_node *params[4] = {
            add_constant(g, NUC_F32, SHAPE(2), weight), add_constant(g, NUC_F32, SHAPE(2), bias),
            add_constant(g, NUC_F32, SHAPE(2), mean), add_constant(g, NUC_F32, SHAPE(2), var)};
        struct nuc_node *node = add_node(g, edge ? NUC_OP_NATIVE_BATCH_NORM : NUC_OP_BATCH_NORM, x);
        for (uint32_t p = with_weight ? 0 : 2; p < 4; p++)
            nuc_set_arg_node(node, g, p + 1, params[p]);
        if (!edge)
            nuc_set_arg_bool(node, 5, false);
        nuc_set_arg_float(node, edge ? 5 : 6, 0.1);
        nuc_set_arg_float(node, edge ? 6 : 7, 1.0);
        if (!edge)
            nuc_set_arg_bool(node, 8, true);
        nuc_infer_shape(g, node);
        struct nuc_node *value = node;
        if (edge) {
            value = add_node(g, NUC_OP_GETITEM, node);
            nuc_set_arg_int(value, 1, 0);
        }
        float out[8];
        run_node(g, value, in, out);
        assert_floats(out, with_weight ? affine : plain, 4);
        assert_floats(out + 4, with_weight ? affine : plain, 4);
        free_graph(g);
    }
}

/* ---- pooling ---- */

struct pool_case {
    int64_t height, width, kernel[2], stride[2], padding[2], dilation[2];
    bool ceil, count_pad;
    int64_t divisor;
};

static struct nuc_node *pool_node(struct nuc_graph *g, enum nuc_op op, const struct pool_case *k, bool batched)
{
    int64_t shape[4] = {2, 3, k->height, k->width};
    struct nuc_node *x = add_input(g, NUC_F32, batched ? shape : shape + 1, batched ? 4 : 3);
    struct nuc_node *node = add_node(g, op, x);
    bool max = op == NUC_OP_MAX_POOL2D || op == NUC_OP_MAX_POOL2D_INDICES;

    set_ints(g, node, 1, k->kernel, 2);
    if (k->stride[0] != 0)
        set_ints(g, node, 2, k->stride, 2);
    set_ints(g, node, 3, k->padding, 2);
    if (max)
        set_ints(g, node, 4, k->dilation, 2);
    nuc_set_arg_bool(node, max ? 5 : 4, k->ceil);
    if (!max) {
        nuc_set_arg_bool(node, 5, k->count_pad);
        if (k->divisor != 0)
            nuc_set_arg_int(node, 6, k->divisor);
    }
    return node;
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
        bool batched = i % 3 != 0;
        float in[2 * 3 * 81], out[2 * 3 * 144];
        struct nuc_graph *g = new_graph();
        fill_floats(&seed, in, COUNT(in));
        const struct nuc_meta *m =
            run_node(g, pool_node(g, i % 2 == 0 ? NUC_OP_AVG_POOL2D : NUC_OP_AVG_POOL2D, &k, batched), in, out);
        int64_t height = m->sizes[m->rank - 2], width = m->sizes[m->rank - 1];
        for (int64_t at = 0; at < nuc_elements(m); at++) {
            const float *plane = in + at / (height * width) * k.height * k.width;
            float want = average_at(&k, plane, at % (height * width) / width, at % width);
            assert_floats(&out[at], &want, 1);
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
        struct nuc_graph *g = new_graph();
        for (int d = 0; d < 2; d++)
            k.dilation[d] = next_int(&seed, 1, k.kernel[d] == 3 ? 1 : 2);
        fill_floats(&seed, in, COUNT(in));
        struct nuc_node *node = pool_node(g, edge ? NUC_OP_MAX_POOL2D_INDICES : NUC_OP_MAX_POOL2D, &k, true);
        nuc_infer_shape(g, node);
        struct nuc_node *items[2] = {node, node};
        for (int v = 0; v < 2 && edge; v++) {
            items[v] = add_node(g, NUC_OP_GETITEM, node);
            nuc_set_arg_int(items[v], 1, v);
            nuc_infer_shape(g, items[v]);
        }
        nuc_set_arg_nodes(nuc_add_node(g, NULL, NUC_OP_OUTPUT, "output"), g, 0, items, edge ? 2 : 1);
        nuc_eval_run(nuc_eval_new(g, 1), (const void *const[]){in}, (void *const[]){out, indices});
        int64_t height = node->vals[0].sizes[2], width = node->vals[0].sizes[3];
        for (int64_t at = 0; at < nuc_elements(&node->vals[0]); at++) {
            const float *plane = in + at / (height * width) * k.height * k.width;
            int64_t want = largest_at(&k, plane, at % (height * width) / width, at % width);
            assert_true(out[at] == plane[want]);
            if (edge)
                assert_int_equal(indices[at], want);
        }
        free_graph(g);
    }
}

/* An empty stride list means the kernel size. */
static void stride_defaults_to_kernel(void **state)
{
    const struct pool_case k = {.height = 4, .width = 4, .kernel = {2, 2}, .dilation = {1, 1}};
    float in[2 * 3 * 16], out[2 * 3 * 4];
    struct nuc_graph *g = new_graph();

    (void)state;
    for (size_t i = 0; i < COUNT(in); i++)
        in[i] = (float)(i % 16);
    run_node(g, pool_node(g, NUC_OP_MAX_POOL2D, &k, true), in, out);
    assert_floats(out, (const float[]){5.0f, 7.0f, 13.0f, 15.0f}, 4);
    free_graph(g);
}

static void adaptive_average(void **state)
{
    const float in[12] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f, 9.0f, 10.0f, 11.0f, 12.0f};
    /* [3, 4] to [2, 3]: rows 0..2 and 1..3, columns 0..2, 1..3, 2..4 */
    const float want[6] = {3.5f, 4.5f, 5.5f, 7.5f, 8.5f, 9.5f};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(1, 1, 3, 4));
        struct nuc_node *node = add_node(g, i == 0 ? NUC_OP_ADAPTIVE_AVG_POOL2D : NUC_OP_NATIVE_ADAPTIVE_AVG_POOL2D, x);
        float out[6];
        set_ints(g, node, 1, INTS(2, 3));
        run_node(g, node, in, out);
        assert_floats(out, want, 6);
        free_graph(g);
    }
    struct nuc_graph *g = new_graph();
    struct nuc_node *node = add_node(g, NUC_OP_ADAPTIVE_AVG_POOL2D, add_input(g, NUC_F32, SHAPE(1, 1, 3, 4)));
    float mean;
    set_ints(g, node, 1, INTS(1, 1));
    run_node(g, node, in, &mean);
    assert_floats(&mean, (const float[]){6.5f}, 1);
    free_graph(g);
}

/* ---- reductions ---- */

static void mean_dims(void **state)
{
    static const struct {
        int64_t dims[3];
        size_t count;
    } cases[] = {{{0}, 1}, {{1}, 1}, {{-1}, 1}, {{1, 2}, 2}, {{-1, 0}, 2}, {{0, 1, 2}, 3}, {{0}, 0}};
    enum { A = 2, B = 3, C = 4 };
    float in[A * B * C], out[A * B * C];
    uint32_t seed = 4;

    (void)state;
    fill_floats(&seed, in, COUNT(in));
    for (size_t k = 0; k < 2 * COUNT(cases); k++) {
        bool keep = k % 2 == 1, reduced[3] = {false, false, false};
        double sums[A * B * C] = {0.0};
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(A, B, C));
        struct nuc_node *node = add_node(g, keep ? NUC_OP_MEAN_DIM : NUC_OP_MEAN_DIM, x);
        for (size_t d = 0; d < cases[k / 2].count; d++)
            reduced[(cases[k / 2].dims[d] + 3) % 3] = true;
        if (cases[k / 2].count == 0)
            reduced[0] = reduced[1] = reduced[2] = true;
        else
            set_ints(g, node, 1, cases[k / 2].dims, cases[k / 2].count);
        nuc_set_arg_bool(node, 2, keep);
        const struct nuc_meta *m = run_node(g, node, in, out);
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
        struct nuc_graph *g = new_graph();
        struct nuc_meta m = nuc_meta_make(NUC_F32, shape, 4);
        if (round % 2 == 1)
            nuc_set_channels_last(&m);
        struct nuc_node *x = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &m);
        struct nuc_node *node = add_node(g, NUC_OP_MEAN_DIM, x);
        unsigned reduced = (unsigned)next_int(&seed, 1, 15);
        int64_t dims[4], n_dims = 0, count = 1;
        for (int64_t d = 0; d < 4; d++) {
            if ((reduced >> d & 1) == 0)
                continue;
            dims[n_dims++] = d;
            count *= shape[d];
        }
        set_ints(g, node, 1, dims, (size_t)n_dims);
        memset(sums, 0, MOST * sizeof *sums);
        for (int64_t i = 0; i < nuc_elements(&m); i++) {
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
        const struct nuc_meta *result = run_node(g, node, in, out);
        for (int64_t i = 0; i < nuc_elements(result); i++)
            assert_true(out[i] == (float)sums[i] / (float)count);
        free_graph(g);
    }
    test_free(in);
    test_free(out);
    test_free(sums);
}

/* Ten neighbours: what is left of a vector of eight comes first, then the eight lanes. 2 is lost in 1e8. */
static void mean_order(void **state)
{
    const float in[10] = {1e8f, -1e8f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 1.0f};
    struct nuc_graph *g = new_graph();
    struct nuc_node *node = add_node(g, NUC_OP_MEAN_DIM, add_input(g, NUC_F32, SHAPE(1, 10)));
    float out[1];

    (void)state;
    set_ints(g, node, 1, INTS(1));
    run_node(g, node, in, out);
    assert_floats(out, (const float[]){0.0f}, 1);
    free_graph(g);
}

static void softmax_dims(void **state)
{
    /* exp of 0, ln 3 is 1, 3: shares of a quarter. Large values must not overflow. */
    const float ln3 = logf(3.0f);
    const float in[8] = {0.0f, 1000.0f, ln3, 1000.0f, ln3, -5.0f, 0.0f, -5.0f};
    const float want[8] = {0.25f, 0.5f, 0.75f, 0.5f, 0.75f, 0.5f, 0.25f, 0.5f};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(2, 2, 2));
        struct nuc_node *node = add_node(g, i == 0 ? NUC_OP_SOFTMAX : NUC_OP_NATIVE_SOFTMAX, x);
        float out[8];
        nuc_set_arg_int(node, 1, i == 0 ? 1 : -2);
        if (i == 1)
            nuc_set_arg_bool(node, 2, false);
        run_node(g, node, in, out);
        for (int n = 0; n < 8; n++)
            assert_true(fabsf(out[n] - want[n]) < 1e-6f);
        free_graph(g);
    }
}

/* ---- shapes ---- */

static void permute_any_dtype(void **state)
{
    int8_t in[24], out[24];
    struct nuc_graph *g = new_graph();
    struct nuc_node *node = add_node(g, NUC_OP_PERMUTE, add_input(g, NUC_I8, SHAPE(2, 3, 4)));

    (void)state;
    for (int i = 0; i < 24; i++)
        in[i] = (int8_t)i;
    set_ints(g, node, 1, INTS(2, 0, -2));
    run_node(g, node, in, out);
    for (int i = 0; i < 24; i++)
        assert_int_equal(out[i], i / 3 % 2 * 12 + i % 3 * 4 + i / 6);
    free_graph(g);
}

/* [1, 2, 2]: one column in front and one less behind, a row behind, two planes in front. */
static void constant_pad(void **state)
{
    const float want[18] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f,
                            0.5f, 0.5f, 0.5f, 0.5f, 1.0f, 0.5f, 3.0f, 0.5f, 0.5f};

    (void)state;
    for (int edge = 0; edge < 2; edge++) {
        const float in[4] = {1.0f, 2.0f, 3.0f, 4.0f};
        struct nuc_graph *g = new_graph();
        struct nuc_node *x = add_input(g, NUC_F32, SHAPE(1, 2, 2));
        struct nuc_node *node = add_node(g, edge ? NUC_OP_CONSTANT_PAD : NUC_OP_PAD, x);
        float out[18];
        set_ints(g, node, 1, INTS(1, -1, 0, 1, 2, 0));
        nuc_set_arg_float(node, edge ? 2 : 3, 0.5);
        run_node(g, node, in, out);
        assert_floats(out, want, 18);
        free_graph(g);
    }
}

/* A quantized tensor is padded with its zero point. */
static void pad_int8(void **state)
{
    struct nuc_graph *g = new_graph();
    struct nuc_node *node = add_node(g, NUC_OP_CONSTANT_PAD, add_input(g, NUC_I8, SHAPE(2)));
    int8_t out[5];

    (void)state;
    set_ints(g, node, 1, INTS(2, 1));
    nuc_set_arg_int(node, 2, -128);
    run_node(g, node, (const int8_t[]){5, -6}, out);
    assert_memory_equal(out, ((const int8_t[]){-128, -128, 5, -6, -128}), 5);
    free_graph(g);
}

static void pad_modes(void **state)
{
    static const struct {
        const char *mode;
        float want[7];
    } cases[] = {{"reflect", {3.0f, 2.0f, 1.0f, 2.0f, 3.0f, 2.0f, 1.0f}},
                 {"replicate", {1.0f, 1.0f, 1.0f, 2.0f, 3.0f, 3.0f, 3.0f}},
                 {"circular", {2.0f, 3.0f, 1.0f, 2.0f, 3.0f, 1.0f, 2.0f}}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nuc_graph *g = new_graph();
        struct nuc_node *node = add_node(g, NUC_OP_PAD, add_input(g, NUC_F32, SHAPE(1, 1, 3)));
        float out[7];
        set_ints(g, node, 1, INTS(2, 2));
        nuc_set_arg_string(node, 2, cases[i].mode);
        run_node(g, node, (const float[]){1.0f, 2.0f, 3.0f}, out);
        assert_floats(out, cases[i].want, 7);
        free_graph(g);
    }
}

static void conversions(void **state)
{
    const float in[5] = {-1.7f, 0.0f, 1.7f, 1e20f, NAN};
    struct nuc_graph *g = new_graph();
    struct nuc_node *node = add_node(g, NUC_OP_TO_DTYPE_LAYOUT, add_input(g, NUC_F32, SHAPE(5)));
    int32_t out[5];

    (void)state;
    nuc_set_arg_dtype(node, 1, NUC_I32);
    run_node(g, node, in, out);
    assert_memory_equal(out, ((const int32_t[]){-1, 0, 1, INT32_MAX, 0}), sizeof out);
    free_graph(g);
    g = new_graph();
    node = add_node(g, NUC_OP_TO_DIM_ORDER_COPY, add_input(g, NUC_I64, SHAPE(2)));
    float real[2];
    nuc_set_arg_dtype(node, 1, NUC_F32);
    run_node(g, node, (const int64_t[]){-3, 1 << 20}, real);
    assert_floats(real, (const float[]){-3.0f, 1048576.0f}, 2);
    free_graph(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations),      cmocka_unit_test(hardtanh_bounds),
        cmocka_unit_test(add_broadcasts),   cmocka_unit_test(add_integers),
        cmocka_unit_test(batch_norm),       cmocka_unit_test(average_random),
        cmocka_unit_test(maximum_random),   cmocka_unit_test(stride_defaults_to_kernel),
        cmocka_unit_test(adaptive_average), cmocka_unit_test(mean_dims),
        cmocka_unit_test(mean_random),      cmocka_unit_test(mean_order),
        cmocka_unit_test(softmax_dims),     cmocka_unit_test(permute_any_dtype),
        cmocka_unit_test(constant_pad),     cmocka_unit_test(pad_int8),
        cmocka_unit_test(pad_modes),        cmocka_unit_test(conversions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
