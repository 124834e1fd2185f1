/*
 * contract [--models N] [--first SEED] [--code N] [--include DIR] [--cc COMMAND] [--save DIR] [--verbose]: what compile
 * accepts, run and generated C accept.
 *
 * Small models with everything that is odd at a boundary (contract_net.h) are compiled for every target under options
 * that the seed draws. Either compile refuses, with one line that names the model and says what helps, or the program
 * loads, runs, and gives what the evaluator gives: of floats the same within rounding, of quantized models within
 * steps. Half of the models go through an archive. Of every N-th program the generated C is compiled and run (0: of
 * none).
 * --save keeps programs, their inputs and outputs for other runtimes, and the models that fail. Exit code 0 when
 * everything held.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contract_code.h"
#include "contract_net.h"
#include "driver/driver.h"
#include "ir/args.h"
#include "ir/quant.h"
#include "nucleon/runner.h"

#define N_SAMPLES 4
#define MAX_OUTPUTS 16

struct totals {
    size_t models, programs, refused, compared, code, code_refused, failed;
};

struct request {
    uint64_t seed;
    size_t code_every;
    const char *include, *cc, *save, *folder;
    bool verbose;
};

struct trial {
    const struct request *q;
    struct totals *sum;
    const char *target;
    struct nuc_options options;
    struct nuc_compiler *c;
    struct net net;
    struct nuc_model *model, *reference; /* reference: what the evaluator runs */
    struct nuc_runner *program;
    bool floats;
    size_t n_inputs, n_outputs, bytes[NET_MAX_INPUTS];
    uint8_t *samples[NET_MAX_INPUTS];
    void *got[MAX_OUTPUTS], *expected[MAX_OUTPUTS];
    char path[1024];
};

static const char *const targets[] = {"imxrt700",   "imxrt700cm", "cortex-m33",
                                      "cortex-m55", "cortex-m85", "cortex-m0plus"};

static bool failed(struct trial *t, const char *what, const char *why)
{
    const struct nuc_options *o = &t->options;

    printf("seed %llu, %s%s%s%s%s%s%s: %s: %s\n%s\n", (unsigned long long)t->q->seed, t->target,
           o->no_quantize ? " --no-quantize" : "", o->io == NUC_IO_INT8 ? " --io int8" : "",
           o->executorch_ops_only ? " --executorch-ops-only" : "",
           o->placement == NUC_PLACEMENT_GREEDY ? " --placement greedy" : "",
           o->dim_order == NUC_DIM_ORDER_CHANNELS_LAST ? " --dim-order channels-last"
           : o->dim_order == NUC_DIM_ORDER_CONTIGUOUS  ? " --dim-order contiguous"
                                                       : "",
           o->use_neutron_for_format_conversion ? "" : " --neutron-format-conversion off", what, why, t->net.text);
    return false;
}

/* ---- making ---- */

static void choose_options(struct trial *t)
{
    static const enum nuc_dim_order orders[] = {NUC_DIM_ORDER_AS_IS, NUC_DIM_ORDER_AS_IS, NUC_DIM_ORDER_CONTIGUOUS,
                                                NUC_DIM_ORDER_CHANNELS_LAST};
    struct random_state r = random_seeded(t->q->seed * 131 + (uint64_t)t->target[strlen(t->target) - 1]);
    struct nuc_options *o = &t->options;

    nuc_options_default(o);
    o->threads = 1;
    o->target = t->target;
    o->accuracy = NUC_ACCURACY_FAST;
    o->no_quantize = !t->floats || random_one_of(&r, 4);
    o->io = random_one_of(&r, 4) && !o->no_quantize ? NUC_IO_INT8 : NUC_IO_FLOAT;
    o->executorch_ops_only = random_one_of(&r, 3);
    o->placement = random_one_of(&r, 2) ? NUC_PLACEMENT_GREEDY : NUC_PLACEMENT_COST;
    o->dim_order = orders[random_in(&r, 0, 3)];
    o->use_neutron_for_format_conversion = !random_one_of(&r, 4);
    o->delegate_data = random_one_of(&r, 3) ? NUC_DELEGATE_SEGMENT : NUC_DELEGATE_INLINE;
    o->plan_delegate_scratch = random_one_of(&r, 3);
}

static void make_net(struct nuc_context *cx, void *arg)
{
    struct trial *t = arg;

    t->net = net_make(cx, t->q->seed, t->floats);
    t->model = nuc_model_make(t->c, t->net.graph);
}

