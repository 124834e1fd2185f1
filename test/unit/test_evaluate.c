/* Evaluations of small float programs: which labels fit, which task an output has, what is refused and why. */
#include <math.h>
#include <unistd.h>

#include "driver/pipeline.h"
#include "failing_memory.h"
#include "quantized_text.h"
#include "tools/evaluate/score.h"

#define N 2 /* samples */

struct trial {
    const char *what;
    const char *reference, *program; /* lines; program NULL: the reference's */
    const char *label;               /* name of the array; NULL: none */
    enum nuc_dtype dtype;
    int64_t sizes[4]; /* until 0 */
    double values[12];
    struct nuc_evaluate_options options; /* zeros stand for the defaults */
    bool alone;                          /* without the reference */
    const char *refused;                 /* part of the message, NULL: it runs */
    enum nuc_task task;                  /* of the first output with classes or labels, else the first */
    size_t n_decisions, n_agree, n_right;
};

/* Samples of [1, 3]: -1 2 1 and 3 0 -2. */
static const float samples[N * 3] = {-1, 2, 1, 3, 0, -2};

#define X "%x = input : float32[1, 3]\n"
#define SAME X "%y = aten.mul.Tensor(%x, %x)\n" /* 1 4 1 and 9 0 4 */
#define TWICE X "%y = aten.add.Tensor(%x, %x)\n"
#define SOFTMAX X "%y = aten.softmax.int(%x, 1)\n"
#define SIGMOID X "%m = aten.sum.dim_IntList(%x, [1], true)\n%y = aten.sigmoid.default(%m)\n" /* of 2 and 1 */
#define SUM X "%y = aten.sum.dim_IntList(%x, [1], true)\n"
#define NEGATED X "%n = aten.neg.default(%x)\n%y = aten.softmax.int(%n, 1)\n"
#define NOT_A_NUMBER X "%r = aten.rsqrt.default(%x)\n%y = aten.softmax.int(%r, 1)\n"
#define ROWS X "%a = aten.unsqueeze.default(%x, 2)\n%b = aten.neg.default(%a)\n%y = aten.cat.default([%a, %b], 2)\n"
#define PIXELS ROWS "%c = aten.unsqueeze.default(%y, 3)\n%z = aten.cat.default([%c, %c], 3)\n"
#define ARGMAX X "%y = aten.argmax.default(%x, 1)\n"

