/*
 * flips SOURCE [--only FILE] [--seconds N] [--seed N] [--jobs N]
 *
 * Every bit of a file is turned over, one at a time. Archives of models and samples have checksums: the compilation
 * fails, or the bit is one of those that decide nothing (dates, padding), and the program has the same bytes as
 * without. LiteRT models and programs have none: a bit may make another model, so that any result or error will do; the
 * process must not end by a signal, nor take longer than a few seconds.
 *
 * With --seconds some bits, chosen by the seed. The last line is "flips: N cases, N failed".
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nucleon/runner.h"
#include "tool.h"

#define RUN_SECONDS 30
#define SHOWN 30
#define PER_PROCESS 500 /* cases of a process: memory that one leaks would show */

enum { N_FILES = 4 };

/* What a file is used for. */
enum use { USE_COMPILE, USE_PROGRAM };

static const struct kind {
    const char *name;
    bool checked; /* it has checksums */
    enum use use;
} kinds[N_FILES] = {
    {"tiny.pt2", true, USE_COMPILE},
    {"tiny.npz", true, USE_COMPILE},
    {"tiny.tflite", false, USE_COMPILE},
    {"tiny.pte", false, USE_PROGRAM},
};

struct bytes {
    uint8_t *data;
    size_t size;
};

struct figures {
    uint64_t cases, errors, same, other, failed;
};

struct shared {
    struct figures figures[N_FILES];
    uint64_t at[64]; /* the case of each job, 1 + the number of the bit; 0: none */
    uint64_t shown;
};

struct flipping {
    char work[512];
    char *source;
    const char *only;
    double seconds;
    uint64_t seed;
    unsigned jobs, job;
    struct bytes files[N_FILES], program;
    struct shared *shared;
};

static struct bytes read_bytes(const char *path)
{
    struct bytes b = {NULL, 0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0)
        die(path);
    b.size = (size_t)st.st_size;
    b.data = malloc(b.size + 1);
    if (b.data == NULL || read(fd, b.data, b.size) != (ssize_t)b.size)
        die(path);
    close(fd);
    return b;
}

/* ---- what is done with a file ---- */

/* What came of it: bytes are the caller's; none when the status is not NUC_OK. */
struct result {
    enum nuc_status status;
    char message[400];
    struct bytes bytes;
};

static void keep(struct result *r, const void *data, size_t size)
{
    r->bytes = (struct bytes){malloc(size + 1), size};
    if (r->bytes.data == NULL)
        die("memory");
    memcpy(r->bytes.data, data, size);
}

static enum nuc_status compile(struct nuc_compiler *c, const char *model, const char *samples, struct result *r)
{
    struct nuc_model *m;
    struct nuc_dataset *d;
    const uint8_t *bytes;
    size_t size;
    enum nuc_status s = nuc_model_open(c, model, &m);

    if (s == NUC_OK && !nuc_model_is_quantized(m)) {
        s = nuc_dataset_open(c, samples, &d);
        if (s == NUC_OK)
            s = nuc_quantize(m, d, &m);
    }
    if (s == NUC_OK)
        s = nuc_partition(m, &m);
    if (s == NUC_OK)
        s = nuc_lower(m, &m);
    if (s == NUC_OK)
        s = nuc_program(m, &bytes, &size);
    if (s == NUC_OK)
        keep(r, bytes, size);
    return s;
}

/* The outputs of all samples, and the description of the file. */
static enum nuc_status run(struct nuc_compiler *c, const char *program, const char *samples)
{
    struct nuc_runner *r = NULL;
    struct nuc_dataset *d;
    struct nuc_tensor_info inputs[8], outputs[8];
    const void *in[8];
    void *out[8] = {NULL};
    size_t n_samples = 0, n_inputs = 0, n_outputs = 0;
    const char *text;
    enum nuc_status s = nuc_inspect_file(c, program, NUC_INSPECT_TEXT, true, &text);

    if (s == NUC_OK)
        s = nuc_runner_open(c, program, NULL, &r);
    if (s == NUC_OK) {
        n_inputs = nuc_runner_n_inputs(r);
        n_outputs = nuc_runner_n_outputs(r);
        s = n_inputs > 8 || n_outputs > 8 ? NUC_UNSUPPORTED : nuc_dataset_open(c, samples, &d);
    }
    if (s == NUC_OK)
        nuc_runner_suit(r, d);
    for (size_t i = 0; i < n_inputs && s == NUC_OK; i++)
        s = nuc_runner_input(r, i, &inputs[i]);
    for (size_t i = 0; i < n_outputs && s == NUC_OK; i++) {
        s = nuc_runner_output(r, i, &outputs[i]);
        out[i] = s == NUC_OK ? malloc(outputs[i].bytes + 1) : NULL;
    }
    if (s == NUC_OK)
        s = nuc_dataset_bind(d, inputs, n_inputs, &n_samples);
    for (size_t k = 0; k < n_samples && s == NUC_OK; k++) {
        s = nuc_dataset_sample(d, k, in);
        if (s == NUC_OK)
            s = nuc_runner_run(r, in, out);
    }
    for (size_t i = 0; i < 8; i++)
        free(out[i]);
    nuc_runner_close(r);
    return s;
}

