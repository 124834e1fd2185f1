/* Another program on the same models: a command, run as a child process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/span.h"
#include "bench.h"
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

/* Microseconds from start to end of the command. What it prints goes nowhere. */
static double run_command(struct nuc_context *cx, const char *command, const char *file, const struct files *f)
{
    /* What is buffered would be printed by the child as well. */
    fflush(stdout);
    double start = bench_now();
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(127);
        execlp(command, command, file, f->input, f->output, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        nuc_fail(cx, NUC_IO, "%s: %s", command, strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        nuc_fail(cx, NUC_IO, "%s: fails on %s with status %d", command, file, WEXITSTATUS(status));
    return bench_now() - start;
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

double bench_peer(struct nuc_context *cx, const struct bench_model *m, const char *file, const struct bench_options *o,
                  bool *same)
{
    struct files f = {.folder = "/tmp/nucleon-bench-XXXXXX"};

    if (!mkdtemp(f.folder))
        nuc_fail(cx, NUC_IO, "%s: %s", f.folder, strerror(errno));
    snprintf(f.input, sizeof f.input, "%s/input.bin", f.folder);
    snprintf(f.output, sizeof f.output, "%s/output.bin", f.folder);
    write_inputs(cx, m, f.input, 1);
    double single = run_command(cx, o->peer, file, &f);
    for (int i = 0; i < 2; i++) {
        double again = run_command(cx, o->peer, file, &f);
        single = again < single ? again : single;
    }
    *same = same_outputs(cx, m, f.output);
    write_inputs(cx, m, f.input, 1 + o->peer_samples);
    double all = run_command(cx, o->peer, file, &f);
    unlink(f.input);
    unlink(f.output);
    rmdir(f.folder);
    return (all - single) / o->peer_samples;
}
