/* NeutronGraph containers: their options, which operators go inside, what is read of them, and what is refused. */
#include "contexts.h"
#include "lt_boundaries.h"

#include "device/base/microcode.h"
#include "litert/flexbuffer.h"
#include "npu/container/container.h"

/* ---- custom options ---- */

/* By the format's definition: key, string, vector of keys, map, root. */
static const uint8_t options[] = {'s', 'u', 'b', 'g', 'r', 'a', 'p', 'h', 0,  3, 'o', 'n',
                                  'e', 0,   1,   15,  1,   1,   1,   9,   20, 2, 36,  1};

static void options_are_a_map_of_one_text(void **state)
{
    struct nuc_span written = nuc_flex_write(*state, "subgraph", "one");

    assert_int_equal(written.size, sizeof options);
    assert_memory_equal(written.data, options, sizeof options);
    assert_string_equal(nuc_flex_read(*state, written, "subgraph"), "one");
    assert_null(nuc_flex_read(*state, written, "graph"));
    assert_null(nuc_flex_read(*state, written, "subgraphs"));
}

/* ---- models ---- */

static const float one[] = {1.0f}, fraction[] = {1.0f / 256};
static const int64_t zero[] = {0}, low[] = {-128};

static int32_t value(struct nuc_lt_model *m, const char *name, enum nuc_dtype dtype, int32_t width)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = dtype, .rank = 2, .shape = {1, width}};

    if (dtype == NUC_I8)
        t.quant = (struct nuc_lt_quant){1, one, zero, 0};
    return nuc_lt_add_tensor(m, &t);
}

static int32_t after(struct nuc_lt_model *m, int32_t code, int32_t x, const char *name)
{
    const struct nuc_lt_tensor *t = &m->subgraphs[0].tensors[x];
    int32_t y = value(m, name, code == NUC_LT_DEQUANTIZE ? NUC_F32 : NUC_I8, t->shape[1]);
    struct nuc_lt_op *op = nuc_lt_add_op(m, code, &x, 1, &y, 1);

    if (code == NUC_LT_SOFTMAX) {
        m->subgraphs[0].tensors[y].quant = (struct nuc_lt_quant){1, fraction, low, 0};
        op->options.softmax.beta = 1;
    }
    return y;
}

/* float32 -> QUANTIZE -> ABS -> SOFTMAX over `width` -> ABS -> ABS -> DEQUANTIZE */
static struct nuc_lt_model *chain(struct nuc_context *cx, int32_t width)
{
    struct nuc_lt_model *m = nuc_lt_model_new(cx, "chain.tflite");
    int32_t x = value(m, "x", NUC_F32, width), q = after(m, NUC_LT_QUANTIZE, x, "q");
    int32_t a = after(m, NUC_LT_ABS, q, "a"), s = after(m, NUC_LT_SOFTMAX, a, "s");
    int32_t b = after(m, NUC_LT_ABS, s, "b"), c = after(m, NUC_LT_ABS, b, "c");

    set_boundaries(m, x, after(m, NUC_LT_DEQUANTIZE, c, "y"));
    return m;
}

static uint32_t count_graphs(const struct nuc_lt_model *m)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < m->subgraphs[0].n_ops; i++)
        count += nuc_is_neutron_graph(&m->subgraphs[0].ops[i]);
    return count;
}

static void float_boundaries_stay_outside(void **state)
{
    struct nuc_container_report report;
    struct nuc_lt_model *m = nuc_container_build(*state, chain(*state, 16), NULL, &report);
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];

    assert_int_equal(report.n_graphs, 1);
    assert_int_equal(report.n_ops, 6);
    assert_int_equal(report.n_inside, 4);
    assert_int_equal(report.outside[0].op, 0);
    assert_int_equal(report.outside[1].op, 5);
    assert_int_equal(s->n_ops, 3);
    assert_int_equal(s->ops[0].code, NUC_LT_QUANTIZE);
    assert_true(nuc_is_neutron_graph(&s->ops[1]));
    assert_int_equal(s->ops[2].code, NUC_LT_DEQUANTIZE);
    struct nuc_neutron_graph n = nuc_neutron_graph_read(*state, m, 1);
    assert_int_equal(n.form, 1);
    assert_true(n.is_ours);
    assert_int_equal(n.n_inputs, 1);
    assert_int_equal(n.n_outputs, 1);
    assert_string_equal(s->tensors[n.inputs[0]].name, "q");
    assert_string_equal(s->tensors[n.outputs[0]].name, "c");
    assert_string_equal(n.name, "subgraph_000");
    assert_string_equal(s->tensors[s->ops[1].inputs[1]].name, "NeutronMicrocode");
    assert_string_equal(s->tensors[s->ops[1].outputs[3]].name, "NeutronScratch");
    assert_int_equal(s->tensors[s->ops[1].outputs[3]].shape[0], n.header.scratch);
}

