/* Conversion: graphs small enough that the expected result can be written down by hand. */
#include "unit/quantize_graphs.h"

#include "ir/quant.h"

/* ---- what came out ---- */

/* "name( inputs )" a line. */
static const char *listing(struct nuc_graph *g)
{
    struct nuc_text text = {.cx = g->cx};

    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        struct nuc_cursor at = {0, 0};
        nuc_text_addf(&text, "%s( ", n->name);
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
            nuc_text_addf(&text, "%s ", in->name);
        nuc_text_addf(&text, ")\n");
    }
    return nuc_text_string(&text);
}

static const struct conversion {
    const char *graph;
    bool compat;
    const char *expected[3]; /* parts of the listing; with an output, all of it */
    const char *absent;
} conversions[] = {
    /* No quantization between convolution and ReLU; parameters by kind, a constant's dequantize in front. */
    {CONV_WITH_BIAS "%r = aten.relu.default(%c)",
     true,
     {"b__scale_0( )\nb__zero_point_0( )\nb__frozen_param0( )\n"
      "b__scale_1( )\nb__zero_point_1( )\nb__frozen_param1( )\nx( )\n"
      "dequantize_per_channel( b__frozen_param0 b__scale_0 b__zero_point_0 )\n"
      "dequantize_per_channel_1( b__frozen_param1 b__scale_1 b__zero_point_1 )\n"
      "quantize_per_tensor( x )\ndequantize_per_tensor( quantize_per_tensor )\n"
      "conv2d( dequantize_per_tensor dequantize_per_channel dequantize_per_channel_1 )\n"
      "relu( conv2d )\n"
      "quantize_per_tensor_1( relu )\ndequantize_per_tensor_1( quantize_per_tensor_1 )\n"
      "output( dequantize_per_tensor_1 )\n"},
     NULL},
    /* After an operator that is not quantized nothing is shared, and nothing is quantized. */
    {"%x = input : float32[1, 2, 4, 4]; %c = aten.clone.default(%x); %d = aten.dropout.default(%c, 0.5, false)",
     true,
     {"x( )\nquantize_per_tensor( x )\ndequantize_per_tensor( quantize_per_tensor )\n"
      "clone( dequantize_per_tensor )\ndropout( clone )\noutput( dropout )\n"},
     NULL},
    /*
     * One dequantize for each quantized reader, the last reader's first; one more for all that are not. An operator
     * that reads a value twice has one.
     */
    {"%x = input : float32[1, 2, 4, 4]; %t = aten.add.Tensor(%x, %x); %c = aten.clone.default(%x)\n"
     "%s = aten.add.Tensor(%t, %c); %r = aten.add.Tensor(%x, %s)",
     true,
     {"quantize_per_tensor( x )\ndequantize_per_tensor( quantize_per_tensor )\n"
      "dequantize_per_tensor_1( quantize_per_tensor )\ndequantize_per_tensor_2( quantize_per_tensor )\n"
      "add( dequantize_per_tensor_2 dequantize_per_tensor_2 )\n",
      "\nclone( dequantize_per_tensor )\n", "\nadd_2( dequantize_per_tensor_1 "},
     NULL},
    /*
     * A matrix that an input feeds is quantized as the input's activation first, then as a weight: other parameters,
     * so a second pair follows the first.
     */
    {"%x = input : float32[2, 4]; %y = input : float32[2, 4]; %l = aten.linear.default(%x, %y)",
     true,
     {"x( )\ny( )\nquantize_per_tensor( x )\ndequantize_per_tensor( quantize_per_tensor )\n"
      "quantize_per_tensor_1( y )\ndequantize_per_tensor_1( quantize_per_tensor_1 )\n"
      "quantize_per_tensor_2( dequantize_per_tensor_1 )\ndequantize_per_tensor_2( quantize_per_tensor_2 )\n"
      "linear( dequantize_per_tensor dequantize_per_tensor_2 )\n"
      "quantize_per_tensor_3( linear )\ndequantize_per_tensor_3( quantize_per_tensor_3 )\n"
      "output( dequantize_per_tensor_3 )\n"},
     NULL},
    /* A constant in front of the inputs is dequantized first of all, one after them right before its reader. */
    {"%front = parameter : float32[2] values(0.5, 1); %x = input : float32[4, 2]\n"
     "%after = parameter : float32[2] values(0.5, 1); %a = aten.add.Tensor(%x, %front)\n"
     "%b = aten.add.Tensor(%a, %after)",
     true,
     {"b__frozen_param0( )\nb__frozen_param1( )\nx( )\ndequantize_per_tensor( b__frozen_param0 )\n"
      "quantize_per_tensor( x )\ndequantize_per_tensor_1( quantize_per_tensor )\n"
      "add( dequantize_per_tensor_1 dequantize_per_tensor )\n"
      "quantize_per_tensor_1( add )\ndequantize_per_tensor_2( quantize_per_tensor_1 )\n"
      "dequantize_per_tensor_3( b__frozen_param1 )\nadd_1( dequantize_per_tensor_2 dequantize_per_tensor_3 )\n"
      "quantize_per_tensor_2( add_1 )\ndequantize_per_tensor_4( quantize_per_tensor_2 )\n"
      "output( dequantize_per_tensor_4 )\n"},
     NULL},
    /* A model that has a parameter of that name already. */
    {"%p__frozen_param0 = parameter : float32[2] values(0.5, 1); %x = input : float32[4, 2]\n"
     "%a = aten.add.Tensor(%x, %p__frozen_param0)",
     true,
     {"b__frozen_param1( )\n"},
     "_frozen_param0"},
    {CONV_WITH_BIAS "%r = aten.relu6.default(%c)", false, {"relu6( conv2d )"}, NULL},
    {CONV_WITH_BIAS "%r = aten.relu6.default(%c)", true, {""}, "relu6( conv2d )"},
    /* Integers pass as they are, unobserved. */
    {"%x = input : int64[4]; %c = aten.clone.default(%x)", true, {"x( )\nclone( x )\noutput( clone )\n"}, NULL},
};