#define LABELS(type, ...)                                                                                              \
    "label", NUC_##type, {N},                                                                                          \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static const struct trial trials[] = {
    {"a softmax", SOFTMAX, NULL, NULL, NUC_F32, {0}, {0}, .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2},
    {"decisions that differ", SOFTMAX, NEGATED, NULL, NUC_F32, {0}, {0}, .task = NUC_TASK_CLASSIFY, .n_decisions = 2},
    {"NaN agrees with nothing",
     NOT_A_NUMBER,
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 2},
    {"as large as the input", TWICE, NULL, NULL, NUC_F32, {0}, {0}, .task = NUC_TASK_AUTO},
    {"but said to be classes",
     TWICE,
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     {.task = NUC_TASK_CLASSIFY},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 2,
     .n_agree = 2},
    {"labels make classes", TWICE, NULL, LABELS(I64, 1, 0), .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2,
     .n_right = 2},
    {"int8", TWICE, NULL, LABELS(I8, 1, 1), .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2, .n_right = 1},
    {"uint8", TWICE, NULL, LABELS(U8, 2, 1), .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2},
    {"int16", TWICE, NULL, LABELS(I16, 1, 0), .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2, .n_right = 2},
    {"int32", TWICE, NULL, LABELS(I32, 1, 0), .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2, .n_right = 2},
    {"bool", TWICE, NULL, LABELS(BOOL, 1, 0), .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2, .n_right = 2},
    {"whole floats", TWICE, NULL, LABELS(F32, 1, 0), .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2,
     .n_right = 2},
    {"broken floats", TWICE, NULL, LABELS(F32, 0.5, 0), .refused = "numbers that are not whole"},
    {"a name of its own",
     TWICE,
     NULL,
     "label_y",
     NUC_I32,
     {N},
     {1, 2},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 2,
     .n_agree = 2,
     .n_right = 1},
    {"by number",
     TWICE,
     NULL,
     "label0",
     NUC_I32,
     {N},
     {1, 2},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 2,
     .n_agree = 2,
     .n_right = 1},
    {"one-hot",
     TWICE,
     NULL,
     "label",
     NUC_U8,
     {N, 3},
     {0, 1, 0, 1, 0, 0},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 2,
     .n_agree = 2,
     .n_right = 2},
    {"one-hot with a batch",
     TWICE,
     NULL,
     "label",
     NUC_F32,
     {N, 1, 3},
     {0, 1, 0, 0, 1, 0},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 2,
     .n_agree = 2,
     .n_right = 1},
    {"from 1", TWICE, NULL, LABELS(I32, 3, 1),
     .refused = "labels from 1 to 3, output 'y' has the classes 0 to 2: "
                "subtract 1"},
    {"too large", TWICE, NULL, LABELS(I32, 0, 7),
     .refused = "the label 7 at sample 1, output 'y' has the classes 0 "
                "to 2"},
    {"negative", TWICE, NULL, LABELS(I32, -100, 0), .refused = "leave such labels out with --ignore-label -100"},
    {"left out",
     TWICE,
     NULL,
     LABELS(I32, -100, 0),
     {.ignore_label = -100},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 2,
     .n_agree = 2,
     .n_right = 1},
    {"too few", TWICE, NULL, "label", NUC_I32, {1}, {0}, .refused = "array 'label' is int32 [1]: for 2 samples"},
    {"too many", TWICE, NULL, "label", NUC_I32, {3}, {0, 1, 2}, .refused = "[2] for one class per sample"},
    {"a regression", TWICE, NULL, "label", NUC_F32, {N, 3}, {0, 1, 2, 3, 4, 5}, .task = NUC_TASK_REGRESS},
    {"one-hot asked for and not given",
     TWICE,
     NULL,
     "label",
     NUC_F32,
     {N, 3},
     {0, 1, 2, 3, 4, 5},
     {.task = NUC_TASK_CLASSIFY},
     .refused = "its rows are not one-hot"},
    {"a regression by request",
     TWICE,
     NULL,
     "label",
     NUC_F32,
     {N, 3},
     {0, 1, 0, 1, 0, 0},
     {.task = NUC_TASK_REGRESS},
     .task = NUC_TASK_REGRESS},
    {"two classes of a sigmoid", SIGMOID, NULL, LABELS(U8, 1, 0), .task = NUC_TASK_CLASSIFY, .n_decisions = 2,
     .n_agree = 2, .n_right = 1},
    {"two classes of a score", SUM, NULL, LABELS(U8, 1, 1), .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2,
     .n_right = 2},
    {"two classes without the model", SUM, NULL, LABELS(U8, 1, 1), .alone = true,
     .refused = "give it with --reference"},
    {"without the model", TWICE, NULL, LABELS(U8, 1, 1), .alone = true, .task = NUC_TASK_CLASSIFY, .n_decisions = 2,
     .n_right = 1},
    /* Of [1, 3, 2]: along axis 1 two decisions a sample, along axis 2 three. */
    {"along axis 1",
     ROWS,
     NULL,
     "label",
     NUC_I32,
     {N, 2},
     {1, 0, 0, 2},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 4,
     .n_agree = 4,
     .n_right = 4},
    {"along axis 2",
     ROWS,
     NULL,
     "label",
     NUC_I32,
     {N, 3},
     {1, 0, 0, 0, 0, 0},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 6,
     .n_agree = 6,
     .n_right = 5},
    {"two numbers, which may be scores",
     X "%y = aten.slice.Tensor(%x, 1, 0, 2)\n",
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     .task = NUC_TASK_CLASSIFY,
     .n_decisions = 2,
     .n_agree = 2},
    {"two numbers after a tanh",
     X "%s = aten.slice.Tensor(%x, 1, 0, 2)\n%y = aten.tanh.default(%s)\n",
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     .task = NUC_TASK_AUTO},
    {"a flattened image",
     ROWS "%v = aten.view.default(%y, [1, 6])\n",
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     .task = NUC_TASK_AUTO},
    {"pixels",
     PIXELS,
     NULL,
     "label",
     NUC_U8,
     {N, 2, 2},
     {1, 1, 0, 0, 0, 0, 2, 1},
     .task = NUC_TASK_SEGMENT,
     .n_decisions = 8,
     .n_agree = 8,
     .n_right = 7},
    {"pixels without labels",
     PIXELS,
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     {.task = NUC_TASK_SEGMENT},
     .task = NUC_TASK_SEGMENT,
     .n_decisions = 8,
     .n_agree = 8},
    {"the axis asked for", ROWS, NULL, "label", NUC_I32, {N, 3}, {0}, {.class_axis = 1}, .refused = "it takes a class"},
    {"an axis that is not there",
     TWICE,
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     {.class_axis = 4},
     .refused = "there are no classes along axis 4"},
    {"class indices", ARGMAX, NULL, LABELS(I16, 1, 0), .task = NUC_TASK_CLASSIFY, .n_decisions = 2, .n_agree = 2,
     .n_right = 2},
    {"accuracy without labels",
     SOFTMAX,
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     {.min_accuracy = 1},
     .refused = "--min-accuracy cannot be measured: it takes class labels"},
    {"agreement without classes",
     TWICE,
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     {.min_agreement = 1},
     .refused = "--min-agreement cannot be measured"},
    {"agreement without a reference",
     SOFTMAX,
     NULL,
     NULL,
     NUC_F32,
     {0},
     {0},
     {.min_agreement = 1},
     .alone = true,
     .refused = "--min-agreement compares with the float model"},
    {"SQNR of integers", ARGMAX, NULL, NULL, NUC_F32, {0}, {0}, {.min_sqnr = 1}, .refused = "all outputs are integers"},
    {"another shape",
     X "%y = aten.slice.Tensor(%x, 1, 0, 2)\n",
     TWICE,
     NULL,
     NUC_F32,
     {0},
     {0},
     .refused = "output 'y' has shape [1, 2], the program's [1, 3]"},
};

