/* LiteRT models as graphs: layouts, paddings, activations and constants of imported operators; what is refused. */
#include "contexts.h"
#include "lt_boundaries.h"

#include "front/tflite/tflite.h"
#include "ir/obstacles.h"
#include "npu/layout/orders.h"
#include "rewrite/passes.h"

static const float scales[] = {0.5f, 0.25f, 0.125f, 0.0625f};
static const int64_t zeros[] = {0, 0, 0, 0};
static const int64_t low[] = {-128};
static const int8_t bytes[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const int32_t words[4] = {100, 200, 300, 400};

static int32_t add(struct nuc_lt_model *m, const char *name, enum nuc_dtype dtype, uint32_t rank, const int32_t *shape)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = dtype, .rank = rank};

    if (rank > 0)
        memcpy(t.shape, shape, rank * sizeof *shape);
    if (dtype == NUC_I8)
        t.quant = (struct nuc_lt_quant){1, scales, zeros, 0};
    return nuc_lt_add_tensor(m, &t);
}

#define ADD(m, name, ...)                                                                                              \
    add(m, name, NUC_I8, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), (int32_t[]){__VA_ARGS__})

/* A constant of the tensor's size, which `bytes` is long enough for. */
static int32_t constant(struct nuc_lt_model *m, int32_t tensor, uint32_t n_scales, int32_t axis)
{
    struct nuc_lt_tensor *t = &m->subgraphs[0].tensors[tensor];

    t->quant = (struct nuc_lt_quant){n_scales, scales, zeros, axis};
    t->data = (struct nuc_span){(const uint8_t *)bytes, (size_t)nuc_lt_elements(t)};
    return tensor;
}

static int32_t integers(struct nuc_lt_model *m, int32_t count, const int32_t *values)
{
    int32_t tensor = add(m, "numbers", NUC_I32, 1, &count);

    m->subgraphs[0].tensors[tensor].data =
        (struct nuc_span){nuc_copy(m->cx, values, (size_t)count * sizeof *values), (size_t)count * sizeof *values};
    return tensor;
}

static const char *text_of(struct nuc_lt_model *m)
{
    struct nuc_graph *g = nuc_import_litert(m->cx, m, 0, NULL);

    nuc_graph_verify(g, "import");
    return nuc_graph_print(g, false);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("'%s' is in:\n%s", part, text);
}

/* The first constant of a graph. */
static const struct nuc_node *first_constant(const struct nuc_graph *g)
{
    const struct nuc_node *n;

    for (n = g->first; n->next != NULL && n->data == NULL; n = n->next)
        ;
    if (n->data == NULL)
        fail_msg("no constant");
    return n;
}

/* x[1, h, h, c_in] -> CONV_2D 2x2 -> y */
static struct nuc_lt_model *conv_model(struct nuc_context *cx, int32_t height, int32_t results, int32_t stride,
                                       enum nuc_lt_activation activation)
{
    struct nuc_lt_model *m = nuc_lt_model_new(cx, "conv.tflite");
    int32_t x = ADD(m, "x:0", 1, height, height, 2), w = constant(m, ADD(m, "w", 4, 2, 2, 2), 4, 0);
    int32_t b = integers(m, 4, words), y = ADD(m, "y", 1, results, results, 4);
    struct nuc_lt_op *op = nuc_lt_add_op(m, NUC_LT_CONV_2D, (const int32_t[]){x, w, b}, 3, &y, 1);

    op->options.conv.padding = NUC_LT_SAME;
    op->options.conv.stride_w = op->options.conv.stride_h = stride;
    op->options.conv.dilation_w = op->options.conv.dilation_h = 1;
    op->options.conv.activation = activation;
    set_boundaries(m, x, y);
    return m;
}

static void uneven_padding_becomes_a_pad(void **state)
{
    const char *text = text_of(conv_model(*state, 5, 5, 1, NUC_LT_ACT_NONE));

    assert_has(text, "%x_0 = input : int8[1, 2, 5, 5] channels-last");
    assert_has(text, "aten.pad.default(%dequantize_per_tensor, [0, 1, 0, 1], \"constant\")");
    assert_has(text, "int8[4, 2, 2, 2] channels-last");
    assert_has(text, "int32[4]");
    assert_has(text, "%conv2d = aten.conv2d.default(");
    assert_has(text, ") : int8[1, 4, 5, 5] channels-last");
}

