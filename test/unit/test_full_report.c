/* Reports: pictures, figures against those of other calls, and what they do when memory runs out. */
#include <math.h>
#include <png.h>

#include "contexts.h"
#include "driver/driver.h"
#include "failing_memory.h"
#include "nucleon/runner.h"
#include "tools/report/full_report.h"
#include "tools/report/png_write.h"

#define DIGITS NUCLEON_EXAMPLES "/digits/"

/* ---- pictures ---- */

struct size {
    uint32_t width, height, channels;
};

static const struct size sizes[] = {{1, 1, 1},   {1, 1, 3},     {7, 5, 1},     {5, 7, 3},
                                    {64, 64, 3}, {300, 100, 3}, {256, 255, 1}, {1024, 1, 1}};

static size_t decode_base64(const char *text, uint8_t *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;
    uint32_t bits = 0;
    int held = 0;

    for (; *text != '\0' && *text != '='; text++) {
        const char *digit = strchr(digits, *text);
        assert_non_null(digit);
        bits = bits << 6 | (uint32_t)(digit - digits);
        held += 6;
        if (held >= 8)
            out[n++] = (uint8_t)(bits >> (held -= 8));
    }
    return n;
}

/* libpng, which checks every sum, reads the same pixels. */
static void check_picture(struct nuc_context *cx, void *row)
{
    const struct size *s = row;
    size_t n = (size_t)s->width * s->height * s->channels;
    uint8_t *pixels = nuc_alloc(cx, n), *read = nuc_alloc(cx, n);
    png_image image = {.version = PNG_IMAGE_VERSION};

    for (size_t i = 0; i < n; i++)
        pixels[i] = (uint8_t)(i * 31 + i / 7);
    const char *url = nuc_png_data_url(cx, pixels, s->width, s->height, s->channels), *head = "data:image/png;base64,";
    assert_memory_equal(url, head, strlen(head));
    assert_int_equal((strlen(url) - strlen(head)) % 4, 0);
    uint8_t *file = nuc_alloc(cx, strlen(url));
    size_t size = decode_base64(url + strlen(head), file);
    assert_true(png_image_begin_read_from_memory(&image, file, size));
    assert_int_equal(image.width, s->width);
    assert_int_equal(image.height, s->height);
    image.format = s->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    assert_true(png_image_finish_read(&image, NULL, read, 0, NULL));
    assert_memory_equal(read, pixels, n);
}

/* ---- figures ---- */

struct opened {
    struct nuc_compiler *c;
    struct nuc_report *r;
};

static struct opened report_of(const char *model, struct nuc_options *o, const struct nuc_report_options *options)
{
    struct opened t = {.c = nuc_compiler_new(o, NULL)};
    struct nuc_model *m;

    assert_non_null(t.c);
    enum nuc_status status = nuc_model_open(t.c, model, &m);
    if (status == NUC_OK)
        status = nuc_report_make(m, options, &t.r);
    if (status != NUC_OK)
        print_error("%s\n", nuc_compiler_message(t.c));
    assert_int_equal(status, NUC_OK);
    return t;
}

static json_int_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void check_ids(const json_t *list, size_t n)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        assert_true((size_t)json_integer_value(json_array_get(list, i)) < n);
}

