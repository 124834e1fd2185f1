/* Inputs and outputs of LiteRT models, in compiler, data sets and programs: the model's own sizes and order. */
#include "contexts.h"
#include "lt_boundaries.h"
#include "program_graphs.h"

#include <unistd.h>

#include "driver/driver.h"
#include "host/file.h"

#define N_INPUT 12
#define N_OUTPUT 8

/* x[1, 2, 3, 2] -> SLICE of the last two columns -> y[1, 2, 2, 2] */
static struct nuc_lt_model *slice_model(struct nuc_context *cx)
{
    static const int32_t begin[4] = {0, 0, 1, 0}, size[4] = {1, 2, 2, 2};
    const struct nuc_lt_tensor tensors[] = {
        {.name = "x", .dtype = NUC_F32, .rank = 4, .shape = {1, 2, 3, 2}},
        {.name = "y", .dtype = NUC_F32, .rank = 4, .shape = {1, 2, 2, 2}},
        {.name = "b", .dtype = NUC_I32, .rank = 1, .shape = {4}, .data = {(const uint8_t *)begin, sizeof begin}},
        {.name = "s", .dtype = NUC_I32, .rank = 1, .shape = {4}, .data = {(const uint8_t *)size, sizeof size}},
    };
    struct nuc_lt_model *m = nuc_lt_model_new(cx, "slice.tflite");
    int32_t t[4];

    for (int i = 0; i < 4; i++)
        t[i] = nuc_lt_add_tensor(m, &tensors[i]);
    nuc_lt_add_op(m, NUC_LT_SLICE, (const int32_t[]){t[0], t[2], t[3]}, 3, &t[1], 1);
    set_boundaries(m, t[0], t[1]);
    return m;
}

static const float samples[2 * N_INPUT] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                           12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};
static const float expected[N_OUTPUT] = {2, 3, 4, 5, 8, 9, 10, 11};

static char *temporary(char *name)
{
    int fd = mkstemp(name);

    assert_true(fd >= 0);
    close(fd);
    return name;
}

static struct nuc_model *open_model(struct nuc_context *cx, struct nuc_compiler *c)
{
    char name[] = "/tmp/nucleon-test-XXXXXX";
    struct nuc_model *m;

    nuc_write_file(cx, temporary(name), nuc_lt_write(slice_model(cx)));
    assert_int_equal(nuc_model_open(c, name, &m), NUC_OK);
    unlink(name);
    return m;
}

static struct nuc_compiler *new_compiler(void)
{
    struct nuc_options options;

    nuc_options_default(&options);
    options.no_quantize = true;
    struct nuc_compiler *c = nuc_compiler_new(&options, NULL);
    assert_non_null(c);
    return c;
}

static void assert_sizes(const int64_t *sizes, size_t rank, int64_t columns)
{
    assert_int_equal(rank, 4);
    assert_int_equal(sizes[0], 1);
    assert_int_equal(sizes[1], 2);
    assert_int_equal(sizes[2], columns);
    assert_int_equal(sizes[3], 2);
}

static void models_take_and_give_their_own_order(void **state)
{
    struct nuc_compiler *c = new_compiler();
    struct nuc_model *m = open_model(*state, c);
    struct nuc_tensor_info t;
    float result[N_OUTPUT];

    assert_int_equal(nuc_model_input(m, 0, &t), NUC_OK);
    assert_sizes(t.sizes, t.rank, 3);
    assert_int_equal(nuc_model_output(m, 0, &t), NUC_OK);
    assert_sizes(t.sizes, t.rank, 2);
    assert_int_equal(nuc_model_run(m, (const void *const[]){samples}, (void *const[]){result}), NUC_OK);
    assert_memory_equal(result, expected, sizeof expected);
    nuc_compiler_free(c);
}

