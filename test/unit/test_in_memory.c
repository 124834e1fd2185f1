/* Models and data in memory: the same bytes and figures as from files, and what callers get wrong. */
#include "failing_memory.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "front/pt2/pt2_write.h"
#include "host/file.h"
#include "nucleon/json.h"
#include "nucleon/options.h"
#include "nucleon/report.h"
#include "nucleon/tune.h"
#include "unit/quantized_text.h"

#define MODEL NUCLEON_EXAMPLES "/digits/digits.pt2"
#define SAMPLES NUCLEON_EXAMPLES "/digits/calibration.npz"

struct bytes {
    uint8_t *data;
    size_t size;
};

static struct bytes read_whole(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct bytes b;

    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    b.size = (size_t)ftell(f);
    b.data = malloc(b.size + 1);
    assert_non_null(b.data);
    rewind(f);
    assert_int_equal(fread(b.data, 1, b.size, f), b.size);
    fclose(f);
    return b;
}

static struct nuc_compiler *new_compiler(void)
{
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);

    assert_non_null(c);
    assert_int_equal(nuc_option_set(c, "accuracy", "fast"), NUC_OK);
    assert_int_equal(nuc_option_set(c, "threads", "1"), NUC_OK);
    return c;
}

/* The first eight samples, in memory that is the test's. */
static struct nuc_array_info some_samples(struct nuc_compiler *c)
{
    struct nuc_dataset *d;
    struct nuc_array_info a;

    assert_int_equal(nuc_dataset_open(c, SAMPLES, &d), NUC_OK);
    assert_int_equal(nuc_dataset_n_arrays(d), 1);
    assert_int_equal(nuc_dataset_array(d, 0, &a), NUC_OK);
    a.bytes = a.bytes / (size_t)a.sizes[0] * 8;
    a.sizes[0] = 8;
    return a;
}

static void assert_file_equal(const char *path, const uint8_t *bytes, size_t size)
{
    struct bytes file = read_whole(path);

    assert_int_equal(file.size, size);
    assert_memory_equal(file.data, bytes, size);
    free(file.data);
}

/* At an odd address, too, and by a data set that is used again. */
static void memory_gives_the_bytes_of_files(void **state)
{
    char samples[] = "/tmp/nucleon-test-XXXXXX.npz", program[] = "/tmp/nucleon-test-XXXXXX.pte";
    struct nuc_compiler *c = new_compiler();
    struct nuc_array_info a = some_samples(c);
    struct bytes model = read_whole(MODEL);
    struct nuc_dataset *d;
    struct nuc_model *m;
    const uint8_t *bytes;
    const char *text;
    size_t size;

    close(mkstemps(samples, 4));
    close(mkstemps(program, 4));
    assert_int_equal(nuc_write_arrays(c, samples, &a, 1), NUC_OK);
    memmove(model.data + 1, model.data, model.size);
    assert_int_equal(nuc_model_open_bytes(c, MODEL, model.data + 1, model.size, &m), NUC_OK);
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &a, 1, &d), NUC_OK);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(nuc_compile_to_memory(m, d, &bytes, &size), NUC_OK);
        assert_int_equal(nuc_compile_file(c, MODEL, samples, program), NUC_OK);
        assert_file_equal(program, bytes, size);
        assert_int_equal(nuc_quantize_to_memory(m, d, &bytes, &size), NUC_OK);
        assert_int_equal(nuc_quantize_file(c, MODEL, samples, program), NUC_OK);
        assert_file_equal(program, bytes, size);
    }
    /* What came of memory goes on in memory. */
    assert_int_equal(nuc_inspect_bytes(c, "quantized.pt2", bytes, size, NUC_INSPECT_TEXT, false, &text), NUC_OK);
    assert_non_null(strstr(text, "quantize_per_tensor"));
    assert_int_equal(nuc_model_open_bytes(c, "quantized.pt2", bytes, size, &m), NUC_OK);
    assert_int_equal(nuc_compile_to_memory(m, NULL, &bytes, &size), NUC_OK);
    assert_int_equal(nuc_inspect_bytes(c, "digits.pte", bytes, size, NUC_INSPECT_TEXT, false, &text), NUC_OK);
    nuc_compiler_free(c);
    free(model.data);
    unlink(samples);
    unlink(program);
}

