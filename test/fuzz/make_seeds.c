/*
 * make_seeds OUT FOLDER...: inputs of the fuzz targets, made from today's formats, so that none is refused for being of
 * yesterday. OUT gets a folder for each kind: graph_text, pt2, litert, container, program, bundle, payload, selection,
 * arrays, and pairs (fuzz_support.h) for calibrate, run, runtime and driver. They come from small random networks
 * (test/differential), compiled for each target, and from the models in the FOLDERs (`golden --save`). The same build
 * makes the same files.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/arrays.h"
#include "differential/random_graph.h"
#include "driver/driver.h"
#include "driver/lowered.h"
#include "graph_text/parse_graph.h"
#include "host/file.h"
#include "npu/container/container.h"
#include "npu/convert/kernel_selection.h"
#include "nucleon/runner.h"
#include "nucleon/runtime.h"

#define MOST_BYTES 12288        /* of a seed: what is longer takes mutations longer to get anywhere */
#define N_NETWORKS 40           /* for each way of compiling */
#define STATES (N_NETWORKS + 1) /* the last one of each is no random one */
#define N_SAMPLES 3
#define MOST_IO 6 /* inputs and outputs of a program that are set in sequences of calls */

/* A way to compile. */
struct way {
    const char *name, *target;
    bool no_quantize, profile, fetch, plan_scratch, reference;
    enum nuc_io io;
};

static const struct way ways[] = {
    {"npu", "imxrt700", false, false, false, false, false, NUC_IO_FLOAT},
    {"fetch", "imxrt700", false, true, true, true, false, NUC_IO_INT8},
    {"npucm", "imxrt700cm", false, true, false, true, false, NUC_IO_INT8},
    {"m33", "cortex-m33", false, false, false, false, false, NUC_IO_INT8},
    {"float", "imxrt700", true, false, false, false, false, NUC_IO_FLOAT},
    {"ref", "imxrt700", false, false, false, false, true, NUC_IO_FLOAT},
};

enum { N_WAYS = sizeof ways / sizeof ways[0] };

struct maker {
    const char *out;
    char temporary[512];         /* a path for what calls write */
    uint8_t samples[MOST_BYTES]; /* of the network under way, as an .npz; `n_samples` bytes, 0: too long */
    size_t n_samples;
    size_t made;
};

_Noreturn static void stop(const char *what, const char *why)
{
    fprintf(stderr, "make_seeds: %s: %s\n", what, why);
    exit(1);
}

static void keep(const struct maker *m, const char *kind, const char *name, const void *data, size_t size)
{
    static const char *const long_kinds[] = {"pt2", "calibrate", "run"}; /* JSON, and two files */
    size_t most = MOST_BYTES / 2;
    char path[1024];

    for (size_t i = 0; i < sizeof long_kinds / sizeof long_kinds[0]; i++)
        most = strcmp(kind, long_kinds[i]) == 0 ? MOST_BYTES : most;
    if (size == 0 || size > most)
        return;
    snprintf(path, sizeof path, "%s/%s", m->out, kind);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        stop(path, strerror(errno));
    snprintf(path, sizeof path, "%s/%s/%s", m->out, kind, name);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        stop(path, "cannot be written");
}

/* What a call wrote to the temporary file, which is gone then: its size, or 0 when that is above MOST_BYTES. */
static size_t take_file(const struct maker *m, uint8_t *bytes)
{
    FILE *f = fopen(m->temporary, "rb");

    if (f == NULL)
        return 0;
    size_t size = fread(bytes, 1, MOST_BYTES, f);
    size = getc(f) == EOF ? size : 0;
    fclose(f);
    unlink(m->temporary);
    return size;
}

static void keep_file(const struct maker *m, const char *kind, const char *name)
{
    static uint8_t bytes[MOST_BYTES];

    keep(m, kind, name, bytes, take_file(m, bytes));
}

