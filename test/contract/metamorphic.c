/*
 * metamorphic [--models N] [--first SEED]: what must not change a program, or changes it in a known way. Small random
 * models (contract_net.h) are compiled and run: twice; with other threads; with values of other names; with the arrays
 * of the calibration in another order; with the samples in another order. The program has the same bytes, or gives the
 * same outputs. Where a model's outputs scale with its inputs, inputs and calibration times 8 give 8 times the outputs.
 * All targets agree within steps. Exit code 0 when everything held.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contract_net.h"
#include "driver/driver.h"
#include "graph_text/parse_graph.h"
#include "host/text.h"
#include "nucleon/runner.h"

#define N_SAMPLES 4
#define MAX_OUTPUTS 16

/* How a compilation differs from the first one. */
struct variant {
    const char *name;
    const char *target; /* NULL: the first one's */
    unsigned threads;
    bool renamed, arrays_reversed, samples_reversed;
    float factor; /* of inputs and calibration; 0: 1 */
    bool same_bytes;
};

static const struct variant variants[] = {
    {.name = "compiled again", .same_bytes = true},
    {.name = "three threads", .threads = 3, .same_bytes = true},
    {.name = "other names", .renamed = true},
    {.name = "arrays in another order", .arrays_reversed = true, .same_bytes = true},
    {.name = "samples in another order", .samples_reversed = true, .same_bytes = true},
    {.name = "times 8", .factor = 8},
    {.name = "cortex-m33", .target = "cortex-m33"},
    {.name = "imxrt700cm", .target = "imxrt700cm"},
};

struct outcome {
    bool made, scales, exact;
    char message[512], text[2048];
    uint8_t *bytes;
    size_t size, n_outputs, counts[MAX_OUTPUTS]; /* counts: of floats, 0 for others */
    float *outputs[MAX_OUTPUTS];                 /* N_SAMPLES times counts */
};

struct trial {
    uint64_t seed;
    const struct variant *v;
    const char *folder;
    struct nuc_compiler *c;
    struct nuc_model *model;
    struct net net;
    float *samples[NET_MAX_INPUTS];
};

/* ---- one compilation ---- */

static void make(struct nuc_context *cx, void *arg)
{
    struct trial *t = arg;

    t->net = net_make(cx, t->seed, true);
    if (t->v->renamed) {
        struct nuc_text text = {.cx = cx};
        for (const char *p = t->net.text; *p != '\0'; p++) {
            bool value = p[0] == '%' && p[1] == 'v';
            nuc_text_addf(&text, "%s", value ? "%value_of_step_" : nuc_format(cx, "%c", *p));
            p += value;
        }
        t->net.graph = nuc_graph_parse(cx, "metamorphic", nuc_text_string(&text));
    }
    t->model = nuc_model_make(t->c, t->net.graph);
}

static enum nuc_status write_samples(struct trial *t, size_t n, const char *path)
{
    struct random_state r = random_seeded(t->seed ^ 0x5EED);
    struct nuc_array_info arrays[NET_MAX_INPUTS];

    for (size_t i = 0; i < n; i++) {
        struct nuc_tensor_info info;
        nuc_model_input(t->model, i, &info);
        size_t count = info.bytes / sizeof(float);
        t->samples[i] = calloc(N_SAMPLES * count + 1, sizeof(float));
        for (size_t k = 0; k < N_SAMPLES * count; k++) {
            size_t sample = k / count, at = t->v->samples_reversed ? N_SAMPLES - 1 - sample : sample;
            float factor = t->v->factor > 0 ? t->v->factor : 1;
            t->samples[i][at * count + k % count] = factor * random_float(&r, -1.0f, 1.0f);
        }
        struct nuc_array_info *array = &arrays[t->v->arrays_reversed ? n - 1 - i : i];
        *array = (struct nuc_array_info){.name = info.name,
                                         .dtype = NUC_F32,
                                         .rank = info.rank + 1,
                                         .data = t->samples[i],
                                         .bytes = N_SAMPLES * info.bytes};
        memcpy(array->sizes + 1, info.sizes, info.rank * sizeof info.sizes[0]);
        array->sizes[0] = N_SAMPLES;
    }
    return nuc_write_arrays(t->c, path, arrays, n);
}

static bool run(struct trial *t, struct nuc_runner *program, struct outcome *o)
{
    const void *inputs[NET_MAX_INPUTS];
    void *outputs[MAX_OUTPUTS];

    o->n_outputs = nuc_runner_n_outputs(program);
    for (size_t i = 0; i < o->n_outputs; i++) {
        struct nuc_tensor_info info;
        nuc_runner_output(program, i, &info);
        o->counts[i] = info.dtype == NUC_F32 ? info.bytes / sizeof(float) : 0;
        o->outputs[i] = calloc(N_SAMPLES * o->counts[i] + 1, sizeof(float));
        outputs[i] = malloc(info.bytes + 8);
    }
    bool good = true;
    for (size_t k = 0; k < N_SAMPLES && good; k++) {
        for (size_t i = 0; i < nuc_runner_n_inputs(program); i++) {
            struct nuc_tensor_info info;
            nuc_runner_input(program, i, &info);
            inputs[i] = t->samples[i] + k * (info.bytes / sizeof(float));
        }
        good = nuc_runner_run(program, inputs, outputs) == NUC_OK;
        size_t to = t->v->samples_reversed ? N_SAMPLES - 1 - k : k;
        for (size_t i = 0; i < o->n_outputs && good; i++)
            memcpy(o->outputs[i] + to * o->counts[i], outputs[i], o->counts[i] * sizeof(float));
    }
    for (size_t i = 0; i < o->n_outputs; i++)
        free(outputs[i]);
    return good;
}

