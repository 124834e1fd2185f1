/*
 * sweep NUCLEON SHIM SOURCE [--only COMMAND] [--family NAME] [--seconds N] [--seed N] [--jobs N] [--quiet]
 *
 * Every command of commands.h runs with its n-th call of a kind failing, for all n: allocations by a library in front
 * of the C library (shim.c), system calls by ptrace (trace.c). Each run either ends with an error, that is exit code 1
 * or 2 and one line on standard error, what was there before untouched and nothing left behind, or with the same bytes
 * as without the fault. A process that is killed instead leaves each output whole: the old one or the new one; what is
 * ended by SIGTERM or SIGINT also leaves nothing behind.
 *
 * With --seconds a part of the runs, chosen by the seed, as many as fit. The last line is "fault: N cases, N failed".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "page.h"
#include "tool.h"
#include "trace.h"

#define OLD "what was there before"
#define RUN_SECONDS 60
#define MAX_WORDS 64
#define MAX_FAILURES_SHOWN 400

/* What a case does; the families of trace.h follow those of the shim. */
enum kind { KIND_MEMORY_ONCE, KIND_MEMORY_GONE, KIND_CALLS };
enum { N_FAMILIES = KIND_CALLS + FAULT_FAMILIES };

struct bytes {
    char *data; /* NULL: no such file */
    size_t size;
};

/* A run without a fault. */
struct baseline {
    struct bytes outputs[FAULT_MAX_OUTPUTS], printed, notes;
    uint64_t counts[FAULT_FAMILIES], allocations;
};

struct figures {
    uint64_t calls, cases, errors, same, failed;
};

/* In memory that all workers share. */
struct shared {
    struct figures figures[N_FAULT_COMMANDS][N_FAMILIES];
    uint64_t shown, cases;
};

struct sweep {
    const char *nucleon, *shim, *source, *only, *family;
    char work[512];
    double seconds;
    uint64_t seed;
    unsigned jobs, job;
    bool quiet;
    struct fault_page *page;
    struct shared *shared;
    const struct fault_command *command;
    const struct baseline *baseline;
};

/* ---- files ---- */

static struct bytes read_bytes(const char *path)
{
    struct bytes b = {NULL, 0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0)
            close(fd);
        return b;
    }
    b.data = malloc((size_t)st.st_size + 1);
    if (b.data == NULL)
        die(path);
    while (b.size < (size_t)st.st_size) {
        ssize_t n = read(fd, b.data + b.size, (size_t)st.st_size - b.size);
        if (n <= 0)
            break;
        b.size += (size_t)n;
    }
    b.data[b.size] = '\0';
    close(fd);
    return b;
}

static bool same(const struct bytes *a, const struct bytes *b)
{
    return (a->data == NULL) == (b->data == NULL) && a->size == b->size &&
           (a->data == NULL || memcmp(a->data, b->data, a->size) == 0);
}

/* Digits, and what pads them, count for nothing. */
static bool same_but_digits(const struct bytes *a, const struct bytes *b)
{
    const char *x = a->data, *y = b->data;
    static const char skipped[] = "0123456789.-+e inf";

    for (;; x++, y++) {
        x += strspn(x, skipped);
        y += strspn(y, skipped);
        if (*x != *y)
            return false;
        if (*x == '\0')
            return true;
    }
}

/* A summary leaves the size of a file out where that cannot be asked for. */
static bool same_but_sizes(const struct bytes *out, const struct bytes *baseline)
{
    const char *x = out->data, *y = baseline->data;

    while (*y != '\0') {
        size_t digits = strncmp(y, ": ", 2) == 0 ? strspn(y + 2, "0123456789,") : 0;
        if (*x == *y) {
            x++, y++;
        } else if (digits > 0 && strncmp(y + 2 + digits, " bytes", 6) == 0) {
            y += 2 + digits + 6;
        } else {
            return false;
        }
    }
    return *x == '\0';
}

