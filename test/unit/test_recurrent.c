/*
 * Recurrent layers from graph to result: random layers as float and as int8 programs of the CPU against the evaluator,
 * which computes the same graph by itself.
 */
#include "program_graphs.h"
#include "quantize_graphs.h"
#include "random.h"

#include "cpu/cortexm.h"
#include "eval/eval.h"
#include "ir/recurrent_args.h"
#include "npu/target/target.h"
#include "rewrite/passes.h"

enum { STEPS = 6, BATCH = 2, INPUTS = 5, HIDDEN = 7, MOST = STEPS * BATCH * 2 * HIDDEN, SAMPLES = 4 };

static const struct layer {
    const char *op;
    int gates, states, directions;
    bool batch_first, biases, given; /* given: initial states are inputs, otherwise zeros */
} layers[] = {
    {"gru", 3, 1, 1, false, true, false},       {"gru", 3, 1, 2, true, false, true},
    {"lstm", 4, 2, 1, true, true, false},       {"lstm", 4, 2, 2, false, true, true},
    {"lstm", 4, 2, 2, true, false, false},      {"rnn_tanh", 1, 1, 2, true, true, true},
    {"rnn_tanh", 1, 1, 1, false, false, false}, {"rnn_relu", 1, 1, 2, false, true, false},
    {"rnn_relu", 1, 1, 1, true, true, true},
};

/* ---- graphs ---- */

static void add_constant(struct nuc_text *text, const char *name, int rows, int columns, float size, uint32_t *seed)
{
    nuc_text_addf(text, "%%%s = parameter : float32[%d", name, rows);
    if (columns > 0)
        nuc_text_addf(text, ", %d", columns);
    nuc_text_addf(text, "] values(");
    for (int i = 0; i < rows * (columns > 0 ? columns : 1); i++)
        nuc_text_addf(text, "%s%g", i == 0 ? "" : ", ", (double)(noise(seed) * size));
    nuc_text_addf(text, ")\n");
}

static void add_states(struct nuc_text *text, const struct layer *l)
{
    int count = l->directions * BATCH * HIDDEN;

    for (int s = 0; s < l->states; s++) {
        nuc_text_addf(text, "%%h%d = %s : float32[%d, %d, %d]", s, l->given ? "input" : "constant", l->directions,
                      BATCH, HIDDEN);
        for (int i = 0; !l->given && i < count; i++)
            nuc_text_addf(text, "%s0%s", i == 0 ? " values(" : ", ", i == count - 1 ? ")" : "");
        nuc_text_addf(text, "\n");
    }
}

static struct nuc_graph *layer_graph(struct nuc_context *cx, const struct layer *l, uint32_t *seed)
{
    struct nuc_text text = {.cx = cx}, params = {.cx = cx};

    for (int d = 0; d < l->directions; d++) {
        add_constant(&text, nuc_format(cx, "w%d", d), l->gates * HIDDEN, INPUTS, 0.7f, seed);
        add_constant(&text, nuc_format(cx, "u%d", d), l->gates * HIDDEN, HIDDEN, 0.4f, seed);
        nuc_text_addf(&params, "%s%%w%d, %%u%d", d == 0 ? "" : ", ", d, d);
        if (!l->biases)
            continue;
        add_constant(&text, nuc_format(cx, "a%d", d), l->gates * HIDDEN, 0, 0.5f, seed);
        add_constant(&text, nuc_format(cx, "b%d", d), l->gates * HIDDEN, 0, 0.5f, seed);
        nuc_text_addf(&params, ", %%a%d, %%b%d", d, d);
    }
    nuc_text_addf(&text, "%%x = input : float32[%d, %d, %d]\n", l->batch_first ? BATCH : STEPS,
                  l->batch_first ? STEPS : BATCH, INPUTS);
    add_states(&text, l);
    nuc_text_addf(&text, "%%g = aten.%s.input(%%x, %s, [%s], %s, 1, 0.0, false, %s, %s)\n", l->op,
                  l->states == 2 ? "[%h0, %h1]" : "%h0", nuc_text_string(&params), l->biases ? "true" : "false",
                  l->directions == 2 ? "true" : "false", l->batch_first ? "true" : "false");
    for (int i = 0; i <= l->states; i++)
        nuc_text_addf(&text, "%%y%d = getitem(%%g, %d)\n", i, i);
    nuc_text_addf(&text, "%%output = output([%s])\n", l->states == 2 ? "%y0, %y1, %y2" : "%y0, %y1");
    return parse_quantized(cx, nuc_text_string(&text));
}

