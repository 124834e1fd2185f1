/*
 * strips [--graphs N] [--first SEED] [--io int8]: programs that a memory budget has computed in strips give the bytes
 * of the programs without. Networks are random: images through convolutions of any stride, padding, dilation and
 * groups, pools, residual additions and functions; every third is one of the differential test. Each is compiled for
 * its own arena and for smaller ones until the compiler refuses, which is not a failure; a program that is made fits
 * its budget. Exit code 0 when everything held, and strips were met, some of them with rows that are kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/driver.h"
#include "graph_text/parse_graph.h"
#include "host/text.h"
#include "nucleon/runner.h"
#include "random_graph.h"

#define N_SAMPLES 3
#define MAX_VALUES 24
#define MAX_IO 400

struct image {
    int64_t channels, height, width;
};

struct net {
    struct nuc_context *cx;
    struct random_state r;
    struct nuc_text head, body;
    struct image values[MAX_VALUES];
    unsigned n_values, n_weights;
};

/* ---- networks ---- */

static int64_t in(struct net *n, int64_t low, int64_t high)
{
    return random_in(&n->r, low, high);
}

static unsigned add_weight(struct net *n, int64_t o, int64_t i, int64_t h, int64_t w)
{
    nuc_text_addf(&n->head, "%%w%u = parameter \"w%u\" : float32[%lld, %lld, %lld, %lld] values(", n->n_weights,
                  n->n_weights, (long long)o, (long long)i, (long long)h, (long long)w);
    for (int64_t k = 0; k < o * i * h * w; k++)
        nuc_text_addf(&n->head, "%s%.3f", k == 0 ? "" : ", ", (double)random_float(&n->r, -0.5f, 0.5f));
    nuc_text_addf(&n->head, ")\n");
    return n->n_weights++;
}

static void add_value(struct net *n, struct image image)
{
    n->values[n->n_values++] = image;
}

/* Windows that fit: false, and nothing is added, for others. */
static bool add_conv(struct net *n, unsigned from)
{
    struct image v = n->values[from];
    bool depthwise = in(n, 0, 2) == 0;
    int64_t k[2], s[2], p[2], d[2], size[2] = {v.height, v.width};
    int64_t out = depthwise ? v.channels * in(n, 1, v.channels > 6 ? 1 : 2) : in(n, 1, 12);

    for (int i = 0; i < 2; i++) {
        k[i] = in(n, 0, 2) == 0 ? 1 : in(n, 0, 1) == 0 ? 3 : in(n, 1, 5);
        s[i] = in(n, 1, 2);
        p[i] = in(n, 0, 3) == 0 ? in(n, 0, 4) : in(n, 0, k[i] / 2);
        d[i] = in(n, 0, 4) == 0 ? 2 : 1;
        int64_t room = size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1;
        if (room < 0 || size[i] < 2)
            return false;
        size[i] = room / s[i] + 1;
    }
    unsigned w = add_weight(n, out, depthwise ? 1 : v.channels, k[0], k[1]);
    nuc_text_addf(&n->body,
                  "%%v%u = aten.conv2d.default(%%v%u, %%w%u, none, [%lld, %lld], [%lld, %lld], [%lld, %lld], %lld)\n",
                  n->n_values, from, w, (long long)s[0], (long long)s[1], (long long)p[0], (long long)p[1],
                  (long long)d[0], (long long)d[1], (long long)(depthwise ? v.channels : 1));
    add_value(n, (struct image){out, size[0], size[1]});
    return true;
}

static void add_pad(struct net *n, unsigned from)
{
    struct image v = n->values[from];
    long long p[4];

    for (int i = 0; i < 4; i++)
        p[i] = in(n, 0, 3);
    nuc_text_addf(&n->body, "%%v%u = aten.constant_pad_nd.default(%%v%u, [%lld, %lld, %lld, %lld], 0.0)\n", n->n_values,
                  from, p[0], p[1], p[2], p[3]);
    add_value(n, (struct image){v.channels, v.height + p[2] + p[3], v.width + p[0] + p[1]});
}