/* Averages that get their parameters from a pass: they become operators of the NPU from a file, too. */
static void averages_of_archives_are_the_same_from_files(void **state)
{
    static const char *const networks[] = {
        "%x = input : float32[1, 8, 6, 9] ! 0.0625, 5\n%y = aten.adaptive_avg_pool2d.default(%dx, [1, 1])\n"
        "%z = aten.flatten.using_ints(%y, 1) ! 0.01, -3",
        "%x = input : float32[1, 8, 6, 9] ! 0.0625, 5\n%y = aten.avg_pool2d.default(%dx, [3, 3])\n"
        "%z = aten.reshape.default(%y, [1, 48]) ! 0.01, -3",
        "%x = input : float32[1, 8, 6, 9] ! 0.0625, 130, 0, 255, uint8\n"
        "%y = aten.mean.dim(%dx, [2, 3]) ! 0.01, 125, 0, 255, uint8",
    };
    char archive[] = "/tmp/nucleon-test-XXXXXX.pt2", program[] = "/tmp/nucleon-test-XXXXXX.pte";

    (void)state;
    close(mkstemps(archive, 4));
    close(mkstemps(program, 4));
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct nuc_compiler *c = new_compiler();
        struct nuc_program_report report;
        struct nuc_model *m;
        const uint8_t *bytes;
        size_t size;
        struct nuc_pieces pieces = nuc_write_pt2(parse_quantized(cx, networks[i]));
        nuc_write_pieces(cx, archive, &pieces);
        assert_int_equal(nuc_model_open(c, archive, &m), NUC_OK);
        assert_int_equal(nuc_compile_to_memory(m, NULL, &bytes, &size), NUC_OK);
        assert_int_equal(nuc_compile_file(c, archive, NULL, program), NUC_OK);
        assert_file_equal(program, bytes, size);
        assert_int_equal(nuc_program_report(c, &report), NUC_OK);
        assert_int_equal(report.n_operators_delegated, report.n_operators);
        nuc_compiler_free(c);
        nuc_context_free(cx);
    }
    unlink(archive);
    unlink(program);
}

/* The same numbers in another type: those of the samples are sixteenths up to 1, which all of them have. */
static void other_float_types_stand_for_float(void **state)
{
    struct nuc_compiler *c = new_compiler();
    struct nuc_array_info real = some_samples(c), a = real;
    size_t n = real.bytes / sizeof(float), size, other_size;
    const float *x = real.data;
    uint16_t *half = malloc(n * sizeof *half), *brain = malloc(n * sizeof *brain);
    double *wide = malloc(n * sizeof *wide);
    const void *const data[] = {half, brain, wide};
    const enum nuc_dtype types[] = {NUC_F16, NUC_BF16, NUC_F64};
    const uint8_t *bytes, *others;
    struct nuc_dataset *d;
    struct nuc_model *m;

    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        half[i] = bits == 0 ? 0 : (uint16_t)(((bits >> 23) - 112) << 10 | (bits >> 13 & 1023));
        brain[i] = (uint16_t)(bits >> 16);
        wide[i] = (double)x[i];
    }
    assert_int_equal(nuc_model_open(c, MODEL, &m), NUC_OK);
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &real, 1, &d), NUC_OK);
    assert_int_equal(nuc_compile_to_memory(m, d, &bytes, &size), NUC_OK);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        a.dtype = types[i];
        a.data = data[i];
        a.bytes = n * nuc_dtype_size(types[i]);
        assert_int_equal(nuc_dataset_of_arrays(c, NULL, &a, 1, &d), NUC_OK);
        assert_int_equal(nuc_compile_to_memory(m, d, &others, &other_size), NUC_OK);
        assert_int_equal(other_size, size);
        assert_memory_equal(others, bytes, size);
    }
    /* Integers are in a unit that only the caller knows. */
    a.dtype = NUC_U8;
    a.bytes = n;
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &a, 1, &d), NUC_OK);
    assert_int_equal(nuc_compile_to_memory(m, d, &others, &other_size), NUC_BAD_INPUT);
    free(half);
    free(brain);
    free(wide);
    nuc_compiler_free(c);
}