/* A softmax wider than the chip takes divides the model; without one of the parts' operators left, so do small parts.
 */
static void what_lies_between_divides(void **state)
{
    struct nuc_container_report report;
    struct nuc_lt_model *m = nuc_container_build(*state, chain(*state, 3000), NULL, &report);

    assert_int_equal(report.n_graphs, 2);
    assert_int_equal(count_graphs(m), 2);
    assert_int_equal(report.n_inside, 3);
    assert_int_equal(report.outside[1].op, 2);
    assert_non_null(strstr(report.outside[1].reason, "3000 channels"));
    assert_string_equal(nuc_neutron_graph_read(*state, m, 3).name, "subgraph_001");
    const struct nuc_container_options two = {.min_ops = 2};
    nuc_container_build(*state, chain(*state, 3000), &two, &report);
    assert_int_equal(report.n_graphs, 1);
    assert_int_equal(report.n_inside, 2);
    const struct nuc_container_options many = {.min_ops = 3};
    nuc_container_build(*state, chain(*state, 3000), &many, &report);
    assert_int_equal(report.n_graphs, 0);
}

/* A softmax too wide for the NPU reads one result of the first group, the second group reads both. */
static void values_pass_from_graph_to_graph(void **state)
{
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "skip.tflite");
    int32_t x = value(m, "x", NUC_I8, 3000), a = after(m, NUC_LT_ABS, x, "a"), b = after(m, NUC_LT_ABS, x, "b");
    int32_t s = after(m, NUC_LT_SOFTMAX, a, "s"), y = value(m, "y", NUC_I8, 3000);

    nuc_lt_add_op(m, NUC_LT_MUL, (const int32_t[]){s, b}, 2, &y, 1);
    set_boundaries(m, x, y);
    struct nuc_lt_model *out = nuc_container_build(*state, m, NULL, NULL);
    assert_int_equal(out->subgraphs[0].n_ops, 3);
    struct nuc_neutron_graph first = nuc_neutron_graph_read(*state, out, 0);
    struct nuc_neutron_graph second = nuc_neutron_graph_read(*state, out, 2);
    assert_int_equal(first.n_outputs, 2);
    assert_int_equal(second.n_inputs, 2);
    assert_string_equal(out->subgraphs[0].tensors[first.outputs[1]].name, "b");
    assert_true(nuc_lt_contains(second.inputs, 2, first.outputs[1]));
}

static void a_reshape_is_no_graph(void **state)
{
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "reshape.tflite");
    int32_t x = value(m, "x", NUC_I8, 8), y = value(m, "y", NUC_I8, 8);
    struct nuc_container_report report;

    nuc_lt_add_op(m, NUC_LT_RESHAPE, &x, 1, &y, 1);
    set_boundaries(m, x, y);
    nuc_container_build(*state, m, NULL, &report);
    assert_int_equal(report.n_graphs, 0);
}

/* The file is the model: written and read again, the graph holds the same bytes. */
static void containers_survive_the_file(void **state)
{
    struct nuc_lt_model *m = nuc_container_build(*state, chain(*state, 16), NULL, NULL);
    struct nuc_lt_model *again = nuc_lt_read(*state, "again.tflite", nuc_lt_write(m));
    struct nuc_neutron_graph a = nuc_neutron_graph_read(*state, m, 1), b = nuc_neutron_graph_read(*state, again, 1);

    assert_string_equal(b.name, a.name);
    assert_int_equal(b.microcode.size, a.microcode.size);
    assert_memory_equal(b.microcode.data, a.microcode.data, a.microcode.size);
    assert_int_equal(b.weights.size, a.weights.size);
    assert_memory_equal(b.weights.data, a.weights.data, a.weights.size);
}