static void add_pool(struct net *n, unsigned from)
{
    struct image v = n->values[from];
    int64_t k = in(n, 2, 3), s = in(n, 1, 2), p = in(n, 0, 1);

    if (v.height + 2 * p < k || v.width + 2 * p < k)
        return;
    nuc_text_addf(&n->body, "%%v%u = aten.%s.default(%%v%u, [%lld, %lld], [%lld, %lld], [%lld, %lld])\n", n->n_values,
                  in(n, 0, 1) == 0 ? "max_pool2d" : "avg_pool2d", from, (long long)k, (long long)k, (long long)s,
                  (long long)s, (long long)p, (long long)p);
    add_value(n, (struct image){v.channels, (v.height + 2 * p - k) / s + 1, (v.width + 2 * p - k) / s + 1});
}

/* Of two images of one size, or of one with itself. */
static void add_binary(struct net *n, unsigned from)
{
    static const char *const calls[] = {"aten.add.Tensor", "aten.mul.Tensor", "aten.maximum.default"};
    unsigned other = n->n_values - 1;

    while (other > 0 && (other == from || memcmp(&n->values[other], &n->values[from], sizeof n->values[0]) != 0))
        other--;
    if (memcmp(&n->values[other], &n->values[from], sizeof n->values[0]) != 0)
        other = from;
    nuc_text_addf(&n->body, "%%v%u = %s(%%v%u, %%v%u)\n", n->n_values, calls[in(n, 0, 2)], from, other);
    add_value(n, n->values[from]);
}

static void add_unary(struct net *n, unsigned from)
{
    static const char *const calls[] = {"relu", "sigmoid", "hardswish", "relu6"};

    nuc_text_addf(&n->body, "%%v%u = aten.%s.default(%%v%u)\n", n->n_values, calls[in(n, 0, 3)], from);
    add_value(n, n->values[from]);
}

static struct nuc_graph *random_images(struct nuc_context *cx, uint64_t seed)
{
    struct net n = {.cx = cx, .r = random_seeded(seed ^ 0x57217), .head = {.cx = cx}, .body = {.cx = cx}};

    add_value(&n, (struct image){in(&n, 1, 4), in(&n, 8, 40), in(&n, 4, 24)});
    unsigned ops = (unsigned)in(&n, 3, 14);
    for (unsigned i = 0; i < 3 * ops && n.n_values < ops; i++) {
        unsigned from = in(&n, 0, 3) == 0 ? (unsigned)in(&n, 0, n.n_values - 1) : n.n_values - 1;
        int64_t kind = in(&n, 0, 11);
        if (kind < 6)
            add_conv(&n, from);
        else if (kind == 6)
            add_pad(&n, from);
        else if (kind < 9)
            add_pool(&n, from);
        else if (kind < 11)
            add_binary(&n, from);
        else
            add_unary(&n, from);
    }
    const struct image *x = &n.values[0];
    return nuc_graph_parse(
        cx, "strips",
        nuc_format(cx,
                   "nucleon-graph 1\n%s%%v0 = input : float32[1, %lld, %lld, %lld]%s\n%s%%m = aten.mean.dim(%%v%u, "
                   "[2, 3])\n%%output = output([%%m])\n",
                   nuc_text_string(&n.head), (long long)x->channels, (long long)x->height, (long long)x->width,
                   in(&n, 0, 1) == 0 ? " channels-last" : "", nuc_text_string(&n.body), n.n_values - 1));
}

/* ---- programs ---- */

struct trial {
    uint64_t seed;
    bool int8;
    const char *folder;
    char model[512], samples[512], program[512];
    size_t n_strips, n_programs, n_keep; /* keep: programs that keep rows from one strip for the next */
    bool good;
};

struct outputs {
    size_t count, bytes[MAX_IO];
    void *data[MAX_IO]; /* N_SAMPLES of each */
};

struct making {
    struct nuc_compiler *c;
    uint64_t seed;
    struct nuc_model *model;
};

static void make(struct nuc_context *cx, void *arg)
{
    struct making *m = arg;
    bool any = m->seed % 3 == 2;
    struct nuc_graph *g = any ? random_graph_make(cx, m->seed, 12).graph : random_images(cx, m->seed);

    m->model = nuc_model_make(m->c, g);
}

static struct nuc_compiler *compiler(const struct trial *t, size_t budget)
{
    struct nuc_options o;