/* Every reference is to something, edges go forwards, labels are unique, operators are those of the summary. */
static void check_nodes(const json_t *tree)
{
    const json_t *nodes = json_object_get(tree, "nodes"), *summary = json_object_get(tree, "summary");
    size_t n = json_array_size(nodes), n_operators = 0, n_on_npu = 0, i, k;
    json_int_t macs = 0;
    const json_t *node, *input;

    json_array_foreach(nodes, i, node)
    {
        assert_int_equal(number(node, "id"), i);
        json_array_foreach(json_object_get(node, "inputs"), k, input)
            assert_true((size_t)json_integer_value(input) < i);
        const char *where = json_string_value(json_object_get(node, "where"));
        bool counts = json_is_true(json_object_get(node, "counted"));
        n_operators += counts;
        n_on_npu += counts && strcmp(where, "npu") == 0;
        macs += number(node, "macs");
        for (k = 0; k < i && where != NULL; k++)
            assert_string_not_equal(json_string_value(json_object_get(node, "label")),
                                    json_string_value(json_object_get(json_array_get(nodes, k), "label")));
    }
    assert_true(n > 0);
    assert_int_equal(number(summary, "operators"), n_operators);
    assert_int_equal(number(summary, "on_npu"), n_on_npu);
    assert_int_equal(number(summary, "on_cpu"), n_operators - n_on_npu);
    assert_int_equal(number(summary, "cpu_int8") + number(summary, "cpu_int16") + number(summary, "cpu_integers") +
                         number(summary, "cpu_float"),
                     n_operators - n_on_npu);
    assert_int_equal(number(summary, "macs"), macs);
}

static void check_cycles(const json_t *tree)
{
    const json_t *summary = json_object_get(tree, "summary"), *item, *kernel;
    json_int_t instructions = 0, calls = 0;
    size_t i, k;

    json_array_foreach(json_object_get(tree, "instructions"), i, item)
    {
        instructions += number(item, "cycles");
        calls += strcmp(json_string_value(json_object_get(item, "where")), "npu") == 0 ? number(item, "cycles") : 0;
    }
    assert_int_equal(instructions, number(summary, "cycles"));
    assert_int_equal(calls, number(summary, "npu_cycles"));
    json_array_foreach(json_object_get(tree, "partitions"), i, item)
    {
        json_int_t cycles = number(item, "call_cycles");
        json_array_foreach(json_object_get(item, "kernels"), k, kernel)
        {
            cycles += number(kernel, "cycles");
            check_ids(json_object_get(kernel, "nodes"), json_array_size(json_object_get(tree, "nodes")));
        }
        assert_int_equal(cycles, number(item, "cycles"));
    }
}

/* Tensors lie in their pool and do not overlap while both live; most of them are of a node. */
static void check_memory(const json_t *tree)
{
    const json_t *pool, *a, *b;
    size_t i, k, l, n_named = 0, n = 0;

    json_array_foreach(json_object_get(tree, "memory"), i, pool)
    {
        const json_t *tensors = json_object_get(pool, "tensors");
        json_array_foreach(tensors, k, a)
        {
            n++;
            n_named += json_is_integer(json_object_get(a, "node"));
            assert_true(number(a, "address") + number(a, "bytes") <= number(pool, "bytes"));
            assert_true(number(a, "last") < number(pool, "steps"));
            json_array_foreach(tensors, l, b)
            {
                /* A result may lie over an input that is read for the last time: they share that step. */
                bool together = number(a, "first") < number(b, "last") && number(b, "first") < number(a, "last");
                bool apart = number(a, "address") + number(a, "bytes") <= number(b, "address") ||
                             number(b, "address") + number(b, "bytes") <= number(a, "address");
                assert_true(k == l || !together || apart);
            }
        }
    }
    assert_true(n > 0 && n_named * 10 >= n * 9);
}

static void check_figures(const char *model, const char *target)
{
    const struct nuc_report_options options = {.calibration = DIGITS "calibration.npz"};
    struct nuc_program_report program;
    struct nuc_options o;

    nuc_options_default(&o);
    o.target = target;
    struct opened t = report_of(model, &o, &options);
    check_nodes(t.r->tree);
    check_cycles(t.r->tree);
    check_memory(t.r->tree);
    assert_int_equal(nuc_program_report(t.c, &program), NUC_OK);
    const json_t *summary = json_object_get(t.r->tree, "summary");
    assert_int_equal(number(summary, "operators"), program.n_operators);
    assert_int_equal(number(summary, "on_npu"), program.n_operators_delegated);
    assert_int_equal(number(summary, "arena_bytes"), program.arena);
    assert_int_equal(number(summary, "program_bytes"), program.program);
    assert_int_equal(number(summary, "cycles"), program.cycles);
    assert_int_equal(number(summary, "npu_cycles"), program.npu_cycles);
    nuc_compiler_free(t.c);
}