/* ---- */

struct flow {
    const struct trial *t;
    struct nuc_compiler *c;
    struct nuc_runner *program;
    struct nuc_model *reference, *quantized;
};

static void make_program(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    const char *lines = f->t->program != NULL ? f->t->program : f->t->reference;
    struct nuc_model *m = nuc_model_make(f->c, parse_quantized(cx, lines)), *lowered;
    const uint8_t *bytes;
    size_t size;

    f->reference = nuc_model_make(f->c, parse_quantized(cx, f->t->reference));
    f->reference->graph->file = "reference";
    m = nuc_advance(m, NUC_STAGE_ATEN_PASSES, NUC_STAGE_ATEN_PASSES);
    lowered = nuc_advance(m, NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER);
    if (nuc_program(lowered, &bytes, &size) != NUC_OK ||
        nuc_runner_open_bytes(f->c, "program", bytes, size, NULL, &f->program) != NUC_OK)
        nuc_fail_again(cx, cx->status);
}

/* The values as elements of that type. */
static size_t put_values(const struct trial *t, size_t count, void *to)
{
    for (size_t i = 0; i < count; i++) {
        double v = t->values[i];
        if (t->dtype == NUC_F32)
            ((float *)to)[i] = (float)v;
        else if (t->dtype == NUC_I64)
            ((int64_t *)to)[i] = (int64_t)v;
        else if (t->dtype == NUC_I32)
            ((int32_t *)to)[i] = (int32_t)v;
        else if (t->dtype == NUC_I16)
            ((int16_t *)to)[i] = (int16_t)v;
        else
            ((int8_t *)to)[i] = (int8_t)v;
    }
    return count * nuc_dtype_size(t->dtype);
}

static void write_data(const struct flow *f, char *path)
{
    const struct trial *t = f->t;
    double block[12];
    struct nuc_array_info arrays[2] = {{.name = "x", .dtype = NUC_F32, .rank = 2, .sizes = {N, 3}}};
    size_t count = 1;

    arrays[0].data = samples;
    arrays[0].bytes = sizeof samples;
    arrays[1] = (struct nuc_array_info){.name = t->label, .dtype = t->dtype, .data = block};
    for (; t->sizes[arrays[1].rank] != 0; arrays[1].rank++) {
        arrays[1].sizes[arrays[1].rank] = t->sizes[arrays[1].rank];
        count *= (size_t)t->sizes[arrays[1].rank];
    }
    if (t->label != NULL)
        arrays[1].bytes = put_values(t, count, block);
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(nuc_write_arrays(f->c, path, arrays, t->label != NULL ? 2 : 1), NUC_OK);
}

