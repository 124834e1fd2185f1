/* Convolutions along any number of dimensions, batched matrix products and recurrent layers against plain loops. */
#include "unit/eval_graphs.h"

#include <math.h>

/* Multiples of 1/16: sums of products are exact whatever their order. */
static void fill_exact(uint32_t *seed, float *data, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = (float)next_int(seed, -16, 16) / 16.0f;
}

/* ---- convolution along 1 to 3 dimensions ---- */

/* Dimensions that are not there have size 1. */
struct conv_case {
    const char *operator;
    uint32_t spatial;
    bool transposed;
    const char *padding_name;       /* of the operators that name it */
    int64_t batch, groups, in, out; /* channels of a group */
    int64_t size[3], kernel[3], stride[3], padding[3], dilation[3], extra[3];
};

static struct conv_case random_case(const char *operator, uint32_t spatial, uint32_t *seed)
{
    struct conv_case k = {
        .operator= operator, .spatial = spatial, .batch = next_int(seed, 1, 2), .groups = next_int(seed, 1, 2)};

    k.in = next_int(seed, 1, 3);
    k.out = next_int(seed, 1, 4);
    for (uint32_t d = 0; d < 3; d++) {
        bool there = d >= 3 - spatial;
        k.size[d] = there ? next_int(seed, 5, 7) : 1;
        k.kernel[d] = there ? next_int(seed, 1, 3) : 1;
        k.stride[d] = there ? next_int(seed, 1, 2) : 1;
        k.padding[d] = there ? next_int(seed, 0, 1) : 0;
        k.dilation[d] = there ? next_int(seed, 1, 2) : 1;
    }
    return k;
}

static int64_t out_size(const struct conv_case *k, int d)
{
    int64_t reach = k->dilation[d] * (k->kernel[d] - 1);

    if (k->transposed)
        return (k->size[d] - 1) * k->stride[d] - 2 * k->padding[d] + reach + k->extra[d] + 1;
    if (k->padding_name != NULL && strcmp(k->padding_name, "same") == 0)
        return k->size[d];
    return (k->size[d] + 2 * k->padding[d] - reach - 1) / k->stride[d] + 1;
}

static int64_t volume(const int64_t s[3])
{
    return s[0] * s[1] * s[2];
}

static void position(int64_t i, const int64_t sizes[3], int64_t at[3])
{
    at[2] = i % sizes[2];
    at[1] = i / sizes[2] % sizes[1];
    at[0] = i / sizes[2] / sizes[1];
}

/* Whether input `in` meets output `out` at tap `tap`. */
static bool meets(const struct conv_case *k, const int64_t in[3], const int64_t out[3], const int64_t tap[3])
{
    for (int d = 0; d < 3; d++) {
        const int64_t *low = k->transposed ? in : out, *high = k->transposed ? out : in;
        if (high[d] != low[d] * k->stride[d] - k->padding[d] + tap[d] * k->dilation[d])
            return false;
    }
    return true;
}

/* One output: everything that meets it, input by input and tap by tap. */
static double conv_at(const struct conv_case *k, const float *image, const float *w, int64_t channel,
                      const int64_t out[3])
{
    int64_t group = channel / k->out, o = channel % k->out, taps = volume(k->kernel);
    double sum = 0.0;

    for (int64_t c = 0; c < k->in; c++) {
        int64_t row = k->transposed ? (group * k->in + c) * k->out + o : channel * k->in + c;
        for (int64_t i = 0; i < volume(k->size) * taps; i++) {
            int64_t in[3], tap[3];
            position(i / taps, k->size, in);
            position(i % taps, k->kernel, tap);
            if (meets(k, in, out, tap))
                sum +=
                    (double)image[(group * k->in + c) * volume(k->size) + i / taps] * (double)w[row * taps + i % taps];
        }
    }
    return sum;
}

static struct nuc_graph *conv_graph(const struct conv_case *k, const float *w, const float *bias)
{
    uint32_t first = 3 - k->spatial;
    const int64_t outputs = k->groups * k->out;
    int64_t shape[5] = {k->batch, k->groups * k->in};
    int64_t filter[5] = {k->transposed ? k->groups * k->in : outputs, k->transposed ? k->out : k->in};
    char padding[40];

