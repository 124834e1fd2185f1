/*
 * differential [--graphs N] [--first SEED] [--ops N] [--where npu|cpu] [--target NAME] [--activations int8|int16]
 * [--save DIR] [--quiet]: makes random networks of every operator of the rule sets, 1 to 40 operators each, quantizes
 * them with random samples, compiles them, and compares program and evaluator, operator by operator (teacher.h). The
 * two share nothing but the quantization parameters. Every quantized value is at most one step apart, of int16 from
 * what the kernel is defined to compute (sixteen.h), and equal where the operators are exact; a program without the
 * inner values as outputs gives the same bytes where it runs the same operators on the NPU. Programs give the same
 * bytes by vector instructions as in plain C, one sample after the other and side by side. The LiteRT models of
 * partitions keep to the rules of sdk-3.2 (rules/litert_rules.h). Exit code 0 when everything held.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/base/fixed_point.h"
#include "driver/driver.h"
#include "nucleon/runner.h"
#include "random_graph.h"
#include "rules/litert_rules.h"
#include "sixteen.h"

#define N_SAMPLES 4 /* of the calibration */
#define N_RUNS 6    /* two more with values calibration has not seen */
#define N_ROUNDS 8  /* of all runs, side by side */
#define MAX_IO 1200

struct op_count {
    size_t values, different, largest;
};

struct totals {
    size_t graphs, operators, failed, elsewhere, edge_nodes, delegated_nodes, partitions, models;
    struct op_count ops[NUC_OP_COUNT];
    struct op_count requantized; /* values quantized a second time, by no operator */
};

struct request {
    uint64_t seed;
    unsigned n_ops;             /* 0: by the seed */
    bool delegate, quiet, wide; /* wide: activations of int16 */
    const char *target;
    const char *save; /* folder for what a failing trial made, or NULL */
    const char *folder;
};

struct trial {
    const struct request *q;
    struct nuc_compiler *c;
    struct totals *sum;
    struct nuc_options options;
    struct random_graph random;
    struct nuc_model *floating, *quantized, *exposed, *taught;
    struct teacher teacher;
    struct nuc_runner *program, *slow, *inside; /* as compiled, in plain C, and with all values as outputs */
    float *samples[RANDOM_MAX_INPUTS];          /* N_RUNS of each input */
    size_t n_inputs, sample_bytes[RANDOM_MAX_INPUTS];
    void *plain[MAX_IO], *got[MAX_IO], *expected[MAX_IO]; /* outputs of program, inside, taught */
    void *of_slow[N_RUNS][MAX_IO];
    const void *taught_inputs[MAX_IO];
    void *given[MAX_IO];                 /* taught values */
    int32_t *ends[SIXTEEN_ENDS][MAX_IO]; /* what the evaluator makes of the ends of lines that they are between */
    bool has_ends;                       /* of this run */
    bool same_places;                    /* the two programs have the same operators on the NPU */
    bool good;
};

static bool failed(struct trial *t, const char *what, const char *why)
{
    printf("seed %llu, %u operators, %s%s: %s: %s\n", (unsigned long long)t->q->seed, t->random.n_ops,
           t->options.converter_flavor, t->options.use_neutron_for_format_conversion ? "" : ", formats on the CPU",
           what, why);
    return false;
}

static bool check(struct trial *t, enum nuc_status s, const char *what)
{
    return s == NUC_OK || failed(t, what, nuc_compiler_message(t->c));
}

/* ---- making ---- */

/*
 * Options by the seed, so that all their combinations are met, but for reference_compat, which gets wrong what the
 * reference does.
 */
static void choose_options(struct trial *t)
{
    static const char *const preserved[] = {"aten.prelu.default", "aten.pad.default", "aten.hardswish.default"};
    static const enum nuc_observe observers[] = {NUC_OBSERVE_MIN_MAX, NUC_OBSERVE_MIN_MAX, NUC_OBSERVE_HISTOGRAM,
                                                 NUC_OBSERVE_MSE};
    struct random_state r = random_seeded(t->q->seed ^ 0x0B5E);
    struct nuc_options *o = &t->options;

    nuc_options_default(o);
    o->threads = 1;
    o->delegate = t->q->delegate;
    o->target = t->q->target;
    /* Graphs are small: by cost most of their operators would stay on the CPU. */
    o->activations = t->q->wide ? NUC_ACTIVATIONS_INT16 : NUC_ACTIVATIONS_INT8;
    o->placement = t->q->seed % 4 == 3 ? NUC_PLACEMENT_COST : NUC_PLACEMENT_GREEDY;
    o->converter_flavor = random_one_of(&r, 3) ? "sdk-3.1" : "sdk-3.2";
    o->use_neutron_for_format_conversion = !random_one_of(&r, 2);
    o->preserve_ops = preserved;
    o->n_preserve_ops = random_one_of(&r, 2) ? 3 : 0;
    o->intermediates_dir = t->q->delegate ? t->q->folder : NULL;
    o->observer = observers[random_in(&r, 0, 3)];
    o->weights = random_one_of(&r, 4) ? NUC_WEIGHTS_PER_TENSOR : NUC_WEIGHTS_PER_CHANNEL;
}