static void check_conversion(struct nuc_context *cx, void *arg)
{
    const struct conversion *k = arg;
    struct nuc_calibration *c = calibrate(cx, k->graph, k->compat);
    struct nuc_graph *q = nuc_quantize_convert(c);

    nuc_graph_verify(q, "quantized");
    const char *text = listing(q);
    if (strstr(k->expected[0], "output(") != NULL)
        assert_string_equal(text, k->expected[0]);
    for (size_t i = 0; i < COUNT(k->expected) && k->expected[i] != NULL; i++) {
        if (strstr(text, k->expected[i]) == NULL)
            fail_msg("no\n%s in\n%s", k->expected[i], text);
    }
    if (k->absent != NULL)
        assert_null(strstr(text, k->absent));
}

/* Weights: largest magnitude a channel over 127. Bias: scale of the input times that, values over it, rounded. */
static void check_constants(struct nuc_context *cx, void *arg)
{
    struct nuc_calibration *c = calibrate(cx, CONV_WITH_BIAS, true);
    struct nuc_graph *q = nuc_quantize_convert(c);
    struct nuc_observation x;

    nuc_quantize_observation(c, 2, &x);
    const int8_t *w = (const void *)node_of(q, "b__frozen_param0")->data->bytes.data;
    const float *ws = (const void *)node_of(q, "b__scale_0")->data->bytes.data;
    const int32_t *b = (const void *)node_of(q, "b__frozen_param1")->data->bytes.data;
    const float *bs = (const void *)node_of(q, "b__scale_1")->data->bytes.data;
    const int64_t *zp = (const void *)node_of(q, "b__zero_point_1")->data->bytes.data;
    assert_true(ws[0] == 1.0f / 127 && ws[1] == 2.0f / 127);
    assert_memory_equal(w, ((const int8_t[]){127, -64, 16, 127}), 4); /* -63.5, 15.875 */
    assert_true(bs[0] == x.scale[0] * ws[0] && bs[1] == x.scale[0] * ws[1]);
    assert_int_equal(b[0], lround(0.75 / (double)bs[0]));
    assert_int_equal(b[1], lround(-3 / (double)bs[1]));
    assert_int_equal(node_of(q, "b__frozen_param1")->vals[0].dtype, NUC_I32);
    assert_string_equal(node_of(q, "b__frozen_param1")->target, "_frozen_param1");
    assert_int_equal(zp[1], 0);
}

/* The scale of a quantize or dequantize node that is argument `index` of the node. */
static double scale_of(struct nuc_graph *g, const char *node, uint32_t index)
{
    return argument_of(node_of(g, node), index)->args[1].u.f;
}

/* One bias of two operators has two scales, which the reference takes from the first one alone. */
static void check_shared_bias(struct nuc_context *cx, void *arg)
{
    for (int compat = 0; compat < 2; compat++) {
        struct nuc_graph *q = nuc_quantize_convert(
            calibrate(cx,
                      "%w = parameter : float32[2, 2] values(1, 2, 3, 4); %v = parameter : float32[2, 2] "
                      "values(8, -8, 4, 2)\n%b = parameter : float32[2] values(0.5, -0.5); %x = input : float32[1, 2]\n"
                      "%l = aten.linear.default(%x, %w, %b); %m = aten.linear.default(%l, %v, %b)",
                      compat != 0));
        double one = scale_of(q, "linear", 2), two = scale_of(q, "linear_1", 2);
        double product = scale_of(q, "linear_1", 0) * scale_of(q, "linear_1", 1);
        assert_int_equal(one >= two && one <= two, compat != 0);
        assert_int_equal(fabs(two - product) < 1e-6 * product, compat == 0);
    }
}

