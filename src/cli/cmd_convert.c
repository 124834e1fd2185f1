#include <stdio.h>

#include "cli/cli.h"

struct convert_flags {
    const char *input, *output, *target;
    struct cli_list excluded;
    unsigned min_operators;
    bool profile, fetch, verbose, timings;
};

static void print_report(const struct convert_flags *f, const struct nuc_convert_report *r)
{
    printf("%s: %zu of %zu operators in %zu NeutronGraph%s, NPU scratch %zu bytes\n", f->output, r->n_inside,
           r->n_operators, r->n_graphs, r->n_graphs == 1 ? "" : "s", r->scratch);
    for (size_t i = 0; f->verbose && i < r->n_operators - r->n_inside; i++)
        printf("  outside  %s\n", r->outside[i]);
    printf("  made by nucleon's converter: runs on the simulator, not on silicon\n");
}

static int convert(const struct convert_flags *f)
{
    const struct nuc_convert_model_options options = {
        .min_operators = f->min_operators, .profile = f->profile, .fetch_constants_to_sram = f->fetch};
    struct nuc_convert_report report;
    struct nuc_options o;

    nuc_options_default(&o);
    o.warn = cli_warn;
    if (f->target != NULL)
        o.target = f->target;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    enum nuc_status status = nuc_convert_model(c, f->input, f->output, &options, &report);
    int code = status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
    if (status == NUC_OK)
        print_report(f, &report);
    if (status == NUC_OK && f->timings)
        cli_print_timings(c);
    nuc_compiler_free(c);
    return code;
}

int cli_convert(int argc, char **argv)
{
    struct convert_flags f = {.input = NULL};
    const struct cli_option options[] = {
        {"--input", "-i", CLI_STRING, &f.input, "FILE.tflite", "the int8 model", NULL},
        {"--output", "-o", CLI_STRING, &f.output, "FILE.tflite", "where the converted model goes", NULL},
        {"--target", NULL, CLI_STRING, &f.target, "NAME", "imxrt700 (default); 'nucleon targets' lists them", NULL},
        {"--min-num-ops-per-graph", NULL, CLI_NUMBER, &f.min_operators, "N",
         "leave groups of fewer operators as they are (default 1)", NULL},
        {"--exclude-graph-passes", NULL, CLI_LIST, &f.excluded, "LIST",
         "passes of the vendor's converter that nucleon's does not have: HoistSliceAboveTranspose, MergeTranspose",
         NULL},
        {"--fetch-constants-to-sram", NULL, CLI_FLAG, &f.fetch, NULL,
         "weights lie in flash: they are copied to a staging buffer while the NPU computes", NULL},
        {"--use-profiling", NULL, CLI_FLAG, &f.profile, NULL, "programs record the time of each kernel", NULL},
        {"--verbose", NULL, CLI_FLAG, &f.verbose, NULL, "say why operators stay outside", NULL},
        {"--timings", NULL, CLI_FLAG, &f.timings, NULL, "print the seconds of each stage", NULL},
        {.name = NULL},
    };
    const struct cli_command command = {
        "convert",
        "--input IN.tflite --output OUT.tflite [--target imxrt700] [options]",
        "Replaces what the NPU takes in an int8 LiteRT model by NeutronGraph operators. Other operators stay around "
        "them.",
        options,
        NULL,
        0,
        0,
    };
    const char *none[1];
    size_t count;
    bool stop;
    int code = cli_parse(&command, argc, argv, none, &count, &stop);

    if (stop)
        return code;
    if (f.input == NULL || f.output == NULL)
        return cli_usage("convert: --input and --output say which model is converted and where it goes");
    const struct cli_path paths[] = {{"--input", f.input, false}, {"--output", f.output, true}};
    code = cli_check_paths("convert", paths, sizeof paths / sizeof paths[0]);
    return code == CLI_OK ? convert(&f) : code;
}