static void test_figures(void **state)
{
    check_figures(DIGITS "digits.pt2", NULL);
    check_figures(DIGITS "digits.pt2", "imxrt700cm");
    check_figures(DIGITS "digits.pt2", "cortex-m33");
    check_figures(DIGITS "digits_unsupported.pt2", NULL);
}

/* ---- errors of nodes, against an evaluation node by node ---- */

static const struct nuc_node_evaluation *evaluate_nodes(struct nuc_compiler *c)
{
    const struct nuc_node_evaluation *nodes;
    const struct nuc_evaluation *e;
    struct nuc_model *m, *quantized, *partitioned, *lowered;
    struct nuc_dataset *samples;
    struct nuc_runner *runner;
    const uint8_t *bytes;
    size_t size;

    assert_int_equal(nuc_model_open(c, DIGITS "digits.pt2", &m), NUC_OK);
    assert_int_equal(nuc_dataset_open(c, DIGITS "calibration.npz", &samples), NUC_OK);
    assert_int_equal(nuc_quantize(m, samples, &quantized), NUC_OK);
    assert_int_equal(nuc_partition(quantized, &partitioned), NUC_OK);
    assert_int_equal(nuc_lower(partitioned, &lowered), NUC_OK);
    assert_int_equal(nuc_program(lowered, &bytes, &size), NUC_OK);
    assert_int_equal(nuc_runner_open_bytes(c, "digits", bytes, size, NULL, &runner), NUC_OK);
    assert_int_equal(nuc_evaluate(runner, samples, m, NULL, &e), NUC_OK);
    assert_int_equal(nuc_evaluate_nodes(runner, samples, m, quantized, &nodes), NUC_OK);
    nuc_runner_close(runner);
    return nodes;
}

/* Each of these errors is that of a node of the report. */
static void test_node_errors(void **state)
{
    const struct nuc_report_options options = {.calibration = DIGITS "calibration.npz"};
    struct nuc_options o;

    nuc_options_default(&o);
    struct opened t = report_of(DIGITS "digits.pt2", &o, &options);
    const struct nuc_node_evaluation *e = evaluate_nodes(t.c);
    assert_true(e->n_nodes > 10);
    for (size_t i = 0; i < e->n_nodes; i++) {
        double wanted = e->nodes[i].float_quantized.sqnr_db, nearest = HUGE_VAL;
        for (uint32_t k = 0; k < t.r->facts.n_nodes; k++)
            nearest = fmin(nearest, fabs(t.r->facts.nodes[k].sqnr_db - wanted));
        if (nearest > 1e-6)
            print_error("%s: no node of the report has %f dB\n", e->nodes[i].name, wanted);
        assert_true(nearest <= 1e-6);
    }
    /* What a node adds is less than what it has, but for what later rounding makes up for. */
    for (uint32_t k = 0; k < t.r->facts.n_nodes; k++)
        assert_false(t.r->facts.nodes[k].sqnr_own_db < t.r->facts.nodes[k].sqnr_db - 6);
    /* One error alone does the outputs less than all of them, and the last one what it does to itself. */
    size_t n_ranked = 0;
    struct nuc_output_quality worst;
    assert_true(nuc_network_quality(t.r->network, &worst));
    for (uint32_t k = 0; k < t.r->facts.n_nodes; k++) {
        const struct nuc_network_node *n = &t.r->facts.nodes[k];
        n_ranked += isnan(n->sqnr_output_db) ? 0 : 1;
        assert_false(n->sqnr_output_db < worst.sqnr_db - 3);
        if (strcmp(n->label, "softmax") == 0 && n->is_operator)
            assert_true(fabs(n->sqnr_output_db - n->sqnr_own_db) < 1);
        /* Its relu6 has the figures of both. */
        if (strcmp(n->label, "blocks.0.c1") == 0 && n->is_operator)
            assert_true(isnan(n->sqnr_db));
    }
    assert_true(n_ranked > 10);
    nuc_compiler_free(t.c);
}