    memcpy(shape + 2, k->size + first, k->spatial * sizeof *shape);
    memcpy(filter + 2, k->kernel + first, k->spatial * sizeof *filter);
    if (k->padding_name != NULL)
        snprintf(padding, sizeof padding, "\"%s\"", k->padding_name);
    else
        snprintf(padding, sizeof padding, "%s", list_of(k->padding + first, k->spatial));
    struct nuc_graph *g = graph_of(
        "$x = input : float32%s; $w = buffer : float32%s; $b = buffer : float32%s\n"
        "$y = %s($x, $w, $b, %s, %s, dilation=%s, groups=%d%s%s)",
        list_of(shape, k->spatial + 2), list_of(filter, k->spatial + 2), list_of(&outputs, 1), k->operator,
        list_of(k->stride + first, k->spatial), padding, list_of(k->dilation + first, k->spatial), (int)k->groups,
        k->transposed ? ", output_padding=" : "", k->transposed ? list_of(k->extra + first, k->spatial) : "");
    bind(g, "w", w);
    bind(g, "b", bias);
    return g;
}

static void check_conv(const struct conv_case *k, uint32_t *seed)
{
    int64_t sizes[3] = {out_size(k, 0), out_size(k, 1), out_size(k, 2)};
    int64_t image = k->groups * k->in * volume(k->size), result = k->groups * k->out * volume(sizes);
    float w[2 * 3 * 4 * 27], bias[8];
    struct nuc_graph *g = conv_graph(k, w, bias);
    float *in = nuc_alloc_array(g->cx, (size_t)(k->batch * image), sizeof *in);
    float *out = nuc_alloc_array(g->cx, (size_t)(k->batch * result), sizeof *out);

    fill_exact(seed, in, (size_t)(k->batch * image));
    fill_exact(seed, w, COUNT(w));
    fill_exact(seed, bias, COUNT(bias));
    assert_int_equal(nuc_elements(evaluate(g, in, out)), k->batch * result);
    for (int64_t i = 0; i < k->batch * result; i++) {
        int64_t at[3], channel = i % result / volume(sizes);
        position(i % volume(sizes), sizes, at);
        double want = conv_at(k, in + i / result * image, w, channel, at) + (double)bias[channel];
        assert_true((double)out[i] == want);
    }
    free_graph(g);
}

static void convolutions(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (int i = 0; i < 30; i++) {
        struct conv_case line = random_case("aten.conv1d.default", 1, &seed),
                         block = random_case("aten.conv3d.default", 3, &seed);
        check_conv(&line, &seed);
        if (i < 12)
            check_conv(&block, &seed);
    }
}

static void transposed_convolutions(void **state)
{
    uint32_t seed = 2;

    (void)state;
    for (int i = 0; i < 40; i++) {
        uint32_t spatial = i % 2 == 0 ? 1 : 2;
        struct conv_case k =
            random_case(spatial == 1 ? "aten.conv_transpose1d.default" : "aten.conv_transpose2d.input", spatial, &seed);
        k.transposed = true;
        for (uint32_t d = 3 - spatial; d < 3; d++)
            k.extra[d] = next_int(&seed, 0, k.stride[d] - 1);
        check_conv(&k, &seed);
    }
}

/* "same" puts the odd element of the padding at the end: in front stands half of it, rounded down. */
static void named_padding(void **state)
{
    uint32_t seed = 3;

    (void)state;
    for (int i = 0; i < 40; i++) {
        uint32_t spatial = i % 2 == 0 ? 1 : 2;
        struct conv_case k = random_case(spatial == 1 ? "aten.conv1d.padding" : "aten.conv2d.padding", spatial, &seed);
        k.padding_name = i % 4 < 2 ? "same" : "valid";
        for (uint32_t d = 0; d < 3; d++) {
            if (i % 4 < 2)
                k.stride[d] = 1;
            k.padding[d] = i % 4 < 2 ? k.dilation[d] * (k.kernel[d] - 1) / 2 : 0;
        }
        if (spatial == 2 && i % 4 < 2)
            k.kernel[1] = 2;
        k.padding[1] = i % 4 < 2 ? k.dilation[1] * (k.kernel[1] - 1) / 2 : 0;
        check_conv(&k, &seed);
    }
}

/* ---- matrix products of any rank ---- */

struct product_case {
    const char *operator;
    int64_t a[4], b[4];
    uint32_t a_rank, b_rank;
};

/* A dimension of the outer shape, from the right; 1 where there is none. */
static int64_t outer(const int64_t *sizes, uint32_t rank, uint32_t i)
{
    return rank >= 3 + i ? sizes[rank - 3 - i] : 1;
}