static void make_graph(struct nuc_context *cx, void *arg)
{
    struct trial *t = arg;
    struct random_state r = random_seeded(t->q->seed ^ 0x51CE);
    unsigned n_ops = t->q->n_ops != 0 ? t->q->n_ops : (unsigned)random_in(&r, 1, 40);

    t->random = random_graph_make(cx, t->q->seed, n_ops);
    t->floating = nuc_model_make(t->c, t->random.graph);
}

static void make_samples(struct trial *t)
{
    struct random_state r = random_seeded(t->q->seed ^ 0x5EED);

    t->n_inputs = nuc_model_n_inputs(t->floating);
    for (size_t i = 0; i < t->n_inputs; i++) {
        struct nuc_tensor_info info;
        nuc_model_input(t->floating, i, &info);
        size_t count = info.bytes / sizeof(float);
        float low = t->random.low[i], high = t->random.high[i], more = high - low;
        t->sample_bytes[i] = info.bytes;
        t->samples[i] = malloc(N_RUNS * info.bytes);
        for (size_t k = 0; k < N_RUNS * count; k++) {
            bool seen = k < N_SAMPLES * count;
            t->samples[i][k] = random_float(&r, seen ? low : low - more, seen ? high : high + more);
        }
    }
}

/* The samples in a file of the temporary folder, as a user gives them. */
static bool open_samples(struct trial *t, struct nuc_dataset **out)
{
    struct nuc_array_info arrays[RANDOM_MAX_INPUTS];
    char names[RANDOM_MAX_INPUTS][32], path[512];

    make_samples(t);
    for (size_t i = 0; i < t->n_inputs; i++) {
        struct nuc_tensor_info info;
        nuc_model_input(t->floating, i, &info);
        snprintf(names[i], sizeof names[i], "in%zu", i);
        arrays[i] = (struct nuc_array_info){.name = names[i],
                                            .dtype = NUC_F32,
                                            .rank = info.rank,
                                            .data = t->samples[i],
                                            .bytes = N_SAMPLES * info.bytes};
        memcpy(arrays[i].sizes, info.sizes, sizeof info.sizes);
        arrays[i].sizes[0] *= N_SAMPLES;
    }
    snprintf(path, sizeof path, "%s/samples.npz", t->q->folder);
    enum nuc_status s = nuc_write_arrays(t->c, path, arrays, t->n_inputs);
    if (s == NUC_OK)
        s = nuc_dataset_open(t->c, path, out);
    unlink(path);
    return check(t, s, "samples");
}

static bool open_program(struct trial *t, struct nuc_model *m, const char *name, struct nuc_runner **program,
                         size_t *n_delegated)
{
    static const struct nuc_simulator_options plain = {.path = NUC_SIMULATOR_PLAIN};
    struct nuc_model *partitioned, *lowered;
    struct nuc_program_report report;
    const uint8_t *bytes;
    size_t size;

    if (!check(t, nuc_partition(m, &partitioned), "partition") ||
        !check(t, nuc_lower(partitioned, &lowered), "lower") ||
        !check(t, nuc_program(lowered, &bytes, &size), "program"))
        return false;
    if (!check(t, nuc_runner_open_bytes(t->c, name, bytes, size, NULL, program), "load"))
        return false;
    if (nuc_program_report(t->c, &report) != NUC_OK)
        return failed(t, "report", name);
    *n_delegated = report.n_delegated;
    if (program == &t->program) {
        if (!check(t, nuc_runner_open_bytes(t->c, "program in plain C", bytes, size, &plain, &t->slow), "load"))
            return false;
        t->sum->edge_nodes += report.n_nodes;
        t->sum->delegated_nodes += report.n_delegated;
        t->sum->partitions += report.n_partitions;
    }
    return true;
}