static struct nuc_dataset *make_data(const struct flow *f)
{
    char path[] = "/tmp/nucleon-evaluate-XXXXXX.npz";
    struct nuc_dataset *data = NULL;

    write_data(f, path);
    assert_int_equal(nuc_dataset_open(f->c, path, &data), NUC_OK);
    unlink(path);
    return data;
}

static struct nuc_evaluate_options options_of(const struct trial *t)
{
    struct nuc_evaluate_options o;

    nuc_evaluate_options_default(&o);
    o.task = t->options.task;
    if (t->options.class_axis != 0)
        o.class_axis = t->options.class_axis;
    if (t->options.ignore_label != 0)
        o.ignore_label = t->options.ignore_label;
    o.min_accuracy = t->options.min_accuracy != 0 ? t->options.min_accuracy : o.min_accuracy;
    o.min_agreement = t->options.min_agreement != 0 ? t->options.min_agreement : o.min_agreement;
    o.min_sqnr = t->options.min_sqnr != 0 ? t->options.min_sqnr : o.min_sqnr;
    return o;
}

static void check_result(const struct trial *t, const struct nuc_evaluation *e)
{
    const struct nuc_output_score *o = &e->outputs[0];

    if (o->task != t->task || o->n_decisions != t->n_decisions || o->n_agree != t->n_agree ||
        o->program_accuracy.n_right != t->n_right)
        fail_msg("%s: task %d, %zu decisions, %zu agree, %zu are right", t->what, (int)o->task, o->n_decisions,
                 o->n_agree, o->program_accuracy.n_right);
    if (t->program == NULL && !t->alone)
        assert_true(o->deviation.n_equal == o->deviation.n_elements);
}

/* Without the seconds, which come out otherwise each time. */
static const char *json_of(const struct flow *f, const struct nuc_evaluation *e)
{
    const char *text;

    assert_int_equal(nuc_evaluation_json(f->c, e, NULL, &text), NUC_OK);
    char *copy = nuc_strdup(f->c->cx, text), *from, *to;
    while ((from = strstr(copy, "seconds\": ")) != NULL && (to = strchr(from, '\n')) != NULL)
        memmove(from, to, strlen(to) + 1);
    return copy;
}

/* One sample after the other makes the same evaluation, to the last digit; the last one is given first. */
static void check_shards(const struct flow *f, struct nuc_dataset *data, const struct nuc_evaluate_options *options,
                         const char *whole)
{
    struct nuc_model *reference = f->t->alone ? NULL : f->reference;
    char paths[N][64];
    const char *files[N];
    const struct nuc_evaluation *e;
    const struct nuc_node_evaluation *nodes;
    const char *text;

    for (size_t i = 0; i < N; i++) {
        struct nuc_evaluate_options o = *options;
        o.shard = (struct nuc_shard){N - i, N};
        if (nuc_evaluate(f->program, data, reference, &o, &e) != NUC_OK)
            fail_msg("%s: shard %zu: %s", f->t->what, N - i, nuc_compiler_message(f->c));
        assert_int_equal(e->n_samples, 1);
        assert_int_equal(nuc_evaluation_json(f->c, e, NULL, &text), NUC_OK);
        snprintf(paths[i], sizeof paths[i], "/tmp/nucleon-shard-XXXXXX.json");
        int fd = mkstemps(paths[i], 5);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        close(fd);
        files[i] = paths[i];
    }
    enum nuc_status s = nuc_merge_evaluations(f->c, files, N, options, &e, &nodes);
    for (size_t i = 0; i < N; i++)
        unlink(paths[i]);
    if (s != NUC_OK)
        fail_msg("%s: %s", f->t->what, nuc_compiler_message(f->c));
    assert_null(nodes);
    check_result(f->t, e);
    assert_string_equal(json_of(f, e), whole);
}

