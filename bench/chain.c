/*
 * chain KIND OPERATORS MODEL [SAMPLES.npz]: writes a network of that many operators, to see how the time and the memory
 * of a compilation grow (bench/README.md). MODEL is an archive of torch.export, or a LiteRT model when its name ends in
 * .tflite; SAMPLES are two samples for its calibration. The same arguments give the same bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/arrays.h"
#include "front/pt2/pt2_write.h"
#include "graph_text/parse_graph.h"
#include "host/file.h"
#include "host/text.h"
#include "litert/litert.h"

#define KINDS "conv, residual, mixed, parameters, inputs, fan, sliding, attention, wide"
#define N_SAMPLES 2
#define CHANNELS 4
#define IMAGE 8

struct request {
    const char *kind, *model, *samples;
    unsigned long n;
};

/* ---- archives of torch.export, by way of the graph's text form ---- */

struct chain {
    struct nuc_text front, body; /* placeholders, calls */
    unsigned long n;             /* operators so far */
    unsigned long inputs;
};

static const char image[] = "float32[1, 4, 8, 8]";

/* Numbers that differ from place to place: what is equal might be merged. */
static void weight(struct chain *c, const char *name, const char *shape)
{
    nuc_text_addf(&c->front, "%%w%lu_%s = parameter \"m.%lu.%s\" : float32%s values(", c->n, name, c->n, name, shape);
    for (unsigned long i = 0; i < 3; i++)
        nuc_text_addf(&c->front, "%s%.4f", i == 0 ? "" : ", ", (double)((c->n * 31 + i * 17) % 101) / 101.0 - 0.45);
    nuc_text_add(&c->front, ")\n", 2);
}

static void input(struct chain *c)
{
    nuc_text_addf(&c->front, "%%x%lu = input : %s\n", c->inputs++, image);
}

/* The call of an operator on values that `format` names; its result is %v<number>. */
__attribute__((format(printf, 2, 3))) static void call(struct chain *c, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->n++;
    nuc_text_addf(&c->body, "%%v%lu = aten.%s at \"chain.py\":%lu in \"m.%lu\"\n", c->n, text, c->n, c->n);
}

static void convolve(struct chain *c, unsigned long from)
{
    weight(c, "weight", "[4, 4, 1, 1]");
    weight(c, "bias", "[4]");
    unsigned long w = c->n;
    call(c, "conv2d.default(%%v%lu, %%w%lu_weight, %%w%lu_bias)", from, w, w);
}

/* Convolutions and ReLUs by turns: all on the NPU. */
static void conv(struct chain *c, const struct request *q)
{
    while (c->n < q->n) {
        if (c->n % 2 == 1)
            convolve(c, c->n);
        else
            call(c, "relu.default(%%v%lu)", c->n);
    }
}

/* Blocks of two convolutions around which values go past. */
static void residual(struct chain *c, const struct request *q)
{
    while (c->n < q->n) {
        unsigned long from = c->n;
        convolve(c, from);
        call(c, "relu.default(%%v%lu)", c->n);
        convolve(c, c->n);
        call(c, "add.Tensor(%%v%lu, %%v%lu)", c->n, from);
    }
}

/* What the NPU has no operator for, mostly, and what it has. */
static void mixed(struct chain *c, const struct request *q)
{
    static const char *const functions[] = {"sin", "sigmoid", "erf", "tanh", "cos", "relu", "atan"};

    while (c->n < q->n) {
        if (c->n % 8 == 7)
            call(c, "add.Tensor(%%v%lu, %%v%lu)", c->n, c->n - 3);
        else
            call(c, "%s.default(%%v%lu)", functions[c->n % 7], c->n);
    }
}

/* An operator to every parameter: as many placeholders as calls. */
static void parameters(struct chain *c, const struct request *q)
{
    while (c->n < q->n) {
        weight(c, "p", "[1, 4, 1, 1]");
        unsigned long w = c->n;
        call(c, "%s.Tensor(%%v%lu, %%w%lu_p)", c->n % 2 == 0 ? "add" : "mul", c->n, w);
    }
}

/* An input to every operator. */
static void inputs(struct chain *c, const struct request *q)
{
    while (c->n < q->n) {
        input(c);
        call(c, "add.Tensor(%%v%lu, %%x%lu)", c->n, c->inputs - 1);
    }
}

/* Everything reads the first value; joined in pairs, the results end in one. */
static void fan(struct chain *c, const struct request *q)
{
    unsigned long leaves = q->n / 2, first = c->n, last = first;

    for (unsigned long i = 0; i < leaves; i++)
        call(c, "%s.default(%%v%lu)", i % 2 == 0 ? "relu" : "sigmoid", first);
    for (last = first + 1; last < c->n; last += 2)
        call(c, "add.Tensor(%%v%lu, %%v%lu)", last, last + 1);
}