/* The models of the partitions of the program that was made last, which are removed. */
static bool check_models(struct trial *t)
{
    struct rule_report report = {0};
    bool judged = strcmp(t->options.converter_flavor, "sdk-3.2") == 0;
    DIR *folder = opendir(t->q->folder);
    char path[1024];

    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!strstr(entry->d_name, ".tflite"))
            continue;
        snprintf(path, sizeof path, "%s/%s", t->q->folder, entry->d_name);
        if (judged && strstr(entry->d_name, "_pure") && !rules_check_file(path, &report))
            report.broken++;
        unlink(path);
    }
    if (folder)
        closedir(folder);
    t->sum->models += report.models;
    return report.broken == 0 || failed(t, "partitions", "the converter's rules are broken");
}

static void make_teacher(struct nuc_context *cx, void *arg)
{
    struct trial *t = arg;

    (void)cx;
    t->teacher = teacher_make(t->quantized->graph);
    t->exposed = nuc_model_make(t->c, t->teacher.exposed);
    t->taught = nuc_model_make(t->c, t->teacher.taught);
}

static bool make(struct trial *t)
{
    struct nuc_dataset *samples;
    size_t n_plain, n_inside;

    if (!check(t, nuc_try(t->c->cx, make_graph, t), "graph") || !open_samples(t, &samples) ||
        !check(t, nuc_quantize(t->floating, samples, &t->quantized), "quantize") ||
        !check(t, nuc_try(t->c->cx, make_teacher, t), "expose"))
        return false;
    if (t->teacher.n_outputs + t->teacher.n_values > MAX_IO - RANDOM_MAX_INPUTS)
        return failed(t, "expose", "too many values");
    if (!open_program(t, t->quantized, "program", &t->program, &n_plain) || !check_models(t) ||
        !open_program(t, t->exposed, "program with inner values", &t->inside, &n_inside) || !check_models(t))
        return false;
    /* On a CPU with int8 kernels a value nobody else reads may become part of a table, which rounds differently. */
    t->same_places = n_plain == n_inside && strcmp(t->q->target, "imxrt700") == 0;
    t->sum->elsewhere += !t->same_places;
    return true;
}

/* ---- running ---- */

static size_t output_bytes(struct nuc_model *m, size_t index)
{
    struct nuc_tensor_info info = {.bytes = 0};

    nuc_model_output(m, index, &info);
    return info.bytes;
}

static void allocate(struct trial *t)
{
    uint32_t n_values = t->teacher.n_values, n = t->teacher.n_outputs + n_values;

    for (uint32_t i = 0; i < n; i++) {
        t->got[i] = malloc(output_bytes(t->exposed, i));
        t->expected[i] = malloc(output_bytes(t->taught, i));
    }
    for (uint32_t i = 0; i < t->teacher.n_outputs; i++)
        t->plain[i] = malloc(output_bytes(t->quantized, i));
    for (size_t i = 0; i < N_RUNS * t->teacher.n_outputs; i++)
        t->of_slow[i / t->teacher.n_outputs][i % t->teacher.n_outputs] =
            malloc(output_bytes(t->quantized, (uint32_t)(i % t->teacher.n_outputs)));
    for (uint32_t i = 0; i < n_values; i++)
        t->given[i] = malloc(t->teacher.values[i].elements * sizeof(int32_t));
}

static void release(struct trial *t)
{
    for (size_t i = 0; i < MAX_IO; i++) {
        free(t->got[i]);
        free(t->expected[i]);
        free(t->plain[i]);
        free(t->given[i]);
        for (size_t k = 0; k < N_RUNS; k++)
            free(t->of_slow[k][i]);
        for (size_t k = 0; k < SIXTEEN_ENDS; k++)
            free(t->ends[k][i]);
    }
    for (size_t i = 0; i < RANDOM_MAX_INPUTS; i++)
        free(t->samples[i]);
}