/* ---- running ---- */

struct sample {
    float inputs[3][MOST], outputs[3][MOST];
};

static void fill(struct sample *s, uint32_t *seed)
{
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < MOST; k++)
            s->inputs[i][k] = noise(seed);
    }
}

static void evaluate(struct nuc_graph *g, struct sample *s)
{
    struct nuc_evaluator *e = nuc_eval_new(g, 1);

    nuc_eval_run(e, (const void *const[]){s->inputs[0], s->inputs[1], s->inputs[2]},
                 (void *const[]){s->outputs[0], s->outputs[1], s->outputs[2]});
}

/* Runs the program; returns how far an output is from what was evaluated, in steps of its own. */
static void run_program(struct nuc_context *cx, struct nuc_graph *g, const struct layer *l, const struct sample *s,
                        const double steps[3], double tolerance)
{
    struct nuc_program_options o = {.method = NULL};
    struct test_program p;
    struct nuc_tensor t;

    test_load(cx, &p, nuc_write_program(g, &o), NULL);
    if (p.status != NUC_OK)
        fail_msg("%s: %s", l->op, p.detail.message);
    for (uint32_t i = 0; nuc_program_input_info(&p.program, i, &t) == NUC_OK; i++)
        assert_int_equal(nuc_program_set_input(&p.program, i, s->inputs[i], t.bytes, NULL), NUC_OK);
    if (nuc_program_execute(&p.program, &p.detail) != NUC_OK)
        fail_msg("%s: %s", l->op, p.detail.message);
    for (uint32_t i = 0; i <= (uint32_t)l->states; i++) {
        assert_int_equal(nuc_program_output(&p.program, i, &t), NUC_OK);
        for (size_t k = 0; k < t.bytes / sizeof(float); k++) {
            double error = fabs((double)((const float *)t.data)[k] - (double)s->outputs[i][k]) / steps[i];
            if (!(error <= tolerance))
                fail_msg("%s, output %u, element %zu: %g steps", l->op, (unsigned)i, k, error);
        }
    }
}

static void run_float(struct nuc_context *cx, void *arg)
{
    const struct layer *l = arg;
    uint32_t seed = 7;
    struct nuc_graph *g = layer_graph(cx, l, &seed);
    struct sample *s = nuc_alloc(cx, sizeof *s);

    fill(s, &seed);
    evaluate(g, s);
    nuc_to_edge(g, NULL);
    run_program(cx, g, l, s, (const double[]){1, 1, 1}, 1e-6);
}

/*
 * The steps of the outputs, which dequantize nodes say; states that are inputs and outputs have none, nor has a
 * sequence unless inputs and outputs are int8. Of int16, whose steps are finer than the kernel's 0.001, these.
 */
static void output_steps(const struct nuc_graph *g, const struct layer *l, bool int8_io, bool int16, double steps[3])
{
    const struct nuc_node *output = nuc_output_node(g);

    for (int i = 0; i <= l->states; i++) {
        const struct nuc_node *d = output->args[0].u.nodes[i];
        bool kept = i == 0 ? !int8_io : l->given && strcmp(l->op, "rnn_relu") != 0;
        assert_true(int16 || (d->op == NUC_OP_DEQUANTIZE_PER_TENSOR) == !kept);
        steps[i] = kept || int16 ? 0.001 : d->args[NUC_ARG(DEQUANTIZE_PER_TENSOR, scale)].u.f;
    }
}

static uint32_t count_float(const struct nuc_graph *g)
{
    uint32_t count = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        count += nuc_is_float_operator(n);
    return count;
}