/* Values in [-1, 1]; of integers 0 or 1, which are indices of nearly everything. */
static void make_samples(struct trial *t, const struct nuc_tensor_info *infos)
{
    struct random_state r = random_seeded(t->q->seed ^ 0x5EED);

    for (size_t i = 0; i < t->n_inputs; i++) {
        size_t size = nuc_dtype_size(infos[i].dtype), count = infos[i].bytes / size * N_SAMPLES;
        t->bytes[i] = infos[i].bytes;
        t->samples[i] = calloc(count + 1, size);
        for (size_t k = 0; k < count; k++) {
            float value = random_float(&r, -1.0f, 1.0f);
            if (infos[i].dtype == NUC_F32)
                memcpy(t->samples[i] + k * size, &value, size);
            else
                t->samples[i][k * size] = value > 0.0f;
        }
    }
}

/* As a user gives them: an array for each input, samples along axis 0. */
static enum nuc_status write_samples(struct trial *t, const struct nuc_tensor_info *infos, const char *path)
{
    struct nuc_array_info arrays[NET_MAX_INPUTS];

    for (size_t i = 0; i < t->n_inputs; i++) {
        arrays[i] = (struct nuc_array_info){.name = infos[i].name,
                                            .dtype = infos[i].dtype,
                                            .rank = infos[i].rank + 1,
                                            .data = t->samples[i],
                                            .bytes = N_SAMPLES * infos[i].bytes};
        memcpy(arrays[i].sizes + 1, infos[i].sizes, infos[i].rank * sizeof infos[i].sizes[0]);
        arrays[i].sizes[0] = N_SAMPLES;
    }
    return nuc_write_arrays(t->c, path, arrays, t->n_inputs);
}

/* One line that begins with the file, as every message does. */
static bool refused(struct trial *t, const char *what)
{
    const char *text = nuc_compiler_message(t->c), *colon = strchr(text, ':');

    if (strlen(text) < 30 || colon == NULL || strchr(text, '\n') != NULL || strstr(text, "internal") != NULL ||
        strstr(text, "impossible") != NULL)
        return failed(t, what, text);
    if (t->q->verbose)
        printf("seed %llu, %s: %s\n%s\n", (unsigned long long)t->q->seed, t->target, text, t->net.text);
    t->sum->refused++;
    return true;
}

enum made { MADE, REFUSED, WRONG };

static enum made refuse(struct trial *t, const char *what)
{
    return refused(t, what) ? REFUSED : WRONG;
}

static enum made make_program(struct trial *t)
{
    struct nuc_tensor_info infos[NET_MAX_INPUTS];
    struct nuc_dataset *samples = NULL;
    char archive[1024], data[1024];

    snprintf(archive, sizeof archive, "%s/model.pt2", t->q->folder);
    snprintf(data, sizeof data, "%s/samples.npz", t->q->folder);
    snprintf(t->path, sizeof t->path, "%s/model.pte", t->q->folder);
    if (nuc_try(t->c->cx, make_net, t) != NUC_OK) {
        failed(t, "graph", nuc_compiler_message(t->c));
        return WRONG;
    }
    if (nuc_model_write(t->model, archive) != NUC_OK || nuc_model_open(t->c, archive, &t->model) != NUC_OK)
        return refuse(t, "archive");
    t->n_inputs = nuc_model_n_inputs(t->model);
    t->n_outputs = nuc_model_n_outputs(t->model);
    for (size_t i = 0; i < t->n_inputs; i++)
        nuc_model_input(t->model, i, &infos[i]);
    make_samples(t, infos);
    t->reference = t->model;
    if (!t->options.no_quantize) {
        if (write_samples(t, infos, data) != NUC_OK || nuc_dataset_open(t->c, data, &samples) != NUC_OK ||
            nuc_quantize(t->model, samples, &t->reference) != NUC_OK)
            return refuse(t, "quantize");
    }
    const char *calibration = t->options.no_quantize ? NULL : data;
    return nuc_compile_model(t->model, calibration, t->path) == NUC_OK ? MADE : refuse(t, "compile");
}

/* ---- running ---- */

/* How far apart the program may be: 1e-4 of floats; some steps of the output for each operator in between. */
static float allowed(const struct trial *t, size_t output, float largest)
{
    const struct nuc_graph *g = t->reference->graph;
    const struct nuc_node *node = nuc_output_node(g)->args[NUC_ARG(OUTPUT, values)].u.nodes[output];
    struct nuc_quant q;

    if (t->options.no_quantize)
        return 1e-4f * largest + 1e-5f;
    bool known = nuc_is_dequantize(node) && nuc_dequantize_quant(node, &q) && !q.per_channel;
    return 0.05f * largest + (known ? 4 * (float)q.scale : 0.02f);
}