static void even_padding_stays_in_the_convolution(void **state)
{
    const char *text = text_of(conv_model(*state, 4, 2, 2, NUC_LT_ACT_NONE));

    assert_lacks(text, "aten.pad");
    assert_has(text, "[2, 2]");
}

static void activations_that_do_nothing_are_left_out(void **state)
{
    struct nuc_lt_model *m = conv_model(*state, 4, 2, 2, NUC_LT_ACT_RELU);

    assert_has(text_of(m), "aten.relu");
    m->subgraphs[0].tensors[m->subgraphs[0].outputs[0]].quant.zero_point = low;
    assert_lacks(text_of(m), "aten.relu");
    m->subgraphs[0].ops[0].options.conv.activation = NUC_LT_ACT_RELU6;
    assert_has(text_of(m), "aten.hardtanh.default(%conv2d, 0");
}

static void missing_scales_of_biases_are_products(void **state)
{
    struct nuc_lt_model *m = conv_model(*state, 4, 2, 2, NUC_LT_ACT_NONE);
    struct nuc_graph *g = nuc_import_litert(*state, m, 0, NULL);
    size_t found = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *data = n->op == NUC_OP_DEQUANTIZE_PER_CHANNEL ? nuc_arg_node(n, 0) : NULL;
        if (data == NULL || data->vals[0].dtype != NUC_I32)
            continue;
        const struct nuc_node *factors = nuc_arg_node(n, 1);
        assert_non_null(factors);
        const float *products = nuc_const_contiguous(g, factors);
        for (int i = 0; i < 4; i++)
            assert_float_equal(products[i], scales[0] * scales[i], 0);
        found++;
    }
    assert_int_equal(found, 1);
}

/* An image is permuted only where its bytes are not in the order of its sizes. */
static void reshapes_read_the_models_order(void **state)
{
    for (int32_t pixels = 1; pixels <= 2; pixels++) {
        struct nuc_lt_model *m = nuc_lt_model_new(*state, "reshape.tflite");
        int32_t x = ADD(m, "x", 1, pixels, 1, 8), y = ADD(m, "y", 1, 8 * pixels);
        int32_t shape = integers(m, 2, (const int32_t[]){1, 8 * pixels});

        nuc_lt_add_op(m, NUC_LT_RESHAPE, (const int32_t[]){x, shape}, 2, &y, 1);
        set_boundaries(m, x, y);
        const char *text = text_of(m);
        assert_has(text, "aten.reshape.default(");
        if (pixels == 1)
            assert_lacks(text, "aten.permute");
        else
            assert_has(text, "aten.permute.default(%dequantize_per_tensor, [0, 2, 3, 1])");
    }
}

/* [N, H, W, C] -> [N, C, H, W] of an image is the image. */
static void transposes_between_layouts_are_free(void **state)
{
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "transpose.tflite");
    int32_t x = ADD(m, "x", 1, 4, 5, 2), y = ADD(m, "y", 1, 2, 4, 5), z = ADD(m, "z", 1, 2, 4, 5);
    int32_t perm = integers(m, 4, (const int32_t[]){0, 3, 1, 2});

    nuc_lt_add_op(m, NUC_LT_TRANSPOSE, (const int32_t[]){x, perm}, 2, &y, 1);
    nuc_lt_add_op(m, NUC_LT_ABS, &y, 1, &z, 1);
    set_boundaries(m, x, z);
    const char *text = text_of(m);
    assert_lacks(text, "aten.permute");
    assert_has(text, "aten.contiguous");
}