static void programs_take_and_give_the_models_order(void **state)
{
    struct nuc_context *cx = *state;
    struct nuc_compiler *c = new_compiler();
    struct nuc_model *m = open_model(cx, c);
    char name[] = "/tmp/nucleon-test-XXXXXX";
    struct test_program p;
    struct nuc_tensor t;

    assert_int_equal(nuc_compile_model(m, NULL, temporary(name)), NUC_OK);
    test_load(cx, &p, nuc_read_file(cx, name), &nuc_default_backends);
    assert_int_equal(p.status, NUC_OK);
    assert_int_equal(nuc_program_input_info(&p.program, 0, &t), NUC_OK);
    const int64_t in[4] = {t.sizes[0], t.sizes[1], t.sizes[2], t.sizes[3]};
    assert_sizes(in, t.rank, 3);
    assert_int_equal(nuc_program_set_input(&p.program, 0, samples, N_INPUT * sizeof(float), &p.detail), NUC_OK);
    assert_int_equal(nuc_program_execute(&p.program, &p.detail), NUC_OK);
    assert_int_equal(nuc_program_output(&p.program, 0, &t), NUC_OK);
    const int64_t out[4] = {t.sizes[0], t.sizes[1], t.sizes[2], t.sizes[3]};
    assert_sizes(out, t.rank, 2);
    assert_memory_equal(t.data, expected, sizeof expected);
    unlink(name);
    nuc_compiler_free(c);
}

/* Two samples as an array of these sizes. */
static void write_samples(struct nuc_compiler *c, const char *name, const int64_t *sizes, size_t rank)
{
    struct nuc_array_info a = {.name = "x", .dtype = NUC_F32, .rank = rank, .data = samples, .bytes = sizeof samples};

    memcpy(a.sizes, sizes, rank * sizeof *sizes);
    assert_int_equal(nuc_write_arrays(c, name, &a, 1), NUC_OK);
}

/* Samples for calibration are those of the graph: the channels first. */
static void data_sets_have_the_models_order(void **state)
{
    static const int64_t own[4] = {2, 2, 3, 2}, channels_first[4] = {2, 2, 2, 3};
    static const float second_in_graph[N_INPUT] = {12, 14, 16, 18, 20, 22, 13, 15, 17, 19, 21, 23};
    struct nuc_compiler *c = new_compiler();
    struct nuc_model *m = open_model(*state, c);
    struct nuc_tensor_info t;
    char name[] = "/tmp/nucleon-test-XXXXXX";
    const void *input;
    size_t count;

    temporary(name);
    write_samples(c, name, own, 4);
    struct nuc_dataset *d = nuc_dataset_again(c, (struct nuc_sample_source){.path = name});
    nuc_dataset_bind_model(d, m);
    assert_int_equal(d->n_samples, 2);
    nuc_dataset_read_sample(d, 1, &input);
    assert_memory_equal(input, second_in_graph, sizeof second_in_graph);
    assert_int_equal(nuc_model_input(m, 0, &t), NUC_OK);
    assert_int_equal(nuc_dataset_bind(d, &t, 1, &count), NUC_OK);
    assert_int_equal(nuc_dataset_sample(d, 1, &input), NUC_OK);
    assert_memory_equal(input, samples + N_INPUT, N_INPUT * sizeof(float));
    write_samples(c, name, channels_first, 4);
    d = nuc_dataset_again(c, (struct nuc_sample_source){.path = name});
    assert_int_equal(nuc_dataset_bind(d, &t, 1, &count), NUC_BAD_INPUT);
    assert_non_null(strstr(nuc_compiler_message(c), "channels-first"));
    unlink(name);
    nuc_compiler_free(c);
}

/* An archive of the model has images channels first until it is presented as the model is. */
static void archives_are_presented_as_their_model(void **state)
{
    struct nuc_compiler *c = new_compiler();
    struct nuc_model *m = open_model(*state, c), *archive;
    char name[] = "/tmp/nucleon-test-XXXXXX";
    struct nuc_tensor_info t;
    float result[N_OUTPUT];

    assert_int_equal(nuc_model_write(m, temporary(name)), NUC_OK);
    assert_int_equal(nuc_model_open(c, name, &archive), NUC_OK);
    assert_int_equal(nuc_model_input(archive, 0, &t), NUC_OK);
    assert_int_equal(t.sizes[1], 2);
    assert_int_equal(t.sizes[3], 3);
    nuc_model_present_as(archive, m);
    assert_int_equal(nuc_model_input(archive, 0, &t), NUC_OK);
    assert_sizes(t.sizes, t.rank, 3);
    assert_int_equal(nuc_model_run(archive, (const void *const[]){samples}, (void *const[]){result}), NUC_OK);
    assert_memory_equal(result, expected, sizeof expected);
    unlink(name);
    nuc_compiler_free(c);
}

