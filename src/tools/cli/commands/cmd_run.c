/* nucleon run: a program over all samples of its inputs. */
#include <stdlib.h>
#include <string.h>

#include "nucleon/json.h"
#include "tools/cli/commands/commands.h"
#include "tools/cli/terminal/json_output.h"

/* What --profile and --etdump collect while a program runs. */
struct profiler {
    struct nuc_profile_run *runs; /* the last one is under way */
    size_t n_runs;
    bool exhausted;
};

struct run {
    struct nuc_runner *program;
    struct nuc_compiler *compiler;
    struct nuc_dataset *data;
    struct nuc_tensor_info *inputs, *outputs;
    size_t n_inputs, n_outputs, n_samples;
    void **results; /* one block per output, samples back to back */
    struct profiler profiler;
    struct nuc_found *found; /* of all samples, where the program carries a decision */
    size_t n_found, room, *counts;
    bool *is_new;
};

/* A call's records are copied: the runtime's memory holds them only until the next instruction. */
static void keep(void *user, uint32_t instruction, const uint8_t *records, size_t bytes)
{
    struct profiler *p = user;

    if (p->n_runs == 0 || p->exhausted)
        return;
    struct nuc_profile_run *run = &p->runs[p->n_runs - 1];
    struct nuc_profile_call *calls = realloc((void *)(uintptr_t)run->calls, (run->n_calls + 1) * sizeof *calls);
    void *copy = malloc(bytes + 1);
    run->calls = calls != NULL ? calls : run->calls;
    if (calls == NULL || copy == NULL) {
        free(copy);
        p->exhausted = true;
        return;
    }
    memcpy(copy, records, bytes);
    calls[run->n_calls++] = (struct nuc_profile_call){instruction, copy, bytes};
}

static void next_run(struct profiler *p)
{
    struct nuc_profile_run *runs = realloc(p->runs, (p->n_runs + 1) * sizeof *runs);

    if (runs == NULL) {
        p->exhausted = true;
        return;
    }
    p->runs = runs;
    runs[p->n_runs++] = (struct nuc_profile_run){NULL, 0};
}

static void release(struct profiler *p)
{
    for (size_t i = 0; i < p->n_runs; i++) {
        for (size_t k = 0; k < p->runs[i].n_calls; k++)
            free((void *)(uintptr_t)p->runs[i].calls[k].records);
        free((void *)(uintptr_t)p->runs[i].calls);
    }
    free(p->runs);
}

static int open_program(struct run *r, const struct cli_args *args)
{
    int code = cli_check(r->compiler, nuc_runner_open(r->compiler, args->positional[0], &args->simulator, &r->program));

    if (code != CLI_OK)
        return code;
    r->n_inputs = nuc_runner_n_inputs(r->program);
    r->n_outputs = nuc_runner_n_outputs(r->program);
    r->inputs = calloc(r->n_inputs + 1, sizeof *r->inputs);
    r->outputs = calloc(r->n_outputs + 1, sizeof *r->outputs);
    return r->inputs == NULL || r->outputs == NULL ? cli_report(NUC_NO_MEMORY, NULL) : CLI_OK;
}

static int described(enum nuc_status s)
{
    return s == NUC_OK ? CLI_OK : cli_report(s, "the program has an input or output that is not a tensor");
}

