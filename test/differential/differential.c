/*
 * differential [--first SEED] [--count N] [--ops N] [--where npu|cpu] [--save DIR]: makes small random networks,
 * quantizes them with random samples, compiles them, and compares the program on the simulator with the evaluator on
 * the quantized graph. The two share nothing but the quantization parameters. One operator: at most one step of the
 * output's scale apart, and equal when it only moves data. Longer chains are reported. Exit code 0 when everything
 * held.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "random_graph.h"

#define N_SAMPLES 6
#define MAX_STEPS 64 /* of the histogram */
#define NOTABLE 2    /* steps: chains beyond are named */

struct totals {
    size_t graphs, delegated, failed, values, exact;
    size_t at_most[MAX_STEPS + 1]; /* graphs by their largest difference in steps */
};

struct trial {
    struct nuc_compiler *c;
    uint64_t seed;
    unsigned n_ops;
    struct random_graph random;
    struct nuc_model *quantized, *lowered;
    float *samples;
    struct nuc_tensor_info input, output;
    float *expected, *got; /* one sample of the output each */
    double step;           /* the output's scale */
    const char *folder;
    const char *save; /* folder for what the trial made, or NULL */
};

static bool failed(const struct trial *t, const char *what)
{
    printf("seed %llu, %u operators (%s): %s: %s\n", (unsigned long long)t->seed, t->n_ops, t->random.ops, what,
           nuc_compiler_message(t->c));
    return false;
}

/* Samples in a file of the temporary folder, as a user gives them. */
static bool open_samples(struct trial *t, struct nuc_dataset **out)
{
    char path[512];
    struct random_state r = random_seeded(t->seed ^ 0x5EED);
    struct nuc_array_info a = {.name = "in0", .dtype = NUC_F32, .rank = t->input.rank};
    size_t count = N_SAMPLES * t->input.bytes / sizeof(float);

    memcpy(a.sizes, t->input.sizes, sizeof a.sizes);
    a.sizes[0] *= N_SAMPLES;
    t->samples = malloc(count * sizeof *t->samples);
    for (size_t i = 0; i < count; i++)
        t->samples[i] = random_float(&r, -2, 3);
    a.data = t->samples;
    a.bytes = count * sizeof *t->samples;
    snprintf(path, sizeof path, "%s/samples.npz", t->folder);
    bool made = nuc_write_arrays(t->c, path, &a, 1) == NUC_OK && nuc_dataset_open(t->c, path, out) == NUC_OK;
    unlink(path);
    return made || failed(t, "samples");
}

/* The scale of the dequantize node the output comes from; views and the like in between keep it. */
static double output_step(struct nuc_model *m)
{
    double step = 0;

    for (size_t i = 0; i < nuc_model_n_nodes(m); i++) {
        struct nuc_node_info n;
        if (nuc_model_node(m, i, &n) == NUC_OK && n.is_dequantize && n.n_scales == 1)
            step = (double)n.scales[0];
    }
    return step;
}

static bool compile(struct trial *t, struct cli_program *program)
{
    struct nuc_model *partitioned;
    struct nuc_dataset *samples;
    const uint8_t *bytes;
    size_t size;
    char path[512];

    if (random_graph_make(t->c, t->seed, t->n_ops, &t->random) != NUC_OK)
        return failed(t, "graph");
    struct nuc_model *m = t->random.model;
    nuc_model_input(m, 0, &t->input);
    nuc_model_output(m, 0, &t->output);
    if (!open_samples(t, &samples))
        return false;
    if (nuc_quantize(m, samples, &t->quantized) != NUC_OK)
        return failed(t, "quantize");
    t->step = output_step(t->quantized);
    if (nuc_partition(t->quantized, &partitioned) != NUC_OK)
        return failed(t, "partition");
    if (nuc_lower(partitioned, &t->lowered) != NUC_OK)
        return failed(t, "lower");
    if (nuc_program(t->lowered, &bytes, &size) != NUC_OK)
        return failed(t, "program");
    snprintf(path, sizeof path, "%s/program.pte", t->folder);
    FILE *f = fopen(path, "wb");
    bool written = f != NULL && fwrite(bytes, 1, size, f) == size;
    if (f == NULL || fclose(f) != 0 || !written)
        return failed(t, "write");
    int code = cli_program_open(program, path);
    unlink(path);
    return code == CLI_OK || failed(t, "load");
}

/* Largest difference in steps over all samples; -1 when something failed. */
static double compare(struct trial *t, struct cli_program *program, struct totals *sum)
{
    size_t count = t->output.bytes / sizeof(float);
    double largest = 0;

    for (size_t k = 0; k < N_SAMPLES; k++) {
        const void *input = (const char *)t->samples + k * t->input.bytes;
        void *expected = t->expected, *got = t->got;
        if (nuc_model_run(t->quantized, &input, &expected) != NUC_OK)
            return failed(t, "evaluate") - 1.0;
        if (cli_program_run(program, "program", &input, &got) != CLI_OK)
            return failed(t, "run") - 1.0;
        for (size_t i = 0; i < count; i++) {
            double d = fabs((double)t->expected[i] - (double)t->got[i]);
            double steps = t->step > 0 ? d / t->step : d == 0 ? 0 : (double)INFINITY;
            sum->values++;
            sum->exact += d == 0;
            largest = steps > largest || isnan(steps) ? steps : largest;
        }
    }
    return largest;
}

