/* The compiler as a library, on the digits network: determinism, misuse, and memory that runs out at every point. */
#include "failing_memory.h"

#include "nucleon/compile.h"
#include "rewrite/passes.h"

#define MODEL NUCLEON_EXAMPLES "/digits/digits.pt2"
#define SAMPLES NUCLEON_EXAMPLES "/digits/calibration.npz"

static char *temporary_name(void)
{
    static const char template[] = "/tmp/nucleon-test-XXXXXX";
    char *name = malloc(sizeof template);

    assert_non_null(name);
    memcpy(name, template, sizeof template);
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    close(fd);
    return name;
}

struct compilation {
    struct nuc_options options;
    const char *output;
};

static enum nuc_status compile_digits(struct failing_memory *m, void *arg)
{
    const struct compilation *w = arg;
    struct nuc_memory_hooks hooks = {failing_allocate, m};
    struct nuc_compiler *c = nuc_compiler_new(&w->options, &hooks);

    if (c == NULL)
        return NUC_NO_MEMORY;
    enum nuc_status status = nuc_compile_file(c, MODEL, SAMPLES, w->output);
    assert_true(status != NUC_NO_MEMORY || strstr(nuc_compiler_message(c), "memory") != NULL);
    nuc_compiler_free(c);
    return status;
}

/* Also where a partition is handed to another converter, in a temporary folder; this one writes nothing. */
static void memory_may_run_out_anywhere(void **state)
{
    char *output = temporary_name();
    struct compilation w = {.output = output};

    nuc_options_default(&w.options);
    w.options.threads = 1;
    assert_true(run_out_of_memory(compile_digits, &w, 0, NUC_OK) > 9);
    w.options.converter = "true";
    w.options.accuracy = NUC_ACCURACY_FAST;
    assert_true(run_out_of_memory(compile_digits, &w, 0, NUC_BAD_INPUT) > 9);
    unlink(output);
    free(output);
}

/* Where options are tried out, what fails for want of memory is no answer. */
static void memory_may_run_out_in_any_trial(void **state)
{
    char *output = temporary_name();
    struct compilation w = {.output = output};

    nuc_options_default(&w.options);
    w.options.threads = 1;
    w.options.dim_order = NUC_DIM_ORDER_AUTO;
    run_short_of_memory(compile_digits, &w, 4, NUC_OK);
    w.options.dim_order = NUC_DIM_ORDER_AS_IS;
    w.options.target = "imxrt700cm";
    run_short_of_memory(compile_digits, &w, 4, NUC_OK);
    unlink(output);
    free(output);
}

static enum nuc_status explain_digits(struct failing_memory *m, void *arg)
{
    const struct nuc_options *o = arg;
    struct nuc_memory_hooks hooks = {failing_allocate, m};
    struct nuc_compiler *c = nuc_compiler_new(o, &hooks);
    struct nuc_explain_result r;
    struct nuc_model *model;

    if (c == NULL)
        return NUC_NO_MEMORY;
    enum nuc_status status = nuc_model_open(c, MODEL, &model);
    if (status == NUC_OK)
        status = nuc_explain(model, NULL, &r);
    nuc_compiler_free(c);
    return status;
}

static void memory_may_run_out_in_explanations(void **state)
{
    struct nuc_options o;

    nuc_options_default(&o);
    o.threads = 1;
    run_short_of_memory(explain_digits, &o, 6, NUC_OK);
}

static void program_bytes(struct nuc_compiler *c, const uint8_t **bytes, size_t *size)
{
    struct nuc_model *model, *quantized, *partitioned, *lowered;
    struct nuc_dataset *samples;

    assert_int_equal(nuc_model_open(c, MODEL, &model), NUC_OK);
    assert_int_equal(nuc_dataset_open(c, SAMPLES, &samples), NUC_OK);
    assert_int_equal(nuc_quantize(model, samples, &quantized), NUC_OK);
    assert_int_equal(nuc_partition(quantized, &partitioned), NUC_OK);
    assert_int_equal(nuc_lower(partitioned, &lowered), NUC_OK);
    assert_int_equal(nuc_program(lowered, bytes, size), NUC_OK);
    /* No stage changes its input. */
    assert_false(nuc_model_is_quantized(model));
    assert_int_equal(nuc_model_n_partitions(partitioned), 0);
    assert_int_equal(nuc_model_n_partitions(lowered), 1);
}