/* Roundings inside the kernel move a value over the border between two steps at most. */
static void run_int8_as(struct nuc_context *cx, const struct layer *l, bool int8_io, bool int16)
{
    const struct nuc_quantize_options options = {
        .side = NUC_SIDE_CPU, .threads = 1, .quantized_inputs = int8_io, .int16 = int16};
    const struct nuc_cortexm_options cpu = {.cpu = nuc_target_find(cx, "cortex-m33")->cpu};
    uint32_t seed = 11;
    struct nuc_calibration *c = nuc_quantize_prepare(layer_graph(cx, l, &seed), &options);
    struct sample *s = nuc_alloc_array(cx, SAMPLES, sizeof *s);
    double steps[3];

    for (int i = 0; i < SAMPLES; i++) {
        fill(&s[i], &seed);
        nuc_quantize_sample(c, (const void *const[]){s[i].inputs[0], s[i].inputs[1], s[i].inputs[2]});
    }
    struct nuc_graph *g = nuc_quantize_convert(c);
    evaluate(g, s);
    output_steps(g, l, int8_io, int16, steps);
    nuc_to_edge(g, NULL);
    nuc_cortexm_lower(g, &cpu);
    nuc_graph_verify(g, "lowering");
    assert_int_equal(count_float(g), int16 && strcmp(l->op, "rnn_relu") == 0); /* whose results nothing bounds */
    run_program(cx, g, l, s, steps, 1.001);
}

static void run_int8(struct nuc_context *cx, void *arg)
{
    run_int8_as(cx, arg, false, false);
    run_int8_as(cx, arg, true, false);
    run_int8_as(cx, arg, true, true);
}

/* The network of a text in int8, or int16, as it runs on the CPU; `s` has inputs, and outputs that are evaluated. */
static struct nuc_graph *lowered(struct nuc_context *cx, struct nuc_text *text, bool int16, uint32_t *seed,
                                 struct sample *s)
{
    const struct nuc_quantize_options options = {.side = NUC_SIDE_CPU, .threads = 1, .int16 = int16};
    const struct nuc_cortexm_options cpu = {.cpu = nuc_target_find(cx, "cortex-m33")->cpu};
    struct nuc_calibration *c = nuc_quantize_prepare(parse_quantized(cx, nuc_text_string(text)), &options);

    fill(s, seed);
    nuc_quantize_sample(c, (const void *const[]){s->inputs[0]});
    struct nuc_graph *g = nuc_quantize_convert(c);
    evaluate(g, s);
    nuc_to_edge(g, NULL);
    nuc_cortexm_lower(g, &cpu);
    return g;
}

/* A state of ReLUs of which only a sequence of int16 says how large it becomes. */
static void reach_of_relus(struct nuc_context *cx, void *arg)
{
    struct sample *s = nuc_alloc(cx, sizeof *s);
    uint32_t seed = 5;
    struct nuc_text text = {.cx = cx};

    (void)arg;
    add_constant(&text, "w", HIDDEN, INPUTS, 6, &seed);
    add_constant(&text, "u", HIDDEN, HIDDEN, 0.4f, &seed);
    add_constant(&text, "v", 2, HIDDEN, 0.4f, &seed);
    nuc_text_addf(&text,
                  "%%h = constant : float32[1, 1, 7] values(0, 0, 0, 0, 0, 0, 0)\n%%x = input : float32[6, 1, 5]\n"
                  "%%f = aten.rnn_relu.input(%%x, %%h, [%%w, %%u], false, 1, 0.0, false, false, false)\n"
                  "%%y = getitem(%%f, 0)\n%%l = aten.linear.default(%%y, %%v)\n%%output = output([%%l])\n");
    struct nuc_graph *g = lowered(cx, &text, true, &seed, s);
    assert_int_equal(count_float(g), 0);
    run_program(cx, g, &(struct layer){.op = "rnn_relu"}, s, (const double[]){0.01, 1, 1}, 1);
}

