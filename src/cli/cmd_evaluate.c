/* nucleon evaluate: accuracy of a program, and its distance from the model it was made of. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/evaluation.h"

void cli_ratio_add(struct cli_ratio *r, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double difference = (double)a[i] - (double)b[i];
        r->signal += (double)a[i] * (double)a[i];
        r->noise += difference * difference;
    }
}

double cli_ratio_db(const struct cli_ratio *r)
{
    return r->noise == 0 ? (double)INFINITY : 10 * log10(r->signal / r->noise);
}

static int find_labels(struct evaluation *e)
{
    for (size_t i = 0; i < nuc_dataset_n_arrays(e->data); i++) {
        struct nuc_array_info a;
        if (nuc_dataset_array(e->data, i, &a) != NUC_OK || strcmp(a.name, "label") != 0)
            continue;
        if (a.dtype != NUC_I64 || a.bytes != e->n_samples * sizeof(int64_t))
            return cli_usage("array 'label' must be int64 with one entry per sample (%zu)", e->n_samples);
        e->labels = a.data;
    }
    return CLI_OK;
}

static int open_all(struct evaluation *e, const struct cli_args *args)
{
    struct nuc_tensor_info inputs[CLI_LIST_MAX];
    int code = cli_program_open(&e->program, args->positional[0]);

    if (code != CLI_OK)
        return code;
    size_t n_inputs = nuc_program_n_inputs(&e->program.program);
    if (n_inputs > CLI_LIST_MAX || nuc_program_n_outputs(&e->program.program) == 0)
        return cli_report(NUC_UNSUPPORTED, "the program has too many inputs or no output");
    enum nuc_status s = nuc_dataset_open(e->compiler, args->input, &e->data);
    if (s != NUC_OK)
        return cli_check(e->compiler, s);
    cli_program_suit(&e->program, e->data);
    cli_program_float_outputs(&e->program);
    for (size_t i = 0; i < n_inputs && code == CLI_OK; i++)
        code = cli_program_input(&e->program, i, &inputs[i]);
    if (code == CLI_OK)
        code = cli_program_output(&e->program, 0, &e->output);
    if (code != CLI_OK)
        return code;
    if (e->output.dtype != NUC_F32)
        return cli_report(NUC_UNSUPPORTED, "the program's first output is not float32, and it does not give its scale");
    s = nuc_dataset_bind(e->data, inputs, n_inputs, &e->n_samples);
    if (s == NUC_OK && args->reference != NULL)
        s = nuc_model_open(e->compiler, args->reference, &e->reference);
    return s == NUC_OK ? find_labels(e) : cli_check(e->compiler, s);
}

static bool same_sizes(const struct nuc_tensor_info *a, const struct nuc_tensor_info *b)
{
    return a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0;
}

int cli_check_io(const struct evaluation *e, const struct nuc_model *m, const char *name, bool types)
{
    if (nuc_model_n_inputs(m) != nuc_program_n_inputs(&e->program.program) ||
        nuc_model_n_outputs(m) != nuc_program_n_outputs(&e->program.program))
        return cli_usage("%s: has other inputs or outputs than the program", name);
    for (size_t i = 0; i < nuc_model_n_inputs(m); i++) {
        struct nuc_tensor_info t, p;
        if (nuc_model_input(m, i, &t) != NUC_OK || cli_program_input(&e->program, i, &p) != CLI_OK)
            return CLI_BAD_INPUT;
        if (!same_sizes(&t, &p) || (types && t.dtype != p.dtype))
            return cli_usage("%s: input '%s' has another shape%s than the program's", name, t.name,
                             types ? " or type" : "");
    }
    return CLI_OK;
}

static int check_reference(const struct evaluation *e, const char *reference)
{
    struct nuc_tensor_info t;
    int code = e->reference == NULL ? CLI_OK : cli_check_io(e, e->reference, reference, false);

    if (e->reference == NULL || code != CLI_OK)
        return code;
    if (nuc_model_output(e->reference, 0, &t) != NUC_OK || !same_sizes(&t, &e->output) || t.dtype != NUC_F32)
        return cli_usage("%s: the first output has another shape or type than the program's", reference);
    return CLI_OK;
}

/* Before anything is printed. */
static int open_quantized(struct evaluation *e, const char *quantized)
{
    if (quantized == NULL)
        return CLI_OK;
    enum nuc_status s = nuc_model_open(e->compiler, quantized, &e->quantized);
    if (s != NUC_OK)
        return cli_check(e->compiler, s);
    if (!nuc_model_is_quantized(e->quantized))
        return cli_usage("%s: is a float model; --quantized takes what 'nucleon quantize' writes", quantized);
    nuc_model_present_as(e->quantized, e->reference);
    return CLI_OK;
}