static void make_options(const struct way *w, struct nuc_options *o)
{
    nuc_options_default(o);
    o->target = w->target;
    o->no_quantize = w->no_quantize;
    o->profile = w->profile;
    o->fetch_constants_to_sram = w->fetch;
    o->plan_delegate_scratch = w->plan_scratch;
    o->reference_compat = w->reference;
    o->io = w->io;
    o->threads = 1;
    o->placement = NUC_PLACEMENT_GREEDY; /* small networks gain nothing on the NPU */
    o->accuracy = NUC_ACCURACY_FAST;
}

/* Two files as an input of two parts (fuzz_support.h). */
static void keep_pair(const struct maker *m, const char *kind, const char *name, const void *first, size_t first_size,
                      const void *second, size_t second_size)
{
    static uint8_t pair[2 * MOST_BYTES + 4];

    if (first_size > MOST_BYTES || second_size > MOST_BYTES || first_size == 0 || second_size == 0)
        return;
    nuc_store_u32(pair, (uint32_t)first_size);
    memcpy(pair + 4, first, first_size);
    memcpy(pair + 4 + first_size, second, second_size);
    keep(m, kind, name, pair, 4 + first_size + second_size);
}

/* ---- the pieces of a compilation ---- */

static void keep_partitions(struct maker *m, struct nuc_compiler *c, struct nuc_model *lowered, const char *name)
{
    char file[160];

    for (size_t i = 0; i < nuc_model_n_partitions(lowered); i++) {
        struct nuc_partition_info p;
        if (nuc_model_partition(lowered, i, &p) != NUC_OK)
            stop(name, nuc_compiler_message(c));
        snprintf(file, sizeof file, "%s_%zu.tflite", name, i);
        keep(m, "litert", file, p.litert, p.litert_size);
        snprintf(file, sizeof file, "%s_%zu.payload", name, i);
        keep(m, "payload", file, p.payload, p.payload_size);
        /* Configure, prepare, a run with a trace; everything else is for the fuzzer to find. */
        static const uint8_t calls[] = {9, 0, 0, 0, 7, 10, 0, 0, 0, 0, 0, 1, 5, 2, 3, 255, 1, 0, 0, 0,
                                        6, 0, 0, 0, 1, 0,  0, 0, 2, 0, 0, 0, 0, 1, 0, 0,   1, 1, 0, 0};
        snprintf(file, sizeof file, "%s_%zu.calls", name, i);
        keep_pair(m, "driver", file, p.payload, p.payload_size, calls, sizeof calls);
    }
}

/* The LiteRT model of the first partition as the command `convert` makes it. */
static void keep_container(struct maker *m, struct nuc_compiler *c, struct nuc_model *lowered, const char *name)
{
    struct nuc_convert_model_options options = {.profile = strstr(name, "fetch") != NULL};
    struct nuc_partition_info p;
    char file[160];

    if (nuc_model_n_partitions(lowered) == 0 || nuc_model_partition(lowered, 0, &p) != NUC_OK)
        return;
    FILE *f = fopen(m->temporary, "wb");
    if (f == NULL || fwrite(p.litert, 1, p.litert_size, f) != p.litert_size || fclose(f) != 0)
        stop(m->temporary, "cannot be written");
    if (nuc_convert_model(c, m->temporary, m->temporary, &options, NULL) != NUC_OK)
        return;
    snprintf(file, sizeof file, "%s.tflite", name);
    keep_file(m, "container", file);
}