/* x[1, 4] -> FULLY_CONNECTED with weights that a TRANSPOSE of a constant gives -> y[1, 2] */
static void transposed_constants_are_constants(void **state)
{
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "fc.tflite");
    int32_t x = ADD(m, "x", 1, 4), w = constant(m, ADD(m, "w", 4, 2), 1, 0), t = ADD(m, "t", 2, 4);
    int32_t y = ADD(m, "y", 1, 2);

    nuc_lt_add_op(m, NUC_LT_TRANSPOSE, (const int32_t[]){w, integers(m, 2, (const int32_t[]){1, 0})}, 2, &t, 1);
    nuc_lt_add_op(m, NUC_LT_FULLY_CONNECTED, (const int32_t[]){x, t}, 2, &y, 1);
    set_boundaries(m, x, y);
    struct nuc_graph *g = nuc_import_litert(*state, m, 0, NULL);
    const struct nuc_node *buffer = first_constant(g);
    assert_int_equal(buffer->vals[0].sizes[0], 2);
    assert_memory_equal(buffer->data->bytes.data, ((const int8_t[]){1, 3, 5, 7, 2, 4, 6, 8}), 8);
    assert_lacks(nuc_graph_print(g, false), "permute");
    assert_null(m->subgraphs[0].tensors[t].data.data);
    /* What the model gives is computed. */
    set_boundaries(m, x, t);
    assert_has(text_of(m), "permute");
}

/* x[1, 4, 4, 2] -> SLICE -> y[1, 2, 4, 2], whose bytes stay in the model's order when Edge operators would change it.
 */
static void results_lie_as_in_the_model(void **state)
{
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "slice.tflite");
    int32_t x = ADD(m, "x", 1, 4, 4, 2), y = ADD(m, "y", 1, 2, 4, 2);
    int32_t begin = integers(m, 4, (const int32_t[]){0, 1, 0, 0}), size = integers(m, 4, (const int32_t[]){1, 2, 4, 2});

    nuc_lt_add_op(m, NUC_LT_SLICE, (const int32_t[]){x, begin, size}, 3, &y, 1);
    set_boundaries(m, x, y);
    struct nuc_graph *g = nuc_import_litert(*state, m, 0, NULL);
    const struct nuc_meta *metas = nuc_output_metas(g);
    nuc_to_edge(g, NULL);
    assert_false(nuc_same_layout(&metas[0], &nuc_output_node(g)->args[0].u.nodes[0]->vals[0]));
    nuc_restore_output_orders(g, metas);
    assert_true(nuc_same_layout(&metas[0], &nuc_output_node(g)->args[0].u.nodes[0]->vals[0]));
    nuc_graph_verify(g, "edge");
}

/* A float32 tensor; with `values` a constant. */
static int32_t real(struct nuc_lt_model *m, const char *name, uint32_t rank, const int32_t *shape, const float *values)
{
    int32_t tensor = add(m, name, NUC_F32, rank, shape);
    struct nuc_lt_tensor *t = &m->subgraphs[0].tensors[tensor];

    if (values != NULL)
        t->data = (struct nuc_span){(const uint8_t *)values, (size_t)nuc_lt_elements(t) * sizeof *values};
    return tensor;
}

static const float floats[120] = {1};

#define REAL(m, name, values, ...)                                                                                     \
    real(m, name, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), (int32_t[]){__VA_ARGS__}, values)

/* x[2, 5, 3] -> UNIDIRECTIONAL_SEQUENCE_LSTM of 4 units -> y[2, 5, 4] */
static struct nuc_lt_model *lstm_model(struct nuc_context *cx)
{
    struct nuc_lt_model *m = nuc_lt_model_new(cx, "lstm.tflite");
    int32_t x = REAL(m, "x", NULL, 2, 5, 3), y = REAL(m, "y", NULL, 2, 5, 4), operands[24];

    for (int i = 0; i < 24; i++)
        operands[i] = -1;
    operands[0] = x;
    for (int gate = 0; gate < 4; gate++) {
        operands[1 + gate] = REAL(m, "w", floats, 4, 3);
        operands[5 + gate] = REAL(m, "r", floats, 4, 4);
        operands[12 + gate] = REAL(m, "b", floats, 4);
    }
    for (int i = 18; i < 20; i++) {
        operands[i] = REAL(m, "state", NULL, 2, 4);
        m->subgraphs[0].tensors[operands[i]].is_variable = true;
    }
    struct nuc_lt_op *op = nuc_lt_add_op(m, NUC_LT_UNIDIRECTIONAL_SEQUENCE_LSTM, operands, 24, &y, 1);
    op->options.lstm.activation = 4;
    set_boundaries(m, x, y);
    return m;
}

