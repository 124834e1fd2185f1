#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/image_options.h"
#include "cli/run_profile.h"
#include "cli/simulator_options.h"

struct run_state {
    struct cli_program program;
    struct nuc_compiler *compiler;
    struct nuc_dataset *data;
    struct nuc_tensor_info *inputs, *outputs;
    size_t n_inputs, n_outputs, n_samples;
    char **results; /* one block an output, samples back to back */
    struct cli_profiler profiler;
};

struct run_flags {
    const char *input, *output, *etdump;
    bool profile;
    struct cli_image_flags images;
    struct cli_simulator_flags simulator;
};

static int open_program(struct run_state *r, const char *path)
{
    int code = cli_program_open(&r->program, path);

    if (code != CLI_OK)
        return code;
    r->n_inputs = nuc_program_n_inputs(&r->program.program);
    r->n_outputs = nuc_program_n_outputs(&r->program.program);
    r->inputs = calloc(r->n_inputs + 1, sizeof *r->inputs);
    r->outputs = calloc(r->n_outputs + 1, sizeof *r->outputs);
    r->results = calloc(r->n_outputs + 1, sizeof *r->results);
    if (r->inputs == NULL || r->outputs == NULL || r->results == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    return CLI_OK;
}

static int describe_tensors(struct run_state *r)
{
    int code = CLI_OK;

    for (size_t i = 0; i < r->n_inputs && code == CLI_OK; i++)
        code = cli_program_input(&r->program, i, &r->inputs[i]);
    for (size_t i = 0; i < r->n_outputs && code == CLI_OK; i++)
        code = cli_program_output(&r->program, i, &r->outputs[i]);
    return code;
}

static int open_data(struct run_state *r, const char *path)
{
    enum nuc_status s = nuc_dataset_open(r->compiler, path, &r->data);

    if (s != NUC_OK)
        return cli_report(s, nuc_compiler_message(r->compiler));
    cli_program_suit(&r->program, r->data);
    int code = describe_tensors(r);
    if (code != CLI_OK)
        return code;
    s = nuc_dataset_bind(r->data, r->inputs, r->n_inputs, &r->n_samples);
    if (s != NUC_OK)
        return cli_report(s, nuc_compiler_message(r->compiler));
    for (size_t i = 0; i < r->n_outputs; i++) {
        size_t bytes;
        if (__builtin_mul_overflow(r->n_samples, r->outputs[i].bytes, &bytes))
            return cli_report(NUC_NO_MEMORY, NULL);
        r->results[i] = malloc(bytes + 1);
        if (r->results[i] == NULL)
            return cli_report(NUC_NO_MEMORY, NULL);
    }
    return CLI_OK;
}

static int run_samples(struct run_state *r, const char *path)
{
    const void **inputs = calloc(r->n_inputs + 1, sizeof *inputs);
    void **outputs = calloc(r->n_outputs + 1, sizeof *outputs);
    int code = inputs == NULL || outputs == NULL ? cli_report(NUC_NO_MEMORY, NULL) : CLI_OK;

    for (size_t k = 0; k < r->n_samples && code == CLI_OK; k++) {
        enum nuc_status s = nuc_dataset_sample(r->data, k, inputs);
        if (s != NUC_OK) {
            code = cli_report(s, nuc_compiler_message(r->compiler));
            break;
        }
        for (size_t i = 0; i < r->n_outputs; i++)
            outputs[i] = r->results[i] + k * r->outputs[i].bytes;
        cli_profiler_next(&r->profiler);
        code = cli_program_run(&r->program, path, inputs, outputs);
        cli_progress(NULL, "run", k + 1, r->n_samples);
    }
    free(inputs);
    free(outputs);
    return code;
}

/* Outputs gain the sample axis in front, as the inputs have it. */
static int write_results(struct run_state *r, const char *path)
{
    struct nuc_array_info *arrays = calloc(r->n_outputs + 1, sizeof *arrays);

    if (arrays == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    for (size_t i = 0; i < r->n_outputs; i++) {
        const struct nuc_tensor_info *o = &r->outputs[i];
        if (o->rank + 1 > NUC_MAX_RANK) {
            free(arrays);
            return cli_report(NUC_UNSUPPORTED, "an output's rank leaves no room for the sample axis");
        }
        arrays[i] = (struct nuc_array_info){.name = o->name, .dtype = o->dtype, .rank = o->rank + 1};
        arrays[i].sizes[0] = (int64_t)r->n_samples;
        memcpy(&arrays[i].sizes[1], o->sizes, o->rank * sizeof o->sizes[0]);
        arrays[i].data = r->results[i];
        arrays[i].bytes = r->n_samples * o->bytes;
    }
    enum nuc_status s = nuc_write_arrays(r->compiler, path, arrays, r->n_outputs);
    free(arrays);
    return s == NUC_OK ? CLI_OK : cli_report(s, nuc_compiler_message(r->compiler));
}

static double element(const struct nuc_tensor_info *t, const char *data, size_t i)
{
    switch (t->dtype) {
    case NUC_F32: {
        float f;
        memcpy(&f, data + i * sizeof f, sizeof f);
        return (double)f;
    }
    case NUC_I8:
        return (double)((const signed char *)data)[i];
    case NUC_U8:
    case NUC_BOOL:
        return (double)((const unsigned char *)data)[i];
    case NUC_I64: {
        int64_t v;
        memcpy(&v, data + i * sizeof v, sizeof v);
        return (double)v;
    }
    case NUC_I32: {
        int32_t v;
        memcpy(&v, data + i * sizeof v, sizeof v);
        return (double)v;
    }
    case NUC_I16:
    case NUC_F16:
    case NUC_F64:
    case NUC_BF16:
    case NUC_U16:
    case NUC_DTYPE_COUNT:
        break;
    }
    return 0;
}

#define SHOWN_ELEMENTS 10

/* Without --output: the first elements of each output of each sample. */
static void print_results(const struct run_state *r)
{
    for (size_t k = 0; k < r->n_samples; k++) {
        for (size_t i = 0; i < r->n_outputs; i++) {
            const struct nuc_tensor_info *o = &r->outputs[i];
            size_t count = o->bytes / nuc_dtype_size(o->dtype);
            printf("sample %zu %s:", k, o->name);
            for (size_t e = 0; e < count && e < SHOWN_ELEMENTS; e++)
                printf(" %.6g", element(o, r->results[i] + k * o->bytes, e));
            printf("%s\n", count > SHOWN_ELEMENTS ? " ..." : "");
        }
    }
}

static void release(struct run_state *r)
{
    for (size_t i = 0; r->results != NULL && i < r->n_outputs; i++)
        free(r->results[i]);
    free(r->results);
    free(r->inputs);
    free(r->outputs);
    cli_profiler_release(&r->profiler);
    nuc_compiler_free(r->compiler);
    cli_program_close(&r->program);
}

static int show(struct run_state *r, const char *path, const struct run_flags *f)
{
    int code = CLI_OK;

    if (f->output != NULL)
        code = write_results(r, f->output);
    else if (!f->profile)
        print_results(r);
    if (code == CLI_OK && (f->profile || f->etdump != NULL))
        code = cli_profiler_report(&r->profiler, r->compiler, path, &r->program, f->profile, f->etdump);
    return code;
}

static int run(const char *path, const struct run_flags *f)
{
    struct run_state r = {.compiler = NULL};
    struct nuc_options o;

    nuc_options_default(&o);
    cli_image_apply(&f->images, &o);
    o.warn = cli_warn;
    int code = open_program(&r, path);
    if (code == CLI_OK)
        code = cli_simulator_apply(&f->simulator, &r.program);
    if (code == CLI_OK) {
        r.compiler = nuc_compiler_new(&o, NULL);
        code = r.compiler == NULL ? cli_report(NUC_NO_MEMORY, NULL) : open_data(&r, f->input);
    }
    if (code == CLI_OK && (f->profile || f->etdump != NULL))
        cli_profiler_attach(&r.profiler, &r.program.program);
    if (code == CLI_OK)
        code = run_samples(&r, path);
    if (code == CLI_OK)
        code = show(&r, path, f);
    release(&r);
    return code;
}

int cli_run(int argc, char **argv)
{
    struct run_flags f = {.input = NULL};
    struct cli_option shared[CLI_IMAGE_ROWS];
    const struct cli_option options[] = {
        {"--input", "-i", CLI_STRING, &f.input, "DATA",
         "inputs by name or in order, samples along axis 0: .npz, .npy, a folder of .npy or of images", NULL},
        {"--output", "-o", CLI_STRING, &f.output, "FILE.npz", "where the outputs go; without it they are printed",
         NULL},
        {"--profile", NULL, CLI_FLAG, &f.profile, NULL,
         "print the cycles of every operator and NPU kernel (compile with --profile for their nodes and lines)", NULL},
        {"--etdump", NULL, CLI_STRING, &f.etdump, "FILE.etdump", "write them for ExecuTorch's Inspector", NULL},
        {"--threads", NULL, CLI_NUMBER, &f.simulator.threads, "N", "threads of the simulator (default: 1)", NULL},
        cli_simulator_option(&f.simulator),
        {.name = NULL},
    };
    const struct cli_command command = {
        "run",
        "PROGRAM.pte --input DATA [--output FILE.npz] [--profile] [--etdump FILE]",
        "Runs a program on the host, its NPU parts on the simulator.",
        options,
        shared,
        1,
        1,
    };
    const char *path[1];
    size_t count;
    bool stop;

    cli_image_options(&f.images, shared);
    int code = cli_parse(&command, argc, argv, path, &count, &stop);
    if (stop)
        return code;
    if (f.input == NULL)
        return cli_usage("run: --input DATA is missing: it holds the inputs");
    const struct cli_path paths[] = {{"the program", path[0], false},
                                     {"--input", f.input, false},
                                     {"--output", f.output, true},
                                     {"--etdump", f.etdump, true}};
    code = cli_check_paths("run", paths, sizeof paths / sizeof paths[0]);
    return code == CLI_OK ? run(path[0], &f) : code;
}
