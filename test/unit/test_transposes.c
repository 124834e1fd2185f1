/*
 * Transposes of typical networks as the reference has them: with the NPU
 * converting formats, with the runtime doing it, and with channels-last values. Networks are built as they reach the
 * lowering, operators in execution order are compared, and what the runtime is told of each border.
 */
#include "lower_net.h"

enum column { BY_NPU, BY_RUNTIME, CHANNELS_LAST, N_COLUMNS };

/* ---- operators ---- */

static struct nuc_node *conv(struct net *n, struct nuc_node *x, int64_t in, int64_t out, int64_t kernel, int64_t pad)
{
    struct nuc_node *w = weight(n, "w", SIZES(out, in, kernel, kernel));

    return convolution(n, x, w, NULL, pad, 1);
}

static struct nuc_node *max_pool(struct net *n, struct nuc_node *x, double scale, int64_t point)
{
    struct nuc_node *pool = call(n, NUC_OP_EDGE_MAX_POOL2D, x), *first;

    nuc_set_arg_ints(pool, n->g, 1, SIZES(2, 2));
    nuc_set_arg_ints(pool, n->g, 2, SIZES(1, 1));
    nuc_infer_shape(n->g, pool);
    first = call(n, NUC_OP_GETITEM, pool);
    nuc_set_arg_int(first, 1, 0);
    nuc_infer_shape(n->g, first);
    return quantized(n, first, scale, point);
}

static struct nuc_node *amax(struct net *n, struct nuc_node *x, const int64_t *dims, size_t count)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_AMAX, x);

    nuc_set_arg_ints(node, n->g, 1, dims, (uint32_t)count);
    nuc_set_arg_bool(node, 2, false);
    nuc_infer_shape(n->g, node);
    return quantized(n, node, 0.5, 3);
}

/* Permuted weights with a quantize and dequantize of their own. */
static struct nuc_node *linear(struct net *n, struct nuc_node *x, int64_t in, int64_t out)
{
    struct nuc_node *columns = quantized(n, permute(n, weight(n, "v", SIZES(out, in)), SIZES(1, 0)), 0.25, 0);
    struct nuc_node *node = call(n, NUC_OP_EDGE_MM, x);

    nuc_set_arg_node(node, n->g, 1, columns);
    nuc_infer_shape(n->g, node);
    return quantized(n, node, 1, 0);
}

static struct nuc_node *softmax(struct net *n, struct nuc_node *x)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_SOFTMAX, x);

    nuc_set_arg_int(node, 1, -1);
    nuc_set_arg_bool(node, 2, false);
    nuc_infer_shape(n->g, node);
    return quantized(n, node, 1.0 / 256, -128);
}

static struct nuc_node *relu(struct net *n, struct nuc_node *x, double scale, int64_t point)
{
    struct nuc_node *node = call(n, NUC_OP_EDGE_RELU, x);

    nuc_infer_shape(n->g, node);
    return quantized(n, node, scale, point);
}

/* ---- networks ---- */

static struct nuc_node *padded_conv(struct net *n, bool last)
{
    return conv(n, user_input(n, "x", SIZES(1, 2, 4, 4), last), 2, 3, 3, 1);
}

static struct nuc_node *conv_linear_softmax(struct net *n, bool last)
{
    struct nuc_node *h = conv(n, user_input(n, "x", SIZES(1, 2, 3, 4), last), 2, 2, 1, 0);

    return softmax(n, linear(n, quantized(n, view(n, h, SIZES(1, 24)), 0.75, -5), 24, 4));
}

/* Convolutions and pools in turn, then a classifier: CifarNet, MobileNet. */
static struct nuc_node *classifier(struct net *n, bool last)
{
    struct nuc_node *h = conv(n, user_input(n, "x", SIZES(1, 3, 8, 8), last), 3, 4, 3, 1);

    h = max_pool(n, h, 0.75, -5);
    h = max_pool(n, conv(n, h, 4, 4, 3, 1), 0.75, -5);
    return linear(n, quantized(n, view(n, h, SIZES(1, 144)), 0.75, -5), 144, 4);
}

static struct nuc_node *two_convs(struct net *n, bool last)
{
    return conv(n, conv(n, user_input(n, "x", SIZES(1, 2, 4, 4), last), 2, 3, 1, 0), 3, 2, 1, 0);
}

static struct nuc_node *pool_amax_channels(struct net *n, bool last)
{
    return amax(n, max_pool(n, user_input(n, "x", SIZES(1, 2, 4, 5), last), 0.5, 3), SIZES(1));
}

static struct nuc_node *pool_amax_spatial(struct net *n, bool last)
{
    return amax(n, max_pool(n, user_input(n, "x", SIZES(1, 2, 4, 5), last), 0.5, 3), SIZES(2, 3));
}

static struct nuc_node *pool_amax_height(struct net *n, bool last)
{
    return amax(n, max_pool(n, user_input(n, "x", SIZES(1, 2, 4, 5), last), 0.5, 3), SIZES(2));
}

static struct nuc_node *amax_pool(struct net *n, bool last)
{
    (void)last; /* there is no channels-last input of five dimensions to begin with */
    return max_pool(n, amax(n, user_input(n, "x", SIZES(1, 2, 3, 4, 5), false), SIZES(2)), 0.5, 3);
}

static struct nuc_node *linear_relu(struct net *n, bool last)
{
    (void)last;
    return relu(n, linear(n, user_input(n, "x", SIZES(1, 4), false), 4, 3), 1, 0);
}