static void keep_model(struct maker *m, struct nuc_compiler *c, struct nuc_model *model, const char *name)
{
    char file[160];
    const char *text;

    if (nuc_model_text(model, true, &text) != NUC_OK)
        stop(name, nuc_compiler_message(c));
    snprintf(file, sizeof file, "%s.txt", name);
    keep(m, "graph_text", file, text, strlen(text));
    snprintf(file, sizeof file, "%s.pt2", name);
    if (nuc_model_write(model, m->temporary) == NUC_OK)
        keep_file(m, "pt2", file);
    if (nuc_model_is_quantized(model))
        return;
    uint8_t *archive = malloc(MOST_BYTES);
    size_t size = nuc_model_write(model, m->temporary) == NUC_OK ? take_file(m, archive) : 0;
    snprintf(file, sizeof file, "%s.calibrate", name);
    keep_pair(m, "calibrate", file, archive, size, m->samples, m->n_samples);
    free(archive);
}

struct selected {
    const struct maker *m;
    const struct nuc_lowered *lowered;
    const char *name;
};

static void keep_selection(struct nuc_context *cx, void *arg)
{
    const struct selected *s = arg;
    struct nuc_kernel_selection selection = {.used = {false}};

    for (uint32_t i = 0; i < s->lowered->n_partitions; i++)
        nuc_kernel_selection_add(&selection, s->lowered->partitions[i].image);
    struct nuc_span text = nuc_kernel_selection_write(cx, &selection);
    keep(s->m, "selection", nuc_format(cx, "%s.c", s->name), text.data, text.size);
}

/* Load, inputs and outputs, an execution, and all of it again. */
static void keep_calls(const struct maker *m, const char *name, const uint8_t *program, size_t size)
{
    static const uint8_t load[] = {0, 0, 0, 0}, end[] = {3, 0, 0, 0, 4, 0, 0, 0, 4, 1, 0, 0, 6, 1, 7, 0, 6, 0, 0, 1};
    uint8_t calls[2 * (sizeof load + 8 * MOST_IO + sizeof end)];
    size_t n = 0;
    char file[160];

    for (int round = 0; round < 2; round++) {
        memcpy(calls + n, load, sizeof load);
        n += sizeof load;
        for (uint8_t i = 0; i < MOST_IO; i++) {
            const uint8_t set[] = {1, i, 0, 0, 2, i, 0, 0};
            memcpy(calls + n, set, sizeof set);
            n += sizeof set;
        }
        memcpy(calls + n, end, round == 0 ? sizeof end : 4);
        n += round == 0 ? sizeof end : 4;
    }
    snprintf(file, sizeof file, "%s.calls", name);
    keep_pair(m, "runtime", file, program, size, calls, n);
}

static void keep_bundle(const struct maker *m, struct nuc_compiler *c, const char *name, const uint8_t *program,
                        size_t size)
{
    struct nuc_runner *r;
    char file[160];

    if (nuc_runner_open_bytes(c, name, program, size, NULL, &r) != NUC_OK)
        return; /* of more memory than there is */
    snprintf(file, sizeof file, "%s.bpte", name);
    if (nuc_runner_write_bundle(r, NULL, NULL, 2, m->temporary) == NUC_OK)
        keep_file(m, "bundle", file);
    nuc_runner_close(r);
}

static void lower(struct maker *m, struct nuc_compiler *c, struct nuc_model *model, const char *name)
{
    struct nuc_model *partitioned, *lowered;
    struct nuc_program_sizes sizes;
    const uint8_t *bytes;
    const void *facts;
    size_t size, facts_size;
    char file[160];

    if (nuc_partition(model, &partitioned) != NUC_OK || nuc_lower(partitioned, &lowered) != NUC_OK ||
        nuc_program(lowered, &bytes, &size) != NUC_OK)
        return;
    if (nuc_program_sizes(bytes, size, &nuc_default_backends, &sizes, NULL) != NUC_OK)
        stop(name, "the runtime refuses the program");
    m->made++;
    snprintf(file, sizeof file, "%s.pte", name);
    keep(m, "program", file, bytes, size);
    keep_calls(m, name, bytes, size);
    if (nuc_program_named_data(bytes, size, "nucleon", &facts, &facts_size, NULL) == NUC_OK) {
        snprintf(file, sizeof file, "%s.json", name);
        keep(m, "facts", file, facts, facts_size);
    }
    snprintf(file, sizeof file, "%s.run", name);
    keep_pair(m, "run", file, bytes, size, m->samples, m->n_samples);
    keep_bundle(m, c, name, bytes, size);
    keep_partitions(m, c, lowered, name);
    struct selected s = {m, lowered->lowered, name};
    if (nuc_model_n_partitions(lowered) != 0 && nuc_try(c->cx, keep_selection, &s) != NUC_OK)
        stop(name, c->cx->message);
    keep_container(m, c, lowered, name);
}