static bool is_output(const struct fault_command *c, const char *path)
{
    for (size_t i = 0; c->outputs[i] != NULL; i++) {
        if (strcmp(c->outputs[i], path) == 0)
            return true;
    }
    return false;
}

/* A file of a folder that the command does not write; an empty text when there is none. */
static const char *leftover(const struct fault_command *c, const char *folder, bool remove)
{
    static char found[512];
    DIR *dir = opendir(folder);
    struct dirent *e;

    found[0] = '\0';
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        char path[512];
        struct stat st;
        snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (!is_output(c, path))
            memcpy(found, path, sizeof found);
        if (remove && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            leftover(c, path, true);
            rmdir(path);
            memcpy(found, path, sizeof found);
        } else if (remove)
            unlink(path);
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}

static void clear(const struct fault_command *c, bool with_old)
{
    leftover(c, "box", true);
    leftover(c, "tmp", true);
    for (size_t i = 0; with_old && c->outputs[i] != NULL; i++)
        write_bytes(c->outputs[i], OLD, strlen(OLD));
}

/* ---- running ---- */

/* The words of a line; '@' stands for nucleon. */
static void split(const struct sweep *s, const char *line, char *text, size_t size, char **argv)
{
    size_t n = 0;

    snprintf(text, size, "%s", line);
    for (char *word = strtok(text, " "); word != NULL && n + 1 < MAX_WORDS; word = strtok(NULL, " "))
        argv[n++] = strcmp(word, "@") == 0 ? (char *)(uintptr_t)s->nucleon : word;
    argv[n] = NULL;
}

static void redirect(const char *path, int to)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || dup2(fd, to) < 0)
        _exit(126);
    close(fd);
}

/* In the working folder of the job; `traced` by this process. */
static pid_t start(const struct sweep *s, const char *line, bool traced)
{
    char text[1024], *argv[MAX_WORDS];
    pid_t pid;

    split(s, line, text, sizeof text, argv);
    fflush(NULL);
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid > 0)
        return pid;
    redirect("out", STDOUT_FILENO);
    redirect("err", STDERR_FILENO);
    setenv("TMPDIR", "tmp", 1);
    setenv(FAULT_PAGE, "page", 1);
    setenv("LD_PRELOAD", s->shim, 1);
    if (traced)
        fault_trace_me();
    execv(argv[0], argv);
    _exit(126);
}

static struct fault_run follow_plain(pid_t pid)
{
    struct fault_run run = {.status = 0};
    unsigned waited = 0;

    while (waitpid(pid, &run.status, WNOHANG) == 0) {
        nanosleep(&(struct timespec){.tv_nsec = waited < 100 ? 200000 : 5000000}, NULL);
        if (++waited > RUN_SECONDS * 200) {
            run.timeout = true;
            kill(pid, SIGKILL);
            waitpid(pid, &run.status, 0);
            return run;
        }
    }
    return run;
}

static struct fault_run run_once(const struct sweep *s, int family, const struct fault *fault)
{
    bool traced = fault == NULL || family >= KIND_CALLS;
    struct fault_run run;

    memset(s->page, 0, sizeof *s->page);
    s->page->at = traced || fault == NULL ? 0 : fault->at;
    s->page->persistent = family == KIND_MEMORY_GONE;
    pid_t pid = start(s, s->command->line, traced);
    run = traced ? fault_follow(pid, fault, RUN_SECONDS) : follow_plain(pid);
    if (!traced)
        run.fired = s->page->allocations >= s->page->at;
    return run;
}

/* ---- judging ---- */

struct verdict {
    bool failed, error; /* error: the run ended with one */
    char why[2400];
};

__attribute__((format(printf, 2, 3))) static void fail(struct verdict *v, const char *format, ...)
{
    va_list args;

    if (v->failed)
        return;
    v->failed = true;
    va_start(args, format);
    vsnprintf(v->why, sizeof v->why, format, args);
    va_end(args);
}

