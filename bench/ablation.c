/*
 * ablation [OPTIONS] FOLDER|MODEL...: what each step of the search for quantization parameters is worth
 * (bench/README.md). Every network is quantized with all steps and once more without each of them; the programs run on
 * samples that quantization has not seen and are compared with the float network.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "driver/driver.h"
#include "host/numbers.h"
#include "nucleon/runner.h"
#include "quantize/quantize.h"

#define MOST_NETWORKS 1000
#define MOST_DEPTH 4 /* of folders */

/* ---- what is compared ---- */

/* A way to quantize: an accuracy, and the steps that are left out. */
struct way {
    const char *name;
    enum nuc_accuracy accuracy;
    unsigned without;
    const char *next_to; /* the way that it is compared with, */
    const char *gain;    /* which gains by this; NULL: it is compared with none */
};

#define DEFAULT NUC_ACCURACY_DEFAULT

static const struct way ways[] = {
    {"high", NUC_ACCURACY_HIGH, 0, NULL, NULL},
    {"default", DEFAULT, 0, "high", "`--accuracy high`, over the default"},
    {"fast", NUC_ACCURACY_FAST, 0, "default", "the default, over `--accuracy fast`"},
    {"ranges", DEFAULT, NUC_STEP_RANGES, "default", "ranges chosen by their effect"},
    {"histogram", DEFAULT, NUC_STEP_HISTOGRAM, "default", "of these: `histogram`"},
    {"mse", DEFAULT, NUC_STEP_MSE, "default", "of these: `mse`"},
    {"percentile", DEFAULT, NUC_STEP_PERCENTILE, "default", "of these: `percentile`"},
    {"as-seen", DEFAULT, NUC_STEP_AS_SEEN, "default", "of these: as seen"},
    {"far", DEFAULT, NUC_STEP_FAR, "default", "of these: 3 and 6 spreads"},
    {"equalize", DEFAULT, NUC_STEP_EQUALIZE, "default", "equalisation"},
    {"width", DEFAULT, NUC_STEP_WIDTH, "default", "operators in float or int16"},
    {"widening", DEFAULT, NUC_STEP_WIDEN, "default", "ranges beyond what was seen"},
    {"relevant", DEFAULT, NUC_STEP_RELEVANT, "default", "ranges without what activations cut off"},
    {"biases", DEFAULT, NUC_STEP_BIASES, "default", "bias correction"},
};

#define WAYS (sizeof ways / sizeof *ways)

struct outcome {
    bool known;
    double db, seconds;
};

struct network {
    char *model, *calibration, *test, *name;
    struct outcome outcomes[WAYS];
};

/* ---- networks ---- */

struct list {
    struct network items[MOST_NETWORKS];
    size_t n;
};

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
    va_list args;
    char text[4096];

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return strdup(text);
}

/* STEM.end of the first end for which there is such a file. */
static char *sibling(const char *stem, const char *const *ends)
{
    for (; *ends != NULL; ends++) {
        char *path = text_of("%s%s", stem, *ends);
        if (is_file(path))
            return path;
        free(path);
    }
    return NULL;
}

/* A model, with the samples that lie next to it under its name. */
static void add_model(struct list *l, const char *path)
{
    static const char *const ends[] = {".fp32.pt2", ".pt2", ".tflite", NULL};
    static const char *const calibration[] = {".calib.npz", ".cal.npz", NULL};
    static const char *const test[] = {".test.npz", ".golden.npz", NULL};

    for (const char *const *end = ends; *end != NULL; end++) {
        size_t n = strlen(path), m = strlen(*end);
        if (n <= m || strcmp(path + n - m, *end) != 0)
            continue;
        char *stem = text_of("%.*s", (int)(n - m), path);
        struct network w = {.model = text_of("%s", path)};
        w.calibration = sibling(stem, calibration);
        w.test = sibling(stem, test);
        w.name = strrchr(stem, '/') == NULL ? stem : strrchr(stem, '/') + 1;
        if (w.calibration != NULL && w.test != NULL && l->n < MOST_NETWORKS)
            l->items[l->n++] = w;
        return;
    }
}