/* ---- multiples of a value that others read, too ---- */

static const struct multiple {
    const char *call, *name;
    double factor;
    int64_t zero, of_value; /* zero + of_value * the value's zero point */
} multiples[] = {
    {"mul.Tensor(%v, %three)", "mul", 3, 0, 1},
    {"mul.Tensor(%three, %v)", "mul", 3, 0, 1},
    {"mul.Tensor(%v, %fifth)", "mul", -0.2, -1, -1},
    {"neg.default(%v)", "neg", -1, -1, -1},
};

/* They have its steps, so that their integers are the value's. */
static void check_multiple(struct nuc_context *cx, void *arg)
{
    const struct multiple *m = arg;
    const char *net =
        nuc_format(cx,
                   "%%three = constant : float32[] values(3); %%fifth = constant : float32[] values(-0.2)\n"
                   "%%x = input : float32[32]; %%e = aten.exp.default(%%x)\n"
                   "%%v = aten.sub.Tensor(%%x, %%e); %%r = aten.%s; %%s = aten.add.Tensor(%%r, %%v)",
                   m->call);
    struct nuc_graph *q = nuc_quantize_convert(calibrate(cx, net, false));
    struct nuc_quant value, result;

    assert_true(nuc_result_quant(node_of(q, "sub"), &value));
    assert_true(nuc_result_quant(node_of(q, m->name), &result));
    assert_true(fabs(result.scale - fabs(m->factor) * value.scale) < 1e-6 * result.scale);
    assert_int_equal(result.zero_point, m->zero + m->of_value * value.zero_point);
}

/* Converting twice, and sampling in between, starts afresh each time. */
static void check_goes_on(struct nuc_context *cx, void *arg)
{
    static const float wide[32] = {100, -100};
    struct nuc_calibration *c = calibrate(cx, CONV_WITH_BIAS "%r = aten.relu.default(%c)", true);
    const char *first = listing(nuc_quantize_convert(c));
    struct nuc_observation before, after;

    nuc_quantize_observation(c, 2, &before);
    nuc_quantize_sample(c, (const void *const[]){wide});
    assert_string_equal(listing(nuc_quantize_convert(c)), first);
    nuc_quantize_observation(c, 2, &after);
    assert_true(after.scale[0] > before.scale[0]);
    assert_true(after.max[0] == 100);
}

/* ---- failures ---- */

static void count_warning(void *user, const char *message)
{
    ++*(int *)user;
}

static void check_without_samples(struct nuc_context *cx, void *arg)
{
    struct nuc_quantize_options options = {.threads = 1};
    struct nuc_observation o;
    int warnings = 0;

    cx->warn = count_warning;
    cx->warn_user = &warnings;
    struct nuc_calibration *c =
        nuc_quantize_prepare(parse_quantized(cx, "%x = input : float32[4]; %r = aten.relu.default(%x)"), &options);
    nuc_graph_verify(nuc_quantize_convert(c), "quantized");
    nuc_quantize_observation(c, 0, &o);
    assert_false(o.seen);
    assert_true(o.scale[0] == 1);
    assert_int_equal(warnings, 2);
}

struct bad_values {
    const char *last_weight;
    float in[4];
    const char *message;
};

static void convert_bad_values(struct nuc_context *cx, void *arg)
{
    const struct bad_values *b = arg;
    const char *net = nuc_format(cx,
                                 "%%w = parameter : float32[1, 4] values(1, 2, 3, %s); %%x = input : float32[1, 4]\n"
                                 "%%l = aten.linear.default(%%x, %%w)",
                                 b->last_weight);

    nuc_quantize_convert(calibrate_on(parse_quantized(cx, net), true, b->in));
}

static void bad_values_are_named(void **state)
{
    struct bad_values cases[] = {{"4", {1, NAN, 2, 3}, "input 'x' has"},
                                 {"4", {-3e38f, 3e38f, 0, 0}, "too wide"},
                                 {"nan", {1, 2, 3, 4}, "node 'w'"}};

    for (size_t i = 0; i < COUNT(cases); i++)
        expect_failure(convert_bad_values, &cases[i], NUC_BAD_INPUT, cases[i].message);
}

RUN_TESTS(ROW_TEST(check_conversion, conversions), CONTEXT_TEST(check_constants), CONTEXT_TEST(check_shared_bias),
          ROW_TEST(check_multiple, multiples), CONTEXT_TEST(check_goes_on), CONTEXT_TEST(check_without_samples),
          cmocka_unit_test(bad_values_are_named))