static void recurrent_layers_are_layers(void **state)
{
    struct nuc_lt_model *m = lstm_model(*state);
    const char *text = text_of(m);

    assert_has(text, "float32[16, 3]");
    assert_has(text, "float32[16, 4]");
    assert_has(text, "aten.lstm.input(%x, ");
    assert_has(text, "true, 1, 0.0, false, false, true) : (float32[2, 5, 4]");
}

struct refused {
    struct nuc_lt_model *m;
};

static void import(struct nuc_context *cx, void *arg)
{
    nuc_import_litert(cx, ((struct refused *)arg)->m, 0, NULL);
}

static void assert_refused(struct nuc_context *cx, struct nuc_lt_model *m, enum nuc_status status, const char *part)
{
    struct refused r = {m};

    assert_int_equal(nuc_try(cx, import, &r), status);
    assert_has(cx->message, part);
}

/* With its result as an input, which the boundary knows as an image. */
static void what_is_refused_is_left_out(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_lt_model *m = conv_model(cx, 4, 2, 2, NUC_LT_ACT_NONE);
    struct nuc_litert_io io = {.n_inputs = 0};

    m->subgraphs[0].ops[0].code = NUC_LT_CUSTOM;
    m->subgraphs[0].ops[0].custom_code = "Mine";
    const struct nuc_obstacles *all = nuc_collect_obstacles(cx);
    struct nuc_graph *g = nuc_import_litert(cx, m, 0, &io);
    nuc_graph_verify(g, "import");
    assert_int_equal(all->count, 1);
    assert_string_equal(all->first->op, "CUSTOM");
    assert_has(all->first->text, "operator 0 (CUSTOM): custom operator 'Mine' is not handled");
    assert_int_equal(io.n_inputs, 1);
    assert_has(nuc_graph_print(g, false), "output([%x_0])");
}

/* Who makes or reads it is left out; what comes after takes its values from outside. */
static void tensors_of_other_types_are_obstacles_of_operators(void **state)
{
    static const char *const names[] = {"x", "a", "b", "y"};
    struct nuc_context *cx = *state;
    struct nuc_lt_model *m = nuc_lt_model_new(cx, "types.tflite");
    int32_t t[4];

    for (int i = 0; i < 4; i++)
        t[i] = REAL(m, names[i], NULL, 1, 4);
    for (int i = 0; i < 3; i++)
        nuc_lt_add_op(m, NUC_LT_ABS, &t[i], 1, &t[i + 1], 1);
    m->subgraphs[0].tensors[t[1]].unhandled = "uint32";
    set_boundaries(m, t[0], t[3]);
    const struct nuc_obstacles *all = nuc_collect_obstacles(cx);
    struct nuc_graph *g = nuc_import_litert(cx, m, 0, NULL);
    assert_int_equal(all->count, 2);
    assert_has(all->first->text, "operator 0 (ABS): tensor 'a' is of the type uint32, which is not handled");
    assert_has(nuc_graph_print(g, false), "aten.abs.default(%operator_1_0)");
}

static void refusals_name_operator_and_reason(void **state)
{
    struct nuc_lt_model *m = conv_model(*state, 4, 2, 2, NUC_LT_ACT_NONE);
    struct nuc_lt_subgraph *s = &m->subgraphs[0];

    s->ops[0].options.conv.stride_h = 0;
    assert_refused(*state, m, NUC_UNSUPPORTED, "stride is 0");
    s->ops[0].options.conv.stride_h = 2;
    s->ops[0].code = 31;
    assert_refused(*state, m, NUC_UNSUPPORTED, "operator 0 (BUILTIN_31): is not handled");
    s->ops[0].code = NUC_LT_CUSTOM;
    s->ops[0].custom_code = "NeutronGraph";
    assert_refused(*state, m, NUC_UNSUPPORTED, "'NeutronGraph': the model was compiled by the Neutron converter");
    s->ops[0].custom_code = "ethos-u";
    assert_refused(*state, m, NUC_UNSUPPORTED, "compiled by Vela");
    s->ops[0].custom_code = "Mine";
    assert_refused(*state, m, NUC_UNSUPPORTED, "custom operator 'Mine' is not handled");
    s->tensors[s->inputs[0]].dtype = NUC_U16;
    assert_refused(*state, m, NUC_UNSUPPORTED, "tensor 'x:0' is uint16");
}