static bool close_enough(const struct trial *t, size_t output, size_t count)
{
    const float *a = t->expected[output], *b = t->got[output];
    float largest = 0, apart = 0;

    for (size_t i = 0; i < count; i++) {
        if (isnan(a[i]) || isnan(b[i]) || isinf(a[i])) {
            if (!(isnan(a[i]) && isnan(b[i])) && memcmp(&a[i], &b[i], sizeof a[i]) != 0)
                return false;
            continue;
        }
        largest = fmaxf(largest, fabsf(a[i]));
        apart = fmaxf(apart, fabsf(a[i] - b[i]));
    }
    return apart <= allowed(t, output, largest);
}

static bool judge(struct trial *t)
{
    for (size_t i = 0; i < t->n_outputs; i++) {
        struct nuc_tensor_info want, have;
        char text[160];
        if (nuc_model_output(t->reference, i, &want) != NUC_OK || nuc_runner_output(t->program, i, &have) != NUC_OK)
            return failed(t, "outputs", "one is not told");
        if (want.rank != have.rank || memcmp(want.sizes, have.sizes, want.rank * sizeof want.sizes[0]) != 0)
            return failed(t, "outputs", "one has other sizes than the model's");
        if (have.dtype != want.dtype || !t->net.exact)
            continue;
        size_t count = want.bytes / nuc_dtype_size(want.dtype);
        bool same =
            want.dtype == NUC_F32 ? close_enough(t, i, count) : memcmp(t->expected[i], t->got[i], want.bytes) == 0;
        if (!same) {
            snprintf(text, sizeof text, "output %zu is not what the evaluator gives: first value %g, expected %g", i,
                     want.dtype == NUC_F32 ? (double)*(float *)t->got[i] : (double)*(int8_t *)t->got[i],
                     want.dtype == NUC_F32 ? (double)*(float *)t->expected[i] : (double)*(int8_t *)t->expected[i]);
            return failed(t, "outputs", text);
        }
        t->sum->compared++;
    }
    return true;
}

static bool allocate(struct trial *t)
{
    if (nuc_runner_n_outputs(t->program) != t->n_outputs || t->n_outputs > MAX_OUTPUTS ||
        nuc_runner_n_inputs(t->program) != t->n_inputs)
        return failed(t, "program", "has not as many inputs and outputs as the model");
    for (size_t i = 0; i < t->n_outputs; i++) {
        struct nuc_tensor_info info = {.bytes = 0}, of_model = {.bytes = 0};
        nuc_runner_output(t->program, i, &info);
        nuc_model_output(t->reference, i, &of_model);
        t->got[i] = calloc(info.bytes + 8, 1);
        t->expected[i] = calloc(of_model.bytes + 8, 1);
    }
    return true;
}

/*
 * Samples as the program takes them: with int8 inputs any int8 values do. The evaluator does not know every operator
 * over integers: then nothing is compared.
 */
static bool run(struct trial *t, size_t sample)
{
    const void *inputs[NET_MAX_INPUTS];

    for (size_t i = 0; i < t->n_inputs; i++)
        inputs[i] = t->samples[i] + sample * t->bytes[i];
    if (nuc_runner_run(t->program, inputs, t->got) != NUC_OK)
        return failed(t, "run", nuc_compiler_message(t->c));
    if (t->options.io == NUC_IO_INT8)
        return true;
    if (nuc_model_run(t->reference, inputs, t->expected) != NUC_OK)
        return strstr(nuc_compiler_message(t->c), "cannot be evaluated") != NULL ||
               failed(t, "evaluate", nuc_compiler_message(t->c));
    return judge(t);
}

static bool check_code(struct trial *t)
{
    const void *inputs[NET_MAX_INPUTS];
    const char *why_not;

    if (t->q->code_every == 0 || t->sum->programs % t->q->code_every != 0)
        return true;
    for (size_t i = 0; i < t->n_inputs; i++)
        inputs[i] = t->samples[i] + (N_SAMPLES - 1) * t->bytes[i];
    const char *wrong =
        code_check(t->c, t->path, t->q->folder, t->q->cc, t->q->include, t->program, inputs, t->got, &why_not);
    t->sum->code++;
    t->sum->code_refused += why_not != NULL;
    if (why_not != NULL)
        return failed(t, "codegen", why_not);
    return wrong == NULL || failed(t, "codegen", wrong);
}