/* ---- what other converters may write ---- */

#define MICROCODE_BYTES 64

/* A container of either form around words that mean nothing, one input and one output. */
static struct nuc_lt_model *foreign(struct nuc_context *cx, uint8_t form)
{
    struct nuc_lt_model *m = nuc_lt_model_new(cx, "foreign.tflite");
    uint8_t *microcode = nuc_alloc(cx, MICROCODE_BYTES);
    int32_t x = value(m, "x", NUC_I8, 8), y = value(m, "y", NUC_I8, 8), extra[3], constants[3];
    static const uint8_t weights[20];

    nuc_store_u32(microcode + 4 * NUC_MC_WORD_MAGIC, NUC_MC_MAGIC);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_VERSION, 0x12345678);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_SIZE, MICROCODE_BYTES);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_WEIGHTS, sizeof weights);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_KERNELS, 1);
    nuc_store_u32(microcode + 4 * NUC_MC_WORD_SCRATCH, 96);
    nuc_store_u32(microcode + 4 * (form == 0 ? 11 : NUC_MC_WORD_INPUTS), 1);
    nuc_store_u32(microcode + 4 * (form == 0 ? 12 : NUC_MC_WORD_OUTPUTS), 1);
    const struct nuc_span data[] = {{microcode, MICROCODE_BYTES}, {weights, sizeof weights}, {weights, 1}};
    for (int i = 0; i < 3; i++) {
        struct nuc_lt_tensor t = {.name = "", .dtype = NUC_U8, .rank = 1, .shape = {(int32_t)data[i].size}};
        extra[i] = nuc_lt_add_tensor(m, &t);
        t.data = data[i];
        constants[i] = nuc_lt_add_tensor(m, &t);
    }
    const int32_t inputs[] = {x, constants[0], constants[1], constants[2]};
    const int32_t outputs[] = {y, extra[0], extra[1], extra[2]};
    nuc_lt_add_op(m, NUC_LT_CUSTOM, inputs, 4, outputs, form == 0 ? 2 : 4)->custom_code = "NeutronGraph";
    set_boundaries(m, x, y);
    return m;
}

static void both_forms_are_read(void **state)
{
    for (uint8_t form = 0; form <= 1; form++) {
        struct nuc_lt_model *m = foreign(*state, form);
        struct nuc_neutron_graph n = nuc_neutron_graph_single(*state, m);
        uint8_t inputs[1] = {7}, outputs[1] = {7};

        assert_int_equal(n.form, form);
        assert_false(n.is_ours);
        assert_int_equal(n.header.version, 0x12345678);
        assert_int_equal(n.header.scratch, 96);
        assert_int_equal(n.n_outputs, 1);
        assert_string_equal(n.name, "");
        nuc_neutron_graph_map(*state, m, &n, inputs, outputs);
        assert_int_equal(inputs[0], 0);
        assert_int_equal(outputs[0], 0);
    }
}

static void read_single(struct nuc_context *cx, void *arg)
{
    struct nuc_lt_model *m = arg;
    struct nuc_neutron_graph n = nuc_neutron_graph_single(cx, m);
    uint8_t inputs[255], outputs[255];

    nuc_neutron_graph_map(cx, m, &n, inputs, outputs);
}

static void assert_refused(struct nuc_context *cx, struct nuc_lt_model *m, const char *part)
{
    assert_int_equal(nuc_try(cx, read_single, m), NUC_BAD_INPUT);
    if (strstr(cx->message, part) == NULL)
        fail_msg("'%s' is not in: %s", part, cx->message);
}

