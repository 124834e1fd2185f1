/* Results as JSON: what each object has, elements of every type, and memory that runs out. */
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_memory.h"

#include "nucleon/json.h"

#define MODEL NUCLEON_EXAMPLES "/digits/digits.pt2"
#define SAMPLES NUCLEON_EXAMPLES "/digits/calibration.npz"

/* `text` is what the call wrote to. */
static json_t *parsed(enum nuc_status status, const char *const *text)
{
    assert_int_equal(status, NUC_OK);
    json_t *tree = json_loads(*text, 0, NULL);
    assert_true(json_is_object(tree));
    return tree;
}

static json_int_t number(const json_t *tree, const char *key)
{
    assert_true(json_is_integer(json_object_get(tree, key)));
    return json_integer_value(json_object_get(tree, key));
}

static void a_program_has_its_report(void **state)
{
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    struct nuc_program_report report;
    char path[] = "/tmp/nucleon_jsonXXXXXX";
    const char *text = NULL, *written;
    size_t bytes;
    struct stat st;

    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(nuc_program_json(c, &text), NUC_BAD_USAGE);
    assert_non_null(strstr(nuc_compiler_message(c), "no program"));
    assert_false(nuc_written_file(c, 0, &written, &bytes));
    assert_int_equal(nuc_compile_file(c, MODEL, SAMPLES, path), NUC_OK);
    assert_int_equal(nuc_program_report(c, &report), NUC_OK);
    json_t *tree = parsed(nuc_program_json(c, &text), &text);
    assert_int_equal(number(tree, "operators"), report.n_operators);
    assert_int_equal(number(tree, "on_npu") + number(tree, "on_cpu"), report.n_operators);
    assert_int_equal(number(tree, "arena_bytes"), report.arena);
    assert_int_equal(number(tree, "npu_cycles") + number(tree, "cpu_cycles"), number(tree, "cycles"));
    assert_true(json_is_null(json_object_get(tree, "strips")));
    const json_t *outputs = json_object_get(json_object_get(tree, "quantization"), "outputs");
    assert_int_equal(json_array_size(outputs), 1);
    assert_true(json_real_value(json_object_get(json_array_get(outputs, 0), "sqnr_db")) > 20);
    json_decref(tree);
    assert_true(nuc_written_file(c, 0, &written, &bytes));
    assert_string_equal(written, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, bytes);
    assert_false(nuc_written_file(c, 1, &written, &bytes));
    nuc_compiler_free(c);
    unlink(path);
}

/* A call that fails has written nothing, also by the list. */
static void failures_write_nothing(void **state)
{
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    const char *path;
    size_t bytes;

    assert_int_equal(nuc_compile_file(c, MODEL, SAMPLES, "/nowhere/x.pte"), NUC_IO);
    assert_false(nuc_written_file(c, 0, &path, &bytes));
    nuc_compiler_free(c);
}

static void elements_have_their_values(void **state)
{
    static const float floats[] = {0.1f, INFINITY, -INFINITY, NAN};
    static const int64_t wide[] = {INT64_MIN, INT64_MAX};
    static const int8_t bytes[] = {-128, 127};
    static const uint16_t halves[] = {0x3c00, 0xc000};
    const struct nuc_array_info arrays[] = {
        {.name = "f", .dtype = NUC_F32, .rank = 2, .sizes = {2, 2}, .data = floats, .bytes = sizeof floats},
        {.name = "w", .dtype = NUC_I64, .rank = 1, .sizes = {2}, .data = wide, .bytes = sizeof wide},
        {.name = "b", .dtype = NUC_I8, .rank = 1, .sizes = {2}, .data = bytes, .bytes = sizeof bytes},
        {.name = "h", .dtype = NUC_F16, .rank = 1, .sizes = {2}, .data = halves, .bytes = sizeof halves},
        {.name = "none", .dtype = NUC_F32, .rank = 1, .sizes = {0}, .data = floats, .bytes = 0},
        {.name = "\xff", .dtype = NUC_F32, .rank = 0, .data = floats, .bytes = 4},
    };
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    const char *text = NULL;

    json_t *tree = parsed(nuc_arrays_json(c, arrays, 6, true, &text), &text);
    const json_t *list = json_object_get(tree, "outputs");
#define VALUE(array, i) json_array_get(json_object_get(json_array_get(list, array), "values"), i)
    assert_true(json_real_value(VALUE(0, 0)) == (double)0.1f);
    assert_string_equal(json_string_value(VALUE(0, 1)), "Infinity");
    assert_string_equal(json_string_value(VALUE(0, 2)), "-Infinity");
    assert_string_equal(json_string_value(VALUE(0, 3)), "NaN");
    assert_true(json_integer_value(VALUE(1, 0)) == INT64_MIN && json_integer_value(VALUE(1, 1)) == INT64_MAX);
    assert_int_equal(json_integer_value(VALUE(2, 0)), -128);
    assert_true(json_real_value(VALUE(3, 0)) == 1.0 && json_real_value(VALUE(3, 1)) == -2.0);
    assert_null(VALUE(4, 0));
#undef VALUE
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 5), "name")), "\\xff");
    json_decref(tree);
    tree = parsed(nuc_arrays_json(c, arrays, 1, false, &text), &text);
    assert_null(json_object_get(json_array_get(json_object_get(tree, "outputs"), 0), "values"));
    json_decref(tree);
    nuc_compiler_free(c);
}

static void lists_are_whole(void **state)
{
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    const char *text = NULL, *plain = NULL;

    json_t *tree = parsed(nuc_targets_json(c, &text), &text);
    assert_int_equal(nuc_list_targets(c, &plain), NUC_OK);
    const json_t *list = json_object_get(tree, "targets");
    assert_true(json_array_size(list) >= 3);
    for (size_t i = 0; i < json_array_size(list); i++)
        assert_non_null(strstr(plain, json_string_value(json_object_get(json_array_get(list, i), "name"))));
    json_decref(tree);
    tree = parsed(nuc_operators_json(c, &text), &text);
    assert_int_equal(nuc_list_operators(c, false, &plain), NUC_OK);
    list = json_object_get(tree, "archive_operators");
    assert_int_equal(json_array_size(list), strtol(plain, NULL, 10)); /* "271 operators of ..." */
    json_decref(tree);
    nuc_compiler_free(c);
}

RUN_TESTS(cmocka_unit_test(a_program_has_its_report), cmocka_unit_test(failures_write_nothing),
          cmocka_unit_test(elements_have_their_values), cmocka_unit_test(lists_are_whole))