/* For another runtime: the program, the first sample's inputs and the outputs of run, in logical order. */
static void save(struct trial *t)
{
    char path[2048], from[1200];

    if (t->q->save == NULL || t->options.io == NUC_IO_INT8)
        return;
    snprintf(path, sizeof path, "%s/%llu_%s", t->q->save, (unsigned long long)t->q->seed, t->target);
    snprintf(from, sizeof from, "%s", t->path);
    size_t length = strlen(path);
    snprintf(path + length, sizeof path - length, "%s.pte", t->options.executorch_ops_only ? "_et" : "");
    if (rename(from, path) != 0)
        perror(path);
    snprintf(path + length, sizeof path - length, "%s.io", t->options.executorch_ops_only ? "_et" : "");
    FILE *f = fopen(path, "wb");
    for (size_t i = 0; f != NULL && i < t->n_inputs; i++)
        fwrite(t->samples[i] + (N_SAMPLES - 1) * t->bytes[i], 1, t->bytes[i], f);
    for (size_t i = 0; f != NULL && i < t->n_outputs; i++) {
        struct nuc_tensor_info info;
        if (nuc_runner_output(t->program, i, &info) == NUC_OK)
            fwrite(t->got[i], 1, info.bytes, f);
    }
    if (f != NULL)
        fclose(f);
}

/* The model and its samples, for the command line. */
static void save_failure(const struct trial *t)
{
    static const char *const names[] = {"model.pt2", "samples.npz"};
    char from[1200], to[1200];

    for (size_t i = 0; i < 2 && t->q->save != NULL; i++) {
        snprintf(from, sizeof from, "%s/%s", t->q->folder, names[i]);
        snprintf(to, sizeof to, "%s/%llu_%s.%s", t->q->save, (unsigned long long)t->q->seed, t->target, names[i]);
        if (rename(from, to) != 0)
            perror(to);
    }
}

static void release(struct trial *t)
{
    for (size_t i = 0; i < MAX_OUTPUTS; i++) {
        free(t->got[i]);
        free(t->expected[i]);
    }
    for (size_t i = 0; i < NET_MAX_INPUTS; i++)
        free(t->samples[i]);
    nuc_runner_close(t->program);
    nuc_compiler_free(t->c);
}

static void run_trial(const struct request *q, const char *target, struct totals *sum)
{
    struct trial t = {.q = q, .sum = sum, .target = target, .floats = q->seed % 4 != 3};

    choose_options(&t);
    t.c = nuc_compiler_new(&t.options, NULL);
    enum made made = t.c != NULL ? make_program(&t) : WRONG;
    bool good = made != WRONG;
    if (made == MADE) {
        sum->programs++;
        good =
            nuc_runner_open(t.c, t.path, NULL, &t.program) == NUC_OK || failed(&t, "load", nuc_compiler_message(t.c));
        good = good && allocate(&t);
        for (size_t k = 0; k < N_SAMPLES && good; k++)
            good = run(&t, k);
        good = good && check_code(&t);
        if (good)
            save(&t);
    }
    if (!good)
        save_failure(&t);
    sum->models++;
    sum->failed += !good;
    release(&t);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/contract_XXXXXX", path[64];
    struct request q = {.include = "include", .cc = "cc", .folder = folder};
    struct totals sum = {.models = 0};
    uint64_t first = 0, count = 100;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--verbose") == 0) {
            q.verbose = true;
            continue;
        }
        if (strcmp(argv[i], "--first") == 0)
            first = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--models") == 0)
            count = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--code") == 0)
            q.code_every = strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--include") == 0)
            q.include = value;
        else if (strcmp(argv[i], "--cc") == 0)
            q.cc = value;
        else if (strcmp(argv[i], "--save") == 0)
            q.save = value;
        else
            return 2;
        i++;
    }
    if (mkdtemp(folder) == NULL)
        return 2;
    for (q.seed = first; q.seed < first + count; q.seed++) {
        for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
            run_trial(&q, targets[i], &sum);
    }
    static const char *const files[] = {"/model.pt2", "/model.pte", "/samples.npz", "/code", ""};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s%s", folder, files[i]);
        remove(path);
    }
    printf("contract: %zu cases, %zu failed (%zu programs, %zu refused, %zu outputs compared, C of %zu)\n", sum.models,
           sum.failed, sum.programs, sum.refused, sum.compared, sum.code);
    return sum.failed == 0 ? 0 : 1;
}