static struct result use(enum use what, const char *path, const char *samples)
{
    struct result r = {.status = NUC_OK};
    struct nuc_options o;

    nuc_options_default(&o);
    o.threads = 1;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL)
        die("memory");
    r.status = what == USE_PROGRAM ? run(c, path, samples) : compile(c, path, samples, &r);
    snprintf(r.message, sizeof r.message, "%s", nuc_compiler_message(c));
    nuc_compiler_free(c);
    return r;
}

/* ---- cases ---- */

static void show(const struct flipping *f, size_t kind, uint64_t bit, const char *why)
{
    __atomic_add_fetch(&f->shared->figures[kind].failed, 1, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&f->shared->shown, 1, __ATOMIC_RELAXED) <= SHOWN)
        printf("FAIL %s: byte %llu bit %llu: %s\n", kinds[kind].name, (unsigned long long)(bit / 8),
               (unsigned long long)(bit % 8), why);
}

static void flip(const struct flipping *f, size_t kind, uint64_t bit)
{
    struct figures *x = &f->shared->figures[kind];
    const struct kind *k = &kinds[kind];
    const struct bytes *file = &f->files[kind];

    file->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    write_bytes(k->name, file->data, file->size);
    file->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    alarm(RUN_SECONDS);
    struct result r = use(k->use, strcmp(k->name, "tiny.npz") == 0 ? "tiny.pt2" : k->name, "tiny.npz");
    alarm(0);
    bool same = r.status == NUC_OK && k->use == USE_COMPILE && r.bytes.size == f->program.size &&
                memcmp(r.bytes.data, f->program.data, r.bytes.size) == 0;
    __atomic_add_fetch(&x->cases, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(r.status != NUC_OK ? &x->errors : same ? &x->same : &x->other, 1, __ATOMIC_RELAXED);
    if (r.status == NUC_INTERNAL || r.status == NUC_NO_MEMORY ||
        (r.status != NUC_OK && strlen(r.message) < 20 && k->checked))
        show(f, kind, bit, *r.message != '\0' ? r.message : nuc_status_name(r.status));
    else if (k->checked && r.status == NUC_OK && !same)
        show(f, kind, bit, "another program");
    free(r.bytes.data);
}

static bool is_wanted(const struct flipping *f, size_t kind)
{
    return f->only == NULL || strcmp(f->only, kinds[kind].name) == 0;
}

/* Some cases in a process of their own, so that one which ends it is known and the others go on. */
static bool in_process(const struct flipping *f, size_t kind, const uint64_t *bits, size_t count)
{
    uint64_t *at = &f->shared->at[f->job];
    int status = 0;

    fflush(NULL);
    *at = 0;
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        for (size_t i = 0; i < count; i++) {
            *at = i + 1;
            flip(f, kind, bits[i]);
        }
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    if (status == 0)
        return true;
    size_t i = (size_t)*at - 1;
    char why[80];
    snprintf(why, sizeof why, WIFSIGNALED(status) ? "ended by signal %d" : "exit code %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    __atomic_add_fetch(&f->shared->figures[kind].cases, 1, __ATOMIC_RELAXED);
    show(f, kind, bits[i], why);
    return i + 1 == count || in_process(f, kind, bits + i + 1, count - i - 1);
}

static void flip_all(const struct flipping *f, size_t kind)
{
    uint64_t bits[PER_PROCESS], n = f->files[kind].size * 8;
    size_t count = 0;

    for (uint64_t bit = f->job; bit < n; bit += f->jobs) {
        bits[count++] = bit;
        if (count == PER_PROCESS || bit + f->jobs >= n) {
            in_process(f, kind, bits, count);
            count = 0;
        }
    }
}

static void flip_some(const struct flipping *f)
{
    double until = now() + f->seconds;
    uint64_t state = f->seed + f->job * 0x100000001u, bits[20];

    for (size_t kind = 0; now() < until; kind = (kind + 1) % N_FILES) {
        if (!is_wanted(f, kind))
            continue;
        for (size_t i = 0; i < 20; i++)
            bits[i] = next_random(&state) % (f->files[kind].size * 8);
        in_process(f, kind, bits, 20);
    }
}

static void work(struct flipping *f)
{
    char name[32];

    snprintf(name, sizeof name, "job%u", f->job);
    if (mkdir(name, 0755) != 0 || chdir(name) != 0)
        die(name);
    for (size_t i = 0; i < N_FILES; i++) {
        if (f->seconds > 0 || !is_wanted(f, i))
            continue;
        for (size_t k = 0; k < N_FILES; k++)
            write_bytes(kinds[k].name, f->files[k].data, f->files[k].size);
        flip_all(f, i);
    }
    if (f->seconds > 0) {
        for (size_t k = 0; k < N_FILES; k++)
            write_bytes(kinds[k].name, f->files[k].data, f->files[k].size);
        flip_some(f);
    }
    fflush(stdout);
    _exit(0);
}

/* ---- setting up ---- */

/* The LiteRT model is that of the partition of the quantized network. */
static void make_files(struct flipping *f)
{
    struct nuc_options o;
    char path[1024];

    nuc_options_default(&o);
    o.intermediates_dir = ".";
    o.placement = NUC_PLACEMENT_GREEDY; /* by cost so little stays on the CPU */
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/test/fault/%s", f->source, kinds[i].name);
        f->files[i] = read_bytes(path);
        write_bytes(kinds[i].name, f->files[i].data, f->files[i].size);
    }
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL || nuc_compile_file(c, "tiny.pt2", "tiny.npz", "tiny.pte") != NUC_OK) {
        fprintf(stderr, "flips: %s\n", c != NULL ? nuc_compiler_message(c) : "no memory");
        exit(2);
    }
    nuc_compiler_free(c);
    f->files[2] = read_bytes("tag1_pure.et.tflite");
    f->files[3] = read_bytes("tiny.pte");
    struct result compiled = use(USE_COMPILE, "tiny.pt2", "tiny.npz");
    struct result ran = use(USE_PROGRAM, "tiny.pte", "tiny.npz");
    if (compiled.status != NUC_OK || ran.status != NUC_OK) {
        fprintf(stderr, "flips: the files as they are do not work: %s%s\n", compiled.message, ran.message);
        exit(2);
    }
    f->program = compiled.bytes;
}