static void collect(struct list *l, const char *path, int depth)
{
    DIR *folder = is_folder(path) && depth <= MOST_DEPTH ? opendir(path) : NULL;

    if (folder == NULL) {
        add_model(l, path);
        return;
    }
    for (struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        char *inner = e->d_name[0] == '.' ? NULL : text_of("%s/%s", path, e->d_name);
        if (inner != NULL)
            collect(l, inner, depth + 1);
        free(inner);
    }
    closedir(folder);
}

static int by_name(const void *a, const void *b)
{
    const struct network *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : strcmp(x->model, y->model);
}

/* ---- one network ---- */

/* Outputs of the float network on all samples, and the bytes of the programs that were compared with them. */
struct reference {
    size_t n_samples, n_outputs;
    float **values; /* by sample and output; NULL: an output that holds no floats */
    size_t *elements;
    bool is_known;
    struct program {
        uint8_t *bytes;
        size_t size;
        double db;
    } programs[WAYS];
    size_t n_programs;
};

static void check(struct nuc_compiler *c, enum nuc_status status)
{
    if (status == NUC_OK)
        return;
    fprintf(stderr, "ablation: %s\n", nuc_compiler_message(c));
    exit(1);
}

/* False: the float network does not run. */
static bool run_float(struct nuc_compiler *c, struct nuc_model *m, struct nuc_dataset *test, struct reference *r)
{
    size_t n_inputs = nuc_model_n_inputs(m);
    struct nuc_tensor_info *inputs = calloc(n_inputs + 1, sizeof *inputs), *outputs;
    const void **in = calloc(n_inputs + 1, sizeof *in);

    r->n_outputs = nuc_model_n_outputs(m);
    outputs = calloc(r->n_outputs + 1, sizeof *outputs);
    r->elements = calloc(r->n_outputs + 1, sizeof *r->elements);
    void **out = calloc(r->n_outputs + 1, sizeof *out);
    for (size_t i = 0; i < n_inputs; i++)
        check(c, nuc_model_input(m, i, &inputs[i]));
    for (size_t i = 0; i < r->n_outputs; i++) {
        check(c, nuc_model_output(m, i, &outputs[i]));
        out[i] = malloc(outputs[i].bytes + 1);
    }
    check(c, nuc_dataset_bind(test, inputs, n_inputs, &r->n_samples));
    r->values = calloc(r->n_samples * r->n_outputs + 1, sizeof *r->values);
    bool ok = true;
    for (size_t k = 0; k < r->n_samples && ok; k++) {
        check(c, nuc_dataset_sample(test, k, in));
        ok = nuc_model_run(m, in, out) == NUC_OK;
        for (size_t i = 0; i < r->n_outputs; i++) {
            if (outputs[i].dtype != NUC_F32)
                continue;
            r->elements[i] = outputs[i].bytes / sizeof(float);
            float *copy = r->values[k * r->n_outputs + i] = malloc(outputs[i].bytes + 1);
            memcpy(copy, out[i], outputs[i].bytes);
        }
    }
    for (size_t i = 0; i < r->n_outputs; i++)
        free(out[i]);
    free(in);
    free(out);
    free(inputs);
    free(outputs);
    return r->is_known = ok;
}