/* The program's values as the bytes they were before they became floats. */
static bool read_values(struct trial *t)
{
    for (uint32_t i = 0; i < t->teacher.n_values; i++) {
        const struct teacher_value *v = &t->teacher.values[i];
        const float *values = t->got[t->teacher.n_outputs + i];
        for (size_t k = 0; k < v->elements; k++) {
            double q = round((double)values[k] / v->scale) + (double)v->zero;
            const double low = v->dtype == NUC_I8 ? INT8_MIN : INT16_MIN;
            if (!(q >= low && q <= -low - 1))
                return failed(t, v->quantize->name, "the program gives a value that its type does not have");
            if (v->dtype == NUC_I8)
                ((int8_t *)t->given[i])[k] = (int8_t)q;
            else
                ((int32_t *)t->given[i])[k] = (int32_t)q;
        }
    }
    return true;
}

static const char *ops_text(const struct teacher_value *v, char *out, size_t size)
{
    size_t at = 0;

    snprintf(out, size, "quantized again");
    for (unsigned i = 0; i < v->n_ops && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i == 0 ? "" : " ", nuc_op_name(v->ops[i], NUC_EDGE));
    return out;
}

static void note(struct op_count *count, size_t elements, size_t different, size_t largest)
{
    count->values += elements;
    count->different += different;
    count->largest = largest > count->largest ? largest : count->largest;
}

static int number_at(const struct teacher_value *v, const void *numbers, size_t k)
{
    int32_t number = v->dtype == NUC_I8 ? ((const int8_t *)numbers)[k] : ((const int32_t *)numbers)[k];

    return nuc_clamp_i32(number, (int32_t)v->low, (int32_t)v->high);
}

/* The taught graph, of values at the ends of lines in place of the program's. */
static bool run_ends(struct trial *t)
{
    const uint32_t n = t->teacher.n_values;
    const void *inputs[MAX_IO];
    void *outputs[MAX_IO] = {NULL};
    bool good = true;

    memcpy(inputs, t->taught_inputs, sizeof inputs);
    for (int end = 0; end < SIXTEEN_ENDS && good; end++) {
        int32_t *moved[MAX_IO] = {NULL};
        for (uint32_t i = 0; i < n; i++) {
            const struct teacher_value *v = &t->teacher.values[i];
            if (v->dtype != NUC_I16)
                continue;
            if (t->ends[end][i] == NULL)
                t->ends[end][i] = malloc(v->elements * sizeof(int32_t));
            outputs[i] = t->ends[end][i];
            moved[i] = malloc(v->elements * sizeof(int32_t));
            for (size_t k = 0; k < v->elements; k++)
                moved[i][k] = sixteen_end((enum sixteen_ends)end, ((const int32_t *)t->given[i])[k]);
            inputs[t->n_inputs + i] = moved[i];
        }
        good = check(t, nuc_model_run(t->taught, inputs, outputs), "evaluate samples");
        for (uint32_t i = 0; i < n; i++)
            free(moved[i]);
    }
    t->has_ends = good;
    return good;
}

/* Whether the value is what its kernel is defined to compute. */
static bool is_defined(struct trial *t, uint32_t index)
{
    const struct teacher_value *v = &t->teacher.values[index], *all = t->teacher.values;
    const int32_t *at[SIXTEEN_ENDS];
    uint32_t of = 0;

    while (of < t->teacher.n_values && all[of].quantize != v->source)
        of++;
    if (v->dtype != NUC_I16 || of == t->teacher.n_values || all[of].dtype != NUC_I16)
        return false;
    if (!t->has_ends && !run_ends(t))
        return false;
    for (int end = 0; end < SIXTEEN_ENDS; end++)
        at[end] = t->ends[end][index];
    return sixteen_defines(v, &all[of], t->given[of], at, t->given[index]);
}

static bool judge_value(struct trial *t, uint32_t index)
{
    const struct teacher_value *v = &t->teacher.values[index];
    const void *expected = t->expected[index], *got = t->given[index];
    size_t different = 0, largest = 0, at = 0;
    char ops[256], text[512];

    for (size_t k = 0; k < v->elements; k++) {
        size_t steps = (size_t)abs(number_at(v, expected, k) - number_at(v, got, k));
        different += steps != 0;
        at = steps > largest ? k : at;
        largest = steps > largest ? steps : largest;
    }
    for (unsigned i = 0; i < v->n_ops; i++)
        note(&t->sum->ops[v->ops[i]], v->elements, different, largest);
    if (v->n_ops == 0)
        note(&t->sum->requantized, v->elements, different, largest);
    /* The evaluator's floats of numbers near 1 have no such steps. */
    if (v->dtype == NUC_I16 && v->scale < 0x1p-20)
        return true;
    /* int8 kernels of a CPU round sums and tables half away from zero. */
    bool exact = v->exact && strcmp(t->q->target, "imxrt700") == 0;
    if (largest <= (exact ? 0 : 1) || is_defined(t, index))
        return true;
    snprintf(text, sizeof text,
             "%zu of %zu values differ, by at most %zu steps, first at %zu: %d, the evaluator has %d", different,
             v->elements, largest, at, number_at(v, got, at), number_at(v, expected, at));
    char where[400];
    snprintf(where, sizeof where, "%s (%s)", v->quantize->name, ops_text(v, ops, sizeof ops));
    return failed(t, where, text);
}