static void save(const struct trial *t, const char *suffix, const void *bytes, size_t size)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%llu_%u.%s", t->save, (unsigned long long)t->seed, t->n_ops, suffix);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(bytes, 1, size, f) != size)
        fprintf(stderr, "differential: %s: cannot be written\n", path);
    if (f != NULL)
        fclose(f);
}

/* What there is, also of a trial that failed half-way. */
static void save_all(const struct trial *t)
{
    struct nuc_partition_info p;
    const uint8_t *bytes;
    const char *text;
    size_t size;

    if (t->quantized != NULL && nuc_model_text(t->quantized, true, &text) == NUC_OK)
        save(t, "txt", text, strlen(text));
    if (t->lowered == NULL)
        return;
    if (nuc_program(t->lowered, &bytes, &size) == NUC_OK)
        save(t, "pte", bytes, size);
    if (nuc_model_n_partitions(t->lowered) != 0 && nuc_model_partition(t->lowered, 0, &p) == NUC_OK) {
        save(t, "tflite", p.litert, p.litert_size);
        save(t, "payload", p.payload, p.payload_size);
    }
}

/* True when the program holds what the operators allow. */
static bool judge(const struct trial *t, double steps, struct totals *sum)
{
    if (!(steps >= 0))
        return false;
    double limit = t->random.moves_only ? 0 : t->n_ops == 1 ? 1.001 : (double)INFINITY;
    size_t bin = steps < MAX_STEPS ? (size_t)(steps + 0.5) : MAX_STEPS;
    sum->at_most[bin]++;
    sum->delegated += nuc_model_n_partitions(t->lowered) != 0;
    if (steps <= limit && steps > NOTABLE)
        printf("seed %llu (%s): %.3g steps apart, scale %.3g\n", (unsigned long long)t->seed, t->random.ops, steps,
               t->step);
    if (steps <= limit)
        return true;
    printf("seed %llu (%s): %.3g steps apart, allowed %.3g\n", (unsigned long long)t->seed, t->random.ops, steps,
           limit);
    return false;
}

static bool run_trial(uint64_t seed, unsigned n_ops, bool delegate, const char *folder, const char *save_to,
                      struct totals *sum)
{
    struct nuc_options o;
    struct cli_program program = {.image = NULL};
    struct trial t = {.seed = seed, .n_ops = n_ops, .folder = folder, .save = save_to};
    bool good = false;

    nuc_options_default(&o);
    o.threads = 1;
    o.delegate = delegate;
    t.c = nuc_compiler_new(&o, NULL);
    if (t.c != NULL && compile(&t, &program)) {
        t.expected = malloc(t.output.bytes);
        t.got = malloc(t.output.bytes);
        good = judge(&t, compare(&t, &program, sum), sum);
    }
    if (save_to != NULL)
        save_all(&t);
    cli_program_close(&program);
    nuc_compiler_free(t.c);
    free(t.samples);
    free(t.expected);
    free(t.got);
    sum->graphs++;
    sum->failed += !good;
    return good;
}

static void print_totals(const struct totals *sum)
{
    printf("%zu graphs, %zu with a partition, %zu failed; %zu values, %zu equal\n", sum->graphs, sum->delegated,
           sum->failed, sum->values, sum->exact);
    for (size_t i = 0; i <= MAX_STEPS; i++) {
        if (sum->at_most[i] != 0)
            printf("  largest difference %s%zu steps: %zu graphs\n", i == MAX_STEPS ? "at least " : "", i,
                   sum->at_most[i]);
    }
}

int main(int argc, char **argv)
{
    uint64_t first = 0, count = 100;
    unsigned n_ops = 1;
    const char *save_to = NULL;
    bool delegate = true;
    struct totals sum = {.graphs = 0};
    char folder[] = "/tmp/differential_XXXXXX";

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--first") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--ops") == 0)
            n_ops = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--where") == 0)
            delegate = strcmp(argv[i + 1], "cpu") != 0;
        else if (strcmp(argv[i], "--save") == 0)
            save_to = argv[i + 1];
        else
            return 2;
    }
    if (mkdtemp(folder) == NULL)
        return 2;
    for (uint64_t seed = first; seed < first + count; seed++)
        run_trial(seed, n_ops, delegate, folder, save_to, &sum);
    rmdir(folder);
    print_totals(&sum);
    return sum.failed == 0 ? 0 : 1;
}