/* Whatever samples ran before one that is refused: the model has seen none of them. */
static void a_calibration_that_failed_is_begun_anew(void **state)
{
    struct nuc_compiler *c = new_compiler();
    struct nuc_array_info a = some_samples(c);
    float *changed = malloc(a.bytes);
    struct nuc_dataset *good, *bad;
    struct nuc_observer_info seen[2];
    struct nuc_model *m, *prepared, *quantized;

    memcpy(changed, a.data, a.bytes);
    for (size_t i = 0; i < a.bytes / sizeof *changed; i++)
        changed[i] *= 3;
    changed[a.bytes / sizeof *changed - 1] = NAN;
    assert_int_equal(nuc_option_set(c, "threads", "2"), NUC_OK);
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &a, 1, &good), NUC_OK);
    a.data = changed;
    assert_int_equal(nuc_dataset_of_arrays(c, "bad", &a, 1, &bad), NUC_OK);
    for (int after = 0; after < 2; after++) {
        assert_int_equal(nuc_model_open(c, MODEL, &m), NUC_OK);
        assert_int_equal(nuc_prepare(m, &prepared), NUC_OK);
        if (after != 0) {
            assert_int_equal(nuc_calibrate(prepared, bad), NUC_BAD_INPUT);
            assert_non_null(strstr(nuc_compiler_message(c), "sample 7 of bad"));
            assert_int_equal(nuc_convert(prepared, &quantized), NUC_BAD_USAGE);
            assert_non_null(strstr(nuc_compiler_message(c), "calibrate it again"));
        }
        assert_int_equal(nuc_calibrate(prepared, good), NUC_OK);
        assert_int_equal(nuc_model_observer(prepared, 0, &seen[after]), NUC_OK);
    }
    assert_memory_equal(seen[0].scales, seen[1].scales, sizeof *seen[0].scales);
    nuc_compiler_free(c);
    free(changed);
}

static void reports_and_trials_take_data_in_memory(void **state)
{
    char samples[] = "/tmp/nucleon-test-XXXXXX.npz";
    struct nuc_compiler *c = new_compiler();
    struct nuc_array_info a = some_samples(c);
    struct nuc_report_options by_path = {.calibration = samples}, by_data = {.calibration = NULL};
    struct nuc_report *r;
    struct nuc_dataset *d;
    struct nuc_model *m;
    const char *one, *two;

    close(mkstemps(samples, 4));
    assert_int_equal(nuc_write_arrays(c, samples, &a, 1), NUC_OK);
    assert_int_equal(nuc_model_open(c, MODEL, &m), NUC_OK);
    /* The data set stands in messages under its name. */
    assert_int_equal(nuc_dataset_of_arrays(c, samples, &a, 1, &d), NUC_OK);
    by_data.calibration_data = by_data.dataset_data = d;
    by_path.dataset = samples;
    assert_int_equal(nuc_report_make(m, &by_path, &r), NUC_OK);
    assert_int_equal(nuc_report_json(r, &one), NUC_OK);
    assert_int_equal(nuc_report_make(m, &by_data, &r), NUC_OK);
    assert_int_equal(nuc_report_json(r, &two), NUC_OK);
    assert_string_equal(one, two);
    nuc_compiler_free(c);
    unlink(samples);
}