/* Outputs that are not quantized come from float kernels. */
static bool judge_output(struct trial *t, uint32_t index)
{
    const float *expected = t->expected[t->teacher.n_values + index], *got = t->got[index];
    size_t bytes = output_bytes(t->exposed, index);
    float largest = 0;
    char text[128];

    if (t->same_places && memcmp(t->plain[index], got, bytes) != 0)
        return failed(t, "outputs", "the program without inner values gives other bytes");
    for (size_t k = 0; k < bytes / sizeof(float); k++)
        largest = fmaxf(largest, fabsf(expected[k]));
    for (size_t k = 0; k < bytes / sizeof(float); k++) {
        bool near =
            fabsf(expected[k] - got[k]) <= 1e-4f * largest + 1e-6f || memcmp(&expected[k], &got[k], sizeof(float)) == 0;
        if (!near && !(isnan(expected[k]) && isnan(got[k]))) {
            snprintf(text, sizeof text, "output %u is %.9g at %zu, the evaluator has %.9g", index, (double)got[k], k,
                     (double)expected[k]);
            return failed(t, "outputs", text);
        }
    }
    return true;
}

static bool same_as_slow(struct trial *t, void *const *outputs, size_t sample, const char *how)
{
    for (uint32_t i = 0; i < t->teacher.n_outputs; i++) {
        if (memcmp(outputs[i], t->of_slow[sample][i], output_bytes(t->quantized, i)) != 0)
            return failed(t, how, "the program gives other bytes than in plain C");
    }
    return true;
}

/* All samples several times over, by as many threads as there are cores. */
static bool run_side_by_side(struct trial *t)
{
    const size_t n = (size_t)N_RUNS * N_ROUNDS, n_outputs = t->teacher.n_outputs;
    const void **inputs = calloc(n * t->n_inputs + 1, sizeof *inputs);
    void **outputs = calloc(n * n_outputs + 1, sizeof *outputs);

    for (size_t i = 0; i < n * t->n_inputs; i++) {
        size_t input = i % t->n_inputs, sample = i / t->n_inputs % N_RUNS;
        inputs[i] = (const char *)t->samples[input] + sample * t->sample_bytes[input];
    }
    for (size_t i = 0; i < n * n_outputs; i++)
        outputs[i] = malloc(output_bytes(t->quantized, (uint32_t)(i % n_outputs)));
    bool good = check(t, nuc_runner_run_batch(t->program, n, inputs, outputs), "run side by side");
    for (size_t k = 0; k < n && good; k++)
        good = same_as_slow(t, outputs + k * n_outputs, k % N_RUNS, "side by side");
    for (size_t i = 0; i < n * n_outputs; i++)
        free(outputs[i]);
    free(inputs);
    free(outputs);
    return good;
}

static bool run(struct trial *t, size_t sample)
{
    const void **inputs = t->taught_inputs;
    bool good = true;

    t->has_ends = false;
    for (size_t i = 0; i < t->n_inputs; i++)
        inputs[i] = (const char *)t->samples[i] + sample * t->sample_bytes[i];
    if (!check(t, nuc_runner_run(t->program, inputs, t->plain), "run") ||
        !check(t, nuc_runner_run(t->inside, inputs, t->got), "run with inner values") ||
        !check(t, nuc_runner_run(t->slow, inputs, t->of_slow[sample]), "run in plain C") ||
        !same_as_slow(t, t->plain, sample, "by vector instructions"))
        return false;
    if (!read_values(t))
        return false;
    for (uint32_t i = 0; i < t->teacher.n_values; i++)
        inputs[t->n_inputs + i] = t->given[i];
    if (!check(t, nuc_model_run(t->taught, inputs, t->expected), "evaluate"))
        return false;
    for (uint32_t i = 0; i < t->teacher.n_values && good; i++)
        good = judge_value(t, i);
    for (uint32_t i = 0; i < t->teacher.n_outputs && good; i++)
        good = judge_output(t, i);
    return good;
}

