/* LiteRT models: what is written reads back the same, the verifier finds each broken rule, damaged files are refused.
 */
#include "contexts.h"
#include "lt_boundaries.h"

#include "litert/litert_ops.h"

static const float scale_a[] = {0.5f};
static const float scale_b[] = {0.25f};
static const float scale_ab[] = {0.125f};
static const float scale_256[] = {1.0f / 256};
static const int64_t point_3[] = {3};
static const int64_t point_0[] = {0};
static const int64_t point_low[] = {-128};
static const float scales_4[] = {0.1f, 0.2f, 0.3f, 0.4f};
static const float products_4[] = {0.05f, 0.1f, 0.15f, 0.2f};
static const int64_t points_4[] = {0, 0, 0, 0};

static int32_t value(struct nuc_lt_model *m, const char *name, int32_t h, int32_t c, const float *scale,
                     const int64_t *point)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = NUC_I8, .rank = 4, .shape = {1, h, h, c}};

    t.quant = (struct nuc_lt_quant){1, scale, point, 0};
    return nuc_lt_add_tensor(m, &t);
}

static int32_t vector(struct nuc_lt_model *m, const char *name, enum nuc_dtype dtype, int32_t n, const void *data)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = dtype, .rank = 1, .shape = {n}};

    t.data = (struct nuc_span){data, (size_t)n * nuc_dtype_size(dtype)};
    return nuc_lt_add_tensor(m, &t);
}

static const int8_t weight_data[4 * 9 * 2] = {1, -2, 3, -4, 5};
static const int32_t bias_data[4] = {100, -200, 300, -400};

/* x -> CONV_2D -> SOFTMAX -> y with per-channel weights. */
static struct nuc_lt_model *small_model(struct nuc_context *cx)
{
    struct nuc_lt_model *m = nuc_lt_model_new(cx, "small.tflite");
    int32_t x = value(m, "x", 8, 2, scale_a, point_3);
    struct nuc_lt_tensor w = {.name = "w", .dtype = NUC_I8, .rank = 4, .shape = {4, 3, 3, 2}};
    w.quant = (struct nuc_lt_quant){4, scales_4, points_4, 0};
    w.data = (struct nuc_span){(const uint8_t *)weight_data, sizeof weight_data};
    int32_t weight = nuc_lt_add_tensor(m, &w);
    int32_t bias = vector(m, "bias", NUC_I32, 4, bias_data);
    m->subgraphs[0].tensors[bias].quant = (struct nuc_lt_quant){4, products_4, points_4, 0};
    int32_t h = value(m, "h", 6, 4, scale_b, point_3);
    int32_t y = value(m, "y", 6, 4, scale_256, point_low);
    struct nuc_lt_op *conv = nuc_lt_add_op(m, NUC_LT_CONV_2D, (const int32_t[]){x, weight, bias}, 3, &h, 1);

    conv->options.conv.padding = NUC_LT_VALID;
    conv->options.conv.stride_w = conv->options.conv.stride_h = 1;
    conv->options.conv.dilation_w = conv->options.conv.dilation_h = 1;
    nuc_lt_add_op(m, NUC_LT_SOFTMAX, &h, 1, &y, 1)->options.softmax.beta = 1;
    m->description = "small";
    set_boundaries(m, x, y);
    return m;
}

/* What is written reads back, prints and is written again the same. */
static struct nuc_lt_model *reread(struct nuc_context *cx, struct nuc_lt_model *m)
{
    struct nuc_span bytes = nuc_lt_write(m);
    struct nuc_lt_model *again = nuc_lt_read(cx, m->file, bytes);
    struct nuc_span second = nuc_lt_write(again);

    assert_string_equal(nuc_lt_print(again), nuc_lt_print(m));
    assert_int_equal(bytes.size, second.size);
    assert_memory_equal(bytes.data, second.data, bytes.size);
    return again;
}

static void test_round_trip(void **state)
{
    struct nuc_lt_model *m = small_model(*state), *again = reread(*state, m);

    assert_memory_equal(nuc_lt_write(m).data + 4, "TFL3", 4);
    assert_string_equal(again->description, "small");
    for (uint32_t i = 0; i < m->subgraphs[0].n_tensors; i++) {
        const struct nuc_lt_tensor *a = &m->subgraphs[0].tensors[i], *b = &again->subgraphs[0].tensors[i];
        assert_true(nuc_lt_quant_equal(&a->quant, &b->quant));
        assert_int_equal(a->data.size, b->data.size);
        if (a->data.size > 0)
            assert_memory_equal(a->data.data, b->data.data, a->data.size);
    }
    nuc_lt_verify(again);
}