/* ---- accuracy ---- */

static void test_evaluation(void **state)
{
    const struct nuc_report_options options = {.calibration = DIGITS "calibration.npz", .dataset = DIGITS "test.npz"};
    struct nuc_options o;
    size_t wrong = 0, i, k;
    const json_t *row, *count, *example;

    nuc_options_default(&o);
    struct opened t = report_of(DIGITS "digits.pt2", &o, &options);
    const json_t *evaluation = json_object_get(t.r->tree, "evaluation");
    const json_t *output = json_array_get(json_object_get(evaluation, "outputs"), 0);
    const json_t *program = json_object_get(json_object_get(output, "classes"), "program");
    json_int_t all = 0;
    json_array_foreach(json_object_get(program, "confusion"), i, row)
    {
        json_array_foreach(row, k, count)
        {
            all += json_integer_value(count);
            wrong += i != k ? (size_t)json_integer_value(count) : 0;
        }
    }
    assert_int_equal(all, 360);
    assert_int_equal(all - (json_int_t)wrong, number(program, "right"));
    json_array_foreach(json_object_get(evaluation, "confusions"), i, row) wrong -= (size_t)number(row, "count");
    assert_int_equal(wrong, 0);
    const json_t *examples = json_object_get(evaluation, "examples");
    assert_int_equal(json_array_size(examples), 24);
    bool right_before = false;
    json_array_foreach(examples, i, example)
    {
        bool right = number(example, "label") == number(example, "decision");
        assert_true(right || !right_before);
        right_before = right;
    }
    assert_true(right_before);
    nuc_compiler_free(t.c);
}

/* ---- failures ---- */

static enum nuc_status make_report(struct nuc_compiler *c)
{
    const struct nuc_report_options options = {.calibration = DIGITS "calibration.npz",
                                               .dataset = DIGITS "calibration.npz"};
    struct nuc_model *m;
    struct nuc_report *r;
    const char *text;
    enum nuc_status status = nuc_model_open(c, DIGITS "digits.pt2", &m);

    if (status == NUC_OK)
        status = nuc_report_make(m, &options, &r);
    return status == NUC_OK ? nuc_report_page(r, &text) : status;
}

/* A failure leaves the notes of the compiler with whom they were. */
static void test_failure(void **state)
{
    struct nuc_report_options options = {.compare = DIGITS "test.npz"};
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    struct nuc_report *r = NULL;
    struct nuc_model *m;

    assert_int_equal(nuc_model_open(c, DIGITS "digits.pt2", &m), NUC_OK);
    assert_int_equal(nuc_report_make(m, &options, &r), NUC_BAD_INPUT);
    assert_non_null(strstr(nuc_compiler_message(c), "is no report"));
    assert_null(r);
    assert_null(c->cx->warn);
    assert_int_equal(make_report(c), NUC_OK);
    nuc_compiler_free(c);
}

static enum nuc_status report_digits(struct failing_memory *m, void *arg)
{
    struct nuc_memory_hooks hooks = {failing_allocate, m};
    struct nuc_options o;

    nuc_options_default(&o);
    o.threads = 1;
    o.accuracy = NUC_ACCURACY_FAST;
    struct nuc_compiler *c = nuc_compiler_new(&o, &hooks);
    if (c == NULL)
        return NUC_NO_MEMORY;
    enum nuc_status status = make_report(c);
    nuc_compiler_free(c);
    return status;
}

static void test_memory_runs_out(void **state)
{
    run_short_of_memory(report_digits, NULL, 29, NUC_OK);
}

RUN_TESTS(ROW_TEST(check_picture, sizes), cmocka_unit_test(test_figures), cmocka_unit_test(test_node_errors),
          cmocka_unit_test(test_evaluation), cmocka_unit_test(test_failure), cmocka_unit_test(test_memory_runs_out))
