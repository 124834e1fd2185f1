/* Evaluations of small float programs: which labels fit, which task an output has, what is refused and why. */
#include <math.h>
#include <unistd.h>

#include "driver/model_metadata.h"
#include "driver/stages.h"
#include "failing_memory.h"
#include "tools/evaluate/scored_output.h"
#include "value_cases.h"

#define N 2 /* samples */

/* A line of cases/evaluations.txt. */
struct trial {
    const char *line;
    const char *reference, *program; /* lines; program NULL: the reference's */
    char label[16];                  /* name of the array; "": none */
    enum nuc_dtype dtype;
    int64_t sizes[NUC_MAX_RANK];
    size_t rank;
    double values[MOST_VALUES];
    struct nuc_evaluate_options options;
    bool alone; /* without the reference */
    const char *expected, *refused;
};

/* Samples of [1, 3]. */
static const float samples[N * 3] = {-1, 2, 1, 3, 0, -2};

#define X "%x = input : float32[1, 3]\n"
#define SOFTMAX X "%y = aten.softmax.int(%x, 1)\n"

struct flow {
    const struct trial *t;
    struct nuc_compiler *c;
    struct nuc_runner *program;
    struct nuc_model *reference, *quantized;
};

/* An empty file of that name, where XXXXXX before the suffix becomes something else. */
static void make_temporary(char *path, int suffix)
{
    int fd = mkstemps(path, suffix);

    assert_true(fd >= 0);
    close(fd);
}

static void open_program(struct flow *f, struct nuc_model *lowered)
{
    const uint8_t *bytes;
    size_t size;

    if (nuc_program(lowered, &bytes, &size) != NUC_OK ||
        nuc_runner_open_bytes(f->c, "program", bytes, size, NULL, &f->program) != NUC_OK)
        nuc_fail_again(f->c->cx, f->c->cx->status);
}

static struct nuc_compiler *new_compiler(bool quantizes)
{
    struct nuc_options o;

    nuc_options_default(&o);
    o.no_quantize = !quantizes;
    o.threads = 1;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    assert_non_null(c);
    return c;
}

static void make_program(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    const char *lines = f->t->program != NULL ? f->t->program : f->t->reference;
    struct nuc_model *m = nuc_model_make(f->c, parse_quantized(cx, lines));

    f->reference = nuc_model_make(f->c, parse_quantized(cx, f->t->reference));
    f->reference->graph->file = "reference";
    m = nuc_advance(m, NUC_STAGE_ATEN_PASSES, NUC_STAGE_ATEN_PASSES);
    open_program(f, nuc_advance(m, NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER));
}