/* A folder with one image of 4 x 2 pixels, values 0, 10, 20, ... in the order of the file. */
static const uint8_t png[] = {
    137, 80,  78, 71,  13, 10,  26,  10,  0,  0,   0,  13,  73,  72, 68,  82,  0,   0,   0,   4,   0,   0,   0,   2,
    8,   2,   0,  0,   0,  240, 202, 234, 52, 0,   0,  0,   37,  73, 68,  65,  84,  120, 1,   1,   26,  0,   229, 255,
    0,   0,   10, 20,  30, 40,  50,  60,  70, 80,  90, 100, 110, 0,  120, 130, 140, 150, 160, 170, 180, 190, 200, 210,
    220, 230, 92, 134, 10, 201, 198, 82,  24, 151, 0,  0,   0,   0,  73,  69,  78,  68,  174, 66,  96,  130};

static struct nuc_dataset *open_images(struct nuc_context *cx, struct nuc_compiler *c, char *folder)
{
    assert_non_null(mkdtemp(folder));
    const char *file = nuc_format(cx, "%s/a.png", folder);
    nuc_write_file(cx, file, (struct nuc_span){png, sizeof png});
    return nuc_dataset_again(c, (struct nuc_sample_source){.path = folder});
}

/* An input says by its sizes where the channels are, or is refused. */
static void images_have_their_channels_where_the_input_has(void **state)
{
    struct nuc_tensor_info last = {.name = "x", .dtype = NUC_F32, .rank = 4, .sizes = {1, 2, 4, 3}, .bytes = 96};
    struct nuc_tensor_info first = last, either = last;
    struct nuc_compiler *c = new_compiler();
    char folder[] = "/tmp/nucleon-test-XXXXXX";
    struct nuc_dataset *d = open_images(*state, c, folder);
    const void *input;
    size_t count;

    assert_int_equal(nuc_dataset_bind(d, &last, 1, &count), NUC_OK);
    assert_int_equal(nuc_dataset_sample(d, 0, &input), NUC_OK);
    for (int i = 0; i < 24; i++)
        assert_float_equal(((const float *)input)[i], (float)(10 * i) / 255.0f, 1e-6f);
    memcpy(first.sizes, (const int64_t[]){1, 3, 2, 4}, sizeof(int64_t[4]));
    assert_int_equal(nuc_dataset_bind(d, &first, 1, &count), NUC_OK);
    assert_int_equal(nuc_dataset_sample(d, 0, &input), NUC_OK);
    for (int i = 0; i < 24; i++)
        assert_float_equal(((const float *)input)[i], (float)(10 * (i % 8 * 3 + i / 8)) / 255.0f, 1e-6f);
    memcpy(either.sizes, (const int64_t[]){1, 3, 2, 3}, sizeof(int64_t[4]));
    assert_int_equal(nuc_dataset_bind(d, &either, 1, &count), NUC_BAD_INPUT);
    assert_non_null(strstr(nuc_compiler_message(c), "where the channels are"));
    unlink(nuc_format(*state, "%s/a.png", folder));
    rmdir(folder);
    nuc_compiler_free(c);
}

RUN_TESTS(STATE_TEST(models_take_and_give_their_own_order), STATE_TEST(programs_take_and_give_the_models_order),
          STATE_TEST(data_sets_have_the_models_order), STATE_TEST(archives_are_presented_as_their_model),
          STATE_TEST(images_have_their_channels_where_the_input_has))
