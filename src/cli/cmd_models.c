/* nucleon convert and quantize: from model to model. */
#include <stdio.h>

#include "cli/args.h"

static void print_converted(const struct cli_args *args, const struct nuc_convert_report *r)
{
    cli_printf("%s: %zu of %zu operators in %zu NeutronGraph%s, NPU scratch %zu bytes\n", args->output, r->n_inside,
               r->n_operators, r->n_graphs, r->n_graphs == 1 ? "" : "s", r->scratch);
    for (size_t i = 0; args->verbose && i < r->n_operators - r->n_inside; i++)
        cli_printf("  outside  %s\n", r->outside[i]);
    cli_printf("  made by nucleon's converter: runs on the simulator, not on silicon\n");
}

static int convert(struct nuc_compiler *c, struct cli_args *args)
{
    struct nuc_convert_report report;

    args->convert.fetch_constants_to_sram = args->o.fetch_constants_to_sram;
    int code = cli_check(c, nuc_convert_model(c, args->input, args->output, &args->convert, &report));
    if (code == CLI_OK)
        print_converted(args, &report);
    if (code == CLI_OK && args->timings)
        cli_print_timings(c);
    return code;
}

int cli_convert(struct cli_args *args)
{
    return cli_with_compiler(args, convert);
}

static int quantize(struct nuc_compiler *c, struct cli_args *args)
{
    int code = cli_check(c, nuc_quantize_file(c, args->positional[0], args->calibration, args->output));

    if (code == CLI_OK) {
        cli_printf("%s: quantized\n", args->output);
        {
            cli_print_calibration(c);
            cli_print_quality(c);
        }
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