static void refusals_name_operands_and_axes(void **state)
{
    static const int32_t begin[4] = {0, 0, 0, 3}, size[4] = {1, 4, 4, 4};
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "operands.tflite");
    int32_t x = ADD(m, "x", 1, 4, 4, 5), from = integers(m, 4, begin), count = integers(m, 4, size);
    int32_t y = ADD(m, "y", 1, 4, 4, 4);
    struct nuc_lt_op *op = nuc_lt_add_op(m, NUC_LT_SLICE, (const int32_t[]){x, from, count}, 3, &y, 1);

    set_boundaries(m, x, y);
    assert_refused(*state, m, NUC_UNSUPPORTED, "takes 3 to 7 in steps of 1 of the 5 elements along axis 3");
    op->code = NUC_LT_SELECT_V2;
    op->inputs[1] = op->inputs[2] = x;
    assert_refused(*state, m, NUC_UNSUPPORTED, "the condition 'x' is float32: bool is handled");
    op->code = NUC_LT_GATHER;
    op->n_inputs = 2;
    assert_refused(*state, m, NUC_UNSUPPORTED, "positions 'x' are float32: int32 and int64 are handled");
}

/*
 * Weights of uint8 about their zero point have nine bits: with eight a channel that needs them gets larger steps, else
 * they keep the zero point.
 */
static void weights_with_a_zero_point_are_centred(void **state)
{
    static const float half[1] = {0.5f};
    static const int64_t zero_of_x[1] = {120}, zero_of_w[1] = {100};
    uint8_t weights[4] = {0, 200, 255, 100}; /* -100 and 100; 155 and 0 */
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "uint8.tflite");
    struct nuc_lt_tensor x = {
        .name = "x", .dtype = NUC_U8, .rank = 2, .shape = {1, 2}, .quant = {1, half, zero_of_x, 0}};
    struct nuc_lt_tensor w = {
        .name = "w", .dtype = NUC_U8, .rank = 2, .shape = {2, 2}, .quant = {1, half, zero_of_w, 0}};
    w.data = (struct nuc_span){weights, sizeof weights};
    struct nuc_lt_tensor y = x;
    y.name = "y";
    int32_t operands[2] = {nuc_lt_add_tensor(m, &x), nuc_lt_add_tensor(m, &w)}, result = nuc_lt_add_tensor(m, &y);

    nuc_lt_add_op(m, NUC_LT_FULLY_CONNECTED, operands, 2, &result, 1);
    set_boundaries(m, operands[0], result);
    struct nuc_graph *g = nuc_import_litert(*state, m, 0, NULL);
    const int8_t shifted[4] = {-128, 72, 127, -28}, expected[4] = {-100, 100, 127, 0};
    assert_memory_equal(first_constant(g)->data->bytes.data, shifted, sizeof shifted);
    assert_has(nuc_graph_print(g, true), "dequantize_per_tensor.default(%constant, 0.5, -28,");
    struct nuc_litert_io io = {.eight_bit_weights = true};
    g = nuc_import_litert(*state, m, 0, &io);
    assert_memory_equal(first_constant(g)->data->bytes.data, expected, sizeof expected);
    const char *text = nuc_graph_print(g, true);
    assert_has(text, "int8[1, 2]");
    assert_has(text, "dequantize_per_channel");
    assert_has(text, "dequantize_per_tensor.default(%x, 0.5, -8,");
}

static void one_of_several_subgraphs_is_read(void **state)
{
    struct nuc_lt_model *m = conv_model(*state, 4, 2, 2, NUC_LT_ACT_NONE);
    struct nuc_lt_subgraph both[2] = {m->subgraphs[0], m->subgraphs[0]};

    both[0].n_ops = 0;
    m->subgraphs = both;
    m->n_subgraphs = 2;
    assert_has(nuc_graph_print(nuc_import_litert(*state, m, 1, NULL), false), "aten.conv2d.default");
}

static void slopes_of_a_number_are_broadcast(void **state)
{
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "prelu.tflite");
    int32_t x = ADD(m, "x", 1, 8), slopes = ADD(m, "slopes", 3), y = ADD(m, "y", 1, 8);

    m->subgraphs[0].tensors[x].rank = m->subgraphs[0].tensors[y].rank = 0;
    m->subgraphs[0].tensors[slopes].data = (struct nuc_span){(const uint8_t *)"\1\2\3", 3};
    nuc_lt_add_op(m, NUC_LT_PRELU, (const int32_t[]){x, slopes}, 2, &y, 1);
    set_boundaries(m, x, y);
    const char *text = nuc_graph_print(nuc_import_litert(*state, m, 0, NULL), false);
    assert_has(text, "aten.relu.default");
    assert_has(text, "aten.mul.Tensor(");
}

