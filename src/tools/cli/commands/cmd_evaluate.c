/* nucleon evaluate and merge-evaluations: accuracy of a program, and its distance from the model it was made of. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/commands/commands.h"

struct opened {
    struct nuc_runner *program;
    struct nuc_dataset *data;
    struct nuc_model *reference, *quantized; /* NULL: not asked for */
};

static bool has_labels(const struct nuc_dataset *data)
{
    struct nuc_array_info a;

    for (size_t i = 0; i < nuc_dataset_n_arrays(data); i++) {
        if (nuc_dataset_array(data, i, &a) == NUC_OK && strncmp(a.name, "label", 5) == 0)
            return true;
    }
    return false;
}

/* What is asked of decisions needs something to count them by. */
static int check_labels(const struct cli_args *args, const struct opened *o)
{
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *option = &cli_options[i];
        if (args->given[i] && ((option->needs & CLI_LABELS) != 0 ||
                               ((option->needs & CLI_LABELS_OR_REFERENCE) != 0 && o->reference == NULL)))
            return cli_usage("evaluate: %s takes labels, '%s' has none: an integer array 'label' in the data set, or a "
                             "folder of images with a subfolder per class%s",
                             option->name, args->input,
                             (option->needs & CLI_LABELS) == 0 ? "; or a model to compare with, --reference" : "");
    }
    return CLI_OK;
}

static int print(struct nuc_compiler *c, const struct cli_args *args, const struct nuc_evaluation *e,
                 const struct nuc_node_evaluation *nodes)
{
    const char *text;
    int code = args->json ? cli_result(c, nuc_evaluation_json(c, e, nodes, &text), &text) : CLI_OK;

    if (!args->json && !args->quiet) {
        for (size_t i = 0; i < e->n_data; i++)
            cli_printf("%-22s %s\n", i == 0 ? "data" : "", e->data[i]);
        cli_print_evaluation(e, args->confusion);
        if (nodes != NULL)
            cli_print_nodes(nodes, e->n_samples, (double)args->threshold);
    }
    return code == CLI_OK && e->missed != NULL ? cli_report(NUC_PROPERTY, e->missed) : code;
}

static int evaluate(struct nuc_compiler *c, struct cli_args *args)
{
    struct opened o = {.reference = NULL};
    const struct nuc_evaluation *result;
    const struct nuc_node_evaluation *nodes = NULL;
    enum nuc_status s = nuc_runner_open(c, args->positional[0], &args->simulator, &o.program);

    if (s == NUC_OK)
        s = nuc_dataset_open(c, args->input, &o.data);
    if (s == NUC_OK)
        s = nuc_size_dataset(c, o.data);
    if (s == NUC_OK && args->reference != NULL)
        s = nuc_model_open(c, args->reference, &o.reference);
    if (s == NUC_OK && args->quantized != NULL)
        s = nuc_model_open(c, args->quantized, &o.quantized);
    if (s != NUC_OK)
        return cli_check(c, s);
    if (o.reference == NULL)
        cli_warn_unused_options(args, CLI_A_REFERENCE, "there is no --reference to compare with");
    if (o.quantized == NULL)
        cli_warn_unused_options(args, CLI_A_QUANTIZED, "there is no --quantized to compare nodes with");
    int code = has_labels(o.data) ? CLI_OK : check_labels(args, &o);
    if (code != CLI_OK)
        return code;
    s = nuc_evaluate(o.program, o.data, o.reference, &args->evaluate, &result);
    if (s == NUC_OK && o.quantized != NULL)
        s = nuc_evaluate_nodes(o.program, o.data, o.reference, o.quantized, &nodes);
    if (s != NUC_OK)
        return cli_check(c, s);
    return print(c, args, result, nodes);
}

/* "2/8": the numbers are judged by the library, which knows the samples. */
static int take_shard(struct cli_args *args)
{
    struct nuc_shard *shard = &args->evaluate.shard;
    int length = 0;

    if (args->shard == NULL)
        return CLI_OK;
    bool good = strspn(args->shard, "0123456789/") == strlen(args->shard) && args->shard[0] != '/' &&
                sscanf(args->shard, "%9zu/%9zu%n", &shard->index, &shard->count, &length) == 2 &&
                args->shard[length] == '\0';
    if (!good || shard->index == 0 || shard->index > shard->count)
        return cli_usage("evaluate: --shard takes a part and how many there are, 1/4 to 4/4, not '%s'", args->shard);
    if (!args->json)
        return cli_usage("evaluate: --shard is for 'nucleon merge-evaluations', which takes JSON: give --json, too");
    return CLI_OK;
}

int cli_evaluate(struct cli_args *args)
{
    if (args->quantized != NULL && args->reference == NULL)
        return cli_usage("evaluate: --quantized compares with the float model: give it with --reference MODEL.pt2");
    args->o.threads = args->simulator.threads;
    int code = take_shard(args);
    return code == CLI_OK ? cli_with_compiler(args, evaluate) : code;
}

int cli_merge_evaluations(struct nuc_compiler *c, struct cli_args *args)
{
    const struct nuc_evaluation *result;
    const struct nuc_node_evaluation *nodes;
    enum nuc_status s =
        nuc_merge_evaluations(c, args->positional, args->n_positional, &args->evaluate, &result, &nodes);

    if (s != NUC_OK)
        return cli_check(c, s);
    if (nodes == NULL)
        cli_warn_unused_options(args, CLI_A_QUANTIZED, "the shards have no nodes, of --quantized");
    return print(c, args, result, nodes);
}