/* What the program takes depends on the data: int8 inputs take float32 where there is no int8 array. */
static int open_data(struct run *r, const char *path)
{
    int code = cli_check(r->compiler, nuc_dataset_open(r->compiler, path, &r->data));

    if (code != CLI_OK)
        return code;
    code = cli_check(r->compiler, nuc_runner_bind(r->program, r->data, NULL, &r->n_samples));
    for (size_t i = 0; nuc_dataset_line(r->data, i) != NULL; i++)
        cli_say(nuc_dataset_line(r->data, i));
    for (size_t i = 0; i < r->n_inputs && code == CLI_OK; i++)
        code = described(nuc_runner_input(r->program, i, &r->inputs[i]));
    for (size_t i = 0; i < r->n_outputs && code == CLI_OK; i++)
        code = described(nuc_runner_output(r->program, i, &r->outputs[i]));
    if (code != CLI_OK)
        return code;
    r->results = calloc(r->n_outputs + 1, sizeof *r->results);
    for (size_t i = 0; i < r->n_outputs && r->results != NULL; i++) {
        size_t bytes;
        if (!__builtin_mul_overflow(r->n_samples, r->outputs[i].bytes, &bytes))
            r->results[i] = malloc(bytes + 1);
        if (r->results[i] == NULL)
            return cli_report(NUC_NO_MEMORY, NULL);
    }
    bool has_memory = r->results != NULL;
    if (nuc_runner_decision(r->program) != NULL) {
        r->counts = calloc(r->n_samples + 1, sizeof *r->counts);
        r->is_new = calloc(r->n_samples + 1, sizeof *r->is_new);
        has_memory = has_memory && r->counts != NULL && r->is_new != NULL;
    }
    return has_memory ? CLI_OK : cli_report(NUC_NO_MEMORY, NULL);
}

/* What the program's decision finds in the outputs of sample k. */
static int decide(struct run *r, size_t k)
{
    const struct nuc_decider *d = NULL;

    if (r->counts == NULL)
        return CLI_OK;
    int code = cli_check(r->compiler, nuc_runner_decide(r->program, &d));
    if (code != CLI_OK)
        return code;
    if (r->n_found + d->n_found > r->room) {
        r->room = 2 * (r->n_found + d->n_found);
        struct nuc_found *more = realloc(r->found, r->room * sizeof *more);
        if (more == NULL)
            return cli_report(NUC_NO_MEMORY, NULL);
        r->found = more;
    }
    if (d->n_found > 0)
        memcpy(r->found + r->n_found, d->found, d->n_found * sizeof *d->found);
    r->n_found += d->n_found;
    r->counts[k] = d->n_found;
    r->is_new[k] = d->is_new;
    return CLI_OK;
}

static int run_samples(struct run *r)
{
    const void **inputs = calloc(r->n_inputs + 1, sizeof *inputs);
    void **outputs = calloc(r->n_outputs + 1, sizeof *outputs);
    int code = inputs == NULL || outputs == NULL ? cli_report(NUC_NO_MEMORY, NULL) : CLI_OK;

    cli_progress(NULL, "run", 0, r->n_samples);
    for (size_t k = 0; k < r->n_samples && code == CLI_OK; k++) {
        enum nuc_status status = nuc_dataset_sample(r->data, k, inputs);
        for (size_t i = 0; i < r->n_outputs; i++)
            outputs[i] = (char *)r->results[i] + k * r->outputs[i].bytes;
        next_run(&r->profiler);
        if (status == NUC_OK && nuc_dataset_begins(r->data, k))
            status = nuc_runner_reset(r->program);
        if (status == NUC_OK)
            status = nuc_runner_run(r->program, inputs, outputs);
        code = status == NUC_OK ? decide(r, k) : cli_check(r->compiler, status);
        cli_progress(NULL, "run", k + 1, r->n_samples);
    }
    free(inputs);
    free(outputs);
    return code;
}

/* Outputs gain the axis of samples in front, or those of sequences and steps, as the inputs have it. `path` NULL: as
 * JSON, with their values. */
