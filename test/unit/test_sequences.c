/* Samples of models with states: which sequences they are steps of, and which of them each part has. */
#include "contexts.h"

#include "data/dataset.h"

/* A sample for each character, which begins a sequence where it is '|'; `taken`: samples by letter, sequences after
 * '|'. */
static const struct row {
    const char *begins;
    enum nuc_samples part;
    const char *taken;
} rows[] = {
    {"|.|.|.|.", NUC_SAMPLES_ALL, "|ab|cd|ef|gh"},
    {"|.|.|.|.", NUC_SAMPLES_KEPT, "|ab|cd|ef"},
    {"|.|.|.|.", NUC_SAMPLES_HELD_OUT, "|gh"},
    {"|.|||.|", NUC_SAMPLES_KEPT, "|ab|c|d|g"},
    {"|.|||.|", NUC_SAMPLES_HELD_OUT, "|ef"},
    {"|..|...", NUC_SAMPLES_KEPT, "|abc"},
    {"|..|...", NUC_SAMPLES_HELD_OUT, "|defg"},
    /* of a single one, its end */
    {"|.......", NUC_SAMPLES_KEPT, "|abcdef"},
    {"|.......", NUC_SAMPLES_HELD_OUT, "|gh"},
    {"|.", NUC_SAMPLES_KEPT, "|a"},
    {"|.", NUC_SAMPLES_HELD_OUT, "|b"},
    {"|", NUC_SAMPLES_KEPT, "|a"},
    {"|", NUC_SAMPLES_HELD_OUT, "|a"},
    /* The first sample begins one, whatever the mark. */
    {"..|.", NUC_SAMPLES_ALL, "|ab|cd"},
};

static void check_row(struct nuc_context *cx, void *arg)
{
    const struct row *row = arg;
    const size_t n = strlen(row->begins);
    const struct nuc_tensor_info input = {
        .name = "x", .dtype = NUC_F32, .rank = 2, .sizes = {1, 1}, .bytes = sizeof(float)};
    float x[16];
    bool marks[16];
    struct nuc_array_info arrays[] = {
        {.name = "x", .dtype = NUC_F32, .rank = 2, .sizes = {(int64_t)n, 1}, .data = x, .bytes = n * sizeof *x},
        {.name = "reset", .dtype = NUC_BOOL, .rank = 1, .sizes = {(int64_t)n}, .data = marks, .bytes = n},
    };
    struct nuc_options options;
    const void *sample;
    char taken[40];
    size_t at = 0;

    for (size_t k = 0; k < n; k++) {
        x[k] = (float)k;
        marks[k] = row->begins[k] == '|';
    }
    nuc_options_default(&options);
    struct nuc_dataset *d = nuc_dataset_take(cx, &options, NULL, arrays, 2);
    d->has_states = true;
    d->part = row->part;
    nuc_dataset_bind_inputs(d, &input, 1, NULL);
    for (size_t k = 0; k < d->n_samples; k++) {
        nuc_dataset_read_sample(d, k, &sample);
        if (nuc_dataset_begins(d, k))
            taken[at++] = '|';
        taken[at++] = (char)('a' + (int)*(const float *)sample);
        assert_int_equal(nuc_dataset_ends(d, k), k + 1 == d->n_samples || nuc_dataset_begins(d, k + 1));
    }
    taken[at] = '\0';
    assert_string_equal(taken, row->taken);
}

static void parts_are_of_whole_sequences(void **state)
{
    (void)state;
    run_rows(check_row, TABLE(rows));
}

RUN_TESTS(cmocka_unit_test(parts_are_of_whole_sequences))