    nuc_options_default(&o);
    o.threads = 1;
    o.target = "cortex-m33";
    o.accuracy = NUC_ACCURACY_FAST;
    o.io = t->int8 ? NUC_IO_INT8 : NUC_IO_FLOAT;
    o.memory_budget = budget;
    return nuc_compiler_new(&o, NULL);
}

static enum nuc_status write_samples(struct nuc_compiler *c, const struct nuc_model *m, uint64_t seed, const char *path)
{
    struct random_state r = random_seeded(seed ^ 0x5EED);
    struct nuc_array_info arrays[RANDOM_MAX_INPUTS];
    float *data[RANDOM_MAX_INPUTS] = {NULL};
    char names[RANDOM_MAX_INPUTS][32];
    size_t n = nuc_model_n_inputs(m);

    for (size_t i = 0; i < n; i++) {
        struct nuc_tensor_info info;
        nuc_model_input(m, i, &info);
        size_t count = N_SAMPLES * info.bytes / sizeof(float);
        data[i] = malloc(count * sizeof(float) + 1);
        for (size_t k = 0; k < count; k++)
            data[i][k] = random_float(&r, -1.0f, 1.0f);
        snprintf(names[i], sizeof names[i], "in%zu", i);
        arrays[i] = (struct nuc_array_info){.name = names[i],
                                            .dtype = NUC_F32,
                                            .rank = info.rank + 1,
                                            .data = data[i],
                                            .bytes = N_SAMPLES * info.bytes};
        memcpy(arrays[i].sizes + 1, info.sizes, info.rank * sizeof info.sizes[0]);
        arrays[i].sizes[0] = N_SAMPLES;
    }
    enum nuc_status s = nuc_write_arrays(c, path, arrays, n);
    for (size_t i = 0; i < n; i++)
        free(data[i]);
    return s;
}

/* The model quantized once, so that all programs are made of the same numbers. False when this model cannot be. */
static bool quantize(struct trial *t)
{
    struct making m = {.c = compiler(t, 0), .seed = t->seed};
    struct nuc_dataset *data;
    struct nuc_model *quantized;
    bool good = m.c != NULL && nuc_try(m.c->cx, make, &m) == NUC_OK &&
                write_samples(m.c, m.model, t->seed, t->samples) == NUC_OK &&
                nuc_dataset_open(m.c, t->samples, &data) == NUC_OK &&
                nuc_quantize(m.model, data, &quantized) == NUC_OK && nuc_model_write(quantized, t->model) == NUC_OK;

    if (!good) {
        printf("seed %llu: %s\n", (unsigned long long)t->seed, m.c == NULL ? "no memory" : nuc_compiler_message(m.c));
        t->good = false;
    }
    nuc_compiler_free(m.c);
    return good;
}

static void failed(struct trial *t, size_t budget, const char *what)
{
    printf("seed %llu, %zu bytes: %s\n", (unsigned long long)t->seed, budget, what);
    t->good = false;
}

/* Inputs are the same for every program; values calibration has not seen among them. */
static void fill(struct random_state *r, const struct nuc_tensor_info *info, void *out)
{
    for (size_t k = 0; info->dtype == NUC_F32 && k < info->bytes / sizeof(float); k++)
        ((float *)out)[k] = random_float(r, -1.5f, 1.5f);
    for (size_t k = 0; info->dtype != NUC_F32 && k < info->bytes; k++)
        ((uint8_t *)out)[k] = (uint8_t)random_in(r, 0, 255);
}

static bool run(struct nuc_runner *p, uint64_t seed, struct outputs *o)
{
    struct random_state r = random_seeded(seed ^ 0x1A9);
    void *inputs[MAX_IO] = {NULL}, *outputs[MAX_IO];
    size_t n_inputs = nuc_runner_n_inputs(p);
    bool good = true;

    o->count = nuc_runner_n_outputs(p);
    for (size_t i = 0; i < o->count; i++) {
        struct nuc_tensor_info info;
        nuc_runner_output(p, i, &info);
        o->bytes[i] = info.bytes;
        o->data[i] = calloc(N_SAMPLES, info.bytes + 1);
    }
    for (size_t k = 0; k < N_SAMPLES && good; k++) {
        for (size_t i = 0; i < n_inputs; i++) {
            struct nuc_tensor_info info;
            nuc_runner_input(p, i, &info);
            free(inputs[i]);
            inputs[i] = malloc(info.bytes + 1);
            fill(&r, &info, inputs[i]);
        }
        for (size_t i = 0; i < o->count; i++)
            outputs[i] = (char *)o->data[i] + k * o->bytes[i];
        good = nuc_runner_run(p, (const void *const *)inputs, outputs) == NUC_OK;
    }
    for (size_t i = 0; i < n_inputs; i++)
        free(inputs[i]);
    return good;
}