/* ---- random networks ---- */

struct network {
    struct nuc_compiler *c;
    struct random_graph random;
    struct nuc_model *model;
    uint64_t seed;
    bool reference;
};

/* A network that remembers: a vector that begins with other values than zero, and a ring of rows. */
static const char states_text[] = "nucleon-graph 1\n"
                                  "%h = state \"cell.h\" : float32[1, 4] values(1, -1, 0.5, 0)\n"
                                  "%ring = state \"ring\" : float32[1, 4, 4] values(0)\n"
                                  "%x = input : float32[1, 4]\n"
                                  "%add = aten.add.Tensor(%x, %h) : float32[1, 4]\n"
                                  "%tanh = aten.tanh.default(%add) : float32[1, 4]\n"
                                  "%row = aten.unsqueeze.default(%tanh, 1) : float32[1, 1, 4]\n"
                                  "%old = aten.slice.Tensor(%ring, 1, 1, 4) : float32[1, 3, 4]\n"
                                  "%new = aten.cat.default([%old, %row], 1) : float32[1, 4, 4]\n"
                                  "%mean = aten.mean.dim(%new, [1]) : float32[1, 4]\n"
                                  "%output = output([%mean, %tanh, %new])\n";

static void make_network(struct nuc_context *cx, void *arg)
{
    struct network *n = arg;

    if (n->seed == STATES)
        n->random =
            (struct random_graph){.graph = nuc_graph_parse(cx, "states", states_text), .low = {-1}, .high = {1}};
    else
        n->random = random_graph_make(cx, n->seed, 1 + (unsigned)(n->seed % 5));
    n->model = nuc_model_make(n->c, n->random.graph);
}

/* Samples, which are a seed themselves. */
static struct nuc_dataset *make_samples(struct maker *m, const struct network *n, const char *name)
{
    struct nuc_array_info arrays[RANDOM_MAX_INPUTS];
    char names[RANDOM_MAX_INPUTS][32], file[160];
    float *values[RANDOM_MAX_INPUTS] = {NULL};
    struct random_state r = random_seeded(n->seed ^ 0x5EED);
    struct nuc_dataset *data;
    size_t n_inputs = nuc_model_n_inputs(n->model);

    for (size_t i = 0; i < n_inputs; i++) {
        struct nuc_tensor_info info;
        nuc_model_input(n->model, i, &info);
        size_t count = N_SAMPLES * info.bytes / sizeof(float);
        values[i] = malloc(count * sizeof(float));
        for (size_t k = 0; k < count; k++)
            values[i][k] = random_float(&r, n->random.low[i], n->random.high[i]);
        if (n->reference) /* such programs do not say what their inputs are called */
            snprintf(names[i], sizeof names[i], "in%zu", i);
        else
            snprintf(names[i], sizeof names[i], "%s", info.name);
        arrays[i] = (struct nuc_array_info){
            .name = names[i], .dtype = NUC_F32, .rank = info.rank, .data = values[i], .bytes = N_SAMPLES * info.bytes};
        memcpy(arrays[i].sizes, info.sizes, sizeof info.sizes);
        arrays[i].sizes[0] *= N_SAMPLES;
    }
    if (nuc_write_arrays(n->c, m->temporary, arrays, n_inputs) != NUC_OK ||
        nuc_dataset_open(n->c, m->temporary, &data) != NUC_OK)
        stop(name, nuc_compiler_message(n->c));
    for (size_t i = 0; i < n_inputs; i++)
        free(values[i]);
    m->n_samples = take_file(m, m->samples);
    snprintf(file, sizeof file, "%s.npz", name);
    if (n->seed % 4 == 0)
        keep(m, "arrays", file, m->samples, m->n_samples);
    return data;
}