/* Of all outputs that hold floats together, over all samples. */
static double run_program(struct nuc_compiler *c, const struct network *w, const struct reference *r,
                          const uint8_t *bytes, size_t size)
{
    struct nuc_runner *runner;
    struct nuc_dataset *test;
    size_t n_samples;
    struct nuc_sqnr sum = {0, 0};

    check(c, nuc_runner_open_bytes(c, w->name, bytes, size, NULL, &runner));
    check(c, nuc_dataset_open(c, w->test, &test));
    check(c, nuc_runner_bind(runner, test, NULL, &n_samples));
    nuc_runner_float_outputs(runner);
    const void **in = calloc(nuc_runner_n_inputs(runner) + 1, sizeof *in);
    void **out = calloc(r->n_outputs + 1, sizeof *out);
    for (size_t i = 0; i < r->n_outputs; i++) {
        struct nuc_tensor_info info;
        check(c, nuc_runner_output(runner, i, &info));
        out[i] = malloc(info.bytes + 1);
    }
    for (size_t k = 0; k < r->n_samples && k < n_samples; k++) {
        check(c, nuc_dataset_sample(test, k, in));
        check(c, nuc_runner_run(runner, in, out));
        for (size_t i = 0; i < r->n_outputs; i++)
            nuc_sqnr_add(&sum, r->values[k * r->n_outputs + i], out[i], r->elements[i]);
    }
    for (size_t i = 0; i < r->n_outputs; i++)
        free(out[i]);
    free(in);
    free(out);
    nuc_runner_close(runner);
    return nuc_sqnr_db(&sum);
}

/* A program that was seen before runs no second time. */
static double decibels_of(struct nuc_compiler *c, const struct network *w, struct reference *r, const uint8_t *bytes,
                          size_t size)
{
    for (size_t i = 0; i < r->n_programs; i++) {
        if (r->programs[i].size == size && memcmp(r->programs[i].bytes, bytes, size) == 0)
            return r->programs[i].db;
    }
    struct program *p = &r->programs[r->n_programs++];
    *p = (struct program){malloc(size + 1), size, run_program(c, w, r, bytes, size)};
    memcpy(p->bytes, bytes, size);
    return p->db;
}

/* False: it does not compile. */
static bool measure(const struct network *w, const struct way *way, struct reference *r, struct outcome *out)
{
    struct nuc_options options;
    struct nuc_model *m, *quantized;
    struct nuc_dataset *calibration, *test;
    const uint8_t *bytes;
    size_t size;

    nuc_options_default(&options);
    options.accuracy = way->accuracy;
    options.unlike_calibration = true;
    struct nuc_compiler *c = nuc_compiler_new(&options, NULL);
    if (c == NULL)
        exit(1);
    c->without = way->without;
    bool ok = nuc_model_open(c, w->model, &m) == NUC_OK && !nuc_model_is_quantized(m) &&
              nuc_dataset_open(c, w->calibration, &calibration) == NUC_OK;
    if (ok && !r->is_known) {
        check(c, nuc_dataset_open(c, w->test, &test));
        ok = run_float(c, m, test, r);
    }
    clock_t started = clock();
    ok = ok && nuc_quantize(m, calibration, &quantized) == NUC_OK;
    out->seconds = (double)(clock() - started) / CLOCKS_PER_SEC;
    ok = ok && nuc_compile_to_memory(quantized, NULL, &bytes, &size) == NUC_OK;
    if (ok)
        out->db = decibels_of(c, w, r, bytes, size);
    else
        fprintf(stderr, "ablation: left out: %s\n", nuc_compiler_message(c));
    out->known = ok && isfinite(out->db);
    nuc_compiler_free(c);
    return out->known;
}

static void measure_all(struct network *w, const bool *wanted)
{
    struct reference r = {.is_known = false};

    for (size_t i = 0; i < WAYS; i++) {
        if (wanted[i] && !measure(w, &ways[i], &r, &w->outcomes[i]))
            break;
    }
    for (size_t i = 0; i < r.n_samples * r.n_outputs; i++)
        free(r.values[i]);
    for (size_t i = 0; i < r.n_programs; i++)
        free(r.programs[i].bytes);
    free(r.values);
    free(r.elements);
}

/* ---- tables ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return n == 0 ? 0 : n % 2 == 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* dB that differ by less are the same. */
#define SAME 0.005