/* Nothing between an input of the model, two layers and an output is quantized: neither the sequence nor the state. */
static void keep_between_layers(struct nuc_context *cx, void *arg)
{
    struct sample *s = nuc_alloc(cx, sizeof *s);
    uint32_t seed = 5, kernels = 0;
    struct nuc_text text = {.cx = cx};

    add_constant(&text, "w", 3 * HIDDEN, INPUTS, 0.7f, &seed);
    add_constant(&text, "u", 3 * HIDDEN, HIDDEN, 0.4f, &seed);
    nuc_text_addf(&text,
                  "%%h = constant : float32[1, 1, 7] values(0, 0, 0, 0, 0, 0, 0)\n%%x = input : float32[6, 1, 5]\n"
                  "%%f = aten.gru.input(%%x, %%h, [%%w, %%u], false, 1, 0.0, false, false, false)\n"
                  "%%y = getitem(%%f, 0)\n%%n = getitem(%%f, 1)\n%%r = aten.reshape.default(%%n, [1, 7])\n"
                  "%%k = aten.reshape.default(%%r, [1, 1, 7])\n"
                  "%%g = aten.gru.input(%%y, %%k, [%%u, %%u], false, 1, 0.0, false, false, false)\n"
                  "%%z = getitem(%%g, 0)\n%%output = output([%%z])\n");
    struct nuc_graph *g = lowered(cx, &text, false, &seed, s);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        assert_false(nuc_is_quantization(n));
        kernels += n->op == NUC_OP_NUCLEON_GRU;
    }
    assert_int_equal(kernels, 2);
    run_program(cx, g, &(struct layer){.op = "gru"}, s, (const double[]){1, 1, 1}, 0.001);
}

/* What one layer begins with after another stays float32, although an int8 operator reads it, too. */
static void keep_state_beside_readers(struct nuc_context *cx, void *arg)
{
    struct sample *s = nuc_alloc(cx, sizeof *s);
    uint32_t seed = 5, kernels = 0, linears = 0;
    struct nuc_text text = {.cx = cx};

    (void)arg;
    add_constant(&text, "w", 3 * HIDDEN, INPUTS, 0.7f, &seed);
    add_constant(&text, "u", 3 * HIDDEN, HIDDEN, 0.4f, &seed);
    add_constant(&text, "v", 2, HIDDEN, 0.4f, &seed);
    nuc_text_addf(&text,
                  "%%h = constant : float32[1, 1, 7] values(0, 0, 0, 0, 0, 0, 0)\n%%x = input : float32[1, 1, 5]\n"
                  "%%f = aten.gru.input(%%x, %%h, [%%w, %%u], false, 1, 0.0, false, false, false)\n"
                  "%%s = getitem(%%f, 1)\n%%r = aten.reshape.default(%%s, [1, 7])\n"
                  "%%l = aten.linear.default(%%r, %%v)\n%%k = aten.reshape.default(%%r, [1, 1, 7])\n"
                  "%%g = aten.gru.input(%%x, %%k, [%%w, %%u], false, 1, 0.0, false, false, false)\n"
                  "%%t = getitem(%%g, 0)\n%%output = output([%%t, %%l])\n");
    struct nuc_graph *g = lowered(cx, &text, false, &seed, s);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_node *begin = n->op == NUC_OP_NUCLEON_GRU ? nuc_arg_node(n, NUC_ARG(NUCLEON_GRU, h0)) : NULL;
        kernels += begin != NULL;
        assert_true(begin == NULL || begin->vals[0].dtype == NUC_F32);
        linears += n->op == NUC_OP_CORTEXM_LINEAR;
    }
    assert_int_equal(kernels, 1);
    assert_int_equal(linears, 1);
}

/* A row with one weight that is large beside all others, whose multiplier would have more than 32 bits. */
static void keep_large_weight(struct nuc_context *cx, void *arg)
{
    struct sample *s = nuc_alloc(cx, sizeof *s);
    uint32_t seed = 5, kernels = 0;
    struct nuc_text text = {.cx = cx};

    (void)arg;
    add_constant(&text, "u", 3 * HIDDEN, HIDDEN, 0.4f, &seed);
    nuc_text_addf(&text, "%%w = parameter : float32[%d, %d] values(8", 3 * HIDDEN, INPUTS);
    for (int i = 1; i < 3 * HIDDEN * INPUTS; i++)
        nuc_text_addf(&text, ", %g", i < INPUTS ? 0.01 : (double)noise(&seed));
    nuc_text_addf(&text,
                  ")\n%%h = constant : float32[1, 1, 7] values(0, 0, 0, 0, 0, 0, 0)\n%%x = input : float32[6, 1, 5]\n"
                  "%%f = aten.gru.input(%%x, %%h, [%%w, %%u], false, 1, 0.0, false, false, false)\n"
                  "%%y = getitem(%%f, 0)\n%%output = output([%%y])\n");
    struct nuc_graph *g = lowered(cx, &text, false, &seed, s);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        kernels += n->op == NUC_OP_NUCLEON_GRU;
    assert_int_equal(kernels, 1);
    run_program(cx, g, &(struct layer){.op = "gru"}, s, (const double[]){1, 1, 1}, 0.001);
}