static void anything_but_one_graph_is_refused(void **state)
{
    struct nuc_lt_model *m = foreign(*state, 0);

    assert_refused(*state, nuc_container_build(*state, chain(*state, 16), NULL, NULL),
                   "has 3 operators instead of 1: QUANTIZE, NeutronGraph, DEQUANTIZE");
    m->subgraphs[0].ops[0].custom_code = "Other";
    assert_refused(*state, m, "has 0 NeutronGraph operators instead of 1");
    m->subgraphs[0].n_ops = 0;
    assert_refused(*state, m, "has 0 operators instead of 1");
    m = foreign(*state, 0);
    m->n_subgraphs = 2;
    assert_refused(*state, m, "2 subgraphs instead of 1");
    m = foreign(*state, 0);
    m->subgraphs[0].outputs[0] = m->subgraphs[0].inputs[0];
    assert_refused(*state, m, "is 0 times an output of the model");
    m = foreign(*state, 0);
    m->subgraphs[0].n_outputs = 0;
    assert_refused(*state, m, "the NeutronGraph has 1 outputs, the model 0");
}

static uint8_t *microcode_of(struct nuc_lt_model *m)
{
    struct nuc_lt_tensor *t = &m->subgraphs[0].tensors[m->subgraphs[0].ops[0].inputs[1]];
    uint8_t *copy = nuc_copy(m->cx, t->data.data, t->data.size);

    t->data.data = copy;
    return copy;
}

static void headers_agree_with_the_operator(void **state)
{
    struct nuc_lt_model *m = foreign(*state, 0);

    nuc_store_u32(microcode_of(m) + 4 * 11, 2);
    assert_refused(*state, m, "fits no known version");
    m = foreign(*state, 1);
    nuc_store_u32(microcode_of(m) + 4 * NUC_MC_WORD_WEIGHTS, 4096);
    assert_refused(*state, m, "its header states 64, 4096 and 1 bytes");
    m = foreign(*state, 1);
    nuc_store_u32(microcode_of(m) + 4 * NUC_MC_WORD_SIZE, 16);
    assert_refused(*state, m, "its header states 16, 20 and 1 bytes");
    m = foreign(*state, 0);
    nuc_store_u32(microcode_of(m), 0);
    assert_refused(*state, m, "the magic number is missing");
    m = foreign(*state, 0);
    m->subgraphs[0].tensors[m->subgraphs[0].ops[0].inputs[2]].dtype = NUC_I8;
    assert_refused(*state, m, "weights are not a constant of uint8");
    m = foreign(*state, 0);
    m->subgraphs[0].ops[0].n_inputs = 2;
    assert_refused(*state, m, "has 2 inputs, microcode, weights and kernels are the last three");
}

/* ---- debug handles ---- */

static void handles_come_back(void **state)
{
    struct nuc_lt_model *m = nuc_lt_model_new(*state, "handles.tflite");
    int32_t x = value(m, "x", NUC_I8, 8), y = after(m, NUC_LT_SOFTMAX, x, "y");

    set_boundaries(m, x, after(m, NUC_LT_ABS, y, "z"));
    struct nuc_lt_model *plain = nuc_container_build(*state, m, NULL, NULL);
    m->subgraphs[0].ops[0].debug_handle = 41;
    m->subgraphs[0].ops[1].debug_handle = 42;
    struct nuc_neutron_graph n = nuc_neutron_graph_single(*state, plain);
    struct nuc_span restored = nuc_neutron_graph_restore_handles(*state, &n, m);
    struct nuc_neutron_image *direct = nuc_convert_litert(*state, m, NULL);
    assert_int_equal(restored.size, direct->microcode.size);
    assert_memory_equal(restored.data, direct->microcode.data, restored.size);
}

RUN_TESTS(STATE_TEST(options_are_a_map_of_one_text), STATE_TEST(float_boundaries_stay_outside),
          STATE_TEST(what_lies_between_divides), STATE_TEST(values_pass_from_graph_to_graph),
          STATE_TEST(a_reshape_is_no_graph), STATE_TEST(containers_survive_the_file), STATE_TEST(both_forms_are_read),
          STATE_TEST(anything_but_one_graph_is_refused), STATE_TEST(headers_agree_with_the_operator),
          STATE_TEST(handles_come_back))
