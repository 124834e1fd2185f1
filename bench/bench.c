/* Program: see bench/README.md. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"

#define MOST_FILES 1000
#define MOST_DEPTH 4 /* of folders */

struct list {
    char *files[MOST_FILES];
    size_t n;
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static char *joined(const char *folder, const char *name)
{
    char *path = malloc(strlen(folder) + strlen(name) + 2);

    if (path)
        sprintf(path, "%s/%s", folder, name);
    return path;
}

/* Adds a file, or the .tflite files of a folder and of its folders. */
static void collect(struct list *l, const char *path, int depth)
{
    DIR *folder = is_folder(path) ? opendir(path) : NULL;

    if (!folder) {
        if (l->n < MOST_FILES)
            l->files[l->n++] = strdup(path);
        return;
    }
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        char *inner = e->d_name[0] == '.' ? NULL : joined(path, e->d_name);
        if (inner && (ends_with(inner, ".tflite") || (depth < MOST_DEPTH && is_folder(inner))))
            collect(l, inner, depth + 1);
        free(inner);
    }
    closedir(folder);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct job {
    const char *file;
    const struct bench_options *o;
};

static enum nuc_simulator_path path_named(struct nuc_context *cx, const char *name)
{
    for (int i = 0; i < NUC_SIMULATOR_PATH_COUNT; i++) {
        if (strcmp(nuc_simulator_path_name((enum nuc_simulator_path)i), name) == 0)
            return (enum nuc_simulator_path)i;
    }
    nuc_fail(cx, NUC_BAD_USAGE, "--path %s: no such path", name);
}

/* The next part of a list between commas, which *at walks along; NULL after the last. */
static const char *next_part(struct nuc_context *cx, const char **at)
{
    size_t n = strcspn(*at, ",");
    const char *part = n == 0 ? NULL : nuc_format(cx, "%.*s", (int)n, *at);

    *at += n;
    *at += **at == ',';
    return part;
}

#define MOST_RUNNERS 16

struct runners {
    struct bench_runner items[MOST_RUNNERS];
    size_t n;
};

static void add_runner(struct nuc_context *cx, struct runners *r, struct bench_runner runner)
{
    if (r->n == MOST_RUNNERS)
        nuc_fail(cx, NUC_BAD_USAGE, "more than %d measurements: name fewer paths or numbers of threads", MOST_RUNNERS);
    r->items[r->n++] = runner;
}

/* On each path with each number of threads, then the peer with each; plain C has one thread. */
static void add_runners(struct nuc_context *cx, struct runners *r, const struct bench_options *o)
{
    const char *path, *threads;

    for (const char *p = o->paths; (path = next_part(cx, &p)) != NULL;) {
        struct bench_runner runner = {.path = path_named(cx, path)};
        for (const char *t = o->threads; (threads = next_part(cx, &t)) != NULL;) {
            runner.threads = (unsigned)strtoul(threads, NULL, 10);
            if (runner.threads == 1 || runner.path != NUC_SIMULATOR_PLAIN)
                add_runner(cx, r, runner);
        }
    }
    for (const char *t = o->threads; o->peer && (threads = next_part(cx, &t)) != NULL;)
        add_runner(cx, r, (struct bench_runner){.is_peer = true, .threads = (unsigned)strtoul(threads, NULL, 10)});
}

#define MOST_PEER_SAMPLES 20000

static unsigned peer_samples(const struct bench_options *o, const struct bench_runner *first)
{
    double fit = o->milliseconds * 1e3 / o->passes / first->times.median;

    if (o->peer_samples > 0)
        return o->peer_samples;
    return fit < 20 ? 20 : fit > MOST_PEER_SAMPLES ? MOST_PEER_SAMPLES : (unsigned)fit;
}

/* One pass of each by turns: what slows the machine down for a while meets all of them. */
static void run_pass(struct nuc_context *cx, struct bench_model *m, const struct job *job, struct runners *runners)
{
    const struct bench_options *o = job->o;

    for (size_t i = 0; i < runners->n; i++) {
        struct bench_runner *r = &runners->items[i];
        struct bench_times t = r->is_peer
                                   ? bench_peer(cx, m, job->file, o->peer, r, peer_samples(o, &runners->items[0]))
                                   : bench_run(cx, m, r, (double)o->milliseconds / o->passes);
        /* "best" is another one's name. */
        if (!r->is_peer)
            r->path = nuc_simulator_path_of(m->handle);
        bool first = r->times.runs == 0;
        r->times.median = first || t.median < r->times.median ? t.median : r->times.median;
        r->times.least = first || t.least < r->times.least ? t.least : r->times.least;
        r->times.runs += t.runs;
    }
}

static void print_row(const struct bench_model *m, const char *file, const struct bench_runner *r)
{
    printf("%s\t%s\t%u\t%.3f\t%.3f\t%.0f\t%s\n", file, r->is_peer ? "peer" : nuc_simulator_path_name(r->path),
           r->threads, r->times.least, r->times.median, m->macs, r->is_peer && !r->same ? "other" : "same");
}

static void print_text(const struct bench_model *m, const struct bench_runner *r, const struct bench_runner *first)
{
    printf("  %-10s %u thread%s median %.2f us, least %.2f us, %.1f GMAC/s",
           r->is_peer ? "peer" : nuc_simulator_path_name(r->path), r->threads,
           r->threads == 1 ? ": " : "s:", r->times.median, r->times.least, m->macs / r->times.least * 1e-3);
    if (r != first)
        printf("; %.2f times as long", r->times.least / first->times.least);
    printf("%s\n", !r->is_peer ? "" : r->same ? "; same bytes" : "; other bytes");
}

static void bench_file(struct nuc_context *cx, void *arg)
{
    const struct job *job = arg;
    const struct bench_options *o = job->o;
    struct bench_model *m = bench_open(cx, job->file);
    struct runners runners = {.n = 0};

    add_runners(cx, &runners, o);
    for (unsigned pass = 0; pass < o->passes; pass++)
        run_pass(cx, m, job, &runners);
    if (!o->rows)
        printf("%s: %.2f MMAC\n", job->file, m->macs * 1e-6);
    for (size_t i = 0; i < runners.n; i++) {
        if (o->rows)
            print_row(m, job->file, &runners.items[i]);
        else
            print_text(m, &runners.items[i], &runners.items[0]);
    }
    if (o->calls)
        bench_calls(cx, m, o);
    bench_close(m);
}

static int usage(void)
{
    fprintf(stderr,
            "usage: bench [--path NAME,...] [--threads N,...] [--milliseconds N] [--passes N] [--calls] [--rows]\n"
            "             [--peer COMMAND [--peer-samples N]] FOLDER|MODEL.tflite...\n"
            "see bench/README.md\n");
    return 2;
}

/* The option at argv[i]: number of arguments it takes up, 0 when it is not one. */
static int take_option(int argc, char **argv, int i, struct bench_options *o)
{
    const struct {
        const char *name;
        unsigned *number;
        const char **text;
        bool *flag;
    } rows[] = {{"--path", NULL, &o->paths, NULL},      {"--peer", NULL, &o->peer, NULL},
                {"--threads", NULL, &o->threads, NULL}, {"--milliseconds", &o->milliseconds, NULL, NULL},
                {"--passes", &o->passes, NULL, NULL},   {"--peer-samples", &o->peer_samples, NULL, NULL},
                {"--rows", NULL, NULL, &o->rows},       {"--calls", NULL, NULL, &o->calls}};

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (strcmp(argv[i], rows[r].name) != 0)
            continue;
        if (rows[r].flag) {
            *rows[r].flag = true;
            return 1;
        }
        if (i + 1 >= argc)
            return 0;
        if (rows[r].text)
            *rows[r].text = argv[i + 1];
        else
            *rows[r].number = (unsigned)strtoul(argv[i + 1], NULL, 10);
        return 2;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct list list;
    struct bench_options o = {.paths = "best", .threads = "1", .milliseconds = 1000, .passes = 5};
    int failures = 0;

    for (int i = 1; i < argc;) {
        int taken = argv[i][0] == '-' ? take_option(argc, argv, i, &o) : 0;
        if (taken == 0 && argv[i][0] == '-')
            return usage();
        if (taken == 0)
            collect(&list, argv[i++], 0);
        i += taken;
    }
    if (list.n == 0 || o.passes == 0)
        return usage();
    qsort(list.files, list.n, sizeof *list.files, by_name);
    for (size_t i = 0; i < list.n; i++) {
        struct nuc_context *cx = nuc_context_new(NULL);
        struct job job = {list.files[i], &o};
        if (!cx || nuc_try(cx, bench_file, &job) != NUC_OK) {
            printf("%s\n  not timed: %s\n", list.files[i], cx ? cx->message : "no memory");
            failures++;
        }
        nuc_context_free(cx);
        free(list.files[i]);
    }
    return failures == 0 ? 0 : 1;
}