static void check_trial(const struct trial *t)
{
    const struct nuc_evaluate_options options = options_of(t);
    const struct nuc_evaluation *e;
    struct nuc_options o;

    nuc_options_default(&o);
    o.no_quantize = true;
    o.threads = 1;
    struct flow f = {.t = t, .c = nuc_compiler_new(&o, NULL)};
    assert_non_null(f.c);
    if (nuc_try(f.c->cx, make_program, &f) != NUC_OK)
        fail_msg("%s: %s", t->what, nuc_compiler_message(f.c));
    struct nuc_dataset *data = make_data(&f);
    enum nuc_status s = nuc_evaluate(f.program, data, t->alone ? NULL : f.reference, &options, &e);
    const char *message = nuc_compiler_message(f.c);
    if ((s != NUC_OK) != (t->refused != NULL) || (t->refused != NULL && strstr(message, t->refused) == NULL))
        fail_msg("%s: %s", t->what, s == NUC_OK ? "it is not refused" : message);
    if (s == NUC_OK) {
        check_result(t, e);
        check_shards(&f, data, &options, json_of(&f, e));
    }
    nuc_compiler_free(f.c);
}

static void evaluations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++)
        check_trial(&trials[i]);
}

/* ---- node by node ---- */

#define PAIR(first, second)                                                                                            \
    "%x = input : float32[1, 3] ! 0.125\n%" first " = aten.relu.default(%dx) ! 0.125\n"                                \
    "%" second " = aten.neg.default(%d" first ") ! 0.125\n%z = aten.relu.default(%d" second ") ! 0.125\n"

static void set_call(struct nuc_graph *g, const char *name, const char *call)
{
    struct nuc_source source = *node_of(g, name)->source;

    source.call = call;
    node_of(g, name)->source = nuc_copy(g->cx, &source, sizeof source);
}

static void set_first_call(struct nuc_graph *g, const char *name, const char *call)
{
    struct nuc_source source = *node_of(g, name)->source;

    source.first_call = call;
    node_of(g, name)->source = nuc_copy(g->cx, &source, sizeof source);
}

static void make_renamed(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    struct nuc_model *q = nuc_model_make(f->c, parse_quantized(cx, PAIR("a", "b")));
    struct nuc_graph *g =
        parse_quantized(cx, X "%b = aten.relu.default(%x)\n%z = aten.neg.default(%b)\n%a = aten.relu.default(%z)\n");
    const uint8_t *bytes;
    size_t size;

    /* Names of the one are those of other nodes in the other; the two relus are calls of one line. */
    set_call(g, "b", "first");
    set_call(g, "z", "second");
    set_call(g, "a", "third");
    set_first_call(q->graph, "a", "first");
    set_first_call(q->graph, "b", "elsewhere");
    set_first_call(q->graph, "z", "third");
    f->reference = nuc_model_make(f->c, g);
    struct nuc_model *lowered = nuc_advance(q, NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER);
    if (nuc_program(lowered, &bytes, &size) != NUC_OK ||
        nuc_runner_open_bytes(f->c, "program", bytes, size, NULL, &f->program) != NUC_OK)
        nuc_fail_again(cx, cx->status);
    f->quantized = q;
}

static void renamed_nodes(void **state)
{
    static const struct trial unlabelled = {.what = "renamed"};
    const struct nuc_evaluation *e = NULL;
    const struct nuc_node_evaluation *nodes = NULL;
    struct nuc_options o;

    (void)state;
    nuc_options_default(&o);
    o.threads = 1;
    struct flow f = {.t = &unlabelled, .c = nuc_compiler_new(&o, NULL)};
    assert_non_null(f.c);
    if (nuc_try(f.c->cx, make_renamed, &f) != NUC_OK)
        fail_msg("%s", nuc_compiler_message(f.c));
    struct nuc_dataset *data = make_data(&f);
    if (nuc_evaluate(f.program, data, f.reference, NULL, &e) != NUC_OK ||
        nuc_evaluate_nodes(f.program, data, f.reference, f.quantized, &nodes) != NUC_OK)
        fail_msg("%s", nuc_compiler_message(f.c));
    assert_int_equal(nodes->n_nodes, 2);
    assert_string_equal(nodes->nodes[0].name, "a");
    assert_string_equal(nodes->nodes[0].float_name, "b");
    assert_string_equal(nodes->nodes[1].name, "z");
    assert_string_equal(nodes->nodes[1].float_name, "a");
    assert_int_equal(nodes->n_unmatched, 1);
    assert_string_equal(nodes->unmatched[0], "b");
    assert_int_equal(nodes->n_unequal, 0);
    /* Whole numbers are steps of 0.125. The last relu gives zeros: no signal, no error. */
    assert_true(nodes->nodes[0].float_program.n_equal == N * 3);
    assert_true(nodes->nodes[1].float_program.signal == 0 && isinf(nodes->nodes[1].float_program.sqnr_db));
    nuc_compiler_free(f.c);
}