static void release(struct outputs *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->data[i]);
}

static bool same(const struct outputs *a, const struct outputs *b)
{
    bool equal = a->count == b->count;

    for (size_t i = 0; equal && i < a->count; i++)
        equal = a->bytes[i] == b->bytes[i] && memcmp(a->data[i], b->data[i], N_SAMPLES * a->bytes[i]) == 0;
    return equal;
}

static bool keeps_rows(const char *path)
{
    static const char name[] = "nucleon::copy";
    FILE *f = fopen(path, "rb");
    size_t matched = 0;

    for (int c = f == NULL ? EOF : fgetc(f); c != EOF && matched < sizeof name - 1; c = fgetc(f))
        matched = c == name[matched] ? matched + 1 : c == name[0];
    if (f != NULL)
        fclose(f);
    return matched == sizeof name - 1;
}

/* Outputs of the program for the budget; its arena, 0 when none is small enough or something failed. */
static size_t outputs_of(struct trial *t, size_t budget, struct outputs *o)
{
    struct nuc_compiler *c = compiler(t, budget);
    struct nuc_runner *p = NULL;
    struct nuc_program_report r = {.arena = 0};
    enum nuc_status s = c == NULL ? NUC_NO_MEMORY : nuc_compile_file(c, t->model, NULL, t->program);

    o->count = 0;
    if (s == NUC_OK && nuc_program_report(c, &r) == NUC_OK) {
        if (nuc_runner_open(c, t->program, NULL, &p) != NUC_OK || !run(p, t->seed, o))
            failed(t, budget, nuc_compiler_message(c));
        if (budget > 0 && r.arena > budget)
            failed(t, budget, "the program needs more");
        t->n_strips += r.n_strips;
        t->n_programs += r.n_strips > 0;
        t->n_keep += r.n_strips > 0 && keeps_rows(t->program);
    } else if (s != NUC_PROPERTY) {
        failed(t, budget, c == NULL ? "no memory" : nuc_compiler_message(c));
    }
    nuc_runner_close(p);
    nuc_compiler_free(c);
    return r.arena;
}

static void check(struct trial *t)
{
    struct outputs plain, small;
    size_t arena = quantize(t) ? outputs_of(t, 0, &plain) : 0, least = arena;

    for (size_t eighths = 7; eighths > 0 && least > 0; eighths--) {
        if (arena * eighths / 8 >= least)
            continue;
        least = outputs_of(t, arena * eighths / 8, &small);
        if (least > 0 && !same(&plain, &small))
            failed(t, arena * eighths / 8, "the outputs differ");
        release(&small);
    }
    if (arena > 0)
        release(&plain);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/strips_XXXXXX";
    struct trial t = {.folder = folder};
    uint64_t first = 0, count = 100;
    size_t bad = 0;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--first") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--graphs") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--io") == 0)
            t.int8 = strcmp(argv[i + 1], "int8") == 0;
        else
            return 2;
    }
    if (mkdtemp(folder) == NULL)
        return 2;
    snprintf(t.model, sizeof t.model, "%s/model.pt2", folder);
    snprintf(t.samples, sizeof t.samples, "%s/samples.npz", folder);
    snprintf(t.program, sizeof t.program, "%s/model.pte", folder);
    for (t.seed = first; t.seed < first + count; t.seed++) {
        t.good = true;
        check(&t);
        bad += !t.good;
    }
    if (getenv("KEEP") == NULL)
        unlink(t.model);
    unlink(t.samples);
    unlink(t.program);
    rmdir(folder);
    printf("strips: %llu networks, %zu programs of %zu strips, %zu that keep rows, %zu failed\n",
           (unsigned long long)count, t.n_programs, t.n_strips, t.n_keep, bad);
    return bad == 0 && t.n_programs > 0 && t.n_keep > 0 ? 0 : 1;
}
