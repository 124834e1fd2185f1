#include <stdio.h>

#include "cli/cli.h"
#include "cli/quantize_options.h"

struct flags {
    const char *output, *target;
    bool timings;
    struct cli_quantize_flags quantize;
};

static int quantize(const char *model, const struct flags *f)
{
    struct nuc_options o;

    nuc_options_default(&o);
    cli_quantize_apply(&f->quantize, &o);
    if (f->target != NULL)
        o.target = f->target;
    o.warn = cli_warn;
    o.progress = cli_progress;
    struct nuc_compiler *c = nuc_compiler_new(&o, NULL);
    if (c == NULL)
        return cli_report(NUC_NO_MEMORY, NULL);
    enum nuc_status status = nuc_quantize_file(c, model, f->quantize.calibration, f->output);
    int code = status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
    if (status == NUC_OK && f->timings)
        cli_print_timings(c);
    nuc_compiler_free(c);
    return code;
}

int cli_quantize(int argc, char **argv)
{
    struct flags f = {.output = NULL};
    struct cli_option shared[CLI_QUANTIZE_ROWS];
    const struct cli_option options[] = {
        {"--output", "-o", CLI_STRING, &f.output, "FILE.pt2", "where the quantized model goes", NULL},
        {"--target", NULL, CLI_STRING, &f.target, "NAME", "whose kernels it is for; 'nucleon targets' lists them",
         NULL},
        {"--timings", NULL, CLI_FLAG, &f.timings, NULL, "print the seconds of each stage", NULL},
        {.name = NULL},
    };
    const struct cli_command command = {
        "quantize",
        "MODEL.pt2 --calibration DATA -o OUT.pt2 [options]",
        "Quantizes a float torch.export archive to int8; torch.export.load reads the result once Python has done\n"
        "'import torch.ao.quantization.fx._decomposed'.",
        options,
        shared,
        1,
        1,
    };
    const char *model[1];
    size_t count;
    bool stop;

    cli_quantize_options(&f.quantize, shared);
    int code = cli_parse(&command, argc, argv, model, &count, &stop);
    if (stop)
        return code;
    if (f.output == NULL)
        return cli_usage("quantize: -o OUT.pt2 is missing: it says where the quantized model goes");
    if (f.quantize.calibration == NULL)
        return cli_usage("quantize: --calibration DATA is missing: samples of what the model will see");
    const struct cli_path paths[] = {
        {"the model", model[0], false}, {"--calibration", f.quantize.calibration, false}, {"--output", f.output, true}};
    code = cli_quantize_check("quantize", &f.quantize);
    if (code == CLI_OK)
        code = cli_check_paths("quantize", paths, sizeof paths / sizeof paths[0]);
    return code == CLI_OK ? quantize(model[0], &f) : code;
}