/* Lines that are neither notes nor in the baseline; `last` is the last one. */
static unsigned error_lines(const struct bytes *err, const struct bytes *notes, const char **last)
{
    unsigned n = 0;

    for (char *line = strtok(err->data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "nucleon: note: ", 15) == 0 || strstr(notes->data, line) != NULL)
            continue;
        n++;
        *last = line;
    }
    return n;
}

/* LiteRT models of partitions are there for those who look for what went wrong: they are written on the way. */
static bool is_early(const char *output)
{
    return strstr(output, ".et.tflite") != NULL;
}

static void judge_outputs(const struct sweep *s, struct verdict *v, bool had_old, bool may_be_new, bool may_be_old)
{
    const struct bytes old = {had_old ? (char *)(uintptr_t)OLD : NULL, had_old ? strlen(OLD) : 0};

    for (size_t i = 0; s->command->outputs[i] != NULL; i++) {
        struct bytes now = read_bytes(s->command->outputs[i]);
        bool is_new = same(&now, &s->baseline->outputs[i]), is_old = same(&now, &old);
        if (!is_new && !is_old)
            fail(v, "%s is neither the old nor the new one (%zu bytes)", s->command->outputs[i], now.size);
        else if (is_new && !is_old && !may_be_new && !is_early(s->command->outputs[i]))
            fail(v, "%s is there in spite of the error", s->command->outputs[i]);
        else if (is_old && !is_new && !may_be_old)
            fail(v, "%s was not written", s->command->outputs[i]);
        free(now.data);
    }
}

/* "nucleon: " and what a reader can do something with. */
static bool says_something(const char *line)
{
    return strncmp(line, "nucleon: ", 9) == 0 && strlen(line) >= 20;
}

static void judge(const struct sweep *s, const struct fault_run *run, const struct fault *fault, bool had_old,
                  struct verdict *v)
{
    const struct fault_command *c = s->command;
    bool killed = fault->action == FAULT_KILL && run->fired, signalled = fault->action == FAULT_SIGNAL && run->fired;
    /* What cannot be printed, or is not certain to outlast the machine, was written before. */
    bool written = run->at_stdout || run->at_stderr || (fault->action == FAULT_ERROR && fault->family == FAULT_SYNC);
    struct bytes out = read_bytes("out"), err = read_bytes("err");
    const char *last = "";

    *v = (struct verdict){.failed = false};
    if (run->timeout)
        fail(v, "does not end");
    if (out.data == NULL || err.data == NULL)
        die("output of a run");
    if (WIFSIGNALED(run->status)) {
        bool by_us =
            (killed && WTERMSIG(run->status) == SIGKILL) || (signalled && WTERMSIG(run->status) == fault->number);
        if (!by_us)
            fail(v, "ended by signal %d", WTERMSIG(run->status));
        v->error = true;
        judge_outputs(s, v, had_old, true, true);
    } else if (WEXITSTATUS(run->status) == 0) {
        if (!same(&err, &s->baseline->notes))
            fail(v, "exit code 0, other notes: %.200s", err.data);
        bool no_sizes = fault->action == FAULT_ERROR && fault->family == FAULT_STAT;
        if (c->timed   ? !same_but_digits(&out, &s->baseline->printed)
            : no_sizes ? !same_but_sizes(&out, &s->baseline->printed)
                       : !same(&out, &s->baseline->printed))
            fail(v, "exit code 0, prints something else (%zu bytes instead of %zu):\n%.2000s", out.size,
                 s->baseline->printed.size, out.data);
        judge_outputs(s, v, had_old, true, false);
    } else {
        v->error = true;
        if (WEXITSTATUS(run->status) != 1 && WEXITSTATUS(run->status) != 2 && !signalled)
            fail(v, "exit code %d: %.200s", WEXITSTATUS(run->status), err.data);
        unsigned n = error_lines(&err, &s->baseline->notes, &last);
        if (!signalled && !run->at_stderr && (n != 1 || !says_something(last)))
            fail(v, "%u lines on standard error, the last one '%.200s'", n, last);
        written |= strncmp(last, "nucleon: standard output: ", 26) == 0;
        judge_outputs(s, v, had_old, written || signalled, true);
    }
    if (!killed) {
        const char *left = leftover(c, "box", false);
        if (*left != '\0')
            fail(v, "%s is left", left);
        left = leftover(c, "tmp", false);
        if (*left != '\0' && !run->at_removal)
            fail(v, "%s is left", left);
    }
    free(out.data);
    free(err.data);
}