/* The newest of four frames after three of those before. */
static void sliding(struct chain *c, const struct request *q)
{
    while (c->n < q->n) {
        unsigned long from = c->n;
        weight(c, "weight", "[1, 4, 1, 1]");
        call(c, "conv2d.default(%%v%lu, %%w%lu_weight)", from, from);
        call(c, "slice.Tensor(%%v%lu, 1, 1, 4)", from);
        call(c, "cat.default([%%v%lu, %%v%lu], 1)", from + 2, from + 1);
    }
}

/* Of one head, decomposed. */
static void attention(struct chain *c, const struct request *q)
{
    while (c->n + 9 <= q->n) {
        unsigned long from = c->n, w[3];
        for (int i = 0; i < 3; i++) {
            weight(c, "weight", "[8, 8]");
            w[i] = c->n;
            call(c, "linear.default(%%v%lu, %%w%lu_weight)", from, w[i]);
        }
        call(c, "transpose.int(%%v%lu, 2, 3)", from + 2);
        call(c, "matmul.default(%%v%lu, %%v%lu)", from + 1, c->n);
        call(c, "softmax.int(%%v%lu, -1)", c->n);
        call(c, "matmul.default(%%v%lu, %%v%lu)", c->n, from + 3);
        call(c, "add.Tensor(%%v%lu, %%v%lu)", c->n, from);
        call(c, "tanh.default(%%v%lu)", c->n);
    }
}

/* Everything reads the first value and is concatenated. */
static void wide(struct chain *c, const struct request *q)
{
    unsigned long first = c->n;

    while (c->n < q->n)
        call(c, "%s.default(%%v%lu)", c->n % 2 == 0 ? "relu" : "sigmoid", first);
    nuc_text_addf(&c->body, "%%v%lu = aten.cat.default([%%v%lu", c->n + 1, first + 1);
    for (unsigned long i = first + 2; i <= c->n; i++)
        nuc_text_addf(&c->body, ", %%v%lu", i);
    nuc_text_addf(&c->body, "], 1)\n");
    c->n++;
}

static const struct kind {
    const char *name;
    void (*build)(struct chain *c, const struct request *q);
} kinds[] = {{"conv", conv},     {"residual", residual}, {"mixed", mixed},     {"parameters", parameters},
             {"inputs", inputs}, {"fan", fan},           {"sliding", sliding}, {"attention", attention},
             {"wide", wide}};

static uint32_t write_archive(struct nuc_context *cx, const struct request *q)
{
    struct chain c = {.front = {.cx = cx}, .body = {.cx = cx}};

    nuc_text_addf(&c.front, "nucleon-graph 1\n");
    input(&c);
    call(&c, "relu.default(%%x0)");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(q->kind, kinds[i].name) == 0)
            kinds[i].build(&c, q);
    }
    if (c.n == 1)
        nuc_fail(cx, NUC_BAD_USAGE, "there is no kind '%s': " KINDS, q->kind);
    nuc_text_addf(&c.body, "%%output = output([%%v%lu])\n", c.n);
    nuc_text_add(&c.front, c.body.data, c.body.length);
    struct nuc_graph *g = nuc_graph_parse(cx, q->model, nuc_text_string(&c.front));
    struct nuc_pieces archive = nuc_write_pt2(g);
    nuc_write_pieces(cx, q->model, &archive);
    return (uint32_t)c.inputs;
}

static void write_samples(struct nuc_context *cx, const struct request *q, uint32_t count)
{
    size_t elements = N_SAMPLES * CHANNELS * IMAGE * IMAGE;
    struct nuc_arrays arrays = {count, nuc_alloc_array(cx, count, sizeof *arrays.items)};

    for (uint32_t i = 0; i < count; i++) {
        float *x = nuc_alloc_array(cx, elements, sizeof *x);
        for (size_t k = 0; k < elements; k++)
            x[k] = (float)((k * 37 + i * 11) % 201) / 100.0f - 1.0f;
        arrays.items[i] = (struct nuc_array){.name = nuc_format(cx, "x%u", i),
                                             .dtype = NUC_F32,
                                             .rank = 4,
                                             .shape = {N_SAMPLES, CHANNELS, IMAGE, IMAGE},
                                             .data = {(const uint8_t *)x, elements * sizeof *x}};
    }
    nuc_write_npz(cx, q->samples, &arrays);
}