/* Constants can be used in place by kernels that load 16 bytes at once. */
static void test_data_is_aligned(void **state)
{
    struct nuc_span bytes = nuc_lt_write(small_model(*state));
    struct nuc_lt_model *m = nuc_lt_read(*state, "m.tflite", bytes);

    for (uint32_t i = 0; i < m->subgraphs[0].n_tensors; i++) {
        const struct nuc_lt_tensor *t = &m->subgraphs[0].tensors[i];
        if (t->data.data != NULL)
            assert_int_equal((t->data.data - bytes.data) % 16, 0);
    }
}

static struct nuc_lt_op *one_op(struct nuc_context *cx, int32_t code, struct nuc_lt_model **m)
{
    *m = nuc_lt_model_new(cx, "op.tflite");
    int32_t x = value(*m, "x", 4, 2, scale_a, point_3);
    int32_t y = value(*m, "y", 4, 2, scale_a, point_3);
    return nuc_lt_add_op(*m, code, (const int32_t[]){x, -1}, 2, &y, 1);
}

/* What a file does not store has its one value; the other options stay 0 or get a value each. */
static void set_fields(int32_t code, union nuc_lt_options *o, bool stored)
{
    const struct nuc_lt_fields fields = nuc_lt_fields(code);

    for (size_t i = 0; i < fields.n; i++) {
        const struct nuc_lt_field *f = &fields.list[i];
        uint8_t *member = (uint8_t *)o + f->offset[0], *width = (uint8_t *)o + f->offset[1];
        const int32_t number = f->id[0] < 0 ? f->value_absent : (int32_t)i + 2, next = number + (f->id[0] >= 0);
        const enum nuc_lt_padding padding = NUC_LT_VALID;
        const enum nuc_lt_activation activation = NUC_LT_ACT_RELU6;
        const float real = 0.5f * (float)number;
        const char *text = "ring";
        const struct nuc_lt_list list = nuc_lt_list((const int32_t[]){0, -1, number}, 3);
        const struct nuc_span opaque = {(const uint8_t *)"opaque", 6};
        if (f->id[0] >= 0 && !stored)
            continue;
        switch (f->kind) {
        case NUC_LT_FIELD_PAIR:
            memcpy(member, &number, sizeof number);
            memcpy(width, &next, sizeof next);
            break;
        case NUC_LT_FIELD_INT:
        case NUC_LT_FIELD_COUNT:
            memcpy(member, &number, sizeof number);
            break;
        case NUC_LT_FIELD_BYTE:
        case NUC_LT_FIELD_FLAG:
            *member = 1;
            break;
        case NUC_LT_FIELD_PADDING:
            memcpy(member, &padding, sizeof padding);
            break;
        case NUC_LT_FIELD_ACTIVATION:
            memcpy(member, &activation, sizeof activation);
            break;
        case NUC_LT_FIELD_REAL:
            memcpy(member, &real, sizeof real);
            break;
        case NUC_LT_FIELD_TEXT:
            memcpy(member, &text, sizeof text);
            break;
        case NUC_LT_FIELD_LIST:
            memcpy(member, &list, sizeof list);
            break;
        case NUC_LT_FIELD_BYTES:
            memcpy(member, &opaque, sizeof opaque);
            break;
        }
    }
}

/* Options of every operator in the list survive, with the code: zeroed ones, and others. */
static void test_all_codes(void **state)
{
    static const int32_t codes[] = {
#define LT(name, number, ...) number,
#include "litert/lt_ops.def"
        /* one that is not in the list */ 31};
    struct nuc_lt_model *m;

    for (size_t i = 0; i < 2 * sizeof codes / sizeof codes[0]; i++) {
        const int32_t code = codes[i / 2];
        const struct nuc_lt_fields fields = nuc_lt_fields(code);
        struct nuc_lt_op *op = one_op(*state, code, &m);
        op->version = (int32_t)i;
        op->custom_code = code == NUC_LT_CUSTOM ? "NeutronGraph" : NULL;
        set_fields(code, &op->options, i % 2 != 0);
        const struct nuc_lt_op *back = &reread(*state, m)->subgraphs[0].ops[0];
        assert_int_equal(back->code, code);
        assert_int_equal(back->version, op->version);
        assert_int_equal(back->inputs[1], -1);
        for (size_t k = 0; k < fields.n; k++) {
            const struct nuc_lt_field *f = &fields.list[k];
            for (int part = 0; part <= (f->kind == NUC_LT_FIELD_PAIR); part++)
                assert_int_equal(nuc_lt_field_int(&back->options, f, part), nuc_lt_field_int(&op->options, f, part));
        }
    }
    assert_string_equal(nuc_lt_code_name(*state, 3), "CONV_2D");
    assert_string_equal(nuc_lt_code_name(*state, 31), "BUILTIN_31");
}