static void recurrent_layers_are_refused_with_a_reason(void **state)
{
    struct nuc_lt_model *m = lstm_model(*state);
    struct nuc_lt_subgraph *s = &m->subgraphs[0];

    s->ops[0].options.lstm.activation = 1;
    assert_refused(*state, m, NUC_UNSUPPORTED, "operator 0 (UNIDIRECTIONAL_SEQUENCE_LSTM): has activation 1");
    s->ops[0].options.lstm.activation = 4;
    s->ops[0].inputs[9] = s->ops[0].inputs[12];
    for (uint32_t i = 0; i < 2; i++) {
        s->tensors[i].dtype = NUC_I8;
        s->tensors[i].quant = (struct nuc_lt_quant){1, scales, zeros, 0};
    }
    assert_refused(*state, m, NUC_UNSUPPORTED, "has peepholes in int8, which LiteRT Micro does not have");
    s->ops[0].inputs[9] = -1;
    assert_refused(*state, m, NUC_UNSUPPORTED, "'state' must be int8 with one scale");
}

static int32_t handle(struct nuc_lt_model *m)
{
    const struct nuc_lt_tensor t = {.name = "handle", .dtype = NUC_I16, .is_resource = true, .unhandled = "resource"};
    const int32_t tensor = nuc_lt_add_tensor(m, &t);

    nuc_lt_add_op(m, NUC_LT_VAR_HANDLE, NULL, 0, &tensor, 1)->options.variable.name = "sum";
    return tensor;
}

/* y = x + variable "sum", to which tensor `assigned` is assigned unless it is below 0: 0 is x[1, 4], 1 y. */
static struct nuc_lt_model *variable_model(struct nuc_context *cx, int assigned)
{
    struct nuc_lt_model *m = nuc_lt_model_new(cx, "sum.tflite");
    const int32_t x = REAL(m, "x", NULL, 1, 4), y = REAL(m, "y", NULL, 1, 4), v = REAL(m, "v", NULL, 1, 4);
    const int32_t part = REAL(m, "part", floats, 1, 2), h = handle(m), values[3] = {x, y, part};

    nuc_lt_add_op(m, NUC_LT_READ_VARIABLE, &h, 1, &v, 1);
    nuc_lt_add_op(m, NUC_LT_ADD, (const int32_t[]){x, v}, 2, &y, 1);
    if (assigned >= 0)
        nuc_lt_add_op(m, NUC_LT_ASSIGN_VARIABLE, (const int32_t[]){h, values[assigned]}, 2, NULL, 0);
    set_boundaries(m, x, y);
    return m;
}

static void variables_are_states(void **state)
{
    const char *text = text_of(variable_model(*state, 1));

    assert_has(text, "%sum = state \"sum\" : float32[1, 4]");
    assert_has(text, "%add = aten.add.Tensor(%x, %sum)");
    assert_has(text, "output([%add, %add])");
    /* What nothing writes is a constant. */
    assert_lacks(text_of(variable_model(*state, -1)), "= state");
}

static void variables_are_refused_with_a_reason(void **state)
{
    struct nuc_lt_model *m = variable_model(*state, 2);

    assert_refused(*state, m, NUC_UNSUPPORTED,
                   "operator 3 (ASSIGN_VARIABLE): assigns float32[1, 2] to 'sum', which is float32[1, 4]");
    m->subgraphs[0].ops[1].inputs[0] = m->subgraphs[0].inputs[0];
    assert_refused(*state, m, NUC_UNSUPPORTED, "operand 0 is no handle that VAR_HANDLE makes");
    m = variable_model(*state, -1);
    m->subgraphs[0].tensors[0].is_variable = true;
    assert_refused(*state, m, NUC_UNSUPPORTED, "keeps a state, which SVDF and recurrent layers alone may read");
    m = variable_model(*state, -1);
    m->subgraphs[0].ops[2].inputs[0] = m->subgraphs[0].ops[0].outputs[0];
    assert_refused(*state, m, NUC_UNSUPPORTED, "tensor 'handle' is of the type resource");
}