static void compile_network(struct maker *m, size_t way, uint64_t seed)
{
    struct nuc_options options;
    struct network n = {.seed = seed, .reference = ways[way].reference};
    struct nuc_model *quantized;
    char name[128];

    make_options(&ways[way], &options);
    n.c = nuc_compiler_new(&options, NULL);
    if (n.c == NULL || nuc_try(n.c->cx, make_network, &n) != NUC_OK)
        stop("network", "cannot be made");
    snprintf(name, sizeof name, "net%02llu_%s", (unsigned long long)seed, ways[way].name);
    struct nuc_dataset *samples = make_samples(m, &n, name);
    if (options.no_quantize) {
        keep_model(m, n.c, n.model, name);
        lower(m, n.c, n.model, name);
    } else if (nuc_quantize(n.model, samples, &quantized) == NUC_OK) {
        keep_model(m, n.c, quantized, name);
        lower(m, n.c, quantized, name);
    }
    unlink(m->temporary);
    nuc_compiler_free(n.c);
}

/* ---- models of files ---- */

static void compile_file(struct maker *m, const char *path)
{
    m->n_samples = 0;
    static uint8_t bytes[MOST_BYTES + 1];
    struct nuc_options options;
    struct nuc_model *model;
    char name[128];
    const char *end = strrchr(path, '.');

    make_options(&ways[N_WAYS - 2], &options);
    struct nuc_compiler *c = nuc_compiler_new(&options, NULL);
    if (c == NULL || nuc_model_open(c, path, &model) != NUC_OK)
        stop(path, c == NULL ? "memory is exhausted" : nuc_compiler_message(c));
    snprintf(name, sizeof name, "%.*s", (int)(end - nuc_base_name(path)), nuc_base_name(path));
    FILE *f = fopen(path, "rb");
    size_t size = f == NULL ? 0 : fread(bytes, 1, sizeof bytes, f);
    if (f != NULL)
        fclose(f);
    keep(m, strcmp(end, ".pt2") == 0 ? "pt2" : "litert", nuc_base_name(path), bytes, size);
    lower(m, c, model, name);
    nuc_compiler_free(c);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void compile_folder(struct maker *m, const char *folder)
{
    static char *names[4096];
    size_t count = 0;
    DIR *dir = opendir(folder);
    char path[1024];

    if (dir == NULL)
        stop(folder, strerror(errno));
    for (const struct dirent *e; (e = readdir(dir)) != NULL && count < 4096;) {
        if (strchr(e->d_name, '.') != NULL && e->d_name[0] != '.')
            names[count++] = strdup(e->d_name);
    }
    closedir(dir);
    qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        compile_file(m, path);
        free(names[i]);
    }
}

int main(int argc, char **argv)
{
    struct maker m = {.out = argc > 1 ? argv[1] : ""};

    if (argc < 2) {
        fprintf(stderr, "usage: make_seeds OUT FOLDER...\n");
        return 2;
    }
    if (mkdir(m.out, 0777) != 0 && errno != EEXIST)
        stop(m.out, strerror(errno));
    snprintf(m.temporary, sizeof m.temporary, "%s/.seed", m.out);
    for (size_t way = 0; way < N_WAYS; way++) {
        for (uint64_t seed = 1; seed <= STATES; seed++)
            compile_network(&m, way, seed);
    }
    for (int i = 2; i < argc; i++)
        compile_folder(&m, argv[i]);
    printf("%zu programs\n", m.made);
    return 0;
}