/* ---- values of torch ---- */

/* Two layers of two units in both directions, two steps: outputs and final states of torch's CPU kernels. */
static const struct torch_row {
    const char *op;
    int gates, states, projected; /* projected: to how many values; 0: not */
    float expected[3][8];
} torch_rows[] = {
    {"lstm",
     4,
     2,
     0,
     {{-0.0584577173f, -0.00203368533f, 0.461732179f, -0.124207728f, 0.143531829f, -0.0282402635f, 0.383863926f,
       -0.16245532f},
      {0.21831125f, -0.00623185514f, 0.461698502f, 0.00526699098f, 0.143531829f, -0.0282402635f, 0.461732179f,
       -0.124207728f},
      {0.317293972f, -0.0155175673f, 0.833624601f, 0.0143447835f, 0.212355316f, -0.0642099157f, 0.823342502f,
       -0.357511908f}}},
    {"lstm",
     4,
     2,
     1,
     {{0.062922731f, -0.301913172f, -0.085751757f, -0.409335405f},
      {-0.0886623859f, -0.191041321f, -0.085751757f, -0.301913172f},
      {0.30445388f, 0.0418977439f, 0.885653734f, 0.107857555f, 0.298190355f, 0.0390403941f, 0.885722697f,
       -0.148750812f}}},
    {"rnn_tanh",
     1,
     1,
     0,
     {{-0.264356762f, 0.482955366f, -0.186283886f, 0.49931103f, 0.360575885f, -0.104862429f, 0.0287419651f,
       0.27338466f},
      {-0.579515994f, 0.488499701f, 0.354083419f, 0.648651779f, 0.360575885f, -0.104862429f, -0.186283886f,
       0.49931103f}}},
    {"rnn_relu",
     1,
     1,
     0,
     {{0, 0.4375f, 0.0986328125f, 0.4375f, 0, 0.2890625f, 0, 0.4765625f},
      {0, 0.5625f, 0.21875f, 1, 0, 0.2890625f, 0.0986328125f, 0.4375f}}},
    {"gru",
     3,
     1,
     0,
     {{0.127102315f, -0.292627275f, 0.376033932f, -0.0440976582f, 0.228872359f, -0.0640321672f, 0.321727842f,
       -0.0415951014f},
      {0.0361982882f, 0.073051542f, 0.156569064f, -0.0503079891f, 0.228872359f, -0.0640321672f, 0.376033932f,
       -0.0440976582f}}},
};

/* Element i is ((i * factor) % modulus - offset) / divisor. */
static void add_sequence(struct nuc_text *text, const char *name, const int sizes[3], const int numbers[3],
                         double divisor)
{
    int count = sizes[0];

    nuc_text_addf(text, "%%%s = parameter : float32[%d", name, sizes[0]);
    for (int i = 1; i < 3 && sizes[i] > 0; i++) {
        nuc_text_addf(text, ", %d", sizes[i]);
        count *= sizes[i];
    }
    for (int i = 0; i < count; i++)
        nuc_text_addf(text, "%s%g", i == 0 ? "] values(" : ", ", (i * numbers[0] % numbers[1] - numbers[2]) / divisor);
    nuc_text_addf(text, ")\n");
}

static struct nuc_graph *torch_graph(struct nuc_context *cx, const struct torch_row *row)
{
    int rows = 2 * row->gates, out = row->projected > 0 ? row->projected : 2;
    struct nuc_text text = {.cx = cx}, params = {.cx = cx};