static void print_step(const struct list *l, size_t without, size_t with)
{
    static double gains[MOST_NETWORKS], changed[MOST_NETWORKS];
    size_t n = 0, n_changed = 0;
    double seconds = 0, worst = 0, best = 0;
    const char *worst_name = "", *best_name = "";

    for (size_t i = 0; i < l->n; i++) {
        const struct outcome *a = &l->items[i].outcomes[without], *b = &l->items[i].outcomes[with];
        if (!a->known || !b->known)
            continue;
        double gain = b->db - a->db;
        seconds += b->seconds - a->seconds;
        gains[n++] = gain;
        if (fabs(gain) < SAME)
            continue;
        changed[n_changed++] = gain;
        if (gain < worst) {
            worst = gain;
            worst_name = l->items[i].name;
        }
        if (gain > best) {
            best = gain;
            best_name = l->items[i].name;
        }
    }
    if (n == 0)
        return;
    double of_all = median(gains, n), of_changed = median(changed, n_changed);
    printf("| %s | %zu of %zu | %.2f | %.2f | %.2f%s%s | %.2f%s%s | %.1f |\n", ways[without].gain, n_changed, n, of_all,
           of_changed, worst, worst < 0 ? " " : "", worst_name, best, best > 0 ? " " : "", best_name, seconds);
}

static size_t way_named(const char *name)
{
    size_t i = 0;

    while (i < WAYS && strcmp(ways[i].name, name) != 0)
        i++;
    return i;
}

/* Networks whose name has one of the texts; all where there is none. */
static void keep_only(struct list *l, const char *const *only)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++) {
        size_t k = 0;
        while (only[k] != NULL && strstr(l->items[i].name, only[k]) == NULL)
            k++;
        if (only[0] == NULL || only[k] != NULL)
            l->items[n++] = l->items[i];
    }
    l->n = n;
}

static int usage(void)
{
    fprintf(stderr, "usage: ablation [--rows] [--way NAME]... [--only TEXT]... FOLDER|MODEL...\n       ways:");
    for (size_t i = 0; i < WAYS; i++)
        fprintf(stderr, "%s '%s'", i == 0 ? "" : ",", ways[i].name);
    fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv)
{
    static struct list list;
    bool wanted[WAYS] = {false}, all = true, rows = false;
    const char **only = calloc((size_t)argc + 1, sizeof *only);
    size_t n_only = 0;

    for (int i = 1; i < argc; i++) {
        size_t way = i + 1 < argc ? way_named(argv[i + 1]) : WAYS;
        if (strcmp(argv[i], "--rows") == 0) {
            rows = true;
        } else if (strcmp(argv[i], "--way") == 0 && way < WAYS) {
            wanted[way] = true;
            if (ways[way].next_to != NULL)
                wanted[way_named(ways[way].next_to)] = true;
            all = false;
            i++;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            only[n_only++] = argv[++i];
        } else if (argv[i][0] == '-') {
            return usage();
        } else {
            collect(&list, argv[i], 0);
        }
    }
    keep_only(&list, only);
    free(only);
    if (list.n == 0)
        return usage();
    for (size_t i = 0; i < WAYS; i++)
        wanted[i] = wanted[i] || all;
    qsort(list.items, list.n, sizeof *list.items, by_name);
    for (size_t i = 0; i < list.n; i++) {
        struct network *w = &list.items[i];
        measure_all(w, wanted);
        for (size_t k = 0; k < WAYS && rows; k++) {
            if (wanted[k] && w->outcomes[k].known)
                printf("%s%s %.2f", k == 0 ? "" : "\t", ways[k].name, w->outcomes[k].db);
        }
        if (rows)
            printf("\t%s\n", w->name);
        fflush(stdout);
    }
    printf("| Step | Networks that change | Median of all, dB | of these | Worst | Best | Seconds |\n"
           "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < WAYS; i++) {
        if (wanted[i] && ways[i].next_to != NULL)
            print_step(&list, i, way_named(ways[i].next_to));
    }
    return 0;
}
