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
    for (int i = 0; name && i < NUC_SIMULATOR_PATH_COUNT; i++) {
        if (strcmp(nuc_simulator_path_name((enum nuc_simulator_path)i), name) == 0)
            return (enum nuc_simulator_path)i;
    }
    if (name)
        nuc_fail(cx, NUC_BAD_USAGE, "--path %s: no such path", name);
    return NUC_SIMULATOR_BEST;
}

static void bench_file(struct nuc_context *cx, void *arg)
{
    const struct job *job = arg;
    const struct bench_options *o = job->o;
    struct bench_model *m = bench_open(cx, job->file);
    struct bench_times plain = {0, 0};
    double peer = 0;
    bool same = false;

    if (o->plain)
        plain = bench_run(cx, m, NUC_SIMULATOR_PLAIN, o);
    struct bench_times t = bench_run(cx, m, path_named(cx, o->path), o);
    if (o->peer)
        peer = bench_peer(cx, m, job->file, o, &same);
    printf("%s\n  %-10s median %.1f us, min %.1f us, %.2f MMAC, %.1f GMAC/s\n", job->file,
           nuc_simulator_path_name(nuc_simulator_path_of(m->handle)), t.median, t.least, m->macs * 1e-6,
           m->macs / t.median * 1e-3);
    if (o->plain)
        printf("  plain      median %.1f us, min %.1f us, %.1f GMAC/s; %.1f times as long\n", plain.median, plain.least,
               m->macs / plain.median * 1e-3, plain.median / t.median);
    if (o->peer)
        printf("  peer       mean %.1f us, %.1f GMAC/s; %.1f times as long; %s\n", peer, m->macs / peer * 1e-3,
               peer / t.median, same ? "same bytes" : "other bytes");
    if (o->calls)
        bench_calls(cx, m, o);
    bench_close(m);
}

static int usage(void)
{
    fprintf(stderr, "usage: bench [--path NAME] [--threads N] [--milliseconds N] [--plain] [--calls]\n"
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
    } rows[] = {{"--path", NULL, &o->path, NULL},
                {"--peer", NULL, &o->peer, NULL},
                {"--threads", &o->threads, NULL, NULL},
                {"--milliseconds", &o->milliseconds, NULL, NULL},
                {"--peer-samples", &o->peer_samples, NULL, NULL},
                {"--plain", NULL, NULL, &o->plain},
                {"--calls", NULL, NULL, &o->calls}};

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
    struct bench_options o = {.threads = 1, .milliseconds = 1000, .peer_samples = 20};
    int failures = 0;

    for (int i = 1; i < argc;) {
        int taken = argv[i][0] == '-' ? take_option(argc, argv, i, &o) : 0;
        if (taken == 0 && argv[i][0] == '-')
            return usage();
        if (taken == 0)
            collect(&list, argv[i++], 0);
        i += taken;
    }
    if (list.n == 0 || o.peer_samples == 0)
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