static int write_results(const struct run *r, const char *path)
{
    const char *text;
    const size_t n_steps = nuc_dataset_n_steps(r->data), n_axes = n_steps > 0 ? 2 : 1;
    struct nuc_array_info *arrays = calloc(r->n_outputs + 1, sizeof *arrays);

    if (arrays == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    for (size_t i = 0; i < r->n_outputs; i++) {
        const struct nuc_tensor_info *o = &r->outputs[i];
        if (o->rank + n_axes > NUC_MAX_RANK) {
            free(arrays);
            return cli_report(NUC_UNSUPPORTED, "an output's rank has no place left for the axis of samples or steps");
        }
        arrays[i] = (struct nuc_array_info){.name = o->name, .dtype = o->dtype, .rank = o->rank + n_axes};
        arrays[i].sizes[0] = (int64_t)(n_steps > 0 ? r->n_samples / n_steps : r->n_samples);
        arrays[i].sizes[1] = (int64_t)n_steps;
        memcpy(&arrays[i].sizes[n_axes], o->sizes, o->rank * sizeof o->sizes[0]);
        arrays[i].data = r->results[i];
        arrays[i].bytes = r->n_samples * o->bytes;
    }
    int code =
        path != NULL ? cli_check(r->compiler, nuc_write_arrays(r->compiler, path, arrays, r->n_outputs)) : CLI_OK;
    if (code == CLI_OK && cli_is_json())
        code = cli_result(r->compiler, nuc_arrays_json(r->compiler, arrays, r->n_outputs, path == NULL, &text), &text);
    free(arrays);
    return code;
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

static void print_found(const struct run *r, const struct nuc_found *f, bool is_new)
{
    const enum nuc_decision_kind kind = nuc_runner_decision(r->program)->kind;
    const char *name = nuc_runner_label(r->program, f->label);

    if (kind == NUC_DECIDE_ANOMALY)
        cli_printf("%s %.6g\n", f->label != 0 ? "anomaly" : "normal", (double)f->score);
    else if (name != NULL)
        cli_printf("%s %.2f", name, (double)f->score);
    else
        cli_printf("%s %d %.2f", kind == NUC_DECIDE_KEYPOINTS ? "point" : "class", (int)f->label, (double)f->score);
    if (kind == NUC_DECIDE_CLASSES)
        cli_printf("%s\n", is_new ? ", begins" : "");
    else if (kind == NUC_DECIDE_KEYPOINTS)
        cli_printf(" at %.4f %.4f\n", (double)f->x, (double)f->y);
    else if (kind == NUC_DECIDE_BOXES)
        cli_printf(" at %.4f %.4f %.4f %.4f\n", (double)f->x, (double)f->y, (double)f->w, (double)f->h);
}

static int show_decisions(const struct run *r)
{
    const struct nuc_found *f = r->found;
    const char *text;

    if (cli_is_json())
        return cli_result(r->compiler,
                          nuc_runner_decisions_json(r->program, r->found, r->counts, r->is_new, r->n_samples, &text),
                          &text);
    for (size_t k = 0; k < r->n_samples; k++) {
        for (size_t i = 0; i < r->counts[k]; i++) {
            cli_printf("sample %zu: ", k);
            print_found(r, f++, r->is_new[k]);
        }
    }
    return CLI_OK;
}

static int report_profile(struct run *r, const struct cli_args *args)
{
    const struct profiler *p = &r->profiler;
    enum nuc_status s = NUC_OK;
    const char *text, *path = args->positional[0];
    size_t size;
    const void *image = nuc_runner_image(r->program, &size);

    if (p->exhausted || p->n_runs == 0)
        return cli_report(NUC_NO_MEMORY, NULL);
    if (args->profile) {
        s = args->json ? nuc_profile_json(r->compiler, path, image, size, &p->runs[0], &text)
                       : nuc_profile_text(r->compiler, path, image, size, &p->runs[0], &text);
        if (s == NUC_OK && args->json)
            cli_json_member("profile", text);
        else if (s == NUC_OK)
            cli_put(text);
    }
    if (s == NUC_OK && args->etdump != NULL)
        s = nuc_write_etdump(r->compiler, path, image, size, p->runs, p->n_runs, args->etdump);
    return cli_check(r->compiler, s);
}

static int show(struct run *r, const struct cli_args *args)
{
    int code = CLI_OK;

    /* Both files, or none of them. */
    nuc_begin_files(r->compiler);
    cli_json_number("samples", r->n_samples);
    if (args->output != NULL || args->json)
        code = write_results(r, args->output);
    else if (!args->profile && r->counts == NULL) {
        /* Without --output: the first elements of each output of each sample. */
        for (size_t k = 0; k < r->n_samples; k++) {
            for (size_t i = 0; i < r->n_outputs; i++) {
                const struct nuc_tensor_info *o = &r->outputs[i];
                size_t count = o->bytes / nuc_dtype_size(o->dtype);
                cli_printf("sample %zu %s:", k, o->name);
                for (size_t e = 0; e < count && e < SHOWN_ELEMENTS; e++)
                    cli_printf(" %.6g", element(o, (const char *)r->results[i] + k * o->bytes, e));
                cli_printf("%s\n", count > SHOWN_ELEMENTS ? " ..." : "");
            }
        }
    }
    if (code == CLI_OK && r->counts != NULL)
        code = show_decisions(r);
    if (code == CLI_OK && (args->profile || args->etdump != NULL))
        code = report_profile(r, args);
    if (code == CLI_OK && args->etrecord != NULL) {
        size_t size;
        const void *image = nuc_runner_image(r->program, &size);
        code =
            cli_check(r->compiler, nuc_write_etrecord(r->compiler, args->positional[0], image, size, args->etrecord));
    }
    return code == CLI_OK ? cli_check(r->compiler, nuc_commit_files(r->compiler)) : code;
}

static int run_data(struct run *r, const struct cli_args *args)
{
    if (args->input == NULL)
        return cli_usage("run: --input DATA is missing: it holds the inputs");
    int code = open_data(r, args->input);
    if (code == CLI_OK && (args->profile || args->etdump != NULL))
        nuc_program_profile(nuc_runner_program(r->program), keep, &r->profiler);
    if (code == CLI_OK)
        code = run_samples(r);
    return code == CLI_OK ? show(r, args) : code;
}

/* ---- a bundled program without other inputs ---- */

static int verify(struct run *r, const struct cli_args *args)
{
    const size_t n_cases = nuc_runner_n_cases(r->program);
    const char *unused = args->output != NULL     ? "--output"
                         : args->etdump != NULL   ? "--etdump"
                         : args->etrecord != NULL ? "--etrecord"
                         : args->profile          ? "--profile"
                                                  : NULL;
    size_t n_passed = 0;

    if (unused != NULL)
        return cli_usage("run: %s goes with --input DATA: without it the test cases of a bundled program are compared, "
                         "and no more",
                         unused);
    for (size_t i = 0; i < n_cases; i++) {
        struct nuc_case_result result;
        int code = cli_check(r->compiler, nuc_runner_verify(r->program, i, &result));
        if (code != CLI_OK)
            return code;
        n_passed += result.passed;
        if (!args->quiet || !result.passed) {
            struct nuc_tensor_info o;
            if (result.passed) {
                cli_printf("case %zu: equal\n", i);
            } else if (nuc_runner_output(r->program, result.output, &o) == NUC_OK) {
                cli_printf(
                    "case %zu: %zu of %zu elements differ, the first is element %zu of %s: %.9g instead of %.9g\n", i,
                    result.n_different, result.n_elements, result.element, o.name,
                    element(&o, result.values, result.element), element(&o, result.expected, result.element));
            }
        }
    }
    cli_json_number("test_cases", n_cases);
    cli_json_number("passed", n_passed);
    cli_printf("%s: %zu of %zu test cases\n", n_passed == n_cases ? "PASS" : "FAIL", n_passed, n_cases);
    return n_passed == n_cases ? CLI_OK : CLI_PROPERTY;
}

int cli_run(struct nuc_compiler *c, struct cli_args *args)
{
    struct run r = {.compiler = c};
    struct nuc_target_facts target;
    int code = cli_check(c, nuc_target_facts(c, &target)); /* before the work */

    if (code == CLI_OK)
        code = open_program(&r, args);
    if (code == CLI_OK && !args->profile && args->etdump == NULL)
        cli_warn_unused_options(args, CLI_A_PROFILE, "there is neither --profile nor --etdump");
    if (code == CLI_OK && args->input == NULL && nuc_runner_n_cases(r.program) > 0)
        code = verify(&r, args);
    else if (code == CLI_OK)
        code = run_data(&r, args);
    for (size_t i = 0; r.results != NULL && i < r.n_outputs; i++)
        free(r.results[i]);
    free(r.results);
    free(r.found);
    free(r.counts);
    free(r.is_new);
    free(r.inputs);
    free(r.outputs);
    release(&r.profiler);
    return code;
}
