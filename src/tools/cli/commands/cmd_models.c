/* nucleon convert and quantize: from model to model. */

#include "nucleon/json.h"
#include "tools/cli/commands/commands.h"

int cli_convert(struct nuc_compiler *c, struct cli_args *args)
{
    struct nuc_convert_report report;

    args->convert.fetch_constants_to_sram = args->o.fetch_constants_to_sram;
    const char *text;
    int code = cli_check(c, nuc_convert_model(c, args->input, args->output, &args->convert, &report));
    if (code == CLI_OK && args->json)
        code = cli_result(c, nuc_conversion_json(c, &report, &text), &text);
    if (code == CLI_OK && !args->quiet) {
        size_t n_outside = report.n_operators - report.n_inside;
        char file[128];
        cli_printf("%s\n", cli_file_text(args->output, file, sizeof file));
        cli_print_row("placement", "%zu of %zu operators in %zu NeutronGraph%s%s", report.n_inside, report.n_operators,
                      report.n_graphs, report.n_graphs == 1 ? "" : "s",
                      n_outside > 0 && !args->verbose ? "; --verbose says why not all" : "");
        cli_print_row("memory", "NPU scratch %s bytes", cli_commas(report.scratch));
        cli_print_row("made by", "nucleon's converter: runs on the simulator, not on silicon");
        for (size_t i = 0; args->verbose && i < n_outside; i++)
            cli_print_row(i == 0 ? "outside" : "", "%s", report.outside[i]);
    }
    if (code == CLI_OK && args->timings)
        cli_print_timings(c);
    return code;
}

static int quantize(struct nuc_compiler *c, struct cli_args *args)
{
    const char *text;
    int code = cli_check(c, nuc_quantize_file(c, args->positional[0], args->calibration, args->output));

    if (code == CLI_OK && args->json)
        code = cli_result(c, nuc_quantization_json(c, &text), &text);
    if (code == CLI_OK && !args->quiet) {
        char file[128];
        cli_printf("%s\n", cli_file_text(args->output, file, sizeof file));
        cli_print_quality(c);
        cli_print_row("next", "nucleon compile %s -o OUT.pte, which takes no samples", args->output);
        if (args->verbose)
            cli_print_calibration(c);
    }
    if (code == CLI_OK && args->timings)
        cli_print_timings(c);
    return code;
}

int cli_quantize(struct cli_args *args)
{
    if (args->calibration == NULL)
        return cli_usage("quantize: --calibration DATA is missing: samples of what the model will see");
    return cli_with_compiler(args, quantize);
}
