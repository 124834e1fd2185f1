#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/image_options.h"
#include "cli/simulator_options.h"

/* Sums over all samples of one output. */
struct score {
    double signal, noise; /* of the reference, and of its difference to the program */
    size_t labelled, program_right, reference_right, agree;
};

struct evaluation {
    struct cli_program program;
    struct nuc_compiler *compiler;
    struct nuc_dataset *data;
    struct nuc_model *reference; /* NULL: none */
    struct nuc_model *quantized; /* NULL: no comparison node by node */
    const int64_t *labels;       /* NULL: none */
    size_t n_samples;
    struct nuc_tensor_info output; /* the first output, float32 */
    struct score score;
};

static int fail(const struct evaluation *e, enum nuc_status s)
{
    return cli_report(s, nuc_compiler_message(e->compiler));
}

static int find_labels(struct evaluation *e)
{
    for (size_t i = 0; i < nuc_dataset_n_arrays(e->data); i++) {
        struct nuc_array_info a;
        if (nuc_dataset_array(e->data, i, &a) != NUC_OK || strcmp(a.name, "label") != 0)
            continue;
        if (a.dtype != NUC_I64 || a.bytes != e->n_samples * sizeof(int64_t))
            return cli_usage("array 'label' must be int64 with one entry a sample (%zu)", e->n_samples);
        e->labels = a.data;
    }
    return CLI_OK;
}

static int open_all(struct evaluation *e, const char *program, const char *dataset, const char *reference)
{
    struct nuc_tensor_info inputs[CLI_LIST_MAX];
    int code = cli_program_open(&e->program, program);

    if (code != CLI_OK)
        return code;
    size_t n_inputs = nuc_program_n_inputs(&e->program.program);
    if (n_inputs > CLI_LIST_MAX || nuc_program_n_outputs(&e->program.program) == 0)
        return cli_report(NUC_UNSUPPORTED, "the program has too many inputs or no output");
    enum nuc_status s = nuc_dataset_open(e->compiler, dataset, &e->data);
    if (s != NUC_OK)
        return fail(e, s);
    cli_program_suit(&e->program, e->data);
    cli_program_float_outputs(&e->program);
    for (size_t i = 0; i < n_inputs && code == CLI_OK; i++)
        code = cli_program_input(&e->program, i, &inputs[i]);
    if (code == CLI_OK)
        code = cli_program_output(&e->program, 0, &e->output);
    if (code != CLI_OK)
        return code;
    if (e->output.dtype != NUC_F32)
        return cli_report(NUC_UNSUPPORTED, "the program's first output is not float32, and it does not tell its scale");
    s = nuc_dataset_bind(e->data, inputs, n_inputs, &e->n_samples);
    if (s == NUC_OK && reference != NULL)
        s = nuc_model_open(e->compiler, reference, &e->reference);
    return s == NUC_OK ? find_labels(e) : fail(e, s);
}

static int check_reference(const struct evaluation *e, const char *reference)
{
    struct nuc_tensor_info t;

    if (e->reference == NULL)
        return CLI_OK;
    if (nuc_model_n_inputs(e->reference) != nuc_program_n_inputs(&e->program.program) ||
        nuc_model_n_outputs(e->reference) != nuc_program_n_outputs(&e->program.program))
        return cli_usage("%s: has other inputs or outputs than the program", reference);
    for (size_t i = 0; i < nuc_model_n_inputs(e->reference); i++) {
        struct nuc_tensor_info p;
        if (nuc_model_input(e->reference, i, &t) != NUC_OK || cli_program_input(&e->program, i, &p) != CLI_OK)
            return CLI_BAD_INPUT;
        if (t.bytes != p.bytes)
            return cli_usage("%s: input '%s' has another shape than the program's", reference, t.name);
    }
    if (nuc_model_output(e->reference, 0, &t) != NUC_OK || t.bytes != e->output.bytes || t.dtype != NUC_F32)
        return cli_usage("%s: the first output has another shape or type than the program's", reference);
    return CLI_OK;
}

/* Told before anything is printed. */
static int open_quantized(struct evaluation *e, const char *quantized)
{
    if (quantized == NULL)
        return CLI_OK;
    enum nuc_status s = nuc_model_open(e->compiler, quantized, &e->quantized);
    if (s != NUC_OK)
        return fail(e, s);
    if (!nuc_model_is_quantized(e->quantized))
        return cli_usage("%s: is a float model; --quantized takes what 'nucleon quantize' writes", quantized);
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
        e->score.labelled++;
        e->score.program_right += guess == (size_t)e->labels[k];
        e->score.reference_right += reference != NULL && largest(reference, count) == (size_t)e->labels[k];
    }
    if (reference == NULL)
        return;
    e->score.agree += guess == largest(reference, count);
    for (size_t i = 0; i < count; i++) {
        double difference = (double)reference[i] - (double)program[i];
        e->score.signal += (double)reference[i] * (double)reference[i];
        e->score.noise += difference * difference;
    }
}

/* Buffers of all outputs of program and reference; only the first is scored. */
struct buffers {
    const void **inputs;
    void **program, **reference;
    size_t count;
};

static void release_buffers(struct buffers *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->program != NULL ? b->program[i] : NULL);
        free(b->reference != NULL ? b->reference[i] : NULL);
    }
    free(b->inputs);
    free(b->program);
    free(b->reference);
}