/* ---- the report ---- */

static void save_model(const struct trial *t, struct nuc_model *m, const char *suffix)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%llu%s.pt2", t->q->save, (unsigned long long)t->q->seed, suffix);
    if (m != NULL && nuc_model_write(m, path) != NUC_OK)
        fprintf(stderr, "differential: %s\n", nuc_compiler_message(t->c));
}

/* The graph as text, and quantized, without and with its inner values as outputs, as archives for the other tools. */
static void save(const struct trial *t)
{
    struct nuc_model *m = t->quantized != NULL ? t->quantized : t->floating;
    const char *text;
    char path[1024];

    if (m == NULL || nuc_model_text(m, true, &text) != NUC_OK)
        return;
    snprintf(path, sizeof path, "%s/%llu.txt", t->q->save, (unsigned long long)t->q->seed);
    FILE *f = fopen(path, "w");
    if (f == NULL || fputs(text, f) < 0)
        fprintf(stderr, "differential: %s: cannot be written\n", path);
    if (f != NULL)
        fclose(f);
    save_model(t, t->quantized, "");
    save_model(t, t->exposed, "_inner");
}

static void run_trial(const struct request *q, struct totals *sum)
{
    struct trial *t = calloc(1, sizeof *t);

    if (t == NULL)
        abort();
    t->q = q;
    t->sum = sum;
    choose_options(t);
    t->c = nuc_compiler_new(&t->options, NULL);
    t->good = t->c != NULL && make(t);
    if (t->good)
        allocate(t);
    for (size_t k = 0; k < N_RUNS && t->good; k++)
        t->good = run(t, k);
    t->good = t->good && run_side_by_side(t);
    if (q->save != NULL && !t->good)
        save(t);
    sum->graphs++;
    sum->operators += t->random.n_ops;
    sum->failed += !t->good;
    release(t);
    nuc_compiler_free(t->c);
    free(t);
}

static void print_op(const char *name, const struct op_count *count, const char *reason)
{
    if (count->values != 0)
        printf("  %-38s %9zu %9zu %5zu  %s\n", name, count->values, count->different, count->largest,
               reason != NULL ? reason : "exact");
}

static void print_totals(const struct totals *sum, bool quiet)
{
    if (!quiet) {
        printf("  %-38s %9s %9s %5s  allowed: one step because\n", "operator", "values", "different", "steps");
        for (int op = 0; op < NUC_OP_COUNT; op++)
            print_op(nuc_op_name((enum nuc_op)op, NUC_EDGE), &sum->ops[op], teacher_reason((enum nuc_op)op));
        print_op("none: inputs, values quantized again", &sum->requantized, NULL);
    }
    printf("%zu graphs of %zu operators, %zu of %zu Edge nodes in %zu partitions, %zu models judged: %zu failed\n",
           sum->graphs, sum->operators, sum->delegated_nodes, sum->edge_nodes, sum->partitions, sum->models,
           sum->failed);
    if (!quiet)
        printf("(%zu graphs run other operators on the NPU when inner values are outputs: their programs' own outputs "
               "were not compared)\n",
               sum->elsewhere);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/differential_XXXXXX";
    struct request q = {.delegate = true, .target = "imxrt700", .folder = folder};
    struct totals *sum = calloc(1, sizeof *sum);
    uint64_t first = 0, count = 100;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--quiet") == 0) {
            q.quiet = true;
            continue;
        }
        if (strcmp(argv[i], "--first") == 0)
            first = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--graphs") == 0)
            count = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--ops") == 0)
            q.n_ops = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--where") == 0)
            q.delegate = strcmp(value, "cpu") != 0;
        else if (strcmp(argv[i], "--target") == 0)
            q.target = value;
        else if (strcmp(argv[i], "--activations") == 0)
            q.wide = strcmp(value, "int16") == 0;
        else if (strcmp(argv[i], "--save") == 0)
            q.save = value;
        else
            return 2;
        i++;
    }
    if (sum == NULL || mkdtemp(folder) == NULL)
        return 2;
    for (q.seed = first; q.seed < first + count; q.seed++)
        run_trial(&q, sum);
    rmdir(folder);
    print_totals(sum, q.quiet);
    int code = sum->failed == 0 ? 0 : 1;
    free(sum);
    return code;
}