/* The type of a variable's handle survives, and its name is printed. */
static void test_variables(void **state)
{
    struct nuc_lt_model *m;
    struct nuc_lt_op *op = one_op(*state, NUC_LT_VAR_HANDLE, &m);

    op->options.variable.name = "ring";
    m->subgraphs[0].tensors[op->outputs[0]].is_resource = true;
    m->subgraphs[0].tensors[op->outputs[0]].quant.count = 0;
    assert_true(reread(*state, m)->subgraphs[0].tensors[op->outputs[0]].is_resource);
    assert_non_null(strstr(nuc_lt_print(m), "VAR_HANDLE(%0, none) container '' name 'ring'"));
}

static void test_print(void **state)
{
    const char *text = nuc_lt_print(small_model(*state));

    assert_non_null(
        strstr(text, "  %1 int8[4, 3, 3, 2] constant scale 0.100000001 zero_point 0 and 3 more along axis 0 'w'\n"));
    assert_non_null(strstr(text, "  %3 = CONV_2D(%0, %1, %2) stride 1x1 dilation 1x1 valid\n"));
    assert_non_null(strstr(text, "  %4 = SOFTMAX(%3) beta 1\n"));
}

/* ---- verifier ---- */

static void verify(struct nuc_context *cx, void *model)
{
    nuc_lt_verify(model);
}

static void refuse(struct nuc_context *cx, struct nuc_lt_model *m, const char *rule)
{
    assert_int_equal(nuc_try(cx, verify, m), NUC_BAD_INPUT);
    assert_non_null(strstr(cx->message, rule));
}

static void test_verify_structure(void **state)
{
    struct nuc_lt_model *m = small_model(*state);
    struct nuc_lt_subgraph *s = &m->subgraphs[0];

    assert_int_equal(nuc_try(*state, verify, m), NUC_OK);
    s->ops[1].inputs[0] = 9;
    refuse(*state, m, "tensor 9 is used");
    s->ops[1].inputs[0] = 4;
    refuse(*state, m, "read before it is produced");
    m = small_model(*state);
    m->subgraphs[0].ops[1].outputs[0] = 3;
    refuse(*state, m, "two producers");
    m = small_model(*state);
    m->subgraphs[0].ops[1].outputs[0] = 0;
    refuse(*state, m, "an input of the model is written");
    m = small_model(*state);
    m->subgraphs[0].ops[1].outputs[0] = 2;
    refuse(*state, m, "a constant is written");
    m = small_model(*state);
    m->subgraphs[0].n_ops = 1;
    refuse(*state, m, "produced by no operator");
    m = small_model(*state);
    m->subgraphs[0].tensors[1].data.size--;
    refuse(*state, m, "not as long");
}

static void test_verify_operands(void **state)
{
    struct nuc_lt_model *m = small_model(*state);

    m->subgraphs[0].ops[0].n_inputs = 1;
    refuse(*state, m, "has 1 inputs and 1 outputs");
    m = small_model(*state);
    m->subgraphs[0].ops[0].inputs[2] = -1; /* the bias is optional */
    assert_int_equal(nuc_try(*state, verify, m), NUC_OK);
    m->subgraphs[0].ops[0].inputs[1] = -1; /* the weight is not */
    refuse(*state, m, "not optional");
    m = small_model(*state);
    m->subgraphs[0].ops[0].options.conv.stride_h = 0;
    refuse(*state, m, "stride must be positive");
}