static size_t largest(const float *v, size_t count)
{
    size_t best = 0;

    for (size_t i = 1; i < count; i++) {
        if (v[i] > v[best])
            best = i;
    }
    return best;
}

static void add_sample(struct evaluation *e, size_t k, const float *program, const float *reference)
{
    size_t count = e->output.bytes / sizeof(float);
    size_t guess = largest(program, count);

    if (e->labels != NULL) {
        e->n_labelled++;
        e->n_program_right += guess == (size_t)e->labels[k];
        e->n_reference_right += reference != NULL && largest(reference, count) == (size_t)e->labels[k];
    }
    if (reference == NULL)
        return;
    e->n_agree += guess == largest(reference, count);
    cli_ratio_add(&e->ratio, reference, program, count);
}

/* Outputs of program and reference; only the first is scored. */
struct buffers {
    const void **inputs;
    void **program, **reference;
};

static int make_buffers(const struct evaluation *e, struct buffers *b)
{
    const struct nuc_program *p = &e->program.program;

    b->inputs = calloc(nuc_program_n_inputs(p) + 1, sizeof *b->inputs);
    b->program = cli_program_blocks(&e->program);
    b->reference = e->reference != NULL ? cli_model_blocks(e->reference, nuc_program_n_outputs(p)) : NULL;
    bool made = b->inputs != NULL && b->program != NULL && (e->reference == NULL || b->reference != NULL);
    return made ? CLI_OK : cli_report(NUC_NO_MEMORY, NULL);
}

static int evaluate_samples(struct evaluation *e, const char *path, struct buffers *b)
{
    int code = make_buffers(e, b);

    for (size_t k = 0; k < e->n_samples && code == CLI_OK; k++) {
        enum nuc_status s = nuc_dataset_sample(e->data, k, b->inputs);
        if (s == NUC_OK && e->reference != NULL)
            s = nuc_model_run(e->reference, b->inputs, b->reference);
        if (s != NUC_OK)
            return cli_check(e->compiler, s);
        code = cli_program_run(&e->program, path, b->inputs, b->program);
        if (code == CLI_OK)
            add_sample(e, k, b->program[0], e->reference != NULL ? b->reference[0] : NULL);
        cli_progress(NULL, "evaluate", k + 1, e->n_samples);
    }
    return code;
}

static void print_share(const char *what, size_t part, size_t whole)
{
    printf("%-22s %7.2f %%  (%zu of %zu)\n", what, 100.0 * (double)part / (double)whole, part, whole);
}

static void print_scores(const struct evaluation *e)
{
    printf("%-22s %zu\n", "samples", e->n_samples);
    if (e->n_labelled != 0 && e->reference != NULL)
        print_share("reference accuracy", e->n_reference_right, e->n_labelled);
    if (e->n_labelled != 0)
        print_share("program accuracy", e->n_program_right, e->n_labelled);
    if (e->reference == NULL)
        return;
    print_share("agreement", e->n_agree, e->n_samples);
    if (e->ratio.noise == 0)
        printf("%-22s equal\n", "SQNR");
    else
        printf("%-22s %7.2f dB\n", "SQNR", cli_ratio_db(&e->ratio));
}

static int evaluate(struct nuc_compiler *c, struct cli_args *args)
{
    struct evaluation e = {.compiler = c, .args = args};
    struct buffers b = {.inputs = NULL};
    int code = open_all(&e, args);

    if (code == CLI_OK)
        code = cli_simulator_apply(&args->simulator, &e.program);
    if (code == CLI_OK)
        code = check_reference(&e, args->reference);
    if (code == CLI_OK)
        code = open_quantized(&e, args->quantized);
    if (code == CLI_OK)
        code = evaluate_samples(&e, args->positional[0], &b);
    if (code == CLI_OK)
        print_scores(&e);
    if (code == CLI_OK && e.quantized != NULL)
        code = cli_evaluate_nodes(&e);
    size_t n_outputs = e.program.loaded ? nuc_program_n_outputs(&e.program.program) : 0;
    free(b.inputs);
    cli_blocks_free(b.program, n_outputs);
    cli_blocks_free(b.reference, n_outputs);
    cli_program_close(&e.program);
    return code;
}

int cli_evaluate(struct cli_args *args)
{
    if (args->quantized != NULL && args->reference == NULL)
        return cli_usage("evaluate: --quantized compares with the float model: give it with --reference MODEL.pt2");
    args->o.threads = args->simulator.threads;
    return cli_with_compiler(args, evaluate);
}