static void same_input_same_bytes(void **state)
{
    struct nuc_options one_thread, two_threads;
    const uint8_t *first, *second, *third;
    size_t first_size, second_size, third_size;

    nuc_options_default(&one_thread);
    two_threads = one_thread;
    one_thread.threads = 1;
    two_threads.threads = 2;
    struct nuc_compiler *a = nuc_compiler_new(&one_thread, NULL), *b = nuc_compiler_new(&two_threads, NULL);
    program_bytes(a, &first, &first_size);
    program_bytes(a, &second, &second_size);
    program_bytes(b, &third, &third_size);
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
    assert_int_equal(first_size, third_size);
    assert_memory_equal(first, third, first_size);
    nuc_compiler_free(a);
    nuc_compiler_free(b);
}

/* ---- where graphs can be dumped ---- */

static void count_dump(void *user, const char *stage, const char *text)
{
    assert_non_null(strstr(text, "nucleon-graph 1"));
    assert_non_null(stage);
    ++*(int *)user;
}

/* Opens the model, which looks the options up. */
static enum nuc_status open_with_dump(const char *dump_after, int *dumps)
{
    struct nuc_options o;
    struct nuc_model *m;

    nuc_options_default(&o);
    o.dump_after = dump_after;
    o.dump = count_dump;
    o.dump_user = dumps;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    enum nuc_status status = nuc_model_open(c, MODEL, &m);
    nuc_compiler_free(c);
    return status;
}

static bool is_dump_point(const char *name)
{
    struct nuc_dump_point point;

    for (size_t i = 0; nuc_dump_point(i, &point); i++) {
        if (strcmp(point.name, name) == 0)
            return true;
    }
    return false;
}

static void every_pass_can_be_dumped(void **state)
{
    const struct nuc_pass_list *lists[] = {
        &nuc_aten_passes,    &nuc_norm_passes,  &nuc_written_passes, &nuc_int8_passes,    &nuc_quantized_passes,
        &nuc_order_passes,   &nuc_edge_passes,  &nuc_plain_passes,   &nuc_cluster_passes, &nuc_npu_passes,
        &nuc_lowered_passes, &nuc_float_passes, &nuc_archive_passes};
    struct nuc_dump_point point, other;
    size_t passes = 0, listed = 0;
    int dumps = 0;

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (uint32_t k = 0; k < lists[i]->count; k++, passes++) {
            if (!is_dump_point(nuc_pass_name(lists[i], k)))
                fail_msg("pass %s is not listed", nuc_pass_name(lists[i], k));
        }
    }
    for (size_t i = 0; nuc_dump_point(i, &point); i++) {
        listed += point.stage != NULL;
        assert_true(point.stage == NULL || is_dump_point(point.stage));
        for (size_t k = 0; k < i && nuc_dump_point(k, &other); k++)
            assert_string_not_equal(point.name, other.name);
        if (open_with_dump(point.name, &dumps) != NUC_OK)
            fail_msg("%s is listed but not accepted", point.name);
    }
    assert_int_equal(listed, passes);
    assert_int_equal(dumps, 2); /* of the graph as imported, and as expanded */
    assert_int_equal(open_with_dump("all", &dumps), NUC_OK);
    assert_int_equal(open_with_dump("fold-batch", &dumps), NUC_BAD_USAGE);
}

/* Where nodes end and which dim order is chosen takes trials of whole compilations, of which only figures stay. */
static void trials_leave_nothing(void **state)
{
    char *output = temporary_name();
    struct nuc_target_facts target;
    struct nuc_timing timings[64];
    struct nuc_options o;
    struct nuc_model *m;
    int dumps = 0;

    nuc_options_default(&o);
    o.target = "imxrt700cm";
    o.dim_order = NUC_DIM_ORDER_AUTO;
    o.threads = 1;
    o.dump_after = "partition";
    o.dump = count_dump;
    o.dump_user = &dumps;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    assert_int_equal(nuc_target_facts(c, &target), NUC_OK);
    assert_true(target.has_npu && target.has_int8_cpu);
    assert_int_equal(nuc_model_open(c, MODEL, &m), NUC_OK);
    assert_int_equal(nuc_compile_model(m, SAMPLES, output), NUC_OK);
    assert_string_equal(nuc_compiler_message(c), "");
    assert_non_null(strstr(nuc_dim_order_table(c), "* "));
    assert_int_equal(dumps, 1);
    size_t n = nuc_timings(c, timings, sizeof timings / sizeof timings[0]);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(timings[i].stage, timings[k].stage);
    }
    nuc_compiler_free(c);
    unlink(output);
    free(output);
}

