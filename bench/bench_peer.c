/* Another program on the same models: a command, run as a child process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "device/base/span.h"
#include "host/file.h"

struct files {
    char folder[64];
    char input[96], output[96];
};

/* The tensor as the model has it at its boundary: bytes, or floats. */
static struct nuc_span at_border(struct nuc_context *cx, const void *data, size_t size, const struct bench_border *b)
{
    const int8_t *q = data;

    if (b->scale == 0.0f)
        return (struct nuc_span){data, size};
    float *real = nuc_alloc_array(cx, size, sizeof *real);
    for (size_t i = 0; i < size; i++)
        real[i] = (float)(q[i] - b->zero) * b->scale;
    return (struct nuc_span){(const uint8_t *)real, size * sizeof *real};
}

/* Inputs of `samples` inferences, those of a sample one after the other. */
static void write_inputs(struct nuc_context *cx, const struct bench_model *m, const char *path, unsigned samples)
{
    struct nuc_span *parts = nuc_alloc_array(cx, m->image->n_inputs, sizeof *parts);
    size_t sample = 0, at = 0;

    for (uint32_t i = 0; i < m->image->n_inputs; i++) {
        parts[i] = at_border(cx, m->inputs[i], m->input_sizes[i], &m->input_borders[i]);
        sample += parts[i].size;
    }
    uint8_t *bytes = nuc_alloc_array(cx, samples, sample);
    for (unsigned s = 0; s < samples; s++) {
        for (uint32_t i = 0; i < m->image->n_inputs; i++) {
            memcpy(bytes + at, parts[i].data, parts[i].size);
            at += parts[i].size;
        }
    }
    nuc_write_file(cx, path, (struct nuc_span){bytes, at});
}

/* A call of the command. */
struct call {
    double microseconds; /* from its start to its end */
    double *inferences;  /* those it says it timed, at most `most` */
    size_t n, most;
};

static void read_lines(FILE *from, struct call *c)
{
    char line[256];
    double microseconds;

    while (fgets(line, sizeof line, from)) {
        if (c->n < c->most && sscanf(line, "inference %lf", &microseconds) == 1)
            c->inferences[c->n++] = microseconds;
    }
}

static void run_child(const char *command, const char *file, const struct files *f, unsigned threads, int output)
{
    char text[16];

    snprintf(text, sizeof text, "%u", threads);
    if (setenv("THREADS", text, 1) != 0 || dup2(output, STDOUT_FILENO) < 0 || !freopen("/dev/null", "w", stderr))
        _exit(127);
    execlp(command, command, file, f->input, f->output, (char *)NULL);
    _exit(127);
}

static void run_command(struct nuc_context *cx, const char *command, const char *file, const struct files *f,
                        unsigned threads, struct call *c)
{
    int ends[2], status = 0;

    c->n = 0;
    if (pipe(ends) != 0)
        nuc_fail(cx, NUC_IO, "%s: %s", command, strerror(errno));
    /* What is buffered would be printed by the child as well. */
    fflush(stdout);
    double start = bench_now();
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(command, file, f, threads, ends[1]);
    }
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    if (lines) {
        read_lines(lines, c);
        fclose(lines);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        nuc_fail(cx, NUC_IO, "%s: %s", command, strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        nuc_fail(cx, NUC_IO, "%s: fails on %s with status %d", command, file, WEXITSTATUS(status));
    c->microseconds = bench_now() - start;
}

static bool same_outputs(struct nuc_context *cx, const struct bench_model *m, const char *path)
{
    struct nuc_span bytes = nuc_read_file(cx, path);
    size_t at = 0;

    for (uint32_t i = 0; i < m->image->n_outputs; i++) {
        struct nuc_span own = at_border(cx, m->outputs[i], m->output_sizes[i], &m->output_borders[i]);
        if (own.size > bytes.size - at || memcmp(bytes.data + at, own.data, own.size) != 0)
            return false;
        at += own.size;
    }
    return true;
}

/* The least of a few calls with a single inference: what is not the inferences' time. */
static double start_of(struct nuc_context *cx, const struct bench_model *m, const char *file, const char *command,
                       unsigned threads, struct files *f)
{
    double least = 0;

    write_inputs(cx, m, f->input, 1);
    for (int i = 0; i < 3; i++) {
        struct call c = {.most = 0};
        run_command(cx, command, file, f, threads, &c);
        least = i == 0 || c.microseconds < least ? c.microseconds : least;
    }
    return least;
}

struct bench_times bench_peer(struct nuc_context *cx, const struct bench_model *m, const char *file,
                              const char *command, struct bench_runner *r, unsigned samples)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct files f = {.folder = "/tmp/nucleon-bench-XXXXXX"};
    struct call c = {.inferences = nuc_alloc_array(cx, 1 + samples, sizeof(double)), .most = 1 + samples};
    struct bench_times t;

    if (!mkdtemp(f.folder))
        nuc_fail(cx, NUC_IO, "%s: %s", f.folder, strerror(errno));
    snprintf(f.input, sizeof f.input, "%s/input.bin", f.folder);
    snprintf(f.output, sizeof f.output, "%s/output.bin", f.folder);
    write_inputs(cx, m, f.input, 1 + samples);
    run_command(cx, command, file, &f, r->threads, &c);
    r->same = r->times.runs == 0 ? same_outputs(cx, m, f.output) : r->same;
    if (c.n > 1) {
        t = bench_summary(c.inferences + 1, c.n - 1);
    } else {
        double start = start_of(cx, m, file, command, r->threads, &f);
        r->start = r->times.runs == 0 || start < r->start ? start : r->start;
        double mean = (c.microseconds - r->start) / samples;
        t = (struct bench_times){mean, mean, samples};
    }
    unlink(f.input);
    unlink(f.output);
    rmdir(f.folder);
    nuc_pop_arena(cx, outer);
    return t;
}