static int make_buffers(struct evaluation *e, struct buffers *b)
{
    b->count = nuc_program_n_outputs(&e->program.program);
    b->inputs = calloc(nuc_program_n_inputs(&e->program.program) + 1, sizeof *b->inputs);
    b->program = calloc(b->count + 1, sizeof *b->program);
    b->reference = calloc(b->count + 1, sizeof *b->reference);
    if (b->inputs == NULL || b->program == NULL || b->reference == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    for (size_t i = 0; i < b->count; i++) {
        struct nuc_tensor_info p, r = {.bytes = 0};
        int code = cli_program_output(&e->program, i, &p);
        if (code != CLI_OK)
            return code;
        if (e->reference != NULL && nuc_model_output(e->reference, i, &r) != NUC_OK)
            return fail(e, NUC_BAD_INPUT);
        b->program[i] = malloc(p.bytes + 1);
        b->reference[i] = malloc(r.bytes + 1);
        if (b->program[i] == NULL || b->reference[i] == NULL)
            return cli_report(NUC_NO_MEMORY, NULL);
    }
    return CLI_OK;
}

static int evaluate_samples(struct evaluation *e, const char *path, struct buffers *b)
{
    int code = make_buffers(e, b);

    for (size_t k = 0; k < e->n_samples && code == CLI_OK; k++) {
        enum nuc_status s = nuc_dataset_sample(e->data, k, b->inputs);
        if (s == NUC_OK && e->reference != NULL)
            s = nuc_model_run(e->reference, b->inputs, b->reference);
        if (s != NUC_OK)
            return fail(e, s);
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
    const struct score *s = &e->score;

    printf("%-22s %zu\n", "samples", e->n_samples);
    if (s->labelled != 0 && e->reference != NULL)
        print_share("reference accuracy", s->reference_right, s->labelled);
    if (s->labelled != 0)
        print_share("program accuracy", s->program_right, s->labelled);
    if (e->reference == NULL)
        return;
    print_share("agreement", s->agree, e->n_samples);
    if (s->noise == 0)
        printf("%-22s equal\n", "SQNR");
    else
        printf("%-22s %7.2f dB\n", "SQNR", 10 * log10(s->signal / s->noise));
}

struct evaluate_flags {
    const char *program, *dataset, *reference, *quantized;
    unsigned threshold;
    struct cli_simulator_flags simulator;
    struct cli_image_flags images;
};

static int evaluate_nodes(struct evaluation *e, const struct evaluate_flags *f)
{
    const struct cli_node_options nodes = {
        .program_name = f->program,
        .quantized_name = f->quantized,
        .program = &e->program,
        .reference = e->reference,
        .quantized = e->quantized,
        .data = e->data,
        .n_samples = e->n_samples,
        .threshold = (double)f->threshold,
    };

    return cli_evaluate_nodes(e->compiler, &nodes);
}

static int evaluate(const struct evaluate_flags *f)
{
    struct evaluation e = {.compiler = NULL};
    struct buffers b = {.count = 0};
    struct nuc_options o;

    nuc_options_default(&o);
    o.warn = cli_warn;
    o.threads = f->simulator.threads;
    cli_image_apply(&f->images, &o);
    e.compiler = nuc_compiler_new(&o, NULL);
    int code =
        e.compiler == NULL ? cli_report(NUC_NO_MEMORY, NULL) : open_all(&e, f->program, f->dataset, f->reference);
    if (code == CLI_OK)
        code = cli_simulator_apply(&f->simulator, &e.program);
    if (code == CLI_OK)
        code = check_reference(&e, f->reference);
    if (code == CLI_OK)
        code = open_quantized(&e, f->quantized);
    if (code == CLI_OK)
        code = evaluate_samples(&e, f->program, &b);
    if (code == CLI_OK)
        print_scores(&e);
    if (code == CLI_OK && e.quantized != NULL)
        code = evaluate_nodes(&e, f);
    release_buffers(&b);
    nuc_compiler_free(e.compiler);
    cli_program_close(&e.program);
    return code;
}

int cli_evaluate(int argc, char **argv)
{
    struct evaluate_flags f = {.threshold = 20};
    struct cli_option shared[CLI_IMAGE_ROWS];
    const struct cli_option options[] = {
        {"--dataset", NULL, CLI_STRING, &f.dataset, "DATA",
         "inputs, samples along axis 0, and int64 'label' for accuracy; or a folder with a subfolder of images a class",
         NULL},
        {"--reference", NULL, CLI_STRING, &f.reference, "MODEL.pt2", "the model to compare with: SQNR and agreement",
         NULL},
        {"--quantized", NULL, CLI_STRING, &f.quantized, "MODEL.pt2",
         "what the program was compiled from, of 'nucleon quantize': SQNR at every node", NULL},
        {"--threshold", NULL, CLI_NUMBER, &f.threshold, "DB", "a node below diverges (default 20)", NULL},
        {"--threads", NULL, CLI_NUMBER, &f.simulator.threads, "N",
         "threads of the reference (default: one a core) and of the simulator (default: 1)", NULL},
        cli_simulator_option(&f.simulator),
        {.name = NULL},
    };
    const struct cli_command command = {
        "evaluate",
        "PROGRAM.pte --dataset DATA [--reference MODEL.pt2 [--quantized MODEL.pt2]]",
        "Accuracy and signal-to-quantization-noise ratio of a program over a data set.",
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
    if (f.dataset == NULL)
        return cli_usage("evaluate: --dataset DATA is missing: it holds the inputs");
    if (f.quantized != NULL && f.reference == NULL)
        return cli_usage("evaluate: --quantized compares with the float model: give it with --reference MODEL.pt2");
    f.program = path[0];
    return evaluate(&f);
}