static void check_product(const struct product_case *k, uint32_t *seed)
{
    int64_t rows = k->a_rank == 1 ? 1 : k->a[k->a_rank - 2], n = k->a[k->a_rank - 1];
    int64_t columns = k->b_rank == 1 ? 1 : k->b[k->b_rank - 1], a1 = outer(k->a, k->a_rank, 0);
    int64_t a2 = outer(k->a, k->a_rank, 1), b1 = outer(k->b, k->b_rank, 0), b2 = outer(k->b, k->b_rank, 1);
    int64_t o1 = a1 > b1 ? a1 : b1, o2 = a2 > b2 ? a2 : b2;
    struct nuc_graph *g = graph_of("$x = input : float32%s; $c = buffer : float32%s; $y = %s.default($x, $c)",
                                   list_of(k->a, k->a_rank), list_of(k->b, k->b_rank), k->operator);
    float in[512], other[512], out[512];

    fill_exact(seed, in, 512);
    fill_exact(seed, other, 512);
    bind(g, "c", other);
    assert_int_equal(nuc_elements(evaluate(g, in, out)), o2 * o1 * rows * columns);
    for (int64_t i = 0; i < o2 * o1 * rows * columns; i++) {
        int64_t column = i % columns, row = i / columns % rows, p1 = i / columns / rows % o1;
        int64_t p2 = i / columns / rows / o1;
        const float *a = in + (((a2 == 1 ? 0 : p2) * a1 + (a1 == 1 ? 0 : p1)) * rows + row) * n;
        const float *b = other + ((b2 == 1 ? 0 : p2) * b1 + (b1 == 1 ? 0 : p1)) * n * columns + column;
        double want = 0.0;
        for (int64_t t = 0; t < n; t++)
            want += (double)a[t] * (double)b[t * columns];
        assert_true((double)out[i] == want);
    }
    free_graph(g);
}

static void products(void **state)
{
    static const struct product_case cases[] = {
        {"aten.mm", {3, 7}, {7, 19}, 2, 2},
        {"aten.bmm", {3, 5, 4}, {3, 4, 6}, 3, 3},
        {"edge.aten.bmm", {2, 1, 17}, {2, 17, 5}, 3, 3},
        {"aten.matmul", {9}, {9}, 1, 1},
        {"aten.matmul", {4, 9}, {9}, 2, 1},
        {"aten.matmul", {9}, {9, 4}, 1, 2},
        {"aten.matmul", {2, 3, 4}, {4, 5}, 3, 2},
        {"aten.matmul", {3, 4}, {2, 4, 5}, 2, 3},
        {"aten.matmul", {2, 1, 3, 4}, {3, 4, 5}, 4, 3},
        {"aten.matmul", {1, 3, 2, 4}, {2, 1, 4, 3}, 4, 4},
    };
    uint32_t seed = 4;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        check_product(&cases[i], &seed);
}

/* ---- gru ---- */

enum { STEPS = 4, BATCH = 2, INPUTS = 3, HIDDEN = 5, MOST_CELLS = 4 };

struct cell {
    float w_in[3 * HIDDEN * 2 * HIDDEN], w_hidden[3 * HIDDEN * HIDDEN], b_in[3 * HIDDEN], b_hidden[3 * HIDDEN];
};

static double gate(const struct cell *c, int row, const double *x, int inputs, bool of_input)
{
    double sum = of_input ? (double)c->b_in[row] : (double)c->b_hidden[row];

    for (int i = 0; i < inputs; i++)
        sum += x[i] * (double)(of_input ? c->w_in[row * inputs + i] : c->w_hidden[row * inputs + i]);
    return sum;
}

static void gru_step(const struct cell *c, const double *x, int inputs, double *h)
{
    double next[HIDDEN];

    for (int i = 0; i < HIDDEN; i++) {
        double r = 1.0 / (1.0 + exp(-(gate(c, i, x, inputs, true) + gate(c, i, h, HIDDEN, false))));
        double z = 1.0 / (1.0 + exp(-(gate(c, HIDDEN + i, x, inputs, true) + gate(c, HIDDEN + i, h, HIDDEN, false))));
        double n = tanh(gate(c, 2 * HIDDEN + i, x, inputs, true) + r * gate(c, 2 * HIDDEN + i, h, HIDDEN, false));
        next[i] = (1.0 - z) * n + z * h[i];
    }
    memcpy(h, next, sizeof next);
}