struct interruption {
    struct nuc_compiler *c;
    size_t steps, at; /* that many steps of progress, and the one in which the caller has enough */
};

static void interrupt(void *user, const char *what, size_t done, size_t total)
{
    struct interruption *i = user;

    (void)what, (void)done, (void)total;
    if (i->steps++ == i->at)
        nuc_interrupt(i->c);
}

/* At each step, after which the compiler is as good as new. */
static void calls_may_be_interrupted(void **state)
{
    char *output = temporary_name();
    struct interruption i = {.at = 0};
    struct nuc_options o;
    const uint8_t *after, *whole;
    size_t size, whole_size, interrupted = 0;
    enum nuc_status status;

    nuc_options_default(&o);
    o.progress = interrupt;
    o.progress_user = &i;
    i.c = nuc_compiler_new(&o, NULL);
    unlink(output);
    nuc_interrupt(i.c); /* no call is under way */
    do {
        i.steps = 0;
        status = nuc_compile_file(i.c, MODEL, SAMPLES, output);
        if (status != NUC_OK) {
            assert_int_equal(status, NUC_INTERRUPTED);
            assert_string_equal(nuc_compiler_message(i.c), "interrupted");
            assert_int_not_equal(access(output, F_OK), 0);
            interrupted++;
        }
        i.at += 1 + i.at / 4;
    } while (status != NUC_OK);
    assert_true(interrupted > 9);
    i.at = SIZE_MAX;
    program_bytes(i.c, &after, &size);
    struct nuc_compiler *other = nuc_compiler_new(NULL, NULL);
    program_bytes(other, &whole, &whole_size);
    assert_int_equal(size, whole_size);
    assert_memory_equal(after, whole, size);
    nuc_compiler_free(other);
    nuc_compiler_free(i.c);
    unlink(output);
    free(output);
}

static void misuse_is_reported(void **state)
{
    struct nuc_options o;
    struct nuc_model *model, *other;
    struct nuc_node_info node;
    struct nuc_tensor_info tensor;
    struct nuc_program_report report;
    const uint8_t *bytes;
    size_t size;

    nuc_options_default(&o);
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    assert_int_equal(nuc_model_open(c, "/nonexistent.pt2", &model), NUC_IO);
    assert_non_null(strstr(nuc_compiler_message(c), "/nonexistent.pt2"));
    assert_int_equal(nuc_model_open(c, MODEL, &model), NUC_OK);
    assert_int_equal(nuc_convert(model, &other), NUC_BAD_USAGE);
    assert_int_equal(nuc_lower(model, &other), NUC_BAD_USAGE);
    assert_int_equal(nuc_program(model, &bytes, &size), NUC_BAD_USAGE);
    assert_int_equal(nuc_model_node(model, 100000, &node), NUC_BAD_USAGE);
    assert_int_equal(nuc_model_input(model, 1, &tensor), NUC_BAD_USAGE);
    assert_int_equal(nuc_model_output(model, 1, &tensor), NUC_BAD_USAGE);
    assert_int_equal(nuc_program_report(c, &report), NUC_BAD_USAGE);
    assert_int_equal(nuc_compile_file(c, MODEL, NULL, "/nonexistent/x.pte"), NUC_BAD_USAGE);
    assert_int_equal(nuc_compile_file(c, MODEL, SAMPLES, "/nonexistent/x.pte"), NUC_IO);
    nuc_compiler_free(c);
}

RUN_TESTS(cmocka_unit_test(memory_may_run_out_anywhere), cmocka_unit_test(memory_may_run_out_in_any_trial),
          cmocka_unit_test(memory_may_run_out_in_explanations), cmocka_unit_test(same_input_same_bytes),
          cmocka_unit_test(every_pass_can_be_dumped), cmocka_unit_test(trials_leave_nothing),
          cmocka_unit_test(calls_may_be_interrupted), cmocka_unit_test(misuse_is_reported))