    for (int i = 0; i < 4; i++) {
        add_sequence(&text, nuc_format(cx, "w%d", i), (int[]){rows, i < 2 ? 2 : 2 * out, 0}, (int[]){7, 11, 5}, 8);
        add_sequence(&text, nuc_format(cx, "u%d", i), (int[]){rows, out, 0}, (int[]){5, 11, 4}, 8);
        add_sequence(&text, nuc_format(cx, "a%d", i), (int[]){rows, 0, 0}, (int[]){3, 7, 1}, 8);
        add_sequence(&text, nuc_format(cx, "b%d", i), (int[]){rows, 0, 0}, (int[]){4, 9, 2}, 8);
        nuc_text_addf(&params, "%s%%w%d, %%u%d, %%a%d, %%b%d", i == 0 ? "" : ", ", i, i, i, i);
        if (row->projected == 0)
            continue;
        add_sequence(&text, nuc_format(cx, "p%d", i), (int[]){out, 2, 0}, (int[]){3, 5, 1}, 2);
        nuc_text_addf(&params, ", %%p%d", i);
    }
    add_sequence(&text, "h", (int[]){4, 1, out}, (int[]){3, 5, 2}, 4);
    add_sequence(&text, "c", (int[]){4, 1, 2}, (int[]){2, 7, 3}, 4);
    nuc_text_addf(&text, "%%x = input : float32[2, 1, 2]\n");
    nuc_text_addf(&text, "%%g = aten.%s.input(%%x, %s, [%s], true, 2, 0.0, false, true, false)\n", row->op,
                  row->states == 2 ? "[%h, %c]" : "%h", nuc_text_string(&params));
    for (int i = 0; i <= row->states; i++)
        nuc_text_addf(&text, "%%y%d = getitem(%%g, %d)\n", i, i);
    nuc_text_addf(&text, "%%output = output([%s])\n", row->states == 2 ? "%y0, %y1, %y2" : "%y0, %y1");
    return parse_quantized(cx, nuc_text_string(&text));
}

/* The evaluator, and programs of the layers as they are, split, and step by step. */
static void run_torch_row(struct nuc_context *cx, void *arg)
{
    const struct nuc_edge_options steps = {.executorch_ops_only = true};
    const struct torch_row *row = arg;
    const struct layer l = {.op = row->op, .states = row->states};
    struct sample *s = nuc_alloc(cx, sizeof *s);
    struct nuc_graph *g[3];

    for (int i = 0; i < 3; i++)
        g[i] = torch_graph(cx, row);
    for (int i = 0; i < 4; i++)
        s->inputs[0][i] = (float)(i * 5 % 7 - 3) / 4;
    evaluate(g[0], s);
    for (int i = 0; i <= row->states; i++) {
        for (int k = 0; k < (row->projected > 0 && i < 2 ? 4 : 8); k++)
            assert_true(fabs((double)s->outputs[i][k] - (double)row->expected[i][k]) < 1e-6);
    }
    nuc_run_passes(g[1], &nuc_aten_passes, NUC_PASSES_DEFAULT, NULL);
    for (int i = 0; i < 3; i++) {
        nuc_to_edge(g[i], i == 2 ? &steps : NULL);
        run_program(cx, g[i], &l, s, (const double[]){1, 1, 1}, 1e-6);
    }
}

/* ---- what has no int8 form stays as it is ---- */

static void keep_for_executorch(struct nuc_context *cx, void *arg)
{
    const struct nuc_quantize_options options = {.side = NUC_SIDE_CPU, .threads = 1, .executorch_ops_only = true};
    uint32_t seed = 3;
    struct nuc_calibration *c = nuc_quantize_prepare(layer_graph(cx, &layers[2], &seed), &options);
    struct sample *s = nuc_alloc(cx, sizeof *s);

    fill(s, &seed);
    nuc_quantize_sample(c, (const void *const[]){s->inputs[0]});
    const struct nuc_graph *g = nuc_quantize_convert(c);
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        assert_true(n->op != NUC_OP_DEQUANTIZE_PER_CHANNEL);
}

RUN_TESTS(ROW_TEST(run_float, layers), ROW_TEST(run_int8, layers), ROW_TEST(run_torch_row, torch_rows),
          CONTEXT_TEST(keep_for_executorch), CONTEXT_TEST(keep_between_layers), CONTEXT_TEST(keep_state_beside_readers),
          CONTEXT_TEST(keep_large_weight), CONTEXT_TEST(reach_of_relus))