/* Subgraph 1 assigns its input, or a constant, before the first run. */
static struct nuc_lt_model *initialised_model(struct nuc_context *cx, const float *values)
{
    struct nuc_lt_model *m = variable_model(cx, 1), *first = nuc_lt_model_new(cx, "sum.tflite");
    const int32_t x = REAL(first, "x", values, 1, 4), h = handle(first);
    struct nuc_lt_op *ops = nuc_alloc_array(cx, 5, sizeof *ops);

    nuc_lt_add_op(first, NUC_LT_ASSIGN_VARIABLE, (const int32_t[]){h, x}, 2, NULL, 0);
    ops[0] = (struct nuc_lt_op){.code = NUC_LT_CALL_ONCE, .options.subgraphs.first = 1};
    for (uint32_t i = 0; i < m->subgraphs[0].n_ops; i++)
        ops[1 + i] = m->subgraphs[0].ops[i];
    m->subgraphs[0].ops = ops;
    m->subgraphs[0].n_ops++;
    struct nuc_lt_subgraph *both = nuc_alloc_array(cx, 2, sizeof *both);
    both[0] = m->subgraphs[0];
    both[1] = first->subgraphs[0];
    m->subgraphs = both;
    m->n_subgraphs = 2;
    return m;
}

static void variables_begin_with_what_is_assigned_once(void **state)
{
    struct nuc_lt_model *m = initialised_model(*state, floats);
    struct nuc_graph *g = nuc_import_litert(*state, m, 0, NULL);

    assert_memory_equal(first_constant(g)->data->bytes.data, floats, 4 * sizeof *floats);
    m = initialised_model(*state, NULL);
    m->subgraphs[1].inputs = m->subgraphs[0].inputs; /* a tensor without data is one that is computed */
    m->subgraphs[1].n_inputs = 0;
    m->subgraphs[1].tensors[0].is_variable = true;
    assert_refused(*state, m, NUC_UNSUPPORTED, "operator 1 (ASSIGN_VARIABLE): tensor 'x' keeps a state");
}

/* Subgraph `index` of one operator on an input and a constant. */
static void add_subgraph(struct nuc_lt_model *m, uint32_t index, int32_t code, int32_t number)
{
    struct nuc_lt_model *other = nuc_lt_model_new(m->cx, m->file);
    int32_t x = add(other, "i", NUC_I32, 0, NULL), n = integers(other, 1, &number);
    int32_t y = add(other, "y", code == NUC_LT_LESS ? NUC_BOOL : NUC_I32, 0, NULL);

    other->subgraphs[0].tensors[n].rank = 0;
    nuc_lt_add_op(other, code, (const int32_t[]){x, n}, 2, &y, 1);
    set_boundaries(other, x, y);
    m->subgraphs[index] = other->subgraphs[0];
}

