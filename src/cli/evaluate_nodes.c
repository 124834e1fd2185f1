/* Evaluation node by node: where along the network the error comes from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/evaluation.h"

/* Probes of one compiled program: a delegate has at most 255 outputs. */
#define PROBES_AT_ONCE 200

/* Of one node's value, between two of the three. */
struct node_score {
    const char *name;
    struct cli_ratio float_quantized, quantized_program, float_program;
};

struct comparison {
    struct evaluation *e;
    struct nuc_model *floating; /* the reference after the passes of quantization */
    struct node_score *scores;
    size_t n_scores, n_unmatched;
    size_t n_elements, n_unequal; /* of the program's own outputs, exposed against whole */
};

/* The three computations of one group of probes, and the buffers of their outputs. */
struct group {
    struct nuc_model *floating, *quantized;
    struct cli_program program;
    bool open;
    size_t n_own, n; /* outputs of the model itself, probes */
    const void **inputs;
    void **float_out, **quantized_out, **program_out, **whole_out;
};

/* The float model goes through the passes the quantized one went through, so that nodes correspond by name. */
static int open_models(struct comparison *k)
{
    const char *const *names;
    size_t count;
    enum nuc_status s = nuc_prepare(k->e->reference, &k->floating);

    if (s == NUC_OK)
        s = nuc_model_probes(k->e->quantized, &names, &count);
    if (s != NUC_OK)
        return cli_check(k->e->compiler, s);
    k->scores = calloc(count + 1, sizeof *k->scores);
    if (k->scores == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    for (size_t i = 0; i < count; i++) {
        if (nuc_model_has_float_node(k->floating, names[i]))
            k->scores[k->n_scores++].name = names[i];
        else
            k->n_unmatched++;
    }
    return CLI_OK;
}

static void close_group(struct group *g)
{
    if (g->open)
        cli_program_close(&g->program);
    cli_blocks_free(g->float_out, g->n_own + g->n);
    cli_blocks_free(g->quantized_out, g->n_own + g->n);
    cli_blocks_free(g->program_out, g->n_own + g->n);
    cli_blocks_free(g->whole_out, g->n_own);
    free(g->inputs);
}

static int compile_group(struct comparison *k, struct group *g)
{
    struct nuc_model *partitioned, *lowered;
    const uint8_t *bytes;
    size_t size;
    enum nuc_status s = nuc_partition(g->quantized, &partitioned);

    if (s == NUC_OK)
        s = nuc_lower(partitioned, &lowered);
    if (s == NUC_OK)
        s = nuc_program(lowered, &bytes, &size);
    if (s != NUC_OK)
        return cli_check(k->e->compiler, s);
    g->open = true;
    return cli_program_open_bytes(&g->program, k->e->args->quantized, bytes, size);
}

static int open_group(struct comparison *k, struct group *g, size_t first)
{
    const char *names[PROBES_AT_ONCE];

    for (; g->n < PROBES_AT_ONCE && first + g->n < k->n_scores; g->n++)
        names[g->n] = k->scores[first + g->n].name;
    g->n_own = nuc_model_n_outputs(k->e->quantized);
    enum nuc_status s = nuc_model_expose(k->floating, names, g->n, &g->floating);
    if (s == NUC_OK)
        s = nuc_model_expose(k->e->quantized, names, g->n, &g->quantized);
    if (s != NUC_OK)
        return cli_check(k->e->compiler, s);
    g->inputs = calloc(nuc_model_n_inputs(k->e->quantized) + 1, sizeof *g->inputs);
    int code = g->inputs == NULL ? cli_report(NUC_NO_MEMORY, NULL) : compile_group(k, g);
    g->float_out = cli_model_blocks(g->floating, g->n_own + g->n);
    g->quantized_out = cli_model_blocks(g->quantized, g->n_own + g->n);
    g->program_out = cli_model_blocks(g->quantized, g->n_own + g->n);
    g->whole_out = cli_model_blocks(g->quantized, g->n_own);
    bool made = g->float_out != NULL && g->quantized_out != NULL && g->program_out != NULL && g->whole_out != NULL;
    return code == CLI_OK && !made ? cli_report(NUC_NO_MEMORY, NULL) : code;
}

static void compare_own(struct comparison *k, const struct group *g)
{
    for (size_t i = 0; i < g->n_own; i++) {
        struct nuc_tensor_info t;
        if (nuc_model_output(g->quantized, i, &t) != NUC_OK || t.dtype != NUC_F32)
            continue;
        const float *a = g->program_out[i], *b = g->whole_out[i];
        for (size_t e = 0; e < t.bytes / sizeof(float); e++) {
            k->n_elements++;
            k->n_unequal += memcmp(&a[e], &b[e], sizeof(float)) != 0;
        }
    }
}

static int run_sample(struct comparison *k, struct group *g, size_t first, size_t sample)
{
    enum nuc_status s = nuc_dataset_sample(k->e->data, sample, g->inputs);

    if (s == NUC_OK)
        s = nuc_model_run(g->floating, g->inputs, g->float_out);
    if (s == NUC_OK)
        s = nuc_model_run(g->quantized, g->inputs, g->quantized_out);
    if (s != NUC_OK)
        return cli_check(k->e->compiler, s);
    int code = cli_program_run(&g->program, k->e->args->quantized, g->inputs, g->program_out);
    if (code == CLI_OK)
        code = cli_program_run(&k->e->program, k->e->args->positional[0], g->inputs, g->whole_out);
    if (code != CLI_OK)
        return code;
    if (first == 0)
        compare_own(k, g);
    for (size_t i = 0; i < g->n; i++) {
        struct node_score *score = &k->scores[first + i];
        struct nuc_tensor_info t;
        size_t at = g->n_own + i;
        if (nuc_model_output(g->quantized, at, &t) != NUC_OK)
            continue;
        const float *f = g->float_out[at], *q = g->quantized_out[at], *p = g->program_out[at];
        cli_ratio_add(&score->float_quantized, f, q, t.bytes / sizeof(float));
        cli_ratio_add(&score->quantized_program, q, p, t.bytes / sizeof(float));
        cli_ratio_add(&score->float_program, f, p, t.bytes / sizeof(float));
    }
    return CLI_OK;
}

static int run_group(struct comparison *k, size_t first)
{
    struct group g = {.open = false};
    int code = open_group(k, &g, first);

    for (size_t i = 0; i < k->e->n_samples && code == CLI_OK; i++) {
        code = run_sample(k, &g, first, i);
        cli_progress(NULL, "nodes", i + 1, k->e->n_samples);
    }
    close_group(&g);
    return code;
}

static void print_ratio(const struct cli_ratio *r)
{
    if (r->noise == 0)
        printf("  %9s", "equal");
    else
        printf("  %9.2f", cli_ratio_db(r));
}

static void print_table(const struct comparison *k)
{
    const struct node_score *diverging = NULL;
    double threshold = (double)k->e->args->threshold;

    printf("\nSQNR in dB, %zu samples\n%-32s  %9s  %9s  %9s\n", k->e->n_samples, "node", "quantized", "program",
           "program");
    printf("%-32s  %9s  %9s  %9s\n", "", "to float", "to quant.", "to float");
    for (size_t i = 0; i < k->n_scores; i++) {
        const struct node_score *s = &k->scores[i];
        printf("%-32.32s", s->name);
        print_ratio(&s->float_quantized);
        print_ratio(&s->quantized_program);
        print_ratio(&s->float_program);
        printf("\n");
        if (diverging == NULL && cli_ratio_db(&s->float_program) < threshold)
            diverging = s;
    }
    if (k->n_unmatched != 0)
        printf("%zu nodes of the quantized model have no counterpart of that name in the float model\n",
               k->n_unmatched);
    if (k->n_unequal != 0)
        printf("the program differs from this quantized model compiled with default options in %zu of %zu outputs\n",
               k->n_unequal, k->n_elements);
    if (diverging != NULL)
        printf("first node below %.1f dB: %s\n", threshold, diverging->name);
    else
        printf("no node below %.1f dB\n", threshold);
}

int cli_evaluate_nodes(struct evaluation *e)
{
    struct comparison k = {.e = e};
    int code = cli_check_io(e, e->quantized, e->args->quantized, true);

    if (code == CLI_OK)
        code = open_models(&k);
    for (size_t first = 0; first < k.n_scores && code == CLI_OK; first += PROBES_AT_ONCE)
        code = run_group(&k, first);
    if (code == CLI_OK)
        print_table(&k);
    free(k.scores);
    return code;
}