static void tuning_takes_data_in_memory(void **state)
{
    char samples[] = "/tmp/nucleon-test-XXXXXX.npz";
    struct nuc_compiler *c = new_compiler();
    struct nuc_array_info a = some_samples(c);
    /* All but the observer are held. */
    static const char *const held[] = {"--accuracy",
                                       "--placement",
                                       "--dim-order",
                                       "--weights",
                                       "--no-bias-correction",
                                       "--preserve-ops",
                                       "--target",
                                       "--plan-delegate-scratch",
                                       "--fetch-constants-to-sram",
                                       "--observer"};
    struct nuc_tune_options o = {.goal = NUC_GOAL_SQNR, .held = held, .n_held = sizeof held / sizeof held[0]};
    struct nuc_tune_result one, two;
    const char *text;
    struct nuc_dataset *d;
    struct nuc_model *m;

    close(mkstemps(samples, 4));
    assert_int_equal(nuc_write_arrays(c, samples, &a, 1), NUC_OK);
    assert_int_equal(nuc_model_open(c, MODEL, &m), NUC_OK);
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &a, 1, &d), NUC_OK);
    assert_int_equal(nuc_tune(m, samples, &o, &one), NUC_OK);
    o.calibration_data = d;
    assert_int_equal(nuc_tune(m, NULL, &o, &two), NUC_OK);
    assert_int_equal(nuc_tune_json(c, &two, NULL, NULL, &text), NUC_OK);
    assert_non_null(strstr(text, "\"command\": null"));
    assert_int_equal(one.n_trials, two.n_trials);
    assert_int_equal(one.n_calibration, 6);
    assert_int_equal(two.n_calibration, 6);
    for (size_t i = 0; i < one.n_trials; i++) {
        assert_memory_equal(&one.trials[i].sqnr, &two.trials[i].sqnr, sizeof one.trials[i].sqnr);
        assert_int_equal(one.trials[i].cycles, two.trials[i].cycles);
    }
    nuc_compiler_free(c);
    unlink(samples);
}

static void misuse_is_reported(void **state)
{
    static const float values[4];
    struct nuc_compiler *c = new_compiler(), *other = new_compiler();
    struct nuc_array_info good = {"x", NUC_F32, 2, {2, 2}, values, sizeof values}, bad, two[2] = {good, good};
    struct nuc_dataset *d = NULL;
    struct nuc_model *m = NULL;
    const uint8_t *bytes;
    size_t size;

    assert_int_equal(nuc_model_open_bytes(c, "x.pt2", NULL, 0, &m), NUC_BAD_USAGE);
    assert_int_equal(nuc_model_open_bytes(c, "x.pt2", values, 0, &m), NUC_BAD_INPUT);
    assert_non_null(strstr(nuc_compiler_message(c), "x.pt2: is empty"));
    assert_int_equal(nuc_model_open_bytes(c, "x.pt2", values, sizeof values, &m), NUC_BAD_INPUT);
    assert_null(m);
    bad = good;
    bad.bytes--;
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &bad, 1, &d), NUC_BAD_USAGE);
    bad = good;
    bad.sizes[0] = -2;
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &bad, 1, &d), NUC_BAD_USAGE);
    bad = good;
    bad.sizes[0] = INT64_MAX;
    bad.sizes[1] = INT64_MAX;
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &bad, 1, &d), NUC_BAD_USAGE);
    bad = good;
    bad.rank = NUC_MAX_RANK + 1;
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &bad, 1, &d), NUC_BAD_USAGE);
    bad = good;
    bad.data = NULL;
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &bad, 1, &d), NUC_BAD_USAGE);
    bad = good;
    bad.dtype = NUC_DTYPE_COUNT;
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &bad, 1, &d), NUC_BAD_USAGE);
    bad = good;
    bad.name = "";
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, &bad, 1, &d), NUC_BAD_USAGE);
    assert_int_equal(nuc_dataset_of_arrays(c, NULL, two, 2, &d), NUC_BAD_USAGE);
    assert_non_null(strstr(nuc_compiler_message(c), "two arrays are called 'x'"));
    assert_null(d);
    /* A data set of another compiler, and none at all. */
    assert_int_equal(nuc_dataset_of_arrays(other, NULL, &good, 1, &d), NUC_OK);
    assert_int_equal(nuc_model_open(c, MODEL, &m), NUC_OK);
    assert_int_equal(nuc_compile_to_memory(m, d, &bytes, &size), NUC_BAD_USAGE);
    assert_int_equal(nuc_compile_to_memory(m, NULL, &bytes, &size), NUC_BAD_USAGE);
    assert_int_equal(nuc_quantize_to_memory(m, NULL, &bytes, &size), NUC_BAD_USAGE);
    nuc_compiler_free(c);
    nuc_compiler_free(other);
}

