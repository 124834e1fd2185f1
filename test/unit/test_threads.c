/*
 * What several threads of a caller may do at once: compile with a compiler each, run programs with a runner each, use
 * the NPU driver with a handle each. All results are those of one thread. Under ThreadSanitizer (preset tsan) this
 * shows what they share.
 */
#include "unit/test.h"

#include <pthread.h>

#include "nucleon/runner.h"

#define MODEL NUCLEON_EXAMPLES "/digits/digits.pt2"
#define SAMPLES NUCLEON_EXAMPLES "/digits/calibration.npz"

enum { N_THREADS = 3, N_CLASSES = 10, MOST_SAMPLES = 64 };

/* Of one thread; assertions are made by the test, not in its threads. */
struct work {
    unsigned threads;    /* of the compiler and the simulator */
    const char *failure; /* NULL: none */
    uint8_t *program;
    size_t size;
    size_t n_samples;
    float outputs[MOST_SAMPLES][N_CLASSES];
};

static void note(struct work *w, struct nuc_compiler *c, enum nuc_status status)
{
    if (status != NUC_OK && w->failure == NULL)
        w->failure = strdup(nuc_compiler_message(c));
}

static void compile(struct nuc_compiler *c, struct work *w)
{
    struct nuc_model *m;
    struct nuc_dataset *samples;
    const uint8_t *bytes;

    note(w, c, nuc_model_open(c, MODEL, &m));
    if (w->failure == NULL)
        note(w, c, nuc_dataset_open(c, SAMPLES, &samples));
    if (w->failure == NULL)
        note(w, c, nuc_quantize(m, samples, &m));
    if (w->failure == NULL)
        note(w, c, nuc_partition(m, &m));
    if (w->failure == NULL)
        note(w, c, nuc_lower(m, &m));
    if (w->failure == NULL)
        note(w, c, nuc_program(m, &bytes, &w->size));
    if (w->failure != NULL)
        return;
    w->program = malloc(w->size);
    if (w->program != NULL)
        memcpy(w->program, bytes, w->size);
}

static void run(struct nuc_compiler *c, struct work *w)
{
    const struct nuc_simulator_options simulator = {.threads = w->threads};
    struct nuc_runner *r;
    struct nuc_dataset *samples;
    struct nuc_tensor_info input;
    const void *in[1];

    note(w, c, nuc_runner_open_bytes(c, "digits", w->program, w->size, &simulator, &r));
    if (w->failure == NULL)
        note(w, c, nuc_dataset_open(c, SAMPLES, &samples));
    if (w->failure != NULL)
        return;
    note(w, c, nuc_runner_input(r, 0, &input));
    note(w, c, nuc_dataset_bind(samples, &input, 1, &w->n_samples));
    w->n_samples = w->n_samples < MOST_SAMPLES ? w->n_samples : MOST_SAMPLES;
    for (size_t i = 0; i < w->n_samples && w->failure == NULL; i++) {
        void *out[1] = {w->outputs[i]};
        note(w, c, nuc_dataset_sample(samples, i, in));
        note(w, c, nuc_runner_run(r, in, out));
    }
    nuc_runner_close(r);
}

static void *compile_and_run(void *arg)
{
    struct work *w = arg;
    struct nuc_options o;

    nuc_options_default(&o);
    o.threads = w->threads;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL) {
        w->failure = "no compiler";
        return NULL;
    }
    if (w->program == NULL)
        compile(c, w);
    if (w->failure == NULL && w->program != NULL)
        run(c, w);
    nuc_compiler_free(c);
    return NULL;
}

static void all_at_once(struct work *all, size_t count)
{
    pthread_t ids[N_THREADS];

    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, compile_and_run, &all[i]), 0);
    for (size_t i = 0; i < count; i++)
        pthread_join(ids[i], NULL);
    for (size_t i = 0; i < count; i++) {
        if (all[i].failure != NULL)
            fail_msg("%s", all[i].failure);
    }
}

static void threads_do_what_one_does(void **state)
{
    struct work *alone = calloc(1, sizeof *alone), *all = calloc(N_THREADS, sizeof *all);

    assert_non_null(alone);
    assert_non_null(all);
    alone->threads = 1;
    all_at_once(alone, 1);
    assert_true(alone->n_samples > 1);
    for (unsigned i = 0; i < N_THREADS; i++)
        all[i].threads = i + 1;
    all_at_once(all, N_THREADS);
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(all[i].size, alone->size);
        assert_memory_equal(all[i].program, alone->program, alone->size);
        assert_memory_equal(all[i].outputs, alone->outputs, sizeof alone->outputs);
        free(all[i].program);
    }
    free(alone->program);
    free(alone);
    free(all);
}

RUN_TESTS(cmocka_unit_test(threads_do_what_one_does))