/* ---- LiteRT models ---- */

static const float scales[] = {1.0f / 64, 1.0f / 4096};
static const int64_t zero[] = {0};

static int32_t tensor(struct nuc_lt_model *m, enum nuc_dtype dtype, const int32_t *shape, uint32_t rank, bool is_bias,
                      const void *data, size_t size)
{
    unsigned long number = m->subgraphs[0].n_tensors;
    struct nuc_lt_tensor t = {.name = nuc_format(m->cx, "t%lu", number), .dtype = dtype, .rank = rank};

    memcpy(t.shape, shape, rank * sizeof *shape);
    t.quant = (struct nuc_lt_quant){1, &scales[is_bias], zero, 0};
    if (data != NULL)
        t.data = (struct nuc_span){nuc_copy(m->cx, data, size), size};
    return nuc_lt_add_tensor(m, &t);
}

static int32_t value(struct nuc_lt_model *m)
{
    return tensor(m, NUC_I8, (const int32_t[]){1, IMAGE, IMAGE, CHANNELS}, 4, false, NULL, 0);
}

static int32_t lt_conv(struct nuc_lt_model *m, int32_t x, unsigned long n)
{
    int8_t w[CHANNELS * CHANNELS];
    int32_t bias[CHANNELS];

    for (size_t i = 0; i < sizeof w; i++)
        w[i] = (int8_t)((n * 31 + i * 17) % 101) - 45;
    for (size_t i = 0; i < CHANNELS; i++)
        bias[i] = (int32_t)((n * 7 + i * 3) % 41) - 20;
    int32_t weights = tensor(m, NUC_I8, (const int32_t[]){CHANNELS, 1, 1, CHANNELS}, 4, false, w, sizeof w);
    int32_t biases = tensor(m, NUC_I32, (const int32_t[]){CHANNELS}, 1, true, bias, sizeof bias), y = value(m);
    struct nuc_lt_op *op = nuc_lt_add_op(m, NUC_LT_CONV_2D, (const int32_t[]){x, weights, biases}, 3, &y, 1);
    op->options.conv.stride_w = op->options.conv.stride_h = 1;
    op->options.conv.dilation_w = op->options.conv.dilation_h = 1;
    op->options.conv.activation = NUC_LT_ACT_RELU;
    return y;
}

/* Blocks of two convolutions around which values go past, or ABS and ADD by turns. */
static void write_litert(struct nuc_context *cx, const struct request *q)
{
    struct nuc_lt_model *m = nuc_lt_model_new(cx, q->model);
    struct nuc_lt_subgraph *s = &m->subgraphs[0];
    bool layers = strcmp(q->kind, "conv") == 0 || strcmp(q->kind, "residual") == 0;
    int32_t first = value(m), x = first, past = first;

    s->inputs = nuc_copy(cx, &first, sizeof first);
    s->n_inputs = 1;
    for (unsigned long i = 0; i < q->n; i++) {
        if (i % 3 == 2) {
            int32_t y = value(m);
            nuc_lt_add_op(m, NUC_LT_ADD, (const int32_t[]){x, past}, 2, &y, 1);
            x = past = y;
        } else if (layers) {
            x = lt_conv(m, x, i);
        } else {
            int32_t y = value(m);
            nuc_lt_add_op(m, NUC_LT_ABS, &x, 1, &y, 1);
            x = y;
        }
    }
    s->outputs = nuc_copy(cx, &x, sizeof x);
    s->n_outputs = 1;
    nuc_write_file(cx, q->model, nuc_lt_write(m));
}

static void make(struct nuc_context *cx, void *arg)
{
    const struct request *q = arg;
    size_t length = strlen(q->model);

    if (length > 7 && strcmp(q->model + length - 7, ".tflite") == 0) {
        write_litert(cx, q);
        return;
    }
    uint32_t n_inputs = write_archive(cx, q);
    if (q->samples != NULL)
        write_samples(cx, q, n_inputs);
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: chain KIND OPERATORS MODEL [SAMPLES.npz]\nkinds: " KINDS "\n");
        return 2;
    }
    struct request q = {argv[1], argv[3], argv[4], strtoul(argv[2], NULL, 10)};
    struct nuc_context *cx = nuc_context_new(NULL);
    enum nuc_status status = cx == NULL ? NUC_NO_MEMORY : nuc_try(cx, make, &q);
    if (status != NUC_OK)
        fprintf(stderr, "chain: %s\n", cx == NULL ? "out of memory" : cx->message);
    nuc_context_free(cx);
    return status == NUC_OK ? 0 : 1;
}