static struct nuc_node *two_inputs(struct net *n, bool last)
{
    struct nuc_node *a = conv(n, user_input(n, "x", SIZES(1, 2, 4, 4), last), 2, 3, 1, 0);
    struct nuc_node *y = user_input(n, "y", SIZES(1, 3, 4, 4), last);
    struct nuc_node *sum = call(n, NUC_OP_EDGE_ADD, a);

    nuc_set_arg_node(sum, n->g, 1, y);
    nuc_infer_shape(n->g, sum);
    return quantized(n, sum, 1, 0);
}

/* ---- the table ---- */

#define T NUC_LT_TRANSPOSE
#define POOL NUC_LT_MAX_POOL_2D
#define END (-1)

struct expectation {
    int32_t ops[16];
    bool input_last, output_last; /* header flags */
};

static const struct {
    struct nuc_node *(*build)(struct net *n, bool last);
    struct expectation columns[N_COLUMNS];
} rows[] = {
    {padded_conv,
     {{{T, NUC_LT_PADV2, NUC_LT_CONV_2D, T, END}, false, false},
      {{NUC_LT_PADV2, NUC_LT_CONV_2D, END}, true, true},
      {{NUC_LT_PADV2, NUC_LT_CONV_2D, END}, true, true}}},
    {conv_linear_softmax,
     {{{T, NUC_LT_CONV_2D, NUC_LT_RESHAPE, NUC_LT_FULLY_CONNECTED, NUC_LT_SOFTMAX, END}, false, false},
      {{NUC_LT_CONV_2D, NUC_LT_RESHAPE, NUC_LT_FULLY_CONNECTED, NUC_LT_SOFTMAX, END}, true, false},
      {{NUC_LT_CONV_2D, NUC_LT_RESHAPE, NUC_LT_FULLY_CONNECTED, NUC_LT_SOFTMAX, END}, true, false}}},
    {classifier,
     {{{T, NUC_LT_PADV2, NUC_LT_CONV_2D, POOL, NUC_LT_PADV2, NUC_LT_CONV_2D, POOL, NUC_LT_RESHAPE,
        NUC_LT_FULLY_CONNECTED, END},
       false,
       false},
      {{NUC_LT_PADV2, NUC_LT_CONV_2D, POOL, NUC_LT_PADV2, NUC_LT_CONV_2D, POOL, NUC_LT_RESHAPE, NUC_LT_FULLY_CONNECTED,
        END},
       true,
       false},
      {{NUC_LT_PADV2, NUC_LT_CONV_2D, POOL, NUC_LT_PADV2, NUC_LT_CONV_2D, POOL, NUC_LT_RESHAPE, NUC_LT_FULLY_CONNECTED,
        END},
       true,
       false}}},
    {two_convs,
     {{{T, NUC_LT_CONV_2D, NUC_LT_CONV_2D, T, END}, false, false},
      {{NUC_LT_CONV_2D, NUC_LT_CONV_2D, END}, true, true},
      {{NUC_LT_CONV_2D, NUC_LT_CONV_2D, END}, true, true}}},
    {pool_amax_channels,
     {{{T, POOL, NUC_LT_REDUCE_MAX, END}, false, false},
      {{POOL, NUC_LT_REDUCE_MAX, END}, true, false},
      {{POOL, NUC_LT_REDUCE_MAX, END}, true, false}}},
    {pool_amax_spatial,
     {{{T, POOL, NUC_LT_REDUCE_MAX, END}, false, false},
      {{POOL, NUC_LT_REDUCE_MAX, END}, true, false},
      {{POOL, NUC_LT_REDUCE_MAX, END}, true, false}}},
    {pool_amax_height,
     {{{T, POOL, T, NUC_LT_REDUCE_MAX, END}, false, false},
      {{POOL, T, NUC_LT_REDUCE_MAX, END}, true, false},
      {{POOL, T, NUC_LT_REDUCE_MAX, END}, true, false}}},
    {amax_pool,
     {{{NUC_LT_REDUCE_MAX, T, POOL, T, END}, false, false},
      {{NUC_LT_REDUCE_MAX, T, POOL, END}, false, true},
      {{NUC_LT_REDUCE_MAX, T, POOL, T, END}, false, false}}},
    {linear_relu,
     {{{NUC_LT_FULLY_CONNECTED, NUC_LT_RELU, END}, false, false},
      {{NUC_LT_FULLY_CONNECTED, NUC_LT_RELU, END}, false, false},
      {{NUC_LT_FULLY_CONNECTED, NUC_LT_RELU, END}, false, false}}},
    {two_inputs,
     {{{T, T, NUC_LT_CONV_2D, NUC_LT_ADD, T, END}, false, false},
      {{NUC_LT_CONV_2D, NUC_LT_ADD, END}, true, true},
      {{NUC_LT_CONV_2D, NUC_LT_ADD, END}, true, true}}},
};

static void check_column(struct net *n, enum column column)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct expectation *e = &rows[i].columns[column];
        n->g = nuc_graph_new(n->cx, "net.pt2");
        n->options.use_neutron_for_format_conversion = column != BY_RUNTIME;
        n->options.reference_compat = true;
        finish_one(n, rows[i].build(n, column == CHANNELS_LAST));
        assert_ops(n, e->ops);
        assert_borders(n, e->input_last, e->output_last);
    }
}

static void test_npu_converts_formats(void **state)
{
    check_column(*state, BY_NPU);
}

static void test_runtime_converts_formats(void **state)
{
    check_column(*state, BY_RUNTIME);
}

/* Nothing has to be converted, whoever is to do it. */
static void test_channels_last(void **state)
{
    check_column(*state, CHANNELS_LAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_npu_converts_formats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_runtime_converts_formats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_channels_last, setup, teardown),
    };

    return cmocka_run_group_tests_name("transposes", tests, NULL, NULL);
}