static void write_data(const struct flow *f, char *path)
{
    const struct trial *t = f->t;
    int64_t block[MOST_VALUES];
    struct nuc_array_info arrays[2] = {{.name = "x", .dtype = NUC_F32, .rank = 2, .sizes = {N, 3}}};
    size_t count = 1;

    arrays[0].data = samples;
    arrays[0].bytes = sizeof samples;
    arrays[1] = (struct nuc_array_info){.name = t->label, .dtype = t->dtype, .rank = t->rank, .data = block};
    for (size_t d = 0; d < t->rank; d++)
        count *= (size_t)(arrays[1].sizes[d] = t->sizes[d]);
    for (size_t i = 0; i < count; i++)
        store_value(t->dtype, block, i, t->values[i]);
    arrays[1].bytes = count * nuc_dtype_size(t->dtype);
    make_temporary(path, 4);
    assert_int_equal(nuc_write_arrays(f->c, path, arrays, t->label[0] != '\0' ? 2 : 1), NUC_OK);
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

static const char *const task_names[] = {[NUC_TASK_AUTO] = "auto",
                                         [NUC_TASK_CLASSIFY] = "classify",
                                         [NUC_TASK_SEGMENT] = "segment",
                                         [NUC_TASK_REGRESS] = "regress"};

static void check_result(const struct trial *t, const struct nuc_evaluation *e)
{
    const struct nuc_output_score *o = &e->outputs[0];
    char got[100];

    snprintf(got, sizeof got, "%s: %zu decisions, %zu agree, %zu right", task_names[o->task], o->n_decisions,
             o->n_agree, o->program_accuracy.n_right);
    if (t->expected == NULL || strcmp(got, t->expected) != 0)
        fail_msg("%s: %s", t->line, got);
    /* The evaluator's functions are of double, the kernels' as good as device/base/real.h says. */
    if (t->program == NULL && !t->alone)
        assert_true(o->deviation.noise <= 0x1p-44 * o->deviation.signal);
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
            fail_msg("%s: shard %zu: %s", f->t->line, N - i, nuc_compiler_message(f->c));
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
        fail_msg("%s: %s", f->t->line, nuc_compiler_message(f->c));
    assert_null(nodes);
    check_result(f->t, e);
    assert_string_equal(json_of(f, e), whole);
}

static void check_trial(const struct trial *t)
{
    const struct nuc_evaluation *e;
    struct flow f = {.t = t, .c = new_compiler(false)};

    if (nuc_try(f.c->cx, make_program, &f) != NUC_OK)
        fail_msg("%s: %s", t->line, nuc_compiler_message(f.c));
    struct nuc_dataset *data = make_data(&f);
    enum nuc_status s = nuc_evaluate(f.program, data, t->alone ? NULL : f.reference, &t->options, &e);
    const char *message = nuc_compiler_message(f.c);
    if ((s != NUC_OK) != (t->refused != NULL) || (t->refused != NULL && strstr(message, t->refused) == NULL))
        fail_msg("%s: %s", t->line, s == NUC_OK ? "it is not refused" : message);
    if (s == NUC_OK) {
        check_result(t, e);
        check_shards(&f, data, &t->options, json_of(&f, e));
    }
    nuc_compiler_free(f.c);
}

/* "label int32 [2] 1 0" */
static void read_labels(struct trial *t, char *setting)
{
    char *values = split_at(setting, "] "), *sizes = split_at(setting, "[");
    const char *type = split_at(setting, " ");

    assert_true(values != NULL && type != NULL && strlen(setting) < sizeof t->label);
    strcpy(t->label, setting);
    t->dtype = take_dtype(&type);
    for (char *at = sizes; *at != '\0'; at += strspn(at, ", "))
        t->sizes[t->rank++] = strtol(at, &at, 10);
    read_values(values, t->values);
}

static void read_setting(struct trial *t, char *setting)
{
    struct nuc_evaluate_options *o = &t->options;

    if (strncmp(setting, "label", 5) == 0) {
        read_labels(t, setting);
        return;
    }
    if (strcmp(setting, "alone") == 0) {
        t->alone = true;
        return;
    }
    char *value = split_at(setting, " ");
    assert_non_null(value);
    double number = strtod(value, NULL);
    if (strcmp(setting, "task") == 0) {
        while (strcmp(task_names[o->task], value) != 0)
            o->task++;
    } else if (strcmp(setting, "class_axis") == 0)
        o->class_axis = (int)number;
    else if (strcmp(setting, "max_disagreements") == 0)
        o->max_disagreements = (size_t)number;
    else if (strcmp(setting, "ignore_label") == 0)
        o->ignore_label = (int64_t)number;
    else if (strncmp(setting, "min_", 4) != 0)
        fail_msg("%s is no setting", setting);
    else
        *(strcmp(setting, "min_accuracy") == 0    ? &o->min_accuracy
          : strcmp(setting, "min_agreement") == 0 ? &o->min_agreement
                                                  : &o->min_sqnr) = number;
}

static void read_trial(struct nuc_context *cx, struct text_line *line)
{
    const char **program = line->user;
    struct trial t = {.line = nuc_format(cx, "%s: %s => %s", line->name, line->left, line->right),
                      .reference = line->graph};

    if (line->right == NULL) {
        *program = line->left + strlen("program: ");
        return;
    }
    t.program = *program;
    *(line->refused ? &t.refused : &t.expected) = line->right;
    nuc_evaluate_options_default(&t.options);
    for (char *setting = line->left, *next; *setting != '\0'; setting = next) {
        next = setting + strcspn(setting, ";");
        next = *next == '\0' ? next : split_at(setting, "; ");
        read_setting(&t, setting);
    }
    check_trial(&t);
}

static void check_evaluations(struct nuc_context *cx, void *text)
{
    const char *program = NULL;

    for_lines(cx, text, read_trial, &program);
}

/* ---- node by node ---- */

#define PAIR(first, second)                                                                                            \
    "%x = input : float32[1, 3] ! 0.125\n%" first " = aten.relu.default(%dx) ! 0.125\n"                                \
    "%" second " = aten.neg.default(%d" first ") ! 0.125\n%z = aten.relu.default(%d" second ") ! 0.125\n"

static void set_calls(struct nuc_graph *g, const char *name, const char *call, const char *first_call)
{
    struct nuc_source source = *node_of(g, name)->source;

    source.call = call != NULL ? call : source.call;
    source.first_call = first_call != NULL ? first_call : source.first_call;
    node_of(g, name)->source = nuc_copy(g->cx, &source, sizeof source);
}

static void make_renamed(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    struct nuc_model *q = nuc_model_make(f->c, parse_quantized(cx, PAIR("a", "b")));
    struct nuc_graph *g =
        parse_quantized(cx, X "%b = aten.relu.default(%x)\n%z = aten.neg.default(%b)\n%a = aten.relu.default(%z)\n");

    /* Names of the one are those of other nodes in the other; the two relus are calls of one line. */
    set_calls(g, "b", "first", NULL);
    set_calls(g, "z", "second", NULL);
    set_calls(g, "a", "third", NULL);
    set_calls(q->graph, "a", NULL, "first");
    set_calls(q->graph, "b", NULL, "elsewhere");
    set_calls(q->graph, "z", NULL, "third");
    f->reference = nuc_model_make(f->c, g);
    open_program(f, nuc_advance(q, NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER));
    f->quantized = q;
}

/* Of the models that `make` opens, which have no labels. */
static const struct nuc_node_evaluation *evaluate_nodes(struct flow *f, void (*make)(struct nuc_context *cx, void *arg))
{
    static const struct trial unlabelled = {.line = "node by node"};
    const struct nuc_evaluation *e = NULL;
    const struct nuc_node_evaluation *nodes = NULL;

    f->t = &unlabelled;
    if (nuc_try(f->c->cx, make, f) != NUC_OK)
        fail_msg("%s", nuc_compiler_message(f->c));
    struct nuc_dataset *data = make_data(f);
    if (nuc_evaluate(f->program, data, f->reference, NULL, &e) != NUC_OK ||
        nuc_evaluate_nodes(f->program, data, f->reference, f->quantized, &nodes) != NUC_OK)
        fail_msg("%s", nuc_compiler_message(f->c));
    assert_int_equal(nodes->n_nodes, 2);
    return nodes;
}

static void renamed_nodes(void **state)
{
    struct flow f = {.c = new_compiler(true)};
    const struct nuc_node_evaluation *nodes = evaluate_nodes(&f, make_renamed);

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

/* A layer whose outputs have a large mean, which its weights lose where they are quantized, and the norm of these. */
static struct nuc_graph *normed_layer(struct nuc_context *cx, bool is_quantized)
{
    static const float means[] = {5.25f, 6.75f, 7.5f};
    float weights[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 9, 12, 11};
    struct nuc_graph *g = parse_quantized(
        cx, is_quantized
                ? "%w = parameter : float32[4, 3]\n%x = input : float32[1, 3] ! 0.125\n"
                  "%y = aten.linear.default(%dx, %w) ! 0.25\n%n = aten.layer_norm.default(%dy, [4]) ! 0.015625\n"
                : "%w = parameter : float32[4, 3]\n%x = input : float32[1, 3]\n"
                  "%y = aten.linear.default(%x, %w)\n%n = aten.layer_norm.default(%y, [4])\n");
    struct nuc_node *w = node_of(g, "w");

    for (size_t i = 0; i < sizeof weights / sizeof *weights && is_quantized; i++)
        weights[i] -= means[i % 3];
    w->data = nuc_dense_data(g->cx, &w->vals[0], nuc_copy(g->cx, weights, sizeof weights));
    set_calls(g, "y", "layer", "layer");
    set_calls(g, "n", "norm", "norm");
    struct nuc_source source = *node_of(g, "y")->source;
    source.is_centred = is_quantized;
    node_of(g, "y")->source = nuc_copy(g->cx, &source, sizeof source);
    return g;
}

static void make_centred(struct nuc_context *cx, void *arg)
{
    char path[] = "/tmp/nucleon-evaluate-XXXXXX.pt2";
    struct flow *f = arg;

    f->reference = nuc_model_make(f->c, normed_layer(cx, false));
    make_temporary(path, 4);
    assert_int_equal(nuc_model_write(nuc_model_make(f->c, normed_layer(cx, true)), path), NUC_OK);
    assert_int_equal(nuc_model_open(f->c, path, &f->quantized), NUC_OK);
    unlink(path);
    open_program(f, nuc_advance(f->quantized, NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER));
}

/* Rows that lost their mean are compared with such rows of the float model. */
static void centred_rows(void **state)
{
    struct flow f = {.c = new_compiler(true)};
    const struct nuc_node_evaluation *nodes = evaluate_nodes(&f, make_centred);

    for (size_t i = 0; i < nodes->n_nodes; i++) {
        assert_false(nodes->nodes[i].is_rescaled);
        assert_true(nodes->nodes[i].float_program.sqnr_db > 30);
    }
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
    static const struct trial t = {
        .reference = SOFTMAX, .label = "label", .dtype = NUC_I64, .sizes = {N}, .rank = 1, .values = {1, 0}};
    struct files files = {.data = "/tmp/nucleon-evaluate-XXXXXX.npz",
                          .reference = "/tmp/nucleon-evaluate-XXXXXX.pt2",
                          .shard = "/tmp/nucleon-evaluate-XXXXXX.json"};
    struct flow f = {.t = &t, .c = new_compiler(false)};

    assert_int_equal(nuc_try(f.c->cx, make_program, &f), NUC_OK);
    write_data(&f, files.data);
    make_temporary(files.reference, 4);
    make_temporary(files.shard, 5);
    assert_int_equal(nuc_model_write(f.reference, files.reference), NUC_OK);
    files.program = nuc_runner_image(f.program, &files.size);
    assert_true(run_out_of_memory(evaluate_files, &files, 0, NUC_OK) > 0);
    unlink(files.data);
    unlink(files.reference);
    unlink(files.shard);
    nuc_compiler_free(f.c);
}

static const char *const keys[] = {"logits", NULL, "out0", "../up", "a/b"};

static void make_named(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;
    struct nuc_graph *g = parse_quantized(cx, X "%a = aten.neg.default(%x); %b = aten.abs.default(%x)\n"
                                                "%output = output([%a, %b, %a, %b, %a])\n");

    g->output_names = keys;
    struct nuc_model *m = nuc_model_make(f->c, g);
    nuc_note_imported(m);
    m = nuc_advance(m, NUC_STAGE_ATEN_PASSES, NUC_STAGE_ATEN_PASSES);
    open_program(f, nuc_advance(m, NUC_STAGE_DIM_ORDER, NUC_STAGE_LOWER));
}

/* No number of another output, no path that leads out of an archive. */
static void outputs_have_the_keys_of_the_model(void **state)
{
    static const char *const expected[] = {"logits", "out1", "out2", "out3", "a/b"};
    struct flow f = {.c = new_compiler(false)};
    struct nuc_tensor_info t;

    assert_int_equal(nuc_try(f.c->cx, make_named, &f), NUC_OK);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(nuc_runner_output(f.program, i, &t), NUC_OK);
        assert_string_equal(t.name, expected[i]);
    }
    nuc_compiler_free(f.c);
}

RUN_TESTS(TEXT_TEST("cases/evaluations.txt", check_evaluations, NULL), cmocka_unit_test(renamed_nodes),
          cmocka_unit_test(centred_rows), cmocka_unit_test(outputs_have_the_keys_of_the_model),
          cmocka_unit_test(out_of_memory))