static void test_verify_quantization(void **state)
{
    static const int64_t point_1[] = {1};
    struct nuc_lt_model *m = small_model(*state);

    m->subgraphs[0].tensors[4].quant.scale = scale_b;
    refuse(*state, m, "scale 1/256 and zero point -128");
    m = small_model(*state);
    m->subgraphs[0].tensors[2].quant = (struct nuc_lt_quant){1, scale_ab, point_0, 0};
    refuse(*state, m, "product of the scales");
    m = small_model(*state);
    m->subgraphs[0].tensors[2].quant.zero_point = (const int64_t[]){1, 0, 0, 0};
    refuse(*state, m, "zero point of the bias");

    struct nuc_lt_op *op = one_op(*state, NUC_LT_MAX_POOL_2D, &m);
    op->n_inputs = 1;
    op->options.pool.filter_h = op->options.pool.filter_w = 1;
    op->options.pool.stride_h = op->options.pool.stride_w = 1;
    m->subgraphs[0].n_inputs = 1;
    m->subgraphs[0].inputs = op->inputs;
    assert_int_equal(nuc_try(*state, verify, m), NUC_OK);
    m->subgraphs[0].tensors[1].quant.zero_point = point_1;
    refuse(*state, m, "differ from those of tensor 'x'");
}

/* Operands that have the parameters of the result, as bits. */
static const struct {
    int32_t code;
    uint32_t shared;
    uint32_t n_inputs;
    bool also_uint8;
} shared_rows[] = {
    {NUC_LT_AVERAGE_POOL_2D, 1, 1, true},
    {NUC_LT_MAX_POOL_2D, 1, 1, true},
    {NUC_LT_RESHAPE, 1, 1, true},
    {NUC_LT_RESIZE_BILINEAR, 1, 2, true},
    {NUC_LT_RESIZE_NEAREST_NEIGHBOR, 1, 2, true},
    {NUC_LT_SLICE, 1, 3, true},
    {NUC_LT_SQUEEZE, 1, 1, true},
    {NUC_LT_TRANSPOSE, 1, 2, true},
    {NUC_LT_PAD, 1, 2, true},
    {NUC_LT_PADV2, 1 | 4, 3, true},
    {NUC_LT_GATHER, 1, 2, true},
    {NUC_LT_GATHER_ND, 1, 2, true},
    {NUC_LT_TILE, 1, 2, true},
    {NUC_LT_BROADCAST_TO, 1, 2, true},
    {NUC_LT_MAXIMUM, 3, 2, true},
    {NUC_LT_MINIMUM, 3, 2, true},
    {NUC_LT_SELECT_V2, 2 | 4, 3, true},
    {NUC_LT_SCATTER_ND, 2, 3, true},
    {NUC_LT_CONCATENATION, 31, 6, false},
};

/* One operator whose operands all have scale 0.5 and zero point 3, but operand `other`: 0.25. */
static struct nuc_lt_model *shared_model(struct nuc_context *cx, int32_t code, uint32_t n_inputs, uint32_t other,
                                         enum nuc_dtype dtype)
{
    struct nuc_lt_model *m = nuc_lt_model_new(cx, "shared.tflite");
    int32_t *inputs = nuc_alloc_array(cx, n_inputs, sizeof *inputs), output = value(m, "y", 1, 1, scale_a, point_3);

    for (uint32_t i = 0; i < n_inputs; i++)
        inputs[i] = value(m, "x", 1, 1, i == other ? scale_b : scale_a, point_3);
    for (uint32_t i = 0; i < m->subgraphs[0].n_tensors; i++)
        m->subgraphs[0].tensors[i].dtype = dtype;
    struct nuc_lt_op *op = nuc_lt_add_op(m, code, inputs, n_inputs, &output, 1);
    if (code == NUC_LT_AVERAGE_POOL_2D || code == NUC_LT_MAX_POOL_2D)
        op->options.pool.filter_h = op->options.pool.filter_w = op->options.pool.stride_h = op->options.pool.stride_w =
            1;
    boundaries(m, inputs, n_inputs, &output, 1);
    return m;
}

static void test_verify_shared_parameters(void **state)
{
    static const enum nuc_dtype types[] = {NUC_I8, NUC_U8};

    for (size_t k = 0; k < sizeof shared_rows / sizeof *shared_rows; k++) {
        for (size_t t = 0; t < 2; t++) {
            for (uint32_t i = 0; i <= shared_rows[k].n_inputs; i++) {
                struct nuc_lt_model *m =
                    shared_model(*state, shared_rows[k].code, shared_rows[k].n_inputs, i, types[t]);
                bool checked = (shared_rows[k].shared >> i & 1) != 0 && (t == 0 || shared_rows[k].also_uint8);
                assert_int_equal(nuc_try(*state, verify, m), checked ? NUC_BAD_INPUT : NUC_OK);
            }
        }
    }
}