/* One sample through all layers: seq [step][features] is replaced by the last layer's output, h by the last states. */
static void gru_sample(const struct cell *cells, int layers, int directions, double seq[STEPS][2 * HIDDEN],
                       double h[MOST_CELLS][HIDDEN])
{
    for (int layer = 0; layer < layers; layer++) {
        int inputs = layer == 0 ? INPUTS : HIDDEN * directions;
        double out[STEPS][2 * HIDDEN];
        for (int d = 0; d < directions; d++) {
            for (int s = 0; s < STEPS; s++) {
                int t = d == 0 ? s : STEPS - 1 - s;
                gru_step(&cells[layer * directions + d], seq[t], inputs, h[layer * directions + d]);
                memcpy(out[t] + d * HIDDEN, h[layer * directions + d], HIDDEN * sizeof(double));
            }
        }
        memcpy(seq, out, sizeof out);
    }
}

/* One of the two results of a GRU. */
static struct nuc_graph *gru_graph(const struct cell *cells, int layers, int directions, bool batch_first, int val,
                                   const float *h)
{
    static const struct {
        const char *name;
        size_t offset;
    } kinds[] = {{"w", offsetof(struct cell, w_in)},
                 {"v", offsetof(struct cell, w_hidden)},
                 {"b", offsetof(struct cell, b_in)},
                 {"c", offsetof(struct cell, b_hidden)}};
    char constants[1024] = "", list[256] = "";

    for (int i = 0; i < layers * directions; i++) {
        size_t at = strlen(constants), end = strlen(list);
        snprintf(constants + at, sizeof constants - at,
                 "$w%d = buffer : float32[15, %d]; $v%d = buffer : float32[15, 5]; $b%d = buffer : float32[15]; "
                 "$c%d = buffer : float32[15]\n",
                 i, i < directions ? INPUTS : HIDDEN * directions, i, i, i);
        snprintf(list + end, sizeof list - end, "%s$w%d, $v%d, $b%d, $c%d", i == 0 ? "" : ", ", i, i, i, i);
    }
    struct nuc_graph *g =
        graph_of("$x = input : float32[%s, 3]; $h = buffer : float32[%d, 2, 5]\n%s"
                 "$g = aten.gru.input($x, $h, [%s], true, %d, 0.0, false, %s, %s); $y = getitem($g, %d)",
                 batch_first ? "2, 4" : "4, 2", layers * directions, constants, list, layers,
                 directions == 2 ? "true" : "false", batch_first ? "true" : "false", val);
    bind(g, "h", h);
    for (int i = 0; i < 4 * layers * directions; i++)
        bind(g, nuc_format(g->cx, "%s%d", kinds[i % 4].name, i / 4), (const char *)&cells[i / 4] + kinds[i % 4].offset);
    return g;
}

static void check_gru(int layers, int directions, bool batch_first, int val, uint32_t *seed)
{
    struct cell cells[MOST_CELLS];
    float in[STEPS * BATCH * INPUTS], h[MOST_CELLS * BATCH * HIDDEN], out[STEPS * BATCH * 2 * HIDDEN];

    fill_floats(seed, cells[0].w_in, MOST_CELLS * (sizeof cells[0] / sizeof *in));
    fill_floats(seed, in, COUNT(in));
    fill_floats(seed, h, COUNT(h));
    struct nuc_graph *g = gru_graph(cells, layers, directions, batch_first, val, h);
    evaluate(g, in, out);
    for (int n = 0; n < BATCH; n++) {
        double seq[STEPS][2 * HIDDEN], states[MOST_CELLS][HIDDEN];
        for (int t = 0; t < STEPS; t++) {
            for (int i = 0; i < INPUTS; i++)
                seq[t][i] = (double)in[(batch_first ? n * STEPS + t : t * BATCH + n) * INPUTS + i];
        }
        for (int i = 0; i < layers * directions * HIDDEN; i++)
            states[i / HIDDEN][i % HIDDEN] = (double)h[(i / HIDDEN * BATCH + n) * HIDDEN + i % HIDDEN];
        gru_sample(cells, layers, directions, seq, states);
        for (int i = 0; i < (val == 0 ? STEPS : layers) * HIDDEN * directions; i++) {
            int width = val == 0 ? HIDDEN * directions : HIDDEN, row = i / width, column = i % width;
            int at = val == 0 && batch_first ? n * STEPS + row : row * BATCH + n;
            double want = val == 0 ? seq[row][column] : states[row][column];
            assert_true(fabs((double)out[at * width + column] - want) < 2e-6);
        }
    }
    free_graph(g);
}

static void gru(void **state)
{
    uint32_t seed = 5;

    (void)state;
    for (int i = 0; i < 16; i++)
        check_gru(1 + i % 2, 1 + i / 2 % 2, i / 4 % 2 == 1, i / 8, &seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),  cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(named_padding), cmocka_unit_test(products),
        cmocka_unit_test(gru),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