/* ---- memory that runs out ---- */

struct files {
    char data[64], reference[64], shard[64];
    const void *program;
    size_t size;
};

static enum nuc_status evaluate_files(struct failing_memory *m, void *arg)
{
    const struct files *files = arg;
    struct nuc_memory_hooks hooks = {failing_allocate, m};
    struct nuc_options o;
    struct nuc_runner *program;
    struct nuc_dataset *data;
    struct nuc_model *reference;
    const struct nuc_evaluation *e;
    const struct nuc_node_evaluation *nodes;
    const char *text, *shard = files->shard;

    nuc_options_default(&o);
    o.threads = 1;
    struct nuc_compiler *c = nuc_compiler_new(&o, &hooks);
    if (c == NULL)
        return NUC_NO_MEMORY;
    enum nuc_status s = nuc_runner_open_bytes(c, "program", files->program, files->size, NULL, &program);
    if (s == NUC_OK)
        s = nuc_dataset_open(c, files->data, &data);
    if (s == NUC_OK)
        s = nuc_model_open(c, files->reference, &reference);
    if (s == NUC_OK)
        s = nuc_evaluate(program, data, reference, NULL, &e);
    if (s == NUC_OK)
        s = nuc_evaluation_json(c, e, NULL, &text);
    struct nuc_evaluate_options only_shard;
    nuc_evaluate_options_default(&only_shard);
    only_shard.shard = (struct nuc_shard){1, 1};
    if (s == NUC_OK)
        s = nuc_evaluate(program, data, reference, &only_shard, &e);
    if (s == NUC_OK)
        s = nuc_evaluation_json(c, e, NULL, &text);
    if (s == NUC_OK) {
        FILE *file = fopen(files->shard, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
        s = nuc_merge_evaluations(c, &shard, 1, NULL, &e, &nodes);
    }
    nuc_compiler_free(c);
    return s;
}

static void out_of_memory(void **state)
{
    static const struct trial t = {"memory", SOFTMAX, NULL, LABELS(I64, 1, 0), .task = NUC_TASK_CLASSIFY};
    struct files files = {.data = "/tmp/nucleon-evaluate-XXXXXX.npz",
                          .reference = "/tmp/nucleon-evaluate-XXXXXX.pt2",
                          .shard = "/tmp/nucleon-evaluate-XXXXXX.json"};
    struct nuc_options o;

    (void)state;
    nuc_options_default(&o);
    o.no_quantize = true;
    struct flow f = {.t = &t, .c = nuc_compiler_new(&o, NULL)};
    assert_non_null(f.c);
    assert_int_equal(nuc_try(f.c->cx, make_program, &f), NUC_OK);
    write_data(&f, files.data);
    int fd = mkstemps(files.reference, 4);
    assert_true(fd >= 0);
    close(fd);
    fd = mkstemps(files.shard, 5);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(nuc_model_write(f.reference, files.reference), NUC_OK);
    files.program = nuc_runner_image(f.program, &files.size);
    assert_true(run_out_of_memory(evaluate_files, &files, 0, NUC_OK) > 0);
    unlink(files.data);
    unlink(files.reference);
    unlink(files.shard);
    nuc_compiler_free(f.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(evaluations), cmocka_unit_test(renamed_nodes),
                                       cmocka_unit_test(out_of_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