/* A loop counts to 3, a choice adds 2 to that: the size that x is repeated to. */
static void constant_conditions_are_inlined(void **state)
{
    static const int32_t zero = 0;
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "loop.tflite");
    struct nuc_lt_subgraph *all = nuc_alloc_array(*state, 5, sizeof *all);
    int32_t x = REAL(m, "x", NULL, 1, 2), from = integers(m, 1, &zero), count = add(m, "count", NUC_I32, 0, NULL);
    int32_t truth = add(m, "truth", NUC_BOOL, 0, NULL), sum = add(m, "sum", NUC_I32, 0, NULL);
    int32_t sizes = add(m, "sizes", NUC_I32, 2, (const int32_t[]){1, 1}), y = REAL(m, "y", NULL, 1, 5);

    m->subgraphs[0].tensors[from].rank = 0;
    m->subgraphs[0].tensors[truth].data = (struct nuc_span){(const uint8_t *)"", 1};
    struct nuc_lt_op *loop = nuc_lt_add_op(m, NUC_LT_WHILE, &from, 1, &count, 1);
    loop->options.subgraphs.first = 1;
    loop->options.subgraphs.second = 2;
    struct nuc_lt_op *choice = nuc_lt_add_op(m, NUC_LT_IF, (const int32_t[]){truth, count}, 2, &sum, 1);
    choice->options.subgraphs.first = 3;
    choice->options.subgraphs.second = 4;
    const int32_t one = 1, left = integers(m, 1, &one), parts[2] = {integers(m, 1, &one), sum};
    m->subgraphs[0].tensors[parts[0]].rank = 0;
    m->subgraphs[0].tensors[sizes].rank = 1;
    m->subgraphs[0].tensors[sizes].shape[0] = 2;
    nuc_lt_add_op(m, NUC_LT_PACK, parts, 2, &sizes, 1)->options.pack.axis = 0;
    int32_t narrow = REAL(m, "narrow", NULL, 1, 1);
    nuc_lt_add_op(m, NUC_LT_REDUCE_MAX, (const int32_t[]){x, left}, 2, &narrow, 1)->options.reduce.keep_dims = true;
    nuc_lt_add_op(m, NUC_LT_BROADCAST_TO, (const int32_t[]){narrow, sizes}, 2, &y, 1);
    set_boundaries(m, x, y);
    all[0] = m->subgraphs[0];
    m->subgraphs = all;
    m->n_subgraphs = 5;
    add_subgraph(m, 1, NUC_LT_LESS, 3);
    add_subgraph(m, 2, NUC_LT_ADD, 1);
    add_subgraph(m, 3, NUC_LT_ADD, 1);
    add_subgraph(m, 4, NUC_LT_ADD, 2);
    assert_has(text_of(m), "float32[1, 5]"); /* 3 and 2 */
    all[0].ops[0].options.subgraphs.first = 2;
    assert_refused(*state, m, NUC_UNSUPPORTED, "its condition is computed from inputs");
    add_subgraph(m, 1, NUC_LT_LESS, INT32_MAX);
    all[0].ops[0].options.subgraphs.first = 1;
    assert_refused(*state, m, NUC_UNSUPPORTED, "goes on for more than 65536 operators and tensors");
    all[0].ops[0].options.subgraphs.first = 5;
    assert_refused(*state, m, NUC_UNSUPPORTED, "has subgraph 5");
}

static void values_come_from_somewhere(void **state)
{
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "order.tflite");
    int32_t x = ADD(m, "x", 1, 8), y = ADD(m, "y", 1, 8), z = ADD(m, "z", 1, 8);

    nuc_lt_add_op(m, NUC_LT_ABS, &y, 1, &z, 1);
    set_boundaries(m, x, z);
    assert_refused(*state, m, NUC_BAD_INPUT, "tensor 'y' (1): is read before it is produced");
    m->subgraphs[0].ops[0].inputs[0] = x;
    m->subgraphs[0].outputs[0] = y;
    assert_refused(*state, m, NUC_BAD_INPUT, "output 0 is computed by no operator");
    m->subgraphs[0].ops[0].outputs[0] = x;
    assert_refused(*state, m, NUC_BAD_INPUT, "an input of the model is written");
}

RUN_TESTS(STATE_TEST(uneven_padding_becomes_a_pad), STATE_TEST(slopes_of_a_number_are_broadcast),
          STATE_TEST(weights_with_a_zero_point_are_centred), STATE_TEST(one_of_several_subgraphs_is_read),
          STATE_TEST(even_padding_stays_in_the_convolution), STATE_TEST(activations_that_do_nothing_are_left_out),
          STATE_TEST(missing_scales_of_biases_are_products), STATE_TEST(reshapes_read_the_models_order),
          STATE_TEST(transposes_between_layouts_are_free), STATE_TEST(transposed_constants_are_constants),
          STATE_TEST(results_lie_as_in_the_model), STATE_TEST(recurrent_layers_are_layers),
          STATE_TEST(recurrent_layers_are_refused_with_a_reason), STATE_TEST(variables_are_states),
          STATE_TEST(variables_are_refused_with_a_reason), STATE_TEST(variables_begin_with_what_is_assigned_once),
          STATE_TEST(constant_conditions_are_inlined), STATE_TEST(refusals_name_operator_and_reason),
          STATE_TEST(refusals_name_operands_and_axes), STATE_TEST(what_is_refused_is_left_out),
          STATE_TEST(tensors_of_other_types_are_obstacles_of_operators), STATE_TEST(values_come_from_somewhere))