static int report(const struct flipping *f)
{
    uint64_t cases = 0, failed = 0;

    for (size_t i = 0; i < N_FILES; i++) {
        const struct figures *x = &f->shared->figures[i];
        if (x->cases > 0)
            printf("%-12s %7zu bytes, %8llu cases: %8llu errors, %6llu the same program, %6llu other results, %llu "
                   "failed\n",
                   kinds[i].name, f->files[i].size, (unsigned long long)x->cases, (unsigned long long)x->errors,
                   (unsigned long long)x->same, (unsigned long long)x->other, (unsigned long long)x->failed);
        cases += x->cases;
        failed += x->failed;
    }
    printf("flips: %llu cases, %llu failed\n", (unsigned long long)cases, (unsigned long long)failed);
    return failed == 0 && cases > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct flipping f = {.jobs = 2, .seed = 1};
    char command[600];
    int bad = 0, status;

    f.source = argc > 1 ? realpath(argv[1], NULL) : NULL;
    if (f.source == NULL) {
        fprintf(stderr, "usage: flips SOURCE [--only FILE] [--seconds N] [--seed N] [--jobs N]\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--only") == 0)
            f.only = argument(argc, argv, &i);
        else if (strcmp(argv[i], "--seconds") == 0)
            f.seconds = atof(argument(argc, argv, &i));
        else if (strcmp(argv[i], "--seed") == 0)
            f.seed = strtoull(argument(argc, argv, &i), NULL, 0);
        else if (strcmp(argv[i], "--jobs") == 0)
            f.jobs = (unsigned)atoi(argument(argc, argv, &i));
    }
    f.jobs = f.jobs < 1 ? 1 : f.jobs > 64 ? 64 : f.jobs;
    f.shared = mmap(NULL, sizeof *f.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(f.work, sizeof f.work, "%s/nucleon-flips-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (f.shared == MAP_FAILED || mkdtemp(f.work) == NULL || chdir(f.work) != 0)
        die(f.work);
    make_files(&f);
    for (f.job = 0; f.job < f.jobs; f.job++) {
        fflush(NULL);
        if (fork() == 0)
            work(&f);
    }
    while (wait(&status) >= 0)
        bad |= status != 0;
    int code = report(&f);
    for (size_t i = 0; i < N_FILES; i++)
        free(f.files[i].data);
    free(f.program.data);
    free(f.source);
    snprintf(command, sizeof command, "rm -rf '%s'", f.work);
    if (chdir("/") != 0 || system(command) != 0)
        bad = 1;
    return bad ? 2 : code;
}
