/* The compiler as a library, on the digits network: determinism, misuse, and memory that runs out at every point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "nucleon/compile.h"

#define MODEL NUCLEON_EXAMPLES "/digits/digits.pt2"
#define SAMPLES NUCLEON_EXAMPLES "/digits/calibration.npz"

struct budget {
    long live;    /* blocks not freed */
    long allowed; /* allocations left before one fails; negative: no limit */
};

static void *budgeted(void *user, void *block, size_t size)
{
    struct budget *b = user;

    if (size == 0) {
        b->live -= block != NULL;
        free(block);
        return NULL;
    }
    if (b->allowed == 0)
        return NULL;
    b->allowed -= b->allowed > 0;
    b->live++;
    return malloc(size);
}

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

static void memory_may_run_out_anywhere(void **state)
{
    char *output = temporary_name();
    enum nuc_status s = NUC_NO_MEMORY;
    struct nuc_options o;
    long n = 0;

    (void)state;
    nuc_options_default(&o);
    o.threads = 1;
    for (; s == NUC_NO_MEMORY; n++) {
        struct budget b = {0, n};
        struct nuc_memory_hooks hooks = {budgeted, &b};
        struct nuc_compiler *c = nuc_compiler_new(&o, &hooks);
        if (c != NULL) {
            s = nuc_compile_file(c, MODEL, SAMPLES, output);
            if (s != NUC_OK)
                assert_non_null(strstr(nuc_compiler_message(c), "memory"));
            nuc_compiler_free(c);
        }
        assert_int_equal(b.live, 0);
    }
    assert_int_equal(s, NUC_OK);
    assert_true(n > 10);
    unlink(output);
    free(output);
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

    (void)state;
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

static void misuse_is_told(void **state)
{
    struct nuc_options o;
    struct nuc_model *model, *other;
    struct nuc_node_info node;
    struct nuc_tensor_info tensor;
    struct nuc_program_report report;
    const uint8_t *bytes;
    size_t size;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(same_input_same_bytes),
        cmocka_unit_test(misuse_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