struct job {
    struct bytes model;
    struct nuc_array_info samples;
};

static enum nuc_status compile_in_memory(struct failing_memory *memory, void *arg)
{
    const struct job *job = arg;
    struct nuc_memory_hooks hooks = {failing_allocate, memory};
    struct nuc_compiler *c = nuc_compiler_new(NULL, &hooks);
    struct nuc_dataset *d;
    struct nuc_model *m;
    const uint8_t *bytes;
    size_t size;

    if (c == NULL)
        return NUC_NO_MEMORY;
    enum nuc_status status = nuc_option_set(c, "threads", "1");
    if (status == NUC_OK)
        status = nuc_option_set(c, "operators-not-to-delegate", "add,nothing-*");
    if (status == NUC_OK)
        status = nuc_option_set(c, "operators_not_to_delegate", "");
    if (status == NUC_OK)
        status = nuc_model_open_bytes(c, "digits.pt2", job->model.data, job->model.size, &m);
    if (status == NUC_OK)
        status = nuc_dataset_of_arrays(c, "samples", &job->samples, 1, &d);
    if (status == NUC_OK)
        status = nuc_compile_to_memory(m, d, &bytes, &size);
    nuc_compiler_free(c);
    return status;
}

static void memory_may_run_out(void **state)
{
    struct nuc_compiler *c = new_compiler();
    struct job job = {read_whole(MODEL), some_samples(c)};

    run_short_of_memory(compile_in_memory, &job, 8, NUC_OK);
    free(job.model.data);
    nuc_compiler_free(c);
}

/* Where the command line would end, a library's caller is told. */
static void readers_may_go_away(void **state)
{
    static uint8_t values[1 << 20]; /* more than a pipe holds, and not to be deflated */
    struct nuc_array_info a = {"x", NUC_U8, 1, {sizeof values}, values, sizeof values};
    char path[] = "/tmp/nucleon-test-XXXXXX";
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    uint32_t seed = 1;

    for (size_t i = 0; i < sizeof values; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = (uint8_t)(seed >> 24);
    }
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t reader = fork();
    if (reader == 0) {
        char byte;
        int fd = open(path, O_RDONLY);
        _exit(read(fd, &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(nuc_write_arrays(c, path, &a, 1), NUC_IO);
    assert_non_null(strstr(nuc_compiler_message(c), "Broken pipe"));
    int ended;
    assert_int_equal(waitpid(reader, &ended, 0), reader);
    assert_int_equal(ended, 0);
    unlink(path);
    nuc_compiler_free(c);
}

RUN_TESTS(cmocka_unit_test(memory_gives_the_bytes_of_files),
          cmocka_unit_test(averages_of_archives_are_the_same_from_files),
          cmocka_unit_test(other_float_types_stand_for_float), cmocka_unit_test(reports_and_trials_take_data_in_memory),
          cmocka_unit_test(a_calibration_that_failed_is_begun_anew), cmocka_unit_test(tuning_takes_data_in_memory),
          cmocka_unit_test(misuse_is_reported), cmocka_unit_test(memory_may_run_out),
          cmocka_unit_test(readers_may_go_away))
