#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/partition_options.h"
#include "cli/quantize_options.h"

struct explain_flags {
    bool json, all;
    const char *cycle_budget; /* NULL: none */
    struct cli_partition_flags partition;
    struct cli_quantize_flags quantize;
};

/* The model as it is, or quantized when there are samples for a float one. */
static enum nuc_status open_model(struct nuc_compiler *c, const char *path, const char *calibration,
                                  struct nuc_model **m)
{
    struct nuc_dataset *samples;
    enum nuc_status status = nuc_model_open(c, path, m);

    if (status != NUC_OK || calibration == NULL || nuc_model_is_quantized(*m))
        return status;
    status = nuc_dataset_open(c, calibration, &samples);
    return status == NUC_OK ? nuc_quantize(*m, samples, m) : status;
}

static int check_budget(const char *path, const struct nuc_explain_result *r, unsigned long long budget)
{
    char message[256];

    if (r->cycles <= budget)
        return CLI_OK;
    snprintf(message, sizeof message, "%.100s: about %llu cycles an inference, %llu are allowed", path,
             (unsigned long long)r->cycles, budget);
    return cli_report(NUC_PROPERTY, message);
}

static int check_delegation(const char *path, const struct nuc_explain_result *r)
{
    char message[1024];

    if (r->n_delegated == r->n_operators)
        return CLI_OK;
    snprintf(message, sizeof message,
             "%.100s: %zu of %zu operators stay on the CPU, all must be delegated; the first is %.700s", path,
             r->n_operators - r->n_delegated, r->n_operators, r->first_on_cpu);
    return cli_report(NUC_PROPERTY, message);
}

static int explain(const char *path, const struct explain_flags *f, unsigned long long budget)
{
    struct nuc_explain_options how = {.json = f->json, .all_nodes = f->all};
    struct nuc_explain_result r;
    struct nuc_options o;
    struct nuc_model *m;

    nuc_options_default(&o);
    cli_partition_apply(&f->partition, &o);
    cli_quantize_apply(&f->quantize, &o);
    o.warn = cli_warn;
    o.progress = cli_progress;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    enum nuc_status status = open_model(c, path, f->quantize.calibration, &m);
    if (status == NUC_OK)
        status = nuc_explain(m, &how, &r);
    int code = status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
    if (status == NUC_OK) {
        if (nuc_dim_order_table(c) != NULL && !f->json)
            printf("%s\n", nuc_dim_order_table(c));
        fputs(r.text, stdout);
        if (fflush(stdout) != 0)
            code = cli_report(NUC_IO, "standard output: cannot be written");
        if (code == CLI_OK && f->partition.require_full_delegation)
            code = check_delegation(path, &r);
        if (code == CLI_OK && f->cycle_budget != NULL)
            code = check_budget(path, &r, budget);
    }
    nuc_compiler_free(c);
    return code;
}

int cli_explain(int argc, char **argv)
{
    struct explain_flags f = {.json = false};
    const struct cli_option own[] = {
        {"--json", NULL, CLI_FLAG, &f.json, NULL, "every node as JSON", NULL},
        {"--all", NULL, CLI_FLAG, &f.all, NULL, "list quantize and dequantize nodes, too", NULL},
        {"--cycle-budget", NULL, CLI_STRING, &f.cycle_budget, "N",
         "fail (exit code 3) when an inference takes more cycles, by estimate", NULL},
        {.name = NULL},
    };
    struct cli_option options[CLI_PARTITION_ROWS + sizeof own / sizeof own[0]], shared[CLI_QUANTIZE_ROWS];
    const struct cli_command command = {
        "explain",
        "MODEL.pt2|MODEL.tflite [--json] [options]",
        "Says where every node runs and, if not on the NPU, the rule, what was found, what is allowed and the fix.\n"
        "A float model without samples is quantized with made-up ranges.",
        options,
        shared,
        1,
        1,
    };
    const char *path[1];
    char *end = NULL;
    size_t count;
    bool stop;

    cli_partition_options(&f.partition, options);
    memcpy(options + CLI_PARTITION_ROWS, own, sizeof own);
    cli_quantize_options(&f.quantize, shared);
    int code = cli_parse(&command, argc, argv, path, &count, &stop);
    if (stop)
        return code;
    unsigned long long budget = f.cycle_budget != NULL ? strtoull(f.cycle_budget, &end, 10) : 0;
    if (f.cycle_budget != NULL && (*f.cycle_budget < '0' || *f.cycle_budget > '9' || *end != '\0'))
        return cli_usage("--cycle-budget takes a number of cycles, not '%s'", f.cycle_budget);
    code = cli_quantize_check("explain", &f.quantize);
    return code == CLI_OK ? explain(path[0], &f, budget) : code;
}