static void keep_bytes(struct nuc_runner *program, struct outcome *o)
{
    const void *image = nuc_runner_image(program, &o->size);

    o->bytes = malloc(o->size + 1);
    memcpy(o->bytes, image, o->size);
}

static struct outcome compile(uint64_t seed, const struct variant *v, const char *folder)
{
    struct trial t = {.seed = seed, .v = v, .folder = folder};
    struct outcome o = {.made = false};
    struct nuc_options options;
    struct nuc_dataset *samples;
    struct nuc_model *quantized;
    struct nuc_runner *program = NULL;
    char archive[512], data[512], path[512];

    snprintf(archive, sizeof archive, "%s/model.pt2", folder);
    snprintf(data, sizeof data, "%s/samples.npz", folder);
    snprintf(path, sizeof path, "%s/model.pte", folder);
    nuc_options_default(&options);
    options.threads = v->threads > 0 ? v->threads : 1;
    options.target = v->target != NULL ? v->target : "imxrt700";
    options.placement = NUC_PLACEMENT_GREEDY;
    options.accuracy = NUC_ACCURACY_FAST;
    options.observer = NUC_OBSERVE_MIN_MAX;
    t.c = nuc_compiler_new(&options, NULL);
    if (t.c != NULL && nuc_try(t.c->cx, make, &t) == NUC_OK && nuc_model_write(t.model, archive) == NUC_OK &&
        nuc_model_open(t.c, archive, &t.model) == NUC_OK &&
        write_samples(&t, nuc_model_n_inputs(t.model), data) == NUC_OK &&
        nuc_dataset_open(t.c, data, &samples) == NUC_OK && nuc_quantize(t.model, samples, &quantized) == NUC_OK &&
        nuc_compile_model(t.model, data, path) == NUC_OK && nuc_runner_open(t.c, path, NULL, &program) == NUC_OK) {
        o.made = run(&t, program, &o);
        keep_bytes(program, &o);
    }
    snprintf(o.message, sizeof o.message, "%s", t.c != NULL ? nuc_compiler_message(t.c) : "");
    snprintf(o.text, sizeof o.text, "%s", t.net.text != NULL ? t.net.text : "");
    o.scales = t.net.scales;
    o.exact = t.net.exact;
    nuc_runner_close(program);
    for (size_t i = 0; i < NET_MAX_INPUTS; i++)
        free(t.samples[i]);
    nuc_compiler_free(t.c);
    return o;
}

static void release(struct outcome *o)
{
    free(o->bytes);
    for (size_t i = 0; i < o->n_outputs; i++)
        free(o->outputs[i]);
}

/* ---- judging ---- */

/* Within `steps` 256ths of what the output spans over all samples, 0: the same numbers. */
static bool same_outputs(const struct outcome *a, const struct outcome *b, float factor, float steps)
{
    for (size_t i = 0; i < a->n_outputs && i < b->n_outputs; i++) {
        size_t count = N_SAMPLES * a->counts[i];
        float low = 0, high = 0;
        for (size_t k = 0; k < count; k++) {
            low = fminf(low, a->outputs[i][k]);
            high = fmaxf(high, a->outputs[i][k]);
        }
        for (size_t k = 0; k < count; k++) {
            float x = factor * a->outputs[i][k], y = b->outputs[i][k];
            if (fabsf(x - y) > factor * (steps * (high - low) / 256.0f + 1e-6f * (high - low)) &&
                !(isnan(x) && isnan(y)))
                return false;
        }
    }
    return a->n_outputs == b->n_outputs;
}

static const char *judge(const struct outcome *first, const struct outcome *o, const struct variant *v)
{
    /* On some targets alone is an operator quantized that gives no finite value. */
    if (v->target != NULL && strstr(o->message, "gives a NaN") != NULL)
        return NULL;
    if (first->made != o->made)
        return "one compiles and runs, the other does not";
    if (!first->made || (v->factor > 0 && !first->scales) || (v->target != NULL && !first->exact))
        return NULL;
    if (v->same_bytes && !v->samples_reversed &&
        (first->size != o->size || memcmp(first->bytes, o->bytes, o->size) != 0))
        return "the program has other bytes";
    float steps = v->target != NULL ? 12 : v->factor > 0 ? 1 : 0;
    return same_outputs(first, o, v->factor > 0 ? v->factor : 1, steps) ? NULL : "the outputs differ";
}

int main(int argc, char **argv)
{
    static const struct variant plain = {.name = "plain"};
    static const char *const files[] = {"/model.pt2", "/model.pte", "/samples.npz", ""};
    char folder[] = "/tmp/metamorphic_XXXXXX", path[64];
    uint64_t first = 0, count = 100;
    size_t cases = 0, failed = 0, judged = 0;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--first") == 0)
            first = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--models") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else
            return 2;
    }
    if (mkdtemp(folder) == NULL)
        return 2;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct outcome one = compile(seed, &plain, folder);
        for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
            struct outcome other = compile(seed, &variants[i], folder);
            const char *wrong = judge(&one, &other, &variants[i]);
            if (wrong != NULL)
                printf("seed %llu, %s: %s: %s\n%s\n", (unsigned long long)seed, variants[i].name, wrong, other.message,
                       other.text);
            cases++;
            judged += one.made;
            failed += wrong != NULL;
            release(&other);
        }
        release(&one);
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s%s", folder, files[i]);
        remove(path);
    }
    printf("metamorphic: %zu cases, %zu failed (%zu of programs)\n", cases, failed, judged);
    return failed == 0 ? 0 : 1;
}