/* ---- cases ---- */

static const char *family_name(int family)
{
    return family == KIND_MEMORY_ONCE   ? "alloc"
           : family == KIND_MEMORY_GONE ? "alloc-on"
                                        : fault_family_names[family - KIND_CALLS];
}

static void run_case(const struct sweep *s, int family, const struct fault *fault, bool with_old)
{
    static const char *const actions[] = {"none", "error", "short", "kill", "signal"};
    struct figures *f = &s->shared->figures[s->command - fault_commands][family];
    struct verdict v;

    clear(s->command, with_old);
    struct fault_run run = run_once(s, family, fault);
    judge(s, &run, fault, with_old, &v);
    __atomic_add_fetch(&f->cases, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&s->shared->cases, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(v.failed ? &f->failed : v.error ? &f->errors : &f->same, 1, __ATOMIC_RELAXED);
    if (v.failed && __atomic_add_fetch(&s->shared->shown, 1, __ATOMIC_RELAXED) <= MAX_FAILURES_SHOWN)
        printf("FAIL %s: %s %llu %s %s%s: %s\n", s->command->name, family_name(family), (unsigned long long)fault->at,
               actions[fault->action], fault->number != 0 ? strerror(fault->number) : "",
               with_old ? ", over an old file" : "", v.why);
}

/* All ways in which call `at` of a family can fail. */
static void run_call(const struct sweep *s, int family, uint64_t at, bool with_old)
{
    struct fault f = {.at = at, .action = FAULT_ERROR, .number = ENOMEM};

    if (family < KIND_CALLS) {
        run_case(s, family, &f, with_old);
        return;
    }
    f.family = (enum fault_family)(family - KIND_CALLS);
    for (const int *e = fault_errors(f.family); *e != 0; e++) {
        f.number = *e;
        run_case(s, family, &f, with_old);
    }
    f.number = 0;
    if (f.family == FAULT_READ || f.family == FAULT_WRITE) {
        f.action = FAULT_SHORT;
        run_case(s, family, &f, with_old);
    }
    if (f.family == FAULT_CHANGE) {
        f.action = FAULT_KILL;
        run_case(s, family, &f, with_old);
        f.action = FAULT_SIGNAL;
        f.number = at % 2 == 0 ? SIGTERM : SIGINT;
        run_case(s, family, &f, with_old);
    }
}

static uint64_t calls_of(const struct baseline *b, int family)
{
    return family < KIND_CALLS ? b->allocations : b->counts[family - KIND_CALLS];
}

static bool is_wanted(const struct sweep *s, const struct fault_command *c, int family)
{
    return (s->only == NULL || strcmp(s->only, c->name) == 0) &&
           (s->family == NULL || family < 0 || strcmp(s->family, family_name(family)) == 0);
}

/* Every job takes every jobs-th call. */
static void sweep_all(struct sweep *s, const struct baseline *baselines)
{
    for (size_t k = 0; k < N_FAULT_COMMANDS; k++) {
        s->command = &fault_commands[k];
        s->baseline = &baselines[k];
        for (int family = 0; family < N_FAMILIES; family++) {
            uint64_t n = is_wanted(s, s->command, family) ? calls_of(s->baseline, family) : 0;
            for (uint64_t at = 1 + s->job; at <= n; at += s->jobs)
                run_call(s, family, at, at / s->jobs % 2 == 0);
        }
    }
}

static void sweep_some(struct sweep *s, const struct baseline *baselines)
{
    double until = now() + s->seconds;
    uint64_t state = s->seed + s->job * 0x100000001u;

    while (now() < until) {
        size_t k = next_random(&state) % N_FAULT_COMMANDS;
        int family = (int)(next_random(&state) % N_FAMILIES);
        uint64_t n = calls_of(&baselines[k], family);
        if (n == 0 || !is_wanted(s, &fault_commands[k], family))
            continue;
        s->command = &fault_commands[k];
        s->baseline = &baselines[k];
        run_call(s, family, 1 + next_random(&state) % n, next_random(&state) % 2 == 0);
    }
}

/* ---- setting up ---- */

static void must_run(const struct sweep *s, const char *line)
{
    char text[1024], *argv[MAX_WORDS];
    int status = 0;

    split(s, line, text, sizeof text, argv);
    pid_t pid = fork();
    if (pid == 0) {
        redirect("out", STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(126);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0) {
        fprintf(stderr, "sweep: '%s' does not work\n", line);
        exit(2);
    }
}

static void copy_in(const struct sweep *s, const char *name)
{
    char path[1024], to[512];

    snprintf(path, sizeof path, "%s/test/fault/%s", s->source, name);
    snprintf(to, sizeof to, "in/%s", name);
    struct bytes b = read_bytes(path);
    if (b.data == NULL)
        die(path);
    write_bytes(to, b.data, b.size);
    free(b.data);
}

static void set_up(struct sweep *s)
{
    static const char *const files[] = {"tiny.pt2",       "tiny.npz",       "images/a/0.png",
                                        "images/a/1.png", "images/b/0.png", "images/b/1.png"};
    char script[1024];

    snprintf(s->work, sizeof s->work, "%s/nucleon-sweep-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(s->work) == NULL || chdir(s->work) != 0)
        die(s->work);
    if (mkdir("in", 0755) != 0 || mkdir("in/images", 0755) != 0 || mkdir("in/images/a", 0755) != 0 ||
        mkdir("in/images/b", 0755) != 0)
        die(s->work);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        copy_in(s, files[i]);
    for (size_t i = 0; i < N_FAULT_PREPARATIONS; i++)
        must_run(s, fault_preparations[i]);
    int n = snprintf(script, sizeof script, "#!/bin/sh\nexec %s convert \"$@\"\n", s->nucleon);
    write_bytes("in/converter", script, (size_t)n);
    chmod("in/converter", 0755);
}

/* The folder of a job: box for outputs, tmp for temporary files, the page. */
static void enter_folder(struct sweep *s)
{
    static const struct fault_page empty;
    char name[32];

    snprintf(name, sizeof name, "job%u", s->job);
    if (mkdir(name, 0755) != 0 || chdir(name) != 0 || mkdir("box", 0755) != 0 || mkdir("tmp", 0755) != 0)
        die(name);
    write_bytes("page", &empty, sizeof empty);
    int fd = open("page", O_RDWR | O_CLOEXEC);
    s->page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *s->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s->page == MAP_FAILED)
        die("page");
    close(fd);
}

static void measure(struct sweep *s, const struct fault_command *c, struct baseline *b)
{
    s->command = c;
    clear(c, false);
    struct fault_run run = run_once(s, KIND_CALLS, NULL);
    memcpy(b->counts, run.counts, sizeof b->counts);
    b->allocations = s->page->allocations;
    b->printed = read_bytes("out");
    b->notes = read_bytes("err");
    if (run.status != 0 || s->page->owner == 0) {
        fprintf(stderr, "sweep: %s: status 0x%x without a fault: %s\n", c->name, (unsigned)run.status, b->notes.data);
        exit(2);
    }
    for (size_t i = 0; c->outputs[i] != NULL; i++) {
        b->outputs[i] = read_bytes(c->outputs[i]);
        if (b->outputs[i].data == NULL)
            die(c->outputs[i]);
    }
    const char *left = leftover(c, "box", false);
    if (*left != '\0') {
        fprintf(stderr, "sweep: %s: writes %s, too\n", c->name, left);
        exit(2);
    }
}

static void work(struct sweep *s)
{
    struct baseline *baselines = calloc(N_FAULT_COMMANDS, sizeof *baselines);

    if (baselines == NULL)
        die("memory");
    enter_folder(s);
    for (size_t i = 0; i < N_FAULT_COMMANDS; i++) {
        if (!is_wanted(s, &fault_commands[i], -1))
            continue;
        measure(s, &fault_commands[i], &baselines[i]);
        for (int f = 0; f < N_FAMILIES; f++)
            s->shared->figures[i][f].calls = calls_of(&baselines[i], f);
    }
    if (s->seconds > 0)
        sweep_some(s, baselines);
    else
        sweep_all(s, baselines);
    clear(&fault_commands[0], false);
    fflush(stdout);
    _exit(0);
}

/* ---- what it says ---- */

static int report(const struct sweep *s)
{
    struct figures all = {0, 0, 0, 0, 0};

    for (size_t i = 0; i < N_FAULT_COMMANDS; i++) {
        for (int f = 0; f < N_FAMILIES; f++) {
            const struct figures *x = &s->shared->figures[i][f];
            if (x->cases > 0 && !s->quiet)
                printf("%-24s %-9s %6llu calls, %6llu runs: %6llu errors, %6llu the same, %llu failed\n",
                       fault_commands[i].name, family_name(f), (unsigned long long)x->calls,
                       (unsigned long long)x->cases, (unsigned long long)x->errors, (unsigned long long)x->same,
                       (unsigned long long)x->failed);
            all.cases += x->cases;
            all.failed += x->failed;
        }
    }
    printf("fault: %llu cases, %llu failed\n", (unsigned long long)all.cases, (unsigned long long)all.failed);
    return all.failed == 0 && all.cases > 0 ? 0 : 1;
}

static void parse(int argc, char **argv, struct sweep *s)
{
    if (argc < 4) {
        fprintf(stderr, "usage: sweep NUCLEON SHIM SOURCE [--only COMMAND] [--family NAME] [--seconds N] [--seed N] "
                        "[--jobs N] [--quiet]\n");
        exit(2);
    }
    s->nucleon = realpath(argv[1], NULL);
    s->shim = realpath(argv[2], NULL);
    s->source = realpath(argv[3], NULL);
    if (s->nucleon == NULL || s->shim == NULL || s->source == NULL)
        die("arguments");
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "--only") == 0)
            s->only = argument(argc, argv, &i);
        else if (strcmp(argv[i], "--family") == 0)
            s->family = argument(argc, argv, &i);
        else if (strcmp(argv[i], "--seconds") == 0)
            s->seconds = atof(argument(argc, argv, &i));
        else if (strcmp(argv[i], "--seed") == 0)
            s->seed = strtoull(argument(argc, argv, &i), NULL, 0);
        else if (strcmp(argv[i], "--jobs") == 0)
            s->jobs = (unsigned)atoi(argument(argc, argv, &i));
        else if (strcmp(argv[i], "--quiet") == 0)
            s->quiet = true;
        else {
            fprintf(stderr, "sweep: '%s' is not an option\n", argv[i]);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    struct sweep s = {.jobs = 2, .seed = 1};
    int bad = 0, status;
    char command[600];

    parse(argc, argv, &s);
    if (!fault_can_trace()) {
        printf("sweep: processes cannot be traced here\n");
        return 77;
    }
    s.shared = mmap(NULL, sizeof *s.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.shared == MAP_FAILED)
        die("memory");
    set_up(&s);
    for (s.job = 0; s.job < s.jobs; s.job++) {
        fflush(NULL);
        if (fork() == 0)
            work(&s);
    }
    while (wait(&status) >= 0)
        bad |= status != 0;
    int code = report(&s);
    snprintf(command, sizeof command, "rm -rf '%s'", s.work);
    if (chdir("/") != 0 || system(command) != 0)
        bad = 1;
    return bad ? 2 : code;
}