static void test_verify_fixed_parameters(void **state)
{
    static const struct {
        int32_t code;
        float scale;
        int64_t point;
    } rows[] = {
        {NUC_LT_LOGISTIC, 1.0f / 256, -128},      {NUC_LT_SOFTMAX, 1.0f / 256, -128},   {NUC_LT_TANH, 1.0f / 128, 0},
        {NUC_LT_L2_NORMALIZATION, 1.0f / 128, 0}, {NUC_LT_LOG_SOFTMAX, 1.0f / 16, 127},
    };

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct nuc_lt_model *m = shared_model(*state, rows[k].code, 1, 0, NUC_I8);
        int64_t other = rows[k].point + (rows[k].point < 0 ? 1 : -1);
        m->subgraphs[0].tensors[0].quant = (struct nuc_lt_quant){1, &rows[k].scale, &rows[k].point, 0};
        assert_int_equal(nuc_try(*state, verify, m), NUC_OK);
        m->subgraphs[0].tensors[0].quant.zero_point = &other;
        refuse(*state, m, "the output must have scale");
        m->subgraphs[0].tensors[0].quant = (struct nuc_lt_quant){1, scale_a, &rows[k].point, 0};
        refuse(*state, m, "the output must have scale");
    }
}

static void test_verify_weights(void **state)
{
    static const int8_t data[4] = {1, 2, 3, 4};
    struct nuc_lt_model *m = shared_model(*state, NUC_LT_FULLY_CONNECTED, 2, 2, NUC_I8);
    struct nuc_lt_tensor *w = &m->subgraphs[0].tensors[m->subgraphs[0].ops[0].inputs[1]];

    /* A computed weight may have any zero point, a constant one has that of its type. */
    assert_int_equal(nuc_try(*state, verify, m), NUC_OK);
    m->subgraphs[0].n_inputs = 1;
    w->data = (struct nuc_span){(const uint8_t *)data, 1};
    refuse(*state, m, "constant weights must have zero point 0");
    w->quant.zero_point = point_0;
    assert_int_equal(nuc_try(*state, verify, m), NUC_OK);
}

/* ---- damaged files ---- */

struct file {
    struct nuc_span bytes;
};

static void read_file(struct nuc_context *cx, void *file)
{
    struct nuc_lt_model *m = nuc_lt_read(cx, "damaged.tflite", ((struct file *)file)->bytes);

    nuc_lt_print(m);
    nuc_lt_write(m);
}

/* A copy of its own, so that a read beyond the end is seen by the sanitizer. */
static enum nuc_status read_copy(struct nuc_context *cx, const uint8_t *data, size_t size)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    uint8_t *copy = test_malloc(size == 0 ? 1 : size);
    struct file file = {{copy, size}};

    memcpy(copy, data, size);
    enum nuc_status status = nuc_try(cx, read_file, &file);
    test_free(copy);
    nuc_pop_arena(cx, outer);
    return status;
}

static void test_truncated(void **state)
{
    struct nuc_span bytes = nuc_lt_write(small_model(*state));

    for (size_t size = 0; size < bytes.size; size++) {
        enum nuc_status status = read_copy(*state, bytes.data, size);
        /* What is cut off at the end may be padding alone. */
        assert_true(status == NUC_BAD_INPUT || (status == NUC_OK && size + 16 > bytes.size));
    }
    assert_int_equal(read_copy(*state, bytes.data, bytes.size), NUC_OK);
}

static void test_not_litert(void **state)
{
    struct nuc_context *cx = *state;

    assert_int_equal(read_copy(cx, (const uint8_t *)"PK\x03\x04 no model", 13), NUC_BAD_INPUT);
    assert_non_null(strstr(cx->message, "TFL3"));
}

RUN_TESTS(STATE_TEST(test_round_trip), STATE_TEST(test_data_is_aligned), STATE_TEST(test_all_codes),
          STATE_TEST(test_variables), STATE_TEST(test_print), STATE_TEST(test_verify_structure),
          STATE_TEST(test_verify_operands), STATE_TEST(test_verify_quantization),
          STATE_TEST(test_verify_shared_parameters), STATE_TEST(test_verify_fixed_parameters),
          STATE_TEST(test_verify_weights), STATE_TEST(test_truncated), STATE_TEST(test_not_litert))
